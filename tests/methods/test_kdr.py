"""Kernel dimension reduction: the equations entry by entry, known subspaces, symmetries, and what y may be."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp

from eigenspan import KDR, PCA, GradientKDR, Landmarks
from eigenspan.data.y import Classes, Numbers
from eigenspan.errors import ConvergenceWarning, DimensionError, LabelError, PrecisionWarning, RidgeWarning
from eigenspan.methods.sufficient.conditional_covariance import Regression, response_features
from eigenspan.methods.sufficient.kdr import orders
from helpers import angle, cloud, quietly, reports, same_subspace, says

BOTH = pytest.mark.parametrize("method", [GradientKDR, KDR])


def gaussian(X, Z, sigma):
    return np.exp(-np.sum((X[:, None] - Z[None]) ** 2, axis=2) / (2 * sigma**2))


def centring(n):
    return np.eye(n) - 1 / n


def regression_of(n=25, r=4, landmarks=None, seed=0):
    Z = cloud(n, r, seed)
    R = response_features(Numbers(np.sin(Z[:, :1]) + 0.1 * cloud(n, 1, seed + 1)), 1.0)
    return Regression(Z, R, 1e-2, None if landmarks is None else Z[landmarks])


def single_index(n=300, D=5, seed=0):
    X = cloud(n, D, seed)
    return X, np.sin(1.5 * X[:, 0]) + 0.05 * cloud(n, 1, seed + 1)[:, 0], np.eye(D)[:, :1]


# ---------------------------------------------------------------------- the equations
def test_features_of_numbers_have_their_kernel():
    y = np.column_stack([np.arange(12.0) ** 2, np.cos(np.arange(12.0))])
    R = response_features(Numbers(y), 0.7)
    T = (y - y.mean(axis=0)) / y.std(axis=0)
    distances = np.linalg.norm(T[:, None] - T, axis=2)[np.triu_indices(12, 1)]
    H = centring(12)
    np.testing.assert_allclose(R @ R.T, H @ gaussian(T, T, 0.7 * np.median(distances)) @ H, atol=1e-5)


def test_features_of_classes_have_the_delta_kernel():
    codes = np.array([0, 1, 2, 1, -1, 0])
    R = response_features(Classes(codes, np.array(["a", "b", "c"]), codes), 1.0)
    known = codes[codes >= 0]
    H = centring(5)
    np.testing.assert_allclose(R @ R.T, H @ (known[:, None] == known) @ H, atol=1e-12)


def test_the_loss_is_the_trace_of_the_paper():
    """``Tr[G_Y (G_X^B + nεI)⁻¹]`` [S3, eq. 3.64], times nε/Tr G_Y."""
    model = regression_of()
    B, n = np.linalg.qr(cloud(4, 2, 5))[0], 25
    H = centring(n)
    G = H @ gaussian(model.Z @ B, model.Z @ B, 0.9) @ H
    GY = model.R @ model.R.T
    trace = np.trace(GY @ np.linalg.inv(G + n * 0.01 * np.eye(n)))
    np.testing.assert_allclose(model.loss(B, 0.9)[0], n * 0.01 * trace / np.trace(GY), rtol=1e-10)


def test_the_loss_on_landmarks_is_that_of_the_nystrom_matrix():
    chosen = np.array([0, 3, 7, 11, 20])
    model = regression_of(landmarks=chosen)
    B, n = np.linalg.qr(cloud(4, 2, 5))[0], 25
    X = model.Z @ B
    K = gaussian(X, X[chosen], 0.9)
    H = centring(n)
    G = H @ K @ np.linalg.inv(K[chosen] + 1e-6 * np.eye(5)) @ K.T @ H
    GY = model.R @ model.R.T
    trace = np.trace(GY @ np.linalg.inv(G + n * 0.01 * np.eye(n)))
    np.testing.assert_allclose(model.loss(B, 0.9)[0], n * 0.01 * trace / np.trace(GY), rtol=1e-6)


@pytest.mark.parametrize("landmarks", [None, np.array([1, 4, 6, 13, 19, 22])])
def test_the_gradient_is_the_derivative(landmarks):
    """Against central differences, entry by entry; B need not be orthonormal for it."""
    model, B, h = regression_of(landmarks=landmarks), cloud(4, 2, 9), 1e-6
    G = model.loss(B, 0.8)[1]
    for i, j in np.ndindex(*B.shape):
        step = np.zeros_like(B)
        step[i, j] = h
        slope = (model.loss(B + step, 0.8)[0] - model.loss(B - step, 0.8)[0]) / (2 * h)
        assert abs(G[i, j] - slope) < 1e-6 * max(1.0, np.abs(G).max())


@pytest.mark.parametrize("all_rows", [False, True])
def test_the_matrix_of_gradients_is_that_of_the_paper(all_rows):
    """``(1/n) Σ ∇k(x_i)'(G_X + nεI)⁻¹G_Y(G_X + nεI)⁻¹∇k(x_i)`` with centred kernel matrices, a point at a time."""
    model, sigma, n = regression_of(), 1.3, 25
    if all_rows:
        model = regression_of(landmarks=np.arange(n))
    Z, H = model.Z, centring(n)
    K = gaussian(Z, Z, sigma)
    F = np.linalg.inv(H @ K @ H + n * 0.01 * np.eye(n))
    middle, M = F @ model.R @ model.R.T @ F, np.zeros((4, 4))
    for i in range(n):
        nabla = K[:, i, None] * (Z - Z[i]) / sigma**2  # of k(·, x_j) at x_i, a row for each j
        M += nabla.T @ middle @ nabla / n
    np.testing.assert_allclose(model.gradients(sigma), M, atol=(1e-5 if all_rows else 1e-10) * np.abs(M).max())


def test_blocks_change_nothing(monkeypatch):
    model = regression_of()
    whole = model.gradients(1.0)
    monkeypatch.setattr("eigenspan.methods.sufficient.conditional_covariance._BLOCK", 60)
    np.testing.assert_allclose(model.gradients(1.0), whole, atol=1e-12 * np.abs(whole).max())


def test_orders_lead_from_all_directions_to_those_wanted():
    assert orders(10, 2, 1) == [10]
    assert orders(10, 2, None) == [10, 5, 3]
    assert orders(4, 2, None) == [4, 3]
    assert orders(3, 2, None) == [3]
    assert orders(2, 2, None) == [2]
    assert orders(100, 1, 3) == [100, 14, 2]


# ---------------------------------------------------------------------- known subspaces
@BOTH
def test_a_single_index_is_found(method):
    X, y, truth = single_index()
    assert angle(method(1).fit(X, y).components_.T, truth) < 8


@BOTH
def test_symmetric_dependence_and_changes_of_spread_are_seen(method):
    """No mean of X moves with y: inverse regression of first moments sees nothing here."""
    X = cloud(400, 4, 3)
    even = X[:, 1] ** 2 + 0.1 * cloud(400, 1, 4)[:, 0]
    assert angle(method(1).fit(X, even).components_.T, np.eye(4)[:, 1:2]) < 10
    spread = (0.2 + X[:, 2] ** 2) * cloud(400, 1, 5)[:, 0]
    assert angle(method(1).fit(X, spread).components_.T, np.eye(4)[:, 2:3]) < 25


def test_descent_improves_on_where_it_begins():
    X = cloud(250, 6, 1)
    y = X[:, 0] / (0.5 + (X[:, 1] + 1.5) ** 2) + 0.1 * cloud(250, 1, 2)[:, 0]
    truth = np.eye(6)[:, :2]
    kdr, gradient = KDR(2).fit(X, y), GradientKDR(2).fit(X, y)
    assert angle(kdr.components_.T, truth) < min(10, angle(gradient.components_.T, truth))
    assert 0 < kdr.unexplained_ < 1
    assert len(kdr.paths_) == 3
    for path in kdr.paths_:
        assert np.all(np.diff(path) < 0)
    assert kdr.unexplained_ == kdr.paths_[-1][-1]


def test_no_direction_is_better():
    """One direction of three features: of thousands all over the sphere none leaves less unexplained."""
    X = cloud(60, 3, 4)
    y = np.sin(2 * X[:, 0]) + 0.3 * cloud(60, 1, 5)[:, 0]
    fitted = KDR(1).fit(X, y)
    Z = PCA(3, whiten=True).fit_transform(X) * np.sqrt(60 / 59)  # of variance one, divided by n
    R, eps = response_features(Numbers(y[:, None]), 1.0), fitted.diagnostics_["eps"]
    model, first = Regression(Z, R, eps), GradientKDR(1).fit(X, y).embedding_
    sigma = 0.5 * np.median(np.abs(first - first.T)[np.triu_indices(60, 1)])
    found = np.linalg.lstsq(Z, fitted.embedding_, rcond=None)[0]
    np.testing.assert_allclose(model.loss(found, sigma)[0], fitted.unexplained_, rtol=1e-6)
    others = cloud(3000, 3, 6)
    others /= np.linalg.norm(others, axis=1, keepdims=True)
    assert min(model.loss(b[:, None], sigma)[0] for b in others) > fitted.unexplained_ - 1e-9


def test_more_starts_are_no_worse():
    X, y, _ = single_index(120, 4)
    one, several = KDR(1, stages=1).fit(X, y), KDR(1, stages=1, n_starts=3).fit(X, y)
    assert several.unexplained_ <= one.unexplained_


@BOTH
def test_all_directions_are_a_rotation(method):
    X, y, _ = single_index(80, 3)
    fitted = method(3).fit(X, y)
    Y = fitted.embedding_
    np.testing.assert_allclose(Y.T @ Y / 80, np.eye(3), atol=1e-8)


# ---------------------------------------------------------------------- symmetries
@BOTH
def test_linear_mixing_of_the_features_changes_nothing(method):
    X, y, _ = single_index(150, 4)
    A = cloud(4, 4, 8) * [1, 10, 100, 0.1]
    before, after = method(2).fit(X, y), method(2).fit(X @ A + 3, y)
    scale = np.sign(np.sum(before.embedding_ * after.embedding_, axis=0))
    np.testing.assert_allclose(after.embedding_ * scale, before.embedding_, atol=1e-3 * np.abs(before.embedding_).max())


@BOTH
def test_units_of_the_response_do_not_matter(method):
    X, y, _ = single_index(120, 4)
    assert same_subspace(method(1).fit(X, 1e3 * y + 5).components_.T, method(1).fit(X, y).components_.T, 0.01)
    both = np.column_stack([y, X[:, 1]])
    assert same_subspace(
        method(2).fit(X, both * [1, 1e4]).components_.T, method(2).fit(X, both).components_.T, degrees=0.1
    )


def test_unwhitened_axes_are_orthonormal():
    X, y, _ = single_index(100, 4)
    for method in (GradientKDR, KDR):
        V = method(2, whiten=False).fit(X, y).components_
        np.testing.assert_allclose(V @ V.T, np.eye(2), atol=1e-10)


@BOTH
def test_all_points_as_landmarks_are_no_landmarks(method):
    X, y, _ = single_index(90, 4)
    assert same_subspace(
        method(1, landmarks=np.arange(90)).fit(X, y).components_.T, method(1).fit(X, y).components_.T, degrees=0.2
    )


@BOTH
def test_landmarks_find_the_same_subspace(method):
    X, y, truth = single_index(600, 5)
    fitted = method(1, landmarks=Landmarks(120, choice="kmeans++")).fit(X, y)
    assert fitted.diagnostics_["landmarks"] <= 120
    assert angle(fitted.components_.T, truth) < 8


@BOTH
def test_sparse_files_and_single_precision(method, tmp_path):
    X, y, _ = single_index(100, 5)
    X[np.abs(X) < 0.4] = 0
    np.save(tmp_path / "X.npy", X)
    dense = method(2).fit(X, y).embedding_
    size = np.abs(dense).max()
    np.testing.assert_allclose(method(2).fit(sp.csr_array(X), y).embedding_, dense, atol=1e-6 * size)
    file = np.load(tmp_path / "X.npy", mmap_mode="r")
    np.testing.assert_allclose(method(2).fit(file, y).embedding_, dense, atol=1e-6 * size)
    single = method(2).fit(X.astype(np.float32), y).embedding_
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, dense, atol=1e-3 * size)


def test_many_points_have_landmarks_unasked():
    X, y, truth = single_index(2100, 4)
    fitted = GradientKDR(1).fit(X, y)
    assert fitted.diagnostics_["landmarks"] == 500
    assert angle(fitted.components_.T, truth) < 5


# ---------------------------------------------------------------------- what y may be
@BOTH
def test_classes_by_name_or_by_code(method):
    X = cloud(200, 4, 2)
    codes = (np.abs(X[:, 0]) > 0.7).astype(int) + (np.abs(X[:, 0]) > 1.5)
    named = method(1).fit(X, np.array(["low", "middle", "high"])[codes])
    assert list(named.classes_) == ["high", "low", "middle"]
    coded = method(1, labels="delta").fit(X, codes)
    np.testing.assert_allclose(coded.embedding_, named.embedding_, atol=1e-6 * np.abs(named.embedding_).max())
    assert angle(named.components_.T, np.eye(4)[:, :1]) < 15


@BOTH
def test_rows_without_a_response_only_share_the_map(method):
    X, y, truth = single_index(200, 4)
    y[::4] = np.nan
    fitted = method(1).fit(X, y)
    assert fitted.embedding_.shape == (200, 1)
    assert fitted.diagnostics_["known_responses"] == 150
    assert angle(fitted.components_.T, truth) < 10
    Z = PCA(4, whiten=True).fit_transform(X)  # the scale is that of all rows
    assert same_subspace(fitted.embedding_, (Z @ np.linalg.lstsq(Z, fitted.embedding_, rcond=None)[0]), degrees=1e-4)


@BOTH
@pytest.mark.parametrize(
    "y, words",
    [
        (None, ["requires y"]),
        (np.ones(40), ["differ", "40"]),
        (np.full(40, np.nan), ["all 40", "missing"]),
        (np.arange(39.0), ["40"]),
        (np.r_[np.inf, np.arange(39.0)], ["infinite"]),
    ],
)
def test_responses_that_are_none(method, y, words):
    with pytest.raises(LabelError, match=says(*words)):
        method(1).fit(cloud(40), y)


@BOTH
def test_text_is_no_number(method):
    with pytest.raises(LabelError, match=says("numbers")):
        method(1, labels="rbf").fit(cloud(40), ["a", "b"] * 20)


@BOTH
def test_more_components_than_features(method):
    with pytest.raises(DimensionError, match=says("n_components=4", "3")):
        method(4).fit(cloud(40), np.arange(40.0))
    with pytest.raises(DimensionError, match="coincide"):
        method(1).fit(np.ones((40, 3)), np.arange(40.0))


@BOTH
def test_more_features_than_rows(method):
    """Whitened, the rows would all be equally far apart: a ridge is added and reported, or the features are reduced."""
    X = cloud(30, 60) * np.r_[5.0, np.ones(59)]
    y = X[:, 0] ** 2
    with reports(RidgeWarning, "30 rows", "29 dimensions", "ridge="):
        method(1).fit(X, y)
    for other in (method(1, reduce=5), method(1, whiten=False), method(1, ridge=1.0)):
        assert np.all(np.isfinite(quietly(partial(other.fit, X, y), ConvergenceWarning).embedding_))


@BOTH
def test_landmarks_need_no_responses(method):
    X, y, truth = single_index(300, 3)
    y[:60] = np.nan
    assert angle(method(1, landmarks=np.arange(60)).fit(X, y).components_.T, truth) < 8


def test_a_descent_cut_short_is_reported():
    X, y, _ = single_index(80, 4)
    with reports(ConvergenceWarning, "max_iter=1", "Raise max_iter"):
        KDR(2, max_iter=1, tol=1e-8).fit(X, y)


@pytest.mark.parametrize("cls", [GradientKDR, KDR])
def test_columns_of_very_different_scales_end_in_no_nan(cls):
    """The covariance of scales from 1e-12 to 1e12 has eigenvalues that are rounding, of either sign."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 6)) * np.logspace(-12, 12, 6)
    with pytest.warns(PrecisionWarning, match=r"of 6 directions vary so much less.*StandardScaler"):
        fitted = quietly(lambda: cls(1).fit(X, X[:, -1] / 1e12), ConvergenceWarning)
    assert np.isfinite(fitted.transform(X)).all()


@pytest.mark.parametrize("scale", [1e-100, 1e-50, 1e100])
def test_the_unit_of_the_data_does_not_matter(scale):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    y = np.sin(X[:, 0]) + 0.1 * X[:, 1]
    found, expected = (GradientKDR(2).fit(A, y) for A in (X * scale, X))
    assert angle(found.embedding_ - found.embedding_.mean(0), expected.embedding_ - expected.embedding_.mean(0)) < 1e-6
