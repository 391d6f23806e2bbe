"""Are neighbours kept? Trustworthiness and continuity, exact, one block of rows at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.metrics import pairwise_distances

from ..errors import InputError
from ..graphs.search.engines import choose
from ..graphs.search.metric import as_metric, explaining
from ..input.read import is_precomputed
from ._check import as_points, check_neighbours

#: Size of one block of distances, blocks of rows against all points.
_BLOCK_BYTES = 32 * 2**20
#: Up to this many points sorting is done before the compiled loop is loaded.
_SMALL = 5_000


def trustworthiness(X: Any, Y: Any, n_neighbors: int = 5, *, metric: Any = "euclidean") -> float:
    """Share of neighbours in the embedding that were near in the data.

    .. math:: T = 1 - \\frac{2}{nk(2n - 3k - 1)} \\sum_i \\sum_{j \\in N_k^Y(i)} \\max(0, r_X(i, j) - k)

    where N_k^Y(i) are the k nearest points to i in the embedding and r_X(i, j) is the rank of j by distance from i in the data. An
    intruder counts by how far down the ranking it came from: 1 means that there is none.

    Cost: O(n²D) time, O(bn) memory for blocks of b rows of at most 32 MB; no n×n array is kept.

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
    return _kept(X, Y, n_neighbors, metric, "euclidean")


def continuity(X: Any, Y: Any, n_neighbors: int = 5, *, metric: Any = "euclidean") -> float:
    """Share of neighbours in the data that stayed near in the embedding.

    Trustworthiness with the roles exchanged: it falls when neighbourhoods are torn apart, where trustworthiness falls when strangers
    are put together.

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
    return _kept(Y, X, n_neighbors, "euclidean", metric, first="Y", second="X")


def _kept(
    ranked: Any, near: Any, n_neighbors: int, rank_metric: Any, near_metric: Any, first: str = "X", second: str = "Y"
) -> float:
    """One minus the scaled excess ranks, by distance in `ranked`, of the nearest neighbours in `near`."""
    ranked, near = as_points(ranked, first), as_points(near, second)
    n = ranked.shape[0]
    if near.shape[0] != n:
        raise InputError(f"{first} has {n} rows and {second} has {near.shape[0]}: they must be the same points.")
    if n < 3:
        raise InputError(f"Ranks of neighbours need at least 3 points; got {n}.")
    if is_precomputed(rank_metric) and ranked.shape[1] != n:
        raise InputError(
            f'metric="precomputed" says that {first} holds the distances between {n} points, but it has shape {ranked.shape}.'
        )
    k = check_neighbours(n_neighbors, (n - 1) // 2, f"less than half of the {n} points")
    ranked = _centred(ranked) if rank_metric == "euclidean" else ranked
    neighbours = choose(near, as_metric(near_metric), "sklearn", None).near(None, k)[1]
    excess, step = 0.0, max(1, _BLOCK_BYTES // (8 * n))
    for start in range(0, n, step):
        rows = slice(start, min(start + step, n))
        excess += _excess(_distances(ranked, rows, rank_metric), neighbours[rows], start, k)
    return 1.0 - excess * 2.0 / (n * k * (2.0 * n - 3.0 * k - 1.0))


def _centred(A: Any) -> Any:
    """Distances come from inner products: take a common offset off first, so that it does not eat their digits."""
    return A if sp.issparse(A) else A - A.mean(axis=0)


def _distances(A: Any, rows: slice, metric: Any) -> NDArray[np.float64]:
    if is_precomputed(metric):
        block = A[rows]
        return np.array(block.toarray() if sp.issparse(block) else block, dtype=np.float64)
    with explaining(metric):
        return np.asarray(pairwise_distances(A[rows], A, metric=as_metric(metric)), dtype=np.float64)


def _excess(D: NDArray[np.float64], neighbours: NDArray[np.intp], start: int, k: int) -> float:
    """Σ max(0, rank − k) over a block of rows; a point's rank is one more than the number of points nearer than it."""
    own = np.arange(D.shape[0])
    if D.shape[1] > _SMALL:
        from ..compiled.ranks import excess_ranks

        return float(excess_ranks(D, neighbours, start + own).sum())
    D[own, start + own] = np.inf
    wanted = np.take_along_axis(D, neighbours, axis=1)
    D.sort(axis=1)
    nearer = np.array([np.searchsorted(row, values) for row, values in zip(D, wanted, strict=True)])
    return float(np.maximum(nearer + 1 - k, 0).sum())
