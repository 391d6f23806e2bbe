"""Choice of the solver for a program."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg as la

from ..._diagnostics import note, stage
from ..._types import Array
from ...errors import InputError
from ..threads import threads_for
from .certificate import Callback, Certificate, Record, Solution, check_price, lower_bound, net_value, shrink
from .interior_point import dense_interior_point
from .low_rank import low_rank_interior_point
from .near_groups import Contracted, contracted
from .program import Program, check_program

METHODS = ("auto", "low-rank", "dense")

#: A contracted program is solved to this share of the requested gap.
_INNER = 0.3
#: Up to this order the dense solver continues where the low-rank solver has not reached the gap, and the steps reserved for it.
_FEW, _RESERVED = 600, 60
#: They continue where its gap is more than this many times the requested one: a dense step costs as much as a whole low-rank solution.
_FAR = 5.0
#: Share by which a lower bound may exceed an upper bound by rounding.
_WRONG = 1e-6
#: Up to this order the dense solver is as fast as the low-rank solver, and does not depend on a start.
_SMALL = 60


def solve_program(
    program: Program, *, method: str = "auto", tol: float = 1e-3, rank: int = 3, start: Array | None = None,
    interior: Array | None = None, max_iter: int = 300, time_limit: float | None = None,
    callback: Callback | None = None, random_state: int | np.random.Generator | None = 0,
) -> Solution:  # fmt: skip
    """Solve a program to a certified relative gap `tol`, by low-rank steps on a graph or by dense matrices.

    ``"auto"`` uses the low-rank solver for bounds on the distances of pairs (`Program.is_graph`) with more than a few points. Otherwise it
    uses the dense solver, O(N³ + m³) per step. For the low-rank solver a band (`Program.of_pairs` with `lower`) needs `interior`, an
    embedding inside the band. Points much nearer to one another than to all others are contracted first (`near_groups`).
    """
    check_program(program)
    check_price(program)
    _check_low_rank(program, method, interior)
    rule = _Rule(method, tol, rank, start, interior, max_iter, time_limit, callback, random_state)
    began, near = time.monotonic(), contracted(program, interior)
    if near is None:
        return _solved(program, rule)
    first = _by_contraction(near, rule)
    if first.status != "stalled":
        return first
    return _solved(program, rule.after(began, 0), first)


@dataclass(frozen=True, eq=False)
class _Rule:
    """The parameters of `solve_program`."""

    method: str
    tol: float
    rank: int
    start: Array | None
    interior: Array | None
    max_iter: int
    time_limit: float | None
    callback: Callback | None
    random_state: int | np.random.Generator | None

    def after(self, began: float, steps: int) -> _Rule:
        """Return the rule with the steps and the time that are left."""
        left = None if self.time_limit is None else max(self.time_limit - (time.monotonic() - began), 1e-3)
        return replace(self, max_iter=max(self.max_iter - steps, 1), time_limit=left)


def _check_low_rank(program: Program, method: str, interior: Array | None) -> None:
    """Raise InputError if the low-rank solver is requested for a program that it cannot solve."""
    if method != "low-rank":
        return
    if not program.is_graph:
        raise InputError(
            'method="low-rank" needs bounds on the distances of pairs and a variance to maximise, but this program has other '
            'constraints or another objective. Use method="dense".'
        )
    if program.combine is not None and interior is None:
        raise InputError(
            "The low-rank solver needs an embedding inside the band, and none is available. The data are one if they have at most 15 "
            'columns and the bounds are their own Euclidean distances. Use method="dense", or reduce more than 15 columns by PCA first.'
        )


def _solved(program: Program, rule: _Rule, first: Solution | None = None) -> Solution:
    """Solve with the solver chosen for the program; the result is never worse than `first`."""
    method, began = rule.method, time.monotonic()
    small = program.n <= _SMALL or (program.is_graph and program.combine is not None and rule.interior is None)
    if method == "low-rank" or (method == "auto" and program.is_graph and not small):
        found = _low_rank(program, rule, first)
        if (
            found.status in ("iterations", "stalled")
            and abs(found.gap) > _FAR * rule.tol
            and _may_be_dense(program, rule)
        ):
            found = _better(found, _dense(program, rule.after(began, found.iterations)), rule.tol)
    else:
        found = _dense(program, rule)
    return found if first is None else _better(first, found, rule.tol)


def _low_rank(program: Program, rule: _Rule, first: Solution | None) -> Solution:
    """Solve by low-rank steps; if dense steps may follow, leave some for them."""
    steps = rule.max_iter - (_RESERVED if _may_be_dense(program, rule) else 0)
    found = low_rank_interior_point(
        program, start=rule.start, interior=rule.interior, first=first, tol=rule.tol, rank=rule.rank, max_iter=steps,
        time_limit=rule.time_limit, callback=rule.callback, random_state=rule.random_state,
    )  # fmt: skip
    if not program.has_lower_bound:
        return found
    return _improved(found, found.factor, found.certificate, found, rule.tol)  # without an upper bound that is wrong


def _may_be_dense(program: Program, rule: _Rule) -> bool:
    """Return True if dense steps may follow low-rank steps: on few points, and with enough steps left."""
    return rule.method == "auto" and program.n <= _FEW and rule.max_iter >= 2 * _RESERVED


def _dense(program: Program, rule: _Rule) -> Solution:
    with threads_for(max(program.n, program.bounds.size)):
        return dense_interior_point(
            program, tol=rule.tol, max_iter=rule.max_iter, time_limit=rule.time_limit, callback=rule.callback
        )


def _better(first: Solution, found: Solution, tol: float) -> Solution:
    """Return the better of two solutions, with the steps of both; if lower bounds are proved, with the better of each bound."""
    best = min(
        first, found, key=lambda each: (each.status != "certified", max(abs(each.gap), each.certificate.violation))
    )
    if found.program.has_lower_bound:
        most = max(first, found, key=lambda each: each.lower)
        least = min(first, found, key=lambda each: (each.upper < (1.0 - _WRONG) * most.lower, each.upper))
        best = _improved(best, most.factor, most.certificate, least, tol)
    if "certified" not in (best.status, found.status):
        best = replace(best, status=found.status)  # the reason why the last solver stopped
    return replace(best, iterations=first.iterations + found.iterations, history=first.history + found.history)


def _improved(solution: Solution, F: Array, bounds: Certificate, dual: Solution, tol: float) -> Solution:
    """Return the solution with the factor F, whose bounds are given, and with the weights of `dual`."""
    # an upper bound below what is attained is wrong: weights differ by more than the precision of their eigenvalues
    wrong = dual.upper < bounds.lower - _WRONG * abs(bounds.lower)
    bounds = replace(bounds, upper=np.inf if wrong else dual.upper)
    status = "certified" if bounds.gap <= tol else "stalled" if wrong else solution.status
    return replace(solution, factor=F, certificate=bounds, weights=dual.weights, status=status)


def with_incumbent(solution: Solution, points: Array, tol: float) -> Solution:
    """Return the solution, with given points instead of its own if they attain more once shrunk until they satisfy all bounds."""
    program = solution.program
    if program.slack is not None or not program.has_lower_bound:
        return solution
    F = program.centred(np.asarray(points, dtype=np.float64))
    F = np.sqrt(shrink(program, F)) * F
    lower, violation = lower_bound(program, F)
    if lower <= solution.lower:
        return solution
    U, s, _ = la.svd(F, full_matrices=False)
    return _improved(solution, U * s, Certificate(net_value(program, F), lower, np.inf, violation), solution, tol)


def _by_contraction(near: Contracted, rule: _Rule) -> Solution:
    """Solve a smaller program in which groups of near points are contracted, and extend its solution."""
    began, callback = time.monotonic(), rule.callback
    note(contracted=near.program.n - near.small.n)
    start = None if rule.start is None else rule.start[near.roots]
    report = None if callback is None else lambda record: callback(near.record(record))
    inner = replace(rule, tol=_INNER * rule.tol, interior=near.inside(rule.interior), start=start, callback=report)
    small = _solved(near.small, inner)
    with stage("bounds"):
        found = near.solution(small, rule.tol, rule.interior)
    record: Record = {"iteration": found.iterations, "rank": found.rank, "seconds": time.monotonic() - began}
    record["lower"], record["upper"], record["gap"] = found.lower, found.upper, found.gap
    found.history.append(record)
    if callback is not None:
        callback({**record, "factor": found.factor})
    return found
