"""Coordinates of points in a few single-precision numbers, whose distances never exceed those of the points."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..._types import Array, Matrix, Single
from ..eigen.dense import eigenpairs
from ..threads import in_slices, one_blas_thread

#: Number of points that determine the centre, number that determine the axes, and largest number of features for a covariance matrix.
_SAMPLE, _ROWS, _COVARIANCE = 1000, 4000, 1024
#: Number of axes of the last bound; all axes if there are not many more.
_AXES = 192
#: Number of points processed at a time.
_BLOCK = 2048
#: Length, in units of the median length, beyond which single precision may overflow.
_WILD = 2.0**50
#: Unit roundoff of single and of double precision.
_SINGLE, _DOUBLE = 2.0**-24, 2.0**-53


@dataclass(frozen=True, eq=False)
class Frame:
    """A robust centre, a unit of length, and the leading principal axes of a sample.

    A point becomes (y, r): its q coordinates y along the axes, and the length r of the remainder. Because ``|r − s| ≤ |u − v|`` for the
    lengths r and s of u and v, no distance increases, whatever the orthonormal axes; principal axes put most of a distance into the first
    few coordinates.

    Attributes
    ----------
    centre : array of shape (D,)
    scale : float
        A power of two that scales the median point to a length of about one.
    axes : array of shape (D, q), or None
        None if the coordinates are not rotated.
    """

    centre: Array
    scale: float
    axes: Array | None = None

    @classmethod
    def of(cls, points: Matrix, turned: bool = False) -> Frame:
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
        """The number of coordinates q."""
        return len(self.centre) if self.axes is None else self.axes.shape[1]

    def _place(self, X: Matrix) -> tuple[Array, Array]:
        with np.errstate(over="ignore"):  # new points may be arbitrarily far away
            Z = (X - self.centre) * self.scale
            return Z, np.sqrt(np.einsum("ij,ij->i", Z, Z))

    def coordinates(self, X: Matrix) -> tuple[Array, Array, Array]:
        """Return y, r and the lengths of the points; points far beyond all others get NaN coordinates and length zero."""
        Z, length = self._place(X)
        wild = ~(length <= _WILD)
        Z[wild], length[wild] = np.nan, 0.0
        Y = Z if self.axes is None else Z @ self.axes
        if self.axes is None or self.width == len(self.centre):
            return Y, np.where(wild, np.nan, 0.0), length
        rest = length**2 - np.einsum("ij,ij->i", Y, Y)
        return Y, np.sqrt(np.where(rest < 0, 0, rest)), length

    def fold(self, X: Matrix, p: int, n_threads: int = 1) -> tuple[Single, Array]:
        """Return points as c blocks of p coordinates, each with the length of the remainder (m, c, p + 1), and their lengths."""
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
        """Return the rounding error of a distance between such vectors, relative to the sum of the lengths of the two points.

        Entries are rounded to single precision. The length of the remainder comes from a difference of squares in double precision, and
        from axes that are orthonormal up to rounding.
        """
        if self.axes is None or self.width == len(self.centre):
            return 2.2 * _SINGLE
        skew = float(np.linalg.norm(self.axes.T @ self.axes - np.eye(self.width)))
        return 2.2 * _SINGLE + float(np.sqrt(2 * _DOUBLE * sum(self.axes.shape) + skew))


def _leading_axes(Z: Array, q: int) -> Array:
    """Return q approximate leading principal axes of centred rows; fewer if there are fewer rows than features and than q."""
    m, D = Z.shape
    with one_blas_thread():
        if D <= _COVARIANCE:
            return np.ascontiguousarray(eigenpairs(Z.T @ Z, q, "max")[1])
        U = eigenpairs(Z @ Z.T, min(q, m), "max")[1]
        return np.ascontiguousarray(np.linalg.qr(Z.T @ U)[0])
