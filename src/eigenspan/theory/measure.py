"""Angles, relative errors, and dimensions at which a subspace is well determined."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..numerics.eigen import dense
from ..problem import solve
from .equivalent import largest_angle
from .theorem import UnmetError

Array = NDArray[np.float64]

#: Angle between column spaces in degrees. It uses sines, because cosines are inaccurate for small angles.
angle = largest_angle
#: Largest dimension of compared subspaces.
MOST = 3
#: Smallest eigenvalue gap, relative to the spectrum, at which rounding errors of the subspace stay below the tolerance.
DETERMINED = 1e-9


def relative(found: Any, expected: Any, least: float = np.finfo(float).tiny) -> float:
    """Return the largest difference, relative to the largest expected number and at least `least`.

    `least` is needed for small eigenvalues, whose errors are proportional to the largest one.
    """
    found, expected = np.asarray(found), np.asarray(expected)
    return float(np.abs(found - expected).max() / max(float(np.abs(expected).max()), least))


def products(Y: Any, Z: Any = None) -> Array:
    """Return the inner products of the rows, which do not depend on rotations and signs of an embedding."""
    return np.asarray(np.asarray(Y) @ np.asarray(Y if Z is None else Z).T)


def centred(X: Any, weights: Any = None) -> Array:
    """Return X minus its (weighted) mean."""
    return np.asarray(X - np.average(X, axis=0, weights=weights))


def double_centred(K: Array) -> Array:
    """Return ``HKH``."""
    return K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()


def squares(Y: Any) -> Array:
    """Return the squared distances of all pairs of rows, from differences to avoid cancellation."""
    Y = np.asarray(Y)
    return np.asarray(np.sum((Y[:, None] - Y[None]) ** 2, axis=2))


def cut(values: Array, most: int = MOST, size: float | None = None) -> tuple[int, str]:
    """Return the largest dimension up to `most` with an eigenvalue gap after it, and a description of the gap.

    A gap counts if it is at least a tenth of the widest. `values` are in the order of the axes. `size` is the norm of the matrix, needed
    if `values` are its small eigenvalues. Raise UnmetError if there is no gap.
    """
    size = size or float(np.abs(values).max(initial=0.0)) or 1.0
    return _widest(np.abs(np.diff(values))[:most] / size)


def _widest(gaps: Array) -> tuple[int, str]:
    if not gaps.size:
        raise UnmetError("there is only one eigenvalue; a gap needs two")
    d = int(np.flatnonzero(gaps >= 0.1 * gaps.max())[-1]) + 1
    if gaps[d - 1] < DETERMINED:
        raise UnmetError(
            f"the subspace is not determined: the largest relative gap in the spectrum is {gaps.max():.0e}"
        )
    return d, f"gap {gaps[d - 1]:.0e} after axis {d}"


def fitted_at_a_gap(make: Callable[[int], Any], X: Array) -> tuple[Any, str]:
    """Return ``make(d).fit(X)`` for the largest dimension with a gap after it, if the problem depends on d, and a description."""
    fits, gaps = [], []
    for d in range(1, min(MOST, len(X) - 2) + 1):
        fits.append(make(d).fit(X))
        values = solve(fits[-1].problem_, d + 1).values
        gaps.append(abs(values[d] - values[d - 1]) / max(1.0, float(np.abs(values).max())))
    d, gap = _widest(np.array(gaps))
    return fits[d - 1], gap


def lowest(A: Array, B: Array | None = None, most: int = MOST, size: float = 0.0) -> tuple[Array, Array, str]:
    """Return the smallest eigenvalues of ``Av = λBv``, their vectors, and the gap after them, relative to the largest or `size`."""
    values, V = dense.eigenpairs(dense.symmetric(A), None, "min", B)
    d, gap = cut(values, most, max(float(np.abs(values).max()), size))
    return values[:d], V[:, :d], gap


def highest(A: Array, B: Array | None = None, most: int = MOST, size: float = 0.0) -> tuple[Array, Array, str]:
    """Return the largest eigenvalues, their vectors, and the gap after them."""
    values, V, gap = lowest(-A, B, most, size)
    return -values, V, gap


def principal(X: Array, most: int = MOST) -> tuple[Array, Array, str]:
    """Return the sums of squares along the axes of PCA, the axes, and the gap after them, from singular values."""
    _, s, V = dense.singular_vectors(centred(X))
    d, gap = cut(np.append(s, 0.0) ** 2, max(1, min(most, len(s) - 1)))
    return s[:d] ** 2, V[:, :d], gap


def rank(X: Array, rtol: float = 1e-8) -> int:
    """Return the dimension of the span of the centred rows."""
    return dense.principal_axes(centred(X), rtol)[1].size


def in_span(X: Array, directions: Array, rtol: float = 1e-6) -> Array:
    """Return the coordinates of the rows of X in the span of the rows `directions`."""
    return np.asarray(X @ dense.principal_axes(directions, rtol)[2])


def class_means(X: Array, y: Any) -> Array:
    """Return X with every row replaced by the mean of its class."""
    means = np.array([X[y == c].mean(axis=0) for c in range(int(np.max(y)) + 1)])
    return np.asarray(means[y])
