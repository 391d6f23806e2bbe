"""Implicit methods over a neighbour graph: their parameters, their reductions, and the graph itself."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, ClassVar, Protocol

import numpy as np
import scipy.sparse as sp

from ..._parameters import Count, Metric, TypeName, Verbose, attribute
from ..._types import Array, Index, Matrix, MetricLike
from ...data import Input, Sample
from ...data.x import XKind
from ...errors import DuplicateWarning, warn
from ...graphs import NeighbourGraph, Policy
from ...graphs.neighbours.graph import GivenGraph, given_graph, is_given
from ...graphs.sample_graph import neighbour_graph
from ...graphs.weights.rules import refuse_found_edges
from ...numerics.nearest.metric import point_distances
from ...problem import Fitted, Posed
from ...problem.extensions import Barycentric, BarycentricRows
from .contract import LandmarkRows, SpectralReducer, axes
from .reductions import Connected, Distinct, Neighbours, Reduction, Sampled, fit_posed

Graph = Annotated[str | GivenGraph, TypeName("graph specification")] | None


def _without_labels(estimator: GraphEmbedding) -> bool:
    """Return True if the method reads X only: then it can be fitted to some rows of a Dask collection."""
    return estimator._input.y is None


class GraphEmbedding(SpectralReducer):
    """Implicit methods over a connected neighbour graph: ``_pose_graph(graph, sample) -> Posed``.

    Adds ``graph_``, which other estimators accept as ``graph=``. `_reductions` lists how the sample is reduced first: to the
    landmarks, to distinct rows with their multiplicity as mass, and to a connected graph.

    Parameters
    ----------
    landmarks
        Fit to this many rows, or to the given ones, build the graph among them, and place all other rows by the map for new
        points. This costs a fit to m rows and one neighbour search per other row, with O(m) memory beyond data and
        embedding. Details finer than the spacing of the landmarks are interpolated. None fits to all rows.
    disconnected
        What to do if the graph is not connected: add the shortest edges between the components and warn; embed the largest
        component (if several are equally large, the one with the shortest edges), place the other points by the map and
        warn; or raise an error.

    Attributes
    ----------
    graph_ : NeighbourGraph
        The neighbour graph, which other estimators accept as ``graph=``. If rows of X repeat, it is the graph of the
        distinct rows: ``graph_.rows`` holds their row numbers, and is None if all rows are nodes.
    landmarks_ : ndarray of int
        The rows chosen, if `landmarks` is given. Graph, weights and eigenvalues are then those of these rows.
    """

    n_neighbors: Count | None = None
    graph: Graph = None
    metric: Metric | None = None
    metric_params: dict[str, Any] | None = None
    landmarks: LandmarkRows = None
    disconnected: Policy = "connect"
    n_jobs: int | None = None
    verbose: Verbose = 0

    graph_: NeighbourGraph = attribute()
    landmarks_: Index = attribute()

    _input: ClassVar[Input] = Input(pairs=("graph", "metric"), blocks=_without_labels, sparse=True)
    _untold: ClassVar[str] = (
        "its eigenvalues measure the smoothness of a coordinate over the graph and increase gradually: the later coordinates are "
        "functions of the first"
    )

    def _fit(self, sample: Sample) -> Fitted:
        return fit_posed(sample, self._reductions(), self._pose_graph, lambda posed, _: axes(self).fit(posed))

    def _reductions(self) -> tuple[Reduction, ...]:
        """Return the reductions of the sample before the problem is posed, in their order."""
        return (
            Sampled(self.landmarks, self.graph, self.random_state),
            Distinct(self.graph, self.n_neighbors),
            Neighbours(partial(neighbours, self)),
            Connected(self.disconnected),
        )

    def _pose_graph(self, graph: NeighbourGraph, sample: Sample) -> Posed:
        raise NotImplementedError


class HasGraphParameters(Protocol):
    """An estimator with the parameters of a neighbour graph."""

    graph: Graph
    n_neighbors: int | None
    metric: Any
    metric_params: dict[str, Any] | None
    n_jobs: int | None


def neighbours(estimator: HasGraphParameters, sample: Sample, n_neighbors: int | None = None) -> NeighbourGraph:
    """Return the graph that ``graph=``, or ``n_neighbors=`` and ``metric=``, specify."""
    sample.x.refuse_one_place()
    if not sample.x.pairs:
        refuse_found_edges(estimator.graph, getattr(estimator, "weights", None))
    graph = neighbour_graph(
        sample.x,
        estimator.graph,
        n_neighbors=estimator.n_neighbors if n_neighbors is None else n_neighbors,
        n_jobs=estimator.n_jobs,
        metric=estimator.metric,
        metric_params=estimator.metric_params,
    )
    warn_of_duplicates(graph)
    return graph


def coordinates(x: XKind) -> Matrix:
    """Return the coordinates of the points, which local models and reconstruction need."""
    return x.coordinates("Reconstruction needs coordinates", "use another extension or method")


def barycentric(graph: NeighbourGraph, x: XKind, reg: float = 1e-3) -> Barycentric:
    """Return the extension by local reconstruction."""
    return Barycentric(BarycentricRows(graph.lists_of_new(), coordinates(x), reg), x.known())


def check_given(graph: object, points: Matrix) -> None:
    """Validate a given graph, even if the method does not use it."""
    if is_given(graph):
        given_graph(graph, points.shape[0])


def warn_of_duplicates(graph: NeighbourGraph) -> None:
    """Warn of points whose neighbours are all at distance zero."""
    D = graph.distances
    starts = D.indptr[:-1][np.diff(D.indptr) > 0]
    buried = int(np.sum(np.maximum.reduceat(D.data, starts) == 0)) if starts.size else 0
    if buried:
        warn(
            f"{buried} of {graph.n} points have only exact copies of themselves as neighbours: their neighbourhoods have no extent. Drop "
            "duplicate rows, or use more neighbours than there are copies.",
            DuplicateWarning,
        )


def pair_distances(points: Matrix, first: Index, second: Index, metric: MetricLike = "euclidean") -> Array:
    """Return the distances of pairs of rows."""
    out = np.empty(first.size)
    if isinstance(metric, str) and metric == "euclidean":
        step = max(1, 2**23 // max(points.shape[1], 1))
        for i in range(0, first.size, step):
            difference = points[first[i : i + step]] - points[second[i : i + step]]
            norm = sp.linalg.norm if sp.issparse(difference) else np.linalg.norm
            out[i : i + step] = norm(difference, axis=1)
        return out
    order = np.argsort(first, kind="stable")  # other metrics: the distances of one row to all of its partners at once
    rows, starts = np.unique(first[order], return_index=True)
    for row, where in zip(rows, np.split(order, starts[1:]), strict=False):
        out[where] = point_distances(points[[row]], points[second[where]], metric)[0]
    return out
