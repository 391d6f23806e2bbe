"""Slices of a response beside rows that stay where they are, and sums over these, slice by slice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...data import Classes, LazyClasses, LazyNumbers
from ...data.rows.dask_rows import LazyRows
from ...data.rows.moments import Moments
from ...graphs.class_graphs import slices
from .response_slices import lazy_edges

Array = NDArray[np.float64]
Index = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class LazySlices:
    """Numbers cut at these edges."""

    y: LazyNumbers
    edges: Array

    def reduce(self, rows: LazyRows, function: Callable[[Any, Index, int], Any]) -> Any:
        """``function(block, codes, slices)`` of every block, added up."""
        return rows.reduce(partial(_in_slices, function, self.edges), self.y.column)


@dataclass(frozen=True, eq=False)
class SlicedRows(Classes):
    """The slice of every row in memory, −1 where it has no response, and the values at which slices of numbers begin."""

    edges: Array | None = None


def sliced(y: LazyNumbers | LazyClasses, n_slices: int | None, name: str) -> LazySlices | LazyClasses:
    """Classes are slices; numbers are cut at their quantiles."""
    return y if isinstance(y, LazyClasses) else LazySlices(y, lazy_edges(y, n_slices, name))


def _in_slices(function: Callable[..., Any], edges: Array, rows: Any, y: Any) -> Any:
    return function(rows, np.where(np.isnan(y[:, 0]), -1, slices(y[:, 0], edges)), edges.size + 1)


@dataclass(frozen=True, eq=False)
class SliceSums:
    """Moments of the rows in each slice, and of those without a response. O(hD²) memory for h slices."""

    slices: tuple[Moments, ...]
    rest: Moments

    @staticmethod
    def of(X: Any, codes: Index, count: int) -> SliceSums:
        return SliceSums(tuple(Moments.of(X[codes == h]) for h in range(count)), Moments.of(X[codes < 0]))

    def __add__(self, other: SliceSums) -> SliceSums:
        both = zip(self.slices, other.slices, strict=True)
        return SliceSums(tuple(one + two for one, two in both), self.rest + other.rest)

    def regrouped(self, places: Index, count: int) -> SliceSums:
        """The same with slice i at ``places[i]`` of `count`."""
        parts = [Moments.nothing(1, self.rest.means.shape[1])] * count
        # not strict: of no classes at all there is one slice without rows
        for place, part in zip(places, self.slices, strict=False):
            parts[place] = part
        return SliceSums(tuple(parts), self.rest)

    @property
    def everyone(self) -> Moments:
        """All rows as one group."""
        return reduce(add, self.slices) + self.rest
