"""The group of commands, and the one place where an error becomes a message."""

from __future__ import annotations

from typing import Any

import click

from ..errors import EigenspanError
from .catalogue import info, methods
from .console import Refusal
from .demo import demo
from .embed import embed
from .theorems import theorems
from .transform import transform


class _Group(click.Group):
    """Known errors end in one paragraph and exit code 2; anything else is a bug and keeps its traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except EigenspanError as failure:
            raise Refusal(str(failure)) from failure
        except KeyboardInterrupt:
            raise click.Abort from None


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="eigenspan")
def main() -> None:
    """Spectral dimension reduction: see tables of many columns in two.

    \b
    eigenspan demo                              six methods on the digits
    eigenspan embed table.csv --label species   your own table
    """


for command in (demo, methods, info, embed, transform, theorems):
    main.add_command(command)
