"""Read a table and prepare its numbers as the options of a command say."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from .columns import Choice, Prepared, prepare
from .console import note, plural, working
from .files import Reading, read_table
from .fitting import standardise


@dataclass(frozen=True, eq=False)
class Numbers:
    """A table, its prepared columns, the scaled numbers X, and the scaling: (numbers − center) / spread."""

    frame: Any
    data: Prepared
    X: Any
    center: Any
    spread: Any


def reading_of(o: SimpleNamespace) -> Reading:
    """Return the options for reading the file."""
    return Reading(o.na, o.decimal, o.thousands, o.sheet)


def choice_of(o: SimpleNamespace, gaps: bool = False) -> Choice:
    """Return the options for selecting rows and columns."""
    return Choice(o.label, o.identifier, o.columns, o.keep, o.missing, o.categorical, gaps)


def read_frame(o: SimpleNamespace) -> Any:
    """Read the table, without selecting or scaling columns."""
    with working(f"Reading {o.table.name}"):
        frame = read_table(o.table, reading_of(o))
    note(f"{o.table.name}: {plural(frame.shape[0], 'row')}, {plural(frame.shape[1], 'column')}.")
    return frame


def read_numbers(o: SimpleNamespace, *, gaps: bool = False) -> Numbers:
    """Read the table and return its scaled numbers; with `gaps`, missing values are allowed."""
    frame = read_frame(o)
    data = prepare(frame, choice_of(o, gaps))
    return Numbers(frame, data, *standardise(data.X, o.scale))
