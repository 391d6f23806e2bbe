"""What a data-dependent kernel is at a new point [S4, eq. 7].

A rule turns new points into rows R and a scale s; kernel rows are ``R F`` with a matrix F that has the eigenvectors of K, so that
``y(x) = s(x) R U diag(φ/√δ)`` needs only its eigenvalues φ:

=============  ==========================================  =========  =======
rule           rows R                                      F          φ
=============  ==========================================  =========  =======
`Values`       kernel values with the points, centred      I          1
`Factor`       the same of a linear kernel                 I          1
`Steps`        ``w(x, x_j) / √(d(x) d_j)``                 f(A) S⁻¹   δ/(1 − λ)
`Interpolated` weights that place x among its neighbours   K          δ
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
    """A rule of the table above; `known` finds the points of K among new ones."""

    known: Callable[[Any], Index] | None = None

    @property
    def through(self) -> str | None:
        """What carries R to kernel rows; None where R holds these already."""
        return None

    def __call__(self, X: Any) -> tuple[Any, Array]:
        """R, dense or sparse, and s."""
        raise NotImplementedError

    def factors(self, values: Array, behind: Array) -> Array:
        """φ, from the eigenvalues of K and those of the form that K is a function of."""
        return np.ones_like(values)

    def index(self, X: Any) -> Index:
        """Which of the points of K the new ones are, −1 where none."""
        return np.full(X.shape[0], -1) if self.known is None else self.known(X)


@dataclass(frozen=True, eq=False)
class Values(Extension):
    """Kernel values less their mean over the training points; each column as often as its point counts."""

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
    """The normalised affinity of x with the training points, of degrees d_j; density is what divided the weights before."""

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
        if walk.density is not None:  # the density at x is what its weights sum to before they are divided
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
    """``k(x, ·) = Σ_j r_j(x) s_j K(x_j, ·)`` with the weights r that place x among the training points."""

    rows: Any = None
    scale: Any = None

    @property
    def through(self) -> str | None:
        return "kernel"

    def __call__(self, X: Any) -> tuple[Any, Array]:
        R = sp.csr_array(self.rows(X))
        n = R.shape[1] // 2 if self.scale.size < R.shape[1] else R.shape[1]
        if n < R.shape[1]:  # the second half holds on to points of which x is all but a copy
            R = sp.csr_array(R[:, :n] + R[:, n:])
        return R @ sp.diags_array(self.scale), np.ones(X.shape[0])

    def factors(self, values: Array, behind: Array) -> Array:
        return values


def carried(kernel: Any, through: str) -> Array:
    """The matrix F that takes rows R to rows of the kernel."""
    if through == "kernel":
        return kernel.centred_matrix
    values, U = FunctionOf(kernel.standard.A, kernel.function, kernel.removed).eigenpairs
    steps = 1.0 - values
    used = np.abs(steps) > 1e-12
    return (U[:, used] * (kernel.function(values[used]) / steps[used])) @ U[:, used].T
