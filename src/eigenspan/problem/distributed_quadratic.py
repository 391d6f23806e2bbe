"""``Z'MZ`` for a sparse M in memory and Dask rows Z.

Entries of M between rows of one block are summed where the block is stored. For entries between two blocks only the border of each block
is sent, the rows with such entries. Borders are multiplied in pairs: no worker holds more than two of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from .._diagnostics import note, stage
from .._types import Array, Index
from ..data.rows.block_passes import CentredRows
from ..data.rows.cluster import client_of_dask, compute, folded, large_graph
from ..data.rows.dask_rows import LazyRows, block_numbers, block_rows
from ..numerics.memory import human_bytes, require
from ..numerics.threads import threads
from .form import Form


def lazy_quadratic(M: sp.csr_array, X: LazyRows, origin: Array, axes: Array | None = None) -> Array:
    """Return ``Z'MZ`` for symmetric M and Z = X − 1·origin', or its coordinates along some axes.

    Every block is computed once; borders are held until they are used.

    Cost O(nnz D + nD²) time, the entries of M sent to the workers once.
    """
    import dask

    cut = _Cut.of(M, X.counted())
    size = float(cut.border.size * X.width * np.dtype(X.dtype).itemsize)
    if client_of_dask() is None:
        require(
            size,
            f"{cut.border.size} of {X.shape[0]} rows, which the graph joins to other blocks",
            "Order the rows so that neighbours share a block, use larger blocks, or start a cluster.",
        )
    note(border_memory=human_bytes(size))
    pick, inside, across = (dask.delayed(work, pure=False) for work in (block_rows, _inside, _across))
    rule = dask.delayed((origin, axes, X.dtype, X.name), pure=False)
    borders = {i: pick(X.parts[i], rows, X.dtype) for i, rows in cut.rows().items()}
    level = [
        inside(X.parts[i], S, rule) if i == j else across(borders[i], borders[j], S, rule) for i, j, S in cut.pieces
    ]
    with stage("neighbours of blocks"), large_graph():
        width = X.width if axes is None else axes.shape[1]
        return compute(folded(level))[1] if level else np.zeros((width, width))


@dataclass(frozen=True, eq=False)
class _Cut:
    """A symmetric matrix split by pairs of blocks of rows.

    Attributes
    ----------
    pieces : list of (block, block, csr_array)
        Nonempty pieces on and above the diagonal; those above it are indexed by the borders of both blocks.
    border : ndarray of int
        Rows with an entry in another block, in order.
    starts : ndarray of int
        First row of every block, and the number of rows.
    """

    pieces: list[tuple[int, int, sp.csr_array]]
    border: Index
    starts: Index

    @staticmethod
    def of(M: sp.csr_array, X: LazyRows) -> _Cut:
        starts = np.append(X.starts, X.shape[0])
        row, column = np.repeat(np.arange(M.shape[0]), np.diff(M.indptr)), M.indices
        one, two = (np.searchsorted(starts, places, side="right") - 1 for places in (row, column))
        border = np.unique(row[one != two])
        first = np.searchsorted(border, starts)
        upper = np.flatnonzero(one <= two)
        upper = upper[np.lexsort((two[upper], one[upper]))]
        pair = one[upper] * np.intp(starts.size) + two[upper]
        ends = np.flatnonzero(np.diff(pair, prepend=-1, append=-1)) if upper.size else upper
        pieces = []
        for a, b in pairwise(ends):
            which = upper[a:b]
            i, j = int(one[which[0]]), int(two[which[0]])
            inner = i == j
            at = starts if inner else first
            r, c = (p[which] if inner else np.searchsorted(border, p[which]) for p in (row, column))
            shape = (at[i + 1] - at[i], at[j + 1] - at[j])
            pieces.append((i, j, sp.csr_array((M.data[which], (r - at[i], c - at[j])), shape=shape)))
        return _Cut(pieces, border, starts)

    def rows(self) -> dict[int, Index]:
        """Return the border of every block that has one; rows are counted from the first of the block."""
        cuts = np.searchsorted(self.border, self.starts)
        return {i: self.border[a:b] - self.starts[i] for i, (a, b) in enumerate(pairwise(cuts)) if b > a}


# ---------------------------------------------------------------------- tasks of workers
_Rule = tuple[Array, Array | None, np.dtype | None, str]


def _inside(block: object, S: sp.csr_array, rule: _Rule) -> tuple[int, Array]:
    """Return the part of one block."""
    origin, axes, dtype, name = rule
    with threads(1):
        return 0, Form(S.shape[0], sparse=S).quadratic(CentredRows(block_numbers(block, dtype, name), origin, axes))


def _across(one: Array, two: Array, S: sp.csr_array, rule: _Rule) -> tuple[int, Array]:
    """Return the part of two blocks, above and below the diagonal."""
    with threads(1):
        G = CentredRows(one, *rule[:2])[:].T @ (S @ CentredRows(two, *rule[:2])[:])
    return 0, G + G.T
