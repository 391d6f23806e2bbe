"""Fits with given parameters, their visible results, and comparison of two of them."""

from __future__ import annotations

import contextlib
import inspect
import io
import re
import warnings
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp

import eigenspan as es
from awkward_subjects import on_purpose
from effect_values import DATA, NUMBERS, THEIRS, Calls
from eigenspan.methods.registry import all_rows
from parameter_values import AFFINITIES, DISTANCES, KERNEL, LABELS, SOME, N, X

#: Differences below this share of an attribute's size are rounding errors.
TOLERANCE = 1e-6
#: Coarse settings for faster tests, for methods that have these parameters.
STARTS: dict[str, dict[str, Any]] = {
    "unfolding": {"tol": 0.2},
    "Anchored": {"embedding": es.LTSA(2)},
    "LaplacianMVU": {"n_neighbors": 5},
    "MaximumCovarianceUnfolding": {"n_neighbors": 4},
    "TSNE": {"max_iter": 250, "perplexity": 5.0},
    "PDDP": {"n_clusters": 3},
    "SpectralClustering": {"n_clusters": 3},
    "ManifoldKDR": {"tol": 0.05},
}
#: `External` is walked through the methods that wrap one estimator each.
ROWS = {row.name: row for row in all_rows() if row.name != "External"}


@dataclass(frozen=True)
class Outcome:
    """Visible results of a fit."""

    values: dict[str, Any] = field(default_factory=dict)
    printed: str = ""
    warned: tuple[str, ...] = ()
    error: str = ""
    on_purpose: bool = True


# ---------------------------------------------------------------------- fits
def start(name: str) -> dict[str, Any]:
    return {**STARTS.get(ROWS[name].family, {}), **STARTS.get(name, {})}


def parameters(name: str) -> dict[str, Any]:
    """Return the defaults of a method, without those of scikit-learn's classes."""
    own = {p: value.default for p, value in inspect.signature(ROWS[name].build).parameters.items()}
    return {p: own[p] for p in ("n_neighbors", "n_jobs")} if name in THEIRS else own


def labels(name: str, data: str) -> Any:
    """Return y for fit."""
    if name == "KernelLearner":
        two = np.where(LABELS > 0, 1, 0)
        return np.where(np.arange(N) % 4 == 1, -1, two)
    if data == "classes":
        return LABELS
    if data == "few labels":
        return np.where(np.arange(N) % 4 == 0, LABELS, -1)
    if data == "marked":
        return np.where(np.arange(N) % 4 == 1, -1, LABELS)
    kind = "other views" if name == "MultiviewCCA" else str(ROWS[name].supervision)
    known = {
        "none": None,
        "labels": LABELS,
        "actions": LABELS,
        "response": NUMBERS,
        "other view": np.column_stack([NUMBERS, X[:, 1] ** 2, X[:, 2]]),
        "other views": (np.column_stack([NUMBERS, X[:, 1] ** 2]), np.sqrt(X[:, 1:4])),
        "coordinates": np.where(np.arange(N)[:, None] % 2 == 0, X[:, :2], np.nan),
    }
    return known.get(kind, SOME)


def given(name: str, data: str, params: dict[str, Any]) -> Any:
    """Return X for fit: rows, or a precomputed matrix if a parameter asks for it."""
    rows = DATA.get(data, X)
    said = {key for key, value in params.items() if isinstance(value, str) and value == "precomputed"}
    if "kernel" in said and params.get("basis", "kernel") == "kernel":
        return KERNEL
    if "graph" in said or ("metric" in said and params.get("graph") is None):
        return AFFINITIES if "weights" in said else DISTANCES
    return np.rint(rows * 20) if name == "ContingencySDR" else rows


def new_points(fit_to: Any) -> Any:
    """Return rows that are not in the fit."""
    if fit_to is KERNEL or fit_to is AFFINITIES:
        return fit_to[:6] * 0.9
    return fit_to[:6] * 1.1 if fit_to is DISTANCES else fit_to[:6] * 1.03 + 0.01


def build(name: str, params: dict[str, Any]) -> Any:
    return ROWS[name].build(**{**start(name), **params})


def outcome(name: str, data: str, params: dict[str, Any]) -> Outcome:
    return _outcome(name, data, Key(params))


def forget() -> None:
    """Clear the cache of fits."""
    _outcome.cache_clear()


class Key:
    """Parameters as a cache key, compared by their representation."""

    def __init__(self, params: dict[str, Any]) -> None:
        self.params = params
        self.text = repr(sorted((p, spelled(v)) for p, v in params.items()))

    def __hash__(self) -> int:
        return hash(self.text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Key) and self.text == other.text


def spelled(value: Any) -> str:
    with np.printoptions(threshold=100000):
        return repr(value.toarray() if sp.issparse(value) else value)


@cache
def _outcome(name: str, data: str, key: Key) -> Outcome:
    params, printed = key.params, io.StringIO()
    with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(printed):
        warnings.simplefilter("always")
        try:
            estimator = build(name, params)
            fit_to = given(name, data, {**start(name), **params})
            estimator.fit(fit_to, labels(name, data))
            values = seen(estimator, fit_to)
        except Exception as error:
            return Outcome(error=f"{type(error).__name__}: {error}", on_purpose=on_purpose(error))
    said = tuple(str(w.message) for w in caught)
    return Outcome(values, re.sub(r"[\d.]+", "", printed.getvalue()), said)


# ---------------------------------------------------------------------- what is seen of a fit
def seen(estimator: Any, fit_to: Any) -> dict[str, Any]:
    """Return fitted attributes and the transform of new points as arrays."""
    properties = [name for name, kind in inspect.getmembers(type(estimator)) if isinstance(kind, property)]
    names = [name for name in (*vars(estimator), *properties) if name.endswith("_") and name[0] != "_"]
    found = {name: getattr(estimator, name) for name in names if hasattr(estimator, name)}
    record = found.pop("diagnostics_", {})
    values = {name: array for name, value in found.items() if (array := _array(value)) is not None}
    values |= {name: np.array(str(record[name])) for name in ("solver", "search") if name in record}
    for method in ("transform", "predict", "decision_function"):
        if hasattr(estimator, method):
            values[method] = np.asarray(getattr(estimator, method)(new_points(fit_to)))
    with contextlib.suppress(Exception):
        values["inverse_transform"] = np.asarray(estimator.inverse_transform(estimator.embedding_[:5]))
    if isinstance(callback := getattr(estimator, "callback", None), Calls):
        values["calls"] = np.array(callback.count)
    return {name: value for name, value in values.items() if name not in ("residuals_", "n_features_in_", "graph_")}


def _array(value: Any) -> Any:
    if hasattr(value, "to_numpy"):
        value = value.to_numpy(dtype=float)
    if hasattr(value, "distances") and sp.issparse(value.distances):
        value = value.distances
    if sp.issparse(value):
        value = value.toarray()
    if isinstance(value, list | tuple):  # of arrays of any shapes
        return np.array(len(value))
    if isinstance(value, bool | int | float | str | np.ndarray | np.number):
        array = np.asarray(value)
        return array if array.dtype.kind in "biufUS" else None
    return None


def differs(a: Outcome, b: Outcome, parameter: str) -> str:
    """Return the name of the first difference, or "". The name of a solver or search counts only for the parameter that chooses it."""
    if a.printed != b.printed:
        return "printed output"
    for name in sorted(a.values.keys() | b.values.keys()):
        if name in ("solver", "search") and name != parameter:
            continue
        if name not in a.values or name not in b.values:
            return name
        if not _same(a.values[name], b.values[name]):
            return name
    return ""


def _same(a: Any, b: Any) -> bool:
    if a.shape != b.shape:
        return False
    if a.dtype.kind not in "iuf" or b.dtype.kind not in "iuf":
        return bool(np.array_equal(a, b))
    size = max(np.nanmax(np.abs(a), initial=0.0), np.nanmax(np.abs(b), initial=0.0))
    if not np.array_equal(np.isnan(a), np.isnan(b)):
        return False
    if not np.isfinite(size) or np.isnan(a).all():
        return bool(np.array_equal(a, b, equal_nan=True))
    near = TOLERANCE * size
    if a.ndim == 2:  # signs of axes, which are columns of embeddings and rows of components
        by_column = np.minimum(np.nanmax(np.abs(a - b), axis=0, initial=0), np.nanmax(np.abs(a + b), axis=0, initial=0))
        by_row = np.minimum(np.nanmax(np.abs(a - b), axis=1, initial=0), np.nanmax(np.abs(a + b), axis=1, initial=0))
        return bool(min(by_column.max(initial=0), by_row.max(initial=0)) <= near)
    return bool(np.nanmax(np.abs(a - b), initial=0.0) <= near)
