"""The command group. Its `invoke` turns every known error into a message and an exit code."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from ..errors import EigenspanError, OutputError, ParameterError
from ..numerics.memory import available_memory, human_bytes
from .catalogue import info, methods
from .compare import compare
from .console import Failed, Refusal, Unfit, Usage, any_encoding, output_options, plain_tracebacks, print_message
from .demo import demo
from .dimension_command import dimension
from .doctor import doctor
from .embed import embed
from .escape import escaped
from .inspect import inspect
from .options import fresh
from .signals import ended_like_ctrl_c
from .theorems import theorems
from .transform import transform
from .words import for_command_line

#: Errors of a full disk or quota. Named outputs have their own messages, so here the failed write was standard output or a temporary file.
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def _escaped_usage() -> Iterator[None]:
    """Escape control characters in usage errors, because click repeats options and arguments in them."""
    try:
        yield
    except click.UsageError as failure:
        vars(failure)["message"] = escaped(failure.message, lines=True)
        raise


def _out_of_memory(failure: str) -> str:
    return (
        f"The command ran out of memory: {failure or 'an allocation failed'}. {human_bytes(available_memory())} are available now. Use "
        "fewer rows or columns, a method that reads the table in chunks such as pca, or a larger limit."
    )


class _Group(click.Group):
    """Turn known errors into one paragraph and an exit code; any other error is a bug and keeps its traceback."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        with any_encoding(), plain_tracebacks(), ended_like_ctrl_c():
            return super().main(*args, **kwargs)

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        with _escaped_usage():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        fresh()
        try:
            with _escaped_usage():
                done = super().invoke(ctx)
            if output_options().cells_changed:
                from .files.spreadsheet import warn_of_changed_cells

                warn_of_changed_cells()
            return done
        except OutputError as failure:
            if output_options().debug:
                raise
            raise Failed(str(failure)) from failure
        except OSError as failure:
            if output_options().debug or failure.errno not in FULL:
                raise
            raise Failed(f"Standard output or a temporary file cannot be written: {failure.strerror}.") from failure
        except EigenspanError as failure:
            if output_options().debug:
                raise
            kind = Usage if isinstance(failure, ParameterError) else Unfit
            raise kind(for_command_line(str(failure))) from failure
        except Refusal as refusal:
            if output_options().debug and refusal.__cause__ is not None:
                raise refusal.__cause__ from None
            raise
        except MemoryError as failure:
            if output_options().debug:
                raise
            raise Unfit(_out_of_memory(str(failure))) from failure
        except KeyboardInterrupt:
            print_message("Interrupted.")
            raise SystemExit(130) from None


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="eigenspan")
def main() -> None:
    """Spectral dimension reduction: embed tables of many columns in two or a few dimensions.

    \b
    eigenspan demo                              six methods on the digits
    eigenspan inspect table.csv                 its columns, and which methods to try
    eigenspan embed table.csv --label species   embed your own table
    """


for command in (demo, inspect, dimension, embed, compare, transform, theorems, methods, info, doctor):
    main.add_command(command)
