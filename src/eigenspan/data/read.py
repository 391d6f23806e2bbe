"""Validation of X and y by the kinds that a method declares, with errors for tables that scikit-learn would convert silently.

No other module tests parameters for the value ``"precomputed"``, which means that X holds pairs of points.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, Literal, Protocol, cast

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array

from .._checks import kinds_of, refuse_complex, refuse_no_table
from .._compat import BaseEstimator, TransformerMixin, container_of, validated
from .._parameters import Declared
from .._types import Array, Matrix, TableLike, TargetLike
from ..errors import GraphError, InputError
from ..numerics.memory import is_lazy, refuse_lazy
from ..numerics.nearest.metric import as_metric
from .objects import ObjectPairs, PairFunction, are_objects, as_objects, listed, refuse_objects
from .other_views import read_view
from .rows.block_passes import refuse_non_finite
from .rows.dask_rows import LazyRows, lazy_rows, lazy_table
from .rows.storage import in_precision_of, is_tall, on_disk, refuse_out_of_range
from .sample import Sample
from .x import Affinities, Distances, KernelValues, Pairs, Points, XKind, as_rows
from .y import LazyReader, Reader

#: The kind of X if this parameter is "precomputed".
_TABLES: dict[str, Any] = {"kernel": KernelValues, "metric": Distances, "graph": Distances}


@dataclass(frozen=True)
class Input:
    """Declaration of the X and y that a method accepts. Functions are called with the estimator (see `Reducer._accepted`).

    Attributes
    ----------
    pairs : tuple of str
        Parameters that may be ``"precomputed"``; the first that is not None decides. If all are None, X holds points.
    columns : callable or None
        Returns the kind of a table of distances that may lack the columns of points other than the landmarks; None: it is square.
    inside : str or None
        The parameter that holds the estimator whose parameters these are; None for the estimator itself.
    y : Reader or None
        Reader of y; None if y is ignored.
    sparse : bool
        Sparse X is accepted without conversion.
    missing : {"refuse", "allow"}
        Whether NaN in X is an error.
    linear : bool
        The map is a matrix: rows keep their precision, and no row of X is needed after the fit.
    blocks : bool
        Rows may stay in the blocks of a Dask collection, although the method needs more than sums over them (see `rows_needed_by`).
    instead : str
        Advice for messages: parameters with which rows may stay in these blocks.
    idle : callable or None
        Raises if a parameter of the estimator would have no effect because of another one.
    """

    pairs: tuple[str, ...] | Callable[[Any], tuple[str, ...]] = ()
    columns: Callable[[Any], type[Distances]] | None = None
    inside: str | None = None
    y: Reader | Callable[[Any], Reader | None] | None = None
    sparse: bool | Callable[[Any], bool] = False
    missing: Literal["refuse", "allow"] = "refuse"
    linear: bool | Callable[[Any], bool] = False
    blocks: bool | Callable[[Any], bool] = False
    instead: str | Callable[[Any], str] = ""
    idle: Callable[[Any], None] | None = None


@dataclass(frozen=True)
class Accepted:
    """The X and y that an estimator accepts with its present parameters: the values that `Input` declares, without functions.

    Attributes
    ----------
    name : str
        Name of the class.
    kind : type
        Kind of X.
    unlabeled : object
        Label of unlabelled points.
    function : PairFunction or None
        The kernel or metric, if it is a function: X may then be a list of objects.
    one_pass : bool
        Sums over the rows suffice: the pass that computes them checks for NaN too.
    """

    name: str
    kind: type[XKind]
    function: PairFunction | None
    unlabeled: Any
    pairs: tuple[str, ...]
    y: Reader | None
    sparse: bool
    missing: Literal["refuse", "allow"]
    linear: bool
    blocks: bool
    instead: str
    one_pass: bool


#: Attributes of `Input` that `Accepted` has too.
RESOLVED = tuple(field.name for field in fields(Accepted) if field.name in Input.__dataclass_fields__)


#: For names of parameters, the value with which statistics of the rows suffice for a fit, or a test of the value.
Sufficient = Mapping[str, Any]
#: Values of parameters with which the features are the columns of X.
_OF_FEATURES: Sufficient = {"kernel": None, "reduce": None}


def rows_needed_by(estimator: Declared) -> str | None:
    """Return the parameter that makes a method need all rows, "" if it always does, and None if sums over the rows suffice.

    A class declares this in ``_sums_suffice``. If sums suffice, rows are checked for NaN during the single pass, they may stay in
    the blocks of a Dask collection, and an estimator of a class with ``partial_fit`` has it; the default of such classes is `_OF_FEATURES`.
    """
    cls = type(estimator)
    declared: Sufficient | None = getattr(cls, "_sums_suffice", None)
    if declared is None and not hasattr(cls, "partial_fit"):
        return ""
    declared = _OF_FEATURES if declared is None else declared
    for name, enough in declared.items():
        value = getattr(estimator, name, "absent")
        if not (enough(value) if callable(enough) else value is enough or (np.isscalar(value) and value == enough)):
            named = value is not None and name in type(estimator)._parameters
            return "" if not named else f'{name}="auto"' if isinstance(value, str) and value == "auto" else f"{name}="
    return None


def read(
    estimator: Declared, accepted: Accepted, X: TableLike, y: TargetLike
) -> tuple[Sample[XKind, Any], dict[str, object]]:
    """Return X and y as a sample, and the attributes that scikit-learn defines for them (``n_features_in_`` and the like)."""
    points, lazy = accepted.kind is Points, is_lazy(X)
    _refuse_pairs_elsewhere(estimator, accepted)
    if accepted.function is not None and are_objects(X, compared=True):
        return _read_objects(ObjectPairs(accepted.function, as_objects(X)), y, accepted)
    _refuse_compared_in_graph(estimator, X)
    if lazy and points and _takes_blocks(accepted):
        return _read_lazy(estimator, X, y, accepted)
    if lazy:
        _refuse_lazy_rows(estimator, accepted, X)
    one_pass = accepted.one_pass and points and is_tall(X)
    twin = cast(BaseEstimator, copy.copy(estimator))  # the estimator itself is not changed until the fit has succeeded
    values = checked_rows(twin, X, accepted.sparse, accepted.missing, finite=not one_pass, least=2)
    x: XKind
    if isinstance(accepted.kind, type) and issubclass(accepted.kind, Pairs):
        x = accepted.kind.read(values)
    else:
        if not one_pass and accepted.missing == "refuse":
            refuse_out_of_range(values)
        rows = as_rows(values, accepted.linear)
        x = Points(rows if accepted.linear else _own(rows, X), one_pass)
    return _with_y(x, y, accepted, values), _seen(twin)


def refuse_distributed(x: XKind, name: str) -> None:
    """Raise if rows that are to have weights are a Dask collection."""
    if x.lazy:
        raise InputError(
            f"X is a Dask collection, and {name} weights only rows in the memory of one process: pass X.compute() with sample_weight=, or "
            "leave sample_weight= out."
        )


def read_weights(sample_weight: object, n: int) -> Array:
    """Return one weight per row, in double precision. Raise unless they are finite, not negative, and not all zero."""
    refuse_lazy(sample_weight, "sample_weight")
    refuse_complex(kinds_of(sample_weight), "sample_weight", InputError)
    given: Any = sample_weight
    try:
        weights = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"sample_weight must hold {n} numbers; got {given!r:.60}.") from None
    if weights.shape != (n,):
        raise InputError(f"sample_weight has shape {weights.shape}; pass one number per row of X, shape ({n},).")
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if bad.size:
        raise InputError(
            f"{bad.size} of the {n} values of sample_weight are negative, NaN or infinite, such as sample_weight[{bad[0]}]="
            f"{weights[bad[0]]:.6g}: a weight says how often a row counts. Use 0 for rows that are to be left out of the fit."
        )
    if not weights.any():
        raise InputError(f"All {n} values of sample_weight are zero: no row is left to fit.")
    return weights


def _with_y(x: XKind, y: TargetLike, accepted: Accepted, table: Matrix) -> Sample[XKind, Any]:
    """Return the sample of X and what the method reads from y."""
    target, given = None, cast(Any, y)  # each reader checks the kinds of y that it accepts
    if accepted.y is not None:
        target = accepted.y.read(given, x.n, name=accepted.name, unlabeled=accepted.unlabeled)
    return Sample(x, target, table=table, given=y)


def _read_objects(
    pairs: ObjectPairs, y: TargetLike, accepted: Accepted
) -> tuple[Sample[XKind, Any], dict[str, object]]:
    """Return a list of objects as the table of their kernel values or distances, and the objects as a fitted attribute."""
    if pairs.n < 2:
        raise InputError(f"X is a list of {pairs.n} object(s); a minimum of 2 is required.")
    values = pairs.table()
    kind: Any = _TABLES[pairs.function.parameter]
    return _with_y(kind.read(values), y, accepted, values), {"objects_": pairs}


def _read_lazy(
    estimator: Declared, X: TableLike, y: TargetLike, accepted: Accepted
) -> tuple[Sample, dict[str, object]]:
    """Return rows of a Dask collection as a sample. Only the names and types of the columns are checked here."""
    rows = lazy_table(X)
    refuse_equal_names(outline_of(rows))
    twin = cast(BaseEstimator, copy.copy(estimator))
    validated(twin, outline_of(rows), reset=True, values=False)
    target = None
    if isinstance(accepted.y, LazyReader):
        given: Any = y
        target = accepted.y.read_lazy(given, rows, name=accepted.name, unlabeled=accepted.unlabeled)
    return Sample(Points(rows, True), target, table=rows, given=y), _seen(twin)


def _takes_blocks(accepted: Accepted) -> bool:
    """Return whether X, and y beside it, may be Dask collections."""
    return (accepted.one_pass or accepted.blocks) and (accepted.y is None or isinstance(accepted.y, LazyReader))


def outline_of(rows: LazyRows) -> TableLike:
    """Return a table of no rows, with the names of the columns if they have any."""
    return rows.meta if hasattr(rows.meta, "columns") else np.empty((0, rows.width), rows.dtype)


def _refuse_lazy_rows(estimator: Declared, accepted: Accepted, X: TableLike) -> None:
    asks = rows_needed_by(estimator)
    ways = "; landmarks=m fits m of the rows instead" if _stays_by_landmarks(estimator) else accepted.instead
    why = f"{accepted.name}{f' with {asks}' if asks else ''} needs all rows in the memory of one process{ways}"
    refuse_lazy(X, why=why)


def _stays_by_landmarks(estimator: Declared) -> bool:
    """Return True if rows may stay in Dask blocks when ``landmarks=`` is set."""
    twin: Any = copy.copy(estimator)
    if not hasattr(twin, "landmarks") or twin.landmarks is not None:
        return False
    twin.landmarks = 1
    return _takes_blocks(twin._accepted())


class Accepts(Protocol):
    """An estimator that declares the X and y it accepts."""

    def _accepted(self) -> Accepted: ...


def read_part(estimator: Accepts, X: TableLike, *, first: bool) -> tuple[Matrix, dict[str, object]]:
    """Return rows that are added to a fit, and the attributes that scikit-learn defines for X. Sums over the rows check for NaN."""
    accepted = estimator._accepted()
    finite, twin = (
        not (isinstance(X, np.ndarray) and X.dtype in (np.float32, np.float64)),
        cast(BaseEstimator, copy.copy(estimator)),
    )
    return checked_rows(twin, X, accepted.sparse, accepted.missing, finite=finite, reset=first), _seen(twin)


def read_new(estimator: Accepts, X: TableLike) -> tuple[Matrix, Matrix]:
    """Return new points after validation, and these rows in the format of the map."""
    accepted, held = estimator._accepted(), vars(estimator).get("objects_")
    if isinstance(held, ObjectPairs):  # fitted to a list of objects
        values = _TABLES[held.function.parameter].accept_new(held.rows(X))
        return values, values
    # a linear map turns NaN into NaN, so its result can be checked instead
    finite = not (accepted.linear and accepted.kind is Points and isinstance(X, np.ndarray))
    scikit = cast(BaseEstimator, estimator)
    values = checked_rows(scikit, X, accepted.sparse, accepted.missing, finite=finite, reset=False)
    values = accepted.kind.accept_new(values)
    return values, as_rows(values, accepted.linear)


def kind_of(owner: object, pairs: tuple[str, ...]) -> type[XKind]:
    """Return the kind of X: the first parameter in `pairs` that is not None decides."""
    for name in pairs:
        value = getattr(owner, name, None)
        if value is not None:
            if not is_precomputed(value):
                return Points
            weighed = name != "kernel" and is_precomputed(getattr(owner, "weights", None))
            return Affinities if weighed else _TABLES[name]
    return Points


def function_of(owner: object, pairs: tuple[str, ...]) -> PairFunction | None:
    """Return the function by which objects are compared: the first parameter in `pairs` that is not None, if it is a function."""
    name = next((name for name in pairs if getattr(owner, name, None) is not None), None)
    value: Any = getattr(owner, name, None) if name else None
    if name is None or not callable(value) or hasattr(value, "get_params"):
        return None
    parameters = (getattr(owner, "metric_params", None) or {}) if name == "metric" else {}
    return PairFunction(name, partial(value, **parameters) if parameters else value)


def is_precomputed(value: object) -> bool:
    """Return True for the value of a parameter that means that X holds pairs of points."""
    name = getattr(value, "name", value)
    return isinstance(name, str) and name == "precomputed"


def _refuse_pairs_elsewhere(estimator: Declared, accepted: Accepted) -> None:
    """Raise if ``graph=`` and ``metric=`` contradict each other, or imply distances in X although the method needs coordinates."""
    if not hasattr(estimator, "graph"):
        return
    graph, metric = estimator.graph, getattr(estimator, "metric", None)
    if hasattr(estimator, "metric"):
        parameters = getattr(estimator, "metric_params", None)
        _refuse_two_metrics(graph, metric, parameters)
        as_metric("euclidean" if metric is None else metric, parameters)
    if "graph" not in accepted.pairs and is_precomputed(metric if graph is None else graph):
        raise GraphError(
            f'{accepted.name} maps coordinates, so X cannot hold distances as graph="precomputed" says: pass X and the graph '
            "itself, as a sparse matrix of distances or a pair (indices, distances)."
        )


def _refuse_compared_in_graph(estimator: object, X: object) -> None:
    """Raise if X is a list of objects, and the function that compares them is the metric of ``graph=``."""
    graph = getattr(estimator, "graph", None)
    if callable(getattr(graph, "metric", None)) and are_objects(X, compared=True):
        raise InputError(
            f"graph={type(graph).__name__}(metric=f) searches neighbours among rows of numbers, and X is a list of "
            f"{len(listed(X) or ())} objects. Where the method has metric=, leave graph= out and give n_neighbors= and metric=f."
        )


def _seen(twin: object) -> dict[str, object]:
    """Return the attributes that scikit-learn's validation has set."""
    return {name: vars(twin)[name] for name in ("n_features_in_", "feature_names_in_") if name in vars(twin)}


def _own(values: Matrix, X: TableLike) -> Matrix:
    """Copy rows that share memory with X: the map keeps them, and the caller may overwrite X. Files are not copied."""
    if sp.issparse(values):
        shared = getattr(X, "format", "") == "csr" and np.shares_memory(values.data, sp.csr_array(X).data)
    else:
        shared = not on_disk(values) and np.may_share_memory(values, np.asarray(X))
    return values.copy() if shared else values


def _refuse_two_metrics(graph: object, metric: object, parameters: dict[str, object] | None) -> None:
    """Raise if a graph and ``metric=`` specify different metrics."""
    if graph is None or (metric is None and parameters is None):
        return
    if isinstance(graph, str) and isinstance(metric, str) and graph == metric and parameters is None:
        return
    if getattr(graph, "metric", None) != metric or getattr(graph, "metric_params", None) != parameters:
        given = f"metric={metric!r}" + ("" if parameters is None else f", metric_params={parameters!r}")
        shown = repr(graph) if isinstance(graph, str) or hasattr(graph, "get_params") else f"a {type(graph).__name__}"
        raise GraphError(
            f"{given} and graph={shown} specify different metrics. Give the metric in the graph, as in "
            "KNN(10, metric=...), or leave graph= out and set n_neighbors= and metric=."
        )


# ---------------------------------------------------------------------- tables of numbers
def checked_rows(
    estimator: BaseEstimator,
    X: TableLike,
    sparse: bool = False,
    missing: Literal["refuse", "allow"] = "refuse",
    *,
    finite: bool = True,
    dtype: type | tuple[type, ...] = (np.float64, np.float32),
    reset: bool = True,
    least: int = 1,
) -> Matrix:
    """Return X as an array or a CSR matrix of numbers, as scikit-learn validates it. Raise also where scikit-learn would convert silently.

    Parameters
    ----------
    sparse : bool
        Sparse X is accepted.
    missing : {"refuse", "allow"}
        What to do with NaN.
    finite : bool
        Look for NaN and infinity.
    reset : bool
        Remember the number and names of the columns on the estimator, instead of comparing them.
    least : int
        Smallest number of rows.
    """
    refuse_lazy(X)
    refuse_disguised(X)
    refuse_equal_names(X)
    formats, allowed = "csr" if sparse else False, finite if missing == "refuse" else "allow-nan"
    rule: dict[str, Any] = {"dtype": dtype, "accept_sparse": formats, "ensure_all_finite": allowed}
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # scikit-learn sums X to find values that are not finite
            return validated(estimator, X, reset=reset, ensure_min_samples=least, **rule)
    except ValueError:
        _explain_refusal(X)
        raise


def refuse_disguised(X: Any, *, objects: bool = False) -> None:
    """Raise if X is no table, or if numpy would give its values another meaning: objects, masked values, complex numbers, dates.

    Objects are accepted on request, where rows are only counted and selected.
    """
    if X is not None:
        refuse_no_table(X)
    if not objects:
        refuse_objects(X)
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


def refuse_equal_names(X: Any) -> None:
    """Raise if two columns share a name: columns of new rows are matched by name."""
    names = getattr(X, "columns", None)
    if names is None or getattr(names, "is_unique", True):
        return
    twice = [repr(name) for name in names[names.duplicated()].unique()]
    listed = ", ".join(twice[:5]) + (", …" if len(twice) > 5 else "")
    raise InputError(
        f"X has {len(names)} columns with {names.nunique()} different names: {listed} occur more than once, and columns are matched by "
        "name. Rename them, or pass X.to_numpy()."
    )


def _explain_refusal(X: Any) -> None:
    """Raise an error that names the reason why X could not be converted to numbers, if it is known."""
    if X is None:
        raise InputError("X is None: pass a table of numbers with one row per point.") from None
    if getattr(X, "shape", ())[1:] == (0,):
        raise InputError(
            f"Found array with 0 feature(s) (shape={X.shape}) while a minimum of 1 is required: the table has no columns."
        ) from None
    kinds = kinds_of(X)
    others = [j for j, kind in enumerate(kinds) if getattr(kind, "kind", "O") not in "biufc"]
    if hasattr(X, "columns"):
        count, columns = len(kinds), [(j, X.iloc[:, j] if hasattr(X, "iloc") else X[:, j]) for j in others]
    else:
        values = np.array(X, dtype=object) if others or not kinds else np.empty(0)
        count, columns = values.shape[-1], list(enumerate(values.T)) if values.ndim == 2 else []
    words = {j: word for j, column in columns if (word := next(filter(_is_word, column), None)) is not None}
    if words:
        j, word = next(iter(words.items()))
        name = repr(X.columns[j]) if hasattr(X, "columns") else j
        raise InputError(
            f"Column {name} of X holds text, such as {str(word)!r:.40}, as do {len(words)} of {count} columns in all, and numbers are "
            "needed: leave such columns out, or turn them into numbers (pandas.get_dummies, OneHotEncoder)."
        ) from None


def _is_word(value: object) -> bool:
    """Return True for text that cannot be converted to a number."""
    if not isinstance(value, str | bytes):
        return False
    try:
        float(value)
    except ValueError:
        return True
    return False


# ---------------------------------------------------------------------- new points
Function = Callable[[Any], Array]


class Transformer(TransformerMixin, BaseEstimator):
    """The class of all estimators here, for type checkers."""


class NewPoints(Protocol):
    """New points after validation."""

    @property
    def width(self) -> int:
        """Number of columns."""

    def images(self, function: Function, width: int) -> Array:
        """Return the images of the rows, `width` numbers each, in the precision and the storage of the points."""


@dataclass(frozen=True, eq=False)
class HeldPoints:
    """Points in memory or in a file: their values, and these in the format of the map."""

    values: Matrix
    rows: Matrix

    @property
    def width(self) -> int:
        return int(self.values.shape[1])

    def images(self, function: Function, width: int) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):  # new points may be far from the training points
            Y = function(self.rows)
        return in_precision_of(self.values, Y)


@dataclass(frozen=True, eq=False)
class PointsInBlocks:
    """Points of a Dask collection. The workers apply the function, and the images are a Dask array of the same blocks."""

    rows: LazyRows
    linear: bool = True
    gaps: bool = False

    @property
    def width(self) -> int:
        return self.rows.width

    def images(self, function: Function, width: int) -> Array:
        found: Array = self.rows.images(Placed(function, self.linear, self.gaps), width, self.rows.dtype)
        return found


@dataclass(frozen=True, eq=False)
class Placed:
    """Map of an estimator for blocks of rows that have not been validated. Picklable: workers receive it instead of the estimator."""

    map: Function
    linear: bool = False
    gaps: bool = False

    def __call__(self, X: Matrix) -> Array:
        if not (self.linear or self.gaps):
            refuse_non_finite(X)
        with np.errstate(over="ignore", invalid="ignore"):
            return in_precision_of(X, self.map(as_rows(X, self.linear)))


def new_points(estimator: Accepts, X: TableLike) -> NewPoints:
    """Return new points of the training points' columns."""
    if not is_lazy(X):
        return HeldPoints(*read_new(estimator, X))
    accepted, transformer = estimator._accepted(), cast(Transformer, estimator)
    _refuse_container(transformer)
    return PointsInBlocks(_read_new_lazy(transformer, X), accepted.linear, accepted.missing == "allow")


def embedded_points(Y: TableLike, d: int) -> NewPoints:
    """Return points of an embedding of d dimensions."""
    if is_lazy(Y):
        return PointsInBlocks(lazy_table(Y, "Y", d))
    found = check_embedded(Y, d)
    return HeldPoints(found, found)


def points_of_view(y: TargetLike, *, sparse: bool) -> NewPoints:
    """Return new points of another view, whose columns are not checked."""
    if is_lazy(y):
        return PointsInBlocks(lazy_rows(y, "y", numbers=True))
    found = read_view(y, sparse=sparse)
    return HeldPoints(found, found)


def check_embedded(Y: TableLike, d: int) -> Array:
    """Return points of the embedding as a finite array with d columns."""
    with np.errstate(over="ignore", invalid="ignore"):
        found: Array = check_array(Y, dtype=[np.float64, np.float32], ensure_2d=False, input_name="Y")
    if found.ndim != 2 or found.shape[1] != d:
        raise InputError(f"Y must have shape (n_points, {d}); got {found.shape}.")
    return found


def _read_new_lazy(estimator: Transformer, X: TableLike) -> LazyRows:
    """Return new points of a Dask collection; their values are checked by the workers."""
    rows = lazy_table(X)
    validated(estimator, outline_of(rows), reset=False, values=False)
    return rows


def _refuse_container(estimator: Transformer) -> None:
    """Raise if images are to be data frames in memory."""
    if (container := container_of(estimator)) != "default":
        raise InputError(
            f'set_output(transform="{container}") asks for a data frame in memory, and X is a Dask collection that is not computed '
            'yet: use set_output(transform="default"), or pass X.compute().'
        )
