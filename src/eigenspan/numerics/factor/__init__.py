"""Sparse symmetric factorisation ``A = L S Lᵀ``, L lower triangular and S of signs, without pivoting.

`analyse` orders the columns and finds where the factor fills, from the pattern alone; its `factorise` does the arithmetic, as
often as the values change; the factor can `solve`, show its `lower` triangle, and tells how many eigenvalues are `negative`. Small
matrices are left to SuperLU, not to wait for a compiler. Large ones are eliminated by fronts: dense blocks go to BLAS, and
independent subtrees of the elimination to different threads. The result does not depend on how many there are.
"""

from __future__ import annotations

import scipy.sparse as sp

from .analysis import Analysis, ordered_fronts
from .fill import predict_fill
from .numeric import FrontalFactor
from .order import Index, assembled_nearby, near_order, permuted
from .superlu import SuperLUAnalysis, SuperLUFactor

__all__ = [
    "Analysis", "FrontalFactor", "SuperLUAnalysis", "SuperLUFactor", "analyse", "assembled_nearby", "minimum_degree", "near_order",
    "permuted",
]  # fmt: skip


def analyse(A: sp.csr_array, *, ordered: bool = False, by_fronts: bool | None = None) -> Analysis | SuperLUAnalysis:
    """How to factorise symmetric matrices of this pattern, both triangles and the diagonal.

    With `ordered` the rows are in an order of little fill already, and may stay in it. `by_fronts` is what a prediction of the fill
    has said; without, there is one here.
    """
    by_fronts = predict_fill(A).by_fronts if by_fronts is None else by_fronts
    return Analysis(A) if by_fronts else SuperLUAnalysis(A, ordered=ordered)


def minimum_degree(A: sp.csr_array) -> Index:
    """An order of elimination in which the factor of a matrix of this pattern fills little."""
    return ordered_fronts(A)[-1] if predict_fill(A).by_fronts else SuperLUAnalysis(A).order()
