"""Scales: the length of each axis. Roots of eigenvalues are computed here only.

A scale is a picklable callable ``spectrum -> factors``; the embedding is ``Z V diag(factors)``. If the factors do not depend on the
eigenvalues alone, its method ``products`` returns the Gram matrix of the axes on whose diagonal they depend, or None: axes of equal
eigenvalues are rotated to be orthogonal in it, because the embedding would otherwise depend on the rotation that the solver returned.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._types import Array
from ..errors import DimensionError
from .form import Form
from .spectrum import Spectrum


def roots(values: Array) -> Array:
    """Return ``√max(λ, 0)``: singular values from eigenvalues that are sums of squares."""
    return np.sqrt(np.maximum(values, 0.0))


def positive(values: Array, norm: float) -> int:
    """Return the number of eigenvalues (largest first, of a matrix of this norm) that are positive beyond rounding errors."""
    return int(np.sum(values > max(1e-12 * abs(values[0]), 1e-14 * norm, np.finfo(float).tiny)))


@dataclass(frozen=True)
class Unit:
    """Unscaled axes: ``V'BV = I``."""

    def __call__(self, spectrum: Spectrum) -> Array:
        return np.ones(spectrum.values.size)


@dataclass(frozen=True)
class UnitCovariance:
    """``Y'Y = n I``, the convention of the LLE family [S0, eq. 10]."""

    n: float

    def __call__(self, spectrum: Spectrum) -> Array:
        return np.full(spectrum.values.size, np.sqrt(self.n))


@dataclass(frozen=True)
class SqrtEigenvalue:
    """``Y = U Λ^½``, the convention of the MDS family: the embedding reproduces the Gram matrix."""

    def __call__(self, spectrum: Spectrum) -> Array:
        values = spectrum.values
        found = positive(values, spectrum.norm)
        if found < values.size:
            raise DimensionError(
                f"n_components={values.size}, but the Gram matrix has only {found} positive eigenvalues: there are no further "
                "dimensions to show. "
                + (
                    f"Use n_components={found}."
                    if found
                    else "All rows coincide, or differ too little for the matrix to show (a kernel too wide for them), or it is negative."
                )
            )
        return np.sqrt(values)


@dataclass(frozen=True)
class Whitened:
    """``√((n − 1)/λ)``: unit sample variance on every axis, for eigenvalues that are sums of squares over n samples."""

    n: int

    def __call__(self, spectrum: Spectrum) -> Array:
        floor = 1e-20 * max(abs(spectrum.values[0]), np.finfo(float).tiny)  # 1e-10 of standard deviations
        if spectrum.values[-1] <= floor:
            raise DimensionError(f"Axis {spectrum.values.size} has no variance to whiten. Use fewer components.")
        return np.sqrt((self.n - 1) / spectrum.values)


@dataclass(frozen=True, eq=False)
class UnitVariance:
    """Unit variance of the training embedding on every axis, as `StandardScaler` would give.

    The variance is that of `basis.embed` or, if the rows are not in memory, follows from their scatter.
    """

    basis: Any

    def products(self, V: Array) -> Array:
        return self.basis.covariance(V)

    def __call__(self, spectrum: Spectrum) -> Array:
        spread = roots(np.diagonal(self.basis.covariance(spectrum.vectors)))
        flat = np.flatnonzero(spread <= 1e-12 * spread.max(initial=np.finfo(float).tiny))
        if flat.size:
            raise DimensionError(
                f'Axis {flat[0] + 1} does not vary, so scale="unit-variance" has nothing to stretch. Use fewer components.'
            )
        return 1.0 / spread


@dataclass(frozen=True)
class InverseSqrt:
    """``Y = √volume · U Λ^{−½}``: squared distances are commute times."""

    volume: float = 1.0

    def __call__(self, spectrum: Spectrum) -> Array:
        return np.sqrt(self.volume / spectrum.values)


@dataclass(frozen=True)
class Diffusion:
    """``(1 − λ)^t`` times √volume: Euclidean distances are diffusion distances after t steps."""

    time: float
    volume: float = 1.0

    def __call__(self, spectrum: Spectrum) -> Array:
        walk = 1.0 - spectrum.values
        return np.sqrt(self.volume) * np.sign(walk) ** (self.time % 2 == 1) * np.abs(walk) ** self.time


@dataclass(frozen=True)
class AxisWeights:
    """One of the four weightings of axes [S2, §2.3]: 1, 1/‖v‖, √|λ| and √|λ|/‖v‖.

    For costs that can be negative (`signed`) the gain is −λ, so √max(−λ, 0) is used, and axes with positive cost have weight zero.
    """

    kind: str = "unit"
    signed: bool = True

    def products(self, V: Array) -> Array | None:
        return V.T @ V if self.kind.endswith("norm") else None

    def __call__(self, spectrum: Spectrum) -> Array:
        factors = np.ones(spectrum.values.size)
        if self.kind.startswith("eigenvalue"):
            factors = np.sqrt(np.maximum(-spectrum.values if self.signed else spectrum.values, 0.0))
            if not factors.any():
                raise DimensionError(
                    f'axes={self.kind!r} weighs the axes by roots of their gain, but none of the {factors.size} has any: use axes="unit".'
                )
        return factors / np.linalg.norm(spectrum.vectors, axis=0) if self.kind.endswith("norm") else factors


@dataclass(frozen=True, eq=False)
class RatioWeights:
    """Weights of the axes of a trace ratio, whose eigenvalues sum to zero: the quotient ``v'Av / v'Bv`` stands for that of an axis v."""

    A: Form
    B: Form
    weights: AxisWeights

    def products(self, V: Array) -> Array | None:
        return V.T @ (self.B @ V) if self.weights.kind.startswith("eigenvalue") else None

    def __call__(self, spectrum: Spectrum) -> Array:
        V = spectrum.vectors
        above, below = (np.einsum("ij,ij->j", V, M @ V) for M in (self.A, self.B))
        quotients = np.divide(above, below, out=np.zeros_like(above), where=below > 1e-12 * below.max())
        return self.weights(replace(spectrum, values=quotients))
