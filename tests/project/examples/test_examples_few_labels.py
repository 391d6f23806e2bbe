"""The table of gains from unlabelled points: its splits, a small run, and the stored results that the documentation quotes."""

import json
import os

import numpy as np
import pytest

from helpers import ROOT

few = pytest.importorskip("few_labels", reason="examples/ is not part of this distribution")

RECORD, EVERY_AXIS = (
    json.loads((ROOT / "docs" / "reproductions" / f"{name}.json").read_text(encoding="utf-8"))["cells"]
    for name in ("few-labels", "few-labels-all-axes")
)


def test_splits_hold_out_the_test_points():
    y = np.arange(300) % 3
    known, rest, test = few.split(y, 10, 0)
    assert (len(known), len(rest), len(test)) == (10, 190, 100)
    assert len({*known, *rest, *test}) == 300
    assert np.bincount(y[known]).min() >= 2


def test_a_part_of_the_table_without_data():
    """Check the mean of two splits for each number of labels, on classes of two clusters each."""
    for labels in few.LABELS:
        runs = [few.run("Clusters", labels, seed) for seed in range(2)]
        for method in few.PAIRS:
            semi, base, zero = np.mean([run[method] for run in runs], axis=0)
            assert semi > base - 0.03, (method, labels)
            assert abs(semi - zero) < 0.03, (method, labels)


@pytest.mark.skipif("EIGENSPAN_DATA" not in os.environ, reason="EIGENSPAN_DATA does not name the data folder")
def test_a_split_is_the_recorded_one():
    cell = next(cell for cell in RECORD if (cell["set"], cell["labels"]) == ("Ionosphere", 100))
    found = few.run("Ionosphere", 100, few.FIRST_SEED)
    for method, runs in cell["runs"].items():
        np.testing.assert_allclose(found[method], runs[0], atol=0.02)  # two of 117 points may be ties


def test_the_stored_results_agree_with_the_page():
    page = (ROOT / "docs" / "labels.md").read_text(encoding="utf-8")
    for line in [*few.table(RECORD).splitlines(), *few.table(EVERY_AXIS).splitlines()]:
        if line.startswith("| "):
            assert line in page
    assert len({cell["set"] for cell in RECORD}) >= 6
    for cell in RECORD:
        for method, g in few.gains(cell).items():
            assert g["gain"] > -1, (cell["set"], cell["labels"], method)
            assert g["error"] < 0.5, (cell["set"], cell["labels"], method)
    for cell in EVERY_AXIS:  # these losses also occur without the unlabelled cost
        for method, g in few.gains(cell).items():
            assert abs(g["added"]) < 0.2, (cell["set"], method)
