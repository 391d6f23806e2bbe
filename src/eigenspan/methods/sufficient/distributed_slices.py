"""Slices of a response of Dask rows, and moments of the rows by slice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, reduce
from operator import add

import numpy as np

from ..._types import Array, Index
from ...data import Classes, LazyClasses, LazyNumbers
from ...data.rows.dask_rows import LazyRows
from ...data.rows.moments import Moments
from ...data.rows.storage import Statistic
from ...graphs.class_graphs import slices
from .response_slices import distributed_edges


@dataclass(frozen=True, eq=False)
class LazySlices:
    """Numbers with the edges of their slices."""

    y: LazyNumbers
    edges: Array

    def reduce(self, rows: LazyRows, function: Callable[[Array, Index, int], Statistic]) -> Statistic:
        """Return the sum of ``function(block, codes, slices)`` over all blocks."""
        return rows.reduce(partial(_in_slices, function, self.edges), self.y.column)


@dataclass(frozen=True, eq=False)
class SlicedRows(Classes):
    """Slices as classes: the slice of every row, −1 without a response, and the edges of slices of numbers."""

    edges: Array | None = None


def sliced(y: LazyNumbers | LazyClasses, n_slices: int | None, name: str) -> LazySlices | LazyClasses:
    """Return the slices of a response: its classes, or numbers cut at their quantiles."""
    return y if isinstance(y, LazyClasses) else LazySlices(y, distributed_edges(y, n_slices, name))


def _in_slices(function: Callable[[Array, Index, int], Statistic], edges: Array, rows: Array, y: Array) -> Statistic:
    """Return the function of one block."""
    return function(rows, np.where(np.isnan(y[:, 0]), -1, slices(y[:, 0], edges)), edges.size + 1)


@dataclass(frozen=True, eq=False)
class SliceSums:
    """Moments of the rows in each slice, and of those without a response. O(hD²) memory for h slices."""

    slices: tuple[Moments, ...]
    rest: Moments

    @staticmethod
    def of(X: Array, codes: Index, count: int) -> SliceSums:
        """Return the moments of the rows by code; a negative code means no response."""
        return SliceSums(tuple(Moments.of(X[codes == h]) for h in range(count)), Moments.of(X[codes < 0]))

    def __add__(self, other: SliceSums) -> SliceSums:
        both = zip(self.slices, other.slices, strict=True)
        return SliceSums(tuple(one + two for one, two in both), self.rest + other.rest)

    def regrouped(self, places: Index, count: int) -> SliceSums:
        """Return the moments with slice i at ``places[i]`` of `count`."""
        parts = [Moments.nothing(1, self.rest.means.shape[1])] * count
        # Not strict: without any class there is still one slice without rows.
        for place, part in zip(places, self.slices, strict=False):
            parts[place] = part
        return SliceSums(tuple(parts), self.rest)

    @property
    def everyone(self) -> Moments:
        """Moments of all rows as one group."""
        return reduce(add, self.slices) + self.rest
