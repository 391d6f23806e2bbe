"""Space cut into cells that hold about equally many points, so that the neighbours of a point are mostly in its own cell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._types import Array, Index, Matrix

#: Steps towards the direction in which points spread most; it need not be exact.
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
        What lies below and above each plane: another plane, or ``−1 − cell``.
    sides : ndarray of shape (c, c − 1)
        −1 where a cell lies below a plane, 1 above, 0 where the plane does not bound it.
    """

    normals: Array
    levels: Array
    children: Index
    sides: Array

    @staticmethod
    def of(X: Array, count: int) -> Cells:
        """`count` cells with equal shares of the sample X, each cut across where its points spread most."""
        c = max(1, min(count, X.shape[0]))
        planes = Cells(
            np.zeros((c - 1, X.shape[1])), np.zeros(c - 1), np.zeros((c - 1, 2), dtype=np.intp), np.zeros((c, c - 1))
        )
        planes._cut(X, 0, 0, c)
        return planes

    def _cut(self, X: Array, plane: int, cell: int, count: int) -> int:
        """Cut the cells from `cell` on by planes from `plane` on; what stands for all of them in `children`."""
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
        """The cell of every row."""
        at = np.full(len(X), 0 if self.count > 1 else -1, dtype=np.intp)
        above = self.levels < X @ self.normals.T
        while (walking := np.flatnonzero(at >= 0)).size:
            at[walking] = self.children[at[walking], above[walking, at[walking]].astype(np.intp)]
        return -1 - at

    def gaps(self, X: Array) -> Array:
        """Lower bounds on the distance from every row to every cell, (m, c); zero to its own."""
        beyond = self.levels - X @ self.normals.T
        out = np.zeros((len(X), self.count))
        for cell, side in enumerate(self.sides):
            bounding = np.flatnonzero(side)
            out[:, cell] = (beyond[:, bounding] * side[bounding]).max(axis=1, initial=0.0)
        return out


def _widest(X: Matrix) -> Array:
    """A unit vector near the first principal axis, by power iteration from the point farthest from the mean."""
    R = X - X.mean(axis=0)
    v = R[np.einsum("ij,ij->i", R, R).argmax()]
    for _ in range(_STEPS):
        size = float(np.linalg.norm(v))
        if size == 0:
            return np.eye(1, X.shape[1])[0]
        v = R.T @ (R @ (v / size))
    return v / max(float(np.linalg.norm(v)), np.finfo(float).tiny)
