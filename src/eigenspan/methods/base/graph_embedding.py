"""What graph methods share: the neighbour graph, its components, and the parameters that say so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..._diagnostics import stage
from ..._parameters import Count, Metric, TypeName, Verbose, attribute
from ...data import Input, Sample
from ...errors import DuplicateWarning, GraphError, InputError, warn
from ...graphs import Needs, NeighbourGraph, Policy
from ...graphs.neighbours.accept import given_graph, is_given
from ...graphs.neighbours.graph import GivenGraph
from ...graphs.sample_graph import connect, landmark_rows, neighbour_graph
from ...graphs.weights.rules import refuse_found_edges
from ...numerics.nearest.metric import point_distances
from ...problem import Fitted, Posed
from ...problem.extensions import Barycentric, BarycentricRows
from .contract import LandmarkRows, SpectralReducer, axes
from .duplicates import over_distinct, within

Array = NDArray[np.float64]
Index = NDArray[np.intp]

Graph = Annotated[str | GivenGraph, TypeName("graph specification")] | None


def _by_rows_alone(estimator: Any) -> bool:
    """Nothing is known of the rows besides: then some of them can stand for all, which may lie on a cluster."""
    return estimator._input.y is None


class GraphEmbedding(SpectralReducer):
    """Implicit methods over a connected neighbour graph: ``_pose_graph(graph, points) -> Posed``.

    Adds ``graph_``, which other estimators accept as ``graph=``. With landmarks the method is fitted on these rows alone, and
    its map places all others. Of rows that are equal one stands for all, with their number as its mass: they share one place.

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

    _input: ClassVar[Input] = Input(pairs=("graph", "metric"), blocks=_by_rows_alone)
    _untold: ClassVar[str] = (
        "its eigenvalues say how smoothly a coordinate runs over the graph, and rise without a step: further ones are finer "
        "copies of the first"
    )
    #: The form counts every row as often as ``x.masses`` says, so that it can be fitted to the distinct rows alone.
    _takes_masses: ClassVar[bool] = False
    #: What the null space of the form needs of the graph, so that it holds the constant only.
    _needs: ClassVar[Needs] = "connected"

    def _fit(self, sample: Sample) -> Fitted:
        chosen = self._landmark_rows(sample)
        if chosen is None:
            return self._fit_lazily(sample) if sample.x.lazy else self._fit_all(sample)
        return within(chosen, Subset(chosen).fit(sample, self._fit_all)).having(landmarks_=chosen)

    def _landmark_rows(self, sample: Sample) -> Index | None:
        """The rows to fit on; None for all of them."""
        if self.landmarks is None:
            return None
        _refuse_whole_graph(self, sample.n, "landmarks")
        return landmark_rows(sample.x, self.landmarks, random_state=self.random_state)

    def _fit_lazily(self, sample: Sample) -> Fitted:
        """The fit to all rows of a cluster, where there is one."""
        way = "sample" if hasattr(self, "sample") else "landmarks"
        raise InputError(
            f"X is a collection of Dask's, and {type(self).__name__} needs the neighbour graph of all its points in one place. Say {way}=m "
            f"to fit m of the {sample.n} rows and place all others by the map, in blocks, or pass X.compute() if that fits into memory."
        )

    def _fit_all(self, sample: Sample) -> Fitted:
        """The fit to all points of the sample, equal rows as one."""
        return over_distinct(self, sample, self._fit_rows) if self._takes_masses else self._fit_rows(sample)

    def _fit_rows(self, sample: Sample) -> Fitted:
        """The fit to every row for itself, in the pieces that the policy for disconnected graphs leaves of them."""
        return in_one_piece(sample, self._graph(sample), self.disconnected, self._embed, self._needs)

    def _graph(self, sample: Sample) -> NeighbourGraph:
        """The neighbour graph as it is, in one piece or several."""
        return neighbours(self, sample)

    def _embed(self, graph: NeighbourGraph, sample: Sample) -> Fitted:
        """The embedding of a graph in one piece."""
        return axes(self).fit(self._pose_graph(graph, sample.x))

    def _pose_graph(self, graph: NeighbourGraph, x: Any) -> Posed:
        raise NotImplementedError


class SampledEmbedding(GraphEmbedding):
    """Those whose landmarks are tied to the graph of all points: `sample` says how many rows are all, and the map places the others.

    Parameters
    ----------
    sample
        Fit to this many random rows as if they were all rows, and place the others by the map for new points. Use it to fit
        a Dask array or data frame, whose rows stay on their cluster. None fits to all rows.

    Attributes
    ----------
    sample_ : ndarray of int
        The rows drawn, if `sample` is given.
    """

    sample: Count | None = None

    sample_: Index = attribute()

    def _fit(self, sample: Sample) -> Fitted:
        if self.sample is None:
            return self._fit_lazily(sample) if sample.x.lazy else self._fit_sampled(sample)
        _refuse_whole_graph(self, sample.n, "sample")
        rows = landmark_rows(sample.x, min(self.sample, sample.n), random_state=self.random_state)
        return within(rows, Subset(rows).fit(sample, self._fit_sampled)).having(sample_=rows)

    def _fit_sampled(self, sample: Sample) -> Fitted:
        """The fit to points in memory."""
        return super()._fit(sample)


def _refuse_whole_graph(estimator: Any, n: int, name: str) -> None:
    if is_given(estimator.graph):
        raise GraphError(
            f"{type(estimator).__name__}({name}=...) builds the graph among some rows, but graph= is a graph over all {n} points "
            f"already. Pass n_neighbors=, KNN(...) or Radius(...), or leave {name} out."
        )


@dataclass(frozen=True, eq=False)
class Subset:
    """Some of the points, which stand for all: the others are placed by the map."""

    rows: Index

    def fit(self, sample: Sample, fit: Callable[[Sample], Fitted]) -> Fitted:
        fitted = fit(sample.take(self.rows))
        if sample.x.lazy:  # placed when they are asked for, where they are
            return replace(fitted, embedding=None)
        with stage("placing"):
            everyone = fitted.map(sample.x.arriving)
        everyone[self.rows] = fitted.embedding
        return replace(fitted, embedding=everyone)


def in_one_piece(
    sample: Sample,
    graph: NeighbourGraph,
    policy: str,
    embed: Callable[[NeighbourGraph, Sample], Fitted],
    needs: Needs = "connected",
) -> Fitted:
    """``embed(graph, sample)`` on the graph that the policy for disconnected ones makes of it, which is ``graph_``."""
    graph, kept = connect(sample.x, graph, policy, needs)
    if kept is None:
        return embed(graph, sample).having(graph_=graph)
    return Subset(kept).fit(sample, lambda some: embed(graph, some)).having(graph_=graph)


def neighbours(estimator: Any, sample: Sample, n_neighbors: int | None = None, **more: Any) -> NeighbourGraph:
    """The graph that ``graph=``, or ``n_neighbors=`` and ``metric=``, ask for."""
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
        **more,
    )
    warn_of_duplicates(graph)
    return graph


def barycentric(graph: NeighbourGraph, x: Any, reg: float = 1e-3) -> Barycentric:
    """Extension by local reconstruction."""
    points = x.coordinates("Reconstruction needs coordinates", "use another extension or method")
    return Barycentric(BarycentricRows(graph.lists_of_new(), points, reg), x.known())


def check_given(graph: Any, points: Any) -> None:
    """Refuse a graph that was given and is none, also where the method has no use for it."""
    if is_given(graph):
        given_graph(graph, points.shape[0])


def warn_of_duplicates(graph: NeighbourGraph) -> None:
    D = graph.distances
    starts = D.indptr[:-1][np.diff(D.indptr) > 0]
    buried = int(np.sum(np.maximum.reduceat(D.data, starts) == 0)) if starts.size else 0
    if buried:
        warn(
            f"{buried} of {graph.n} points have only exact copies of themselves as neighbours: their neighbourhoods have no extent. Drop "
            "repeated rows, or use more neighbours than there are copies.",
            DuplicateWarning,
        )


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
