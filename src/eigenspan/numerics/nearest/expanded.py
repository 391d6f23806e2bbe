"""Exact neighbours from expanded distances, for sparse points and for all points within a radius.

All distances are computed by products, a block of queries at a time. The bound on their error determines which points may be among the
nearest, and only these are measured by differences.
"""

from __future__ import annotations

import numpy as np

from ..._types import Array, Matrix
from ..threads import in_slices, workers
from .neighbour_lists import Lists, Ragged
from .squares import EPS, Expansion, block_squares, measure_again, pair_squares

#: Number of distances held at a time per thread, and maximum number of queries per block.
_ENTRIES, _QUERIES = 2**21, 512
#: Candidates are measured pair by pair if a query has at most this many beyond its neighbours.
_SPARE = 64
#: Distances within this relative difference of the radius are measured again.
_DOUBT = 1e-8


def nearest_by_products(points: Matrix, X: Matrix | None, k: int, n_jobs: int | None = None) -> Lists:
    """Return the k nearest points of each query by distance, then index; X=None queries the points, each excluded from its own list."""
    to = Expansion(points)
    queries = to.Z if X is None else X
    m, n = queries.shape[0], to.Z.shape[0]
    distances, indices = np.empty((m, k)), np.empty((m, k), dtype=np.intp)

    def search(rows: slice) -> None:
        Q, A, a, error = to.rows(queries[rows])
        S, slack = _expanded(to, A, a, m), 2 * error * (a + to.largest)
        if X is None:
            S[np.arange(len(a)), np.arange(rows.start, rows.stop)] = np.inf
        kth = np.partition(S, k - 1, axis=1)[:, k - 1]
        near = (kth + slack)[:, None] >= S
        if error and np.count_nonzero(near) > (k + _SPARE) * len(a):
            S = block_squares(Q, to.Z)
            if X is None:
                S[np.arange(len(a)), np.arange(rows.start, rows.stop)] = np.inf
            kth = np.partition(S, k - 1, axis=1)[:, k - 1]
            near = (kth * (1 + 4 * EPS * (Q.shape[1] + 8)))[:, None] >= S
        at, which = np.nonzero(near)
        squares = pair_squares(Q, at, to.Z, which) if error else S[at, which]
        order = np.lexsort((which, squares, at))
        first = np.searchsorted(at, np.arange(len(a)))
        best = order[first[:, None] + np.arange(k)]
        distances[rows], indices[rows] = np.sqrt(squares[best]), which[best]

    in_slices(search, m, _rows(n), workers(n_jobs))
    return distances, indices


def within_by_products(
    points: Matrix, X: Matrix | None, radius: float, n_jobs: int | None = None
) -> tuple[Ragged, Ragged]:
    """Return ragged lists of all points at most `radius` away, sorted by index; X is as in `nearest_by_products`."""
    to = Expansion(points)
    queries = to.Z if X is None else X
    m = queries.shape[0]
    distances, indices = np.empty(m, dtype=object), np.empty(m, dtype=object)

    def search(rows: slice) -> None:
        Q, A, a, error = to.rows(queries[rows])
        D = _expanded(to, A, a, m)
        if error:
            measure_again(D, Q, to.Z, a, to.b, error)
        np.sqrt(D, out=D)
        if radius < np.inf:
            at, which = np.nonzero(np.abs(D - radius) <= _DOUBT * radius)
            D[at, which] = np.sqrt(pair_squares(Q, at, to.Z, which))
        near = radius >= D
        if X is None:
            near[np.arange(len(a)), np.arange(rows.start, rows.stop)] = False
        for i, row in enumerate(near):
            which = np.flatnonzero(row)
            distances[rows.start + i], indices[rows.start + i] = D[i, which], which

    in_slices(search, m, _rows(to.Z.shape[0]), workers(n_jobs))
    return distances, indices


def _expanded(to: Expansion, A: Matrix, a: Array, queries: int) -> Array:
    S = to.products(A, queries)
    S *= -2.0
    S += a[:, None] + to.b
    return np.maximum(S, 0.0, out=S)


def _rows(n: int) -> int:
    return int(np.clip(_ENTRIES // max(n, 1), 1, _QUERIES))
