"""Edges from new points to an undirected k-NN graph, by the rule that joined the training points.

Two points are joined if one is among the k nearest neighbours of the other. The edges of a new point x are its own list, and every
training point j that would have x on *its* list: those with a distance below the *reach* of j, the distance to its k-th neighbour. (At
exactly that distance the list of j is full without x.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.spatial import cKDTree

from ..._types import Array, Index, Matrix
from ...numerics.nearest.engines import index_of
from ...numerics.nearest.finders import Finder
from ...numerics.nearest.metric import point_distances
from ...numerics.nearest.neighbour_lists import TINY, keep_zeros, restore_zeros
from ...numerics.threads import one_blas_thread

#: Number of distances in memory at a time.
_ENTRIES = 2**22
#: Rows and columns of a tile of products, small enough to stay in the cache.
_TILE = (256, 2048)
#: Relative difference up to which distances are equal: different algorithms round differently.
_ROUNDING = 1e-9
#: Largest number of octaves by which reaches are grouped.
_OCTAVES = 30


@dataclass(frozen=True, eq=False)
class Joining(Finder):
    """Relates new points to the training points of an undirected k-NN graph: ``X -> csr of distances (m, n)``.

    Attributes
    ----------
    finder : Finder
        Finds the k nearest training points of new points.
    reach : ndarray of shape (n,)
        Distance of each training point's farthest neighbour.
    symmetry : {"union", "mutual"}
        Whether one or both ends must have the other on their list. With "mutual", a new point on no list is joined to its nearest.
    """

    finder: Finder
    reach: Array
    symmetry: str = "union"

    def relate(self, X: Matrix) -> sp.csr_array:
        return self.listed(X)[1]

    def listed(self, X: Matrix) -> tuple[sp.csr_array, sp.csr_array]:
        own = self.finder.relate(X)
        return own, self._joined(own, self._takers(X))

    def _joined(self, own: sp.csr_array, taken: sp.csr_array | None) -> sp.csr_array:
        """Return the edges of new points from their own lists and from the training points whose lists they would enter."""
        if taken is None:
            return own
        if self.symmetry == "union":
            own, taken = keep_zeros(own), keep_zeros(taken)
            return restore_zeros(sp.csr_array(own + (taken - taken.multiply(_pattern(own)))))
        both = restore_zeros(sp.csr_array(keep_zeros(own).multiply(_pattern(taken))))
        return _or_nearest(both, own)

    def _takers(self, X: Matrix) -> sp.csr_array | None:
        """Return distances to the training points whose lists a new point would enter; None if only its own list counts."""
        engine = self.finder.engine
        if engine is None:  # precomputed distances, or a scikit-learn transformer
            return None if sp.issparse(X) else self._in_rows(X)
        if engine.name == "tree":
            blocks = self._in_trees(np.asarray(X, dtype=np.float64))
        elif engine.name == "sklearn":
            blocks = self._by_metric(X, engine.points)
        else:
            blocks = self._by_products(np.asarray(X, dtype=np.float64), engine.points)
        with one_blas_thread():  # tiles are too small for several threads
            rows, columns, data = (np.concatenate(part) for part in zip(*blocks, strict=True))
        near = data < self.reach[columns] * (1 - _ROUNDING)
        out = sp.coo_array(
            (np.maximum(data[near], TINY), (rows[near], columns[near])), shape=(X.shape[0], self.reach.size)
        )
        return restore_zeros(sp.csr_array(out))

    def _in_rows(self, X: Matrix) -> sp.csr_array:
        D = np.asarray(X, dtype=np.float64)
        D = D if self.finder.columns is None else D[:, self.finder.columns]
        rows, columns = np.nonzero(self.reach * (1 - _ROUNDING) > D)
        return sp.csr_array((D[rows, columns], (rows, columns)), shape=D.shape)

    def _grown(self) -> list[tuple[float, Index, cKDTree]]:
        """Return trees of the training points, grouped by octaves of their reach: (largest reach, rows, tree)."""
        assert self.finder.engine is not None
        points, top = self.finder.engine.points, max(float(self.reach.max()), np.finfo(float).tiny)
        ratio = np.maximum(self.reach / top, 2.0**-_OCTAVES)
        octave = np.floor(-np.log2(ratio)).astype(int)
        members = [np.flatnonzero(octave == level) for level in np.unique(octave)]
        return [(float(self.reach[some].max()), some, cKDTree(points[some])) for some in members]

    def _in_trees(self, X: Array) -> Iterator[tuple[Index, Index, Array]]:
        assert self.finder.engine is not None
        points = self.finder.engine.points
        for radius, members, tree in index_of(self, self._grown):
            found = tree.query_ball_point(X, radius)
            rows = np.repeat(np.arange(len(X)), [len(each) for each in found])
            columns = members[np.concatenate([*found, []]).astype(np.intp)]
            yield rows, columns, np.linalg.norm(X[rows] - points[columns], axis=1)

    def _by_products(self, X: Array, points: Array) -> Iterator[tuple[Index, Index, Array]]:
        """Compute all distances by products about the centre; recompute those near the reach by differences."""
        centre, (rows, columns) = points.mean(axis=0), _TILE
        rounding = 1e-14 * (points.shape[1] + 8)
        for j in range(0, len(points), columns):
            P, reach = points[j : j + columns] - centre, self.reach[j : j + columns]
            size = np.einsum("ij,ij->i", P, P)
            most, P2 = reach**2 - (1 - rounding) * size, -2.0 * P.T
            for i in range(0, len(X), rows):
                Q = X[i : i + rows] - centre
                S = Q @ P2
                S += (1 - rounding) * np.einsum("ij,ij->i", Q, Q)[:, None]
                near, at = np.nonzero(most >= S)
                yield i + near, j + at, np.linalg.norm(Q[near] - P[at], axis=1)

    def _by_metric(self, X: Matrix, points: Matrix) -> Iterator[tuple[Index, Index, Array]]:
        step = max(1, _ENTRIES // points.shape[0])
        for i in range(0, X.shape[0], step):
            D = point_distances(X[i : i + step], points, self.finder.metric)
            rows, columns = np.nonzero(self.reach * (1 - _ROUNDING) > D)
            yield i + rows, columns, D[rows, columns]


def _pattern(D: sp.csr_array) -> sp.csr_array:
    return sp.csr_array((np.ones(D.nnz), D.indices, D.indptr), shape=D.shape)


def _or_nearest(both: sp.csr_array, own: sp.csr_array) -> sp.csr_array:
    """Return the rows of the first matrix; replace empty ones by the smallest entry of the second."""
    alone = np.flatnonzero(np.diff(both.indptr) == 0)
    if not alone.size:
        return both
    at = np.array([a + own.data[a:b].argmin() for a, b in zip(own.indptr[alone], own.indptr[alone + 1], strict=True)])
    data, columns = (
        np.insert(old, both.indptr[alone], new[at]) for old, new in ((both.data, own.data), (both.indices, own.indices))
    )
    indptr = np.concatenate([[0], np.cumsum(np.maximum(np.diff(both.indptr), 1))])
    return sp.csr_array((data, columns, indptr), shape=both.shape)
