"""Exact k-nearest-neighbour graph of distributed rows, without comparing all pairs of blocks.

Rows are distributed to shards, one for each cell of space. A row is searched for in its own shard, and in another shard only if the lower
bound on its distance to that shard is below the distance of its k-th neighbour so far.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ..._types import Array, Index, Mask, Matrix
from ...data.rows.cluster import Here
from ...numerics.nearest.engines import SearchEngine, choose
from ...numerics.nearest.neighbour_lists import Lists, canonical
from ...numerics.nearest.row_lookup import RowIndex
from .cells import Cells

#: Rounding error of a bound on distances, relative to the size of the numbers.
_ROUNDING = 1e-9
#: Number of features up to which a k-d tree is faster than bounds on all pairs.
_TREE = 8


@dataclass(frozen=True, eq=False)
class Shard:
    """Rows of one cell: the distinct points, the row numbers, and the point of each row."""

    points: Array
    rows: Index
    places: Index


@dataclass(frozen=True, eq=False)
class SpreadGraph:
    """A k-nearest-neighbour graph whose lists stay on the workers; nodes are numbered shard by shard.

    Attributes
    ----------
    hands : Here or Workers
        Executor of the tasks on shards.
    lists : list
        ``(distances, indices)`` of shape (m, k) of every shard, as futures on a cluster.
    starts : ndarray of int
        First node of every shard, and the number of nodes.
    joined : ndarray of bool
        Pairs of shards with edges between them, in either direction.
    rows, nodes : ndarray of int
        The rows of X, and the node of each: duplicate rows share a node.
    searched : int
        Number of queries outside of each row's own shard.
    """

    hands: Here
    lists: list[Lists]
    starts: Index
    joined: Mask
    rows: Index
    nodes: Index
    searched: int

    @property
    def n(self) -> int:
        return int(self.starts[-1])

    @property
    def masses(self) -> Array | None:
        """Number of rows of every node; None if all are one."""
        return None if self.rows.size == self.n else np.bincount(self.nodes, minlength=self.n).astype(np.float64)

    @property
    def first(self) -> Index:
        """First row of every node, in the order of the rows."""
        first = np.full(self.n, self.rows.size)
        np.minimum.at(first, self.nodes, self.rows)
        return np.sort(first)

    def back(self, Y: Array) -> Array:
        """Return values of the nodes for all rows of X, in their order."""
        out = np.empty((self.rows.size, Y.shape[1]))
        out[self.rows] = Y[self.nodes]
        return out


def spread_graph(hands: Here, dealt: list[list[Shard]], cells: Cells, k: int) -> SpreadGraph:
    """Return the graph of the rows that `dealt` distributed to the cells, block by block. Blocks until it is complete."""
    do, count = hands.submit, cells.count
    shards = [do(_gathered, [do(operator.getitem, pieces, cell) for pieces in dealt]) for cell in range(count)]
    balls = hands.gather([do(_ball, shard) for shard in shards])
    starts = np.concatenate([[0], np.cumsum([ball[2] for ball in balls])])
    engines = [do(_engine, shard) for shard in shards]
    near = [do(_own, engine, k) for engine in engines]
    wants = [do(_wants, i, shards[i], near[i], cells, balls) for i in range(count)]
    asked = np.array(hands.gather([do(_lengths, want) for want in wants]))
    lists = []
    for i in range(count):
        others = [int(j) for j in np.flatnonzero(asked[i])]
        answers = [do(_answer, do(_queries, shards[i], wants[i], j), engines[j], k) for j in others]
        lists.append(do(_merged, near[i], int(starts[i]), wants[i], others, starts, answers, k))
    towards = np.array(hands.gather([do(_towards, own, starts) for own in lists])) > 0
    rows, places = zip(*hands.gather([do(_rows, shard) for shard in shards]), strict=True)
    nodes = np.concatenate([start + place for start, place in zip(starts, places, strict=False)])
    return SpreadGraph(hands, lists, starts, towards | towards.T, np.concatenate(rows), nodes, int(asked.sum()))


# ---------------------------------------------------------------------- tasks on workers
def dealt(block: Matrix, first: int, cells: Cells) -> list[Shard]:
    """Split the rows of a block by their cells; `first` is the number of its first row."""
    X = np.asarray(block, dtype=np.float64)
    home = cells.find(X)
    order = np.argsort(home, kind="stable")
    cuts = np.searchsorted(home[order], np.arange(1, cells.count))
    return [Shard(X[rows], first + rows, rows) for rows in np.split(order, cuts)]


def _gathered(pieces: list[Shard]) -> Shard:
    """Join the pieces of a shard from all blocks; duplicate rows are in one cell and become one point."""
    X, rows = np.vstack([piece.points for piece in pieces]), np.concatenate([piece.rows for piece in pieces])
    copies = RowIndex.build(X).copies() if len(X) else None
    return Shard(X, rows, np.arange(len(X))) if copies is None else Shard(X[copies.first], rows, copies.labels)


def _rows(shard: Shard) -> tuple[Index, Index]:
    return shard.rows, shard.places


def _ball(shard: Shard) -> tuple[Array, float, int]:
    """Return centre and radius of a ball around the points, and their number."""
    X = shard.points
    if not len(X):
        return np.zeros(X.shape[1]), -np.inf, 0
    centre = X.mean(axis=0)
    return centre, float(np.linalg.norm(X - centre, axis=1).max()), len(X)


def _engine(shard: Shard) -> SearchEngine | None:
    """Return an exact engine with one thread: workers run in parallel."""
    X = shard.points
    return choose(X, "euclidean", "tree" if X.shape[1] <= _TREE else "exact", 1) if len(X) else None


def _own(engine: SearchEngine | None, k: int) -> Lists:
    """Return the neighbours within a shard; missing ones have infinite distance."""
    n = 0 if engine is None else len(engine.points)
    distances, indices = np.full((n, k), np.inf), np.zeros((n, k), dtype=np.intp)
    if engine is not None and n > 1:
        some = min(k, n - 1)
        distances[:, :some], indices[:, :some] = engine.near(None, some)
    return distances, indices


def _wants(i: int, shard: Shard, own: Lists, cells: Cells, balls: list[tuple[Array, float, int]]) -> list[Index]:
    """Return for every other shard the rows that may have neighbours in it."""
    X, reach = shard.points, own[0][:, -1] if len(shard.points) else np.zeros(0)
    gaps, spare = cells.gaps(X), _ROUNDING * float(np.abs(X).max(initial=0.0)) * np.sqrt(X.shape[1])
    out = []
    for j, (centre, radius, count) in enumerate(balls):
        gap = np.maximum(gaps[:, j], np.linalg.norm(X - centre, axis=1) - radius) if count else np.inf
        out.append(np.flatnonzero(gap - spare <= reach) if i != j and count else np.zeros(0, dtype=np.intp))
    return out


def _lengths(wants: list[Index]) -> list[int]:
    return [want.size for want in wants]


def _queries(shard: Shard, wants: list[Index], j: int) -> Array:
    return shard.points[wants[j]]


def _answer(queries: Array, engine: SearchEngine, k: int) -> Lists:
    return engine.near(queries, min(k, len(engine.points)))


def _merged(
    own: Lists, start: int, wants: list[Index], others: list[int], starts: Index, answers: list[Lists], k: int
) -> Lists:
    """Merge the neighbours found by all shards into the k nearest, with nodes of the whole graph."""
    distances, indices = own[0].copy(), own[1] + start
    for j, (found, which) in zip(others, answers, strict=True):
        rows = wants[j]
        D, which = np.hstack([distances[rows], found]), np.hstack([indices[rows], which + starts[j]])
        order = np.lexsort((which, D), axis=1)[:, :k]
        distances[rows], indices[rows] = np.take_along_axis(D, order, axis=1), np.take_along_axis(which, order, axis=1)
    return distances, indices


def _towards(lists: Lists, starts: Index) -> Index:
    """Return the number of edges that lead to every shard."""
    return np.bincount(np.searchsorted(starts, lists[1].ravel(), side="right") - 1, minlength=len(starts) - 1)


def pointing(lists: Lists, own: int, first: int, last: int) -> tuple[Array, Index, Index]:
    """Return the edges from a shard, whose first node is `own`, to nodes from `first` to `last`: lengths, targets − `first`, sources."""
    distances, indices = lists
    rows, columns = np.nonzero((indices >= first) & (indices < last))
    return distances[rows, columns], indices[rows, columns] - first, rows + own


def undirected(lists: Lists, arriving: list[tuple[Array, Index, Index]], n: int) -> sp.csr_array:
    """Return the lengths of all edges at the nodes of a shard, from their own lists and from those of other nodes: (m, n)."""
    distances, indices = lists
    m, k = indices.shape
    data = np.concatenate([distances.ravel(), *(edges[0] for edges in arriving)])
    rows = np.concatenate([np.repeat(np.arange(m), k), *(edges[1] for edges in arriving)])
    columns = np.concatenate([indices.ravel(), *(edges[2] for edges in arriving)])
    return canonical(data, rows, columns, n, m)
