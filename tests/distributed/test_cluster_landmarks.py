"""Landmarks and samples of rows on a cluster: fitted here, all others placed there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_moons, make_swiss_roll
from sklearn.metrics import pairwise_distances

from eigenspan import (
    LDA,
    LLE,
    LPP,
    LTSA,
    MVU,
    NPP,
    OLPP,
    DiffusionMap,
    HeatKernel,
    Isomap,
    Kernel,
    KernelPCA,
    LandmarkIsomap,
    LandmarkMDS,
    LandmarkMVU,
    Landmarks,
    LaplacianEigenmaps,
)
from eigenspan.data.rows.dask_rows import lazy_table
from eigenspan.errors import GraphError, InputError, KernelError
from eigenspan.graphs.distributed.landmark_pool import candidates
from eigenspan.methods.base.graph_embedding import GraphEmbedding
from eigenspan.methods.registry import TABLE

da = pytest.importorskip("dask.array")

X, T = make_swiss_roll(1200, random_state=0)
LAZY = da.from_array(X, chunks=(351, 3))
ROWS = np.sort(np.random.default_rng(0).choice(1200, 300, replace=False))


def same_up_to_signs(A: Any, B: Any, tol: float) -> None:
    signs = np.sign(np.sum(A * B, axis=0))
    np.testing.assert_allclose(A * signs, B, atol=tol * np.abs(B).max())


@pytest.mark.parametrize(
    "estimator",
    [
        LLE(2, n_neighbors=12, reg=1e-2, landmarks=ROWS),
        LTSA(2, n_neighbors=12, landmarks=ROWS),
        LaplacianEigenmaps(2, n_neighbors=12, landmarks=ROWS),
        DiffusionMap(2, n_neighbors=12, landmarks=ROWS),
        LandmarkMDS(2, landmarks=ROWS),
        KernelPCA(3, gamma=0.01, landmarks=ROWS),
        KernelPCA(3, gamma="median", landmarks=ROWS),
    ],
    ids=str,
)
def test_a_fit_to_landmarks_is_that_of_one_process(estimator: Any) -> None:
    Y = estimator.fit(LAZY).transform(LAZY)
    assert Y.chunks == ((351, 351, 351, 147), (estimator.n_components,))
    with pytest.raises(AttributeError, match="transform"):
        _ = estimator.embedding_
    values = estimator.eigenvalues_
    there = Y.compute()
    here = estimator.fit(X).embedding_
    same_up_to_signs(there, here, 1e-8)
    np.testing.assert_allclose(values, estimator.eigenvalues_, rtol=1e-9)


@pytest.mark.parametrize("make", [LPP, OLPP, NPP, LDA])
def test_classes_in_the_feature_space_of_a_kernel(make: Any) -> None:
    P, y = make_moons(900, noise=0.1, random_state=0)
    y = y + 2 * (P[:, 0] > 0.5)
    more = {} if make is LDA else {"graph": "class"}
    estimator = make(2, kernel=Kernel("rbf", gamma=1.0), landmarks=np.arange(0, 900, 20), **more)
    lazily = da.from_array(P, chunks=(260, 2))
    there = estimator.fit(lazily, da.from_array(y, chunks=(260,))).transform(lazily).compute()
    same_up_to_signs(there, estimator.fit(P, y).embedding_, 1e-7)


@pytest.mark.parametrize("choice", ["random", "maxmin", "kmeans++", "leverage", "cholesky"])
def test_landmarks_are_chosen_on_the_cluster(choice: Any) -> None:
    estimator = KernelPCA(2, gamma=0.01, landmarks=Landmarks(80, choice=choice))
    chosen = estimator.fit(LAZY).landmarks_
    assert np.unique(chosen).size == 80
    assert chosen.min() >= 0
    assert chosen.max() < 1200
    np.testing.assert_array_equal(estimator.fit(LAZY).landmarks_, chosen)
    full = KernelPCA(2, gamma=0.01).fit(X)
    np.testing.assert_allclose(estimator.eigenvalues_, full.eigenvalues_, rtol=0.01)


def test_a_small_group_far_away_is_among_the_candidates() -> None:
    rng = np.random.default_rng(0)
    P = rng.standard_normal((20_000, 3))
    P[777:780] += 1e3
    pool = candidates(lazy_table(da.from_array(P, chunks=(3000, 3))), 20, 0)
    assert set(pool) & {777, 778, 779}
    assert pool.size <= 200 + 2 * 20
    assert pairwise_distances(P, P[pool]).min(axis=1).max() < 1e3


def test_draws_follow_squared_distances() -> None:
    """Of a group at distance 0 nobody is drawn, of one at 3 nine times as many as of one at 1."""
    P = np.zeros((3000, 1))
    P[1000:2000], P[2000:] = 1.0, 3.0
    from eigenspan.graphs.distributed.landmark_pool import _best, _drawn

    counts = np.zeros(3)
    for seed in range(20):
        parts = [_drawn(P[i : i + 500], np.zeros((1, 1)), 50, seed) for i in range(0, 3000, 500)]
        whole = parts[0]
        for part in parts[1:]:
            whole = _best(whole, part, 50)
        counts += np.bincount(whole[1] // 1000, minlength=3)
    assert whole[0] == 3000
    assert counts[0] == 0
    assert 6 < counts[2] / counts[1] < 13  # 9 is expected, and 1000 were drawn


@pytest.mark.parametrize("make", [Isomap, LandmarkIsomap])
def test_geodesics_run_through_a_sample(make: Any) -> None:
    more = {} if make is Isomap else {"landmarks": 60}
    estimator = make(2, n_neighbors=10, sample=600, **more).fit(LAZY)
    assert estimator.sample_.size == 600
    assert estimator.map_.rows.geodesics.shape[0] == 600
    alone = make(2, n_neighbors=10, **more).fit(X[estimator.sample_])
    same_up_to_signs(estimator.transform(LAZY).compute(), alone.transform(X), 1e-9)


def test_a_sample_of_rows_in_memory_is_the_same_thing() -> None:
    estimator = LandmarkIsomap(2, n_neighbors=10, sample=600, landmarks=60).fit(X)
    alone = LandmarkIsomap(2, n_neighbors=10, landmarks=60).fit(X[estimator.sample_])
    assert estimator.embedding_.shape == (1200, 2)
    np.testing.assert_allclose(estimator.embedding_[estimator.sample_], alone.embedding_, atol=1e-9)
    np.testing.assert_allclose(estimator.embedding_, alone.transform(X), atol=1e-9)
    assert set(estimator.landmarks_) <= set(estimator.sample_)
    with pytest.raises(GraphError, match="sample="):
        LandmarkIsomap(2, sample=600, graph=alone.graph_).fit(X)


def test_unfolding_through_landmarks_of_a_sample() -> None:
    estimator = LandmarkMVU(2, n_neighbors=6, landmarks=30, sample=500).fit(LAZY)
    Y = estimator.transform(LAZY).compute()
    assert abs(np.corrcoef(Y[:, 0], T)[0, 1]) > 0.98


def test_a_gap_among_the_rows_is_told() -> None:
    bad = X.copy()
    bad[777, 1] = np.inf
    lazily = da.from_array(bad, chunks=(351, 3))
    with pytest.raises(InputError, match="infinity, first in row 777"):
        LTSA(2, landmarks=np.arange(700, 800)).fit(lazily)
    for estimator in (LandmarkMDS(2, landmarks=ROWS), KernelPCA(2, landmarks=ROWS)):
        with pytest.raises(InputError, match="infinity, first in row 777"):
            estimator.fit(lazily)


def test_kernels_of_all_points_are_refused() -> None:
    with pytest.raises(KernelError, match="all points"):
        KernelPCA(2, kernel=HeatKernel(), landmarks=50).fit(LAZY)
    with pytest.raises(InputError, match="landmarks=m"):
        KernelPCA(2).fit(LAZY)


GRAPHS = [info for info in TABLE if isinstance(info.build, type) and issubclass(info.build, GraphEmbedding)]


@pytest.mark.parametrize("info", GRAPHS, ids=lambda info: info.build.__name__)
def test_methods_over_a_graph_of_all_points_name_a_way_out(info: Any) -> None:
    if info.build is LaplacianEigenmaps:
        pytest.skip("works on the cluster")
    with pytest.raises(InputError) as refusal:
        info.build().fit(LAZY, da.from_array(T, chunks=351))
    assert ".compute()" in str(refusal.value)


def test_an_unfolding_of_landmarks_places_the_others() -> None:
    Y = MVU(2, n_neighbors=6, landmarks=60).fit(LAZY).transform(LAZY)
    assert Y.compute().shape == (1200, 2)
