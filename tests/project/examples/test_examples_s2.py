"""The reproduction of S2's tables: its splits, the numbers of the paper, and a small run."""

import os

import numpy as np
import pytest
from scipy import stats
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier

s2 = pytest.importorskip("reproduce_s2", reason="examples/ is not part of this distribution")

with_data = pytest.mark.skipif(
    "EIGENSPAN_DATA" not in os.environ, reason="EIGENSPAN_DATA does not name the data folder"
)


def test_the_paper_is_read_as_printed():
    assert s2.paper(2, True, "IONOSPHERE")["SS-LFDA"] == (88.0, 1.0)
    assert s2.paper(3, False, "BCI")["SELF"] == (67.6, 0.6)
    assert len(s2.PAPER) == 20


@pytest.mark.parametrize(
    ("name", "labels", "sizes"), [("IONOSPHERE", 10, (10, 341, 341)), ("BALANCE", 100, (100, 300, 225))]
)
def test_splits_have_the_sizes_of_table_1(name, labels, sizes):
    y = np.arange(sum(sizes) if name == "BALANCE" else 351) % 3
    parts = s2.split(name, y, labels, 4)
    assert tuple(map(len, parts)) == sizes
    assert not set(parts[0]) & (set(parts[1]) | set(parts[2]))
    np.testing.assert_array_equal(parts[0], s2.split(name, y, labels, 4)[0])


def test_faces_have_as_many_labels_in_each_class():
    y = np.repeat(np.arange(5), 64)
    known, *_ = s2.split("M-EYALE", y, 20, 0)
    np.testing.assert_array_equal(np.bincount(y[known]), [4] * 5)


@with_data
def test_one_split_of_balance():
    found = s2.run("BALANCE", 100, False, 0)
    assert {"DNE", "LFDA", "SELF", "SS-DNE", "SS-LFDA"} <= {name for name in s2.METHODS if found[name] > 0.75}
    X, y = s2.load("IONOSPHERE")
    known, rest, test = s2.split("IONOSPHERE", y, 100, 1)
    axes = PCA(2).fit(X[np.concatenate([known, rest])])
    plain = KNeighborsClassifier(1).fit(axes.transform(X[known]), y[known]).score(axes.transform(X[test]), y[test])
    ours = s2.accuracy(s2.candidate("PCA", 2, None)[0].fit(X[np.concatenate([known, rest])]), X, y, known, test)
    assert ours == pytest.approx(plain)


def test_the_report_counts():
    runs = [
        {"set": "BCI", "labels": 10, "kernel": False, "seed": s} | dict.fromkeys(s2.METHODS, 0.5 + 0.01 * s)
        for s in range(3)
    ]
    rows = s2.summarise(runs)
    assert len(rows) == 7
    assert rows[0]["ours"] == pytest.approx(51.0)
    assert rows[0]["error"] == pytest.approx(1 / np.sqrt(3))
    text = s2.page(rows, runs, "command", 60.0)
    assert "has the paper's sign in 0 of 2 cells" in text
    assert "| PCA | 1 of 1 | 0 of 0 |" in text


def test_wins_are_counted_over_the_best_opponent():
    """SS-DNE is above both opponents in every split but one; SS-LFDA is below SELF."""
    scores = {"PCA": 0.9, "LPP*": 0.6, "DNE": 0.5, "LFDA": 0.6, "SELF": 0.8, "SS-LFDA": 0.7}
    lift = np.array([0.05, 0.1, 0.08, -0.02, 0.07])
    runs = [
        {"set": "BCI", "labels": 10, "kernel": False, "seed": s} | scores | {"SS-DNE": 0.6 + lift[s]} for s in range(5)
    ]
    first, second = s2.against_opponents(runs)
    assert (first["best"], second["best"]) == ("LPP*", "SELF")
    t = lift.mean() / (lift.std(ddof=1) / np.sqrt(5))
    assert first["p"] == pytest.approx(stats.t.sf(t, 4))
    assert (first["gain"], second["gain"]) == pytest.approx((5.6, -10))
    assert s2.level(first["p"]) == "95 %"
    assert "| both | 2 of 2 | 1 of 2 | 1 of 2 | **FAILED** |" in "\n".join(s2.headline(runs))
    for row, gain in zip(runs, (0.3, -0.2, 0.1, -0.1, 0.05), strict=True):  # a win without confidence
        row["SS-DNE"] = 0.6 + gain
    assert "| both | 2 of 2 | 1 of 2 | 0 of 2 | **FAILED** |" in "\n".join(s2.headline(runs))
