"""Tables in columns or matrices: Parquet, Feather, workbooks, NumPy's and scipy's archives, AnnData."""

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
from ..console import Unfit, Usage, listed, say
from ..escape import shortened
from .columnar import feather_bytes, parquet_columns, repeated_text_bytes
from .sizes import anndata_bytes, npy_array, npz_arrays, sheet_bytes, table_bytes, workbook_bytes
from .source import Reading, parquet_files, refuse_other_columns
from .text import SMALLER, as_numbers, with_plain_cells

#: What archives raise that are damaged, encrypted or packed in an unknown way.
_DAMAGE = (ValueError, KeyError, IndexError, EOFError, OverflowError, RuntimeError, struct.error, zipfile.BadZipFile)
#: Bytes of a sparse column besides its values (measured).
_COLUMN = 2500.0
#: Arrays that a message names.
_NAMED = 5


def needs(package: str, extra: str, what: str) -> Usage:
    """A package that is not there, and how to get it."""
    return Usage(f'{what} need {package}, which is not installed: pip install "eigenspan[{extra}]"')


def read_parquet(path: Path, reading: Reading) -> Any:
    """Columns of Parquet, in a file or in all files of a folder."""
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
    """Columns of Arrow."""
    with _readable(path, "pyarrow", "Feather files"):
        import pyarrow  # noqa: F401 -- named before the file is blamed

        needed = 2.0 * feather_bytes(path)
        require(needed, f"Reading the columns of {str(path)!r}", SMALLER)
        needed += 2.0 * repeated_text_bytes(path)
    require(needed, f"Reading the columns of {str(path)!r}", SMALLER)
    return _columnar(path, "read_feather", "Feather files")


@contextmanager
def _readable(path: Path, package: str, what: str) -> Iterator[None]:
    """Turn errors of a reader into a message; those of pyarrow derive from many."""
    try:
        yield
    except ImportError as failure:
        raise needs(package, "files", what) from failure
    except (ValueError, KeyError, TypeError, NotImplementedError, OverflowError, struct.error) as failure:
        raise Unfit(f"{str(path)!r} is not one of the {what}: {failure}") from failure


def _columnar(path: Path, reader: str, what: str) -> Any:
    import pandas as pd

    with _readable(path, "pyarrow", what):
        frame = getattr(pd, reader)(path)
    return with_plain_cells(frame if isinstance(frame.index, pd.RangeIndex) else frame.reset_index())


def read_excel(path: Path, reading: Reading) -> Any:
    """One sheet of a workbook."""
    import pandas as pd

    try:
        if packed := zipfile.is_zipfile(path):
            require(workbook_bytes(path), f"Opening the workbook {str(path)!r}", SMALLER)
        with pd.ExcelFile(path) as book:
            sheets = book.sheet_names
            sheet = reading.sheet or sheets[0]
            if sheet not in sheets:
                raise Usage(f"There is no sheet {sheet!r} in {str(path)!r}; there are {listed(sheets)}.")
            if reading.sheet is None and len(sheets) > 1:
                say(f"{path.name} has {len(sheets)} sheets; the first, {sheet!r}, was read. --sheet names another.")
            if packed:
                part = getattr(book.book[sheet], "_worksheet_path", None)
                needed = sheet_bytes(path, part, available_memory())
                require(needed, f"Reading the sheet {sheet!r} of {str(path)!r}", SMALLER)
            frame = book.parse(sheet, na_values=list(reading.na))
    except ImportError as failure:
        raise needs("openpyxl", "files", "Workbooks") from failure
    except (*_DAMAGE, SyntaxError, AttributeError, TypeError) as failure:  # a ParseError is a SyntaxError
        raise Unfit(f"{str(path)!r} is not a workbook that can be read: {failure}") from failure
    return as_numbers(frame, reading)


def read_numpy(path: Path, reading: Reading) -> Any:
    """A matrix, with vectors beside it; or scipy's sparse one."""
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
    except _DAMAGE as failure:
        raise Unfit(f"{str(path)!r} is not a readable NumPy file: {failure}") from failure
    matrices = [name for name, array in arrays.items() if array.ndim >= 2]
    name = "X" if "X" in matrices else matrices[0] if len(matrices) == 1 else None
    if name is None:
        shapes = _shapes(arrays) or "nothing"
        raise Unfit(f"{str(path)!r} must hold one matrix, or one called X; it holds {shapes}.")
    return _frame(arrays, name)


def _is_archive(path: Path) -> bool:
    """Whether NumPy reads a file as an archive: by how it begins."""
    with path.open("rb") as file:
        return file.read(4) in (b"PK\x03\x04", b"PK\x05\x06")


def _shapes(arrays: dict[str, Any]) -> str:
    """``X (150, 4), y (150,)``."""
    named = [f"{shortened(name)} {array.shape}" for name, array in arrays.items()]
    return ", ".join(named[:_NAMED]) + (f" and {len(named) - _NAMED} more" if len(named) > _NAMED else "")


def _sparse(path: Path, headers: dict[str, Any]) -> Any:
    """A sparse matrix, which the columns of numbers are taken from as a dense one."""
    import pandas as pd
    import scipy.sparse as sp

    try:
        if math.prod(headers["shape"].shape) != 2:
            raise ValueError(f"its shape has {math.prod(headers['shape'].shape)} entries")
        with np.load(path, allow_pickle=False) as loaded:
            rows, columns = (int(n) for n in loaded["shape"])
        needed = 16.0 * rows * columns + _COLUMN * columns
        require(needed, f"The sparse matrix of {str(path)!r}, {rows} × {columns}, as a table", SMALLER)
        X = sp.load_npz(path)
        if hasattr(X, "check_format"):
            X.check_format(full_check=True)  # indices beyond the matrix would crash the conversion below
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as failure:
        raise Unfit(f"{str(path)!r} is not a sparse matrix of scipy: {failure}") from failure
    frame = pd.DataFrame.sparse.from_spmatrix(sp.csc_matrix(X))
    frame.columns = [f"x{i + 1}" for i in range(X.shape[1])]
    return frame


def _frame(arrays: dict[str, Any], name: str) -> Any:
    """The matrix with its columns numbered, and vectors of the same length as columns beside it (``attrs["beside"]``)."""
    import pandas as pd

    X = arrays[name]
    if X.ndim > 2:
        say(f"{name} has shape {X.shape}: its rows were unrolled.")
        X = X.reshape(X.shape[0], -1)
    if X.dtype.kind == "c":
        raise Unfit(f"{name} holds complex numbers; pass real and imaginary parts as separate columns.")
    beside = {key: array for key, array in arrays.items() if key != name and array.shape == (X.shape[0],)}
    left = [key for key in arrays if key != name and key not in beside]
    if left:
        say(f"Left out: {listed(left)} (not one value for each of the {X.shape[0]} rows).")
    frame = pd.DataFrame(X.astype("float32") if X.dtype.kind == "f" and X.itemsize < 4 else X)
    frame.columns = [f"x{i + 1}" for i in range(X.shape[1])]
    return with_columns_beside(frame, pd.DataFrame(beside)) if beside else frame


def with_columns_beside(frame: Any, beside: Any) -> Any:
    """A matrix and what is known of its rows, which is for labels and colours and is not embedded."""
    import pandas as pd

    whole = pd.concat([frame, beside.set_axis(frame.index)], axis=1)
    whole.attrs["beside"] = [str(name) for name in beside.columns]
    return whole


def read_anndata(path: Path, reading: Reading) -> Any:
    """The matrix X of an AnnData file with its genes as columns, and what is known of its cells beside it."""
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
    except Exception as failure:  # h5py and anndata raise anything at all
        raise Unfit(f"{str(path)!r} is not an AnnData file that can be read: {failure}") from failure
    if held.X is None:
        raise Unfit(f"{str(path)!r} has no matrix X.")
    X = pd.DataFrame(
        held.X.toarray() if sp.issparse(held.X) else np.asarray(held.X), columns=held.var_names.astype(str)
    )
    known = held.obs.rename_axis("cell").reset_index()
    taken = set(X.columns)
    known.columns = [name if name not in taken else f"{name} (obs)" for name in map(str, known.columns)]
    return with_columns_beside(X, known)
