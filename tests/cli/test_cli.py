"""The command line on messy tables."""

import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.datasets import load_digits, load_iris

from cli_helpers import refused, run
from eigenspan import LPP
from eigenspan.cli import main
from eigenspan.cli.bundle import load
from eigenspan.methods.registry import TABLE, row_of


@pytest.fixture
def iris():
    data = load_iris(as_frame=True)
    frame = data.frame.rename(columns=lambda name: name.removesuffix(" (cm)").replace(" ", "_"))
    frame["target"] = np.array(data.target_names)[frame["target"]]
    return frame.rename(columns={"target": "species"})


@pytest.fixture
def messy(iris, tmp_path):
    """Return a table with identifiers, text, dates, a constant, an empty column, missing values and an infinity."""
    frame = iris.copy()
    frame.insert(0, "id", [f"plant {i}" for i in range(150)])
    frame["city"] = ["Ulm", "Köln", "Bonn"] * 50
    frame["when"] = pd.date_range("2024-01-01", periods=150).strftime("%Y-%m-%d")
    frame["unit"] = 7
    frame["comment"] = np.nan
    frame.loc[3, "petal_width"] = np.nan
    frame.loc[[7, 9], "sepal_length"] = np.nan
    frame.loc[11, "sepal_width"] = np.inf
    path = tmp_path / "messy.csv"
    frame.to_csv(path, index=False)
    return path


# ------------------------------------------------------------------ catalogue
def test_help_and_methods_and_info():
    assert "embed" in run("--help")
    table = run("methods")
    assert all(row.name in table for row in TABLE)
    text = run("info", "lpp")
    assert "n_neighbors : int or None" in text
    assert " ".join(row_of("lpp").source.split()) in text
    assert "$" not in text
    assert "scikit-learn" in run("info", "t-sne").replace("sklearn", "scikit-learn")
    assert "There is no method 'zzzz'. eigenspan methods lists all" in refused("info", "zzzz")


def test_runs_as_a_module():
    done = subprocess.run([sys.executable, "-m", "eigenspan", "--version"], capture_output=True, text=True, check=True)
    assert "eigenspan, version" in done.stdout


# ----------------------------------------------------------------------- demo
@pytest.mark.parametrize("images", [500, pytest.param(1797, marks=pytest.mark.long)])
def test_demo(tmp_path, monkeypatch, images):
    X, y = load_digits(return_X_y=True)
    monkeypatch.setattr("sklearn.datasets.load_digits", lambda return_X_y: (X[:images], y[:images]))
    picture = tmp_path / "new" / "demo.png"
    output = run("demo", "--output", picture)
    for name in ("PCA", "LPP", "LLE", "LaplacianEigenmaps", "Isomap", "LDA"):
        assert re.search(rf"\b{name} \d+\.\d\d \w+ 0\.\d{{3}} \d+\.\d%", output), name
    assert f"{7 * images // 10} to fit, {images - 7 * images // 10} held out" in output
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "demo.png" in output


# ---------------------------------------------------------------------- embed
def test_embed_gives_the_same_result_as_python(iris, tmp_path):
    table, out = tmp_path / "iris.csv", tmp_path / "out.csv"
    iris.iloc[:, :4] += 0.01 * np.random.default_rng(0).normal(size=(150, 4))  # avoid ties among neighbours
    iris.to_csv(table, index=False)
    run("embed", table, "-m", "lpp", "--label", "species", "-k", 12, "-d", 3, "-o", out)
    result = pd.read_csv(out)
    assert list(result) == ["row", "lpp0", "lpp1", "lpp2", "species"]
    assert list(result["row"]) == list(range(1, 151))
    X = iris.drop(columns="species").to_numpy()
    expected = LPP(3, n_neighbors=12).fit_transform((X - X.mean(0)) / X.std(0))
    np.testing.assert_allclose(result[["lpp0", "lpp1", "lpp2"]], expected, atol=1e-9)


def test_missing_values_are_refused_with_numbers(messy, tmp_path):
    output = refused("embed", messy, "--label", "species", "-o", tmp_path / "out.csv")
    assert "4 values missing, in 3 of 4 columns" in output
    assert "4 of 150 rows" in output
    assert "drop-rows (keeps 146 rows)" in output
    assert not (tmp_path / "out.csv").exists()


def test_columns_left_out_are_listed(messy, tmp_path):
    out = tmp_path / "out.csv"
    output = run("embed", messy, "--label", "species", "--missing", "drop-rows", "-o", out)
    for remark in (
        "150 rows, 10 columns",
        "Used as row identifier, not embedded: 'id'",
        "(text): 'city'",
        "(dates): 'when'",
        "(empty): 'comment'",
        "(constant): 'unit'",
        "1 infinite value in 'sepal_width'",
        "Dropped 4 rows with missing values (rows 4, 8, 10, 12): 146 rows remain",
        "146 rows and 4 columns",
    ):
        assert remark in output
    result = pd.read_csv(out)
    assert list(result) == ["id", "pca0", "pca1", "species"]
    assert "plant 3" not in set(result["id"])
    assert len(result) == 146


def test_median_and_dropped_columns(messy, tmp_path):
    out = tmp_path / "out.tsv"
    output = run("embed", messy, "--label", "species", "--missing", "median", "-m", "lda", "-o", out)
    assert "Filled 4 missing values" in output
    assert list(pd.read_csv(out, sep="\t")) == ["id", "lda0", "lda1", "species"]
    output = run("embed", messy, "--missing", "drop-columns", "-m", "pca", "-d", 1, "-o", out)
    assert "Dropped 3 columns with missing values: 'sepal_length', 'sepal_width', 'petal_width'" in output


def test_columns_plot_and_settings(messy, tmp_path):
    out, picture = tmp_path / "out.parquet", tmp_path / "picture.png"
    options = ["--columns", "petal*,sepal_width", "--missing", "median", "--set", "reg=1e-2", "--set", "n_jobs=none"]
    output = run("embed", messy, "--label", "species", "-m", "lle", *options, "-o", out, "--plot", picture)
    assert "150 rows and 3 columns" in output
    assert len(pd.read_parquet(out)) == 150
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_picture_of_many_axes_shows_pairs_and_reports_hidden_axes(tmp_path, monkeypatch):
    from matplotlib.figure import Figure

    drawn = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *_, **__: drawn.append(figure))
    table, places = tmp_path / "table.csv", ["-o", tmp_path / "out.csv", "--plot", tmp_path / "picture.png"]
    pd.DataFrame(np.random.default_rng(0).normal(size=(40, 16))).add_prefix("c").to_csv(table, index=False)
    assert "The picture shows" not in run("embed", table, "-m", "pca", "-d", 5, *places)
    assert "first 12 axes of 'PCA'" in run("embed", table, "-m", "pca", "-d", 13, *places)
    assert "first 6 axes of 'PCA', 'NPP'" in run("embed", table, "-m", "pca,npp", "-d", 7, *places)
    assert [len(figure.axes) for figure in drawn] == [3, 6, 6]


def test_reads_semicolons_decimal_commas_and_latin_1(iris, tmp_path):
    table, out = tmp_path / "german.csv", tmp_path / "out.csv"
    iris["Größe"] = iris["petal_width"] * 1.5
    iris["Datum"] = "01.02.2024"
    iris.to_csv(table, index=False, sep=";", decimal=",", encoding="latin-1")
    output = run("embed", table, "--label", "species", "-o", out, "-m", "pca")
    assert "Latin-1" in output
    assert "150 rows and 5 columns" in output


def test_custom_missing_value_markers(iris, tmp_path):
    table, out = tmp_path / "marks.csv", tmp_path / "out.csv"
    frame = iris.astype({"petal_width": object})
    frame.loc[5, "petal_width"] = "?"
    frame.to_csv(table, index=False)
    assert "text among numbers, such as '?'" in run("embed", table, "-m", "pca", "-o", out)
    output = run("embed", table, "-m", "pca", "-o", out, "--na", "?", "--missing", "drop-rows")
    assert "149 rows and 4 columns" in output


def test_library_warnings_are_one_line_each(tmp_path):
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(30, 3)), rng.normal(size=(30, 3)) + 1000])
    np.save(tmp_path / "two.npy", X)
    result = CliRunner().invoke(main, ["embed", str(tmp_path / "two.npy"), "-m", "le", "-o", str(tmp_path / "out.csv")])
    lines = [line for line in result.output.splitlines() if line.startswith("Warning: ")]
    assert len(lines) == 1
    assert "2 components (of 30, 30 points)" in lines[0]
    assert result.exit_code == 0


def test_unlabelled_rows_are_recognised(iris, tmp_path):
    table, out = tmp_path / "part.csv", tmp_path / "out.csv"
    iris.loc[::3, "species"] = None
    iris.to_csv(table, index=False)
    run("embed", table, "-m", "lda", "--label", "species", "-o", out, "--plot", tmp_path / "part.png")
    assert pd.read_csv(out)["species"].isna().sum() == 50


@pytest.mark.parametrize(
    "mark, options, told",
    [
        (None, [], "3 classes; 100 of 150 rows had a label."),
        ("-1", ["--set", "unlabeled=-1"], "3 classes; 100 of 150 rows had a label."),
        ("?", ["--set", "unlabeled=?"], "3 classes; 100 of 150 rows had a label."),
        ("-1", [], "4 classes; 150 of 150 rows had a label."),
        ("?", [], "4 classes; 150 of 150 rows had a label."),
    ],
)
def test_number_of_labelled_rows_is_reported(iris, tmp_path, mark, options, told):
    table = tmp_path / "part.csv"
    iris.loc[::3, "species"] = mark
    iris.to_csv(table, index=False)
    arguments = ("embed", table, "--label", "species", "-o", tmp_path / "out.csv")
    assert told in run(*arguments, "-m", "lda", *options)
    assert "had a label" not in run(*arguments, "-m", "pca")  # PCA uses no labels
    assert "had a label" not in run(*arguments, "-m", "lpp")


def test_number_of_rows_with_a_numeric_response_is_reported(iris, tmp_path):
    table = tmp_path / "part.csv"
    iris["code"] = pd.factorize(iris["species"])[0] - (np.arange(150) % 3 == 0) * 9
    iris["code"] = iris["code"].clip(lower=-1)
    iris.loc[1, "code"] = None
    iris.to_csv(table, index=False)
    arguments = (
        "embed",
        table,
        "--label",
        "code",
        "--columns",
        "sepal_length,petal_width,petal_length",
        "-o",
        tmp_path / "out.csv",
    )
    assert "3 classes; 99 of 150 rows had a label." in run(*arguments, "-m", "sda")
    numbers = run(*arguments, "-m", "spca", "--set", "labels=linear", "-d", "1")
    assert "149 of 150 rows had a label." in numbers
    assert "classes" not in numbers


# ------------------------------------------------------------------- refusals
@pytest.mark.parametrize(
    "options, message",
    [
        (["-m", "lppp"], "There is no method 'lppp'. Did you mean 'LPP'? eigenspan info 'lppp' shows"),
        (["--label", "specis"], "no column 'specis'. Did you mean 'species'?"),
        (["--columns", "petal_widht"], "Did you mean 'petal_width'?"),
        (["--columns", "city"], "'city' holds text"),
        (["-m", "lda"], "LDA needs labels"),
        (["-m", "pca", "-k", "3"], "PCA has no neighbour graph"),
        (["--set", "reguläre=1"], "PCA has no parameter"),
        (["--set", "reg"], "takes NAME=VALUE"),
        (["--set", "solver=magic"], "'solver' parameter of PCA"),
        (["-m", "lle", "-k", "400"], "-k 400"),
        (["-d", "9"], "-d 9 exceeds 4"),
        (["-d", "0"], "-d 0 must be at least 1"),
        (["--plot", "picture.xyz"], "is not a picture format"),
        (["-o", "nowhere/out.csv"], "no directory 'nowhere'"),
    ],
)
def test_bad_options(messy, options, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert message in refused("embed", messy, "--missing", "median", *options)


def test_output_must_not_overwrite_the_input(messy):
    before = messy.read_bytes()
    assert "is the input" in refused("embed", messy, "-o", messy)
    assert messy.read_bytes() == before


# ------------------------------------------------------------------ transform
@pytest.fixture
def model(messy, tmp_path):
    path = tmp_path / "iris.eig"
    run(
        "embed",
        messy,
        "--label",
        "species",
        "--missing",
        "median",
        "-m",
        "isomap",
        "--model",
        path,
        "-o",
        tmp_path / "fit.csv",
    )
    return path


def test_transform_returns_the_training_embedding(messy, model, tmp_path):
    out = tmp_path / "new.csv"
    output = run("transform", model, messy, "--missing", "median", "-o", out)
    assert "Not used by the model: 'city', 'when', 'unit', 'comment'" in output
    pd.testing.assert_frame_equal(pd.read_csv(out), pd.read_csv(tmp_path / "fit.csv"), atol=1e-9)
    assert load(model).columns == ["sepal_length", "sepal_width", "petal_length", "petal_width"]


def test_transform_refuses_tables_with_other_columns(messy, model, iris, tmp_path):
    out = tmp_path / "new.csv"
    assert "4 of 150 rows" in refused("transform", model, messy, "-o", out)
    iris.drop(columns="petal_width").to_csv(tmp_path / "less.csv", index=False)
    assert "lacks 1 column" in refused("transform", model, tmp_path / "less.csv", "-o", out)
    iris.assign(petal_width="wide").to_csv(tmp_path / "text.csv", index=False)
    assert "'petal_width' holds text" in refused("transform", model, tmp_path / "text.csv", "-o", out)


def test_transform_refuses_invalid_model_files(messy, model, tmp_path):
    out = tmp_path / "new.csv"
    whole = model.read_bytes()
    broken = tmp_path / "broken.eig"
    for content, message in (
        (whole[: len(whole) // 2], "is damaged"),
        (whole[:-1] + b"?", "is damaged"),
        (whole.replace(b'"version":2', b'"version":9', 1), "is damaged"),
        (b"\x80\x05junk", "stored as a pickle"),
        (b'{"format": "eigenspan-model", "version": 1}\n\x80\x05junk', "a model of an older version of eigenspan"),
        (b"", "not an eigenspan model"),
    ):
        broken.write_bytes(content)
        assert message in refused("transform", broken, messy, "-o", out)
    assert "no model file" in refused("transform", tmp_path / "absent", messy, "-o", out)
