"""Read tables from text with any separator, decimal mark and encoding, with or without a header; and from JSON."""

from __future__ import annotations

import csv
import json
import math
import re
import warnings
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import MemoryLimitError
from ...numerics.memory import available_memory, human_bytes, require
from ..console import Unfit, listed, note
from .encoding import OPENERS, Scan, open_text, scan
from .number_cells import numbers_in
from .source import Reading

#: Peak bytes that pandas needs per cell, besides the text itself, and in addition per cell of text (measured).
_CELL_BYTES, _WORD_BYTES = 22.0, 40.0
#: Bytes of Python objects per byte of JSON (measured: 9 to 20).
_JSON_FACTOR = 20.0
#: Number of lines from which the share of numeric cells is estimated.
_SAMPLE_LINES = 10
#: Advice for a table that does not fit in memory.
SMALLER = (
    "Use fewer rows or columns, or a machine with more memory; eigenspan embed with pca or another linear method reads .csv, .parquet and "
    ".npy in chunks."
)


def read_text(path: Path, reading: Reading) -> Any:
    """Read a table of separated text."""
    require_text(path)
    (frame,) = text_frames(path, reading, None)
    return as_numbers(frame, reading)


def text_bytes(path: Path, most: float = math.inf) -> float:
    """Return the peak bytes of reading a text file as a whole; infinite if it has more than `most` uncompressed bytes."""
    found = scan(path, most)
    if found.size > most:
        return math.inf
    lines = _first_lines(path, found)
    delimiter = _delimiter_of(path, lines)
    rows = [_split(line, delimiter) for line in lines[:_SAMPLE_LINES]]
    columns = max(map(len, rows), default=1)
    words = sum(not _is_number(cell) for row in rows[1:] for cell in row) / max(1, len(rows) - 1)
    return found.size + found.lines * (_CELL_BYTES * columns + _WORD_BYTES * words)


def text_columns(path: Path) -> int:
    """Return the number of columns of a text file, judged by its first lines."""
    lines = _first_lines(path, scan(path))
    return max((len(_split(line, _delimiter_of(path, lines))) for line in lines), default=1)


def require_text(path: Path) -> None:
    """Refuse a text file that does not fit in memory; a compressed one is decompressed only until that is known."""
    most = available_memory() if path.suffix.lower() in OPENERS else math.inf
    needed = text_bytes(path, most)
    if math.isinf(needed):
        raise MemoryLimitError(
            f"{str(path)!r} holds more text than the available memory ({human_bytes(most)}). {SMALLER}"
        )
    require(needed, f"Reading {str(path)!r}, {human_bytes(scan(path).size)} of text,", SMALLER)


def text_frames(path: Path, reading: Reading, rows: int | None) -> Iterator[Any]:
    """Yield frames of `rows` rows each; one frame of all rows if `rows` is None."""
    import pandas as pd

    options, headless = _format(path, reading)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            with pd.read_csv(path, iterator=True, chunksize=rows, **options) as parts:
                for frame in [parts.read()] if rows is None else parts:
                    if headless:
                        frame.columns = [f"column {i + 1}" for i in range(frame.shape[1])]
                    yield frame
    except (pd.errors.ParserError, pd.errors.EmptyDataError, pd.errors.ParserWarning, ValueError) as failure:
        if "out of memory" in str(failure):
            raise MemoryError(f"reading {str(path)!r} failed") from failure
        raise Unfit(f"{str(path)!r} cannot be read as a table: {failure}") from failure


def _format(path: Path, reading: Reading) -> tuple[dict[str, Any], bool]:
    """Return the options of ``pandas.read_csv``, and whether the file has no header."""
    found = scan(path)
    lines = _first_lines(path, found)
    delimiter = _delimiter_of(path, lines)
    options: dict[str, Any] = {
        "encoding": found.encoding,
        "encoding_errors": found.errors,
        "na_values": list(reading.na),
        "skipinitialspace": True,
        "sep": delimiter,
        "decimal": reading.decimal or ("," if _decimal_comma(lines, delimiter) else "."),
        "thousands": reading.thousands or None,
        "index_col": False,
    }
    if delimiter != r"\s+":
        options["low_memory"] = False
    if options["thousands"] == options["decimal"]:
        options["thousands"] = None
    cells = _split(lines[0], delimiter) if lines else []
    if headless := _all_numbers(cells):
        note(
            "The first line holds only numbers, so the file has no header: the columns are named 'column 1', 'column 2', …"
        )
        options["header"] = None
    return options, headless


def as_numbers(frame: Any, reading: Reading) -> Any:
    """Convert text columns of numbers in human notation to numbers, and report the notation."""
    import pandas as pd

    columns_by_notation: dict[str, list[str]] = {}
    for name in frame.columns:
        column = frame[name]
        if not (pd.api.types.is_object_dtype(column) or pd.api.types.is_string_dtype(column)):
            continue
        found = numbers_in(column, reading.decimal, reading.thousands)
        if found is not None:
            frame[name] = found[0]
            columns_by_notation.setdefault(str(found[1]), []).append(str(name))
    for notation, names in columns_by_notation.items():
        shown = listed(names, 5)
        note(
            f"Read as numbers, {notation}: {shown}. If that is wrong, use --decimal or --thousands."
            if notation != "as numbers"
            else f"Read as numbers: {shown}."
        )
    return frame


def read_json(path: Path, reading: Reading) -> Any:
    """Read one object per line, a list of objects, or one object of lists."""
    import pandas as pd

    found = scan(path, available_memory(), rows=False)
    require(_JSON_FACTOR * found.size, f"Reading {str(path)!r}, {human_bytes(found.size)} of JSON or more,", SMALLER)
    try:
        with open_text(path, found) as file:
            whole = file.read().removeprefix("\ufeff")
        try:
            held = json.loads(whole)
        except json.JSONDecodeError:
            held = [json.loads(line) for line in whole.splitlines() if line.strip()]
        if isinstance(held, dict) and not any(isinstance(value, list | dict) for value in held.values()):
            held = [held]
        _require_cells(path, held)
        frame = pd.DataFrame(held)
    except (ValueError, TypeError, RecursionError, UnicodeError) as failure:
        raise Unfit(
            f"{str(path)!r} is not a table in JSON ({failure}). Use one object per line, or a list of objects."
        ) from failure
    frame.columns = [str(name) for name in frame.columns]
    frame = with_plain_cells(frame)
    return as_numbers(frame.replace(list(reading.na), pd.NA) if reading.na else frame, reading)


def with_plain_cells(frame: Any) -> Any:
    """Convert lists, arrays and dicts in cells to text, because they cannot be compared."""
    import pandas as pd

    for name in frame.columns:
        if pd.api.types.is_object_dtype(frame[name]):
            nested = frame[name].map(lambda cell: isinstance(cell, list | tuple | dict | set | np.ndarray))
            if nested.any():
                frame[name] = frame[name].map(
                    lambda cell: str(cell) if isinstance(cell, list | tuple | dict | set | np.ndarray) else cell
                )
    return frame


def _require_cells(path: Path, held: Any) -> None:
    """Refuse objects with too few names in common: every distinct name becomes a column with one cell per object."""
    if isinstance(held, list) and set(map(type, held)) == {dict}:
        columns = len(set().union(*held))
        what = f"The table in {str(path)!r}, {len(held)} objects with {columns} distinct names,"
        require(2.0 * 8 * len(held) * columns, what, "Give all objects the same names.")


def _first_lines(path: Path, found: Scan, count: int = 30) -> list[str]:
    """Return the first non-empty lines, to detect the format."""
    with open_text(path, found) as file:
        lines = [line.rstrip("\r\n") for line in islice(file, count)]
    return [line for line in lines if line.strip()]


def _delimiter_of(path: Path, lines: list[str]) -> str:
    return "\t" if ".tsv" in path.suffixes else _delimiter(lines)


def _split(line: str, delimiter: str) -> list[str]:
    return line.split(None if delimiter == r"\s+" else delimiter)


def _delimiter(lines: list[str]) -> str:
    """Return the separator that splits the most lines into equally many cells; whitespace if no other splits any."""
    best, score = ",", 0
    for candidate in (",", ";", "\t", "|"):
        widths = [len(row) for row in _cells(lines, candidate)]
        common = max(set(widths), key=widths.count) if widths else 1
        if common > 1 and (found := widths.count(common) * 1000 + common) > score:
            best, score = candidate, found
    widths = [len(line.split()) for line in lines]
    if len(set(widths)) == 1 and widths[0] > 1 and (not score or _separated_by_whitespace(lines, best)):
        return r"\s+"
    return best


def _cells(lines: list[str], delimiter: str) -> list[list[str]]:
    """Split lines into cells; by every delimiter if a cell is longer than the csv module accepts."""
    try:
        return list(csv.reader(lines, delimiter=delimiter))
    except csv.Error:
        return [line.split(delimiter) for line in lines]


def _separated_by_whitespace(lines: list[str], best: str) -> bool:
    """Whether commas are decimal marks in whitespace-separated text: every cell is then a number."""
    return best == "," and all(_all_numbers(line.split()) for line in lines[1:])


def _decimal_comma(lines: list[str], delimiter: str) -> bool:
    """Whether more cells look like 3,14 than like 3.14, in a file not separated by commas."""
    rows = [line.split() for line in lines[1:]] if delimiter == r"\s+" else _cells(lines[1:], delimiter)
    cells = [cell.strip() for row in rows for cell in row]
    written = {mark: sum(bool(re.fullmatch(rf"[-+]?\d*{mark}\d+", cell)) for cell in cells) for mark in (",", r"\.")}
    return delimiter != "," and written[","] > written[r"\."]


def _is_number(cell: str) -> bool:
    return re.fullmatch(r"\s*[-+]?(\d+[.,]?\d*|[.,]\d+)([eE][-+]?\d+)?\s*", cell) is not None


def _all_numbers(cells: list[str]) -> bool:
    return bool(cells) and all(map(_is_number, cells))
