"""Analysis of a sparse symmetric matrix: the pattern of its factor, and the distribution of the work among threads."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..._types import Array, Integers
from . import numeric as factor
from .numeric import FrontalFactor
from .order import Elements, approximate_minimum_degree, arrays, inverse, near_order, permuted

#: A subtree with more than this share of the work is split if it has enough work for a second thread.
_SHARE = 1 / 32


class Analysis:
    """Order of elimination and pattern of the factor of a symmetric matrix.

    Attributes
    ----------
    order, place : arrays of n integers
        Row ``order[k]`` is eliminated k-th; ``place`` is the inverse.
    plan : FrontPlan
        The assembly tree (`factor.fronts`).
    spans : list of (first, last)
        Runs of supernodes that depend on no others, heaviest first; the threads share them.
    top : list of (first, last, large)
        The supernodes above them, in their order; a large one is listed separately, and the threads share its products.
    entries, updates, vectors : int
        Number of values to store: of the factor, of the updates of fronts for their parents, and of those updates in a solve.
    tallest : int
        Number of rows of the largest front.
    """

    def __init__(self, A: sp.csr_array) -> None:
        from . import elimination, fronts

        self._pattern = A.indptr, A.indices
        A, begin, up, heights, self.order = ordered_fronts(A)
        self.place = inverse(self.order)
        widths = np.diff(begin)
        owner = np.repeat(np.arange(widths.size, dtype=np.int32), widths)
        indptr, indices, _ = arrays(A)
        walk = indptr, indices, self.order, self.place, owner, up
        if heights is None:
            heights = np.zeros(up.size, np.int64)
            elimination.add_front_rows(*walk, np.full(up.size, -1), heights, np.empty(0, np.int32))
        starts = np.concatenate([[0], np.cumsum(heights)])
        rows, positions = np.empty((2, starts[-1]), np.int32)
        elimination.add_front_rows(*walk, np.full(up.size, -1), starts[:-1].copy(), rows)
        elimination.find_positions(starts, rows, up, begin, positions)
        child, previous_sibling = _children(up)
        where = np.concatenate([[0], np.cumsum(widths * (widths + heights))])
        work = widths * (widths + heights).astype(np.float64) ** 2
        self.spans, part = shares(work, up, max(_SHARE * work.sum(), factor.SHARED))
        self.top = _runs(np.flatnonzero(part == 0), work > factor.SHARED)
        room, self.updates = stack_places(heights**2, up, part)
        slots, self.vectors = stack_places(heights, up, part)
        self.plan = fronts.FrontPlan(begin, starts, rows, up, positions, child, previous_sibling, where, room, slots)
        self.entries, self.tallest = int(where[-1]), int((widths + heights).max())

    def factorise(self, A: sp.csr_array) -> FrontalFactor:
        """Factorise a matrix of the analysed pattern; a matrix of another pattern is analysed first."""
        same = all(map(np.array_equal, (A.indptr, A.indices), self._pattern))
        return FrontalFactor(self if same else Analysis(A), A)


def ordered_fronts(A: sp.csr_array) -> tuple[sp.csr_array, Integers, Integers, Integers | None, Integers]:
    """Return the pattern and its `assembly_tree`; the pattern is symmetrised if rounding has dropped a zero on one side."""
    near, ones = near_order(A), sp.csr_array((np.ones(A.nnz, np.int8), A.indices, A.indptr), shape=A.shape)
    found = approximate_minimum_degree(permuted(ones, near))
    if found is None:
        ones = sp.csr_array(ones + ones.T)
        found = approximate_minimum_degree(permuted(ones, near))
        assert found is not None
    begin, up, heights, order = assembly_tree(found)
    return ones, begin, up, heights, near[order]


def assembly_tree(found: Elements) -> tuple[Integers, Integers, Integers | None, Integers]:
    """Return the first column of each front, its parent, its number of rows below, and the order of the columns (subtrees contiguous).

    The numbers of rows are None if dense columns were set aside, because these were not counted.
    """
    from . import elimination

    up, widths, heights = found.up, found.widths.copy(), found.heights
    into, child, sibling = np.arange(up.size), np.full(up.size, -1), np.full(up.size, -1)
    filled = widths * (widths + 1) // 2 + widths * heights
    elimination.merge_fronts(up, widths, heights, filled, into, child, sibling)
    kept = np.flatnonzero(into == np.arange(into.size))
    number = np.full(into.size + 1, -1, np.int32)
    number[kept] = np.arange(kept.size, dtype=np.int32)
    up = number[np.append(into, -1)[up[kept]]]
    front = np.append(number[into], kept.size).astype(np.int32)  # the front of each group
    dense = np.any(found.group == into.size)
    if dense:  # the dense columns form a front of their own, above all others
        up = np.append(np.where(up < 0, kept.size, up), -1).astype(np.int32)
    rank = postorder(up)
    above = np.append(rank, -1)[up[inverse(rank)]].astype(np.int32)
    front = np.append(rank, -1)[front]
    order = np.argsort(front[found.group] * np.int64(into.size + 1) + found.group, kind="stable").astype(np.int32)
    widths = np.bincount(front[found.group], minlength=up.size)
    below = None if dense else heights[kept][inverse(rank)]  # a front that absorbs others gets no more rows
    return np.concatenate([[0], np.cumsum(widths)]), above, below, order


def postorder(up: Integers) -> Integers:
    """Return the position of each node of a forest: children before their parents, and each subtree contiguous."""
    size, place, nodes = [1] * (up.size + 1), [0] * up.size, up.tolist()
    for s, parent in enumerate(nodes):
        size[parent] += size[s]
    end = [*place, up.size]  # end of the free range for the children of each node; the last entry is for the roots
    for s in range(up.size - 1, -1, -1):
        place[s] = end[s] = end[nodes[s]] - 1
        end[nodes[s]] -= size[s]
    return np.array(place, np.int32)


def shares(work: Array, up: Integers, limit: float) -> tuple[list[tuple[int, int]], Integers]:
    """Split the tree into runs of supernodes that depend on no others: their bounds, heaviest first, and the part of each node.

    A supernode whose subtree has more work than the limit belongs to no run, and has part 0.
    """
    own, parents = work.tolist(), up.tolist()
    subtree = [*own, np.inf, np.inf]  # sentinels above the roots and after the last node, which belong to no run
    for s, parent in enumerate(parents):
        if parent >= 0:
            subtree[parent] += subtree[s]
    runs: list[tuple[float, int, int]] = []
    part, first, done = np.zeros(up.size, np.int32), 0, 0.0
    for s, parent in enumerate(parents):
        if subtree[s] > limit:
            first = s + 1
            continue
        done += own[s]
        if subtree[parent] > limit and (done > limit or subtree[s + 1] > limit):
            runs.append((-done, first, s + 1))
            part[first : s + 1] = len(runs)
            first, done = s + 1, 0.0
    return [(first, last) for _, first, last in sorted(runs)], part


def stack_places(sizes: Integers, up: Integers, part: Integers) -> tuple[Integers, int]:
    """Return the place where each supernode stores an update of its size for its parent, and the total size.

    The supernodes of a part, consecutive or not, are visited in their order and share two stacks, for even and odd generations. So
    no supernode overwrites the updates of its children, whose places become free once it is done.
    """
    parents, parts, places = up.tolist(), part.tolist(), [0] * up.size
    # `bottom`: place of the first update among a node's children
    odd, bottom = [0] * (up.size + 1), [-1] * (up.size + 1)
    for s in range(up.size - 1, -1, -1):
        odd[s] = 1 - odd[parents[s]]
    top, peak = [0] * (2 * max(parts) + 2), [0] * (2 * max(parts) + 2)
    for s, (size, parent) in enumerate(zip(sizes.tolist(), parents, strict=True)):
        mine = 2 * parts[s] + odd[s]
        places[s] = top[mine]
        top[mine] += size
        if top[mine] > peak[mine]:
            peak[mine] = top[mine]
        if bottom[s] >= 0:
            top[mine ^ 1] = bottom[s]
        if parent >= 0 and parts[parent] == parts[s] and bottom[parent] < 0:
            bottom[parent] = places[s]
    begin = np.concatenate([[0], np.cumsum(peak)])
    return np.array(places, np.int64) + begin[2 * part + np.array(odd[:-1])], int(begin[-1])


def _children(up: Integers) -> tuple[Integers, Integers]:
    """Return the last child of each node, and each node's previous sibling; -1 for none."""
    child, previous_sibling = np.full(up.size + 1, -1, np.int32), np.full(up.size, -1, np.int32)
    siblings = np.argsort(up, kind="stable").astype(np.int32)
    alike = up[siblings[1:]] == up[siblings[:-1]]
    previous_sibling[siblings[1:][alike]] = siblings[:-1][alike]
    child[up[siblings]] = siblings
    return child[:-1], previous_sibling


def _runs(nodes: Integers, large: NDArray[np.bool_]) -> list[tuple[int, int, bool]]:
    """Group consecutive nodes as (first, last, False), and large ones separately as (first, last, True)."""
    found: list[tuple[int, int, bool]] = []
    for s in map(int, nodes):
        if found and found[-1][1] == s and not large[s] and not found[-1][2]:
            found[-1] = found[-1][0], s + 1, False
        else:
            found.append((s, s + 1, bool(large[s])))
    return found
