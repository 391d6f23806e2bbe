"""Commands on pipes whose encoding lacks characters of the output."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

#: Run every command in one process, for starting ten takes long; print what failed.
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
def test_every_command_ends_well(folder, encoding):
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


def test_json_loses_no_character(folder):
    command = [sys.executable, "-m", "eigenspan", "embed", "t.csv", "-o", "o.csv", "--json", "-q"]
    given = {"cwd": folder, "capture_output": True, "check": True}
    done = subprocess.run(command, env=environment(PYTHONIOENCODING="ascii"), **given)
    assert json.loads(done.stdout)["columns"] == ["größe", "β → γ", "длина", "x"]


def test_a_table_on_a_narrow_pipe_says_what_it_lost(folder):
    command = [sys.executable, "-m", "eigenspan", "embed", "t.csv", "--label", "kind", "-o", "-", "-q"]
    given = {"cwd": folder, "capture_output": True, "check": True}
    done = subprocess.run(command, env=environment(PYTHONIOENCODING="cp1252"), **given)
    assert b"uses cp1252, which cannot express '\\u0434'" in done.stderr
    assert done.stdout.count(b"??") == done.stdout.count(b"\n") - 1 - done.stdout.count(b"nein")
