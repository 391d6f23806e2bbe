"""Weights of rows in ``fit``. Whole numbers give the fit to rows that occur as often as their weights say.

===========  ===================================================  =====================================
`Masses`     graph embeddings: forms count rows by ``x.masses``   any weights
`Weighed`    methods of sums over rows: the sums are weighted     any weights
`Repeated`   all others: the rows are repeated                    whole numbers
===========  ===================================================  =====================================

Each is a reduction (see `graph_embedding`): the fit to fewer or more rows is taken back to the given rows. Rows of weight zero are left
out of the fit, and its map places them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ..._diagnostics import stage
from ..._types import Array, Index
from ...data import Actions, Classes, PastClasses, Sample
from ...data.read import read_weights, refuse_distributed
from ...data.rows.storage import PastRows
from ...data.x import Points
from ...errors import DimensionError, InputError, LabelError
from ...graphs import Landmarks
from ...graphs.neighbours.graph import is_given
from ...problem import Fitted, Form

if TYPE_CHECKING:
    from .contract import Reducer

#: The function from the fit of the weighted sample to a fit of the given rows.
Back: TypeAlias = Callable[[Fitted], Fitted]

#: Fitted attributes with one row for each row of X, besides ``embedding_``.
PER_ROW = (
    "confidence_",
    "eigenvectors_",
    "embedding_full_",
    "interpolation_",
    "known_",
    "label_distributions_",
    "labels_",
    "transduction_",
    "y_embedding_",
)
#: Parameters whose value may number the rows of X, or have an entry for each of them, besides matrices over them.
_BY_ROW: dict[str, Callable[[Any], bool]] = {
    "graph": is_given,
    "landmarks": lambda value: not isinstance(value, Landmarks) and np.ndim(value) > 0,
    "unit": lambda value: np.ndim(value) > 0,
    "must_link": lambda value: value is not None,
    "cannot_link": lambda value: value is not None,
}


def weighted(estimator: Reducer, sample: Sample, sample_weight: object) -> tuple[Sample, Back | None]:
    """Return the sample that `sample_weight` specifies, and the function from a fit to it to a fit of all rows; None for the same fit."""
    if sample_weight is None:
        return sample, None
    name = type(estimator).__name__
    refuse_distributed(sample.x, name)
    _refuse_without_weights(estimator, sample, name)
    weights = read_weights(sample_weight, sample.n)
    if np.all(weights == 1):
        return sample, None
    if np.count_nonzero(weights) < 2 and weights.sum() < 2:
        raise DimensionError(f"sample_weight leaves one row of {sample.n} to fit; a minimum of 2 is required.")
    if isinstance(sample.y, Classes):
        _refuse_lost_classes(sample.y, weights)
    return _route(estimator, sample, weights, name).take(sample)


def _route(estimator: Reducer, sample: Sample, weights: Array, name: str) -> Masses | Repeated | Weighed:
    """Return the reduction for these weights."""
    some = any(getattr(estimator, parameter, None) is not None for parameter in ("landmarks", "sample"))
    if estimator._masses and not some:
        return Masses(weights)
    streams = hasattr(type(estimator), "partial_fit")
    sums = estimator._streaming.weighed(estimator, sample, weights) if streams else None
    return Repeated(whole(weights, name)) if sums is None else Weighed(weights, sums)


def whole(weights: Array, name: str) -> Index:
    """Return the weights as integers; raise if they are not whole numbers."""
    counts = np.round(weights).astype(np.intp)
    if not np.array_equal(counts, weights):
        i = int(np.flatnonzero(counts != weights)[0])
        raise InputError(
            f"sample_weight[{i}]={weights[i]:.6g} is not a whole number. With these parameters {name} is fitted to rows that occur as "
            "often as their weights say, which needs whole numbers: round the weights, or multiply them by a common factor first."
        )
    return counts


def _refuse_lost_classes(y: Classes, weights: Array) -> None:
    """Raise if all rows of a class have weight zero."""
    left = np.bincount(y.codes[y.known], weights[y.known], minlength=y.count)
    if not left.all():
        lost = ", ".join(repr(name) for name in y.names[left == 0].tolist()[:5])
        raise LabelError(
            f"All rows of class {lost} have sample_weight=0, so that the fit has no row of this class: leave these rows out of X and y."
        )


def _refuse_without_weights(estimator: Reducer, sample: Sample, name: str) -> None:
    """Raise if rows cannot be repeated: they are a time series, are given pair by pair, or are named by parameters."""
    if isinstance(sample.y, Actions):
        raise InputError(
            f"{name} does not take sample_weight=: its rows are a time series, in which a repeated row would be another step. "
            "Leave sample_weight= out."
        )
    for parameter in estimator._parameters:
        value = getattr(estimator, parameter)
        if _BY_ROW.get(parameter, _never)(value) or _is_over(sample.n, value):
            raise InputError(
                f"{parameter}= refers to single rows of X, and sample_weight= counts rows more than once: {parameter}= says nothing about "
                f"the repetitions. Leave {parameter}= or sample_weight= out."
            )
    if sample.x.pairs or getattr(sample.y, "pairs", False):
        raise InputError(
            f"sample_weight= counts rows of coordinates, and {'X' if sample.x.pairs else 'y'} is a table of pairs of points: a point that "
            "repeats would need a row and a column of its own, which new points do not have. Pass coordinates, or leave sample_weight= out."
        )


def _never(value: object) -> bool:
    return False


def _is_over(n: int, value: object) -> bool:
    """Return True for a matrix or form over n rows."""
    shape = (value.n, value.n) if isinstance(value, Form) else getattr(value, "shape", ())
    return shape == (n, n)


# ---------------------------------------------------------------------- the three ways
@dataclass(frozen=True, eq=False)
class Masses:
    """Fit the rows of positive weight, with their weights as masses."""

    weights: Array

    def take(self, sample: Sample) -> tuple[Sample, Back]:
        kept = self.weights > 0
        rows = np.flatnonzero(kept)
        some = sample if kept.all() else sample.take(rows)
        x: Any = some.x
        some = replace(some, x=replace(x, masses=self.weights[kept]))
        return some, lambda fitted: _of_given_rows(fitted, sample, kept, np.arange(rows.size), rows)


@dataclass(frozen=True, eq=False)
class Repeated:
    """Fit rows that occur as often as `counts` says."""

    counts: Index

    def take(self, sample: Sample) -> tuple[Sample, Back]:
        kept, first = self.counts > 0, np.cumsum(self.counts) - self.counts
        rows = np.repeat(np.arange(sample.n), self.counts)
        return sample.repeated(rows), lambda fitted: _of_given_rows(fitted, sample, kept, first[kept], rows)


@dataclass(frozen=True, eq=False)
class Weighed:
    """Fit from weighted sums over the rows, as ``partial_fit`` does, and place all rows by the map."""

    weights: Array
    sums: Any

    def take(self, sample: Sample) -> tuple[Sample, Back]:
        n = round(self.sums.n)
        y: Any = PastClasses(sample.y.names, n) if isinstance(sample.y, Classes) else sample.y
        past: Sample[Points, Any] = Sample(Points(PastRows((n, self.sums.width)), True), y, past=self.sums)
        return past, lambda fitted: self._placed(sample, fitted)

    def _placed(self, sample: Sample, fitted: Fitted) -> Fitted:
        with stage("placing"):
            embedding = fitted.map(sample.x.arriving)
        return replace(fitted, embedding=embedding).having(moments_=self.sums, n_samples_seen_=self.sums.n)


def _of_given_rows(fitted: Fitted, sample: Sample, kept: Any, first: Index, rows: Index) -> Fitted:
    """Return the fit with values for each row of the sample.

    The fit has `rows` of the sample, of which `first` are one of each that it has `kept`.
    """
    found: dict[str, Any] = {
        name: _for_all(value[first], kept)
        for name, value in fitted.attributes.items()
        if name in PER_ROW and len(value) == rows.size
    }
    if "X_fit_" in fitted.attributes and fitted.attributes["X_fit_"].shape[0] == rows.size:
        found["X_fit_"] = sample.x.values
    graph = fitted.attributes.get("graph_")
    if graph is not None and (graph.rows is not None or not np.array_equal(rows, np.arange(sample.n))):
        nodes = rows if graph.rows is None else rows[graph.rows]
        found["graph_"] = replace(graph, rows=None if np.array_equal(nodes, np.arange(sample.n)) else nodes)
    if fitted.embedding is None:
        return fitted.having(**found)
    embedding = _for_all(fitted.embedding[first], kept)
    if not kept.all():
        with stage("placing"):
            embedding[~kept] = fitted.map(sample.x.arriving[~kept])
    return replace(fitted, embedding=embedding).having(**found)


def _for_all(values: Array, kept: Any) -> Any:
    """Return values for all rows; those that are left out have NaN, −1 in integers, False in masks, or None in other types."""
    if kept.all():
        return values
    kind = values.dtype.kind
    missing: Any = {"f": np.nan, "i": -1, "b": False}.get(kind)
    filled = np.full((kept.size, *values.shape[1:]), missing, dtype=values.dtype if kind in "fib" else object)
    filled[kept] = values
    return filled
