"""Reduction of a failing case: parameters are removed while the same relation fails in the same way."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from .case import Case
from .judge import judge
from .promises import UNLESS, why_not
from .trial import kind_of


def explain(relation: str, case: Case) -> None:
    """Print the outcome of one relation of a case."""
    verdict = judge(case, [relation])
    said = verdict.failures.get(relation) or verdict.failures.get("uncaught")
    excused = verdict.excused.get(relation)
    print(said or (f"excused by {', '.join(excused)}" if excused else verdict.refusal or f"{relation}: holds"))


def shrink(case: Case, relation: str, said: str) -> Case:
    """Return the case without the parts that the failure does not need."""
    kind = _sort(said)

    def fails(other: Case) -> bool:
        if relation in UNLESS and why_not(relation, other):
            return False
        try:
            found = judge(other, [relation]).failures
        except Exception:  # an expression that does not fit the smaller case
            return False
        return relation in found and _sort(found[relation]) == kind

    again = True
    while again:
        again = False
        for smaller in _smaller(case):
            if fails(smaller):
                case, again = smaller, True
                break
    return case


def _sort(said: str) -> str:
    """Return the kind of a failure: the error text without numbers, or the same word for all violated relations."""
    return kind_of(said) if said.startswith("uncaught") or "Error" in said else said.split(":")[0][:8]


def _smaller(case: Case) -> Iterator[Case]:
    for name, _ in case.params:
        if name not in ("embedding", "tol", "n_clusters") and not _needed(case, name):
            yield case.without(name)
    if case.container != "array":
        yield replace(case, container="array")
    if case.geometry not in ("gaussian", "swiss_roll"):
        yield replace(case, points=re.sub(r"^\w+", "gaussian", case.points))
    found = re.match(r"(\w+)\((\d+), (\d+)", case.points)
    if found:
        kind, n, D = found[1], int(found[2]), int(found[3])
        for fewer, narrower in ((n * 2 // 3, D), (n, D // 2), (n, D - 1), (n - 1, D)):
            if fewer >= 4 and narrower >= 1 and (fewer, narrower) != (n, D):
                yield replace(case, points=case.points.replace(f"{kind}({n}, {D}", f"{kind}({fewer}, {narrower}", 1))


def _needed(case: Case, name: str) -> bool:
    """Return True for parameters that declare the contents of X, which cannot be removed alone."""
    return "precomputed" in case.get(name) and case.given != "X"
