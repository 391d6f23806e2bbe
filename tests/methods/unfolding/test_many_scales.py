"""Unfoldings of edges whose lengths span many orders of magnitude: optima that are known, and never less than the data."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from eigenspan import MVU, RelaxedMVU
from eigenspan.errors import ConvergenceWarning
from eigenspan.numerics.sdp import Program, choose, solve_program, with_incumbent
from eigenspan.numerics.sdp.barrier_path import InteriorPath
from sdp_helpers import cloud, line, neighbours, optimum


@pytest.mark.parametrize(("n", "decades"), [(90, 10), (300, 6)])
def test_a_chain_of_lengths_over_many_decades_becomes_a_line(n, decades):
    rng = np.random.default_rng(1)
    lengths = np.sort(10 ** rng.uniform(-decades / 2, decades / 2, n - 1))
    pairs = np.column_stack([np.arange(n - 1), np.arange(1, n)])
    x = np.r_[0.0, np.cumsum(lengths)]
    best = np.sum((x - x.mean()) ** 2)
    found = solve_program(Program.of_pairs(n, pairs, lengths**2))
    assert found.gap <= 5e-3
    assert found.lower <= best * (1 + 1e-9)
    assert found.upper >= best * (1 - 1e-9)


def test_a_general_solver_agrees_with_the_path_inside_all_bounds(monkeypatch):
    pairs, d = neighbours(cloud(24, 2), 3)
    value, tol = optimum(Program.of_pairs(24, pairs, d))
    began = []
    monkeypatch.setattr("eigenspan.numerics.sdp.low_rank._WIDE", 1.0)
    monkeypatch.setattr(
        InteriorPath, "_begin", lambda self, warm, begin=InteriorPath._begin: (began.append(1), begin(self, warm))
    )
    found = solve_program(Program.of_pairs(24, pairs, d), tol=1e-5, method="low-rank")
    assert began
    assert found.lower == pytest.approx(value, rel=2e-5 + tol)
    assert found.upper == pytest.approx(value, rel=2e-5 + tol)


@pytest.mark.parametrize("kind", ["radial", "spiral", pytest.param("copies", marks=pytest.mark.long)])
def test_multi_scale_sets_are_proved_and_not_below_the_data(kind):
    rng = np.random.default_rng(3)
    if kind == "radial":
        U = rng.standard_normal((110, 2))
        X = U / np.linalg.norm(U, axis=1)[:, None] * 10 ** rng.uniform(-5, 0, 110)[:, None]
    elif kind == "spiral":
        t = np.sort(rng.uniform(0, 1, 100))
        radius = np.exp(11 * (t - 1))
        X = np.c_[radius * np.cos(12 * t), radius * np.sin(12 * t), radius * rng.uniform(0, 0.3, 100)]
    else:
        X = rng.standard_normal((44, 3))
        X = np.vstack([X, X[:20] + rng.standard_normal((20, 3)) * 10 ** rng.uniform(-9, -1, 20)[:, None]])
    c = MVU(2).fit(X).certificate_
    assert c.gap < 1e-2
    assert c.lower >= np.sum((X - X.mean(axis=0)) ** 2) * (1 - 1e-12)


@pytest.mark.parametrize("estimator", [MVU(2, max_iter=1), RelaxedMVU(2, prune=None, conformal=False, max_iter=1)])
def test_an_unfolding_that_is_stopped_is_not_worse_than_the_data(estimator):
    X = cloud(80)
    with pytest.warns(ConvergenceWarning):
        fitted = estimator.fit(X)
    c, R = fitted.certificate_, fitted.embedding_full_
    assert c.lower >= np.sum((X - X.mean(axis=0)) ** 2) * (1 - 1e-12)
    v = np.sum((R[c.edges[:, 0]] - R[c.edges[:, 1]]) ** 2, axis=1)
    assert np.max(v / c.squared_distances) < 1 + 1e-9
    assert np.sum(R**2) == pytest.approx(c.lower, rel=1e-9)


def test_few_points_go_on_by_dense_steps(monkeypatch):
    pairs, d = neighbours(cloud(61, 5), 3)
    program = Program.of_pairs(61, pairs, d)
    whole = solve_program(program, tol=1e-5)
    few = choose.low_rank_interior_point
    monkeypatch.setattr(choose, "low_rank_interior_point", lambda *args, **how: few(*args, **how | {"max_iter": 8}))
    assert solve_program(program, tol=1e-5, max_iter=100).status == "iterations"  # no steps are left for dense ones
    found = solve_program(program, tol=1e-5)
    assert found.status == whole.status == "certified"
    assert found.iterations > 8
    assert found.lower == pytest.approx(whole.upper, rel=2e-5)


def test_a_given_solution_is_kept_unless_the_points_are_better():
    program, x, _ = line(30)
    found = solve_program(program, tol=1e-4)
    assert with_incumbent(found, 0.5 * np.hstack([x, x]) / np.sqrt(2) + 7.0, 1e-4).lower >= found.lower
    assert with_incumbent(found, np.random.default_rng(0).random((30, 2)), 1e-4) is found
    better = with_incumbent(found, x, 1e-12)
    assert better.lower == pytest.approx(np.sum(x**2), rel=1e-12)
    assert better.upper == found.upper


@pytest.mark.filterwarnings("ignore::eigenspan.errors.ConvergenceWarning")
def test_tension_that_rounding_hides_gives_no_bound_below_what_is_attained():
    rng = np.random.default_rng(1)
    n = 70
    lengths = 10 ** rng.uniform(-5, 5, n - 1)
    W = sp.diags_array([lengths, lengths], offsets=[1, -1]).tocsr()
    c = MVU(1, graph=W).fit(rng.random((n, 2))).certificate_
    assert c.lower <= c.upper
    x = np.r_[0.0, np.cumsum(lengths)]
    assert c.lower <= np.sum((x - x.mean()) ** 2) * (1 + 1e-9) <= c.upper * (1 + 2e-9)
