"""Principal direction divisive partitioning, against the definition written out and against k-means."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

import eigenspan as es
from eigenspan.errors import DegenerateWarning, DimensionError, InputError
from helpers import assert_scikit_learn_agrees, quietly, says


def by_definition(X: Any, n_clusters: int) -> list[set[int]]:
    """The clusters as sets of rows: a full singular value decomposition for every split."""
    clusters = [np.arange(len(X))]
    while len(clusters) < n_clusters:
        scatter = [np.sum((X[rows] - X[rows].mean(axis=0)) ** 2) for rows in clusters]
        rows = clusters.pop(int(np.argmax(scatter)))
        Z = X[rows] - X[rows].mean(axis=0)
        side = Z @ np.linalg.svd(Z)[2][0] > 0
        clusters += [rows[side], rows[~side]]
    return [set(rows.tolist()) for rows in clusters]


def as_sets(labels: Any) -> set[frozenset[int]]:
    return {frozenset(np.flatnonzero(labels == label).tolist()) for label in np.unique(labels)}


def cloud(n: int, D: int, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, D)) @ rng.standard_normal((D, D)) + rng.integers(0, 3, (n, 1)) * 4.0


@pytest.mark.parametrize("n, D", [(120, 5), (60, 200), (300, 70)])
@pytest.mark.parametrize("clusters", [1, 2, 7, 20])
def test_against_the_definition(n: int, D: int, clusters: int) -> None:
    X = cloud(n, D, n + clusters)
    fitted = es.PDDP(clusters).fit(X)
    assert as_sets(fitted.labels_) == {frozenset(rows) for rows in by_definition(X, clusters)}
    np.testing.assert_array_equal(fitted.predict(X), fitted.labels_)
    np.testing.assert_array_equal(fitted.fit_predict(X), fitted.labels_)


def test_what_it_tells_of_the_tree() -> None:
    X = cloud(150, 6, 0)
    fitted = es.PDDP(6).fit(X)
    assert fitted.tree_.shape == (5, 2)
    assert sorted(fitted.tree_.ravel()) == [-6, -5, -4, -3, -2, -1, 1, 2, 3, 4]
    for c in range(6):
        rows = X[fitted.labels_ == c]
        np.testing.assert_allclose(fitted.cluster_centers_[c], rows.mean(axis=0))
        np.testing.assert_allclose(fitted.scatters_[c], np.sum((rows - rows.mean(axis=0)) ** 2))
    expected = np.stack([(X - m) @ v for m, v in zip(fitted.centres_, fitted.directions_, strict=True)], axis=1)
    np.testing.assert_allclose(fitted.embedding_, expected, atol=1e-11)
    np.testing.assert_allclose(fitted.transform(X), fitted.embedding_)
    first = es.PCA(1).fit_transform(X)[:, 0]
    np.testing.assert_allclose(np.abs(fitted.embedding_[:, 0]), np.abs(first), atol=1e-9)


def test_new_points_walk_down_the_tree() -> None:
    X, new = cloud(200, 4, 1), cloud(50, 4, 2)
    fitted = es.PDDP(9).fit(X)

    def walk(x: Any) -> int:
        at = 0
        while at >= 0:
            at = fitted.tree_[at][int((x - fitted.centres_[at]) @ fitted.directions_[at] > 0)]
        return -1 - at

    np.testing.assert_array_equal(fitted.predict(new), [walk(x) for x in new])


def test_sparse_rows_as_dense_ones() -> None:
    X = sp.random_array((400, 90), density=0.05, random_state=np.random.default_rng(0), format="csr")
    dense, sparse = es.PDDP(10).fit(X.toarray()), es.PDDP(10).fit(X)
    np.testing.assert_array_equal(sparse.labels_, dense.labels_)
    np.testing.assert_array_equal(sparse.predict(X), dense.predict(X.toarray()))


def test_sparse_rows_are_never_made_dense() -> None:
    X = sp.random_array((600, 100_000), density=1e-4, random_state=np.random.default_rng(0), format="csr")
    es.PDDP(2).fit(X[:50])
    tracemalloc.start()
    try:
        es.PDDP(3).fit(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 * X.shape[0] * X.shape[1] / 4


@pytest.mark.parametrize("seed", range(3))
def test_blobs_as_k_means_finds_them(seed: int) -> None:
    X, y = make_blobs(400, centers=[[0, 0, 0], [25, 0, 0], [0, 15, 0], [25, 15, 6]], random_state=seed)
    labels = es.PDDP(4).fit_predict(X)
    means = KMeans(4, n_init=10, random_state=0).fit_predict(X)
    assert adjusted_rand_score(labels, y) == adjusted_rand_score(labels, means) == 1.0


def test_it_stops_by_itself() -> None:
    X, y = make_blobs(300, centers=[[0, 0], [40, 0], [0, 25]], cluster_std=0.5, random_state=0)
    assert adjusted_rand_score(es.PDDP("auto").fit_predict(X), y) == 1.0
    total = np.sum((X - X.mean(axis=0)) ** 2)
    stopped = es.PDDP(50, tol=0.01).fit(X)
    assert stopped.scatters_.max() <= 0.01 * total
    assert len(stopped.scatters_) == 3  # and no more splits than that takes


def test_what_no_line_tells_apart() -> None:
    """The square within an annulus of [S0, fig. 11]: a plane cuts through both, a graph finds them."""
    rng = np.random.default_rng(0)
    t, r = rng.uniform(-np.pi / 2, np.pi / 2, 250), np.sqrt(rng.uniform(3.5**2, 4.5**2, 250))
    X = np.vstack([rng.uniform(-0.75, 0.75, (250, 2)), np.c_[1 + r * np.cos(t), r * np.sin(t)]])
    y = np.repeat([0, 1], 250)
    assert adjusted_rand_score(es.PDDP(2).fit_predict(X), y) < 0.6
    assert adjusted_rand_score(es.SpectralClustering(2).fit_predict(X), y) == 1.0


def test_points_on_the_plane_are_on_one_side() -> None:
    """A symmetric grid has a column of points on the plane, to the last bit or beside it: they go one way, alone or together."""
    X = np.array([[10.0 * i, j] for i in range(-3, 4) for j in range(-2, 3)]) + 0.1
    fitted = es.PDDP(2).fit(X)
    assert len(set(fitted.labels_[15:20])) == 1
    alone = np.concatenate([fitted.predict(x[None]) for x in X])
    np.testing.assert_array_equal(alone, fitted.labels_)


def test_far_from_the_origin() -> None:
    X = cloud(100, 3, 4)
    np.testing.assert_array_equal(es.PDDP(6).fit(X + 1e6).labels_, es.PDDP(6).fit(X).labels_)


def test_too_few_places_and_too_many_clusters() -> None:
    X = np.repeat(cloud(3, 4, 0), 5, axis=0) + 1e7
    with pytest.warns(DegenerateWarning, match=says("only 3 distinct places", "n_clusters=8")):
        fitted = es.PDDP(8).fit(X)
    np.testing.assert_array_equal(np.bincount(fitted.labels_), [5, 5, 5])
    with pytest.raises(InputError, match=says("n_clusters=16", "n_samples=15")):
        es.PDDP(16).fit(X)
    with pytest.raises(DimensionError, match="All 15 rows coincide"):
        es.PDDP(2).fit(np.ones((15, 2)))
    with pytest.raises(ValueError, match="NaN"):
        fitted.predict([[np.nan, 0, 0, 0]])


def test_containers_and_precision(tmp_path: Any) -> None:
    X = cloud(80, 3, 0)
    frame = pd.DataFrame(X, columns=list("abc"))
    named = es.PDDP(4).set_output(transform="pandas").fit(frame)
    assert list(named.transform(frame).columns) == ["pddp0", "pddp1", "pddp2"]
    single = es.PDDP(4).fit(X.astype(np.float32))
    assert single.transform(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_array_equal(single.labels_, named.labels_)
    es.save(named, tmp_path / "pddp")
    np.testing.assert_array_equal(es.load(tmp_path / "pddp").predict(frame), named.labels_)
    again = clone(named).fit(X)
    np.testing.assert_array_equal(again.labels_, named.labels_)


def test_scikit_learn_agrees() -> None:
    quietly(lambda: assert_scikit_learn_agrees(es.PDDP()))
