"""Counts of pairs by their ranks in the data and in the embedding, from which neighbourhood measures are computed.

The rank of j from i is its position among the other points by distance from i; the nearest has rank 1. Points at equal distances are
ranked by their row numbers, both in the data and in the embedding.
"""

from __future__ import annotations

from threading import Lock

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Counts = NDArray[np.int64]

#: Up to this many points numpy sorts faster than the compiled loops can be loaded.
_SMALL = 2_000


def ordered(D: Array, own: Index) -> NDArray[np.integer]:
    """Return the column numbers of each row ordered by distance, ties by column number; the row's own point comes first."""
    if D.shape[1] > _SMALL:
        from ..numerics.ranks import order_rows

        return order_rows(D, own)
    D = D.copy()
    D[np.arange(own.size), own] = -1.0
    return np.argsort(D, axis=1, kind="stable")


def ranked(D: Array, own: Index) -> NDArray[np.int32]:
    """Return the rank of each column in its row; 0 for the row's own point."""
    ranks = np.empty(D.shape, np.int32)
    np.put_along_axis(ranks, ordered(D, own), np.arange(D.shape[1], dtype=np.int32)[None, :], axis=1)
    return ranks


class RankTally:
    """Counts of pairs of a row and another point by rank x in the data and rank r in the embedding.

    Parameters
    ----------
    n : int
        Number of points.
    m : int
        Number of rows that will be compared.
    k : int
        Neighbourhood size of the values in `rows`.
    top : int
        Largest neighbourhood size of the R_NX curve.
    curve : bool
        Keep the sums that the standard errors of the curves need.

    Attributes
    ----------
    counts : ndarray of int64 of shape (5, n)
        Number of pairs with x > r by x, with r > x by r, and with x = r; sums of x over pairs with x > r by r, and of r over pairs
        with r > x by x. Integer sums do not depend on the order in which blocks are added.
    squares : ndarray of int64 of shape (n,) or (0,)
        For each K, the sum over rows of the squared number of points that are among the K nearest in both rankings.
    rows : ndarray of shape (m, 4)
        For each row: the number of points that are among the k nearest in both rankings, the sum of x − k over those in the embedding
        only, the sum of r − k over those in the data only, and the row's contribution to the area under R_NX.
    """

    def __init__(self, n: int, m: int, k: int, top: int, curve: bool = False) -> None:
        self.n, self.m, self.k, self.top = n, m, k, top
        self.counts: Counts = np.zeros((5, n), np.int64)
        self.squares: Counts = np.zeros(n if curve else 0, np.int64)
        self.rows: Array = np.zeros((m, 4))
        self._weights = area_weights(n, top)
        self._adding = Lock()

    def add(self, where: slice, first: NDArray[np.int32], order: NDArray[np.integer]) -> None:
        """Count the rows at positions `where`, from their ranks in the data and their order in the embedding."""
        counts, squares = np.zeros_like(self.counts), np.zeros_like(self.squares)
        if self.n > _SMALL:
            from ..numerics.ranks import tally_rows as count
        else:
            count = tally
        count(first, order, self.k, self._weights, counts, squares, self.rows[where])
        with self._adding:
            self.counts += counts
            self.squares += squares

    @property
    def together(self) -> Counts:
        """Number of pairs whose larger rank is at most K, for K = 0 … n − 1."""
        return np.cumsum(self.counts[:3].sum(axis=0))

    @property
    def excess(self) -> tuple[Counts, Counts]:
        """Sums of x − K over pairs with r ≤ K < x, and of r − K over pairs with x ≤ K < r, for K = 0 … n − 1."""
        K = np.arange(self.n)
        apart = self.m * K - self.together
        intruding, extruding = (np.cumsum(self.counts[3 + side] - K * self.counts[side]) - K * apart for side in (0, 1))
        return intruding, extruding


def tally(
    first: NDArray[np.int32],
    order: NDArray[np.integer],
    k: int,
    weights: Array,
    counts: Counts,
    squares: Counts,
    rows: Array,
) -> None:
    """Add the counts of `RankTally` to `counts` and `squares`, and fill in `rows`."""
    n = order.shape[1]
    x = np.take_along_axis(first, order, axis=1)[:, 1:].astype(np.int64)
    r = np.broadcast_to(np.arange(1, n), x.shape)
    larger, later, earlier = np.maximum(x, r), x > r, x < r
    counts[0] += np.bincount(x[later], minlength=n)
    counts[1] += np.bincount(r[earlier], minlength=n)
    counts[2] += np.bincount(r[x == r], minlength=n)
    np.add.at(counts[3], r[later], x[later])
    np.add.at(counts[4], x[earlier], r[earlier])
    rows[:, 0] = np.sum(larger <= k, axis=1)
    rows[:, 1] = np.sum(np.where(r <= k, np.maximum(x - k, 0), 0), axis=1)
    rows[:, 2] = np.sum(np.where(x <= k, np.maximum(r - k, 0), 0), axis=1)
    rows[:, 3] = weights[larger].sum(axis=1)
    if squares.size:
        for row in larger:
            squares += np.cumsum(np.bincount(row, minlength=n)) ** 2


def area_weights(n: int, top: int) -> Array:
    """Return the contribution of a point to the area under R_NX, by its larger rank m = 0 … n − 1.

    The area is Σ_K R(K)/K over Σ_K 1/K for K = 1 … top, and R(K) is linear in the number of points that are in both neighbourhoods of
    size K. Subtract `area_of_chance` from the sum of the contributions.
    """
    K = np.arange(1.0, top + 1)
    steps = (n - 1) / (K**2 * (n - 1 - K)) / np.sum(1.0 / K)
    return np.concatenate([[0.0], np.cumsum(steps[::-1])[::-1], np.zeros(n - 1 - top)])


def area_of_chance(n: int, top: int) -> float:
    """Return the expected contribution of a random embedding to the sum of `area_weights`."""
    K = np.arange(1.0, top + 1)
    return float(np.sum(1.0 / (n - 1 - K)) / np.sum(1.0 / K))
