"""Unfolding problems as values: the constrained pairs, the kind of constraint, and the objective. `unfold` solves them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..._diagnostics import stage
from ..._types import Array, Index, Sparse
from ...errors import DimensionError, InputError
from ...graphs import geodesic_table
from ...graphs.neighbours.contraction import contract
from ...numerics.eigen import dense
from ...numerics.memory import require
from ...numerics.nearest.row_lookup import Contraction
from ...numerics.sdp import Program, Slack, Solution, with_incumbent
from ...problem.spectrum import seed_of
from .solver_settings import SDP
from .unfolding_certificate import UnfoldingCertificate

#: Number of sources of shortest paths.
_SOURCES = 300
#: Weight of the edges between equal rows, relative to the largest other weight.
_STIFF = 1e8
#: Largest number of columns of data that the search within a band may start from.
_MOST_COLUMNS = 15
#: Share of the longest edge below which a length is rounding error, and its ends are treated as equal.
_COINCIDENT = 1e-13
#: Share of an objective below which its restriction to distinct points is rounding error.
_CANCELLED = 1e-12
#: Share of a bound by which rounding errors may exceed it.
_ROUNDING = 1e-9
#: Default prices of slack: the squared stretch of an edge of average weight, as a share of an average squared length, and the linear
#: price in units of the average weight. Weights are very unequal, so both must be strict to constrain the heaviest edges.
_SQUARED_STRETCH, _LINEAR_PRICE = 0.002, 30.0


@dataclass(frozen=True, eq=False)
class Held:
    """Constrained pairs of distinct points, with the squares of their lengths.

    Attributes
    ----------
    groups : Contraction
        Groups of coincident nodes, each of which is one point of the program.
    pairs, bounds : ndarray of shape (p, 2), (p,)
        Pairs of these points, and the squares of their lengths.
    """

    groups: Contraction
    pairs: Index
    bounds: Array

    @staticmethod
    def of(lengths: Sparse, **rule: float) -> Held:
        """Return the edges of an undirected graph of lengths; `rule` is passed to `contract`."""
        lengths = lengths.copy()
        lengths.data[lengths.data <= _COINCIDENT * lengths.data.max(initial=0.0)] = 0.0
        groups, pairs, d = contract(lengths, **rule)
        if groups.first.size == 1:
            raise DimensionError(
                f"All {lengths.shape[0]} points coincide: every edge has length zero, and there is nothing to unfold."
            )
        return Held(groups, pairs, d**2)

    @property
    def n(self) -> int:
        """Number of distinct points."""
        return int(self.groups.first.size)

    @property
    def unit(self) -> float:
        """The mean of the bounds, used to scale the rows of a program against overflow and underflow."""
        return float(self.bounds.mean())

    def graph(self, values: Array | float = 1.0) -> sp.csr_array:
        """Return the undirected graph of the pairs, with these values."""
        i, j = self.pairs.T
        values = np.broadcast_to(values, i.shape)
        ends = np.concatenate([i, j]), np.concatenate([j, i])
        return sp.csr_array((np.tile(values, 2), ends), shape=(self.n, self.n))


def geodesic_start(held: Held, p: int, seed: int) -> Array:
    """Return the landmark Isomap of the pairs: classical MDS of shortest paths from some points, the others by triangulation."""
    sources = np.random.default_rng(seed).choice(held.n, min(_SOURCES, held.n), replace=False)
    squares = geodesic_table(held.graph(np.sqrt(held.bounds)), sources).astype(np.float64) ** 2
    among = squares[sources]
    means = among.mean(axis=0)
    values, V = dense.eigenpairs(-0.5 * (among - means - means[:, None] + means.mean()), min(p, sources.size), "max")
    return -0.5 * (squares - means) @ V / np.sqrt(np.maximum(values, 1e-6 * values.max()))


@dataclass(frozen=True, eq=False, kw_only=True)
class Task:
    """An unfolding problem, with the conversion of a solution of its program into points and a certificate.

    Attributes
    ----------
    held : Held
        The pairs of the certificate.
    objective : str
        Name of the objective, for messages.
    constraint : {"inequality", "slack", "band", "equality"}
        Kind of constraint on the pairs.
    contradiction : str
        Advice for the error if the weights prove that no points satisfy the constraints; empty if that cannot happen.
    attributes : dict
        Further attributes of the estimator, by name.
    """

    held: Held
    objective: str = "variance"
    constraint: str = "inequality"
    contradiction: str = ""
    attributes: dict[str, Any] = field(default_factory=dict)

    def solve(self, sdp: SDP) -> tuple[Solution, Array]:
        """Return a solution, and the weights of the constrained pairs."""
        raise NotImplementedError

    def gap(self, solution: Solution) -> float:
        """Return the relative gap, which `tol` bounds."""
        return solution.gap

    def factor(self, solution: Solution) -> Array:
        """Return the centred coordinates (n, r) of all points."""
        F = solution.factor[self.held.groups.labels]
        return np.asarray(F - F.mean(axis=0))

    def certificate(self, solution: Solution, weights: Array) -> UnfoldingCertificate:
        """Return the certificate of all rows: pairs of groups, and edges between equal rows and the first of their group."""
        groups, m, c = self.held.groups, len(self.held.pairs), solution.certificate
        copies = np.flatnonzero(groups.first[groups.labels] != np.arange(groups.labels.size))
        tied = np.column_stack([groups.first[groups.labels[copies]], copies])
        edges = np.vstack([groups.first[self.held.pairs], tied])
        stiff = np.full(copies.size, _STIFF * max(float(np.max(np.abs(weights), initial=0.0)), 1.0))
        below = np.concatenate([weights[m : 2 * m], 0 * stiff]) if self.constraint == "band" else None
        return UnfoldingCertificate(
            c.lower, c.upper, self.gap(solution), c.violation, edges, np.concatenate([self.held.bounds, np.zeros(copies.size)]),
            np.concatenate([weights[:m], stiff]), below, solution.status, self.constraint,
        )  # fmt: skip


@dataclass(frozen=True, eq=False, kw_only=True)
class Whole(Task):
    """One program over all points, whose first rows are those of the constrained pairs.

    Attributes
    ----------
    program : Program
    interior : ndarray of shape (n, p) or None
        Points that satisfy all bounds strictly.
    incumbent : ndarray of shape (n, p) or None
        Points of a feasible solution, up to their scale, such as the data: the result is never worse.
    """

    program: Program
    interior: Array | None = None
    incumbent: Array | None = None

    def solve(self, sdp: SDP) -> tuple[Solution, Array]:
        start = None
        if self.program.is_graph and sdp.method != "dense":
            start = geodesic_start(self.held, sdp.rank, sdp.seed)
        callback = sdp.teller(self.objective)
        solution = sdp.solve(self.program, start=start, interior=self.interior, callback=callback)
        if self.incumbent is not None:
            solution = with_incumbent(solution, self.incumbent, sdp.tol)
        return solution, solution.weights


def unfold(task: Task, sdp: SDP) -> tuple[Array, dict[str, Any]]:
    """Return the factor (n, r) of the Gram matrix, and attributes of the estimator such as ``solution_`` and ``certificate_``."""
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


# ---------------------------------------------------------------------- bounds on the distances of pairs
@dataclass(frozen=True)
class Bounds:
    """``v ≤ d``, ``(1 − band) d ≤ v ≤ d``, or ``v ≤ d + t`` at ``price · t^power``, for squared distances v of pairs.

    Attributes
    ----------
    constraint, band, price, power
        As in the unfoldings.
    seed : int
        Seed of the choice of points whose shortest paths determine the price "auto".
    """

    constraint: str
    band: float
    price: Any
    power: int
    seed: Any

    @staticmethod
    def of(unfolding: Any) -> Bounds:
        """Return the bounds from the parameters of an estimator."""
        e = unfolding
        if e.constraint == "band" and not e.band:
            raise InputError(
                'band=0 leaves no band: squared distances are then given by equations. Use MVU(constraint="equality"), or band > 0.'
            )
        return Bounds(e.constraint, e.band, e.price, int(e.power), seed_of(e.random_state))

    def task(
        self, held: Held, points: Array | None, objective: str = "variance", contradiction: str = "", **terms: Any
    ) -> Whole:
        """Return the problem of maximising the variance, or another objective by the `terms` of `program`, within these bounds."""
        program = self.program(held, **terms)
        if terms.get("cost") is not None and abs(program.cost).max() <= _CANCELLED * abs(terms["cost"]).max():
            raise InputError(
                f"Nothing to maximise: the {objective} is zero for every unfolding, because it cancels between rows of X that are equal or "
                "nearly so. Remove duplicate rows, or give those that are equal the same label."
            )
        interior = self._interior(held, points, program)
        if self.constraint == "slack":
            objective += " less the price of slack"
            if program.combine is not None:  # pairs with an equation and a string are held twice
                held = replace(held, pairs=held.pairs[program.combine.indices], bounds=program.bounds)
        narrow = f'band={self.band:g} is too narrow for this metric. Use a wider band, or constraint="slack".'
        return Whole(
            held=held, program=program, interior=interior, objective=objective, constraint=self.constraint,
            contradiction=contradiction or narrow, incumbent=None if points is None else points[held.groups.first],
        )  # fmt: skip

    def program(
        self,
        held: Held,
        cost: Any = None,
        equal: NDArray[np.bool_] | None = None,
        strings: tuple[Index, Array] | None = None,
    ) -> Program:
        """Return the program of these pairs. `cost` is C over all points, None for the variance; `equal` pairs are equations.

        `strings` are additional upper bounds on some of the pairs, which are feasible only with slack if they contradict an equation.
        """
        pairs, bounds, groups = held.pairs, held.bounds, held.groups
        cost = None if cost is None else groups.sum(cost)
        settings: dict[str, Any] = {"masses": groups.masses, "cost": cost, "equal": equal}
        if self.constraint == "band":
            settings["lower"] = (1.0 - self.band) * bounds
            settings["equal"] = None if equal is None else np.concatenate([equal, np.zeros_like(equal)])
        elif self.constraint == "slack":
            settings["slack"] = Slack(self.power, self._price(held, cost))
            if equal is not None and strings is not None and strings[0].size:
                rows = np.concatenate([np.arange(len(pairs)), strings[0]])
                settings["combine"] = sp.eye_array(len(pairs), format="csr")[rows]
                settings["equal"] = np.append(equal, np.zeros(strings[0].size, dtype=bool))
                bounds = np.concatenate([bounds, strings[1]])
        return Program.of_pairs(held.n, pairs, bounds, **settings)

    def check_memory(self, held: Held, name: str) -> None:
        """Raise before C is computed if the dense solver would need too much memory."""
        n, p = held.n, len(held.pairs)
        m = p * (2 if self.constraint == "band" else 1)
        require(
            8.0 * (2 * p**2 + (m * p if m > p else 0) + 2 * m**2 + 17 * n**2),
            f"The objective of {name} is not the variance, and its program of {m} constraints on {n} points is solved by dense matrices: "
            "they",
            "Fit it on landmarks=500 of the points, or use fewer neighbours.",
        )

    def _interior(self, held: Held, points: Array | None, program: Program) -> Array | None:
        """Return points that satisfy all bounds of a band: the data, if they have few enough columns."""
        if points is None or points.shape[1] > _MOST_COLUMNS or self.constraint != "band":
            return None
        inside = points[held.groups.first]
        return inside if np.all(program.excess(inside) <= _ROUNDING * np.abs(program.bounds)) else None

    def _price(self, held: Held, cost: Any) -> float:
        """Return ν: the given value, or the weight of an average edge, estimated from geodesic distances."""
        if self.price != "auto":
            return float(self.price)
        Y = geodesic_start(held, 2, self.seed)
        CY = held.groups.masses[:, None] * Y if cost is None else cost @ Y
        weight = abs(float(np.vdot(Y, CY))) / float(held.bounds.sum())
        if self.power == 1:
            return _LINEAR_PRICE * weight
        return weight / (2.0 * _SQUARED_STRETCH * float(held.bounds.mean()))
