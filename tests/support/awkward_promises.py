"""Properties of every estimator: invalid input is refused, a failed fit changes nothing, and a fit changes no input."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

import eigenspan as es
from awkward_cases import DISTANCES, KERNEL, Case, Kinds, fits, kind_of, places
from awkward_subjects import CODES, NEW, D, N, Subject, X, on_purpose, outcome, quietly, told

PROMISES: Kinds = {}
promise = kind_of(PROMISES)


def masked(A: Any, where: Any) -> Any:
    return np.ma.masked_array(A, mask=where)


# ---------------------------------------------------------------------- accepted silently
@promise
def masked_points(s: Subject) -> Iterator[Case]:
    yield "fit", fits(s, masked(np.where(np.eye(N, D) > 0, 1e6, X), np.eye(N, D) > 0), refuse=True)
    yield "new", places(s, masked(NEW, np.eye(5, D) > 0), refuse=True)


@promise
def masked_labels(s: Subject) -> Iterator[Case]:
    y = s.y()
    if y is not None:
        holes = np.zeros(np.shape(y), dtype=bool)
        holes[5] = True

        def run() -> str:
            """Check that masked labels are refused or treated as missing."""
            try:
                got = s.fit(y=masked(np.where(holes, 7, y), holes))
            except Exception as error:
                return "" if on_purpose(error) else told(error)
            return "the masked label counts" if 7 in np.asarray(getattr(got, "classes_", [7])) else ""

        yield "fit", run


@promise
def dates(s: Subject) -> Iterator[Case]:
    whole = np.round(X * 10).astype(int)
    yield "datetime64", fits(s, whole.astype("datetime64[D]"), refuse=True)
    yield "timedelta64", fits(s, whole.astype("timedelta64[s]"), refuse=True)
    yield "new datetime64", places(s, whole[:5].astype("datetime64[D]"), refuse=True)


@promise
def negative_distances_of_new_points(s: Subject) -> Iterator[Case]:
    has = s.parameters
    for name, params, M in (
        ("metric", {"metric": "precomputed"}, DISTANCES),
        ("graph", {"graph": "precomputed"}, DISTANCES),
        ("affinities", {"graph": "precomputed", "weights": "precomputed"}, np.where(KERNEL > 0.2, KERNEL, 0.0)),
    ):
        if set(params) <= has and not (name == "affinities" and s.name == "KernelLearner"):

            def run(params: Any = params, M: Any = M) -> str:
                try:
                    model = s.fit(M, **params)
                except Exception as error:
                    return "" if on_purpose(error) else told(error)
                return places(s, np.where(np.arange(N) == 3, -M[:4], M[:4]), True, lambda: model)()

            yield name, run


@promise
def fractional_indices(s: Subject) -> Iterator[Case]:
    if "graph" in s.parameters:
        near = np.argsort(DISTANCES, axis=1)[:, 1:9]
        yield "graph", fits(s, X, refuse=True, graph=(near + 0.5, np.take_along_axis(DISTANCES, near, axis=1)))


def _complex(a: Any, b: Any) -> Any:
    return a @ b.T + 1j


@promise
def complex_kernels(s: Subject) -> Iterator[Case]:
    if "kernel" in s.parameters:
        more = {"basis": "kernel"} if s.name.startswith("TraceReducer") else {}
        yield "function", fits(s, X, refuse=True, kernel=_complex, **more)
        yield "matrix", fits(s, KERNEL + 1j, refuse=True, kernel="precomputed", **more)
    if "kernels" in s.parameters:
        yield "list", fits(s, X, refuse=True, kernels=[_complex])


@promise
def landmarks_without_a_kernel(s: Subject) -> Iterator[Case]:
    model, traces = s.make(), s.name.startswith("TraceReducer")
    plain = model.basis != "kernel" if traces else getattr(model, "kernel", "") is None
    if plain and "landmarks" in s.parameters:
        yield "landmarks", fits(s, X, refuse=True, landmarks=12)


@promise
def parameters_without_effect(s: Subject) -> Iterator[Case]:
    """Yield parameters that contradict each other or have no effect."""
    if s.name == "KernelPCA":
        yield "two widths", fits(s, X, refuse=True, kernel=es.Kernel("rbf", gamma=0.1), gamma=5.0)
    if s.name == "TraceReducer":
        yield "kernel of no basis", fits(s, X, refuse=True, basis="linear", kernel=es.Kernel("poly"))
        yield "unit of no features", fits(s, X, refuse=True, basis="samples", unit="projection")


@promise
def disconnected_raise(s: Subject) -> Iterator[Case]:
    params = s.parameters | (set(s.make().embedding.get_params()) if s.name.startswith("Anchored") else set())
    tied = s.name in ("SupervisedMVU", "SMVU1")  # which is connected by representatives of the classes
    if "disconnected" in params and not tied and getattr(s.make(), "basis", "samples") == "samples":
        apart = X + np.where(np.arange(N)[:, None] < 20, 0.0, 1e4)
        yield "raise", fits(s, apart, refuse=True, disconnected="raise", n_neighbors=5)


# ---------------------------------------------------------------------- a fit is all or nothing, and keeps to itself
@promise
def failed_first_fit(s: Subject) -> Iterator[Case]:
    def run() -> str:
        model = s.make()
        try:
            quietly(lambda: model.fit(np.full((30, D), 2.5), s.y(CODES[:30])))
        except Exception:
            try:
                s.place(model, X)
            except NotFittedError:
                return ""
            except Exception as error:
                return told(error)
            return "a fit that failed left a model"
        return ""

    yield "constant points", run


@promise
def refused_refit(s: Subject) -> Iterator[Case]:
    def again(A: Any) -> Callable[[], str]:
        def run() -> str:
            model = s.fit()
            before = s.place(model, X)
            try:
                quietly(lambda: model.fit(A, s.y(CODES[: len(A)])))
            except Exception:
                try:
                    return "" if np.array_equal(before, s.place(model, X)) else "the old model has changed"
                except Exception as error:
                    return f"the old model is gone: {told(error)}"
            return ""

        return run

    yield "NaN", again(np.where(np.eye(N, D) > 0, np.nan, X))
    yield "constant, other width", again(np.full((30, 3), 2.5))


@promise
def points_overwritten(s: Subject) -> Iterator[Case]:
    def run() -> str:
        mine = X.copy()
        model = s.fit(mine)
        before = s.place(model, NEW), s.place(model, X)
        mine[:] = 1e3
        after = s.place(model, NEW), s.place(model, X)
        return "" if all(map(np.array_equal, before, after)) else "transform follows what is written on X after fit"

    yield "X", lambda: outcome(run)


@promise
def results_overwritten(s: Subject) -> Iterator[Case]:
    def run() -> str:
        if not s.transforms:
            return ""
        model = s.make()
        result = quietly(lambda: model.fit_transform(X, s.y()))
        result = result[0] if isinstance(result, tuple) else result
        before = s.place(model, X).copy()
        for name, written in (
            ("fit_transform's result", result),
            ("transform's result", s.place(model, X)),
            ("embedding_", getattr(getattr(model, "best_estimator_", model), "embedding_", None)),
        ):
            if written is not None and written.flags.writeable:
                written[:] = 5.0
                if not np.array_equal(before, s.place(model, X)):
                    return f"transform follows what is written on {name}"
        return ""

    yield "embedding", lambda: outcome(run)


@promise
def repeated_rows(s: Subject) -> Iterator[Case]:
    def copies(rows: Any) -> Callable[[], str]:
        def run() -> str:
            model = s.fit(X[rows], s.y(CODES[rows]))
            Y = getattr(getattr(model, "best_estimator_", model), "embedding_", None)
            if Y is None:
                return ""
            size = np.abs(Y - Y.mean(axis=0)).max()
            first = np.array([np.flatnonzero(rows == row)[0] for row in rows])
            apart = np.abs(Y - Y[first]).max() / size
            off = np.abs(s.place(model, X[rows]) - Y).max() / size
            if apart > 1e-6:
                return f"copies lie {apart:.1e} of the spread apart"
            return "" if off < 1e-6 else f"transform differs from embedding_ by {off:.1e} of the spread"

        return lambda: outcome(run)

    yield "one copy each", copies(np.arange(N) % 30)
    yield "three of one", copies(np.where(np.arange(N) < 3, 0, np.arange(N)))
