"""The kinds of y for Dask rows: classes, which are read in the same pass as the rows, and numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._types import Array, Index, Labels
from ..errors import LabelError
from ..numerics.memory import require
from .rows.dask_rows import LazyRows
from .rows.storage import not_in_memory
from .y_values import (
    Classes,
    Numbers,
    as_numbers,
    check_classes,
    code_classes,
    label_array,
    read_classes,
    refuse_continuous,
)


class ClassStatistic(Protocol):
    """A statistic of rows by class."""

    def __add__(self, other: Self) -> Self: ...

    def regrouped(self, places: Index, groups: int) -> Self:
        """Return the statistic with class i at ``places[i]`` of `groups`."""


Total = TypeVar("Total", bound=ClassStatistic)


@dataclass(frozen=True, eq=False)
class Named(Generic[Total]):
    """A statistic of some rows by class.

    Attributes
    ----------
    names : ndarray of shape (c,)
        The classes of the rows, in order.
    n : int
        Number of rows, including those without a label.
    marked : bool
        Some rows have the mark of unlabelled points as their label.
    total : object
        The statistic by class; it has `+`, and ``regrouped(places, c)`` for other classes.
    """

    names: Labels
    n: int
    marked: bool
    total: Total

    def __add__(self, other: Named[Total]) -> Named[Total]:
        """Return the statistic of both sets of rows, by the classes of both."""
        names = _union(self.names, other.names)
        one, two = (part.total.regrouped(np.searchsorted(names, part.names), names.size) for part in (self, other))
        return Named(names, self.n + other.n, self.marked or other.marked, one + two)


class LazyClasses:
    """Classes of Dask rows.

    `reduce` finds the classes in its pass over rows and labels; before that, `names` reads the labels in a pass of their own.
    """

    def __init__(self, labels: LazyRows, *, unlabeled: object, name: str, at_least: int) -> None:
        self.labels = labels
        self._unlabeled, self._name, self._at_least = unlabeled, name, at_least
        self._names: Labels | None = None
        self._n: int | None = None

    @property
    def names(self) -> Labels:
        """The classes in order."""
        if self._names is None:
            self._found(self.labels.reduce(partial(_labels_alone, self._unlabeled, self._name)))
        assert self._names is not None
        return self._names

    @property
    def count(self) -> int:
        return int(self.names.size)

    def take(self, rows: Index) -> Classes:
        """Return the classes of some rows, in memory."""
        labels = self.labels.take(rows).ravel()
        return read_classes(labels, len(rows), unlabeled=self._unlabeled, name=self._name, at_least=0)

    @property
    def n(self) -> int:
        return int(self.labels.shape[0]) if self._n is None else self._n

    @property
    def codes(self) -> Index:
        raise not_in_memory(self._name)

    def reduce(self, rows: LazyRows, statistic: Callable[[Array, Index, int], Total]) -> Total:
        """Return the sum of ``statistic(block, codes, classes)`` over all blocks, class by class, in one pass."""
        by_name = partial(_by_name, statistic, self._unlabeled, self._name)
        return self._found(rows.reduce(by_name, self.labels, add=_join)).total

    def _found(self, named: Named[Total]) -> Named[Total]:
        """Check and store the classes."""
        check_classes(
            named.names,
            named.n,
            marked=named.marked,
            name=self._name,
            at_least=self._at_least,
            unlabeled=self._unlabeled,
        )
        self._names, self._n = named.names, named.n
        return named


@dataclass(frozen=True)
class _NoStatistic:
    """Statistic of labels that are read without their rows."""

    def __add__(self, other: _NoStatistic) -> _NoStatistic:
        return self

    def regrouped(self, places: Index, groups: int) -> _NoStatistic:
        return self


def _labels_alone(unlabeled: object, name: str, labels: Labels) -> Named[_NoStatistic]:
    """Return the classes of one block of labels."""
    codes, names, marked = code_classes(_vector(labels, name), unlabeled)
    return Named(names, codes.size, marked, _NoStatistic())


def _by_name(
    function: Callable[[Array, Index, int], Total], unlabeled: object, name: str, rows: Array, labels: Labels
) -> Named[Total]:
    """Return the statistic of one block, by class."""
    codes, names, marked = code_classes(_vector(labels, name), unlabeled)
    refuse_continuous(names, codes.size, name)
    return Named(names, codes.size, marked, function(rows, codes, max(names.size, 1)))


def _join(one: Named[Total], two: Named[Total]) -> Named[Total]:
    """Return the sum of two statistics; raise if the means of all classes would not fit in memory."""
    most = one.names.size + two.names.size
    width = getattr(getattr(getattr(one.total, "labelled", None), "means", None), "shape", (0, 1))[1]
    require(
        32.0 * most * width,
        f"The means of up to {most} classes",
        "Are the labels identifiers, or numbers to be predicted? Merge classes.",
    )
    return one + two


def _union(one: Labels, two: Labels) -> Labels:
    """Return the labels of both, in order; raise if some are text and others numbers."""
    if not one.size or not two.size:
        return one if one.size else two
    if (one.dtype.kind in "US") != (two.dtype.kind in "US"):
        raise LabelError(
            f"The labels are text in one block, such as {one[0]!r}, and numbers in another, such as {two[0]!r}: write all of them the same "
            "way, or NaN or None for those unknown."
        )
    return np.union1d(one, two)


def _vector(labels: object, name: str) -> Labels:
    """Return the labels as a vector; raise if they have several columns."""
    try:
        return label_array(labels)
    except ValueError as refusal:
        raise LabelError(f"{name} needs one label a sample. {refusal}") from None


# ---------------------------------------------------------------------- numbers
@dataclass(frozen=True, eq=False)
class LazyNumbers:
    """One number per row, NaN if unknown; kept in the memory of the workers, because it is read more than once.

    Attributes
    ----------
    column : LazyRows
        The numbers, in blocks of shape (m, 1).
    count : int
        Number of known values.
    levels : ndarray
        The smallest distinct values, all of them if there are no more than `MOST`.
    """

    column: LazyRows
    count: int
    levels: Array

    MOST: ClassVar[int] = 1000

    @staticmethod
    def of(column: LazyRows, name: str) -> LazyNumbers:
        """Return the numbers in a column; raise if none is known, all are equal or some are infinite."""
        if column.width > 1:
            raise LabelError(
                f"y has {column.width} columns, and {name} takes one response for Dask collections: fit each separately."
            )
        held = column.each(partial(_one_column, name), 1, None, held=True)
        known = held.reduce(_summary)
        if known.infinite:
            raise LabelError(f"{known.infinite} targets are infinite: {name} needs numbers, or NaN for those unknown.")
        if not known.count:
            raise LabelError(
                f"{name} needs labels, but all {known.n} of them are missing (NaN or None). Use an unsupervised method."
            )
        if known.levels.size == 1:
            raise LabelError(
                f"{name} needs targets that differ, but all {known.count} of them are {known.levels.tolist()}."
            )
        return LazyNumbers(held, known.count, known.levels)

    def take(self, rows: Index) -> Numbers:
        """Return the numbers of some rows, in memory."""
        return Numbers(self.column.take(rows))

    def ranked(self, ranks: Index) -> Array:
        """Return the numbers with these ranks, counted from zero, in four passes; each pass determines sixteen bits."""
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
class _Summary:
    """Numbers of rows, of known and of infinite values, and the smallest distinct values."""

    n: int
    count: int
    infinite: int
    levels: Array

    def __add__(self, other: _Summary) -> _Summary:
        levels = np.union1d(self.levels, other.levels)[: LazyNumbers.MOST + 1]
        return _Summary(self.n + other.n, self.count + other.count, self.infinite + other.infinite, levels)


def _summary(y: Array) -> _Summary:
    """Return the summary of one block."""
    known = y[~np.isnan(y)]
    return _Summary(len(y), known.size, int(np.isinf(known).sum()), np.unique(known)[: LazyNumbers.MOST + 1])


def _one_column(name: str, y: Labels) -> Array:
    """Return a block of y as one column of numbers."""
    try:
        values = as_numbers(y)
    except (TypeError, ValueError) as refusal:
        raise LabelError(
            f"y cannot be read as numbers ({refusal}): {name} takes numbers, or text for classes."
        ) from None
    return values[:, None] if values.ndim == 1 else values


_SIGN = np.uint64(2**63)


def _key_of(values: Array) -> NDArray[np.uint64]:
    """Return unsigned integers in the order of the numbers."""
    bits = (values + 0.0).view(np.uint64)  # −0 becomes 0
    return np.where(bits & _SIGN, ~bits, bits | _SIGN)


def _digits(shift: int, prefixes: NDArray[np.uint64], y: Array) -> NDArray[np.int64]:
    """Return counts of the next sixteen bits after each prefix, among the keys of the numbers."""
    keys = _key_of(np.ascontiguousarray(y[~np.isnan(y)]))
    digits = ((keys >> np.uint64(shift)) & np.uint64(0xFFFF)).astype(np.intp)
    if shift == 48:
        return np.bincount(digits, minlength=2**16)[None]
    rest = np.uint64(shift + 16)
    return np.array([np.bincount(digits[keys >> rest == p >> rest], minlength=2**16) for p in prefixes])
