"""Shortest paths through a neighbour graph: the distances of Isomap."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from ..._diagnostics import stage
from ..._types import Array, Index
from ...errors import DisconnectedError
from ...numerics.memory import require
from ...numerics.paths.csgraph import dijkstra
from ...numerics.threads import workers
from ..landmarks import suggested_landmarks
from .graph import NeighbourGraph

#: Number of distances up to which scipy is faster than loading the compiled loop.
_SMALL = 1_000_000
#: Tables with more entries than this are kept in single precision.
_LARGE = 25_000_000
#: Largest number of sources per group and of their distances in memory (128 MB), and least number of groups: sources of a group should
#: be near one another.
_TOGETHER, _HELD, _GROUPS = 32, 2**24, 200


def geodesic_distances(graph: sp.csr_array, sources: Index | None = None) -> Array:
    """Return graph distances from the sources (default: every point) to all points, (q, n). Cost O(q (n log n + m)) for m edges."""
    n = graph.shape[0]
    chosen = np.arange(n) if sources is None else np.asarray(sources)
    require_geodesics(n, len(chosen), 8)
    with stage("geodesics"):
        return _reached(_shortest(graph, chosen)(chosen))


def geodesic_table(graph: sp.csr_array, sources: Index) -> Array:
    """Return graph distances to the sources as a table (n, q), in single precision if it is large."""
    n, q = graph.shape[0], len(sources)
    dtype = np.float64 if n * q <= _LARGE else np.float32
    require_geodesics(n, q)
    table = np.empty((n, q), dtype=dtype)
    with stage("geodesics"):
        if n * q <= _SMALL:
            return np.ascontiguousarray(_reached(_shortest(graph, sources)(sources)).T)
        from ...numerics.paths.shortest_paths import ShortestPaths

        ShortestPaths(graph, single=dtype == np.float32, together=_together(n, q)).into(table, sources)
    return _reached(table)


def require_geodesics(n: int, q: int, size: int | None = None) -> None:
    """Raise MemoryLimitError if the distances from q to n points do not fit into memory. Needs no graph."""
    if size is None:
        size = 8 if q == n or n * q <= _LARGE else 4
    require(
        size * q * n + (max(8.0 * _together(n, q), 16.0 * size) + 32) * workers() * n,  # buffers of the threads
        f"Geodesic distances from {q} to {n} points",
        f"Use LandmarkIsomap(landmarks={suggested_landmarks(n, 500)}), which needs only the distances to some landmarks.",
    )


def _reached(D: Array) -> Array:
    if not np.isfinite(D.sum()):  # distances are not negative, so infinite ones cannot cancel
        raise DisconnectedError("Some points cannot be reached through the graph: it is disconnected.")
    return D


def _shortest(graph: sp.csr_array, sources: Index) -> Callable[[Index], Array]:
    """Return a function from sources to distances: scipy for small graphs, compiled code for others (it takes a second to load)."""
    if graph.shape[0] * len(sources) <= _SMALL:
        return lambda some: np.atleast_2d(dijkstra(graph, directed=True, indices=some))
    from ...numerics.paths.shortest_paths import ShortestPaths

    return ShortestPaths(graph, together=_together(graph.shape[0], len(sources)))


def _together(n: int, q: int) -> int:
    """Return the number of sources per group, for q sources in a graph of n points."""
    return max(1, min(_TOGETHER, _HELD // n, q // _GROUPS))


def conformal_distances(graph: NeighbourGraph) -> tuple[sp.csr_array, Array]:
    """Return undirected edges with lengths ``d_ij / √(M_i M_j)``, and M, the mean distance to the k nearest neighbours [conformal Isomap].

    M_i is the mean over the list of i, not over the points with i on their list. Bridges between components, which are longer than the
    reach of i, are rescaled but do not count. For a point with an empty list it is the mean of its undirected edges.
    """
    lengths, lists = graph.undirected(), graph.distances
    own, rows = (np.repeat(np.arange(graph.n), np.diff(D.indptr)) for D in (lists, lengths))
    near = lists.data <= graph.reach[own] * (1 + 1e-9)
    M = mean_by_row(own[near], lists.data[near], graph.n)
    M = np.where(np.bincount(own[near], minlength=graph.n) > 0, M, mean_by_row(rows, lengths.data, graph.n))
    positive = M[M > 0]
    M = np.maximum(M, positive.min() if positive.size else 1.0)
    data = lengths.data / np.sqrt(M[rows] * M[lengths.indices])
    return sp.csr_array((data, lengths.indices, lengths.indptr), shape=lengths.shape), M


def mean_by_row(rows: Index, values: Array, n: int) -> Array:
    """Return the mean of the values of each row; zero for empty rows."""
    return np.bincount(rows, values, minlength=n) / np.maximum(np.bincount(rows, minlength=n), 1)
