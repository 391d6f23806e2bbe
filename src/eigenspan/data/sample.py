"""One set of training data, read and checked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..numerics.nearest.row_lookup import Contraction
from .y_values import Coordinates

Index = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Sample:
    """What a method is fitted to.

    Attributes
    ----------
    x : Points, Distances, Affinities or KernelValues
    y : Classes, Numbers, Actions, Coordinates or None
        What the method declared to read from y.
    table : ndarray or sparse matrix
        X as it was checked, in the precision that results are returned in.
    given : object
        y as it came, for what is handed on to others.
    rows : ndarray of int or None
        Of a subset: which rows of X these are.
    features : Features or None
        A basis over X that was built before, for fits that differ in other things.
    """

    x: Any
    y: Any = None
    table: Any = None
    given: Any = None
    rows: Index | None = None
    features: Any = None

    @property
    def n(self) -> int:
        return int(self.x.n)

    @property
    def places(self) -> Index:
        """The rows of X that these are."""
        return np.arange(self.n) if self.rows is None else self.rows

    def found(self, rows: Index) -> Index:
        """Which of these points the given rows of X are, or are copies of; rows that are none of them are passed over."""
        if self.x.pairs:
            return np.flatnonzero(np.isin(self.places, rows))
        found = self.x.known()(self.table[rows])
        return np.unique(found[found >= 0])

    def distinct(self, groups: Contraction) -> Sample:
        """One row of each group of equal ones, with their number as its mass."""
        some = self.take(groups.first)
        known = self.y.distinct(groups) if isinstance(self.y, Coordinates) else some.y
        return replace(some, x=replace(some.x, masses=groups.masses), y=known)

    def take(self, rows: Index) -> Sample:
        """Some of the points, with what is known of them."""
        return replace(
            self,
            x=self.x.take(rows),
            y=None if self.y is None else self.y.take(rows),
            rows=rows if self.rows is None else self.rows[rows],
            features=None,
        )
