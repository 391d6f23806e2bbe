"""Maps to new points: transition rows, barycentric rows, Gram rows, and the map that applies them."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import dijkstra
from scipy.spatial.distance import cdist

from eigenspan.errors import ExtensionWarning
from eigenspan.graphs import (
    KNN,
    Heat,
    Radius,
    affinity,
    conformal_distances,
    distance_graph,
    geodesic_distances,
)
from eigenspan.numerics.nearest.row_lookup import RowIndex
from eigenspan.problem import Map, Raw, Spectrum, SqrtEigenvalue, TraceProblem, gram, kernel_rows, solve
from eigenspan.problem import map as map_module
from eigenspan.problem.extensions import (
    Barycentric,
    BarycentricRows,
    DistanceGram,
    GeodesicGram,
    GramExtension,
    Walk,
    WalkRows,
    half_squares,
)
from helpers import cloud


def spectrum(values: Any, n: int = 60) -> Spectrum:
    values = np.asarray(values, dtype=float)
    return Spectrum(values, np.zeros((n, values.size)), np.zeros(values.size))


def walk_rows(X: np.ndarray, weights: Any = "heat", graph: Any = None, density: Any = None) -> WalkRows:
    built = (graph or KNN(6)).build(X)
    return WalkRows(built.finder, affinity(built, weights, X), density)


# ---------------------------------------------------------------------- random walk
@pytest.mark.parametrize("weights", ["heat", "local", "binary", "cosine"])
@pytest.mark.parametrize("graph", [KNN(6), Radius(1.5)], ids=["knn", "radius"])
def test_transition_rows_are_probabilities(weights: str, graph: Any) -> None:
    X = cloud(60)
    P = walk_rows(X, weights, graph)(cloud(20, seed=1))
    assert P.shape == (20, 60)
    assert P.data.min() >= 0
    np.testing.assert_allclose(P.sum(axis=1), 1.0)


def test_transition_rows_against_the_formula() -> None:
    X, new = cloud(60), cloud(5, seed=1)
    density = np.linspace(1, 3, 60)
    P = walk_rows(X, Heat(0.8), density=density)(new).toarray()
    E = cdist(new, X)
    for i in range(5):
        near = np.argsort(E[i])[:6]
        w = np.exp(-((E[i, near] / 0.8) ** 2)) / density[near]
        np.testing.assert_allclose(P[i, near], w / w.sum(), rtol=1e-9)
        assert np.count_nonzero(P[i]) == 6


@pytest.mark.parametrize("distance", [10.0, 26.9, 27.0, 27.1, 27.2, 27.25, 27.3, 28.0, 1e3, 1e150])
def test_points_far_away_get_finite_values(distance: float) -> None:
    """At distance 27σ the weights are subnormal, beyond it zero; neither may turn into NaN."""
    X = cloud(60, 1) * 1e-3
    Y = cloud(60, 2, seed=3)
    m = Walk(walk_rows(X, Heat(1.0)), RowIndex.build(X), eigenfunctions=False)(Y, spectrum([0.1, 0.2]))
    y = m(np.array([[distance]]))
    assert np.all(np.isfinite(y))
    assert np.all(y >= Y.min(axis=0) - 1e-12)
    assert np.all(y <= Y.max(axis=0) + 1e-12)


def test_walk_extension_of_an_eigenfunction_is_exact_at_training_points() -> None:
    X = cloud(60)
    rows = walk_rows(X)
    W = rows.affinity.W
    d = np.asarray(W.sum(axis=1)).ravel()
    P = sp.diags_array(1 / d) @ W
    S = W.toarray() / np.sqrt(np.outer(d, d))
    values, U = np.linalg.eigh(S)
    pick = [-2, -3, 0]  # the walk's eigenvalues may be negative, too
    Y = U[:, pick] / np.sqrt(d)[:, None]
    m = Walk(rows, RowIndex.build(X))(Y, spectrum(1 - values[pick]))
    np.testing.assert_allclose(P @ m.coef, Y, atol=1e-9)
    np.testing.assert_array_equal(m(X), Y)  # known rows are looked up


def test_weak_axes_get_the_harmonic_value_and_a_warning() -> None:
    X = cloud(60)
    Y = cloud(60, 3, seed=4)
    rows = walk_rows(X)
    with pytest.warns(ExtensionWarning, match="2 of 3 axes"):
        m = Walk(rows, RowIndex.build(X))(Y, spectrum([0.2, 0.96, 1.04]))
    np.testing.assert_allclose(m.coef, Y / [0.8, 1.0, 1.0])
    m = Walk(rows, RowIndex.build(X))(Y, spectrum([0.2, 0.94, 1.06]))  # no warning
    np.testing.assert_allclose(m.coef, Y / [0.8, 0.06, -0.06])
    m = Walk(rows, RowIndex.build(X), eigenfunctions=False)(Y, spectrum([0.2, 1.0, 1.0]))
    np.testing.assert_array_equal(m.coef, Y)


# ---------------------------------------------------------------------- barycentric
@pytest.mark.parametrize("D", [1, 2, 3])
def test_barycentric_extension_reproduces_affine_functions(D: int) -> None:
    X, new = cloud(60, D), np.vstack([cloud(20, D, seed=1), np.full((1, D), 40.0)])
    T, b = cloud(D, 2, seed=2), np.array([5.0, -3.0])
    m = Barycentric(BarycentricRows(KNN(8).build(X).finder, X, 0.0), RowIndex.build(X))(X @ T + b, spectrum([0.0, 0.0]))
    np.testing.assert_allclose(m(new), new @ T + b, atol=1e-6)
    np.testing.assert_array_equal(m(X), X @ T + b)


def test_regularised_barycentric_rows_sum_to_one_and_keep_constants() -> None:
    X = cloud(60)
    X[1:4] = X[0]
    rows = BarycentricRows(KNN(4).build(X).finder, X, 1e-3)
    new = np.vstack([X[:2], cloud(10, seed=1)])
    W = rows(new)
    assert np.all(np.isfinite(W.data))
    np.testing.assert_allclose(W.sum(axis=1), 1.0)
    m = Barycentric(rows, RowIndex.build(X))(np.full((60, 2), 7.0), spectrum([0.0, 0.0]))
    np.testing.assert_allclose(m(new), 7.0)


# ---------------------------------------------------------------------- Gram rows
def embedded(K: np.ndarray, d: int = 2) -> tuple[np.ndarray, Spectrum]:
    found = solve(TraceProblem(gram(K.copy()), None, "max"), d)
    return found.vectors * SqrtEigenvalue()(found), found


def test_gram_extension_of_a_kernel_is_the_embedding_at_training_points() -> None:
    X = cloud(60)
    rows = kernel_rows("rbf", X)
    K = rows(X)
    Y, found = embedded(K)
    m = GramExtension(rows, K.mean(axis=0))(Y, found)
    np.testing.assert_allclose(m(X), Y, atol=1e-10)
    near = m(X + 1e-7)
    np.testing.assert_allclose(near, Y, atol=1e-5)


@pytest.mark.parametrize("metric", ["euclidean", "cityblock", "precomputed"])
def test_gram_extension_of_distances_is_the_embedding_at_training_points(metric: str) -> None:
    X = cloud(60)
    E = cdist(X, X, "euclidean" if metric == "precomputed" else metric)
    K = half_squares(E)
    Y, found = embedded(K)
    m = GramExtension(DistanceGram(X, metric), K.mean(axis=0))(Y, found)
    np.testing.assert_allclose(m(E if metric == "precomputed" else X), Y, atol=1e-10)


def test_landmark_columns_and_corrections_of_distances() -> None:
    D = np.array([[0.0, 3.0, 4.0], [1.0, 2.0, 0.5]])
    np.testing.assert_allclose(DistanceGram(None, "precomputed", columns=np.array([2, 0]))(D), -0.5 * D[:, [2, 0]] ** 2)
    np.testing.assert_allclose(half_squares(D, added=1.0), -0.5 * np.where(D > 0, D + 1, 0) ** 2)
    np.testing.assert_allclose(half_squares(D, added_to_squares=2.0), np.where(D > 0, -0.5 * (D**2 + 2), 0))


def test_geodesic_rows_are_shortest_paths_of_the_enlarged_graph() -> None:
    X, new = cloud(60, 2), cloud(9, 2, seed=1)
    graph = KNN(7).build(X)
    G = graph.undirected()
    geodesics = geodesic_distances(G)
    rows = GeodesicGram(graph.finder, geodesics)(new)
    steps = graph.finder.relate(new)
    for i in range(9):
        enlarged = sp.block_array([[G, steps[[i]].T], [steps[[i]], None]], format="csr")
        expected = dijkstra(enlarged, directed=False, indices=60)[:60]
        np.testing.assert_allclose(rows[i], -0.5 * expected**2, atol=1e-10)
    anchors = np.array([3, 11])
    np.testing.assert_allclose(GeodesicGram(graph.finder, geodesics[:, anchors])(new), rows[:, anchors])


def test_geodesic_rows_at_training_points_are_the_geodesics() -> None:
    X = cloud(60, 2)
    graph = KNN(7).build(X)
    geodesics = geodesic_distances(graph.undirected())
    np.testing.assert_allclose(GeodesicGram(graph.finder, geodesics)(X), -0.5 * geodesics**2, atol=1e-10)
    K = half_squares(geodesics)
    Y, found = embedded(K)
    np.testing.assert_allclose(
        GramExtension(GeodesicGram(graph.finder, geodesics), K.mean(axis=0))(Y, found)(X), Y, atol=1e-9
    )


def test_conformal_geodesic_rows_against_a_loop() -> None:
    X, new = cloud(60, 2), cloud(4, 2, seed=1)
    graph = KNN(7).build(X)
    scaled, M = conformal_distances(graph)
    geodesics = geodesic_distances(scaled)
    rows = GeodesicGram(graph.finder, geodesics, conformal=M)(new)
    E = cdist(new, X)
    for i in range(4):
        near = np.argsort(E[i])[:7]
        own = E[i, near].mean()
        lengths = E[i, near] / np.sqrt(own * M[near])
        np.testing.assert_allclose(rows[i], -0.5 * (lengths[:, None] + geodesics[near]).min(axis=0) ** 2, atol=1e-10)


# ---------------------------------------------------------------------- the map
def every_map() -> dict[str, tuple[Map, np.ndarray]]:
    X = cloud(60)
    new = np.vstack([cloud(30, seed=1), X[:5]])
    Y = cloud(60, 2, seed=2)
    graph = KNN(6).build(X)
    kernel = kernel_rows("rbf", X)
    flat = spectrum([0.1, 0.2])
    geodesics = geodesic_distances(graph.undirected())
    precomputed = distance_graph(cdist(X, X), n_neighbors=6)
    return {
        "linear": (Map(Raw(), cloud(3, 2), offset=np.ones(3)), new),
        "linear on sparse": (Map(Raw(), cloud(3, 2), offset=np.ones(3)), sp.csr_array(new)),
        "shifted": (Map(Raw(), cloud(3, 2), shift=np.array([1.0, 2.0])), new),
        "kernel": (GramExtension(kernel, kernel(X).mean(axis=0))(Y, flat), new),
        "walk": (Walk(walk_rows(X), RowIndex.build(X))(Y, flat), new),
        "local walk": (Walk(walk_rows(X, "local"), RowIndex.build(X))(Y, flat), new),
        "radius walk": (Walk(walk_rows(X, graph=Radius(1.0)), RowIndex.build(X))(Y, flat), new),
        "barycentric": (Barycentric(BarycentricRows(graph.finder, X, 1e-3), RowIndex.build(X))(Y, flat), new),
        "geodesic": (GramExtension(GeodesicGram(graph.finder, geodesics), np.zeros(60), RowIndex.build(X))(Y, flat), new),
        "distances": (GramExtension(GeodesicGram(precomputed.finder, geodesics), np.zeros(60))(Y, flat), cdist(new, X)),
    }  # fmt: skip


@pytest.mark.parametrize("name", list(every_map()))
@pytest.mark.every(2)
def test_maps_are_row_wise_and_picklable(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    m, new = every_map()[name]
    whole = m(new)
    assert whole.shape == (35, 2)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(m))(new), whole)
    for size in (1, 8 * m.coef.shape[0], 8 * m.coef.shape[0] * 7):  # blocks of 1, 1 and 7 rows
        monkeypatch.setattr(map_module, "_BLOCK_BYTES", size)
        np.testing.assert_allclose(m(new), whole, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(m(new[:1]), whole[:1], rtol=1e-9, atol=1e-12)


def test_linear_map_centres_dense_and_sparse_alike() -> None:
    X, V, c = cloud(20, 4), cloud(4, 2), np.array([1.0, -2.0, 0.5, 3.0])
    m = Map(Raw(), V, offset=c)
    np.testing.assert_allclose(m(X), (X - c) @ V)
    np.testing.assert_allclose(m(sp.csr_array(X)), (X - c) @ V, atol=1e-12)
    np.testing.assert_allclose(m(X.astype(np.float32)), (X - c) @ V, atol=1e-5)
    np.testing.assert_array_equal(Map(Raw(), V, shift=np.ones(2))(X), X @ V + 1)
