"""Ties in neighbour lists: sort by distance, and equally distant points by index.

Searches differ in the last digits of their distances, and in which points they keep if several are as far away as the last. A list is
kept if no two of its distances, nor the last and the next beyond it, are equal up to rounding. The other lists (few, unless
the data are whole numbers or a grid) are computed again: `pair_squares` gives the same distances in every search, which are compared
exactly.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.spatial import cKDTree

from ..._types import Array, Index
from .neighbour_lists import Lists, Ragged, empty_lists, nearest_first
from .squares import EPS, pair_squares

#: Number of candidate distances held at a time.
_HELD = 2**20
#: Number of searches with an increasing number of candidates before all points within a ball are requested.
_ROUNDS = 2


def rounding(features: int) -> float:
    """Return the relative difference of two ways to compute a Euclidean distance by differences, with a margin."""
    return 4 * EPS * (features + 8)


def tied_rows(distances: Array, share: float = 0.0, slack: Array | None = None) -> Index:
    """Return the lists (sorted by distance) with consecutive distances that differ by at most `share` of them, or the list's `slack`."""
    with np.errstate(invalid="ignore"):  # infinity minus infinity: such lists are rejected later
        gaps = distances[:, 1:] - distances[:, :-1]
    if slack is None:
        if not gaps.size or gaps.min() > share * distances[:, -1].max():  # the usual case
            return np.empty(0, dtype=np.intp)
        return np.flatnonzero((gaps <= share * distances[:, 1:]).any(axis=1))
    return np.flatnonzero((gaps <= slack[:, None]).any(axis=1))


def settled_in_tree(tree: cKDTree, points: Array, queries: Array, own: Index, k: int) -> Lists:
    """Return the k nearest points of each query by distance, then index, from a k-d tree; `own` is the query's own index, or −1."""
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
    tree: cKDTree, points: Array, queries: Array, own: Index, left: Index, distances: Array, indices: Index
) -> None:
    """Complete the lists of queries with very many equally distant points, in place; equal queries are searched once."""
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


def _parts(rows: Index, counts: Index) -> list[Index]:
    """Split rows into groups whose candidates (`counts` per row) can be held at a time."""
    if not rows.size:
        return []
    return np.split(rows, np.flatnonzero(np.diff(np.cumsum(counts) // _HELD)) + 1)


def settled_in_rows(
    rows_of: Callable[[Index], Array], own: Index, k: int, n: int, slack: Callable[[Array], Array | float]
) -> Lists:
    """Return the k nearest of n points by distance, then by index, from all distances of each query.

    For metrics whose values depend on how they are computed: distances that differ by at most the `slack` of the smaller one are
    equal.
    """
    distances, indices = empty_lists(own.size, k)
    for some in _parts(np.arange(own.size), np.full(own.size, n)):
        D = rows_of(some)
        D[own[some] >= 0, own[some][own[some] >= 0]] = np.inf
        order = np.argsort(D, axis=1, kind="stable")
        D = np.take_along_axis(D, order, axis=1)
        level = np.zeros(D.shape)
        with np.errstate(invalid="ignore"):  # infinity minus infinity
            np.cumsum(np.diff(D, axis=1) > slack(D[:, :-1]), axis=1, out=level[:, 1:])
        best = np.lexsort((order, level), axis=1)[:, :k]
        distances[some], indices[some] = np.take_along_axis(D, best, axis=1), np.take_along_axis(order, best, axis=1)
    return distances, indices


def decided_at(radius: float, doubt: float, measured: Callable[..., Array], distances: Ragged, indices: Ragged) -> None:
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
