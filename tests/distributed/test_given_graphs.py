"""Semi-supervised discriminants over a graph that is given, of rows that stay in the blocks of a Dask collection."""

from __future__ import annotations

from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import eigenspan as es
from eigenspan.data.rows.dask_rows import lazy_table
from eigenspan.errors import GraphError, InputError, MemoryLimitError
from eigenspan.problem.distributed_quadratic import lazy_quadratic
from lazy_data import table

X, CODES, _ = table(1200)
SOME = np.where(np.arange(len(X)) % 4 == 0, CODES, -1)
GRAPH = es.KNN(6).build(X)
LISTS = GRAPH.distances.indices.reshape(len(X), 6), GRAPH.distances.data.reshape(len(X), 6)
WEIGHTS = sp.csr_array(GRAPH.distances.maximum(GRAPH.distances.T))

FITS = {
    "SDA": es.SDA(mu=0.1, graph=GRAPH),
    "SDA of distances": es.SDA(mu=0.3, graph=WEIGHTS, weights="heat"),
    "SDA of lists": es.SDA(2, mu=0.1, graph=LISTS, weights="local", axes="eigenvalue"),
    "SDA of weights": es.SDA(mu=0.01, graph=WEIGHTS, weights="precomputed", ridge=0.5),
    "SDA of powers": es.SDA(mu=0.1, graph=GRAPH, weights=es.Powered("heat", 3.0)),
    "SSFDA": es.SSFDA(2, graph=GRAPH),
    "SSFDA as printed": es.SSFDA(2, gamma=0.5, gamma_scale="raw", graph=LISTS),
    "SSMMC": es.SSMMC(2, graph=WEIGHTS),
}
BLOCKS: tuple[Any, ...] = (1200, 251, (1, 0, 700, 499))


def cut(values: Any, rows: Any) -> Any:
    return da.from_array(values, chunks=(rows, *values.shape[1:]))


def assert_same(lazy: Any, whole: Any) -> None:
    size = np.abs(whole.components_).max()
    np.testing.assert_allclose(lazy.components_ / size, whole.components_ / size, atol=1e-8)
    np.testing.assert_allclose(lazy.eigenvalues_, whole.eigenvalues_, rtol=1e-8)
    assert lazy.classes_.tolist() == whole.classes_.tolist()


@pytest.mark.parametrize("name", FITS)
@pytest.mark.every(2)
def test_as_in_memory_whatever_the_blocks(name: str) -> None:
    whole = clone(FITS[name]).fit(X, SOME)
    with dask.config.set(scheduler="threads"):
        for rows in BLOCKS:
            lazy = clone(FITS[name]).fit(cut(X, rows), cut(SOME, 333))
            assert_same(lazy, whole)
        np.testing.assert_allclose(lazy.transform(cut(X, 400)).compute(), whole.transform(X), atol=1e-7)
    assert not hasattr(lazy, "moments_")
    assert not hasattr(lazy, "partial_fit")


@pytest.mark.parametrize("name", ["SDA", "SSFDA"])
def test_as_in_memory_on_a_cluster(cluster: Any, name: str) -> None:
    single = X.astype(np.float32)
    lazy = clone(FITS[name]).fit(cut(single, 301), cut(SOME, 301))
    assert_same(lazy, clone(FITS[name]).fit(single.astype(np.float64), SOME))


@pytest.mark.parametrize("rows", [60, 7, (20, 0, 1, 39)])
@pytest.mark.parametrize("density", [0.0, 0.02, 0.5])
def test_any_matrix_between_any_blocks(rows: Any, density: float) -> None:
    rng = np.random.default_rng(0)
    M = sp.random_array((60, 60), density=density, random_state=rng, format="csr")
    M = sp.csr_array(M + M.T)
    Z, origin = rng.standard_normal((60, 4)) + 30, rng.standard_normal(4) + 30
    with dask.config.set(scheduler="sync"):
        found = lazy_quadratic(M, lazy_table(cut(Z, rows)), origin)
    np.testing.assert_allclose(found, (Z - origin).T @ M.toarray() @ (Z - origin), atol=1e-10)


def test_only_borders_are_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a chain in six blocks the ten rows at the cuts, each block being made once; what would not fit is refused."""
    calls: list[int] = []

    def make(i: int) -> Any:
        calls.append(i)
        return X[200 * i : 200 * i + 200]

    parts = [da.from_delayed(dask.delayed(make, pure=True)(i), (200, X.shape[1]), float) for i in range(6)]
    rows = lazy_table(da.concatenate(parts))
    chain = sp.diags_array([np.ones(1199), np.ones(1199)], offsets=[-1, 1], format="csr")
    asked: list[float] = []
    monkeypatch.setattr("eigenspan.problem.distributed_quadratic.require", lambda size, *words: asked.append(size))
    with dask.config.set(scheduler="sync"):
        lazy_quadratic(chain, rows, np.zeros(X.shape[1]))
    assert sorted(calls) == list(range(6))
    assert asked == [10 * X.shape[1] * 8]


def test_borders_that_do_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EIGENSPAN_MEMORY", "1000")
    with dask.config.set(scheduler="sync"), pytest.raises(MemoryLimitError, match="neighbours share a block"):
        lazy_quadratic(WEIGHTS, lazy_table(cut(X, 100)), np.zeros(X.shape[1]))


@pytest.mark.parametrize(
    "estimator",
    [
        es.SDA(),
        es.SDA(graph=es.KNN(5)),
        es.SDA(graph=GRAPH, weights="cosine"),
        es.SDA(graph=GRAPH, weights="path"),
        es.SSFDA(),
    ],
    ids=["no graph", "a rule", "cosine", "path", "SSFDA"],
)
def test_what_needs_the_points_says_so(estimator: Any) -> None:
    with pytest.raises(InputError, match=r"needs all rows.*rows may remain distributed if graph= is the graph itself"):
        estimator.fit(cut(X, 400), cut(SOME, 400))


def test_a_graph_of_other_points() -> None:
    with dask.config.set(scheduler="sync"):
        for estimator in (es.SDA(graph=GRAPH), es.SSFDA(graph=WEIGHTS), es.SSFDA(gamma=0.0, graph=WEIGHTS)):
            with pytest.raises(GraphError, match="1200 nodes but X has 1000 rows"):
                estimator.fit(cut(X[:1000], 400), cut(SOME[:1000], 400))
