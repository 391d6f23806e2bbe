"""Read binary tables: Parquet, Feather, workbooks, .npy and .npz files, sparse matrices, AnnData."""

from __future__ import annotations

import math
import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ...numerics.memory import available_memory, require
from ..console import Unfit, Usage, listed, note
from ..escape import shortened
from .columnar import feather_bytes, parquet_columns, repeated_text_bytes
from .sizes import anndata_bytes, npy_array, npz_arrays, sheet_bytes, table_bytes, workbook_bytes
from .source import Reading, parquet_files, refuse_other_columns
from .text import SMALLER, as_numbers, with_plain_cells

#: Exceptions raised for archives that are damaged, encrypted or compressed by an unknown method.
_ARCHIVE_ERRORS = (
    ValueError,
    KeyError,
    IndexError,
    EOFError,
    OverflowError,
    RuntimeError,
    struct.error,
    zipfile.BadZipFile,
)
#: Bytes of a sparse column, not counting its values (measured).
_SPARSE_COLUMN_BYTES = 2500.0
#: Maximum number of arrays listed in a message.
_MAX_LISTED = 5


def needs(package: str, extra: str, what: str) -> Usage:
    """Return the error for a missing package, with the command that installs it."""
    return Usage(f'{what} need {package}, which is not installed: pip install "eigenspan[{extra}]"')


def read_parquet(path: Path, reading: Reading) -> Any:
    """Read a Parquet file, or all Parquet files of a folder."""
    files = parquet_files(path) if path.is_dir() else [path]
    with _readable(path, "pyarrow", "Parquet files"):
        needed = 2.0 * sum(parquet_columns(file).total for file in files)
    require(needed, f"Reading the columns of {str(path)!r}", SMALLER)
    frames = {file.name: _columnar(file, "read_parquet", "Parquet files") for file in files}
    if not path.is_dir():
        return frames[path.name]
    import pandas as pd

    refuse_other_columns(path, ((name, list(frame.columns)) for name, frame in frames.items()))
    return pd.concat(frames.values(), ignore_index=True)


def read_feather(path: Path, reading: Reading) -> Any:
    """Read a Feather file."""
    with _readable(path, "pyarrow", "Feather files"):
        import pyarrow  # noqa: F401 -- named before the file is blamed

        needed = 2.0 * feather_bytes(path)
        require(needed, f"Reading the columns of {str(path)!r}", SMALLER)
        needed += 2.0 * repeated_text_bytes(path)
    require(needed, f"Reading the columns of {str(path)!r}", SMALLER)
    return _columnar(path, "read_feather", "Feather files")


@contextmanager
def _readable(path: Path, package: str, what: str) -> Iterator[None]:
    """Turn a reader's errors into messages; pyarrow's errors derive from many classes."""
    try:
        yield
    except ImportError as failure:
        raise needs(package, "files", what) from failure
    except (ValueError, KeyError, TypeError, NotImplementedError, OverflowError, struct.error) as failure:
        raise Unfit(f"{str(path)!r} cannot be read as {what.removesuffix('s')}: {failure}") from failure


def _columnar(path: Path, reader: str, what: str) -> Any:
    import pandas as pd

    with _readable(path, "pyarrow", what):
        frame = getattr(pd, reader)(path)
    return with_plain_cells(frame if isinstance(frame.index, pd.RangeIndex) else frame.reset_index())


def read_excel(path: Path, reading: Reading) -> Any:
    """Read one sheet of a workbook."""
    import pandas as pd

    try:
        if packed := zipfile.is_zipfile(path):
            require(workbook_bytes(path), f"Opening the workbook {str(path)!r}", SMALLER)
        with pd.ExcelFile(path) as book:
            sheets = book.sheet_names
            sheet = reading.sheet or sheets[0]
            if sheet not in sheets:
                raise Usage(f"There is no sheet {sheet!r} in {str(path)!r}; the sheets are {listed(sheets)}.")
            if reading.sheet is None and len(sheets) > 1:
                note(
                    f"{path.name} has {len(sheets)} sheets; reading the first, {sheet!r}. Use --sheet to choose another."
                )
            if packed:
                part = getattr(book.book[sheet], "_worksheet_path", None)
                needed = sheet_bytes(path, part, available_memory())
                require(needed, f"Reading the sheet {sheet!r} of {str(path)!r}", SMALLER)
            frame = book.parse(sheet, na_values=list(reading.na))
    except ImportError as failure:
        raise needs("openpyxl", "files", "Workbooks") from failure
    except (*_ARCHIVE_ERRORS, SyntaxError, AttributeError, TypeError) as failure:  # a ParseError is a SyntaxError
        raise Unfit(f"{str(path)!r} cannot be read as a workbook: {failure}") from failure
    return as_numbers(frame, reading)


def read_numpy(path: Path, reading: Reading) -> Any:
    """Read a matrix with the vectors stored beside it, or a sparse matrix of scipy."""
    try:
        headers = npz_arrays(path) if _is_archive(path) else {"X": npy_array(path)}
        sparse = {"format", "shape", "data"} <= set(headers)
        needed = sum(array.stored for array in headers.values()) if sparse else table_bytes(headers)
        require(needed, f"Reading {str(path)!r}, {_shapes(headers)},", SMALLER)
        if sparse:
            return _sparse(path, headers)
        with path.open("rb") as file:
            loaded = np.load(file, allow_pickle=False)
            arrays = {"X": loaded} if isinstance(loaded, np.ndarray) else {name: loaded[name] for name in loaded.files}
            arrays = {name: array for name, array in arrays.items() if isinstance(array, np.ndarray)}
    except _ARCHIVE_ERRORS as failure:
        raise Unfit(f"{str(path)!r} is not a readable NumPy file: {failure}") from failure
    matrices = [name for name, array in arrays.items() if array.ndim >= 2]
    name = "X" if "X" in matrices else matrices[0] if len(matrices) == 1 else None
    if name is None:
        shapes = _shapes(arrays) or "nothing"
        raise Unfit(f"{str(path)!r} must hold exactly one matrix, or one named X, but holds {shapes}.")
    return _frame(arrays, name)


def _is_archive(path: Path) -> bool:
    """Whether NumPy reads the file as an archive, judged by its first bytes."""
    with path.open("rb") as file:
        return file.read(4) in (b"PK\x03\x04", b"PK\x05\x06")


def _shapes(arrays: dict[str, Any]) -> str:
    """Format the shapes as ``X (150, 4), y (150,)``."""
    named = [f"{shortened(name)} {array.shape}" for name, array in arrays.items()]
    return ", ".join(named[:_MAX_LISTED]) + (
        f" and {len(named) - _MAX_LISTED} more" if len(named) > _MAX_LISTED else ""
    )


def _sparse(path: Path, headers: dict[str, Any]) -> Any:
    """Read a sparse matrix as sparse columns, which are converted to dense numbers later."""
    import pandas as pd
    import scipy.sparse as sp

    try:
        if math.prod(headers["shape"].shape) != 2:
            raise ValueError(f"its shape has {math.prod(headers['shape'].shape)} entries")
        with np.load(path, allow_pickle=False) as loaded:
            rows, columns = (int(n) for n in loaded["shape"])
        needed = 16.0 * rows * columns + _SPARSE_COLUMN_BYTES * columns
        require(needed, f"The sparse matrix of {str(path)!r}, {rows} × {columns}, as a table", SMALLER)
        X = sp.load_npz(path)
        if hasattr(X, "check_format"):
            X.check_format(full_check=True)  # indices out of range would crash the conversion below
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as failure:
        raise Unfit(f"{str(path)!r} cannot be read as a sparse matrix of scipy: {failure}") from failure
    frame = pd.DataFrame.sparse.from_spmatrix(sp.csc_matrix(X))
    frame.columns = [f"x{i + 1}" for i in range(X.shape[1])]
    return frame


def _frame(arrays: dict[str, Any], name: str) -> Any:
    """Return the matrix with numbered columns, and the vectors with one value per row as columns beside it (``attrs["beside"]``)."""
    import pandas as pd

    X = arrays[name]
    if X.ndim > 2:
        note(f"{name} has shape {X.shape}: each row was flattened to a vector.")
        X = X.reshape(X.shape[0], -1)
    if X.dtype.kind == "c":
        raise Unfit(f"{name} holds complex numbers: store the real and imaginary parts as separate columns.")
    beside = {key: array for key, array in arrays.items() if key != name and array.shape == (X.shape[0],)}
    left = [key for key in arrays if key != name and key not in beside]
    if left:
        note(f"Left out: {listed(left)} (not one value for each of the {X.shape[0]} rows).")
    frame = pd.DataFrame(X.astype("float32") if X.dtype.kind == "f" and X.itemsize < 4 else X)
    frame.columns = [f"x{i + 1}" for i in range(X.shape[1])]
    return with_columns_beside(frame, pd.DataFrame(beside)) if beside else frame


def with_columns_beside(frame: Any, beside: Any) -> Any:
    """Return a matrix with columns beside it that serve as labels and colours and are not embedded."""
    import pandas as pd

    whole = pd.concat([frame, beside.set_axis(frame.index)], axis=1)
    whole.attrs["beside"] = [str(name) for name in beside.columns]
    return whole


def read_anndata(path: Path, reading: Reading) -> Any:
    """Read the matrix X of an AnnData file, with the genes as columns and the annotations of the cells beside it."""
    import pandas as pd
    import scipy.sparse as sp

    try:
        import anndata
    except ImportError as failure:
        raise needs("anndata", "anndata", ".h5ad files") from failure
    try:
        require(anndata_bytes(path), f"Reading the arrays of {str(path)!r}, with X as a table,", SMALLER)
        held = anndata.read_h5ad(path)
    except MemoryError:
        raise
    except Exception as failure:  # h5py and anndata raise exceptions of any class
        raise Unfit(f"{str(path)!r} cannot be read as an AnnData file: {failure}") from failure
    if held.X is None:
        raise Unfit(f"{str(path)!r} has no matrix X.")
    X = pd.DataFrame(
        held.X.toarray() if sp.issparse(held.X) else np.asarray(held.X), columns=held.var_names.astype(str)
    )
    known = held.obs.rename_axis("cell").reset_index()
    taken = set(X.columns)
    known.columns = [name if name not in taken else f"{name} (obs)" for name in map(str, known.columns)]
    return with_columns_beside(X, known)
