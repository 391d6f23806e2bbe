"""``eigenspan compare``: fit several methods to one table, and measure and draw the embeddings."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import click

from .console import Grid, Usage, note, output_options, plural, print_json, refuse_two_results, show, working
from .escape import paragraph
from .options import FILE, choosing, common, preparing, reading, seed, writing

#: Maximum number of table cells embedded in a report.
_MAX_CELLS = 600_000


@click.command()
@click.argument("table", type=FILE)
@choosing("one of each family")
@preparing
@reading
@click.option("--report", type=FILE, help="Self-contained page with linked pictures to write (.html).")
@click.option("--plot", type=FILE, help="Picture to write (.png, .pdf, .svg).")
@click.option(
    "--output", "-o", type=FILE, help="Table of the measures to write (.csv, .parquet, …), or - for standard output."
)
@click.option(
    "--folder", type=FILE, help="Folder to save every embedding in; an interrupted comparison continues from it."
)
@click.option(
    "--sample", type=click.IntRange(10), help="Number of rows used for the measures.  [default: all, at most 20,000]"
)
@writing
@seed
@common
def compare(**options: Any) -> None:
    """Fit several methods to TABLE, measure how well each preserves neighbours and distances, and draw the embeddings side by side.

    \b
    eigenspan compare survey.csv --label answer --report survey.html
    eigenspan compare cells.parquet -m pca,isomap,lle --folder kept --plot three.png
    """
    run(SimpleNamespace(**options))


def run(o: SimpleNamespace) -> None:
    """Run the command with its parsed options."""
    from .. import compare as compare_methods
    from .files import check_outputs
    from .fitting import labels_of
    from .reading import read_numbers

    o.model = None
    estimators = _estimators(o)
    _check_targets(o)
    check_outputs((o.table,), plot=o.plot, report=o.report, output=o.output)
    table = read_numbers(o)
    X, data = table.X, table.data
    y = None if data.label is None else labels_of(data.label)
    k = min(o.neighbors or 10, (len(X) - 1) // 2)
    with working("Comparing") as update_title:
        found = compare_methods(
            X,
            estimators,
            y,
            n_neighbors=k,
            sample=o.sample,
            folder=o.folder,
            random_state=o.seed,
            callback=lambda name, number, count: update_title(f"Fitting {name}, {number + 1} of {count}"),
        )
    _deliver(o, found, table.frame, data)


def _estimators(o: SimpleNamespace) -> dict[str, Any]:
    """Return the estimators by method name. LDA is among the default methods only if there are labels."""
    from ..quality.method_comparison import USUAL
    from .embed import methods_of

    if not o.methods:
        o.methods = (*USUAL, *(() if o.label is None else ("LDA",)))
    chosen = methods_of(o, several=True)
    return {row.name: estimator for row, estimator in chosen}


def _check_targets(o: SimpleNamespace) -> None:
    """Check where the results will be written, before any work."""
    from .files.write import check_table
    from .outputs import check_plot

    refuse_two_results(o.output)
    check_plot(o.plot)
    if o.output is not None:
        check_table(o.output)
    if o.report is not None and o.report.suffix.lower() not in (".html", ".htm"):
        raise Usage(f"--report writes an HTML page: {o.report.name!r} must end in .html.")


def _deliver(o: SimpleNamespace, found: Any, frame: Any, data: Any) -> None:
    from .._files import together
    from .files.write import write_figure, write_table
    from .outputs import literal_labels

    with together():
        if o.plot is not None:
            with working("Drawing"), literal_labels():
                write_figure(found.plot().figure_, o.plot, dpi=120)
        if o.report is not None:
            with working("Writing the report"):
                _report(o, found, frame, data)
        if o.output is not None:
            write_table(found.frame, o.output, ["value", "error"])
    if str(o.output) == "-":
        return
    if output_options().json:
        table = found.table.reset_index().to_dict("records")
        print_json({"methods": table, "failures": found.failures})
        return
    _show(found)
    for what, place in {"Measures": o.output, "Picture": o.plot, "Report": o.report, "Kept in": o.folder}.items():
        if place is not None:
            show(f"{what}: {place}")


def _report(o: SimpleNamespace, found: Any, frame: Any, data: Any) -> None:
    """Write the page, with the table for colours and for looking up rows."""
    import pandas as pd

    kept = frame.loc[data.ids.index]
    table = kept if data.ids.name in kept.columns else pd.concat([data.ids, kept], axis=1)
    columns = {
        "rows": len(frame),
        "rows embedded": len(kept),
        "columns": frame.shape[1],
        "columns embedded": len(data.columns),
    }
    columns |= {"missing cells": int(frame.isna().to_numpy().sum()), "scaled": o.scale}
    found.report(
        o.report,
        title=f"{o.table.name}: {len(found.embeddings)} methods side by side",
        table=_limited(table, data),
        colour=o.label,
        facts={"Table": columns},
        provenance={"command": command_line(), "seed": o.seed},
    )


def command_line() -> str:
    """Return the command line of this process, for the provenance."""
    import shlex
    import sys

    return shlex.join(["eigenspan", *sys.argv[1:]])


def _limited(table: Any, data: Any) -> Any:
    """Select columns for at most `_MAX_CELLS` cells: identifier and label, then text, then embedded columns, then the others."""
    import pandas as pd

    named = [str(data.ids.name), *([] if data.label is None else [str(data.label.name)])]
    words = [name for name in table.columns if not pd.api.types.is_numeric_dtype(table[name])]
    order = list(dict.fromkeys([*named, *words, *data.columns, *table.columns]))
    chosen = [name for name in order if name in table.columns][: max(2, min(60, _MAX_CELLS // max(len(table), 1)))]
    if len(chosen) < table.shape[1]:
        note(f"The report shows {len(chosen)} of {plural(table.shape[1], 'column')}.")
    return table[chosen]


def _show(found: Any) -> None:
    """Print the main measures: methods as rows, measures as columns, the best value of each in bold."""
    headings = {
        "trustworthiness": "trust-\nworthy",
        "continuity": "contin-\nuous",
        "auc_r_nx": "AUC\nR_NX",
        "stress": "stress",
        "geodesic_correlation": "geo-\ndesic r",
        "knn_accuracy": "k-NN\naccuracy",
        "knn_r2": "k-NN\nR²",
    }
    better = dict(zip(found.frame["measure"], found.frame["better"], strict=True))
    wide = found.table
    shown = [name for name in headings if name in wide]
    table = Grid(caption="Bold: best value. Lower is better for stress, higher for all other measures.", tight=True)
    table.column("method", no_wrap=True)
    table.column("seconds", justify="right")
    for name in shown:
        table.column(headings[name], justify="right", no_wrap=True)
    best = {name: wide[name].idxmin() if better[name] == "lower" else wide[name].idxmax() for name in shown}
    for method, row in wide.iterrows():
        cells = [(f"{row[name]:.3f}", "bold" if best[name] == method else "") for name in shown]
        table.row(str(method), f"{row['seconds']:.2f}", *cells)
    table.show()
    for name, reason in found.failures.items():
        show(paragraph(f"{name} could not be fitted: {reason}"))
