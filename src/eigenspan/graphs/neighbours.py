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
from sklearn.base import BaseEstimator, clone
from sklearn.neighbors import NearestNeighbors

from .._diagnostics import note, stage
from ..errors import GraphError

Array = NDArray[np.float64]
Index = NDArray[np.intp]

#: Stands in for a distance of zero while sparse arithmetic would drop it.
_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Finder:
    """Relates new points to the training points of a k-NN or radius graph: ``X -> csr of distances (m, n)``."""

    search: NearestNeighbors
    by_radius: bool = False

    @classmethod
    def build(cls, X: Any, *, n_neighbors: int | None = None, radius: float | None = None, metric: Any = "euclidean", n_jobs: Any = None) -> Finder:
        settings: dict[str, Any] = {"metric": metric, "n_jobs": n_jobs}
        if radius is not None:
            return cls(NearestNeighbors(radius=radius, **settings).fit(X), by_radius=True)
        return cls(NearestNeighbors(n_neighbors=n_neighbors, **settings).fit(X))

    @property
    def n(self) -> int:
        return int(self.search.n_samples_fit_)

    def among(self) -> sp.csr_array:
        """Distances among the training points themselves, no point its own neighbour."""
        if self.by_radius:
            return _ragged(*self.search.radius_neighbors(), self.n)
        distances, indices = self.search.kneighbors()
        return _regular(self._exact(None, indices, distances), indices, self.n)

    def relate(self, X: Any) -> sp.csr_array:
        """Distances from new points to their neighbours; a point with none within the radius is tied to its nearest."""
        if not self.by_radius:
            distances, indices = self.search.kneighbors(X)
            return _regular(self._exact(X, indices, distances), indices, self.n)
        distances, indices = self.search.radius_neighbors(X)
        alone = np.array([len(row) == 0 for row in indices], dtype=bool)
        if alone.any():
            near, which = self.search.kneighbors(X[alone], n_neighbors=1)
            for i, d, j in zip(np.flatnonzero(alone), near, which, strict=True):
                distances[i], indices[i] = d, j
        return _ragged(distances, indices, self.n)

    def subset(self, rows: Index) -> Finder:
        """The same search over some of the training points."""
        metric, jobs = self.search.metric, self.search.n_jobs
        X = self.search._fit_X[rows]
        if self.by_radius:
            return Finder.build(X, radius=self.search.radius, metric=metric, n_jobs=jobs)
        return Finder.build(X, n_neighbors=min(self.search.n_neighbors, rows.size - 1), metric=metric, n_jobs=jobs)

    def _exact(self, X: Any, indices: Index, distances: Array) -> Array:
        """Recompute tiny distances from differences: blocked products leave 1e-8 where coincident rows have 0."""
        points = self.search._fit_X
        if sp.issparse(points) or self.search.effective_metric_ != "euclidean" or self.search._fit_method != "brute":
            return distances
        X = points if X is None else X
        size = float(np.sqrt(np.max(np.einsum("ij,ij->i", points, points), initial=0.0)))
        i, a = np.nonzero(distances < 1e-5 * size)
        distances = np.array(distances)
        distances[i, a] = np.linalg.norm(np.asarray(X)[i] - points[indices[i, a]], axis=1)
        return distances


@dataclass(frozen=True, eq=False)
class DistanceRows:
    """A finder for points that arrive as rows of precomputed distances to the n training points."""

    n: int
    n_neighbors: int
    columns: Index | None = None

    def subset(self, rows: Index) -> DistanceRows:
        """The same over some of the training points; new rows still hold distances to all of them."""
        return DistanceRows(rows.size, self.n_neighbors, rows)

    def relate(self, X: Any) -> sp.csr_array:
        if sp.issparse(X):  # absent entries are unknown distances, not zeros
            return sp.csr_array(X if self.columns is None else X[:, self.columns])
        D = np.asarray(X, dtype=np.float64)
        D = D if self.columns is None else D[:, self.columns]
        k = min(self.n_neighbors, self.n)
        indices = np.argpartition(D, k - 1, axis=1)[:, :k]
        order = np.argsort(np.take_along_axis(D, indices, axis=1), axis=1, kind="stable")
        indices = np.take_along_axis(indices, order, axis=1)
        return _regular(np.take_along_axis(D, indices, axis=1), indices, self.n)


@dataclass(frozen=True, eq=False)
class TransformerRows:
    """A finder that asks a fitted scikit-learn neighbours transformer."""

    transformer: Any

    def relate(self, X: Any) -> sp.csr_array:
        return sp.csr_array(self.transformer.transform(X))


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
    """

    distances: sp.csr_array
    finder: Any
    symmetry: str = "union"

    @property
    def n(self) -> int:
        return self.distances.shape[0]

    def undirected(self) -> sp.csr_array:
        """The symmetric graph of distances, by union or by mutual agreement."""
        D = self.distances.copy()
        D.data = np.maximum(D.data, _TINY)
        T = sp.csr_array(D.T)
        if self.symmetry == "union":
            out = D.maximum(T)
        else:
            out = D.multiply(sp.csr_array((np.ones(T.nnz), T.indices, T.indptr), shape=T.shape))
        out = sp.csr_array(out)
        out.data[out.data <= _TINY] = 0.0
        return out

    def subset(self, rows: Index) -> NeighbourGraph:
        """The graph among some of the points."""
        D = self.distances.copy()
        D.data = np.maximum(D.data, _TINY)
        D = sp.csr_array(D[rows][:, rows])
        D.data[D.data <= _TINY] = 0.0
        finder = self.finder.subset(rows) if hasattr(self.finder, "subset") else self.finder
        return replace(self, distances=D, finder=finder)

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
    symmetry : {"union", "mutual"}, default="union"
        Keep an edge when one end, or only when both ends, count the other as neighbour.
    within_class : bool, default=False
        Look for neighbours only among points of the same class; unlabelled points get none. Classes of at most
        `n_neighbors` points are joined completely.
    n_jobs : int or None, default=None

    Examples
    --------
    >>> from eigenspan import KNN, LaplacianEigenmaps
    >>> LaplacianEigenmaps(graph=KNN(15, metric="cosine")).graph.n_neighbors
    15
    """

    def __init__(self, n_neighbors: int = 10, *, metric: Any = "euclidean", symmetry: str = "union", within_class: bool = False, n_jobs: int | None = None) -> None:
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.symmetry = symmetry
        self.within_class = within_class
        self.n_jobs = n_jobs

    def build(self, X: Any, codes: Index | None = None) -> NeighbourGraph:
        _check_symmetry(self.symmetry)
        n, k = X.shape[0], self.n_neighbors
        check_n_neighbors(k, X)
        finder = Finder.build(X, n_neighbors=k, metric=self.metric, n_jobs=self.n_jobs)
        if not self.within_class:
            return NeighbourGraph(finder.among(), finder, self.symmetry)
        if codes is None:
            raise GraphError("A within-class graph needs labels: call fit(X, y).")
        rows, columns, values = [], [], []
        for c in range(codes.max() + 1):
            members = np.flatnonzero(codes == c)
            if members.size < 2:
                continue
            local = Finder.build(X[members], n_neighbors=min(k, members.size - 1), metric=self.metric, n_jobs=self.n_jobs).among().tocoo()
            rows.append(members[local.row])
            columns.append(members[local.col])
            values.append(local.data)
        D = _canonical(np.concatenate(values), np.concatenate(rows), np.concatenate(columns), n) if values else sp.csr_array((n, n))
        return NeighbourGraph(D, finder, self.symmetry)


class Radius(BaseEstimator):
    """Specification of an ε-neighbourhood graph, for any estimator's ``graph=``.

    Parameters
    ----------
    radius : float
        Points at most this far apart are neighbours.
    metric : str or callable, default="euclidean"
    n_jobs : int or None, default=None

    Examples
    --------
    >>> from eigenspan import Isomap, Radius
    >>> Isomap(graph=Radius(0.5)).graph.radius
    0.5
    """

    def __init__(self, radius: float = 1.0, *, metric: Any = "euclidean", n_jobs: int | None = None) -> None:
        self.radius = radius
        self.metric = metric
        self.n_jobs = n_jobs

    def build(self, X: Any, codes: Index | None = None) -> NeighbourGraph:
        if not self.radius > 0:
            raise GraphError(f"radius={self.radius} must be positive.")
        finder = Finder.build(X, radius=self.radius, metric=self.metric, n_jobs=self.n_jobs)
        D = finder.among()
        if D.nnz == 0:
            near = Finder.build(X, n_neighbors=1, metric=self.metric).among().data
            raise GraphError(
                f"radius={self.radius:g} leaves every one of the {D.shape[0]} points alone: nearest neighbours are {near.min():.3g} to "
                f"{near.max():.3g} apart (median {np.median(near):.3g}). Use a larger radius, or a k-nearest-neighbour graph."
            )
        return NeighbourGraph(D, finder)


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


# ---------------------------------------------------------------------- anything a user may pass as graph=
def as_graph(graph: Any, X: Any, *, n_neighbors: int | None = None, codes: Index | None = None, n_jobs: int | None = None) -> NeighbourGraph:
    """Turn what a user passed as ``graph=`` into a `NeighbourGraph` over the rows of X.

    None means k-NN with `n_neighbors` (None: ten, or all others where there are fewer); a spec, a graph built before, a
    fitted or unfitted scikit-learn neighbours transformer, a sparse matrix of distances, a pair ``(indices, distances)``, or
    ``"precomputed"`` when X itself holds the distances.
    """
    n = X.shape[0]
    with stage("neighbours"):
        if graph is None:
            k = min(10, n - 1) if n_neighbors is None else n_neighbors
            built = KNN(k, n_jobs=n_jobs).build(X) if n > 1 else check_n_neighbors(1, X)
        elif isinstance(graph, str) and graph == "precomputed":
            built = _from_distance_matrix(X, n_neighbors)
        elif isinstance(graph, NeighbourGraph):
            built = graph
        elif hasattr(graph, "build"):
            built = graph.build(X, codes)
        elif hasattr(graph, "transform") and hasattr(graph, "fit"):
            built = _from_transformer(graph, X)
        elif sp.issparse(graph):
            built = _from_sparse(graph, X)
        elif isinstance(graph, tuple) and len(graph) == 2:
            built = _from_pair(*graph, X)
        else:
            raise GraphError(
                f"graph={type(graph).__name__} is not understood. Pass KNN(...), Radius(...), a graph from before, a scikit-learn neighbours "
                'transformer, a sparse matrix of distances, a pair (indices, distances), "class", or "precomputed".'
            )
        if built.n != n:
            raise GraphError(f"The graph has {built.n} nodes but X has {n} rows: build it from the same points.")
    note(edges=int(built.distances.nnz))
    return built


def _from_transformer(transformer: Any, X: Any) -> NeighbourGraph:
    fitted = hasattr(transformer, "n_samples_fit_") and transformer.n_samples_fit_ == X.shape[0]
    transformer = transformer if fitted else clone(transformer).fit(X)
    D = sp.csr_array(transformer.transform(X))
    return NeighbourGraph(_without_self(D), TransformerRows(transformer))


def _from_sparse(graph: Any, X: Any) -> NeighbourGraph:
    D = _without_self(_checked_distances(sp.csr_array(graph)))
    degree = int(np.diff(D.indptr).max(initial=1))
    return NeighbourGraph(D, Finder.build(X, n_neighbors=min(max(degree, 1), X.shape[0] - 1)))


def _from_pair(indices: Any, distances: Any, X: Any) -> NeighbourGraph:
    indices, distances = np.asarray(indices), np.asarray(distances, dtype=np.float64)
    n = X.shape[0]
    if indices.shape != distances.shape or indices.ndim != 2 or indices.shape[0] != n:
        raise GraphError(f"graph=(indices, distances) needs two arrays of shape ({n}, k); got {indices.shape} and {distances.shape}.")
    if indices.size and (indices.min() < 0 or indices.max() >= n):
        raise GraphError(f"Neighbour indices must lie in 0..{n - 1}; got {indices.min()}..{indices.max()}.")
    D = _checked_distances(_canonical(distances.ravel(), np.repeat(np.arange(n), indices.shape[1]), indices.ravel(), n))
    return _from_sparse(D, X)


def _from_distance_matrix(X: Any, n_neighbors: int | None) -> NeighbourGraph:
    n = X.shape[0]
    if X.shape[1] != n:
        raise GraphError(f'graph="precomputed" takes a square matrix of distances; X has shape {X.shape}.')
    if sp.issparse(X):
        D = _without_self(_checked_distances(sp.csr_array(X)))
        return NeighbourGraph(D, DistanceRows(n, int(np.diff(D.indptr).max(initial=1))))
    check_distance_matrix(X)
    k = min(10, n - 1) if n_neighbors is None else n_neighbors
    check_n_neighbors(k, X)
    blocked = np.array(X, dtype=np.float64)
    np.fill_diagonal(blocked, np.inf)
    return NeighbourGraph(DistanceRows(n, k).relate(blocked), DistanceRows(n, k))


def check_distance_matrix(X: Any) -> None:
    """Refuse a dense matrix that is no table of distances."""
    D = np.asarray(X)
    if D.shape[0] != D.shape[1]:
        raise GraphError(f"A precomputed distance matrix must be square; got shape {D.shape}.")
    if D.min(initial=0.0) < 0:
        raise GraphError(f"Distances must not be negative; the smallest entry is {D.min():.3g}. If these are similarities, convert them first.")
    size = D.max(initial=0.0)
    skew = np.abs(D - D.T).max(initial=0.0)
    if skew > 1e-6 * max(size, np.finfo(float).tiny):
        raise GraphError(f"The distance matrix is not symmetric: |d_ij − d_ji| reaches {skew:.3g} where d_ij reaches {size:.3g}.")
    if np.abs(np.diagonal(D)).max(initial=0.0) > 1e-6 * max(size, np.finfo(float).tiny):
        raise GraphError(f"The diagonal of a distance matrix must be zero; it reaches {np.abs(np.diagonal(D)).max():.3g}.")


def _checked_distances(D: sp.csr_array) -> sp.csr_array:
    if D.shape[0] != D.shape[1]:
        raise GraphError(f"A precomputed graph must be square; got shape {D.shape}.")
    if not np.all(np.isfinite(D.data)) or (D.nnz and D.data.min() < 0):
        raise GraphError("A precomputed graph must hold finite distances that are not negative; absent edges are absent, not infinite.")
    D = D.astype(np.float64)
    both = D.multiply(sp.csr_array(D.T) > 0) if D.nnz else D
    skew = abs(both - both.T).max() if both.nnz else 0.0
    if skew > 1e-6 * D.data.max(initial=0.0):
        raise GraphError(f"The precomputed graph gives an edge two lengths: |d_ij − d_ji| reaches {skew:.3g}. Distances must be symmetric.")
    return D


def _without_self(D: sp.csr_array) -> sp.csr_array:
    C = D.tocoo()
    keep = C.row != C.col
    return _canonical(C.data[keep], C.row[keep], C.col[keep], D.shape[0])


def _canonical(data: Array, rows: Any, columns: Any, n: int) -> sp.csr_array:
    """CSR with sorted columns and its explicit zeros kept."""
    order = np.lexsort((columns, rows))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))])
    return sp.csr_array((np.asarray(data, dtype=np.float64)[order], np.asarray(columns)[order], indptr), shape=(n, n))


def _regular(distances: Array, indices: Index, n: int) -> sp.csr_array:
    m, k = indices.shape
    order = np.argsort(indices, axis=1, kind="stable")
    data = np.take_along_axis(np.asarray(distances, dtype=np.float64), order, axis=1)
    columns = np.take_along_axis(indices, order, axis=1)
    return sp.csr_array((data.ravel(), columns.ravel(), np.arange(0, m * k + 1, k)), shape=(m, n))


def _ragged(distances: Any, indices: Any, n: int) -> sp.csr_array:
    counts = [len(row) for row in indices]
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.intp)
    columns = np.concatenate([*indices, np.zeros(0, dtype=np.intp)]).astype(np.intp)
    out = sp.csr_array((np.concatenate([*distances, np.zeros(0)]), columns, indptr), shape=(len(counts), n))
    out.sort_indices()
    return out
