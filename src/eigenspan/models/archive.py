"""The file format: an uncompressed zip archive of two JSON texts and NumPy arrays, with a checksum of all bytes at the end.

The file is also a valid ``.npz``, which ``numpy.load`` opens. Because nothing is compressed, the memory needed is known from the file
size, and arrays can be memory-mapped (``mmap_mode``). The checksum is the comment at the end of the zip archive. It covers all bytes
before it and detects accidental damage. Malicious files are rejected by the schema: only listed kinds of objects are allowed.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from .._files import is_special, writing
from ..errors import ModelError, OutputError
from ..numerics.memory import require
from .tree import plain_dtype

FORMAT, VERSION = "eigenspan-model", 2
HEADER, OBJECTS = "eigenspan.json", "objects.json"
_CHECKSUM_PREFIX = b"eigenspan sha256 "
_DIGEST = 64
#: Arrays begin at multiples of this many bytes, as newly allocated ones do.
_ALIGNED = 64
_LOCAL = struct.Struct("<4s5H3I2H")
_BLOCK = 2**20
#: Maximum bytes of Python objects per byte of JSON.
_JSON = 16
#: Maximum length of an axis of an array without elements, unless the file has more bytes.
_AXIS = 2**20
#: First bytes of older files of the command line, which contain a pickle.
_OLD = b'{"format": "eigenspan-model"'


@dataclass(frozen=True, eq=False)
class Contents:
    """Checked contents of a file, before the objects are built from them."""

    header: dict[str, Any]
    objects: dict[str, Any]
    arrays: list[Any]


# ---------------------------------------------------------------------- writing
def write(path: Path, header: dict[str, Any], objects: dict[str, Any], arrays: list[np.ndarray]) -> None:
    """Write a file atomically: on failure, an existing file is unchanged."""
    layouts = [[array.dtype.str, list(array.shape), _by_columns(array)] for array in arrays]
    texts = {HEADER: _text(header), OBJECTS: _text({**objects, "arrays": layouts})}
    with replacing(path) as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            for name, text in texts.items():
                archive.writestr(zipfile.ZipInfo(name), text)
            for i, array in enumerate(arrays):
                _add(archive, file, f"{i}.npy", array)
            archive.comment = _CHECKSUM_PREFIX + b"0" * _DIGEST
        digest = _digest(file, file.tell() - _DIGEST)
        file.seek(-_DIGEST, os.SEEK_END)
        file.write(digest.encode())


def _text(content: Any) -> bytes:
    return json.dumps(content, allow_nan=False, separators=(",", ":")).encode()


def _by_columns(array: np.ndarray) -> bool:
    return array.flags.f_contiguous and not array.flags.c_contiguous


def _add(archive: zipfile.ZipFile, file: IO[bytes], name: str, array: np.ndarray) -> None:
    entry, large = zipfile.ZipInfo(name), array.nbytes > 2**31 - 2**16
    # Padding (a zip extra field of four bytes and zeros) before the data aligns them.
    before = file.tell() + _LOCAL.size + len(name) + 20 * large + 4
    entry.extra = struct.pack("<HH", 0xD935, -before % _ALIGNED) + b"\0" * (-before % _ALIGNED)
    with archive.open(entry, "w", force_zip64=large) as target:
        np.lib.format.write_array(target, array, allow_pickle=False)


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Yield a file that atomically replaces `path` when it is complete; raise ModelError if it cannot be written."""
    try:
        if is_special(path):  # writing the checksum needs a seek, which devices do not support
            raise ModelError(f"{str(path)!r} is a device or a pipe: name a regular file.")
        with writing(path) as file:
            yield file
    except OutputError as failure:
        raise ModelError(str(failure)) from failure


# ---------------------------------------------------------------------- reading
def malformed(path: Path, failure: BaseException) -> ModelError:
    """Return the error for a file whose checksum is correct but whose contents are invalid."""
    return ModelError(
        f"{str(path)!r} is malformed: {failure or type(failure).__name__}. Its checksum is correct, so it was not damaged by accident, but "
        "written by another program or by hand; nothing in it was used. Check where it comes from, or fit and save the model again."
    )


def read(path: Path, mmap_mode: str | None = None) -> Contents:
    """Return the contents of a file, after all of them have been checked."""
    with _archive(path) as (file, archive, header, _):
        entries = _entries(archive, file)
        if mmap_mode is None:
            _require(sum(entry.file_size for entry in entries.values()))
        objects = _parsed(archive, entries[OBJECTS])
        layouts = objects["arrays"]
        if len(layouts) != len(entries) - 2:
            raise ValueError(f"it contains {len(entries) - 2} arrays but describes {len(layouts)}")
        spots = [_spot(entries[f"{i}.npy"], file, *layout) for i, layout in enumerate(layouts)]
        arrays = [_loaded(path, file, mmap_mode, *spot) for spot in spots]
    return Contents(header, objects, arrays)


def read_header(path: Path) -> dict[str, Any]:
    """Return the header of a file and its checksum, which is verified."""
    with _archive(path) as (_, _, header, digest):
        return {**header, "sha256": digest}


@contextmanager
def _archive(path: Path) -> Iterator[tuple[IO[bytes], zipfile.ZipFile, dict[str, Any], str]]:
    """Open a complete file of a supported version; yield the file, the archive, the header and the checksum."""
    if not path.is_file():
        what = "is not a regular file" if path.exists() else "does not exist"
        raise ModelError(f"There is no model file {str(path)!r}: it {what}.")
    try:
        with open(path, "rb") as file:
            digest = _verified_checksum(file, path)
            with zipfile.ZipFile(file) as archive:
                entry = archive.getinfo(HEADER)
                _refuse_compressed([entry], file)
                header = _parsed(archive, entry)
                _refuse_other_versions(header, path)
                yield file, archive, header, digest
    except (ModelError, MemoryError):
        raise
    except OSError as failure:
        raise ModelError(f"{str(path)!r} cannot be read: {failure.strerror or failure}.") from failure
    except Exception as failure:  # parsers raise many errors for crafted files
        raise malformed(path, failure) from failure


def _verified_checksum(file: IO[bytes], path: Path) -> str:
    """Return the checksum of a complete and unaltered model file; raise ModelError for every other file."""
    start = file.read(_LOCAL.size + len(HEADER))
    size = file.seek(0, os.SEEK_END)
    if not (start.startswith(b"PK\x03\x04") and start.endswith(HEADER.encode())):
        raise ModelError(_not_a_model(start, path))
    file.seek(max(size - len(_CHECKSUM_PREFIX) - _DIGEST, 0))
    ending = file.read()
    if not ending.startswith(_CHECKSUM_PREFIX):
        raise ModelError(
            f"{str(path)!r} is damaged: its end is missing, so it was probably truncated (it has {size} bytes). Copy it again, or save the "
            "model again."
        )
    digest = _digest(file, size - _DIGEST)
    if digest.encode() != ending[len(_CHECKSUM_PREFIX) :]:
        raise ModelError(
            f"{str(path)!r} is damaged: its contents ({size} bytes) have changed since it was saved (the checksum differs). Copy it "
            "again, or save the "
            "model again."
        )
    return digest


def _not_a_model(start: bytes, path: Path) -> str:
    if start.startswith((_OLD, b"\x80")):
        old = "a model of an older version of eigenspan" if start.startswith(_OLD) else "Python data"
        return (
            f"{str(path)!r} is {old}, stored as a pickle. A pickle can run any code when it is read, so it was not opened. Fit the model "
            "again, "
            'and save it with eigenspan.save(estimator, "model.eig") or eigenspan embed --model.'
        )
    kind = "empty" if not start else "a different zip archive" if start.startswith(b"PK") else "of another format"
    return f"{str(path)!r} is not an eigenspan model: it is {kind}. eigenspan.save and eigenspan embed --model write models."


def _digest(file: IO[bytes], size: int) -> str:
    """Return the sha256 of the first `size` bytes."""
    found = hashlib.sha256()
    file.seek(0)
    while size > 0 and (block := file.read(min(_BLOCK, size))):
        found.update(block)
        size -= len(block)
    return found.hexdigest()


def _entries(archive: zipfile.ZipFile, file: IO[bytes]) -> dict[str, zipfile.ZipInfo]:
    """Return the entries by name: two texts and numbered arrays, each once, uncompressed, in total no larger than the file."""
    entries = archive.infolist()
    expected = {HEADER, OBJECTS, *(f"{i}.npy" for i in range(len(entries) - 2))}
    found = {entry.filename: entry for entry in entries}
    if found.keys() != expected:
        odd = [*(found.keys() - expected), "a duplicate"]
        raise ValueError(f"it has {len(entries)} entries, one of them {odd[0]!r:.100}, which no model has")
    _refuse_compressed(entries, file)
    return found


def _refuse_compressed(entries: list[zipfile.ZipInfo], file: IO[bytes]) -> None:
    """Refuse entries that are compressed, encrypted, or in total larger than the file."""
    total = sum(entry.file_size for entry in entries)
    plain = all(e.compress_type == zipfile.ZIP_STORED and e.compress_size == e.file_size for e in entries)
    if not plain or any(e.flag_bits & 0x1 for e in entries) or total > file.seek(0, os.SEEK_END):
        raise ValueError("its entries are compressed, encrypted or larger than the file, unlike those of any model")


def _parsed(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Any:
    _require(_JSON * entry.file_size)
    return json.loads(archive.read(entry))


def _require(n_bytes: float) -> None:
    require(n_bytes, "The model in this file", 'Load it on a machine with more memory, or with mmap_mode="r".')


def _refuse_other_versions(header: Any, path: Path) -> None:
    if header["format"] != FORMAT or type(header["version"]) is not int or type(header["versions"]) is not dict:
        raise ValueError("its header is of another format")
    if header["version"] != VERSION:
        writer = f"{header['versions'].get('eigenspan')!s:.50}"
        way_out = (
            "That format depended on the code that wrote it and can no longer be read: fit the model again and save it. Later versions can "
            "read "
            f"the files of this one (format {VERSION})."
            if header["version"] < VERSION
            else "Install that version or a later one, or fit the model again."
        )
        raise ModelError(
            f"{str(path)!r} has version {header['version']} of the model format, written by eigenspan {writer}; this eigenspan reads "
            f"version {VERSION}. {way_out}"
        )


def _spot(
    entry: zipfile.ZipInfo, file: IO[bytes], spelled: str, shape: list[int], by_columns: bool
) -> tuple[np.dtype, tuple[int, ...], bool, int]:
    """Return dtype, shape, whether stored by columns, and offset of an array, checked against the size of its entry.

    The header inside the ``.npy`` is for other programs: it is Python text and is not parsed here.
    """
    file.seek(entry.header_offset)
    local = _LOCAL.unpack(file.read(_LOCAL.size))
    start = file.seek(entry.header_offset + _LOCAL.size + local[9] + local[10])
    magic, version = file.read(6), file.read(2)
    if local[0] != b"PK\x03\x04" or magic != b"\x93NUMPY" or version not in (b"\x01\0", b"\x02\0"):
        raise ValueError(f"the entry {entry.filename} does not begin with an array")
    width = 2 * version[0]
    offset = start + 8 + width + int.from_bytes(file.read(width), "little")
    dtype = plain_dtype(spelled)
    longest = max(_AXIS, file.seek(0, os.SEEK_END))  # if another axis has length zero, any length takes no bytes
    whole = all(type(length) is int and 0 <= length <= longest for length in shape) and type(by_columns) is bool
    if not whole or offset - start + math.prod(shape) * dtype.itemsize != entry.file_size:
        raise ValueError(f"array {entry.filename} of shape {shape!r:.50} does not have the size of its entry")
    return dtype, tuple(shape), by_columns, offset


def _loaded(
    path: Path, file: IO[bytes], mmap_mode: Any, dtype: np.dtype, shape: tuple[int, ...], by_columns: bool, offset: int
) -> Any:
    order: Any = "F" if by_columns else "C"
    if mmap_mode is not None and 0 not in shape and dtype.itemsize:
        return np.asarray(np.memmap(path, dtype=dtype, mode=mmap_mode, offset=offset, shape=shape, order=order))
    array = np.empty(shape, dtype=dtype, order=order)
    file.seek(offset)
    if array.nbytes and file.readinto(array.T if by_columns else array) != array.nbytes:  # type: ignore[attr-defined]
        raise ModelError(f"{str(path)!r} changed while it was being read: load it again.")
    return array
