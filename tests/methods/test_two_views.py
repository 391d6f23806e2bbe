"""Canonical correlations: other people's numbers, theorems, both roads, both directions, tests of significance, bad input."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.linalg as la
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris, load_linnerud, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import eigenspan as es
from eigenspan.errors import DegenerateWarning, DimensionError, InputError
from eigenspan.problem import white_views as views
from helpers import angle, assert_allclose_up_to_sign, centred, peak_beside_prediction, quietly, reports, says


def pair(n: int = 300, p: int = 6, q: int = 4, shared: int = 2, seed: int = 0) -> tuple[Any, Any]:
    """Two mixed tables with a few noisy factors in common."""
    rng = np.random.default_rng(seed)
    T = rng.standard_normal((n, shared)) * np.array([2.0, 1.0, 0.7, 0.5])[:shared]
    tables = [
        np.hstack([T + 0.5 * rng.standard_normal(T.shape), rng.standard_normal((n, D - shared))])
        @ rng.standard_normal((D, D))
        + rng.standard_normal(D)
        for D in (p, q)
    ]
    return tables[0], tables[1]


def exact(X: Any, Y: Any) -> Any:
    """Canonical correlations by the cosines of the angles between the column spaces."""
    Q, P = (np.linalg.qr(centred(table))[0] for table in (X, Y))
    return np.linalg.svd(Q.T @ P)[1]


def brute_force(X: Any, Y: Any, rho: tuple[float, float]) -> tuple[Any, Any]:
    """Values and stacked weights of the regularised problem as one dense generalised eigenproblem."""
    X, Y, n = centred(X), centred(Y), len(X)
    p, q = X.shape[1], Y.shape[1]
    Cxx, Cyy, Cxy = X.T @ X / (n - 1), Y.T @ Y / (n - 1), X.T @ Y / (n - 1)
    A = np.block([[np.zeros((p, p)), Cxy], [Cxy.T, np.zeros((q, q))]])
    B = la.block_diag(Cxx + rho[0] * np.trace(Cxx) / p * np.eye(p), Cyy + rho[1] * np.trace(Cyy) / q * np.eye(q))
    values, vectors = la.eigh(A, B)
    return values[::-1], vectors[:, ::-1] * np.sqrt(2)


X, Y = pair()


# ---------------------------------------------------------------------- other people's numbers
@pytest.mark.parametrize("data", ["linnerud", "wine", "mixed"])
def test_statsmodels_agrees(data: str) -> None:
    CanCorr = pytest.importorskip("statsmodels.multivariate.cancorr").CanCorr
    wine = load_wine().data
    one, two = {
        "linnerud": load_linnerud(return_X_y=True),
        "wine": (wine[:, :6], wine[:, 6:]),
        "mixed": (X, Y),
    }[data]
    theirs = CanCorr(two, one)
    ours = es.CCA(min(one.shape[1], two.shape[1])).fit(one, two)
    np.testing.assert_allclose(ours.correlations_, theirs.cancorr, atol=1e-8)
    np.testing.assert_allclose(ours.spectrum_, theirs.cancorr, atol=1e-8)
    table, found = theirs.corr_test(), ours.significance()
    # the test of all pairs at once; that of single ones has the right degrees of freedom there where the views are of one width
    overall = table.stats_mv.loc["Wilks' lambda"].astype(float)
    assert found.loc[1, ["F", "df_num", "df_den", "p_F"]].tolist() == pytest.approx(
        overall[["F Value", "Num DF", "Den DF", "Pr > F"]].tolist(), rel=1e-8, abs=1e-12
    )
    np.testing.assert_allclose(found["wilks_lambda"], table.stats["Wilks' lambda"].astype(float), rtol=1e-8)
    if one.shape[1] == two.shape[1]:
        np.testing.assert_allclose(
            found[["F", "df_num", "df_den", "p_F"]],
            table.stats[["F Value", "Num DF", "Den DF", "Pr > F"]].astype(float),
            rtol=1e-8,
        )


def test_one_column_has_the_exact_f_test_of_regression() -> None:
    found = es.CCA().fit(X, Y[:, 0]).significance().loc[1]
    r2 = LinearRegression().fit(X, Y[:, 0]).score(X, Y[:, 0])
    assert (found["df_num"], found["df_den"]) == (6, 293)
    assert found["F"] == pytest.approx(r2 / (1 - r2) * 293 / 6)


def test_scikit_learn_agrees() -> None:
    from sklearn.cross_decomposition import CCA

    theirs = CCA(3, tol=1e-12, max_iter=20000).fit(X, Y)
    ours = es.CCA(3).fit(X, Y)
    for mine, scores in zip(ours.transform(X, Y), theirs.transform(X, Y), strict=True):
        assert_allclose_up_to_sign(mine, scores / scores.std(axis=0, ddof=1), atol=1e-4)
    for k, mine in enumerate((ours.x_loadings_, ours.y_loadings_)):  # theirs are of standardised columns
        one, spread = (theirs.x_loadings_, X.std(axis=0)) if k == 0 else (theirs.y_loadings_, Y.std(axis=0))
        scores = theirs.transform(X, Y)[k].std(axis=0, ddof=1)
        assert_allclose_up_to_sign(mine, one * spread[:, None] * scores, rtol=1e-2, atol=1e-2)
    # theirs puts variates of X into the loadings of y as they are; ours is the best there is
    assert np.mean((ours.predict(X) - Y) ** 2) < np.mean((theirs.predict(X) - Y) ** 2)


@pytest.mark.parametrize("ridge", [(0.1, 0.1), (0.5, 0.0), (0.0, 2.0)])
def test_a_ridge_is_that_of_the_stated_problem(ridge: tuple[float, float]) -> None:
    values, vectors = brute_force(X, Y, ridge)
    for small in (2**22, 0):  # both roads
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("eigenspan.problem.white_views._SMALL", small)
            cca = es.CCA(3, ridge=ridge).fit(X, Y)
        np.testing.assert_allclose(cca.eigenvalues_, values[:3], atol=1e-10)
        assert_allclose_up_to_sign(np.vstack([cca.x_weights_, cca.y_weights_]), vectors[:, :3], atol=1e-8)
        one, two = cca.transform(X, Y)
        np.testing.assert_allclose(
            cca.correlations_, [np.corrcoef(one[:, k], two[:, k])[0, 1] for k in range(3)], atol=1e-10
        )
        assert np.all(cca.correlations_ > cca.eigenvalues_)


# ---------------------------------------------------------------------- what the variates are
def test_variates_are_uncorrelated_but_in_pairs() -> None:
    cca = es.CCA(4).fit(X, Y)
    one, two = cca.transform(X, Y)
    np.testing.assert_allclose(np.cov(one.T), np.eye(4), atol=1e-10)
    np.testing.assert_allclose(np.cov(two.T), np.eye(4), atol=1e-10)
    np.testing.assert_allclose(one.T @ two / 299, np.diag(cca.correlations_), atol=1e-10)
    np.testing.assert_allclose(cca.embedding_, one, atol=1e-10)
    np.testing.assert_allclose(cca.y_embedding_, two, atol=1e-10)
    np.testing.assert_allclose(one, (X - cca.x_mean_) @ cca.x_weights_, atol=1e-10)
    np.testing.assert_allclose(two, (Y - cca.y_mean_) @ cca.y_weights_, atol=1e-10)
    np.testing.assert_array_equal(cca.x_rotations_, cca.components_.T)


@pytest.mark.parametrize("condition", [1.0, 1e3, 1e6])
@pytest.mark.parametrize("shift", [0.0, 1e3])
def test_affine_maps_change_nothing(condition: float, shift: float) -> None:
    rng = np.random.default_rng(3)
    before = es.CCA(3).fit(X, Y)

    def moved(table: Any) -> Any:
        D = table.shape[1]
        Q, P = (np.linalg.qr(rng.standard_normal((D, D)))[0] for _ in range(2))
        return table @ (Q * np.geomspace(1, condition, D)) @ P + shift * rng.standard_normal(D)

    one, two = moved(X), moved(Y)
    after = es.CCA(3).fit(one, two)
    np.testing.assert_allclose(after.correlations_, before.correlations_, atol=1e-8)
    for a, b in zip(after.transform(one, two), before.transform(X, Y), strict=True):
        assert_allclose_up_to_sign(a, b, rtol=0, atol=1e-8 * max(1.0, condition * max(1.0, shift) / 1e4))


def test_units_of_columns_do_not_matter() -> None:
    scale = np.geomspace(1e-12, 1e12, 6)
    np.testing.assert_allclose(es.CCA(4).fit(X * scale, Y).correlations_, exact(X, Y), atol=1e-12)


def test_far_from_the_origin() -> None:
    """Numbers whose sum with 2⁴⁰ is exact, so that only the mean is rounded."""
    one, two = (np.round(table * 2.0**12) / 2.0**12 for table in (X, Y))
    far = es.CCA(4).fit(one + 2.0**40, two - 2.0**40)
    np.testing.assert_allclose(far.correlations_, exact(one, two), atol=1e-10)


def test_redundant_and_constant_columns_do_no_harm() -> None:
    more = np.c_[X, X[:, 0] - 2 * X[:, 3], np.full(300, 7.0)]
    cca = es.CCA(3).fit(more, Y)
    np.testing.assert_allclose(cca.correlations_, exact(X, Y)[:3], atol=1e-10)
    assert cca.ranks_ == (6, 4)
    np.testing.assert_array_equal(cca.x_weights_[-1], 0)
    assert cca.diagnostics_["constant_columns_of_X"] == 1
    assert es.CCA(1).fit(X, np.c_[Y, np.ones(300)]).diagnostics_["constant_columns_of_y"] == 1


# ---------------------------------------------------------------------- theorems
def test_classes_as_a_view_are_discriminant_analysis() -> None:
    X, y = load_iris(return_X_y=True)
    cca = es.CCA(2).fit(X, OneHotEncoder(sparse_output=False).fit_transform(y[:, None]))
    lda = es.LDA(2).fit(X, y)
    for k in range(2):
        assert angle(cca.x_weights_[:, [k]], lda.components_[[k]].T) < 1e-5
    np.testing.assert_allclose(cca.correlations_**2, lda.eigenvalues_, atol=1e-10)


def test_one_column_is_regression() -> None:
    y = Y[:, 0]
    cca, regression = es.CCA().fit(X, y), LinearRegression().fit(X, y)
    assert cca.correlations_.shape == (1,)
    assert cca.correlations_[0] ** 2 == pytest.approx(regression.score(X, y), abs=1e-12)
    assert angle(cca.x_weights_, regression.coef_[:, None]) < 1e-6
    np.testing.assert_allclose(cca.predict(X), regression.predict(X), atol=1e-10)


def test_all_pairs_predict_as_regression_does_in_both_directions() -> None:
    cca = es.CCA(4).fit(X, Y)
    np.testing.assert_allclose(cca.predict(X), LinearRegression().fit(X, Y).predict(X), atol=1e-9)
    np.testing.assert_allclose(cca.predict_x(Y), LinearRegression().fit(Y, X).predict(Y), atol=1e-9)


@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_predictions_and_reconstructions_are_least_squares_on_variates(ridge: float) -> None:
    cca = es.CCA(2, ridge=ridge).fit(X, Y)
    one, two = cca.transform(X, Y)
    for Z, target, found in (
        (one, Y, cca.predict(X)),
        (two, X, cca.predict_x(Y)),
        (one, X, cca.inverse_transform(one)),
        (two, Y, cca.inverse_transform(one, two)[1]),
    ):
        np.testing.assert_allclose(found, LinearRegression().fit(Z, target).predict(Z), atol=1e-9)
    np.testing.assert_allclose(cca.transform(cca.inverse_transform(one[:9])), one[:9], atol=1e-10)


# ---------------------------------------------------------------------- more columns than rows
def test_more_columns_than_rows() -> None:
    one, two = pair(40, 60, 30)
    with reports(DegenerateWarning, "39 and 30 dimensions", "40 centred rows only 39", "at least 30", "ridge="):
        cca = es.CCA(2).fit(one, two)
    np.testing.assert_allclose(cca.correlations_, 1, atol=1e-10)
    values, _ = brute_force(one, two, (0.2, 0.2))
    for params in ({"ridge": 0.2}, {"reduce": 5}):
        cca = es.CCA(2, **params).fit(one, two)
        assert cca.correlations_[0] < 1 - 1e-6
        one_z, two_z = cca.transform(one, two)
        np.testing.assert_allclose(cca.embedding_, one_z, atol=1e-8)
        np.testing.assert_allclose(cca.y_embedding_, two_z, atol=1e-8)
    np.testing.assert_allclose(es.CCA(2, ridge=0.2).fit(one, two).eigenvalues_, values[:2], atol=1e-9)
    reduced = [es.PCA(5).fit_transform(table) for table in (one, two)]
    np.testing.assert_allclose(es.CCA(2, reduce=5).fit(one, two).correlations_, exact(*reduced)[:2], atol=1e-9)


def test_dimensions_that_only_meet_in_part() -> None:
    one, two = pair(12, 7, 6)
    with reports(DegenerateWarning, "7 and 6 dimensions", "at least 2 canonical correlations"):
        cca = es.CCA(3).fit(one, two)
    assert np.sum(cca.spectrum_ > 1 - 1e-10) == 2


# ---------------------------------------------------------------------- many rows: files, parts, sparse tables
def same(a: Any, b: Any, atol: float = 1e-9) -> None:
    np.testing.assert_allclose(a.correlations_, b.correlations_, atol=atol)
    for name in ("x_weights_", "y_weights_", "x_loadings_", "y_loadings_", "y_on_x_", "x_on_y_", "x_mean_", "y_mean_"):
        one, two = getattr(a, name), getattr(b, name)
        np.testing.assert_allclose(one, two, atol=100 * atol * np.abs(two).max(), err_msg=name)


@pytest.mark.parametrize("ridge", [0.0, 0.2])
def test_sums_over_rows_tell_all(ridge: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = es.CCA(2, ridge=ridge).fit(X, Y)
    piecewise = es.CCA(2, ridge=ridge)
    for rows in (slice(0, 1), slice(1, 7), slice(7, 120), slice(120, 300)):
        piecewise.partial_fit(X[rows], Y[rows])
    same(piecewise, whole)
    assert piecewise.n_samples_seen_ == 300
    same(es.CCA(2, ridge=ridge).fit(X[:200], Y[:200]).partial_fit(X[200:], Y[200:]), whole)
    files = []
    for name, table in (("X", X), ("Y", Y)):
        np.save(tmp_path / name, table)
        files.append(np.load(tmp_path / f"{name}.npy", mmap_mode="r"))
    mapped = es.CCA(2, ridge=ridge).fit(*files)
    same(mapped, whole)
    with pytest.raises(AttributeError, match="call transform"):
        _ = mapped.embedding_
    np.testing.assert_allclose(es.CCA(2, ridge=ridge).fit_transform(*files)[0], whole.embedding_, atol=1e-8)
    monkeypatch.setattr("eigenspan.problem.white_views._SMALL", 0)
    summed = es.CCA(2, ridge=ridge).fit(X, Y)
    same(summed, whole)
    np.testing.assert_allclose(summed.embedding_, whole.embedding_, atol=1e-8)
    np.testing.assert_allclose(summed.y_embedding_, whole.y_embedding_, atol=1e-8)


def test_a_file_is_read_once_and_never_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from eigenspan.data.rows import joint_moments as joint

    read: list[Any] = []

    class Counting(joint.Joined):
        def __getitem__(self, rows: Any) -> Any:
            read.append(rows)
            return super().__getitem__(rows)

    monkeypatch.setattr(joint, "Joined", Counting)
    rng, files = np.random.default_rng(0), []
    for name, D in (("X", 5), ("Y", 3)):
        np.save(tmp_path / name, rng.standard_normal((50_000, D)))
        files.append(np.load(tmp_path / f"{name}.npy", mmap_mode="r"))
    es.CCA(1).fit(*files)
    lengths = [part.stop - part.start for part in read]
    assert max(lengths) <= 4096
    assert 50_000 <= sum(lengths) <= 50_000 + 8 * 4096  # each strip of blocks has its first rows looked at before


@pytest.mark.parametrize("apart", [1e-4, 1e-6])
def test_nearly_dependent_columns_of_a_file_keep_their_digits(tmp_path: Path, apart: float) -> None:
    near = np.c_[X, X[:, 0] + apart * np.random.default_rng(0).standard_normal(300)]
    np.save(tmp_path / "X", near)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    np.testing.assert_allclose(es.CCA(4).fit(mapped, Y).correlations_, exact(near, Y), atol=1e-7)
    np.testing.assert_allclose(es.CCA(4).fit(near, Y).correlations_, exact(near, Y), atol=1e-9)
    with pytest.MonkeyPatch.context() as patch:  # many rows in memory are looked at again
        patch.setattr("eigenspan.problem.white_views._SMALL", 0)
        np.testing.assert_allclose(es.CCA(4).fit(near, Y).correlations_, exact(near, Y), atol=1e-10)


@pytest.mark.parametrize("n", [300, 30])
def test_sparse_views(n: int) -> None:
    rng = np.random.default_rng(0)
    one, two = (rng.poisson(0.3, (n, D)) * rng.uniform(1, 2, D) for D in (40, 25))
    two[:, :10] += one[:, :10]
    params: dict[str, Any] = {"n_components": 3, "ridge": 0.0 if n == 300 else 0.3}
    plain = es.CCA(**params).fit(one, two)
    for a, b in ((sp.csr_array(one), sp.csr_array(two)), (sp.csc_matrix(one), two), (one, sp.csr_array(two))):
        cca = es.CCA(**params).fit(a, b)
        np.testing.assert_allclose(cca.correlations_, plain.correlations_, atol=1e-8)
        for mine, theirs in zip(cca.transform(a, b), plain.transform(one, two), strict=True):
            assert_allclose_up_to_sign(mine, theirs, atol=1e-6)


# ---------------------------------------------------------------------- is there anything
def test_bartlett() -> None:
    found = es.CCA(1).fit(X, Y).significance()
    r2 = exact(X, Y) ** 2
    np.testing.assert_allclose(found["chi2"], [-(299 - 5.5) * np.log(1 - r2[k:]).sum() for k in range(4)], rtol=1e-10)
    np.testing.assert_array_equal(found["chi2_df"], [24, 15, 8, 3])
    assert (found["p_F"] < 0.001).tolist() == [True, True, False, False]  # two factors are shared
    assert isinstance(found, pd.DataFrame)


def test_permutations_find_the_pairs_that_are_there() -> None:
    p = es.CCA(4).permutation_test(X, Y, 99)
    assert p.shape == (4,)
    np.testing.assert_allclose(p[:2], 0.01)
    assert np.all(p[2:] > 0.05)
    np.testing.assert_array_equal(p, es.CCA(4).permutation_test(X, Y, 99))
    assert np.all(np.diff(p) >= 0)


def test_permutations_are_fair_and_work_with_a_ridge() -> None:
    """Of independent views every p-value is as likely as another; of related ones with few rows a ridge leaves enough to see."""
    rng = np.random.default_rng(1)
    p = [
        es.CCA(1).permutation_test(rng.standard_normal((30, 3)), rng.standard_normal((30, 2)), 19, seed)[0]
        for seed in range(60)
    ]
    assert 0.35 < np.mean(p) < 0.7
    for seed in range(10):  # no pair is surer than the one before it
        views = rng.standard_normal((30, 4)), rng.standard_normal((30, 4))
        assert np.all(np.diff(es.CCA(4).permutation_test(*views, 19, seed)) >= 0)
    signal = rng.standard_normal((40, 1))
    one, two = (signal + rng.standard_normal((40, D)) for D in (60, 30))
    assert es.CCA(1, ridge=0.5).permutation_test(one, two, 49)[0] == pytest.approx(0.02)
    other = rng.standard_normal((40, 30))
    assert es.CCA(1, ridge=0.5).permutation_test(one, other, 49)[0] > 0.05
    with pytest.raises(InputError, match=says("39 and 30 dimensions", "40 rows", "correlations of 1", "ridge=")):
        es.CCA(1).permutation_test(one, two)


# ---------------------------------------------------------------------- in use
def test_retrieval_by_cosines() -> None:
    cca = es.CCA(2).fit(X[:200], Y[:200])
    one, two = cca.transform(X[200:], Y[200:])
    cosines = (one @ two.T) / np.linalg.norm(one, axis=1)[:, None] / np.linalg.norm(two, axis=1)
    indices, found = cca.retrieve(X[200:], among=Y[200:], k=3)
    np.testing.assert_array_equal(indices, np.argsort(-cosines, axis=1)[:, :3])
    np.testing.assert_allclose(found, -np.sort(-cosines, axis=1)[:, :3])
    back, _ = cca.retrieve(Y[200:], among=X[200:], k=3, reverse=True)
    np.testing.assert_array_equal(back, np.argsort(-cosines.T, axis=1)[:, :3])
    with pytest.raises(InputError, match=r"k=101 must be a whole number between 1 and 100"):
        cca.retrieve(X, Y[200:], k=101)


@pytest.mark.parametrize("estimator", [es.CCA(2), es.CCA(2, reduce=3), es.KernelCCA(2)], ids=repr)
def test_fitting_and_transforming_returns_both_views(estimator: Any) -> None:
    for one, two in zip(estimator.fit_transform(X, Y), estimator.transform(X, Y), strict=True):
        np.testing.assert_allclose(one, two, atol=1e-8)
    framed = clone(estimator).set_output(transform="pandas").fit_transform(X, Y)
    np.testing.assert_allclose(framed[0].to_numpy(), estimator.embedding_, atol=1e-12)


def test_in_pipelines_and_searches() -> None:
    scores = make_pipeline(StandardScaler(), es.CCA(2)).fit_transform(X, Y)
    for one, two in zip(scores, es.CCA(2).fit_transform(X, Y), strict=True):
        assert_allclose_up_to_sign(one, two, atol=1e-9)
    # before other steps of a pipeline the scores of X alone
    found = make_pipeline(es.External(es.CCA(2)), LinearRegression()).fit(X, Y).predict(X)
    np.testing.assert_allclose(found, LinearRegression().fit(scores[0], Y).predict(scores[0]), atol=1e-9)
    one, two = pair(60, 50, 40, 1)
    search = GridSearchCV(es.CCA(1), {"ridge": [1e-3, 1.0]}, cv=3, error_score="raise").fit(one, two)
    assert search.best_params_ == {"ridge": 1.0}
    assert search.best_score_ > 0.2


def test_containers() -> None:
    frame, other = pd.DataFrame(X, columns=list("abcdef")), pd.DataFrame(Y, columns=list("wxyz"))
    cca = es.CCA(2).set_output(transform="pandas").fit(frame, other)
    plain = es.CCA(2).fit(X, Y)
    first, second = cca.transform(frame, other)
    assert list(first.columns) == ["cca0", "cca1"]
    np.testing.assert_allclose(second, plain.transform(X, Y)[1], atol=1e-10)
    np.testing.assert_allclose(cca.predict(frame), plain.predict(X), atol=1e-10)
    np.testing.assert_allclose(cca.predict_x(other), plain.predict_x(Y), atol=1e-10)
    np.testing.assert_array_equal(cca.retrieve(frame, among=other)[0], plain.retrieve(X, among=Y)[0])
    assert cca.score(frame, other) == pytest.approx(plain.score(X, Y))
    single = es.CCA(2).fit(X.astype(np.float32), Y.astype(np.float32))
    assert [part.dtype for part in single.transform(X.astype(np.float32), Y.astype(np.float32))] == [np.float32] * 2
    assert single.y_embedding_.dtype == np.float32
    again = pickle.loads(pickle.dumps(plain))
    np.testing.assert_array_equal(again.transform(X, Y)[1], plain.transform(X, Y)[1])
    assert es.CCA().fit(X, Y.tolist()).correlations_ == pytest.approx(plain.correlations_)


# ---------------------------------------------------------------------- bad input
def test_views_that_cannot_be() -> None:
    holes = Y.copy()
    holes[7, 2] = np.nan
    for call, words in (
        (lambda: es.CCA().fit(X, Y[:-1]), ["300 and 299 rows", "same points"]),
        (lambda: es.CCA().fit(X), ["requires y", "other view"]),
        (lambda: es.CCA().fit(X, holes), ["Input y contains NaN", "row 7, column 2"]),
        (lambda: es.CCA().partial_fit(X, holes), ["Input y contains NaN", "row 7, column 2"]),
        (lambda: es.CCA(reduce=3).fit(X, holes), ["Input y contains NaN"]),
        (lambda: es.CCA().fit(sp.csr_array(X), holes), ["Input y contains NaN"]),
        (lambda: es.CCA().fit(X[:5], holes[4:9]), ["Input y contains NaN", "row 3, column 2"]),
        (lambda: es.CCA().fit(X, np.where(Y > 2, np.inf, Y)), ["Input y contains infinity"]),
        (lambda: es.CCA().fit(X, np.array(list("ab"))[(Y[:, 0] > 0).astype(int)]), ["text", "get_dummies", "LDA"]),
        (lambda: es.CCA().fit(X, np.full((300, 2), "a", dtype=object)), ["text", "'a'"]),
        (lambda: es.CCA().fit(X, np.ma.masked_less(Y, 0)), ["masked array"]),
        (lambda: es.CCA().fit(X, Y.astype("M8[s]")), ["dates or times"]),
        (lambda: es.CCA().fit(X, Y[:, :, None]), ["shape (300, 4, 1)"]),
        (lambda: es.CCA().fit(X, np.ones(300)), ["All 300 rows of y coincide"]),
        (lambda: es.CCA().fit(np.ones((300, 3)), Y), ["All 300 rows coincide"]),
        (lambda: es.CCA(5).fit(X, Y), ["n_components=5 exceeds 4", "6 and 4 dimensions", "<= 4"]),
        (lambda: es.CCA(2).fit(X, Y[:, 0]), ["n_components=2 exceeds 1"]),
        (lambda: es.CCA(ridge=(0.1, 0.2, 0.3)).fit(X, Y), ["ridge=", "2 of them"]),
        (lambda: es.CCA(ridge=(0.1, -0.2)).fit(X, Y), ["not negative"]),
        (lambda: es.CCA(ridge=("a", "b")).fit(X, Y), ["not negative"]),
        (lambda: es.CCA().fit(X, Y).retrieve(X, Y, k=1.5), ["k=1.5", "whole number"]),
        (lambda: es.CCA().permutation_test(X, Y, 1.5), ["n_permutations=1.5", "whole number"]),
        (lambda: es.CCA().fit(X, Y).transform(X, Y[:, :3]), ["4 columns", "3 now"]),
        (lambda: es.CCA(ridge=0.1).fit(X, Y).significance(), ["ridge", "permutation_test"]),
        (lambda: es.CCA().permutation_test(X, Y, 0), ["n_permutations=0"]),
        (lambda: es.CCA().partial_fit(X, Y).partial_fit(X, Y[:, :2]), ["6 and 4 columns", "6 and 2 now"]),
        (lambda: es.CCA().fit(X, Y).score(X, Y[:9]), ["300 and 9 rows"]),
    ):
        with pytest.raises(InputError, match=says(*words)):
            call()
    with pytest.raises(ValueError, match="NaN"):
        es.CCA().fit(holes, X)
    with pytest.raises(ValueError, match=r"1 sample\(s\)"):
        es.CCA().fit(X[:1], Y[:1])
    with pytest.raises(DimensionError):
        es.CCA(5).fit(X, Y)
    for unfitted in (lambda: es.CCA().transform(X, Y), lambda: es.CCA().predict(X), lambda: es.CCA().significance()):
        with pytest.raises(NotFittedError):
            unfitted()
    few = quietly(lambda: es.CCA(1).fit(X[:8], Y[:8]))
    with pytest.raises(InputError, match=says("8 rows for 6 and 4 dimensions", "permutation_test")):
        few.significance()


def test_too_few_rows_so_far() -> None:
    cca = es.CCA(2)
    for i in range(9):
        cca.partial_fit(X[i : i + 1], Y[i : i + 1])
    with pytest.raises(NotFittedError):
        cca.transform(X)
    assert cca.n_samples_seen_ == 9
    assert not hasattr(es.CCA(reduce=2), "partial_fit")


def test_two_correlations_that_are_one_number() -> None:
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(centred(rng.standard_normal((200, 6))))[0]
    Q = np.linalg.qr(np.c_[np.ones(200), Q])[0][:, 1:]
    angles = 0.5 * np.ones(3)
    with reports(DegenerateWarning, "coincide"):
        es.CCA(2).fit(Q[:, :3], Q[:, :3] * np.cos(angles) + Q[:, 3:] * np.sin(angles))


# ---------------------------------------------------------------------- memory
@pytest.mark.parametrize("widths", [(900, 700), (200, 900), (250, 1500), (250, 30)])
def test_memory_for_white_coordinates_is_predicted(widths, monkeypatch):
    rng = np.random.default_rng(0)
    X, Y = (rng.standard_normal((300, D)) for D in widths)
    predicted, peak = peak_beside_prediction(views, lambda: es.CCA(2, ridge=0.1).fit(X, Y), monkeypatch)
    assert peak <= predicted <= 2.5 * peak


@pytest.mark.parametrize(
    ("widths", "way"),
    [
        ((301, 40), 48 * 300**2 + 8 * 300 * 301),  # products of the rows, and a block of columns
        ((300, 40), 48 * 300**2 + 8 * 300 * 300),
        ((299, 40), 24 * 300 * 299),  # singular vectors
        ((40, 299), 24 * 300 * 299),
    ],
)
def test_memory_counts_the_costlier_view_on_its_way(widths, way, monkeypatch):
    told = []
    monkeypatch.setattr(views, "require", lambda n_bytes, what, instead: told.append(n_bytes))
    rng = np.random.default_rng(0)
    es.CCA(2, ridge=0.1).fit(*(rng.standard_normal((300, D)) for D in widths))
    ranks = [min(300, D) for D in widths]
    assert told == [8 * 5 * 300 * sum(ranks) + max(way, 8 * sum(ranks) ** 2)]


@pytest.mark.parametrize("n", [300, 1200])
def test_memory_for_few_axes_of_each_view_is_what_is_kept(n, monkeypatch):
    """Finding the axes is predicted where they are found: `way` counts nothing here."""
    told = []
    monkeypatch.setattr(views, "require", lambda n_bytes, what, instead: told.append((n_bytes, what)))
    X, Y = (np.random.default_rng(D).standard_normal((n, D)) for D in (600, 500))
    es.CCA(2, ridge=0.1, reduce=20).fit(X, Y)
    ((predicted, what),) = told
    assert predicted == 8 * (20 * (5 * n + 600) + 20 * (5 * n + 500) + 40**2)
    assert f"{n} rows of 2 views with 600 and 500 columns" in what


def test_classes_between_add_no_parameters() -> None:
    """Parameters keep their order and their types: "auto" is refused by name, and not by a comparison of a word with a number."""
    assert [*es.CCA._parameters] == ["n_components", "ridge", "reduce", "random_state"]
    assert [*es.MultiviewCCA._parameters][:4] == ["n_components", "criterion", "ridge", "reduce"]
    for method in (es.CCA(n_components="auto"), es.MultiviewCCA(n_components="auto")):
        with pytest.raises(InputError, match="cannot determine n_components"):
            method.fit(X, X[:, :2])
