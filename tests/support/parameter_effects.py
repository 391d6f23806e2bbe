"""Effects of parameter values: each must change the result, be refused, or be documented as having no effect.

A *triple* is a method, one of its parameters and an accepted value. It is compared with the default in the situations of `effect_values`:

- changed: a fitted attribute, ``transform`` or ``predict`` of new points, or what is printed differs by more than 1e-6 of its size;
- refused: every fit raises an error whose message names the parameter;
- documented: nothing differs, and the docstring's entry says when the parameter has no effect, or a warning names the parameter;
- silent: none of these. The test fails.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import eigenspan as es
from effect_values import (
    ALIKE,
    COMPANIONS,
    FEWER,
    MODES,
    MORE,
    NO_MODES,
    OWN,
    SITUATIONS,
    SPECS,
    THEIRS,
    Situation,
    SpecParameter,
    on,
)
from eigenspan._docstrings import parameters as described
from parameter_outcomes import ROWS, Outcome, differs, outcome, parameters, spelled, start
from parameter_values import VALUES, Values, plain, strings


# ---------------------------------------------------------------------- values and situations
@cache
def values_of(name: str, parameter: str) -> Values:
    """Return label -> value for every kind of value that the parameter accepts."""
    if (name, parameter) in FEWER:
        return FEWER[name, parameter]
    rules = getattr(ROWS[name].build, "_parameter_constraints", {}).get(parameter, [])
    known = MORE.get(parameter, VALUES.get(parameter, {}))
    if parameter == "weights" and strings(rules):  # of kernels, not of edges
        known = {}
    return {**known, **plain(*strings(rules)), **(plain(True, False) if "boolean" in map(str, rules) else {})}


def situations(name: str, parameter: str) -> Iterator[Situation]:
    has = parameters(name)
    for situation in [*OWN.get((name, parameter), []), *SITUATIONS.get(parameter, [on()])]:
        if situation.params.keys() <= has.keys() - {parameter}:
            yield situation


@cache
def entry(cls: Any, parameter: str) -> str:
    """Return the description of a parameter in the docstring."""
    return next((" ".join(str(one).split()) for one in described(cls) if parameter in one.names), "")


# ---------------------------------------------------------------------- the walk
@dataclass(frozen=True)
class Triple:
    """A value of a parameter of a method, and its effect."""

    method: str
    parameter: str
    label: str
    verdict: str
    why: str = ""

    def __str__(self) -> str:
        return f"{self.method}({self.parameter}={self.label}): {self.verdict}, {self.why}"


def judge(name: str, parameter: str, label: str, value: Any) -> Triple:
    """Compare one value with the default, situation by situation."""
    refusals, notes, fits, neither = [], [], 0, Outcome()
    for situation in situations(name, parameter):
        reference = outcome(name, situation.data, situation.params)
        mine = outcome(name, situation.data, {**situation.params, parameter: value()})
        if mine.error and reference.error:
            neither = mine
            continue
        if mine.error:
            refusals.append(mine)
            if not mine.on_purpose:
                return Triple(name, parameter, label, "silent", f"an error that was not meant: {mine.error}")
            continue
        fits += 1
        if reference.error:
            return Triple(name, parameter, label, "changed", f"({situation}) fits where the default does not")
        if what := differs(reference, mine, parameter) or _unlike_others(name, parameter, situation, mine):
            return Triple(name, parameter, label, "changed", f"({situation}) {what}")
        notes += [text for text in mine.warned if _names(text, parameter) and text not in reference.warned]
    if notes:
        return Triple(name, parameter, label, "documented", f"warns: {notes[0]:.60}")
    named = [one for one in refusals if _names(one.error, parameter, label)]
    if named:
        return Triple(name, parameter, label, "refused", f"{named[0].error:.160}")
    said = entry(es.External if name in THEIRS else ROWS[name].build, parameter)
    if "no effect" in said.lower():
        return Triple(name, parameter, label, "documented", said)
    why = "nothing changes" if fits else f"the message does not name it: {[*refusals, neither][0].error:.160}"
    return Triple(name, parameter, label, "silent", why)


def _names(text: str, parameter: str, label: str = "") -> bool:
    """Return True if a message has the name of the parameter, or its value if that is a string."""
    return bool(re.search(rf"(?<![\w-]){parameter}\b", text)) or (label[:1] == "'" and label.strip("'") in text)


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


def _unlike_others(name: str, parameter: str, situation: Situation, mine: Outcome) -> str:
    """Compare with another value if the default is "auto" or None, which may choose the value under test."""
    if parameters(name)[parameter] not in ("auto", None):
        return ""
    values = [other() for other in values_of(name, parameter).values()]
    all_of_them = [
        outcome(name, situation.data, {**situation.params, parameter: value}) for value in values if not _is_auto(value)
    ]
    fitted = [one for one in all_of_them if not one.error]
    if len(fitted) == 1 < len(all_of_them):
        return "the only value that is not refused"
    return next((what for one in fitted if (what := differs(mine, one, parameter))), "")


# ---------------------------------------------------------------------- specifications
def judge_spec(name: str, spec: SpecParameter) -> list[Triple]:
    """Compare values of a specification's parameter with its default, in one method."""
    found = []
    has = parameters(name)
    companions = [some for some in COMPANIONS.get(spec.holder, ({},)) if some.keys() <= has.keys()]
    for value in spec.values:
        verdict, why = "silent", "nothing changes"
        for more in companions:
            reference = outcome(name, "plain", {**more, spec.holder: spec.cls(**spec.base)})
            mine = outcome(name, "plain", {**more, spec.holder: spec.cls(**{**spec.base, spec.parameter: value})})
            if mine.error and not mine.on_purpose:
                why = f"an error that was not meant: {mine.error}"
            elif mine.error and (reference.error or spec.parameter in mine.error or spec.holder in mine.error):
                verdict, why = "refused", mine.error
            elif not mine.error and (reference.error or (what := differs(reference, mine, spec.parameter))):
                verdict, why = "changed", "" if reference.error else what
                break
            elif mine.error:
                why = f"the message does not name it: {mine.error}"
        if verdict == "silent" and "no effect" in entry(spec.cls, spec.parameter).lower():
            verdict, why = "documented", entry(spec.cls, spec.parameter)
        found.append(Triple(name, spec.name, repr(value), verdict, why[:160]))
    return found


def walk_specs(name: str, part: int | None = None) -> list[Triple]:
    """All parameters of the specifications that a method takes, or a third of them."""
    has = parameters(name)
    taken = [spec for spec in SPECS if spec.holder in has and (not spec.methods or name in spec.methods)]
    if ROWS[name].family == "unfolding" and name != "MVU":  # slow, with the graphs of MVU, which is tested
        taken = [spec for spec in taken if spec.holder != "graph"]
    return [one for spec in part_of(name, taken, part) for one in judge_spec(name, spec)]


def named_refusal(found: Outcome, parameter: str, label: str = "") -> bool:
    return bool(found.error) and found.on_purpose and _names(found.error, parameter, label)


# ---------------------------------------------------------------------- modes
def modes(name: str) -> Iterator[tuple[str, Any]]:
    """Yield single values that select another mode of a fit."""
    has = parameters(name)
    rules = getattr(ROWS[name].build, "_parameter_constraints", {})
    named = [(q, s) for q in has if q not in NO_MODES for s in strings(rules.get(q, [])) if s != "auto"]
    more = [(q, value) for q, values in MODES.items() if q in has for value in values]
    for q, value in [*named, *more]:
        if not is_default(name, q, value) and not outcome(name, "plain", {q: value}).error:
            yield q, value


def judge_in_mode(name: str, parameter: str, mode: str, value: Any) -> Triple:
    """Test whether any value of a parameter has an effect together with ``mode=value``."""
    shown, where, why = f"{parameter} with {mode}={value!r}", "silent", "nothing changes"
    for label, other in values_of(name, parameter).items():
        for situation in situations(name, parameter):
            if is_default(name, parameter, other()):
                continue
            params = {**situation.params, mode: value}
            reference = outcome(name, situation.data, params)
            mine = outcome(name, situation.data, {**params, parameter: other()})
            if not mine.error and (reference.error or differs(reference, mine, parameter)):
                return Triple(name, shown, label, "changed")
            if mine.error and (reference.error or named_refusal(mine, parameter, label)):
                where, why = "refused", mine.error
    entries = [entry(ROWS[name].build, parameter), *(e for e in [entry(ROWS[name].build, mode)] if parameter in e)]
    if where == "silent" and any("no effect" in said.lower() for said in entries):
        where = "documented"
    return Triple(name, shown, "any", where, why[:160])


def walk_modes(name: str, part: int | None = None) -> list[Triple]:
    """Test every parameter that has an effect by itself in every mode of a method, or in a third of the modes."""
    if ROWS[name].family == "unfolding" and name != "MVU":  # slow, with the modes of MVU, which is tested
        return []
    tried = [p for p in parameters(name) if p not in ALIKE]
    chosen = part_of(name, modes(name), part)
    return [judge_in_mode(name, p, mode, value) for mode, value in chosen for p in tried if p != mode]


# ---------------------------------------------------------------------- all triples
def is_default(name: str, parameter: str, value: Any) -> bool:
    default = {**parameters(name), **start(name)}[parameter]
    same = type(default) is type(value) and spelled(default) == spelled(value)
    return same or (default == "binary" and isinstance(value, es.Binary))


def part_of(name: str, values: Iterable[Any], part: int | None) -> list[Any]:
    """Return every third value, or all if `part` is None; where it begins differs from method to method."""
    return list(values) if part is None else list(values)[(part + list(ROWS).index(name) // 3) % 3 :: 3]


def walk(name: str, part: int | None = None) -> list[Triple]:
    """Return the triples of all parameters of a method or of a third of them. A default has an effect if another value has one."""
    triples = []
    for parameter in part_of(name, parameters(name), part):
        values = values_of(name, parameter)
        found = [
            judge(name, parameter, label, value)
            for label, value in values.items()
            if not is_default(name, parameter, value())
        ]
        assert found, f"{name}({parameter}=): no value other than the default is known"
        best = min((one.verdict for one in found), key=("changed", "refused", "documented", "silent").index)
        found = _as_the_best_number(found, values)
        triples += [Triple(name, parameter, "default", best, "as its other values"), *found]
    return triples


def _as_the_best_number(found: list[Triple], values: Values) -> list[Triple]:
    """Give all numbers the verdict of the best one, because they are samples of one range."""
    numbers = [one for one in found if _is_number(values[one.label]())]
    acting = next((one for one in numbers if one.verdict == "changed"), None)
    return [
        replace(one, verdict="changed", why=f"as {acting.label}")
        if acting and one in numbers and one.verdict == "silent"
        else one
        for one in found
    ]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def table(triples: list[Triple]) -> str:
    """Return counts of verdicts by parameter."""
    names = ("changed", "refused", "documented", "silent")
    counts: dict[str, Counter[str]] = {}
    for one in triples:
        counts.setdefault(one.parameter, Counter())[one.verdict] += 1
    lines = [f"{'parameter':24s} {'tried':>6s} " + " ".join(f"{n:>10s}" for n in names)]
    total = Counter(one.verdict for one in triples)
    for parameter, counter in [*sorted(counts.items()), ("all", total)]:
        lines.append(f"{parameter:24s} {counter.total():6d} " + " ".join(f"{counter[n]:10d}" for n in names))
    return "\n".join(lines)
