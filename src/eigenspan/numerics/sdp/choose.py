"""Choice of the solver for a program."""

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

#: A contracted program is solved to this share of the requested gap.
_INNER = 0.3
#: Up to this order the dense solver is as fast as the low-rank solver, and does not depend on a start.
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
    """Solve a program to a certified relative gap `tol`, by low-rank steps on a graph or by dense matrices.

    ``"auto"`` uses the low-rank solver for bounds on the distances of pairs (`Program.is_graph`) with more than a few points. Otherwise it
    uses the dense solver, O(N³ + m³) per step. For the low-rank solver a band (`Program.of_pairs` with `lower`) needs `interior`, an
    embedding inside the band. Points much nearer to one another than to all others are contracted first (`near_groups`).
    """
    check_program(program)
    check_price(program)
    if method == "low-rank" and not program.is_graph:
        raise InputError(
            'method="low-rank" needs bounds on the distances of pairs and a variance to maximise, but this program has other '
            'constraints or another objective. Use method="dense".'
        )
    banded = program.is_graph and program.combine is not None
    if method == "low-rank" and banded and interior is None:
        raise InputError(
            "The low-rank solver needs an embedding inside the band, and none is available. The data are one if they have at most 15 "
            'columns and the bounds are their own Euclidean distances. Use method="dense", or reduce more than 15 columns by PCA first.'
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
    """Solve with the solver chosen for the program; the result is never worse than `first`."""
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
    """Solve a smaller program in which groups of near points are contracted, and extend its solution."""
    began = time.monotonic()
    note(contracted=near.program.n - near.small.n)
    start = None if start is None else start[near.roots]
    report = None if callback is None else lambda record: callback(near.record(record))
    small = _solved(near.small, method, _INNER * tol, near.inside(interior), start=start, callback=report, **rule)
    with stage("bounds"):
        found = near.solution(small, tol, interior)
    record = {"iteration": found.iterations, "rank": found.rank, "seconds": time.monotonic() - began}
    record |= {"lower": found.lower, "upper": found.upper, "gap": found.gap}
    found.history.append(record)
    if callback is not None:
        callback(record | {"factor": found.factor})
    return found
