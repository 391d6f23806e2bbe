"""Slices of a response, and tests of the number of directions of X that it depends on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from operator import add
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import chdtrc

from ..._types import Array, Index
from ...data import Classes, LazyClasses, LazyNumbers, LazyRows, Numbers
from ...data.rows.moments import Moments
from ...data.rows.storage import Statistic
from ...errors import LabelError, LabelWarning, warn
from ...graphs.class_graphs import edges_among, slice_edges, slices
from ...numerics.eigen import dense

if TYPE_CHECKING:
    from pandas import DataFrame


class Slices:
    """Numbers of rows in each slice of a response; `edges` are None if the slices are classes."""

    counts: Index
    edges: Array | None

    @property
    def classes(self) -> bool:
        return self.edges is None

    @property
    def count(self) -> int:
        return self.counts.size

    @property
    def shares(self) -> Array:
        return self.counts / self.counts.sum()


@dataclass(frozen=True, eq=False)
class SliceMoments(Slices):
    """Means and covariances of rows in each slice, in some coordinates."""

    counts: Index
    means: Array
    covariances: Array
    edges: Array | None = None


@dataclass(frozen=True, eq=False)
class Response(Slices):
    """A response of the rows for which it is known.

    Attributes
    ----------
    values : ndarray of shape (m, q)
        Numbers; for classes, one indicator column per class.
    codes : ndarray of int, shape (m,)
        The slice of each row, 0..count−1, none of them empty.
    edges : ndarray or None
        Values at which slices begin, without the first slice; None for classes.
    """

    values: Array
    codes: Index
    edges: Array | None = None

    @cached_property
    def counts(self) -> Index:  # type: ignore[override]
        """Rows in each slice."""
        return np.bincount(self.codes)


def responses_of(y: Classes | Numbers, n_slices: int | None, name: str) -> list[Response]:
    """Return the responses in y: classes are one response, and so is every column of numbers, cut by value or at its quantiles."""
    if isinstance(y, Classes):
        codes = y.codes[y.known]
        return [Response(np.eye(y.count)[codes], codes)]
    columns = [column for column in y.values[y.known].T if np.ptp(column) > 0]
    return [_sliced(column, _edges(column, n_slices, name)) for column in columns]


def _sliced(values: Array, edges: Array) -> Response:
    return Response(values[:, None], slices(values, edges), edges)


def slices_by_default(m: int, levels: int = 0) -> int:
    """Return the default number of slices: ten, fewer if they would have fewer than ten rows, or one per value if values repeat."""
    return max(2, min(10, m // 10), levels if levels <= min(10, m // 2) else 0)


def _edges(values: Array, n_slices: int | None, name: str) -> Array:
    return slice_edges(values, _wanted(values.size, np.unique(values).size, n_slices, name))


def distributed_edges(y: LazyNumbers, n_slices: int | None, name: str) -> Array:
    """Return the edges of slices of Dask numbers, equal to those of the same numbers in memory."""
    wanted = _wanted(y.count, y.levels.size, n_slices, name)
    if wanted > y.MOST:
        raise LabelError(f"n_slices={wanted}: use {y.MOST} or fewer for a response that is not in memory.")
    return edges_among(y.levels, y.count, wanted, y.ranked)


def _wanted(m: int, levels: int, n_slices: int | None, name: str) -> int:
    """Return the number of slices of m numbers with `levels` distinct values."""
    wanted = slices_by_default(m, levels) if n_slices is None else n_slices
    if wanted < 2:
        raise LabelError(
            f"n_slices={wanted}: {name} compares slices of the response with one another. Take two or more."
        )
    if wanted > m and levels > m // 2:
        raise LabelError(
            f"n_slices={wanted}, but only {m} rows have a response, of {levels} distinct values: most slices would hold one row. Take "
            f"{slices_by_default(m)} or so."
        )
    return wanted


def check_slices(response: Slices, name: str, *, covariances: bool) -> None:
    """Raise if a slice of one row needs a covariance; else warn, because its mean is noise."""
    alone = int(np.sum(response.counts == 1))
    if not alone:
        return
    what = "classes" if response.classes else "slices of the response"
    do = "merge or leave out these classes" if response.classes else "take fewer with n_slices="
    if covariances:
        raise LabelError(
            f"{alone} of {response.count} {what} have one row only, and so no covariance, which {name} compares: {do}."
        )
    warn(
        f"{alone} of {response.count} {what} have one row only, whose value then stands for a mean: {do}.",
        LabelWarning,
    )


def slice_moments(W: Array, response: Response) -> SliceMoments:
    """Return means and covariances of the rows W in each slice."""
    order = np.argsort(response.codes, kind="stable")
    parts = np.split(W[order], np.cumsum(response.counts)[:-1])
    means = np.array([part.mean(axis=0) for part in parts])
    inside = [part - mean for part, mean in zip(parts, means, strict=True)]
    covariances = np.array([Z.T @ Z / (len(Z) - 1) for Z in inside])
    return SliceMoments(response.counts, means, covariances, response.edges)


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


# ---------------------------------------------------------------------- number of directions
Matrix = Callable[[Array], Array]


def spherical(W: Array) -> Array:
    """Rows with mean zero and covariance I, each column turned as little as that takes."""
    W = W - W.mean(axis=0)
    T, _, _ = dense.whitener(W.T @ W / len(W))
    return W @ T


def direction_p_values(matrix: Matrix, W: Array, n_permutations: int, rng: np.random.Generator, level: float) -> Array:
    """Return p-values of the hypotheses of d = 0, 1, … directions, up to the first that is not rejected at the level.

    The rows, turned to the axes of the matrix, are kept in the first d of them and permuted in the others, which under the
    hypothesis are independent of the response (Cook & Yin, 2001).
    """
    values, U = dense.eigenpairs(matrix(W), None, "max")
    turned, p_values = W @ U, []
    for d in range(values.size):
        least = values[d:].sum()
        beyond = 0
        for _ in range(n_permutations):
            mixed = np.hstack([turned[:, :d], turned[rng.permutation(len(W)), d:]])
            other = dense.eigenpairs(matrix(spherical(mixed)), None, "max")[0]
            beyond += other[d:].sum() >= least
        p_values.append((beyond + 1) / (n_permutations + 1))
        if p_values[-1] > level:
            break
    return np.array(p_values)


def directions_by(tests: DataFrame, level: float) -> int:
    """Return the least number of directions that is not rejected at the level."""
    refused = np.asarray(tests["p_value"] <= level)
    if not refused[0]:
        warn(
            f"No direction of X tells of the response at level {level:g}: the test of none has a p-value of "
            f"{tests['p_value'].iloc[0]:.2g}. One is kept; do not read much into it.",
            LabelWarning,
        )
    return refused.size if refused.all() else int(np.argmin(refused))


def table_of(statistics: Array, degrees: Array | Index | float, p_values: Array | None = None) -> DataFrame:
    """Return the tests of d = 0, 1, … directions as a data frame."""
    import pandas as pd

    if p_values is None:
        p_values = chdtrc(degrees, np.maximum(statistics, 0.0))  # negative statistics are rounding
    return pd.DataFrame(
        {"statistic": statistics, "degrees": degrees, "p_value": p_values},
        index=pd.RangeIndex(len(p_values), name="directions"),
    )
