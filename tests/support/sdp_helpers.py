"""Semidefinite programs of unfolding: examples, a general solver for their optimum, and one with a known optimum."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
import scipy.linalg as la
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import cdist

from eigenspan.numerics.sdp.program import Program, Slack

Array = NDArray[np.float64]


def cloud(n: int, seed: int = 0) -> Array:
    """Return points near a bent sheet."""
    rng = np.random.default_rng(seed)
    t = rng.uniform(0, 4, n)
    return np.c_[t * np.cos(t), t * np.sin(t), rng.uniform(0, 2, n)]


def neighbours(X: Array, k: int) -> tuple[Any, Array]:
    """Return the pairs of a k-neighbour graph joined with the minimum spanning tree, and their squared distances."""
    D = cdist(X, X, "sqeuclidean")
    near = np.argsort(D, axis=1, kind="stable")[:, 1 : k + 1]
    pairs = np.vstack(
        [np.c_[np.repeat(np.arange(len(X)), k), near.ravel()], np.argwhere(minimum_spanning_tree(D).toarray())]
    )
    pairs = np.unique(np.sort(pairs, axis=1), axis=0)
    return pairs, D[pairs[:, 0], pairs[:, 1]]


def line(n: int, masses: Array | None = None, seed: int = 0) -> tuple[Program, Array, Array]:
    """A chain of points: the optimum is a straight line, and the weights are known in closed form.

    Returns the program, the positions and the weights.
    """
    d = np.random.default_rng(seed).uniform(0.5, 2.0, n - 1)
    m = np.ones(n) if masses is None else masses
    x = np.r_[0.0, np.cumsum(np.sqrt(d))]
    x -= m @ x / m.sum()
    weights = np.cumsum((m * x)[::-1])[::-1][1:] / np.sqrt(d)
    return Program.of_pairs(n, np.c_[np.arange(n - 1), np.arange(1, n)], d, masses=masses), x[:, None], weights


def optimum(program: Program) -> tuple[float, float]:
    """Return the optimal value by a general solver (cvxpy with Clarabel, in a basis of the centred vectors), and its tolerance.

    Whether the solver reaches its tolerance depends on the processor's rounding; if it does not, an equivalent problem is tried.
    """
    cp = pytest.importorskip("cvxpy")
    pytest.importorskip("clarabel")
    found: dict[str, float] = {}
    for slack in (True, False) if program.slack is None else (True,):
        problem, size = _cone_program(program, slack)
        with warnings.catch_warnings(), suppress(cp.SolverError):
            warnings.simplefilter("ignore")
            problem.solve(solver=cp.CLARABEL, **clarabel_tolerances(1e-8), **clarabel_tolerances(1e-6, "reduced_"))
            found.setdefault(problem.status, size * float(problem.value))
        if "optimal" in found:
            return found["optimal"], 1e-6
    return found["optimal_inaccurate"], 1e-4


def _cone_program(program: Program, slack: bool) -> tuple[Any, float]:
    """Return the problem for cvxpy, divided by a number; with `slack`, violations are variables, which may be zero."""
    import cvxpy as cp

    size = float(np.abs(program.bounds).mean())
    program = program.scaled(size)
    Z = la.null_space(program.centre[None])
    B = program.directions.toarray() if sp.issparse(program.directions) else program.directions
    B = B @ Z
    C = np.diag(program.cost) if np.ndim(program.cost) == 1 else program.cost
    C = Z.T @ (C.toarray() if sp.issparse(C) else C) @ Z
    K = cp.Variable((len(C), len(C)), PSD=True)
    t = cp.Variable(program.bounds.size) if slack else np.zeros(program.bounds.size)
    left = cp.sum(cp.multiply(B @ K, B), axis=1)
    left = left if program.combine is None else program.combine.toarray() @ left
    equal = program.equations
    limits = [left[equal] - t[equal] == program.bounds[equal]] if equal.any() else []
    limits += [left[~equal] - t[~equal] <= program.bounds[~equal]] if not equal.all() else []
    gain = cp.trace(C @ K)
    if program.slack is not None:
        limits += [t[~equal] >= 0] if not equal.all() else []
        gain -= program.slack.price * (cp.norm1(t) if program.slack.power == 1 else cp.sum_squares(t))
    elif slack:
        limits.append(t == 0)
    return cp.Problem(cp.Maximize(gain), limits), size


def clarabel_tolerances(tol: float, kind: str = "") -> dict[str, float]:
    return {f"{kind}tol_{what}": tol for what in ("gap_abs", "gap_rel", "feas")}


# ---------------------------------------------------------------------- one program of each kind
def _graph(n: int = 24, k: int = 4, seed: int = 0, **options: Any) -> Program:
    pairs, d = neighbours(cloud(n, seed), k)
    return Program.of_pairs(n, pairs, d, **options)


def _noisy(n: int, k: int, **options: Any) -> Program:
    """Return a program with an equation for every pair and distances that are not Euclidean."""
    pairs, d = neighbours(cloud(n, 1), k)
    d = d * np.random.default_rng(5).uniform(0.8, 1.2, d.size)
    return Program.of_pairs(n, pairs, d, equal=np.ones(d.size, dtype=bool), **options)


def _band() -> Program:
    pairs, d = neighbours(cloud(22, 3), 4)
    return Program.of_pairs(22, pairs, d, lower=0.8 * d)


def _tree() -> Program:
    pairs, d = neighbours(cloud(22, 4), 1)
    return Program.of_pairs(22, pairs, d, equal=np.ones(d.size, dtype=bool))


def _masses() -> Program:
    return _graph(masses=np.random.default_rng(2).uniform(0.5, 4.0, 24))


def _differences() -> Program:
    """Return a program in which some pairs must have equal distances, as for actions."""
    pairs, d = neighbours(cloud(22, 6), 4)
    p, rng = len(pairs), np.random.default_rng(0)
    first, second = rng.permutation(p)[:16].reshape(2, 8)
    rows = np.r_[np.arange(8), np.arange(8)]
    same = sp.csr_array((np.repeat([1.0, -1.0], 8), (rows, np.r_[first, second])), shape=(8, p))
    combine = sp.csr_array(sp.vstack([sp.eye_array(p), same]))
    return Program.of_pairs(22, pairs, np.r_[d, np.zeros(8)], combine=combine, equal=np.arange(p + 8) >= p)


def _sums() -> Program:
    """Return a program with fewer constraints than pairs: the sum of squared distances in each of ten groups is bounded."""
    pairs, d = neighbours(cloud(20, 7), 4)
    group = np.arange(len(pairs)) % 10
    combine = sp.csr_array((np.ones(len(pairs)), (group, np.arange(len(pairs)))), shape=(10, len(pairs)))
    return Program.of_pairs(20, pairs, combine @ d, combine=combine)


def _cost(kind: str) -> Program:
    rng = np.random.default_rng(8)
    pairs, d = neighbours(cloud(22, 8), 4)
    if kind == "indefinite":
        A = rng.standard_normal((22, 22))
        C = A + A.T
    else:
        labels = np.eye(3)[rng.integers(0, 3, 22)]
        C = labels @ labels.T
    H = np.eye(22) - 1 / 22
    return Program.of_pairs(22, pairs, d, cost=H @ C @ H)


def landmark_program(n: int = 40, count: int = 12, seed: int = 9) -> Program:
    """Return a program for points that are averages of landmarks: dense directions, and the variance of all points as the cost."""
    X = cloud(n, seed)
    Q = np.exp(-cdist(X, X[:count], "sqeuclidean"))
    Q /= Q.sum(axis=1, keepdims=True)
    pairs, d = neighbours(X, 4)
    H = np.eye(n) - 1 / n
    return Program(Q[pairs[:, 0]] - Q[pairs[:, 1]], d, Q.T @ H @ Q, Q.sum(axis=0))


PROGRAMS: dict[str, Callable[[], Program]] = {
    "inequality": _graph,
    "band": _band,
    "linear slack": lambda: _graph(seed=1, slack=Slack(1, 40.0)),
    "quadratic slack": lambda: _graph(seed=2, slack=Slack(2, 2.0)),
    "equations": _tree,
    "equations, linear slack": lambda: _noisy(22, 3, slack=Slack(1, 40.0)),
    "equations, quadratic slack": lambda: _noisy(22, 3, slack=Slack(2, 2.0)),
    "masses": _masses,
    "differences": _differences,
    "sums": _sums,
    "indefinite cost": lambda: _cost("indefinite"),
    "low-rank cost": lambda: _cost("low rank"),
    "dense directions": landmark_program,
}
