"""Distances between two sets of points, accurate wherever the data lie."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.metrics import pairwise_distances

from ..._checks import MAX_SIZE, MIN_SIZE
from ..._parameters import accepts
from ...errors import EigenspanError, GraphError
from ..threads import one_blas_thread
from .squares import pair_squares, squared_distances

#: Entries of rows that are shorter than this, or longer than its inverse, are divided by their size before cosines are taken.
_SHORT = 1e-8
#: Rounding may take a distance of zero this far below it, as in one minus a cosine.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Metric:
    """A metric of scikit-learn with parameters of its own, such as the exponent p of ``"minkowski"``."""

    name: Any
    parameters: dict[str, Any]


@dataclass(frozen=True)
class UserMetric:
    """A function of two rows, each of its values checked: what searches make of NaN and of negative numbers is anybody's guess."""

    function: Any

    def __call__(self, x: Any, z: Any, **parameters: Any) -> float:
        try:
            found = self.function(x, z, **parameters)
        except Exception as failure:
            raise GraphError(self._advice(f"raised {type(failure).__name__} ({failure})")) from failure
        if isinstance(found, float) and 0.0 <= found < math.inf:  # nearly always: searches ask for many
            return found
        value = found.item() if getattr(found, "size", 0) == 1 and hasattr(found, "item") else found
        if isinstance(value, (int, float, np.floating)) and -_ROUNDING <= value < math.inf:
            return max(float(value), 0.0)
        raise GraphError(self._advice(f"returned {found!r:.80}"))

    def _advice(self, did: str) -> str:
        name = getattr(self.function, "__name__", repr(self.function))
        return (
            f"The metric {name} {did} for two rows: a metric is a function of two rows that returns one finite number, not negative, the "
            "larger the less they have in common."
        )

    def __repr__(self) -> str:
        return repr(self.function)


#: Parameters of the metrics that have any.
_PARAMETERS = {
    "minkowski": {"p", "w"},
    "seuclidean": {"V"},
    "mahalanobis": {"V", "VI"},
    "nan_euclidean": {"missing_values"},
}


def _takes(metric: Any, parameters: dict[str, Any]) -> bool:
    if isinstance(metric, str):
        return set(parameters) <= _PARAMETERS.get(metric, set())
    return accepts(metric.function if isinstance(metric, UserMetric) else metric, None, None, **parameters)


def as_metric(name: Any, parameters: dict[str, Any] | None = None) -> Any:
    """The name alone where there are no parameters, or where they make it one that is known by a name of its own."""
    if callable(name) and not isinstance(name, UserMetric):
        name = UserMetric(name)
    if not parameters:
        return name
    if not _takes(name, parameters):
        raise GraphError(
            f"metric={name!r:.80} does not take metric_params={parameters!r:.80}: they belong to metrics that have some, which are "
            f"{', '.join(map(repr, _PARAMETERS))} and functions of your own with such arguments."
        )
    if name == "minkowski" and set(parameters) == {"p"} and parameters["p"] in (1, 2, np.inf):
        return {1: "manhattan", 2: "euclidean", np.inf: "chebyshev"}[parameters["p"]]
    return Metric(name, dict(parameters))


def is_euclidean(metric: Any) -> bool:
    """Whether distances are Euclidean, without parameters."""
    return isinstance(metric, str) and metric in ("euclidean", "l2")


def visible_rows(X: Any) -> Any:
    """Rows for cosines, those that are very short or long divided by their largest entry.

    A cosine does not depend on lengths, but scikit-learn takes rows shorter than 2e-15 as zero, and squares of long ones overflow.
    """
    if sp.issparse(X):
        X = sp.csr_array(X)
        size = np.asarray(abs(X).max(axis=1).toarray()).ravel() if X.nnz else np.zeros(X.shape[0])
    else:
        size = np.abs(X).max(axis=1, initial=0.0)
    odd = (size > 0) & ((size < _SHORT) | (size > 1 / _SHORT))
    if not odd.any():
        return X
    unit = np.where(odd, size, 1.0)
    if not sp.issparse(X):
        return X / unit[:, None]
    return sp.csr_array((X.data / np.repeat(unit, np.diff(X.indptr)), X.indices, X.indptr), shape=X.shape)


def search_arguments(metric: Any) -> dict[str, Any]:
    """The metric as arguments of scikit-learn's NearestNeighbors."""
    if not isinstance(metric, Metric):
        return {"metric": metric}
    others = {key: value for key, value in metric.parameters.items() if key != "p"}
    exponent = {"p": metric.parameters["p"]} if "p" in metric.parameters else {}
    return {"metric": metric.name, "metric_params": others or None, **exponent}


def point_distances(X: Any, Z: Any = None, metric: Any = "euclidean") -> NDArray[np.float64]:
    """The matrix of distances from the rows of X to those of Z (default: X), by any metric of scikit-learn.

    Euclidean distances are accurate to nine digits wherever the points lie.
    """
    metric = as_metric(metric)
    name, parameters = (metric.name, metric.parameters) if isinstance(metric, Metric) else (metric, {})
    if is_euclidean(metric):
        with np.errstate(over="ignore", invalid="ignore"):
            D = squared_distances(X, Z, then=lambda part: np.sqrt(part, out=part))
    else:
        if name == "cosine":
            X, Z = visible_rows(X), None if Z is None else visible_rows(Z)
        with explaining(name):
            D = pairwise_distances(X, Z, metric=name, **parameters)
    if not np.isfinite(D.sum()):  # nothing cancels in a sum of distances
        refuse_undefined(D, metric)
    return D


@contextmanager
def explaining(metric: Any) -> Iterator[None]:
    """What scikit-learn and scipy say to a metric that they do not know, or not for these points, with advice."""
    try:
        yield
    except EigenspanError:
        raise
    except (TypeError, ValueError) as refusal:
        raise GraphError(
            f"metric={metric!r} cannot be used here ({refusal}). If it has parameters of its own, give them as metric_params=, or pass a "
            "function of two rows instead."
        ) from None


def refuse_undefined(D: NDArray[np.float64], metric: Any) -> None:
    """Raise where the metric has no finite value for some pairs of rows."""
    name, undefined = metric.name if isinstance(metric, Metric) else metric, int(np.sum(~np.isfinite(D)))
    if not undefined:
        return
    raise GraphError(
        f"{undefined} of {D.size} distances are NaN or infinite: metric={name!r} has no finite value for these rows. Rows that are "
        "constant or zero have no direction, which angles and correlations compare; and the squares of values beyond 1e150 overflow."
    )


def check_largest(d: float, what: str) -> None:
    """Refuse distances, the largest of them d, whose squares overflow or vanish."""
    if 0 < d < MIN_SIZE or d > MAX_SIZE:
        size, do = (
            ("small that their squares vanish", "Multiply")
            if d < MIN_SIZE
            else ("large that their squares overflow", "Divide")
        )
        raise GraphError(f"{what} are so {size}: the largest is {d:.3g}. {do} them by a constant first.")


def paired_distances(X: Any, Z: Any, columns: NDArray[np.intp]) -> NDArray[np.float64]:
    """Euclidean distances from every row of a sparse X to its rows `columns` (m, k) of Z, by differences: zero where rows coincide."""
    rows = np.repeat(np.arange(len(columns)), columns.shape[1])
    return np.sqrt(pair_squares(X, rows, Z, columns.ravel())).reshape(columns.shape)


def tiles(n: int, step: int = 512) -> Iterator[tuple[slice, slice]]:
    """Pairs of row and column ranges that cover the upper triangle of an n×n matrix, the diagonal included."""
    for i in range(0, n, step):
        for j in range(i, n, step):
            yield slice(i, min(i + step, n)), slice(j, min(j + step, n))


def drawn_rows(n: int, sample: int = 1000) -> NDArray[np.intp]:
    """At most so many of n rows, always the same: at random, for rows in turn from several sources would meet a regular step."""
    return np.sort(np.random.default_rng(0).choice(n, min(n, sample), replace=False)).astype(np.intp)


def median_width(X: Any, sample: int = 1000, precomputed: bool = False, metric: Any = "euclidean") -> float:
    """Half the median distance among at most 1000 points, of more drawn at random, always the same [S0, §§8.6, 9.2]."""
    rows = drawn_rows(X.shape[0], sample)
    # so few products do not need a second thread, which would go on waiting for more beside what comes next
    with one_blas_thread():
        D = np.asarray(X[rows][:, rows]) if precomputed else point_distances(X[rows], metric=metric)
    pairs = np.concatenate([row[i + 1 :] for i, row in enumerate(D)])
    width = float(np.median(pairs)) / 2 if pairs.size else 0.0
    if width <= 0:
        positive = pairs[pairs > 0]
        if positive.size == 0:
            raise GraphError(
                f"All {rows.size} sampled points coincide: there is no distance to derive a kernel width from."
            )
        width = float(np.median(positive)) / 2
    return width
