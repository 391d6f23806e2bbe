"""Tables out, by the ending of the name; nothing is overwritten that should not be."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from ..console import Failed, Usage, listed, print_table, warn
from .spreadsheet import neutralised, write_workbook

#: Endings that can be written, and the extra that brings what they need.
WRITABLE = {
    ".csv": None,
    ".tsv": None,
    ".txt": None,
    ".json": None,
    ".jsonl": None,
    ".ndjson": None,
    ".npy": None,
    ".npz": None,
    ".parquet": "files",
    ".feather": "files",
    ".xlsx": "files",
    ".h5ad": "anndata",
}


def check_outputs(inputs: tuple[Path, ...], **targets: Path | None) -> None:
    """Refuse, before any work, two results under one name, and each that `check_output` refuses."""
    named = {option: path for option, path in targets.items() if path is not None}
    for option, path in named.items():
        if str(path) == "-" and option != "output":
            raise Usage(f"--{option} cannot write to standard output (-): name a file.")
        check_output(path, *inputs)
        same = [other for other, place in named.items() if other < option and _is_same(place, path)]
        if same:
            raise Usage(f"--{same[0]} and --{option} both name {str(path)!r}: one would overwrite the other.")


def check_output(path: Path | None, *inputs: Path) -> None:
    """Refuse, before any work, a place that cannot be written or that holds the input."""
    if path is None or str(path) == "-":
        return
    if path.is_dir() and (any(path.iterdir()) or path.suffix):
        raise Usage(f"{str(path)!r} is a directory that holds files already: name a file in it, or a new folder.")
    if not path.parent.is_dir():
        raise Usage(f"There is no directory {str(path.parent)!r} to write {path.name!r} into.")
    if any(_is_same(path, source) for source in inputs):
        raise Usage(f"{str(path)!r} is the input: choose another name for the output.")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise Usage(f"{str(path)!r} cannot be written: there is no permission to.")


def _is_same(one: Path, other: Path) -> bool:
    if "-" in (str(one), str(other)):
        return str(one) == str(other)
    return one.resolve() == other.resolve() or (one.exists() and other.exists() and one.samefile(other))


def is_folder(path: Path, table: Path) -> bool:
    """A folder of Parquet files is to be written: the table is such a folder, and the name has no ending."""
    return table.is_dir() and str(path) != "-" and not path.suffix


def check_table(path: Path, table: Path | None = None) -> None:
    """Refuse an ending that is no table, or whose writer is not installed, before the work and not after it."""
    if str(path) == "-":
        return
    folder = table is not None and is_folder(path, table)
    ending = ".parquet" if folder else path.suffix.lower()
    if ending not in WRITABLE and not _is_device(path):
        raise Usage(f"{path.name!r} has no ending that names a kind of table: use one of {', '.join(WRITABLE)}.")
    module = {".parquet": "pyarrow", ".feather": "pyarrow", ".xlsx": "openpyxl", ".h5ad": "anndata"}.get(ending)
    if module is not None:
        from importlib.util import find_spec

        if find_spec(module) is None:
            raise Usage(f'{ending} needs {module}, which is not installed: pip install "eigenspan[{WRITABLE[ending]}]"')


def _is_device(path: Path) -> bool:
    return path.exists() and not path.is_file()


def write_part(frame: Any, folder: Path, number: int) -> None:
    """One of the Parquet files of a folder."""
    folder.mkdir(exist_ok=True)
    frame.to_parquet(folder / f"part-{number:05d}.parquet", index=False)


def append_text(frame: Any, path: Path, *, header: bool) -> None:
    """Write a chunk of a table as separated text; the first, with the header, replaces what the file held."""
    separator = "\t" if path.suffix.lower() == ".tsv" else ","
    if str(path) == "-":
        _print_text(frame, header)
    else:
        plain = neutralised(frame, header)
        plain.to_csv(path, index=False, mode="w" if header else "a", header=header, sep=separator)


def _print_text(frame: Any, header: bool = True) -> None:
    """Print comma-separated text, and warn if the encoding of standard output cannot express all of it."""
    frame = neutralised(frame, header)
    text, encoding = frame.to_csv(index=False, header=header, lineterminator="\n"), sys.stdout.encoding or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError as failure:
        warn(
            f"Standard output uses {encoding}, which cannot express {failure.object[failure.start]!a}: such characters are written as "
            "'?'. Set PYTHONIOENCODING=utf-8, or name a file with -o."
        )
    print_table(text)


def write_table(frame: Any, path: Path, axes: list[str] | None = None, *, folder: bool = False) -> None:
    """Write by the ending of the name, or into a folder; ``-`` is standard output, in comma-separated text.

    `axes` names the columns of the embedding, which are all that a ``.npy`` holds.
    """
    ending = path.suffix.lower()
    try:
        if folder:
            write_part(frame, path, 0)
        elif str(path) == "-":
            _print_text(frame)
        elif _is_device(path):
            neutralised(frame).to_csv(path, index=False)
        elif ending == ".parquet":
            frame.to_parquet(path, index=False)
        elif ending == ".feather":
            frame.reset_index(drop=True).to_feather(path)
        elif ending == ".xlsx":
            write_workbook(frame, path)
        elif ending in (".json", ".jsonl", ".ndjson"):
            frame.to_json(path, orient="records", lines=ending != ".json", force_ascii=False)
        elif ending in (".npy", ".npz"):
            _write_numpy(frame, path, axes or list(frame.columns))
        else:
            neutralised(frame).to_csv(path, index=False, sep="\t" if ending == ".tsv" else ",")
    except BrokenPipeError:  # whoever reads has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ImportError, ValueError) as failure:
        raise Failed(f"{str(path)!r} cannot be written: {failure}") from failure


def write_anndata(path: Path, source: Path, estimators: dict[str, Any], data: Any, beside: Any) -> None:
    """The AnnData that was read, or a new one of the columns embedded, with the results where scanpy looks for them."""
    import anndata

    from ...interop import anndata_name, to_anndata

    named = {anndata_name(name): estimator for name, estimator in estimators.items()}
    if source.suffix.lower() == ".h5ad":
        whole = anndata.read_h5ad(source)
        adata = whole if whole.n_obs == len(beside) else whole[data.ids.index.to_numpy()].copy()
    else:
        adata = anndata.AnnData(X=data.X, obs=beside.set_axis(beside.iloc[:, 0].astype(str)).astype(str))
        adata.var_names = data.columns
    try:
        to_anndata(named, adata).write_h5ad(path)
    except OSError as failure:
        raise Failed(f"{str(path)!r} cannot be written: {failure}") from failure


def _write_numpy(frame: Any, path: Path, axes: list[str]) -> None:
    """The embedding alone, or with what stands beside it, text as text."""
    import numpy as np

    Y = frame[axes].to_numpy(dtype=np.float64)
    if path.suffix.lower() == ".npy":
        np.save(path, Y)
        return
    beside = {}
    for name in (name for name in frame.columns if name not in axes):
        values = frame[name].to_numpy()
        beside[str(name)] = values.astype(str) if values.dtype.kind == "O" else values
    if "X" in beside:
        raise Usage(
            f"A column is called 'X', the name of the embedding in {path.name}: the columns are {listed(frame.columns)}."
        )
    np.savez(path, X=Y, axes=np.array(axes), **beside)
