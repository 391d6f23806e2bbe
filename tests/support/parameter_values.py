"""Every accepted string and kind of value of every parameter, on one small data set, for pairwise tests."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.neighbors import KNeighborsTransformer

import eigenspan as es
from eigenspan.methods.registry import TABLE
from eigenspan.numerics.eigen import Dense
from eigenspan.problem import Form

N = 40
_RNG = np.random.default_rng(3)
LABELS = np.arange(N) % 3
#: Positive, as some kernels require; overlapping classes; connected neighbour graphs.
X = (
    np.abs(
        _RNG.standard_normal((N, 5)) * [1.0, 0.8, 1.2, 0.6, 0.9]
        + np.array([4.0, 5.0, 6.0])[LABELS, None] * [1, 0.9, 1.1, 1, 0.8]
    )
    / 8
)
DISTANCES = pairwise_distances(X)
KERNEL = pairwise_kernels(X, metric="rbf", gamma=2.0)
SOME = np.where(np.arange(N) % 4 == 1, -1, LABELS)
_NEAR = np.argsort(DISTANCES + np.diag(np.full(N, np.inf)), axis=1)[:, :6]
_LENGTHS = np.take_along_axis(DISTANCES, _NEAR, axis=1)
ROWS = np.arange(1, N, 2)


def _sparse(keep: Any = None) -> Any:
    E = np.zeros((N, N))
    np.put_along_axis(E, _NEAR, _LENGTHS, axis=1)
    return sp.csr_array(E if keep is None else np.where(keep, E, 0.0))


#: Weights that decrease with distance, on the edges of a graph.
AFFINITIES = (lambda W: np.maximum(W, W.T))(np.where(_sparse().toarray() > 0, np.exp(-((DISTANCES / 0.25) ** 2)), 0.0))
_ISLAND = LABELS == 2


def greatest(a: Any, b: Any) -> float:
    """User-defined metric."""
    return float(np.abs(a - b).max())


def squared(A: Any, B: Any) -> Any:
    """User-defined kernel of two arrays of rows."""
    return (1 + A @ B.T) ** 2


def of_rows(a: Any, b: Any) -> float:
    """User-defined kernel of two rows."""
    return float(np.exp(-3.0 * np.sum((a - b) ** 2)))


def rising(points: Any, y: Any) -> Form:
    """User-defined form: masses that increase from one to two."""
    return Form(len(points), dense=np.diag(np.linspace(1.0, 2.0, len(points))), psd=True)


def same_row(points: Any, y: Any) -> Any:
    """User-defined weights of pairs: those of rows at most one apart are one."""
    return (np.abs(np.subtract.outer(np.arange(len(points)), np.arange(len(points)))) <= 1).astype(float)


Values = dict[str, Callable[[], Any]]


def plain(*values: Any) -> Values:
    return {repr(value): lambda value=value: value for value in values}


GRAPHS: Values = {
    "KNN": lambda: es.KNN(6),
    "KNN-mutual": lambda: es.KNN(9, symmetry="mutual"),
    "KNN-cityblock": lambda: es.KNN(6, metric="cityblock"),
    "KNN-within": lambda: es.KNN(6, within_class=True),
    "Radius": lambda: es.Radius(0.4),
    "built": lambda: es.KNN(6).build(X),
    "sparse": _sparse,
    "islands": lambda: _sparse(_ISLAND[:, None] == _ISLAND),
    "pair": lambda: (_NEAR, _LENGTHS),
    "transformer": lambda: KNeighborsTransformer(n_neighbors=6),
    **plain("precomputed", "class", "all"),
}
KERNELS: Values = {
    **plain(
        "rbf", "laplacian", "poly", "polynomial", "sigmoid", "cosine", "linear", "chi2", "additive_chi2", "precomputed"
    ),
    "Kernel": lambda: es.Kernel("poly", degree=2, gamma=1.0),
    "median": lambda: es.Kernel("rbf", gamma="median"),
    "of arrays": lambda: squared,
    "of rows": lambda: of_rows,
}
WEIGHTS: Values = {
    **plain("heat", "local", "binary", "cosine", "precomputed", "path", "barycentric"),
    "Heat": lambda: es.Heat(0.3),
    "LocalScaling": lambda: es.LocalScaling(4),
    "Powered": lambda: es.Powered("local", 2.0),
    "Binary": es.Binary,
    "Cosine": es.Cosine,
    "Paths": es.PathSimilarity,
    "Paths-edges": lambda: es.PathSimilarity(pairs="edges"),
}
NEARNESS: Values = {
    **plain("neighbours", "heat", "local"),
    **{name: WEIGHTS[name] for name in ("Heat", "LocalScaling", "Powered")},
}
LANDMARKS: Values = {
    "number": lambda: 20,
    "array": lambda: ROWS,
    "list": lambda: ROWS.tolist(),
    **{
        how: (lambda how=how: es.Landmarks(20, choice=how))
        for how in ("maxmin", "random", "cholesky", "kmeans++", "leverage")
    },
}
METRICS: Values = {
    **plain("euclidean", "cityblock", "cosine", "chebyshev", "minkowski", "precomputed"),
    "callable": lambda: greatest,
}
#: Aliases, and values that use the same code as others: they are tested with every method, but not in pairs.
ALONE = frozenset(
    (parameter, label)
    for parameter, labels in {
        "kernel": ("'poly'", "'polynomial'", "'laplacian'", "'cosine'", "'linear'", "'chi2'", "of rows"),
        "landmarks": ("list", "kmeans++", "random"),
        "metric": ("'euclidean'", "'chebyshev'", "'cosine'"),
        "weights": ("Heat", "LocalScaling", "Binary", "Cosine"),
        "graph": ("KNN", "built", "pair"),
        "random_state": ("None", "5"),
        "n_components": ("3",),
        "priors": ("list",),
        **dict.fromkeys(("minimise", "maximise", "over", "unit"), ("'modified'", "'hessian'", "'total'", "'identity'")),
    }.items()
    for label in labels
)
#: Parameters that select the route of a fit: moments, features or a graph.
ROUTES = frozenset(
    ["graph", "kernel", "weights", "landmarks", "metric", "metric_params", "reduce", "shrinkage", "basis"]
)
#: Parameters that a group shares with others, or that only the last step uses, are not paired again.
_FEWER: dict[str, dict[str, tuple[str, ...]]] = {
    "unfolding": {
        "graph": ("KNN-mutual", "Radius", "sparse", "islands", "transformer", "'precomputed'", "'class'"),
        "metric": ("'cityblock'", "'precomputed'"),
        "landmarks": ("number", "array"),
        "solver": ("'lanczos'",),
        "random_state": ("RandomState",),
        "n_components": ("1",),
        "metric_params": (),
    },
    "samples, response": {
        "graph": ("KNN-mutual", "sparse", "islands", "'precomputed'", "'class'"),
        "weights": ("'local'", "'precomputed'", "Powered", "Paths"),
        "landmarks": ("number", "array"),
        "metric": ("'cityblock'", "'precomputed'"),
        "solver": ("'lanczos'",),
        "random_state": ("RandomState",),
        "n_components": ("1",),
    },
    "linear or kernel, response": {
        "kernel": ("'sigmoid'", "'precomputed'", "Kernel", "of rows"),
        "landmarks": ("number", "array", "cholesky"),
        "solver": ("'lanczos'", "object"),
        "random_state": ("RandomState",),
    },
    "by hand": {
        "graph": ("KNN-mutual", "sparse", "islands", "'precomputed'"),
        "weights": ("'local'", "'precomputed'", "Powered"),
        "kernel": ("'sigmoid'", "'precomputed'", "Kernel"),
        "landmarks": ("number", "array"),
        "random_state": ("RandomState",),
    },
}
#: Names in the documentation; `values_of` adds the other strings in `_parameter_constraints`.
VALUES: dict[str, Values] = {
    "graph": GRAPHS,
    "kernel": KERNELS,
    "weights": WEIGHTS,
    "affinity": NEARNESS,
    "landmarks": LANDMARKS,
    "metric": METRICS,
    "metric_params": {"{'p': 3}": lambda: {"p": 3}},
    "solver": {"object": Dense},
    "random_state": {"RandomState": lambda: np.random.RandomState(0), **plain(None, 5)},
    "n_jobs": plain(1),
    "n_components": plain(1, 3),
    "n_neighbors": plain(7),
    "n_clusters": plain(3),
    "n_rivals": plain(2),
    "n_slices": plain(2),
    "n_permutations": plain(0),
    "level": plain(0.2),
    "contour": plain(0.5),
    "tube": plain(0.3),
    "n_pairs": plain(200),
    "reduce": plain(4),
    "ridge": plain(0.0, 0.1),
    "kappa": plain(0.0, 0.5),
    "kernel_y": {"Kernel": KERNELS["Kernel"], **plain("linear", "precomputed")},
    "reg": plain(0.0, 0.05),
    "whiten": plain(True, False),
    "conformal": plain(True),
    "store_covariance": plain(True),
    "normalise": plain(False),
    "common_neighbors": plain(True),
    "priors": {"array": lambda: np.array([0.2, 0.3, 0.5]), "list": lambda: [0.2, 0.3, 0.5]},
    "shrinkage": plain(0.3),
    "gamma": plain(0.5),
    "alpha": plain(0.5, 2.0),
    "degree": plain(2),
    "coef0": plain(0.5),
    "t": plain(0, 2.5),
    "skip_smallest": plain(1),
    "unlabeled": plain(None, -1),
    "r1": plain(0.0, 1.0),
    "r2": plain(0.0, 1.0),
    "width": plain(0.7),
    "response_width": plain(0.5),
    "eps": plain(0.01),
    "steps": plain(1),
    "stages": plain(1),
    "n_starts": plain(2),
    "n_functions": plain(5),
    "weight": plain(2.0),
    "beta": plain(0.0, 0.8),
    "mu": plain(0.0, 2.0),
    "trust": plain(0.7),
    "novelty": plain(0.5),
    "threshold": plain(0.0, 0.5),
    "max_iter": plain(50),
    "must_link": {"array": lambda: np.array([[1, 5], [9, 13]])},
    "cannot_link": {"array": lambda: np.array([[1, 9]])},
    "band": plain(0.2),
    "price": plain(500.0),
    "power": plain(1),
    "rank": plain(6),
    "prune": plain(None, 0.1),
    "n_eigenvectors": plain(8),
    "time_limit": plain(3600.0),
    "callback": {"callable": lambda: _silent},
    "verbose": plain(False),
    "tol": plain(0.05),
    "n_init": plain(1),
    "noise_floor": plain(0.01),
    "minimise": {"callable": lambda: rising},
    "maximise": {"callable": lambda: rising},
    "over": {"callable": lambda: rising},
    "unit": {"callable": lambda: rising},
    "labelled": {**plain("-rivals", "within - total"), "callable": lambda: same_row},
    "unlabelled": {**plain("heat", "-0.5 variance"), "callable": lambda: same_row, "Heat": lambda: es.Heat(0.3)},
    "intrinsic": {**plain("variance", "neighbours + within"), "callable": lambda: same_row},
    "penalty": {**plain("variance", "total"), "callable": lambda: same_row},
    "distortions": {"callable": lambda: _dimmed, "list": lambda: [_dimmed, _shaken]},
    "hidden_layer_sizes": {"(3,)": lambda: (3,)},
    "frames": plain(2),
    "step": plain(2),
    "lengths": plain(20),
    "alignment": plain(1),
    "label_kernel": {"callable": lambda: _same, "array": lambda: (LABELS[:, None] == LABELS).astype(float)},
}


def _silent(record: dict[str, Any]) -> None:
    """Callback for the progress of an unfolding."""


def _dimmed(rows: Any) -> Any:
    """Deterministic distortion."""
    return rows * 0.8


def _shaken(rows: Any, rng: Any) -> Any:
    """Random distortion."""
    shaken = 0.1 * rng.standard_normal(rows.shape)
    return rows + (sp.csr_array(shaken) if sp.issparse(rows) else shaken)


def _same(a: Any, b: Any) -> Any:
    """Kernel of labels."""
    return (np.reshape(a, (-1, 1)) == np.reshape(b, (1, -1))).astype(float)


def strings(constraints: Any) -> list[str]:
    """Return the strings in the constraints of a parameter."""
    return (
        sorted(s for rule in constraints for s in getattr(rule, "options", ()) if isinstance(s, str))
        if isinstance(constraints, list)
        else []
    )


METHODS = es.methods().loc[[row.name for row in TABLE]]
SUPERVISION = METHODS["supervision"].to_dict()
#: Label of the default value.
DEFAULT = "default"


@cache
def group_of(name: str) -> str:
    """Return the group of a method: methods with similar parameters, by kind of map and of labels; unfoldings are a group."""
    if name not in METHODS.index:
        return "by hand"
    row = METHODS.loc[name]
    return "unfolding" if row["family"] == "unfolding" else f"{row['basis']}, {row['supervision']}"


def make(name: str, **params: Any) -> Any:
    return es.TraceReducer(**params) if name == "TraceReducer" else es.make(name, **params)


@cache
def template(name: str) -> Any:
    return make(name)


def groups() -> dict[str, tuple[str, ...]]:
    own = [name for name in METHODS.index if METHODS.loc[name, "family"] != "external"] + ["TraceReducer"]
    found: dict[str, tuple[str, ...]] = {}
    for name in own:
        found[group_of(name)] = (*found.get(group_of(name), ()), name)
    return found


@cache
def values_of(names: tuple[str, ...], every: bool = False) -> dict[str, Values]:
    """Return label -> value for every parameter of some methods, the default first, with the method as one more parameter."""
    table: dict[str, Values] = {"estimator": plain(*names)}
    for name in names:
        rules = type(template(name))._parameter_constraints
        for parameter in template(name).get_params(deep=False):
            known = {**VALUES.get(parameter, {}), **plain(*strings(rules[parameter]))}
            fewer = {} if every else _FEWER.get(group_of(name), {})
            known = {label: known[label] for label in fewer.get(parameter, known)}
            table[parameter] = {DEFAULT: lambda: None, **table.get(parameter, {}), **known}
    return table


def used(row: dict[str, str]) -> dict[str, str]:
    """Return the entries of a row that are parameters of its method."""
    has = template(ast.literal_eval(row["estimator"])).get_params(deep=False)
    return {parameter: label for parameter, label in row.items() if parameter in has or parameter == "estimator"}


def build(row: dict[str, str], names: tuple[str, ...]) -> tuple[Any, Any, Any]:
    """Return the estimator of a row, its X and its labels."""
    name, table = ast.literal_eval(row["estimator"]), values_of(names, every=True)
    params = {p: table[p][label]() for p, label in used(row).items() if p != "estimator" and label != DEFAULT}
    estimator = make(name, **{**STARTS.get(group_of(name), {}), **params})
    given = dict.fromkeys(("labels", "actions", "response", "other view"), LABELS) | {"none": None}
    y = given.get(SUPERVISION.get(name, "labels"), SOME)
    return estimator, handed(estimator.get_params(deep=False)), y


#: Coarser than the defaults of the library, which is sufficient for tests with forty points.
STARTS: dict[str, dict[str, Any]] = {
    "unfolding": {"tol": 0.2},
    "samples, response": {"tol": 0.05},
    "linear or kernel, response": {"n_permutations": 3},
}


def handed(params: dict[str, Any]) -> Any:
    """Return X for fit: points, or a precomputed matrix if a parameter asks for it."""
    words = {key: value for key, value in params.items() if isinstance(value, str) and value == "precomputed"}
    if "kernel" in words and params.get("basis", "kernel") == "kernel":
        return KERNEL
    if "graph" in words or ("metric" in words and params.get("graph") is None):
        return AFFINITIES if "weights" in words else DISTANCES
    return X
