"""Spectral clustering: the Laplacian form with the constant kept, and the graph left in its pieces."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray
from sklearn.base import ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from .._diagnostics import note, stage
from .._parameters import Count, Metric, Seed, Verbose, Weights, parameter
from .._resources import one_thread
from ..core import Fitted, Spectrum, TraceProblem, sign_of, solve, spectral_attributes
from ..errors import DegenerateWarning, DimensionError, InputError, warn
from ..extend import Walk, walk_rows
from ..forms import counted, degree, degrees, laplacian
from ..graphs import affinity, components
from ..graphs.weights.rules import refuse_found_edges
from ..input import Input, Sample
from ..solvers import dense
from .base import Reducer, Solving
from .copies import over_distinct
from .neighbourhood import Graph
from .table import SPARSE, method

Array = NDArray[np.float64]


@method("laplacian", "min L", "degree or embedding", SPARSE, "S0 eqs. 52, 54")
class SpectralClustering(ClusterMixin, Reducer):
    """Spectral clustering by the normalised cut or the ratio cut.

    .. math:: \\min_Z \\operatorname{Tr}(Z^T L Z) \\quad \\text{s.t. } Z^T B Z = I, \\qquad B = D \\text{ or } I

    [S0, eqs. 52 and 54]: the relaxed indicator vectors of clusters, the constant included, then k-means or discretisation of
    their rows. A graph in several components is not bridged: there the components are the answer. New points are assigned through
    the embedding's extension.

    Cost: as Laplacian eigenmaps, then k-means in n_clusters dimensions.

    Parameters
    ----------
    n_clusters : int, default=8
    n_components : int or None, default=None
        Dimensions of the embedding, at least one for each component of the graph; None means n_clusters, or that many if more.
    cut : {"normalized", "ratio"}, default="normalized"
        B = D balances the clusters' edge weight, B = I their number of points.
    assign : {"kmeans", "discretize", "cluster_qr"}, default="kmeans"
        How rows become labels; discretisation finds the rotation nearest to indicator vectors, and ``"cluster_qr"`` the one that brings
        the most independent rows nearest to them, in one step and without any random choice.
    $n_neighbors
    $graph
    $weights
    $solver
    $random_state
    $n_jobs

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
    n_graph_components_ : int
        Connected components of the graph.
    $graph_attribute
    $spectral_attributes

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from eigenspan import SpectralClustering
    >>> X, y = make_moons(200, noise=0.05, random_state=0)
    >>> labels = SpectralClustering(2).fit_predict(X)
    >>> bool((labels == y).all() or (labels != y).all())
    True

    References
    ----------
    [S0] §7.5; Shi & Malik (2000); Yu & Shi (2003); Damle, Minden & Ying (2019) for ``"cluster_qr"``.
    """

    n_clusters: Count = parameter(default=8, kw_only=False)
    n_components: Count | None = None
    cut: Literal["normalized", "ratio"] = "normalized"
    assign: Literal["kmeans", "discretize", "cluster_qr"] = "kmeans"
    n_neighbors: Count | None = None
    graph: Graph = None
    metric: Metric | None = None
    metric_params: dict[str, Any] | None = None
    weights: Weights = "heat"
    solver: Solving = "auto"
    random_state: Seed = 0
    n_jobs: int | None = None
    verbose: Verbose = 0

    _input: ClassVar[Input] = Input(pairs=("graph", "metric"), sparse=True)

    def _fit(self, sample: Sample) -> Fitted:
        n = sample.n
        if self.n_clusters > n:
            raise InputError(f"n_clusters={self.n_clusters} exceeds n_samples={n}.")
        if self.n_components is not None and self.n_components > n:
            raise DimensionError(f"n_components={self.n_components} exceeds n_samples={n}.")
        fitted: Any = over_distinct(self, sample, self._embed)
        with stage("assignment"):
            rule, labels = self._assign(fitted.embedding, fitted.attributes["n_graph_components_"])
        return fitted.having(assigner_=rule, labels_=labels)

    def _embed(self, sample: Sample) -> Fitted:
        """The relaxed indicators and their map."""
        x = sample.x
        if not x.pairs:
            refuse_found_edges(self.graph, self.weights)
        graph = x.neighbours(
            self.graph,
            n_neighbors=self.n_neighbors,
            n_jobs=self.n_jobs,
            metric=self.metric,
            metric_params=self.metric_params,
        )
        weighted = affinity(graph, self.weights, x.points)
        count, pieces = components(graph)
        note(components=count)
        problem, spectrum = self._indicators(counted(weighted.W, x.masses), x.masses, count, pieces)
        Y = spectrum.vectors * sign_of(spectrum.vectors)
        rows = walk_rows(graph, weighted, masses=x.masses)
        walk = Walk(rows, x.known(), eigenfunctions=self.cut == "normalized")
        found = {"graph_": graph, "n_graph_components_": count}
        return Fitted(Y, walk(Y, spectrum), {**spectral_attributes(problem, spectrum), **found})

    def _indicators(self, W: Any, masses: Array | None, count: int, labels: Any) -> tuple[TraceProblem, Spectrum]:
        """The smallest eigenvectors: one exact indicator per component, then the rest in their complement."""
        d = degrees(W)
        if self.cut == "normalized" and d.min() <= 0:  # an isolated point: give it a self-loop, which no cut sees
            d = np.where(d > 0, d, np.min(d[d > 0], initial=1.0))
        mass = d if self.cut == "normalized" else np.ones(d.size) if masses is None else masses
        N = np.zeros((d.size, count))
        N[np.arange(d.size), labels] = 1.0
        N /= np.sqrt(mass @ N)
        if self.n_components is not None and self.n_components < count:
            raise DimensionError(
                f"n_components={self.n_components}, but the graph falls into {count} components, each with an axis of its own. Use "
                f"n_components >= {count}, None, or more neighbours."
            )
        more = max(0, (self.n_components or self.n_clusters) - count)
        problem = TraceProblem(laplacian(W), _unit(W, mass, self.cut), "min", N)
        if more == 0:
            note(solver="Components")  # the indicators of the components are the answer: nothing to solve
            return problem, Spectrum(np.zeros(count), N, np.zeros(count))
        rest = solve(problem, more, solver=self.solver, random_state=self.random_state)
        return problem, Spectrum(
            np.concatenate([np.zeros(count), rest.values]),
            np.hstack([N, rest.vectors]),
            np.concatenate([np.zeros(count), rest.residuals]),
            rest.gap,
        )

    def _assign(self, Y: Array, count: int) -> tuple[Any, NDArray[np.intp]]:
        """The rule that gives a cluster to every place, and those of the points."""
        from sklearn.cluster import KMeans

        if self.assign == "kmeans":
            _warn_of_few_places(Y, self.n_clusters)
            with one_thread(), warnings.catch_warnings():
                warnings.simplefilter(
                    "ignore", ConvergenceWarning
                )  # of fewer distinct places than clusters, which was said above
                means = KMeans(self.n_clusters, n_init=10, random_state=self.random_state).fit(Y)
            return means, means.labels_.astype(np.intp)
        if Y.shape[1] != self.n_clusters:
            raise InputError(
                f'assign="{self.assign}" rotates {self.n_clusters} vectors onto {self.n_clusters} indicators, but the embedding '
                f"has {Y.shape[1]} "
                f'(the graph has {count} components). Use assign="kmeans".'
            )
        rotation = _Rotation.pivoted(Y) if self.assign == "cluster_qr" else _Rotation.fit(Y, self.random_state)
        return rotation, rotation.predict(Y)

    def predict(self, X: Any) -> NDArray[np.intp]:
        """Cluster of each new point, through the embedding's extension.

        Parameters
        ----------
        X : array-like of shape (n_points, n_features)

        Returns
        -------
        ndarray of shape (n_points,)
        """
        check_is_fitted(self)
        Y = self.transform(X)
        with one_thread():
            return np.asarray(self.assigner_.predict(np.asarray(Y, dtype=np.float64)), dtype=np.intp)

    def fit_predict(self, X: Any, y: Any = None) -> NDArray[np.intp]:
        """Fit and return the cluster of every training point."""
        return self.fit(X).labels_


def _unit(W: Any, mass: Array, cut: str) -> Any:
    from ..core import diagonal

    if cut == "ratio":
        return None if np.all(mass == 1) else diagonal(mass)
    return degree(W) if np.array_equal(degrees(W), mass) else diagonal(mass)


def _warn_of_few_places(Y: Array, clusters: int) -> None:
    places = len(np.unique(np.round(Y / max(float(np.abs(Y).max()), np.finfo(float).tiny), 9), axis=0))
    if places < clusters:
        warn(
            f"The {len(Y)} points have only {places} distinct places on {Y.shape[1]} axes: no more clusters can be told apart, and "
            f"n_clusters={clusters}. Use n_components >= n_clusters, or fewer clusters.",
            DegenerateWarning,
        )


@dataclass(frozen=True, eq=False)
class _Rotation:
    """Discretisation: alternate between labels and the rotation that brings the vectors nearest to their indicators."""

    R: Array

    @classmethod
    def fit(cls, Y: Array, random_state: Any, iterations: int = 100, restarts: int = 10) -> _Rotation:
        rng = np.random.default_rng(random_state if isinstance(random_state, int) else 0)
        U = _unit_length(Y)
        k = U.shape[1]
        best, best_R = -np.inf, np.eye(k)
        for _ in range(restarts):
            R = cls._start(U, rng)
            score = -np.inf
            for _ in range(iterations):
                labels = (U @ R).argmax(axis=1)
                M = np.zeros((k, k))
                np.add.at(M.T, labels, U)
                R = dense.nearest_rotation(M)
                new = float(np.sum(M * R))
                if new - score <= 1e-12 * abs(new):
                    break
                score = new
            if score > best:
                best, best_R = score, R
        return cls(best_R)

    @classmethod
    def pivoted(cls, Y: Array) -> _Rotation:
        """Rows chosen by a pivoted QR factorisation, as far from each other's span as can be, stand for the clusters."""
        chosen = la.qr(Y.T, mode="r", pivoting=True)[1][: Y.shape[1]]
        return cls(dense.nearest_rotation(Y[chosen].T))

    @staticmethod
    def _start(U: Array, rng: np.random.Generator) -> Array:
        """Rows as mutually orthogonal as can be, the first at random."""
        chosen = [int(rng.integers(U.shape[0]))]
        seen = np.zeros(U.shape[0])
        for _ in range(U.shape[1] - 1):
            seen += np.abs(U @ U[chosen[-1]])
            chosen.append(int(seen.argmin()))
        return U[chosen].T

    def predict(self, Y: Array) -> NDArray[np.intp]:
        return (_unit_length(Y) @ self.R).argmax(axis=1)


def _unit_length(Y: Array) -> Array:
    length = np.linalg.norm(Y, axis=1, keepdims=True)
    return Y / np.where(length > 0, length, 1.0)
