"""``center=False`` of LPP, OLPP, NPP, ONPP and KernelPCA: the problems about the origin, written from the equations of S0 and S1."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg as la
import scipy.sparse as sp
from sklearn.datasets import load_iris, load_wine
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

import eigenspan as es
from eigenspan.errors import InputError
from eigenspan.graphs import affinity, reconstruction_weights
from eigenspan.problem import Kernel
from helpers import angle, relative


def points(name: str) -> np.ndarray[Any, Any]:
    """Rows far from the origin: two tables of measurements, and a draw."""
    if name == "draw":
        rng = np.random.default_rng(7)
        return rng.standard_normal((120, 6)) @ rng.standard_normal((6, 6)) + rng.normal(0, 3, 6)
    X = load_iris().data[::2] if name == "iris" else load_wine().data[::2, :7]
    return X / X.std(axis=0)


def laplacian_of(W: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    W = W.toarray()
    D = np.diag(W.sum(axis=1))
    return D - W, D


DATA = pytest.mark.parametrize("name", ["iris", "wine", "draw"])


@DATA
def test_lpp_is_equation_29(name: str) -> None:
    X = points(name)
    found = es.LPP(2, n_neighbors=7, center=False).fit(X)
    L, D = laplacian_of(affinity(found.graph_, "heat", X).W)
    values, V = la.eigh(X.T @ L @ X, X.T @ D @ X)
    assert angle(found.components_.T, V[:, :2]) < 1e-7
    np.testing.assert_allclose(found.eigenvalues_, values[:2], rtol=1e-8)
    np.testing.assert_allclose(found.components_ @ X.T @ D @ X @ found.components_.T, np.eye(2), atol=1e-9)
    assert not found.mean_.any()
    assert relative(found.embedding_, X @ found.components_.T) < 1e-12
    assert relative(found.transform(X[:5]), X[:5] @ found.components_.T) < 1e-12
    assert angle(es.LPP(2, n_neighbors=7).fit(X).components_.T, V[:, :2]) > 1


@DATA
def test_npp_is_equation_35(name: str) -> None:
    X = points(name)
    found = es.NPP(2, n_neighbors=7, center=False).fit(X)
    F = np.eye(len(X)) - reconstruction_weights(X, found.graph_.lists(), reg=1e-3).toarray()
    values, V = la.eigh(X.T @ F.T @ F @ X, X.T @ X)
    assert angle(found.components_.T, V[:, :2]) < 1e-7
    np.testing.assert_allclose(found.eigenvalues_, values[:2], rtol=1e-8)
    assert not found.mean_.any()
    assert angle(es.NPP(2, n_neighbors=7).fit(X).components_.T, V[:, :2]) > 0.5


@pytest.mark.parametrize("method", [es.OLPP, es.ONPP])
def test_forms_that_kill_the_constant_keep_their_axes(method: Any) -> None:
    """X'LX and X'MX do not depend on the origin: the embedding is shifted, and nothing else."""
    X = points("wine")
    about, plain = (method(2, n_neighbors=7, center=center).fit(X) for center in (False, True))
    assert angle(about.components_.T, plain.components_.T) < 1e-7
    assert relative(about.embedding_, X @ about.components_.T) < 1e-12
    assert np.abs(about.embedding_.mean(axis=0)).max() > 0.1


@pytest.mark.parametrize("rows", ["sparse", "float32", "wide", "reduce"])
def test_lpp_about_the_origin_of_other_rows(rows: str) -> None:
    """Wide rows span n dimensions about the origin; `reduce` keeps right singular vectors, as PCA(center=False)."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((40, 60)) + 1.0 if rows in ("wide", "reduce") else points("draw")
    n = len(X)
    W = sp.csr_array(np.triu(rng.random((n, n)) < 0.2, 1).astype(float) + sp.eye_array(n, k=1).toarray())
    W = W + W.T
    L, D = laplacian_of(W)
    given: Any = {"sparse": sp.csr_array(X), "float32": X.astype(np.float32)}.get(rows, X)
    few = 8 if rows == "reduce" else None
    found = es.LPP(2, graph=W, weights="precomputed", center=False, reduce=few).fit(given)
    B = la.svd(X, full_matrices=False)[2][:few].T
    V = B @ la.eigh(B.T @ X.T @ L @ X @ B, B.T @ X.T @ D @ X @ B)[1][:, :2]
    assert angle(found.components_.T, V) < (1e-3 if rows == "float32" else 1e-5)


@pytest.mark.parametrize("landmarks", [None, 60])
def test_kernel_npp_about_the_origin(landmarks: int | None) -> None:
    """In coordinates Z with ZZ' = K, Y = ZV minimises Tr V'(Z'MZ + εI)V with V'Z'ZV = I."""
    X, seed = points("draw"), 0
    kernel = Kernel("rbf", gamma=0.01)
    found = es.NPP(2, n_neighbors=7, kernel=kernel, ridge=1e-3, center=False, landmarks=landmarks).fit(X)
    K = rbf_kernel(X, gamma=0.01)
    if landmarks is not None:
        chosen = es.KernelPCA(2, gamma=0.01, landmarks=landmarks, random_state=seed).fit(X).landmarks_
        K = K[:, chosen] @ la.pinv(K[np.ix_(chosen, chosen)], rtol=1e-10) @ K[chosen]
    values, U = la.eigh(K)
    Z = U[:, values > 1e-10 * values[-1]] * np.sqrt(values[values > 1e-10 * values[-1]])
    F = np.eye(len(X)) - reconstruction_weights(Z, found.graph_.lists(), reg=1e-3).toarray()
    V = la.eigh(Z.T @ F.T @ F @ Z + 1e-3 * np.eye(Z.shape[1]), Z.T @ Z)[1]
    assert angle(found.embedding_, Z @ V[:, :2]) < 1e-4
    assert relative(found.transform(X), found.embedding_) < 1e-8


@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear"])
def test_kernel_pca_of_the_matrix_itself(kernel: str) -> None:
    X = points("iris")
    K = {"rbf": rbf_kernel(X, gamma=0.25), "poly": polynomial_kernel(X, gamma=0.25), "linear": X @ X.T}[kernel]
    found = es.KernelPCA(3, kernel=kernel, gamma=0.25, center=False).fit(X)
    values, U = la.eigh(K)
    values, U = values[::-1][:3], U[:, ::-1][:, :3]
    np.testing.assert_allclose(found.eigenvalues_, values, rtol=1e-10)
    assert relative(np.abs(found.embedding_), np.abs(U * np.sqrt(values))) < 1e-9
    assert relative(found.transform(X), found.embedding_) < 1e-9
    assert relative(found.embedding_, es.KernelPCA(3, kernel=kernel, gamma=0.25).fit(X).embedding_) > 0.1
    given = es.KernelPCA(3, kernel="precomputed", center=False).fit(K)
    assert relative(np.abs(given.embedding_), np.abs(found.embedding_)) < 1e-9


def test_linear_kernel_pca_is_pca_about_the_origin() -> None:
    X = points("wine")
    Y = es.KernelPCA(3, kernel="linear", center=False).fit(X).embedding_
    assert relative(np.abs(Y), np.abs(es.PCA(3, center=False).fit(X).embedding_)) < 1e-9


def test_nystrom_kernel_pca_about_the_origin() -> None:
    X = points("draw")
    found = es.KernelPCA(3, gamma=0.05, landmarks=50, center=False).fit(X)
    K = rbf_kernel(X, gamma=0.05)
    among = K[np.ix_(found.landmarks_, found.landmarks_)]
    approximate = K[:, found.landmarks_] @ la.pinvh(among) @ K[found.landmarks_]
    values, U = la.eigh(approximate)
    assert angle(found.embedding_, U[:, -3:]) < 1e-5
    np.testing.assert_allclose(found.eigenvalues_, values[::-1][:3], rtol=1e-8)
    assert found.diagnostics_["nystrom_error"] == pytest.approx(1 - np.trace(approximate) / np.trace(K), abs=1e-9)


def test_preimages_of_the_uncentred_space() -> None:
    X = points("iris")
    exact = es.KernelPCA(None, gamma=0.25, center=False, preimage="fixed-point").fit(X[:20])
    assert relative(exact.inverse_transform(exact.embedding_), X[:20]) < 1e-4


def test_what_needs_the_mean_is_refused() -> None:
    X, _ = load_iris(return_X_y=True)
    model = es.KernelPCA(2, center=False).fit(X)
    with pytest.raises(InputError, match="center=False"):
        es.equivalent_kernel(model, X)


def test_class_graph_about_the_origin() -> None:
    """With W = H, D = I on the labelled rows: min V'S_W V with V'X'XV = I."""
    X, y = load_iris(return_X_y=True)
    found = es.LPP(2, graph="class", center=False).fit(X, y)
    within = sum((X[y == c] - X[y == c].mean(axis=0)).T @ (X[y == c] - X[y == c].mean(axis=0)) for c in range(3))
    assert angle(found.components_.T, la.eigh(within, X.T @ X)[1][:, :2]) < 1e-7
