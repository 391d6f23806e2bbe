"""Graph methods on sparse rows, on sparse affinities, with metrics of their own, and under scikit-learn's names."""

from __future__ import annotations

import pickle
import tracemalloc
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn import cluster, manifold
from sklearn.datasets import load_iris, make_moons, make_swiss_roll
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import kneighbors_graph

import eigenspan as es
from eigenspan.errors import GraphError, InputError, MemoryLimitError
from eigenspan.methods.distances import classical_mds as distances
from helpers import assert_allclose_up_to_sign, assert_healthy, relative

ROLL = make_swiss_roll(300, random_state=0)[0]


def sparse_rows(n: int = 240, D: int = 400, seed: int = 0) -> sp.csr_array:
    """Texts of a kind: rows of a few words out of D, on a curve of topics."""
    rng = np.random.default_rng(seed)
    topic, words = np.sort(rng.uniform(0, 1, n)), np.linspace(-0.2, 1.2, D)
    rate = 2.0 * np.exp(-(((topic[:, None] - words) / 0.1) ** 2))
    return sp.csr_array(rng.poisson(rate) * rng.uniform(0.9, 1.1, (n, D)))  # no two distances alike


def _long(X: sp.csr_array) -> sp.csr_array:
    """The same with 64-bit indices, as concatenation often leaves them."""
    return sp.csr_array((X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), shape=X.shape)


TEXTS, MORE = sparse_rows(), sparse_rows(30, seed=1)

EMBEDDINGS = [
    es.LaplacianEigenmaps(),
    es.LaplacianEigenmaps(metric="cosine", weights="cosine"),
    es.LaplacianEigenmaps(metric="cosine", extension="barycentric", weights="local"),
    es.LaplacianEigenmaps(landmarks=100),
    es.LaplacianEigenmaps(graph=es.Radius(14.0)),
    es.DiffusionMap(metric="cosine"),
    es.CommuteTimeEmbedding(),
    es.SpectralClustering(3, metric="cosine"),
    es.Isomap(),
    es.Isomap(metric="cosine", conformal=True),
    es.LandmarkIsomap(metric="cosine", landmarks=60),
    es.LLE(reg=1e-2),
    es.LLE(metric="cosine", reg=1e-2),
    es.ModifiedLLE(n_neighbors=12),
    es.LTSA(n_neighbors=12),
    es.HessianLLE(n_neighbors=12),
]


@pytest.mark.filterwarnings("ignore::eigenspan.errors.EigenspanWarning")
@pytest.mark.parametrize("estimator", EMBEDDINGS, ids=str)
@pytest.mark.every(4)
def test_sparse_rows_are_embedded_as_dense_ones(estimator: Any) -> None:
    dense = estimator.fit(TEXTS.toarray())
    wanted, placed = dense.embedding_.copy(), dense.transform(MORE.toarray())
    for kind in (sp.csr_array, sp.csr_matrix, _long):
        fitted = estimator.fit(kind(TEXTS))
        size = np.abs(wanted).max()
        assert_allclose_up_to_sign(fitted.embedding_, wanted, atol=1e-6 * size)
        sign = np.sign(np.sum(fitted.embedding_ * wanted, axis=0))
        np.testing.assert_allclose(fitted.transform(kind(MORE)), placed * sign, atol=1e-5 * size)
        np.testing.assert_allclose(fitted.transform(kind(TEXTS)), fitted.embedding_, atol=1e-6 * size)
        again = pickle.loads(pickle.dumps(fitted))
        np.testing.assert_allclose(again.transform(kind(MORE)), placed * sign, atol=1e-5 * size)


@pytest.mark.parametrize("estimator", [es.LaplacianEigenmaps(), es.Isomap(), es.LLE()], ids=str)
def test_no_dense_copy_of_sparse_rows(estimator: Any) -> None:
    rng = np.random.default_rng(0)
    X = sp.hstack([TEXTS, sp.csr_array((240, 200_000))], format="csr")  # 370 MB if it were dense
    more = (np.full(500, 1e-3), (rng.integers(240, size=500), rng.integers(200_000, size=500)))
    X = sp.csr_array(X + sp.csr_array(more, shape=X.shape))
    tracemalloc.start()
    fitted = estimator.fit(X)
    fitted.transform(X[:50])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60e6
    assert_healthy(fitted.embedding_, 240)


def test_coincident_sparse_rows_are_at_distance_zero() -> None:
    X = sp.vstack([TEXTS, TEXTS[:3]], format="csr")
    graph = es.KNN(5).build(sp.csr_array(X))
    assert graph.distances[0, 240] == 0
    assert np.sum(graph.distances.data == 0) == 6
    fitted = es.LaplacianEigenmaps().fit(X)
    np.testing.assert_array_equal(fitted.transform(X)[240:], fitted.embedding_[:3])  # looked up, as dense rows are


# ---------------------------------------------------------------------- affinities
def affinities(n_neighbors: int = 12) -> sp.csr_array:
    D = kneighbors_graph(ROLL, n_neighbors, mode="distance")
    D = D.maximum(D.T)
    W = sp.csr_array((np.exp(-((D.data / 3.0) ** 2)), D.indices, D.indptr), shape=D.shape)
    W.indices, W.indptr = W.indices.astype(np.int32), W.indptr.astype(np.int32)  # scikit-learn takes no others
    return W


GIVEN: dict[str, Any] = {"graph": "precomputed", "weights": "precomputed"}
TAKERS = [
    es.LaplacianEigenmaps(3, **GIVEN),
    es.LaplacianEigenmaps(3, metric="precomputed", weights="precomputed"),
    es.DiffusionMap(3, **GIVEN),
    es.CommuteTimeEmbedding(3, **GIVEN),
    es.SpectralClustering(3, **GIVEN),
]


@pytest.mark.parametrize("estimator", TAKERS, ids=str)
def test_sparse_affinities_are_taken_as_dense_ones(estimator: Any) -> None:
    W = affinities()
    dense = estimator.fit(W.toarray())
    wanted, rows = dense.embedding_.copy(), W[:20]
    placed = dense.transform(rows.toarray())
    for kind in (sp.csr_array, sp.csr_matrix, sp.coo_array):
        fitted = estimator.fit(kind(W))
        assert_allclose_up_to_sign(fitted.embedding_, wanted, atol=1e-8 * np.abs(wanted).max())
        sign = np.sign(np.sum(fitted.embedding_ * wanted, axis=0))
        np.testing.assert_allclose(fitted.transform(kind(rows)), placed * sign, atol=1e-8 * np.abs(placed).max())


def test_eigenmaps_of_affinities_against_scikit_learn() -> None:
    W = affinities()
    theirs = manifold.SpectralEmbedding(2, affinity="precomputed", eigen_solver="arpack", random_state=0).fit(W)
    ours = es.LaplacianEigenmaps(2, **GIVEN).fit(W).embedding_
    lengths = np.linalg.norm(theirs.embedding_, axis=0) / np.linalg.norm(ours, axis=0)
    assert_allclose_up_to_sign(theirs.embedding_, ours * lengths, atol=1e-6)


def test_clusters_of_affinities_against_scikit_learn() -> None:
    X, _ = make_moons(200, noise=0.05, random_state=0)
    W = rbf_kernel(X, gamma=30.0)
    W[W < 1e-3] = 0
    theirs = cluster.SpectralClustering(2, affinity="precomputed", random_state=0).fit_predict(W)
    for given in (W, sp.csr_array(W)):
        ours = es.SpectralClustering(2, **GIVEN).fit_predict(given)
        assert np.mean(ours == theirs) in (0.0, 1.0)


@pytest.mark.parametrize("kind", [sp.csr_array, lambda W: W.toarray()], ids=["sparse", "dense"])
@pytest.mark.parametrize("estimator", TAKERS, ids=str)
def test_affinities_that_are_none_are_explained(estimator: Any, kind: Any) -> None:
    W = affinities()
    skew = W.copy()
    skew[0, W.indices[W.indptr[0]]] = 0.25
    with pytest.raises(GraphError, match=r"not symmetric: .* reaches .* \(W \+ W.T\) / 2"):
        estimator.fit(kind(skew))
    with pytest.raises(GraphError, match=r"must not be negative; \d+ of \d+ are, the smallest -1\. .*exp\("):
        estimator.fit(kind(-W / W.max()))
    with pytest.raises(GraphError, match="must be a square matrix; X has shape"):
        estimator.fit(kind(W[:100]))
    if not isinstance(estimator, es.SpectralClustering):
        apart = sp.block_diag([W, W], format="csr")
        with pytest.raises(GraphError, match=r'affinities are disconnected.*Add edges, or pass disconnected="largest"'):
            estimator.fit(kind(apart))


def test_similarities_taken_for_distances_are_told_what_to_say() -> None:
    W = sp.csr_array(affinities() + sp.eye_array(300))
    for given in (W, W.toarray()):
        for estimator in (es.LaplacianEigenmaps(graph="precomputed"), es.Isomap(metric="precomputed")):
            with pytest.raises(GraphError, match=r'diagonal .* reaches 1\. .*weights="precomputed"'):
                estimator.fit(given)


@pytest.mark.parametrize(
    "make",
    [es.LaplacianEigenmaps, es.DiffusionMap, es.CommuteTimeEmbedding, es.SpectralClustering],
    ids=lambda make: make.__name__,
)
def test_scikit_learns_name_for_affinities_leads_to_ours(make: Any) -> None:
    with pytest.raises(TypeError, match=r'no parameter \'affinity\'.* graph="precomputed", weights="precomputed"'):
        make(affinity="precomputed")


def test_sparse_distances_as_rows() -> None:
    D = kneighbors_graph(ROLL, 10, mode="distance")
    D = sp.csr_array(D.maximum(D.T))
    wanted = es.Isomap(n_neighbors=10).fit(ROLL).embedding_
    fitted = es.Isomap(metric="precomputed").fit(D)
    assert_allclose_up_to_sign(fitted.embedding_, wanted, atol=1e-8 * np.abs(wanted).max())
    row = D[[0]].toarray()
    stored = sp.csr_array(
        (np.append(row[row > 0], 0.0), (np.zeros(np.sum(row > 0) + 1, int), np.append(np.flatnonzero(row), 0))),
        shape=(1, 300),
    )
    np.testing.assert_allclose(fitted.transform(stored), fitted.embedding_[:1])
    with pytest.raises(GraphError, match=r"1 of 1 new points .* no known distance"):
        fitted.transform(sp.csr_array((1, 300)))


# ---------------------------------------------------------------------- metrics
@pytest.mark.parametrize(
    "make", [es.LaplacianEigenmaps, es.Isomap, es.LLE, es.LTSA, es.DiffusionMap], ids=lambda m: m.__name__
)
@pytest.mark.every(2)
def test_a_flat_metric_is_that_of_the_graph(make: Any) -> None:
    X = np.abs(ROLL) + 1
    for metric in ("cosine", "manhattan"):
        flat, spec = make(n_neighbors=9, metric=metric).fit(X), make(graph=es.KNN(9, metric=metric)).fit(X)
        np.testing.assert_array_equal(flat.embedding_, spec.embedding_)
        assert make(graph=es.KNN(9, metric=metric), metric=metric).fit(X).graph_.finder.metric == metric


@pytest.mark.parametrize("make", [es.LPP, es.OLPP, es.NPP, es.ONPP, es.LLTSA], ids=lambda m: m.__name__)
def test_projections_take_a_flat_metric_too(make: Any) -> None:
    X = np.abs(ROLL) + 1
    flat, spec = make(n_neighbors=9, metric="cosine").fit(X), make(graph=es.KNN(9, metric="cosine")).fit(X)
    np.testing.assert_array_equal(flat.components_, spec.components_)
    with pytest.raises(GraphError, match="metric='cosine' and graph='class' specify different metrics"):
        make(metric="cosine", graph="class").fit(X, np.arange(300) % 3)
    with pytest.raises(GraphError, match="maps coordinates, so X cannot hold distances"):
        make(metric="precomputed").fit(cdist(X, X))


def test_metrics_with_parameters() -> None:
    for given, plain in (({"p": 1}, "manhattan"), ({"p": 2}, "euclidean"), ({"p": np.inf}, "chebyshev")):
        graph = es.KNN(7, metric="minkowski", metric_params=given).build(ROLL)
        assert graph.finder.metric == plain
    fitted = es.LaplacianEigenmaps(n_neighbors=8, metric="minkowski", metric_params={"p": 3}).fit(ROLL)
    wanted = kneighbors_graph(ROLL, 8, mode="distance", metric="minkowski", p=3)
    assert relative(fitted.graph_.distances.toarray(), wanted.toarray()) < 1e-12
    D = cdist(ROLL[:3] + 0.5, ROLL, "minkowski", p=3)
    rows = fitted.graph_.joining().relate(ROLL[:3] + 0.5)
    assert_healthy(fitted.transform(ROLL[:3] + 0.5), 3)
    assert np.allclose(rows.data, D[np.repeat(np.arange(3), np.diff(rows.indptr)), rows.indices])
    theirs = manifold.Isomap(n_neighbors=8, p=3).fit(ROLL)
    ours = es.Isomap(n_neighbors=8, metric="minkowski", metric_params={"p": 3}).fit(ROLL)
    assert_allclose_up_to_sign(ours.embedding_, theirs.embedding_, atol=1e-8 * np.abs(theirs.embedding_).max())


def test_two_metrics_are_one_too_many() -> None:
    for graph in (es.KNN(5), es.Radius(9.0), "precomputed", kneighbors_graph(ROLL, 5, mode="distance")):
        with pytest.raises(
            GraphError, match=r"metric='cosine' and graph=.*specify different metrics. .*KNN\(10, metric=...\)"
        ):
            es.Isomap(metric="cosine", graph=graph).fit(cdist(ROLL, ROLL))
    with pytest.raises(GraphError, match=r"metric=None, metric_params=\{'p': 3\} and graph=KNN"):
        es.SpectralClustering(2, metric_params={"p": 3}, graph=es.KNN(5)).fit(ROLL)


def test_precomputed_by_metric_as_in_scikit_learn() -> None:
    D = cdist(ROLL, ROLL)
    ours = es.Isomap(n_neighbors=8, metric="precomputed").fit(D)
    theirs = manifold.Isomap(n_neighbors=8, metric="precomputed").fit(D)
    assert_allclose_up_to_sign(ours.embedding_, theirs.embedding_, atol=1e-8 * np.abs(theirs.embedding_).max())
    assert ours.__sklearn_tags__().input_tags.pairwise


@pytest.mark.parametrize("spec", [es.KNN(5, metric="precomputed"), es.Radius(1.0, metric="precomputed")], ids=str)
def test_a_search_cannot_be_precomputed(spec: Any) -> None:
    with pytest.raises(GraphError, match=r'nothing to measure: .* say graph="precomputed"'):
        es.LaplacianEigenmaps(graph=spec).fit(cdist(ROLL, ROLL) - 1)


def test_labels_are_not_proposed_where_there_are_none() -> None:
    with pytest.raises(GraphError, match=r"graph='class' is not understood here.*or \"precomputed\". Labels .* LPP"):
        es.Isomap(graph="class").fit(ROLL)
    with pytest.raises(GraphError, match=r'graph=\'klass\' is not understood here.*, or "class"\.'):
        es.LPP(graph="klass").fit(ROLL)


# ---------------------------------------------------------------------- Isomap under scikit-learn's names
def test_isomap_has_the_attributes_of_scikit_learns() -> None:
    X = load_iris().data[:, :3] + np.random.default_rng(0).uniform(0, 0.01, (150, 3))
    theirs = manifold.Isomap(n_neighbors=40, n_components=2).fit(X)
    ours = es.Isomap(2, n_neighbors=40)
    with pytest.raises(NotFittedError):
        ours.reconstruction_error()
    assert not hasattr(ours, "dist_matrix_")
    ours.fit(X)
    np.testing.assert_allclose(ours.dist_matrix_, theirs.dist_matrix_, atol=1e-7)
    assert ours.reconstruction_error() == pytest.approx(theirs.reconstruction_error(), rel=1e-6)
    few = es.LandmarkIsomap(landmarks=50, n_neighbors=40).fit(X)
    with pytest.raises(AttributeError, match="no dist_matrix_ with landmarks"):
        _ = few.dist_matrix_
    with pytest.raises(InputError, match="without landmarks"):
        few.reconstruction_error()


@pytest.mark.parametrize(
    ("estimator", "words"),
    [
        (es.Isomap(), "from 3000 to 3000 points would need"),
        (es.Isomap(landmarks=2000), "from 2000 to 3000 points would need"),
        (es.LandmarkIsomap(landmarks=es.Landmarks(2000)), "from 2000 to 3000 points"),
        (es.Anchored(es.Isomap()), "from 3000 to 3000 points"),
    ],
    ids=str,
)
def test_isomap_is_refused_before_the_search(estimator: Any, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def searched(*_: Any, **__: Any) -> Any:
        raise AssertionError("The neighbours were searched for first.")

    monkeypatch.setattr("eigenspan.graphs.sample_graph.as_graph", searched)
    monkeypatch.setenv("EIGENSPAN_MEMORY", "20M")
    X = np.random.default_rng(0).standard_normal((3000, 3))
    y = np.full((3000, 2), np.nan)
    y[:9] = X[:9, :2]
    with pytest.raises(MemoryLimitError, match=words):
        estimator.fit(X, y) if isinstance(estimator, es.Anchored) else estimator.fit(X)


def test_cailliez_is_refused_before_the_distances(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distances, "point_distances", lambda *_, **__: pytest.fail("measured first"))
    monkeypatch.setenv("EIGENSPAN_MEMORY", "20M")
    with pytest.raises(MemoryLimitError, match="800×800 matrices behind Cailliez' constant"):
        es.ClassicalMDS(metric="cityblock", correction="cailliez").fit(
            np.random.default_rng(0).standard_normal((800, 3))
        )
