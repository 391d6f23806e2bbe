"""Only `_files` writes to the disk: other modules write to its files, or to memory."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import eigenspan
from grouping import in_one_test

ROOT = Path(eigenspan.__file__).parent
FILES = sorted({*ROOT.rglob("*.py")} - {ROOT / "_files.py"})


def _words(text: str) -> set[str]:
    return set(text.split())


#: Modules that create files.
MODULES = {"shutil", "tempfile", "mmap", "sqlite3", "shelve", "dbm"}
#: Functions of `os`, and methods of `pathlib.Path`, that change the disk.
OS = _words(
    "open fdopen replace rename renames link symlink unlink remove removedirs rmdir mkdir makedirs mkfifo mknod truncate chmod chown"
)
PATHS = _words("write_text write_bytes touch mkdir rmdir unlink rename symlink_to hardlink_to chmod lchmod")
#: Functions and methods that write to the file or name in their first argument.
WRITERS = _words(
    "savefig print_figure imsave to_csv to_json to_parquet to_feather to_excel to_pickle to_hdf to_html to_stata to_xml to_orc to_sql "
    "to_zarr save savez savez_compressed savetxt save_npz tofile dump write_table write_feather write_h5ad write_zarr write_loom "
    "write_csvs write ExcelWriter ParquetWriter ZipFile TarFile GzipFile FileIO TextIOWrapper"
)
#: Functions whose results writers may write to, in addition to parameters of type `IO[bytes]`.
SOURCES = {"writing", "replacing", "Memory", "BytesIO", "StringIO", "TextIOWrapper", "ExcelWriter"}
#: Methods of this library with the name of a writer that pass a file name to `_files`.
OWN = {"full_report(self, title, **given).write", "third.write", "result.write", "write", "write_table", "save"}
#: Members of an archive that is written to a file of `_files`.
PARTS = {("models/archive.py", "archive.open(entry, 'w', force_zip64=large)")}
MODE = re.compile(r"[rwaxbtU+]{1,4}")


def writes(source: str, name: str = "") -> Iterator[tuple[int, str]]:
    """Return line and text of all calls that may write to the disk without `_files`."""
    tree = ast.parse(source)
    files = set(_files_in(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            if not getattr(node, "level", 0) and {found.split(".")[0] for found in names} & MODULES:
                yield node.lineno, ast.unparse(node)
        if isinstance(node, ast.Call) and (name, ast.unparse(node)) not in PARTS and _is_write(node, files):
            yield node.lineno, ast.unparse(node)


def _files_in(tree: ast.Module) -> Iterator[str]:
    """Return the names of variables that hold files which may be written."""
    for node in ast.walk(tree):
        if isinstance(node, ast.withitem) and isinstance(node.optional_vars, ast.Name):
            if _is_source(node.context_expr):
                yield node.optional_vars.id
        elif isinstance(node, ast.Assign) and _is_source(node.value):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.arg) and node.annotation is not None and "IO[" in ast.unparse(node.annotation):
            yield node.arg


def _is_source(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and (
        _last(node.func) in SOURCES | {"_as_text"} or ast.unparse(node.func) == "folder.open"
    )


def _last(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _is_write(call: ast.Call, files: set[str]) -> bool:
    name, whole = _last(call.func), ast.unparse(call.func)
    base = whole.rpartition(".")[0]
    if base == "os":
        return name in OS and not (name == "open" and ast.unparse(call.args[0]) == "os.devnull")
    if isinstance(call.func, ast.Attribute) and name in PATHS and not call.keywords[:1] * (name == "rename"):
        return True
    if (
        name == "replace" and base and len(call.args) == 1 and not call.keywords
    ):  # the method of a path; that of texts has two arguments
        return True
    if name in ("memmap", "File") or (name == "open" and whole not in ("folder.open",)):
        return _mode_writes(call)
    if name in WRITERS and whole not in OWN:
        if name in ("ZipFile", "GzipFile", "FileIO", "TarFile") and not _mode_writes(call):
            return False
        if name == "write":
            return base not in files and base != "sys.stdout"
        first = (
            call.args[0]
            if call.args
            else next((k.value for k in call.keywords if k.arg in ("path_or_buf", "fname")), None)
        )
        return first is not None and ast.unparse(first).removesuffix(".name") not in files
    return False


def _mode_writes(call: ast.Call) -> bool:
    """Return True if a mode other than reading is given."""
    modes = [k.value for k in call.keywords if k.arg == "mode"]
    texts = [
        a for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str) and MODE.fullmatch(a.value)
    ]
    for mode in modes + texts:
        if not isinstance(mode, ast.Constant):
            return "mmap_mode" not in ast.unparse(mode)  # validated elsewhere: "r" or "c"
        if set(str(mode.value)) & set("wax+"):
            return True
    return False


@in_one_test(FILES, lambda path: str(path.relative_to(ROOT)))
def test_only_one_module_writes_files(path: Path) -> None:
    found = list(writes(path.read_text(encoding="utf-8"), path.relative_to(ROOT).as_posix()))
    assert found == [], f"{path.relative_to(ROOT)} writes to the disk past eigenspan._files: {found}"


BAD = """
open(path, "w")
open(path, mode="ab")
open(path, "r+")
open(path, mode=how)
path.open("x")
path.open("wb")
gzip.open(path, "wt")
io.open(path, "w")
io.FileIO(path, "w")
path.write_text("x")
path.write_bytes(b"x")
figure.savefig(path, dpi=120)
figure.savefig(fname=path)
frame.to_csv(path, index=False)
frame.to_csv(path_or_buf=path)
frame.to_parquet(folder / "part.parquet")
frame.to_excel(o.output)
frame.to_json("x.json")
np.save(path, X)
np.savez(path, X=X)
np.savez_compressed(str(path), X=X)
np.savetxt(path, X)
X.tofile(path)
np.memmap(path, mode="w+")
zipfile.ZipFile(path, "w")
adata.write_h5ad(path)
adata.write(path)
joblib.dump(model, path)
json.dump(facts, stream)
pickle.dump(model, stream)
os.replace(draft, path)
os.rename(draft, path)
os.open(path, os.O_WRONLY)
os.unlink(path)
os.makedirs(folder)
draft.replace(path)
draft.rename(path)
path.unlink(missing_ok=True)
path.touch()
folder.mkdir(parents=True)
import shutil
import tempfile
from tempfile import NamedTemporaryFile
from shutil import copyfile
h5py.File(path, "w")
pq.write_table(table, path)
pd.ExcelWriter(path)
"""
GOOD = """
open(path)
open(path, "rb")
path.open("rb")
path.open()
gzip.open(path)
text.replace("a", "b")
dataclasses.replace(posed, axes=d)
signature.replace(parameters=found)
frame.rename(columns=names)
frame.to_csv(index=False)
zipfile.ZipFile(path)
zipfile.ZipFile(path, "r")
np.memmap(path, mode="r")
sys.stdout.write(text)
os.open(os.devnull, os.O_WRONLY)
os.path.realpath(path)
os.fsync(number)
"""


@in_one_test(BAD.strip().splitlines())
def test_the_rule_finds_writes(line: str) -> None:
    assert [text for _, text in writes(line)] == [ast.unparse(ast.parse(line))]
    inside = f"def f(path, X):\n    with reading(path) as file:\n        {line}\n"
    assert len(list(writes(inside))) == 1


@in_one_test(GOOD.strip().splitlines())
def test_the_rule_accepts_reading(line: str) -> None:
    assert list(writes(line)) == []


def test_the_rule_accepts_files_of_the_files_module() -> None:
    good = """
def f(path, X, figure, frame, given: IO[bytes]):
    with writing(path) as file:
        np.save(file, X)
        figure.savefig(file, format="png")
        adata.write_h5ad(file.name)
        file.write(b"x")
    frame.to_csv(given)
    whole = BytesIO()
    np.savez(whole, X=X)
"""
    assert list(writes(good)) == []
    assert len(list(writes(good.replace("writing(path)", "path.open()")))) == 4
