"""Results of checks of theorems."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .theorem import Theorem

#: Tolerance for angles between subspaces, in degrees.
DEGREES = 1e-4
#: Tolerance for relative errors: about the same angle in radians.
RELATIVE = 1e-6
#: Tolerance for the order of convergence of an approximate statement.
_ORDER = 0.05


@dataclass(frozen=True)
class TheoremResult:
    """Result of one theorem on given data.

    Attributes
    ----------
    theorem : Theorem
        The theorem, with its name, statement, condition and source.
    holds : bool
        True if the condition holds on these data.
    found : str
        The numbers that show whether it holds.
    degrees, relative : float or None
        The measured discrepancy, if the condition holds: the largest angle between subspaces that are equal by the statement, and the
        largest relative error of numbers that are equal by the statement or the largest relative violation of an inequality.
    rows : int or None
        Number of rows used; None if the statement does not depend on the data.
    note : str
        Further information.
    order : float or None
        For an approximate statement, the measured order of convergence.
    seconds : float
        Duration of the check.
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
        """True if the discrepancy is within the tolerance; None if the condition does not hold."""
        if not self.holds:
            return None
        if self.theorem.order is not None:
            return self.order is not None and abs(self.order - self.theorem.order) < _ORDER
        return all(
            value is None or value <= limit for value, limit in ((self.degrees, DEGREES), (self.relative, RELATIVE))
        )

    @property
    def discrepancy(self) -> str:
        """Discrepancy as text, such as ``3e-11 degrees, 2e-15 relative``."""
        measured = ((self.degrees, "degrees"), (self.relative, "relative"))
        words = ", ".join(f"{value:.0e} {unit}" for value, unit in measured if value is not None)
        return words if self.theorem.order is None else f"approximate: {words}"


@dataclass(frozen=True)
class TheoremReport:
    """Result of `check_theorems`.

    Attributes
    ----------
    results : tuple of TheoremResult
        One result per theorem.
    n_samples : int
        Number of rows of X.
    n_distinct : int
        Number of distinct rows on which the theorems were checked.
    """

    results: tuple[TheoremResult, ...]
    n_samples: int
    n_distinct: int

    @property
    def failed(self) -> tuple[TheoremResult, ...]:
        """Results whose condition holds but whose discrepancy exceeds the tolerance."""
        return tuple(result for result in self.results if result.confirmed is False)

    @property
    def unmet(self) -> tuple[TheoremResult, ...]:
        """Results whose condition does not hold."""
        return tuple(result for result in self.results if not result.holds)

    @property
    def frame(self) -> Any:
        """Results as a pandas DataFrame with one row per theorem, indexed by name."""
        import pandas as pd

        return pd.DataFrame([_row(result) for result in self.results]).set_index("name")

    def summary(self) -> str:
        """Return a summary in one sentence."""
        held = len(self.results) - len(self.unmet)
        good = held - len(self.failed)
        words = f"{good} of {held} statements whose condition holds are confirmed"
        worst = max((r.degrees for r in self.results if r.degrees is not None), default=None)
        if worst is not None:
            words += f", subspaces to {worst:.0e} degrees"
        return words + (f"; the condition of {len(self.unmet)} more does not hold." if self.unmet else ".")

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
