"""Scatter of distributed rows with too many columns for a D×D matrix, as an operator: products with a few vectors at a time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar, NoReturn

import numpy as np

from ..._diagnostics import stage
from ..._types import Array, Floats
from .block_passes import blocks, refuse_non_finite
from .dask_rows import LazyRows

#: Largest number of columns for which a D×D matrix is formed: 128 MB, of which several are needed.
WIDEST = 4000
#: Number of rows, their mean, and the sums of squares of every column about it.
Columns = tuple[int, Array, Array]


def scatter_operator(X: object, center: bool) -> SpreadScatter | None:
    """Return the scatter of distributed rows with too many columns for a matrix; None for all other rows."""
    if not isinstance(X, LazyRows) or X.width <= WIDEST:
        return None
    with stage("moments"):
        return SpreadScatter.of(X, center)


@dataclass(frozen=True, eq=False)
class SpreadScatter:
    """``(X − 1·origin')'(X − 1·origin')``, D×D. Each product is one pass over the rows.

    Attributes
    ----------
    rows : LazyRows
    origin : ndarray of shape (D,)
    squares : ndarray of shape (D,)
        The diagonal.
    """

    rows: LazyRows
    origin: Array
    squares: Array

    #: The matrix itself is never formed.
    distributed: ClassVar[bool] = True

    @staticmethod
    def of(rows: LazyRows, center: bool = True) -> SpreadScatter:
        """Return the scatter about the mean of the rows, or about the origin, after one pass for its diagonal."""
        n, mean, squares = rows.reduce(_columns, add=_joined)
        return SpreadScatter(rows, mean, squares) if center else SpreadScatter(rows, 0 * mean, squares + n * mean**2)

    def __matmul__(self, Z: Array) -> Array:
        found = self.rows.reduce(partial(_product, origin=self.origin, V=Z[:, None] if Z.ndim == 1 else Z))
        return found.reshape(Z.shape)

    def quadratic(self, Z: Array) -> Array:
        return Z.T @ (self @ Z)

    def diagonal(self) -> Array:
        return self.squares

    def bound(self) -> float:
        """Return the trace, an upper bound of the eigenvalues."""
        return float(self.squares.sum())

    def scaled(self, s: Array) -> NoReturn:
        raise NotImplementedError

    def to_dense(self) -> Array:
        return self @ np.eye(self.squares.size)


def _columns(X: Floats) -> Columns:
    """Return the mean and the sums of squares about it of a block."""
    refuse_non_finite(X)
    found: Columns = (0, np.zeros(X.shape[1]), np.zeros(X.shape[1]))
    for part in blocks(*X.shape):
        some = X[part].astype(np.float64)
        mean = some.mean(axis=0)
        found = _joined(found, (len(some), mean, np.square(some - mean).sum(axis=0)))
    return found


def _joined(one: Columns, two: Columns) -> Columns:
    n = one[0] + two[0]
    gap, share = two[1] - one[1], two[0] / max(n, 1)
    return n, one[1] + share * gap, one[2] + two[2] + one[0] * share * gap**2


def _product(X: Floats, origin: Array, V: Array) -> Array:
    """Return the product of the scatter of a block with V."""
    out = np.zeros(V.shape)
    for part in blocks(*X.shape):
        R = X[part] - origin
        out += R.T @ (R @ V)
    return out
