"""``eigenspan transform``: embed new rows with a saved model."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import click

from .console import listed, note, output_options, print_json, refuse_two_results, show, working
from .options import FILE, common, reading, writing


@click.command()
@click.argument("model", type=FILE)
@click.argument("table", type=FILE)
@click.option(
    "--output",
    "-o",
    type=FILE,
    required=True,
    help="Table to write, in any format of eigenspan embed, or - for standard output.",
)
@click.option(
    "--missing",
    type=click.Choice(["refuse", "drop-rows", "median"]),
    default="refuse",
    show_default=True,
    help="How to treat missing values; median uses the medians of the training table.",
)
@reading
@writing
@common
def transform(**options: Any) -> None:
    """Embed the rows of TABLE with MODEL, a file written by eigenspan embed --model.

    A model file holds data only: loading it never runs code, and a damaged or manipulated file is refused.
    """
    run(SimpleNamespace(**options))


def run(o: SimpleNamespace) -> None:
    """Run the command with its parsed options."""
    import numpy as np

    from .bundle import load
    from .columns import Choice, handle_missing, numbers_of, row_ids
    from .files import check_outputs
    from .files.write import check_table
    from .fitting import accepts_missing
    from .reading import read_frame

    refuse_two_results(o.output)
    check_table(o.output)
    check_outputs((o.table, o.model), output=o.output)
    with working(f"Loading {o.model.name}"):
        bundle = load(o.model)
    frame = read_frame(o)
    numbers = numbers_of(frame, bundle.columns)
    filled, kept = handle_missing(numbers, o.missing, bundle.medians, accepts_missing(bundle.estimator))
    known = [name if name in frame.columns else None for name in (bundle.label, bundle.identifier)]
    label, identifier = known
    ids, _ = row_ids(frame, Choice(label, identifier, tuple(bundle.columns)))
    unused = [c for c in frame.columns if c not in bundle.columns and c not in (label, ids.name)]
    if unused:
        note(f"Not used by the model: {listed(unused)}.")
    with working(f"Embedding {filled.shape[0]} rows with {bundle.method}"):
        X = (filled.to_numpy(dtype=np.float64) - bundle.center) / bundle.scale
        Y = bundle.estimator.transform(X)
        clusters = {"cluster": bundle.estimator.predict(X)} if hasattr(bundle.estimator, "labels_") else {}
    _deliver(o, bundle, ids[kept], Y, None if label is None else frame.loc[kept, label], clusters)


def _deliver(o: SimpleNamespace, bundle: Any, ids: Any, Y: Any, label: Any, clusters: dict[str, Any]) -> None:
    from .files import write_table
    from .outputs import axes_of, frame_of

    axes = axes_of(bundle.estimator)
    write_table(frame_of(ids, {axis: Y[:, j] for j, axis in enumerate(axes)}, label, clusters), o.output, axes)
    if str(o.output) == "-":
        return
    if output_options().json:
        facts = {"method": bundle.method, "rows": len(Y), "axes": axes, "files": {"embedding": str(o.output)}}
        print_json(facts)
        return
    show(f"{bundle.method}: {Y.shape[0]} × {Y.shape[1]}, embedded with the saved model.")
    show(f"Embedding: {o.output}")
