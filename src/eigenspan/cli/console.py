"""Talking to the user: results on standard output, everything else on standard error.

Exit codes: 0 done, 1 failed, 2 the command was not understood, 3 the data are unfit for it, 130 interrupted, 128 + n ended by the signal n.
"""

from __future__ import annotations

import json
import logging
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from io import TextIOWrapper
from typing import IO, Any

import click

from .words import in_words


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
    click.echo(text)


def refuse_two_results(output: Any) -> None:
    """Refuse ``--json`` with ``-o -``: both would go to standard output."""
    if how().json and str(output) == "-":
        raise Usage(
            "--json and --output - both write to standard output: leave out one of them, or name a file with -o."
        )


def out(width: int | None = None) -> Any:
    """Console for results, as wide as the terminal unless told."""
    from rich.console import Console

    return Console(highlight=False, width=width)


def err() -> Any:
    """Console for remarks, warnings and progress."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


@dataclass
class Manner:
    """How the running command talks: set by its options, and anew for every command."""

    quiet: bool = False
    verbose: bool = False
    debug: bool = False
    json: bool = False


manner: ContextVar[Manner] = ContextVar("eigenspan_manner")


def how() -> Manner:
    """Of the running command."""
    return manner.get(Manner())


class Refusal(click.ClickException):
    """A message for the user, in one paragraph."""

    def show(self, file: IO[Any] | None = None) -> None:
        _remark(self.format_message(), "Error: ", "bold red")


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
        _remark(message)


def warn(message: str) -> None:
    """One warning, on one line of its own."""
    _remark(message, "Warning: ", "bold yellow")


def _remark(message: str, prefix: str = "", style: str = "", console: Any = None) -> None:
    """One paragraph: wrapped at words on a terminal, one line in a file."""
    from rich.text import Text

    console = console or err()
    console.print(Text.assemble((prefix, style), " ".join(message.split())), soft_wrap=not console.is_terminal)


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
        with err().status("" if how().quiet else title) as status:
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
            self.status.update(title)

    def emit(self, record: logging.LogRecord) -> None:
        if how().quiet:
            return
        if record.levelno >= logging.WARNING or how().verbose:
            _remark(record.getMessage(), console=self.status.console)
        else:
            self.status.update(f"{self.title} (done: {record.getMessage()})")


def listed(names: Any, most: int = 8) -> str:
    """``'a', 'b', 'c' and 4 more``."""
    names = [repr(str(name)) for name in names]
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
    return f" Did you mean {lowered[near[0]]!r}?" if near else ""
