"""Counts, means and scatter of rows read once, in blocks: all that PCA and discriminant analysis need of the data.

The rows may lie in a file (`numpy.memmap`) or arrive in parts; neither a copy of them nor anything else with n rows is
made. `Moments` of parts add up to those of the whole, and data far from the origin are
summed about a point among their own rows, so that they keep their digits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
from numpy.typing import NDArray

from .._resources import in_threads, require, threads_for, workers
from ..input.lazy import LazyRows
from ..input.source import NUMBERS, ROWS, Joined, blocks, less, refuse_non_finite, refuse_squares
from ..solvers.centred import Centred

Array = NDArray[np.float64]
Codes = NDArray[np.intp]

#: Rows whose mean a block is summed about; strips of blocks, which threads share out (whatever their number: the sums are the same).
_PILOT, _STRIPS = 64, 8

#: Numbers that are centred and summed at once.
_CACHED = 2**18
#: Rows that are projected at once: these and their images stay in the cache.
_PLACED = 512
#: Columns from which a product with few axes is faster transposed, by a fifth at 784; of 100 it would be slower by a third.
_WIDE = 400

#: Squared mean over variance of a column that costs no digits worth a subtraction, by bytes of a number.
_NEAR = {4: 1.0, 8: 100.0}

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

        _each(place, _strips(*self.shape, rows=_PLACED), self.shape[0] > ROWS)
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
        n, D = X.shape
        if sp.issparse(X):
            return _of_sparse(X, codes, groups)
        # the products of a block are added to the others, which takes as long whatever its rows; blocks have the same bytes
        strips = _strips(n, D, rows=(2 if single else 1) * ROWS, numbers=(8 if single else 4) * NUMBERS)
        spaces: list[Any] = []

        def read(strip: list[slice]) -> Moments:
            try:
                space = spaces.pop()  # that of a strip before: new memory takes as long again as what is written there
            except IndexError:  # asked for by `pop` alone, which threads cannot do at once
                space = _space(strip, D, single)
            try:
                return _of_strip(X, codes, groups, space, strip)
            finally:
                spaces.append(space)

        require(
            8.0 * D**2 * (len(strips) + 6),
            f"Scatter matrices of {D} features",
            "Pass reduce=r to keep r principal axes first.",
        )
        parts = _each(read, strips, n * D > NUMBERS)
        with threads_for(D):
            whole = _together([Moments.nothing(groups, D, single), *parts])
        return replace(whole, scatter=(whole.scatter + whole.scatter.T) / 2)

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
    counts = np.sum([part.counts for part in parts], axis=0)
    means = sum(part.counts[:, None] * part.means for part in parts) / np.maximum(counts, 1.0)[:, None]
    apart = np.vstack([np.sqrt(part.counts)[:, None] * (part.means - means) for part in parts])
    scatter = apart.T @ apart
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


def _space(parts: list[slice], D: int, single: bool) -> tuple[Any, Any]:
    """For the centred rows of a block of any strip, whose lengths differ by one at most, and for their products."""
    rows, dtype = 1 + max(part.stop - part.start for part in parts), np.float32 if single else np.float64
    return np.empty((rows, D), dtype), np.empty((D, D), dtype)


def _of_strip(X: Any, codes: Codes | None, groups: int, space: tuple[Any, Any], parts: list[slice]) -> Moments:
    """Of some blocks, one after the other in the same memory, their products summed about one point among the first rows."""
    D, (centred, products) = X.shape[1], space
    single = products.dtype == np.float32
    origin = _origin(np.asarray(X[parts[0]][:_PILOT]), products.dtype)
    counts, sums, scatter = np.zeros(groups), np.zeros((groups, D)), np.zeros((D, D))
    # rows to be converted go there too: where memory is given back at once, as Dask's workers do, new arrays take as long as the products
    centred = centred if origin.any() or isinstance(X, Joined) or X.dtype != products.dtype else None
    if centred is None and codes is None and not single and isinstance(X, np.ndarray):
        # nothing to copy and no digits to lose: larger products are faster
        parts = [slice(parts[0].start, parts[-1].stop)]
    for part in parts:
        block, code = X[part], None if codes is None else codes[part]
        if code is not None and code.min() < 0:
            block, code = block[code >= 0], code[code >= 0]
        z, added = _about(block, origin, centred)
        if len(block) and not _multiply(z, products):
            (z, added), double = _about(block, origin.astype(np.float64), np.empty(block.shape)), np.empty((D, D))
            if not (single and _multiply(z, double)):
                rows = np.asarray(X[part])
                refuse_non_finite(rows, part.start)
                refuse_squares(np.abs(rows).max() > 1)
            scatter += double
        elif len(block):
            scatter += products
        counts += len(block) if code is None else np.bincount(code, minlength=groups)
        sums += _group_sums(z, code, groups) if code is not None or centred is None else added
    inside = sums / np.maximum(counts, 1.0)[:, None]
    if inside.size:  # in place: no new D×D arrays
        scatter = la.blas.dgemm(-1.0, inside.T * counts, inside, 1.0, scatter.T, overwrite_c=1).T
    return Moments(counts, np.where(counts[:, None] > 0, origin + inside, 0.0), scatter, single)


def _origin(rows: Any, dtype: Any) -> Array:
    """Zero where the rows lie about it, and nothing need be subtracted; else their mean."""
    with np.errstate(all="ignore"):
        mean = rows.mean(axis=0, dtype=np.float64)
        near = np.all(mean**2 <= _NEAR[np.dtype(dtype).itemsize] * rows.var(axis=0, dtype=np.float64))
    return np.zeros_like(mean, dtype=dtype) if near else mean.astype(dtype)


def _about(block: Any, origin: Any, space: Any) -> tuple[Any, Array]:
    """Rows about the origin, written to a space if there is one, and then their sum: a few at a time, which the cache still holds."""
    added = np.zeros(block.shape[1])
    with np.errstate(all="ignore"):
        if space is None:
            return np.ascontiguousarray(block, dtype=origin.dtype), added
        ones = np.ones(len(block), space.dtype)
        for few in blocks(len(block), block.shape[1], numbers=_CACHED):
            added += ones[few] @ less(block[few], origin, space[few])
    return space[: len(block)], added


def _multiply(z: Any, products: Any) -> bool:
    """``z'z`` in the precision of z; False where that does not hold it: squares vanish, overflow, or are none."""
    with np.errstate(all="ignore"):
        np.matmul(z.T, z, out=products)
        size = float(np.trace(products, dtype=np.float64))
    least, most = (1e-28, 1e36) if z.dtype == np.float32 else (1e-290, np.finfo(float).max)
    return least < size <= most or (size == 0 and not z.any())


def _group_sums(z: Any, code: Any, groups: int) -> Array:
    if code is None:
        return (np.ones(len(z), dtype=z.dtype) @ z)[None].astype(np.float64)
    return sp.csc_array((np.ones(len(z)), code, np.arange(len(z) + 1)), shape=(groups, len(z))) @ z


def _strips(n: int, D: int, **size: int) -> list[list[slice]]:
    """Blocks of rows, as `blocks` cuts them or smaller, in strips of equal length: threads that share these out end together."""
    count = sum(1 for _ in blocks(n, D, **size))
    strips = min(count, _STRIPS)
    each = -(-count // max(strips, 1))
    ends = [n * i // (strips * each) for i in range(strips * each + 1)] if n else [0]
    parts = [slice(a, b) for a, b in pairwise(ends)]
    return [parts[i : i + each] for i in range(0, len(parts), max(each, 1))]


def _each(work: Callable[[Any], Any], items: Iterable[Any], large: bool) -> list[Any]:
    """On several threads where it pays: many small products share one thread of BLAS better than they share two."""
    return in_threads(work, items, workers()) if large else [work(item) for item in items]
