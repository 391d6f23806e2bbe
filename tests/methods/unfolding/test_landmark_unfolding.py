"""Unfoldings with few unknowns: landmarks, and eigenvectors of the Laplacian."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.linalg as la
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.datasets import make_swiss_roll
from sklearn.neighbors import kneighbors_graph

from eigenspan import Landmarks
from eigenspan.errors import (
    ConvergenceWarning,
    DimensionError,
    DisconnectedWarning,
    InputError,
    RidgeWarning,
)
from eigenspan.methods.unfolding import MVU, LandmarkMVU, LaplacianMVU
from eigenspan.methods.unfolding.landmark_mvu import interpolation
from eigenspan.problem import Form
from helpers import disparity, pairwise, relative
from sdp_helpers import cloud

Array = NDArray[np.float64]
FORMS = ["tangent", "reconstruction"]


def edges_of(X: Array, k: int) -> tuple[Any, Array]:
    """Pairs of which one is among the k nearest of the other, and their squared distances."""
    A = kneighbors_graph(X, k).toarray()
    i, j = np.nonzero(np.triu(A + A.T))
    return np.column_stack([i, j]), np.sum((X[i] - X[j]) ** 2, axis=1)


def differences(n: int, edges: Any) -> Array:
    B = np.zeros((len(edges), n))
    B[np.arange(len(edges)), edges[:, 0]], B[np.arange(len(edges)), edges[:, 1]] = 1.0, -1.0
    return B


def energy(X: Array, k: int, form: str, d: int = 2, reg: float = 1e-3) -> Array:
    """M of LLE or LTSA, written out."""
    n = len(X)
    near = np.argsort(pairwise(X), axis=1, kind="stable")[:, 1 : k + 1]
    M = np.zeros((n, n))
    for i in range(n):
        members = np.r_[i, near[i]]
        if form == "tangent":
            U = la.svd(X[members] - X[members].mean(axis=0))[0][:, :d]
            M[np.ix_(members, members)] += np.eye(k + 1) - 1.0 / (k + 1) - U @ U.T
        else:
            G = (X[near[i]] - X[i]) @ (X[near[i]] - X[i]).T
            w = np.linalg.solve(G + reg * np.trace(G) * np.eye(k), np.ones(k))
            row = np.zeros(n)
            row[i], row[near[i]] = 1.0, -w / w.sum()
            M += np.outer(row, row)
    return M


def solved(build: Any) -> float:
    """The optimum of a small problem over an m×m matrix by a general solver."""
    cp = pytest.importorskip("cvxpy")
    pytest.importorskip("clarabel")
    gain, limits = build(cp)
    problem = cp.Problem(cp.Maximize(gain), limits)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    assert problem.status in ("optimal", "optimal_inaccurate")
    return float(problem.value)


# ---------------------------------------------------------------------- landmarks
@pytest.mark.parametrize("form", FORMS)
def test_a_general_solver_agrees_on_the_landmark_program(form: str) -> None:
    X, k, rows = cloud(40, 3), 7, np.array([0, 4, 9, 13, 20, 27, 31, 36])
    fitted = LandmarkMVU(2, form=form, n_neighbors=k, landmarks=rows, tol=1e-5).fit(X)
    M, rest = energy(X, k, form), np.setdiff1d(np.arange(40), rows)
    Q = np.zeros((40, rows.size))
    Q[rows] = np.eye(rows.size)
    Q[rest] = -np.linalg.solve(M[np.ix_(rest, rest)], M[np.ix_(rest, rows)])
    edges, d = edges_of(X, k)
    B = differences(40, edges) @ Q

    def build(cp: Any) -> Any:
        L = cp.Variable((rows.size, rows.size), PSD=True)
        c = Q.sum(axis=0)
        return cp.trace(Q.T @ Q @ L), [cp.sum(cp.multiply(B @ L, B), axis=1) <= d, L @ c == 0]

    value, c = solved(build), fitted.certificate_
    assert relative(fitted.interpolation_, Q) < 1e-6
    assert c.lower == pytest.approx(value, rel=1e-4)
    assert c.upper == pytest.approx(value, rel=1e-4)
    assert c.status == "certified"
    assert np.sum(fitted.embedding_full_**2) == pytest.approx(value, rel=1e-4)


def test_all_points_as_landmarks_are_mvu() -> None:
    X = cloud(35, 1)
    everyone = LandmarkMVU(2, n_neighbors=5, landmarks=35, tol=1e-6).fit(X)
    mvu = MVU(2, n_neighbors=5, tol=1e-6).fit(X)
    assert np.array_equal(np.sort(everyone.landmarks_), np.arange(35))
    assert everyone.certificate_.lower == pytest.approx(mvu.certificate_.lower, rel=1e-5)
    assert disparity(everyone.embedding_, mvu.embedding_) < 1e-5


@pytest.mark.parametrize("form", FORMS)
def test_anyone_can_check_the_bounds_of_landmarks(form: str) -> None:
    X = cloud(300, 5)
    fitted = LandmarkMVU(2, form=form, landmarks=15, n_neighbors=8).fit(X)
    c, F, Q = fitted.certificate_, fitted.embedding_full_, fitted.interpolation_
    edges, _ = edges_of(X, 8)
    assert {tuple(pair) for pair in c.edges.tolist()} == {tuple(pair) for pair in edges.tolist()}
    v = np.sum((F[c.edges[:, 0]] - F[c.edges[:, 1]]) ** 2, axis=1)
    assert np.max(v / c.squared_distances) <= 1 + 1e-9
    assert np.abs(F.mean(axis=0)).max() < 1e-8
    assert c.lower == pytest.approx(np.sum(F**2), rel=1e-9)
    B, Z = differences(300, c.edges) @ Q, la.null_space(Q.sum(axis=0)[None])
    ratio = la.eigvalsh(Z.T @ Q.T @ Q @ Z, Z.T @ (B.T @ (c.weights[:, None] * B)) @ Z)[-1]
    assert c.weights.min() >= 0
    assert c.upper == pytest.approx(ratio * float(c.weights @ c.squared_distances), rel=1e-6)
    assert 0 <= c.gap < 1e-3
    assert np.count_nonzero(c.weights) < len(edges) / 2


def test_the_landmark_optimum_is_no_more_than_that_of_all_points() -> None:
    X = cloud(80, 2)
    full = MVU(2, n_neighbors=6).fit(X).certificate_
    few = LandmarkMVU(2, landmarks=16, n_neighbors=6, tol=1e-4).fit(X).certificate_
    assert 0.5 * full.lower < few.lower <= full.upper


def test_a_roll_is_unrolled_by_landmarks() -> None:
    X, t = make_swiss_roll(3000, random_state=0)
    fitted = LandmarkMVU(2, landmarks=25).fit(X)
    arc = 0.5 * (t * np.sqrt(1 + t**2) + np.arcsinh(t))
    truth = np.column_stack([arc, X[:, 1]])
    assert disparity(truth, fitted.embedding_) < 1e-3
    assert fitted.suggested_dimension_ == 2
    assert fitted.certificate_.lower == pytest.approx(np.sum((truth - truth.mean(axis=0)) ** 2), rel=0.05)


def test_what_is_left_out_is_said() -> None:
    X = cloud(300, 5)
    whole = LandmarkMVU(2, landmarks=15).fit(X).certificate_
    seen: list[dict[str, Any]] = []
    with pytest.warns(ConvergenceWarning, match=r"max_iter=1 .* not the 0.1 % asked for"):
        short = LandmarkMVU(2, landmarks=15, max_iter=1, callback=seen.append).fit(X).certificate_
    assert short.status == "iterations"
    assert short.gap > 1e-3
    assert short.lower <= whole.upper
    assert short.upper >= whole.lower
    assert len(seen) == 1
    assert seen[0]["violation"] > 0
    assert seen[0]["factor"].shape[0] == 300


@pytest.mark.parametrize("rounds", [1, 2, 3, 4])
@pytest.mark.every(2)
def test_the_solution_proves_what_the_certificate_says(rounds: int) -> None:
    X, _ = make_swiss_roll(600, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = LandmarkMVU(2, max_iter=rounds).fit(X)
    proof = fitted.solution_.verify()
    assert proof.lower == pytest.approx(fitted.certificate_.lower, rel=1e-9)
    assert proof.upper == pytest.approx(fitted.certificate_.upper, rel=1e-4)


def test_an_interrupt_between_rounds_keeps_the_best_point() -> None:
    def stop(record: dict[str, Any]) -> None:
        raise KeyboardInterrupt

    with pytest.warns(ConvergenceWarning, match="Interrupted"):
        fitted = LandmarkMVU(2, landmarks=15, callback=stop).fit(cloud(300, 5))
    assert fitted.certificate_.status == "interrupted"
    assert 0 < fitted.certificate_.lower <= fitted.certificate_.upper


def test_landmarks_outside_the_largest_component_are_left_out() -> None:
    X = np.vstack([cloud(60), cloud(20) + 100.0])
    with pytest.warns(DisconnectedWarning):
        fitted = LandmarkMVU(2, landmarks=np.arange(0, 80, 5), n_neighbors=6, disconnected="largest").fit(X)
    assert fitted.landmarks_.tolist() == list(range(0, 60, 5))
    assert np.all(np.isfinite(fitted.embedding_))


def test_interpolation_minimises_its_form() -> None:
    rng = np.random.default_rng(0)
    A = rng.standard_normal((30, 20))
    A -= A.mean(axis=1, keepdims=True)
    M = A.T @ A
    Q = interpolation(Form(20, sparse=sp.csr_array(M), psd=True), np.array([3, 7, 11]), sp.csr_array((20, 20)))
    free = np.setdiff1d(np.arange(20), [3, 7, 11])
    assert np.array_equal(Q[[3, 7, 11]], np.eye(3))
    assert np.abs((M @ Q)[free]).max() < 1e-10
    assert np.allclose(Q.sum(axis=1), 1)


def test_copies_of_a_row_stay_together_among_landmarks() -> None:
    X = cloud(60, 4)
    X = np.vstack([X, X[:10]])
    fitted = LandmarkMVU(2, landmarks=10, n_neighbors=6).fit(X)
    assert np.allclose(fitted.embedding_[:10], fitted.embedding_[60:], atol=1e-8)
    assert fitted.certificate_.gap < 1e-3
    assert np.unique(X[fitted.landmarks_], axis=0).shape[0] == 10


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"landmarks": 41}, InputError, "landmarks=41 .*n_samples=40"),
        ({"landmarks": 2}, DimensionError, "2 landmarks span at most 1 dimensions"),
        ({"landmarks": [0, 50, 3]}, InputError, "distinct row indices in 0..39"),
        ({"landmarks": 10, "method": "low-rank"}, ValueError, "dense"),
        ({"graph": "precomputed"}, InputError, "coordinates"),
    ],
)
def test_landmarks_that_cannot_be_used(change: dict[str, Any], error: type[Exception], says: str) -> None:
    X = cloud(40)
    with pytest.raises(error, match=says):
        LandmarkMVU(2, **change).fit(pairwise(X) if "graph" in change else X)


def test_landmarks_on_a_line_do_not_hold_a_plane() -> None:
    X = np.stack(np.meshgrid(np.arange(9.0), np.arange(9.0)), axis=-1).reshape(-1, 2)
    with pytest.raises(InputError, match=r"9 landmarks lie in 1 dimension, and do not determine points in 2"):
        LandmarkMVU(2, landmarks=np.flatnonzero(X[:, 1] == 4), n_neighbors=8).fit(X)


@pytest.mark.parametrize("form", FORMS)
def test_an_island_on_a_single_edge_is_held_by_a_little_stiffness(form: str) -> None:
    rng = np.random.default_rng(0)
    X = np.vstack([rng.uniform(0, 10, (150, 2)), rng.uniform(0, 1, (12, 2)) + np.array([14.0, 5.0])])
    with (
        pytest.warns(DisconnectedWarning),
        pytest.warns(RidgeWarning, match="12 landmarks do not determine some of the other 150 points"),
    ):
        fitted = LandmarkMVU(2, form=form, reg=1e-9, landmarks=np.arange(0, 144, 12), n_neighbors=6).fit(X)
    assert fitted.certificate_.status == "certified"
    assert np.allclose(fitted.interpolation_.sum(axis=1), 1)


# ---------------------------------------------------------------------- eigenvectors of the Laplacian
def test_a_general_solver_agrees_on_the_laplacian_program() -> None:
    X, k, m = cloud(36, 6), 5, 6
    fitted = LaplacianMVU(2, n_eigenvectors=m, n_neighbors=k).fit(X)
    edges, d = edges_of(X, k)
    B = differences(36, edges)
    values, V = la.eigh(B.T @ B)
    BQ = B @ V[:, 1 : m + 1]
    assert fitted.price_ == pytest.approx(1 / (0.4 * values[1] * d.mean()), rel=1e-9)

    def build(cp: Any) -> Any:
        L = cp.Variable((m, m), PSD=True)
        return cp.trace(L) - fitted.price_ * cp.sum_squares(cp.sum(cp.multiply(BQ @ L, BQ), axis=1) - d), []

    value, c = solved(build), fitted.certificate_
    assert c.lower == pytest.approx(value, rel=1e-4)
    assert c.upper == pytest.approx(value, rel=1e-4)
    assert la.subspace_angles(fitted.eigenvectors_, V[:, 1 : m + 1]).max() < 1e-6
    F = fitted.embedding_full_
    v = np.sum((B @ F) ** 2, axis=1)
    assert np.sum(F**2) - fitted.price_ * np.sum((v - d) ** 2) == pytest.approx(c.lower, rel=1e-6)
    assert c.violation == pytest.approx(np.max(np.abs(v - d) / d), rel=1e-6)


def test_weights_of_edges_prove_the_bound_of_the_triangular_system() -> None:
    X = cloud(200, 7)
    fitted = LaplacianMVU(2, n_eigenvectors=8).fit(X)
    c, Q, price = fitted.certificate_, fitted.eigenvectors_, fitted.price_
    B, d = differences(200, c.edges) @ Q, c.squared_distances
    assert la.eigvalsh(B.T @ (c.weights[:, None] * B))[0] > 1 - 1e-6
    assert float(c.weights @ d + c.weights @ c.weights / (4 * price)) == pytest.approx(c.upper, rel=1e-5)
    assert c.constraint == "slack"


def test_all_eigenvectors_and_a_high_price_pull_a_chain_straight() -> None:
    steps = np.random.default_rng(0).uniform(0.5, 2.0, 11)
    t = np.append(0.0, np.cumsum(steps))
    angle = np.cumsum(np.append(0.0, np.linspace(0.1, 0.5, 11)))
    X = np.cumsum(np.column_stack([np.cos(angle), np.sin(angle)]) * np.append(0.0, steps)[:, None], axis=0)
    i = np.arange(11)
    chain = sp.csr_array((np.r_[steps, steps], (np.r_[i, i + 1], np.r_[i + 1, i])), shape=(12, 12))
    fitted = LaplacianMVU(1, graph=chain, n_eigenvectors=11, price=1e5, tol=1e-5).fit(X)
    assert np.sum(fitted.embedding_full_**2) == pytest.approx(np.sum((t - t.mean()) ** 2), rel=1e-3)
    assert disparity(fitted.embedding_, t[:, None]) < 1e-5


def test_a_high_price_certifies_nothing_by_itself() -> None:
    X, _ = make_swiss_roll(600, random_state=0)
    for price in (1e3, 1e5):
        fitted = LaplacianMVU(2, price=price).fit(X)
        c, variance = fitted.certificate_, fitted.spectrum_.sum()
        assert -c.lower > 100 * variance
        assert c.status == "certified"
        assert c.upper - c.lower < 1e-3 * variance
        assert c.gap == pytest.approx((c.upper - c.lower) / variance, rel=1e-3)
    with pytest.warns(ConvergenceWarning, match="less the price of slack proved within"):
        short = LaplacianMVU(2, price=1e4, max_iter=11).fit(X)
    assert short.certificate_.status == "iterations"
    assert short.solution_.gap < 1e-3 < short.certificate_.gap


def test_more_eigenvectors_reach_more() -> None:
    X = cloud(150, 8)
    lower = [LaplacianMVU(2, n_eigenvectors=m, price=50.0).fit(X).certificate_.lower for m in (3, 6, 12)]
    assert lower[0] < lower[1] < lower[2]


def test_copies_of_a_row_weigh_as_many_in_eigenvectors() -> None:
    X = cloud(60, 9)
    X = np.vstack([X, X[:15]])
    fitted = LaplacianMVU(2, n_eigenvectors=5, n_neighbors=6).fit(X)
    Q = fitted.eigenvectors_
    assert np.allclose(Q.T @ Q, np.eye(5), atol=1e-8)
    assert np.abs(Q.sum(axis=0)).max() < 1e-8
    assert np.allclose(fitted.embedding_[:15], fitted.embedding_[60:], atol=1e-12)


@pytest.mark.parametrize(("m", "says"), [(40, "n_eigenvectors=40 .* 39"), (1, "between n_components=2")])
def test_eigenvectors_that_are_too_many_or_too_few(m: int, says: str) -> None:
    with pytest.raises(DimensionError, match=says):
        LaplacianMVU(2, n_eigenvectors=m).fit(cloud(40))


# ---------------------------------------------------------------------- both
@pytest.mark.parametrize("estimator", [LandmarkMVU(2, landmarks=20), LaplacianMVU(2, n_eigenvectors=8)])
def test_new_points_fall_among_their_neighbours(estimator: Any) -> None:
    X = cloud(400, 10)
    fitted = estimator.fit(X[:300])
    assert np.allclose(fitted.transform(X[:300]), fitted.embedding_)
    placed, near = fitted.transform(X[300:]), pairwise(X)[300:, :300].argmin(axis=1)
    spread = np.abs(fitted.embedding_).max()
    assert np.median(np.linalg.norm(placed - fitted.embedding_[near], axis=1)) < 0.05 * spread


def test_landmarks_may_be_specified() -> None:
    X = cloud(100)
    drawn = LandmarkMVU(2, landmarks=Landmarks(12, choice="random"), random_state=3).fit(X)
    again = LandmarkMVU(2, landmarks=drawn.landmarks_).fit(X)
    assert drawn.landmarks_.size == 12
    assert disparity(drawn.embedding_, again.embedding_) < 1e-4
