"""Text from files, file names, options and exceptions, made safe to show on a terminal.

A terminal obeys control characters: they move the cursor, change the title, clear the screen or hide what follows. `escaped` shows
them as Python writes them (``\\x1b``, ``\\u202e``). Letters of any script, combining marks, joiners and emoji stay as they are.
"""

from __future__ import annotations

import re

#: Characters of a name that are shown, at most, and of a message.
_NAME, _MESSAGE = 60, 4000
#: Control characters (C0 without the line feed, DEL, C1), line and paragraph separators, invisible characters without a use inside a
#: text, marks that reorder the text around them, and halves of surrogate pairs, which stand for undecodable bytes of file names.
_UNSAFE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]")
_SHORT = {"\t": "\\t", "\r": "\\r", "\n": "\\n"}


def escaped(text: str, lines: bool = False) -> str:
    """Show every unsafe character as its escape; line feeds too, unless the text may have several lines."""
    text = _UNSAFE.sub(_escape, text)
    return text if lines else text.replace("\n", "\\n")


def _escape(match: re.Match[str]) -> str:
    character = match.group()
    code = ord(character)
    return _SHORT.get(character) or (f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}")


def escaped_json(text: str) -> str:
    """Escape unsafe characters of a JSON document as JSON does; its value stays the same.

    ``json.dumps`` escapes those below a blank. All others can only stand inside strings.
    """
    return _UNSAFE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def shortened(text: str, most: int = _NAME) -> str:
    """Leave out the middle of a text of more than `most` characters."""
    if len(text) <= most:
        return text
    tail = most // 4
    return f"{text[: most - tail - 1]}…{text[-tail:]}"


def name_of(value: object) -> str:
    """A name from a table as one short line."""
    return escaped(shortened(str(value)))


def quoted(value: object) -> str:
    """A name from a table between quotation marks, for messages."""
    return repr(shortened(str(value)))


def paragraph(message: str) -> str:
    """A message on one line: line breaks become blanks."""
    return escaped(shortened(re.sub(r"[ \t]*\r?\n[ \t\r\n]*", " ", message.strip()), _MESSAGE))
