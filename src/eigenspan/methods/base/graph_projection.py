"""Base class of projections over a graph, with the graph, its weights, and the class graph, whose form is the within-class scatter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..._parameters import Count, Marker, Metric, Verbose, attribute
from ..._types import Matrix, Sparse
from ...data import Classes, Input, Sufficient
from ...data.y import ClassLabels
from ...errors import GraphError
from ...graphs import NeighbourGraph, as_graph, class_pairs, ensure_connected
from ...graphs.neighbours.connect import ensure_one_closed_class, has
from ...graphs.neighbours.graph import is_given
from ...graphs.weights.path_similarity import PathSimilarity
from ...graphs.weights.rules import Bindable, as_weights, by_lengths, refuse_affinities, refuse_found_edges
from ...problem import Form
from ...problem.forms import AllPairs, ByClass, PairWeights, pair_affinity
from ...problem.forms.pair_weights import weights_on
from .contract import FeatureReducer, by_landmarks
from .graph_embedding import Graph, pair_distances


def _labels_of_graph(estimator: GraphProjection) -> ClassLabels | None:
    within = bool(getattr(estimator.graph, "within_class", False))
    return ClassLabels() if within or by_class(estimator) else None


#: The class graph with its default weights is the scatter within the classes, which needs only sums over the rows.
CLASS_AVERAGES: Sufficient = {"graph": "class", "weights": None, "kernel": None, "reduce": None, "center": True}


def _averages_by_landmarks(estimator: GraphProjection) -> bool:
    averages = by_class(estimator) and getattr(estimator, "weights", "heat") is None
    return averages and getattr(estimator, "center", True) and by_landmarks(estimator)


def over_given_graph(estimator: FeatureReducer) -> bool:
    """Return True if the graph is given and its lengths determine the weights: then the rows may stay in Dask blocks."""
    by_rows = estimator.kernel is not None or estimator.reduce is not None
    graph = getattr(estimator, "graph", None)
    return not by_rows and is_given(graph) and by_lengths(getattr(estimator, "weights", "local"))


def ways_to_stay(estimator: FeatureReducer) -> str:
    """Return the advice of messages for rows that are to stay in the blocks of a Dask collection."""
    if estimator.kernel is not None or estimator.reduce is not None:
        return ""
    return (
        "; rows may remain distributed if graph= is the graph itself, a sparse matrix or a pair (indices, distances), and its lengths "
        "determine the weights"
    )


class GraphProjection(FeatureReducer):
    """Projective and kernel methods over a graph. Components are never joined, and the graph may be that of the classes.

    ``graph="class"`` joins all points of a class [S0, §5.1]; ``graph=KNN(k, within_class=True)`` joins near ones only.

    Parameters
    ----------
    graph
        ... With labels, ``"class"`` joins all points of a class, and ``KNN(k, within_class=True)`` the nearest ones among
        them; ``fit`` then needs y.

    Attributes
    ----------
    classes_ : ndarray
        The class labels, if the graph uses classes.
    graph_ : NeighbourGraph
        The neighbour graph, which other estimators accept as ``graph=``. Absent if no neighbours were searched, as with
        ``graph="class"`` and ``"all"``.
    """

    n_neighbors: Count | None = None
    graph: Graph = None
    metric: Metric | None = None
    metric_params: dict[str, Any] | None = None
    unlabeled: Marker = None
    n_jobs: int | None = None
    verbose: Verbose = 0

    classes_: NDArray[Any] = attribute()
    graph_: NeighbourGraph = attribute()

    _input: ClassVar[Input] = replace(FeatureReducer._input, y=_labels_of_graph, blocks=_averages_by_landmarks)


def projection_graph(estimator: GraphProjection, points: Matrix, y: Classes | None) -> NeighbourGraph:
    """Return the neighbour graph of a projection; for the class graph, all pairs of a class with their distances.

    The graph is connected if the parameter ``disconnected=`` of the method says so. `projection_form` repairs it further if the
    form needs that.
    """
    if y is not None and by_class(estimator):
        return NeighbourGraph(_distances_on(class_pairs(y.codes), points))
    graph = as_graph(
        estimator.graph,
        points,
        n_neighbors=estimator.n_neighbors,
        codes=None if y is None or is_given(estimator.graph) else y.codes,
        n_jobs=estimator.n_jobs,
        metric=estimator.metric,
        metric_params=estimator.metric_params,
        names=("class",),
    )
    graph.warn_of_duplicates()
    policy = getattr(estimator, "disconnected", "keep")
    return graph if policy == "keep" else ensure_connected(graph, points, policy)[0]


def projection_form(policy: str, graph: NeighbourGraph, build: Callable[..., Form]) -> tuple[Form, NeighbourGraph]:
    """Return the form over a graph, and the graph, which is repaired by the policy if the form needs more than connectedness."""
    form = build(graph)
    if policy == "keep" or has(graph, form.needs):
        return form, graph
    graph, _ = ensure_one_closed_class(graph, policy)
    return build(graph), graph


def projection_weights(
    estimator: GraphProjection, points: Matrix, y: Classes | None, weights: str | Bindable | None
) -> PairWeights:
    """Return the weights of the graph's edges, of all pairs, along paths, or of the class graph if `weights` is None."""
    refuse_found_edges(estimator.graph, weights)
    if isinstance(estimator.graph, str) and estimator.graph == "all":
        return AllPairs(pair_affinity(points, weights or "heat", n_jobs=estimator.n_jobs))
    if y is not None and by_class(estimator) and weights is None:
        return ByClass(y)
    rule = as_weights(weights or "heat")
    paths = isinstance(rule, PathSimilarity) and rule.pairs == "all"
    if paths and by_class(estimator):
        raise GraphError('Path-based weights need a graph of neighbours: use KNN(k), not graph="class".')
    refuse_affinities(estimator.graph, rule, points)
    graph = projection_graph(estimator, points, y)
    return weights_on(graph, rule, points)


def by_class(estimator: GraphProjection) -> bool:
    """Return True if the graph joins all points of a class."""
    return isinstance(estimator.graph, str) and estimator.graph == "class"


def graph_attribute(graph: NeighbourGraph | None) -> dict[str, NeighbourGraph]:
    """Return ``graph_`` for the attributes of a fit, if neighbours were searched."""
    return {"graph_": graph} if graph is not None and graph.searched else {}


def _distances_on(pattern: Sparse, points: Matrix) -> Sparse:
    """Return the Euclidean distances on the edges of a pattern."""
    rows = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
    data = pair_distances(points, rows, pattern.indices)
    return sp.csr_array((data, pattern.indices, pattern.indptr), shape=pattern.shape)
