"""Costs on pairs of points by name, and sums of named costs [S2, §2.1].

=================  =========  =====================================================================================
name               symbol     cost of a pair (i, j); zero for points without a label, except for ``"variance"``
=================  =========  =====================================================================================
``allies``         C^I        1 if one is among the k nearest points of the same class of the other
``rivals``         C^E        1 if one is among the k nearest points of other classes of the other
``local_between``  C^bet      c^I (1/n_k − 1/n) within class k, −1/n across classes
``local_within``   C^wit      c^I / n_k within class k
``between``        c^b        1/n_k − 1/n within class k, −1/n across classes: its Laplacian is −S_B
``within``         c^w        1/n_k within class k: its Laplacian is S_W
``total``                     1/n on all labelled pairs: its Laplacian is S_T
``same_class``                1 within a class
``other_class``               1 across classes
``variance``                  1/n on all pairs of points, labelled or not
=================  =========  =====================================================================================
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from ..._types import Index, Matrix
from ...errors import InputError
from ...graphs import allies, rivals
from ...graphs.weights.rules import ClassWeights
from ...problem import Form
from ...problem.forms import between, class_graph, every_pair, local_fisher, other_class, same_class
from .pair_costs import NEAR, nearness, ones_on

#: A term of a sum: sign, factor and name.
_TERM = re.compile(r"\s*([+-]?)\s*(?:(\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+)\s*\*?\s*)?([A-Za-z_]\w*)\s*")


class HasNeighbours(Protocol):
    """An estimator with the parameters of named costs."""

    n_neighbors: int | None
    n_rivals: int | None
    affinity: ClassWeights
    n_jobs: int | None


@dataclass(frozen=True, eq=False)
class NamedCosts:
    """The costs over some points with their class codes, by name."""

    points: Matrix
    codes: Index
    parameters: HasNeighbours

    @cached_property
    def local(self) -> tuple[Form, Form]:
        """``(C^bet, C^wit)``."""
        p = self.parameters
        near = nearness(p.affinity, self.points, self.codes, p.n_neighbors, p.n_jobs)
        return local_fisher(near, self.codes)

    def allies(self) -> Form:
        p = self.parameters
        return ones_on(allies(self.points, self.codes, p.n_neighbors or NEAR, p.n_jobs))

    def rivals(self) -> Form:
        p = self.parameters
        return ones_on(rivals(self.points, self.codes, p.n_rivals or p.n_neighbors or NEAR, p.n_jobs))

    def get(self, name: str) -> Form:
        """Return the cost of this name."""
        return COSTS[name](self)


#: The costs by name.
COSTS: dict[str, Callable[[NamedCosts], Form]] = {
    "allies": NamedCosts.allies,
    "rivals": NamedCosts.rivals,
    "local_between": lambda named: named.local[0],
    "local_within": lambda named: named.local[1],
    "between": lambda named: between(named.codes),
    "within": lambda named: class_graph(named.codes),
    "total": lambda named: class_graph(named.codes) - between(named.codes),
    "same_class": lambda named: same_class(named.codes),
    "other_class": lambda named: other_class(named.codes),
    "variance": lambda named: every_pair(named.codes.size) * (1.0 / named.codes.size),
}
#: Names that need no labels, and names for which neighbours are searched.
UNLABELLED = {"variance"}
SEARCHED = {"allies", "rivals", "local_between", "local_within"}


def terms(text: str, names: Collection[str], parameter: str) -> list[tuple[float, str]]:
    """Return factors and names of a sum such as ``"0.5 within + between"``; raise InputError unless all are in `names`."""
    found: list[tuple[float, str]] = []
    at = 0
    while at < len(text) or not found:
        term = _TERM.match(text, at)
        if term is None or (found and not term[1]) or term[3] not in names:
            raise InputError(
                f"{parameter}={text!r:.80} cannot be used: {text[at:].strip()!r} must be a name, or names with signs and factors such as "
                f'"0.5 within + between". The names are {", ".join(names)}.'
            )
        found.append(((-1.0 if term[1] == "-" else 1.0) * float(term[2] or 1.0), term[3]))
        at = term.end()
    return found


def named_in(*costs: object) -> set[str]:
    """Return the names that occur in values of parameters, known or not."""
    return {name for cost in costs if isinstance(cost, str) for _, _, name in _TERM.findall(cost)}


def total_of(parts: list[tuple[float, Form]]) -> Form:
    """Return ``Σ a C`` of weighted forms, at least one."""
    (factor, first), *rest = parts
    found = first if factor == 1.0 else first * factor
    for a, form in rest:
        found = found + form * a
    return found
