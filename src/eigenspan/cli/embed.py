"""``eigenspan embed``: embed a table in a few dimensions."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click

from ..errors import EigenspanError
from .console import Usage, listed, note, refuse_two_results
from .delivery import Result, print_summary, write
from .options import FILE, choosing, common, preparing, reading, seed, writing
from .words import for_command_line


@click.command()
@click.argument("table", type=FILE)
@choosing("pca")
@preparing
@reading
@click.option(
    "--output",
    "-o",
    type=FILE,
    help="Table to write (.csv, .tsv, .jsonl, .parquet, .feather, .xlsx, .npy, .npz, .h5ad), a new folder of Parquet files if TABLE "
    "is one, or - for standard output.  [default: TABLE-METHOD.csv]",
)
@click.option("--plot", type=FILE, help="Picture to write (.png, .pdf, .svg).")
@click.option("--model", type=FILE, help="File to save the fitted model in, for eigenspan transform.")
@writing
@seed
@common
def embed(**options: Any) -> None:
    """Embed the numeric columns of TABLE (.csv, .tsv, .jsonl, .parquet, .feather, .xlsx, .npz, .npy, .h5ad, a folder of Parquet files,
    or - for standard input).

    Columns of text, dates and identifiers are left out, and listed. The output has the row identifier, the embedding and the label.

    \b
    eigenspan embed iris.csv --label species --plot iris.png
    eigenspan embed survey.csv --missing median --method isomap -d 3 -k 15
    eigenspan embed cells.parquet --method lda --label type --model cells.eig
    eigenspan embed readings/ --method pca -o places/
    cat table.csv | eigenspan embed - -m pca,lle -o - > places.csv
    """
    run(SimpleNamespace(**options))


def run(o: SimpleNamespace) -> None:
    """Run the command with its parsed options."""
    from .._files import together
    from .files.parts import too_large
    from .fitting import accepts_missing, fit
    from .reading import read_numbers
    from .streamed import embed_in_chunks as streamed

    chosen = methods_of(o)
    _check_targets(o, [row.name for row, _ in chosen])
    if too_large(o.table) and len(chosen) == 1:
        with together():
            result = streamed(o, *chosen[0])
            write(o, result)
        return print_summary(o, result)
    table = read_numbers(o, gaps=all(accepts_missing(estimator) for _, estimator in chosen))
    finished: dict[str, Any] = {}
    try:
        for row, estimator in chosen:
            fit(row, estimator, table.X, table.data.label)
            finished[row.name] = estimator
    except KeyboardInterrupt:
        if not finished:
            raise
        note(
            f"Interrupted: the results of {listed(finished)} are written; {len(chosen) - len(finished)} of {len(chosen)} methods were "
            "not fitted."
        )
    result = _result(o, finished, table)
    with together():
        write(o, result)
    print_summary(o, result)
    if len(finished) < len(chosen):
        raise SystemExit(130)


def methods_of(o: SimpleNamespace, several: bool = False) -> list[tuple[Any, Any]]:
    """Return the chosen methods, as pairs of registry row and unfitted estimator.

    With several methods, each estimator gets only the parameters that it has.
    """
    from ..methods.registry import row_of
    from .fitting import build, require_embedding, require_labels

    names = [name.strip() for text in o.methods or ("pca",) for name in text.split(",") if name.strip()]
    chosen = []
    try:
        for row in dict.fromkeys(row_of(name) for name in names):
            require_embedding(row)
            estimator = build(row, o, several=several or len(names) > 1)
            estimator._validate_params()  # fail before the table is read
            require_labels(row, estimator, o.label)
            chosen.append((row, estimator))
    except (EigenspanError, TypeError, ValueError) as failure:
        raise Usage(for_command_line(str(failure))) from failure
    if not chosen:
        raise Usage("--method is empty. eigenspan methods lists the methods.")
    if o.model is not None and len(chosen) > 1:
        raise Usage(f"--model saves one method, but --method names {len(chosen)}. Name one method, or omit --model.")
    return chosen


def _check_targets(o: SimpleNamespace, names: list[str]) -> None:
    """Check where the results will be written, before any work."""
    from .files.write import check_outputs, check_table
    from .outputs import check_plot

    if o.output is None:
        stem = "stdin" if str(o.table) == "-" else o.table.name.split(".")[0]
        o.output = Path(f"{stem}-{'-'.join(name.lower() for name in names[:3])}.csv")
    refuse_two_results(o.output)
    check_table(o.output, o.table)
    check_plot(o.plot)
    check_outputs((o.table,), output=o.output, plot=o.plot, model=o.model)


def _result(o: SimpleNamespace, estimators: dict[str, Any], read: Any) -> Result:
    """Collect the results of fits to a table in memory."""
    from .files import write_table
    from .files.write import is_folder, write_anndata
    from .outputs import axes_of, frame_of, summary_of

    data = read.data
    summaries = [summary_of(name, e, read.X, data.columns, o.seed) for name, e in estimators.items()]
    places = {axis: e.embedding_[:, j] for e in estimators.values() for j, axis in enumerate(axes_of(e))}
    groups = {name: e.labels_ for name, e in estimators.items() if hasattr(e, "labels_")}
    clusters = {"cluster" if len(groups) == 1 else f"cluster {name}": found for name, found in groups.items()}
    table = frame_of(data.ids, places, data.label, clusters)

    def write() -> None:
        if o.output.suffix.lower() == ".h5ad":
            write_anndata(o.output, o.table, estimators, data, table.drop(columns=list(places)))
        else:
            write_table(table, o.output, list(places), folder=is_folder(o.output, o.table))

    embeddings = {name: estimator.embedding_ for name, estimator in estimators.items()}
    scaling = (read.center, read.spread, data.medians)
    return Result(estimators, summaries, data.columns, *scaling, len(table), embeddings, data.label, write)
