"""Matrices and neighbour lists computed by other tools: rounding errors are accepted, larger errors are rejected."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.datasets import load_digits, load_wine
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import cosine_similarity, rbf_kernel
from sklearn.neighbors import KNeighborsTransformer, RadiusNeighborsTransformer

import eigenspan as es
from eigenspan.data.pair_tables import accept_distances
from eigenspan.errors import GraphError, KernelError
from eigenspan.graphs import KNN, as_graph
from eigenspan.numerics.nearest.pair_matrices import settled_rows
from helpers import angle

DIGITS = load_digits().data[:150]
WINE = load_wine().data
E = cdist(DIGITS, DIGITS)


def expanded(X: Any, dtype: Any) -> Any:
    """Return distances from inner products in this precision, with their errors near zero."""
    X = X.astype(dtype)
    squares = np.einsum("ij,ij->i", X, X)
    products = np.stack([X @ x for x in X])
    return np.sqrt(np.maximum(squares[:, None] + squares - 2 * products, 0))


def embedded(D: Any) -> Any:
    return es.ClassicalMDS(2, metric="precomputed", correction="lingoes").fit(D)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("X", [DIGITS, WINE], ids=["digits", "wine"])
def test_distances_from_products_are_accepted(X: Any, dtype: Any) -> None:
    D = expanded(X, dtype)
    D[3, 3] = np.sqrt(np.finfo(dtype).eps) * D.max()  # the error of the largest |x|²
    given = D.copy()
    fitted, exact = embedded(D), embedded(cdist(X, X))
    np.testing.assert_array_equal(D, given)
    assert angle(fitted.embedding_, exact.embedding_) < 0.1
    # the diagonal counts as zero in new rows too: a training point is recognised
    np.testing.assert_allclose(
        fitted.transform(D[:20]), fitted.embedding_[:20], atol=2e-3 * np.abs(fitted.embedding_).max()
    )
    isomap = es.Isomap(2, graph="precomputed", n_neighbors=12).fit(D)
    np.testing.assert_array_equal(isomap.transform(D[3:5]), isomap.embedding_[3:5])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_single_precision_is_detected_in_any_container(dtype: Any) -> None:
    D = E.astype(np.float32)
    D[0, 1] *= 1 + 4e-6
    accepted = accept_distances(D.astype(dtype))
    assert accepted.dtype == np.float64
    assert accepted[0, 1] == accepted[1, 0] == (float(D[0, 1]) + float(D[1, 0])) / 2
    wrong = E.copy()
    wrong[0, 1] += 4e-6 * E.max()  # too large for double precision
    with pytest.raises(GraphError, match=r"not symmetric: .* reaches .* where d_ij reaches"):
        accept_distances(wrong)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_minus_a_cosine(dtype: Any) -> None:
    D = 1 - cosine_similarity(DIGITS.astype(dtype))
    D[2, 2] = -4 * np.finfo(dtype).eps
    assert D.min() < 0
    accepted = accept_distances(D)
    assert accepted.min() == 0
    assert not np.diagonal(accepted).any()
    np.testing.assert_allclose(accepted, D, atol=1e-6)
    assert angle(embedded(D).embedding_, embedded(pairwise_distances(DIGITS, metric="cosine")).embedding_) < 0.1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine", "correlation", "chebyshev", "sqeuclidean"])
def test_every_metric_of_scikit_learn(metric: str, dtype: Any) -> None:
    D = pairwise_distances(WINE.astype(dtype), metric=metric)
    np.testing.assert_allclose(accept_distances(D), D, atol=1e-6 * D.max())


def test_valid_matrices_are_not_copied() -> None:
    assert accept_distances(E) is E


def test_errors_beyond_rounding_are_refused_with_numbers() -> None:
    for dtype in (np.float32, np.float64):
        D = E.astype(dtype)
        shifted, negative = D.copy(), D.copy()
        shifted[4, 4] = 0.01 * D.max()
        negative[4, 5] = negative[5, 4] = -0.01 * D.max()
        with pytest.raises(GraphError, match=r"diagonal of a distance matrix must be zero; it reaches 0\.[67]"):
            accept_distances(shifted)
        with pytest.raises(GraphError, match=r"must not be negative; the smallest entry is -0\.[67]"):
            accept_distances(negative)
    counts = np.rint(E * 20)  # whole numbers are exact, so a difference of one is not rounding
    counts[0, 1] += 1
    with pytest.raises(GraphError, match=r"not symmetric: .* reaches 1 where"):
        accept_distances(counts)


# ---------------------------------------------------------------------- sparse graphs
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_neighbours_of_scikit_learn(metric: str, dtype: Any) -> None:
    X = np.random.default_rng(0).normal(3.0, 1.0, (200, 6)).astype(dtype)
    G = KNeighborsTransformer(n_neighbors=9, metric=metric, algorithm="brute").fit_transform(X)
    G.setdiag(np.where(np.arange(200) % 3 == 0, 2.4e-7, 0.0).astype(dtype))  # the result of expanding into products
    assert G.diagonal().max() > 0
    graph = es.LaplacianEigenmaps(2, graph="precomputed").fit(sp.csr_array(G)).graph_
    expected = KNN(9, metric=metric).build(X.astype(np.float64)).distances
    np.testing.assert_array_equal(graph.distances.indices, expected.indices)
    np.testing.assert_allclose(graph.distances.data, expected.data, rtol=2e-4, atol=2e-6)


def test_a_sparse_diagonal_beyond_rounding() -> None:
    G = RadiusNeighborsTransformer(radius=45.0, mode="connectivity").fit_transform(DIGITS)
    with pytest.raises(GraphError, match="diagonal of a distance matrix must be zero; it reaches 1"):
        es.Isomap(2, graph="precomputed").fit(G)
    # the same matrix holds affinities, whose diagonal is not used
    eigenmaps = es.LaplacianEigenmaps(2, graph="precomputed", weights="precomputed")
    without = G.copy()
    without.setdiag(0)
    np.testing.assert_allclose(eigenmaps.fit_transform(G), eigenmaps.fit_transform(without))


def test_edges_of_two_lengths() -> None:
    G = KNeighborsTransformer(n_neighbors=9).fit_transform(DIGITS)
    rounded = sp.csr_array(G.astype(np.float32).astype(np.float64))
    rounded.data *= np.random.default_rng(0).uniform(1 - 1e-7, 1 + 1e-7, rounded.nnz)
    assert as_graph(rounded, DIGITS).n == len(DIGITS)
    rounded.data *= np.random.default_rng(0).uniform(0.9, 1.1, rounded.nnz)
    with pytest.raises(GraphError, match=r"two lengths: .* reaches .* where d_ij reaches"):
        as_graph(rounded, DIGITS)


# ---------------------------------------------------------------------- lists
def test_padded_lists() -> None:
    distances, indices = cKDTree(DIGITS).query(DIGITS, 9)
    short = distances > np.quantile(distances, 0.9)
    short[:, :5] = False
    for index, distance in ((-1, np.inf), (-1, -1.0), (-1, np.nan), (len(DIGITS), np.inf), (0, np.inf)):
        padded = as_graph((np.where(short, index, indices), np.where(short, distance, distances)), DIGITS).distances
        dense = np.zeros(E.shape)
        rows = np.repeat(np.arange(len(E)), 9).reshape(-1, 9)
        dense[rows[~short], indices[~short]] = distances[~short]
        np.testing.assert_array_equal(padded.toarray(), dense)
    with pytest.raises(GraphError, match=r"must lie in 0..149; got -2"):
        as_graph((np.where(short, -2, indices), distances), DIGITS)


def test_lists_in_single_precision() -> None:
    D = expanded(DIGITS, np.float32)
    indices = np.argsort(D, axis=1)[:, :9]
    distances = np.take_along_axis(D, indices, axis=1)
    distances[:, 0] = 3e-3  # the point itself, at a distance due to rounding
    graph = as_graph((indices.astype(np.int32), distances), DIGITS)
    found, expected = (np.sort(g.distances.data.reshape(-1, 8)) for g in (graph, KNN(8).build(DIGITS)))
    np.testing.assert_allclose(found, expected, rtol=1e-4)  # rounding may exchange two equally distant neighbours


# ---------------------------------------------------------------------- affinities and kernels
def test_affinities_with_rounding_errors() -> None:
    W = np.exp(-(E**2) / 400)
    noisy = W.astype(np.float32)
    noisy[0, 1] *= 1 + 4e-6
    noisy[2, 3] = noisy[3, 2] = -1e-7
    exact = W.copy()
    exact[2, 3] = exact[3, 2] = 0.0
    eigenmaps = es.LaplacianEigenmaps(2, graph="precomputed", weights="precomputed")
    found = clone(eigenmaps).fit(noisy)
    assert angle(found.embedding_, eigenmaps.fit(exact).embedding_) < 0.01
    np.testing.assert_allclose(found.transform(noisy[:4]), found.embedding_[:4], rtol=1e-6)
    noisy[2, 3] = noisy[3, 2] = -1e-3
    with pytest.raises(GraphError, match="Affinities must not be negative; 2 of"):
        eigenmaps.fit(noisy)


def test_kernels_in_single_precision() -> None:
    K = rbf_kernel(DIGITS, gamma=1e-3)
    noisy = K.astype(np.float32)
    noisy[0, 1] += 5e-6
    kernel_pca = es.KernelPCA(2, kernel="precomputed")
    assert angle(kernel_pca.fit_transform(noisy), kernel_pca.fit_transform(K)) < 0.01
    noisy[0, 1] += 1e-4
    with pytest.raises(KernelError, match=r"not symmetric: .* reaches 0\.0001"):
        kernel_pca.fit(noisy)


# ---------------------------------------------------------------------- other libraries, where they are installed
def test_graphs_of_umap() -> None:
    umap_ = pytest.importorskip("umap.umap_", exc_type=ImportError)
    seed = np.random.RandomState(0)
    W = umap_.fuzzy_simplicial_set(DIGITS, 12, seed, "euclidean")[0]
    assert es.LaplacianEigenmaps(2, graph="precomputed", weights="precomputed").fit(W).graph_.n == len(DIGITS)
    indices, distances, _ = umap_.nearest_neighbors(DIGITS, 12, "euclidean", None, False, seed)
    found = es.Isomap(2, graph=(indices, distances)).fit_transform(DIGITS)
    assert angle(found, es.Isomap(2, n_neighbors=11).fit_transform(DIGITS)) < 0.1


def test_graphs_of_scanpy() -> None:
    scanpy, anndata = pytest.importorskip("scanpy"), pytest.importorskip("anndata")
    adata = anndata.AnnData(DIGITS.copy())
    scanpy.pp.neighbors(adata, n_neighbors=12, use_rep="X")
    isomap = es.Isomap(2, graph="precomputed").fit(adata.obsp["distances"])
    assert angle(isomap.embedding_, es.Isomap(2, n_neighbors=11).fit_transform(DIGITS)) < 0.1
    W = adata.obsp["connectivities"]
    assert es.DiffusionMap(2, graph="precomputed", weights="precomputed").fit(W).graph_.n == len(DIGITS)


def test_graphs_of_opentsne() -> None:
    affinity = pytest.importorskip("openTSNE.affinity")
    P = affinity.PerplexityBasedNN(DIGITS, perplexity=10, random_state=0)
    assert es.LaplacianEigenmaps(2, graph="precomputed", weights="precomputed").fit(P.P).graph_.n == len(DIGITS)
    indices, distances = P.knn_index.build()
    np.testing.assert_array_equal(
        as_graph((indices, distances), DIGITS).distances.indices,
        KNN(indices.shape[1]).build(DIGITS).distances.indices,
    )


def test_an_infinite_radius_joins_all_pairs() -> None:
    graph = es.Radius(np.inf).build(DIGITS)
    np.testing.assert_allclose(graph.distances.toarray(), E, atol=1e-9)
    everyone = es.Isomap(2, graph=es.Radius(np.inf)).fit(DIGITS)
    assert angle(everyone.embedding_, es.ClassicalMDS(2).fit_transform(DIGITS)) < 1e-5
    for radius in (0.0, -1.0, np.nan):
        with pytest.raises(GraphError, match="radius must be"):
            es.Radius(radius).build(DIGITS)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_one_far_point_does_not_make_the_others_coincide(form: Any) -> None:
    """If one point is far away, other distances are small relative to the largest of their row, but are not rounding errors."""
    X = np.vstack([np.random.default_rng(0).normal(size=(29, 3)), [[1e4, 0, 0]]])
    D = pairwise_distances(X).astype(np.float32).astype(np.float64)
    settled = settled_rows(form(D), distances=True)
    np.testing.assert_array_equal(settled.toarray() if sp.issparse(settled) else settled, D)
    fitted = es.ClassicalMDS(2, metric="precomputed").fit(D)
    np.testing.assert_allclose(fitted.transform(D), fitted.embedding_, atol=1e-4 * np.abs(fitted.embedding_[:29]).max())
