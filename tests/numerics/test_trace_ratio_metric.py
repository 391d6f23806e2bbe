"""The ratio of two traces under a metric, against scipy's optimiser and the optimality condition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg as la
from scipy.optimize import minimize
from sklearn.datasets import load_iris

import eigenspan as es
from eigenspan.errors import InputError, RidgeWarning
from eigenspan.problem import Form, TraceProblem, TraceRatio, solve
from helpers import angle


def matrices(seed: int, n: int = 7) -> list[Any]:
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, n))
    return [A + A.T, *(M @ M.T + 0.1 * np.eye(n) for M in rng.standard_normal((2, n, n)))]


def ratio(V: Any, A: Any, B: Any, C: Any) -> float:
    W = V @ np.linalg.inv(la.sqrtm(V.T @ C @ V).real)
    return float(np.trace(W.T @ A @ W) / np.trace(W.T @ B @ W))


@pytest.mark.parametrize("sense", ["max", "min"])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.every(3)
def test_optimisers_find_no_better_ratio(seed: int, sense: Any) -> None:
    A, B, C = matrices(seed)
    sign = 1.0 if sense == "max" else -1.0
    found = solve(TraceRatio(*(Form(7, dense=M) for M in (A, B)), sense, Form(7, dense=C)), 2)
    rho, V = found.facts["trace_ratio"], found.vectors
    np.testing.assert_allclose(V.T @ C @ V, np.eye(2), atol=1e-9)
    assert ratio(V, A, B, C) == pytest.approx(rho, rel=1e-9)
    leading = sign * la.eigh(sign * (A - rho * B), C, eigvals_only=True)[::-1][:2]
    assert abs(leading.sum()) < 1e-8 * la.norm(A)  # the optimality condition [S0, eq. 6]
    np.testing.assert_allclose(found.values, leading, atol=1e-8 * la.norm(A))
    rng = np.random.default_rng(seed)
    best = [
        -sign * minimize(lambda v: -sign * ratio(v.reshape(7, 2), A, B, C), rng.standard_normal(14), method="BFGS").fun
        for _ in range(4)
    ]
    assert max(sign * np.array(best)) == pytest.approx(sign * rho, rel=1e-5)
    ordinary = solve(TraceProblem(Form(7, dense=A), Form(7, dense=B), sense), 2).vectors
    assert sign * ratio(ordinary, A, B, C) <= sign * rho + 1e-12


def test_without_a_metric_the_result_is_unchanged() -> None:
    A, B, _ = matrices(0)
    plain, unit = (
        solve(TraceRatio(Form(7, dense=A), Form(7, dense=B), "max", C), 3) for C in (None, Form(7, dense=np.eye(7)))
    )
    assert plain.facts["trace_ratio"] == pytest.approx(unit.facts["trace_ratio"], rel=1e-10)
    assert angle(plain.vectors, unit.vectors) < 1e-5


def test_declared_directions_are_excluded() -> None:
    A, B, C = matrices(1)
    N = np.random.default_rng(0).standard_normal((7, 1))
    found = solve(TraceRatio(Form(7, dense=A), Form(7, dense=B), "max", Form(7, dense=C), N), 2)
    np.testing.assert_allclose(N.T @ C @ found.vectors, 0.0, atol=1e-9)
    Q = la.null_space(N.T @ C)
    within = solve(TraceRatio(*(Form(6, dense=Q.T @ M @ Q) for M in (A, B)), "max", Form(6, dense=Q.T @ C @ Q)), 2)
    assert found.facts["trace_ratio"] == pytest.approx(within.facts["trace_ratio"], rel=1e-9)
    assert angle(Q @ within.vectors, found.vectors) < 1e-5


def test_a_singular_metric() -> None:
    """If A and B vanish on null(C), the problem is restricted to its complement; otherwise the metric gets a ridge, which is reported."""
    A, B, C = matrices(2)
    P = np.diag([1.0] * 5 + [0.0] * 2)
    small = solve(TraceRatio(*(Form(5, dense=M[:5, :5]) for M in (A, B)), "max", Form(5, dense=C[:5, :5])), 2)
    whole = solve(TraceRatio(*(Form(7, dense=P @ M @ P) for M in (A, B)), "max", Form(7, dense=P @ C @ P)), 2)
    assert whole.facts["trace_ratio"] == pytest.approx(small.facts["trace_ratio"], rel=1e-8)
    with pytest.warns(RidgeWarning):
        solve(TraceRatio(Form(7, dense=A), Form(7, dense=B), "max", Form(7, dense=P @ C @ P)), 2)


# ---------------------------------------------------------------------- by hand
@pytest.fixture(scope="module")
def iris() -> Any:
    return load_iris(return_X_y=True)


def test_lda_by_hand(iris: Any) -> None:
    X, y = iris
    hand = es.TraceReducer(2, maximise="between", over="total", unit="projection").fit(X, y)
    lda = es.LDA(2, criterion="trace-ratio").fit(X, y)
    assert angle(hand.components_.T, lda.components_.T) < 1e-5
    assert hand.diagnostics_["trace_ratio"] == pytest.approx(lda.diagnostics_["trace_ratio"], rel=1e-9)


def _scatters(X: Any, y: Any) -> tuple[Any, Any]:
    """Compute S_B and S_W by their definitions, class by class."""
    mean, D = X.mean(axis=0), X.shape[1]
    S_B, S_W = np.zeros((D, D)), np.zeros((D, D))
    for label in np.unique(y):
        some = X[y == label]
        centre = some.mean(axis=0)
        S_B += len(some) * np.outer(centre - mean, centre - mean)
        S_W += (some - centre).T @ (some - centre)
    return S_B, S_W


@pytest.mark.parametrize("options", [{}, {"ridge": 3.0}, {"shrinkage": 0.3}, {"axes": "eigenvalue"}, {"reduce": 3}])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_reported_ratios_of_lda(iris: Any, d: int, options: Any) -> None:
    """``trace_ratio_`` is relative to the total scatter, ``between_to_within_`` to the scatter within classes."""
    X, y = iris
    lda = es.LDA(d, criterion="trace-ratio", **options).fit(X, y)
    if "reduce" in options:
        X = es.PCA(3).fit_transform(X)
    V = es.LDA(d, criterion="trace-ratio", **{k: v for k, v in options.items() if k in ("ridge", "shrinkage")}).fit(
        X, y
    )
    V = V.components_.T
    np.testing.assert_allclose(V.T @ V, np.eye(d), atol=1e-10)
    S_B, S_W = _scatters(X, y)
    s = options.get("shrinkage", 0.0)
    S_W = (1 - s) * S_W + (s * np.trace(S_W) / len(S_W) + options.get("ridge", 0.0)) * np.eye(len(S_W))
    b, w = np.trace(V.T @ S_B @ V), np.trace(V.T @ S_W @ V)
    assert lda.trace_ratio_ == pytest.approx(b / (b + w), rel=1e-9)
    assert lda.between_to_within_ == pytest.approx(b / w, rel=1e-8)
    assert lda.diagnostics_["trace_ratio"] == lda.trace_ratio_


def test_reported_ratio_of_other_methods(iris: Any) -> None:
    X, y = iris
    found = es.TraceReducer(2, maximise="between", over="within", unit="projection").fit(X, y)
    S_B, S_W = _scatters(X, y)
    V = found.components_.T
    assert found.trace_ratio_ == pytest.approx(np.trace(V.T @ S_B @ V) / np.trace(V.T @ S_W @ V), rel=1e-8)
    lda = es.LDA(2, criterion="trace-ratio").fit(X, y)
    assert lda.between_to_within_ == pytest.approx(found.trace_ratio_, rel=1e-8)
    assert not hasattr(es.LDA(2).fit(X, y), "trace_ratio_")
    soda = es.SODA(2).fit(X, np.where(np.arange(len(y)) % 3, y, -1))
    assert soda.trace_ratio_ == soda.diagnostics_["trace_ratio"]


@pytest.mark.parametrize("unit", ["projection", "embedding", "degree", "total"])
@pytest.mark.parametrize("pair", [("minimise", "laplacian", "variance"), ("maximise", "between", "within")])
def test_any_forms_under_any_unit(iris: Any, pair: Any, unit: str) -> None:
    """Random axes of the same unit are never better, and the embedding has the reported ratio."""
    X, y = iris
    sense, form, over = pair
    found = es.TraceReducer(2, **{sense: form}, over=over, unit=unit).fit(X, y)
    problem = found.problem_
    A, B = problem.A.to_dense(), problem.B.to_dense()
    C = np.eye(len(A)) if problem.C is None else problem.C.to_dense()
    rho, sign = found.diagnostics_["trace_ratio"], 1.0 if sense == "maximise" else -1.0
    assert found.eigenvalues_.sum() == pytest.approx(0.0, abs=1e-8 * la.norm(A))
    rivals = [sign * ratio(V, A, B, C) for V in np.random.default_rng(0).standard_normal((200, len(A), 2))]
    assert max(rivals) < sign * rho
    if pair[0] == "maximise":
        centred, means = X - X.mean(axis=0), np.array([X[y == k].mean(axis=0) for k in range(3)])[y]
        T = found.components_.T
        S_B = (means - X.mean(axis=0)).T @ (means - X.mean(axis=0))
        S_W = centred.T @ centred - S_B
        assert np.trace(T.T @ S_B @ T) / np.trace(T.T @ S_W @ T) == pytest.approx(rho, rel=1e-8)


def test_other_bases_and_scales(iris: Any) -> None:
    X, y = iris
    kernel = es.TraceReducer(2, maximise="between", over="within", unit="projection", basis="kernel", ridge=0.1).fit(
        X, y
    )
    np.testing.assert_allclose(kernel.transform(X), kernel.embedding_, atol=1e-8 * np.abs(kernel.embedding_).max())
    distinct = np.unique(X, axis=0)
    model: Any = {"minimise": "laplacian", "over": "variance", "unit": "degree", "n_neighbors": 40}
    samples = es.TraceReducer(2, basis="samples", **model).fit(distinct)
    Y, W = samples.embedding_, samples.problem_
    assert np.trace(Y.T @ (W.A @ Y)) / np.trace(Y.T @ (W.B @ Y)) == pytest.approx(
        samples.diagnostics_["trace_ratio"], rel=1e-9
    )
    np.testing.assert_allclose(W.C.diagonal() @ Y, 0.0, atol=1e-8)  # the constant is excluded
    with pytest.raises(InputError, match="trace ratio depend on the solution"):
        es.equivalent_kernel(samples)
    plain, rooted = (
        es.TraceReducer(2, maximise="between", over="within", unit="total", scale=scale).fit(X, y)
        for scale in ("unit", "sqrt")
    )
    gains = (rooted.embedding_.std(axis=0) / plain.embedding_.std(axis=0)) ** 2
    within = sum(plain.embedding_[y == k].var(axis=0) * np.sum(y == k) for k in range(3))
    np.testing.assert_allclose(gains, plain.embedding_.var(axis=0) * len(X) / within - 1, rtol=1e-7)


def test_a_ridge_is_added_to_the_denominator(iris: Any) -> None:
    X, y = iris
    model: Any = {"maximise": "between", "over": "within", "unit": "projection"}
    plain, strong = es.TraceReducer(2, **model).fit(X, y), es.TraceReducer(2, ridge=5.0, **model).fit(X, y)
    np.testing.assert_allclose(strong.problem_.B.to_dense() - plain.problem_.B.to_dense(), 5.0 * np.eye(4), atol=1e-9)
    with pytest.raises(InputError, match="ridge= regularises features"):
        es.TraceReducer(2, maximise="between", unit="projection", ridge=1.0).fit(X, y)


@pytest.mark.parametrize(
    "estimator",
    [
        es.LDA(2, criterion="trace-ratio"),
        es.SODA(2, unlabeled=None),
        es.TraceReducer(2, maximise="between", over="within", unit="total"),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_a_solver_that_does_not_apply_is_refused(iris: Any, estimator: Any) -> None:
    X, y = iris
    with pytest.raises(InputError, match=r"solver='lanczos' does not apply to a trace ratio"):
        estimator.set_params(solver="lanczos").fit(X, y)
    dense = estimator.set_params(solver="dense").fit(X, y).embedding_
    assert angle(dense, estimator.set_params(solver="auto").fit(X, y).embedding_) < 1e-6
