"""Tables as text: any separator, decimal mark and encoding, with or without a header; and JSON."""

from __future__ import annotations

import csv
import json
import re
import warnings
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from ..console import Unfit, listed, say
from .cells import numbers_in
from .source import OPENERS, Reading


def read_text(path: Path, reading: Reading) -> Any:
    """Rows of cells."""
    (frame,) = text_frames(path, reading, None)
    return as_numbers(frame, reading)


def text_frames(path: Path, reading: Reading, rows: int | None) -> Iterator[Any]:
    """Rows of cells, so many at a time; all at once for None."""
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
        raise Unfit(f"{str(path)!r} cannot be read as a table: {failure}") from failure


def _format(path: Path, reading: Reading) -> tuple[dict[str, Any], bool]:
    """How pandas is to read it, and whether it has no header."""
    lines, encoding = _first_lines(path)
    delimiter = "\t" if ".tsv" in path.suffixes else _delimiter(lines)
    options: dict[str, Any] = {
        "encoding": encoding,
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
    cells = lines[0].split(None if delimiter == r"\s+" else delimiter) if lines else []
    if headless := _all_numbers(cells):
        say(
            "The first line holds numbers only, so there is no header: the columns are called 'column 1', 'column 2', …"
        )
        options["header"] = None
    return options, headless


def as_numbers(frame: Any, reading: Reading) -> Any:
    """Columns of numbers as people write them become numbers; it is said how they were read."""
    import pandas as pd

    told: dict[str, list[str]] = {}
    for name in frame.columns:
        column = frame[name]
        if not (pd.api.types.is_object_dtype(column) or pd.api.types.is_string_dtype(column)):
            continue
        found = numbers_in(column, reading.decimal, reading.thousands)
        if found is not None:
            frame[name] = found[0]
            told.setdefault(str(found[1]), []).append(str(name))
    for how, names in told.items():
        shown = listed(names, 5)
        say(
            f"Read as numbers, {how}: {shown}. If that is wrong, say --decimal or --thousands."
            if how != "as numbers"
            else f"Read as numbers: {shown}."
        )
    return frame


def read_json(path: Path, reading: Reading) -> Any:
    """One object a line, or a list of objects, or one object of lists."""
    import pandas as pd

    opener = OPENERS.get(path.suffix.lower(), open)
    try:
        with opener(path, "rt", encoding="utf-8-sig") as file:
            whole = file.read()
        try:
            held = json.loads(whole)
        except json.JSONDecodeError:
            held = [json.loads(line) for line in whole.splitlines() if line.strip()]
        if isinstance(held, dict) and not any(isinstance(value, list | dict) for value in held.values()):
            held = [held]
        frame = pd.DataFrame(held)
    except (ValueError, TypeError, RecursionError, UnicodeError) as failure:
        raise Unfit(
            f"{str(path)!r} is not a table in JSON ({failure}): it takes one object a line, or a list of objects."
        ) from failure
    frame.columns = [str(name) for name in frame.columns]
    frame = with_plain_cells(frame)
    return as_numbers(frame.replace(list(reading.na), pd.NA) if reading.na else frame, reading)


def with_plain_cells(frame: Any) -> Any:
    """Lists, arrays and dicts in cells as text: they can be shown and set aside, but not compared."""
    import pandas as pd

    for name in frame.columns:
        if pd.api.types.is_object_dtype(frame[name]):
            nested = frame[name].map(lambda cell: isinstance(cell, list | tuple | dict | set | np.ndarray))
            if nested.any():
                frame[name] = frame[name].map(
                    lambda cell: str(cell) if isinstance(cell, list | tuple | dict | set | np.ndarray) else cell
                )
    return frame


def _first_lines(path: Path, count: int = 30) -> tuple[list[str], str]:
    """Some lines to learn the format from, and the encoding that reads the whole file."""
    opener = OPENERS.get(path.suffix.lower(), open)
    with opener(path, "rb") as file:
        start = file.read(4)
        encoding = "utf-16" if start[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        with opener(path, "rt", encoding=encoding) as file:
            while file.read(2**24):
                pass
    except UnicodeError:
        encoding = "latin-1"
        say(f"{path.name} is not UTF-8; it was read as Latin-1.")
    with opener(path, "rt", encoding=encoding) as file:
        lines = [line.rstrip("\r\n") for line in islice(file, count)]
    return [line for line in lines if line.strip()], encoding


def _delimiter(lines: list[str]) -> str:
    """The separator that splits the most lines into the same number of cells; blanks where no other splits any."""
    best, score = ",", 0
    for candidate in (",", ";", "\t", "|"):
        widths = [len(row) for row in csv.reader(lines, delimiter=candidate)]
        common = max(set(widths), key=widths.count) if widths else 1
        if common > 1 and (found := widths.count(common) * 1000 + common) > score:
            best, score = candidate, found
    widths = [len(line.split()) for line in lines]
    if len(set(widths)) == 1 and widths[0] > 1 and (not score or _blanks_rule(lines, best)):
        return r"\s+"
    return best


def _blanks_rule(lines: list[str], best: str) -> bool:
    """Commas that are decimal marks: every cell between blanks is a number, with the comma within it."""
    return best == "," and all(_all_numbers(line.split()) for line in lines[1:])


def _decimal_comma(lines: list[str], delimiter: str) -> bool:
    """More cells like 3,14 than like 3.14, in a file that does not separate by commas."""
    rows = [line.split() for line in lines[1:]] if delimiter == r"\s+" else csv.reader(lines[1:], delimiter=delimiter)
    cells = [cell.strip() for row in rows for cell in row]
    written = {mark: sum(bool(re.fullmatch(rf"[-+]?\d*{mark}\d+", cell)) for cell in cells) for mark in (",", r"\.")}
    return delimiter != "," and written[","] > written[r"\."]


def _all_numbers(cells: list[str]) -> bool:
    return bool(cells) and all(re.fullmatch(r"\s*[-+]?(\d+[.,]?\d*|[.,]\d+)([eE][-+]?\d+)?\s*", cell) for cell in cells)
