"""Mixtures of PPCA: scikit-learn's GaussianMixture where they coincide, and planes that are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.datasets import load_iris, load_wine
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import scale

import eigenspan as es
from eigenspan.errors import ConvergenceWarning, DegenerateWarning, DimensionError, InputError
from eigenspan.methods.variance import mixture_em as planes
from helpers import angle, quietly, relative, reports, says


def sheets(
    n: int = 250, D: int = 6, noise: float = 0.1, apart: float = 4.0, seed: int = 0
) -> tuple[Any, Any, list[Any]]:
    """Three planes with noise in D dimensions, which of them each row is from, and their axes."""
    rng = np.random.default_rng(seed)
    axes = [np.linalg.qr(rng.standard_normal((D, 2)))[0] for _ in range(3)]
    parts = [(rng.standard_normal((n, 2)) * [3, 2]) @ Q.T + apart * rng.standard_normal(D) for Q in axes]
    return np.vstack(parts) + noise * rng.standard_normal((3 * n, D)), np.repeat(np.arange(3), n), axes


X, Y, AXES = sheets()


@pytest.fixture(scope="module")
def fitted() -> Any:
    return es.MixturePPCA(2, n_clusters=3).fit(X)


# ---------------------------------------------------------------------- known answers
def test_planes_are_found(fitted: Any) -> None:
    assert adjusted_rand_score(Y, fitted.labels_) > 0.95
    np.testing.assert_array_equal(fitted.predict(X), fitted.labels_)
    for k, Q in enumerate(AXES):
        found = np.bincount(fitted.labels_[k == Y]).argmax()
        assert angle(fitted.loadings_[found], Q) < 2.0
        assert fitted.noise_variances_[found] == pytest.approx(0.01, rel=0.2)
        assert fitted.weights_[found] == pytest.approx(1 / 3, abs=0.02)
    assert np.all(np.diff(fitted.weights_) <= 0)
    assert fitted.weights_.sum() == pytest.approx(1)


def test_the_likelihood_is_that_of_dense_gaussians(fitted: Any) -> None:
    parts = zip(fitted.weights_, fitted.means_, fitted.loadings_, fitted.noise_variances_, strict=True)
    densities = np.column_stack(
        [weight * multivariate_normal(mean, W @ W.T + noise * np.eye(6)).pdf(X) for weight, mean, W, noise in parts]
    )
    np.testing.assert_allclose(fitted.score_samples(X), np.log(densities.sum(axis=1)), rtol=1e-8)
    np.testing.assert_allclose(fitted.predict_proba(X), densities / densities.sum(axis=1, keepdims=True), atol=1e-9)
    assert fitted.log_likelihood_ == pytest.approx(fitted.score_samples(X).sum())
    assert fitted.score(X) == pytest.approx(fitted.score_samples(X).mean())
    assert fitted.bic(X) == pytest.approx(fitted.bic_)


def test_the_likelihood_never_falls(fitted: Any) -> None:
    assert np.all(np.diff(fitted.log_likelihoods_) > -1e-9)
    slow = es.MixturePPCA(2, n_clusters=4, n_init=1, tol=1e-9, max_iter=300).fit(sheets(100, noise=1.0, apart=1.0)[0])
    assert slow.n_iter_ > 10
    assert np.diff(slow.log_likelihoods_).min() > -1e-9 * abs(slow.log_likelihood_)


@pytest.mark.parametrize("load", [load_iris, load_wine])
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.every(2)
def test_one_dimension_less_than_features_is_a_gaussian_mixture(
    load: Any, k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same course from the same start, and the same end."""
    data = scale(load(return_X_y=True)[0])[:, :5]
    n, D = data.shape
    labels = np.random.default_rng(1).integers(k, size=n)
    labels[:k] = np.arange(k)
    monkeypatch.setattr("eigenspan.methods.variance.mixture_ppca.start", lambda X, n_clusters, seed: np.eye(k)[labels])
    for steps in (1, 5, 400):
        tol = 1e-10 if steps == 400 else 1e-300
        ours = es.MixturePPCA(D - 1, n_clusters=k, n_init=1, tol=tol, max_iter=steps, noise_floor=1e-14)
        with pytest.MonkeyPatch.context() as quiet:
            quiet.setattr("eigenspan.methods.variance.mixture_ppca.warn", lambda *_: None)  # one step is no convergence
            ours.fit(data)
        parts = [data[labels == j] for j in range(k)]
        theirs = GaussianMixture(
            k,
            weights_init=np.bincount(labels) / n,
            means_init=[part.mean(axis=0) for part in parts],
            precisions_init=[np.linalg.inv(np.cov(part.T, ddof=0)) for part in parts],
            reg_covar=0.0,
            tol=0.0,
            max_iter=max(1, steps - 1),
        )
        with pytest.warns(match="did not converge"):
            theirs.fit(data)
        if steps == 1:  # the start itself
            from_start = [
                weight * multivariate_normal(mean, np.linalg.inv(P)).pdf(data)
                for weight, mean, P in zip(theirs.weights_init, theirs.means_init, theirs.precisions_init, strict=True)
            ]
            assert ours.score(data) == pytest.approx(np.log(np.sum(from_start, axis=0)).mean(), rel=1e-9)
        else:
            assert ours.score(data) == pytest.approx(theirs.score(data), rel=1e-8 if steps == 5 else 1e-5)


def test_as_many_dimensions_as_features() -> None:
    data = load_iris(return_X_y=True)[0][:, :2]
    both, one = es.MixturePPCA(2, n_clusters=3).fit(data), es.MixturePPCA(1, n_clusters=3).fit(data)
    assert both.score(data) == pytest.approx(one.score(data), rel=1e-9)
    assert both.embedding_.shape == (150, 2)
    line = es.MixturePPCA(1, n_clusters=2).fit(data[:, :1])  # two normal distributions
    theirs = GaussianMixture(2, random_state=0, tol=1e-9, max_iter=1000).fit(data[:, :1])
    assert line.set_params(tol=1e-9, max_iter=2000).fit(data[:, :1]).score(data[:, :1]) == pytest.approx(
        theirs.score(data[:, :1]), abs=0.02
    )


def test_one_component_is_ppca() -> None:
    one, ppca = es.MixturePPCA(2, n_clusters=1).fit(X), es.PPCA(2, covariance="ml").fit(X)
    assert one.score(X) == pytest.approx(ppca.score(X), rel=1e-9)
    assert angle(one.loadings_[0], ppca.loadings_) < 1e-5
    assert one.bic_ == pytest.approx(ppca.bic_, rel=1e-9)
    np.testing.assert_allclose(np.abs(one.latent(X)[:, 0]), np.abs(ppca.embedding_), atol=1e-8)


def test_the_criterion_finds_the_number_of_planes() -> None:
    scores = [es.MixturePPCA(2, n_clusters=k).fit(X).bic_ for k in (1, 2, 3, 4)]
    assert int(np.argmin(scores)) == 2


# ---------------------------------------------------------------------- what is shown
def test_denoised_points_lie_on_the_planes(fitted: Any) -> None:
    clean = sheets(noise=0.0)[0]
    assert np.linalg.norm(fitted.denoise(X) - clean) < 0.75 * np.linalg.norm(X - clean)
    sure = fitted.predict_proba(X).max(axis=1) > 1 - 1e-9
    on_plane = fitted.means_[fitted.labels_] + np.einsum(
        "nd,nDd->nD", fitted.latent(X)[np.arange(len(X)), fitted.labels_], fitted.loadings_[fitted.labels_]
    )
    np.testing.assert_allclose(fitted.denoise(X)[sure], on_plane[sure], atol=1e-6)


def test_the_embedding_is_the_denoised_points_on_the_mixtures_axes(fitted: Any) -> None:
    mean = fitted.weights_ @ fitted.means_
    C = np.cov(fitted.means_.T, aweights=fitted.weights_, ddof=0)
    parts = zip(fitted.weights_, fitted.loadings_, fitted.noise_variances_, strict=True)
    C = C + sum(weight * (W @ W.T + noise * np.eye(6)) for weight, W, noise in parts)
    values, V = np.linalg.eigh(C)
    expected = (fitted.denoise(X) - mean) @ V[:, ::-1][:, :2]
    np.testing.assert_allclose(np.abs(fitted.embedding_), np.abs(expected), atol=1e-8)
    np.testing.assert_allclose(fitted.eigenvalues_, values[::-1][:2], rtol=1e-9)
    np.testing.assert_allclose(fitted.transform(X), fitted.embedding_, atol=1e-12)


def test_samples_have_the_mixture(fitted: Any) -> None:
    drawn, labels = fitted.sample(30_000, random_state=1)
    np.testing.assert_allclose(np.bincount(labels) / 30_000, fitted.weights_, atol=0.02)
    for k in range(3):
        C = fitted.loadings_[k] @ fitted.loadings_[k].T + fitted.noise_variances_[k] * np.eye(6)
        assert relative(np.cov(drawn[labels == k].T), C) < 0.06
        assert np.abs(drawn[labels == k].mean(axis=0) - fitted.means_[k]).max() < 0.15
    assert fitted.score(drawn) == pytest.approx(fitted.score(X), abs=0.1)


def test_units_and_places_do_not_matter(fitted: Any) -> None:
    far = es.MixturePPCA(2, n_clusters=3).fit(1e-4 * X + 100)
    assert relative(far.embedding_, 1e-4 * fitted.embedding_) < 1e-5
    assert far.log_likelihood_ == pytest.approx(fitted.log_likelihood_ - X.size * np.log(1e-4), rel=1e-6)


def test_more_features_than_rows() -> None:
    wide, labels, _ = sheets(20, 100, apart=2.0)
    found = es.MixturePPCA(2, n_clusters=3).fit(wide)
    assert adjusted_rand_score(labels, found.labels_) > 0.95


# ---------------------------------------------------------------------- components that fail, and bad input
def test_empty_components_are_begun_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    def lopsided(X: Any, n_clusters: int, seed: int) -> Any:
        R = np.zeros((len(X), n_clusters))
        R[:, 0] = 1.0  # the others have nothing
        return R

    monkeypatch.setattr("eigenspan.methods.variance.mixture_ppca.start", lopsided)
    with reports(DegenerateWarning, "Components ran empty", "2 were restarted", "leaves 3"):
        found = es.MixturePPCA(2, n_clusters=3, n_init=1).fit(X)
    assert found.weights_.size == 3
    assert found.weights_.min() > 0.1
    monkeypatch.setattr(planes, "_RESTARTS", 0)
    with reports(DegenerateWarning, "2 of n_clusters=3 dropped", "leaves 1"):
        found = es.MixturePPCA(2, n_clusters=3, n_init=1).fit(X)
    assert found.weights_.size == 1
    assert found.predict_proba(X).shape == (750, 1)
    assert np.all(np.diff(found.log_likelihoods_) > -1e-6)


def test_components_that_collapse_rest_on_the_floor() -> None:
    outliers = np.vstack([X, np.repeat(X[:1] + 50, 3, axis=0)])
    with reports(DegenerateWarning, "1 of 4 components explain their rows (3 of 753)", "noise_floor=1e-06"):
        found = es.MixturePPCA(2, n_clusters=4, n_init=5).fit(outliers)
    assert 1e-8 * np.var(X) < found.noise_variances_.min() < 1e-6 * np.var(X)
    assert np.all(np.isfinite(found.score_samples(outliers)))


def test_what_is_refused() -> None:
    with pytest.raises(InputError, match=says("n_clusters=5 exceeds n_samples=4")):
        es.MixturePPCA(1, n_clusters=5).fit(X[:4])
    with pytest.raises(InputError, match=says("n_clusters=3", "40 rows have only 2 distinct places", "<= 2")):
        es.MixturePPCA(1, n_clusters=3).fit(np.repeat(X[:2], 20, axis=0))
    with pytest.raises(DimensionError, match=says("n_components=7 exceeds 6", "n_features=6", "<= 6")):
        es.MixturePPCA(7).fit(X)
    with pytest.raises(DimensionError, match="All 9 rows coincide"):
        es.MixturePPCA(1).fit(np.ones((9, 3)))
    with pytest.raises(ValueError, match="MixturePPCA does not accept missing values"):
        es.MixturePPCA(2).fit(np.where(np.arange(X.size).reshape(X.shape) == 5, np.nan, X))
    with pytest.raises(DimensionError, match=says("vary along 1 axes only", "<= 1")):
        line = np.outer(np.r_[np.arange(9), 100 + np.arange(9)], [1.0, 2.0, 3.0])
        quietly(lambda: es.MixturePPCA(2, n_clusters=2).fit(line))


def test_an_iteration_that_stops_short() -> None:
    with reports(ConvergenceWarning, "max_iter=2", "tol=1e-08"):
        es.MixturePPCA(2, n_clusters=3, max_iter=2, tol=1e-8, n_init=1).fit(X)


def test_narrow_integers_are_numbers() -> None:
    X = np.random.default_rng(0).standard_normal((60, 5))
    assert es.MixturePPCA(np.int8(2)).fit(X).embedding_.shape == (60, 2)
