"""Fitted estimators contain only numbers and values of this library, no search structures, so that other tools can store them."""

from __future__ import annotations

import pickle
import threading
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy.spatial import cKDTree
from sklearn.cross_decomposition import PLSRegression
from sklearn.datasets import load_iris
from sklearn.neighbors import KNeighborsTransformer, RadiusNeighborsTransformer

import eigenspan as es
from eigenspan.methods.registry import BESIDES, TABLE
from eigenspan.numerics.nearest.engines import TreeSearch
from helpers import quietly

#: Modules of search structures: k-d and ball trees, navigable graphs.
STRUCTURES = ("scipy.spatial", "sklearn.neighbors._kd_tree", "sklearn.neighbors._ball_tree", "faiss")

_IRIS, LABELS = load_iris(return_X_y=True)
X = _IRIS[::3] + np.random.default_rng(0).normal(0, 0.01, (50, 4))
Y = LABELS[::3]
NEW = X[:7] + 0.01
COUNTS = np.array([[20, 5, 1], [10, 10, 5], [2, 12, 20], [1, 3, 30]])
SOME = np.where(np.arange(50) % 5 == 0, X[:, 0], np.nan)
PLACES = np.where(np.isnan(SOME)[:, None], np.nan, X[:, :2])

#: Estimators that need more than X and y to be built or fitted.
GIVEN: dict[str, Any] = {
    "Anchored": lambda: es.Anchored(es.LTSA(2, n_neighbors=8)).fit(X, PLACES),
    "ContingencySDR": lambda: es.ContingencySDR(1).fit(COUNTS),
    "EigenmapRegressor": lambda: es.EigenmapRegressor(n_neighbors=8).fit(X, SOME),
    "External": lambda: es.External(PLSRegression()).fit(X, Y),
    "KernelLearner": lambda: es.KernelLearner(["linear", "rbf"]).fit(X[Y > 0], Y[Y > 0]),
}

FITS: dict[str, Any] = {
    **{row.name: lambda row=row: GIVEN.get(row.name, lambda: row.build().fit(X, Y))() for row in (*TABLE, *BESIDES)},
    "Isomap by radius": lambda: es.Isomap(2, graph=es.Radius(3.0)).fit(X),
    "Isomap by cosine": lambda: es.Isomap(2, metric="cosine", n_neighbors=12).fit(X),
    "LLE by cosine": lambda: es.LLE(2, graph=es.KNN(8, metric="manhattan")).fit(X),
    "Isomap by a transformer": lambda: es.Isomap(2, graph=KNeighborsTransformer(n_neighbors=9)).fit(X),
    "LLE by a transformer": lambda: es.LLE(2, graph=RadiusNeighborsTransformer(radius=2.0)).fit(X),
}


def held(value: Any, seen: dict[int, Any] | None = None) -> Iterator[Any]:
    """Yield every object reachable through attributes, entries and closures."""
    seen = {} if seen is None else seen
    if id(value) in seen or isinstance(value, (type, types.ModuleType, str, bytes, int, float, np.dtype)):
        return
    seen[id(value)] = value
    yield value
    parts: list[Any] = []
    if isinstance(value, dict):
        parts = [*value.keys(), *value.values()]
    elif isinstance(value, (list, tuple, set, frozenset)):
        parts = list(value)
    elif isinstance(value, types.FunctionType):
        parts = [cell.cell_contents for cell in value.__closure__ or ()]
    elif isinstance(value, types.MethodType):
        parts = [value.__self__]
    parts += vars(value).values() if hasattr(value, "__dict__") else ()
    for part in parts:
        yield from held(part, seen)


def mapped(estimator: Any) -> Any:
    """Return the estimator's output for new points."""
    if isinstance(estimator, es.ContingencySDR):
        return estimator.transform([[5, 6, 7]])
    use = "transform" if hasattr(estimator, "transform") else "predict"
    return np.asarray(quietly(lambda: getattr(estimator, use)(NEW)))


@pytest.mark.parametrize("name", FITS)
@pytest.mark.every(3)
def test_fitted_estimators_contain_no_search_structure(name: str) -> None:
    estimator = quietly(FITS[name])
    mapped(estimator)  # triggers lazy construction
    found = {f"{type(one).__module__}.{type(one).__name__}" for one in held(estimator)}
    assert not [kind for kind in found if kind.startswith(STRUCTURES)]


@pytest.mark.parametrize("name", FITS)
def test_skops_stores_every_estimator(name: str) -> None:
    skops = pytest.importorskip("skops.io")
    estimator = quietly(FITS[name])
    stored = skops.dumps(estimator)
    again = skops.loads(stored, trusted=skops.get_untrusted_types(data=stored))
    np.testing.assert_array_equal(mapped(again), mapped(estimator))


def test_order_tests_are_a_data_frame_after_loading() -> None:
    fitted = es.SIR().fit(_IRIS, LABELS)
    again = pickle.loads(pickle.dumps(fitted))
    assert list(fitted.order_tests_.columns) == ["statistic", "degrees", "p_value"]
    assert fitted.order_tests_.index.name == "directions"
    assert again.order_tests_.equals(fitted.order_tests_)
    assert not hasattr(es.SIR(), "order_tests_")


def test_search_tree_is_built_once_per_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    from eigenspan.numerics.nearest import engines

    built = []

    def counted(*arguments: Any, **named: Any) -> Any:
        built.append(1)
        return cKDTree(*arguments, **named)

    monkeypatch.setattr(engines, "cKDTree", counted)
    engine = TreeSearch(X)
    assert not built
    first = engine.near(NEW, 3)
    engine.near(None, 3)
    assert len(built) == 1
    again = pickle.loads(pickle.dumps(engine))
    for a, b in zip(again.near(NEW, 3), first, strict=True):
        np.testing.assert_array_equal(a, b)
    assert len(built) == 2


def test_threads_share_one_tree() -> None:
    engine, gate, trees = TreeSearch(np.random.default_rng(0).normal(size=(20000, 3))), threading.Barrier(8), []

    def ask() -> None:
        gate.wait()
        trees.append(engine.tree)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(tree) for tree in trees}) == 1
    assert engine.tree is trees[0]
