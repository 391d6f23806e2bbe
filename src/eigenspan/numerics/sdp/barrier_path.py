"""Primal–dual path of the low-rank unfolding: the state of the iteration and one Newton step.

`BarrierPath` may leave the bounds on its way and has a penalty for that. `InteriorPath` never leaves them. It takes more steps where all
edges have about the same length, but it also converges where lengths differ by many orders of magnitude: there a step that is right for
the long edges exceeds the bounds of the short ones a thousand times, and the penalty would shorten all steps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg as la

from ..._types import Array
from .newton import NewtonMatrix
from .program import Program

#: Shift at which the Newton matrix is positive definite, in units of the masses; and the smallest shift used.
_SAFE_SHIFT, _MIN_SHIFT = 2.05, 1e-3
#: Largest share of the distance to the boundary that a step may take.
_MAX_STEP = 0.95
#: A last column with less than this share of the variance is unused, so it can take an escape direction.
_UNUSED_COLUMN = 1e-4
#: Columns with less than this share of the variance are empty.
_EMPTY_COLUMN = 1e-9
#: Relative gap of the central path at which an interior path begins.
_FIRST_GAP = 0.5


@dataclass
class Step:
    """A direction: changes of the embedding, of the distance to each bound, of the weights, and of the slack."""

    D: Array
    room: Array
    weights: Array
    slack: Array
    linear: Array
    square: Array


class BarrierPath:
    """The state of the iteration, in units in which the mean bound is one."""

    def __init__(self, program: Program, R: Array, tol: float, *, warm: float = 0.0) -> None:
        self.program, self.tol = program, tol
        T = program.combine
        self.m = program.bounds.size
        self.edge = np.arange(self.m) if T is None else T.indices
        self.sign = np.ones(self.m) if T is None else T.data
        self.newton = NewtonMatrix(program, R.shape[1])
        self.R = program.centred(R)
        self._begin(warm)
        self._begin_slack()
        self.shift, self.fall, self.wait, self.left_at = _SAFE_SHIFT, 0.4, 6, 0.0

    def _begin(self, warm: float) -> None:
        """Scale the points, and set the distances to the bounds, the barrier and the weights."""
        program = self.program
        if not warm:
            reach = self._left() / program.bounds
            spread = program.variance(self.R) / float(np.mean(reach))
            self.R *= np.sqrt(0.5 / np.quantile(reach, 0.98))
        self.room = np.maximum(program.bounds - self._left(), 0.1 * self._width())
        self.mu = (warm * program.variance(self.R) if warm else 0.05 * spread) / self.m
        self.w = self.mu / self.room

    # ------------------------------------------------------------------ parts of the problem
    def _left(self) -> Array:
        """Return the left-hand sides of the rows."""
        v: Array = self.sign * self.program.squares(self.R)[self.edge]
        return v

    def _width(self) -> Array:
        """Return the distance between the two bounds of each row, or the bound itself if there is no lower one."""
        b = self.program.bounds
        return b if self.program.combine is None else np.tile(sum(np.split(b, 2)), 2)

    def _on_edges(self, rows: Array) -> Array:
        """Sum values of rows over their edges."""
        if self.program.combine is None:
            return rows
        return np.asarray(np.bincount(self.edge, rows, minlength=len(self.program.pairs)), dtype=np.float64)  # type: ignore[arg-type]

    def _begin_slack(self) -> None:
        slack = self.program.slack
        self.t = np.zeros(self.m)
        if slack is not None and slack.power == 1:
            self.w = np.minimum(self.w, 0.5 * slack.price)
            self.t = self.mu / (slack.price - self.w)
        elif slack is not None:
            self.t = self.w / (2.0 * slack.price)

    def _slack_terms(self) -> tuple[Array | float, Array | float]:
        """Return (e, c) with ``dt = e + c dw``: the change of the slack with the weights."""
        slack = self.program.slack
        if slack is None:
            return 0.0, 0.0
        if slack.power == 2:
            return 0.0, 0.5 / slack.price
        left = slack.price - self.w
        return self.mu / left - self.t, self.t / left

    def residual(self) -> Array:
        return self.program.bounds - self._left() - self.room + self.t

    def gradient(self, rows: Array) -> Array:
        """Return ``(L(Tᵀ rows) − M) R``."""
        B, g = self.program.directions, self._on_edges(self.sign * rows)
        return np.asarray(B.T @ (g[:, None] * (B @ self.R)) - self.program.cost[:, None] * self.R)

    # ------------------------------------------------------------------ progress
    def is_settled(self) -> bool:
        """Return True if the point is so close to the central path that bounds are worth computing."""
        variance = self.program.variance(self.R)
        gap = self.m * self.mu / variance
        self.dual = float(la.norm(self.gradient(self.w)) / la.norm(self.R))
        primal = float(self.w @ np.abs(self.residual())) / variance
        apart = float(np.mean(np.abs(self.w * self.room - self.mu))) / self.mu
        return self.dual < max(0.2 * gap, 0.3 * self.tol) and primal < max(0.3 * gap, 0.2 * self.tol) and apart < 0.5

    def lower_barrier(self) -> None:
        variance = self.program.variance(self.R)
        if self.m * self.mu / variance > 0.3 * self.tol:
            self.mu = max(self.mu * self.fall, 0.25 * self.tol * variance / self.m)
            self.fall = max(0.2, 0.8 * self.fall)

    def trim(self) -> None:
        """Rotate R to its principal axes and drop all empty columns but one."""
        masses = np.sqrt(self.program.cost)[:, None]
        _, s, Vt = la.svd(masses * self.R, full_matrices=False)
        used = int(np.sum(s**2 > _EMPTY_COLUMN * np.sum(s**2)))
        self.R = (self.R @ Vt.T)[:, : max(used + 1, 2)]
        self.last = float(s[-1] ** 2 / np.sum(s**2)) if self.R.shape[1] == s.size else 0.0

    def escape(self, direction: Array) -> None:
        """Leave a saddle along an eigenvector, using the last column or a new one."""
        if self.last > _UNUSED_COLUMN:
            self.R = np.hstack([self.R, np.zeros((len(self.R), 1))])
        if self.R[:, -1] @ direction < 0:
            direction = -direction
        length = self._escape_length(direction)
        self.R[:, -1] += length * direction
        self.shift = _SAFE_SHIFT

    def _escape_length(self, direction: Array) -> float:
        """Return the length of a step along a direction that is added to the last column."""
        upper = self.sign > 0
        steps = (self.program.directions @ direction)[self.edge[upper]] ** 2
        return float(np.sqrt(0.5 * np.min(self._width()[upper] / np.maximum(steps, np.finfo(float).tiny))))

    # ------------------------------------------------------------------ one Newton step
    def advance(self) -> None:
        step = self._direction()
        primal, dual = self._longest(step)
        taken = self._search(step, primal)
        self.R = self.R + taken * step.D
        self.w = self.w + dual * (taken / primal) * step.weights
        self._move_room(step, taken)
        if taken > 0.6:
            self.shift = max(0.3 * self.shift, _MIN_SHIFT)
        elif taken < 0.1:
            self.shift = min(3.0 * self.shift, _SAFE_SHIFT)

    def _move_room(self, step: Step, taken: float) -> None:
        """Update the distances to the bounds and the slack after a step, and keep the weights near the central path."""
        self.room = self.room + taken * step.room
        slack = self.program.slack
        if slack is None:
            self.w = np.clip(self.w, 0.02 * self.mu / self.room, 50.0 * self.mu / self.room)
        elif slack.power == 2:
            self.t = self.w / (2.0 * slack.price)
        else:
            self.t = self.t + taken * step.slack
        free = self.program.bounds - self._left() + self.t
        self.room = np.maximum(self.room, np.minimum(free, 1.5 * self.room))

    def _direction(self) -> Step:
        e, c = self._slack_terms()
        rp = self.residual() + e
        omega = 1.0 / (self.room / self.w + c)
        target = self.w + omega * (self.mu / self.w - self.room - rp)
        B = self.program.directions
        delta = np.asarray(B @ self.R)
        g, curve = self._on_edges(self.sign * self.w), self._on_edges(omega)
        solve = self.newton.solver(delta, g, curve, self.shift)
        while solve is None:
            self.shift = _SAFE_SHIFT if self.shift < _SAFE_SHIFT else 3.0 * self.shift
            solve = self.newton.solver(delta, g, curve, self.shift)
        D = self.program.centred(-2.0 * solve(self.gradient(target)))
        if not np.all(np.isfinite(D)):
            raise la.LinAlgError("The Newton matrix is singular to rounding.")
        change = np.asarray(B @ D)
        linear = (2.0 * np.einsum("er,er->e", delta, change))[self.edge] * self.sign
        square = np.einsum("er,er->e", change, change)[self.edge] * self.sign
        weights = target - self.w + omega * linear
        slack = e + c * weights
        return Step(D, rp - e - linear + slack, weights, np.broadcast_to(slack, weights.shape), linear, square)

    def _longest(self, step: Step) -> tuple[float, float]:
        primal, dual = _to_boundary(self.room, step.room), _to_boundary(self.w, step.weights)
        slack = self.program.slack
        if slack is not None and slack.power == 1:
            primal = min(primal, _to_boundary(self.t, step.slack))
            dual = min(dual, _to_boundary(slack.price - self.w, -step.weights))
        return primal, dual

    def _search(self, step: Step, longest: float) -> float:
        """Backtrack on the barrier function with an exact penalty for the residual of the rows; return the step length."""
        variance, slack, mu = self.program.variance, self.program.slack, self.mu
        inner = 2.0 * float(np.vdot(self.program.cost[:, None] * self.R, step.D))
        outer, penalty = variance(step.D), 1.2 * np.maximum(self.w, self.w + step.weights) + 0.1 * np.mean(self.w)
        rp = self.residual()

        def merit(a: float) -> float:
            value = -a * inner - a * a * outer - mu * float(np.log1p(a * step.room / self.room).sum())
            t = a * step.slack
            if slack is not None and slack.power == 1:
                value += slack.price * float(t.sum()) - mu * float(np.log1p(t / self.t).sum())
            elif slack is not None:
                value += slack.price * float(((self.t + t) ** 2 - self.t**2).sum())
            return value + float(
                penalty @ np.abs(rp - a * (step.linear + step.room - step.slack) - a * a * step.square)
            )

        begin, a = merit(0.0), longest
        slope = -inner - mu * float(np.sum(step.room / self.room)) - float(penalty @ np.abs(rp))
        for _ in range(25):
            if merit(a) <= begin + 1e-4 * a * min(slope, 0.0) + 1e-10 * abs(begin):
                break
            a *= 0.6
        return a


def _to_boundary(x: Array, change: Array) -> float:
    falling = change < 0
    return min(1.0, _MAX_STEP * float(np.min(-x[falling] / change[falling], initial=np.inf)))


class InteriorPath(BarrierPath):
    """A path strictly inside all upper bounds, for programs without slack and lower bounds.

    The distance to each bound is that of the points themselves, so that steps are limited by the exact, quadratic change of each squared
    distance, and judged by the barrier function without a penalty.
    """

    def _begin(self, warm: float) -> None:
        program, reach = self.program, float(np.max(self._left() / self.program.bounds))
        most = 1.0 - 0.5 * warm if warm else 0.5
        self.R *= np.sqrt(min(most / reach, 1.0) if warm else most / reach)
        self.room = np.maximum(program.bounds - self._left(), np.finfo(float).eps * program.bounds)
        self.mu = (warm or _FIRST_GAP) * program.variance(self.R) / self.m
        self.w = self.mu / self.room

    def advance(self) -> None:
        self._measure_room()  # columns may have been added or dropped since the last step
        super().advance()

    def _measure_room(self) -> None:
        self.room = self.program.bounds - self._left()
        if not self.room.min() > 0:
            raise la.LinAlgError("Rounding moves points outside their bounds.")

    def _escape_length(self, direction: Array) -> float:
        B = self.program.directions
        change, room = B @ direction, self.program.bounds - self._left()
        return 0.5 * _to_bound(room, 2.0 * (B @ self.R[:, -1]) * change, change**2)

    def _move_room(self, step: Step, taken: float) -> None:
        self._measure_room()
        self.w = np.clip(self.w, 0.02 * self.mu / self.room, 50.0 * self.mu / self.room)

    def _longest(self, step: Step) -> tuple[float, float]:
        primal = min(1.0, _MAX_STEP * _to_bound(self.room, step.linear, step.square))
        return primal, _to_boundary(self.w, step.weights)

    def _search(self, step: Step, longest: float) -> float:
        inner = 2.0 * float(np.vdot(self.program.cost[:, None] * self.R, step.D))
        outer, a = self.program.variance(step.D), longest
        slope = -inner + self.mu * float(np.sum(step.linear / self.room))
        for _ in range(25):
            left = np.log1p(-(a * step.linear + a * a * step.square) / self.room)
            if -a * inner - a * a * outer - self.mu * float(left.sum()) <= 1e-4 * a * min(slope, 0.0) + 1e-12:
                break
            a *= 0.6
        return a


def _to_bound(room: Array, linear: Array, square: Array) -> float:
    """Return the smallest a > 0 at which ``a·linear + a²·square`` reaches `room` in one of the rows, square ≥ 0."""
    tiny = np.finfo(float).tiny
    return float(np.min(2.0 * room / np.maximum(linear + np.sqrt(linear**2 + 4.0 * square * room), tiny)))
