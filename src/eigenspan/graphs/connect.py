"""Graphs that fall apart: count the components, then follow the user's choice.

Only implicit embeddings and geodesics need a connected graph. Projective and supervised forms never bridge, because there
the components may be the answer.
"""

from __future__ import annotations

from dataclasses import replace
from operator import itemgetter
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from sklearn.metrics import pairwise_distances_argmin_min

from .._diagnostics import note, stage
from ..errors import DisconnectedError, DisconnectedWarning, GraphError, warn
from .lists import canonical
from .neighbours import AffinityRows, NeighbourGraph
from .search import choose

Index = NDArray[np.intp]
POLICIES = ("connect", "largest", "raise")

#: Components up to this size look for their nearest outsider in one shared index.
_SMALL = 1000


def components(graph: NeighbourGraph) -> tuple[int, Index]:
    """Number of components of the undirected graph and the component of each point."""
    D = graph.distances
    if graph.symmetry == "mutual":
        D = graph.undirected()
    edges = sp.csr_array((np.ones(D.nnz), D.indices, D.indptr), shape=D.shape)  # explicit zeros are edges too
    count, labels = connected_components(edges, directed=False)
    return int(count), labels


def ensure_connected(
    graph: NeighbourGraph, X: Any, policy: str, *, precomputed: bool = False
) -> tuple[NeighbourGraph, Index | None]:
    """Apply the policy for disconnected graphs.

    Returns
    -------
    graph : NeighbourGraph
        Connected.
    kept : index array or None
        The rows it covers; None when it covers all of them.
    """
    if policy not in POLICIES:
        raise GraphError(f"disconnected={policy!r} must be one of {', '.join(map(repr, POLICIES))}.")
    count, labels = components(graph)
    note(components=count)
    if count == 1:
        return graph, None
    sizes = np.sort(np.bincount(labels))[::-1]
    listed = ", ".join(map(str, sizes[:5])) + (", …" if count > 5 else "")
    found = f"The neighbour graph has {count} components (of {listed} points)"
    advice = "Use more neighbours or a larger radius to join them by data."
    if policy == "raise":
        raise DisconnectedError(
            f'{found}: distances between them are undefined. {advice} Or pass disconnected="connect" or "largest".'
        )
    if policy == "largest":
        kept = np.flatnonzero(labels == np.argmax(np.bincount(labels)))
        warn(
            f"{found}: only the largest, with {kept.size} of {graph.n} points, was embedded; the others were placed by the "
            f"map for new points. {advice}",
            DisconnectedWarning,
        )
        return graph.subset(kept), kept
    with stage("bridging"):
        bridged, edges = _bridge(graph, X, labels, precomputed)
    warn(
        f"{found}: it was connected by {len(edges)} shortest bridging edges, and the layout of the components relative to "
        f"each other rests on "
        f'these alone. {advice} disconnected="largest" embeds one component only.',
        DisconnectedWarning,
    )
    note(bridges=len(edges))
    return bridged, None


def check_weights_connect(W: sp.csr_array) -> None:
    """Refuse weights that cut a connected graph: an edge many kernel widths long weighs nothing, and what hangs on it has no place."""
    if W.nnz == 0:
        return
    alive = sp.csr_array((W.data > np.finfo(float).eps * W.data.max(), W.indices, W.indptr), shape=W.shape).astype(
        np.int8
    )
    alive.eliminate_zeros()
    count, labels = connected_components(alive, directed=False)
    if count > 1:
        lost = W.shape[0] - int(np.bincount(labels).max())
        raise GraphError(
            f"The edge weights of {lost} of {W.shape[0]} points vanish next to the largest, {W.data.max():.3g}, and leave the graph in "
            f'{count} pieces: their edges are many kernel widths long. Use weights="binary", a larger Heat(sigma=...), or '
            "drop the outliers."
        )


def _bridge(
    graph: NeighbourGraph, X: Any, labels: Index, precomputed: bool
) -> tuple[NeighbourGraph, list[tuple[int, int, float]]]:
    """Borůvka rounds: every component but the largest takes its shortest edge to the outside, until one is left.

    Equally long edges could close a ring, so an edge counts only if its ends are still apart: always components − 1 of them.
    """
    if isinstance(graph.finder, AffinityRows):
        raise GraphError(
            "The precomputed affinities are disconnected, and affinities say nothing about where a bridge would be shortest. Add "
            'edges, or pass disconnected="largest".'
        )
    if precomputed and sp.issparse(X):
        raise GraphError(
            "The precomputed sparse graph is disconnected, and without coordinates no bridging edges can be found. Add edges, or pass "
            'disconnected="largest".'
        )
    edges: list[tuple[int, int, float]] = []
    count = int(labels.max()) + 1
    while count > 1:
        sizes = np.bincount(labels)
        links = [_nearest_outside(X, labels, c, precomputed, graph) for c in range(count) if c != sizes.argmax()]
        group = np.arange(count)
        for link in sorted(links, key=itemgetter(2)):
            a, b = group[labels[link[0]]], group[labels[link[1]]]
            if a != b:
                edges.append(link)
                group[group == b] = a
        kept, merged = np.unique(group, return_inverse=True)
        count, labels = kept.size, merged[labels]
    i, j = (np.array([edge[end] for edge in edges], dtype=np.intp) for end in (0, 1))
    d = np.array([length for _, _, length in edges])
    C = graph.distances.tocoo()
    D = canonical(np.concatenate([C.data, d, d]), np.concatenate([C.row, i, j]), np.concatenate([C.col, j, i]), graph.n)
    # one agreed edge in both directions, so that "mutual" graphs keep their bridges too
    return replace(graph, distances=D), edges


def _nearest_outside(X: Any, labels: Index, c: int, precomputed: bool, graph: NeighbourGraph) -> tuple[int, int, float]:
    inside, outside = np.flatnonzero(labels == c), np.flatnonzero(labels != c)
    if precomputed:
        block = np.asarray(X)[np.ix_(inside, outside)]
        a, b = np.unravel_index(block.argmin(), block.shape)
        return int(inside[a]), int(outside[b]), float(block[a, b])
    engine = getattr(graph.finder, "engine", None)
    metric = getattr(graph.finder, "metric", "euclidean")
    if engine is not None and inside.size <= _SMALL < outside.size:
        distances, indices = engine.near(X[inside], min(inside.size + 1, graph.n))
        distances = np.where(labels[indices] == c, np.inf, distances)
        a, b = np.unravel_index(distances.argmin(), distances.shape)
        return int(inside[a]), int(indices[a, b]), float(distances[a, b])
    if min(inside.size, outside.size) <= 50:
        nearest, gap = pairwise_distances_argmin_min(X[inside], X[outside], metric=metric)
    else:
        gap, nearest = (v.ravel() for v in choose(X[outside], metric, "auto", None).near(X[inside], 1))
    closest = int(gap.argmin())
    return int(inside[closest]), int(outside[nearest[closest]]), float(gap[closest])
