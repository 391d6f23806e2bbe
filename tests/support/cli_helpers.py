"""Commands of the command line, run in the process of the tests."""

from inspect import signature
from typing import Any

from click.testing import CliRunner

from eigenspan.cli import main


def invoke(*arguments: Any, input: Any = None) -> Any:
    """Return the result of a command with separate output and error streams; click before 8.2 merges them by default."""
    apart = {"mix_stderr": False} if "mix_stderr" in signature(CliRunner).parameters else {}
    return CliRunner(**apart).invoke(main, [str(a) for a in arguments], input=input)


def run(*arguments, code=0):
    """Run a command and check its exit code, and that there is no traceback."""
    result = CliRunner().invoke(main, [str(a) for a in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return " ".join(result.output.split())


def refused(*arguments, code=None):
    """Check that a command fails with a message of one paragraph. Exit codes: 1 failure, 2 usage error, 3 invalid data."""
    result = CliRunner().invoke(main, [str(a) for a in arguments])
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code in ((1, 2, 3) if code is None else (code,)), result.output
    assert "Traceback" not in result.output
    return " ".join(result.output.split())
