"""Print docstrings on a terminal: formulas in Unicode, headings in bold, markup removed."""

from __future__ import annotations

import re
from contextlib import suppress

from ..errors import InputError
from .console import show


def render(text: str) -> None:
    """Print a docstring in numpydoc format."""
    from ..report.formulas import readable

    with suppress(InputError):  # formulas of other libraries may use commands unknown here
        text = readable(text)
    lines = text.splitlines()
    for i, line in enumerate(lines):
        if i and re.fullmatch(r"\s*-{3,}\s*", line):
            continue
        heading = i + 1 < len(lines) and re.fullmatch(r"-{3,}", lines[i + 1]) is not None
        if heading:
            show((line, "bold"))
        else:
            show(_plain(line))


def _plain(line: str) -> str:
    """Remove the markup of code and of references."""
    line = re.sub(r":[a-z]+:`([^`]+)`", r"\1", line)
    line = re.sub(r"``([^`]+)``", r"\1", line)
    return re.sub(r"(?<![\w`])`([^`\s][^`]*)`", r"\1", line)
