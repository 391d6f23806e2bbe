"""The report page in a real browser, used by mouse and keyboard."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from eigenspan.plotting._colours import FEW, MISSING
from eigenspan.report import Picture, Report
from explorer_helpers import around, chosen, near_colour, pixels, small_report


def inside(report, corners, page, panel):
    """Return the rows within a rectangle of the window, from the positions that the page reports."""
    box = page.box(".plot", panel)
    n = len(report.table)
    places = np.array(page.run(f"Array.from({{length: {n}}}, (_, row) => explorer.panels[{panel}].pixel(row))"))
    places += [box["x"], box["y"]]
    low, high = np.min(corners, axis=0), np.max(corners, axis=0)
    return np.flatnonzero(((places > low) & (places < high)).all(axis=1)).tolist()


def test_every_panel_shows_every_class(visit):
    page = visit(small_report())
    assert page.run("document.body.dataset.state") == "ready"
    assert page.run("explorer.painter.constructor.name") == "GlPainter"
    for panel in range(3):
        assert all(near_colour(pixels(page, panel), colour) > 100 for colour in FEW[:3])


def test_a_lasso_selects_the_same_rows_in_every_panel(visit):
    report = small_report()
    page = visit(report)
    before = [near_colour(pixels(page, panel), FEW[0]) for panel in range(3)]
    corners = around(page, 1, [int(row) for row in np.flatnonzero(report.table["kind"] == "elm")])
    expected = inside(report, corners, page, 1)
    page.drag(corners)
    assert chosen(page) == expected
    assert {"elm"} <= set(report.table["kind"].iloc[expected])
    assert page.run("document.getElementById('count').textContent") == f"{len(expected)} of 300 rows selected"
    for panel in range(3):  # unselected rows are pale in every panel
        assert near_colour(pixels(page, panel), FEW[0]) < before[panel] / 4
        assert near_colour(pixels(page, panel), FEW[1]) > 100


def test_row_positions_match_the_embedding(visit):
    report = small_report()
    page = visit(report)
    places = np.array(page.run("Array.from({length: 300}, (_, row) => explorer.panels[2].pixel(row))"))
    Y = report.embeddings["view 3"]
    for axis, sign in ((0, 1), (1, -1)):
        slope, shift = np.polyfit(Y[:, axis], places[:, axis], 1)
        np.testing.assert_allclose(places[:, axis], slope * Y[:, axis] + shift, atol=0.02)
        assert sign * slope > 0
    across, down = (np.ptp(places[:, axis]) / np.ptp(Y[:, axis]) for axis in (0, 1))
    np.testing.assert_allclose(across, down, rtol=1e-3)  # equal scales on both axes


def test_shift_adds_rows_and_a_click_on_no_point_clears(visit):
    page = visit(small_report())
    page.drag(around(page, 0, [0], margin=6))
    first = chosen(page)
    assert 0 in first
    other = next(row for row in range(300) if row not in first)
    page.drag(around(page, 2, [other], margin=6), shift=True)
    both = chosen(page)
    assert {*first, other} <= {*both}
    box = page.box(".plot", 0)
    page.drag([(box["x"] + 3, box["y"] + 3)])
    assert chosen(page) == []


def test_the_legend_selects_a_class(visit):
    report = small_report()
    page = visit(report)
    page.run("[...document.querySelectorAll('.chip')].find((chip) => chip.textContent.startsWith('oak')).click()")
    assert chosen(page) == np.flatnonzero(report.table["kind"] == "oak").tolist()
    page.click("#invert")
    assert chosen(page) == np.flatnonzero(report.table["kind"] != "oak").tolist()
    assert "oak" not in page.run("document.getElementById('first').textContent")
    page.click("#clear")
    assert chosen(page) == []
    assert page.run("document.getElementById('save').disabled")


def test_differences_of_selected_rows_are_listed(visit):
    report = small_report()
    page = visit(report)
    page.run("document.querySelector('.chip').click()")  # the first class in alphabetical order
    told = page.run("[...document.querySelectorAll('#apart li')].map((line) => line.textContent)")
    ash, height = report.table["kind"] == "ash", report.table["height"]
    shift = (height[ash].mean() - height.mean()) / height.std(ddof=0)
    sign = "−" if shift < 0 else "+"
    assert told[0] == f"kind 100 % are ash, of all rows {100 * ash.mean():.0f} %"
    (line,) = [line for line in told if line.startswith("height")]
    assert line.startswith(f"height {sign}{abs(shift):.1f} sd mean {float(f'{height[ash].mean():.3g}'):g}")
    assert not [line for line in told if line.startswith("name")]


def test_empty_text_and_missing_values_differ_in_csv(visit):
    table = {"word": pd.Series(["", None, "x"], dtype=object)}
    page = visit(Report("Empty", {"a": np.eye(3)[:, :2]}, table))
    page.run("explorer.select(() => true, 'only')")
    assert page.saved(lambda: page.click("#save")).read_bytes() == b'row,word\r\n0,""\r\n1,\r\n2,x\r\n'


def test_colours_by_another_column(visit):
    page = visit(small_report())
    page.run("(colour.value = '1', colour.dispatchEvent(new Event('change')))")
    page.settle()
    seen = pixels(page, 0)
    assert near_colour(seen, "#440154", 60) > 20  # both ends of the scale
    assert near_colour(seen, "#fde725", 60) > 2
    assert near_colour(seen, MISSING, 12) > 20
    legend = page.run("document.getElementById('legend').textContent")
    assert "missing" in legend
    assert "coloured by height" in page.run("document.querySelector('.plot').ariaLabel")
    page.run("(colour.value = 'none', colour.dispatchEvent(new Event('change')))")
    page.settle()
    assert near_colour(pixels(page, 0), FEW[0]) > 500


def test_missing_values_are_grey_and_can_be_selected(visit):
    report = small_report(colour="height")
    page = visit(report)
    page.run("document.querySelector('.chip').click()")
    assert chosen(page) == np.flatnonzero(report.table["height"].isna()).tolist()


def test_classes_with_gaps(visit):
    rng = np.random.default_rng(3)
    kinds = pd.Series(["p", None, "q", "p"] * 25)
    page = visit(Report("Gaps", {"a": rng.standard_normal((100, 2))}, {"kind": kinds}, colour="kind"))
    assert page.run("[...document.querySelectorAll('.chip')].map((chip) => chip.textContent)") == [
        "p50",
        "q25",
        "missing25",
    ]
    page.run("[...document.querySelectorAll('.chip')].at(-1).click()")
    assert chosen(page) == np.flatnonzero(kinds.isna()).tolist()
    assert near_colour(pixels(page, 0), MISSING, 12) > 20


def test_single_precision_numbers_round_trip_in_csv(visit):
    sizes = 10.0 ** np.arange(-10, 15).repeat(20)
    values = (np.random.default_rng(4).standard_normal(500) * sizes).astype(np.float32)
    page = visit(Report("Single", {"a": np.zeros((500, 1))}, {"value": values}))
    words = page.run("Array.from({length: 500}, (_, row) => explorer.columns[0].text(row))")
    assert (np.array(words, dtype=np.float32) == values).all()
    assert max(map(len, words)) <= 16


def test_hovered_row_is_shown_and_marked_in_all_panels(visit):
    report = small_report()
    page = visit(report)
    box = page.box(".plot", 1)
    x, y = page.run("explorer.panels[1].pixel(17)")
    page.mouse("mouseMoved", box["x"] + x, box["y"] + y)
    page.settle()
    row = page.run("explorer.row")
    nearest = np.hypot(
        *(np.array(page.run("Array.from({length: 300}, (_, r) => explorer.panels[1].pixel(r))")) - [x, y]).T
    )
    assert nearest[row] <= nearest.min() + 0.51  # pointer positions are whole pixels
    tip = page.run("document.getElementById('tip').innerText")
    assert f"row {row}" in tip
    assert report.table["kind"][row] in tip
    assert str(report.table["count"][row]) in tip
    rings = "[...document.querySelectorAll('.ring')].map((ring) => ring.getAttribute('visibility'))"
    assert page.run(rings) == ["visible"] * 3
    page.mouse("mouseMoved", 5, 5)
    page.settle()
    assert page.run("document.getElementById('tip').hidden")
    assert page.run(rings) == ["hidden"] * 3


def test_nearest_row_search(visit):
    page = visit(small_report())
    rng = np.random.default_rng(5)
    for zoom in (1, 7):
        page.run(f"explorer.panels[0].zoom({zoom}, 150, 150)")
        places = np.array(page.run("Array.from({length: 300}, (_, row) => explorer.panels[0].pixel(row))"))
        asked = rng.uniform(0, 350, (200, 2))
        found = page.run(f"{asked.tolist()}.map(([x, y]) => explorer.panels[0].nearest(x, y))")
        for point, row in zip(asked, found, strict=True):
            far = np.hypot(*(places - point).T)
            assert row == (far.argmin() if far.min() < 12 else -1)


def test_zoom_move_and_reset(visit):
    page = visit(small_report())
    place = "explorer.panels[0].pixel(5)"
    start = np.array(page.run(place))
    box = page.box(".plot", 0)
    middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse("mouseWheel", *middle, deltaX=0, deltaY=-100)
    page.settle()
    np.testing.assert_allclose(page.run(place), start)  # the wheel does not zoom an inactive panel
    page.run("(document.querySelector('.plot').focus({preventScroll: true}), scrollTo(0, 0))")
    page.mouse("mouseWheel", *middle, deltaX=0, deltaY=-100)
    page.settle()
    centre = np.array([box["width"], box["height"]]) / 2
    np.testing.assert_allclose(np.array(page.run(place)) - centre, np.exp(1 / 3) * (start - centre), atol=1.0)
    page.run("document.querySelector('input[value=move]').click()")
    before = np.array(page.run(place))
    page.drag([middle, (middle[0] + 30, middle[1] + 20)])
    np.testing.assert_allclose(page.run(place), before + np.array([30, 20]), atol=0.01)
    assert chosen(page) == []
    page.run("document.querySelector('.panel button[title=\"Show all points\"]').click()")
    np.testing.assert_allclose(page.run(place), start, atol=0.01)


def read_csv(file, **more):
    """Parse with Python's floats, which are exact with every version of pandas."""
    numbers = {"height": lambda text: float(text or "nan")}
    return pd.read_csv(file, keep_default_na=False, converters=numbers, **more)


def test_saved_csv_equals_the_selection(visit):
    report = small_report()
    page = visit(report)
    page.drag(around(page, 0, [3, 4, 5]))
    rows = chosen(page)
    file = page.saved(lambda: page.click("#save"))
    assert file.suffix == ".csv"
    saved = read_csv(file, index_col="row", parse_dates=["day"])
    assert saved.index.tolist() == rows
    expected = report.table.iloc[rows]
    assert saved["height"].equals(expected["height"])  # exactly
    assert saved["count"].equals(expected["count"])
    assert saved["kind"].tolist() == expected["kind"].tolist()
    assert saved["name"].tolist() == expected["name"].tolist()
    assert (saved["day"] == expected["day"]).all()


def test_formulas_are_escaped_in_csv_unless_switched_off(visit):
    words = ["=1+1", "+49 30", "-x", "@home", "-1.5", "plain", "  two ", "\tx", ""]
    table = pd.DataFrame({"word": words, "=name": range(9), "n": [-1.5] * 9})
    page = visit(Report("Formulas", {"a": np.random.default_rng(0).standard_normal((9, 2))}, table))
    page.run("explorer.select(() => true, 'only')")
    safe = pd.read_csv(page.saved(lambda: page.click("#save")), keep_default_na=False)
    assert safe["word"].tolist() == ["'=1+1", "'+49 30", "'-x", "'@home", "-1.5", "plain", "  two ", "'\tx", ""]
    assert list(safe) == ["row", "word", "'=name", "n"]
    assert (safe["n"] == -1.5).all()
    page.click("#disarmed")
    plain = pd.read_csv(page.saved(lambda: page.click("#save")), keep_default_na=False)
    assert plain["word"].tolist() == words
    assert list(plain) == ["row", *table]


def test_keyboard_only_use(visit):
    page = visit(small_report())
    for _ in range(40):
        page.key("Tab")
        if page.run("document.activeElement.className") == "plot":
            break
    assert page.run("document.activeElement === explorer.panels[0].plot")
    assert page.run("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.key("ArrowLeft", 6), page.key("ArrowUp", 6)
    page.key("Enter")
    for arrow in ("ArrowRight", "ArrowDown", "ArrowLeft"):
        page.key(arrow, 12)
        page.key("Enter")
    page.key("Enter")  # setting a corner twice closes the lasso
    box = page.box(".plot", 0)
    centre = np.array([box["width"], box["height"]]) / 2
    places = np.array(page.run("Array.from({length: 300}, (_, row) => explorer.panels[0].pixel(row))"))
    assert chosen(page) == np.flatnonzero((np.abs(places - centre) < 60).all(axis=1)).tolist()
    assert chosen(page)
    page.key("Escape")
    assert chosen(page) == []
    page.run("explorer.panels[0].cursor = explorer.panels[0].pixel(7)")
    page.key(" ")
    (row,) = chosen(page)
    np.testing.assert_allclose(places[row], places[7], atol=0.01)
    page.key(" ")
    assert chosen(page) == []
    page.key("+"), page.key("ArrowLeft", shift=True)
    assert page.run("explorer.panels[0].view.zoom") == 1.25
    page.key("0")
    np.testing.assert_allclose(page.run("explorer.panels[0].pixel(7)"), places[7])
    page.run("explorer.panels[0].cursor = explorer.panels[0].pixel(7)")
    page.key("ArrowLeft")
    assert page.run("document.getElementById('spoken').textContent.startsWith(`row ${explorer.row}, kind `)")


def test_more_than_twelve_classes(visit):
    rng = np.random.default_rng(1)
    kinds = np.repeat([f"class {k:02d}" for k in range(40)], np.arange(40, 0, -1))
    table = pd.DataFrame({"kind": kinds})
    page = visit(Report("Many", {"a": rng.standard_normal((len(kinds), 2))}, table, colour="kind"))
    labels = page.run("[...document.querySelectorAll('.chip')].map((chip) => chip.textContent)")
    assert len(labels) == 12
    assert labels[0] == "class 0040"
    assert labels[-1].startswith("29 others")
    assert len(set(page.run("[...document.querySelectorAll('.chip i')].map((dot) => dot.style.background)"))) == 12
    page.run("[...document.querySelectorAll('.chip')].at(-1).click()")
    assert set(table["kind"].iloc[chosen(page)]) == {f"class {k:02d}" for k in range(11, 40)}


def test_dark_and_light_themes(visit):
    page = visit(small_report(), dark=True)
    assert pixels(page, 0).mean() < 80
    page.click("#theme")
    page.settle()
    assert pixels(page, 0).mean() > 220
    page.click("#theme")
    page.settle()
    assert pixels(page, 0).mean() < 80


@pytest.mark.parametrize("width, height", [(360, 640), (800, 600), (1920, 1080)])
def test_layout_at_every_window_size(visit, width, height):
    page = visit(small_report(panels=5))
    page.resize(width, height)
    page.wait(f"innerWidth === {width}")
    page.settle()
    page.settle()
    assert page.run("document.documentElement.scrollWidth") <= width
    for panel in range(5):
        box = page.box(".plot", panel)
        assert box["width"] > 150
        assert box["height"] > 150
        places = np.array(page.run(f"Array.from({{length: 300}}, (_, r) => explorer.panels[{panel}].pixel(r))"))
        assert (places > 0).all()
        assert (places < [box["width"], box["height"]]).all()
    page.run("document.querySelectorAll('.plot')[4].scrollIntoView()")
    page.settle()
    assert near_colour(pixels(page, 4), FEW[0]) > 50


def test_enlarged_panel(visit):
    page = visit(small_report(panels=6))
    small = page.box(".plot", 4)
    press = "document.querySelectorAll('.panel button[title=\"Show this panel alone\"]')[4].click()"
    page.run(press)
    page.settle()
    assert page.run("[...document.querySelectorAll('.panel')].map((panel) => panel.hidden)") == [True] * 4 + [
        False,
        True,
    ]
    large = page.box(".plot", 4)
    assert large["width"] > 2 * small["width"]
    assert near_colour(pixels(page, 4), FEW[0]) > 100
    page.drag(around(page, 4, [0, 1]))
    assert {0, 1} <= {*chosen(page)}
    page.run(press)
    page.settle()
    assert page.box(".plot", 4) == small
    assert (
        near_colour(pixels(page, 0), FEW[0])
        + near_colour(pixels(page, 0), FEW[1])
        + near_colour(pixels(page, 0), FEW[2])
        > 5
    )


def test_choice_of_axes_and_single_axis(visit):
    rng = np.random.default_rng(2)
    Y, line = rng.standard_normal((50, 3)), rng.standard_normal(50)
    page = visit(Report("Axes", {"three": Y, "one": line}))
    assert page.run("explorer.panels.map((panel) => panel.pair)") == [[0, 1], [1, 2], [0, 1]]
    assert page.run("[...document.querySelectorAll('.panel select')].map((choice) => choice.value)") == ["0,1", "1,2"]
    later = np.array(page.run("Array.from({length: 50}, (_, row) => explorer.panels[1].pixel(row))"))
    np.testing.assert_allclose(np.corrcoef(later[:, 0], Y[:, 1])[0, 1], 1, atol=1e-6)
    page.run("window.axes = document.querySelector('.panel select')")
    page.run("(axes.value = '0,2', axes.dispatchEvent(new Event('change')))")
    page.settle()
    places = np.array(page.run("Array.from({length: 50}, (_, row) => explorer.panels[0].pixel(row))"))
    np.testing.assert_allclose(np.corrcoef(places[:, 1], Y[:, 2])[0, 1], -1, atol=1e-6)
    places = np.array(page.run("Array.from({length: 50}, (_, row) => explorer.panels[2].pixel(row))"))
    np.testing.assert_allclose(np.corrcoef(places[:, 0], line)[0, 1], 1, atol=1e-6)
    assert (np.diff(places[:, 1]) < 0).all()
    assert "row number up" in page.run("explorer.panels[2].plot.ariaLabel")


def test_arrows_point_along_the_axes(visit):
    directions = pd.DataFrame(
        [[1.0, 0.0], [0.0, 0.5], [-0.3, -0.3], [0.01, 0.0]], index=["east", "north", "<b>", "short"]
    )
    page = visit(small_report(arrows={"view 2": directions}))
    ends = (
        "[...explorer.panels[1].arrows.querySelectorAll('path')].map((path) => "
        "path.getAttribute('d').match(/L([^,]+),([^LM]+)L/).slice(1).map(Number))"
    )
    assert page.run(ends) == []
    page.click("#arrows")
    box = page.box(".plot", 1)
    reach = 0.36 * min(box["width"], box["height"])
    expected = np.array([[1.0, 0.0], [0.0, -0.5], [-0.3, 0.3]]) * reach + [box["width"] / 2, box["height"] / 2]
    np.testing.assert_allclose(page.run(ends), expected, atol=0.01)
    words = "[...document.querySelectorAll('.arrows text')].map((word) => word.textContent)"
    assert page.run(words) == ["east", "north", "<b>"]
    page.click("#arrows")
    assert page.run(words) == []


def test_each_panel_shows_its_own_distortion(visit):
    n = 200
    bad = {"view 1": np.linspace(0, 1, n), "view 2": np.linspace(1, 0, n), "view 3": np.full(n, np.nan)}
    page = visit(small_report(n, distortion=bad, colour="distortion"))
    first, second, third = (np.array(page.run(f"[...explorer.panels[{k}].codes]")) for k in range(3))
    assert (first == second[::-1]).all()
    assert first.min() == 1
    assert first.max() == 255
    assert (third == 0).all()
    assert near_colour(pixels(page, 2), MISSING, 12) > 100


NO_WEBGL = """
const plain = HTMLCanvasElement.prototype.getContext;
HTMLCanvasElement.prototype.getContext = function (kind, ...more) { return kind === "webgl2" ? null : plain.call(this, kind, ...more); };
"""


def without_webgl(page):
    page.call("Page.addScriptToEvaluateOnNewDocument", source=NO_WEBGL)
    page.open(page.file)
    page.wait("window.explorer && explorer.painter.constructor.name === 'FlatPainter'")
    page.settle()


@pytest.mark.parametrize("painter", ["GlPainter", "FlatPainter"])
@pytest.mark.parametrize("ratio", [1, 2])
def test_drawn_points_match_reported_positions(visit, painter, ratio):
    Y = np.array([[0.0, 0.0], [4.0, 1.0], [1.0, 2.0]])
    page = visit(Report("Three", {"a": Y, "b": Y[::-1] * 3}, {"kind": ["p", "q", "r"]}, colour="kind"))
    if painter == "FlatPainter":
        without_webgl(page)
    page.resize(1000, 700, ratio)
    page.wait(f"devicePixelRatio === {ratio} && innerWidth === 1000")
    page.settle()
    page.settle()
    for panel in range(2):
        seen = pixels(page, panel)
        for row, colour in enumerate(FEW[:3]):
            wanted = [int(colour[at : at + 2], 16) for at in (1, 3, 5)]
            down, across = np.nonzero(np.abs(seen - wanted).max(axis=-1) <= 30)
            assert down.size > 10
            said = (
                ratio * np.array(page.run(f"explorer.panels[{panel}].pixel({row})")) - 8
            )  # `pixels` excludes a margin
            np.testing.assert_allclose([across.mean() + 0.5, down.mean() + 0.5], said, atol=1.5 * ratio)


def test_single_row_and_constant_axes(visit):
    page = visit(Report("One", {"a": [[1.0, 2.0]], "b": [[3.0, 3.0]]}, {"c": [5.0]}, colour="c"))
    for panel in range(2):
        box = page.box(".plot", panel)
        np.testing.assert_allclose(
            page.run(f"explorer.panels[{panel}].pixel(0)"), [box["width"] / 2, box["height"] / 2], atol=1
        )
    page.drag(around(page, 0, [0]))
    assert chosen(page) == [0]


def test_picture_section_is_shown(visit):
    figure = pytest.importorskip("matplotlib.figure").Figure(figsize=(3, 2))
    figure.add_subplot().plot([1, 3, 2])
    page = visit(small_report(sections=[Picture("A line", figure, "a line")]))
    assert page.run("document.querySelector('.picture img').naturalWidth") > 100


def test_canvas_fallback_without_webgl(visit):
    page = visit(small_report())
    without_webgl(page)
    assert "WebGL is not available" in page.run("document.getElementById('notice').textContent")
    assert all(near_colour(pixels(page, 0), colour) > 100 for colour in FEW[:3])
    page.drag(around(page, 0, [1, 2]))
    assert {1, 2} <= {*chosen(page)}


def test_lost_webgl_context_is_restored(visit):
    page = visit(small_report())
    page.run("(window.lost = explorer.painter.gl.getExtension('WEBGL_lose_context'), lost.loseContext())")
    page.settle()
    page.run("lost.restoreContext()")
    page.wait("!explorer.painter.gl.isContextLost()")
    page.settle()
    page.settle()
    assert all(near_colour(pixels(page, 1), colour) > 100 for colour in FEW[:3])
