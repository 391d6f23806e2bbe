"""The metamorphic fuzzer at length: ``python tests/fuzz.py --cases 25000 --workers 2``.

Cases are random compositions of methods, parameters, points, labels and containers, judged by the relations that
`tests/support/metamorphic/promises.py` declares. Each worker process judges one case at a time. A case that takes too long, or ends its
process, is recorded under its own number and another process takes the next one. Results are lines of a JSON file; an interrupted run
continues with --resume. The exit status is 1 if an exception was not meant, a case hung or crashed, or a promised relation was missed
without a warning that says so.
"""

from __future__ import annotations

import argparse
import faulthandler
import hashlib
import json
import os
import queue
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parent
sys.path.insert(0, str(TESTS / "support"))
#: A worker is replaced after so many cases, which bounds what leaks of other libraries can add up to.
LIFE = 2000
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


# ---------------------------------------------------------------------- workers
def work() -> None:
    """Judge, or shrink, what each line of the standard input asks for; answer with a line."""
    faulthandler.enable()
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a solver prints is not an answer
    from metamorphic import draw, judge, shrink

    for line in sys.stdin:
        task = json.loads(line)
        case = draw(task["seed"], task["index"], task.get("method"))
        if "relation" in task:
            small = shrink(case, task["relation"], task["said"])
            answer: dict[str, Any] = {"snippet": small.snippet(task["relation"])}
        else:
            start = time.perf_counter()
            answer = judge(case).as_dict()
            answer["seconds"] = round(time.perf_counter() - start, 3)
        print(json.dumps(answer), file=answers, flush=True)


class Worker:
    """A process that answers tasks one at a time."""

    def __init__(self, command: tuple[str, ...] = ()) -> None:
        self.command = command or (sys.executable, str(Path(__file__).resolve()), "--work")
        self.process: subprocess.Popen[str] | None = None
        self.errors: Any = None
        self.said = ""
        self.age = 0

    def ask(self, task: dict[str, Any], limit: float) -> dict[str, Any]:
        """The answer, or {"outcome": "hang"} or {"outcome": "crash"} with what is known of it."""
        process = self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        self.age += 1
        try:
            process.stdin.write(json.dumps(task) + "\n")
            process.stdin.flush()
            ready, _, _ = select.select([process.stdout], [], [], limit)
            answer = process.stdout.readline() if ready else ""
        except BrokenPipeError:
            ready, answer = [True], ""
        if answer.endswith("\n"):
            return dict(json.loads(answer))
        if not ready:
            process.send_signal(signal.SIGABRT)  # the fault handler writes where it was
        status, said = self.stop(), self._last_words()
        outcome = "crash" if ready else "hang"
        words = f"ended with status {status}" if ready else f"no answer within {limit:g} s"
        return {"outcome": outcome, "failures": {outcome: f"{words}: {said}"}}

    def _running(self) -> subprocess.Popen[str]:
        if self.process is not None and self.age >= LIFE:
            self.stop()
        if self.process is None:
            self.errors, self.age = tempfile.TemporaryFile(), 0  # noqa: SIM115 -- closed with the process
            self.process = subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self.errors,
                text=True,
                env={**os.environ, **ONE_THREAD},
            )
        return self.process

    def stop(self) -> int | None:
        if self.process is None:
            return None
        try:
            self.process.wait(2)
        except subprocess.TimeoutExpired:
            self.process.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()
        status, self.process = self.process.wait(), None
        self.errors.seek(0)
        self.said = self.errors.read().decode(errors="replace").strip()
        self.errors.close()
        return status

    def _last_words(self) -> str:
        lines = self.said.splitlines()
        frames = [line.strip() for line in lines if "eigenspan" in line and "line" in line]
        return (frames[:1] or lines[-1:] or ["nothing was printed"])[0]


def answered(tasks: list[dict[str, Any]], workers: int, limit: float, deadline: float) -> Iterator[tuple[Any, Any]]:
    """Every task with its answer, in the order of the answers; none are begun after the deadline."""
    left: queue.SimpleQueue[Any] = queue.SimpleQueue()
    done: queue.SimpleQueue[Any] = queue.SimpleQueue()
    for task in tasks:
        left.put(task)

    def serve() -> None:
        worker = Worker()
        try:
            while time.monotonic() < deadline:
                task = left.get_nowait()
                done.put((task, worker.ask(task, limit)))
        except queue.Empty:
            pass
        finally:
            if worker.process is not None and worker.process.stdin is not None:
                worker.process.stdin.close()
            worker.stop()
            done.put(None)

    threads = [threading.Thread(target=serve, daemon=True) for _ in range(min(workers, len(tasks)))]
    for thread in threads:
        thread.start()
    open_ends = len(threads)
    while open_ends:
        pair = done.get()
        if pair is None:
            open_ends -= 1
        else:
            yield pair


# ---------------------------------------------------------------------- results
def fingerprint() -> str:
    """Of the sources of the library and of the fuzzer: results of other sources are not continued."""
    import eigenspan

    found = hashlib.sha256()
    for folder in (Path(eigenspan.__file__).parent, TESTS / "support" / "metamorphic"):
        for path in sorted(folder.rglob("*.py")):
            found.update(path.read_bytes())
    return found.hexdigest()[:16]


def read_results(path: Path, head: dict[str, Any]) -> dict[int, dict[str, Any]]:
    """Results of an interrupted run by number; the last line may be half written."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    if lines and json.loads(lines[0]) != head:
        raise SystemExit(
            f"{path} holds results of another seed, method or version of the sources: run without --resume."
        )
    found = {}
    for line in lines[1:]:
        try:
            result = json.loads(line)
        except json.JSONDecodeError:
            continue
        found[result["index"]] = result
    return found


def main() -> int:
    given = _options().parse_args()
    if given.work:
        work()
        return 0
    from metamorphic.summary import first_of_each, summary

    head = {"seed": given.seed, "method": given.method, "sources": fingerprint()}
    results = read_results(given.out, head) if given.resume else {}
    deadline = time.monotonic() + 60 * given.minutes if given.minutes else float("inf")
    base = {"seed": given.seed} | ({"method": given.method} if given.method else {})
    tasks = [{**base, "index": index} for index in range(given.cases) if index not in results]
    with given.out.open("a" if results else "w", encoding="utf-8") as out:
        if not results:
            print(json.dumps(head), file=out, flush=True)
        for count, (task, answer) in enumerate(answered(tasks, given.workers, given.limit, deadline), 1):
            results[task["index"]] = result = {"index": task["index"], **answer}
            print(json.dumps(result), file=out, flush=True)
            if count % 1000 == 0:
                failed = sum(bool(r.get("failures")) for r in results.values())
                print(f"{len(results)} of {given.cases} cases, {failed} with failures", flush=True)
    print(summary(results, given.seed, given.method))
    wrong = first_of_each(results, given.seed, given.method)
    shrinking = [{**base, **task} for task in wrong]
    for task, answer in answered(shrinking, given.workers, 5 * given.limit, float("inf")):
        print(f"\n# case {task['index']}, {task['relation']}: {task['said']}")
        print(answer.get("snippet") or task["snippet"])
    if len(results) < given.cases:
        print(f"\nStopped after {len(results)} of {given.cases} cases: continue with --resume.")
    return 1 if any(result.get("failures") for result in results.values()) else 0


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cases", type=int, default=25000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2, help="processes, one per core")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds after which a case counts as a hang")
    parser.add_argument("--minutes", type=float, help="begin no case after so many minutes")
    parser.add_argument("--method", help="cases of this method only")
    parser.add_argument("--out", type=Path, default=Path("fuzz.jsonl"), help="results, one JSON line each")
    parser.add_argument("--resume", action="store_true", help="continue the run that wrote --out")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    sys.exit(main())
