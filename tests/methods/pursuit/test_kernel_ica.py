"""Kernel ICA: its contrast against dense kernel matrices, and sources that are found."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.decomposition import FastICA

import eigenspan as es
from eigenspan.errors import ConvergenceWarning
from eigenspan.methods.pursuit.hsic_contrast import Dependence, hsic_of_pair


def dense_hsic(y: np.ndarray, z: np.ndarray, sigma: float) -> float:
    """Return Tr(KHLH)/(n − 1)² with n×n matrices."""
    n = len(y)
    K, L = (np.exp(-((v[:, None] - v) ** 2) / (2 * sigma**2)) for v in (y, z))
    H = np.eye(n) - 1 / n
    return float(np.trace(K @ H @ L @ H)) / (n - 1) ** 2


def amari(P: np.ndarray) -> float:
    """Return the Amari distance of a matrix from a scaled permutation, between 0 and 1."""
    P, d = np.abs(P), len(P)
    rows, columns = (P / P.max(axis=1, keepdims=True)).sum(), (P / P.max(axis=0)).sum()
    return float(rows + columns - 2 * d) / (2 * d * (d - 1))


def mixture(seed: int, n: int = 500) -> tuple[np.ndarray, np.ndarray]:
    """Return a mixture of a uniform, a Laplacian and an exponential source, and the mixing matrix of sources of unit variance."""
    rng = np.random.default_rng(seed)
    S = np.column_stack([rng.uniform(-1, 1, n), rng.laplace(size=n), rng.exponential(size=n)])
    A = rng.standard_normal((3, 3))
    return S / S.std(axis=0) @ A.T, A


def test_the_contrast_is_the_dense_hsic_of_all_pairs() -> None:
    rng = np.random.default_rng(0)
    Z = rng.laplace(size=(120, 3))
    V = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    Y = Z @ V
    expected = sum(dense_hsic(Y[:, i], Y[:, j], 0.5) for i in range(3) for j in range(i + 1, 3))
    assert np.isclose(Dependence(Z, 0.5)(V)[0], expected, rtol=1e-5)
    assert np.isclose(hsic_of_pair(Y[:, 0], Y[:, 1], 0.7), dense_hsic(Y[:, 0], Y[:, 1], 0.7), rtol=1e-5)


def test_its_gradient_is_that_of_the_dense_sum() -> None:
    rng, step = np.random.default_rng(1), 1e-5
    Z, V, change = rng.standard_normal((60, 3)), np.eye(3), rng.standard_normal((3, 3))

    def dense(V: np.ndarray) -> float:
        Y = Z @ V
        return sum(dense_hsic(Y[:, i], Y[:, j], 0.6) for i in range(3) for j in range(i + 1, 3))

    slope = (dense(V + step * change) - dense(V - step * change)) / (2 * step)
    assert np.isclose(np.sum(Dependence(Z, 0.6)(V)[1] * change), slope, rtol=1e-4)


@pytest.mark.parametrize("seed", [0, 1])
def test_sources_are_found_as_well_as_by_fast_ica(seed: int) -> None:
    X, A = mixture(seed)
    ours = amari(es.KernelICA(3).fit(X).components_ @ A)
    theirs = amari(FastICA(3, random_state=0, max_iter=1000, tol=1e-6).fit(X).components_ @ A)
    assert ours < 0.06
    assert ours < theirs + 0.03


def test_at_two_sources_no_angle_is_less_dependent() -> None:
    """Oracle: the dense HSIC at all angles of a grid."""
    rng = np.random.default_rng(2)
    X = np.column_stack([rng.uniform(size=150), rng.laplace(size=150)]) @ [[1.0, 2.0], [0.5, -1.0]]
    found = es.KernelICA(2).fit(X)
    Y = found.embedding_
    at = [
        dense_hsic(np.cos(a) * Y[:, 0] + np.sin(a) * Y[:, 1], np.cos(a) * Y[:, 1] - np.sin(a) * Y[:, 0], 0.5)
        for a in np.linspace(0, np.pi / 2, 90)
    ]
    assert found.hsic_ <= min(at) * (1 + 1e-3)
    assert np.isclose(found.hsic_, at[0], rtol=1e-4)


def test_the_path_falls_and_the_sources_are_white_and_ordered() -> None:
    X, _ = mixture(3, 300)
    found = es.KernelICA(2).fit(X)
    assert np.all(np.diff(found.path_) < 0)
    assert found.path_[-1] == found.hsic_
    np.testing.assert_allclose(found.embedding_.T @ found.embedding_ / 300, np.eye(2), atol=1e-9)
    assert found.index_values_[0] >= found.index_values_[1]
    whole = es.KernelICA(3).fit(X)
    np.testing.assert_allclose(whole.components_[:2], found.components_, atol=1e-9)


def test_rotations_of_pairs_leave_a_poor_start() -> None:
    """From a rotation of independent sources by π/4, the least dependent angle of a pair is found."""
    rng = np.random.default_rng(4)
    S = rng.uniform(-1, 1, (400, 2))
    S = (S - S.mean(axis=0)) / S.std(axis=0)
    turn = np.array([[1.0, -1.0], [1.0, 1.0]]) / np.sqrt(2)
    V = Dependence(S @ turn, 0.5).rotated(np.eye(2), 3)
    assert amari(turn @ V) < 0.05 < 0.9 < amari(turn)


def test_too_few_steps_are_reported() -> None:
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        es.KernelICA(2, sweeps=0, tol=1e-9, max_iter=1).fit(mixture(5, 200)[0])


def test_reduce_is_pca_first() -> None:
    X = np.column_stack([mixture(2, 300)[0], 0.01 * np.random.default_rng(2).standard_normal((300, 3))])
    first = es.PCA(3).fit(X)
    ours, theirs = es.KernelICA(3, reduce=3).fit(X), es.KernelICA(3).fit(first.transform(X))
    assert amari(ours.transform(X).T @ theirs.embedding_) < 0.01
