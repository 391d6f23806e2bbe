"""Options that several commands share, each written once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from .console import Manner, manner

FILE = click.Path(path_type=Path)


def _set(name: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    def callback(ctx: click.Context, parameter: click.Parameter, value: Any) -> None:
        setattr(manner.get(), name, value)

    return callback


def common(command: Any) -> Any:
    """``--json``, ``-q``, ``-v`` and ``--debug``: how a command talks."""
    for name, flags, text in (
        ("debug", ("--debug",), "Show where errors and warnings come from."),
        ("verbose", ("-v", "--verbose"), "Show every stage of the work."),
        ("quiet", ("-q", "--quiet"), "Show results and warnings only."),
        ("json", ("--json",), "The result as JSON on standard output."),
    ):
        command = click.option(*flags, is_flag=True, expose_value=False, callback=_set(name), help=text)(command)
    return command


def writing(command: Any) -> Any:
    """How a table is written."""
    text = "Write text such as =1+1 unchanged; by default an apostrophe keeps spreadsheets from running it."
    return click.option("--raw-cells", is_flag=True, expose_value=False, callback=_set("raw_cells"), help=text)(command)


seed = click.option("--seed", type=int, default=0, show_default=True, help="Of everything that is drawn at random.")


def fresh() -> None:
    """Forget how the command before has talked: several may run in one process."""
    manner.set(Manner())


def choosing(default: str) -> Callable[[Any], Any]:
    """Which methods, with which parameters; `default` says what is done without ``-m``."""

    def decorate(command: Any) -> Any:
        for decorator in (
            click.option(
                "--set",
                "settings",
                multiple=True,
                metavar="NAME=VALUE",
                help="Any parameter, for the methods that have it.",
            ),
            click.option(
                "--metric",
                metavar="NAME",
                help="Distance between rows, for methods with distances: cosine, cityblock, …",
            ),
            click.option(
                "--neighbors", "-k", type=click.IntRange(1), help="Neighbours, for methods with a graph.  [default: 10]"
            ),
            click.option(
                "--components", "-d", metavar="N", help="Dimensions, or auto.  [default: 2, or what the labels allow]"
            ),
            click.option(
                "--method",
                "-m",
                "methods",
                multiple=True,
                help=f"Names of eigenspan methods: a,b,c.  [default: {default}]",
            ),
        ):
            command = decorator(command)
        return command

    return decorate


def reading(command: Any) -> Any:
    """How a file is read."""
    for decorator in (
        click.option("--sheet", metavar="NAME", help="Sheet of a workbook.  [default: the first]"),
        click.option("--thousands", metavar="MARK", help="Mark between thousands, such as ',' or '.'."),
        click.option("--decimal", metavar="MARK", help="Decimal mark, '.' or ','.  [default: told from the cells]"),
        click.option(
            "--na", multiple=True, metavar="TEXT", help="A further cell content that means missing, such as '?'."
        ),
    ):
        command = decorator(command)
    return command


def preparing(command: Any) -> Any:
    """Which rows and columns of a table are used, and how they are scaled."""
    for decorator in (
        click.option(
            "--scale",
            type=click.Choice(["standard", "robust", "none"]),
            default="standard",
            show_default=True,
            help="Unit variance for every column, unit distance between its quartiles, or units as they are.",
        ),
        click.option(
            "--categorical",
            type=click.Choice(["drop", "onehot"]),
            default="drop",
            show_default=True,
            help="Set columns of words aside, or turn each word into a column of zeros and ones.",
        ),
        click.option(
            "--missing",
            type=click.Choice(["refuse", "drop-rows", "drop-columns", "median"]),
            default="refuse",
            show_default=True,
            help="What to do about missing values; methods that take gaps, such as ppca, refuse none.",
        ),
        click.option(
            "--keep", multiple=True, metavar="COLUMN", help="A column that looks like an identifier and is none."
        ),
        click.option(
            "--columns", multiple=True, metavar="NAMES", help="Only these: names, 'a,b,c', or patterns such as 'x*'."
        ),
        click.option("--id", "identifier", metavar="COLUMN", help="Row identifiers to keep beside the result."),
        click.option("--label", metavar="COLUMN", help="Not embedded: for colours, and for methods that use labels."),
    ):
        command = decorator(command)
    return command
