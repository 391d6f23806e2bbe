"""What a sparse factorisation would cost, told from the graph of the matrix before anything is factorised.

The levels of a breadth-first walk from a far corner cut the graph in two: the size of a level near the middle is about the size
s of the best separator, and s decides. Its dense block in the factor has s² entries and takes s³ operations. A sheet of n
points has s ≈ √n, a cloud of high intrinsic dimension s ≈ n.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import breadth_first_order

Index = NDArray[np.intp]

#: Seconds expected of SuperLU from which a factor is worth compiled loops: below, it is done long before they are compiled for the first
#: time, and not later where they are compiled already.
LARGE = 0.25
#: Seconds until compiled loops are loaded; the first time it takes more.
_LOADING = 1.0
#: Times that the pieces of a graph are cut again.
_ROUNDS = 4
#: More levels than this and the graph is a thread: its separators are small.
_THREAD = 5000


class Fill(NamedTuple):
    """Predicted cost of a sparse symmetric factorisation, and of doing without."""

    n: int
    separator: int
    entries: float
    operations: float
    products: float

    @property
    def bytes(self) -> float:
        """Of SuperLU's factors, or of the entries by fronts and the updates on their way: within a factor of three, both."""
        return 12.0 * self.entries

    @property
    def by_fronts(self) -> bool:
        """Whether SuperLU is left to smaller ones. The size alone decides, not what happens to be compiled: same data, same result."""
        return self._by_superlu >= LARGE

    @property
    def seconds(self) -> float:
        """Of the factorisation on two cores of an ordinary machine, within a factor of three or so, and of loading compiled loops."""
        return _LOADING + self.entries / 2e7 + self.operations / 8e9 if self.by_fronts else self._by_superlu

    @property
    def _by_superlu(self) -> float:
        return self.entries / 1e7 + self.operations / 1.2e9

    @property
    def seconds_without(self) -> float:
        """Of an iteration by products alone."""
        return self.products / 1.4e9


def predict_fill(S: sp.csr_array, *, squared: bool = False) -> Fill:
    """Cost for a symmetric matrix of this pattern, ordered by minimum degree; with `squared`, for FᵀF of a square factor F.

    The wanted eigenvalues of a graph n/s separators long lie near (s/n)² for a Laplacian and near its square for forms of second
    derivatives, and an iteration needs products in proportion to their inverse square root. Groups on a string have thin necks, but
    as many tiny eigenvalues of a Laplacian as there are groups, which an iteration finds together: there the levels of the walk count.
    """
    n, nnz, order = S.shape[0], float(S.nnz), 1
    pattern = S
    if squared:
        ones = sp.csr_array((np.ones(S.nnz, dtype=np.int8), S.indices, S.indptr), shape=S.shape)
        pattern = sp.csr_array(ones + ones.T)
        nnz, order = 0.3 * float(np.sum(np.diff(S.indptr).astype(np.float64) ** 2)), 2  # paths of two steps meet
    elif S.nnz > n and np.sum(S.data > 0) > 1.5 * n:
        order = 2  # a Laplacian has positive entries on its diagonal only
    levels, steps = _levels(pattern), 2 if squared else 1
    s = steps * int(levels[_neck(levels)])
    # of a piece, a walk from its own corner would find a better cut
    widest = max(s, steps * _widest(levels, _ROUNDS) // 2)
    depth = np.log2(max(widest, 8)) - 2
    entries = min(1.2 * nnz * depth + 2.0 * widest * widest * np.log2(max(n / widest, 2)), float(n) ** 2)
    length = min(n / s, levels.size) if order == 1 and levels.size < _THREAD else n / s
    products = 16.0 * (2 * S.nnz if squared else S.nnz) * (200 + 30 * length**order)
    return Fill(n, s, entries, min(2.0 * float(widest) ** 3, float(n) ** 3 / 3), products)


def separator(S: sp.csr_array) -> int:
    """Size of the smallest level, between a quarter and three quarters of the way, of a walk from a far corner."""
    levels = _levels(S)
    return int(levels[_neck(levels)])


def _levels(S: sp.csr_array) -> Index:
    """Level sizes of a breadth-first walk from a far corner."""
    pattern = sp.csr_matrix((np.ones(S.nnz), S.indices, S.indptr), shape=S.shape)
    corner = int(np.argmin(np.diff(S.indptr)))
    for _ in range(2):
        levels, last = _walk(pattern, corner)
        corner = int(last.min())
    return levels


def _neck(levels: Index) -> int:
    """The smallest level between a quarter and three quarters of the way."""
    done = np.cumsum(levels)
    middle = (done >= 0.25 * done[-1]) & (done - levels <= 0.75 * done[-1])
    return int(np.argmin(np.where(middle, levels, done[-1])))


def _widest(levels: Index, rounds: int) -> int:
    """The largest of the cuts when what lies on both sides of the neck is cut in turn: groups on a string have thin necks, and fill."""
    if levels.size == 0:
        return 0
    at = _neck(levels)
    sides = (levels[:at], levels[at + 1 :]) if rounds else ()
    return max(int(levels[at]), *(_widest(side, rounds - 1) for side in sides), 0)


def _walk(pattern: sp.csr_matrix, start: int) -> tuple[Index, Index]:
    """Level sizes of a breadth-first walk, and the nodes of its last level."""
    order, before = breadth_first_order(pattern, start)
    place = np.empty(pattern.shape[0], dtype=np.intp)
    place[order] = np.arange(order.size)
    parents = place[before[order[1:]]]  # ascending, for the walk is a queue
    sizes, begin, end = [1], 0, 1
    while end < order.size and len(sizes) < _THREAD:
        begin, end = end, 1 + int(np.searchsorted(parents, end))
        sizes.append(end - begin)
    return np.array(sizes), order[begin:end]
