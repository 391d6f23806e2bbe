"""Sort the entries of whole rows, compare two rankings of the same points, and sort short lists."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from .._types import Array, Integers
from .jit.compiler import compiled, inlined

Counts: TypeAlias = NDArray[np.int64]

#: Digits of a sorting key: six digits of eleven bits cover a double.
_BITS, _DIGITS = 11, 6
_MASK = np.uint64((1 << _BITS) - 1)
#: Mask of all bits but the sign.
_SIZE = np.uint64((1 << 63) - 1)


def order_rows(D: Array, own: Integers) -> NDArray[np.int32]:
    """Return the columns of each row i of D sorted by their entries, with column ``own[i]`` first; D is not changed.

    Equal entries keep the order of their columns. A radix sort, O(n) per row. Entries must not be NaN or negative.
    """
    out = np.empty(D.shape, np.int32)
    # the bit patterns of nonnegative doubles have the same order as the numbers
    bits = np.ascontiguousarray(D, np.float64).view(np.uint64)
    _order_rows(bits, np.asarray(own, np.int64), out)
    return out


@compiled
def _order_rows(bits, own, out):  # type: ignore[no-untyped-def]
    n = bits.shape[1]
    keys, other = np.empty(n, np.uint64), np.empty(n, np.uint64)
    places, moved = np.empty(n, np.int32), np.empty(n, np.int32)
    counts = np.empty((_DIGITS, 1 << _BITS), np.int32)
    for i in range(bits.shape[0]):
        for p in range(_DIGITS):
            for q in range(1 << _BITS):
                counts[p, q] = 0
        for j in range(n):
            # zeros, of either sign, come after the own column
            key = np.uint64(0) if j == own[i] else (bits[i, j] & _SIZE) + np.uint64(1)
            keys[j], places[j] = key, j
            for p in range(_DIGITS):
                counts[p, (key >> np.uint64(_BITS * p)) & _MASK] += 1
        for p in range(_DIGITS):
            count, shift = counts[p], np.uint64(_BITS * p)
            if count[(keys[0] >> shift) & _MASK] == n:
                continue  # all keys have the same digit
            total = 0
            for q in range(count.size):
                total, count[q] = total + count[q], total
            for j in range(n):
                digit = (keys[j] >> shift) & _MASK
                to = count[digit]
                count[digit] = to + 1
                other[to], moved[to] = keys[j], places[j]
            keys, other = other, keys
            places, moved = moved, places
        for j in range(n):
            out[i, j] = places[j]


def tally_rows(
    first: NDArray[np.int32], order: Integers, k: int, weights: Array, counts: Counts, squares: Counts, rows: Array
) -> None:
    """Add the counts of `quality._ranks.tally` for ranks `first` (b, n) and an `order` (b, n) to `counts`, and write `rows` (b, 4)."""
    _tally_rows(first, order, k, weights, counts, squares, rows)


@compiled
def _tally_rows(first, order, k, weights, counts, squares, rows):  # type: ignore[no-untyped-def]
    n = order.shape[1]
    together = np.zeros(n, np.int64)
    for i in range(order.shape[0]):
        both = intruding = extruding = 0
        score = 0.0
        for r in range(1, n):
            x = first[i, order[i, r]]
            larger = max(x, r)
            score += weights[larger]
            if x > r:
                counts[0, x] += 1
                counts[3, r] += x
            elif x < r:
                counts[1, r] += 1
                counts[4, x] += r
            else:
                counts[2, r] += 1
            if larger <= k:
                both += 1
            elif r <= k:
                intruding += x - k
            elif x <= k:
                extruding += r - k
            if squares.size:
                together[larger] += 1
        rows[i, 0], rows[i, 1], rows[i, 2], rows[i, 3] = both, intruding, extruding, score
        if squares.size:
            both = 0
            for r in range(1, n):
                both += together[r]
                together[r] = 0
                squares[r] += both * both


@inlined
def sort(a):  # type: ignore[no-untyped-def]
    """Sort a list of a few dozen entries in place by Shell's sort, which compiles half a second faster than numpy's sort."""
    gap = 1
    while 3 * gap + 1 < a.size:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, a.size):
            x, p = a[i], i
            while p >= gap and a[p - gap] > x:
                a[p] = a[p - gap]
                p -= gap
            a[p] = x
        gap //= 3
