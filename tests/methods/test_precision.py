"""Data whose squares lose digits: spread over many orders of magnitude, far from the origin, or with an outlier."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import eigenspan as es
from eigenspan.data.rows.moments import Moments, Sums
from eigenspan.errors import EigenspanWarning, PrecisionWarning
from helpers import same_subspace
from routes import ROUTES, by_route, problem


def turned(n: int, scale: Any, seed: int = 0) -> Any:
    """Normal rows of these spreads along directions that are none of the columns."""
    rng = np.random.default_rng(seed)
    D = len(scale)
    return rng.standard_normal((n, D)) * scale @ np.linalg.qr(rng.standard_normal((D, D)))[0]


def fitted(model: Any, X: Any, y: Any, route: str, folder: Path) -> Any:
    if route == "parts":
        for part in np.array_split(np.arange(len(X)), 7):
            model.partial_fit(X[part], None if y is None else y[part])
        return model
    if route == "dask":
        pytest.importorskip("dask")
    lazily = route == "dask" and y is not None
    return model.fit(by_route(X, route, folder), by_route(y, "dask", folder) if lazily else y)


def singular_values(X: Any) -> Any:
    X = X - X.mean(axis=0)
    return np.linalg.svd(X - X.mean(axis=0), compute_uv=False)


@pytest.mark.parametrize("route", ROUTES)
def test_classes_told_apart_by_the_smallest_direction(route: str, tmp_path: Path) -> None:
    """Condition 1e7: a scatter matrix holds nothing of what tells these classes apart."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 1000)
    X = rng.standard_normal((1000, 6))
    X[:, -1] = 0.15 * X[:, -1] + y
    X = X * np.geomspace(1, 1e-7, 6) @ np.linalg.qr(rng.standard_normal((6, 6)))[0]
    assert fitted(es.LDA(), X, y, route, tmp_path).score(X, y) > 0.99


@pytest.mark.parametrize("is_turned", [False, True], ids=["columns", "turned"])
@pytest.mark.parametrize("k", [4, 6])
@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.every(2)
def test_singular_values_over_eight_orders(route: str, k: int, is_turned: bool, tmp_path: Path) -> None:
    scale = np.geomspace(1, 1e-8, 6)
    X = turned(500, scale) if is_turned else np.random.default_rng(0).standard_normal((500, 6)) * scale
    pca = fitted(es.PCA(k), X, None, route, tmp_path)
    expected = singular_values(X)
    np.testing.assert_allclose(pca.singular_values_, expected[:k], rtol=1e-7)
    np.testing.assert_allclose(pca.explained_variance_ratio_, expected[:k] ** 2 / np.sum(expected**2), rtol=1e-6)
    assert np.all(np.diff(pca.singular_values_) <= 0)
    white = fitted(es.PCA(k, whiten=True), X, None, route, tmp_path)
    np.testing.assert_allclose(np.cov(np.asarray(white.transform(X)).T), np.eye(k), atol=1e-6)
    np.testing.assert_allclose(
        white.inverse_transform(white.transform(X)), pca.inverse_transform(pca.transform(X)), atol=1e-9
    )


@pytest.mark.parametrize("offset", [1e6, 1e7])
@pytest.mark.parametrize("name", ["PCA", "LDA", "MMC", "SIR", "NPP"])
def test_sparse_rows_far_from_the_origin(name: str, offset: float) -> None:
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 300)
    X = rng.standard_normal((300, 5)) + 2 * np.eye(3, 5)[y] + offset
    parameters = {"graph": "class"} if name == "NPP" else {}
    dense, sparse = (es.make(name, 2, **parameters).fit(rows, y) for rows in (X, sp.csr_array(X)))
    np.testing.assert_allclose(sparse.eigenvalues_, dense.eigenvalues_, rtol=1e-7)
    assert same_subspace(sparse.components_.T, dense.components_.T, 1e-5)
    np.testing.assert_allclose(
        np.abs(sparse.transform(sp.csr_array(X[:9]))), np.abs(dense.transform(X[:9])), rtol=1e-6, atol=1e-7
    )


@pytest.mark.parametrize("size", [1e4, 1e8])
def test_an_outlier_in_single_precision(size: float) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 2000)
    X = (rng.standard_normal((2000, 8)) + 2 * np.eye(3, 8)[y]).astype(np.float32)
    X[7] = size * rng.standard_normal(8)
    C = X.astype(np.float64)
    C -= C.mean(axis=0)
    U, s, _ = np.linalg.svd(C - C.mean(axis=0), full_matrices=False)
    means = [np.sqrt(np.sum(y == k)) * U[y == k].mean(axis=0) for k in range(3)]
    np.testing.assert_allclose(
        es.LDA().fit(X, y).eigenvalues_, np.linalg.svd(means, compute_uv=False)[:2] ** 2, rtol=1e-6
    )
    with pytest.warns(PrecisionWarning, match="embedding_ lie far from zero") if size > 1e6 else nullcontext():
        np.testing.assert_allclose(es.PCA(3).fit(X).singular_values_, s[:3], rtol=1e-5)


def test_axes_far_below_an_outlier() -> None:
    """Variances of 1 beside one of 1e17: the largest of them must be chosen, not any."""
    X = np.random.default_rng(0).standard_normal((2000, 8))
    X[7] *= 1e10
    np.testing.assert_allclose(es.PCA(3).fit(X).singular_values_, singular_values(X)[:3], rtol=1e-6)


def test_all_axes_of_a_file_of_condition_1e6(tmp_path: Path) -> None:
    X = turned(400, np.geomspace(1, 1e-6, 4))
    pca = fitted(es.PCA(4), X, None, "memmap", tmp_path)
    np.testing.assert_allclose(pca.singular_values_, singular_values(X), rtol=1e-8)
    assert es.PCA(None).fit(X).n_components_ == 4


# ---------------------------------------------------------------------- what cannot be known is said
def test_what_the_numbers_do_not_hold_is_said() -> None:
    with pytest.warns(PrecisionWarning, match="1 of 5 directions were left out.*nearly repeat"):
        es.LDA().fit(problem(1e12, 0.0).X, problem(1e12, 0.0).codes)
    with pytest.warns(PrecisionWarning, match="relative error of up to.*times as much"):
        es.PCA(3).fit(turned(200, np.array([1.0, 1e-3, 3e-10])))


def test_exact_repetitions_are_no_reason_to_warn() -> None:
    X = turned(300, np.ones(4))
    y = np.arange(300) % 3
    for rows in (np.c_[X, X[:, 0]], np.c_[X, X[:, 0] + X[:, 1]], np.c_[X, np.ones(300)]):
        assert es.LDA().fit(rows, y).map_.coef.shape[0] == rows.shape[1]


def test_more_axes_than_parts_were_summed_for_are_warned_of() -> None:
    """Parts keep what two axes need; a third, asked for later, was rounded away."""
    X = turned(300, np.array([1.0, 0.5, 1e-7]))
    pca = es.PCA(2).partial_fit(X[:200])
    assert pca.moments_.labelled.root is None
    with pytest.warns(PrecisionWarning):
        pca.set_params(n_components=3).partial_fit(X[200:])


# ---------------------------------------------------------------------- factors
def test_parts_keep_a_factor_only_where_it_is_needed() -> None:
    well, ill = turned(300, np.ones(4)), turned(300, np.geomspace(1, 1e-7, 4))
    y = np.arange(300) % 2
    for X, needed in ((well, False), (ill, True)):
        lda = es.LDA()
        for part in (slice(0, 5), slice(5, 100), slice(100, 300)):
            lda.partial_fit(X[part], y[part])
        assert (lda.moments_.labelled.root is not None) == needed


def test_factors_of_groups_add_up() -> None:
    rng = np.random.default_rng(0)
    X, codes = turned(500, np.geomspace(1, 1e-5, 4)) + 1e5, rng.integers(-1, 3, 500)
    whole = Sums.of(X, codes, 3).factored(X, codes)
    parts = [Sums.of(X[p], codes[p], 3).factored(X[p], codes[p]) for p in np.array_split(np.arange(500), 5)]
    total = sum(parts[1:], parts[0])
    for one, two in ((whole.labelled, total.labelled), (whole.rest, total.rest), (whole.everyone, total.everyone)):
        np.testing.assert_allclose(one.counts, two.counts)
        np.testing.assert_allclose(one.means, two.means, rtol=1e-14)
        for each in (one, two):
            assert each.root is not None
        a, b = (np.linalg.svd(each.root, compute_uv=False) for each in (one, two))
        np.testing.assert_allclose(a, b, rtol=1e-8)
    np.testing.assert_allclose(whole.labelled.scatter, Moments.of(X, codes, 3).scatter, rtol=1e-6, atol=1e-9)


def test_single_precision_does_not_show_where_coefficients_cancel() -> None:
    """A direction of spread 1e-7 has coefficients of 1e7: products in single precision would be of the size of the result."""
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(40, 2)) @ rng.normal(size=(2, 3))).astype(np.float32)
    y = rng.normal(size=40)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EigenspanWarning)
        fitted = es.PHD(3).fit(X, y)
    assert np.abs(fitted.components_).max() > 1e5
    np.testing.assert_allclose(fitted.transform(X), fitted.embedding_, atol=1e-4 * np.abs(fitted.embedding_).max())
