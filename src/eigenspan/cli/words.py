"""Rewrite the library's messages for the command line: parameters become options."""

from __future__ import annotations

import re

#: Patterns for what a Python user types, with the equivalent on the command line, in the order of replacement.
_REPLACEMENTS = (
    (r"eigenspan\.methods\(\)", "eigenspan methods"),
    (r"eigenspan\.find\(('[^']*'|\"[^\"]*\")\)", r"eigenspan info \1"),
    (r"(?:eigenspan\.)?intrinsic_dimension\(X[^)]*\)", "eigenspan dimension TABLE"),
    (r"\b(a function of \d+ values|an instance of '[\w.]+')", r"\1 (in Python only)"),
    (r"\bn_components\s?<=\s?(\d+)", r"-d \1 or less"),
    (r"\bn_components=(\"?\w+\"?|None)", r"-d \1"),
    (r"\bn_neighbors=(\d+)", r"-k \1"),
    (r"\bn_components\b", "-d"),
    (r"\bn_neighbors\b", "-k"),
    (r"\brandom_state\b", "--seed"),
    (r"\bpass (?=\w+=)", "use "),
    (
        r"(?<![\w\-.(\[`])([a-z]\w*)=(\"[^\"]*\"|'[^']*'|[+-]?\w[\w.+-]*\b)",
        lambda m: f"--set {m[1]}={m[2].strip(chr(34) + chr(39))}",
    ),
    (r"(?<![\w\-.(\[`])([a-z]\w+)=(?=[\s,.;:)]|$)", r"--set \1="),
)


def for_command_line(message: str) -> str:
    """Replace Python parameters and calls in a message by the options and commands that do the same."""
    for pattern, words in _REPLACEMENTS:
        message = re.sub(pattern, words, message)
    return message
