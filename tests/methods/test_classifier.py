"""LDA as a classifier: scikit-learn's discriminant analysis is the oracle."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import cross_val_score

import eigenspan as es
from eigenspan.errors import LabelError, LabelWarning
from helpers import relative

DATA = {load.__name__[5:]: load(return_X_y=True) for load in (load_iris, load_wine, load_breast_cancer)}
over_data = pytest.mark.parametrize("name", DATA)


class Oracle(LinearDiscriminantAnalysis):
    """scikit-learn's, its covariance the mean over n samples whatever its version: with "svd" it was Σ / (n − c) before 1.9."""

    def fit(self, X: Any, y: Any) -> Oracle:
        super().fit(X, y)
        if self.solver == "svd" and sklearn.__version__ < "1.9":
            factor = len(X) / (len(X) - len(self.classes_))
            shares = np.log(self.priors_)
            shares = shares if len(shares) > 2 else np.diff(shares)
            self.coef_ = self.coef_ * factor
            self.intercept_ = (self.intercept_ - shares) * factor + shares
        return self


def oracle(**params: Any) -> Any:
    return Oracle(**{"tol": 1e-9, **params})


def assert_same_model(ours: Any, theirs: Any, X: Any, rtol: float = 1e-8) -> None:
    np.testing.assert_array_equal(ours.classes_, theirs.classes_)
    for name in ("priors_", "means_", "xbar_", "coef_", "intercept_"):
        assert relative(getattr(ours, name), getattr(theirs, name)) <= rtol, name
    assert_same_decisions(ours, theirs, X, rtol)


def assert_same_decisions(ours: Any, theirs: Any, X: Any, rtol: float = 1e-8) -> None:
    assert relative(ours.decision_function(X), theirs.decision_function(X)) <= rtol
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=rtol)
    np.testing.assert_allclose(ours.predict_log_proba(X), theirs.predict_log_proba(X), rtol=1e-6, atol=rtol)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@over_data
@pytest.mark.parametrize("n_components", [None, 1])
@pytest.mark.parametrize("axes", ["unit", "eigenvalue-norm"])
def test_the_model_is_scikit_learns(name: str, n_components: Any, axes: str) -> None:
    X, y = DATA[name]
    ours, theirs = es.LDA(n_components, axes=axes).fit(X, y), oracle().fit(X, y)
    assert_same_model(ours, theirs, X)
    d = ours.embedding_.shape[1]
    np.testing.assert_allclose(ours.explained_variance_ratio_, theirs.explained_variance_ratio_[:d], rtol=1e-8)
    assert ours.score(X, y) == theirs.score(X, y)
    assert relative(X @ ours.coef_.T + ours.intercept_, np.reshape(ours.decision_function(X), (len(X), -1))) <= 1e-9


@over_data
@pytest.mark.parametrize("shrinkage", [0.0, 0.2, 1.0])
def test_a_given_shrinkage_is_scikit_learns(name: str, shrinkage: float) -> None:
    X, y = DATA[name]
    ours, theirs = es.LDA(shrinkage=shrinkage).fit(X, y), oracle(solver="lsqr", shrinkage=shrinkage).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-7)
    # of three classes and more, this solver leaves the means uncentred: the same for every class
    gap = ours.decision_function(X) - theirs.decision_function(X)
    np.testing.assert_allclose(gap - gap.mean(axis=-1, keepdims=gap.ndim > 1) * (gap.ndim > 1), 0, atol=1e-5)


@over_data
def test_priors(name: str) -> None:
    X, y = DATA[name]
    priors = np.arange(1.0, len(np.unique(y)) + 1)
    ours, theirs = es.LDA(priors=priors / priors.sum()).fit(X, y), oracle(priors=priors / priors.sum()).fit(X, y)
    assert_same_model(ours, theirs, X)
    with pytest.warns(LabelWarning, match="divided by their sum"):
        again = es.LDA(priors=list(priors)).fit(X, y)
    assert_same_model(again, theirs, X)
    with pytest.raises(LabelError, match="non-negative"):
        es.LDA(priors=-priors).fit(X, y)
    with pytest.raises(LabelError, match="one probability for each"):
        es.LDA(priors=[*priors / priors.sum(), 0.0]).fit(X, y)
    ruled_out = es.LDA(priors=np.eye(priors.size)[0]).fit(X, y)
    np.testing.assert_array_equal(ruled_out.predict_proba(X), np.tile(np.eye(priors.size)[0], (len(X), 1)))


def test_the_covariance_of_the_classes() -> None:
    X, y = DATA["wine"]
    for params in ({}, {"shrinkage": 0.3}):
        ours = es.LDA(store_covariance=True, **params).fit(X, y)
        theirs = oracle(solver="lsqr", **params).fit(X, y)
        assert relative(ours.covariance_, theirs.covariance_) <= 1e-10
    assert not hasattr(es.LDA().fit(X, y), "covariance_")
    wide = es.LDA(store_covariance=True).fit(X[::20], y[::20])  # nine rows of thirteen features
    assert relative(wide.covariance_, oracle(store_covariance=True).fit(X[::20], y[::20]).covariance_) <= 1e-8


def test_text_labels_and_two_classes() -> None:
    X, y = DATA["iris"]
    words = np.array(["setosa", "versicolor", "virginica"])[y]
    assert_same_model(es.LDA().fit(X, words), oracle().fit(X, words), X)
    two = y > 0
    ours = es.LDA().fit(X[two], words[two])
    assert ours.coef_.shape == (1, 4)
    assert ours.decision_function(X).shape == (len(X),)
    assert_same_model(ours, oracle().fit(X[two], words[two]), X)


def test_unlabelled_rows_are_no_class_and_no_evidence() -> None:
    X, y = DATA["wine"]
    some = np.where(np.arange(len(y)) % 3 == 0, np.nan, y)
    known = ~np.isnan(some)
    assert_same_model(es.LDA().fit(X, some), oracle().fit(X[known], y[known]), X)


def test_parts_files_sparse_and_single_precision(tmp_path: Any) -> None:
    X, y = DATA["wine"]
    theirs = oracle().fit(X, y)
    parts = es.LDA().partial_fit(X[::2], y[::2]).partial_fit(X[1::2], y[1::2])
    assert_same_model(parts, theirs, X)
    np.save(tmp_path / "X.npy", X)
    assert_same_model(es.LDA().fit(np.load(tmp_path / "X.npy", mmap_mode="r"), y), theirs, X)
    assert_same_model(es.LDA().fit(sp.csr_array(X), y), theirs, X, 1e-6)
    np.testing.assert_allclose(
        es.LDA().fit(sp.csr_array(X), y).predict_proba(sp.csr_array(X)), theirs.predict_proba(X), atol=1e-6
    )
    single = es.LDA().fit(X.astype(np.float32), y)
    np.testing.assert_allclose(single.predict_proba(X.astype(np.float32)), theirs.predict_proba(X), atol=1e-4)
    again = pickle.loads(pickle.dumps(parts))
    np.testing.assert_array_equal(again.predict_proba(X), parts.predict_proba(X))


def test_priors_are_waited_for_in_parts() -> None:
    X, y = DATA["wine"]
    priors = [0.2, 0.3, 0.5]
    lda = es.LDA(1, priors=priors).partial_fit(X[y < 2], y[y < 2]).partial_fit(X[y == 2], y[y == 2])
    assert_same_model(lda, oracle(priors=priors).fit(X, y), X)


def test_redundant_and_constant_features_change_nothing() -> None:
    X, y = DATA["wine"]
    more = np.column_stack([X, X[:, 0] - 2 * X[:, 3], np.full(len(X), 7.0)])
    ours, theirs = es.LDA().fit(more, y), oracle().fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(more), theirs.predict_proba(X), atol=1e-7)


def test_far_from_the_origin() -> None:
    X, y = DATA["iris"]
    far = X + 1e7
    np.testing.assert_allclose(es.LDA().fit(far, y).predict_proba(far), oracle().fit(X, y).predict_proba(X), atol=1e-4)


def test_classes_that_collapse_to_points_say_so() -> None:
    X, y = load_digits(return_X_y=True)
    X, y = X[:40], y[:40]
    lda = es.LDA().fit(X, y)
    np.testing.assert_array_equal(lda.predict(X), y)
    assert np.isfinite(lda.decision_function(X)).all()
    with pytest.warns(LabelWarning, match="Along 9 of the discriminant directions"):
        P = lda.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    shrunk, theirs = es.LDA(shrinkage=0.1).fit(X, y), oracle(solver="lsqr", shrinkage=0.1).fit(X, y)
    np.testing.assert_allclose(shrunk.predict_proba(X + 0.1), theirs.predict_proba(X + 0.1), atol=1e-7)


def test_a_linear_kernel_is_the_ridge() -> None:
    """With k(x, z) = x·z the feature space is the input space, and the ridge of kernels the same ridge."""
    X, y = DATA["wine"]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    kernel = es.LDA(kernel="linear", ridge=3.0).fit(X, y)
    assert_same_decisions(kernel, es.LDA(ridge=3.0).fit(X, y), X + 0.1, 1e-6)
    assert not hasattr(kernel, "coef_")
    assert kernel.priors_.shape == (3,)


def test_the_rule_is_bayes_rule_among_gaussians_in_the_discriminant_space() -> None:
    """For every criterion, kernel and number of axes: an independent computation on the axes of the full discriminant."""
    X, y = DATA["wine"]
    for params in ({"kernel": es.Kernel("rbf", gamma="median")}, {"ridge": 10.0}, {"shrinkage": 0.3}):
        full = es.LDA(**params).fit(X, y)
        Y = full.embedding_
        counts = np.bincount(y)
        M = np.array([Y[y == k].mean(axis=0) for k in range(3)])
        left = 1 - full.eigenvalues_  # V'BV = I, and V'AV = diag(λ) lies between the classes
        log = -0.5 * len(y) * np.sum((Y[:, None] - M[None]) ** 2 / left, axis=2) + np.log(counts / len(y))
        P = np.exp(log - log.max(axis=1, keepdims=True))
        P /= P.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(full.predict_proba(X), P, atol=1e-6)
        for same in (es.LDA(1, **params), es.LDA(1, criterion="trace-ratio", **params)):
            if "kernel" not in params or same.criterion == "ratio-trace":  # the other has no ridge of its own
                np.testing.assert_allclose(same.fit(X, y).predict_proba(X), P, atol=1e-6)


def test_it_is_a_classifier_and_a_transformer() -> None:
    X, y = DATA["iris"]
    assert is_classifier(es.LDA())
    ours, theirs = (cross_val_score(clone(e), X, y) for e in (es.LDA(), oracle()))
    np.testing.assert_allclose(ours, theirs)
    assert es.LDA().set_output(transform="pandas").fit(X, y).transform(X).shape == (150, 2)
