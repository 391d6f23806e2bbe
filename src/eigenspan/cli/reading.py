"""From the options of a command to the numbers of its table."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from .columns import Choice, Prepared, prepare
from .console import plural, say, working
from .files import Reading, read_table
from .fitting import standardise


@dataclass(frozen=True, eq=False)
class Numbers:
    """A table, what was made of it, its numbers at the scale asked for, and what was subtracted and divided by."""

    frame: Any
    data: Prepared
    X: Any
    center: Any
    spread: Any


def reading_of(o: SimpleNamespace) -> Reading:
    """What the options say about the file."""
    return Reading(o.na, o.decimal, o.thousands, o.sheet)


def choice_of(o: SimpleNamespace, gaps: bool = False) -> Choice:
    """What the options say about rows and columns."""
    return Choice(o.label, o.identifier, o.columns, o.keep, o.missing, o.categorical, gaps)


def read_frame(o: SimpleNamespace) -> Any:
    """The table as it is."""
    with working(f"Reading {o.table.name}"):
        frame = read_table(o.table, reading_of(o))
    say(f"{o.table.name}: {plural(frame.shape[0], 'row')}, {plural(frame.shape[1], 'column')}.")
    return frame


def read_numbers(o: SimpleNamespace, *, gaps: bool = False) -> Numbers:
    """The numbers of the table; a method may take its gaps as they are."""
    frame = read_frame(o)
    data = prepare(frame, choice_of(o, gaps))
    return Numbers(frame, data, *standardise(data.X, o.scale))
