"""How commands read a table: the options they share, and the numbers that come of it."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import click

from .console import plural, say, working

_OPTIONS = (
    click.option("--label", metavar="COLUMN", help="Not embedded: for colours, and for methods that use labels."),
    click.option("--id", "identifier", metavar="COLUMN", help="Row identifiers to keep beside the embedding."),
    click.option(
        "--columns", multiple=True, metavar="NAMES", help="Only these: names, 'a,b,c', or patterns such as 'x*'."
    ),
    click.option(
        "--missing",
        type=click.Choice(["refuse", "drop-rows", "drop-columns", "median"]),
        default="refuse",
        show_default=True,
        help="What to do about missing values; methods that take gaps, such as ppca, refuse none.",
    ),
    click.option("--na", multiple=True, metavar="TEXT", help="A further cell content that means missing, such as '?'."),
    click.option(
        "--scale",
        type=click.Choice(["standard", "none"]),
        default="standard",
        show_default=True,
        help="Give every column unit variance first, or leave units as they are.",
    ),
)


def table_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Which columns of a table are read, and how."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def read_numbers(o: SimpleNamespace, *, gaps: bool = False) -> tuple[Any, Any, tuple[Any, Any]]:
    """What `prepare` made of the table, its numbers at the scale asked for, and what was subtracted and divided by."""
    from .columns import prepare
    from .fitting import standardise
    from .tables import read_table

    with working(f"Reading {o.table.name}"):
        frame = read_table(o.table, o.na)
    say(f"{o.table.name}: {plural(frame.shape[0], 'row')}, {plural(frame.shape[1], 'column')}.")
    data = prepare(frame, label=o.label, identifier=o.identifier, chosen=o.columns, missing=o.missing, gaps=gaps)
    X, center, spread = standardise(data.X, o.scale)
    return data, X, (center, spread)
