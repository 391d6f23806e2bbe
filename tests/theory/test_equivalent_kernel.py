"""Equivalent kernels: matrices computed independently, kernel PCA of them, and values at new points."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.linalg as la
import scipy.sparse as sp
from sklearn.datasets import make_swiss_roll
from sklearn.metrics import pairwise_distances
from sklearn.pipeline import make_pipeline

import eigenspan as es
from eigenspan import equivalent_kernel
from eigenspan.errors import EigenspanError, InputError, MemoryLimitError
from eigenspan.theory import equivalent
from helpers import angle, quietly, relative

DEGREES = 1e-4
K = 9


def roll(n: int = 140, seed: int = 0) -> Any:
    return make_swiss_roll(n, noise=0.1, random_state=seed)[0]


X = roll()
NEW = X[::6] + 0.6 * np.random.default_rng(3).standard_normal(X[::6].shape)
Y = (X[:, 0] > 0).astype(int)
H = np.eye(len(X)) - 1 / len(X)


def weights(sigma: float | None = None) -> Any:
    """Return heat weights of the K-nearest-neighbour graph, computed without the library; σ is half the median distance."""
    D = pairwise_distances(X)
    near = np.zeros(D.shape, dtype=bool)
    np.put_along_axis(near, np.argsort(D + np.diag(np.full(len(D), np.inf)), axis=1)[:, :K], True, axis=1)
    sigma = np.median(D[np.triu_indices(len(D), 1)]) / 2 if sigma is None else sigma
    return np.where(near | near.T, np.exp(-(D**2) / sigma**2), 0.0)


def laplacian(W: Any) -> Any:
    return np.diag(W.sum(axis=1)) - W


def normalised(M: Any, d: Any) -> Any:
    return M / np.sqrt(np.outer(d, d))


def walk_of(alpha: float) -> tuple[Any, Any]:
    W = weights() + np.eye(len(X))
    q = W.sum(axis=1) ** alpha
    W = W / np.outer(q, q)
    return normalised(W, W.sum(axis=1)), W.sum(axis=1)


def alignment(estimator: Any) -> Any:
    return estimator.problem_.A.to_dense()


def deflated_power(alpha: float, t: int) -> Any:
    S, d = walk_of(alpha)
    v = np.sqrt(d / d.sum())
    return d.sum() * np.linalg.matrix_power(S - np.outer(v, v), 2 * t)


# ---------------------------------------------------------------------- the table
#: Method, form, the matrix (before or after centring), and the kind of centring.
TABLE: dict[str, tuple[Any, str, Any, str]] = {
    "PCA": (es.PCA(2), "auto", lambda e: H @ X @ X.T @ H, "centred"),
    "PPCA": (es.PPCA(2), "auto", lambda e: H @ X @ X.T @ H, "centred"),
    "KernelPCA": (
        es.KernelPCA(2, gamma=0.01), "auto", lambda e: H @ np.exp(-0.01 * pairwise_distances(X) ** 2) @ H, "centred",
    ),
    "MDS": (es.ClassicalMDS(2), "auto", lambda e: -0.5 * H @ pairwise_distances(X) ** 2 @ H, "centred"),
    "MDS-cityblock": (
        es.ClassicalMDS(2, metric="cityblock"), "auto",
        lambda e: -0.5 * H @ pairwise_distances(X, metric="cityblock") ** 2 @ H, "centred",
    ),
    "Isomap": (es.Isomap(2, n_neighbors=K), "auto", lambda e: -0.5 * H @ e.dist_matrix_**2 @ H, "centred"),
    "KernelIsomap": (
        es.KernelIsomap(2, n_neighbors=K, psd="constant"), "auto",
        lambda e: -0.5 * H @ ((e.dist_matrix_ + e.constant_ * (1 - np.eye(len(X)))) ** 2) @ H, "centred",
    ),
    "LE": (
        es.LaplacianEigenmaps(2, n_neighbors=K), "auto", lambda e: normalised(weights(), weights().sum(axis=1)), "deflated",
    ),
    "LE-pseudo": (
        es.LaplacianEigenmaps(2, n_neighbors=K), "pseudo-inverse",
        lambda e: la.pinvh(normalised(laplacian(weights()), weights().sum(axis=1))), "deflated",
    ),
    "LE-shifted": (
        es.LaplacianEigenmaps(2, n_neighbors=K), "shifted",
        lambda e: shifted(normalised(laplacian(weights()), weights().sum(axis=1))), "deflated",
    ),
    "Clustering": (
        es.SpectralClustering(3, n_neighbors=K), "auto", lambda e: normalised(weights(), weights().sum(axis=1)), "none",
    ),
    "Clustering-ratio": (
        es.SpectralClustering(3, n_neighbors=K, cut="ratio"), "auto", lambda e: shifted(laplacian(weights())), "none",
    ),
    "CommuteTime": (
        es.CommuteTimeEmbedding(2, n_neighbors=K), "auto",
        lambda e: weights().sum() * la.pinvh(laplacian(weights())), "centred",
    ),
    "CommuteTime-shifted": (
        es.CommuteTimeEmbedding(2, n_neighbors=K), "shifted", lambda e: shifted(laplacian(weights())), "centred",
    ),
    "Diffusion": (es.DiffusionMap(2, n_neighbors=K, t=2), "auto", lambda e: deflated_power(1.0, 2), "deflated"),
    "Diffusion-half": (
        es.DiffusionMap(2, n_neighbors=K, alpha=0.5), "deflated", lambda e: deflated_power(0.5, 1), "deflated",
    ),
    "LLE": (es.LLE(2, n_neighbors=K), "auto", lambda e: shifted(reconstruction(e)), "centred"),
    "LLE-pseudo": (es.LLE(2, n_neighbors=K), "pseudo-inverse", lambda e: la.pinvh(reconstruction(e)), "centred"),
    "ModifiedLLE": (es.ModifiedLLE(2, n_neighbors=K), "auto", lambda e: shifted(alignment(e)), "centred"),
    "HessianLLE": (es.HessianLLE(2, n_neighbors=K), "auto", lambda e: shifted(alignment(e)), "centred"),
    "LTSA": (es.LTSA(2, n_neighbors=K), "auto", lambda e: shifted(alignment(e)), "centred"),
    "LTSA-pseudo": (es.LTSA(2, n_neighbors=K), "pseudo-inverse", lambda e: la.pinvh(alignment(e)), "centred"),
    "MVU": (es.MVU(2, n_neighbors=5), "auto", lambda e: e.embedding_full_ @ e.embedding_full_.T, "centred"),
    "TraceReducer": (
        es.TraceReducer(2, basis="samples", n_neighbors=K), "auto", lambda e: shifted(laplacian(weights())), "centred",
    ),
    "LPP": (es.LPP(2, n_neighbors=K), "auto", lambda e: projected(e.components_, e.mean_), "none"),
    "LDA": (es.LDA(1), "auto", lambda e: projected(e.components_, e.mean_), "none"),
    "SIR": (es.SIR(1), "auto", lambda e: projected(e.components_, e.mean_), "none"),
}  # fmt: skip


#: Methods whose embedding is a square root of the kernel.
GRAMS = {"PCA", "KernelPCA", "MDS", "Isomap", "KernelIsomap", "CommuteTime", "Diffusion", "MVU", "LPP", "LDA", "SIR"}


def projected(components: Any, mean: Any) -> Any:
    return (X - mean) @ components.T @ components @ (X - mean).T


def shifted(M: Any) -> Any:
    return la.eigvalsh(M)[-1] * np.eye(len(M)) - M


def reconstruction(estimator: Any) -> Any:
    F = np.eye(len(X)) - estimator.weights_.toarray()
    return F.T @ F


@pytest.fixture(scope="module")
def fits() -> dict[str, Any]:
    made: dict[str, Any] = {}
    for estimator, *_ in TABLE.values():
        if str(estimator) not in made:
            made[str(estimator)] = quietly(lambda e=estimator: e.fit(X, Y))
    return made


@pytest.fixture(params=TABLE)
def case(request: Any, fits: Any) -> Any:
    estimator, form, by_hand, centring = TABLE[request.param]
    fitted = fits[str(estimator)]
    return request.param, fitted, equivalent_kernel(fitted, X, form=form), by_hand, centring


def test_the_matrix_equals_its_definition(case: Any) -> None:
    _, fitted, kernel, by_hand, centring = case
    expected = by_hand(fitted)
    assert kernel.centring == centring
    assert min(relative(kernel.matrix, expected), relative(kernel.centred_matrix, expected)) < 1e-7
    Z = np.random.default_rng(0).standard_normal((len(X), 2))
    assert relative(kernel.operator @ Z, kernel.matrix @ Z) < 1e-8
    assert kernel.name
    assert kernel.statement
    assert kernel.condition


def test_kernel_pca_of_the_kernel_is_the_method(case: Any) -> None:
    _, fitted, kernel, by_hand, _ = case
    assert kernel.discrepancy() < DEGREES
    assert kernel.resolution() < DEGREES
    # the same with numpy only, given the removed vectors and the row scale
    N = kernel.removed
    P = np.eye(kernel.n) if N is None else np.eye(kernel.n) - N @ N.T
    U = la.eigh(P @ by_hand(fitted) @ P)[1][:, ::-1][:, : fitted.embedding_.shape[1]]
    assert angle(U if kernel.row_scale is None else kernel.row_scale[:, None] * U, fitted.embedding_) < DEGREES


def test_inner_products_equal_those_of_methods_that_maximise_a_gram_matrix(case: Any) -> None:
    """These embeddings have the inner products of the kernel, not only its axes."""
    name, fitted, kernel, _, _ = case
    if name.split("-")[0] in GRAMS and kernel.form != "shifted":
        assert relative(kernel.embed() @ kernel.embed().T, fitted.embedding_ @ fitted.embedding_.T) < 1e-7


def test_training_points_have_their_rows_of_the_kernel_and_positions(case: Any) -> None:
    _, _, kernel, _, _ = case
    assert relative(kernel.rows(X), kernel.centred_matrix) < 1e-8
    assert relative(kernel.transform(X), kernel.embed()) < 1e-8


def test_new_points_by_equation_seven(case: Any) -> None:
    """Compare with the explicit formula, and with the map of the method, which differs only close to training points."""
    name, fitted, kernel, _, _ = case
    N, K_ = kernel.removed, kernel.centred_matrix
    values, U = la.eigh(K_)
    d = fitted.embedding_.shape[1]
    values, U = values[::-1][:d], U[:, ::-1][:, :d]
    rows = kernel.rows(NEW)
    assert rows.shape == (len(NEW), kernel.n)
    if N is not None:
        assert np.abs(rows @ N).max() < 1e-8 * np.abs(rows).max()
    by_formula = rows @ (U / np.sqrt(values))
    placed = kernel.transform(NEW)
    size = np.linalg.norm(placed, axis=1)  # the scale of a row is the same for all axes
    ratio = np.linalg.norm(by_formula, axis=1) / size
    assert kernel.row_scale is not None or relative(ratio, np.ones(len(NEW))) < 1e-6
    T = la.lstsq(
        kernel.embed(),
        U * np.sqrt(values) if kernel.row_scale is None else kernel.row_scale[:, None] * U * np.sqrt(values),
    )[0]
    assert relative(by_formula / ratio[:, None], placed @ T) < 1e-6
    beyond = _away(fitted)
    if beyond.any():
        assert kernel.extension_discrepancy(NEW[beyond]) < 1e-6, name


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
def test_affinities_of_new_points_equal_their_definition(alpha: float) -> None:
    """k(x, ·) is a step of the walk from x, w(x, x_j)/√(d(x) d_j), times S^(2t − 1); all pairs have an edge here."""
    W, new = (np.exp(-(pairwise_distances(rows, X) ** 2) / 60) for rows in (X, NEW))
    np.fill_diagonal(W, 0.0)
    given = {"graph": "precomputed", "weights": "precomputed"}
    eigenmaps = equivalent_kernel(es.LaplacianEigenmaps(2, **given).fit(W))
    v = np.sqrt(W.sum(axis=1) / W.sum())
    step = normalised_rows(new, W.sum(axis=1))
    assert relative(eigenmaps.rows(new), step - np.outer(step @ v, v)) < 1e-9
    loops = W + np.eye(len(W))
    diffusion = equivalent_kernel(es.DiffusionMap(2, t=2, alpha=alpha, **given).fit(loops))
    q = loops.sum(axis=1) ** alpha
    loops = loops / np.outer(q, q)
    d = loops.sum(axis=1)
    v = np.sqrt(d / d.sum())
    S = normalised(loops, d)
    step = normalised_rows(new / np.outer(new.sum(axis=1) ** alpha, q), d)
    expected = d.sum() * (step - np.outer(step @ v, v)) @ np.linalg.matrix_power(S, 3)
    assert relative(diffusion.rows(new), expected) < 1e-8


def normalised_rows(W: Any, degrees: Any) -> Any:
    return W / np.sqrt(np.outer(W.sum(axis=1), degrees))


def _away(fitted: Any) -> Any:
    """Return a mask of new points at a distance from all training points; only the walk determines their positions."""
    D = pairwise_distances(X)
    spacing = np.where(D > 0, D, np.inf).min(axis=1)
    E = pairwise_distances(NEW, X)
    return (0.11 * spacing < E).all(axis=1)


def test_most_new_points_are_at_a_distance() -> None:
    assert _away(None).sum() > len(NEW) / 2


# ---------------------------------------------------------------------- what the table of the paper has wrong
def test_centring_the_normalised_affinity_gives_another_subspace(fits: Any) -> None:
    kernel = equivalent_kernel(fits[str(TABLE["LE"][0])])
    wrong = replace(kernel, removed=np.full((len(X), 1), len(X) ** -0.5))
    assert wrong.discrepancy() > 0.1
    assert kernel.discrepancy() < DEGREES


def test_the_plain_pseudo_inverse_is_the_ratio_cut(fits: Any) -> None:
    plain = la.eigh(la.pinvh(laplacian(weights())))[1][:, ::-1][:, :2]
    assert angle(plain, fits[str(TABLE["CommuteTime"][0])].embedding_) < DEGREES
    assert angle(plain, fits[str(TABLE["LE"][0])].embedding_) > 0.1


def test_the_shifted_matrix_is_only_semidefinite(fits: Any) -> None:
    values = la.eigvalsh(equivalent_kernel(fits[str(TABLE["LLE"][0])]).matrix)
    assert abs(values[0]) < 1e-10 * values[-1]


def test_the_smallest_eigenvalue_of_geodesics_is_reported(fits: Any) -> None:
    kernel = equivalent_kernel(fits[str(TABLE["Isomap"][0])])
    low = la.eigvalsh(kernel.matrix)[0]
    assert low < 0
    assert kernel.facts["smallest_eigenvalue"] == pytest.approx(low, rel=0.1)


# ---------------------------------------------------------------------- landmarks, copies, large n
@pytest.mark.parametrize(
    "estimator",
    [
        es.LandmarkMDS(2, landmarks=30),
        es.LandmarkMDS(2, landmarks=30, metric="cityblock"),
        es.LandmarkIsomap(2, landmarks=30, n_neighbors=K),
        es.Isomap(2, landmarks=30, n_neighbors=K),
        es.KernelPCA(2, landmarks=30, gamma=0.01),
        es.LPP(2, kernel=es.Kernel("rbf", gamma=0.01), n_neighbors=K),
        es.LPP(2, kernel=es.HeatKernel(1.0, n_neighbors=K), n_neighbors=K),
        es.LLE(2, landmarks=90, n_neighbors=K),
        es.LaplacianEigenmaps(2, landmarks=90, n_neighbors=K, extension="harmonic"),
    ],
    ids=lambda e: type(e).__name__,
)
def test_landmarks(estimator: Any) -> None:
    fitted = quietly(lambda: estimator.fit(X))
    kernel = equivalent_kernel(fitted, X)
    assert kernel.n == (90 if isinstance(estimator, es.LLE | es.LaplacianEigenmaps) else len(X))
    assert kernel.discrepancy() < DEGREES
    assert relative(kernel.transform(X[kernel.points]), kernel.embed()) < 1e-8
    if not isinstance(estimator, es.LaplacianEigenmaps):  # a harmonic map differs from eq. 7
        assert kernel.extension_discrepancy(NEW) < 1e-6


@pytest.mark.parametrize(
    "estimator",
    [
        es.Isomap(2, n_neighbors=K), es.LandmarkIsomap(2, landmarks=40, n_neighbors=K), es.LLE(2, n_neighbors=K),
        es.LaplacianEigenmaps(2, n_neighbors=K), es.DiffusionMap(2, n_neighbors=K, t=1.5), es.CommuteTimeEmbedding(2, n_neighbors=K),
        es.LTSA(2, n_neighbors=K), es.SpectralClustering(3, n_neighbors=K),
    ],
    ids=lambda e: type(e).__name__,
)  # fmt: skip
def test_duplicate_rows_are_one_point_with_a_mass(estimator: Any) -> None:
    repeated = np.vstack([X[:90], X[:25], X[:5]])
    kernel = equivalent_kernel(quietly(lambda: estimator.fit(repeated)))
    assert kernel.n == 90
    np.testing.assert_array_equal(kernel.points, np.arange(90))
    assert kernel.discrepancy() < DEGREES
    assert relative(kernel.transform(repeated[kernel.points]), kernel.embed()) < 1e-8


@pytest.mark.parametrize(
    "name", ["PCA", "KernelPCA", "LE", "LE-pseudo", "LLE", "LLE-pseudo", "Diffusion", "CommuteTime", "LPP"]
)
def test_many_points_need_no_dense_matrix(name: str, fits: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    estimator, form, *_ = TABLE[name]
    fitted = fits[str(estimator)]
    small = equivalent_kernel(fitted, X, form=form)
    expected = small.embed()
    monkeypatch.setattr(equivalent, "_SMALL", 10)
    monkeypatch.setattr(
        equivalent.EquivalentKernel, "centred_matrix", property(lambda self: pytest.fail("written out"))
    )
    large = equivalent_kernel(fitted, X, form=form)
    assert relative(large.embed() @ large.embed().T, expected @ expected.T) < 1e-6
    assert large.discrepancy() < DEGREES
    assert large.transform(NEW).shape == (len(NEW), 2)


def test_memory_is_checked_before_the_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = equivalent_kernel(es.LLE(2, n_neighbors=8).fit(roll(500)))
    monkeypatch.setenv("EIGENSPAN_MEMORY", "1M")
    with pytest.raises(MemoryLimitError, match="500×500 kernel matrix"):
        _ = kernel.matrix


# ---------------------------------------------------------------------- input
def test_containers_and_precision() -> None:
    plain = equivalent_kernel(es.PCA(2).fit(X), X)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    assert relative(equivalent_kernel(es.PCA(2).fit(frame), frame).matrix, plain.matrix) < 1e-12
    sparse = equivalent_kernel(es.PCA(2).fit(sp.csr_array(X)), sp.csr_array(X))
    assert relative(sparse.centred_matrix, plain.centred_matrix) < 1e-10
    assert sparse.discrepancy() < DEGREES
    assert relative(sparse.rows(NEW), plain.rows(NEW)) < 1e-9
    single = equivalent_kernel(es.LaplacianEigenmaps(2, n_neighbors=K).fit(X.astype(np.float32)))
    assert single.discrepancy() < DEGREES


def test_kernels_can_be_pickled_and_change_no_fit(fits: Any) -> None:
    fitted = fits[str(TABLE["LE"][0])]
    before, attributes = fitted.embedding_.copy(), set(vars(fitted))
    kernel = equivalent_kernel(fitted)
    kernel.matrix[:] = 0.0
    again = pickle.loads(pickle.dumps(equivalent_kernel(fitted)))
    assert again.discrepancy() < DEGREES
    np.testing.assert_array_equal(fitted.embedding_, before)
    assert set(vars(fitted)) == attributes


def test_more_or_fewer_axes(fits: Any) -> None:
    kernel = equivalent_kernel(fits[str(TABLE["MDS"][0])])
    assert kernel.embed(3).shape == (len(X), 3)
    assert relative(np.abs(kernel.embed(1)), np.abs(kernel.embed()[:, :1])) < 1e-8
    with pytest.raises(EigenspanError, match="only 3 positive eigenvalues"):
        kernel.embed(4)


@pytest.mark.parametrize(
    ("estimator", "more", "words"),
    [
        (es.PCA(2), {}, "does not keep its training data"),
        (es.LandmarkMDS(2, landmarks=20), {}, "pass X"),
        (es.PCA(2), {"X": X[:50]}, "X has 50 rows, but PCA was fitted to 140"),
        (es.PCA(2), {"X": X, "form": "shifted"}, "has one kernel only"),
        (es.LLE(2), {"form": "deflated"}, "LLE has 'shifted' and 'pseudo-inverse'"),
        (es.LLE(2), {"form": "other"}, "form='other' must be one of"),
        (es.DiffusionMap(2, t=0), {}, "t=0"),
        (es.SpectralClustering(2), {"form": "pseudo-inverse"}, "keeps the constant"),
        (es.MixturePPCA(1, n_clusters=2), {}, "MixturePPCA is not kernel PCA of any kernel"),
    ],
    ids=str,
)
def test_methods_without_such_a_kernel_are_refused(estimator: Any, more: Any, words: str) -> None:
    fitted = quietly(lambda: estimator.fit(X))
    with pytest.raises(InputError, match=words):
        equivalent_kernel(fitted, **more)


def test_views_pipelines_and_missing_entries_are_refused() -> None:
    with pytest.raises(InputError, match="several views"):
        equivalent_kernel(es.CCA(1).fit(X[:, :2], X[:, 1:]))
    with pytest.raises(InputError, match="last step"):
        equivalent_kernel(make_pipeline(es.PCA(2)).fit(X))
    with pytest.raises(Exception, match="not fitted"):
        equivalent_kernel(es.LLE(2))
    gaps = X.copy()
    gaps[3, 1] = np.nan
    with pytest.raises(InputError, match="missing entries"):
        equivalent_kernel(es.PPCA(2).fit(gaps), gaps)


def test_new_points_are_checked(fits: Any) -> None:
    kernel = equivalent_kernel(fits[str(TABLE["LE"][0])])
    with pytest.raises(ValueError, match="features"):
        kernel.transform(NEW[:, :2])
    with pytest.raises(ValueError, match="NaN"):
        kernel.rows(np.full((1, 3), np.nan))


def test_new_points_are_refused_if_the_map_is_not_that_of_the_kernel() -> None:
    kernel = equivalent_kernel(quietly(lambda: es.MVU(2, n_neighbors=5, extension="kernel-map").fit(X)))
    assert kernel.discrepancy() < DEGREES
    with pytest.raises(InputError, match="no value at new points"):
        kernel.transform(NEW)
