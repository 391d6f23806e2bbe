"""Read tables larger than memory in chunks."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ...numerics.memory import available_memory
from ..console import Unfit, listed
from .columnar import parquet_columns
from .sizes import npy_array
from .source import PACKED_DAMAGE, Reading, kind_by_ending, parquet_files
from .text import text_bytes, text_columns, text_frames

#: Share of the available memory that a table may take; a fit needs several copies of it.
_MEMORY_SHARE = 0.25
#: Maximum number of rows of a chunk, and of numbers.
_ROWS, _NUMBERS = 50_000, 5_000_000
#: Maximum bytes of text of a chunk.
_TEXT = 2**28


def too_large(path: Path) -> bool:
    """Whether a file is too large for memory and can be read in chunks."""
    if str(path) == "-" or not (path.is_dir() or path.is_file()):
        return False
    kind, most = "parquet" if path.is_dir() else kind_by_ending(path), _MEMORY_SHARE * available_memory()
    try:
        if kind == "text":
            return text_bytes(path, most) > most
        if kind == "parquet":
            files = parquet_files(path) if path.is_dir() else [path]
            return 2.0 * sum(parquet_columns(file).total for file in files) > most
    except (ImportError, OSError, ValueError, KeyError, TypeError, NotImplementedError, *PACKED_DAMAGE):
        return False  # the reader reports the error later
    return kind == "numpy" and path.suffix.lower() == ".npy" and path.stat().st_size > most


def parts_of(path: Path, reading: Reading) -> Generator[Any, None, None]:
    """Yield data frames of consecutive rows, all with the same columns."""
    kind = "parquet" if path.is_dir() else kind_by_ending(path)
    frames = {"text": _text, "parquet": _parquet, "numpy": _numpy}[str(kind)](path, reading)
    first = None
    for frame in frames:
        frame.columns = [str(name).strip() for name in frame.columns]
        first = list(frame.columns) if first is None else first
        if list(frame.columns) != first:
            raise Unfit(
                f"The columns of {str(path)!r} change within the table: {listed(frame.columns, 5)} after {listed(first, 5)}."
            )
        yield frame


def _numpy(path: Path, reading: Reading) -> Iterator[Any]:
    import pandas as pd

    npy_array(path)
    try:
        X = np.load(path, mmap_mode="r", allow_pickle=False)
    except ValueError as failure:
        raise Unfit(f"{str(path)!r} is not a readable NumPy file: {failure}") from failure
    if X.ndim != 2:
        raise Unfit(f"{str(path)!r} must hold a matrix; it has shape {X.shape}.")
    names = [f"x{i + 1}" for i in range(X.shape[1])]
    step = _step(X.shape[1])
    for start in range(0, X.shape[0], step):
        part = X[start : start + step]
        yield pd.DataFrame(part, columns=names, index=pd.RangeIndex(start, start + len(part)))


def _parquet(path: Path, reading: Reading) -> Iterator[Any]:
    from .binary import needs

    try:
        import pyarrow.parquet as pq
    except ImportError as failure:
        raise needs("pyarrow", "files", "Parquet files") from failure
    start = 0
    for name in parquet_files(path) if path.is_dir() else [path]:
        longest = parquet_columns(name).row
        with pq.ParquetFile(name) as file:
            step = max(1, min(_step(len(file.schema_arrow)), int(_TEXT // longest)))
            for batch in file.iter_batches(batch_size=step):
                frame = batch.to_pandas()
                frame.index = range(start, start + len(frame))
                start += len(frame)
                yield frame


def _text(path: Path, reading: Reading) -> Iterator[Any]:
    yield from text_frames(path, reading, _step(text_columns(path)))


def _step(columns: int) -> int:
    return max(1, min(_ROWS, _NUMBERS // max(columns, 1)))
