"""Validated input of the estimators of dimension: distinct points with their distances and neighbours."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.utils import check_array

from ..data.pair_tables import accept_distances
from ..data.read import is_precomputed, refuse_disguised
from ..errors import DimensionError, InputError, PrecisionWarning, warn
from ..numerics.memory import refuse_lazy, require
from ..numerics.nearest.engines import choose
from ..numerics.nearest.metric import as_metric, check_largest, paired_distances, point_distances
from ..numerics.nearest.row_lookup import RowIndex

Array = NDArray[np.float64]
Index = NDArray[np.intp]

#: Number of distances per block.
_CELLS = 2**21
#: Relative to the median distance to the nearest point, distances up to this are rounding errors.
_ROUNDING = 1e-12
#: Share of points with two equally distant nearest neighbours, above which the data are treated as rounded.
_TIED = 0.05
#: Number of points from which this share is estimated.
_TIE_SAMPLE = 200
#: Smallest number of distinct points.
_FEWEST = 4


@dataclass(frozen=True, eq=False)
class Data:
    """Distinct points, as dense or sparse coordinates or as a matrix of their distances."""

    X: Any
    #: For every row of the input, the number of its distinct point.
    labels: Index
    metric: Any
    pairs: bool
    n_jobs: int | None = None
    _lists: dict[int, tuple[Array, Index]] = field(default_factory=dict)

    @property
    def n(self) -> int:
        return int(self.X.shape[0])

    @property
    def facts(self) -> dict[str, Any]:
        """Facts about the data, for `Dimension.facts`."""
        return {"duplicates": int(self.labels.size - self.n)}

    @property
    def plain(self) -> bool:
        """True for dense coordinates with Euclidean distances."""
        return not self.pairs and not sp.issparse(self.X) and self.metric == "euclidean"

    def coordinates(self, method: str) -> Any:
        """Return the coordinates; raise InputError if X holds distances."""
        if self.pairs:
            raise InputError(
                f'method={method!r} needs coordinates, but X holds distances: use "correlation", "mle", "twonn", "isomap" or "mvu".'
            )
        return self.X

    def distances(self, rows: Any) -> Array:
        """Return the distances from these rows to all points, in double precision."""
        if self.pairs:
            return np.array(self.X[rows], dtype=np.float64)
        if self.plain:  # cdist uses differences, which are accurate for near points
            return cdist(self.X[rows], self.X)
        return np.asarray(point_distances(self.X[rows], self.X, self.metric), dtype=np.float64)

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Yield blocks of rows with their distances to all points."""
        step = max(1, _CELLS // self.n)
        for i in range(0, self.n, step):
            rows = slice(i, min(i + step, self.n))
            yield rows, self.distances(rows)

    def near(self, k: int) -> tuple[Array, Index]:
        """Return the distances to the k nearest other points and their row numbers, nearest first."""
        known = [held for held in self._lists if held >= k]
        if not known:
            self._lists[k] = self._searched(k)
            known = [k]
        D, index = self._lists[known[0]]
        return D[:, :k], index[:, :k]

    def _searched(self, k: int) -> tuple[Array, Index]:
        require(
            32.0 * self.n * k,
            f"The {k} neighbours of {self.n} points",
            "Use fewer neighbours, or a sample of the rows.",
        )
        if self.pairs:
            return self._among_pairs(k)
        D, index = choose(self.X, self.metric, "auto", self.n_jobs).near(None, k)
        if sp.issparse(self.X) and self.metric == "euclidean":  # inner products have an error of 1e-8
            D = paired_distances(self.X, self.X, index)
            order = np.argsort(D, axis=1, kind="stable")
            D, index = np.take_along_axis(D, order, axis=1), np.take_along_axis(index, order, axis=1)
        return D, index

    def _among_pairs(self, k: int) -> tuple[Array, Index]:
        D, index = np.empty((self.n, k)), np.empty((self.n, k), dtype=np.intp)
        for rows, block in self.blocks():
            block[np.arange(len(block)), np.arange(rows.start, rows.stop)] = np.inf
            index[rows] = np.argsort(block, axis=1, kind="stable")[:, :k]
            D[rows] = np.take_along_axis(block, index[rows], axis=1)
        return D, index

    def shared(self, k: int) -> float:
        """Return the share of mutual neighbours among all pairs of neighbours; both points count their distance."""
        index = self.near(k)[1]
        lists = sp.csr_array(
            (np.ones(index.size), index.ravel(), np.arange(0, index.size + 1, k)), shape=(self.n, self.n)
        )
        return float(lists.multiply(lists.T).sum() / index.size)

    @cached_property
    def tied(self) -> float:
        """Share of points whose two nearest neighbours are equally distant, from a sample; 0 for data with all their digits."""
        rows = np.unique(np.linspace(0, self.n - 1, min(self.n, _TIE_SAMPLE)).astype(int))
        step, equal = max(1, _CELLS // self.n), 0
        for i in range(0, rows.size, step):
            near = np.partition(self.distances(rows[i : i + step]), (0, 1, 2), axis=1)  # column 0 is the point itself
            equal += int(np.sum(near[:, 1] >= near[:, 2] * (1 - 1e-9)))
        return equal / rows.size

    def warn_of_ties(self, effect: str) -> None:
        """Warn of equal distances, which counts and rounded numbers have; `effect` describes their effect on the estimate."""
        if self.tied > _TIED:
            warn(
                f"{self.tied:.0%} of the points have two nearest neighbours at the same distance, which is typical of counts and rounded "
                f"numbers: {effect}. Use scales well above the rounding (more neighbours, a wider fit_range), or data with more digits.",
                PrecisionWarning,
            )

    def spread(self, values: Array) -> Array:
        """Return the values of the points for every row of the input."""
        return values[self.labels]

    def require_points(self, needed: int, what: str) -> None:
        """Raise DimensionError if there are fewer than `needed` distinct points."""
        if self.n < needed:
            raise DimensionError(
                f"{what} needs at least {needed} distinct points; X has {self.n} in {self.labels.size} rows."
            )


def read_data(X: Any, metric: Any, n_jobs: int | None) -> Data:
    """Return the distinct points of X; raise InputError if X is not a finite table."""
    refuse_lazy(X)
    refuse_disguised(X)
    pairs = is_precomputed(metric)
    if not isinstance(metric, str) and not callable(metric):
        raise InputError(f"metric={metric!r:.80} must be the name of a metric or a function of two rows.")
    try:
        X = check_array(X, accept_sparse=False if pairs else "csr", dtype=np.float64, ensure_all_finite=False)
    except (TypeError, ValueError) as failure:
        raise InputError(f"X must be a table of numbers with one row per point: {failure}") from None
    values = X.data if sp.issparse(X) else X
    bad = int(values.size - np.count_nonzero(np.isfinite(values)))
    if bad:
        raise InputError(
            f"X holds {bad} missing or infinite values: distances to those rows are undefined. Fill them in (PPCA.impute), or leave the "
            "rows out."
        )
    data = _distances(X, n_jobs) if pairs else _points(X, metric, n_jobs)
    data.require_points(_FEWEST, "An estimate of dimension")
    return data


def _points(X: Any, metric: Any, n_jobs: int | None) -> Data:
    X = sp.csr_array(X) if sp.issparse(X) else X
    check_largest(float(np.abs(X.data if sp.issparse(X) else X).max(initial=0.0)), "The values of X")
    metric = "euclidean" if isinstance(metric, str) and metric == "l2" else as_metric(metric)
    groups = RowIndex.build(X).copies()
    labels = np.arange(X.shape[0]) if groups is None else groups.labels
    data = Data(X if groups is None else X[groups.first], labels, metric, False, n_jobs)
    return data if metric == "euclidean" or data.n < _FEWEST else _apart(data)


def _distances(D: Array, n_jobs: int | None) -> Data:
    D = accept_distances(D)
    first, labels = np.unique(np.argmax(D <= 0, axis=1), return_inverse=True)
    return Data(D if first.size == len(D) else D[np.ix_(first, first)], labels, "precomputed", True, n_jobs)


def _apart(data: Data) -> Data:
    """Merge points at distance zero in this metric, such as rows of equal direction with the cosine distance."""
    while data.n >= _FEWEST:
        D, index = (column[:, 0] for column in data.near(1))
        doubled = (_ROUNDING * np.median(D) >= D) & (index < np.arange(data.n))
        if not doubled.any():
            break
        stands = np.where(doubled, index, np.arange(data.n))
        while np.any(doubled[stands]):
            stands = stands[stands]
        kept = np.flatnonzero(~doubled)
        number = np.full(data.n, -1)
        number[kept] = np.arange(kept.size)
        data = Data(data.X[kept], number[stands][data.labels], data.metric, False, data.n_jobs)
    return data
