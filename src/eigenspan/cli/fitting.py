"""Build estimators from options, and fit them."""

from __future__ import annotations

import ast
import inspect
from typing import Any

import numpy as np

from ..errors import EigenspanError
from ..graphs import KNN
from .console import Failed, Usage, note, plural, working


def build(row: Any, o: Any, several: bool = False) -> Any:
    """Return the estimator of a registry row with the user's parameters. With `several` methods, ignore parameters that it lacks."""
    has = inspect.signature(row.build).parameters
    params: dict[str, Any] = {} if o.components is None else {"n_components": _components(o.components)}
    for option, name, value in (("-k", "n_neighbors", o.neighbors), ("--metric", "metric", o.metric)):
        if value is None:
            continue
        if name == "metric" and name not in has and "graph" in has:
            params["graph"] = KNN(o.neighbors or 10, metric=value)
        elif name in has:
            params[name] = value
        elif not several:
            lacks = "neighbour graph" if option == "-k" else "metric parameter"
            raise Usage(f"{row.name} has no {lacks}: omit {option}.")
    if "random_state" in has:
        params["random_state"] = o.seed
    for setting in o.settings:
        name, equals, value = setting.partition("=")
        if not equals or not name:
            raise Usage(f"--set takes NAME=VALUE, but got {setting!r}.")
        if name in has or not several:
            params[name] = _value(value)
    return row.build(**params)


def _components(text: str) -> Any:
    """Parse ``-d``: a number of dimensions, a share of the variance, or a word such as ``auto``."""
    value = _value(text)
    if isinstance(value, int) and not isinstance(value, bool) and value < 1:
        raise Usage(f"-d {text} must be at least 1.")
    return value


def _value(text: str) -> Any:
    """Parse a Python literal; return any other text unchanged."""
    if text.lower() in ("none", "true", "false"):
        return {"none": None, "true": True, "false": False}[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def require_embedding(row: Any) -> None:
    """Refuse methods that do not embed rows, and those whose known coordinates would need several columns of the table."""
    if row.name == "External":
        raise Usage(
            "External wraps an estimator of another library, an object that a command line cannot name. "
            "Use FactorAnalysis, FastICA, NCA, TSNE or NonmetricMDS, which wrap one each, or use External in Python."
        )
    if row.family == "learning" or row.supervision == "coordinates":
        does = "does not embed rows" if row.family == "learning" else "needs the known coordinates of some rows"
        raise Usage(
            f"{row.name} {does}, which the command line does not support. Use it in Python; eigenspan info {row.name} shows an example."
        )


def require_labels(row: Any, estimator: Any, label: str | None) -> None:
    """Refuse a supervised method without ``--label``, before the table is read."""
    if label is None and estimator.__sklearn_tags__().target_tags.required:
        raise Usage(f"{row.name} needs labels: name the column with --label.")


def accepts_missing(estimator: Any) -> bool:
    """Whether the method accepts missing values."""
    return bool(estimator.__sklearn_tags__().input_tags.allow_nan)


def standardise(X: Any, scale: str) -> tuple[Any, Any, Any]:
    """Return the scaled data, the values subtracted and the values divided by."""
    center, spread = np.zeros(X.shape[1]), np.ones(X.shape[1])
    if scale == "standard":
        # Divide by the maximum first: squares of very large numbers overflow.
        unit = np.maximum(np.nanmax(np.abs(X), axis=0), np.finfo(float).tiny)
        center, spread = np.nanmean(X / unit, axis=0) * unit, np.nanstd(X / unit, axis=0) * unit
    elif scale == "robust":
        low, center, high = np.nanpercentile(X, [25, 50, 75], axis=0)
        spread = np.where(
            high > low, high - low, np.nanstd(X, axis=0)
        )  # if half of the cells are equal, the quartiles are too
    spread[spread == 0] = 1.0
    return (X - center) / spread, center, spread


def fit(row: Any, estimator: Any, X: Any, label: Any) -> None:
    """Fit with a spinner; turn errors of the fit into messages."""
    mark = getattr(estimator, "unlabeled", None)
    y = None if label is None or row.supervision == "none" else labels_of(label, mark)
    try:
        with working(f"Fitting {row.name} to {X.shape[0]} rows"):
            estimator.fit(X, y)
    except EigenspanError:
        raise
    except (ValueError, TypeError, MemoryError, ArithmeticError, np.linalg.LinAlgError) as failure:
        raise Failed(f"{row.name} could not be fitted: {failure}") from failure
    if y is not None:
        _report(estimator, y, mark)


def _report(estimator: Any, y: Any, mark: Any) -> None:
    """Print how many rows had a label and, if labels are classes, how many classes there are."""
    import pandas as pd

    classes = getattr(estimator, "classes_", None)
    if classes is None and not estimator.__sklearn_tags__().target_tags.required:
        return  # the labels were not used
    labelled = ~pd.isna(y)
    if classes is not None and mark is not None:
        labelled &= y != mark
    kinds = "" if classes is None else f"{len(classes)} classes; "
    note(f"{kinds}{labelled.sum()} of {plural(len(y), 'row')} had a label.")


def labels_of(label: Any, mark: Any = None) -> Any:
    """Return labels as numbers, or as text with None for unlabelled rows, including cells equal to `mark`."""
    import pandas as pd

    if pd.api.types.is_bool_dtype(label):
        return label.astype(str).to_numpy(dtype=object)
    if pd.api.types.is_numeric_dtype(label):
        return label.to_numpy(dtype=np.float64, na_value=np.nan) if label.isna().any() else label.to_numpy()
    marks = () if mark is None else (str(mark),)
    return np.array([None if pd.isna(value) or str(value) in marks else str(value) for value in label], dtype=object)
