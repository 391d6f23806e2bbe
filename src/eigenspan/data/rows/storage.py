"""Interface of tables of rows in any storage, and additive statistics of them; rows in memory or in a file, and checks of their values.

Methods do not depend on the storage: they ask for a statistic, and the class of the rows decides how to read them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol, TypeVar

import numpy as np
import scipy.sparse as sp

from ..._checks import MAX_SIZE, MIN_SIZE
from ..._types import Array, Floats, Index, Matrix, Sparse
from ...errors import InputError, PrecisionWarning, warn
from .block_passes import refuse_non_finite, refuse_squares

#: Largest rounding error of a column, relative to its standard deviation, without a warning; number of rows that it is measured on.
_ROUNDING, _SAMPLE = 1e-3, 1000

#: A value that is computed from rows. The sum of two values is the value of both sets of rows together.
Statistic = TypeVar("Statistic")


class Elsewhere:
    """Marker for out-of-process rows (more rows than columns); reductions run where the data is stored."""


def not_in_memory(what: str) -> InputError:
    """Return the error for an operation that needs all rows in memory when they are not."""
    return InputError(
        f"{what} needs all rows in the memory of one process, and they are a Dask collection or came in parts: pass arrays to fit, such "
        "as X.compute()."
    )


def on_disk(X: object) -> bool:
    """Return True if X is a memory-mapped file or a view of one, or is stored outside this process."""
    if isinstance(X, Elsewhere):
        return True
    while X is not None and not isinstance(X, np.memmap):
        X = getattr(X, "base", None)
    return X is not None


def is_tall(X: object) -> bool:
    """Return True for a float array with more rows than columns, which its D×D scatter summarises."""
    return isinstance(X, Elsewhere) or (
        isinstance(X, np.ndarray)
        and X.ndim == 2
        and X.shape[0] > X.shape[1]
        and X.dtype in (np.float32, np.float64)
        and X.dtype.isnative
    )


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


# ---------------------------------------------------------------------- checks of values
def in_precision_of(X: Matrix, Y: Array) -> Array:
    """Return Y, which was computed from X, in the precision of X; raise with the reason if it is not finite there."""
    with np.errstate(over="ignore", invalid="ignore"):
        out = Y.astype(X.dtype, copy=False)
    if np.isfinite(out).all():
        return out
    if not sp.issparse(X):
        refuse_non_finite(X)
    largest, beyond = float(abs(X).max()), int(np.sum(~np.isfinite(out).all(axis=1)))
    wider = ", or take double precision" if out.dtype == np.float32 else ""
    raise InputError(
        f"{beyond} of {len(out)} rows have no image in {out.dtype}, whose numbers end at {np.finfo(out.dtype).max:.3g}: the input reaches "
        f"{largest:.3g} in size, and what is computed from it more. Leave such rows out, divide X by a constant before it is fitted "
        f"and transformed{wider}."
    )


def warn_of_rounded_columns(columns: Floats, name: str, advice: str) -> None:
    """Warn if columns in single precision are so far from zero that rounding affects their differences."""
    if columns.dtype != np.float32:
        return
    some = columns[:: max(1, len(columns) // _SAMPLE)]
    spread, size = some.std(axis=0, dtype=np.float64), np.abs(some).max(axis=0)
    rounded = float(np.max(np.finfo(np.float32).eps * size / np.where(spread > 0, spread, np.inf), initial=0.0))
    if rounded > _ROUNDING:
        warn(
            f"X is in single precision, and columns of {name} lie far from zero: they are rounded by {rounded:.0e} of their spread. "
            f"{advice}",
            PrecisionWarning,
        )


def refuse_out_of_range(X: Matrix, name: str = "X") -> None:
    """Raise if squares of the entries overflow, or squares of their differences underflow: distances and products would, too."""
    if not X.size:
        return
    if sp.issparse(X):
        if _is_moderate(X):
            return
        low, high = (np.asarray(part.toarray()).ravel() for part in (X.min(axis=0), X.max(axis=0)))
    else:
        low, high = X.min(axis=0), X.max(axis=0)
    low, high = low.astype(np.float64), high.astype(np.float64)
    if max(-low.min(), high.max()) > MAX_SIZE:
        refuse_squares(True, name)
    if 0 < (high - low).max() < MIN_SIZE:
        refuse_squares(False, name)


def _is_moderate(X: Sparse) -> bool:
    """Return True if the largest entry of X is in range and its column has a zero; the columns need no further check then."""
    if X.format != "csr" or not X.nnz or not X.has_canonical_format:
        return False
    place = int(np.abs(X.data).argmax())
    # In double precision: MAX_SIZE overflows in single precision.
    return (
        MIN_SIZE <= abs(float(X.data[place])) <= MAX_SIZE
        and np.count_nonzero(X.indices == X.indices[place]) < X.shape[0]
    )
