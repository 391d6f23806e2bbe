"""Maximum covariance unfolding: against cvxpy, MVU as the case of equal views, and what two views have in common."""

import pickle
import warnings

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from sklearn.base import clone

from eigenspan import KNN, MVU, MaximumCovarianceUnfolding, equivalent_kernel
from eigenspan.errors import DimensionError, DisconnectedWarning, GraphError, InputError
from eigenspan.methods.unfolding.covariance_unfolding import side_by_side
from helpers import quietly, reports, says
from sdp_helpers import clarabel_tolerances


def two_views(n, seed=0):
    """The place on a curve, seen as an arc with another coordinate across and as a wave in another unit."""
    rng = np.random.default_rng(seed)
    t = (np.arange(n) + rng.random(n)) / n
    X = np.column_stack([np.cos(4 * t), np.sin(4 * t), 0.3 * rng.random(n)])
    return X, 50 * np.column_stack([t, np.sin(7 * t) / 3]), t


X, Y, T = two_views(36)


def mcu(d=2, **more):
    return MaximumCovarianceUnfolding(d, **{"n_neighbors": 5, **more})


@pytest.fixture(scope="module")
def fitted():
    return mcu(tol=1e-4).fit(X, Y)


# ---------------------------------------------------------------------- the program
def optimum(one, two, band, k):
    """The problem as it stands, over the Gram matrix of all places with each view centred."""
    cp = pytest.importorskip("cvxpy")
    pytest.importorskip("clarabel")
    n = len(one)
    K = cp.Variable((2 * n, 2 * n), PSD=True)
    limits = [cp.sum(K[:n, :n]) == 0, cp.sum(K[n:, n:]) == 0]
    for first, Z in ((0, one), (n, two)):
        D = np.sum((Z[:, None] - Z) ** 2, axis=2)
        near = np.argsort(D, axis=1, kind="stable")[:, 1 : k + 1]
        D /= D[np.arange(n)[:, None], near].mean()
        pairs = {tuple(sorted((i, int(j)))) for i in range(n) for j in near[i]}
        for i, j in pairs:
            a, b = first + i, first + j
            v = K[a, a] - 2 * K[a, b] + K[b, b]
            limits += [v <= D[i, j]] + ([v >= (1 - band) * D[i, j]] if band is not None else [])
    problem = cp.Problem(cp.Maximize(cp.trace(K[:n, n:])), limits)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem.solve(solver="CLARABEL", **clarabel_tolerances(1e-7))
    return float(problem.value)


@pytest.mark.parametrize("band", [None, 0.3])
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.every(2)
def test_a_general_solver_finds_the_same(band, seed):
    one, two, _ = two_views(14, seed)
    form = {"constraint": "inequality"} if band is None else {"constraint": "band", "band": band}
    found = mcu(n_neighbors=4, tol=1e-6, **form).fit(one, two).certificate_
    best = optimum(one, two, band, 4)
    assert found.lower == pytest.approx(best, rel=1e-4)
    assert found.upper == pytest.approx(best, rel=1e-4)
    assert found.violation < 1e-5


def test_a_view_with_itself_is_unfolded_as_by_mvu():
    """tr K_xy ≤ ½(tr K_x + tr K_y), with equality where the views coincide."""
    one = mcu(constraint="inequality", tol=1e-5).fit(X, X)
    alone = MVU(2, n_neighbors=5, tol=1e-5).fit(X)
    unit = np.mean(one.graph_.distances.data**2)
    assert one.certificate_.lower * unit == pytest.approx(alone.certificate_.lower, rel=1e-4)
    np.testing.assert_allclose(one.embedding_, one.y_embedding_, atol=1e-6)
    np.testing.assert_allclose(one.embedding_[:, 0] ** 2, alone.embedding_[:, 0] ** 2, rtol=0.02, atol=0.02)


def test_the_certificate_is_about_the_whole_unfolding(fitted):
    F, c, n = fitted.embedding_full_, fitted.certificate_, len(X)
    np.testing.assert_allclose([F[:n].sum(axis=0), F[n:].sum(axis=0)], 0, atol=1e-8 * np.abs(F).sum())
    assert np.sum(F[:n] * F[n:]) == pytest.approx(c.lower, rel=1e-6)
    assert c.lower <= c.upper * (1 + 1e-9)
    assert c.gap < 1e-4
    i, j = c.edges.T
    np.testing.assert_array_equal(i < n, j < n)  # none across the views
    v = np.sum((F[i] - F[j]) ** 2, axis=1) / c.squared_distances
    assert v.max() < 1 + 1e-3
    assert v.min() > 0.95 - 1e-3


def test_the_graphs_of_both_views_share_one_place():
    views = quietly(lambda: mcu().fit(X, Y))
    J = side_by_side([views.graph_, views.y_graph_], [2.0, 5.0])
    n = len(X)
    across = J[:n, n:].tocoo()
    assert (across.row.tolist(), across.col.tolist(), across.data.tolist()) == ([0], [0], [0.0])
    np.testing.assert_allclose(J[:n, :n].toarray(), views.graph_.undirected().toarray() / 2)
    np.testing.assert_allclose(J[n:, n:].toarray(), views.y_graph_.undirected().toarray() / 5)


# ---------------------------------------------------------------------- what is found
def test_what_the_views_share_is_the_first_axis(fitted):
    assert fitted.correlations_[0] > 0.98
    assert abs(np.corrcoef(fitted.embedding_[:, 0], T)[0, 1]) > 0.98
    assert abs(np.corrcoef(fitted.y_embedding_[:, 0], T)[0, 1]) > 0.98
    assert fitted.score(X, Y) == pytest.approx(np.mean(fitted.correlations_), abs=1e-9)
    found = fitted.retrieve(X, Y, k=12)[0]
    assert np.mean([i in row for i, row in enumerate(found)]) > 0.6  # a third by chance


def test_neighbours_keep_their_distance_in_the_unit_of_their_view(fitted):
    scale = np.sqrt([np.mean(g.distances.data**2) for g in (fitted.graph_, fitted.y_graph_)])
    full = fitted.embedding_full_
    for part, Z, graph, size in ((full[:36], X, fitted.graph_, scale[0]), (full[36:], Y, fitted.y_graph_, scale[1])):
        C = graph.distances.tocoo()
        v = np.linalg.norm(size * (part[C.row] - part[C.col]), axis=1)
        d = np.linalg.norm(Z[C.row] - Z[C.col], axis=1)
        assert np.all(np.abs(v / d - 1) < 0.03)


def test_neither_unit_nor_turn_nor_place_of_a_view_matters(fitted):
    turned = 1e3 * X @ Rotation.from_rotvec([1, 2, 3]).as_matrix() - 7
    other = mcu(tol=1e-4).fit(turned, Y / 20)
    assert other.certificate_.lower == pytest.approx(fitted.certificate_.lower, rel=1e-3)
    np.testing.assert_allclose(other.embedding_[:, 0], 1e3 * fitted.embedding_[:, 0], rtol=0.02, atol=20)
    np.testing.assert_allclose(other.y_embedding_[:, 0], fitted.y_embedding_[:, 0] / 20, rtol=0.02, atol=0.02)


def test_new_points_of_either_view(fitted):
    one, two = fitted.transform(X, Y)
    np.testing.assert_allclose(one, fitted.embedding_, atol=1e-8)
    np.testing.assert_allclose(two, fitted.y_embedding_, atol=1e-6)
    near, other = fitted.transform(X + 1e-5, Y + 1e-3)
    np.testing.assert_allclose(near, one, atol=1e-2)
    np.testing.assert_allclose(other, two, atol=0.5)
    np.testing.assert_array_equal(fitted.transform(X[:3]), one[:3])
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.transform(X[:4] + 0.01), fitted.transform(X[:4] + 0.01))


@pytest.mark.parametrize("extension", ["eigenfunctions", "kernel-map"])
def test_other_extensions(extension):
    found = mcu(extension=extension, constraint="inequality").fit(X, Y)
    new, other = found.transform(X + 1e-6, Y + 1e-6)
    size = np.ptp(found.embedding_[:, 0]), np.ptp(found.y_embedding_[:, 0])
    assert np.abs(new - found.embedding_)[:, 0].max() < 0.2 * size[0]
    assert np.abs(other - found.y_embedding_)[:, 0].max() < 0.2 * size[1]


def test_landmarks_stand_for_all():
    one, two, t = two_views(120)
    found = mcu(1, landmarks=30, constraint="inequality").fit(one, two)
    assert found.embedding_.shape == found.y_embedding_.shape == (120, 1)
    assert abs(np.corrcoef(found.embedding_[:, 0], t)[0, 1]) > 0.97
    np.testing.assert_allclose(found.transform(one, two)[1], found.y_embedding_, atol=1e-8)


def test_a_vector_is_a_view_and_single_precision_stays():
    found = mcu(1, constraint="inequality").fit(X.astype(np.float32), T.astype(np.float32))
    assert found.embedding_.dtype == found.y_embedding_.dtype == np.float32
    assert found.y_features_in_ == 1
    assert abs(np.corrcoef(found.y_embedding_[:, 0], T)[0, 1]) > 0.999


def test_rows_that_repeat_share_their_places():
    one, two = np.vstack([X, X[:4]]), np.vstack([Y, Y[:4]])
    found = mcu(1, constraint="inequality").fit(one, two)
    np.testing.assert_allclose(found.embedding_[36:], found.embedding_[:4], atol=1e-9)
    np.testing.assert_allclose(found.y_embedding_[36:], found.y_embedding_[:4], atol=1e-7)


def test_the_same_seed_the_same_result_and_told_dimension():
    estimator = mcu("auto", constraint="inequality")
    first, second = (clone(estimator).fit(X, Y) for _ in range(2))
    np.testing.assert_array_equal(first.embedding_, second.embedding_)
    assert first.n_components_ == first.suggested_dimension_ == 1


# ---------------------------------------------------------------------- bad input
def test_what_cannot_be_is_refused():
    with pytest.raises(InputError, match=says("requires y", "other view")):
        mcu().fit(X)
    with pytest.raises(InputError, match=says("36 and 30 rows")):
        mcu().fit(X, Y[:30])
    with pytest.raises(DimensionError, match=says("All 36 rows coincide")):
        mcu().fit(X, np.ones(36))
    with pytest.raises(DimensionError, match=says("n_components=40 exceeds 35")):
        mcu(40).fit(X, Y)
    with pytest.raises(GraphError, match=says("graph of one view")):
        mcu(graph=MVU(2).fit(X).graph_).fit(X, Y)
    with pytest.raises(InputError, match=says("leaves out points of one view")):
        mcu(disconnected="largest").fit(X, Y)
    with pytest.raises(InputError, match=says("several views")):
        equivalent_kernel(quietly(lambda: mcu(1).fit(X, Y)))


def test_a_view_in_pieces_is_bridged_with_a_warning():
    apart = Y + np.where(T < 0.5, 0, 1e3)[:, None]
    with reports(DisconnectedWarning, "2"):
        found = mcu(1, graph=KNN(4), constraint="inequality").fit(X, apart)
    assert np.isfinite(found.y_embedding_).all()
