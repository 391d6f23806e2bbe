"""``eigenspan methods`` and ``eigenspan info``."""

from __future__ import annotations

import inspect
from typing import Any

import click

from .console import out


@click.command()
def methods() -> None:
    """List every method: what it optimises, over what, and whether it uses labels."""
    from rich.table import Table

    from ..methods.registry import TABLE

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("method", "family", "form", "unit", "basis", "labels", "source"):
        table.add_column(heading, no_wrap=heading == "method")
    for row in TABLE:
        table.add_row(row.name, row.family, row.form, row.unit, row.basis, row.supervision, row.source)
    console = out()
    console.print(table)
    console.print(f"\n{len(TABLE)} methods. eigenspan info METHOD explains one.")


@click.command()
@click.argument("method")
def info(method: str) -> None:
    """Explain METHOD: its problem, cost, parameters and an example."""
    from ..methods.registry import find

    row = find(method)
    console = out()
    console.print(f"[bold]{row.name}[/bold]  {row.family}")
    for heading in ("form", "unit", "basis", "supervision", "cost", "source"):
        console.print(f"  {heading:<12} {getattr(row, heading)}", markup=False)
    if row.aliases:
        console.print(f"  {'also called':<12} {', '.join(row.aliases)}", markup=False)
    console.print()
    console.print(inspect.cleandoc(_documentation(row)), markup=False, soft_wrap=True)


def _documentation(row: Any) -> str:
    if row.own:
        return row.build.__doc__ or ""
    estimator = row.build().estimator
    return (
        f"{type(estimator).__module__.split('.')[0]}'s {type(estimator).__name__} under this library's interface. New points "
        f"are placed by its own map or, without one, rebuilt from their neighbours.\n\n{estimator.__doc__ or ''}"
    )
