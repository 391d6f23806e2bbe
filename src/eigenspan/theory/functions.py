"""Matrices that are functions of a sparse form: its pseudo-inverse, powers of its walk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .._resources import require
from ..core import Form
from ..solvers import dense

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Same:
    """λ itself: the form is the kernel."""

    def __call__(self, values: Array) -> Array:
        return values


@dataclass(frozen=True)
class Shifted:
    """``μ − λ``."""

    mu: float

    def __call__(self, values: Array) -> Array:
        return self.mu - values


@dataclass(frozen=True)
class Reciprocal:
    """``a/λ``, and zero where λ is no more than `floor`: the pseudo-inverse."""

    factor: float = 1.0
    floor: float = 0.0

    def __call__(self, values: Array) -> Array:
        positive = values > self.floor
        return np.where(positive, self.factor / np.where(positive, values, 1.0), 0.0)


@dataclass(frozen=True)
class Walked:
    """``a |1 − λ|^2t``: t steps of the walk, there and back."""

    time: float
    factor: float = 1.0

    def __call__(self, values: Array) -> Array:
        return self.factor * np.abs(1.0 - values) ** (2 * self.time)


@dataclass(frozen=True, eq=False)
class FunctionOf:
    """``f(A)``, for a symmetric A without the directions N: ``Σ f(λ_i) u_i u_iᵀ`` over all others.

    Attributes
    ----------
    form : Form
        A.
    function : callable
        f, of an array of eigenvalues.
    removed : ndarray of shape (n, q) or None
        N, orthonormal eigenvectors of A.
    """

    form: Form
    function: Callable[[Array], Array]
    removed: Array | None = None

    @property
    def n(self) -> int:
        return self.form.n

    @property
    def both_ends(self) -> bool:
        """f is large at either end of the spectrum."""
        return isinstance(self.function, Walked)

    @cached_property
    def eigenpairs(self) -> tuple[Array, Array]:
        """All eigenpairs of A without N, smallest first. Cost O(n³) and three n×n arrays."""
        require(32.0 * self.n**2, f"The eigenvectors of a {self.n}×{self.n} matrix", "Fit fewer points.")
        M, q = self.form.to_dense(), 0
        if self.removed is not None:  # moved beyond the largest, where rounding cannot mix them with small ones
            q = self.removed.shape[1]
            M = M + 4 * max(self.form.norm(), 1.0) * (self.removed @ self.removed.T)
        values, U = dense.eigenpairs(dense.symmetric(M))
        return values[: self.n - q], U[:, : self.n - q]

    def to_dense(self) -> Array:
        values, U = self.eigenpairs
        return (U * self.function(values)) @ U.T

    def __matmul__(self, Z: Array) -> Array:
        values, U = self.eigenpairs
        return U @ ((U.T @ Z).T * self.function(values)).T


Operator = Form | FunctionOf
