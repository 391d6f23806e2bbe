"""Types of the fields of a model file, checked both when a file is written and when it is read.

A type checks a value and never changes it. Lengths are named by symbols: ``Floats("n", "d")`` is an array of n rows and d columns, and
all fields of an object that use n must agree on its value. The cost of a check is proportional to the bytes it reads.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

#: Maximum depth of nested lists.
DEEPEST = 100
_KINDS = {
    "f": "float",
    "i": "integer",
    "u": "unsigned integer",
    "b": "boolean",
    "U": "text",
    "S": "bytes",
    "O": "object",
}

Sizes = dict[str, int]
#: Function that returns the kind and the lengths of an object checked before, or None for any other object.
Known = Callable[[Any], tuple[str, Sizes] | None]
Length = str | int | None


class SchemaError(ValueError):
    """A value does not have the type of its field."""


class Type:
    """Base class of field types."""

    def check(self, value: Any, sizes: Sizes, known: Known) -> None:
        """Raise `SchemaError` unless the value is of this type; add the lengths it determines to `sizes`."""
        raise NotImplementedError

    def __str__(self) -> str:
        raise NotImplementedError


def agree(sizes: Sizes, symbol: Length, length: int) -> None:
    """Set a length, or raise `SchemaError` if it is already set to another value."""
    if symbol is None:
        return
    expected = symbol if isinstance(symbol, int) else sizes.setdefault(symbol, length)
    if expected != length:
        raise SchemaError(
            f"has {length} where {symbol} is {expected}" if isinstance(symbol, str) else f"has {length}, not {symbol}"
        )


def _limit(bound: float | str | None, sizes: Sizes, otherwise: float) -> float:
    return otherwise if bound is None else sizes.get(bound, otherwise) if isinstance(bound, str) else bound


# ---------------------------------------------------------------------- arrays
@dataclass(frozen=True)
class Array(Type):
    """A NumPy array of numbers, truth values or texts."""

    lengths: tuple[Length, ...] | None
    kinds: str = "f"
    least: float | None = None
    below: float | str | None = None
    finite: bool = False

    def check(self, value: Any, sizes: Sizes, known: Known) -> None:
        if not isinstance(value, np.ndarray) or value.dtype.kind not in self.kinds:
            raise SchemaError(f"is not an array of type {self._kind()}")
        if self.lengths is not None:
            if value.ndim != len(self.lengths):
                raise SchemaError(f"has {value.ndim} axes, not {len(self.lengths)}")
            for symbol, length in zip(self.lengths, value.shape, strict=True):
                agree(sizes, symbol, length)
        if value.size and (self.least is not None or self.below is not None):
            low, high = value.min(), value.max()
            if not (low >= _limit(self.least, sizes, -math.inf) and high < _limit(self.below, sizes, math.inf)):
                raise SchemaError(f"has values from {low} to {high}, outside {self._range()}")
        if self.finite and not np.isfinite(value).all():
            raise SchemaError("holds NaN or infinity")

    def _kind(self) -> str:
        return "number" if self.kinds == "fiu" else " or ".join(_KINDS[kind] for kind in self.kinds)

    def _range(self) -> str:
        return f"[{'-inf' if self.least is None else self.least}, {'inf' if self.below is None else self.below})"

    def __str__(self) -> str:
        shape = (
            "" if self.lengths is None else "[" + ", ".join("*" if s is None else str(s) for s in self.lengths) + "]"
        )
        limits = "" if self.least is None and self.below is None else f" in {self._range()}"
        return f"{self._kind()}{shape}{limits}"


def Floats(*lengths: Length, least: float | None = None, finite: bool = False) -> Array:
    """Return the type of floating-point arrays with these lengths."""
    return Array(lengths, "f", least=least, finite=finite)


def Index(*lengths: Length, below: float | str | None = None, least: float = 0) -> Array:
    """Return the type of arrays of row or column numbers, from `least` up to but excluding `below`, which may be a length."""
    return Array(lengths, "i", least=least, below=below)


@dataclass(frozen=True)
class Sparse(Type):
    """A sparse matrix in csr, csc or coo format."""

    rows: Length = None
    columns: Length = None

    def check(self, value: Any, sizes: Sizes, known: Known) -> None:
        if not sp.issparse(value) or value.format not in ("csr", "csc", "coo"):
            raise SchemaError("is not a sparse matrix")
        agree(sizes, self.rows, value.shape[0])
        agree(sizes, self.columns, value.shape[1])

    def __str__(self) -> str:
        return "sparse[" + ", ".join("*" if s is None else str(s) for s in (self.rows, self.columns)) + "]"


def Points(rows: Length, columns: Length) -> Type:
    """Return the type of numeric tables, dense or sparse."""
    return Either(Array((rows, columns), "fiu"), Sparse(rows, columns))


# ---------------------------------------------------------------------- single values
@dataclass(frozen=True)
class Number(Type):
    """A real number; a finite one by default."""

    least: float = -math.inf
    most: float = math.inf
    finite: bool = True

    def check(self, value: Any, sizes: Sizes, known: Known) -> None:
        if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
            raise SchemaError(f"is not a number but {value!r:.40}")
        if self.finite and not math.isfinite(value):
            raise SchemaError(f"is {value}, not a finite number")
        if not (self.least <= value <= self.most or (not self.finite and value != value)):
            raise SchemaError(f"is {value}, outside [{self.least}, {self.most}]")

    def __str__(self) -> str:
        limits = "" if (self.least, self.most) == (-math.inf, math.inf) else f" in [{self.least:g}, {self.most:g}]"
        return f"number{limits}" if self.finite else f"number{limits}, NaN or infinite too"


@dataclass(frozen=True)
class Whole(Type):
    """A whole number; its maximum may be a length."""

    least: int = 0
    most: int | str = 2**53

    def check(self, value: Any, sizes: Sizes, known: Known) -> None:
        if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
            raise SchemaError(f"is not a whole number but {value!r:.40}")
        if not self.least <= value <= _limit(self.most, sizes, 2**53):
            raise SchemaError(f"is {value!r:.40}, outside [{self.least}, {_limit(self.most, sizes, 2**53)}]")

    def __str__(self) -> str:
        return f"whole number in [{self.least}, {'2^53' if self.most == 2**53 else self.most}]"


@dataclass(frozen=True)
class LengthOf(Type):
    """A whole number that equals one of the lengths."""

    symbol: str

    def check(self, value: Any, sizes: Sizes, known: Known) -> None:
        Whole().check(value, sizes, known)
        agree(sizes, self.symbol, int(value))

    def __str__(self) -> str:
        return f"the length {self.symbol}"


@dataclass(frozen=True)
class Flag(Type):
    """A boolean."""

    def check(self, value: Any, sizes: Sizes, known: Known) -> None:
        if not isinstance(value, bool | np.bool_):
            raise SchemaError(f"is not true or false but {value!r:.40}")

    def __str__(self) -> str:
        return "true or false"


@dataclass(frozen=True)
class Text(Type):
    """A text, or one of the given words."""

    words: tuple[str, ...] = ()

    def check(self, value: Any, sizes: Sizes, known: Known) -> None:
        if not isinstance(value, str) or (self.words and value not in self.words):
            raise SchemaError(f"is {value!r:.40}, not {self}")

    def __str__(self) -> str:
        return " or ".join(f'"{word}"' for word in self.words) if self.words else "text"


def Word(*words: str) -> Text:
    """Return the type of texts that are one of these words."""
    return Text(words)


# ---------------------------------------------------------------------- combined
@dataclass(frozen=True)
class Either(Type):
    """A value of one of several types."""

    options: tuple[Type, ...]

    def __init__(self, *options: Type) -> None:
        object.__setattr__(self, "options", options)

    def check(self, value: Any, sizes: Sizes, known: Known) -> None:
        reasons = []
        for option in self.options:
            tried = dict(sizes)
            try:
                option.check(value, tried, known)
            except SchemaError as reason:
                reasons.append(str(reason))
            else:
                sizes.update(tried)
                return
        raise SchemaError(reasons[-1] if len(set(reasons)) == 1 else f"is not {self} ({'; '.join(reasons)})")

    def __str__(self) -> str:
        return " or ".join(map(str, self.options))


@dataclass(frozen=True)
class Maybe(Type):
    """A value of a type, or None."""

    inner: Type

    def check(self, value: Any, sizes: Sizes, known: Known) -> None:
        if value is not None:
            self.inner.check(value, sizes, known)

    def __str__(self) -> str:
        return f"{self.inner} or null"


@dataclass(frozen=True)
class Many(Type):
    """A list or tuple of values of one type."""

    inner: Type
    count: Length = None
    container: type | tuple[type, ...] = (list, tuple)

    def check(self, value: Any, sizes: Sizes, known: Known) -> None:
        if not isinstance(value, self.container):
            raise SchemaError("is not a list")
        entries: list[Any] = list(value)  # type: ignore[call-overload]
        agree(sizes, self.count, len(entries))
        for i, each in enumerate(entries):
            try:
                self.inner.check(each, sizes, known)
            except SchemaError as reason:
                raise SchemaError(f"entry {i} {reason}") from None

    def __str__(self) -> str:
        return f"list of ({self.inner})"


@dataclass(frozen=True)
class Tuple(Type):
    """A tuple or list with one value of each of the given types."""

    parts: tuple[Type, ...]

    def __init__(self, *parts: Type) -> None:
        object.__setattr__(self, "parts", parts)

    def check(self, value: Any, sizes: Sizes, known: Known) -> None:
        if not isinstance(value, tuple | list) or len(value) != len(self.parts):
            raise SchemaError(f"is not a list of {len(self.parts)}")
        for part, each in zip(self.parts, value, strict=True):
            part.check(each, sizes, known)

    def __str__(self) -> str:
        return "(" + ", ".join(map(str, self.parts)) + ")"


@dataclass(frozen=True)
class Object(Type):
    """An object of one of several kinds; `links` equate its lengths (values) with those of this object (keys).

    A name that ends in a dot allows all kinds whose names begin with it.
    """

    kinds: tuple[str, ...]
    links: dict[str, str] = field(default_factory=dict)

    def __init__(self, *kinds: str, **links: str) -> None:
        object.__setattr__(self, "kinds", kinds)
        object.__setattr__(self, "links", links)

    def check(self, value: Any, sizes: Sizes, known: Known) -> None:
        found = known(value)
        if found is None or not any(found[0] == k or (k.endswith(".") and found[0].startswith(k)) for k in self.kinds):
            raise SchemaError(f"is a {type(value).__name__ if found is None else found[0]}, not {self}")
        for ours, theirs in self.links.items():
            if theirs in found[1]:
                agree(sizes, ours, found[1][theirs])

    def __str__(self) -> str:
        return " or ".join(kind + "*" if kind.endswith(".") else kind for kind in self.kinds)


@dataclass(frozen=True)
class Plain(Type):
    """Numbers, texts, arrays, sparse matrices, and lists and dicts of these; also objects of the kinds in `objects`."""

    objects: tuple[str, ...] = ()

    def check(self, value: Any, sizes: Sizes, known: Known) -> None:
        self._check(value, known, 0)

    def _check(self, value: Any, known: Known, depth: int) -> None:
        if depth > DEEPEST:
            raise SchemaError(f"is nested more than {DEEPEST} levels deep, or contains itself")
        if value is None or isinstance(value, bool | int | float | str | slice | np.generic | np.dtype | np.ndarray):
            return
        if isinstance(value, type) and issubclass(value, np.generic):
            return
        if isinstance(value, list | tuple):
            for each in value:
                self._check(each, known, depth + 1)
        elif isinstance(value, dict):
            for each in value.values():
                self._check(each, known, depth + 1)
        elif not sp.issparse(value):
            Object(*self.objects).check(value, {}, known)

    def __str__(self) -> str:
        return "plain value" + (" or " + str(Object(*self.objects)) if self.objects else "")
