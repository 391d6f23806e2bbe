"""Interior-point method with dense matrices: any `Program`, to full accuracy, up to about a thousand points.

Steps are those of Helmberg, Kojima and Monteiro, with Mehrotra's correction, for the formulation in `Space`. Because every
constraint is a sum of rank-one terms, the matrix of the normal equations is ``T [(B K Bᵀ) ∘ (B S⁻¹ Bᵀ)] Tᵀ`` plus a diagonal.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.linalg as la

from ..memory import require
from .certificate import (
    Callback,
    Certificate,
    Record,
    Solution,
    charged_bound,
    largest_ratio,
    net_value,
    shrink,
    upper_bound,
)
from .program import Array, Program, check_program
from .program_space import Space

#: Number of iterations without a better certificate after which the run counts as stalled.
_PATIENCE = 8
#: Shorter steps make no progress.
_MIN_STEP = 1e-7
#: Maximum number of refinements of a step, and the error, in units of the mean bound, that needs no further refinement.
_REFINEMENTS, _EXACT = 4, 1e-9
#: For bounds below this, in units of their mean, the initial weights no longer increase.
_SHORTEST = 1e-12
#: Eigenvalues of K below this share of the largest count as rounding.
_RANK = 1e-12


def dense_interior_point(
    program: Program, *, tol: float = 1e-6, max_iter: int = 100, time_limit: float | None = None,
    callback: Callback | None = None,
) -> Solution:  # fmt: skip
    """Solve a program of N points, p directions and m rows, in O(m³ + p² + N³) per step and some 20 steps.

    Parameters
    ----------
    program : Program
    tol : float
        Relative gap of the certificate to reach; also the largest violation if no lower bound can be proved.
    max_iter : int
    time_limit : float, optional
        Time limit in seconds, checked between steps; the best point so far is returned.
    callback : callable, optional
        Called after each step with a dict of iteration, value, violation (of the point), lower, upper, gap (the best so far), seconds.

    Returns
    -------
    Solution
        The status is ``"stalled"`` if rounding stops progress above `tol`, as for a program without an interior. An interrupt (Ctrl-C)
        also returns the best point so far.
    """
    check_program(program)
    _check_memory(program)
    began, history, status, iteration = time.monotonic(), list[Record](), "iterations", 0
    space, best = Space.of(program), _Best(program)
    try:
        point: _Point | None = _start(space)
        while point is not None:
            value, violation = best.offer(space.factor(point.root), space.weights(point.w))
            seconds = time.monotonic() - began
            record: Record = {"iteration": iteration, "value": value, "violation": violation, "seconds": seconds}
            record |= best.bounds
            history.append(record)
            if callback is not None:
                callback(record.copy())
            if best.missing <= 0.99 * tol:
                status = "certified"
            elif time_limit is not None and seconds > time_limit:
                status = "time"
            elif best.age > _PATIENCE:
                status = "stalled"
            if status != "iterations" or iteration == max_iter:
                break
            point, iteration = _advance(space, point), iteration + 1
        else:
            status = "stalled"
    except KeyboardInterrupt:
        if not history:
            raise
        status = "interrupted"
    return best.solution(iteration, status, history)


def _check_memory(program: Program) -> None:
    p, n = program.directions.shape[0], program.n
    m = p if program.is_band else program.bounds.size
    require(
        8.0 * (2 * p**2 + (0 if program.combine is None else m * p) + 2 * m**2 + 16 * n**2),
        f"The normal equations of {m} constraints on {p} pairs of {n} points",
        "Use LandmarkMVU, which has few unknowns, or the inequality form, which needs no dense matrix, or fewer neighbours.",
    )


# ---------------------------------------------------------------------- points and steps
class _Point(NamedTuple):
    """A point: primal (K, x), dual (w, S, z), and the Cholesky factors of K and S."""

    K: Array
    x: Array
    w: Array
    S: Array
    z: Array
    root: Array
    dual_root: Array


class _Step(NamedTuple):
    K: Array
    x: Array
    w: Array
    S: Array
    z: Array


def _point(K: Array, x: Array, w: Array, S: Array, z: Array) -> _Point:
    """Return the point; raise `LinAlgError` if it is outside the cone."""
    return _Point(K, x, w, S, z, *(la.cholesky(A, lower=True, check_finite=False) for A in (K, S)))


def _start(space: Space) -> _Point:
    """Return a start: weights well inside the dual if possible, and the primal point of the central path for them."""
    program = space.program
    positive = program.signs > 0
    # larger weights for shorter bounds: with equal weights, pairs a thousand times shorter than others would start far too long
    lengths = np.sqrt(np.where(program.bounds > 0, np.maximum(program.bounds, _SHORTEST), 1.0))
    w = np.where(positive, 2.0 / lengths, np.where(program.equations, 0.0, 0.5))
    ratio = largest_ratio(program, w)[0]
    w *= 2.0 * ratio if np.isfinite(ratio) and ratio > 0 else 1.0
    if program.slack is not None and program.slack.power == 1:
        w = np.minimum(w, 0.5 * program.slack.price)
    S = space.adjoint(w) - space.C
    least, spread = la.eigvalsh(S)[0], np.abs(S).sum(axis=1).max() or 1.0
    if least < 1e-10 * spread:
        S = S + (0.1 * spread - least) * np.eye(len(S))
    z = space.price + space.from_rows(w)
    inverse = la.inv(S)
    inverse = (inverse + inverse.T) / 2
    fit = (space.values(inverse) + space.to_rows(1.0 / z))[positive]
    mu = float(fit @ np.maximum(program.bounds[positive], 0.1)) / float(fit @ fit) if positive.any() else 1.0
    mu *= 4.0  # an overestimate costs one iteration; an underestimate may prevent convergence
    return _point(mu * inverse, mu / z, w, S, z)


def _advance(space: Space, point: _Point) -> _Point | None:
    """Make one predictor–corrector step; return None if no step makes progress."""
    K, x, _, S, z, _, _ = point
    try:
        newton = _Newton(space, point)
        gap, order = float(np.vdot(K, S) + x @ z), len(K) + x.size
        first = newton.step(0.0)
        ap, ad = (min(1.0, reach) for reach in _max_steps(point, first))
        left = float(np.vdot(K + ap * first.K, S + ad * first.S) + (x + ap * first.x) @ (z + ad * first.z))
        centring = min(0.9, max(left / gap, 1e-3) ** 2)
        step = newton.step(centring * gap / order, first)
        near = 0.9 + 0.08 * min(ap, ad)
        ap, ad = (min(1.0, near * reach) for reach in _max_steps(point, step))
        if space.delta:  # a quadratic price couples the primal and the dual steps
            ap = ad = min(ap, ad)
        for back in (1.0, 0.8, 0.5, 0.2):
            if max(ap, ad) * back < _MIN_STEP:
                return None
            try:
                return _moved(space, point, step, back * ap, back * ad)
            except la.LinAlgError:
                continue
    except la.LinAlgError:
        pass
    return None


def _moved(space: Space, point: _Point, step: _Step, ap: float, ad: float) -> _Point:
    K, x, w = point.K + ap * step.K, point.x + ap * step.x, point.w + ad * step.w
    S, z = point.S + ad * step.S, point.z + ad * step.z
    if not (np.all(x > 0) and np.all(z > 0)):
        raise la.LinAlgError
    return _point((K + K.T) / 2, x, w, (S + S.T) / 2, z)


class _Newton:
    """The linearised equations at a point, factorised."""

    def __init__(self, space: Space, point: _Point) -> None:
        K, x, w, S, z, _, dual_root = point
        self.space, self.point = space, point
        inverse = la.lapack.dpotri(dual_root, lower=True)[0]
        self.inverse = np.tril(inverse) + np.tril(inverse, -1).T
        self.ratio = x / z
        self.solve = _normal_solver(space, space.products(K, self.inverse), space.damping(self.ratio))
        self.primal = space.program.bounds - space.values(K) - space.to_rows(x) + space.delta * w
        self.dual = space.adjoint(w) - space.C - S
        self.linear = space.price + space.from_rows(w) - z
        self.shift = self._response(self.dual) if np.abs(self.dual).max(initial=0.0) > 1e-12 else None

    def _response(self, D: Array) -> Array:
        """Return the change of K caused by a change D of S: the symmetric part of ``K D S⁻¹``."""
        product = self.point.K @ D @ self.inverse
        return (product + product.T) / 2

    def step(self, target: float, first: _Step | None = None) -> _Step:
        """Return the step towards ``K S = x z = target``; `first` is the step whose second-order error is corrected."""
        space, (K, x, _, _, z, _, _) = self.space, self.point
        R, r = target * self.inverse - K, target / z - x - self.ratio * self.linear
        if self.shift is not None:
            R = R - self.shift
        if first is not None:
            Q = first.K @ first.S @ self.inverse
            R, r = R - (Q + Q.T) / 2, r - first.x * first.z / z
        dK, dx, dw, D, dz = R, r, np.zeros_like(self.primal), np.zeros_like(R), np.zeros_like(r)
        before = np.inf
        for _ in range(_REFINEMENTS):  # the first pass solves, the others correct rounding in the primal equations
            missed = space.values(dK) + space.to_rows(dx) - space.delta * dw - self.primal
            size = float(np.abs(missed).max())
            if not _EXACT < size < 0.5 * before:
                break
            before = size
            change = self.solve(missed)
            more = space.adjoint(change)
            dw, D, dz = dw + change, D + more, dz + space.from_rows(change)
            dK, dx = dK - self._response(more), r - self.ratio * dz
        if not np.all(np.isfinite(dw)):
            raise la.LinAlgError
        return _Step(dK, dx, dw, D + self.dual, dz + self.linear)


def _normal_solver(space: Space, M: Array, damping: Array) -> Callable[[Array], Array]:
    """Return a solver of ``(T M Tᵀ + diag(damping)) w = right``."""
    if space.program.is_band:
        above, below = np.split(damping, 2)
        if np.all(above + below > 0):
            return _band_solver(M, above, below)
    M = space.combined(M)
    M.flat[:: len(M) + 1] += damping
    return _solver(M)


def _band_solver(M: Array, above: Array, below: Array) -> Callable[[Array], Array]:
    """Return the solver for ``T = [I; −I]``, with a matrix of half the order, so an eighth of the work.

    The two rows of a pair are ``M u + a w₁ = r₁`` and ``−M u + b w₂ = r₂`` with ``u = w₁ − w₂``. Their sum gives w₁ and w₂ from u
    without M, and without cancellation.
    """
    total = above + below
    M.flat[:: len(M) + 1] += above * below / total
    solve = _solver(M)

    def both(right: Array) -> Array:
        first, second = np.split(right, 2)
        u = solve((below * first - above * second) / total)
        return np.concatenate([(first + second + below * u) / total, (first + second - above * u) / total])

    return both


def _solver(M: Array) -> Callable[[Array], Array]:
    """Return a solver with M, with the smallest regularisation for which the factorisation succeeds."""
    diagonal = M.diagonal().copy()
    for ridge in (0.0, 1e-14, 1e-12, 1e-10, 1e-8):
        M.flat[:: len(M) + 1] = diagonal * (1.0 + ridge)
        try:
            factor = la.cho_factor(M, lower=True, check_finite=False)
            break
        except la.LinAlgError:
            continue
    else:
        raise la.LinAlgError
    return lambda right: np.asarray(la.cho_solve(factor, right, check_finite=False))


def _max_steps(point: _Point, step: _Step) -> tuple[float, float]:
    """Return the largest steps for which the primal and the dual stay in their cones."""
    primal = min(_max_step(point.root, step.K), _ratio_test(point.x, step.x))
    return primal, min(_max_step(point.dual_root, step.S), _ratio_test(point.z, step.z))


def _ratio_test(x: Array, dx: Array) -> float:
    down = dx < 0
    return float(np.min(-x[down] / dx[down], initial=np.inf))


def _max_step(root: Array, D: Array) -> float:
    """Return the largest α with ``root rootᵀ + α D ⪰ 0``."""
    half = la.solve_triangular(root, D, lower=True, check_finite=False)
    scaled = la.solve_triangular(root, half.T, lower=True, check_finite=False)
    if not np.all(np.isfinite(scaled)):
        raise la.LinAlgError
    least = la.eigh((scaled + scaled.T) / 2, eigvals_only=True, subset_by_index=[0, 0], check_finite=False)
    if least.size == 0:  # LAPACK's subset driver can lose repeated eigenvalues
        least = la.eigvalsh((scaled + scaled.T) / 2)
    return float(-1.0 / least[0]) if least[0] < 0 else np.inf


# ---------------------------------------------------------------------- best points
class _Best:
    """The embedding and the weights with the best bounds so far."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.factor: Array | None = None
        self.dual: Array | None = None
        self.lower, self.upper, self.violation = -np.inf, np.inf, np.inf
        self.missing, self.age = np.inf, 0

    @property
    def bounds(self) -> Record:
        return {"lower": self.lower, "upper": self.upper, "gap": Certificate(0.0, self.lower, self.upper, 0.0).gap}

    def _missing(self, lower: float, violation: float) -> float:
        gap = Certificate(0.0, lower, self.upper, 0.0).gap
        return gap if self.program.has_lower_bound else max(abs(gap), violation)

    def offer(self, F: Array, w: Array) -> tuple[float, float]:
        """Keep F and w if they improve the bounds; return the value and the violation of F."""
        program, before = self.program, (self.lower, self.upper)
        ratio = largest_ratio(program, w)[0]
        upper = upper_bound(program, w, ratio)
        if self.dual is None or upper < self.upper:
            self.upper, self.dual = upper, _scaled(program, w, ratio) if np.isfinite(upper) else w
        lower, violation = charged_bound(program, F, self.dual if np.isfinite(self.upper) else 0.0 * self.dual)
        new, old = self._missing(lower, violation), self._missing(self.lower, self.violation)
        better = lower > self.lower if program.has_lower_bound else new <= old
        if self.factor is None or better:
            self.lower, self.violation, self.factor = lower, violation, F
        missing = self._missing(self.lower, self.violation)
        moved = 0 < self.upper < 0.99 * before[1] or before[0] + 0.01 * abs(before[0]) < self.lower < self.upper
        self.age = 0 if moved or missing < 0.99 * self.missing else self.age + 1
        self.missing = min(missing, self.missing)
        return net_value(program, F), violation

    def solution(self, iterations: int, status: str, history: list[Record]) -> Solution:
        """Return the solution, with the certificate computed from exactly the returned arrays."""
        program = self.program
        assert self.factor is not None
        assert self.dual is not None
        values, V = la.eigh(self.factor @ self.factor.T)
        kept = values > _RANK * max(values[-1], 0.0)
        F = program.centred(V[:, kept][:, ::-1] * np.sqrt(values[kept][::-1]))
        F = np.sqrt(shrink(program, F)) * F
        ratio = largest_ratio(program, self.dual)[0]
        upper = upper_bound(program, self.dual, ratio)
        lower, violation = charged_bound(program, F, ratio * self.dual if np.isfinite(ratio) else 0.0 * self.dual)
        certificate = Certificate(net_value(program, F), lower, upper, violation)
        return Solution(program, F, self.dual, certificate, iterations, status, history)


def _scaled(program: Program, w: Array, ratio: float) -> Array:
    """Return weights scaled to the boundary of the dual, or half-way if a linear price would prevent a later increase."""
    linear = program.slack is not None and program.slack.power == 1
    return w * (0.5 * (1.0 + ratio) if linear and ratio < 1.0 else max(ratio, 0.0))
