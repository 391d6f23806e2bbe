"""Compiled loops against numpy: the same numbers, on one thread or two."""

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import dijkstra
from scipy.spatial.distance import pdist

from eigenspan.graphs import KNN, geodesic_distances
from eigenspan.graphs.neighbours.geodesics import _SMALL
from eigenspan.graphs.weights import reconstruction_weights as barycentric
from eigenspan.numerics import small_matrices as factors
from eigenspan.numerics import threads as thread_limits
from eigenspan.numerics.jit import in_pieces
from eigenspan.numerics.nearest.pair_counts import pair_histogram
from eigenspan.numerics.paths.first_steps import first_steps
from eigenspan.numerics.paths.shortest_paths import ShortestPaths
from eigenspan.numerics.ranks import order_rows, tally_rows
from eigenspan.numerics.threads import threads, workers
from eigenspan.problem.extensions import gram as gram_module
from eigenspan.problem.forms import local_alignment as alignment
from eigenspan.quality import coranking
from eigenspan.quality._ranks import area_weights, tally


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
    """Return a cycle with unit edges, except one."""
    lengths = np.ones(n)
    lengths[0] = long
    ends = (np.arange(n), (np.arange(n) + 1) % n)
    half = sp.coo_array((lengths, ends), shape=(n, n))
    return sp.csr_array(half + half.T)


def clouds(seed: int) -> sp.csr_array:
    X = np.random.default_rng(seed).standard_normal((150, 3))
    return KNN(6).build(X).undirected()


def copies() -> sp.csr_array:
    """Return a graph with every point twice: edges of length zero."""
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


@pytest.mark.parametrize("together", [1, 3, 32])
@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.every(3)
def test_shortest_paths_against_bellman_ford(name: str, together: int) -> None:
    graph = GRAPHS[name]
    sources = np.arange(graph.shape[0])
    found = ShortestPaths(graph, together=together)(sources)
    np.testing.assert_allclose(found, bellman_ford(graph, sources), rtol=1e-14)


@pytest.mark.parametrize("together", [1, 2, 32])
def test_sources_in_any_order_and_repeated(together: int) -> None:
    graph = clouds(0)
    sources = np.array([17, 3, 3, 149, 0])
    found = ShortestPaths(graph, together=together)(sources)
    np.testing.assert_allclose(found, bellman_ford(graph, sources), rtol=1e-14)


@pytest.mark.parametrize("dimension", [2, 10])
def test_grouped_sources_have_the_distances_of_separate_runs(dimension: int) -> None:
    """Distances agree bit for bit: the sum along the best path does not depend on the order of the search."""
    X = np.random.default_rng(dimension).random((600, dimension))
    graph = KNN(8).build(X).undirected()
    sources = np.arange(0, 600, 7)
    alone = dijkstra(graph, indices=sources)
    for together in (1, 8, 30):
        np.testing.assert_array_equal(ShortestPaths(graph, together=together)(sources), alone)
        table = np.empty((600, sources.size), dtype=np.float32)
        ShortestPaths(graph, together=together).into(table, sources)
        np.testing.assert_array_equal(table, alone.T.astype(np.float32))


def test_large_graphs_use_the_compiled_loop_with_the_same_distances() -> None:
    X = np.random.default_rng(2).standard_normal((1100, 2))
    graph = KNN(12).build(X).undirected()
    assert graph.shape[0] ** 2 > _SMALL
    few = np.arange(20)
    np.testing.assert_allclose(geodesic_distances(graph)[few], geodesic_distances(graph, few), rtol=1e-14)


# ---------------------------------------------------------------------- threads and pieces
def test_in_pieces_covers_the_range_once() -> None:
    for jobs in (1, 2):
        for n, step in ((10, 3), (9, 3), (1, 5), (0, 4)):
            found: list[tuple[int, int]] = []
            with threads(jobs):
                in_pieces(lambda start, stop, out: out.append((start, stop)), n, step, found)
            assert sorted(found) == [(i, min(i + step, n)) for i in range(0, n, step)]


def used_threads() -> int:
    """Check that each item waits until as many threads as allowed have started."""
    seen: set[int] = set()
    barrier = threading.Barrier(workers(), timeout=600)

    def kernel(start: int, stop: int) -> None:
        seen.add(threading.get_ident())
        barrier.wait()

    in_pieces(kernel, 6 * workers(), 1)
    return len(seen)


def test_threads_limits_the_loops_and_restores_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread_limits, "blas_pools", list)
    monkeypatch.setattr(thread_limits.os, "sched_getaffinity", lambda pid: {0, 1, 2}, raising=False)
    everything = workers()
    assert used_threads() == everything == 3
    with threads(1):
        assert used_threads() == 1
        with threads(2):  # the outer limit applies
            assert used_threads() == 1
    with threads(2):
        assert used_threads() == 2
    with threads(-10_000):
        assert workers() == 1
    assert workers() == everything


def test_an_error_in_a_thread_is_raised_and_the_rest_is_cancelled() -> None:
    done: list[int] = []

    def kernel(start: int, stop: int) -> None:
        if start == 0:
            raise KeyboardInterrupt
        done.append(start)

    before = threading.active_count()
    for jobs in (1, 2):
        done.clear()
        with threads(jobs), pytest.raises(KeyboardInterrupt):
            in_pieces(kernel, 1_000_000, 1)
        assert len(done) < 1_000_000
        assert threading.active_count() == before


# ---------------------------------------------------------------------- small factorisations
def symmetric_matrices() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    out = {}
    for m in (1, 2, 3, 13, 30):
        A = rng.standard_normal((m, m))
        out[f"dense {m}"] = A + A.T
        out[f"rank two {m}"] = A[:, :2] @ A[:, :2].T
        out[f"diagonal {m}"] = np.diag(A[0])
        out[f"graded {m}"] = (A * np.logspace(0, -8, m)) @ (A * np.logspace(0, -8, m)).T
    return {**out, "zero": np.zeros((5, 5)), "identity": np.eye(6), "far away": 1e100 * out["dense 3"]}


@pytest.mark.parametrize("name", symmetric_matrices())
def test_eigenpairs_of_a_small_matrix(name: str) -> None:
    A = symmetric_matrices()[name]
    m, size = A.shape[0], max(np.abs(A).max(), 1e-300)
    Q, values = A.copy(), np.empty(m)
    factors.symmetric_pairs(Q, values, np.empty(m))
    np.testing.assert_allclose(values / size, np.linalg.eigvalsh(A)[::-1] / size, atol=1e-14 * m)
    np.testing.assert_allclose(Q @ Q.T, np.eye(m), atol=1e-14 * m)
    np.testing.assert_allclose((Q.T * values) @ Q / size, A / size, atol=1e-14 * m)


@pytest.mark.parametrize("scales", [[1, 1, 1], [1, 0.3, 1e-6], [1, 1e-9, 0], [0, 0, 0], [1e-90, 1e-91, 1e-93]])
def test_principal_rows_are_singular_vectors(scales: list[float]) -> None:
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((9, 3)))[0]
    X = (Q * scales) @ np.linalg.qr(rng.standard_normal((3, 3)))[0]
    A = X.T.copy()
    squares = factors.principal_rows(A)
    s = np.linalg.svd(X, compute_uv=False)
    np.testing.assert_allclose(np.sqrt(squares), s, rtol=1e-12, atol=1e-15 * s[0])
    real = squares > 1e-20 * squares[0]
    U = A[real] / np.sqrt(squares[real])[:, None]
    np.testing.assert_allclose(U @ U.T, np.eye(real.sum()), atol=1e-14)
    np.testing.assert_allclose(U.T @ (U @ X), X, atol=1e-15 * max(s[0], 1e-300) * 10)


# ---------------------------------------------------------------------- local models
def ragged(X: np.ndarray, k: int = 8) -> sp.csr_array:
    """Return neighbour lists of many lengths, one of them empty."""
    graph = KNN(k).build(X).undirected().tolil()
    graph[17] = 0
    return sp.csr_array(graph)


def models() -> dict[str, tuple[np.ndarray, sp.csr_array]]:
    rng = np.random.default_rng(0)
    sheet = rng.standard_normal((300, 3)) * [1, 1, 0.1]
    wide = sheet @ np.linalg.qr(rng.standard_normal((40, 3)))[0].T + 0.01 * rng.standard_normal((300, 40))
    middling = rng.standard_normal((300, 9))
    copies = np.repeat(sheet[:60], 5, axis=0)
    heap = np.vstack([sheet[:200], np.tile(sheet[0], (30, 1))])
    return {
        "sheet": (sheet, KNN(12).build(sheet).distances),
        "wide": (wide, KNN(12).build(wide).distances),
        "more neighbours than features": (middling, KNN(20).build(middling).distances),
        "unequal": (sheet, ragged(sheet)),
        "unequal and wide": (wide, ragged(wide)),
        "copies": (copies, KNN(12).build(copies).distances),
        "a heap of copies": (heap, KNN(12).build(heap).distances),
        "far away": (sheet + 1e5, KNN(12).build(sheet).distances),
        "tiny": (sheet * 1e-60, KNN(12).build(sheet).distances),
        "column major": (np.asfortranarray(sheet), KNN(12).build(sheet).distances),
        "single precision": (sheet.astype(np.float32), KNN(12).build(sheet).distances),
    }


MODELS = models()
FORMS = {
    "tangent": lambda X, graph: alignment.tangent_alignment(X, graph, 2),
    "hessian": lambda X, graph: alignment.hessian_alignment(X, graph, 2),
    "modified": lambda X, graph: alignment.modified_alignment(X, graph, 2),
}


def both(monkeypatch: pytest.MonkeyPatch, module: Any, work: Callable[[], Any]) -> tuple[Any, Any]:
    """Make the same call below and above the crossover."""
    monkeypatch.setattr(module, "_SMALL", np.inf)
    small = work()
    monkeypatch.setattr(module, "_SMALL", -1)
    return small, work()


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.every(3)
def test_compiled_alignment_is_that_of_numpy(form: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, graph = MODELS[name]
    small, large = both(monkeypatch, alignment, lambda: FORMS[form](X, graph).sparse)
    size = np.abs(small.toarray()).max()
    np.testing.assert_allclose(large.toarray(), small.toarray(), atol=1e-11 * size)
    assert large.has_sorted_indices
    assert large.has_canonical_format
    assert large.indices.dtype == np.int32
    assert (large != large.T).nnz == 0


def test_the_median_point_does_not_depend_on_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of an odd number of points, one has the median itself, which is the threshold of modified LLE."""
    for seed in range(30):
        X = np.random.default_rng(seed).standard_normal((51, 20)) * np.linspace(1, 0.1, 20)
        graph = KNN(8).build(X).distances
        small, large = both(monkeypatch, alignment, lambda X=X, graph=graph: FORMS["modified"](X, graph).sparse)
        np.testing.assert_allclose(large.toarray(), small.toarray(), atol=1e-11 * np.abs(small.toarray()).max())


@pytest.mark.parametrize("name", MODELS)
def test_compiled_weights_are_those_of_numpy(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, graph = MODELS[name]
    for reg in (1e-3, 1.0):
        small, large = both(
            monkeypatch, barycentric, lambda reg=reg: barycentric.reconstruction_weights(X, graph, reg=reg)
        )
        np.testing.assert_allclose(large.data, small.data, atol=1e-11 * max(1.0, np.abs(small.data).max()))
        np.testing.assert_array_equal(large.indices, small.indices)


def test_compiled_weights_of_other_targets(monkeypatch: pytest.MonkeyPatch) -> None:
    X, _ = MODELS["sheet"]
    new = np.vstack([X[:3], np.random.default_rng(1).standard_normal((40, 3))])
    graph = KNN(6).build(X).finder.relate(new)
    small, large = both(monkeypatch, barycentric, lambda: barycentric.reconstruction_weights(X, graph, targets=new))
    np.testing.assert_allclose(large.toarray(), small.toarray(), atol=1e-11)


def test_tiny_ridges_and_sparse_points_use_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    X, graph = MODELS["sheet"]
    for points, reg in ((X, 0.0), (X, 1e-14), (sp.csr_array(X), 1e-3)):
        work = lambda points=points, reg=reg: barycentric.reconstruction_weights(points, graph, reg=reg)  # noqa: E731
        small, large = both(monkeypatch, barycentric, work)
        np.testing.assert_array_equal(large.data, small.data)


# ---------------------------------------------------------------------- pairs, ranks and steps
def distances_by_bin(X: np.ndarray, edges: np.ndarray) -> np.ndarray:
    return np.histogram(pdist(X), bins=edges)[0]


@pytest.mark.parametrize("scale", [1.0, 1e-12, 1e12])
@pytest.mark.parametrize("n, D", [(2, 1), (400, 3), (1500, 10)])
def test_pair_histogram_against_all_distances(n: int, D: int, scale: float) -> None:
    X = scale * (np.random.default_rng(n).standard_normal((n, D)) + 7.0)
    edges, counts = pair_histogram(X)
    assert counts.sum() == n * (n - 1) // 2
    assert counts[0] == 0
    assert counts[1] > 0
    assert counts[-1] > 0
    assert edges[0] == 0
    assert np.all(np.diff(edges) > 0)
    assert np.all(edges[2:] / edges[1:-1] < 1.07)
    nearly = 1e-5  # distances this close to an edge may fall on either side of it
    low, high = (np.cumsum(distances_by_bin(X * (1 + e), edges)) for e in (nearly, -nearly))
    assert np.all(low[:-1] <= np.cumsum(counts)[:-1])
    assert np.all(np.cumsum(counts)[:-1] <= high[:-1])


def test_pair_histogram_of_duplicates_and_of_exact_distances() -> None:
    X = np.repeat(np.array([[0.0], [1.0], [2.0]]), 2, axis=0)
    edges, counts = pair_histogram(X)
    assert counts[0] == 3
    assert counts[np.searchsorted(edges, 1.0, side="right") - 1] == 8
    assert counts[np.searchsorted(edges, 2.0, side="right") - 1] == 4
    assert counts.sum() == 15
    edges, counts = pair_histogram(np.ones((5, 2)))
    assert counts.tolist() == [10, 0]
    assert pair_histogram(np.ones((1, 2)))[1].sum() == 0


@pytest.mark.parametrize("values", [30, 2**60])
def test_orders_of_rows_against_sorting(values: int) -> None:
    rng = np.random.default_rng(0)
    D = rng.integers(0, values, (50, 80)) / 7.0  # few values: many ties, including zeros
    D[3], D[4, ::2] = 0.0, -0.0
    own = rng.integers(0, 80, 50)
    before, first = D.copy(), D.copy()
    first[np.arange(50), own] = -1.0
    np.testing.assert_array_equal(order_rows(D, own), np.argsort(first, axis=1, kind="stable"))
    np.testing.assert_array_equal(D, before)


@pytest.mark.parametrize("k", [1, 5, 28])
@pytest.mark.parametrize("curve", [False, True])
def test_tallies_of_ranks_against_numpy(k: int, curve: bool) -> None:
    rng = np.random.default_rng(k)
    first = np.array([np.insert(rng.permutation(29) + 1, i, 0) for i in range(20)], np.int32)
    order = np.array([np.insert(rng.permutation(np.delete(np.arange(30), i)), 0, i) for i in range(20)])
    found = []
    for count in (tally, tally_rows):
        counts, squares, rows = np.zeros((5, 30), np.int64), np.zeros(30 * curve, np.int64), np.zeros((20, 4))
        count(first, order, k, area_weights(30, 28), counts, squares, rows)
        found.append((counts, squares, rows))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13)


class Rows:
    """Distances that are only available row by row."""

    def __init__(self, D: np.ndarray) -> None:
        self.D, self.shape = D, D.shape

    def __getitem__(self, rows: np.ndarray) -> np.ndarray:
        return self.D[np.asarray(rows)]


@pytest.mark.parametrize("wrap", [np.asarray, np.asfortranarray, Rows])
def test_first_steps_against_numpy(wrap: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    distances = rng.random((60, 25))
    lengths = rng.random((40, 60)) * (rng.random((40, 60)) < 0.1)
    lengths[:, 3] = 1e-3
    steps = sp.csr_array(lengths)
    work = lambda: gram_module._first_steps(steps, steps.data, wrap(distances))  # noqa: E731
    small, large = both(monkeypatch, gram_module, work)
    np.testing.assert_array_equal(large, small)
    monkeypatch.setattr(gram_module, "_BLOCK_BYTES", 8 * 25 * 20)
    np.testing.assert_array_equal(work(), small)


# ---------------------------------------------------------------------- determinism
def large_form(form: str) -> Callable[[], Any]:
    X = np.random.default_rng(3).standard_normal((4000, 3)) * [1, 1, 0.2]
    graph = KNN(10).build(X).distances
    return lambda: FORMS[form](X, graph).sparse.data


def large_weights() -> Callable[[], Any]:
    X = np.random.default_rng(3).standard_normal((15_000, 3))
    graph = KNN(10).build(X).distances
    return lambda: barycentric.reconstruction_weights(X, graph).data


def many_paths() -> Callable[[], Any]:
    graph = KNN(8).build(np.random.default_rng(0).random((3000, 2))).undirected()
    return lambda: ShortestPaths(graph, together=8)(np.arange(200))


def many_pairs() -> Callable[[], Any]:
    X = np.random.default_rng(0).random((3000, 4))
    return lambda: pair_histogram(X)[1]


def many_ranks() -> Callable[[], Any]:
    X = np.random.default_rng(0).random((2500, 3))
    return lambda: coranking(X, X[:, :2]).r_nx


def many_steps() -> Callable[[], Any]:
    D, starts = np.random.default_rng(0).random((500, 5000)), np.arange(0, 10_001, 10)
    return lambda: first_steps(starts, np.arange(10_000) % 500, np.arange(10_000.0), D)


SEVERAL_PIECES: dict[str, Callable[[], Callable[[], Any]]] = {
    "paths": many_paths,
    "weights": large_weights,
    **{form: partial(large_form, form) for form in FORMS},
    "pairs": many_pairs,
    "ranks": many_ranks,
    "steps": many_steps,
}


@pytest.mark.parametrize("name", SEVERAL_PIECES)
@pytest.mark.every(2)
def test_results_do_not_depend_on_the_number_of_threads(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (alignment, barycentric):
        monkeypatch.setattr(module, "_SMALL", -1)
    monkeypatch.setattr(thread_limits, "blas_pools", list)  # the limit that the tests put on the linear algebra
    monkeypatch.setattr(thread_limits.os, "sched_getaffinity", lambda pid: {0, 1}, raising=False)
    work = SEVERAL_PIECES[name]()
    pieces: list[Any] = []

    def submit(pool: Any, *args: Any) -> Any:
        pieces.append(args)
        return plain(pool, *args)

    plain = thread_limits.ThreadPoolExecutor.submit
    monkeypatch.setattr(thread_limits.ThreadPoolExecutor, "submit", submit)
    with threads(1):
        one = work()
    assert not pieces
    with threads(2):
        two = work()
    assert pieces  # some items ran on threads other than the calling thread
    np.testing.assert_array_equal(one, two)
