"""Distances between two sets of points, accurate wherever the data lie."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.metrics import pairwise_distances


def point_distances(X: Any, Z: Any = None, metric: Any = "euclidean") -> NDArray[np.float64]:
    """The matrix of distances from the rows of X to those of Z (default: X), by any metric of scikit-learn.

    Euclidean distances are computed about the mean of the points: far from the origin their expansion into products would
    lose its digits.
    """
    if isinstance(metric, str) and metric == "euclidean" and not sp.issparse(X):
        origin = (X if Z is None else Z).mean(axis=0)
        X, Z = X - origin, None if Z is None else Z - origin
    return pairwise_distances(X, Z, metric=metric)


def tiles(n: int, step: int = 512) -> Iterator[tuple[slice, slice]]:
    """Pairs of row and column ranges that cover the upper triangle of an n×n matrix, the diagonal included."""
    for i in range(0, n, step):
        for j in range(i, n, step):
            yield slice(i, min(i + step, n)), slice(j, min(j + step, n))


def asymmetry(M: NDArray[np.float64]) -> tuple[float, float]:
    """The largest ``|M_ij|``, j ≥ i, and ``|M_ij − M_ji|``, a tile at a time: the difference of two n×n arrays would be a third."""
    size = skew = 0.0
    for i, j in tiles(M.shape[0]):
        upper = M[i, j]
        difference = upper - M[j, i].T
        size = max(size, float(upper.max()), -float(upper.min()))
        skew = max(skew, float(difference.max()), -float(difference.min()))
    return size, skew
