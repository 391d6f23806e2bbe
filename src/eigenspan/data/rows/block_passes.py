"""Passes over rows in blocks: counts, means and scatter; rows minus an origin, and their projections; weighted sums.

Threads process groups of consecutive blocks. The whole table is never copied.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from threading import Lock
from typing import NoReturn

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
from numpy.typing import DTypeLike

from ..._types import Array, Floats, Index, Mask, Matrix, is_sparse
from ...errors import InputError
from ...numerics.memory import require
from ...numerics.threads import in_threads, threads_for, workers

#: Largest numbers of rows and of entries in a block: small enough for six digits in float32 sums, large enough for fast products.
ROWS, NUMBERS = 4096, 2**20
#: Number of rows whose mean is the origin of a group of blocks; number of groups, fixed so that sums do not depend on the threads.
_PILOT, _GROUPS = 64, 8

#: Entries that are centred and summed at once, so that they stay in the cache.
_CACHED = 2**18

#: Largest squared mean, in units of the variance of the column, for which centring is not needed, by bytes per number.
NEAR = {4: 1.0, 8: 100.0}
#: Rows per block of a projection: a block and its image fit in the cache.
_BLOCK_ROWS = 512
#: Largest relative error of a projection in single precision; if it may be larger, double precision is used.
_TOLERANCE = 1e-5
#: Least number of multiplications for which several threads are used.
_THREADED = 2**24
#: Least number of columns for which the transposed product is faster: by 20 % at 784 columns; at 100 it is 30 % slower.
_WIDE = 400


def blocks(n: int, D: int, rows: int | None = None, numbers: int | None = None) -> Iterator[slice]:
    """Return slices of rows to read at once."""
    numbers = NUMBERS if numbers is None else numbers
    step = max(64, min(ROWS if rows is None else rows, numbers // max(D, 1)))
    return (slice(i, min(i + step, n)) for i in range(0, n, step))


def refuse_non_finite(X: Floats, first: int = 0, name: str = "X") -> None:
    """Raise if X has NaN or infinity; the message counts rows from `first`."""
    for part in blocks(*X.shape):
        bad = np.argwhere(~np.isfinite(X[part]))
        if len(bad):
            row, column = bad[0]
            what = "NaN" if np.isnan(X[part][row, column]) else "infinity"
            raise InputError(
                f"Input {name} contains {what}, first in row {first + part.start + row}, column {column}: sums over the rows have no "
                "value. Drop such rows, or fill them in (sklearn.impute)."
            )


def refuse_squares(large: bool, name: str = "X") -> NoReturn:
    """Raise the error for squares that overflow (`large`) or underflow."""
    what, do = (
        ("large that their squares overflow", "divide") if large else ("small that their squares vanish", "multiply")
    )
    raise InputError(f"Input {name} contains values so {what}: {do} {name} by a constant first.")


@dataclass(frozen=True, eq=False)
class Joined:
    """Tables over the same rows, side by side. Blocks of rows are joined when they are read; the joined table is never formed."""

    tables: tuple[Matrix, ...]

    @property
    def shape(self) -> tuple[int, int]:
        return self.tables[0].shape[0], sum(table.shape[1] for table in self.tables)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice | Index | Mask) -> Joined:
        return Joined(tuple(table[rows] for table in self.tables))

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Array:
        joined: Array = np.hstack(self.tables, dtype=dtype)
        return joined


def subtract_origin(X: Floats | Joined, origin: Floats, out: Floats) -> Floats:
    """Write ``X − origin`` to `out`, whose precision is not lower, and return it. Joined tables are copied one by one."""
    if not isinstance(X, Joined) and X.dtype == out.dtype:
        return np.subtract(X, origin, out=out)
    start = 0
    for table in X.tables if isinstance(X, Joined) else (X,):
        # Conversion in a pass of its own: subtracting at the same time takes 50 % longer.
        out[:, start : start + table.shape[1]] = table
        start += table.shape[1]
    return np.subtract(out, origin, out=out) if origin.any() else out


def grouped_scatter(X: Floats | Joined, codes: Index | None, groups: int, single: bool) -> tuple[Array, Array, Array]:
    """Return counts and means of the groups of rows with equal codes, and the scatter about these means (see `Moments.of`)."""
    n, D = X.shape
    # Adding the products of a block costs the same for any number of rows, so blocks have equal bytes in both precisions.
    units = groups_of_blocks(n, D, rows=(2 if single else 1) * ROWS, numbers=(8 if single else 4) * NUMBERS)
    buffers: list[tuple[Floats, Floats]] = []
    scatters = _OrderedSum()

    def read(number: int) -> tuple[Array, Array]:
        parts, scatter = units[number], scatters.room(D)
        try:
            buffer = buffers.pop()  # Reuse a buffer: allocating one costs as much as filling it.
        except IndexError:  # `list.pop` is atomic, so no lock is needed
            rows = 1 + max(part.stop - part.start for part in parts)  # lengths of blocks differ by at most one
            both: Floats = np.empty((rows + D, D), np.float32 if single else np.float64)
            buffer = both[:rows], both[rows:]
        try:
            found = _sums_of_blocks(X, codes, groups, buffer, parts, scatter)
        finally:
            buffers.append(buffer)
        scatters.add(number, scatter)
        return found

    require(
        8.0 * D**2 * (min(len(units), 3 * workers()) + 5),
        f"Scatter matrices of {D} features",
        "Pass reduce=r to keep r principal axes first.",
    )
    # Small products run faster on one BLAS thread each.
    parts = in_threads(read, range(len(units)), workers()) if n * D > NUMBERS else [*map(read, range(len(units)))]
    with threads_for(D):
        counts, means, scatter = pooled_means([(np.zeros(groups), np.zeros((groups, D))), *parts])
    scatter += scatters.sum
    return counts, means, (scatter + scatter.T) / 2


class _OrderedSum:
    """Sum of matrices in the order of their numbers, in whichever order they arrive: the same bits for any number of threads."""

    def __init__(self) -> None:
        self.sum: Array = np.zeros(())
        self._next, self._lock = 0, Lock()
        self._waiting: dict[int, Array] = {}
        self._spare: list[Array] = []

    def room(self, D: int) -> Array:
        """Return an uninitialised matrix, reusing the memory of one that was added before."""
        with self._lock:
            return self._spare.pop() if self._spare else np.empty((D, D))

    def add(self, number: int, matrix: Array) -> None:
        with self._lock:
            self._waiting[number] = matrix
            while (ready := self._waiting.pop(self._next, None)) is not None:
                if self._next:
                    self.sum += ready
                    self._spare.append(ready)
                else:
                    self.sum = ready
                self._next += 1


def pooled_means(parts: list[tuple[Array, Array]]) -> tuple[Array, Array, Array]:
    """Return counts and means of all rows from those of their parts, and the scatter of the part means about these."""
    counts = np.sum([each for each, _ in parts], axis=0)
    means = sum(each[:, None] * mean for each, mean in parts) / np.maximum(counts, 1.0)[:, None]
    apart = np.vstack([np.sqrt(each)[:, None] * (mean - means) for each, mean in parts])
    return counts, means, apart.T @ apart


def joined_means(one: tuple[Array, Array], two: tuple[Array, Array]) -> tuple[Array, Array, Array]:
    """Return counts and means of two sets of groups together, and rows whose products are the scatter of both means about these."""
    (n, mean), (m, other) = one, two
    total = np.where(n + m > 0, n + m, 1.0)
    gap, both = other - mean, (n > 0) & (m > 0)
    means = np.where((n > 0)[:, None], mean + (m / total)[:, None] * gap, other)
    return n + m, means, (np.sqrt(n * m / total)[:, None] * gap)[both]


def _sums_of_blocks(
    X: Floats | Joined,
    codes: Index | None,
    groups: int,
    buffers: tuple[Floats, Floats],
    parts: list[slice],
    scatter: Array,
) -> tuple[Array, Array]:
    """Return counts and means of the rows in some blocks, and write their scatter about the means to `scatter`.

    The centred rows of every block are written to the first of the `buffers`, and their products, taken about the mean of the first
    rows, to the second.
    """
    D, products = X.shape[1], buffers[1]
    centred: Floats | None = buffers[0]
    single = products.dtype == np.float32
    origin = _origin(np.asarray(X[parts[0]][:_PILOT]), products.dtype)
    counts, sums = np.zeros(groups), np.zeros((groups, D))
    scatter.fill(0.0)
    # Converted rows use the buffer too: where freed memory is returned at once, as on Dask workers, new arrays are expensive.
    centred = centred if origin.any() or isinstance(X, Joined) or X.dtype != products.dtype else None
    if centred is None and codes is None and not single and isinstance(X, np.ndarray):
        # Rows are neither copied nor centred, and larger products are faster.
        parts = [slice(parts[0].start, parts[-1].stop)]
    for part in parts:
        block, code = X[part], None if codes is None else codes[part]
        if code is not None and code.min() < 0:
            block, code = block[code >= 0], code[code >= 0]
        z, added = _centred(block, origin, centred)
        if len(block) and not _multiply(z, products):
            (z, added), double = _centred(block, origin.astype(np.float64), np.empty(block.shape)), np.empty((D, D))
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
    if inside.size:  # in place, without another D×D array
        la.blas.dgemm(-1.0, inside.T * counts, inside, 1.0, scatter.T, overwrite_c=1)
    return counts, np.where(counts[:, None] > 0, origin + inside, 0.0)


def _origin(rows: Floats, dtype: DTypeLike) -> Floats:
    """Return the mean of the rows, or zero if they are so close to zero that centring is not needed."""
    with np.errstate(all="ignore"):
        mean = rows.mean(axis=0, dtype=np.float64)
        near = np.all(mean**2 <= NEAR[np.dtype(dtype).itemsize] * rows.var(axis=0, dtype=np.float64))
    return np.zeros_like(mean, dtype=dtype) if near else mean.astype(dtype)


def _centred(block: Floats | Joined, origin: Floats, buffer: Floats | None) -> tuple[Floats, Array]:
    """Return the rows minus the origin and, if they are written to a buffer, their sum."""
    added = np.zeros(block.shape[1])
    with np.errstate(all="ignore"):
        if buffer is None:
            return np.ascontiguousarray(block, dtype=origin.dtype), added
        ones = np.ones(len(block), buffer.dtype)
        for few in blocks(len(block), block.shape[1], numbers=_CACHED):
            added += ones[few] @ subtract_origin(block[few], origin, buffer[few])  # while the cache holds them
    return buffer[: len(block)], added


def _multiply(z: Floats, products: Floats) -> bool:
    """Write ``z'z`` to `products` in the precision of z; return False if squares underflow, overflow or are not finite."""
    with np.errstate(all="ignore"):
        np.matmul(z.T, z, out=products)
        size = float(np.trace(products, dtype=np.float64))
    least, most = (1e-28, 1e36) if z.dtype == np.float32 else (1e-290, np.finfo(float).max)
    return least < size <= most or (size == 0 and not z.any())


def _group_sums(z: Floats, code: Index | None, groups: int) -> Array:
    """Return the sums of the rows of every group."""
    if code is None:
        return (np.ones(len(z), dtype=z.dtype) @ z)[None].astype(np.float64)
    return sp.csc_array((np.ones(len(z)), code, np.arange(len(z) + 1)), shape=(groups, len(z))) @ z


def groups_of_blocks(n: int, D: int, **size: int) -> list[list[slice]]:
    """Return groups of consecutive blocks of rows, of equal numbers of rows so that threads finish together; `size`: see `blocks`."""
    count = sum(1 for _ in blocks(n, D, **size))
    groups = min(count, _GROUPS)
    each = -(-count // max(groups, 1))
    ends = [n * i // (groups * each) for i in range(groups * each + 1)] if n else [0]
    parts = [slice(a, b) for a, b in pairwise(ends)]
    return [parts[i : i + each] for i in range(0, len(parts), max(each, 1))]


def weighted_sum(weights: Array, X: Matrix) -> Array:
    """Return ``X' weights`` in double precision."""
    if sp.issparse(X) or X.dtype == np.float64:
        return np.asarray(weights @ X).ravel()
    return np.sum([weights[part] @ X[part].astype(np.float64) for part in blocks(*X.shape)], axis=0)


@dataclass(frozen=True, eq=False)
class CentredRows:
    """Rows of X minus an origin, or their coordinates along axes, in double precision; indexing computes the rows asked for."""

    X: Matrix
    origin: Array
    axes: Array | None = None

    @property
    def shape(self) -> tuple[int, int]:
        return self.X.shape if self.axes is None else (self.X.shape[0], self.axes.shape[1])

    def __getitem__(self, which: slice | Index) -> Array:
        rows = self.X[which]
        rows = np.subtract(rows.toarray() if is_sparse(rows) else rows, self.origin, dtype=np.float64)
        return np.asarray(rows if self.axes is None else rows @ self.axes)

    def project(self, V: Array, precision: DTypeLike = np.float64) -> Array:
        """Return ``(X − 1·origin') V``, computed in blocks in the precision of X and stored in `precision`.

        Rows in single precision are multiplied in double precision if large coefficients cancel.
        """
        out: Array = np.empty((self.shape[0], V.shape[1]), precision)
        dtype = np.float32 if self.X.dtype == np.float32 and not self._cancels(V) else np.float64
        # In double precision X V − origin' V loses no digits, so nothing is subtracted before the product.
        near: Floats = np.zeros_like(self.origin) if dtype == np.float64 else self.origin.astype(dtype)
        axes: Floats = V.astype(dtype)
        shift = ((self.origin - near) @ V).astype(precision)
        wide = dtype == np.float64 and len(V) >= _WIDE

        def place(group: list[slice]) -> None:
            buffer = np.empty((0 if dtype == np.float64 else 1 + group[0].stop - group[0].start, len(V)), dtype)
            for part in group:
                rows = self.X[part]
                if len(buffer):
                    rows = np.subtract(rows, near, out=buffer[: len(rows)])
                elif self.X.dtype == np.float32:
                    rows = rows.astype(np.float64)
                np.subtract((axes.T @ rows.T).T if wide else rows @ axes, shift, out=out[part])

        # Not on BLAS threads: these stay busy for a while after the product.
        (n, D), d = self.shape, V.shape[1]
        in_threads(place, groups_of_blocks(n, D, rows=_BLOCK_ROWS), workers() if n * D * d > _THREADED else 1)
        return out

    def _cancels(self, V: Array) -> bool:
        """Return True if products of the first rows with V are so much smaller than their terms that single precision is too coarse."""
        rows = np.subtract(self.X[:_BLOCK_ROWS], self.origin, dtype=np.float64)
        terms, products = np.abs(rows) @ np.abs(V), np.abs(rows @ V)
        lost = float(np.finfo(np.float32).eps) * terms.max(axis=0, initial=0.0)
        return bool(np.any(lost > _TOLERANCE * products.max(axis=0, initial=0.0)))
