"""Linear systems with sparse positive definite matrices: by the factorisation that shift-invert uses, or by products alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import cg

from .._diagnostics import note
from .._resources import require
from ..errors import ConvergenceError
from .fill import predict_fill
from .iterative import factorised_inverse
from .select import Matrix

Array = NDArray[np.float64]

#: Smallest eigenvalue, relative to the size of the matrix, at which a solution still has digits.
_SINGULAR = 1e-14
#: Residual, relative to the diagonal, above which a solution is refused.
_RESIDUAL = 1e-9
#: Up to this order a factor is small whatever its fill.
_SMALL = 5000


def solve_positive(M: Matrix, right: Array, size: float) -> Array:
    """``M⁻¹ right`` for a sparse (+ low rank) positive definite M.

    Raises `numpy.linalg.LinAlgError` where the smallest eigenvalue is rounding next to `size`, and refuses, before factorising, a
    factor that would not fit into memory.
    """
    A: Any = M.assembled()
    if A.n > _SMALL:
        require(
            predict_fill(A.sparse).bytes,
            f"The factor of a linear system of {A.n} points",
            "Use fewer neighbours, or project the data to fewer dimensions first.",
        )
    try:
        inverse = factorised_inverse(A.sparse, 0.0, *(A.low_rank or (None, None)))
        smallest = _smallest(inverse, A.n)
    except RuntimeError:  # a pivot of zero
        smallest = 0.0
    if not smallest > _SINGULAR * size:
        raise np.linalg.LinAlgError(f"smallest eigenvalue {smallest:.1e}, largest about {size:.1e}")
    Y = inverse(right)
    # row by row: rows with a large diagonal must not hide what is left in the others
    left = np.linalg.norm((right - A @ Y) / A.diagonal()[:, None])
    residual = float(left / max(np.linalg.norm(Y), np.finfo(float).tiny))
    note(residual=residual)
    if not residual <= _RESIDUAL:
        raise ConvergenceError(
            f"The linear system of {A.n} points was solved to a relative residual of {residual:.1e} only (wanted {_RESIDUAL:.0e}): "
            "its entries differ too much in size. Use other neighbours or weights."
        )
    return Y


def solve_by_products(A: sp.csr_array, b: Array) -> Array:
    """``A⁻¹ b`` for a well-conditioned sparse positive definite A, by conjugate gradients on its unit-diagonal form."""
    x, failed = cg(A, b, rtol=1e-12, M=sp.diags_array(1.0 / A.diagonal()))
    if failed:
        raise ConvergenceError(
            f"A linear system of {b.size} points did not settle in {failed} steps of conjugate gradients: it is too nearly singular. "
            "For propagated labels raise novelty=, or trust= where it is small."
        )
    return np.asarray(x)


def _smallest(inverse: Callable[[Array], Array], n: int) -> float:
    """The smallest eigenvalue of a positive matrix, from above, by inverse iteration."""
    x = np.random.default_rng(0).standard_normal(n)
    growth = np.inf
    for _ in range(3):
        x = inverse(x / np.linalg.norm(x))
        growth = float(np.linalg.norm(x))
    return 1.0 / growth if np.isfinite(growth) and growth > 0 else 0.0
