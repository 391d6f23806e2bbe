"""What y holds beside rows that stay where they are: classes, which are found while the rows are summed over, or numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._types import Index
from ..errors import LabelError
from ..numerics.memory import require
from .labels import as_numbers, check_classes, code_classes, label_array, read_classes, refuse_continuous
from .rows.dask_rows import LazyRows
from .rows.storage import not_in_memory
from .y_values import Classes, Numbers


@dataclass(frozen=True, eq=False)
class Named:
    """Some rows by class.

    Attributes
    ----------
    names : ndarray of shape (c,)
        Their classes, in order.
    n : int
        The rows, those without a label among them.
    marked : bool
        Some have the mark of unlabelled points for a label.
    total : object
        What was made of the rows and their codes among these classes, with `+`, and ``regrouped(places, c)`` for other classes.
    """

    names: NDArray[Any]
    n: int
    marked: bool
    total: Any

    def __add__(self, other: Named) -> Named:
        """Of both sets of rows, by the classes of both."""
        names = _union(self.names, other.names)
        one, two = (part.total.regrouped(np.searchsorted(names, part.names), names.size) for part in (self, other))
        return Named(names, self.n + other.n, self.marked or other.marked, one + two)


class LazyClasses:
    """Classes of rows that stay where they are.

    Which classes there are is found in the one pass over rows and labels, `reduce`; asked before, the labels are read by themselves.
    """

    def __init__(self, labels: LazyRows, *, unlabeled: Any, name: str, at_least: int) -> None:
        self.labels = labels
        self._rule: dict[str, Any] = {"unlabeled": unlabeled, "name": name, "at_least": at_least}
        self._names: NDArray[Any] | None = None
        self._n: int | None = None

    @property
    def names(self) -> NDArray[Any]:
        """The labels themselves."""
        if self._names is None:
            self._found(self.labels.reduce(partial(_labels_alone, self._rule["unlabeled"], self._rule["name"])))
        assert self._names is not None
        return self._names

    @property
    def count(self) -> int:
        return int(self.names.size)

    def take(self, rows: Index) -> Classes:
        """Return the classes of some rows, in memory."""
        unlabeled, name = self._rule["unlabeled"], self._rule["name"]
        return read_classes(self.labels.take(rows).ravel(), len(rows), unlabeled=unlabeled, name=name, at_least=0)

    @property
    def n(self) -> int:
        return int(self.labels.shape[0]) if self._n is None else self._n

    @property
    def codes(self) -> Index:
        raise not_in_memory(self._rule["name"])

    def reduce(self, rows: LazyRows, statistic: Callable[[Any, Index, int], Any]) -> Any:
        """``statistic(block, codes, classes)`` of every block, added up class by class, in one pass."""
        by_name = partial(_by_name, statistic, self._rule["unlabeled"], self._rule["name"])
        return self._found(rows.reduce(by_name, self.labels, add=_join)).total

    def _found(self, named: Named) -> Named:
        check_classes(named.names, named.n, marked=named.marked, **self._rule)
        self._names, self._n = named.names, named.n
        return named


@dataclass(frozen=True)
class _Nothing:
    """Of labels that are read by themselves."""

    def __add__(self, other: _Nothing) -> _Nothing:
        return self

    def regrouped(self, places: Index, groups: int) -> _Nothing:
        return self


def _labels_alone(unlabeled: Any, name: str, labels: Any) -> Named:
    codes, names, marked = code_classes(_vector(labels, name), unlabeled)
    return Named(names, codes.size, marked, _Nothing())


def _by_name(function: Callable[..., Any], unlabeled: Any, name: str, rows: Any, labels: Any) -> Named:
    """Of one block."""
    codes, names, marked = code_classes(_vector(labels, name), unlabeled)
    refuse_continuous(names, codes.size, name)
    return Named(names, codes.size, marked, function(rows, codes, max(names.size, 1)))


def _join(one: Named, two: Named) -> Named:
    most = one.names.size + two.names.size
    width = getattr(getattr(getattr(one.total, "labelled", None), "means", None), "shape", (0, 1))[1]
    require(
        32.0 * most * width,
        f"The means of up to {most} classes",
        "Are the labels identifiers, or numbers to be predicted? Merge classes.",
    )
    return one + two


def _union(one: NDArray[Any], two: NDArray[Any]) -> NDArray[Any]:
    """The labels of both, in order; text and numbers cannot name the same classes."""
    if not one.size or not two.size:
        return one if one.size else two
    if (one.dtype.kind in "US") != (two.dtype.kind in "US"):
        raise LabelError(
            f"The labels are text in one block, such as {one[0]!r}, and numbers in another, such as {two[0]!r}: write all of them the same "
            "way, or NaN or None for those unknown."
        )
    return np.union1d(one, two)


def _vector(labels: Any, name: str) -> NDArray[Any]:
    try:
        return label_array(labels)
    except ValueError as refusal:
        raise LabelError(f"{name} needs one label a sample. {refusal}") from None


# ---------------------------------------------------------------------- numbers
@dataclass(frozen=True, eq=False)
class LazyNumbers:
    """One number for each of the rows, NaN where there is none; held where the rows are, for it is asked more than once.

    Attributes
    ----------
    column : LazyRows
        The numbers, (m, 1) a block.
    count : int
        Those that are there.
    levels : ndarray
        The least distinct ones, all of them if there are no more than `MOST`.
    """

    column: LazyRows
    count: int
    levels: NDArray[np.float64]

    MOST: ClassVar[int] = 1000

    @staticmethod
    def of(column: LazyRows, name: str) -> LazyNumbers:
        if column.width > 1:
            raise LabelError(
                f"y has {column.width} columns, and {name} takes one response of rows that stay where they are: fit each by itself."
            )
        held = column.each(partial(_one_column, name), 1, None, held=True)
        told = held.reduce(_told)
        if told.infinite:
            raise LabelError(f"{told.infinite} targets are infinite: {name} needs numbers, or NaN for those unknown.")
        if not told.known:
            raise LabelError(
                f"{name} needs labels, but all {told.n} of them are missing (NaN or None). Use an unsupervised method."
            )
        if told.levels.size == 1:
            raise LabelError(
                f"{name} needs targets that differ, but all {told.known} of them are {told.levels.tolist()}."
            )
        return LazyNumbers(held, told.known, told.levels)

    def take(self, rows: Index) -> Numbers:
        """Return the numbers of some rows, in memory."""
        return Numbers(self.column.take(rows))

    def ranked(self, ranks: Index) -> NDArray[np.float64]:
        """The numbers with these ranks, counted from zero: each of four passes settles sixteen bits of them."""
        ranks, found = np.asarray(ranks, dtype=np.int64).copy(), np.zeros(len(ranks), dtype=np.uint64)
        for shift in (48, 32, 16, 0):
            prefixes, which = np.unique(found, return_inverse=True)
            counts = self.column.reduce(partial(_digits, shift, prefixes))
            below = np.cumsum(counts, axis=1)
            digit = np.array([np.searchsorted(below[w], r, side="right") for w, r in zip(which, ranks, strict=True)])
            ranks -= np.where(digit > 0, below[which, np.maximum(digit - 1, 0)], 0)
            found |= digit.astype(np.uint64) << np.uint64(shift)
        return np.where(found & _SIGN, found ^ _SIGN, ~found).view(np.float64)  # the inverse of `_key_of`


@dataclass(frozen=True, eq=False)
class _Told:
    """What is to be known of some numbers."""

    n: int
    known: int
    infinite: int
    levels: NDArray[np.float64]

    def __add__(self, other: _Told) -> _Told:
        levels = np.union1d(self.levels, other.levels)[: LazyNumbers.MOST + 1]
        return _Told(self.n + other.n, self.known + other.known, self.infinite + other.infinite, levels)


def _told(y: Any) -> _Told:
    known = y[~np.isnan(y)]
    return _Told(len(y), known.size, int(np.isinf(known).sum()), np.unique(known)[: LazyNumbers.MOST + 1])


def _one_column(name: str, y: Any) -> NDArray[np.float64]:
    try:
        values = as_numbers(y)
    except (TypeError, ValueError) as refusal:
        raise LabelError(
            f"y cannot be read as numbers ({refusal}): {name} takes numbers, or text for classes."
        ) from None
    return values[:, None] if values.ndim == 1 else values


_SIGN = np.uint64(2**63)


def _key_of(values: Any) -> NDArray[np.uint64]:
    """Whole numbers in the order of the numbers."""
    bits = (values + 0.0).view(np.uint64)  # −0 as 0
    return np.where(bits & _SIGN, ~bits, bits | _SIGN)


def _digits(shift: int, prefixes: NDArray[np.uint64], y: Any) -> NDArray[np.int64]:
    """How often each sixteen bits follow each of the prefixes among the keys of numbers."""
    keys = _key_of(np.ascontiguousarray(y[~np.isnan(y)]))
    digits = ((keys >> np.uint64(shift)) & np.uint64(0xFFFF)).astype(np.intp)
    if shift == 48:
        return np.bincount(digits, minlength=2**16)[None]
    rest = np.uint64(shift + 16)
    return np.array([np.bincount(digits[keys >> rest == p >> rest], minlength=2**16) for p in prefixes])
