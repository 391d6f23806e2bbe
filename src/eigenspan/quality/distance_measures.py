"""Preservation of distances: stress, residual variance and the rank correlation of geodesics."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._checks import check_parameter
from ..errors import InputError
from ..numerics.threads import threads
from ._blocks import BlockDistances, Distances, GraphDistances, in_blocks
from ._check import chosen_rows, compared
from ._pairs import PairSums, guessing_rows
from ._pooled import Pooled

Index = NDArray[np.intp]


def stress(
    X: Any,
    Y: Any,
    *,
    kind: Literal["metric", "nonmetric"] = "metric",
    scale: bool = True,
    metric: Any = "euclidean",
    sample: int | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> float:
    """Measure the difference between distances in the data and in the embedding: Kruskal's stress-1.

    .. math:: S = \\min_\\alpha \\sqrt{\\frac{\\sum_{i<j} (\\delta_{ij} - \\alpha d_{ij})^2}{\\sum_{i<j} \\delta_{ij}^2}}, \\qquad
              S_{\\text{nonmetric}} = \\min_f \\sqrt{\\frac{\\sum_{i<j} (f(\\delta_{ij}) - d_{ij})^2}{\\sum_{i<j} d_{ij}^2}}

    δ are the distances in the data, d those in the embedding, and f is any increasing function, found by isotonic regression; pairs with
    equal δ have equal f(δ). With ``scale=False``, α is 1. At the best α, either sum of squares in the denominator gives the same value.

    Cost: O(n²(D + d)) time, blocks of 8 MB in memory. Non-metric stress sorts all n²/2 pairs, with 80 bytes each.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The data.
    Y : array-like of shape (n_samples, n_components)
        Its embedding.
    kind : {"metric", "nonmetric"}, default="metric"
        Compare the distances themselves, or only their order.
    scale : bool, default=True
        Use the best scale α. Non-metric stress does not depend on the scale.
    metric : str or callable, default="euclidean"
        Distance between rows of X, or ``"precomputed"``.
    sample : int or None, default=None
        Use the pairs of this number of random rows with all points. None means all pairs.
    random_state : int, RandomState or None, default=0
        Seed for the sample.
    n_jobs : int or None, default=None
        Threads; None means all.

    Returns
    -------
    float
        0 if all distances are preserved; at most 1, or unbounded with ``scale=False``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from eigenspan import PCA
    >>> from eigenspan.quality import stress
    >>> X, _ = load_iris(return_X_y=True)
    >>> Y = PCA(2).fit_transform(X)
    >>> stress(X, Y) < 0.05, stress(X, 3 * X) < 1e-12
    (True, True)

    References
    ----------
    Kruskal (1964).
    """
    check_parameter("kind", kind, Literal["metric", "nonmetric"], InputError)
    X, Y = compared(X, Y)
    rows = chosen_rows(X.shape[0], sample, random_state)
    with threads(n_jobs):
        first, second = BlockDistances.of(X, metric), BlockDistances.of(Y, name="Y")
        if kind == "nonmetric":
            pooled = Pooled.of(first, rows)
            refuse_coincident(pooled.x)
            return pooled.nonmetric_stress(pooled.distances(second))[0]
        sums = compare_pairs(first, second, rows)
    total = sums.rows.sum(axis=0)
    return float(sums.stress(total) if scale else sums.raw_stress(total))


def residual_variance(
    X: Any,
    Y: Any,
    *,
    distances: Literal["geodesic", "direct"] = "geodesic",
    n_neighbors: int | None = None,
    metric: Any = "euclidean",
    sample: int | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> float:
    """Return one minus the squared correlation of distances in the data and in the embedding.

    .. math:: 1 - r^2(\\delta, d)

    δ are the lengths of shortest paths in the neighbour graph of the data, as in Isomap, or its direct distances. Plotted against the
    number of components, it shows from which number on further axes do not improve the embedding.

    Cost: O(n² log n) time for geodesics, O(n²(D + d)) for direct distances; blocks of 8 MB in memory.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The data.
    Y : array-like of shape (n_samples, n_components)
        Its embedding.
    distances : {"geodesic", "direct"}, default="geodesic"
        Kind of distances in the data.
    n_neighbors : int or None, default=None
        Neighbours per row in the graph; None means ten. The components of a disconnected graph are connected with a warning, as in Isomap.
    metric : str or callable, default="euclidean"
        Distance between rows of X, or ``"precomputed"``.
    sample : int or None, default=None
        Use the pairs of this number of random rows with all points. None means all pairs.
    random_state : int, RandomState or None, default=0
        Seed for the sample.
    n_jobs : int or None, default=None
        Threads; None means all.

    Returns
    -------
    float
        Between 0 and 1. It is 1 if all distances in the embedding are equal.

    Examples
    --------
    >>> from sklearn.datasets import make_swiss_roll
    >>> from eigenspan import Isomap
    >>> from eigenspan.quality import residual_variance
    >>> X, _ = make_swiss_roll(1000, random_state=0)
    >>> residual_variance(X, Isomap(2, n_neighbors=8).fit_transform(X), n_neighbors=8) < 0.01
    True

    References
    ----------
    Tenenbaum, de Silva & Langford (2000).
    """
    check_parameter("distances", distances, Literal["geodesic", "direct"], InputError)
    X, Y = compared(X, Y)
    rows = chosen_rows(X.shape[0], sample, random_state)
    with threads(n_jobs):
        first: Distances = (
            BlockDistances.of(X, metric) if distances == "direct" else GraphDistances.of(X, metric, n_neighbors)
        )
        sums = compare_pairs(first, BlockDistances.of(Y, name="Y"), rows)
    return float(sums.unexplained(sums.rows.sum(axis=0)))


def geodesic_correlation(
    X: Any,
    Y: Any,
    *,
    n_neighbors: int | None = None,
    metric: Any = "euclidean",
    sample: int | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> float:
    """Return Spearman's rank correlation of geodesic distances in the data with distances in the embedding.

    Geodesic distances are the lengths of shortest paths in the neighbour graph. A value of 1 means that both distances order the pairs in
    the same way; the scale has no effect.

    Cost: O(n² log n) time; all n²/2 pairs are sorted, with 80 bytes each.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The data.
    Y : array-like of shape (n_samples, n_components)
        Its embedding.
    n_neighbors : int or None, default=None
        Neighbours per row in the graph; None means ten. The components of a disconnected graph are connected with a warning, as in Isomap.
    metric : str or callable, default="euclidean"
        Distance between rows of X, or ``"precomputed"``.
    sample : int or None, default=None
        Use the pairs of this number of random rows with all points. None means all pairs.
    random_state : int, RandomState or None, default=0
        Seed for the sample.
    n_jobs : int or None, default=None
        Threads; None means all.

    Returns
    -------
    float
        Between −1 and 1. It is 0 if all distances in the embedding are equal.

    Examples
    --------
    >>> from sklearn.datasets import make_swiss_roll
    >>> from eigenspan import PCA, Isomap
    >>> from eigenspan.quality import geodesic_correlation
    >>> X, _ = make_swiss_roll(1000, random_state=0)
    >>> isomap, pca = Isomap(2, n_neighbors=8).fit_transform(X), PCA(2).fit_transform(X)
    >>> geodesic_correlation(X, isomap, n_neighbors=8) > 0.99 > 0.5 > geodesic_correlation(X, pca, n_neighbors=8)
    True
    """
    X, Y = compared(X, Y)
    rows = chosen_rows(X.shape[0], sample, random_state)
    with threads(n_jobs):
        pooled = Pooled.of(GraphDistances.of(X, metric, n_neighbors), rows)
        return pooled.rank_correlation(pooled.distances(BlockDistances.of(Y, name="Y")))[0]


def compare_pairs(X: Distances, Y: BlockDistances, rows: Index) -> PairSums:
    """Return the sums over the pairs of these rows with all points, in one pass."""
    some = guessing_rows(rows, X.n)
    x = X(some)
    refuse_coincident(x)
    sums = PairSums(x, Y(some), rows.size)

    def work(where: slice) -> None:
        sums.add(where, X(rows[where]), Y(rows[where]), rows[where])

    in_blocks(work, rows.size, X.n, X.n_jobs)
    return sums


def refuse_coincident(x: Any) -> None:
    """Raise InputError if all distances are zero."""
    if not np.any(x):
        raise InputError("All points of X coincide: there are no distances to compare.")
