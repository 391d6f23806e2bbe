"""Neighbour graphs: neighbours, their distances, the search for the neighbours of new points, and what ``graph=`` accepts.

Conventions for self-neighbours and coincident rows: a point is never its own neighbour, every row of a k-NN graph has exactly k
entries, and a distance of zero is an edge, stored as an explicit zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone

from ..._checks import Spec, check_parameter, real_numbers, refuse_unless_sizes
from ..._compat import HasMethods, Interval
from ..._diagnostics import note, stage
from ..._documented import documented
from ..._parameters import Count, Metric, TypeName, parameter
from ..._types import Array, Index, Matrix, MetricLike, Sparse
from ...data.pair_tables import accept_distances, lengths, symmetric_lengths
from ...data.rows.storage import Elsewhere
from ...errors import DuplicateWarning, GraphError, warn
from ...numerics.memory import require
from ...numerics.nearest.finders import AffinityRows, DistanceRows, Finder, NearestRows, TransformerRows
from ...numerics.nearest.metric import as_metric, median_width
from ...numerics.nearest.neighbour_lists import canonical, keep_zeros, restore_zeros, row_max, without_self
from ...numerics.nearest.pair_matrices import PairTolerance
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

    def warn_of_duplicates(self) -> None:
        """Warn of points whose neighbours are all at distance zero."""
        D = self.distances
        starts = D.indptr[:-1][np.diff(D.indptr) > 0]
        buried = int(np.sum(np.maximum.reduceat(D.data, starts) == 0)) if starts.size else 0
        if buried:
            warn(
                f"{buried} of {self.n} points have only exact copies of themselves as neighbours: their neighbourhoods have no extent. "
                "Drop duplicate rows, or use more neighbours than there are copies.",
                DuplicateWarning,
            )

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


# ---------------------------------------------------------------------- values of graph=
#: A graph itself, which needs no search.
GraphData: TypeAlias = NeighbourGraph | Matrix | tuple[ArrayLike, ArrayLike]


def as_graph(
    graph: object,
    X: Matrix,
    *,
    n_neighbors: int | None = None,
    codes: Index | None = None,
    n_jobs: int | None = None,
    metric: MetricLike | None = None,
    metric_params: dict[str, object] | None = None,
    names: tuple[str, ...] = ("precomputed",),
) -> NeighbourGraph:
    """Turn what a user passed as ``graph=`` into a `NeighbourGraph` over the rows of X.

    None means k-NN with `n_neighbors` (None: ten, or all others where there are fewer); a spec, a graph built before, a
    fitted or unfitted scikit-learn neighbours transformer, a sparse matrix of distances, or a pair ``(indices, distances)``. A metric
    belongs to None: `eigenspan.data.read` refuses one that is not that of the spec. `names` are the words that a message may propose.
    Where X holds distances or affinities, `distance_graph` and `affinity_graph` make the graph.
    """
    n = X.shape[0]
    built: NeighbourGraph
    with stage("neighbours"):
        if graph is None:
            k = max(1, min(10, n - 1)) if n_neighbors is None else n_neighbors
            built = KNN(k, metric=metric or "euclidean", metric_params=metric_params, n_jobs=n_jobs).build(X)
        elif is_given(graph):
            built = _given(graph, n, None if isinstance(X, Elsewhere) else X, names)
        elif isinstance(graph, type):
            raise GraphError(f"graph={graph.__name__} is a class: pass an object of it, {graph.__name__}(...).")
        elif hasattr(graph, "build"):
            built = graph.build(X, codes)
        elif hasattr(graph, "transform") and hasattr(graph, "fit"):
            built = _from_transformer(graph, X)
        else:
            raise GraphError(_not_understood(graph, names))
        _check_built(built, graph, n)
    note(edges=int(built.distances.nnz))
    return built


def is_given(graph: object) -> bool:
    """Return whether the value is a graph itself, not a specification to build one."""
    return isinstance(graph, (NeighbourGraph, tuple)) or sp.issparse(graph)


def given_graph(graph: GraphData, n: int) -> NeighbourGraph:
    """Return a given graph over n points that are not in memory. It has no finder for neighbours of new points."""
    with stage("neighbours"):
        built = _given(graph, n, None, ())
        _check_built(built, graph, n)
    note(edges=int(built.distances.nnz))
    return built


def _given(graph: GraphData, n: int, X: Matrix | None, names: tuple[str, ...]) -> NeighbourGraph:
    if isinstance(graph, NeighbourGraph):
        finder = graph.finder if X is None else graph.finder.over(X)
        if graph.rows is None and finder is graph.finder:
            return graph
        return replace(graph, rows=None, finder=finder)  # its nodes are the rows of this X
    if isinstance(graph, tuple):
        if len(graph) != 2:
            raise GraphError(_not_understood(graph, names))
        graph = _listed(graph[0], graph[1], n)
    whole = symmetric_lengths(sp.csr_array(graph))
    D = without_self(whole)
    degree = int(np.diff(D.indptr).max(initial=1))
    finder = Finder() if X is None else NearestRows.build(X, n_neighbors=min(max(degree, 1), X.shape[0] - 1))
    return NeighbourGraph(D, finder, loops=_loops(whole))


def _loops(W: Sparse) -> Array | None:
    """Return the diagonal of a given matrix, or None if it is zero."""
    diagonal = W.diagonal()
    return diagonal if diagonal.any() else None


def _not_understood(graph: object, names: tuple[str, ...]) -> str:
    given = repr(graph) if isinstance(graph, str) else type(graph).__name__
    hint = ""
    if isinstance(graph, str) and graph == "class":
        hint = " Labels join points in projections such as LPP."
    elif isinstance(graph, np.ndarray):
        hint = " Of a dense matrix of distances pass scipy.sparse.csr_array(graph), whose zeros are no edges."
    others = " or ".join(f'"{name}"' for name in names)
    return (
        f"graph={given} is not understood here. Pass KNN(...), Radius(...), a graph from before, a scikit-learn neighbours transformer, a "
        f"sparse matrix of distances, a pair (indices, distances), or {others}.{hint}"
    )


def _check_built(built: object, graph: object, n: int) -> None:
    """Raise GraphError unless the value is a graph over all n points with at least one edge."""
    if not isinstance(built, NeighbourGraph):
        raise GraphError(f"{graph!r:.80}.build must return a NeighbourGraph; it returned a {type(built).__name__}.")
    if built.n != n:
        raise GraphError(f"The graph has {built.n} nodes but X has {n} rows: build it from the same points.")
    if built.distances.nnz == 0:
        raise GraphError(
            f"The graph of the {n} points has no edge, so that nothing is known of any of them: a sparse matrix needs an entry for every "
            "pair of neighbours, a pair of arrays a column for every neighbour, and a point is no neighbour of itself."
        )


def _from_transformer(transformer: BaseEstimator, X: Matrix) -> NeighbourGraph:
    fitted = getattr(transformer, "n_samples_fit_", None) == X.shape[0]
    if sp.issparse(getattr(transformer, "_fit_X", X)) != sp.issparse(X):
        fitted = False  # its trees hold dense points only
    transformer = transformer if fitted else clone(transformer).fit(X)
    found, n = transformer.transform(X), X.shape[0]
    if found.shape != (n, n):
        raise GraphError(
            f"{type(transformer).__name__} is no neighbours transformer: of {n} rows it made shape {found.shape}, not the {n}×{n} "
            "distances to neighbours."
        )
    whole = lengths(sp.csr_array(found))
    return NeighbourGraph(without_self(whole), TransformerRows.of(transformer, X), loops=_loops(whole))


def _listed(indices: ArrayLike, distances: ArrayLike, n: int) -> sp.csr_array:
    """Return lists of neighbours as a sparse matrix of distances."""
    places = real_numbers(indices, "Neighbour indices", GraphError)
    indices, distances = np.asarray(indices), real_numbers(distances, "Distances to neighbours", GraphError)
    if indices.shape != distances.shape or indices.ndim != 2 or indices.shape[0] != n:
        raise GraphError(
            f"graph=(indices, distances) needs two arrays of shape ({n}, k); got {indices.shape} and {distances.shape}."
        )
    if indices.dtype.kind not in "iu":
        fractions = int(np.sum(places != np.floor(places)))
        raise GraphError(
            f"Neighbour indices must be whole numbers; these are {indices.dtype}, {fractions} of {indices.size} with a fraction. Pass "
            "indices.astype(int) if they count rows from zero."
        )
    padded = (indices == -1) | (distances == np.inf)  # how searches fill the list of a point with too few neighbours
    kept, lengths = indices[~padded], distances[~padded]
    if kept.size and (kept.min() < 0 or kept.max() >= n):
        raise GraphError(
            f"Neighbour indices must lie in 0..{n - 1}; got {kept.min()}..{kept.max()}. Only -1, or an infinite distance, marks a place "
            "with no neighbour."
        )
    rows = np.repeat(np.arange(n), indices.shape[1])[~padded.ravel()]
    return canonical(lengths, rows, kept, n)


def distance_graph(X: Matrix, n_neighbors: int | None = None, *, accepted: bool = False) -> NeighbourGraph:
    """Return the graph of the nearest neighbours in a square matrix of distances, or of all stored entries of a sparse one.

    `accepted` says that X is the result of `accept_distances` already.
    """
    with stage("neighbours"):
        built = _of_distances(X if accepted else accept_distances(X), n_neighbors)
    note(edges=int(built.distances.nnz))
    return built


def _of_distances(X: Matrix, n_neighbors: int | None) -> NeighbourGraph:
    n = X.shape[0]
    if sp.issparse(X):
        D = without_self(X)
        return NeighbourGraph(D, DistanceRows(n, int(np.diff(D.indptr).max(initial=1))))
    k = max(1, min(10, n - 1)) if n_neighbors is None else n_neighbors
    check_n_neighbors(k, X)
    blocked = np.array(X, dtype=np.float64)
    np.fill_diagonal(blocked, np.inf)
    finder = DistanceRows(n, k, width=median_width(X, precomputed=True))
    return NeighbourGraph(finder.relate(blocked), finder)


def affinity_graph(X: Matrix) -> NeighbourGraph:
    """Return the graph whose edges are the positive entries of X; entries on the diagonal are self-loops."""
    if X.shape[0] != X.shape[1]:
        raise GraphError(f"Precomputed affinities must be a square matrix; X has shape {X.shape}.")
    W = sp.csr_array(X).astype(np.float64)
    tolerance = PairTolerance.of(W)
    W.data[(W.data < 0) & (W.data >= -tolerance.difference)] = 0.0
    W.eliminate_zeros()
    advice = "Pass exp(-D**2 / s**2) of distances D, (1 + R) / 2 of correlations R, or W.clip(min=0)."
    refuse_unless_sizes(W.data, "Affinities", advice, GraphError)
    skew = abs(W - W.T).max() if W.nnz else 0.0
    if skew > tolerance.difference:
        raise GraphError(
            f"The affinities are not symmetric: |w_ij − w_ji| reaches {skew:.3g} where w_ij reaches {W.data.max():.3g}. Pass "
            "(W + W.T) / 2."
        )
    W = sp.csr_array((W + W.T) / 2) if skew else W
    return NeighbourGraph(without_self(W), AffinityRows(W.shape[0]), loops=_loops(W))
