"""Projection pursuit: the least normal directions of a cloud of points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..._diagnostics import note, stage
from ..._parameters import Count, Tolerance, Whole, attribute
from ..._types import Array
from ...data import Points, Sample
from ...errors import ConvergenceWarning, warn
from ...numerics.descent.stiefel import minimise_on_stiefel
from ...numerics.eigen import dense
from ...numerics.threads import one_blas_thread
from ...problem import Fitted
from ...problem.spectrum import seed_of
from ..base.table import known_as, method
from .projection_indices import Index, projection_index
from .white_directions import WhiteProjection, projected, refuse_few_rows, whitener_of

IndexName = Literal["negentropy", "kurtosis", "friedman", "holes", "central-mass"]
#: Random directions that are tried for every start, of which the best are kept.
_TRIED = 10
#: Gradient at which all starts stop; only the best goes on.
_ROUGH = 1e-3


@dataclass(frozen=True)
class Search:
    """Settings of the search for one direction.

    Attributes
    ----------
    index : callable
    n_restarts : int
    tol : float
    max_iter : int
    """

    index: Index
    n_restarts: int
    tol: float
    max_iter: int

    def directions(self, Z: Array, d: int, rng: np.random.Generator) -> Directions:
        """Return d orthonormal directions of white points, each of largest index among those orthogonal to the ones before."""
        V, values, steps, unfinished = np.zeros((Z.shape[1], 0)), list[float](), 0, 0
        for _ in range(d):
            v, value, count, converged = self.one(Z, V, rng)
            V, steps, unfinished = np.column_stack([V, v]), steps + count, unfinished + (not converged)
            values.append(value)
        order = np.argsort(-np.array(values), kind="stable")
        return Directions(V[:, order], np.array(values)[order], steps, unfinished)

    def one(self, Z: Array, before: Array, rng: np.random.Generator) -> tuple[Array, float, int, bool]:
        """Return the best direction orthogonal to those before, its index, the number of steps, and whether the search converged."""

        def objective(v: Array) -> tuple[float, Array]:
            value, slopes = self.index(Z @ v[:, 0])
            gradient = Z.T @ slopes / len(Z)
            return -value, -(gradient - before @ (before.T @ gradient))[:, None]

        starts = self._starts(Z, before, rng)
        rough = max(self.tol, _ROUGH)
        runs = [minimise_on_stiefel(objective, v[:, None], tol=rough, max_iter=self.max_iter) for v in starts]
        best = min(runs, key=lambda run: run.values[-1])
        if rough > self.tol:
            best = minimise_on_stiefel(objective, best.V, tol=self.tol, max_iter=self.max_iter)
            runs.append(best)
        v = _orthogonal(best.V, before)[:, 0]
        return v, self.index(Z @ v)[0], sum(run.values.size - 1 for run in runs), best.converged

    def _starts(self, Z: Array, before: Array, rng: np.random.Generator) -> list[Array]:
        """Return the best of the eigenvectors of the fourth moments and of random directions; neither depends on the coordinates."""
        fourth = (Z.T * np.einsum("ij,ij->i", Z, Z)) @ Z / len(Z)
        moments = dense.eigenpairs(dense.symmetric(fourth))[1]
        random = Z.T @ rng.standard_normal((len(Z), _TRIED * self.n_restarts))
        tried = _orthogonal(np.hstack([moments, random]), before)
        values = [self.index(y)[0] for y in (Z @ tried).T]
        return [tried[:, j] for j in np.argsort(values, kind="stable")[::-1][: self.n_restarts]]


@dataclass(frozen=True, eq=False)
class Directions:
    """Result of a search: orthonormal directions, their indices in descending order, steps, and searches that did not converge."""

    V: Array
    values: Array
    steps: int
    unfinished: int


def _orthogonal(V: Array, before: Array) -> Array:
    """Return the unit parts of the columns of V orthogonal to orthonormal `before`; columns in their span are left out."""
    sizes = np.linalg.norm(V, axis=0)
    for _ in range(2):  # the second time removes what rounding left
        V = V - before @ (before.T @ V)
    lengths = np.linalg.norm(V, axis=0)
    return np.asarray(V[:, lengths > 1e-8 * sizes] / lengths[lengths > 1e-8 * sizes])


def normal_values(search: Search, n: int, r: int, d: int, n_draws: int, rng: np.random.Generator) -> Array:
    """Return the index of the same search on normal points (n_draws, d): column j in r − j dimensions, those left after j directions."""
    found = np.empty((n_draws, d))
    for row in found:
        Z = rng.standard_normal((n, r))
        Z -= Z.mean(axis=0)
        Z = Z @ whitener_of(Z)
        row[:] = [search.one(Z[:, j:], np.zeros((r - j, 0)), rng)[1] for j in range(d)]
    return found


def p_values(values: Array, under_normality: Array) -> Array:
    """Return the share of normal samples with an index at least as large; a direction is not more certain than those before it."""
    above = np.sum(under_normality >= values, axis=0)
    return np.maximum.accumulate((1.0 + above) / (1.0 + len(under_normality)))


@method("pursuit", "max non-normality", "covariance", "n D² + n D per step", "S3 §3", "pp")
@known_as(
    "Projection pursuit",
    "least normal directions; non-Gaussian projections; non-normality; interesting projections; exploratory projection pursuit; "
    "non-Gaussian component analysis; deflation",
    {
        "index='negentropy'": "negentropy; maximum negentropy",
        "index='kurtosis'": "maximum kurtosis; fourth moments",
        "index='friedman'": "Friedman's index; Legendre index",
        "index='holes'": "index of holes",
        "index='central-mass'": "index of central mass",
        "n_draws=99": "significance of projections; p-values of projection pursuit",
    },
)
class ProjectionPursuit(WhiteProjection):
    """Projection pursuit: the directions along which the points are least normally distributed.

    .. math:: \\max_v \\; I(v^T z_1, \\dots, v^T z_n) \\quad \\text{s.t. } v^T v = 1, \\;
              v \\perp \\text{the directions before}, \\qquad z = \\Sigma^{-1/2} (x - \\bar x)

    [S3, §3]. Most projections of most data look normal, so those that do not are worth a look: they show clusters, outliers or
    skewness. The index I measures non-normality. All dimensions are whitened first, so the search does not depend on units, and a
    direction of little variance is found as easily as one of much. Compare scikit-learn's ``FastICA``, which keeps only the first
    principal axes, as many as components are asked for.

    Each direction is found by L-BFGS ascent on the sphere with analytic gradients, from the best of many starts. The axes are
    uncorrelated and have unit variance. In many dimensions, some direction of any finite sample looks interesting: with `n_draws` the same
    search is run on normal samples of the same size, and ``pvalues_`` tells how often these look as interesting.

    Cost: O(nD²) for whitening, then O(nD) per step with about twenty steps per start, `n_restarts` starts and `n_components`
    directions. `n_draws` multiplies the search by 1 + `n_draws`. O(nD) memory.

    Parameters
    ----------
    index
        Measure of non-normality of a projection y. ``"negentropy"`` is Hyvärinen's robust approximation, sensitive to clusters,
        skewness and heavy tails. ``"kurtosis"`` is the squared excess kurtosis, which outliers dominate. ``"friedman"`` compares
        the density with the normal one where most points are, by six Legendre polynomials. ``"holes"`` looks for few points near the
        centre (two clusters), ``"central-mass"`` for many (a cluster and outliers). A function takes the n
        projected points, of mean zero and variance one, and returns its value and n slopes: n times the derivative in each point.
    n_restarts
        Number of starts of each direction: the best of ten times as many random directions and of the eigenvectors of the
        fourth moments.
    n_draws
        Number of normal samples for ``pvalues_``; 0 computes none.
    tol
        Stop when the gradient of the index along the sphere is shorter than this.
    max_iter
        Maximum number of steps from each start. A warning says if they were too few.

    Attributes
    ----------
    index_values_ : ndarray of shape (n_components,)
        The index of each direction, largest first.
    pvalues_ : ndarray of shape (n_components,)
        Share of normal samples whose search finds an index at least as large; never smaller than for the directions before.
        Absent if `n_draws` is 0.
    null_values_ : ndarray of shape (n_draws, n_components)
        Indices that the search finds in normal samples: for the j-th direction in the dimensions that j − 1 directions leave. Absent if
        `n_draws` is 0.
    n_iter_ : int
        Number of steps of all starts.

    Examples
    --------
    Two clusters along the direction of least variance:

    >>> import numpy as np
    >>> from eigenspan import ProjectionPursuit
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((500, 6)) * [30, 20, 10, 8, 5, 1]
    >>> X[:, 5] = np.where(np.arange(500) < 250, -1, 1) + 0.2 * X[:, 5]
    >>> pursuit = ProjectionPursuit(1, n_draws=19).fit(X)
    >>> bool(abs(np.corrcoef(pursuit.embedding_[:, 0], X[:, 5])[0, 1]) > 0.99)
    True
    >>> pursuit.pvalues_
    array([0.05])

    References
    ----------
    Friedman & Tukey (1974), A projection pursuit algorithm for exploratory data analysis; Huber (1985), Projection pursuit;
    Friedman (1987), Exploratory projection pursuit; Cook, Buja & Cabrera (1993), Projection pursuit indexes based on orthonormal
    function expansions; Hyvärinen (1998), New approximations of differential entropy; Sun (1991), Significance levels in exploratory
    projection pursuit; [S3] §3.
    """

    index: IndexName | Callable[[Array], tuple[float, Array]] = "negentropy"
    n_restarts: Count = 10
    n_draws: Whole = 0
    tol: Tolerance = 1e-6
    max_iter: Count = 200

    index_values_: Array = attribute()
    pvalues_: Array = attribute()
    null_values_: Array = attribute()
    n_iter_: int = attribute()

    def _fit(self, sample: Sample[Points, None]) -> Fitted:
        white, rng = self._white(sample), np.random.default_rng(seed_of(self.random_state))
        refuse_few_rows(sample.n, white.dim)
        search = Search(projection_index(self.index), self.n_restarts, self.tol, self.max_iter)
        with stage("search"), one_blas_thread():
            found = search.directions(white.Z, self.n_components, rng)
        note(search_steps=found.steps)
        _warn_of_unfinished(found, self.max_iter, self.tol)
        fitted, _ = projected(white, found.V)
        fitted = fitted.having(index_values_=found.values, n_iter_=found.steps)
        if not self.n_draws:
            return fitted
        with stage("normal samples"), one_blas_thread():
            null = normal_values(search, sample.n, white.dim, self.n_components, self.n_draws, rng)
        return fitted.having(null_values_=null, pvalues_=p_values(found.values, null))


def _warn_of_unfinished(found: Directions, max_iter: int, tol: float) -> None:
    if found.unfinished:
        warn(
            f"The search of {found.unfinished} of {found.values.size} directions stopped after max_iter={max_iter} steps before its "
            f"gradient was below tol={tol:g}: they are not maxima of the index yet. Raise max_iter, or tol.",
            ConvergenceWarning,
        )
