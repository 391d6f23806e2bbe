"""Dimension from the distances to the nearest neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._checks import whole_number
from .._diagnostics import stage
from ..errors import InputError
from ..numerics.eigen import dense
from ._data import Data
from .result import Curve, Dimension

Array = NDArray[np.float64]

#: Default neighbours of the likelihood [Levina & Bickel], and of local planes.
_RANGE, _PLANE = (10, 20), 20
#: Share of the largest ratios that is excluded from the fit [Facco et al.].
_TRIMMED = 0.1
#: Neighbours over which ratios are averaged around each point.
_AROUND = 50
#: Variance of a local axis, relative to the first, above which it counts [Fukunaga & Olsen].
_COUNTS = 0.05


def likelihood(data: Data, n_neighbors: Any) -> Dimension:
    """Return Levina and Bickel's maximum likelihood estimate, with inverses averaged over the points [MacKay & Ghahramani]."""
    k1, k2 = _range(n_neighbors, data)
    data.warn_of_ties("distance ratios of 1 increase the estimated dimension")
    most = min(data.n - 1, max(2 * k2, k2 + 5))
    with stage("neighbours"):
        logs = np.log(data.near(most)[0])
    k = np.arange(2, most + 1)
    # mean over j < k of log(T_k / T_j), for every k
    inverses = logs[:, 1:] - np.cumsum(logs, axis=1)[:, :-1] / (k - 1)
    by_k = 1.0 / inverses.mean(axis=0)
    used = (k >= k1) & (k <= k2)
    changes = (inverses[:, used] * by_k[used] ** 2).mean(axis=1)
    local = (k2 - 2) / ((k2 - 1) * np.maximum(inverses[:, k2 - 2], np.finfo(float).tiny)) if k2 > 2 else None
    curve = Curve(k.astype(np.float64), by_k, used, "neighbours k", "dimension")
    facts = {"n_neighbors": (k1, k2), **data.facts}
    return Dimension(
        float(by_k[used].mean()),
        float(np.std(changes, ddof=1) * np.sqrt((1 + data.shared(k2)) / data.n)),
        "mle",
        data.n,
        curve,
        None if local is None else data.spread(local),
        facts,
    )


def two_nearest(data: Data, n_neighbors: Any) -> Dimension:
    """Return the TwoNN estimate [Facco et al.]: the ratio μ of the distances to the second and first neighbour is Pareto(d)."""
    around = _AROUND if n_neighbors is None else whole_number(n_neighbors, "n_neighbors")
    around = min(around, data.n - 1)
    data.warn_of_ties("distance ratios of 1 increase the estimated dimension")
    with stage("neighbours"):
        D, index = data.near(max(2, around))
    ratios = np.log(D[:, 1] / D[:, 0])
    x = np.sort(ratios)[:-1]  # without the last, where F is 1
    y = -np.log1p(-np.arange(1, data.n) / data.n)
    used = np.arange(data.n - 1) < max(2, int((1 - _TRIMMED) * data.n))
    d = float(x[used] @ y[used] / max(float(x[used] @ x[used]), np.finfo(float).tiny))
    curve = Curve(
        x,
        y,
        used,
        "log of the ratio of distances, μ",
        "−log(1 − F(μ))",
        reference=d * x,
        reference_label=f"slope {d:.3g}",
    )
    sums = ratios[index[:, :around]].sum(axis=1) + ratios
    local = around / np.maximum(sums, np.finfo(float).tiny)
    facts = {"trimmed": int(data.n - used.sum()), "n_neighbors": around, **data.facts}
    error = d * np.sqrt((1 + data.shared(1)) / used.sum())
    return Dimension(d, float(error), "twonn", data.n, curve, data.spread(local), facts)


def local_planes(data: Data, n_neighbors: Any) -> Dimension:
    """Count the principal axes of every neighbourhood with more than 5 % of the variance of the first [Fukunaga & Olsen 1971]."""
    X = data.coordinates("local-pca")
    k = min(_PLANE, data.n - 1) if n_neighbors is None else whole_number(n_neighbors, "n_neighbors")
    if not 2 <= k <= data.n - 1:
        raise InputError(f"n_neighbors={k} must lie between 2 and {data.n - 1}, one less than the distinct points.")
    with stage("neighbours"):
        index = data.near(k)[1]
    counts, shares = np.empty(data.n), np.zeros(min(k, X.shape[1]))
    step = max(1, 2**22 // ((k + 1) * X.shape[1]))
    with stage("planes"):
        for i in range(0, data.n, step):
            near = np.column_stack([np.arange(i, min(i + step, data.n)), index[i : i + step]])
            points = X[near.ravel()].toarray() if sp.issparse(X) else X[near.ravel()]
            points = points.reshape(*near.shape, -1)
            variances = dense.local_axes(points - points.mean(axis=1, keepdims=True))[1] ** 2
            variances = variances[:, : shares.size] / variances[:, :1]
            counts[i : i + step] = np.sum(variances > _COUNTS, axis=1)
            shares += variances.sum(axis=0)
    d, number = float(counts.mean()), np.arange(1, shares.size + 1, dtype=np.float64)
    curve = Curve(
        number,
        shares / data.n,
        number <= round(d),
        "local axis",
        "variance, relative to the first axis",
        reference=np.full(number.size, _COUNTS),
        reference_label="counts above this",
    )
    error = float(counts.std(ddof=1) / np.sqrt(data.n))
    return Dimension(d, error, "local-pca", data.n, curve, data.spread(counts), {"n_neighbors": k, **data.facts})


def _range(n_neighbors: Any, data: Data) -> tuple[int, int]:
    """Return the smallest and the largest number of neighbours to average over."""
    most = data.n - 1
    if n_neighbors is None:
        return max(2, min(_RANGE[0], most)), max(2, min(_RANGE[1], most))
    given = n_neighbors if isinstance(n_neighbors, tuple | list) else (n_neighbors, n_neighbors)
    if len(given) != 2:
        raise InputError(f"n_neighbors={n_neighbors!r:.80} must be a number k, or two of them, (k1, k2).")
    k1, k2 = (whole_number(k, "n_neighbors") for k in given)
    if not 2 <= k1 <= k2 <= most:
        raise InputError(
            f"n_neighbors={n_neighbors!r} must lie between 2 and {most}, one less than the {data.n} distinct points, the smaller first."
        )
    return k1, k2
