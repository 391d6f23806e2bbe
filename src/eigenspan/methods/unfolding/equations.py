"""Unfoldings that keep the distances of pairs exactly: a program on the face that rigid cliques expose."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..._diagnostics import note, stage
from ..._types import Array
from ...numerics.eigen import dense
from ...numerics.memory import require
from ...numerics.sdp import Certificate, Program, Solution
from ...numerics.sdp.certificate import net_value
from ...numerics.sdp.faces import Face, exposed_face
from .solver_settings import SDP
from .task import Bounds, Held, Task
from .unfolding_base import BoundedUnfolding

#: The program of the independent equations is solved to this share of the requested gap, because the others multiply its violations.
_INNER = 0.1
#: Violation of a squared distance, as a share of it, beyond which a solution is no embedding of these distances.
_FAR = 0.1
_CONTRADICTION = 'use constraint="inequality" or "slack" for distances that are not Euclidean or not exact.'


def strings_task(unfolding: BoundedUnfolding, held: Held, points: Array | None) -> Task:
    """Return the problem of maximising the variance under the constraints that the parameters ask for."""
    return Equations.of(held, points) if unfolding.constraint == "equality" else Bounds.of(unfolding).task(held, points)


@dataclass(frozen=True, eq=False, kw_only=True)
class Equations(Task):
    """``v = d`` for all pairs. Points are ``Y = Q F`` with Q of the face; equations that follow from others are left out."""

    face: Face
    incumbent: Array | None = None

    @staticmethod
    def of(held: Held, points: Array | None = None) -> Equations:
        """Return the problem of maximising the variance under these equations."""
        p, n = len(held.pairs), held.n
        require(
            8.0 * (6 * p**2 + 16 * n**2),
            f"The equations of {p} pairs of {n} points are solved by dense matrices: they",
            'Fit it on landmarks=500 of the points, use fewer neighbours, or constraint="inequality".',
        )
        with stage("faces"):
            face = exposed_face(n, held.pairs, held.bounds / held.unit)
        note(face=face.basis.shape[1], equations=face.rows.size)
        return Equations(
            held=held, face=face, constraint="equality", contradiction=_CONTRADICTION,
            incumbent=None if points is None else points[held.groups.first],
        )  # fmt: skip

    def solve(self, sdp: SDP) -> tuple[Solution, Array]:
        program = self.program()
        found = sdp.solve(program, tol=_INNER * sdp.tol, callback=sdp.teller(self.objective))
        every = np.zeros(len(self.held.pairs))
        every[self.face.rows] = found.weights * (self.held.unit / self.held.bounds[self.face.rows])
        return self._or_data(program, self._with_all_pairs(found, sdp.tol), sdp.tol), every

    def _or_data(self, program: Program, solution: Solution, tol: float) -> Solution:
        """Return the data instead of a solution that is far from satisfying the equations, if the data satisfy them."""
        if self.incumbent is None or solution.certificate.violation <= _FAR:
            return solution
        F = np.asarray(np.linalg.lstsq(self.face.basis, self.incumbent, rcond=None)[0], dtype=np.float64)
        value = net_value(program, F)
        upper = solution.upper if solution.upper >= value else np.inf
        data = replace(solution, factor=F, certificate=Certificate(value, value, upper, 0.0))
        data = self._with_all_pairs(data, tol)
        return data if data.certificate.violation <= tol else solution

    def program(self) -> Program:
        """Return the program of the independent equations, all scaled to one right-hand side."""
        Q, rows, m = self.face.basis, self.face.rows, self.held.groups.masses
        (i, j), unit = self.held.pairs[rows].T, self.held.unit
        directions = (Q[i] - Q[j]) * np.sqrt(unit / self.held.bounds[rows])[:, None]
        cost = dense.symmetric(Q.T @ (m[:, None] * Q))
        return Program(directions, np.full(rows.size, unit), cost, Q.T @ m, equal=np.ones(rows.size, dtype=bool))

    def _with_all_pairs(self, solution: Solution, tol: float) -> Solution:
        """Return the solution with the largest violation of all pairs, including those whose equations follow from others."""
        i, j = self.held.pairs.T
        Y = self.face.basis @ solution.factor
        stretch = np.sum((Y[i] - Y[j]) ** 2, axis=1) / self.held.bounds
        violation = float(np.max(np.abs(stretch - 1.0)))
        status = "stalled" if solution.status == "certified" else solution.status
        status = "certified" if max(solution.gap, violation) <= tol else status
        return replace(solution, certificate=replace(solution.certificate, violation=violation), status=status)

    def factor(self, solution: Solution) -> Array:
        Y = (self.face.basis @ solution.factor)[self.held.groups.labels]
        return np.asarray(Y - Y.mean(axis=0))
