"""Rows of numbers where they lie: in memory or in a file, dense or sparse, read a block at a time and never copied as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp

from ..._checks import MAX_SIZE, MIN_SIZE
from ...errors import InputError, PrecisionWarning, warn

#: Rows and numbers of one block: small enough for a float32 sum to keep six digits, large enough for the matrix products.
ROWS, NUMBERS = 4096, 2**20
#: Rounding of a column in single precision, as a share of its spread, that goes unmentioned; and the rows that it is measured on.
_VISIBLE, _SOME = 1e-3, 1000


def blocks(n: int, D: int, rows: int | None = None, numbers: int | None = None) -> Iterator[slice]:
    """Slices of rows to read at once."""
    numbers = NUMBERS if numbers is None else numbers
    step = max(64, min(ROWS if rows is None else rows, numbers // max(D, 1)))
    return (slice(i, min(i + step, n)) for i in range(0, n, step))


class Elsewhere:
    """Rows that are not in the memory of this process, many of few columns: sums over them are made where they lie."""


def not_in_memory(what: str) -> InputError:
    """The error to raise where rows are needed that are elsewhere."""
    return InputError(
        f"{what} needs all rows in the memory of one process, and they are a Dask collection or came in parts: pass arrays to fit, such "
        "as X.compute()."
    )


def on_disk(X: Any) -> bool:
    """X is, or looks into, a memory-mapped file, or lies on other machines."""
    if isinstance(X, Elsewhere):
        return True
    while X is not None and not isinstance(X, np.memmap):
        X = getattr(X, "base", None)
    return X is not None


def is_tall(X: Any) -> bool:
    """A float array with more rows than columns: its D×D scatter is the small summary."""
    return isinstance(X, Elsewhere) or (
        isinstance(X, np.ndarray)
        and X.ndim == 2
        and X.shape[0] > X.shape[1]
        and X.dtype in (np.float32, np.float64)
        and X.dtype.isnative
    )


@dataclass(frozen=True, eq=False)
class Joined:
    """Tables of the same rows side by side, put together some rows at a time and never as a whole."""

    tables: tuple[Any, ...]

    @property
    def shape(self) -> tuple[int, int]:
        return self.tables[0].shape[0], sum(table.shape[1] for table in self.tables)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> Joined:
        return Joined(tuple(table[rows] for table in self.tables))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.hstack(self.tables, dtype=dtype)


def less(X: Any, origin: Any, out: Any) -> Any:
    """``X − origin`` in the memory of `out`, where numbers have no fewer digits; tables side by side go there one by one."""
    if not isinstance(X, Joined) and X.dtype == out.dtype:
        return np.subtract(X, origin, out=out)
    start = 0
    for table in X.tables if isinstance(X, Joined) else (X,):
        # converted by themselves: subtracting on the way takes half as long again
        out[:, start : start + table.shape[1]] = table
        start += table.shape[1]
    return np.subtract(out, origin, out=out) if origin.any() else out


def refuse_non_finite(X: Any, first: int = 0, name: str = "X") -> None:
    """Raise at the first NaN or infinity of X, its rows counted from `first`; do nothing where there is none."""
    for part in blocks(*X.shape):
        bad = np.argwhere(~np.isfinite(X[part]))
        if len(bad):
            row, column = bad[0]
            what = "NaN" if np.isnan(X[part][row, column]) else "infinity"
            raise InputError(
                f"Input {name} contains {what}, first in row {first + part.start + row}, column {column}: sums over the rows have no "
                "value. Drop such rows, or fill them in (sklearn.impute)."
            )


def in_precision_of(X: Any, Y: Any) -> Any:
    """Y, which was computed from X, as numbers of the type of X; raises where they are not finite, with the reason."""
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


def warn_of_rounded_columns(columns: Any, name: str, advice: str) -> None:
    """Warn where numbers in single precision lie so far from zero that their differences within a column are rounded."""
    if columns.dtype != np.float32:
        return
    some = columns[:: max(1, len(columns) // _SOME)]
    spread, size = some.std(axis=0, dtype=np.float64), np.abs(some).max(axis=0)
    rounded = float(np.max(np.finfo(np.float32).eps * size / np.where(spread > 0, spread, np.inf), initial=0.0))
    if rounded > _VISIBLE:
        warn(
            f"X is in single precision, and columns of {name} lie far from zero: they are rounded by {rounded:.0e} of their spread. "
            f"{advice}",
            PrecisionWarning,
        )


def refuse_out_of_range(X: Any, name: str = "X") -> None:
    """Raise where the squares of what X holds overflow, or those of its extent vanish, as all distances and products would."""
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


def _is_moderate(X: Any) -> bool:
    """The largest number of sparse X is neither too large nor too small, and its column has a zero: no column need be looked at."""
    if X.format != "csr" or not X.nnz or not X.has_canonical_format:
        return False
    place = int(np.abs(X.data).argmax())
    # In double precision: MAX_SIZE overflows in single precision.
    return (
        MIN_SIZE <= abs(float(X.data[place])) <= MAX_SIZE
        and np.count_nonzero(X.indices == X.indices[place]) < X.shape[0]
    )


def refuse_squares(large: bool, name: str = "X") -> NoReturn:
    what, do = (
        ("large that their squares overflow", "divide") if large else ("small that their squares vanish", "multiply")
    )
    raise InputError(f"Input {name} contains values so {what}: {do} {name} by a constant first.")
