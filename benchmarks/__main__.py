"""The command line of the benchmarks."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from . import REPEATS, limit_threads

limit_threads(os.environ)  # before anything loads BLAS


def _tasks(names: tuple[str, ...]) -> list[Any]:
    from .tasks import TASKS

    known = {task.name: task for task in TASKS}
    for name in names:
        if name not in known:
            raise click.BadParameter(f"there is no task {name!r}; python -m benchmarks list names them")
    return [known[name] for name in names or known]


@click.group()
def main() -> None:
    """Measure eigenspan beside other libraries."""


@main.command("list")
def list_() -> None:
    """Tasks, their sizes (those of the short suite starred) and contenders."""
    for task in _tasks(()):
        sizes = " ".join(f"{n:,}{'*' * (i < task.short)}" for i, n in enumerate(task.sizes))
        click.echo(f"{task.name:22}{sizes:30}{', '.join(contender.name for contender in task.contenders)}")


def _suite(names: tuple[str, ...], full: bool, repeats: int, resume: bool) -> None:
    from . import report
    from .runner import run_suite

    path = report.RESULTS / ("full.json" if full else "bench.json")
    run_suite(_tasks(names), path, full=full, repeats=repeats, resume=resume, keep=bool(names), say=click.echo)
    click.echo(f"{path.name} written; {report.write(path).name} tells of it")


def _suite_command(name: str, full: bool, text: str) -> None:
    @main.command(name, help=f"{text} Given TASKS, only those are measured anew.")
    @click.argument("tasks", nargs=-1)
    @click.option("--repeats", default=REPEATS, show_default=True, help="Runs of every contender.")
    @click.option("--resume", is_flag=True, help="Keep what the results hold already and measure the rest.")
    def command(tasks: tuple[str, ...], repeats: int, resume: bool) -> None:
        _suite(tasks, full, repeats, resume)


_suite_command("bench", False, "The short suite.")
_suite_command("full", True, "All sizes: more than an hour, with --resume to go on.")


@main.command()
@click.argument("task")
@click.option("--size", type=int, help="Rows; the smallest size of the task unless given.")
@click.option("--only", help="This contender only, in this very process: for profilers.")
@click.option("--repeats", default=1, show_default=True, help="Runs of every contender, without --only.")
@click.option("--limit", default=600.0, show_default=True, help="Seconds for a run.")
def run(task: str, size: int | None, only: str | None, repeats: int, limit: float) -> None:
    """Run one task at one size; print what was found and record nothing."""
    from . import worker
    from .report import table
    from .runner import run_task

    chosen = _tasks((task,))[0]
    size = size or chosen.sizes[0]
    if only is None:
        chosen = replace(chosen, sizes=(size,))
        click.echo(table(chosen.title, [run_task(chosen, size, repeats=repeats, limit=limit, say=click.echo)]))
        return
    if only not in [contender.name for contender in chosen.contenders]:
        raise click.BadParameter(f"{task} has no {only!r}, but {', '.join(c.name for c in chosen.contenders)}")
    with tempfile.TemporaryDirectory() as folder:
        job = {"folder": folder, "size": size, "contender": only, "seed": 0, "limit": limit, "result": "only"}
        worker.make(chosen, job)
        record = worker.measure(chosen, job)
        record["quality"] |= worker.grade(chosen, job | {"runs": {only: ["only"]}})["quality"].get(only, {})
    click.echo(record)


@main.command()
@click.argument("old", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("tasks", nargs=-1)
@click.option("--repeats", default=REPEATS, show_default=True, help="Runs of each version.")
def regression(old: Path, tasks: tuple[str, ...], repeats: int) -> None:
    """Compare the speed of these sources with those in the folder OLD (the src of another checkout), in turn."""
    from . import ROOT
    from .regression import compare, summary

    click.echo(summary(compare(_tasks(tasks), old.resolve(), ROOT / "src", repeats=repeats, say=click.echo)))


@main.command()
@click.argument("results", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path))
def report(results: Path | None) -> None:
    """Write the page and its figures anew from RESULTS, by default those of the full suite."""
    from .report import write

    click.echo(write(results))


if __name__ == "__main__":
    main(prog_name="python -m benchmarks")
