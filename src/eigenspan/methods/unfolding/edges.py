"""Graphs with additional edges, whose lengths unfoldings constrain."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from ..._types import Array, Index
from ...data.x import XKind
from ...errors import InputError
from ...graphs import NeighbourGraph
from ...graphs.neighbours.contraction import common_neighbours
from ...numerics.nearest.neighbour_lists import canonical
from ..base.graph_embedding import pair_distances


def with_edges(graph: NeighbourGraph, pairs: Index, lengths: Array) -> NeighbourGraph:
    """Return the graph with these edges added in both directions; existing edges take the new length."""
    D, n, (i, j) = graph.distances.tocoo(), graph.n, pairs.T
    kept = ~np.isin(D.row.astype(np.int64) * n + D.col, np.concatenate([i * n + j, j * n + i]))
    values = np.concatenate([D.data[kept], lengths, lengths])
    ends, others = np.concatenate([D.row[kept], i, j]), np.concatenate([D.col[kept], j, i])
    return replace(graph, distances=canonical(values, ends, others, n))


def with_common_neighbours(graph: NeighbourGraph, x: XKind) -> NeighbourGraph:
    """Return the graph with edges between all pairs that share a neighbour; existing edges keep their lengths."""
    U, n = sp.coo_array(sp.triu(graph.undirected(), 1)), graph.n
    pairs = common_neighbours(graph.lists())
    new = pairs[~np.isin(pairs[:, 0] * n + pairs[:, 1], U.row.astype(np.int64) * n + U.col)]
    return with_edges(graph, new, pair_lengths(graph, x, new))


def pair_lengths(graph: NeighbourGraph, x: XKind, pairs: Index) -> Array:
    """Return the distances of pairs in the graph's metric, or from X if X holds distances."""
    i, j = pairs.T
    if x.pairs:
        return np.asarray(x.values[i, j], dtype=np.float64)
    metric = graph.finder.metric
    if metric is None:
        raise InputError(
            "The distances of pairs that are not edges of the graph are needed, but the graph was made of distances and has no metric: "
            "add these pairs to the graph, or build it by KNN(...) from the points."
        )
    return pair_distances(x.values, i, j, metric)
