"""A sparse symmetric matrix whose rows stay on the workers of a cluster and which supports products."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, TypeAlias, TypeVar

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from ..._types import Array, Index
from ...data.rows.cluster import Here
from ...numerics.nearest.neighbour_lists import Lists
from ..weights.rules import BoundRule
from .shard_search import SpreadGraph, pointing, undirected

#: Distances, targets and sources of edges that lead to a shard.
Edges: TypeAlias = tuple[Array, Index, Index]
Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class Block:
    """Rows of the matrix of one shard, over their nonzero columns, ordered by shard.

    Attributes
    ----------
    values : csr_array of shape (m, h)
    touched : list of (shard, ndarray of int)
        Shards and nodes within them that the columns stand for.
    """

    values: sp.csr_array
    touched: list[tuple[int, Index]]


@dataclass(frozen=True, eq=False)
class SpreadMatrix:
    """The matrix in row blocks. For a product every block receives only the rows of other shards that it needs.

    Attributes
    ----------
    hands : Here or Workers
        Executor of the tasks.
    blocks : list of Block
        Futures on a cluster.
    halos : list of list of (shard, rows)
        For every block the rows of other shards that it needs.
    starts : ndarray of int
        First row of every block, and the number of rows.
    entries : ndarray of shape (n,)
        The diagonal.
    """

    hands: Here
    blocks: list[Block]
    halos: list[list[tuple[int, Index]]]
    starts: Index
    entries: Array

    #: Too large to be written out.
    distributed: ClassVar[bool] = True

    def __matmul__(self, Z: Array) -> Array:
        return self._gathered(self._with_halos(_product, self._dealt(Z)), Z.ndim)

    def filtered(self, V: Array, steps: Iterable[tuple[float, float, float]]) -> Array:
        """Return ``p(M) V`` for a polynomial given by the recurrence ``v'' = (a M + b) v' + c v``, computed on the workers."""
        before = now = self._dealt(V)
        for step in steps:
            before, now = now, self._with_halos(_step, now, before, [step] * len(now))
        return self._gathered(now)

    def quadratic(self, Z: Array) -> Array:
        return Z.T @ (self @ Z)

    def diagonal(self) -> Array:
        return self.entries

    def bound(self) -> float:
        """Return a bound for a Laplacian D − W with nonnegative weights: 2D, also after a congruence."""
        return 2.0 * float(self.entries.max(initial=0.0))

    def scaled(self, s: Array) -> SpreadMatrix:
        return replace(self, blocks=self._with_halos(_scaled, self._dealt(s)), entries=self.entries * s**2)

    def to_dense(self) -> Array:
        return self @ np.eye(self.starts[-1])

    # ------------------------------------------------------------------ communication with the workers
    def _dealt(self, Z: Array) -> list[Array]:
        Z = Z[:, None] if Z.ndim == 1 else Z
        return self.hands.scatter(
            [np.ascontiguousarray(Z[i:j]) for i, j in zip(self.starts, self.starts[1:], strict=False)]
        )

    def _with_halos(self, work: Callable[..., Result], own: list[Array], *others: Sequence[object]) -> list[Result]:
        """Run `work` on every block with its own rows and the rows of other shards that it needs."""
        do = self.hands.submit
        return [
            do(
                work,
                block,
                own[i],
                [j for j, _ in halo],
                [do(operator.getitem, own[j], rows) for j, rows in halo],
                *(o[i] for o in others),
            )
            for i, (block, halo) in enumerate(zip(self.blocks, self.halos, strict=True))
        ]

    def _gathered(self, parts: list[Array], dimensions: int = 2) -> Array:
        out = np.vstack(self.hands.gather(parts))
        return out[:, 0] if dimensions == 1 else out


def spread_laplacian(graph: SpreadGraph, rule: BoundRule) -> tuple[SpreadMatrix, Array, int]:
    """Return ``D − W`` of the graph for a weight rule, its degrees, and the number of connected components."""
    do, starts = graph.hands.submit, graph.starts
    masses = None if graph.masses is None else graph.hands.scatter([graph.masses])[0]
    blocks, halos = [], []
    for i, lists in enumerate(graph.lists):
        around = np.flatnonzero(graph.joined[i])
        arriving = [do(pointing, graph.lists[j], starts[j], starts[i], starts[i + 1]) for j in around]
        block = do(_laplacian, lists, arriving, i, starts, rule, masses)
        blocks.append(block)
        halos.append([(int(j), do(_halo, block, int(j))) for j in around if j != i])
    entries = np.concatenate(graph.hands.gather([do(_diagonal, block, i) for i, block in enumerate(blocks)]))
    largest = max(graph.hands.gather([do(_largest_weight, block) for block in blocks]), default=0.0)
    least = float(np.finfo(float).eps) * largest  # as for graphs in memory, lighter edges do not connect components
    found = graph.hands.gather([do(_pieces, block, i, starts, least) for i, block in enumerate(blocks)])
    return SpreadMatrix(graph.hands, blocks, halos, starts, entries), entries, _joined_pieces(found, graph.n)


def _joined_pieces(found: Sequence[tuple[Index, Index]], n: int) -> int:
    """Return the number of connected components, from a spanning forest of every block."""
    first, second = (np.concatenate([part[side] for part in found]) for side in (0, 1))
    return int(connected_components(sp.coo_array((np.ones(first.size), (first, second)), shape=(n, n)).tocsr())[0])


# ---------------------------------------------------------------------- tasks on workers
def _laplacian(
    lists: Lists, arriving: list[Edges], i: int, starts: Index, rule: BoundRule, masses: Array | None
) -> Block:
    n, m = int(starts[-1]), int(starts[i + 1] - starts[i])
    W = rule.weigh(undirected(lists, arriving, n), None)
    places = starts[i] + np.arange(m)
    if masses is not None:
        W.data *= masses[W.indices] * np.repeat(masses[places], np.diff(W.indptr))
    own = sp.csr_array((np.asarray(W.sum(axis=1)).ravel(), places, np.arange(m + 1)), shape=(m, n))
    L = sp.csr_array(own - W)
    columns = np.union1d(L.indices, places)
    local = sp.csr_array((L.data, np.searchsorted(columns, L.indices), L.indptr), shape=(m, columns.size))
    cuts = np.searchsorted(columns, starts)
    touched = [(j, columns[a:b] - starts[j]) for j, (a, b) in enumerate(itertools.pairwise(cuts)) if b > a]
    return Block(local, touched)


def _halo(block: Block, j: int) -> Index:
    return next((rows for shard, rows in block.touched if shard == j), np.zeros(0, dtype=np.intp))


def _over_columns(block: Block, own: Array, around: list[int], pieces: list[Array]) -> Array:
    """Return the rows of all shards that correspond to the columns of a block."""
    there = dict(zip(around, pieces, strict=True))
    return np.vstack([there.get(j, own) for j, _ in block.touched])


def _product(block: Block, own: Array, around: list[int], pieces: list[Array]) -> Array:
    return block.values @ _over_columns(block, own, around, pieces)


def _step(
    block: Block, own: Array, around: list[int], pieces: list[Array], before: Array, step: tuple[float, float, float]
) -> Array:
    a, b, c = step
    out = _product(block, own, around, pieces)
    out *= a
    out += b * own
    if c:
        out += c * before
    return out


def _scaled(block: Block, own: Array, around: list[int], pieces: list[Array]) -> Block:
    M, s = block.values, _over_columns(block, own, around, pieces)[:, 0]
    data = M.data * s[M.indices] * np.repeat(own[:, 0], np.diff(M.indptr))
    return replace(block, values=sp.csr_array((data, M.indices, M.indptr), shape=M.shape))


def _diagonal(block: Block, i: int) -> Array:
    start = sum(rows.size for j, rows in block.touched if j < i)
    return block.values[:, start : start + block.values.shape[0]].diagonal()


def _largest_weight(block: Block) -> float:
    return -float(block.values.data.min(initial=0.0))  # off the diagonal entries are −w


def _pieces(block: Block, i: int, starts: Index, least: float) -> tuple[Index, Index]:
    """Return a spanning forest of the edges heavier than `least`: every node with the first node of its component."""
    M, columns = block.values, np.concatenate([starts[j] + rows for j, rows in block.touched])
    m, h = M.shape
    rows = np.searchsorted(columns, starts[i] + np.arange(m))
    heavy = M.data < -least
    square = sp.csr_array((M.data[heavy], (np.repeat(rows, np.diff(M.indptr))[heavy], M.indices[heavy])), shape=(h, h))
    labels = connected_components(square)[1]
    first = np.zeros(labels.max(initial=0) + 1, dtype=np.intp)
    first[labels[::-1]] = np.arange(h)[::-1]
    return columns, columns[first[labels]]
