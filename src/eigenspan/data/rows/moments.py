"""Counts, means and scatter of rows, computed in one pass over blocks: sufficient statistics of PCA and discriminant analysis.

The rows may be in a file (`numpy.memmap`) or arrive in parts; no array with n rows is allocated. `Moments` of parts add up to those of
the whole. Sums are taken about a point among the rows, so that data far from zero keep their digits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from typing import Any, Protocol, Self, cast

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from ..._types import Array, Index, Mask, Matrix, Sparse
from ...numerics.eigen.centred import Centred
from ...numerics.eigen.dense import square_root
from ...numerics.memory import require
from ...numerics.threads import threads_for
from .block_passes import NEAR, Joined, grouped_scatter, joined_means
from .storage import Elsewhere, Rows, Statistic, rows_of
from .triangular import NEED, ROUNDING, Root, triangular

#: Least eigenvalues, relative to the largest, whose directions products give to about 1e-6 (a few eps over the eigenvalue); in single
#: precision, to about 1e-3.
_SURE = {False: 1e-9, True: 2e-4}
#: Least standard deviation of a direction, relative to the means, for which rounding of the means is negligible.
_FAR = ROUNDING / NEED
#: Number of rows whose mean is the origin of weighted sums.
_PILOT = 1024
#: Eigenvalues of the correlations, relative to the largest, that rounding of the products can explain.
_NONE = {False: 1e-12, True: 1e-5}


@dataclass(frozen=True, eq=False)
class Moments:
    """Counts of groups of rows, their means, and the scatter about those means.

    Attributes
    ----------
    counts : ndarray of shape (g,)
    means : ndarray of shape (g, D)
        Zero for a group without rows.
    scatter : ndarray of shape (D, D)
        ``Σ (x − mean of its group)(x − mean of its group)'`` over all rows.
    single : bool
        Products were taken in single precision.
    root : ndarray of shape (r, D) or None
        ``root'root`` is the scatter, with twice its digits (see `Root`); None if only products were summed.
    lost : ndarray of shape (D,) or None
        Error of the root in each column, if part of it was computed from products.
    low : ndarray of shape (g, D) or None
        Rounding error of the means, needed for their differences far from zero. None if it is not known.
    """

    counts: Array
    means: Array
    scatter: Array
    single: bool = False
    root: Array | None = None
    lost: Array | None = None
    low: Array | None = None

    @staticmethod
    def of(
        X: Matrix | Joined | Elsewhere, codes: Index | None = None, groups: int = 1, *, single: bool = False
    ) -> Moments:
        """Return the moments of the rows of X, grouped by `codes`, in one pass. Rows with a negative code are left out. Cost O(nD²).

        `single` multiplies blocks in single precision and adds them up in double, about twice as fast: the scatter is then
        accurate to about 1e-6 of its largest eigenvalue, like that of X rounded to single precision.
        """
        if isinstance(X, Elsewhere):
            return rows_of(X).reduce(partial(Moments.of, single=single))
        if sp.issparse(X):
            return _of_sparse(X, codes, groups)
        return Moments(*grouped_scatter(X, codes, groups, single), single)

    @staticmethod
    def nothing(groups: int, D: int, single: bool = False) -> Moments:
        """Return the moments of no rows."""
        return Moments(np.zeros(groups), np.zeros((groups, D)), np.zeros((D, D)), single)

    @staticmethod
    def read(X: Matrix | Elsewhere, center: bool = True) -> Moments:
        """Return the moments of the rows of X as one group, about their mean or the origin, in one pass.

        A second pass computes the root if the products lose digits that matter.
        """
        moments = Moments.of(X)
        about = moments if center else moments.about_origin()
        if about.is_full:
            return about
        moments = moments.factored(X)
        return moments if center else moments.about_origin()

    def factored(self, X: Matrix | Elsewhere) -> Moments:
        """Return the moments of the same rows X, read again, with the root of their scatter. One group."""
        about = partial(Root.of, codes=None, groups=1, origin=self.mean)
        return Moments.of_root(rows_of(X).reduce(about), self.mean)

    @staticmethod
    def of_root(root: Root, origin: Array) -> Moments:
        """Return the moments of rows that were factorised about this origin."""
        means, low = _two_parts(root.counts, origin, root.means)
        return Moments(root.counts, means, root.factor.T @ root.factor, root=root.factor, low=low)

    def products(self) -> Moments:
        """Return these moments without a root."""
        return self if self.root is None else replace(self, root=None, lost=None)

    def rooted(self) -> Moments:
        """Return these moments with a root, that of the scatter if there is no better one."""
        if self.root is not None:
            return self
        if not self.n:
            return replace(self, root=self.scatter[:0])
        size = np.sqrt(np.maximum(np.diagonal(self.pooled().scatter), 0.0))
        unit = np.where(size > 0, size, 1.0)
        noise = ROUNDING * self._blur() * size.size
        return replace(
            self, root=square_root(self.scatter / np.outer(unit, unit), noise) * unit, lost=np.sqrt(noise) * size
        )

    def __add__(self, other: Moments) -> Moments:
        """Return the moments of both sets of rows together."""
        return _together(self, other)

    @property
    def n(self) -> int:
        """Number of rows, or the sum of their weights."""
        total = float(self.counts.sum())
        return int(total) if total.is_integer() else cast(int, total)

    @property
    def mean(self) -> Array:
        if self.low is None:
            return self.counts @ self.means / (self.n or 1)
        origin = self._origin
        return origin + self.counts @ self.about(origin) / (self.n or 1)

    @property
    def _origin(self) -> Array:
        """Mean of a group that has rows; zero if there is no group."""
        return self.means[int(np.argmax(self.counts > 0))] if self.counts.size else np.zeros(self.means.shape[1])

    def about(self, origin: Array) -> Array:
        """Return the means minus an origin near them, with all known digits."""
        return self.means - origin if self.low is None else (self.means - origin) + self.low

    def between(self) -> Array:
        """Return the scatter of the group means about the mean, weighted by the numbers of rows."""
        gap = self.gaps()
        return gap.T @ gap

    def gaps(self) -> Array:
        """Return rows whose products are `between`: the group means about the mean, times the square root of the count."""
        if self.low is None:
            return (self.means - self.mean) * np.sqrt(self.counts)[:, None]
        apart = self.about(self._origin)
        return (apart - self.counts @ apart / (self.n or 1)) * np.sqrt(self.counts)[:, None]

    def pooled(self) -> Moments:
        """Return the moments of the same rows as one group."""
        if self.counts.size == 1:
            return self
        root = None if self.root is None else triangular(np.vstack([self.root, self.gaps()]))
        scatter, counts = self.scatter + self.between(), np.array([float(self.n)])
        mean, low = self.mean[None], None
        if self.low is not None:
            origin = self._origin
            mean, low = _two_parts(counts, origin, (self.counts @ self.about(origin) / (self.n or 1))[None])
        return Moments(counts, mean, scatter, self.single, root, self.lost, low)

    def about_origin(self) -> Moments:
        """Return the moments of the same rows with sums of squares about the origin, which takes the place of the mean."""
        whole = self.pooled()
        squares = whole.scatter + self.n * np.outer(whole.mean, whole.mean)
        root = None if whole.root is None else triangular(np.vstack([whole.root, np.sqrt(self.n) * whole.means]))
        return Moments(whole.counts, np.zeros_like(whole.means), squares, self.single, root, self.lost)

    def regrouped(self, places: Index, groups: int) -> Moments:
        """Return the moments with group i at ``places[i]`` of `groups`."""
        counts, means = np.zeros(groups), np.zeros((groups, self.means.shape[1]))
        counts[places], means[places] = self.counts, self.means
        low = None if self.low is None else np.zeros_like(means)
        if low is not None:
            low[places] = self.low
        return replace(self, counts=counts, means=means, low=low)

    def spread(self) -> Array:
        """Return the standard deviation of every column."""
        variance = np.diagonal(self.scatter) + self.counts @ (self.means - self.mean) ** 2
        return np.sqrt(np.maximum(variance, 0.0) / (self.n or 1))

    def live(self) -> Mask:
        """Return a mask of the columns that are not constant."""
        return self.spread() > 1e-13 * np.abs(self.mean)

    def correlations(self) -> Array:
        """Return the correlations among the columns that are not constant."""
        live, d = self.live(), self.spread()[self.live()]
        return self.pooled().scatter[np.ix_(live, live)] / (self.n * np.outer(d, d))

    @property
    def none(self) -> float:
        """Largest eigenvalue of the correlations, relative to the largest, that counts as zero."""
        return _NONE[self.single]

    @cached_property
    def is_full(self) -> bool:
        """Whether the products give all directions of the standardised columns to about 1e-6. Cost O(D³)."""
        unit = np.where(self.live(), self.spread(), np.inf)
        count = int(np.isfinite(unit).sum())
        return self._exceed(unit, count, float(count))

    def leads(self, k: int) -> bool:
        """Return True if the products give the k directions of largest variance, the columns in their own units, to about 1e-6."""
        S = self.pooled().scatter
        largest = min(float(np.trace(S)), float(np.abs(S).sum(axis=0).max(initial=0.0))) / (self.n or 1)
        return self._exceed(np.where(self.live(), 1.0, np.inf), k, largest)

    def holds_within(self, whole: Moments) -> bool:
        """Return True if the products give all directions within the groups, in units of the standard deviations of `whole`. Cost O(D³)."""
        unit = np.where(whole.live(), whole.spread(), np.inf)
        D = int(np.isfinite(unit).sum())
        inside = replace(self, counts=np.array([float(self.n)]), means=whole.mean[None], low=None)
        return inside._exceed(unit, D, float(D), whole._blur())

    def _blur(self) -> float:
        """Return the ratio of the summed products to the scatter: columns whose mean is near zero are not centred first."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = (self.mean / self.spread())[self.live()] ** 2
        return 1.0 + float(ratio[ratio <= NEAR[4 if self.single else 8]].max(initial=0.0))

    def _exceed(self, unit: Array, k: int, largest: float, blur: float | None = None) -> bool:
        """Return True if k eigenvalues of the covariance in these units are well above rounding; none of them exceeds `largest`."""
        live = np.isfinite(unit)
        D, sure = int(live.sum()), _SURE[self.single] * (self._blur() if blur is None else blur)
        if k == 0 or k > D:
            return k == 0
        # Means of parts of the rows have rounding errors relative to their size.
        far = (_FAR * float(np.abs(self.mean / unit).max())) ** 2
        level = max(sure * largest, far)
        S = self.pooled().scatter
        with threads_for(D):
            if 2 * k <= D:
                # A form that is positive on a k-dimensional subspace has k positive eigenvalues; a random subspace usually suffices.
                Q = np.random.default_rng(0).standard_normal((live.size, k)) * live[:, None]
                P = Q / unit[:, None]
                if la.lapack.dpotrf(P.T @ (S @ P) / self.n - level * (Q.T @ Q))[1] == 0:
                    return True
            R = S[np.ix_(live, live)] / (self.n * np.outer(unit[live], unit[live]))
            shifted = R - max(min(level, sure * np.abs(R).sum(axis=0).max()), far) * np.eye(D)
            if la.lapack.dpotrf(shifted)[1] == 0:
                return True
            if k == D:
                return False
            # By Sylvester's law of inertia the block-diagonal factor has as many positive eigenvalues as the matrix.
            factor = la.ldl(shifted)[1]
            paired = np.diagonal(factor, 1) != 0  # a 2×2 block has one positive and one negative eigenvalue
            alone = ~(np.append(paired, False) | np.append(False, paired))
            return int(paired.sum() + np.sum(np.diagonal(factor)[alone] > 0)) >= k


class OfMoments:
    """Base of statistics whose fields are moments of different rows or columns."""

    def _each(self, change: Callable[[Moments], Moments]) -> Self:
        parts = {each.name: getattr(self, each.name) for each in fields(self)}  # type: ignore[arg-type]
        found = {name: change(part) for name, part in parts.items() if isinstance(part, Moments)}
        same = all(found[name] is parts[name] for name in found)
        return self if same else replace(self, **found)  # type: ignore[type-var]

    def rooted(self) -> Self:
        """Return the statistic with roots, those of the scatters if there are no better ones."""
        return self._each(Moments.rooted)

    def without_roots(self) -> Self:
        """Return the statistic without roots."""
        return self._each(Moments.products)


class ClassesOfRows(Protocol):
    """Classes of rows, in the storage of the rows."""

    def reduce(self, rows: Rows, statistic: Callable[..., Statistic]) -> Statistic: ...


@dataclass(frozen=True, eq=False)
class Sums(OfMoments):
    """Moments of the labelled rows by class, and of the unlabelled rows: sufficient statistics of all class scatter matrices."""

    labelled: Moments
    rest: Moments

    @staticmethod
    def of(
        X: Matrix | Joined,
        codes: Index,
        classes: int,
        part: Callable[..., Any] = Moments.of,
    ) -> Sums:
        """Return the sums in one pass; a second pass reads unlabelled rows if there are any. `part` may compute roots instead."""
        rest = np.where(codes < 0, 0, -1) if np.any(codes < 0) else np.full(0, -1)
        return Sums(part(X, codes, classes), part(X[: rest.size], rest, 1))

    @staticmethod
    def by_class(X: Matrix | Elsewhere, y: ClassesOfRows) -> Sums:
        """Return the sums of rows and their classes in any storage, with roots if the products lose digits that matter."""
        rows = rows_of(X)
        sums: Sums = y.reduce(rows, Sums.of)
        return sums if sums.is_full else sums._rooted_by(lambda factors: y.reduce(rows, factors))

    def factored(self, X: Matrix, codes: Index) -> Sums:
        """Return the sums of the same rows, read again, with the roots of their scatters."""
        return self._rooted_by(lambda factors: factors(X, codes, self.labelled.counts.size))

    def _rooted_by(self, read: Callable[[Callable[..., Sums]], Sums]) -> Sums:
        """Return the sums with roots; `read` computes a statistic of the same rows."""
        origin = self.everyone.mean
        roots: Any = read(partial(Sums.of, part=partial(Root.of, origin=origin)))
        return Sums(Moments.of_root(roots.labelled, origin), Moments.of_root(roots.rest, origin))

    @staticmethod
    def weighed(X: Matrix, codes: Index, classes: int, weights: Array) -> Sums:
        """Return the sums of rows that count as often as their weights say, with roots. Rows of weight zero are left out."""
        if not weights.all():
            kept = weights > 0
            X, codes, weights = X[kept], codes[kept], weights[kept]
        origin = np.asarray(X[: min(len(codes), _PILOT)].mean(axis=0), dtype=np.float64).ravel()
        parts = [(codes, classes), (np.where(codes < 0, 0, -1), 1)]
        return Sums(*(Moments.of_root(Root.of(X, code, groups, origin, weights), origin) for code, groups in parts))

    @cached_property
    def is_full(self) -> bool:
        """Whether the products give all directions within the classes, or all directions if there are too few rows for these."""
        inside = self.labelled
        if inside.counts.size == 1 or inside.n - inside.counts.size < np.sum(self.everyone.live()):
            return self.everyone.is_full
        return inside.holds_within(self.everyone)

    def regrouped(self, places: Index, classes: int) -> Sums:
        """Return the sums with class i at ``places[i]`` of `classes`."""
        return replace(self, labelled=self.labelled.regrouped(places, classes))

    @staticmethod
    def without_classes(rows: Moments) -> Sums:
        """Return the sums of unclassified rows, as one group."""
        return Sums(rows, Moments.nothing(1, rows.means.shape[1]))

    @property
    def n(self) -> int:
        return self.labelled.n + self.rest.n

    @property
    def width(self) -> int:
        """Number of columns, the largest possible number of axes."""
        return int(self.labelled.means.shape[1])

    @cached_property
    def everyone(self) -> Moments:
        """Moments of all rows as one group."""
        return self.labelled.pooled() + self.rest if self.rest.n else self.labelled.pooled()

    def __add__(self, other: Sums) -> Sums:
        return Sums(self.labelled + other.labelled, self.rest + other.rest)


def _together(one: Moments, two: Moments) -> Moments:
    """Return the moments of both sets of rows together, with a root if both have one."""
    origin = (one if one.n else two)._origin
    counts, away, apart = joined_means((one.counts, one.about(origin)), (two.counts, two.about(origin)))
    scatter = one.scatter + two.scatter + apart.T @ apart
    roots = [part.root if part.n else part.scatter[:0] for part in (one, two)]
    whole = lost = None
    if (one.root is not None or two.root is not None) and all(root is not None for root in roots):
        whole = triangular(np.vstack([*roots, apart]))  # type: ignore[list-item]
        losses = [part.lost for part in (one, two) if part.lost is not None]
        lost = np.sqrt(np.sum(np.square(losses), axis=0)) if losses else None
        scatter = scatter if losses else whole.T @ whole
    means, low = _two_parts(counts, origin, away)
    return Moments(counts, means, scatter, one.single or two.single, whole, lost, low)


def _two_parts(counts: Array, origin: Array, away: Array) -> tuple[Array, Array]:
    """Return ``origin + away`` for groups with rows, and its rounding error."""
    there = (counts > 0)[:, None]
    means = np.where(there, origin + away, 0.0)
    return means, np.where(there, (origin - means) + away, 0.0)


def _of_sparse(X: Sparse, codes: Index | None, groups: int) -> Moments:
    """Return the moments of sparse rows, which stay sparse: only their products are dense."""
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
