"""Keeping the nearest of many candidates: what a matrix product leaves to be done in a search for neighbours.

Plain loops without threads of their own: the caller runs one per block of queries, beside a single-threaded product.
"""

from __future__ import annotations

import numpy as np

from .jit import compiled

#: Candidates looked over at once: one count of those below the threshold, which the processor does in parallel.
_STRIDE = 64


@compiled
def keep_nearest(products, squares, first, own, values, indices):  # type: ignore[no-untyped-def]
    """Merge ``squares[j] + products[i, j]`` into the sorted lists `values`, `indices` of the K smallest of each query i.

    Column j is candidate ``first + j``; candidate ``own[i]`` is the query itself and passed over.
    """
    m, width = products.shape
    K = values.shape[1]
    for i in range(m):
        row = products[i]
        worst = values[i, K - 1]
        for start in range(0, width, _STRIDE):
            stop = min(start + _STRIDE, width)
            below = 0
            for j in range(start, stop):
                below += np.int32(row[j] + squares[j] < worst)
            if below == 0:
                continue
            for j in range(start, stop):
                d = row[j] + squares[j]
                if d < worst and first + j != own[i]:
                    _insert(values[i], indices[i], d, first + j)
                    worst = values[i, K - 1]


@compiled
def _insert(values, indices, value, index):  # type: ignore[no-untyped-def]
    p = values.size - 1
    while p > 0 and values[p - 1] > value:
        values[p] = values[p - 1]
        indices[p] = indices[p - 1]
        p -= 1
    values[p] = value
    indices[p] = index


@compiled
def exact_squares(queries, points, indices, out):  # type: ignore[no-untyped-def]
    """Squared distances from each query to its candidates, from differences in double precision."""
    for i in range(indices.shape[0]):
        for c in range(indices.shape[1]):
            j = indices[i, c]
            total = 0.0
            for f in range(points.shape[1]):
                e = np.float64(queries[i, f]) - np.float64(points[j, f])
                total += e * e
            out[i, c] = total


@compiled
def scan_exactly(queries, points, own, values, indices):  # type: ignore[no-untyped-def]
    """The same lists from differences alone, ties in the order of the points; a sum past the threshold is given up."""
    n, D = points.shape
    K = values.shape[1]
    for i in range(queries.shape[0]):
        for j in range(n):
            if j == own[i]:
                continue
            total = 0.0
            worst = values[i, K - 1]
            for f in range(D):
                e = np.float64(queries[i, f]) - np.float64(points[j, f])
                total += e * e
                if total >= worst:
                    break
            if total < worst:
                _insert(values[i], indices[i], total, j)
