"""Readers of y: classes, numbers, actions or known coordinates. Missing values are marked explicitly."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from sklearn.utils.validation import check_array

from .._checks import refuse_no_table
from .._types import Array, TableLike, VectorLike
from ..errors import InputError, LabelError
from .dask_y import LazyClasses, LazyNumbers
from .rows.dask_rows import LazyRows
from .y_values import (
    Actions,
    Classes,
    Coordinates,
    Numbers,
    YKind,
    all_missing,
    as_numbers,
    label_array,
    read_classes,
    refuse_masks,
    refuse_none,
    split_missing,
)


class Reader(Protocol):
    """Reads y for a method. `kind` names what it reads, and `needed` tells scikit-learn whether y is required."""

    kind: ClassVar[str]

    @property
    def needed(self) -> bool: ...

    def read(self, y: VectorLike | None, n: int, *, name: str, unlabeled: object) -> YKind | None:
        """Return the value for n points. `name` is the method, and `unlabeled` the label of its unlabelled points."""


@runtime_checkable
class LazyReader(Reader, Protocol):
    """Reads y beside the blocks of a Dask collection too."""

    def read_lazy(self, y: TableLike | None, rows: LazyRows, *, name: str, unlabeled: object) -> YKind:
        """Return the value for rows that are not in the memory of this process."""


@dataclass(frozen=True)
class ClassLabels:
    """Reader of class labels with at least `at_least` classes. If they are not needed, y may be None."""

    kind: ClassVar[str] = "labels"
    at_least: int = 2
    needed: bool = True

    def read(self, y: VectorLike | None, n: int, *, name: str, unlabeled: object) -> Classes:
        if not self.needed and (y is None or all_missing(y, n, unlabeled)):
            return Classes(np.full(n, -1), np.empty(0), np.full(n, None))
        return read_classes(y, n, unlabeled=unlabeled, name=name, at_least=self.at_least)

    def read_lazy(self, y: TableLike | None, rows: LazyRows, *, name: str, unlabeled: object) -> LazyClasses:
        refuse_none(y, name)
        return LazyClasses(rows.aligned(y), unlabeled=unlabeled, name=name, at_least=self.at_least)


@dataclass(frozen=True)
class Targets:
    """Reader of numbers to be predicted."""

    kind: ClassVar[str] = "numbers"
    needed: bool = True

    def read(self, y: VectorLike | None, n: int, *, name: str, unlabeled: object) -> Numbers:
        return Numbers(read_numbers(y, n, name))


@dataclass(frozen=True)
class Responses:
    """Reader of a response: classes if y holds text, a pandas category or booleans, and numbers otherwise."""

    kind: ClassVar[str] = "response"
    needed: bool = True

    def read(self, y: VectorLike | None, n: int, *, name: str, unlabeled: object) -> Classes | Numbers:
        if names_classes(y):
            return read_classes(y, n, name=name, unlabeled=None)
        return Numbers(read_numbers(y, n, name))

    def read_lazy(
        self, y: TableLike | None, rows: LazyRows, *, name: str, unlabeled: object
    ) -> LazyClasses | LazyNumbers:
        refuse_none(y, name)
        column = rows.aligned(y)
        meta = column.meta  # an empty block, whose types may already say that y is numeric
        kinds = list(meta.dtypes) if hasattr(meta, "dtypes") and meta.ndim == 2 else [meta.dtype]
        if all(getattr(kind, "kind", "O") in "iufmM" for kind in kinds) or not column.reduce(
            names_classes, add=operator.or_
        ):
            return LazyNumbers.of(column, name)
        return LazyClasses(column, unlabeled=None, name=name, at_least=2)


@dataclass(frozen=True)
class ActionLabels:
    """Reader of actions between rows."""

    kind: ClassVar[str] = "actions"
    needed: bool = True

    def read(self, y: VectorLike | None, n: int, *, name: str, unlabeled: object) -> Actions:
        return read_actions(y, n, name)


@dataclass(frozen=True)
class KnownPlaces:
    """Reader of known coordinates in d dimensions."""

    kind: ClassVar[str] = "coordinates"
    d: int
    needed: bool = True

    def read(self, y: VectorLike | None, n: int, *, name: str, unlabeled: object) -> Coordinates:
        return Coordinates(read_coordinates(y, n, self.d, name))


# ---------------------------------------------------------------------- numbers, actions, coordinates
def read_numbers(y: TableLike | None, n: int, name: str, *, differ: bool = True) -> Array:
    """Return numbers to be predicted as an (n, q) array. A row with NaN or None is unknown."""
    refuse_none(y, name)
    refuse_masks(y)
    if hasattr(y, "toarray"):
        raise LabelError(f"y is a sparse matrix of shape {getattr(y, 'shape', '?')}: pass y.toarray().")
    try:
        T = as_numbers(y)
    except (TypeError, ValueError) as refusal:
        raise LabelError(
            f'y cannot be read as numbers ({refusal}): pass numbers. Of classes there are labels="delta", where a method has that, and '
            "EigenmapClassifier."
        ) from None
    given, T = T.shape, T[:, None] if T.ndim == 1 else T
    if T.ndim != 2 or T.shape[0] != n:
        raise LabelError(f"y has shape {given} for {n} samples: {name} needs one row per sample.")
    if np.any(np.isinf(T)):
        raise LabelError(
            f"{int(np.sum(np.isinf(T)))} targets are infinite: {name} needs numbers, or NaN for those unknown."
        )
    known = T[~np.isnan(T).any(axis=1)]
    if len(known) == 0:
        raise LabelError(
            f"{name} needs labels, but all {len(T)} of them are missing (NaN or None). Use an unsupervised method."
        )
    if differ and np.all(known == known[0]):
        raise LabelError(f"{name} needs targets that differ, but all {len(known)} of them are {known[0].tolist()}.")
    return T


def names_classes(y: object) -> bool:
    """Return True for a column of text, categories or booleans."""
    if str(getattr(y, "dtype", "")).lower().startswith(("categor", "enum")):
        return True
    given = np.asarray(y)
    words = given.dtype.kind == "O" and any(isinstance(value, str) for value in given.ravel())
    return given.dtype.kind in "bUS" or words


def read_actions(y: VectorLike | None, n: int, name: str) -> Actions:
    """Return the codes of the n − 1 actions, −1 for unknown ones, and the actions."""
    refuse_none(y, name, ": the actions between rows.")
    y = label_array(y, warn=True)
    if y.size not in (n - 1, n):
        raise LabelError(
            f"There are {y.size} actions for {n} rows: an action leads from one row to the next, so give {n - 1}, or {n} of which the "
            "last is ignored."
        )
    y = y[: n - 1]
    missing, known = split_missing(y, None)
    codes = np.full(n - 1, -1, dtype=np.intp)
    classes, codes[~missing] = np.unique(known, return_inverse=True)
    return Actions(codes, classes)


def read_coordinates(y: TableLike | None, n: int, d: int, name: str) -> Array:
    """Return known coordinates of shape (n, d), with rows of NaN for unknown points."""
    advice = f". Pass an array of shape ({n}, {d}): the known coordinates, and rows of NaN for the other points."
    refuse_none(y, name, advice, InputError)
    refuse_no_table(y, "y")
    refuse_masks(y)
    rule: Any = {"dtype": np.float64, "ensure_2d": False, "ensure_all_finite": False, "ensure_min_samples": 0}
    try:
        G = np.array(check_array(y, input_name="y", **rule))
    except ValueError as refusal:
        raise InputError(
            f"y cannot be read as coordinates ({refusal}): pass an array of numbers of shape ({n}, {d}), rows of NaN for the points that "
            "are not known."
        ) from None
    shape, G = G.shape, G[:, None] if G.ndim == 1 and d == 1 else G
    if G.shape != (n, d):
        raise InputError(
            f"The known coordinates have shape {shape}, but there are {n} points with n_components={d} coordinates each: pass shape "
            f"({n}, {d}), rows of NaN for the points that are not known."
        )
    if np.isinf(G).any():
        raise InputError(
            f"{np.isinf(G).any(axis=1).sum()} rows of known coordinates hold infinity. Unknown points are NaN."
        )
    missing = np.isnan(G)
    partly = np.flatnonzero(missing.any(axis=1) & ~missing.all(axis=1))
    if partly.size:
        raise InputError(
            f"{partly.size} rows of coordinates (first: {partly[0]}) are NaN in part: a point is known in all its {d} coordinates or in "
            "none. Fill them in, or make them NaN altogether."
        )
    if missing.all():
        raise InputError(
            f"None of the {n} points has known coordinates: all rows of y are NaN. Fit the wrapped method itself, without y."
        )
    return G
