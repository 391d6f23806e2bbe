"""Closed classes of a directed neighbour graph: sets of points that no neighbour list leaves.

A form that reconstructs every point from its own list, such as LLE's ``‖Y − WY‖²``, is zero for functions that are constant on
each closed class, because these values determine those of all other points. Its null space is spanned by the constant only if there
is one closed class. A connected graph may have several: groups that are in the lists of other points, whose own lists stay inside.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from ..._types import Index
from ...numerics.factor.pivoted import EQUAL
from ...numerics.nearest.neighbour_lists import canonical
from .graph import NeighbourGraph


@dataclass(frozen=True, eq=False)
class ClosedClasses:
    """Strongly connected components of a directed graph, and which of them are closed.

    Attributes
    ----------
    labels : ndarray of shape (n,)
        Strongly connected component of each point.
    closed : boolean ndarray of shape (n_components,)
        True for the components that no edge leaves.
    """

    labels: Index
    closed: NDArray[np.bool_]

    @classmethod
    def of(cls, D: sp.csr_array) -> ClosedClasses:
        """Return the closed classes of a graph of distances; explicit zeros are edges. Cost O(n + edges)."""
        edges = sp.csr_array((np.ones(D.nnz, dtype=np.int8), D.indices, D.indptr), shape=D.shape)
        count, labels = connected_components(edges, directed=True, connection="strong")
        ends, others = np.repeat(labels, np.diff(D.indptr)), labels[D.indices]
        closed = np.ones(count, dtype=bool)
        closed[ends[ends != others]] = False
        return cls(labels.astype(np.intp), closed)

    @property
    def count(self) -> int:
        return int(self.closed.sum())

    @property
    def sizes(self) -> Index:
        """Number of points in each closed class, largest first."""
        return np.sort(np.bincount(self.labels)[self.closed])[::-1]


def largest_part(labels: Index, D: sp.csr_array) -> Index:
    """Return the rows of the largest part of a graph; of parts of equal size, the one with the smallest total length of edges."""
    sizes = np.bincount(labels)
    found = sizes == sizes.max()
    if found.sum() > 1:
        lengths = np.bincount(np.repeat(labels, np.diff(D.indptr)), weights=D.data, minlength=sizes.size)
        found &= lengths <= (1 + EQUAL) * lengths[found].min()
    return np.flatnonzero(labels == labels[np.argmax(found[labels])])  # the first row breaks further ties


def constant_axes(Y: NDArray[np.float64], classes: ClosedClasses) -> Index:
    """Return the axes of an embedding that are constant on each closed class, up to 1e-6 of their extent."""
    inside = classes.closed[classes.labels]
    codes, Y = np.unique(classes.labels[inside], return_inverse=True)[1], Y - Y.mean(axis=0)
    counts = np.bincount(codes)[:, None]
    means = np.column_stack([np.bincount(codes, weights=y) for y in Y[inside].T]) / counts
    within = np.abs(Y[inside] - means[codes]).max(axis=0)
    return np.flatnonzero(within <= 1e-6 * np.abs(Y).max(axis=0))


def with_one_closed_class(graph: NeighbourGraph) -> tuple[NeighbourGraph, int]:
    """Add neighbours to the points of closed classes until one class is left for each component of the undirected graph.

    A point of a closed class gets as neighbours the points outside the class whose lists contain it: the nearest first, at most as
    many as its own list has. Each round merges every closed class with points outside it. Return the graph and the number of
    added neighbours.
    """
    own, added = np.diff(graph.distances.indptr), 0
    while (found := ClosedClasses.of(graph.distances)).count > 1:
        C = graph.distances.tocoo()
        enters = found.closed[found.labels[C.col]] & (found.labels[C.row] != found.labels[C.col])
        if not enters.any():
            break
        point, follower, length = C.col[enters], C.row[enters], C.data[enters]
        order = np.lexsort((length, point))
        point, follower, length = point[order], follower[order], length[order]
        first = np.searchsorted(point, point)
        nearest = np.arange(point.size) - first < np.maximum(own[point], 1)
        added += int(nearest.sum())
        D = canonical(
            np.concatenate([C.data, length[nearest]]),
            np.concatenate([C.row, point[nearest]]),
            np.concatenate([C.col, follower[nearest]]),
            graph.n,
        )
        graph = replace(graph, distances=D, reaches=graph.reach)
    return graph, added
