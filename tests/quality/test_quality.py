"""Measures of quality compared with scikit-learn and with their definitions, and errors for invalid input."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris, make_swiss_roll
from sklearn.manifold import trustworthiness as reference
from sklearn.neighbors import KNeighborsClassifier

from eigenspan.errors import InputError, LabelError
from eigenspan.quality import _blocks, _ranks, continuity, knn_accuracy, trustworthiness


@pytest.fixture(params=[0, 1, 2])
def pair(request):
    rng = np.random.default_rng(request.param)
    X = rng.normal(size=(120, 6))
    return X, X[:, :2] + 0.3 * rng.normal(size=(120, 2))


@pytest.mark.parametrize("k", [1, 5, 30, 59])
def test_agrees_with_scikit_learn(pair, k):
    X, Y = pair
    assert trustworthiness(X, Y, k) == pytest.approx(reference(X, Y, n_neighbors=k), abs=1e-12)


def test_blocks_do_not_change_the_result(pair, monkeypatch):
    whole = trustworthiness(*pair)
    monkeypatch.setattr(_blocks, "_BLOCK_BYTES", 8 * 120 * 7)
    assert trustworthiness(*pair) == whole


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_compiled_loops_equal_numpy(pair, metric, monkeypatch):
    X, Y = np.round(pair[0]), pair[1]  # integers: many distances are equal
    sorted_ = trustworthiness(X, Y, 7, metric=metric), continuity(X, Y, 7, metric=metric)
    monkeypatch.setattr(_ranks, "_SMALL", 0)
    assert (trustworthiness(X, Y, 7, metric=metric), continuity(X, Y, 7, metric=metric)) == sorted_


def test_other_metrics_and_sparse_data(pair):
    X, Y = pair
    D = np.abs(X[:, None, :] - X[None, :, :]).sum(axis=2)
    expected = reference(X, Y, metric="manhattan")
    assert trustworthiness(X, Y, metric="manhattan") == pytest.approx(expected, abs=1e-12)
    assert trustworthiness(D, Y, metric="precomputed") == pytest.approx(expected, abs=1e-12)
    assert trustworthiness(sp.csr_array(X), Y) == pytest.approx(trustworthiness(X, Y), abs=1e-12)


def test_continuity_is_trustworthiness_with_exchanged_roles(pair):
    X, Y = pair
    assert continuity(X, Y, 7) == pytest.approx(reference(Y, X, n_neighbors=7), abs=1e-12)


def test_an_isometry_is_perfect_even_far_from_the_origin():
    X, _ = make_swiss_roll(300, random_state=0)
    Q, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))
    assert trustworthiness(X, X @ Q + 5) == 1.0
    assert continuity(X + 1e8, X @ Q) > 0.999


@pytest.mark.parametrize(
    "X, Y, k, message",
    [
        (np.ones((10, 2)), np.ones((9, 2)), 3, "10 rows and Y has 9"),
        (np.eye(10), np.eye(10), 5, "between 1 and 4"),
        (np.eye(10), np.eye(10), 0, "between 1 and 4"),
        (np.eye(10), np.eye(10), 2.5, "whole number"),
        (np.full((10, 2), np.nan), np.eye(10), 3, "20 missing or infinite"),
        (np.arange(10), np.eye(10), 3, "two dimensions"),
        ([["a"]] * 10, np.eye(10), 3, "matrix of numbers"),
        (np.eye(2), np.eye(2), 1, "at least 3 are needed"),
    ],
)
def test_bad_input_is_explained(X, Y, k, message):
    with pytest.raises(InputError, match=message):
        trustworthiness(X, Y, k)


def test_knn_accuracy_agrees_with_scikit_learn():
    X, y = load_iris(return_X_y=True)
    names = np.array(["a", "b", "c"])[y]
    for k in (1, 5):
        expected = KNeighborsClassifier(k).fit(X[::2], y[::2]).score(X[1::2], y[1::2])
        assert knn_accuracy(X[::2], y[::2], X[1::2], y[1::2], n_neighbors=k) == pytest.approx(expected)
        assert knn_accuracy(X[::2], names[::2], X[1::2], names[1::2], n_neighbors=k) == pytest.approx(expected)


def test_knn_accuracy_explains_bad_input():
    X, y = np.eye(6), np.arange(6) % 2
    with pytest.raises(InputError, match="same embedding"):
        knn_accuracy(X, y, X[:, :2], y)
    with pytest.raises(LabelError, match=r"one label per row of train_Y \(6\)"):
        knn_accuracy(X, y[:5], X, y)
    with pytest.raises(LabelError, match="1 of the test_labels are missing"):
        knn_accuracy(X, y, X, np.array([0, 1, 0, 1, 0, np.nan]))
    with pytest.raises(InputError, match="number of training points"):
        knn_accuracy(X, y, X, y, n_neighbors=7)
    with pytest.raises(InputError, match="test_Y has 0: neither may be empty"):
        knn_accuracy(X, y, X[:0], y[:0])
