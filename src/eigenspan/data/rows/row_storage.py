"""Interface of tables of rows in any storage, and additive statistics of them.

Methods do not depend on the storage: they ask for a statistic, and the class of the rows decides how to read them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol, TypeVar

import numpy as np

from ..._types import Array, Index, Matrix
from .storage import Elsewhere, not_in_memory, on_disk

#: A value that is computed from rows. The sum of two values is the value of both sets of rows together.
Statistic = TypeVar("Statistic")


class Rows(Protocol):
    """A table of numbers, one row a point, or a column of labels beside one.

    Attributes
    ----------
    shape : tuple of int
    dtype : dtype
        Of the numbers; None for labels.
    """

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def dtype(self) -> np.dtype | None: ...

    def take(self, index: Index) -> Matrix:
        """Return some of the rows, in this order, in memory."""

    def reduce(self, statistic: Callable[..., Statistic], *aligned: Rows) -> Statistic:
        """Return ``statistic(rows, *aligned rows)`` of all rows; those that are stored in blocks are added up block by block."""

    def map(self, function: Callable[..., Array], width: int) -> Rows:
        """Return ``function(rows)``, which has `width` columns, in the storage of the rows."""

    def aligned(self, other: object, name: str = "y") -> Rows:
        """Return another table of the same points, cut into the same blocks."""


@dataclass(frozen=True, eq=False)
class HeldRows:
    """Rows in memory or in a memory-mapped file, dense or sparse. A statistic is computed from all of them, in blocks of its own."""

    values: Any

    def reduce(self, statistic: Callable[..., Statistic], *aligned: HeldRows) -> Statistic:
        return statistic(self.values, *(other.values for other in aligned))


@dataclass(frozen=True, eq=False)
class PastRows(Elsewhere):
    """Rows that arrived in parts and are gone; only their statistics are left."""

    shape: tuple[int, int]

    @property
    def width(self) -> int:
        return self.shape[1]

    def _refuse(self, *arguments: object, **options: object) -> NoReturn:
        raise not_in_memory("This use of X")

    take = reduce = map = aligned = __getitem__ = __array__ = _refuse


def rows_of(X: object) -> Rows:
    """Return a table as rows; what is in memory or in a file is not copied."""
    return X if isinstance(X, Elsewhere) else HeldRows(X)  # type: ignore[return-value]


def held(X: Matrix | Elsewhere) -> Matrix | None:
    """Return X if its rows are in memory, so that another array of n rows fits there too; otherwise None."""
    return None if isinstance(X, Elsewhere) or on_disk(X) else X
