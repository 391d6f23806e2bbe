"""Values of data-dependent kernels at new points [S4, eq. 7].

A rule maps new points to rows R and a scale s. Kernel rows are ``R F`` with a matrix F that has the eigenvectors of K, so
``y(x) = s(x) R U diag(φ/√δ)`` needs only its eigenvalues φ:

=============  ==========================================  =========  =======
rule           rows R                                      F          φ
=============  ==========================================  =========  =======
`Values`       centred kernel values with the points       I          1
`Factor`       centred values of a linear kernel           I          1
`Steps`        ``w(x, x_j) / √(d(x) d_j)``                 f(A) S⁻¹   δ/(1 − λ)
`Interpolated` weights of x on its neighbours              K          δ
=============  ==========================================  =========  =======
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..problem.extensions.walk import WalkRows
from ..problem.matrix_functions import FunctionOf

Array = NDArray[np.float64]
Index = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Extension:
    """A rule of the table above; `known` finds training points among new points."""

    known: Callable[[Any], Index] | None = None

    @property
    def through(self) -> str | None:
        """Kind of the matrix F, "walk" or "kernel"; None if F is the identity."""
        return None

    def __call__(self, X: Any) -> tuple[Any, Array]:
        """Return R, dense or sparse, and s."""
        raise NotImplementedError

    def factors(self, values: Array, behind: Array) -> Array:
        """Return φ from the eigenvalues of K and those of the form of which K is a function."""
        return np.ones_like(values)

    def index(self, X: Any) -> Index:
        """Return the number of the training point that equals each new point, or −1."""
        return np.full(X.shape[0], -1) if self.known is None else self.known(X)


@dataclass(frozen=True, eq=False)
class Values(Extension):
    """Kernel values minus their mean over the training points, with columns multiplied by the roots of the masses."""

    rows: Any = None
    offset: Any = None
    roots: Array | None = None

    def __call__(self, X: Any) -> tuple[Any, Array]:
        R = self.rows(X) - self.offset
        return R if self.roots is None else R * self.roots, np.ones(X.shape[0])


@dataclass(frozen=True, eq=False)
class Factor(Extension):
    """Inner products ``(f(x) − c) Rᵀ`` of features with those of the training points."""

    features: Any = None
    factor: Any = None
    offset: Any = None

    def __call__(self, X: Any) -> tuple[Any, Array]:
        K = self.features(X) @ self.factor.T
        K = K.toarray() if sp.issparse(K) else np.asarray(K)
        return K if self.offset is None else K - self.offset @ self.factor.T, np.ones(X.shape[0])


@dataclass(frozen=True, eq=False)
class Steps(Extension):
    """Normalised affinities of x with the training points of degrees d_j, after division by densities if the method does so."""

    walk: WalkRows | None = None
    degrees: Any = None
    alpha: float = 0.0
    direct: bool = True

    @property
    def through(self) -> str | None:
        return None if self.direct else "walk"

    def __call__(self, X: Any) -> tuple[Any, Array]:
        walk: Any = self.walk
        W = walk.weights(walk.joining.relate(X), X)
        own = np.ones(X.shape[0])
        if walk.density is not None:  # the density at x is the sum of its weights before division
            own = np.asarray(
                sp.csr_array((W.data * walk.density[W.indices], W.indices, W.indptr), shape=W.shape).sum(axis=1)
            )
            own = own.ravel() ** self.alpha
        degree = np.asarray(W.sum(axis=1)).ravel() / own
        left, right = 1.0 / (own * np.sqrt(degree)), 1.0 / np.sqrt(self.degrees)
        return sp.csr_array(sp.diags_array(left) @ W @ sp.diags_array(right)), 1.0 / np.sqrt(degree)

    def factors(self, values: Array, behind: Array) -> Array:
        return np.ones_like(values) if self.direct else values / (1.0 - behind)


@dataclass(frozen=True, eq=False)
class Interpolated(Extension):
    """``k(x, ·) = Σ_j r_j(x) s_j K(x_j, ·)`` with the interpolation weights r of x."""

    rows: Any = None
    scale: Any = None

    @property
    def through(self) -> str | None:
        return "kernel"

    def __call__(self, X: Any) -> tuple[Any, Array]:
        R = sp.csr_array(self.rows(X))
        n = R.shape[1] // 2 if self.scale.size < R.shape[1] else R.shape[1]
        if n < R.shape[1]:  # the second half has the weights of training points that are nearly equal to x
            R = sp.csr_array(R[:, :n] + R[:, n:])
        return R @ sp.diags_array(self.scale), np.ones(X.shape[0])

    def factors(self, values: Array, behind: Array) -> Array:
        return values


def row_factor(kernel: Any, through: str) -> Array:
    """Return the matrix F that maps rows R to rows of the kernel."""
    if through == "kernel":
        return kernel.centred_matrix
    values, U = FunctionOf(kernel.standard.A, kernel.function, kernel.removed).eigenpairs
    steps = 1.0 - values
    used = np.abs(steps) > 1e-12
    return (U[:, used] * (kernel.function(values[used]) / steps[used])) @ U[:, used].T
