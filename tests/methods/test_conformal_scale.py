"""Conformal Isomap after de Silva & Tenenbaum: edges d_ij/√(M_i M_j), M_i the mean distance from i to its k nearest neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg as la
import scipy.sparse as sp
from scipy.sparse.csgraph import floyd_warshall
from scipy.spatial.distance import cdist

import eigenspan as es
from helpers import assert_allclose_up_to_sign

K = 8


def _bowl(n: int = 120, seed: int = 0) -> Any:
    """A disc on a sphere, its density uneven: the k nearest of a point are not those that count it among theirs."""
    rng = np.random.default_rng(seed)
    radius, turn = 0.9 * rng.random(n) ** 0.8, 2 * np.pi * rng.random(n)
    height = 1.5 * radius**2
    return np.column_stack([radius * np.cos(turn), radius * np.sin(turn), height])


def _edges(X: Any, kind: str) -> tuple[Any, Any]:
    """Lengths of undirected edges (infinite where there is none) and M, one point after the other."""
    D = cdist(X, X)
    n = len(D)
    chosen = np.zeros((n, n), dtype=bool)
    for i in range(n):
        others = np.argsort(D[i])[1:]
        near = others[D[i, others] <= 0.45] if kind == "radius" else others[:K]
        chosen[i, near] = True
    M = np.array([D[i, chosen[i]].mean() for i in range(n)])
    joined = chosen & chosen.T if kind == "mutual" else chosen | chosen.T
    return np.where(joined, D, np.inf), M


def _geodesics(X: Any, kind: str) -> tuple[Any, Any]:
    lengths, M = _edges(X, kind)
    scaled = np.where(np.isfinite(lengths), lengths / np.sqrt(np.outer(M, M)), 0.0)
    paths = floyd_warshall(scaled, directed=False)
    assert np.all(np.isfinite(paths))
    return paths, M


def _mds(G: Any, d: int) -> Any:
    values, U = la.eigh(G)
    return (U * np.sqrt(np.maximum(values, 0)))[:, ::-1][:, :d]


def _centred(P: Any) -> Any:
    H = np.eye(len(P)) - 1 / len(P)
    return -0.5 * H @ P**2 @ H


def _graph(X: Any, kind: str) -> Any:
    if kind == "given":
        lists = es.KNN(K).build(X).distances
        return sp.csr_array(lists)
    if kind == "pair":
        D = cdist(X, X)
        places = np.argsort(D, axis=1)[:, 1 : K + 1]
        return places, np.take_along_axis(D, places, axis=1)
    return {"union": es.KNN(K), "mutual": es.KNN(K, symmetry="mutual"), "radius": es.Radius(0.45)}[kind]


@pytest.mark.parametrize("kind", ["union", "mutual", "radius", "given", "pair"])
@pytest.mark.parametrize("seed", [0, 1])
def test_conformal_isomap_against_its_definition(kind, seed):
    X = _bowl(seed=seed)
    rule = kind if kind in ("mutual", "radius") else "union"
    paths, _ = _geodesics(X, rule)
    fitted = es.Isomap(3, graph=_graph(X, kind), conformal=True).fit(X)
    np.testing.assert_allclose(fitted.dist_matrix_, paths, atol=1e-9 * paths.max())
    assert_allclose_up_to_sign(fitted.embedding_, _mds(_centred(paths), 3), atol=1e-8)


def test_distances_and_the_kernel_form_use_the_same_rule():
    X = _bowl()
    paths, _ = _geodesics(X, "union")
    by_distances = es.Isomap(2, n_neighbors=K, graph="precomputed", conformal=True).fit(cdist(X, X))
    np.testing.assert_allclose(by_distances.dist_matrix_, paths, atol=1e-9 * paths.max())
    kernel = es.KernelIsomap(2, n_neighbors=K, conformal=True).fit(X)
    np.testing.assert_allclose(kernel.dist_matrix_, paths, atol=1e-9 * paths.max())


def test_conformal_landmarks_use_the_same_rule():
    X = _bowl()
    paths, _ = _geodesics(X, "union")
    chosen = np.arange(0, 120, 3)
    fitted = es.LandmarkIsomap(2, n_neighbors=K, conformal=True, landmarks=chosen).fit(X)
    np.testing.assert_allclose(fitted.map_.rows.geodesics, paths[:, chosen], atol=1e-6 * paths.max())


@pytest.mark.parametrize("kind", ["union", "radius"])
def test_new_points_of_conformal_isomap(kind):
    """M(x) is the mean over the list of x; x is joined to it and, of a k-NN graph, to the points that would take x into theirs."""
    X = _bowl()
    new = _bowl(15, seed=9)
    paths, M = _geodesics(X, kind)
    fitted = es.Isomap(3, graph=_graph(X, kind), conformal=True).fit(X)
    D, E = cdist(X, X), cdist(new, X)
    reach = np.sort(D, axis=1)[:, K]
    delta = np.empty_like(E)
    for i, row in enumerate(E):
        own = row <= 0.45 if kind == "radius" else np.isin(np.arange(len(X)), np.argsort(row)[:K])
        joined = own if kind == "radius" else own | (row < reach)
        scale = np.sqrt(row[own].mean() * M)
        delta[i] = (np.where(joined, row / scale, np.inf)[:, None] + paths).min(axis=0)
    S = paths**2
    Y, values = fitted.embedding_, fitted.eigenvalues_
    expected = -0.5 * (delta**2 - S.mean(axis=0)) @ Y / values
    np.testing.assert_allclose(fitted.transform(new), expected, atol=1e-8 * np.abs(Y).max())


def test_a_spanning_tree_alone_has_the_scale_of_its_edges():
    X = _bowl(60)
    fitted = es.Isomap(2, graph=es.MST(), conformal=True).fit(X)
    tree = es.MST().build(X).undirected().toarray()
    M = tree.sum(axis=1) / (tree > 0).sum(axis=1)
    paths = floyd_warshall(tree / np.sqrt(np.outer(M, M)), directed=False)
    np.testing.assert_allclose(fitted.dist_matrix_, paths, atol=1e-9 * paths.max())
