"""Memory that a file will take, from its headers, before its data are read.

A header may be wrong. A file whose header claims more than the file can hold is damaged; one that would not fit in memory is refused.
"""

from __future__ import annotations

import ast
import math
import re
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from ...numerics.memory import human_bytes
from ..console import Unfit

#: Maximum characters of a NumPy header, as in NumPy.
_MAX_HEADER = 10_000
#: Bytes of a column name (measured).
_COLUMN_NAME_BYTES = 150.0
#: Maximum number of members of an archive: each is an array or a part of a workbook.
_MAX_MEMBERS = 100_000
#: Bytes in memory per byte of a sheet or of the shared strings, and per byte of other parts, which are parsed as trees (measured).
_SHEET_FACTOR, _PART_FACTOR = 4.0, 20.0
#: Cell references, which have the column and the row.
_REFERENCE = re.compile(rb"\br=[\"']([A-Z]{1,3})(\d{1,7})[\"']")


def damaged(path: Path, why: str) -> Unfit:
    """Return the error for a file that contradicts itself."""
    return Unfit(f"{str(path)!r} is damaged or was cut short: {why}. Copy or download it again.")


# ----------------------------------------------------------------------- NumPy
@dataclass(frozen=True)
class Array:
    """Header of a NumPy array.

    Parameters
    ----------
    shape : tuple of int
    dtype : numpy.dtype
    offset : int
        Bytes before the data.
    """

    shape: tuple[int, ...]
    dtype: Any
    offset: int

    @property
    def stored(self) -> int:
        """Bytes of the data."""
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def needed(self) -> float:
        """Bytes of the array, of a copy in double precision, and of the names of its columns."""
        return self.stored + 8.0 * math.prod(self.shape) + _COLUMN_NAME_BYTES * math.prod(self.shape[1:])


def array_of(file: IO[bytes], size: int, path: Path, name: str = "") -> Array:
    """Read the header of a .npy of `size` bytes; refuse one that claims more data than that."""
    of = f" of {name!r}" if name else ""
    start = file.read(8)
    length, big = (4, 12) if start[6:7] in (b"\x02", b"\x03") else (2, 10)
    if start[:6] != b"\x93NUMPY" or start[6:7] not in (b"\x01", b"\x02", b"\x03"):
        raise ValueError(f"it has no NumPy header{of}")
    try:
        count = int.from_bytes(file.read(length), "little")
        if count > _MAX_HEADER:
            raise ValueError(f"it has {count} characters")
        header = ast.literal_eval(file.read(count).decode("utf-8" if start[6] == 3 else "latin-1"))
        shape, dtype = tuple(header["shape"]), np.lib.format.descr_to_dtype(header["descr"])
        if not all(isinstance(n, int) and n >= 0 for n in shape):
            raise ValueError("its shape is not a list of lengths")
    except (ValueError, SyntaxError, TypeError, KeyError, IndexError, MemoryError, RecursionError) as failure:
        raise damaged(path, f"the header{of} cannot be read ({failure or type(failure).__name__})") from failure
    found = Array(shape, dtype, big + count)
    if found.offset + found.stored > size and not dtype.hasobject:
        raise damaged(
            path,
            f"the header{of} claims {human_bytes(found.stored)} (shape {shape}), and the file holds {human_bytes(size)}",
        )
    return found


def npy_array(path: Path) -> Array:
    """Return the shape and type of a .npy file."""
    with path.open("rb") as file:
        return array_of(file, path.stat().st_size, path)


def npz_arrays(path: Path) -> dict[str, Array]:
    """Return the shapes and types of the arrays of a .npz file, by name."""
    found = {}
    with zipfile.ZipFile(path) as archive:
        for entry in members(archive, path):
            with archive.open(entry) as file:
                if entry.filename.endswith(".npy"):
                    name = entry.filename.removesuffix(".npy")
                    found[name] = array_of(file, entry.file_size, path, name)
    return found


def table_bytes(arrays: dict[str, Array]) -> float:
    """Return the bytes of arrays and of the table made from them."""
    return sum(array.needed for array in arrays.values())


def members(archive: zipfile.ZipFile, path: Path) -> list[zipfile.ZipInfo]:
    """Return the entries of an archive; refuse it if they claim more compressed bytes than the file has."""
    entries = archive.infolist()
    if len(entries) > _MAX_MEMBERS:
        raise Unfit(
            f"{str(path)!r} has {len(entries)} members, but at most {_MAX_MEMBERS} are allowed: it is probably not a table."
        )
    if sum(entry.compress_size for entry in entries) > path.stat().st_size:
        raise damaged(path, "its members claim more bytes than the file holds, or overlap")
    return entries


# ------------------------------------------------------------------- workbooks
def workbook_bytes(path: Path) -> float:
    """Return the bytes of the parts of a workbook that are read when it is opened: all but its sheets."""
    with zipfile.ZipFile(path) as archive:
        entries = members(archive, path)
    strings = sum(entry.file_size for entry in entries if entry.filename.endswith("sharedStrings.xml"))
    others = sum(entry.file_size for entry in entries if not _is_sheet(entry)) - strings
    return _SHEET_FACTOR * strings + _PART_FACTOR * others


def sheet_bytes(path: Path, part: str | None, most: float) -> float:
    """Return the bytes of a sheet, with all rows padded to the longest.

    Parameters
    ----------
    path : Path
    part : str or None
        Name of the sheet in the archive; None: the largest of all sheets.
    most : float
        Limit in bytes: a sheet that exceeds it is not unpacked.
    """
    with zipfile.ZipFile(path) as archive:
        sheets = [entry for entry in members(archive, path) if _is_sheet(entry)]
        named = [entry for entry in sheets if entry.filename == (part or "").lstrip("/")]
        return max((_sheet(archive, entry, most) for entry in named or sheets), default=0.0)


def _is_sheet(entry: zipfile.ZipInfo) -> bool:
    return entry.filename.startswith("xl/worksheets/") and entry.filename.endswith(".xml")


def _sheet(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, most: float) -> float:
    unpacked = _SHEET_FACTOR * entry.file_size
    if unpacked > most:
        return unpacked
    columns = rows = 1
    rest = b""
    with archive.open(entry) as file:
        while block := file.read(2**20):
            for letters, number in _REFERENCE.findall(rest + block):
                columns, rows = max(columns, _column(letters)), max(rows, int(number))
            rest = block[-32:]
    return unpacked + 16.0 * columns * rows


def _column(letters: bytes) -> int:
    """Return the number of a column: ``XFD`` -> 16384."""
    number = 0
    for letter in letters:
        number = 26 * number + letter - 64
    return number


# --------------------------------------------------------------------- AnnData
def anndata_bytes(path: Path) -> float:
    """Return the bytes of all arrays of an AnnData file, and of its matrix X as a table in double precision."""
    import h5py

    total = 0.0

    def add(name: str, node: Any) -> None:
        nonlocal total
        if isinstance(node, h5py.Dataset) and node.shape is not None:
            total += math.prod(map(int, node.shape)) * max(8, int(node.dtype.itemsize))

    with h5py.File(path, "r") as file:
        file.visititems(add)
        X = file.get("X")
        if X is not None:
            shape = X.shape if isinstance(X, h5py.Dataset) else X.attrs.get("shape", X.attrs.get("h5sparse_shape", ()))
            total += 16.0 * math.prod(int(n) for n in shape)
    return total
