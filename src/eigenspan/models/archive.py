"""The file: a zip archive of two JSON texts and NumPy arrays, not compressed, with a checksum of all its bytes at the end.

It is a ``.npz`` as well, which ``numpy.load`` opens. Nothing is compressed, so what it will take is known by its size, and an array
can be used where it lies (``mmap_mode``). The checksum is the comment that ends a zip archive: it covers every byte before it and tells
accidents. What a file could do on purpose is kept out by what it may name (`allowed`).
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
_SEAL = b"eigenspan sha256 "
_DIGEST = 64
#: Arrays begin at multiples of this, as new ones do in memory.
_ALIGNED = 64
_LOCAL = struct.Struct("<4s5H3I2H")
_BLOCK = 2**20
#: Bytes of Python objects for each byte of JSON, at most.
_JSON = 16
#: An axis of an array without elements is no longer than this, or than the file in bytes.
_AXIS = 2**20
#: What the older files of the command line began with; what follows in them is a pickle.
_OLD = b'{"format": "eigenspan-model"'


@dataclass(frozen=True, eq=False)
class Contents:
    """What a file holds, checked but not yet put together."""

    header: dict[str, Any]
    objects: dict[str, Any]
    arrays: list[Any]


# ---------------------------------------------------------------------- writing
def write(path: Path, header: dict[str, Any], objects: dict[str, Any], arrays: list[np.ndarray]) -> None:
    """Write a file, or leave what was there as it was."""
    layouts = [[array.dtype.str, list(array.shape), _by_columns(array)] for array in arrays]
    texts = {HEADER: _text(header), OBJECTS: _text({**objects, "arrays": layouts})}
    with replacing(path) as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            for name, text in texts.items():
                archive.writestr(zipfile.ZipInfo(name), text)
            for i, array in enumerate(arrays):
                _add(archive, file, f"{i}.npy", array)
            archive.comment = _SEAL + b"0" * _DIGEST
        digest = _digest(file, file.tell() - _DIGEST)
        file.seek(-_DIGEST, os.SEEK_END)
        file.write(digest.encode())


def _text(content: Any) -> bytes:
    return json.dumps(content, allow_nan=False, separators=(",", ":")).encode()


def _by_columns(array: np.ndarray) -> bool:
    return array.flags.f_contiguous and not array.flags.c_contiguous


def _add(archive: zipfile.ZipFile, file: IO[bytes], name: str, array: np.ndarray) -> None:
    entry, large = zipfile.ZipInfo(name), array.nbytes > 2**31 - 2**16
    # a record of no meaning (four bytes and zeros) before the data brings them to their place
    before = file.tell() + _LOCAL.size + len(name) + 20 * large + 4
    entry.extra = struct.pack("<HH", 0xD935, -before % _ALIGNED) + b"\0" * (-before % _ALIGNED)
    with archive.open(entry, "w", force_zip64=large) as target:
        np.lib.format.write_array(target, array, allow_pickle=False)


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """New file in place of what is at `path`, all at once when it is complete; ModelError where that cannot be."""
    try:
        if is_special(path):  # a checksum is written last, in a place before the end
            raise ModelError(f"{str(path)!r} is a device: give the name of a file.")
        with writing(path) as file:
            yield file
    except OutputError as failure:
        raise ModelError(str(failure)) from failure


# ---------------------------------------------------------------------- reading
def malformed(path: Path, failure: BaseException) -> ModelError:
    """The error for a file whose checksum is right and whose contents are not: no `save` has written it."""
    return ModelError(
        f"{str(path)!r} is malformed: {failure or type(failure).__name__}. Its checksum is right, so it was written so, by another program "
        "or by hand; nothing of it was used. Ask where it comes from, or fit and save the model again."
    )


def read(path: Path, mmap_mode: str | None = None) -> Contents:
    """Everything in a file, after all of it has been checked."""
    with _archive(path) as (file, archive, header, _):
        entries = _entries(archive, file)
        if mmap_mode is None:
            _require(sum(entry.file_size for entry in entries.values()))
        objects = _parsed(archive, entries[OBJECTS])
        layouts = objects["arrays"]
        if len(layouts) != len(entries) - 2:
            raise ValueError(f"it has {len(entries) - 2} arrays and tells of {len(layouts)}")
        spots = [_spot(entries[f"{i}.npy"], file, *layout) for i, layout in enumerate(layouts)]
        arrays = [_loaded(path, file, mmap_mode, *spot) for spot in spots]
    return Contents(header, objects, arrays)


def read_header(path: Path) -> dict[str, Any]:
    """What a file says of itself, and its checksum, which is verified."""
    with _archive(path) as (_, _, header, digest):
        return {**header, "sha256": digest}


@contextmanager
def _archive(path: Path) -> Iterator[tuple[IO[bytes], zipfile.ZipFile, dict[str, Any], str]]:
    """A file that is whole and of a version that can be read."""
    if not path.is_file():
        what = "is no file" if path.exists() else "does not exist"
        raise ModelError(f"There is no model file {str(path)!r}: it {what}.")
    try:
        with open(path, "rb") as file:
            digest = _sealed(file, path)
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
    except Exception as failure:  # what parsers raise when a file was put together by hand
        raise malformed(path, failure) from failure


def _sealed(file: IO[bytes], path: Path) -> str:
    """The checksum of a whole and unaltered model file; ModelError for every other file."""
    start = file.read(_LOCAL.size + len(HEADER))
    size = file.seek(0, os.SEEK_END)
    if not (start.startswith(b"PK\x03\x04") and start.endswith(HEADER.encode())):
        raise ModelError(_foreign(start, path))
    file.seek(max(size - len(_SEAL) - _DIGEST, 0))
    seal = file.read()
    if not seal.startswith(_SEAL):
        raise ModelError(
            f"{str(path)!r} is damaged: its end is missing, as of a file that was cut short at {size} bytes. Copy it again, or save the "
            "model again."
        )
    digest = _digest(file, size - _DIGEST)
    if digest.encode() != seal[len(_SEAL) :]:
        raise ModelError(
            f"{str(path)!r} is damaged: its {size} bytes are not those that were saved (the checksum differs). Copy it again, or save the "
            "model again."
        )
    return digest


def _foreign(start: bytes, path: Path) -> str:
    if start.startswith((_OLD, b"\x80")):
        old = "a model of an older eigenspan" if start.startswith(_OLD) else "Python data"
        return (
            f"{str(path)!r} is {old}, stored as a pickle, which can run any code when it is read: it was not opened. Fit the model again, "
            'and save it with eigenspan.save(estimator, "model.eig") or eigenspan embed --model.'
        )
    kind = "empty" if not start else "a zip archive of something else" if start.startswith(b"PK") else "something else"
    return f"{str(path)!r} is not an eigenspan model: it is {kind}. eigenspan.save and eigenspan embed --model write models."


def _digest(file: IO[bytes], size: int) -> str:
    """sha256 of the first so many bytes."""
    found = hashlib.sha256()
    file.seek(0)
    while size > 0 and (block := file.read(min(_BLOCK, size))):
        found.update(block)
        size -= len(block)
    return found.hexdigest()


def _entries(archive: zipfile.ZipFile, file: IO[bytes]) -> dict[str, zipfile.ZipInfo]:
    """The entries by name: the two texts and arrays by number, each once, not compressed, no longer together than the file."""
    entries = archive.infolist()
    expected = {HEADER, OBJECTS, *(f"{i}.npy" for i in range(len(entries) - 2))}
    found = {entry.filename: entry for entry in entries}
    if found.keys() != expected:
        odd = [*(found.keys() - expected), "one twice"]
        raise ValueError(f"it holds {len(entries)} entries, among them {odd[0]!r:.100}, where no model has such")
    _refuse_compressed(entries, file)
    return found


def _refuse_compressed(entries: list[zipfile.ZipInfo], file: IO[bytes]) -> None:
    """Entries lie in the file as they are, and are no longer together than it is."""
    total = sum(entry.file_size for entry in entries)
    plain = all(e.compress_type == zipfile.ZIP_STORED and e.compress_size == e.file_size for e in entries)
    if not plain or any(e.flag_bits & 0x1 for e in entries) or total > file.seek(0, os.SEEK_END):
        raise ValueError("its entries are compressed, encrypted or larger than the file, and no model has such")


def _parsed(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Any:
    _require(_JSON * entry.file_size)
    return json.loads(archive.read(entry))


def _require(n_bytes: float) -> None:
    require(n_bytes, "The model in this file", 'Load it where there is more memory, or with mmap_mode="r".')


def _refuse_other_versions(header: Any, path: Path) -> None:
    if header["format"] != FORMAT or type(header["version"]) is not int or type(header["versions"]) is not dict:
        raise ValueError("its header is of another format")
    if header["version"] != VERSION:
        writer = f"{header['versions'].get('eigenspan')!s:.50}"
        way_out = (
            "That format depended on the code that wrote it and is no longer read: fit the model again and save it. Later versions read "
            f"what this one writes (format {VERSION})."
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
    """Type, shape, whether by columns, and where the numbers begin; checked against the size of the entry.

    What the ``.npy`` says of itself is for other programs: it is Python text, which is not parsed here.
    """
    file.seek(entry.header_offset)
    local = _LOCAL.unpack(file.read(_LOCAL.size))
    start = file.seek(entry.header_offset + _LOCAL.size + local[9] + local[10])
    magic, version = file.read(6), file.read(2)
    if local[0] != b"PK\x03\x04" or magic != b"\x93NUMPY" or version not in (b"\x01\0", b"\x02\0"):
        raise ValueError(f"there is no array where {entry.filename} should begin")
    width = 2 * version[0]
    offset = start + 8 + width + int.from_bytes(file.read(width), "little")
    dtype = plain_dtype(spelled)
    longest = max(_AXIS, file.seek(0, os.SEEK_END))  # an axis beside one of length zero takes no bytes
    whole = all(type(length) is int and 0 <= length <= longest for length in shape) and type(by_columns) is bool
    if not whole or offset - start + math.prod(shape) * dtype.itemsize != entry.file_size:
        raise ValueError(f"array {entry.filename} of shape {shape!r:.50} is not as long as its entry")
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
        raise ModelError(f"{str(path)!r} changed while it was read: load it again.")
    return array
