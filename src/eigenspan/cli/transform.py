"""``eigenspan transform``: new rows through a saved model."""

from __future__ import annotations

from pathlib import Path

import click

from .console import listed, out, plural, say, working

_FILE = click.Path(path_type=Path)


@click.command()
@click.argument("model", type=_FILE)
@click.argument("table", type=_FILE)
@click.option("--output", "-o", type=_FILE, required=True, help="Table to write (.csv, .tsv, .parquet).")
@click.option(
    "--missing",
    type=click.Choice(["refuse", "drop-rows", "median"]),
    default="refuse",
    show_default=True,
    help="What to do about missing values; medians are those of the training table.",
)
@click.option("--na", multiple=True, metavar="TEXT", help="A further cell content that means missing, such as '?'.")
def transform(model: Path, table: Path, output: Path, missing: str, na: tuple[str, ...]) -> None:
    """Embed the rows of TABLE with MODEL, a file written by eigenspan embed --model.

    A model file holds numbers and names. Nothing in it is run, and a damaged or crafted one is refused.
    """
    import numpy as np

    from .bundle import load
    from .columns import numbers_of, row_ids, settle_gaps
    from .fitting import takes_gaps
    from .results import frame_of
    from .tables import check_output, read_table, write_table

    check_output(output, table, model)
    with working(f"Loading {model.name}"):
        bundle = load(model)
    with working(f"Reading {table.name}"):
        frame = read_table(table, na)
    say(f"{table.name}: {plural(frame.shape[0], 'row')}, {plural(frame.shape[1], 'column')}.")
    numbers, taken = numbers_of(frame, bundle.columns), takes_gaps(bundle.estimator)
    filled, kept = settle_gaps(numbers, missing, bundle.medians, taken)
    identifier = bundle.identifier if bundle.identifier in frame.columns else None
    label = bundle.label if bundle.label in frame.columns else None
    ids = row_ids(frame, identifier, label)
    unused = [c for c in frame.columns if c not in bundle.columns and c not in (label, ids.name)]
    if unused:
        say(f"Not used by the model: {listed(unused)}.")
    with working(f"Placing {filled.shape[0]} rows with {bundle.method}"):
        Y = bundle.estimator.transform((filled.to_numpy(dtype=np.float64) - bundle.center) / bundle.scale)
    write_table(frame_of(bundle.method, ids[kept], Y, None if label is None else frame.loc[kept, label]), output)
    console = out()
    console.print(f"{bundle.method}: {Y.shape[0]} × {Y.shape[1]}, placed by the map of the model.")
    console.print(f"Embedding: {output}", soft_wrap=True)
