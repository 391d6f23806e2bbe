"""Command line messages for methods that are not plain reducers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from cli_helpers import invoke, refused, run
from eigenspan import TraceReducer


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


def test_info_describes_a_method_by_its_title() -> None:
    said = run("info", "locally linear embedding")
    assert said.startswith("LLE Locally linear embedding family reconstruction form min (I−W)ᵀ(I−W)")
    assert "n_neighbors : int" in said
    assert json.loads(run("info", "Locally Linear Embeddings", "--json"))["name"] == "LLE"


def test_info_lists_the_hits_of_a_search() -> None:
    said = run("info", "kernel ONPP")
    assert said.startswith("call title found as ONPP(kernel='rbf') Orthogonal neighbourhood known as \"kernel ONPP\"")
    assert invoke("info", "isomp").stdout.count("Isomap") > 4
    hits = json.loads(run("info", "Fiedler vectors", "--json"))
    assert hits[0] == {
        "name": "LaplacianEigenmaps",
        "title": "Laplacian eigenmaps",
        "call": "LaplacianEigenmaps(n_components=1)",
        "why": 'known as "Fiedler vector"',
    }


def test_list_of_methods_has_titles() -> None:
    lines = [line.split("  ")[0] for line in invoke("methods", "--family", "reconstruction").stdout.splitlines()]
    assert lines[lines.index("LLE") + 1] == "Locally linear embedding"
    assert json.loads(run("methods", "--json"))[0]["title"] == "Oriented principal component analysis"


@pytest.mark.parametrize("name", ["opca", "dda"])
def test_info_says_what_y_is(name: str) -> None:
    assert "distorted versions of X, row by row: one table of its shape" in run("info", name)


def test_forms_of_a_trace_problem_are_named_by_options(iris: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    chosen = ("--set", "maximise=between", "--set", "over=within", "--set", "unit=projection")
    run("embed", iris, "--label", "species", "-m", "tracereducer", *chosen, "--scale", "none", "-o", out)
    frame = pd.read_csv(iris)
    model = TraceReducer(2, maximise="between", over="within", unit="projection")
    expected = model.fit_transform(frame.drop(columns="species"), frame["species"])
    found = pd.read_csv(out)[["tracereducer0", "tracereducer1"]].to_numpy()
    np.testing.assert_allclose(found, expected, atol=1e-8)
    said = refused("embed", iris, "-m", "tracereducer", "--set", "minimise=laplace", code=2)
    assert "'laplacian'" in said
    assert "an instance of 'eigenspan.problem.form.Form' (in Python only)" in said


def test_external_is_refused_with_the_methods_that_wrap_one() -> None:
    said = refused("embed", "any.csv", "-m", "external", code=2)
    assert "Use FactorAnalysis, FastICA, NCA, TSNE or NonmetricMDS" in said
