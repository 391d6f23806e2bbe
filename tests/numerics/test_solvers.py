"""All solvers on a table of matrices against LAPACK, with difficult matrices; then the problem layer above the solvers."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import scipy.linalg as la
import scipy.sparse as sp

from eigenspan import KNN, LTSA
from eigenspan._diagnostics import collect
from eigenspan.errors import (
    ConvergenceError,
    ConvergenceWarning,
    DegenerateWarning,
    DimensionError,
    InputError,
    LocalisationWarning,
    RidgeWarning,
    UnitError,
)
from eigenspan.numerics.eigen import (
    Auto,
    Chebyshev,
    Dense,
    Factor,
    Lanczos,
    Multigrid,
    Randomised,
    ShiftInvert,
    Solver,
    as_solver,
    dense,
)
from eigenspan.numerics.eigen.multigrid import smallest_by_multigrid
from eigenspan.numerics.eigen.trace_ratio import trace_ratio
from eigenspan.numerics.factor.fill import predict_fill, separator
from eigenspan.problem import (
    Features,
    Form,
    Samples,
    TraceProblem,
    TraceRatio,
    diagonal,
    factor_gram,
    gram,
    pose,
    solve,
)
from eigenspan.problem.forms import between, centring, degree, laplacian, reconstruction, within
from eigenspan.problem.spectrum import participation, relative_gap, sign_of, warn_if_localised
from helpers import angle

SOLVERS: dict[str, Solver] = {
    "dense": Dense(),
    "shift-invert": ShiftInvert(),
    "lanczos": Lanczos(),
    "chebyshev": Chebyshev(),
    "randomised": Randomised(),
    "factor": Factor(),
    "auto": Auto(),
}


# ---------------------------------------------------------------------- matrices
def cycle(n: int) -> sp.csr_array:
    i = np.arange(n)
    W = sp.coo_array((np.ones(n), (i, (i + 1) % n)), shape=(n, n))
    return sp.csr_array(W + W.T)


def path(n: int) -> sp.csr_array:
    return sp.csr_array(sp.diags_array([np.ones(n - 1)] * 2, offsets=[1, -1]))


def star(n: int) -> sp.csr_array:
    W = sp.lil_array((n, n))
    W[0, 1:] = 1.0
    W[1:, 0] = 1.0
    return sp.csr_array(W)


def components(sizes: list[int]) -> sp.csr_array:
    return sp.csr_array(sp.block_diag([cycle(m) for m in sizes]))


def random_symmetric(n: int, seed: int = 0) -> Form:
    """Return a sparse indefinite matrix with smallest eigenvalues far below zero and many near them."""
    S = sp.random_array((n, n), density=min(1.0, 20 / n), random_state=np.random.default_rng(seed), format="csr")
    S.data -= 0.5
    return Form(n, sparse=sp.csr_array(S + S.T))


def decaying_gram(n: int, seed: int = 0) -> Form:
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((n, 12)))[0]
    return gram((Q * 2.0 ** -np.arange(12)) @ Q.T, centre=False)


def factor(n: int, r: int = 6, seed: int = 0) -> Form:
    return factor_gram(np.random.default_rng(seed).standard_normal((n, r)) * np.arange(1, r + 1), centre=False)


def scattered(n: int, k: int = 10) -> Form:
    """Return the Laplacian of a random graph: no separator is small, so a factor fills."""
    rng = np.random.default_rng(0)
    W = sp.csr_array((np.ones(n * k), rng.integers(n, size=n * k), np.arange(0, n * k + 1, k)), shape=(n, n))
    return laplacian(sp.csr_array(W + W.T))


def blocks(n: int, c: int = 3) -> np.ndarray:
    return np.arange(n) % c


def ones(n: int) -> np.ndarray:
    return np.ones((n, 1))


def directions(n: int, q: int = 2, seed: int = 5) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, q))


LD, SPARSE_MIN = "dense lanczos auto", "dense shift-invert auto chebyshev"
ALL = "dense lanczos auto shift-invert chebyshev"


@dataclass(frozen=True)
class Case:
    """A matrix, the wanted eigenpairs, and the solvers that must find them."""

    make: Callable[[], Form]
    k: int
    sense: str
    solvers: str
    exclude: Callable[[int], np.ndarray] | None = None


CASES: dict[str, Case] = {
    # repeated eigenvalues: none may be missed
    "cycle-all-double": Case(lambda: laplacian(cycle(60)), 5, "min", ALL),
    "cycle-600": Case(lambda: laplacian(cycle(600)), 5, "min", SPARSE_MIN),
    "cycle-top": Case(lambda: laplacian(cycle(61)), 4, "max", LD),
    "star-null": Case(lambda: laplacian(star(600)), 1, "min", ALL),
    "star-all-copies": Case(lambda: laplacian(star(40)), 39, "min", ALL),
    "star-100-copies-beyond": Case(lambda: laplacian(star(100)), 1, "max", LD),
    "five-components": Case(lambda: laplacian(components([110, 120, 130, 140, 150])), 5, "min", ALL),
    "five-equal-components": Case(lambda: laplacian(components([110] * 5)), 5, "min", ALL),
    "five-equal-components-and-next": Case(lambda: laplacian(components([20] * 5)), 15, "min", ALL),
    "two-components": Case(lambda: laplacian(components([300, 310])), 1, "min", SPARSE_MIN, ones),
    "two-components-lanczos": Case(lambda: laplacian(components([30, 31])), 1, "min", ALL, ones),
    "copies-far-from-null": Case(lambda: 5.0 * laplacian(components([4] * 140)), 140, "min", SPARSE_MIN),
    # tiny eigenvalues
    "path-300": Case(lambda: laplacian(path(300)), 4, "min", ALL, ones),
    # indefinite
    "indefinite-smallest": Case(lambda: random_symmetric(200), 4, "min", LD),
    "indefinite-largest": Case(lambda: random_symmetric(200), 4, "max", LD),
    "indefinite-600-smallest": Case(lambda: random_symmetric(600), 3, "min", LD),
    "indefinite-excluded": Case(lambda: random_symmetric(120), 3, "min", LD, directions),
    "negative-definite": Case(lambda: -1.0 * (laplacian(cycle(61)) + diagonal(np.ones(61))), 4, "min", LD),
    # sparse + low rank
    "woodbury": Case(lambda: laplacian(path(550)) + 3.0 * between(blocks(550)), 3, "min", SPARSE_MIN, ones),
    "woodbury-minus": Case(lambda: within(blocks(550)), 3, "min", ALL),
    "woodbury-small": Case(lambda: laplacian(path(40)) + between(blocks(40)), 3, "min", ALL, directions),
    "low-rank-smallest": Case(lambda: factor(12, 5), 7, "min", LD),
    # factors
    "roots": Case(lambda: reconstruction(sp.csr_array(path(80) / 2)), 3, "min", ALL),
    "roots-top": Case(lambda: reconstruction(sp.csr_array(path(80) / 2)), 3, "max", LD),
    # Gram matrices
    "gram": Case(lambda: decaying_gram(90), 4, "max", "dense lanczos auto randomised"),
    "gram-600": Case(lambda: decaying_gram(600), 4, "max", "dense lanczos auto randomised"),
    "gram-smallest": Case(lambda: decaying_gram(14), 2, "min", LD),
    "gram-excluded": Case(lambda: decaying_gram(90), 3, "max", "dense lanczos auto randomised", directions),
    "factor": Case(lambda: factor(200), 4, "max", "dense lanczos auto randomised factor"),
    "factor-all": Case(lambda: factor(200), 6, "max", "dense auto factor"),
    "factor-excluded": Case(lambda: factor(200), 4, "max", "dense lanczos auto randomised factor", directions),
    "factor-wide": Case(lambda: factor(6, 20), 4, "max", "dense lanczos auto randomised factor"),
    # excluded directions that are not eigenvectors
    "excluded-not-eigen": Case(lambda: laplacian(path(90)), 3, "min", ALL, directions),
    "excluded-not-eigen-600": Case(lambda: laplacian(path(600)), 3, "min", SPARSE_MIN, directions),
    "excluded-not-eigen-max": Case(lambda: laplacian(path(90)), 3, "max", LD, directions),
    "excluded-dependent": Case(
        lambda: laplacian(path(90)), 3, "min", ALL, lambda n: np.hstack([ones(n), 2 * ones(n), directions(n, 1)])
    ),
    # smallest sizes
    "one-by-one": Case(lambda: Form(1, sparse=sp.csr_array([[3.0]]), psd=True), 1, "min", ALL),
    "one-by-one-max": Case(
        lambda: gram(np.array([[3.0]]), centre=False), 1, "max", "dense lanczos auto randomised"
    ),
    "n-is-d-plus-1": Case(lambda: laplacian(path(3)), 2, "min", ALL, ones),
    "k-is-n": Case(lambda: laplacian(path(7)), 7, "min", ALL),
    "k-is-n-less-1": Case(lambda: laplacian(path(30)), 29, "min", ALL, ones),
    "k-is-n-less-1-max": Case(lambda: laplacian(path(30)), 29, "max", LD),
    "zero": Case(lambda: Form(5, sparse=sp.csr_array((5, 5)), psd=True), 5, "min", ALL),
    "zero-max": Case(lambda: Form(5, sparse=sp.csr_array((5, 5)), psd=True), 5, "max", LD + " randomised"),
    "zero-excluded": Case(lambda: Form(5, sparse=sp.csr_array((5, 5)), psd=True), 4, "min", ALL, ones),
    "nothing": Case(lambda: Form(4, psd=True), 4, "max", LD),
}  # fmt: skip

TABLE = [pytest.param(case, name, id=f"{name}-{c}") for c, case in CASES.items() for name in case.solvers.split()]


def reference(A: np.ndarray, k: int, sense: str, N: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Solve by LAPACK on the complement of N."""
    Q = np.eye(A.shape[0]) if N is None else la.null_space(N.T)
    values, V = la.eigh(Q.T @ A @ Q)
    pick = slice(0, k) if sense == "min" else slice(-1, -k - 1 if k < values.size else None, -1)
    return values[pick], Q @ V[:, pick]


@pytest.mark.parametrize("case, name", TABLE)
@pytest.mark.every(3)
def test_solver_agrees_with_lapack(case: Case, name: str) -> None:
    A = case.make()
    N = None if case.exclude is None else case.exclude(A.n)
    expected, V = reference(A.to_dense(), case.k, case.sense, N)
    norm = max(A.norm(), 1e-300)
    for seed in range(5 if A.n <= 200 else 2):
        found = solve(TraceProblem(A, None, case.sense, N), case.k, solver=SOLVERS[name], random_state=seed)
        np.testing.assert_allclose(found.values, expected, rtol=1e-7, atol=1e-11 * norm)
        np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(case.k), atol=1e-9)
        assert found.residuals.max() <= (1e-8 if name == "randomised" else 1e-10)
        assert angle(found.vectors, V) < 1e-3
        if N is not None:
            assert np.abs(N.T @ found.vectors).max() < 1e-9 * np.abs(N).sum()


@pytest.mark.parametrize("name", ["dense", "shift-invert", "lanczos", "auto"])
def test_the_same_seed_gives_the_same_bits(name: str) -> None:
    problem = TraceProblem(laplacian(cycle(120) + path(120)), None, "min", ones(120))
    first, second = (solve(problem, 3, solver=name, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(first.vectors, second.vectors)
    np.testing.assert_array_equal(first.values, second.values)


def test_random_states_of_every_kind() -> None:
    problem = TraceProblem(laplacian(path(60)), None, "min", ones(60))
    expected = solve(problem, 2).values
    for state in (None, 0, np.random.RandomState(1), np.random.default_rng(2)):
        np.testing.assert_allclose(solve(problem, 2, solver="lanczos", random_state=state).values, expected, atol=1e-10)


@pytest.mark.parametrize("name", ["shift-invert", "auto"])
def test_tiny_eigenvalues_of_a_long_path(name: str) -> None:
    n, k = 2000, 4
    found = solve(TraceProblem(laplacian(path(n)), None, "min", ones(n)), k, solver=name)
    assert found.solver == "ShiftInvert"
    j = np.arange(1, k + 1)
    np.testing.assert_allclose(found.values, 2 - 2 * np.cos(np.pi * j / n), rtol=1e-7)
    assert angle(found.vectors, np.cos(np.pi * np.outer(np.arange(n) + 0.5, j) / n)) < 1e-4


def test_long_path_without_exclusion_finds_the_constant() -> None:
    n = 2000
    found = solve(TraceProblem(laplacian(path(n)), None, "min"), 3)
    assert angle(found.vectors[:, :1], ones(n)) < 1e-4
    np.testing.assert_allclose(found.values[1:], 2 - 2 * np.cos(np.pi * np.arange(1, 3) / n), rtol=1e-6)


# ---------------------------------------------------------------------- what solvers refuse
@pytest.mark.parametrize(
    "solver, form, sense",
    [
        (ShiftInvert(), laplacian(path(9)), "max"),
        (ShiftInvert(), random_symmetric(9), "min"),
        (ShiftInvert(), decaying_gram(20), "min"),
        (ShiftInvert(), factor(9), "min"),
        (Chebyshev(), laplacian(path(9)), "max"),
        (Chebyshev(), factor(9), "min"),
        (Multigrid(), random_symmetric(9), "min"),
        (Randomised(), laplacian(path(9)), "min"),
        (Randomised(), random_symmetric(9), "max"),
        (Factor(), laplacian(path(9)), "max"),
        (Factor(), factor(9), "min"),
        (Factor(), -1.0 * factor(9), "max"),
        (Factor(), factor(9) + diagonal(np.ones(9)), "max"),
    ],
)
def test_solvers_refuse_unsuitable_problems(solver: Solver, form: Form, sense: str) -> None:
    with pytest.raises(InputError):
        solve(TraceProblem(form, None, sense), 1, solver=solver)


def test_unknown_solver() -> None:
    with pytest.raises(InputError, match="shift-invert"):
        as_solver("magic")
    assert isinstance(as_solver("lanczos"), Lanczos)
    assert as_solver(own := Dense()) is own


def names(chain: list[Solver]) -> str:
    return " ".join(type(s).__name__ for s in chain)


def test_auto_follows_its_table() -> None:
    big = laplacian(path(600))
    assert names(Auto().chain(laplacian(path(500)), 2, "min")) == "Dense"
    assert names(Auto().chain(big, 2, "min")) == "ShiftInvert Chebyshev Dense"
    assert names(Auto().chain(scattered(8000), 2, "min")) == "Lanczos Chebyshev Dense"
    assert names(Auto().chain(reconstruction(scattered(8000).sparse), 2, "min")) == "Chebyshev Lanczos Dense"
    assert names(Auto().chain(big, 200, "min")) == "Dense"
    assert names(Auto().chain(big, 2, "max")) == "Lanczos Dense"
    assert names(Auto().chain(random_symmetric(600), 2, "min")) == "Lanczos Dense"
    assert names(Auto().chain(decaying_gram(600), 2, "min")) == "Dense"
    assert names(Auto().chain(decaying_gram(600), 2, "max")) == "Lanczos Dense"
    assert names(Auto().chain(factor(600), 2, "max")) == "Factor"
    assert names(Auto().chain(factor(600), 2, "min")) == "Lanczos Dense"
    assert names(Auto().chain(-1.0 * factor(600), 2, "max")) == "Lanczos Dense"
    assert names(Auto().chain(-1.0 * big, 2, "min")) == "Lanczos Dense"
    assert names(Dense().chain(big, 2, "min")) == "Dense"


# ---------------------------------------------------------------------- failure and its successor
class Broken(Dense):
    """A solver that fails in a chosen way."""

    def __init__(self, how: str = "raise") -> None:
        self.how = how

    def pairs(self, A: Any, k: int, sense: str, exclude: Any, rng: Any) -> Any:
        if self.how == "raise":
            raise ConvergenceError("no luck")
        if self.how == "runtime":
            raise RuntimeError("Factor is exactly singular")
        U = np.full((A.n, k), np.nan) if self.how == "nan" else rng.standard_normal((A.n, k))
        return np.zeros(k), U


class Chain(Auto):
    def __init__(self, solvers: Any = ()) -> None:
        self.solvers = solvers

    def chain(self, A: Any, k: int, sense: str) -> list[Solver]:
        return list(self.solvers)


@pytest.mark.parametrize("how", ["raise", "runtime", "nan", "garbage"])
def test_fallback_to_the_next_solver_warns(how: str) -> None:
    problem = TraceProblem(laplacian(path(50)), None, "min", ones(50))
    with pytest.warns(ConvergenceWarning, match="Broken.*Dense takes over"):
        found = solve(problem, 2, solver=Chain([Broken(how), Dense()]))
    assert found.solver == "Dense"
    np.testing.assert_allclose(found.values, 2 - 2 * np.cos(np.pi * np.arange(1, 3) / 50))


@pytest.mark.parametrize("how", ["raise", "runtime", "nan", "garbage"])
def test_error_when_all_solvers_fail(how: str) -> None:
    problem = TraceProblem(laplacian(path(50)), None, "min")
    with pytest.raises(ConvergenceError, match="Broken"):
        solve(problem, 2, solver=Broken(how))
    with pytest.warns(ConvergenceWarning), pytest.raises(ConvergenceError):
        solve(problem, 2, solver=Chain([Broken("garbage"), Broken(how)]))


def test_auto_recovers_from_a_failed_shift_invert(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ShiftInvert, "pairs", Broken("garbage").pairs)
    with pytest.warns(ConvergenceWarning, match="ShiftInvert reached a relative residual"):
        found = solve(TraceProblem(laplacian(star(600)), None, "min"), 1)
    assert found.solver == "Chebyshev"
    assert angle(found.vectors, ones(600)) < 1e-4


# ---------------------------------------------------------------------- high intrinsic dimension
def test_filtered_iteration_on_a_matrix_that_would_fill() -> None:
    """Independent seeds give the same subspace, with the values of a dense solve."""
    form = scattered(1500, 6)
    problem = TraceProblem(form, None, "min", ones(1500))
    first, second = (solve(problem, 3, solver="chebyshev", random_state=seed) for seed in (0, 1))
    exact = solve(problem, 3, solver="dense")
    np.testing.assert_allclose(first.values, exact.values, rtol=1e-9)
    assert angle(first.vectors, second.vectors) < 1e-4
    assert angle(first.vectors, exact.vectors) < 1e-4


def test_a_factored_form_keeps_its_small_eigenvalues() -> None:
    """λ = 1e-10 of the norm: squaring would lose it, so the form must stay factored."""
    n = 900
    F = sp.diags_array(np.concatenate([[1e-5, 2e-5, 3e-5, 4e-5], np.linspace(0.05, 1, n - 4)]), format="csr")
    form = Form(n, roots=((1.0, sp.csr_array(F)),), psd=True)
    found = solve(TraceProblem(form, None, "min"), 2, solver="chebyshev")
    np.testing.assert_allclose(found.values, [1e-10, 4e-10], rtol=1e-6)
    assert angle(found.vectors, np.eye(n)[:, :2]) < 1e-4


def test_filtered_iteration_raises_with_its_residual() -> None:
    with pytest.raises(ConvergenceError, match=r"residual of .* after 2 cycles"):
        solve(TraceProblem(laplacian(path(3000)), None, "min", ones(3000)), 2, solver=Chebyshev(degree=10, cycles=2))


def test_multigrid_against_lapack() -> None:
    pytest.importorskip("pyamg")
    W = sp.kron(sp.eye_array(40), path(40)) + sp.kron(path(40), sp.eye_array(40)) * 1.5
    problem = TraceProblem(laplacian(sp.csr_array(W)), None, "min", ones(1600))
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    found, exact = (solve(problem, 3, solver=name) for name in ("amg", "dense"))
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002, the global generator is left alone
    assert found.solver == "Multigrid"
    np.testing.assert_allclose(found.values, exact.values, rtol=1e-8)
    assert angle(found.vectors, exact.vectors) < 1e-5


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
@pytest.mark.every(3)
def test_multigrid_converges_fast_in_any_unit(scale: float, monkeypatch: pytest.MonkeyPatch) -> None:
    pyamg = pytest.importorskip("pyamg")
    seen = []
    build = pyamg.smoothed_aggregation_solver
    monkeypatch.setattr(pyamg, "smoothed_aggregation_solver", lambda M, B: seen.append(B) or build(M, B=B))
    W = grid(40, 40) * scale
    d = np.sqrt(np.linspace(1, 30, 1600))
    A = laplacian(W).scaled(1 / d)
    exclude = (d / np.linalg.norm(d))[:, None]
    found = []
    for seed in (1, 2):  # seeds of numpy's global generator, on which nothing may depend
        np.random.seed(seed)  # noqa: NPY002
        settings = {"exclude": exclude, "tol": 1e-12, "iterations": 30}
        found.append(smallest_by_multigrid(A, 3, np.random.default_rng(0), **settings))
    values, V = found[0]
    np.testing.assert_array_equal(found[1][1], V)
    assert np.linalg.norm(A @ V - V * values, axis=0).max() < 1e-9 * A.norm()
    np.testing.assert_allclose(values, np.linalg.eigvalsh(A.to_dense())[1:4], rtol=1e-7)
    np.testing.assert_array_equal(seen[0], exclude)


def test_missing_multigrid_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyamg", None)
    with pytest.raises(InputError, match=r"eigenspan\[amg\]"):
        solve(TraceProblem(laplacian(path(600)), None, "min"), 1, solver="amg")


# ---------------------------------------------------------------------- predicted fill
def grid(*sizes: int) -> sp.csr_array:
    total = sp.csr_array((1, 1))
    for m in sizes:
        total = sp.kron(total, sp.eye_array(m)) + sp.kron(sp.eye_array(total.shape[0]), path(m))
    return sp.csr_array(total)


@pytest.mark.parametrize("sizes", [(3000,), (60, 60), (20, 200), (16, 16, 16), (8, 8, 8, 8)], ids=str)
def test_predicted_fill_is_close_to_the_actual_fill(sizes: tuple[int, ...]) -> None:
    L = laplacian(grid(*sizes)).sparse
    lu = sp.linalg.splu(
        sp.csc_array(L + 1e-9 * sp.eye_array(L.shape[0])),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )
    assert 1 / 4 < predict_fill(L).entries / lu.nnz < 4


def test_separators_distinguish_sheets_from_clouds() -> None:
    assert separator(path(3000)) == 1
    assert separator(path(20000)) <= 2  # longer than the search goes
    assert separator(grid(40, 40)) <= 40
    assert separator(scattered(2000).sparse) > 500
    sheet, cloud = predict_fill(laplacian(grid(70, 70)).sparse), predict_fill(scattered(4900).sparse)
    assert sheet.seconds < 1 < 2 < cloud.seconds
    assert sheet.seconds < sheet.seconds_without
    assert cloud.seconds > cloud.seconds_without


def test_the_separator_is_the_smallest_level() -> None:
    dumbbell = sp.lil_array(sp.block_diag([grid(15, 15), path(3), grid(15, 15)]))
    for a, b in ((224, 225), (227, 228)):
        dumbbell[a, b] = dumbbell[b, a] = 1.0
    assert separator(sp.csr_array(dumbbell)) == 1
    strip = sp.lil_array(sp.block_diag([grid(5, 200), sp.csr_array((1, 1))]))
    strip[1000, 500] = strip[500, 1000] = (
        1.0  # the point of smallest degree is in the middle: the search must not start there
    )
    assert separator(sp.csr_array(strip)) <= 6


def test_the_factor_of_a_complete_graph_is_dense() -> None:
    n = 1000
    fill = predict_fill(laplacian(sp.csr_array(np.ones((n, n)) - np.eye(n))).sparse)
    assert fill.entries == n**2
    assert fill.operations == pytest.approx(n**3 / 3)
    assert fill.seconds > 1.5 * fill.entries / 2e7  # the arithmetic takes nearly as long as the memory access


def test_products_grow_with_the_length_of_the_graph() -> None:
    """Twice for a Laplacian, four times for second derivatives, assembled or as a factor."""
    forms = [laplacian(grid(10, length)).sparse for length in (300, 600)]
    for matrices, squared, growth in (
        (forms, False, 2),
        ([sp.csr_array(L @ L) for L in forms], False, 4),
        (forms, True, 4),
    ):
        short, long = (predict_fill(M, squared=squared).products / M.nnz for M in matrices)
        assert 0.8 * growth < long / short < 1.1 * growth


def test_the_fill_of_a_square_is_that_of_paths_of_two_steps() -> None:
    L = laplacian(grid(40, 60)).sparse
    F = sp.csr_array(sp.tril(L))  # a search along its rows alone would stop at once
    squared = predict_fill(F, squared=True)
    assert squared.separator == 2 * separator(L)
    sheet = KNN(10).build(np.random.default_rng(0).random((2400, 2))).distances
    for G in (F, sp.csr_array(sheet + 2 * sp.eye_array(2400))):
        lu = sp.linalg.splu(
            sp.csc_array(G.T @ G + 1e-9 * sp.eye_array(2400)),
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )
        assert 1 / 4 < predict_fill(G, squared=True).entries / lu.nnz < 4


def test_the_prediction_and_the_factor_are_in_the_diagnostics() -> None:
    with collect() as record:
        solve(TraceProblem(laplacian(grid(30, 30)), None, "min", ones(900)), 2)
    assert record["predicted_factor"]["separator"] <= 30
    assert record["solver"] == "ShiftInvert"
    assert record["factor_memory"].endswith("B")


def test_a_factor_that_does_not_fit_is_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EIGENSPAN_MEMORY", "100K")
    assert names(Auto().chain(laplacian(grid(40, 40)), 2, "min")) == "Lanczos Chebyshev Dense"


# ---------------------------------------------------------------------- axes on a handful of points
def test_participation_counts_points() -> None:
    Y = np.zeros((200, 4))
    Y[7, 0] = -3.0
    Y[:50, 1] = 1.0
    Y[:, 2] = np.where(np.arange(200) % 2, 1, -1)
    Y[3, 3], Y[4, 3] = 1e-200, -1e-200
    np.testing.assert_allclose(participation(Y), [1, 50, 200, 2])


def test_the_first_axis_on_fewer_than_three_of_a_hundred_points_is_named() -> None:
    Y = np.random.default_rng(0).standard_normal((100, 4))
    Y[:, 1], Y[:, 2:] = 0.0, 0.0
    Y[40:43, 1] = 1.0
    assert warn_if_localised(Y[:, :2])[1] == pytest.approx(3)
    Y[[60, 70], 2], Y[80, 3] = [1.0, -1.1], 1.0
    with pytest.warns(LocalisationWarning, match=r"Axis 3 sits on about 2\.0 of the 100 points \(heaviest: row 70\)"):
        warn_if_localised(Y)
    few = np.delete(Y, 0, axis=0)
    assert warn_if_localised(few)[3] == pytest.approx(1)  # two of 99 points are not unusual


def test_an_axis_on_one_point_warns() -> None:
    """For a cloud and a far outlier connected to it by one edge, the first axis of LTSA is the outlier."""
    X = np.random.default_rng(0).standard_normal((300, 4))
    X[0] = 1000.0
    with pytest.warns(LocalisationWarning, match=r"row 0\b"):
        found = LTSA(1, n_neighbors=6).fit(X)
    assert found.diagnostics_["participation"][0] < 1.1


# ---------------------------------------------------------------------- trace ratio
def scatter_pair(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    F, G = rng.standard_normal((2, n, n + 2))
    return F @ F.T, G @ G.T


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("sense", ["max", "min"])
@pytest.mark.parametrize("scale", [1.0, 1e-14, 1e14])
def test_trace_ratio_is_optimal(seed: int, sense: str, scale: float) -> None:
    A, B = scatter_pair(5, seed)
    A = A * scale
    rho, V, values = trace_ratio(A, B, 2, sense)
    np.testing.assert_allclose(V.T @ V, np.eye(2), atol=1e-12)
    assert rho == pytest.approx(np.trace(V.T @ A @ V) / np.trace(V.T @ B @ V), rel=1e-12)
    rng = np.random.default_rng(seed)
    sign = 1 if sense == "max" else -1
    others = np.linalg.qr(rng.standard_normal((4000, 5, 2)))[0]
    near = np.linalg.qr(V + 1e-3 * rng.standard_normal((4000, 5, 2)))[0]
    for U in (others, near):
        ratio = np.einsum("bia,ij,bja->b", U, A, U) / np.einsum("bia,ij,bja->b", U, B, U)
        assert np.all(sign * ratio <= sign * rho + 1e-10 * abs(rho))
    # the optimum is the root of the sum of the extreme eigenvalues of A − ρB
    assert abs(values[:2].sum()) < 1e-9 * np.linalg.norm(A)


@pytest.mark.parametrize("seed", range(5))
def test_trace_ratio_converges_monotonically_in_few_steps(seed: int) -> None:
    A, B = scatter_pair(12, seed)
    ratios = []
    for steps in range(1, 16):
        try:
            trace_ratio(A, B, 3, "max", iterations=steps)
        except ConvergenceError as failure:
            ratios.append(float(str(failure).split("(ratio ")[1].split(")")[0]))
        else:
            break
    else:
        pytest.fail("more than 15 iterations")
    assert np.all(np.diff(ratios) >= -1e-9 * np.abs(ratios[:-1]))


def test_trace_ratio_over_a_singular_denominator() -> None:
    F = np.random.default_rng(0).standard_normal((8, 4))
    A, B = positive(8, 1), F @ F.T
    for k in (1, 2, 4):
        with pytest.raises(UnitError, match="unbounded"):
            trace_ratio(A, B, k, "max")
    rho, V, _ = trace_ratio(A, B, 5, "max")  # more axes than the dimension of null(B)
    assert rho == pytest.approx(np.trace(V.T @ A @ V) / np.trace(V.T @ B @ V))
    for wrong in (np.zeros((8, 8)), -np.eye(8)):
        with pytest.raises(UnitError, match="trace"):
            trace_ratio(A, wrong, 2, "max")


def test_trace_ratio_problem() -> None:
    A, B = scatter_pair(6, 0)
    found = solve(TraceRatio(gram(A.copy(), centre=False), gram(B.copy(), centre=False)), 2)
    assert found.facts["trace_ratio"] == pytest.approx(trace_ratio(A, B, 2, "max")[0])
    assert found.residuals.max() < 1e-10
    ratio_trace = la.eigh(A, B)[1][:, -2:]
    V = np.linalg.qr(ratio_trace)[0]
    assert found.facts["trace_ratio"] >= np.trace(V.T @ A @ V) / np.trace(V.T @ B @ V)
    with pytest.raises(DimensionError, match="exceeds 6"):
        solve(TraceRatio(gram(A, centre=False), gram(B, centre=False)), 7)


# ---------------------------------------------------------------------- generalised problems
def generalised(A: np.ndarray, B: np.ndarray, k: int, sense: str) -> tuple[np.ndarray, np.ndarray]:
    values, V = la.eigh(A, B)
    pick = slice(0, k) if sense == "min" else slice(-1, -k - 1, -1)
    return values[pick], V[:, pick]


def positive(n: int, seed: int) -> np.ndarray:
    F = np.random.default_rng(seed).standard_normal((n, 2 * n))
    return F @ F.T / n


@pytest.mark.parametrize("sense", ["min", "max"])
@pytest.mark.parametrize("unit", ["diagonal", "dense", "sparse"])
def test_generalised_problem(sense: str, unit: str) -> None:
    n = 30
    A = random_symmetric(n, 1)
    B = {
        "diagonal": diagonal(np.linspace(0.1, 4, n)),
        "dense": gram(positive(n, 2), centre=False),
        "sparse": laplacian(path(n)) + diagonal(np.ones(n)),
    }[unit]
    expected, V = generalised(A.to_dense(), B.to_dense(), 3, sense)
    found = solve(TraceProblem(A, B, sense), 3)
    np.testing.assert_allclose(found.values, expected, atol=1e-10)
    np.testing.assert_allclose(found.vectors.T @ B.to_dense() @ found.vectors, np.eye(3), atol=1e-10)
    assert angle(found.vectors, V) < 1e-4
    R = A @ found.vectors - (B @ found.vectors) * found.values
    assert np.abs(R).max() < 1e-9


@pytest.mark.parametrize("unit", ["diagonal", "dense"])
def test_exclusion_is_in_the_metric_of_the_unit(unit: str) -> None:
    n = 25
    B = diagonal(np.linspace(0.5, 3, n)) if unit == "diagonal" else gram(positive(n, 3), centre=False)
    A, N = random_symmetric(n, 4), directions(n)
    found = solve(TraceProblem(A, B, "min", N), 3)
    Q = la.null_space((B @ N).T)
    expected, V = generalised(Q.T @ A.to_dense() @ Q, Q.T @ B.to_dense() @ Q, 3, "min")
    np.testing.assert_allclose(found.values, expected, atol=1e-10)
    assert angle(found.vectors, Q @ V) < 1e-4
    assert np.abs(N.T @ (B @ found.vectors)).max() < 1e-9


def test_singular_unit_with_free_null_space_is_restricted() -> None:
    rng = np.random.default_rng(0)
    T = rng.standard_normal((12, 8))
    a, b = random_symmetric(8, 2).to_dense(), positive(8, 3)
    P = np.linalg.pinv(T)
    A, B = Form(12, dense=P.T @ a @ P), gram(P.T @ b @ P, centre=False)
    found = solve(TraceProblem(A, B, "max"), 3)
    np.testing.assert_allclose(found.values, generalised(a, b, 3, "max")[0], atol=1e-9)
    assert found.facts["rank_of_unit"] == 8
    np.testing.assert_allclose(found.vectors.T @ (B @ found.vectors), np.eye(3), atol=1e-9)
    with pytest.raises(DimensionError, match="exceeds 8"):
        solve(TraceProblem(A, B, "max"), 9)


def test_isolated_point_of_degree_zero() -> None:
    W = sp.csr_array(sp.block_diag([cycle(7) + path(7), sp.csr_array((1, 1))]))
    found = solve(TraceProblem(laplacian(W), degree(W), "min"), 3)
    W7 = (cycle(7) + path(7)).toarray()
    expected = la.eigh(np.diag(W7.sum(axis=1)) - W7, np.diag(W7.sum(axis=1)), eigvals_only=True)[:3]
    np.testing.assert_allclose(found.values, expected, atol=1e-12)


def test_unbounded_criterion_gets_a_reported_ridge() -> None:
    rng = np.random.default_rng(0)
    F = rng.standard_normal((10, 6))
    A, B = positive(10, 1), F @ F.T
    with pytest.warns(RidgeWarning, match="rank 6 of 10"):
        found = solve(TraceProblem(gram(A.copy(), centre=False), gram(B.copy(), centre=False), "max"), 2)
    epsilon = 1e-6 * np.trace(B) / 10
    _, V = generalised(A, B + epsilon * np.eye(10), 2, "max")
    assert angle(found.vectors, V) < 1e-3
    null = la.null_space(F.T)  # in the limit, the best directions of A within null(B)
    _, best = la.eigh(null.T @ A @ null)
    assert angle(found.vectors, null @ best[:, -2:]) < 0.1


@pytest.mark.parametrize("rank", [10, 7, 3])
def test_a_psd_cost_is_bounded_where_the_unit_is_singular(rank: int) -> None:
    """The component of an axis in null(B) is free and takes the value of least cost; no ridge is needed."""
    rng = np.random.default_rng(0)
    F, G = rng.standard_normal((10, 6)), rng.standard_normal((10, rank))
    A, B = G @ G.T, F @ F.T
    found = solve(TraceProblem(gram(A.copy(), centre=False), gram(B.copy(), centre=False), "min"), 6)
    Q, N = la.orth(F), la.null_space(F.T)
    a, b, c = Q.T @ A @ Q, Q.T @ A @ N, N.T @ A @ N
    expected = la.eigh(a - b @ np.linalg.pinv(c, rcond=1e-10) @ b.T, Q.T @ B @ Q, eigvals_only=True)
    np.testing.assert_allclose(found.values, expected, atol=1e-9 * np.abs(A).max())
    np.testing.assert_allclose(found.vectors.T @ B @ found.vectors, np.eye(6), atol=1e-8)
    np.testing.assert_allclose(np.diag(found.vectors.T @ A @ found.vectors), found.values, atol=1e-8)
    assert np.abs(A @ found.vectors - B @ found.vectors * found.values).max() < 1e-7 * np.abs(A).max()


def test_zero_unit_is_refused() -> None:
    with pytest.warns(RidgeWarning), pytest.raises(UnitError, match="zero"):
        solve(TraceProblem(gram(positive(4, 0), centre=False), gram(np.zeros((4, 4)), centre=False), "max"), 1)


@pytest.mark.parametrize("unit", [diagonal([1.0, 2.0, -0.25, 1.0]), Form(4, dense=np.diag([1.0, 2.0, -0.25, 1.0]))])
def test_indefinite_unit_is_refused_with_its_smallest_eigenvalue(unit: Form) -> None:
    with pytest.raises(UnitError, match=r"from -0\.25 to 2"):
        solve(TraceProblem(gram(np.eye(4), centre=False), unit, "min"), 1)


def test_rounding_below_zero_does_not_make_a_unit_indefinite() -> None:
    B = diagonal([1.0, 2.0, -1e-17])
    assert solve(TraceProblem(diagonal([1.0, 5.0, 0.0]), B, "min"), 1).values == pytest.approx([1.0])


@pytest.mark.parametrize("sense", ["min", "max"])
def test_units_of_the_features_do_not_matter(sense: str) -> None:
    n = 12
    A, B = random_symmetric(n, 3).to_dense(), positive(n, 4)
    s = 10.0 ** np.random.default_rng(0).integers(-8, 9, n)
    s[:2] = 1e-8, 1e8
    plain = solve(TraceProblem(Form(n, dense=A), gram(B.copy(), centre=False), sense), 3)
    odd = solve(TraceProblem(Form(n, dense=A * np.outer(s, s)), gram(B * np.outer(s, s), centre=False), sense), 3)
    np.testing.assert_allclose(odd.values, plain.values, rtol=1e-9)
    assert angle(s[:, None] * odd.vectors, plain.vectors) < 1e-4


def test_unit_with_the_excluded_direction_in_its_null_space() -> None:
    L = laplacian(path(20))
    found = solve(TraceProblem(L, centring(20), "min", ones(20)), 3)
    np.testing.assert_allclose(found.values, 2 - 2 * np.cos(np.pi * np.arange(1, 4) / 20), atol=1e-10)
    np.testing.assert_allclose(found.vectors.T @ (centring(20) @ found.vectors), np.eye(3), atol=1e-10)


# ---------------------------------------------------------------------- gap, dimension, facts
def test_gap_and_the_next_eigenvalue() -> None:
    found = solve(TraceProblem(diagonal([4.0, 1.0, 2.0]), None, "min"), 2)
    assert found.gap == pytest.approx(0.5)
    assert found.beyond == pytest.approx(4.0)
    last = solve(TraceProblem(diagonal([4.0, 1.0, 2.0]), None, "min"), 3)
    assert np.isinf(last.gap)
    assert np.isnan(last.beyond)
    assert relative_gap(1.0, 1.0, 1.0) == 0.0
    assert relative_gap(0.0, 0.0, 1.0) == 0.0
    assert relative_gap(1e-20, 5e-17, 1.0) == 0.0


@pytest.mark.parametrize("solver", ["dense", "lanczos", "shift-invert"])
@pytest.mark.parametrize("form", [laplacian(cycle(60)), laplacian(cycle(61)), laplacian(components([30] * 3))])
def test_a_cut_through_a_repeated_eigenvalue_warns(form: Form, solver: str) -> None:
    with pytest.warns(DegenerateWarning, match="2-dimensional subspace is not unique"):
        solve(TraceProblem(form, None, "min"), 2, solver=solver)


def test_a_cut_beside_a_repeated_eigenvalue_does_not_warn() -> None:
    for k in (1, 3, 5):
        solve(TraceProblem(laplacian(cycle(60)), None, "min"), k)
    solve(TraceProblem(laplacian(components([30, 31, 32])), None, "min"), 3)


def test_too_many_components() -> None:
    with pytest.raises(DimensionError, match="exceeds 9"):
        solve(TraceProblem(laplacian(path(10)), None, "min", ones(10)), 10)
    with pytest.raises(DimensionError, match="exceeds 10"):
        solve(TraceProblem(laplacian(path(10)), None, "min"), 11)


def test_solution_without_the_first_axis() -> None:
    found = solve(TraceProblem(diagonal([1.0, 2.0, 4.0]), None, "min"), 2).without_first(1)
    np.testing.assert_allclose(found.values, [2.0])
    np.testing.assert_allclose(np.abs(found.vectors), [[0], [1], [0]], atol=1e-12)


def test_sign_makes_the_largest_entry_positive() -> None:
    np.testing.assert_array_equal(sign_of(np.array([[1.0, -3.0, 0.0], [-2.0, 1.0, 0.0]])), [-1, -1, 1])
    assert sign_of(np.zeros((0, 2))).size == 2


# ---------------------------------------------------------------------- posing
def test_pose_requires_exactly_one_objective() -> None:
    form = centring(5)
    for wrong in ({}, {"minimise": form, "maximise": form}):
        with pytest.raises(InputError, match="exactly one"):
            pose(Samples(5), **wrong)
    with pytest.raises(InputError, match="unit='length'"):
        pose(Samples(5), minimise=form, unit="length")
    with pytest.raises(InputError, match="negative"):
        pose(Features.linear(np.eye(5)), maximise=form, ridge=-1.0)


def test_pose_restricts_and_excludes() -> None:
    X = np.random.default_rng(0).standard_normal((20, 3)) + 4
    Z = X - X.mean(axis=0)
    posed = pose(Features.linear(X), maximise=centring(20), unit="projection")
    np.testing.assert_allclose(posed.problem.A.to_dense(), Z.T @ Z, atol=1e-10)
    assert posed.problem.B is None
    assert posed.problem.exclude is None
    W = path(20)
    on_samples = pose(Samples(20), minimise=laplacian(W), unit=degree(W)).problem
    np.testing.assert_array_equal(on_samples.exclude, ones(20))
    assert pose(Samples(20), minimise=degree(W)).problem.exclude is None
    ridged = pose(Features.linear(X), minimise=laplacian(W), unit=degree(W), ridge=2.5).problem
    plain = pose(Features.linear(X), minimise=laplacian(W), unit=degree(W)).problem
    # a ridge limits the length of axes: it is added to the cost if a PSD form is minimised, otherwise to the unit
    np.testing.assert_allclose(ridged.A.to_dense() - plain.A.to_dense(), 2.5 * np.eye(3), atol=1e-10)
    np.testing.assert_array_equal(ridged.B.to_dense(), plain.B.to_dense())
    ridged = pose(Features.linear(X), maximise=laplacian(W), unit=degree(W), ridge=2.5).problem
    np.testing.assert_allclose(ridged.B.to_dense() - plain.B.to_dense(), 2.5 * np.eye(3), atol=1e-10)
    d = np.asarray(W.sum(axis=1)).ravel()
    Zd = X - d @ X / d.sum()  # centred with the weights B1
    np.testing.assert_allclose(plain.B.to_dense(), Zd.T @ (Zd * d[:, None]), atol=1e-9)
    uncentred = pose(Features.linear(X), minimise=laplacian(W), unit=degree(W), center=False).problem
    np.testing.assert_allclose(uncentred.B.to_dense(), X.T @ (X * d[:, None]), atol=1e-9)


@pytest.mark.parametrize("unit", ["embedding", "projection"])
def test_points_that_all_coincide_have_no_dimension(unit: str) -> None:
    posed = pose(Features.linear(np.full((10, 3), 7.0)), maximise=centring(10), unit=unit)
    with pytest.raises(DimensionError, match="All rows coincide"):
        solve(posed.problem, 1)


def test_an_error_of_the_lapack_subset_driver_is_recovered(monkeypatch: pytest.MonkeyPatch) -> None:
    """LAPACK's subset driver fails on many equal eigenvalues with some processors' kernels; the driver for all eigenpairs does not."""
    A = np.diag([3.0, 1.0, 1.0, 0.5])
    eigh = la.eigh

    def failing(*args: Any, driver: str | None = None, **options: Any) -> Any:
        if driver is None:
            raise la.LinAlgError("Internal Error.")
        return eigh(*args, driver=driver, **options)

    monkeypatch.setattr(dense.la, "eigh", failing)
    values, V = dense.eigenpairs(A, 2, "max")
    np.testing.assert_allclose(values, [3.0, 1.0])
    np.testing.assert_allclose(A @ V, V * values, atol=1e-12)
    np.testing.assert_allclose(dense.eigenpairs(A, 2, "min", 2 * np.eye(4))[0], [0.25, 0.5])
    with pytest.raises(la.LinAlgError):
        dense.eigenpairs(A, 2, "min", -np.eye(4))


@pytest.mark.parametrize("unit", [None, np.diag([1.0, 2.0, 1.0, 1.0, 1.0, 2.0])], ids=["", "with a unit"])
def test_wrong_vectors_of_the_lapack_subset_driver_are_computed_again(
    monkeypatch: pytest.MonkeyPatch, unit: Any
) -> None:
    """The subset driver returns wrong vectors for some matrices of few distinct eigenvalues, without an error."""
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((6, 6)))[0]
    A = turn @ np.diag([0.0, 0.0, 0.0, 10.0, 10.0, 10.0]) @ turn.T
    A, eigh = dense.symmetric(A), la.eigh

    def wrong(*args: Any, driver: str | None = None, **options: Any) -> Any:
        values, vectors = eigh(*args, driver=driver, **options)
        return (values, vectors) if driver else (values, np.roll(vectors, 1, axis=0))

    monkeypatch.setattr(dense.la, "eigh", wrong)
    values, V = dense.eigenpairs(A, 3, "min", unit)
    np.testing.assert_allclose(A @ V, (V if unit is None else unit @ V) * values, atol=1e-12)


@pytest.mark.parametrize("order", [1, 7, 19, 20, 45])
def test_inverses_of_a_stack(order: int) -> None:
    B = np.random.default_rng(order).standard_normal((6, order, order))
    A = B @ np.swapaxes(B, 1, 2) + np.eye(order)
    found, logs = dense.inverses(A)
    np.testing.assert_allclose(found @ A, np.broadcast_to(np.eye(order), A.shape), atol=1e-9)
    np.testing.assert_allclose(logs, np.linalg.slogdet(A)[1], rtol=1e-10)
    A[2] = -A[2]
    with pytest.raises(np.linalg.LinAlgError):
        dense.inverses(A)
