"""Inner products from distances, about any centre."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._checks import real_numbers
from ..data.pair_tables import accept_distances
from ..errors import InputError
from ..numerics.eigen import dense

Array = NDArray[np.float64]


def dot_products(D: Any, *, center: Any = None) -> Array:
    """Return inner products of points about any centre from the distances between them.

    .. math:: G = -\\tfrac12 P^c D^{2} P^{cT}, \\qquad P^c = I - 1 c^T, \\quad 1^T c = 1

    D² has the squares of the entries [S3, §4.2.1]. For every c, G is positive semidefinite if and only if the distances are Euclidean;
    its rank is then the smallest dimension of points with these distances [S3, theorem 4.1]. G is the Gram matrix of the points with the
    origin at Σ c_i x_i: the mean, a point, or any other combination. Use it to apply a kernel method to distances if the origin matters;
    `ClassicalMDS` is kernel PCA of G with the mean as origin.

    Cost: O(n²) time and two n×n arrays.

    Parameters
    ----------
    D : array-like of shape (n, n)
        Distances, not squared.
    center : None, int or array-like of shape (n,), default=None
        None for the mean, the number of a point, or weights c that sum to one.

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
        raise InputError(f"D must be a square matrix of distances; got shape {D.shape}.")
    D = accept_distances(D)
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
            raise InputError(f"center={center} is not a row number: D has {n} points.")
        return np.eye(n)[center]
    c = real_numbers(center, "The weights center=", InputError)
    if c.shape != (n,) or not np.isfinite(c).all():
        raise InputError(f"center= must be the number of a point, or {n} finite weights; got shape {c.shape}.")
    if abs(c.sum() - 1) > 1e-8 * max(float(np.abs(c).sum()), 1.0):
        raise InputError(f"The weights center= sum to {c.sum():.6g}, but must sum to one.")
    return c
