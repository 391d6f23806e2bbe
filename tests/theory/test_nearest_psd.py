"""`nearest_psd`: optimality for any square matrix, and its distance."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.linalg as la
import scipy.optimize as opt
import scipy.sparse as sp

from eigenspan import nearest_psd
from eigenspan.errors import InputError, MemoryLimitError

SEEDS = pytest.mark.parametrize("seed", range(3))


def random_matrix(n: int, seed: int, symmetric: bool = False) -> Any:
    A = np.random.default_rng(seed).standard_normal((n, n))
    return A + A.T if symmetric else A


@SEEDS
@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("n", [1, 2, 7, 40])
def test_the_result_is_the_projection_to_the_cone(n: int, symmetric: bool, seed: int) -> None:
    """P is the nearest PSD matrix if and only if it is PSD and ⟨A − P, Q − P⟩ ≤ 0 for every PSD Q."""
    A = random_matrix(n, seed, symmetric)
    P, distance = nearest_psd(A, return_distance=True)
    assert la.eigvalsh(P)[0] > -1e-12 * n
    np.testing.assert_array_equal(P, P.T)
    assert distance == pytest.approx(np.linalg.norm(A - P), rel=1e-10)
    rng = np.random.default_rng(seed)
    for rank in (1, max(1, n // 2), n):
        F = rng.standard_normal((n, rank))
        for Q in (F @ F.T, P + 1e-3 * F @ F.T, 0.0 * P, 0.5 * P):
            assert np.sum((A - P) * (Q - P)) <= 1e-9 * n**2


def test_a_general_minimiser_finds_nothing_nearer() -> None:
    A = random_matrix(4, 5)
    P, distance = nearest_psd(A, return_distance=True)
    rng = np.random.default_rng(0)
    cost = lambda f: float(np.sum((A - f.reshape(4, 4) @ f.reshape(4, 4).T) ** 2))  # noqa: E731
    best = min((opt.minimize(cost, rng.standard_normal(16)) for _ in range(4)), key=lambda found: found.fun)
    assert np.sqrt(best.fun) == pytest.approx(distance, rel=1e-5)
    F = best.x.reshape(4, 4)
    np.testing.assert_allclose(F @ F.T, P, atol=1e-3)


def test_a_semidefinite_program_gives_the_same() -> None:
    cvxpy = pytest.importorskip("cvxpy")
    A = random_matrix(6, 2)
    Q = cvxpy.Variable((6, 6), PSD=True)
    cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(Q - A))).solve(solver="CLARABEL")
    np.testing.assert_allclose(Q.value, nearest_psd(A), atol=1e-5)


def test_a_psd_matrix_is_returned_unchanged() -> None:
    F = np.random.default_rng(0).standard_normal((6, 3))
    K = F @ F.T
    K = (K + K.T) / 2
    P, distance = nearest_psd(K, return_distance=True)
    np.testing.assert_allclose(P, K, rtol=1e-14)
    assert distance < 1e-13
    assert P is not K
    assert not np.shares_memory(P, K)


def test_a_negative_or_antisymmetric_matrix_is_nearest_to_zero() -> None:
    A = random_matrix(5, 0)
    P, distance = nearest_psd(A - A.T, return_distance=True)
    np.testing.assert_allclose(P, 0.0, atol=1e-12)
    assert distance == pytest.approx(np.linalg.norm(A - A.T))
    np.testing.assert_array_equal(nearest_psd(-np.eye(3)), np.zeros((3, 3)))
    np.testing.assert_array_equal(nearest_psd(np.zeros((3, 3))), np.zeros((3, 3)))


def test_containers_precision_and_scale() -> None:
    A = random_matrix(8, 1)
    before = A.copy()
    P = nearest_psd(A)
    np.testing.assert_array_equal(A, before)
    np.testing.assert_allclose(nearest_psd(pd.DataFrame(A)), P)
    np.testing.assert_allclose(nearest_psd(sp.csr_array(A)), P)
    np.testing.assert_allclose(nearest_psd(A.tolist()), P)
    single = nearest_psd(A.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, P, atol=1e-5)
    assert nearest_psd(np.array([[1, 2], [2, 1]])).dtype == np.float64
    for size in (1e-200, 1e200):
        scaled, distance = nearest_psd(size * A, return_distance=True)
        np.testing.assert_allclose(scaled / size, P, atol=1e-12)
        assert distance / size == pytest.approx(np.linalg.norm(A - P))


@pytest.mark.parametrize(
    ("A", "words"),
    [
        (np.ones((2, 3)), "square"),
        (np.ones(4), "square"),
        (np.empty((0, 0)), "no entries"),
        ([[1.0, np.nan], [0.0, 1.0]], "1 values that are NaN"),
        ([[np.inf, 0.0], [0.0, np.inf]], "2 values"),
        ([[1j, 0], [0, 1]], "complex"),
        ([["a", "b"], ["c", "d"]], "text"),
    ],
)
def test_invalid_matrices_are_refused(A: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        nearest_psd(A)


def test_memory_is_checked_first(monkeypatch: pytest.MonkeyPatch) -> None:
    A = np.eye(400)
    monkeypatch.setenv("EIGENSPAN_MEMORY", "3M")
    with pytest.raises(MemoryLimitError, match="400×400"):
        nearest_psd(A)
