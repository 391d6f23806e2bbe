"""Coincident points as one point with a mass, and the edges of a graph as a list of pairs."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from ..._types import Array, Index
from ...numerics.nearest.row_lookup import Contraction
from ...numerics.sdp.near_groups import near_points


def contract(lengths: sp.csr_array, near: float = 0.0) -> tuple[Contraction, Index, Array]:
    """Return the groups of coincident points of an undirected graph, the pairs (m, 2) of groups that edges join, and their lengths.

    With `near`, points also belong to one group if their distance along edges is at most this share of the shortest edge to other
    points. A solution for the groups is then approximate for the points; `numerics.sdp.near_points` makes it exact.
    """
    U = sp.coo_array(sp.triu(lengths, 1))
    n, same = lengths.shape[0], U.data == 0
    copies = sp.csr_array((np.ones(int(same.sum())), (U.row[same], U.col[same])), shape=(n, n))
    _, labels = connected_components(copies, directed=False)
    if near > 0:
        groups, pairs, d = contract(lengths)
        found = near_points(groups.first.size, pairs, d, near, 0.25 * groups.first.size)
        if found is not None:
            labels = np.unique(found[0], return_inverse=True)[1][groups.labels]
            same = labels[U.row] == labels[U.col]
    _, first = np.unique(labels, return_index=True)
    i, j = labels[U.row[~same]], labels[U.col[~same]]
    apart = i != j
    i, j, d = np.minimum(i, j)[apart], np.maximum(i, j)[apart], U.data[~same][apart]
    order = np.lexsort((d, j, i))
    i, j, d = i[order], j[order], d[order]
    new = np.ones(i.size, dtype=bool)
    new[1:] = (np.diff(i) != 0) | (np.diff(j) != 0)
    return Contraction(labels, first), np.column_stack([i[new], j[new]]).astype(np.intp), d[new]


def common_neighbours(graph: sp.csr_array) -> Index:
    """Return the pairs (m, 2), i < j, with a common neighbour. Rows of the directed graph list the neighbours of each point."""
    A = sp.csr_array((np.ones(graph.nnz, dtype=np.int32), graph.indices, graph.indptr), shape=graph.shape)
    shared = sp.coo_array(sp.triu(A.T @ A, 1))
    return np.column_stack([shared.row, shared.col]).astype(np.intp)
