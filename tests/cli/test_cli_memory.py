"""Files that need more memory than is available are refused with one paragraph, before they are read.

The commands run in a subprocess with a limited address space, so that reading such a file would fail.
"""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import shutil
import subprocess
import sys
import zipfile
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from cli_helpers import invoke, refused, run
from grouping import in_one_test

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc and limits of addresses")

#: Memory that the process may allocate beyond that of its libraries.
ROOM = 400 * 2**20
#: Minimum size of the uncompressed files.
LARGE = 500 * 2**20

SCRIPT = """
import json, re, resource, sys, traceback
import numpy, pandas, scipy.sparse, pyarrow.parquet, pyarrow.feather, openpyxl, numba, eigenspan.problem
from cli_helpers import invoke
from pathlib import Path
pyarrow.set_cpu_count(1)
pyarrow.set_io_thread_count(1)
used = 1024 * int(re.search(r"VmSize:\\s*(\\d+)", Path("/proc/self/status").read_text())[1])
resource.setrlimit(resource.RLIMIT_AS, (used + int(sys.argv[1]), resource.RLIM_INFINITY))
for line in sys.argv[2:]:
    result = invoke(*line.split("|"))
    known = result.exception is None or isinstance(result.exception, SystemExit)
    told = result.stderr if known else repr(result.exception)
    print(json.dumps({"line": line, "code": result.exit_code if known else -1, "told": told}), flush=True)
"""


def limited(*lines, room=ROOM):
    """Return the result of each command in a process with limited memory."""
    command = [sys.executable, "-c", SCRIPT, str(room), *lines]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    environment |= {
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "MALLOC_ARENA_MAX": "1",
    }  # each takes addresses
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == len(lines), f"ended with {done.returncode} after {len(found)} commands: {done.stderr[-2000:]}"
    return {entry["line"].split("|")[1].rsplit("/", 1)[-1]: entry for entry in found}


def header(shape, descr="<f8", version=1):
    """Return the header of a .npy file."""
    text = str({"descr": descr, "fortran_order": False, "shape": shape}).encode() + b"\n"
    return b"\x93NUMPY" + bytes([version, 0]) + len(text).to_bytes(2 if version == 1 else 4, "little") + text


def zeros_in_zip(path, name, start, count):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive, archive.open(name, "w") as file:
        file.write(start)
        block = bytes(2**24)
        for _ in range(0, count, len(block)):
            file.write(block)


def write_arrays(path):
    (path / "claims.npy").write_bytes(header((2**40, 5)) + bytes(40))
    (path / "overflow.npy").write_bytes(header((2**62, 2**62), version=2) + bytes(40))
    (path / "third.npy").write_bytes(header((2**40, 5), version=3) + bytes(40))
    (path / "nothing.npy").write_bytes(header((10**15, 3), "<U0") + bytes(40))
    (path / "nested.npy").write_bytes(header((3, 2)).replace(b"(3, 2)", b"((((((", 1) + bytes(40))
    (path / "deep.npy").write_bytes(header("?").replace(b"'?'", b"(" * 9000 + b")" * 9000) + bytes(40))
    (path / "negative.npy").write_bytes(header((-5, 3)) + bytes(40))
    (path / "wide.npy").write_bytes(header((1, 2 * 10**7), "|i1") + bytes(2 * 10**7))
    n = LARGE // 80
    zeros_in_zip(path / "bomb.npz", "X.npy", header((n, 10)), 80 * n)
    with zipfile.ZipFile(path / "claims.npz", "w") as archive:
        archive.writestr("X.npy", header((2**40, 5)) + bytes(40))
    sp.save_npz(path / "sparse.npz", sp.coo_array((10**6, 10**6)))
    beyond = {"data": np.ones(3), "indices": np.array([0, 10**8, 1]), "indptr": np.array([0, 1, 2, 3])}
    np.savez(path / "beyond.npz", format=b"csr", shape=np.array([3, 2]), **beyond)
    np.savez(path / "shape.npz", format=b"csr", shape=np.arange(10**6), **beyond)


def write_columns(path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    part = pa.table({"x": np.zeros(10**7), "y": np.zeros(10**7)})
    with pq.ParquetWriter(path / "numbers.parquet", part.schema, compression="zstd") as writer:
        for _ in range(LARGE // part.nbytes + 1):
            writer.write_table(part)
    codes, words = pa.array(np.zeros(10**5, np.int32)), pa.array(["w" * 10**6])
    text = pa.DictionaryArray.from_arrays(codes, words)
    pq.write_table(pa.table({"s": text, "x": np.arange(1e5), "y": np.arange(1e5) % 7}), path / "text.parquet")
    lists = pa.ListArray.from_arrays(pa.array(np.arange(0, 10**5 + 1, 100, dtype=np.int32)), text)
    pq.write_table(pa.table({"l": lists}), path / "lists.parquet")
    (path / "folder").mkdir()
    (path / "folder" / "part.parquet").symlink_to(path / "numbers.parquet")
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_file(str(path / "numbers.feather"), part.schema, options=options) as writer:
        for _ in range(LARGE // part.nbytes + 1):
            writer.write_table(part)


def write_text(path):
    rows, line = b"1,2,3,4\n" * 2**18, b"1" * 2**24
    packers = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}
    for ending, pack in packers.items():  # compressed files of several equal members
        (path / f"rows.csv.{ending}").write_bytes(pack(b"a,b,c,d\n") + pack(rows) * (LARGE // 2 // len(rows)))
        (path / f"line.csv.{ending}").write_bytes(pack(b"a,b,c,d\n") + pack(line) * (LARGE // len(line)))
    (path / "blanks.json.gz").write_bytes(gzip.compress(b"[") + gzip.compress(b" " * 2**24) * (LARGE // 2**24))
    (path / "names.jsonl").write_text("".join(f'{{"k{i}": 1}}\n' for i in range(15_000)))
    (path / "deep.json").write_text("[" * 10**6)
    (path / "cells.csv").write_bytes(b"," * 40 + b"\n" + (b"," * 40 + b"\n") * 10**6)
    (path / "packed.csv.zst").write_bytes(b"\x28\xb5\x2f\xfd" + bytes(100))
    (path / "packed.csv").write_bytes(gzip.compress(b"a,b\n1,2\n"))


def write_workbooks(path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active["A1"], book.active["XFD1048576"] = "a", 1
    book.save(path / "corner.xlsx")
    with zipfile.ZipFile(path / "corner.xlsx") as source:
        parts = {name: source.read(name) for name in source.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    for name, grown in (("sheet.xlsx", sheet), ("styles.xlsx", "xl/styles.xml")):
        with zipfile.ZipFile(path / name, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            for part, content in parts.items():
                if part == grown:  # spaces before the last closing tag
                    place = content.rindex(b"</", 0, content.rindex(b"</"))
                    content = content[:place] + b" " * (250 * 2**20) + content[place:]
                archive.writestr(part, content)


def write_small(path):
    frame = pd.DataFrame(np.random.default_rng(0).standard_normal((1000, 8)), columns=list("abcdefgh"))
    frame["kind"] = np.where(frame["a"] > 0, "high", "low")
    frame.to_csv(path / "t.csv", index=False)
    frame.to_csv(path / "t.csv.gz", index=False)
    frame.to_parquet(path / "t.parquet")
    frame.to_feather(path / "t.feather")
    frame.to_excel(path / "t.xlsx", index=False)
    frame.to_json(path / "t.jsonl", orient="records", lines=True)
    np.savez_compressed(path / "t.npz", X=frame.iloc[:, :8].to_numpy())
    np.save(path / "t.npy", frame.iloc[:, :8].to_numpy())
    sp.save_npz(path / "s.npz", sp.csr_array(np.random.default_rng(0).poisson(0.3, (200, 50)).astype(float)))


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    path = tmp_path_factory.mktemp("bombs")
    for write in (write_arrays, write_columns, write_text, write_workbooks):
        write(path)
    fitting = tmp_path_factory.mktemp("fitting")
    write_small(fitting)
    lines = [f"embed|{file}|-q|-o|{fitting / 'o.csv'}" for file in sorted(fitting.iterdir())]
    return limited(*lines, *(f"inspect|{file}|--no-forecast" for file in sorted(path.iterdir())))


DAMAGED = ["claims.npy", "overflow.npy", "third.npy", "claims.npz"]
LARGER = [
    *("nothing.npy", "wide.npy", "bomb.npz", "sparse.npz"),
    *("numbers.parquet", "text.parquet", "lists.parquet", "folder", "numbers.feather"),
    *("rows.csv.gz", "rows.csv.bz2", "rows.csv.xz", "line.csv.gz", "line.csv.bz2", "line.csv.xz"),
    *("blanks.json.gz", "names.jsonl", "cells.csv", "corner.xlsx", "sheet.xlsx", "styles.xlsx"),
]
SMALL = ["t.csv", "t.csv.gz", "t.parquet", "t.feather", "t.xlsx", "t.jsonl", "t.npz", "t.npy", "s.npz"]
OTHERS = [
    "nested.npy",
    "deep.npy",
    "negative.npy",
    "beyond.npz",
    "shape.npz",
    "deep.json",
    "packed.csv.zst",
    "packed.csv",
]


@in_one_test([*DAMAGED, *LARGER, *OTHERS])
def test_oversized_files_give_a_message_without_traceback(name, results):
    found = results[name]
    assert found["code"] == 3, found
    paragraphs = [line for line in found["told"].splitlines() if line.startswith("Error: ")]
    assert len(paragraphs) == 1
    assert name in paragraphs[0] or name == "folder"


@in_one_test(DAMAGED)
def test_false_headers_are_refused_as_damage(name, results):
    assert "is damaged or was cut short" in results[name]["told"]
    assert "TB (shape (" in results[name]["told"]


@in_one_test(LARGER)
def test_message_states_the_size_before_reading(name, results):
    told = results[name]["told"]
    assert "memory" in told
    assert "ran out of memory" not in told, "predicted, and not run into"
    assert any(f" {unit}" in told for unit in ("MB", "GB", "TB", "e+"))


def test_every_file_has_an_expected_outcome(results):
    assert set(results) == {*DAMAGED, *LARGER, *OTHERS, *SMALL}


@in_one_test(SMALL)
def test_small_files_are_read_under_the_same_limit(name, results):
    assert results[name]["code"] == 0, results[name]


def test_out_of_memory_during_a_command_gives_a_message(tmp_path, monkeypatch):
    """No prediction covers all allocations, so any of them may fail."""
    (tmp_path / "t.csv").write_text("a,b\n1,2\n3,4\n5,7\n")

    def fail(*given):
        raise (
            np._core._exceptions._ArrayMemoryError((10**9, 10**9), np.dtype("f8"))
            if hasattr(np, "_core")
            else MemoryError
        )

    monkeypatch.setattr("eigenspan.cli.columns._varying", fail)
    for command in (["embed", "-o", tmp_path / "o.csv"], ["inspect"], ["dimension"], ["compare"], ["theorems"]):
        assert "ran out of memory" in refused(command[0], tmp_path / "t.csv", *command[1:], code=3)


def test_user_memory_limit_is_respected(tmp_path, monkeypatch):
    np.savez_compressed(tmp_path / "t.npz", X=np.zeros((10_000, 50)))
    monkeypatch.setenv("EIGENSPAN_MEMORY", "1M")
    output = refused("inspect", tmp_path / "t.npz", code=3)
    assert "X (10000, 50)" in output
    assert "7.64 MB" in output
    assert "only 1 MB of memory is available" in output


@pytest.mark.parametrize("ending", ["csv.gz", "csv.bz2", "csv.xz"])
@pytest.mark.every(3)
def test_compressed_text_is_read_in_chunks(tmp_path, monkeypatch, ending):
    frame = pd.DataFrame(np.random.default_rng(0).standard_normal((3000, 4)), columns=list("abcd"))
    frame.to_csv(tmp_path / f"t.{ending}", index=False)
    run("embed", tmp_path / f"t.{ending}", "-o", tmp_path / "whole.csv")
    monkeypatch.setattr("eigenspan.cli.files.parts._ROWS", 700)
    monkeypatch.setattr("eigenspan.cli.files.parts.available_memory", lambda: 10_000)
    assert "reading it in chunks" in run("embed", tmp_path / f"t.{ending}", "-o", tmp_path / "parts.csv")
    whole, parts = (pd.read_csv(tmp_path / name)["pca0"].abs() for name in ("whole.csv", "parts.csv"))
    np.testing.assert_allclose(parts, whole, atol=1e-8)


def test_chunks_of_wide_tables_have_fewer_rows(tmp_path, monkeypatch):
    from eigenspan.cli.files import Reading
    from eigenspan.cli.files.parts import parts_of

    pd.DataFrame(np.ones((100, 50))).add_prefix("x").to_csv(tmp_path / "t.csv", index=False)
    monkeypatch.setattr("eigenspan.cli.files.parts._NUMBERS", 500)
    assert {len(part) for part in parts_of(tmp_path / "t.csv", Reading())} == {10}


def test_chunks_of_long_cells_have_fewer_rows(tmp_path):
    """50 kB expand to 100 GB of text, read a few hundred rows at a time."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    from eigenspan.cli.files import Reading
    from eigenspan.cli.files.parts import parts_of, too_large

    text = pa.DictionaryArray.from_arrays(pa.array(np.zeros(10**5, np.int32)), pa.array(["w" * 10**6]))
    pq.write_table(pa.table({"s": text, "x": np.arange(1e5)}), tmp_path / "t.parquet")
    assert too_large(tmp_path / "t.parquet")
    parts = parts_of(tmp_path / "t.parquet", Reading())
    assert len(next(parts)) <= 300
    parts.close()


class Dataset:
    """Stand-in for an h5py dataset."""

    def __init__(self, shape, itemsize=8, attrs=None):
        self.shape, self.dtype, self.attrs = shape, np.dtype(f"V{itemsize}"), attrs or {}


def test_anndata_size_is_computed_from_headers(tmp_path, monkeypatch):
    """Stand-ins replace h5py and anndata, which may not be installed."""
    from types import ModuleType

    class File(dict):
        def __init__(self, path, mode):
            super().__init__(X=Dataset((10**7, 10**5), 4), obs=Dataset((10**7,)), scalar=Dataset(None))

        def __enter__(self):
            return self

        def __exit__(self, *given):
            pass

        def visititems(self, visit):
            for name, node in self.items():
                visit(name, node)

    h5py, anndata = ModuleType("h5py"), ModuleType("anndata")
    h5py.Dataset, h5py.File = Dataset, File
    monkeypatch.setitem(sys.modules, "h5py", h5py)
    monkeypatch.setitem(sys.modules, "anndata", anndata)
    (tmp_path / "t.h5ad").write_bytes(b"\x89HDF\r\n\x1a\n")
    output = refused("inspect", tmp_path / "t.h5ad", code=3)
    assert "t.h5ad" in output
    assert "21.8 TB" in output


def test_endless_streams_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=2**20))
    result = invoke("inspect", "-", input=b"1,2\n" * 2**20)
    assert result.exit_code == 1
    assert "The pipe holds more than 922 kB" in result.stderr
