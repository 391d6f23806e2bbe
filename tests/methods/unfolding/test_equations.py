"""Unfoldings that keep the distances of pairs exactly, compared with a general solver and with layouts that are known."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg as la
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.spatial import procrustes
from scipy.spatial.distance import cdist
from sklearn.datasets import make_swiss_roll

from eigenspan import MVU, PCA, SupervisedMVU
from eigenspan.errors import ConvergenceWarning, DisconnectedWarning, InputError
from eigenspan.numerics.sdp.faces import cliques, exposed_face
from sdp_helpers import clarabel_tolerances

Array = NDArray[np.float64]


def optimum(n: int, pairs: Array, d: Array) -> float:
    """Return max tr K under the equations, K1 = 0, by a general solver."""
    cp = pytest.importorskip("cvxpy")
    Z = la.null_space(np.ones((1, n)))
    B = Z[pairs[:, 0]] - Z[pairs[:, 1]]
    K = cp.Variable((n - 1, n - 1), PSD=True)
    problem = cp.Problem(cp.Maximize(cp.trace(K)), [cp.sum(cp.multiply(B @ K, B), axis=1) == d / d.mean()])
    problem.solve(solver=cp.CLARABEL, **clarabel_tolerances(1e-9), **clarabel_tolerances(1e-6, "reduced_"))
    return float(problem.value * d.mean())


def ring(seed: int) -> Array:
    t = np.linspace(0, 2 * np.pi, 26, endpoint=False)
    return np.c_[np.cos(t), np.sin(t), 0 * t] + 0.1 * np.random.default_rng(seed).standard_normal((26, 3))


def accordion() -> tuple[Array, sp.csr_array, Array]:
    """A strip of 9 × 4 points with three folds, all distances within each of its four panels, and the flat strip."""
    u, v = np.repeat(np.arange(9.0), 4), np.tile(np.arange(4.0), 9)
    angles = np.array([0.0, 0.9, -0.4, 1.2])
    steps = np.c_[np.cos(angles), np.sin(angles)]
    corners = np.vstack([[0.0, 0.0], np.cumsum(2 * steps, axis=0)])
    panel = np.minimum(u // 2, 3).astype(int)
    X = np.c_[corners[panel] + (u - 2 * panel)[:, None] * steps[panel], v]
    D = np.zeros((36, 36))
    for k in range(4):
        rows = np.flatnonzero((u >= 2 * k) & (u <= 2 * k + 2))
        D[np.ix_(rows, rows)] = cdist(X[rows], X[rows])
    return X, sp.csr_array(D), np.c_[u, v]


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
@pytest.mark.parametrize(
    ("X", "settings"),
    [
        (ring(0), {"n_neighbors": 4}),
        (ring(1), {"n_neighbors": 3, "common_neighbors": True}),
        (np.random.default_rng(2).standard_normal((24, 4)), {"n_neighbors": 4}),
        (np.random.default_rng(3).standard_normal((22, 15)), {"n_neighbors": 4, "common_neighbors": True}),
    ],
)
def test_a_general_solver_agrees_where_there_is_an_interior(X, settings):
    mvu = MVU(2, constraint="equality", tol=1e-7, **settings).fit(X)
    c, R = mvu.certificate_, mvu.embedding_full_
    assert (c.status, c.constraint) == ("certified", "equality")
    v = np.sum((R[c.edges[:, 0]] - R[c.edges[:, 1]]) ** 2, axis=1)
    assert np.abs(v / c.squared_distances - 1).max() < 1e-7
    assert np.sum(R**2) == pytest.approx(optimum(len(X), c.edges, c.squared_distances), rel=1e-6)
    assert 0 <= c.gap < 1e-7
    relaxed = MVU(2, **settings).fit(X).certificate_
    assert c.lower < relaxed.upper


def test_a_folded_strip_becomes_flat():
    X, graph, flat = accordion()
    mvu = MVU(2, graph=graph, constraint="equality", tol=1e-8).fit(X)
    best = np.sum((flat - flat.mean(axis=0)) ** 2)
    assert [mvu.certificate_.lower, mvu.certificate_.upper] == pytest.approx([best, best], rel=1e-7)
    assert mvu.spectrum_[2:].sum() < 1e-7 * best
    assert procrustes(flat, mvu.embedding_)[2] < 1e-8
    assert 0 <= mvu.solution_.verify().gap < 1e-4
    assert (
        mvu.diagnostics_["face"] == 6
    )  # a plane for the first panel and one more dimension for each of the others, with the constant


def test_a_rigid_graph_leaves_the_data_as_they_are():
    X, _ = make_swiss_roll(80, random_state=0)
    mvu = MVU(3, n_neighbors=8, common_neighbors=True, constraint="equality", tol=1e-6).fit(X)
    assert mvu.diagnostics_["face"] == 4
    assert procrustes(PCA(3).fit_transform(X), mvu.embedding_)[2] < 1e-6
    again = SupervisedMVU(3, n_neighbors=29, constraint="equality", tol=1e-6).fit(X[:30], np.zeros(30))
    assert again.certificate_.upper == pytest.approx(np.sum((X[:30] - X[:30].mean(axis=0)) ** 2), rel=1e-5)


@pytest.mark.parametrize("k", [4, 8])
def test_exact_data_without_an_interior_are_certified(k):
    X, _ = make_swiss_roll(120, random_state=1)
    c = MVU(2, n_neighbors=k, constraint="equality").fit(X).certificate_
    assert c.status == "certified"
    assert 0 <= c.gap <= 1e-3
    assert c.violation <= 1e-3


def test_distances_that_no_points_have_are_refused():
    X, _ = make_swiss_roll(60, random_state=0)
    with pytest.raises(
        InputError, match=r'Gram matrix of \d+ points.*eigenvalue -.*constraint="inequality" or "slack"'
    ):
        MVU(2, metric="cityblock", constraint="equality").fit(X)
    with pytest.raises(InputError, match=r'method="low-rank" needs.*Use method="dense"'):
        MVU(2, n_neighbors=4, method="low-rank", constraint="equality").fit(X)
    # two overlapping tetrahedra and the edge between their other corners, which they determine
    T = np.random.default_rng(0).standard_normal((5, 2))
    D = cdist(T, T)
    D[0, 4] = D[4, 0] = 0.0
    pairs = np.argwhere(np.triu(D) > 0)
    assert exposed_face(5, pairs, D[tuple(pairs.T)] ** 2).basis.shape == (5, 3)
    fan = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0], [-1.0, 0.3], [-0.4, -1.0]])
    ends = [(0, 1), (1, 2), (1, 3), (1, 4), (0, 2), (2, 3), (3, 4), (0, 4), (0, 3), (2, 4)]
    wrong = np.array([np.sum((fan[i] - fan[j]) ** 2) for i, j in ends])
    wrong[0] *= 1.1
    with pytest.raises(InputError, match="No points have these distances"):
        exposed_face(5, np.array(ends), wrong)


def test_cliques_are_maximal_and_cover_every_pair():
    rng = np.random.default_rng(4)
    A = np.triu(rng.random((14, 14)) < 0.5, 1)
    pairs = np.argwhere(A)
    joined, found = A | A.T, list(cliques(14, pairs))
    for clique in found:
        assert joined[np.ix_(clique, clique)].sum() == clique.size * (clique.size - 1)
        assert not np.any(joined[clique].all(axis=0))
    covered = {
        pair for clique in found for pair in zip(*np.triu_indices(14, 1), strict=True) if np.isin(pair, clique).all()
    }
    alone = {(i, j) for i, j in pairs.tolist() if not np.any(joined[i] & joined[j])}
    assert {tuple(map(int, pair)) for pair in covered} == {tuple(pair) for pair in pairs.tolist()} - alone


def test_a_narrow_band_has_no_negative_gap():
    X, _ = make_swiss_roll(40, random_state=0)
    with pytest.warns(ConvergenceWarning):
        c = MVU(2, n_neighbors=8, constraint="band", band=1e-5, max_iter=5, method="dense").fit(X).certificate_
    assert c.gap >= -1e-9
    assert c.lower <= c.upper


def test_the_data_stand_in_for_a_solution_that_breaks_the_equations() -> None:
    """Lengths of 0.002 and 5 in one program stop the solver at once: the data themselves keep all distances."""
    t = np.linspace(0, 3, 30)
    curve = np.column_stack([np.cos(t), np.sin(t), 0.1 * t])
    X = np.vstack([0.001 * curve, curve[:10] + 5])
    with pytest.warns(ConvergenceWarning, match="too short"), pytest.warns(DisconnectedWarning):
        model = MVU(3, n_neighbors=4, constraint="equality").fit(X)
    edges = model.graph_.undirected().tocoo()
    lengths = np.linalg.norm(model.embedding_[edges.row] - model.embedding_[edges.col], axis=1)
    np.testing.assert_allclose(lengths, edges.data, rtol=1e-6)
