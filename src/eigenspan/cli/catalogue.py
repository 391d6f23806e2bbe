"""``eigenspan methods`` and ``eigenspan info``."""

from __future__ import annotations

import inspect
from dataclasses import asdict
from typing import Any

import click

from ..errors import InputError
from .console import Grid, Usage, note, output_options, print_json, show
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
        print_json([_facts(row) for row in rows])
        return
    table = Grid(box=False)
    narrow = {"family": "family", "labels": "supervision", "cost": "cost"}
    headings = narrow | ({"form": "form", "unit": "unit", "basis": "basis", "source": "source"} if wide else {})
    table.column("method", min_width=max(len(row.name) for row in rows), overflow="fold")
    for heading in headings:
        table.column(heading, overflow="fold")
    for row in rows:
        table.row([(row.name, "bold"), row.title], *(str(getattr(row, key)) for key in headings.values()))
    table.show()
    show()
    show(f"{len(rows)} methods. eigenspan info METHOD describes one of them.")


@click.command()
@click.argument("method")
@common
def info(method: str) -> None:
    """Describe METHOD: its problem, cost and parameters, with an example.

    METHOD is a name such as lpp, or words to search for, such as "normalised cut": then every hit is listed with its call in Python.
    """
    from ..methods.registry import row_of

    try:
        row = row_of(method)
    except InputError as failure:
        _list_hits(method, failure)
        return
    if output_options().json:
        print_json(_facts(row) | {"documentation": inspect.cleandoc(_documentation(row))})
        return
    show((row.name, "bold"), f"  {row.title}")
    show(f"  {'family':<12} {row.family}")
    for heading in ("form", "unit", "basis", "supervision", "cost", "source"):
        show(f"  {heading:<12} {getattr(row, heading)}")
    if (y := _meaning_of_y(row)) is not None:
        show(f"  {'y':<12} {y}")
    if row.aliases:
        show(f"  {'also called':<12} {', '.join(row.aliases)}")
    if row.phrases:
        show(f"  {'stands for':<12} {_phrases(row)}")
    show()
    from .docstrings import render

    render(inspect.cleandoc(_documentation(row)))


def _facts(row: Any) -> dict[str, Any]:
    """Return what ``--json`` prints of a row."""
    keep = ("name", "title", "family", "form", "unit", "basis", "supervision", "cost", "source", "aliases")
    return {key: getattr(row, key) for key in keep}


def _list_hits(text: str, failure: InputError) -> None:
    """Print the results of a search; raise `Usage` if there are none."""
    from ..methods.registry import find

    hits = find(text)
    if not hits:
        raise Usage(for_command_line(str(failure))) from failure
    if output_options().json:
        print_json([asdict(hit) for hit in hits])
        return
    table = Grid(box=False)
    for heading in ("call", "title", "found as"):
        table.column(heading, overflow="fold")
    for hit in hits:
        table.row((hit.call, "bold"), hit.title, hit.why)
    table.show()
    note("eigenspan info METHOD describes a method; here its name is the part of the call before the bracket.")


def _meaning_of_y(row: Any) -> str | None:
    """Return what y holds if it is neither labels nor numbers."""
    reader = getattr(getattr(row.build, "_input", None), "y", None)
    return getattr(reader, "meaning", None)


def _phrases(row: Any) -> str:
    """Return the phrases of a row; those of a variant follow its arguments."""
    groups: dict[str, list[str]] = {}
    for arguments, phrase in row.phrases:
        groups.setdefault(arguments, []).append(phrase)
    return "; ".join(
        (f"{arguments}: " if arguments else "") + ", ".join(several) for arguments, several in groups.items()
    )


def _documentation(row: Any) -> str:
    if row.own:
        return row.build.__doc__ or "No documentation: Python removes docstrings when run with -OO."
    estimator = row.build().estimator
    return (
        f"{type(estimator).__module__.split('.')[0]}'s {type(estimator).__name__} with this library's interface. New points are embedded "
        f"with its own map or, if it has none, reconstructed from their neighbours.\n\n{estimator.__doc__ or ''}"
    )
