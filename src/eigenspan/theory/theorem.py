"""Theorems, their table, and the results of their checks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from .theorem_data import Data


class UnmetError(Exception):
    """The condition of a theorem does not hold on these data; the message has the number that shows it."""


@dataclass(frozen=True)
class Measured:
    """Result of a check whose condition holds.

    Attributes
    ----------
    condition : str
        The number that shows that the condition holds.
    degrees : float or None
        Largest angle between subspaces that are equal by the statement.
    relative : float or None
        Largest relative error of numbers that are equal by the statement, or largest relative violation of an inequality.
    rows : int or None
        Number of rows used; None if the statement does not depend on the data.
    note : str
        Further information.
    order : float or None
        For an approximate statement, the measured order of convergence: the power of the step size at which the error vanishes.
    """

    condition: str
    degrees: float | None = None
    relative: float | None = None
    rows: int | None = None
    note: str = ""
    order: float | None = None


@dataclass(frozen=True)
class Theorem:
    """A statement about methods, the condition under which it holds, and a numerical check.

    Attributes
    ----------
    name : str
        Short name, for `check_theorems(names=...)`.
    statement, condition, source : str
        The theorem, its condition, and where it is published.
    subject : str
        Section of the page of theorems.
    order : float or None
        For an approximate statement, the theoretical order of convergence.
    check : callable
        Function from `Data` to `Measured`; raises `UnmetError` if the condition does not hold.
    """

    name: str
    statement: str
    condition: str
    source: str
    subject: str
    check: Callable[[Data], Measured]
    order: float | None = None

    @property
    def home(self) -> str:
        """Name of the module that defines the theorem."""
        return self.check.__module__


#: Modules with theorems, in the order of the table. They are imported on first use.
_HOMES = (
    "variance_theorems",
    "oriented_theorems",
    "graph_theorems",
    "laplacian_theorems",
    "projection_theorems",
    "label_theorems",
    "view_theorems",
    "kernel_theorems",
    "unfolding_theorems",
    "unification_theorems",
)
_TABLE: dict[str, Theorem] = {}


def all_theorems() -> dict[str, Theorem]:
    """Return all theorems by name, in the order of the page of theorems."""
    homes = [import_module(f".{home}", __package__).__name__ for home in _HOMES]
    return dict(sorted(_TABLE.items(), key=lambda item: homes.index(item[1].home)))


Check = Callable[[Data], Measured]


def subject(title: str) -> Callable[..., Callable[[Check], Check]]:
    """Return a decorator for theorems of one subject: ``theorem(name, statement, condition=..., source=...)``."""

    def theorem(
        name: str, statement: str, *, condition: str, source: str, order: float | None = None
    ) -> Callable[[Check], Check]:
        def decorate(check: Check) -> Check:
            _TABLE[name] = Theorem(name, statement, condition, source, title, check, order)
            return check

        return decorate

    return theorem
