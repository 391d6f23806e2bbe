"""Messages of the library in the words of the command line."""

from __future__ import annotations

import re

#: What a Python user types, and what does the same here, in the order in which they are replaced.
_SAID = (
    (r"eigenspan\.methods\(\)", "eigenspan methods"),
    (r"(?:eigenspan\.)?intrinsic_dimension\(X[^)]*\)", "eigenspan dimension TABLE"),
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


def in_words(message: str) -> str:
    """The same message for somebody who types commands."""
    for pattern, words in _SAID:
        message = re.sub(pattern, words, message)
    return message
