"""Measure our own contender of every task with two versions of the sources, in turn: ``python -m benchmarks regression OLD/src``."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from .runner import LONG, Say, run_job

OLD, NEW = "old", "new"


@dataclass
class Pair:
    """Seconds of one task at one size, by version; `failures` holds the reasons of runs that did not end."""

    task: str
    size: int
    seconds: dict[str, list[float]] = field(default_factory=lambda: {OLD: [], NEW: []})
    cpu: dict[str, list[float]] = field(default_factory=lambda: {OLD: [], NEW: []})
    failures: dict[str, str] = field(default_factory=dict)

    def ratio(self, times: dict[str, list[float]]) -> float | None:
        """Median time of the new version divided by that of the old one; None if a version has no run."""
        return median(times[NEW]) / median(times[OLD]) if times[OLD] and times[NEW] else None

    def line(self) -> str:
        """The figures as one line of text."""
        if self.failures:
            return f"{self.task} {self.size:,}: " + "; ".join(f"{who}: {why}" for who, why in self.failures.items())
        wall, cpu = self.ratio(self.seconds), self.ratio(self.cpu)
        return (
            f"{self.task} {self.size:,}: {median(self.seconds[OLD]):.3g} -> {median(self.seconds[NEW]):.3g} s "
            f"({wall:.2f}), processor {median(self.cpu[OLD]):.3g} -> {median(self.cpu[NEW]):.3g} s ({cpu:.2f})"
        )


def measure(
    task: Any, size: int, old: Path, new: Path, repeats: int, limit: float, table: str = "benchmarks.tasks"
) -> Pair:
    """Run our contender `repeats` times with each version, in fresh processes that alternate; long runs are not repeated."""
    pair = Pair(task.name, size)
    with tempfile.TemporaryDirectory(prefix="eigenspan-bench-") as folder:
        job = {"table": table, "task": task.name, "size": size, "folder": folder}
        made = run_job(job | {"verb": "make"}, 1200.0, sources=new)
        if made["status"] != "ok":
            pair.failures["data"] = made["message"]
            return pair
        for repeat in range(repeats):
            for who, sources in ((OLD, old), (NEW, new)) if repeat % 2 == 0 else ((NEW, new), (OLD, old)):
                if sum(pair.seconds[who]) > LONG:
                    continue
                wanted = {"verb": "measure", "contender": task.contenders[0].name, "seed": repeat, "limit": limit}
                record = run_job(job | wanted | {"result": who}, 2 * limit + 300.0, sources=sources)
                if record["status"] != "ok":
                    pair.failures[who] = record["message"]
                    return pair
                pair.seconds[who].append(record["seconds"])
                pair.cpu[who].append(record["cpu"])
    return pair


def compare(
    tasks: Iterable[Any], old: Path, new: Path, *, repeats: int, limit: float = 60.0, say: Say = print
) -> list[Pair]:
    """Measure all tasks at the sizes of the short suite and report each as soon as it is known."""
    pairs = []
    for task in tasks:
        for size in task.sizes[: task.short]:
            pairs.append(measure(task, size, old, new, repeats, min(limit, task.limit)))
            say(pairs[-1].line())
    return pairs


def summary(pairs: list[Pair]) -> str:
    """Median and largest ratios over all tasks that both versions finished."""
    wall = [(found, pair) for pair in pairs if not pair.failures and (found := pair.ratio(pair.seconds)) is not None]
    cpu = [(found, pair) for pair in pairs if not pair.failures and (found := pair.ratio(pair.cpu)) is not None]
    if not wall:
        return "No task was measured with both versions."
    slowest = max(cpu, key=lambda item: item[0])
    return (
        f"{len(wall)} tasks: median ratio {median(found for found, _ in wall):.3f} of elapsed and "
        f"{median(found for found, _ in cpu):.3f} of processor time; largest of processor time {slowest[0]:.2f} "
        f"({slowest[1].task} {slowest[1].size:,})"
    )
