"""Tables larger than memory, read in chunks."""

from __future__ import annotations

import json
from io import StringIO

import numpy as np
import pandas as pd
import pytest

from cli_helpers import invoke, refused, run


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
@pytest.mark.every(2)
def test_chunked_embedding_equals_the_in_memory_one(table, little_memory, ending, scale, monkeypatch):
    arguments = ["embed", table / f"t.{ending}", "--scale", scale, *([] if ending == "npy" else ["--label", "kind"])]
    output = run(*arguments, "-o", table / "parts.csv", "--model", table / "m.eig")
    assert "reading it in chunks" in output
    monkeypatch.undo()
    assert "reading it in chunks" not in run(*arguments, "-o", table / "whole.csv")
    parts, whole = (pd.read_csv(table / name) for name in ("parts.csv", "whole.csv"))
    assert list(parts) == list(whole)
    np.testing.assert_allclose(parts[["pca0", "pca1"]].abs(), whole[["pca0", "pca1"]].abs(), atol=1e-8)
    assert parts.iloc[:, 0].equals(whole.iloc[:, 0])
    run("transform", table / "m.eig", table / f"t.{ending}", "-o", table / "again.csv")
    np.testing.assert_allclose(pd.read_csv(table / "again.csv")["pca0"], parts["pca0"], atol=1e-8)


def test_labels_of_chunked_tables(table, little_memory):
    run("embed", table / "t.csv", "-m", "lda", "--label", "kind", "-d", 1, "-o", table / "parts.csv")
    found = pd.read_csv(table / "parts.csv")
    means = found.groupby("kind")["lda0"].mean()
    assert abs(means["high"] - means["low"]) > 1.5 * found["lda0"].std()


def test_methods_that_need_all_rows_are_refused_before_reading(table, little_memory):
    assert "Isomap needs all rows at once" in refused("embed", table / "t.csv", "-m", "isomap", code=3)
    assert "--missing median cannot be used" in refused("embed", table / "t.csv", "--missing", "median", code=2)
    assert "written in chunks" in refused("embed", table / "t.csv", "-o", table / "x.parquet", code=2)


def test_missing_values_in_chunked_tables(table, little_memory):
    frame = pd.read_csv(table / "t.csv")
    frame.loc[1500, "b"] = np.nan
    frame.to_csv(table / "g.csv", index=False)
    assert "with missing values, the first in row 1501" in refused(
        "embed", table / "g.csv", "-o", table / "o.csv", code=3
    )
    run("embed", table / "g.csv", "--missing", "drop-rows", "-o", table / "o.csv")
    assert len(pd.read_csv(table / "o.csv")) == 2999


def json_of(*arguments):
    result = invoke(*arguments)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_json_output_is_equal_for_chunked_and_in_memory_tables(table, little_memory, monkeypatch):
    arguments = ["embed", table / "t.csv", "--label", "kind", "-d", "2", "--json", "-q", "--seed", "3"]
    chunks = json_of(*arguments, "-o", table / "c.csv", "--model", table / "c.eig", "--plot", table / "c.png")
    monkeypatch.undo()
    whole = json_of(*arguments, "-o", table / "w.csv", "--model", table / "w.eig", "--plot", table / "w.png")
    assert set(chunks) == set(whole)
    assert set(chunks["files"]) == set(whole["files"]) == {"embedding", "picture", "model"}
    for fact in ("rows", "columns", "scale", "seed"):
        assert chunks[fact] == whole[fact]
    (one,), (other,) = chunks["methods"], whole["methods"]
    assert set(one) == set(other)
    assert one["axes"] == other["axes"]
    np.testing.assert_allclose(one["explained_variance"], other["explained_variance"], atol=1e-6)
    for axis, columns in other["correlations"].items():
        assert list(one["correlations"][axis]) == list(columns)
        np.testing.assert_allclose(
            np.abs(list(one["correlations"][axis].values())), np.abs(list(columns.values())), atol=2e-4
        )


@pytest.mark.parametrize("chunks", [True, False])
def test_every_output_option_works_for_chunked_tables(table, chunks, monkeypatch):
    if chunks:
        monkeypatch.setattr("eigenspan.cli.files.parts._ROWS", 700)
        monkeypatch.setattr("eigenspan.cli.files.parts.available_memory", lambda: 10_000)
    files = {"-o": table / "o.tsv", "--plot": table / "p.svg", "--model": table / "m.eig"}
    said = run("embed", table / "t.csv", "--label", "kind", *(part for pair in files.items() for part in pair), "-v")
    assert all(path.stat().st_size > 0 and str(path) in said for path in files.values())
    assert "explained variance" in said
    assert "correlates with" in said
    assert len(pd.read_csv(files["-o"], sep="\t")) == 3000
    assert "high" in files["--plot"].read_text(encoding="utf-8")  # label in the legend
    piped = invoke("embed", table / "t.csv", "--label", "kind", "-o", "-", "-q")
    pd.testing.assert_frame_equal(pd.read_csv(StringIO(piped.stdout)), pd.read_csv(files["-o"], sep="\t"))
    for refusal, options in {
        "--json and --output -": ["-o", "-", "--json"],
        "--plot": ["--plot", table / "p.doc", "-o", table / "x.csv"],
        "--model cannot write to standard output": ["--model", "-", "-o", table / "x.csv"],
    }.items():
        if refusal != "--plot":
            assert refusal in refused("embed", table / "t.csv", *options, code=2)
        else:
            assert "p.doc" in refused("embed", table / "t.csv", *options, code=2)
        assert not (table / "x.csv").exists()


def test_picture_of_many_rows_shows_a_seeded_sample(table, little_memory, monkeypatch):
    drawn = []
    monkeypatch.setattr("eigenspan.cli.streamed._SHOWN", 100)
    monkeypatch.setattr("eigenspan.cli.delivery.draw", lambda *given: drawn.append(given))
    for seed in (0, 0, 1):
        arguments = ["embed", table / "t.csv", "--label", "kind", "-o", table / "o.csv", "--plot", table / "p.png"]
        said = run(*arguments, "--seed", seed)
        assert f"shows 100 of 3000 rows, drawn at random (--seed {seed})" in said
    written = pd.read_csv(table / "o.csv").set_index("pca0")
    points = [given[1]["PCA"] for given in drawn]
    labels = [given[3] for given in drawn]
    assert np.array_equal(points[0], points[1])
    assert not np.array_equal(points[0], points[2])
    for Y, kinds in zip(points, labels, strict=True):
        assert Y.shape == (100, 2)
        rows = [np.abs(written.index.to_numpy() - x).argmin() for x in Y[:, 0]]
        np.testing.assert_allclose(written["pca1"].to_numpy()[rows], Y[:, 1], atol=1e-12)
        assert list(written["kind"].to_numpy()[rows]) == list(kinds)


def test_model_of_a_chunked_table_has_no_medians(table, little_memory):
    run("embed", table / "t.csv", "-o", table / "o.csv", "--model", table / "m.eig")
    frame = pd.read_csv(table / "t.csv")
    frame.loc[5, "b"] = np.nan
    frame.to_csv(table / "g.csv", index=False)
    said = refused("transform", table / "m.eig", table / "g.csv", "--missing", "median", "-o", table / "n.csv", code=3)
    assert "no medians of 'b'" in said


def test_text_in_a_later_chunk_is_refused(table, little_memory):
    frame = pd.read_csv(table / "t.csv").astype({"c": object})
    frame.loc[2000, "c"] = "broken"
    frame.to_csv(table / "g.csv", index=False)
    said = refused("embed", table / "g.csv", "-o", table / "o.csv", code=3)
    assert "A cell in rows 1401 to 2100 is not a number" in said
    assert "broken" in said
