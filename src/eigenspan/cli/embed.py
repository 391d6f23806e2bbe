"""``eigenspan embed``: a user's table in a few dimensions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .console import out, plural, say, working

_FILE = click.Path(path_type=Path)


@click.command()
@click.argument("table", type=_FILE)
@click.option("--method", "-m", default="lpp", show_default=True, help="Any name of eigenspan methods.")
@click.option("--components", "-d", type=click.IntRange(1), default=2, show_default=True, help="Dimensions.")
@click.option("--neighbors", "-k", type=click.IntRange(1), help="Neighbours, for methods with a graph.  [default: 10]")
@click.option("--label", metavar="COLUMN", help="Not embedded: for colours, and for methods that use labels.")
@click.option("--id", "identifier", metavar="COLUMN", help="Row identifiers to keep beside the embedding.")
@click.option("--columns", multiple=True, metavar="NAMES", help="Only these: names, 'a,b,c', or patterns such as 'x*'.")
@click.option(
    "--missing",
    type=click.Choice(["refuse", "drop-rows", "drop-columns", "median"]),
    default="refuse",
    show_default=True,
    help="What to do about missing values.",
)
@click.option("--na", multiple=True, metavar="TEXT", help="A further cell content that means missing, such as '?'.")
@click.option(
    "--scale",
    type=click.Choice(["standard", "none"]),
    default="standard",
    show_default=True,
    help="Give every column unit variance first, or leave units as they are.",
)
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
    run(**options)


def run(
    *,
    table: Path,
    method: str,
    components: int,
    neighbors: int | None,
    label: str | None,
    identifier: str | None,
    columns: tuple[str, ...],
    missing: str,
    na: tuple[str, ...],
    scale: str,
    settings: tuple[str, ...],
    output: Path | None,
    plot: Path | None,
    model: Path | None,
) -> None:
    """The command, after its options."""
    from ..methods.registry import find
    from .bundle import Bundle, save
    from .columns import prepare
    from .fitting import build, fit, require_labels, standardise
    from .results import announce, check_plot, draw, frame_of
    from .tables import check_output, read_table, write_table

    row = find(method)
    estimator = build(row, components, neighbors, settings)
    require_labels(row, estimator, label)
    output = output or Path(f"{table.name.split('.')[0]}-{row.name.lower()}.csv")
    for target in (output, plot, model):
        check_output(target, table)
    check_plot(plot)
    with working(f"Reading {table.name}"):
        frame = read_table(table, na)
    say(f"{table.name}: {plural(frame.shape[0], 'row')}, {plural(frame.shape[1], 'column')}.")
    data = prepare(frame, label=label, identifier=identifier, chosen=columns, missing=missing)
    X, center, spread = standardise(data.X, scale)
    fit(row, estimator, X, data.label)
    result = frame_of(row.name, data.ids, estimator.embedding_, data.label, getattr(estimator, "labels_", None))
    write_table(result, output)
    announce(row.name, estimator, scale)
    console = out()
    console.print(f"Embedding: {output}", soft_wrap=True)
    if plot is not None:
        draw(row.name, estimator.embedding_, data.label, plot)
        console.print(f"Picture: {plot}", soft_wrap=True)
    if model is not None:
        save(Bundle(row.name, estimator, data.columns, center, spread, data.medians, label, identifier), model)
        console.print(f"Model: {model}", soft_wrap=True)
