"""The order of the pages, read off the tables of index.md: a section of the site for every heading there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

LINK = re.compile(r"\]\(([\w/-]+)\.md\)")


def sections(text: str) -> dict[str, tuple[str, list[str]]]:
    """Heading -> its text and the pages that it links to, in their order."""
    parts = re.split(r"^## (.+)\n", text, flags=re.MULTILINE)
    return {
        heading: (body.strip(), list(dict.fromkeys(LINK.findall(body))))
        for heading, body in zip(parts[1::2], parts[2::2], strict=True)
    }


def slug(heading: str) -> str:
    return heading.lower().replace(" ", "-")


def contents(names: list[str], *options: str) -> str:
    return "\n".join(["```{toctree}", ":hidden:", *options, "", *names, "```", ""])


def write_sections(docs: Path) -> None:
    """A page of its own for every section: its table, and the pages as its children."""
    folder = docs / "site"
    folder.mkdir(exist_ok=True)
    for heading, (body, names) in sections((docs / "index.md").read_text(encoding="utf-8")).items():
        body = LINK.sub(r"](../\1.md)", body)
        text = f"# {heading}\n\n{body}\n\n{contents(['/' + name for name in names])}"
        page = folder / f"{slug(heading)}.md"
        if not page.exists() or page.read_text(encoding="utf-8") != text:  # an untouched page is not built again
            page.write_text(text, encoding="utf-8")


def add_contents(app: Any, docname: str, source: list[str]) -> None:
    """The first page leads to the sections, the gallery, the examples and the reference."""
    if docname == "index":
        children = [f"site/{slug(heading)}" for heading in sections(source[0])]
        children += ["Gallery <site/gallery/index>", "site/examples/index", "site/reference/index"]
        source[0] += "\n" + contents(children)
