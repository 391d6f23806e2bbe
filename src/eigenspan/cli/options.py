"""Options shared by several commands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from .console import OutputOptions, current_options

FILE = click.Path(path_type=Path)


def _set(name: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    def callback(ctx: click.Context, parameter: click.Parameter, value: Any) -> None:
        setattr(current_options.get(), name, value)

    return callback


def common(command: Any) -> Any:
    """Add ``--json``, ``-q``, ``-v`` and ``--debug``, which control the output of a command."""
    for name, flags, text in (
        ("debug", ("--debug",), "Show tracebacks of errors and source lines of warnings."),
        ("verbose", ("-v", "--verbose"), "Show every finished stage."),
        ("quiet", ("-q", "--quiet"), "Show results and warnings only."),
        ("json", ("--json",), "Print the result as JSON."),
    ):
        command = click.option(*flags, is_flag=True, expose_value=False, callback=_set(name), help=text)(command)
    return command


def writing(command: Any) -> Any:
    """Add ``--raw-cells``, which controls how text cells are written."""
    text = "Write text such as =1+1 unchanged; by default an apostrophe is put before it, so that spreadsheets do not run it."
    return click.option("--raw-cells", is_flag=True, expose_value=False, callback=_set("raw_cells"), help=text)(command)


seed = click.option("--seed", type=int, default=0, show_default=True, help="Seed of the random number generator.")


def fresh() -> None:
    """Reset the output options: several commands may run in one process."""
    current_options.set(OutputOptions())


def choosing(default: str) -> Callable[[Any], Any]:
    """Add the options that choose methods and their parameters; `default` describes the methods used without ``-m``."""

    def decorate(command: Any) -> Any:
        for decorator in (
            click.option(
                "--set",
                "settings",
                multiple=True,
                metavar="NAME=VALUE",
                help="Set any parameter of the methods that have it.",
            ),
            click.option(
                "--metric",
                metavar="NAME",
                help="Distance between rows, for methods that use distances: cosine, cityblock, …",
            ),
            click.option(
                "--neighbors",
                "-k",
                type=click.IntRange(1),
                help="Number of neighbours, for methods that build a neighbour graph.  [default: 10]",
            ),
            click.option(
                "--components",
                "-d",
                metavar="N",
                help="Number of dimensions, or auto.  [default: 2, or fewer if the labels allow no more]",
            ),
            click.option(
                "--method",
                "-m",
                "methods",
                multiple=True,
                help=f"Methods, separated by commas; eigenspan methods lists them.  [default: {default}]",
            ),
        ):
            command = decorator(command)
        return command

    return decorate


def reading(command: Any) -> Any:
    """Add the options that control how a file is read."""
    for decorator in (
        click.option("--sheet", metavar="NAME", help="Sheet of the workbook to read.  [default: the first]"),
        click.option("--thousands", metavar="MARK", help="Thousands separator, such as ',' or '.'."),
        click.option("--decimal", metavar="MARK", help="Decimal mark, '.' or ','.  [default: detected from the cells]"),
        click.option("--na", multiple=True, metavar="TEXT", help="Treat cells with this text as missing, such as '?'."),
    ):
        command = decorator(command)
    return command


def preparing(command: Any) -> Any:
    """Add the options that select and scale rows and columns of a table."""
    for decorator in (
        click.option(
            "--scale",
            type=click.Choice(["standard", "robust", "none"]),
            default="standard",
            show_default=True,
            help="Scale every column to unit variance (standard) or unit interquartile range (robust), or leave it unscaled.",
        ),
        click.option(
            "--categorical",
            type=click.Choice(["drop", "onehot"]),
            default="drop",
            show_default=True,
            help="Leave out columns of text categories, or encode each category as a column of zeros and ones.",
        ),
        click.option(
            "--missing",
            type=click.Choice(["refuse", "drop-rows", "drop-columns", "median"]),
            default="refuse",
            show_default=True,
            help="How to treat missing values. Methods that accept them, such as ppca, ignore 'refuse'.",
        ),
        click.option(
            "--keep", multiple=True, metavar="COLUMN", help="Embed this column although it looks like an identifier."
        ),
        click.option(
            "--columns",
            multiple=True,
            metavar="NAMES",
            help="Embed only these columns: names, 'a,b,c', or patterns such as 'x*'.",
        ),
        click.option("--id", "identifier", metavar="COLUMN", help="Column of row identifiers, copied to the output."),
        click.option(
            "--label",
            metavar="COLUMN",
            help="Column of labels: not embedded, but used for colours and by supervised methods.",
        ),
    ):
        command = decorator(command)
    return command
