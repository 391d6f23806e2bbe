"""Equally distant points are sorted by distance, then by index, in every container and by every search."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from eigenspan import KNN, LLE, MST, Isomap, LaplacianEigenmaps, Radius
from eigenspan.errors import DisconnectedWarning
from eigenspan.graphs import choose_landmarks, distance_graph
from eigenspan.graphs.neighbours.connect import ensure_connected
from eigenspan.numerics.nearest import neighbour_lists
from eigenspan.numerics.nearest.finders import DistanceRows


def tables() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    grid = np.array(list(itertools.product(range(11), range(7))), dtype=float)
    counts = rng.poisson(0.5, (150, 5)).astype(float)
    return {
        "counts": counts,
        "many counts": rng.poisson(0.3, (120, 40)).astype(float),
        "grid": grid[rng.permutation(len(grid))],
        "grid of tenths": 0.1 * grid[rng.permutation(len(grid))],
        "tenths in six dimensions": 0.1 * rng.integers(0, 3, (150, 6)),
        "duplicate rows": np.repeat(rng.standard_normal((6, 3)), 40, axis=0),
        "one row": np.vstack([np.zeros((90, 2)), np.ones((30, 2))]),
        "quarters far away": rng.integers(0, 4, (120, 4)) / 4 + 1e6,
    }


TABLES = tables()
each_table = pytest.mark.parametrize("X", TABLES.values(), ids=TABLES.keys())


def in_order(X: Any) -> Any:
    """Return squared distances summed in the order of the features, as the rule for ties requires."""
    return sum(((x[:, None] - x) ** 2 for x in X.T), np.zeros((len(X), len(X))))


def ways(X: Any) -> Any:
    """Yield neighbours from every container and search."""
    read_only = X.copy()
    read_only.flags.writeable = False
    for search in ("auto", "tree", "exact", "sklearn"):
        yield search, X
        yield search, np.asfortranarray(X)
    yield "auto", read_only
    yield "auto", sp.csr_array(X)


@each_table
@pytest.mark.parametrize("k", [4, 9])
@pytest.mark.every(4)
def test_neighbours_by_distance_then_index(X: Any, k: int) -> None:
    S = in_order(X)
    new = np.argsort(S[:20], axis=1, kind="stable")[:, :k]
    np.fill_diagonal(S, np.inf)
    nearest = np.argsort(S, axis=1, kind="stable")[:, :k]
    for search, points in ways(X):
        graph = KNN(k, search=search).build(points)
        distances, indices = graph.finder.engine.near(None, k)
        assert np.array_equal(indices, nearest), (search, type(points))
        np.testing.assert_allclose(distances, np.sqrt(np.take_along_axis(S, nearest, axis=1)), rtol=1e-14)
        assert np.array_equal(graph.distances.indices.reshape(-1, k), np.sort(nearest, axis=1))
        found = graph.finder.engine.near(points[:20], k)[1]
        assert np.array_equal(found, new), (search, type(points))


@each_table
@pytest.mark.every(3)
def test_mutual_lists_and_new_points_use_the_same_rule_for_ties(X: Any) -> None:
    new = X[::7] + 0.25
    for symmetry in ("union", "mutual"):
        graphs = [(KNN(5, symmetry=symmetry, search=search).build(points), points) for search, points in ways(X)]
        first = graphs[0][0]
        joined = first.joining().relate(new)
        for graph, points in graphs[1:]:
            assert np.array_equal(graph.undirected().indices, first.undirected().indices)
            found = graph.joining().relate(sp.csr_array(new) if sp.issparse(points) else new)
            assert np.array_equal(found.toarray() > 0, joined.toarray() > 0)


@each_table
@pytest.mark.parametrize("rank", [0.05, 0.2])
def test_points_exactly_at_the_radius_are_within_it(X: Any, rank: float) -> None:
    D = np.sqrt(in_order(X))
    radius = float(np.sort(D[D > 0])[int(rank * np.sum(D > 0))])
    expected = radius >= D
    np.fill_diagonal(expected, False)
    for points in (X, np.asfortranarray(X), sp.csr_array(X)):
        found = Radius(radius).build(points).distances
        pattern = np.zeros(D.shape, dtype=bool)
        pattern[np.repeat(np.arange(len(X)), np.diff(found.indptr)), found.indices] = True
        assert np.array_equal(pattern, expected)


@pytest.mark.parametrize("metric", ["manhattan", "cosine", "chebyshev"])
def test_other_metrics_by_distance_then_index(metric: str) -> None:
    X = np.random.default_rng(1).integers(1, 4, (90, 4)).astype(float)
    D = cdist(X, X, "cityblock" if metric == "manhattan" else metric).round(9)
    np.fill_diagonal(D, np.inf)
    nearest = np.sort(np.argsort(D, axis=1, kind="stable")[:, :6], axis=1)
    for points in (X, np.asfortranarray(X), *([] if metric == "chebyshev" else [sp.csr_array(X)])):
        assert np.array_equal(KNN(6, metric=metric).build(points).distances.indices.reshape(-1, 6), nearest)


def test_precomputed_distances_by_distance_then_index() -> None:
    X = TABLES["counts"]
    D = cdist(X, X)
    nearest = np.argsort(np.where(np.eye(len(X)) > 0, np.inf, D), axis=1, kind="stable")[:, :6]
    assert np.array_equal(distance_graph(D, 6).distances.indices.reshape(-1, 6), np.sort(nearest, axis=1))
    rows = DistanceRows(len(X), 6).relate(D[:30])
    assert np.array_equal(
        rows.indices.reshape(-1, 6), np.sort(np.argsort(D[:30], axis=1, kind="stable")[:, :6], axis=1)
    )


def test_very_many_equal_points_in_a_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    """Far more points at one distance than a list has: the tree is queried for all of them, with increasing numbers of candidates."""
    monkeypatch.setattr(neighbour_lists, "_HELD", 500)
    X = np.repeat([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [150, 120, 3], axis=0)[
        np.random.default_rng(0).permutation(273)
    ]
    S = in_order(X)
    np.fill_diagonal(S, np.inf)
    found = KNN(7, search="tree").build(X).finder.engine.near(None, 7)[1]
    assert np.array_equal(found, np.argsort(S, axis=1, kind="stable")[:, :7])


# ---------------------------------------------------------------------- trees, bridges, landmarks
def kruskal(X: Any, labels: Any) -> set[tuple[int, int]]:
    """Return the minimum spanning tree of groups; of equally long edges it has those with the lower indices."""
    S, labels, edges = in_order(X), labels.copy(), set()
    i, j = np.triu_indices(len(X), 1)
    for e in np.lexsort((j, i, S[i, j])):
        if labels[i[e]] != labels[j[e]]:
            edges.add((int(i[e]), int(j[e])))
            labels[labels == labels[j[e]]] = labels[i[e]]
    return edges


@each_table
def test_spanning_trees_by_length_then_index(X: Any) -> None:
    expected = kruskal(X, np.arange(len(X)))
    for points in (X, np.asfortranarray(X), sp.csr_array(X)):
        C = sp.triu(MST().build(points).undirected()).tocoo()
        assert set(zip(C.row.tolist(), C.col.tolist(), strict=True)) == expected


@pytest.mark.parametrize("gap", [9.0, 40.0])
def test_bridges_by_length_then_index(gap: float) -> None:
    """Equal grids side by side: many pairs are equally close."""
    grid = np.array(list(itertools.product(range(4), range(4))), dtype=float)
    corners = gap * np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
    order = np.random.default_rng(0).permutation(64)
    X, labels = (corners[:, None] + grid).reshape(-1, 2)[order], np.repeat(np.arange(4), 16)[order]
    expected = kruskal(X, labels)
    for search, points in ways(X):
        graph = KNN(4, search=search).build(points)
        with pytest.warns(DisconnectedWarning):
            bridged, _ = ensure_connected(graph, points, "connect")
        added = sp.triu(abs(bridged.undirected() - graph.undirected())).tocoo()
        assert set(zip(added.row.tolist(), added.col.tolist(), strict=True)) == expected, search


@each_table
def test_farthest_landmarks_by_index(X: Any) -> None:
    for state in range(3):
        found = [choose_landmarks(points, 6, how="maxmin", random_state=state) for _, points in ways(X)]
        assert all(np.array_equal(other, found[0]) for other in found)


def test_lle_of_counts_in_every_container() -> None:
    """With different rules for ties, embeddings of the same counts would differ by half their size."""
    X = TABLES["counts"]
    Y = LLE(2, n_neighbors=9).fit(X).embedding_
    for search, points in ways(X):
        other = LLE(2, graph=KNN(9, search=search)).fit(points).embedding_
        np.testing.assert_allclose(other, Y, atol=1e-6 * np.abs(Y).max())


@pytest.mark.parametrize("method", [Isomap, LaplacianEigenmaps], ids=lambda cls: cls.__name__)
def test_new_points_between_grid_points(method: Any) -> None:
    X = TABLES["grid"]
    new = X[:15] + 0.5  # equally distant from four points
    ref = method(2, n_neighbors=6).fit(X).transform(new)
    for search, points in ways(X):
        fitted = method(2, graph=KNN(6, search=search)).fit(points)
        found = fitted.transform(sp.csr_array(new) if sp.issparse(points) else new)
        np.testing.assert_allclose(found, ref, atol=1e-6 * np.abs(ref).max())
