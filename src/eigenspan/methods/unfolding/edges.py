"""The pairs of points that an unfolding holds, and a first embedding from them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...errors import InputError
from ...graphs import NeighbourGraph, geodesic_table
from ...graphs.contract import Contraction, common_neighbours, contract
from ...graphs.lists import canonical
from ...solvers import dense
from ..neighbourhood import pair_distances

Array = NDArray[np.float64]
Index = NDArray[np.intp]

#: Sources of shortest paths.
_SOURCES = 300


@dataclass(frozen=True, eq=False)
class Held:
    """What an unfolding holds: pairs of distinct points and the squares of the lengths between them.

    Attributes
    ----------
    groups : Contraction
        Nodes that coincide, which are one point of the program.
    pairs, bounds : ndarray of shape (p, 2), (p,)
        Over these points.
    """

    groups: Contraction
    pairs: Index
    bounds: Array

    @staticmethod
    def of(lengths: sp.csr_array, **rule: Any) -> Held:
        """The edges of an undirected graph of lengths."""
        groups, pairs, d = contract(lengths, **rule)
        return Held(groups, pairs, d**2)

    @property
    def n(self) -> int:
        """Distinct points."""
        return int(self.groups.first.size)


def with_edges(graph: NeighbourGraph, pairs: Index, lengths: Array) -> NeighbourGraph:
    """The graph with these edges, in both directions; one that is there already takes the new length."""
    D, n, (i, j) = graph.distances.tocoo(), graph.n, pairs.T
    kept = ~np.isin(D.row.astype(np.int64) * n + D.col, np.concatenate([i * n + j, j * n + i]))
    values = np.concatenate([D.data[kept], lengths, lengths])
    ends, others = np.concatenate([D.row[kept], i, j]), np.concatenate([D.col[kept], j, i])
    return replace(graph, distances=canonical(values, ends, others, n))


def with_common_neighbours(graph: NeighbourGraph, x: Any) -> NeighbourGraph:
    """The graph with pairs that share a neighbour; the edges that are there keep their lengths."""
    U, n = sp.coo_array(sp.triu(graph.undirected(), 1)), graph.n
    pairs = common_neighbours(graph.distances)
    new = pairs[~np.isin(pairs[:, 0] * n + pairs[:, 1], U.row.astype(np.int64) * n + U.col)]
    return with_edges(graph, new, pair_lengths(graph, x, new))


def pair_lengths(graph: NeighbourGraph, x: Any, pairs: Index) -> Array:
    """Distances of pairs in the graph's metric, or looked up where X holds them."""
    i, j = pairs.T
    if x.pairs:
        return np.asarray(x.values[i, j], dtype=np.float64)
    metric = getattr(graph.finder, "metric", None)
    if metric is None:
        raise InputError(
            "Pairs that are no edges of the graph are to be measured, but it was made of distances and has no metric to measure them in: "
            "put these pairs into the graph, or build it by KNN(...) from the points."
        )
    return pair_distances(x.values, i, j, metric)


def geodesic_start(held: Held, p: int, seed: Any) -> Array:
    """Landmark Isomap of the pairs: classical MDS of shortest paths from some points, the others by triangulation."""
    n, (i, j), lengths = held.n, held.pairs.T, np.sqrt(held.bounds)
    graph = sp.csr_array((np.tile(lengths, 2), (np.concatenate([i, j]), np.concatenate([j, i]))), shape=(n, n))
    sources = np.random.default_rng(seed).choice(n, min(_SOURCES, n), replace=False)
    squares = geodesic_table(graph, sources).astype(np.float64) ** 2
    among = squares[sources]
    means = among.mean(axis=0)
    values, V = dense.eigenpairs(-0.5 * (among - means - means[:, None] + means.mean()), min(p, sources.size), "max")
    return -0.5 * (squares - means) @ V / np.sqrt(np.maximum(values, 1e-6 * values.max()))
