"""What an unfolding asks for, as values: the pairs it holds, in which form, and what is maximised; `unfold` solves it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..._diagnostics import stage
from ..._types import Array, Index
from ...errors import DimensionError, InputError
from ...graphs import geodesic_table
from ...graphs.neighbours.contraction import contract
from ...numerics.eigen import dense
from ...numerics.memory import require
from ...numerics.nearest.row_lookup import Contraction
from ...numerics.sdp import Program, Slack, Solution
from ...problem.spectrum import seed_of
from .solver_settings import SDP
from .unfolding_certificate import UnfoldingCertificate

#: Sources of shortest paths.
_SOURCES = 300
#: Weight of the edges that tie copies of a row to it, in units of the largest other.
_STIFF = 1e8
#: Columns of data, at most, that the search within a band begins at.
_MOST_COLUMNS = 15
#: Share of the longest edge below which a length is rounding, and its ends coincide: its square is lost beside those of the others.
_COINCIDENT = 1e-13
#: Share of an objective below which what remains of it over distinct points is rounding.
_CANCELLED = 1e-12
#: Share of a bound by which rounding may break it.
_ROUNDING = 1e-9
#: Slack at its own price: the squared stretch at which an edge of average weight comes to rest, as a share of an average squared length,
#: and the linear price in average weights. Weights are very unequal, so both must be strict for the heaviest edges to hold.
_SQUARED_STRETCH, _LINEAR_PRICE = 0.002, 30.0


@dataclass(frozen=True, eq=False)
class Held:
    """What an unfolding holds: pairs of distinct points and the squares of the lengths between them.

    Attributes
    ----------
    groups : Contraction
        Nodes that coincide, which are one point of the program.
    pairs, bounds : ndarray of shape (p, 2), (p,)
        Over these points.
    """

    groups: Contraction
    pairs: Index
    bounds: Array

    @staticmethod
    def of(lengths: sp.csr_array, **rule: Any) -> Held:
        """The edges of an undirected graph of lengths."""
        lengths = lengths.copy()
        lengths.data[lengths.data <= _COINCIDENT * lengths.data.max(initial=0.0)] = 0.0
        groups, pairs, d = contract(lengths, **rule)
        if groups.first.size == 1:
            raise DimensionError(
                f"All {lengths.shape[0]} points coincide: every string has length zero, and there is nothing to unfold."
            )
        return Held(groups, pairs, d**2)

    @property
    def n(self) -> int:
        """Distinct points."""
        return int(self.groups.first.size)

    @property
    def unit(self) -> float:
        """The mean of the bounds: a size for rows of a program, in which none overflows or vanishes."""
        return float(self.bounds.mean())

    def graph(self, values: Array | float = 1.0) -> sp.csr_array:
        """Undirected, with these values of the pairs."""
        i, j = self.pairs.T
        values = np.broadcast_to(values, i.shape)
        ends = np.concatenate([i, j]), np.concatenate([j, i])
        return sp.csr_array((np.tile(values, 2), ends), shape=(self.n, self.n))


def geodesic_start(held: Held, p: int, seed: Any) -> Array:
    """Landmark Isomap of the pairs: classical MDS of shortest paths from some points, the others by triangulation."""
    sources = np.random.default_rng(seed).choice(held.n, min(_SOURCES, held.n), replace=False)
    squares = geodesic_table(held.graph(np.sqrt(held.bounds)), sources).astype(np.float64) ** 2
    among = squares[sources]
    means = among.mean(axis=0)
    values, V = dense.eigenpairs(-0.5 * (among - means - means[:, None] + means.mean()), min(p, sources.size), "max")
    return -0.5 * (squares - means) @ V / np.sqrt(np.maximum(values, 1e-6 * values.max()))


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
        """The certificate of all rows: pairs of groups, and copies tied to the first of their group."""
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


# ---------------------------------------------------------------------- bounds on the distances of pairs
@dataclass(frozen=True)
class Bounds:
    """``v ≤ d``, ``(1 − band) d ≤ v ≤ d``, or ``v ≤ d + t`` at ``price · t^power``, for squared distances v of pairs.

    Attributes
    ----------
    constraint, band, price, power
        As the unfoldings have them.
    seed : object
        Of the points whose shortest paths make a price of "auto".
    """

    constraint: str
    band: float
    price: Any
    power: int
    seed: Any

    @staticmethod
    def of(unfolding: Any) -> Bounds:
        """What the parameters of an estimator say."""
        e = unfolding
        return Bounds(e.constraint, e.band, e.price, int(e.power), seed_of(e.random_state))

    def task(
        self, held: Held, points: Array | None, objective: str = "variance", contradiction: str = "", **terms: Any
    ) -> Whole:
        """To maximise a variance, or another objective by the `terms` of `program`, within these bounds."""
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
            contradiction=contradiction or narrow,
        )  # fmt: skip

    def program(
        self,
        held: Held,
        cost: Any = None,
        equal: NDArray[np.bool_] | None = None,
        strings: tuple[Index, Array] | None = None,
    ) -> Program:
        """The program of these pairs; C over all points, None for the variance; `equal` pairs are equations.

        `strings` are bounds from above on some of the pairs besides, which only slack can keep where they contradict an equation.
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
        """Refuse, before C is written out, what the dense solver would."""
        n, p = held.n, len(held.pairs)
        m = p * (2 if self.constraint == "band" else 1)
        require(
            8.0 * (2 * p**2 + (m * p if m > p else 0) + 2 * m**2 + 17 * n**2),
            f"The objective of {name} is not the variance, and its program of {m} constraints on {n} points is solved by dense matrices: "
            "they",
            "Fit it on landmarks=500 of the points, or use fewer neighbours.",
        )

    def _interior(self, held: Held, points: Array | None, program: Program) -> Array | None:
        """Places that keep all bounds of a band: the data, where they have few enough columns to begin with."""
        if points is None or points.shape[1] > _MOST_COLUMNS or self.constraint != "band":
            return None
        inside = points[held.groups.first]
        return inside if np.all(program.excess(inside) <= _ROUNDING * np.abs(program.bounds)) else None

    def _price(self, held: Held, cost: Any) -> float:
        """ν as given, or such that a small stretch costs what an average edge gains: its weight, were geodesics the distances."""
        if self.price != "auto":
            return float(self.price)
        Y = geodesic_start(held, 2, self.seed)
        CY = held.groups.masses[:, None] * Y if cost is None else cost @ Y
        weight = abs(float(np.vdot(Y, CY))) / float(held.bounds.sum())
        if self.power == 1:
            return _LINEAR_PRICE * weight
        return weight / (2.0 * _SQUARED_STRETCH * float(held.bounds.mean()))
