"""Sufficient dimension reduction by slices, contours and likelihood, against statsmodels, theory and known answers."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, load_wine
from statsmodels.regression import dimred

import eigenspan as es
from eigenspan.data import Numbers
from eigenspan.errors import DegenerateWarning, DimensionError, LabelError, LabelWarning, RidgeWarning
from eigenspan.methods.sufficient.contours import _Likelihood
from eigenspan.methods.sufficient.response_slices import responses_of, slices_by_default
from helpers import angle, quietly

SLICED = [es.SIR, es.SAVE, es.DirectionalRegression, es.LAD]
ALL = [*SLICED, es.PHD, es.ContourRegression]
each = pytest.mark.parametrize("cls", ALL, ids=lambda cls: cls.__name__)
sliced = pytest.mark.parametrize("cls", SLICED, ids=lambda cls: cls.__name__)


def regression(n: int = 1000, D: int = 6, seed: int = 0, kind: str = "trend") -> tuple[Any, Any, Any]:
    """Rows, a response, and the directions that it depends on."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, D)) @ rng.standard_normal((D, D)) + 3.0
    B, _ = np.linalg.qr(rng.standard_normal((D, 2)))
    one, two = ((X - X.mean(axis=0)) @ B / ((X - X.mean(axis=0)) @ B).std(axis=0)).T
    noise = 0.1 * rng.standard_normal(n)
    if kind == "trend":
        return X, one + 0.3 * one**3 + noise, B[:, :1]
    if kind == "symmetric":
        return X, one**2 + noise, B[:, :1]
    return X, one + two**2 + noise, B


# ---------------------------------------------------------------------- oracles
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("cls, theirs, how", [
    (es.SIR, dimred.SIR, {"slice_n": 50}),
    (es.SAVE, dimred.SAVE, {"slice_n": 50}),
    (es.PHD, dimred.PHD, {}),
], ids=["SIR", "SAVE", "PHD"])  # fmt: skip
def test_directions_are_those_of_statsmodels(cls: Any, theirs: Any, how: dict[str, Any], seed: int) -> None:
    X, y, _ = regression(seed=seed, kind="both")
    ours = cls(3).fit(X, y) if cls is es.PHD else cls(3, n_slices=1000 // how["slice_n"]).fit(X, y)
    params = theirs(y, X).fit(**how).params
    for j in range(1, 4):
        assert angle(ours.components_[:j].T, params[:, :j]) < 1e-6


def test_residual_hessian_is_that_of_statsmodels() -> None:
    X, y, _ = regression(kind="both")
    params = dimred.PHD(y, X).fit(resid=True).params
    assert angle(es.PHD(2, response="residual").fit(X, y).components_.T, params[:, :2]) < 1e-6


def test_directional_regression_is_its_definition_over_pairs() -> None:
    """``E (2I − E[(z − z')(z − z')' | slices])²`` over pairs of slices, in plain loops."""
    X, y, _ = regression(200, 4, kind="both")
    fitted = es.DirectionalRegression(2, n_slices=4).fit(X, y)
    T = np.linalg.inv(np.linalg.cholesky(np.cov(X.T))).T
    W, codes = (X - X.mean(axis=0)) @ T, np.argsort(np.argsort(y)) // 50
    M = np.zeros((4, 4))
    for a in range(4):
        for b in range(4):
            A, B = W[codes == a], W[codes == b]
            second = np.cov(A.T) + np.cov(B.T) + np.outer(d := A.mean(axis=0) - B.mean(axis=0), d)
            M += (2 * np.eye(4) - second) @ (2 * np.eye(4) - second) / 16
    U = np.linalg.eigh(M)[1]
    assert (
        angle(fitted.components_.T, T @ U[:, ::-1][:, :2]) < 3.0
    )  # the two forms differ by what slices average to in small samples


# ---------------------------------------------------------------------- known answers
@each
def test_a_trend_is_found(cls: Any) -> None:
    X, y, B = regression(2000)
    if cls is not es.PHD:  # a trend does not bend
        assert angle(cls(1).fit(X, y).embedding_, X @ B - (X @ B).mean(axis=0)) < 5


@pytest.mark.parametrize("cls", [es.SAVE, es.DirectionalRegression, es.PHD, es.LAD, es.ContourRegression])
def test_what_is_symmetric_is_found(cls: Any) -> None:
    X, y, B = regression(2000, kind="symmetric")
    truth = X @ B - (X @ B).mean(axis=0)
    assert angle(cls(1).fit(X, y).embedding_, truth) < 8
    assert angle(es.SIR(1).fit(X, y).embedding_, truth) > 30


@pytest.mark.parametrize("cls", [es.DirectionalRegression, es.LAD])
def test_both_at_once(cls: Any) -> None:
    X, y, B = regression(2000, kind="both")
    assert angle(cls(2).fit(X, y).embedding_, X @ B - (X @ B).mean(axis=0)) < 10


# ---------------------------------------------------------------------- theorems
@each
def test_affine_maps_of_x_change_nothing(cls: Any) -> None:
    X, y, _ = regression(400, kind="both")
    A = np.random.default_rng(5).standard_normal((6, 6))
    before, after = cls(2).fit(X, y), cls(2).fit(X @ A + 7, y)
    assert angle(A @ after.components_.T, before.components_.T) < 1e-4
    np.testing.assert_allclose(np.abs(after.embedding_), np.abs(before.embedding_), atol=1e-5)


@pytest.mark.parametrize("cls", [es.SIR, es.SAVE, es.DirectionalRegression, es.LAD])
def test_monotone_maps_of_y_change_nothing(cls: Any) -> None:
    X, y, _ = regression(400)
    np.testing.assert_allclose(cls(2).fit(X, y).components_, cls(2).fit(X, np.exp(y / 4)).components_, atol=1e-8)


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_on_classes_it_is_the_discriminant(load: Any) -> None:
    X, y = load(return_X_y=True)
    lda = es.LDA(2).fit(X, y).components_.T
    for given in (y, y.astype(str), pd.Series(y).map({0: "a", 1: "b", 2: "c"}).astype("category")):
        assert angle(es.SIR(2).fit(X, given).components_.T, lda) < 1e-4
    np.testing.assert_array_equal(es.SIR(2).fit(X, y.astype(str)).classes_, ["0", "1", "2"])


def test_simple_contours_become_slices() -> None:
    """Pairs of almost the same response: the mean covariance within slices, whose least axes are those of SIR."""
    X, y, _ = regression(1000)
    simple = es.ContourRegression(1, form="simple", contour=0.02).fit(X, y)
    assert angle(simple.components_.T, es.SIR(1, n_slices=50).fit(X, y).components_.T) < 1
    W = (X - X.mean(axis=0)) @ np.linalg.inv(np.linalg.cholesky(np.cov(X.T))).T
    gaps = np.abs(y[:, None] - y)[i := np.triu_indices(1000, 1)]
    near = gaps <= np.quantile(gaps, 0.02)
    d = (W[i[0]] - W[i[1]])[near]
    values = np.sort(1 - np.linalg.eigvalsh(d.T @ d / len(d)) / 2)[::-1]
    np.testing.assert_allclose(simple.eigenvalues_, values[:1], rtol=1e-3)


def test_the_likelihood_has_the_slope_it_says() -> None:
    X, y, _ = regression(300)
    W = (X - X.mean(axis=0)) @ np.linalg.inv(np.linalg.cholesky(np.cov(X.T))).T
    likelihood = _Likelihood.of(W, responses_of(Numbers(np.column_stack([y, y**2])), 4, "LAD"), 0.0)
    V, E = (np.random.default_rng(1).standard_normal((6, 2)) for _ in range(2))
    up, down = likelihood.at(V + 1e-6 * E)[0], likelihood.at(V - 1e-6 * E)[0]
    np.testing.assert_allclose((up - down) / 2e-6, np.sum(likelihood.at(V)[1] * E), rtol=1e-6)


def test_no_start_beats_the_likelihood_found() -> None:
    X, y, _ = regression(400, kind="both")
    lad = es.LAD(2, n_slices=5).fit(X, y)
    S, codes = np.cov(X.T, bias=True), np.argsort(np.argsort(y)) // 80

    def gain(V: Any) -> float:
        inside = [np.linalg.slogdet(V.T @ np.cov(X[codes == h].T, bias=True) @ V)[1] for h in range(5)]
        return float(np.linalg.slogdet(V.T @ S @ V)[1] - np.mean(inside)) / 2

    assert lad.log_likelihood_gain_ == pytest.approx(gain(lad.components_.T), abs=1e-8)
    others = [es.SIR, es.SAVE, es.DirectionalRegression]
    assert all(gain(cls(2, n_slices=5).fit(X, y).components_.T) <= lad.log_likelihood_gain_ + 1e-9 for cls in others)


# ---------------------------------------------------------------------- how many
@pytest.mark.parametrize("cls", [es.SIR, es.SAVE, es.LAD])
def test_tests_find_the_dimension(cls: Any) -> None:
    X, y, _ = regression(2000)
    fitted = cls("test", n_slices=5).fit(X, y)
    assert fitted.components_.shape == (1, 6)
    assert list(fitted.order_tests_.columns) == ["statistic", "degrees", "p_value"]
    assert fitted.order_tests_["p_value"].iloc[0] < 1e-10


@pytest.mark.parametrize(
    "cls, kind",
    [(es.SIR, "trend"), (es.DirectionalRegression, "trend"), (es.PHD, "symmetric"), (es.ContourRegression, "trend")],
)
def test_permutations_find_it_too(cls: Any, kind: str) -> None:
    X, y, _ = regression(400, 4, kind=kind)
    how = {"form": "simple"} if cls is es.ContourRegression else {}
    fitted = cls("test", n_permutations=39, **how).fit(X, y)
    assert 1 <= fitted.components_.shape[0] <= 2
    assert fitted.order_tests_["p_value"].iloc[0] == 1 / 40
    again = cls("test", n_permutations=39, **how).fit(X, y)
    np.testing.assert_array_equal(fitted.order_tests_["p_value"], again.order_tests_["p_value"])


@pytest.mark.parametrize("cls", [es.SIR, es.SAVE, es.PHD, es.LAD])
@pytest.mark.every(2)
def test_levels_are_kept_where_there_is_nothing(cls: Any) -> None:
    """P-values of pure noise are uniform: their mean over 60 draws is near a half."""
    found = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((400, 4)), rng.standard_normal(400)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LabelWarning)  # that there is nothing
            fitted = (
                cls("test" if cls is es.LAD else 1, n_slices=4).fit(X, y) if cls is not es.PHD else cls(1).fit(X, y)
            )
        found.append(fitted.order_tests_["p_value"].iloc[0])
    assert 0.35 < np.mean(found) < 0.65


def test_noise_is_told_of() -> None:
    rng = np.random.default_rng(3)
    with pytest.warns(LabelWarning, match="No direction of X tells of the response at level 1e-06"):
        es.SIR("test", level=1e-6).fit(rng.standard_normal((300, 5)), rng.standard_normal(300))


# ---------------------------------------------------------------------- what may come
def test_several_responses() -> None:
    X, _, B = regression(3000, kind="both")
    rng = np.random.default_rng(0)
    two = np.column_stack([(X - X.mean(axis=0)) @ B, np.ones(3000)]) + 0.1 * np.hstack(
        [rng.standard_normal((3000, 2)), np.zeros((3000, 1))]
    )
    for cls in (es.SIR, es.SAVE, es.DirectionalRegression, es.LAD):
        assert angle(cls(2).fit(X, two).components_.T, B) < 6


@each
def test_missing_responses_count_in_the_covariance_only(cls: Any) -> None:
    X, y, _ = regression(600)
    gaps = np.where(np.arange(600) % 5 == 0, np.nan, y)
    some = cls(1).fit(X, gaps)
    assert some.embedding_.shape == (600, 1)
    full = cls(1).fit(X[np.arange(600) % 5 != 0], y[np.arange(600) % 5 != 0])
    assert angle(some.components_.T, full.components_.T) < 30


def test_rows_in_parts_and_in_a_file(tmp_path: Any) -> None:
    X, y, _ = regression(1000)
    whole = es.SIR(1, n_slices=8).fit(X, y)
    np.save(tmp_path / "X.npy", X)
    filed = es.SIR(1, n_slices=8).fit(np.load(tmp_path / "X.npy", mmap_mode="r"), y)
    np.testing.assert_allclose(filed.components_, whole.components_, atol=1e-10)
    dense_road = es.SIR(1, n_slices=8, n_permutations=1).fit(X, y)
    np.testing.assert_allclose(dense_road.components_, whole.components_, atol=1e-8)
    np.testing.assert_allclose(dense_road.eigenvalues_, whole.eigenvalues_, atol=1e-10)
    parts = es.SIR(1, n_slices=8).partial_fit(X[:600], y[:600])
    parts.partial_fit(X[600:601], y[600:601]).partial_fit(X[601:], y[601:])
    assert parts.n_samples_seen_ == 1000
    assert angle(parts.components_.T, whole.components_.T) < 5  # slices are those of the first 600
    edges = whole.slice_edges_
    again = whole.partial_fit(X[:10], y[:10])
    assert again.n_samples_seen_ == 1010
    np.testing.assert_array_equal(again.slice_edges_, edges)
    with pytest.raises(DimensionError, match="the first rows have 2 slices"):
        es.SIR(2).partial_fit(X[:10], y[:10])


def test_classes_in_parts() -> None:
    X, y = load_iris(return_X_y=True)
    names = np.array(["a", "b", "c"])[y]
    parts = es.SIR(2).partial_fit(X[:60], names[:60]).partial_fit(X[60:], names[60:])
    assert angle(parts.components_.T, es.SIR(2).fit(X, names).components_.T) < 1e-6
    with pytest.raises(LabelError, match="one of classes before"):
        parts.partial_fit(X[:5], np.arange(5.0))


@pytest.mark.filterwarnings("ignore:. of the 3 starts lead to different subspaces")  # LAD: one direction of many
@each
def test_more_features_than_rows(cls: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 100))
    y = X[:, 0] + 0.1 * rng.standard_normal(60)
    more = {"contour": 0.9} if cls is es.ContourRegression else {}  # of fewer pairs some directions are in none
    with pytest.warns(RidgeWarning, match="60 rows span 59 dimensions"):
        wide = cls(1, **more).fit(X, y)
    assert wide.components_.shape == (1, 100)
    for remedy in ({"ridge": 0.5}, {"reduce": 8}):
        assert np.isfinite(cls(1, **more, **remedy).fit(X, y).embedding_).all()


@each
def test_kernel(cls: Any) -> None:
    X, y, _ = regression(150, 3)
    fitted = cls(1, kernel=es.Kernel("rbf", gamma="median"), landmarks=20).fit(X, y)
    np.testing.assert_allclose(fitted.transform(X), fitted.embedding_, atol=1e-8)


def test_a_kernel_sees_a_curve() -> None:
    """``y = ‖x‖²`` is a function of one axis in the feature space of a quadratic kernel, of none in X."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 3))
    y = (X**2).sum(axis=1)
    fitted = es.SIR(1, kernel=es.Kernel("poly", degree=2)).fit(X, y)
    assert abs(np.corrcoef(fitted.embedding_[:, 0], y)[0, 1]) > 0.95


# ---------------------------------------------------------------------- what may not
def test_bad_responses() -> None:
    X, y, _ = regression(100)
    with pytest.raises(LabelError, match="all 100 of them are"):
        es.SIR().fit(X, np.ones(100))
    with pytest.raises(LabelError, match="n_slices=200, but only 100 rows"):
        es.SIR(n_slices=200).fit(X, y)
    with pytest.raises(LabelError, match="Take two or more"):
        es.SAVE(n_slices=1).fit(X, y)
    with pytest.raises(LabelError, match="only one class"):
        es.SIR().fit(X, ["a"] * 100)
    with pytest.raises(LabelError, match="all 100 of them are missing"):
        es.PHD().fit(X, np.full(100, np.nan))
    with pytest.raises(LabelError, match="infinite"):
        es.SIR().fit(X, np.where(y > 0, np.inf, y))
    with pytest.raises(LabelError, match="PHD needs a response in numbers"):
        es.PHD().fit(X, np.array(["a", "b", "c"])[np.arange(100) % 3])
    with pytest.raises(LabelError, match="linear function of X"):
        es.PHD(response="residual").fit(X, X[:, 0])
    with pytest.raises(DimensionError, match="has 3 slices"):
        es.SIR(3, n_slices=3).fit(X, y)
    with pytest.raises(ValueError, match="n_components"):
        es.SIR(0).fit(X, y)


@pytest.mark.parametrize("cls", [es.SAVE, es.DirectionalRegression, es.LAD])
def test_a_slice_of_one_row_has_no_covariance(cls: Any) -> None:
    X, y, _ = regression(100)
    with pytest.raises(LabelError, match="1 of 3 classes have one row only"):
        cls().fit(X, ["a"] + ["b"] * 50 + ["c"] * 49)
    with pytest.raises(LabelError, match="slices of the response have one row only"):
        cls(n_slices=80).fit(X, y)


def test_a_slice_of_one_row_is_told_of() -> None:
    X, _, _ = regression(100)
    with pytest.warns(LabelWarning, match="1 of 3 classes have one row only"):
        es.SIR(1).fit(X, ["a"] + ["b"] * 50 + ["c"] * 49)


def test_slices_without_their_means_are_reduced_as_by_statsmodels() -> None:
    """Where all slices have one mean, the likelihood is that of covariance reduction (Cook & Forzani, 2008)."""
    X, y, _ = regression(600, kind="both")
    codes = np.argsort(np.argsort(y)) // 150
    X = X - np.array([X[codes == h].mean(axis=0) for h in range(4)])[codes]
    ours = es.LAD(2, shrinkage=0).fit(X, codes)
    start = ours.components_.T + 0.05 * np.random.default_rng(0).standard_normal((6, 2))
    theirs = dimred.CORE(codes, X, 2).fit(start_params=np.linalg.qr(start)[0], maxiter=2000, gtol=1e-3)
    assert angle(ours.components_.T, theirs.params) < 0.01


def test_few_values_that_repeat_are_slices_whatever_their_number() -> None:
    X, y = load_iris(return_X_y=True)
    few = np.r_[0:8, 50:58, 100:108]
    assert es.SIR().fit(X[few], y[few]).components_.shape == (2, 4)
    assert es.SIR().partial_fit(X[few], y[few]).slice_edges_.size == 2


def test_subspaces_of_the_same_likelihood_are_reported() -> None:
    """With as many features as rows, every slice lies apart from the others in many directions."""
    X, y, _ = regression(60)
    with pytest.warns(DegenerateWarning, match="starts lead to different subspaces of the same likelihood"):
        es.LAD(2, kernel=es.Kernel("rbf", gamma=0.5)).fit(X / X.std(axis=0), y)
    es.LAD(2, n_slices=5).fit(*regression(400, kind="both")[:2])


def test_slices_without_extent() -> None:
    X, y, _ = regression(200)
    X[y > np.quantile(y, 0.5), 0] = X[:, 1].max()  # half of the rows lie in a plane
    assert es.LAD(1, n_slices=2).fit(X, y).diagnostics_["shrinkage"] == 0.01
    with pytest.raises(LabelError, match="1 slices of the response have no extent"):
        es.LAD(1, n_slices=2, shrinkage=0).fit(X, y)


@pytest.mark.parametrize(
    ("rows", "levels", "expected"),
    [
        (1000, 0, 10), (100, 0, 10), (99, 0, 9), (20, 0, 2), (5, 0, 2),  # ten, or so many that each has ten rows
        (20, 10, 10), (1000, 10, 10), (1000, 11, 10), (19, 10, 2), (18, 9, 9), (17, 9, 2), (1000, 3, 10),
    ],
)  # fmt: skip
def test_the_number_of_slices_follows_from_rows_and_levels(rows, levels, expected):
    assert slices_by_default(rows, levels) == expected


@pytest.mark.parametrize("method", [es.SIR, es.SAVE, es.DirectionalRegression])
def test_fewer_values_than_slices_are_a_slice_each(method: Any) -> None:
    X = np.random.default_rng(0).normal(size=(6, 2))
    y = np.array([0.0, 1, 0, 1, 0, 1])
    found, expected = (quietly(lambda n=n: method(1, n_slices=n).fit(X, y)) for n in (10, 2))
    np.testing.assert_allclose(found.components_, expected.components_)
    with pytest.raises(LabelError, match=r"n_slices=10, but only 6 rows have a response, of 6 distinct values"):
        method(1, n_slices=10).fit(X, np.arange(6.0))
