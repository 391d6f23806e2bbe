"""The command line prints in one module only, and only escaped text."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import eigenspan.cli
from grouping import in_one_test

CLI = Path(eigenspan.cli.__file__).parent
FILES = sorted(CLI.rglob("*.py"))
#: Functions, and objects with methods, that print.
PRINTING = re.compile(
    r"(print|pprint|click\.(echo|secho|echo_via_pager|confirm|prompt|progressbar)|os\.write|sys\.(__)?std(out|err)(__)?\..*write.*)"
)
#: Markup of rich, such as [bold red] and [/].
MARKUP = re.compile(r"\[(/|/?(bold|dim|italic|red|green|yellow|blue|cyan|magenta|link)\b[^\]\"']*)\]")


def _calls(tree: ast.AST) -> list[ast.Call]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)]


def printed_elsewhere(source: str) -> list[str]:
    """Return calls that print, imports of rich, and markup in strings."""
    tree, found = ast.parse(source), []
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
        found += [f"line {node.lineno} imports {name}" for name in names if name.split(".")[0] == "rich"]
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and MARKUP.search(node.value):
            found.append(f"line {node.lineno} has markup")
    return found + [
        f"line {call.lineno} calls {ast.unparse(call.func)}"
        for call in _calls(tree)
        if PRINTING.fullmatch(ast.unparse(call.func))
    ]


def unescaped_in_console(source: str) -> list[str]:
    """Return the calls of the console module that print unescaped text."""
    found = []
    for call in _calls(ast.parse(source)):
        name = ast.unparse(call.func)
        method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        if method in ("print", "status", "update", "add_column"):
            allowed: tuple[str, ...] = ("_text(", "self._table")
        elif method == "add_row":
            allowed = ("*(Text('\\n').join((_text(",)
        elif name in ("click.echo", "sys.stdout.write", "print"):
            allowed = ("escaped(", "escaped_json(")
        else:
            continue
        if not call.args or not ast.unparse(call.args[0]).startswith(allowed):
            found.append(f"line {call.lineno}: {ast.unparse(call)}")
    return found


@in_one_test(FILES, lambda path: str(path.relative_to(CLI)))
def test_only_the_console_prints(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    if path == CLI / "console.py":
        assert unescaped_in_console(source) == []
        assert len(_calls(ast.parse(source))) > 50
    else:
        assert printed_elsewhere(source) == []


@pytest.mark.parametrize(
    "source",
    [
        "print(name)",
        "click.echo(name)",
        "click.secho(name, fg='red')",
        "sys.stdout.write(name)",
        "sys.stdout.buffer.write(name)",
        "sys.__stderr__.write(name)",
        "import rich",
        "def f():\n    from rich.table import Table",
        "show(f'[bold]{name}[/bold]')",
        "note('[red]' + name)",
        "note(name + '[/]')",
    ],
)
def test_other_ways_to_print_are_found(source: str) -> None:
    assert printed_elsewhere(source)


def test_ordinary_code_prints_nothing() -> None:
    assert printed_elsewhere("show((name, 'bold'))\nx = names[0]\nfig.savefig(path)\nsay(f'{x[1:]} and [1, 2]')") == []


@pytest.mark.parametrize(
    "source",
    [
        "_console().print(name)",
        "_console().print(f'[bold]{name}')",
        "_console(stderr=True).status(title)",
        "self.status.update(title)",
        "self._table.add_column(heading)",
        "self._table.add_row(*cells)",
        "click.echo(text)",
        "sys.stdout.write(text)",
    ],
)
def test_unescaped_text_in_the_console_is_found(source: str) -> None:
    assert unescaped_in_console(source)
