"""Spectral clustering: the Laplacian form with the constant kept, and the graph left in its pieces."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from ..._compat import ClusterMixin
from ..._diagnostics import note, stage
from ..._parameters import Count, Metric, Seed, Verbose, attribute, parameter
from ..._types import Index
from ...data import Input, Sample
from ...data.rows.triangular import NEED
from ...errors import DegenerateWarning, DimensionError, InputError, PrecisionWarning, warn
from ...graphs import NeighbourGraph, Weights, affinity, components
from ...graphs.sample_graph import neighbour_graph
from ...graphs.weights.rules import refuse_found_edges
from ...numerics.threads import one_thread
from ...problem import Fitted, Spectrum, TraceProblem, sign_of, solve, spectral_attributes
from ...problem.extensions import Walk, rows_of_walk
from ...problem.forms import counted, degree, degrees, laplacian
from ..base.contract import Reducer, Solving
from ..base.duplicates import over_distinct
from ..base.graph_embedding import Graph
from ..base.table import SPARSE, method
from .cluster_assignment import Rotation, Threshold, UnitRows, cut_value, masses, unit_length

Array = NDArray[np.float64]

#: Entries of a unit eigenvector are known to so much, a few units in the last place.
_ROUNDING = 4 * float(np.finfo(np.float64).eps)


@method("laplacian", "min L", "degree or embedding", SPARSE, "S0 eqs. 52, 54")
class SpectralClustering(ClusterMixin, Reducer):
    """Spectral clustering by the normalised cut or the ratio cut.

    .. math:: \\min_Z \\operatorname{Tr}(Z^T L Z) \\quad \\text{s.t. } Z^T B Z = I, \\qquad B = D \\text{ or } I

    [S0, eqs. 52 and 54]: the relaxed indicator vectors of clusters, the constant included, whose rows `assign` then rounds to labels.
    Unrelaxed, with columns :math:`z_c = 1_c / \\sqrt{1_c^T B 1_c}`, the cost is the cut of every cluster over its size, ``cut_``; of two
    clusters it is :math:`y^T L y / y^T B y` for :math:`y = (e + z) - b\\,(e - z)`, z = ±1 and b the ratio of their sizes, for which
    :math:`y^T B e = 0` ([S3, eq. 4.18] has a plus for the minus). A graph in several components is not bridged: there the components are
    the answer. New points are assigned through the embedding's extension.

    Cost: as Laplacian eigenmaps, then k-means in n_clusters dimensions.

    Parameters
    ----------
    n_clusters
        Number of clusters.
    n_components
        Dimensions of the embedding, at least one for each component of the graph. None means the larger of n_clusters and
        the number of components.
    cut
        B = D balances the edge weight of the clusters, B = I their number of points.
    assign
        How rows become labels. ``"discretize"`` finds the rotation nearest to indicator vectors. ``"cluster_qr"`` finds the
        rotation that brings the most independent rows nearest to them, in one step and without random choices.
        ``"threshold"`` makes two clusters, split at the value of the second vector with the least cut [S3, §4.5.2].
        ``"margin"`` treats the cut as planes through gaps between the points: it finds the planes between the corners of a
        simplex that have the largest total margin, with every point weighted as in B.
    normalize_rows
        Scale the rows to unit length first: points of small degree, near the border of their cluster, then lie with the
        others (Ng, Jordan & Weiss). It has no effect with ``assign="discretize"``, which always does this.
    weights
        ... With ``graph="precomputed"``, X is the affinity matrix, whose diagonal the degrees D leave out.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row.
    cut_ : float
        Sum over the clusters of cut divided by size: the normalised cut or the ratio cut of the labels. It is at least the
        sum of the first n_clusters eigenvalues.
    n_graph_components_ : int
        Number of connected components of the graph.
    assigner_ : object with ``predict``
        The rule that turns rows of the embedding into labels.
    graph_ : NeighbourGraph
        The neighbour graph, which other estimators accept as ``graph=``. If rows of X repeat, it is the graph of the
        distinct rows: ``graph_.rows`` holds their row numbers, and is None if all rows are nodes.
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues of the relaxed cut, smallest first.
    residuals_ : ndarray of shape (n_components,)
        Residuals of the eigenpairs, relative to the norm of the matrix.
    gap_ : float
        Relative distance between the last eigenvalue used and the next one. Below 1e-8 the subspace is not unique.
    problem_ : TraceProblem
        The relaxed problem that was solved.

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
    [S0] §7.5; Shi & Malik (2000); Ng, Jordan & Weiss (2002); Yu & Shi (2003); Damle, Minden & Ying (2019) for ``"cluster_qr"``; Rahimi &
    Recht (2004) and Zhang & Jordan (2008) for ``"margin"``.
    """

    n_clusters: Count = parameter(default=8, kw_only=False)
    n_components: Count | None = None
    cut: Literal["normalized", "ratio"] = "normalized"
    assign: Literal["kmeans", "discretize", "cluster_qr", "threshold", "margin"] = "kmeans"
    normalize_rows: bool = False
    n_neighbors: Count | None = None
    graph: Graph = None
    metric: Metric | None = None
    metric_params: dict[str, Any] | None = None
    weights: Weights = "heat"
    solver: Solving = "auto"
    random_state: Seed = 0
    n_jobs: int | None = None
    verbose: Verbose = 0

    labels_: Index = attribute()
    cut_: float = attribute()
    n_graph_components_: int = attribute()
    assigner_: Any = attribute()
    graph_: NeighbourGraph = attribute()
    eigenvalues_: Array = attribute()
    residuals_: Array = attribute()
    gap_: float = attribute()
    problem_: TraceProblem = attribute()

    _input: ClassVar[Input] = Input(pairs=("graph", "metric"), sparse=True)

    def _fit(self, sample: Sample) -> Fitted:
        n = sample.n
        if self.n_clusters > n:
            raise InputError(f"n_clusters={self.n_clusters} exceeds n_samples={n}.")
        if self.n_components is not None and self.n_components > n:
            raise DimensionError(f"n_components={self.n_components} exceeds n_samples={n}.")
        fitted: Any = over_distinct(self, sample, self._embed)
        problem, rows = fitted.attributes["problem_"], fitted.attributes["graph_"].rows
        nodes = slice(None) if rows is None else rows
        with stage("assignment"), one_thread():
            rule = self._rule(fitted.embedding, problem, nodes, fitted.attributes["n_graph_components_"])
            labels = rule.predict(fitted.embedding).astype(np.intp)
        return fitted.having(assigner_=rule, labels_=labels, cut_=cut_value(problem, labels[nodes]))

    def _embed(self, sample: Sample) -> Fitted:
        """The relaxed indicators and their map."""
        x = sample.x
        if self.n_clusters > sample.n:
            raise InputError(
                f"n_clusters={self.n_clusters} exceeds {sample.n}, the number of rows that differ: equal rows are of one cluster."
            )
        if not x.pairs:
            refuse_found_edges(self.graph, self.weights)
        graph = neighbour_graph(
            x,
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
        rows = rows_of_walk(graph, weighted, masses=x.masses)
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
        _warn_of_lost_points(rest.vectors, mass)
        return problem, Spectrum(
            np.concatenate([np.zeros(count), rest.values]),
            np.hstack([N, rest.vectors]),
            np.concatenate([np.zeros(count), rest.residuals]),
            rest.gap,
        )

    def _rule(self, Y: Array, problem: TraceProblem, nodes: Any, count: int) -> Any:
        """What gives a cluster to every place; `nodes` are the rows that the problem is about."""
        self._refuse_rule(Y, count)
        if self.assign == "threshold":
            return Threshold.least_cut(Y[nodes], problem, axis=1)
        Y = unit_length(Y) if self.normalize_rows else Y
        rule: Any
        if self.assign == "kmeans":
            rule = self._means(Y)
        elif self.assign == "margin":
            rule = Rotation.of_margins(Y[nodes], masses(problem), self.random_state)
        else:
            rule = Rotation.pivoted(Y) if self.assign == "cluster_qr" else Rotation.discretised(Y, self.random_state)
        return UnitRows(rule) if self.normalize_rows else rule

    def _refuse_rule(self, Y: Array, count: int) -> None:
        width, pieces = Y.shape[1], f"(the graph has {count} components)"
        if self.assign == "threshold":
            if self.n_clusters != 2 or self.normalize_rows:
                raise InputError(
                    f'assign="threshold" cuts one vector in two, but n_clusters={self.n_clusters} and '
                    f'normalize_rows={self.normalize_rows}: a number has no length. Use assign="kmeans".'
                )
            if width < 2 or count > 2:
                raise InputError(
                    f'assign="threshold" cuts the second of two vectors, but the embedding has {width} {pieces}: of more than two '
                    'components any grouping cuts nothing. Use n_components=2 and more neighbours, or assign="kmeans".'
                )
        elif self.assign != "kmeans" and width != self.n_clusters:
            raise InputError(
                f'assign="{self.assign}" rotates {self.n_clusters} vectors onto {self.n_clusters} indicators, but the embedding '
                f'has {width} {pieces}. Use assign="kmeans".'
            )

    def _means(self, Y: Array) -> Any:
        from sklearn.cluster import KMeans

        _warn_of_few_places(Y, self.n_clusters)
        with warnings.catch_warnings():
            # of fewer distinct places than clusters, which was said above
            warnings.simplefilter("ignore", ConvergenceWarning)
            return KMeans(self.n_clusters, n_init=10, random_state=self.random_state).fit(Y)

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
    from ...problem import diagonal

    if cut == "ratio":
        return None if np.all(mass == 1) else diagonal(mass)
    return degree(W) if np.array_equal(degrees(W), mass) else diagonal(mass)


def _warn_of_lost_points(V: Array, mass: Array) -> None:
    """Warn where eigenvectors, known to rounding of √mass V, have no digits left at points of vanishing mass."""
    error = _ROUNDING / np.sqrt(mass)
    lost = int(np.sum(error > NEED * np.abs(V).max()))
    if lost:
        warn(
            f"The edge weights of {lost} of {mass.size} points vanish next to the largest: their sums run from {mass.min():.1g} to "
            f"{mass.max():.1g}, and rounding places these points by up to {min(1.0, error.max() / np.abs(V).max()):.0e} of the extent of "
            'the embedding. Use weights="binary", a larger Heat(sigma=...), or drop the outliers.',
            PrecisionWarning,
        )


def _warn_of_few_places(Y: Array, clusters: int) -> None:
    places = len(np.unique(np.round(Y / max(float(np.abs(Y).max()), np.finfo(float).tiny), 9), axis=0))
    if places < clusters:
        warn(
            f"The {len(Y)} points have only {places} distinct places on {Y.shape[1]} axes: no more clusters can be told apart, and "
            f"n_clusters={clusters}. Use n_components >= n_clusters, or fewer clusters.",
            DegenerateWarning,
        )
