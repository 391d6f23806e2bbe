"""Disconnected graphs: count the components, then apply the policy of ``disconnected=``.

Implicit embeddings and geodesics need a connected graph. Forms that reconstruct every point from its own list of neighbours need
a single closed class as well (see `closed`). Projective and supervised forms use the graph unchanged by default, because its
components may be the structure of interest.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, Protocol, get_args

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order, connected_components

from ..._diagnostics import note, stage
from ..._types import Array, Index, Mask, Matrix, MetricLike
from ...errors import DisconnectedError, DisconnectedWarning, GraphError, warn
from ...numerics.nearest.closest_groups import Groups
from ...numerics.nearest.engines import SearchEngine, choose
from ...numerics.nearest.finders import AffinityRows
from ...numerics.nearest.neighbour_lists import canonical
from ...numerics.paths.csgraph import minimum_spanning_tree
from .closed import ClosedClasses, largest_part, with_one_closed_class
from .graph import NeighbourGraph

Policy = Literal["connect", "largest", "raise"]
#: Property of a neighbour graph, from the weakest to the strongest.
Needs = Literal["connected", "one closed class"]

#: For components up to this size, the index of all points is searched for the nearest point of another component.
_SMALL = 200
#: Distances held at a time.
_ENTRIES = 2**22
_ADVICE = "Use more neighbours or a larger radius, so that edges of the data connect them."
#: One edge in this number is followed first.
_SPARED = 4


def components(graph: NeighbourGraph) -> tuple[int, Index]:
    """Return the number of components of the undirected graph and the component of each point."""
    D = graph.lists()
    some = np.ascontiguousarray(D.indices[::_SPARED])
    # A subset of the edges joins almost all points. Explicit zeros are edges too.
    edges = sp.csr_array((np.ones(some.size), some, -(-D.indptr // _SPARED)), shape=D.shape)
    count, labels = connected_components(edges, directed=False)
    if count > 1:
        own, other = np.repeat(labels, np.diff(D.indptr)), labels[D.indices]
        apart = own != other
        links = sp.coo_array((np.ones(int(apart.sum())), (own[apart], other[apart])), shape=(count, count))
        count, merged = connected_components(links, directed=False)
        labels = merged[labels]
    return int(count), labels


def has(graph: NeighbourGraph, needs: Needs) -> bool:
    """Return True if a connected graph has the property too. Undirected lists of a connected graph form one closed class."""
    if needs == "connected" or graph.symmetry != "union":
        return True
    count = ClosedClasses.of(graph.distances).count
    note(closed_classes=count)
    return count == 1


def ensure_connected(
    graph: NeighbourGraph, X: Matrix, policy: str, *, precomputed: bool = False
) -> tuple[NeighbourGraph, Index | None]:
    """Apply the policy for disconnected graphs.

    Returns
    -------
    graph : NeighbourGraph
        Connected.
    kept : index array or None
        The rows that are its nodes; None for all rows.
    """
    if policy not in get_args(Policy):
        raise GraphError(f"disconnected={policy!r} must be one of {', '.join(map(repr, get_args(Policy)))}.")
    count, labels = components(graph)
    note(components=count)
    if count == 1:
        return graph, None
    found = f"The neighbour graph has {count} components (of {_listed(np.bincount(labels))} points)"
    if policy == "raise":
        raise DisconnectedError(f'{found}: their distances are undefined. {_ADVICE} Or use disconnected="connect".')
    if policy == "largest":
        kept = largest_part(labels, graph.lists())
        warn(f"{found}: {_only_some('component', kept.size, graph.n)}", DisconnectedWarning)
        return graph.subset(kept), kept
    with stage("bridging"):
        bridged, edges = _bridge(graph, X, labels, precomputed)
    warn(
        f"{found}: it was connected by {len(edges)} shortest bridging edges, and the layout of the components relative to "
        f'each other depends on these alone. {_ADVICE} disconnected="largest", if the method has it, embeds one component only.',
        DisconnectedWarning,
    )
    note(bridges=len(edges))
    return bridged, None


def ensure_one_closed_class(graph: NeighbourGraph, policy: str) -> tuple[NeighbourGraph, Index | None]:
    """Apply the same policy to a connected graph with several closed classes.

    Add neighbours until there is one class, or keep the largest strongly connected component. Return as `ensure_connected` does.
    """
    classes = ClosedClasses.of(graph.distances)
    found = (
        f"The neighbour lists have {classes.count} closed classes (of {_listed(classes.sizes)} points): sets of points whose neighbours "
        "all lie in the same set. Weights that reconstruct each point from its neighbours cannot place them relative to each other, and "
        "would place each set at a single point"
    )
    if policy == "raise":
        raise DisconnectedError(f'{found}. {_ADVICE} Or pass disconnected="connect".')
    if policy == "largest":
        rows = largest_part(classes.labels, graph.distances)
        warn(f"{found}; {_only_some('strongly connected component', rows.size, graph.n)}", DisconnectedWarning)
        return graph.subset(rows), rows
    connected, added = with_one_closed_class(graph)
    warn(
        f"{found}. {added} neighbours were added to points of these classes: the nearest of those that count them as neighbours. {_ADVICE}",
        DisconnectedWarning,
    )
    note(added_neighbours=added)
    return connected, None


def _listed(sizes: Index) -> str:
    """Return the five largest sizes as text, for messages."""
    return ", ".join(map(str, np.sort(sizes)[::-1][:5])) + (", …" if sizes.size > 5 else "")


def _only_some(what: str, kept: int, n: int) -> str:
    return (
        f"only the largest {what}, with {kept} of {n} points, was embedded; the others were placed by the map for new points. "
        f"{_ADVICE}"
    )


def check_weights_connect(W: sp.csr_array) -> None:
    """Raise GraphError for weights that disconnect a connected graph: edges of many kernel widths have a weight of zero."""
    if W.nnz == 0:
        return
    alive = (W.data > np.finfo(float).eps * W.data.max()).astype(np.float64)
    edges = sp.csr_array((alive, W.indices, W.indptr), shape=W.shape)
    if not alive.all():
        edges = edges.copy()
        edges.eliminate_zeros()
    reached = breadth_first_order(edges, 0, return_predecessors=False)  # W is symmetric: one search suffices
    if reached.size == W.shape[0]:
        return
    count, labels = connected_components(edges, directed=False)
    if count > 1:
        lost = W.shape[0] - int(np.bincount(labels).max())
        raise GraphError(
            f"The edge weights of {lost} of {W.shape[0]} points vanish next to the largest, {W.data.max():.3g}, and leave the graph in "
            f'{count} pieces: their edges are many kernel widths long. Use weights="binary", a larger Heat(sigma=...), or '
            "drop the outliers."
        )


def _bridge(
    graph: NeighbourGraph, X: Matrix, labels: Index, precomputed: bool
) -> tuple[NeighbourGraph, list[tuple[int, int, float]]]:
    """Return the graph with the shortest edges that connect its components, and these edges."""
    if isinstance(graph.finder, AffinityRows):
        raise GraphError(
            "The precomputed affinities are disconnected, and affinities do not determine the shortest bridging edges. Add "
            'edges, or pass disconnected="largest".'
        )
    if precomputed and sp.issparse(X):
        raise GraphError(
            "The precomputed sparse graph is disconnected, and without coordinates no bridging edges can be found. Add edges, or pass "
            'disconnected="largest".'
        )
    engine = None if precomputed else graph.finder.engine
    groups = (
        Groups.of(np.asarray(X, np.float64), labels)
        if engine is not None and engine.name in ("exact", "hnsw")
        else None
    )
    edges = _in_rounds(graph, X, labels, precomputed) if groups is None else groups.bridges()
    i, j = (np.array([edge[end] for edge in edges], dtype=np.intp) for end in (0, 1))
    d = np.array([length for _, _, length in edges])
    C = graph.distances.tocoo()
    D = canonical(np.concatenate([C.data, d, d]), np.concatenate([C.row, i, j]), np.concatenate([C.col, j, i]), graph.n)
    # Edges in both directions, so that "mutual" graphs keep their bridges too.
    return replace(graph, distances=D, reaches=graph.reach), edges


def _in_rounds(graph: NeighbourGraph, X: Matrix, labels: Index, precomputed: bool) -> list[tuple[int, int, float]]:
    """Return the edges of Borůvka's rounds: every component adds its shortest edge to another one, until one component is left.

    Edges of equal length could close a cycle, so only a spanning forest of the edges of a round is kept: components − 1 edges in all.
    """
    edges: list[tuple[int, int, float]] = []
    count = int(labels.max()) + 1
    while count > 1:
        i, j, d = _ways_out(graph, X, labels, precomputed)
        kept, count, labels = merged_components(labels, count, i, j, d)
        edges += [(int(i[e]), int(j[e]), float(d[e])) for e in kept]
    return edges


def ends(i: Index, j: Index) -> tuple[Index, Index]:
    """Return the larger and the smaller end of edges, as keys for `lexsort` that break ties of length.

    Ordered by length, then by the smaller and the larger index, the shortest edge and the minimum spanning tree are unique,
    whatever the algorithm.
    """
    return np.maximum(i, j), np.minimum(i, j)


def merged_components(labels: Index, count: int, i: Index, j: Index, d: Array) -> tuple[Index, int, Index]:
    """Return the edges of a spanning forest of the components, shortest first, with the number and labels of the merged components."""
    rank = np.empty(d.size)
    rank[np.lexsort((*ends(i, j), d))] = np.arange(1, d.size + 1)  # weights without ties and zeros
    links = sp.coo_array((rank, (labels[i], labels[j])), shape=(count, count))
    kept = np.flatnonzero(np.isin(rank, minimum_spanning_tree(links.tocsr()).data))
    fewer, merged = connected_components(links, directed=False)
    return kept, int(fewer), merged[labels]


def _ways_out(graph: NeighbourGraph, X: Matrix, labels: Index, precomputed: bool) -> tuple[Index, Index, Array]:
    """Return the shortest edge out of each component but the largest; of the small components only, if there are any."""
    sizes = np.bincount(labels)
    asking = np.arange(sizes.size) != sizes.argmax()
    engine = graph.finder.engine
    small = asking & (sizes <= (0 if precomputed or engine is None else _SMALL))
    points = np.flatnonzero((small if small.any() else asking)[labels])
    d = np.full(points.size, np.inf)
    if precomputed:
        nearest, d = _in_matrix(np.asarray(X), labels, points)
    elif small.any() and engine is not None:
        nearest, d = _in_shared_index(engine, X, labels, points, sizes)
    if not np.isfinite(d).any():  # components are large, or an approximate index found no edge
        nearest, d = by_halves(X, labels, points, graph.finder.metric or "euclidean")
    order = np.lexsort((*ends(points, nearest), d, labels[points]))
    first = order[np.unique(labels[points][order], return_index=True)[1]]
    first = first[np.isfinite(d[first])]
    return points[first], nearest[first], d[first]


def _in_matrix(E: Array, labels: Index, points: Index) -> tuple[Index, Array]:
    """Return the nearest point of another component and its distance, from a matrix of all distances."""
    nearest, d = np.empty(points.size, dtype=np.intp), np.empty(points.size)
    step = max(1, _ENTRIES // labels.size)
    for part in (slice(a, a + step) for a in range(0, points.size, step)):
        block = np.where(labels[points[part], None] == labels, np.inf, E[points[part]])
        nearest[part], d[part] = block.argmin(axis=1), block.min(axis=1)
    return nearest, d


def _in_shared_index(
    engine: SearchEngine, X: Matrix, labels: Index, points: Index, sizes: Index
) -> tuple[Index, Array]:
    """Return the nearest point of another component and its distance: among one neighbour more than a component has points."""
    nearest, d = np.zeros(points.size, dtype=np.intp), np.full(points.size, np.inf)
    doublings = np.ceil(np.log2(sizes[labels[points]])).astype(int)
    for doubling in np.unique(doublings):
        of_size = np.flatnonzero(doublings == doubling)
        k = min(int(sizes[labels[points[of_size]]].max()) + 1, labels.size)
        for part in np.array_split(of_size, -(-of_size.size * k // _ENTRIES)):
            distances, indices = engine.near(X[points[part]], k)
            outside = labels[indices] != labels[points[part], None]
            distances = np.where(outside, distances, np.inf)
            at = distances.argmin(axis=1)[:, None]
            nearest[part] = np.take_along_axis(indices, at, axis=1)[:, 0]
            d[part] = np.take_along_axis(distances, at, axis=1)[:, 0]
    return nearest, d


class UsedPairs(Protocol):
    """A set of pairs of points that are edges already."""

    def most(self, points: Index) -> int:
        """Return the largest number of pairs of one of these points."""

    def has(self, i: Index, j: Index) -> Mask:
        """Return which of these pairs are in the set."""


def by_halves(
    X: Matrix, labels: Index, points: Index, metric: MetricLike, search: str = "auto", used: UsedPairs | None = None
) -> tuple[Index, Array]:
    """Return the nearest point with another label and its distance, for labels of any frequency. Pairs in `used` are left out.

    Two labels differ in at least one binary digit, so one search per digit and value of the digit finds all other labels.
    """
    nearest, d = np.zeros(points.size, dtype=np.intp), np.full(points.size, np.inf)
    wanted = 1 if used is None else 1 + used.most(points)
    for digit in range(int(labels.max()).bit_length()):
        side = labels >> digit & 1
        for one in (0, 1):
            asking, there = np.flatnonzero(side[points] == one), np.flatnonzero(side != one)
            if asking.size == 0 or there.size == 0:
                continue
            engine = choose(X[there], metric, search, None)
            distances, indices = engine.near(X[points[asking]], min(wanted, there.size))
            if used is not None:
                distances = np.where(used.has(points[asking, None], there[indices]), np.inf, distances)
            at = distances.argmin(axis=1)[:, None]
            distances = np.take_along_axis(distances, at, axis=1)[:, 0]
            indices = np.take_along_axis(indices, at, axis=1)[:, 0]
            closer = (distances < d[asking]) | ((distances == d[asking]) & (there[indices] < nearest[asking]))
            d[asking[closer]], nearest[asking[closer]] = distances[closer], there[indices[closer]]
    return nearest, d
