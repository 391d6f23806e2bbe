"""The kinds of y in memory: classes, numbers, actions and known coordinates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from .._types import Array, Index, Labels, Mask
from ..numerics.nearest.row_lookup import Contraction
from .rows.row_storage import Rows, Statistic


class YKind(Protocol):
    """Values of y, one per point or for all points together."""

    def take(self, rows: Index) -> YKind:
        """Return the values for some of the points."""


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
        The labels as the user passed them, including those that mark unlabelled points.
    """

    codes: Index
    names: Labels
    given: Labels

    @property
    def count(self) -> int:
        return int(self.names.size)

    @property
    def known(self) -> Mask:
        return np.asarray(self.codes >= 0)

    @property
    def n(self) -> int:
        return int(self.codes.size)

    def reduce(self, rows: Rows, statistic: Callable[..., Statistic]) -> Statistic:
        """``statistic(rows, codes, classes)`` of rows that have these classes."""
        return rows.reduce(lambda X: statistic(X, self.codes, self.count))

    def take(self, rows: Index) -> Classes:
        return replace(self, codes=self.codes[rows], given=self.given[rows])


@dataclass(frozen=True, eq=False)
class PastClasses:
    """Classes of rows that arrived in parts: their names, and how many rows there are."""

    names: Labels
    n: int

    @property
    def count(self) -> int:
        return int(self.names.size)


@dataclass(frozen=True, eq=False)
class Numbers:
    """Numbers to be predicted, of shape (n, q). A row with a NaN is unknown."""

    values: Array

    @property
    def known(self) -> Mask:
        return np.asarray(~np.isnan(self.values).any(axis=1))

    def take(self, rows: Index) -> Numbers:
        return Numbers(self.values[rows])


@dataclass(frozen=True, eq=False)
class Actions:
    """Actions between consecutive rows: n − 1 codes, −1 for unknown ones. A subset of the rows keeps all of them."""

    codes: Index
    names: Labels

    def take(self, rows: Index) -> Actions:
        return self


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Coordinates of the points whose position is known, of shape (n, d).

    Attributes
    ----------
    values : ndarray of shape (n, d)
        Rows of NaN for points that are not known.
    counts : ndarray of shape (n,) or None
        Number of known rows that each point represents; None means one for each known point.
    """

    values: Array
    counts: Array | None = None

    @property
    def known(self) -> Mask:
        return ~np.isnan(self.values[:, 0])

    @property
    def weights(self) -> Array:
        """Number of known rows that each point represents, zero for unknown points."""
        return self.known.astype(np.float64) if self.counts is None else self.counts

    def take(self, rows: Index) -> Coordinates:
        return Coordinates(self.values[rows], None if self.counts is None else self.counts[rows])

    def distinct(self, groups: Contraction) -> Coordinates:
        """Return the mean of the known coordinates in each group of equal points. It is exact if they agree."""
        given, labels = self.values[self.known], groups.labels[self.known]
        places = np.full((groups.first.size, given.shape[1]), np.nan)
        places[labels[::-1]] = given[::-1]
        counts, more = np.bincount(labels, minlength=len(places)), np.zeros_like(places)
        np.add.at(more, labels, given - places[labels])
        return Coordinates(places + more / np.maximum(counts, 1)[:, None], counts.astype(np.float64))
