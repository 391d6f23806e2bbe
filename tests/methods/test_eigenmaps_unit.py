"""Eigenmaps with unit covariance: the ratio cut, its kernel, its map."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg as la
import scipy.sparse as sp
from sklearn.datasets import make_swiss_roll

import eigenspan as es
from helpers import angle

X, _ = make_swiss_roll(250, random_state=0)


def fitted(d: int = 3, **params: Any) -> Any:
    return es.LaplacianEigenmaps(d, unit="covariance", n_neighbors=9, **params).fit(X)


def test_against_the_definition() -> None:
    found = fitted()
    W = found.affinity_.W.toarray()
    values, V = la.eigh(np.diag(W.sum(axis=1)) - W)
    assert angle(found.embedding_, V[:, 1:4]) < 1e-6
    np.testing.assert_allclose(found.eigenvalues_, values[1:4], rtol=1e-8)
    np.testing.assert_allclose(np.cov(found.embedding_.T, bias=True), np.eye(3), atol=1e-9)
    np.testing.assert_allclose(found.embedding_.mean(axis=0), 0, atol=1e-9)


def test_it_is_the_ratio_cut_and_not_the_normalised_one() -> None:
    Y = fitted().embedding_
    assert angle(Y, es.SpectralClustering(4, cut="ratio", n_neighbors=9).fit(X).embedding_[:, 1:]) < 1e-5
    assert angle(Y, es.CommuteTimeEmbedding(3, n_neighbors=9).fit(X).embedding_) < 1e-5
    assert angle(Y, es.LaplacianEigenmaps(3, n_neighbors=9).fit(X).embedding_) > 1


def test_the_form_of_the_cost_with_divided_weights() -> None:
    """Σ w_ij |y_i − y_j|² / √(d_i d_j) is twice the Laplacian form of the divided weights, not of I − D^(−½)WD^(−½)."""
    W = fitted().affinity_.W.toarray()
    d = W.sum(axis=1)
    divided = W / np.sqrt(np.outer(d, d))
    y = np.random.default_rng(0).standard_normal(len(W))
    cost = np.sum(divided * (y[:, None] - y) ** 2)
    form = np.diag(divided.sum(axis=1)) - divided
    assert cost == pytest.approx(2 * y @ form @ y, rel=1e-12)
    assert cost != pytest.approx(2 * y @ (np.eye(len(W)) - divided) @ y, rel=1e-3)
    np.testing.assert_allclose((np.eye(len(W)) - divided) @ np.sqrt(d), 0, atol=1e-12)


def test_the_minimum_of_the_cost_with_divided_weights() -> None:
    """S1's eq. 1.10, centred and with unit covariance, is ``alpha=0.5``; ``unit="covariance"`` alone is another problem."""
    found = fitted(alpha=0.5)
    W = found.affinity_.W.toarray()
    d = W.sum(axis=1)
    divided = W / np.sqrt(np.outer(d, d))
    values, V = la.eigh(np.diag(divided.sum(axis=1)) - divided)
    assert angle(found.embedding_, V[:, 1:4]) < 1e-6
    np.testing.assert_allclose(found.eigenvalues_, values[1:4], rtol=1e-8)
    np.testing.assert_allclose(np.cov(found.embedding_.T, bias=True), np.eye(3), atol=1e-9)
    np.testing.assert_allclose(found.embedding_.mean(axis=0), 0, atol=1e-9)
    assert angle(fitted().embedding_, V[:, 1:4]) > 1
    given = es.LaplacianEigenmaps(3, unit="covariance", graph=sp.csr_array(divided), weights="precomputed").fit(X)
    assert angle(given.embedding_, found.embedding_) < 1e-6


def test_divided_weights_with_the_unit_of_their_degrees() -> None:
    """Weights W / (d_i d_j)^α, whose walk is that of `DiffusionMap` if W has no diagonal."""
    found = es.LaplacianEigenmaps(3, n_neighbors=9, alpha=1).fit(X)
    W = found.affinity_.W.toarray()
    d = W.sum(axis=1)
    divided = W / np.outer(d, d)
    D = np.diag(divided.sum(axis=1))
    assert angle(found.embedding_, la.eigh(D - divided, D)[1][:, 1:4]) < 1e-6
    walk = es.DiffusionMap(3, alpha=1, graph=found.affinity_.W, weights="precomputed").fit(X)
    assert angle(found.embedding_, walk.embedding_) < 1e-6


def test_new_points_have_divided_weights() -> None:
    """A new point is at Σ_j r_j y_j / Σ_j r_j with r_j = w_j / d_j^α over its neighbours j."""
    found = es.LaplacianEigenmaps(2, graph=es.Radius(8.0), alpha=0.5, extension="harmonic", weights=es.Heat(4.0)).fit(X)
    new, d = X[:20] + 0.3, found.affinity_.W.sum(axis=1)
    squares = ((new[:, None] - X) ** 2).sum(axis=2)
    r = np.where(squares <= 64, np.exp(-squares / 16) / np.sqrt(d), 0.0)
    np.testing.assert_allclose(found.transform(new), r @ found.embedding_ / r.sum(axis=1)[:, None], atol=1e-10)


def test_divided_weights_of_repeated_rows() -> None:
    """The degree of a row counts the rows that equal its neighbours."""
    repeated = np.vstack([X, X[:40]])
    found = es.LaplacianEigenmaps(2, unit="covariance", alpha=0.5, n_neighbors=9, weights=es.Heat(2.0)).fit(repeated)
    first = np.arange(290) % 250
    W = found.affinity_.W.toarray()[np.ix_(first, first)]
    d = W.sum(axis=1)
    divided = W / np.sqrt(np.outer(d, d))
    V = la.eigh(np.diag(divided.sum(axis=1)) - divided)[1]
    assert angle(found.embedding_, V[:, 1:3]) < 1e-5


def test_what_divided_weights_are_not_made_for() -> None:
    with pytest.raises(es.errors.InputError, match=r"alpha=0\.5"):
        es.equivalent_kernel(fitted(alpha=0.5), X)


def test_new_points_are_means_of_their_neighbours() -> None:
    new = X[:20] + 0.3
    both = [fitted(extension=extension).transform(new) for extension in ("nystrom", "harmonic")]
    np.testing.assert_array_equal(*both)
    np.testing.assert_array_equal(fitted().transform(X), fitted().embedding_)


@pytest.mark.parametrize("form", ["auto", "pseudo-inverse", "shifted"])
def test_its_kernel(form: str) -> None:
    found = fitted()
    kernel = es.equivalent_kernel(found, X, form=form)
    assert kernel.name == ("λ_max I − L" if form == "shifted" else "L†")
    W = found.affinity_.W.toarray()
    L = np.diag(W.sum(axis=1)) - W
    expected = la.eigvalsh(L)[-1] * np.eye(len(L)) - L if form == "shifted" else la.pinvh(L)
    np.testing.assert_allclose(kernel.matrix, expected, atol=1e-8 * np.abs(expected).max())
    assert angle(kernel.embed(3), found.embedding_) < 1e-4


def test_copies_count_as_often_as_they_occur() -> None:
    """Each row twice: weights four times as large over masses of two."""
    twice = es.LaplacianEigenmaps(3, unit="covariance", n_neighbors=9, weights=es.Heat(2.0)).fit(np.vstack([X, X]))
    once = fitted(weights=es.Heat(2.0))
    np.testing.assert_allclose(twice.eigenvalues_, 2 * once.eigenvalues_, rtol=1e-8)
    np.testing.assert_allclose(np.abs(twice.embedding_[:250]), np.abs(once.embedding_), atol=1e-6)
