"""Lists of objects that are not rows of numbers (strings, sets, graphs, sequences), compared by a function of two of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from numbers import Number
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .._types import Array, Index
from ..errors import GraphError, InputError, KernelError
from ..numerics.memory import require
from ..numerics.nearest.pair_matrices import PairTolerance

#: Objects of any type, in an array of shape (n,).
Objects: TypeAlias = NDArray[np.object_]

#: Number of pairs for which the function is also called with its arguments exchanged.
_EXCHANGED = 16


@dataclass(frozen=True)
class PairFunction:
    """A function of two objects, and the name of the parameter that holds it: "kernel" or "metric"."""

    parameter: str
    function: Callable[..., Any]

    @property
    def name(self) -> str:
        """The parameter and the name of its function, for messages."""
        inner = self.function.func if isinstance(self.function, partial) else self.function
        return f"{self.parameter}={getattr(inner, '__name__', repr(inner))}"

    def error(self, did: str) -> InputError:
        """Return the error for a function that cannot be used."""
        refusal = KernelError if self.parameter == "kernel" else GraphError
        return refusal(
            f"{self.name} {did}. It must take two objects and return one finite number, the same in both orders."
        )

    def __call__(self, a: object, b: object, i: int, j: int) -> float:
        """Return ``f(a, b)``; i and j are the numbers of the objects, for messages."""
        try:
            found = self.function(a, b)
        except Exception as failure:
            raise self.error(f"raised {type(failure).__name__} ({failure}) for objects {i} and {j}") from failure
        value = found.item() if getattr(found, "size", 0) == 1 and hasattr(found, "item") else found
        if isinstance(value, int | float | np.number) and not isinstance(value, complex) and np.isfinite(value):
            return float(value)
        raise self.error(f"returned {found!r:.80} for objects {i} and {j}")


@dataclass(frozen=True, eq=False)
class ObjectPairs:
    """Values of a function of two objects with the training objects, in place of coordinates.

    Attributes
    ----------
    function : PairFunction
        The kernel or metric.
    objects : ndarray of shape (n,)
        The training objects themselves: they are not copied.
    """

    function: PairFunction
    objects: Objects

    @property
    def n(self) -> int:
        return int(self.objects.size)

    def table(self) -> Array:
        """Return the function of all pairs, computed for one half of them. Raises if it depends on the order of its arguments."""
        n = self.n
        require(8.0 * n**2, f"The {n}×{n} values of {self.function.name}", "Use fewer objects.")
        K = np.empty((n, n))
        for i, a in enumerate(self.objects):
            for j in range(i + 1):
                K[i, j] = K[j, i] = self.function(self.objects[j], a, j, i)
        self._refuse_asymmetric(K)
        return K

    def columns(self, chosen: Index) -> Array:
        """Return the function of all objects with some of them, of shape (n, m)."""
        return self._values(self.objects, self.objects[chosen])

    def diagonal(self) -> Array:
        """Return the function of each object with itself."""
        return np.array([self.function(a, a, i, i) for i, a in enumerate(self.objects)])

    def block(self, i: Index, j: Index) -> Array:
        """Return the function of two sets of training objects, by their numbers."""
        return self._values(self.objects[i], self.objects[j])

    def rows(self, X: object) -> Array:
        """Return the function of new objects with the training objects, of shape (m, n)."""
        return self._values(as_objects(X), self.objects)

    def _values(self, some: Objects, others: Objects) -> Array:
        found = [[self.function(a, b, i, j) for j, b in enumerate(others)] for i, a in enumerate(some)]
        return np.array(found, dtype=np.float64).reshape(len(some), len(others))

    def _refuse_asymmetric(self, K: Array) -> None:
        """Raise if the values of a few pairs change when the arguments are exchanged."""
        tolerance, n = PairTolerance.of(K).difference, self.n
        for i in range(min(n - 1, _EXCHANGED)):
            a, b = i * (n - 1) // min(n - 1, _EXCHANGED), n - 1
            other = self.function(self.objects[b], self.objects[a], b, a)
            if abs(other - K[a, b]) > tolerance:
                raise self.function.error(
                    f"returned {K[a, b]:.6g} for objects {a} and {b}, but {other:.6g} for {b} and {a}"
                )


def listed(X: object) -> Sequence[object] | None:
    """Return the items of a list, a tuple, a vector of objects or a column of a data frame; None for everything else."""
    if isinstance(X, list | tuple):
        return X
    if isinstance(X, np.ndarray):
        return list(X) if X.ndim == 1 and X.dtype.kind in "OUS" else None
    if hasattr(X, "to_list") and getattr(X, "ndim", 1) == 1 and not hasattr(X, "columns"):
        return list(X.to_list())
    return None


def are_objects(X: object, *, compared: bool) -> bool:
    """Return True for a list of objects that are not rows of a table.

    Sequences of different lengths, of texts or of rows are objects only if they are `compared` by a function.
    """
    items = listed(X)
    if items is not None and not len(items):
        return compared
    if items is None or all(isinstance(item, Number) or item is None for item in items):
        return False
    if not all(_is_row(item) for item in items):
        return True
    return compared and not _is_table(items)


def _is_row(item: object) -> bool:
    return (
        isinstance(item, list | tuple | Number)
        or item is None
        or (hasattr(item, "__array__") and hasattr(item, "shape"))
    )


def _is_table(items: Sequence[object]) -> bool:
    """Return True if sequences are the rows of a table of numbers: equally long, and without texts or sequences in them."""
    try:
        values = np.asarray(items)
    except ValueError:  # sequences of different lengths
        return False
    if values.dtype.kind != "O":
        return values.ndim == 2 and values.dtype.kind not in "US"
    return values.ndim == 2 and all(isinstance(each, Number) or each is None for each in values.flat)


def as_objects(X: object) -> Objects:
    """Return the items of a list as an array of objects. Raises if X is no list, or if an item is missing."""
    items = listed(X)
    if items is None:
        raise InputError(
            f"X is a {type(X).__name__}, but objects that a function of two compares must be a list, as in the fit. Pass a list."
        )
    missing = [i for i, item in enumerate(items) if item is None]
    if missing:
        raise InputError(f"{len(missing)} of {len(items)} objects are None (first: X[{missing[0]}]). Leave them out.")
    held = np.empty(len(items), dtype=object)
    for i, item in enumerate(items):
        held[i] = item
    return held


def refuse_objects(X: object) -> None:
    """Raise if X is a list of objects, which only methods with a kernel or metric that is a function accept."""
    if are_objects(X, compared=False):
        items = listed(X) or []
        i, first = next((i, item) for i, item in enumerate(items) if not _is_row(item))
        raise InputError(
            f"X is a list of {len(items)} objects, such as X[{i}] = {first!r:.40} of type {type(first).__name__}, and numbers are needed. "
            "Give a function of two objects that returns a number, where the method has kernel= or metric=: "
            "KernelPCA(kernel=f), ClassicalMDS(metric=f); or turn each object into a row of numbers."
        )
