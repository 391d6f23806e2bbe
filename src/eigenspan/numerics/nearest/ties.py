"""Ties in neighbour lists: nearest first, and of equally near points the one with the lower index.

Searches differ in the last digits of their distances and in the points that they keep where several are equally far as the last. A list is
left as it was found if no two of its distances, nor the last and the next beyond it, are equal up to rounding. The other lists, few unless
the data are whole numbers or a grid, are made again: distances are taken by `pair_squares`, which gives the same number in every
search, and compared exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .neighbour_lists import Lists, empty_lists, nearest_first
from .squares import EPS, pair_squares

Array = NDArray[np.float64]
Index = NDArray[np.intp]

#: Candidates whose distances are held at once.
_HELD = 2**20
#: Searches with more and more candidates before all points within a ball are asked for.
_ROUNDS = 2


def rounding(features: int) -> float:
    """Relative difference of two ways to compute one Euclidean distance by differences, and some more."""
    return 4 * EPS * (features + 8)


def tied_rows(distances: Array, share: float = 0.0, slack: Array | None = None) -> Index:
    """Lists, sorted by distance, in which two distances in a row differ by no more than `share` of them, or than the list's `slack`."""
    with np.errstate(invalid="ignore"):  # infinity less infinity: such lists are refused later
        gaps = distances[:, 1:] - distances[:, :-1]
    if slack is None:
        if not gaps.size or gaps.min() > share * distances[:, -1].max():  # nearly always
            return np.empty(0, dtype=np.intp)
        return np.flatnonzero((gaps <= share * distances[:, 1:]).any(axis=1))
    return np.flatnonzero((gaps <= slack[:, None]).any(axis=1))


def settled_in_tree(tree: Any, points: Array, queries: Array, own: Index, k: int) -> Lists:
    """The k nearest points of each query by distance, then by index, from a k-d tree; `own` is the query's own index, −1 if it has none."""
    n, share = len(points), rounding(points.shape[1])
    distances, indices = empty_lists(len(queries), k)
    left, count = np.arange(len(queries)), 2 * k + 8
    for _ in range(_ROUNDS):
        count, unsettled = min(count, n), []
        for some in _parts(left, np.full(left.size, count)):
            found, which = tree.query(queries[some], np.arange(1, count + 1))
            squares = pair_squares(queries, np.repeat(some, count), points, which.ravel()).reshape(which.shape)
            squares[which == own[some, None]] = np.inf
            distances[some], indices[some] = nearest_first(squares, which, k)
            unsettled.append(some[found[:, -1] <= distances[some, -1] * (1 + share)])
        left = np.concatenate([*unsettled, left[:0]])
        if count == n or not left.size:
            return distances, indices
        count *= 4
    _settle_in_balls(tree, points, queries, own, left, distances, indices)
    return distances, indices


def _settle_in_balls(
    tree: Any, points: Array, queries: Array, own: Index, left: Index, distances: Array, indices: Index
) -> None:
    """The same for queries with very many equally near points: equal queries are asked once."""
    k, share = distances.shape[1], rounding(points.shape[1])
    _, first, group = np.unique(queries[left], axis=0, return_index=True, return_inverse=True)
    places = queries[left[first]]
    members = np.split(left[np.argsort(group.ravel(), kind="stable")], np.cumsum(np.bincount(group.ravel()))[:-1])
    radii = distances[left[first], -1] * (1 + share)
    for some in _parts(np.arange(first.size), tree.query_ball_point(places, radii, return_length=True)):
        for g, near in zip(some, tree.query_ball_point(places[some], radii[some]), strict=True):
            near = np.sort(np.asarray(near, dtype=np.intp))
            squares = pair_squares(places, np.full(near.size, g), points, near)
            best = np.argsort(squares, kind="stable")[: k + 1]
            for row in members[g]:
                others = best[near[best] != own[row]][:k]
                distances[row], indices[row] = np.sqrt(squares[others]), near[others]


def _parts(rows: Index, counts: Any) -> list[Index]:
    """Rows in groups whose candidates, so many each, can be held at once."""
    if not rows.size:
        return []
    return np.split(rows, np.flatnonzero(np.diff(np.cumsum(counts) // _HELD)) + 1)


def settled_in_rows(
    rows_of: Callable[[Index], Array], own: Index, k: int, n: int, slack: Callable[[Array], Any]
) -> Lists:
    """The k nearest of n points by distance, then by index, from all distances of each query.

    For metrics whose values depend on how they were computed: distances that differ by no more than the `slack` of the smaller are equal.
    """
    distances, indices = empty_lists(own.size, k)
    for some in _parts(np.arange(own.size), np.full(own.size, n)):
        D = rows_of(some)
        D[own[some] >= 0, own[some][own[some] >= 0]] = np.inf
        order = np.argsort(D, axis=1, kind="stable")
        D = np.take_along_axis(D, order, axis=1)
        level = np.zeros(D.shape)
        with np.errstate(invalid="ignore"):  # infinity less infinity
            np.cumsum(np.diff(D, axis=1) > slack(D[:, :-1]), axis=1, out=level[:, 1:])
        best = np.lexsort((order, level), axis=1)[:, :k]
        distances[some], indices[some] = np.take_along_axis(D, best, axis=1), np.take_along_axis(order, best, axis=1)
    return distances, indices


def decided_at(radius: float, doubt: float, measured: Any, distances: Any, indices: Any) -> None:
    """Measure the points from a distance of `doubt` on as every other search does, and drop those beyond the radius, in place."""
    edge = np.flatnonzero(np.concatenate(distances) >= doubt)
    if not edge.size:
        return
    ends = np.cumsum([len(row) for row in distances])
    rows = np.searchsorted(ends, edge, side="right")
    places, found = edge - np.concatenate([[0], ends])[rows], np.concatenate(indices)[edge]
    lengths = measured(i=rows, j=found)
    for i in np.unique(rows):
        at = places[rows == i]
        distances[i][at] = lengths[rows == i]
        near = distances[i] <= radius
        distances[i], indices[i] = distances[i][near], indices[i][near]
