"""Input of `evaluate`: named embeddings, and the labels or numbers y."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..data.y import label_array, names_classes, read_classes, read_numbers
from ..errors import InputError, LabelError
from ._check import as_points

Array = NDArray[np.float64]
Index = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Target:
    """Class codes or numbers of the points `rows`, and the number of points without a value in y."""

    rows: Index
    codes: Index
    numbers: Array
    missing: int


def read_target(y: Any, n: int, *, classes: bool, numbers: bool, unlabeled: Any) -> Target:
    """Read y as class codes if `classes` is True, and as numbers if `numbers` is True."""
    if not classes and not numbers:
        return Target(np.empty(0, np.intp), np.empty(0, np.intp), np.empty((0, 1)), 0)
    codes = (
        read_classes(y, n, unlabeled=unlabeled, name="evaluate", at_least=1).codes if classes else np.zeros(n, np.intp)
    )
    T = read_numbers(y, n, "evaluate") if numbers else np.zeros((n, 1))
    rows = np.flatnonzero((codes >= 0) & ~np.isnan(T).any(axis=1))
    if rows.size < 3:
        raise LabelError(
            f"Only {rows.size} of {n} points have a label or a number in y; at least 3 are needed to predict one from the others."
        )
    return Target(rows, codes[rows], T[rows], n - rows.size)


def holds_classes(y: Any) -> bool:
    """Return True if y holds text, categories, booleans or whole numbers, and False for fractions or several columns."""
    if names_classes(y):
        return True
    if np.ndim(y) != 1:
        return False
    try:
        values = np.asarray(label_array(y), dtype=np.float64)
    except (TypeError, ValueError):
        return True
    values = values[np.isfinite(values)]
    return bool(np.all(values == np.floor(values)))


def named(embeddings: Any, X: Any) -> dict[str, Array]:
    """Return the embeddings of the rows of X by name."""
    if isinstance(embeddings, Mapping):
        pairs = [(str(name), one) for name, one in embeddings.items()]
    elif isinstance(embeddings, list | tuple) and all(_is_one(one) for one in embeddings):
        pairs = [
            (type(one).__name__ if _is_estimator(one) else f"embedding {i}", one) for i, one in enumerate(embeddings, 1)
        ]
    else:
        pairs = [(type(embeddings).__name__ if _is_estimator(embeddings) else "embedding", embeddings)]
    if not pairs:
        raise InputError("embeddings is empty: pass an array, a fitted estimator, or several of them.")
    found: dict[str, Array] = {}
    for name, one in pairs:
        known = [other for other in found if other == name or other.startswith(f"{name} ")]
        found[f"{name} {len(known) + 1}" if known else name] = _embedded(one, name, X)
    return found


def _is_estimator(one: Any) -> bool:
    return hasattr(one, "fit")


def _is_one(one: Any) -> bool:
    return _is_estimator(one) or sp.issparse(one) or np.ndim(one) == 2


def _embedded(one: Any, name: str, X: Any) -> Array:
    """Return the embedding as a dense array: the given array, or that of a fitted estimator."""
    n = X.shape[0]
    if isinstance(one, type):
        raise InputError(f"{one.__name__} is a class: pass {one.__name__}(...).fit(X).")
    Y = one
    if _is_estimator(one):
        Y = getattr(one, "embedding_", None)
        if Y is None or np.shape(Y)[0] != n:
            if not hasattr(one, "transform"):
                raise InputError(f"{name} has neither embedding_ nor transform: fit it to these {n} points first.")
            Y = one.transform(X)
    Y = as_points(Y, name)
    if Y.shape[0] != n:
        raise InputError(f"X has {n} rows and {name} has {Y.shape[0]}: both must have the same rows.")
    return Y.toarray() if sp.issparse(Y) else Y
