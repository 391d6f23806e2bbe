"""What y holds beside rows that stay where they are: classes, which are found while the rows are summed over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._resources import require
from ..errors import LabelError
from .labels import check_classes, code_classes, label_array, refuse_continuous
from .lazy import LazyRows

Index = NDArray[np.intp]


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

    Which classes there are is found in the one pass over rows and labels, `sums`; asked before, the labels are read by themselves.
    """

    def __init__(self, labels: LazyRows, *, unlabeled: Any, name: str, at_least: int) -> None:
        self.labels = labels
        self._rule: dict[str, Any] = {"unlabeled": unlabeled, "name": name, "at_least": at_least}
        self._names: NDArray[Any] | None = None

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

    def sums(self, rows: LazyRows, function: Callable[[Any, Index, int], Any]) -> Any:
        """``function(block, codes, classes)`` of every block, added up class by class, in one pass."""
        by_name = partial(_by_name, function, self._rule["unlabeled"], self._rule["name"])
        return self._found(rows.reduce(by_name, _join, self.labels)).total

    def _found(self, named: Named) -> Named:
        check_classes(named.names, named.n, marked=named.marked, **self._rule)
        self._names = named.names
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
