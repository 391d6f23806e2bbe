"""Tables in columns or matrices: Parquet, Feather, workbooks, NumPy's and scipy's archives, AnnData."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from ..console import Unfit, Usage, listed, say
from .source import Reading, parquet_files, refuse_other_columns
from .text import as_numbers, with_plain_cells


def needs(package: str, extra: str, what: str) -> Usage:
    """A package that is not there, and how to get it."""
    return Usage(f'{what} need {package}, which is not installed: pip install "eigenspan[{extra}]"')


def read_parquet(path: Path, reading: Reading) -> Any:
    """Columns of Parquet, in a file or in all files of a folder."""
    if not path.is_dir():
        return _columnar(path, "read_parquet", "Parquet files")
    import pandas as pd

    frames = {file.name: _columnar(file, "read_parquet", "Parquet files") for file in parquet_files(path)}
    refuse_other_columns(path, ((name, list(frame.columns)) for name, frame in frames.items()))
    return pd.concat(frames.values(), ignore_index=True)


def read_feather(path: Path, reading: Reading) -> Any:
    """Columns of Arrow."""
    return _columnar(path, "read_feather", "Feather files")


def _columnar(path: Path, reader: str, what: str) -> Any:
    import pandas as pd

    try:
        frame = getattr(pd, reader)(path)
    except ImportError as failure:
        raise needs("pyarrow", "files", what) from failure
    except ValueError as failure:  # pyarrow's errors derive from it
        raise Unfit(f"{str(path)!r} is not one of the {what}: {failure}") from failure
    return with_plain_cells(frame if isinstance(frame.index, pd.RangeIndex) else frame.reset_index())


def read_excel(path: Path, reading: Reading) -> Any:
    """One sheet of a workbook."""
    import pandas as pd

    try:
        with pd.ExcelFile(path) as book:
            sheets = book.sheet_names
            sheet = reading.sheet or sheets[0]
            if sheet not in sheets:
                raise Usage(f"There is no sheet {sheet!r} in {str(path)!r}; there are {listed(sheets)}.")
            if reading.sheet is None and len(sheets) > 1:
                say(f"{path.name} has {len(sheets)} sheets; the first, {sheet!r}, was read. --sheet names another.")
            frame = book.parse(sheet, na_values=list(reading.na))
    except ImportError as failure:
        raise needs("openpyxl", "files", "Workbooks") from failure
    except (ValueError, KeyError, zipfile.BadZipFile) as failure:
        raise Unfit(f"{str(path)!r} is not a workbook that can be read: {failure}") from failure
    return as_numbers(frame, reading)


def read_numpy(path: Path, reading: Reading) -> Any:
    """A matrix, with vectors beside it; or scipy's sparse one."""
    try:
        with path.open("rb") as file:
            loaded = np.load(file, allow_pickle=False)
            arrays = {"X": loaded} if isinstance(loaded, np.ndarray) else {name: loaded[name] for name in loaded.files}
            arrays = {name: array for name, array in arrays.items() if isinstance(array, np.ndarray)}
    except (ValueError, EOFError, zipfile.BadZipFile) as failure:
        raise Unfit(f"{str(path)!r} is not a readable NumPy file: {failure}") from failure
    if "format" in arrays and "shape" in arrays and "data" in arrays:
        return _sparse(path)
    matrices = [name for name, array in arrays.items() if array.ndim >= 2]
    name = "X" if "X" in matrices else matrices[0] if len(matrices) == 1 else None
    if name is None:
        shapes = ", ".join(f"{key} {array.shape}" for key, array in arrays.items())
        raise Unfit(f"{str(path)!r} must hold one matrix, or one called X; it holds {shapes or 'nothing'}.")
    return _frame(arrays, name)


def _sparse(path: Path) -> Any:
    import pandas as pd
    import scipy.sparse as sp

    try:
        X = sp.load_npz(path)
    except (ValueError, KeyError, TypeError) as failure:
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
        held = anndata.read_h5ad(path)
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
