"""Distances between two sets of points, accurate wherever the data lie."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.metrics import pairwise_distances


@dataclass(frozen=True)
class Metric:
    """A metric of scikit-learn with parameters of its own, such as the exponent p of ``"minkowski"``."""

    name: Any
    parameters: dict[str, Any]


def as_metric(name: Any, parameters: dict[str, Any] | None) -> Any:
    """The name alone where there are no parameters, or where they make it one that is known by a name of its own."""
    if not parameters:
        return name
    if name == "minkowski" and set(parameters) == {"p"} and parameters["p"] in (1, 2, np.inf):
        return {1: "manhattan", 2: "euclidean", np.inf: "chebyshev"}[parameters["p"]]
    return Metric(name, dict(parameters))


def settings(metric: Any) -> dict[str, Any]:
    """The metric as arguments of scikit-learn's searches."""
    if not isinstance(metric, Metric):
        return {"metric": metric}
    others = {key: value for key, value in metric.parameters.items() if key != "p"}
    exponent = {"p": metric.parameters["p"]} if "p" in metric.parameters else {}
    return {"metric": metric.name, "metric_params": others or None, **exponent}


def point_distances(X: Any, Z: Any = None, metric: Any = "euclidean") -> NDArray[np.float64]:
    """The matrix of distances from the rows of X to those of Z (default: X), by any metric of scikit-learn.

    Euclidean distances are computed about the mean of the points: far from the origin their expansion into products would
    lose its digits.
    """
    if isinstance(metric, str) and metric == "euclidean" and not sp.issparse(X):
        origin = (X if Z is None else Z).mean(axis=0)
        X, Z = X - origin, None if Z is None else Z - origin
    if isinstance(metric, Metric):
        return pairwise_distances(X, Z, metric=metric.name, **metric.parameters)
    return pairwise_distances(X, Z, metric=metric)


def paired_distances(X: Any, Z: Any, columns: NDArray[np.intp]) -> NDArray[np.float64]:
    """Euclidean distances from every row of a sparse X to its rows `columns` (m, k) of Z, by differences: zero where rows coincide."""
    m, k = columns.shape
    out, step = np.empty((m, k)), max(1, 2**16 // k)
    for i in range(0, m, step):
        near = columns[i : i + step]
        difference = X[np.repeat(np.arange(i, i + len(near)), k)] - Z[near.ravel()]
        out[i : i + step] = np.sqrt(np.asarray(difference.multiply(difference).sum(axis=1))).reshape(near.shape)
    return out


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
