"""Estimates of dimension compared with their definitions and on data of known dimension, and errors for invalid input."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist, squareform
from sklearn.datasets import load_digits, make_swiss_roll

import eigenspan as es
from eigenspan.dimension import Dimension, Dimensions, intrinsic_dimension
from eigenspan.dimension.estimate import METHODS
from eigenspan.errors import DimensionError, GraphError, InputError, PrecisionWarning

OF_DISTANCES = ["correlation", "mle", "twonn", "isomap", "mvu"]
FAST = [name for name in METHODS if name not in ("isomap", "mvu")]


def uniform(n, d, D=None, seed=0):
    rng = np.random.default_rng(seed)
    return rng.uniform(size=(n, d)) @ np.linalg.qr(rng.standard_normal((D or d, d)))[0].T


def sorted_distances(X):
    return np.sort(squareform(pdist(X)), axis=1)[:, 1:]


# ---------------------------------------------------------------------- by definition
def test_likelihood_equals_its_definition():
    X = uniform(200, 3)
    T = sorted_distances(X)
    by_k = []
    for k in range(8, 13):
        inverses = [np.mean(np.log(T[i, k - 1] / T[i, : k - 1])) for i in range(200)]
        by_k.append(1 / np.mean(inverses))  # inverses are averaged, not estimates
    found = intrinsic_dimension(X, "mle", n_neighbors=(8, 12))
    assert found.dimension == pytest.approx(np.mean(by_k), rel=1e-10)
    np.testing.assert_allclose(found.curve.y[found.curve.used], by_k, rtol=1e-10)
    local = [10 / np.sum(np.log(T[i, 11] / T[i, :11])) for i in range(200)]
    np.testing.assert_allclose(found.local, local, rtol=1e-9)


def test_twonn_equals_its_definition():
    X = uniform(300, 3)
    T = sorted_distances(X)
    ratios = np.sort(np.log(T[:, 1] / T[:, 0]))[:270]
    heights = -np.log(1 - np.arange(1, 271) / 300)
    found = intrinsic_dimension(X, "twonn")
    assert found.dimension == pytest.approx(ratios @ heights / (ratios @ ratios), rel=1e-9)
    assert found.curve.used.sum() == 270
    assert found.facts["trimmed"] == 30


def test_local_pca_equals_its_definition():
    X = uniform(60, 2, 5) + 0.05 * np.random.default_rng(1).standard_normal((60, 5))
    counts = []
    for i in range(60):
        near = X[np.argsort(np.linalg.norm(X - X[i], axis=1))[:11]]
        variances = np.linalg.eigvalsh(np.cov(near.T))[::-1]
        counts.append(np.sum(variances > 0.05 * variances[0]))
    np.testing.assert_array_equal(intrinsic_dimension(X, "local-pca", n_neighbors=10).local, counts)


def test_values_equal_those_of_scikit_dimension():
    """scikit-dimension 0.5: ``skdim.id.TwoNN().fit(X).dimension_`` and ``skdim.id.MLE().fit(X, n_neighbors=20).dimension_`` of this X."""
    X = uniform(500, 4, 6, seed=7)
    assert intrinsic_dimension(X, "twonn").dimension == pytest.approx(4.130031805376954, rel=1e-9)
    assert intrinsic_dimension(X, "mle", n_neighbors=20).dimension == pytest.approx(3.47350746912887, rel=1e-9)


# ---------------------------------------------------------------------- data of known dimension
@pytest.mark.parametrize("method", ["correlation", "mle", "twonn", "local-pca"])
@pytest.mark.parametrize(("d", "within"), [(1, 0.1), (2, 0.2), (4, 0.7)])
def test_flat_data_of_known_dimension(method, d, within):
    assert intrinsic_dimension(uniform(800, d, 6), method).dimension == pytest.approx(d, abs=within)


@pytest.mark.parametrize("method", ["correlation", "mle", "twonn", "isomap"])
def test_a_swiss_roll(method):
    X, _ = make_swiss_roll(1000, random_state=3)
    assert intrinsic_dimension(X, method).dimension == pytest.approx(2, abs=0.35)


def test_mvu_finds_the_dimension():
    X, _ = make_swiss_roll(600, random_state=0)
    found = intrinsic_dimension(X, "mvu", n_neighbors=6)
    assert found.dimension == 2
    assert np.isnan(found.error)
    assert found.curve.used.sum() == 2


@pytest.mark.parametrize("method", ["eigengap", "scree", "broken-stick", "parallel", "bic", "minka"])
@pytest.mark.parametrize("n", [60, 400])
def test_a_subspace_with_noise(method, n):
    rng = np.random.default_rng(0)
    V = np.linalg.qr(rng.standard_normal((12, 4)))[0]
    X = rng.standard_normal((n, 4)) @ V.T + 0.05 * rng.standard_normal((n, 12))
    found = intrinsic_dimension(X, method)
    assert found.dimension == 4
    assert found.curve.y.size == 12
    assert found.curve.used.sum() == 4


def test_local_estimates_distinguish_a_line_from_a_ball():
    rng = np.random.default_rng(0)
    line = np.column_stack([rng.uniform(size=300), np.zeros((300, 3))])
    X = np.vstack([line, 5 + rng.uniform(size=(300, 4))])
    for method in ("mle", "twonn", "local-pca"):
        local = intrinsic_dimension(X, method).local
        assert local.shape == (600,)
        assert np.median(local[:300]) == pytest.approx(1, abs=0.2), method
        assert np.median(local[300:]) == pytest.approx(3.8, abs=0.6), method


@pytest.mark.parametrize("method", ["mle", "twonn"])
def test_the_standard_error_agrees_with_new_samples(method):
    found = [intrinsic_dimension(uniform(250, 3, seed=seed), method) for seed in range(40)]
    spread = np.std([result.dimension for result in found], ddof=1)
    assert 0.6 < np.mean([result.error for result in found]) / spread < 1.6


# ---------------------------------------------------------------------- containers, metrics, copies
@pytest.mark.parametrize("method", FAST)
def test_kinds_of_tables_give_the_same_result(method):
    X = uniform(150, 2, 4)
    plain = intrinsic_dimension(X, method)
    assert isinstance(plain, Dimension)
    kept = X.copy()
    for table in (pd.DataFrame(X), X.tolist(), np.asfortranarray(X), sp.csr_array(X), sp.csc_matrix(X)):
        found = intrinsic_dimension(table, method)
        assert found.dimension == pytest.approx(plain.dimension, rel=1e-6)
        assert found.error == pytest.approx(plain.error, rel=1e-5, nan_ok=True)
    assert intrinsic_dimension(X.astype(np.float32), method).dimension == pytest.approx(plain.dimension, abs=0.02)
    np.testing.assert_array_equal(X, kept)


@pytest.mark.parametrize("method", OF_DISTANCES)
def test_methods_that_accept_distances(method):
    X, _ = make_swiss_roll(150, random_state=0)
    D = squareform(pdist(X))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = (
            intrinsic_dimension(A, method, metric=m, n_neighbors=8) for A, m in ((X, "euclidean"), (D, "precomputed"))
        )
    assert theirs.dimension == pytest.approx(ours.dimension, rel=1e-6)
    assert theirs.error == pytest.approx(ours.error, rel=1e-6, nan_ok=True)


@pytest.mark.parametrize("method", [name for name in METHODS if name not in OF_DISTANCES])
def test_methods_that_need_coordinates(method):
    with pytest.raises(InputError, match="coordinates"):
        intrinsic_dimension(squareform(pdist(uniform(30, 2))), method, metric="precomputed")


@pytest.mark.parametrize("method", FAST)
def test_duplicate_rows_count_once(method):
    X = uniform(100, 2, 3)
    once, twice = intrinsic_dimension(X, method), intrinsic_dimension(np.vstack([X, X[:40]]), method)
    assert twice.dimension == once.dimension
    assert twice.n_samples == 100
    assert twice.facts["duplicates"] == 40
    assert once.facts["duplicates"] == 0
    if once.local is not None:
        np.testing.assert_array_equal(twice.local, np.concatenate([once.local, once.local[:40]]))


def test_the_cosine_distance_merges_rows_of_equal_direction():
    X = np.random.default_rng(0).standard_normal((150, 4))
    stretched = np.vstack([X, 3.0 * X[:30], 0.5 * X[:30]])
    once, twice = (intrinsic_dimension(A, "mle", metric="cosine") for A in (X, stretched))
    assert twice.n_samples == 150
    assert twice.dimension == pytest.approx(once.dimension, rel=1e-6)
    np.testing.assert_allclose(twice.local[150:180], twice.local[:30])


@pytest.mark.parametrize("method", ["correlation", "mle", "twonn"])
def test_integers_give_a_warning(method):
    X = np.unique(np.random.default_rng(0).integers(0, 12, (300, 3)), axis=0)
    with pytest.warns(PrecisionWarning, match="same distance"):
        intrinsic_dimension(X, method)


def test_results_are_reproducible_and_independent_of_threads():
    X = uniform(400, 3, 5)
    for method in ("correlation", "parallel", "mle"):
        first, again, alone = (intrinsic_dimension(X, method, n_jobs=jobs) for jobs in (None, None, 1))
        assert first.dimension == again.dimension == alone.dimension
        assert first.error == pytest.approx(alone.error, nan_ok=True)


# ---------------------------------------------------------------------- several at once
def test_several_methods_print_as_a_table():
    X = uniform(200, 2, 4)
    found = intrinsic_dimension(X, "all")
    assert isinstance(found, Dimensions)
    assert [result.method for result in found] == list(METHODS)
    assert found["mle"].dimension == intrinsic_dimension(X, "mle").dimension
    assert str(found).splitlines()[1].split()[0] == "correlation"
    frame = found.frame()
    assert list(frame.columns) == ["dimension", "error", "n_samples"]
    assert len(frame) == len(found)
    assert repr(found["mle"]).startswith("Dimension(")
    assert [r.method for r in intrinsic_dimension(X, ("twonn", "mle"))] == ["twonn", "mle"]


def test_all_reports_the_methods_left_out():
    X = uniform(30, 3)
    found = intrinsic_dimension(squareform(pdist(X)), ["correlation", "mle"], metric="precomputed")
    assert len(found) == 2
    assert not found.left_out
    wide = intrinsic_dimension(np.random.default_rng(0).standard_normal((40, 60)), "all")
    assert "minka" in wide.left_out
    assert "left out" in str(wide)
    with pytest.raises(InputError, match="needs more points"):
        wide["minka"]
    with pytest.raises(InputError, match="The estimates are correlation"):
        found["twonn"]


def test_plots():
    pytest.importorskip("matplotlib")
    found = intrinsic_dimension(uniform(150, 2, 3), ["correlation", "mle", "twonn", "parallel"])
    assert len(found.plot()) == 4
    assert found["mle"].plot().ax_.get_xlabel() == "neighbours k"


# ---------------------------------------------------------------------- errors
@pytest.mark.parametrize("method", FAST)
def test_invalid_tables(method):
    X = uniform(50, 2, 3)
    holes, endless = X.copy(), X.copy()
    holes[3, 1], endless[4, 0] = np.nan, np.inf
    with pytest.raises(InputError, match="1 missing or infinite"):
        intrinsic_dimension(holes, method)
    with pytest.raises(InputError, match="1 missing or infinite"):
        intrinsic_dimension(endless, method)
    with pytest.raises(InputError, match="table of numbers"):
        intrinsic_dimension(X[:, 0], method)
    with pytest.raises(InputError, match="table of numbers"):
        intrinsic_dimension([["a", "b"], ["c", "d"]], method)
    with pytest.raises(DimensionError, match="at least 4 distinct points; X has 1 in 50 rows"):
        intrinsic_dimension(np.ones((50, 3)), method)
    with pytest.raises(DimensionError, match="X has 3 in 3 rows"):
        intrinsic_dimension(X[:3], method)
    with pytest.raises(GraphError, match="overflow"):
        intrinsic_dimension(1e200 * X, method)


@pytest.mark.parametrize("n", [4, 5, 8])
@pytest.mark.parametrize("method", FAST)
def test_few_points(method, n):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = intrinsic_dimension(uniform(n, 2, 3), method)
    assert 0 < found.dimension < 12


@pytest.mark.parametrize("method", ["mean", "", None, [], ["mle", "mean"], 3, [3]])
def test_invalid_methods(method):
    with pytest.raises(InputError, match="method"):
        intrinsic_dimension(uniform(30, 2), method)


@pytest.mark.parametrize("n_neighbors", [0, -1, 2.5, "ten", True, (5, 2), (1, 2, 3), 30, (10, 30)])
def test_invalid_n_neighbors(n_neighbors):
    with pytest.raises(InputError, match="n_neighbors"):
        intrinsic_dimension(uniform(30, 2), "mle", n_neighbors=n_neighbors)


@pytest.mark.parametrize("metric", ["nonsense", 3, None])
def test_invalid_metrics(metric):
    with pytest.raises(InputError, match="metric"):
        intrinsic_dimension(uniform(30, 2), metric=metric)


def test_invalid_distances():
    with pytest.raises(GraphError, match="symmetric"):
        intrinsic_dimension(np.random.default_rng(0).uniform(size=(20, 20)), metric="precomputed")
    with pytest.raises(GraphError, match="square"):
        intrinsic_dimension(np.ones((5, 3)), metric="precomputed")


def test_exported():
    assert es.intrinsic_dimension is intrinsic_dimension


def test_digits_of_one_class():
    X, y = load_digits(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = intrinsic_dimension(X[y == 0], ["correlation", "mle", "twonn"])
    assert all(5 < result.dimension < 16 for result in found)
