"""The tables of docs/model-format.md, made from the schema: ``python docs/_site/model_format.py`` writes them anew."""

from __future__ import annotations

from pathlib import Path

from eigenspan.models.schema import described
from eigenspan.models.schema.estimator_kinds import ATTRIBUTES

PAGE = Path(__file__).parents[1] / "model-format.md"
START, END = "<!-- tables: written by docs/_site/model_format.py -->", "<!-- end of tables -->"


def tables() -> str:
    """Kinds with their fields, and attributes of methods with their types, as Markdown."""
    rows = [(name, version, fields) for name, version, fields in described()]
    methods = [name.removeprefix("method.") for name, _, _ in rows if name.startswith("method.")]
    specs = [name.removeprefix("spec.") for name, _, _ in rows if name.startswith("spec.")]
    rest = [row for row in rows if not row[0].startswith(("method.", "spec."))]
    lines = ["| kind | version | fields |", "|---|---|---|"]
    lines += [f"| `{name}` | {version} | {_escaped(fields)} |" for name, version, fields in rest]
    lines += ["", f"`method.` and one of: {', '.join(methods)}.", "", f"`spec.` and one of: {', '.join(specs)}.", ""]
    lines += ["| attribute of a method | type |", "|---|---|"]
    lines += [f"| `{name}` | {_escaped(str(kind))} |" for name, kind in ATTRIBUTES.items()]
    return "\n".join(lines)


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*").replace("_", "\\_").replace("[", "\\[").replace("<", "&lt;")


if __name__ == "__main__":
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(START)
    after = rest.partition(END)[2]
    PAGE.write_text(f"{before}{START}\n\n{tables()}\n\n{END}{after}", encoding="utf-8")
