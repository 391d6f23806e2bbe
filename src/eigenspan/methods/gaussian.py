"""PCA as a Gaussian model: variances λ_i along the axes and the same noise in all other directions (Tipping & Bishop, 1999)."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import gammaln
from sklearn.utils.validation import check_is_fitted

from ..core.scale import roots
from ..errors import DimensionError
from ..input import read_new
from ..input.source import blocks

Array = NDArray[np.float64]

#: Share of the total variance below which what the axes leave is rounding.
_NOTHING = 1e-14


class PrincipalGaussian:
    """Covariance, likelihood and the attributes behind them, from the axes and the total scatter alone."""

    components_: Array
    mean_: Array
    eigenvalues_: Array
    explained_variance_: Array
    n_features_in_: int

    noise_variance_: float

    def _axes_and_variances(self) -> tuple[Array, Array, float]:
        """Orthonormal axes as rows (whitened ones are shorter), the variances along them, and that in all other directions."""
        check_is_fitted(self)
        return (
            self.components_ / np.linalg.norm(self.components_, axis=1, keepdims=True),
            self.explained_variance_,
            self.noise_variance_,
        )

    def get_covariance(self) -> Array:
        """Covariance of the model: the sample's along the axes, ``noise_variance_`` in all other directions.

        Returns
        -------
        ndarray of shape (n_features, n_features)
        """
        V, variances, noise = self._axes_and_variances()
        C = (V.T * (variances - noise)) @ V
        C.flat[:: len(C) + 1] += noise
        return C

    def get_precision(self) -> Array:
        """Inverse of the covariance.

        Returns
        -------
        ndarray of shape (n_features, n_features)
        """
        V, variances, noise = self._invertible()
        rest = 1.0 / noise if noise else 0.0
        P = (V.T * (1.0 / variances - rest)) @ V
        P.flat[:: len(P) + 1] += rest
        return P

    def _invertible(self) -> tuple[Array, Array, float]:
        V, variances, noise = self._axes_and_variances()
        if noise == 0.0 and len(V) < V.shape[1]:
            raise DimensionError(
                f"The {len(V)} axes hold all variance of the {V.shape[1]} features, and nothing is left as noise in the other "
                f"{V.shape[1] - len(V)} directions: the covariance has no inverse there, and points no density. Use fewer components."
            )
        return V, variances, noise

    def score_samples(self, X: Any) -> Array:
        """Log-likelihood of each point under the model.

        Parameters
        ----------
        X : array-like of shape (n_points, n_features)

        Returns
        -------
        ndarray of shape (n_points,)
        """
        estimator: Any = self
        self._invertible()
        return self._log_density(read_new(estimator, X)[0])

    def _log_density(self, X: Any) -> Array:
        """Of rows that were read."""
        return log_density(X, self.mean_, *self._axes_and_variances())

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log-likelihood of the points: what a grid search over `n_components` maximises."""
        return float(self.score_samples(X).mean())


def log_density(X: Any, mean: Array, V: Array, variances: Array, noise: float) -> Array:
    """Of every row of X under a Gaussian with these variances along orthonormal axes, the rows of V, and `noise` elsewhere."""
    (d, D), out = V.shape, np.empty(X.shape[0])
    constant = D * np.log(2 * np.pi) + np.log(variances).sum() + (D - d) * (np.log(noise) if noise else 0.0)
    for part in blocks(*X.shape):
        Z = np.subtract(X[part].toarray() if sp.issparse(X) else X[part], mean, dtype=np.float64)
        Y = Z @ V.T
        out[part] = constant + np.sum(Y**2 / variances, axis=1)
        if noise:
            out[part] += np.sum((Z - Y @ V) ** 2, axis=1) / noise
    return -0.5 * out


def described(
    values: Array, n: int, D: int, scatter: float, *, divisor: int | None = None, directions: int | None = None
) -> dict[str, Any]:
    """The attributes of the model, given the eigenvalues of its axes, n rows of D features and their total scatter.

    Sums of squares are divided by `divisor`, n − 1 unless given, and the noise is shared by so many `directions`, unless given by the
    min(n, D) − d in which the rows may vary: both as in scikit-learn.
    """
    divisor = n - 1 if divisor is None else divisor
    directions = min(n, D) - values.size if directions is None else directions
    rest = scatter - float(values.sum())
    some = directions > 0 and rest > _NOTHING * scatter
    return {
        "explained_variance_": values / divisor,
        "explained_variance_ratio_": values / scatter,
        "singular_values_": roots(values),
        "noise_variance_": rest / (divisor * directions) if some else 0.0,
        "n_samples_": n,
    }


def maximum_likelihood(values: Array, n: int, D: int, scatter: float) -> Array:
    """The largest log-likelihood that d = 1, …, len(values) axes and noise can give to n rows of D features, inf where nothing is left
    as noise; from the eigenvalues of their scatter, largest first, and its trace."""
    d = np.arange(1, values.size + 1)
    rest = scatter - np.cumsum(values)
    noisy = (rest > _NOTHING * scatter) & (d < D)
    noise = np.where(noisy, rest, 1.0) / (n * np.maximum(D - d, 1))
    logs = np.cumsum(np.log(np.maximum(values, np.finfo(float).tiny) / n)) + (D - d) * np.log(noise)
    return np.where(noisy | (d == D), -n / 2 * (D * (np.log(2 * np.pi) + 1) + logs), np.inf)


def bic(log_likelihood: Any, d: Any, n: int, D: int) -> Any:
    """−2 log-likelihood + (number of parameters) · log n: a mean, noise, and d axes with their variances."""
    return (D + 1 + D * d - d * (d - 1) / 2) * np.log(n) - 2 * log_likelihood


def most_evident(values: Array, n: int, D: int, asked: str) -> int:
    """`minka_dimension` of n rows of D features from those eigenvalues of their scatter that are not zero; refused for few rows."""
    if n < D:
        raise DimensionError(
            f"n_components={asked} weighs the evidence of every number of axes, which takes at least as many rows as features; X has "
            f"{n} rows and {D} features. Give a number of axes, or the share of variance they must explain."
        )
    return minka_dimension(np.pad(values, (0, D - values.size)), n)


def minka_dimension(spectrum: Array, n: int) -> int:
    """The number of axes of largest evidence [Minka, 2000], given all D eigenvalues of the covariance of n rows. Cost O(D³).

    Laplace's approximation of the evidence of k axes and isotropic noise:
    ``p(U) Π λ_i^{−n/2} v^{−n(D−k)/2} (2π)^{(m+k)/2} |A|^{−½} n^{−k/2}`` with v the mean of the other eigenvalues and
    m = Dk − k(k + 1)/2. It does not change with the unit of length.
    """
    D, tiny = spectrum.size, np.finfo(float).eps
    if D < 2:
        return 1
    values = np.maximum(spectrum / max(spectrum[0], np.finfo(float).tiny), 0.0)
    live = np.maximum(values, tiny)
    evidence = np.full(D - 1, -np.inf)
    for k in range(1, D):
        if values[k - 1] <= 4 * tiny:
            break  # an axis without variance
        noise = max(float(values[k:].mean()), tiny)
        i = np.arange(1, k + 1)
        volume = np.sum(gammaln((D - i + 1) / 2) - np.log(np.pi) * (D - i + 1) / 2) - k * np.log(2)
        inverse = 1.0 / np.where(np.arange(D) < k, live, noise)
        products = (values[:k, None] - values) * (inverse - inverse[:k, None])
        pairs = np.arange(D) > np.arange(k)[:, None]
        curvature = np.sum(np.log(np.maximum(products[pairs], tiny**2)) + np.log(n))
        m = D * k - k * (k + 1) / 2
        fit = -n / 2 * (np.sum(np.log(live[:k])) + (D - k) * np.log(noise))
        evidence[k - 1] = volume + fit + (m + k) / 2 * np.log(2 * np.pi) - curvature / 2 - k / 2 * np.log(n)
    return int(evidence.argmax()) + 1
