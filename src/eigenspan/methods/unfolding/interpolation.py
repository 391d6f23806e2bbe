"""Unfoldings whose Gram matrix is ``K = Q L Qᵀ``: Q interpolates between landmarks, and L is theirs."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..._diagnostics import note
from ...core import Form
from ...errors import ConvergenceError, RidgeWarning, warn
from ...forms import laplacian
from ...solvers import dense
from ...solvers.linear import solve_positive
from ...solvers.sdp import Certificate, Program, Solution
from ...solvers.sdp.certificate import largest_ratio
from .sdp import SDP
from .task import Task

Array = NDArray[np.float64]
Index = NDArray[np.intp]

#: Pairs to begin with, and pairs that may join in a round, for each landmark.
_FIRST, _JOINING = 8, 4
#: Steps of the solver in a round.
_STEPS = 100
#: Pairs looked at at a time.
_BLOCK = 2**16
#: Share of the graph's Laplacian that is added to a singular M.
_STIFFNESS = 1e-7
#: Axes with less of the variance than this share are left out.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False, kw_only=True)
class Interpolated(Task):
    """Points ``Y = Q F``. Of all its pairs a program takes some, in units of their bounds, and those it breaks most join them."""

    Q: Array

    @cached_property
    def cost(self) -> Array:
        return dense.symmetric(self.Q.T @ (self.held.groups.masses[:, None] * self.Q))

    @cached_property
    def centre(self) -> Array:
        return np.asarray(self.Q.T @ self.held.groups.masses)

    def solve(self, sdp: SDP) -> tuple[Solution, Array]:
        """Until what all pairs allow is within `tol` of what the chosen ones do."""
        began, tell = time.monotonic(), sdp.teller(self.objective)
        rows, best, accuracy = self.first(np.random.default_rng(sdp.seed)), _Best(), 1e-2
        status, history, iteration = "iterations", [], 0
        try:
            for iteration in range(sdp.max_iter):
                inner = sdp.solve(self.program(rows), tol=accuracy, max_iter=_STEPS, time_limit=sdp.time_left(began))
                Y = self.Q @ inner.factor
                stretch = self.stretch(Y)
                best.offer(inner, rows, float(stretch.max()))
                record = {"iteration": iteration, **best.facts, "violation": max(float(stretch.max()) - 1.0, 0.0), "constraints": rows.size,
                          "rank": inner.rank, "seconds": time.monotonic() - began}  # fmt: skip
                history.append(record)
                if tell is not None:
                    tell(record | {"factor": Y})
                if best.gap <= sdp.tol or inner.status in ("time", "interrupted"):
                    status = "certified" if best.gap <= sdp.tol else inner.status
                    break
                finer = max(0.25 * sdp.tol, min(accuracy, 0.05 * record["violation"]))
                before, rows = rows, self.next_rows(rows, stretch, inner.weights)
                if finer == accuracy and np.isin(rows, before).all():
                    status = "stalled"
                    break
                accuracy = finer
        except KeyboardInterrupt:
            if best.dual is None:
                raise
            status = "interrupted"
        note(rounds=iteration + 1, constraints=rows.size)
        solution, rows = best.solution(self, iteration + 1, status, history)
        weights = np.zeros(len(self.held.pairs))
        weights[rows] = solution.weights / self.held.bounds[rows]
        return solution, weights

    def factor(self, solution: Solution) -> Array:
        return np.asarray(self.Q[self.held.groups.labels] @ solution.factor)

    # ------------------------------------------------------------------ the active set
    def program(self, rows: Index) -> Program:
        i, j = self.held.pairs[rows].T
        directions = (self.Q[i] - self.Q[j]) / np.sqrt(self.held.bounds[rows])[:, None]
        return Program(directions, np.ones(rows.size), self.cost, self.centre)

    def stretch(self, Y: Array) -> Array:
        """Squared distances relative to their bounds, of all pairs."""
        out = np.empty(len(self.held.pairs))
        for a in range(0, out.size, _BLOCK):
            i, j = self.held.pairs[a : a + _BLOCK].T
            out[a : a + _BLOCK] = np.sum((Y[i] - Y[j]) ** 2, axis=1)
        return out / self.held.bounds

    def first(self, rng: np.random.Generator) -> Index:
        """Random pairs, enough to hold every direction."""
        order, count = rng.permutation(len(self.held.pairs)), _FIRST * self.Q.shape[1]
        while count < order.size:
            ratio, _, _ = largest_ratio(self.program(order[:count]), np.ones(count))
            if np.isfinite(ratio) and ratio < 1e12:
                break
            count *= 2
        return order[:count]

    def next_rows(self, rows: Index, stretch: Array, weights: Array) -> Index:
        """Pairs that carry weight or are nearly taut, and of those broken the worst near every landmark."""
        kept = rows[(weights > 1e-3 * weights.max()) | (stretch[rows] > 0.9)]
        broken = np.setdiff1d(np.flatnonzero(stretch > 1.0 + 1e-6), kept)
        cell = np.abs(self.Q[self.held.pairs[broken, 0]]).argmax(axis=1)
        order = np.lexsort((-stretch[broken], cell))
        place = np.arange(order.size) - np.searchsorted(cell[order], cell[order])
        return np.concatenate([kept, broken[order[place < _JOINING]]])


class _Best:
    """The best bounds met so far, and where."""

    def __init__(self) -> None:
        self.lower, self.upper = -np.inf, np.inf
        self.factor: Any = None
        self.dual: Any = None

    def offer(self, inner: Solution, rows: Index, worst: float) -> None:
        lower = inner.program.variance(inner.factor) / max(worst, np.finfo(float).tiny)
        if lower > self.lower:
            self.lower, self.factor = lower, inner.factor
        if self.dual is None or inner.upper < self.upper:
            self.upper, self.dual = inner.upper, (inner.program, inner.weights, rows)

    @property
    def gap(self) -> float:
        return Certificate(self.lower, self.lower, self.upper, 0.0).gap

    @property
    def facts(self) -> dict[str, float]:
        return {"lower": self.lower, "upper": self.upper, "gap": self.gap}

    def solution(
        self, task: Interpolated, rounds: int, status: str, history: list[dict[str, Any]]
    ) -> tuple[Solution, Index]:
        """On principal axes, those without variance left out, and shrunk until no pair at all is broken.

        The program has the pairs of the weights and the one that is stretched most, so that its own bound from below is that of all.
        """
        program, weights, rows = self.dual
        values, V = dense.eigenpairs(dense.symmetric(self.factor.T @ task.cost @ self.factor), None, "max")
        F = self.factor @ V[:, values > _ROUNDING * values.sum()]
        F = F / np.sqrt(task.stretch(task.Q @ F).max())
        value = program.variance(F)
        worst = int(task.stretch(task.Q @ F).argmax())
        if worst not in rows:  # the pair that F was shrunk for
            rows, weights = np.append(rows, worst), np.append(weights, 0.0)
            program = task.program(rows)
        return Solution(program, F, weights, Certificate(value, value, self.upper, 0.0), rounds, status, history), rows


def interpolation(M: Form, landmarks: Index, pairs: Index) -> Array:
    """Q, (n, q): values at the landmarks and what minimises M elsewhere, ``Q_u = −M_uu⁻¹ M_ul``. Its rows sum to one where M1 = 0.

    Points that hang on the rest by single edges have freedom left that M does not see: there, with a warning, a little of the
    Laplacian of the pairs is added.
    """
    Q = np.zeros((M.n, landmarks.size))
    Q[landmarks, np.arange(landmarks.size)] = 1.0
    free = np.setdiff1d(np.arange(M.n), landmarks)
    if free.size == 0:
        return Q
    S: Any = sp.csr_array(M.assembled().sparse)
    try:
        Q[free] = _solved(S, free, landmarks)
    except (np.linalg.LinAlgError, ConvergenceError) as found:
        warn(
            f"The {landmarks.size} landmarks leave some of the other {free.size} points free ({found}): they hang on the rest by too few "
            "neighbours. A little stiffness was added, which pulls them together. Use more neighbours, or landmarks there too.",
            RidgeWarning,
        )
        i, j = pairs.T
        W = sp.csr_array((np.ones(2 * i.size), (np.concatenate([i, j]), np.concatenate([j, i]))), shape=S.shape)
        stiffness = _STIFFNESS * float(S.diagonal().sum()) / W.sum()
        Q[free] = _solved(sp.csr_array(S + stiffness * laplacian(W).sparse), free, landmarks)
    return Q


def _solved(S: sp.csr_array, free: Index, landmarks: Index) -> Array:
    rows = S[free]
    inner = Form(free.size, sparse=sp.csr_array(rows[:, free]), psd=True)
    return solve_positive(inner, -rows[:, landmarks].toarray(), float(abs(S).sum(axis=0).max()))
