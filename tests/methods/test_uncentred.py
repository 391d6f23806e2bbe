"""PCA about the origin is the truncated singular value decomposition, whatever road the rows take."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.decomposition import TruncatedSVD

import eigenspan as es
from eigenspan.errors import DimensionError, InputError
from helpers import angle, relative

SHAPES = pytest.mark.parametrize("shape", [(80, 300), (300, 40)], ids=["wide", "tall"])


def counts(shape: tuple[int, int]) -> sp.csr_array:
    """Words of four topics, with columns far from zero, without any entry, and twice the same, and repeated rows."""
    rng = np.random.default_rng(sum(shape))
    rate = rng.dirichlet(np.full(4, 0.3), shape[0]) @ rng.gamma(0.3, 2.0, size=(4, shape[1]))
    X = rng.poisson(rate * np.linspace(2, 1, shape[1])).astype(float)
    X[:, 3], X[:, 4], X[:, 6] = 50 + rng.standard_normal(shape[0]), 0.0, X[:, 5]
    X[1::9] = X[0]
    return sp.csr_array(X)


@SHAPES
@pytest.mark.parametrize("road", ["sparse", "dense", "float32", "file", "parts", "reduce"])
def test_it_is_the_truncated_svd(shape: tuple[int, int], road: str, tmp_path: Path) -> None:
    X = counts(shape)
    theirs = TruncatedSVD(4, algorithm="arpack", random_state=0).fit(X)
    given: Any = X if road in ("sparse", "reduce") else X.toarray()
    ours = es.PCA(4, center=False, reduce=20 if road == "reduce" else None)
    if road == "parts" and shape[0] > shape[1]:
        for part in (slice(0, 100), slice(100, 101), slice(101, None)):
            ours.partial_fit(given[part])
    elif road == "file":
        np.save(tmp_path / "X.npy", given)
        ours.fit(np.load(tmp_path / "X.npy", mmap_mode="r"))
    else:
        ours.fit(given.astype(np.float32) if road == "float32" else given)
    rounding = 1e-4 if road == "float32" else 1e-7
    assert angle(ours.components_.T, theirs.components_.T) < rounding
    np.testing.assert_allclose(ours.singular_values_, theirs.singular_values_, rtol=rounding)
    squares = theirs.singular_values_**2
    np.testing.assert_allclose(ours.explained_variance_, squares / shape[0], rtol=rounding)
    np.testing.assert_allclose(ours.explained_variance_ratio_, squares / (X.data @ X.data), rtol=rounding)
    assert not ours.mean_.any()
    Y = ours.transform(X.toarray())
    assert relative(np.abs(Y), np.abs(theirs.transform(X))) < rounding
    assert relative(ours.inverse_transform(Y), theirs.inverse_transform(theirs.transform(X))) < rounding
    assert relative(Y @ ours.components_, X @ theirs.components_.T @ theirs.components_) < rounding


@SHAPES
def test_all_axes_a_share_and_white_ones(shape: tuple[int, int]) -> None:
    X = counts(shape)
    s = np.linalg.svd(X.toarray(), compute_uv=False)
    s = s[s > 1e-10 * s[0]]
    np.testing.assert_allclose(es.PCA(None, center=False).fit(X).singular_values_, s, rtol=1e-7)
    shares = np.cumsum(s**2) / np.sum(s**2)
    assert es.PCA(0.99, center=False).fit(X).n_components_ == np.searchsorted(shares, 0.99) + 1
    Y = es.PCA(3, center=False, whiten=True).fit_transform(X)
    np.testing.assert_allclose(Y.T @ Y / shape[0], np.eye(3), atol=1e-9)


def test_rows_that_coincide_away_from_the_origin_have_one_axis() -> None:
    X = np.tile(np.arange(1.0, 31.0), (6, 1))
    pca = es.PCA(1, center=False).fit(X)
    assert pca.singular_values_[0] == pytest.approx(np.linalg.norm(X))
    with pytest.raises(DimensionError, match="exceeds 1"):
        es.PCA(2, center=False).fit(X)


def test_the_mean_counts_once_more() -> None:
    """n rows in general position span n dimensions, of which centring takes one."""
    X = np.random.default_rng(0).standard_normal((12, 40)) + 5.0
    assert es.PCA(None, center=False).fit(X).n_components_ == 12
    assert es.PCA(None).fit(X).n_components_ == 11


def test_saved_and_loaded(tmp_path: Path) -> None:
    X = counts((80, 300))
    pca = es.PCA(3, center=False).fit(X)
    es.save(pca, tmp_path / "topics.eigenspan")
    np.testing.assert_array_equal(es.load(tmp_path / "topics.eigenspan").transform(X), pca.transform(X))


@pytest.mark.parametrize("ask", ["score", "score_samples", "get_covariance", "get_precision"])
def test_there_is_no_gaussian_model(ask: str) -> None:
    X = counts((300, 40)).toarray()
    pca = es.PCA(2, center=False).fit(X)
    assert not hasattr(pca, "noise_variance_")
    with pytest.raises(InputError, match="about the origin"):
        getattr(pca, ask)(*([X] if ask.startswith("score") else []))


@pytest.mark.parametrize("number", ["auto", "mle"])
def test_nor_a_number_of_axes_from_it(number: str) -> None:
    with pytest.raises(InputError, match="about the origin"):
        es.PCA(number, center=False).fit(counts((300, 40)))


def test_nor_an_equivalent_kernel() -> None:
    X = counts((300, 40)).toarray()
    with pytest.raises(InputError, match="no equivalent kernel"):
        es.theory.equivalent_kernel(es.PCA(2, center=False).fit(X), X)
