"""Compiled loops against plain numpy twins: the same numbers, on one thread or two."""

import numba
import numpy as np
import pytest
import scipy.sparse as sp

from eigenspan.compiled.paths import shortest_paths
from eigenspan.graphs import KNN, geodesic_distances
from eigenspan.graphs.geodesics import _SMALL


def bellman_ford(graph: sp.csr_array, sources: np.ndarray) -> np.ndarray:
    """Relax every edge until nothing changes."""
    edges = graph.tocoo()
    out = np.full((len(sources), graph.shape[0]), np.inf)
    for dist, source in zip(out, sources, strict=True):
        dist[source] = 0.0
        for _ in range(graph.shape[0]):
            before = dist.copy()
            np.minimum.at(dist, edges.col, before[edges.row] + edges.data)
            if np.array_equal(before, dist):
                break
    return out


def ring(n: int, long: float = 1.0) -> sp.csr_array:
    """A cycle with unit edges, but for one."""
    lengths = np.ones(n)
    lengths[0] = long
    ends = (np.arange(n), (np.arange(n) + 1) % n)
    half = sp.coo_array((lengths, ends), shape=(n, n))
    return sp.csr_array(half + half.T)


def clouds(seed: int) -> sp.csr_array:
    X = np.random.default_rng(seed).standard_normal((150, 3))
    return KNN(6).build(X).undirected()


def copies() -> sp.csr_array:
    """Every point twice: edges of length zero."""
    X = np.repeat(np.random.default_rng(0).standard_normal((40, 2)), 2, axis=0)
    return KNN(5).build(X).undirected()


def islands() -> sp.csr_array:
    return sp.csr_array(sp.block_diag([ring(7), ring(5), sp.csr_array((1, 1))]))


GRAPHS = {
    **{f"cloud {seed}": clouds(seed) for seed in range(4)},
    "copies": copies(),
    "islands": islands(),
    "ring": ring(60),
    "one edge a million times longer": ring(60, 1e6),
    "one edge a million times shorter": ring(60, 1e-6),
    "only zeros": sp.csr_array((np.zeros(4), ([0, 1, 1, 2], [1, 0, 2, 1])), shape=(3, 3)),
    "a single point": sp.csr_array((1, 1)),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_shortest_paths_against_bellman_ford(name: str) -> None:
    graph = GRAPHS[name]
    sources = np.arange(graph.shape[0])
    np.testing.assert_allclose(shortest_paths(graph, sources), bellman_ford(graph, sources), rtol=1e-14)


def test_sources_may_come_in_any_order_and_twice() -> None:
    graph = clouds(0)
    sources = np.array([17, 3, 3, 149, 0])
    np.testing.assert_allclose(shortest_paths(graph, sources), bellman_ford(graph, sources), rtol=1e-14)


def test_the_same_on_one_thread_and_on_two() -> None:
    graph, sources = clouds(1), np.arange(150)
    threads = numba.get_num_threads()
    try:
        numba.set_num_threads(1)
        one = shortest_paths(graph, sources)
    finally:
        numba.set_num_threads(threads)
    np.testing.assert_array_equal(one, shortest_paths(graph, sources))


def test_large_graphs_take_the_compiled_way_and_get_the_same_distances() -> None:
    X = np.random.default_rng(2).standard_normal((1100, 2))
    graph = KNN(12).build(X).undirected()
    assert graph.shape[0] ** 2 > _SMALL
    few = np.arange(20)
    np.testing.assert_allclose(geodesic_distances(graph)[few], geodesic_distances(graph, few), rtol=1e-14)
