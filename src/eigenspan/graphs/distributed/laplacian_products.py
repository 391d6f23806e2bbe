"""A sparse symmetric matrix whose rows stay on the workers of a cluster, known by its products."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from ..._types import Array, Index
from ..weights.rules import BoundRule
from .shard_search import SpreadGraph, pointing, undirected


@dataclass(frozen=True, eq=False)
class Block:
    """Rows of the matrix of one shard, over the columns that they touch: those of every shard in turn.

    Attributes
    ----------
    values : csr_array of shape (m, h)
    touched : list of (shard, ndarray of int)
        Which nodes of which shards the columns are.
    """

    values: sp.csr_array
    touched: list[tuple[int, Index]]


@dataclass(frozen=True, eq=False)
class SpreadMatrix:
    """The matrix in row blocks; a product sends every block the rows of its neighbours that it touches, and nothing else.

    Attributes
    ----------
    hands : object
        Who works on the blocks (`input.hands`).
    blocks : list of Block, wherever they are
    halos : list of list of (shard, rows)
        For every block the rows of other shards that it touches.
    starts : ndarray of int
        Where the rows of every block begin, and where the last ends.
    entries : ndarray of shape (n,)
        The diagonal.
    """

    hands: Any
    blocks: list[Any]
    halos: list[list[tuple[int, Any]]]
    starts: Index
    entries: Array

    #: Too large, or too far away, to be written out.
    distributed: ClassVar[bool] = True

    def __matmul__(self, Z: Array) -> Array:
        return self._gathered(self._with_halos(_product, self._dealt(Z)), Z.ndim)

    def filtered(self, V: Array, steps: Iterable[tuple[float, float, float]]) -> Array:
        """``p(M) V`` for a polynomial by its recurrence ``v'' = (a M + b) v' + c v``, all of it on the workers."""
        before = now = self._dealt(V)
        for step in steps:
            before, now = now, self._with_halos(_step, now, before, [step] * len(now))
        return self._gathered(now)

    def quadratic(self, Z: Array) -> Array:
        return Z.T @ (self @ Z)

    def diagonal(self) -> Array:
        return self.entries

    def bound(self) -> float:
        """Of a Laplacian D − W with weights that are not negative: no more than 2D, also after a congruence."""
        return 2.0 * float(self.entries.max(initial=0.0))

    def scaled(self, s: Array) -> SpreadMatrix:
        return replace(self, blocks=self._with_halos(_scaled, self._dealt(s)), entries=self.entries * s**2)

    def to_dense(self) -> Array:
        return self @ np.eye(self.starts[-1])

    # ------------------------------------------------------------------ between here and the workers
    def _dealt(self, Z: Array) -> list[Any]:
        Z = Z[:, None] if Z.ndim == 1 else Z
        return self.hands.scatter(
            [np.ascontiguousarray(Z[i:j]) for i, j in zip(self.starts, self.starts[1:], strict=False)]
        )

    def _with_halos(self, work: Callable[..., Any], own: list[Any], *others: Any) -> list[Any]:
        """`work` on every block and the rows of `own` that it touches."""
        do = self.hands.submit
        return [
            do(
                work,
                block,
                own[i],
                [j for j, _ in halo],
                [do(_taken, own[j], rows) for j, rows in halo],
                *(o[i] for o in others),
            )
            for i, (block, halo) in enumerate(zip(self.blocks, self.halos, strict=True))
        ]

    def _gathered(self, parts: list[Any], dimensions: int = 2) -> Array:
        out = np.vstack(self.hands.gather(parts))
        return out[:, 0] if dimensions == 1 else out


def spread_laplacian(graph: SpreadGraph, rule: BoundRule) -> tuple[SpreadMatrix, Array, int]:
    """``D − W`` of the graph under a rule of weights, its degrees, and into how many pieces the graph falls."""
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
    least = float(np.finfo(float).eps) * largest  # as in memory, lighter edges join nothing
    found = graph.hands.gather([do(_pieces, block, i, starts, least) for i, block in enumerate(blocks)])
    return SpreadMatrix(graph.hands, blocks, halos, starts, entries), entries, _joined_pieces(found, graph.n)


def _joined_pieces(found: Any, n: int) -> int:
    """The connected components, from a spanning forest of every block."""
    first, second = (np.concatenate([part[side] for part in found]) for side in (0, 1))
    return int(connected_components(sp.coo_array((np.ones(first.size), (first, second)), shape=(n, n)).tocsr())[0])


# ---------------------------------------------------------------------- what workers do
def _laplacian(lists: Any, arriving: list[Any], i: int, starts: Index, rule: BoundRule, masses: Array | None) -> Block:
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


def _taken(V: Array, rows: Index) -> Array:
    return V[rows]


def _over_columns(block: Block, own: Array, around: list[int], pieces: list[Array]) -> Array:
    """The rows that the columns of a block stand for."""
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
    """Pairs of nodes that join what edges heavier than `least` join: every node with the first of its piece."""
    M, columns = block.values, np.concatenate([starts[j] + rows for j, rows in block.touched])
    m, h = M.shape
    rows = np.searchsorted(columns, starts[i] + np.arange(m))
    heavy = M.data < -least
    square = sp.csr_array((M.data[heavy], (np.repeat(rows, np.diff(M.indptr))[heavy], M.indices[heavy])), shape=(h, h))
    labels = connected_components(square)[1]
    first = np.zeros(labels.max(initial=0) + 1, dtype=np.intp)
    first[labels[::-1]] = np.arange(h)[::-1]
    return columns, columns[first[labels]]
