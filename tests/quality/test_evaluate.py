"""`evaluate` compared with the single functions, and the measures of labels compared with scikit-learn."""

import logging

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn import decomposition
from sklearn.datasets import load_iris, make_swiss_roll
from sklearn.exceptions import NotFittedError
from sklearn.manifold import MDS
from sklearn.model_selection import LeaveOneOut, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

import eigenspan as es
from dense_quality import Brute, distances
from eigenspan import quality
from eigenspan.errors import InputError, LabelError
from eigenspan.quality import _blocks, _check, _ranks
from eigenspan.quality import measure_table as table

COLUMNS = ["embedding", "measure", "value", "error", "n_neighbors", "better", "exact", "n_rows"]
K = 8


@pytest.fixture(scope="module")
def sheet():
    """A noisy swiss roll, two embeddings, the position along the roll, and three classes."""
    X, t = make_swiss_roll(300, noise=0.1, random_state=0)
    Y = {"isomap": es.Isomap(2, n_neighbors=K).fit_transform(X), "flat": X[:, :2].copy()}
    return X, Y, t, np.digitize(t, np.quantile(t, [1 / 3, 2 / 3]))


def values(frame, name="isomap"):
    part = frame[frame.embedding == name]
    return dict(zip(part.measure, part.value, strict=True))


# ---------------------------------------------------------------------- labels
@pytest.mark.parametrize("k", [1, 4, 7])
@pytest.mark.every(3)
def test_label_measures_equal_scikit_learns(sheet, k):
    X, Y, t, labels = (sheet[0][::3], sheet[1]["flat"][::3], sheet[2][::3], sheet[3][::3])
    told = cross_val_predict(KNeighborsClassifier(k), Y, labels, cv=LeaveOneOut())
    assert quality.knn_accuracy(Y, labels, n_neighbors=k) == pytest.approx(np.mean(told == labels))
    words = np.array(["b", "a", "c"])[labels]
    told = cross_val_predict(KNeighborsClassifier(k), Y, words, cv=LeaveOneOut())
    assert quality.knn_accuracy(Y, words, n_neighbors=k) == pytest.approx(np.mean(told == words))
    numbers = cross_val_predict(KNeighborsRegressor(k), Y, t, cv=LeaveOneOut())
    expected = 1 - np.sum((t - numbers) ** 2) / np.sum((t - t.mean()) ** 2)
    assert quality.knn_r2(Y, t, k) == pytest.approx(expected, abs=1e-12)
    near = Brute(distances(X), distances(Y)).RY
    same = (labels[:, None] == labels[None, :]) & (near <= k) & (near > 0)
    assert quality.neighbourhood_hit(Y, labels, k) == pytest.approx(same.sum() / (k * 100), abs=1e-12)


def test_label_measures_of_wide_and_sparse_embeddings():
    X, y = load_iris(return_X_y=True)
    wide = np.hstack([X, np.random.default_rng(0).normal(size=(150, 20))])
    assert quality.knn_accuracy(wide, y, n_neighbors=5) == pytest.approx(
        np.mean(cross_val_predict(KNeighborsClassifier(5), wide, y, cv=LeaveOneOut()) == y)
    )
    assert quality.neighbourhood_hit(sp.csr_array(wide), y) == quality.neighbourhood_hit(wide, y)
    both = np.column_stack([X[:, 0], X[:, 2]])
    assert 0.8 < quality.knn_r2(X, both) < 1


@pytest.mark.parametrize(
    "run, error, message",
    [
        (lambda Y, y: quality.knn_accuracy(Y, y, Y), InputError, "test_Y and test_labels must be given together"),
        (lambda Y, y: quality.knn_accuracy(Y, y[:-1]), LabelError, r"train_labels must have one label per row of train_Y \(300\)"),
        (lambda Y, y: quality.neighbourhood_hit(Y, y[:-1]), LabelError, r"y must have one label per row of Y \(300\)"),
        (lambda Y, y: quality.neighbourhood_hit(Y, np.where(y == 0, np.nan, y)), LabelError, "100 of the y are missing"),
        (lambda Y, y: quality.neighbourhood_hit(Y, y, 300), InputError, "between 1 and 299"),
        (lambda Y, y: quality.neighbourhood_hit(Y[:1], y[:1]), InputError, "At least 2 points"),
        (lambda Y, y: quality.knn_r2(Y, y[:-1]), LabelError, "one row per sample"),
        (lambda Y, y: quality.knn_r2(Y, np.where(y == 0, np.nan, y)), LabelError, "100 of the numbers y are missing"),
        (lambda Y, y: quality.knn_r2(Y, np.ones(300)), LabelError, "targets that differ"),
        (lambda Y, y: quality.knn_r2(Y, np.array(list("abc"))[y]), LabelError, "cannot be read as numbers"),
    ],
)  # fmt: skip
def test_bad_labels_are_explained(sheet, run, error, message):
    with pytest.raises(error, match=message):
        run(sheet[1]["flat"], sheet[3])


# ---------------------------------------------------------------------- the table
@pytest.mark.parametrize("loops", ["numpy", "compiled"])
def test_every_value_equals_that_of_its_function(sheet, loops, monkeypatch):
    X, Y, _, labels = sheet
    monkeypatch.setattr(_ranks, "_SMALL", 300 if loops == "numpy" else 0)
    frame = es.evaluate(X, Y, labels, n_neighbors=K)
    assert frame.columns.tolist() == COLUMNS
    assert (len(frame), frame.exact.all(), (frame.error == 0).all(), set(frame.n_rows)) == (26, True, True, {300})
    for name, one in Y.items():
        curves, found = quality.coranking(X, one), values(frame, name)
        expected = {
            "trustworthiness": quality.trustworthiness(X, one, K),
            "continuity": quality.continuity(X, one, K),
            "q_nx": curves.q_nx[K - 1],
            "r_nx": curves.r_nx[K - 1],
            "lcmc": curves.lcmc[K - 1],
            "auc_r_nx": curves.auc,
            "stress": quality.stress(X, one),
            "residual_variance": quality.residual_variance(X, one, distances="direct"),
            "nonmetric_stress": quality.stress(X, one, kind="nonmetric"),
            "geodesic_correlation": quality.geodesic_correlation(X, one, n_neighbors=K),
            "geodesic_residual_variance": quality.residual_variance(X, one, n_neighbors=K),
            "knn_accuracy": quality.knn_accuracy(one, labels, n_neighbors=K),
            "neighbourhood_hit": quality.neighbourhood_hit(one, labels, K),
        }
        assert list(found) == list(expected)
        for measure, value in expected.items():
            assert found[measure] == pytest.approx(value, abs=1e-12), measure
    lower = frame[frame.better == "lower"].measure.unique().tolist()
    assert lower == ["stress", "residual_variance", "nonmetric_stress", "geodesic_residual_variance"]
    assert frame[frame.n_neighbors.isna()].measure.nunique() == 4
    best = frame.pivot(index="measure", columns="embedding", values="value")
    assert best.isomap.geodesic_correlation > best.flat.geodesic_correlation


def test_the_data_are_ranked_once_for_all_embeddings(sheet, monkeypatch):
    X, Y, _, _ = sheet
    asked = []
    plain = _blocks.BlockDistances.__call__
    monkeypatch.setattr(
        _blocks.BlockDistances, "__call__", lambda self, rows: asked.append(self.points.shape[1]) or plain(self, rows)
    )
    es.evaluate(X, {str(i): Y["flat"] for i in range(5)}, measures=["trustworthiness", "stress"])
    assert (asked.count(3), asked.count(2)) == (
        2,
        10,
    )  # one block of all rows, and the rows from which the scale is estimated


def test_kinds_of_embeddings(sheet):
    X = sheet[0]
    only = {"measures": ["auc_r_nx"]}
    pca = es.PCA(2).fit(X)
    expected = quality.coranking(X, pca.embedding_).auc
    theirs = decomposition.PCA(2).fit(X)
    for given, names in {
        "array": (pca.embedding_, ["embedding"]),
        "list of rows": (pca.embedding_.tolist(), ["embedding"]),
        "frame": (pd.DataFrame(pca.embedding_), ["embedding"]),
        "estimator": (pca, ["PCA"]),
        "scikit-learn's": (theirs, ["PCA"]),
        "several": ([pca, theirs, pca.embedding_], ["PCA", "PCA 2", "embedding 3"]),
        "dict": ({"a": pca, 2: pca.embedding_}, ["a", "2"]),
        "sparse": (sp.csr_array(pca.embedding_), ["embedding"]),
        "float32": (pca.embedding_.astype(np.float32), ["embedding"]),
    }.values():
        frame = es.evaluate(X, given, **only)
        assert frame.embedding.tolist() == names
        np.testing.assert_allclose(frame.value, expected, atol=1e-6)
    part = es.PCA(2).fit(X[:200])  # fitted to other rows, so transform is used
    assert es.evaluate(X, part, **only).value[0] == pytest.approx(quality.coranking(X, part.transform(X)).auc)


def test_data_as_distances_sparse_or_frames(sheet):
    X, Y, _, _ = sheet
    expected = es.evaluate(X, Y, n_neighbors=K)
    for given, metric in (
        (distances(X), "precomputed"),
        (sp.csr_array(X), "euclidean"),
        (pd.DataFrame(X), "euclidean"),
    ):
        found = es.evaluate(given, Y, n_neighbors=K, metric=metric)
        np.testing.assert_allclose(found.value, expected.value, atol=1e-7)


def test_classes_are_distinguished_from_numbers(sheet):
    X, Y, t, labels = sheet
    classes, numbers = ["knn_accuracy", "neighbourhood_hit"], ["knn_r2"]
    for y, told in {
        "codes": (labels, classes),
        "floats": (labels.astype(float), classes),
        "words": (np.array(list("abc"))[labels], classes),
        "yes and no": (labels > 1, classes),
        "category": (pd.Series(labels).astype("category"), classes),
        "numbers": (t, numbers),
        "columns": (np.column_stack([t, X[:, 1]]), numbers),
        "none": (None, []),
    }.values():
        found = es.evaluate(X, Y["flat"], y, n_neighbors=K).measure.tolist()
        assert found[11:] == told
    asked = es.evaluate(X, Y["flat"], labels, measures=["knn_r2"], n_neighbors=K)
    assert asked.value[0] == pytest.approx(quality.knn_r2(Y["flat"], labels, K))


@pytest.mark.parametrize("mark", [-1, np.nan, None])
def test_points_without_labels_are_excluded_and_counted(sheet, mark):
    X, Y, _, labels = sheet
    some = labels.astype(object)
    some[::4] = mark
    frame = es.evaluate(X, Y["flat"], some, measures=["knn_accuracy", "stress"], n_neighbors=K)
    known = np.arange(300) % 4 != 0
    assert frame.attrs["unlabelled"] == 75
    assert frame.n_rows.tolist() == [300, 225]
    assert values(frame, "embedding")["knn_accuracy"] == quality.knn_accuracy(
        Y["flat"][known], labels[known], n_neighbors=K
    )


def test_minus_one_as_one_of_two_classes(sheet):
    X, Y, _, labels = sheet
    signs = np.where(labels > 0, 1, -1)
    with pytest.raises(LabelError, match="unlabeled=None"):
        es.evaluate(X, Y, signs, measures=["knn_accuracy"])
    assert es.evaluate(X, Y, signs, measures=["knn_accuracy"], unlabeled=None).attrs["unlabelled"] == 0


def test_sampled_values_have_correct_standard_errors(sheet):
    X = sheet[0][:120]
    Y = {"noisy": X[:, :2] + np.random.default_rng(0).normal(size=(120, 2))}
    exact = values(es.evaluate(X, Y, n_neighbors=K), "noisy")
    z = []
    for seed in range(40):
        frame = es.evaluate(X, Y, n_neighbors=K, sample=80, random_state=seed)
        assert not frame.exact.any()
        assert set(frame.n_rows) == {80}
        assert (frame.error > 0).all()
        z.append((frame.value - frame.measure.map(exact)) / frame.error)
    z = np.array(z)
    assert np.all((z**2).mean(axis=0) < 2.5)
    assert np.all((z**2).mean(axis=0) > 0.5)
    assert np.all(np.abs(z.mean(axis=0)) < 1)  # isotonic regression is slightly biased for fewer pairs


def test_many_points_are_sampled_with_errors(sheet, monkeypatch):
    X, Y, _, labels = sheet
    monkeypatch.setattr(_check, "EXACT", 200)
    monkeypatch.setattr(_check, "_FEWEST", 20)
    monkeypatch.setattr(table, "_SORTED", 10_000)  # pairs of 50 rows with 200 points
    frame = es.evaluate(X, Y["flat"], labels, n_neighbors=K).set_index("measure")
    assert frame.n_rows.trustworthiness == frame.n_rows.stress == 133  # 200²/300
    assert frame.n_rows.geodesic_correlation == frame.n_rows.nonmetric_stress == 50
    assert frame.n_rows.knn_accuracy == 300
    assert frame.exact.tolist() == [False] * 11 + [True] * 2
    exact = es.evaluate(X, Y["flat"], labels, n_neighbors=K, sample=300).set_index("measure")
    assert exact.exact.all()
    assert np.all(np.abs(frame.value - exact.value) <= 6 * frame.error)


def test_the_same_seed_gives_the_same_table_on_one_thread_or_two(sheet, monkeypatch):
    X, Y, t, _ = sheet
    monkeypatch.setattr(_blocks, "_BLOCK_BYTES", 8 * 300 * 20)
    one, two = (es.evaluate(X, Y, t, n_neighbors=K, sample=100, random_state=5, n_jobs=n_jobs) for n_jobs in (1, 2))
    pd.testing.assert_frame_equal(one, two, check_exact=True)
    assert not one.equals(es.evaluate(X, Y, t, n_neighbors=K, sample=100, random_state=6))


def test_stages_are_timed_and_logged_and_the_input_is_unchanged(sheet, caplog):
    X, Y, t, _ = sheet
    kept = X.copy(), Y["flat"].copy()
    with caplog.at_level(logging.INFO, logger="eigenspan"):
        frame = es.evaluate(X, Y["flat"], t)
    assert {"ranks and distances", "geodesics and their ranks", "labels", "total"} <= set(frame.attrs["seconds"])
    assert "ranks and distances" in caplog.text
    np.testing.assert_array_equal(X, kept[0])
    np.testing.assert_array_equal(Y["flat"], kept[1])


@pytest.mark.parametrize(
    "change, error, message",
    [
        ({"measures": ["trustworthines"]}, InputError, "Did you mean 'trustworthiness'"),
        ({"measures": []}, InputError, "measures is empty"),
        ({"measures": "knn_accuracy"}, InputError, "'knn_accuracy' needs y"),
        ({"n_neighbors": 150}, InputError, "between 1 and 149"),
        ({"embeddings": {}}, InputError, "embeddings is empty"),
        ({"embeddings": es.PCA}, InputError, "PCA is a class"),
        ({"embeddings": np.ones((299, 2))}, InputError, "X has 300 rows and embedding has 299"),
        ({"embeddings": {"a": np.full((300, 2), np.nan)}}, InputError, "a holds 600 missing or infinite"),
        ({"embeddings": np.ones(300)}, InputError, "two dimensions"),
        ({"y": np.ones(299)}, LabelError, "299 labels for 300"),
        ({"y": np.r_[0, 1, np.full(298, -1)]}, LabelError, "Only 2 of 300 points"),
        ({"y": np.full(300, np.nan)}, LabelError, "all 300 of them are missing"),
        ({"X": np.ones((4, 2)), "embeddings": np.ones((4, 2))}, InputError, "X has 4 rows; at least 5"),
        ({"X": np.ones((300, 2))}, InputError, "points of X coincide"),
        ({"sample": 301}, InputError, "between 2 and 300"),
    ],
)
def test_bad_input_is_explained(sheet, change, error, message):
    given = {"X": sheet[0], "embeddings": sheet[1]["flat"]} | change
    with pytest.raises(error, match=message):
        es.evaluate(**given)


def test_unfitted_estimators_are_refused(sheet):
    with pytest.raises(NotFittedError, match="not fitted"):
        es.evaluate(sheet[0], es.PCA(2))
    with pytest.raises(InputError, match="MDS has neither embedding_ nor transform: fit it to these 300 points first"):
        es.evaluate(sheet[0], MDS(2))


def test_a_collapsed_embedding_has_values(sheet):
    frame = es.evaluate(sheet[0], np.zeros((300, 2)), n_neighbors=K)
    assert np.isfinite(frame.value).all()
    assert values(frame, "embedding")["stress"] == 1.0
