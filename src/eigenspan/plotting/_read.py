"""Validate what is to be drawn: arrays, tables and fitted estimators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from .._checks import real_numbers
from ..errors import InputError
from ..methods.base.table import ROWS

Array = NDArray[np.float64]

#: Methods whose embedding preserves distances, besides MDS, unfolding and orthogonal projections.
_METRIC = {"KernelPCA", "DiffusionMap", "CommuteTimeEmbedding", "MDS"}


def read_embedding(embedding: Any, name: str = "The embedding") -> Array:
    """Return a finite matrix with one row per point and at least one column."""
    Y = real_numbers(embedding, f"The coordinates of {name[:1].lower()}{name[1:]}", InputError)
    if Y.ndim == 1:
        Y = Y[:, None]
    if Y.ndim != 2 or 0 in Y.shape:
        raise InputError(f"{name} must be a matrix with one row per point, but has shape {Y.shape}.")
    if not np.isfinite(Y).all():
        raise InputError(f"{name} holds {int((~np.isfinite(Y)).sum())} missing or infinite coordinates.")
    return Y


def read_axes(axes: Sequence[int], d: int, most: int = 3) -> list[int]:
    """Return two valid columns of an embedding of d columns, or three if `most` is 3; the only column if d is 1."""
    if d == 1:
        return [0]
    columns = [int(axis) for axis in axes]
    if not 2 <= len(columns) <= most or len(set(columns)) < len(columns) or not all(0 <= c < d for c in columns):
        raise InputError(
            f"axes={tuple(axes)} must name two {'or three ' if most > 2 else ''}different columns of the embedding, "
            f"whose columns are 0 to {d - 1}."
        )
    return columns


def pairs_of(Y: Array, most: int) -> list[list[int]]:
    """Return the default columns to draw: 0 and 1, 2 and 3, and so on, at most `most` pairs. The last of an odd number is paired with the
    one before it. Constant columns, which spectral clustering may produce, are skipped."""
    varying = np.flatnonzero(np.ptp(Y, axis=0) > 1e-8 * np.abs(Y).max(initial=0.0)).tolist()
    columns = varying if len(varying) > 1 else list(range(min(2, Y.shape[1])))
    last = max(0, len(columns) - 2)
    return [columns[min(i, last) : min(i, last) + 2] for i in range(0, len(columns), 2)][:most]


def most_pairs(embeddings: int) -> int:
    """Return the number of panels per embedding: six for one embedding, otherwise at most three, and at most twelve panels in total."""
    return 6 if embeddings == 1 else max(1, min(3, 12 // embeddings))


def column_names(table: Any) -> list[str] | None:
    """Return the column names of a pandas or polars table, or the name of a series; None if there are none."""
    names = list(getattr(table, "columns", [getattr(table, "name", None)]))
    return names if names and all(isinstance(name, str) and name for name in names) else None


def names_of(given: Any, embedding: Any, d: int) -> list[str]:
    """Return a name for each of d axes, or an empty list."""
    names = list(map(str, (column_names(embedding) or []) if given is None else given))
    if names and len(names) != d:
        raise InputError(f"There are {len(names)} names for the {d} axes of the embedding: {', '.join(names):.80}.")
    return names


def key_title(given: str | None, y: Any) -> str:
    """Return the legend title: as given, or the name of the label column."""
    return (column_names(y) or [""])[0] if given is None else given


def values_of(values: Any, n: int, what: str) -> Array:
    """Return one finite number for each of n points."""
    found = real_numbers(values, what, InputError)
    if found.shape != (n,):
        raise InputError(f"{what} must be one number per point ({n} points), but have shape {found.shape}.")
    if not np.isfinite(found).all():
        raise InputError(f"{what} must be finite; {int((~np.isfinite(found)).sum())} of {n} are not.")
    return found


def one_of(name: str, value: Any, choices: Sequence[Any]) -> Any:
    """Raise InputError unless the value is one of the choices."""
    if not any(value is choice or value == choice for choice in choices):
        raise InputError(f"{name}={value!r:.60} cannot be used; it must be one of {', '.join(map(repr, choices))}.")
    return value


def some(found: Any, what: str) -> dict[str, Any]:
    """Return a non-empty mapping with names as strings."""
    if not isinstance(found, Mapping):
        raise InputError(f"{what} must be a dict by name; got {type(found).__name__}.")
    if not found:
        raise InputError(f"There is nothing to draw: the dict of {what} is empty.")
    return {str(name): value for name, value in found.items()}


# ---------------------------------------------------------------------- fitted estimators
def fitted_part(estimator: Any) -> Any:
    """Return the fitted estimator at the end of a pipeline or inside a search."""
    if not hasattr(estimator, "fit"):
        raise InputError(f"A fitted estimator is needed; got {type(estimator).__name__}.")
    try:
        check_is_fitted(estimator)
    except (NotFittedError, TypeError):  # TypeError for a class
        raise InputError(
            f"{getattr(estimator, '__name__', type(estimator).__name__)} is not fitted: call fit first."
        ) from None
    inner = getattr(estimator, "best_estimator_", estimator)
    return inner.steps[-1][1] if hasattr(inner, "steps") else inner


def attribute(estimator: Any, name: str, why: str) -> Any:
    """Return an attribute of a fitted estimator, or raise InputError with the reason `why` it is missing."""
    part = fitted_part(estimator)
    found = getattr(part, name, None)
    if found is None:
        raise InputError(f"{type(part).__name__} has no {name}: {why}")
    return found


def embedding_of(estimator: Any, X: Any = None) -> Any:
    """Return the embedding of the training points, or of X if given."""
    part = fitted_part(estimator)
    if X is not None:
        return estimator.transform(X)
    found = getattr(part, "embedding_", None)
    if found is None:
        raise InputError(
            f"{type(part).__name__} does not store the embedding of its training points: pass the points to draw as X=."
        )
    return found


def method_name(estimator: Any) -> str:
    """Return the name of the method; for a wrapped estimator of another library, the name of its class."""
    part = fitted_part(estimator)
    return type(getattr(part, "estimator_", part)).__name__


def axis_names(estimator: Any, d: int) -> list[str]:
    """Return axis names such as "pca0 (92.5 % of variance)": as in ``get_feature_names_out``, with shares of the variance if known."""
    part, name = fitted_part(estimator), method_name(estimator).lower()
    shares = np.asarray(getattr(part, "explained_variance_ratio_", []))
    of = "of variance between classes" if hasattr(part, "classes_") else "of variance"
    known = [f" ({100 * share:.1f} % {of})" for share in shares] + [""] * d
    return [f"{name}{i}{known[i]}" for i in range(d)]


def keeps_lengths(estimator: Any) -> bool:
    """Whether all axes have the same scale, so that distances in a picture are meaningful."""
    part, name = fitted_part(estimator), method_name(estimator)
    if getattr(part, "whiten", False):
        return False
    rows = [row for row in ROWS if row.name == name]
    return name in _METRIC or any(row.family in ("distances", "unfolding") or row.unit == "projection" for row in rows)
