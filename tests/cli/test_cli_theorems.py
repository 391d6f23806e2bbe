"""``eigenspan theorems``: user tables, default tables, JSON output and exit code."""

import json

import pytest
from sklearn.datasets import load_iris

from cli_helpers import invoke, refused, run
from eigenspan.theory import theorem as table
from eigenspan.theory.theorem import Measured, Theorem


@pytest.fixture
def iris(tmp_path):
    path = tmp_path / "iris.csv"
    frame = load_iris(as_frame=True).frame
    frame["species"] = frame.pop("target").map({0: "setosa", 1: "versicolor", 2: "virginica"})
    frame.to_csv(path, index=False)
    return path


def test_theorems_on_a_labelled_table(iris):
    output = run(
        "theorems", iris, "--label", "species", "--only", "mds-pca", "--only", "lda-lpp-npp", "--seed", 3, "-k", 8
    )
    assert "iris.csv: 150 rows, 149 of them used" in output
    assert "classical MDS equals PCA" in output
    assert "Euclidean distances" in output
    assert "degrees" in output
    assert "3 classes" in output
    assert "2 of 2 statements whose condition holds are confirmed" in output


def test_default_tables():
    output = run("theorems", "--only", "components")
    assert "iris: 150 rows" in output
    assert "Swiss roll: 1000 rows" in output


def test_json_output_is_valid(iris):
    result = invoke("theorems", iris, "--only", "mds-pca", "--only", "sir-lda", "--json")
    assert result.exit_code == 0
    (found,) = json.loads(result.stdout).values()
    first, second = found["theorems"]
    assert (first["name"], first["holds"], first["confirmed"]) == ("mds-pca", True, True)
    assert first["degrees"] < 1e-4
    assert (second["holds"], second["degrees"], second["confirmed"]) == (False, None, None)
    assert second["found"] == "y has no classes"


def test_failed_theorem_sets_the_exit_code(monkeypatch):
    false = Theorem("false", "one is two", "always", "nobody", "Graphs", lambda data: Measured("1 and 2", relative=0.5))
    monkeypatch.setattr("eigenspan.theory.check.all_theorems", lambda: table.all_theorems() | {"false": false})
    output = run("theorems", "--only", "false", "--only", "trace", code=1)
    assert "one is two" in output
    assert "FAILS" in output
    assert "1 of 2 statements" in output


def test_invalid_options_are_refused(iris):
    assert "Did you mean 'mds-pca'?" in refused("theorems", iris, "--only", "mds-pac")
    assert "no column 'kind'" in refused("theorems", iris, "--label", "kind")
    assert "There is no file" in refused("theorems", "nowhere.csv")
