"""Every page of the gallery agrees with the paper, or states that it does not."""

import os
import re
from pathlib import Path

import pytest

from helpers import external_data

gallery = pytest.importorskip("gallery.__main__", reason="examples/ is not part of this distribution")
ROOT = gallery.HERE.parent.parent


@pytest.mark.parametrize("path", gallery.pages(), ids=lambda path: f"{path.parent.name}-{path.stem}")
@pytest.mark.every(4)
def test_statements_of_a_page_hold(path, capsys):
    plt = pytest.importorskip("matplotlib.pyplot")
    if path.stem.startswith("data_") and "EIGENSPAN_DATA" not in os.environ:
        pytest.skip("EIGENSPAN_DATA is unset: the data of this figure are not there")
    try:
        beside = gallery.run(path)
        assert plt.get_fignums()
    finally:
        plt.close("all")
    assert len(beside.rows) >= 2
    assert beside.failures() == []
    assert beside.figure in capsys.readouterr().out


def test_statements_about_the_circle_of_teapots_fail_for_a_flat_ring(monkeypatch, capsys):
    """Four neighbours link two opposite views and flatten the ring: shares, radii, order and edges must show it."""
    plt = pytest.importorskip("matplotlib.pyplot")
    external_data("teapots100_38x50")
    figures = pytest.importorskip("unfolding_figures")
    unfold = figures.unfold_curve
    monkeypatch.setattr(figures, "unfold_curve", lambda X, k: unfold(X, 4))
    try:
        beside = gallery.run(gallery.HERE / "s1" / "plot_figure_1_6.py")
    finally:
        plt.close("all")
    assert len(beside.failures()) == 4
    assert all(row.what.startswith("teapots") for row in beside.failures())
    assert "S1, figure 1.6" in capsys.readouterr().out


def test_false_statements_are_reported():
    beside = gallery.Beside("a figure", "nothing")
    beside.number("slope", 2.0, 1.9, 0.05)
    beside.below("error", "small", 0.2, 0.1)
    beside.above("share", "large", 0.8, 0.9)
    beside.ordered("order", "a before b", {"a": 1.0, "b": 2.0})
    assert len(beside.failures()) == 4
    assert beside.markdown().count("(**no**)") == 4
    beside.number("slope", 2.0, 1.96, 0.05)
    beside.otherwise("order", "b before a", {"b": 2.0, "a": 1.0})
    assert len(beside.failures()) == 4


def test_the_page_has_every_figure():
    text = (ROOT / "docs" / gallery.PAGE).read_text(encoding="utf-8")
    for path in gallery.pages():
        assert f"### {gallery.head(path)[0]}\n" in text
    for image in re.findall(r"\]\(\.\./(images/gallery/[^)]*)\)", text):
        assert (ROOT / "docs" / image).is_file()


def test_title_and_table_of_a_page_name_the_same_figure():
    for path in gallery.pages():
        assert gallery.head(path)[0].partition(":")[0] == _figure(path)


def _figure(path: Path) -> str:
    return re.search(r'Beside\(\s*"([^"]*)"', path.read_text(encoding="utf-8")).group(1)
