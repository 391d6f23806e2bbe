"""Shift-invert with repeated, clustered and nearly equal eigenvalues: none is missed, few solves are needed, and warnings are correct."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg as la
import scipy.sparse as sp

import eigenspan as es
from eigenspan._diagnostics import collect
from eigenspan.errors import ConvergenceError, DegenerateWarning, DisconnectedWarning
from eigenspan.numerics.eigen import ShiftInvert, Solver, lanczos
from eigenspan.numerics.eigen.lanczos import largest_of_inverse, steps
from eigenspan.numerics.nearest.engines import TreeSearch
from eigenspan.problem import Form, TraceProblem, diagonal, solve
from eigenspan.problem.forms import laplacian
from helpers import angle, reports


def ring(n: int) -> sp.csr_array:
    i = np.arange(n)
    W = sp.csr_array((np.ones(n), (i, (i + 1) % n)), shape=(n, n))
    return sp.csr_array(W + W.T)


def torus(m: int) -> Form:
    """Return m² points on a torus; except for the constant every eigenvalue has multiplicity four or eight."""
    return laplacian(sp.csr_array(sp.kron(ring(m), sp.eye_array(m)) + sp.kron(sp.eye_array(m), ring(m))))


def torus_values(m: int, k: int) -> np.ndarray:
    one = 2 - 2 * np.cos(2 * np.pi * np.arange(m) / m)
    return np.sort(np.add.outer(one, one).ravel())[1 : k + 1]


def clusters(count: int, size: int = 20) -> np.ndarray:
    rng = np.random.default_rng(0)
    centres = rng.uniform(-1000, 1000, size=(count, 3))
    return np.repeat(centres, size, axis=0) + 0.5 * rng.standard_normal((count * size, 3))


def fitted(estimator: Any, X: np.ndarray) -> Any:
    with pytest.warns(DisconnectedWarning):
        return estimator.fit(X)


# ---------------------------------------------------------------------- copies
@pytest.mark.parametrize("k", [4, 8, 12])
@pytest.mark.parametrize("seed", range(4))
def test_every_repeated_eigenvalue_is_found(k: int, seed: int) -> None:
    found = solve(TraceProblem(torus(26), None, "min", np.ones((676, 1))), k, solver="shift-invert", random_state=seed)
    np.testing.assert_allclose(found.values, torus_values(26, k), rtol=1e-9)
    assert found.residuals.max() < 1e-10


@pytest.mark.parametrize("solver", ["dense", "lanczos", "shift-invert", "chebyshev", "auto"])
def test_an_undetermined_subspace_is_reported_by_every_solver(solver: str) -> None:
    problem = TraceProblem(torus(26), None, "min", np.ones((676, 1)))
    with pytest.warns(DegenerateWarning, match="3-dimensional subspace is not unique"):
        solve(problem, 3, solver=solver)
    with collect() as record:
        solve(problem, 4, solver=solver)
    assert record["tied_axes"] == [(1, 2, 3, 4)]


def test_axes_determined_only_up_to_rotation_are_named() -> None:
    turn = 2 * np.pi * np.arange(600) / 600
    circle = es.LaplacianEigenmaps(4, n_neighbors=4, weights="binary").fit(
        np.column_stack([np.cos(turn), np.sin(turn)])
    )
    assert circle.diagnostics_["tied_axes"] == [(1, 2), (3, 4)]
    with collect() as record:
        solve(TraceProblem(diagonal([1.0, 2.0, 4.0]), None, "min"), 2)
    assert "tied_axes" not in record


class Blurred(Solver):
    """Return the true axes, with the last rotated slightly towards the first unwanted one."""

    def __init__(self, turn: float = 0.1) -> None:
        self.turn = turn

    def pairs(self, A: Any, k: int, sense: str, exclude: Any, rng: Any) -> Any:
        U = np.eye(A.n)[:, :k]
        U[k:, k - 2] = self.turn * np.array([1.0] + [0.0] * (A.n - k - 1))
        return np.zeros(k), U


def test_a_residual_larger_than_the_gap_is_reported() -> None:
    """The residual satisfies the solver's tolerance, but does not determine eigenvectors of such close eigenvalues."""
    form = diagonal(np.concatenate([[1.0, 2.0, 2.4, 4.0], np.linspace(1e9, 1e10, 20)]) * 1e-10)
    with pytest.warns(
        DegenerateWarning, match=r"Eigenvalues 2 and 3 .* apart.* Blurred .*determines the 2-dimensional"
    ):
        solve(TraceProblem(form, None, "min"), 2, solver=Blurred())
    solve(TraceProblem(form, None, "min"), 2, solver=Blurred(1e-4))


# ---------------------------------------------------------------------- solves
def test_a_sheet_needs_two_dozen_solves() -> None:
    """ARPACK takes forty solves: it checks residuals only when its space is full."""
    path = sp.diags_array([np.ones(99)] * 2, offsets=[1, -1])
    sheet = sp.csr_array(sp.kron(sp.eye_array(30), path) + sp.kron(1.5 * path.toarray()[:30, :30], sp.eye_array(100)))
    with collect() as record:
        found = solve(TraceProblem(laplacian(sheet), None, "min", np.ones((3000, 1))), 2, solver="shift-invert")
    assert record["solves"] <= 26
    np.testing.assert_allclose(found.values, 2 - 2 * np.cos(np.pi * np.arange(1, 3) / 100), rtol=1e-9)


def test_a_dense_factor_is_read_for_several_vectors_at_once() -> None:
    """A sheet in which all points within three steps are linked: reading the factor dominates the time of a solve."""
    near = [sp.csr_array(np.abs(np.subtract.outer(np.arange(m), np.arange(m))) <= 3, dtype=float) for m in (80, 70)]
    form = laplacian(sp.csr_array(sp.kron(*near) - sp.eye_array(5600)))
    problem = TraceProblem(form, None, "min", np.ones((5600, 1)))
    with collect() as record:
        found = solve(problem, 2, solver=ShiftInvert(by_fronts=True))
    assert record["solves"] <= 14
    one = solve(problem, 2, solver="lanczos")
    np.testing.assert_allclose(found.values, one.values, rtol=1e-7)
    assert angle(found.vectors, one.vectors) < 1e-4


@pytest.mark.parametrize("block", [1, 2, 3])
def test_a_full_basis_is_restarted_without_loss(block: int) -> None:
    """A path in its own coordinates: three pairs from a basis of eight."""
    values = 1.0 / np.arange(1, 101) ** 0.5
    start = np.random.default_rng(0).standard_normal((block, 100))
    multiply = lambda x: (values * x.T).T  # noqa: E731
    for count, ritz in enumerate(steps(multiply, start, 8, 5, np.random.default_rng(1)), 1):
        assert ritz.values.size <= 8
        left = multiply(ritz.vectors(3)) - ritz.vectors(3) * ritz.values[:3]
        np.testing.assert_allclose(ritz.residuals[:3], la.norm(left, axis=0), atol=1e-12)
        np.testing.assert_allclose(ritz.basis @ ritz.basis.T, np.eye(len(ritz.basis)), atol=1e-12)
        if count == 300:
            break
    np.testing.assert_allclose(ritz.values[:3], values[:3], rtol=1e-10)
    assert angle(ritz.vectors(3), np.eye(100)[:, :3]) < 1e-4


def test_iteration_continues_outside_an_invariant_subspace() -> None:
    """Two different eigenvalues: from any start the basis is complete after two products."""
    values = np.repeat([2.0, 1.0], [5, 295])
    found, V = largest_of_inverse(
        lambda x: (values * x.T).T, 300, 7, np.random.default_rng(0), exclude=np.zeros((300, 0)), floor=0.0
    )
    np.testing.assert_allclose(found, values[:7], rtol=1e-12)
    assert angle(V[:, :5], np.eye(300)[:, :5]) < 1e-5
    for block in (1, 3):
        products = steps(lambda x: 2.0 * x, np.eye(300)[:block], 8, 5, np.random.default_rng(0))
        for _, ritz in zip(range(5), products, strict=False):
            # start with eigenvectors: the residual is zero after one product
            np.testing.assert_allclose(ritz.values, 2.0)
            np.testing.assert_allclose(ritz.basis @ ritz.basis.T, np.eye(len(ritz.basis)), atol=1e-12)


@pytest.mark.parametrize("together", [1, 4])
@pytest.mark.parametrize("copies", [1, 2, 3, 4, 9])
@pytest.mark.parametrize("k", range(1, 7))
@pytest.mark.every(4)
def test_no_repeated_eigenvalue_is_missed_however_few_are_wanted(k: int, copies: int, together: int) -> None:
    values = np.concatenate([[0.0], np.repeat([2.0, 1.5], copies), np.linspace(0.5, 0.1, 300)])
    n, rng, products = len(values), np.random.default_rng(k), []

    def apply(x: np.ndarray) -> np.ndarray:
        products.append(x.size // n)
        return (values * x.T).T

    found, V = largest_of_inverse(apply, n, k, rng, exclude=np.eye(n)[:, :1], floor=0.0, together=together)
    assert max(products[:-1]) == min(k, together)  # the last product is with all vectors found
    np.testing.assert_allclose(found, values[1 : k + 1], rtol=1e-9)
    np.testing.assert_allclose((values * V.T).T, V * found, atol=1e-5)


@pytest.mark.parametrize("sizes", [[110, 120, 130, 140, 150], [20, 21, 22]], ids=["by steps", "written out"])
def test_eigenvalues_far_above_a_null_space(sizes: list[int]) -> None:
    """The inverse is 1e10 times as large on the null space: eigenvalues above it are found only after the null space is deflated."""
    W = sp.csr_array(sp.block_diag([ring(m) for m in sizes]))
    k = len(sizes) + 4
    expected = np.sort(np.concatenate([2 - 2 * np.cos(2 * np.pi * np.arange(m) / m) for m in sizes]))[:k]
    for seed in range(3):
        found = solve(TraceProblem(laplacian(W), None, "min"), k, solver="shift-invert", random_state=seed)
        np.testing.assert_allclose(found.values, expected, rtol=1e-9, atol=1e-14)
        assert found.residuals.max() < 1e-12


class Crowded:
    """Return a diagonal operator: two hundred eigenvalues within a thousandth of the largest, with increasing density towards it."""

    def __init__(self) -> None:
        self.values = np.concatenate([1e12 * (1 - 1e-3 * (np.arange(200) / 200) ** 2), np.linspace(1e6, 1.0, 400)])
        self.products = 0

    def __call__(self, x: np.ndarray) -> np.ndarray:
        self.products += 1
        return (self.values * x.T).T


@pytest.mark.parametrize("limited", [False, True])
def test_eigenvalues_that_differ_by_rounding_do_not_delay_convergence(
    limited: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The matrix has norm one and eigenvalues of 1e-12 that differ by at most 1e-15: any vectors of their space are correct."""
    if limited:
        monkeypatch.setattr(lanczos, "_MAX_PRODUCTS", 150)
    operator, none = Crowded(), np.zeros((600, 0))
    floor = 0.0 if limited else 1e-16
    values, V = largest_of_inverse(operator, 600, 3, np.random.default_rng(0), exclude=none, floor=floor)
    assert operator.products <= (151 if limited else 400)
    np.testing.assert_allclose(values, 1e12, rtol=1e-3)
    np.testing.assert_allclose(V.T @ V, np.eye(3), atol=1e-12)
    assert la.norm(V[200:]) < 1e-5


@pytest.mark.parametrize("n", [30, 600])
def test_a_matrix_that_is_not_psd_or_not_finite_is_refused(n: int) -> None:
    negative = Form(n, sparse=sp.csr_array(-sp.eye_array(n)), psd=True)
    with pytest.raises(ConvergenceError, match="ShiftInvert failed: the inverse is not positive"):
        solve(TraceProblem(negative, None, "min"), 2, solver="shift-invert")
    with pytest.raises(ConvergenceError, match="not finite"):
        next(steps(lambda x: np.nan * x, np.ones((1, n)), 8, 5, np.random.default_rng(0)))


# ---------------------------------------------------------------------- many components
@pytest.mark.parametrize("method", ["LaplacianEigenmaps", "LTSA"])
def test_bridged_components_against_lapack(method: str) -> None:
    model = fitted(es.make(method, n_components=2, n_neighbors=8), clusters(50))
    A, B = model.problem_.A.to_dense(), np.eye(1000) if model.problem_.B is None else model.problem_.B.to_dense()
    values, V = la.eigh(A, B, subset_by_index=(0, 2))
    assert model.diagnostics_["solver"] == "ShiftInvert"
    np.testing.assert_allclose(model.eigenvalues_, values[1:], rtol=1e-5)
    assert angle(np.column_stack([np.ones(1000), model.embedding_]), V) < 1e-2


@pytest.mark.parametrize("count, size, solves", [(50, 20, 250), (120, 10, 1000)])
@pytest.mark.every(2)
def test_a_null_space_larger_than_the_wanted_space(count: int, size: int, solves: int) -> None:
    """LLE's neighbour relations are directed: each component that is no neighbour of another one adds a null vector."""
    X = clusters(count, size)
    with reports(DegenerateWarning, "2-dimensional subspace is not unique"):
        model = fitted(es.LLE(2, n_neighbors=8), X)
    F = np.eye(len(X)) - model.weights_.toarray()
    _, sigma, Vt = la.svd(F)
    rounding = 1e-14 * model.problem_.A.norm()
    assert np.sum(sigma**2 < rounding) > 3
    assert np.all(model.eigenvalues_ < rounding)
    Y = model.embedding_ / la.norm(model.embedding_, axis=0)
    assert la.norm(F @ Y, axis=0).max() ** 2 < rounding
    null = Vt[sigma**2 < 100 * rounding].T
    assert la.norm(Y - null @ (null.T @ Y)) < 0.05
    assert model.diagnostics_["solver"] == "ShiftInvert"
    assert model.diagnostics_["solves"] < solves


def test_bridging_searches_all_components_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls, near = [], TreeSearch.near

    def counted(self: Any, X: Any, k: int) -> Any:
        calls.append(len(self.points) if X is None else len(X))
        return near(self, X, k)

    monkeypatch.setattr(TreeSearch, "near", counted)
    model = fitted(es.LaplacianEigenmaps(2, n_neighbors=8, weights="binary"), clusters(400, 10))
    assert model.diagnostics_["bridges"] == 399
    assert len(calls) < 100  # one search per component would make 399 in the first round alone
