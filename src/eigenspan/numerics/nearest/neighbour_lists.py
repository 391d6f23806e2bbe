"""Neighbour lists: as arrays, as CSR arrays whose explicit zeros are edges between coincident points, and their order under ties.

Lists are sorted by distance, and equally distant points by index. Searches differ in the last digits of their distances, and in which
points they keep if several are as far away as the last. A list is kept if no two of its distances, nor the last and the next beyond it,
are equal up to rounding. The other lists (few, unless the data are whole numbers or a grid) are computed again: `pair_squares` gives the
same distances in every search, which are compared exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from ..._types import Array, Index, Integers
from ..threads import in_slices, workers
from .squares import EPS, pair_squares

#: Distances and indices, of shape (m, k).
Lists = tuple[Array, Index]
#: Arrays of different lengths, one per query.
Ragged = NDArray[np.object_]

#: Placeholder for a distance of zero, which sparse arithmetic would drop.
TINY = 1e-300
#: Number of lists sorted at a time.
_ROWS = 2**13
#: Number of candidate distances held at a time.
_HELD = 2**20
#: Number of searches with an increasing number of candidates before all points within a ball are requested.
_ROUNDS = 2


def keep_zeros(D: sp.csr_array) -> sp.csr_array:
    """Replace stored zeros by `TINY`, so that sparse arithmetic does not drop them; `restore_zeros` reverts this."""
    if D.data.all():
        return D
    return sp.csr_array((np.maximum(D.data, TINY), D.indices, D.indptr), shape=D.shape)


def restore_zeros(D: sp.csr_array) -> sp.csr_array:
    """Revert `keep_zeros` in place. Apply it to results of sparse arithmetic only: `keep_zeros` may return its argument itself."""
    D.data[D.data <= TINY] = 0.0
    return D


def row_max(D: sp.csr_array) -> Array:
    """Return the largest entry of each row, or zero for an empty row."""
    out, starts = np.zeros(D.shape[0]), np.flatnonzero(np.diff(D.indptr))
    if starts.size:
        out[starts] = np.maximum.reduceat(D.data, D.indptr[starts])
    return out


def without_self(D: sp.csr_array) -> sp.csr_array:
    """Return the lists without edges from a point to itself, in the form of `canonical`."""
    n = D.shape[0]
    rows = np.repeat(np.arange(n, dtype=D.indices.dtype), np.diff(D.indptr))
    keep = rows != D.indices
    data, rows, columns = D.data[keep], rows[keep], D.indices[keep]
    if D.has_canonical_format:
        indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))])
        return sp.csr_array((np.asarray(data, dtype=np.float64), columns, indptr), shape=(n, n))
    return canonical(data, rows, columns, n)


def canonical(data: Array, rows: Integers, columns: Integers, n: int, m: int | None = None) -> sp.csr_array:
    """Return a CSR array with m rows (default n) and n columns, sorted by column with explicit zeros kept.

    Of duplicate edges the shorter is kept.
    """
    m = n if m is None else m
    order = np.lexsort((data, columns, rows))
    data, rows, columns = np.asarray(data, dtype=np.float64)[order], np.asarray(rows)[order], np.asarray(columns)[order]
    first = np.ones(rows.size, dtype=bool)
    first[1:] = (rows[1:] != rows[:-1]) | (columns[1:] != columns[:-1])
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows[first], minlength=m))])
    return sp.csr_array((data[first], columns[first], indptr), shape=(m, n))


def regular(distances: Array, indices: Index, n: int) -> sp.csr_array:
    """Return a CSR array of n columns from lists of equal length, sorted by column."""
    m, k = indices.shape
    kind: Any = np.int32 if max(n, m * k) < 2**31 else np.int64  # int32 takes half the memory
    columns, data = np.empty((m, k), kind), np.empty((m, k))
    bits = (k - 1).bit_length()
    short: Any = np.int32 if n < 2 ** (31 - bits) else np.int64  # 32-bit keys are sorted twice as fast
    places: NDArray[Any] = np.arange(k, dtype=short)

    def sort(rows: slice) -> None:
        keys: NDArray[Any] = indices[rows].astype(short)
        keys <<= bits
        keys += places  # for equal columns, keep the original order
        keys.sort(axis=1)
        np.right_shift(keys, bits, out=columns[rows], casting="unsafe")
        keys &= (1 << bits) - 1
        at = keys + np.arange(0, k * len(keys), k)[:, None]
        # all indices are in range, and mode="raise" would copy
        np.take(distances[rows], at, out=data[rows], mode="clip")

    in_slices(sort, m, _ROWS, workers())
    return sp.csr_array((data.ravel(), columns.ravel(), np.arange(0, m * k + 1, k, dtype=columns.dtype)), shape=(m, n))


def ragged(distances: Ragged, indices: Ragged, n: int) -> sp.csr_array:
    """Return a CSR array of n columns from lists of different lengths, sorted by column."""
    counts = [len(row) for row in indices]
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.intp)
    columns = np.concatenate([*indices, np.zeros(0, dtype=np.intp)]).astype(np.intp)
    out = sp.csr_array((np.concatenate([*distances, np.zeros(0)]), columns, indptr), shape=(len(counts), n))
    out.sort_indices()
    return out


def nearest_first(squares: Array, indices: Index, k: int) -> Lists:
    """Return the k nearest of each row's candidates by distance, then by index."""
    order = np.lexsort((indices, squares), axis=1)[:, :k]
    return np.sqrt(np.take_along_axis(squares, order, axis=1)), np.take_along_axis(indices, order, axis=1)


def lowest_columns(D: Array, k: int) -> Index:
    """Return the columns of the k smallest entries of each row, by value, then by column."""
    found = np.argpartition(D, k - 1, axis=1)[:, :k]
    found.sort(axis=1)
    values = np.take_along_axis(D, found, axis=1)
    found = np.take_along_axis(found, np.argsort(values, axis=1, kind="stable"), axis=1)
    last = values.max(axis=1)
    # If more entries equal the k-th smallest than are kept, the partition keeps arbitrary ones.
    for i in np.flatnonzero(np.count_nonzero(last[:, None] >= D, axis=1) > k):
        near = np.flatnonzero(last[i] >= D[i])
        found[i] = near[np.argsort(D[i, near], kind="stable")[:k]]
    return found


def leave_out_self(distances: Array, indices: Index, own: Index) -> Lists:
    """Return lists of k from lists of k + 1: drop the point itself, or the last entry if duplicates displaced it."""
    if np.array_equal(indices[:, 0], own):  # no duplicates: each point is its own nearest
        return distances[:, 1:], indices[:, 1:]
    at = np.where((indices == own[:, None]).any(axis=1), (indices == own[:, None]).argmax(axis=1), indices.shape[1] - 1)
    keep = np.arange(indices.shape[1])[None, :] != at[:, None]
    return distances[keep].reshape(own.size, -1), indices[keep].reshape(own.size, -1)


# ---------------------------------------------------------------------- ties
def rounding(features: int) -> float:
    """Return the relative difference of two ways to compute a Euclidean distance by differences, with a margin."""
    return 4 * EPS * (features + 8)


def tied_rows(distances: Array, features: int, slack: Array | None = None) -> Index:
    """Return the lists (sorted by distance) with consecutive distances that are equal up to rounding, or up to the list's `slack`."""
    with np.errstate(invalid="ignore"):  # infinity minus infinity: such lists are rejected later
        gaps = distances[:, 1:] - distances[:, :-1]
    if slack is None:
        share = rounding(features)
        if not gaps.size or gaps.min() > share * distances[:, -1].max():  # the usual case
            return np.empty(0, dtype=np.intp)
        return np.flatnonzero((gaps <= share * distances[:, 1:]).any(axis=1))
    return np.flatnonzero((gaps <= slack[:, None]).any(axis=1))


def settled_in_tree(tree: cKDTree, points: Array, queries: Array, own: Index, k: int) -> Lists:
    """Return the k nearest points of each query by distance, then index, from a k-d tree; `own` is the query's own index, or −1."""
    n, share = len(points), rounding(points.shape[1])
    distances, indices = np.empty((len(queries), k)), np.empty((len(queries), k), dtype=np.intp)
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
    distances, indices = np.empty((own.size, k)), np.empty((own.size, k), dtype=np.intp)
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
