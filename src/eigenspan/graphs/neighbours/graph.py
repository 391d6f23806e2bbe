"""Neighbour graphs: neighbours, their distances, and the search for the neighbours of new points.

Conventions for self-neighbours and coincident rows: a point is never its own neighbour, every row of a k-NN graph has exactly k
entries, and a distance of zero is an edge, stored as an explicit zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import Annotated, Any, Literal

import numpy as np
import scipy.sparse as sp

from ..._checks import Spec, check_parameter
from ..._compat import HasMethods, Interval
from ..._diagnostics import note
from ..._documented import documented
from ..._parameters import Count, Metric, TypeName, parameter
from ..._types import Array, Index, Matrix, MetricLike
from ...errors import GraphError
from ...numerics.memory import require
from ...numerics.nearest.finders import Finder, NearestRows
from ...numerics.nearest.metric import as_metric
from ...numerics.nearest.neighbour_lists import canonical, keep_zeros, restore_zeros, row_max
from .joining import Joining


@dataclass(frozen=True, eq=False)
class NeighbourGraph:
    """A directed neighbour graph over the n training points.

    Attributes
    ----------
    distances : csr_array of shape (n, n)
        Row i holds the distances from i to its neighbours, sorted by column; explicit zeros are edges.
    finder : Finder
        Finds the neighbours of new points among the training points; a graph that classes define has none.
    symmetry : {"union", "mutual"}
        Whether one or both ends of an edge must count the other as neighbour: of `undirected` edges, and of `lists`.
    rows : index array or None
        The training rows its nodes stand for where they are only some of them.
    reaches : ndarray of shape (n,) or None
        Distance of each point's farthest neighbour where bridges have been added since; None where none have.
    loops : ndarray of shape (n,) or None
        Diagonal of a matrix that was given, None where it is zero. `distances` has no diagonal; random walks over given weights count it.
    """

    distances: sp.csr_array
    finder: Finder = field(default_factory=Finder)
    symmetry: str = "union"
    rows: Index | None = None
    reaches: Array | None = None
    loops: Array | None = None

    @property
    def n(self) -> int:
        return self.distances.shape[0]

    @property
    def searched(self) -> bool:
        """True if neighbours were found by a search, which also works for new points."""
        return type(self.finder) is not Finder

    def undirected(self) -> sp.csr_array:
        """Return the symmetric graph of distances: edges that either end, or both ends, have on their list."""
        D = keep_zeros(self.distances)
        T = sp.csr_array(D.T)
        if self.symmetry == "union":
            return restore_zeros(sp.csr_array(D.maximum(T)))
        pattern = sp.csr_array((np.ones(T.nnz), T.indices, T.indptr), shape=T.shape)
        return restore_zeros(sp.csr_array(D.multiply(pattern)))

    def lists(self) -> sp.csr_array:
        """Return the neighbour lists for local models: the own list of each point, or its mutual neighbours."""
        return self.undirected() if self.symmetry == "mutual" else self.distances

    def lists_of_new(self) -> Finder:
        """Return the finder of these lists for new points."""
        return self.joining() if self.symmetry == "mutual" else self.finder

    @property
    def reach(self) -> Array:
        """Distance of each point's farthest neighbour, without edges that only bridge components."""
        return row_max(self.distances) if self.reaches is None else self.reaches

    def joining(self) -> Finder:
        """Return the finder of edges from new points, by the rule of `undirected`."""
        lists = self.finder.n_neighbors is not None and self.finder.radius is None
        return Joining(self.finder, self.reach, self.symmetry) if lists else self.finder

    def subset(self, rows: Index) -> NeighbourGraph:
        """Return the graph among some of the points."""
        D = restore_zeros(sp.csr_array(keep_zeros(self.distances)[rows][:, rows]))
        loops = None if self.loops is None else self.loops[rows]
        finder = self.finder.subset(rows)
        return replace(self, distances=D, finder=finder, rows=rows, reaches=self.reach[rows], loops=loops)


#: Type of the graphs that ``graph=`` accepts, except names.
GivenGraph = Annotated[
    Any,
    HasMethods("build"),
    HasMethods("transform"),
    "sparse matrix",
    tuple,
    NeighbourGraph,
    TypeName("graph specification"),
]


def neighbourhoods(graph: sp.csr_array) -> Iterator[tuple[Index, Index]]:
    """Yield the rows of a sparse graph grouped by length, ``(rows, columns of shape (len(rows), k))``, without empty rows."""
    counts = np.diff(graph.indptr)
    for k in np.unique(counts[counts > 0]):
        rows = np.flatnonzero(counts == k)
        yield rows, graph.indices[graph.indptr[rows][:, None] + np.arange(k)].astype(np.intp)


# ---------------------------------------------------------------------- specifications
Jobs = Annotated[int, Interval(Integral, None, -1, closed="right")] | Count | None


@documented
class KNN(Spec):
    """Specification of a k-nearest-neighbour graph, for any estimator's ``graph=``.

    Parameters
    ----------
    n_neighbors
        Number of neighbours of every point.
    metric
        Any metric of scikit-learn's NearestNeighbors, or a function of two rows that returns one number, not negative.
    symmetry
        Keep an edge if at least one end, or only if both ends, count the other as neighbour. Methods that model the
        neighbourhood of each point (LLE, LTSA, NPP and related methods) use its list of k neighbours for "union", and for
        "mutual" only those of the list that count the point too.
    within_class
        Search for neighbours only among points of the same class; unlabelled points get none. Classes of at most
        `n_neighbors` points are joined completely.
    search
        Search algorithm: a k-d tree, bounds on all pairs (exact, any dimension), a navigable graph (approximate, needs
        ``eigenspan[ann]``), or scikit-learn. ``diagnostics_`` reports the choice and, if it is approximate, the measured
        recall. Among equally near points the one with the lower row number comes first, whatever the search.

    Examples
    --------
    >>> from eigenspan import KNN, LaplacianEigenmaps
    >>> LaplacianEigenmaps(graph=KNN(15, metric="cosine")).graph.n_neighbors
    15
    """

    n_neighbors: Count = parameter(default=10, kw_only=False)
    metric: Metric = "euclidean"
    metric_params: dict[str, Any] | None = None
    symmetry: Literal["union", "mutual"] = "union"
    within_class: bool = False
    search: Literal["auto", "tree", "exact", "hnsw", "sklearn"] = "auto"
    n_jobs: Jobs = None

    _refusal = GraphError

    def build(self, X: Matrix, codes: Index | None = None) -> NeighbourGraph:
        self.check()
        n, k = X.shape[0], self.n_neighbors
        check_n_neighbors(k, X)
        metric = searchable(self.metric, self.metric_params)
        settings: dict[str, Any] = {"metric": metric, "search": self.search, "n_jobs": self.n_jobs}
        finder = NearestRows.build(X, n_neighbors=k, **settings)
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
            local = NearestRows.build(X[members], n_neighbors=min(k, members.size - 1), **settings).among().tocoo()
            rows.append(members[local.row])
            columns.append(members[local.col])
            values.append(local.data)
        if not values:
            raise GraphError(f"No class has two points, so the within-class graph of the {n} points has no edge.")
        D = canonical(np.concatenate(values), np.concatenate(rows), np.concatenate(columns), n)
        return NeighbourGraph(D, finder, self.symmetry)


@documented
class Radius(Spec):
    """Specification of an ε-neighbourhood graph, for any estimator's ``graph=``.

    Parameters
    ----------
    radius
        Points at most this far apart are neighbours. ``inf`` joins all pairs: n² distances, for which the available memory
        is checked first.
    metric
        Any metric of scikit-learn's NearestNeighbors, or a function of two rows that returns one number, not negative.

    Examples
    --------
    >>> from eigenspan import Isomap, Radius
    >>> Isomap(graph=Radius(0.5)).graph.radius
    0.5
    """

    radius: Annotated[float, Interval(Real, 0, None, closed="right")] = parameter(default=1.0, kw_only=False)
    metric: Metric = "euclidean"
    metric_params: dict[str, Any] | None = None
    n_jobs: Jobs = None

    _refusal = GraphError

    def build(self, X: Matrix, codes: Index | None = None) -> NeighbourGraph:
        self.check()
        metric, n = searchable(self.metric, self.metric_params), X.shape[0]
        if self.radius == np.inf:
            require(
                32.0 * n**2, f"The complete graph of {n} points", "Use a finite radius, or a k-nearest-neighbour graph."
            )
        finder = NearestRows.build(X, radius=self.radius, metric=metric, n_jobs=self.n_jobs)
        D = finder.among()
        if D.nnz == 0:
            near = NearestRows.build(X, n_neighbors=1, metric=metric).among().data
            raise GraphError(
                f"radius={self.radius:g} leaves every one of the {D.shape[0]} points alone: nearest neighbours are {near.min():.3g} to "
                f"{near.max():.3g} apart (median {np.median(near):.3g}). Use a larger radius, or a k-nearest-neighbour graph."
            )
        return NeighbourGraph(D, finder)


#: Names that ``metric=`` accepts elsewhere and that a neighbour search cannot use.
_NO_METRICS = ("precomputed",)


def searchable(metric: MetricLike, parameters: dict[str, object] | None) -> MetricLike:
    """Return the metric with its parameters. Raises GraphError if a search cannot use it."""
    if isinstance(metric, str) and metric in _NO_METRICS:
        raise GraphError(
            f'metric="{metric}" leaves a search for neighbours nothing to measure: where X holds the distances, say graph="precomputed" '
            "(n_neighbors= sets k) in place of KNN or Radius, or pass graph= a sparse matrix of distances beside the coordinates."
        )
    return as_metric(metric, parameters)


def check_n_neighbors(k: int, X: Matrix) -> None:
    """Raise GraphError unless every point of X can have k neighbours."""
    check_parameter("n_neighbors", k, Count, GraphError)
    n = X.shape[0]
    if k >= n:
        raise GraphError(
            f"n_neighbors={k} must lie between 1 and n_samples - 1 = {n - 1} (X has n_samples={n}, n_features={X.shape[1]}): a point "
            "cannot have more neighbours than there are other points. Use fewer neighbours, or more data."
        )
