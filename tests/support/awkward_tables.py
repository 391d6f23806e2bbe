"""Invalid and unusual data, labels, new points, parameters, specifications, matrices and sequences of calls."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsTransformer

import eigenspan as es
from awkward_cases import DISTANCES, KERNEL, Case, Kinds, fits, fitted, kind_of, places
from awkward_subjects import CODES, NEW, D, N, Subject, X, outcome, quietly, rolled

TABLES: Kinds = {}
table = kind_of(TABLES)


# ---------------------------------------------------------------------- data
def _spoilt(value: Any) -> Any:
    A = X.astype(object) if isinstance(value, str) or value is None else X.copy()
    A[3, 2] = value
    return A


@cache
def _refused_data() -> dict[str, Any]:
    frame = pd.DataFrame(X, columns=[f"c{i}" for i in range(D)])
    holes = frame.astype("Float64")
    holes.iloc[3, 2] = pd.NA
    return {
        "nan": _spoilt(np.nan), "inf": _spoilt(np.inf), "-inf": _spoilt(-np.inf), "text in numbers": _spoilt("a"),
        "None": _spoilt(None), "nan column": np.column_stack([X, np.full(N, np.nan)]), "zeros": np.zeros((N, 4)),
        "all equal": np.full((N, 3), 0.1), "one sample": X[:1], "no sample": X[:0], "no column": X[:, :0],
        "vector": X[:, 0].copy(), "three axes": X[:, :, None], "text": np.array([["a", "b"]] * N), "complex": X + 1j,
        "NA": holes, "categories": frame.assign(k=pd.Categorical(["a", "b"] * 20)),
        "dates": frame.assign(k=pd.date_range("2020", periods=N)), "series": frame["c0"], "ragged": [[1.0, 2.0], [3.0]] * 20,
        "structured": np.array([tuple(r) for r in X], dtype=[(f"f{i}", float) for i in range(D)]),
        "sparse zeros": sp.csr_array((N, D)), "one row repeated": np.broadcast_to(X[:1], (N, D)),
    }  # fmt: skip


@table
def data_to_refuse(s: Subject) -> Iterator[Case]:
    for name, A in _refused_data().items():
        lenient = s.name in ("LabelledOnly", "External") and name in (
            "zeros",
            "all equal",
            "one row repeated",
            "sparse zeros",
        )
        lenient |= s.name == "PPCA" and name in ("nan", "None", "NA")  # missing entries
        yield name, fits(s, A, refuse=not lenient)


@cache
def _awkward_data() -> dict[str, Any]:
    t = np.arange(N) * 2 * np.pi / N
    rng = np.random.default_rng(1)
    return {
        "constant columns": np.column_stack([X, np.full(N, 7.0), np.zeros(N)]), "half copies": np.vstack([X[:20], X[:20]]),
        "four points": X[np.arange(N) % 4], "buried": np.vstack([np.repeat(X[:1], 15, axis=0), X[15:]]),
        "two points": X[np.arange(N) % 2], "two samples": X[:2], "three samples": X[:3], "five samples": X[:5],
        "one feature": X[:, :1], "wide": rng.standard_normal((20, 300)), "outlier": np.vstack([X[:-1], np.full((1, D), 1e6)]),
        "far outlier": np.vstack([X[:-1], np.full((1, D), 1e150)]),
        **{f"times 1e{e}": X * 10.0**e for e in (-300, -150, -20, 20, 100, 150, 300)},
        "mixed scales": X * np.logspace(-12, 12, D), "offset": X + 1e8, "far offset": X + 1e15,
        "lattice": np.stack(np.meshgrid(np.arange(8.0), np.arange(5.0)), -1).reshape(-1, 2),
        "line": np.outer(np.arange(N), np.ones(D)), "circle": np.column_stack([np.cos(t), np.sin(t)]), "simplex": np.eye(N),
        "zeros and ones": (rng.random((N, 30)) < 0.1) * 1.0, "int8": np.clip(X * 5, -100, 100).astype(np.int8),
        "uint8": np.clip(np.abs(X) * 5, 0, 200).astype(np.uint8), "bool": X > 0, "float16": X.astype(np.float16),
        "float32": X.astype(np.float32), "longdouble": X.astype(np.longdouble), "bigendian": X.astype(">f8"),
        "objects": X.astype(object), "fortran": np.asfortranarray(X), "strided": np.repeat(X, 2, axis=0)[::2],
        "reversed": X[::-1, ::-1], "frame": pd.DataFrame(X), "nullable": pd.DataFrame(X).astype("Float64"), "list": X.tolist(),
        "csr": sp.csr_array(np.where(np.abs(X) < 1, 0, X)), "coo": sp.coo_array(np.where(np.abs(X) < 1, 0, X)),
        "csc": sp.csc_matrix(X),
    }  # fmt: skip


@table
def awkward_data(s: Subject) -> Iterator[Case]:
    if s.name == "External":  # estimators of other libraries have messages of their own
        return
    for name, A in _awkward_data().items():
        yield name, fits(s, A)


@table
def new_points(s: Subject) -> Iterator[Case]:
    for name, A in {
        "fewer features": X[:, :-1], "more features": np.column_stack([X, X[:, 0]]), "none": X[:0], "vector": X[0],
        "three axes": X[:, :, None], "nan": _spoilt(np.nan), "inf": _spoilt(np.inf),
        "text": X.astype(str).astype(object) + "a", "complex": X + 1j,
    }.items():  # fmt: skip
        yield name, places(s, A, refuse=not (s.name == "PPCA" and name == "nan"))
    for name, A in {
        "one": NEW[:1], "float32": NEW.astype(np.float32), "float16": NEW.astype(np.float16), "int": NEW.astype(int),
        "list": NEW.tolist(), "fortran": np.asfortranarray(NEW), "far": NEW * 1e6, "very far": NEW * 1e20,
        "1e150": NEW * 1e150, "1e300": NEW * 1e300, "zeros": np.zeros((3, D)), "tiny": NEW * 1e-300,
        "copies": np.repeat(NEW[:1], 5, axis=0), "sparse": sp.csr_array(NEW), "bool": NEW > 0, "frame": pd.DataFrame(NEW),
        "many": np.repeat(NEW, 50, axis=0) + np.linspace(0, 1, 250)[:, None],
    }.items():  # fmt: skip
        yield name, places(s, A)

    def one_by_one() -> str:
        whole = s.place(fitted(s), NEW)
        parts = np.concatenate([s.place(fitted(s), NEW[i : i + 1]) for i in range(len(NEW))])
        same = (
            np.allclose(whole, parts, rtol=0, atol=1e-8 * np.abs(whole).max())
            if whole.dtype.kind == "f"
            else np.array_equal(whole, parts)
        )
        return "" if same else "points alone get other places"

    yield "one by one", lambda: outcome(one_by_one)


@table
def labels(s: Subject) -> Iterator[Case]:
    y = s.y()
    if y is None:
        return
    if s.labels == "coordinates":
        for name, z in {
            "none known": np.full((N, 2), np.nan), "infinite": np.where(np.isnan(y), np.inf, y),
            "half known": np.where([True, False], y, np.nan), "too wide": np.hstack([y, y]), "too short": y[:-1],
            "vector": y[:, 0], "text": np.array([["a", "b"]] * N), "complex": y + 1j,
        }.items():  # fmt: skip
            yield name, fits(s, X, z, refuse=True)
        for name, z in {
            "all known": np.nan_to_num(y), "one known": np.where(np.arange(N)[:, None] == 0, 1.0, np.nan) * np.ones((N, 2)),
            "same": np.where(np.isnan(y), np.nan, 1.0), "1e300": y * 1e300, "list": y.tolist(), "frame": pd.DataFrame(y),
        }.items():  # fmt: skip
            yield name, fits(s, X, z)
        return
    free = s.labels == "actions"
    for name, z in {
        "short": y[:-2],
        "long": np.append(y, 0),
        "empty": [],
        "number": 1,
        "text": "labels",
        "dict": {"a": 1},
    }.items():
        yield name, fits(s, X, z, refuse=not free)
    words = np.array(["ant", "bee", "cat"])[CODES]
    hole = np.arange(N) % 3 == 1
    for name, z in {
        "one class": np.zeros(N, int), "all None": np.array([None] * N), "all nan": np.full(N, np.nan),
        "all -1": np.full(N, -1), "plus minus": np.where(CODES > 0, 1, -1), "words": words,
        "words with None": np.where(hole, None, words.astype(object)), "floats": y.astype(float),
        "nan marks": np.where(hole, np.nan, CODES), "None marks": np.where(hole, None, CODES.astype(object)),
        "huge": CODES + 10**12, "int8": CODES.astype(np.int8), "uint64": CODES.astype(np.uint64) + np.uint64(2**63),
        "bool": CODES > 0, "numbers": X[:, 2], "halves": CODES + 0.5, "infinite": np.where(np.arange(N) == 0, np.inf, CODES),
        "column": y[:, None], "two columns": np.column_stack([y, y]), "one each": np.arange(N), "two each": np.arange(N) // 2,
        "one rare": np.where(np.arange(N) == 0, 7, y), "categories": pd.Series(pd.Categorical(words)),
        "series": pd.Series(y, index=np.arange(N)[::-1]), "Int64": pd.Series(y, dtype="Int64"),
        "NA": pd.Series(np.where(hole, None, CODES.astype(object)), dtype="Int64"),
        "mixed": np.array(["a", 1] * 20, dtype=object), "bytes": np.char.encode(words), "dates": CODES.astype("datetime64[D]"),
        "complex": CODES + 0j, "tuples": [(int(c), 1) for c in CODES],
        "sets": np.array([frozenset([int(c)]) for c in CODES], dtype=object), "sparse": sp.csr_array(CODES[:, None]),
        "range": range(N),
    }.items():  # fmt: skip
        yield name, fits(s, X, z)
    if "unlabeled" in s.parameters:
        for name, mark in {
            "array": np.array([0, 1]),
            "NA": pd.NA,
            "list": [0],
            "text": "cat",
            "nan": float("nan"),
            "absent": 99,
        }.items():
            yield f"unlabeled {name}", fits(s, X, y, unlabeled=mark)


# ---------------------------------------------------------------------- parameters and specifications
def _raises(*args: Any) -> Any:
    raise RuntimeError("mine")


@table
def parameters(s: Subject) -> Iterator[Case]:
    junk = {
        "text": "no-such", "-1": -1, "0": 0, "0.5": 0.5, "nan": float("nan"), "inf": float("inf"), "list": [], "dict": {},
        "object": object(), "True": True, "array": np.zeros(3), "class": dict, "empty": "", "bytes": b"x", "complex": 1j,
        "None": None,
    }  # fmt: skip
    fixed = {"time_limit", "callback", "verbose"}
    for parameter in sorted(s.parameters - fixed):
        for name, value in junk.items():
            yield f"{parameter}={name}", fits(s, X, **{parameter: value})
    if s.transforms and "n_components" in s.parameters:
        for d in (D, D + 1, N - 1, N, 10**6):
            yield f"n_components={d}", fits(s, X, n_components=d)
    if "n_neighbors" in s.parameters:
        for k in (1, 2, N - 1, N, 10**9):
            yield f"n_neighbors={k}", fits(s, X, n_neighbors=k)
    for seed in (
        (np.int64(3), np.random.RandomState(0), np.random.default_rng(0), "a", -1, 2**32)
        if "random_state" in s.parameters
        else ()
    ):
        yield f"random_state={seed!r}", fits(s, X, random_state=seed)
    yield "unknown", lambda: outcome(lambda: str(s.make(no_such_parameter=1)) and "", refuse=True)


@cache
def _graphs() -> dict[str, Any]:
    near = np.argsort(DISTANCES, axis=1)[:, 1:9]
    d = np.take_along_axis(DISTANCES, near, axis=1)
    eye = np.eye(N) > 0
    return {
        "KNN text": es.KNN("a"), "KNN 2.5": es.KNN(2.5), "KNN None": es.KNN(None), "KNN 0": es.KNN(0), "KNN n": es.KNN(N),
        "KNN True": es.KNN(True), "metric 3": es.KNN(8, metric=3), "no metric": es.KNN(8, metric="no-such"),
        "symmetry": es.KNN(8, symmetry="no"), "search": es.KNN(8, search="no"),
        "precomputed metric": es.KNN(8, metric="precomputed"), "nan metric": es.KNN(8, metric=lambda a, b: float("nan")),
        "negative metric": es.KNN(8, metric=lambda a, b: -1.0), "text metric": es.KNN(8, metric=lambda a, b: "x"),
        "Radius None": es.Radius(None), "Radius text": es.Radius("a"), "Radius nan": es.Radius(float("nan")),
        "Radius 0": es.Radius(0), "Radius inf": es.Radius(float("inf")), "Radius tiny": es.Radius(1e-9),
        "Radius huge": es.Radius(1e9), "empty": sp.csr_array((N, N)), "other n": sp.csr_array(np.ones((5, 5))),
        "rectangular": sp.csr_array(np.ones((N, 5))), "negative": sp.csr_array(-np.ones((N, N))),
        "nan": sp.csr_array(np.where(eye, 0, np.nan)), "inf": sp.csr_array(np.where(eye, 0, np.inf)),
        "complex": sp.csr_array(DISTANCES + 1j), "bool": sp.csr_array(DISTANCES < 5), "full": sp.csr_array(DISTANCES),
        "two lengths": sp.csr_array(np.triu(DISTANCES) + 2 * np.tril(DISTANCES)), "shapes": (near[:, :3], d[:, :4]),
        "out of range": (near + 1000, d), "float indices": (near.astype(float), d), "pair nan": (near, d * np.nan),
        "pair text": (near, np.full(near.shape, "a")), "pair empty": (near[:, :0], d[:, :0]),
        "itself": (np.tile(np.arange(N)[:, None], 3), np.zeros((N, 3))), "triple": (1, 2, 3), "dense": DISTANCES, "word": "no-such",
        "transformer": KNeighborsTransformer(n_neighbors=8).fit(X[:20]),
    }  # fmt: skip


@table
def graphs(s: Subject) -> Iterator[Case]:
    if "graph" in s.parameters:
        for name, graph in _graphs().items():
            yield name, fits(s, X, graph=graph)


class _Rule:
    """User-defined weights: `weigh` of the distances."""

    def __init__(self, factor: float) -> None:
        self.factor = factor

    def bind(self, graph: Any, X: Any) -> _Rule:
        return self

    def weigh(self, distances: Any, X: Any) -> Any:
        return distances * self.factor


@table
def weights(s: Subject) -> Iterator[Case]:
    if "weights" not in s.parameters or s.name == "KernelLearner":
        return
    for name, w in {
        "Heat text": es.Heat("a"), "Heat 0": es.Heat(0), "Heat -1": es.Heat(-1), "Heat nan": es.Heat(float("nan")),
        "Heat inf": es.Heat(float("inf")), "Heat tiny": es.Heat(1e-300), "Heat huge": es.Heat(1e300),
        "local 0": es.LocalScaling(0), "local -1": es.LocalScaling(-1), "local 2.5": es.LocalScaling(2.5),
        "local text": es.LocalScaling("a"), "local huge": es.LocalScaling(10**6), "power 0": es.Powered("heat", 0),
        "power -1": es.Powered("heat", -1), "power nan": es.Powered("heat", float("nan")),
        "power text": es.Powered("heat", "a"), "power huge": es.Powered("heat", 1e6), "power of none": es.Powered("no"),
        "paths": es.PathSimilarity(pairs="no"), "nan rule": _Rule(np.nan), "negative rule": _Rule(-1.0),
    }.items():  # fmt: skip
        yield name, fits(s, X, weights=w)


@table
def kernels(s: Subject) -> Iterator[Case]:
    if "kernel" not in s.parameters:
        return
    more = {"basis": "kernel"} if s.name.startswith("TraceReducer") else {}
    for name, k in {
        "wrong shape": lambda a, b: (a @ b.T)[:, :-1], "nan": lambda a, b: a @ b.T * np.nan, "raising": _raises,
        "text": lambda a, b: "k", "None": lambda a, b: None, "zero": lambda a, b: np.zeros((len(a), len(b))),
        "constant": lambda a, b: np.ones((len(a), len(b))), "negative": lambda a, b: -(a @ b.T),
        "huge": lambda a, b: 1e300 * (a @ b.T), "tiny": lambda a, b: 1e-300 * (a @ b.T),
        "sparse": lambda a, b: sp.csr_array(a @ b.T), "list": lambda a, b: (a @ b.T).tolist(),
        "asymmetric": lambda a, b: a @ b.T + a[:, :1], "one argument": lambda a: a @ a.T, "unknown": "no-such", "empty": "",
        "number": 3, "class": es.Kernel, "names": ["rbf"], "Kernel unknown": es.Kernel("no-such"),
        "Kernel None": es.Kernel(None), "gamma -1": es.Kernel(gamma=-1.0), "gamma nan": es.Kernel(gamma=float("nan")),
        "gamma inf": es.Kernel(gamma=float("inf")), "gamma text": es.Kernel(gamma="no"),
        "gamma array": es.Kernel(gamma=np.array([1.0, 2.0])), "gamma True": es.Kernel(gamma=True),
        "gamma huge": es.Kernel(gamma=1e300), "degree text": es.Kernel("poly", degree="a"),
        "degree nan": es.Kernel("poly", degree=float("nan")), "degree 500": es.Kernel("poly", degree=500),
        "coef0 text": es.Kernel("poly", coef0="a"), "estimator": es.PCA(),
    }.items():  # fmt: skip
        yield name, fits(s, X, kernel=k, **more)


@cache
def _matrices(mode: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Yield invalid matrices, and unusual valid ones."""
    M = {"affinities": np.where(KERNEL > 0.2, KERNEL, 0.0), "kernel": KERNEL}.get(mode, DISTANCES)
    even = np.arange(N) % 2 == 0
    bad = {
        "asymmetric": M + np.triu(np.ones((N, N)), 1), "nan": np.where(np.eye(N, k=1) > 0, np.nan, M),
        "rectangular": M[:, :20], "complex": M + 1j, "inf": np.where(np.eye(N, k=1) > 0, np.inf, M), "one": M[:1, :1],
        **({} if M is not DISTANCES else {"negative": -DISTANCES}),
    }  # fmt: skip
    return bad, {
        "plain": M, "zeros": np.zeros((N, N)), "ones": np.ones((N, N)) - np.eye(N), "times 1e300": M * 1e300,
        "times 1e-300": M * 1e-300, "sparse": sp.csr_array(M), "float32": M.astype(np.float32),
        "int": np.round(M * 100).astype(int), "list": M.tolist(), "frame": pd.DataFrame(M), "powers": DISTANCES**4, "two": M[:2, :2],
        "copies": M[np.ix_(np.arange(N) % 20, np.arange(N) % 20)], "blocks": np.where(even[:, None] == even, M, 0.0),
    }  # fmt: skip


@table
def precomputed(s: Subject) -> Iterator[Case]:
    more = {"basis": "kernel"} if s.name.startswith("TraceReducer") else {}
    for mode, params in {
        "metric": {"metric": "precomputed"},
        "graph": {"graph": "precomputed"},
        "affinities": {"graph": "precomputed", "weights": "precomputed"},
        "kernel": {"kernel": "precomputed", **more},
    }.items():
        if set(params) <= s.parameters:
            for refuse, table in zip((True, False), _matrices(mode), strict=True):
                for name, A in table.items():
                    yield f"{mode} {name}", fits(s, A, refuse=refuse, **params)


# ---------------------------------------------------------------------- life
@table
def life(s: Subject) -> Iterator[Case]:
    def same(one: Callable[[], Any], other: Callable[[], Any], A: Any = X) -> Callable[[], str]:
        def run() -> str:
            a, b = s.place(one(), A), s.place(other(), A)
            return "" if np.array_equal(a, b) else "the results differ"

        return lambda: outcome(run)

    A, codes = rolled(30, 5, seed=3)
    yield "two fits", same(s.fit, s.fit)
    yield "refit", same(lambda: quietly(lambda: s.fit().fit(X, s.y())), s.fit)
    yield "refit on others", same(lambda: quietly(lambda: s.fit().fit(A, s.y(codes))), lambda: s.fit(A, s.y(codes)), A)
    yield "clone", same(lambda: quietly(lambda: clone(s.fit()).fit(X, s.y())), s.fit)
    yield "pickle", same(lambda: pickle.loads(pickle.dumps(fitted(s))), lambda: fitted(s), NEW)
    yield "deepcopy", same(lambda: copy.deepcopy(fitted(s)), lambda: fitted(s), NEW)

    def before_fit() -> str:
        try:
            s.place(s.make(), X)
        except NotFittedError:
            return ""
        return "transform before fit"

    yield "before fit", lambda: outcome(before_fit)

    def global_state() -> str:
        before = np.random.get_state()[1:3]  # noqa: NPY002 (the one that is nobody's to draw from)
        s.fit()
        after = np.random.get_state()[1:3]  # noqa: NPY002
        same = np.array_equal(before[0], after[0]) and before[1] == after[1]
        return "" if same else "numpy's global random state was drawn from"

    yield "global state", lambda: outcome(global_state)

    def stale() -> str:
        model = s.fit()
        quietly(lambda: model.fit(A, s.y(codes)))
        left = {name for name in vars(model) if name.endswith("_")} - set(vars(s.fit(A, s.y(codes))))
        return f"attributes of an earlier fit: {left}" if left else ""

    yield "stale", lambda: outcome(stale)

    def untouched() -> str:
        mine, y = X.copy(), copy.deepcopy(s.y())
        model = s.make()
        params = repr(model.get_params())
        quietly(lambda: model.fit(mine, y))
        kept = np.array_equal(mine, X) and (y is None or np.array_equal(y, s.y(), equal_nan=s.labels == "coordinates"))
        return "" if kept and repr(model.get_params()) == params else "X, y or the parameters were changed by fit"

    yield "untouched", lambda: outcome(untouched)
    if s.transforms:
        yield (
            "float32",
            lambda: outcome(
                lambda: "" if s.place(s.fit(X.astype("f4")), X.astype("f4")).dtype == np.float32 else "float64"
            ),
        )
