"""Distances of many pairs in one array, for measures that sort them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.isotonic import IsotonicRegression

from ..numerics.memory import require
from ._blocks import Distances, in_blocks
from ._pairs import guessed_line, jackknife, unexplained

Array = NDArray[np.float64]
Index = NDArray[np.intp]

#: Bytes per pair that sorting and fitting need.
_PAIR_BYTES = 80


@dataclass(frozen=True, eq=False)
class Pooled:
    """Distances x of pairs (i, j) in the data or its graph, ordered by row i.

    Attributes
    ----------
    x : ndarray of shape (N,)
    row : ndarray of int of shape (N,)
        Position of i in `rows`.
    rows : ndarray of int of shape (m,)
        Row numbers i out of n. If all n rows are used, each pair occurs once.
    columns : ndarray of int
        Row numbers j: all, or a random sample that is large enough to add little to the standard error.
    """

    x: Array
    row: Index
    rows: Index
    columns: Index
    n: int

    @classmethod
    def of(cls, X: Distances, rows: Index, columns: Index | None = None) -> Pooled:
        """Return the pairs of these rows with the columns; None means all other points."""
        n, m = X.n, rows.size
        columns = np.arange(n) if columns is None or m == n else columns
        pairs = n * (n - 1) // 2 if m == n else m * columns.size
        require(
            float(_PAIR_BYTES) * pairs,
            f"The distances of {pairs} pairs, which are sorted in memory,",
            f"Use the pairs of fewer random rows: sample={max(2, min(m, 10**7 // n))}.",
        )
        empty = cls(np.empty(0), np.empty(0, np.intp), rows, columns, n)
        lengths = np.concatenate(in_blocks(lambda where: empty._chosen(where).sum(axis=1), m, n))
        return replace(empty, x=empty.distances(X), row=np.repeat(np.arange(m), lengths))

    def distances(self, Y: Distances) -> Array:
        """Return the distances of the same pairs in another space."""

        def work(where: slice) -> Array:
            D = Y(self.rows[where])
            return (D if self.columns.size == self.n else D[:, self.columns])[self._chosen(where)]

        return np.concatenate(in_blocks(work, self.rows.size, self.n, Y.n_jobs))

    def _chosen(self, where: slice) -> NDArray[np.bool_]:
        """Return a mask of the pairs in a block: j ≠ i, or j > i if all rows are used."""
        own = self.rows[where][:, None]
        return self.columns > own if self.rows.size == self.n else self.columns != own

    @cached_property
    def _ranks(self) -> Array:
        return _centred_ranks(self.x)

    def nonmetric_stress(self, y: Array) -> tuple[float, float]:
        """Return stress-1 of y relative to the best increasing function of x, and its standard error."""
        fitted = IsotonicRegression().fit_transform(self.x, y)
        if not np.any(y):
            return 1.0, 0.0
        sums = self._by_row((y - fitted) ** 2, y * y)
        return self._estimate(sums, lambda s: np.sqrt(s[..., 0] / s[..., 1]))

    def rank_correlation(self, y: Array) -> tuple[float, float]:
        """Return Spearman's rank correlation and its standard error; 0 if x or y is constant."""
        first, second = self._ranks, _centred_ranks(y)
        sums = self._by_row(first * second, first * first, second * second)
        if not sums.sum(axis=0)[1:].all():
            return 0.0, 0.0
        return self._estimate(sums, lambda s: s[..., 0] / np.sqrt(s[..., 1] * s[..., 2]))

    def residual_variance(self, y: Array) -> tuple[float, float]:
        """Return one minus the squared correlation, and its standard error."""
        line = guessed_line(self.x, y)
        u, v = self.x - line[0], y - line[1]
        f = u - line[2] * v
        sums = self._by_row(np.ones_like(u), u, v, u * u, v * v, f * v, f * f)
        return self._estimate(sums, lambda s: unexplained(s, line))

    def _by_row(self, *values: Array) -> Array:
        return np.stack([np.bincount(self.row, v, minlength=self.rows.size) for v in values], axis=1)

    def _estimate(self, sums: Array, value: Callable[[Array], Any]) -> tuple[float, float]:
        return float(value(sums.sum(axis=0))), jackknife(sums, value, self.n)


def _centred_ranks(x: Array) -> Array:
    """Return the ranks minus their mean; equal values have equal ranks."""
    ranks = rankdata(x)
    ranks -= (x.size + 1) / 2
    return ranks
