"""The commands inspect, dimension, compare, doctor, info and methods."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from cli_helpers import invoke, refused, run


def as_json(*arguments):
    result = invoke(*arguments, "--json", "-q")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.fixture
def roll(tmp_path):
    """Write a Swiss roll with a text column, a column of row numbers, a constant column and a missing value."""
    rng = np.random.default_rng(0)
    t = 3 * np.pi * (1 + 2 * rng.uniform(size=300)) / 2
    frame = pd.DataFrame({"x": t * np.cos(t), "y": 20 * rng.uniform(size=300), "z": t * np.sin(t)})
    frame.insert(0, "sample_id", np.arange(300))
    frame["unit"] = 1
    frame["side"] = np.where(t > 9, "outer", "inner")
    frame.loc[5, "y"] = np.nan
    frame.to_csv(tmp_path / "roll.csv", index=False)
    return tmp_path / "roll.csv"


def test_inspect_reports_columns_and_rows(roll):
    output = run("inspect", roll, "--label", "side", "--no-forecast")
    assert "300 rows, 6 columns" in output
    for word in ("identifier", "constant", "label", "numbers"):
        assert word in output
    assert "Intrinsic dimension about" in output
    facts = as_json("inspect", roll, "--label", "side", "--scale", "none")
    kinds = {column["name"]: column["kind"] for column in facts["columns"]}
    assert kinds["sample_id"].startswith("identifier")
    assert kinds["unit"] == "constant"
    assert facts["embedded_columns"] == ["x", "y", "z"]
    assert facts["dimension"]["dimension"] == pytest.approx(2, abs=0.5)
    assert facts["pieces"] == [300]
    forecast = {row["method"]: row for row in facts["methods"]}
    assert forecast["PCA"]["seconds"] > 0
    assert forecast["Isomap"]["bytes"] > 300**2 * 8


def test_inspect_reports_two_connected_components(tmp_path):
    X = np.vstack([np.random.default_rng(0).normal(size=(40, 2)) + shift for shift in (0, 50)])
    pd.DataFrame(X, columns=["a", "b"]).to_csv(tmp_path / "t.csv", index=False)
    assert "2 connected components (of 40, 40 points)" in run("inspect", tmp_path / "t.csv", "--no-forecast")


def test_dimension(roll, tmp_path):
    picture = tmp_path / "d.png"
    output = run("dimension", roll, "-m", "twonn,mle", "--missing", "median", "--scale", "none", "--plot", picture)
    assert "twonn" in output
    assert picture.read_bytes().startswith(b"\x89PNG")
    found = as_json("dimension", roll, "-m", "mle", "--missing", "drop-rows", "--scale", "none")
    assert found["estimates"][0]["dimension"] == pytest.approx(2, abs=0.4)
    assert "'guess'" in refused("dimension", roll, "-m", "guess", "--missing", "median", code=3)


def test_compare_writes_report_picture_and_table(roll, tmp_path):
    places = {name: tmp_path / name for name in ("r.html", "p.png", "m.csv")}
    arguments = ["compare", roll, "-m", "pca,isomap,lda", "--label", "side", "--missing", "median"]
    output = run(
        *arguments,
        "--report",
        places["r.html"],
        "--plot",
        places["p.png"],
        "-o",
        places["m.csv"],
        "--folder",
        tmp_path / "k",
    )
    assert "trust-" in output
    page = places["r.html"].read_text(encoding="utf-8")
    assert "roll.csv" in page
    assert "http-equiv" in page
    measures = pd.read_csv(places["m.csv"])
    assert set(measures["embedding"]) == {"PCA", "Isomap", "LDA"}
    assert sorted(path.name for path in (tmp_path / "k").iterdir()) == ["Isomap.npz", "LDA.npz", "PCA.npz"]
    assert [row["method"] for row in as_json(*arguments)["methods"]] == ["PCA", "Isomap", "LDA"]
    assert "must end in .html" in refused(*arguments, "--report", tmp_path / "r.pdf", code=2)


def test_report_of_many_columns_keeps_the_label(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 90))
    X[:, :70] = 0  # constant columns come first
    np.savez(tmp_path / "t.npz", X=X, kind=np.arange(60) % 3)
    output = run("compare", tmp_path / "t.npz", "-m", "pca", "--label", "kind", "--report", tmp_path / "r.html")
    assert "The report shows 60 of 92 columns" in output
    assert "kind" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_compare_reports_a_failed_method_with_the_results(roll):
    output = run("compare", roll, "-m", "pca,isomap", "--missing", "median", "-k", 140, "--set", "metric=nonsense")
    assert "Isomap could not be fitted" in output


def test_doctor():
    facts = as_json("doctor")
    assert facts["eigenspan"]
    assert facts["needed"]["numpy"] == np.__version__
    assert facts["threads"] >= 1


def test_info_has_no_markup():
    output = run("info", "lpp")
    assert "\\operatorname" not in output
    assert "``" not in output
    assert "Tr" in output
    assert json.loads(invoke("info", "lpp", "--json").stdout)["name"] == "LPP"


def test_list_of_methods_fits_the_terminal_width():
    result = invoke("methods")
    assert max(map(len, result.output.splitlines())) <= 80
    assert "cost" in result.output
    assert "There is no family 'laplacien'. Did you mean 'laplacian'?" in refused("methods", "--family", "laplacien")
    assert len(json.loads(invoke("methods", "--family", "sufficient", "--json").stdout)) >= 9
