"""Results of many cases, counted by relation and by method."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from .draw import draw
from .trial import kind_of

Results = dict[int, dict[str, Any]]


def summary(results: Results, seed: int, method: str | None = None) -> str:
    """Return tables of outcomes, of relations, and of methods with failures."""
    outcomes = Counter(result["outcome"] for result in results.values())
    lines = [f"{len(results)} cases: " + ", ".join(f"{count} {name}" for name, count in outcomes.most_common()), ""]
    relations: dict[str, Counter[str]] = defaultdict(Counter)
    methods: dict[str, Counter[str]] = defaultdict(Counter)
    for index, result in results.items():
        name = draw(seed, index, method).method
        methods[name]["cases"] += 1
        methods[name]["fitted"] += result["outcome"] == "fitted"
        methods[name]["excused"] += bool(result.get("excused"))
        methods[name]["failed"] += bool(result.get("failures"))
        for column in ("held", "excused", "failures"):
            for relation in result.get(column, ()):
                relations[relation][column] += 1
    lines.append(f"{'relation':28}{'held':>8}{'excused':>9}{'failed':>8}")
    for relation, count in sorted(relations.items()):
        lines.append(f"{relation:28}{count['held']:8}{count['excused']:9}{count['failures']:8}")
    lines += ["", f"{'method':36}{'cases':>7}{'fitted':>8}{'excused':>9}{'failed':>8}"]
    for name, count in sorted(methods.items()):
        lines.append(f"{name:36}{count['cases']:7}{count['fitted']:8}{count['excused']:9}{count['failed']:8}")
    return "\n".join(lines)


def first_of_each(results: Results, seed: int, method: str | None = None) -> list[dict[str, Any]]:
    """Return the first failure of each relation, method and kind of message."""
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    for index in sorted(results):
        case = draw(seed, index, method)
        for relation, said in results[index].get("failures", {}).items():
            task = {"index": index, "relation": relation, "said": said, "snippet": case.snippet(relation)}
            found.setdefault((relation, case.method, kind_of(said)[:40]), task)
    return list(found.values())
