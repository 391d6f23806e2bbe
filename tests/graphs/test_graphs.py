"""Neighbours, weights, components, geodesics, landmarks and labels against brute force."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components, floyd_warshall, minimum_spanning_tree
from scipy.spatial.distance import cdist
from sklearn.neighbors import KNeighborsTransformer, RadiusNeighborsTransformer, kneighbors_graph

from eigenspan.data.pair_tables import accept_distances
from eigenspan.errors import (
    DisconnectedError,
    DisconnectedWarning,
    GraphError,
    InputError,
    LabelError,
    MemoryLimitError,
)
from eigenspan.graphs import (
    KNN,
    Heat,
    LocalScaling,
    NeighbourGraph,
    Powered,
    Radius,
    affinity,
    as_graph,
    as_weights,
    choose_landmarks,
    class_indicator,
    class_pairs,
    components,
    conformal_distances,
    distance_graph,
    ensure_connected,
    geodesic_distances,
    reconstruction_weights,
    slice_edges,
    slices,
)
from eigenspan.numerics import memory as _resources
from eigenspan.numerics.nearest import row_lookup as rows
from eigenspan.numerics.nearest.metric import median_width
from eigenspan.numerics.nearest.neighbour_lists import without_self
from eigenspan.numerics.nearest.row_lookup import RowIndex, ZeroDistance
from helpers import cloud, encode_labels


def entries(G: sp.csr_array) -> dict[tuple[int, int], float]:
    """Every stored entry, explicit zeros included; an entry stored twice is an error."""
    C = G.tocoo()
    found = list(zip(C.row.tolist(), C.col.tolist(), strict=True))
    assert len(set(found)) == len(found)
    return dict(zip(found, C.data.tolist(), strict=True))


def assert_same_graph(G: sp.csr_array, H: sp.csr_array, atol: float = 1e-9) -> None:
    a, b = entries(G), entries(H)
    assert a.keys() == b.keys()
    np.testing.assert_allclose([a[e] for e in b], list(b.values()), atol=atol)


# ---------------------------------------------------------------------- neighbours
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
@pytest.mark.parametrize("D", [3, 25])
def test_nearest_neighbours_against_brute_force(metric: str, D: int) -> None:
    X = cloud(40, D)
    graph = KNN(5, metric=metric).build(X)
    E = cdist(X, X, {"manhattan": "cityblock"}.get(metric, metric))
    np.fill_diagonal(E, np.inf)
    order = np.argsort(E, axis=1)[:, :5]
    expected = {(i, int(j)): E[i, j] for i in range(40) for j in order[i]}
    found = entries(graph.distances)
    assert found.keys() == expected.keys()
    np.testing.assert_allclose([found[e] for e in expected], list(expected.values()), atol=1e-9)
    new = cloud(7, D, seed=1)
    F = cdist(new, X, {"manhattan": "cityblock"}.get(metric, metric))
    related = entries(graph.finder.relate(new))
    assert related.keys() == {(i, int(j)) for i in range(7) for j in np.argsort(F[i])[:5]}
    np.testing.assert_allclose(list(related.values()), [F[e] for e in related], atol=1e-9)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
@pytest.mark.parametrize("D", [3, 20])
def test_radius_against_brute_force(metric: str, D: int) -> None:
    X = cloud(40, D)
    E = cdist(X, X, {"manhattan": "cityblock"}.get(metric, metric))
    r = float(np.quantile(E[E > 0], 0.2))
    graph = Radius(r, metric=metric).build(X)
    assert entries(graph.distances).keys() == {(i, j) for i in range(40) for j in range(40) if i != j and E[i, j] <= r}
    new = np.vstack([X[:3] + 0.01, np.full((1, D), 1e3)])
    F = cdist(new, X, {"manhattan": "cityblock"}.get(metric, metric))
    related = entries(graph.finder.relate(new))
    near = {(i, j) for i in range(3) for j in range(40) if F[i, j] <= r}
    assert related.keys() == near | {(3, int(F[3].argmin()))}  # a point out of reach is tied to its nearest


def test_ties_still_give_exactly_k() -> None:
    X = np.stack(np.meshgrid(np.arange(5.0), np.arange(5.0)), axis=-1).reshape(-1, 2)
    for k in (1, 2, 3, 7, 24):
        D = KNN(k).build(X).distances
        np.testing.assert_array_equal(np.diff(D.indptr), k)
        E = np.sort(cdist(X, X), axis=1)[:, 1 : k + 1]
        np.testing.assert_allclose(np.sort(D.data.reshape(25, k), axis=1), E)
        assert all(i != j for i, j in entries(D))


@pytest.mark.parametrize("D", [3, 30])
@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_coincident_rows_are_neighbours_at_distance_zero(D: int, offset: float) -> None:
    X = cloud(30, D) + offset
    X[10:14] = X[0]
    for graph in (KNN(6).build(X), Radius(100.0).build(X), KNN(6, symmetry="mutual").build(X)):
        found = entries(graph.distances)
        group = [0, 10, 11, 12, 13]
        for i in group:
            for j in group:
                if i != j:
                    assert found[i, j] == 0.0
        assert all(i != j for i, j in found)
        undirected = entries(graph.undirected())
        assert undirected[0, 10] == undirected[10, 0] == 0.0
        kept = graph.subset(np.array([0, 3, 10, 11]))
        assert entries(kept.distances)[0, 2] == 0.0
        assert entries(kept.undirected())[2, 3] == 0.0
        related = entries(graph.finder.relate(X[:1]))
        assert related[0, 10] == 0.0


@pytest.mark.parametrize("D, offset", [(20, 0.0), (64, 100.0), (30, 1e4)])
def test_blocked_products_give_distance_zero_between_duplicates(D: int, offset: float) -> None:
    X = cloud(300, D) + offset
    X[150:200] = X[:50]
    for graph in (KNN(5).build(X), Radius(1.5 * np.sqrt(2 * D)).build(X)):
        found, related = entries(graph.distances), entries(graph.finder.relate(X[:50]))
        assert all(found[i, 150 + i] == related[i, 150 + i] == 0.0 for i in range(50))


def test_more_duplicates_than_neighbours() -> None:
    X = np.vstack([np.zeros((12, 2)), cloud(20, 2) + 5])
    D = KNN(4).build(X).distances
    assert all(i != j for i, j in entries(D))
    np.testing.assert_array_equal(np.diff(D.indptr), 4)
    np.testing.assert_array_equal(D.data[: 12 * 4], 0.0)


def test_union_and_mutual_agreement() -> None:
    X = cloud(30)
    union, mutual = (entries(KNN(4, symmetry=s).build(X).undirected()) for s in ("union", "mutual"))
    directed = entries(KNN(4).build(X).distances)
    assert union.keys() == {e for i, j in directed for e in ((i, j), (j, i))}
    assert mutual.keys() == {(i, j) for i, j in directed if (j, i) in directed}
    for found in (union, mutual):
        for (i, j), d in found.items():
            assert d == pytest.approx(np.linalg.norm(X[i] - X[j]))


def test_within_class_neighbours() -> None:
    X, codes = cloud(30), np.arange(30) % 3
    codes[[0, 1]] = -1
    codes[5] = 3  # a class of one point
    codes[[6, 7]] = 4  # a class smaller than k is joined completely
    found = entries(KNN(4, within_class=True).build(X, codes).distances)
    E = cdist(X, X)
    for i in range(30):
        mine = [j for j in range(30) if j != i and codes[j] == codes[i] >= 0]
        expected = set(sorted(mine, key=lambda j: E[i, j])[:4])
        assert {j for a, j in found if a == i} == expected
    with pytest.raises(GraphError, match="needs labels"):
        KNN(3, within_class=True).build(X)


def test_bad_specifications() -> None:
    X = cloud(10)
    for k in (10, 11):
        with pytest.raises(GraphError, match="between 1 and n_samples - 1 = 9"):
            KNN(k).build(X)
    with pytest.raises(GraphError, match="leaves every one of the 10 points alone"):
        Radius(1e-6).build(X)


# ---------------------------------------------------------------------- every way to pass a graph
def ways(X: np.ndarray, k: int) -> dict[str, Any]:
    E = cdist(X, X)
    order = np.argsort(E + np.diag(np.full(len(X), -1.0)), axis=1)
    with_self, without = order[:, : k + 1], order[:, 1 : k + 1]
    table = sp.csr_array(kneighbors_graph(X, k, mode="distance"))
    return {
        "spec": KNN(k),
        "reused": KNN(k).build(X),
        "unfitted": KNeighborsTransformer(n_neighbors=k),
        "fitted": KNeighborsTransformer(n_neighbors=k).fit(X),
        "csr": table,
        "csr_matrix": sp.csr_matrix(table),
        "coo": table.tocoo(),
        "pair": (without, np.take_along_axis(E, without, axis=1)),
        "pair with self": (with_self, np.take_along_axis(E, with_self, axis=1)),
        "pair of lists": (without.tolist(), np.take_along_axis(E, without, axis=1).tolist()),
        "repeated": (np.hstack([without, without[:, :1]]), np.take_along_axis(E, np.hstack([without, without[:, :1]]), 1)),
    }  # fmt: skip


@pytest.mark.parametrize("name", list(ways(cloud(40), 5)))
def test_all_values_of_graph_give_the_same_graph(name: str) -> None:
    X = cloud(40)
    expected = KNN(5).build(X)
    graph = as_graph(ways(X, 5)[name], X)
    assert_same_graph(graph.distances, expected.distances)
    assert_same_graph(graph.undirected(), expected.undirected())
    new = graph.finder.relate(cloud(4, seed=9))
    assert new.shape == (4, 40)
    nearest = cdist(cloud(4, seed=9), X).argmin(axis=1)
    assert {(i, int(j)) for i, j in enumerate(nearest)} <= entries(new).keys()


def test_precomputed_distances_dense_and_sparse() -> None:
    X = cloud(40)
    E = cdist(X, X)
    expected = KNN(5).build(X)
    dense = distance_graph(E, n_neighbors=5)
    assert_same_graph(dense.distances, expected.distances)
    sparse = distance_graph(sp.csr_array(expected.distances))
    assert_same_graph(sparse.distances, expected.distances)
    new = cdist(cloud(4, seed=9), X)
    assert_same_graph(dense.finder.relate(new), expected.finder.relate(cloud(4, seed=9)))
    rows_of = np.arange(0, 40, 2)
    part = dense.subset(rows_of)
    assert part.finder.relate(new).shape == (4, 20)
    assert_same_graph(part.finder.relate(new), KNN(5).build(X[rows_of]).finder.relate(cloud(4, seed=9)))


def test_precomputed_distances_of_coincident_points() -> None:
    X = cloud(40)
    X[7] = X[3]
    graph = distance_graph(cdist(X, X), n_neighbors=5)
    assert entries(graph.distances)[3, 7] == 0.0
    assert entries(graph.undirected())[7, 3] == 0.0


def test_radius_transformers() -> None:
    X = cloud(40)
    expected = Radius(1.2).build(X)
    for transformer in (RadiusNeighborsTransformer(radius=1.2), RadiusNeighborsTransformer(radius=1.2).fit(X)):
        graph = as_graph(transformer, X)
        assert_same_graph(graph.distances, expected.distances)
        far = np.vstack([X[:2] + 0.01, np.full((1, 3), 50.0)])
        assert_same_graph(graph.finder.relate(far), expected.finder.relate(far))


def test_transformer_graph_of_some_points_relates_to_them() -> None:
    X = np.vstack([cloud(20), cloud(12) + 100])
    with pytest.warns(DisconnectedWarning):
        graph, kept = ensure_connected(as_graph(KNeighborsTransformer(n_neighbors=4), X), X, "largest")
    assert graph.finder.relate(X[25:27]).shape == (2, kept.size)


def test_default_number_of_neighbours() -> None:
    assert np.diff(as_graph(None, cloud(30)).distances.indptr).tolist() == [10] * 30
    assert np.diff(as_graph(None, cloud(5)).distances.indptr).tolist() == [4] * 5
    assert np.diff(as_graph(None, cloud(30), n_neighbors=3).distances.indptr).tolist() == [3] * 30


def test_graphs_that_cannot_be_used() -> None:
    X = cloud(10)
    E = cdist(X, X)
    bad = {
        "nodes": (sp.csr_array((9, 9)), "9 nodes"),
        "not square": (sp.csr_array((10, 9)), "square"),
        "negative": (sp.csr_array(-E), "negative"),
        "infinite": (sp.csr_array(([np.inf], ([0], [1])), shape=(10, 10)), "finite"),
        "two lengths": (sp.csr_array(([1.0, 2.0], ([0, 1], [1, 0])), shape=(10, 10)), "two lengths"),
        "index": ((np.full((10, 2), 10), np.ones((10, 2))), "0..9"),
        "shapes": ((np.zeros((10, 2), int), np.ones((10, 3))), "two arrays"),
        "what": (42, "not understood"),
    }
    for graph, message in bad.values():
        with pytest.raises(GraphError, match=message):
            as_graph(graph, X)
    with pytest.raises(GraphError, match="square"):
        distance_graph(X)
    for wrong, message in (
        (-E, "negative"),
        (E + np.triu(E), "not symmetric"),
        (E + np.eye(10), "diagonal"),
        (E[:5], "square"),
    ):
        with pytest.raises(GraphError, match=message):
            accept_distances(wrong)


# ---------------------------------------------------------------------- weights
def test_weights_follow_their_formulas() -> None:
    X = cloud(40)
    graph = KNN(5).build(X)
    G = entries(graph.undirected())
    kth = np.sort(graph.distances.data.reshape(40, 5), axis=1)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    formulas = {
        "binary": lambda i, j, d: 1.0,
        "precomputed": lambda i, j, d: d,
        "cosine": lambda i, j, d: max(0.0, unit[i] @ unit[j]),
        "heat": lambda i, j, d: np.exp(-((d / median_width(X)) ** 2)),
        "local": lambda i, j, d: np.exp(-(d**2) / (kth[i, -1] * kth[j, -1])),
    }
    for name, formula in formulas.items():
        W = affinity(graph, name, X).W
        found = entries(W)
        assert found.keys() == G.keys()
        for (i, j), d in G.items():
            assert found[i, j] == pytest.approx(formula(i, j, d), abs=1e-12), name
        assert abs(W - W.T).max() < 1e-12
    third = affinity(graph, LocalScaling(3), X).W.toarray()
    (i, j), d = next(iter(G.items()))
    assert third[i, j] == pytest.approx(np.exp(-(d**2) / (kth[i, 2] * kth[j, 2])))


def test_powered_weights_keep_their_norm() -> None:
    X = cloud(40)
    graph = KNN(5).build(X)
    W = affinity(graph, Heat(1.0), X).W.toarray()
    P = affinity(graph, Powered(Heat(1.0), alpha=3.0), X).W.toarray()
    np.testing.assert_allclose(P, W**3 * np.linalg.norm(W) / np.linalg.norm(W**3), atol=1e-14)


@pytest.mark.parametrize(
    "weights",
    ["binary", "heat", "cosine", "local", LocalScaling(3), Powered("heat", 2.0), Powered("local", 0.5)],
    ids=str,
)
def test_new_points_are_weighed_like_training_points(weights: Any) -> None:
    """The directed edges of the training points, weighed as if the points were new, get their training weights."""
    X = cloud(40)
    graph = KNN(5).build(X)
    known = affinity(graph, weights, X)
    W, again = known.W.toarray(), entries(known.relate(graph.distances, X))
    for (i, j), w in again.items():
        assert w == pytest.approx(W[i, j], rel=1e-9)


def test_local_scaling_of_new_points_is_row_wise() -> None:
    X = cloud(40)
    X[1:4] = X[0]
    graph = KNN(3).build(X)
    rule = affinity(graph, "local", X)
    new = np.vstack([X[0], X[20] + 1e-7, X[30] + 1.0])  # the first has only copies of itself as neighbours
    together = rule.relate(graph.finder.relate(new), new).toarray()
    for i in range(3):
        alone = rule.relate(graph.finder.relate(new[i : i + 1]), new[i : i + 1]).toarray()
        np.testing.assert_array_equal(alone[0], together[i])


def test_width_is_measured_in_the_metric_of_the_graph() -> None:
    X = 1e6 * np.abs(cloud(40))
    W = affinity(KNN(5, metric="cosine").build(X), "heat", X).W
    E = cdist(X, X, "cosine")
    sigma = np.median(E[np.triu_indices(40, 1)]) / 2
    G = KNN(5, metric="cosine").build(X).undirected()
    np.testing.assert_allclose(W.data, np.exp(-((G.data / sigma) ** 2)), rtol=1e-9)


def test_median_width() -> None:
    X = cloud(2500, 2)
    for n, rel in ((1000, 1e-12), (2500, 0.05)):  # all of them, and 1000 drawn at random
        E = cdist(X[:n], X[:n])[np.triu_indices(n, 1)]
        assert median_width(X[:n]) == pytest.approx(np.median(E) / 2, rel=rel)
    mostly = np.zeros((20, 2))
    mostly[0] = 3.0, 4.0
    assert median_width(mostly) == pytest.approx(2.5)  # the median of the distances that are not zero
    with pytest.raises(GraphError, match="coincide"):
        median_width(np.ones((5, 2)))


def test_weights_that_cannot_be_used() -> None:
    X = cloud(40)
    graph = KNN(5).build(X)
    with pytest.raises(GraphError, match="unknown"):
        as_weights("warm")
    with pytest.raises(GraphError, match="neither"):
        as_weights(3)
    with pytest.raises(GraphError, match="positive"):
        affinity(graph, Heat(0.0), X)
    with pytest.raises(GraphError, match="vanish"):
        affinity(graph, Heat(1e-9), X)
    with pytest.raises(GraphError, match="needs coordinates"):
        affinity(graph, "cosine", None)
    with pytest.raises(GraphError, match="coincide"):
        affinity(KNN(3).build(np.ones((6, 2))), "local", np.ones((6, 2)))


# ---------------------------------------------------------------------- reconstruction weights
@pytest.mark.parametrize("D", [2, 12])
def test_reconstruction_weights_against_a_loop(D: int) -> None:
    X = cloud(30, D)
    graph = KNN(5).build(X).distances
    W = reconstruction_weights(X, graph, reg=1e-3)
    np.testing.assert_allclose(W.sum(axis=1), 1.0)
    for i in range(30):
        near = graph.indices[graph.indptr[i] : graph.indptr[i + 1]]
        Z = X[near] - X[i]
        G = Z @ Z.T
        w = np.linalg.solve(G + 1e-3 * np.trace(G) * np.eye(5), np.ones(5))
        np.testing.assert_allclose(W[[i]].toarray()[0, near], w / w.sum(), rtol=1e-8)
    np.testing.assert_allclose(reconstruction_weights(sp.csr_array(X), graph).toarray(), W.toarray(), atol=1e-12)


@pytest.mark.parametrize("D", [1, 3])
@pytest.mark.parametrize("reg", [0.0, 1e-3])
def test_reconstruction_weights_of_coincident_points(reg: float, D: int) -> None:
    X = cloud(20, D)
    X[1:6] = X[0]
    W = reconstruction_weights(X, KNN(4).build(X).distances, reg=reg)
    assert np.all(np.isfinite(W.data))
    np.testing.assert_allclose(W.sum(axis=1), 1.0)
    np.testing.assert_allclose(W[[0]].data, 0.25)


def test_without_regularisation_reconstruction_is_exact_and_of_least_norm() -> None:
    X = cloud(30, 2)
    W = reconstruction_weights(X, KNN(6).build(X).distances, reg=0.0).toarray()
    np.testing.assert_allclose(W @ X, X, atol=1e-9)
    np.testing.assert_allclose(W.sum(axis=1), 1.0)
    for i in range(30):
        near = np.flatnonzero(W[i])
        M = np.vstack([X[near].T, np.ones(near.size)])
        np.testing.assert_allclose(W[i, near], np.linalg.pinv(M) @ [*X[i], 1.0], atol=1e-8)
    X[5] = X[4]  # a copy reconstructs alone: least norm among exact weights, so not necessarily all of it, but exactly
    W = reconstruction_weights(X, KNN(2).build(X).distances, reg=0.0).toarray()
    np.testing.assert_allclose(W[4] @ X, X[4], atol=1e-9)


def test_weak_regularisation_tends_to_none() -> None:
    X = cloud(30, 6)
    graph = KNN(4).build(X).distances
    np.testing.assert_allclose(
        reconstruction_weights(X, graph, reg=0.0).data, reconstruction_weights(X, graph, reg=1e-11).data, atol=1e-6
    )


# ---------------------------------------------------------------------- components and bridges
def archipelago(sizes: list[int], seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    centres = rng.uniform(0, 1000, (len(sizes), 2))
    labels = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    return centres[labels] + 0.1 * rng.standard_normal((labels.size, 2)), labels


@pytest.mark.parametrize("edges", [0, 20, 60, 100, 200, 500])
def test_components_are_those_of_all_edges(edges: int) -> None:
    rng = np.random.default_rng(edges)
    D = sp.csr_array(sp.coo_array((rng.random(edges), rng.integers(0, 100, (2, edges))), shape=(100, 100)))
    D.data[::3] = 0.0
    count, labels = components(NeighbourGraph(D))
    D.data[:] = 1.0
    expected, own = connected_components(D, directed=False)
    assert count == expected
    np.testing.assert_array_equal(labels, own)


def shortest_connection(E: np.ndarray, labels: np.ndarray) -> float:
    """Length of the minimum spanning tree over the components."""
    c = labels.max() + 1
    gaps = np.zeros((c, c))
    for a, b in combinations(range(c), 2):
        gaps[a, b] = E[np.ix_(labels == a, labels == b)].min()
    return float(minimum_spanning_tree(gaps).sum())


def bridges(before: NeighbourGraph, after: NeighbourGraph) -> dict[tuple[int, int], float]:
    old, new = entries(before.undirected()), entries(after.undirected())
    assert old.items() <= new.items()  # edges keep their length
    added = {e: d for e, d in new.items() if e not in old}
    assert all((j, i) in added for i, j in added)
    return {e: d for e, d in added.items() if e[0] < e[1]}


@pytest.mark.parametrize(
    "sizes",
    [[8, 5], [9, 7, 5, 4, 4], [4] * 100, [1500, 6, 5], [400, 1100, 30], [210, 230, 250, 270, 290, 40, 9]],
    ids=["2", "5", "100", "large", "two large", "five large"],
)
@pytest.mark.parametrize("precomputed", [False, True])
def test_bridges_are_a_shortest_connection(sizes: list[int], precomputed: bool) -> None:
    X, labels = archipelago(sizes)
    if precomputed and labels.size > 1000:
        pytest.skip("the same path through the code")
    E = cdist(X, X)
    graph = distance_graph(E, n_neighbors=3) if precomputed else KNN(3).build(X)
    count, found = components(graph)
    assert count >= len(sizes)
    with pytest.warns(DisconnectedWarning, match=f"{count} components"):
        joined, kept = ensure_connected(graph, E if precomputed else X, "connect", precomputed=precomputed)
    assert kept is None
    assert components(joined)[0] == 1
    added = bridges(graph, joined)
    assert len(added) == count - 1
    assert all(d == pytest.approx(E[e], rel=1e-6) for e, d in added.items())
    assert sum(added.values()) == pytest.approx(shortest_connection(E, found), rel=1e-6)


def test_bridges_of_equal_length_form_no_cycle() -> None:
    """Three pairs around a fourth, larger group, each nearest to the next at exactly the same distance."""
    groups = [[0, 1], [2, 3], [4, 5], [6, 7, 8]]
    E = np.full((9, 9), 50.0)
    for group in groups:
        E[np.ix_(group, group)] = 1.0
    for i, j in ((0, 3), (2, 5), (4, 1)):
        E[i, j] = E[j, i] = 10.0
    np.fill_diagonal(E, 0.0)
    graph = distance_graph(E, n_neighbors=1)
    with pytest.warns(DisconnectedWarning, match="3 shortest bridging"):
        joined, _ = ensure_connected(graph, E, "connect", precomputed=True)
    assert sorted(bridges(graph, joined).values()) == [10.0, 10.0, 50.0]


def test_bridges_of_isolated_points_and_of_zero_length() -> None:
    X = np.array([[0.0], [1.0], [2.0], [50.0], [90.0]])
    graph = Radius(1.5).build(X)
    assert components(graph)[0] == 3
    with pytest.warns(DisconnectedWarning):
        joined, _ = ensure_connected(graph, X, "connect")
    assert bridges(graph, joined) == {(2, 3): 48.0, (3, 4): 40.0}
    copies = as_graph((np.array([[1], [0], [3], [2]]), np.zeros((4, 1))), np.zeros((4, 2)))
    with pytest.warns(DisconnectedWarning):
        joined, _ = ensure_connected(copies, np.zeros((4, 2)), "connect")
    assert components(joined)[0] == 1
    assert list(bridges(copies, joined).values()) == [0.0]


def test_bridges_of_a_mutual_graph_keep_their_length() -> None:
    """The bridge is often an edge one end had already: it must not be counted twice."""
    X = np.array([[0.0], [1.0], [2.5], [10.0], [11.0], [12.5]])
    graph = KNN(1, symmetry="mutual").build(X)
    with pytest.warns(DisconnectedWarning):
        joined, _ = ensure_connected(graph, X, "connect")
    assert bridges(graph, joined) == {(1, 2): 1.5, (2, 3): 7.5, (4, 5): 1.5}


def test_bridges_follow_the_metric() -> None:
    rng = np.random.default_rng(0)
    angles = np.concatenate([c + 0.01 * rng.random(6) for c in (0.0, 1.0, 1.4)])
    X = np.column_stack([np.cos(angles), np.sin(angles)]) * rng.uniform(1, 100, 18)[:, None]
    graph = KNN(3, metric="cosine").build(X)
    with pytest.warns(DisconnectedWarning):
        joined, _ = ensure_connected(graph, X, "connect")
    E = cdist(X, X, "cosine")
    assert sum(bridges(graph, joined).values()) == pytest.approx(shortest_connection(E, components(graph)[1]), abs=1e-9)


def test_policies() -> None:
    X, _ = archipelago([9, 6])
    graph = KNN(4).build(X)
    with pytest.raises(DisconnectedError, match="2 components"):
        ensure_connected(graph, X, "raise")
    with pytest.warns(DisconnectedWarning, match="9 of 15 points"):
        part, kept = ensure_connected(graph, X, "largest")
    assert kept.size == part.n == 9
    assert components(part)[0] == 1
    assert_same_graph(part.distances, KNN(4).build(X[kept]).distances)
    with pytest.raises(GraphError, match="'connect', 'largest', 'raise'"):
        ensure_connected(graph, X, "ignore")
    whole = KNN(14).build(X)
    assert ensure_connected(whole, X, "raise") == (whole, None)
    sparse = sp.csr_array(KNN(4).build(X).distances)
    with pytest.raises(GraphError, match="no bridging edges"):
        ensure_connected(distance_graph(sparse), sparse, "connect", precomputed=True)


# ---------------------------------------------------------------------- geodesics
def test_geodesics_against_floyd_warshall() -> None:
    X = cloud(60, 2)
    graph = KNN(8).build(X).undirected()
    expected = floyd_warshall(graph.toarray(), directed=False)
    np.testing.assert_allclose(geodesic_distances(graph), expected, atol=1e-12)
    np.testing.assert_allclose(geodesic_distances(graph, np.array([5, 2])), expected[[5, 2]], atol=1e-12)
    assert geodesic_distances(graph, np.array([5])).shape == (1, 60)


def test_geodesics_pass_through_coincident_points() -> None:
    X = np.array([[0.0], [1.0], [1.0], [3.0]])
    D = as_graph((np.array([[1], [2], [1], [2]]), np.array([[1.0], [0.0], [0.0], [2.0]])), X)
    np.testing.assert_array_equal(geodesic_distances(D.undirected())[0], [0, 1, 1, 3])


def test_geodesics_of_a_disconnected_graph() -> None:
    X, _ = archipelago([6, 6])
    with pytest.raises(DisconnectedError):
        geodesic_distances(KNN(3).build(X).undirected())


def test_conformal_distances_against_a_loop() -> None:
    graph = KNN(4).build(cloud(40))
    scaled, M = conformal_distances(graph)
    G = entries(graph.undirected())
    D = cdist(cloud(40), cloud(40))
    for i in range(40):
        assert M[i] == pytest.approx(np.sort(D[i])[1:5].mean())  # its four nearest, whoever counts i among theirs
    for (i, j), d in entries(scaled).items():
        assert d == pytest.approx(G[i, j] / np.sqrt(M[i] * M[j]))
    copies = KNN(2).build(np.array([[0.0], [0.0], [0.0], [1.0], [1.5], [1.7]]))
    assert np.all(np.isfinite(conformal_distances(copies)[0].data))


# ---------------------------------------------------------------------- landmarks
@pytest.mark.parametrize("how", ["random", "maxmin", "kmeans++"])
@pytest.mark.parametrize("seed", range(5))
def test_landmarks_are_distinct_and_repeatable(how: str, seed: int) -> None:
    X = cloud(60)
    chosen = choose_landmarks(X, 12, how=how, random_state=seed)
    assert chosen.size == np.unique(chosen).size == 12
    assert chosen.min() >= 0
    assert chosen.max() < 60
    np.testing.assert_array_equal(chosen, choose_landmarks(X, 12, how=how, random_state=seed))
    assert set(choose_landmarks(X, 60, how=how, random_state=seed)) == set(range(60))
    np.testing.assert_array_equal(choose_landmarks(sp.csr_array(X), 12, how=how, random_state=seed), chosen)


@pytest.mark.parametrize("seed", range(5))
def test_maxmin_landmarks_cover(seed: int) -> None:
    X = cloud(80, 2)
    E = cdist(X, X)
    chosen = choose_landmarks(X, 8, how="maxmin", random_state=seed)
    for m in range(1, 8):  # each landmark is the point farthest from those before it
        reach = E[:, chosen[:m]].min(axis=1)
        assert reach[chosen[m]] == pytest.approx(reach.max())
    radius, spread = E[:, chosen].min(axis=1).max(), E[np.ix_(chosen, chosen)][np.triu_indices(8, 1)].min()
    assert radius <= spread + 1e-12
    np.testing.assert_array_equal(choose_landmarks(E, 8, how="maxmin", random_state=seed, precomputed=True), chosen)


def test_landmarks_given_by_index() -> None:
    np.testing.assert_array_equal(choose_landmarks(cloud(9), [4, 1, 7]), [4, 1, 7])
    for wrong in ([1, 1], [9], [-1], [], [[1, 2]], 0, 10):
        with pytest.raises(InputError, match=r"landmarks|Landmarks\(n=0\)"):
            choose_landmarks(cloud(9), wrong)
    with pytest.raises(InputError, match="choice='best'"):
        choose_landmarks(cloud(9), 3, how="best")
    with pytest.raises(InputError, match="coordinates"):
        choose_landmarks(cdist(cloud(9), cloud(9)), 3, how="kmeans++", precomputed=True)


# ---------------------------------------------------------------------- labels and slices
LABELS = {
    "strings": (np.array(["b", "a", "b", "c"]), [1, 0, 1, 2], ["a", "b", "c"]),
    "ints": ([3, 1, 1, 7], [1, 0, 0, 2], [1, 3, 7]),
    "unlabelled": ([2, -1, 0, -1], [1, -1, 0, -1], [0, 2]),
    "floats with NaN": ([1.0, np.nan, 0.0, 1.0], [1, -1, 0, 1], [0.0, 1.0]),
    "objects with None": (np.array(["x", None, "y", "x"], dtype=object), [0, -1, 1, 0], ["x", "y"]),
    "objects with NaN": (np.array(["x", np.nan, "y", "x"], dtype=object), [0, -1, 1, 0], ["x", "y"]),
    "mixed marks": (np.array([4, None, -1, 2], dtype=object), [1, -1, -1, 0], [2, 4]),
    "booleans": ([True, False, True, True], [1, 0, 1, 1], [False, True]),
    "minus one among three": ([-1, 1, 2, 1], [-1, 0, 1, 0], [1, 2]),
    "column": (np.array([[1], [0], [1], [0]]).ravel(), [1, 0, 1, 0], [0, 1]),
}


@pytest.mark.parametrize("name", list(LABELS))
def test_labels(name: str) -> None:
    y, codes, classes = LABELS[name]
    found, labels = encode_labels(y, np.zeros((4, 1)))
    np.testing.assert_array_equal(found, codes)
    assert labels.tolist() == classes


def test_a_custom_unlabelled_marker() -> None:
    codes, classes = encode_labels(["a", "?", "b"], np.zeros((3, 1)), unlabeled="?")
    np.testing.assert_array_equal(codes, [0, -1, 1])
    assert classes.tolist() == ["a", "b"]
    np.testing.assert_array_equal(encode_labels([9, 0, 1], np.zeros((3, 1)), unlabeled=9)[0], [-1, 0, 1])


def test_plus_and_minus_one_is_ambiguous() -> None:
    y = [-1, 1, 1, -1]
    for labels in (y, np.array(y, dtype=float), np.array(y, dtype=object)):
        with pytest.raises(LabelError, match="unlabeled=None"):
            encode_labels(labels, np.zeros((4, 1)))
    np.testing.assert_array_equal(encode_labels(y, np.zeros((4, 1)), unlabeled=None)[0], [0, 1, 1, 0])


def test_labels_that_define_no_classes() -> None:
    X = np.zeros((4, 1))
    with pytest.raises(LabelError, match="y is None"):
        encode_labels(None, X)
    with pytest.raises(LabelError, match="all 4 of them are missing"):
        encode_labels([-1] * 4, X)
    with pytest.raises(LabelError, match="only one class"):
        encode_labels([2, 2, -1, 2], X)
    with pytest.raises(LabelError, match="3 labels for 4 samples"):
        encode_labels([0, 1, 0], X)
    with pytest.raises(LabelError, match="continuous"):
        encode_labels([0.5, 1.25, 3.75, 0.1], X)


def test_class_indicator_and_pairs() -> None:
    codes = np.array([0, 1, -1, 1, 0, 1])
    G = class_indicator(codes).toarray()
    same = (codes[:, None] == codes) & (codes >= 0)
    np.testing.assert_allclose(G @ G.T, same / np.maximum(same.sum(axis=1), 1))
    np.testing.assert_array_equal(class_pairs(codes).toarray(), same & ~np.eye(6, dtype=bool))


@pytest.mark.parametrize("n", [10, 37, 100])
@pytest.mark.parametrize("h", [1, 2, 3, 7, 10])
def test_slices_have_nearly_equal_counts(n: int, h: int) -> None:
    y = np.random.default_rng(n).permutation(np.linspace(-3, 9, n) ** 3)
    codes = slices(y, slice_edges(y, h))
    counts = np.bincount(codes)
    assert counts.size == h
    assert counts.max() - counts.min() <= 1
    assert np.all(np.diff(codes[np.argsort(y)]) >= 0)


def test_slices_never_split_ties() -> None:
    y = np.array([0.0] * 50 + [1.0] * 3 + list(np.linspace(2, 3, 20)))
    codes = slices(y, slice_edges(y, 6))
    for value in np.unique(y):
        assert np.unique(codes[y == value]).size == 1
    np.testing.assert_array_equal(np.unique(codes), np.arange(codes.max() + 1))
    np.testing.assert_array_equal(slices(np.ones(5), slice_edges(np.ones(5), 3)), 0)


# ---------------------------------------------------------------------- known rows
def test_row_index_finds_the_first_identical_row() -> None:
    X = cloud(50)
    X[7] = X[3]
    X[9, 1] = 0.0
    index = RowIndex.build(X)
    np.testing.assert_array_equal(index(X), [*range(7), 3, *range(8, 50)])
    signed = X.copy()
    signed[9, 1] = -0.0
    assert index(signed)[9] == 9
    near = X.copy()
    near[:, 0] = np.nextafter(near[:, 0], np.inf)
    np.testing.assert_array_equal(index(near), -1)
    assert index(X[:0]).size == 0


def test_row_index_of_float32() -> None:
    X = cloud(20).astype(np.float32)
    index = RowIndex.build(X)
    np.testing.assert_array_equal(index(X), np.arange(20))
    np.testing.assert_array_equal(index(X.astype(np.float64)), np.arange(20))


def test_row_index_survives_collisions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "_hash", lambda X: (np.asarray(X)[:, 0] > 0).astype(np.uint64))
    X = cloud(30)
    X[7] = X[3]
    index = RowIndex.build(X)
    np.testing.assert_array_equal(index(X), [*range(7), 3, *range(8, 30)])
    np.testing.assert_array_equal(index(cloud(5, seed=8)), -1)


def test_hash_separates_small_integers() -> None:
    X = np.stack(np.meshgrid(*[np.arange(8.0)] * 4), axis=-1).reshape(-1, 4)
    assert np.unique(rows._hash(X)).size == len(X)


def test_zero_distance() -> None:
    D = np.array([[0.0, 1.0, 2.0], [1.0, 0.5, 0.2], [3.0, 0.0, 0.0]])
    np.testing.assert_array_equal(ZeroDistance()(D), [0, -1, 1])
    np.testing.assert_array_equal(ZeroDistance(np.array([2, 1]))(D), [-1, -1, 0])


# ---------------------------------------------------------------------- memory
@pytest.mark.parametrize(
    "text, number",
    [
        ("100", 100),
        ("1.5G", 1.5 * 2**30),
        ("2GiB", 2**31),
        ("3 mb", 3 * 2**20),
        ("10kB", 10240),
        ("1e6", 10**6),
        ("1T", 2**40),
    ],
)
def test_memory_sizes_are_parsed(text: str, number: float) -> None:
    assert _resources.parse_bytes(text) == number


def test_memory_limit_is_enforced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EIGENSPAN_MEMORY", "1M")
    assert _resources.available_memory() == 2**20
    _resources.require(0.8 * 2**20, "A table", "Buy less.")
    with pytest.raises(MemoryLimitError, match=r"A table would need 2 MB.*1 MB of memory is available. Buy less"):
        _resources.require(2 * 2**20, "A table", "Buy less.")
    graph = KNN(8).build(cloud(400)).undirected()
    with pytest.raises(MemoryLimitError, match="Geodesic distances from 400"):
        geodesic_distances(graph)
    assert geodesic_distances(graph, np.arange(3)).shape == (3, 400)
    monkeypatch.setenv("EIGENSPAN_MEMORY", "1000T")  # lowers the limit, never raises it
    assert _resources.available_memory() < 2**50
    assert _resources.human_bytes(1536) == "1.5 kB"
    monkeypatch.setenv("EIGENSPAN_MEMORY", "lots")
    with pytest.raises(InputError, match="EIGENSPAN_MEMORY='lots'"):
        _resources.available_memory()


def test_self_loops_are_removed_from_every_format() -> None:
    """Sorted and without copies, or not: zeros are edges, of an edge given twice the shorter stays, the given lists are left alone."""
    rng = np.random.default_rng(0)
    D = sp.csr_array(np.where(rng.random((30, 30)) < 0.3, rng.random((30, 30)), 0.0))
    D.data[::5] = 0.0
    given = D.copy()
    assert D.has_canonical_format
    C = D.tocoo()
    shuffled = rng.permutation(C.nnz)
    twice = [np.concatenate([part[shuffled], part]) for part in (C.data, C.row, C.col)]
    twice[0][: C.nnz] += 1.0
    rows = np.argsort(twice[1], kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(twice[1], minlength=30))])
    rough = sp.csr_array((twice[0][rows], twice[2][rows], indptr), shape=(30, 30))
    kept = C.row != C.col
    for found in (without_self(D), without_self(rough)):
        np.testing.assert_array_equal(found.data, C.data[kept])
        np.testing.assert_array_equal(found.indices, C.col[kept])
        np.testing.assert_array_equal(np.repeat(np.arange(30), np.diff(found.indptr)), C.row[kept])
    np.testing.assert_array_equal(D.toarray(), given.toarray())
    assert D.nnz == given.nnz
