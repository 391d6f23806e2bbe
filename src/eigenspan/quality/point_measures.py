"""Measures of the distortion around each point of an embedding."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._checks import check_parameter
from ..errors import InputError
from ..numerics.threads import threads
from ._blocks import BlockDistances
from ._check import check_neighbours, chosen_rows, compared
from .coranks import count_ranks, worst
from .distance_measures import compare_pairs

Array = NDArray[np.float64]
Kind = Literal["intrusion", "extrusion", "stress"]


def distortion(
    X: Any,
    Y: Any,
    *,
    kind: Kind = "intrusion",
    n_neighbors: int = 10,
    metric: Any = "euclidean",
    n_jobs: int | None = None,
) -> Array:
    """Measure the distortion of the embedding around each point.

    .. math:: e_i = \\frac{2}{k(2n - 3k - 1)} \\sum_{j \\in N_k^Y(i)} \\max(0, \\rho_{ij} - k), \\qquad
              s_i = \\frac{n \\sum_j (\\delta_{ij} - \\alpha d_{ij})^2}{\\sum_{jl} \\delta_{jl}^2}

    ``"intrusion"`` is e_i, the false neighbours of i in the embedding; its mean is one minus the trustworthiness. ``"extrusion"`` has the
    roles exchanged, the neighbours of i in the data that are lost; its mean is one minus the continuity. ``"stress"`` is s_i at the best
    common scale α; its mean is the square of `stress`. Colour the points by the distortion to see the unreliable parts of a plot.

    Cost: O(n²(D + d)) time, blocks of 8 MB in memory.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The data.
    Y : array-like of shape (n_samples, n_components)
        Its embedding.
    kind : {"intrusion", "extrusion", "stress"}, default="intrusion"
        Kind of distortion.
    n_neighbors : int, default=10
        k, less than n/2; not used by ``"stress"``.
    metric : str or callable, default="euclidean"
        Distance between rows of X, or ``"precomputed"``.
    n_jobs : int or None, default=None
        Threads; None means all.

    Returns
    -------
    ndarray of shape (n_samples,)
        0 if there is no distortion. Intrusion and extrusion are at most 1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from eigenspan import PCA
    >>> from eigenspan.quality import distortion, trustworthiness
    >>> X, _ = load_iris(return_X_y=True)
    >>> Y = PCA(1).fit_transform(X)
    >>> wrong = distortion(X, Y, n_neighbors=5)
    >>> wrong.shape, bool(abs(1 - wrong.mean() - trustworthiness(X, Y, 5)) < 1e-12)
    ((150,), True)
    """
    check_parameter("kind", kind, Kind, InputError)
    X, Y = compared(X, Y)
    n = X.shape[0]
    rows = chosen_rows(n, None, None)
    with threads(n_jobs):
        first, second = BlockDistances.of(X, metric), BlockDistances.of(Y, name="Y")
        if kind == "stress":
            return _stresses(first, second)
        k = check_neighbours(n_neighbors, (n - 1) // 2, f"less than half of the {n} points")
        tally = count_ranks(first, second, rows, k, top=1)
    return np.asarray(tally.rows[:, 1 if kind == "intrusion" else 2] / worst(n, k))


def _stresses(X: BlockDistances, Y: BlockDistances) -> Array:
    sums = compare_pairs(X, Y, np.arange(X.n))
    xx, yy, ey, ee = sums.rows[:, :4].T
    more = ey.sum() / yy.sum() if yy.any() else 0.0  # the best scale minus its estimate
    return np.maximum(ee - 2 * more * ey + more**2 * yy, 0.0) * (X.n / xx.sum())
