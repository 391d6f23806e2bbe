"""PCA as a Gaussian model: scikit-learn's PCA is the oracle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV

import eigenspan as es
from eigenspan.errors import DimensionError
from helpers import relative

DATA = {load.__name__[5:]: load(return_X_y=True)[0] for load in (load_iris, load_wine, load_breast_cancer, load_digits)}


def assert_same_model(ours: Any, theirs: Any, X: Any, rtol: float = 1e-8) -> None:
    for name in ("explained_variance_", "explained_variance_ratio_", "singular_values_", "mean_"):
        assert relative(getattr(ours, name), getattr(theirs, name)) <= rtol, name
    assert (ours.n_samples_, ours.n_components_) == (theirs.n_samples_, theirs.n_components_)
    assert ours.noise_variance_ == pytest.approx(
        theirs.noise_variance_, rel=rtol, abs=1e-13 * ours.explained_variance_.sum()
    )
    assert relative(ours.get_covariance(), theirs.get_covariance()) <= rtol
    assert relative(ours.get_precision(), theirs.get_precision()) <= rtol
    np.testing.assert_allclose(ours.score_samples(X), theirs.score_samples(X), rtol=rtol, atol=rtol)
    assert ours.score(X) == pytest.approx(theirs.score(X), rel=rtol)


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("n_components", [1, 3, 0.7])
def test_the_model_is_scikit_learns(name: str, n_components: Any) -> None:
    X = DATA[name]
    assert_same_model(es.PCA(n_components).fit(X), PCA(n_components, svd_solver="full").fit(X), X)


@pytest.mark.parametrize("name", ["iris", "wine"])
def test_all_axes_leave_no_noise(name: str) -> None:
    X = DATA[name]
    ours = es.PCA(None).fit(X)
    assert ours.noise_variance_ == 0
    assert_same_model(ours, PCA().fit(X), X)
    np.testing.assert_allclose(ours.get_covariance(), np.cov(X.T), rtol=1e-9, atol=1e-9 * np.var(X))


def test_whitening_changes_the_embedding_and_not_the_model() -> None:
    X = DATA["wine"]
    white, plain = es.PCA(3, whiten=True).fit(X), es.PCA(3).fit(X)
    assert relative(white.get_covariance(), plain.get_covariance()) <= 1e-12
    assert white.score(X) == pytest.approx(plain.score(X), rel=1e-12)


def test_from_parts_files_and_sparse(tmp_path: Any) -> None:
    X = DATA["wine"]
    theirs = PCA(3, svd_solver="full").fit(X)
    assert_same_model(es.PCA(3).partial_fit(X[:90]).partial_fit(X[90:]), theirs, X)
    np.save(tmp_path / "X.npy", X)
    M = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert_same_model(es.PCA(3).fit(M), theirs, M)
    ours = es.PCA(3).fit(sp.csr_array(X))
    assert_same_model(ours, theirs, X, 1e-6)
    np.testing.assert_allclose(ours.score_samples(sp.csr_array(X)), ours.score_samples(X), rtol=1e-9)


def test_more_features_than_rows() -> None:
    X = np.random.default_rng(0).standard_normal((30, 80)) * np.linspace(3, 1, 80)
    assert_same_model(es.PCA(5).fit(X), PCA(5, svd_solver="full").fit(X), X)
    assert es.PCA(5, reduce=20).fit(X).noise_variance_ == pytest.approx(PCA(5).fit(X).noise_variance_, rel=1e-3)
    everything = es.PCA(None).fit(X)
    assert everything.noise_variance_ == 0
    for call in (everything.get_precision, lambda: everything.score(X)):
        with pytest.raises(DimensionError, match="29 axes hold all variance of the 80 features"):
            call()


@pytest.mark.parametrize("name", DATA)
def test_evidence_chooses_as_in_scikit_learn(name: str) -> None:
    X = DATA[name]
    assert es.PCA("mle").fit(X).n_components_ == PCA("mle", svd_solver="full").fit(X).n_components_


@pytest.mark.parametrize("seed", range(8))
def test_evidence_finds_the_dimension(seed: int) -> None:
    """Beside scikit-learn, whatever the unit of length, and in parts."""
    rng = np.random.default_rng(seed)
    k = 2 + seed % 4
    X = rng.standard_normal((400, k)) @ rng.standard_normal((k, 12)) * 3 + rng.standard_normal((400, 12))
    found = es.PCA("mle").fit(X)
    assert found.n_components_ == PCA("mle", svd_solver="full").fit(X).n_components_ == k
    assert es.PCA("mle").fit(1e6 * X).n_components_ == es.PCA("mle").fit(1e-9 * X).n_components_ == k
    parts = es.PCA("mle").partial_fit(X[:7])
    assert not hasattr(parts, "map_")
    assert parts.partial_fit(X[7:]).n_components_ == k


def test_evidence_needs_rows() -> None:
    with pytest.raises(DimensionError, match="20 rows and 21 features"):
        es.PCA("mle").fit(np.random.default_rng(0).standard_normal((20, 21)))


def test_a_search_maximises_the_likelihood() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3)) @ rng.standard_normal((3, 10)) * 2 + rng.standard_normal((300, 10))
    search = GridSearchCV(es.PCA(), {"n_components": [1, 2, 3, 4, 6]}).fit(X)
    assert search.best_params_ == {"n_components": 3}
