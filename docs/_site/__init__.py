"""What the site adds to the pages: sections, the reference, examples that are run, links from names, and MathJax."""

from __future__ import annotations

import importlib.metadata
import shutil
from pathlib import Path
from typing import Any

from . import pages, reference


def ship_mathjax(app: Any, error: Exception | None) -> None:
    """MathJax from the package that carries it, one file, so that formulas are set without a network."""
    if error is None and app.builder.format == "html":
        carried = importlib.metadata.distribution("sphinx-mathjax-offline")
        source = carried.locate_file("sphinx-mathjax-offline/static/mathjax/tex-svg.js")
        target = Path(app.outdir) / "_static" / app.config.mathjax_path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(str(source), target)


def setup(app: Any) -> dict[str, bool]:
    app.connect("source-read", pages.add_contents)
    app.connect("doctree-read", reference.link_names)
    app.connect("autodoc-skip-member", reference.skip_foreign)
    app.connect("build-finished", ship_mathjax)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
