"""Encoding, size and number of lines of a text file, found in one pass."""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from ...errors import MemoryLimitError
from ...numerics.memory import available_memory, human_bytes
from ..console import Unfit, note, output_options

#: Functions that open compressed text, by file ending.
OPENERS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
#: First bytes of compressed files, and the file ending of the format.
_COMPRESSED = ((b"\x1f\x8b", ".gz"), (b"BZh", ".bz2"), (b"\xfd7zXZ\x00", ".xz"), (b"\x28\xb5\x2f\xfd", ".zst"))
#: Byte order marks. Longer ones first: that of UTF-32 begins with that of UTF-16.
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
#: Bytes read at a time, and bytes from which the encoding is guessed if there is no byte order mark.
_BLOCK_BYTES, _START_BYTES = 2**20, 4096
#: Maximum bytes of a line; longer lines are accepted up to this share of the available memory.
_MAX_LINE_BYTES, _MAX_LINE_SHARE = 2**26, 0.1
#: Bytes that are control characters in Latin-1, and letters or quotation marks in Windows-1252.
_WINDOWS = re.compile(rb"[\x80-\x9f]")


@dataclass(frozen=True)
class Scan:
    """Result of a pass over a text file.

    Parameters
    ----------
    encoding, errors : str
        As for `open`; errors is "replace" if some bytes are invalid in every encoding tried.
    size : int
        Uncompressed bytes: all of them, or more than the limit of the scan.
    lines : int
    note : str
        Remark on the encoding for the user; empty for valid UTF-8.
    """

    encoding: str
    errors: str
    size: int
    lines: int
    note: str = ""


def open_bytes(path: Path) -> IO[bytes]:
    """Open a text file as bytes, uncompressed if its ending says that it is compressed."""
    opener = OPENERS.get(path.suffix.lower(), open)
    return opener(path, "rb")


def open_text(path: Path, found: Scan) -> IO[str]:
    """Open a text file with the encoding found."""
    opener = OPENERS.get(path.suffix.lower(), open)
    return opener(path, "rt", encoding=found.encoding, errors=found.errors, newline=None)


def utf16_of(start: bytes) -> str:
    """Return the UTF-16 codec for text without a byte order mark, or "". In UTF-16, every second byte of ASCII text is zero."""
    even, odd = (start[offset::2].count(0) for offset in (0, 1))
    most, least = max(even, odd), min(even, odd)
    if most < max(2, len(start) // 20) or least > most // 10:
        return ""
    return "utf-16-le" if odd > even else "utf-16-be"


def scan(path: Path, most: float = math.inf, *, rows: bool = True) -> Scan:
    """Scan a file, once per command; stop after `most` bytes, in which case `size` exceeds `most`.

    Raises `MemoryLimitError` for a line too long to hold in memory, if `rows` (a line is a row).
    """
    status, seen = path.stat(), output_options().scans
    key = (str(path), status.st_mtime_ns, status.st_size)
    if key not in seen or (seen[key][1] < most and seen[key][0].size > seen[key][1]):
        found = _scan(path, most, rows)
        seen[key] = (found, most)
        if found.note and found.size <= most:
            note(f"{path.name} {found.note}.")
    return seen[key][0]


def _scan(path: Path, most: float, rows: bool) -> Scan:
    size, lines, tail, longest = 0, 0, 0, float(_MAX_LINE_BYTES) if rows else math.inf
    checks: _Checks | None = None
    with open_bytes(path) as file:
        while size <= most and (block := file.read(_BLOCK_BYTES)):
            if checks is None:
                refuse_packed(path, block)
                checks = _Checks(block)
            size += len(block)
            end = b"\n" if b"\n" in block else b"\r"
            lines += int(
                np.count_nonzero(np.frombuffer(block, np.uint8) == end[0])
            )  # faster than bytes.count for short lines
            last = block.rfind(end)
            tail = len(block) - last - 1 if last >= 0 else tail + len(block)
            if tail > longest and tail > (longest := max(longest, _MAX_LINE_SHARE * available_memory())):
                raise MemoryLimitError(
                    f"{str(path)!r} has a line of more than {human_bytes(longest)}, too long for a row of a table that fits in memory. "
                    "Check "
                    "that it is a text file with one row per line."
                )
            checks.read(block)
    checks = checks or _Checks(b"")
    return Scan(*checks.encoding(size <= most), size, lines + (tail > 0), checks.note)


def refuse_packed(path: Path, start: bytes) -> None:
    """Refuse compressed data whose file ending does not say so, or whose compression is not supported."""
    for magic, ending in _COMPRESSED:
        if start.startswith(magic) and ending not in OPENERS:
            raise Unfit(
                f"{str(path)!r} is compressed with Zstandard, which is not supported: decompress it first with zstd -d."
            )
        if start.startswith(magic) and path.suffix.lower() not in OPENERS:
            raise Unfit(f"{str(path)!r} is compressed: rename it to end in {ending}, or decompress it first.")


class _Checks:
    """Incremental tests of encodings, one block of bytes at a time."""

    def __init__(self, start: bytes) -> None:
        self.name = next((name for mark, name in _BYTE_ORDER_MARKS if start.startswith(mark)), "") or utf16_of(
            start[:_START_BYTES]
        )
        self.guessed = self.name in ("utf-16-le", "utf-16-be")
        self.decoder: Any = codecs.getincrementaldecoder(self.name or "utf-8")("strict")
        self.valid = True
        #: Number of bytes in valid non-ASCII characters, number of invalid bytes, and whether some bytes are letters only in Windows-1252.
        self.good = self.bad = 0
        self.windows = False
        self.note = ""

    def read(self, block: bytes) -> None:
        """Update the tests with the next block."""
        plain = not self.name and block.isascii()
        if self.valid and not (plain and not self.decoder.getstate()[0]):
            before = self.decoder.getstate()[0]
            try:
                self.good += len(block) - len(self.decoder.decode(block))
            except UnicodeDecodeError:
                self.valid = False
                block = before + block
        if not self.valid and not plain:
            text = block.decode("utf-8", "replace")
            bad = text.count("\ufffd")
            self.bad += bad
            self.good += len(block) - len(text)
            self.windows = self.windows or _WINDOWS.search(block) is not None

    def encoding(self, whole: bool) -> tuple[str, str]:
        """Return the encoding and the error handler of `open`, and set the note."""
        if self.valid and whole and self.decoder.getstate()[0]:
            self.valid, self.bad = False, 1  # the file ends within a character
        if self.name:
            known = {"utf-8-sig": "UTF-8", "utf-16-le": "UTF-16 (little-endian)", "utf-16-be": "UTF-16 (big-endian)"}
            called = known.get(self.name, self.name.upper())
            self.note = f"has no byte order mark; reading it as {called}" if self.guessed else ""
            if not self.valid:
                self.note = f"has invalid bytes; reading it as {called}, with \ufffd for each of them"
            return self.name, "strict" if self.valid else "replace"
        if self.valid:
            return "utf-8", "strict"
        if self.good > self.bad:
            self.note = "has bytes that are not valid UTF-8; reading it as UTF-8, with \ufffd for each of them"
            return "utf-8", "replace"
        self.note = f"is not UTF-8; reading it as {'Windows-1252' if self.windows else 'Latin-1'}"
        return ("cp1252", "replace") if self.windows else ("latin-1", "strict")
