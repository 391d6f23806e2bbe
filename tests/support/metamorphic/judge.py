"""Verdict on a case: refused or fitted, with the relations that were checked."""

from __future__ import annotations

import random
from dataclasses import asdict, dataclass, field
from typing import Any

from .case import Case
from .compare import FINE, VISIBLE
from .promises import EXCUSES, ITERATED, known, why_not
from .relations import RELATIONS
from .trial import Trial, UncaughtError

#: Relations that cost another fit, drawn for a case.
REFITS = 6


@dataclass
class Verdict:
    """Outcome of a case. `failures` maps a relation to its error; "uncaught" is the key of unintended errors."""

    outcome: str = "fitted"
    refusal: str = ""
    held: list[str] = field(default_factory=list)
    #: Violated relations for which a warning was given.
    excused: dict[str, list[str]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def chosen(case: Case) -> list[str]:
    """Return all relations that need no further fit, and a few of the other promised ones."""
    promised = [name for name in RELATIONS if not why_not(name, case)]
    refits = [name for name in promised if RELATIONS[name].refits and name != "containers"]
    drawn = random.Random(case.seed).sample(refits, min(REFITS, len(refits)))
    return [name for name in promised if not RELATIONS[name].refits or name in drawn or name == "containers"]


def judge(case: Case, relations: list[str] | None = None) -> Verdict:
    """Fit a case and check the named relations, by default promised ones."""
    verdict, trial = Verdict(), Trial(case)
    try:
        base = trial.start()
    except UncaughtError as error:
        return Verdict("uncaught", failures={"uncaught": str(error)})
    if base.refusal:
        return Verdict("refused", base.refusal)
    fitted_with = set(trial.warned)
    for name in chosen(case) if relations is None else relations:
        if name == "uncaught":
            continue
        trial.warned = set(fitted_with)
        said = check(trial, name)
        excuses = sorted(trial.warned & EXCUSES.keys())
        excused = excuses and not RELATIONS[name].exact and not said.startswith("uncaught")
        if not said:
            verdict.held.append(name)
        elif excused or known(name, case):
            verdict.excused[name] = excuses if excused else [known(name, case)]
        else:
            verdict.failures[name] = said
    return verdict


def check(trial: Trial, name: str) -> str:
    """Return the error in a relation, or ""."""
    relation = RELATIONS[name]
    try:
        off, said = relation.check(trial)
        if off <= FINE:
            return ""
        if relation.exact or name == "last digits":
            return said
        if off <= trial.tolerance():
            return "" if off <= VISIBLE or ITERATED(trial.case) else f"rounding: {said}, as the last digits of X do"
    except UncaughtError as error:
        return f"uncaught: {error}"
    return said
