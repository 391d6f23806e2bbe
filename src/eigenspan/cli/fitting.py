"""From options to a fitted estimator."""

from __future__ import annotations

import ast
import inspect
from typing import Any

import numpy as np

from ..errors import EigenspanError
from .console import Refusal, plural, say, working


def build(row: Any, components: int | None, neighbors: int | None, settings: tuple[str, ...]) -> Any:
    """The estimator of a table row with the user's parameters."""
    params: dict[str, Any] = {} if components is None else {"n_components": components}
    if neighbors is not None:
        if "n_neighbors" not in inspect.signature(row.build).parameters:
            raise Refusal(f"{row.name} has no neighbour graph: leave out -k.")
        params["n_neighbors"] = neighbors
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals or not name:
            raise Refusal(f"--set takes NAME=VALUE; got {setting!r}.")
        params[name] = _value(value)
    return row.build(**params)


def _value(text: str) -> Any:
    """A Python literal where it is one, otherwise the text itself."""
    if text.lower() in ("none", "true", "false"):
        return {"none": None, "true": True, "false": False}[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def require_labels(row: Any, estimator: Any, label: str | None) -> None:
    """Refuse a supervised fit without labels, before anything is read."""
    if label is None and estimator.__sklearn_tags__().target_tags.required:
        raise Refusal(f"{row.name} needs labels: name their column with --label.")


def takes_gaps(estimator: Any) -> bool:
    """Missing values may stay as they are."""
    return bool(estimator.__sklearn_tags__().input_tags.allow_nan)


def standardise(X: Any, scale: str) -> tuple[Any, Any, Any]:
    """The scaled data, with what was subtracted and divided by."""
    center, spread = np.zeros(X.shape[1]), np.ones(X.shape[1])
    if scale == "standard":
        center, spread = np.nanmean(X, axis=0), np.nanstd(X, axis=0)
        spread[spread == 0] = 1.0
    return (X - center) / spread, center, spread


def fit(row: Any, estimator: Any, X: Any, label: Any) -> None:
    """Fit with a spinner; what cannot be fitted is a message, not a traceback."""
    mark = getattr(estimator, "unlabeled", None)
    y = None if label is None or row.supervision == "none" else classes_of(label, mark)
    try:
        with working(f"Fitting {row.name} to {X.shape[0]} rows"):
            estimator.fit(X, y)
    except EigenspanError:
        raise
    except (ValueError, TypeError, MemoryError, ArithmeticError, np.linalg.LinAlgError) as failure:
        raise Refusal(f"{row.name} could not be fitted: {failure}") from failure
    if y is not None:
        _report(estimator, y, mark)


def _report(estimator: Any, y: Any, mark: Any) -> None:
    """How many rows had a label and, where labels are classes, how many of these there are."""
    import pandas as pd

    classes = getattr(estimator, "classes_", None)
    if classes is None and not estimator.__sklearn_tags__().target_tags.required:
        return  # the labels were not used
    labelled = ~pd.isna(y)
    if classes is not None and mark is not None:
        labelled &= y != mark
    kinds = "" if classes is None else f"{len(classes)} classes; "
    say(f"{kinds}{labelled.sum()} of {plural(len(y), 'row')} had a label.")


def classes_of(label: Any, mark: Any) -> Any:
    """Labels as the library takes them: numbers, or text with None for unlabelled rows, those with the mark as text among them."""
    import pandas as pd

    if pd.api.types.is_bool_dtype(label):
        return label.astype(str).to_numpy(dtype=object)
    if pd.api.types.is_numeric_dtype(label):
        return label.to_numpy(dtype=np.float64, na_value=np.nan) if label.isna().any() else label.to_numpy()
    marks = () if mark is None else (str(mark),)
    return np.array([None if pd.isna(value) or str(value) in marks else str(value) for value in label], dtype=object)
