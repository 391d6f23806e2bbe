"""`nystrom` against eqs. 4.5 to 4.8 of Burges as written, scikit-learn's Nystroem, and theorems on exactness and error."""

from __future__ import annotations

import pickle
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris, load_wine
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import scale

from eigenspan import Kernel, Landmarks, jaccard_kernel, nystrom
from eigenspan.errors import IndefiniteWarning, InputError, KernelError

GAMMA = 0.1


def draws(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return points (new draws, then shared data), their kernel matrix, and twelve landmarks in no order."""
    rng = np.random.default_rng(seed)
    X = {3: load_iris().data, 4: scale(load_wine().data)}.get(seed, rng.standard_normal((70, 4)))
    return X, rbf_kernel(X, gamma=GAMMA), rng.choice(len(X), 12, replace=False)


def as_printed(K: np.ndarray, landmarks: np.ndarray) -> dict[str, Any]:
    """Return eqs. 4.5 to 4.7 with dense matrices, in the order of the rows of K."""
    rest = np.setdiff1d(np.arange(len(K)), landmarks)
    back = np.argsort(np.append(landmarks, rest))
    A, B, C = K[np.ix_(landmarks, landmarks)], K[np.ix_(landmarks, rest)], K[np.ix_(rest, rest)]
    values, U = np.linalg.eigh(A)
    root = U @ np.diag(values**-0.5) @ U.T
    q_values, q_vectors = np.linalg.eigh(A + root @ B @ B.T @ root)
    completed = np.block([[A, B], [B.T, B.T @ np.linalg.solve(A, B)]])
    return {
        "completed": completed[np.ix_(back, back)],
        "extended": (values[::-1], np.vstack([U, B.T @ U / values])[back][:, ::-1]),
        "orthogonal": (q_values[::-1], (np.vstack([A, B.T]) @ root @ q_vectors / np.sqrt(q_values))[back][:, ::-1]),
        "schur": C - B.T @ np.linalg.solve(A, B),
    }


def ways(X: np.ndarray, K: np.ndarray, landmarks: np.ndarray, **kw: Any) -> list[Any]:
    return [
        nystrom(K, landmarks, **kw),
        nystrom(K[:, landmarks], landmarks, diagonal=1.0, **kw),
        nystrom(X, landmarks, kernel=Kernel("rbf", gamma=GAMMA), **kw),
        nystrom(X, landmarks, kernel=partial(rbf_kernel, gamma=GAMMA), **kw),
    ]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("form", ["orthogonal", "extended"])
def test_the_equations_as_printed(seed: int, form: str) -> None:
    X, K, landmarks = draws(seed)
    paper = as_printed(K, landmarks)
    values, vectors = paper[form]
    for found in ways(X, K, landmarks, orthogonal=form == "orthogonal"):
        np.testing.assert_allclose(found.eigenvalues, values, rtol=1e-7)
        signs = np.sign(np.sum(found.eigenvectors * vectors, axis=0))
        np.testing.assert_allclose(found.eigenvectors * signs, vectors, atol=1e-6 * np.abs(vectors).max())
        np.testing.assert_allclose(found.matrix, paper["completed"], atol=1e-9)
        np.testing.assert_allclose(found.operator @ K, paper["completed"] @ K, atol=1e-8)
        np.testing.assert_array_equal(found.landmarks, landmarks)


@pytest.mark.parametrize("seed", range(5))
def test_errors_are_norms_of_the_schur_complement(seed: int) -> None:
    X, K, landmarks = draws(seed)
    S = as_printed(K, landmarks)["schur"]
    true = {"trace": np.trace(S), "frobenius": np.linalg.norm(S), "spectral": np.linalg.norm(S, 2)}
    whole, columns, points, _ = ways(X, K, landmarks)
    for norm, value in true.items():
        for found in (whole, points):
            assert found.error(norm) == pytest.approx(value, rel=1e-8)
            assert found.bounds(norm) == (found.error(norm),) * 2
        low, high = columns.bounds(norm)
        assert low <= value * (1 + 1e-8)
        assert value <= high * (1 + 1e-8)
    assert columns.error() == pytest.approx(true["trace"], rel=1e-8)
    assert columns.bounds("frobenius")[0] == pytest.approx(np.linalg.norm(np.diag(S)), rel=1e-8)
    assert columns.bounds("spectral")[0] == pytest.approx(np.diag(S).max(), rel=1e-8)
    with pytest.raises(InputError, match=r"frobenius error needs the whole kernel matrix.*bounds\(\)"):
        columns.error("frobenius")


def test_the_features_are_those_of_scikit_learn() -> None:
    X = draws(0)[0]
    other = Nystroem(gamma=GAMMA, n_components=12, random_state=0).fit(X)
    found = nystrom(X, other.component_indices_, kernel=Kernel("rbf", gamma=GAMMA))
    np.testing.assert_allclose(found.matrix, other.transform(X) @ other.transform(X).T, atol=1e-9)
    new = X[:5] + 0.3
    both = (found.transform(new) * found.eigenvalues) @ found.eigenvectors.T
    np.testing.assert_allclose(both, other.transform(new) @ other.transform(X).T, atol=1e-9)


@pytest.mark.parametrize("orthogonal", [True, False])
def test_landmarks_that_span_a_kernel_of_low_rank_give_its_eigenpairs(orthogonal: bool) -> None:
    rng = np.random.default_rng(5)
    Z = rng.standard_normal((60, 3))
    K = Z @ Z.T
    found = nystrom(K, [4, 40, 11], orthogonal=orthogonal)
    np.testing.assert_allclose(found.matrix, K, atol=1e-10 * np.abs(K).max())
    assert max(found.error(norm) for norm in ("trace", "frobenius", "spectral")) < 1e-9 * np.trace(K)
    if orthogonal:
        np.testing.assert_allclose(found.eigenvalues, np.linalg.eigvalsh(K)[::-1][:3], rtol=1e-9)
        np.testing.assert_allclose(found.eigenvectors.T @ found.eigenvectors, np.eye(3), atol=1e-12)
    many = nystrom(K, 20, orthogonal=orthogonal)  # the matrix of the landmarks is singular: its null space is left out
    assert many.eigenvalues.size == 3
    np.testing.assert_allclose(many.matrix, K, atol=1e-9 * np.abs(K).max())


@pytest.mark.parametrize("orthogonal", [True, False])
def test_new_points_and_fewer_components(orthogonal: bool) -> None:
    X, K, landmarks = draws(1)
    whole, columns, points, function = ways(X, K, landmarks, orthogonal=orthogonal)
    for found in (whole, columns):
        np.testing.assert_allclose(found.transform(K[:, landmarks]), found.eigenvectors, atol=1e-9)
    for found in (points, function):
        np.testing.assert_allclose(found.transform(X), found.eigenvectors, atol=1e-7)
    few = nystrom(K, landmarks, orthogonal=orthogonal, n_components=4)
    np.testing.assert_allclose(few.eigenvectors, whole.eigenvectors[:, :4])
    assert few.error() == pytest.approx(np.trace(K - few.matrix))
    assert few.error("frobenius") == pytest.approx(np.linalg.norm(K - few.matrix))
    np.testing.assert_allclose(pickle.loads(pickle.dumps(points)).transform(X[:3]), points.eigenvectors[:3], atol=1e-7)


def test_containers_and_rules() -> None:
    X, K, landmarks = draws(2)
    base = nystrom(K, landmarks).matrix
    for given in (pd.DataFrame(K), sp.csr_array(K), K.tolist()):
        np.testing.assert_allclose(nystrom(given, landmarks).matrix, base, atol=1e-12)
    np.testing.assert_allclose(nystrom(K.astype(np.float32), landmarks).matrix, base, atol=1e-3)
    kernel = Kernel("rbf", gamma=GAMMA)
    np.testing.assert_allclose(nystrom(sp.csr_array(X), landmarks, kernel=kernel).matrix, base, atol=1e-9)
    assert np.array_equal(
        nystrom(K, 9, random_state=3).landmarks, nystrom(X, 9, kernel=kernel, random_state=3).landmarks
    )
    greedy = nystrom(K, Landmarks(12, choice="cholesky"))
    assert greedy.error() < nystrom(K, 12).error()
    assert "70 points from 12 landmarks, rank 12, orthonormal" in repr(greedy)
    assert "error unknown" in repr(nystrom(K[:, landmarks], landmarks))


def test_kernels_of_objects() -> None:
    rng = np.random.default_rng(0)
    sets = [frozenset(rng.choice(12, rng.integers(3, 8), replace=False).tolist()) for _ in range(30)]
    K = np.array([[len(a & b) / len(a | b) for b in sets] for a in sets])
    found, table = nystrom(sets, [3, 9, 27, 1], kernel=jaccard_kernel), nystrom(K, [3, 9, 27, 1])
    np.testing.assert_allclose(found.matrix, table.matrix, atol=1e-12)
    for norm in ("trace", "frobenius", "spectral"):
        assert found.error(norm) == pytest.approx(table.error(norm))
    np.testing.assert_allclose(found.transform(sets), found.eigenvectors, atol=1e-12)
    chosen = nystrom(sets, Landmarks(5, choice="cholesky"), kernel=jaccard_kernel).landmarks
    np.testing.assert_array_equal(chosen, nystrom(K, Landmarks(5, choice="cholesky")).landmarks)


def test_what_is_refused() -> None:
    X, K, landmarks = draws(0)
    C, refused = K[:, landmarks], partial(pytest.raises, InputError)
    with refused(match="12 columns of a kernel matrix of 70 points.*does not say which"):
        nystrom(C, 12)
    with refused(match="does not say which"):
        nystrom(C, landmarks[:5])
    with pytest.raises(KernelError, match="do not belong to the same points, in the same order"):
        nystrom(C, landmarks[::-1])
    with pytest.raises(KernelError, match=r"diagonal\[\d+\] = 0.9 is less than 1, which the columns"):
        nystrom(C, landmarks, diagonal=0.9)
    with refused(match="columns of the landmarks allow any error"):
        nystrom(C, landmarks).error()
    with refused(match="here X and kernel= determine it"):
        nystrom(K, landmarks, diagonal=1.0)
    with refused(match="4900 values that are NaN"):
        nystrom(K * np.nan, landmarks)
    with refused(match="n_components=13 exceeds 12"):
        nystrom(K, landmarks, n_components=13)
    with pytest.raises(KernelError, match="not symmetric"):
        nystrom(K + np.triu(K), landmarks)
    with pytest.raises(KernelError, match="no positive eigenvalue; its entries reach 0"):
        nystrom(0 * K, landmarks)
    with refused(match=r"list of 2 objects.*kernel="):
        nystrom(["one", "two"], 1)
    with refused(match="need coordinates; for objects"):
        nystrom([{1}, {2}], Landmarks(1, choice="maxmin"), kernel=jaccard_kernel)
    with refused(match=r"with the 12 landmarks; got shape \(70, 4\)"):
        nystrom(K, landmarks).transform(X)
    with refused(match="X has 3 columns, but the points of the kernel have 4"):
        nystrom(X, landmarks, kernel="rbf").transform(X[:, :3])
    with pytest.warns(IndefiniteWarning, match=r"K\[\d+, \d+\] = .* is less than"):
        nystrom(K - 0.9 * np.diag(np.arange(70) > landmarks.max() - 1), np.arange(12))
