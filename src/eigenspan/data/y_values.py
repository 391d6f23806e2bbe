"""What y holds: classes, numbers, actions or known coordinates, each a row a point."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..numerics.nearest.row_lookup import Contraction

Array = NDArray[np.float64]
Index = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Classes:
    """Classes of the points.

    Attributes
    ----------
    codes : ndarray of int, shape (n,)
        0..c−1, and −1 for points without a label.
    names : ndarray of shape (c,)
        The labels themselves.
    given : ndarray of shape (n,)
        As they came, marks of missing ones included.
    """

    codes: Index
    names: NDArray[Any]
    given: NDArray[Any]

    @property
    def count(self) -> int:
        return int(self.names.size)

    @property
    def known(self) -> NDArray[np.bool_]:
        return np.asarray(self.codes >= 0)

    def take(self, rows: Index) -> Classes:
        return replace(self, codes=self.codes[rows], given=self.given[rows])


@dataclass(frozen=True, eq=False)
class Numbers:
    """Numbers to be predicted, (n, q); a row with a NaN has none."""

    values: Array

    @property
    def known(self) -> NDArray[np.bool_]:
        return np.asarray(~np.isnan(self.values).any(axis=1))

    def take(self, rows: Index) -> Numbers:
        return Numbers(self.values[rows])


@dataclass(frozen=True, eq=False)
class Actions:
    """What leads from each row to the next: n − 1 codes, −1 where it is not known. They belong to all rows, whichever are left."""

    codes: Index
    names: NDArray[Any]

    def take(self, rows: Index) -> Actions:
        return self


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Places of the points that are known, (n, d), and rows of NaN for the others; how many known rows each stands for, None for one."""

    values: Array
    counts: Array | None = None

    @property
    def known(self) -> NDArray[np.bool_]:
        return ~np.isnan(self.values[:, 0])

    @property
    def weights(self) -> Array:
        """Known rows that each point stands for, none of a point that is not known."""
        return self.known.astype(np.float64) if self.counts is None else self.counts

    def take(self, rows: Index) -> Coordinates:
        return Coordinates(self.values[rows], None if self.counts is None else self.counts[rows])

    def distinct(self, groups: Contraction) -> Coordinates:
        """Of points that are one, the mean of those known: exactly theirs where they agree."""
        given, labels = self.values[self.known], groups.labels[self.known]
        places = np.full((groups.first.size, given.shape[1]), np.nan)
        places[labels[::-1]] = given[::-1]
        counts, more = np.bincount(labels, minlength=len(places)), np.zeros_like(places)
        np.add.at(more, labels, given - places[labels])
        return Coordinates(places + more / np.maximum(counts, 1)[:, None], counts.astype(np.float64))
