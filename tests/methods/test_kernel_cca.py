"""Kernel canonical correlations against the dense problem they state."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg as la
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

import eigenspan as es
from eigenspan.errors import InputError, KernelError, MemoryLimitError
from eigenspan.numerics.eigen import dense
from helpers import assert_allclose_up_to_sign, centred, says

RNG = np.random.default_rng(0)
T = RNG.uniform(-2, 2, 120)
X = np.c_[np.cos(2 * T), np.sin(2 * T), RNG.standard_normal(120)] + 0.1 * RNG.standard_normal((120, 3))
Y = np.c_[T, RNG.standard_normal((120, 1))] + 0.1 * RNG.standard_normal((120, 2))


def brute_force(Kx: Any, Ky: Any, kappa: float) -> tuple[Any, Any, Any]:
    """``max α'K_xK_yβ`` under the stated unit by one generalised eigenproblem, in the complement of 1, where centred kernels live."""
    n = len(Kx)
    N = la.null_space(np.ones((1, n)))
    Kx, Ky = (N.T @ K @ N for K in (Kx, Ky))
    Z = np.zeros_like(Kx)
    A = np.block([[Z, Kx @ Ky], [Ky @ Kx, Z]])
    B = la.block_diag(*[K @ K + kappa * np.trace(K) * K for K in (Kx, Ky)])
    values, vectors = la.eigh(A, B)
    alpha, beta = np.split(vectors[:, ::-1][:, :4] * np.sqrt(2 * (n - 1)), 2)
    return values[::-1][:4], N @ (Kx @ alpha), N @ (Ky @ beta)


@pytest.mark.parametrize("kappa", [0.3, 0.02, 1e-3])
def test_dense_brute_force(kappa: float) -> None:
    values, one, two = brute_force(rbf_kernel(X, gamma=2.0), rbf_kernel(Y, gamma=5.0), kappa)
    kcca = es.KernelCCA(4, kernel=es.Kernel("rbf", gamma=2.0), kernel_y=es.Kernel("rbf", gamma=5.0), kappa=kappa).fit(
        X, Y
    )
    np.testing.assert_allclose(kcca.eigenvalues_, values, atol=1e-6)
    for found, exact in zip(kcca.transform(X, Y), (one, two), strict=True):
        assert_allclose_up_to_sign(found, exact, rtol=0, atol=1e-6)
    np.testing.assert_allclose(kcca.embedding_, kcca.transform(X), atol=1e-8)
    np.testing.assert_allclose(kcca.y_embedding_, kcca.transform(X, Y)[1], atol=1e-8)
    np.testing.assert_allclose(
        kcca.correlations_, [np.corrcoef(one[:, k], two[:, k])[0, 1] for k in range(4)], atol=1e-6
    )


def test_given_kernel_matrices_are_the_kernels() -> None:
    spec = es.Kernel("rbf", gamma=2.0)
    plain = es.KernelCCA(3, kernel=spec).fit(X[:80], Y[:80])
    Kx, Ky = rbf_kernel(X, X[:80], gamma=2.0), rbf_kernel(Y, Y[:80], gamma=2.0)
    given = es.KernelCCA(3, kernel="precomputed").fit(Kx[:80], Ky[:80])
    np.testing.assert_allclose(given.correlations_, plain.correlations_, atol=1e-9)
    for a, b in zip(given.transform(Kx[80:], Ky[80:]), plain.transform(X[80:], Y[80:]), strict=True):
        assert_allclose_up_to_sign(a, b, atol=1e-6)
    half = es.KernelCCA(3, kernel="precomputed", kernel_y=spec).fit(Kx[:80], Y[:80])
    np.testing.assert_allclose(half.correlations_, plain.correlations_, atol=1e-9)
    other = es.KernelCCA(3, kernel=spec, kernel_y="precomputed").fit(X[:80], Ky[:80])
    np.testing.assert_allclose(other.correlations_, plain.correlations_, atol=1e-9)
    with pytest.raises(KernelError, match="square"):
        es.KernelCCA(kernel="precomputed").fit(Kx[:80], Y[:80])


def test_a_linear_kernel_is_cca() -> None:
    plain = es.CCA(2).fit(X, Y)
    linear = es.KernelCCA(2, kernel="linear", kappa=0.0).fit(X, Y)
    np.testing.assert_allclose(linear.correlations_, plain.correlations_, atol=1e-10)
    for a, b in zip(linear.transform(X + 0.3, Y - 0.1), plain.transform(X + 0.3, Y - 0.1), strict=True):
        assert_allclose_up_to_sign(a, b, atol=1e-7)
    # κ is relative to the total variance, a ridge to the mean of D columns
    ridged = es.CCA(2, ridge=(0.3, 0.2)).fit(X, Y)
    np.testing.assert_allclose(
        es.KernelCCA(2, kernel="linear", kappa=0.1).fit(X, Y).eigenvalues_, ridged.eigenvalues_, atol=1e-9
    )


def test_kernels_of_low_rank_need_no_penalty() -> None:
    poly = es.Kernel("poly", degree=2, gamma=1.0)
    kcca = es.KernelCCA(2, kernel=poly, kappa=0.0).fit(X, Y)
    K = [centred(centred(polynomial_kernel(table, degree=2, gamma=1.0, coef0=1)).T).T for table in (X, Y)]
    spans = [la.orth(matrix, rcond=1e-8) for matrix in K]
    np.testing.assert_allclose(kcca.correlations_, la.svdvals(spans[0].T @ spans[1])[:2], atol=1e-8)
    with pytest.raises(
        InputError, match=says("kappa=0", "dimensions over 120 points", "correlations of 1", "kappa > 0")
    ):
        es.KernelCCA(kernel=es.Kernel("rbf", gamma=5.0), kappa=0.0).fit(X, Y)


@pytest.mark.parametrize("choice", ["all", "random", "cholesky"])
def test_landmarks(choice: str) -> None:
    spec = es.Kernel("rbf", gamma=0.5)
    landmarks: Any = np.arange(120) if choice == "all" else es.Landmarks(60, choice=choice)
    exact = es.KernelCCA(2, kernel=spec).fit(X, Y)
    near = es.KernelCCA(2, kernel=spec, landmarks=landmarks).fit(X, Y)
    np.testing.assert_allclose(
        near.eigenvalues_, exact.eigenvalues_, atol={"all": 1e-6, "cholesky": 1e-4, "random": 0.02}[choice]
    )
    for part in near.transform(X[:7] + 0.1, Y[:7]):
        assert part.shape == (7, 2)
    np.testing.assert_allclose(near.embedding_, near.transform(X), atol=1e-8)


def test_pivots_are_those_of_cholesky() -> None:
    """Each the largest diagonal entry that is left, and the residual of the factorisation what Nyström leaves."""
    from eigenspan.graphs import choose_landmarks

    K = rbf_kernel(X, gamma=0.5)
    chosen = choose_landmarks(X, es.Landmarks(15, choice="cholesky"), kernel=lambda i, j: K[np.ix_(i, j)])
    left, expected = K.copy(), []
    for _ in range(15):
        i = int(np.argmax(np.diagonal(left)))
        expected.append(i)
        left = left - np.outer(left[:, i], left[i]) / left[i, i]
    assert sorted(expected) == chosen.tolist()
    assert (
        choose_landmarks(X, es.Landmarks(60, choice="cholesky"), kernel=lambda i, j: (X @ X.T)[np.ix_(i, j)]).size == 3
    )


def test_curves_that_linear_directions_miss() -> None:
    new = np.random.default_rng(5).uniform(-2, 2, 200)
    there = np.c_[np.cos(2 * new), np.sin(2 * new), np.zeros(200)], np.c_[new, np.zeros(200)]
    assert es.CCA(1).fit(X, Y).score(*there) < 0.6
    assert es.KernelCCA(1).fit(X, Y).score(*there) > 0.9


def test_memory_is_predicted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EIGENSPAN_MEMORY", "1M")
    with pytest.raises(MemoryLimitError, match=says("Two 120×120 kernel matrices", "landmarks=12")):
        es.KernelCCA().fit(X, Y)
    es.KernelCCA(landmarks=12).fit(X, Y)


def test_the_callers_rows_are_the_callers() -> None:
    one, two = X.copy(), Y.copy()
    kcca = es.KernelCCA(2).fit(one, two)
    before = kcca.transform(X, Y)
    one[:], two[:] = 0.0, 0.0
    for a, b in zip(kcca.transform(X, Y), before, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("shape", [(60, 40), (40, 60)])
@pytest.mark.parametrize("second", [0.5, 1e-9])
def test_some_singular_vectors_are_those_of_all(shape: tuple[int, int], second: float) -> None:
    rng = np.random.default_rng(0)
    Q, P = (np.linalg.qr(rng.standard_normal((m, 40)))[0] for m in shape)
    s = np.r_[1.0, second * np.geomspace(1, 1e-3, 39)]
    U, found, V = dense.leading_singular_vectors((Q * s) @ P.T, 3)
    np.testing.assert_allclose(found, s[:3], atol=1e-14)
    assert_allclose_up_to_sign(np.vstack([U, V]), np.vstack([Q, P])[:, :3], atol=1e-6)
    np.testing.assert_allclose(V.T @ V, np.eye(3), atol=1e-10)
