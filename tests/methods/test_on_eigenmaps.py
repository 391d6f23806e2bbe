"""Regression and classification on eigenmaps: against the definition, against nearest neighbours, and at new points."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.linalg as la
from sklearn.base import clone
from sklearn.datasets import make_moons, make_swiss_roll
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.metrics import r2_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

import eigenspan as es
from eigenspan.errors import DimensionError, LabelError
from helpers import assert_scikit_learn_agrees, quietly, says


def roll(n: int = 1000, labelled: int = 40, seed: int = 0) -> Any:
    """A rolled sheet, where it is along the roll, and a few of these."""
    X, t = make_swiss_roll(n, random_state=seed)
    some = np.full(n, np.nan)
    rows = np.random.default_rng(seed).choice(n, labelled, replace=False)
    some[rows] = t[rows]
    return X, t, some


@pytest.mark.parametrize("unit", ["degree", "covariance"])
@pytest.mark.parametrize("ridge", [0.0, 0.1])
def test_against_the_definition(unit: str, ridge: float) -> None:
    """A dense eigenproblem, and scikit-learn's least squares on the labelled rows of its vectors."""
    X, _, some = roll(300, 60)
    fitted = es.EigenmapRegressor(9, unit=unit, ridge=ridge, n_neighbors=10).fit(X, some)
    W = fitted.affinity_.W.toarray()
    d = W.sum(axis=1)
    V = la.eigh(np.diag(d) - W, np.diag(d) if unit == "degree" else None)[1][:, 1:10]
    V = (V - V.mean(axis=0)) / V.std(axis=0)
    known = ~np.isnan(some)
    model = Ridge(alpha=ridge * known.sum()) if ridge else LinearRegression()
    expected = model.fit(V[known], some[known]).predict(V)
    np.testing.assert_allclose(fitted.transduction_, expected, atol=1e-6)
    np.testing.assert_allclose(fitted.predict(X), expected, atol=1e-6)


def test_new_points_have_the_values_of_the_extended_functions() -> None:
    X, t, some = roll()
    fitted = es.EigenmapRegressor(n_neighbors=8).fit(X, some)
    fresh, there = make_swiss_roll(500, random_state=9)
    values = fitted.predict(fresh)
    np.testing.assert_allclose(values, fitted.transform(fresh) @ fitted.coef_[:, 0] + fitted.intercept_[0])
    assert r2_score(there, values) > 0.95 * r2_score(t, fitted.transduction_)
    plain = es.LaplacianEigenmaps(fitted.n_components_, n_neighbors=8).fit(X)
    np.testing.assert_allclose(plain.embedding_, fitted.embedding_)


@pytest.mark.parametrize("seed", range(4))
def test_few_labels_on_a_roll_tell_more_than_neighbours(seed: int) -> None:
    """Forty labels of a thousand: nearest labelled neighbours jump from sheet to sheet."""
    X, t, some = roll(1000, 40, seed)
    known = ~np.isnan(some)
    errors = [
        np.mean((KNeighborsRegressor(k, weights="distance").fit(X[known], t[known]).predict(X) - t)[~known] ** 2)
        for k in (1, 3, 5)
    ]
    found = es.EigenmapRegressor(n_neighbors=8).fit(X, some).transduction_
    assert np.mean((found - t)[~known] ** 2) < 0.2 * min(errors)


def test_few_labels_of_two_moons_tell_more_than_neighbours() -> None:
    """Four labels of each moon, eight times: where they happen to lie matters to neighbours, and hardly to the graph."""
    found, nearest = [], []
    for seed in range(8):
        X, y = make_moons(400, noise=0.05, random_state=seed)
        rng = np.random.default_rng(seed)
        rows = np.concatenate([rng.choice(np.flatnonzero(y == c), 4, replace=False) for c in (0, 1)])
        some = np.full(400, -1)
        some[rows] = y[rows]
        hidden = some < 0
        nearest.append(max(KNeighborsClassifier(k).fit(X[rows], y[rows]).score(X[hidden], y[hidden]) for k in (1, 3)))
        fitted = es.EigenmapClassifier(graph=es.MST(n_neighbors=10), weights="binary").fit(X, some)
        found.append(np.mean(fitted.transduction_[hidden] == y[hidden]))
    assert np.mean(found) > 0.98
    assert np.mean(found) - np.mean(nearest) > 0.02


def test_classes_are_indicators_in_a_regression() -> None:
    X, t, _ = roll(400)
    y = np.array(["in", "middle", "out"])[np.digitize(t, [7.5, 11])]
    some = np.where(np.arange(400) % 5 == 0, y, None)
    fitted = es.EigenmapClassifier(10, n_neighbors=9).fit(X, some)
    indicators = np.where((some != None)[:, None], (some[:, None] == fitted.classes_).astype(float), np.nan)  # noqa: E711
    values = es.EigenmapRegressor(10, n_neighbors=9).fit(X, indicators)
    assert values.transduction_.shape == (400, 3)
    np.testing.assert_allclose(fitted.decision_function(X), values.predict(X), atol=1e-9)
    np.testing.assert_array_equal(fitted.predict(X), fitted.classes_[values.predict(X).argmax(axis=1)])
    np.testing.assert_array_equal(fitted.transduction_, fitted.predict(X))
    assert list(fitted.classes_) == ["in", "middle", "out"]
    two = es.EigenmapClassifier(n_neighbors=9).fit(X, np.where(np.arange(400) % 5 == 0, t > 9, None))
    np.testing.assert_array_equal(two.predict(X), two.decision_function(X) > 0)


def test_how_many_functions() -> None:
    X, _, some = roll(300, 37)
    assert es.EigenmapRegressor().fit(X, some).n_components_ == 7
    with pytest.raises(
        DimensionError, match=says("n_components=37", "37 labelled points", "n_components <= 36", "ridge > 0")
    ):
        es.EigenmapRegressor(37).fit(X, some)
    assert es.EigenmapRegressor(37, ridge=0.01).fit(X, some).coef_.shape == (37, 1)
    with pytest.raises(LabelError, match=says("EigenmapRegressor", "missing")):
        es.EigenmapRegressor().fit(X, np.full(300, np.nan))
    with pytest.raises(LabelError, match="at least 2 classes"):
        es.EigenmapClassifier().fit(X, np.where(np.arange(300) < 9, 0, -1))


def test_copies_landmarks_frames_and_files(tmp_path: Any) -> None:
    X, _, some = roll(300, 60)
    fitted = es.EigenmapRegressor(8).fit(np.vstack([X, X[:20]]), np.append(some, some[:20]))
    np.testing.assert_allclose(fitted.transduction_[300:], fitted.transduction_[:20])
    assert es.EigenmapRegressor(8, landmarks=150).fit(X, some).predict(X).shape == (300,)
    frame = pd.DataFrame(X.astype(np.float32), columns=list("xyz"))
    named = es.EigenmapRegressor(8).fit(frame, pd.Series(some))
    es.save(named, tmp_path / "model")
    np.testing.assert_array_equal(es.load(tmp_path / "model").predict(frame), named.predict(frame))
    np.testing.assert_allclose(clone(named).fit(frame, some).predict(frame), named.predict(frame))


@pytest.mark.parametrize(
    "estimator", [es.EigenmapRegressor(), es.EigenmapClassifier(unlabeled=None)], ids=["numbers", "classes"]
)
@pytest.mark.every(2)
def test_scikit_learn_agrees(estimator: Any) -> None:
    quietly(lambda: assert_scikit_learn_agrees(estimator))
