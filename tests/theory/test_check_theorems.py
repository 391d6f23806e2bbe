"""`check_theorems`: reports, selection of rows, errors, and the page of theorems."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris, make_swiss_roll

from eigenspan import TheoremReport, TheoremResult, check_theorems
from eigenspan.errors import InputError, LabelError
from eigenspan.theory.measure import cut
from eigenspan.theory.theorem import Measured, Theorem, UnmetError, all_theorems
from eigenspan.theory.theorem_data import Data
from helpers import ROOT, cloud, says

X, Y = load_iris(return_X_y=True)
FAST = ["mds-pca", "lda-lpp-npp", "quadratic-form"]


def one(name: str, X: Any, y: Any = None, **how: Any) -> TheoremResult:
    return check_theorems(X, y, names=name, **how).results[0]


# ---------------------------------------------------------------------- the report
def test_a_report_has_results_a_frame_and_text() -> None:
    report = check_theorems(X, Y, names=FAST)
    assert [result.theorem.name for result in report.results] == FAST
    assert (report.n_samples, report.n_distinct) == (150, 149)
    frame = report.frame
    assert list(frame.index) == FAST
    assert frame["holds"].all()
    assert frame["confirmed"].all()
    assert frame.loc["mds-pca", "degrees"] < 1e-4
    assert np.isnan(frame.loc["quadratic-form", "degrees"])
    assert (frame["rows"] == 149).all()
    text = str(report)
    assert all(name in text for name in FAST)
    assert "3 of 3 statements" in text


def test_statements_about_labels_do_not_apply_without_labels() -> None:
    report = check_theorems(X, names=FAST)
    assert [result.theorem.name for result in report.unmet] == ["lda-lpp-npp"]
    assert report.unmet[0].found == "y has no classes"
    assert report.unmet[0].confirmed is None
    assert report.failed == ()
    assert "the condition of 1 more does not hold" in report.summary()


def _result(**measured: Any) -> TheoremResult:
    order = 2.0 if "order" in measured else None
    theorem = Theorem("a", "b", "c", "d", "e", lambda data: Measured(""), order)
    return TheoremResult(theorem, True, "", **measured)


@pytest.mark.parametrize(
    "measured, confirmed",
    [
        ({"degrees": 9e-5}, True),
        ({"degrees": 2e-4}, False),
        ({"degrees": np.nan}, False),
        ({"degrees": 1e-9, "relative": 1e-5}, False),
        ({"relative": 9e-7}, True),
        ({"relative": 1e-3, "order": 1.99}, True),
        ({"relative": 1e-3, "order": 1.2}, False),
    ],
)
def test_tolerances_for_confirmed(measured: dict[str, float], confirmed: bool) -> None:
    result = _result(**measured)
    assert result.confirmed is confirmed
    assert TheoremReport((result,), 1, 1).failed == (() if confirmed else (result,))


# ---------------------------------------------------------------------- which rows and dimensions
def test_rows_and_dimensions_are_selected_such_that_conditions_hold() -> None:
    roll, _ = make_swiss_roll(300, random_state=0)
    assert one("lpp-le", roll).rows == 4  # affinely independent rows of three columns
    assert one("mvu-all-pairs", roll).rows == 30
    wide = np.c_[X, np.ones(150), X[:, 0] - X[:, 1]]  # a constant column and a linear combination
    for name in ("lda-lpp-npp", "opca-lda", "opca-layers", "lpp-ritz"):
        assert one(name, wide, Y).confirmed, name


def test_undetermined_subspaces_are_not_compared() -> None:
    square = np.stack(np.meshgrid(np.arange(8.0), np.arange(8.0)), -1).reshape(-1, 2)
    result = one("mds-pca", square)
    assert not result.holds
    assert "not determined" in result.found
    with pytest.raises(UnmetError, match="2e-12"):
        cut(np.array([1.0, 1.0 - 2e-12]))
    assert cut(np.array([3.0, 2.0, 1.9, 0.1]))[0] == 3
    assert cut(np.array([3.0, 1.0, 1.0 - 1e-12, 1.0 - 2e-12]))[0] == 1


def test_many_rows_are_sampled_by_the_seed() -> None:
    many = cloud(2500, 4)
    report = check_theorems(many, names="mutual-information")
    assert (report.n_samples, report.n_distinct) == (2500, 2000)
    notes = [one("mutual-information", many, random_state=seed).note for seed in (0, 0, 1)]
    assert notes[0] == notes[1] != notes[2]


def test_the_same_seed_gives_the_same_numbers() -> None:
    columns = ["degrees", "relative", "found", "note", "rows"]
    first, second = (check_theorems(X, Y, names=[*FAST, "opca-scale", "nystrom"]).frame[columns] for _ in range(2))
    pd.testing.assert_frame_equal(first, second)


@pytest.mark.parametrize(
    "data",
    [
        np.c_[cloud(12, 3), np.ones(12)],
        cloud(12, 15),
        cloud(5, 3),
        cloud(60, 1),
        np.random.default_rng(0).integers(0, 4, (80, 6)),
        np.repeat(cloud(12, 3), 5, axis=0),
        cloud(40, 3) + 1e6,
        cloud(40, 3) * [1e-6, 1.0, 1e6],
        np.vstack([cloud(40, 3), 1e4 * np.ones((1, 3))]),
        np.eye(12),
    ],
    ids=["12 rows", "wide", "5 rows", "1 column", "whole numbers", "copies", "far", "scales", "outlier", "simplex"],
)
@pytest.mark.parametrize("labels", ["none", "two", "one"])
@pytest.mark.every(6)
def test_difficult_data(data: Any, labels: str) -> None:
    y = {"none": None, "one": np.zeros(len(data)), "two": np.arange(len(data)) // 5 % 2}[labels]
    names = [name for name, theorem in all_theorems().items() if labels == "none" or theorem.subject == "Labels"]
    report = check_theorems(data, y, names=names)
    assert not report.failed, str(report)
    if labels != "two":
        assert all(not result.holds for result in report.results if result.theorem.subject == "Labels")


# ---------------------------------------------------------------------- input
def test_kinds_of_tables() -> None:
    before = X.copy()
    plain = one("mds-pca", X)
    for table in (pd.DataFrame(X), sp.csr_array(X), X.tolist(), np.asfortranarray(X)):
        assert one("mds-pca", table).degrees == pytest.approx(plain.degrees, abs=1e-9)
    assert one("mds-pca", X.astype(np.float32)).confirmed
    assert one("lda-lpp-npp", X, pd.Series(Y).map({0: "a", 1: "b", 2: None})).found.startswith("2 classes")
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: check_theorems(np.where(X[0, 0] == X, np.nan, X)), InputError, ("X holds", "NaN or infinite")),
        (lambda: check_theorems(X[0]), InputError, ("X must be a table", "(4,)")),
        (lambda: check_theorems(np.ones((20, 3))), InputError, ("1 distinct rows of 20", "at least 5")),
        (lambda: check_theorems(X, Y[:-1]), LabelError, ("149 labels for 150 samples",)),
        (lambda: check_theorems(X, X[:, 0] + 0.01), LabelError, ("continuous",)),
        (lambda: check_theorems(X, names="mds-pac"), InputError, ("'mds-pac'", "Did you mean 'mds-pca'?")),
        (lambda: check_theorems(X, names=[3]), InputError, ("no theorem 3", "mds-pca")),
        (lambda: check_theorems(X, n_neighbors=0), InputError, ("n_neighbors", "at least 1")),
        (lambda: check_theorems(X, n_neighbors=2.5), InputError, ("n_neighbors", "2.5")),
        (lambda: check_theorems(X, random_state=-1), InputError, ("random_state",)),
    ],
)
def test_invalid_input_is_refused(call: Any, error: type[Exception], words: tuple[str, ...]) -> None:
    with pytest.raises(error, match=says(*words)):
        call()


def test_more_neighbours_than_rows_use_all_rows() -> None:
    assert one("ratio-cut", X[::5], n_neighbors=1000).confirmed


def test_neighbours_are_added_until_the_graph_is_connected() -> None:
    islands = np.vstack([cloud(20, 2), cloud(20, 2) + 100])
    assert one("ratio-cut", islands, n_neighbors=3).confirmed
    assert Data(islands, k=3).graph.distances.nnz // 40 >= 20


# ---------------------------------------------------------------------- the page
def test_the_page_has_every_statement() -> None:
    page = (ROOT / "docs" / "theorems.md").read_text(encoding="utf-8")
    for theorem in all_theorems().values():
        row = f"| `{theorem.name}` | {theorem.statement} | {theorem.condition} | {theorem.source} |"
        assert row in page.split(f"## {theorem.subject}\n")[1].split("\n## ")[0], row
    assert page.count("\n| `") == len(all_theorems())
