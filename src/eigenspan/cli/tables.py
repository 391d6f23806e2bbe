"""Reading and writing tables: CSV, TSV, Parquet, NPZ and NPY, as they come from real users."""

from __future__ import annotations

import bz2
import csv
import gzip
import lzma
import re
import warnings
import zipfile
import zlib
from itertools import islice
from pathlib import Path
from typing import Any

from .console import Refusal, listed, say

FORMATS = (".csv", ".tsv", ".txt", ".parquet", ".npz", ".npy")
_OPENERS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


def read_table(path: Path, na: tuple[str, ...] = ()) -> Any:
    """A data frame from a file of any known format.

    Parameters
    ----------
    path : Path
    na : tuple of str
        Further cell contents that stand for a missing value.
    """
    if not path.exists():
        raise Refusal(f"There is no file {str(path)!r}.")
    if path.is_dir():
        raise Refusal(f"{str(path)!r} is a directory; a table in one file is needed.")
    if path.stat().st_size == 0:
        raise Refusal(f"The file {str(path)!r} is empty (0 bytes).")
    suffix = _suffix(path)
    if suffix not in FORMATS:
        raise Refusal(f"{str(path)!r} has an unknown ending; known are {', '.join(FORMATS)} (text may be compressed).")
    try:
        if suffix in (".npz", ".npy"):
            frame = _read_numpy(path)
        elif suffix == ".parquet":
            frame = _read_parquet(path)
        else:
            frame = _read_text(path, suffix, na)
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as failure:
        raise Refusal(f"{str(path)!r} is damaged or was cut short: {failure}. Copy or download it again.") from failure
    except OSError as failure:
        raise Refusal(f"{str(path)!r} cannot be read: {failure}") from failure
    if not frame.shape[0] or not frame.shape[1]:
        raise Refusal(
            f"{str(path)!r} holds no data: {frame.shape[0]} rows and {frame.shape[1]} columns below the header."
        )
    frame.columns = [str(name).strip() for name in frame.columns]
    twice = frame.columns[frame.columns.duplicated()]
    if len(twice):
        raise Refusal(f"The columns {listed(dict.fromkeys(twice))} occur more than once in {str(path)!r}: rename them.")
    return frame


def _suffix(path: Path) -> str:
    endings = [s.lower() for s in path.suffixes]
    if len(endings) > 1 and endings[-1] in _OPENERS:
        return endings[-2]
    return endings[-1] if endings else ""


# ------------------------------------------------------------------------ text
def _read_text(path: Path, suffix: str, na: tuple[str, ...]) -> Any:
    import pandas as pd

    lines, encoding = _first_lines(path)
    delimiter = "\t" if suffix == ".tsv" else _delimiter(lines)
    options: dict[str, Any] = {
        "encoding": encoding,
        "na_values": list(na),
        "skipinitialspace": True,
        "low_memory": False,
        "sep": delimiter,
        "decimal": "," if _decimal_comma(lines, delimiter) else ".",
        "index_col": False,
    }
    if lines and _all_numbers(lines[0].split(delimiter)):
        say(
            "The first line holds numbers only, so there is no header: the columns are called 'column 1', 'column 2', …"
        )
        options |= {"header": None}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = pd.read_csv(path, **options)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, pd.errors.ParserWarning, ValueError) as failure:
        raise Refusal(f"{str(path)!r} cannot be read as a table: {failure}") from failure
    if "header" in options:
        frame.columns = [f"column {i + 1}" for i in range(frame.shape[1])]
    return frame


def _first_lines(path: Path, count: int = 30) -> tuple[list[str], str]:
    """Some lines to learn the format from, and the encoding that reads the whole file."""
    opener = _OPENERS.get(path.suffix.lower(), open)
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
    """The separator that splits the most lines into the same number of cells."""
    best, score = ",", 0
    for candidate in (",", ";", "\t", "|"):
        widths = [len(row) for row in csv.reader(lines, delimiter=candidate)]
        common = max(set(widths), key=widths.count) if widths else 1
        if common > 1 and (found := widths.count(common) * 1000 + common) > score:
            best, score = candidate, found
    return best


def _decimal_comma(lines: list[str], delimiter: str) -> bool:
    """More cells like 3,14 than like 3.14, in a file that does not separate by commas."""
    cells = [cell.strip() for row in csv.reader(lines[1:], delimiter=delimiter) for cell in row]
    written = {mark: sum(bool(re.fullmatch(rf"[-+]?\d*{mark}\d+", cell)) for cell in cells) for mark in (",", r"\.")}
    return delimiter != "," and written[","] > written[r"\."]


def _all_numbers(cells: list[str]) -> bool:
    return bool(cells) and all(re.fullmatch(r"\s*[-+]?(\d+[.,]?\d*|[.,]\d+)([eE][-+]?\d+)?\s*", cell) for cell in cells)


# ---------------------------------------------------------------------- binary
def _read_parquet(path: Path) -> Any:
    import pandas as pd

    try:
        frame = pd.read_parquet(path)
    except ImportError as failure:
        raise Refusal("Parquet files need pyarrow: pip install pyarrow") from failure
    except ValueError as failure:  # pyarrow's errors derive from it
        raise Refusal(f"{str(path)!r} is not a Parquet file: {failure}") from failure
    return frame if isinstance(frame.index, pd.RangeIndex) else frame.reset_index()


def _read_numpy(path: Path) -> Any:
    import numpy as np

    try:
        with path.open("rb") as file:
            loaded = np.load(file, allow_pickle=False)
            arrays = {"X": loaded} if isinstance(loaded, np.ndarray) else {name: loaded[name] for name in loaded.files}
    except (ValueError, EOFError, zipfile.BadZipFile) as failure:
        raise Refusal(f"{str(path)!r} is not a readable NumPy file: {failure}") from failure
    matrices = [name for name, array in arrays.items() if array.ndim >= 2]
    name = "X" if "X" in matrices else matrices[0] if len(matrices) == 1 else None
    if name is None:
        shapes = ", ".join(f"{key} {array.shape}" for key, array in arrays.items())
        raise Refusal(f"{str(path)!r} must hold one matrix, or one called X; it holds {shapes or 'nothing'}.")
    return _frame(arrays, name)


def _frame(arrays: dict[str, Any], name: str) -> Any:
    """The matrix with its columns numbered, and vectors of the same length as columns beside it (``attrs["beside"]``)."""
    import pandas as pd

    X = arrays[name]
    if X.ndim > 2:
        say(f"{name} has shape {X.shape}: its rows were unrolled.")
        X = X.reshape(X.shape[0], -1)
    if X.dtype.kind == "c":
        raise Refusal(f"{name} holds complex numbers; pass real and imaginary parts as separate columns.")
    beside = {key: array for key, array in arrays.items() if key != name and array.shape == (X.shape[0],)}
    left = [key for key in arrays if key != name and key not in beside]
    if left:
        say(f"Left out: {listed(left)} (not one value for each of the {X.shape[0]} rows).")
    frame = pd.DataFrame(X.astype("float32") if X.dtype.kind == "f" and X.itemsize < 4 else X)
    frame.columns = [f"x{i + 1}" for i in range(X.shape[1])]
    if beside:
        frame = pd.concat([frame, pd.DataFrame(beside)], axis=1)
        frame.attrs["beside"] = list(beside)
    return frame


# --------------------------------------------------------------------- writing
def check_output(path: Path | None, *inputs: Path) -> None:
    """Refuse, before any work, a place that cannot be written or that holds the input."""
    if path is None:
        return
    if not path.parent.is_dir():
        raise Refusal(f"There is no directory {str(path.parent)!r} to write {path.name!r} into.")
    if any(path.exists() and source.exists() and path.samefile(source) for source in inputs):
        raise Refusal(f"{str(path)!r} is the input: choose another name for the output.")


def write_table(frame: Any, path: Path) -> None:
    """Write by the ending of the name: .parquet, .tsv, otherwise comma-separated text."""
    try:
        if path.suffix.lower() == ".parquet":
            frame.to_parquet(path, index=False)
        else:
            frame.to_csv(path, index=False, sep="\t" if path.suffix.lower() == ".tsv" else ",")
    except (OSError, ImportError) as failure:
        raise Refusal(f"{str(path)!r} cannot be written: {failure}") from failure
