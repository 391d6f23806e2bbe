"""The gallery: figures of the papers, drawn anew, and the longer examples, run where that takes seconds."""

from __future__ import annotations

import ast
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

#: Examples that are run at every build, each with its arguments. The others take minutes or need data; they are shown with their figures.
RUN = {
    "displays": ["--fast"],
    "equivalent_kernels": ["--fast"],
    "sufficient_figures": ["--fast"],
    "toy_figures_s2": [],
}
HEADER = """Examples
========

Programs that print the numbers and draw the figures of these pages. Some are run when the site is built, most of them in a short form;
those that take minutes, or need data that cannot be passed on, are shown with the figures they have drawn.
"""


def figures_of(source: str, docs: Path) -> list[str]:
    """The stored pictures that an example speaks of, by name or pattern."""
    named = dict.fromkeys(re.findall(r"[\w*-]+\.png", source))
    found = [
        path for name in named for folder in ("images", "reproductions") for path in sorted((docs / folder).glob(name))
    ]
    return [path.relative_to(docs).as_posix() for path in found]


def staged(script: Path, docs: Path) -> str:
    """The script as the gallery wants it: a heading over its docstring, and stored figures where it is not run."""
    source = script.read_text(encoding="utf-8")
    first, _, rest = (ast.get_docstring(ast.parse(source)) or script.stem).partition("\n")
    title = re.split(r':|, "', first.rstrip("."))[0]
    rest = re.sub(r"^    (\S*\s?python .*)$", r".. code-block:: console\n\n   \1", rest, flags=re.MULTILINE)
    figures = [] if script.stem in RUN else figures_of(source, docs)
    shown = "".join(f"\n.. image:: /{name}\n" for name in figures)
    heading = f"{title}\n{'=' * (len(title) + 2)}\n\n{first}\n{rest}\n{shown}"
    thumbnail = f"# sphinx_gallery_thumbnail_path = '{figures[0]}'\n" if figures else ""
    body = source.partition('"""')[2].partition('"""')[2]
    return f'r"""{heading}"""\n{thumbnail}{body}'


def stage(docs: Path) -> Path:
    """All examples with headings, in a folder of their own; those that have not changed are left as they are."""
    folder = docs / "site" / "scripts"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "GALLERY_HEADER.rst").write_text(HEADER, encoding="utf-8")
    for script in sorted((docs.parent / "examples").glob("[!_]*.py")):
        text, copy = staged(script, docs), folder / script.name
        if not copy.exists() or copy.read_text(encoding="utf-8") != text:
            copy.write_text(text, encoding="utf-8")
    return folder


class Saved:
    """Figures that an example saves in the folder it is given as ``--out``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __repr__(self) -> str:
        return "Saved()"

    def __call__(self, block: Any, variables: dict[str, Any], settings: dict[str, Any], **_: Any) -> str:
        from sphinx_gallery.scrapers import figure_rst

        drawn = []
        for picture in sorted(self.folder.glob("*.png")):
            target = next(variables["image_path_iterator"])
            shutil.move(picture, target)
            drawn.append(target)
        return figure_rst(drawn, settings["src_dir"])


class Arguments:
    """What an example is told: the short form, and where its figures go."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __repr__(self) -> str:
        return "Arguments()"

    def __call__(self, settings: dict[str, Any], variables: dict[str, Any]) -> list[str]:
        script = Path(variables["src_file"])
        takes_out = '"--out"' in script.read_text(encoding="utf-8")
        return [*RUN.get(script.stem, []), *(["--out", str(self.folder)] if takes_out else [])]


def configuration(docs: Path) -> dict[str, Any]:
    drawn = docs / "_build" / "drawn"
    drawn.mkdir(parents=True, exist_ok=True)
    ran, made = "|".join(RUN), "" if "EIGENSPAN_DATA" in os.environ else "(?!data_)"
    sys.path[:0] = [str(docs.parent / "examples" / "gallery"), str(docs.parent / "examples")]  # what its scripts share
    return {
        "examples_dirs": [str(docs.parent / "examples" / "gallery"), str(stage(docs))],
        "gallery_dirs": ["site/gallery", "site/examples"],
        "filename_pattern": rf"/gallery/\w+/{made}|/scripts/({ran})\.py$",
        "ignore_pattern": r"__main__\.py|beside\.py",
        "default_thumb_file": str(docs / "images" / "concepts.png"),
        "image_scrapers": ("matplotlib", Saved(drawn)),
        "reset_argv": Arguments(drawn),
        "abort_on_example_error": True,
        "within_subsection_order": "FileNameSortKey",
        "download_all_examples": False,
        "capture_repr": (),  # what a script prints, not the objects that its lines leave
        "remove_config_comments": True,
        "show_memory": False,
        "min_reported_time": 1,
        "nested_sections": True,
    }
