"""Escape text from files, file names, options and exceptions, so that it is safe to print on a terminal.

A terminal obeys control characters: they move the cursor, change the title, clear the screen or hide what follows. `escaped` shows
them as Python writes them (``\\x1b``, ``\\u202e``). Letters of any script, combining marks, joiners and emoji stay as they are.
"""

from __future__ import annotations

import re

#: Maximum number of characters shown of a name, and of a message.
_MAX_NAME, _MAX_MESSAGE = 60, 4000
#: Control characters (C0 except the line feed, DEL, C1), line and paragraph separators, invisible formatting characters, marks that
#: change the direction of text, and lone surrogates, which stand for undecodable bytes of file names.
_UNSAFE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]")
_SHORT = {"\t": "\\t", "\r": "\\r", "\n": "\\n"}


def escaped(text: str, lines: bool = False) -> str:
    """Replace every unsafe character by its escape; line feeds too, unless `lines`."""
    text = _UNSAFE.sub(_escape, text)
    return text if lines else text.replace("\n", "\\n")


def _escape(match: re.Match[str]) -> str:
    character = match.group()
    code = ord(character)
    return _SHORT.get(character) or (f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}")


def escaped_json(text: str) -> str:
    """Escape unsafe characters of a JSON document as JSON does; the decoded value does not change.

    ``json.dumps`` already escapes characters below a space. All others can only occur inside strings.
    """
    return _UNSAFE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def shortened(text: str, most: int = _MAX_NAME) -> str:
    """Shorten a text of more than `most` characters by leaving out its middle."""
    if len(text) <= most:
        return text
    tail = most // 4
    return f"{text[: most - tail - 1]}…{text[-tail:]}"


def name_of(value: object) -> str:
    """Format a name from a table as one short line."""
    return escaped(shortened(str(value)))


def quoted(value: object) -> str:
    """Format a name from a table in quotation marks, for messages."""
    return repr(shortened(str(value)))


def paragraph(message: str) -> str:
    """Join a message into one line: line breaks become spaces."""
    return escaped(shortened(re.sub(r"[ \t]*\r?\n[ \t\r\n]*", " ", message.strip()), _MAX_MESSAGE))
