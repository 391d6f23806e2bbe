"""Shortest paths through a neighbour graph: the distances of Isomap."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import dijkstra

from .._diagnostics import stage
from .._resources import require
from ..errors import DisconnectedError

Array = NDArray[np.float64]

#: Up to this many distances the library call is faster than loading the compiled loop.
_SMALL = 1_000_000


def geodesic_distances(graph: sp.csr_array, sources: NDArray[np.intp] | None = None) -> Array:
    """Graph distances from the sources (default: every point) to all points, (q, n). Cost O(q (n log n + m)) for m edges."""
    n = graph.shape[0]
    q = n if sources is None else len(sources)
    require(
        (16.0 if sources is None else 8.0) * q * n,
        f"Geodesic distances from {q} to {n} points",
        "Use LandmarkIsomap, or Isomap(landmarks=...), which needs only the distances to some landmarks.",
    )
    with stage("geodesics"):
        D = _shortest(graph, np.arange(n) if sources is None else np.asarray(sources))
    if not np.all(np.isfinite(D)):
        raise DisconnectedError("Some points cannot be reached through the graph: it is disconnected.")
    return D


def _shortest(graph: sp.csr_array, sources: NDArray[np.intp]) -> Array:
    """Two exact ways: a library call for small graphs, compiled code where its second of loading pays."""
    if graph.shape[0] * len(sources) <= _SMALL:
        return np.atleast_2d(dijkstra(graph, directed=True, indices=sources))
    from ..compiled.paths import shortest_paths

    return shortest_paths(graph, sources)


def conformal_distances(graph: sp.csr_array) -> tuple[sp.csr_array, Array]:
    """Edges rescaled by ``d_ij / √(M_i M_j)``, M_i the mean distance from i to its neighbours, and M [conformal Isomap]."""
    counts = np.diff(graph.indptr)
    M = np.asarray(graph.sum(axis=1)).ravel() / np.maximum(counts, 1)
    positive = M[M > 0]
    M = np.maximum(M, positive.min() if positive.size else 1.0)
    rows = np.repeat(np.arange(graph.shape[0]), counts)
    data = graph.data / np.sqrt(M[rows] * M[graph.indices])
    return sp.csr_array((data, graph.indices, graph.indptr), shape=graph.shape), M
