"""What a first fit does without a compiler: the search in numpy, and the connection of groups of points."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import cdist

import eigenspan
from eigenspan.graphs.search import exact
from eigenspan.graphs.search.closest import Groups
from eigenspan.solvers.fill import predict_fill


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


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("among", [True, False])
def test_numpy_and_compiled_loops_find_the_same(name: str, among: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    X = SAMPLES[name]
    queries = None if among else X[::3] + 0.01
    monkeypatch.setattr(exact, "_SMALL", 0.0)
    found = {}
    for most in (np.inf, -1.0):
        monkeypatch.setattr(exact, "_MEDIUM", most)
        found[most] = exact.BlockSearch(X).near(queries, 7)
    for plain, compiled in zip(*found.values(), strict=True):
        np.testing.assert_array_equal(plain, compiled)


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


def test_groups_leave_points_far_beyond_all_others_to_other_searches() -> None:
    X, labels = clusters(200, 3, 9, 2.0)
    X[0] = 1e9
    assert Groups.of(X, labels) is None


def test_groups_on_a_string_are_left_to_an_iteration() -> None:
    """Their Laplacian has a tiny eigenvalue for each group, and then none: the thin necks do not make an iteration slow."""
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
from eigenspan.compiled.jit import loops
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = 6 * rng.standard_normal((4, 30))[rng.integers(4, size=6000)] + rng.standard_normal((6000, 30))
fitted = LaplacianEigenmaps().fit(X)
print(any(loop.signatures for loop in loops), fitted.diagnostics_["search"], fitted.diagnostics_["solver"], fitted.diagnostics_["bridges"])
"""


def test_a_first_fit_to_clusters_waits_for_no_compiler(tmp_path: Path) -> None:
    source = Path(eigenspan.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(source), "NUMBA_CACHE_DIR": str(tmp_path)},
        check=True,
    )
    assert done.stdout.split() == ["False", "exact", "Lanczos", "3"]
