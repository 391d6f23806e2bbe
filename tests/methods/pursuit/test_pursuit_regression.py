"""Projection pursuit regression: known directions and functions, and the best direction of a dense search."""

from __future__ import annotations

import numpy as np
import pytest

import eigenspan as es
from eigenspan.errors import ConvergenceWarning
from eigenspan.numerics.penalised_spline import fit_spline
from helpers import assert_scikit_learn_agrees, quietly


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.fixture(scope="module")
def two() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return points, a response of two indices, and their directions."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 5)) @ np.diag([1.0, 2.0, 0.5, 1.0, 3.0])
    V = unit(np.array([[1.0, 0.5, 0.0, 0.0, 0.0], [0.0, 0.0, 2.0, -1.0, 0.0]]))
    y = np.sin(1.5 * X @ V[0]) + (X @ V[1]) ** 2 + 0.1 * rng.standard_normal(400)
    return X, y, V


@pytest.mark.parametrize(
    ("function", "df"), [(np.tanh, 5.0), (np.abs, 8.0), (lambda t: t**3 - t, 6.0), (lambda t: t, 2.0)]
)
def test_a_single_index_is_found(function: object, df: float) -> None:
    rng = np.random.default_rng(1)
    X, v = rng.standard_normal((300, 4)), unit(np.array([[1.0, -2.0, 0.5, 0.0]]))[0]
    y = function(X @ v) + 0.05 * rng.standard_normal(300)
    model = es.ProjectionPursuitRegression(1, df=df, n_restarts=2).fit(X, y)
    assert abs(unit(model.components_)[0] @ v) > 0.999
    fresh = rng.standard_normal((500, 4))
    residual = model.predict(fresh) - function(fresh @ v)
    assert np.mean(residual**2) < 0.04 * np.var(function(fresh @ v))


def test_two_indices_are_found(two: tuple) -> None:
    X, y, V = two
    model = es.ProjectionPursuitRegression(2, df=9, n_restarts=3).fit(X, y)
    assert model.score(X, y) > 0.98
    cosines = np.abs(unit(model.components_) @ V.T)
    assert cosines.max(axis=0).min() > 0.995
    assert model.importances_[0] >= model.importances_[1]
    assert np.all(np.diff(model.path_) <= 0)


def test_one_term_is_the_best_of_all_directions() -> None:
    """Oracle: the smoothest fit along each of 720 directions of the white plane."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((150, 2)) @ [[2.0, 1.0], [0.0, 0.5]]
    y = np.cos(X[:, 0] + X[:, 1]) * X[:, 1] + 0.2 * rng.standard_normal(150)
    C = X - X.mean(axis=0)
    Z = C @ np.linalg.inv(np.linalg.cholesky(C.T @ C / 150)).T

    def loss(a: float) -> float:
        t = Z @ [np.cos(a), np.sin(a)]
        return float(np.sum((y - y.mean() - fit_spline(t, (y - y.mean())[:, None], 5.0)(t)[:, 0]) ** 2))

    best = 1 - min(loss(a) for a in np.linspace(0, np.pi, 360, endpoint=False)) / np.sum((y - y.mean()) ** 2)
    assert es.ProjectionPursuitRegression(1, tol=1e-6).fit(X, y).score(X, y) > best - 1e-4


def test_the_prediction_is_the_sum_of_the_functions_of_the_projections(two: tuple) -> None:
    X, y, _ = two
    model = es.ProjectionPursuitRegression(2, n_restarts=1).fit(X, y)
    Y = (X - model.mean_) @ model.components_.T
    np.testing.assert_allclose(Y, model.transform(X), atol=1e-10)
    np.testing.assert_allclose(Y.std(axis=0), 1.0, rtol=1e-9)
    terms = [f(t)[:, 0] for f, t in zip(model.ridge_functions_, Y.T, strict=True)]
    np.testing.assert_allclose(model.intercept_ + np.sum(terms, axis=0), model.predict(X))
    np.testing.assert_allclose([t.std() / y.std() for t in terms], model.importances_)
    np.testing.assert_allclose([t.mean() for t in terms], 0, atol=1e-9)
    assert np.isclose(1 - model.score(X, y), model.path_[-1], rtol=1e-8)


def test_df_2_is_linear_regression(two: tuple) -> None:
    X, _, _ = two
    y = X @ [1.0, 0.0, 2.0, 0.0, -1.0] + np.random.default_rng(3).standard_normal(400)
    A = np.column_stack([np.ones(400), X])
    expected = A @ np.linalg.lstsq(A, y, rcond=None)[0]
    found = es.ProjectionPursuitRegression(1, df=2, tol=1e-9).fit(X, y).predict(X)
    np.testing.assert_allclose(found, expected, atol=1e-3 * np.std(expected))


def test_units_of_features_and_response_do_not_matter(two: tuple) -> None:
    X, y, _ = two
    one = es.ProjectionPursuitRegression(1, n_restarts=2).fit(X, y)
    other = es.ProjectionPursuitRegression(1, n_restarts=2).fit(X * [1e3, 1, 1e-3, 5, 1], 1e4 * y + 3)
    np.testing.assert_allclose(other.predict(X * [1e3, 1, 1e-3, 5, 1]), 1e4 * one.predict(X) + 3, rtol=1e-5)


def test_rows_without_a_response_count_for_the_scale_only(two: tuple) -> None:
    X, y, _ = two
    some = np.where(np.arange(400) % 4 == 0, np.nan, y)
    model = es.ProjectionPursuitRegression(2, df=9, n_restarts=3).fit(X, some)
    np.testing.assert_allclose(model.mean_, X.mean(axis=0))
    assert model.score(X[::4], y[::4]) > 0.97


def test_several_responses_share_the_directions(two: tuple) -> None:
    X, y, V = two
    Y = np.column_stack([np.tanh(X @ V[0]), 100 * (X @ V[0]) ** 2 + 5, np.ones(400)])
    model = es.ProjectionPursuitRegression(1, df=8, n_restarts=2).fit(X, Y)
    assert abs(unit(model.components_)[0] @ V[0]) > 0.9999
    found = model.predict(X)
    assert found.shape == Y.shape
    assert np.all(np.mean((found - Y) ** 2, axis=0) <= 0.01 * np.var(Y, axis=0) + 1e-20)
    column = es.ProjectionPursuitRegression(1, n_restarts=2).fit(X, y[:, None])
    np.testing.assert_array_equal(
        column.predict(X)[:, 0], es.ProjectionPursuitRegression(1, n_restarts=2).fit(X, y).predict(X)
    )


def test_too_few_rounds_are_reported(two: tuple) -> None:
    X, y, _ = two
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        es.ProjectionPursuitRegression(2, max_iter=1, tol=1e-9, n_restarts=1).fit(X, y)


@pytest.mark.long
def test_scikit_learn_accepts_it() -> None:
    quietly(lambda: assert_scikit_learn_agrees(es.ProjectionPursuitRegression(1, n_restarts=1)))


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_a_response_of_any_size(size: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2))
    y = X[:, 0] ** 2
    one, other = (es.ProjectionPursuitRegression(1).fit(X, factor * y).predict(X) for factor in (1.0, size))
    np.testing.assert_allclose(other / size, one, rtol=1e-6, atol=1e-9)
