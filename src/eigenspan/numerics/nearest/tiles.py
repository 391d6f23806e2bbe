"""Points laid out in tiles, so that a search can pass over the tiles that are too far away to matter."""

from __future__ import annotations

import itertools
import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Single = NDArray[np.float32]
Index = NDArray[np.intp]

#: Points to a cell on average, points of a cell that its centre is found from, and points to a tile at most.
_POINTS, _SAMPLE, _WIDTH = 1024, 32, 512
#: Below this many points there is too little to pass over.
_WORTHWHILE = 10_000


@dataclass(frozen=True, eq=False)
class Tiles:
    """Cells about the centres of k-means, each cut into tiles by the distance from its centre.

    Attributes
    ----------
    order : index array of shape (n,)
        The points, one tile after another.
    starts : index array of shape (t + 1,)
        Where in `order` each tile begins.
    centres : array of shape (c, D)
    cell : index array of shape (t,)
        The centre each tile is about.
    inner, outer : arrays of shape (t,)
        The least and the greatest distance of a tile's points from that centre.
    """

    order: Index
    starts: Index
    centres: Array
    cell: Index
    inner: Array
    outer: Array

    @classmethod
    def of(cls, P: Single) -> Tiles:
        """The tiles of the points P: O(ncD) for c = n / 1024 cells."""
        known = np.flatnonzero(~np.isnan(P[:, 0]))  # points far beyond all others have no coordinates
        n = known.size
        if n < _WORTHWHILE:
            return cls.whole(P)
        from sklearn.cluster import KMeans

        sample = np.random.default_rng(0).choice(n, size=min(n, _SAMPLE * (n // _POINTS)), replace=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # fewer distinct points than cells do no harm
            found = KMeans(n // _POINTS, n_init=1, max_iter=10, random_state=0).fit(P[known[sample]])
        return cls._about(P, found.cluster_centers_.astype(np.float64))

    @classmethod
    def whole(cls, P: Single) -> Tiles:
        """All points in one cell."""
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
        """The nearest centre of every row, and how far away it is."""
        return _nearest(Q, self.centres)

    def to_centres(self, Q: Single) -> Array:
        """Distances to all centres, to about 1e-8 of the length of the vectors."""
        return _distances(Q, self.centres)

    def bounds(self, distances: Array, lengths: Array, reach: Array) -> Array:
        """Lower bounds on the distance to any point of each tile, from the distances to the centres: (m, c) to (m, t).

        They allow for rounding, which depends on the lengths of the queries, the centres, and the farthest points of the tiles.
        """
        to, far = distances[:, self.cell], np.linalg.norm(self.centres, axis=1)[self.cell]
        doubt = 1e-7 * np.sqrt(self.centres.shape[1] + 8) * (lengths[:, None] + (far + reach))
        return np.maximum(to - self.outer, self.inner - to) - doubt

    @property
    def width(self) -> int:
        """The most points there are in a tile."""
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
