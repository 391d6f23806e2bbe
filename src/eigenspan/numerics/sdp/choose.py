"""Which solver a program is for."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._diagnostics import note, stage
from ...errors import InputError
from ..threads import threads_for
from .certificate import Solution, check_price
from .interior_point import dense_interior_point
from .low_rank import Callback, low_rank_interior_point
from .near_groups import Contracted, contracted
from .program import Program, check_program

METHODS = ("auto", "low-rank", "dense")

#: Share of the gap asked for to which a program of contracted points is solved.
_INNER = 0.3
#: Up to this order the dense solver is as fast, and needs no path to the optimum.
_SMALL = 60


def solve_program(
    program: Program,
    *,
    method: str = "auto",
    tol: float = 1e-3,
    rank: int = 3,
    start: NDArray[np.float64] | None = None,
    interior: NDArray[np.float64] | None = None,
    max_iter: int = 300,
    time_limit: float | None = None,
    callback: Callback | None = None,
    random_state: Any = 0,
) -> Solution:
    """Solve to a certified relative gap `tol`: by low-rank steps on a graph, densely where the constraints are of another kind.

    ``"auto"`` takes the low-rank solver for bounds on the distances of pairs (`Program.is_graph`) and more than a few points, and the
    dense one, O(N³ + m³) a step, for all else. A band (`Program.of_pairs` with `lower`) needs `interior`, an embedding that lies in it,
    for the low-rank solver. Points much nearer to one another than to all others are contracted first (`near`).
    """
    check_program(program)
    check_price(program)
    if method == "low-rank" and not program.is_graph:
        raise InputError(
            'method="low-rank" solves bounds on the distances of pairs and a variance to maximise, and this program has other constraints '
            'or another objective: use method="dense".'
        )
    banded = program.is_graph and program.combine is not None
    if method == "low-rank" and banded and interior is None:
        raise InputError(
            "The sparse solver enters a band at an embedding that lies in it, and there is none: the data serve where they have at most 15 "
            'columns and their own Euclidean distances are the bounds. Use method="dense", or reduce more than 15 columns by PCA first.'
        )
    rule: dict[str, Any] = {
        "rank": rank,
        "start": start,
        "max_iter": max_iter,
        "callback": callback,
        "random_state": random_state,
    }
    began, near = time.monotonic(), contracted(program, interior)
    if near is None:
        return _solved(program, method, tol, interior, time_limit=time_limit, **rule)
    first = _by_contraction(near, method, tol, interior, time_limit=time_limit, **rule)
    if first.status != "stalled":
        return first
    left = None if time_limit is None else max(time_limit - (time.monotonic() - began), 1e-3)
    return _solved(program, method, tol, interior, time_limit=left, first=first, **rule)


def _solved(
    program: Program, method: str, tol: float, interior: Any, *, rank: int, start: Any, random_state: Any, first: Any = None, **rule: Any
) -> Solution:  # fmt: skip
    """By the solver that the program is for; never worse than what it begins with."""
    small = program.n <= _SMALL or (program.is_graph and program.combine is not None and interior is None)
    if method == "low-rank" or (method == "auto" and program.is_graph and not small):
        found = low_rank_interior_point(
            program, start=start, interior=interior, first=first, tol=tol, rank=rank, random_state=random_state, **rule
        )
    else:
        with threads_for(max(program.n, program.bounds.size)):
            found = dense_interior_point(program, tol=tol, **rule)
    if first is None:
        return found
    best = min(
        first, found, key=lambda each: (each.status != "certified", max(abs(each.gap), each.certificate.violation))
    )
    return replace(best, iterations=first.iterations + found.iterations, history=first.history + found.history)


def _by_contraction(
    near: Contracted, method: str, tol: float, interior: Any, *, start: Any, callback: Callback | None, **rule: Any
) -> Solution:
    """Through a program without the near points."""
    began = time.monotonic()
    note(contracted=near.program.n - near.small.n)
    start = None if start is None else start[near.roots]
    told = None if callback is None else lambda record: callback(near.record(record))
    small = _solved(near.small, method, _INNER * tol, near.inside(interior), start=start, callback=told, **rule)
    with stage("bounds"):
        found = near.solution(small, tol, interior)
    record = {"iteration": found.iterations, "rank": found.rank, "seconds": time.monotonic() - began}
    record |= {"lower": found.lower, "upper": found.upper, "gap": found.gap}
    found.history.append(record)
    if callback is not None:
        callback(record | {"factor": found.factor})
    return found
