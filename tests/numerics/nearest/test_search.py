"""Engines of the neighbour search against all distances, and their warnings."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import time
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from threadpoolctl import threadpool_limits

from eigenspan import KNN, LaplacianEigenmaps
from eigenspan._diagnostics import collect
from eigenspan.errors import GraphError, SearchWarning
from eigenspan.graphs import allies, rivals
from eigenspan.numerics import threads as thread_limits
from eigenspan.numerics.nearest import engines as search
from eigenspan.numerics.nearest import exact, frame, plan, tiles
from eigenspan.numerics.threads import in_threads, threads, workers
from helpers import cloud

ENGINES = {"tree": search.TreeSearch, "exact": search.BlockSearch, "hnsw": search.HnswSearch}


def nearest(E: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    order = np.argsort(E, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(E, order, axis=1), order


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make small problems use the code for large ones."""
    monkeypatch.setattr(exact, "_SMALL", 0.0)
    monkeypatch.setattr(exact, "_MEDIUM", 0.0)


# ---------------------------------------------------------------------- exact engines
@pytest.mark.parametrize("name", ["tree", "exact"])
@pytest.mark.parametrize("n, D, k", [(400, 3, 1), (400, 20, 7), (300, 70, 299), (30, 4, 25), (700, 5, 12)])
def test_engines_find_the_nearest(name: str, n: int, D: int, k: int, compiled: None) -> None:
    X, Z = cloud(n, D), cloud(50, D, seed=1)
    engine = ENGINES[name](X)
    E = cdist(X, X)
    np.fill_diagonal(E, np.inf)
    for found, expected in ((engine.near(None, k), nearest(E, k)), (engine.near(Z, k), nearest(cdist(Z, X), k))):
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-12)
        np.testing.assert_array_equal(found[1], expected[1])


def test_products_and_distances_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.round(cloud(600, 6), 1)  # a grid: many ties
    plain = search.BlockSearch(X).near(None, 9)
    monkeypatch.setattr(exact, "_SMALL", 0.0)
    products = search.BlockSearch(X).near(None, 9)
    np.testing.assert_array_equal(plain[1], products[1])
    np.testing.assert_allclose(plain[0], products[0], rtol=1e-12)


@pytest.mark.parametrize("offset", [0.0, 1e4, 1e7])
def test_far_from_the_origin(offset: float, compiled: None) -> None:
    X = cloud(500, 30) + offset
    found = search.BlockSearch(X).near(None, 6)
    E = cdist(X, X)
    np.fill_diagonal(E, np.inf)
    np.testing.assert_array_equal(found[1], nearest(E, 6)[1])


def test_clusters_too_tight_for_products_are_measured_by_differences(compiled: None) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((8, 20))[rng.integers(8, size=400)] + 1e-5 * rng.standard_normal((400, 20))
    with collect() as record:
        found = search.BlockSearch(X).near(None, 6)
    E = cdist(X, X)
    np.fill_diagonal(E, np.inf)
    np.testing.assert_array_equal(found[1], nearest(E, 6)[1])
    assert record["bounded"] > 40  # products do not separate the points of a cluster
    assert record["measured"] < 25


@pytest.mark.parametrize("n, k", [(40, 25), (34, 25), (35, 25)])
def test_few_points_are_found_despite_rounding(n: int, k: int, compiled: None) -> None:
    """Two clusters too tight for single precision: all points but a few, or all but one, are candidates; the wrong ones are excluded."""
    rng = np.random.default_rng(0)
    X, Z = (np.where(np.arange(n) % 2, 1.0, -1.0)[:, None] + 1e-8 * rng.standard_normal((n, 20)) for _ in range(2))
    E = cdist(X, X)
    np.fill_diagonal(E, np.inf)
    for found, expected in ((search.BlockSearch(X).near(None, k), E), (search.BlockSearch(X).near(Z, k), cdist(Z, X))):
        np.testing.assert_array_equal(found[1], nearest(expected, k)[1])


def test_bounds_with_one_near_and_many_tied_neighbours(compiled: None) -> None:
    """One point is near; the distances of points on a sphere about the query differ by less than single precision resolves."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 20))
    X *= (1 + 1e-9 * rng.permutation(400))[:, None] / np.linalg.norm(X, axis=1, keepdims=True)
    X[7] *= 0.01
    found = search.BlockSearch(X).near(np.zeros((3, 20)), 6)
    np.testing.assert_array_equal(found[1], nearest(cdist(np.zeros((3, 20)), X), 6)[1])


@pytest.fixture
def small_tiles(compiled: None, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"_POINTS": 40, "_SAMPLE": 20, "_WIDTH": 32, "_WORTHWHILE": 0}.items():
        monkeypatch.setattr(tiles, name, value)
    monkeypatch.setattr(exact, "_ROWS", 16)


@pytest.mark.parametrize("spread", [0.0, 1.0, 6.0, 1e3])
@pytest.mark.parametrize("offset", [0.0, 1e4])
@pytest.mark.every(3)
def test_skipped_tiles_contain_no_neighbour(spread: float, offset: float, small_tiles: None) -> None:
    rng = np.random.default_rng(3)
    member = rng.integers(12, size=1500)
    centres, Z = spread * rng.standard_normal((12, 15)), rng.standard_normal((90, 15)) * (1 + spread) + offset
    X = centres[member] + rng.standard_t(3, (1500, 15)) + offset  # with outliers, which lie in the outermost tiles
    X[::50] = X[1::50]
    engine = search.BlockSearch(X)
    with collect() as record:
        own = engine.near(None, 9)
    E = cdist(X, X)
    np.fill_diagonal(E, np.inf)
    for found, expected in ((own, nearest(E, 9)), (engine.near(Z, 9), nearest(cdist(Z, X), 9))):
        np.testing.assert_allclose(found[0], expected[0], atol=1e-12 * (1 + offset))
        assert np.mean(found[1] == expected[1]) > 0.995  # duplicates may be exchanged
    assert record["scanned"] <= (0.25 if spread > 100 else 1.0)


def test_a_tile_lies_between_two_spheres_about_its_centre(small_tiles: None) -> None:
    P = cloud(900, 6)
    made = tiles.Tiles.of(P)
    np.testing.assert_array_equal(np.sort(made.order), np.arange(900))
    lengths = np.linalg.norm(P, axis=1)
    bounds = made.bounds(
        made.to_centres(P[:40]), lengths[:40], np.maximum.reduceat(lengths[made.order], made.starts[:-1])
    )
    for t, start in enumerate(made.starts[:-1]):
        members = made.order[start : made.starts[t + 1]]
        r = np.linalg.norm(P[members] - made.centres[made.cell[t]], axis=1)
        np.testing.assert_allclose([r.min(), r.max()], [made.inner[t], made.outer[t]], atol=1e-6)
        assert np.all(bounds[:, t] <= cdist(P[:40], P[members]).min(axis=1) + 1e-6)


def hard(kind: str, rng: np.random.Generator) -> np.ndarray:
    """Return points of 60 features or more with most of their variance along a few axes."""
    X = rng.standard_normal((700, 60)) / np.arange(1, 61)
    if kind == "pixels":  # whole numbers: there is no rounding, and distances are tied
        return np.clip(np.round(6 * X), 0, 9)
    if kind == "copies":
        X[::3] = X[0]
    if kind == "outliers":
        X[:4] *= np.array([1e5, 1e12, 1e18, 1e40])[:, None]
    if kind == "scales":
        X *= 10.0 ** rng.integers(-12, 12, (700, 1))
    if kind == "constant":
        X[:, 5:9] = 3.0
    if kind == "tight":
        X = X[rng.integers(9, size=700)] + 1e-6 * X
    if kind == "wide":
        return np.hstack([X, np.zeros((700, 1200)), 0.01 * rng.standard_normal((700, 100))])
    return X * (1e-130 if kind == "tiny" else 1) + (1e6 if kind == "offset" else 0)


@pytest.mark.parametrize(
    "kind", ["pixels", "copies", "outliers", "scales", "constant", "tight", "wide", "tiny", "offset", "single"]
)
@pytest.mark.parametrize("p", [16, 48])
@pytest.mark.every(5)
def test_bounds_from_a_few_axes_exclude_no_neighbour(
    kind: str, p: int, small_tiles: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(1)
    X, Z = hard(kind, rng), hard(kind, rng)[:60]
    Z[:6] = [X[3], X[5], 1e9 * Z[2], -1e60 * Z[3], 1e-9 * Z[4], Z[5] + 1e4]
    if kind == "single":
        X, Z = X.astype(np.float32), Z.astype(np.float64)
    monkeypatch.setattr(frame, "_AXES", 30)  # a remainder beyond the axes too
    monkeypatch.setattr(exact, "Plan", Fixed(p))
    engine = search.BlockSearch(X)
    E = cdist(X.astype(float), X.astype(float), "sqeuclidean")
    np.fill_diagonal(E, np.inf)
    for k in (1, 9):
        for found, squares in (
            (engine.near(None, k), E),
            (engine.near(Z, k), cdist(Z, X.astype(float), "sqeuclidean")),
        ):
            expected = nearest(squares, k)
            np.testing.assert_array_equal(found[1], expected[1])
            np.testing.assert_array_equal(found[0], np.sqrt(expected[0]))


class Fixed:
    """Return a plan that always uses p axes."""

    def __init__(self, p: int) -> None:
        self.p = p

    def of(self, points: np.ndarray, m: int, k: int) -> plan.Plan:
        return plan.Plan(frame.Frame.of(points, turned=True), self.p, 0.0)


@pytest.mark.parametrize("rank, expected", [(3, 16), (60, 90)])
def test_number_of_axes_is_chosen_by_a_trial(rank: int, expected: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few axes are chosen if most of every distance lies along few axes, and all axes otherwise."""
    monkeypatch.setattr(plan, "_QUICK", 0.0)
    X = cloud(3000, rank) @ np.linalg.qr(cloud(90, 90, seed=5))[0][:rank] + 0.01 * cloud(3000, 90, seed=1)
    made = plan.Plan.of(X, 100_000, 5)
    assert made.p == expected if rank == 3 else made.p > 16
    assert made.seconds > 0


def test_layout_for_new_points_is_built_once(compiled: None) -> None:
    X, Z = cloud(500, 30), cloud(40, 30, seed=1)
    engine = search.BlockSearch(X)
    found = engine.near(Z, 4)
    first = engine.layout
    assert first is not None
    again = pickle.loads(pickle.dumps(engine))
    assert again.layout is None
    np.testing.assert_array_equal(engine.near(Z[:3], 4)[1], found[1][:3])
    assert engine.layout is first
    np.testing.assert_array_equal(again.near(Z, 4)[1], found[1])


@pytest.mark.parametrize("size", [1e-140, 7e-23, 1e-10, 1e25, 1e140])
def test_the_unit_of_length_does_not_matter(size: float, compiled: None) -> None:
    X = cloud(1200, 12)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found, expected = search.BlockSearch(X * size).near(None, 5), search.BlockSearch(X).near(None, 5)
    np.testing.assert_array_equal(found[1], expected[1])
    np.testing.assert_allclose(found[0], size * expected[0], rtol=1e-12)


@pytest.mark.parametrize("far", [1e2, 1e4, 1e8])
def test_one_far_row_does_not_slow_the_search(far: float, compiled: None) -> None:
    X = cloud(900, 30)
    X[0] *= far
    with collect() as record:
        found = search.BlockSearch(X).near(None, 6)
    E = cdist(X, X)
    np.fill_diagonal(E, np.inf)
    np.testing.assert_array_equal(found[1], nearest(E, 6)[1])
    assert record["measured"] < 50


@pytest.mark.parametrize("D", [3, 12])
@pytest.mark.parametrize("n", [200, 4000])
def test_distances_that_overflow_are_refused(n: int, D: int) -> None:
    X = cloud(n, D)
    with pytest.raises(GraphError, match="overflow"):
        KNN(10).build(X * 1e200)
    with pytest.raises(GraphError, match="overflow"):
        KNN(10).build(X).finder.relate(X[:5] * 1e200)


def test_few_new_points_use_no_tiles(small_tiles: None, monkeypatch: pytest.MonkeyPatch) -> None:
    X = cloud(900, 6)
    engine = search.BlockSearch(X)
    monkeypatch.setattr(tiles.Tiles, "of", None)
    np.testing.assert_array_equal(engine.near(X[:9] + 0.01, 3)[1], nearest(cdist(X[:9] + 0.01, X), 3)[1])
    with pytest.raises(TypeError):
        engine.near(None, 3)


def test_fewer_distinct_points_than_cells(small_tiles: None) -> None:
    X = cloud(8, 20)[np.random.default_rng(0).integers(8, size=900)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.all(search.BlockSearch(X).near(None, 4)[0] == 0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_can_search_too(small_tiles: None) -> None:
    X = cloud(900, 20)
    search.BlockSearch(X).near(None, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        search.BlockSearch(X).near(None, 4)
        os._exit(0)
    for _ in range(6000):
        if os.waitpid(child, os.WNOHANG)[0]:
            return
        time.sleep(0.1)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    pytest.fail("the child hangs")


def test_the_approximate_search_restores_the_thread_limit_of_its_library() -> None:
    faiss = pytest.importorskip("faiss")
    before = faiss.omp_get_max_threads()
    search.HnswSearch(cloud(600, 20), n_jobs=1).near(None, 4)
    assert faiss.omp_get_max_threads() == before


def test_leave_out_self() -> None:
    distances, indices = np.array([[0.0, 1, 2], [0, 0, 0]]), np.array([[4, 0, 3], [7, 8, 9]])
    kept, which = search.leave_out_self(distances, indices, np.array([0, 1]))
    # the last entry is dropped if duplicates displaced the point itself
    np.testing.assert_array_equal(which, [[4, 3], [7, 8]])
    np.testing.assert_array_equal(kept, [[0, 2], [0, 0]])


def test_few_pairs_of_scattered_points_are_measured(compiled: None) -> None:
    with collect() as record:
        search.BlockSearch(cloud(600, 30)).near(None, 6)
    assert record["measured"] < 30


@pytest.mark.parametrize("name", ["tree", "exact"])
def test_thousands_of_duplicates(name: str, compiled: None) -> None:
    X = cloud(5000, 12)
    X[:3000] = X[0]
    distances, indices = ENGINES[name](X).near(None, 5)
    assert np.all(distances[:3000] == 0)
    assert np.all(indices != np.arange(5000)[:, None])
    assert np.all(indices[:3000] < 3000)
    assert all(np.unique(row).size == 5 for row in indices[::97])


@pytest.mark.parametrize("name", ["tree", "exact"])
def test_results_do_not_depend_on_threads_or_on_other_queries(
    name: str, compiled: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(thread_limits, "blas_pools", list)
    X, Z = cloud(900, 9), cloud(300, 9, seed=1)
    one, two = ENGINES[name](X, 1), ENGINES[name](X, 2)
    for a, b in zip((*one.near(None, 8), *one.near(Z, 8)), (*two.near(None, 8), *two.near(Z, 8)), strict=True):
        np.testing.assert_array_equal(a, b)
    alone = one.near(Z[7:8], 8)
    np.testing.assert_array_equal(alone[0][0], two.near(Z, 8)[0][7])


def test_single_precision_points() -> None:
    X = cloud(300, 20).astype(np.float32)
    found = search.BlockSearch(X).near(None, 5)
    E = cdist(X.astype(float), X.astype(float))
    np.fill_diagonal(E, np.inf)
    np.testing.assert_array_equal(found[1], nearest(E, 5)[1])


@pytest.mark.parametrize("small, plain", [(9000, True), (8999, False)])
def test_many_small_searches_count_as_one_large_search(
    small: int, plain: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Thirty searches of ten classes: whether compiled loops pay off depends on their total cost."""
    X, codes = cloud(300, 20), np.arange(300) % 10
    E = cdist(X, X)
    np.fill_diagonal(E, np.inf)
    monkeypatch.setattr(exact, "_SMALL", exact.cost(small, 1, 20))
    unused = "_by_bounds" if plain else "_by_distances"
    monkeypatch.setattr(exact, unused, lambda *args: pytest.fail(unused))
    found = allies(X, codes, 4).distances
    np.testing.assert_array_equal(
        found.indices.reshape(300, 4), np.sort(nearest(np.where(codes[:, None] == codes, E, np.inf), 4)[1], axis=1)
    )
    monkeypatch.setattr(exact, "_SMALL", exact.cost(small * 9, 1, 20))
    found = rivals(X, codes, 4).distances
    np.testing.assert_array_equal(
        found.indices.reshape(300, 4), np.sort(nearest(np.where(codes[:, None] != codes, E, np.inf), 4)[1], axis=1)
    )


# ---------------------------------------------------------------------- choice
def engine_for(X: Any, **settings: Any) -> str:
    return KNN(5, **settings).build(X).finder.engine.name


def test_choice_by_metric_and_dimension(monkeypatch: pytest.MonkeyPatch) -> None:
    assert engine_for(cloud(200, 3)) == "tree"
    assert engine_for(cloud(2000, 14)) == "exact"
    flat = cloud(2000, 2) @ cloud(2, 14, seed=3)
    assert engine_for(flat) == "tree"
    assert engine_for(cloud(200, 40)) == "exact"
    assert engine_for(cloud(200, 3), metric="manhattan") == "sklearn"
    assert engine_for(sp.csr_array(cloud(200, 3))) == "sklearn"
    assert engine_for(cloud(200, 3), search="exact") == "exact"
    monkeypatch.setattr(search, "_PATIENCE", 1e-6)
    monkeypatch.setattr(search, "_approximate", lambda n, D: 0.0)
    monkeypatch.setattr(search, "find_spec", lambda name: None)
    with pytest.warns(SearchWarning, match=r"eigenspan\[ann\]"):
        assert engine_for(cloud(200, 40)) == "exact"


@pytest.mark.parametrize("m", [1, 2, 4, 7])
def test_intrinsic_dimension(m: int) -> None:
    X = np.random.default_rng(0).random((3000, m)) @ np.linalg.qr(cloud(15, 15))[0][:m]
    assert 0.75 * m < search._intrinsic_dimension(X) < 1.25 * m
    assert search._intrinsic_dimension(np.ones((50, 4))) == 0
    assert search._intrinsic_dimension(X[:2]) == 0


def test_unsuitable_searches_are_refused() -> None:
    with pytest.raises(GraphError, match='"hnsw"'):
        KNN(5, search="magic").build(cloud(400, 20))
    with pytest.raises(GraphError, match="Euclidean"):
        KNN(5, search="tree", metric="cosine").build(cloud(400, 20))


def test_missing_backend_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(GraphError, match=r'pip install "eigenspan\[ann\]"'):
        KNN(5, search="hnsw").build(cloud(400, 20))


def test_the_choice_is_in_the_diagnostics() -> None:
    assert LaplacianEigenmaps(n_neighbors=8).fit(cloud(200, 3)).diagnostics_["search"] == "tree"


# ---------------------------------------------------------------------- approximate
def test_approximate_neighbours_report_their_recall(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("faiss")
    monkeypatch.setattr(search, "_approximate", lambda n, D: 0.0)
    X = cloud(3000, 25)
    with collect() as record:
        graph = KNN(8).build(X)
    assert graph.finder.engine.name == "hnsw" == record["search"]
    assert record["recall"] > 0.99
    truth = search.BlockSearch(X).near(None, 8)[1]
    hits = np.mean(
        [np.intersect1d(a, b).size for a, b in zip(truth, graph.finder.engine.near(None, 8)[1], strict=True)]
    )
    assert hits / 8 == pytest.approx(record["recall"], abs=0.01)
    again = pickle.loads(pickle.dumps(graph.finder)).relate(X[:20] + 0.01)
    np.testing.assert_array_equal(again.indices, graph.finder.relate(X[:20] + 0.01).indices)


def test_low_recall_warns() -> None:
    """Searches in a navigable graph fail among many duplicates."""
    pytest.importorskip("faiss")
    X = cloud(5000, 12)
    X[:3000] = X[0]
    with pytest.warns(SearchWarning, match=r"found \d+\.\d% of the true neighbours"):
        distances, indices = search.HnswSearch(X).near(None, 5)
    assert np.all(indices >= 0)
    assert np.all(indices != np.arange(5000)[:, None])
    np.testing.assert_allclose(distances, np.linalg.norm(X[indices] - X[:, None], axis=2))


def test_incomplete_lists_of_the_navigable_graph_are_searched_again(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("faiss")
    X, Z = cloud(400, 20), cloud(30, 20, seed=1)
    engine = search.HnswSearch(X)
    whole = engine.index

    class Short:
        def search(self, queries: Any, k: int) -> Any:
            distances, which = whole.search(queries, k)
            which[3, 1:] = -1
            return distances, which

    monkeypatch.setattr(search.HnswSearch, "index", Short())
    E = cdist(X, X)
    np.fill_diagonal(E, np.inf)
    np.testing.assert_array_equal(engine.near(None, 5)[1][3], nearest(E, 5)[1][3])
    np.testing.assert_array_equal(engine.near(Z, 5)[1][3], nearest(cdist(Z, X), 5)[1][3])


# ---------------------------------------------------------------------- threads
def test_workers_respects_every_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread_limits.os, "sched_getaffinity", lambda pid: set(range(8)), raising=False)
    with threadpool_limits(1, user_api="blas"):
        assert workers() == 1 == workers(2)
    monkeypatch.setattr(thread_limits, "blas_pools", list)
    assert [workers(n) for n in (None, 1, 3, 1000, -1, -3, -100)] == [8, 1, 3, 8, 8, 6, 1]
    with threads(4):
        assert [workers(n) for n in (None, 3, 1000, -1)] == [4, 3, 4, 4]


def test_n_jobs_of_an_estimator_limits_every_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread_limits, "blas_pools", list)
    monkeypatch.setattr(thread_limits.os, "sched_getaffinity", lambda pid: set(range(8)), raising=False)
    seen = []

    class Spy(KNN):
        def build(self, X: Any, codes: Any = None) -> Any:
            seen.append(workers())
            return super().build(X, codes)

    for jobs in (None, 3):
        LaplacianEigenmaps(graph=Spy(5), n_jobs=jobs).fit(cloud(60, 3))
    assert seen == [8, 3]


def test_no_thread_outlives_an_interrupt() -> None:
    before = threading.active_count()
    begun = []

    def work(item: int) -> None:
        begun.append(item)
        time.sleep(0.002)
        if item == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        in_threads(work, range(60_000), 2)  # a minute, if nothing stopped it
    assert threading.active_count() == before
    assert len(begun) < 60_000
    assert in_threads(lambda i: i * i, range(5), 2) == [0, 1, 4, 9, 16]


@pytest.mark.parametrize("metric", ["seuclidean", "mahalanobis"])
def test_metrics_that_need_parameters_are_refused_with_advice(metric: str) -> None:
    with pytest.raises(GraphError, match="pass a function of two rows"):
        KNN(4, metric=metric).build(cloud(60, 5))
