"""Neighbour graphs: who is near whom, at what distance, and how new points find their place.

Self-neighbours, ties and coincident rows are settled here, once: a point is never its own neighbour, every row of a k-NN
graph has exactly k entries, and a distance of zero is an edge (kept as an explicit zero), not an absence.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from .._diagnostics import note
from ..errors import GraphError
from .joining import Joining
from .lists import canonical, keep_zeros, ragged, regular, restore_zeros, row_max
from .metric import as_metric, paired_distances
from .search import choose

Array = NDArray[np.float64]
Index = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Finder:
    """Relates new points to the training points of a k-NN or radius graph: ``X -> csr of distances (m, n)``."""

    engine: Any
    n_neighbors: int | None = None
    radius: float | None = None
    metric: Any = "euclidean"
    search: str = "auto"
    n_jobs: int | None = None

    @classmethod
    def build(
        cls,
        X: Any,
        *,
        n_neighbors: int | None = None,
        radius: float | None = None,
        metric: Any = "euclidean",
        search: str = "auto",
        n_jobs: int | None = None,
    ) -> Finder:
        engine = choose(X, metric, "sklearn" if radius is not None else search, n_jobs)
        return cls(engine, n_neighbors, radius, metric, search, n_jobs)

    @property
    def n(self) -> int:
        return int(self.engine.points.shape[0])

    def among(self) -> sp.csr_array:
        """Distances among the training points themselves, no point its own neighbour."""
        return self._lists(None)

    def relate(self, X: Any) -> sp.csr_array:
        """Distances from new points to their neighbours; a point with none within the radius is tied to its nearest."""
        return self._lists(X)

    def _lists(self, X: Any) -> sp.csr_array:
        if self.radius is None:
            distances, indices = self.engine.near(X, self.n_neighbors)
            if not np.isfinite(distances).all():  # then the indices mean nothing
                raise GraphError(
                    "Distances between the points overflow: the values are too large to be squared. Divide X by a constant first."
                )
            if sp.issparse(self.engine.points) and self.metric in (
                "euclidean",
                "l2",
            ):  # products leave 1e-8 where there is 0
                distances = paired_distances(self.engine.points if X is None else X, self.engine.points, indices)
            return regular(distances, indices, self.n)
        distances, indices = self.engine.within(X, self.radius)
        alone = np.array([X is not None and len(row) == 0 for row in indices], dtype=bool)
        if alone.any():
            near, which = self.engine.near(X[alone], 1)
            for i, d, j in zip(np.flatnonzero(alone), near, which, strict=True):
                distances[i], indices[i] = d, j
        return ragged(distances, indices, self.n)

    def subset(self, rows: Index) -> Finder:
        """The same search over some of the training points."""
        k = None if self.n_neighbors is None else min(self.n_neighbors, rows.size - 1)
        settings: dict[str, Any] = {"metric": self.metric, "search": self.search, "n_jobs": self.n_jobs}
        return Finder.build(self.engine.points[rows], n_neighbors=k, radius=self.radius, **settings)


@dataclass(frozen=True, eq=False)
class DistanceRows:
    """A finder for points that arrive as rows of precomputed distances to the n training points.

    `width` is half their median distance, where all of them are known: the default width of a heat kernel.
    """

    n: int
    n_neighbors: int
    columns: Index | None = None
    width: float | None = None

    def subset(self, rows: Index) -> DistanceRows:
        """The same over some of the training points; new rows still hold distances to all of them."""
        return replace(self, n=rows.size, columns=rows)

    def relate(self, X: Any) -> sp.csr_array:
        if sp.issparse(X):  # absent entries are unknown distances, not zeros
            D = sp.csr_array(X if self.columns is None else X[:, self.columns])
            _refuse_alone(D, "known distance")
            return D
        D = np.asarray(X, dtype=np.float64)
        D = D if self.columns is None else D[:, self.columns]
        k = min(self.n_neighbors, self.n)
        indices = np.argpartition(D, k - 1, axis=1)[:, :k]
        order = np.argsort(np.take_along_axis(D, indices, axis=1), axis=1, kind="stable")
        indices = np.take_along_axis(indices, order, axis=1)
        return regular(np.take_along_axis(D, indices, axis=1), indices, self.n)


@dataclass(frozen=True, eq=False)
class AffinityRows:
    """A finder for points that arrive as rows of affinities to the n training points: positive entries are edges."""

    n: int
    columns: Index | None = None

    def subset(self, rows: Index) -> AffinityRows:
        """The same over some of the training points; new rows still hold affinities to all of them."""
        return replace(self, n=rows.size, columns=rows)

    def relate(self, X: Any) -> sp.csr_array:
        W = sp.csr_array(X if self.columns is None else X[:, self.columns]).astype(np.float64)
        W.eliminate_zeros()
        _refuse_alone(W, "affinity")
        return W


def _refuse_alone(rows: sp.csr_array, what: str) -> None:
    alone = np.flatnonzero(np.diff(rows.indptr) == 0)
    if alone.size:
        raise GraphError(
            f"{alone.size} of {rows.shape[0]} new points (first: {alone[0]}) have no {what} to any training point."
        )


@dataclass(frozen=True, eq=False)
class TransformerRows:
    """A finder that asks a fitted scikit-learn neighbours transformer; a point it finds none for is tied to its nearest."""

    transformer: Any
    points: Any

    def relate(self, X: Any) -> sp.csr_array:
        D = sp.csr_array(self.transformer.transform(X))
        alone = np.flatnonzero(np.diff(D.indptr) == 0)
        if not alone.size:
            return D
        near = Finder.build(self.points, n_neighbors=1, metric=self.metric).relate(X[alone])
        data, columns = (
            np.insert(D.data, D.indptr[alone], near.data),
            np.insert(D.indices, D.indptr[alone], near.indices),
        )
        counts = np.maximum(np.diff(D.indptr), 1)
        return sp.csr_array((data, columns, np.concatenate([[0], np.cumsum(counts)])), shape=D.shape)

    def subset(self, rows: Index) -> Finder:
        """A search over some of the training points."""
        k, radius = getattr(self.transformer, "n_neighbors", None), getattr(self.transformer, "radius", None)
        if k is None and radius is not None:
            return Finder.build(self.points[rows], radius=radius, metric=self.metric)
        return Finder.build(self.points[rows], n_neighbors=min(k or 10, rows.size - 1), metric=self.metric)

    @property
    def metric(self) -> Any:
        return getattr(self.transformer, "metric", "euclidean")


@dataclass(frozen=True, eq=False)
class NeighbourGraph:
    """A directed neighbour graph over the n training points.

    Attributes
    ----------
    distances : csr_array of shape (n, n)
        Row i holds the distances from i to its neighbours, sorted by column; explicit zeros are edges.
    finder : object with ``relate``
        Finds the neighbours of new points among the training points.
    symmetry : {"union", "mutual"}
        Whether one or both ends of an undirected edge must count the other as neighbour.
    rows : index array or None
        The training rows its nodes stand for where they are only some of them.
    reaches : ndarray of shape (n,) or None
        Distance of each point's farthest neighbour where bridges have been added since; None where none have.
    """

    distances: sp.csr_array
    finder: Any
    symmetry: str = "union"
    rows: Index | None = None
    reaches: Array | None = None

    @property
    def n(self) -> int:
        return self.distances.shape[0]

    def undirected(self) -> sp.csr_array:
        """The symmetric graph of distances, by union or by mutual agreement."""
        D = keep_zeros(self.distances)
        T = sp.csr_array(D.T)
        if self.symmetry == "union":
            return restore_zeros(sp.csr_array(D.maximum(T)))
        pattern = sp.csr_array((np.ones(T.nnz), T.indices, T.indptr), shape=T.shape)
        return restore_zeros(sp.csr_array(D.multiply(pattern)))

    @property
    def reach(self) -> Array:
        """Distance of each point's farthest neighbour, edges that only bridge components left aside."""
        return row_max(self.distances) if self.reaches is None else self.reaches

    def joining(self) -> Any:
        """Relates new points to the training points as `undirected` does these among themselves."""
        lists = getattr(self.finder, "n_neighbors", None) is not None and getattr(self.finder, "radius", None) is None
        return Joining(self.finder, self.reach, self.symmetry) if lists else self.finder

    def subset(self, rows: Index) -> NeighbourGraph:
        """The graph among some of the points."""
        D = restore_zeros(sp.csr_array(keep_zeros(self.distances)[rows][:, rows]))
        finder = self.finder.subset(rows) if hasattr(self.finder, "subset") else self.finder
        return replace(self, distances=D, finder=finder, rows=rows, reaches=self.reach[rows])

    def neighbourhoods(self) -> Iterator[tuple[Index, Index]]:
        """``(points, neighbours)`` in groups of equal neighbour count, for batched local algebra."""
        yield from neighbourhoods(self.distances)


def neighbourhoods(graph: sp.csr_array) -> Iterator[tuple[Index, Index]]:
    """Rows of a sparse graph in groups of equal length: ``(rows, columns of shape (len(rows), k))``; empty rows are passed over."""
    counts = np.diff(graph.indptr)
    for k in np.unique(counts[counts > 0]):
        rows = np.flatnonzero(counts == k)
        yield rows, graph.indices[graph.indptr[rows][:, None] + np.arange(k)].astype(np.intp)


# ---------------------------------------------------------------------- specifications
class KNN(BaseEstimator):
    """Specification of a k-nearest-neighbour graph, for any estimator's ``graph=``.

    Parameters
    ----------
    n_neighbors : int, default=10
    metric : str or callable, default="euclidean"
        Any metric of scikit-learn's NearestNeighbors.
    metric_params : dict or None, default=None
        Its parameters, such as ``{"p": 3}`` of ``"minkowski"``.
    symmetry : {"union", "mutual"}, default="union"
        Keep an edge when one end, or only when both ends, count the other as neighbour.
    within_class : bool, default=False
        Look for neighbours only among points of the same class; unlabelled points get none. Classes of at most
        `n_neighbors` points are joined completely.
    search : {"auto", "tree", "exact", "hnsw", "sklearn"}, default="auto"
        How neighbours are found: by a k-d tree, by products of blocks (exact, any dimension), by a navigable graph
        (approximate, needs ``eigenspan[ann]``), or by scikit-learn. The choice and, where it is approximate, the measured recall
        are in ``diagnostics_``.
    n_jobs : int or None, default=None
        Threads; None means all.

    Examples
    --------
    >>> from eigenspan import KNN, LaplacianEigenmaps
    >>> LaplacianEigenmaps(graph=KNN(15, metric="cosine")).graph.n_neighbors
    15
    """

    def __init__(
        self,
        n_neighbors: int = 10,
        *,
        metric: Any = "euclidean",
        metric_params: dict[str, Any] | None = None,
        symmetry: str = "union",
        within_class: bool = False,
        search: str = "auto",
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.metric_params = metric_params
        self.symmetry = symmetry
        self.within_class = within_class
        self.search = search
        self.n_jobs = n_jobs

    def build(self, X: Any, codes: Index | None = None) -> NeighbourGraph:
        _check_symmetry(self.symmetry)
        n, k = X.shape[0], self.n_neighbors
        check_n_neighbors(k, X)
        metric = _searchable(self.metric, self.metric_params)
        settings: dict[str, Any] = {"metric": metric, "search": self.search, "n_jobs": self.n_jobs}
        finder = Finder.build(X, n_neighbors=k, **settings)
        note(search=finder.engine.name)
        if not self.within_class:
            return NeighbourGraph(finder.among(), finder, self.symmetry)
        if codes is None:
            raise GraphError("A within-class graph needs labels: call fit(X, y).")
        rows, columns, values = [], [], []
        for c in range(codes.max() + 1):
            members = np.flatnonzero(codes == c)
            if members.size < 2:
                continue
            local = Finder.build(X[members], n_neighbors=min(k, members.size - 1), **settings).among().tocoo()
            rows.append(members[local.row])
            columns.append(members[local.col])
            values.append(local.data)
        if not values:
            raise GraphError(f"No class has two points, so the within-class graph of the {n} points has no edge.")
        D = canonical(np.concatenate(values), np.concatenate(rows), np.concatenate(columns), n)
        return NeighbourGraph(D, finder, self.symmetry)


class Radius(BaseEstimator):
    """Specification of an ε-neighbourhood graph, for any estimator's ``graph=``.

    Parameters
    ----------
    radius : float
        Points at most this far apart are neighbours.
    metric : str or callable, default="euclidean"
    metric_params : dict or None, default=None
        Parameters of the metric.
    n_jobs : int or None, default=None

    Examples
    --------
    >>> from eigenspan import Isomap, Radius
    >>> Isomap(graph=Radius(0.5)).graph.radius
    0.5
    """

    def __init__(
        self,
        radius: float = 1.0,
        *,
        metric: Any = "euclidean",
        metric_params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.radius = radius
        self.metric = metric
        self.metric_params = metric_params
        self.n_jobs = n_jobs

    def build(self, X: Any, codes: Index | None = None) -> NeighbourGraph:
        if not self.radius > 0:
            raise GraphError(f"radius={self.radius} must be positive.")
        metric = _searchable(self.metric, self.metric_params)
        finder = Finder.build(X, radius=self.radius, metric=metric, n_jobs=self.n_jobs)
        D = finder.among()
        if D.nnz == 0:
            near = Finder.build(X, n_neighbors=1, metric=metric).among().data
            raise GraphError(
                f"radius={self.radius:g} leaves every one of the {D.shape[0]} points alone: nearest neighbours are {near.min():.3g} to "
                f"{near.max():.3g} apart (median {np.median(near):.3g}). Use a larger radius, or a k-nearest-neighbour graph."
            )
        return NeighbourGraph(D, finder)


def _searchable(metric: Any, parameters: dict[str, Any] | None) -> Any:
    if isinstance(metric, str) and metric == "precomputed":
        raise GraphError(
            'metric="precomputed" leaves a search for neighbours nothing to measure: where X holds the distances, say graph="precomputed" '
            "(n_neighbors= sets k) in place of KNN or Radius, or pass graph= a sparse matrix of distances beside the coordinates."
        )
    return as_metric(metric, parameters)


def check_n_neighbors(k: int, X: Any) -> None:
    n = X.shape[0]
    if not 1 <= k < n:
        raise GraphError(
            f"n_neighbors={k} must lie between 1 and n_samples - 1 = {n - 1} (X has n_samples={n}, n_features={X.shape[1]}): a point "
            "cannot have more neighbours than there are other points. Use fewer neighbours, or more data."
        )


def _check_symmetry(symmetry: str) -> None:
    if symmetry not in ("union", "mutual"):
        raise GraphError(f'symmetry={symmetry!r} must be "union" or "mutual".')
