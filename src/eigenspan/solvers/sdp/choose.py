"""Which solver a program is for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from .certificate import Solution, check_price
from .dense import dense_interior_point
from .low_rank import Callback, low_rank_interior_point
from .program import Program, check_program

METHODS = ("auto", "low-rank", "dense")

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
    for the low-rank solver.
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
    small = program.n <= _SMALL or (banded and interior is None)
    if method == "low-rank" or (method == "auto" and program.is_graph and not small):
        return low_rank_interior_point(
            program, start=start, interior=interior, tol=tol, rank=rank, max_iter=max_iter, time_limit=time_limit, callback=callback,
            random_state=random_state,
        )  # fmt: skip
    return dense_interior_point(program, tol=tol, max_iter=max_iter, time_limit=time_limit, callback=callback)
