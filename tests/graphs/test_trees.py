"""Minimum-spanning-tree graphs, against scipy on all pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs, make_swiss_roll

import eigenspan as es
from eigenspan.errors import DisconnectedWarning, GraphError
from eigenspan.graphs import KNN, MST, components
from eigenspan.graphs.neighbours import spanning_trees as trees
from helpers import assert_healthy, disparity, says

RNG = np.random.default_rng(0)
CLOUDS = {
    "square": RNG.random((400, 2)),
    "apart": np.vstack([RNG.random((150, 3)), RNG.random((90, 3)) + 100, RNG.random((40, 3)) - 70]),
    "many features": RNG.standard_normal((300, 40)),
    "of all sizes": np.exp(4 * RNG.standard_normal((300, 2))),
    "few": RNG.random((7, 2)),
    "two": np.array([[0.0, 1.0], [3.0, 5.0]]),
}
clouds = pytest.mark.parametrize("X", CLOUDS.values(), ids=CLOUDS)


def all_pairs(X: Any, n_trees: int, metric: str = "euclidean") -> list[set[tuple[int, int]]]:
    """Edges of one tree after another, each the least of all pairs that are left."""
    E, found = cdist(X, X, metric), []
    for _ in range(n_trees):
        T = minimum_spanning_tree(E).tocoo()
        found.append({(int(min(e)), int(max(e))) for e in zip(T.row, T.col, strict=True)})
        E[T.row, T.col] = E[T.col, T.row] = 0
    return found


def edges(graph: Any) -> set[tuple[int, int]]:
    U = sp.triu(graph.undirected()).tocoo()
    return {(int(i), int(j)) for i, j in zip(U.row, U.col, strict=True)}


@clouds
@pytest.mark.parametrize("n_trees", [1, 3])
def test_the_trees_are_those_of_all_pairs(X: Any, n_trees: int) -> None:
    n_trees = min(n_trees, len(X) // 2)
    graph = MST(n_trees).build(X)
    assert edges(graph) == set.union(*all_pairs(X, n_trees))
    E = cdist(X, X)
    C = graph.distances.tocoo()
    np.testing.assert_allclose(C.data, E[C.row, C.col], rtol=1e-12)


@clouds
@pytest.mark.parametrize("first, last", [(1, 1), (1, 4), (2, 64)])
@pytest.mark.every(3)
def test_short_lists_are_searched_further(X: Any, first: int, last: int, monkeypatch: Any) -> None:
    """Where the lists prove little the searches beyond them are the whole story."""
    monkeypatch.setattr(trees, "_FIRST", first - 4)
    monkeypatch.setattr(trees, "_LAST", last)
    n_trees = min(2, len(X) // 2)
    assert edges(MST(n_trees).build(X)) == set.union(*all_pairs(X, n_trees))


def test_other_metrics_and_sparse_rows() -> None:
    X = CLOUDS["many features"]
    assert edges(MST(2, metric="cityblock").build(X)) == set.union(*all_pairs(X, 2, "cityblock"))
    S = sp.random_array((200, 50), density=0.2, random_state=np.random.default_rng(0), format="csr")
    assert edges(MST(2).build(S)) == set.union(*all_pairs(S.toarray(), 2))
    assert edges(MST(metric="cosine").build(S)) == all_pairs(S.toarray(), 1, "cosine")[0]


def test_with_ties_and_duplicates_the_tree_has_the_least_length() -> None:
    grid = np.array([[i, j] for i in range(12) for j in range(9)], dtype=float)
    graph = MST().build(grid)
    assert graph.undirected().nnz == 2 * 107
    assert graph.undirected().sum() == 2 * 107
    twice = np.repeat(grid[:30], 25, axis=0)
    graph = MST().build(twice)
    assert graph.undirected().nnz == 2 * 749
    assert graph.undirected().sum() == 2 * 29
    assert components(graph)[0] == 1


def test_trees_without_a_common_edge_beside_neighbours() -> None:
    X = CLOUDS["apart"]
    both, near = MST(2, n_neighbors=5).build(X), KNN(5).build(X)
    assert edges(both) == set.union(*all_pairs(X, 2)) | edges(near)
    np.testing.assert_array_equal(both.reach, near.reach)
    new = X[:6] + 0.01
    a, b = both.joining().relate(new), near.joining().relate(new)
    assert abs(a - b).max() == 0
    one = MST().build(X).joining().relate(new)  # to the nearest one, and nobody else
    np.testing.assert_array_equal(np.diff(one.indptr), 1)
    np.testing.assert_array_equal(one.indices, cdist(new, X).argmin(axis=1))


def test_a_hub_gives_a_forest() -> None:
    """All points on a star's arms have its centre for their nearest: a second tree has no edge to it."""
    X = np.vstack([np.zeros((1, 12)), 10 * np.eye(12), -10 * np.eye(12)])
    X[1:] += 1e-3 * np.random.default_rng(0).standard_normal((24, 12))
    first = MST().build(X).undirected()
    assert first[[0]].nnz == 24
    second = MST(2).build(X)
    assert edges(second) == set.union(*all_pairs(X, 2))
    assert len(edges(second)) == 24 + 23


@pytest.mark.parametrize("method", [es.LaplacianEigenmaps, es.Isomap, es.LLE, es.LPP, es.CommuteTimeEmbedding, es.MVU])
@pytest.mark.every(2)
def test_graph_methods_accept_spanning_trees(method: Any) -> None:
    X, _ = make_blobs(90, centers=[[0, 0, 0], [30, 0, 0], [0, 30, 5]], random_state=0)
    weights = {"weights": "binary"} if "weights" in method().get_params() else {}
    fitted = method(2, graph=MST(n_neighbors=6), **weights).fit(X)  # and no warning of a graph that falls apart
    built = MST(n_neighbors=6).build(X)
    edges = built.distances if method is es.LLE else built.undirected()  # LLE takes the neighbours of each point
    given = method(2, graph=edges, **weights).fit(X)
    assert disparity(fitted.embedding_, given.embedding_) < (1e-3 if method is es.MVU else 1e-9)
    assert_healthy(fitted.transform(X[:5] + 0.01), 5)
    if method is not es.LPP:
        assert connected_components(fitted.graph_.undirected(), directed=False)[0] == 1
        with pytest.warns(DisconnectedWarning):
            method(2, n_neighbors=6, **weights).fit(X)


def test_a_tree_alone_is_a_graph() -> None:
    X, _ = make_swiss_roll(300, random_state=0)
    fitted = es.SpectralClustering(3, graph=MST(), weights="binary").fit(X)
    assert len(set(fitted.labels_)) == 3
    np.testing.assert_array_equal(fitted.predict(X), fitted.labels_)
    assert es.Isomap(2, graph=MST(3)).fit(X).transform(X[:3] + 0.1).shape == (3, 2)
    assert es.KernelPCA(2, kernel=es.HeatKernel(2.0, graph=MST(2))).fit_transform(X).shape == (300, 2)


def test_saved_with_the_graph(tmp_path: Any) -> None:
    X, _ = make_swiss_roll(100, random_state=0)
    fitted = es.LaplacianEigenmaps(2, graph=MST(n_neighbors=4)).fit(X)
    es.save(fitted, tmp_path / "tree")
    new = X[:7] + 0.05
    np.testing.assert_array_equal(es.load(tmp_path / "tree").transform(new), fitted.transform(new))


def test_invalid_specifications_are_rejected() -> None:
    X = CLOUDS["few"]
    with pytest.raises(GraphError, match=says("n_trees=4", "7 points have 21 pairs", "enough for 3 trees")):
        MST(4).build(X)
    with pytest.raises(GraphError, match=says("n_neighbors=7", "n_samples - 1 = 6")):
        MST(n_neighbors=7).build(X)
    for params in ({"n_trees": 0}, {"n_trees": 1.5}, {"n_neighbors": "a"}, {"metric": None}, {"n_jobs": 0}):
        with pytest.raises(GraphError, match=next(iter(params))):
            MST(**params).build(X)
    with pytest.raises(GraphError, match=says('metric="precomputed"', "nothing to measure")):
        MST(metric="precomputed").build(X)
