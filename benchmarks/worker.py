"""A child process: ``python -m benchmarks.worker JOB.json`` does one thing and writes what it found to the job's `out`.

The job's `verb` is ``make`` (the data of a task), ``measure`` (one contender, once) or ``grade`` (what the runs left behind).
"""

from __future__ import annotations

import contextlib
import gc
import json
import signal
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from . import store

#: Written to stderr before the timed call: what a library said during its warm-up is cut off there.
MARK = "--- timed ---"


def find(table: str, name: str) -> Any:
    """The task called `name` in the `TASKS` of a module."""
    return next(task for task in import_module(table).TASKS if task.name == name)


def _memory(field: str) -> float:
    """A field of /proc/self/status in MB."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024


def _forget_peak() -> float | None:
    """Reset the peak and return the memory in use now; None where the system cannot."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        return _memory("VmRSS")
    except OSError:
        return None


def timed(contender: Any, data: Any, warm: Any, seed: int, limit: float) -> tuple[dict[str, Any], dict[str, Any]]:
    """One warm-up and one timed call: ``(record, arrays)``. Beyond `limit` seconds SIGALRM ends the process."""
    with contextlib.suppress(Exception):  # what fails here fails again below, and is reported then
        contender.fit(warm, seed)
    gc.collect()
    print(MARK, file=sys.stderr, flush=True)
    before = _forget_peak()
    signal.setitimer(signal.ITIMER_REAL, limit)
    cpu, start = time.process_time(), time.perf_counter()
    fitted, Y = contender.fit(data, seed)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    signal.setitimer(signal.ITIMER_REAL, 0.0)
    peak = None if before is None else max(0.0, _memory("VmHWM") - before)
    kept = contender.keep(fitted, Y) | ({} if Y is None else {"Y": np.asarray(Y)})
    facts = {name: value for name, value in kept.items() if isinstance(value, float)}
    arrays = {name: value for name, value in kept.items() if name not in facts}
    return {"status": "ok", "seconds": seconds, "cpu": cpu, "peak_mb": peak, "quality": facts}, arrays


def make(task: Any, job: dict[str, Any]) -> dict[str, Any]:
    for folder, rows in (("data", job["size"]), ("warm", min(task.warm, job["size"]))):
        store.save(Path(job["folder"]) / folder, task.make(rows))
    return {"status": "ok"}


def measure(task: Any, job: dict[str, Any]) -> dict[str, Any]:
    folder = Path(job["folder"])
    contender = next(c for c in task.contenders if c.name == job["contender"])
    warm = store.load(folder / "warm", task.mapped)
    if task.cold:
        store.evict(folder / "data")
    data = store.load(folder / "data", task.mapped)
    record, arrays = timed(contender, data, warm, job["seed"], job["limit"])
    store.save(folder / job["result"], arrays)
    return record


def grade(task: Any, job: dict[str, Any]) -> dict[str, Any]:
    folder = Path(job["folder"])
    runs = {name: [store.load(folder / result) for result in results] for name, results in job["runs"].items()}
    return {"status": "ok", "quality": task.grade(store.load(folder / "data", task.mapped), runs)}


def main(path: str) -> None:
    job = json.loads(Path(path).read_text(encoding="utf-8"))
    try:
        verb = {"make": make, "measure": measure, "grade": grade}[job["verb"]]
        answer = verb(find(job["table"], job["task"]), job)
    except Exception as error:
        answer = {"status": "error", "kind": type(error).__name__, "message": str(error)}
    Path(job["out"]).write_text(json.dumps(answer), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
