"""The three bases of the one problem: what they span, restrict, embed and map."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg as la
import scipy.sparse as sp
from sklearn.metrics.pairwise import rbf_kernel

from eigenspan.data import KernelValues
from eigenspan.data.rows.moments import Moments
from eigenspan.errors import IndefiniteWarning, InputError, KernelError, MemoryLimitError, PrecisionWarning
from eigenspan.graphs import KNN, affinity
from eigenspan.problem import (
    DirectSum,
    Features,
    Kernel,
    Samples,
    Spectrum,
    cross_form,
    diagonal,
    gram_matrix,
    identity,
    kernel_rows,
    pose,
    solve,
)
from eigenspan.problem.forms import centring, laplacian
from helpers import angle

NOTHING = Spectrum(np.zeros(1), np.zeros((1, 1)), np.zeros(1))


def cloud(n: int = 30, D: int = 4, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, D)) + 2.0


def sparse_cloud(n: int = 40, D: int = 6, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, D)) * (rng.random((n, D)) < 0.4)


def centred(X: np.ndarray) -> np.ndarray:
    return X - X.mean(axis=0)


def check_spans(X: np.ndarray, rank: int, basis: Features | None = None) -> Features:
    """The basis is orthonormal, has the rank of the data, and loses nothing of it."""
    basis = Features.linear(X) if basis is None else basis
    Z = centred(np.asarray(X, dtype=np.float64))
    assert basis.dim == rank
    if basis.lift is None:
        np.testing.assert_allclose(basis.Z, Z, atol=1e-12 + 1e-15 * np.abs(X).max())
        return basis
    np.testing.assert_allclose(basis.lift.T @ basis.lift, np.eye(rank), atol=1e-10)
    scale = np.maximum(Z.std(axis=0), 1e-8 * np.abs(X).max(axis=0) + 1e-300)
    back = basis.Z @ basis.lift.T
    np.testing.assert_allclose(back / scale, Z / scale, atol=1e-6)
    return basis


# ---------------------------------------------------------------------- samples
def test_samples_are_their_own_basis() -> None:
    basis, form = Samples(5), identity(5)
    assert basis.restrict(form) is form
    assert basis.centred(np.ones(5)) is basis
    np.testing.assert_array_equal(basis.constant(), np.ones((5, 1)))
    V = cloud(5, 2)
    assert basis.embed(V) is V
    with pytest.raises(InputError, match="no extension"):
        basis.map(V, NOTHING)
    assert Samples(5, lambda Y, spectrum: "map").map(V, NOTHING) == "map"


# ---------------------------------------------------------------------- linear features
def test_full_rank_features_are_kept_as_they_are() -> None:
    X = cloud()
    basis = check_spans(X, 4)
    assert basis.lift is None
    assert basis.constant() is None


def test_rank_deficient_features() -> None:
    X = cloud()
    check_spans(np.column_stack([X, np.full(30, 5.0)]), 4)
    check_spans(np.column_stack([X, np.zeros(30)]), 4)
    check_spans(np.column_stack([X, X[:, 1]]), 4)
    check_spans(np.column_stack([X, X @ [1, 2, 3, 4]]), 4)
    check_spans(np.column_stack([X, np.full(30, 0.1), np.full(30, 1e9)]), 4)


@pytest.mark.parametrize("n, D", [(10, 10), (10, 50), (2, 5), (11, 10)])
def test_as_many_features_as_points(n: int, D: int) -> None:
    check_spans(cloud(n, D), min(n - 1, D))


@pytest.mark.parametrize("tiny", [1e-9, 1e-13, 1e-20])
def test_features_in_tiny_units_count(tiny: float) -> None:
    X = cloud()
    X[:, 2] = (X[:, 2] - 2) * tiny
    check_spans(X, 4)


@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize("unit", [1e-9, 1e9, 1e-13])
def test_features_in_odd_units_count_beside_redundant_ones(unit: float, as_sparse: bool) -> None:
    X = cloud()
    X[:, 2] = (X[:, 2] - 2) * unit
    X = np.column_stack([X, X[:, 0]])
    basis = Features.linear(sp.csr_array(X) if as_sparse else X)
    assert basis.dim == 4
    Z, odd = basis.embed(np.eye(4)), centred(X)[:, 2]
    Z = Z / np.abs(Z).max(axis=0)
    seen = Z @ np.linalg.lstsq(Z, odd / unit, rcond=None)[0]
    np.testing.assert_allclose(seen, odd / unit, atol=1e-3)


def test_faint_features_beside_redundant_ones_need_the_data() -> None:
    """The scatter holds the squares of what the data hold: a spread of 1e-7 is there in the one and lost in the other."""
    X = cloud(200)
    X = np.column_stack([X, X[:, 0] + 1e-7 * cloud(200, 1, seed=3)[:, 0], X[:, 1]])
    assert Features.linear(X).dim == 5
    with pytest.warns(PrecisionWarning, match="determine 4 of 6 directions.*cannot be read again"):
        assert Features.of_moments(Moments.of(X)).dim == 4
    assert Features.of_moments(Moments.read(X)).dim == 5


@pytest.mark.filterwarnings("ignore::eigenspan.errors.PrecisionWarning")
def test_features_from_moments_alone() -> None:
    X = np.column_stack([cloud(), np.full(30, 5.0)])
    for data in (X, np.column_stack([X, X[:, 0] + X[:, 1]]), X[:3]):
        basis, whole = Features.of_moments(Moments.of(data)), Features.linear(data)
        assert basis.dim == whole.dim
        assert angle(basis.lift, whole.lift) < 1e-5
        np.testing.assert_allclose(basis.lift.T @ basis.lift, np.eye(basis.dim), atol=1e-10)
    assert Features.of_moments(Moments.of(cloud())).lift is None


def test_features_far_from_the_origin() -> None:
    X = cloud() * 1e-3 + 1e6
    check_spans(X, 4)
    check_spans(np.column_stack([X, X[:, 0]]), 4)


@pytest.mark.parametrize("offset", [0.0, 300.0])
@pytest.mark.parametrize("as_sparse", [False, True])
def test_single_precision_invents_no_dimensions(offset: float, as_sparse: bool) -> None:
    """A duplicated column is one dimension, whatever rounding the mean would have in single precision."""
    rng = np.random.default_rng(0)
    X = (rng.integers(-4, 5, (5000, 3)) / 4 + offset).astype(np.float32)
    X = np.column_stack([X, X[:, 0]])
    basis = Features.linear(sp.csr_array(X) if as_sparse else X)
    assert basis.dim == 3
    Z = centred(X.astype(np.float64))
    # a product of three terms in single precision
    atol = 3 * np.finfo(np.float32).eps * np.abs(Z).max()
    np.testing.assert_allclose(basis.embed(np.eye(3)) @ basis.lift.T, Z, atol=atol)


def forms(n: int) -> dict[str, Any]:
    W = affinity(KNN(5).build(cloud(n, 3, seed=7)), "heat", cloud(n, 3, seed=7)).W
    return {"identity": identity(n), "centring": centring(n), "laplacian": laplacian(W)}


@pytest.mark.parametrize("deficient", [False, True])
@pytest.mark.parametrize("weights", ["uniform", "weighted", "none", "vanishing"])
def test_sparse_equals_dense(deficient: bool, weights: str) -> None:
    X = sparse_cloud()
    if deficient:
        X = np.column_stack([X, X[:, 0] - X[:, 1], np.zeros(40), np.full(40, 3.0)])
    w = {
        "uniform": np.ones(40),
        "weighted": np.linspace(0, 2, 40),
        "none": None,
        "vanishing": np.linspace(-1, 1, 40) * 1e-17,
    }[weights]
    thin, full = (Features.linear(M).centred(w) for M in (sp.csr_array(X), X))
    assert thin.dim == full.dim == 6
    T = np.eye(6) if thin.lift is None else thin.lift.T @ full.lift  # between the two orthonormal bases
    np.testing.assert_allclose(T.T @ T, np.eye(6), atol=1e-8)
    np.testing.assert_allclose(thin.offset, full.offset, atol=1e-12)
    np.testing.assert_allclose(thin.Z @ T, full.Z, atol=1e-9)
    new = sparse_cloud(7, X.shape[1], seed=5)
    V = np.random.default_rng(0).standard_normal((6, 2))
    np.testing.assert_allclose(thin.embed(T @ V), full.embed(V), atol=1e-9)
    np.testing.assert_allclose(thin.map(T @ V, NOTHING)(sp.csr_array(new)), full.map(V, NOTHING)(new), atol=1e-8)
    for form in forms(40).values():
        np.testing.assert_allclose(T.T @ thin.restrict(form).to_dense() @ T, full.restrict(form).to_dense(), atol=1e-8)
        np.testing.assert_allclose(full.restrict(form).to_dense(), full.Z.T @ (form @ full.Z), atol=1e-9)
        assert full.restrict(form).psd


def test_weighted_centring() -> None:
    X, w = cloud(), np.linspace(0, 3, 30)
    np.testing.assert_allclose(w @ Features.linear(X).centred(w).Z, 0, atol=1e-10)
    np.testing.assert_allclose(Features.linear(X).centred(np.zeros(30)).Z, centred(X), atol=1e-12)
    np.testing.assert_allclose(Features.linear(X).centred(None).Z, X)
    balanced = np.linspace(-1, 1, 30)  # weights that sum to nothing centre uniformly
    np.testing.assert_allclose(Features.linear(X).centred(balanced).Z, centred(X), atol=1e-12)


def test_map_of_training_points_is_the_embedding() -> None:
    X = np.column_stack([cloud(), np.ones(30)])
    basis = Features.linear(X).centred(np.linspace(0, 1, 30))
    V = np.random.default_rng(0).standard_normal((basis.dim, 2))
    np.testing.assert_allclose(basis.map(V, NOTHING)(X), basis.embed(V), atol=1e-12)


@pytest.mark.parametrize("as_sparse", [False, True])
def test_reduce_keeps_the_leading_axes(as_sparse: bool) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 12)) * 0.5 ** np.arange(12) + 1.0
    basis = Features.linear(sp.csr_array(X) if as_sparse else X, reduce=3)
    axes = la.svd(centred(X))[2][:3].T
    assert basis.dim == 3
    assert angle(basis.lift, axes) < 1e-3
    np.testing.assert_allclose(basis.lift.T @ basis.lift, np.eye(3), atol=1e-10)
    assert Features.linear(X, reduce=500).dim == 12
    assert Features.linear(X[:5], reduce=500).dim == 4
    assert Features.linear(np.column_stack([X[:, 0], X[:, 0]]), reduce=2).dim == 1


def test_too_many_features_are_rejected_with_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EIGENSPAN_MEMORY", "1M")
    X = sp.random_array((300, 2000), density=0.01, random_state=np.random.default_rng(0), format="csr")
    with pytest.raises(MemoryLimitError, match="reduce=r"):
        Features.linear(X)
    assert Features.linear(X, reduce=5).dim == 5


# ---------------------------------------------------------------------- kernel features
KERNELS = ("rbf", "linear", Kernel("poly", degree=2), "cosine", "laplacian", Kernel("rbf", gamma="median"), rbf_kernel)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: getattr(k, "__name__", str(k)))
def test_kernel_features_reproduce_the_centred_kernel(kernel: Any) -> None:
    X = cloud()
    basis = Features.kernel(kernel, X)
    K = gram_matrix(kernel_rows(kernel, X), X)
    H = np.eye(30) - 1 / 30
    np.testing.assert_allclose(basis.Z @ basis.Z.T, H @ K @ H, atol=1e-8 * np.abs(K).max())
    V = np.random.default_rng(0).standard_normal((basis.dim, 2))
    np.testing.assert_allclose(basis.map(V, NOTHING)(X), basis.embed(V), atol=1e-7 * np.abs(K).max())
    assert basis.relative_ridge > 0


def test_linear_kernel_is_the_linear_basis() -> None:
    X = cloud()
    kernel, linear = Features.kernel("linear", X), Features.linear(X)
    assert kernel.dim == linear.dim == 4
    np.testing.assert_allclose(kernel.Z @ kernel.Z.T, linear.Z @ linear.Z.T, atol=1e-9)


def test_precomputed_kernel() -> None:
    X, new = cloud(), cloud(6, seed=1)
    K = rbf_kernel(X)
    given, named = Features.kernel("precomputed", KernelValues(K)), Features.kernel(rbf_kernel, X)
    before = K.copy()
    np.testing.assert_allclose(given.Z, named.Z, atol=1e-10)
    V = np.eye(given.dim, 2)
    np.testing.assert_allclose(given.map(V, NOTHING)(rbf_kernel(new, X)), named.map(V, NOTHING)(new), atol=1e-10)
    np.testing.assert_array_equal(K, before)
    some = Features.kernel("precomputed", KernelValues(K), landmarks=[1, 5, 9])
    same = Features.kernel(rbf_kernel, X, landmarks=[1, 5, 9])
    np.testing.assert_allclose(some.Z, same.Z, atol=1e-10)
    V = np.eye(some.dim, 2)
    np.testing.assert_allclose(some.map(V, NOTHING)(rbf_kernel(new, X)), same.map(V, NOTHING)(new), atol=1e-10)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_all_points_as_landmarks_is_the_full_kernel(kernel: str) -> None:
    X = cloud()
    full, all_landmarks = Features.kernel(kernel, X), Features.kernel(kernel, X, landmarks=30)
    assert full.dim == all_landmarks.dim
    np.testing.assert_allclose(all_landmarks.Z @ all_landmarks.Z.T, full.Z @ full.Z.T, atol=1e-7)


def test_landmark_features_are_nystroem() -> None:
    X = cloud()
    chosen = np.array([0, 4, 9, 15, 22])
    K = rbf_kernel(X, gamma=0.25)
    nystroem = K[:, chosen] @ np.linalg.pinv(K[np.ix_(chosen, chosen)]) @ K[chosen]
    H = np.eye(30) - 1 / 30
    basis = Features.kernel(Kernel("rbf", gamma=0.25), X, landmarks=chosen)
    np.testing.assert_allclose(basis.Z @ basis.Z.T, H @ nystroem @ H, atol=1e-8)
    first, second = (Features.kernel("rbf", X, landmarks=7, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(first.Z, second.Z)


def test_kernel_that_is_not_positive_warns() -> None:
    X = cloud()
    with pytest.warns(IndefiniteWarning, match="not positive semidefinite"):
        basis = Features.kernel(lambda A, B: -(((A[:, None] - B[None]) ** 2).sum(axis=2) ** 1.5), X)
    K = -(((X[:, None] - X[None]) ** 2).sum(axis=2) ** 1.5)
    values, U = la.eigh(centred(centred(K).T))
    keep = values > 1e-10 * values[-1]
    np.testing.assert_allclose(basis.Z @ basis.Z.T, (U[:, keep] * values[keep]) @ U[:, keep].T, atol=1e-8 * values[-1])


def test_kernels_that_cannot_be_used() -> None:
    X = cloud()
    for kernel, message in (
        ("gauss", "unknown"),
        (3, "neither"),
        (lambda A, B: np.ones((2, 2)), "shape"),
        (lambda A, B: np.full((len(A), len(B)), np.nan), "NaN"),
        (lambda A, B: np.arange(float(len(A) * len(B))).reshape(len(A), len(B)), "not symmetric"),
    ):
        with pytest.raises(KernelError, match=message):
            Features.kernel(kernel, X)
    with pytest.raises(KernelError):
        Features.kernel("precomputed", KernelValues(X))


def test_identical_points_have_rank_zero() -> None:
    assert Features.linear(np.ones((6, 3))).dim == 0
    assert Features.linear(sp.csr_array(np.ones((6, 3)))).dim == 0
    with pytest.raises(KernelError, match="no difference"):
        Features.kernel("rbf", np.ones((6, 3)))


# ---------------------------------------------------------------------- two views
def test_direct_sum_stacks_views() -> None:
    X, Y = cloud(20, 3), cloud(20, 2, seed=1)
    pair = DirectSum([Features.linear(X), Features.linear(Y)]).centred(np.ones(40))
    Z = la.block_diag(centred(X), centred(Y))
    for form in (identity(40), cross_form(20), diagonal(np.linspace(0, 1, 40))):
        np.testing.assert_allclose(pair.restrict(form).to_dense(), Z.T @ form.to_dense() @ Z, atol=1e-10)
    V = np.random.default_rng(0).standard_normal((5, 2))
    np.testing.assert_allclose(pair.embed(V), Z @ V, atol=1e-12)
    first, second = pair.map(V, NOTHING)
    np.testing.assert_allclose(np.vstack([first(X), second(Y)]), Z @ V, atol=1e-12)
    assert pair.constant() is None
    uncentred = pair.centred(None)
    np.testing.assert_allclose(uncentred.embed(V), la.block_diag(X, Y) @ V)
    w = np.linspace(0, 1, 40)
    np.testing.assert_allclose(w[:20] @ pair.centred(w).embed(V)[:20], 0, atol=1e-10)


def test_canonical_correlations_from_a_direct_sum() -> None:
    rng = np.random.default_rng(0)
    common = rng.standard_normal((50, 1))
    X, Y = common + 0.5 * rng.standard_normal((50, 3)), common + 0.5 * rng.standard_normal((50, 2))
    posed = pose(DirectSum([Features.linear(X), Features.linear(Y)]), maximise=cross_form(50))
    found = solve(posed.problem, 2)
    Qx, Qy = (np.linalg.qr(centred(M))[0] for M in (X, Y))
    np.testing.assert_allclose(found.values, la.svdvals(Qx.T @ Qy), atol=1e-10)
    mixed = DirectSum([Features.linear(sp.csr_array(X)), Features.kernel("linear", Y)])
    again = solve(pose(mixed, maximise=cross_form(50)).problem, 2)
    np.testing.assert_allclose(again.values, found.values, atol=1e-9)
