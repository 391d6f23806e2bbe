"""Names, labels, file names and options with control characters, through every command."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cli_helpers import invoke
from eigenspan.cli.escape import escaped, escaped_json, paragraph, shortened

#: Characters that must not reach a terminal: control characters except the line feed, direction marks, line separators.
OBEYED = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")

NAMES = {
    "title": "t\x1b]0;owned\x07t",
    "clear": "c\x1b[2J\x1b[Hc",
    "return": "safe\rgone",
    "c1": "c\x9b31mc",
    "bidi": "r\u202egnp.exe",
    "delete": "d\x7f\x08d",
    "separator": "s\u2028s\x85s",
    "tab": "t\tt",
    "markup": "m[red]m[/red]m",
    "dollar": "$x^{$",
    "link": "l[link=http://e.org]l[/link]",
    "closing": "k[/]k[bold]",
    "emoji code": "e:smile:e",
    "long": "w" * 5000,
    "letters": "é漢字 👩\u200d👧 e\u0301",
}
#: Texts that at least one command must print unchanged.
LITERAL = ("m[red]m[/red]m", "l[link=http://e.org]l[/link]", "k[/]k[bold]", "e:smile:e", "é漢字")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("hostile")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((60, len(NAMES))), columns=list(NAMES.values()))
    frame["text \x1b[31m[red]"] = [f"words {i}" for i in range(60)]
    frame["l[red]l\x1b]0;x\x07"] = [list(NAMES.values())[i % 4 + 6] for i in range(60)]
    frame["mixed \x9b"] = [*("\x1b[2J[bold]", "[/]"), *map(str, rng.standard_normal(58))]
    frame["i[red]\x1b[1m id"] = [f"{i}\x1b[2J[/red]" for i in range(60)]
    frame.to_json(path / "t[red]\x1b[2J\r.jsonl", orient="records", lines=True)
    frame.iloc[:, 0] = np.where(np.arange(60) == 3, np.nan, frame.iloc[:, 0])
    frame.to_json(path / "gaps[bold]\x07.jsonl", orient="records", lines=True)
    frame.iloc[:, 1:3].to_json(path / "less[bold]\x07.jsonl", orient="records", lines=True)
    (path / "bad[red]\x1b[2J.csv").write_bytes(b"a,b\n1,2\n\x1b[2J[red],4\n5,6,7,8\n")
    (path / "junk[red]\x1b[2J.parquet").write_bytes(b"\x1b[2J[red]" * 20)
    return path


LABEL, IDENTIFIER = "l[red]l\x1b]0;x\x07", "i[red]\x1b[1m id"


def commands(folder):
    """Return the commands by name, with the streams to check; a table on a pipe is data and is not escaped."""
    t, gaps, less, bad, junk = (
        folder / name
        for name in (
            *("t[red]\x1b[2J\r.jsonl", "gaps[bold]\x07.jsonl", "less[bold]\x07.jsonl"),
            *("bad[red]\x1b[2J.csv", "junk[red]\x1b[2J.parquet"),
        )
    )
    o = folder / "o[red]\x1b[2J.csv"
    model = folder / "m[red]\x1b]0;x\x07.eig"
    columns = [part for name in list(NAMES.values()) for part in ("--columns", name)]
    roles = ("--label", LABEL, "--id", IDENTIFIER)
    evil = "e\x1b[2J[red]\x9b\r\u202e"
    return {
        "embed": ("embed", t, *roles, "-v", "-o", o, "--model", model, "--plot", folder / "p[red]\x1b[2J.png"),
        "embed --json": ("embed", t, *roles, "-o", o, "--json"),
        "embed -o -": ("embed", t, *roles, "-o", "-"),
        "embed lda": ("embed", t, *roles, "-m", "lda,lpp", "--plot", folder / "l[red]\x1b[2J.svg", "-o", o),
        "embed onehot": ("embed", t, "--categorical", "onehot", "-o", o),
        "embed gaps": ("embed", gaps, "-o", o),
        "embed median": ("embed", gaps, "--missing", "median", "-o", o),
        "embed drop-columns": ("embed", gaps, "--missing", "drop-columns", "-o", o),
        "embed columns": ("embed", t, *columns, "-o", o),
        "embed text column": ("embed", t, "--columns", "mixed \x9b", "-o", o),
        "embed debug": ("embed", t, "--label", evil, "-o", o, "--debug"),
        "embed bad": ("embed", bad, "-o", o),
        "embed junk": ("embed", junk, "-o", o),
        "embed stdin": ("embed", "-", "-o", o),
        "transform": ("transform", model, t, "-o", o),
        "transform --json": ("transform", model, t, "-o", o, "--json"),
        "transform less": ("transform", model, less, "-o", o),
        "transform junk": ("transform", junk, t, "-o", o),
        "inspect": ("inspect", t, "--label", LABEL, "--no-forecast"),
        "inspect --json": ("inspect", t, "--no-forecast", "--json"),
        "dimension": ("dimension", t, "-m", "mle,correlation", "--plot", folder / "d[red]\x1b[2J.png"),
        "dimension --json": ("dimension", t, "-m", "mle", "--json"),
        "compare": (
            *("compare", t, *roles, "-m", "pca,lda,lpp", "-o", o, "--plot", folder / "c[red]\x1b[2J.png"),
            *("--report", folder / "r[red]\x1b[2J.html", "--folder", folder / "kept[red]\x1b[2J"),
        ),
        "compare --json": ("compare", t, *roles, "-m", "pca", "--json"),
        "theorems": ("theorems", t, "--label", LABEL, "--only", "mds-pca"),
        "theorems --json": ("theorems", t, "--only", "mds-pca", "--json"),
        "doctor": ("doctor",),
        "methods": ("methods", "--wide"),
        "info": ("info", "LLE"),
        "info --json": ("info", "LLE", "--json"),
        "no file": ("embed", folder / evil, "-o", o),
        "no folder": ("embed", t, "-o", folder / evil / "o.csv"),
        "no ending": ("embed", t, "-o", folder / evil),
        "no picture": ("embed", t, "-o", o, "--plot", folder / f"{evil}.xyz"),
        "no model": ("transform", folder / evil, t, "-o", o),
        "no column": ("embed", t, "--label", evil, "-o", o),
        "no method": ("embed", t, "-m", evil, "-o", o),
        "no metric": ("embed", t, "-m", "isomap", "--metric", evil, "-o", o),
        "no parameter": ("embed", t, "--set", f"{evil}=1", "-o", o),
        "no value": ("embed", t, "--set", f"solver={evil}", "-o", o),
        "no equals": ("embed", t, "--set", evil, "-o", o),
        "no components": ("embed", t, "-d", evil, "-o", o),
        "no decimal": ("embed", bad, "--decimal", evil, "-o", o),
        "no number": ("embed", t, "--seed", evil, "-o", o),
        "no choice": ("embed", t, "--scale", evil, "-o", o),
        "no option": ("embed", t, f"--{evil}"),
        "no argument": ("doctor", evil),
        "no command": (evil,),
        "no first option": (f"--{evil}",),
        "no family": ("methods", "--family", evil),
        "no info": ("info", evil),
        "no theorem": ("theorems", t, "--only", evil),
        "no estimate": ("dimension", t, "-m", evil),
        "no report": ("compare", t, "--report", folder / evil),
    }


EXPECTED = {
    "embed bad": 3, "embed gaps": 3, "embed junk": 3, "embed text column": 2, "embed stdin": 3, "transform less": 3, "transform junk": 3,
    "embed debug": 2,
}  # fmt: skip


@pytest.fixture(scope="module")
def results(folder):
    """Run every command once, in order, because `transform` reads the model that `embed` writes."""
    return {
        name: invoke(*arguments, input="a,b\n\x1b[2J[red],1\n" if name == "embed stdin" else None)
        for name, arguments in commands(folder).items()
    }


@pytest.mark.filterwarnings("ignore:Glyph:UserWarning")
@pytest.mark.parametrize("name", commands(Path()))
def test_control_characters_are_escaped_by_every_command(results, name):
    result = results[name]
    assert result.exception is None or isinstance(result.exception, SystemExit), repr(result.exception)
    code = EXPECTED.get(name, 0)
    allowed = (1, 2, 3) if name.startswith("no ") else (code,)
    assert result.exit_code in allowed, result.output
    streams = {"stderr": result.stderr} | ({} if name == "embed -o -" else {"stdout": result.stdout})
    for stream, text in streams.items():
        assert OBEYED.findall(text) == [], (stream, text)
        assert "Traceback" not in text
        assert max(map(len, text.splitlines()), default=0) < 20_000 or "--json" in name


def test_harmless_names_are_not_changed(results):
    said = "".join(result.stdout + result.stderr for name, result in results.items() if "--json" not in name)
    assert [text for text in LITERAL if text not in said] == []
    for visible in (r"t\x1b]0;owned\x07t", r"safe\rgone", r"c\x9b31mc", r"r\u202egnp.exe", r"t[red]\x1b[2J\r.jsonl"):
        assert visible in said
    assert "w" * 100 not in "".join(re.findall(r"correlates with:.*", said))


def test_brackets_in_file_names_are_not_markup(results):
    assert r"o[red]\x1b[2J.csv" in results["embed"].stdout
    assert r"p[red]\x1b[2J.png" in results["embed"].stdout
    assert r"t[red]\x1b[2J\r.jsonl" in results["inspect"].stdout


def test_json_output_keeps_every_character(results, folder):
    for name in ("embed --json", "inspect --json"):
        found = json.loads(results[name].stdout)["columns"]
        names = found if name == "embed --json" else [column["name"] for column in found]
        assert set(NAMES.values()) <= set(names)


def test_table_on_a_pipe_is_not_escaped(results):
    assert "\x1b[2J[/red]" in results["embed -o -"].stdout


def test_table_on_a_terminal_is_escaped(monkeypatch, capsys):
    from eigenspan.cli.console import print_table

    print_table("a,b\n\x1b[2J,1\n")
    assert capsys.readouterr().out == "a,b\n\x1b[2J,1\n"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    print_table("a,b\n\x1b[2J,1\n")
    assert capsys.readouterr().out == "a,b\n\\x1b[2J,1\n"


def test_terminal_output_has_only_escape_sequences_of_rich(monkeypatch, capsys):
    """On a terminal, escape sequences come only from rich, never from the data."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    from eigenspan.cli.console import Grid, Unfit, show, warn, working

    evil = "e\x1b[2J[red]\x07\x1b]0;x\x07"
    with working(f"Reading {evil}") as retitle:
        retitle(f"Fitting {evil}")
    show((evil, "bold"), evil)
    warn(evil)
    Unfit(evil).show()
    grid = Grid(title=evil, caption=evil)
    grid.column(evil)
    grid.row([evil, (evil, "dim")])
    grid.show(200)
    said = "".join(capsys.readouterr())
    assert "\x1b[1m" in said, "styles are there"
    assert said.count(r"e\x1b[2J[red]\x07\x1b]0;x\x07") >= 7
    assert "\x1b[2J" not in said
    assert "\x1b]" not in said
    assert "\x07" not in said


def test_tracebacks_and_warnings_are_escaped(tmp_path):
    """Check a traceback of --debug and a warning, in a subprocess."""
    (tmp_path / "t.csv").write_text("a,b\n1,2\n3,5\n6,7\n")
    script = (
        "import sys, warnings\nfrom eigenspan.cli import main\n"
        "from eigenspan.cli import reading\n"
        "def fail(*given):\n    warnings.warn('w\\x1b[2J')\n    raise RuntimeError('r\\x1b[2J\\x9b')\n"
        "reading.read_table = fail\nmain()"
    )
    command = [sys.executable, "-c", script, "embed", "t.csv", "--debug"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONWARNINGS": "default"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=False)
    said = done.stderr.decode()
    assert done.returncode == 1
    assert r"RuntimeError: r\x1b[2J\x9b" in said
    assert r"UserWarning: w\x1b[2J" in said
    assert OBEYED.findall(said) == []


def test_escapes():
    assert escaped("a\nb\tc") == r"a\nb\tc"
    assert escaped("a\nb", lines=True) == "a\nb"
    kept = "é漢字 👩\u200d👧 e\u0301 ‏שלום‏ \u00a0\u00ad 🏴󠁧󠁢󠁥󠁮󠁧󠁿 C:\\x1b"
    assert escaped(kept) == kept
    assert escaped(escaped("\x1b\u202e")) == escaped("\x1b\u202e") == r"\x1b\u202e"
    every = "".join(map(chr, range(0x3000)))
    assert OBEYED.findall(escaped(every)) == []
    document = json.dumps(every, ensure_ascii=False)
    assert json.loads(escaped_json(document)) == every
    assert OBEYED.findall(escaped_json(document)) == []


def test_long_texts_are_shortened_in_the_middle():
    assert shortened("x" * 60) == "x" * 60
    assert len(shortened("ab" * 100, 40)) == 40
    assert shortened("a" * 30 + "b" * 300 + "c" * 15).startswith("a" * 30)
    assert len(paragraph("word " * 10**5)) <= 4000
    assert paragraph("one\n   two\r\nthree  four") == "one two three  four"
