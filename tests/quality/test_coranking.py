"""Co-ranking, trustworthiness, continuity and distortion compared with loops over their definitions."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.manifold import trustworthiness as reference

from dense_quality import Brute, distances
from eigenspan.errors import InputError, MemoryLimitError
from eigenspan.quality import (
    _blocks,
    _ranks,
    continuity,
    coranking,
    coranking_matrix,
    distortion,
    trustworthiness,
)

N = 500


def clouds(kind, n=N):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(n, 6))
    Y = X[:, :2] + 0.3 * rng.normal(size=(n, 2))
    return (
        (X, Y) if kind == "generic" else (np.round(X), np.round(2 * Y))
    )  # integers: most distances occur several times


@pytest.fixture(scope="module", params=["generic", "ties"])
def case(request):
    X, Y = clouds(request.param)
    return X, Y, Brute(distances(X), distances(Y))


@pytest.mark.parametrize("loops", ["numpy", "compiled"])
@pytest.mark.every(3)
def test_all_curves_against_their_definitions(case, loops, monkeypatch):
    X, Y, brute = case
    monkeypatch.setattr(_ranks, "_SMALL", N if loops == "numpy" else 0)
    found = coranking(X, Y)
    np.testing.assert_array_equal(found.k, np.arange(1, N - 1))
    some = [1, 2, 7, 50, 200, 249]
    for K in [*some, 400, N - 2]:
        assert found.q_nx[K - 1] == pytest.approx(brute.q_nx(K), abs=1e-12)
        assert found.r_nx[K - 1] == pytest.approx(brute.r_nx(K), abs=1e-12)
        assert found.lcmc[K - 1] == pytest.approx(brute.q_nx(K) - K / (N - 1), abs=1e-12)
    for K in some:
        assert found.trustworthiness[K - 1] == pytest.approx(1 - brute.intrusions(K).mean(), abs=1e-12)
        assert found.continuity[K - 1] == pytest.approx(1 - brute.extrusions(K).mean(), abs=1e-12)
    assert found.auc == pytest.approx(brute.auc(N - 2), abs=1e-12)
    assert coranking(X, Y, max_k=30).auc == pytest.approx(brute.auc(30), abs=1e-12)
    assert (found.exact, found.n_rows, found.auc_error, found.q_nx_error.max()) == (True, N, 0.0, 0.0)
    for k in (1, 10):
        assert trustworthiness(X, Y, k) == pytest.approx(found.trustworthiness[k - 1], abs=1e-12)
        assert continuity(X, Y, k) == pytest.approx(found.continuity[k - 1], abs=1e-12)


def test_the_split_of_q_is_at_the_largest_lcmc(case):
    X, Y, _ = case
    found = coranking(X, Y)
    assert found.lcmc[found.k_max - 1] == found.lcmc.max()
    assert found.q_local == pytest.approx(found.q_nx[: found.k_max].mean())
    assert found.q_global == pytest.approx(found.q_nx[found.k_max - 1 :].mean())


def test_the_matrix_holds_all_pairs(case):
    X, Y, brute = case
    Q = coranking_matrix(X, Y)
    np.testing.assert_array_equal(Q, brute.matrix())
    np.testing.assert_array_equal(Q.sum(axis=0), N)
    np.testing.assert_array_equal(Q.sum(axis=1), N)
    found = coranking(X, Y)
    np.testing.assert_allclose([Q[:K, :K].sum() / (K * N) for K in found.k], found.q_nx, atol=1e-12)


def test_distortion_equals_its_definition(case):
    X, Y, brute = case
    np.testing.assert_allclose(distortion(X, Y, n_neighbors=7), brute.intrusions(7), atol=1e-12)
    np.testing.assert_allclose(distortion(X, Y, n_neighbors=7, kind="extrusion"), brute.extrusions(7), atol=1e-12)
    a = np.sum(brute.DX * brute.DY) / np.sum(brute.DY**2)
    expected = N * np.sum((brute.DX - a * brute.DY) ** 2, axis=1) / np.sum(brute.DX**2)
    np.testing.assert_allclose(distortion(X, Y, kind="stress"), expected, atol=1e-12)
    assert distortion(X, Y, kind="stress").mean() == pytest.approx(brute.stress() ** 2, abs=1e-12)


@pytest.mark.parametrize("k", [1, 5, 100, 249])
def test_trustworthiness_equals_scikit_learns(k):
    X, Y = clouds("generic")
    assert trustworthiness(X, Y, k) == pytest.approx(reference(X, Y, n_neighbors=k), abs=1e-12)
    assert continuity(X, Y, k) == pytest.approx(reference(Y, X, n_neighbors=k), abs=1e-12)


def test_other_metrics_tables_of_distances_and_sparse_rows():
    X, Y = clouds("generic", 150)
    D = np.abs(X[:, None, :] - X[None, :, :]).sum(axis=2)
    brute = Brute(D, distances(Y))
    for found in (coranking(X, Y, metric="manhattan"), coranking(D, Y, metric="precomputed")):
        assert found.auc == pytest.approx(brute.auc(148), abs=1e-12)
    assert coranking(sp.csr_array(X), Y).auc == pytest.approx(coranking(X, Y).auc, abs=1e-12)
    own = coranking(X, Y, metric=lambda a, b: np.abs(a - b).sum())
    assert own.auc == pytest.approx(brute.auc(148), abs=1e-12)


def test_distances_from_products_equal_those_from_differences(monkeypatch):
    X, Y = clouds("ties", 200)
    X = X + 1e6  # far from the origin inner products lose digits; integers stay exact
    before = coranking(X, Y).q_nx
    monkeypatch.setattr(_blocks, "_FEATURES", 0)
    monkeypatch.setattr(_blocks, "_OPERATIONS", 0)
    assert _blocks.BlockDistances.of(X).squares is not None
    np.testing.assert_array_equal(coranking(X, Y).q_nx, before)


def test_perfect_and_random_embeddings():
    X, _ = clouds("generic")
    for Y in (X, X @ np.linalg.qr(np.random.default_rng(0).normal(size=(6, 6)))[0] * 3 - 5):
        found = coranking(X, Y)
        np.testing.assert_allclose([found.q_nx, found.r_nx, found.trustworthiness, found.continuity], 1.0, atol=1e-12)
        assert found.auc == pytest.approx(1.0, abs=1e-12)
        assert distortion(X, Y).max() == 0.0
    ties, _ = clouds("ties")
    assert coranking(ties, ties).auc == pytest.approx(1.0, abs=1e-12)  # ties have the same ranks in both
    chance = coranking(X, np.random.default_rng(1).normal(size=(N, 2)))
    assert abs(chance.auc) < 0.05
    assert np.abs(chance.r_nx).max() < 0.1


def test_the_order_of_the_rows_does_not_matter():
    X, Y = clouds("generic")
    order = np.random.default_rng(0).permutation(N)
    one, other = coranking(X, Y), coranking(X[order], Y[order])
    np.testing.assert_array_equal(one.q_nx, other.q_nx)
    np.testing.assert_allclose(distortion(X, Y)[order], distortion(X[order], Y[order]), atol=1e-12)


def test_threads_and_blocks_do_not_change_the_result(monkeypatch):
    X, Y = clouds("generic", 300)
    whole = coranking(X, Y, n_jobs=1)
    monkeypatch.setattr(_blocks, "_BLOCK_BYTES", 8 * 300 * 7)
    for n_jobs in (1, 2):
        found = coranking(X, Y, n_jobs=n_jobs)
        np.testing.assert_array_equal(found.r_nx, whole.r_nx)
        assert found.auc == whole.auc


def test_samples_of_rows_are_unbiased_with_correct_standard_errors():
    X, Y = clouds("generic", 300)
    exact = coranking(X, Y)
    z = []
    for seed in range(60):
        found = coranking(X, Y, sample=220, random_state=seed)  # a large share, so sampling without replacement matters
        assert (found.exact, found.n_rows) == (False, 220)
        z.append([(found.auc - exact.auc) / found.auc_error, (found.q_nx[19] - exact.q_nx[19]) / found.q_nx_error[19]])
    z = np.array(z)
    assert np.all(np.abs(z.mean(axis=0)) < 4 / np.sqrt(60))
    assert np.all((z**2).mean(axis=0) < 2)
    assert np.all((z**2).mean(axis=0) > 0.5)
    values = [trustworthiness(X, Y, 7, sample=80, random_state=seed) for seed in range(60)]
    assert abs(np.mean(values) - trustworthiness(X, Y, 7)) < 4 * np.std(values) / np.sqrt(60)
    assert values[3] == trustworthiness(X, Y, 7, sample=80, random_state=3)
    assert coranking(X, Y, sample=300).auc == exact.auc


def test_many_points_are_sampled(monkeypatch):
    from eigenspan.quality import _check

    monkeypatch.setattr(_check, "EXACT", 300)
    monkeypatch.setattr(_check, "_FEWEST", 50)
    X, Y = clouds("generic", 400)
    found = coranking(X, Y)
    assert (found.exact, found.n_rows) == (False, 225)  # 300²/400
    assert abs(found.auc - coranking(X, Y, sample=400).auc) < 5 * found.auc_error
    assert trustworthiness(X, Y) == trustworthiness(
        X, Y, sample=400
    )  # a function that returns no standard error samples only on request


@pytest.mark.parametrize(
    "change, message",
    [
        ({"sample": 1}, "between 2 and 50"),
        ({"sample": 51}, "between 2 and 50"),
        ({"sample": 0.5}, "whole number of rows"),
        ({"max_k": 49}, "max_k=49 must lie between 1 and 48"),
        ({"max_k": 0}, "max_k=0 must lie between 1 and 48"),
        ({"metric": "no-such"}, "metric='no-such' cannot be used"),
        ({"metric": "precomputed"}, "square matrix of distances, but X has shape"),
        ({"X": np.full((50, 6), np.inf)}, "300 missing or infinite"),
        ({"X": np.ma.masked_array(np.ones((50, 6)), mask=np.eye(50, 6))}, "6 of 300 values masked"),
        ({"X": np.ones((49, 6))}, "X has 49 rows and Y has 50"),
        ({"X": 1e200 * np.random.default_rng(0).normal(size=(50, 6))}, "NaN or infinite"),
        (
            {"X": sp.eye_array(50, 50, format="csr"), "metric": "precomputed"},
            "stores 50 of the distances between 50 points",
        ),
        ({"X": -np.ones((50, 50)), "metric": "precomputed"}, "negative distances"),
        ({"X": np.ones((2, 1)), "Y": np.ones((2, 1))}, "X has 2 rows; at least 3"),
    ],
)
def test_bad_input_is_explained(change, message):
    X, Y = clouds("generic", 50)
    given = {"X": X, "Y": Y} | change
    with pytest.raises(InputError, match=message):
        coranking(**given)


def test_invalid_kinds_and_too_little_memory(monkeypatch):
    X, Y = clouds("generic", 400)
    with pytest.raises(InputError, match="kind='tears' cannot be used"):
        distortion(X, Y, kind="tears")
    with pytest.raises(InputError, match="n_neighbors=200 must lie between 1 and 199"):
        distortion(X, Y, n_neighbors=200)
    monkeypatch.setenv("EIGENSPAN_MEMORY", "1M")
    with pytest.raises(MemoryLimitError, match="computes the curves without the matrix"):
        coranking_matrix(X, Y)
    with pytest.raises(MemoryLimitError, match="With n_jobs=1"):
        coranking(X, Y)
