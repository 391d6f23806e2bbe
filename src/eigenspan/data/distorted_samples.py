"""Distorted samples: tables of the shape of X that are passed as y, or made from X by functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from .._parameters import accepts
from .._types import Array, Index, Matrix, TableLike
from ..errors import EigenspanError, InputError
from ..numerics.memory import refuse_lazy

Distortion = Callable[..., Any]


@dataclass(frozen=True, eq=False)
class Copies:
    """Tables with a distorted version of every point, row by row. There may be none."""

    tables: tuple[Matrix, ...] = ()

    def take(self, rows: Index | slice) -> Copies:
        return Copies(tuple(table[rows] for table in self.tables))

    def of_shape(self, shape: tuple[int, int]) -> Copies:
        """Return self if every table has the shape of X; raise otherwise."""
        for k, table in enumerate(self.tables):
            if table.shape != shape:
                raise InputError(
                    f"Distorted copy {k} in y has shape {table.shape}, and X has {shape}: noise is a copy less its "
                    f"original, row by row, so both need the same shape. y holds {DistortedCopies.meaning}. Labels, a vector, are not read."
                )
        return self


@dataclass(frozen=True)
class DistortedCopies:
    """Reader of distorted versions of X: one table, or several in a stack or list. A vector, such as labels, is ignored."""

    kind: ClassVar[str] = "none"
    #: What y is, for messages and for ``eigenspan info``.
    meaning: ClassVar[str] = (
        "distorted versions of X, row by row: one table of its shape, several in a list, or a stack (N, n_samples, n_features)"
    )
    needed: bool = False

    def read(self, y: TableLike | None, n: int, *, name: str, unlabeled: object) -> Copies:
        refuse_lazy(y, "y")
        if sp.issparse(y):
            return Copies((sp.csr_array(y),))
        if isinstance(y, list | tuple) and y and all(getattr(table, "ndim", 0) == 2 for table in y):
            tables: Iterable[Any] = y
            return Copies(
                tuple(sp.csr_array(t) if sp.issparse(t) else _array(t, f"y[{k}]") for k, t in enumerate(tables))
            )
        stack = _array(y, "y")
        if stack.ndim > 3:
            raise InputError(f"y has {stack.ndim} axes. y of {name} holds {self.meaning}.")
        return Copies(tuple(stack) if stack.ndim == 3 else (stack,) * (stack.ndim == 2))


def copies_of(
    X: Matrix, given: Copies, functions: Sequence[Distortion], rng: np.random.Generator, first: int = 0
) -> Iterator[Matrix]:
    """Yield every distorted version of the rows X: those given, then those that the functions make. Messages count rows from `first`."""
    for k, table in enumerate(given.tables):
        yield _checked(table, X, f"Distorted copy {k} in y", "holds", first)
    for function in functions:
        name = f"The distortion {getattr(function, '__name__', repr(function)):.60}"
        # a copy, because the function may change it; in double precision, because the noise would be rounded otherwise
        rows = X.astype(np.float64)
        try:
            copy = function(rows) if accepts(function, rows) else function(rows, rng)
        except EigenspanError:
            raise
        except Exception as failure:
            raise InputError(
                f"{name} raised {type(failure).__name__} ({failure}): it is called with the {X.shape[0]} rows of {X.shape[1]} features, "
                "and a numpy Generator where it needs a second value, and must return the rows distorted."
            ) from failure
        yield _checked(copy, X, name, "returned", first)


def distortion_functions(distortions: object) -> tuple[Distortion, ...]:
    """Return the functions in a parameter that holds one, several or none."""
    if distortions is None:
        return ()
    functions = tuple(distortions) if isinstance(distortions, list | tuple | np.ndarray) else (distortions,)
    odd = [function for function in functions if not callable(function)]
    if odd or not functions:
        raise InputError(
            f"distortions= must be a function of the rows or a list of such functions; it holds {odd[0]!r:.60}. Pass existing distorted "
            "copies to fit as y."
            if odd
            else "distortions=[] is empty: give at least one function, or None."
        )
    return functions


def _array(values: TableLike | None, what: str) -> Array:
    """Return an array with any number of axes."""
    try:
        found = np.asarray(values)
    except ValueError as refusal:
        raise InputError(f"{what} cannot be read as a table ({refusal}).") from None
    if found.ndim > 1 and np.ma.isMaskedArray(values):
        raise InputError(f"{what} is a masked array, and its masked values would be used as data: fill them in first.")
    return found


def _checked(given: TableLike, X: Matrix, what: str, verb: str, first: int) -> Matrix:
    """Return a distorted version of the rows X after validation: finite numbers in the shape of X."""
    copy: Any = sp.csr_array(given) if sp.issparse(given) else _array(given, what)
    if copy.shape != X.shape:
        raise InputError(
            f"{what} {verb} an array of shape {copy.shape} for {X.shape[0]} rows of {X.shape[1]} features: noise is a copy less "
            "its original, row by row, so both need the same shape."
        )
    if copy.dtype.kind not in "buif":
        try:
            copy = copy.astype(np.float64) if copy.dtype.kind != "c" else None
        except (TypeError, ValueError):
            copy = None
        if copy is None:
            raise InputError(f"{what} {verb} values that are not real numbers: the noise is their difference from X.")
    bad = ~np.isfinite(copy.data if sp.issparse(copy) else copy)
    if bad.any():
        where = "" if sp.issparse(copy) else ", first in row {}, column {}".format(*(np.argwhere(bad)[0] + [first, 0]))
        raise InputError(
            f"{what} {verb} {int(bad.sum())} values that are NaN or infinite{where}: the mean square of the noise is undefined. Return "
            "finite numbers, or leave such rows unchanged."
        )
    return copy
