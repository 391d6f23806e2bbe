"""``eigenspan theorems``: check on a table the theorems that relate the methods."""

from __future__ import annotations

import math
import sys
from types import SimpleNamespace
from typing import Any

import click

from .console import Grid, Piece, output_options, print_json, show, working
from .options import FILE, common, preparing, reading, seed

#: Width in characters when the output is not a terminal.
_WIDTH = 160


@click.command()
@click.argument("table", type=FILE, required=False, metavar="[DATA]")
@click.option("--only", multiple=True, metavar="NAME", help="Check only this theorem; may be repeated.  [default: all]")
@click.option(
    "--neighbors", "--n-neighbors", "-k", "neighbors", type=click.IntRange(1), default=10, show_default=True,
    help="Number of neighbours; increased if the graph would be disconnected.",
)  # fmt: skip
@preparing
@reading
@seed
@common
def theorems(**options: Any) -> None:
    """Check every theorem that relates the methods on DATA, a table; without DATA, on iris and a Swiss roll.

    Each line has a statement, its condition, whether the condition holds on the data and by which number, and the measured
    discrepancy: the largest angle between subspaces that should be equal, or the largest relative error. The exit code is 1
    if a statement fails although its condition holds.

    \b
    eigenspan theorems
    eigenspan theorems iris.csv --label species
    eigenspan theorems iris.csv --only mds-pca --only lda-lpp-npp --label species
    """
    run(SimpleNamespace(**options))


def run(o: SimpleNamespace) -> None:
    """Run the command with its parsed options."""
    from ..theory import check_theorems

    reports = {}
    for name, X, y in _tables(o):
        with working(f"Checking theorems on {name}"):
            reports[name] = check_theorems(X, y, names=o.only or None, n_neighbors=o.neighbors, random_state=o.seed)
    if output_options().json:
        print_json({name: _plain(report) for name, report in reports.items()}, indent=1)
    else:
        for name, report in reports.items():
            _show(name, report)
    if any(report.failed for report in reports.values()):
        raise click.exceptions.Exit(1)


def _tables(o: SimpleNamespace) -> Any:
    """Return name, numbers and labels of the given table, or of iris and a Swiss roll."""
    if o.table is not None:
        from .fitting import labels_of
        from .reading import read_numbers

        read = read_numbers(o)
        return [(o.table.name, read.X, None if read.data.label is None else labels_of(read.data.label))]
    import numpy as np
    from sklearn.datasets import load_iris, make_swiss_roll

    roll, along = make_swiss_roll(1000, random_state=o.seed)
    quarters = np.digitize(along, np.quantile(along, [0.25, 0.5, 0.75]))
    return [("iris", *load_iris(return_X_y=True)), ("Swiss roll", roll, quarters)]


def _show(name: str, report: Any) -> None:
    """Print the table of one report, with a heading for every subject."""
    used = f", {report.n_distinct} of them used" if report.n_distinct < report.n_samples else ""
    table = Grid(title=f"{name}: {report.n_samples} rows{used}")
    for heading, ratio in (("statement", 5), ("condition", 4), ("holds here", 4)):
        table.column(heading, ratio=ratio)
    table.column("discrepancy", min_width=14)
    table.column("")
    subject = None
    for result in report.results:
        if result.theorem.subject != subject:
            subject = result.theorem.subject
            table.section()
            table.row((subject, "bold"))
        table.row(*_cells(result, report.n_samples))
    table.show(None if sys.stdout.isatty() else _WIDTH)
    show(report.summary())
    show()


def _cells(result: Any, n: int) -> list[Piece | list[Piece]]:
    mark = {True: ("ok", "green"), False: ("FAILS", "bold red"), None: ("—", "dim")}[result.confirmed]
    rows = "" if result.rows is None else f"; on {result.rows} of {n} rows"
    found = f"{'yes' if result.holds else 'no'}: {result.found}{rows}{f' ({result.note})' if result.note else ''}"
    statement: list[Piece] = [result.theorem.statement, (result.theorem.name, "dim")]
    return [statement, result.theorem.condition, found, result.discrepancy or "—", mark]


def _plain(report: Any) -> dict[str, Any]:
    """Convert a report to JSON types; NaN becomes null."""
    rows = report.frame.reset_index().to_dict("records")
    clean = [{key: None if isinstance(v, float) and math.isnan(v) else v for key, v in row.items()} for row in rows]
    return {"n_samples": report.n_samples, "n_distinct": report.n_distinct, "theorems": clean}
