"""The reference: every public name on a page of its own, in the groups of the package's docstring."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import eigenspan
from eigenspan import errors
from eigenspan.methods.finder import american
from eigenspan.methods.registry import entries

#: Sub-packages with public names of their own, and what they are for.
PARTS = ("dimension", "forms", "quality", "plotting", "report", "models", "selection", "theory")
#: A public name in code, alone or called, with or without the package before it; what belongs to other packages is none.
NAME = re.compile(rf"(?:(?:eigenspan|es|errors|{'|'.join(PARTS)})\.)*(\w+)(?:\(.*\))?", flags=re.DOTALL)
#: Where a public name is not what Sphinx would find under it.
BEHIND = {"methods": "methods.registry.methods"}


def groups() -> Iterator[tuple[str, str, list[str]]]:
    """Section, group and names, as the package's docstring has them."""
    section = ""
    for line in re.sub(r",\n\s+", ", ", eigenspan.__doc__ or "").splitlines()[1:]:
        if line and not line.startswith(" "):
            section = line
        elif line.strip():
            names = re.findall(r"\w+(?:, \w+)*$", line)[0]
            yield section, line.removesuffix(names).strip(), names.split(", ")


def names_of(part: str) -> list[str]:
    return list(importlib.import_module(f"eigenspan.{part}").__all__)


def raised() -> list[str]:
    return [name for name, value in vars(errors).items() if inspect.isclass(value) and issubclass(value, Exception)]


def table(module: str, names: list[str]) -> list[str]:
    """Names with their first sentences, and a page for each."""
    entries = [f"   ~{BEHIND[name]}" if name in BEHIND else f"   {name}" for name in names]
    return [f".. currentmodule:: {module}", "", ".. autosummary::", "   :toctree: .", "   :nosignatures:", "", *entries]


def text() -> str:
    lines = ["Reference", "=========", "", "Every public name, with its parameters, attributes and an example.", ""]
    last = ""
    for section, group, names in groups():
        if section != last:
            lines += [section, "-" * len(section), ""]
        if group:
            title = group[0].upper() + group[1:]
            lines += [title, "~" * len(title), ""]
        lines += [*table("eigenspan", names), ""]
        last = section
    above = set(eigenspan.__all__)
    for part in PARTS:
        names = [name for name in names_of(part) if name not in above]
        if names:
            title = f"eigenspan.{part}"
            lines += [title, "-" * len(title), "", *table(title, names), ""]
    title = "eigenspan.errors"
    lines += [title, "-" * len(title), "", *table(title, raised()), ""]
    return "\n".join(lines)


def write(docs: Path) -> None:
    folder = docs / "site" / "reference"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "index.rst").write_text(text(), encoding="utf-8")


def places() -> dict[str, str]:
    """Public name -> the object that has its page; what the package itself has comes first."""
    found = {name: f"eigenspan.errors.{name}" for name in raised()}
    for part in reversed(PARTS):
        found |= {name: f"eigenspan.{part}.{name}" for name in names_of(part)}
    return found | {name: f"eigenspan.{BEHIND.get(name, name)}" for name in eigenspan.__all__}


def phrases() -> dict[str, str]:
    """Public name -> the phrases that `eigenspan.find` has for it, for its page and for the search of the site."""
    found: dict[str, list[str]] = {}
    for entry in entries():
        found.setdefault(entry.name, []).append(entry.phrase)
    return {name: ", ".join(dict.fromkeys(each for each in several if each != name)) for name, several in found.items()}


def known_as() -> dict[str, str]:
    """Public name -> a paragraph of what people call it, for its page, and words in American spelling for the site's search."""
    found = {}
    for name, several in phrases().items():
        words = re.findall(r"\w+", american(several))
        other = " ".join(dict.fromkeys(word for word in words if word not in several))
        hidden = f"\n\n.. meta::\n   :keywords: {other}" if other else ""
        found[name] = f"Known as: {several}.{hidden}"
    return found


def link_names(app: Any, doctree: Any) -> None:
    """A public name in code, such as ``LPP`` or ``LPP(2)``, becomes a link to its page."""
    from docutils import nodes
    from sphinx import addnodes

    known, here = places(), app.env.docname
    for literal in list(doctree.findall(nodes.literal)):
        called = NAME.fullmatch(literal.astext())
        target = known.get(called[1]) if called else None
        linked = any(
            isinstance(above, (nodes.title, nodes.reference, addnodes.pending_xref)) for above in ancestors(literal)
        )
        if target is None or linked or here == f"site/reference/{target}":
            continue
        link = addnodes.pending_xref(
            "", refdomain="py", reftype="obj", reftarget=target, refdoc=here, refexplicit=True, refwarn=False
        )
        literal.replace_self(link)
        link += literal


def ancestors(node: Any) -> Iterator[Any]:
    while node.parent is not None:
        node = node.parent
        yield node


def skip_foreign(app: Any, what: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:
    """What a class has from scikit-learn alone is described there."""
    module = getattr(inspect.unwrap(thing) if callable(thing) else thing, "__module__", None)
    return True if module is not None and not module.startswith("eigenspan") else None
