"""`AffinityLearner`: feature weights compared with a convex solver, and applied to new groups."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

import eigenspan as es
from eigenspan.errors import ConvergenceWarning, LabelError
from helpers import assert_scikit_learn_agrees, quietly, says


def groups(n: int, seed: int, noise: int = 3, centres: Any = ((0, 0), (4, 0), (0, 4)), size: float = 3.0) -> Any:
    """Return groups that differ in two features; further features are noise on a larger scale."""
    X, y = make_blobs(n, centers=np.array(centres, dtype=float), random_state=seed)
    return np.c_[X, size * np.random.default_rng(seed).standard_normal((n, noise))], y


def by_convex_solver(X: Any, y: Any) -> tuple[Any, float]:
    """Minimise the divergence with a conic solver; every pair is a row of squared differences."""
    weights = cp.Variable(X.shape[1], nonneg=True)
    terms = []
    for i in range(len(X)):
        others = np.flatnonzero(np.arange(len(X)) != i)
        squares = (X[others] - X[i]) ** 2
        own = y[others] == y[i]
        if own.any():
            terms.append(squares[own].mean(axis=0) @ weights + cp.log_sum_exp(-squares @ weights) - np.log(own.sum()))
    problem = cp.Problem(cp.Minimize(sum(terms) / len(terms)))
    problem.solve(solver=cp.CLARABEL)
    return weights.value, float(problem.value)


@pytest.mark.parametrize("seed", range(3))
def test_against_a_convex_solver(seed: int) -> None:
    X, y = groups(36, seed)
    y[0] = 7  # the only member of its group, so it has no pairs
    fitted = es.AffinityLearner().fit(X, y)
    weights, value = by_convex_solver(X, y)
    assert fitted.divergence_ == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(fitted.weights_, weights, atol=1e-3 * weights.max())
    active = fitted.weights_ > 0
    assert np.abs(fitted.gradient_[active]).max() < 1e-5
    assert fitted.gradient_[~active].min(initial=0.0) > -1e-9


def test_the_gradient_is_that_of_the_divergence() -> None:
    from eigenspan.learning.affinity_learner import _Walk

    X, y = groups(40, 0)
    walk, at, step = _Walk(X, y), np.array([0.3, 0.1, 0.2, 0.05, 0.4]), 1e-6
    expected = [(walk(at + step * e)[0] - walk(at - step * e)[0]) / (2 * step) for e in np.eye(5)]
    np.testing.assert_allclose(walk(at)[1], expected, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_weights_apply_to_groups_not_in_the_fit(seed: int) -> None:
    """The weights belong to the features, so they also separate four other groups."""
    X, y = groups(150, seed, size=20.0)
    fresh, truth = groups(400, seed + 10, size=20.0, centres=[(-8, 3), (1, -7), (9, 9), (-6, -9)])
    learner = es.AffinityLearner().fit(X, y)
    clusters = es.SpectralClustering(4, weights=es.Heat(1.0), n_neighbors=20)
    assert adjusted_rand_score(clusters.fit_predict(learner.transform(fresh)), truth) > 0.95
    assert adjusted_rand_score(clusters.set_params(weights="heat").fit_predict(fresh), truth) < 0.8


def test_units_and_rows_without_a_group() -> None:
    X, y = groups(80, 0)
    fitted = es.AffinityLearner().fit(X, y)
    units = np.array([1e-3, 1.0, 10.0, 1e4, 1.0])
    scaled = es.AffinityLearner().fit(X * units + 5, y)
    np.testing.assert_allclose(scaled.weights_ * units**2, fitted.weights_, atol=1e-5 * fitted.weights_.max())
    more = es.AffinityLearner().fit(np.vstack([X, 100 * X[:9]]), np.r_[y, np.full(9, -1)])
    np.testing.assert_allclose(more.weights_, fitted.weights_)
    still = es.AffinityLearner().fit(np.c_[X, np.ones(80)], y)
    assert still.weights_[-1] == 0
    frame = pd.DataFrame(X.astype(np.float32), columns=list("abcde"))
    out = es.AffinityLearner().set_output(transform="pandas").fit(frame, y).transform(frame)
    assert list(out.columns) == [f"affinitylearner{i}" for i in range(5)]
    assert set(map(str, out.dtypes)) == {"float32"}


def test_invalid_input_is_refused() -> None:
    X, y = groups(20, 0)
    with pytest.raises(LabelError, match=says("Each of the 20 labelled rows is the only one")):
        es.AffinityLearner().fit(X, np.array([f"row {i}" for i in range(20)]))
    with pytest.raises(LabelError, match="at least 2 classes"):
        es.AffinityLearner().fit(X, np.zeros(20, dtype=int))
    with pytest.warns(ConvergenceWarning, match=says("max_iter=1", "have not converged")):
        es.AffinityLearner(max_iter=1).fit(X, y)


def test_scikit_learn_agrees() -> None:
    quietly(lambda: assert_scikit_learn_agrees(es.AffinityLearner(unlabeled=None)))
