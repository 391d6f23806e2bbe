"""PCA as a Gaussian model: variances λ_i along the axes and the same noise in all other directions (Tipping & Bishop, 1999)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._types import Array, Matrix, is_sparse
from ...data.rows.block_passes import blocks
from ...errors import DimensionError
from ...problem.dimension_rules import NOTHING, minka_dimension
from ...problem.scale import roots


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
