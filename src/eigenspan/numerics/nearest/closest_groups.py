"""Shortest edges that connect groups of Euclidean points, from products between the points that can be close enough."""

from __future__ import annotations

import heapq
import itertools
from dataclasses import dataclass

import numpy as np

from ..._types import Array, Index
from ..threads import one_blas_thread
from .exact import cost
from .squares import pair_squares

#: Tile size: number of points on either side whose products are held at a time.
_TILE = 1024
#: Limits of this search: the cost of all pairs and the number of groups, above which searches with an index are faster; and the ratio
#: of the largest to the median distance from the centre, above which rounding leaves too many pairs undecided.
_MOST, _GROUPS, _LONGEST = 6e10, 200, 1e3
#: Rounding error of a distance from a centre, relative to the largest length.
_DOUBT = 1e-7


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of points with lower bounds on distances: ``|x - c| - r`` bounds the distance from x to a group with centre c, radius r.

    Attributes
    ----------
    points, centre : arrays of shape (n, D) and (D,)
        Origin of the products: far from the origin of the data they would lose digits.
    members : list of index arrays
        The points of each group.
    least : array of shape (n, groups)
        Lower bounds on the distances from the points to the groups.
    """

    points: Array
    centre: Array
    members: list[Index]
    least: Array

    @classmethod
    def of(cls, X: Array, labels: Index) -> Groups | None:
        """Return the groups, or None if other searches are faster."""
        (n, D), sizes = X.shape, np.bincount(labels)
        if cost(n, n, D) > _MOST or sizes.size > _GROUPS:
            return None
        centre = np.median(X, axis=0)  # the median is robust to a few far points
        Z = X - centre
        members = np.split(np.argsort(labels, kind="stable"), np.cumsum(sizes)[:-1])
        centres = np.array([Z[rows].mean(axis=0) for rows in members])
        lengths = np.einsum("ij,ij->i", Z, Z)
        if not lengths.max() <= _LONGEST**2 * np.median(lengths):
            return None
        squares = lengths[:, None] + np.einsum("ij,ij->i", centres, centres) - 2 * (Z @ centres.T)
        least = np.sqrt(np.maximum(squares, 0))
        least -= np.array([least[rows, g].max() for g, rows in enumerate(members)])
        least -= _DOUBT * np.sqrt(lengths.max())
        return cls(X, centre, members, least)

    def bridges(self) -> list[tuple[int, int, float]]:
        """Return the edges of a minimum spanning tree of the groups: pairs of points, and their distances.

        A heap holds pairs of groups, first with the lower bound of their distance, then with the distance itself. Pairs whose groups are
        connected by then are never measured.
        """
        group = list(range(len(self.members)))
        edges: list[tuple[int, int, float]] = []
        near = np.array([self.least[rows].min(axis=0) for rows in self.members])
        unknown = (-1, -1)  # sentinel that sorts before the measured edges of the same length
        queue = [(max(near[a, b], near[b, a]), unknown, a, b) for a, b in itertools.combinations(group, 2)]
        heapq.heapify(queue)
        while len(edges) + 1 < len(self.members):
            d, edge, a, b = heapq.heappop(queue)
            if group[a] == group[b]:
                continue
            if edge == unknown:
                i, j, d = self._closest(a, b)
                heapq.heappush(queue, (d, (i, j), a, b))
                continue
            edges.append((*edge, d))
            group = [group[a] if g == group[b] else g for g in group]
        return edges

    def _closest(self, a: int, b: int) -> tuple[int, int, float]:
        """Return the closest pair of points of two groups.

        Pairs with one promising point bound the distance of the groups, which excludes most points.
        """
        rows, others = self.members[a], self.members[b]
        limit = self._measure(rows[[self.least[rows, b].argmin()]], others)[2]
        limit = min(limit, self._measure(rows, others[[self.least[others, a].argmin()]])[2])
        return self._measure(rows[self.least[rows, b] <= limit], others[self.least[others, a] <= limit])

    def _measure(self, rows: Index, others: Index) -> tuple[int, int, float]:
        """Return the closest pair of a point in `rows` and one in `others`, lower index first, and their distance.

        Candidates are found by products and then measured by differences. Of equally close pairs, return that with the lowest indices.
        """
        P, Q = self.points[rows] - self.centre, self.points[others] - self.centre
        p, q = np.einsum("ij,ij->i", P, P), np.einsum("ij,ij->i", Q, Q)
        rounding = 4e-16 * (self.centre.size + 8) * (p.max() + q.max())
        low, left = np.inf, []
        with one_blas_thread():
            for i, j in itertools.product(range(0, rows.size, _TILE), range(0, others.size, _TILE)):
                S = P[i : i + _TILE] @ (-2 * Q[j : j + _TILE].T)
                S += q[j : j + _TILE]
                S += p[i : i + _TILE, None]
                lowest = S.min()
                low = min(low, lowest)
                if lowest <= low + rounding:
                    left.append(np.argwhere(low + rounding >= S) + np.array((i, j)))
        pairs = np.concatenate(left)
        i, j = np.sort(np.column_stack([rows[pairs[:, 0]], others[pairs[:, 1]]]), axis=1).T
        squares = pair_squares(self.points, i, self.points, j)
        first = np.lexsort((j, i, squares))[0]
        return int(i[first]), int(j[first]), float(np.sqrt(squares[first]))
