"""Neighbour graphs and eigenproblems on a cluster: what one process finds is what many do."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.neighbors import NearestNeighbors

from eigenspan import KNN, PCA, PPCA, Heat, LaplacianEigenmaps
from eigenspan.data.rows import wide_scatter
from eigenspan.data.rows.cluster import Here
from eigenspan.errors import DisconnectedError, InputError
from eigenspan.graphs.distributed.cells import Cells
from eigenspan.graphs.distributed.laplacian_products import SpreadMatrix, spread_laplacian
from eigenspan.graphs.distributed.shard_search import SpreadGraph, dealt, spread_graph
from eigenspan.numerics.eigen import chebyshev
from eigenspan.problem import Form
from helpers import angle, pairwise

da = pytest.importorskip("dask.array")

Array = NDArray[np.float64]


def clouds(n: int, D: int = 8, d: int = 4, seed: int = 0) -> Array:
    """Overlapping clusters in a few latent dimensions."""
    rng = np.random.default_rng(seed)
    centres = 1.3 * rng.standard_normal((3, d))
    Z = centres[rng.integers(0, 3, n)] + rng.standard_normal((n, d))
    return Z @ rng.standard_normal((d, D))


def spread(X: Array, count: int, k: int, blocks: int = 5) -> SpreadGraph:
    cells = Cells.of(X[:: max(1, len(X) // 200)], count)
    starts = np.linspace(0, len(X), blocks + 1).astype(int)
    pieces = [dealt(X[i:j], i, cells) for i, j in itertools.pairwise(starts)]
    return spread_graph(Here(), pieces, cells, k)


# ---------------------------------------------------------------------- cells
@pytest.mark.parametrize("count", [1, 2, 3, 7, 16])
def test_every_row_is_in_the_cell_that_is_nearest(count: int) -> None:
    X = clouds(500)
    cells = Cells.of(X, count)
    home, gaps = cells.find(X), cells.gaps(X)
    assert cells.count == count
    assert np.bincount(home, minlength=count).max() <= 500 // count + 2
    np.testing.assert_allclose(gaps[np.arange(500), home], 0.0, atol=1e-9)
    for cell in range(count):  # a bound is never above the distance of any point there
        away = np.linalg.norm(X[:, None] - X[home == cell][None], axis=2).min(axis=1)
        assert np.all(gaps[:, cell] <= away + 1e-9)


# ---------------------------------------------------------------------- neighbours
@pytest.mark.parametrize("D", [3, 12])
@pytest.mark.parametrize("count", [1, 4, 9])
def test_neighbours_by_shards_are_those_of_all_rows(D: int, count: int) -> None:
    X, k = clouds(700, D, min(D, 4)), 9
    graph = spread(X, count, k)
    distances = np.vstack([found[0] for found in graph.lists])
    indices = graph.rows[np.vstack([found[1] for found in graph.lists])]
    expected, which = NearestNeighbors(n_neighbors=k).fit(X).kneighbors()
    order = np.argsort(graph.rows)
    np.testing.assert_allclose(distances[order], expected, rtol=1e-10)
    np.testing.assert_array_equal(np.sort(indices[order], axis=1), np.sort(which, axis=1))
    assert (graph.searched > 0) == (count > 1)


def test_shards_of_fewer_points_than_neighbours_ask_the_others() -> None:
    X = clouds(30, 3, 3)
    graph = spread(X, 8, 7)
    distances = np.vstack([found[0] for found in graph.lists])[np.argsort(graph.rows)]
    np.testing.assert_allclose(distances, NearestNeighbors(n_neighbors=7).fit(X).kneighbors()[0], rtol=1e-10)


# ---------------------------------------------------------------------- the matrix
def laplacian_of(X: Array, k: int, sigma: float) -> sp.csr_array:
    D = KNN(k).build(X).undirected()
    W = sp.csr_array((np.exp(-((D.data / sigma) ** 2)), D.indices, D.indptr), shape=D.shape)
    return sp.csr_array(sp.diags_array(W.sum(axis=1)) - W)


def spread_matrix(X: Array, k: int, sigma: float) -> tuple[SpreadMatrix, SpreadGraph, int]:
    graph = spread(X, 5, k)
    matrix, degrees, pieces = spread_laplacian(graph, Heat(sigma))
    np.testing.assert_array_equal(degrees, matrix.diagonal())
    return matrix, graph, pieces


def test_the_spread_laplacian_is_that_of_all_rows() -> None:
    X = clouds(400)
    matrix, graph, pieces = spread_matrix(X, 6, 3.0)
    L = laplacian_of(X, 6, 3.0).toarray()[np.ix_(graph.rows, graph.rows)]
    np.testing.assert_allclose(matrix.to_dense(), L, atol=1e-12)
    np.testing.assert_allclose(matrix.diagonal(), np.diagonal(L), atol=1e-12)
    assert pieces == 1
    assert np.linalg.eigvalsh(L)[-1] <= matrix.bound()
    s = np.random.default_rng(0).random(400) + 0.1
    np.testing.assert_allclose(matrix.scaled(s).to_dense(), s[:, None] * L * s, atol=1e-12)
    np.testing.assert_allclose(matrix.scaled(s).diagonal(), s**2 * np.diagonal(L), atol=1e-12)
    Z = np.random.default_rng(1).standard_normal((400, 3))
    np.testing.assert_allclose(matrix.quadratic(Z), Z.T @ L @ Z, atol=1e-9)


def test_the_filter_is_the_same_on_workers_and_in_memory() -> None:
    X = clouds(300)
    matrix, graph, _ = spread_matrix(X, 6, 3.0)
    L = laplacian_of(X, 6, 3.0)[graph.rows][:, graph.rows]
    V = np.random.default_rng(0).standard_normal((300, 4))
    here = Form(300, sparse=sp.csr_array(L), psd=True)
    there = Form(300, pairs=((1.0, matrix),), psd=True)
    none = np.zeros((300, 0))
    expected = chebyshev.filtered(chebyshev.Recurrence(here, none), V, 20, 0.5, matrix.bound())
    kept = V.copy()
    found = chebyshev.filtered(chebyshev.Recurrence(there, none), V, 20, 0.5, matrix.bound())
    np.testing.assert_allclose(found, expected, atol=1e-10 * np.abs(expected).max())
    np.testing.assert_array_equal(V, kept)
    values, Q = np.linalg.eigh(L.toarray())  # the polynomial itself, from its definition
    centre, half = (0.5 + matrix.bound()) / 2, (matrix.bound() - 0.5) / 2
    T = np.polynomial.chebyshev.Chebyshev.basis(20)
    exact = (Q * (T((values - centre) / half) / T(-centre / half))) @ (Q.T @ V)
    np.testing.assert_allclose(found, exact, atol=1e-8 * np.abs(exact).max())


def test_pieces_are_counted_across_shards() -> None:
    X = np.vstack([clouds(200), 100 + clouds(150), -100 + clouds(50)])[np.random.default_rng(0).permutation(400)]
    assert spread_matrix(X, 6, 30.0)[2] == 3


# ---------------------------------------------------------------------- eigenmaps
def test_eigenmaps_of_a_cluster_are_those_of_one_process(cluster: Any) -> None:
    X = clouds(1500)
    parts = da.from_array(X, chunks=(401, -1))
    there = LaplacianEigenmaps(2, n_neighbors=12).fit(parts)
    here = LaplacianEigenmaps(2, n_neighbors=12).fit(X)
    np.testing.assert_allclose(there.eigenvalues_, here.eigenvalues_, rtol=1e-8)
    np.testing.assert_allclose(there.embedding_, here.embedding_, atol=1e-6 * np.abs(here.embedding_).max())
    assert there.diagnostics_["solver"] == "Chebyshev"
    assert there.diagnostics_["shards"] == 4
    assert there.residuals_.max() < 1e-9
    np.testing.assert_allclose(there.transform(parts[:50]).compute(), there.embedding_[:50], atol=1e-12)


@pytest.mark.long
def test_eigenmaps_count_equal_rows_as_one() -> None:
    X = clouds(900)
    X[600:] = X[np.random.default_rng(0).integers(0, 600, 300)]
    there = LaplacianEigenmaps(2, n_neighbors=10, weights=Heat(4.0)).fit(da.from_array(X, chunks=(250, -1)))
    here = LaplacianEigenmaps(2, n_neighbors=10, weights=Heat(4.0)).fit(X)
    np.testing.assert_allclose(there.eigenvalues_, here.eigenvalues_, rtol=1e-8)
    assert angle(there.embedding_, here.embedding_) < 1e-6


def test_the_map_of_some_rows_places_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eigenspan.methods.laplacian.distributed_eigenmaps._HELD", 8 * 1500)
    X = clouds(4000)
    found = LaplacianEigenmaps(2, n_neighbors=10).fit(da.from_array(X, chunks=(900, -1)))
    assert found.diagnostics_["map_rows"] == 2250
    assert 0 < found.diagnostics_["map_error"] < 0.3
    away = np.linalg.norm(found.transform(X) - found.embedding_) / np.linalg.norm(found.embedding_)
    assert away < 0.3


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"weights": "local"}, "heat"),
        ({"metric": "manhattan"}, "Euclidean"),
        ({"graph": KNN(5, symmetry="mutual")}, "KNN"),
    ],
)
def test_what_a_cluster_does_not_do_is_refused_with_a_way_out(parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words) as refusal:
        LaplacianEigenmaps(**parameters).fit(da.from_array(clouds(100), chunks=(30, -1)))
    assert "landmarks=" in str(refusal.value)


def test_a_graph_in_pieces_is_refused() -> None:
    X = np.vstack([clouds(200), 1e3 + clouds(200)])
    with pytest.raises(DisconnectedError, match="2 components"):
        LaplacianEigenmaps(2, weights="binary").fit(da.from_array(X, chunks=(150, -1)))


def test_a_gap_is_told_by_its_row() -> None:
    X = clouds(300)
    X[217, 3] = np.nan
    with pytest.raises(InputError, match="NaN, first in row 217, column 3"):
        LaplacianEigenmaps(2).fit(da.from_array(X, chunks=(100, -1)))


# ---------------------------------------------------------------------- wide tables
@pytest.mark.parametrize("estimator", [PCA(4), PCA(4, center=False), PPCA(4)], ids=str)
def test_few_axes_of_a_wide_table(estimator: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wide_scatter, "WIDEST", 100)
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((900, 12)) * np.linspace(5, 1, 12)) @ rng.standard_normal((12, 200))
    X += 3 + 0.2 * rng.standard_normal(X.shape)
    there = estimator.fit(da.from_array(X, chunks=(250, -1)))
    components, values, facts = there.components_, there.eigenvalues_, there.diagnostics_
    share, mean = there.explained_variance_ratio_, there.mean_
    here = estimator.fit(X)
    np.testing.assert_allclose(values, here.eigenvalues_, rtol=1e-9)
    assert angle(components.T, here.components_.T) < 1e-5
    np.testing.assert_allclose(mean, here.mean_, atol=1e-10)
    np.testing.assert_allclose(share, here.explained_variance_ratio_, rtol=1e-8)
    assert facts["solver"] == "BlockKrylov"
    assert facts["passes"] < 15
    assert facts["axes_residual"] <= 1e-9


@pytest.mark.parametrize("scale", [None, "unit-variance"])
def test_eigenmaps_of_unit_covariance(scale: Any) -> None:
    """Every point counts alike there too, and one that is there twice counts twice."""
    X = clouds(60)
    X[40:50] = X[:10]
    estimator = LaplacianEigenmaps(2, n_neighbors=10, unit="covariance", scale=scale)
    here, there = (clone(estimator).fit(rows).embedding_ for rows in (X, da.from_array(X, chunks=(25, -1))))
    np.testing.assert_allclose(pairwise(there), pairwise(here), atol=1e-9)
