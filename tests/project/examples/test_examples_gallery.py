"""The figures of the papers show the numbers that they promise."""

import ast

import pytest

pytest.importorskip("matplotlib").use("agg")
gallery = pytest.importorskip("examples.gallery", reason="examples/ is not part of this distribution")


@pytest.mark.parametrize("script", gallery.scripts(), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_figure_shows_what_it_promises(script, tmp_path):
    if not gallery.can_run(script):
        pytest.skip("EIGENSPAN_DATA does not name the data folder")
    gallery.run(script, tmp_path)
    assert list(tmp_path.glob("*.png")), "nothing was drawn"


@pytest.mark.parametrize("script", gallery.scripts(), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_page_has_a_title_and_its_paper_a_header(script):
    title, line = ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))).splitlines()[:2]
    assert set(line) == {"="}
    assert len(line) == len(title)
    assert (script.parent / "GALLERY_HEADER.rst").exists()


def test_numbers_that_are_off_are_named():
    gallery.check({"a": 1.0}, {"a": (1.1, 0.2)})
    with pytest.raises(AssertionError, match=r"a: 1, expected 2 ± 0\.1"):
        gallery.check({"a": 1.0}, {"a": (2.0, 0.1)})
    with pytest.raises(AssertionError, match="expected 2"):
        gallery.check({"a": float("nan")}, {"a": (2.0, 0.1)})
    with pytest.raises(AssertionError, match="without a number"):
        gallery.check({}, {})
    with pytest.raises(AssertionError, match="found"):
        gallery.check({"a": 1.0}, {"a": (1.0, 0.1), "b": (1.0, 0.1)})
