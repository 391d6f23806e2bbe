"""Validation of specifications, and of arrays that users pass in parameters or return from functions."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Set
from numbers import Integral, Number
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ._compat import Interval, StrOptions, make_constraint
from ._parameters import Declared, choices
from .errors import InputError

#: Range of magnitudes whose squares, and sums of these, neither overflow nor underflow.
MIN_SIZE, MAX_SIZE = 1e-140, 1e150

#: Attributes of tables: every numpy array, pandas or polars frame, scipy matrix or list has at least one.
_TABLES = ("__len__", "__array__", "__array_interface__", "__dataframe__", "__dlpack__", "shape")

_KINDS = {"c": "complex numbers", "U": "text", "S": "text", "M": "dates", "m": "time spans", "O": "objects"}


class Spec(Declared):
    """Base class of specifications such as `KNN`: parameters are stored unchanged and validated when they are used.

    A subclass declares its parameters, and the error class for invalid values in `_refusal`.
    """

    _refusal: ClassVar[type[InputError]] = InputError

    def check(self) -> None:
        """Raise an error for the first invalid parameter."""
        for name, may_be in self._parameter_constraints.items():
            _check(name, getattr(self, name), may_be, self._refusal, type(self).__name__)


def check_parameter(name: str, value: Any, kind: Any, refusal: type[InputError]) -> None:
    """Raise `refusal` unless the value has the type `kind`, given as in a parameter declaration."""
    _check(name, value, choices(kind), refusal)


def _check(name: str, value: Any, may_be: list[Any], refusal: type[InputError], owner: str = "") -> None:
    if any(_fits(value, choice) for choice in may_be):
        return
    given = f"{name}={value!r:.80}"
    words = " or ".join(map(_words, may_be))
    raise refusal(f"{f'{owner}({given})' if owner else given} cannot be used: {name} must be {words}.")


def _fits(value: Any, choice: Any) -> bool:
    if (
        isinstance(value, bool) and choice != "boolean"
    ):  # bool is an Integral, but is rejected where a number is expected
        return False
    return bool(make_constraint(choice).is_satisfied_by(value))


def _words(choice: Any) -> str:
    if isinstance(choice, StrOptions):
        return " or ".join(f'"{option}"' for option in sorted(choice.options))
    if isinstance(choice, Interval):
        return _interval_words(choice)
    known = {str: "a name", dict: "a dict", None: "None", "boolean": "True or False"}
    return known.get(choice) or str(make_constraint(choice))


def _interval_words(span: Any) -> str:
    if (span.left, span.right) == (0, None) and span.closed in ("neither", "right"):
        return "a positive number" + (" or infinity" if span.closed == "right" else "")
    words = "a whole number" if span.type is Integral else "a finite number"
    if span.left is not None:
        words += f" {'of at least' if span.closed == 'left' else 'above'} {span.left}"
    if span.right is not None:
        words += f" {'of at most' if span.closed == 'right' else 'below'} {span.right}"
    return words


def refuse_no_table(X: Any, name: str = "X") -> None:
    """Raise InputError for values that are not tables: text, a path, a dict, a set, an iterator, a number, another object."""
    if hasattr(X, "tocsr"):  # a sparse matrix in DOK format is a Mapping, but valid
        return
    if isinstance(X, str | bytes | os.PathLike):
        raise InputError(
            f"{name}={X!r:.60} is {'a path' if isinstance(X, os.PathLike) else 'text'}, not a table of numbers. If it names a file, "
            "read the file first (pandas.read_csv, pandas.read_parquet, numpy.load), or use the command line: eigenspan embed FILE."
        )
    if isinstance(X, Mapping):
        raise InputError(
            f"{name} is a {type(X).__name__}, whose columns have no defined order: pass pandas.DataFrame({name})."
        )
    if isinstance(X, Set):
        raise InputError(f"{name} is a {type(X).__name__}, whose rows have no defined order: pass a list or an array.")
    if isinstance(X, Iterator):
        raise InputError(
            f"{name} is a {type(X).__name__}, which can be read only once: pass list({name}), or pass chunks to partial_fit if the method "
            "has it."
        )
    if isinstance(X, Number) or getattr(X, "ndim", None) == 0:
        raise InputError(f"Expected 2D array, got scalar array instead: {name}={X!r:.60}. Pass one row per point.")
    if isinstance(X, type) or not any(hasattr(X, known) for known in _TABLES):
        kind = f"the class {X.__name__}" if isinstance(X, type) else f"a {type(X).__name__}"
        raise InputError(
            f"{name} is {kind}, not a table of numbers: pass an array or a data frame with one row per point."
        )


def real_numbers(values: Any, what: str, refusal: type[InputError]) -> NDArray[np.float64]:
    """Return the values in double precision, in any shape; raise `refusal`, beginning with `what`, if they are not real numbers."""
    if hasattr(values, "toarray"):
        raise refusal(f"{what} must be a dense array; got a sparse matrix of shape {values.shape}. Pass .toarray().")
    if np.ma.is_masked(values):
        raise refusal(f"{what} must be real numbers; {int(np.ma.count_masked(values))} of them are masked.")
    try:
        found = np.asarray(values)
        if found.dtype.kind == "O":
            found = np.array([float(value) for value in found.flat]).reshape(
                found.shape
            )  # np.asarray(..., float) would turn None into NaN
    except (TypeError, ValueError) as failure:
        raise refusal(f"{what} must be real numbers ({failure}).") from None
    if found.dtype.kind not in "biuf":
        raise refusal(f"{what} must be real numbers; got {_KINDS.get(found.dtype.kind, str(found.dtype))}.")
    return found.astype(np.float64, copy=False)


def kinds_of(values: Any) -> list[Any]:
    """Return the dtype of an array, or those of the columns of a table; an empty list for other objects."""
    return [values.dtype] if hasattr(values, "dtype") else list(getattr(values, "dtypes", []))


def refuse_complex(kinds: list[Any], name: str, refusal: type[InputError]) -> None:
    """Raise `refusal` if one of the dtypes is complex."""
    if any(getattr(kind, "kind", "") == "c" for kind in kinds):
        raise refusal(
            f"Complex data not supported: {name} holds complex numbers. Pass their real and imaginary parts, or their absolute values."
        )


def refuse_unless_sizes(values: NDArray[np.float64], what: str, advice: str, refusal: type[InputError]) -> None:
    """Raise `refusal` if some of the numbers are NaN or negative."""
    if not values.size or values.min() >= 0:
        return
    nan, negative = int(np.isnan(values).sum()), int((values < 0).sum())
    if nan:
        raise refusal(f"{what} must be numbers; {nan} of {values.size} are NaN. {advice}")
    raise refusal(
        f"{what} must not be negative; {negative} of {values.size} are, the smallest {values.min():.3g}. {advice}"
    )


def whole_number(value: Any, name: str, least: int = 1, most: int | None = None, why: str = "") -> int:
    """Return `value` as int; raise InputError unless it is a whole number from `least` to `most`, the latter for the reason `why`."""
    if not isinstance(value, Integral) or isinstance(value, bool) or int(value) < least:
        raise InputError(f"{name} must be a whole number of at least {least}; got {value!r:.80}.")
    if most is not None and int(value) > most:
        raise InputError(f"{name}={value} must be at most {most}, {why}.")
    return int(value)
