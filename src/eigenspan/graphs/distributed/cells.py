"""Partition of space into cells with about equally many points, so that most neighbours of a point are in its own cell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._types import Array, Index, Matrix

#: Power iterations for the direction of largest variance; it need not be exact.
_STEPS = 8


@dataclass(frozen=True, eq=False)
class Cells:
    """The leaves of a tree of hyperplanes.

    Attributes
    ----------
    normals : ndarray of shape (c − 1, D)
        Unit vectors.
    levels : ndarray of shape (c − 1,)
    children : ndarray of shape (c − 1, 2)
        Subtree below and above each plane: another plane, or ``−1 − cell``.
    sides : ndarray of shape (c, c − 1)
        −1 if a cell lies below a plane, 1 if above, 0 if the plane does not bound it.
    """

    normals: Array
    levels: Array
    children: Index
    sides: Array

    @staticmethod
    def of(X: Array, count: int) -> Cells:
        """Build `count` cells with equal shares of the sample X; each cut is orthogonal to the direction of largest variance."""
        c = max(1, min(count, X.shape[0]))
        planes = Cells(
            np.zeros((c - 1, X.shape[1])), np.zeros(c - 1), np.zeros((c - 1, 2), dtype=np.intp), np.zeros((c, c - 1))
        )
        planes._cut(X, 0, 0, c)
        return planes

    def _cut(self, X: Array, plane: int, cell: int, count: int) -> int:
        """Build `count` cells from number `cell` on, by planes from number `plane` on; return their entry of `children`."""
        if count == 1:
            return -1 - cell
        low = count // 2
        normal = _widest(X)
        along = X @ normal
        order = np.argsort(along, kind="stable")
        at = len(X) * low // count
        self.normals[plane], self.levels[plane] = normal, (along[order[max(at - 1, 0)]] + along[order[at]]) / 2
        self.sides[cell : cell + low, plane], self.sides[cell + low : cell + count, plane] = -1.0, 1.0
        self.children[plane, 0] = self._cut(X[order[:at]], plane + 1, cell, low)
        self.children[plane, 1] = self._cut(X[order[at:]], plane + low, cell + low, count - low)
        return plane

    @property
    def count(self) -> int:
        return len(self.sides)

    def find(self, X: Array) -> Index:
        """Return the cell of every row."""
        at = np.full(len(X), 0 if self.count > 1 else -1, dtype=np.intp)
        above = self.levels < X @ self.normals.T
        while (walking := np.flatnonzero(at >= 0)).size:
            at[walking] = self.children[at[walking], above[walking, at[walking]].astype(np.intp)]
        return -1 - at

    def gaps(self, X: Array) -> Array:
        """Return lower bounds on the distance from every row to every cell, (m, c); zero for its own."""
        beyond = self.levels - X @ self.normals.T
        out = np.zeros((len(X), self.count))
        for cell, side in enumerate(self.sides):
            bounding = np.flatnonzero(side)
            out[:, cell] = (beyond[:, bounding] * side[bounding]).max(axis=1, initial=0.0)
        return out


def _widest(X: Matrix) -> Array:
    """Return a unit vector near the first principal axis, by power iteration from the point farthest from the mean."""
    R = X - X.mean(axis=0)
    v = R[np.einsum("ij,ij->i", R, R).argmax()]
    for _ in range(_STEPS):
        size = float(np.linalg.norm(v))
        if size == 0:
            return np.eye(1, X.shape[1])[0]
        v = R.T @ (R @ (v / size))
    return v / max(float(np.linalg.norm(v)), np.finfo(float).tiny)
