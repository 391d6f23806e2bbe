"""Choosing a few points to stand for all."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from ..errors import InputError
from .metric import point_distances

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
        given = np.asarray(landmarks)
        chosen = given.astype(np.intp)
        if (
            given.dtype.kind not in "iu"
            or chosen.ndim != 1
            or chosen.size == 0
            or chosen.min() < 0
            or chosen.max() >= n
            or np.unique(chosen).size != chosen.size
        ):
            raise InputError(f"landmarks must be distinct row indices in 0..{n - 1}; got {given!r:.80}.")
        return chosen
    m = int(landmarks)
    if not 1 <= m <= n:
        raise InputError(f"landmarks={m} must lie between 1 and n_samples={n}.")
    rng = check_random_state(random_state)
    if how == "random":
        return np.sort(rng.choice(n, size=m, replace=False))
    if how not in CHOICES:
        raise InputError(f"landmark choice {how!r} must be one of {', '.join(map(repr, CHOICES))}.")
    if how == "kmeans++":
        if precomputed:
            raise InputError('Landmarks by "kmeans++" need coordinates; with precomputed distances use "maxmin".')
        from sklearn.cluster import kmeans_plusplus

        return np.unique(kmeans_plusplus(X, m, random_state=rng)[1])
    walk = [int(rng.randint(n))]
    nearest = np.full(n, np.inf)
    for _ in range(m - 1):
        column = np.asarray(X[:, walk[-1]]) if precomputed else point_distances(X, X[[walk[-1]]])
        nearest = np.minimum(nearest, column.ravel())
        walk.append(int(nearest.argmax()))
    return np.array(list(dict.fromkeys(walk)), dtype=np.intp)
