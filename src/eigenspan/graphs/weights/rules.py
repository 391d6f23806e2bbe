"""Edge weights: from the distances of a neighbour graph to affinities, for training points and for new ones.

A *weight rule* such as `Heat` or `LocalScaling` is a class with parameters. `weight_rule` registers it under the name by which
``weights=`` accepts it and declares what its weights depend on. The types of parameters, the ranges in docstrings, the error messages and
the checks of methods derive from this declaration. ``rule.bind(graph, X)`` fits a rule to a graph; the bound rule weighs edges among the
training points and edges from new points.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, ClassVar, Literal, Protocol, TypeAlias, TypeVar

import numpy as np
import scipy.sparse as sp

from ..._checks import Spec, real_numbers, refuse_unless_sizes
from ..._compat import HasMethods
from ..._diagnostics import note, stage
from ..._documented import documented
from ..._parameters import Count, Positive, TypeName, literal_set, parameter
from ..._types import Array, Index, Matrix, Sparse
from ...errors import GraphError, ParameterError
from ...numerics.nearest.angles import unit_rows
from ...numerics.nearest.metric import Metric, drawn_rows, median_width, point_distances
from ...numerics.nearest.neighbour_lists import without_self
from ..neighbours.graph import KNN, NeighbourGraph

#: Edges whose lengths are compared with distances of points, and the share of the largest distance up to which they are equal.
_SAMPLE, _SAME = 64, 1e-3
#: Rank correlation with distances below which numbers on edges cannot be lengths: four deviations from unrelated ones.
_OPPOSITE = -0.5

#: What the weight of an edge depends on: its own length, the lengths of all edges, the coordinates of its ends, the number that a given
#: graph has for it (which is the weight), or the paths through the graph.
Dependency = Literal["length", "lengths", "coordinates", "given", "paths"]


# ---------------------------------------------------------------------- protocols
class BoundRule(Protocol):
    """A weight rule that was fitted to a graph."""

    def weigh(self, distances: Sparse, X: Matrix | None) -> Sparse:
        """Weigh edges from the points X to training points; X is None for edges among the training points."""


class Bindable(Protocol):
    """An object that ``weights=`` accepts: a weight rule, or the user's own object."""

    def bind(self, graph: NeighbourGraph, X: Matrix | None) -> BoundRule: ...


# ---------------------------------------------------------------------- declaration and registry
#: Registered weight rules by name.
RULES: dict[str, type[WeightRule]] = {}


@dataclass(frozen=True, eq=False)
class PairScales:
    """Weights of all pairs of points: ``f(d / √(σ_i σ_j))^power``.

    Attributes
    ----------
    sigma : ndarray of shape (n,)
    radial : WeightRule or None
        f; None means ``exp(−r²)``.
    power : float
    """

    sigma: Array
    radial: WeightRule | None = None
    power: float = 1.0


class WeightRule(Spec):
    """Base class of weight rules.

    A rule whose weights depend on the length of the edge alone defines `of_lengths`. Another one overrides `bind`, which returns an object
    with ``weigh(distances, X)``, and `of_pairs` if it can weigh all pairs of points without a graph.
    """

    _refusal = GraphError
    _name: ClassVar[str | None] = None
    _dependency: ClassVar[Dependency] = "length"
    _all_pairs: ClassVar[bool] = False

    @property
    def dependency(self) -> Dependency | None:
        """Quantity on which the weights depend; None if it is not known."""
        return self._dependency

    def of_lengths(self, lengths: Array) -> Array:
        """Return the weights of edges of these lengths."""
        raise NotImplementedError

    def bind(self, graph: NeighbourGraph, X: Matrix | None) -> BoundRule:
        """Fit the rule to a graph over the points X (None: only distances are known)."""
        return self

    def weigh(self, distances: Sparse, X: Matrix | None) -> Sparse:
        return _with_data(distances, self.of_lengths(distances.data))

    def of_pairs(self, points: Array, groups: Sequence[Index], n_jobs: int | None) -> PairScales:
        """Return the weights of all pairs of points within each group."""
        if not self._all_pairs:
            able = ", ".join(rule.__name__ for rule in RULES.values() if rule._all_pairs)
            raise GraphError(
                f"weights={self!r} cannot weigh all pairs of points: use {able} or Powered of one of them."
            )
        return PairScales(np.ones(points.shape[0]), self)


Rule = TypeVar("Rule", bound=type[WeightRule])


def weight_rule(name: str, *, dependency: Dependency = "length", all_pairs: bool = False) -> Callable[[Rule], Rule]:
    """Class decorator: register a weight rule.

    Parameters
    ----------
    name : str
        The name by which ``weights=`` accepts the rule with its default parameters.
    dependency : {"length", "lengths", "coordinates", "given", "paths"}
        What the weight of an edge depends on.
    all_pairs : bool
        Whether the rule can weigh all pairs of points, for ``graph="all"``.
    """

    def register(cls: Rule) -> Rule:
        if name in RULES:
            raise ParameterError(
                f"The name {name!r} belongs to {RULES[name].__name__}: choose another for {cls.__name__}."
            )
        cls._name, cls._dependency, cls._all_pairs = name, dependency, all_pairs
        RULES[name] = cls
        return documented(cls)

    return register


def rule_names(*without: Dependency) -> list[str]:
    """Return the names of the rules, except for those with one of these dependencies."""
    return [name for name, rule in RULES.items() if rule._dependency not in without]


def pair_rule_names() -> list[str]:
    """Return the names of the rules that can weigh all pairs of points."""
    return [name for name, rule in RULES.items() if rule._all_pairs]


class _RuleNames(TypeName):
    """Metadata of ``weights=``: names of a method's own, those that `names` returns, and specifications."""

    def __init__(self, names: Callable[[], list[str]], own: Sequence[str] = ()) -> None:
        super().__init__(lambda: literal_set([*own, *names()]), "weight specification")


_without_paths, _computed = partial(rule_names, "paths"), partial(rule_names, "paths", "given")
#: Types of ``weights=``: of edges, of the edges of a graph that the method computes itself, of projections, of projections
#: that may also reconstruct points from their neighbours, and of neighbours or all pairs within a class.
Weights: TypeAlias = Annotated[str | Bindable, str, HasMethods("bind"), _RuleNames(_without_paths)]
ComputedWeights: TypeAlias = Annotated[str | Bindable, str, HasMethods("bind"), _RuleNames(_computed)]
ProjectionWeights: TypeAlias = Annotated[str | Bindable, str, HasMethods("bind"), _RuleNames(rule_names)]
NeighbourWeights: TypeAlias = Annotated[
    str | Bindable, str, HasMethods("bind"), _RuleNames(rule_names, ["barycentric"])
]
ClassWeights: TypeAlias = Annotated[
    str | Bindable, str, HasMethods("bind"), _RuleNames(pair_rule_names, ["neighbours"])
]


# ---------------------------------------------------------------------- rules
@weight_rule("binary")
class Binary(WeightRule):
    """Weight 1 on every edge.

    Examples
    --------
    >>> from eigenspan import Binary, LaplacianEigenmaps
    >>> LaplacianEigenmaps(weights=Binary()).weights  # or weights="binary"
    Binary()
    """

    def of_lengths(self, lengths: Array) -> Array:
        return np.ones(lengths.size)


@weight_rule("heat", all_pairs=True)
class Heat(WeightRule):
    """Heat kernel ``exp(−d²/σ²)``.

    Parameters
    ----------
    sigma
        Width. None means half the median distance among at most 1000 points, drawn at random if there are more; for a given
        graph whose lengths are not the distances of the points, it means the median of these lengths.

    Examples
    --------
    >>> from eigenspan import LPP, Heat
    >>> LPP(weights=Heat(2.0)).weights.sigma
    2.0

    References
    ----------
    Belkin & Niyogi (2003), Laplacian eigenmaps; Kokiopoulou, Chen & Saad (2011), §8.6, for the width.
    """

    sigma: Positive | None = parameter(default=None, kw_only=False)

    def bind(self, graph: NeighbourGraph, X: Matrix | None) -> Heat:
        if self.sigma is None:
            metric = graph.finder.metric or "euclidean"  # the width must be in the units of the edges
            if X is not None and _are_distances(graph.distances, X, metric):
                width = median_width(X, metric=metric)
            else:
                width = graph.finder.width or float(np.median(graph.distances.data))
            if not width > 0:
                raise GraphError("The median edge of the graph has length zero: give Heat(sigma=...).")
        else:
            width = float(self.sigma)
        note(sigma=width)
        return Heat(width)

    def of_lengths(self, lengths: Array) -> Array:
        assert self.sigma is not None
        with np.errstate(over="ignore"):  # a square that overflows has the weight zero
            return np.exp(-((lengths / self.sigma) ** 2))

    def of_pairs(self, points: Array, groups: Sequence[Index], n_jobs: int | None) -> PairScales:
        return PairScales(np.full(points.shape[0], median_width(points) if self.sigma is None else float(self.sigma)))


@weight_rule("local", dependency="lengths", all_pairs=True)
class LocalScaling(WeightRule):
    """Self-tuning heat kernel ``exp(−d²/(σ_i σ_j))``, σ_i the distance from i to its k-th neighbour.

    Parameters
    ----------
    k
        Number of the neighbour whose distance sets the scale of a point; the last one if the point has fewer.

    Examples
    --------
    >>> from eigenspan import LPP, LocalScaling
    >>> LPP(weights=LocalScaling(5)).weights.k
    5

    References
    ----------
    Zelnik-Manor & Perona (2004), Self-tuning spectral clustering; Chatpatanasiri & Kijsirikul (2009), eq. 7.
    """

    k: Count = parameter(default=7, kw_only=False)

    def bind(self, graph: NeighbourGraph, X: Matrix | None) -> _BoundLocalScaling:
        lengths = graph.distances.data
        if not np.any(lengths > 0):
            raise GraphError("All neighbouring points coincide: there is no distance to scale by.")
        floor = float(lengths[lengths > 0].min())
        k = min(
            self.k, graph.finder.n_neighbors or self.k
        )  # longer edges are bridges, or in the lists of other points only
        return _BoundLocalScaling(k, floor, np.maximum(_kth_distance(graph.distances, k), floor))

    def of_pairs(self, points: Array, groups: Sequence[Index], n_jobs: int | None) -> PairScales:
        sigma = np.zeros(points.shape[0])
        for group in groups:
            if group.size > 1:
                k = min(self.k, group.size - 1)
                near = KNN(k, n_jobs=n_jobs).build(points[group]).distances
                sigma[group] = np.maximum.reduceat(near.data, near.indptr[:-1])
        if not np.any(sigma > 0) and max(group.size for group in groups) > 1:
            raise GraphError("All neighbouring points coincide: there is no distance to scale affinities by.")
        return PairScales(np.maximum(sigma, sigma[sigma > 0].min(initial=np.inf) if sigma.any() else 1.0))


@dataclass(frozen=True, eq=False)
class _BoundLocalScaling:
    k: int
    floor: float
    sigma: Array

    def weigh(self, distances: Sparse, X: Matrix | None) -> Sparse:
        own = self.sigma if X is None else np.maximum(_kth_distance(distances, self.k), self.floor)
        rows = np.repeat(np.arange(distances.shape[0]), np.diff(distances.indptr))
        return _with_data(distances, np.exp(-(distances.data**2) / (own[rows] * self.sigma[distances.indices])))


@weight_rule("cosine", dependency="coordinates")
class Cosine(WeightRule):
    """Cosine of the angle between two points, never below zero.

    Examples
    --------
    >>> from eigenspan import KNN, Cosine, LaplacianEigenmaps
    >>> LaplacianEigenmaps(graph=KNN(10, metric="cosine"), weights=Cosine()).weights  # or weights="cosine"
    Cosine()
    """

    def bind(self, graph: NeighbourGraph, X: Matrix | None) -> _BoundCosine:
        assert X is not None
        return _BoundCosine(X)


@dataclass(frozen=True, eq=False)
class _BoundCosine:
    points: Matrix

    def weigh(self, distances: Sparse, X: Matrix | None) -> Sparse:
        X = self.points if X is None else X
        X = sp.csr_array(X) if sp.issparse(self.points) and not sp.issparse(X) else X
        A, B = unit_rows(X), unit_rows(self.points)
        rows = np.repeat(np.arange(distances.shape[0]), np.diff(distances.indptr))
        if sp.issparse(A):
            products = np.asarray(A[rows].multiply(B[distances.indices]).sum(axis=1)).ravel()
        else:
            products = np.einsum("ij,ij->i", A[rows], B[distances.indices])
        return _with_data(distances, np.maximum(products, 0.0))


@weight_rule("precomputed", dependency="given")
class Given(WeightRule):
    """The numbers on the edges of a given graph, used as weights.

    New points given as rows of affinities have their own weights. If new points are given by coordinates, all edges to their neighbours
    have the weight one.
    """

    def bind(self, graph: NeighbourGraph, X: Matrix | None) -> _BoundGiven:
        return _BoundGiven(coordinates=X is not None)


@dataclass(frozen=True, eq=False)
class _BoundGiven:
    coordinates: bool

    def weigh(self, distances: Sparse, X: Matrix | None) -> Sparse:
        return _with_data(distances, np.ones(distances.nnz)) if self.coordinates and X is not None else distances


@documented
class Powered(WeightRule):
    """Hadamard power of other weights, norm kept: ``W∘ᵅ · ‖W‖_F/‖W∘ᵅ‖_F``.

    Parameters
    ----------
    weights
        The weights to raise to a power.
    alpha
        The exponent.

    Examples
    --------
    >>> from eigenspan import LPP, Powered
    >>> LPP(weights=Powered("heat", alpha=4)).weights.alpha
    4

    References
    ----------
    Chatpatanasiri & Kijsirikul (2009), A unified semi-supervised dimensionality reduction framework, eq. 9.
    """

    weights: Weights = parameter(default="local", kw_only=False)
    alpha: Positive = parameter(default=2.0, kw_only=False)

    @property
    def dependency(self) -> Dependency | None:
        """Dependency of the weights, but at least on all lengths: the norm of the powers depends on all edges."""
        found = dependency_of(self.weights)
        return "lengths" if found == "length" else found

    def bind(self, graph: NeighbourGraph, X: Matrix | None) -> _BoundPower:
        rule = bound(self.weights, graph, X)
        W = _weighed(rule, graph.undirected(), None)
        before, after = np.linalg.norm(W.data), np.linalg.norm(W.data**self.alpha)
        if after == 0 < before:
            raise GraphError(f"Powered(alpha={self.alpha:g}) makes every weight zero: use a smaller alpha.")
        return _BoundPower(rule, self.alpha, float(before / max(after, np.finfo(float).tiny)))

    def of_pairs(self, points: Array, groups: Sequence[Index], n_jobs: int | None) -> PairScales:
        scales = scales_of_pairs(self.weights, points, groups, n_jobs)
        return replace(scales, power=scales.power * self.alpha)


@dataclass(frozen=True, eq=False)
class _BoundPower:
    rule: BoundRule
    alpha: float
    factor: float

    def weigh(self, distances: Sparse, X: Matrix | None) -> Sparse:
        W = self.rule.weigh(distances, X)
        return _with_data(W, self.factor * W.data**self.alpha)


# ---------------------------------------------------------------------- what weights= accepts
def as_weights(weights: str | Bindable) -> Bindable:
    """Return the weight rule of a name, or the object itself after a check of its parameters."""
    if isinstance(weights, str):
        if weights not in RULES:
            raise GraphError(
                f"weights={weights!r} is unknown. Use one of {', '.join(map(repr, RULES))}, or an object such as Heat(sigma=1.0)."
            )
        return RULES[weights]()
    if isinstance(weights, type) or not hasattr(weights, "bind"):
        raise GraphError(
            f"weights={weights!r:.80} is neither a name nor a weight specification such as Heat(sigma=1.0)."
        )
    if isinstance(weights, Spec):
        weights.check()
    return weights


def dependency_of(weights: str | Bindable | None) -> Dependency | None:
    """Return what the weights depend on; None for unknown names and for objects that are not weight rules."""
    rule = RULES[weights]() if isinstance(weights, str) and weights in RULES else weights
    return rule.dependency if isinstance(rule, WeightRule) else None


def takes_given(weights: str | Bindable | None) -> bool:
    """Return whether the weights are the numbers on the edges, or computed from these."""
    inner = getattr(weights, "weights", None)  # of Powered and PathSimilarity
    if inner is not None:
        return takes_given(inner)
    return dependency_of(weights) == "given"


def by_lengths(weights: str | Bindable | None) -> bool:
    """Return whether the weights can be computed from the numbers on the edges, without coordinates."""
    return dependency_of(weights) in ("length", "lengths", "given")


def refuse_found_edges(graph: object, weights: str | Bindable | None) -> None:
    """Raise GraphError for precomputed weights on a graph that the method computes: its edges hold distances."""
    computed = graph is None or hasattr(graph, "build") or (isinstance(graph, str) and graph in ("all", "class"))
    if computed and takes_given(weights):
        raise GraphError(
            'weights="precomputed" takes the numbers on the edges as weights, but the edges of this graph are found here and hold '
            "distances: pass graph=W, a sparse matrix of weights."
        )


def refuse_affinities(graph: object, weights: str | Bindable, X: Matrix) -> None:
    """Raise GraphError if the numbers of a given graph are to be lengths, but decrease with the distances of the points X."""
    unused = takes_given(weights) or isinstance(as_weights(weights), Binary) or isinstance(graph, NeighbourGraph)
    if unused or not sp.issparse(graph) or not (isinstance(X, np.ndarray) or sp.issparse(X)):
        return
    edges = without_self(sp.csr_array(graph))
    numbers, distances = _sampled_edges(edges, X, "euclidean")
    ranks = [np.argsort(np.argsort(values)) for values in (numbers, distances)]
    if np.ptp(numbers) and (rho := float(np.asarray(np.corrcoef(ranks))[0, 1])) < _OPPOSITE:
        raise GraphError(
            f"The numbers of graph= decrease with the distances of the points (rank correlation {rho:.2f} over {numbers.size} edges), so "
            'they are affinities, but they would be used as lengths. Pass weights="precomputed" to use them as weights. If they are '
            "lengths, pass eigenspan.graphs.NeighbourGraph(graph)."
        )


def refuse_given(name: str, weights: str | Bindable) -> None:
    """Raise GraphError for precomputed weights in a method of this name, which takes no graph."""
    if takes_given(weights):
        *most, last = (f'"{each}"' for each in rule_names("given", "paths"))
        raise GraphError(
            f'weights="precomputed" has no place in {name}: the pairs within and across classes are found here and hold distances. Use '
            f"{', '.join(most)} or {last}."
        )


# ---------------------------------------------------------------------- weighing
def bound(weights: str | Bindable, graph: NeighbourGraph, X: Matrix | None) -> BoundRule:
    """Fit the weights to a graph over the points X. X is None where only distances are known."""
    rule = as_weights(weights)
    if X is None and dependency_of(rule) == "coordinates":
        able = ", ".join(f'"{name}"' for name in rule_names("coordinates", "given", "paths"))
        raise GraphError(f"weights={weights!r:.80} needs coordinates; with precomputed distances use one of {able}.")
    return rule.bind(graph, X)


def scales_of_pairs(
    weights: str | Bindable, points: Array, groups: Sequence[Index], n_jobs: int | None = None
) -> PairScales:
    """Return the weights of all pairs of points within each group, for rules that can weigh all pairs."""
    rule = as_weights(weights)
    if not isinstance(rule, WeightRule):
        raise GraphError(f"weights={rule!r:.80} cannot weigh all pairs of points: pass a neighbour graph as graph=.")
    return rule.of_pairs(points, groups, n_jobs)


@dataclass(frozen=True, eq=False)
class Affinity:
    """Symmetric weights W over the training points, and the rule that computed them.

    Attributes
    ----------
    W : csr_array of shape (n, n)
    rule : object with ``weigh(distances, X)``
        Turns sparse distances (m, n) from new points X to training points into weights.
    given : bool
        The numbers on the edges were weights from the start, not distances.
    """

    W: Sparse
    rule: BoundRule
    given: bool = False

    def relate(self, distances: Sparse, X: Matrix | None = None) -> Sparse:
        """Return the weights of edges from new points to training points."""
        return _weighed(self.rule, distances, X)


def affinity(graph: NeighbourGraph, weights: str | Bindable, X: Matrix | None) -> Affinity:
    """Weigh the undirected edges of a graph. X is None where only distances are known."""
    with stage("weights"):
        rule = bound(weights, graph, X)
        W = _weighed(rule, graph.undirected(), None)
        if W.nnz == 0:
            raise GraphError(f"The graph of the {W.shape[0]} points has no edges to weigh.")
        if W.data.max() <= 0:
            raise GraphError("All edge weights vanish: the kernel width is far too small for these distances.")
        return Affinity(W, rule, takes_given(weights))


def _weighed(rule: BoundRule, distances: Sparse, X: Matrix | None) -> Sparse:
    """Return the weights of a rule after checks: users may pass rules of their own."""
    W = rule.weigh(distances, X)
    if not sp.issparse(W) or W.shape != distances.shape:
        found = f"shape {W.shape}" if sp.issparse(W) else f"a {type(W).__name__}"
        raise GraphError(
            f"The weights {rule!r:.80} must turn sparse distances of shape {distances.shape} into as many weights; they returned {found}."
        )
    weights = real_numbers(W.data, "Edge weights", GraphError)
    refuse_unless_sizes(weights, "Edge weights", "A weight is a similarity: zero or more.", GraphError)
    if not np.all(np.isfinite(weights)):
        raise GraphError(f"{int(np.sum(np.isinf(weights)))} of {weights.size} edge weights are infinite.")
    return sp.csr_array(W)


def _with_data(G: Sparse, data: Array) -> Sparse:
    return sp.csr_array((data, G.indices, G.indptr), shape=G.shape)


def _kth_distance(D: Sparse, k: int) -> Array:
    """Return the k-th smallest entry of each row (the largest if it has fewer, zero if it has none)."""
    counts = np.diff(D.indptr)
    rows = np.repeat(np.arange(D.shape[0]), counts)
    order = np.lexsort((D.data, rows))
    last = D.indptr[:-1] + np.minimum(k, np.maximum(counts, 1)) - 1
    return np.where(counts > 0, D.data[order][np.minimum(last, max(D.nnz - 1, 0))] if D.nnz else 0.0, 0.0)


def _are_distances(lengths: Sparse | None, X: Matrix, metric: str | Metric | Callable[[Array, Array], float]) -> bool:
    """Return whether a sample of the lengths are distances of the points: a graph may come from other features or units."""
    if lengths is None or lengths.nnz == 0:
        return True
    numbers, found = _sampled_edges(lengths, X, metric)
    return bool(np.all(np.abs(found - numbers) <= _SAME * found.max(initial=0.0)))


def _sampled_edges(
    edges: Sparse, X: Matrix, metric: str | Metric | Callable[[Array, Array], float]
) -> tuple[Array, Array]:
    """Return the numbers on some of the edges, and the distances of the points that these join."""
    some = drawn_rows(edges.nnz, _SAMPLE)
    rows = np.searchsorted(edges.indptr, some, side="right") - 1
    ends, places = np.unique(np.concatenate([rows, edges.indices[some]]), return_inverse=True)
    return edges.data[some], point_distances(X[ends], metric=metric)[tuple(places.reshape(2, -1))]
