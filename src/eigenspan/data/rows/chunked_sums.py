"""Sums over rows read once, in blocks, strips of which threads share out: counts, means and scatter."""

from __future__ import annotations

from itertools import pairwise
from threading import Lock
from typing import Any

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
from numpy.typing import NDArray

from ..._types import Array
from ...numerics.memory import require
from ...numerics.threads import in_threads, threads_for, workers
from .storage import NUMBERS, ROWS, Joined, blocks, less, refuse_non_finite, refuse_squares

Codes = NDArray[np.intp]

#: Rows whose mean a block is summed about; strips of blocks, which threads share out (whatever their number: the sums are the same).
_PILOT, _STRIPS = 64, 8

#: Numbers that are centred and summed at once.
_CACHED = 2**18

#: Squared mean over variance of a column that costs no digits worth a subtraction, by bytes of a number.
NEAR = {4: 1.0, 8: 100.0}


def grouped_scatter(X: Any, codes: Codes | None, groups: int, single: bool) -> tuple[Array, Array, Array]:
    """Counts and means of the groups that `codes` tells, and the scatter about these (see `Moments.of`)."""
    n, D = X.shape
    # the products of a block are added to the others, which takes as long whatever its rows; blocks have the same bytes
    strips = strips_of(n, D, rows=(2 if single else 1) * ROWS, numbers=(8 if single else 4) * NUMBERS)
    spaces: list[Any] = []
    scatters = _InTurn()

    def read(number: int) -> tuple[Array, Array]:
        strip, scatter = strips[number], scatters.room(D)
        try:
            space = spaces.pop()  # that of a strip before: new memory takes as long again as what is written there
        except IndexError:  # asked for by `pop` alone, which threads cannot do at once
            space = _space(strip, D, single)
        try:
            found = _of_strip(X, codes, groups, space, strip, scatter)
        finally:
            spaces.append(space)
        scatters.add(number, scatter)
        return found

    require(
        8.0 * D**2 * (min(len(strips), 3 * workers()) + 5),
        f"Scatter matrices of {D} features",
        "Pass reduce=r to keep r principal axes first.",
    )
    # many small products share one thread of BLAS better than they share two
    parts = in_threads(read, range(len(strips)), workers()) if n * D > NUMBERS else [*map(read, range(len(strips)))]
    with threads_for(D):
        counts, means, scatter = pooled_means([(np.zeros(groups), np.zeros((groups, D))), *parts])
    scatter += scatters.sum
    return counts, means, (scatter + scatter.T) / 2


class _InTurn:
    """Matrices added up in the order of their numbers, whichever comes first: the sum is that of one thread."""

    def __init__(self) -> None:
        self.sum: Any = 0.0
        self._next, self._lock = 0, Lock()
        self._waiting: dict[int, Array] = {}
        self._spare: list[Array] = []

    def room(self, D: int) -> Array:
        """Memory for a matrix, that of one which has been added if there is any: what is new takes as long again to be written to."""
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
    """Counts and means of all rows, from those of their parts, and the scatter of the latter about the former."""
    counts = np.sum([each for each, _ in parts], axis=0)
    means = sum(each[:, None] * mean for each, mean in parts) / np.maximum(counts, 1.0)[:, None]
    apart = np.vstack([np.sqrt(each)[:, None] * (mean - means) for each, mean in parts])
    return counts, means, apart.T @ apart


def _space(parts: list[slice], D: int, single: bool) -> tuple[Any, Any]:
    """For the centred rows of a block of any strip, whose lengths differ by one at most, and for their products."""
    rows, dtype = 1 + max(part.stop - part.start for part in parts), np.float32 if single else np.float64
    both = np.empty((rows + D, D), dtype)
    return both[:rows], both[rows:]


def _of_strip(
    X: Any, codes: Codes | None, groups: int, space: tuple[Any, Any], parts: list[slice], scatter: Array
) -> tuple[Array, Array]:
    """Counts and means of some blocks, read one after the other into the same memory. `scatter` gets that about the means, from
    products about one point among the first rows."""
    D, (centred, products) = X.shape[1], space
    single = products.dtype == np.float32
    origin = _origin(np.asarray(X[parts[0]][:_PILOT]), products.dtype)
    counts, sums = np.zeros(groups), np.zeros((groups, D))
    scatter.fill(0.0)
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
        la.blas.dgemm(-1.0, inside.T * counts, inside, 1.0, scatter.T, overwrite_c=1)
    return counts, np.where(counts[:, None] > 0, origin + inside, 0.0)


def _origin(rows: Any, dtype: Any) -> Array:
    """Zero where the rows lie about it, and nothing need be subtracted; else their mean."""
    with np.errstate(all="ignore"):
        mean = rows.mean(axis=0, dtype=np.float64)
        near = np.all(mean**2 <= NEAR[np.dtype(dtype).itemsize] * rows.var(axis=0, dtype=np.float64))
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


def strips_of(n: int, D: int, **size: int) -> list[list[slice]]:
    """Blocks of rows, as `blocks` cuts them or smaller, in strips of equal length: threads that share these out end together."""
    count = sum(1 for _ in blocks(n, D, **size))
    strips = min(count, _STRIPS)
    each = -(-count // max(strips, 1))
    ends = [n * i // (strips * each) for i in range(strips * each + 1)] if n else [0]
    parts = [slice(a, b) for a, b in pairwise(ends)]
    return [parts[i : i + each] for i in range(0, len(parts), max(each, 1))]
