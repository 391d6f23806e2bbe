"""Compiled loops of the exact neighbour search: keep the nearest of many candidates after a matrix product.

The loops are single-threaded: the caller runs one per block of queries, after a single-threaded matrix product. Comparisons are written so
that points with NaN coordinates are never excluded by a bound.
"""

from __future__ import annotations

import numpy as np

from ..jit.compiler import compiled, summed


@compiled
def keep_lowest(products, squares, first, values, indices):  # type: ignore[no-untyped-def]
    """Merge ``squares[j] + products[i, j]`` into the sorted lists `values` and `indices` of the lowest of each query i.

    Column j is candidate ``first + j``.
    """
    last = values.shape[1] - 1
    flags = np.zeros(products.shape[1] + 8, np.uint8)
    words = flags[: flags.size // 8 * 8].view(np.uint64)
    for i in range(products.shape[0]):
        row, low = products[i], values[i]
        for j in range(row.size):
            flags[j] = row[j] + squares[j] < low[last]
        for w in range(words.size):
            if words[w]:
                for j in range(8 * w, 8 * w + 8):
                    if flags[j] and row[j] + squares[j] < low[last]:
                        _insert(low, indices[i], row[j] + squares[j], first + j)


@compiled
def sift(  # type: ignore[no-untyped-def]
    products, sizes, squares, F, G, slack, slacks, scale, points, which, queries, own, values, indices
):
    """Filter the pairs of a block of queries and a tile of points by lower bounds, and keep the nearest in sorted lists.

    Parameters
    ----------
    products : float32 array of shape (m, t)
        ``sizes[i] + squares[j] + products[i, j]`` is the first bound, on the square of `scale` times the distance.
    F, G : float32 arrays of shape (m, c, p + 1) and (t, c, p + 1)
        Queries and points of the tile: blocks of p coordinates, each with the length of the remaining coordinates. Each block gives a
        tighter bound.
    slack, slacks : arrays of shape (m,) and (t,)
        Rounding error of a distance between rows of F and G (the sum of both entries).
    points, which, queries, own : arrays
        All points and the indices of the tile's points; the queries and their own indices.
    values, indices : arrays of shape (m, k)
        The smallest squared distances so far, sorted by distance, then index.

    Returns
    -------
    (int, int)
        Number of pairs that pass the first bound, and number that pass all bounds.
    """
    last = values.shape[1] - 1
    flags = np.zeros(products.shape[1] + 8, np.uint8)
    words = flags[: flags.size // 8 * 8].view(np.uint64)
    passed, measured, share = 0, 0, 1 + 2.0**-23 * (G[0].size + 8)
    for i in range(products.shape[0]):
        row = products[i]
        below = _below(values[i, last] * scale**2, sizes[i])
        for j in range(row.size):
            flags[j] = not (row[j] + squares[j] > below)
        for w in range(words.size):
            if not words[w]:
                continue
            for j in range(8 * w, 8 * w + 8):
                if not flags[j] or row[j] + squares[j] > below or which[j] == own[i]:
                    continue
                passed += 1
                limit = (np.sqrt(values[i, last]) * scale + slack[i] + slacks[j]) ** 2
                if _is_beyond(F[i], G[j], np.float32(min(limit * share + 1e-34, 3e38))):
                    continue
                measured += 1
                if _consider(queries[i], points[which[j]], which[j], values[i], indices[i]):
                    below = _below(values[i, last] * scale**2, sizes[i])
    return passed, measured


@compiled
def measure(queries, points, candidates, own, values, indices):  # type: ignore[no-untyped-def]
    """Merge each query's candidates into the sorted lists; negative indices are ignored."""
    for i in range(candidates.shape[0]):
        for j in candidates[i]:
            if j >= 0 and j != own[i]:
                _consider(queries[i], points[j], j, values[i], indices[i])


@compiled
def _below(kth, size):  # type: ignore[no-untyped-def]
    """Return the limit for the products (without the query's squared length), with a margin for rounding and single precision range."""
    return np.float32(min(kth * (1 + 2.0**-20) - size + 2.0**-22 * size + 1e-34, 3e38))


@compiled
def _is_beyond(a, b, limit):  # type: ignore[no-untyped-def]
    """Return True if a lower bound of the squared distance, from one of the blocks of coordinates, exceeds the limit."""
    total, rest = np.float32(0.0), a.shape[1] - 1
    for c in range(a.shape[0]):
        total += _square(a[c, :rest], b[c, :rest])
        e = a[c, rest] - b[c, rest]
        if total + e * e > limit:
            return True
    return False


@compiled
def _consider(query, point, index, values, indices):  # type: ignore[no-untyped-def]
    """Insert a point into the list if it is among the nearest; return whether it was.

    A fast approximate sum first excludes points that are too far away. The stored square is summed in the order of the features, as in
    every search.
    """
    last = values.size - 1
    if _roughly(query, point) * (1 - 1e-15 * (query.size + 8)) > values[last] + 1e-300:
        return False
    total = 0.0
    for f in range(query.size):
        e = query[f] - np.float64(point[f])
        total += e * e
    if total > values[last] or (total == values[last] and index > indices[last]):
        return False
    for other in indices:
        if other == index:
            return False
    _insert(values, indices, total, index)
    return True


@compiled
def _insert(values, indices, value, index):  # type: ignore[no-untyped-def]
    p = values.size - 1
    while p > 0 and (values[p - 1] > value or (values[p - 1] == value and indices[p - 1] > index)):
        values[p] = values[p - 1]
        indices[p] = indices[p - 1]
        p -= 1
    values[p] = value
    indices[p] = index


@summed
def _square(a, b):  # type: ignore[no-untyped-def]
    total = np.float32(0.0)
    for f in range(a.size):
        e = a[f] - b[f]
        total += e * e
    return total


@summed
def _roughly(a, b):  # type: ignore[no-untyped-def]
    total = 0.0
    for f in range(a.size):
        e = a[f] - np.float64(b[f])
        total += e * e
    return total
