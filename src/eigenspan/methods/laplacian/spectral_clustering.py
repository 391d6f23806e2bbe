"""Spectral clustering: the Laplacian form with the constant kept, over a graph that need not be connected."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..._compat import ClusterMixin
from ..._diagnostics import note, stage
from ..._parameters import Count, Metric, Seed, Verbose, attribute, parameter
from ..._types import Array, Index, RandomState, Sparse, TableLike
from ...data import Input, Sample
from ...data.rows.triangular import NEED
from ...errors import DimensionError, InputError, PrecisionWarning, warn
from ...graphs import NeighbourGraph, Weights, affinity, components
from ...numerics.threads import one_thread
from ...problem import Fitted, Spectrum, TraceProblem, diagonal, sign_of, solve, spectral_attributes
from ...problem.extensions import Walk, rows_of_walk
from ...problem.forms import counted, degree, degrees, laplacian
from ..base.contract import Reducer, Solving
from ..base.graph_embedding import Distinct, Graph, Neighbours, fit_reduced, neighbours
from ..base.table import SPARSE, known_as, method
from .cluster_assignment import (
    Assigner,
    Rotation,
    Threshold,
    UnitRows,
    check_assignment,
    cut_value,
    k_means,
    masses,
    unit_length,
)

#: Rounding error of an entry of a unit eigenvector: a few units in the last place.
_ROUNDING = 4 * float(np.finfo(np.float64).eps)


@method("laplacian", "min L", "degree or embedding", SPARSE, "S0 eqs. 52, 54")
@known_as(
    "Spectral clustering",
    "normalised cut; Ncut; graph partitioning; image segmentation; spectral graph partitioning",
    {
        "n_clusters=2": "spectral bisection; graph bisection; two-way cut; minimum cut",
        "cut='ratio'": "ratio cut; average cut",
        "normalize_rows=True": "Ng–Jordan–Weiss; NJW clustering; row-normalised spectral clustering",
    },
)
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
    assigner_: Assigner = attribute()
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
        distinct = Distinct(self.graph, self.n_neighbors)
        fitted: Any = fit_reduced(sample, (distinct, Neighbours(self._graph)), self._relax)
        problem, rows = fitted.attributes["problem_"], fitted.attributes["graph_"].rows
        nodes = slice(None) if rows is None else rows
        with stage("assignment"), one_thread():
            rule = self._rule(fitted.embedding, problem, nodes, fitted.attributes["n_graph_components_"])
            labels = rule.predict(fitted.embedding).astype(np.intp)
        return fitted.having(assigner_=rule, labels_=labels, cut_=cut_value(problem, labels[nodes]))

    def _graph(self, sample: Sample) -> NeighbourGraph:
        """Return the neighbour graph, whose components are kept apart."""
        if self.n_clusters > sample.n:
            raise InputError(f"n_clusters={self.n_clusters} exceeds {sample.n}, the number of distinct rows.")
        return neighbours(self, sample)

    def _relax(self, sample: Sample) -> Fitted:
        """Return the relaxed indicators and their map."""
        x, graph = sample.x, sample.graph
        weighed = affinity(graph, self.weights, x.points)
        count, pieces = components(graph)
        note(components=count)
        if self.n_components is not None and self.n_components < count:
            raise DimensionError(
                f"n_components={self.n_components}, but the graph has {count} components, each with an axis of its own. Use "
                f"n_components >= {count}, None, or more neighbours."
            )
        W = counted(weighed.W, x.masses)
        problem, mass = relaxed_cut(W, x.masses, count, pieces, self.cut)
        more = max(0, (self.n_components or self.n_clusters) - count)
        spectrum = indicators(problem, mass, more, solver=self.solver, random_state=self.random_state)
        Y = spectrum.vectors * sign_of(spectrum.vectors)
        rows = rows_of_walk(graph, weighed, masses=x.masses)
        walk = Walk(rows, x.known(), eigenfunctions=self.cut == "normalized")
        return Fitted(Y, walk(Y, spectrum), spectral_attributes(problem, spectrum)).having(n_graph_components_=count)

    def _rule(self, Y: Array, problem: TraceProblem, nodes: Index | slice, count: int) -> Assigner:
        """Return the rule that assigns a cluster to every place; `nodes` are the rows that the problem is about."""
        check_assignment(self.assign, self.n_clusters, self.normalize_rows, Y.shape[1], count)
        if self.assign == "threshold":
            return Threshold.least_cut(Y[nodes], problem, axis=1)
        Y = unit_length(Y) if self.normalize_rows else Y
        rule: Assigner
        if self.assign == "kmeans":
            rule = k_means(Y, self.n_clusters, self.random_state)
        elif self.assign == "margin":
            rule = Rotation.of_margins(Y[nodes], masses(problem), self.random_state)
        else:
            rule = Rotation.pivoted(Y) if self.assign == "cluster_qr" else Rotation.discretised(Y, self.random_state)
        return UnitRows(rule) if self.normalize_rows else rule

    def predict(self, X: TableLike) -> Index:
        """Return the cluster of each new point, through the embedding's extension.

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

    def fit_predict(self, X: TableLike, y: object = None) -> Index:
        """Fit and return the cluster of every training point."""
        return self.fit(X).labels_


def relaxed_cut(W: Sparse, masses: Array | None, count: int, pieces: Index, cut: str) -> tuple[TraceProblem, Array]:
    """Return the relaxed problem, which excludes the indicators of the components, and the mass of every point in its unit."""
    d = degrees(W)
    if cut == "normalized" and d.min() <= 0:  # give isolated points a self-loop, which does not change the cut
        d = np.where(d > 0, d, np.min(d[d > 0], initial=1.0))
    mass = d if cut == "normalized" else np.ones(d.size) if masses is None else masses
    N = np.zeros((d.size, count))
    N[np.arange(d.size), pieces] = 1.0
    N /= np.sqrt(mass @ N)
    if cut == "ratio":
        unit = None if np.all(mass == 1) else diagonal(mass)
    else:
        unit = degree(W) if np.array_equal(degrees(W), mass) else diagonal(mass)
    return TraceProblem(laplacian(W), unit, "min", N), mass


def indicators(
    problem: TraceProblem, mass: Array, more: int, *, solver: Solving, random_state: RandomState
) -> Spectrum:
    """Return the smallest eigenvectors: the exact indicators of the components, then `more` in their complement."""
    N: Any = problem.exclude
    zeros = np.zeros(N.shape[1])
    if more == 0:
        note(solver="Components")  # the indicators of the components are the solution
        return Spectrum(zeros, N, zeros)
    rest = solve(problem, more, solver=solver, random_state=random_state)
    _warn_of_lost_points(rest.vectors, mass)
    values, residuals = np.concatenate([zeros, rest.values]), np.concatenate([zeros, rest.residuals])
    return Spectrum(values, np.hstack([N, rest.vectors]), residuals, rest.gap)


def _warn_of_lost_points(V: Array, mass: Array) -> None:
    """Warn if rounding errors of eigenvectors, those of √mass V, reach their size at points of vanishing mass."""
    error = _ROUNDING / np.sqrt(mass)
    lost = int(np.sum(error > NEED * np.abs(V).max()))
    if lost:
        warn(
            f"The edge weights of {lost} of {mass.size} points vanish next to the largest: their sums run from {mass.min():.1g} to "
            f"{mass.max():.1g}, and rounding places these points by up to {min(1.0, error.max() / np.abs(V).max()):.0e} of the extent of "
            'the embedding. Use weights="binary", a larger Heat(sigma=...), or drop the outliers.',
            PrecisionWarning,
        )
