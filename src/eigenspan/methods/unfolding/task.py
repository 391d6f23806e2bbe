"""What an unfolding asks for, as a value; and the one function that solves it, reports and certifies."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._diagnostics import stage
from ...errors import InputError
from ...solvers.sdp import Program, Solution
from .certificate import UnfoldingCertificate, certificate_of
from .edges import Held, geodesic_start
from .sdp import SDP

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class Task:
    """What is held, what is maximised, and how the solution of a program becomes points and a proof.

    Attributes
    ----------
    held : Held
        The pairs that the certificate is about.
    objective : str
        The word for what is maximised.
    constraint : {"inequality", "slack", "band"}
        How pairs are held.
    contradiction : str
        What is wrong, and what to do, where the weights prove that no points are so far apart; empty where that cannot be.
    attributes : dict
        What the estimator will have besides, by name.
    """

    held: Held
    objective: str = "variance"
    constraint: str = "inequality"
    contradiction: str = ""
    attributes: dict[str, Any] = field(default_factory=dict)

    def solve(self, sdp: SDP) -> tuple[Solution, Array]:
        """A solution, and the weights of the pairs that are held."""
        raise NotImplementedError

    def gap(self, solution: Solution) -> float:
        """What `tol` is about."""
        return solution.gap

    def factor(self, solution: Solution) -> Array:
        """Places (n, r) of all points, about the origin."""
        F = solution.factor[self.held.groups.labels]
        return np.asarray(F - F.mean(axis=0))

    def certificate(self, solution: Solution, weights: Array) -> UnfoldingCertificate:
        return certificate_of(self.held, solution, weights, self.gap(solution), self.constraint)


@dataclass(frozen=True, eq=False, kw_only=True)
class Whole(Task):
    """One program over all points, in which the rows of the pairs that are held come first.

    Attributes
    ----------
    program : Program
    interior : ndarray of shape (n, p) or None
        Places that keep all bounds.
    """

    program: Program
    interior: Array | None = None

    def solve(self, sdp: SDP) -> tuple[Solution, Array]:
        start = None
        if self.program.is_graph and sdp.method != "dense":
            start = geodesic_start(self.held, sdp.rank, sdp.seed)
        told = sdp.teller(self.objective)
        solution = sdp.solve(self.program, start=start, interior=self.interior, callback=told)
        return solution, solution.weights


def unfold(task: Task, sdp: SDP) -> tuple[Array, dict[str, Any]]:
    """The factor (n, r) of the Gram matrix, and what the estimator will have of it: ``solution_``, ``certificate_`` and the like."""
    with stage("unfolding"):
        solution, weights = task.solve(sdp)
    if task.contradiction and solution.is_contradiction:
        raise InputError(
            f"No points have these distances, as the dual weights prove (upper bound {solution.upper:.3g} on a sum of squares): "
            f"{task.contradiction}"
        )
    sdp.report(solution, task.gap(solution), task.objective)
    return task.factor(solution), {
        "solution_": solution,
        "n_iter_": max(1, solution.iterations),
        "certificate_": task.certificate(solution, weights),
        **task.attributes,
    }
