"""Probabilistic PCA: scikit-learn's PCA.score, dense Gaussians, and data whose model is known."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import multivariate_normal
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.decomposition import PCA

import eigenspan as es
from eigenspan.errors import (
    ConvergenceWarning,
    DegenerateWarning,
    DimensionError,
    InputError,
    MissingWarning,
)
from eigenspan.methods.variance.em import least
from helpers import angle, quietly, relative, reports, says

DATA = {load.__name__[5:]: load(return_X_y=True)[0] for load in (load_iris, load_wine, load_breast_cancer, load_digits)}


def planes(n: int = 300, D: int = 8, d: int = 3, noise: float = 0.3, seed: int = 0) -> tuple[Any, Any, Any]:
    """Rows of a known model, its W and its mean."""
    rng = np.random.default_rng(seed)
    W, mean = rng.standard_normal((D, d)) * np.linspace(2, 1, d), 5 * rng.standard_normal(D)
    return rng.standard_normal((n, d)) @ W.T + mean + noise * rng.standard_normal((n, D)), W, mean


def pierced(X: Any, share: float = 0.3, seed: int = 1) -> Any:
    """X with gaps, and at least one entry in every row."""
    rng = np.random.default_rng(seed)
    gaps = rng.random(X.shape) < share
    gaps[np.arange(len(X)), rng.integers(X.shape[1], size=len(X))] = False
    return np.where(gaps, np.nan, X)


def dense_log_likelihood(X: Any, mean: Any, C: Any) -> Any:
    """Row by row, by scipy."""
    there = ~np.isnan(X)
    return np.array(
        [
            multivariate_normal(mean[o], C[np.ix_(o, o)]).logpdf(x[o]) if o.any() else 0.0
            for x, o in zip(X, there, strict=True)
        ]
    )


X, W, MEAN = planes()
GAPS = pierced(X)


@pytest.fixture(scope="module")
def fitted() -> Any:
    return es.PPCA(3, tol=1e-9, max_iter=2000).fit(GAPS)


# ---------------------------------------------------------------------- whole rows
@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("d", [1, 2, 4])
def test_the_likelihood_is_scikit_learns(name: str, d: int) -> None:
    data = DATA[name]
    ours, theirs = es.PPCA(d).fit(data), PCA(d, svd_solver="full").fit(data)
    np.testing.assert_allclose(ours.score_samples(data), theirs.score_samples(data), rtol=1e-8, atol=1e-8)
    assert ours.score(data) == pytest.approx(theirs.score(data), rel=1e-8)
    assert ours.log_likelihood_ == pytest.approx(len(data) * theirs.score(data), rel=1e-8)
    assert relative(ours.get_covariance(), theirs.get_covariance()) < 1e-8
    assert relative(ours.get_precision(), theirs.get_precision()) < 1e-8


def test_fewer_rows_than_features() -> None:
    few = planes(20, 60)[0]
    theirs = PCA(4, svd_solver="full").fit(few)
    assert es.PPCA(4).fit(few).score(few) == pytest.approx(theirs.score(few), rel=1e-8)
    ml = es.PPCA(4, covariance="ml").fit(few)
    values = np.linalg.eigvalsh(np.cov(few.T, ddof=0))[::-1]
    assert ml.noise_variance_ == pytest.approx(values[4:].mean(), rel=1e-8)
    assert 1 <= es.PPCA("auto").fit(few).n_components_ <= 18


def test_the_maximum_of_the_likelihood() -> None:
    """Neither another noise, nor other axes, nor the divisor n − 1 is more likely."""
    best = es.PPCA(3, covariance="ml").fit(X)
    top = best.log_likelihood_
    assert top > es.PPCA(3).fit(X).log_likelihood_
    assert top == pytest.approx(dense_log_likelihood(X, best.mean_, best.get_covariance()).sum(), rel=1e-10)
    rng = np.random.default_rng(0)
    for size in (1e-3, 1e-2, 0.1):
        V = best.loadings_ + size * rng.standard_normal(best.loadings_.shape)
        noise = best.noise_variance_ * np.exp(size * rng.standard_normal())
        assert dense_log_likelihood(X, best.mean_, V @ V.T + noise * np.eye(8)).sum() < top


def test_transform_is_the_posterior_mean_and_inverse_transform_its_inverse() -> None:
    ppca = es.PPCA(3).fit(X)
    V, noise = ppca.loadings_, ppca.noise_variance_
    M = V.T @ V + noise * np.eye(3)
    expected = np.linalg.solve(M, V.T @ (X - ppca.mean_).T).T
    np.testing.assert_allclose(ppca.embedding_, expected, atol=1e-10)
    np.testing.assert_allclose(ppca.posterior_covariance(), noise * np.linalg.inv(M), atol=1e-12)
    np.testing.assert_allclose(V @ V.T + noise * np.eye(8), ppca.get_covariance(), atol=1e-10)
    # the plane's points with these means are PCA's reconstructions
    pca = PCA(3).fit(X)
    np.testing.assert_allclose(
        ppca.inverse_transform(ppca.embedding_), pca.inverse_transform(pca.transform(X)), atol=1e-9
    )
    # given z the model has variance one beyond what is known of z
    np.testing.assert_allclose(np.cov(ppca.embedding_.T) + ppca.posterior_covariance(), np.eye(3), atol=1e-9)


def test_files_parts_and_sparse(tmp_path: Any) -> None:
    whole = es.PPCA(3).fit(X)
    np.save(tmp_path / "X.npy", X)
    M = np.load(tmp_path / "X.npy", mmap_mode="r")
    others = [es.PPCA(3).fit(M), es.PPCA(3).partial_fit(X[:100]).partial_fit(X[100:]), es.PPCA(3).fit(sp.csr_array(X))]
    for other in others:
        assert relative(other.transform(X), whole.embedding_) < 1e-8
        assert other.log_likelihood_ == pytest.approx(whole.log_likelihood_, rel=1e-9)
        assert other.bic_ == pytest.approx(whole.bic_, rel=1e-9)
        assert relative(other.impute(GAPS), whole.impute(GAPS)) < 1e-8
    assert not hasattr(others[0], "embedding_")
    with pytest.raises(InputError, match="contains NaN, first in row 0"):
        es.PPCA(3).partial_fit(GAPS)


def test_samples_have_the_model() -> None:
    ppca = es.PPCA(3).fit(X)
    drawn = ppca.sample(40_000, random_state=3)
    np.testing.assert_array_equal(drawn, ppca.sample(40_000, random_state=3))
    assert relative(np.cov(drawn.T), ppca.get_covariance()) < 0.03
    assert np.abs(drawn.mean(axis=0) - ppca.mean_).max() < 0.05
    again = es.PPCA(3).fit(drawn)
    assert angle(again.loadings_, ppca.loadings_) < 1.0
    assert again.noise_variance_ == pytest.approx(ppca.noise_variance_, rel=0.03)


# ---------------------------------------------------------------------- how many
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("criterion", ["bic", "minka"])
def test_the_criteria_find_the_dimension(seed: int, criterion: str) -> None:
    data = planes(500, 12, 2 + seed, 0.5, seed)[0]
    found = es.PPCA("auto", criterion=criterion).fit(data)
    assert found.n_components_ == 2 + seed
    assert es.PPCA("auto", criterion=criterion).fit(1e5 * data).n_components_ == 2 + seed
    if criterion == "bic":
        others = [es.PPCA(d).fit(data).bic_ for d in range(1, 12)]
        assert found.bic_ == pytest.approx(min(others))
        assert int(np.argmin(others)) == 1 + seed
    else:
        assert found.n_components_ == PCA("mle", svd_solver="full").fit(data).n_components_


def test_the_criterion_counts_the_observed_entries() -> None:
    found = es.PPCA("auto", random_state=0).fit(GAPS)
    assert found.n_components_ == 3
    assert found.bic_ == pytest.approx(-2 * found.log_likelihoods_[-1] + (8 + 1 + 24 - 3) * np.log(300))
    flat = np.random.default_rng(0).standard_normal((200, 6))
    assert es.PPCA("auto").fit(pierced(flat)).n_components_ == 1


@pytest.mark.parametrize("best", [1, 2, 3, 7, 31, 60, 99, 100])
def test_the_search_over_numbers(best: int) -> None:
    asked = []

    def cost(k: int) -> float:
        asked.append(k)
        return float(k / best + best / k)

    assert abs(least(cost, 100) - best) <= (0 if best < 10 else best / 10)
    assert len(asked) == len(set(asked)) <= 20
    assert 1 <= min(asked) <= max(asked) <= 100
    assert least(lambda k: float((k - best) ** 2), 150) == best


# ---------------------------------------------------------------------- gaps
def test_the_likelihood_of_what_is_there(fitted: Any) -> None:
    expected = dense_log_likelihood(GAPS, fitted.mean_, fitted.get_covariance())
    np.testing.assert_allclose(fitted.score_samples(GAPS), expected, rtol=1e-9, atol=1e-9)
    assert fitted.log_likelihood_ == pytest.approx(expected.sum())
    assert fitted.score(X) == pytest.approx(dense_log_likelihood(X, fitted.mean_, fitted.get_covariance()).mean())


def test_what_gaps_leave_open(fitted: Any) -> None:
    """Conditional means and covariances of dense Gaussians."""
    V, noise, C = fitted.loadings_, fitted.noise_variance_, fitted.get_covariance()
    filled, covariances = fitted.impute(GAPS), fitted.posterior_covariance(GAPS)
    for i in (0, 1, 17, 200):
        o = ~np.isnan(GAPS[i])
        gain = np.linalg.solve(C[np.ix_(o, o)], (GAPS[i] - fitted.mean_)[o])
        np.testing.assert_allclose(fitted.embedding_[i], V[o].T @ gain, atol=1e-9)
        np.testing.assert_allclose(filled[i, ~o], fitted.mean_[~o] + C[np.ix_(~o, o)] @ gain, atol=1e-9)
        np.testing.assert_array_equal(filled[i, o], X[i, o])
        S = np.linalg.inv(np.eye(3) + V[o].T @ V[o] / noise)
        np.testing.assert_allclose(covariances[i], S, atol=1e-10)
    np.testing.assert_allclose(fitted.transform(GAPS), fitted.embedding_, atol=1e-12)
    np.testing.assert_allclose(fitted.transform(filled), fitted.embedding_, atol=1e-9)  # what is expected adds nothing


def test_the_likelihood_never_falls_and_ends_at_its_maximum(fitted: Any) -> None:
    gains = np.diff(fitted.log_likelihoods_)
    assert np.all(gains > 0)
    ml = es.PPCA(3, tol=1e-9, max_iter=2000, covariance="ml").fit(GAPS)
    top = ml.log_likelihoods_[-1]
    assert ml.log_likelihood_ == pytest.approx(top, rel=1e-10)
    assert relative(ml.get_covariance() * 300 / 299, fitted.get_covariance()) < 1e-12
    rng = np.random.default_rng(2)
    for size in (1e-2, 1e-1):
        V = ml.loadings_ + size * rng.standard_normal(ml.loadings_.shape)
        C = V @ V.T + ml.noise_variance_ * np.exp(size * rng.standard_normal()) * np.eye(8)
        assert dense_log_likelihood(GAPS, ml.mean_ + size * rng.standard_normal(8), C).sum() < top
    other = es.PPCA(3, tol=1e-9, max_iter=2000, random_state=5).fit(GAPS)
    assert relative(other.get_covariance(), fitted.get_covariance()) < 1e-3


def test_without_gaps_the_iteration_ends_at_the_closed_form() -> None:
    """A row more, without entries, makes the iteration work on all the others."""
    with reports(MissingWarning, "1 of 301 rows have no entry", "row 300"):
        ours = es.PPCA(3, tol=1e-12, max_iter=5000).fit(np.vstack([X, np.full(8, np.nan)]))
    closed = es.PPCA(3).fit(X)
    assert relative(ours.get_covariance(), closed.get_covariance()) < 1e-5
    assert ours.log_likelihood_ == pytest.approx(closed.log_likelihood_, rel=1e-8)
    np.testing.assert_array_equal(ours.embedding_[300], 0.0)
    assert angle(ours.loadings_, closed.loadings_) < 0.01


def test_gaps_in_fewer_rows_than_features() -> None:
    few = pierced(planes(20, 40)[0], 0.1)
    sample, ml = (es.PPCA(2, covariance=which).fit(few) for which in ("sample", "ml"))
    assert relative(sample.get_covariance(), ml.get_covariance() * 20 / 19) < 1e-12
    assert ml.log_likelihood_ == pytest.approx(ml.log_likelihoods_[-1], rel=1e-10)
    expected = dense_log_likelihood(few, sample.mean_, sample.get_covariance())
    np.testing.assert_allclose(sample.score_samples(few), expected, rtol=1e-8)


def test_the_model_is_found_behind_the_gaps() -> None:
    data, V, _ = planes(4000, 12, 3, 0.5, 7)
    ppca = es.PPCA(3).fit(pierced(data, 0.4))
    assert angle(ppca.loadings_, V) < 2.0
    assert ppca.noise_variance_ == pytest.approx(0.25, rel=0.05)
    assert np.abs(ppca.mean_ - data.mean(axis=0)).max() < 0.2


def test_patterns_that_repeat_are_solved_once() -> None:
    """Blocks of rows with the same gaps give what rows one by one give."""
    block = X.copy()
    block[:100, 5:] = np.nan
    block[100:180, :2] = np.nan
    found = es.PPCA(3, tol=1e-8, max_iter=1000).fit(block)
    assert found.diagnostics_["patterns"] == 3
    np.testing.assert_allclose(
        found.score_samples(block), dense_log_likelihood(block, found.mean_, found.get_covariance()), rtol=1e-9
    )
    order = np.random.default_rng(0).permutation(300)
    mixed = es.PPCA(3, tol=1e-8, max_iter=1000).fit(block[order])
    # steps end where they gain little, which rounding may put a step earlier or later
    assert relative(mixed.get_covariance(), found.get_covariance()) < 1e-5
    np.testing.assert_allclose(mixed.impute(block), found.impute(block), atol=1e-5)


def test_pieces_of_rows_do_not_matter(fitted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eigenspan.methods.variance.missing_entries._STACK", 16 * 37)
    small = es.PPCA(3, tol=1e-9, max_iter=2000).fit(GAPS)
    assert relative(small.get_covariance(), fitted.get_covariance()) < 1e-8
    np.testing.assert_allclose(small.transform(GAPS), fitted.transform(GAPS), atol=1e-7)


def test_imputation_beats_column_means(fitted: Any) -> None:
    hidden = np.isnan(GAPS)
    errors = [F[hidden] - X[hidden] for F in (fitted.impute(GAPS), np.broadcast_to(np.nanmean(GAPS, axis=0), X.shape))]
    ours, means = (np.sqrt(np.mean(e**2)) for e in errors)
    assert ours < 0.35 * means
    assert ours < 3 * 0.3  # the noise itself, and what is not known of z


def test_far_from_the_origin_and_in_other_units(fitted: Any) -> None:
    far = es.PPCA(3, tol=1e-9, max_iter=2000).fit(1e-3 * GAPS + 1e4)
    assert relative(far.get_covariance(), 1e-6 * fitted.get_covariance()) < 1e-5
    np.testing.assert_allclose(far.transform(1e-3 * GAPS + 1e4), fitted.embedding_, atol=1e-4)
    assert far.log_likelihood_ == pytest.approx(
        fitted.log_likelihood_ - np.sum(~np.isnan(GAPS)) * np.log(1e-3), rel=1e-6
    )


def test_kinds_of_tables(fitted: Any) -> None:
    import pandas as pd

    frame = pd.DataFrame(GAPS, columns=list("abcdefgh"))
    again = es.PPCA(3, tol=1e-9, max_iter=2000).set_output(transform="pandas").fit(frame)
    assert relative(again.transform(frame).to_numpy(), fitted.embedding_) < 1e-5
    single = es.PPCA(3).fit(GAPS.astype(np.float32))
    assert single.transform(GAPS.astype(np.float32)).dtype == single.impute(GAPS.astype(np.float32)).dtype == np.float32
    copy = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copy.impute(GAPS), fitted.impute(GAPS))
    assert fitted.__sklearn_tags__().input_tags.allow_nan
    np.testing.assert_array_equal(fitted.impute(X), X)


# ---------------------------------------------------------------------- bad input
def test_rows_and_columns_without_entries(fitted: Any) -> None:
    nothing = np.vstack([GAPS[:5], np.full((2, 8), np.nan)])
    with reports(MissingWarning, "2 of 7 rows have no entry", "first is row 5", "mean"):
        filled = fitted.impute(nothing)
    np.testing.assert_allclose(filled[5:], np.broadcast_to(fitted.mean_, (2, 8)))
    with reports(MissingWarning, "2 of 7 rows"):
        placed = fitted.transform(nothing)
    np.testing.assert_array_equal(placed[5:], 0.0)
    np.testing.assert_allclose(fitted.posterior_covariance(nothing)[6], np.eye(3))
    assert fitted.score_samples(nothing)[6] == pytest.approx(0.0, abs=1e-12)
    column = GAPS.copy()
    column[:, [2, 6]] = np.nan
    with pytest.raises(InputError, match=says("Columns 2, 6 of X have no entry in any of the 300 rows", "Drop")):
        es.PPCA(3).fit(column)
    np.testing.assert_array_equal(fitted.impute(column).shape, (300, 8))  # a model that knows them fills them in


def test_constant_columns_beside_gaps() -> None:
    padded = np.c_[GAPS, np.where(np.arange(300) % 3 == 0, np.nan, 4.0)]
    found = es.PPCA(3).fit(padded)
    np.testing.assert_allclose(found.impute(padded)[:, 8], 4.0, atol=1e-6)
    with pytest.raises(DimensionError, match="All 9 rows coincide where they have entries"):
        es.PPCA(1).fit(np.where(np.eye(9, 4) > 0, np.nan, 2.0))


def test_too_many_components() -> None:
    everything = es.PPCA(8).fit(X)  # any Gaussian
    assert everything.noise_variance_ == 0
    assert everything.score(X) == pytest.approx(PCA(8).fit(X).score(X), rel=1e-9)
    assert everything.score(X) == pytest.approx(es.PPCA(7).fit(X).score(X), rel=1e-9)
    with pytest.raises(DimensionError, match=says("n_components=9 exceeds 8")):
        es.PPCA(9).fit(X)
    for wanted in (8, 9):
        with pytest.raises(DimensionError, match=says(f"n_components={wanted} exceeds 7", "missing entries", "<= 7")):
            es.PPCA(wanted).fit(GAPS)
    with pytest.raises(DimensionError, match=says("n_components=4 exceeds 3", "5 rows")):
        es.PPCA(4).fit(GAPS[:5])


def test_no_noise_at_all() -> None:
    exact = planes(noise=0.0)[0]
    ppca = es.PPCA(3).fit(exact)
    assert ppca.noise_variance_ == 0
    assert ppca.log_likelihood_ == np.inf
    gaps = pierced(exact)
    told = np.sum(~np.isnan(gaps), axis=1) > 3  # fewer entries leave the row open
    np.testing.assert_allclose(ppca.impute(gaps)[told], exact[told], atol=1e-3)
    with pytest.raises(DimensionError, match="3 axes hold all variance of the 8 features"):
        ppca.score(exact)
    with reports(DegenerateWarning, "4 axes leave nothing", "300 rows", "fewer components"):
        es.PPCA(4, max_iter=400).fit(pierced(exact, 0.2))
    with pytest.raises(DimensionError, match=says("Along axis 1", "no more than along all others", "PCA")):
        quietly(lambda: es.PPCA(1).fit(np.vstack([np.eye(4), -np.eye(4)])))


def test_sparse_gaps_infinity_and_idle_parameters(fitted: Any) -> None:
    S = sp.csr_array(np.nan_to_num(X))
    S.data[:3] = np.nan
    for call in (es.PPCA(2).fit, fitted.transform, fitted.impute, fitted.score_samples):
        with pytest.raises(InputError, match=says("Sparse X has 3 entries NaN", "toarray")):
            call(S)
    for call in (es.PPCA(2).fit, fitted.transform, fitted.impute):
        with pytest.raises(ValueError, match="infinity"):
            call(np.where(np.arange(2400).reshape(300, 8) == 77, np.inf, GAPS))
    with pytest.raises(InputError, match=says("missing entries", "reduce=")):
        es.PPCA(2, reduce=4).fit(GAPS)
    with pytest.raises(InputError, match=says("missing entries", "minka", "bic")):
        es.PPCA("auto", criterion="minka").fit(GAPS)
    with pytest.raises(DimensionError, match="20 rows and 60 features"):
        es.PPCA("auto", criterion="minka").fit(planes(20, 60)[0])
    with pytest.raises(InputError, match="squares overflow"):
        es.PPCA(2).fit(1e200 * GAPS)


def test_an_iteration_that_stops_short() -> None:
    with reports(ConvergenceWarning, "max_iter=2", "wanted tol=0.0001"):
        es.PPCA(3, max_iter=2).fit(GAPS)


def test_an_axis_far_below_the_largest_survives_the_gaps():
    """Columns in unlike units: what the first axis leaves is a millionth of it, and has axes of its own."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 5)) * [30_000.0, 18.0, 6.0, 5.0, 4.0]
    gaps = np.where(rng.random(X.shape) < 0.05, np.nan, X)
    found, whole = es.PPCA(2).fit(gaps), es.PPCA(2).fit(X)
    np.testing.assert_allclose(found.explained_variance_, whole.explained_variance_, rtol=0.1)
    assert np.all(np.diff(found.log_likelihoods_) > 0)
