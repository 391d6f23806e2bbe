"""The sparse factorisation by fronts: against LAPACK, against elimination by hand, and against SuperLU's fill."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.linalg import splu

from eigenspan._resources import threads
from eigenspan.compiled import elimination, fronts
from eigenspan.errors import MemoryLimitError
from eigenspan.graphs import KNN
from eigenspan.solvers import cholesky
from eigenspan.solvers.cholesky import Analysis, SmallAnalysis, analyse, minimum_degree


def positive(pattern: sp.csr_array, shift: float = 0.1) -> sp.csr_array:
    """The Laplacian of a graph with random weights, lifted."""
    half = sp.csr_array(sp.triu(pattern, 1))
    half.data = np.random.default_rng(half.nnz).random(half.nnz) + 0.1
    W = half + half.T
    return sp.csr_array(sp.diags_array(W.sum(axis=0) + shift) - W)


def grid(a: int, b: int) -> sp.csr_array:
    line = [sp.diags_array([np.ones(m - 1), np.ones(m - 1)], offsets=[-1, 1], shape=(m, m)) for m in (a, b)]
    return sp.csr_array(sp.kron(line[0], sp.eye_array(b)) + sp.kron(sp.eye_array(a), line[1]))


def sheet(n: int, k: int = 8) -> sp.csr_array:
    return KNN(k).build(np.random.default_rng(n).random((n, 2))).undirected()


def star(n: int) -> sp.csr_array:
    hub = np.zeros(n - 1, np.intp)
    return sp.csr_array((np.ones(n - 1), (hub, np.arange(1, n))), shape=(n, n))


MATRICES: dict[str, Callable[[], sp.csr_array]] = {
    "one": lambda: sp.csr_array([[2.0]]),
    "diagonal": lambda: sp.csr_array(sp.diags_array(np.arange(1.0, 40.0))),
    "path": lambda: positive(grid(1, 300)),
    "star": lambda: positive(star(100)),
    "complete": lambda: positive(sp.csr_array(np.ones((150, 150)))),
    "grid": lambda: positive(grid(23, 31)),
    "sheet": lambda: positive(sheet(2000)),
    "squared": lambda: sp.csr_array(positive(sheet(1500)) @ positive(sheet(1500))),
    "islands": lambda: positive(sp.csr_array(sp.block_diag([grid(9, 9), star(30), grid(1, 1), sheet(200)]))),
    "wide fronts": lambda: positive(sheet(900, 60)),
    "cloud": lambda: positive(KNN(6).build(np.random.default_rng(3).standard_normal((700, 20))).undirected()),
}


@pytest.fixture(params=MATRICES)
def matrix(request: pytest.FixtureRequest) -> sp.csr_array:
    return MATRICES[request.param]()


def test_solves_as_lapack(matrix: sp.csr_array) -> None:
    b = np.random.default_rng(0).standard_normal((matrix.shape[0], 3))
    factor = Analysis(matrix).factorise(matrix)
    truth = np.linalg.solve(matrix.toarray(), b)
    np.testing.assert_allclose(factor.solve(b), truth, atol=1e-10 * np.abs(truth).max())
    np.testing.assert_array_equal(factor.solve(b[:, 1]), factor.solve(b)[:, 1])
    assert factor.solve(b[:, :0]).shape == (matrix.shape[0], 0)
    assert factor.negative == 0


def test_the_factors_multiply_to_the_matrix(matrix: sp.csr_array) -> None:
    factor = Analysis(matrix).factorise(matrix)
    L, order = factor.lower(), factor.analysis.order
    assert sp.triu(L, 1).nnz == 0
    assert np.all(L.diagonal() > 0)
    missed = matrix[order][:, order] - L @ sp.diags_array(factor.signs) @ L.T
    assert np.abs(missed).max() < 1e-14 * np.abs(matrix).max() * 10


def test_the_same_bits_on_one_thread_or_two(matrix: sp.csr_array, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cholesky, "_SHARED", 0.0)  # so that small fronts are shared out too
    analysis = Analysis(matrix)
    b = np.random.default_rng(0).standard_normal(matrix.shape[0])
    with threads(1):
        alone = analysis.factorise(matrix)
        x = alone.solve(b)
    together = analysis.factorise(matrix)
    np.testing.assert_array_equal(alone.values, together.values)
    np.testing.assert_array_equal(x, together.solve(b))


def test_a_known_pattern_is_factorised_again_with_new_values() -> None:
    A = positive(sheet(800))
    analysis = Analysis(A)
    other = A.copy()
    other.data = other.data * 3.0
    b = np.ones(800)
    np.testing.assert_allclose(3.0 * analysis.factorise(other).solve(b), analysis.factorise(A).solve(b), rtol=1e-12)


def test_an_order_can_be_kept() -> None:
    A = positive(grid(12, 12))
    natural = Analysis(A, ordered=True)
    b = np.random.default_rng(0).standard_normal(144)
    np.testing.assert_allclose(natural.factorise(A).solve(b), Analysis(A).factorise(A).solve(b), rtol=1e-10)


@pytest.mark.parametrize("shift", [0.5, 2.0, 6.0])
def test_signs_count_the_negative_eigenvalues(shift: float) -> None:
    A = sp.csr_array(positive(sheet(600)) - shift * sp.eye_array(600))
    factor = Analysis(A).factorise(A)
    assert factor.negative == np.sum(np.linalg.eigvalsh(A.toarray()) < 0) > 0
    b = np.random.default_rng(0).standard_normal(600)
    np.testing.assert_allclose(A @ factor.solve(b), b, atol=1e-8)


@pytest.mark.parametrize("where", [0, 70, 143])
@pytest.mark.parametrize("value", [0.0, np.nan])
def test_a_zero_pivot_is_an_error(where: int, value: float) -> None:
    A = positive(grid(12, 12)).tolil()
    A[where, :] = 0.0
    A[:, where] = 0.0
    A = sp.csr_array(A + sp.eye_array(144))
    A.setdiag(np.where(np.arange(144) == where, value, A.diagonal()))
    with pytest.raises(RuntimeError, match="pivot"):
        Analysis(A).factorise(A)


def test_fill_is_that_of_superlu() -> None:
    """Stored zeros of merged columns and of the panels' corners included, less than its L and U; and the true entries as its L."""
    A = positive(sheet(20_000, 10))
    lu = splu(A.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    analysis = Analysis(A)
    assert analysis.entries < lu.nnz
    assert analysis.factorise(A).lower().nnz == pytest.approx(lu.L.nnz, rel=0.1)


def test_a_factor_that_does_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    A = positive(sheet(800))
    analysis = Analysis(A)
    monkeypatch.setenv("EIGENSPAN_MEMORY", str(4 * analysis.entries))
    with pytest.raises(MemoryLimitError, match="order 800"):
        analysis.factorise(A)


@pytest.mark.parametrize("n", [50, 500])
@pytest.mark.parametrize("ordered", [False, True])
def test_small_matrices_go_to_superlu_with_the_same_answers(n: int, ordered: bool) -> None:
    A = sp.csr_array(positive(sheet(n)) - 2.0 * sp.eye_array(n))
    small, large = (kind(A, ordered=ordered).factorise(A) for kind in (SmallAnalysis, Analysis))
    assert type(analyse(A).factorise(A)) is type(small)
    assert small.negative == large.negative > 0
    b = np.random.default_rng(0).standard_normal((n, 2))
    np.testing.assert_allclose(small.solve(b), large.solve(b), atol=1e-7)
    for factor in (small, large):
        L = factor.lower()
        missed = A[factor.order][:, factor.order] - L @ sp.diags_array(factor.signs) @ L.T
        assert np.abs(missed).max() < 1e-7  # indefinite: without pivoting entries grow


def test_superlu_must_not_leave_the_diagonal() -> None:
    A = sp.csr_array([[0.0, 1.0], [1.0, 0.0]])
    A.setdiag(0.0)
    with pytest.raises(RuntimeError, match="pivot"):
        SmallAnalysis(A).factorise(A)


# ---------------------------------------------------------------------- the analysis
def by_hand(A: sp.csr_array) -> np.ndarray:
    """The pattern of L, by eliminating a matrix of true and false."""
    full = A.toarray() != 0
    for k in range(len(full)):
        below = full[:, k].copy()
        below[: k + 1] = False
        full |= np.outer(below, below)
    return np.asarray(np.tril(full))


patterns = st.integers(1, 40).flatmap(
    lambda n: st.tuples(st.just(n), st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=90))
)


@given(patterns)
@settings(max_examples=150, deadline=None)
def test_the_analysis_of_any_pattern(drawn: tuple[int, list[tuple[int, int]]]) -> None:
    n, pairs = drawn
    ends = np.array(pairs, np.intp).reshape(-1, 2)
    A = positive(sp.csr_array((np.ones(len(ends)), (ends.min(axis=1), ends.max(axis=1))), shape=(n, n)))
    order = np.arange(n, dtype=np.int32)
    parent = elimination.elimination_tree(A.indptr, A.indices, order, order)
    full = by_hand(A)
    for k in range(n):
        below = np.flatnonzero(full[:, k])[1:]
        assert parent[k] == (below[0] if below.size else -1)
    analysis = Analysis(A)
    full = by_hand(A[analysis.order][:, analysis.order])
    begin, starts, rows, up, seats = analysis.plan[:5]
    assert sorted(analysis.order) == list(range(n))
    for s, (a, b) in enumerate(pairwise(begin)):
        mine = rows[starts[s] : starts[s + 1]]
        np.testing.assert_array_equal(mine, b + np.flatnonzero(full[b:, b - 1]))  # the last column decides
        assert not np.any(np.delete(full[b:, a:b], mine - b, axis=0))
        if up[s] >= 0:
            above = np.concatenate([np.arange(begin[up[s]], begin[up[s] + 1]), rows[starts[up[s]] : starts[up[s] + 1]]])
            np.testing.assert_array_equal(above[seats[starts[s] : starts[s + 1]]], mine)
        else:
            assert mine.size == 0
    x = analysis.factorise(A).solve(np.ones(n))
    np.testing.assert_allclose(A @ x, 1.0, atol=1e-9)


def test_counts_are_those_of_the_factor(matrix: sp.csr_array) -> None:
    order = minimum_degree(matrix)
    assert sorted(order) == list(range(matrix.shape[0]))
    place = np.argsort(order).astype(np.int32)
    parent = elimination.elimination_tree(matrix.indptr, matrix.indices, order, place)
    again = elimination.postorder(parent, np.arange(parent.size))
    renamed = np.append(np.argsort(again), -1)
    parent, order = renamed[parent[again]].astype(np.int32), order[again]
    assert np.all((parent > np.arange(parent.size)) | (parent == -1))
    place = np.argsort(order).astype(np.int32)
    counts = elimination.column_counts(matrix.indptr, matrix.indices, order, place, parent)
    np.testing.assert_array_equal(counts, by_hand(matrix[order][:, order]).sum(axis=0))


def test_subtrees_are_runs_and_children_are_ranked() -> None:
    parent = np.array([3, 3, 3, 6, 6, 6, -1, -1], np.int32)
    ranked = np.argsort([5.0, 9.0, 1.0, 2.0, 8.0, 3.0, 0.0, 1.0])
    np.testing.assert_array_equal(elimination.postorder(parent, ranked), [2, 0, 1, 3, 5, 4, 6, 7])
    assert elimination.postorder(np.empty(0, np.int32), np.empty(0, np.intp)).size == 0


def test_runs_depend_on_nothing_outside() -> None:
    analysis = Analysis(positive(sheet(3000)))
    up = analysis.plan.up
    assert len(analysis.spans) > 4
    for first, last in analysis.spans:
        for s in range(first, last):
            assert first <= up[s] < last or up[s] in analysis.crown
    covered = np.concatenate([np.arange(a, b) for a, b in analysis.spans] + [analysis.crown])
    np.testing.assert_array_equal(np.sort(covered), np.arange(up.size))


def test_what_is_left_for_a_parent_is_not_overwritten_before() -> None:
    for seed in range(3):
        analysis = Analysis(positive(sheet(1000 + seed)))
        up, room, sizes = analysis.plan.up, analysis.plan.room, np.diff(analysis.plan.starts) ** 2
        held = np.full(analysis.room, -1)
        for s in np.concatenate([np.concatenate([np.arange(a, b) for a, b in analysis.spans]), analysis.crown]):
            for child in np.flatnonzero(up == s):
                assert np.all(held[room[child] :][: sizes[child]] == child)
            held[room[s] :][: sizes[s]] = s


# ---------------------------------------------------------------------- the arithmetic of one front
@pytest.mark.parametrize("width, m", [(1, 1), (1, 9), (3, 3), (7, 20), (50, 120), (130, 400)])
@pytest.mark.parametrize("subtract", [fronts.subtract, fronts.subtract_by_blas])
def test_a_front_by_loops_and_by_blas(width: int, m: int, subtract: Callable[..., None]) -> None:
    rng = np.random.default_rng(m)
    A = rng.standard_normal((m, m))
    A = A @ A.T + np.eye(m)
    A[0] *= -1.0
    A[1:, 0] *= -1.0
    A[0, 0] = -abs(A[0, 0])
    panel, signs = A[:width].copy(), np.empty(width)
    assert fronts.eliminate(panel, 0, width, signs)
    L = np.triu(panel).T
    np.testing.assert_allclose((L * signs) @ L[:width].T, A[:, :width], atol=1e-9 * np.abs(A).max())
    rest = A[width:, width:].copy()
    subtract(panel, 0, width, width, m, signs, rest, width)
    below = panel[:, width:]
    expected = A[width:, width:] - below.T @ (signs[:, None] * below)
    np.testing.assert_allclose(np.triu(rest), np.triu(expected), atol=1e-9 * np.abs(A).max())
