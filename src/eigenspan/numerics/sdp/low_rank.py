"""Low-rank primal–dual interior-point method for unfolding: a factored Gram matrix, sparse Newton steps, certified bounds.

``K = R Rᵀ`` with R of r columns makes the problem smooth but not convex, so a stationary point need not be the optimum. The dual
weights show whether it is: at the optimum ``L(w) ⪰ M`` on centred vectors. Otherwise an eigenvector with a negative eigenvalue is a
direction of ascent in one more dimension. It is added to the last column of R if that is unused, or to a new column. The returned
solution is therefore certified, whatever the path of the iteration.

Cost: each step factorises a sparse matrix of order nr with the fill of the neighbour graph; memory grows with that fill.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from ..._diagnostics import note, stage
from ..._types import Array
from ..factor import analyse
from .best_bounds import BestBounds
from .certificate import Callback, Certificate, Record, Solution, largest_ratio, lower_bound, net_value, shrink
from .newton import NewtonMatrix
from .program import Program

#: Shift at which the Newton matrix is positive definite, in units of the masses; and the smallest shift used.
_SAFE_SHIFT, _MIN_SHIFT = 2.05, 1e-3
#: Largest share of the distance to the boundary that a step may take.
_MAX_STEP = 0.95
#: Relative gap to which a band problem is first solved without lower bounds.
_BAND_START_GAP = 1e-2
#: Relative gap of the central path at which a known solution is continued, as a share of the requested gap.
_CONTINUATION_GAP = 0.3
#: A last column with less than this share of the variance is unused, so it can take an escape direction.
_UNUSED_COLUMN = 1e-4
#: Columns with less than this share of the variance are empty.
_EMPTY_COLUMN = 1e-9


@dataclass
class _Step:
    """A direction: changes of the embedding, of the distance to each bound, of the weights, and of the slack."""

    D: Array
    room: Array
    weights: Array
    slack: Array
    linear: Array
    square: Array


class _Unfolding:
    """The state of the iteration, in units in which the mean bound is one."""

    def __init__(self, program: Program, R: Array, tol: float, *, warm: float = 0.0) -> None:
        self.program, self.tol = program, tol
        T = program.combine
        self.m = program.bounds.size
        self.edge = np.arange(self.m) if T is None else T.indices
        self.sign = np.ones(self.m) if T is None else T.data
        self.newton = NewtonMatrix(program, R.shape[1])
        self.R = program.centred(R)
        width = self._width()
        if not warm:
            reach = self._left() / program.bounds
            spread = program.variance(self.R) / float(np.mean(reach))
            self.R *= np.sqrt(0.5 / np.quantile(reach, 0.98))
        self.room = np.maximum(program.bounds - self._left(), 0.1 * width)
        self.mu = (warm * program.variance(self.R) if warm else 0.05 * spread) / self.m
        self.w = self.mu / self.room
        self._begin_slack()
        self.shift, self.fall, self.wait, self.left_at = _SAFE_SHIFT, 0.4, 6, 0.0

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
        upper = self.sign > 0
        steps = (self.program.directions @ direction)[self.edge[upper]] ** 2
        length = np.sqrt(0.5 * np.min(self._width()[upper] / np.maximum(steps, np.finfo(float).tiny)))
        self.R[:, -1] += length * direction
        self.shift = _SAFE_SHIFT

    # ------------------------------------------------------------------ one Newton step
    def advance(self) -> None:
        step = self._direction()
        primal, dual = self._longest(step)
        taken = self._search(step, primal)
        self.R = self.R + taken * step.D
        self.room = self.room + taken * step.room
        self.w = self.w + dual * (taken / primal) * step.weights
        slack = self.program.slack
        if slack is None:
            self.w = np.clip(self.w, 0.02 * self.mu / self.room, 50.0 * self.mu / self.room)
        elif slack.power == 2:
            self.t = self.w / (2.0 * slack.price)
        else:
            self.t = self.t + taken * step.slack
        free = self.program.bounds - self._left() + self.t
        self.room = np.maximum(self.room, np.minimum(free, 1.5 * self.room))
        if taken > 0.6:
            self.shift = max(0.3 * self.shift, _MIN_SHIFT)
        elif taken < 0.1:
            self.shift = min(3.0 * self.shift, _SAFE_SHIFT)

    def _direction(self) -> _Step:
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
        change = np.asarray(B @ D)
        linear = (2.0 * np.einsum("er,er->e", delta, change))[self.edge] * self.sign
        square = np.einsum("er,er->e", change, change)[self.edge] * self.sign
        weights = target - self.w + omega * linear
        slack = e + c * weights
        return _Step(D, rp - e - linear + slack, weights, np.broadcast_to(slack, weights.shape), linear, square)

    def _longest(self, step: _Step) -> tuple[float, float]:
        primal, dual = _to_boundary(self.room, step.room), _to_boundary(self.w, step.weights)
        slack = self.program.slack
        if slack is not None and slack.power == 1:
            primal = min(primal, _to_boundary(self.t, step.slack))
            dual = min(dual, _to_boundary(slack.price - self.w, -step.weights))
        return primal, dual

    def _search(self, step: _Step, longest: float) -> float:
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


def low_rank_interior_point(
    program: Program, *, start: Array | None = None, interior: Array | None = None, first: Solution | None = None,
    tol: float = 1e-3, rank: int = 3, max_iter: int = 300, time_limit: float | None = None,
    callback: Callback | None = None, random_state: int | np.random.Generator | None = 0,
) -> Solution:  # fmt: skip
    """Solve a program on a graph (``program.is_graph``) to a certified relative gap `tol`.

    `start` is an embedding (n, p) of any scale; by default the lowest eigenvectors of the graph. `interior` is an embedding that satisfies
    all bounds, such as the data themselves; a band requires it. `first`, a solution to be improved, replaces both. `rank` is the initial
    number of columns. `callback` gets a dict with iteration, lower, upper, gap, rank, seconds and factor whenever bounds are computed. A
    band is first solved without its lower bounds, and `lower` is −∞ in that phase.
    """
    size = float(np.mean(np.abs(program.bounds)))
    scaled = program.scaled(size)
    limits = _Limits(max_iter, time_limit, callback, size)
    if first is None:
        inside = None if interior is None else interior / np.sqrt(size)
        state, first = _begin(scaled, start, inside, tol, rank, np.random.default_rng(random_state), limits)
    else:
        R = np.sqrt((1.0 - _CONTINUATION_GAP * tol) / size) * first.factor
        state = _Unfolding(scaled, R, tol, warm=_CONTINUATION_GAP * tol)
    best, history = BestBounds(scaled, state.R, state.w, tol), list[Record]()
    if first is not None:
        best.offer_weights(first.weights, 1.0)
    stopped = first is not None and first.status == "interrupted"
    status, iteration = ("interrupted", 0) if stopped else _iterate(state, best, limits, history)
    return _finish(program, state, best, size, iteration, status, history)


@dataclass(frozen=True)
class _Limits:
    """Limits of the iteration, and the callback for its records. Squared distances are `size` times those of the iteration."""

    max_iter: int
    time_limit: float | None
    callback: Callback | None
    size: float
    began: float = field(default_factory=time.monotonic)

    def report(self, record: Record, R: Array) -> None:
        """Call the callback with the record and the embedding R."""
        if self.callback is not None:
            self.callback({**record, "factor": np.sqrt(self.size) * R})

    def report_band(self, record: Record) -> None:
        """Call the callback with a record of the problem without lower bounds, which gives no lower bound on the band's optimum."""
        if self.callback is not None:
            factor = np.sqrt(self.size) * record["factor"]
            upper = self.size * record["upper"]
            self.callback({**record, "lower": -np.inf, "upper": upper, "gap": np.inf, "factor": factor})


def _iterate(state: _Unfolding, best: BestBounds, limits: _Limits, history: list[Record]) -> tuple[str, int]:
    """Take Newton steps until the bounds meet or a limit is reached; return the status and the number of steps."""
    iteration, quiet = 0, 0
    try:
        for iteration in range(limits.max_iter):
            best.offer_factor(state.R)
            if iteration >= state.wait and (state.is_settled() or quiet >= 40):
                record, quiet = _certify(state, best), 0
                record["iteration"], record["rank"] = iteration, state.R.shape[1]
                record["seconds"] = time.monotonic() - limits.began
                record["lower"], record["upper"] = record["lower"] * limits.size, record["upper"] * limits.size
                history.append(record)
                limits.report(record, state.R)
                if best.is_certified(state.tol):
                    return "certified", iteration
                state.wait = iteration + (9 if record["escaped"] else 1)
            if limits.time_limit is not None and time.monotonic() - limits.began > limits.time_limit:
                return "time", iteration
            quiet += 1
            state.advance()
    except KeyboardInterrupt:
        return "interrupted", iteration
    return "iterations", iteration


def _begin(
    program: Program, start: Array | None, interior: Array | None, tol: float, rank: int, rng: np.random.Generator,
    limits: _Limits,
) -> tuple[_Unfolding, Solution | None]:  # fmt: skip
    """Return the first point, and for a band the solution without its lower bounds.

    A band starts at an embedding inside it, with a small share of the solution without lower bounds added in separate columns. Squared
    distances then mix linearly, so the path from one to the other stays inside the band.
    """
    if program.combine is None:
        with stage("start"):
            return _Unfolding(program, _columns(program, start, rank, rng), tol), None
    assert interior is not None
    upper, lower = np.split(program.bounds, 2)
    plain = replace(program, bounds=upper, combine=None)
    with stage("start"):
        first = low_rank_interior_point(
            plain, start=start, tol=_BAND_START_GAP, rank=rank, time_limit=limits.time_limit,
            callback=None if limits.callback is None else limits.report_band,
        )  # fmt: skip
    share = 0.5 * float(np.min(1.0 + lower / upper))
    R = np.hstack([np.sqrt(1.0 - share) * program.centred(interior), np.sqrt(share) * first.factor])
    # the optimum without lower bounds is an upper bound
    first = replace(first, weights=np.concatenate([first.weights, np.zeros_like(first.weights)]))
    return _Unfolding(program, np.sqrt(1.0 - 0.5 * share) * R, tol, warm=_BAND_START_GAP), first


def _certify(state: _Unfolding, best: BestBounds) -> Record:
    """Compute bounds at the current point; then either leave a saddle or lower the barrier."""
    with stage("bounds"):
        k = max(1, min(state.R.shape[1] + 2, 6, state.program.n - 2))
        ratio, _, V = largest_ratio(state.program, state.w, k=k, tol=1e-7)
    best.offer_weights(state.w, ratio)
    record: Record = {"lower": best.lower, "upper": best.upper, "gap": best.gap, "escaped": False}
    if best.is_certified(state.tol):
        return record
    state.trim()
    smallest = 1.0 / ratio if np.isfinite(ratio) else 0.0
    variance = state.program.variance(state.R)
    saddle = smallest < 1.0 - max(0.5 * state.tol, 20.0 * state.dual)
    if saddle and variance > (1.0 + 0.1 * state.tol) * state.left_at:
        state.left_at = variance
        state.escape(V[:, 0])
        record["escaped"] = True
    else:  # no saddle, or the last escape gained nothing because the weights have not converged
        state.left_at = 0.0
        state.lower_barrier()
    return record


def _columns(program: Program, start: Array | None, rank: int, rng: np.random.Generator) -> Array:
    """Return the start with `rank` columns; all columns get a little noise, smoothed over the graph."""
    n, rank = program.n, max(1, min(rank, program.n - 1))
    upper = program.bounds[: len(program.pairs)]  # type: ignore[arg-type]
    if start is None:
        size = np.maximum(upper, 1e-3 * upper.mean())
        plain = replace(program, bounds=upper, combine=None, slack=None)
        _, ratios, V = largest_ratio(plain, 1.0 / size, k=min(rank, n - 1))
        start = V * np.sqrt(ratios)
    R = np.zeros((n, rank))
    R[:, : start.shape[1]] = start[:, :rank]
    scale = np.sqrt(np.mean(R[:, 0] ** 2))
    R += 1e-2 * scale * rng.standard_normal((n, rank))
    smooth = sp.csr_array(sp.eye_array(n) + 2.0 * program.laplacian(np.ones(upper.size)))
    return analyse(smooth).factorise(smooth).solve(R)


def _finish(
    program: Program, state: _Unfolding, best: BestBounds, size: float, iteration: int, status: str,
    history: list[Record],
) -> Solution:  # fmt: skip
    """Return the best point, shrunk into the feasible set, on its principal axes and in the program's own units."""
    if not np.isfinite(best.upper):  # stopped before any bound was computed
        best.offer_weights(state.w, largest_ratio(state.program, state.w)[0])
    F = best.program.centred(best.factor)
    F = F * np.sqrt(shrink(best.program, F) * size)
    masses = np.sqrt(program.cost)[:, None]
    U, s, _ = la.svd(masses * F, full_matrices=False)
    F = U * s / masses
    lower, violation = lower_bound(program, F)
    certificate = Certificate(net_value(program, F), lower, best.upper * size, violation)
    note(unfolding=status, iterations=iteration, rank=int(F.shape[1]), gap=certificate.gap)
    return Solution(program, F, best.weights, certificate, iteration, status, history)
