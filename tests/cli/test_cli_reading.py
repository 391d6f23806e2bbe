"""Reading of user tables: pipes, formats, number notation, identifier columns."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from cli_helpers import invoke, refused, run
from eigenspan.cli.files.number_cells import numbers_in
from eigenspan.cli.roles import identifiers, words_in
from eigenspan.cli.words import for_command_line


@pytest.fixture(scope="module")
def survey():
    rng = np.random.default_rng(0)
    n = 60
    income = rng.lognormal(9, 1, n)
    return pd.DataFrame(
        {
            "PassengerId": np.arange(1, n + 1),
            "zip": rng.integers(10_000, 99_999, n),
            "age": rng.integers(18, 80, n),
            "income": [f"${value:,.2f}" for value in income],
            "rate": [f"{value:.1f}%" for value in rng.uniform(0, 9, n)],
            "debt": [f"{v:,.2f}".translate(str.maketrans(",.", ".,")) for v in rng.lognormal(8, 1, n)],
            "city": rng.choice(["Bern", "Köln", "Graz"], n),
        }
    )


@pytest.fixture
def file(survey, tmp_path):
    survey.to_csv(tmp_path / "survey.csv", index=False)
    return tmp_path / "survey.csv"


# --------------------------------------------------------------------------------------- number notation
@pytest.mark.parametrize(
    "cells, numbers",
    [
        (["1.728,30", "12,5", "3"], [1728.3, 12.5, 3]),
        (["9,189", "1,200", "77"], [9189, 1200, 77]),
        (["3.8%", "4%"], [3.8, 4]),
        (["$1,343.80", "$2"], [1343.8, 2]),
        (["EUR 12", "13 EUR", "14"], [12, 13, 14]),
        (["(120)", "13"], [-120, 13]),
        (["1 234,5", "2 000,1"], [1234.5, 2000.1]),
        (["1'234", "5"], [1234, 5]),
        (["−3", "4"], [-3, 4]),
        (["1,234,567", "5"], [1234567, 5]),
        (["1.234.567", "5"], [1234567, 5]),
        (["1e5", "2E-3"], [1e5, 2e-3]),
        (["0,123", "0,456"], [0.123, 0.456]),
        (["10,20", None, "1,234"], [10.2, np.nan, 1.234]),
    ],
)
def test_human_number_notation_is_parsed(cells, numbers):
    found = numbers_in(pd.Series(cells, dtype=object))
    assert found is not None
    np.testing.assert_array_equal(found[0], numbers)


@pytest.mark.parametrize(
    "cells",
    [
        *(["12.03.2020", "1.2.2021"], ["a", "1"], ["$1", "€2"], ["3%", "4"], ["2020-01-02"], ["1.5", "1,5"]),
        *(["192.168.0.1"], ["1,23,456"], ["12:30"], ["1-2"], [None], [""], ["1.234,5", "1,234.5"]),
    ],
)
def test_other_columns_stay_text(cells):
    assert numbers_in(pd.Series(cells, dtype=object)) is None


def test_user_options_override_detected_marks():
    column = pd.Series(["9,189", "1,200"], dtype=object)
    np.testing.assert_array_equal(numbers_in(column, decimal=",")[0], [9.189, 1.2])
    np.testing.assert_array_equal(numbers_in(column, thousands=",")[0], [9189, 1200])
    assert numbers_in(pd.Series(["1,5"], dtype=object), thousands=",") is None


def test_detected_notation_is_reported(file, tmp_path):
    output = run("embed", file, "-o", tmp_path / "out.csv")
    assert "without '$': 'income'" in output
    assert "'.' as thousands separator, ',' as decimal mark: 'debt'" in output
    assert "Embedding 60 rows and 4 columns" in output


# --------------------------------------------------------------------------------------- identifiers
@pytest.mark.parametrize(
    "name, values, is_one",
    [
        ("PassengerId", np.random.default_rng(0).permutation(30), True),
        ("respondent_id", [f"r{i}" for i in range(30)], True),
        ("zip", [8000, 8001, 8000] * 10, True),
        ("counter", np.arange(100, 130), True),
        ("shuffled", np.random.default_rng(1).permutation(30) + 1000, True),
        ("steps", 5 * np.arange(30), True),
        ("id", [1.5, 2.5] * 15, False),
        ("population", np.random.default_rng(2).choice(10**6, 30, replace=False), False),
        ("age", [30, 31, 30] * 10, False),
        ("width", np.linspace(0, 1, 30), False),
        ("paid", [True, False] * 15, False),
        ("humid", [60, 70, 80] * 10, False),
    ],
)
def test_identifier_columns_are_detected(name, values, is_one):
    assert bool(identifiers(pd.DataFrame({name: values}))) == is_one


def test_identifiers_are_left_out_unless_kept(file, tmp_path):
    out = tmp_path / "out.csv"
    output = run("embed", file, "-o", out)
    assert "Used as row identifier, not embedded: 'PassengerId'" in output
    assert "'zip' (a code, by its name)" in output
    assert list(pd.read_csv(out)) == ["PassengerId", "pca0", "pca1"]
    assert "and 5 columns of numbers" in run("embed", file, "--keep", "zip", "-o", out)
    assert "and 2 columns of numbers" in run("embed", file, "--columns", "zip,age", "-o", out)


def test_categories_are_one_hot_encoded_on_request(file, tmp_path):
    output = run("embed", file, "--categorical", "onehot", "-o", tmp_path / "out.csv")
    assert "per category): 'city'" in output
    assert "and 7 columns of numbers" in output
    assert not words_in(pd.Series([f"name {i}" for i in range(30)]))


def test_axis_that_shows_one_column_is_reported(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(80, 4)) * [1, 1, 1, 100], columns=list("abcd"))
    frame.to_csv(tmp_path / "t.csv", index=False)
    output = run("embed", tmp_path / "t.csv", "--scale", "none", "-o", tmp_path / "out.csv")
    assert "The axis pca0 shows almost only the column 'd'" in output
    assert "pca0 correlates with: d" in output


# --------------------------------------------------------------------------------------- formats and targets
@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl", ".json", ".parquet", ".feather", ".npz"])
def test_every_output_format_can_be_read_back(ending, file, tmp_path):
    first, second = tmp_path / f"a{ending}", tmp_path / f"b{ending}"
    run("embed", file, "--label", "city", "-o", first)
    run("embed", first, "--scale", "none", "-o", second, *([] if ending == ".npz" else ["--columns", "pca*"]))
    assert second.stat().st_size


def test_npy_output_has_only_the_embedding(file, tmp_path):
    run("embed", file, "-d", 3, "-o", tmp_path / "a.npy")
    assert np.load(tmp_path / "a.npy").shape == (60, 3)


def test_workbooks(survey, tmp_path):
    pytest.importorskip("openpyxl", reason="workbooks need openpyxl")
    with pd.ExcelWriter(tmp_path / "book.xlsx") as book:
        pd.DataFrame({"a": [1, 2]}).to_excel(book, sheet_name="first", index=False)
        survey.to_excel(book, sheet_name="second", index=False)
    output = run("embed", tmp_path / "book.xlsx", "--sheet", "second", "-o", tmp_path / "out.xlsx")
    assert "60 rows" in output
    assert len(pd.read_excel(tmp_path / "out.xlsx")) == 60
    assert "There is no sheet 'third'" in refused("embed", tmp_path / "book.xlsx", "--sheet", "third", code=2)


def test_sparse_matrices_of_scipy(tmp_path):
    X = sp.random(50, 8, density=0.5, random_state=0, format="csr")
    sp.save_npz(tmp_path / "x.npz", X)
    run("embed", tmp_path / "x.npz", "--scale", "none", "-o", tmp_path / "out.npy")
    centred = X.toarray() - X.toarray().mean(axis=0)
    np.testing.assert_allclose(
        np.linalg.norm(np.load(tmp_path / "out.npy"), axis=0), np.linalg.svd(centred)[1][:2], rtol=1e-9
    )


def test_whitespace_separates_columns(tmp_path):
    np.savetxt(tmp_path / "x.dat", np.random.default_rng(0).normal(size=(20, 3)))
    assert "20 rows, 3 columns" in run("embed", tmp_path / "x.dat", "-o", tmp_path / "o.csv")


def test_pipes(file, tmp_path):
    result = invoke("embed", "-", "-o", "-", "-m", "pca,lle", input=file.read_bytes())
    assert result.exit_code == 0
    assert result.stdout.splitlines()[0] == "PassengerId,pca0,pca1,lle0,lle1"
    assert len(result.stdout.splitlines()) == 61
    assert "row identifier" in result.stderr
    empty = invoke("embed", "-", input=b"")
    assert empty.exit_code == 3
    assert "Standard input is empty" in empty.stderr


@pytest.mark.parametrize(
    "options, message, code",
    [
        (["-o", "out.xyz"], "does not end like a supported table", 2),
        (["-o", "a.csv", "--plot", "a.csv"], "is not a picture format", 2),
        (["-o", "x/../a.csv", "--model", "a.csv"], "There is no directory", 2),
        (["-o", "./a.csv", "--model", "a.csv"], "both name", 2),
        (["-o", "."], "is a directory", 2),
        (["-m", "pca,lle", "--model", "m.eig"], "--model saves one method", 2),
        (["--metric", "cosine"], "PCA has no metric parameter", 2),
        (["-d", "2.5"], "Got 2.5 instead", 2),
        (["-d", "many"], "Got 'many' instead", 2),
    ],
)
def test_impossible_outputs_and_options_are_refused(options, message, code, file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert message in refused("embed", file, *options, code=code)


def test_label_with_the_name_of_an_axis(survey, tmp_path):
    survey.rename(columns={"city": "pca1"}).to_csv(tmp_path / "s.csv", index=False)
    run("embed", tmp_path / "s.csv", "--label", "pca1", "-o", tmp_path / "out.csv")
    result = pd.read_csv(tmp_path / "out.csv")
    assert list(result) == ["PassengerId", "pca0", "pca1", "pca1 (label)"]
    assert result["pca1"].dtype.kind == "f"


# --------------------------------------------------------------------------------------- output and messages
def test_json_output_of_embed(file, tmp_path):
    result = invoke("embed", file, "-m", "pca,lpp", "-o", tmp_path / "o.csv", "--json", "-q")
    facts = json.loads(result.stdout)
    assert facts["rows"] == 60
    assert [m["method"] for m in facts["methods"]] == ["PCA", "LPP"]
    assert 0.4 < sum(facts["methods"][0]["explained_variance"]) < 1
    assert result.stderr == ""


def test_methods_and_parameters(file, tmp_path):
    out = tmp_path / "o.csv"
    assert "-d 2 or less" not in run("embed", file, "-m", "isomap", "--metric", "cityblock", "-k", 20, "-o", out)
    run("embed", file, "-m", "lle", "--metric", "cosine", "-o", out)
    run("embed", file, "--scale", "robust", "-o", out)


def test_clusters_are_written_and_predicted(file, tmp_path):
    places = {name: tmp_path / name for name in ("a.csv", "b.csv", "m.eig", "p.png")}
    settings = [
        "-m",
        "SpectralClustering",
        "--set",
        "n_clusters=3",
        "--model",
        places["m.eig"],
        "--plot",
        places["p.png"],
    ]
    run("embed", file, *settings, "-o", places["a.csv"])
    run("transform", places["m.eig"], file, "-o", places["b.csv"])
    first, second = (pd.read_csv(places[name]) for name in ("a.csv", "b.csv"))
    assert (first["cluster"] == second["cluster"]).all()


def test_messages_name_options_instead_of_parameters():
    assert for_command_line("eigenspan.methods() lists all.") == "eigenspan methods lists all."
    assert for_command_line("pass unlabeled=None") == "use --set unlabeled=None"
    assert for_command_line("n_components=5 exceeds 3: use n_components <= 3.") == "-d 5 exceeds 3: use -d 3 or less."
    assert for_command_line('or disconnected="connect" for') == "or --set disconnected=connect for"
    assert for_command_line("Use a larger reduce=.") == "Use a larger --set reduce=."
    assert for_command_line("n_neighbors=200 must lie between") == "-k 200 must lie between"


def test_interrupt_exits_with_130(file, tmp_path, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("eigenspan.cli.fitting.fit", interrupt)
    result = invoke("embed", file, "-o", tmp_path / "o.csv")
    assert result.exit_code == 130


def test_results_finished_before_an_interrupt_are_written(file, tmp_path, monkeypatch):
    from eigenspan.cli import fitting

    plain = fitting.fit

    def fit(row, estimator, X, label):
        if row.name == "LLE":
            raise KeyboardInterrupt
        plain(row, estimator, X, label)

    monkeypatch.setattr(fitting, "fit", fit)
    result = invoke("embed", file, "-m", "pca,lle", "-o", tmp_path / "o.csv")
    assert result.exit_code == 130
    assert list(pd.read_csv(tmp_path / "o.csv")) == ["PassengerId", "pca0", "pca1"]


def test_lists_in_cells_are_read_as_text(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(30, 3)), columns=list("abc")).assign(nested=[[1, 2]] * 30)
    frame["kind"] = pd.Categorical(["x", "y", "z"] * 10)
    frame["whole"] = pd.array([None, *[1] * 29], dtype="Int64")
    frame.to_parquet(tmp_path / "t.parquet")
    output = run("embed", tmp_path / "t.parquet", "--label", "kind", "-o", tmp_path / "o.csv", "--columns", "a,b,c")
    assert "30 rows and 3 columns" in output
    assert "'nested'" in run("embed", tmp_path / "t.parquet", "--missing", "median", "-o", tmp_path / "o.csv")


def test_unknown_method_is_a_usage_error():
    assert "There is no method 'zzzz'" in refused("info", "zzzz", code=2)


def test_anndata(file, tmp_path):
    anndata = pytest.importorskip("anndata", reason="anndata is not installed")
    run("embed", file, "-m", "pca,lle", "--label", "city", "-o", tmp_path / "a.h5ad")
    held = anndata.read_h5ad(tmp_path / "a.h5ad")
    assert set(held.obsm) == {"X_pca", "X_lle"}
    assert list(held.var_names) == ["age", "income", "rate", "debt"]
    run("embed", tmp_path / "a.h5ad", "--label", "city", "-m", "lpp", "-o", tmp_path / "b.h5ad")
    again = anndata.read_h5ad(tmp_path / "b.h5ad")
    assert set(again.obsm) == {"X_pca", "X_lle", "X_lpp"}
    assert list(again.obs["city"]) == list(held.obs["city"])
