"""Talking to the user: results on standard output, everything else on standard error.

All printing happens here. The functions take plain text, which may come from a table, a file name or an exception: control characters
are escaped, square brackets are no markup, and styles are arguments of their own.

Exit codes: 0 done, 1 failed, 2 the command was not understood, 3 the data are unfit for it, 130 interrupted, 128 + n ended by the
signal n.
"""

from __future__ import annotations

import json
import logging
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from io import TextIOWrapper
from typing import IO, Any

import click

from .escape import escaped, escaped_json, paragraph, quoted
from .words import in_words

#: A piece of text, or one with the style in which it is printed.
Piece = str | tuple[str, str]


@contextmanager
def any_encoding() -> Iterator[None]:
    """Replace characters that the encoding of an output stream cannot express, instead of failing on them."""
    wrapped = [stream for stream in (sys.stdout, sys.stderr) if isinstance(stream, TextIOWrapper)]
    # The C locale sets "surrogateescape", which fails on such characters as "strict" does.
    changed = {stream: stream.errors for stream in wrapped if stream.errors in ("strict", "surrogateescape")}
    for stream in changed:
        stream.reconfigure(errors="replace")
    try:
        yield
    finally:
        for stream, errors in changed.items():
            if not stream.closed:
                stream.reconfigure(errors=errors)


def print_json(value: Any, indent: int | None = None) -> None:
    """Print a result as JSON. Characters that standard output cannot express are escaped, so that none is lost."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(value, indent=indent)
    click.echo(escaped_json(text))


def print_table(text: str) -> None:
    """Print rows of comma-separated text: as they are into a pipe, with control characters escaped on a terminal."""
    sys.stdout.write(escaped(text, lines=True) if sys.stdout.isatty() else text)
    sys.stdout.flush()


def refuse_two_results(output: Any) -> None:
    """Refuse ``--json`` with ``-o -``: both would go to standard output."""
    if how().json and str(output) == "-":
        raise Usage(
            "--json and --output - both write to standard output: leave out one of them, or name a file with -o."
        )


def _console(stderr: bool = False, width: int | None = None) -> Any:
    """Console for results or, on standard error, for remarks; as wide as the terminal unless given."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, width=width)


def _text(*pieces: Piece, lines: bool = False) -> Any:
    """Pieces of plain text as what rich prints without reading markup in it."""
    from rich.text import Text

    styled = [(piece, "") if isinstance(piece, str) else piece for piece in pieces]
    return Text.assemble(*((escaped(text, lines), style) for text, style in styled))


def show(*pieces: Piece) -> None:
    """Print a result on a line of its own; a piece is a text, or a text and its style."""
    _console().print(_text(*pieces), soft_wrap=True)


def show_lines(text: str) -> None:
    """Print a text of several lines that this library has laid out."""
    _console().print(_text(text, lines=True), soft_wrap=True)


class Grid:
    """A table for people, on standard output.

    A cell is plain text, a text and its style, or a list of these, each on a line of its own.

    Parameters
    ----------
    title, caption : str
        Printed above and below.
    box : bool
        Whether a rule separates the headings from the rows.
    tight : bool
        Whether columns stand as close as they can.
    """

    def __init__(self, title: str = "", caption: str = "", box: bool = True, tight: bool = False) -> None:
        from rich import box as boxes
        from rich.table import Table

        self._table = Table(
            title=_text(title) if title else None,
            caption=_text(caption) if caption else None,
            box=boxes.SIMPLE_HEAD if box else None,
            pad_edge=False,
            collapse_padding=tight,
            header_style="bold",
            title_justify="left",
            title_style="bold",
            caption_justify="left",
        )

    def column(self, heading: str, **layout: Any) -> None:
        """Add a column; `layout` is what rich takes: justify, no_wrap, overflow, ratio, min_width."""
        self._table.add_column(_text(heading, lines=True), **layout)

    def row(self, *cells: Piece | list[Piece]) -> None:
        """Add a row."""
        from rich.text import Text

        stacked = [cell if isinstance(cell, list) else [cell] for cell in cells]
        self._table.add_row(*(Text("\n").join(_text(piece) for piece in cell) for cell in stacked))

    def section(self) -> None:
        """Separate the rows above from those below."""
        self._table.add_section()

    def show(self, width: int | None = None) -> None:
        """Print the table, as wide as the terminal unless given."""
        _console(width=width).print(self._table)


@dataclass
class Manner:
    """How the running command talks: set by its options, and anew for every command."""

    quiet: bool = False
    verbose: bool = False
    debug: bool = False
    json: bool = False
    raw_cells: bool = False
    cells_changed: int = 0
    #: Text files that were scanned; see `files.encoding`.
    scans: dict[Any, Any] = field(default_factory=dict)


manner: ContextVar[Manner] = ContextVar("eigenspan_manner")


def how() -> Manner:
    """Of the running command."""
    return manner.get(Manner())


class Refusal(click.ClickException):
    """A message for the user, in one paragraph."""

    def show(self, file: IO[Any] | None = None) -> None:
        remark(self.format_message(), "Error: ", "bold red")


class Failed(Refusal):
    """The work could not be done."""

    exit_code = 1


class Usage(Refusal):
    """What was asked for makes no sense: an option, a name, a file that is not there."""

    exit_code = 2


class Unfit(Refusal):
    """The data cannot be used so."""

    exit_code = 3


def say(message: str) -> None:
    """A remark about what was done."""
    if not how().quiet:
        remark(message)


def warn(message: str) -> None:
    """One warning, on one line of its own."""
    remark(message, "Warning: ", "bold yellow")


def remark(message: str, prefix: str = "", style: str = "", console: Any = None) -> None:
    """Print one paragraph on standard error: wrapped at words on a terminal, one line in a file."""
    console = console or _console(stderr=True)
    console.print(_text((prefix, style), paragraph(message)), soft_wrap=not console.is_terminal)


@contextmanager
def plain_tracebacks() -> Iterator[None]:
    """Escape the text of tracebacks and of warnings that Python prints by itself.

    The hook for tracebacks stays, because Python calls it after the command has ended.
    """
    written = warnings.formatwarning
    warnings.formatwarning = lambda *given, **named: escaped(written(*given, **named), lines=True)
    if sys.excepthook is sys.__excepthook__:
        sys.excepthook = _print_traceback
    try:
        yield
    finally:
        warnings.formatwarning = written


def _print_traceback(kind: type[BaseException], failure: BaseException, trace: Any) -> None:
    click.echo(escaped("".join(traceback.format_exception(kind, failure, trace)), lines=True), nl=False, err=True)


@contextmanager
def working(title: str) -> Iterator[Callable[[str], None]]:
    """A spinner that names the stage finished last; the block's warnings are shown after it, each once.

    What it gives to the block changes the title.
    """
    if how().debug:  # warnings with the place they come from
        yield lambda title: None
        return
    logger = logging.getLogger("eigenspan")
    level = logger.level
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with _console(stderr=True).status(_text("" if how().quiet else paragraph(title))) as status:
            handler = _Stages(status, title)
            logger.addHandler(handler)
            logger.setLevel(min(level or logging.INFO, logging.INFO))
            try:
                yield handler.retitle
            finally:
                logger.removeHandler(handler)
                logger.setLevel(level)
    for message in dict.fromkeys(in_words(str(entry.message)) for entry in caught if not _noise(entry.category)):
        warn(message)


def _noise(category: type[Warning]) -> bool:
    """Notes to programmers are not for the user of a command."""
    return issubclass(category, DeprecationWarning | PendingDeprecationWarning | FutureWarning | ResourceWarning)


class _Stages(logging.Handler):
    """Shows finished stages of a fit behind the spinner, and what the user should know on a line of its own."""

    def __init__(self, status: Any, title: str) -> None:
        super().__init__(logging.INFO)
        self.status, self.title = status, title

    def retitle(self, title: str) -> None:
        """The work has come to something else."""
        self.title = title
        if not how().quiet:
            self.status.update(_text(paragraph(title)))

    def emit(self, record: logging.LogRecord) -> None:
        if how().quiet:
            return
        if record.levelno >= logging.WARNING or how().verbose:
            remark(record.getMessage(), console=self.status.console)
        else:
            self.status.update(_text(paragraph(f"{self.title} (done: {record.getMessage()})")))


def listed(names: Any, most: int = 8) -> str:
    """``'a', 'b', 'c' and 4 more``."""
    names = [quoted(name) for name in names]
    if len(names) > most:
        return ", ".join(names[:most]) + f" and {len(names) - most} more"
    return ", ".join(names)


def plural(count: int, noun: str) -> str:
    """``1 row``, ``2 rows``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def suggestion(name: str, known: Any) -> str:
    """`` Did you mean 'x'?`` or nothing."""
    import difflib

    known = [str(k) for k in known]
    lowered = {k.lower(): k for k in known}
    near = difflib.get_close_matches(name.lower(), list(lowered), n=1)
    return f" Did you mean {quoted(lowered[near[0]])}?" if near else ""
