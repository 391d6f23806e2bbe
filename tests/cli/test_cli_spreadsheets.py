"""Text cells that spreadsheet programs would run as formulas."""

from __future__ import annotations

import csv
from io import StringIO

import numpy as np
import pandas as pd
import pytest

from cli_helpers import invoke, run
from eigenspan.cli.files.spreadsheet import looks_like_formula

FORMULAS = [
    "=1+1", "+1+1", "-1+1", "@SUM(A1)", " =1+1", "\t=1+1", "\r=1+1", "\n=1", "=cmd|' /C calc'!A0", "-5 to -3", "+49 170", "＝1", "-2+3+cmd",
    "-inf", "\u00a0=1", "\x00=1", "\tx", "@name", "- 5",
]  # fmt: skip
HARMLESS = [
    "-1.5", "+3", "-1e5", "-1,234.5", "-.5", "-12%", "-", "--", "---", "+", "a=1", "'=1", "", " ", "word", "1-2", "a@b.c", "(=1)", "é",
    " -1.5 ", "−5",
]  # fmt: skip


@pytest.mark.parametrize("cell", FORMULAS)
def test_formulas_are_recognised(cell):
    assert looks_like_formula(cell)


@pytest.mark.parametrize("cell", [*HARMLESS, -1.5, None, np.nan, 3, b"=1", True])
def test_harmless_cells_are_not_formulas(cell):
    assert not looks_like_formula(cell)


@pytest.fixture
def table(tmp_path):
    """Write 40 rows: 20 labels and 10 identifiers are formulas, and so is one column name."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((40, 3)), columns=["a", "b", "c"])
    frame["=label"] = ["=1+1" if i % 2 else "-1.5" for i in range(40)]
    frame["name id"] = [f"@row{i}" if i % 4 == 0 else f"row{i}" for i in range(40)]
    frame.to_json(tmp_path / "t.jsonl", orient="records", lines=True)
    return tmp_path


def embed(table, *arguments):
    roles = ("--label", "=label", "--id", "name id", "--scale", "none")
    return invoke("embed", table / "t.jsonl", *roles, *arguments)


def rows_of(text, delimiter=","):
    return list(csv.DictReader(StringIO(text, newline=""), delimiter=delimiter))


@pytest.mark.parametrize("target", ["o.csv", "o.tsv", "o.txt", "-"])
def test_text_cells_get_an_apostrophe(table, target):
    result = embed(table, "-o", target if target == "-" else table / target)
    assert result.exit_code == 0
    text = result.stdout if target == "-" else (table / target).read_text()
    rows = rows_of(text, "\t" if target == "o.tsv" else ",")
    assert [row["'=label"] for row in rows[:2]] == ["-1.5", "'=1+1"]
    assert [row["name id"] for row in rows[:2]] == ["'@row0", "row1"]
    assert any(float(row["pca0"]) < 0 and not row["pca0"].startswith("'") for row in rows)
    assert result.stderr.count("Warning:") == 1
    assert "31 text cells begin with =, +, - or @" in result.stderr
    assert "--raw-cells" in result.stderr


def test_raw_cells_option_keeps_cells_unchanged(table):
    result = embed(table, "-o", table / "o.csv", "--raw-cells")
    rows = rows_of((table / "o.csv").read_text())
    assert [row["=label"] for row in rows[:2]] == ["-1.5", "=1+1"]
    assert rows[0]["name id"] == "@row0"
    assert "text cell" not in result.stderr


@pytest.mark.parametrize("ending", ["jsonl", "json", "parquet", "feather"])
def test_other_formats_do_not_change(table, ending):
    result = embed(table, "-o", table / f"o.{ending}")
    readers = {"jsonl": lambda p: pd.read_json(p, lines=True), "json": pd.read_json}
    frame = readers.get(ending, getattr(pd, f"read_{ending}", None))(table / f"o.{ending}")
    assert frame["=label"].iloc[1] == "=1+1"
    assert "text cell" not in result.stderr


@pytest.mark.parametrize("raw", [[], ["--raw-cells"]])
def test_workbooks_have_text_cells_instead_of_formulas(table, raw):
    openpyxl = pytest.importorskip("openpyxl")
    result = embed(table, "-o", table / "o.xlsx", *raw)
    assert result.exit_code == 0, result.output
    assert "text cell" not in result.stderr
    sheet = openpyxl.load_workbook(table / "o.xlsx").active
    cells = [cell for row in sheet.iter_rows() for cell in row]
    assert {cell.data_type for cell in cells} == {"n", "s"}
    found = [cell for cell in cells if cell.value == "=1+1"]
    assert len(found) == 20
    assert all(cell.quotePrefix for cell in found)
    frame = pd.read_excel(table / "o.xlsx")
    assert frame["=label"].iloc[1] == "=1+1"


def test_workbooks_escape_characters_invalid_in_xml(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    frame = pd.DataFrame(np.random.default_rng(0).standard_normal((20, 2)), columns=["a", "b"])
    frame["k\x1bd"] = ["x\x1b[2J" if i % 2 else "y" for i in range(20)]
    frame.to_json(tmp_path / "t.jsonl", orient="records", lines=True)
    run("embed", tmp_path / "t.jsonl", "--label", "k\x1bd", "-o", tmp_path / "o.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "o.xlsx").active
    values = {cell.value for row in sheet.iter_rows() for cell in row}
    assert {r"k\x1bd", r"x\x1b[2J", "y"} <= values


def test_changed_cells_of_chunked_tables_are_reported_once(table, monkeypatch):
    frame = pd.read_json(table / "t.jsonl", lines=True)
    frame.to_csv(table / "t.csv", index=False)
    monkeypatch.setattr("eigenspan.cli.files.parts._ROWS", 7)
    monkeypatch.setattr("eigenspan.cli.files.parts.available_memory", lambda: 100)
    options = ("--label", "=label", "--id", "name id", "-o", table / "o.csv")
    result = invoke("embed", table / "t.csv", *options)
    assert "reading it in chunks" in result.stderr
    assert "31 text cells begin" in result.stderr
    assert {row["'=label"] for row in rows_of((table / "o.csv").read_text())} == {"-1.5", "'=1+1"}


def test_compare_and_transform(table):
    embed(table, "-o", table / "o.csv", "--model", table / "m.eig")
    result = invoke("transform", table / "m.eig", table / "t.jsonl", "-o", table / "n.csv")
    assert "31 text cells" in result.stderr
    result = invoke("transform", table / "m.eig", table / "t.jsonl", "-o", table / "n.csv", "--raw-cells")
    assert "text cell" not in result.stderr
    assert rows_of((table / "n.csv").read_text())[0]["name id"] == "@row0"
    result = invoke("compare", table / "t.jsonl", "-m", "pca", "-o", table / "c.csv", "--raw-cells")
    assert result.exit_code == 0, result.output


def test_a_column_of_categories(tmp_path):
    frame = pd.DataFrame(np.random.default_rng(0).standard_normal((20, 2)), columns=["a", "b"])
    frame["kind"] = pd.Categorical(["=x" if i % 2 else None for i in range(20)])
    frame.to_parquet(tmp_path / "t.parquet")
    assert "10 text cells" in run("embed", tmp_path / "t.parquet", "--label", "kind", "-o", tmp_path / "o.csv")
    found = pd.read_csv(tmp_path / "o.csv")["kind"]
    assert found.isna().sum() == 10
    assert set(found.dropna()) == {"'=x"}
