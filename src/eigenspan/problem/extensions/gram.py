"""Out-of-sample extension of Gram-matrix methods: ``y(x) = Λ^{−½} Uᵀ (g(x) − ḡ)``.

With g(x) = k(x, ·) this is the projection of kernel PCA; with g(x) = −½ δ²(x, ·) it is the triangulation of landmark MDS and of
Isomap. Both are the Nyström formula, because the columns of U sum to zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ..._types import Array, Index, Matrix, MetricLike
from ...graphs.neighbours.geodesics import mean_by_row
from ...numerics.nearest.finders import Finder
from ...numerics.nearest.metric import point_distances
from ..map import Map, Raw
from ..spectrum import Spectrum

#: Number of sums up to which numpy is faster than loading the compiled loop.
_SMALL = 100_000_000
#: Bytes of geodesic distances gathered at once.
_BLOCK_BYTES = 64 * 2**20


@dataclass(frozen=True, eq=False)
class GramExtension:
    """Extension of ``Y = U Λ^½``: the coefficients are ``Y Λ⁻¹``, times the masses of the points.

    `digits_lost` is True if a warning has said that rounding shows in all axes.
    """

    rows: Callable[[Matrix], Array]
    offset: Array
    known: Callable[[Matrix], Index] | None = None
    masses: Array | None = None
    digits_lost: bool = False

    def __call__(self, Y: Array, spectrum: Spectrum) -> Map:
        coef = Y / spectrum.values
        if self.masses is not None:
            coef *= self.masses[:, None]
        return Map(self.rows, coef, offset=self.offset, known=self.known, embedding=None if self.known is None else Y)


@dataclass(frozen=True, eq=False)
class FactorExtension:
    """Extension for a Gram matrix ``RRᵀ`` of centred points: ``y(x) = (x − centre) Rᵀ Y Λ⁻¹``, a linear map."""

    R: Array
    centre: Array

    def __call__(self, Y: Array, spectrum: Spectrum) -> Map:
        return Map(Raw(), self.R.T @ (Y / spectrum.values), offset=self.centre)


@dataclass(frozen=True, eq=False)
class DistanceGram:
    """``x -> −½ δ²(x, ·)`` to fixed points, with the additive corrections of the distances."""

    points: Matrix
    metric: MetricLike = "euclidean"
    columns: Index | None = None
    added: float = 0.0
    added_to_squares: float = 0.0

    def __call__(self, X: Matrix) -> Array:
        if self.points is None:
            D = np.asarray(X, dtype=np.float64)
            D = D if self.columns is None else D[:, self.columns]
        else:
            D = point_distances(X, self.points, self.metric)
        return half_squares(D, self.added, self.added_to_squares)


def half_squares(D: Array, added: float = 0.0, added_to_squares: float = 0.0) -> Array:
    """Return ``−½ (d + c)² − ½ c'`` for d > 0 (Cailliez's c, Lingoes's c'), and zero for d = 0."""
    if added == 0 and added_to_squares == 0:
        G = np.square(D)
        G *= -0.5
        return G
    return np.where(D > 0, -0.5 * ((D + added) ** 2 + added_to_squares), 0.0)


@dataclass(frozen=True, eq=False)
class GeodesicGram:
    """``x -> −½ δ²(x, ·)`` with δ the shortest path through the neighbours of x to each of the q anchor points.

    `geodesics` is (n, q); `joining` finds the neighbours of new points by the rule of the training graph. With conformal weights M, the
    first step is divided by √(M(x) M_j), where M(x) is the mean distance from x to its k nearest training points. `added` is the constant
    that was added to the training distances.
    """

    joining: Finder
    geodesics: Array
    conformal: Array | None = None
    added: float = 0.0

    def __call__(self, X: Matrix) -> Array:
        lists, steps = self.joining.listed(X)
        lengths = steps.data
        if self.conformal is not None:
            m = steps.shape[0]
            own = mean_by_row(np.repeat(np.arange(m), np.diff(lists.indptr)), lists.data, m)
            own = np.where(own > 0, own, self.conformal.min())
            rows = np.repeat(np.arange(m), np.diff(steps.indptr))
            lengths = lengths / np.sqrt(own[rows] * self.conformal[steps.indices])
        return half_squares(_first_steps(steps, lengths, self.geodesics), self.added)


def _first_steps(steps: sp.csr_array, lengths: Array, geodesics: Array) -> Array:
    """Return the lengths (rows, q) of the shortest paths that begin with one of the steps of each row."""
    out = np.empty((steps.shape[0], geodesics.shape[1]))
    if steps.nnz * out.shape[1] <= _SMALL:
        for i in range(steps.shape[0]):
            a, b = steps.indptr[i], steps.indptr[i + 1]
            out[i] = (lengths[a:b, None] + geodesics[steps.indices[a:b]]).min(axis=0)
        return out
    from ...numerics.paths.first_steps import first_steps

    step = max(1, int(_BLOCK_BYTES * steps.shape[0] / (8 * steps.nnz * out.shape[1])))
    for i in range(0, steps.shape[0], step):
        starts = steps.indptr[i : i + step + 1]
        part = slice(starts[0], starts[-1])
        used, where = np.unique(steps.indices[part], return_inverse=True)
        out[i : i + step] = first_steps(starts - starts[0], where, lengths[part], geodesics[used])
    return out
