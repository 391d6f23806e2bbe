"""Draw sentences from the docstrings, comments and messages of the library, for a reader who knows none of the files."""

from __future__ import annotations

import ast
import io
import random
import re
import tokenize
from collections.abc import Iterator

from .house_source import ROOT, Module, modules

#: Calls whose first argument is a message.
SPEAKING = {"warn", "note"}
_END = re.compile(r"(?<=[.!?:])\s+(?=[A-Z\"'`(])")


def _docstrings(module: Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                # Examples, mathematics, headings of sections and names of parameters are not prose.
                prose = re.split(r"\n\s*(?:>>>|Examples\n)", text)[0]
                for paragraph in re.split(
                    r"\n\s*\n|\n(?=\S+[^\n]*\n {4})|(?<=\w)\n {4}(?=\S)", re.sub(r"\w+\n-{3,}\n", "\n\n", prose)
                ):
                    if not paragraph.lstrip().startswith((".. math", "==")) and not re.match(r"[\w*, ]+ : ", paragraph):
                        yield node.body[0].lineno, paragraph


def _comments(module: Module) -> Iterator[tuple[int, str]]:
    """Comments, those of consecutive lines as one text."""
    first, last, text = 0, -1, ""
    for token in tokenize.generate_tokens(io.StringIO(module.text).readline):
        if token.type != tokenize.COMMENT or token.string.startswith(("# ---", "# type:", "# noqa", "# fmt")):
            continue
        row, more = token.start[0], token.string.lstrip("#: ")
        if row == last + 1:
            text = f"{text} {more}"
        else:
            if text:
                yield first, text
            first, text = row, more
        last = row
    if text:
        yield first, text


def _messages(module: Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(module.tree):
        call = node.exc if isinstance(node, ast.Raise) else node
        if not isinstance(call, ast.Call) or not call.args:
            continue
        if isinstance(node, ast.Raise) or (isinstance(call.func, ast.Name) and call.func.id in SPEAKING):
            parts = call.args[0].values if isinstance(call.args[0], ast.JoinedStr) else [call.args[0]]
            texts = [str(part.value) if isinstance(part, ast.Constant) else "…" for part in parts]
            if any(isinstance(part, ast.Constant) for part in parts):
                yield node.lineno, "".join(texts)


def sentences() -> list[tuple[str, str]]:
    """All sentences of four words or more, each with its file and line."""
    found = set()
    for module in modules():
        for texts in (_docstrings(module), _comments(module), _messages(module)):
            for line, text in texts:
                for sentence in _END.split(re.sub(r"\s+", " ", text)):
                    if len(sentence.split()) >= 4:
                        found.add((f"{module.path.relative_to(ROOT).as_posix()}:{line}", sentence.strip()))
    return sorted(found)


def draw(count: int, seed: int) -> list[tuple[str, str]]:
    """A random sample of `sentences`."""
    return random.Random(seed).sample(sentences(), count)
