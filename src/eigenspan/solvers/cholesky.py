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
from .fill import predict_fill

Array = NDArray[np.float64]
Index = NDArray[np.integer[Any]]

#: A subtree with more than this share of the work is cut up.
_SHARE = 1 / 32
#: Operations of a product below which a second thread does not pay.
_SHARED = 1e7
#: How SuperLU keeps to a symmetric matrix, and to its diagonal.
_SYMMETRIC: dict[str, Any] = {"diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}
_SINGULAR = "A pivot of the sparse factorisation is zero or not a number: the matrix is singular, or not finite"


def analyse(A: sp.csr_array, *, ordered: bool = False) -> Analysis | SuperLUAnalysis:
    """How to factorise symmetric matrices of this pattern, both triangles and the diagonal.

    With `ordered` the rows are in an order of little fill already, and stay in it.
    """
    return (Analysis if predict_fill(A).by_fronts else SuperLUAnalysis)(A, ordered=ordered)


class Analysis:
    """Order of elimination and pattern of the factor of a symmetric matrix.

    Attributes
    ----------
    order, place : arrays of n integers
        Row ``order[k]`` is eliminated k-th; ``place`` is the inverse.
    plan : Plan
        The assembly tree (`compiled.fronts`).
    spans : list of (first, last)
        Runs of supernodes that depend on nothing outside, heaviest first: threads share them.
    crown : list of (first, last, large)
        The supernodes above them, in their order; a large one stands alone, and threads share its products.
    entries, updates, vectors : int
        Numbers to store: of the factor, of what fronts leave for their parents, and of the same in a solve.
    tallest : int
        Rows of the largest update.
    """

    def __init__(self, A: sp.csr_array, *, ordered: bool = False) -> None:
        from ..compiled import elimination, fronts

        self.ordered = ordered
        indptr, indices, _ = _arrays(A)
        self._pattern, balance = elimination.fingerprint(indptr, indices)
        if balance:  # rounding has left a zero out on one side
            ones = sp.csr_array((np.ones(A.nnz, bool), A.indices, A.indptr), shape=A.shape)
            A = sp.csr_array(ones + ones.T)
            indptr, indices, _ = _arrays(A)
        self.order = np.arange(A.shape[0], dtype=np.int32) if ordered else minimum_degree(A)
        self.place = _inverse(self.order)
        parent = elimination.elimination_tree(indptr, indices, self.order, self.place)
        parent = self._reorder(elimination.postorder(parent, np.arange(parent.size)), parent)
        count = elimination.column_counts(indptr, indices, self.order, self.place, parent)
        tallest_last = elimination.postorder(parent, np.argsort(count, kind="stable"))
        parent, count = self._reorder(tallest_last, parent), count[tallest_last]
        begin = elimination.supernodes(parent, count)
        starts, rows, up, seats, child, elder = elimination.row_lists(
            indptr, indices, self.order, self.place, parent, count, begin
        )
        widths, heights = np.diff(begin), np.diff(starts)
        where = np.concatenate([[0], np.cumsum(widths * (widths + heights))])
        work = widths * (widths + heights).astype(np.float64) ** 2
        spans, sums, part = elimination.shares(work, up, max(_SHARE * work.sum(), 10 * _SHARED))
        self.spans = [(int(a), int(b)) for a, b in spans[np.argsort(-sums, kind="stable")]]
        self.crown = _runs(np.flatnonzero(part == 0), work > _SHARED)
        room, self.updates = elimination.stack_places(heights**2, child, elder, part)
        slots, self.vectors = elimination.stack_places(heights, child, elder, part)
        self.plan = fronts.Plan(begin, starts, rows, up, seats, child, elder, where, room, slots)
        self.entries, self.tallest = int(where[-1]), int(heights.max())

    def _reorder(self, order: Index, parent: Index) -> Index:
        """Put the columns in a new order; their parents follow."""
        self.order, place = self.order[order], _inverse(order)
        self.place = _inverse(self.order)
        return np.where(parent[order] < 0, -1, place[parent[order]]).astype(np.int32)

    def factorise(self, A: sp.csr_array) -> FrontalFactor:
        """Factors of a matrix of the pattern that was analysed; one of another pattern is analysed first."""
        from ..compiled import elimination

        same = elimination.fingerprint(*_arrays(A)[:2])[0] == self._pattern
        return FrontalFactor(self if same else Analysis(A, ordered=self.ordered), A)


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

        self._threads = workers()  # those of the fit: iterations that solve with the factor may keep BLAS to one
        require(
            8.0 * (analysis.entries + analysis.updates + (1 + self._threads) * analysis.tallest**2),
            f"The factor of a sparse matrix of order {A.shape[0]}",
            "Use landmarks, or fewer neighbours.",
        )
        self.analysis, self.order = analysis, analysis.order
        self.values, self.signs = np.empty(analysis.entries), np.empty(A.shape[0])
        matrix, updates = (*_arrays(A), analysis.order, analysis.place), np.empty(analysis.updates)
        stores = analysis.plan, matrix, self.values, self.signs, updates
        good = in_threads(lambda span: fronts.eliminate_all(span[0], span[1], *stores), analysis.spans, self._threads)
        for first, last, large in analysis.crown:
            if not all(good):
                break
            good = [self._eliminate(first, *stores) if large else fronts.eliminate_all(first, last, *stores)]
        if not all(good):
            raise RuntimeError(_SINGULAR)
        self.negative, self.size = int(np.sum(self.signs < 0)), self.values.nbytes

    def _eliminate(self, s: int, plan: Any, matrix: Any, values: Array, signs: Array, updates: Array) -> bool:
        """Factorise one large front, its products on all threads."""
        from ..compiled import fronts

        begin, starts = plan.begin, plan.starts
        width, height = int(begin[s + 1] - begin[s]), int(starts[s + 1] - starts[s])
        m = width + height
        panel = values[plan.where[s] :][: width * m].reshape(width, m)
        rest, signs = np.empty((height, height)), signs[begin[s] : begin[s + 1]]
        fronts.gather(s, plan, matrix, panel, rest, updates)

        def share_out(first: int, last: int, low: int, high: int, target: Array, shift: int) -> None:
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
            share_out(first, last, last, width, panel, 0)
        share_out(0, width, width, m, rest, width)
        fronts.keep(rest, updates[plan.room[s] :][: height * height].reshape(height, height))
        return True

    def lower(self) -> sp.csc_array:
        """The factor L, for rows and columns in the order of elimination; zeros that were stored are left out."""
        begin, starts, rows = self.analysis.plan[:3]
        widths, heights, n = np.diff(begin), np.diff(starts), self.signs.size
        column = np.repeat(np.arange(n, dtype=np.int32), np.repeat(widths + heights, widths))
        row = np.concatenate(
            [
                np.tile(np.concatenate([np.arange(a, b, dtype=np.int32), rows[p:q]]), b - a)
                for (a, b), (p, q) in zip(pairwise(begin), pairwise(starts), strict=True)
            ]
        )
        used = (row >= column) & (self.values != 0)
        return sp.csc_array((self.values[used], (row[used], column[used])), shape=(n, n))

    def solve(self, b: Array) -> Array:
        """``A⁻¹ b`` for a vector or the columns of a matrix."""
        from ..compiled import fronts

        if len(b) != self.signs.size:
            raise ValueError(f"b has {len(b)} rows, the matrix {self.signs.size}")
        if b.ndim == 2:
            out = np.empty(b.shape)
            for k in range(b.shape[1]):
                out[:, k] = self.solve(b[:, k])
            return out
        analysis = self.analysis
        x, vectors = np.asarray(b[self.order], np.float64), np.empty(analysis.vectors)
        down, up = (analysis.plan, self.values, self.signs, x, vectors), (analysis.plan, self.values, x)
        in_threads(lambda span: fronts.forward(span[0], span[1], *down), analysis.spans, self._threads)
        for first, last, _ in analysis.crown:
            fronts.forward(first, last, *down)
        for first, last, _ in analysis.crown[::-1]:
            fronts.backward(first, last, *up)
        in_threads(lambda span: fronts.backward(span[0], span[1], *up), analysis.spans, self._threads)
        return np.asarray(x[analysis.place])


class SuperLUAnalysis:
    """For matrices that SuperLU orders and factorises in one go."""

    def __init__(self, A: sp.csr_array, *, ordered: bool = False) -> None:
        self.ordering = "NATURAL" if ordered else "MMD_AT_PLUS_A"

    def factorise(self, A: sp.csr_array) -> SuperLUFactor:
        """Factors of a matrix of the pattern that was analysed."""
        return SuperLUFactor(self, A)


class SuperLUFactor:
    """The same as `FrontalFactor`, from SuperLU."""

    def __init__(self, analysis: SuperLUAnalysis, A: sp.csr_array) -> None:
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
    """An order in which neighbours are close together in memory: reverse Cuthill and McKee's, or their own where they are."""
    n = A.shape[0]
    some = A[:: 1 + n // 1000].tocoo()
    if np.abs(some.row * (1 + n // 1000) - some.col).sum() < some.nnz * n / 100:
        return np.arange(n, dtype=np.int32)
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


def _runs(nodes: Index, large: NDArray[np.bool_]) -> list[tuple[int, int, bool]]:
    """Consecutive nodes together as (first, last, False), large ones each alone as (first, last, True)."""
    found: list[tuple[int, int, bool]] = []
    for s in map(int, nodes):
        if found and found[-1][1] == s and not large[s] and not found[-1][2]:
            found[-1] = found[-1][0], s + 1, False
        else:
            found.append((s, s + 1, bool(large[s])))
    return found


def _arrays(A: sp.csr_array) -> tuple[Index, Index, Array]:
    """What the compiled loops take, whatever the types: every other combination would be compiled anew."""
    return A.indptr.astype(np.int64, copy=False), A.indices.astype(np.int32, copy=False), np.asarray(A.data, np.float64)


def _inverse(order: Index) -> Index:
    place = np.empty(order.size, np.int32)
    place[order] = np.arange(order.size, dtype=np.int32)
    return place
