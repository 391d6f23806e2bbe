"""Counts, means and scatter of rows read once, in blocks: all that PCA and discriminant analysis need of the data.

The rows may lie in a file (`numpy.memmap`) or arrive in parts; neither a copy of them nor anything else with n rows is
made. `Moments` of parts add up to those of the whole, and data far from the origin are
summed about a point among their own rows, so that they keep their digits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from typing import Any, Self

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
from numpy.typing import NDArray

from ...numerics.eigen.centred import Centred
from ...numerics.eigen.dense import square_root
from ...numerics.memory import require
from ...numerics.threads import threads_for
from .chunked_sums import NEAR, grouped_scatter
from .row_storage import rows_of
from .storage import Elsewhere
from .triangular import NEED, ROUNDING, Root, joined_means, triangular

Array = NDArray[np.float64]
Codes = NDArray[np.intp]

#: Eigenvalues, relative to the largest, down to which products hold a direction to about 1e-6 (a few eps over the eigenvalue); of products
#: in single precision, to about 1e-3.
_SURE = {False: 1e-9, True: 2e-4}
#: The least spread of a direction beside the size of the means, whose rounding must not show in it.
_FAR = ROUNDING / NEED
#: Eigenvalues of the correlations, relative to the largest, that rounding of the products can explain.
_NONE = {False: 1e-12, True: 1e-5}


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
    root : ndarray of shape (r, D) or None
        ``root'root`` is the scatter, with twice its digits (see `roots`); None where the products alone were summed.
    lost : ndarray of shape (D,) or None
        Size of what the root does not know of each column, where it is partly one of products.
    low : ndarray of shape (g, D) or None
        What rounding leaves of the means: far from the origin, their differences need it. None where it is not known.
    """

    counts: Array
    means: Array
    scatter: Array
    single: bool = False
    root: Array | None = None
    lost: Array | None = None
    low: Array | None = None

    @staticmethod
    def of(X: Any, codes: Codes | None = None, groups: int = 1, *, single: bool = False) -> Moments:
        """Of the rows of X in one pass, grouped by `codes`; rows with a negative code are left out. Cost O(nD²).

        `single` multiplies blocks in single precision and adds them up in double, about twice as fast: the scatter is then
        right to about 1e-6 of its largest eigenvalue, which is what rounding X to single precision leaves of it.
        """
        if isinstance(X, Elsewhere):
            return rows_of(X).reduce(partial(Moments.of, single=single))
        if sp.issparse(X):
            return _of_sparse(X, codes, groups)
        return Moments(*grouped_scatter(X, codes, groups, single), single)

    @staticmethod
    def nothing(groups: int, D: int, single: bool = False) -> Moments:
        """Of no rows."""
        return Moments(np.zeros(groups), np.zeros((groups, D)), np.zeros((D, D)), single)

    @staticmethod
    def read(X: Any, center: bool = True) -> Moments:
        """Of the rows of X as one group, about their mean or the origin, in one pass; in a second one with the root, where the products
        lose digits that matter."""
        moments = Moments.of(X)
        about = moments if center else moments.about_origin()
        if about.is_full:
            return about
        moments = moments.factored(X)
        return moments if center else moments.about_origin()

    def factored(self, X: Any) -> Moments:
        """The same rows, which are read again, with the root of their scatter. One group."""
        about = partial(Root.of, codes=None, groups=1, origin=self.mean)
        return Moments.of_root(rows_of(X).reduce(about), self.mean)

    @staticmethod
    def of_root(root: Root, origin: Array) -> Moments:
        """Of rows that were factorised about this origin."""
        means, low = _two_parts(root.counts, origin, root.means)
        return Moments(root.counts, means, root.factor.T @ root.factor, root=root.factor, low=low)

    def products(self) -> Moments:
        """The same without a root."""
        return self if self.root is None else replace(self, root=None, lost=None)

    def rooted(self) -> Moments:
        """The same with a root: that of the scatter, where there is no better one."""
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
        """Of both sets of rows together."""
        return _together(self, other)

    @property
    def n(self) -> int:
        return int(self.counts.sum())

    @property
    def mean(self) -> Array:
        if self.low is None:
            return self.counts @ self.means / max(self.n, 1)
        origin = self._origin
        return origin + self.counts @ self.about(origin) / max(self.n, 1)

    @property
    def _origin(self) -> Array:
        """The mean of a group that has rows; zero if there is no group."""
        return self.means[int(np.argmax(self.counts > 0))] if self.counts.size else np.zeros(self.means.shape[1])

    def about(self, origin: Array) -> Array:
        """The means less an origin near them, with all digits that are known."""
        return self.means - origin if self.low is None else (self.means - origin) + self.low

    def between(self) -> Array:
        """Scatter of the group means about the mean, every group counted with its rows."""
        gap = self.gaps()
        return gap.T @ gap

    def gaps(self) -> Array:
        """Rows whose products are `between`: the group means about the mean, times the root of the count."""
        if self.low is None:
            return (self.means - self.mean) * np.sqrt(self.counts)[:, None]
        apart = self.about(self._origin)
        return (apart - self.counts @ apart / max(self.n, 1)) * np.sqrt(self.counts)[:, None]

    def pooled(self) -> Moments:
        """The same rows as one group."""
        if self.counts.size == 1:
            return self
        root = None if self.root is None else triangular(np.vstack([self.root, self.gaps()]))
        scatter, counts = self.scatter + self.between(), np.array([float(self.n)])
        mean, low = self.mean[None], None
        if self.low is not None:
            origin = self._origin
            mean, low = _two_parts(counts, origin, (self.counts @ self.about(origin) / max(self.n, 1))[None])
        return Moments(counts, mean, scatter, self.single, root, self.lost, low)

    def about_origin(self) -> Moments:
        """The same rows with all sums of squares about the origin, which stands for their mean."""
        whole = self.pooled()
        squares = whole.scatter + self.n * np.outer(whole.mean, whole.mean)
        root = None if whole.root is None else triangular(np.vstack([whole.root, np.sqrt(self.n) * whole.means]))
        return Moments(whole.counts, np.zeros_like(whole.means), squares, self.single, root, self.lost)

    def regrouped(self, places: Codes, groups: int) -> Moments:
        """The same with group i at ``places[i]`` of `groups`."""
        counts, means = np.zeros(groups), np.zeros((groups, self.means.shape[1]))
        counts[places], means[places] = self.counts, self.means
        low = None if self.low is None else np.zeros_like(means)
        if low is not None:
            low[places] = self.low
        return replace(self, counts=counts, means=means, low=low)

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

    @cached_property
    def is_full(self) -> bool:
        """The products hold all directions of the standardised columns that vary to about 1e-6. Cost O(D³)."""
        return self.spans(int(self.live().sum()))

    def spans(self, k: int) -> bool:
        """They hold k of these directions so, which are surely there. Cost O(D³)."""
        unit = np.where(self.live(), self.spread(), np.inf)
        return self._exceed(unit, k, float(np.isfinite(unit).sum()))

    def leads(self, k: int) -> bool:
        """The same of the k directions of largest variance, the columns in their own units."""
        S = self.pooled().scatter
        largest = min(float(np.trace(S)), float(np.abs(S).sum(axis=0).max(initial=0.0))) / max(self.n, 1)
        return self._exceed(np.where(self.live(), 1.0, np.inf), k, largest)

    def holds_within(self, whole: Moments) -> bool:
        """They hold all directions of the scatter within the groups, in units of the spread of these rows and others. Cost O(D³)."""
        unit = np.where(whole.live(), whole.spread(), np.inf)
        D = int(np.isfinite(unit).sum())
        inside = replace(self, counts=np.array([float(self.n)]), means=whole.mean[None], low=None)
        return inside._exceed(unit, D, float(D), whole._blur())

    def _blur(self) -> float:
        """How much larger than the scatter the products were that it is left of: columns near the origin are not centred first."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = (self.mean / self.spread())[self.live()] ** 2
        return 1.0 + float(ratio[ratio <= NEAR[4 if self.single else 8]].max(initial=0.0))

    def _exceed(self, unit: Array, k: int, largest: float, blur: float | None = None) -> bool:
        """k eigenvalues of the covariance, its columns divided by `unit`, are far enough above rounding; none is above `largest`."""
        live = np.isfinite(unit)
        D, sure = int(live.sum()), _SURE[self.single] * (self._blur() if blur is None else blur)
        if k == 0 or k > D:
            return k == 0
        # means of parts of the rows are rounded at their size, wherever the rows lie
        far = (_FAR * float(np.abs(self.mean / unit).max())) ** 2
        level = max(sure * largest, far)
        S = self.pooled().scatter
        with threads_for(D):
            if 2 * k <= D:
                # a form that is positive on some k-dimensional subspace has k positive eigenvalues, and most subspaces will do
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
            # the block-diagonal factor has as many positive eigenvalues as the matrix: Sylvester's law of inertia
            factor = la.ldl(shifted)[1]
            paired = np.diagonal(factor, 1) != 0  # a 2×2 block has one of either sign
            alone = ~(np.append(paired, False) | np.append(False, paired))
            return int(paired.sum() + np.sum(np.diagonal(factor)[alone] > 0)) >= k


class OfMoments:
    """A statistic whose fields are moments of different rows or columns."""

    def _each(self, change: Callable[[Moments], Moments]) -> Self:
        parts = {each.name: getattr(self, each.name) for each in fields(self)}  # type: ignore[arg-type]
        found = {name: change(part) for name, part in parts.items() if isinstance(part, Moments)}
        same = all(found[name] is parts[name] for name in found)
        return self if same else replace(self, **found)  # type: ignore[type-var]

    def rooted(self) -> Self:
        """The same with roots: those of the scatters, where there are no better ones."""
        return self._each(Moments.rooted)

    def without_roots(self) -> Self:
        """The products alone."""
        return self._each(Moments.products)


@dataclass(frozen=True, eq=False)
class Sums(OfMoments):
    """Moments of the rows with a label, by class, and of those without: all that is to be known of them where only scatters count."""

    labelled: Moments
    rest: Moments

    @staticmethod
    def of(X: Any, codes: Codes, classes: int, part: Callable[[Any, Codes, int], Any] = Moments.of) -> Sums:
        """In one pass, and a second one only where there are rows without a label; `part` may compute factors instead."""
        rest = np.where(codes < 0, 0, -1) if np.any(codes < 0) else np.full(0, -1)
        return Sums(part(X, codes, classes), part(X[: rest.size], rest, 1))

    @staticmethod
    def by_class(X: Any, y: Any) -> Sums:
        """The same of rows and their classes, wherever both are stored; with roots where the products lose digits that matter."""
        rows = rows_of(X)
        sums: Sums = y.reduce(rows, Sums.of)
        return sums if sums.is_full else sums._rooted_by(lambda factors: y.reduce(rows, factors))

    def factored(self, X: Any, codes: Codes) -> Sums:
        """The same rows, which are read again, with the roots of their scatters."""
        return self._rooted_by(lambda factors: factors(X, codes, self.labelled.counts.size))

    def _rooted_by(self, read: Callable[[Any], Any]) -> Sums:
        """The same rows with roots, given what reads them again."""
        origin = self.everyone.mean
        roots = read(partial(Sums.of, part=partial(Root.of, origin=origin)))
        return Sums(Moments.of_root(roots.labelled, origin), Moments.of_root(roots.rest, origin))

    @cached_property
    def is_full(self) -> bool:
        """The products hold all directions within the classes that rows of these numbers can have, or all directions there are."""
        inside = self.labelled
        if inside.counts.size == 1 or inside.n - inside.counts.size < np.sum(self.everyone.live()):
            return self.everyone.is_full
        return inside.holds_within(self.everyone)

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
    def width(self) -> int:
        """The number of columns, the most axes there can be."""
        return int(self.labelled.means.shape[1])

    @cached_property
    def everyone(self) -> Moments:
        """All rows as one group."""
        return self.labelled.pooled() + self.rest if self.rest.n else self.labelled.pooled()

    def __add__(self, other: Sums) -> Sums:
        return Sums(self.labelled + other.labelled, self.rest + other.rest)


def _together(one: Moments, two: Moments) -> Moments:
    """Of all rows: their scatter about the means of their parts, and that of these means; with a root where both have one."""
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
    """``origin + away`` of groups with rows, and what rounding leaves of it."""
    there = (counts > 0)[:, None]
    means = np.where(there, origin + away, 0.0)
    return means, np.where(there, (origin - means) + away, 0.0)


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
