"""The map of every method: ``y(x) = rows(x) @ coef``.

``rows`` returns rows over the raw features (linear methods) or over the training or landmark points (kernel, distance and neighbour
methods). It is a picklable object, not a closure.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._types import Array, Index, Matrix, is_sparse

#: Bytes of the rows computed at a time.
_BLOCK_BYTES = 64 * 2**20


@dataclass(frozen=True, eq=False)
class Map:
    """A picklable function from new points to the embedding space.

    Parameters
    ----------
    rows : callable
        ``X -> R`` of shape (m, r), dense or sparse.
    coef : ndarray of shape (r, d)
    offset : ndarray of shape (r,), optional
        Subtracted from every row: the centre of the training rows.
    known : callable, optional
        ``X -> index`` of the identical training row, −1 if there is none. Such rows get their training embedding.
    embedding : ndarray of shape (n, d), optional
        Training embedding for `known`.
    shift : ndarray of shape (d,), optional
        Added to every embedded point (landmark methods centre the embedding of all samples).
    dense : bool
        Sparse rows are converted to dense, a block at a time, because the training rows are dense.
    """

    rows: Any
    coef: Array
    offset: Any = None
    known: Callable[[Any], Index] | None = None
    embedding: Array | None = None
    shift: Array | None = None
    dense: bool = False

    def __call__(self, X: Matrix) -> Array:
        step = max(1, int(_BLOCK_BYTES / (8 * max(self.coef.shape[0], 1))))
        if X.shape[0] <= step:
            return self._block(X)
        return np.vstack([self._block(X[i : i + step]) for i in range(0, X.shape[0], step)])

    def then(self, T: Array, shift: Array | None = None) -> Map:
        """Return the map followed by ``y -> y T + shift``."""
        moved = shift if self.shift is None else self.shift @ T if shift is None else self.shift @ T + shift
        placed = None if self.embedding is None else self.embedding @ T if shift is None else self.embedding @ T + shift
        return replace(self, coef=self.coef @ T, shift=moved, embedding=placed)

    @property
    def width(self) -> int:
        """Dimension of the embedding space."""
        return int(self.coef.shape[1])

    def _block(self, X: Matrix) -> Array:
        if self.dense and is_sparse(X):
            X = X.toarray()
        R = self.rows(X)
        if sp.issparse(R) and self.offset is not None and 2 * R.nnz > R.shape[0] * R.shape[1]:
            R = R.toarray()  # hardly larger, and differences are accurate far from the origin
        if self.offset is None:
            Y = R @ self.coef
        elif sp.issparse(R):
            Y = R @ self.coef - self.offset @ self.coef
        else:
            Y = (R - self.offset) @ self.coef
        Y = np.asarray(Y) if self.shift is None else np.asarray(Y) + self.shift
        if self.known is not None and self.embedding is not None:
            index = self.known(X)
            Y[index >= 0] = self.embedding[index[index >= 0]]
        return Y


@dataclass(frozen=True, eq=False)
class Raw:
    """Rows of a linear method: the points, in double precision."""

    def __call__(self, X: Matrix) -> Matrix:
        return X if sp.issparse(X) else np.asarray(X, dtype=np.float64)
