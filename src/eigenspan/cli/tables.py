"""Reading and writing tables: CSV, TSV, Parquet, NPZ and NPY, as they come from real users."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .console import Refusal, listed, say

FORMATS = (".csv", ".tsv", ".txt", ".parquet", ".npz", ".npy")


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
    if len(endings) > 1 and endings[-1] in (".gz", ".bz2", ".xz", ".zip", ".zst"):
        return endings[-2]
    return endings[-1] if endings else ""


def _read_text(path: Path, suffix: str, na: tuple[str, ...]) -> Any:
    import pandas as pd

    encoding = _encoding(path)
    options: dict[str, Any] = {
        "encoding": encoding,
        "na_values": list(na),
        "skipinitialspace": True,
        "low_memory": False,
    }
    try:
        head = pd.read_csv(path, sep="\n", header=None, nrows=30, engine="c", **{**options, "dtype": str, "quoting": 3})
    except (pd.errors.ParserError, ValueError):
        head = None
    lines = _first_lines(path, encoding) if head is None else head[0].dropna().astype(str).tolist()
    delimiter = "\t" if suffix == ".tsv" else _delimiter(lines)
    options |= {"sep": delimiter, "decimal": "," if _decimal_comma(lines, delimiter) else "."}
    if lines and _all_numbers(lines[0].split(delimiter)):
        say(
            "The first line holds numbers only, so there is no header: the columns are called 'column 1', 'column 2', …"
        )
        options |= {"header": None}
    try:
        frame = pd.read_csv(path, **options)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, ValueError) as failure:
        raise Refusal(f"{str(path)!r} cannot be read as a table: {failure}") from failure
    if "header" in options:
        frame.columns = [f"column {i + 1}" for i in range(frame.shape[1])]
    return frame
