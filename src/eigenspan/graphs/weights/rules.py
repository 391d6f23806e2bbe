"""Edge weights: from the distances of a neighbour graph to affinities, for training points and for new ones.

A specification (`Heat`, `LocalScaling`, …) is fitted to a graph and yields an `Affinity`, which knows the symmetric weights
W among the training points and can weigh the edges of new points the same way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..._checks import Spec, real_numbers, refuse_unless_sizes
from ..._diagnostics import note, stage
from ..._documented import documented
from ..._parameters import Count, Positive, Weights, parameter
from ...errors import GraphError
from ...numerics.nearest.angles import unit_rows
from ...numerics.nearest.metric import drawn_rows, median_width, point_distances
from ..neighbours.graph import NeighbourGraph

Array = NDArray[np.float64]

#: Edges whose lengths are compared with distances of points, and the share of the largest distance up to which they are equal.
_SAMPLE, _SAME = 64, 1e-3


class WeightRule(Protocol):
    """What turns the distances on edges into weights."""

    def weigh(self, distances: sp.csr_array, X: Any) -> sp.csr_array:
        """Of edges from the points X, or where X is None from the training points themselves, to the training points."""
        ...


@dataclass(frozen=True, eq=False)
class Affinity:
    """Symmetric weights W over the training points, and the rule that made them.

    Attributes
    ----------
    W : csr_array of shape (n, n)
    rule : object with ``weigh(distances, X)``
        Turns sparse distances (m, n) from new points X to training points into weights.
    given : bool
        The numbers on the edges were weights from the start, not distances.
    """

    W: sp.csr_array
    rule: WeightRule
    given: bool = False

    def relate(self, distances: sp.csr_array, X: Any = None) -> sp.csr_array:
        """Weights of the edges from new points to training points."""
        return _weighed(self.rule, distances, X)


class WeightSpec(Spec):
    """A specification of edge weights: ``bind(graph, X)`` fits it to a graph and returns the rule that weighs."""

    _refusal = GraphError

    def bind(self, graph: NeighbourGraph, X: Any) -> WeightRule:
        raise NotImplementedError


@documented
class Binary(WeightSpec):
    """Weight 1 on every edge.

    Examples
    --------
    >>> from eigenspan import Binary, LaplacianEigenmaps
    >>> LaplacianEigenmaps(weights=Binary()).weights  # or weights="binary"
    Binary()
    """

    def bind(self, graph: NeighbourGraph, X: Any) -> Binary:
        return self

    def weigh(self, distances: sp.csr_array, X: Any) -> sp.csr_array:
        return _with_data(distances, np.ones(distances.nnz))


@documented
class Heat(WeightSpec):
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

    def bind(self, graph: NeighbourGraph, X: Any) -> Heat:
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

    def weigh(self, distances: sp.csr_array, X: Any) -> sp.csr_array:
        with np.errstate(over="ignore"):  # so many widths away that the weight is zero
            return _with_data(distances, np.exp(-((distances.data / self.sigma) ** 2)))


@documented
class LocalScaling(WeightSpec):
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

    def bind(self, graph: NeighbourGraph, X: Any) -> _BoundLocalScaling:
        lengths = graph.distances.data
        if not np.any(lengths > 0):
            raise GraphError("All neighbouring points coincide: there is no distance to scale by.")
        floor = float(lengths[lengths > 0].min())
        k = min(self.k, graph.finder.n_neighbors or self.k)  # farther edges are bridges, or ends that others chose
        return _BoundLocalScaling(k, floor, np.maximum(_kth_distance(graph.distances, k), floor))


@dataclass(frozen=True, eq=False)
class _BoundLocalScaling:
    k: int
    floor: float
    sigma: Array

    def weigh(self, distances: sp.csr_array, X: Any) -> sp.csr_array:
        own = self.sigma if X is None else np.maximum(_kth_distance(distances, self.k), self.floor)
        rows = np.repeat(np.arange(distances.shape[0]), np.diff(distances.indptr))
        return _with_data(distances, np.exp(-(distances.data**2) / (own[rows] * self.sigma[distances.indices])))


@documented
class Cosine(WeightSpec):
    """Cosine of the angle between two points, never below zero.

    Examples
    --------
    >>> from eigenspan import KNN, Cosine, LaplacianEigenmaps
    >>> LaplacianEigenmaps(graph=KNN(10, metric="cosine"), weights=Cosine()).weights  # or weights="cosine"
    Cosine()
    """

    def bind(self, graph: NeighbourGraph, X: Any) -> _BoundCosine:
        if X is None:
            raise GraphError(
                'weights="cosine" needs coordinates; with precomputed distances use "heat", "local" or "binary".'
            )
        return _BoundCosine(X)


@dataclass(frozen=True, eq=False)
class _BoundCosine:
    points: Any

    def weigh(self, distances: sp.csr_array, X: Any) -> sp.csr_array:
        X = self.points if X is None else X
        X = sp.csr_array(X) if sp.issparse(self.points) and not sp.issparse(X) else X
        A, B = unit_rows(X), unit_rows(self.points)
        rows = np.repeat(np.arange(distances.shape[0]), np.diff(distances.indptr))
        if sp.issparse(A):
            products = np.asarray(A[rows].multiply(B[distances.indices]).sum(axis=1)).ravel()
        else:
            products = np.einsum("ij,ij->i", A[rows], B[distances.indices])
        return _with_data(distances, np.maximum(products, 0.0))


class Given(WeightSpec):
    """The numbers on the edges are affinities already (``weights="precomputed"``): those of a graph that was given, not found here.

    New points that arrive as rows of affinities bring their weights along; for new coordinates there are none, and their
    neighbours count alike.
    """

    def bind(self, graph: NeighbourGraph, X: Any) -> _BoundGiven:
        return _BoundGiven(coordinates=X is not None)


@dataclass(frozen=True, eq=False)
class _BoundGiven:
    coordinates: bool

    def weigh(self, distances: sp.csr_array, X: Any) -> sp.csr_array:
        return _with_data(distances, np.ones(distances.nnz)) if self.coordinates and X is not None else distances


@documented
class Powered(WeightSpec):
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

    def bind(self, graph: NeighbourGraph, X: Any) -> _BoundPower:
        rule = as_weights(self.weights).bind(graph, X)
        W = _weighed(rule, graph.undirected(), None)
        before, after = np.linalg.norm(W.data), np.linalg.norm(W.data**self.alpha)
        if after == 0 < before:
            raise GraphError(f"Powered(alpha={self.alpha:g}) takes every weight to zero: use a smaller alpha.")
        return _BoundPower(rule, self.alpha, float(before / max(after, np.finfo(float).tiny)))


@dataclass(frozen=True, eq=False)
class _BoundPower:
    rule: WeightRule
    alpha: float
    factor: float

    def weigh(self, distances: sp.csr_array, X: Any) -> sp.csr_array:
        W = self.rule.weigh(distances, X)
        return _with_data(W, self.factor * W.data**self.alpha)


NAMES: dict[str, Any] = {
    "binary": Binary,
    "heat": Heat,
    "local": LocalScaling,
    "cosine": Cosine,
    "precomputed": Given,
}


def as_weights(weights: Any) -> Any:
    """A weight specification, its parameters checked, or the one that a name stands for."""
    if isinstance(weights, str):
        if weights not in NAMES:
            raise GraphError(
                f"weights={weights!r} is unknown. Use one of {', '.join(map(repr, NAMES))}, or an object such as Heat(sigma=1.0)."
            )
        return NAMES[weights]()
    if isinstance(weights, type) or not hasattr(weights, "bind"):
        raise GraphError(
            f"weights={weights!r:.80} is neither a name nor a weight specification such as Heat(sigma=1.0)."
        )
    if isinstance(weights, Spec):
        weights.check()
    return weights


def takes_given(weights: Any) -> bool:
    """The weights are the numbers on the edges, or made of them."""
    while hasattr(weights, "weights"):  # powers of weights, and paths over them
        weights = weights.weights
    return isinstance(weights, Given) or (isinstance(weights, str) and NAMES.get(weights) is Given)


def by_lengths(weights: Any) -> bool:
    """The numbers on the edges are all that the weights need, wherever the points are."""
    while isinstance(weights, Powered):
        weights = weights.weights
    kind = NAMES.get(weights) if isinstance(weights, str) else type(weights)
    return kind in (Binary, Heat, LocalScaling, Given)


def refuse_found_edges(graph: Any, weights: Any) -> None:
    """Numbers on edges that a method finds itself are distances: they cannot be its weights. `graph` is what stands in ``graph=``."""
    found = graph is None or hasattr(graph, "build") or (isinstance(graph, str) and graph == "class")
    if found and takes_given(weights):
        raise GraphError(
            'weights="precomputed" takes the numbers on the edges as weights, but the edges of this graph are found here and hold '
            "distances: pass graph=W, a sparse matrix of weights."
        )


def refuse_given(name: str, weights: Any) -> None:
    """The same for a method of this name that takes no graph."""
    if takes_given(weights):
        raise GraphError(
            f'weights="precomputed" has no place in {name}: the pairs within and across classes are found here and hold distances. Use '
            '"heat", "local", "binary" or "cosine".'
        )


def affinity(graph: NeighbourGraph, weights: Any, X: Any) -> Affinity:
    """Weigh the undirected edges of a graph. X is None where only distances are known."""
    with stage("weights"):
        rule = as_weights(weights).bind(graph, X)
        W = _weighed(rule, graph.undirected(), None)
        if W.nnz == 0:
            raise GraphError(f"The graph of the {W.shape[0]} points has no edges to weigh.")
        if W.data.max() <= 0:
            raise GraphError("All edge weights vanish: the kernel width is far too small for these distances.")
        return Affinity(W, rule, takes_given(weights))


def _weighed(rule: WeightRule, distances: sp.csr_array, X: Any) -> sp.csr_array:
    """What a rule, perhaps the user's own, makes of the distances, if they are weights."""
    W = rule.weigh(distances, X)
    if not sp.issparse(W) or W.shape != distances.shape:
        found = f"shape {W.shape}" if sp.issparse(W) else f"a {type(W).__name__}"
        raise GraphError(
            f"The weights {rule!r:.80} must turn sparse distances of shape {distances.shape} into as many weights; they returned {found}."
        )
    weights = real_numbers(W.data, "Edge weights", GraphError)
    refuse_unless_sizes(weights, "Edge weights", "Weights say how near two points are: zero or more.", GraphError)
    if not np.all(np.isfinite(weights)):
        raise GraphError(f"{int(np.sum(np.isinf(weights)))} of {weights.size} edge weights are infinite.")
    return sp.csr_array(W)


def _with_data(G: sp.csr_array, data: Array) -> sp.csr_array:
    return sp.csr_array((data, G.indices, G.indptr), shape=G.shape)


def _kth_distance(D: sp.csr_array, k: int) -> Array:
    """Distance of every row's k-th nearest entry (its last where it has fewer; zero where it has none)."""
    counts = np.diff(D.indptr)
    rows = np.repeat(np.arange(D.shape[0]), counts)
    order = np.lexsort((D.data, rows))
    last = D.indptr[:-1] + np.minimum(k, np.maximum(counts, 1)) - 1
    return np.where(counts > 0, D.data[order][np.minimum(last, max(D.nnz - 1, 0))] if D.nnz else 0.0, 0.0)


def _are_distances(lengths: sp.csr_array | None, X: Any, metric: Any) -> bool:
    """The lengths are distances of the points, told by a sample of them. A graph may have been built over other features or units."""
    if lengths is None or lengths.nnz == 0:
        return True
    edges = drawn_rows(lengths.nnz, _SAMPLE)
    rows = np.searchsorted(lengths.indptr, edges, side="right") - 1
    ends, places = np.unique(np.concatenate([rows, lengths.indices[edges]]), return_inverse=True)
    found = point_distances(X[ends], metric=metric)[tuple(places.reshape(2, -1))]
    return bool(np.all(np.abs(found - lengths.data[edges]) <= _SAME * found.max(initial=0.0)))
