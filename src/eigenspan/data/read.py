"""Reading X and y: what a method declares, and the one place where it is checked.

Here, and nowhere below, ``"precomputed"`` is looked for: a parameter of that value says that X holds pairs of points.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import validate_data

from .._checks import kinds_of, refuse_complex, refuse_no_table
from ..errors import GraphError, InputError
from ..numerics.memory import is_lazy, refuse_lazy
from ..numerics.nearest.metric import as_metric
from .rows.dask_rows import LazyRows, lazy_table
from .rows.storage import is_tall, on_disk, refuse_out_of_range
from .sample import Sample
from .x import Affinities, Distances, KernelValues, Points, as_rows

#: What X holds where this parameter is "precomputed".
_TABLES: dict[str, Any] = {"kernel": KernelValues, "metric": Distances, "graph": Distances}


@dataclass(frozen=True)
class Input:
    """What a method takes. Where parameters decide, an attribute is a function of the estimator, and `of` asks it.

    Attributes
    ----------
    pairs : tuple of str
        Parameters that may say ``"precomputed"``; the first that is not None decides. None of them: X holds points.
    inside : str or None
        The parameter that holds the estimator whose parameters these are; None for the estimator itself.
    y : Reader or None
        What is read from y; None where it is ignored.
    sparse : bool
        Sparse X is taken as it is.
    missing : {"refuse", "allow"}
        What to do with NaN in X.
    linear : bool
        The map is a matrix: rows of any precision may stay as they are, and no row of X is needed after the fit.
    one_pass : bool
        Sums over the rows are all that is needed: of many rows, the pass that adds them up looks for NaN too.
    blocks : bool
        Rows may stay where they are, in the blocks of a Dask collection; so they may wherever one pass over them is all.
    idle : callable or None
        Raises where the estimator has parameters that would have no effect beside others.
    """

    pairs: Any = ()
    inside: str | None = None
    y: Any = None
    sparse: Any = False
    missing: str = "refuse"
    linear: Any = False
    one_pass: Any = False
    blocks: Any = False
    idle: Any = None

    def of(self, estimator: Any) -> Input:
        """What this estimator takes, its parameters being what they are."""
        asked = {field.name: getattr(self, field.name) for field in fields(self)}
        rules = {name for name, value in asked.items() if callable(value)} - {"idle"}
        return Input(**{name: value(estimator) if name in rules else value for name, value in asked.items()})


def read(estimator: Any, X: Any, y: Any = None) -> tuple[Sample, dict[str, Any]]:
    """X and y as values to work on, and what scikit-learn remembers of them (``n_features_in_`` and the like)."""
    declared = estimator._input.of(estimator)
    kind = _kind(estimator, declared)
    _refuse_pairs_elsewhere(estimator, declared)
    if declared.idle is not None:
        declared.idle(estimator)
    if is_lazy(X) and kind is Points and _takes_blocks(declared):
        return _read_lazy(estimator, X, y, declared)
    _refuse_lazy_rows(estimator, X)
    one_pass = declared.one_pass and kind is Points and is_tall(X)
    values, seen = _checked_and_seen(estimator, X, declared, reset=True, finite=not one_pass, ensure_min_samples=2)
    x: Any
    if kind is Points:
        if not one_pass and declared.missing == "refuse":
            refuse_out_of_range(values)
        rows = as_rows(values, declared.linear)
        x = Points(rows if declared.linear else _own(rows, X), one_pass)
    else:
        x = kind.read(values)
    target = None
    if declared.y is not None:
        target = declared.y.read(y, x.n, name=type(estimator).__name__, unlabeled=getattr(estimator, "unlabeled", None))
    return Sample(x, target, table=values, given=y), seen


def _read_lazy(estimator: Any, X: Any, y: Any, declared: Input) -> tuple[Sample, dict[str, Any]]:
    """The same of rows that stay where they are: nothing is looked at yet but the names and types of the columns."""
    rows = lazy_table(X)
    _refuse_equal_names(_outline(rows))
    twin = copy.copy(estimator)
    validate_data(twin, _outline(rows), reset=True, skip_check_array=True)
    target = None
    if declared.y is not None:
        mark = getattr(estimator, "unlabeled", None)
        target = declared.y.read_lazy(y, rows, name=type(estimator).__name__, unlabeled=mark)
    return Sample(Points(rows, True), target, table=rows, given=y), _seen(twin)


def _takes_blocks(declared: Input) -> bool:
    """Rows may stay where they are, and so may what is read beside them."""
    return bool(declared.one_pass or declared.blocks) and (declared.y is None or hasattr(declared.y, "read_lazy"))


def _outline(rows: LazyRows) -> Any:
    """A table of no rows, with the names of the columns where they have any."""
    return rows.meta if hasattr(rows.meta, "columns") else np.empty((0, rows.width), rows.dtype)


def _refuse_lazy_rows(estimator: Any, X: Any) -> None:
    name = type(estimator).__name__
    asks = getattr(estimator, "_needs_rows", lambda: None)()
    ways = "; landmarks=m lets m rows stand for all of them" if _stays_by_landmarks(estimator) else ""
    ways = getattr(estimator, "_elsewhere", ways)
    refuse_lazy(X, why=f"{name}{f' with {asks}' if asks else ''} needs all rows in the memory of one process{ways}")


def _stays_by_landmarks(estimator: Any) -> bool:
    """With landmarks, its rows could stay where they are."""
    twin = copy.copy(estimator)
    if not hasattr(twin, "landmarks") or twin.landmarks is not None:
        return False
    twin.landmarks = 1
    return _takes_blocks(twin._input.of(twin))


def read_part(estimator: Any, X: Any, *, first: bool) -> tuple[Any, dict[str, Any]]:
    """Some of the rows of a fit in parts, and what scikit-learn remembers of the first; sums over them look for NaN."""
    finite = not (isinstance(X, np.ndarray) and X.dtype in (np.float32, np.float64))
    return _checked_and_seen(estimator, X, estimator._input.of(estimator), reset=first, finite=finite)


def read_new_lazy(estimator: Any, X: Any) -> LazyRows:
    """Rows of new points that stay where they are; what they hold is checked where they are mapped."""
    rows = lazy_table(X)
    validate_data(estimator, _outline(rows), reset=False, skip_check_array=True)
    return rows


def read_new(estimator: Any, X: Any) -> tuple[Any, Any]:
    """Rows of new points, checked, and the same as the map takes them."""
    declared = estimator._input.of(estimator)
    kind = _kind(estimator, declared)
    # a NaN in a row is one in its linear image: no pass over X to look for it
    finite = not (declared.linear and kind is Points and isinstance(X, np.ndarray))
    values = _checked(estimator, X, declared, reset=False, finite=finite)
    values = kind.accept_new(values)
    return values, as_rows(values, declared.linear)


def is_pairwise(estimator: Any) -> bool:
    """X holds distances, affinities or kernel values instead of coordinates."""
    return _kind(estimator, estimator._input.of(estimator)) is not Points


def _kind(estimator: Any, declared: Input) -> Any:
    """The class of what X holds."""
    owner = estimator if declared.inside is None else getattr(estimator, declared.inside, None)
    for name in declared.pairs:
        value = getattr(owner, name, None)
        if value is None:
            continue
        if not is_precomputed(value):
            return Points
        weighed = name != "kernel" and is_precomputed(getattr(owner, "weights", None))
        return Affinities if weighed else _TABLES[name]
    return Points


def is_precomputed(value: Any) -> bool:
    """A parameter of this value says that X holds pairs of points."""
    name = getattr(value, "name", value)
    return isinstance(name, str) and name == "precomputed"


def _refuse_pairs_elsewhere(estimator: Any, declared: Input) -> None:
    """A method over coordinates cannot have distances for them; and two parameters must not tell two tales of X."""
    if not hasattr(estimator, "graph"):
        return
    graph, metric = estimator.graph, getattr(estimator, "metric", None)
    if hasattr(estimator, "metric"):
        refuse_two_metrics(graph, metric, estimator.metric_params)
        as_metric("euclidean" if metric is None else metric, estimator.metric_params)
    if "graph" not in declared.pairs and is_precomputed(metric if graph is None else graph):
        raise GraphError(
            f'{type(estimator).__name__} maps coordinates, so X cannot hold distances as graph="precomputed" says: pass X and the graph '
            "itself, as a sparse matrix of distances or a pair (indices, distances)."
        )


def _checked_and_seen(estimator: Any, X: Any, declared: Input, **rule: Any) -> tuple[Any, dict[str, Any]]:
    """X, checked, and what scikit-learn noted on whom it checked for: a copy, for the estimator stays as it is until the fit is done."""
    twin = copy.copy(estimator)
    return _checked(twin, X, declared, **rule), _seen(twin)


def _seen(twin: Any) -> dict[str, Any]:
    """What scikit-learn noted."""
    return {name: vars(twin)[name] for name in ("n_features_in_", "feature_names_in_") if name in vars(twin)}


def _checked(estimator: Any, X: Any, declared: Input, *, reset: bool, finite: bool, **limits: Any) -> Any:
    allowed: Any = finite if declared.missing == "refuse" else "allow-nan"
    return checked_rows(estimator, X, reset=reset, sparse=declared.sparse, ensure_all_finite=allowed, **limits)


def checked_rows(
    estimator: Any, X: Any, *, sparse: bool = False, dtype: Any = (np.float64, np.float32), **rule: Any
) -> Any:
    """X as scikit-learn checks it, and what it would let pass refused."""
    refuse_lazy(X)
    refuse_disguised(X)
    _refuse_equal_names(X)
    # scikit-learn sums X to look for what is not finite
    with np.errstate(over="ignore", invalid="ignore"), _naming_words(X):
        return validate_data(estimator, X, dtype=dtype, accept_sparse="csr" if sparse else False, **rule)


def refuse_disguised(X: Any) -> None:
    """Refuse what is no table, and what numpy would turn into numbers without a word."""
    if X is not None:
        refuse_no_table(X)
    if np.ma.isMaskedArray(X):
        raise InputError(
            f"X is a masked array, with {int(np.ma.count_masked(X))} of {X.size} values masked, and what lies under a mask would be taken "
            "for data: pass X.filled(np.nan), or fill the values in first."
        )
    kinds = kinds_of(X)
    refuse_complex(kinds, "X", InputError)
    if any(getattr(kind, "kind", "") in "mM" and getattr(kind, "kind", "") for kind in kinds):
        raise InputError(
            "X holds dates or times, whose size depends on their unit: turn them into numbers that mean something first."
        )


def _refuse_equal_names(X: Any) -> None:
    """Refuse a table in which two columns share a name: new rows are matched to the columns of the fit by name."""
    names = getattr(X, "columns", None)
    if names is None or getattr(names, "is_unique", True):
        return
    twice = [repr(name) for name in names[names.duplicated()].unique()]
    listed = ", ".join(twice[:5]) + (", …" if len(twice) > 5 else "")
    raise InputError(
        f"X has {len(names)} columns with {names.nunique()} different names: {listed} occur more than once, and columns are matched by "
        "name. Rename them, or pass X.to_numpy()."
    )


@contextmanager
def _naming_words(X: Any) -> Iterator[None]:
    """Around a conversion of X to numbers: where it fails because X holds words, or nothing, say which columns."""
    try:
        yield
    except ValueError:
        if X is None:
            raise InputError("X is None: pass a table of numbers, a row for each point.") from None
        if getattr(X, "shape", ())[1:] == (0,):
            raise InputError(
                f"Found array with 0 feature(s) (shape={X.shape}) while a minimum of 1 is required: the table has no columns."
            ) from None
        _refuse_words(X)
        raise


def _refuse_words(X: Any) -> None:
    count, columns = _columns_of_no_numbers(X)
    words = {j: word for j, column in columns if (word := next(filter(_is_word, column), None)) is not None}
    if words:
        j, word = next(iter(words.items()))
        name = repr(X.columns[j]) if hasattr(X, "columns") else j
        raise InputError(
            f"Column {name} of X holds text, such as {str(word)!r:.40}, as do {len(words)} of {count} columns in all, and numbers are "
            "needed: leave such columns out, or turn them into numbers (pandas.get_dummies, OneHotEncoder)."
        ) from None


def _columns_of_no_numbers(X: Any) -> tuple[int, Iterable[tuple[int, Any]]]:
    """How many columns there are, and those whose type is not one of numbers: the others may be large, and are not looked at."""
    kinds = kinds_of(X)
    others = [j for j, kind in enumerate(kinds) if getattr(kind, "kind", "O") not in "biufc"]
    if hasattr(X, "columns"):
        return len(kinds), ((j, X.iloc[:, j] if hasattr(X, "iloc") else X[:, j]) for j in others)
    values = np.array(X, dtype=object) if others or not kinds else np.empty(0)
    return values.shape[-1], enumerate(values.T) if values.ndim == 2 else ()


def _is_word(value: Any) -> bool:
    """Text that does not spell a number."""
    if not isinstance(value, str | bytes):
        return False
    try:
        float(value)
    except ValueError:
        return True
    return False


def _own(values: Any, X: Any) -> Any:
    """A copy where the caller could write on the rows that a map goes on comparing with; a file is not copied."""
    if sp.issparse(values):
        shared = getattr(X, "format", "") == "csr" and np.shares_memory(values.data, X.data)
    else:
        shared = not on_disk(values) and np.may_share_memory(values, np.asarray(X))
    return values.copy() if shared else values


def refuse_two_metrics(graph: Any, metric: Any, parameters: dict[str, Any] | None) -> None:
    if graph is None or (metric is None and parameters is None):
        return
    if isinstance(graph, str) and isinstance(metric, str) and graph == metric and parameters is None:
        return
    if getattr(graph, "metric", None) != metric or getattr(graph, "metric_params", None) != parameters:
        given = f"metric={metric!r}" + ("" if parameters is None else f", metric_params={parameters!r}")
        shown = repr(graph) if isinstance(graph, str) or hasattr(graph, "get_params") else f"a {type(graph).__name__}"
        raise GraphError(
            f"{given} and graph={shown} both say how points are compared, and not the same. Give the metric in the graph, as in "
            "KNN(10, metric=...), or leave graph= out and set n_neighbors= and metric=."
        )
