"""Projection indices: how far a projection of unit variance is from a normal distribution.

An index is a function of the projected points y (n numbers of mean zero and variance one). It returns its value I and its slopes, n times
the derivative of I in every y, so that the gradient of I along ``y = Zv`` is the mean of ``slope_i z_i``.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import ndtr

from ..._types import Array
from ...errors import InputError

#: ``y -> (value, slopes)``.
Index = Callable[[Array], tuple[float, Array]]

#: Weights of the odd and the even term of Hyvärinen's approximation of negentropy.
_ODD, _EVEN = 36 / (8 * np.sqrt(3) - 9), 24 / (16 * np.sqrt(3) - 27)
#: Mean of exp(−y²/2) for a normal variable, and for points at ±1.
_NORMAL, _AT_ONE = np.sqrt(0.5), np.exp(-0.5)
#: Number of Legendre polynomials in Friedman's index.
_ORDER = 6


def negentropy(y: Array) -> tuple[float, Array]:
    """Return Hyvärinen's approximation of the entropy that y lacks of that of a normal variable; 0 for a normal variable."""
    bell = np.exp(-(y**2) / 2)
    odd, even = float(np.mean(y * bell)), float(np.mean(bell)) - _NORMAL
    slopes = (2 * _ODD * odd * (1 - y**2) - 2 * _EVEN * even * y) * bell
    return _ODD * odd**2 + _EVEN * even**2, slopes


def kurtosis(y: Array) -> tuple[float, Array]:
    """Return the square of the excess kurtosis; 0 for a normal variable."""
    excess = float(np.mean(y**4)) - 3
    return excess**2, 8 * excess * y**3


def friedman(y: Array) -> tuple[float, Array]:
    """Return Friedman's index: the squared distance of the density of ``2Φ(y) − 1`` from the uniform one, by Legendre polynomials."""
    u, density = 2 * ndtr(y) - 1, np.sqrt(2 / np.pi) * np.exp(-(y**2) / 2)
    before, P = np.ones_like(u), u
    slope_before, slope = np.zeros_like(u), np.ones_like(u)
    value, slopes = 0.0, np.zeros_like(u)
    for j in range(1, _ORDER + 1):
        mean = float(np.mean(P))
        value += (2 * j + 1) / 2 * mean**2
        slopes += (2 * j + 1) * mean * slope
        before, P, slope_before, slope = (
            P, ((2 * j + 1) * u * P - j * before) / (j + 1), slope, slope_before + (2 * j + 1) * P
        )  # fmt: skip
    return value, slopes * density


def holes(y: Array) -> tuple[float, Array]:
    """Return the index of holes, which is large if few points are near the centre; 0.744 for a normal variable."""
    bell = np.exp(-(y**2) / 2)
    return (1 - float(np.mean(bell))) / (1 - _AT_ONE), y * bell / (1 - _AT_ONE)


def central_mass(y: Array) -> tuple[float, Array]:
    """Return the index of central mass, which is large if many points are near the centre; 0.256 for a normal variable."""
    value, slopes = holes(y)
    return 1 - value, -slopes


INDICES: dict[str, Index] = {
    "negentropy": negentropy,
    "kurtosis": kurtosis,
    "friedman": friedman,
    "holes": holes,
    "central-mass": central_mass,
}


def projection_index(index: str | Index) -> Index:
    """Return the function of a name, or a function of the user whose results are checked."""
    return INDICES[index] if isinstance(index, str) else _Checked(index)


class _Checked:
    """A function of the user, with checks of what it returns."""

    def __init__(self, index: Index) -> None:
        self.index = index

    def __call__(self, y: Array) -> tuple[float, Array]:
        try:
            value, slopes = self.index(y)
            value, slopes = float(value), np.asarray(slopes, dtype=np.float64)
        except (TypeError, ValueError) as failure:
            raise InputError(
                f"index= must return its value for n projected points, and n slopes (n times the derivative in each point): {failure}."
            ) from None
        if slopes.shape != y.shape or not np.isfinite(value) or not np.isfinite(slopes).all():
            raise InputError(
                f"index= returned the value {value!r} and slopes of shape {slopes.shape} for {y.size} projected points: it must return a "
                f"finite number and {y.size} finite slopes."
            )
        return value, slopes
