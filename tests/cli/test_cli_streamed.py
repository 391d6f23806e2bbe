"""Tables larger than memory."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from cli_helpers import refused, run


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(3000, 5)) @ rng.normal(size=(5, 5)) + 100, columns=list("abcde"))
    frame.insert(0, "id", np.arange(len(frame)) + 7)
    frame["kind"] = np.where(frame["a"] > 100, "high", "low")
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet", index=False)
    np.save(tmp_path / "t.npy", frame[list("abcde")].to_numpy())
    return tmp_path


@pytest.fixture
def little_memory(monkeypatch):
    monkeypatch.setattr("eigenspan.cli.files.parts._ROWS", 700)
    monkeypatch.setattr("eigenspan.cli.files.parts.available_memory", lambda: 10_000)


@pytest.mark.parametrize("ending", ["csv", "parquet", "npy"])
@pytest.mark.parametrize("scale", ["standard", "none"])
def test_the_same_places_in_parts(table, little_memory, ending, scale, monkeypatch):
    arguments = ["embed", table / f"t.{ending}", "--scale", scale, *([] if ending == "npy" else ["--label", "kind"])]
    output = run(*arguments, "-o", table / "parts.csv", "--model", table / "m.eig")
    assert "read in parts" in output
    monkeypatch.undo()
    assert "read in parts" not in run(*arguments, "-o", table / "whole.csv")
    parts, whole = (pd.read_csv(table / name) for name in ("parts.csv", "whole.csv"))
    assert list(parts) == list(whole)
    np.testing.assert_allclose(parts[["pca0", "pca1"]].abs(), whole[["pca0", "pca1"]].abs(), atol=1e-8)
    assert parts.iloc[:, 0].equals(whole.iloc[:, 0])
    run("transform", table / "m.eig", table / f"t.{ending}", "-o", table / "again.csv")
    np.testing.assert_allclose(pd.read_csv(table / "again.csv")["pca0"], parts["pca0"], atol=1e-8)


def test_labels_in_parts(table, little_memory):
    run("embed", table / "t.csv", "-m", "lda", "--label", "kind", "-d", 1, "-o", table / "parts.csv")
    found = pd.read_csv(table / "parts.csv")
    means = found.groupby("kind")["lda0"].mean()
    assert abs(means["high"] - means["low"]) > 1.5 * found["lda0"].std()


def test_what_needs_all_rows_is_refused_before_it_reads_them(table, little_memory):
    assert "Isomap needs all rows at once" in refused("embed", table / "t.csv", "-m", "isomap", code=3)
    assert "no medians" in refused("embed", table / "t.csv", "--missing", "median", code=2)
    assert "written in parts" in refused("embed", table / "t.csv", "-o", table / "x.parquet", code=2)


def test_gaps_in_parts(table, little_memory):
    frame = pd.read_csv(table / "t.csv")
    frame.loc[1500, "b"] = np.nan
    frame.to_csv(table / "g.csv", index=False)
    assert "from row 1501 on have missing values" in refused("embed", table / "g.csv", "-o", table / "o.csv", code=3)
    run("embed", table / "g.csv", "--missing", "drop-rows", "-o", table / "o.csv")
    assert len(pd.read_csv(table / "o.csv")) == 2999
