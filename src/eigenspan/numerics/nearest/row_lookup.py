"""Exact look-up of rows among the training rows, in O(D) per row, and groups of duplicate rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..._types import Array, Index, Mask, Matrix, is_sparse
from ..threads import in_slices, workers

#: Number of values hashed at a time, so that they stay in the cache.
_NUMBERS = 2**16


@dataclass(frozen=True, eq=False)
class Contraction:
    """Groups of coincident points (joined by edges of length zero, or equal in all coordinates), each reduced to one point.

    Attributes
    ----------
    labels : ndarray of shape (n,)
        Group of each point.
    first : ndarray of shape (g,)
        Index of one point of each group.
    weights : ndarray of shape (n,) or None
        Weight of each point; None if it is one for every point.
    """

    labels: Index
    first: Index
    weights: Array | None = None

    @property
    def masses(self) -> Array:
        """Number of points of each group, or the sum of their weights."""
        return np.bincount(self.labels, self.weights).astype(np.float64)

    @property
    def members(self) -> sp.csr_array:
        """Indicator matrix of the groups, (n, g)."""
        n, g = self.labels.size, self.first.size
        return sp.csr_array((np.ones(n), (np.arange(n), self.labels)), shape=(n, g))

    def sum(self, C: Matrix) -> Matrix:
        """Return an n×n form over the points, summed within groups: a form over the groups."""
        return C if self.labels.size == self.first.size else self.members.T @ C @ self.members


def _hash(X: Matrix) -> NDArray[np.uint64]:
    """Return a 64-bit hash of each row's bits; equal rows have equal hashes, dense or sparse, because zeros contribute nothing."""
    shape = (X.shape[1],)
    draws = np.random.default_rng(0).integers(1, 2**63, size=shape, dtype=np.uint64)
    multipliers = draws * np.uint64(2) + np.uint64(1)
    if is_sparse(X):
        sums = np.zeros(X.nnz + 1, dtype=np.uint64)
        np.cumsum(_mixed(X.data) * multipliers[X.indices], dtype=np.uint64, out=sums[1:])
        return sums[X.indptr[1:]] - sums[X.indptr[:-1]]

    def some(rows: slice) -> NDArray[np.uint64]:
        return np.einsum("ij,j->i", _mixed(X[rows]), multipliers)

    step = max(1, _NUMBERS // max(X.shape[1], 1))
    return np.concatenate(in_slices(some, X.shape[0], step, workers()))


def _mixed(values: Array) -> NDArray[np.uint64]:
    bits = np.ascontiguousarray(values + 0.0).view(np.uint64)  # adding zero turns -0.0 into 0.0
    return bits ^ (bits >> np.uint64(32))


def all_equal(X: Matrix) -> bool:
    """Return True if every row equals the first."""
    if not is_sparse(X):
        return bool(np.all(X[0] == X))
    hashes = _hash(X)
    return bool(np.all(hashes == hashes[0]))


def _as_rows(X: Matrix) -> Matrix:
    return sp.csr_array(X, dtype=np.float64) if is_sparse(X) else np.asarray(X, dtype=np.float64)


def _same(A: Matrix, B: Matrix) -> Mask:
    """Return a mask of the rows in which two matrices are equal."""
    if is_sparse(A) or is_sparse(B):
        return np.asarray(abs(sp.csr_array(A) - sp.csr_array(B)).sum(axis=1)).ravel() == 0
    return np.all(A == B, axis=1)


@dataclass(frozen=True, eq=False)
class RowIndex:
    """Look-up ``X -> index`` of the first identical training row, −1 if there is none.

    If `points` is None, rows with equal 64-bit hash count as identical: for tables too large to keep.
    """

    points: Matrix | None
    hashes: NDArray[np.uint64]
    order: Index

    @classmethod
    def build(cls, points: Matrix) -> RowIndex:
        points = _as_rows(points)
        hashes = _hash(points)
        order = np.argsort(hashes, kind="stable")
        return cls(points, hashes[order], order)

    def __call__(self, X: Matrix) -> Index:
        X = _as_rows(X)
        hashes, index = _hash(X), np.full(X.shape[0], -1, dtype=np.intp)
        at, rows = np.searchsorted(self.hashes, hashes), np.arange(X.shape[0])
        while rows.size:  # a single pass, unless different rows share a hash
            rows = rows[at[rows] < self.order.size]
            rows = rows[self.hashes[at[rows]] == hashes[rows]]
            found = self.order[at[rows]]
            same = np.ones(rows.size, dtype=bool) if self.points is None else _same(self.points[found], X[rows])
            index[rows[same]] = found[same]
            rows = rows[~same]
            at[rows] += 1
        return index

    def copies(self) -> Contraction | None:
        """Return the groups of duplicate rows, or None if all rows are distinct."""
        if not np.any(self.hashes[1:] == self.hashes[:-1]):
            return None
        assert self.points is not None
        first, labels = np.unique(self(self.points), return_inverse=True)
        return Contraction(labels, first) if first.size < labels.size else None


@dataclass(frozen=True, eq=False)
class ZeroDistance:
    """Look-up of training points for new points given as rows of distances: a distance of exactly zero.

    `columns` selects the distances that count if the embedding covers only some of the training points.
    """

    columns: Index | None = None

    def __call__(self, distances: Matrix) -> Index:
        if is_sparse(distances):
            return self._stored(sp.csr_array(distances if self.columns is None else distances[:, self.columns]))
        D = np.asarray(distances)
        D = D if self.columns is None else D[:, self.columns]
        nearest = D.argmin(axis=1)
        return np.where(D[np.arange(D.shape[0]), nearest] == 0, nearest, -1)

    @staticmethod
    def _stored(D: sp.csr_array) -> Index:
        """Look up sparse rows; only a stored zero is a distance of zero."""
        index, zero = np.full(D.shape[0], -1, dtype=np.intp), np.flatnonzero(D.data == 0)[::-1]
        index[np.searchsorted(D.indptr, zero, side="right") - 1] = D.indices[zero]
        return index
