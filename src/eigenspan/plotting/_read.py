"""What is to be drawn, read from arrays, tables and fitted estimators."""

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

#: Methods beside MDS, unfolding and orthogonal projections whose embedding has distances that mean something.
_METRIC = {"KernelPCA", "DiffusionMap", "CommuteTimeEmbedding", "MDS"}


def read_embedding(embedding: Any, name: str = "The embedding") -> Array:
    """A row for each point, at least one column, all finite."""
    Y = real_numbers(embedding, f"The coordinates of {name[:1].lower()}{name[1:]}", InputError)
    if Y.ndim == 1:
        Y = Y[:, None]
    if Y.ndim != 2 or 0 in Y.shape:
        raise InputError(f"{name} must be a matrix with a row for each point; got shape {Y.shape}.")
    if not np.isfinite(Y).all():
        raise InputError(f"{name} holds {int((~np.isfinite(Y)).sum())} missing or infinite coordinates.")
    return Y


def read_axes(axes: Sequence[int], d: int, most: int = 3) -> list[int]:
    """Two columns of an embedding with d of them, or three where a picture may have depth; the one there is where there is but one."""
    if d == 1:
        return [0]
    columns = [int(axis) for axis in axes]
    if not 2 <= len(columns) <= most or len(set(columns)) < len(columns) or not all(0 <= c < d for c in columns):
        raise InputError(
            f"axes={tuple(axes)} must name two {'or three ' if most > 2 else ''}different columns of the embedding, "
            f"which has 0 to {d - 1}."
        )
    return columns


def pairs_of(Y: Array, most: int) -> list[list[int]]:
    """The columns to draw where nobody says which: 0 and 1, 2 and 3, and so on, to `most` pairs. The last of an odd number goes with the
    one before it, and columns without spread, as spectral clustering may have one, are passed over."""
    varying = np.flatnonzero(np.ptp(Y, axis=0) > 1e-8 * np.abs(Y).max(initial=0.0)).tolist()
    columns = varying if len(varying) > 1 else list(range(min(2, Y.shape[1])))
    last = max(0, len(columns) - 2)
    return [columns[min(i, last) : min(i, last) + 2] for i in range(0, len(columns), 2)][:most]


def most_pairs(embeddings: int) -> int:
    """Panels for each of so many embeddings: six for one alone, up to three among others, and one where these would be more than twelve."""
    return 6 if embeddings == 1 else max(1, min(3, 12 // embeddings))


def column_names(table: Any) -> list[str] | None:
    """The names of the columns of a pandas or polars table, or of a column; None where they have none."""
    names = list(getattr(table, "columns", [getattr(table, "name", None)]))
    return names if names and all(isinstance(name, str) and name for name in names) else None


def names_of(given: Any, embedding: Any, d: int) -> list[str]:
    """A name for each of d axes, or none at all."""
    names = list(map(str, (column_names(embedding) or []) if given is None else given))
    if names and len(names) != d:
        raise InputError(f"There are {len(names)} names for the {d} axes of the embedding: {', '.join(names):.80}.")
    return names


def key_title(given: str | None, y: Any) -> str:
    """What labels are: as given, or the name of their column."""
    return (column_names(y) or [""])[0] if given is None else given


def values_of(values: Any, n: int, what: str) -> Array:
    """One finite number for each of n points."""
    found = real_numbers(values, what, InputError)
    if found.shape != (n,):
        raise InputError(f"{what} must be one number for each of the {n} points; got shape {found.shape}.")
    if not np.isfinite(found).all():
        raise InputError(f"{what} must be finite; {int((~np.isfinite(found)).sum())} of {n} are not.")
    return found


def one_of(name: str, value: Any, choices: Sequence[Any]) -> Any:
    """Refuse what is not among the choices."""
    if not any(value is choice or value == choice for choice in choices):
        raise InputError(f"{name}={value!r:.60} cannot be used; it must be one of {', '.join(map(repr, choices))}.")
    return value


def some(found: Any, what: str) -> dict[str, Any]:
    """A mapping of names that holds something."""
    if not isinstance(found, Mapping):
        raise InputError(f"{what} must be a dict, from the name of each to what it is; got {type(found).__name__}.")
    if not found:
        raise InputError(f"There is nothing to draw: give at least one of the {what}.")
    return {str(name): value for name, value in found.items()}


# ---------------------------------------------------------------------- fitted estimators
def fitted_part(estimator: Any) -> Any:
    """The estimator that was fitted, at the end of a pipeline or inside a search."""
    if not hasattr(estimator, "fit"):
        raise InputError(f"A fitted estimator is needed; got {type(estimator).__name__}.")
    try:
        check_is_fitted(estimator)
    except (NotFittedError, TypeError):  # the latter of a class
        raise InputError(
            f"{getattr(estimator, '__name__', type(estimator).__name__)} is not fitted: call fit first."
        ) from None
    inner = getattr(estimator, "best_estimator_", estimator)
    return inner.steps[-1][1] if hasattr(inner, "steps") else inner


def attribute(estimator: Any, name: str, why: str) -> Any:
    """An attribute of a fitted estimator, missed with a reason."""
    part = fitted_part(estimator)
    found = getattr(part, name, None)
    if found is None:
        raise InputError(f"{type(part).__name__} has no {name}: {why}")
    return found


def embedding_of(estimator: Any, X: Any = None) -> Any:
    """The training points as they were embedded, or those of X as they are now."""
    part = fitted_part(estimator)
    if X is not None:
        return estimator.transform(X)
    found = getattr(part, "embedding_", None)
    if found is None:
        raise InputError(
            f"{type(part).__name__} does not keep the embedding of its training points: give the points to draw as X=."
        )
    return found


def method_name(estimator: Any) -> str:
    """The name of the method, that of the other library's class where it is one."""
    part = fitted_part(estimator)
    return type(getattr(part, "estimator_", part)).__name__


def axis_names(estimator: Any, d: int) -> list[str]:
    """ "pca0 (92.5 % of variance)": named as in ``get_feature_names_out`` and in files, with shares as far as the estimator knows them."""
    part, name = fitted_part(estimator), method_name(estimator).lower()
    shares = np.asarray(getattr(part, "explained_variance_ratio_", []))
    of = "of variance between classes" if hasattr(part, "classes_") else "of variance"
    known = [f" ({100 * share:.1f} % {of})" for share in shares] + [""] * d
    return [f"{name}{i}{known[i]}" for i in range(d)]


def keeps_lengths(estimator: Any) -> bool:
    """Whether a centimetre along one axis says as much as along another."""
    part, name = fitted_part(estimator), method_name(estimator)
    if getattr(part, "whiten", False):
        return False
    rows = [row for row in ROWS if row.name == name]
    return name in _METRIC or any(row.family in ("distances", "unfolding") or row.unit == "projection" for row in rows)
