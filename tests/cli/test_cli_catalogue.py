"""Command line messages for methods that are not plain reducers."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from sklearn.datasets import load_iris

from cli_helpers import refused, run


@pytest.fixture
def iris(tmp_path: Path) -> Path:
    path = tmp_path / "iris.csv"
    load_iris(as_frame=True).frame.rename(columns={"target": "species"}).to_csv(path, index=False)
    return path


def test_special_methods_are_listed_and_described() -> None:
    assert {row["name"] for row in json.loads(run("methods", "--family", "learning", "--json"))} == {
        "AffinityLearner",
        "KernelLearner",
    }
    listed = run("methods")
    assert all(name in listed for name in ("PDDP", "Anchored", "ContingencySDR", "EigenmapRegressor"))
    assert "coordinates" in run("info", "anchored")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("KernelLearner", "does not embed rows"),
        ("AffinityLearner", "does not embed rows"),
        ("Anchored", "needs the known coordinates of some rows"),
    ],
)
@pytest.mark.parametrize("command", ["embed", "compare"])
def test_methods_that_cannot_embed_a_table_are_refused(iris: Path, command: str, name: str, reason: str) -> None:
    said = " ".join(refused(command, iris, "--label", "species", "-m", name).split())
    assert f"{name} {reason}, which the command line does not support. Use it in Python" in said


def test_other_special_methods_embed_a_table(iris: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    run("embed", iris, "--label", "species", "-m", "pddp", "--set", "n_clusters=3", "-o", out)
    assert pd.read_csv(out)["cluster"].nunique() == 3
    run("embed", iris, "--label", "species", "-m", "eigenmap-classifier", "-d", 2, "-o", out)
    assert [name for name in pd.read_csv(out) if name.startswith("eigenmapclassifier")] == [
        "eigenmapclassifier0",
        "eigenmapclassifier1",
    ]
    run("embed", iris, "--label", "species", "-m", "contingencysdr", "--scale", "none", "-o", out)
    assert len(pd.read_csv(out)) == 150
