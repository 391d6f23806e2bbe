"""Runs a suite: fresh processes, contenders in turn, limits, and results kept after every task."""

from __future__ import annotations

import json
import os
import platform
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import partial
from importlib import metadata, util
from pathlib import Path
from types import MappingProxyType
from typing import Any

from . import REPEATS, ROOT, THREADS, limit_threads
from .worker import MARK

PACKAGES = (
    "eigenspan", "numpy", "scipy", "scikit-learn", "numba", "tapkee", "umap-learn", "openTSNE", "pacmap", "pyamg", "faiss-cpu", "cvxpy",
)  # fmt: skip
#: A contender whose runs have taken more seconds than this together is not run again.
LONG = 20.0
Say = Callable[[str], None]


def run_task(
    task: Any, size: int, *, repeats: int, limit: float, late: Mapping[str, int] = MappingProxyType({}),
    table: str = "benchmarks.tasks", say: Say = print,
) -> dict[str, Any]:  # fmt: skip
    """Measure all contenders of a task at one size, but for those `late` at a smaller one; the entry of the results."""
    entry = {"task": task.name, "title": task.title, "size": size, "limit": limit, "compared": size in task.sizes}
    entry |= {"date": datetime.now(UTC).date().isoformat(), "commit": _commit(), "note": "", "contenders": []}
    with tempfile.TemporaryDirectory(prefix="eigenspan-bench-") as folder:
        job = {"table": table, "task": task.name, "size": size, "folder": folder}
        made = run_job(job | {"verb": "make"}, 1200.0)
        if made["status"] != "ok":
            say(f"{task.name} {size:,}: {_reason(made)}")
            return entry | {"note": _reason(made)}
        rows = [_row(contender, size, late) for contender in task.at(size)]
        for repeat in range(repeats):
            for row in rows:
                if row["status"] == "ok" and sum(row["seconds"]) <= LONG:
                    _run_once(row, job, repeat, limit)
                    say(f"{task.name} {size:,}: {row['name']} {_latest(row)}")
        runs = {
            row["name"]: [_result(row, i) for i in range(len(row["seconds"]))][:2] for row in rows if row["seconds"]
        }
        graded = run_job(job | {"verb": "grade", "runs": runs}, 1200.0) if runs else {"status": "ok", "quality": {}}
        for row in rows:
            row["quality"] |= graded.get("quality", {}).get(row["name"], {})
        note = "" if graded["status"] == "ok" else f"not graded: {_reason(graded)}"
        return entry | {"contenders": rows, "note": note}


def _row(contender: Any, size: int, late: Mapping[str, int]) -> dict[str, Any]:
    status, message = "ok", ""
    if contender.name in late:
        status, message = "not run", f"not run: too slow at {late[contender.name]:,}"
    elif size > contender.upto:
        status, message = "not run", f"not run above {contender.upto:,}"
    elif contender.needs and util.find_spec(contender.needs) is None:
        status, message = "not installed", "not installed"
    return {
        "name": contender.name, "status": status, "message": message,
        "seconds": [], "cpu": [], "peak_mb": [], "quality": {}, "said": "",
    }  # fmt: skip


def _result(row: dict[str, Any], repeat: int) -> str:
    """The folder that a run leaves its arrays in."""
    slug = re.sub(r"\W+", "-", row["name"])
    return f"result-{slug}-{repeat}"


def _run_once(row: dict[str, Any], job: dict[str, Any], repeat: int, limit: float) -> None:
    wanted = {"contender": row["name"], "seed": repeat, "result": _result(row, repeat), "limit": limit}
    record = run_job(job | wanted | {"verb": "measure"}, 2 * limit + 300.0)
    row["said"] = row["said"] or record.get("said", "")
    if record["status"] == "ok":
        for field in ("seconds", "cpu", "peak_mb"):
            row[field].append(record[field])
        row["quality"] = row["quality"] or record["quality"]
    else:
        row["status"] = record["status"]
        row["message"] = f"> {limit:g} s" if record["status"] == "timeout" else _reason(record)


def _latest(row: dict[str, Any]) -> str:
    if row["status"] != "ok":
        return row["message"]
    peak = row["peak_mb"][-1]
    return f"{row['seconds'][-1]:.3g} s" + ("" if peak is None else f", {peak:.0f} MB")


def _reason(answer: dict[str, Any]) -> str:
    return _scrub(f"{answer['kind']}: {answer['message']}" if answer.get("kind") else answer["message"])[:160]


def run_job(job: dict[str, Any], patience: float, sources: Path | None = None) -> dict[str, Any]:
    """Run a job in a new process, which is killed with its children after `patience` seconds.

    `sources` is the folder from which the process imports the library; None means the installed one.
    """
    folder = Path(job["folder"])
    job, path = job | {"out": str(folder / "out.json")}, folder / "job.json"
    path.write_text(json.dumps(job), encoding="utf-8")
    Path(job["out"]).unlink(missing_ok=True)
    first = [] if sources is None else [str(sources)]
    environ = dict(os.environ) | {"PYTHONPATH": os.pathsep.join([*first, str(ROOT), os.environ.get("PYTHONPATH", "")])}
    limit_threads(environ)
    child = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.worker", str(path)], env=environ, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace",
    )  # fmt: skip
    try:
        _, stderr = child.communicate(timeout=patience)
    except subprocess.TimeoutExpired:
        return {"status": "error", "message": f"warm-up and run together exceeded {patience:g} s"}
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
    if child.returncode == -signal.SIGALRM:
        return {"status": "timeout", "message": "too slow"}
    said = _scrub(stderr.rpartition(MARK)[2].strip())[:400]
    if child.returncode != 0 or not Path(job["out"]).exists():
        return {"status": "error", "message": f"process ended with code {child.returncode}", "said": said}
    return json.loads(Path(job["out"]).read_text(encoding="utf-8")) | {"said": said}


def _scrub(text: str) -> str:
    """One line without the folders of this machine."""
    return re.sub(r"\s+", " ", re.sub(r"(/[\w.+-]+){2,}/", "…/", text))


# ---------------------------------------------------------------------- suites
def run_suite(
    tasks: Iterable[Any], path: Path, *, full: bool, repeats: int = REPEATS, short_limit: float = 60.0, resume: bool = False,
    keep: bool = False, table: str = "benchmarks.tasks", say: Say = print,
) -> None:  # fmt: skip
    """Measure `tasks` and write `path` after each size; `keep` retains other entries of the file, `resume` also these."""
    old = json.loads(path.read_text(encoding="utf-8"))["entries"] if path.exists() and (keep or resume) else []
    entries = {(entry["task"], entry["size"]): entry for entry in old}
    for task in tasks:
        late: dict[str, int] = {}
        for size in task.planned(full):
            if resume and (task.name, size) in entries:
                continue
            limit = task.limit if full else min(short_limit, task.limit)
            runs = repeats if size in task.sizes else 1
            entry = run_task(task, size, repeats=runs, limit=limit, late=late, table=table, say=say)
            late |= {row["name"]: size for row in entry["contenders"] if row["status"] == "timeout"}
            entries[task.name, size] = entry
            _write(path, full, list(entries.values()))


def _write(path: Path, full: bool, entries: list[dict[str, Any]]) -> None:
    suite = "full" if full else "bench"
    record = {"suite": suite, "command": f"python -m benchmarks {suite}", "threads": THREADS}
    record |= {"machine": machine(), "versions": versions(), "entries": entries}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def machine() -> dict[str, Any]:
    """What the times depend on."""
    info = Path("/proc/cpuinfo").read_text(encoding="utf-8") if Path("/proc/cpuinfo").exists() else ""
    model = re.search(r"model name\s*: (.*)", info)
    return {
        "processor": model.group(1) if model else platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


def versions() -> dict[str, str]:
    found = {}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def _commit() -> str:
    """The commit measured, with a plus sign where the tree differs from it."""
    try:
        ask = partial(subprocess.run, cwd=ROOT, capture_output=True, text=True)
        shown = ask(["git", "describe", "--always"]).stdout.strip()
        changed = ask(["git", "diff", "--quiet", "HEAD", "--", "src", "benchmarks", ":!benchmarks/results"]).returncode
    except OSError:
        return ""
    return shown + "+" * (bool(shown) and changed == 1)
