"""Unexplained residual: the share of the squared lengths that the embedding omits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._checks import check_parameter
from .._parameters import Count
from ..errors import InputError
from ..numerics.eigen.dense import eigenvalues
from ..numerics.memory import require
from ._check import as_points

Array = NDArray[np.float64]


def unexplained_residual(gram: Any, n_components: int | None = None) -> float:
    """Return the share of the squared lengths of the points that lies in the omitted axes.

    .. math:: \\sum_i \\lVert \\hat y_i - y_i \\rVert^2 \\Big/ \\sum_i \\lVert y_i \\rVert^2
              = \\sum_{a > p} \\lambda_a \\Big/ \\sum_a \\lambda_a

    λ are the positive eigenvalues of the centred Gram matrix, y_i are points with this Gram matrix and ŷ_i their first p coordinates. For
    PCA it is the unexplained variance. It applies to every Gram matrix: from distances (−½Δ²), kernels or geodesics. (The factor ½ that
    the source prints before the middle term is an error.) Negative eigenvalues are set to zero.

    Cost: O(n³) time and 16n² bytes for a Gram matrix. For a fitted method without negative eigenvalues the trace of its matrix suffices.

    Parameters
    ----------
    gram : array-like of shape (n_samples, n_samples), or a fitted estimator
        A symmetric matrix, which is centred here, or an estimator that maximises a Gram matrix or a covariance: PCA, KernelPCA,
        ClassicalMDS, Isomap, MVU and others.
    n_components : int or None, default=None
        p. None means all axes of the estimator; required for a matrix.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from eigenspan import PCA
    >>> from eigenspan.quality import unexplained_residual
    >>> X, _ = load_iris(return_X_y=True)
    >>> pca = PCA(2).fit(X)
    >>> round(unexplained_residual(pca), 4), round(unexplained_residual(X @ X.T, 2), 4)
    (0.0223, 0.0223)

    References
    ----------
    [S3, eq. 4.11].
    """
    if n_components is not None:
        check_parameter("n_components", n_components, Count, InputError)
    if hasattr(gram, "get_params"):
        kept, total = _fitted(gram, n_components)
    else:
        kept, total = _leading(_spectrum(gram), n_components)
    if not total > 0:
        raise InputError("The matrix has no positive eigenvalue: all points coincide.")
    return float(np.clip(1.0 - kept / total, 0.0, 1.0))


def _spectrum(gram: Any) -> Array:
    K = as_points(gram, "gram")
    n = K.shape[0]
    if K.shape[1] != n or n == 0:
        raise InputError(f"gram must be square; got shape {K.shape}. For a table of points X, pass X @ X.T.")
    require(16.0 * n * n, f"The eigenvalues of a {n} × {n} Gram matrix", "Use fewer points, or a fitted estimator.")
    K = np.array(K.toarray() if hasattr(K, "toarray") else K)
    skew, size = float(np.abs(K - K.T).max()), float(np.abs(K).max())
    if skew > 1e-8 * size:
        raise InputError(
            f"gram must be symmetric; entries differ from the transpose by up to {skew:.3g} (largest entry {size:.3g})."
        )
    K -= K.mean(axis=0)
    K -= K.mean(axis=1)[:, None]
    return eigenvalues((K + K.T) / 2)


def _leading(values: Array, p: int | None) -> tuple[float, float]:
    if p is None or p > values.size:
        raise InputError(f"n_components={p} must be a number of axes between 1 and {values.size}.")
    values = np.maximum(values[::-1], 0.0)
    return float(values[:p].sum()), float(values.sum())


def _fitted(estimator: Any, p: int | None) -> tuple[float, float]:
    """Return the sum of the first p eigenvalues and the sum of all."""
    problem, values, name = (
        getattr(estimator, "problem_", None),
        getattr(estimator, "eigenvalues_", None),
        type(estimator).__name__,
    )
    if problem is None or values is None:
        raise InputError(f"{name} has no spectrum: fit it first, or pass a Gram matrix.")
    if not _measures_points(estimator):
        raise InputError(
            f"The eigenvalues of this {name} are not squared lengths of the points along its axes, so an unexplained share is undefined: "
            "it minimises a cost, has a unit form, or uses landmarks only. Pass a Gram matrix instead."
        )
    shown = np.maximum(np.asarray(values, dtype=np.float64), 0.0)
    if p is not None and p > shown.size:
        raise InputError(f"n_components={p}, but this {name} was fitted with {shown.size}.")
    form = problem.A
    if form.psd:
        return float(shown[:p].sum()), float(form.diagonal().sum())
    require(16.0 * form.n**2, f"The eigenvalues of a {form.n} × {form.n} Gram matrix", "Use fewer points.")
    return float(shown[:p].sum()), float(np.maximum(eigenvalues(form.to_dense()), 0.0).sum())


def _measures_points(estimator: Any) -> bool:
    """Return True if the eigenvalues are squared lengths of the points along the axes."""
    problem, Y = estimator.problem_, getattr(estimator, "embedding_", None)
    if problem.sense != "max" or problem.B is not None or getattr(estimator, "landmarks_", None) is not None:
        return False
    if Y is None:  # fitted to a file, which only PCA and its variants support
        return True
    lengths = np.sum(np.asarray(Y, dtype=np.float64) ** 2, axis=0)
    return bool(np.allclose(lengths, np.maximum(estimator.eigenvalues_, 0.0), rtol=1e-4))
