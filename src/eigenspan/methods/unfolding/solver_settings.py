"""How a semidefinite program is to be solved, and what is said while it is and when it is done."""

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

#: Parameters of an unfolding that go to the solver as they are.
_AS_GIVEN = ("tol", "method", "max_iter", "time_limit", "callback", "verbose")


#: Dimensions that a low-rank solver is prepared for where the spectrum is to tell them: it adds columns where these are too few.
_UNTOLD = 3


@dataclass(frozen=True)
class SDP:
    """The settings of the solver.

    Attributes
    ----------
    name : str
        Whose program it is, in what is printed.
    tol : float
        Relative gap of the certificate to reach.
    rank : int
        Columns that a low-rank solver begins with.
    method, max_iter, time_limit, callback, verbose
        As the unfoldings have them.
    seed : object
        Of all that is drawn at random.
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
        """What the parameters of an estimator say."""
        d, rank = unfolding.n_components, unfolding.rank
        d = _UNTOLD if d == "auto" else d
        return SDP(
            name=type(unfolding).__name__,
            rank=max(3, d + 1) if rank is None else max(rank, d),
            seed=seed_of(unfolding.random_state),
            **{name: getattr(unfolding, name) for name in _AS_GIVEN},
        )

    def solve(self, program: Program, **otherwise: Any) -> Solution:
        """With these settings but for those that are given anew."""
        settings = {name: getattr(self, name) for name in ("tol", "rank", "method", "max_iter", "time_limit")}
        return solve_program(program, **{**settings, "random_state": self.seed, **otherwise})

    def time_left(self, began: float) -> float | None:
        """Of the time limit, for a program that is one of several."""
        return None if self.time_limit is None else max(self.time_limit - (time.monotonic() - began), 1e-3)

    def teller(self, objective: str) -> Callback | None:
        """What is called with each record of progress."""
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
        """Note how it ended, and warn unless the optimum is as near as was asked for."""
        note(status=solution.status, certified_gap=gap, violation=solution.certificate.violation)
        if solution.status == "certified":
            return
        reasons = {
            "time": f"The time limit of {self.time_limit or 0:g} s was reached",
            "interrupted": "Interrupted",
            "iterations": f"max_iter={self.max_iter} steps were taken",
            "stalled": "The steps became too short to go on",
        }
        advice = (
            "More time will not help: bounds of very different size, or hardly any room between them, stop the steps. Use fewer or other "
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
