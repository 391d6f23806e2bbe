"""Incomplete Cholesky factorisation with pivoting: a low-rank factor of a kernel matrix that is never formed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..._types import Array, Integers

#: Remaining diagonal entries up to this share of the largest entry of the diagonal are rounding.
_ROUNDING = 1e-12
#: Positive values with a smaller relative difference count as equal: it exceeds the rounding of distances and kernels.
EQUAL = 1e-9


def first_largest(values: Array) -> int:
    """Return the index of the largest value; of values equal up to rounding, the first."""
    return int(np.argmax(values >= (1 - EQUAL) * values.max()))


def pivoted_cholesky(
    column: Callable[[int], Array], diagonal: Array, *, rtol: float = 1e-8, most: int | None = None
) -> tuple[Array, Integers]:
    """Return L of shape (n, r) with ``K ≈ LL'``, and the r pivots; ``K − LL'`` is PSD with a trace of at most `rtol` times that of K.

    Each step chooses the point with the largest remaining diagonal entry. Cost: r columns of K, and O(nr²).
    Parameters
    ----------
    column : callable
        ``j -> K[:, j]`` of a positive semidefinite matrix.
    diagonal : ndarray of shape (n,)
    rtol : float
    most : int, optional
        Maximum number of columns, whatever the remaining trace.
    """
    left, n = diagonal.astype(np.float64), diagonal.size
    total, rounding = float(left.sum()), _ROUNDING * float(left.max(initial=0.0))
    limit, pivots = n if most is None else min(n, most), list[int]()
    rows = np.empty((min(limit, 32), n))  # rows of L', in the order of the pivots
    while len(pivots) < limit:
        k, j = len(pivots), first_largest(left)
        if float(left.sum()) <= rtol * total or left[j] <= rounding:
            break
        if k == len(rows):
            rows = np.vstack([rows, np.empty((min(k, limit - k), n))])
        rows[k] = (column(j) - rows[:k, j] @ rows[:k]) / np.sqrt(left[j])
        pivots.append(j)
        left = np.maximum(left - rows[k] ** 2, 0.0)
        left[pivots] = 0.0
    return rows[: len(pivots)].T, np.array(pivots, dtype=np.intp)
