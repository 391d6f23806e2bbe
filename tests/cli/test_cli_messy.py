"""Messy files give a result or a message of one paragraph."""

from __future__ import annotations

import pytest

from cli_helpers import invoke
from messy_files import MESSY

#: Files that must be embedded without an error.
FINE = {
    *(
        "plain.csv",
        "semicolon.csv",
        "comma-decimals.csv",
        "tabs.tsv",
        "pipes.txt",
        "blanks.dat",
        "windows.csv",
        "old-mac.csv",
    ),
    *("bom.csv", "utf16.csv", "latin.csv", "emoji.csv", "no-header.csv", "quoted.csv", "blank-lines.csv", "spaces.csv"),
    *("gz.csv.gz", "no-ending", "odd.ending", "words.csv", "dates.csv", "booleans.csv", "money.csv", "per-cent.csv"),
    *(
        "german.csv",
        "thousands.csv",
        "accounting.csv",
        "ids.csv",
        "lines.jsonl",
        "list.json",
        "cube.npy",
        "with-labels.npz",
    ),
    *("units.csv", "long-cells.csv", "hostile.csv", "unnamed.csv", "column-of-gaps.csv", "dict-cells.csv"),
}
UNFIT = {
    *("all-text.csv", "id-only.csv", "constant.csv", "empty.csv", "header-only.csv", "one-row.csv"),
    *(
        "all-gaps.csv",
        "gap-in-every-row.csv",
        "gaps.csv",
        "broken.json",
        "vector.npy",
        "objects.npy",
        "two-matrices.npz",
    ),
    *("not.parquet", "not.xlsx", "document.docx", "cut.csv.gz", "html.csv", "ragged.csv", "zip.npz"),
}


@pytest.mark.parametrize("name", sorted(MESSY))
def test_messy_files_give_a_result_or_one_message(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    content = MESSY[name]
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    result = invoke("embed", name, "-o", "out.csv")
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    assert "Traceback" not in result.stderr
    if name in FINE:
        assert result.exit_code == 0, result.stderr
    if name in UNFIT:
        assert result.exit_code in (2, 3), result.stderr
    if result.exit_code:
        assert result.stderr.splitlines()[-1].startswith("Error: ")
        assert len(result.stderr.splitlines()[-1]) < 1500
        assert not (tmp_path / "out.csv").exists()


def test_number_of_messy_files():
    assert len(MESSY) >= 60
    assert set(MESSY) >= FINE | UNFIT
