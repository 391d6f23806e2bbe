"""Affinities of every kind against n×n arrays written out: degrees, Laplacians, means of neighbours, and what methods make of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg as la
import scipy.sparse as sp
from sklearn.datasets import load_iris, load_wine

import eigenspan as es
from eigenspan.errors import GraphError
from eigenspan.graphs import KNN, affinity
from eigenspan.graphs.weights.path_similarity import PathSimilarity
from eigenspan.problem import Features, Form
from eigenspan.problem import pairwise as pairwise_module
from eigenspan.problem.forms import AllPairs, ByClass, PairWeights, Paths, Sparse, pair_affinity
from eigenspan.problem.forms import all_pairs as costs
from eigenspan.problem.pairwise import Pairwise
from helpers import angle, pairwise, relative

IRIS, SPECIES = load_iris(return_X_y=True)
SOME = np.where(np.arange(150) % 5 == 0, SPECIES, -1)
WINE = load_wine(return_X_y=True)[0]
WINE = (WINE - WINE.mean(axis=0)) / WINE.std(axis=0)
KINDS = ["sparse", "class", "all", "all in blocks", "paths"]
HEAT = np.exp(-(pairwise(IRIS) ** 2) / 1.5**2)


@pytest.fixture
def in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """All pairs as if there were too many of them to write out."""
    monkeypatch.setattr(costs, "_SMALL", 0)


def made(kind: str) -> PairWeights:
    graph = KNN(6).build(IRIS)
    if kind == "sparse":
        return Sparse(affinity(graph, "heat", IRIS).W)
    if kind == "class":
        return ByClass(SOME)
    if kind == "paths":
        return Paths(PathSimilarity().tree(graph, IRIS))
    return AllPairs(pair_affinity(IRIS, es.Heat(1.5)))


def without_diagonal(W: Any) -> Any:
    return W - np.diag(np.diagonal(W))


def residuals(W: Any) -> Any:
    """``(I − P)ᵀ(I − P)`` with P the means over the other points."""
    P = without_diagonal(W)
    F = np.eye(len(W)) - P / P.sum(axis=1, keepdims=True)
    return F.T @ F


def best(M: Any, X: Any, d: int, orthogonal: bool) -> tuple[Any, Any]:
    Z = X - X.mean(axis=0)
    values, V = la.eigh(Z.T @ M @ Z, None if orthogonal else Z.T @ Z)
    return values[:d], V[:, :d]


# ---------------------------------------------------------------------- the types
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_equals_its_dense_matrix(kind: str, request: pytest.FixtureRequest) -> None:
    if kind == "all in blocks":
        request.getfixturevalue("in_blocks")
    made_of = made(kind)
    W = made_of.matrix.to_dense()
    if kind.startswith("all"):
        assert relative(W, HEAT) < 1e-12
        assert bool(made_of.matrix.pairs) == (kind == "all in blocks")
    Z = np.random.default_rng(0).standard_normal((150, 3))
    scale = np.random.default_rng(1).random(150)
    np.testing.assert_allclose(made_of.degrees(), W.sum(axis=1), rtol=1e-11)
    np.testing.assert_allclose(made_of.between_points().to_dense(), without_diagonal(W), atol=1e-14)
    L, M = made_of.laplacian(), made_of.reconstruction()
    assert relative(L.to_dense(), np.diag(W.sum(axis=1)) - W) < 1e-12
    if kind == "class":
        expected = np.diag((SOME >= 0).astype(float)) - W
        np.testing.assert_allclose(made_of.row_stochastic() @ Z, W @ Z, atol=1e-12)
    else:
        expected = residuals(W)
        P = without_diagonal(W)
        np.testing.assert_allclose(made_of.row_stochastic() @ Z, (P @ Z) / P.sum(axis=1)[:, None], atol=1e-11)
    for form in (L, M):
        assert form.psd
        assert form.kills_constant
        np.testing.assert_allclose(form.ones(), 0, atol=1e-11 * form.norm())
    assert relative(M.to_dense(), expected) < 1e-11
    assert relative(M @ Z, expected @ Z) < 1e-11
    assert relative(M @ Z[:, 0], expected @ Z[:, 0]) < 1e-11
    assert relative(M.quadratic(Z), Z.T @ expected @ Z) < 1e-11
    assert relative(M.diagonal(), np.diagonal(expected)) < 1e-11
    assert relative(M.scaled(scale) @ Z, scale[:, None] * (expected @ (scale[:, None] * Z))) < 1e-11
    assert relative(M.scaled(scale).diagonal(), scale**2 * np.diagonal(expected)) < 1e-11
    assert M.norm() >= np.linalg.norm(expected, 2)
    assert M.scaled(scale).norm() >= np.linalg.norm(M.scaled(scale).to_dense(), 2)


@pytest.mark.usefixtures("in_blocks")
def test_a_point_far_from_all_others_has_no_mean() -> None:
    """Its weights underflow: it costs nothing, and nothing is divided by zero."""
    X = np.vstack([IRIS[:20], [[1e3, 0, 0, 0]]])
    W = AllPairs(pair_affinity(X, es.Heat(1.0)))
    assert W.degrees()[20] == 1
    np.testing.assert_array_equal((W.row_stochastic() @ X)[20], 0)
    M = W.reconstruction().to_dense()
    np.testing.assert_array_equal(M[20], 0)
    assert relative(M[:20, :20], residuals(AllPairs(pair_affinity(IRIS[:20], es.Heat(1.0))).matrix.to_dense())) < 1e-12


def test_pairs_with_and_without_their_diagonal() -> None:
    P = Pairwise(IRIS, np.ones(150), np.full(150, 2.0), (np.arange(150),))
    hollow = Pairwise(IRIS, np.ones(150), np.full(150, 2.0), (np.arange(150),), hollow=True)
    W = P.to_dense()
    for part, expected in ((P, W), (hollow, without_diagonal(W))):
        np.testing.assert_allclose(part.to_dense(), expected)
        np.testing.assert_allclose(part.diagonal(), np.diagonal(expected))
        np.testing.assert_allclose(part @ IRIS, expected @ IRIS)
        np.testing.assert_allclose(part.square_sum(), np.sum(expected**2))


def test_products_with_many_columns_are_taken_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    P = Pairwise(IRIS, np.ones(150), np.ones(150), (np.arange(150),))
    Z = np.random.default_rng(0).standard_normal((150, 70))
    whole = P @ Z
    monkeypatch.setattr(pairwise_module, "_HELD", 1)
    np.testing.assert_allclose(P @ Z, whole, rtol=1e-12)


# ---------------------------------------------------------------------- methods
@pytest.mark.parametrize("name", ["NPP", "ONPP"])
@pytest.mark.parametrize("blocks", [False, True], ids=["dense", "blocks"])
def test_reconstruction_from_all_points_is_the_dense_one(
    name: str, blocks: bool, request: pytest.FixtureRequest
) -> None:
    if blocks:
        request.getfixturevalue("in_blocks")
    for X, width in ((IRIS, 1.5), (WINE, 3.0)):
        values, V = best(residuals(np.exp(-(pairwise(X) ** 2) / width**2)), X, 2, name == "ONPP")
        fitted = es.make(name, n_components=2, graph="all", weights=es.Heat(width)).fit(X)
        np.testing.assert_allclose(fitted.eigenvalues_, values, rtol=1e-8)
        assert angle(fitted.components_.T, V) < 1e-5
        as_neighbours = es.make(name, n_components=2, n_neighbors=len(np.unique(X, axis=0)) - 1, weights=es.Heat(width))
        if len(np.unique(X, axis=0)) == len(X):
            assert angle(fitted.components_.T, as_neighbours.fit(X).components_.T) < 1e-5


def test_reconstruction_from_all_points_of_a_kernel_and_of_float32() -> None:
    Z = Features.kernel(es.Kernel("rbf", gamma=0.5), IRIS[::2]).Z
    fitted = es.NPP(2, kernel=es.Kernel("rbf", gamma=0.5), graph="all", weights=es.Heat(0.7), ridge=0.1).fit(IRIS[::2])
    A = Z.T @ residuals(np.exp(-(pairwise(Z) ** 2) / 0.7**2)) @ Z + 0.1 * np.eye(Z.shape[1])
    values, V = la.eigh(A, Z.T @ Z)
    np.testing.assert_allclose(fitted.eigenvalues_, values[:2], rtol=1e-5)
    assert angle(fitted.embedding_, Z @ V[:, :2]) < 1e-3
    double = es.NPP(2, graph="all", weights="heat").fit(WINE)
    single = es.NPP(2, graph="all", weights="heat").fit(WINE.astype(np.float32))
    assert angle(double.components_.T, single.components_.T) < 1e-2


@pytest.mark.parametrize("blocks", [False, True], ids=["dense", "blocks"])
def test_labels_spread_over_all_pairs(blocks: bool, request: pytest.FixtureRequest) -> None:
    if blocks:
        request.getfixturevalue("in_blocks")
    fitted = es.SODA(2, graph="all", weights=es.Heat(1.5), trust=0.7, novelty=0.05).fit(IRIS, SOME)
    W = without_diagonal(HEAT)
    alpha = np.where(SOME >= 0, 0.3, 0.95)[:, None]
    Y = np.where(SOME[:, None] == np.arange(3), 1.0, 0.0)
    F = np.linalg.solve(np.eye(150) - alpha * W / W.sum(axis=1, keepdims=True), (1 - alpha) * Y)
    np.testing.assert_allclose(fitted.label_distributions_[:, :3], F, atol=1e-9)
    assert np.mean(fitted.transduction_ == SPECIES) > 0.85


@pytest.mark.parametrize("name", ["LPP", "OLPP", "NPP", "ONPP"])
def test_weights_along_paths_serve_every_projection(name: str) -> None:
    rule = PathSimilarity(es.Heat(3.0))
    W = rule.tree(KNN(8).build(WINE), WINE).to_dense() / len(WINE)
    orthogonal, d = name.startswith("O"), W.sum(axis=1)
    fitted = es.make(name, n_components=2, n_neighbors=8, weights=rule).fit(WINE)
    if name.endswith("NPP"):
        values, V = best(residuals(W), WINE, 2, orthogonal)
    else:
        Z = WINE - d @ WINE / d.sum()
        values, V = la.eigh(Z.T @ (np.diag(d) - W) @ Z, None if orthogonal else (Z.T * d) @ Z)
    np.testing.assert_allclose(fitted.eigenvalues_, values[:2], rtol=1e-8)
    assert angle(fitted.components_.T, V[:, :2]) < 1e-5


def test_all_points_have_no_barycentre() -> None:
    for name in ("NPP", "ONPP"):
        with pytest.raises(GraphError, match='such as weights="heat"'):
            es.make(name, graph="all").fit(IRIS)


def test_forms_of_affinities_add_up() -> None:
    """A part of all pairs beside a sparse one: products, restrictions and norms count both."""
    sparse, everyone = made("sparse").laplacian(), made("paths").reconstruction()
    both: Form = sparse + 2.0 * everyone
    dense = sparse.to_dense() + 2 * everyone.to_dense()
    assert both.psd
    assert relative(both.to_dense(), dense) < 1e-12
    assert relative(both.quadratic(sp.csr_array(IRIS)), IRIS.T @ dense @ IRIS) < 1e-12
    assert both.norm() >= np.linalg.norm(dense, 2)
