"""What a theorem is, the table of them, and what running one finds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from .theorem_data import Data


class UnmetError(Exception):
    """The condition of a theorem does not hold on these data; the message has the number that says so."""


@dataclass(frozen=True)
class Measured:
    """What a check returns where the condition holds.

    Attributes
    ----------
    condition : str
        The number that decided that the condition holds.
    degrees : float or None
        Largest angle between subspaces that are said to be equal.
    relative : float or None
        Largest relative error of numbers that are said to be equal, or by which an inequality is broken.
    rows : int or None
        Rows of the data that were used; None for a statement that is not about data.
    note : str
        What else is worth knowing.
    order : float or None
        Of an approximate statement: the power of the step with which the error vanishes, as measured.
    """

    condition: str
    degrees: float | None = None
    relative: float | None = None
    rows: int | None = None
    note: str = ""
    order: float | None = None


@dataclass(frozen=True)
class Theorem:
    """A statement that joins methods, the condition under which it holds, and how to see it on data.

    Attributes
    ----------
    name : str
        Short, for choosing it.
    statement, condition, source : str
    subject : str
        The section of the page of theorems that it stands in.
    order : float or None
        Of a statement that is approximate, equal in a limit only: the power of the step with which its error vanishes.
    check : callable
        Takes `Data` and returns `Measured`, or raises `UnmetError`.
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
        """The module that has it."""
        return self.check.__module__


#: Modules whose theorems make up the table, in its order. They are imported when it is asked for.
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
    """Every theorem by name, in the order of the page of theorems."""
    homes = [import_module(f".{home}", __package__).__name__ for home in _HOMES]
    return dict(sorted(_TABLE.items(), key=lambda item: homes.index(item[1].home)))


Check = Callable[[Data], Measured]


def subject(title: str) -> Callable[..., Callable[[Check], Check]]:
    """The decorator for theorems of one subject: ``theorem(name, statement, condition=..., source=...)``."""

    def theorem(
        name: str, statement: str, *, condition: str, source: str, order: float | None = None
    ) -> Callable[[Check], Check]:
        def decorate(check: Check) -> Check:
            _TABLE[name] = Theorem(name, statement, condition, source, title, check, order)
            return check

        return decorate

    return theorem
