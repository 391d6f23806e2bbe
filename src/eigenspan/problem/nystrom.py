"""Nyström features of many samples, ``φ(x) = K_mm^{−½} k_m(x)``, with moments summed block by block: no n×m array."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._diagnostics import note, stage
from .._types import Array, Matrix
from ..data.rows.block_passes import refuse_non_finite
from ..data.rows.dask_rows import LazyRows
from ..data.x import KernelValues, as_rows
from ..errors import KernelError
from ..graphs.distributed.landmark_pool import lazy_landmarks
from ..graphs.landmarks import choose_landmarks
from ..numerics.eigen import dense
from ..numerics.eigen.centred import column_means
from ..numerics.memory import require
from ..numerics.nearest.metric import drawn_rows
from .kernels import (
    DataKernel,
    KernelRows,
    feature_axes,
    gram_matrix,
    kernel_rows,
    schur_share,
    warn_of_lost_digits,
)
from .map import Map
from .spectrum import Spectrum

Sums = tuple[int, Array, Array]

#: Bytes of one block of kernel rows.
_BLOCK_BYTES = 32 * 2**20


@dataclass(frozen=True, eq=False)
class NystromFeatures:
    """Features ``(k_m(x) − offset) @ lift`` of the samples X, and their scatter.

    Attributes
    ----------
    rows : KernelRows
        Kernel values with the m landmarks.
    X : array of shape (n, D)
        The samples; every pass computes their kernel rows again.
    lift : ndarray of shape (m, r)
        Orthonormal axes of the landmarks' feature space.
    offset : ndarray of shape (m,)
        Mean kernel row; zero if the features are taken about the origin.
    scatter : ndarray of shape (r, r)
        ``Σ φφᵀ`` of the features.
    """

    rows: KernelRows
    X: Any
    lift: Array
    offset: Array
    scatter: Array

    @property
    def raw(self) -> Any:
        """The samples; None if they are out of process."""
        return None if isinstance(self.X, LazyRows) else self.X

    def embed(self, V: Array) -> Array:
        return self.map(V)(self.X)

    def map(self, V: Array, spectrum: Spectrum | None = None) -> Map:
        return Map(self.rows, self.lift @ V, offset=self.offset)

    @classmethod
    def build(
        cls, kernel: Any, X: Any, landmarks: Any, *, center: bool = True, random_state: Any = 0, rtol: float = 1e-10
    ) -> NystromFeatures:
        """Build the features. Cost: two products of n×m×m; memory: 32 MB of kernel rows and a few m×m arrays."""
        rows, among = landmark_kernel(kernel, X, landmarks, center=center, random_state=random_state)
        X, m = X.values if isinstance(X, KernelValues) else X, len(among)
        axes = feature_axes(rows, among, float(np.abs(among).max()), rtol)
        with stage("moments"):
            offset, scatter = _moments(rows, X, axes, column_means(among, center), center)
        if not isinstance(X, LazyRows):
            explained = float(np.trace(scatter)) + X.shape[0] * float(np.sum((offset @ axes) ** 2))
            note(nystrom_error=schur_share(rows, X, explained))
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


@dataclass(frozen=True, eq=False)
class NystromRows:
    """Nyström features of points: ``k_m(x) @ axes``."""

    rows: KernelRows
    axes: Array

    @property
    def points(self) -> Any:
        return self.rows.points

    @classmethod
    def of(cls, kernel: Any, X: Any, landmarks: Any, *, random_state: Any = 0, rtol: float = 1e-10) -> NystromRows:
        """Return the features with landmarks of X, in any storage."""
        rows, among = landmark_kernel(kernel, X, landmarks, random_state=random_state)
        return cls(rows, feature_axes(rows, among, float(np.abs(among).max()), rtol))

    def __call__(self, X: Matrix) -> Array:
        return self.rows(X) @ self.axes


def landmark_kernel(
    kernel: Any, X: Any, landmarks: Any, *, center: bool = True, random_state: Any = 0
) -> tuple[KernelRows, Array]:
    """Return kernel rows with the landmarks of X, in any storage, and the kernel matrix of the landmarks."""
    if isinstance(X, LazyRows):
        if isinstance(kernel, DataKernel):
            raise KernelError(
                f"{kernel!r:.60} is a kernel of all points together, and X lies on a cluster: use another."
            )
        few = as_rows(X[drawn_rows(X.shape[0])])
        full = kernel_rows(kernel, few)
        chosen = lazy_landmarks(
            X, landmarks, random_state=random_state, kernel=lambda points: partial(full.block, points)
        )
        points = as_rows(X[chosen])
        rows = replace(full, points=points, columns=chosen)
    else:
        full, given = kernel_rows(kernel, X), isinstance(X, KernelValues)
        X = X.values if given else X
        block = partial(full.block, X)
        chosen = choose_landmarks(X, landmarks, random_state=random_state, precomputed=given, kernel=block)
        rows, points = full.among(chosen), X[chosen]
    m = chosen.size
    require(48.0 * m**2, f"The matrices of {m} landmarks", f"Use fewer: landmarks={max(2, m // 2)}.")
    among = gram_matrix(rows, points)
    warn_of_lost_digits(rows, among, center)
    return rows, among


def _moments(rows: KernelRows, X: Matrix | LazyRows, axes: Array, near: Array, center: bool) -> tuple[Array, Array]:
    """Return the mean kernel row and centred scatter of the features in one pass; sums are about `near`, an estimate of the mean.

    Without `center`, return `near` and the scatter about it.
    """
    sums = partial(_sums, rows=rows, axes=axes, near=near)
    n, total, scatter = X.reduce(sums, add=_added) if isinstance(X, LazyRows) else sums(X)
    if not center:
        return near, dense.symmetric(scatter)
    shift = (total / n) @ axes
    return near + total / n, dense.symmetric(scatter - n * np.outer(shift, shift))


def _added(one: Sums, two: Sums) -> Sums:
    return one[0] + two[0], one[1] + two[1], one[2] + two[2]


def _sums(X: Matrix, rows: KernelRows, axes: Array, near: Array) -> Sums:
    """Return the number of rows, and the sums of their kernel rows about `near` and of the products of their features."""
    n = X.shape[0]
    if not sp.issparse(X):
        refuse_non_finite(X)
    total = np.zeros(axes.shape[0])
    scatter = np.zeros((axes.shape[1], axes.shape[1]))
    step = max(1, _BLOCK_BYTES // (8 * axes.shape[0]))
    for i in range(0, n, step):
        K = rows(as_rows(X[i : i + step])) - near
        total += K.sum(axis=0)
        F = K @ axes
        scatter += F.T @ F
    return n, total, scatter
