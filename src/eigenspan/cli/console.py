"""Output of the commands: results on standard output, everything else on standard error.

All printing happens here. The functions take plain text, which may come from a table, a file name or an exception: control characters
are escaped, square brackets are not read as markup, and styles are separate arguments.

Exit codes: 0 done, 1 failed, 2 the command was not understood, 3 the data cannot be used, 130 interrupted, 128 + n ended by the
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
from .words import for_command_line

#: Text, or a pair of text and style.
Piece = str | tuple[str, str]


@contextmanager
def any_encoding() -> Iterator[None]:
    """Replace characters that the encoding of an output stream cannot represent, instead of raising an error."""
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
    """Print a result as JSON, with escapes for characters that the encoding of standard output cannot represent."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(value, indent=indent)
    click.echo(escaped_json(text))


def print_table(text: str) -> None:
    """Print rows of comma-separated text: unchanged into a pipe or file, with control characters escaped on a terminal."""
    sys.stdout.write(escaped(text, lines=True) if sys.stdout.isatty() else text)
    sys.stdout.flush()


def refuse_two_results(output: Any) -> None:
    """Refuse ``--json`` together with ``-o -``, because both write to standard output."""
    if output_options().json and str(output) == "-":
        raise Usage("--json and --output - both write to standard output: omit one of them, or name a file with -o.")


def _console(stderr: bool = False, width: int | None = None) -> Any:
    """Return a rich console for results or, with `stderr`, for messages. `width` defaults to the width of the terminal."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, width=width)


def _text(*pieces: Piece, lines: bool = False) -> Any:
    """Convert plain text to a rich text, without interpreting markup in it."""
    from rich.text import Text

    styled = [(piece, "") if isinstance(piece, str) else piece for piece in pieces]
    return Text.assemble(*((escaped(text, lines), style) for text, style in styled))


def show(*pieces: Piece) -> None:
    """Print a result on its own line; each piece is a text, or a pair of text and style."""
    _console().print(_text(*pieces), soft_wrap=True)


def show_lines(text: str) -> None:
    """Print a text of several lines, keeping its line breaks."""
    _console().print(_text(text, lines=True), soft_wrap=True)


class Grid:
    """A table for terminals, printed on standard output.

    A cell is plain text, a pair of text and style, or a list of these, one per line.

    Parameters
    ----------
    title, caption : str
        Printed above and below.
    box : bool
        Whether a rule separates the headings from the rows.
    tight : bool
        Whether to leave as little space as possible between columns.
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
        """Add a column; `layout` holds rich's options: justify, no_wrap, overflow, ratio, min_width."""
        self._table.add_column(_text(heading, lines=True), **layout)

    def row(self, *cells: Piece | list[Piece]) -> None:
        """Add a row."""
        from rich.text import Text

        stacked = [cell if isinstance(cell, list) else [cell] for cell in cells]
        self._table.add_row(*(Text("\n").join(_text(piece) for piece in cell) for cell in stacked))

    def section(self) -> None:
        """Draw a rule below the rows added so far."""
        self._table.add_section()

    def show(self, width: int | None = None) -> None:
        """Print the table; `width` defaults to the width of the terminal."""
        _console(width=width).print(self._table)


@dataclass
class OutputOptions:
    """Output options of the running command, reset before every command."""

    quiet: bool = False
    verbose: bool = False
    debug: bool = False
    json: bool = False
    raw_cells: bool = False
    cells_changed: int = 0
    #: Results of scanning text files; see `files.encoding`.
    scans: dict[Any, Any] = field(default_factory=dict)


current_options: ContextVar[OutputOptions] = ContextVar("eigenspan_manner")


def output_options() -> OutputOptions:
    """Return the output options of the running command."""
    return current_options.get(OutputOptions())


class Refusal(click.ClickException):
    """An error whose message is shown to the user in one paragraph."""

    def show(self, file: IO[Any] | None = None) -> None:
        print_message(self.format_message(), "Error: ", "bold red")


class Failed(Refusal):
    """The work failed. Exit code 1."""

    exit_code = 1


class Usage(Refusal):
    """The command cannot be carried out as given: a wrong option, name or file. Exit code 2."""

    exit_code = 2


class Unfit(Refusal):
    """The data cannot be used by this command. Exit code 3."""

    exit_code = 3


def note(message: str) -> None:
    """Print a note about what was done, unless ``--quiet``."""
    if not output_options().quiet:
        print_message(message)


def warn(message: str) -> None:
    """Print a warning on its own line."""
    print_message(message, "Warning: ", "bold yellow")


def print_message(message: str, prefix: str = "", style: str = "", console: Any = None) -> None:
    """Print one paragraph on standard error: wrapped on a terminal, one line in a file."""
    console = console or _console(stderr=True)
    console.print(_text((prefix, style), paragraph(message)), soft_wrap=not console.is_terminal)


@contextmanager
def plain_tracebacks() -> Iterator[None]:
    """Escape control characters in tracebacks and in warnings that Python itself prints.

    The exception hook stays installed, because Python calls it after the command has ended.
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
    """Show a spinner with the last finished stage; print each distinct warning of the block afterwards.

    Yields a function that changes the title of the spinner.
    """
    if output_options().debug:  # Python prints each warning with its source line
        yield lambda title: None
        return
    logger = logging.getLogger("eigenspan")
    level = logger.level
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with _console(stderr=True).status(_text("" if output_options().quiet else paragraph(title))) as status:
            handler = _Stages(status, title)
            logger.addHandler(handler)
            logger.setLevel(min(level or logging.INFO, logging.INFO))
            try:
                yield handler.retitle
            finally:
                logger.removeHandler(handler)
                logger.setLevel(level)
    for message in dict.fromkeys(
        for_command_line(str(entry.message)) for entry in caught if not _is_for_programmers(entry.category)
    ):
        warn(message)


def _is_for_programmers(category: type[Warning]) -> bool:
    """Whether a warning addresses programmers rather than users of the command."""
    return issubclass(category, DeprecationWarning | PendingDeprecationWarning | FutureWarning | ResourceWarning)


class _Stages(logging.Handler):
    """Log handler that shows finished stages of a fit beside the spinner, and warnings on their own lines."""

    def __init__(self, status: Any, title: str) -> None:
        super().__init__(logging.INFO)
        self.status, self.title = status, title

    def retitle(self, title: str) -> None:
        """Change the title of the spinner."""
        self.title = title
        if not output_options().quiet:
            self.status.update(_text(paragraph(title)))

    def emit(self, record: logging.LogRecord) -> None:
        if output_options().quiet:
            return
        if record.levelno >= logging.WARNING or output_options().verbose:
            print_message(record.getMessage(), console=self.status.console)
        else:
            self.status.update(_text(paragraph(f"{self.title} (done: {record.getMessage()})")))


def listed(names: Any, most: int = 8) -> str:
    """Format names as ``'a', 'b', 'c' and 4 more``."""
    names = [quoted(name) for name in names]
    if len(names) > most:
        return ", ".join(names[:most]) + f" and {len(names) - most} more"
    return ", ".join(names)


def plural(count: int, noun: str) -> str:
    """Format a count as ``1 row`` or ``2 rows``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def suggestion(name: str, known: Any) -> str:
    """Return `` Did you mean 'x'?``, or an empty string if no known name is similar."""
    import difflib

    known = [str(k) for k in known]
    lowered = {k.lower(): k for k in known}
    near = difflib.get_close_matches(name.lower(), list(lowered), n=1)
    return f" Did you mean {quoted(lowered[near[0]])}?" if near else ""
