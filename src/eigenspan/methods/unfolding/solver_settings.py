"""Settings for the solution of a semidefinite program, its progress messages and its warnings."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._diagnostics import note
from ...errors import ConvergenceWarning, warn
from ...numerics.sdp import Program, Solution, solve_program
from ...problem.spectrum import seed_of

Callback = Callable[[dict[str, Any]], None]

#: Parameters of an unfolding that are passed to the solver unchanged.
_AS_GIVEN = ("tol", "method", "max_iter", "time_limit", "callback", "verbose")


#: Initial number of dimensions of a low-rank solver if the spectrum determines it; the solver adds columns if needed.
_UNTOLD = 3


@dataclass(frozen=True)
class SDP:
    """The settings of the solver.

    Attributes
    ----------
    name : str
        Name of the method, for progress messages.
    tol : float
        Relative gap of the certificate to reach.
    rank : int
        Number of columns that a low-rank solver begins with.
    method, max_iter, time_limit, callback, verbose
        As in the unfoldings.
    seed : int
        Seed of all random choices.
    """

    name: str
    tol: float
    rank: int
    method: str
    max_iter: int
    time_limit: float | None
    callback: Callback | None
    verbose: int
    seed: Any

    @staticmethod
    def of(unfolding: Any) -> SDP:
        """Return the settings from the parameters of an estimator."""
        d, rank = unfolding.n_components, unfolding.rank
        d = _UNTOLD if d == "auto" else d
        return SDP(
            name=type(unfolding).__name__,
            rank=max(3, d + 1) if rank is None else max(rank, d),
            seed=seed_of(unfolding.random_state),
            **{name: getattr(unfolding, name) for name in _AS_GIVEN},
        )

    def solve(self, program: Program, **otherwise: Any) -> Solution:
        """Solve the program with these settings, except for those given here."""
        settings = {name: getattr(self, name) for name in ("tol", "rank", "method", "max_iter", "time_limit")}
        return solve_program(program, **{**settings, "random_state": self.seed, **otherwise})

    def time_left(self, began: float) -> float | None:
        """Return the rest of the time limit for one of several programs."""
        return None if self.time_limit is None else max(self.time_limit - (time.monotonic() - began), 1e-3)

    def teller(self, objective: str) -> Callback | None:
        """Return the function that is called with each record of progress."""
        if not self.verbose:
            return self.callback

        def tell(record: dict[str, Any]) -> None:
            print(
                f"[{self.name}] step {record['iteration']}: {objective} {record['lower']:.6g} to {record['upper']:.6g}, "
                f"gap {record['gap']:.1e}, {record['seconds']:.1f} s"
            )
            if self.callback is not None:
                self.callback(record)

        return tell

    def report(self, solution: Solution, gap: float, objective: str) -> None:
        """Record the status, and warn unless the gap is at most `tol`."""
        note(status=solution.status, certified_gap=gap, violation=solution.certificate.violation)
        if solution.status == "certified":
            return
        reasons = {
            "time": f"The time limit of {self.time_limit or 0:g} s was reached",
            "interrupted": "Interrupted",
            "iterations": f"max_iter={self.max_iter} steps were taken",
            "stalled": "The steps became too short",
        }
        advice = (
            "More time will not help: the bounds differ too much in size, or the feasible set is too small. Use fewer or other "
            'neighbours, or constraint="slack"'
            if solution.status == "stalled"
            else "Give it more time"
        )
        found = (
            f"its {objective} proved within {100 * gap:.2g} % of the optimum, not the {100 * self.tol:.2g} % asked for. {advice}, or "
            "accept the gap with tol=."
            if np.isfinite(gap)
            else f"no bound was proved on how far its {objective} is from the optimum. {advice}."
        )
        warn(
            f"{reasons[solution.status]} after {solution.iterations} steps: the unfolding is feasible to "
            f"{solution.certificate.violation:.1e} and {found}",
            ConvergenceWarning,
        )
