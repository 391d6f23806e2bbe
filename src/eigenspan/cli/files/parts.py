"""Tables too large for memory, a part at a time."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..._resources import available_memory
from ..console import Unfit, listed
from .source import KINDS, Reading, parquet_files

#: Bytes in memory for one on disk, roughly: text holds numbers in fewer characters than eight, columns are compressed.
_GROWTH = {"text": 2.0, "parquet": 6.0, "numpy": 1.0}
#: Share of the memory that a table may take; a fit needs some copies of it.
_SHARE = 0.25
#: Rows of a part, at most, and numbers.
_ROWS, _NUMBERS = 50_000, 5_000_000


def too_large(path: Path) -> bool:
    """Whether a file had better be read in parts, and can be."""
    if path.is_dir():
        return (
            _GROWTH["parquet"] * sum(file.stat().st_size for file in parquet_files(path)) > _SHARE * available_memory()
        )
    kind = KINDS.get(path.suffix.lower())
    if str(path) == "-" or kind not in _GROWTH or path.suffix.lower() == ".npz" or not path.is_file():
        return False
    return _GROWTH[kind] * path.stat().st_size > _SHARE * available_memory()


def parts_of(path: Path, reading: Reading) -> Generator[Any, None, None]:
    """Data frames of consecutive rows, all with the same columns."""
    kind = "parquet" if path.is_dir() else KINDS[path.suffix.lower()]
    frames = {"text": _text, "parquet": _parquet, "numpy": _numpy}[kind](path, reading)
    first = None
    for frame in frames:
        frame.columns = [str(name).strip() for name in frame.columns]
        first = list(frame.columns) if first is None else first
        if list(frame.columns) != first:
            raise Unfit(
                f"The columns of {str(path)!r} change on the way: {listed(frame.columns, 5)} after {listed(first, 5)}."
            )
        yield frame


def _numpy(path: Path, reading: Reading) -> Iterator[Any]:
    import pandas as pd

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
        with pq.ParquetFile(name) as file:
            for batch in file.iter_batches(batch_size=_step(len(file.schema_arrow))):
                frame = batch.to_pandas()
                frame.index = range(start, start + len(frame))
                start += len(frame)
                yield frame


def _text(path: Path, reading: Reading) -> Iterator[Any]:
    from .text import text_frames

    yield from text_frames(path, reading, _ROWS)


def _step(columns: int) -> int:
    return max(1, min(_ROWS, _NUMBERS // max(columns, 1)))
