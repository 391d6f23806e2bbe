"""``eigenspan embed``: a user's table in a few dimensions."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click

from .console import out
from .reading import read_numbers, table_options

_FILE = click.Path(path_type=Path)


@click.command()
@click.argument("table", type=_FILE)
@click.option("--method", "-m", default="lpp", show_default=True, help="Any name of eigenspan methods.")
@click.option("--components", "-d", type=click.IntRange(1), help="Dimensions.  [default: 2, or what the labels allow]")
@click.option("--neighbors", "-k", type=click.IntRange(1), help="Neighbours, for methods with a graph.  [default: 10]")
@table_options
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="Any parameter of the method.")
@click.option("--output", "-o", type=_FILE, help="Table to write (.csv, .tsv, .parquet).  [default: TABLE-METHOD.csv]")
@click.option("--plot", type=_FILE, help="Picture to write (.png, .pdf, .svg).")
@click.option("--model", type=_FILE, help="Where to save the fitted model for eigenspan transform.")
def embed(**options: Any) -> None:
    """Embed the numeric columns of TABLE (.csv, .tsv, .parquet, .npz, .npy).

    Text and date columns are set aside, by name. The output has the row identifier, the embedding and the label.

    \b
    eigenspan embed iris.csv --label species --plot iris.png
    eigenspan embed survey.csv --missing median --method isomap -d 3 -k 15
    eigenspan embed cells.parquet --method lda --label type --model cells.model
    """
    run(SimpleNamespace(**options))


def run(o: SimpleNamespace) -> None:
    """The command, after its options."""
    from ..methods.registry import find
    from .fitting import build, fit, require_labels, takes_gaps
    from .results import check_plot
    from .tables import check_output

    row = find(o.method)
    estimator = build(row, o.components, o.neighbors, o.settings)
    require_labels(row, estimator, o.label)
    o.output = o.output or Path(f"{o.table.name.split('.')[0]}-{row.name.lower()}.csv")
    for target in (o.output, o.plot, o.model):
        check_output(target, o.table)
    check_plot(o.plot)
    data, X, scaling = read_numbers(o, gaps=takes_gaps(estimator))
    fit(row, estimator, X, data.label)
    _deliver(o, row.name, estimator, data, scaling)


def _deliver(o: SimpleNamespace, name: str, estimator: Any, data: Any, scaling: tuple[Any, Any]) -> None:
    """Write the table and, where asked for, the picture and the model."""
    from .bundle import Bundle, save
    from .results import announce, draw, frame_of
    from .tables import write_table

    clusters = getattr(estimator, "labels_", None)
    write_table(frame_of(name, data.ids, estimator.embedding_, data.label, clusters), o.output)
    announce(name, estimator, o.scale)
    console = out()
    console.print(f"Embedding: {o.output}", soft_wrap=True)
    if o.plot is not None:
        draw(name, estimator.embedding_, data.label, o.plot)
        console.print(f"Picture: {o.plot}", soft_wrap=True)
    if o.model is not None:
        save(Bundle(name, estimator, data.columns, *scaling, data.medians, o.label, o.identifier), o.model)
        console.print(f"Model: {o.model}", soft_wrap=True)
