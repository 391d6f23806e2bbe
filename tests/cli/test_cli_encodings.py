"""Input files in many encodings, and output streams whose encoding lacks some characters."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from cli_helpers import invoke, run

#: Runs every command in one process, because starting ten is slow; prints failures.
SCRIPT = """
import sys, traceback
from eigenspan.cli import main
for line in sys.argv[1:]:
    try:
        main(line.split("|"), standalone_mode=False)
    except SystemExit as ended:
        if ended.code not in (0, None):
            print("FAILED", ascii(line), ended.code, file=sys.stderr)
    except BaseException:
        print("FAILED", ascii(line), ascii(traceback.format_exc()), file=sys.stderr)
    sys.stdout.flush()
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("encodings")
    X = np.random.default_rng(0).standard_normal((60, 4))
    frame = pd.DataFrame(X, columns=["größe", "β → γ", "длина", "x"]).assign(kind=np.where(X[:, 0] > 0, "да", "nein"))
    frame.to_csv(path / "t.csv", index=False)
    return path


def environment(**given):
    kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONIOENCODING", "PYTHONUTF8", "LC_ALL", "LANG")}
    return kept | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONWARNINGS": "ignore"} | given


NARROW = {
    "cp1252": {"PYTHONIOENCODING": "cp1252"},
    "ascii": {"PYTHONIOENCODING": "ascii"},
    "C locale": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
}


@pytest.mark.parametrize("encoding", NARROW)
@pytest.mark.every(3)
def test_every_command_succeeds_with_any_encoding(folder, encoding):
    if encoding == "C locale" and not sys.prefix.isascii():
        pytest.skip("Python and threadpoolctl cannot read an environment in a folder with an accent in the C locale")
    t, m = folder / "t.csv", folder / "m.eig"
    lines = [
        *("--help", "embed|--help", "compare|--help", "theorems|--help", "inspect|--help", "dimension|--help"),
        *("methods", "methods|--wide", "methods|--json", "info|LLE", "info|MVU", "info|LDA|--json", "doctor"),
        f"embed|{t}|--label|kind|-o|{folder / 'o.csv'}|--model|{m}",
        *(f"embed|{t}|--label|kind|-o|-", f"embed|{t}|--label|kind|-o|{folder / 'o.csv'}|--json|-v"),
        *(f"transform|{m}|{t}|-o|{folder / 'n.csv'}", f"inspect|{t}", f"inspect|{t}|--json", f"dimension|{t}"),
        f"compare|{t}|-m|pca,lpp|-k|5|--label|kind",
        f"theorems|{t}|--only|mds-pca",
    ]
    given = {"env": environment(**NARROW[encoding]), "cwd": folder, "capture_output": True, "check": False}
    done = subprocess.run([sys.executable, "-c", SCRIPT, *lines], **given)
    said = done.stderr.decode("latin-1")
    assert done.returncode == 0, said
    assert "FAILED" not in said, said
    assert b"?" in done.stdout


def test_json_keeps_every_character(folder):
    command = [sys.executable, "-m", "eigenspan", "embed", "t.csv", "-o", "o.csv", "--json", "-q"]
    given = {"cwd": folder, "capture_output": True, "check": True}
    done = subprocess.run(command, env=environment(PYTHONIOENCODING="ascii"), **given)
    assert json.loads(done.stdout)["columns"] == ["größe", "β → γ", "длина", "x"]


def test_unencodable_characters_on_a_pipe_give_a_warning(folder):
    command = [sys.executable, "-m", "eigenspan", "embed", "t.csv", "--label", "kind", "-o", "-", "-q"]
    given = {"cwd": folder, "capture_output": True, "check": True}
    done = subprocess.run(command, env=environment(PYTHONIOENCODING="cp1252"), **given)
    assert b"uses cp1252, which cannot represent '\\u0434'" in done.stderr
    assert done.stdout.count(b"??") == done.stdout.count(b"\n") - 1 - done.stdout.count(b"nein")


# ------------------------------------------------------------------------- files that are read
ROWS = [(f"größe {i}", i * 0.5, (i * 7) % 11, "naïve – “x”" if i % 2 else "été") for i in range(40)]
LATIN = [(name, x, y, kind.replace("–", "-").replace("“", '"').replace("”", '"')) for name, x, y, kind in ROWS]


def text_of(rows):
    return "navn;x;ÿ;kind\n" + "".join(f"{a};{b};{c};{d}\n" for a, b, c, d in rows)


READ = {
    "utf-8": (text_of(ROWS).encode(), ""),
    "utf-8-sig": (text_of(ROWS).encode("utf-8-sig"), ""),
    "utf-16": (text_of(ROWS).encode("utf-16"), ""),
    "utf-16-be with mark": (b"\xfe\xff" + text_of(ROWS).encode("utf-16-be"), ""),
    "utf-32": (text_of(ROWS).encode("utf-32"), ""),
    "utf-16-le": (text_of(ROWS).encode("utf-16-le"), "has no byte order mark; reading it as UTF-16 (little-endian)."),
    "utf-16-be": (text_of(ROWS).encode("utf-16-be"), "has no byte order mark; reading it as UTF-16 (big-endian)."),
    "cp1252": (text_of(ROWS).encode("cp1252"), "is not UTF-8; reading it as Windows-1252."),
    "latin-1": (text_of(LATIN).encode("latin-1"), "is not UTF-8; reading it as Latin-1."),
    "stray": (
        text_of(ROWS).encode() + b"\xff\x80;3;4;x\n",
        "has bytes that are not valid UTF-8; reading it as UTF-8, with � for each of them.",
    ),
    "cut utf-16": (
        text_of(ROWS).encode("utf-16") + b"\x41",
        "has invalid bytes; reading it as UTF-16, with � for each of them.",
    ),
    "late": (b"".join([b"a;b;c\n", b"1;2;x\n" * 2**18, "3;4;é\n".encode("latin-1")]), "reading it as Latin-1."),
}


@pytest.mark.parametrize("packed", ["", ".gz"])
@pytest.mark.parametrize("name", READ)
@pytest.mark.every(4)
def test_file_encoding_is_detected(tmp_path, name, packed):
    data, note = READ[name]
    path = tmp_path / f"t.csv{packed}"
    path.write_bytes(gzip.compress(data, 1) if packed else data)
    result = invoke("inspect", path, "--no-forecast", "--json", *(["--label", "kind"] if name != "late" else []))
    assert result.exit_code == 0, result.output
    assert (note in result.stderr) if note else ("reading it as" not in result.stderr)
    assert result.stderr.count("reading it as") == bool(note)
    columns = [column["name"] for column in json.loads(result.stdout)["columns"]]
    assert columns == (["a", "b", "c"] if name == "late" else ["navn", "x", "ÿ", "kind"])


def test_cells_are_decoded_correctly(tmp_path):
    for name in ("utf-16-le", "cp1252", "utf-16-be with mark"):
        (tmp_path / "t.csv").write_bytes(READ[name][0])
        run("embed", tmp_path / "t.csv", "--label", "kind", "--id", "navn", "-o", tmp_path / "o.csv")
        found = pd.read_csv(tmp_path / "o.csv")
        assert list(found["kind"][:2]) == ["été", "naïve – “x”"], name
        assert found["navn"][0] == "größe 0"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252", "latin-1"])
def test_json_encoding_is_detected(tmp_path, encoding):
    lines = "".join(json.dumps({"ä": i, "x": i * i % 7, "k": "é"}, ensure_ascii=False) + "\n" for i in range(30))
    (tmp_path / "t.jsonl").write_bytes(lines.encode(encoding))
    found = json.loads(invoke("inspect", tmp_path / "t.jsonl", "--no-forecast", "--json").stdout)
    assert [column["name"] for column in found["columns"]] == ["ä", "x", "k"]


@pytest.mark.parametrize("ending", ["csv", "tsv", "txt", "json", "jsonl", "dat"])
def test_random_bytes_give_a_table_or_a_message(tmp_path, ending):
    rng = np.random.default_rng(0)
    for alphabet in [range(256), list(b'a1,;"\n\r\t {[]}:\x00\xff\xfe')] * 6:
        data = bytes(rng.choice(alphabet, int(rng.integers(1, 3000))).tolist())
        (tmp_path / f"t.{ending}").write_bytes(data)
        result = invoke("inspect", tmp_path / f"t.{ending}", "--no-forecast")
        assert result.exception is None or isinstance(result.exception, SystemExit), (data, result.exception)


def test_cell_longer_than_the_csv_limit_is_read(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,c\n" + "".join(f"{i},{i * i % 7},{'w' * 200_000}\n" for i in range(12)))
    run("embed", tmp_path / "t.csv", "-d", 1, "-o", tmp_path / "o.csv")


def test_encoding_is_reported_once_for_chunked_tables(tmp_path, monkeypatch):
    (tmp_path / "t.csv").write_bytes(READ["cp1252"][0])
    monkeypatch.setattr("eigenspan.cli.files.parts.available_memory", lambda: 100)
    result = invoke("embed", tmp_path / "t.csv", "--label", "kind", "-o", tmp_path / "o.csv")
    assert result.exit_code == 0, result.output
    assert result.stderr.count("Windows-1252") == 1
    assert set(pd.read_csv(tmp_path / "o.csv")["kind"]) == {"été", "naïve – “x”"}
