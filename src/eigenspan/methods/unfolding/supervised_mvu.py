"""Maximum variance unfolding with neighbours within classes (`SupervisedMVU`), or class by class at a distance (`SMVU1`)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from numbers import Real
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist

from ..._compat import Interval
from ..._parameters import Marker, attribute
from ..._types import Array, Index
from ...data import Classes, Input, Sample
from ...data.y import ClassLabels
from ...errors import DisconnectedError, InputError, LabelError
from ...graphs import KNN, NeighbourGraph, as_graph, class_indicator
from ...graphs.neighbours.connect import _bridge
from ...numerics.nearest.neighbour_lists import canonical
from ...numerics.paths.csgraph import dijkstra
from ...problem import Fitted
from ..base.graph_embedding import Reduction, Sampled, fit_reduced
from ..base.table import known_as, method
from .edges import pair_lengths, with_edges
from .equations import strings_task
from .task import Bounds, Held, Task
from .unfolding_base import BoundedUnfolding, Constraint, n_strings, string_graph, tied, unfolded

#: Which point stands for a class.
Representatives = Literal["mean", "medoid"]


# ---------------------------------------------------------------------- neighbours within classes
@method("unfolding", "max tr K, neighbours within classes", "distances of neighbours", "as MVU", "S4 §6.1")
@known_as(
    "Supervised maximum variance unfolding",
    "S-MVU; supervised MVU; supervised SDE; supervised semidefinite embedding; MVU with neighbours within classes",
)
class SupervisedMVU(BoundedUnfolding):
    """Maximum variance unfolding with neighbours within classes.

    .. math:: \\max_{K \\succeq 0,\\ K1 = 0} \\operatorname{tr} K \\quad\\text{s.t.}\\quad
              K_{ii} - 2K_{ij} + K_{jj} \\le \\lVert x_i - x_j \\rVert^2 \\ \\text{ for neighbours of one class, and bridges}

    [S4, §6.1]: C = I, T = I, b = squared distances. Classes unfold one by one, and strings across their borders do not hold them
    together. As it stands in [S4] the problem has no optimum, because classes that nothing joins drift apart without end: they are
    bridged here. An unlabelled point is joined to its nearest neighbours of any class. With one class this is `MVU`. Equal rows with
    different labels get places of their own; ``transform``, which sees x alone, returns the mean of these, and a warning counts them.

    Cost: as `MVU`, and for ``bridge="representatives"`` c² pairs of c classes.

    Parameters
    ----------
    n_neighbors
        Number of neighbours of every point within its class (all others of a smaller class). None means 8.
    graph
        ... Edges between points of different classes are removed.
    constraint
        ... Or ``"equality"``: v = d, as in `MVU`.
    bridge
        How the classes are connected: by strings between all pairs of representatives, the points nearest to the class
        means [S4, eq. 51], which preserve the layout of the classes; or by the c − 1 shortest edges between classes, which
        leave it free.

    Attributes
    ----------
    classes_ : ndarray
        The class labels.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from eigenspan import SupervisedMVU
    >>> X, y = load_iris(return_X_y=True)
    >>> SupervisedMVU(2, n_neighbors=6).fit(X, y).embedding_.shape
    (150, 2)

    References
    ----------
    Zhang, Yan, Liu, Cheng, Chen & Ma (2005), Supervised semidefinite embedding for image manifolds; Liu, Bai, Yan, Zhang, Chen & Ma
    (2005), Supervised semi-definite embedding for email data cleaning and visualization.
    """

    bridge: Literal["representatives", "shortest"] = "representatives"
    unlabeled: Marker = -1

    classes_: NDArray[Any] = attribute()

    _input: ClassVar[Input] = replace(BoundedUnfolding._input, pairs=(), y=ClassLabels(at_least=1))

    def _reductions(self) -> tuple[Reduction, ...]:
        sampled = Sampled(self.landmarks, self.graph, self.random_state)
        return (sampled, *tied(self, self._bridged))

    def _bridged(self, sample: Sample) -> NeighbourGraph:
        """Return the graph within classes, with bridges between them."""
        sample.x.refuse_one_place()
        bridged = with_representatives if self.bridge == "representatives" else with_shortest
        return bridged(self._within(sample), sample)

    def _within(self, sample: Sample) -> NeighbourGraph:
        """Return the graph of neighbours of the same class, and of those of unlabelled points."""
        X, codes, jobs = sample.x.values, sample.y.codes, self.n_jobs
        metric: dict[str, Any] = {"metric": self.metric, "metric_params": self.metric_params}
        if self.graph is not None:
            graph = as_graph(self.graph, X, n_neighbors=self.n_neighbors, codes=codes, n_jobs=jobs, **metric)
            D = graph.distances.tocoo()
            kept = (codes[D.row] == codes[D.col]) | (codes[D.row] < 0) | (codes[D.col] < 0)
            return replace(graph, distances=canonical(D.data[kept], D.row[kept], D.col[kept], graph.n))
        metric["metric"] = self.metric or "euclidean"
        graph = as_graph(KNN(n_strings(self, sample), within_class=True, n_jobs=jobs, **metric), X, codes=codes)
        if np.all(codes >= 0):
            return graph
        D, E = graph.distances.tocoo(), graph.finder.among().tocoo()
        others = codes[E.row] < 0
        values, ends = np.concatenate([D.data, E.data[others]]), np.concatenate([D.row, E.row[others]])
        return replace(graph, distances=canonical(values, ends, np.concatenate([D.col, E.col[others]]), graph.n))

    def _task(self, graph: NeighbourGraph, sample: Sample) -> Task:
        return strings_task(self, Held.of(graph.undirected()), sample.x.points)


def with_representatives(graph: NeighbourGraph, sample: Sample) -> NeighbourGraph:
    """Return the graph with edges between the representatives of all classes."""
    ends = representatives(sample.x.values, sample.y.codes)
    pairs = ends[np.column_stack(np.triu_indices(ends.size, 1))]
    return with_edges(graph, pairs, pair_lengths(graph, sample.x, pairs))


def with_shortest(graph: NeighbourGraph, sample: Sample) -> NeighbourGraph:
    """Return the graph with the shortest edges that connect the classes."""
    codes = sample.y.codes
    ends = np.flatnonzero(codes >= 0)
    _, first, own = np.unique(codes[ends], return_index=True, return_inverse=True)
    D = graph.distances.tocoo()
    i, j = np.concatenate([D.row, ends]), np.concatenate([D.col, ends[first][own]])
    classes = connected_components(sp.csr_array((np.ones(i.size), (i, j)), shape=D.shape), directed=False)[1]
    return _bridge(graph, sample.x.values, classes, False)[0]


# ---------------------------------------------------------------------- other objectives


@method(
    "unfolding",
    "max tr K of each class, centred",
    "distances of neighbours and classes",
    "n³ + (nk)³ per step",
    "S4 eq. 55",
)
@known_as(
    "Supervised maximum variance unfolding class by class",
    "supervised MVU of each class; class-wise maximum variance unfolding",
)
class SMVU1(BoundedUnfolding):
    """Maximum variance unfolding class by class, the classes held at a distance.

    .. math:: \\max_{K \\succeq 0,\\ K1 = 0} \\sum_c \\frac{1}{2n_c} \\sum_{i,j \\in c} v_{ij} - \\nu \\lVert t \\rVert^2
              \\quad\\text{s.t.}\\quad v_{ij} \\le \\lVert x_i - x_j \\rVert^2 + t_{ij} \\ \\text{ for neighbours},\\quad
              v_{rs} = \\alpha^2 \\lVert x_r - x_s \\rVert^2 + t_{rs} \\ \\text{ for representatives}

    with :math:`v_{ij} = K_{ii} - 2K_{ij} + K_{jj}` [S4, eqs. 51–55]: C centres each class by itself, T = I, b = squared distances, times
    α² for the equations of the representatives, which are the points nearest to the class means. Their pairs are those of successive
    classes and of each class with the last (eq. 55 counts one too far): triangles on a common corner, which leave K an interior. The
    objective does not see how far classes are from each other; these pairs and the neighbours across borders settle it.

    Neighbours tie classes together too, and α times the distance is often more than their strings allow: therefore t, at a price.
    ``constraint="inequality"`` sets t = 0 as in [S4], and an α that contradicts the neighbours is refused, with the classes it fails
    for. Unlabelled points unfold like one more class, without a representative. With one class this is `MVU`.

    Cost: dense, O(n³ + m³) a step for m pairs, 20 or so steps: up to a thousand points; ``landmarks=500`` for more.

    Parameters
    ----------
    n_neighbors
        Number of neighbours of every point, of any class. None means 8, or all other points if there are fewer.
    alpha
        Factor by which the distances between representatives are increased; more than 1.
    representatives
        The point of a class that is nearest to its mean, or the one with the smallest sum of distances to the others of the
        class.
    constraint
        ... The equations of the representatives are exact except with "slack".

    Attributes
    ----------
    classes_ : ndarray
        The class labels.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from eigenspan import SMVU1
    >>> X, y = make_blobs([15, 15], centers=[[0, 0, 0], [12, 0, 0]], random_state=0)
    >>> smvu = SMVU1(2, n_neighbors=4, alpha=2, constraint="inequality").fit(X, y)
    >>> smvu.certificate_.violation < 1e-3
    True

    References
    ----------
    Wei, Chen & Song (2016), Developments of two supervised maximum variance unfolding algorithms for process classification.
    """

    representatives: Representatives = "mean"
    alpha: Annotated[float, Interval(Real, 1, None, closed="neither")] = 1.2
    constraint: Constraint = "slack"
    unlabeled: Marker = -1

    classes_: NDArray[Any] = attribute()

    _input: ClassVar[Input] = replace(BoundedUnfolding._input, pairs=(), y=ClassLabels(at_least=1))

    def _fit(self, sample: Sample) -> Fitted:
        sampled = Sampled(self.landmarks, self.graph, self.random_state)
        return fit_reduced(sample, (sampled,), self._fit_linked)

    def _fit_linked(self, sample: Sample) -> Fitted:
        """Add the pairs of representatives to the graph, and unfold it."""
        graph = string_graph(self, sample)
        pairs = fan(representatives(sample.x.values, sample.y.codes, self.representatives))
        lengths = self.alpha * pair_lengths(graph, sample.x, pairs)
        if self.constraint != "slack":
            check_alpha(self.alpha, graph, pairs, lengths, sample.y)
        n, D = graph.n, graph.undirected().tocoo()
        new = ~np.isin(pairs[:, 0] * n + pairs[:, 1], D.row.astype(np.int64) * n + D.col)
        linked = with_edges(graph, pairs[new], lengths[new])
        state = partial(self._task_of, sample.places[pairs], lengths)
        return fit_reduced(sample, tied(self, lambda _: linked), lambda some: unfolded(self, some, state))

    def _task_of(self, links: Index, lengths: Array, graph: NeighbourGraph, sample: Sample) -> Task:
        """Return the task in which pairs of representatives, given as rows of X, have these lengths."""
        bounds, held = Bounds.of(self), Held.of(graph.undirected())
        bounds.check_memory(held, "SMVU1")
        C = class_centring(sample.y.codes)
        if np.abs(held.groups.sum(C).diagonal()).max() < 1e-9:
            raise LabelError(f"No class has two different points among the {graph.n}: there is nothing to unfold.")
        if not np.isin(links, sample.places).all():
            raise DisconnectedError('disconnected="largest" leaves out representatives of classes: use "connect".')
        order = np.argsort(sample.places)
        nodes = order[np.searchsorted(sample.places, links, sorter=order)]
        held, terms = with_equations(held, nodes, lengths)
        wrong = f'alpha={self.alpha:g} contradicts the neighbours. Use a smaller alpha, fewer neighbours, or constraint="slack".'
        return bounds.task(held, sample.x.points, "variance within classes", wrong, cost=C, **terms)


def fan(ends: Index) -> Index:
    """Return pairs of successive points, and of each with the last."""
    c = ends.size
    pairs = {(i, j) for i in range(c - 1) for j in (i + 1, c - 1)}
    return ends[np.array(sorted(pairs), dtype=np.intp).reshape(-1, 2)]


def with_equations(held: Held, links: Index, lengths: Array) -> tuple[Held, dict[str, Any]]:
    """Add equations that give pairs of nodes these lengths. Return the pairs, and the terms of the program that mark the equations.

    If the two nodes are neighbours, their upper bound stays as well.
    """
    n = held.n
    i, j = np.sort(held.groups.labels[links], axis=1).T
    apart = i != j  # classes whose representatives coincide
    keys = held.pairs[:, 0] * n + held.pairs[:, 1]
    where, first = np.unique(np.searchsorted(keys, (i * n + j)[apart]), return_index=True)
    wanted = lengths[apart][first] ** 2
    neighbours = where[held.bounds[where] != wanted]
    bounds, equal = held.bounds.copy(), np.zeros(held.bounds.size, dtype=bool)
    bounds[where], equal[where] = wanted, True
    return replace(held, bounds=bounds), {"equal": equal, "strings": (neighbours, held.bounds[neighbours])}


def check_alpha(alpha: float, graph: NeighbourGraph, pairs: Index, lengths: Array, y: Classes) -> None:
    """Refuse an equation that is longer than a path of edges between its ends."""
    starts, which = np.unique(pairs[:, 0], return_inverse=True)
    paths = dijkstra(graph.undirected(), indices=starts)[which, pairs[:, 1]] if starts.size else lengths
    short = np.flatnonzero(paths < lengths * (1 - 1e-9))
    if not short.size:
        return
    most = alpha * float(np.min(paths[short] / lengths[short]))
    names = y.names[y.codes[pairs[short]]]
    listed = "; ".join(
        f"{one} and {other}, to be {lengths[e]:.4g} apart on a string of {paths[e]:.4g}"
        for (one, other), e in zip(names[:3], short, strict=False)
    )
    raise InputError(
        f"alpha={alpha:g} contradicts the neighbours for {short.size} of {len(pairs)} pairs of classes ({listed}): no points "
        "are so far apart with such neighbours. "
        + (f"Use alpha < {most:.4g}, " if most > 1 + 1e-9 else "On a straight string no alpha will do: use ")
        + 'fewer neighbours, or constraint="slack".'
    )


def representatives(points: Array, codes: Index, how: str = "mean") -> Index:
    """Return the first point of each class nearest to its mean [S4, eq. 51, where min means argmin], or to all of its points."""
    chosen = []
    for c in np.unique(codes[codes >= 0]):
        members = np.flatnonzero(codes == c)
        own = points[members]
        far = np.sum((own - own.mean(axis=0)) ** 2, axis=1) if how == "mean" else cdist(own, own).sum(axis=1)
        chosen.append(members[np.argmin(far)])
    return np.array(chosen, dtype=np.intp)


def class_centring(codes: Index) -> sp.csr_array:
    """Return C with ⟨C, K⟩ = Σ_c tr(K_c) − 1ᵀK_c1/n_c: each class, and the unlabelled points, centred by itself. PSD."""
    G = class_indicator(np.where(codes < 0, codes.max() + 1, codes))
    return sp.csr_array(sp.eye_array(codes.size) - G @ G.T)
