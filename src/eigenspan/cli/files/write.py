"""Write tables in the format that the file ending names; check beforehand that no input or other result is overwritten."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from itertools import count
from pathlib import Path
from typing import IO, Any

from ..._files import DraftFolder, Memory, is_special, writing, writing_folder
from ...errors import OutputError
from ..console import Failed, Usage, listed, print_table, warn
from .spreadsheet import neutralised, write_workbook

#: Supported endings, and the extra that installs what they need.
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
    """Refuse, before any work, two results in one file, and every target that `check_output` refuses."""
    named = {option: path for option, path in targets.items() if path is not None}
    for option, path in named.items():
        if str(path) == "-" and option != "output":
            raise Usage(f"--{option} cannot write to standard output (-): name a file.")
        check_output(path, *inputs)
        same = [other for other, place in named.items() if other < option and _is_same(place, path)]
        if same:
            raise Usage(f"--{same[0]} and --{option} both name {str(path)!r}: one would overwrite the other.")


def check_output(path: Path | None, *inputs: Path) -> None:
    """Refuse, before any work, a target that cannot be written or that is an input."""
    if path is None or str(path) == "-":
        return
    try:
        special = is_special(path)
    except OutputError as failure:  # a folder without access, or a link to itself
        raise Usage(str(failure)) from failure
    if path.is_dir() and (any(path.iterdir()) or path.suffix):
        raise Usage(f"{str(path)!r} is a directory that already contains files: name a file in it, or a new folder.")
    if not path.parent.is_dir():
        raise Usage(f"There is no directory {str(path.parent)!r} to write {path.name!r} into.")
    if any(_is_same(path, source) for source in inputs):
        raise Usage(f"{str(path)!r} is the input: choose another name for the output.")
    if path.exists() and not os.access(path, os.W_OK):
        raise Usage(f"{str(path)!r} cannot be written: permission denied.")
    parent = Path(os.path.realpath(path)).parent
    if not special and parent.is_dir() and not os.access(parent, os.W_OK | os.X_OK):
        raise Usage(
            f"{str(path)!r} cannot be written: no permission to create files in {str(parent)!r}, which is needed because a result is "
            "completed in a temporary file there before it is renamed. Choose another folder."
        )


def _is_same(one: Path, other: Path) -> bool:
    if "-" in (str(one), str(other)):
        return str(one) == str(other)
    return one.resolve() == other.resolve() or (one.exists() and other.exists() and one.samefile(other))


def is_folder(path: Path, table: Path) -> bool:
    """Whether to write a folder of Parquet files: if the table is such a folder, and the output has no ending."""
    return table.is_dir() and str(path) != "-" and not path.suffix


def check_table(path: Path, table: Path | None = None) -> None:
    """Refuse, before any work, an ending that is not a supported table, or whose writer is not installed."""
    if str(path) == "-":
        return
    folder = table is not None and is_folder(path, table)
    ending = ".parquet" if folder else path.suffix.lower()
    if ending not in WRITABLE and not is_special(path) and not path.is_dir():  # `check_output` refuses folders
        raise Usage(f"{path.name!r} does not end like a supported table: use one of {', '.join(WRITABLE)}.")
    module = {".parquet": "pyarrow", ".feather": "pyarrow", ".xlsx": "openpyxl", ".h5ad": "anndata"}.get(ending)
    if module is not None:
        from importlib.util import find_spec

        if find_spec(module) is None:
            raise Usage(f'{ending} needs {module}, which is not installed: pip install "eigenspan[{WRITABLE[ending]}]"')


def _print_text(frame: Any, header: bool = True) -> None:
    """Print comma-separated text, and warn if the encoding of standard output cannot represent all characters."""
    frame = neutralised(frame, header)
    text, encoding = frame.to_csv(index=False, header=header, lineterminator="\n"), sys.stdout.encoding or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError as failure:
        warn(
            f"Standard output uses {encoding}, which cannot represent {failure.object[failure.start]!a}: such characters are written as "
            "'?'. Set PYTHONIOENCODING=utf-8, or name a file with -o."
        )
    print_table(text)


def _discard_output(path: Path) -> None:
    """Discard further standard output, without a message, after the program behind the pipe has stopped reading."""
    if str(path) in ("-", "/dev/stdout"):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def _errors_as_messages(path: Path) -> Iterator[None]:
    """Turn errors of writers into messages."""
    try:
        yield
    except BrokenPipeError:
        _discard_output(path)
    except OutputError as failure:
        raise Failed(str(failure)) from failure
    except (OSError, ImportError, ValueError) as failure:
        kept = "" if str(path) == "-" or is_special(path) else " The previous contents are unchanged."
        why = str(getattr(failure, "strerror", None) or failure).rstrip(".")
        what = "Standard output" if str(path) == "-" else repr(str(path))
        raise Failed(f"{what} cannot be written: {why}.{kept}") from failure


def write_table(frame: Any, path: Path, axes: list[str] | None = None, *, folder: bool = False) -> None:
    """Write a table in the format of the ending, or into a folder; ``-`` is standard output, as comma-separated text.

    `axes` names the columns of the embedding; a ``.npy`` holds only these.
    """
    with _errors_as_messages(path):
        if str(path) == "-":
            _print_text(frame)
        elif folder:
            with writing_folder(path) as parts:
                _write_part(frame, parts, 0)
        else:
            ending = ".csv" if is_special(path) else path.suffix.lower()
            with writing(path) as file:
                _write(frame, file, ending, axes or list(frame.columns))


@contextmanager
def writing_chunks(path: Path, *, folder: bool = False) -> Iterator[Callable[[Any], None]]:
    """Yield a function that appends a chunk of rows to a table of separated text, or a file to a folder of Parquet files.

    The table appears under its name when the block ends. Errors of the block that do not concern the output pass through.
    """
    numbers, separator = count(), "\t" if path.suffix.lower() == ".tsv" else ","

    def add(write: Callable[..., None], *arguments: Any) -> None:
        with _errors_as_messages(path):
            write(*arguments)

    try:
        if str(path) == "-":
            yield lambda frame: add(_print_text, frame, next(numbers) == 0)
        elif folder:
            with writing_folder(path) as parts:
                yield lambda frame: add(_write_part, frame, parts, next(numbers))
        else:
            with writing(path) as file:
                yield lambda frame: add(_write_text, frame, file, separator, next(numbers) == 0)
    except BrokenPipeError:
        _discard_output(path)
    except OutputError as failure:
        raise Failed(str(failure)) from failure


def _write(frame: Any, file: IO[bytes], ending: str, axes: list[str]) -> None:
    if ending == ".parquet":
        frame.to_parquet(file, index=False)
    elif ending == ".feather":
        frame.reset_index(drop=True).to_feather(file)
    elif ending == ".xlsx":
        whole = Memory()
        write_workbook(frame, whole)
        file.write(whole.getbuffer())
    elif ending in (".json", ".jsonl", ".ndjson"):
        with _as_text(file) as text:
            frame.to_json(text, orient="records", lines=ending != ".json", force_ascii=False)
    elif ending in (".npy", ".npz"):
        _write_numpy(frame, file, ending, axes)
    else:
        _write_text(frame, file, "\t" if ending == ".tsv" else ",")


def _write_part(frame: Any, folder: DraftFolder, number: int) -> None:
    """Write one of the Parquet files of a folder."""
    with folder.open(f"part-{number:05d}.parquet") as file:
        frame.to_parquet(file, index=False)


def _write_text(frame: Any, file: IO[bytes], separator: str, header: bool = True) -> None:
    with _as_text(file) as text:
        neutralised(frame, header).to_csv(text, index=False, header=header, sep=separator)


@contextmanager
def _as_text(file: IO[bytes]) -> Iterator[IO[str]]:
    """Yield a UTF-8 text wrapper of a binary file; the file stays open."""
    text = TextIOWrapper(file, "utf-8", newline="")
    try:
        yield text
        text.flush()
    finally:
        with suppress(OSError):  # a second flush must not hide the first error
            text.detach()


def write_figure(figure: Any, path: Path, dpi: int) -> None:
    """Write a picture in the format of the ending."""
    # Draw in memory first: a truncated PDF fails again when it is closed, with an error that does not mention the disk.
    whole = Memory()
    with _errors_as_messages(path):
        figure.savefig(whole, dpi=dpi, format=path.suffix[1:].lower() or "png")
        with writing(path) as file:
            file.write(whole.getbuffer())


def write_anndata(path: Path, source: Path, estimators: dict[str, Any], data: Any, beside: Any) -> None:
    """Write the results into the AnnData that was read, or a new one of the embedded columns, under the names that scanpy uses."""
    import anndata

    from ...interop import anndata_name, to_anndata

    named = {anndata_name(name): estimator for name, estimator in estimators.items()}
    if source.suffix.lower() == ".h5ad":
        whole = anndata.read_h5ad(source)
        adata = whole if whole.n_obs == len(beside) else whole[data.ids.index.to_numpy()].copy()
    else:
        adata = anndata.AnnData(X=data.X, obs=beside.set_axis(beside.iloc[:, 0].astype(str)).astype(str))
        adata.var_names = data.columns
    result = to_anndata(named, adata)
    with _errors_as_messages(path), writing(path) as file:
        result.write_h5ad(file.name)


def _write_numpy(frame: Any, file: IO[bytes], ending: str, axes: list[str]) -> None:
    """Write the embedding alone (.npy), or with the other columns (.npz), text as text."""
    import numpy as np

    Y = frame[axes].to_numpy(dtype=np.float64)
    if ending == ".npy":
        np.save(file, Y)
        return
    beside = {}
    for name in (name for name in frame.columns if name not in axes):
        values = frame[name].to_numpy()
        beside[str(name)] = values.astype(str) if values.dtype.kind == "O" else values
    if "X" in beside:
        raise Usage(
            f"A column is called 'X', the name of the embedding in a {ending} file: the columns are {listed(frame.columns)}."
        )
    whole = Memory()
    np.savez(whole, X=Y, axes=np.array(axes), **beside)
    file.write(whole.getbuffer())
