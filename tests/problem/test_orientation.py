"""Signs and rotations of axes follow from their span alone, with a tolerance: another machine returns the same ones, or both warn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray

import eigenspan as es
from eigenspan.errors import DegenerateWarning
from eigenspan.numerics.eigen import dense
from eigenspan.numerics.factor.pivoted import first_largest
from eigenspan.problem import Features, Form, Spectrum, TraceProblem, diagonal, solve
from eigenspan.problem.spectrum import EQUAL, orientation_of, rotation_of, sign_of, ties_of
from kernel_arrays import SAME, Table, embed, tables

Array = NDArray[np.float64]


def rotation(rng: np.random.Generator, g: int) -> Array:
    return np.asarray(np.linalg.qr(rng.standard_normal((g, g)))[0])


# ---------------------------------------------------------------------- the rule
def test_the_largest_entry_is_positive() -> None:
    Y = np.random.default_rng(0).standard_normal((30, 5))
    turned = Y * sign_of(Y)
    assert np.all(turned[np.abs(Y).argmax(axis=0), np.arange(5)] > 0)
    np.testing.assert_array_equal(turned * sign_of(-turned), -turned)


@pytest.mark.parametrize("noise", [0.0, 1e-15, -1e-15, 1e-9, -1e-6])
def test_the_first_of_equal_entries_determines_the_sign(noise: float) -> None:
    Y = np.array([[0.2], [-1.0], [1.0 + noise], [0.5]])
    assert sign_of(Y)[0] == -1
    assert sign_of(-Y)[0] == 1
    assert sign_of(np.vstack([Y, [[1.0 + 2 * EQUAL]]]))[0] == 1  # a larger one decides wherever it is


@pytest.mark.parametrize("g", [1, 2, 3, 5])
def test_a_rotation_depends_on_the_span_alone(g: int) -> None:
    rng = np.random.default_rng(g)
    W = rng.standard_normal((20, g))
    R = rotation_of(W)
    np.testing.assert_allclose(R.T @ R, np.eye(g), atol=1e-13)
    for _ in range(3):
        Q = rotation(rng, g)
        np.testing.assert_allclose(W @ Q @ rotation_of(W @ Q), W @ R, atol=1e-12)


def test_leading_rows_are_triangular() -> None:
    W = np.random.default_rng(0).standard_normal((12, 3))
    turned = W @ rotation_of(W)
    left, order = np.linalg.norm(turned, axis=1), []
    for j in range(3):
        order.append(int(left.argmax()))
        left = np.linalg.norm(turned[:, j + 1 :], axis=1)
    leading = turned[order]
    np.testing.assert_allclose(np.triu(leading, 1), 0.0, atol=1e-13)
    assert np.all(np.diagonal(leading) > 0)


def test_rows_of_equal_length_lead_in_their_order() -> None:
    angles = 2 * np.pi * np.arange(7) / 7
    W = np.column_stack([np.cos(angles + 0.3), np.sin(angles + 0.3)])
    for seed in range(5):
        rng = np.random.default_rng(seed)
        turned = W + 1e-12 * rng.standard_normal(W.shape)
        turned = turned @ rotation_of(turned)
        np.testing.assert_allclose(turned[0], [1.0, 0.0], atol=1e-11)
        np.testing.assert_allclose(turned[2, 1], np.sin(angles[2]), atol=1e-11)


def test_axes_that_the_rows_do_not_show_are_still_orthonormal() -> None:
    for W in (np.zeros((4, 3)), np.outer(np.arange(4.0), [1.0, 2.0, 2.0])):
        R = rotation_of(W)
        np.testing.assert_allclose(R.T @ R, np.eye(3), atol=1e-14)
    np.testing.assert_allclose(
        np.outer(np.arange(4.0), [1.0, 2.0, 2.0]) @ R, np.outer(np.arange(4.0), [3.0, 0, 0]), atol=1e-14
    )


def test_only_axes_of_equal_values_are_rotated() -> None:
    rng = np.random.default_rng(0)
    values, W = np.array([5.0, 3.0, 3.0 * (1 - 1e-12), 1.0, 1e-16, 0.0]), rng.standard_normal((9, 6))
    assert ties_of(values, 5.0) == [slice(1, 3), slice(4, 6)]
    R = orientation_of(values, W)
    for a, b in ((0, 1), (3, 4), (0, 3), (1, 4)):
        assert R[a, b] == R[b, a] == 0
    Q = np.eye(6)
    Q[1:3, 1:3], Q[4:, 4:], Q[0, 0] = rotation(rng, 2), rotation(rng, 2), -1
    np.testing.assert_allclose(W @ Q @ orientation_of(values, W @ Q), W @ R, atol=1e-13)


def test_the_first_of_the_largest() -> None:
    assert first_largest(np.array([1.0, 3.0, 3.0 + 1e-15, 2.0])) == 1
    assert first_largest(np.array([1.0, 3.0, 3.1, 2.0])) == 2


# ---------------------------------------------------------------------- the core
def ring(n: int) -> Form:
    """The Laplacian of a cycle: its eigenvalues are double, but for the first."""
    W = sp.coo_array((np.ones(n), (np.arange(n), (np.arange(n) + 1) % n)), shape=(n, n)).tocsr()
    return Form(n, sparse=sp.csr_array(2 * sp.eye_array(n) - W - W.T), psd=True, kills_constant=True)


@pytest.mark.parametrize("solver", ["dense", "lanczos", "chebyshev", "shift-invert"])
@pytest.mark.every(2)
def test_every_solver_returns_the_same_axes_of_equal_eigenvalues(solver: str) -> None:
    problem = TraceProblem(ring(300), None, "min", np.ones((300, 1)))
    found = solve(problem, 4, solver=solver)
    angle = 2 * np.pi * np.arange(300) / 300
    expected = np.column_stack([np.cos(angle), np.sin(angle), np.cos(2 * angle), np.sin(2 * angle)]) / np.sqrt(150)
    np.testing.assert_allclose(found.vectors, expected, atol=1e-7)
    assert found.residuals.max() < 1e-9


def test_residuals_are_correct_after_a_rotation() -> None:
    values = np.array([2.0, 2.0 * (1 - 5e-9), 1.0])
    rng = np.random.default_rng(0)
    U = rotation(rng, 3)
    A = (U * values) @ U.T
    turned = Spectrum(values, U, np.full(3, 1e-16), norm=2.0).oriented()
    true = np.linalg.norm(A @ turned.vectors - turned.vectors * values, axis=0) / 2.0
    assert np.all(true <= turned.residuals + 1e-15)
    assert turned.residuals.max() < 1e-8
    np.testing.assert_allclose(turned.vectors[:, 2], U[:, 2] * sign_of(U[:, 2:]), atol=0)


def test_equal_variances_give_the_features_themselves() -> None:
    X = tables()["grid"].X
    np.testing.assert_allclose(es.PCA(2).fit(X).components_, np.eye(2), atol=1e-12)


# ---------------------------------------------------------------------- another machine
def other_machine(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Let dense factorisations return other vectors of the same values: other signs, and other bases where values are equal."""
    rng = np.random.default_rng(seed)

    def other(values: Array, norm: float) -> Array:
        R = np.diag(rng.choice([-1.0, 1.0], values.size))
        for group in ties_of(values, norm):
            R[group, group] = rotation(rng, group.stop - group.start)
        return R

    pairs, principal, singular, leading = (
        dense.eigenpairs, dense.principal_axes, dense.singular_vectors, dense.leading_singular_vectors,
    )  # fmt: skip

    def eigenpairs(A: Array, k: int | None = None, sense: str = "min", unit: Array | None = None) -> Any:
        values, V = pairs(A, None, sense, unit)
        V = V @ other(values, float(np.abs(values).max(initial=0.0)))  # also across the cut, as LAPACK does
        return values[: len(A) if k is None else k], V[:, : len(A) if k is None else k]

    def both(found: Any) -> Any:
        U, s, V = found
        if not s.size:
            return found
        R = other(s, float(s[0]))
        return (
            (U[:, : s.size] @ R if U.shape[1] == s.size else U),
            s,
            (V[:, : s.size] @ R if V.shape[1] == s.size else V),
        )

    def of(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *given, **more: (
            function(*given, **more) if more.get("complete") else both(function(*given, **more))
        )

    monkeypatch.setattr(dense, "eigenpairs", eigenpairs)
    monkeypatch.setattr(dense, "principal_axes", of(principal))
    monkeypatch.setattr(dense, "singular_vectors", of(singular))
    monkeypatch.setattr(dense, "leading_singular_vectors", of(leading))


METHODS = (
    "PCA", "PPCA", "KernelPCA", "LandmarkMDS", "ClassicalMDS", "Isomap", "LandmarkIsomap", "KernelIsomap", "OrdinalIsomap",
    "LaplacianEigenmaps", "LPP", "DiffusionMap", "CommuteTimeEmbedding", "LLE", "NPP", "LTSA", "HessianLLE",
    "GeodesicNullspaceAnalysis", "ModifiedLLE", "LLTSA", "LDA", "SDA", "SODA", "SupervisedPCA", "LDA-trace-ratio",
    "MMC", "LFDA", "CCA", "MultiviewCCA", "KernelCCA",
    "LPP-reduce", "KernelPCA-landmarks", "MVU", "ConformalEigenmaps", "SpectralClustering", "SSFDA", "KDR", "GradientKDR",
)  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.every(4)
def test_another_basis_of_equal_eigenvalues_changes_nothing(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("grid", "polygon", "sphere", "clusters") if method not in ("MVU", "KDR") else ("polygon",):
        table = tables()[name]
        Y, said = embed(method, table)
        for seed in range(2):
            with monkeypatch.context() as patch:
                other_machine(patch, seed)
                Z, again = embed(method, table)
            assert Y is not None
            assert Z is not None
            away = float(np.abs(Y - Z).max() / np.abs(Y).max())
            assert away <= SAME or (said["degenerate"] and again["degenerate"]), (name, seed, away)


# ---------------------------------------------------------------------- cuts through equal values
@pytest.mark.parametrize("as_sparse", [False, True])
def test_reduce_warns_if_it_cuts_equal_variances(as_sparse: bool) -> None:
    X = tables()["cube"].X * [3.0, 1.0, 1.0, 1.0, 0.5]
    X = sp.csr_array(X) if as_sparse else X
    for r in (2, 3):
        with pytest.warns(
            DegenerateWarning, match=f"reduce={r} keeps the first {r} principal axes, but axes {r} and {r + 1}"
        ):
            assert Features.linear(X, reduce=r).dim == r
    for r in (1, 4, 5):
        assert Features.linear(X, reduce=r).dim == r


def test_reduce_keeps_the_leading_scores() -> None:
    X = np.random.default_rng(0).standard_normal((40, 6)) * [6, 5, 4, 3, 2, 1]
    few, all_of_them = Features.linear(X, reduce=2), Features.linear(X, reduce=6)
    np.testing.assert_allclose(np.abs(few.Z), np.abs(all_of_them.Z[:, :2]), atol=1e-10)
    np.testing.assert_allclose(few.Z, (X - X.mean(axis=0)) @ np.asarray(few.lift), atol=1e-10)


def test_landmarks_that_cut_equal_eigenvalues_warn() -> None:
    with pytest.warns(DegenerateWarning, match="of the 24 landmarks have the same eigenvalue"):
        es.LandmarkIsomap(2).fit(np.eye(24))


@pytest.mark.parametrize("method", ["LDA", "SDA", "SODA", "SSFDA", "SupervisedPCA", "LDA-trace-ratio"])
def test_coinciding_class_means_do_not_determine_the_axes(method: str) -> None:
    table = tables()["sphere"]  # rows x and −x have the same label
    assert np.array_equal(table.y[:30], table.y[30:])
    assert embed(method, table)[1]["degenerate"]
    shifted = Table(table.X + 0.1 * np.eye(3)[table.y], table.y)
    assert not embed(method, shifted)[1]["degenerate"]


def test_a_tie_of_an_objective_that_vanishes_is_a_tie() -> None:
    X = tables()["grid"].X  # any linear function of it costs nothing
    first, second = (es.LLTSA(2, n_neighbors=8).fit(X[:, order]) for order in ([0, 1], [1, 0]))
    np.testing.assert_allclose(first.embedding_, second.embedding_[:, ::-1], atol=1e-6)
    assert first.diagnostics_["tied_axes"] == [(1, 2)]


def test_a_diagonal_unit_is_measured_by_its_own_size() -> None:
    with pytest.warns(DegenerateWarning):
        solve(TraceProblem(1e-30 * diagonal([1.0, 2.0, 4.0]), None, "min"), 2, size=1.0)
    assert solve(TraceProblem(1e-30 * diagonal([1.0, 2.0, 4.0]), None, "min"), 2).gap > 0.4


@pytest.mark.parametrize("ridge", [1.0, 1e10, 1e20])
@pytest.mark.parametrize("method", ["LDA", "SDA", "SSFDA"])
def test_a_large_ridge_makes_no_ties(method: str, ridge: float) -> None:
    table = tables()["wine"]
    found = es.make(method, n_components=2, ridge=ridge).fit(table.X, table.y)  # a warning would be an error
    assert "tied_axes" not in found.diagnostics_
