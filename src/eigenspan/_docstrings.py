"""Complete the docstrings of classes from the declarations of their parameters and from the docstrings of their bases.

A class describes, in the sections ``Parameters`` and ``Attributes``, what it adds and what it changes. `complete` adds the rest:

- Every parameter of the constructor is listed, in the order of the signature. Type and default come from the declaration; the
  description comes from the nearest class in the MRO that has one, or else from `_descriptions`.
- The attributes are those of the class, followed by those of its bases.

An entry is a name (or several, separated by commas), an optional type and an indented description::

    weights
        Edge weights. None means ``Heat()``.
    priors : array-like of shape (n_classes,) or None
        Class probabilities.
    graph
        ... ``"all"`` joins all pairs of points.

A type is given only where it says more than the generated one. ``...`` continues the description of the next base. The type ``absent``
leaves out attributes of a base that the class does not have.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from numbers import Integral
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from ._compat import Interval, Options
from ._descriptions import PAIRS, PARAMETERS, SOURCES
from ._documented import Completed
from ._parameters import Function, TypeName, literal, literal_set

#: The mark of a description that continues the one of the next base, and the type of attributes that a class does not have.
_CONTINUED, ABSENT = "...", "absent"
#: Columns of a description that is put together from several.
_WIDTH = 116


@dataclass(frozen=True)
class Entry:
    """One entry of a section: names, the type after the colon, and the description."""

    names: tuple[str, ...]
    type: str
    text: str

    def __str__(self) -> str:
        header = ", ".join(self.names) + (f" : {self.type}" if self.type else "")
        return "\n".join([header, *([textwrap.indent(self.text, "    ")] if self.text else [])])


def complete(cls: Any, own: str) -> str:
    """The docstring in the source with all parameters, attributes and cited sources."""
    summary, found = sections(own)
    listed = {"Parameters": parameters(cls), "Attributes": attributes(cls)}
    found = {title: "\n".join(map(str, entries)) for title, entries in listed.items() if entries} | {
        title: body for title, body in found.items() if title not in listed
    }
    whole = "\n".join([summary, *found.values()])
    cited = [source for mark, source in SOURCES.items() if mark in whole and source not in whole]
    if cited:
        found["References"] = "\n".join(filter(None, [found.get("References", ""), *cited]))
    return "\n\n".join([summary, *(f"{title}\n{'-' * len(title)}\n{body}" for title, body in found.items())])


# ---------------------------------------------------------------------- what stands in the sources
def sections(text: str) -> tuple[str, dict[str, str]]:
    """The text before the first section, and the sections by title."""
    summary, *rest = re.split(r"^(\w[\w ]*)\n-{3,}(?:\n|\Z)", text, flags=re.MULTILINE)
    return summary.strip(), {title: body.strip("\n") for title, body in zip(rest[::2], rest[1::2], strict=True)}


def entries(body: str) -> tuple[Entry, ...]:
    """The entries of a section."""
    found = []
    for part in re.split(r"\n(?=\S)", body.strip("\n")):
        header, _, text = part.partition("\n")
        names, _, kind = header.partition(" : ")
        found.append(Entry(tuple(names.split(", ")), kind.strip(), textwrap.dedent(text).strip()))
    return tuple(found)


@cache
def own_entries(cls: type, title: str) -> tuple[Entry, ...]:
    """The entries that stand in a section of the docstring of this class itself."""
    doc = vars(cls).get("__doc__")
    body = sections(inspect.cleandoc((doc.own if isinstance(doc, Completed) else doc) or ""))[1].get(title)
    return entries(body) if body else ()


@cache
def _shared() -> tuple[tuple[Entry, ...], tuple[Entry, ...]]:
    return entries(PARAMETERS), entries(PAIRS)


def _bases(cls: type) -> Iterator[type]:
    """The class and its bases, without those of other libraries."""
    return (base for base in cls.__mro__ if base.__module__.partition(".")[0] not in ("builtins", "sklearn"))


# ---------------------------------------------------------------------- parameters
def parameters(cls: Any) -> list[Entry]:
    """The section ``Parameters`` of a class with declared parameters."""
    found: list[Entry] = []
    declared = getattr(cls, "_parameters", {})
    hints = get_type_hints(cls, include_extras=True) if declared else {}
    types = {name: _type_of(cls, name, hints[name], declared[name].default) for name in declared}
    for name in declared:
        if any(name in entry.names for entry in found):
            continue
        nearest = next(_described(cls, name), Entry((name,), "", ""))
        alike = [other for other in nearest.names if other in declared and types[other] == types[name]]
        together = [other for other in alike if next(_described(cls, other), None) is nearest]
        found.append(Entry(tuple(together or [name]), types[name], _description(cls, name)))
    return found


def _described(cls: type, name: str) -> Iterator[Entry]:
    """Entries for a parameter, of the class first and of all classes last."""
    for base in _bases(cls):
        yield from (entry for entry in own_entries(base, "Parameters") if name in entry.names)
    shared, of_pairs = _shared()
    pairs = getattr(getattr(cls, "_input", None), "pairs", ())
    if isinstance(pairs, tuple) and name in pairs:
        yield from (entry for entry in of_pairs if name in entry.names)
    yield from (entry for entry in shared if name in entry.names)


def _description(cls: type, name: str) -> str:
    parts: list[str] = []
    for entry in _described(cls, name):
        parts.insert(0, entry.text.removeprefix(_CONTINUED).strip())
        if not entry.text.startswith(_CONTINUED):
            break
    return "".join(parts) if len(parts) < 2 else _filled(" ".join(parts))


def _filled(text: str) -> str:
    """A paragraph in lines that do not break inside code or formulas."""
    kept = re.sub(r"(``?)(?!`)(.+?)\1", lambda code: code.group().replace(" ", "\0"), text.replace("\n", " "))
    return textwrap.fill(kept, _WIDTH, break_long_words=False, break_on_hyphens=False).replace("\0", " ")


def _type_of(cls: type, name: str, hint: Any, default: Any) -> str:
    """Type and default of a parameter; the type as an entry has it, unless a class nearer than that of the entry declares another."""
    said = ""
    for base in _bases(cls):
        said = next((entry.type for entry in own_entries(base, "Parameters") if name in entry.names and entry.type), "")
        if said or name in vars(base).get("_own_parameters", {}):
            break
    return (said or type_text(hint)) + ("" if default is inspect.Parameter.empty else f", default={literal(default)}")


def type_text(hint: Any) -> str:
    """A type as numpydoc spells it: ``int, "auto" or None``."""
    found = list(dict.fromkeys(alternatives(hint)))
    *most, last = [one for one in found if one != "None"] + ["None"] * ("None" in found)
    return f"{', '.join(most)} or {last}" if most else last


def alternatives(hint: Any) -> list[str]:
    """The alternatives of a type in words; an empty one where a rule has no name (see `TypeName`)."""
    kind = get_origin(hint)
    if kind is Annotated:
        names = [rule for rule in hint.__metadata__ if isinstance(rule, TypeName)]
        return list(names[-1].alternatives) if names else [_rule_text(rule) for rule in hint.__metadata__]
    if kind in (Union, UnionType):
        return [words for part in get_args(hint) for words in alternatives(part)]
    if kind is Literal:
        options = get_args(hint)
        return [literal_set(options) if len(options) > 1 else literal(options[0])]
    return [_rule_text(kind or hint)]


def _rule_text(rule: Any) -> str:
    if isinstance(rule, Interval):
        return _interval_text(rule)
    if isinstance(rule, Options):
        return literal_set(sorted(rule.options))
    if isinstance(rule, Function) or getattr(rule, "__name__", "") == "Callable":
        return "callable"
    if rule is NoneType:
        return "None"
    return rule.__name__ if isinstance(rule, type) else ""


def _interval_text(span: Any) -> str:
    """``float in (0, 1]`` where both ends are bounded, ``int >= 2`` where the lower one is unusual, else ``int`` or ``float``."""
    kind = "int" if span.type is Integral else "float"
    if span.left is not None and span.right is not None:
        opening = "[" if span.closed in ("left", "both") else "("
        closing = "]" if span.closed in ("right", "both") else ")"
        return f"{kind} in {opening}{span.left}, {span.right}{closing}"
    usual = {None, 0, 1} if kind == "int" else {None, 0}
    return kind if span.left in usual else f"{kind} >{'=' if span.closed == 'left' else ''} {span.left}"


# ---------------------------------------------------------------------- attributes
def _described_by(cls: Any) -> Iterator[type]:
    """The class and its bases; a class with its own ``partial_fit`` is followed by that of its statistic."""
    for base in _bases(cls):
        yield base
        if "partial_fit" in vars(base) and hasattr(cls, "_streaming"):
            yield type(cls._streaming)


def attributes(cls: type) -> list[Entry]:
    """The section ``Attributes``: entries of the class, then those of its bases for attributes that have none yet."""
    found: list[Entry] = []
    known: set[str] = set()
    for base in _described_by(cls):
        for entry in own_entries(base, "Attributes"):
            names = tuple(name for name in entry.names if name not in known)
            known.update(names)
            if names and entry.type != ABSENT:
                found.append(Entry(names, entry.type, entry.text))
    return found
