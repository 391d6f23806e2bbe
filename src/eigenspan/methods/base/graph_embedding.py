"""Implicit methods over a neighbour graph: their parameters, the graph, and how the sample is reduced to fewer points and back.

=================  =====================================  ===========================================
`Sampled`          fits some of the rows                  the map places the others
`Distinct`         fits one row per group of equal rows   equal rows have equal places
`Neighbours`       builds the graph of these rows         –
`Connected`        joins the components of this graph     the map places rows that the policy leaves out
                   or keeps the largest
`OneClosedClass`   likewise for closed classes            as for `Connected`
=================  =====================================  ===========================================

A reduction is a value. ``take(sample)`` returns a smaller sample and the function from a fit to it to a fit of all rows; None if the fit
stays as it is. `fit_reduced` applies a tuple of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from typing import Annotated, Any, ClassVar, Protocol, TypeAlias

import numpy as np
import scipy.sparse as sp

from ..._diagnostics import note
from ..._parameters import Count, Metric, TypeName, Verbose, attribute
from ..._types import Array, Index, Matrix, MetricLike, RandomState
from ...data import Input, Sample
from ...data.x import XKind
from ...errors import DuplicateWarning, GraphError, warn
from ...graphs import Landmarks, NeighbourGraph, Policy
from ...graphs.neighbours.connect import ensure_connected, ensure_one_closed_class, has
from ...graphs.neighbours.graph import GivenGraph, given_graph, is_given
from ...graphs.sample_graph import landmark_rows, neighbour_graph
from ...graphs.weights.rules import refuse_affinities, refuse_found_edges
from ...numerics.nearest.metric import point_distances
from ...numerics.nearest.row_lookup import Contraction
from ...problem import Fitted, Posed
from ...problem.extensions import Barycentric, BarycentricRows
from .contract import LandmarkRows, SpectralReducer, axes

Back: TypeAlias = Callable[[Fitted], Fitted]

#: Largest distance between equal rows that rounding may cause, as a share of the extent of an embedding.
_ROUNDING = 1e-9


class Reduction(Protocol):
    """A way to fit fewer points."""

    def take(self, sample: Sample) -> tuple[Sample, Back | None]:
        """Return the smaller sample, and the function from a fit to it to a fit of `sample`; None for the same fit."""


def fit_reduced(sample: Sample, reductions: tuple[Reduction, ...], fit: Callable[[Sample], Fitted]) -> Fitted:
    """Apply the reductions in order, fit the reduced sample, and undo them in reverse order. ``graph_`` is the reduced graph."""
    backs = []
    for reduction in reductions:
        sample, back = reduction.take(sample)
        backs.append(back)
    fitted = fit(sample)
    if sample.graph is not None and "graph_" not in fitted.attributes:
        fitted = fitted.having(graph_=sample.graph)
    for back in reversed(backs):
        fitted = fitted if back is None else back(fitted)
    return fitted


def fit_posed(
    sample: Sample,
    reductions: tuple[Reduction, ...],
    pose: Callable[[NeighbourGraph, Sample], Posed],
    solve: Callable[[Posed, Sample], Fitted],
) -> Fitted:
    """Apply the reductions, pose the problem over the connected graph, and solve it.

    If its forms need more than a connected graph (`Form.needs`), repair the graph by the same policy and pose the problem again.
    """

    def fit(sample: Sample) -> Fitted:
        posed = pose(sample.graph, sample)
        if has(sample.graph, posed.needs):
            return solve(posed, sample)
        policy = next(each.policy for each in reductions if isinstance(each, Connected))
        return fit_reduced(sample, (OneClosedClass(policy),), lambda some: solve(pose(some.graph, some), some))

    return fit_reduced(sample, reductions, fit)


def in_larger(rows: Index, fitted: Fitted) -> Fitted:
    """Return the fit with ``graph_.rows`` counted in the larger sample, of which `rows` were fitted."""
    graph = fitted.attributes["graph_"]
    return fitted.having(graph_=replace(graph, rows=rows if graph.rows is None else rows[graph.rows]))


def placed(sample: Sample, rows: Index, fitted: Fitted) -> Fitted:
    """Place the other points of the sample by the map of a fit to `rows`."""
    embedding = sample.x.placed(fitted.map)
    if embedding is not None:
        embedding[rows] = fitted.embedding
    return in_larger(rows, replace(fitted, embedding=embedding))


# ---------------------------------------------------------------------- some rows for all
@dataclass(frozen=True, eq=False)
class Sampled:
    """Fit some of the rows.

    Attributes
    ----------
    rows : int, Landmarks, ndarray of int or None
        How many rows, how they are chosen, or their numbers. None takes all of them.
    graph : object
        The parameter ``graph=``, which must not be a graph of all rows.
    random_state : object
    name : {"landmarks", "sample"}
        The parameter that holds `rows`. A sample of more rows than there are takes all of them.
    """

    rows: int | Landmarks | Index | None
    graph: object
    random_state: RandomState
    name: str = "landmarks"

    def take(self, sample: Sample) -> tuple[Sample, Back | None]:
        if self.rows is None:
            sample.x.refuse_elsewhere(self.name)
            return sample, None
        if is_given(self.graph):
            raise GraphError(
                f"{self.name}= builds the graph among some rows, but graph= is already a graph of all {sample.n} points. Pass "
                f"n_neighbors=, KNN(...) or Radius(...), or leave {self.name} out."
            )
        wanted = self.rows
        if self.name == "sample" and isinstance(wanted, Integral):
            wanted = min(int(wanted), sample.n)
        rows = landmark_rows(sample.x, wanted, random_state=self.random_state)
        return sample.take(rows), lambda fitted: placed(sample, rows, fitted).having(
            **{f"{self.name}_": sample.places[rows]}
        )


# ---------------------------------------------------------------------- one row for equal ones
@dataclass(frozen=True, eq=False)
class Distinct:
    """Fit one row per group of equal rows. The form must weight it by ``x.masses``.

    A given graph has a node for every row. Then all rows are fitted, and equal ones are moved to their mean afterwards.

    Attributes
    ----------
    graph, n_neighbors : object
        The parameters of the neighbour graph.
    movable : bool
        Whether equal rows with different places may be moved to their mean.
    """

    graph: object
    n_neighbors: int | None
    movable: bool = True

    def take(self, sample: Sample) -> tuple[Sample, Back | None]:
        groups = sample.x.copies()
        if groups is None:
            return sample, None
        sample.x.refuse_one_place()
        note(distinct_rows=groups.first.size)
        if not _is_over(self.graph, groups):
            return sample, partial(_bring_together, groups) if self.movable else None
        k: Any = self.n_neighbors if self.graph is None else getattr(self.graph, "n_neighbors", None)
        n, g = groups.labels.size, groups.first.size
        if isinstance(k, (int, np.integer)) and g <= k < n:
            raise GraphError(
                f"n_neighbors={k} must lie between 1 and {g - 1}: only {g} of the {n} rows are distinct, and equal rows are not neighbours "
                f"of each other. Use n_neighbors <= {g - 1}, or more data."
            )
        return sample.distinct(groups), partial(_share, groups)


def _is_over(graph: object, groups: Contraction) -> bool:
    """Return True if the graph is still to be built, or if its nodes are the distinct rows."""
    if isinstance(graph, NeighbourGraph):
        return graph.rows is not None and np.array_equal(graph.rows, groups.first)
    return graph is None or hasattr(graph, "build")


def _share(groups: Contraction, fitted: Fitted) -> Fitted:
    """Give every row the place of the fitted row that it equals."""
    Y: Any = fitted.embedding
    if groups.first.size == groups.labels.size:
        return fitted
    return in_larger(groups.first, replace(fitted, embedding=Y[groups.labels]))


def _bring_together(groups: Contraction, fitted: Fitted) -> Fitted:
    """Move equal rows to the mean of their places, in the map too."""
    Y, shared, away = _means(groups, fitted)
    n = groups.labels.size
    if away.max() > 0:
        warn(
            f"{n - groups.first.size} of {n} rows repeat others, but graph= treats every row as a point of its own and places equal rows "
            f"apart, up to {away.max():.2g} from their mean (the embedding reaches {np.abs(Y).max():.2g}): they were moved to their mean. "
            "Drop duplicate rows, or pass n_neighbors=, KNN(...) or Radius(...), which count each distinct row as often as it occurs.",
            DuplicateWarning,
        )
    return replace(_looking_up(fitted, shared), embedding=shared)


@dataclass(frozen=True)
class ApartByLabel:
    """Keep the places of equal rows with different labels. The map reads x only, and returns the mean of these places."""

    def take(self, sample: Sample) -> tuple[Sample, Back | None]:
        groups = sample.x.copies()
        return sample, None if groups is None else partial(_warn_of_labels, groups)


def _warn_of_labels(groups: Contraction, fitted: Fitted) -> Fitted:
    Y, shared, away = _means(groups, fitted)
    if not away.any():
        return fitted
    warn(
        f"{np.count_nonzero(away)} of {len(Y)} rows equal rows with another label and have different places in embedding_. transform "
        "reads X only and returns the mean of their places. Drop such rows, or correct their labels, if the two must agree.",
        DuplicateWarning,
    )
    return _looking_up(fitted, shared)


def _means(groups: Contraction, fitted: Fitted) -> tuple[Array, Array, Array]:
    """Return the embedding, the mean place of the rows equal to each row, and its distance, zero if that is rounding error."""
    Y: Any = fitted.embedding
    sums = np.zeros((groups.first.size, Y.shape[1]))
    np.add.at(sums, groups.labels, Y)
    shared = (sums / groups.masses[:, None])[groups.labels]
    away = np.abs(Y - shared).max(axis=1)
    return Y, shared, np.where(away > _ROUNDING * float(np.abs(Y).max()), away, 0.0)


def _looking_up(fitted: Fitted, places: Array) -> Fitted:
    """Return the fit with these places of the training rows in its map, if the map looks them up."""
    kept, map_ = fitted.attributes["graph_"].rows, fitted.map
    if map_.embedding is None:
        return fitted
    return replace(fitted, map=replace(map_, embedding=places if kept is None else places[kept]))


# ---------------------------------------------------------------------- the graph
@dataclass(frozen=True, eq=False)
class Neighbours:
    """Build the neighbour graph of the sample."""

    build: Callable[[Sample], NeighbourGraph]

    def take(self, sample: Sample) -> tuple[Sample, Back | None]:
        return replace(sample, graph=self.build(sample)), None


@dataclass(frozen=True)
class Connected:
    """Join the components of the graph, or keep the largest one, by the policy for disconnected graphs."""

    policy: Policy

    def take(self, sample: Sample) -> tuple[Sample, Back | None]:
        return _kept(sample, *ensure_connected(sample.graph, sample.x.values, self.policy, precomputed=sample.x.pairs))


@dataclass(frozen=True)
class OneClosedClass:
    """Connect closed classes of a connected graph to the other points, or keep its largest strongly connected component."""

    policy: Policy

    def take(self, sample: Sample) -> tuple[Sample, Back | None]:
        return _kept(sample, *ensure_one_closed_class(sample.graph, self.policy))


def _kept(sample: Sample, graph: NeighbourGraph, rows: Index | None) -> tuple[Sample, Back | None]:
    """Return the points that are nodes of the graph; all of them if `rows` is None."""
    if rows is None:
        return replace(sample, graph=graph), None
    return replace(sample.take(rows), graph=replace(graph, rows=None)), partial(placed, sample, rows)


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

    _masses: ClassVar[bool] = True

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
        weights = getattr(estimator, "weights", None)
        refuse_found_edges(estimator.graph, weights)
        if weights is not None:
            refuse_affinities(estimator.graph, weights, sample.x.values)
    graph = neighbour_graph(
        sample.x,
        estimator.graph,
        n_neighbors=estimator.n_neighbors if n_neighbors is None else n_neighbors,
        n_jobs=estimator.n_jobs,
        metric=estimator.metric,
        metric_params=estimator.metric_params,
    )
    graph.warn_of_duplicates()
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
