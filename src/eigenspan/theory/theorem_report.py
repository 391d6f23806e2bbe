"""What running theorems on data found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .theorem import Theorem

#: Largest angle between subspaces that the statements call equal, in degrees.
DEGREES = 1e-4
#: Largest relative error of what they call identical: the same angle in radians, rounded.
RELATIVE = 1e-6
#: Deviation from the order of an approximate statement.
_ORDER = 0.05


@dataclass(frozen=True)
class TheoremResult:
    """One theorem on one table of data.

    Attributes
    ----------
    theorem : Theorem
        Its name, statement, condition and source.
    holds : bool
        Whether the condition holds here.
    found : str
        The numbers that decided it.
    degrees, relative : float or None
        The measured discrepancy, where the condition holds: the largest angle between subspaces that are said to be equal, and the
        largest relative error of numbers that are said to be, or by which an inequality is broken.
    rows : int or None
        Rows used; None where the statement is not about data.
    note : str
        What else is worth knowing.
    order : float or None
        Of an approximate statement: the power of the step with which its error vanishes, as measured.
    seconds : float
    """

    theorem: Theorem
    holds: bool
    found: str
    degrees: float | None = None
    relative: float | None = None
    rows: int | None = None
    note: str = ""
    order: float | None = None
    seconds: float = 0.0

    @property
    def confirmed(self) -> bool | None:
        """The discrepancy is below the tolerance; None where the condition does not hold."""
        if not self.holds:
            return None
        if self.theorem.order is not None:
            return self.order is not None and abs(self.order - self.theorem.order) < _ORDER
        return all(
            value is None or value <= limit for value, limit in ((self.degrees, DEGREES), (self.relative, RELATIVE))
        )

    @property
    def discrepancy(self) -> str:
        """In words: ``3e-11 degrees, 2e-15 relative``."""
        measured = ((self.degrees, "degrees"), (self.relative, "relative"))
        words = ", ".join(f"{value:.0e} {unit}" for value, unit in measured if value is not None)
        return words if self.theorem.order is None else f"approximate: {words}"


@dataclass(frozen=True)
class TheoremReport:
    """What `check_theorems` found.

    Attributes
    ----------
    results : tuple of TheoremResult
    n_samples : int
        Rows given.
    n_distinct : int
        Distinct rows among them, which the theorems were run on.
    """

    results: tuple[TheoremResult, ...]
    n_samples: int
    n_distinct: int

    @property
    def failed(self) -> tuple[TheoremResult, ...]:
        """Statements whose condition holds and whose discrepancy is above the tolerance."""
        return tuple(result for result in self.results if result.confirmed is False)

    @property
    def unmet(self) -> tuple[TheoremResult, ...]:
        """Statements whose condition does not hold here."""
        return tuple(result for result in self.results if not result.holds)

    @property
    def frame(self) -> Any:
        """One row a theorem, as a pandas DataFrame indexed by name."""
        import pandas as pd

        return pd.DataFrame([_row(result) for result in self.results]).set_index("name")

    def summary(self) -> str:
        """One sentence."""
        held = len(self.results) - len(self.unmet)
        good = held - len(self.failed)
        words = f"{good} of {held} statements whose condition holds are confirmed"
        worst = max((r.degrees for r in self.results if r.degrees is not None), default=None)
        if worst is not None:
            words += f", subspaces to {worst:.0e} degrees"
        return words + (f"; of {len(self.unmet)} more the condition does not hold here." if self.unmet else ".")

    def __str__(self) -> str:
        lines = [f"{'theorem':<22}{'holds':<7}{'ok':<5}{'discrepancy':<34}found"]
        for r in self.results:
            mark = {None: "—", True: "yes", False: "NO"}[r.confirmed]
            lines.append(
                f"{r.theorem.name:<22}{'yes' if r.holds else 'no':<7}{mark:<5}{r.discrepancy or '—':<34}{r.found}"
            )
        return "\n".join([*lines, self.summary()])


def _row(result: TheoremResult) -> dict[str, Any]:
    theorem = result.theorem
    return {
        "name": theorem.name,
        "subject": theorem.subject,
        "statement": theorem.statement,
        "condition": theorem.condition,
        "holds": result.holds,
        "found": result.found,
        "degrees": result.degrees,
        "relative": result.relative,
        "confirmed": result.confirmed,
        "approximate": theorem.order is not None,
        "rows": result.rows,
        "note": result.note,
        "source": theorem.source,
        "seconds": result.seconds,
    }
