"""``eigenspan methods`` and ``eigenspan info``."""

from __future__ import annotations

import inspect
from typing import Any

import click

from ..errors import InputError
from .console import Grid, Usage, output_options, print_json, show
from .options import common
from .words import for_command_line


@click.command()
@click.option("--family", metavar="NAME", help="Show only the methods of this family, such as laplacian or sufficient.")
@click.option("--wide", is_flag=True, help="Show the columns form, unit, basis and source too.")
@common
def methods(family: str | None, wide: bool) -> None:
    """List every method: its family, whether it uses labels, and its cost for n rows of D columns."""
    from ..methods.registry import all_rows
    from .console import suggestion

    families = list(dict.fromkeys(row.family for row in all_rows()))
    if family is not None and family.lower() not in families:
        raise Usage(
            f"There is no family {family!r}.{suggestion(family, families)} The families are {', '.join(families)}."
        )
    rows = [row for row in all_rows() if family is None or row.family == family.lower()]
    if output_options().json:
        keep = ("name", "family", "form", "unit", "basis", "supervision", "cost", "source", "aliases")
        print_json([{key: getattr(row, key) for key in keep} for row in rows])
        return
    table = Grid(box=False)
    narrow = {"method": "name", "family": "family", "labels": "supervision", "cost": "cost"}
    headings = narrow | ({"form": "form", "unit": "unit", "basis": "basis", "source": "source"} if wide else {})
    for heading in headings:
        table.column(heading, no_wrap=heading == "method", overflow="fold")
    for row in rows:
        table.row(*(str(getattr(row, key)) for key in headings.values()))
    table.show()
    show()
    show(f"{len(rows)} methods. eigenspan info METHOD describes one of them.")


@click.command()
@click.argument("method")
@common
def info(method: str) -> None:
    """Describe METHOD: its problem, cost and parameters, with an example."""
    from ..methods.registry import find

    try:
        row = find(method)
    except InputError as failure:
        raise Usage(for_command_line(str(failure))) from failure
    if output_options().json:
        keep = ("name", "family", "form", "unit", "basis", "supervision", "cost", "source", "aliases")
        facts = {key: getattr(row, key) for key in keep}
        print_json(facts | {"documentation": inspect.cleandoc(_documentation(row))})
        return
    show((row.name, "bold"), f"  {row.family}")
    for heading in ("form", "unit", "basis", "supervision", "cost", "source"):
        show(f"  {heading:<12} {getattr(row, heading)}")
    if row.aliases:
        show(f"  {'also called':<12} {', '.join(row.aliases)}")
    show()
    from .docstrings import render

    render(inspect.cleandoc(_documentation(row)))


def _documentation(row: Any) -> str:
    if row.own:
        return row.build.__doc__ or "No documentation: Python removes docstrings when run with -OO."
    estimator = row.build().estimator
    return (
        f"{type(estimator).__module__.split('.')[0]}'s {type(estimator).__name__} with this library's interface. New points are embedded "
        f"with its own map or, if it has none, reconstructed from their neighbours.\n\n{estimator.__doc__ or ''}"
    )
