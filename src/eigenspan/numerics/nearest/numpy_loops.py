"""The loops of `compiled.nearest` in numpy, for searches that are over before a compiler has begun.

They find the same lists bit for bit: a square is summed in the order of the features here too, and a bound decides how soon a pair is
dropped, never whether it is a neighbour.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Index = NDArray[np.intp]

#: Coordinates of the pairs that are measured at a time, so that they stay in the cache.
_NUMBERS = 2**20
#: Pairs of a query with points of a tile, beyond its neighbours, that are few.
_SPARE = 100


def keep_lowest(products: Any, squares: Any, first: int, values: Any, indices: Any) -> None:
    """Merge ``squares[j] + products[i, j]`` into the lists, in any order, of the lowest of each query i; column j is ``first + j``."""
    k = values.shape[1]
    both = np.hstack([values, products + squares])
    at = np.argpartition(both, k - 1, axis=1)[:, :k]
    known = np.take_along_axis(indices, np.minimum(at, k - 1), axis=1)
    indices[:] = np.where(at < k, known, first + at - k)
    values[:] = np.take_along_axis(both, at, axis=1)


def measure(queries: Array, points: Any, candidates: Index, own: Index, values: Array, indices: Index) -> None:
    """Keep the nearest of each query's candidates in sorted lists; numbers below zero stand for none."""
    rows, at = np.nonzero((candidates >= 0) & (candidates != own[:, None]))
    _consider(queries, points, rows, candidates[rows, at], values, indices)


def sift(
    products: Any, sizes: Any, squares: Any, F: Any, G: Any, slack: Any, slacks: Any, scale: float,
    points: Any, which: Index, queries: Array, own: Index, values: Array, indices: Index,
) -> tuple[int, int]:  # fmt: skip
    """Measure the pairs that the first bound leaves, but for those in the lists already; how many it leaves, and how many are new.

    Where it leaves many, as in clusters too tight for single precision, the compiled loop does better.
    """
    kth = values[:, -1] * scale**2
    below = np.minimum(kth * (1 + 2.0**-20) - sizes + 2.0**-22 * sizes + 1e-34, 3e38).astype(np.float32)
    left = np.flatnonzero(~(products + squares > below[:, None]))
    if left.size > (values.shape[1] + _SPARE) * len(products):
        from . import compiled_loops as nearest

        arguments = products, sizes, squares, F, G, slack, slacks, scale, points, which, queries, own, values, indices
        passed, measured = nearest.sift(*arguments)
        return passed, measured
    rows, at = np.divmod(left, which.size)  # quicker than to look for both
    other = which[at] != own[rows]
    rows, found = rows[other], which[at[other]]
    passed = rows.size
    new = np.ones(passed, dtype=bool)
    for column in indices.T:
        new &= column[rows] != found
    _consider(queries, points, rows[new], found[new], values, indices)
    return passed, int(new.sum())


def _consider(queries: Array, points: Any, rows: Index, found: Index, values: Array, indices: Index) -> None:
    """Put pairs of a query and a point into the lists of the queries, in the order of distance, then number."""
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
