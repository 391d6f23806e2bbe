"""PCA as a Gaussian model: variances λ_i along the axes and the same noise in all other directions (Tipping & Bishop, 1999)."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..._types import Array, Matrix, TableLike, is_sparse
from ...data import read_new
from ...data.rows.block_passes import blocks
from ...errors import DimensionError
from ...problem.dimension_rules import NOTHING, minka_dimension
from ...problem.scale import roots


class PrincipalGaussian:
    """Covariance and likelihood of the Gaussian model, computed from the axes and the total scatter."""

    components_: Array
    mean_: Array
    eigenvalues_: Array
    explained_variance_: Array
    n_features_in_: int

    noise_variance_: float

    def _axes_and_variances(self) -> tuple[Array, Array, float]:
        """Return orthonormal axes as rows, the variances along them, and the variance in all other directions."""
        check_is_fitted(self)
        return (
            self.components_ / np.linalg.norm(self.components_, axis=1, keepdims=True),
            self.explained_variance_,
            self.noise_variance_,
        )

    def get_covariance(self) -> Array:
        """Return the covariance of the model: the sample's along the axes, ``noise_variance_`` in all other directions.

        Returns
        -------
        ndarray of shape (n_features, n_features)
        """
        V, variances, noise = self._axes_and_variances()
        C = (V.T * (variances - noise)) @ V
        C.flat[:: len(C) + 1] += noise
        return C

    def get_precision(self) -> Array:
        """Return the inverse of the covariance.

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
        """Return axes and variances; raise if the covariance is singular."""
        V, variances, noise = self._axes_and_variances()
        if noise == 0.0 and len(V) < V.shape[1]:
            raise DimensionError(
                f"The {len(V)} axes hold all variance of the {V.shape[1]} features, and nothing is left as noise in the other "
                f"{V.shape[1] - len(V)} directions: the covariance has no inverse there, and points no density. Use fewer components."
            )
        return V, variances, noise

    def score_samples(self, X: TableLike) -> Array:
        """Return the log-likelihood of each point under the model.

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

    def _log_density(self, X: Matrix) -> Array:
        """Return the log-likelihood of validated rows."""
        return log_density(X, self.mean_, *self._axes_and_variances())

    def score(self, X: TableLike, y: object = None) -> float:
        """Return the mean log-likelihood of the points, which a grid search over `n_components` maximises."""
        return float(self.score_samples(X).mean())


def log_density(X: Matrix, mean: Array, V: Array, variances: Array, noise: float) -> Array:
    """Return the log-density of the rows of X for a Gaussian with these variances along the orthonormal rows of V and `noise` elsewhere."""
    (d, D), out = V.shape, np.empty(X.shape[0])
    constant = D * np.log(2 * np.pi) + np.log(variances).sum() + (D - d) * (np.log(noise) if noise else 0.0)
    for part in blocks(*X.shape):
        Z = np.subtract(X[part].toarray() if is_sparse(X) else X[part], mean, dtype=np.float64)
        Y = Z @ V.T
        out[part] = constant + np.sum(Y**2 / variances, axis=1)
        if noise:
            out[part] += np.sum((Z - Y @ V) ** 2, axis=1) / noise
    return -0.5 * out


def described(
    values: Array, n: int, D: int, scatter: float, *, divisor: int | None = None, directions: int | None = None
) -> dict[str, Any]:
    """Return the attributes of the model, given the eigenvalues of its axes, n rows of D features and their total scatter.

    Sums of squares are divided by `divisor`, n − 1 unless given, and the noise is shared by so many `directions`, unless given by the
    min(n, D) − d in which the rows may vary: both as in scikit-learn.
    """
    divisor = n - 1 if divisor is None else divisor
    directions = min(n, D) - values.size if directions is None else directions
    rest = scatter - float(values.sum())
    some = directions > 0 and rest > NOTHING * scatter
    return {
        "explained_variance_": values / divisor,
        "explained_variance_ratio_": values / scatter,
        "singular_values_": roots(values),
        "noise_variance_": rest / (divisor * directions) if some else 0.0,
        "n_samples_": n,
    }


def most_evident(values: Array, n: int, D: int, asked: str) -> int:
    """Return `minka_dimension` of n rows of D features from the nonzero eigenvalues of their scatter; raise if n < D."""
    if n < D:
        raise DimensionError(
            f"n_components={asked} weighs the evidence of every number of axes, which takes at least as many rows as features; X has "
            f"{n} rows and {D} features. Give a number of axes, or the share of variance they must explain."
        )
    return minka_dimension(np.pad(values, (0, D - values.size)), n)
