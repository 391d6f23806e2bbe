"""Sparse symmetric factorisation ``A = L S Lᵀ`` without pivoting: L lower triangular, S a diagonal of signs.

`analyse` orders the columns and finds the fill of the factor from the pattern alone. Its `factorise` computes the factor, again whenever
the values change. The factor can `solve`, return its `lower` triangle, and count the `negative` eigenvalues. Small matrices are
factorised by SuperLU, which needs no compilation. Large ones are factorised by the multifrontal method: dense blocks use BLAS, and
independent subtrees of the elimination run on different threads. The result does not depend on the number of threads.
"""

from __future__ import annotations

import scipy.sparse as sp

from ..._types import Integers
from .analysis import Analysis, ordered_fronts
from .fill import predict_fill
from .numeric import FrontalFactor
from .order import assembled_nearby, near_order, permuted
from .superlu import SuperLUAnalysis, SuperLUFactor

__all__ = [
    "Analysis", "FrontalFactor", "SuperLUAnalysis", "SuperLUFactor", "analyse", "assembled_nearby", "minimum_degree", "near_order",
    "permuted",
]  # fmt: skip


def analyse(A: sp.csr_array, *, ordered: bool = False, by_fronts: bool | None = None) -> Analysis | SuperLUAnalysis:
    """Analyse symmetric matrices of this pattern, given by both triangles and the diagonal.

    With `ordered`, the rows are in an order of low fill already and need not be reordered. `by_fronts` is the result of a prediction of
    the fill, which is computed here if it is None.
    """
    by_fronts = predict_fill(A).by_fronts if by_fronts is None else by_fronts
    return Analysis(A) if by_fronts else SuperLUAnalysis(A, ordered=ordered)


def minimum_degree(A: sp.csr_array) -> Integers:
    """Return an order of elimination in which the factor of a matrix of this pattern has low fill."""
    return ordered_fronts(A)[-1] if predict_fill(A).by_fronts else SuperLUAnalysis(A).order()
