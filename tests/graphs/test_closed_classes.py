"""Closed classes of neighbour lists: LLE's null space has one dimension for each of them, and its embedding collapses."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.linalg as la
import scipy.sparse as sp
from scipy.spatial import cKDTree
from sklearn.datasets import load_digits
from sklearn.metrics import pairwise_distances

import eigenspan as es
from dense_definitions import Graph, aligned, barycentres, nearest, square
from eigenspan.errors import DegenerateWarning, DisconnectedError, DisconnectedWarning, InputError
from eigenspan.graphs import ClosedClasses
from eigenspan.graphs.neighbours.closed import largest_part, with_one_closed_class
from grouping import longer
from helpers import angle, external_data, quietly, reports, same_subspace, says


def two_ends(D: int = 40) -> Any:
    """Two clusters whose neighbours stay among them, and a chain of points between that leads to both: one component."""
    rng = np.random.default_rng(0)
    along = np.concatenate([np.zeros(12), [2.0, 4.0, 6.0, 8.0], np.full(12, 10.0)])
    X = 0.05 * rng.standard_normal((along.size, D))
    X[:, 0] += along
    return X


def one_spot(Y: Any, tolerance: float = 1e-9) -> float:
    """Largest share of the points that lie within `tolerance` of the extent from one of them."""
    near = cKDTree(Y).query_ball_point(Y, tolerance * np.ptp(Y, axis=0).max(), return_length=True)
    return float(near.max()) / len(Y)


@pytest.mark.parametrize("seed", range(20))
def test_classes_are_those_of_reachability(seed: int) -> None:
    rng = np.random.default_rng(seed)
    E = np.where(rng.random((25, 25)) < 0.06, rng.random((25, 25)), np.inf)
    np.fill_diagonal(E, np.inf)
    edges = np.nonzero(np.isfinite(E))
    found = ClosedClasses.of(sp.csr_array((E[edges], edges), shape=E.shape))
    classes = Graph(E, E).closed_classes()
    assert found.count == len(classes)
    np.testing.assert_array_equal(found.sizes, np.sort([members.size for members in classes])[::-1])
    for members in classes:
        assert np.unique(found.labels[members]).size == 1
        assert np.all(found.closed[found.labels[members]])


def test_the_null_space_has_a_dimension_for_each_closed_class() -> None:
    X = load_digits().data[:600]
    graph = es.KNN(5).build(X)
    classes = ClosedClasses.of(graph.distances)
    E = np.full((600, 600), np.inf)
    C = graph.distances.tocoo()
    E[C.row, C.col] = C.data
    singular = la.svdvals(np.eye(600) - barycentres(X, E, 1e-3))
    assert classes.count == 3
    assert np.sum(singular < 1e-10) == 3


def test_added_neighbours_are_those_of_the_definition() -> None:
    X = load_digits().data[:600]
    graph = es.KNN(5).build(X)
    tied, added = with_one_closed_class(graph)
    full = pairwise_distances(X)
    expected = Graph(
        np.where(graph.distances.toarray() > 0, graph.distances.toarray(), np.inf), full
    ).with_one_closed_class()
    np.testing.assert_array_equal(tied.distances.toarray() > 0, np.isfinite(expected.lists))
    assert added == tied.distances.nnz - graph.distances.nnz > 0
    assert ClosedClasses.of(tied.distances).count == 1
    assert np.all(np.diff(tied.distances.indptr) <= 12)  # two rounds at most, each at most doubles a list


@pytest.mark.parametrize("method", [es.LLE, es.ModifiedLLE])
def test_collapse_is_repaired_and_reported(method: Any) -> None:
    X = load_digits().data[:600]
    with reports(
        DisconnectedWarning, "3 closed classes (of 60, 53, 7 points)", "neighbours were added", "more neighbours"
    ):
        fitted = method(2, n_neighbors=5).fit(X)
    assert fitted.diagnostics_["closed_classes"] == 3
    assert fitted.eigenvalues_[0] > 1e-12
    assert one_spot(fitted.embedding_) <= 0.01
    np.testing.assert_allclose(fitted.transform(X), fitted.embedding_)


def test_the_repaired_embedding_is_that_of_the_dense_definition() -> None:
    X = two_ends()
    fitted = quietly(lambda: es.LLE(2, n_neighbors=4).fit(X))
    full = pairwise_distances(X)
    graph = Graph(nearest(full, 4), full).with_one_closed_class()
    values, V = la.eigh(square(barycentres(X, graph.lists, 1e-3)))
    np.testing.assert_allclose(fitted.eigenvalues_, values[1:3], rtol=1e-6)
    assert same_subspace(fitted.embedding_, V[:, 1:3])


def test_largest_embeds_the_largest_strongly_connected_component() -> None:
    X = load_digits().data[:600]
    D = es.KNN(5).build(X).distances
    rows = largest_part(ClosedClasses.of(D).labels, D)
    with reports(DisconnectedWarning, "closed classes", f"with {rows.size} of 600 points"):
        fitted = es.LLE(2, n_neighbors=5, disconnected="largest").fit(X)
    np.testing.assert_array_equal(fitted.graph_.rows, rows)
    alone = es.LLE(2, graph=es.KNN(5).build(X).subset(rows)).fit(X[rows])
    assert same_subspace(fitted.embedding_[rows], alone.embedding_)
    others = np.setdiff1d(np.arange(600), rows)
    np.testing.assert_allclose(fitted.embedding_[others], fitted.transform(X[others]))


def test_largest_of_the_largest_component() -> None:
    X = two_ends(5)
    island = 100 + 0.1 * np.random.default_rng(1).standard_normal((10, 5))
    D = es.KNN(4).build(X).distances
    rows = largest_part(ClosedClasses.of(D).labels, D)
    fitted = quietly(lambda: es.LLE(1, n_neighbors=4, disconnected="largest").fit(np.vstack([island, X])))
    np.testing.assert_array_equal(fitted.graph_.rows, 10 + rows)
    assert (fitted.diagnostics_["components"], fitted.diagnostics_["closed_classes"]) == (2, 2)


def test_raise_names_the_classes() -> None:
    with pytest.raises(DisconnectedError, match=says("2 closed classes (of 12, 8 points)", "more neighbours")):
        es.LLE(2, n_neighbors=4, disconnected="raise").fit(two_ends())


def test_alignment_of_whole_neighbourhoods_needs_no_repair() -> None:
    """LTSA's form sees all members of a neighbourhood alike: a connected graph is enough."""
    assert "closed_classes" not in es.LTSA(1, n_neighbors=4).fit(two_ends(3)).diagnostics_


def test_graphs_are_repaired_for_every_parameter_that_builds_the_form() -> None:
    X = two_ends(5)
    plain = quietly(lambda: es.LLE(2, n_neighbors=4).fit(X))
    by_hand = es.TraceReducer(2, minimise="reconstruction", basis="samples", n_neighbors=4)
    with reports(DisconnectedWarning, "2 closed classes"):
        by_hand.fit(X)
    assert same_subspace(by_hand.embedding_, plain.embedding_)
    with pytest.raises(DisconnectedError, match="2 closed classes"):
        by_hand.set_params(disconnected="raise").fit(X)
    for wrapped in (
        es.ConformalEigenmaps(2, n_neighbors=4),
        es.Anchored(es.LLE(2, n_neighbors=4), form="spectral"),
    ):
        y = plain.embedding_.copy()
        y[::2] = np.nan
        with reports(DisconnectedWarning, "2 closed classes"):
            wrapped.fit(X, y if isinstance(wrapped, es.Anchored) else None)


# ---------------------------------------------------------------------- projections
def test_projections_warn_of_axes_that_only_separate_closed_classes() -> None:
    X = two_ends()  # more features than points: they can express the indicator of a class
    for method in (es.NPP, es.ONPP):
        with reports(DegenerateWarning, "Axis 1 is constant on each of the 2 closed classes", 'disconnected="connect"'):
            method(1, n_neighbors=4, ridge=0.0 if method is es.NPP else None).fit(X)
        with reports(DisconnectedWarning, "2 closed classes"):
            tied = method(1, n_neighbors=4, disconnected="connect", ridge=0.0 if method is es.NPP else None).fit(X)
        assert one_spot(tied.embedding_) <= 0.1
        with pytest.raises(DisconnectedError, match="2 closed classes"):
            method(1, n_neighbors=4, disconnected="raise").fit(X)
    es.NPP(1, n_neighbors=4).fit(X[:, :3])  # few features cannot, and nothing is wrong


def test_undersampled_projection_of_the_repaired_graph_is_the_embedding() -> None:
    X = two_ends()
    lle, npp = (
        quietly(lambda m=m: m.fit(X))
        for m in (es.LLE(2, n_neighbors=4), es.NPP(2, n_neighbors=4, disconnected="connect", ridge=0.0))
    )
    assert same_subspace(npp.embedding_, lle.embedding_, 1e-3)


def test_policies_without_neighbours_are_rejected() -> None:
    X, y = two_ends(3), np.arange(28) % 2
    with pytest.raises(InputError, match=says('disconnected="connect" does not apply to graph="class"')):
        es.NPP(1, graph="class", disconnected="connect").fit(X, y)


@pytest.mark.parametrize("method", [es.NPP, es.ONPP])
def test_barycentric_weights_over_classes_are_not_averages(method: Any, blobs: Any) -> None:
    X, y = blobs.X[:45], blobs.y[:45]
    fitted = method(2, graph="class", weights="barycentric").fit(X, y)
    assert angle(fitted.embedding_, method(2, graph="class").fit(X, y).embedding_) > 1
    same = np.where((y[:, None] == y) & ~np.eye(len(y), dtype=bool), pairwise_distances(X), np.inf)
    Z = X - X.mean(axis=0)
    A, B = Z.T @ square(barycentres(X, same, 1e-3)) @ Z, Z.T @ Z if method is es.NPP else None
    assert same_subspace(fitted.embedding_, Z @ la.eigh(A, B)[1][:, :2])


# ---------------------------------------------------------------------- mutual neighbours
@pytest.mark.parametrize("method", [es.LLE, es.NPP, es.ONPP, es.LTSA, es.LLTSA])
def test_mutual_lists_hold_only_mutual_neighbours(method: Any, roll: Any) -> None:
    X = roll.X[:120]
    k = 22
    full = pairwise_distances(X)
    mutual = Graph(nearest(full, k), full, k, True)
    assert mutual.pieces()[0] == 1
    assert np.isfinite(mutual.lists).sum(axis=1).min() >= 3
    fitted = method(2, graph=es.KNN(k, symmetry="mutual")).fit(X)
    tangent = method in (es.LTSA, es.LLTSA)
    M = aligned(X, mutual.lists, 2, "tangent") if tangent else square(barycentres(X, mutual.lists, 1e-3))
    if method in (es.LLE, es.LTSA):
        assert same_subspace(fitted.embedding_, la.eigh(M)[1][:, 1:3])
    else:
        Z = X - X.mean(axis=0)
        V = la.eigh(Z.T @ M @ Z, None if method is es.ONPP else Z.T @ Z)[1][:, :2]
        assert same_subspace(fitted.embedding_, Z @ V)


def test_new_points_are_reconstructed_from_mutual_neighbours(roll: Any) -> None:
    X, new = roll.X[:120], roll.X[120:130]
    fitted = es.LLE(2, graph=es.KNN(22, symmetry="mutual")).fit(X)
    reach = np.sort(pairwise_distances(X), axis=1)[:, 22]
    for x, y in zip(new, fitted.transform(new), strict=True):
        d = np.linalg.norm(X - x, axis=1)
        near = np.argsort(d)[:22]
        near = near[d[near] < reach[near]]
        Z = X[near] - x
        w = la.solve(Z @ Z.T + 1e-3 * np.trace(Z @ Z.T) * np.eye(near.size), np.ones(near.size))
        np.testing.assert_allclose(y, w @ fitted.embedding_[near] / w.sum(), rtol=1e-6, atol=1e-9)


# ---------------------------------------------------------------------- crowds, and real data
def test_groups_of_coinciding_points_are_reported() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 3))
    W = es.KNN(6).build(X).undirected()
    W.data = np.exp(-(W.data**2))
    crowd = np.argsort(np.linalg.norm(X - X[0], axis=1))[:20]
    inside = np.isin(np.arange(150), crowd)
    C = W.tocoo()
    data = np.where(inside[C.row] & inside[C.col], 1e9 * C.data, C.data)
    W = sp.csr_array((data, (C.row, C.col)), shape=W.shape)
    with reports(DegenerateWarning, "20 of the 150 points of the embedding share one place", "more neighbours"):
        es.LaplacianEigenmaps(2, graph=W, weights="precomputed").fit(X)


@pytest.mark.parametrize("name", ["umist_28x23", "digits", *longer("usps", "coil20_32x32", "mfeat")])
@pytest.mark.parametrize("method", [es.LLE, es.ModifiedLLE, es.NPP])
@pytest.mark.every(2)
def test_every_collapse_is_reported(name: str, method: Any) -> None:
    """Connected graphs put no more than 1 % of the points on one spot; kept ones warn of axes that cost nothing."""
    X = load_digits().data[:600] if name == "digits" else external_data(name)["X"][:1500].astype(float)
    X = np.unique(X.reshape(len(X), -1), axis=0)
    for k in (4, 5, 6, 8, 10):
        fitted = quietly(lambda k=k: method(2, n_neighbors=k, disconnected="connect").fit(X))
        assert one_spot(fitted.embedding_) <= 0.01, k
        assert method is es.NPP or fitted.eigenvalues_[1] > 1e-13
    for k in (4, 8) if method is es.NPP else ():
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("always")
            kept = es.NPP(2, n_neighbors=k).fit(X)
        warned = any(issubclass(w.category, DegenerateWarning) for w in given)
        assert warned == (kept.eigenvalues_[0] < 1e-13), k
