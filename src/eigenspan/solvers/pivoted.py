"""Incomplete Cholesky factorisation with pivots: a low-rank factor of a kernel matrix that is never formed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Index = NDArray[np.intp]


def pivoted_cholesky(
    column: Callable[[int], Array], diagonal: Array, *, rtol: float = 1e-8, most: int | None = None
) -> tuple[Array, Index]:
    """``K ≈ LL'`` with L of shape (n, r), and the r pivots; ``K − LL'`` is PSD with a trace of at most `rtol` times that of K.

    Each step takes the point that is told least so far. Cost: r columns of K, and O(nr²).

    Parameters
    ----------
    column : callable
        ``j -> K[:, j]`` of a positive semidefinite matrix.
    diagonal : ndarray of shape (n,)
    rtol : float
    most : int, optional
        Columns at most, whatever they leave.
    """
    left, n = diagonal.astype(np.float64), diagonal.size
    total, rounding = float(left.sum()), 1e-14 * float(left.max(initial=0.0))
    L, pivots = np.empty((n, 0)), list[int]()
    while len(pivots) < (n if most is None else min(n, most)):
        j = int(left.argmax())
        if float(left.sum()) <= rtol * total or left[j] <= rounding:
            break
        new = (column(j) - L @ L[j]) / np.sqrt(left[j])
        left = np.maximum(left - new**2, 0.0)
        left[j] = 0.0
        L = np.column_stack([L, new])
        pivots.append(j)
    return L, np.array(pivots, dtype=np.intp)
