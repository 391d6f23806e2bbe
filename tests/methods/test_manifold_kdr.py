"""Kernel dimension reduction along a manifold: its convex problem, data whose answer is known, and bad input."""

import numpy as np
import pytest
from sklearn.datasets import make_swiss_roll

from eigenspan import LaplacianEigenmaps, ManifoldKDR
from eigenspan.data.y import Numbers
from eigenspan.errors import (
    ConvergenceWarning,
    DimensionError,
    DisconnectedError,
    DisconnectedWarning,
    LabelError,
)
from eigenspan.methods.sufficient.conditional_covariance import response_features
from eigenspan.methods.sufficient.manifold_kdr import Unexplained
from helpers import cloud, quietly, reports, says


def torus(n, seed=0):
    """Points of a torus in three dimensions, and their two angles."""
    a, b = 2 * np.pi * np.random.default_rng(seed).random((2, n))
    return np.column_stack([(2 + np.cos(b)) * np.cos(a), (2 + np.cos(b)) * np.sin(a), np.sin(b)]), a, b


@pytest.fixture(scope="module")
def roll():
    X, t = make_swiss_roll(400, random_state=0)
    return X, t, ManifoldKDR(1).fit(X, t)


def test_the_coordinate_of_a_roll_is_found(roll):
    _X, t, fitted = roll
    assert abs(np.corrcoef(fitted.embedding_[:, 0], t)[0, 1]) > 0.95
    new = make_swiss_roll(100, random_state=5)
    assert abs(np.corrcoef(fitted.transform(new[0])[:, 0], new[1])[0, 1]) > 0.9


def test_the_other_coordinate_is_found_by_another_response(roll):
    """Across the roll: eigenmaps have it later than many functions along it."""
    X, _, _ = roll
    fitted = ManifoldKDR(1).fit(X, X[:, 1])
    assert abs(np.corrcoef(fitted.embedding_[:, 0], X[:, 1])[0, 1]) > 0.9
    first = LaplacianEigenmaps(1).fit(X).embedding_[:, 0]
    assert abs(np.corrcoef(first, X[:, 1])[0, 1]) < 0.5


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.every(3)
def test_the_minimum_is_found_to_the_digits_that_rounding_leaves(seed):
    """Points that differ in their last digits, as with another processor, have the same embedding."""
    X, t = make_swiss_roll(150, random_state=seed)
    nudged = X * (1 + 1e-15 * np.random.default_rng(seed).standard_normal(X.shape))
    Y, Z = (ManifoldKDR(2).fit(each, t).embedding_ for each in (X, nudged))
    np.testing.assert_allclose(Z, Y, atol=1e-7 * np.abs(Y).max())


def test_on_a_torus_the_angle_that_matters_is_found():
    X, _, b = torus(600)
    Y = ManifoldKDR(2).fit(X, np.cos(b)).embedding_
    A = np.column_stack([np.ones(600), Y])
    for target, share in ((np.cos(b), 0.9),):
        rest = target - A @ np.linalg.lstsq(A, target, rcond=None)[0]
        assert 1 - rest.var() / target.var() > share


def test_the_objective_is_that_of_the_paper(roll):
    """``Tr[G_Y (UΩU' + nεI)⁻¹]`` by dense matrices, and no other Ω is lower."""
    X, t, _ = roll
    few = slice(None, None, 4)
    fitted = ManifoldKDR(2, n_functions=8, tol=1e-7).fit(X[few], t[few])
    U = LaplacianEigenmaps(8, scale="unit-variance").fit(X[few]).embedding_
    n, eps = len(U), fitted.diagnostics_["eps"]
    R = response_features(Numbers(t[few][:, None]), 1.0)
    U = U - U.mean(axis=0)

    def unexplained(omega):
        inverse = np.linalg.inv(U @ omega @ U.T + n * eps * np.eye(n))
        return n * eps * np.trace(R @ R.T @ inverse) / np.trace(R @ R.T)

    omega = fitted.problem_.A.to_dense()
    assert abs(np.trace(omega) - 1) < 1e-10
    assert np.linalg.eigvalsh(omega)[0] > -1e-12
    np.testing.assert_allclose(unexplained(omega), fitted.unexplained_, rtol=1e-8)
    rng = np.random.default_rng(0)
    for size in (1e-3, 1e-1, 1.0):
        for _ in range(10):
            P = rng.standard_normal((8, 3))
            other = P @ P.T / np.sum(P * P)
            assert unexplained((1 - size) * omega + size * other) > fitted.unexplained_ - fitted.gap_bound_ - 1e-12


def test_the_gradient_is_the_derivative():
    U, R = cloud(20, 4), cloud(20, 3, 1)
    loss, omega, h = Unexplained(U.T @ U, U.T @ R, float(np.sum(R * R)), 0.7), np.diag([0.4, 0.3, 0.2, 0.1]), 1e-6
    G = loss(omega)[1]
    for i, j in np.ndindex(4, 4):
        step = np.zeros((4, 4))
        step[i, j] = h
        assert abs((loss(omega + step)[0] - loss(omega - step)[0]) / (2 * h) - G[i, j]) < 1e-7


def test_the_embedding_is_the_factor_of_the_kernel(roll):
    """``YY' = UΩU'`` with all axes: distances in the embedding are those of the learned kernel."""
    X, t, _ = roll
    fitted = ManifoldKDR(n_functions=6).fit(X, t)
    omega = fitted.problem_.A.to_dense()
    rank = int(np.sum(np.linalg.eigvalsh(omega) > 1e-6))
    Y = ManifoldKDR(rank, n_functions=6).fit(X, t).embedding_
    U = LaplacianEigenmaps(6, scale="unit-variance").fit(X).embedding_
    U = U - U.mean(axis=0)
    np.testing.assert_allclose(Y @ Y.T, U @ omega @ U.T, atol=1e-4)


def test_the_descent_never_climbs(roll):
    fitted = roll[2]
    assert np.all(np.diff(fitted.path_) <= 0)
    assert fitted.path_[-1] == fitted.unexplained_
    assert fitted.gap_bound_ <= 1e-7


def test_copies_share_a_place_and_unknown_responses_are_left_out():
    X, t = make_swiss_roll(200, random_state=1)
    X, t = np.vstack([X, X[:20]]), np.r_[t, t[:20] + 0.1]
    t[50:70] = np.nan
    Y = quietly(lambda: ManifoldKDR(1).fit(X, t)).embedding_
    np.testing.assert_array_equal(Y[:20], Y[200:])
    assert np.all(np.isfinite(Y))


def test_classes(roll):
    X, t, _ = roll
    names = np.array(["in", "out"])[(t > np.median(t)).astype(int)]
    fitted = ManifoldKDR(1).fit(X, names)
    assert list(fitted.classes_) == ["in", "out"]
    y = fitted.embedding_[:, 0]
    cut = (y[names == "in"].mean() + y[names == "out"].mean()) / 2
    assert max(np.mean((y > cut) == (names == "in")), np.mean((y < cut) == (names == "in"))) > 0.95


def test_more_axes_than_the_response_needs(roll):
    X, t, _ = roll
    with pytest.raises(DimensionError, match=says("n_components=5", "needs only", "Use n_components <=")):
        ManifoldKDR(5, n_functions=5, eps=10.0).fit(X, t)


@pytest.mark.parametrize("y", [None, np.ones(60), np.full(60, np.nan), np.arange(59.0)])
def test_responses_that_are_none(y):
    with pytest.raises(LabelError):
        ManifoldKDR(1).fit(cloud(60), y)


def test_a_descent_cut_short_is_reported(roll):
    X, t, _ = roll
    with reports(ConvergenceWarning, "max_iter=2", "Raise max_iter"):
        ManifoldKDR(1, max_iter=2).fit(X, t)


@pytest.mark.parametrize("policy", ["connect", "largest"])
def test_a_graph_in_pieces(policy):
    X = np.vstack([cloud(40, 3, 0), cloud(25, 3, 1) + 30])
    y = X[:, 0] - 30 * (np.arange(65) >= 40)
    with reports(DisconnectedWarning, "2 components"):
        fitted = ManifoldKDR(1, n_neighbors=6, disconnected=policy, n_functions=10, weights="binary").fit(X, y)
    assert np.all(np.isfinite(fitted.embedding_))
    with pytest.raises(DisconnectedError, match="2 components"):
        ManifoldKDR(1, n_neighbors=6, disconnected="raise").fit(X, y)
