"""Mixtures of planes with noise, fitted to all rows at once."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning as NotConverged

from ..._types import Array
from ...data.rows.storage import blocks
from ...errors import InputError
from ...numerics.eigen.centred import Centred, leading_axes
from ...numerics.threads import one_thread
from ...problem.scale import roots
from .gaussian import log_density

#: Rows' worth of responsibility below which a component is empty, and how often empty ones are begun anew.
_EMPTY, _ANEW = 0.5, 3


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
        Along them, noise included.
    noises : ndarray of shape (k,)
    """

    weights: Array
    means: Array
    axes: Array
    variances: Array
    noises: Array

    def log_densities(self, X: Any) -> Array:
        """``log π_k + log p(x | k)``, (n, k)."""
        each = zip(self.means, self.axes, self.variances, self.noises, strict=True)
        return np.log(self.weights) + np.column_stack([log_density(X, *component) for component in each])

    def responsibilities(self, X: Any) -> tuple[Array, Array]:
        """Of the components for every row, (n, k), and the log-likelihood of the rows."""
        each = self.log_densities(X)
        whole = logsumexp(each, axis=1)
        return np.exp(each - whole[:, None]), whole

    @property
    def loadings(self) -> Array:
        """W of every component, (k, D, d)."""
        return np.swapaxes(self.axes * roots(self.variances - self.noises[:, None])[:, :, None], 1, 2)

    @property
    def scores(self) -> Array:
        """What ``x − μ_k`` is multiplied with to give the posterior mean of z, (k, D, d)."""
        return self.loadings / self.variances[:, None, :]

    def __call__(self, X: Any) -> Array:
        """The points without noise, as far as they are known: ``Σ_k p(k | x) (μ_k + W_k E[z | x, k])``."""
        out, W, T = np.empty(X.shape), self.loadings, self.scores
        for part in blocks(*X.shape):
            rows = np.asarray(X[part], dtype=np.float64)
            R = self.responsibilities(rows)[0]
            out[part] = R @ self.means
            for k, mean in enumerate(self.means):
                out[part] += R[:, k, None] * ((rows - mean) @ T[k]) @ W[k].T
        return out

    def drawn(self, labels: NDArray[np.intp], rng: np.random.RandomState) -> Array:
        """Points of these components."""
        latent = rng.standard_normal((labels.size, self.axes.shape[1]))
        out = rng.standard_normal((labels.size, self.means.shape[1])) * np.sqrt(self.noises)[labels, None]
        for k, W in enumerate(self.loadings):
            out[labels == k] += self.means[k] + latent[labels == k] @ W.T
        return out

    def taking(self, order: Any) -> Mixture:
        """The components in another order."""
        return Mixture(*(part[order] for part in (self.weights, self.means, self.axes, self.variances, self.noises)))

    def moved(self, centre: Array, unit: float) -> Mixture:
        """The same for points in another unit and about another centre."""
        square = unit**2
        return Mixture(
            self.weights, centre + unit * self.means, self.axes, square * self.variances, square * self.noises
        )


def fitted_to(X: Array, R: Array, d: int, floor: float, rng: np.random.Generator) -> Mixture:
    """The most likely mixture where row i belongs to component k with weight R[i, k]: a weighted PPCA each. Cost O(k n D min(n, D))."""
    n, D = X.shape
    found = []
    for weight in R.T:
        count = float(weight.sum())
        mean = weight @ X / count
        rows = (X - mean) * np.sqrt(weight / count)[:, None]
        some = d > 0 and rows.any()
        s, V = leading_axes(Centred(rows, np.zeros(D)), d, rng)[:2] if some else (np.zeros(0), np.zeros((D, 0)))
        if s.size < d:  # the rows do not have d dimensions: any others serve, with the variance of noise
            V = np.linalg.qr(np.hstack([V, rng.standard_normal((D, d - s.size))]))[0]
            s = np.pad(s, (0, d - s.size))
        noise = max((float(np.sum(rows**2)) - float(np.sum(s**2))) / (D - d), floor)
        found.append((count / n, mean, V.T, np.maximum(s**2, noise), noise))
    return Mixture(*(np.array(part) for part in zip(*found, strict=True)))


@dataclass(frozen=True, eq=False)
class Course:
    """Where one start has led: the mixture, the log-likelihood after every step since components last changed, and what happened."""

    mixture: Mixture
    log_likelihoods: list[float]
    at_rest: bool
    anew: int
    dropped: int
    floor: float


def climb(X: Array, R: Array, d: int, floor: float, tol: float, max_iter: int, rng: np.random.Generator) -> Course:
    """Expectation and maximisation in turn, from responsibilities R, until a step gains less than `tol` for each row."""
    reached: list[float] = []
    whole, anew, dropped, at_rest = np.zeros(len(X)), 0, 0, False
    for _ in range(max_iter):
        while np.any(empty := R.sum(axis=0) < _EMPTY):
            reached = []  # another model from here on, whose likelihood may begin lower
            if anew < _ANEW:
                R, whole, anew = *_begun_anew(X, R, int(np.argmax(empty)), whole), anew + 1
            else:
                R, dropped = np.maximum(R[:, ~empty], np.finfo(float).tiny), dropped + int(empty.sum())
                R /= R.sum(axis=1, keepdims=True)
        mixture = fitted_to(X, R, d, floor, rng)
        R, whole = mixture.responsibilities(X)
        reached.append(float(whole.sum()))
        if len(reached) > 1 and reached[-1] - reached[-2] <= tol * len(X):
            at_rest = True
            break
    return Course(mixture, reached, at_rest, anew, dropped, floor)


def _begun_anew(X: Array, R: Array, k: int, whole: Array) -> tuple[Array, Array]:
    """Component k takes over the row that is explained worst, and a share of the rows nearest to it, which now are explained."""
    near = np.argsort(np.sum((X - X[np.argmin(whole)]) ** 2, axis=1), kind="stable")[
        : max(2, len(X) // (2 * R.shape[1]))
    ]
    R, whole = R.copy(), whole.copy()
    R[near], whole[near] = 0.0, np.inf
    R[near, k] = 1.0
    return R, whole


def spread_within(X: Array, R: Array) -> float:
    """Mean variance of a feature about the centre of its cluster, for rows of mean variance one; not less than what is rounding."""
    means = (R.T @ X) / R.sum(axis=0)[:, None].clip(min=1.0)
    return max(float(np.mean((X - R @ means) ** 2)), 1e-8)


def start(X: Array, n_clusters: int, seed: int) -> Array:
    """Responsibilities that are one or zero, by k-means from k-means++."""
    from sklearn.cluster import KMeans

    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)  # of fewer distinct rows than clusters, which are refused below
        labels = KMeans(n_clusters, init="k-means++", n_init=1, random_state=seed).fit(X).labels_
    found = np.unique(labels).size
    if found < n_clusters:
        raise InputError(
            f"n_clusters={n_clusters}, but the {len(X)} rows have only {found} distinct places: every component needs a place of its "
            f"own. Use n_clusters <= {found}."
        )
    return np.eye(n_clusters)[labels]
