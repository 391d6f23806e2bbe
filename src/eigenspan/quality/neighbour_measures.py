"""Preservation of neighbours: trustworthiness and continuity."""

from __future__ import annotations

from typing import Any

from ._blocks import BlockDistances
from ._check import check_neighbours, chosen_rows, compared
from .coranks import count_ranks, worst


def trustworthiness(
    X: Any, Y: Any, n_neighbors: int = 5, *, metric: Any = "euclidean", sample: int | None = None, random_state: Any = 0
) -> float:
    """Measure how many neighbours in the embedding are also neighbours in the data.

    .. math:: T = 1 - \\frac{2}{nk(2n - 3k - 1)} \\sum_i \\sum_{j \\in N_k^Y(i)} \\max(0, r_X(i, j) - k)

    N_k^Y(i) are the k nearest points to i in the embedding and r_X(i, j) is the rank of j by distance from i in the data. A false
    neighbour counts by its rank in the data; 1 means that all neighbours are true.

    Points at equal distances are ranked by their row numbers.

    Cost: O(n²(D + d)) time, blocks of 8 MB in memory; `coranking` computes the values for all k at the same cost.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The data.
    Y : array-like of shape (n_samples, n_components)
        Its embedding.
    n_neighbors : int, default=5
        k, less than n/2.
    metric : str or callable, default="euclidean"
        Distance between rows of X: any metric of scikit-learn's ``pairwise_distances``, or ``"precomputed"`` when X holds them.
    sample : int or None, default=None
        Average over this number of random points i instead of all; their neighbours are searched among all points. `evaluate` and
        `coranking` also return the standard error of the sample.
    random_state : int, RandomState or None, default=0
        Seed for the sample.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from eigenspan import PCA
    >>> from eigenspan.quality import trustworthiness
    >>> X, _ = load_iris(return_X_y=True)
    >>> round(trustworthiness(X, PCA(2).fit_transform(X)), 2)
    0.98

    References
    ----------
    Venna & Kaski (2001).
    """
    return _preserved(1, X, Y, n_neighbors, metric, sample, random_state)


def continuity(
    X: Any, Y: Any, n_neighbors: int = 5, *, metric: Any = "euclidean", sample: int | None = None, random_state: Any = 0
) -> float:
    """Measure how many neighbours in the data are also neighbours in the embedding.

    It is trustworthiness with the roles of X and Y exchanged. It falls if neighbours are separated; trustworthiness falls if distant
    points are placed near each other.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The data.
    Y : array-like of shape (n_samples, n_components)
        Its embedding.
    n_neighbors : int, default=5
        k, less than n/2.
    metric : str or callable, default="euclidean"
        Distance between rows of X, or ``"precomputed"``.
    sample : int or None, default=None
        Average over this number of random points instead of all.
    random_state : int, RandomState or None, default=0
        Seed for the sample.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenspan.quality import continuity
    >>> X = np.arange(20.0)[:, None]
    >>> continuity(X, 3 * X + 1)
    1.0
    """
    return _preserved(2, X, Y, n_neighbors, metric, sample, random_state)


def _preserved(loss: int, X: Any, Y: Any, n_neighbors: Any, metric: Any, sample: Any, random_state: Any) -> float:
    """Return one minus the mean of column `loss` of `RankTally.rows`, relative to its largest possible value."""
    X, Y = compared(X, Y)
    n = X.shape[0]
    k = check_neighbours(n_neighbors, (n - 1) // 2, f"less than half of the {n} points")
    rows = chosen_rows(n, sample, random_state)
    tally = count_ranks(BlockDistances.of(X, metric), BlockDistances.of(Y, name="Y"), rows, k, top=1)
    return 1.0 - float(tally.rows[:, loss].mean() / worst(n, k))
