"""Methods to which sums over the rows tell all: rows in memory, in a file or in parts take the same road."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from numbers import Integral
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_consistent_length

from ..._compat import available_if, fit_context
from ..._diagnostics import collect, note, stage
from ..._types import TableLike, VectorLike
from ...data import Sample, read_part
from ...data.labels import all_missing, label_array, read_classes
from ...data.rows.moments import Moments, Sums
from ...data.rows.storage import is_tall, on_disk
from ...data.x import Points
from ...errors import DimensionError, InputError, KernelError, LabelError, UnitError
from ...graphs.neighbours.accept import is_given
from ...graphs.weights.rules import by_lengths
from ...problem import Fitted, Form, Posed, Scatters
from ...problem.distributed_quadratic import lazy_quadratic
from ...problem.nystrom import NystromRows
from .contract import axes, features_of

#: Features, and products of entries, up to which sums are made for a partial_fit that may follow.
_WIDEST, _PRODUCTS = 2048, 2**28


def _are_cheap(tables: list[Any]) -> bool:
    """Whether sums of products over the rows of these tables, side by side, take little beside the fit."""
    entries = sum(
        np.diff(X.indptr).astype(np.float64) if sp.issparse(X) else np.full(X.shape[0], float(X.shape[1]))
        for X in tables
    )
    narrow = sum(X.shape[1] for X in tables) <= _WIDEST and not any(map(on_disk, tables))
    return narrow and float(np.sum(np.square(entries))) <= _PRODUCTS


def is_wide(X: Any) -> bool:
    """Sparse rows, no more than their columns: these are not made dense for rows that may never come."""
    return sp.issparse(X) and X.shape[0] <= X.shape[1]


def kept_sums(X: Any, codes: Any, classes: int) -> Sums:
    """Sums over all rows of a fit, for more rows to be added."""
    return Sums.of(X, codes, classes) if is_wide(X) else Sums.read(X, codes, classes)


def _has_gaps(X: Any) -> bool:
    return not np.isfinite(X.data if sp.issparse(X) else X).all()


def from_sums(estimator: Any) -> bool:
    """``partial_fit`` is there where sums over the rows are all a method needs."""
    reason = estimator._needs_rows()
    if reason is not None:
        raise AttributeError(f"{type(estimator).__name__} has no partial_fit with {reason}: it needs all rows at once.")
    return True


def asks_for_rows(**given: bool) -> str | None:
    """The first parameter that was given, by the name under which it is told of."""
    return next((f"{name}=" for name, there in given.items() if there), None)


def reads_once(estimator: Any) -> bool:
    """One pass over the rows, which looks for NaN on the way."""
    return estimator._needs_rows() is None


def by_landmarks(estimator: Any) -> bool:
    """Features of a kernel on landmarks: sums of them are all that classes need, wherever the rows lie."""
    own = getattr(estimator, "shrinkage", None)
    return estimator.kernel is not None and estimator.landmarks is not None and not isinstance(own, str)


def kernel_scatters(estimator: Any, sample: Sample) -> Scatters:
    """What the classes of rows that lie elsewhere are like in the feature space of a kernel, seen through landmarks."""
    X = sample.x.values
    features = NystromRows.of(estimator.kernel, X, estimator.landmarks, random_state=estimator.random_state)
    with stage("moments"):
        scatters = Scatters.of_features(features, X, sample.y)
    if not scatters.basis.dim:
        raise KernelError(
            f"The kernel sees no difference between the {X.shape[0]} points. Move them to the origin first."
        )
    return scatters


class Streaming:
    """Adds ``partial_fit`` to a reducer that says what sums over the rows lead to, ``_fit_sums(sums, X) -> Fitted``.

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

    def _needs_rows(self) -> str | None:
        """The parameter that asks for more of the data than sums; None where nothing does."""
        raise NotImplementedError

    def _fit_sums(self, sums: Any, X: Any = None) -> Fitted | None:
        """The fit to rows of which these sums are left, and X where they are at hand; None where they are too few so far.

        A refusal that more rows may lift (see `_may_follow`) means the same.
        """
        raise NotImplementedError

    def _may_follow(self, sums: Any) -> bool:
        """More rows may make the fit possible that these sums do not allow: there are columns enough for the axes asked for."""
        d = getattr(self, "n_components", None)
        return not isinstance(d, Integral) or d <= sums.width

    def _sums_of(self, X: Any, y: Any) -> Any:
        """Sums over some of the rows, which add up."""
        return Sums.without_classes(Moments.of(X))

    def _sums_in(self, sample: Sample) -> dict[str, Any]:
        """Attributes that hold the sums over all rows of a fit, for more rows to be added."""
        X = sample.x.values
        sums = self._sums_of(X, sample.given)
        sums = sums if is_wide(X) else self._more(None, sums, lambda: self._factored(sums, X, sample.given))
        return {"moments_": sums, "n_samples_seen_": sums.n}

    def _factored(self, sums: Any, X: Any, y: Any) -> Any:
        """The sums over some of the rows with their factors."""
        return sums.factored(X, np.zeros(X.shape[0], dtype=np.intp))

    def _keeps_digits(self, sums: Any) -> bool:
        """The products of the rows hold what the fit needs of them to all digits that matter."""
        return bool(sums.is_full)

    def _more(self, before: Any, sums: Any, factored: Callable[[], Any]) -> Any:
        """Sums with those of more rows added: products as long as they hold what is needed, and factors before they do not.

        ``factored()`` returns the sums of these rows with their factors.
        """
        total = sums if before is None else before + sums
        if self._keeps_digits(total):
            return total.without_roots()
        return factored() if before is None else before.rooted() + factored()

    def _with_sums(self, fitted: Fitted, sample: Sample) -> Fitted:
        """The fit with sums of its rows, if it was made without them and they are cheap: `partial_fit` may go on from them."""
        if "moments_" in fitted.attributes or self._needs_rows() is not None or sample.x.lazy or sample.x.pairs:
            return fitted
        if self._accepted().missing != "refuse" and _has_gaps(sample.x.values):  # type: ignore[attr-defined]
            return fitted  # rows with gaps have no sums
        beside = sample.y if isinstance(sample.y, tuple) else (sample.y,)
        if not _are_cheap([table.values for table in (sample.x, *beside) if isinstance(table, Points)]):
            return fitted
        with stage("moments"):
            return fitted.having(**self._sums_in(sample))

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
        sums = self._sums_of(X, y)
        total = self._more(vars(self).get("moments_"), sums, lambda: self._factored(sums, X, y))
        return _set_sums(self, total, seen)


class LabelledStreaming(Streaming):
    """The same for classes, which may turn up in any part."""

    def _sums_in(self, sample: Sample) -> dict[str, Any]:
        sums = kept_sums(sample.x.values, sample.y.codes, sample.y.count)
        return {"moments_": sums, "n_samples_seen_": sums.n}

    def _pose_scatters(self, scatters: Scatters) -> Posed:
        """The problem over the coordinates, from what the classes are like."""
        raise NotImplementedError

    def _check_scatters(self, scatters: Scatters, sample: Sample | None) -> None:
        """Raise what the fit to rows in memory would raise; `sample` is None for rows that came in parts."""

    def _fit(self, sample: Sample) -> Fitted:
        if self._needs_rows() is not None or not is_tall(sample.x.values):
            return super()._fit(sample)  # type: ignore[misc]
        scatters = self._scatters(sample)
        self._check_scatters(scatters, sample)
        return self._fit_scatters(scatters)

    def _fit_scatters(self, scatters: Scatters) -> Fitted:
        if scatters.basis.dim == 0:
            n = scatters.basis.raw.shape[0] if scatters.sums is None else scatters.sums.n
            raise DimensionError(f"All {n} rows coincide: there are no dimensions to show.")
        fitted = axes(self).fit(self._pose_scatters(scatters))  # type: ignore[arg-type]
        if scatters.sums is None or scatters.smooth is not None or self.kernel is not None:  # type: ignore[attr-defined]
            return fitted
        return fitted.having(moments_=scatters.sums, n_samples_seen_=scatters.sums.n)

    def _fit_sums(self, sums: Sums, X: Any = None) -> Fitted | None:
        if not _are_classes(sums.labelled.counts):
            return None
        scatters = Scatters.of_sums(sums, X)
        self._check_scatters(scatters, None)
        return self._fit_scatters(scatters)

    def _scatters(self, sample: Sample) -> Scatters:
        """What the classes are like, by the shortest road that the parameters and the data leave."""
        X, y = sample.x.values, sample.y
        if by_landmarks(self) and sample.x.lazy:
            return kernel_scatters(self, sample)
        if reads_once(self) and is_tall(X) and sample.features is None:
            with stage("moments"):
                return Scatters.of_classes(X, y)
        return Scatters.of_basis(features_of(self, sample), y.codes, y.count)  # type: ignore[arg-type]

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
        known: Any = vars(self).get("classes_")
        codes, found = codes_among(self, X, y, classes, known)
        places = None if known is None else np.searchsorted(found, known)
        return add_labelled(self, X, codes, found.size, places, {**seen, "classes_": found})


def over_given_graph(estimator: Any) -> bool:
    """The graph is given, and the lengths of its edges tell the weights: rows may stay where they are."""
    by_rows = estimator.kernel is not None or estimator.reduce is not None
    return not by_rows and is_given(estimator.graph) and by_lengths(getattr(estimator, "weights", "local"))


class SmoothedStreaming(LabelledStreaming):
    """Those that keep the neighbours of all points close besides; rows that lie elsewhere need a graph that is given."""

    @property
    def _elsewhere(self) -> str:
        """How rows may stay where they are."""
        if self.kernel is not None or self.reduce is not None:  # type: ignore[attr-defined]
            return ""
        return (
            "; they may stay where they are if graph= is the graph itself, a sparse matrix or a pair (indices, distances), and its lengths "
            "tell the weights"
        )

    def _given_laplacian(self, sample: Sample) -> Form:
        """Of the graph that was given, sparse, from the lengths of its edges."""
        raise NotImplementedError

    def _fit(self, sample: Sample) -> Fitted:
        if not sample.x.lazy or self._needs_rows() is None:
            return super()._fit(sample)
        L = self._given_laplacian(sample)
        with stage("moments"):
            scatters = Scatters.of_classes(sample.x.values, sample.y)
        self._check_scatters(scatters, sample)
        basis = scatters.basis
        along = None if basis.sizes is None else np.asarray(basis.lift)
        G = lazy_quadratic(L.sparse, sample.x.values, basis.offset, along)
        smooth = basis.compress(G, psd=L.psd) if along is None else Form(basis.dim, dense=G, psd=L.psd)
        return self._fit_scatters(replace(scatters, smooth=smooth))


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


def codes_among(estimator: Any, X: Any, y: Any, classes: Any, known: Any) -> tuple[Any, Any]:
    """Codes of a part's labels among the classes seen or announced so far, and these classes."""
    rule: dict[str, Any] = {"unlabeled": estimator.unlabeled, "name": type(estimator).__name__, "at_least": 0}
    if y is not None:
        check_consistent_length(X, y)
        if all_missing(y, X.shape[0], estimator.unlabeled):
            y = np.full(X.shape[0], None)
        before = [part for part in (known, classes) if part is not None and len(part)]
        parts = [label_array(part) for part in (*before, y)]
        if len({part.dtype.kind in "US" for part in parts if part.dtype.kind != "O"}) > 1:
            raise LabelError(
                "The labels are text in one block and numbers in another: they cannot name the same classes."
            )
        y = np.concatenate(parts)
    read = read_classes(y, X.shape[0] if y is None else y.size, **rule)
    return read.codes[read.codes.size - X.shape[0] :], read.names


def add_labelled(estimator: Any, X: Any, codes: Any, count: int, places: Any, seen: dict[str, Any]) -> Any:
    """Add rows of `count` classes, among which those known before have these places."""
    before = vars(estimator).get("moments_")
    before = before if before is None else before.regrouped(places, count)
    sums = Sums.of(X, codes, count)
    return _set_sums(estimator, estimator._more(before, sums, lambda: sums.factored(X, codes)), seen)


def _are_classes(counts: Any) -> bool:
    """Two classes or more, and a row of each that was announced."""
    return bool(counts.size > 1 and np.all(counts > 0))


def _set_sums(estimator: Any, sums: Any, seen: dict[str, Any]) -> Any:
    """Solve for the axes if there are rows enough, and remember the sums in any case."""
    with collect() as record:
        fitted = _fit_so_far(estimator, sums)
    fitted = Fitted(None, None) if fitted is None else replace(fitted, embedding=None)
    return estimator._set(fitted.having(moments_=sums, n_samples_seen_=sums.n), seen, record)


def _fit_so_far(estimator: Any, sums: Any) -> Fitted | None:
    """The fit to the rows so far; None, with the reason in the diagnostics, while these determine no model."""
    fitted, reason = None, f"{sums.n} rows, or the classes among them, are too few so far."
    try:
        fitted = estimator._fit_sums(sums)
    except (DimensionError, LabelError, UnitError) as refusal:
        if not estimator._may_follow(sums):
            raise
        reason = str(refusal)
    if fitted is None:
        note(not_fitted=reason)
    return fitted
