"""Graphs with several components: bridges, embeddings and maps against brute force."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components, dijkstra, minimum_spanning_tree
from scipy.spatial.distance import cdist
from sklearn.neighbors import KNeighborsTransformer, RadiusNeighborsTransformer

import eigenspan as es
from helpers import assert_allclose_up_to_sign, pairwise, quietly

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
K, RADIUS = 6, 2.5
GRAPHS: dict[str, Any] = {
    "knn": es.KNN(K),
    "mutual": es.KNN(K, symmetry="mutual"),
    "radius": es.Radius(RADIUS),
    "transformer": KNeighborsTransformer(n_neighbors=K),
    "radius transformer": RadiusNeighborsTransformer(radius=RADIUS),
}
NAMES = ["Isomap", "LandmarkIsomap", "LaplacianEigenmaps", "LLE"]
kinds = pytest.mark.parametrize("kind", GRAPHS)
names = pytest.mark.parametrize("name", NAMES)


def shuffled(islands: Any) -> Array:
    """Components of 30, 20 and 10 points whose rows are mixed: the largest is not the first rows."""
    return islands.X[np.random.default_rng(3).permutation(60)]


def near(E: Array, k: int) -> Mask:
    """The k smallest numbers of each row."""
    mask = np.zeros(E.shape, dtype=bool)
    np.put_along_axis(mask, np.argsort(E, axis=1, kind="stable")[:, :k], True, axis=1)
    return mask


def distances(X: Array) -> Array:
    D = cdist(X, X)
    np.fill_diagonal(D, np.inf)
    return D


def edges(kind: str, D: Array) -> tuple[Mask, Mask, NDArray[np.intp]]:
    """Edges from each point to its neighbours, the shortest bridges that connect the components, and the component of each point."""
    A = D <= RADIUS if "radius" in kind else near(D, K)
    count, labels = connected_components(A & A.T if kind == "mutual" else A, directed=False)
    between = np.array(
        [[D[np.ix_(labels == a, labels == b)].min() if a != b else 0.0 for b in range(count)] for a in range(count)]
    )
    tree, bridges = minimum_spanning_tree(between).tocoo(), np.zeros(D.shape, dtype=bool)
    for a, b in zip(tree.row, tree.col, strict=True):
        across = np.where((labels == a)[:, None] & (labels == b), D, np.inf)
        i, j = np.unravel_index(across.argmin(), D.shape)
        bridges[i, j] = bridges[j, i] = True
    return A, bridges, labels


def undirected(kind: str, A: Mask, bridges: Mask) -> Mask:
    return (A & A.T if kind == "mutual" else A | A.T) | bridges


def isomap(kind: str, X: Array, new: Array) -> tuple[Array, Array]:
    """Coordinates of Isomap on the bridged graph, and of new points that join it, by the definition."""
    D = distances(X)
    A, bridges, _ = edges(kind, D)
    G = dijkstra(sp.csr_array(np.where(undirected(kind, A, bridges), D, 0.0)), directed=False)
    J = np.eye(len(X)) - 1 / len(X)
    values, V = np.linalg.eigh(-0.5 * J @ G**2 @ J)
    values, V = values[:-3:-1], V[:, :-3:-1]
    E = cdist(new, X)
    if "radius" in kind:
        joined = E <= RADIUS
    elif kind == "transformer":  # scikit-learn's reports one more, for the point itself
        joined = near(E, K + 1)
    else:
        mine, theirs = near(E, K), np.sort(D, axis=1)[:, K - 1] > E
        joined = mine & theirs if kind == "mutual" else mine | theirs
    joined |= ~joined.any(axis=1, keepdims=True) & near(E, 1)  # a point that joins nobody hangs on its nearest
    paths = np.array([(row[on, None] + G[on]).min(axis=0) for row, on in zip(E, joined, strict=True)])
    return V * np.sqrt(values), -0.5 * (paths**2 - (G**2).mean(axis=0)) @ V / np.sqrt(values)


@kinds
@pytest.mark.parametrize("name", ["Isomap", "LandmarkIsomap"])
def test_isomap_of_a_bridged_graph(name: str, kind: str, islands: Any) -> None:
    X = shuffled(islands)
    new = np.vstack([X + 0.1, 40 * X])
    fitted = quietly(lambda: es.make(name, graph=GRAPHS[kind]).fit(X))  # 60 points are landmarks all
    Y, placed = isomap(kind, X, new)
    size = np.abs(placed).max()
    assert_allclose_up_to_sign(fitted.embedding_, Y, atol=1e-9 * size)
    assert_allclose_up_to_sign(
        np.vstack([fitted.embedding_, fitted.transform(new)]), np.vstack([Y, placed]), atol=1e-9 * size
    )


@kinds
@names
@pytest.mark.every(3)
def test_bridges_are_the_shortest_that_connect(name: str, kind: str, islands: Any) -> None:
    """The embedding is that of the method on a given graph that has them already."""
    X = shuffled(islands)
    D = distances(X)
    A, bridges, labels = edges(kind, D)
    fitted = quietly(lambda: es.make(name, graph=GRAPHS[kind]).fit(X))
    # LLE takes the neighbours of each point
    whole = A | bridges if name == "LLE" and kind != "mutual" else undirected(kind, A, bridges)
    given = es.make(name, graph=sp.csr_array(np.where(whole, D, 0.0))).fit(X)
    np.testing.assert_allclose(
        pairwise(fitted.embedding_), pairwise(given.embedding_), atol=1e-7 * pairwise(given.embedding_).max()
    )
    assert fitted.diagnostics_["components"] == labels.max() + 1
    assert fitted.diagnostics_["bridges"] == labels.max() == bridges.sum() / 2


@kinds
@names
@pytest.mark.every(3)
def test_the_largest_component_is_embedded_as_if_alone(name: str, kind: str, islands: Any) -> None:
    """And all other points are new points to it."""
    X = shuffled(islands)
    new = np.vstack([X + 0.1, 40 * X])
    labels = edges(kind, distances(X))[2]
    largest = labels == np.bincount(labels).argmax()
    fitted = quietly(lambda: es.make(name, graph=GRAPHS[kind], disconnected="largest").fit(X))
    # a subset of a given transformer's neighbours finds neighbours of new points by their number
    alone = es.make(name, graph=es.KNN(K) if kind == "transformer" else GRAPHS[kind]).fit(X[largest])
    tol = {"rtol": 1e-7, "atol": 1e-9 * np.abs(alone.embedding_).max()}
    np.testing.assert_allclose(fitted.embedding_[largest], alone.embedding_, **tol)
    np.testing.assert_allclose(fitted.embedding_[~largest], alone.transform(X[~largest]), **tol)
    np.testing.assert_allclose(fitted.transform(new), alone.transform(new), **tol)


@pytest.mark.parametrize("kind", ["knn", "mutual"])
def test_new_points_of_lle_are_reconstructed_from_their_neighbours_without_bridges(kind: str, islands: Any) -> None:
    X = shuffled(islands)
    new = np.vstack([X + 0.1, 40 * X])
    fitted = quietly(lambda: es.LLE(graph=GRAPHS[kind], reg=1e-3).fit(X))
    reach = np.sort(distances(X), axis=1)[:, K - 1]
    for x, y in zip(new, fitted.transform(new), strict=True):
        D = cdist(x[None], X)[0]
        mine = np.argsort(D)[:K]
        if kind == "mutual":  # those that would count x too, or the nearest of all
            mutual = mine[D[mine] < reach[mine]]
            mine = mutual if mutual.size else mine[:1]
        Z = X[mine] - x
        C = Z @ Z.T
        w = np.linalg.solve(C + 1e-3 * np.trace(C) * np.eye(mine.size), np.ones(mine.size))
        np.testing.assert_allclose(
            y, w @ fitted.embedding_[mine] / w.sum(), atol=1e-9 * np.abs(fitted.embedding_).max()
        )
