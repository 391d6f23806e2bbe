"""``partial_fit`` of the methods to which statistics of the rows are all: they are added up, and the fit is posed anew from the sum."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_consistent_length

from ..._compat import available_if, fit_context
from ..._diagnostics import collect, note, stage
from ..._types import TableLike, VectorLike
from ...data import Classes, PastClasses, Sample, Sufficient, read_part, rows_needed_by
from ...data.labels import all_missing, label_array, read_classes
from ...data.rows.moments import Moments, Sums
from ...data.rows.row_storage import PastRows
from ...data.rows.storage import on_disk
from ...data.x import Points
from ...errors import DimensionError, InputError, LabelError, UnitError
from ...graphs.neighbours.accept import is_given
from ...graphs.weights.rules import by_lengths
from ...problem import Fitted

#: Features, and products of entries, up to which sums are made for a partial_fit that may follow.
_WIDEST, _PRODUCTS = 2048, 2**28


class TooFewRowsError(DimensionError):
    """There are too few rows so far; more may follow."""

    def __init__(self, n: int) -> None:
        super().__init__(f"{n} rows, or the classes among them, are too few so far.")


def _are_cheap(tables: list[Any]) -> bool:
    """Whether sums of products over the rows of these tables, side by side, take little beside the fit."""
    entries = (np.diff(X.indptr) if sp.issparse(X) else np.full(X.shape[0], X.shape[1]) for X in tables)
    narrow = sum(X.shape[1] for X in tables) <= _WIDEST and not any(map(on_disk, tables))
    return narrow and float(np.sum(np.square(1.0 * sum(entries)))) <= _PRODUCTS


def is_wide(X: Any) -> bool:
    """Sparse rows, no more than their columns: these are not made dense for rows that may never come."""
    return sp.issparse(X) and X.shape[0] <= X.shape[1]


def from_sums(estimator: Any) -> bool:
    """``partial_fit`` is there where sums over the rows are all a method needs."""
    reason = rows_needed_by(estimator)
    if reason is not None:
        raise AttributeError(f"{type(estimator).__name__} has no partial_fit with {reason}: it needs all rows at once.")
    return True


class Streaming:
    """Adds ``partial_fit`` to methods that statistics of the rows suffice for.

    A method that reads classes, or nothing, from y and poses its problem in scatter forms needs no more than this base class.
    `_statistic` is overridden for statistics of another kind, which then are ``sample.past`` in a fit to rows that came in parts.

    Attributes
    ----------
    n_samples_seen_ : int
        Number of rows so far. Present if `partial_fit` can add more: with dense X of more rows than features, and no
        parameter that needs all rows at once.
    moments_ : Sums
        Counts, means and scatter matrices of these rows, to which `partial_fit` adds.
    """

    n_samples_seen_: int
    moments_: Any

    _sums_suffice: ClassVar[Sufficient | None] = {"kernel": None, "reduce": None}

    def _statistic(self, X: Any, y: Any, seen: int = 0, before: Any = None) -> Any:
        """The statistic of some rows, of which `seen` came before; with triangular factors about the means of a pass `before`."""
        if isinstance(y, Classes):
            return Sums.of(X, y.codes, y.count) if before is None else before.factored(X, y.codes)
        sums = Sums.without_classes(Moments.of(X)) if before is None else before
        return sums if before is None else sums.factored(X, np.zeros(X.shape[0], dtype=np.intp))

    def _keeps_digits(self, total: Any) -> bool:
        """The products of the rows hold what the fit needs of them to all digits that matter."""
        return bool(total.is_full)

    def _may_follow(self, total: Any) -> bool:
        """More rows may make the fit possible that these do not allow: there are columns enough for the axes asked for."""
        d = getattr(self, "n_components", None)
        return not isinstance(d, Integral) or d <= total.width

    def _add(self, before: Any, X: Any, y: Any, seen: int = 0) -> Any:
        """The statistic with that of more rows: products as long as they hold what is needed, and factors before they do not."""
        part = self._statistic(X, y, seen)
        total = part if before is None else before + part
        if self._keeps_digits(total):
            return total.without_roots()
        part = self._statistic(X, y, seen, part)
        return part if before is None else before.rooted() + part

    def _with_sums(self, fitted: Fitted, sample: Sample) -> Fitted:
        """The fit with the statistic of its rows, if it was computed or costs little: `partial_fit` may go on from it."""
        if "moments_" in fitted.attributes or rows_needed_by(self) is not None or sample.x.pairs:
            return fitted
        if "sums" in vars(sample):
            return fitted.having(moments_=sample.sums, n_samples_seen_=sample.sums.n)
        if sample.x.lazy:
            return fitted
        X = sample.x.values
        beside = sample.y if isinstance(sample.y, tuple) else (sample.y,)
        tables = [table.values for table in (sample.x, *beside) if isinstance(table, Points)]
        missing = self._accepted().missing != "refuse"  # type: ignore[attr-defined]
        gaps = missing and not np.isfinite(X.data if sp.issparse(X) else X).all()
        if gaps or not _are_cheap(tables):
            return fitted
        with stage("moments"):
            y = sample.y if isinstance(sample.y, Classes) else sample.given
            sums = self._statistic(X, y) if is_wide(X) else self._add(None, X, y)
        return fitted.having(moments_=sums, n_samples_seen_=sums.n)

    @available_if(from_sums)
    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: TableLike, y: Any = None) -> Self:
        """Add rows to those seen before, by ``fit`` too; the result is that of one ``fit`` to all of them, up to rounding.

        The axes are solved for anew at every call, O(D³) beside the O(mD²) of m rows: pass D rows or more at a time where you
        can. As long as the rows so far determine no model, such as fewer than `n_components` dimensions, they are kept and
        ``transform`` raises ``NotFittedError``; ``diagnostics_["not_fitted"]`` holds the reason.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (m, n_features)
            Dense or sparse; m may be one.
        y : object, optional
            What ``fit`` reads of y, for these rows; ignored where it reads nothing.

        Returns
        -------
        self
        """
        X, seen = read_block(self, X)
        return self._go_on(vars(self).get("moments_"), X, y, seen)

    def _go_on(self, before: Any, X: Any, y: Any, seen: dict[str, Any]) -> Any:
        """Add rows to those before, solve for the axes if there are rows enough, and remember the statistic in any case."""
        total = self._add(before, X, y, 0 if before is None else before.n)
        with collect() as record:
            fitted = self._fit_so_far(total, y)
        found = Fitted(None, None) if fitted is None else replace(fitted, embedding=None)
        return self._set(found.having(moments_=total, n_samples_seen_=total.n), seen, record)  # type: ignore[attr-defined]

    def _fit_so_far(self, total: Any, y: Any) -> Fitted | None:
        """The fit to the rows so far; None, with the reason in the diagnostics, while these determine no model."""
        y = PastClasses(y.names, total.n) if isinstance(y, Classes) else y
        sample = Sample(Points(PastRows((total.n, total.width)), True), y, past=total)
        try:
            if self._enough(total, y):
                return self._fit(sample)  # type: ignore[attr-defined]
            raise TooFewRowsError(total.n)
        except (DimensionError, LabelError, UnitError) as refusal:
            if not isinstance(refusal, TooFewRowsError) and not self._may_follow(total):
                raise
            note(not_fitted=str(refusal))
            return None

    def _enough(self, total: Any, y: Any) -> bool:
        """Two rows or more; of classes two or more, and a row of each that was announced."""
        if not isinstance(y, PastClasses):
            return bool(total.n > 1)
        counts = total.labelled.counts
        return bool(counts.size > 1 and np.all(counts > 0))


class LabelledStreaming(Streaming):
    """The same for classes, which may turn up in any part."""

    @available_if(from_sums)
    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: TableLike, y: Any = None, classes: VectorLike | None = None) -> Self:
        """Add rows to those seen before, by ``fit`` too; the result is that of one ``fit`` to all of them, up to rounding.

        The directions are solved for anew at every call, O(D³) beside the O(mD²) of m rows: pass D rows or more at a time where you
        can. As long as the rows so far determine no model, such as too few classes, they are kept and ``transform`` raises
        ``NotFittedError``; ``diagnostics_["not_fitted"]`` holds the reason.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (m, n_features)
            Dense or sparse; m may be one.
        y : array-like of shape (m,)
            Labels of these rows; new classes may turn up at any time, and rows may all be unlabelled.
        classes : array-like, optional
            Classes to expect besides: nothing is solved until each has a row.

        Returns
        -------
        self
        """
        X, seen = read_block(self, X)
        before, known = vars(self).get("moments_"), vars(self).get("classes_")
        among = classes_among(self, X, y, classes, known)
        if before is not None and known is not None:
            before = before.regrouped(np.searchsorted(among.names, known), among.count)
        return self._go_on(before, X, among, {**seen, "classes_": among.names})


def over_given_graph(estimator: Any) -> bool:
    """The graph is given, and the lengths of its edges tell the weights: rows may stay where they are."""
    by_rows = estimator.kernel is not None or estimator.reduce is not None
    return not by_rows and is_given(estimator.graph) and by_lengths(getattr(estimator, "weights", "local"))


def ways_to_stay(estimator: Any) -> str:
    """How rows may stay where they are, for messages."""
    if estimator.kernel is not None or estimator.reduce is not None:
        return ""
    return (
        "; they may stay where they are if graph= is the graph itself, a sparse matrix or a pair (indices, distances), and its lengths "
        "tell the weights"
    )


def read_block(estimator: Any, X: Any) -> tuple[Any, dict[str, Any]]:
    """A part of the rows, checked, and what scikit-learn remembers of it."""
    begun = "moments_" in vars(estimator)
    if not begun and "map_" in vars(estimator):
        raise InputError(
            f"This {type(estimator).__name__} keeps no sums to add rows to: it was fitted to {estimator.n_features_in_} features by sparse "
            f"rows, or by no more rows than features, whose sums of products are kept for up to {_WIDEST} features where they cost "
            "little. Begin with partial_fit, on a new estimator or on sklearn.base.clone of this one."
        )
    return read_part(estimator, X, first=not begun)


def classes_among(estimator: Any, X: Any, y: Any, classes: Any, known: Any) -> Classes:
    """The labels of a part among the classes seen or announced so far."""
    unlabeled = getattr(estimator, "unlabeled", None)
    rule: dict[str, Any] = {"unlabeled": unlabeled, "name": type(estimator).__name__, "at_least": 0}
    n = X.shape[0]
    if y is not None:
        check_consistent_length(X, y)
        if all_missing(y, n, unlabeled):
            y = np.full(n, None)
        before = [part for part in (known, classes) if part is not None and len(part)]
        parts = [label_array(part) for part in (*before, y)]
        if len({part.dtype.kind in "US" for part in parts if part.dtype.kind != "O"}) > 1:
            raise LabelError(
                "The labels are text in one block and numbers in another: they cannot name the same classes."
            )
        y = np.concatenate(parts)
    read = read_classes(y, n if y is None else y.size, **rule)
    return Classes(read.codes[read.codes.size - n :], read.names, read.given[read.given.size - n :])
