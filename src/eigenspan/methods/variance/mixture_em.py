"""Mixtures of probabilistic PCA models, fitted by EM."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning as NotConverged

from ..._types import Array, Index
from ...data.rows.block_passes import blocks
from ...errors import InputError
from ...numerics.eigen.centred import Centred, leading_axes
from ...numerics.threads import one_thread
from ...problem.scale import roots
from .gaussian import log_density

#: Total responsibility below which a component is empty, and largest number of restarts of empty components.
_EMPTY, _RESTARTS = 0.5, 3


@dataclass(frozen=True, eq=False)
class Mixture:
    """``Σ_k π_k N(μ_k, W_k W_k' + σ²_k I)``.

    Attributes
    ----------
    weights : ndarray of shape (k,)
    means : ndarray of shape (k, D)
    axes : ndarray of shape (k, d, D)
        Orthonormal rows.
    variances : ndarray of shape (k, d)
        Variances along the axes, noise included.
    noises : ndarray of shape (k,)
    """

    weights: Array
    means: Array
    axes: Array
    variances: Array
    noises: Array

    def log_densities(self, X: Array) -> Array:
        """Return ``log π_k + log p(x | k)``, (n, k)."""
        each = zip(self.means, self.axes, self.variances, self.noises, strict=True)
        return np.log(self.weights) + np.column_stack([log_density(X, *component) for component in each])

    def responsibilities(self, X: Array) -> tuple[Array, Array]:
        """Return the responsibilities of the components for every row, (n, k), and the log-likelihood of the rows."""
        each = self.log_densities(X)
        whole = logsumexp(each, axis=1)
        return np.exp(each - whole[:, None]), whole

    @property
    def loadings(self) -> Array:
        """W of every component, (k, D, d)."""
        return np.swapaxes(self.axes * roots(self.variances - self.noises[:, None])[:, :, None], 1, 2)

    @property
    def scores(self) -> Array:
        """Matrices that map ``x − μ_k`` to the posterior mean of z, (k, D, d)."""
        return self.loadings / self.variances[:, None, :]

    def __call__(self, X: Array) -> Array:
        """Return the expected points without noise: ``Σ_k p(k | x) (μ_k + W_k E[z | x, k])``."""
        out, W, T = np.empty(X.shape), self.loadings, self.scores
        for part in blocks(*X.shape):
            rows = np.asarray(X[part], dtype=np.float64)
            R = self.responsibilities(rows)[0]
            out[part] = R @ self.means
            for k, mean in enumerate(self.means):
                out[part] += R[:, k, None] * ((rows - mean) @ T[k]) @ W[k].T
        return out

    def drawn(self, labels: Index, rng: np.random.RandomState) -> Array:
        """Return random points of these components."""
        latent = rng.standard_normal((labels.size, self.axes.shape[1]))
        out = rng.standard_normal((labels.size, self.means.shape[1])) * np.sqrt(self.noises)[labels, None]
        for k, W in enumerate(self.loadings):
            out[labels == k] += self.means[k] + latent[labels == k] @ W.T
        return out

    def taking(self, order: Index) -> Mixture:
        """Return the mixture with its components in another order."""
        return Mixture(*(part[order] for part in (self.weights, self.means, self.axes, self.variances, self.noises)))

    def moved(self, centre: Array, unit: float) -> Mixture:
        """Return the mixture for points in another unit and about another centre."""
        square = unit**2
        return Mixture(
            self.weights, centre + unit * self.means, self.axes, square * self.variances, square * self.noises
        )


def fitted_to(X: Array, R: Array, d: int, floor: float, rng: np.random.Generator) -> Mixture:
    """Return the maximum-likelihood mixture given responsibilities R: one weighted PPCA per component. Cost O(k n D min(n, D))."""
    n, D = X.shape
    found = []
    for weight in R.T:
        count = float(weight.sum())
        mean = weight @ X / count
        rows = (X - mean) * np.sqrt(weight / count)[:, None]
        some = d > 0 and rows.any()
        s, V = leading_axes(Centred(rows, np.zeros(D)), d, rng)[:2] if some else (np.zeros(0), np.zeros((D, 0)))
        if s.size < d:  # The rows span fewer than d dimensions: add random axes with the variance of the noise.
            V = np.linalg.qr(np.hstack([V, rng.standard_normal((D, d - s.size))]))[0]
            s = np.pad(s, (0, d - s.size))
        noise = max((float(np.sum(rows**2)) - float(np.sum(s**2))) / (D - d), floor)
        found.append((count / n, mean, V.T, np.maximum(s**2, noise), noise))
    return Mixture(*(np.array(part) for part in zip(*found, strict=True)))


@dataclass(frozen=True, eq=False)
class MixtureCourse:
    """Result of one start: the mixture, the log-likelihoods since components last changed, and counts of restarts and drops."""

    mixture: Mixture
    log_likelihoods: list[float]
    converged: bool
    restarted: int
    dropped: int
    floor: float


def run_em(
    X: Array, R: Array, d: int, floor: float, tol: float, max_iter: int, rng: np.random.Generator
) -> MixtureCourse:
    """Run EM from responsibilities R until a step gains less than `tol` per row."""
    reached: list[float] = []
    whole, restarted, dropped, converged = np.zeros(len(X)), 0, 0, False
    for _ in range(max_iter):
        while np.any(empty := R.sum(axis=0) < _EMPTY):
            reached = []  # The model changes, and its likelihood may be lower.
            if restarted < _RESTARTS:
                R, whole, restarted = *_restarted(X, R, int(np.argmax(empty)), whole), restarted + 1
            else:
                R, dropped = np.maximum(R[:, ~empty], np.finfo(float).tiny), dropped + int(empty.sum())
                R /= R.sum(axis=1, keepdims=True)
        mixture = fitted_to(X, R, d, floor, rng)
        R, whole = mixture.responsibilities(X)
        reached.append(float(whole.sum()))
        if len(reached) > 1 and reached[-1] - reached[-2] <= tol * len(X):
            converged = True
            break
    return MixtureCourse(mixture, reached, converged, restarted, dropped, floor)


def _restarted(X: Array, R: Array, k: int, whole: Array) -> tuple[Array, Array]:
    """Assign the row of lowest likelihood and its nearest rows to component k; return responsibilities and log-likelihoods."""
    near = np.argsort(np.sum((X - X[np.argmin(whole)]) ** 2, axis=1), kind="stable")[
        : max(2, len(X) // (2 * R.shape[1]))
    ]
    R, whole = R.copy(), whole.copy()
    R[near], whole[near] = 0.0, np.inf
    R[near, k] = 1.0
    return R, whole


def spread_within(X: Array, R: Array) -> float:
    """Return the mean variance of a feature within clusters, for rows of mean variance one; at least the level of rounding."""
    means = (R.T @ X) / R.sum(axis=0)[:, None].clip(min=1.0)
    return max(float(np.mean((X - R @ means) ** 2)), 1e-8)


def start(X: Array, n_clusters: int, seed: int) -> Array:
    """Return responsibilities of 0 or 1 from k-means with k-means++."""
    from sklearn.cluster import KMeans

    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)  # about fewer distinct rows than clusters, which raises below
        labels = KMeans(n_clusters, init="k-means++", n_init=1, random_state=seed).fit(X).labels_
    found = np.unique(labels).size
    if found < n_clusters:
        raise InputError(
            f"n_clusters={n_clusters}, but the {len(X)} rows have only {found} distinct places: every component needs a place of its "
            f"own. Use n_clusters <= {found}."
        )
    return np.eye(n_clusters)[labels]
