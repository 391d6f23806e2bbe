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
        V, variances, noise = self._invertible()
        estimator: Any = self
        X = read_new(estimator, X)[0]
        (d, D), out = V.shape, np.empty(X.shape[0])
        constant = D * np.log(2 * np.pi) + np.log(variances).sum() + (D - d) * (np.log(noise) if noise else 0.0)
        for part in blocks(*X.shape):
            Z = np.subtract(X[part].toarray() if sp.issparse(X) else X[part], self.mean_, dtype=np.float64)
            Y = Z @ V.T
            out[part] = constant + np.sum(Y**2 / variances, axis=1)
            if noise:
                out[part] += np.sum((Z - Y @ V) ** 2, axis=1) / noise
        return -0.5 * out

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log-likelihood of the points: what a grid search over `n_components` maximises."""
        return float(self.score_samples(X).mean())


def described(values: Array, n: int, D: int, scatter: float) -> dict[str, Any]:
    """The attributes of the model, given the eigenvalues of its axes, n rows of D features and their total scatter."""
    d, rank = values.size, min(n, D)
    rest = scatter - float(values.sum())
    some = d < rank and rest > _NOTHING * scatter
    return {
        "explained_variance_": values / (n - 1),
        "explained_variance_ratio_": values / scatter,
        "singular_values_": roots(values),
        "noise_variance_": rest / ((n - 1) * (rank - d)) if some else 0.0,
        "n_samples_": n,
    }


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
