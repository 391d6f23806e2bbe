"""Tables of distances and of kernel values, made whole: inner products about any centre, and entries that are missing."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._checks import real_numbers
from .._resources import require
from ..errors import InputError
from ..graphs import check_distance_matrix
from ..solvers import dense

Array = NDArray[np.float64]


def dot_products(D: Any, *, center: Any = None) -> Array:
    """Inner products of points from the distances between them, about any centre.

    .. math:: G = -\\tfrac12 P^c D^{2} P^{cT}, \\qquad P^c = I - 1 c^T, \\quad 1^T c = 1

    with D² the squares of the entries [S3, §4.2.1]. G is positive semidefinite, for every c, if and only if the distances are Euclidean,
    and its rank is then the least number of dimensions that hold them [S3, theorem 4.1]. Gram vectors of G have the origin at
    Σ c_i x_i: the mean, a point, or any other combination. Use it to hand distances to a kernel method whose origin matters;
    `ClassicalMDS` is kernel PCA of it with the mean.

    Cost: O(n²) time and two n×n arrays.

    Parameters
    ----------
    D : array-like of shape (n, n)
        Distances, not squared.
    center : None, int or array-like of shape (n,), default=None
        The mean, the number of a point, or weights c that sum to one.

    Returns
    -------
    ndarray of shape (n, n)

    Examples
    --------
    >>> import numpy as np
    >>> from eigenspan import dot_products
    >>> D = np.array([[0.0, 3, 4], [3, 0, 5], [4, 5, 0]])
    >>> dot_products(D, center=0)  # a right angle at the first point
    array([[ 0.,  0.,  0.],
           [ 0.,  9.,  0.],
           [ 0.,  0., 16.]])

    References
    ----------
    [S3] §4.2; Schoenberg (1935).
    """
    D = real_numbers(D, "The distances", InputError)
    if D.ndim != 2 or D.shape[0] != D.shape[1] or not D.size:
        raise InputError(f"D must be a square table of distances; got shape {D.shape}.")
    check_distance_matrix(D)
    c = _weights(center, len(D))
    G = -0.5 * D**2
    means = c @ G
    G -= means
    G -= means[:, None]
    G += means @ c
    return dense.symmetric(G) + 0.0  # no negative zeros


def _weights(center: Any, n: int) -> Array:
    if center is None:
        return np.full(n, 1.0 / n)
    if isinstance(center, (int, np.integer)) and not isinstance(center, bool):
        if not -n <= center < n:
            raise InputError(f"center={center} is no row of the {n} points.")
        return np.eye(n)[center]
    c = real_numbers(center, "The weights center=", InputError)
    if c.shape != (n,) or not np.isfinite(c).all():
        raise InputError(f"center= must be the number of a point, or {n} finite weights; got shape {c.shape}.")
    if abs(c.sum() - 1) > 1e-8 * max(float(np.abs(c).sum()), 1.0):
        raise InputError(
            f"The weights center= sum to {c.sum():.6g}: only weights that sum to one make distances inner products."
        )
    return c


def complete_kernel(K: Any, *, rtol: float = 1e-10) -> Array:
    """The missing entries of a kernel matrix from the rows that have none.

    .. math:: K = \\begin{pmatrix} A & B \\\\ B^T & C \\end{pmatrix}, \\qquad C = B^T A^{+} B

    where A are the values between the rows without gaps and B those with all others [S3, §4.1.2]. It is exact where the full
    rows have the rank of the whole matrix; otherwise it is the least positive semidefinite matrix that has them, and what is
    lost is the Schur complement. Entries that are known stay as they are.

    Cost: O(nm² + n²m) for m full rows.

    Parameters
    ----------
    K : array-like of shape (n, n)
        Symmetric, NaN where a value is missing.
    rtol : float, default=1e-10
        Eigenvalues of A below this share of the largest count as zero.

    Returns
    -------
    ndarray of shape (n, n)

    Examples
    --------
    >>> import numpy as np
    >>> from eigenspan import complete_kernel
    >>> X = np.random.default_rng(0).standard_normal((6, 2))
    >>> K = X @ X.T
    >>> holes = K.copy()
    >>> holes[2:, 2:] = np.nan
    >>> bool(np.allclose(complete_kernel(holes), K))
    True

    References
    ----------
    [S3] §4.1.2, footnote 2.
    """
    K = real_numbers(K, "The kernel values", InputError)
    if K.ndim != 2 or K.shape[0] != K.shape[1] or not K.size:
        raise InputError(f"K must be a square matrix of kernel values; got shape {K.shape}.")
    missing = np.isnan(K)
    require(32.0 * K.size, f"The {len(K)}×{len(K)} kernel matrix", "Use a part of it.")
    if not np.allclose(K, K.T, rtol=1e-6, atol=1e-9 * float(np.nanmax(np.abs(K), initial=0.0)), equal_nan=True):
        raise InputError(
            "K is not symmetric, gaps included: kernel values do not depend on the order of the two points."
        )
    full = np.flatnonzero(~missing.any(axis=1))
    if not full.size:
        raise InputError(
            f"None of the {len(K)} rows is without gaps ({missing.sum()} values are missing): the others are worked out from such rows."
        )
    values, U = dense.eigenpairs(dense.symmetric(K[np.ix_(full, full)]), None, "max")
    if values[-1] < -1e-6 * max(values[0], np.finfo(float).tiny):
        raise InputError(
            f"The {full.size} rows without gaps are those of no kernel: their eigenvalues run from {values[-1]:.3g} to {values[0]:.3g}. "
            "See nearest_psd."
        )
    keep = values > rtol * max(values[0], np.finfo(float).tiny)
    F = K[:, full] @ (U[:, keep] / np.sqrt(values[keep]))
    return np.where(missing, dense.symmetric(F @ F.T), K)
