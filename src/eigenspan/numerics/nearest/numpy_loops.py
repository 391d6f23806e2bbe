"""numpy versions of `compiled_loops`, for searches that finish before the compiler would.

The lists are identical bit for bit: squares are summed in the order of the features in both, and a bound only determines how early a pair
is dropped, never whether it is a neighbour.
"""

from __future__ import annotations

import numpy as np

from ..._types import Array, Index, Single

#: Number of coordinates of pairs that are measured at a time, so that they stay in the cache.
_NUMBERS = 2**20
#: Number of pairs per query, beyond its neighbours, that this version handles efficiently.
_SPARE = 100


def keep_lowest(products: Single, squares: Single, first: int, values: Single, indices: Index) -> None:
    """Merge ``squares[j] + products[i, j]`` into the unsorted lists of the lowest of each query i; column j is ``first + j``."""
    k = values.shape[1]
    both = np.hstack([values, products + squares])
    at = np.argpartition(both, k - 1, axis=1)[:, :k]
    known = np.take_along_axis(indices, np.minimum(at, k - 1), axis=1)
    indices[:] = np.where(at < k, known, first + at - k)
    values[:] = np.take_along_axis(both, at, axis=1)


def measure(queries: Array, points: Array, candidates: Index, own: Index, values: Array, indices: Index) -> None:
    """Merge each query's candidates into the sorted lists; negative indices are ignored."""
    rows, at = np.nonzero((candidates >= 0) & (candidates != own[:, None]))
    _consider(queries, points, rows, candidates[rows, at], values, indices)


def sift(
    products: Single, sizes: Array, squares: Single, F: Single, G: Single, slack: Array, slacks: Array, scale: float,
    points: Array, which: Index, queries: Array, own: Index, values: Array, indices: Index,
) -> tuple[int, int]:  # fmt: skip
    """Measure the pairs that pass the first bound and are not in the lists yet; return the number that pass and the number measured.

    If many pass, as in clusters too tight for single precision, the compiled loop is used.
    """
    kth = values[:, -1] * scale**2
    below = np.minimum(kth * (1 + 2.0**-20) - sizes + 2.0**-22 * sizes + 1e-34, 3e38).astype(np.float32)
    left = np.flatnonzero(~(products + squares > below[:, None]))
    if left.size > (values.shape[1] + _SPARE) * len(products):
        from . import compiled_loops as nearest

        arguments = products, sizes, squares, F, G, slack, slacks, scale, points, which, queries, own, values, indices
        passed, measured = nearest.sift(*arguments)
        return passed, measured
    rows, at = np.divmod(left, which.size)  # faster than np.nonzero of the two-dimensional mask
    other = which[at] != own[rows]
    rows, found = rows[other], which[at[other]]
    passed = rows.size
    new = np.ones(passed, dtype=bool)
    for column in indices.T:
        new &= column[rows] != found
    _consider(queries, points, rows[new], found[new], values, indices)
    return passed, int(new.sum())


def _consider(queries: Array, points: Array, rows: Index, found: Index, values: Array, indices: Index) -> None:
    """Merge pairs of a query and a point into the queries' lists, sorted by distance, then by index."""
    total, step = np.zeros(rows.size), max(64, _NUMBERS // max(queries.shape[1], 1))
    for i in range(0, rows.size, step):
        some = slice(i, i + step)
        E = (queries[rows[some]] - points[found[some]]).T
        for e in np.ascontiguousarray(E):
            total[some] += e * e
    near = total <= values[rows, -1]
    rows, found, total = rows[near], found[near], total[near]
    if rows.size == 0:
        return
    k, touched = values.shape[1], np.unique(rows)
    rows = np.concatenate([np.repeat(touched, k), rows])
    total = np.concatenate([values[touched].ravel(), total])
    found = np.concatenate([indices[touched].ravel(), found])
    order = np.lexsort((found, total, rows))
    starts = np.searchsorted(rows[order], touched)
    best = order[starts[:, None] + np.arange(k)]
    values[touched], indices[touched] = total[best], found[best]
