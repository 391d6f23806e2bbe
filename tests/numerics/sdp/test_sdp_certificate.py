"""Bounds on the optimum hold for any embedding and any weights; the optimum of a chain is known in closed form."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.linalg as la
import scipy.sparse as sp

from eigenspan.numerics.factor import SuperLUAnalysis, analyse
from eigenspan.numerics.sdp import certificate
from eigenspan.numerics.sdp.certificate import (
    Certificate,
    Solution,
    centred_basis,
    check_price,
    largest_ratio,
    lower_bound,
    net_value,
    proved_upper,
    shrink,
    upper_bound,
)
from eigenspan.numerics.sdp.interior_point import dense_interior_point
from eigenspan.numerics.sdp.program import Program, Slack
from sdp_helpers import PROGRAMS, line

#: Dense and sparse eigenvalues; equal and unequal masses.
chains = pytest.mark.parametrize(
    "n, uneven", [(2, False), (3, True), (40, False), (40, True), (300, False), (300, True)]
)


def _chain(n: int, uneven: bool) -> tuple[Program, Any, Any]:
    return line(n, np.random.default_rng(4).uniform(0.5, 3.0, n) if uneven else None)


def _upper(program: Program, w: Any) -> float:
    return upper_bound(program, w, largest_ratio(program, w)[0])


# ---------------------------------------------------------------------- at the optimum
@chains
def test_bounds_agree_at_the_optimum(n: int, uneven: bool) -> None:
    program, x, w = _chain(n, uneven)
    best = float(program.centre @ x.ravel() ** 2)
    assert largest_ratio(program, w)[0] == pytest.approx(1.0, rel=1e-7)
    assert _upper(program, w) == pytest.approx(best, rel=1e-7)
    assert lower_bound(program, x) == pytest.approx((best, 0.0), rel=1e-9, abs=1e-9)
    assert best <= proved_upper(program, w) <= best * (1 + 3e-6)
    proved = Solution(program, x, w, Certificate(0, 0, 0, 0), 0, "certified").verify()
    assert proved.proved
    assert proved.gap <= 3e-6


@chains
def test_ratio_is_the_generalised_eigenvalue(n: int, uneven: bool) -> None:
    program, _, w = _chain(n, uneven)
    w = w * np.random.default_rng(0).uniform(0.5, 1.5, w.size)
    Z = la.null_space(program.centre[None])
    B = program.directions.toarray() @ Z
    values = la.eigh(Z.T @ np.diag(program.cost) @ Z, B.T @ (w[:, None] * B), eigvals_only=True)[::-1]
    k = min(3, n - 1)
    theta, several, V = largest_ratio(program, w, k=k)
    np.testing.assert_allclose(several, values[:k], rtol=1e-6)
    assert theta == pytest.approx(several[0], rel=1e-12)
    v = V[:, 0]
    assert abs(program.centre @ v) <= 1e-8 * np.linalg.norm(v) * np.linalg.norm(program.centre)
    assert v @ (program.cost * v) == pytest.approx(theta * (v @ program.laplacian(w) @ v), rel=1e-6)


# ---------------------------------------------------------------------- anywhere
@pytest.mark.parametrize("n", [25, 250])
def test_any_weights_bound_from_above_and_any_points_from_below(n: int) -> None:
    rng = np.random.default_rng(n)
    program, x, w = _chain(n, True)
    best = program.variance(x)
    for size in (1e-6, 1e-3, 0.1, 1.0, 10.0):
        near = w * np.exp(size * rng.standard_normal(w.size))
        assert _upper(program, near) >= best * (1 - 1e-9)
        assert proved_upper(program, near / 2) >= best  # half of the weights needed: no proof, or a valid bound
        F = program.centred(x + size * rng.standard_normal((n, 3)))
        assert lower_bound(program, F)[0] <= best * (1 + 1e-9)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.every(2)
def test_random_points_bracket_the_optimum_of_every_kind(name: str) -> None:
    program, rng = PROGRAMS[name](), np.random.default_rng(1)
    solution = dense_interior_point(program)
    for size in (1e-4, 1e-2, 1.0, 30.0):
        w = solution.weights * np.exp(size * rng.standard_normal(solution.weights.size))
        if program.slack is not None and program.slack.power == 1:
            w = np.clip(w, -program.slack.price, program.slack.price)
        assert _upper(program, w) >= solution.lower - 1e-6 * abs(solution.upper)
        assert proved_upper(program, w) >= solution.lower - 1e-6 * abs(solution.upper)
        if program.has_lower_bound:
            F = solution.factor + size * rng.standard_normal(solution.factor.shape)
            assert lower_bound(program, program.centred(F))[0] <= solution.upper * (1 + 1e-9)


def test_negative_weights_give_no_upper_bound() -> None:
    program, _, w = _chain(30, False)
    w[3] = -1e-9
    assert upper_bound(program, w, 1.0) == np.inf
    equations = replace(program, equal=np.ones(w.size, dtype=bool))
    assert np.isfinite(upper_bound(equations, w, 1.0))


@pytest.mark.parametrize("uneven", [False, True])
@pytest.mark.parametrize("n", [30, 300])
def test_corrupted_weights_give_a_worse_bound(n: int, uneven: bool) -> None:
    program, x, honest = _chain(n, uneven)
    w = honest.copy()
    w[n // 2] *= 0.5  # the link with the largest weight
    assert largest_ratio(program, w)[0] > 1 + 1e-4
    assert proved_upper(program, w) > proved_upper(program, honest) >= program.variance(x)
    assert proved_upper(program, 0.98 * honest) == np.inf
    w[n // 3] = 0.0
    assert largest_ratio(program, w)[0] > 1e6
    assert proved_upper(program, w) == np.inf


@pytest.mark.parametrize("n", [30, 300])
def test_factors_of_another_matrix_are_detected(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The signs of the pivots are right, but the product of the factors is another matrix."""
    program, _, w = _chain(n, False)
    other = sp.csr_array(program.laplacian(1.001 * w) - sp.diags_array(program.cost))
    whole = analyse(other).factorise
    monkeypatch.setattr(SuperLUAnalysis, "factorise", lambda self, A: whole(other))
    assert proved_upper(program, 0.9 * w) == np.inf
    assert proved_upper(program, 1.1 * w) == np.inf


def test_cost_without_a_positive_direction_has_a_zero_bound() -> None:
    """No direction of the cost is positive: the weights may be zero, never negative."""
    program, _, w = _chain(20, False)
    program = replace(program, cost=-np.eye(20))
    assert largest_ratio(program, w)[0] < 0
    assert _upper(program, w) == 0.0


def test_a_cost_that_differs_from_the_centre() -> None:
    """Weighted points centred at their unweighted mean: the constant vector is not orthogonal in the cost, and no sparse proof applies."""
    program, _, w = _chain(250, False)
    program = replace(program, cost=np.random.default_rng(0).uniform(0.0, 3.0, 250))
    Z = la.null_space(np.ones((1, 250)))
    L = Z.T @ program.laplacian(w) @ Z
    theta = la.eigh(Z.T @ np.diag(program.cost) @ Z, L, eigvals_only=True)[-1]
    assert largest_ratio(program, w)[0] == pytest.approx(theta, rel=1e-8)
    exact = theta * (w @ program.bounds)
    assert exact <= proved_upper(program, theta * w) <= exact * (1 + 3e-6)
    assert proved_upper(program, 0.98 * theta * w) == np.inf


def test_weights_above_a_linear_price_give_no_upper_bound() -> None:
    program, _, w = _chain(30, False)
    tight = replace(program, slack=Slack(1, float(w.max())))
    assert upper_bound(tight, w, 1.0) == pytest.approx(program.bounds @ w)
    assert upper_bound(tight, w, 1.01) == np.inf
    check_price(replace(program, slack=Slack(1, float(w.max()))))


# ---------------------------------------------------------------------- the scale of a point
@pytest.mark.parametrize(
    "name", ["linear slack", "quadratic slack", "equations, quadratic slack", "equations, linear slack"]
)
def test_best_scale_of_a_point_with_priced_violations(name: str) -> None:
    program = PROGRAMS[name]()
    F = program.centred(np.random.default_rng(2).standard_normal((program.n, 2)))
    alpha = shrink(program, F)
    here = net_value(program, np.sqrt(alpha) * F)
    assert alpha > 0
    for other in (0.0, 0.5, 0.99, 1.01, 2.0):
        assert net_value(program, np.sqrt(other * alpha) * F) <= here + 1e-9 * abs(here)


def test_shrunk_point_satisfies_its_bounds_and_reaches_one() -> None:
    program = PROGRAMS["inequality"]()
    F = program.centred(5 * np.random.default_rng(2).standard_normal((program.n, 2)))
    lower, violation = lower_bound(program, F)
    F2 = np.sqrt(shrink(program, F)) * F
    assert violation > 1
    assert np.max(program.squares(F2) / program.bounds) == pytest.approx(1.0)
    assert lower == pytest.approx(program.variance(F2))


# ---------------------------------------------------------------------- verify
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.every(3)
def test_verify_agrees(name: str) -> None:
    solution = dense_interior_point(PROGRAMS[name]())
    anew = solution.verify()
    assert anew.proved
    assert anew.lower == pytest.approx(solution.lower, rel=1e-12)
    assert anew.violation == pytest.approx(solution.certificate.violation, abs=1e-12)
    assert anew.upper == pytest.approx(solution.upper, rel=2e-5)


@pytest.mark.parametrize("name", ["inequality", "indefinite cost"])
def test_verify_recomputes_everything(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`verify` uses neither the stored certificate nor an eigenvalue."""
    solution = dense_interior_point(PROGRAMS[name]())
    honest = solution.verify()

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("an eigenvalue was asked for")

    monkeypatch.setattr(certificate, "largest_ratio", refuse)
    monkeypatch.setattr(certificate.la, "eigh", refuse)
    monkeypatch.setattr(certificate, "eigsh", refuse)
    liar = replace(solution, certificate=Certificate(1e9, 1e9, 1e9, 0.0, True))
    assert liar.verify() == honest
    assert replace(solution, weights=0.9 * solution.weights).verify().upper == np.inf
    assert replace(solution, factor=2 * solution.factor).verify().violation == pytest.approx(3.0, rel=1e-6)


def test_gap_of_degenerate_bounds() -> None:
    assert Certificate(0, 0, 0, 0).gap == 0
    assert Certificate(0, -1, 0, 0).gap == np.inf
    assert Certificate(0, 0, np.inf, 0).gap == np.inf
    assert Certificate(0, 1, 2, 0).gap == 0.5


def test_centred_basis() -> None:
    for c in (np.ones(2), np.array([-3.0, 1.0, 2.0]), np.random.default_rng(0).uniform(0.1, 9, 30)):
        Z = centred_basis(c)
        np.testing.assert_allclose(
            np.c_[Z, c / np.linalg.norm(c)].T @ np.c_[Z, c / np.linalg.norm(c)], np.eye(c.size), atol=1e-13
        )


@pytest.mark.parametrize("k", [1, 3])
def test_equal_ratios_are_all_found(k: int) -> None:
    """On a complete graph with equal weights all directions have the same ratio; LAPACK's subset driver loses some of them."""
    for n in range(4, 70):
        pairs = np.column_stack(np.triu_indices(n, 1))
        theta, several, V = largest_ratio(Program.of_pairs(n, pairs, np.ones(len(pairs))), np.ones(len(pairs)), k=k)
        np.testing.assert_allclose([theta, *several], np.full(k + 1, 1 / n), rtol=1e-9)
        assert V.shape == (n, k)
