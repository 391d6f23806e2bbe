"""The low-rank interior-point solver: certified, in agreement with the dense one, with increasing rank where needed."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg as la
from scipy.sparse.csgraph import minimum_spanning_tree
from sklearn.datasets import make_swiss_roll
from sklearn.metrics import pairwise_distances

from eigenspan.errors import InputError, MemoryLimitError
from eigenspan.graphs import as_graph
from eigenspan.graphs.neighbours.contraction import contract
from eigenspan.numerics.sdp import Program, Slack, solve_program
from eigenspan.numerics.sdp.certificate import largest_ratio
from eigenspan.numerics.sdp.low_rank import low_rank_interior_point


def joined_pairs(X, k):
    """Return k-NN pairs and a spanning tree, with their squared lengths, by brute force."""
    D = pairwise_distances(X)
    near = np.argsort(D, axis=1)[:, 1 : k + 1]
    A = np.zeros(D.shape, dtype=bool)
    A[np.arange(len(X))[:, None], near] = True
    A |= minimum_spanning_tree(D).toarray() > 0
    i, j = np.nonzero(np.triu(A | A.T, 1))
    return np.column_stack([i, j]), D[i, j] ** 2


def roll(n, k=8, seed=0, noise=0.0):
    X, _ = make_swiss_roll(n, random_state=seed, noise=noise)
    return X, *joined_pairs(X, k)


@pytest.mark.parametrize("seed", range(50))
@pytest.mark.every(8)
def test_agrees_with_the_dense_solver_to_the_stated_gaps(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(20, 60))
    X = rng.standard_normal((n, int(rng.integers(2, 6))))
    program = Program.of_pairs(n, *joined_pairs(X, int(rng.integers(2, 7))))
    low = solve_program(program, method="low-rank", tol=1e-3)
    dense = solve_program(program, method="dense", tol=1e-5)
    assert low.status == dense.status == "certified"
    assert low.gap < 1e-3
    assert dense.gap < 1e-5
    assert max(low.lower, dense.lower) <= min(low.upper, dense.upper) * (1 + 1e-9)


@pytest.mark.parametrize(("n", "k"), [(200, 5), (300, 6)])
@pytest.mark.long
def test_agrees_with_the_dense_solver_on_larger_graphs(n, k):
    _X, pairs, d = roll(n, k)
    program = Program.of_pairs(n, pairs, d)
    low = solve_program(program, method="low-rank", tol=1e-4)
    dense = solve_program(program, method="dense", tol=1e-5)
    assert low.value == pytest.approx(dense.value, rel=2e-4)


@pytest.mark.parametrize(("seed", "noise"), [(0, 0.0), (1, 0.5), (2, 0.0), (3, 0.5)])
@pytest.mark.long
def test_certifies_rolls_from_a_graph_alone(seed, noise):
    _X, pairs, d = roll(600, 8, seed, noise)
    solution = low_rank_interior_point(Program.of_pairs(600, pairs, d), tol=1e-3)
    assert solution.status == "certified"
    assert solution.gap < 1e-3
    proof = solution.verify()
    assert proof.proved
    assert proof.gap < 1.1e-3
    assert proof.lower == pytest.approx(solution.lower, rel=1e-12)


def test_both_bounds_can_be_recomputed_from_the_weights_and_the_factor():
    _X, pairs, d = roll(300)
    solution = low_rank_interior_point(Program.of_pairs(300, pairs, d))
    R, w = solution.factor - solution.factor.mean(axis=0), solution.weights
    v = np.sum((R[pairs[:, 0]] - R[pairs[:, 1]]) ** 2, axis=1)
    L = np.zeros((300, 300))
    for (i, j), weight in zip(pairs, w, strict=True):
        L[[i, j], [i, j]] += weight
        L[[i, j], [j, i]] -= weight
    second = np.linalg.eigvalsh(L)[1]
    assert np.all(w >= 0)
    assert np.sum(R**2) / np.max(v / d) == pytest.approx(solution.lower, rel=1e-9)
    assert w @ d / second == pytest.approx(solution.upper, rel=1e-6)


def test_only_tight_edges_have_weight():
    _X, pairs, d = roll(300)
    solution = low_rank_interior_point(Program.of_pairs(300, pairs, d), tol=1e-4)
    v = solution.program.squares(solution.factor)
    assert np.all(v <= d * (1 + 1e-9))
    pull = solution.weights * d
    assert pull[v < 0.98 * d].sum() < 2e-3 * pull.sum()


def test_rank_grows_from_one_column_until_the_optimum_is_certified():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 6))
    pairs, d = joined_pairs(X, 6)
    program = Program.of_pairs(120, pairs, d)
    solution = low_rank_interior_point(program, rank=1, tol=1e-3)
    assert solution.status == "certified"
    assert solution.rank > 2
    assert any(record["escaped"] for record in solution.history)
    assert solution.value == pytest.approx(solve_program(program, method="dense", tol=1e-5).value, rel=1e-3)


def test_masses_count_duplicates_of_a_point():
    _X, pairs, d = roll(100)
    copied = 7
    masses = np.ones(100)
    masses[copied] = 2.0
    program = Program.of_pairs(100, pairs, d, masses=masses)
    low = solve_program(program, method="low-rank", tol=1e-4)
    assert low.value == pytest.approx(solve_program(program, method="dense", tol=1e-5).value, rel=2e-4)
    assert abs(masses @ low.factor).max() < 1e-6 * np.abs(low.factor).max()
    twin, tight = np.vstack([pairs, [[copied, 100]]]), np.append(d, 1e-3 * d.mean())
    nearly = solve_program(Program.of_pairs(101, twin, tight), method="low-rank", tol=1e-4)
    assert low.value < nearly.value < 1.01 * low.value


@pytest.mark.parametrize("slack", [Slack(1, 300.0), Slack(1, 1e4), Slack(2, 100.0), Slack(2, 1e4)])
@pytest.mark.every(2)
def test_slack_agrees_with_the_dense_solver(slack):
    _X, pairs, d = roll(120)
    program = Program.of_pairs(120, pairs, d / d.mean(), slack=slack)
    low = solve_program(program, method="low-rank", tol=1e-3)
    dense = solve_program(program, method="dense", tol=1e-5)
    assert low.status == dense.status == "certified"
    assert max(low.lower, dense.lower) <= min(low.upper, dense.upper) * (1 + 1e-9)


def test_a_band_keeps_both_bounds_and_agrees_with_the_dense_solver():
    X, pairs, d = roll(100)
    program = Program.of_pairs(100, pairs, d, lower=0.9 * d)
    low = solve_program(program, method="low-rank", interior=X, tol=1e-3)
    v = program.squares(low.factor)
    assert low.status == "certified"
    assert np.all(v <= d * (1 + 1e-3))
    assert np.all(v >= 0.9 * d * (1 - 1e-3))
    plain = solve_program(Program.of_pairs(100, pairs, d), method="low-rank", tol=1e-3)
    assert low.value < plain.upper
    with pytest.raises(InputError, match="15 columns"):
        solve_program(program, method="low-rank")


def test_the_time_limit_includes_the_start_of_a_band():
    X, pairs, d = roll(400)
    program, told = Program.of_pairs(400, pairs, d, lower=0.9 * d), []
    solution = low_rank_interior_point(program, interior=X, time_limit=1e-3, callback=told.append)
    assert solution.status == "time"
    assert not told
    assert solution.iterations == 0
    assert solution.lower <= solution.upper < np.inf


def test_two_points_reach_their_bound():
    solution = solve_program(Program.of_pairs(2, np.array([[0, 1]]), np.array([4.0])), method="low-rank")
    assert solution.status == "certified"
    assert solution.value == pytest.approx(2.0, rel=1e-3)


def test_time_limit_returns_a_certified_point():
    _X, pairs, d = roll(400)
    solution = low_rank_interior_point(Program.of_pairs(400, pairs, d), tol=1e-6, time_limit=1e-3)
    assert solution.status == "time"
    assert solution.lower <= solution.upper
    assert solution.verify().violation < 1e-9


def test_an_interrupt_returns_a_certified_point():
    _X, pairs, d = roll(300)

    def stop(record):
        raise KeyboardInterrupt

    solution = low_rank_interior_point(Program.of_pairs(300, pairs, d), callback=stop)
    assert solution.status == "interrupted"
    assert 0 < solution.lower <= solution.upper < np.inf


def test_units_do_not_matter():
    _X, pairs, d = roll(150)
    one = low_rank_interior_point(Program.of_pairs(150, pairs, d))
    other = low_rank_interior_point(Program.of_pairs(150, pairs, 1e8 * d))
    assert other.value == pytest.approx(1e8 * one.value, rel=1e-9)
    assert other.upper == pytest.approx(1e8 * one.upper, rel=1e-9)
    assert other.weights == pytest.approx(one.weights, rel=1e-6, abs=1e-9)


def test_the_same_seed_gives_the_same_unfolding():
    _X, pairs, d = roll(150)
    a, b = (low_rank_interior_point(Program.of_pairs(150, pairs, d), random_state=3) for _ in range(2))
    assert np.array_equal(a.factor, b.factor)


def test_sparse_and_dense_ratios_agree():
    _X, pairs, d = roll(260)
    program = Program.of_pairs(260, pairs, d, masses=np.random.default_rng(0).uniform(1, 3, 260))
    w = np.random.default_rng(1).uniform(0, 1, len(pairs))
    ratio, _, V = largest_ratio(program, w)
    L, M = program.laplacian(w).toarray(), np.diag(program.cost)
    assert 1 / ratio == pytest.approx(la.eigh(L, M, eigvals_only=True)[1], rel=1e-7)
    assert abs(program.cost @ V[:, 0]) < 1e-8


def test_coincident_points_are_contracted():
    X = np.repeat(np.random.default_rng(0).standard_normal((40, 3)), 3, axis=0)
    groups, pairs, d = contract(as_graph(None, X, n_neighbors=8).undirected())
    assert groups.first.size == 40
    assert np.array_equal(groups.masses, np.full(40, 3.0))
    assert np.all(pairs[:, 0] < pairs[:, 1])
    assert np.all(d > 0)
    assert d == pytest.approx(np.linalg.norm(X[groups.first][pairs[:, 0]] - X[groups.first][pairs[:, 1]], axis=1))


def test_a_factor_that_does_not_fit_is_refused_before_allocation(monkeypatch):
    _, pairs, d = roll(300)
    monkeypatch.setenv("EIGENSPAN_MEMORY", "100K")
    with pytest.raises(MemoryLimitError, match="LandmarkMVU"):
        low_rank_interior_point(Program.of_pairs(300, pairs, d))
