"""Distances between two sets of points, accurate also far from the origin."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import pairwise_distances

from ..._checks import MAX_SIZE, MIN_SIZE
from ..._parameters import accepts
from ..._types import Array, Index, Matrix, MetricLike
from ...errors import EigenspanError, GraphError
from ..threads import one_blas_thread
from .angles import cosine_distances
from .squares import pair_squares, squared_distances

#: Largest negative distance that counts as a rounding error of zero, such as one minus a cosine.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Metric:
    """A scikit-learn metric with parameters, such as the exponent p of ``"minkowski"``."""

    name: str | Callable[..., float]
    parameters: dict[str, Any]


@dataclass(frozen=True)
class UserMetric:
    """A metric function of two rows with validated values: searches have undefined results for NaN and negative distances."""

    function: Callable[..., float]

    def __call__(self, x: Array, z: Array, **parameters: object) -> float:
        try:
            found = self.function(x, z, **parameters)
        except Exception as failure:
            raise GraphError(self._advice(f"raised {type(failure).__name__} ({failure})")) from failure
        # fast path for the usual case: searches make many calls
        if isinstance(found, float) and 0.0 <= found < math.inf:
            return found
        value = found.item() if getattr(found, "size", 0) == 1 and hasattr(found, "item") else found
        if isinstance(value, (int, float, np.floating)) and -_ROUNDING <= value < math.inf:
            return max(float(value), 0.0)
        raise GraphError(self._advice(f"returned {found!r:.80}"))

    def _advice(self, did: str) -> str:
        name = getattr(self.function, "__name__", repr(self.function))
        return (
            f"The metric {name} {did} for two rows. A metric must take two rows and return one finite, nonnegative number that is "
            "larger for rows that differ more."
        )

    def __repr__(self) -> str:
        return repr(self.function)


#: Parameter names of the metrics that take parameters.
_PARAMETERS = {
    "minkowski": {"p", "w"},
    "seuclidean": {"V"},
    "mahalanobis": {"V", "VI"},
    "nan_euclidean": {"missing_values"},
}


def _takes(metric: MetricLike, parameters: dict[str, Any]) -> bool:
    if isinstance(metric, str):
        return set(parameters) <= _PARAMETERS.get(metric, set())
    return accepts(metric.function if isinstance(metric, UserMetric) else metric, None, None, **parameters)


def as_metric(name: MetricLike, parameters: dict[str, Any] | None = None) -> MetricLike:
    """Return the name alone if there are no parameters or if they make it a metric with its own name; otherwise a `Metric`."""
    if callable(name) and not isinstance(name, UserMetric):
        name = UserMetric(name)
    if not parameters:
        return "euclidean" if isinstance(name, str) and name == "minkowski" else name  # its exponent is 2 by default
    if not _takes(name, parameters):
        raise GraphError(
            f"metric={name!r:.80} does not accept metric_params={parameters!r:.80}. Only these metrics have parameters: "
            f"{', '.join(map(repr, _PARAMETERS))}, and functions that take such arguments."
        )
    if name == "minkowski" and set(parameters) == {"p"} and parameters["p"] in (1, 2, np.inf):
        return {1: "manhattan", 2: "euclidean", np.inf: "chebyshev"}[parameters["p"]]
    assert isinstance(name, str | UserMetric)  # a `Metric` takes no further parameters
    return Metric(name, dict(parameters))


def is_euclidean(metric: MetricLike) -> bool:
    """Return True if distances are Euclidean, without parameters."""
    return isinstance(metric, str) and metric in ("euclidean", "l2")


def search_arguments(metric: MetricLike) -> dict[str, Any]:
    """Return the metric as arguments of scikit-learn's NearestNeighbors."""
    if not isinstance(metric, Metric):
        return {"metric": metric}
    others = {key: value for key, value in metric.parameters.items() if key != "p"}
    exponent = {"p": metric.parameters["p"]} if "p" in metric.parameters else {}
    return {"metric": metric.name, "metric_params": others or None, **exponent}


def point_distances(X: Matrix, Z: Matrix | None = None, metric: MetricLike = "euclidean") -> Array:
    """Return the matrix of distances from the rows of X to those of Z (default: X), for any metric of scikit-learn.

    Euclidean and cosine distances are accurate to nine digits, also far from the origin.
    """
    metric = as_metric(metric)
    name, parameters = (metric.name, metric.parameters) if isinstance(metric, Metric) else (metric, {})
    if is_euclidean(metric):
        with np.errstate(over="ignore", invalid="ignore"):
            D = squared_distances(X, Z, then=np.sqrt)
    elif name == "cosine" and not parameters:
        D = cosine_distances(X, Z)
    else:
        with explaining(name):
            D = pairwise_distances(X, Z, metric=name, **parameters)
    if not np.isfinite(D.sum()):  # distances do not cancel, so a finite sum means that all are finite
        refuse_undefined(D, metric)
    return D


@contextmanager
def explaining(metric: MetricLike) -> Iterator[None]:
    """Add advice to the errors of scikit-learn and scipy for a metric that is unknown or not defined for these points."""
    try:
        yield
    except EigenspanError:
        raise
    except (TypeError, ValueError) as refusal:
        raise GraphError(
            f"metric={metric!r} cannot be used here ({refusal}). If the metric has parameters, pass them as metric_params=, or pass a "
            "function of two rows instead."
        ) from None


def refuse_undefined(D: Array, metric: MetricLike) -> None:
    """Raise GraphError if the metric has no finite value for some pairs of rows."""
    name, undefined = metric.name if isinstance(metric, Metric) else metric, int(np.sum(~np.isfinite(D)))
    if not undefined:
        return
    raise GraphError(
        f"{undefined} of {D.size} distances are NaN or infinite: metric={name!r} has no finite value for these rows. Angles and "
        "correlations are undefined for constant or zero rows, and squares of values beyond 1e150 overflow. Drop or rescale such rows."
    )


def check_largest(d: float, what: str) -> None:
    """Raise GraphError if the squares of distances overflow or vanish; d is the largest distance."""
    if 0 < d < MIN_SIZE or d > MAX_SIZE:
        tiny = d < MIN_SIZE
        size = "small that their squares vanish" if tiny else "large that their squares overflow"
        do = "Multiply" if tiny else "Divide"
        raise GraphError(f"{what} are so {size}: the largest is {d:.3g}. {do} them by a constant first.")


def paired_distances(X: Matrix, Z: Matrix, columns: Index) -> Array:
    """Return Euclidean distances from each row of a sparse X to its rows `columns` (m, k) of Z, by differences: zero for equal rows."""
    rows = np.repeat(np.arange(len(columns)), columns.shape[1])
    return np.sqrt(pair_squares(X, rows, Z, columns.ravel())).reshape(columns.shape)


def tiles(n: int, step: int = 512) -> Iterator[tuple[slice, slice]]:
    """Yield pairs of row and column ranges that cover the upper triangle of an n×n matrix, including the diagonal."""
    for i in range(0, n, step):
        for j in range(i, n, step):
            yield slice(i, min(i + step, n)), slice(j, min(j + step, n))


def drawn_rows(n: int, sample: int = 1000) -> Index:
    """Return at most `sample` of n row indices, random but always the same (a regular step could match a periodic order of the rows)."""
    return np.sort(np.random.default_rng(0).choice(n, min(n, sample), replace=False)).astype(np.intp)


def median_width(X: Matrix, sample: int = 1000, precomputed: bool = False, metric: MetricLike = "euclidean") -> float:
    """Return half the median distance among at most 1000 points (a fixed random sample of more) [S0, §§8.6, 9.2]."""
    rows = drawn_rows(X.shape[0], sample)
    # so few products do not need a second thread, which would keep waiting actively and slow down the next step
    with one_blas_thread():
        D = np.asarray(X[rows][:, rows]) if precomputed else point_distances(X[rows], metric=metric)
    pairs = np.concatenate([row[i + 1 :] for i, row in enumerate(D)])
    width = float(np.median(pairs)) / 2 if pairs.size else 0.0
    if width <= 0:
        positive = pairs[pairs > 0]
        if positive.size == 0:
            raise GraphError(
                f"All {rows.size} sampled points coincide, so no kernel width can be derived from distances. Check X, or set the width."
            )
        width = float(np.median(positive)) / 2
    return width
