"""Selection of parameters: searches over pipelines, candidates that need labels, and candidates that cannot be fitted."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.datasets import load_wine
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import eigenspan as es
from eigenspan.errors import DimensionError, EigenspanWarning, InputError, LabelError

RAW, TRUTH = load_wine(return_X_y=True)
X = StandardScaler().fit_transform(RAW)
SOME = np.where(np.arange(178) % 6 == 0, TRUTH, -1)
FEW = np.where(np.arange(178) % 18 == 0, TRUTH, -1)


class Seen(TransformerMixin, BaseEstimator):
    """Estimator of another library that records the number of labels of every fit."""

    given: list[Any] = []  # noqa: RUF012

    def __init__(self, gamma: float = 1.0) -> None:
        self.gamma = gamma

    def fit(self, X: Any, y: Any = None) -> Seen:
        self.given.append(None if y is None else sum(label is not None for label in y))
        return self

    def transform(self, X: Any) -> Any:
        return self.gamma * np.asarray(X)


def test_other_estimators_and_pipelines_receive_labels() -> None:
    Seen.given.clear()
    search = es.RegularizedSearch(Seen(), cv=3).fit(X, SOME)
    assert len(Seen.given) == 6 * 3 + 1
    assert all(count is not None and count < np.sum(SOME >= 0) for count in Seen.given[:-1])
    assert search.fit_transform(X, SOME).shape == X.shape
    steps = make_pipeline(StandardScaler(), es.SSLFDA(2))
    grid = {"sslfda__gamma": [0.01, 1.0], "sslfda__alpha": [1, 4]}
    piped = es.RegularizedSearch(steps, grid).fit(RAW, SOME)
    alone = es.RegularizedSearch(es.SSLFDA(2), {"gamma": [0.01, 1.0], "alpha": [1, 4]}).fit(X, SOME)
    assert [score for _, score in piped.results_] == [score for _, score in alone.results_]
    np.testing.assert_allclose(piped.fit_transform(RAW, SOME), alone.fit_transform(X, SOME))


def test_candidates_declare_whether_they_need_labels() -> None:
    search = es.RegularizedSearch(es.LPP(2), {"graph": [None, "class"]}).fit(X, SOME)
    assert [params["graph"] for params, _ in search.results_] == [None, "class"]
    assert {params["graph"]: score for params, score in search.results_}["class"] > 0.5
    links = es.SSDR(2, must_link=[[1, 2]])  # uses labels but does not need them
    linked = es.RegularizedSearch(links, {"beta": [20.0]}, cv=es.SemiSupervisedKFold(3)).fit(X, SOME)
    right = 0
    for train, test in es.SemiSupervisedKFold(3).split(X, SOME):
        Y = links.fit_transform(X, np.where(np.isin(np.arange(178), test), -1, SOME))
        known = train[SOME[train] >= 0]
        right += np.sum(KNeighborsClassifier(1).fit(Y[known], SOME[known]).predict(Y[test]) == SOME[test])
    assert linked.best_score_ == pytest.approx(right / np.sum(SOME >= 0))


def test_the_unlabelled_mark_of_a_step_is_found() -> None:
    marked = np.where(SOME < 0, 99, SOME)
    steps = make_pipeline(StandardScaler(), es.SSLFDA(2, unlabeled=99))
    search = es.RegularizedSearch(steps, {"sslfda__gamma": [0.1, 1.0]}).fit(RAW, marked)
    expected = es.RegularizedSearch(es.SSLFDA(2), {"gamma": [0.1, 1.0]}).fit(X, SOME)
    assert [score for _, score in search.results_] == [score for _, score in expected.results_]
    both = make_pipeline(es.SSLFDA(4), es.LDA(2, unlabeled=99))
    with pytest.raises(InputError, match="different markers of unlabelled points"):
        es.RegularizedSearch(both, {"sslfda__gamma": [1.0]}).fit(X, marked)


def test_a_candidate_that_cannot_be_fitted_ranks_last() -> None:
    with pytest.warns(
        EigenspanWarning, match=r"1 of 3 candidates could not be fitted and have score −∞\. The first.*99"
    ):
        search = es.RegularizedSearch(es.SSLFDA(2), {"n_components": [1, 2, 99]}).fit(X, SOME)
    assert search.results_[2][1] == -np.inf
    assert search.best_params_["n_components"] < 3
    with pytest.raises(DimensionError, match="99"):
        es.RegularizedSearch(es.SSLFDA(2), {"n_components": [99, 100]}).fit(X, SOME)
    with pytest.raises(DimensionError, match="99"):  # including results that are computed once for all candidates
        es.RegularizedSearch(es.SSLFDA(99), {"gamma": [0.1, 1.0]}).fit(X, SOME)


def test_searches_without_candidates() -> None:
    with pytest.raises(InputError, match=r"LDA has neither gamma nor alpha to search for\. Pass param_grid"):
        es.RegularizedSearch(es.LDA()).fit(X, SOME)


def test_defaults_include_a_weight_of_zero() -> None:
    """γ = 0 has a singular unit with few labels: only the final fit warns of the ridge."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "1 of 3 classes|2 of 3 classes|3 of 3 classes")
        search = es.RegularizedSearch(es.SSLFDA(2), {"gamma": [0.0, 1.0, 2.0, 3.0]}, cv=3).fit(X, FEW)
        assert search.best_params_["gamma"] > 0
        assert 0.0 in [params["gamma"] for params, _ in es.RegularizedSearch(es.SSDNE(2)).fit(X, SOME).results_]


def test_data_frames_as_input_and_output() -> None:
    frame = pd.DataFrame(RAW).add_prefix("x")
    steps = make_pipeline(StandardScaler(), es.SSLFDA(2)).set_output(transform="pandas")
    search = es.RegularizedSearch(steps, {"sslfda__gamma": [0.1, 1.0]})
    assert not hasattr(search, "n_features_in_")
    search.fit(frame, SOME)
    names = ["sslfda0", "sslfda1"]
    assert search.get_feature_names_out().tolist() == names
    assert search.n_features_in_ == 13
    own = es.RegularizedSearch(es.SSLFDA(2), {"gamma": [0.1, 1.0]}).set_output(transform="pandas")
    out = own.fit_transform(frame, SOME)
    assert out.columns.tolist() == own.transform(frame).columns.tolist() == names
    after = es.RegularizedSearch(es.SSLFDA(2), {"gamma": [1.0]})
    assert make_pipeline(after).fit(X, SOME).get_feature_names_out().tolist() == names


def test_folds_with_labels_of_another_length() -> None:
    with pytest.raises(LabelError, match="SemiSupervisedKFold requires y to be passed"):
        next(es.SemiSupervisedKFold(2).split(X, None))
    with pytest.raises(LabelError, match="173 labels for 178 samples"):
        next(es.SemiSupervisedKFold(2).split(X, SOME[:-5]))
    train, test = next(es.SemiSupervisedKFold(2).split(None, SOME.tolist()))
    assert train.size + test.size == 178


def test_a_classifier_takes_lists() -> None:
    fitted = es.LabelledOnly(KNeighborsClassifier(1)).fit(X.tolist(), SOME.tolist())
    expected = es.LabelledOnly(KNeighborsClassifier(1)).fit(X, SOME)
    np.testing.assert_array_equal(fitted.predict(X), expected.predict(X))


def test_the_ridge_is_searched_if_there_is_a_unit_form() -> None:
    """Candidates are relative to the mean of the unit form on its range, so units do not matter; orthonormal axes have no ridge."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "[123] of 3 classes")  # have a fold with one label
        search, scaled = (es.RegularizedSearch(es.SSLFDA(2), cv=3).fit(rows, FEW) for rows in (X, 1e4 * X))
    ridges, larger = (sorted({params["ridge"] for params, _ in found.results_}) for found in (search, scaled))
    assert len(ridges) == 4
    np.testing.assert_allclose(np.divide(ridges, ridges[0]), [1, 10, 100, 1000])
    np.testing.assert_allclose(larger, 1e8 * np.array(ridges))
    assert search.best_estimator_.diagnostics_["ridge"] == search.best_params_["ridge"]
    assert search.best_score_ == max(score for _, score in search.results_)
    few = es.SSLFDA(2).fit(X, FEW)
    assert ridges[1] == pytest.approx(few.diagnostics_["ridge"])  # the default for a singular unit form
    assert set(es.RegularizedSearch(es.SSDNE(2), cv=3).fit(X, SOME).best_params_) == {"gamma", "alpha"}
    assert "ridge" not in es.RegularizedSearch(es.SSLFDA(2, ridge=0.1), cv=3).fit(X, SOME).best_params_


def test_prediction_needs_new_points():
    """For None a neighbours classifier would predict its training rows, which are only the labelled ones."""
    X = np.random.default_rng(0).standard_normal((30, 3))
    y = np.where(np.arange(30) % 3 == 0, -1, np.arange(30) % 2)
    fitted = es.LabelledOnly(KNeighborsClassifier(1)).fit(X, y)
    for ask in (fitted.predict, fitted.predict_proba):
        with pytest.raises(InputError, match="X is None"):
            ask(None)
    assert fitted.predict(X).shape == (30,)
