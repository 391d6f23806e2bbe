"""The recipes of CONTRIBUTING: their code blocks run, and what they define works in the library."""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_wine, make_swiss_roll
from sklearn.preprocessing import StandardScaler

import eigenspan as es
from eigenspan.errors import InputError
from eigenspan.graphs import affinity
from eigenspan.graphs.weights import rules
from eigenspan.methods.base import table
from helpers import angle
from routes import by_route

PAGE = Path(__file__).parents[2] / "CONTRIBUTING.md"
WINE, CULTIVAR = load_wine(return_X_y=True)
WINE = StandardScaler().fit_transform(WINE)


@pytest.fixture(scope="module")
def defined() -> Iterator[dict[str, Any]]:
    """Names that the code blocks define, run in order; what they register is removed afterwards."""
    methods, known = list(table.ROWS), dict(rules.RULES)
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {"__name__": "recipes"}
    for block in blocks:
        exec(compile(block, PAGE.name, "exec", flags=0, dont_inherit=True), names)
    yield names
    table.ROWS[:] = methods
    rules.RULES.clear()
    rules.RULES.update(known)


@pytest.mark.parametrize("storage", ["array", "sparse", "memmap", "dask", "parts"])
def test_the_method_is_the_same_for_every_storage(defined: dict[str, Any], storage: str, tmp_path: Path) -> None:
    dask = pytest.importorskip("dask")
    estimator = defined["WeightedMargin"](2, weight=0.3)
    with dask.config.set(scheduler="synchronous"):
        if storage == "parts":
            estimator.partial_fit(WINE[::2], CULTIVAR[::2]).partial_fit(WINE[1::2], CULTIVAR[1::2])
        else:
            y = by_route(CULTIVAR, "dask", tmp_path) if storage == "dask" else CULTIVAR
            estimator.fit(by_route(WINE, storage, tmp_path), y)
    # maximal S_B − w S_W under S_T = I has the directions of LDA
    assert angle(estimator.components_.T, es.LDA(2).fit(WINE, CULTIVAR).components_.T) < 1e-6
    assert estimator.classes_.tolist() == [0, 1, 2]
    assert estimator.n_samples_seen_ == 178


@pytest.mark.parametrize("more", [{"kernel": "linear", "ridge": 0.0}, {"reduce": 13}], ids=["kernel", "reduce"])
@pytest.mark.parametrize("storage", ["array", "sparse", "memmap"])
def test_the_method_takes_kernels_and_reduced_rows(
    defined: dict[str, Any], storage: str, more: dict[str, Any], tmp_path: Path
) -> None:
    fitted = defined["WeightedMargin"](2, weight=0.3, **more).fit(by_route(WINE, storage, tmp_path), CULTIVAR)
    plain = defined["WeightedMargin"](2, weight=0.3).fit(WINE, CULTIVAR)
    assert angle(fitted.transform(WINE), plain.transform(WINE)) < 1e-6


def test_the_method_takes_a_kernel_on_landmarks_of_a_dask_array(defined: dict[str, Any], tmp_path: Path) -> None:
    dask = pytest.importorskip("dask")
    X, y = by_route(WINE, "dask", tmp_path), by_route(CULTIVAR, "dask", tmp_path)
    with dask.config.set(scheduler="synchronous"):
        fitted = defined["WeightedMargin"](2, kernel="rbf", landmarks=50, random_state=0).fit(X, y)
        with pytest.raises(InputError, match="landmarks=m fits m of the rows instead"):
            defined["WeightedMargin"](2, kernel="rbf").fit(X, y)
    assert fitted.eigenvalues_.min() > 0.5
    assert fitted.transform(WINE).shape == (178, 2)


def test_the_method_weights_its_axes_by_their_gain(defined: dict[str, Any]) -> None:
    unit, weighted = (defined["WeightedMargin"](2, axes=axes).fit(WINE, CULTIVAR) for axes in ("unit", "eigenvalue"))
    np.testing.assert_allclose(
        weighted.embedding_, unit.embedding_ * np.sqrt(unit.eigenvalues_), rtol=1e-10, atol=1e-12
    )


def test_the_method_has_a_documented_row_in_the_table(defined: dict[str, Any]) -> None:
    row = next(row for row in table.ROWS if row.name == "WeightedMargin")
    assert (row.family, row.supervision) == ("discriminant", "labels")
    text = defined["WeightedMargin"].__doc__
    assert "weight : float, default=0.5" in text
    assert "components_ : ndarray" in text


def test_the_method_over_a_graph_minimises_its_form(defined: dict[str, Any]) -> None:
    fitted = defined["BendingProjections"](2, n_neighbors=10).fit(WINE)
    L = es.LPP(2, n_neighbors=10).fit(WINE)
    W = affinity(L.graph_, "heat", WINE).W.toarray()
    M = np.diag(W.sum(axis=1)) - W
    cost = [np.trace(Y.T @ M @ M @ Y) for Y in (fitted.embedding_, _unit(L.embedding_))]
    assert cost[0] < cost[1]
    np.testing.assert_allclose(fitted.embedding_.T @ fitted.embedding_, np.eye(2), atol=1e-8)
    assert fitted.graph_.n == 178


def _unit(Y: Any) -> Any:
    """Centred columns with orthonormal sums of products."""
    return np.linalg.qr(Y - Y.mean(axis=0))[0]


def test_the_weight_rule_works_by_name_and_as_an_object(defined: dict[str, Any]) -> None:
    named = es.LPP(2, graph="all", weights="tent").fit(WINE)
    given = es.LPP(2, graph="all", weights=defined["Tent"](8.0)).fit(WINE)
    np.testing.assert_array_equal(named.embedding_, given.embedding_)
    assert angle(named.embedding_, es.LPP(2, graph="all", weights="heat").fit(WINE).embedding_) > 1e-4


def test_the_solver_finds_the_axes_of_the_dense_one(defined: dict[str, Any]) -> None:
    found = es.KernelPCA(2, kernel="rbf", solver=defined["OrthogonalIteration"](2000)).fit(WINE)
    exact = es.KernelPCA(2, kernel="rbf", solver="dense").fit(WINE)
    np.testing.assert_allclose(found.eigenvalues_, exact.eigenvalues_, rtol=1e-8)
    assert angle(found.embedding_, exact.embedding_) < 1e-6


def test_the_extension_places_new_points_at_the_mean_of_neighbours(defined: dict[str, Any]) -> None:
    class Averaged(es.LaplacianEigenmaps):
        def _pose_graph(self, graph: Any, sample: Any) -> Any:
            from dataclasses import replace

            from eigenspan.problem import Samples

            posed = super()._pose_graph(graph, sample)
            rows = defined["MeanRows"](graph.finder)
            basis = Samples(graph.n, defined["NeighbourMean"](rows, sample.x.known()), sample.x.masses)
            return replace(posed, basis=basis)

    X, _ = make_swiss_roll(300, random_state=0)
    fitted = Averaged(2, n_neighbors=8).fit(X)
    np.testing.assert_allclose(fitted.transform(X), fitted.embedding_, atol=1e-12)
    new = X[:5] + 0.01
    near = np.argsort(np.linalg.norm(new[:, None] - X, axis=2), axis=1)[:, :8]
    np.testing.assert_allclose(fitted.transform(new), fitted.embedding_[near].mean(axis=1), atol=1e-12)


def test_rows_of_an_extension_are_picklable(defined: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    import sys
    import types

    module = types.ModuleType("recipes")
    vars(module).update(defined)
    monkeypatch.setitem(sys.modules, "recipes", module)
    rows = defined["MeanRows"](es.KNN(3).build(WINE).finder)
    again = pickle.loads(pickle.dumps(rows))
    assert abs(rows(WINE[:4]) - again(WINE[:4])).max() == 0
    with pytest.raises(InputError):  # a class of this test has no kind in model files
        es.save(rows, "rows.eig")
