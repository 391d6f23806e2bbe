"""``eigenspan dimension``: estimate the intrinsic dimension of a table."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import numpy as np

from .console import output_options, print_json, show, show_lines, working
from .options import FILE, common, preparing, reading, seed


@click.command()
@click.argument("table", type=FILE)
@click.option(
    "--method",
    "-m",
    "methods",
    multiple=True,
    help="Estimators, separated by commas: correlation, mle, twonn, parallel, …  [default: all that suit the data]",
)
@click.option("--neighbors", "-k", type=click.IntRange(2), help="Number of neighbours, for estimators that use them.")
@preparing
@reading
@click.option("--plot", type=FILE, help="Picture of the curves of the estimates to write (.png, .pdf, .svg).")
@seed
@common
def dimension(**options: Any) -> None:
    """Estimate the intrinsic dimension of TABLE by several estimators, each with its standard error.

    \b
    eigenspan dimension survey.csv
    eigenspan dimension faces.npy -m correlation,mle --plot dimension.png
    """
    from ..dimension import intrinsic_dimension
    from .files import check_outputs
    from .outputs import check_plot
    from .reading import read_numbers

    o = SimpleNamespace(**options)
    check_plot(o.plot)
    check_outputs((o.table,), plot=o.plot)
    X = read_numbers(o).X
    names = [name.strip() for text in o.methods for name in text.split(",") if name.strip()] or "all"
    with working("Estimating the dimension"):
        found = intrinsic_dimension(X, names, n_neighbors=o.neighbors, random_state=o.seed)
    if o.plot is not None:
        _draw(found, o.plot)
    _print(found, o)


def _print(found: Any, o: SimpleNamespace) -> None:
    if output_options().json:
        rows = [
            {
                "method": r.method,
                "dimension": float(r.dimension),
                "error": None if np.isnan(r.error) else float(r.error),
            }
            for r in found
        ]
        print_json({"estimates": rows, "left_out": found.left_out})
        return
    show_lines(repr(found))
    if o.plot is not None:
        show(f"Picture: {o.plot}")


def _draw(found: Any, path: Path) -> None:
    """Draw the curves of all estimates in one picture."""
    from ..plotting._canvas import new_figure
    from .files.write import write_figure

    drawn = [result for result in found if result.curve is not None]
    columns = min(3, max(1, len(drawn)))
    rows = -(-len(drawn) // columns)
    with working("Drawing"):
        figure = new_figure(4.0 * columns, 3.4 * rows)
        panels = figure.subplots(rows, columns, squeeze=False)
        for ax, result in zip(panels.flat, drawn, strict=False):
            result.plot(ax)
        for ax in list(panels.flat)[len(drawn) :]:
            ax.remove()
        write_figure(figure, path, dpi=120)
