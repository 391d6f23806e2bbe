"""What projections over a graph share: the graph, its weights, and the class graph, which is the scatter within classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..._parameters import Count, Marker, Metric, Verbose, attribute
from ...data import Input, Sufficient
from ...data.y import ClassLabels
from ...errors import GraphError
from ...graphs import NeighbourGraph, as_graph, class_pairs, ensure_connected
from ...graphs.neighbours.accept import is_given
from ...graphs.neighbours.connect import ensure_one_closed_class, has
from ...graphs.weights.path_similarity import PathSimilarity
from ...graphs.weights.rules import as_weights, refuse_found_edges
from ...problem import Form
from ...problem.forms import AllPairs, ByClass, PairWeights, pair_affinity
from ...problem.forms.pair_weights import weights_on
from .contract import FeatureReducer, by_landmarks
from .graph_embedding import Graph, pair_distances, warn_of_duplicates


def _labels_of_graph(estimator: Any) -> ClassLabels | None:
    within = bool(getattr(estimator.graph, "within_class", False))
    return ClassLabels() if within or by_class(estimator) else None


#: The class graph with its own weights is the scatter within the classes: sums over the rows are all that it needs.
CLASS_AVERAGES: Sufficient = {"graph": "class", "weights": None, "kernel": None, "reduce": None}


def _averages_by_landmarks(estimator: Any) -> bool:
    return by_class(estimator) and getattr(estimator, "weights", "heat") is None and by_landmarks(estimator)


class GraphProjection(FeatureReducer):
    """Projective and kernel methods over a graph, which is never bridged, and may be the graph of the classes.

    ``graph="class"`` joins all points of a class [S0, §5.1]; ``graph=KNN(k, within_class=True)`` only near ones.

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
        The neighbour graph, which other estimators accept as ``graph=``. Absent if no neighbours were searched for, as with
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


def projection_graph(estimator: Any, points: Any, y: Any) -> NeighbourGraph:
    """Return the neighbour graph of a projection; for the class graph, all pairs of a class with their distances.

    It is made connected if the method has ``disconnected=`` and asks for that. `projection_form` does the rest.
    """
    if by_class(estimator):
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
    warn_of_duplicates(graph)
    policy = getattr(estimator, "disconnected", "keep")
    return graph if policy == "keep" else ensure_connected(graph, points, policy)[0]


def projection_form(policy: str, graph: NeighbourGraph, build: Callable[..., Form]) -> tuple[Form, NeighbourGraph]:
    """Return the form that is built of a graph, and the graph: repaired as the policy says if the form needs more than connections."""
    form = build(graph)
    if policy == "keep" or has(graph, form.needs):
        return form, graph
    graph, _ = ensure_one_closed_class(graph, policy)
    return build(graph), graph


def projection_weights(estimator: Any, points: Any, y: Any, weights: Any) -> PairWeights:
    """The affinity: of a graph's edges, of all pairs, along paths, or of the classes when no other weights were asked for."""
    refuse_found_edges(estimator.graph, weights)
    if isinstance(estimator.graph, str) and estimator.graph == "all":
        return AllPairs(pair_affinity(points, weights or "heat", n_jobs=estimator.n_jobs))
    if by_class(estimator) and weights is None:
        return ByClass(y)
    rule = as_weights(weights or "heat")
    paths = isinstance(rule, PathSimilarity) and rule.pairs == "all"
    if paths and by_class(estimator):
        raise GraphError('Path-based weights need a graph of neighbours: use KNN(k), not graph="class".')
    graph = projection_graph(estimator, points, y)
    return weights_on(graph, rule, points)


def by_class(estimator: Any) -> bool:
    """The graph joins all points of a class."""
    return isinstance(estimator.graph, str) and estimator.graph == "class"


def graph_attribute(graph: NeighbourGraph | None) -> dict[str, Any]:
    """``graph_``, where neighbours were searched for: it can then be reused."""
    return {"graph_": graph} if graph is not None and graph.searched else {}


def _distances_on(pattern: sp.csr_array, points: Any) -> sp.csr_array:
    """Euclidean distances on the edges of a pattern."""
    rows = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
    data = pair_distances(points, rows, pattern.indices)
    return sp.csr_array((data, pattern.indices, pattern.indptr), shape=pattern.shape)
