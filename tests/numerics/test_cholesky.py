"""Sparse factorisation against LAPACK, against elimination by hand, and against SuperLU's fill."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.linalg import splu

import eigenspan
from eigenspan.errors import ConvergenceWarning, MemoryLimitError
from eigenspan.graphs import KNN
from eigenspan.numerics import factor as cholesky
from eigenspan.numerics.factor import (
    Analysis,
    SuperLUAnalysis,
    analyse,
    fill,
    fronts,
    minimum_degree,
    near_order,
    permuted,
)
from eigenspan.numerics.factor import numeric as arithmetic
from eigenspan.numerics.factor import quotient_graph as ordering
from eigenspan.numerics.factor.analysis import postorder
from eigenspan.numerics.factor.order import approximate_minimum_degree
from eigenspan.numerics.sdp.newton import NewtonMatrix
from eigenspan.numerics.sdp.program import Program
from eigenspan.numerics.threads import threads
from sdp_helpers import cloud, neighbours


def positive(pattern: sp.csr_array, shift: float = 0.1) -> sp.csr_array:
    """Return the Laplacian of a graph with random weights, plus a positive diagonal."""
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


def test_solutions_agree_with_lapack(matrix: sp.csr_array) -> None:
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


def test_the_factor_does_not_depend_on_the_number_of_threads(
    matrix: sp.csr_array, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arithmetic, "SHARED", 1.0)  # distribute the products of small fronts over threads too
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


def test_another_pattern_is_analysed_anew() -> None:
    A, B = positive(grid(15, 20)), positive(sheet(300))
    b = np.ones(300)
    factor = Analysis(A).factorise(B)
    np.testing.assert_allclose(B @ factor.solve(b), b, atol=1e-10)


@pytest.mark.parametrize("below", [True, False])
@pytest.mark.parametrize("stored", [False, True])
def test_a_zero_dropped_on_one_side(below: bool, stored: bool) -> None:
    A = positive(grid(1, 400)).tolil()
    i, j = (300, 10) if below else (10, 300)  # a chord: it causes all of the fill
    A[i, j] = A[j, i] = 1e-18
    truth = np.linalg.solve(A.toarray(), np.ones(400))
    A = sp.csr_array(A)
    whole = Analysis(A).plan
    A[i, j] = 0.0
    A.eliminate_zeros()
    assert A[j, i] != 0
    np.testing.assert_array_equal(Analysis(A).plan.rows, whole.rows)
    if stored:  # stored zeros, where another matrix of the same pattern has nonzeros
        far = sp.csr_array(([0.0, 0.0], ([0, 399], [399, 0])), shape=A.shape)
        entries = [(M.data, M.row, M.col) for M in (A.tocoo(), far.tocoo())]
        data, row, col = (np.concatenate(part) for part in zip(*entries, strict=True))
        A = sp.csr_array((data, (row, col)), shape=A.shape)
        assert np.sum(A.data == 0) == 2
    analysis = Analysis(A)
    np.testing.assert_allclose(analysis.factorise(A).solve(np.ones(400)), truth, rtol=1e-9)
    if stored:
        B = A.copy()
        B.data[B.data == 0] = -0.05
        x = analysis.factorise(B).solve(np.ones(400))
        np.testing.assert_allclose(B @ x, 1.0, atol=1e-9)


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


def test_near_order_keeps_a_good_order_and_improves_others() -> None:
    A = positive(sheet(3000))
    order = near_order(A)
    assert sorted(order) == list(range(3000))
    near = permuted(A, order)
    np.testing.assert_array_equal(near.toarray(), A.toarray()[np.ix_(order, order)])
    far = [np.abs(np.subtract(*M.nonzero())).mean() for M in (A, near)]
    assert far[1] < 0.1 * far[0]
    band = positive(sp.csr_array(sp.diags_array([np.ones(2999)], offsets=[1], shape=(3000, 3000))))
    np.testing.assert_array_equal(near_order(band), np.arange(3000))
    assert sorted(near_order(sp.csr_array((5, 5)))) == list(range(5))


def test_fill_is_similar_to_superlu() -> None:
    """With stored zeros, L has fewer entries than SuperLU's L and U together; without them, as many as its L."""
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
    small, large = (kind.factorise(A) for kind in (SuperLUAnalysis(A, ordered=ordered), Analysis(A)))
    assert type(analyse(A).factorise(A)) is type(small)
    assert small.negative == large.negative > 0
    b = np.random.default_rng(0).standard_normal((n, 2))
    np.testing.assert_allclose(small.solve(b), large.solve(b), atol=1e-7)
    for factor in (small, large):
        L = factor.lower()
        missed = A[factor.order][:, factor.order] - L @ sp.diags_array(factor.signs) @ L.T
        assert np.abs(missed).max() < 1e-7  # indefinite: without pivoting entries grow


def test_superlu_pivoting_off_the_diagonal_is_an_error() -> None:
    A = sp.csr_array([[0.0, 1.0], [1.0, 0.0]])
    A.setdiag(0.0)
    with pytest.raises(RuntimeError, match="pivot"):
        SuperLUAnalysis(A).factorise(A)


@pytest.mark.parametrize("change", ["int64", "int32", "float32", "read-only", "unsorted", "duplicates"])
def test_any_kind_of_arrays(change: str) -> None:
    A = positive(sheet(300))
    b = np.ones(300)
    truth = np.linalg.solve(A.toarray(), b)
    indptr, indices, data = A.indptr, A.indices, A.data
    if change.startswith("int"):
        indptr, indices = indptr.astype(change), indices.astype(change)
    elif change == "float32":
        data = data.astype(np.float32)
    elif change == "unsorted":
        for k in range(300):
            part = slice(indptr[k], indptr[k + 1])
            indices[part], data[part] = indices[part][::-1].copy(), data[part][::-1].copy()
    elif change == "duplicates":
        indptr, indices, data = 2 * indptr, np.repeat(indices, 2), np.repeat(data / 2, 2)
    else:
        for array in (indptr, indices, data):
            array.flags.writeable = False
    B = sp.csr_array((data, indices, indptr), shape=A.shape)
    np.testing.assert_allclose(Analysis(B).factorise(B).solve(b), truth, rtol=1e-5 if change == "float32" else 1e-11)


def test_a_right_side_of_another_length_is_refused() -> None:
    A = positive(grid(10, 10))
    with pytest.raises(ValueError, match="99 rows"):
        Analysis(A).factorise(A).solve(np.ones(99))


# ---------------------------------------------------------------------- behind the methods
@pytest.mark.parametrize("name", ["LaplacianEigenmaps", "LLE", "LTSA", "HessianLLE", "Anchored", "SpectralClustering"])
def test_methods_by_fronts_and_by_superlu(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X = np.c_[rng.random((900, 2)) * [3.0, 1.0], 0.01 * rng.random(900)]
    given: dict[str, Any] = {"n_components": 2} if name != "SpectralClustering" else {"n_clusters": 3}
    y = None
    if name == "Anchored":
        y = np.full((900, 2), np.nan)
        y[:200] = X[:200, :2]
        given = {"embedding": eigenspan.LLE()}
    else:
        given["solver"] = "shift-invert"
    found = {}
    for by, least in (("SuperLU", 10_000), ("fronts", 0)):
        monkeypatch.setattr(fill, "LARGE", least)
        fitted = getattr(eigenspan, name)(**given).fit(X, y)
        assert fitted.diagnostics_["factorised_by"] == by
        found[by] = fitted.embedding_ if hasattr(fitted, "embedding_") else fitted.labels_
    close = np.abs(found["fronts"] - found["SuperLU"]).max()
    assert close < 1e-5 * np.abs(found["SuperLU"]).max()


def test_newton_steps_of_changing_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fill, "LARGE", 0)
    made = []
    whole = Analysis.__init__
    monkeypatch.setattr(Analysis, "__init__", lambda self, *a, **k: (made.append(1), whole(self, *a, **k))[1])
    rng = np.random.default_rng(0)
    program = Program.of_pairs(40, *neighbours(cloud(40), 4))
    newton = NewtonMatrix(program, 3)
    n, m = program.n, len(program.pairs)
    for r in (3, 2, 2, 4, 3):
        delta, g, omega = rng.standard_normal((m, r)), rng.random(m) + 1.0, rng.random(m)
        solve = newton.solver(delta, g, omega, 5.0)
        H = np.zeros((n, r, n, r))
        for (i, j), d, a, o in zip(program.pairs, delta, g, omega, strict=True):
            block = 2 * a * np.eye(r) + 4 * o * np.outer(d, d)
            for p, q, sign in ((i, i, 1), (j, j, 1), (i, j, -1), (j, i, -1)):
                H[p, :, q, :] += sign * block
        H = H.reshape(n * r, n * r) + np.diag(np.repeat(5.0 - 2 * program.cost, r))
        b = rng.standard_normal((n, r))
        np.testing.assert_allclose(solve(b).ravel(), np.linalg.solve(H, b.ravel()), atol=1e-9)
    assert len(made) == 3


def test_insufficient_memory_falls_back_to_the_next_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise MemoryLimitError("no room")

    monkeypatch.setattr(cholesky.SuperLUFactor, "__init__", refuse)
    X = np.random.default_rng(0).random((700, 2))
    with pytest.warns(ConvergenceWarning, match=r"no room.*Chebyshev takes over"):
        fitted = eigenspan.LaplacianEigenmaps(2).fit(X)
    assert fitted.diagnostics_["solver"] == "Chebyshev"
    with pytest.raises(MemoryLimitError, match="no room"):
        eigenspan.LaplacianEigenmaps(2, solver="shift-invert").fit(X)


# ---------------------------------------------------------------------- the analysis
def by_hand(A: sp.csr_array) -> np.ndarray:
    """Return the pattern of L, by eliminating a Boolean matrix."""
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
    analysis = Analysis(A)
    full = by_hand(A[analysis.order][:, analysis.order])
    begin, starts, rows, up, seats = analysis.plan[:5]
    assert sorted(analysis.order) == list(range(n))
    for s, (a, b) in enumerate(pairwise(begin)):
        mine = rows[starts[s] : starts[s + 1]]
        # the last column has the pattern of all
        np.testing.assert_array_equal(mine, b + np.flatnonzero(full[b:, b - 1]))
        assert not np.any(np.delete(full[b:, a:b], mine - b, axis=0))
        if up[s] >= 0:
            above = np.concatenate([np.arange(begin[up[s]], begin[up[s] + 1]), rows[starts[up[s]] : starts[up[s] + 1]]])
            np.testing.assert_array_equal(above[seats[starts[s] : starts[s + 1]]], mine)
        else:
            assert mine.size == 0
    x = analysis.factorise(A).solve(np.ones(n))
    np.testing.assert_allclose(A @ x, 1.0, atol=1e-9)


def test_counts_agree_with_the_factor(matrix: sp.csr_array) -> None:
    """Elements of the minimum degree order are groups of columns with the reported number of rows; the last column reaches all of them."""
    found = approximate_minimum_degree(matrix)
    order = np.argsort(found.group, kind="stable")
    full = by_hand(matrix[order][:, order])
    begin = np.concatenate([[0], np.cumsum(np.bincount(found.group))])
    np.testing.assert_array_equal(np.diff(begin)[: found.up.size], found.widths)
    if begin.size > found.up.size + 1:  # dense rows that were set aside count in no other element
        return
    for (a, b), height, up in zip(pairwise(begin), found.heights, found.up, strict=True):
        below = b + np.flatnonzero(full[b:, b - 1])
        assert below.size == height
        assert not np.any(np.delete(full[b:, a:b], below - b, axis=0))
        if height:
            assert begin[up] >= b
            assert set(below) <= {*range(begin[up], begin[up + 1]), *np.flatnonzero(full[:, begin[up + 1] - 1])}
        else:
            assert up == -1


def tree(n: int, seed: int) -> sp.csr_array:
    """Return a random tree: each node except the first is attached to an earlier one, mostly a near one."""
    rng = np.random.default_rng(seed)
    above = np.arange(1, n) - 1 - np.minimum(rng.geometric(0.3, n - 1) - 1, np.arange(n - 1))
    return sp.csr_array((np.ones(n - 1), (above, np.arange(1, n))), shape=(n, n))


@pytest.mark.parametrize("seed", range(3))
def test_trees_do_not_fill(seed: int) -> None:
    """There is always a leaf to eliminate, which has one neighbour."""
    A = positive(tree(3000, seed))
    assert Analysis(A).factorise(A).lower().nnz == 2 * 3000 - 1


def hubs() -> sp.csr_array:
    """Neighbours on a ring, and a few rows with very many entries."""
    rng = np.random.default_rng(0)
    ring = sp.diags_array([np.ones(2999), np.ones(2990)], offsets=[1, 10], shape=(3000, 3000)).tolil()
    ring[:3] = rng.random((3, 3000)) < 0.5
    return sp.csr_array(ring)


AWKWARD: dict[str, Callable[[], sp.csr_array]] = {
    "hubs": hubs,
    "no edges": lambda: sp.csr_array((500, 500)),
    "random": lambda: sp.csr_array(sp.random_array((1500, 1500), density=1e-3, random_state=np.random.default_rng(0))),
    "two sides": lambda: sp.csr_array(np.kron([[0.0, 1.0], [1.0, 0.0]], np.ones((60, 60)))),
    "cube": lambda: sp.csr_array(sp.kronsum(grid(10, 10), grid(1, 10))),
    "sheet": lambda: sheet(4000, 12),
}


@pytest.mark.parametrize("name", AWKWARD)
def test_no_more_fill_than_by_superlu(name: str) -> None:
    A = positive(AWKWARD[name]())
    lu = splu(A.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    factor = Analysis(A).factorise(A)
    assert factor.lower().nnz < 1.15 * lu.L.nnz
    np.testing.assert_allclose(A @ factor.solve(np.ones(A.shape[0])), 1.0, atol=1e-10)


def test_dense_rows_are_eliminated_last() -> None:
    A = positive(hubs())
    assert set(Analysis(A).order[-3:]) == {0, 1, 2}
    assert set(minimum_degree(A)) == set(range(3000))


def test_lists_are_compacted_if_the_buffer_is_full() -> None:
    """The smallest possible buffer: as large as the entries of the matrix."""
    A = positive(sheet(2000, 10))
    found = []
    for spare in (A.shape[0], 100 * A.nnz):
        graph, lists = ordering.quotient_graph(A.shape[0]), np.empty(A.nnz + spare, np.int32)
        assert ordering.neighbour_lists(A.indptr.astype(np.int64), A.indices, graph, lists, 10_000)
        found.append(ordering.eliminate_in_turn(graph, lists))
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("columns", [1, 4, 7])
def test_several_right_hand_sides_are_solved_together(columns: int) -> None:
    A = positive(sheet(900))
    factor = Analysis(A).factorise(A)
    b = np.asfortranarray(np.random.default_rng(0).standard_normal((900, columns)))
    given = b.copy()
    alone = np.column_stack([factor.solve(column) for column in b.T])
    np.testing.assert_array_equal(factor.solve(b), alone)
    np.testing.assert_array_equal(factor.solve(b[:, ::-1]), alone[:, ::-1])
    np.testing.assert_array_equal(b, given)


def test_subtrees_are_contiguous() -> None:
    np.testing.assert_array_equal(postorder(np.array([3, 3, 5, 6, 5, 6, -1, -1])), [0, 1, 3, 2, 4, 5, 6, 7])
    assert postorder(np.empty(0, np.int32)).size == 0


def in_turn(analysis: Analysis) -> list[int]:
    """Check the supernodes in the order of factorisation."""
    return [s for a, b, *_ in [*analysis.spans, *analysis.top] for s in range(a, b)]


def test_runs_depend_on_no_other_supernodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arithmetic, "SHARED", 1e4)
    analysis = Analysis(positive(sheet(3000)))
    up = analysis.plan.up
    assert len(analysis.spans) > 4
    top = {s for a, b, _ in analysis.top for s in range(a, b)}
    assert {large for *_, large in analysis.top} == {True, False}
    for first, last in analysis.spans:
        for s in range(first, last):
            assert first <= up[s] < last or up[s] in top
    assert sorted(in_turn(analysis)) == list(range(up.size))


@pytest.mark.parametrize("near", [1, 5])
def test_long_chains_are_eliminated_in_few_calls(near: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arithmetic, "SHARED", 3000.0)
    n = 20_000
    band = sp.diags_array([np.ones(n - d) for d in range(1, near + 1)], offsets=list(range(1, near + 1)), shape=(n, n))
    A = positive(sp.csr_array(band))
    analysis = Analysis(A)
    assert len(analysis.top) + len(analysis.spans) < 100
    assert len(analysis.plan.up) > 1000
    b = np.ones(n)
    np.testing.assert_allclose(A @ analysis.factorise(A).solve(b), b, atol=1e-10)


def test_updates_for_a_parent_are_not_overwritten_before_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arithmetic, "SHARED", 1e5)
    for seed in range(3):
        analysis = Analysis(positive(sheet(1000 + seed)))
        up, room, sizes = analysis.plan.up, analysis.plan.room, np.diff(analysis.plan.starts) ** 2
        assert analysis.updates < 0.5 * sizes.sum()
        held = np.full(analysis.updates, -1)
        for s in in_turn(analysis):
            held[room[s] :][: sizes[s]] = s  # mark its place while the updates of its children are read
            for child in np.flatnonzero(up == s):
                assert np.all(held[room[child] :][: sizes[child]] == child)


# ---------------------------------------------------------------------- the arithmetic of one front
@pytest.mark.parametrize("width, m", [(1, 1), (1, 9), (3, 3), (7, 20), (50, 120), (130, 400)])
def test_a_front(width: int, m: int) -> None:
    rng = np.random.default_rng(m)
    A = rng.standard_normal((m, m))
    A = A @ A.T + np.eye(m)
    A[0] *= -1.0
    A[1:, 0] *= -1.0
    A[0, 0] = -abs(A[0, 0])
    values, signs = A[:width].copy().ravel(), np.empty(width)
    assert fronts.eliminate(values, 0, m, 0, width, signs)
    panel = values.reshape(width, m)
    L = np.triu(panel).T
    np.testing.assert_allclose((L * signs) @ L[:width].T, A[:, :width], atol=1e-9 * np.abs(A).max())
    below = panel[:, width:]
    product = below.T @ (signs[:, None] * below)
    for old in (0.0, 1.0):
        rest = A[width:, width:].copy()
        fronts.subtract(values, 0, m, width, width, m, signs, old, rest.ravel(), 0, m - width)
        expected = old * A[width:, width:] - product
        np.testing.assert_allclose(np.triu(rest), np.triu(expected), atol=1e-9 * np.abs(A).max())
