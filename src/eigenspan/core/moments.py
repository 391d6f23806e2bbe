"""Counts, means and scatter of rows read once, in blocks: all that PCA and discriminant analysis need of the data.

The rows may lie in a file (`numpy.memmap`) or arrive in parts; neither a copy of them nor anything else with n rows is
made. `Moments` of parts add up to those of the whole, and data far from the origin are
summed about a point among their own rows, so that they keep their digits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
from numpy.typing import NDArray

from .._resources import in_threads, require, threads_for, workers
from ..input.lazy import LazyRows
from ..solvers.centred import Centred
from .strips import grouped_scatter, pooled_means, strips_of

Array = NDArray[np.float64]
Codes = NDArray[np.intp]

#: Rows that are projected at once: these and their images stay in the cache.
_PLACED = 512
#: Multiplications from which a second thread is worth starting.
_WORTH = 2**24
#: Columns from which a product with few axes is faster transposed, by a fifth at 784; of 100 it would be slower by a third.
_WIDE = 400

#: Eigenvalues of the correlations, relative to the largest, that rounding cannot explain, and those that it can: in double and
#: in single precision. What lies between is there, but only its first digits are known.
_SURE, _NONE = {False: 1e-9, True: 1e-5}, {False: 1e-12, True: 1e-5}


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of X about an origin, handed out in double precision some at a time."""

    X: Any
    origin: Array

    @property
    def shape(self) -> tuple[int, int]:
        return self.X.shape

    def __getitem__(self, which: Any) -> Array:
        return np.asarray(np.subtract(self.X[which], self.origin, dtype=np.float64))

    def project(self, V: Array, precision: Any = np.float64) -> Any:
        """``(X − 1·origin') V`` a block at a time, multiplied in the precision of X and written down in another."""
        out = np.empty((self.shape[0], V.shape[1]), precision)
        dtype = self.X.dtype if self.X.dtype in (np.float32, np.float64) else np.float64
        # zero in double precision, where X V − origin' V loses nothing that X had
        near = np.zeros_like(self.origin) if dtype == np.float64 else self.origin.astype(dtype)
        axes, shift = V.astype(dtype), ((self.origin - near) @ V).astype(precision)

        wide = dtype == np.float64 and len(V) >= _WIDE

        def place(strip: list[slice]) -> None:
            space = np.empty((0 if dtype == np.float64 else 1 + strip[0].stop - strip[0].start, len(V)), dtype)
            for part in strip:
                rows = self.X[part]
                if len(space):
                    rows = np.subtract(rows, near, out=space[: len(rows)])
                np.subtract((axes.T @ rows.T).T if wide else rows @ axes, shift, out=out[part])

        # never on threads of the linear algebra: these would keep a processor from what comes next
        (n, D), d = self.shape, V.shape[1]
        in_threads(place, strips_of(n, D, rows=_PLACED), workers() if n * D * d > _WORTH else 1)
        return out


@dataclass(frozen=True, eq=False)
class Moments:
    """Groups of rows: how many, their means, and the scatter about those means.

    Attributes
    ----------
    counts : ndarray of shape (g,)
    means : ndarray of shape (g, D)
        Zero for a group without rows.
    scatter : ndarray of shape (D, D)
        ``Σ (x − mean of its group)(x − mean of its group)'`` over all rows.
    single : bool
        Products were taken in single precision.
    """

    counts: Array
    means: Array
    scatter: Array
    single: bool = False

    @staticmethod
    def of(X: Any, codes: Codes | None = None, groups: int = 1, *, single: bool = False) -> Moments:
        """Of the rows of X in one pass, grouped by `codes`; rows with a negative code are left out. Cost O(nD²).

        `single` multiplies blocks in single precision and adds them up in double, about twice as fast: the scatter is then
        right to about 1e-6 of its largest eigenvalue, which is what rounding X to single precision leaves of it.
        """
        if isinstance(X, LazyRows):
            return X.reduce(partial(Moments.of, single=single))
        if sp.issparse(X):
            return _of_sparse(X, codes, groups)
        return Moments(*grouped_scatter(X, codes, groups, single), single)

    @staticmethod
    def nothing(groups: int, D: int, single: bool = False) -> Moments:
        """Of no rows."""
        return Moments(np.zeros(groups), np.zeros((groups, D)), np.zeros((D, D)), single)

    def __add__(self, other: Moments) -> Moments:
        """Of both sets of rows together."""
        return _together([self, other])

    @property
    def n(self) -> int:
        return int(self.counts.sum())

    @property
    def mean(self) -> Array:
        return self.counts @ self.means / max(self.n, 1)

    def between(self) -> Array:
        """Scatter of the group means about the mean, every group counted with its rows."""
        gap = (self.means - self.mean) * np.sqrt(self.counts)[:, None]
        return gap.T @ gap

    def pooled(self) -> Moments:
        """The same rows as one group."""
        if self.counts.size == 1:
            return self
        return Moments(np.array([float(self.n)]), self.mean[None], self.scatter + self.between(), self.single)

    def about_origin(self) -> Moments:
        """The same rows with all sums of squares about the origin, which stands for their mean."""
        whole = self.pooled()
        squares = whole.scatter + self.n * np.outer(whole.mean, whole.mean)
        return Moments(whole.counts, np.zeros_like(whole.means), squares, self.single)

    def regrouped(self, places: Codes, groups: int) -> Moments:
        """The same with group i at ``places[i]`` of `groups`."""
        counts, means = np.zeros(groups), np.zeros((groups, self.means.shape[1]))
        counts[places], means[places] = self.counts, self.means
        return Moments(counts, means, self.scatter, self.single)

    def spread(self) -> Array:
        """Standard deviation of every column."""
        variance = np.diagonal(self.scatter) + self.counts @ (self.means - self.mean) ** 2
        return np.sqrt(np.maximum(variance, 0.0) / max(self.n, 1))

    def live(self) -> NDArray[np.bool_]:
        """The columns that vary."""
        return self.spread() > 1e-13 * np.abs(self.mean)

    def correlations(self) -> Array:
        """Among the columns that vary."""
        live, d = self.live(), self.spread()[self.live()]
        return self.pooled().scatter[np.ix_(live, live)] / (self.n * np.outer(d, d))

    @property
    def none(self) -> float:
        """Eigenvalues of the correlations below this, relative to the largest, count as none."""
        return _NONE[self.single]

    def spans(self, k: int) -> bool:
        """The rows surely span k dimensions: k eigenvalues of the correlations are more than rounding. Cost O(D³)."""
        live = self.live()
        D = int(live.sum())
        if k == 0 or k > D:
            return k == 0
        with threads_for(D):
            return self._spans(k, live)

    def _spans(self, k: int, live: NDArray[np.bool_]) -> bool:
        D, sure = int(live.sum()), _SURE[self.single]
        if 2 * k <= D:
            # a form that is positive on some k-dimensional subspace has k positive eigenvalues, and most subspaces will do;
            # no eigenvalue of correlations is above D
            Q = np.random.default_rng(0).standard_normal((live.size, k)) * live[:, None]
            P = Q / np.where(live, self.spread(), 1.0)[:, None]
            if la.lapack.dpotrf(P.T @ (self.pooled().scatter @ P) / self.n - sure * D * (Q.T @ Q))[1] == 0:
                return True
        R = self.correlations()
        shifted = R - sure * np.abs(R).sum(axis=0).max() * np.eye(D)
        if la.lapack.dpotrf(shifted)[1] == 0:
            return True
        # the block-diagonal factor has as many positive eigenvalues as the matrix: Sylvester's law of inertia
        factor = la.ldl(shifted)[1]
        paired = np.diagonal(factor, 1) != 0  # a 2×2 block has one of either sign
        alone = ~(np.append(paired, False) | np.append(False, paired))
        return int(paired.sum() + np.sum(np.diagonal(factor)[alone] > 0)) >= k


@dataclass(frozen=True, eq=False)
class Sums:
    """Moments of the rows with a label, by class, and of those without: all that is to be known of them where only scatters count."""

    labelled: Moments
    rest: Moments

    @staticmethod
    def of(X: Any, codes: Codes, classes: int) -> Sums:
        """In one pass, and a second one only where there are rows without a label."""
        labelled = Moments.of(X, codes, classes)
        rest = np.where(codes < 0, 0, -1) if labelled.n < len(codes) else np.full(0, -1)
        return Sums(labelled, Moments.of(X[: rest.size], rest, 1))

    @staticmethod
    def by_class(X: Any, y: Any) -> Sums:
        """Of rows and their classes, wherever these lie."""
        return y.sums(X, Sums.of) if isinstance(X, LazyRows) else Sums.of(X, y.codes, y.count)

    def regrouped(self, places: Codes, classes: int) -> Sums:
        """The same with class i at ``places[i]`` of `classes`."""
        return replace(self, labelled=self.labelled.regrouped(places, classes))

    @staticmethod
    def without_classes(rows: Moments) -> Sums:
        """All rows as one group."""
        return Sums(rows, Moments.nothing(1, rows.means.shape[1]))

    @property
    def n(self) -> int:
        return self.labelled.n + self.rest.n

    @property
    def everyone(self) -> Moments:
        """All rows as one group."""
        return self.labelled.pooled() + self.rest if self.rest.n else self.labelled.pooled()

    def __add__(self, other: Sums) -> Sums:
        return Sums(self.labelled + other.labelled, self.rest + other.rest)


def _together(parts: list[Moments]) -> Moments:
    """Of all rows: their scatter about the means of their parts, and that of these means."""
    counts, means, scatter = pooled_means([(part.counts, part.means) for part in parts])
    for part in parts:
        scatter += part.scatter
    return Moments(counts, means, scatter, any(part.single for part in parts))


def _of_sparse(X: Any, codes: Codes | None, groups: int) -> Moments:
    """The same of sparse rows, which stay sparse: only their products are D×D."""
    n, D = X.shape
    require(28.0 * D**2, f"Scatter matrices of {D} features", "Pass reduce=r to keep r principal axes first.")
    if codes is not None:
        X, codes = X[codes >= 0], codes[codes >= 0]
    code = np.zeros(n, dtype=np.intp) if codes is None else codes
    C = Centred.of(X, np.ones(X.shape[0]) @ X / max(X.shape[0], 1))
    member = sp.csr_array((np.ones(code.size), (code, np.arange(code.size))), shape=(groups, code.size))
    counts = np.bincount(code, minlength=groups).astype(np.float64)
    inside = (member @ C.X).toarray() / np.maximum(counts, 1.0)[:, None] - C.mean
    scatter = C.scatter() - (inside.T * counts) @ inside
    means = np.where(counts[:, None] > 0, inside + np.ones(X.shape[0]) @ X / max(X.shape[0], 1), 0.0)
    return Moments(counts, means, (scatter + scatter.T) / 2)
