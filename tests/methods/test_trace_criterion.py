"""``criterion="trace-ratio"``: the best ratio of the same objective and unit over orthonormal axes [S0, eq. 5]."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg as la
from scipy.optimize import minimize
from sklearn.datasets import load_iris, load_wine

import eigenspan as es
from eigenspan.graphs import affinity
from eigenspan.numerics.eigen.trace_ratio import trace_ratio
from helpers import angle, relative

Array = np.ndarray[Any, Any]

METHODS: dict[str, tuple[Any, bool]] = {
    "LPP": (es.LPP(2, n_neighbors=6), False),
    "LLTSA": (es.LLTSA(2, n_neighbors=8), False),
    "LFDA": (es.LFDA(2), True),
    "MFA": (es.MFA(2), True),
    "LDE": (es.LDE(2), True),
    "SSLFDA": (es.SSLFDA(2), True),
    "SSMFA": (es.SSMFA(2), True),
    "SSFDA": (es.SSFDA(2), True),
    "SELFDA": (es.SELFDA(2), True),
    "SDA": (es.SDA(2), True),
}


WEIGHTS: tuple[Any, Any] = ("unit", "eigenvalue")


def data(name: str) -> tuple[Array, Array]:
    if name == "draw":
        rng = np.random.default_rng(4)
        y = rng.integers(0, 3, 90)
        return rng.standard_normal((90, 5)) @ rng.standard_normal((5, 5)) + rng.standard_normal((3, 5))[y], y
    X, y = load_iris(return_X_y=True) if name == "iris" else load_wine(return_X_y=True)
    return (X / X.std(axis=0))[:, :5], y


def forms(estimator: Any, labelled: bool, X: Array, y: Array) -> tuple[Any, Array, Array]:
    """The fit, and objective and unit over the features of the ratio trace with the same parameters."""
    target = y if labelled else None
    plain = estimator.fit(X, target).problem_
    found = type(estimator)(**{**estimator.get_params(), "criterion": "trace-ratio"}).fit(X, target)
    sign = 1.0 if plain.sense == "max" else -1.0
    return found, sign * plain.A.to_dense(), plain.B.to_dense()


def best_ratio(A: Array, B: Array, d: int, seed: int) -> float:
    """The largest ratio over orthonormal axes by descent from random starts; the axes are those of a QR factorisation."""
    n, rng = len(A), np.random.default_rng(seed)

    def cost(v: Array) -> tuple[float, Array]:
        M = v.reshape(n, d)
        inner = la.inv(M.T @ M)
        above, below = np.trace(inner @ M.T @ A @ M), np.trace(inner @ M.T @ B @ M)
        gradient = [2 * (S @ M @ inner - M @ inner @ (M.T @ S @ M) @ inner) for S in (A, B)]
        return -above / below, -((gradient[0] - above / below * gradient[1]) / below).ravel()

    starts = [minimize(cost, rng.standard_normal(n * d), jac=True, options={"gtol": 1e-10}) for _ in range(4)]
    return float(-min(start.fun for start in starts))


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("of", ["iris", "draw"])
def test_the_best_ratio_over_orthonormal_axes(name: str, of: str) -> None:
    estimator, labelled = METHODS[name]
    X, y = data(of)
    found, A, B = forms(estimator, labelled, X, y)
    V = found.components_.T
    np.testing.assert_allclose(V.T @ V, np.eye(2), atol=1e-10)
    rho = np.trace(V.T @ A @ V) / np.trace(V.T @ B @ V)
    sign = 1.0 if found.problem_.sense == "max" else -1.0
    assert found.trace_ratio_ == pytest.approx(sign * rho, rel=1e-8)
    values, U = la.eigh(A - rho * B)
    assert angle(V, U[:, -2:]) < 1e-5
    assert abs(found.eigenvalues_.sum()) < 1e-8 * np.abs(values).max()
    assert rho == pytest.approx(best_ratio(A, B, 2, 0), rel=1e-8)
    other = la.qr(estimator.fit(X, y if labelled else None).components_.T, mode="economic")[0]
    assert rho >= np.trace(other.T @ A @ other) / np.trace(other.T @ B @ other) - 1e-10 * abs(rho)


def test_lpp_from_its_equation() -> None:
    """min Tr V'X'LXV / Tr V'X'DXV, centred by degree, from the weights of the graph."""
    X, _ = data("wine")
    found = es.LPP(2, n_neighbors=6, criterion="trace-ratio").fit(X)
    W = affinity(found.graph_, "heat", X).W.toarray()
    d = W.sum(axis=1)
    Z = X - d @ X / d.sum()
    A, B = Z.T @ (np.diag(d) - W) @ Z, Z.T @ np.diag(d) @ Z
    assert found.trace_ratio_ == pytest.approx(-best_ratio(-A, B, 2, 1), rel=1e-8)
    assert angle(found.components_.T, la.eigh(A - found.trace_ratio_ * B)[1][:, :2]) < 1e-6


def test_kernels_and_weights_of_axes() -> None:
    X, y = data("iris")
    found = es.LFDA(2, kernel="rbf", criterion="trace-ratio").fit(X, y)
    assert relative(found.transform(X), found.embedding_) < 1e-8
    one, other = (es.MFA(2, criterion="trace-ratio", axes=axes).fit(X, y) for axes in WEIGHTS)
    V = one.components_.T
    problem: Any = one.problem_
    quotients = np.diag(V.T @ problem.A.to_dense() @ V) / np.diag(V.T @ problem.B.to_dense() @ V)
    np.testing.assert_allclose(other.components_, one.components_ * np.sqrt(-quotients)[:, None], rtol=1e-8)


@pytest.mark.parametrize("axes", ["norm", "eigenvalue", "eigenvalue-norm"])
def test_axis_weights_of_lpp(axes: Any) -> None:
    """T of S2, §2.3: 1/|a|, √λ and √λ/|a| on the axes of the problem."""
    X, _ = data("draw")
    kinds: tuple[Any, Any] = ("unit", axes)
    plain, found = (es.LPP(3, n_neighbors=6, axes=kind).fit(X) for kind in kinds)
    factors = np.ones(3)
    if "norm" in axes:
        factors = factors / la.norm(plain.components_, axis=1)
    if "eigenvalue" in axes:
        factors = factors * np.sqrt(plain.eigenvalues_)
    np.testing.assert_allclose(found.components_, plain.components_ * factors[:, None], rtol=1e-9)
    np.testing.assert_allclose(found.embedding_, plain.embedding_ * factors, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("sense", ["max", "min"])
def test_approximate_steps_end_at_the_same_axes(sense: str) -> None:
    """Orders above 500 begin with approximate eigenvectors; ``solver="dense"`` does not."""
    rng = np.random.default_rng(0)
    n, d = 520, 4
    R = rng.standard_normal((n, n + 100)) * np.linspace(0.2, 3, n)[:, None]
    F = rng.standard_normal((n, 8))
    A, B = F @ F.T * 20 + (np.eye(n) if sense == "max" else R @ R.T * np.linspace(1, 2, n)), R @ R.T
    A = (A + A.T) / 2
    (one, V, values), (two, U, others) = (trace_ratio(A, B, d, sense, solver) for solver in ("auto", "dense"))
    assert one == pytest.approx(two, rel=1e-12)
    assert angle(V, U) < 1e-6
    np.testing.assert_allclose(values[: d + 1], others[: d + 1], atol=1e-9 * np.abs(others).max())
