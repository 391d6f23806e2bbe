"""Path-based similarity: two points are as similar as the weakest link of the best path between them.

    s_ij = max over paths from i to j of the smallest weight on the way

A maximum spanning tree of the graph determines these similarities, and their n×n matrix is a sum over the merges of single linkage.
`MergeTree` multiplies by it in O(n) per column without forming it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import scipy.sparse as sp

from ..._diagnostics import stage
from ..._parameters import parameter
from ..._types import Array, Index, Matrix, Sparse
from ...errors import GraphError
from ...numerics.memory import require
from ...numerics.paths.csgraph import minimum_spanning_tree
from ..neighbours.graph import NeighbourGraph, neighbourhoods
from .rules import WeightRule, Weights, bound, weight_rule

#: Largest number of entries of temporary arrays.
_NUMBERS = 2**22


@weight_rule("path", dependency="paths")
class PathSimilarity(WeightRule):
    """Robust path-based weights, for any projection's ``weights=``.

    The weights of the graph's edges are damped at outliers, ``a_i a_j w_ij``, and two points then get the weight of the weakest
    edge on the best path between them, or zero without a path. The robustness a_i ≤ 1 of a point is the sum of its weights in
    the robust means (M-estimates) of its neighbourhoods: an outlier belongs to few, and is far from their centres.

    Parameters
    ----------
    weights
        Weights of the edges of the neighbour graph.
    robust
        Reduce the weight of edges at outliers.
    pairs
        Pairs with a weight: all of them, stored as a tree in O(n) memory and divided by n so that a degree is a mean
        similarity (for projections), or the edges of the graph.

    Examples
    --------
    >>> from eigenspan import LPP
    >>> from eigenspan import PathSimilarity
    >>> LPP(2, weights=PathSimilarity(pairs="edges")).weights.robust
    True

    References
    ----------
    Chang & Yeung (2008), Robust path-based spectral clustering; Zhang & Yeung (2008), Semi-supervised discriminant analysis using
    robust path-based similarity.
    """

    weights: Weights = parameter(default="heat", kw_only=False)
    robust: bool = True
    pairs: Literal["all", "edges"] = "all"

    def tree(self, graph: NeighbourGraph, X: Matrix | None) -> MergeTree:
        """Return the similarities of all pairs of points of a graph."""
        self.check()
        with stage("paths"):
            W = bound(self.weights, graph, X).weigh(graph.undirected(), None)
            if self.robust:
                a = robustness(graph, X)
                rows = np.repeat(np.arange(graph.n), np.diff(W.indptr))
                W = sp.csr_array((W.data * a[rows] * a[W.indices], W.indices, W.indptr), shape=W.shape)
            return merge_tree(W)

    def bind(self, graph: NeighbourGraph, X: Matrix | None) -> _BoundPaths:
        if self.pairs == "all":
            raise GraphError(
                'weights=PathSimilarity(pairs="all") has a weight for every pair of points, and this method needs weights of edges: use '
                'PathSimilarity(pairs="edges").'
            )
        return _BoundPaths(self.tree(graph, X))


@dataclass(frozen=True, eq=False)
class _BoundPaths:
    tree: MergeTree

    def weigh(self, distances: Sparse, X: Matrix | None) -> Sparse:
        if X is not None:
            raise GraphError(
                "Path-based weights are known among the training points only: use them in projections, whose map needs none."
            )
        rows = np.repeat(np.arange(distances.shape[0]), np.diff(distances.indptr))
        data = self.tree.between(rows, distances.indices)
        return sp.csr_array((data, distances.indices, distances.indptr), shape=distances.shape)


def robustness(graph: NeighbourGraph, X: Matrix | None, steps: int = 10) -> Array:
    """Return the robustness of every point, in (0, 1]: small for outliers.

    Each neighbourhood (a point and its neighbours) has weights of sum one, proportional to ``exp(−‖x − m‖²/v)`` about its robust mean m
    (Welsch's M-estimate), where v is the mean squared distance from the mean. The robustness of a point is the sum of its weights, at
    most one.
    """
    if X is None:
        raise GraphError("Robust path-based weights need coordinates: pass PathSimilarity(robust=False) for distances.")
    total = np.zeros(graph.n)
    for points, near in neighbourhoods(graph.lists()):
        step = max(1, _NUMBERS // ((near.shape[1] + 1) * X.shape[1]))
        for i in range(0, points.size, step):
            members = np.column_stack([points[i : i + step], near[i : i + step]])
            P = X[members.ravel()]
            P = (sp.csr_array(P).toarray() if sp.issparse(P) else np.asarray(P, dtype=np.float64)).reshape(
                *members.shape, -1
            )
            total += np.bincount(members.ravel(), weights=_shares(P, steps).ravel(), minlength=graph.n)
    alone = np.diff(graph.lists().indptr) == 0
    return np.minimum(total + alone, 1.0)


def _shares(P: Array, steps: int) -> Array:
    """Return the weights, of sum one, of the points (m, k, D) of m neighbourhoods in their robust means."""
    w = np.full(P.shape[:2], 1.0 / P.shape[1])
    spread = None
    for _ in range(steps):
        d = np.sum((P - np.einsum("ij,ijk->ik", w, P)[:, None]) ** 2, axis=2)
        spread = np.maximum(d.mean(axis=1, keepdims=True), np.finfo(float).tiny) if spread is None else spread
        w = np.exp(-(d - d.min(axis=1, keepdims=True)) / spread)
        w /= w.sum(axis=1, keepdims=True)
    return w


@dataclass(frozen=True, eq=False)
class MergeTree:
    """The symmetric matrix ``m_i m_j s_ij`` of path-based similarities, represented by the merges of single linkage.

    Every merge is a run of consecutive points in `order`, and the matrix is ``Σ drop · 11'`` over the runs, where a drop is the similarity
    of the merge minus that of the next larger run. Products cost O(nr) for r columns. PSD. Diagonal entries are a point's largest
    similarity to another point.

    Attributes
    ----------
    order : index array of shape (n,)
        Points such that all merges are runs.
    joins : ndarray of shape (n − 1,)
        Similarity at which neighbours in `order` merge; zero between components.
    starts, ends : index arrays of shape (merges,)
        Runs ``order[start:end]``.
    drops : ndarray of shape (merges,)
    mass : ndarray of shape (n,)
    """

    order: Index
    joins: Array
    starts: Index
    ends: Index
    drops: Array
    mass: Array

    @property
    def n(self) -> int:
        return self.order.size

    def _prefix(self, Z: Array) -> Array:
        """Return the sums of the first 0, 1, …, n rows in order."""
        C = np.zeros((self.n + 1, Z.shape[1]))
        np.cumsum(Z[self.order] * self.mass[self.order, None], axis=0, out=C[1:])
        return C

    def quadratic(self, Z: Matrix) -> Array:
        """Return ``Z'SZ``; Z may be dense or any table whose rows can be indexed."""
        r = Z.shape[1]
        require(24.0 * self.n * r, f"Sums over the merges of {self.n} points in {r} features", "Pass reduce=r.")
        C, out = self._prefix(Z), np.zeros((r, r))
        step = max(1, _NUMBERS // max(r, 1))
        for i in range(0, self.drops.size, step):
            T = C[self.ends[i : i + step]] - C[self.starts[i : i + step]]
            out += T.T @ (self.drops[i : i + step, None] * T)
        return out

    def __matmul__(self, Z: Array) -> Array:
        C = self._prefix(Z.reshape(self.n, -1))
        T = self.drops[:, None] * (C[self.ends] - C[self.starts])
        change = np.zeros_like(C)
        np.add.at(change, self.starts, T)
        np.subtract.at(change, self.ends, T)
        out = np.empty((self.n, C.shape[1]))
        out[self.order] = np.cumsum(change, axis=0)[:-1]
        return (self.mass[:, None] * out).reshape(Z.shape)

    def between(self, i: Index, j: Index) -> Array:
        """Return s_ij of pairs of different points: the smallest join between them. O(n log n) once, then O(1) per pair."""
        place = np.empty(self.n, dtype=np.intp)
        place[self.order] = np.arange(self.n)
        low, high = np.minimum(place[i], place[j]), np.maximum(place[i], place[j])
        level = np.frexp(np.maximum(high - low, 1))[1] - 1
        out, table = np.empty(low.size), self.joins
        for power in range(int(level.max(initial=-1)) + 1):
            at = level == power
            out[at] = np.minimum(table[low[at]], table[high[at] - 2**power])
            table = np.minimum(table[: -(2**power)], table[2**power :])
        return out * self.mass[i] * self.mass[j]

    def diagonal(self) -> Array:
        beside = np.concatenate([[0.0], self.joins, [0.0]])
        out = np.empty(self.n)
        out[self.order] = np.maximum(beside[:-1], beside[1:])
        return out * self.mass**2

    def bound(self) -> float:
        """Return the largest row sum, an upper bound on all eigenvalues."""
        return float((self @ np.ones(self.n)).max(initial=0.0))

    def to_dense(self) -> Array:
        S = np.diag(self.diagonal())
        for p in range(self.n - 1):
            row = self.order[p]
            S[row, self.order[p + 1 :]] = np.minimum.accumulate(self.joins[p:])
            S[row, self.order[p + 1 :]] *= self.mass[row] * self.mass[self.order[p + 1 :]]
            S[self.order[p + 1 :], row] = S[row, self.order[p + 1 :]]
        return S

    def scaled(self, s: Array) -> MergeTree:
        """Return ``diag(s) S diag(s)``."""
        return replace(self, mass=self.mass * s)


def merge_tree(W: sp.csr_array) -> MergeTree:
    """Return the single linkage of a graph of similarities, by a maximum spanning forest. O(nk log n)."""
    W = sp.coo_array(W)
    upper = (W.row < W.col) & (W.data > 0)
    values, ranks = np.unique(-W.data[upper], return_inverse=True)
    costs = sp.csr_array(
        (ranks + 1.0, (W.row[upper], W.col[upper])), shape=W.shape
    )  # a stored zero would not be an edge
    edges = sp.coo_array(minimum_spanning_tree(costs))
    best_first = np.argsort(edges.data, kind="stable")
    heights = -values[edges.data[best_first].astype(np.intp) - 1]
    return _linked(W.shape[0], edges.row[best_first].tolist(), edges.col[best_first].tolist(), heights)


def _linked(n: int, rows: list[int], columns: list[int], heights: Array) -> MergeTree:
    """Return the merges along the edges of a forest, in descending order. Groups are chains of points, joined end to end."""
    above, last, size, follower, merge_of = list(range(n)), list(range(n)), [1] * n, [-1] * n, [-1] * n
    first, length, seam, base = [0] * len(rows), [0] * len(rows), [0] * len(rows), np.zeros(len(rows))
    for m, (i, j) in enumerate(zip(rows, columns, strict=True)):
        a, b = _root(above, i), _root(above, j)
        for group in (a, b):
            if merge_of[group] >= 0:
                base[merge_of[group]] = heights[m]
        if size[a] < size[b]:
            a, b = b, a
        seam[m] = last[a]
        above[b], follower[last[a]] = a, b  # the chain of a group begins at its root
        last[a], size[a], merge_of[a] = last[b], size[a] + size[b], m
        first[m], length[m] = a, size[a]
    order: list[int] = []
    for root in range(n):
        point = root if above[root] == root else -1
        while point >= 0:
            order.append(point)
            point = follower[point]
    place = np.empty(n, dtype=np.intp)
    place[order] = np.arange(n)
    starts = place[np.array(first, dtype=np.intp)]
    joins = np.zeros(max(n - 1, 0))
    joins[place[np.array(seam, dtype=np.intp)]] = heights
    ends = starts + np.array(length, dtype=np.intp)
    return MergeTree(np.array(order, dtype=np.intp), joins, starts, ends, heights - base, np.ones(n))


def _root(above: list[int], i: int) -> int:
    while above[i] != i:
        above[i] = above[above[i]]
        i = above[i]
    return i
