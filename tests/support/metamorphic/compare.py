"""Comparison of two embeddings by the distances among their points, and sensitivity of an embedding to the last digits of the data.

Distances do not depend on the signs of axes, on rotations among axes of equal eigenvalues, or on shifts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.distance import pdist

#: Differences below this share of the extent are rounding errors in a well-conditioned problem.
FINE = 1e-6
#: Differences above this share of the extent are visible; if rounding causes them, there must be a warning.
VISIBLE = 1e-3
#: Allowed ratio of the effect of rounding inside a fit to that of rounding the data.
AMPLIFICATION = 1e3
#: Rounding of a matrix, relative to its norm.
ROUNDING = 1e-13


def difference(Y: Any, Z: Any, *, up_to_scale: bool = False) -> float:
    """Return the largest difference of distances among corresponding points, as a share of the largest distance."""
    Y, Z = (np.asarray(A, dtype=np.float64) for A in (Y, Z))
    if Y.shape != Z.shape:
        return np.inf
    if not np.all(np.isfinite(Y)) or not np.all(np.isfinite(Z)):
        return np.inf
    size_y, size_z = (np.abs(A - A[:1]).max(initial=0.0) for A in (Y, Z))
    if size_y == 0 or size_z == 0:
        return 0.0 if size_y == size_z else np.inf
    if not up_to_scale:
        size_z = size_y
    a, b = pdist((Y - Y[:1]) / size_y), pdist((Z - Z[:1]) / size_z)
    if a.size == 0:
        return 0.0
    if up_to_scale:
        a, b = a / np.sqrt(np.mean(a**2)), b / np.sqrt(np.mean(b**2))
    return float(np.abs(a - b).max() / max(a.max(), b.max()))


def entrywise(Y: Any, Z: Any) -> float:
    """Return the largest difference of two entries, as a share of the extent of Y."""
    Y, Z = (np.asarray(A, dtype=np.float64) for A in (Y, Z))
    if Y.shape != Z.shape:
        return np.inf
    if np.array_equal(Y, Z, equal_nan=True):
        return 0.0
    if not np.all(np.isfinite(Y)) or not np.all(np.isfinite(Z)):
        return np.inf
    size = max(np.abs(Y).max(initial=0.0), np.abs(Z).max(initial=0.0))
    with np.errstate(over="ignore"):
        return float((np.abs(Y / size - Z / size)).max())


def same_bits(Y: Any, Z: Any) -> bool:
    Y, Z = np.asarray(Y), np.asarray(Z)
    return Y.dtype == Z.dtype and np.array_equal(Y, Z, equal_nan=Y.dtype.kind == "f")


def jittered(X: Any, seed: int, *, by_column: bool = False) -> Any:
    """Return the points, each moved by at most two units in the last place of the largest entry (of all, or of its column)."""
    size = np.nanmax(np.abs(X), axis=0 if by_column else None, initial=0.0)
    moved = X + 2 * np.finfo(float).eps * size * np.random.default_rng(seed).uniform(-1, 1, X.shape)
    return np.where(X == 0, 0.0, moved)  # keep integers and sparsity
