"""Finders: objects that find the neighbours of new points among the training points."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol, cast

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.neighbors import KNeighborsTransformer, RadiusNeighborsTransformer

from ..._types import Index, Matrix, MetricLike, is_sparse
from ...errors import GraphError
from .engines import LibrarySearch, SearchEngine, choose, index_of
from .metric import is_euclidean, refuse_undefined
from .neighbour_lists import lowest_columns, ragged, regular


class NeighboursTransformer(Protocol):
    """Interface of a fitted neighbours transformer, such as scikit-learn's KNeighborsTransformer."""

    def transform(self, X: Matrix) -> Matrix:
        """Return the distances from the rows of X to their neighbours, as sparse rows."""


class Finder:
    """Base class of finders, which find the neighbours of new points among the n training points.

    The class attributes are what other modules read; a finder without such a property keeps the default: the search engine, the metric,
    the number of neighbours or the radius, the width of a heat kernel, and the columns of rows of distances.
    """

    engine: SearchEngine | None = None
    metric: Any = None  # a MetricLike, which some finders compute; None if they compute no distances
    n_neighbors: int | None = None
    radius: float | None = None
    width: float | None = None
    columns: Index | None = None

    def relate(self, X: Matrix) -> sp.csr_array:
        """Return the distances from new points to their neighbours, of shape (m, n)."""
        raise NotImplementedError

    def listed(self, X: Matrix) -> tuple[sp.csr_array, sp.csr_array]:
        """Return the distances to the neighbours that new points choose, and to all points joined to them, each as in `relate`."""
        D = self.relate(X)
        return D, D

    def among(self) -> sp.csr_array:
        """Return the distances among the training points themselves; no point is its own neighbour."""
        raise NotImplementedError

    def subset(self, rows: Index) -> Finder:
        """Return the finder restricted to some of the training points."""
        return self

    def over(self, X: Matrix) -> Finder:
        """Return the finder over the same training points in the storage format of X: dense or sparse."""
        return self


@dataclass(frozen=True, eq=False)
class NearestRows(Finder):
    """Finder for a k-NN or radius graph: ``X -> csr of distances (m, n)`` to the training points."""

    engine: SearchEngine
    n_neighbors: int | None = None
    radius: float | None = None
    metric: MetricLike = "euclidean"
    search: str = "auto"
    n_jobs: int | None = None

    @classmethod
    def build(
        cls, X: Matrix, *, n_neighbors: int | None = None, radius: float | None = None,
        metric: MetricLike = "euclidean", search: str = "auto", n_jobs: int | None = None,
    ) -> NearestRows:  # fmt: skip
        engine = choose(X, metric, "sklearn" if radius is not None else search, n_jobs)
        return cls(engine, n_neighbors, radius, metric, search, n_jobs)

    @property
    def n(self) -> int:
        return int(self.engine.points.shape[0])

    def among(self) -> sp.csr_array:
        return self._lists(None)

    def relate(self, X: Matrix) -> sp.csr_array:
        """Return the distances from new points to their neighbours; a point with none within the radius gets its nearest point."""
        points = self.engine.points
        if X.shape[1] != points.shape[1]:
            raise GraphError(
                f"The graph was built from points with {points.shape[1]} features, but the new points have {X.shape[1]}, so their "
                "neighbours cannot be found. Build the graph from the same features as X."
            )
        return self._lists(sp.csr_array(X) if is_sparse(points) and not is_sparse(X) else X)

    def _lists(self, X: Matrix | None) -> sp.csr_array:
        if self.radius is not None:
            return self._within(X, self.radius)
        assert self.n_neighbors is not None
        distances, indices = self.engine.near(X, self.n_neighbors)
        if not np.isfinite(distances).all():  # the indices are then meaningless
            if not is_euclidean(self.metric):
                refuse_undefined(distances, self.metric)
            raise GraphError(
                "Distances between the points overflow: the values are too large to be squared. Divide X by a constant first."
            )
        return regular(distances, indices, self.engine.points.shape[0])

    def _within(self, X: Matrix | None, radius: float) -> sp.csr_array:
        engine = cast(LibrarySearch, self.engine)  # `build` chooses this engine if a radius is given
        distances, indices = engine.within(X, radius)
        alone = np.array([X is not None and len(row) == 0 for row in indices], dtype=bool)
        if X is not None and alone.any():
            near, which = self.engine.near(X[alone], 1)
            for i, d, j in zip(np.flatnonzero(alone), near, which, strict=True):
                distances[i], indices[i] = d, j
        return ragged(distances, indices, self.n)

    def subset(self, rows: Index) -> NearestRows:
        k = None if self.n_neighbors is None else min(self.n_neighbors, rows.size - 1)
        settings: dict[str, Any] = {"metric": self.metric, "search": self.search, "n_jobs": self.n_jobs}
        return NearestRows.build(self.engine.points[rows], n_neighbors=k, radius=self.radius, **settings)

    def over(self, X: Matrix) -> NearestRows:
        points = self.engine.points
        if is_sparse(X) == is_sparse(points) or X.shape != points.shape:
            return self
        # Only scikit-learn's search, which "auto" chooses, supports sparse points.
        search = "auto" if is_sparse(X) else self.search
        settings: dict[str, Any] = {"metric": self.metric, "search": search, "n_jobs": self.n_jobs}
        return NearestRows.build(X, n_neighbors=self.n_neighbors, radius=self.radius, **settings)


@dataclass(frozen=True, eq=False)
class DistanceRows(Finder):
    """Finder for new points given as rows of precomputed distances to the n training points.

    `width` is half the median of these distances if all are known: the default width of a heat kernel.
    """

    n: int
    n_neighbors: int
    columns: Index | None = None
    width: float | None = None

    def subset(self, rows: Index) -> DistanceRows:
        """Return the finder restricted to some of the training points; new rows still hold distances to all of them."""
        return replace(self, n=rows.size, columns=rows if self.columns is None else self.columns[rows])

    def relate(self, X: Matrix) -> sp.csr_array:
        if is_sparse(X):  # missing entries are unknown distances, not zeros
            D = sp.csr_array(X if self.columns is None else X[:, self.columns])
            _refuse_alone(D, "known distance")
            return D
        D = np.asarray(X, dtype=np.float64)
        D = D if self.columns is None else D[:, self.columns]
        k = min(self.n_neighbors, self.n)
        indices = lowest_columns(D, k)
        return regular(np.take_along_axis(D, indices, axis=1), indices, self.n)


@dataclass(frozen=True, eq=False)
class AffinityRows(Finder):
    """Finder for new points given as rows of affinities to the n training points: positive entries are edges."""

    n: int
    columns: Index | None = None

    def subset(self, rows: Index) -> AffinityRows:
        """Return the finder restricted to some of the training points; new rows still hold affinities to all of them."""
        return replace(self, n=rows.size, columns=rows if self.columns is None else self.columns[rows])

    def relate(self, X: Matrix) -> sp.csr_array:
        W = sp.csr_array(X if self.columns is None else X[:, self.columns]).astype(np.float64)
        W.eliminate_zeros()
        _refuse_alone(W, "affinity")
        return W


def _refuse_alone(rows: sp.csr_array, what: str) -> None:
    alone = np.flatnonzero(np.diff(rows.indptr) == 0)
    if alone.size:
        raise GraphError(
            f"{alone.size} of {rows.shape[0]} new points (first: {alone[0]}) have no {what} to any training point. Drop them."
        )


@dataclass(frozen=True, eq=False)
class TransformerRows(Finder):
    """Finder that calls a neighbours transformer; a point without neighbours gets its nearest point.

    scikit-learn's transformers are stored unfitted, without their trees, and fitted to `fitted_to` again; others are stored as they are.
    """

    transformer: Any
    points: Matrix
    fitted_to: Any = None

    @classmethod
    def of(cls, transformer: NeighboursTransformer, points: Matrix) -> TransformerRows:
        """Return the finder of a fitted transformer."""
        if type(transformer) not in (KNeighborsTransformer, RadiusNeighborsTransformer):
            return cls(transformer, points)
        own: KNeighborsTransformer | RadiusNeighborsTransformer = transformer
        finder = cls(clone(transformer), points, own._fit_X)
        index_of(finder, lambda: transformer)
        return finder

    @property
    def fitted(self) -> NeighboursTransformer:
        """Return the fitted transformer."""
        if self.fitted_to is None:
            return self.transformer
        return index_of(self, lambda: clone(self.transformer).fit(self.fitted_to))

    def relate(self, X: Matrix) -> sp.csr_array:
        D = sp.csr_array(self.fitted.transform(X))
        alone = np.flatnonzero(np.diff(D.indptr) == 0)
        if not alone.size:
            return D
        near = NearestRows.build(self.points, n_neighbors=1, metric=self.metric).relate(X[alone])
        data = np.insert(D.data, D.indptr[alone], near.data)
        columns = np.insert(D.indices, D.indptr[alone], near.indices)
        counts = np.maximum(np.diff(D.indptr), 1)
        return sp.csr_array((data, columns, np.concatenate([[0], np.cumsum(counts)])), shape=D.shape)

    def subset(self, rows: Index) -> NearestRows:
        k, radius = getattr(self.transformer, "n_neighbors", None), getattr(self.transformer, "radius", None)
        if k is None and radius is not None:
            return NearestRows.build(self.points[rows], radius=radius, metric=self.metric)
        return NearestRows.build(self.points[rows], n_neighbors=min(k or 10, rows.size - 1), metric=self.metric)

    @property
    def metric(self) -> MetricLike:
        # "minkowski" with p=2 is fitted as "euclidean", which also supports sparse points.
        return getattr(self.fitted, "effective_metric_", getattr(self.transformer, "metric", "euclidean"))
