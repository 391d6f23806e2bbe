"""Numeric multifrontal factorisation, and solves with its factor."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import scipy.sparse as sp

from ..._types import Array, Integers
from ..memory import require
from ..threads import in_threads, one_blas_thread, workers
from .order import arrays

if TYPE_CHECKING:
    from .analysis import Analysis
    from .fronts import FrontPlan

#: A matrix for the loops: `indptr`, `indices`, `data`, the order of elimination, its inverse, and a work array of positions.
_Entries: TypeAlias = tuple[Integers, Integers, Array, Integers, Integers, Integers]

#: Products with fewer operations run on one thread.
SHARED = 1e7
#: Solves with factors of fewer entries run on one thread: they finish before a second thread has started.
_SERIAL_ENTRIES = 4e6
#: Number of right-hand sides solved together: the factor is read once for all of them.
_MAX_TOGETHER = 4
#: Factor entries per row from which reading them takes most of the time of a solve.
_READING_DOMINATES = 128
SINGULAR = "A pivot of the sparse factorisation is zero or not a number: the matrix is singular, or not finite"


class FrontalFactor:
    """Factorisation ``A = L S Lᵀ`` for solves with A.

    Raises
    ------
    RuntimeError
        If a pivot is exactly zero or NaN, as in SuperLU.

    Attributes
    ----------
    order : array of n integers
        Row ``order[k]`` was eliminated k-th.
    signs : array of n numbers
        The diagonal of S.
    negative : int
        Number of negative eigenvalues of A, from the signs by Sylvester's law of inertia.
    size : int
        Size of the factor in bytes.
    together : int
        Recommended number of right-hand sides per solve.
    """

    def __init__(self, analysis: Analysis, A: sp.csr_array) -> None:
        from . import fronts

        self._threads = workers()  # read now: later solves may run where BLAS is limited to one thread
        require(
            8.0 * (analysis.entries + analysis.updates),
            f"The factor of a sparse matrix of order {A.shape[0]}",
            "Use landmarks, or fewer neighbours.",
        )
        self.analysis, self.order = analysis, analysis.order
        self.values, self.signs = np.empty(analysis.entries), np.empty(A.shape[0])
        matrix, updates = (*arrays(A), analysis.order, analysis.place), np.empty(analysis.updates)

        def stores() -> tuple[FrontPlan, _Entries, Array, Array, Array]:
            """Return the arguments of the loops, with a separate work array per call: the position of each row in a front."""
            return analysis.plan, (*matrix, np.empty(A.shape[0], np.int32)), self.values, self.signs, updates

        with one_blas_thread():  # products are distributed here, in the same tiles for any number of threads
            good = in_threads(lambda span: fronts.eliminate_all(*span, *stores()), analysis.spans, self._threads)
            for first, last, large in analysis.top:
                if not all(good):
                    break
                good = [self._eliminate(first, *stores()) if large else fronts.eliminate_all(first, last, *stores())]
        if not all(good):
            raise RuntimeError(SINGULAR)
        self.negative, self.size = int(np.sum(self.signs < 0)), self.values.nbytes
        self.together = _MAX_TOGETHER if self.values.size >= _READING_DOMINATES * self.signs.size else 1

    def _eliminate(
        self, s: int, plan: FrontPlan, matrix: _Entries, values: Array, signs: Array, updates: Array
    ) -> bool:
        """Factorise one large front, with its products distributed over all threads."""
        from . import fronts

        width, height = (int(bounds[s + 1] - bounds[s]) for bounds in (plan.begin, plan.starts))
        m, at, signs = width + height, int(plan.where[s]), signs[plan.begin[s] :]

        def distribute(first: int, last: int, low: int, high: int, old: float, target: Array, to: int, ld: int) -> None:
            panel = values, at + first * m, m, last - first
            tiles = range(low, high, fronts.TILE)
            alone = (last - first) * (high - low) * (m - low) < SHARED

            def subtract(j: int) -> None:
                end, here = min(j + fronts.TILE, high), to + (j - low) * (ld + 1)
                fronts.subtract(*panel, j, end, signs[first:], old, target, here, ld)

            in_threads(subtract, tiles, 1 if alone else min(self._threads, len(tiles)))

        fronts.gather_front(s, plan, matrix, values, updates)
        for first in range(0, width, fronts.PANEL):
            last = min(first + fronts.PANEL, width)
            if not fronts.eliminate(values, at, m, first, last, signs):
                return False
            distribute(first, last, last, width, 1.0, values, at + last * (m + 1), m)
        distribute(0, width, width, m, 0.0, updates, int(plan.room[s]), height)
        fronts.add_child_updates(s, plan, updates)
        return True

    def lower(self) -> sp.csc_array:
        """Return the factor L, for rows and columns in the order of elimination, without stored zeros."""
        begin, starts, rows = self.analysis.plan[:3]
        widths, heights, n = np.diff(begin), np.diff(starts), self.signs.size
        column = np.repeat(np.arange(n, dtype=np.int32), np.repeat(widths + heights, widths))
        row = np.concatenate(
            [
                np.tile(np.concatenate([np.arange(a, b, dtype=np.int32), rows[p:q]]), b - a)
                for (a, b), (p, q) in zip(pairwise(begin), pairwise(starts), strict=True)
            ]
        )
        used = (row >= column) & (self.values != 0)
        return sp.csc_array((self.values[used], (row[used], column[used])), shape=(n, n))

    def solve(self, b: Array) -> Array:
        """Return ``A⁻¹ b`` for a vector or the columns of a matrix."""
        if len(b) != self.signs.size:
            raise ValueError(f"b has {len(b)} rows, the matrix {self.signs.size}")
        out = np.empty(b.shape)
        columns, results = b.reshape(len(b), -1).T, out.reshape(len(b), -1).T
        for first in range(0, len(columns), _MAX_TOGETHER):
            x = np.asarray(columns[first : first + _MAX_TOGETHER, self.order], np.float64, order="C")
            self._solve(x)
            results[first : first + _MAX_TOGETHER, self.order] = x
        return out

    def _solve(self, x: Array) -> None:
        """Overwrite the rows of x, in the order of elimination, with solutions."""
        from . import fronts

        analysis, plan = self.analysis, self.analysis.plan
        vectors = np.empty((len(x), analysis.vectors))

        def down(span: tuple[int, ...]) -> None:
            fronts.forward(span[0], span[1], plan, self.values, self.signs, x, vectors, scratch())

        def up(span: tuple[int, ...]) -> None:
            fronts.backward(span[0], span[1], plan, self.values, x, scratch())

        def scratch() -> Array:
            return np.empty((len(x), analysis.tallest))

        if self.values.size < _SERIAL_ENTRIES:
            down((0, len(plan.begin) - 1))
            up((0, len(plan.begin) - 1))
            return
        in_threads(down, analysis.spans, self._threads)
        for span in analysis.top:
            down(span)
        for span in analysis.top[::-1]:
            up(span)
        in_threads(up, analysis.spans, self._threads)
