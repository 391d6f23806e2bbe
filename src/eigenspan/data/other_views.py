"""Other views of the points as y: tables of numbers over the same rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array

from .._checks import kinds_of, refuse_complex, refuse_no_table
from .._types import Index, Matrix, TableLike
from ..errors import InputError
from ..numerics.memory import refuse_lazy
from .rows.block_passes import refuse_non_finite
from .rows.dask_rows import LazyRows
from .rows.storage import is_tall, refuse_out_of_range
from .x import KernelValues, Points
from .y_values import refuse_none


@dataclass(frozen=True)
class _Views:
    """How other tables over the same points are read.

    Attributes
    ----------
    sparse : bool
        It may be sparse.
    one_pass : bool
        A tall table is not checked for NaN here: the sums over its rows check it.
    kernel : bool
        It holds values of a kernel.
    """

    kind: ClassVar[str] = "other view"
    needed: bool = True
    sparse: bool = False
    one_pass: bool = False
    kernel: bool = False

    def _table(self, y: object, n: int, name: str, label: str = "y") -> Points | KernelValues:
        refuse_none(y, name, ": the other view of the points.", InputError)
        unseen = self.one_pass and is_tall(y)
        Y = read_view(y, sparse=self.sparse, finite=not unseen, name=label)
        if Y.shape[0] != n:
            raise InputError(
                f"The two views X and {label} have {n} and {Y.shape[0]} rows: {name} needs both of the same points."
            )
        return KernelValues(Y) if self.kernel else Points(Y, unseen)

    def _lazy_table(self, y: object, rows: LazyRows, name: str, label: str = "y") -> Points:
        refuse_none(y, name, ": the other view of the points.", InputError)
        return Points(rows.aligned(y, label, numbers=True), True)


class OtherView(_Views):
    """One other table, for methods that bring two views together."""

    def read(
        self, y: TableLike | tuple[TableLike, ...] | None, n: int, *, name: str, unlabeled: object
    ) -> Points | KernelValues:
        return self._table(y, n, name)

    def read_lazy(
        self, y: TableLike | tuple[TableLike, ...] | None, rows: LazyRows, *, name: str, unlabeled: object
    ) -> Points:
        return self._lazy_table(y, rows, name)


class OtherViews(_Views):
    """One table, or a tuple of any number of tables."""

    def read(self, y: TableLike | tuple[TableLike, ...] | None, n: int, *, name: str, unlabeled: object) -> ViewTables:
        return ViewTables(self._table(view, n, name, label) for view, label in _labelled(y))

    def read_lazy(
        self, y: TableLike | tuple[TableLike, ...] | None, rows: LazyRows, *, name: str, unlabeled: object
    ) -> ViewTables:
        return ViewTables(self._lazy_table(view, rows, name, label) for view, label in _labelled(y))


def _labelled(y: object) -> Iterator[tuple[Any, str]]:
    """Yield the tables in y with their names in messages."""
    views = y if isinstance(y, tuple) else (y,)
    return zip(views, view_names(len(views) + 1)[1:], strict=True)


class ViewTables(tuple[Points | KernelValues, ...]):
    """Several views of the same points."""

    def take(self, rows: Index) -> ViewTables:
        return ViewTables(view.take(rows) for view in self)


def view_names(count: int) -> list[str]:
    """Return the names of the views in messages."""
    return ["X", "y"] if count == 2 else ["X", *(f"X[{i}]" for i in range(1, count))]


def _refuse_unless_numbers(y: Any, name: str) -> None:
    """Raise for Dask collections, masked arrays, dates, complex numbers and text."""
    refuse_lazy(y, name)
    refuse_no_table(y, name)
    if np.ma.isMaskedArray(y):
        raise InputError(
            f"{name} is a masked array, with {int(np.ma.count_masked(y))} of {y.size} values masked, and what lies under a mask would be "
            f"taken for data: pass {name}.filled(np.nan), or fill the values in first."
        )
    refuse_complex(kinds_of(y), name, InputError)
    given = np.empty(0) if sp.issparse(y) else np.asarray(y)
    kind = given.dtype.kind
    if kind in ("m", "M"):
        raise InputError(
            f"{name} holds dates or times, whose size depends on their unit: turn them into numbers first."
        )
    text = [value for value in given.ravel() if isinstance(value, str | bytes)] if kind in ("U", "S", "O") else []
    if text:
        raise InputError(
            f"{name} holds text, such as {str(text[0])!r:.40}, and the other view must be numbers. If these are class labels, give one "
            "column of zeros and ones a class (pandas.get_dummies, OneHotEncoder), or use a method that "
            "takes classes, such as LDA."
        )


def read_view(y: Any, *, sparse: bool = False, finite: bool = True, name: str = "y") -> Matrix:
    """Return another view as a table of numbers; a vector becomes one column."""
    _refuse_unless_numbers(y, name)
    sparse_rule: Any = "csr" if sparse else False
    with np.errstate(over="ignore", invalid="ignore"):
        Y = check_array(
            y,
            dtype=[np.float64, np.float32],
            accept_sparse=sparse_rule,
            ensure_2d=False,
            ensure_min_samples=0,
            ensure_all_finite=finite and sp.issparse(y),
            allow_nd=True,
            input_name=name,
        )
    if Y.ndim not in (1, 2):
        raise InputError(f"{name} has shape {Y.shape}: a view is a table with one row per point, or a vector.")
    Y = Y[:, None] if Y.ndim == 1 else Y
    if finite and not sp.issparse(Y):
        refuse_non_finite(Y, name=name)
    if finite:
        refuse_out_of_range(Y, name)
    return Y
