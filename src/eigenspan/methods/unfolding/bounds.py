"""The form in which an unfolding holds pairs: at most their length, within a band below it, or at a price for what is beyond."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..._resources import require
from ...core.spectrum import seed_of
from ...solvers.sdp import Program, Slack
from .edges import Held, geodesic_start
from .task import Whole

Array = NDArray[np.float64]
Index = NDArray[np.intp]

#: Columns of data, at most, that the search within a band begins at.
_MOST_COLUMNS = 15
#: Share of a bound by which rounding may break it.
_ROUNDING = 1e-9
#: Slack at its own price: the squared stretch at which an edge of average weight comes to rest, as a share of an average squared length,
#: and the linear price in average weights. Weights are very unequal, so both must be strict for the heaviest edges to hold.
_SQUARED_STRETCH, _LINEAR_PRICE = 0.002, 30.0


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

    def task(self, held: Held, points: Array | None, objective: str = "variance", **terms: Any) -> Whole:
        """To maximise a variance, or another objective by the `terms` of `program`, within these bounds."""
        program = self.program(held, **terms)
        return Whole(
            held=held, program=program, interior=self._interior(held, points, program), constraint=self.constraint,
            objective=objective + " less the price of slack" * (self.constraint == "slack"),
            contradiction=f'band={self.band:g} is too narrow for this metric. Use a wider band, or constraint="slack".',
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
