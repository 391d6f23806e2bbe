"""Finding rows that are already known: exact look-up of training points in O(D) a row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Index = NDArray[np.intp]


def _hash(X: Array) -> NDArray[np.uint64]:
    """A 64-bit hash of each row's bits; equal rows have equal hashes."""
    bits = np.ascontiguousarray(X + 0.0).view(np.uint64)  # adding zero turns -0.0 into 0.0
    multipliers = np.random.default_rng(0).integers(1, 2**63, size=X.shape[1], dtype=np.uint64) * np.uint64(
        2
    ) + np.uint64(1)
    mixed = bits ^ (bits >> np.uint64(32))
    return (mixed * multipliers).sum(axis=1, dtype=np.uint64)


@dataclass(frozen=True, eq=False)
class RowIndex:
    """``X -> index`` of the first identical training row, −1 where there is none."""

    points: Array
    hashes: NDArray[np.uint64]
    order: Index

    @classmethod
    def build(cls, points: Any) -> RowIndex:
        points = np.asarray(points, dtype=np.float64)
        hashes = _hash(points)
        order = np.argsort(hashes, kind="stable")
        return cls(points, hashes[order], order)

    def __call__(self, X: Any) -> Index:
        X = np.asarray(X, dtype=np.float64)
        hashes, index = _hash(X), np.full(X.shape[0], -1, dtype=np.intp)
        at, rows = np.searchsorted(self.hashes, hashes), np.arange(X.shape[0])
        while rows.size:  # one round, unless different rows share a hash
            rows = rows[at[rows] < self.order.size]
            rows = rows[self.hashes[at[rows]] == hashes[rows]]
            found = self.order[at[rows]]
            same = np.all(self.points[found] == X[rows], axis=1)
            index[rows[same]] = found[same]
            rows = rows[~same]
            at[rows] += 1
        return index


@dataclass(frozen=True, eq=False)
class ZeroDistance:
    """The same for points that arrive as rows of distances to the training set: a distance of exactly zero.

    `columns` says which distances count when the embedding covers only some of the training points.
    """

    columns: Index | None = None

    def __call__(self, distances: Any) -> Index:
        D = np.asarray(distances)
        D = D if self.columns is None else D[:, self.columns]
        nearest = D.argmin(axis=1)
        return np.where(D[np.arange(D.shape[0]), nearest] == 0, nearest, -1)


@dataclass(frozen=True, eq=False)
class Unknown:
    """No row is known: affinities do not say which point a row belongs to."""

    def __call__(self, X: Any) -> Index:
        return np.full(X.shape[0], -1, dtype=np.intp)
