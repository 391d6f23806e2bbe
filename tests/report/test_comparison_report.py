"""The report of a comparison of methods."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from eigenspan import LDA, PCA, Isomap, make
from eigenspan.errors import DisconnectedWarning
from eigenspan.quality import trustworthiness
from eigenspan.report import report_of
from eigenspan.report.comparison_report import correlation, versions


def compared(X, y, methods, failures=None, **changes):
    """Return a stand-in for a comparison of methods."""
    fitted = {name: method.fit(X, y) for name, method in methods.items()}
    embeddings = {name: method.transform(X) for name, method in fitted.items()}
    rows = [(name, "trustworthiness", trustworthiness(X, Y, 5), 0.0, "higher") for name, Y in embeddings.items()]
    rows += [(name, "stress_of_it", 0.1 * k, 0.0, "lower") for k, name in enumerate(embeddings)]
    frame = pd.DataFrame(rows, columns=["embedding", "measure", "value", "error", "better"])
    table = frame.pivot(index="embedding", columns="measure", values="value").loc[list(embeddings)]
    table = table[["trustworthiness", "stress_of_it"]]
    table.insert(0, "seconds", 0.5)
    told = {"frame": frame, "table": table, "embeddings": embeddings, "seconds": dict.fromkeys(embeddings, 0.5)}
    return SimpleNamespace(**told | {"estimators": fitted, "failures": failures or {}, "X": X, "y": y} | changes)


@pytest.fixture(scope="module")
def flowers():
    return load_iris(return_X_y=True, as_frame=True)


def test_sections_of_a_comparison(flowers):
    X, y = flowers
    methods = {"PCA": PCA(3), "LDA": LDA(2), "scaled": make_pipeline(StandardScaler(), PCA(2))}
    curves = {"PCA": SimpleNamespace(k=np.arange(1, 149), r_nx=np.linspace(0.5, 0, 148))}
    report = report_of(compared(X, y, methods, {"MVU": "no"}), rank_curves=curves, warnings=["also"])
    titles = [section.title for section in report.sections]
    assert titles == [
        "Quality",
        "Neighbours preserved",
        "Spectra",
        "Graphs and solvers",
        "Columns and axes",
        "The problems solved",
    ]
    quality, _, spectra, _, columns, problems = report.sections
    assert quality.lower == ["seconds", "stress of it"]
    assert quality.higher == ["trustworthiness"]
    assert list(spectra.values) == list(methods)
    assert spectra.kept == {"PCA": 3, "LDA": 2, "scaled": 2}
    assert list(problems.problems) == list(methods)
    assert list(report.warnings) == ["MVU could not be fitted: no", "also"]
    assert list(columns.frame.index) == list(X.columns)
    assert list(columns.frame) == ["PCA 1", "PCA 2", "PCA 3", "LDA 1", "LDA 2", "scaled 1", "scaled 2"]
    both = np.corrcoef(X.iloc[:, 2], report.embeddings["LDA"][:, 0])[0, 1]
    np.testing.assert_allclose(columns.frame.loc[X.columns[2], "LDA 1"], both)
    assert report.facts["Data"] == {"rows": 150, "columns": 4, "labels": "3 distinct", "without a label": 0}
    assert report.notes["PCA"].endswith(" trustworthiness")
    assert list(report.table.columns) == ["label", *X.columns]
    assert report.colour == "label"
    page = report.html()
    assert "<math" in page
    assert "MVU could not be fitted" in page


def test_graphs_and_solvers_section(flowers):
    X, y = flowers
    with pytest.warns(DisconnectedWarning):
        report = report_of(compared(X, y, {"PCA": PCA(2), "Isomap": Isomap(2, n_neighbors=8)}))
    (health,) = [section for section in report.sections if section.title == "Graphs and solvers"]
    assert health.frame.loc["Isomap", "components"] == 2
    assert health.frame.loc["Isomap", "neighbours"] == 8
    assert health.frame.loc["PCA", "components"] is None
    assert "<td>—</td>" in health.html("x")
    assert "<td>2</td>" in health.html("x")


def test_custom_table(flowers):
    X, y = flowers
    table = pd.DataFrame({"who": [f"flower {i}" for i in range(150)]})
    report = report_of(compared(X, y, {"PCA": PCA(2)}), "Mine", table=table, provenance={"seed": 7})
    assert report.title == "Mine"
    assert report.table is table
    assert report.colour is None
    assert report.provenance["seed"] == 7
    assert {"Python", "numpy"} <= {*report.provenance}


def test_wide_data_keep_only_the_first_columns():
    X = np.random.default_rng(0).standard_normal((30, 100))
    report = report_of(compared(X, None, {"PCA": PCA(2)}))
    assert list(report.table.columns) == [f"x{j}" for j in range(1, 31)]
    assert report.facts["Data"]["columns in this file"] == "the first 30 of 100"
    (columns,) = [section for section in report.sections if section.title == "Columns and axes"]
    assert len(columns.frame) == 20
    assert report.colour is None


@pytest.mark.parametrize("kind", ["sparse", "missing", "polars", "words"])
def test_sparse_and_other_data_types(flowers, kind):
    X, y = flowers
    base = compared(X, y, {"PCA": PCA(2)})
    if kind == "sparse":
        base.X = sp.csr_array(X.to_numpy())
    elif kind == "missing":
        base.X = X.mask(X > 7)
    elif kind == "polars":
        base.X = pytest.importorskip("polars").from_pandas(X)
    else:
        base.X = X.assign(word="a")
    report = report_of(base)
    assert report.html()
    assert ("Columns and axes" in [section.title for section in report.sections]) == (kind == "polars")


def test_label_column_name_is_made_unique(flowers):
    X, y = flowers
    report = report_of(compared(X.rename(columns={X.columns[0]: "label"}), y, {"PCA": PCA(2)}))
    assert list(report.table.columns)[:2] == ["label_", "label"]
    assert report.colour == "label_"


def test_external_methods_have_no_formula(flowers):
    X, y = flowers
    report = report_of(compared(X, y, {"FactorAnalysis": make("FactorAnalysis")}))
    assert [section.title for section in report.sections] == ["Quality", "Columns and axes"]


def test_correlation_with_a_constant_is_zero():
    X = np.column_stack([np.ones(5), np.arange(5.0)])
    np.testing.assert_allclose(correlation(X, np.arange(5.0)[:, None]), [[0], [1]])


def test_version_of_a_missing_package():
    assert versions(["no-such-package"])["no-such-package"] == "not installed"
