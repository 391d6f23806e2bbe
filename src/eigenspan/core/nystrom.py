"""Nyström features of many samples, ``φ(x) = K_mm^{−½} k_m(x)``, their moments summed block by block: n×m is never held."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._diagnostics import note, stage
from .._resources import require
from ..errors import KernelError
from ..graphs.landmarks import choose_landmarks
from ..input.x import KernelValues
from ..solvers import dense
from .basis import _feature_axes
from .kernels import KernelRows, gram_matrix, kernel_rows, schur_share, warn_of_lost_digits
from .map import Map
from .spectrum import Spectrum

Array = NDArray[np.float64]

#: Bytes of one block of kernel rows.
_BLOCK_BYTES = 32 * 2**20


@dataclass(frozen=True, eq=False)
class NystromFeatures:
    """Centred features ``(k_m(x) − offset) @ lift`` of the samples X, and their scatter.

    Attributes
    ----------
    rows : KernelRows
        Kernel values with the m landmarks.
    X : array of shape (n, D)
        The samples; every pass over them computes their kernel rows anew.
    lift : ndarray of shape (m, r)
        Orthonormal axes of the landmarks' feature space.
    offset : ndarray of shape (m,)
        Mean kernel row.
    scatter : ndarray of shape (r, r)
        ``Σ φφᵀ`` of the centred features.
    """

    rows: KernelRows
    X: Any
    lift: Array
    offset: Array
    scatter: Array

    def embed(self, V: Array) -> Array:
        return self.map(V)(self.X)

    def map(self, V: Array, spectrum: Spectrum | None = None) -> Map:
        return Map(self.rows, self.lift @ V, offset=self.offset)

    @classmethod
    def build(
        cls, kernel: Any, X: Any, landmarks: Any, *, random_state: Any = 0, rtol: float = 1e-10
    ) -> NystromFeatures:
        """Two GEMMs of n×m×m in all; 32 MB of kernel rows and a few m×m arrays at a time."""
        full, given = kernel_rows(kernel, X), isinstance(X, KernelValues)
        X = X.values if given else X
        chosen = choose_landmarks(
            X,
            landmarks,
            random_state=random_state,
            precomputed=given,
            kernel=partial(full.block, X),
        )
        m = chosen.size
        require(48.0 * m**2, f"The matrices of {m} landmarks", f"Use fewer: landmarks={max(2, m // 2)}.")
        rows = full.among(chosen)
        among = gram_matrix(rows, X[chosen])
        warn_of_lost_digits(rows, among)
        axes = _feature_axes(among, rtol, float(np.abs(among).max()))
        with stage("moments"):
            offset, scatter = _moments(rows, X, axes, among.mean(axis=0))
        explained = float(np.trace(scatter)) + X.shape[0] * float(np.sum((offset @ axes) ** 2))
        note(nystrom_error=schur_share(full, X, explained))
        values, Q = dense.eigenpairs(scatter, None, "max")
        noise = X.shape[0] * float(np.sum((1e-13 * (offset @ axes)) ** 2))
        keep = values > max(1e-13 * values.max(initial=0.0), noise)
        if not keep.any():
            raise KernelError(
                f"The kernel sees no difference between the {X.shape[0]} points: its values with the {m} landmarks lie between "
                f"{among.min():.6g} and {among.max():.6g} among these, and nothing positive is left of them after centring."
            )
        if not keep.all():
            Q = Q[:, keep]
            axes, scatter = axes @ Q, dense.symmetric(Q.T @ scatter @ Q)
        return cls(rows, X, axes, offset, scatter)


def _moments(rows: KernelRows, X: Any, axes: Array, near: Array) -> tuple[Array, Array]:
    """Mean kernel row and centred scatter of the features in one pass; sums are about `near`, a guess of the mean."""
    n = X.shape[0]
    total = np.zeros(axes.shape[0])
    scatter = np.zeros((axes.shape[1], axes.shape[1]))
    step = max(1, _BLOCK_BYTES // (8 * axes.shape[0]))
    for i in range(0, n, step):
        K = rows(X[i : i + step]) - near
        total += K.sum(axis=0)
        F = K @ axes
        scatter += F.T @ F
    shift = (total / n) @ axes
    return near + total / n, dense.symmetric(scatter - n * np.outer(shift, shift))
