"""Exact neighbour search in many dimensions: short products give lower bounds on all distances, and few pairs are measured."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Protocol

import numpy as np
from scipy.spatial.distance import cdist

from ..._diagnostics import note
from ..._types import Array, Index, Single
from ..memory import available_memory, human_bytes, require
from ..threads import in_slices, in_threads, one_thread, workers
from .frame import Frame
from .neighbour_lists import Lists
from .plan import Plan, seconds
from .tiles import Tiles

Counts = tuple[int, int, int]

#: Cost (pairs times features, plus a constant per pair) up to which all distances are computed, cost up to which numpy finishes before
#: the loops would be compiled for the first time, and that constant.
_SMALL, _MEDIUM, _PAIR = 4e8, 4e10, 25
#: Number of distances held at a time if all are computed and memory allows.
_CELLS = 2**22
#: Largest and smallest number of queries per block; in between, half a second of work, because Ctrl-C waits for a block.
_ROWS, _FEWEST, _WAIT = 512, 32, 0.5
#: Number of tiles whose most promising points are measured first: near tiles, or any tiles if none is nearer than others.
_FIRST, _ANY = 6, 20


def cost(queries: int, points: int, features: int) -> float:
    """Return the cost of all distances from `queries` to `points`, in units of at most a nanosecond."""
    return float(queries) * points * (features + _PAIR)


@dataclass(frozen=True, eq=False)
class BlockSearch:
    r"""The k nearest by distance, then by index, of all points: O(mn) with a small constant.

    For each pair of points the search computes

    1. a lower bound on its distance from p + 1 numbers, by matrix products in single precision,
    2. lower bounds from 2(p + 1), 3(p + 1), … numbers, by differences,
    3. the distance itself, by differences of the given coordinates in double precision,

    and drops the pair as soon as a bound exceeds the k-th smallest distance so far. The numbers are coordinates in a `Frame`. p is chosen
    by a trial on a few queries: 32 of 784 for images of digits. If the bounds exclude little, as in a Gaussian cloud, p is D.

    Points are stored in tiles of nearby points. Tiles are processed in order of distance, and tiles that cannot contain a neighbour of any
    query of a block are skipped: data in separate clusters cost only the pairs within them. Every bound is lowered by its rounding
    error, so the result does not depend on axes, tiles, threads or the linear algebra library.

    A small search that is not part of a larger `work` measures all pairs, and a search of medium size avoids compiled loops.
    """

    name: ClassVar[str] = "exact"
    points: Array
    n_jobs: int | None = None
    work: float = 0.0
    plan: Plan | None = field(default=None, init=False)
    layout: Layout | None = field(default=None, init=False)

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "plan": None, "layout": None}

    def near(self, X: Array | None, k: int) -> Lists:
        queries = self.points if X is None else X
        (m, D), n = queries.shape, self.points.shape[0]
        own = np.arange(m) if X is None else np.full(m, -1)
        work = max(self.work, cost(m, n, D))
        if self.layout is None and work <= _SMALL:
            self._require(m, k, 16.0 * n)
            return _by_distances(self.points, queries, own, k)
        layout = self._laid_out(m, k)
        if X is not None:  # further searches for new points are likely
            object.__setattr__(self, "layout", layout)
        loops = _loops(work)
        return _by_bounds(loops, layout, np.ascontiguousarray(self.points), queries, own, k, workers(self.n_jobs))

    def planned(self, m: int, k: int) -> Plan:
        """Return the plan for a search for the k nearest of m points."""
        plan = self.plan or Plan.of(self.points, m, k)
        object.__setattr__(self, "plan", plan)
        return plan

    def _laid_out(self, m: int, k: int) -> Layout:
        cells = 8 * m >= len(self.points)
        if self.layout is not None and (self.layout.cells or not cells):
            return self.layout
        plan = self.planned(m, k)
        (n, D), width = self.points.shape, -(-plan.frame.width // plan.p) * (plan.p + 1)
        blocks = _ROWS * workers(self.n_jobs) * (8.0 * (D + width) + 2048 * ((_FIRST if cells else _ANY) + 1))
        self._require(m, k, n * (4.0 * (width + plan.p) + 64) + max(4.0 * n * width, blocks))
        return Layout.of(self.points, plan, cells, workers(self.n_jobs))

    def _require(self, m: int, k: int, found: float) -> None:
        """Raise MemoryLimitError unless the lists of m queries and `found` further bytes fit into memory.

        `found` counts a row of distances, or the points in single precision plus the larger of a copy for sorting and the query blocks.
        """
        n, D = self.points.shape
        require(
            16.0 * m * k + found,
            f"The exact search for {k} neighbours of {m} among {n} points with {D} features",
            f'Use fewer points or fewer features (PCA first), or KNN({k}, search="hnsw"), which needs {human_bytes(4.0 * n * (D + 80))} '
            "and faiss, or pass a graph computed by another tool as graph=.",
        )


class Loops(Protocol):
    """Interface of `compiled_loops` and `numpy_loops`."""

    def keep_lowest(self, products: Single, squares: Single, first: int, values: Single, indices: Index) -> None: ...
    def measure(
        self, queries: Array, points: Array, candidates: Index, own: Index, values: Array, indices: Index
    ) -> None: ...
    def sift(
        self, products: Single, sizes: Array, squares: Single, F: Single, G: Single, slack: Array, slacks: Array, scale: float,
        points: Array, which: Index, queries: Array, own: Index, values: Array, indices: Index,
    ) -> tuple[int, int]: ...  # fmt: skip


def _loops(work: float) -> Loops:
    """Return compiled loops, or numpy's if compiling would take longer than it saves; both give the same result."""
    from ..jit.compiler import is_compiled
    from . import compiled_loops as nearest

    if work > _MEDIUM or is_compiled(nearest.sift):
        return nearest
    from . import numpy_loops as plain

    return plain


def _by_distances(points: Array, queries: Array, own: Index, k: int) -> Lists:
    n = points.shape[0]
    distances, indices = np.empty((len(queries), k)), np.empty((len(queries), k), dtype=np.intp)
    step = int(max(1, min(_CELLS, available_memory() // 64) // n))
    for i in range(0, len(queries), step):
        squares = cdist(queries[i : i + step], points, "sqeuclidean")
        mine = own[i : i + step]
        squares[mine >= 0, mine[mine >= 0]] = np.inf
        limit = np.partition(squares, k - 1, axis=1)[:, k - 1 : k]
        for r, row in enumerate(squares):  # sort by value, then by index: ties must not depend on the partition
            near = np.flatnonzero(row <= limit[r])
            near = near[np.argsort(row[near], kind="stable")[:k]]
            distances[i + r], indices[i + r] = np.sqrt(row[near]), near
    return distances, indices


@dataclass(frozen=True, eq=False)
class Layout:
    """The points in the form used by a search with bounds, sorted by tile.

    Attributes
    ----------
    frame : Frame
    tiles : Tiles
    cells : bool
        True if each tile holds nearby points.
    F : array of shape (n, c, p + 1)
        Coordinates in the frame, in blocks of p, each block with the length of the remaining coordinates.
    lengths, reach : arrays of shape (n,) and (tiles,)
        Lengths of the points in the frame, and the largest length per tile.
    E, squares : arrays of shape (n, p + 1) and (n,)
        The first block of F (without the remaining length if it is zero), and its squared lengths.
    """

    frame: Frame
    tiles: Tiles
    cells: bool
    F: Single
    lengths: Array
    reach: Array
    E: Single
    squares: Single

    @classmethod
    def of(cls, points: Array, plan: Plan, cells: bool, n_threads: int) -> Layout:
        F, lengths = plan.frame.fold(points, plan.p, n_threads)
        with one_thread():
            tiles = Tiles.of(_first(F)) if cells else Tiles.whole(_first(F))
        F, lengths = F[tiles.order], lengths[tiles.order]
        E = _first(F) if F.shape[1] == 1 else np.ascontiguousarray(_first(F))
        squares = (lowered(plan.frame, E) * (1 - 2.0**-23)).astype(np.float32)
        return cls(plan.frame, tiles, cells, F, lengths, np.maximum.reduceat(lengths, tiles.starts[:-1]), E, squares)

    def by_cell(self, queries: Array, n_threads: int) -> Index:
        """Return the order of new points that groups those of the same cell."""
        if not self.cells:
            return np.arange(len(queries))

        def some(rows: slice) -> Index:
            return self.tiles.nearest(_first(self.frame.fold(queries[rows], self.F.shape[2] - 1)[0]))[0]

        return np.argsort(np.concatenate(in_slices(some, len(queries), 2048, n_threads)), kind="stable")

    def at_once(self) -> int:
        """Return the number of queries per block."""
        return int(np.clip(_WAIT / seconds(1, len(self.F), self.E.shape[1]), _FEWEST, _ROWS))


def _first(F: Single) -> Single:
    return F[:, 0] if F.shape[1] > 1 else F[:, 0, :-1]


def lowered(frame: Frame, E: Single) -> Array:
    """Return squared lengths, lowered by the rounding error of ``|a|² + |b|² − 2ab`` relative to ``|a|² + |b|²``.

    The products contribute at most 2⁻²⁴ per term, in any order of summation. A slack s of a distance d contributes to the square by
    ``(d + s)² ≤ (1 + 2⁻²⁰)d² + (1 + 2²⁰)s²``, and ``s² ≤ 2 slack² (|a|² + |b|²)``.
    """
    share = 2.0**-22 * (E.shape[1] + 8) + 2.0**22 * frame.slack**2
    return np.einsum("ij,ij->i", E, E, dtype=np.float64) * (1 - share)


def _by_bounds(
    loops: Loops, layout: Layout, points: Array, queries: Array, own: Index, k: int, n_threads: int
) -> Lists:
    n, rows, among = len(points), layout.at_once(), len(own) > 0 and own[0] >= 0
    at = layout.tiles.order if among else layout.by_cell(queries, n_threads)
    distances, indices = np.empty((len(queries), k)), np.empty((len(queries), k), dtype=np.intp)

    def search(start: int) -> Counts:
        mine, part = at[start : start + rows], slice(start, start + rows)
        block = np.asarray(queries[mine], dtype=np.float64)
        placed = (layout.F[part], layout.lengths[part]) if among else layout.frame.fold(block, layout.F.shape[2] - 1)
        with np.errstate(invalid="ignore"):
            squares, which, counts = _search(loops, layout, points, block, own[mine], *placed, k)
        distances[mine], indices[mine] = np.sqrt(squares), which
        return counts

    counts = np.array(in_threads(search, range(0, len(queries), rows), n_threads))
    if among:
        scanned, passed, measured = (counts.sum(axis=0) / n).tolist()
        note(scanned=scanned / n, bounded=passed, measured=measured, axes=layout.F.shape[2] - 1)
    return distances, indices


def _search(
    loops: Loops, layout: Layout, points: Array, block: Array, own: Index, F: Single, lengths: Array, k: int
) -> tuple[Array, Index, Counts]:
    """Return squared distances and indices of the nearest of a block of queries, and the number of pairs at each stage."""
    tiles, m = layout.tiles, len(block)
    values, which = np.full((m, k), np.inf), np.full((m, k), len(points), dtype=np.intp)
    Q, sizes = _first(F) * np.float32(-2), lowered(layout.frame, _first(F))
    to_centres = tiles.to_centres(_first(F))
    nearest = np.argsort(np.where(np.isnan(to_centres), 0, to_centres).mean(axis=0)[tiles.cell], kind="stable")
    slack = layout.frame.slack
    bounds = tiles.bounds(to_centres, lengths, layout.reach)

    def products(t: int, room: Single | None = None) -> tuple[slice, Single]:
        tile = slice(tiles.starts[t], tiles.starts[t + 1])
        width = tile.stop - tile.start
        return tile, np.matmul(Q, layout.E[tile].T, out=None if room is None else room[: m * width].reshape(m, width))

    some = max(_FIRST if len(tiles.centres) > 1 else _ANY, -(-4 * k // tiles.width))
    begun = {t: products(t) for t in nearest[:some]}
    low, promising = np.full((m, 2 * k), np.inf, dtype=np.float32), np.full((m, 2 * k), -1, dtype=np.intp)
    for tile, first in begun.values():
        loops.keep_lowest(first, layout.squares[tile], tile.start, low, promising)
    loops.measure(block, points, np.where(promising < 0, -1, tiles.order[promising]), own, values, which)
    scanned = passed = measured = 0
    room = np.empty(m * tiles.width, dtype=np.float32)  # reuse a buffer: allocating one costs as much as the products
    for t in nearest:
        if np.all(bounds[:, t] > np.sqrt(values[:, -1]) * layout.frame.scale + slack * (lengths + layout.reach[t])):
            continue
        tile, first = begun.pop(t) if t in begun else products(t, room)
        more = loops.sift(
            first, sizes, layout.squares[tile], F, layout.F[tile], slack * lengths, slack * layout.lengths[tile], layout.frame.scale,
            points, tiles.order[tile], block, own, values, which,
        )  # fmt: skip
        scanned, passed, measured = scanned + first.size, passed + more[0], measured + more[1]
    return values, which, (scanned, passed, measured)
