"""``partial_fit`` of methods that need only statistics of the rows: add the statistics, and pose the problem again from their sum.

A class has the method if it assigns one of the two functions at the end, ``partial_fit = labelled_partial_fit``, and declares a statistic
in ``_streaming`` if the default, sums by class, does not suffice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_consistent_length

from ..._compat import available_if, fit_context
from ..._diagnostics import collect, note, stage
from ..._types import Array, Labels, Matrix, TableLike, TargetLike, VectorLike, is_sparse
from ...data import Classes, PastClasses, Sample, read_part, rows_needed_by
from ...data.read import read_weights
from ...data.rows.block_passes import refuse_non_finite
from ...data.rows.moments import Moments, Sums
from ...data.rows.storage import PastRows, held, refuse_out_of_range
from ...data.x import Points
from ...data.y_values import all_missing, label_array, read_classes
from ...errors import DimensionError, InputError, LabelError, UnitError
from ...problem import Fitted

if TYPE_CHECKING:
    from .contract import Reducer

Estimator = TypeVar("Estimator", bound="Reducer")
Function = TypeVar("Function", bound=Callable[..., Any])

#: Numbers of features, and of products of entries, up to which a fit computes sums for a later partial_fit.
_WIDEST, _PRODUCTS = 2048, 2**28


class TooFewRowsError(DimensionError):
    """There are too few rows so far; more rows may follow."""

    def __init__(self, n: int) -> None:
        super().__init__(f"{n} rows, or the classes among them, are too few so far.")


def _are_cheap(tables: list[Matrix]) -> bool:
    """Return True if sums of products over the rows of these tables, side by side, cost little compared with the fit."""
    entries = (np.diff(X.indptr) if is_sparse(X) else np.full(X.shape[0], X.shape[1]) for X in tables)
    return sum(X.shape[1] for X in tables) <= _WIDEST and float(np.sum(np.square(1.0 * sum(entries)))) <= _PRODUCTS


def is_wide(X: Matrix) -> bool:
    """Return True for sparse X with at most as many rows as columns: dense sums for a later partial_fit would be too large."""
    return bool(sp.issparse(X) and X.shape[0] <= X.shape[1])


# ---------------------------------------------------------------------- the statistic, with its defaults
def class_sums(estimator: Reducer, X: Matrix, y: object, seen: int = 0, before: Sums | None = None) -> Sums:
    """Return moments by class, or of all rows if there are no classes; with triangular factors about the means `before`."""
    if isinstance(y, Classes):
        return Sums.of(X, y.codes, y.count) if before is None else before.factored(X, y.codes)
    sums = Sums.without_classes(Moments.of(X)) if before is None else before
    return sums if before is None else sums.factored(X, np.zeros(X.shape[0], dtype=np.intp))


def weighed_sums(X: Matrix, y: object, weights: Array) -> Sums:
    """Return `class_sums` of rows that count as often as their weights say, with triangular factors."""
    if isinstance(y, Classes):
        return Sums.weighed(X, y.codes, y.count, weights)
    return Sums.weighed(X, np.zeros(X.shape[0], dtype=np.intp), 1, weights)


def _is_full(estimator: Reducer, total: Any) -> bool:
    return bool(total.is_full)


def wide_enough(estimator: Reducer, total: Any) -> bool:
    """Return True if X has enough columns for `n_components` axes."""
    d = getattr(estimator, "n_components", None)
    return not isinstance(d, Integral) or d <= total.width


def has_classes(estimator: Reducer, total: Any, y: object) -> bool:
    """Return True for two rows or more and, with classes, two classes or more with a row of every announced class."""
    if not isinstance(y, PastClasses):
        return bool(total.n > 1)
    counts = total.labelled.counts
    return bool(counts.size > 1 and np.all(counts > 0))


@dataclass(frozen=True)
class Streaming:
    """The statistic of a method with ``partial_fit``, as functions of the estimator.

    The defaults suffice for a method that reads classes, or nothing, from y and poses its problem in scatter forms. For other
    statistics ``sample.past`` holds their sum when the fit is posed. The attributes below are those of the estimator.

    Parameters
    ----------
    statistic
        ``(X, y, seen, before)``: the statistic of some rows, of which `seen` came before; with triangular factors about the means
        `before`.
    keeps_digits
        ``(total)``: whether the sums of products are accurate enough for the fit.
    may_follow
        ``(total)``: whether a fit that fails now may succeed with more rows.
    enough
        ``(total, y)``: whether the rows so far may determine a model.
    prepared
        ``(sample)``: the sample of a ``fit`` whose statistic is kept; None if there is none. By default the sample itself.
    takes_weights
        Whether rows may have weights: the statistic must be that of `class_sums`, and depend on X and classes only.

    Attributes
    ----------
    n_samples_seen_ : int
        Number of rows so far. Present if `partial_fit` can add more: with dense X of more rows than features, and no
        parameter that needs all rows at once.
    moments_ : Sums
        Counts, means and scatter matrices of these rows, to which `partial_fit` adds.
    """

    statistic: Callable[[Any, Any, Any, int, Any], Any] = class_sums
    keeps_digits: Callable[[Any, Any], bool] = _is_full
    may_follow: Callable[[Any, Any], bool] = wide_enough
    enough: Callable[[Any, Any, Any], bool] = has_classes
    prepared: Callable[[Any, Sample], Sample | None] | None = None
    takes_weights: bool = True

    def add(self, estimator: Reducer, before: Any, X: Any, y: Any, seen: int = 0) -> Any:
        """Add the statistic of more rows. Keep products while they are accurate, then use triangular factors."""
        part = self.statistic(estimator, X, y, seen, None)
        total = part if before is None else before + part
        if self.keeps_digits(estimator, total):
            return total.without_roots()
        part = self.statistic(estimator, X, y, seen, part)
        return part if before is None else before.rooted() + part

    def weighed(self, estimator: Reducer, sample: Sample, weights: Array) -> Sums | None:
        """Return the statistic of weighted rows; None if the fit needs the rows or another statistic."""
        X = sample.x.values
        D, total = X.shape[1], float(weights.sum())
        if not self.takes_weights or rows_needed_by(estimator) is not None or D > _WIDEST:
            return None
        if not sp.issparse(X):
            if estimator._accepted().missing != "refuse" and not np.isfinite(X).all():
                return None
            refuse_non_finite(X)
            refuse_out_of_range(X)
        if total < D + 1 and np.array_equal(weights, np.round(weights)):
            return None
        if total < D + 1:
            raise InputError(
                f"The values of sample_weight add up to {total:.6g} and count as that many rows, too few for fractions with {D} columns: "
                f"multiply sample_weight by a constant, so that it adds up to {D + 1} or more, such as the number of rows."
            )
        with stage("moments"):
            return weighed_sums(X, sample.y, weights)

    def kept(self, estimator: Reducer, fitted: Fitted, sample: Sample) -> Fitted:
        """Return the fit with the statistic of its rows, from which `partial_fit` continues, if it was computed or is cheap."""
        if rows_needed_by(estimator) is not None or sample.x.pairs:
            return fitted
        prepared = sample if self.prepared is None else self.prepared(estimator, sample)
        if prepared is None:
            return fitted
        sample = prepared
        if "sums" in vars(sample):
            return fitted.having(moments_=sample.sums, n_samples_seen_=sample.sums.n)
        X = sample.x.values
        beside = sample.y if isinstance(sample.y, tuple) else (sample.y,)
        tables = [table.values for table in (sample.x, *beside) if isinstance(table, Points)]
        if any(held(table) is None for table in tables):
            return fitted
        missing = estimator._accepted().missing != "refuse"
        gaps = missing and not np.isfinite(X.data if sp.issparse(X) else X).all()
        if gaps or not _are_cheap(tables):
            return fitted
        with stage("moments"):
            y = sample.y if isinstance(sample.y, Classes) else sample.given
            sums = self.statistic(estimator, X, y, 0, None) if is_wide(X) else self.add(estimator, None, X, y)
        return fitted.having(moments_=sums, n_samples_seen_=sums.n)

    def fit_so_far(self, estimator: Reducer, total: Any, y: Any) -> Fitted | None:
        """Return the fit to the rows so far; None, with the reason in the diagnostics, while they determine no model."""
        y = PastClasses(y.names, total.n) if isinstance(y, Classes) else y
        sample = Sample(Points(PastRows((total.n, total.width)), True), y, past=total)
        try:
            if self.enough(estimator, total, y):
                return estimator._fit(sample)
            raise TooFewRowsError(total.n)
        except (DimensionError, LabelError, UnitError) as refusal:
            if not isinstance(refusal, TooFewRowsError) and not self.may_follow(estimator, total):
                raise
            note(not_fitted=str(refusal))
            return None


# ---------------------------------------------------------------------- partial_fit
def from_sums(estimator: Reducer) -> bool:
    """Return True if the method needs only sums over the rows; otherwise raise AttributeError: it has no ``partial_fit``."""
    reason = rows_needed_by(estimator)
    if reason is not None:
        raise AttributeError(f"{type(estimator).__name__} has no partial_fit with {reason}: it needs all rows at once.")
    return True


def weights_of_part(estimator: Reducer, sample_weight: VectorLike | None, X: Matrix) -> Array | None:
    """Return the weights of a part of the rows after validation; raise if the statistic has none."""
    if sample_weight is None:
        return None
    if not estimator._streaming.takes_weights:
        raise InputError(
            f"partial_fit of {type(estimator).__name__} does not take sample_weight=, because its sums over the rows have no weights: "
            "use fit, or pass rows that count twice two times."
        )
    if not sp.issparse(X):
        refuse_non_finite(X)
    return read_weights(sample_weight, X.shape[0])


def go_on(
    estimator: Estimator, before: Any, X: Matrix, y: Any, seen: dict[str, object], weights: Array | None = None
) -> Estimator:
    """Add rows to those before, solve for the axes if there are enough rows, and store the statistic in any case."""
    streaming = estimator._streaming
    if weights is None:
        total = streaming.add(estimator, before, X, y, 0 if before is None else before.n)
    else:
        part = weighed_sums(X, y, weights)
        total = part if before is None else before.rooted() + part
    with collect() as record:
        fitted = streaming.fit_so_far(estimator, total, y)
    found = Fitted(None, None) if fitted is None else replace(fitted, embedding=None)
    return estimator._set(found.having(moments_=total, n_samples_seen_=total.n), seen, record)


def add_rows(
    self: Estimator, X: TableLike, y: TargetLike = None, *, sample_weight: VectorLike | None = None
) -> Estimator:
    """Add rows to those of earlier calls and of ``fit``. The result equals one ``fit`` to all rows, up to rounding.

    Every call solves for the axes again, O(D³) in addition to O(mD²) for m rows: pass D rows or more per call if you can.
    While the rows so far determine no model, such as fewer than `n_components` dimensions, they are kept and
    ``transform`` raises ``NotFittedError``; ``diagnostics_["not_fitted"]`` holds the reason.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (m, n_features)
        Dense or sparse; m may be one.
    y : object, optional
        y of these rows, as for ``fit``; ignored by methods without y.
    sample_weight : array-like of shape (m,), optional
        How often each of these rows counts: any numbers that are not negative. Refused by methods whose sums are not moments of the
        rows by class, such as CCA.

    Returns
    -------
    self
    """
    rows, seen = read_block(self, X)
    weights = weights_of_part(self, sample_weight, rows)
    return go_on(self, vars(self).get("moments_"), rows, y, seen, weights)


def add_labelled_rows(
    self: Estimator,
    X: TableLike,
    y: TargetLike = None,
    classes: VectorLike | None = None,
    *,
    sample_weight: VectorLike | None = None,
) -> Estimator:
    """Add rows to those of earlier calls and of ``fit``. The result equals one ``fit`` to all rows, up to rounding.

    Every call solves for the directions again, O(D³) in addition to O(mD²) for m rows: pass D rows or more per call if you can.
    While the rows so far determine no model, such as too few classes, they are kept and ``transform`` raises
    ``NotFittedError``; ``diagnostics_["not_fitted"]`` holds the reason.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (m, n_features)
        Dense or sparse; m may be one.
    y : array-like of shape (m,)
        Labels of these rows. New classes may occur in any call, and all rows may be unlabelled.
    classes : array-like, optional
        Further classes to expect: no axes are computed until each class has a row.
    sample_weight : array-like of shape (m,), optional
        How often each of these rows counts: any numbers that are not negative. Refused by methods whose sums are not moments of the
        rows by class, such as CCA.

    Returns
    -------
    self
    """
    rows, seen = read_block(self, X)
    before, known = vars(self).get("moments_"), vars(self).get("classes_")
    among = classes_among(self, rows, y, classes, known)
    if before is not None and known is not None:
        before = before.regrouped(np.searchsorted(among.names, known), among.count)
    weights = weights_of_part(self, sample_weight, rows)
    return go_on(self, before, rows, among, {**seen, "classes_": among.names}, weights)


def adding(function: Function) -> Function:
    """Return a function of an estimator as its method ``partial_fit``, which exists if sums over the rows suffice."""
    # Of methods of this name, scikit-learn validates parameters in the first call only.
    function.__name__ = "partial_fit"
    return available_if(from_sums)(fit_context(prefer_skip_nested_validation=True)(function))


#: The method ``partial_fit`` of classes without y, or with any y but class labels.
plain_partial_fit = adding(add_rows)
#: The method ``partial_fit`` of classes that read class labels.
labelled_partial_fit = adding(add_labelled_rows)


def read_block(estimator: Reducer, X: TableLike) -> tuple[Matrix, dict[str, object]]:
    """Return a part of the rows after validation, and the attributes that scikit-learn defines for it."""
    begun = "moments_" in vars(estimator)
    if not begun and "map_" in vars(estimator):
        raise InputError(
            f"This {type(estimator).__name__} has no sums to which rows can be added: it was fitted to {estimator.n_features_in_} features "
            f"by sparse rows, or by at most as many rows as features, whose sums are kept for up to {_WIDEST} features if they are cheap. "
            "Begin with partial_fit, on a new estimator or on sklearn.base.clone of this one."
        )
    return read_part(estimator, X, first=not begun)


def classes_among(estimator: Reducer, X: Matrix, y: Any, classes: VectorLike | None, known: Labels | None) -> Classes:
    """Return the labels of a part among the classes seen or announced so far."""
    unlabeled = getattr(estimator, "unlabeled", None)
    rule: dict[str, Any] = {"unlabeled": unlabeled, "name": type(estimator).__name__, "at_least": 0}
    n = X.shape[0]
    if y is not None:
        check_consistent_length(X, y)
        if all_missing(y, n, unlabeled):
            y = np.full(n, None)
        earlier: tuple[Any, ...] = (known, classes)
        before = [part for part in earlier if part is not None and len(part)]
        parts = [label_array(part) for part in (*before, y)]
        if len({part.dtype.kind in "US" for part in parts if part.dtype.kind != "O"}) > 1:
            raise LabelError(
                "The labels are text in one block and numbers in another: they cannot name the same classes."
            )
        y = np.concatenate(parts)
    read = read_classes(y, n if y is None else len(y), **rule)
    return Classes(read.codes[read.codes.size - n :], read.names, read.given[read.given.size - n :])
