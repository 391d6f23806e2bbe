"""Angles, errors, and the dimension at which a subspace is determined."""

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

#: Between column spans, in degrees, by its sine: a cosine sees nothing below 1e-6.
angle = largest_angle
#: Largest dimension that is compared.
MOST = 3
#: Gap at the cut, relative to the size of the spectrum, below which rounding turns the subspace by more than is allowed.
DETERMINED = 1e-9


def relative(found: Any, expected: Any, least: float = np.finfo(float).tiny) -> float:
    """Largest difference relative to the largest number expected, or to `least`.

    The small end of a spectrum has the errors of the whole.
    """
    found, expected = np.asarray(found), np.asarray(expected)
    return float(np.abs(found - expected).max() / max(float(np.abs(expected).max()), least))


def products(Y: Any, Z: Any = None) -> Array:
    """Inner products of the rows: what an embedding says up to rotation and sign."""
    return np.asarray(np.asarray(Y) @ np.asarray(Y if Z is None else Z).T)


def centred(X: Any, weights: Any = None) -> Array:
    """X without its (weighted) mean."""
    return np.asarray(X - np.average(X, axis=0, weights=weights))


def double_centred(K: Array) -> Array:
    """``HKH``."""
    return K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()


def squares(Y: Any) -> Array:
    """Squared distances of all pairs of rows, from differences: no cancellation."""
    Y = np.asarray(Y)
    return np.asarray(np.sum((Y[:, None] - Y[None]) ** 2, axis=2))


def cut(values: Array, most: int = MOST, size: float | None = None) -> tuple[int, str]:
    """``(d, the gap in words)``: the largest dimension up to `most` with a gap after it, or `UnmetError`.

    A gap counts if it is no less than a tenth of the widest. `values` are best first;
    `size` is that of the whole matrix, where they are the small ones of a large spectrum.
    """
    size = size or float(np.abs(values).max(initial=0.0)) or 1.0
    return _widest(np.abs(np.diff(values))[:most] / size)


def _widest(gaps: Array) -> tuple[int, str]:
    if not gaps.size:
        raise UnmetError("one eigenvalue: a subspace and its complement need two")
    d = int(np.flatnonzero(gaps >= 0.1 * gaps.max())[-1]) + 1
    if gaps[d - 1] < DETERMINED:
        raise UnmetError(f"the subspace is not determined: relative gaps of at most {gaps.max():.0e} in the spectrum")
    return d, f"gap {gaps[d - 1]:.0e} after axis {d}"


def fitted_at_a_gap(make: Callable[[int], Any], X: Array) -> tuple[Any, str]:
    """``make(d).fit(X)`` of the largest dimension with a gap after it, where the problem may be another for every d."""
    fits, gaps = [], []
    for d in range(1, min(MOST, len(X) - 2) + 1):
        fits.append(make(d).fit(X))
        values = solve(fits[-1].problem_, d + 1).values
        gaps.append(abs(values[d] - values[d - 1]) / max(1.0, float(np.abs(values).max())))
    d, gap = _widest(np.array(gaps))
    return fits[d - 1], gap


def lowest(A: Array, B: Array | None = None, most: int = MOST, size: float = 0.0) -> tuple[Array, Array, str]:
    """The smallest eigenvalues of ``Av = λBv``, their vectors, and the gap they end at, measured against the largest or `size`."""
    values, V = dense.eigenpairs(dense.symmetric(A), None, "min", B)
    d, gap = cut(values, most, max(float(np.abs(values).max()), size))
    return values[:d], V[:, :d], gap


def highest(A: Array, B: Array | None = None, most: int = MOST, size: float = 0.0) -> tuple[Array, Array, str]:
    """The largest eigenvalues, their vectors, and the gap they end at."""
    values, V, gap = lowest(-A, B, most, size)
    return -values, V, gap


def principal(X: Array, most: int = MOST) -> tuple[Array, Array, str]:
    """Sums of squares along the axes of PCA, the axes, and the gap they end at, by singular values."""
    _, s, V = dense.singular_vectors(centred(X))
    d, gap = cut(np.append(s, 0.0) ** 2, max(1, min(most, len(s) - 1)))
    return s[:d] ** 2, V[:, :d], gap


def rank(X: Array, rtol: float = 1e-8) -> int:
    """Number of dimensions that the centred rows span."""
    return dense.principal_axes(centred(X), rtol)[1].size


def in_span(X: Array, directions: Array, rtol: float = 1e-6) -> Array:
    """Coordinates of the rows of X in the span of the rows `directions`: a table of full rank where these are X, centred."""
    return np.asarray(X @ dense.principal_axes(directions, rtol)[2])


def class_means(X: Array, y: Any) -> Array:
    """Every row replaced by the mean of its class."""
    means = np.array([X[y == c].mean(axis=0) for c in range(int(np.max(y)) + 1)])
    return np.asarray(means[y])
