"""Read a table from a file, a folder or a pipe; detect its format."""

from __future__ import annotations

import gzip
import lzma
import sys
import zipfile
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..._files import copy_of_stream, is_draft
from ..console import Unfit, Usage, listed, note
from .encoding import OPENERS, refuse_packed, utf16_of

#: Formats by file ending.
KINDS = {
    **dict.fromkeys((".csv", ".tsv", ".tab", ".txt", ".dat"), "text"),
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), "json"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".feather", ".arrow"), "feather"),
    **dict.fromkeys((".xlsx", ".xlsm", ".xls"), "excel"),
    **dict.fromkeys((".npz", ".npy"), "numpy"),
    ".h5ad": "anndata",
}
#: Endings of files that are certainly not supported tables.
_OTHERS = (
    ".doc",
    ".docx",
    ".pdf",
    ".png",
    ".jpg",
    ".jpeg",
    ".gif",
    ".svg",
    ".html",
    ".pkl",
    ".pickle",
    ".rds",
    ".rdata",
    ".mat",
    ".sav",
    ".dta",
)
#: Exceptions of decompression if bytes are wrong or missing.
PACKED_DAMAGE = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile)
#: First bytes of binary formats.
_MAGIC = ((b"PAR1", "parquet"), (b"ARROW1", "feather"), (b"\x93NUMPY", "numpy"), (b"\x89HDF", "anndata"))


@dataclass(frozen=True)
class Reading:
    """The user's options for reading a file.

    Parameters
    ----------
    na : tuple of str
        Further cell contents to treat as missing.
    decimal, thousands : str or None
        Marks in numbers; detected from the cells if None.
    sheet : str or None
        Sheet of a workbook; the first if None.
    """

    na: tuple[str, ...] = ()
    decimal: str | None = None
    thousands: str | None = None
    sheet: str | None = None


def read_table(path: Path, reading: Reading | None = None) -> Any:
    """Return a data frame from a file of any supported format."""
    reading = reading or Reading()
    path = local_copy(path)
    kind = _kind(path)
    try:
        frame = _reader(kind)(path, reading)
    except PACKED_DAMAGE as failure:
        raise Unfit(f"{str(path)!r} is damaged or was cut short: {failure}. Copy or download it again.") from failure
    except OSError as failure:
        raise Unfit(f"{str(path)!r} cannot be read: {failure}") from failure
    if not frame.shape[0] or not frame.shape[1]:
        raise Unfit(
            f"{str(path)!r} holds no data: {frame.shape[0]} rows and {frame.shape[1]} columns below the header."
        )
    frame.columns = [str(name).strip() for name in frame.columns]
    twice = frame.columns[frame.columns.duplicated()]
    if len(twice):
        raise Unfit(
            f"The columns {listed(dict.fromkeys(twice))} occur more than once in {str(path)!r}: rename the duplicates."
        )
    return frame


def _reader(kind: str) -> Any:
    from . import binary, text

    return {
        "text": text.read_text,
        "json": text.read_json,
        "parquet": binary.read_parquet,
        "feather": binary.read_feather,
        "excel": binary.read_excel,
        "numpy": binary.read_numpy,
        "anndata": binary.read_anndata,
    }[kind]


def local_copy(path: Path) -> Path:
    """Return the file itself, or a temporary copy of a pipe, kept until the command ends."""
    piped = str(path) == "-"
    if not piped and not path.exists():
        raise Usage(f"There is no file {str(path)!r}.")
    if is_draft(path):
        raise Unfit(f"{str(path)!r} is incomplete: it is the temporary file of a command that was killed. Delete it.")
    if not piped and path.is_dir():
        parquet_files(path)
        return path
    if piped or not path.is_file():
        path = copy_of_stream(sys.stdin.buffer if piped else path.open("rb"), "stdin")
    if path.stat().st_size == 0:
        raise Unfit("Standard input is empty (0 bytes)." if piped else f"The file {str(path)!r} is empty (0 bytes).")
    return path


def parquet_files(folder: Path) -> list[Path]:
    """Return the Parquet files of a folder in the order of their names, without metadata files (``_*``, ``.*``)."""
    files = [path for path in sorted(folder.iterdir()) if not path.name.startswith(("_", "."))]
    found = [path for path in files if path.is_file() and KINDS.get(path.suffix.lower()) == "parquet"]
    nested = [path.name for path in files if path.is_dir() and next(path.rglob("*.parquet"), None)]
    if nested:
        raise Usage(
            f"{str(folder)!r} holds folders of Parquet files, such as {nested[0]!r}. Their names may hold data, so they are not "
            "combined: name one of them."
        )
    if not found:
        raise Usage(f"{str(folder)!r} is a directory without Parquet files: name a file, or a folder of Parquet files.")
    return found


def refuse_other_columns(path: Path, columns: Iterable[tuple[str, list[Any]]]) -> None:
    """Raise Unfit unless all files of a table have the same columns; `columns` are pairs of file name and columns."""
    first: list[Any] | None = None
    for name, found in columns:
        first = found if first is None else first
        if found != first:
            raise Unfit(
                f"The columns of {str(path)!r} change within the table ({name}): {listed(found, 5)} after {listed(first, 5)}."
            )


def kind_by_ending(path: Path) -> str | None:
    """Return the format by the ending; for compressed text, by the ending before that of the compression."""
    endings = [s.lower() for s in path.suffixes]
    packed = len(endings) > 1 and endings[-1] in OPENERS
    return KINDS.get(endings[-2] if packed else endings[-1] if endings else "")


def _kind(path: Path) -> str:
    """Return the format by the ending or, if that is unknown, by the first bytes."""
    if path.is_dir():
        return "parquet"
    known, endings = kind_by_ending(path), [s.lower() for s in path.suffixes]
    if known is not None:
        return known
    if endings and endings[-1] in _OTHERS:
        raise Unfit(
            f"{str(path)!r} has an unsupported ending. Supported are {', '.join(KINDS)}; text may be compressed."
        )
    with path.open("rb") as file:
        start = file.read(512)
    refuse_packed(path, start)
    for magic, kind in _MAGIC:
        if start.startswith(magic):
            return kind
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            return "excel" if "[Content_Types].xml" in archive.namelist() else "numpy"
    if b"\x00" in start and start[:2] not in (b"\xff\xfe", b"\xfe\xff") and not utf16_of(start):
        raise Unfit(f"{str(path)!r} has an unknown ending and is not text. Supported are {', '.join(KINDS)}.")
    if endings:
        note(f"{path.name} has an unknown ending; reading it as text.")
    return "json" if start.lstrip()[:1] in (b"{", b"[") else "text"
