"""Affinities that are given: what their diagonal means, and that their scale means nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg as la
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.neighbors import KNeighborsTransformer

import eigenspan as es
from eigenspan.errors import GraphError
from helpers import angle, assert_allclose_up_to_sign, cloud

N = 40


def _weights(diagonal: str) -> Any:
    """A sparse symmetric matrix of affinities, connected, and its points."""
    X = cloud(N, 3, seed=4)
    D = np.linalg.norm(X[:, None] - X[None], axis=2)
    W = np.exp(-(D**2))
    W[np.sort(D, axis=1)[:, [14]] < D] = 0.0
    W = np.maximum(W, W.T)
    loops = {"none": 0.0, "ones": 1.0, "uneven": np.linspace(0.0, 3.0, N)}[diagonal]
    np.fill_diagonal(W, loops)
    return W, X


def _diffusion(W: Any, alpha: float, t: int, d: int = 3) -> Any:
    """Dense definition: eigenvectors of P = D_α⁻¹W_α [S4, eq. 15], of unit norm under the stationary distribution, times μ^t."""
    q = W.sum(axis=1) ** alpha
    W = W / np.outer(q, q)
    degree = W.sum(axis=1)
    P = W / degree[:, None]
    root = np.sqrt(degree)
    mu, U = la.eigh(root[:, None] * P / root)
    psi = U / root[:, None] * np.sqrt(degree.sum())
    return (psi * mu**t)[:, ::-1][:, 1 : d + 1], mu[::-1][1 : d + 1]


@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e4])
@pytest.mark.parametrize("alpha, t", [(0, 1), (0.5, 2), (1, 1)])
@pytest.mark.parametrize("diagonal", ["none", "ones", "uneven"])
@pytest.mark.every(3)
def test_diffusion_map_of_given_weights_is_the_walk_of_the_matrix(diagonal, alpha, t, scale):
    W, X = _weights(diagonal)
    expected, mu = _diffusion(W, alpha, t)
    params = {"alpha": alpha, "t": t, "weights": "precomputed"}
    for fitted in (
        es.DiffusionMap(3, graph=sp.csr_array(scale * W), **params).fit(X),
        es.DiffusionMap(3, graph="precomputed", **params).fit(scale * W),
        es.DiffusionMap(3, graph="precomputed", **params).fit(sp.csr_array(scale * W)),
    ):
        np.testing.assert_allclose(fitted.walk_eigenvalues_, mu, atol=1e-10)
        assert_allclose_up_to_sign(fitted.embedding_, expected, rtol=1e-7, atol=1e-8)


def test_new_rows_of_affinities_continue_the_walk():
    """A row that is nearly that of a training point, its self-loop included, lands on the eigenfunction formula p(x)Y/μ."""
    W, _ = _weights("ones")
    fitted = es.DiffusionMap(3, alpha=0, graph="precomputed", weights="precomputed").fit(W)
    rows = W[:6] * (1 + 1e-9)
    np.testing.assert_allclose(fitted.transform(rows), fitted.embedding_[:6], atol=1e-7)


def test_lists_of_weights_may_name_the_point_itself():
    W, X = _weights("ones")
    places = np.argsort(-W, axis=1, kind="stable")[:, :12]
    listed = np.take_along_axis(W, places, axis=1)
    A = np.zeros_like(W)
    np.put_along_axis(A, places, listed, axis=1)
    A = np.maximum(A, A.T)
    assert np.all(places[:, 0] == np.arange(N))
    fitted = es.DiffusionMap(3, alpha=0, graph=(places, listed), weights="precomputed").fit(X)
    assert_allclose_up_to_sign(fitted.embedding_, _diffusion(A, 0, 1)[0], rtol=1e-7, atol=1e-8)


def test_a_transformer_may_name_the_point_itself():
    _, X = _weights("none")
    walk = KNeighborsTransformer(mode="connectivity", n_neighbors=11).fit(X)
    A = walk.transform(X).toarray()
    assert np.all(A.diagonal() == 1)
    fitted = es.DiffusionMap(3, alpha=0, graph=walk, weights="precomputed").fit(X)
    assert_allclose_up_to_sign(fitted.embedding_, _diffusion(np.maximum(A, A.T), 0, 1)[0], rtol=1e-7, atol=1e-8)


def test_powers_of_given_weights_raise_the_diagonal_too():
    W, X = _weights("uneven")
    fitted = es.DiffusionMap(3, graph=sp.csr_array(W), weights=es.Powered("precomputed", 2), alpha=0).fit(X)
    assert_allclose_up_to_sign(fitted.embedding_, _diffusion(W**2, 0, 1)[0], rtol=1e-7, atol=1e-8)


def test_landmarks_of_affinities_keep_their_self_loops():
    W, _ = _weights("uneven")
    chosen = np.arange(0, N, 2)
    fitted = es.DiffusionMap(2, alpha=0, graph="precomputed", weights="precomputed", landmarks=chosen).fit(W)
    expected = _diffusion(W[np.ix_(chosen, chosen)], 0, 1, 2)[0]
    assert_allclose_up_to_sign(fitted.embedding_[chosen], expected, rtol=1e-7, atol=1e-8)


def test_weights_made_of_distances_have_one_on_the_diagonal():
    _, X = _weights("none")
    fitted = es.DiffusionMap(3, n_neighbors=12, weights=es.Heat(1.5), alpha=0).fit(X)
    W = fitted.affinity_.W.toarray()
    assert not W.diagonal().any()
    assert_allclose_up_to_sign(fitted.embedding_, _diffusion(W + np.eye(N), 0, 1)[0], rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("scale", [1.0, 1e-3])
@pytest.mark.parametrize("unit", ["degree", "covariance"])
def test_eigenmaps_leave_the_diagonal_out_of_the_degrees(unit, scale):
    W, X = _weights("uneven")
    plain = W - np.diag(W.diagonal())
    degree = plain.sum(axis=1)
    B = np.diag(degree) if unit == "degree" else np.eye(N)
    expected = la.eigh(np.diag(degree) - plain, B)[1][:, 1:4]
    given = es.LaplacianEigenmaps(3, unit=unit, graph="precomputed", weights="precomputed").fit(scale * W)
    assert angle(given.embedding_, expected) < 1e-6
    beside = es.LaplacianEigenmaps(3, unit=unit, graph=sp.csr_array(scale * W), weights="precomputed").fit(X)
    assert angle(beside.embedding_, expected) < 1e-6


def test_commute_times_are_those_of_the_walk_without_self_loops():
    W, X = _weights("uneven")
    plain = W - np.diag(W.diagonal())
    K = la.pinv(np.diag(plain.sum(axis=1)) - plain) * plain.sum()
    expected = K.diagonal()[:, None] + K.diagonal() - 2 * K
    Y = es.CommuteTimeEmbedding(N - 1, graph=sp.csr_array(1e-3 * W), weights="precomputed").fit(X).embedding_
    np.testing.assert_allclose(
        np.sum((Y[:, None] - Y[None]) ** 2, axis=2), expected, rtol=1e-7, atol=1e-7 * expected.max()
    )


def test_projections_leave_the_diagonal_out_of_the_degrees():
    W, X = _weights("uneven")
    plain = W - np.diag(W.diagonal())
    degree = plain.sum(axis=1)
    Z = X - degree @ X / degree.sum()
    expected = la.eigh(Z.T @ (np.diag(degree) - plain) @ Z, Z.T * degree @ Z)[1][:, :2]
    fitted = es.LPP(2, graph=sp.csr_array(W), weights="precomputed").fit(X)
    assert angle(fitted.components_.T, expected) < 1e-6


@pytest.mark.parametrize(
    "method",
    [es.LPP(2), es.OLPP(2), es.LaplacianEigenmaps(2), es.DiffusionMap(2), es.TraceReducer(2)],
    ids=lambda each: type(each).__name__,
)
def test_affinities_are_not_read_as_lengths(method: Any) -> None:
    W, X = _weights("none")
    with pytest.raises(GraphError, match=r'they are affinities.*weights="precomputed"'):
        clone(method).set_params(graph=sp.csr_array(W)).fit(X)
    same = clone(method).set_params(graph=sp.csr_array(W), weights="binary").fit(X)  # uses no lengths
    assert same.embedding_.shape == (N, 2)
