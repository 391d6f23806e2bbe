"""Points in few coordinates of single precision, between which distances are never larger than between the points themselves."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..eigen.dense import eigenpairs
from ..threads import in_slices, one_blas_thread

Array = NDArray[np.float64]
Single = NDArray[np.float32]

#: Points that the middle is found from, and the axes; features up to which these come from a covariance matrix.
_SAMPLE, _ROWS, _COVARIANCE = 1000, 4000, 1024
#: Axes of the last bound; all of them where there are not many more.
_AXES = 192
#: Points taken at a time.
_BLOCK = 2048
#: Length, in units of the median one, beyond which single precision may overflow.
_WILD = 2.0**50
#: Unit roundoffs.
_SINGLE, _DOUBLE = 2.0**-24, 2.0**-53


@dataclass(frozen=True, eq=False)
class Frame:
    """A middle that a few far points cannot move, a unit of length, and the leading principal axes of a sample.

    A point becomes (y, r): its q coordinates y along the axes, and the length r of what these leave of it. As ``|r − s| ≤ |u − v|`` where r
    and s are the lengths of u and v, no two points come to lie farther apart, whatever the orthonormal axes; principal ones put
    most of a distance into the first few coordinates.

    Attributes
    ----------
    centre : array of shape (D,)
    scale : float
        A power of two, which puts the median point at a length of about one.
    axes : array of shape (D, q), or None
        None for the coordinates as they are.
    """

    centre: Array
    scale: float
    axes: Array | None = None

    @classmethod
    def of(cls, points: Any, turned: bool = False) -> Frame:
        n, D = points.shape
        rng = np.random.default_rng(0)
        some = np.asarray(points[rng.choice(n, size=min(n, _SAMPLE), replace=False)], dtype=np.float64)
        centre = np.median(some, axis=0)
        reach = np.abs(some - centre).max(axis=1)
        if not reach.any():
            reach = np.array([np.abs(points[i : i + _BLOCK] - centre).max() for i in range(0, n, _BLOCK)])
        middle = float(np.median(reach[reach > 0])) * np.sqrt(D) if reach.any() else 1.0
        frame = cls(centre, 2.0 ** float(np.clip(-np.floor(np.log2(middle)), -1000, 1000)))
        if not turned:
            return frame
        rows = rng.choice(n, size=min(n, _ROWS if D <= _COVARIANCE else _SAMPLE), replace=False)
        Z, length = frame._place(points[np.sort(rows)])
        return cls(centre, frame.scale, _leading_axes(Z[length <= _WILD], D if 2 * D <= 3 * _AXES else _AXES))

    @property
    def width(self) -> int:
        """The number of coordinates."""
        return len(self.centre) if self.axes is None else self.axes.shape[1]

    def _place(self, X: Any) -> tuple[Array, Array]:
        with np.errstate(over="ignore"):  # new points may be anywhere
            Z = (X - self.centre) * self.scale
            return Z, np.sqrt(np.einsum("ij,ij->i", Z, Z))

    def coordinates(self, X: Any) -> tuple[Array, Array, Array]:
        """y, r and the lengths of some points; not numbers, and of no length, where these are far beyond all others."""
        Z, length = self._place(X)
        wild = ~(length <= _WILD)
        Z[wild], length[wild] = np.nan, 0.0
        Y = Z if self.axes is None else Z @ self.axes
        if self.axes is None or self.width == len(self.centre):
            return Y, np.where(wild, np.nan, 0.0), length
        rest = length**2 - np.einsum("ij,ij->i", Y, Y)
        return Y, np.sqrt(np.where(rest < 0, 0, rest)), length

    def fold(self, X: Any, p: int, n_threads: int = 1) -> tuple[Single, Array]:
        """Points as rows of c vectors of p coordinates and the length of what is left after them (m, c, p + 1), and their lengths."""
        m, c = X.shape[0], -(-self.width // p)
        F, lengths = np.zeros((m, c, p + 1), dtype=np.float32), np.empty(m)

        def some(rows: slice) -> None:
            Y, rest, lengths[rows] = self.coordinates(X[rows])
            left = rest**2
            for i in range(c)[::-1]:
                part = Y[:, i * p : (i + 1) * p]
                F[rows, i, : part.shape[1]], F[rows, i, p] = part, np.sqrt(left)
                left += np.einsum("ij,ij->i", part, part)

        in_slices(some, m, _BLOCK, n_threads)
        return F, lengths

    @cached_property
    def slack(self) -> float:
        """What rounding may add to a distance between such vectors, relative to the sum of the lengths of the two points.

        Entries are rounded to single precision. The length of the rest comes from a difference of squares in double precision, and from
        axes that are orthonormal up to rounding.
        """
        if self.axes is None or self.width == len(self.centre):
            return 2.2 * _SINGLE
        skew = float(np.linalg.norm(self.axes.T @ self.axes - np.eye(self.width)))
        return 2.2 * _SINGLE + float(np.sqrt(2 * _DOUBLE * sum(self.axes.shape) + skew))


def _leading_axes(Z: Array, q: int) -> Array:
    """The q leading principal axes of centred rows, which need not be accurate: of few rows in many features, as many as there are."""
    m, D = Z.shape
    with one_blas_thread():
        if D <= _COVARIANCE:
            return np.ascontiguousarray(eigenpairs(Z.T @ Z, q, "max")[1])
        U = eigenpairs(Z @ Z.T, min(q, m), "max")[1]
        return np.ascontiguousarray(np.linalg.qr(Z.T @ U)[0])
