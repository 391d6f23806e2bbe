"""The neighbour graph of distributed rows."""

from __future__ import annotations

import numpy as np

from ..._diagnostics import note, stage
from ...data.rows.block_passes import refuse_non_finite
from ...data.rows.cluster import hands
from ...data.rows.dask_rows import LazyRows, block_numbers
from ..neighbours.graph import check_n_neighbors
from .cells import Cells
from .shard_search import Shard, SpreadGraph, dealt, spread_graph

#: Approximate size of a shard in bytes, and sample rows per shard for the choice of cells.
_SHARD, _SAMPLE = 128 * 2**20, 2000


def spread_neighbours(rows: LazyRows, k: int) -> SpreadGraph:
    """Return the exact Euclidean k-nearest-neighbour graph; the search runs on the workers."""
    check_n_neighbors(k, rows)
    work, (n, D) = hands(), rows.shape
    count = max(1, min(n // (20 * (k + 1)), max(work.many, -(-8 * n * D // _SHARD))))
    with stage("neighbours"):
        sample = rows[rows.sample(min(n, _SAMPLE * count))].astype(np.float64)
        cells = Cells.of(sample, count)
        pieces = [
            work.begin(_dealt, part, int(start), cells, rows.dtype, rows.name)
            for part, start in zip(rows.parts, rows.starts, strict=True)
        ]
        graph = spread_graph(work, pieces, cells, k)
    note(shards=count, searched_elsewhere=graph.searched / n)
    return graph


def _dealt(block: object, start: int, cells: Cells, dtype: np.dtype | None, name: str) -> list[Shard]:
    X = block_numbers(block, dtype, name)
    refuse_non_finite(X, start, name)
    return dealt(X, start, cells)
