"""Distances between two sets of points, accurate wherever the data lie."""

from __future__ import annotations

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
