"""Ranks of a few among many, and the order of a few."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import in_pieces
from .jit import compiled, spliced

Array = NDArray[np.float64]


def excess_ranks(D: Array, chosen: NDArray[Any], own: NDArray[Any]) -> NDArray[np.int64]:
    """``Σ_c max(0, rank_ic − k)`` for the k chosen columns of every row i of D, its own column left out.

    A rank is one more than the number of smaller entries in the row. They are counted, not sorted, and D is not changed.
    """
    out = np.empty(D.shape[0], np.int64)
    step = 1 + int(1e7 / D.shape[1])
    in_pieces(_excess_ranks, D.shape[0], step, D, chosen, own, out)
    return out


@compiled
def _excess_ranks(first, last, D, chosen, own, out):  # type: ignore[no-untyped-def]
    k = chosen.shape[1]
    for i in range(first, last):
        row = D[i]
        total = 0
        for c in range(k):
            x = row[chosen[i, c]]
            smaller = 0
            for j in range(row.size):
                smaller += row[j] < x
            smaller -= row[own[i]] < x
            total += max(0, smaller + 1 - k)
        out[i] = total


@spliced
def sort(a):  # type: ignore[no-untyped-def]
    """Shell's sort, for lists of a few dozen: half a second less to compile than numpy's."""
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
