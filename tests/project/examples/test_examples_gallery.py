"""Every claim of the gallery comes out as its page says: it holds, or it fails and the page explains why."""

import os
import re
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from helpers import external_data

gallery = pytest.importorskip("gallery.__main__", reason="examples/ is not part of this distribution")
ROOT = gallery.HERE.parent.parent


def _run(path, capsys):
    """The claims of a page, which must draw and print them."""
    plt = pytest.importorskip("matplotlib.pyplot")
    if path.stem.startswith("data_") and "EIGENSPAN_DATA" not in os.environ:
        pytest.skip("EIGENSPAN_DATA is unset: the data of this figure are not there")
    try:
        beside = gallery.run(path)
        assert plt.get_fignums()
    finally:
        plt.close("all")
    assert beside.figure in capsys.readouterr().out
    assert beside.claims
    assert all(claim.rate and claim.tolerance for claim in beside.claims)
    assert beside.settings
    return beside


each_page = pytest.mark.parametrize("path", gallery.pages(), ids=lambda path: f"{path.parent.name}-{path.stem}")


def test_pages_of_the_site_have_names_of_their_own() -> None:
    names = [path.name for path in gallery.pages() if path.name.startswith("plot_")]
    assert len(set(names)) == len(names) > 10


@each_page
@pytest.mark.every(8, start=2)
def test_pages_run_with_two_draws(path, capsys, monkeypatch):
    monkeypatch.setenv("GALLERY_DRAWS", "2")
    _run(path, capsys)


@each_page
@pytest.mark.long
def test_claims_of_a_page_come_out_as_it_says(path, capsys):
    assert _run(path, capsys).surprises() == []


def test_claims_about_the_circle_of_teapots_fail_for_a_flat_ring(monkeypatch, capsys):
    """Four neighbours link two opposite views and flatten the ring: the claim with three must show it."""
    external_data("teapots100_38x50")
    figures = pytest.importorskip("unfolding_figures")
    unfold = figures.unfold_curve
    monkeypatch.setattr(figures, "unfold_curve", lambda X, k: unfold(X, 4))
    monkeypatch.setenv("GALLERY_DRAWS", "2")
    claims = {claim.what: claim for claim in _run(gallery.HERE / "s1" / "plot_figure_1_6.py", capsys).claims}
    assert not claims["all 100 teapots, MVU with 3 neighbours: shares of two axes"].holds


def test_a_claim_holds_if_it_is_true_in_most_draws():
    beside = gallery.Beside("a figure", "none", "nothing")
    for good in (20, 15, 14, 12, 0):
        beside.above("share", "large", np.arange(20) < good, 0.5, "half")
    assert [claim.holds for claim in beside.claims] == [True, True, False, False, False]
    for good, claim in zip((20, 15, 14, 12, 0), beside.claims, strict=True):
        exact = stats.binomtest(good, 20).proportion_ci(method="wilson")
        assert claim.rate == f"{good} of 20 ({exact.low:.2f} to {exact.high:.2f})"
    beside.ordered("order", "a before b", {"a": [1, 2, 3, 4, 5], "b": [0, 1, 2, 3, 6]})
    assert beside.claims[-1].rate.startswith("4 of 5")
    beside.always("bound", "never above", [True, True, False], "2 of 3", "none")
    assert not beside.claims[-1].holds


def test_printed_numbers_are_compared_by_sampling_error():
    beside, values = gallery.Beside("a figure", "none", "nothing"), np.array([1.0, 2.0, 3.0])
    error = np.sqrt(1 + 1 / 3)  # of one draw less the mean of three, of standard deviation 1
    for off in (2.9, 3.1):
        beside.number("slope", 2 + off * error, values, 2)
    beside.same("share", 0.75, 0.754, 2)
    beside.same("share", 0.75, 0.756, 2)
    beside.same("links", 408, 409, 0)
    assert [claim.holds for claim in beside.claims] == [True, False, True, False, False]


def test_a_failed_claim_is_called_one():
    beside = gallery.Beside("a figure", "none", "nothing")
    beside.below("error", "small", np.ones(20), 0.5, "half")
    beside.below("error", "small", np.ones(20), 0.5, "half", fails="An erratum.")
    assert beside.markdown().count("**FAILED.**") == len(beside.failures()) == 2
    assert beside.surprises() == beside.claims[:1]  # a failure without explanation
    beside.below("error", "small", np.zeros(20), 0.5, "half", fails="An erratum.")
    assert beside.surprises()[1:] == beside.claims[2:]  # an explained failure that holds


def test_draws_are_stacked_by_name(monkeypatch):
    over = gallery.sys.modules["beside"].over
    assert over(lambda seed: {"a": seed, "b": 2.0}, 3)["a"].tolist() == [0, 1, 2]
    monkeypatch.setenv("GALLERY_DRAWS", "2")
    assert over(lambda seed: {"a": seed}, 3)["a"].tolist() == [0, 1]


def test_every_failure_of_the_stored_page_is_explained():
    text = (ROOT / "docs" / gallery.PAGE).read_text(encoding="utf-8")
    failures = re.findall(r"\*\*FAILED\.\*\*(.*)\|$", text, flags=re.MULTILINE)
    assert failures
    assert all(explanation.strip() for explanation in failures)
    assert f"and {len(failures)} failed" in text


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
