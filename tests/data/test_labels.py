"""Labels as people write them: marks in lists of words, missing dates, nullable columns, and what they must not become."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import eigenspan as es
from eigenspan.data.y import all_missing, label_array
from eigenspan.errors import DimensionError, GraphError, LabelError, LabelWarning
from eigenspan.graphs.weights.path_similarity import PathSimilarity
from helpers import encode_labels

RNG = np.random.default_rng(3)
TRUTH = np.arange(60) % 3
X = RNG.standard_normal((60, 4)) + 3.0 * np.eye(3, 4)[TRUTH]
KNOWN = np.arange(60) % 2 == 0
CODES = np.where(KNOWN, TRUTH, -1)


# ---------------------------------------------------------------------- marks
@pytest.mark.parametrize("kind", [list, tuple])
@pytest.mark.parametrize("mark", [np.nan, None, -1, pd.NA, float("nan")])
def test_marks_in_a_list_of_words_mark(kind: Any, mark: Any) -> None:
    """numpy makes words of them all: 'nan' and '-1' would be classes."""
    words = kind("abc"[c] if c >= 0 else mark for c in CODES)
    codes, classes = encode_labels(words, X)
    np.testing.assert_array_equal(codes, CODES)
    assert classes.tolist() == ["a", "b", "c"]
    folds = [test for _, test in es.SemiSupervisedKFold(3).split(X, words)]
    np.testing.assert_array_equal(np.sort(np.concatenate(folds)), np.flatnonzero(KNOWN))
    lda = es.LDA(unlabeled=-1).partial_fit(X[:30], words[:30]).partial_fit(X[30:], words[30:])
    assert lda.classes_.tolist() == ["a", "b", "c"]
    np.testing.assert_allclose(lda.eigenvalues_, es.LDA(unlabeled=-1).fit(X, CODES).eigenvalues_)
    soda = es.SODA().fit(X, words)
    assert set(soda.transduction_) == {"a", "b", "c"}
    assert (soda.transduction_.tolist(), soda.transduction_.dtype.kind) == (
        np.array(["a", "b", "c"])[es.SODA().fit(X, CODES).transduction_].tolist(),
        "U",
    )


def test_what_no_label_reaches_keeps_its_mark() -> None:
    far = np.vstack([X, X[:20] + 1e3])
    words: list[Any] = ["abc"[c] if c >= 0 else np.nan for c in np.append(CODES, np.full(20, -1))]
    found = es.SODA(n_neighbors=4).fit(far, words).transduction_
    assert set(found[:60]) == {"a", "b", "c"}
    assert np.all(pd.isna(found[60:]))


@pytest.mark.parametrize("mark", ["nan", "NaN", "<NA>", "None", "", "-1"])
def test_marks_that_are_text_already_are_suspicious(mark: str) -> None:
    text = np.array(["a", "b", "c", mark])[CODES]
    with pytest.warns(LabelWarning, match=f"'{mark}' among them counts as a class.*unlabeled='{mark}'"):
        _, classes = encode_labels(text, X)
    assert mark in classes
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        codes, _ = encode_labels(text, X, unlabeled=mark)
    np.testing.assert_array_equal(codes, CODES)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        encode_labels(text, X, unlabeled=None)
    assert bool(told) == (mark != "-1")  # with None −1 is a class like any other


def test_a_vector_of_labels_keeps_their_kind() -> None:
    assert label_array([0, 1, -1]).dtype.kind == "i"
    assert label_array(["a", "b"]).dtype.kind == "U"
    assert label_array(["a", -1]).tolist() == ["a", -1]
    assert label_array(pd.Series([1, None], dtype="Int64")).tolist() == [1, pd.NA]
    assert label_array(pd.Series([1, 2], dtype="Int64")).dtype.kind == "i"
    assert all_missing([None, -1, np.nan], 3)
    assert not all_missing([None, -1], 3)
    assert not all_missing(np.full((3, 2), -1), 3)


@pytest.mark.parametrize(
    "labels, kind",
    [
        (pd.array(np.where(KNOWN, TRUTH, 0), dtype="Int64"), "i"),
        (pd.array(TRUTH > 0, dtype="boolean"), "b"),
        (pd.array(np.array(["a", "b", "c"])[TRUTH], dtype="string"), "U"),
    ],
    ids=["Int64", "boolean", "string"],
)
def test_nullable_columns_keep_their_kind(labels: Any, kind: str) -> None:
    column = pd.Series(labels).mask(~KNOWN)
    assert column.isna().sum() == 30
    soda = es.SODA(1).fit(X, column)
    assert (soda.classes_.dtype.kind, soda.transduction_.dtype.kind) == (kind, kind)
    assert es.LDA().fit(X, column).classes_.dtype.kind == kind


# ---------------------------------------------------------------------- dates
def test_missing_dates_are_missing() -> None:
    days = np.array(["2020-01-01", "2021-01-01", "2022-01-01", "NaT"], dtype="datetime64[ns]")[CODES]
    for labels in (days, days.astype("datetime64[D]"), pd.Series(days), days - days[0]):
        codes, classes = encode_labels(labels, X)
        np.testing.assert_array_equal(codes, CODES)
        assert classes.size == 3
    np.testing.assert_array_equal(es.LDA().fit(X, days).embedding_, es.LDA(unlabeled=-1).fit(X, CODES).embedding_)
    days = np.where(KNOWN, np.datetime64("2020-01-01") + np.arange(60) // 2, np.datetime64("NaT"))
    numbers = np.where(KNOWN, days.astype(float), np.nan)
    for kernel in ("linear", "rbf"):
        expected = es.SupervisedPCA(1, labels=kernel).fit(X, numbers).components_
        for dates in (days, list(days), pd.Series(days), pd.Series(days).dt.tz_localize("UTC")):
            dated = es.SupervisedPCA(1, labels=kernel).fit(X, dates)
            np.testing.assert_allclose(dated.components_, expected, atol=1e-7)
    with pytest.raises(LabelError, match="all 60 of them are missing"):
        es.SupervisedPCA(1, labels="linear").fit(X, np.full(60, np.datetime64("NaT")))


# ---------------------------------------------------------------------- weights on edges
@pytest.mark.parametrize("weights", ["precomputed", es.Powered("precomputed", 2.0)], ids=["name", "power"])
@pytest.mark.parametrize("graph", [None, es.KNN(5), es.Radius(4.0), "class"], ids=["none", "knn", "radius", "class"])
@pytest.mark.parametrize("method", [es.LPP, es.OLPP, es.NPP, es.SDA, es.SODA, es.LaplacianEigenmaps, es.DiffusionMap])
def test_distances_are_no_weights(method: Any, graph: Any, weights: Any) -> None:
    if graph == "class" and not hasattr(method(), "unlabeled"):
        return
    with pytest.raises(GraphError, match=r"edges of this graph are found here and hold distances: pass graph=W"):
        method(graph=graph, weights=weights).fit(X, TRUTH)


def test_weights_of_a_given_graph_are_weights() -> None:
    W = sp.csr_array(np.exp(-np.square(X[:, None] - X).sum(axis=2)))
    for method in (es.LPP(2), es.SDA(), es.SODA(), es.LaplacianEigenmaps(2)):
        fitted = method.set_params(graph=W, weights="precomputed").fit(X, TRUTH)
        assert np.all(np.isfinite(fitted.embedding_))
    with pytest.raises(GraphError, match="hold distances"):
        es.SDA(weights=PathSimilarity("precomputed")).fit(X, TRUTH)
    with pytest.raises(GraphError, match="no place in LDE"):
        es.LDE(weights="precomputed").fit(X, TRUTH)
    for method in (es.SpectralClustering(3), es.TraceReducer(minimise="laplacian", unit="degree")):
        with pytest.raises(GraphError, match="pass graph=W"):
            method.set_params(weights="precomputed").fit(X)


# ---------------------------------------------------------------------- labels that say nothing
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    "method",
    [es.LDA(), es.LDA(criterion="trace-ratio"), es.LDA(kernel="rbf"), es.LDA(reduce=3), es.SDA(), es.SDA(mu=0.0)],
    ids=["moments", "ratio", "kernel", "reduce", "sda", "mu=0"],
)
def test_labelled_samples_that_coincide(method: Any, form: Any) -> None:
    same, y = X + np.array([0, 1e3, 0, 0]), np.where(np.arange(60) < 6, np.arange(60) % 2, -1)
    same[:6] = same[0]
    same[:, 3] = 0.1
    method.set_params(unlabeled=-1)
    with pytest.raises(LabelError, match="the labelled samples all coincide"):
        method.fit(form(same), y)
    same[:6, :3] += X[6:12, :3]
    assert np.all(np.isfinite(method.fit(form(same), y).embedding_))


def test_rows_that_coincide_are_reported_as_before() -> None:
    with pytest.raises(DimensionError, match="All 60 rows coincide"):
        es.SDA().fit(np.ones((60, 4)), TRUTH)


@pytest.mark.parametrize("mark", [-1, None, np.nan])
def test_links_beside_marks_alone(mark: Any) -> None:
    linked = es.SSDR(2, must_link=[[0, 3]], cannot_link=[[0, 1]])
    alone = linked.fit(X).components_
    fitted = linked.fit(X, [mark] * 60)
    np.testing.assert_array_equal(fitted.components_, alone)
    assert not hasattr(fitted, "classes_")
    with pytest.raises(LabelError, match="59 labels for 60 samples"):
        linked.fit(X, [mark] * 59)
    with pytest.raises(LabelError, match="all 60 of them are missing"):
        es.SSDR(2).fit(X, [mark] * 60)


# ---------------------------------------------------------------------- what a refit leaves
@pytest.mark.parametrize("method", [es.LPP, es.OLPP, es.NPP, es.ONPP])
def test_a_refit_leaves_nothing_of_the_graph_before(method: Any) -> None:
    fitted = method(2, graph="class").fit(X, TRUTH)
    assert hasattr(fitted, "classes_")
    assert not hasattr(fitted, "graph_")
    fitted.set_params(graph=None).fit(X)
    assert not hasattr(fitted, "classes_")
    assert hasattr(fitted, "graph_")
    fitted.set_params(graph="class").fit(X, TRUTH)
    assert not hasattr(fitted, "graph_")


def test_attributes_and_lost_axes_are_documented() -> None:
    for method in (es.LPP, es.OLPP):
        assert "classes_ : ndarray" in method.__doc__
        assert "graph_ : NeighbourGraph" in method.__doc__
    assert "axis without gain becomes zero" in es.LDA.__doc__
