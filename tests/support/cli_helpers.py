"""Running commands in process."""

from click.testing import CliRunner

from eigenspan.cli import main


def run(*arguments, code=0):
    """Run a command in process: it must end with the expected code and never with a traceback."""
    result = CliRunner().invoke(main, [str(a) for a in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return " ".join(result.output.split())


def refused(*arguments):
    output = run(*arguments, code=2)
    assert "Traceback" not in output
    return output
