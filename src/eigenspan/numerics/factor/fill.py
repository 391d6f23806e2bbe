"""Predicted cost of a sparse factorisation, from the graph of the matrix before anything is factorised.

The levels of a breadth-first search from a peripheral node separate the graph: the size of a level near the middle is about the
size s of the best separator, which determines the cost. Its dense block in the factor has s² entries and takes s³ operations. A
two-dimensional sheet of n points has s ≈ √n, a cloud of high intrinsic dimension s ≈ n.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order

from ..._types import Integers

#: Predicted seconds of SuperLU from which the compiled multifrontal code is used. Below, SuperLU finishes long before the loops are
#: compiled for the first time, and no later than loops that are compiled already.
LARGE = 0.25
#: Seconds until compiled loops are loaded; the first compilation takes longer.
_LOADING = 1.0
#: Depth of the recursive bisection of a graph.
_ROUNDS = 4
#: A graph with more levels than this is nearly one-dimensional: its separators are small.
_MAX_LEVELS = 5000


class Fill(NamedTuple):
    """Predicted cost of a sparse symmetric factorisation, and of an iteration without it."""

    n: int
    separator: int
    entries: float
    operations: float
    products: float

    @property
    def bytes(self) -> float:
        """Bytes of SuperLU's factors, or of the multifrontal entries and updates; both within a factor of three."""
        return 12.0 * self.entries

    @property
    def by_fronts(self) -> bool:
        """True for the multifrontal code, False for SuperLU. It depends on the size only, not on the cache: same data, same result."""
        return self._by_superlu >= LARGE

    @property
    def seconds(self) -> float:
        """Seconds of the factorisation on two ordinary cores, within a factor of three or so, including loading of compiled loops."""
        return _LOADING + self.entries / 2e7 + self.operations / 8e9 if self.by_fronts else self._by_superlu

    @property
    def _by_superlu(self) -> float:
        return self.entries / 1e7 + self.operations / 1.2e9

    @property
    def seconds_without(self) -> float:
        """Seconds of an iteration that uses products only."""
        return self.products / 1.4e9


def predict_fill(S: sp.csr_array, *, squared: bool = False) -> Fill:
    """Predict the cost for a symmetric matrix of this pattern, ordered by minimum degree; with `squared`, for FᵀF of a square factor F.

    In a graph of n/s separators in a row, the wanted eigenvalues are near (s/n)² for a Laplacian and near its square for forms of second
    derivatives. An iteration needs products in proportion to the inverse square root of the eigenvalue. Groups connected like beads on
    a string have small separators, but a Laplacian has as many tiny eigenvalues as there are groups, which an iteration finds
    together: for these graphs the number of levels is used instead of n/s.
    """
    n, nnz, order = S.shape[0], float(S.nnz), 1
    pattern = S
    if squared:
        ones = sp.csr_array((np.ones(S.nnz, dtype=np.int8), S.indices, S.indptr), shape=S.shape)
        pattern = sp.csr_array(ones + ones.T)
        nnz, order = 0.3 * float(np.sum(np.diff(S.indptr).astype(np.float64) ** 2)), 2  # distinct paths of two edges
    elif S.nnz > n and np.sum(S.data > 0) > 1.5 * n:
        order = 2  # a Laplacian has positive entries on its diagonal only
    levels, steps = _levels(pattern), 2 if squared else 1
    s = steps * int(levels[_separator_level(levels)])
    # a search from a peripheral node of the part itself would find a better separator, hence // 2
    widest = max(s, steps * _largest_separator(levels, _ROUNDS) // 2)
    depth = np.log2(max(widest, 8)) - 2
    entries = min(1.2 * nnz * depth + 2.0 * widest * widest * np.log2(max(n / widest, 2)), float(n) ** 2)
    length = min(n / s, levels.size) if order == 1 and levels.size < _MAX_LEVELS else n / s
    products = 16.0 * (2 * S.nnz if squared else S.nnz) * (200 + 30 * length**order)
    return Fill(n, s, entries, min(2.0 * float(widest) ** 3, float(n) ** 3 / 3), products)


def separator(S: sp.csr_array) -> int:
    """Return the size of the smallest level of the middle half of a breadth-first search from a peripheral node."""
    levels = _levels(S)
    return int(levels[_separator_level(levels)])


def _levels(S: sp.csr_array) -> Integers:
    """Return the level sizes of a breadth-first search from a peripheral node."""
    pattern = sp.csr_matrix((np.ones(S.nnz), S.indices, S.indptr), shape=S.shape)
    corner = int(np.argmin(np.diff(S.indptr)))
    for _ in range(2):
        levels, last = _walk(pattern, corner)
        corner = int(last.min())
    return levels


def _separator_level(levels: Integers) -> int:
    """Return the smallest level of the middle half (by number of nodes)."""
    done = np.cumsum(levels)
    middle = (done >= 0.25 * done[-1]) & (done - levels <= 0.75 * done[-1])
    return int(np.argmin(np.where(middle, levels, done[-1])))


def _largest_separator(levels: Integers, rounds: int) -> int:
    """Return the largest separator of a recursive bisection: groups connected like beads on a string have small separators, but fill."""
    if levels.size == 0:
        return 0
    at = _separator_level(levels)
    sides = (levels[:at], levels[at + 1 :]) if rounds else ()
    return max(int(levels[at]), *(_largest_separator(side, rounds - 1) for side in sides), 0)


def _walk(pattern: sp.csr_matrix, start: int) -> tuple[Integers, Integers]:
    """Return the level sizes of a breadth-first search, and the nodes of its last level."""
    order, before = breadth_first_order(pattern, start)
    place = np.empty(pattern.shape[0], dtype=np.intp)
    place[order] = np.arange(order.size)
    parents = place[before[order[1:]]]  # ascending, because breadth-first search is a queue
    sizes, begin, end = [1], 0, 1
    while end < order.size and len(sizes) < _MAX_LEVELS:
        begin, end = end, 1 + int(np.searchsorted(parents, end))
        sizes.append(end - begin)
    return np.array(sizes), order[begin:end]
