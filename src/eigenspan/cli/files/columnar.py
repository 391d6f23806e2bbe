"""Memory that Parquet and Feather files will take, from their metadata."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from ...numerics.memory import fits


@dataclass(frozen=True)
class Columns:
    """Memory of the columns of a file.

    Parameters
    ----------
    total : float
        Bytes of all columns.
    row : float
        Maximum bytes of a row.
    """

    total: float
    row: float


def parquet_columns(path: Path) -> Columns:
    """Return the size of the columns of a Parquet file.

    Text is often dictionary-encoded, so a long entry may be repeated in very many rows. If that could exceed the memory, the
    dictionaries are read for the exact size.
    """
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        metadata, schema = file.metadata, file.schema
        groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
        chunks = [(group.column(i), schema.column(i)) for group in groups for i in range(group.num_columns)]
        width = 8.0 * metadata.num_columns
    text = [chunk for chunk, _ in chunks if chunk.physical_type == "BYTE_ARRAY"]
    fixed = [(chunk, column) for chunk, column in chunks if chunk.physical_type == "FIXED_LEN_BYTE_ARRAY"]
    total = 8.0 * sum(chunk.num_values for chunk, _ in chunks) + sum(
        8.0 + chunk.total_uncompressed_size for chunk in text
    )
    total += sum((8.0 + column.length) * chunk.num_values for chunk, column in fixed)
    width += sum(column.length for _, column in fixed)
    if fits(total + sum(float(chunk.num_values) * chunk.total_uncompressed_size for chunk in text), 0.25):
        return Columns(total, width + sum(chunk.total_uncompressed_size for chunk in text))
    read = _text_of(path, sorted({chunk.path_in_schema for chunk in text}))
    return Columns(total + read.total, width + read.row)


def _text_of(path: Path, columns: list[str]) -> Columns:
    """Return the size of text columns, from their dictionaries and the number of occurrences of each entry."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    total = row = 0.0
    with pq.ParquetFile(path, read_dictionary=columns) as file:
        for name in columns:
            longest = 0.0
            for batch in file.iter_batches(batch_size=2**16, columns=[name]):
                for values in (leaf for column in batch.columns for leaf in _leaves(column)):
                    coded = hasattr(values, "dictionary")
                    lengths = pc.binary_length(values.dictionary if coded else values)
                    total += float(pc.sum(lengths.take(values.indices) if coded else lengths).as_py() or 0)
                    longest = max(longest, float(pc.max(lengths).as_py() or 0))
            row += longest
    return Columns(total, row)


def _leaves(array: Any) -> Iterator[Any]:
    """Yield the arrays of text or binary data nested in lists and structures."""
    kind = str(array.type)
    if kind.startswith("struct"):
        for part in array.flatten():
            yield from _leaves(part)
    elif kind.startswith(("list", "large_list", "fixed_size_list", "map")):
        yield from _leaves(array.flatten() if not kind.startswith("map") else array.items)
    elif kind.startswith(("dictionary", "string", "large_string", "binary", "large_binary")):
        yield array


def feather_bytes(path: Path) -> float:
    """Return the bytes of the columns of a Feather file: the sum of its uncompressed buffers.

    The file ends with the list of its blocks (the footer), the length of the footer, and the format's magic bytes. Footer and block
    metadata are FlatBuffers; their fields are read here by number.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        if file.read(6) != b"ARROW1" or size < 20:
            return float(size)  # the first version of the format, which is not compressed
        file.seek(size - 10)
        length = int.from_bytes(file.read(4), "little")
        file.seek(max(0, size - 10 - length))
        footer = file.read(length)
        try:
            table = _target(footer, 0)  # Footer: version, schema, dictionaries, record batches
            return sum(
                _block(file, block, number == 2) for number in (2, 3) for block in _blocks(footer, table, number)
            )
        except (struct.error, IndexError):
            return float(size)  # pyarrow reports the damage when it reads the file


def _blocks(footer: bytes, table: int, number: int) -> list[tuple[int, int, int]]:
    """Return the offset, bytes of metadata and bytes of data of each block."""
    place = _field(footer, table, number)
    if not place:
        return []
    vector = _target(footer, place)
    count = struct.unpack_from("<I", footer, vector)[0]
    return list(struct.iter_unpack("<qi4xq", footer[vector + 4 : vector + 4 + 24 * count]))


def repeated_text_bytes(path: Path) -> float:
    """Return the bytes of the string-view columns of a Feather file, whose rows may share text, if each row had its own copy."""
    import pyarrow as pa

    total = 0.0
    with pa.memory_map(str(path)) as source, pa.ipc.open_file(source) as file:
        names = [field.name for field in file.schema if str(field.type).endswith("_view")]
        for i in range(file.num_record_batches if names else 0):
            batch = file.get_batch(i)
            for column in (batch.column(j) for j, name in enumerate(batch.schema.names) if name in names):
                # The first four of the 16 bytes of a view hold its length.
                views = column.buffers()[1]
                if views is not None:
                    lengths = np.frombuffer(views, np.int32)[4 * column.offset :: 4][: len(column)]
                    total += float(lengths.sum(dtype=np.float64))
    return total


def _block(file: IO[bytes], block: tuple[int, int, int], dictionary: bool) -> float:
    """Return the uncompressed bytes of the buffers of a block; a compressed buffer begins with its uncompressed length."""
    start, described, stored = block
    file.seek(start)
    metadata = file.read(min(described, 2**26))
    metadata = metadata[8 if metadata[:4] == b"\xff\xff\xff\xff" else 4 :]
    batch = _target(metadata, _field(metadata, _target(metadata, 0), 2))  # Message: version, type, header
    if dictionary:
        batch = _target(metadata, _field(metadata, batch, 1))  # DictionaryBatch: id, data
    buffers = _target(metadata, _field(metadata, batch, 2))  # RecordBatch: length, nodes, buffers, compression
    count = struct.unpack_from("<I", metadata, buffers)[0]
    spans = list(struct.iter_unpack("<qq", metadata[buffers + 4 : buffers + 4 + 16 * count]))
    if not _field(metadata, batch, 3):
        return float(stored)
    total = 0.0
    for place, length in spans:
        file.seek(start + described + place)
        unpacked = int.from_bytes(file.read(8), "little", signed=True) if length > 8 else length
        total += unpacked if unpacked >= 0 else length
    return total


def _target(metadata: bytes, place: int) -> int:
    """Follow the offset stored at this position of a FlatBuffer."""
    return place + struct.unpack_from("<I", metadata, place)[0]


def _field(metadata: bytes, table: int, number: int) -> int:
    """Return the position of a field of a FlatBuffer table, or 0 if the table does not have it."""
    entries = table - struct.unpack_from("<i", metadata, table)[0]
    if 4 + 2 * number >= struct.unpack_from("<H", metadata, entries)[0]:
        return 0
    offset = struct.unpack_from("<H", metadata, entries + 4 + 2 * number)[0]
    return table + offset if offset else 0
