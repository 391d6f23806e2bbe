"""First fits without a compiler: the search in numpy, and the bridges between groups of points."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import cdist

import eigenspan
from eigenspan.numerics.factor.fill import predict_fill
from eigenspan.numerics.nearest import compiled_loops as nearest
from eigenspan.numerics.nearest import exact
from eigenspan.numerics.nearest import numpy_loops as plain
from eigenspan.numerics.nearest.closest_groups import Groups

Array = NDArray[np.float64]
Index = NDArray[np.intp]


def clusters(n: int, count: int, D: int, apart: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n + count)
    labels = np.concatenate([np.arange(count), rng.integers(count, size=n - count)])
    return apart * rng.standard_normal((count, D))[labels] + rng.standard_normal((n, D)), labels


RNG = np.random.default_rng(0)
SAMPLES = {
    "cloud": RNG.standard_normal((700, 12)),
    "clusters": clusters(900, 6, 20, 8.0)[0],
    "ties": RNG.integers(0, 2, size=(500, 10)).astype(float),
    "copies": np.repeat(RNG.standard_normal((90, 9)), 5, axis=0),
    "far from the origin": 1e6 + RNG.standard_normal((400, 15)),
    "one far away": np.vstack([RNG.standard_normal((300, 15)), np.full((1, 15), 1e25)]),
}


def by_brute_force(X: Array, queries: Array | None, k: int) -> tuple[Array, Index]:
    """Return the k nearest by distance, then by index; squares are summed in the order of the features, as in the search."""
    Q = X if queries is None else queries
    squares = np.zeros((len(Q), len(X)))
    for f in range(X.shape[1]):
        squares += (Q[:, f : f + 1] - X[:, f]) ** 2
    if queries is None:
        np.fill_diagonal(squares, np.inf)
    at = np.argsort(squares, axis=1, kind="stable")[:, :k]
    return np.sqrt(np.take_along_axis(squares, at, axis=1)), at


class Counted:
    """A module of loops that counts its calls."""

    def __init__(self, module: ModuleType) -> None:
        self.module, self.calls = module, Counter[str]()

    def __getattr__(self, name: str) -> Any:
        self.calls[name] += 1
        return getattr(self.module, name)


@pytest.mark.parametrize("module", [plain, nearest], ids=["numpy", "compiled"])
@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("among", [True, False])
@pytest.mark.every(2)
def test_numpy_and_compiled_loops_find_the_nearest(
    name: str, among: bool, module: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each set of loops is forced, because the search's own choice depends on the cache of compiled code."""
    X = SAMPLES[name]
    queries = None if among else X[::3] + 0.01
    loops = Counted(module)
    monkeypatch.setattr(exact, "_SMALL", 0.0)
    monkeypatch.setattr(exact, "_loops", lambda work: loops)
    monkeypatch.setattr(plain, "_SPARE", np.inf)  # above this number of pairs numpy leaves a tile to the compiled loop
    distances, indices = exact.BlockSearch(X).near(queries, 7)
    expected = by_brute_force(X, queries, 7)
    np.testing.assert_array_equal(distances, expected[0])
    np.testing.assert_array_equal(indices, expected[1])
    assert set(loops.calls) == {"keep_lowest", "measure", "sift"}


@pytest.mark.parametrize("module", [plain, nearest], ids=["numpy", "compiled"])
def test_keep_lowest_over_several_tiles(module: ModuleType) -> None:
    rng = np.random.default_rng(1)
    sums = rng.standard_normal((9, 31)).astype(np.float32)
    squares = rng.random(31).astype(np.float32)
    low, which = np.full((9, 6), np.inf, dtype=np.float32), np.full((9, 6), -1)
    for tile in (slice(0, 4), slice(4, 20), slice(20, 31)):  # the first has fewer columns than the lists
        module.keep_lowest(sums[:, tile], squares[tile], tile.start, low, which)
    np.testing.assert_array_equal(np.sort(which, axis=1), np.sort(np.argsort(sums + squares, axis=1)[:, :6], axis=1))
    np.testing.assert_array_equal(low, np.take_along_axis(sums + squares, which, axis=1))


def test_numpy_loops_measure_no_pair_twice_and_none_beyond_the_bound() -> None:
    """`sift` counts the pairs (without self-pairs) that pass its first bound, and those of them that are not in the lists."""
    rng = np.random.default_rng(2)
    points = rng.standard_normal((80, 3))
    queries, own, which = points[:10], np.arange(10), np.arange(5, 80)
    squares = cdist(queries, points, "sqeuclidean")
    values, indices = np.full((10, 4), np.inf), np.full((10, 4), 80)
    first = np.tile(np.arange(40), (10, 1))
    first[:, -1] = -1  # no candidate
    plain.measure(queries, points, first, own, values, indices)
    near = squares[:, :39].copy()
    near[own, own] = np.inf
    np.testing.assert_array_equal(indices, np.argsort(near, axis=1)[:, :4])
    scale = 2.0  # scale of the numbers from which bounds are computed
    sizes, sums = (scale**2 * np.einsum("ij,ij->i", M, M) for M in (queries, points[which]))
    products = (-2 * scale**2 * queries @ points[which].T).astype(np.float32)
    left = squares[:, which] <= values[:, -1:]
    left &= which != own[:, None]
    known = (indices[:, None] == which[:, None]).any(axis=2)
    nothing: Any = None  # further bounds, which only the compiled loop uses
    counts = plain.sift(
        products, sizes, sums.astype(np.float32), nothing, nothing, nothing, nothing, scale,
        points, which, queries, own, values, indices,
    )  # fmt: skip
    assert counts == (left.sum(), (left & ~known).sum())
    np.fill_diagonal(squares, np.inf)
    np.testing.assert_array_equal(indices, np.argsort(squares, axis=1)[:, :4])


def test_numpy_passes_many_pairs_to_the_compiled_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is set to zero pairs; the real limit is exceeded by clusters that are too tight for single precision."""
    X = SAMPLES["cloud"]
    monkeypatch.setattr(plain, "_SPARE", -5)
    loops = Counted(nearest)
    monkeypatch.setattr("eigenspan.numerics.nearest.compiled_loops", loops)
    monkeypatch.setattr(exact, "_SMALL", 0.0)
    monkeypatch.setattr(exact, "_loops", lambda work: plain)
    distances, indices = exact.BlockSearch(X).near(None, 5)
    assert loops.calls["sift"] > 0
    np.testing.assert_array_equal(indices, by_brute_force(X, None, 5)[1])
    np.testing.assert_array_equal(distances, by_brute_force(X, None, 5)[0])


def test_medium_searches_do_not_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    for compiled in (False, True):
        monkeypatch.setattr("eigenspan.numerics.jit.compiler.is_compiled", lambda loop, compiled=compiled: compiled)
        assert exact._loops(exact._MEDIUM) is (nearest if compiled else plain)
        assert exact._loops(1.001 * exact._MEDIUM) is nearest


@pytest.mark.parametrize(("n", "count", "D"), [(400, 7, 12), (500, 2, 9), (300, 40, 10), (60, 60, 9), (2300, 2, 9)])
def test_groups_are_connected_by_a_minimum_spanning_tree(n: int, count: int, D: int) -> None:
    X, labels = clusters(n, count, D, 2.0)
    groups = Groups.of(X + 1e4, labels)
    assert groups is not None
    edges = groups.bridges()
    E = cdist(X, X)
    between = np.array([[E[np.ix_(labels == a, labels == b)].min() for b in range(count)] for a in range(count)])
    assert len(edges) == count - 1
    assert sum(d for *_, d in edges) == pytest.approx(minimum_spanning_tree(between).sum(), rel=1e-9)
    i, j, d = (np.array(part) for part in zip(*edges, strict=True))
    np.testing.assert_allclose(d, E[i, j], rtol=1e-9)
    ends = sp.coo_array((d, (labels[i], labels[j])), shape=(count, count))
    assert sp.csgraph.connected_components(ends, directed=False)[0] == 1


def test_groups_with_distant_outliers_use_another_search() -> None:
    X, labels = clusters(200, 3, 9, 2.0)
    X[0] = 1e9
    assert Groups.of(X, labels) is None


def test_chains_of_groups_are_solved_by_iteration() -> None:
    """Their Laplacian has one tiny eigenvalue per group and then a gap: small separators do not slow the iteration down."""
    rng = np.random.default_rng(0)
    blocks = [sp.random_array((2000, 2000), density=0.006, random_state=rng, format="csr") for _ in range(4)]
    W = sp.block_diag(blocks, format="lil")
    for a in range(3):
        W[2000 * a, 2000 * (a + 1)] = 1.0
    W = sp.csr_array(W + W.T)
    fill = predict_fill(sp.csr_array(sp.diags_array(W.sum(axis=1)) - W))
    assert fill.separator <= 2
    assert fill.seconds_without < fill.seconds


SCRIPT = """
import warnings
import numpy as np
from eigenspan import LaplacianEigenmaps
from eigenspan.numerics.jit.compiler import loops
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = 6 * rng.standard_normal((4, 30))[rng.integers(4, size=6000)] + rng.standard_normal((6000, 30))
fitted = LaplacianEigenmaps().fit(X)
print(any(loop.signatures for loop in loops), fitted.diagnostics_["search"], fitted.diagnostics_["solver"], fitted.diagnostics_["bridges"])
"""


def test_a_first_fit_to_clusters_does_not_compile(tmp_path: Path) -> None:
    source = Path(eigenspan.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(source), "NUMBA_CACHE_DIR": str(tmp_path)},
        check=True,
    )
    assert done.stdout.split() == ["False", "exact", "Lanczos", "3"]
