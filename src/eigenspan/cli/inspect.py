"""``eigenspan inspect``: summarise a table and suggest methods."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import click
import numpy as np

from .console import Grid, output_options, plural, print_json, show, working
from .escape import name_of
from .options import FILE, common, preparing, reading, seed

#: Neighbours in the graph whose connected components are counted.
_NEIGHBOURS = 10
#: Maximum number of rows for the graph and the dimension estimate.
_ROWS = 20_000


@click.command()
@click.argument("table", type=FILE)
@preparing
@reading
@click.option(
    "--no-forecast", is_flag=True, help="Do not estimate the time and memory of methods, which needs some trial fits."
)
@seed
@common
def inspect(**options: Any) -> None:
    """Summarise TABLE before embedding it: columns, missing values, connected components, intrinsic dimension, and cost of methods.

    \b
    eigenspan inspect survey.csv
    eigenspan inspect cells.parquet --label type --json
    """
    from .reading import choice_of, read_frame

    o = SimpleNamespace(**options)
    frame = read_frame(o)
    o.missing = "median" if o.missing == "refuse" else o.missing  # a summary should not fail on missing values
    facts: dict[str, Any] = {"table": str(o.table), "rows": len(frame), "columns": columns_of(frame, o.label)}
    facts["duplicate_rows"] = int(frame.astype(str).duplicated().sum())
    facts |= _numbers(frame, choice_of(o), o)
    if output_options().json:
        print_json(facts)
    else:
        _show(facts)


def columns_of(frame: Any, label: str | None) -> list[dict[str, Any]]:
    """Return one record per column: its contents, missing values, and range."""
    from .roles import identifiers, kind_of, words_in

    names, found = identifiers(frame), []
    for name in frame.columns:
        column = frame[name]
        kind = kind_of(column)
        record: dict[str, Any] = {
            "name": str(name),
            "kind": "numbers" if not kind else "words" if words_in(column) else kind,
            "missing": int(column.isna().sum()),
            "distinct": int(column.nunique()),
        }
        if name == label:
            record["kind"] = f"label, {record['kind']}"
        elif name in names:
            record["kind"] = f"identifier, {names[name]}"
        elif record["distinct"] == 1:
            record["kind"] = "constant"
        if not kind and record["distinct"]:
            values = column.dropna().to_numpy(dtype=np.float64)
            values = values[np.isfinite(values)]
            record["infinite"] = int(column.notna().sum() - values.size)
            if values.size:
                low, middle, high = np.percentile(values, [0, 50, 100])
                record |= {"low": float(low), "median": float(middle), "high": float(high), "std": float(values.std())}
        found.append(record)
    return found


def _numbers(frame: Any, choice: Any, o: SimpleNamespace) -> dict[str, Any]:
    """Describe the numeric columns together: scales, connected components, dimension, cost of methods."""
    from .columns import prepare
    from .fitting import standardise

    data = prepare(frame, choice)
    spreads = np.nanstd(data.X, axis=0)
    X = standardise(data.X, o.scale)[0]
    facts: dict[str, Any] = {"embedded_columns": data.columns, "embedded_rows": len(X)}
    facts["scales_differ_by"] = float(spreads.max() / max(spreads.min(), np.finfo(float).tiny))
    facts["duplicate_points"] = int(len(X) - len(np.unique(X, axis=0)))
    some = X if len(X) <= _ROWS else X[np.sort(np.random.default_rng(o.seed).permutation(len(X))[:_ROWS])]
    distinct = np.unique(some, axis=0)
    if len(distinct) > _NEIGHBOURS + 1:
        facts["pieces"] = _pieces(distinct)
        facts["dimension"] = _dimension(distinct)
    if not o.no_forecast and len(X) > 20:
        from .predict import forecasts

        with working("Trying methods on some of the rows"):
            facts["methods"] = [vars(forecast) for forecast in forecasts(X, o.seed)]
    return facts


def _pieces(X: Any) -> list[int]:
    """Sizes of the connected components of the neighbour graph, largest first."""
    from ..graphs import KNN, components

    with working("Finding neighbours"):
        labels = components(KNN(_NEIGHBOURS).build(X))[1]
    return sorted((int(size) for size in np.bincount(labels)), reverse=True)


def _dimension(X: Any) -> dict[str, Any]:
    """Estimate the intrinsic dimension by TwoNN, with its error."""
    from .. import intrinsic_dimension

    with working("Estimating the dimension"):
        found = intrinsic_dimension(X, method="twonn")
    return {"method": found.method, "dimension": float(found.dimension), "error": float(found.error)}


def _show(facts: dict[str, Any]) -> None:
    """Print the summary as tables and remarks."""
    from ..numerics.memory import human_bytes

    show(f"{facts['table']}: {plural(facts['rows'], 'row')}, {plural(len(facts['columns']), 'column')}.")
    show()
    table = Grid()
    for heading in ("column", "holds", "missing", "distinct", "lowest", "median", "highest"):
        wide = heading in ("column", "holds")
        table.column(heading, justify="left" if wide else "right", overflow="fold", no_wrap=not wide)
    shown = facts["columns"][:60]
    for record in shown:
        numbers = [f"{record[key]:.3g}" if key in record else "" for key in ("low", "median", "high")]
        table.row(
            name_of(record["name"]),
            record["kind"].split(",")[0],
            str(record["missing"] or ""),
            str(record["distinct"]),
            *numbers,
        )
    table.show()
    if len(facts["columns"]) > len(shown):
        show(f"… and {len(facts['columns']) - len(shown)} more columns (--json lists all).")
    for line in _remarks(facts):
        show(line)
    if facts.get("methods"):
        costs = Grid()
        for heading in ("method", "seconds (estimate)", "memory (estimate)", ""):
            costs.column(heading, justify="left" if heading in ("method", "") else "right")
        for row in facts["methods"]:
            costs.row(
                row["method"],
                f"{row['seconds']:.2g}",
                human_bytes(row["bytes"]),
                "" if row["fits"] else "exceeds available memory",
            )
        costs.show()


def _remarks(facts: dict[str, Any]) -> list[str]:
    """Return one line for each remark on the data."""
    lines = [
        f"Can be embedded: {plural(facts['embedded_rows'], 'row')}, {plural(len(facts['embedded_columns']), 'column')} of numbers."
    ]
    if facts["duplicate_rows"]:
        lines.append(f"Duplicate rows: {facts['duplicate_rows']}.")
    if facts["scales_differ_by"] > 100:
        lines.append(
            f"The scales of the columns differ by a factor of {facts['scales_differ_by']:.3g}: use --scale standard, unless all columns "
            "have "
            "comparable units."
        )
    pieces = facts.get("pieces")
    if pieces and len(pieces) > 1:
        lines.append(
            f"With {_NEIGHBOURS} neighbours the graph has {len(pieces)} connected components (of {', '.join(map(str, pieces[:5]))}"
            f"{', …' if len(pieces) > 5 else ''} points): use more neighbours (-k) for graph methods, or embed the components separately."
        )
    if "dimension" in facts:
        found = facts["dimension"]
        lines.append(
            f"Intrinsic dimension about {found['dimension']:.1f} ± {found['error']:.1f} ({found['method']}); eigenspan dimension "
            "compares several estimates."
        )
    return lines
