"""Stress, residual variance, geodesic correlation, Procrustes and unexplained residuals compared with other libraries."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial import procrustes as scipy_procrustes
from scipy.stats import spearmanr
from sklearn.datasets import load_iris, make_swiss_roll
from sklearn.isotonic import IsotonicRegression

import eigenspan as es
from dense_quality import Brute, distances
from eigenspan.errors import DisconnectedWarning, GraphError, InputError, MemoryLimitError
from eigenspan.quality import (
    _blocks,
    geodesic_correlation,
    procrustes,
    residual_variance,
    stress,
    unexplained_residual,
)

N = 500
SEEDS = 40


@pytest.fixture(scope="module", params=["generic", "ties"])
def case(request):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(N, 5))
    Y = X[:, :2] + 0.3 * rng.normal(size=(N, 2))
    X, Y = (X, Y) if request.param == "generic" else (np.round(X), np.round(Y))
    return X, Y, Brute(distances(X), distances(Y))


@pytest.fixture(scope="module")
def sheet():
    X, _ = make_swiss_roll(N, random_state=0)
    isomap = es.Isomap(2, n_neighbors=8).fit(X)
    return X, isomap.embedding_, isomap.dist_matrix_


def test_stress_and_residual_variance_against_all_pairs(case):
    X, Y, brute = case
    x, y = brute.pairs()
    assert stress(X, Y) == pytest.approx(brute.stress(), abs=1e-12)
    assert stress(X, Y, scale=False) == pytest.approx(np.sqrt(np.sum((x - y) ** 2) / np.sum(x**2)), abs=1e-12)
    assert residual_variance(X, Y, distances="direct") == pytest.approx(brute.residual_variance(), abs=1e-12)
    assert stress(brute.DX, Y, metric="precomputed") == pytest.approx(brute.stress(), abs=1e-12)
    assert stress(brute.DX + np.eye(N), Y, metric="precomputed") == pytest.approx(brute.stress(), abs=1e-12)
    assert stress(sp.csr_array(X), Y) == pytest.approx(brute.stress(), abs=1e-7)
    taxi = np.abs(X[:, None, :] - X[None, :, :]).sum(axis=2)
    assert stress(X, Y, metric="manhattan") == pytest.approx(Brute(taxi, brute.DY).stress(), abs=1e-12)


def test_nonmetric_stress_against_isotonic_regression(case):
    X, Y, brute = case
    x, y = brute.pairs()
    fitted = IsotonicRegression().fit(x, y).predict(x)
    expected = np.sqrt(np.sum((y - fitted) ** 2) / np.sum(y**2))
    assert stress(X, Y, kind="nonmetric") == pytest.approx(expected, abs=1e-12)
    assert stress(x_grown(X), Y, kind="nonmetric", metric="precomputed") == pytest.approx(expected, abs=1e-12)


def x_grown(X):
    """Return X with distances changed but in the same order."""
    return np.exp(distances(X)) - 1.0


def test_geodesics_against_isomap_and_scipy(sheet):
    X, Y, G = sheet
    upper = np.triu_indices(N, 1)
    g, y = G[upper], distances(Y)[upper]
    assert residual_variance(X, Y, n_neighbors=8) == pytest.approx(1 - np.corrcoef(g, y)[0, 1] ** 2, abs=1e-12)
    assert geodesic_correlation(X, Y, n_neighbors=8) == pytest.approx(spearmanr(g, y).statistic, abs=1e-12)
    D = distances(X)
    given = geodesic_correlation(D, Y, n_neighbors=8, metric="precomputed")
    assert given == pytest.approx(spearmanr(g, y).statistic, abs=1e-9)


def test_shifts_rotations_scales_and_row_order_change_nothing(sheet):
    X, Y, _ = sheet
    Q, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(2, 2)))
    order = np.random.default_rng(1).permutation(N)
    for measure in (stress, lambda *a: stress(*a, kind="nonmetric"), residual_variance, geodesic_correlation):
        value = measure(X, Y)
        assert measure(X, 7 * Y @ Q - 3) == pytest.approx(value, abs=1e-10)
        assert measure(X[order], Y[order]) == pytest.approx(value, abs=1e-10)
    assert stress(X, 7 * Y, scale=False) > stress(X, Y, scale=False) > stress(X, Y)


def test_perfect_and_collapsed_embeddings(sheet):
    X = sheet[0]
    for scaled in (X, 1e-8 * X + 5):
        assert stress(X, scaled) < 1e-7
        assert stress(X, scaled, kind="nonmetric") < 1e-7
        assert residual_variance(X, scaled, distances="direct") < 1e-12
    assert stress(X, X) < 1e-14
    assert stress(X, X, scale=False) < 1e-14
    nothing = np.zeros((N, 2))
    assert [stress(X, nothing), stress(X, nothing, scale=False), stress(X, nothing, kind="nonmetric")] == [1, 1, 1]
    assert residual_variance(X, nothing) == 1.0
    assert geodesic_correlation(X, nothing) == 0.0


@pytest.mark.parametrize(
    "measure",
    [
        stress,
        lambda X, Y, **given: stress(X, Y, kind="nonmetric", **given),
        lambda X, Y, **given: residual_variance(X, Y, n_neighbors=8, **given),
        lambda X, Y, **given: geodesic_correlation(X, Y, n_neighbors=8, **given),
    ],
    ids=["stress", "nonmetric", "residual variance", "correlation"],
)
@pytest.mark.every(2)
def test_sampled_values_are_near_those_of_all_rows(sheet, measure):
    X, Y = sheet[0][:250], sheet[1][:250]
    Y = Y + 3 * np.random.default_rng(0).normal(size=Y.shape)
    values = [measure(X, Y, sample=60, random_state=seed) for seed in range(SEEDS)]
    assert 0 < abs(np.mean(values) - measure(X, Y)) < 0.5 * np.std(values) + 4 * np.std(values) / np.sqrt(SEEDS)
    assert values[0] == measure(X, Y, sample=60, random_state=0)
    assert measure(X, Y, sample=250) == pytest.approx(measure(X, Y), abs=1e-12)


def test_a_disconnected_graph_is_connected_with_a_warning():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(40, 2)), rng.normal(size=(40, 2)) + 50])
    with pytest.warns(DisconnectedWarning, match="2 components"):
        assert geodesic_correlation(X, X, n_neighbors=5) > 0.9


@pytest.mark.parametrize(
    "run, error, message",
    [
        (lambda X, Y: stress(X, Y, kind="sammon"), InputError, "kind='sammon' cannot be used"),
        (lambda X, Y: residual_variance(X, Y, distances="far"), InputError, "distances='far' cannot be used"),
        (lambda X, Y: stress(X[:1], Y[:1]), InputError, "X has 1 rows; at least 3"),
        (lambda X, Y: stress(X, Y[:-1]), InputError, "X has 500 rows and Y has 499"),
        (lambda X, Y: stress(np.ones_like(X), Y), InputError, "points of X coincide"),
        (lambda X, Y: stress(np.ones_like(X), Y, kind="nonmetric"), InputError, "points of X coincide"),
        (lambda X, Y: geodesic_correlation(X, Y, n_neighbors=500), GraphError, "n_neighbors=500 must lie between"),
        (lambda X, Y: geodesic_correlation(X, Y, n_neighbors=2.5), GraphError, "whole number"),
        (lambda X, Y: stress(X, Y, sample=501), InputError, "between 2 and 500"),
        (lambda X, Y: procrustes(X, Y[:-1]), InputError, "A has 500 rows and B has 499"),
        (lambda X, Y: procrustes(X, np.ones((500, 2))), InputError, "points of B coincide"),
        (lambda X, Y: unexplained_residual(X, 2), InputError, "gram must be square"),
        (
            lambda X, Y: unexplained_residual(np.triu(np.ones((9, 9))), 2),
            InputError,
            "symmetric; entries differ from the transpose by up to 1 ",
        ),
        (lambda X, Y: unexplained_residual(np.eye(9)), InputError, "number of axes between 1 and 9"),
        (lambda X, Y: unexplained_residual(np.eye(9), 10), InputError, "number of axes between 1 and 9"),
        (lambda X, Y: unexplained_residual(np.eye(9), 1.5), InputError, "n_components=1.5 cannot be used"),
        (lambda X, Y: unexplained_residual(np.ones((9, 9)), 1), InputError, "no positive eigenvalue"),
        (lambda X, Y: unexplained_residual(es.PCA(2)), InputError, "PCA has no spectrum: fit it first"),
        (lambda X, Y: unexplained_residual(es.LPP(2).fit(X)), InputError, "are not squared lengths"),
        (
            lambda X, Y: unexplained_residual(es.SupervisedPCA(2, labels="rbf").fit(X, Y[:, 0])),
            InputError,
            "are not squared lengths",
        ),
        (lambda X, Y: unexplained_residual(es.LandmarkIsomap(2, landmarks=50).fit(X)), InputError, "landmarks only"),
        (lambda X, Y: unexplained_residual(es.PCA(2).fit(X), 3), InputError, "fitted with 2"),
    ],
)
def test_bad_input_is_explained(sheet, run, error, message):
    with pytest.raises(error, match=message):
        run(*sheet[:2])


def test_pairs_beyond_the_memory_limit_are_refused_with_a_sample_size_that_fits(sheet, monkeypatch):
    X, Y, _ = sheet
    monkeypatch.setattr(_blocks, "_BLOCK_BYTES", 1)
    monkeypatch.setenv("EIGENSPAN_MEMORY", "2M")
    with pytest.raises(MemoryLimitError, match=r"124750 pairs, which .* sample=500\."):
        stress(X, Y, kind="nonmetric")
    assert 0 < stress(X, Y) < 1


# ---------------------------------------------------------------------- Procrustes and unexplained residuals
def test_procrustes_against_scipy():
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(60, 3)), rng.normal(size=(60, 3)) + 4
    fit = procrustes(A, B)
    assert fit.disparity == pytest.approx(scipy_procrustes(A, B)[2], abs=1e-12)
    assert procrustes(B, A).disparity == pytest.approx(fit.disparity, abs=1e-12)
    np.testing.assert_allclose(fit.rotation @ fit.rotation.T, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(fit.aligned, fit.scale * B @ fit.rotation + fit.shift, atol=1e-12)
    left = np.sum((A - fit.aligned) ** 2) / np.sum((A - A.mean(axis=0)) ** 2)
    assert fit.disparity == pytest.approx(left, abs=1e-12)


def test_procrustes_finds_transformations_and_pads_columns():
    rng = np.random.default_rng(1)
    A = rng.normal(size=(40, 2))
    Q, _ = np.linalg.qr(rng.normal(size=(2, 2)))
    fit = procrustes(A, 5 * A @ Q + 2)
    assert fit.disparity < 1e-24
    assert fit.scale == pytest.approx(0.2)
    np.testing.assert_allclose(fit.aligned, A, atol=1e-12)
    rigid = procrustes(A, 5 * A @ Q + 2, scale=False)
    assert (rigid.scale, rigid.disparity) == (1.0, pytest.approx(16.0))
    assert procrustes(np.column_stack([A, np.zeros(40)]), A @ Q).disparity < 1e-24
    assert procrustes(A, np.column_stack([A, np.zeros(40)])).disparity < 1e-24


def test_unexplained_residual_equals_its_definition():
    X, _ = load_iris(return_X_y=True)
    X = X - X.mean(axis=0)
    pca = es.PCA(2).fit(X)
    expected = np.sum((X - pca.inverse_transform(pca.embedding_)) ** 2) / np.sum(X**2)
    K = X @ X.T
    for found in (
        unexplained_residual(K + 7.0, 2),
        unexplained_residual(pca),
        unexplained_residual(es.ClassicalMDS(2).fit(X)),
        unexplained_residual(es.KernelPCA(2, kernel="linear").fit(X)),
        1 - pca.explained_variance_ratio_.sum(),
    ):
        assert found == pytest.approx(expected, abs=1e-10)
    assert unexplained_residual(pca, 1) == pytest.approx(1 - pca.explained_variance_ratio_[0], abs=1e-10)
    assert unexplained_residual(K, 4) < 1e-12


def test_negative_eigenvalues_are_set_to_zero(sheet):
    X, _, G = sheet
    isomap = es.Isomap(2, n_neighbors=8).fit(X)
    values = np.linalg.eigvalsh(-0.5 * (G**2 - (G**2).mean(0) - (G**2).mean(1)[:, None] + (G**2).mean()))[::-1]
    assert values.min() < -1
    expected = values[2:][values[2:] > 0].sum() / values[values > 0].sum()
    assert unexplained_residual(isomap) == pytest.approx(expected, abs=1e-8)
    assert unexplained_residual(-0.5 * G**2, 2) == pytest.approx(expected, abs=1e-8)
