"""Minimum spanning trees, one or several, alone or together with nearest neighbours.

Borůvka's algorithm over neighbour lists: in every round each component adds its shortest edge to another one. The lists determine that
edge if every point of the component has a point of another component on its list, or a list that reaches at least as far as the edge.
For other points longer lists are searched. The trees are exact, with few distances computed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..._checks import Spec
from ..._diagnostics import note
from ..._documented import documented
from ..._parameters import Count, Metric, parameter
from ..._types import Array, Index, Mask, Matrix, MetricLike
from ...errors import GraphError
from ...numerics.nearest.finders import NearestRows
from ...numerics.nearest.neighbour_lists import canonical
from .connect import by_halves, ends, merged_components
from .graph import Jobs, NeighbourGraph, check_n_neighbors, searchable

Edges = tuple[Index, Index, Array]

#: Neighbours on the lists to begin with, besides those that earlier trees have used up, and at most.
_FIRST, _LAST = 16, 512


@documented
class MST(Spec):
    """Specification of a minimum-spanning-tree graph, for any estimator's ``graph=``.

    The tree joins all points by edges of the least total length, so that the graph is in one piece whatever the distances between its
    parts, without a number of neighbours to choose [S3, §4.5]. It has n − 1 edges and no cycle, which is little to embed by: with
    `n_neighbors` the nearest neighbours are joined as well, and the tree adds the edges that hold them together; with `n_trees` each
    further tree is the least among the pairs that the earlier ones have left (a forest, where these do not hang together).

    The trees are exact for every metric. A new point is joined to its nearest one, or to its `n_neighbors` nearest.

    Parameters
    ----------
    n_trees
        Number of edge-disjoint trees, at most half the number of points.
    n_neighbors
        Number of nearest neighbours to join as well. None joins none.
    metric
        Any metric of scikit-learn's NearestNeighbors, or a function of two rows that returns one number, not negative.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from eigenspan import MST, Isomap
    >>> X, _ = make_blobs(200, centers=4, random_state=0)
    >>> MST().build(X).undirected().nnz // 2
    199
    >>> Isomap(2, graph=MST(n_neighbors=6)).fit(X).embedding_.shape
    (200, 2)
    """

    n_trees: Count = parameter(default=1, kw_only=False)
    n_neighbors: Count | None = None
    metric: Metric = "euclidean"
    metric_params: dict[str, Any] | None = None
    n_jobs: Jobs = None

    _refusal = GraphError

    def build(self, X: Matrix, codes: Index | None = None) -> NeighbourGraph:
        self.check()
        n = X.shape[0]
        if 2 * self.n_trees > n:
            raise GraphError(
                f"n_trees={self.n_trees}, but {n} points have {n * (n - 1) // 2} pairs, enough for {n // 2} trees of {n - 1} edges at "
                "most. Use fewer trees."
            )
        if self.n_neighbors is not None:
            check_n_neighbors(self.n_neighbors, X)
        metric, k = searchable(self.metric, self.metric_params), self.n_neighbors or 1
        most = min(max(k, _FIRST + 2 * self.n_trees), n - 1)
        settings: dict[str, Any] = {"metric": metric, "search": _exact(X, metric), "n_jobs": self.n_jobs}
        finder = NearestRows.build(X, n_neighbors=most, **settings)
        distances, indices = _nearest_first(finder.among())
        i, j, d = _Trees(X, finder, distances, indices).grow(self.n_trees)
        note(search=finder.engine.name, tree_length=float(d.sum()))
        own = 0 if self.n_neighbors is None else k
        rows = np.concatenate([np.repeat(np.arange(n), own), i, j])
        columns = np.concatenate([indices[:, :own].ravel(), j, i])
        D = canonical(np.concatenate([distances[:, :own].ravel(), d, d]), rows, columns, n)
        reaches = distances[:, own - 1] if own else np.zeros(n)
        return NeighbourGraph(D, replace(finder, n_neighbors=k), reaches=reaches)


def _nearest_first(D: sp.csr_array) -> tuple[Array, Index]:
    """Return lists of equal length, ordered by distance and then by row."""
    distances, indices = (part.reshape(D.shape[0], -1) for part in (D.data, D.indices.astype(np.intp)))
    order = np.argsort(distances, axis=1, kind="stable")
    return np.take_along_axis(distances, order, axis=1), np.take_along_axis(indices, order, axis=1)


def _exact(X: Matrix, metric: MetricLike) -> str:
    """Return the name of an exact search."""
    euclidean = isinstance(metric, str) and metric in ("euclidean", "l2") and not sp.issparse(X)
    return "auto" if not euclidean else "tree" if X.shape[1] <= 8 else "exact"


@dataclass(frozen=True, eq=False)
class _Used:
    """Pairs used by earlier trees, as sorted numbers i·n + j in both directions."""

    n: int
    keys: Index

    def has(self, i: Index, j: Index) -> Mask:
        if not self.keys.size:
            return np.zeros(np.broadcast_shapes(i.shape, j.shape), dtype=bool)
        wanted = i * self.n + j
        at = np.minimum(np.searchsorted(self.keys, wanted), self.keys.size - 1)
        return self.keys[at] == wanted

    def most(self, i: Index) -> int:
        """Return the largest number of used pairs of any of these points."""
        return int(np.bincount(self.keys // self.n, minlength=self.n)[i].max(initial=0))

    def adding(self, i: Index, j: Index) -> _Used:
        return replace(self, keys=np.sort(np.concatenate([self.keys, i * self.n + j, j * self.n + i])))


class _Trees:
    """Minimum spanning trees of all pairs of points, from neighbour lists ordered by distance."""

    def __init__(self, X: Matrix, finder: NearestRows, distances: Array, indices: Index) -> None:
        self.X, self.finder, self.n = X, finder, X.shape[0]
        self.distances, self.indices = distances, indices
        self.used = _Used(self.n, np.empty(0, dtype=np.intp))

    def grow(self, n_trees: int) -> Edges:
        """Return the edges of `n_trees` trees, each without the edges of earlier ones."""
        trees = []
        for _ in range(n_trees):
            trees.append(self._tree())
            self.used = self.used.adding(*trees[-1][:2])
        i, j, d = (np.concatenate(part) for part in zip(*trees, strict=True))
        return i, j, d

    def _tree(self) -> Edges:
        labels, count = np.arange(self.n), self.n
        edges: list[Edges] = [(labels[:0], labels[:0], np.empty(0))]
        while count > 1:
            i, j, d = self._ways_out(labels, count)
            if not d.size:  # without the edges of earlier trees the graph is disconnected
                break
            kept, count, labels = merged_components(labels, count, i, j, d)
            edges.append((i[kept], j[kept], d[kept]))
        i, j, d = (np.concatenate(part) for part in zip(*edges, strict=True))
        return i, j, d

    def _ways_out(self, labels: Index, count: int) -> Edges:
        """Return the shortest edge out of each component; for the largest component only if its lists determine the edge."""
        nearest, best = self._nearest_outside(labels, np.arange(self.n), self.distances, self.indices)
        reach, k = self.distances[:, -1].copy(), self.distances.shape[1]
        largest = labels == np.bincount(labels).argmax()
        shortest, doubtful = self._doubtful(labels, count, best, reach)
        proven = ~(largest & doubtful[largest].any())
        asking = np.flatnonzero(doubtful & ~largest)
        while asking.size and k < min(_LAST, self.n - 1) and np.isfinite(shortest[labels[asking]]).all():
            k = min(4 * k, self.n - 1)
            found, which = self.finder.engine.near(self.X[asking], k + 1)  # the point itself among them
            nearest[asking], best[asking] = self._nearest_outside(labels, asking, found, which)
            reach[asking] = found[:, -1]
            shortest, doubtful = self._doubtful(labels, count, best, reach)
            asking = np.flatnonzero(doubtful & ~largest)
        if asking.size and k < self.n - 1:
            search = self.finder.metric, self.finder.search, self.used
            nearest[asking], best[asking] = by_halves(self.X, labels, asking, *search)
        order = np.lexsort((*ends(np.arange(self.n), nearest), best, labels))
        first = order[np.unique(labels[order], return_index=True)[1]]
        first = first[np.isfinite(best[first]) & proven[first]]
        return first, nearest[first], best[first]

    def _nearest_outside(self, labels: Index, points: Index, distances: Array, indices: Index) -> tuple[Index, Array]:
        free = (labels[indices] != labels[points, None]) & ~self.used.has(points[:, None], indices)
        lengths = np.where(free, distances, np.inf)
        at = lengths.argmin(axis=1)
        rows = np.arange(points.size)
        return indices[rows, at], lengths[rows, at]

    @staticmethod
    def _doubtful(labels: Index, count: int, best: Array, reach: Array) -> tuple[Array, Mask]:
        """Return the length of the shortest known edge out of every component, and a mask of points that may have a shorter one.

        Such a point has no point of another component on its list, and the list ends at that length or before.
        """
        shortest = np.full(count, np.inf)
        np.minimum.at(shortest, labels, best)
        return shortest, np.isinf(best) & (reach <= shortest[labels])
