"""Weights of rows: whole numbers repeat rows, any weights are continuous and homogeneous, and zeros leave rows out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from scipy.linalg import eigh
from scipy.spatial.distance import cdist
from sklearn import decomposition
from sklearn.base import clone
from sklearn.datasets import make_swiss_roll
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

import eigenspan as es
from cases import SIDE_UNFOLDINGS, Case, estimators, over
from eigenspan._docstrings import attributes
from eigenspan.methods.registry import TABLE
from helpers import angle, same_subspace, says

N = 42
X, T = make_swiss_roll(N, noise=0.3, random_state=0)
Y = np.digitize(T, np.quantile(T, [1 / 3, 2 / 3]))
WEIGHTS = np.random.default_rng(0).integers(1, 4, N)
ROWS = np.repeat(np.arange(N), WEIGHTS)
#: One of the repetitions of each row.
FIRST = np.cumsum(WEIGHTS) - WEIGHTS
NEW = X[::4] + 0.1

SIDE = [
    Case(m.name, m.build(), False, False) for m in TABLE if m.name in SIDE_UNFOLDINGS - {"ActionRespectingEmbedding"}
]
MORE = [
    Case("PDDP", es.PDDP(), False, False),
    Case("Anchored", es.Anchored(es.LTSA()), False, False),
    Case("EigenmapRegressor", es.EigenmapRegressor(), False, False),
    Case("LLE-landmarks", es.LLE(landmarks=20), False, False),
    Case("PPCA-auto", es.PPCA("auto"), False, False),
    Case("LDA-reduce", es.LDA(reduce=2), False, False),
    Case("LPP-origin", es.LPP(center=False), False, False),
    Case("KernelPCA-origin", es.KernelPCA(2, gamma=0.01, center=False), False, False),
    Case("LaplacianEigenmaps-alpha", es.LaplacianEigenmaps(alpha=1), False, False),
    Case("LFDA-trace-ratio", es.LFDA(2, criterion="trace-ratio"), False, False),
]
#: Methods that take any weights: embeddings that count rows by masses, and methods of sums over the rows.
REAL = [
    es.LaplacianEigenmaps(), es.LaplacianEigenmaps(unit="covariance"), es.LaplacianEigenmaps(alpha=1),
    es.DiffusionMap(), es.CommuteTimeEmbedding(), es.LLE(),
    es.ModifiedLLE(),
    es.LTSA(), es.HessianLLE(), es.GeodesicNullspaceAnalysis(), es.Isomap(), es.KernelIsomap(), es.PCA(2), es.PPCA(2), es.LDA(2), es.MMC(2),
    es.SupervisedPCA(2), es.SSFDA(2, gamma=0), es.SDA(2, mu=0), es.LDA(2, criterion="trace-ratio"),
]  # fmt: skip
real = pytest.mark.parametrize("estimator", REAL, ids=repr)

pytestmark = pytest.mark.filterwarnings("ignore::eigenspan.errors.EigenspanWarning")


def _y(name: str) -> Any:
    if name == "Anchored":
        places = np.full((N, 2), np.nan)
        places[::5] = X[::5, :2]
        return places
    return {"EigenmapRegressor": T, "MaximumCovarianceUnfolding": X**2, "MultiviewCCA": X**2}.get(name, Y)


def _small(case: Case) -> Any:
    estimator = case.make()
    if isinstance(getattr(estimator, "landmarks", None), int):
        estimator.set_params(landmarks=min(estimator.landmarks, 20))
    return estimator


def assert_near(found: Any, wanted: Any, share: float = 1e-8) -> None:
    np.testing.assert_allclose(found, wanted, rtol=0, atol=share * np.abs(wanted).max())


# ---------------------------------------------------------------------- the theorem
@over([*estimators(), *SIDE, *MORE])
@pytest.mark.every(3)
def test_whole_weights_give_the_fit_to_repeated_rows(case: Case) -> None:
    y = _y(case.id)
    weighed = _small(case).fit(X, y, sample_weight=WEIGHTS)
    repeated = _small(case).fit(X[ROWS], y[ROWS])
    assert weighed.embedding_.shape == (N, repeated.embedding_.shape[1])
    assert_near(weighed.embedding_, repeated.embedding_[FIRST])
    assert_near(weighed.transform(NEW), repeated.transform(NEW))
    if hasattr(repeated, "eigenvalues_"):
        assert_near(weighed.eigenvalues_, repeated.eigenvalues_)
    # attributes with an entry for each row have one for each given row
    for entry in attributes(type(weighed)):
        for name in entry.names:
            if (
                "(n_samples," in entry.type
                and hasattr(weighed, name)
                and np.shape(getattr(repeated, name))[0] == ROWS.size
            ):
                assert len(getattr(weighed, name)) == N, name
                values = np.asarray(getattr(repeated, name))[FIRST]
                np.testing.assert_array_equal(
                    np.asarray(getattr(weighed, name)), values
                ) if values.dtype.kind in "iUO" else None
    graph = getattr(weighed, "graph_", None)
    if graph is not None and graph.n == repeated.graph_.n < ROWS.size:
        nodes, rows = (np.arange(N) if each.rows is None else each.rows for each in (graph, repeated.graph_))
        np.testing.assert_array_equal(nodes, ROWS[rows])


@pytest.mark.parametrize("estimator", [es.LLE(), es.LDA(1), es.LPP(), es.SIR(1), es.PPCA(2)], ids=repr)
def test_weights_of_rows_that_repeat_already_add_up(estimator: Any) -> None:
    double, weights = np.concatenate([X, X[:9]]), np.concatenate([WEIGHTS, np.full(9, 2)])
    both, y = WEIGHTS + np.where(np.arange(N) < 9, 2, 0), np.concatenate([Y, Y[:9]])
    one = clone(estimator).fit(double, y, sample_weight=weights)
    assert_near(one.transform(NEW), clone(estimator).fit(X, Y, sample_weight=both).transform(NEW))
    assert_near(one.embedding_[N:], one.embedding_[:9])


# ---------------------------------------------------------------------- weights that are not whole numbers
@real
def test_half_weights_give_the_axes_of_whole_ones(estimator: Any) -> None:
    half = clone(estimator).fit(X, Y, sample_weight=WEIGHTS / 2)
    repeated = clone(estimator).fit(X[ROWS], Y[ROWS])
    centre = np.average(half.embedding_, axis=0, weights=WEIGHTS), repeated.embedding_.mean(axis=0)
    assert same_subspace(half.embedding_ - centre[0], repeated.embedding_[FIRST] - centre[1], 1e-5)


@real
def test_weights_act_continuously(estimator: Any) -> None:
    plain, noise = clone(estimator).fit(X, Y), np.random.default_rng(1).uniform(-1, 1, N)
    moved = [
        angle(clone(estimator).fit(X, Y, sample_weight=1 + e * noise).transform(NEW), plain.transform(NEW))
        for e in (1e-3, 1e-5)
    ]
    assert 0 < moved[0] < 5
    assert moved[1] < moved[0] / 20 + 1e-6


def test_real_weights_of_pca_are_those_of_numpy_cov() -> None:
    weights = np.random.default_rng(2).uniform(0.2, 3, N)
    pca = es.PCA(2).fit(X, sample_weight=weights)
    values, axes = np.linalg.eigh(np.cov(X.T, aweights=weights, ddof=0))
    assert_near(pca.eigenvalues_ / weights.sum(), values[:0:-1], 1e-12)
    assert same_subspace(pca.components_.T, axes[:, 1:], 1e-6)
    assert_near(pca.mean_, np.average(X, axis=0, weights=weights), 1e-12)
    assert pca.n_samples_seen_ == pytest.approx(weights.sum())


def test_real_weights_of_lda_are_those_of_dense_scatters() -> None:
    weights = np.random.default_rng(3).uniform(0.2, 3, N)
    lda = es.LDA(2).fit(X, Y, sample_weight=weights)
    means = np.array([np.average(X[c == Y], axis=0, weights=weights[c == Y]) for c in range(3)])
    away, gaps = X - means[Y], means[Y] - np.average(X, axis=0, weights=weights)
    within, between = (rows.T @ (weights[:, None] * rows) for rows in (away, gaps))
    assert same_subspace(lda.components_.T, eigh(between, within)[1][:, :0:-1], 1e-6)


def test_real_weights_of_eigenmaps_are_those_of_a_dense_laplacian() -> None:
    weights = np.random.default_rng(4).uniform(0.2, 3, N)
    fitted = es.LaplacianEigenmaps(2, n_neighbors=8, weights="binary").fit(X, sample_weight=weights)
    near = np.argsort(cdist(X, X), axis=1)[:, 1:9]
    A = np.zeros((N, N))
    A[np.arange(N)[:, None], near] = 1
    W = np.maximum(A, A.T) * np.outer(weights, weights)
    D = np.diag(W.sum(axis=1))
    assert same_subspace(fitted.embedding_, eigh(D - W, D)[1][:, 1:3], 1e-5)


def test_real_weights_scale_lle_to_unit_covariance() -> None:
    weights = np.random.default_rng(5).uniform(0.2, 3, N)
    found = es.LLE(2, n_neighbors=8).fit(X, sample_weight=weights).embedding_
    assert_near(np.cov(found.T, aweights=weights, ddof=0), np.eye(2), 1e-7)


def test_y_as_it_was_given_repeats_too() -> None:
    def same(points: Any, y: Any) -> Any:
        assert len(points) == len(y) == ROWS.size
        return es.problem.forms.within(np.asarray(y))

    form = es.TraceReducer(1, minimise=same, unit="total").fit(X, Y, sample_weight=WEIGHTS)
    assert_near(
        form.transform(NEW), es.TraceReducer(1, minimise=same, unit="total").fit(X[ROWS], Y[ROWS]).transform(NEW)
    )
    copies = np.stack([X + 0.1 * np.cos(X), X - 0.1 * np.sin(X)])
    noisy = es.OrientedPCA(2).fit(X, copies, sample_weight=WEIGHTS)
    assert_near(noisy.transform(NEW), es.OrientedPCA(2).fit(X[ROWS], copies[:, ROWS]).transform(NEW))


@pytest.mark.parametrize("name", ["LPP", "KernelPCA", "CCA", "MVU", "KDR", "SpectralClustering"])
def test_other_methods_refuse_fractions(name: str) -> None:
    with pytest.raises(es.errors.InputError, match=says("sample_weight[3]=1.5", "whole number", name, "multiply")):
        es.make(name).fit(X, Y, sample_weight=np.where(np.arange(N) == 3, 1.5, 1))


# ---------------------------------------------------------------------- zero
@pytest.mark.parametrize(
    "estimator",
    [
        es.PCA(2),
        es.LDA(2),
        es.LLE(),
        es.Isomap(landmarks=15),
        es.LPP(),
        es.KernelPCA(2, gamma=0.01),
        es.SODA(1),
        es.CCA(1),
    ],
    ids=repr,
)
def test_rows_of_weight_zero_are_placed_by_the_map(estimator: Any) -> None:
    weights = np.where(np.arange(N) % 6 == 1, 0, WEIGHTS)
    kept = np.flatnonzero(weights)
    fitted = clone(estimator).fit(X, Y, sample_weight=weights)
    some = clone(estimator).fit(X[kept], Y[kept], sample_weight=weights[kept])
    assert_near(fitted.embedding_[kept], some.embedding_)
    assert_near(fitted.embedding_[weights == 0], some.transform(X[weights == 0]))
    if isinstance(estimator, es.SODA):
        assert np.all(fitted.transduction_[weights == 0] == -1)
    if isinstance(estimator, es.LLE):
        np.testing.assert_array_equal(fitted.graph_.rows, kept)
    if isinstance(estimator, es.CCA):
        one, other = clone(estimator).fit_transform(X, Y, sample_weight=weights)
        assert np.isfinite(one).all()
        assert np.isfinite(other).all()


def test_landmarks_are_rows_of_x() -> None:
    one = es.LLE(landmarks=15).fit(X, sample_weight=WEIGHTS)
    two = es.LLE(landmarks=15).fit(X[ROWS])
    np.testing.assert_array_equal(one.landmarks_, ROWS[two.landmarks_])


# ---------------------------------------------------------------------- containers, parts and routing
@pytest.mark.parametrize("estimator", [es.PCA(2), es.LPP(), es.LaplacianEigenmaps(), es.LDA(2)], ids=repr)
def test_containers(estimator: Any, tmp_path: Any) -> None:
    wanted = clone(estimator).fit(X, Y, sample_weight=WEIGHTS).transform(NEW)
    for weights in (list(WEIGHTS), pd.Series(WEIGHTS, index=range(5, N + 5)), WEIGHTS.astype(np.float32)):
        assert_near(clone(estimator).fit(X, Y, sample_weight=weights).transform(NEW), wanted)
    assert_near(clone(estimator).fit(pd.DataFrame(X).to_numpy(), list(Y), sample_weight=WEIGHTS).transform(NEW), wanted)
    assert_near(clone(estimator).fit(sp.csr_array(X), Y, sample_weight=WEIGHTS).transform(sp.csr_array(NEW)), wanted)
    single = clone(estimator).fit(X.astype(np.float32), Y, sample_weight=WEIGHTS)
    assert single.embedding_.dtype == np.float32
    assert_near(single.transform(NEW.astype(np.float32)), wanted, 1e-4)
    file = np.memmap(tmp_path / "x", np.float64, "w+", shape=X.shape)
    file[:] = X
    assert_near(clone(estimator).fit(file, Y, sample_weight=WEIGHTS).transform(NEW), wanted)


@pytest.mark.parametrize("estimator", [es.PCA(2), es.LDA(2), es.MMC(2)], ids=repr)
def test_parts_may_have_weights(estimator: Any) -> None:
    weights, whole, parts = WEIGHTS / 3, clone(estimator), clone(estimator)
    for rows in (slice(0, 20), slice(20, 30)):
        parts.partial_fit(X[rows], Y[rows], sample_weight=weights[rows])
    parts.partial_fit(X[30:], Y[30:])
    whole.fit(X, Y, sample_weight=np.concatenate([weights[:30], np.ones(12)]))
    assert_near(parts.transform(NEW), whole.transform(NEW))
    assert_near(whole.partial_fit(X[:5], Y[:5]).transform(NEW), parts.partial_fit(X[:5], Y[:5]).transform(NEW))


def test_weights_are_routed_through_a_pipeline() -> None:
    with sklearn.config_context(enable_metadata_routing=True):
        lda = es.LDA(2).set_fit_request(sample_weight=True)
        steps = make_pipeline(lda, KNeighborsClassifier(3)).fit(X, Y, sample_weight=WEIGHTS)
    assert_near(steps[0].transform(NEW), es.LDA(2).fit(X[ROWS], Y[ROWS]).transform(NEW))


def test_weights_of_pca_agree_with_scikit_learn_on_repeated_rows() -> None:
    found = es.PCA(2).fit(X, sample_weight=WEIGHTS)
    theirs = decomposition.PCA(2).fit(X[ROWS])
    assert_near(np.abs(found.components_), np.abs(theirs.components_))
    assert_near(found.explained_variance_, theirs.explained_variance_)


# ---------------------------------------------------------------------- refusals
BAD = {
    "negative": (-WEIGHTS, "negative, NaN or infinite"),
    "nan": (np.where(Y == 0, np.nan, 1), "negative, NaN or infinite"),
    "zero": (np.zeros(N), "no row is left"),
    "one row": (np.eye(N)[0], "leaves one row"),
    "long": (np.ones(N + 1), "one number per row"),
    "table": (np.ones((N, 1)), "one number per row"),
    "text": (["a"] * N, "must hold"),
    "lost class": ((Y > 0).astype(float), "class 0"),
    "complex": (np.ones(N, dtype=complex) * 1j, "complex"),
}


@pytest.mark.parametrize("bad", BAD)
def test_weights_are_validated(bad: str) -> None:
    weights, message = BAD[bad]
    for estimator in (es.LDA(2), es.LPP(graph="class")):
        with pytest.raises(ValueError, match=message):
            estimator.fit(X, Y, sample_weight=weights)


def test_refusals_say_why() -> None:
    K = X @ X.T
    graph = es.LLE().fit(X).graph_
    refused: list[tuple[Any, Any, Any, str]] = [
        (es.KernelPCA(2, kernel="precomputed"), K, None, "table of pairs"),
        (es.Isomap(metric="precomputed"), cdist(X, X), None, "table of pairs"),
        (es.KernelCCA(1, kernel_y="precomputed"), X, K, "table of pairs"),
        (es.LLE(graph=graph), X, None, "graph= refers to single rows"),
        (es.LPP(graph=graph), X, None, "graph= refers to single rows"),
        (es.LLE(landmarks=[1, 2, 3, 4, 5, 6, 7, 8, 9, 12]), X, None, "landmarks= refers to single rows"),
        (es.SSDR(1, must_link=[[0, 1]]), X, None, "must_link= refers to single rows"),
        (es.ColoredMVU(label_kernel=K), X, None, "label_kernel= refers to single rows"),
        (es.TraceReducer(minimise=K), X, None, "minimise= refers to single rows"),
        (es.GraphEmbeddingFramework(intrinsic=np.abs(K), unit=np.ones(N)), X, None, "intrinsic= refers to single rows"),
        (es.GraphEmbeddingFramework(unit=np.ones(N)), X, None, "unit= refers to single rows"),
        (es.ActionRespectingEmbedding(), X, Y[1:], "time series"),
        (es.PCA(2), X, None, "add up to 0.42"),
    ]
    for estimator, x, y, message in refused:
        weights = WEIGHTS if not isinstance(estimator, es.PCA) else np.full(N, 0.01)
        with pytest.raises(es.errors.InputError, match=message):
            estimator.fit(x, y, sample_weight=weights)
    with pytest.raises(es.errors.InputError, match="partial_fit of CCA does not take sample_weight="):
        es.CCA(1).partial_fit(X, Y, sample_weight=WEIGHTS)


def test_dask_collections_are_refused() -> None:
    da = pytest.importorskip("dask.array")
    with pytest.raises(es.errors.InputError, match=says("Dask", "compute")):
        es.PCA(2).fit(da.from_array(X, chunks=(10, 3)), sample_weight=WEIGHTS)
