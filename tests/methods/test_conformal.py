"""Conformal eigenmaps: the form and its program against cvxpy, angles of sheets whose conformal map is known, and bad input."""

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

from eigenspan import LLE, ConformalEigenmaps, LaplacianEigenmaps
from eigenspan.errors import ConvergenceWarning, DegenerateWarning, DimensionError, InputError
from eigenspan.methods.reconstruction.conformal_eigenmaps import triangle_form
from eigenspan.numerics.sdp.spectrahedron import from_half, minimise_quadratic, squares_as_halves, to_half
from helpers import angle, quietly, reports, says


def bent(n, seed=0):
    """A square under the conformal map exp, its points rarer where it is stretched, rolled up."""
    z = np.exp(np.random.default_rng(seed).uniform(-0.8, 0.8, (n, 2)) @ [1, 1j])
    return np.column_stack([np.cos(z.real), np.sin(z.real), z.imag])


def angles(Z, around):
    """At every point, between its neighbours two by two, in degrees."""
    rays = Z[around[:, 1:]] - Z[around[:, :1]]
    rays /= np.linalg.norm(rays, axis=2, keepdims=True)
    first, second = np.triu_indices(rays.shape[1], 1)
    return np.degrees(np.arccos(np.clip(np.einsum("nid,nid->ni", rays[:, first], rays[:, second]), -1, 1)))


def distortion(X, Y):
    around = NearestNeighbors(n_neighbors=9).fit(X).kneighbors(X)[1]
    return float(np.median(np.abs(angles(X, around) - angles(Y, around))))


@pytest.fixture(scope="module")
def sheet():
    X = bent(1200)
    return X, ConformalEigenmaps(2).fit(X)


# ---------------------------------------------------------------------- what it is for
def test_angles_are_kept_where_lle_and_eigenmaps_turn_them(sheet):
    X, fitted = sheet
    assert distortion(X, fitted.embedding_) < 1.0
    assert distortion(X, LLE(2).fit(X).embedding_) > 2.5
    assert distortion(X, LaplacianEigenmaps(2).fit(X).embedding_) > 10


def test_new_points_keep_their_angles_too(sheet):
    X, fitted = sheet
    new = bent(400, seed=5)
    assert distortion(new, fitted.transform(new)) < 2.0
    np.testing.assert_array_equal(fitted.transform(X), fitted.embedding_)


def test_scales_are_squared_stretches_and_axes_without_variance_zero(sheet):
    """Of every neighbourhood, from the data to the embedding with all its axes."""
    X, _ = sheet
    with reports(DegenerateWarning, "of the 6 axes asked for are zero"):
        fitted = ConformalEigenmaps(6, n_eigenvectors=6).fit(X)
    np.testing.assert_array_equal(fitted.embedding_[:, -1], 0)
    assert fitted.transform(X[:3] + 1e-3).shape == (3, 6)
    D = fitted.graph_.distances
    for i in (0, 100, 700):
        around = np.append(i, D.indices[D.indptr[i] : D.indptr[i + 1]])
        a, b = np.triu_indices(around.size, 1)
        d, u = (np.sum((Z[around[a]] - Z[around[b]]) ** 2, axis=1) for Z in (X, fitted.embedding_))
        assert fitted.scales_[i] == pytest.approx(d @ u / (d @ d), rel=1e-3)


@pytest.mark.parametrize("base", ["lle", "laplacian"])
def test_a_curve_has_one_dimension_a_sheet_two(base, sheet):
    X, _ = sheet
    assert ConformalEigenmaps("auto", base=base).fit(X).n_components_ == 2
    t = np.linspace(0, 3, 300)
    curve = np.column_stack([np.cos(t), np.sin(t), 0.2 * t])
    fitted = ConformalEigenmaps("auto", base=base).fit(curve)
    assert fitted.n_components_ == 1
    assert abs(np.corrcoef(fitted.embedding_[:, 0], t)[0, 1]) > 0.99


# ---------------------------------------------------------------------- the program
def objective(P, Z, X, graph):
    """As it is written, the best scale of each neighbourhood by least squares."""
    D, total = graph.distances, 0.0
    for i in range(graph.n):
        around = np.append(i, D.indices[D.indptr[i] : D.indptr[i + 1]])
        a, b = np.triu_indices(around.size, 1)
        d = np.sum((X[around[a]] - X[around[b]]) ** 2, axis=1)
        delta = Z[around[a]] - Z[around[b]]
        u = np.einsum("pi,ij,pj->p", delta, P, delta)
        total += np.sum((u - np.linalg.lstsq(d[:, None], u, rcond=None)[0] * d) ** 2)
    return total


@pytest.mark.parametrize("base", ["lle", "laplacian"])
def test_the_form_is_the_objective(base):
    X, m = bent(40), 5
    fitted = ConformalEigenmaps(2, base=base, n_eigenvectors=m, n_neighbors=6).fit(X)
    Z = np.random.default_rng(1).standard_normal((40, m))
    Q, _ = triangle_form(Z, X, fitted.graph_)
    whole = objective(np.eye(m) / m, Z, X, fitted.graph_)
    for seed in range(3):
        A = np.random.default_rng(seed).standard_normal((m, m))
        p = to_half(A @ A.T)
        assert 0.5 * p @ Q @ p == pytest.approx(objective(A @ A.T, Z, X, fitted.graph_) / whole, rel=1e-10)


@pytest.mark.parametrize("base", ["lle", "laplacian"])
@pytest.mark.parametrize("m", [3, 6])
def test_a_general_solver_finds_the_same(base, m):
    cp = pytest.importorskip("cvxpy")
    pytest.importorskip("clarabel")
    X = bent(40)
    fitted = ConformalEigenmaps(2, base=base, n_eigenvectors=m, n_neighbors=6, tol=1e-8).fit(X)
    if base == "lle":
        Z = LLE(m, n_neighbors=6).fit(X).embedding_
    else:
        Z = LaplacianEigenmaps(m, n_neighbors=6, scale="unit-variance").fit(X).embedding_
    D, graph = fitted.graph_.distances, fitted.graph_
    P, s = cp.Variable((m, m), PSD=True), cp.Variable(40, nonneg=True)
    terms = []
    for i in range(40):
        around = np.append(i, D.indices[D.indptr[i] : D.indptr[i + 1]])
        a, b = np.triu_indices(around.size, 1)
        d = np.sum((X[around[a]] - X[around[b]]) ** 2, axis=1)
        delta = Z[around[a]] - Z[around[b]]
        terms.append(cp.sum(cp.multiply(delta @ P, delta), axis=1) - s[i] * d)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(cp.hstack(terms))), [cp.trace(P) == 1])
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    assert problem.status == "optimal"
    ours = fitted.distortion_ * objective(np.eye(m) / m, Z, X, graph)
    assert ours == pytest.approx(problem.value, rel=1e-5)
    np.testing.assert_allclose(np.linalg.eigvalsh(P.value)[::-1], fitted.spectrum_, atol=1e-4)


def test_the_dual_proves_the_optimum(sheet):
    X, fitted = sheet
    assert fitted.distortion_bound_ <= fitted.distortion_
    assert fitted.gap_bound_ == pytest.approx(fitted.distortion_ - fitted.distortion_bound_)
    assert fitted.gap_bound_ <= 1e-6 * fitted.distortion_
    Q, _ = triangle_form(LLE(10).fit(X).embedding_, X, fitted.graph_)
    rng = np.random.default_rng(0)
    for rank in (1, 2, 10):
        A = rng.standard_normal((10, rank))
        p = to_half(A @ A.T / np.sum(A * A))
        assert 0.5 * p @ Q @ p > fitted.distortion_bound_


# ---------------------------------------------------------------------- the solver
@pytest.mark.parametrize("m", [1, 2, 7])
def test_halves_of_matrices_have_their_inner_products(m):
    A, B = (M + M.swapaxes(1, 2) for M in np.random.default_rng(m).standard_normal((2, 4, m, m)))
    np.testing.assert_allclose(np.sum(to_half(A) * to_half(B), axis=1), np.sum(A * B, axis=(1, 2)), rtol=1e-12)
    np.testing.assert_allclose(from_half(to_half(A)), A, rtol=1e-14)
    z = A[:, 0]
    np.testing.assert_allclose(squares_as_halves(z), to_half(z[:, :, None] * z[:, None, :]), rtol=1e-14)


@pytest.mark.parametrize("spread", [1.0, 1e-4, 1e-8])
@pytest.mark.parametrize("rank", [4, 15])
def test_any_quadratic_is_minimised_to_its_bound(spread, rank):
    """Singular and badly scaled forms too: the bound is that of the tangents, computed anew."""
    rng = np.random.default_rng(rank)
    B = rng.standard_normal((rank, 15)) * spread ** rng.random(15)
    Q = B.T @ B
    found = minimise_quadratic(Q, tol=1e-7)
    G = from_half(Q @ to_half(found.matrix))
    bound = np.sum(found.matrix * G) - np.linalg.eigvalsh(G)[0]
    assert found.converged
    assert found.gap == pytest.approx(bound, rel=1e-3, abs=1e-15 * np.trace(Q))
    assert bound <= 1e-7 * found.values[-1] or bound <= 1e-13 * np.trace(Q)
    assert abs(np.trace(found.matrix) - 1) < 1e-12
    assert np.linalg.eigvalsh(found.matrix)[0] > 0


def test_a_form_of_nothing_has_any_matrix_for_its_minimum():
    found = minimise_quadratic(np.zeros((6, 6)))
    assert found.converged
    assert found.values[-1] == 0
    np.testing.assert_allclose(found.matrix, np.eye(3) / 3)


def test_steps_that_are_too_few_are_said_to_be():
    Q = np.diag(np.geomspace(1, 1e-6, 15))
    found = minimise_quadratic(Q, tol=1e-9, max_iter=2)
    assert not found.converged
    assert found.gap > 1e-9 * found.values[-1]


# ---------------------------------------------------------------------- data of all kinds
def test_neither_unit_nor_turn_of_the_data_matters(sheet):
    X, fitted = sheet
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]
    other = ConformalEigenmaps(2).fit(1e3 * X @ turn + 5)
    assert angle(fitted.embedding_, other.embedding_) < 0.05
    np.testing.assert_allclose(other.spectrum_[:2], fitted.spectrum_[:2], rtol=1e-3)


@pytest.mark.long
def test_neighbourhoods_of_many_sizes_and_copies_of_rows():
    from eigenspan import Radius

    X = bent(500)
    X = np.vstack([X, X[:40]])
    fitted = ConformalEigenmaps(2, graph=Radius(0.5)).fit(X)
    assert fitted.scales_.shape == (500,)
    assert distortion(X[:500], fitted.embedding_[:500]) < 2.0
    np.testing.assert_array_equal(fitted.embedding_[500:], fitted.embedding_[:40])


def test_landmarks_stand_for_all(sheet):
    X, _ = sheet
    fitted = ConformalEigenmaps(2, landmarks=600).fit(X)
    assert fitted.scales_.shape == (600,)
    assert distortion(X, fitted.embedding_) < 3.0


def test_bad_parameters_are_refused():
    X = bent(60)
    with pytest.raises(DimensionError, match=says("n_components=5 exceeds 3", "n_eigenvectors")):
        ConformalEigenmaps(5, n_eigenvectors=3).fit(X)
    with pytest.raises((InputError, ValueError), match="base"):
        ConformalEigenmaps(base="pca").fit(X)
    with pytest.raises(DimensionError, match=says("n_components=70")):
        quietly(lambda: ConformalEigenmaps(2, n_eigenvectors=70).fit(X))


def test_what_is_left_to_gain_is_told(monkeypatch):
    monkeypatch.setattr("eigenspan.methods.reconstruction.conformal_eigenmaps._STEPS", 2)
    with reports(ConvergenceWarning, "left to gain after", "n_eigenvectors"):
        ConformalEigenmaps(2).fit(bent(200))
