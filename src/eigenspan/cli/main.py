"""The group of commands, and the one place where an error becomes a message."""

from __future__ import annotations

import errno
from typing import Any

import click

from ..errors import EigenspanError, OutputError, ParameterError
from .catalogue import info, methods
from .compare import compare
from .console import Failed, Refusal, Unfit, Usage, any_encoding, how
from .demo import demo
from .dimension import dimension
from .doctor import doctor
from .embed import embed
from .inspect import inspect
from .options import fresh
from .signals import ended_like_ctrl_c
from .theorems import theorems
from .transform import transform
from .words import in_words

#: Only writes fail with these. Named outputs have messages of their own, so the rest is printed, or a temporary file of some library.
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class _Group(click.Group):
    """Known errors end in one paragraph and an exit code of their kind; anything else is a bug and keeps its traceback."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        with any_encoding(), ended_like_ctrl_c():
            return super().main(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        fresh()
        try:
            return super().invoke(ctx)
        except OutputError as failure:
            if how().debug:
                raise
            raise Failed(str(failure)) from failure
        except OSError as failure:
            if how().debug or failure.errno not in FULL:
                raise
            raise Failed(f"Standard output or a temporary file cannot be written: {failure.strerror}.") from failure
        except EigenspanError as failure:
            if how().debug:
                raise
            kind = Usage if isinstance(failure, ParameterError) else Unfit
            raise kind(in_words(str(failure))) from failure
        except Refusal as refusal:
            if how().debug and refusal.__cause__ is not None:
                raise refusal.__cause__ from None
            raise
        except KeyboardInterrupt:
            click.echo("Interrupted.", err=True)
            raise SystemExit(130) from None


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="eigenspan")
def main() -> None:
    """Spectral dimension reduction: see tables of many columns in two.

    \b
    eigenspan demo                              six methods on the digits
    eigenspan inspect table.csv                 what is in it, and what to try
    eigenspan embed table.csv --label species   your own table
    """


for command in (demo, inspect, dimension, embed, compare, transform, theorems, methods, info, doctor):
    main.add_command(command)
