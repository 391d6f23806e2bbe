"""What graph methods share: the neighbour graph, its components, and the parameters that say so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._compat import HasMethods, StrOptions
from .._diagnostics import stage
from ..core import Features, Map, Posed, TraceProblem, with_ridge
from ..core.moments import class_moments, is_tall, on_disk
from ..errors import DimensionError, DuplicateWarning, GraphError, InputError, warn
from ..extend import Barycentric, BarycentricRows
from ..forms import AllPairs, ByClass, PairWeights, Paths, Sparse
from ..graphs import (
    Landmarks,
    NeighbourGraph,
    RowIndex,
    Unknown,
    ZeroDistance,
    affinity,
    as_graph,
    choose_landmarks,
    class_pairs,
    encode_labels,
    ensure_connected,
)
from ..graphs.accept import refuse_two_metrics
from ..graphs.connect import POLICIES
from ..graphs.metric import point_distances
from ..graphs.paths import PathSimilarity
from ..graphs.rows import all_equal
from ..graphs.weights import refuse_found_edges
from .base import COMPONENTS, JOBS, LANDMARKS, NEIGHBOURS, SEED, SOLVER, FeatureReducer, SpectralReducer
from .parameters import parameters

Array = NDArray[np.float64]
Index = NDArray[np.intp]

GRAPH = [str, HasMethods("build"), HasMethods("transform"), "sparse matrix", tuple, NeighbourGraph, None]
METRIC = [str, callable, None]
WEIGHTS = [str, HasMethods("bind")]


class GraphEmbedding(SpectralReducer):
    """Implicit methods over a connected neighbour graph: ``_pose_graph(graph, points) -> Posed``.

    Adds ``graph_``, which other estimators accept as ``graph=``. With landmarks the method is fitted on these rows alone, and
    its map places all others.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": COMPONENTS,
        "n_neighbors": NEIGHBOURS,
        "graph": GRAPH,
        "metric": METRIC,
        "metric_params": [dict, None],
        "landmarks": LANDMARKS,
        "disconnected": [StrOptions(set(POLICIES))],
        "solver": SOLVER,
        "random_state": SEED,
        "n_jobs": JOBS,
    }
    graph_: NeighbourGraph

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int | None = None,
        graph: Any = None,
        metric: Any = None,
        metric_params: dict[str, Any] | None = None,
        landmarks: Any = None,
        disconnected: str = "connect",
        solver: Any = "auto",
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.graph = graph
        self.metric = metric
        self.metric_params = metric_params
        self.landmarks = landmarks
        self.disconnected = disconnected
        self.solver = solver
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _fit(self, X: Any, y: Any) -> tuple[Array, Map]:
        chosen = self._landmark_rows(X)
        if chosen is None:
            return self._fit_points(X)
        self.landmarks_ = chosen
        precomputed = holds_pairs(self)
        Y, map_ = self._fit_points(X[chosen][:, chosen] if precomputed else X[chosen])
        within = self.graph_.rows
        self.graph_ = replace(self.graph_, rows=chosen if within is None else chosen[within])
        if precomputed:
            known = None if map_.known is None else OnColumns(map_.known, chosen)
            map_ = replace(map_, rows=OnColumns(map_.rows, chosen), known=known)
        with stage("placing"):
            everyone = map_(X)
        everyone[chosen] = Y
        return everyone, map_

    def _landmark_rows(self, X: Any) -> Index | None:
        """The rows to fit on; None for all of them."""
        if self.landmarks is None:
            return None
        if isinstance(self.graph, (NeighbourGraph, tuple)) or sp.issparse(self.graph):
            raise GraphError(
                f"{type(self).__name__}(landmarks=...) builds the graph among the landmarks, but graph= is a graph over all "
                f"{X.shape[0]} points already. Pass n_neighbors=, KNN(...) or Radius(...), or leave landmarks out."
            )
        if holds_affinities(self) and isinstance(self.landmarks, Landmarks) and self.landmarks.choice != "random":
            raise InputError(
                f'Landmarks by "{self.landmarks.choice}" need coordinates or distances; of affinities choose them by "random", '
                "or give their rows."
            )
        return choose_landmarks(X, self.landmarks, random_state=self.random_state, precomputed=holds_pairs(self))

    def _rows(self, X: Any) -> Any:
        X = super()._rows(X)
        return sp.csr_array(X) if sp.issparse(X) else X

    def _fit_points(self, X: Any) -> tuple[Array, Map]:
        return self._fit_connected(X, self._build_graph(X), self._embed_graph)

    def _build_graph(self, X: Any) -> NeighbourGraph:
        """The neighbour graph as it is, in one piece or several."""
        if not holds_pairs(self) and all_equal(X):
            raise DimensionError(f"All {X.shape[0]} rows coincide: there are no dimensions to show.")
        graph = graph_asked_for(self, X, self._n_near(X))
        _warn_of_duplicates(graph)
        return graph

    def _n_near(self, X: Any) -> int | None:
        """Neighbours of every point; None for the library's default."""
        return self.n_neighbors

    def _fit_connected(
        self, X: Any, graph: NeighbourGraph, embed: Callable[..., tuple[Array, Map]]
    ) -> tuple[Array, Map]:
        """``embed(graph, points)`` on the graph that the policy for disconnected ones makes of it."""
        precomputed = holds_pairs(self)
        self.graph_, kept = ensure_connected(graph, X, self.disconnected, precomputed=precomputed)
        points = X if kept is None else X[kept][:, kept] if precomputed else X[kept]
        Y, map_ = embed(self.graph_, None if precomputed else points)
        if kept is None:
            return Y, map_
        if precomputed and not holds_affinities(self):
            map_ = replace(map_, known=ZeroDistance(kept))
        everyone = map_(X)
        everyone[kept] = Y
        return everyone, map_

    def _embed_graph(self, graph: NeighbourGraph, points: Array | None) -> tuple[Array, Map]:
        return self._solve(self._pose_graph(graph, points))

    def _pose_graph(self, graph: NeighbourGraph, points: Array | None) -> Posed:
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class OnColumns:
    """Rows or a look-up over the landmarks, for points that arrive as rows over all training points."""

    inner: Callable[[Any], Any]
    columns: Index

    def __call__(self, X: Any) -> Any:
        return self.inner(X[:, self.columns])


def holds_pairs(estimator: Any) -> bool:
    """X holds distances or affinities among the points instead of coordinates: ``graph=`` says so, or ``metric=`` in its place."""
    given = estimator.graph if estimator.graph is not None else getattr(estimator, "metric", None)
    return isinstance(given, str) and given == "precomputed"


def graph_asked_for(estimator: Any, X: Any, n_neighbors: int | None) -> NeighbourGraph:
    """The graph that ``graph=``, or ``n_neighbors=`` and ``metric=``, ask for."""
    pairs = holds_pairs(estimator)
    graph = "precomputed" if pairs else estimator.graph
    refuse_found_edges(graph, getattr(estimator, "weights", None))
    return as_graph(
        graph,
        X,
        n_neighbors=n_neighbors,
        n_jobs=estimator.n_jobs,
        affinities=holds_affinities(estimator),
        metric=None if pairs and estimator.metric == "precomputed" else estimator.metric,
        metric_params=estimator.metric_params,
    )


def refuse_distances(graph: Any, name: str) -> None:
    """A method over coordinates cannot have distances for them."""
    if isinstance(graph, str) and graph == "precomputed":
        raise GraphError(
            f'{name} maps coordinates, so X cannot hold distances as graph="precomputed" says: pass X and the graph itself, as a sparse '
            "matrix of distances or a pair (indices, distances)."
        )


def holds_affinities(estimator: Any) -> bool:
    """X holds edge weights: both the graph and its weights are precomputed."""
    weights = getattr(estimator, "weights", None)
    return holds_pairs(estimator) and isinstance(weights, str) and weights == "precomputed"


def known_rows(points: Array | None, affinities: bool = False) -> Callable[[Any], Any]:
    """The look-up of training points that goes with coordinates, or with rows of distances; affinities have none."""
    if points is not None:
        return RowIndex.build(points)
    return Unknown() if affinities else ZeroDistance()


def barycentric(graph: NeighbourGraph, points: Array | None, reg: float = 1e-3) -> Barycentric:
    """Extension by local reconstruction."""
    if points is None:
        raise InputError(
            'Reconstruction needs coordinates, and graph="precomputed" has none: use another extension or method.'
        )
    return Barycentric(BarycentricRows(graph.finder, points, reg), known_rows(points))


def _warn_of_duplicates(graph: NeighbourGraph) -> None:
    D = graph.distances
    starts = D.indptr[:-1][np.diff(D.indptr) > 0]
    buried = int(np.sum(np.maximum.reduceat(D.data, starts) == 0)) if starts.size else 0
    if buried:
        warn(
            f"{buried} of {graph.n} points have only exact copies of themselves as neighbours: their neighbourhoods have no extent. Drop "
            "repeated rows, or use more neighbours than there are copies.",
            DuplicateWarning,
        )


@parameters(n_neighbors=None, graph=None, metric=None, metric_params=None, unlabeled=None, n_jobs=None)
class GraphProjection(FeatureReducer):
    """Projective and kernel methods over a graph, which is never bridged, and may be the graph of the classes.

    ``graph="class"`` joins all points of a class [S0, §5.1]; ``graph=KNN(k, within_class=True)`` only near ones.
    """

    n_neighbors: int | None
    graph: Any
    metric: Any
    metric_params: dict[str, Any] | None
    unlabeled: Any
    n_jobs: int | None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **FeatureReducer._parameter_constraints,
        "n_neighbors": NEIGHBOURS,
        "graph": GRAPH,
        "metric": METRIC,
        "metric_params": [dict, None],
        "unlabeled": "no_validation",
        "n_jobs": JOBS,
    }

    #: What the axes are measured in where the graph is that of the classes: the points with labels, all points, or themselves.
    _class_unit: ClassVar[str]

    @property
    def _by_class(self) -> bool:
        return isinstance(self.graph, str) and self.graph == "class"

    def _needs_labels(self) -> bool:
        return self._by_class or bool(getattr(self.graph, "within_class", False))

    def _codes(self, X: Any, y: Any) -> Any:
        if not self._needs_labels():
            return None
        codes, self.classes_ = encode_labels(y, X, unlabeled=self.unlabeled, name=type(self).__name__)
        return codes

    def _reads_moments(self, X: Any) -> bool:
        """The class graph is all means: without weights of another kind, one pass over the rows sums up what there is to know."""
        plain = getattr(self, "weights", "heat") in (None, "barycentric")
        return self._by_class and plain and self.kernel is None and self.reduce is None and is_tall(X)

    def _pose_classes(self, X: Any, y: Any, skip: int = 0) -> Posed:
        """The class graph from the moments of the classes: its Laplacian, and its reconstruction, is the scatter within them."""
        codes = self._codes(X, y)
        with stage("moments"):
            labelled, rest = class_moments(X, codes, self.classes_.size)
        everyone = labelled.pooled() + rest
        measured = labelled.pooled() if self._class_unit == "labelled" else everyone
        basis = replace(Features.of_moments(everyone, None if on_disk(X) else X), offset=measured.mean)
        A = basis.compress(labelled.scatter)
        if self._class_unit == "projection":
            return Posed(TraceProblem(A, None, "min"), basis, skip=skip)
        return Posed(TraceProblem(with_ridge(A, self.ridge), basis.compress(measured.scatter), "min"), basis)

    def _fit(self, X: Any, y: Any) -> tuple[Any, Any]:
        refuse_two_metrics(self.graph, self.metric, self.metric_params)
        return super()._fit(X, y)

    def _neighbours(self, points: Any, y: Any) -> NeighbourGraph:
        """The neighbour graph; of the class graph, all pairs of a class with their distances."""
        codes = self._codes(points, y)
        if self._by_class:
            return NeighbourGraph(_distances_on(class_pairs(codes), points), None)
        refuse_distances(self.graph if self.graph is not None else self.metric, type(self).__name__)
        graph = as_graph(
            self.graph,
            points,
            n_neighbors=self.n_neighbors,
            codes=codes,
            n_jobs=self.n_jobs,
            metric=self.metric,
            metric_params=self.metric_params,
            names=("class",),
        )
        _warn_of_duplicates(graph)
        self.graph_ = graph
        return graph

    def _weights(self, points: Any, y: Any, weights: Any) -> PairWeights:
        """The affinity: of a graph's edges, of all pairs, along paths, or of the classes when no other weights were asked for."""
        refuse_found_edges(self.graph, weights)
        if isinstance(self.graph, str) and self.graph == "all":
            return AllPairs.of(points, weights or "heat", self.n_jobs)
        if self._by_class and weights is None:
            return ByClass(self._codes(points, y))
        if not (isinstance(weights, PathSimilarity) and weights.pairs == "all"):
            return Sparse(affinity(self._neighbours(points, y), weights or "heat", points).W)
        if self._by_class:
            raise GraphError(
                'Path-based weights need a graph of neighbours, and in graph="class" every point is one: use KNN(k).'
            )
        return Paths(weights.tree(self._neighbours(points, y), points))


def _distances_on(pattern: sp.csr_array, points: Any) -> sp.csr_array:
    """Euclidean distances on the edges of a pattern."""
    rows = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
    data = pair_distances(points, rows, pattern.indices)
    return sp.csr_array((data, pattern.indices, pattern.indptr), shape=pattern.shape)


def pair_distances(points: Any, first: Index, second: Index, metric: Any = "euclidean") -> Array:
    """Distances of pairs of rows: Euclidean ones a block of pairs at a time, others of one row to all its partners."""
    out = np.empty(first.size)
    if isinstance(metric, str) and metric == "euclidean":
        step = max(1, 2**23 // max(points.shape[1], 1))
        for i in range(0, first.size, step):
            difference = points[first[i : i + step]] - points[second[i : i + step]]
            norm = sp.linalg.norm if sp.issparse(difference) else np.linalg.norm
            out[i : i + step] = norm(difference, axis=1)
        return out
    order = np.argsort(first, kind="stable")
    rows, starts = np.unique(first[order], return_index=True)
    for row, where in zip(rows, np.split(order, starts[1:]), strict=False):
        out[where] = point_distances(points[[row]], points[second[where]], metric)[0]
    return out
