"""Sums over pairs of points from which stress and correlation are computed.

The sums are those of squared differences, with scale and offset estimated beforehand. If two sets of distances agree, the result is
then a sum of small numbers and not the difference of two large ones, which would cancel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Index = NDArray[np.intp]

#: Number of rows from which scale and offset are estimated, and the limit on their pairs.
_GUESS, _GUESSED = 32, 2**21
#: Pairs per chunk: their differences fit in the processor cache.
_CELLS = 2**15


def guessing_rows(rows: Index, n: int) -> Index:
    """Return evenly spaced rows from which scale and offset are estimated."""
    few = max(2, min(_GUESS, _GUESSED // n))
    return rows[:: max(1, rows.size // few)][: few + 1]


class PairSums:
    """Sums over the pairs of each row with all other points, for distances x in the data and y in the embedding.

    Parameters
    ----------
    x, y : ndarray of shape (b, n)
        Distances from some rows to all points, from which scale and line are estimated.
    m : int
        Number of rows that will be added.

    Attributes
    ----------
    scale : float
        Estimate of the best factor of y.
    line : tuple of float
        Estimates of the means of x and y, and of the slope.
    rows : ndarray of shape (m, 11)
        For each row, with e = x − scale·y, u = x − mean x, v = y − mean y and f = u − slope·v, the sums of x², y², ey, e², 1, u, v,
        u², v², fv and f².
    """

    def __init__(self, x: Array, y: Array, m: int) -> None:
        self.scale = float(_ratio(np.vdot(x, y), np.vdot(y, y)))
        self.line = guessed_line(x, y, 1 - 1 / x.shape[1])  # the zero distance of a row to itself is not counted
        self.rows: Array = np.zeros((m, 11))

    def add(self, where: slice, x: Array, y: Array, own: Index) -> None:
        """Add the rows at positions `where`; `own` are their column numbers."""
        out, step = self.rows[where], max(1, _CELLS // x.shape[1])
        for i in range(0, own.size, step):
            some = slice(i, i + step)
            out[some] = self._sums(x[some], y[some], own[some])

    def _sums(self, x: Array, y: Array, own: Index) -> Array:
        mean_x, mean_y, slope = self.line
        e, u, v = x - self.scale * y, x - mean_x, y - mean_y
        itself = np.arange(own.size), own
        u[itself] = v[itself] = 0.0
        f = u - slope * v
        pairs = np.full(own.size, x.shape[1] - 1.0)
        squares = [
            np.einsum("ij,ij->i", a, b) for a, b in ((x, x), (y, y), (e, y), (e, e), (u, u), (v, v), (f, v), (f, f))
        ]
        return np.stack([*squares[:4], pairs, u.sum(axis=1), v.sum(axis=1), *squares[4:]], axis=1)

    def stress(self, sums: Array) -> Any:
        """Return Kruskal's stress-1 at the best scale from sums (..., 11) over rows."""
        xx, yy, ey, ee = np.moveaxis(sums[..., :4], -1, 0)
        left = ee - ey * _ratio(ey, yy)
        return np.sqrt(np.clip(_ratio(left, xx), 0.0, 1.0))

    def raw_stress(self, sums: Array) -> Any:
        """Return stress-1 without scaling, by x − y = e + (scale − 1) y."""
        xx, yy, ey, ee = np.moveaxis(sums[..., :4], -1, 0)
        more = self.scale - 1.0
        return np.sqrt(np.maximum(_ratio(ee + 2 * more * ey + more**2 * yy, xx), 0.0))

    def unexplained(self, sums: Array) -> Any:
        """Return one minus the squared correlation of x and y."""
        return unexplained(sums[..., 4:], self.line)


def unexplained(sums: Array, line: tuple[float, float, float]) -> Any:
    """Return one minus the squared correlation from the sums of 1, u, v, u², v², fv and f² in `PairSums`; 1 if y is constant."""
    n, u, v, uu, vv, fv, ff = np.moveaxis(sums, -1, 0)
    f = u - line[2] * v
    total, across, with_v, left = uu - u * u / n, vv - v * v / n, fv - f * v / n, ff - f * f / n
    flat = across <= 1e-24 * (vv + line[1] ** 2 * n)
    return np.where(flat, 1.0, np.clip(_ratio(left - with_v * _ratio(with_v, across), total), 0.0, 1.0))


def guessed_line(x: Array, y: Array, share: float = 1.0) -> tuple[float, float, float]:
    """Return estimates of the means and the slope; a share 1 − `share` of the entries are zeros that are not pairs."""
    mean_x, mean_y = float(x.mean()) / share, float(y.mean()) / share
    return mean_x, mean_y, float(_ratio(np.vdot(x - mean_x, y - mean_y), np.vdot(y - mean_y, y - mean_y)))


def _ratio(a: Any, b: Any) -> Any:
    """Return a/b, and zero where b is zero."""
    return a / np.where(b == 0, 1.0, b) * (b != 0)


def jackknife(rows: Array, value: Callable[[Array], Any], n: int) -> float:
    """Return the jackknife standard error of a function of sums over rows (m, p) that were drawn without replacement from n."""
    m = rows.shape[0]
    if m == n:
        return 0.0
    without = value((rows.sum(axis=0) - rows) * (m / (m - 1)))
    return float(np.sqrt((1 - m / n) * (m - 1) / m * np.sum((without - without.mean()) ** 2)))
