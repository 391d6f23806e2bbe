"""Kernels over a neighbour graph: against the matrix functions they are named after, in every kernel method, at new points."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.linalg as la
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_swiss_roll
from sklearn.metrics import pairwise_distances
from sklearn.svm import SVC

import eigenspan as es
from eigenspan.errors import GraphError, InputError, KernelError, MemoryLimitError
from eigenspan.problem import matrix_functions as functions
from helpers import angle, cloud, quietly, relative

X = make_swiss_roll(120, noise=0.1, random_state=0)[0]
NEW = X[::5] + 0.3 * cloud(24, seed=4)
Y = (X[:, 0] > 0).astype(int)
K = 8


def weights(rows: Any = X, k: int = K) -> Any:
    """Heat weights of the k-nearest-neighbour graph, built without the library."""
    D = pairwise_distances(rows)
    near = np.zeros(D.shape, dtype=bool)
    np.put_along_axis(near, np.argsort(D + np.diag(np.full(len(D), np.inf)), axis=1)[:, :k], True, axis=1)
    sigma = np.median(D[np.triu_indices(len(D), 1)]) / 2
    return np.where(near | near.T, np.exp(-(D**2) / sigma**2), 0.0)


W = weights()
DEGREES = W.sum(axis=1)
L = np.diag(DEGREES) - W
NORMALISED = L / np.sqrt(np.outer(DEGREES, DEGREES))


def reconstruction() -> Any:
    F = np.eye(len(X)) - es.LLE(2, n_neighbors=K).fit(X).weights_.toarray()
    return F.T @ F


CASES: list[tuple[Any, Any]] = [
    (es.HeatKernel(0.1, n_neighbors=K), lambda: la.expm(-0.1 * L)),
    (es.HeatKernel(3.0, n_neighbors=K), lambda: la.expm(-3 * L)),
    (es.HeatKernel(200.0, n_neighbors=K), lambda: la.expm(-200 * L)),
    (es.HeatKernel(3.0, n_neighbors=K, normalised=True), lambda: la.expm(-3 * NORMALISED)),
    (es.CommuteTimeKernel(n_neighbors=K), lambda: la.pinvh(L)),
    (es.CommuteTimeKernel(n_neighbors=K, normalised=True), lambda: la.pinvh(NORMALISED)),
    (es.ReconstructionKernel(K), lambda: la.pinvh(reconstruction())),
]
cases = pytest.mark.parametrize(("spec", "expected"), CASES, ids=[str(spec) for spec, _ in CASES])


@cases
def test_the_kernel_is_the_function_of_the_form(spec: Any, expected: Any) -> None:
    matrix = spec.bind(X)(X)
    assert relative(matrix, expected()) < (1e-6 if isinstance(spec, es.ReconstructionKernel) else 1e-9)  # cond M > 1e6
    assert relative(matrix, matrix.T) < 1e-13
    rows = spec.bind(X).among(np.array([3, 0, 50]))
    rounding = 1e-13 * np.abs(matrix).max()
    np.testing.assert_allclose(rows(X), matrix[:, [3, 0, 50]], atol=rounding)
    np.testing.assert_allclose(rows.block(X, np.arange(4), np.array([7, 8])), matrix[:4][:, [7, 8]], atol=rounding)


@cases
def test_new_points_have_the_mean_of_their_neighbours(spec: Any, expected: Any) -> None:
    """The extended matrix is positive semidefinite, and in the span of the training rows; that of a walk is continuous there, while
    local reconstruction has its regularisation between a point and its copy, as LLE has."""
    bound = spec.bind(X)
    matrix, rows = bound(X), bound(NEW)
    assert rows.shape == (len(NEW), len(X))
    near = 0.1 if isinstance(spec, es.ReconstructionKernel) else 1e-5
    assert relative(bound(X + 1e-9 * cloud(120, seed=1)), matrix) < near
    R = la.lstsq(matrix.T, rows.T, cond=1e-13)[0].T
    assert relative(R @ matrix, rows) < 1e-6
    both = np.block([[matrix, rows.T], [rows, bound.joining(NEW) @ rows.T]])
    assert la.eigvalsh((both + both.T) / 2)[0] > -1e-8 * la.eigvalsh(both)[-1]


@pytest.mark.parametrize("normalised", [False, True])
def test_the_values_of_a_new_point_are_harmonic(normalised: bool) -> None:
    """Σ_j w(x, x_j) (f(x) − f(x_j)) = 0 for the values f = k(·, x_i): what the Laplacian's cost of one more point asks for. Functions of
    the normalised Laplacian are multiplied by the root of the degree."""
    bound = es.CommuteTimeKernel(n_neighbors=K, weights=es.Heat(5.0), normalised=normalised).bind(X)
    far = NEW[(pairwise_distances(NEW, X).min(axis=1)) > 0.4][:1]  # beyond the reach of any training point's own place
    D = pairwise_distances(far, X)[0]
    rows, matrix = bound(far)[0], bound(X)
    E = pairwise_distances(X)
    reach = np.sort(E, axis=1)[:, K]
    joined = (np.sort(D)[K - 1] >= D) | (reach >= D)
    w = np.where(joined, np.exp(-(D**2) / 25), 0.0)
    if normalised:
        near = (reach[:, None] >= E) | (reach >= E)
        degrees = np.where(near & (E > 0), np.exp(-(E**2) / 25), 0.0).sum(axis=1)
        rows, matrix = rows / np.sqrt(w.sum()), matrix / np.sqrt(degrees)[:, None]
    assert np.abs(w.sum() * rows - w @ matrix).max() < 1e-9 * np.abs(matrix).max() * w.sum()


# ---------------------------------------------------------------------- in kernel methods
@pytest.mark.parametrize("spec", [spec for spec, _ in CASES if getattr(spec, "t", 0) < 100], ids=str)
@pytest.mark.parametrize(
    "method",
    [
        es.KernelPCA(2), es.KernelPCA(2, landmarks=40), es.KernelPCA(2, preimage="ridge"), es.LPP(2, n_neighbors=K),
        es.NPP(2, landmarks=40, n_neighbors=K), es.LDA(1), es.SupervisedPCA(1),
    ],
    ids=["KernelPCA", "KernelPCA-landmarks", "KernelPCA-preimage", "LPP", "NPP-landmarks", "LDA", "SupervisedPCA"],
)  # fmt: skip
@pytest.mark.every(3)
def test_graph_kernels_work_with_every_kernel_method(spec: Any, method: Any) -> None:
    estimator = clone(method).set_params(kernel=spec)
    placed = quietly(lambda: estimator.fit_transform(X, Y))
    assert relative(estimator.transform(X), placed) < 1e-6
    again = pickle.loads(pickle.dumps(estimator))
    assert relative(again.transform(NEW), estimator.transform(NEW)) < 1e-10
    assert np.isfinite(again.transform(NEW)).all()
    one = np.vstack([estimator.transform(NEW[i : i + 1]) for i in range(len(NEW))])
    assert relative(one, estimator.transform(NEW)) < 1e-6


def test_kernel_pca_of_the_pseudo_inverse_is_the_ratio_cut() -> None:
    kpca = es.KernelPCA(3, kernel=es.CommuteTimeKernel(n_neighbors=K)).fit(X)
    ratio = es.CommuteTimeEmbedding(3, n_neighbors=K).fit(X)
    assert angle(kpca.embedding_, ratio.embedding_) < 1e-4
    T = la.lstsq(kpca.embedding_, ratio.embedding_)[0]
    assert relative(kpca.transform(NEW) @ T, ratio.transform(NEW)) < 1e-8  # both harmonic


def test_kernel_pca_of_heat_is_the_ratio_cut_too() -> None:
    """exp(−tL) falls where L grows: the axes are the same, and so are they for L† and every t."""
    ratio = es.CommuteTimeEmbedding(3, n_neighbors=K).fit(X).embedding_
    for t in (0.5, 5.0):
        assert angle(es.KernelPCA(3, kernel=es.HeatKernel(t, n_neighbors=K)).fit(X).embedding_, ratio) < 1e-4


def test_kernel_pca_of_reconstruction_is_lle() -> None:
    kpca = es.KernelPCA(2, kernel=es.ReconstructionKernel(K)).fit(X)
    lle = es.LLE(2, n_neighbors=K).fit(X)
    assert angle(kpca.embedding_, lle.embedding_) < 1e-4
    T = la.lstsq(kpca.embedding_, lle.embedding_)[0]
    assert relative(kpca.transform(NEW) @ T, lle.transform(NEW)) < 1e-6


def test_graph_kernels_work_as_precomputed_kernels_of_a_classifier() -> None:
    rows = es.HeatKernel(2.0, n_neighbors=K).bind(X)
    assert SVC(kernel="precomputed", C=100).fit(rows(X), Y).score(rows(NEW), (NEW[:, 0] > 0).astype(int)) > 0.8


def test_distances_are_commute_times() -> None:
    matrix = es.CommuteTimeKernel(n_neighbors=K).bind(X)(X)
    full = quietly(lambda: es.CommuteTimeEmbedding(len(X) - 1, n_neighbors=K).fit(X)).embedding_
    squares = np.diag(matrix)[:, None] + np.diag(matrix) - 2 * matrix
    assert relative(W.sum() * squares, pairwise_distances(full) ** 2) < 1e-7


# ---------------------------------------------------------------------- graphs and data of every kind
def test_different_components_have_kernel_value_zero() -> None:
    two = np.vstack([X[:60], X[60:] + 1000.0])
    with np.errstate(divide="raise", invalid="raise"):
        for spec in (
            es.HeatKernel(1e6, n_neighbors=5),
            es.CommuteTimeKernel(n_neighbors=5),
            es.ReconstructionKernel(5),
        ):
            matrix = spec.bind(two)(two)
            assert np.abs(matrix[:60, 60:]).max() < 1e-9 * np.abs(matrix).max()
    heat = es.HeatKernel(1e6, n_neighbors=5).bind(two)(two)
    np.testing.assert_allclose(heat.sum(axis=1), 1.0, rtol=1e-8)  # heat is spread, and none is lost


def test_duplicate_rows_have_equal_kernel_rows() -> None:
    repeated = np.vstack([X, X[:7]])
    matrix = es.HeatKernel(1.0, n_neighbors=K).bind(repeated)(repeated)
    assert matrix.shape == (127, 127)
    assert relative(matrix[:7], matrix[120:]) < 1e-13  # dense products round by place
    assert relative(matrix[:120, :120], la.expm(-L)) < 1e-9
    placed = es.KernelPCA(2, kernel=es.HeatKernel(1.0, n_neighbors=K)).fit_transform(repeated)
    assert relative(placed[:7], placed[120:]) < 1e-9


def test_graphs_and_containers() -> None:
    given = es.HeatKernel(1.0, graph=es.KNN(K))
    plain = es.HeatKernel(1.0, n_neighbors=K).bind(X)
    assert relative(given.bind(X)(X), plain(X)) < 1e-12
    graph = es.KNN(K).build(X)
    assert relative(es.HeatKernel(1.0, graph=graph).bind(X)(NEW), plain(NEW)) < 1e-12
    for table in (pd.DataFrame(X), X.astype(np.float32), sp.csr_array(X)):
        fitted = es.KernelPCA(2, kernel=es.HeatKernel(1.0, n_neighbors=K)).fit(table)
        expected = es.KernelPCA(2, kernel=es.HeatKernel(1.0, n_neighbors=K)).fit(X)
        assert angle(fitted.embedding_, expected.embedding_) < 1e-2
    binary = es.CommuteTimeKernel(n_neighbors=K, weights="binary").bind(X)(X)
    assert relative(binary, la.pinvh(np.diag((W > 0).sum(axis=1)) - (W > 0))) < 1e-9


def test_the_largest_part_of_a_kernel() -> None:
    exact = la.pinvh(L)
    values, U = la.eigh(exact)
    few = es.CommuteTimeKernel(n_neighbors=K, rank=5).bind(X)
    assert few.factor.shape == (120, 5)
    assert relative(few(X), (U[:, -5:] * values[-5:]) @ U[:, -5:].T) < 1e-8
    heat = es.HeatKernel(50.0, n_neighbors=K).bind(X)
    assert heat.factor.shape[1] < 60


def test_a_smooth_heat_kernel_needs_few_eigenvectors(monkeypatch: pytest.MonkeyPatch) -> None:
    points = make_swiss_roll(400, random_state=1)[0]
    exact = es.HeatKernel(2000.0).bind(points)(points)
    monkeypatch.setattr(functions, "_SMALL", 10)
    monkeypatch.setattr(functions, "_FEW", 8)
    monkeypatch.setattr(functions.FunctionOf, "eigenpairs", property(lambda self: pytest.fail("all of them")))
    assert relative(es.HeatKernel(2000.0).bind(points)(points), exact) < 1e-9


def test_it_is_a_specification() -> None:
    spec = es.HeatKernel(2.0, weights="binary")
    assert spec.get_params()["t"] == 2.0
    assert clone(spec).weights == "binary"
    assert es.KernelPCA(kernel=spec).get_params()["kernel__t"] == 2.0
    assert "HeatKernel" in repr(es.LPP(kernel=spec))


@pytest.mark.parametrize(
    ("spec", "error", "words"),
    [
        (es.HeatKernel(-1.0), KernelError, "t must be a positive number"),
        (es.HeatKernel(1.0, n_neighbors=0), KernelError, "n_neighbors must be"),
        (es.HeatKernel(1.0, n_neighbors=500), GraphError, "n_neighbors=500"),
        (es.HeatKernel(1.0, graph="knn"), KernelError, "graph"),
        (es.HeatKernel(1.0, weights="none"), GraphError, "weights"),
        (es.CommuteTimeKernel(rank=0), KernelError, "rank must be"),
        (es.ReconstructionKernel(reg=-1.0), KernelError, "reg must be"),
        (es.CommuteTimeKernel(normalised=True, n_neighbors=5, weights=es.Heat(1e-3)), InputError, "weight"),
        (es.Heat(), KernelError, "neither a name"),
    ],
    ids=str,
)
def test_bad_specifications_are_refused(spec: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        es.KernelPCA(2, kernel=spec).fit(X)


def test_memory_is_checked_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EIGENSPAN_MEMORY", "2M")
    with pytest.raises(MemoryLimitError, match="rank="):
        es.HeatKernel(1.0).bind(cloud(600))
