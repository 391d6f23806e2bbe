"""Full disks, interrupts and kills while a command writes: files must be the old ones or the complete new ones.

``python tests/faults.py`` does the same at every call.
"""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from cli_helpers import invoke, refused
from fault_cases import CASES, OLD, TABLES, Case, Trial, prepare

posix = pytest.mark.skipif(os.name == "nt", reason="signals, limits and devices of POSIX")


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the input files of the commands."""
    folder = tmp_path_factory.mktemp("faults") / "inputs"
    prepare(folder)
    return folder


@pytest.fixture
def here(inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Copy the input files to a working directory."""
    folder = Path(shutil.copytree(inputs, tmp_path / "copy"))
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.every(5)
def test_files_are_old_or_complete_after_a_fault(case: Case, here: Path) -> None:
    trial = Trial(case, here)
    points = list(trial.points(1))
    for point in points if case.cheap else points[::2]:
        assert trial.fail(*point) == []


def test_every_write_call_is_a_fault_point(here: Path) -> None:
    """The test above samples one fault per kind of call; the list of fault points must cover every call."""
    trial = Trial(CASES[0], here)
    assert [at for kind, old, at in trial.points() if (kind, old) == ("kill", True)] == [
        number + 1 for number in range(len(trial.calls[True]))
    ]
    assert {"open", "write", "fsync", "replace"} <= set(trial.calls[True])
    assert len(list(trial.points(2))) == 2 * 2 * 5


# ---------------------------------------------------------------------- files that may not grow
@contextmanager
def _smallest_files() -> Iterator[None]:
    """Limit files of this process to 400 bytes: writes fail as on a full disk, in every library."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (400, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)


@posix
@pytest.mark.parametrize(
    "arguments",
    [
        *(["embed", "t.csv", "-o", f"o.{ending}"] for ending in TABLES),
        ["embed", "t.csv", "-o", "p.csv", "--plot", "o.png"],
        ["embed", "t.csv", "-o", "p.csv", "--plot", "o.pdf"],
        ["embed", "t.csv", "-o", "p.csv", "--model", "o.eig"],
        ["transform", "made.eig", "t.csv", "-o", "o.csv"],
        ["dimension", "t.csv", "-m", "mle", "--plot", "o.svg"],
        ["compare", "t.csv", "-m", "pca", "--report", "o.html"],
        ["compare", "t.csv", "-m", "pca", "-o", "o.csv"],
    ],
    ids=lambda arguments: " ".join(arguments),
)
def test_file_size_limit_keeps_old_files(arguments: list[str], here: Path) -> None:
    (target,) = (Path(word) for word in arguments if word.startswith("o."))
    target.write_bytes(OLD)
    invoke(*arguments[:-1], target.with_name("first" + target.suffix))  # fill the caches
    (target.with_name("first" + target.suffix)).unlink(), Path("p.csv").unlink(missing_ok=True)
    before = sorted(os.listdir())
    with _smallest_files():
        told = refused(*arguments, code=1)
    assert f"'{target}' cannot be written: File too large" in told
    assert "unchanged" in told
    assert target.read_bytes() == OLD
    assert sorted(os.listdir()) == before


# ---------------------------------------------------------------------- signals
#: Runs a command that receives a signal when the chosen call of `to_csv` begins.
DRIVER = """
import os, signal, sys
import pandas as pd
import eigenspan.cli.files.parts as parts
number, call, *arguments = sys.argv[1:]
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # it is ignored if nohup started the tests
if "-" not in arguments:
    parts._ROWS, parts.available_memory = 20, lambda: 1000
real, calls = pd.DataFrame.to_csv, []
def to_csv(self, *given, **named):
    calls.append(1)
    if len(calls) == int(call):
        os.kill(os.getpid(), int(number))
    return real(self, *given, **named)
pd.DataFrame.to_csv = to_csv
from eigenspan.cli import main
main(arguments, prog_name="eigenspan")
"""


def _environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), **more}


def _signalled(name: str, call: int, *arguments: str, **more: Any) -> Any:
    number = str(int(getattr(signal, name)))
    environment = _environment(TMPDIR=str(Path.cwd() / "temporary"))
    command = [sys.executable, "-c", DRIVER, number, str(call), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=600, **more)


@posix
@pytest.mark.parametrize(
    ("name", "code"), [("SIGKILL", -9), ("SIGINT", 130), pytest.param("SIGTERM", 143, marks=pytest.mark.long)]
)
def test_signals_during_chunked_writing(name: str, code: int, here: Path) -> None:
    (here / "o.csv").write_bytes(OLD)
    before = set(os.listdir())
    done = _signalled(name, 3, "embed", "t.csv", "-o", "o.csv")
    assert done.returncode == code, done.stderr
    assert (here / "o.csv").read_bytes() == OLD
    assert "Traceback" not in done.stderr
    left = set(os.listdir()) - before
    assert len(left) == (1 if name == "SIGKILL" else 0)
    assert all(found.startswith(".o.csv.") and found.endswith(".part") for found in left)
    if left:
        assert "is incomplete" in refused("embed", left.pop(), code=3)


@posix
def test_temporary_copies_of_pipes_are_removed(here: Path) -> None:
    (here / "temporary").mkdir()
    done = _signalled("SIGHUP", 1, "embed", "-", "-o", "o.csv", input=(here / "t.csv").read_text())
    assert done.returncode == 129, done.stderr
    assert os.listdir(here / "temporary") == []
    assert not (here / "o.csv").exists()


# ---------------------------------------------------------------------- devices and pipes
@posix
def test_dev_stdout_is_appended_to(here: Path) -> None:
    """/dev/stdout refers to a file with contents, which must be neither replaced nor overwritten."""
    command = [sys.executable, "-m", "eigenspan", "embed", "t.csv", "-q", "-o", "/dev/stdout"]
    Path("kept.txt").write_text("before\n")
    with open("kept.txt", "a") as file:
        subprocess.run(command, env=_environment(), stdout=file, check=True)
    text = Path("kept.txt").read_text()
    assert text.startswith("before\nrow,pca0,pca1\n1,")
    assert text.splitlines()[-1] == "Embedding: /dev/stdout"


@posix
def test_writes_to_devices_and_fifos(here: Path) -> None:
    if os.geteuid():  # root could replace devices
        assert invoke("embed", "t.csv", "-o", "/dev/null").exit_code == 0
    if Path("/dev/full").exists() and os.geteuid():
        assert "'/dev/full' cannot be written: No space left" in refused("embed", "t.csv", "-o", "/dev/full", code=1)
    os.mkfifo("fifo")
    with subprocess.Popen(["cat", "fifo"], stdout=subprocess.PIPE, text=True) as reader:
        assert invoke("embed", "t.csv", "-o", "fifo").exit_code == 0
        assert reader.communicate()[0].startswith("row,pca0,pca1\n")
    assert Path("fifo").is_fifo()


@posix
@pytest.mark.parametrize("output", ["-", "o.csv"])
def test_standard_output_on_a_full_disk(output: str, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Named files must be complete by then."""

    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    printing = "eigenspan.cli.files.write._print_text" if output == "-" else "eigenspan.cli.delivery.announce"
    monkeypatch.setattr(printing, full)
    told = refused("embed", "t.csv", "-o", output, code=1)
    assert "Standard output" in told
    assert "cannot be written: No space left on device" in told
    assert output == "-" or len(pd.read_csv(output)) == 60


# ---------------------------------------------------------------------- target folders
def test_folders_without_write_permission_are_refused(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("o.csv").write_bytes(OLD)
    real = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != here and real(path, mode))
    told = refused("embed", "t.csv", "-o", "o.csv", code=2)
    assert f"no permission to create files in {str(here)!r}" in told
    assert Path("o.csv").read_bytes() == OLD


@posix
def test_inaccessible_folders_are_refused(here: Path) -> None:
    Path("loop.csv").symlink_to("loop.csv")
    told = refused("embed", "t.csv", "-o", "loop.csv", code=2)
    assert "'loop.csv' cannot be written: Too many levels of symbolic links" in told


def test_upper_case_endings_are_kept(here: Path) -> None:
    """NumPy appends its own ending to file names, and matplotlib derives the format from the ending."""
    for name in ("o.NPY", "o.NPZ", "o.XLSX", "o.CSV"):
        assert invoke("embed", "t.csv", "-o", name, "--plot", "o.PNG").exit_code == 0
        assert Path(name).stat().st_size > 0
    assert np.load("o.NPY").shape == (60, 2)
    assert pd.read_excel("o.XLSX").shape == (60, 3)
    assert Path("o.PNG").read_bytes().startswith(b"\x89PNG")


def test_existing_folder_is_replaced_only_if_empty(here: Path) -> None:
    Path("o").mkdir(mode=0o700)
    assert invoke("embed", "parts", "-o", "o").exit_code == 0
    assert os.listdir("o") == ["part-00000.parquet"]
    if os.name != "nt":
        assert Path("o").stat().st_mode & 0o777 == 0o700
    assert "already contains files" in refused("embed", "parts", "-o", "o", code=2)


def test_drafts_in_a_folder_are_ignored(here: Path) -> None:
    (here / "parts" / ".one.parquet.0123456789abcdef.part").write_bytes(b"PAR1")
    assert invoke("embed", "parts", "-o", "o.csv").exit_code == 0
    assert len(pd.read_csv("o.csv")) == 60
