"""Points laid out in tiles, so that a search can pass over the tiles that are too far away to matter."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Points = NDArray[np.floating[Any]]
Index = NDArray[np.intp]

#: Points to a cell on average, points of a cell that its centre is found from, and points to a tile at most.
_POINTS, _SAMPLE, _WIDTH = 1024, 32, 2048
#: Below this many points one tile holds them all: there is too little to pass over.
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
    def of(cls, P: Points) -> Tiles:
        """The tiles of the points P: O(ncD) for c = n / 1024 cells."""
        n = P.shape[0]
        if n < _WORTHWHILE:
            centres = np.zeros((1, P.shape[1]))
        else:
            from sklearn.cluster import KMeans

            cells = n // _POINTS
            sample = np.random.default_rng(0).choice(n, size=min(n, _SAMPLE * cells), replace=False)
            centres = (
                KMeans(cells, n_init=1, max_iter=10, random_state=0).fit(P[sample]).cluster_centers_.astype(np.float64)
            )
        near, distances = nearest_centre(P, centres)
        order = np.lexsort((distances, near))
        counts = np.bincount(near, minlength=len(centres))
        first = np.concatenate([[0], np.cumsum(counts)])
        starts = np.concatenate([np.arange(a, b, _WIDTH) for a, b in itertools.pairwise(first)] + [[n]])
        sorted_distances = distances[order]
        return cls(
            order,
            starts,
            centres,
            near[order][starts[:-1]],
            sorted_distances[starts[:-1]],
            sorted_distances[starts[1:] - 1],
        )

    def bounds(self, distances: Array) -> Array:
        """Lower bounds on the distance to any point of each tile, from the distances to the centres: (m, c) to (m, t)."""
        to = distances[:, self.cell]
        return np.maximum(to - self.outer, self.inner - to)


def centre_distances(Q: Points, centres: Array) -> Array:
    """Distances to all centres, to about 1e-8 of the length of the vectors."""
    squares = np.einsum("ij,ij->i", centres, centres) - 2 * (Q.astype(np.float64) @ centres.T)
    squares += np.einsum("ij,ij->i", Q, Q, dtype=np.float64)[:, None]
    return np.sqrt(np.maximum(squares, 0, out=squares), out=squares)


def nearest_centre(Q: Points, centres: Array, rows: int = 4096) -> tuple[Index, Array]:
    """The nearest centre of every row, and how far away it is."""
    near, distances = np.empty(len(Q), dtype=np.intp), np.empty(len(Q))
    for i in range(0, len(Q), rows):
        block = centre_distances(Q[i : i + rows], centres)
        near[i : i + rows] = block.argmin(axis=1)
        distances[i : i + rows] = block[np.arange(len(block)), near[i : i + rows]]
    return near, distances
