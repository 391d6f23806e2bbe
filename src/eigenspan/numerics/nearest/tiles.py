"""Partition of points into tiles, so that a search can skip tiles that are too far away."""

from __future__ import annotations

import itertools
import warnings
from dataclasses import dataclass

import numpy as np

from ..._types import Array, Index, Single

#: Average number of points per cell, sampled points per cell for k-means, and maximum number of points per tile.
_POINTS, _SAMPLE, _WIDTH = 1024, 32, 512
#: With fewer points, tiles do not make the search faster.
_WORTHWHILE = 10_000


@dataclass(frozen=True, eq=False)
class Tiles:
    """Cells around the centres of k-means, each divided into tiles by the distance from its centre.

    Attributes
    ----------
    order : index array of shape (n,)
        The points, sorted by tile.
    starts : index array of shape (t + 1,)
        Start of each tile in `order`.
    centres : array of shape (c, D)
    cell : index array of shape (t,)
        Cell of each tile.
    inner, outer : arrays of shape (t,)
        The smallest and the largest distance of a tile's points from the centre of its cell.
    """

    order: Index
    starts: Index
    centres: Array
    cell: Index
    inner: Array
    outer: Array

    @classmethod
    def of(cls, P: Single) -> Tiles:
        """Compute the tiles of the points P: O(ncD) for c = n / 1024 cells."""
        known = np.flatnonzero(~np.isnan(P[:, 0]))  # points far beyond all others have NaN coordinates
        n = known.size
        if n < _WORTHWHILE:
            return cls.whole(P)
        from sklearn.cluster import KMeans

        sample = np.random.default_rng(0).choice(n, size=min(n, _SAMPLE * (n // _POINTS)), replace=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # fewer distinct points than cells are harmless
            found = KMeans(n // _POINTS, n_init=1, max_iter=10, random_state=0).fit(P[known[sample]])
        return cls._about(P, found.cluster_centers_.astype(np.float64))

    @classmethod
    def whole(cls, P: Single) -> Tiles:
        """Return tiles of a single cell with all points."""
        return cls._about(P, np.zeros((1, P.shape[1])))

    @classmethod
    def _about(cls, P: Single, centres: Array) -> Tiles:
        near, distances = _nearest(P, centres)
        order = np.lexsort((distances, near))
        bounds = np.concatenate([[0], np.cumsum(np.bincount(near, minlength=len(centres)))])
        starts = np.concatenate([np.arange(a, b, _WIDTH) for a, b in itertools.pairwise(bounds)] + [[len(P)]])
        first, last = order[starts[:-1]], order[starts[1:] - 1]
        return cls(order, starts, centres, near[first], distances[first], distances[last])

    def nearest(self, Q: Single) -> tuple[Index, Array]:
        """Return the nearest centre of each row, and its distance."""
        return _nearest(Q, self.centres)

    def to_centres(self, Q: Single) -> Array:
        """Return distances to all centres, with an error of about 1e-8 of the length of the vectors."""
        return _distances(Q, self.centres)

    def bounds(self, distances: Array, lengths: Array, reach: Array) -> Array:
        """Return lower bounds on the distance to any point of each tile, from distances to the centres: (m, c) to (m, t).

        They include a margin for rounding, which depends on the lengths of the queries, the centres, and the farthest points of the tiles.
        """
        to, far = distances[:, self.cell], np.linalg.norm(self.centres, axis=1)[self.cell]
        doubt = 1e-7 * np.sqrt(self.centres.shape[1] + 8) * (lengths[:, None] + (far + reach))
        return np.maximum(to - self.outer, self.inner - to) - doubt

    @property
    def width(self) -> int:
        """The maximum number of points in a tile."""
        return _WIDTH


def _distances(Q: Single, centres: Array) -> Array:
    squares = np.einsum("ij,ij->i", centres, centres) - 2 * (Q.astype(np.float64) @ centres.T)
    squares += np.einsum("ij,ij->i", Q, Q, dtype=np.float64)[:, None]
    return np.sqrt(np.maximum(squares, 0, out=squares), out=squares)


def _nearest(Q: Single, centres: Array, rows: int = 4096) -> tuple[Index, Array]:
    near, distances = np.empty(len(Q), dtype=np.intp), np.empty(len(Q))
    for i in range(0, len(Q), rows):
        block = _distances(Q[i : i + rows], centres)
        near[i : i + rows] = block.argmin(axis=1)
        distances[i : i + rows] = block[np.arange(len(block)), near[i : i + rows]]
    return near, distances
