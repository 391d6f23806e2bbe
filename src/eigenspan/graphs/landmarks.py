"""Choosing a few points to stand for all."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import pairwise_distances
from sklearn.utils import check_random_state

from ..errors import InputError

Index = NDArray[np.intp]
CHOICES = ("random", "maxmin", "kmeans++")


def choose_landmarks(
    X: Any, landmarks: Any, *, how: str = "random", random_state: Any = 0, precomputed: bool = False
) -> Index:
    """Indices of landmark points.

    Parameters
    ----------
    landmarks : int or array of int
        How many, or which.
    how : {"random", "maxmin", "kmeans++"}
        Uniformly; each farthest from those before it; or k-means++ seeding. The last two spread better over sparse regions.
    """
    n = X.shape[0]
    if not isinstance(landmarks, Integral):
        chosen = np.asarray(landmarks, dtype=np.intp)
        if (
            chosen.ndim != 1
            or chosen.size == 0
            or chosen.min() < 0
            or chosen.max() >= n
            or np.unique(chosen).size != chosen.size
        ):
            raise InputError(f"landmarks must be distinct row indices in 0..{n - 1}.")
        return chosen
    m = int(landmarks)
    if not 1 <= m <= n:
        raise InputError(f"landmarks={m} must lie between 1 and n_samples={n}.")
    rng = check_random_state(random_state)
    if how == "random":
        return np.sort(rng.choice(n, size=m, replace=False))
    if how == "kmeans++" and not precomputed:
        from sklearn.cluster import kmeans_plusplus

        return np.unique(kmeans_plusplus(np.asarray(X, dtype=np.float64), m, random_state=rng)[1])
    if how not in CHOICES:
        raise InputError(f"landmark choice {how!r} must be one of {', '.join(map(repr, CHOICES))}.")
    walk = [int(rng.randint(n))]
    nearest = np.full(n, np.inf)
    for _ in range(m - 1):
        column = np.asarray(X[:, walk[-1]]) if precomputed else pairwise_distances(X, X[[walk[-1]]])
        nearest = np.minimum(nearest, column.ravel())
        walk.append(int(nearest.argmax()))
    return np.array(list(dict.fromkeys(walk)), dtype=np.intp)
