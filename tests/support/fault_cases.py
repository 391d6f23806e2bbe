"""All commands and functions that write files, with each kind of output."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import matplotlib
import numpy as np
import pandas as pd

import eigenspan as es
from cli_helpers import invoke
from eigenspan._files import is_draft
from eigenspan.errors import EigenspanError
from fault_injection import KINDS, Faults, Killed, other_writes

OLD = b"what was there before\n" * 9
ROWS = 60


@dataclass(frozen=True)
class Case:
    """One command or function.

    Parameters
    ----------
    name : str
    targets : tuple of str
        Files that it writes, within its folder, in the order in which they get their names. A folder ends in a slash.
    run : callable
        Does it in the working directory; returns its exit code and its output.
    cheap : bool
        Whether it takes a tenth of a second or less.
    """

    name: str
    targets: tuple[str, ...]
    run: Callable[[Faults], tuple[int, str]]
    cheap: bool = True


def prepare(folder: Path) -> None:
    """Create a folder with the input files of the commands."""
    folder.mkdir()
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(ROWS, 4)) @ rng.normal(size=(4, 4)), columns=list("abcd"))
    frame["kind"] = np.where(frame["a"] > 0, "höher", "low")
    frame.to_csv(folder / "t.csv", index=False)
    (folder / "parts").mkdir()
    frame[: ROWS // 2].to_parquet(folder / "parts" / "one.parquet")
    frame[ROWS // 2 :].to_parquet(folder / "parts" / "two.parquet")
    assert invoke("embed", folder / "t.csv", "-o", folder / "made.csv", "--model", folder / "made.eig").exit_code == 0


def _command(*arguments: str, piped: bool = False) -> Callable[[Faults], tuple[int, str]]:
    def run(faults: Faults) -> tuple[int, str]:
        result = invoke(*arguments, input=Path("t.csv").read_bytes() if piped else None)
        if not isinstance(result.exception, SystemExit | None):
            raise result.exception
        return result.exit_code, " ".join(result.output.split())

    return run


def _chunked(*arguments: str) -> Callable[[Faults], tuple[int, str]]:
    def run(faults: Faults) -> tuple[int, str]:
        with ExitStack() as stack:
            stack.enter_context(patch("eigenspan.cli.files.parts._ROWS", 20))
            stack.enter_context(patch("eigenspan.cli.files.parts.available_memory", lambda: 1000))
            code, output = _command(*arguments)(faults)
        assert code or "in chunks" in output
        return code, output

    return run


def _library(work: Callable[[], Any]) -> Callable[[Faults], tuple[int, str]]:
    def run(faults: Faults) -> tuple[int, str]:
        try:
            work()
        except EigenspanError as failure:
            return 1, str(failure)
        except KeyboardInterrupt:
            return 130, ""
        return 0, ""

    return run


class _AnnData:
    """Stand-in that writes to a file name in several steps, like h5py, without the counted calls of `os`."""

    faults: Faults

    def __init__(self, X: Any, obs: Any) -> None:
        self.X, self.obs, self.n_obs, self.n_vars = X, obs, len(X), X.shape[1]
        self.obsm: dict[str, Any] = {}
        self.uns, self.varm, self.obsp = {}, {}, {}

    def write_h5ad(self, name: str) -> None:
        with open(name, "wb") as file:
            self.faults.unsynced.add(os.fstat(file.fileno()).st_ino)
            for key, values in self.obsm.items():
                blocks = [key.encode(), np.asarray(values).tobytes()]
                for block in blocks:
                    self.faults.call("h5", lambda block=block: file.write(block))
                    file.flush()


def _anndata(faults: Faults) -> tuple[int, str]:
    _AnnData.faults = faults
    module = types.ModuleType("anndata")
    module.AnnData = _AnnData  # type: ignore[attr-defined]
    module.__spec__ = __import__("importlib.machinery").machinery.ModuleSpec("anndata", None)
    with patch.dict(sys.modules, {"anndata": module}):
        return _command("embed", "t.csv", "-o", "o.h5ad")(faults)


def _demo(faults: Faults) -> tuple[int, str]:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    with (
        patch("eigenspan.cli.demo.METHODS", ("PCA", "LDA")),
        patch("sklearn.datasets.load_digits", lambda **_: (X[:200], y[:200])),
    ):
        return _command("demo", "--output", "o.png", "--report", "o.html")(faults)


def _model() -> Any:
    return es.PCA(2).fit(np.random.default_rng(0).normal(size=(30, 4)))


def _report() -> Any:
    from eigenspan.report import Report

    X = np.random.default_rng(0).normal(size=(30, 2))
    return Report("Thirty points", {"X": X}, pd.DataFrame(X, columns=["a", "b"]))


def _kept() -> None:
    X = np.random.default_rng(0).normal(size=(30, 4))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a warning says that the old file is not an embedding
        es.compare(X, ["PCA", "LPP"], folder="kept")


TABLES = ("csv", "tsv", "txt", "json", "jsonl", "ndjson", "npy", "npz", "parquet", "feather", "xlsx")
CASES = [
    *(Case(f"embed .{e}", (f"o.{e}",), _command("embed", "t.csv", "--label", "kind", "-o", f"o.{e}")) for e in TABLES),
    Case("embed .h5ad", ("o.h5ad",), _anndata),
    Case("embed a pipe", ("o.csv",), _command("embed", "-", "-o", "o.csv", piped=True)),
    Case("embed a folder", ("o/",), _command("embed", "parts", "-o", "o")),
    Case("embed in chunks .csv", ("o.csv",), _chunked("embed", "t.csv", "-o", "o.csv")),
    Case("embed in chunks .tsv", ("o.tsv",), _chunked("embed", "parts", "-o", "o.tsv")),
    Case("embed in chunks, a folder", ("o/",), _chunked("embed", "parts", "-o", "o")),
    Case(
        "embed in chunks, three outputs",
        ("o/", "o.png", "o.eig"),
        _chunked("embed", "parts", "-o", "o", "--plot", "o.png", "--model", "o.eig"),
        cheap=False,
    ),
    *(
        Case(
            f"embed, three outputs, .{e}",
            (f"o.{e}", "o.eig", "o.csv"),
            _command("embed", "t.csv", "-o", "o.csv", "--plot", f"o.{e}", "--model", "o.eig"),
            cheap=False,
        )
        for e in ("png", "pdf", "svg")
    ),
    *(
        Case(f"transform .{e}", (f"o.{e}",), _command("transform", "made.eig", "t.csv", "-o", f"o.{e}"))
        for e in ("csv", "parquet")
    ),
    Case("dimension", ("o.png",), _command("dimension", "t.csv", "-m", "mle", "--plot", "o.png"), cheap=False),
    Case(
        "compare, three outputs",
        ("kept/PCA.npz", "kept/LPP.npz", "o.png", "o.html", "o.csv"),
        _command(
            "compare", "t.csv", "-m", "pca,lpp", "--folder", "kept", "--plot", "o.png", "--report", "o.html",
            "-o", "o.csv",
        ),
        cheap=False,
    ),
    Case("demo", ("o.png", "o.html"), _demo, cheap=False),
    Case("save", ("o.eig",), _library(lambda: es.save(_model(), "o.eig"))),
    Case("Report.write", ("o.html",), _library(lambda: _report().write("o.html"))),
    Case("compare(folder=)", ("kept/PCA.npz", "kept/LPP.npz"), _library(_kept)),
]  # fmt: skip


# ---------------------------------------------------------------------- what a file holds
def contents(path: Path, case: Case) -> Any:
    """Return the contents of an output without parts that differ between runs, such as times."""
    if path.is_dir():
        return {part.name: part.read_bytes() for part in sorted(path.iterdir())}
    if path.suffix == ".xlsx":
        return pd.read_excel(path).to_csv()
    if path.suffix == ".eig":
        facts = es.models.describe(path)  # verifies the checksum of all bytes
        return {key: facts[key] for key in ("class", "parameters", "provenance")}
    if path.parent.name == "kept":
        with np.load(path) as kept:
            facts = json.loads(str(kept["facts"]))
            return kept["embedding"].tobytes(), facts["mark"], facts["method"]
    if path.suffix == ".html":
        page = path.read_text(
            encoding="utf-8"
        )  # its tables contain durations, and less about fits read from the folder
        return re.findall(r'id="data">(.+?)</script>', page, re.DOTALL), page.rstrip().endswith("</html>")
    if path.suffix == ".csv" and case.name.startswith("compare"):
        return re.sub(r"(seconds,)[^,]*", r"\1", path.read_text())
    return path.read_bytes()


def state(path: Path, new: Any, case: Case) -> str:
    """Return ``"old"``, ``"new"`` or a description of other contents."""
    if not path.exists() or (path.is_dir() and not any(path.iterdir())):
        return "old"
    if path.is_file() and path.read_bytes() == OLD:
        return "old"
    try:
        return "new" if contents(path, case) == new else f"{path.name} is neither the old nor the new file"
    except Exception as failure:
        return f"{path.name} cannot be read: {failure!r}"


# ---------------------------------------------------------------------- one run
class Trial:
    """A folder from `prepare` in which a case is run repeatedly; it must be the working directory."""

    def __init__(self, case: Case, folder: Path) -> None:
        self.case, self.folder = case, folder
        self.paths = [folder / target.rstrip("/") for target in case.targets]
        self.inputs = {path.name for path in folder.iterdir()}
        #: Names of the calls that can fail, without old files and with them.
        self.calls = [self._measured(old) for old in (False, True)]

    def _run(self, faults: Faults) -> tuple[int, str]:
        """Run the case, with dates and names inside of pictures fixed."""
        with patch.dict(os.environ, {"SOURCE_DATE_EPOCH": "0"}), matplotlib.rc_context({"svg.hashsalt": "same"}):
            return self.case.run(faults)

    def _measured(self, old: bool) -> list[str]:
        """Run without a fault and record the calls and the results."""
        self.clear(old)
        faults = Faults()
        with faults.injected(), other_writes(self.folder) as others:
            code, output = self._run(faults)
        assert code == 0, output
        assert not others, f"{others} were opened for writing, and are no drafts"
        assert faults.names.count("replace") == len(self.paths), "an output was written without a draft"
        self.news = [contents(path, self.case) for path in self.paths]
        return faults.names

    def clear(self, old: bool) -> None:
        """Reset the folder to the input files, and old output files if requested."""
        for path in self.folder.iterdir():
            if path.name not in self.inputs:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        for path, target in zip(self.paths, self.case.targets, strict=True):
            if old and target.endswith("/"):
                path.mkdir()
            elif old:
                path.parent.mkdir(exist_ok=True)
                path.write_bytes(OLD)

    def points(self, most: int | None = None) -> Iterator[tuple[str, bool, int]]:
        """Yield kind of fault, whether there are old files, and number of the call: all, or a given number per kind, evenly spaced."""
        for number, kind in enumerate(KINDS):
            for old in (False, True):
                n = len(self.calls[old])
                if most is None or most >= n:
                    chosen = range(n)
                else:
                    first = (number * n) // len(KINDS) + old
                    chosen = sorted({(first + i * n // most) % n for i in range(most)})
                yield from ((kind, old, at + 1) for at in chosen)

    def fail(self, kind: str, old: bool, at: int) -> list[str]:
        """Return the problems after a run whose call number `at` fails; after a kill the command is run once more."""
        self.clear(old)
        faults, code, output = Faults(kind, at), -9, ""
        with faults.injected():
            try:
                code, output = self._run(faults)
            except Killed:
                faults.lose(self.folder)
        killed = "kill" in kind and code == -9
        problems = [*self._states(code), *self._unexpected_files(killed)]
        if code or faults.count >= at:  # the number of digits of a duration can change the number of writes by one
            problems += self._messages(kind, code, output, old)
        problems += [f"afterwards: {problem}" for problem in (self._again() if killed else [])]
        place = f"{self.case.name}, {kind} at call {at} ({self.calls[old][at - 1]}), {'old' if old else 'no'} files"
        return [f"{place}: {problem}" for problem in problems]

    def _states(self, code: int) -> list[str]:
        states = [state(path, new, self.case) for path, new in zip(self.paths, self.news, strict=True)]
        problems = [found for found in states if found not in ("old", "new")]
        if states != sorted(states):
            problems.append(f"an output has its name before one that comes first: {states}")
        if code == 0 and set(states) != {"new"}:
            problems.append(f"it says that all went well, and the outputs are {states}")
        return problems

    def _unexpected_files(self, killed: bool) -> list[str]:
        """Return files that are neither input nor output; drafts may remain after a kill."""
        known = self.inputs | {Path(target).parts[0] for target in self.case.targets}
        strange = [path for path in self.folder.iterdir() if path.name not in known]
        strange += [path for path in self.folder.glob("*/*") if is_draft(path)]
        return [f"{path.name} is left over" for path in strange if not (killed and is_draft(path))]

    def _messages(self, kind: str, code: int, output: str, old: bool) -> list[str]:
        allowed = {"full": (0, 1), "interrupt": (130,), "late interrupt": (130,), "kill": (-9,), "late kill": (-9,)}
        if code not in allowed[kind]:
            return [f"exit code {code}: {output}"]
        # Only empty folders are replaced, and pipes are copied before anything is written.
        silent = not old or "/" in self.case.targets[0] or "pipe" in self.case.name
        if code == 1 and not ("cannot be written: No space left" in output and (silent or "unchanged" in output)):
            return [f"the message is {output!r}"]
        return []

    def _again(self) -> list[str]:
        """Run the command again in the folder with the drafts of the killed one."""
        for path, target in zip(self.paths, self.case.targets, strict=True):
            if target.endswith("/"):
                shutil.rmtree(path, ignore_errors=True)  # folders with files are not replaced
        code, output = self._run(Faults())
        return [output] if code else self._states(0)
