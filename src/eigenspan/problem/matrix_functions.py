"""Functions of a sparse symmetric matrix: its pseudo-inverse, its heat kernel, powers of its random walk."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._types import Array
from ..errors import EigenspanWarning
from ..numerics.eigen import dense
from ..numerics.memory import require
from .form import Form
from .pose import TraceProblem, solve

#: Value of the heat kernel's function below which eigenpairs are left out.
_NOTHING = 1e-12
#: Number of points up to which all eigenpairs are computed.
_SMALL = 2000
#: Number of eigenpairs computed first for a decaying function.
_FEW = 64


@dataclass(frozen=True)
class Same:
    """λ: the form is the kernel."""

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
    """``a/λ`` for λ above `floor`, zero otherwise: the pseudo-inverse."""

    factor: float = 1.0
    floor: float = 0.0

    def __call__(self, values: Array) -> Array:
        positive = values > self.floor
        return np.where(positive, self.factor / np.where(positive, values, 1.0), 0.0)


@dataclass(frozen=True)
class Walked:
    """``a |1 − λ|^2t``: 2t steps of the random walk."""

    time: float
    factor: float = 1.0

    def __call__(self, values: Array) -> Array:
        return self.factor * np.abs(1.0 - values) ** (2 * self.time)


@dataclass(frozen=True)
class Diffused:
    """``exp(−tλ)``: heat after time t."""

    time: float

    def __call__(self, values: Array) -> Array:
        return np.exp(-self.time * np.maximum(values, 0.0))


@dataclass(frozen=True, eq=False)
class FunctionOf:
    """``f(A)`` for a symmetric A: ``Σ f(λ_i) u_i u_iᵀ`` over all eigenvectors except the removed ones, N.

    Attributes
    ----------
    form : Form
        A.
    function : callable
        f, which takes an array of eigenvalues.
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
        """True if f is large at both ends of the spectrum."""
        return isinstance(self.function, Walked)

    @cached_property
    def eigenpairs(self) -> tuple[Array, Array]:
        """All eigenpairs of A except N, smallest first. Cost O(n³) and three n×n arrays."""
        require(32.0 * self.n**2, f"The eigenvectors of a {self.n}×{self.n} matrix", "Fit fewer points.")
        M, q = self.form.to_dense(), 0
        if (
            self.removed is not None
        ):  # shifted beyond the largest eigenvalue, so that rounding cannot mix them with small ones
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

    def factor(self, rank: int | None = None) -> Array:
        """Return F with n rows and ``FFᵀ = f(A)`` for a positive f, from the `rank` smallest eigenvalues of A (None: all that matter).

        For a decaying function these may be few; then only they are computed.
        """
        values, U = self.smallest(rank)
        weights = self.function(values)
        keep = weights > 1e-15 * weights.max(initial=0.0)
        return U[:, keep] * np.sqrt(weights[keep])

    def smallest(self, rank: int | None) -> tuple[Array, Array]:
        most = self.n - (0 if self.removed is None else self.removed.shape[1])
        problem = TraceProblem(self.form, None, "min", self.removed)
        if rank is not None and rank < most:
            found = solve(problem, rank)
            return found.values, found.vectors
        if rank is not None or self.n <= _SMALL or not isinstance(self.function, Diffused):
            return self.eigenpairs
        wanted = _FEW
        while wanted <= self.n // 16:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", EigenspanWarning)  # equal eigenvalues do not matter where f vanishes
                found = solve(problem, wanted)
            if self.function(found.values[-1:])[0] <= _NOTHING:
                return found.values, found.vectors
            # eigenvalues of a two-dimensional manifold grow linearly with their number, those of other manifolds more slowly
            wanted = int(1.2 * wanted * -np.log(_NOTHING) / (self.function.time * found.values[-1]))
        return self.eigenpairs


Operator = Form | FunctionOf
