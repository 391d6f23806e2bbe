"""Sparse symmetric factorisation ``A = L S Lᵀ``, L lower triangular and S of signs, without pivoting.

`analyse` orders the columns and finds where the factor fills, from the pattern alone; its `factorise` does the arithmetic, as
often as the values change. Small matrices are left to SuperLU, not to wait for a compiler. Large ones are eliminated by fronts:
dense blocks go to BLAS, and independent subtrees of the elimination to different threads. The result does not depend on how
many there are.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import spilu, splu

from .._resources import in_threads, require, workers

Array = NDArray[np.float64]
Index = NDArray[np.integer[Any]]

#: Order of a matrix from which its factor is worth compiled loops.
LARGE = 10_000
#: A subtree with more than this share of the work is cut up.
_SHARE = 1 / 32
#: Operations of a product below which a second thread does not pay.
_SHARED = 1e7
#: How SuperLU keeps to a symmetric matrix, and to its diagonal.
_SYMMETRIC: dict[str, Any] = {"diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}
_SINGULAR = "A pivot of the sparse factorisation is zero: the matrix is singular"


def analyse(A: sp.csr_array, *, ordered: bool = False) -> Analysis | SmallAnalysis:
    """How to factorise symmetric matrices of this pattern, both triangles and the diagonal.

    With `ordered` the rows are in an order of little fill already, and stay in it.
    """
    return (Analysis if A.shape[0] >= LARGE else SmallAnalysis)(A, ordered=ordered)


class Analysis:
    """Order of elimination and pattern of the factor of a symmetric matrix.

    Attributes
    ----------
    order, place : arrays of n integers
        Row ``order[k]`` is eliminated k-th; ``place`` is the inverse.
    entries : int
        Numbers stored for the factor.
    operations : float
        Multiplications of a factorisation.
    """

    def __init__(self, A: sp.csr_array, *, ordered: bool = False) -> None:
        from ..compiled import elimination, fronts

        self.order = np.arange(A.shape[0], dtype=np.int32) if ordered else minimum_degree(A)
        self.place = _inverse(self.order)
        pattern = A.indptr, A.indices
        parent = elimination.elimination_tree(*pattern, self.order, self.place)
        parent = self._reorder(elimination.postorder(parent, np.arange(parent.size)), parent)
        count = elimination.column_counts(*pattern, self.order, self.place, parent)
        tallest_last = elimination.postorder(parent, np.argsort(count, kind="stable"))
        parent, count = self._reorder(tallest_last, parent), count[tallest_last]
        begin = elimination.supernodes(parent, count)
        starts, rows, up, seats, child, elder = elimination.row_lists(
            *pattern, self.order, self.place, parent, count, begin
        )
        widths, heights = np.diff(begin), np.diff(starts)
        where = np.concatenate([[0], np.cumsum(widths * (widths + heights))])
        self.entries = int(where[-1])
        work = widths * (widths + heights).astype(np.float64) ** 2
        self.operations = float(work.sum()) / 2
        spans, sums, part = elimination.shares(work, up, _SHARE)
        self.spans, self.crown = spans[np.argsort(-sums, kind="stable")], np.flatnonzero(part == 0).tolist()
        room, self.room = elimination.stack_places(heights**2, child, elder, part)
        slots, self.length = elimination.stack_places(heights, child, elder, part)
        self.plan = fronts.Plan(begin, starts, rows, up, seats, child, elder, where, room, slots)

    def _reorder(self, order: Index, parent: Index) -> Index:
        """Put the columns in a new order; their parents follow."""
        self.order, place = self.order[order], _inverse(order)
        self.place = _inverse(self.order)
        return np.where(parent[order] < 0, -1, place[parent[order]]).astype(np.int32)

    def factorise(self, A: sp.csr_array) -> FrontalFactor:
        """Factors of a matrix of the pattern that was analysed."""
        return FrontalFactor(self, A)


class FrontalFactor:
    """``A = L S Lᵀ``, ready to solve with.

    Raises
    ------
    RuntimeError
        If a pivot is exactly zero or not a number, as SuperLU does.

    Attributes
    ----------
    order : array of n integers
        Row ``order[k]`` was eliminated k-th.
    signs : array of n numbers
        The diagonal of S.
    negative : int
        Eigenvalues of A below zero: by Sylvester's law the signs tell.
    size : int
        Bytes of the factor.
    """

    def __init__(self, analysis: Analysis, A: sp.csr_array) -> None:
        from ..compiled import fronts

        require(
            8.0 * (analysis.entries + analysis.room),
            f"The factor of a sparse matrix of order {A.shape[0]}",
            'Use landmarks, fewer neighbours, or solver="chebyshev".',
        )
        self.analysis, self.order, self._fronts = analysis, analysis.order, fronts
        self.values, self.signs = np.empty(analysis.entries), np.empty(A.shape[0])
        matrix = A.indptr, A.indices, A.data, analysis.order, analysis.place
        updates = np.empty(analysis.room)
        self._threads = workers()  # those of the fit: iterations that solve with the factor may keep BLAS to one
        stores = analysis.plan, matrix, self.values, self.signs, updates
        good = in_threads(lambda span: fronts.eliminate_all(span[0], span[1], *stores), analysis.spans, self._threads)
        if not all(good) or not all(self._eliminate(s, matrix, updates) for s in analysis.crown):
            raise RuntimeError(_SINGULAR)
        self.negative, self.size = int(np.sum(self.signs < 0)), self.values.nbytes

    def _eliminate(self, s: int, matrix: tuple[Any, ...], updates: Array) -> bool:
        """Factorise one large front, its products on all threads."""
        fronts, plan = self._fronts, self.analysis.plan
        begin, starts = plan.begin, plan.starts
        width, height = int(begin[s + 1] - begin[s]), int(starts[s + 1] - starts[s])
        m = width + height
        panel = self.values[plan.where[s] :][: width * m].reshape(width, m)
        rest, signs = np.empty((height, height)), self.signs[begin[s] : begin[s + 1]]
        fronts.gather(s, plan, matrix, panel, rest, updates)

        def subtract(first: int, last: int, low: int, high: int, target: Array, shift: int) -> None:
            tiles = range(low, high, fronts.TILE)
            alone = (last - first) * (high - low) * (m - low) < _SHARED
            in_threads(
                lambda at: fronts.subtract_tile(
                    at, min(at + fronts.TILE, high), panel, first, last, signs, target, shift
                ),
                tiles,
                1 if alone else min(self._threads, len(tiles)),
            )

        for first in range(0, width, fronts.PANEL):
            last = min(first + fronts.PANEL, width)
            if not fronts.eliminate(panel, first, last, signs):
                return False
            subtract(first, last, last, width, panel, 0)
        subtract(0, width, width, m, rest, width)
        fronts.keep(rest, updates[plan.room[s] :][: height * height].reshape(height, height))
        return True

    def lower(self) -> sp.csc_array:
        """The factor L, for rows and columns in the order of elimination; zeros that were stored are left out."""
        begin, starts, rows = self.analysis.plan[:3]
        widths, heights = np.diff(begin), np.diff(starts)
        column = np.repeat(np.arange(self.signs.size), np.repeat(widths + heights, widths))
        row = np.concatenate(
            [
                np.tile(np.concatenate([np.arange(a, b), rows[p:q]]), b - a)
                for (a, b), (p, q) in zip(pairwise(begin), pairwise(starts), strict=True)
            ]
        )
        used = (row >= column) & (self.values != 0)
        return sp.csc_array((self.values[used], (row[used], column[used])), shape=2 * self.signs.shape)

    def solve(self, b: Array) -> Array:
        """``A⁻¹ b`` for a vector or the columns of a matrix."""
        if b.ndim == 2:
            return np.column_stack([self.solve(column) for column in b.T]) if b.shape[1] else np.empty(b.shape)
        fronts, analysis = self._fronts, self.analysis
        x, vectors = np.asarray(b[self.order], np.float64), np.empty(analysis.length)
        down = analysis.plan, self.values, self.signs, x, vectors
        up = analysis.plan, self.values, x
        in_threads(lambda span: fronts.forward(*span, *down), analysis.spans, self._threads)
        for s in analysis.crown:
            fronts.forward(s, s + 1, *down)
        for s in analysis.crown[::-1]:
            fronts.backward(s, s + 1, *up)
        in_threads(lambda span: fronts.backward(*span, *up), analysis.spans, self._threads)
        return x[analysis.place]


class SmallAnalysis:
    """For matrices that SuperLU orders and factorises in one go."""

    def __init__(self, A: sp.csr_array, *, ordered: bool = False) -> None:
        self.ordering = "NATURAL" if ordered else "MMD_AT_PLUS_A"

    def factorise(self, A: sp.csr_array) -> SmallFactor:
        """Factors of a matrix of the pattern that was analysed."""
        return SmallFactor(self, A)


class SmallFactor:
    """The same as `FrontalFactor`, from SuperLU."""

    def __init__(self, analysis: SmallAnalysis, A: sp.csr_array) -> None:
        columns = sp.csc_array((A.data, A.indices, A.indptr), shape=A.shape)  # symmetric: its rows are its columns
        lu = splu(columns, permc_spec=analysis.ordering, **_SYMMETRIC)
        if not np.array_equal(lu.perm_r, lu.perm_c):  # it left the diagonal
            raise RuntimeError(_SINGULAR)
        self._lu, self._pivots = lu, lu.U.diagonal()
        self.order, self.signs = _inverse(lu.perm_c), np.where(self._pivots < 0, -1.0, 1.0)
        self.negative, self.size = int(np.sum(self._pivots < 0)), 12 * lu.nnz

    def lower(self) -> sp.csc_array:
        """The factor L, for rows and columns in the order of elimination."""
        return sp.csc_array(self._lu.L @ sp.diags_array(np.sqrt(np.abs(self._pivots))))

    def solve(self, b: Array) -> Array:
        """``A⁻¹ b`` for a vector or the columns of a matrix."""
        return np.asarray(self._lu.solve(b))


def near_order(A: sp.csr_array) -> Index:
    """An order in which neighbours are close together in memory: reverse Cuthill and McKee's."""
    pattern = sp.csr_matrix((A.data, A.indices, A.indptr), shape=A.shape)
    return np.asarray(reverse_cuthill_mckee(pattern, symmetric_mode=True))


def permuted(A: sp.csr_array, order: Index) -> sp.csr_array:
    """Rows and columns in a new order."""
    rows = A[order]
    return sp.csr_array((rows.data, _inverse(order)[rows.indices], rows.indptr), shape=A.shape)


def minimum_degree(A: sp.csr_array) -> Index:
    """An order of elimination in which the factor fills little, by the multiple minimum degree of SuperLU.

    SuperLU orders before it factorises and does not stop in between, so it is given a matrix of this pattern whose incomplete
    factor is empty.
    """
    near = near_order(A)
    pattern = permuted(sp.csr_array((np.zeros(A.nnz, np.int8), A.indices, A.indptr), shape=A.shape), near)
    diagonal = pattern.indices == np.repeat(np.arange(A.shape[0], dtype=np.int32), np.diff(pattern.indptr))
    empty = spilu(
        sp.csc_matrix((np.where(diagonal, 1.0, 1e-30), pattern.indices, pattern.indptr), shape=A.shape),
        drop_tol=0.5,
        fill_factor=1,
        permc_spec="MMD_AT_PLUS_A",
        **_SYMMETRIC,
    )
    return near[_inverse(empty.perm_c)]


def _inverse(order: Index) -> Index:
    place = np.empty(order.size, np.int32)
    place[order] = np.arange(order.size, dtype=np.int32)
    return place
