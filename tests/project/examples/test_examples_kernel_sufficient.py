"""The regressions of kernel dimension reduction: their cases, a small run, and the page that quotes them."""

import re

import numpy as np
import pytest

from helpers import ROOT

example = pytest.importorskip("kernel_sufficient", reason="examples/ is not part of this distribution")


def test_the_cases_have_the_documented_properties():
    for make in (*example.CASES.values(), example.sine):
        X, y, truth = make(200, 0)
        assert len(X) == len(y) == 200
        np.testing.assert_array_equal(truth.T @ truth, np.eye(truth.shape[1]))
    X, _, _ = example.case_b(200, 0)
    assert np.all((X > 0.7).any(axis=1))
    X, y, _ = example.case_c(20_000, 0)
    assert abs(np.corrcoef(X[:, 0], y)[0, 1]) < 0.05  # no trend,
    assert np.corrcoef(X[:, 0] ** 2, np.abs(y))[0, 1] > 0.5  # only variance


@pytest.mark.parametrize("name", ["A", "B"])
def test_a_small_run(name):
    case = example.CASES[name](250, 0)
    angles = {method: example.run(method, case)[0] for method in example.METHODS}
    assert angles["KDR"] < 15
    assert angles["KDR"] < angles["PCA"]


def test_the_picture_is_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    figure = example.picture(60)
    assert len(figure.axes) == 9
    figure.savefig(tmp_path / "picture.png", dpi=20)


def test_the_page_quotes_an_accurate_run():
    """The largest angle of KDR is below five degrees for each regression, in less than a minute."""
    page = (ROOT / "docs" / "kernel-sufficient.md").read_text(encoding="utf-8")
    for name in example.CASES:
        row = re.search(rf"^\| {name} \|.*\| [\d.]+° \(worst ([\d.]+)°\), ([\d.]+) s \|$", page, re.MULTILINE)
        assert row is not None, name
        assert float(row[1]) < 5, name
        assert float(row[2]) < 60, name
