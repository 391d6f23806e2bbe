"""Kernel completion and low-rank kernels compared with cvxpy, closed forms and recomputed bounds."""

import warnings

import numpy as np
import pytest

from eigenspan import complete_kernel, low_rank_kernel
from eigenspan.errors import ConvergenceWarning, InputError, KernelError
from helpers import reports, says
from sdp_helpers import clarabel_tolerances


def kernel(n, rank, seed=0):
    F = np.random.default_rng(seed).standard_normal((n, rank))
    return F @ F.T


def holes(K, share, seed=0, diagonal=0.0):
    """Return the matrix with a share of its entries missing."""
    rng, n = np.random.default_rng(seed), len(K)
    gone = np.triu(rng.random((n, n)) < share, 1)
    gone |= gone.T | np.diag(rng.random(n) < diagonal)
    return np.where(gone, np.nan, K)


# ---------------------------------------------------------------------- missing entries
@pytest.mark.parametrize(("rank", "share", "diagonal"), [(10, 0.3, 0.0), (10, 0.6, 0.3), (3, 0.3, 0.0)])
@pytest.mark.parametrize("given", [False, True])
def test_a_general_solver_finds_the_same(rank, share, diagonal, given):
    cp = pytest.importorskip("cvxpy")
    pytest.importorskip("clarabel")
    A = holes(kernel(10, rank), share, diagonal=diagonal)
    M = kernel(10, 10, 7) if given else np.zeros((10, 10))
    ours, known = complete_kernel(A, near=M if given else None), ~np.isnan(A)
    K = cp.Variable((10, 10), PSD=True)
    fits = [cp.multiply(known.astype(float), K) == np.where(known, A, 0)]
    problem = cp.Problem(cp.Minimize(cp.sum_squares(K - M)), fits)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem.solve(solver="CLARABEL", **clarabel_tolerances(1e-9))
    assert np.sum((ours - M) ** 2) == pytest.approx(problem.value, rel=1e-5)
    np.testing.assert_allclose(ours, K.value, atol=2e-3)
    np.testing.assert_allclose(ours[known], A[known], atol=1e-7 * np.nanmax(np.abs(A)))
    assert np.linalg.eigvalsh(ours)[0] > -1e-10 * np.linalg.norm(ours)


def test_known_rows_are_completed_by_nystroms_formula():
    """The example of [S3, §4.1]: only the first two rows of a kernel of rank two are known."""
    K = kernel(9, 2)
    A = K.copy()
    A[2:, 2:] = np.nan
    np.testing.assert_allclose(complete_kernel(A), K, atol=1e-10)


def test_nystroms_formula_is_the_completion_of_least_norm():
    K = kernel(8, 8)
    A = np.where(np.add.outer(np.arange(8) < 5, np.arange(8) < 5), K, np.nan)
    near = complete_kernel(A, near=np.zeros((8, 8)), tol=1e-7)  # by the iteration
    np.testing.assert_allclose(complete_kernel(A), near, atol=1e-4)


def test_a_kernel_of_low_rank_is_recovered():
    K = kernel(60, 3)
    np.testing.assert_allclose(complete_kernel(holes(K, 0.3), tol=1e-9), K, atol=1e-5 * np.abs(K).max())


def test_complete_kernels_are_unchanged_and_units_do_not_matter():
    K = kernel(7, 7)
    np.testing.assert_allclose(complete_kernel(K), K, rtol=1e-12)
    A = holes(K, 0.4)
    np.testing.assert_allclose(complete_kernel(1e-9 * A), 1e-9 * complete_kernel(A), rtol=1e-5, atol=1e-15)
    assert complete_kernel(A.astype(np.float32)).dtype == np.float32


def test_known_entries_without_a_psd_completion_are_refused():
    with pytest.raises(KernelError, match=says("K[0, 1] = 2", "lengths")):
        complete_kernel([[1, 2, np.nan], [2, 1, 0], [np.nan, 0, 1]])
    with pytest.raises(KernelError, match=says("K[1, 1] = -1", "is negative")):
        complete_kernel([[1, np.nan], [np.nan, -1]])
    A = np.array([[1, 0.9, -0.9, 0.9], [0.9, 1, 0.9, np.nan], [-0.9, 0.9, 1, np.nan], [0.9, np.nan, np.nan, 1]])
    with pytest.raises(KernelError, match=says("No positive semidefinite matrix", "dual problem proves")):
        complete_kernel(A)
    with pytest.raises(KernelError, match=says("block of the known rows", "eigenvalues")):
        complete_kernel([[0.0, 1.0, 1.0], [1.0, np.nan, np.nan], [1.0, np.nan, np.nan]])
    with pytest.raises(InputError, match=says("1 of 2 rows have no known entry")):
        complete_kernel([[1, np.nan], [np.nan, np.nan]])
    with pytest.raises(InputError, match="not symmetric"):
        complete_kernel([[1, 0.5], [np.nan, 1]])
    with pytest.raises(InputError, match="square"):
        complete_kernel(np.ones((2, 3)))
    with pytest.raises(InputError, match=says("near has shape (2, 2)")):
        complete_kernel(holes(kernel(3, 3), 0.5), near=np.eye(2))


def test_the_remaining_error_is_reported():
    with reports(ConvergenceWarning, "known entries off", "max_iter"):
        complete_kernel(holes(kernel(20, 20), 0.6), max_iter=1)


# ---------------------------------------------------------------------- kernels of low rank
def task(n=16, seed=0):
    """Return bounds on pairs from another metric: upper and lower bounds, and an equality for the first pair."""
    rng = np.random.default_rng(seed)
    F, pairs = rng.standard_normal((n, 4)), rng.permutation(n).reshape(-1, 2)
    G = F[pairs[:, 0]] - F[pairs[:, 1]]
    d, other = np.sum(G**2, axis=1), np.sum((G * [1.6, 1.2, 0.6, 0.3]) ** 2, axis=1)
    upper = np.where(other < d, 1.05 * other, np.inf)
    lower = np.where(other < d, 0.0, 0.95 * other)
    lower[0] = upper[0] = other[0]
    return F, pairs, lower, upper


@pytest.mark.parametrize("seed", range(3))
def test_a_general_solver_finds_the_same_kernel(seed):
    cp = pytest.importorskip("cvxpy")
    pytest.importorskip("clarabel")
    F, pairs, lower, upper = task(seed=seed)
    found = low_rank_kernel(F @ F.T, pairs, lower=lower, upper=upper, tol=1e-8)
    M = cp.Variable((4, 4), PSD=True)
    v = [cp.sum(cp.multiply(M, np.outer(g, g))) for g in F[pairs[:, 0]] - F[pairs[:, 1]]]
    rules = [v[e] <= upper[e] for e in range(len(v)) if np.isfinite(upper[e])]
    rules += [v[e] >= lower[e] for e in range(len(v)) if lower[e] > 0]
    problem = cp.Problem(cp.Minimize(cp.trace(M) - cp.log_det(M) - 4), rules)
    problem.solve(solver="CLARABEL", **clarabel_tolerances(1e-9))
    assert found.divergence == pytest.approx(problem.value, rel=1e-5)
    np.testing.assert_allclose(found.kernel, F @ M.value @ F.T, atol=1e-3)


def test_bounds_and_rank_are_kept_and_the_weights_prove_optimality():
    F, pairs, lower, upper = task()
    found = low_rank_kernel(F @ F.T, pairs, lower=lower, upper=upper, tol=1e-8)
    assert found.factor.shape == F.shape
    v = np.sum((found.factor[pairs[:, 0]] - found.factor[pairs[:, 1]]) ** 2, axis=1)
    assert np.all(v <= upper * (1 + 1e-7))
    assert np.all(v >= lower * (1 - 1e-7))
    assert found.bound == pytest.approx(found.divergence, rel=1e-7)
    K0, K = np.linalg.pinv(F @ F.T, hermitian=True), found.kernel
    values = np.sort(np.linalg.eigvals(K @ K0).real)[-4:]
    assert found.divergence == pytest.approx(np.sum(values - np.log(values)) - 4, rel=1e-6)
    w = found.weights[1:]  # no weight has the wrong sign, and some constraints are active
    assert np.all(np.where(np.isfinite(upper[1:]), w >= 0, w <= 0))
    assert np.any(w != 0)


def test_a_factor_and_a_rank_may_be_given():
    F, pairs, lower, upper = task()
    whole, by_factor = (low_rank_kernel(K, pairs, lower=lower, upper=upper, tol=1e-8) for K in (F @ F.T, F))
    np.testing.assert_allclose(whole.kernel, by_factor.kernel, atol=1e-6)
    assert low_rank_kernel(F, pairs[:1], upper=0.1, rank=2).factor.shape == (16, 2)
    kept = low_rank_kernel(F, pairs, upper=1e6)
    np.testing.assert_allclose(kept.kernel, F @ F.T, atol=1e-10)
    assert kept.divergence == pytest.approx(0, abs=1e-12)


def test_invalid_pairs_are_refused():
    F, pairs, _, _ = task()
    with pytest.raises(InputError, match=says("1 of 1 pairs", "2 to 1")):
        low_rank_kernel(F, pairs[:1], lower=2, upper=1)
    with pytest.raises(InputError, match="different rows between 0 and 15"):
        low_rank_kernel(F, [[3, 3]], upper=1)
    with pytest.raises(InputError, match="whole numbers"):
        low_rank_kernel(F, [[0.5, 1.0]], upper=1)
    with pytest.raises(InputError, match=says("rank=9", "between 1 and 4")):
        low_rank_kernel(F, pairs, upper=1, rank=9)
    with pytest.raises(KernelError, match="not positive semidefinite"):
        low_rank_kernel(np.diag([1.0, -1.0]), [[0, 1]], upper=1)
    same = np.vstack([F, F[:1]])
    with pytest.raises(InputError, match="Rows 0 and 16 coincide"):
        low_rank_kernel(same, [[0, 16]], lower=1)
    with reports(ConvergenceWarning, "contradict"):
        low_rank_kernel(F[:3, :2], [[0, 1], [1, 2], [0, 2]], upper=[0.01, 0.01, np.inf], lower=[0, 0, 10], max_iter=50)
