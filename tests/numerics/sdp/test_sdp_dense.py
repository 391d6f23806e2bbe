"""The dense interior-point solver against a general solver, closed forms, and its own certificate."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from eigenspan import MaximumCovarianceUnfolding
from eigenspan.errors import DisconnectedError, InputError, MemoryLimitError
from eigenspan.numerics.sdp import interior_point as dense
from eigenspan.numerics.sdp import solve_program
from eigenspan.numerics.sdp.interior_point import dense_interior_point
from eigenspan.numerics.sdp.program import Program, Slack
from sdp_helpers import PROGRAMS, cloud, line, neighbours, optimum


def _small(**options: Any) -> Program:
    pairs, d = neighbours(cloud(30), 4)
    return Program.of_pairs(30, pairs, d, **options)


# ---------------------------------------------------------------------- against others
@pytest.mark.parametrize("name", PROGRAMS)
def test_optimum_agrees_with_a_general_solver(name: str) -> None:
    program = PROGRAMS[name]()
    best, accuracy = optimum(program)
    doubt = accuracy * abs(best)
    solution = dense_interior_point(program, tol=1e-7)
    assert solution.status == "certified"
    assert abs(solution.value - best) <= doubt
    assert solution.lower - doubt <= best <= solution.upper + doubt
    proved = solution.verify()
    assert best - doubt <= proved.upper <= best + doubt + 2e-5 * abs(best)
    np.testing.assert_allclose(
        program.centre @ solution.factor, 0, atol=1e-9 * np.abs(solution.factor).max() * program.n
    )


@pytest.mark.parametrize("masses", [None, "uneven"])
@pytest.mark.parametrize("n", [2, 3, 30])
def test_a_chain_becomes_straight(n: int, masses: str | None) -> None:
    program, x, weights = line(n, None if masses is None else np.random.default_rng(1).uniform(0.3, 3.0, n))
    solution = dense_interior_point(program)
    assert solution.status == "certified"
    assert solution.value == pytest.approx(program.variance(x), rel=2e-6)
    np.testing.assert_allclose(solution.weights, weights, rtol=2e-2, atol=1e-3 * weights.max())
    values = np.linalg.eigvalsh(solution.factor.T @ solution.factor)
    assert values[-1] >= (1 - 1e-3) * values.sum()
    np.testing.assert_allclose(solution.factor @ solution.factor.T, x @ x.T, atol=2e-2 * np.abs(x).max() ** 2)


def test_equations_of_a_triangle_determine_it() -> None:
    """Three points are determined by their distances, so nothing is left to maximise."""
    X = np.random.default_rng(3).standard_normal((3, 2))
    pairs = np.array([[0, 1], [0, 2], [1, 2]])
    d = np.sum((X[pairs[:, 0]] - X[pairs[:, 1]]) ** 2, axis=1)
    solution = dense_interior_point(Program.of_pairs(3, pairs, d, equal=np.ones(3, dtype=bool)))
    assert solution.value == pytest.approx(np.sum((X - X.mean(0)) ** 2), rel=1e-5)
    np.testing.assert_allclose(solution.program.squares(solution.factor), d, rtol=1e-5)


def test_twenty_random_graphs() -> None:
    rng = np.random.default_rng(11)
    for trial in range(20):
        n = int(rng.integers(4, 22))
        pairs, d = neighbours(
            rng.standard_normal((n, 3)) * rng.uniform(0.01, 100), int(rng.integers(1, min(n - 1, 6) + 1))
        )
        d = d * rng.uniform(0.5, 2.0, d.size)
        kind = trial % 4
        lower = 0.3 * d if kind == 1 else None
        slack = {2: Slack(1, 20.0 * n**2), 3: Slack(2, 1.0 / d.mean())}.get(kind)
        solution = dense_interior_point(Program.of_pairs(n, pairs, d, lower=lower, slack=slack))
        if kind == 1 and solution.status != "certified":
            continue  # an infeasible band
        assert solution.status == "certified", (trial, solution.certificate)
        assert abs(solution.gap) <= 1e-6
        assert solution.verify().upper == pytest.approx(solution.upper, rel=2e-5)


def test_many_points_to_many_digits() -> None:
    """Rounding in the steps would otherwise keep the primal from satisfying its bounds."""
    pairs, d = neighbours(cloud(220, 5), 5)
    solution = dense_interior_point(Program.of_pairs(220, pairs, d), tol=2e-7)
    assert solution.status == "certified"
    assert solution.gap <= 2e-7
    assert solution.iterations <= 30


def test_units_do_not_matter() -> None:
    """Distances in other units, and a cost times a constant, change the optimum by that factor only."""
    pairs, d = neighbours(cloud(20), 4)
    for slack in (None, 1, 2):
        for size, worth in ((1e6, 1e-4), (1e-5, 1e3)):
            here, there = None, None
            if slack is not None:
                here, there = Slack(slack, 60.0), Slack(slack, 60.0 * worth / size ** (slack - 1))
            a = dense_interior_point(Program.of_pairs(20, pairs, d, slack=here))
            b = dense_interior_point(Program.of_pairs(20, pairs, size * d, cost=worth * np.eye(20), slack=there))
            assert b.value == pytest.approx(size * worth * a.value, rel=3e-6)
            assert b.iterations == pytest.approx(a.iterations, abs=2)


@pytest.mark.parametrize("sign", [0.0, -1.0])
def test_cost_without_a_positive_direction(sign: float) -> None:
    """For a cost without a positive direction the optimum is zero."""
    solution = dense_interior_point(_small(cost=sign * np.eye(30)))
    assert solution.status == "certified"
    assert solution.lower == solution.upper == pytest.approx(0.0, abs=1e-12)


# ---------------------------------------------------------------------- what is handed out
def test_factor_is_feasible_and_weights_are_dual() -> None:
    solution = dense_interior_point(_small())
    program, K = solution.program, solution.factor @ solution.factor.T
    i, j = program.pairs.T  # type: ignore[union-attr]
    assert np.all(K[i, i] + K[j, j] - 2 * K[i, j] <= program.bounds * (1 + 1e-9))
    L = program.directions.T.toarray() @ np.diag(solution.weights) @ program.directions.toarray()
    H = np.eye(30) - 1 / 30
    assert np.linalg.eigvalsh(L - H)[0] >= -1e-9 * np.abs(L).max()
    assert np.all(solution.weights >= 0)
    assert solution.value == pytest.approx(np.trace(K))
    assert solution.upper == pytest.approx(solution.weights @ program.bounds)


def test_the_best_point_is_kept() -> None:
    """The better of two points is kept, in whichever order they are offered."""
    program, x, w = line(12)
    rough = w * np.random.default_rng(0).uniform(0.5, 2.0, w.size)
    for offers in ([(x, w), (0.3 * x[:, ::-1] ** 2, rough)], [(0.3 * x**2, rough), (x, w)]):
        best = dense._Best(program)
        for F, weights in offers:
            best.offer(program.centred(F), weights)
        solution = best.solution(1, "iterations", [])
        assert best.bounds["gap"] == pytest.approx(0.0, abs=1e-9)
        assert solution.gap == pytest.approx(0.0, abs=1e-9)
    equations = replace(program, equal=np.ones(w.size, dtype=bool))
    best = dense._Best(equations)
    for scale in (1.0, 1.1, 0.9):  # worse in value or in violation
        best.offer(scale * x, w)
    assert best.solution(1, "iterations", []).certificate.violation < 1e-9


def test_equations_on_exact_data_return_the_best_point() -> None:
    """With all distances of neighbourhoods of a plane sheet there is no interior, so no dual optimum is attained."""
    X = cloud(40)
    pairs, d = neighbours(X, 8)
    solution = dense_interior_point(Program.of_pairs(40, pairs, d, equal=np.ones(d.size, dtype=bool)))
    assert solution.status in ("stalled", "certified")
    assert solution.certificate.violation < 1e-3
    assert abs(solution.gap) < 1e-2
    assert solution.verify().upper >= np.sum((X - X.mean(0)) ** 2)  # the data themselves are feasible


def test_repeated_constraints_are_solved() -> None:
    """Every equation twice: the normal equations are singular."""
    program = PROGRAMS["equations"]()
    once = dense_interior_point(program)
    eye = sp.eye_array(program.bounds.size)
    twice = replace(
        program,
        combine=sp.csr_array(sp.vstack([eye, eye])),
        bounds=np.tile(program.bounds, 2),
        equal=np.ones(2 * program.bounds.size, dtype=bool),
    )
    assert dense_interior_point(twice).value == pytest.approx(once.value, rel=1e-4)


# ---------------------------------------------------------------------- how it ends
def test_records_and_limits() -> None:
    seen: list[dict[str, Any]] = []
    solution = dense_interior_point(_small(), callback=seen.append)
    assert [record["iteration"] for record in seen] == list(range(solution.iterations + 1))
    assert seen == solution.history
    assert {"iteration", "value", "lower", "upper", "gap", "seconds"} <= set(seen[0])
    assert np.all(np.diff([record["lower"] for record in seen]) >= 0)
    assert np.all(np.diff([record["upper"] for record in seen]) <= 0)
    for options, status in (({"max_iter": 4}, "iterations"), ({"time_limit": 0.0}, "time")):
        early = dense_interior_point(_small(), **options)  # type: ignore[arg-type]
        assert early.status == status
        assert early.lower <= solution.upper
        assert early.upper >= solution.lower
        assert early.gap > 1e-6
    assert early.iterations == 0


def test_interrupt_returns_the_best_point(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(record: dict[str, Any]) -> None:
        if record["iteration"] == 5:
            raise KeyboardInterrupt

    whole, solution = dense_interior_point(_small()), dense_interior_point(_small(), callback=stop)
    assert solution.status == "interrupted"
    assert solution.iterations == 5
    assert solution.lower <= whole.upper
    assert solution.upper >= whole.lower

    def early(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(dense, "_start", early)
    with pytest.raises(KeyboardInterrupt):
        dense_interior_point(_small())


# ---------------------------------------------------------------------- refusals
def test_memory_is_predicted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EIGENSPAN_MEMORY", "100K")
    with pytest.raises(MemoryLimitError, match="LandmarkMVU"):
        dense_interior_point(_small())


@pytest.mark.parametrize("slack", [None, Slack(1, 1e4), Slack(2, 1.0)])
def test_disconnected_programs_are_refused(slack: Slack | None) -> None:
    program = Program.of_pairs(4, np.array([[0, 1], [2, 3]]), np.ones(2), slack=slack)
    with pytest.raises(DisconnectedError, match="2 pieces"):
        dense_interior_point(program)


def test_a_price_of_slack_that_is_too_low_is_refused() -> None:
    """On a chain of two points the gain per unit of squared distance is one half."""
    pair = np.array([[0, 1]])
    with pytest.raises(InputError, match=r"price > 0\.5"):
        solve_program(Program.of_pairs(2, pair, np.ones(1), slack=Slack(1, 0.4)))
    assert dense_interior_point(Program.of_pairs(2, pair, np.ones(1), slack=Slack(1, 0.6))).value == pytest.approx(0.5)


def test_a_band_is_solved_with_half_the_order(monkeypatch):
    """A band on all pairs of two views of 40 points used to take minutes, because its normal equations were twice as large as necessary."""
    rng = np.random.default_rng(0)
    M = rng.standard_normal((30, 12))
    M = M @ M.T
    above, below, right = rng.uniform(1e-8, 1, 30), rng.uniform(1e-8, 1, 30), rng.standard_normal(60)
    above[:5], below[5:10] = 0.0, 0.0
    T = np.vstack([np.eye(30), -np.eye(30)])
    expected = np.linalg.solve(T @ M @ T.T + np.diag(np.concatenate([above, below])), right)
    found = dense._band_solver(M.copy(), above, below)(right)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())

    orders, solver = [], dense._solver
    monkeypatch.setattr(dense, "_solver", lambda M: orders.append(len(M)) or solver(M))
    pairs = np.column_stack(np.triu_indices(20, 1))
    X = rng.standard_normal((20, 4))
    bounds = np.sum((X[pairs[:, 0]] - X[pairs[:, 1]]) ** 2, axis=1)
    program = Program.of_pairs(20, pairs, bounds, lower=0.9 * bounds)
    order = rng.permutation(2 * len(pairs))  # the same rows in an order in which the band is not recognised
    hidden = replace(program, bounds=program.bounds[order], combine=program.combine[order])
    one, two = (dense.dense_interior_point(each, tol=1e-6) for each in (program, hidden))
    assert set(orders) == {len(pairs), 2 * len(pairs)}
    assert one.status == two.status == "certified"
    assert one.upper == pytest.approx(two.upper, rel=3e-6)


@pytest.mark.parametrize("k", [38, 39])
@pytest.mark.every(2)
def test_covariance_unfolding_of_complete_graphs(k):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 5))
    fitted = MaximumCovarianceUnfolding(2, n_neighbors=k).fit(X, X[:, :3] + 0.1 * rng.standard_normal((40, 3)))
    assert fitted.diagnostics_["status"] == "certified"
    assert fitted.certificate_.gap < 1e-3
