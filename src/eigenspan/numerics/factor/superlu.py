"""Factorisation by SuperLU, which orders and factorises in one step."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from ..._types import Array, Integers
from .numeric import SINGULAR
from .order import inverse


class SuperLUAnalysis:
    """Counterpart of `Analysis` for SuperLU, without a symbolic analysis: SuperLU orders the matrix at each factorisation."""

    def __init__(self, A: sp.csr_array, *, ordered: bool = False) -> None:
        self.ordering = "NATURAL" if ordered else "MMD_AT_PLUS_A"
        self._pattern = A

    def order(self) -> Integers:
        """Return the order of elimination: row ``order[k]`` is eliminated k-th."""
        A = self._pattern
        heavy = sp.csr_array((np.full(A.nnz, 1e-30), A.indices, A.indptr), shape=A.shape) + sp.eye_array(A.shape[0])
        return SuperLUFactor(self, sp.csr_array(heavy)).order

    def factorise(self, A: sp.csr_array) -> SuperLUFactor:
        """Factorise a matrix of the analysed pattern."""
        return SuperLUFactor(self, A)


class SuperLUFactor:
    """Counterpart of `FrontalFactor`, computed by SuperLU."""

    def __init__(self, analysis: SuperLUAnalysis, A: sp.csr_array) -> None:
        # the matrix is symmetric, so its rows are its columns
        columns = sp.csc_array((A.data, A.indices, A.indptr), shape=A.shape)
        # no pivoting off the diagonal
        keeping: dict[str, Any] = {"diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}
        lu = splu(columns, permc_spec=analysis.ordering, **keeping)
        if not np.array_equal(lu.perm_r, lu.perm_c):  # it has pivoted off the diagonal
            raise RuntimeError(SINGULAR)
        self._lu, self._pivots = lu, lu.U.diagonal()
        self.order, self.signs = inverse(lu.perm_c), np.where(self._pivots < 0, -1.0, 1.0)
        self.negative, self.size, self.together = int(np.sum(self._pivots < 0)), 12 * lu.nnz, 1

    def lower(self) -> sp.csc_array:
        """Return the factor L, for rows and columns in the order of elimination."""
        return sp.csc_array(self._lu.L @ sp.diags_array(np.sqrt(np.abs(self._pivots))))

    def solve(self, b: Array) -> Array:
        """Return ``A⁻¹ b`` for a vector or the columns of a matrix."""
        return np.asarray(self._lu.solve(b))
