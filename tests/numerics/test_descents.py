"""Descent over orthonormal and over positive semidefinite matrices, and the incomplete Cholesky factor."""

import numpy as np
import pytest

from eigenspan.numerics.descent import stiefel
from eigenspan.numerics.factor.pivoted import pivoted_cholesky
from eigenspan.numerics.sdp import spectrahedron
from helpers import angle


def _symmetric(n, seed):
    A = np.random.default_rng(seed).standard_normal((n, n))
    return A + A.T


# ---------------------------------------------------------------------- orthonormal
@pytest.mark.parametrize("seed", range(4))
def test_descent_finds_the_smallest_eigenvectors(seed):
    """``min Tr(V'AV)`` over orthonormal V is an eigenproblem."""
    A = _symmetric(12, seed)
    start = stiefel.retract(np.random.default_rng(seed).standard_normal((12, 3)))
    found = stiefel.minimise_on_stiefel(
        lambda V: (float(np.sum(V * (A @ V))), 2 * A @ V), start, tol=1e-8, max_iter=500
    )
    values, Q = np.linalg.eigh(A)
    assert found.converged
    np.testing.assert_allclose(found.values[-1], values[:3].sum(), rtol=1e-10)
    assert angle(found.V, Q[:, :3]) < 1e-4
    assert np.all(np.diff(found.values) < 0)
    np.testing.assert_allclose(found.V.T @ found.V, np.eye(3), atol=1e-13)


def test_descent_distinguishes_the_columns():
    """Brockett's function ``Tr(V'AVN)`` depends on V itself, not only on its span: on the Stiefel manifold, not the Grassmann manifold."""
    A, N = np.diag([1.0, 2.0, 3.0, 7.0, 9.0]), np.diag([3.0, 1.0])
    start = stiefel.retract(np.random.default_rng(0).standard_normal((5, 2)))
    found = stiefel.minimise_on_stiefel(lambda V: (float(np.sum(V * (A @ V @ N))), 2 * A @ V @ N), start, tol=1e-8)
    np.testing.assert_allclose(np.abs(found.V), np.eye(5)[:, :2], atol=1e-6)


def test_descent_reports_that_it_has_not_converged():
    A = _symmetric(30, 0)
    start = stiefel.retract(np.random.default_rng(1).standard_normal((30, 2)))
    found = stiefel.minimise_on_stiefel(lambda V: (float(np.sum(V * (A @ V))), 2 * A @ V), start, tol=1e-12, max_iter=3)
    assert not found.converged
    assert found.values.size == 4


def test_descent_from_a_minimum():
    found = stiefel.minimise_on_stiefel(lambda V: (0.0, np.zeros_like(V)), np.eye(4)[:, :2])
    assert found.converged
    assert found.values.size == 1
    np.testing.assert_array_equal(found.V, np.eye(4)[:, :2])


def test_tangents_are_tangent():
    V = stiefel.retract(np.random.default_rng(0).standard_normal((6, 2)))
    T = stiefel.project_to_tangent(V, np.random.default_rng(1).standard_normal((6, 2)))
    np.testing.assert_allclose(V.T @ T + T.T @ V, 0, atol=1e-14)
    np.testing.assert_allclose(stiefel.retract(V), V, atol=1e-15)


# ---------------------------------------------------------------------- positive semidefinite of trace one
def test_projection_to_the_spectrahedron():
    """The difference from the nearest matrix makes an obtuse angle with the difference from every other matrix of the set."""
    rng = np.random.default_rng(0)
    M = _symmetric(5, 1)
    P = spectrahedron.project(M)
    assert abs(np.trace(P) - 1) < 1e-12
    assert np.linalg.eigvalsh(P)[0] > -1e-12
    for _ in range(20):
        v = rng.standard_normal(5)
        other = np.outer(v, v) / (v @ v)
        assert np.sum((M - P) * (other - P)) < 1e-10
    np.testing.assert_allclose(spectrahedron.project(P), P, atol=1e-12)


def test_smallest_eigenvalue_as_a_convex_problem():
    A = _symmetric(6, 3)
    found = spectrahedron.minimise_on_spectrahedron(lambda W: (float(np.sum(A * W)), A), np.eye(6) / 6, tol=1e-9)
    np.testing.assert_allclose(found.values[-1], np.linalg.eigvalsh(A)[0], atol=1e-8)
    assert np.all(np.diff(found.values) <= 0)
    assert found.gap <= 1e-9


def test_steps_decrease_with_unequal_curvatures():
    """``−log`` is a million times more curved at one end than at the other, so a step length that suits one is too long for the other."""
    for seed in range(5):
        d = np.logspace(-3, 0, 5)
        Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((5, 5)))[0]
        A = (Q * d) @ Q.T

        def objective(W, A=A):
            inverse = np.linalg.inv(W + 1e-3 * np.eye(5))
            return float(np.trace(A @ inverse)), -inverse @ A @ inverse

        found = spectrahedron.minimise_on_spectrahedron(objective, np.eye(5) / 5, tol=1e-6, max_iter=2000)
        assert np.all(np.diff(found.values) <= 0)
        assert found.converged
        roots = np.sqrt(np.maximum(d, 0))  # by Lagrange: W + εI is proportional to the root of A
        W = roots * (1 + 5e-3) / roots.sum() - 1e-3
        assert np.all(W > 0)
        np.testing.assert_allclose(found.values[-1], np.sum(d / (W + 1e-3)), rtol=1e-6)


def test_the_gap_bounds_the_remaining_decrease():
    """A curved objective with a known minimum: the projection of a matrix."""
    M = _symmetric(6, 4)
    best = 0.5 * np.sum((spectrahedron.project(M) - M) ** 2)
    for steps in (1, 3, 200):
        found = spectrahedron.minimise_on_spectrahedron(
            lambda W: (0.5 * float(np.sum((W - M) ** 2)), W - M), np.eye(6) / 6, tol=1e-10, max_iter=steps
        )
        assert -1e-9 <= found.values[-1] - best <= found.gap + 1e-9
    assert found.gap <= 1e-10


def test_steps_go_on_where_rounding_hides_the_decrease():
    """Near the minimum the value is flat to its last digit, and the gradient still tells where to go."""
    d = np.logspace(-2, 0, 5)

    def objective(W):
        inverse = np.linalg.inv(W + 1e-3 * np.eye(5))
        rounding = 1e-13 * np.cos(1e9 * W[0, 0])
        return float(np.trace(d[:, None] * inverse)) + rounding, -(inverse * d) @ inverse

    start = stiefel.retract(np.random.default_rng(0).standard_normal((5, 5)))
    found = spectrahedron.minimise_on_spectrahedron(
        objective, (start * np.arange(1, 6) / 15) @ start.T, tol=1e-12, max_iter=2000
    )
    best = np.sqrt(d) * (1 + 5e-3) / np.sqrt(d).sum() - 1e-3
    assert found.gap <= 1e-12
    assert np.all(np.diff(found.values) <= 0)
    np.testing.assert_allclose(found.matrix, np.diag(best), atol=1e-7)


# ---------------------------------------------------------------------- incomplete Cholesky
def test_pivoted_cholesky_of_a_low_rank_matrix_is_exact():
    X = np.random.default_rng(0).standard_normal((40, 3))
    K = X @ X.T
    L, pivots = pivoted_cholesky(lambda j: K[:, j], np.diagonal(K).copy())
    assert L.shape == (40, 3)
    assert pivots.size == 3
    np.testing.assert_allclose(L @ L.T, K, atol=1e-10)


def test_pivoted_cholesky_remainder_is_psd_and_within_its_bound():
    x = np.linspace(0, 1, 60)
    K = np.exp(-((x[:, None] - x) ** 2) / 0.05)
    for rtol in (1e-2, 1e-4):
        L, pivots = pivoted_cholesky(lambda j: K[:, j], np.ones(60), rtol=rtol)
        rest = K - L @ L.T
        assert np.linalg.eigvalsh(rest)[0] > -1e-12
        assert np.trace(rest) <= rtol * 60
        np.testing.assert_allclose(rest[pivots], 0, atol=1e-12)
    assert pivoted_cholesky(lambda j: K[:, j], np.ones(60), most=2)[0].shape == (60, 2)
    assert pivoted_cholesky(lambda j: np.zeros(4), np.zeros(4))[0].shape == (4, 0)


def test_the_projection_to_the_spectrahedron_takes_eigenvalues_of_any_size() -> None:
    large = spectrahedron.project(1e20 * np.diag([1.0, 2.0, -3.0]))
    np.testing.assert_allclose(large, np.diag([0.0, 1.0, 0.0]), atol=1e-12)
    np.testing.assert_allclose(
        spectrahedron.project(np.diag([0.4, 0.2, -3.0]) + 1e6 * np.eye(3)), np.diag([0.6, 0.4, 0.0]), atol=1e-9
    )
