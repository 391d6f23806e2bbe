"""Running commands in process."""

from inspect import signature
from typing import Any

from click.testing import CliRunner

from eigenspan.cli import main


def invoke(*arguments: Any, input: Any = None) -> Any:
    """The result of a command, with its two streams apart: before click 8.2 they are one unless told."""
    apart = {"mix_stderr": False} if "mix_stderr" in signature(CliRunner).parameters else {}
    return CliRunner(**apart).invoke(main, [str(a) for a in arguments], input=input)


def run(*arguments, code=0):
    """Run a command in process: it must end with the expected code and never with a traceback."""
    result = CliRunner().invoke(main, [str(a) for a in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return " ".join(result.output.split())


def refused(*arguments, code=None):
    """A refusal in one paragraph: 1 failed, 2 not understood, 3 unfit data."""
    result = CliRunner().invoke(main, [str(a) for a in arguments])
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code in ((1, 2, 3) if code is None else (code,)), result.output
    assert "Traceback" not in result.output
    return " ".join(result.output.split())
