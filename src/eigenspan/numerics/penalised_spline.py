"""Smoothing by cubic splines with a penalty on the second derivative, for a given number of degrees of freedom.

::

    min_f  Σ_i (y_i − f(t_i))² + λ ∫ f''(s)² ds

over cubic splines with knots at quantiles of t. With a knot at every point this is the smoothing spline. λ follows from the degrees of
freedom, the trace of the matrix that takes y to the fitted values: between 2 (a straight line; 1, a constant, for closed curves) and the
number of distinct points (interpolation).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.interpolate import BSpline
from scipy.optimize import brentq

from .._types import Array, Sparse, is_sparse
from .eigen import dense

#: Largest number of intervals between knots; fewer, but this many per degree of freedom, serve smooth functions as well.
_INTERVALS, _PER_DEGREE = 50, 4
#: Up to this many points, the table of B-splines is dense, which is faster.
_FEW = 5000
#: Range of the logarithm of λ relative to its unit.
_RANGE = 40.0


@dataclass(frozen=True, eq=False)
class Spline:
    """A cubic spline in one variable with values in R^m, extended by straight lines, or periodically.

    Attributes
    ----------
    knots : ndarray of shape (q + 4,)
        Knots of the B-splines; the spline is fitted between the fourth and the fourth from the end.
    coef : ndarray of shape (q, m)
    periodic : bool
    """

    knots: Array
    coef: Array
    periodic: bool = False

    @property
    def bounds(self) -> tuple[float, float]:
        """First and last point of the interval in which the spline was fitted."""
        return float(self.knots[3]), float(self.knots[-4])

    def __call__(self, t: Array, order: int = 0) -> Array:
        """Return the values (n, m) at the points t, or the first derivatives (order 1)."""
        low, high = self.bounds
        curve = BSpline(self.knots, self.coef, 3)
        if self.periodic:
            return np.asarray(curve(low + np.mod(t - low, high - low), order))
        inside = np.clip(t, low, high)
        found = curve(inside, order)
        if order == 0:
            outside = np.flatnonzero(inside != t)
            found[outside] += (t[outside] - inside[outside])[:, None] * curve(inside[outside], 1)
        return np.asarray(found)

    def mirrored(self) -> Spline:
        """Return ``t -> f(−t)``."""
        return Spline(-self.knots[::-1], self.coef[::-1], self.periodic)


def fit_spline(t: Array, Y: Array, df: float, *, period: float | None = None) -> Spline:
    """Return the penalised spline through ``(t_i, Y_i)`` with `df` degrees of freedom, at most as many as there are distinct points.

    Cost: O(nq² + q³) with q ≤ 53 B-splines.

    Parameters
    ----------
    t : ndarray of shape (n,)
    Y : ndarray of shape (n, m)
    df : float
    period : float, optional
        Length of a closed curve: t then lies between 0 and this value.
    """
    breaks = _breaks(t, period, min(_INTERVALS, max(10, int(np.ceil(_PER_DEGREE * df)))))
    knots = _knots(breaks, period)
    B = BSpline.design_matrix(np.clip(t, breaks[0], breaks[-1]), knots, 3)
    B = B.toarray() if t.size <= _FEW else B
    P = _penalty(knots, breaks)
    fold = np.eye(knots.size - 4)
    if period is not None:  # the last three B-splines are the first three
        fold = fold[:, :-3]
        fold[-3:, :3] = np.eye(3)
    A = dense.symmetric(fold.T @ _dense(B.T @ B) @ fold)
    coef = _solve(A, dense.symmetric(fold.T @ P @ fold), fold.T @ (B.T @ Y), df)
    return Spline(knots, fold @ coef, period is not None)


def _dense(M: Array | Sparse) -> Array:
    return M.toarray() if is_sparse(M) else np.asarray(M)


def _breaks(t: Array, period: float | None, most: int) -> Array:
    """Return the ends of the intervals: quantiles of the distinct points, or equal steps around a closed curve."""
    if period is not None:
        return np.linspace(0.0, period, min(most, max(4, t.size // 2)) + 1)
    distinct = np.unique(t)
    number = min(most + 1, distinct.size)
    breaks = distinct[np.round(np.linspace(0, distinct.size - 1, number)).astype(int)]
    size = float(np.abs(breaks).max(initial=0.0)) or 1.0
    apart = np.concatenate([[True], np.diff(breaks) > 1e-9 * (breaks[-1] - breaks[0]) + 1e-14 * size])
    breaks = breaks[apart]
    return breaks if breaks.size > 1 else breaks[0] + size * np.array([-0.5, 0.5])


def _knots(breaks: Array, period: float | None) -> Array:
    if period is None:
        return np.concatenate([np.repeat(breaks[0], 3), breaks, np.repeat(breaks[-1], 3)])
    return np.concatenate([breaks[-4:-1] - period, breaks, breaks[1:4] + period])


def _penalty(knots: Array, breaks: Array) -> Array:
    """Return the matrix of ``∫ f''²``: second derivatives are linear between breaks, so two Gauss points per interval are exact."""
    half, middle = np.diff(breaks) / 2, (breaks[1:] + breaks[:-1]) / 2
    points = (middle[:, None] + half[:, None] * np.array([-1, 1]) / np.sqrt(3)).ravel()
    curvatures = BSpline(knots, np.eye(knots.size - 4), 3)(points, 2)
    return np.asarray(curvatures.T @ (np.repeat(half, 2)[:, None] * curvatures))


def _solve(A: Array, P: Array, right: Array, df: float) -> Array:
    """Return ``(A + λP)⁻¹ right`` with λ such that ``Tr (A + λP)⁻¹A`` is `df`."""
    unit = np.trace(A) / np.trace(P)
    M = A + unit * P
    scale = 1.0 / np.sqrt(np.diagonal(M))
    T = dense.whitener(dense.symmetric(M * np.outer(scale, scale)), 1e-13)[0] * scale[:, None]
    shares, Q = dense.eigenpairs(dense.symmetric(T.T @ A @ T))
    fitted = (
        shares > 1e-12
    )  # the others are zero at all points, and rounding of `right` along them would be divided by λ
    shares, T = np.minimum(shares[fitted], 1.0), T @ Q[:, fitted]
    shares[shares > 1 - 1e-11] = 1.0

    def trace(log: float) -> float:
        return float(np.sum(shares / (shares + np.exp(log) * (1 - shares)))) - df

    log = -_RANGE if trace(-_RANGE) <= 0 else _RANGE if trace(_RANGE) >= 0 else brentq(trace, -_RANGE, _RANGE)
    return np.asarray((T / (shares + np.exp(log) * (1 - shares))) @ (T.T @ right))
