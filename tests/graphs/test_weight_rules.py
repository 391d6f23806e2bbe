"""A registered weight rule is accepted by every method, by name and as an object, unless its declaration excludes the method."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

import eigenspan as es
from eigenspan._parameters import Positive, parameter
from eigenspan._types import Array
from eigenspan.errors import GraphError, InputError, ParameterError
from eigenspan.graphs import WeightRule, weight_rule
from eigenspan.graphs.weights import rules
from helpers import angle

ROWS, CULTIVAR = load_wine(return_X_y=True)
WINE = StandardScaler().fit_transform(ROWS)
SOME = np.where(np.arange(178) % 3 == 0, CULTIVAR, -1)


class Tent(WeightRule):
    """Weight ``1 − d/width`` up to the width and zero beyond."""

    width: Positive = parameter(default=8.0, kw_only=False)

    def of_lengths(self, lengths: Array) -> Array:
        return np.maximum(1.0 - lengths / self.width, 0.0)


class Reach(WeightRule):
    """Weight one up to the median edge and zero beyond, which needs all edges of the graph."""

    def bind(self, graph: Any, X: Any) -> Any:
        return Tent(4 * float(np.median(graph.distances.data)))


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register both rules for one test."""
    monkeypatch.setattr(rules, "RULES", dict(rules.RULES))
    weight_rule("tent", all_pairs=True)(Tent)
    weight_rule("reach", dependency="lengths")(Reach)


METHODS = {
    "LaplacianEigenmaps": (es.LaplacianEigenmaps(2), None),
    "LPP": (es.LPP(2), None),
    "LPP of all pairs": (es.LPP(2, graph="all"), None),
    "NPP": (es.NPP(2), None),
    "SDA": (es.SDA(2), SOME),
    "SDA of all pairs": (es.SDA(2, graph="all"), SOME),
    "SODA": (es.SODA(2), SOME),
    "LDE": (es.LDE(2), CULTIVAR),
    "SupervisedNonlinearLocalEmbedding": (es.SupervisedNonlinearLocalEmbedding(2), CULTIVAR),
    "LFDA": (es.LFDA(2), CULTIVAR),
    "SELF": (es.SELF(2, unlabeled=-1), SOME),
}


@pytest.mark.parametrize("name", METHODS)
def test_a_rule_by_name_and_by_value(name: str) -> None:
    method, y = METHODS[name]
    key = "affinity" if hasattr(method, "affinity") else "weights"
    by_name, by_value, other = (
        clone(method).set_params(**{key: rule}).fit(WINE, y).embedding_ for rule in ("tent", Tent(8.0), Tent(6.0))
    )
    assert angle(by_name, by_value) < 1e-7
    assert angle(by_name, other) > 1e-4


@pytest.mark.parametrize("power", [1.0, 2.0])
@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_all_pairs_equal_their_definition(power: float, shift: float, monkeypatch: pytest.MonkeyPatch) -> None:
    from scipy.spatial.distance import cdist

    from eigenspan.problem.forms import pair_affinity

    W = np.maximum(1.0 - cdist(WINE, WINE) / 8.0, 0.0)
    W = W**power * np.linalg.norm(W) / np.linalg.norm(W**power)
    for small in (2**22, 0):  # as one array, and in blocks
        monkeypatch.setattr("eigenspan.problem.forms.all_pairs._SMALL", small)
        found = pair_affinity(WINE + shift, es.Powered("tent", power))
        np.testing.assert_allclose(found.to_dense(), W, rtol=0, atol=1e-8)
        np.testing.assert_allclose(found @ np.ones(178), W.sum(axis=1), rtol=1e-8)
        np.testing.assert_allclose(found.diagonal(), np.diagonal(W), rtol=1e-8)


def test_methods_refuse_rules_that_they_cannot_use() -> None:
    with pytest.raises(
        GraphError, match=r"Reach.. cannot weigh all pairs of points: use Heat, LocalScaling, Tent or Powered"
    ):
        es.LPP(2, graph="all", weights="reach").fit(WINE)
    with pytest.raises(GraphError, match=r'weights=.cosine. needs coordinates; with .* use one of .*"tent", "reach"'):
        es.LaplacianEigenmaps(2, graph="precomputed", weights="cosine").fit(np.abs(WINE[:, :1] - WINE[:, 0]))
    with pytest.raises(GraphError, match=r"'tight' is unknown. Use one of .*'tent', 'reach'"):
        es.LPP(2, weights="tight").fit(WINE)
    for affinity in ("reach", "tight"):
        with pytest.raises(
            GraphError, match=r'affinity=.* is unknown. Use one of "neighbours", "heat", "local", "tent",'
        ):
            es.LFDA(2, affinity=affinity).fit(WINE, CULTIVAR)
    with pytest.raises(GraphError, match=r"Tent\(width=-1\) cannot be used"):
        es.LPP(2, weights=Tent(-1)).fit(WINE)
    with pytest.raises(GraphError, match=r"has no place in LDE.*tent.* or .reach"):
        es.LDE(2, weights="precomputed").fit(WINE, CULTIVAR)
    with pytest.raises(ParameterError, match=r"'tent' belongs to Tent"):
        weight_rule("tent")(Reach)


def test_distances_and_given_graphs_need_no_coordinates(tmp_path: Any) -> None:
    D = np.linalg.norm(WINE[:, None] - WINE, axis=2)
    by_distances = es.LaplacianEigenmaps(2, graph="precomputed", weights="tent").fit(D).embedding_
    assert angle(by_distances, es.LaplacianEigenmaps(2, weights="tent").fit(WINE).embedding_) < 1e-6
    stored = np.memmap(tmp_path / "rows", mode="w+", shape=WINE.shape, dtype=np.float64)
    stored[:] = WINE
    graph = es.LPP(2).fit(WINE).graph_.distances
    fits = [es.SDA(2, graph=graph, weights="reach").fit(X, SOME).embedding_ for X in (WINE, stored)]
    assert angle(*fits) < 1e-7


def test_distributed_graphs_accept_rules_of_single_edges_only() -> None:
    da = pytest.importorskip("dask.array")
    X = np.random.default_rng(0).uniform(size=(400, 2))
    fitted = es.LaplacianEigenmaps(2, n_neighbors=12, weights=Tent(3.0)).fit(da.from_array(X, chunks=(100, 2)))
    whole = es.LaplacianEigenmaps(2, n_neighbors=12, weights=Tent(3.0)).fit(X)
    assert angle(fitted.embedding_, whole.embedding_) < 1e-5
    with pytest.raises(
        InputError, match='more than the length of each edge: on a cluster use "binary", "heat" or "tent"'
    ):
        es.LaplacianEigenmaps(2, weights="reach").fit(da.from_array(X, chunks=(100, 2)))


def test_documentation_and_dependencies_follow_the_registry() -> None:
    from eigenspan._docstrings import type_text

    assert type_text(rules.Weights) == (
        '{"binary", "heat", "local", "cosine", "precomputed", "tent", "reach"} or weight specification'
    )
    assert '"path"' in type_text(rules.ProjectionWeights)
    assert '"precomputed"' not in type_text(rules.ComputedWeights)
    assert rules.dependency_of("tent") == rules.dependency_of(Tent()) == "length"
    assert rules.dependency_of(es.Powered("tent")) == rules.dependency_of("reach") == "lengths"
    assert rules.dependency_of(es.Powered("cosine")) == "coordinates"
    assert rules.dependency_of(es.Powered("unknown")) is None


@pytest.mark.parametrize("name", sorted(rules.RULES.keys() - {"path", "precomputed"}))
def test_models_with_a_rule_of_the_library_load(name: str, tmp_path: Any) -> None:
    fitted = es.LaplacianEigenmaps(2, weights=name).fit(WINE[:150])
    es.save(fitted, tmp_path / "model.eig")
    again = es.load(tmp_path / "model.eig")
    assert again.weights == name
    np.testing.assert_allclose(again.transform(WINE[150:]), fitted.transform(WINE[150:]))
