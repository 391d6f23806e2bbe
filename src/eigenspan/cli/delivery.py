"""Results of ``eigenspan embed``: table, picture, model and summary, for tables in memory and tables read in chunks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from .console import note, output_options, print_json, show
from .outputs import Summary, announce, draw, note_hidden_axes, warn_of_single_columns


@dataclass(frozen=True, eq=False)
class Result:
    """Everything that ``embed`` writes.

    Parameters
    ----------
    estimators : dict of str to fitted estimator
        By method name.
    summaries : list of Summary
    columns : list of str
        Columns that were embedded.
    center, spread, medians : ndarray of shape (D,)
        Scaling and fill values of those columns, for the model file. Medians are NaN if unknown.
    rows : int
        Number of rows that were embedded.
    embeddings : dict of str to ndarray
        Points of the picture by method name: all rows, or a random sample.
    label : Series or None
        Labels of the points of the picture.
    write : callable
        Function that writes the table; a no-op if the rows were written while they were embedded.
    """

    estimators: dict[str, Any]
    summaries: list[Summary]
    columns: list[str]
    center: Any
    spread: Any
    medians: Any
    rows: int
    embeddings: dict[str, Any]
    label: Any = None
    write: Callable[[], None] = field(default=lambda: None)


def write(o: SimpleNamespace, result: Result) -> None:
    """Write the table and, where asked for, the picture and the model."""
    from .bundle import Bundle, save

    if o.plot is not None:
        draw(result.estimators, result.embeddings, result.rows, result.label, o.plot)
        note_hidden_axes(result.embeddings)
        _note_sample(o, result)
    if o.model is not None:
        ((name, estimator),) = result.estimators.items()
        scaling = (result.center, result.spread, result.medians)
        save(Bundle(name, estimator, result.columns, *scaling, o.label, o.identifier), o.model)
    result.write()


def print_summary(o: SimpleNamespace, result: Result) -> None:
    """Print the summary and the names of the files written."""
    files = {"Embedding": o.output, "Picture": o.plot, "Model": o.model}
    if str(o.output) == "-":
        for summary in result.summaries:
            warn_of_single_columns(summary)
        return
    if output_options().json:
        written = {what.lower(): str(place) for what, place in files.items() if place is not None}
        facts = {"rows": result.rows, "columns": result.columns, "scale": o.scale, "seed": o.seed, "files": written}
        print_json({**facts, "methods": [summary.as_dict() for summary in result.summaries]})
        return
    for summary in result.summaries:
        announce(summary, result.rows, o.scale, o.seed)
    for what, place in files.items():
        if place is not None:
            show(f"{what}: {place}")


def _note_sample(o: SimpleNamespace, result: Result) -> None:
    """Print how many rows the picture shows, if not all."""
    shown = len(next(iter(result.embeddings.values())))
    if shown < result.rows:
        note(
            f"The picture shows {shown} of {result.rows} rows, drawn at random (--seed {o.seed}); the table has all rows."
        )
