"""The algebra of quadratic forms, and every form of `eigenspan.problem.forms` against a plain loop over its definition."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from eigenspan.errors import DimensionError, GraphError, InputError
from eigenspan.graphs import KNN, reconstruction_weights
from eigenspan.problem import Form, cross_form, diagonal, factor_gram, gram, identity
from eigenspan.problem.forms import (
    ByClass,
    between,
    centring,
    class_average,
    class_graph,
    degree,
    degrees,
    hessian_alignment,
    laplacian,
    modified_alignment,
    reconstruction,
    row_stochastic,
    tangent_alignment,
    total,
    within,
)
from helpers import cloud

PARTS = ("sparse", "low_rank", "sparse_low_rank", "roots", "dense")


def symmetric(rng: np.random.Generator, n: int) -> Any:
    M = rng.standard_normal((n, n))
    return M + M.T


def make(n: int, parts: list[str], seed: int) -> tuple[Form, np.ndarray]:
    """A form with the named parts and the matrix it stands for."""
    rng = np.random.default_rng(seed)
    form, M = Form(n), np.zeros((n, n))
    for part in parts:
        if part == "sparse":
            S = symmetric(rng, n) * (symmetric(rng, n) > 0)
            form, M = form + Form(n, sparse=sp.csr_array(S)), M + S
        elif part in ("low_rank", "sparse_low_rank"):
            r = int(rng.integers(1, n + 3))
            U, c = rng.standard_normal((n, r)), rng.standard_normal(r)
            U *= rng.random((n, r)) < 0.6
            kept = sp.csr_array(U) if part == "sparse_low_rank" else U
            form, M = form + Form(n, low_rank=(kept, c)), M + (U * c) @ U.T
        elif part == "roots":
            F, a = rng.standard_normal((int(rng.integers(1, 2 * n)), n)), float(rng.standard_normal())
            form, M = form + Form(n, roots=((a, sp.csr_array(F)),)), M + a * F.T @ F
        else:
            K = symmetric(rng, n)
            form, M = form + Form(n, dense=K), M + K
    return form, M


forms = st.builds(make, st.integers(1, 7), st.lists(st.sampled_from(PARTS), max_size=4), st.integers(0, 10**6))


def assert_same(form: Form, M: np.ndarray) -> None:
    """Every way of asking a form gives the same matrix."""
    n, rng = M.shape[0], np.random.default_rng(0)
    size = max(1.0, np.abs(M).max())
    close = {"rtol": 1e-10, "atol": 1e-12 * size * n}
    Z = rng.standard_normal((n, 3))
    Zs = sp.csr_array(Z * (rng.random(Z.shape) < 0.5))
    assert form.n == n
    np.testing.assert_allclose(form.to_dense(), M, **close)
    np.testing.assert_allclose(form @ Z, M @ Z, **close)
    np.testing.assert_allclose(form @ Z[:, 0], M @ Z[:, 0], **close)
    np.testing.assert_allclose(form.quadratic(Z), Z.T @ M @ Z, **close)
    np.testing.assert_allclose(form.quadratic(Zs), Zs.T @ M @ Zs.toarray(), **close)
    np.testing.assert_allclose(form.diagonal(), np.diag(M), **close)
    np.testing.assert_allclose(form.ones(), M.sum(axis=1), **close)
    assembled = form.assembled()
    assert not assembled.roots
    np.testing.assert_allclose(assembled.to_dense(), M, **close)
    assert form.norm() >= np.linalg.norm(M, 2) * (1 - 1e-12) - 1e-300  # multiples may vanish before their products do
    if form.is_diagonal():
        np.testing.assert_array_equal(M, np.diag(np.diag(M)))
    assert_honest(form, M)


def assert_honest(form: Form, M: np.ndarray) -> None:
    """The flags never promise what the matrix does not keep."""
    size = max(form.norm(), 1e-300)
    if form.psd:
        assert np.linalg.eigvalsh(M)[0] >= -1e-10 * size * M.shape[0]
    if form.kills_constant:
        assert np.abs(M.sum(axis=1)).max() <= 1e-10 * size * M.shape[0]


# ---------------------------------------------------------------------- algebra
@given(forms)
@settings(deadline=None)
def test_every_representation_agrees(pair: tuple[Form, np.ndarray]) -> None:
    assert_same(*pair)


@given(st.integers(1, 6), *[st.lists(st.sampled_from(PARTS), max_size=3)] * 2, st.integers(0, 10**6))
@settings(deadline=None)
def test_sum_and_difference(n: int, first: list[str], second: list[str], seed: int) -> None:
    (f, F), (g, G) = make(n, first, seed), make(n, second, seed + 1)
    assert_same(f + g, F + G)
    assert_same(f - g, F - G)
    assert_same(-f, -F)


@given(forms, st.floats(-10, 10))
@settings(deadline=None)
def test_scalar_multiple(pair: tuple[Form, np.ndarray], a: float) -> None:
    form, M = pair
    assert_same(a * form, a * M)
    assert_same(form * a, a * M)


@given(forms, st.integers(0, 1000))
@settings(deadline=None)
def test_congruence_by_a_diagonal(pair: tuple[Form, np.ndarray], seed: int) -> None:
    form, M = pair
    s = np.random.default_rng(seed).standard_normal(form.n)
    assert_same(form.scaled(s), M * np.outer(s, s))


def flagged(n: int, kind: str, seed: int) -> Form:
    rng = np.random.default_rng(seed)
    W = sp.csr_array(np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.5), 1))
    codes = rng.integers(-1, 3, n)
    codes[0] = 0
    return {
        "identity": lambda: identity(n),
        "diagonal": lambda: diagonal(rng.standard_normal(n)),
        "positive diagonal": lambda: diagonal(rng.random(n)),
        "gram": lambda: gram(symmetric(rng, n), psd=False),
        "factor": lambda: factor_gram(rng.standard_normal((n, 2))),
        "uncentred": lambda: factor_gram(rng.standard_normal((n, 2)), centre=False),
        "laplacian": lambda: laplacian(W + W.T),
        "signed laplacian": lambda: laplacian(sp.csr_array(symmetric(rng, n))),
        "laplacian of a form": lambda: laplacian(factor_gram(rng.standard_normal((n, 1)), centre=False)),
        "laplacian of classes": lambda: laplacian(class_graph(codes)),
        "laplacian of minus classes": lambda: laplacian(-class_graph(codes)),
        "reconstruction": lambda: reconstruction(row_stochastic(W)),
        "odd reconstruction": lambda: reconstruction(W),
        "within": lambda: within(codes),
        "between": lambda: between(codes),
    }[kind]()


KINDS = (
    "identity", "diagonal", "positive diagonal", "gram", "factor", "uncentred", "laplacian", "signed laplacian",
    "laplacian of a form", "laplacian of classes", "laplacian of minus classes",
    "reconstruction", "odd reconstruction", "within", "between",
)  # fmt: skip


@given(
    st.integers(2, 7),
    st.sampled_from(KINDS),
    st.sampled_from(KINDS),
    st.sampled_from([-2.0, -1.0, 0.0, 0.5, 3.0]),
    st.integers(0, 10**6),
)
@settings(max_examples=300, deadline=None)
def test_flags_are_never_wrongly_true(n: int, first: str, second: str, a: float, seed: int) -> None:
    f, g = flagged(n, first, seed), flagged(n, second, seed + 1)
    for form in (f, g, f + g, a * f, f - g, f + a * g, -f, f.assembled(), f.scaled(np.linspace(-1, 2, n))):
        assert_honest(form, form.to_dense())


def test_flags_survive_what_keeps_them() -> None:
    form = centring(5) + 2.0 * laplacian(sp.csr_array(np.ones((5, 5))))
    assert form.psd
    assert form.kills_constant
    assert not (-form).psd
    assert (-form).kills_constant
    assert not form.scaled(np.arange(5.0)).kills_constant
    assert form.scaled(np.arange(5.0)).psd


def test_forms_over_different_samples_do_not_add() -> None:
    with pytest.raises(InputError, match="3 and 4 samples"):
        identity(3) + identity(4)
    with pytest.raises(TypeError):
        identity(3) + 1.0


def test_the_quadratic_of_nothing_is_empty() -> None:
    Z = np.zeros((4, 0))
    for form in (identity(4), centring(4), gram(np.eye(4)), reconstruction(sp.csr_array(np.eye(4)))):
        assert form.quadratic(Z).shape == (0, 0)


def test_quadratic_in_blocks_of_columns() -> None:
    rng = np.random.default_rng(0)
    M, Z = make(20, ["sparse"], 3)[0], rng.standard_normal((20, 600))
    np.testing.assert_allclose(M.quadratic(Z), Z.T @ M.to_dense() @ Z, rtol=1e-9, atol=1e-9)


def test_is_diagonal() -> None:
    assert identity(3).is_diagonal()
    assert diagonal([1.0, -2.0]).is_diagonal()
    assert (identity(3) + diagonal([0.0, 1.0, 2.0])).is_diagonal()
    explicit = sp.csr_array(([1.0, 0.0, 2.0], ([0, 0, 1], [0, 1, 1])), shape=(2, 2))
    assert Form(2, sparse=explicit).is_diagonal()
    assert not Form(2, sparse=sp.csr_array(np.ones((2, 2)))).is_diagonal()
    assert not centring(3).is_diagonal()
    assert not gram(np.eye(3)).is_diagonal()
    assert not Form(
        2, sparse=sp.eye_array(2, format="csr"), roots=((1.0, sp.eye_array(2, format="csr")),)
    ).is_diagonal()


def test_gram_centres_in_place_and_factor_gram_agrees() -> None:
    R = np.random.default_rng(0).standard_normal((6, 2)) + 5
    H = np.eye(6) - 1 / 6
    np.testing.assert_allclose(gram(R @ R.T).to_dense(), H @ R @ R.T @ H, atol=1e-10)
    np.testing.assert_allclose(factor_gram(R).to_dense(), H @ R @ R.T @ H, atol=1e-10)
    np.testing.assert_allclose(gram(R @ R.T, centre=False).to_dense(), R @ R.T)
    np.testing.assert_allclose(factor_gram(R, centre=False).to_dense(), R @ R.T)
    np.testing.assert_array_equal(R.mean(axis=0) > 4, True)  # the factor is not consumed


def test_cross_form_pairs_rows() -> None:
    rng = np.random.default_rng(0)
    y, z = rng.standard_normal((2, 4))
    both = np.concatenate([y, z])
    assert both @ (cross_form(4) @ both) == pytest.approx(2 * y @ z)
    assert not cross_form(4).psd


# ---------------------------------------------------------------------- forms against loops
def check(form: Form, expected: np.ndarray, *, psd: bool = True, kills: bool = True) -> None:
    M = form.to_dense()
    assert M.shape == expected.shape
    np.testing.assert_allclose(M, expected, atol=1e-12 * max(1.0, np.abs(expected).max()))
    np.testing.assert_allclose(M, M.T, atol=1e-14 * max(1.0, np.abs(M).max()))
    assert form.psd == psd
    assert form.kills_constant == kills
    assert_honest(form, M)


def weights(n: int = 9, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    W = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.5), 1)
    return W + W.T


def test_laplacian_and_degree_against_a_loop() -> None:
    W = weights()
    L = np.zeros_like(W)
    for i in range(9):
        for j in range(9):
            e = np.zeros(9)
            e[i] += 1
            e[j] -= 1
            L += 0.5 * W[i, j] * np.outer(e, e)
    check(laplacian(sp.csr_array(W)), L)
    check(degree(sp.csr_array(W)), np.diag(W.sum(axis=1)), kills=False)
    np.testing.assert_allclose(degrees(sp.csr_array(W)), W.sum(axis=1))
    assert degree(sp.csr_array(W)).is_diagonal()


def test_laplacian_of_signed_weights_is_not_called_psd() -> None:
    W = -weights()
    check(laplacian(sp.csr_array(W)), np.diag(W.sum(axis=1)) - W, psd=False)
    v = np.array([[1.0], [-1.0], [2.0]])
    check(laplacian(factor_gram(v, centre=False)), np.diag((v @ v.T).sum(axis=1)) - v @ v.T, psd=False)


def test_laplacian_of_no_edges_is_zero() -> None:
    check(laplacian(sp.csr_array((4, 4))), np.zeros((4, 4)))


CODES = (
    np.array([0, 0, 1, 1, 1, 2]),
    np.array([0, -1, 1, 1, -1, 0, 0, 2]),
    np.array([0, 0, 0]),
    np.array([0, 1, 2, 3]),
)


@pytest.mark.parametrize("codes", CODES, ids=["all", "unlabelled", "one class", "singletons"])
def test_class_forms_against_loops(codes: np.ndarray) -> None:
    n, known = codes.size, codes >= 0
    m = known.sum()
    H, T = np.zeros((n, n)), np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if known[i] and known[j]:
                T[i, j] = (i == j) - 1 / m
                if codes[i] == codes[j]:
                    H[i, j] = 1 / np.sum(codes == codes[i])
    E = np.outer(known, known) / m
    check(class_graph(codes), H, kills=False)
    check(class_average(codes), H, kills=False)
    check(between(codes), H - E)
    check(within(codes), np.diag(known.astype(float)) - H)
    check(total(codes), T)
    np.testing.assert_allclose((between(codes) + within(codes)).to_dense(), total(codes).to_dense(), atol=1e-14)
    check(laplacian(class_graph(codes)), np.diag(known.astype(float)) - H)
    check(ByClass(codes).reconstruction(), np.diag(known.astype(float)) - H)
    np.testing.assert_allclose(H @ H, H, atol=1e-14)  # a projector, so its reconstruction form is not squared


def test_centring_is_total_variance() -> None:
    check(centring(5), np.eye(5) - 0.2)
    y = np.random.default_rng(0).standard_normal(5)
    assert y @ (centring(5) @ y) == pytest.approx(5 * y.var())


def test_reconstruction_against_a_loop() -> None:
    rng = np.random.default_rng(0)
    W = weights(seed=1) * rng.random((9, 9))
    W[4] = 0  # a point that nothing reconstructs
    P = row_stochastic(sp.csr_array(W)).toarray()
    cost = np.zeros((9, 9))
    for i in range(9):
        e = -P[i]
        e[i] += float(i != 4)
        cost += np.outer(e, e)
    check(reconstruction(sp.csr_array(P)), cost)
    assert not reconstruction(sp.csr_array(W)).kills_constant
    np.testing.assert_allclose(P.sum(axis=1), np.where(np.arange(9) == 4, 0, 1))


# ---------------------------------------------------------------------- alignment
def ltsa_loop(X: np.ndarray, graph: Any, d: int) -> np.ndarray:
    M = np.zeros((len(X), len(X)))
    for i, (a, b) in enumerate(pairwise(graph.indptr)):
        members = np.concatenate([[i], graph.indices[a:b]])
        P = X[members] - X[members].mean(axis=0)
        U = np.linalg.svd(P, full_matrices=False)[0][:, :d]
        N = np.eye(members.size) - 1 / members.size - U @ U.T
        M[np.ix_(members, members)] += N @ N.T
    return M


def hessian_loop(X: np.ndarray, graph: Any, d: int) -> np.ndarray:
    M = np.zeros((len(X), len(X)))
    for i, (a, b) in enumerate(pairwise(graph.indptr)):
        members = np.concatenate([[i], graph.indices[a:b]])
        P = X[members] - X[members].mean(axis=0)
        U = np.linalg.svd(P, full_matrices=False)[0][:, :d]
        columns = [np.ones(members.size), *U.T, *(U[:, p] * U[:, q] for p in range(d) for q in range(p, d))]
        N = np.linalg.qr(np.column_stack(columns))[0][:, 1 + d :]
        M[np.ix_(members, members)] += N @ N.T
    return M


@pytest.mark.parametrize("D", [2, 3, 12])
@pytest.mark.parametrize("form, loop", [(tangent_alignment, ltsa_loop), (hessian_alignment, hessian_loop)])
def test_local_models_against_a_loop(form: Any, loop: Any, D: int) -> None:
    X = cloud(25, D)
    graph = KNN(7).build(X).distances
    check(form(X, graph, 2), loop(X, graph, 2))


def test_local_models_of_unequal_neighbourhoods() -> None:
    X = cloud(30)
    graph = KNN(7).build(X).undirected()
    check(tangent_alignment(X, graph, 2), ltsa_loop(X, graph, 2))


@pytest.mark.parametrize("form", [tangent_alignment, hessian_alignment])
def test_flat_patches_cost_nothing(form: Any) -> None:
    rng = np.random.default_rng(0)
    flat = rng.standard_normal((40, 2))
    X = flat @ rng.standard_normal((2, 5)) + 3.0
    M = form(X, KNN(8).build(X).distances, 2)
    assert np.abs(M @ flat).max() < 1e-10


def test_modified_alignment_reconstructs_affinely() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 4)) * [1, 1, 0.05, 0.05]
    M = modified_alignment(X, KNN(8).build(X).distances, 2)
    dense = M.to_dense()
    check(M, dense)
    flat = rng.standard_normal((40, 2)) @ rng.standard_normal((2, 4))
    exact = modified_alignment(flat, KNN(8).build(flat).distances, 2, reg=1e-12)
    assert np.abs(exact @ flat).max() < 1e-5 * exact.norm()
    assert np.linalg.matrix_rank(exact.to_dense(), tol=1e-8 * exact.norm()) <= 37


def modified_loop(X: np.ndarray, graph: Any, d: int, reg: float) -> np.ndarray:
    """Zhang & Wang's algorithm with its reflections, on neighbourhoods whose smallest eigenvectors are well determined."""
    M, local = np.zeros((len(X), len(X))), []
    for i, (a, b) in enumerate(pairwise(graph.indptr)):
        G = (X[graph.indices[a:b]] - X[i]) @ (X[graph.indices[a:b]] - X[i]).T
        local.append((i, graph.indices[a:b], G, *np.linalg.eigh(G)))
    eta = np.median([values[:-d].sum() / values[-d:].sum() for *_, values, _ in local])
    for i, near, G, values, V in local:
        k = near.size
        s = max(1, sum(values[:j].sum() / values[j:].sum() <= eta for j in range(1, k - d + 1)))
        w = np.linalg.solve(G + reg * np.trace(G) * np.eye(k), np.ones(k))
        sums = V[:, :s].sum(axis=0)
        alpha = np.linalg.norm(sums) / np.sqrt(s)
        h = alpha - sums
        H = np.eye(s) - 2 * np.outer(h, h) / (h @ h)
        N = np.vstack([-np.ones((1, s)), (1 - alpha) * np.outer(w / w.sum(), np.ones(s)) + V[:, :s] @ H])
        members = np.concatenate([[i], near])
        M[np.ix_(members, members)] += N @ N.T
    return M


@pytest.mark.parametrize("D", [4, 20])
@pytest.mark.parametrize("reg", [1e-3, 1e-1])
def test_modified_alignment_against_a_loop(D: int, reg: float) -> None:
    X = cloud(60, D) * np.logspace(0, -1, D)
    for graph in (KNN(8).build(X).distances, KNN(7).build(X).undirected()):
        check(modified_alignment(X, graph, 2, reg), modified_loop(X, graph, 2, reg))


@pytest.mark.parametrize("line", [False, True])
@pytest.mark.parametrize("form", [tangent_alignment, hessian_alignment, modified_alignment])
def test_coincident_and_collinear_points_in_any_order(form: Any, line: bool) -> None:
    """Neighbourhoods of less than two dimensions: the form must not invent the missing ones from the order of the points."""
    X = np.repeat(cloud(4), 10, axis=0)
    X += line * np.random.default_rng(1).random((40, 1)) * [1.0, 2.0, 3.0]
    order = np.random.default_rng(0).permutation(40)
    complete = np.kron(np.eye(4), np.ones((10, 10))) - np.eye(40)
    M = form(X, sp.csr_array(complete), 2).to_dense()
    shuffled = form(X[order], sp.csr_array(complete[np.ix_(order, order)]), 2).to_dense()
    np.testing.assert_allclose(shuffled, M[np.ix_(order, order)], atol=1e-11)
    free = {
        tangent_alignment: 2 if line else 1,
        modified_alignment: 1,
    }  # of each clique; the ridge bends lines a little
    if form in free:
        assert np.linalg.matrix_rank(M, tol=1e-9) == 40 - 4 * free[form]


def test_alignment_refuses_what_it_cannot_model() -> None:
    X = cloud(25)
    graph = KNN(4).build(X).distances
    with pytest.raises(GraphError, match="at least 5 neighbours"):
        hessian_alignment(X, graph, 2)
    with pytest.raises(DimensionError, match="n_features=3"):
        tangent_alignment(X, KNN(6).build(X).distances, 4)
    with pytest.raises(GraphError):
        tangent_alignment(X, sp.csr_array((25, 25)), 2)


def test_lle_matrix_of_real_weights_kills_the_constant() -> None:
    X = cloud(40)
    W = reconstruction_weights(X, KNN(6).build(X).distances)
    M = reconstruction(W)
    check(M, (np.eye(40) - W.toarray()).T @ (np.eye(40) - W.toarray()))
