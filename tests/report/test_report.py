"""The report page: its contents, its size, and the escaping of all text of the caller."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import zlib
from html.parser import HTMLParser
from importlib import resources

import numpy as np
import pandas as pd
import pytest

from eigenspan.errors import InputError, OutputError
from eigenspan.report import Curves, Formulas, Picture, Prose, Report, Spectra, Table
from eigenspan.report.page import SCRIPTS, json_text
from eigenspan.report.sections import number
from explorer_helpers import small_report

EVIL = "</script><b>\u2028'\"&{{data}}🧪"
HALF = EVIL + "\ud83d"  # a lone surrogate, which pandas stores only in object columns


class Elements(HTMLParser):
    """Collects the names of elements and the contents of scripts."""

    def __init__(self, text):
        super().__init__()
        self.names, self.scripts, self.words, self.inside = [], [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.names.append(tag)
        self.inside = tag
        assert not [name for name, _ in attrs if name.startswith("on") or name == "style"]

    def handle_endtag(self, tag):
        self.inside = ""

    def handle_data(self, data):
        (self.scripts if self.inside == "script" else self.words).append(data)


def unpacked(report):
    """Return what the page's script reads: the header and the decompressed bytes."""
    scripts = Elements(report.html()).scripts
    return json.loads(scripts[0]), zlib.decompress(base64.b64decode(scripts[1]), -15)


def values_of(report, name):
    """Return a column as stored in the page."""
    head, raw = unpacked(report)
    facts = next(column for column in head["columns"] if column["name"] == name)
    codes = np.frombuffer(raw, "<" + facts["type"], head["n"], facts["at"])
    if facts["kind"] != "class":
        return codes
    levels = facts["levels"]
    words = json.loads(raw[levels["at"] : levels["at"] + levels["bytes"]])
    return [None if code == 0 else words[code - 1] for code in codes]


def one_column(values, **more):
    Y = np.random.default_rng(0).standard_normal((len(values), 2))
    return Report("One", {"a": Y}, pd.DataFrame({"c": values}), **more)


# ------------------------------------------------------------------------------------------- the data
def test_embeddings_keep_16_bits():
    report = small_report()
    head, raw = unpacked(report)
    places = [axis["at"] for facts in head["embeddings"] for axis in facts["axes"]]
    assert all(place % 8 == 0 for place in [*places, *(column["at"] for column in head["columns"])])
    for facts in head["embeddings"]:
        Y = report.embeddings[facts["name"]]
        for axis, own in zip(Y.T, facts["axes"], strict=True):
            places = np.frombuffer(raw, "<u2", len(Y), own["at"])
            back = own["lo"] + places / 65535 * (own["hi"] - own["lo"])
            np.testing.assert_allclose(back, axis, atol=np.ptp(axis) / 65535)


def test_embeddings_with_many_axes_get_several_panels():
    Y = np.random.default_rng(0).standard_normal((9, 20))
    pairs = [facts["pairs"] for facts in unpacked(Report("Two", {"deep": Y, "line": Y[:, 0]}))[0]["embeddings"]]
    assert pairs == [[[0, 1], [2, 3], [4, 5]], [[0, 1]]]
    (alone,) = unpacked(Report("One", {"deep": Y}))[0]["embeddings"]
    assert alone["pairs"] == [[0, 1], [2, 3], [4, 5], [6, 7]]  # the page has at most eight axes


@pytest.mark.parametrize(
    "values, expected",
    [
        (["b", None, "a", "b"], ["b", None, "a", "b"]),
        ([True, False, None], ["True", "False", None]),
        ([1.0, np.nan, 0.5], ["1", None, "0.5"]),
        ([3, 1, 2], ["3", "1", "2"]),
        ([2**60, 2**60 + 1], [str(2**60), str(2**60 + 1)]),
        (pd.array([1, None, 2], dtype="Int64"), ["1", None, "2"]),
        (pd.Categorical(["low", "high", None], ["low", "high", "none"]), ["low", "high", None]),
        (np.array(["x", 1, None, (2, 3)], dtype=object), ["x", "1", None, "(2, 3)"]),
        (np.array([[1], [2]], dtype=object).tolist(), ["[1]", "[2]"]),
        (pd.Series([HALF, "ok"], dtype=object), [HALF, "ok"]),
        ([None, None], [None, None]),
        ([1j, 2.0], ["1j", "(2+0j)"]),
        (pd.to_datetime(["2024-01-01T00:00:00.000001", None]), ["2024-01-01 00:00:00.000001", None]),
        (pd.to_timedelta([1, None], unit="D"), ["1 days 00:00:00", None]),
        (np.array([0.1, np.nan, 2], dtype=np.float32), ["0.1", None, "2"]),
    ],
    ids=str,
)
def test_classes_round_trip(values, expected):
    assert values_of(one_column(values), "c") == expected


def test_numbers_round_trip():
    rng = np.random.default_rng(0)
    exact = rng.standard_normal(60)
    exact[3], exact[4] = np.nan, np.inf
    np.testing.assert_array_equal(values_of(one_column(exact), "c"), exact)
    whole = np.arange(100) * 1000
    assert values_of(one_column(whole), "c").dtype == np.int32
    big = whole + 2**40
    np.testing.assert_array_equal(values_of(one_column(big), "c"), big)
    loose = pd.Series([*range(60), 0.5, None], dtype=object)
    np.testing.assert_array_equal(values_of(one_column(loose), "c"), [*range(60), 0.5, np.nan])
    half = rng.standard_normal(60).astype(np.float32)
    assert values_of(one_column(half), "c").dtype == np.float32


def test_large_tables_keep_seven_digits():
    values = np.random.default_rng(0).standard_normal(200_001)
    kept = values_of(one_column(values), "c")
    assert kept.dtype == np.float32
    np.testing.assert_allclose(kept, values, rtol=1e-7)


def test_times_are_milliseconds():
    days = pd.Series(pd.to_datetime(["2024-01-02", None, "1969-12-31"]))
    report = one_column(days)
    np.testing.assert_array_equal(values_of(report, "c"), [1704153600000.0, np.nan, -86400000.0])
    assert unpacked(report)[0]["columns"][0]["whole_days"]


def test_informative_index_becomes_a_column():
    table = pd.DataFrame({"a": [1.0, 2.0]}, index=pd.Index(["x", "y"], name="who"))
    report = Report("Index", {"e": np.eye(2)}, table)
    assert values_of(report, "who") == ["x", "y"]
    assert [column["name"] for column in unpacked(report)[0]["columns"]] == ["who", "a"]


def test_polars_and_dicts_are_tables():
    polars = pytest.importorskip("polars")
    for table in (polars.DataFrame({"c": ["p", "q"]}), {"c": ["p", "q"]}):
        assert values_of(Report("Table", {"e": np.eye(2)}, table), "c") == ["p", "q"]


def test_distortion_has_a_common_scale():
    report = small_report(50, distortion={"view 1": np.linspace(0, 2, 50), "view 2": np.linspace(1, 3, 50)})
    head, raw = unpacked(report)
    assert (head["distortion"]["lo"], head["distortion"]["hi"]) == (0.0, 3.0)
    first, second, third = (facts["distortion"] for facts in head["embeddings"])
    assert third is None
    assert np.frombuffer(raw, "u1", 50, first)[0] == 1
    assert np.frombuffer(raw, "u1", 50, second)[-1] == 255


def test_arrows_of_the_columns_with_largest_weights():
    directions = pd.DataFrame(np.linspace(-1, 0.5, 100).reshape(50, 2), index=[f"c{k}" for k in range(50)])
    arrows = unpacked(small_report(30, arrows={"view 1": directions}))[0]["embeddings"][0]["arrows"]
    assert len(arrows) == 40
    assert arrows[0] == {"name": "c0", "along": [-1.0, -0.9848]}


def test_size_of_a_large_page():
    n = 50_000
    rng = np.random.default_rng(0)
    table = {
        "id": np.arange(n),
        "kind": rng.integers(0, 10, n),
        "t": rng.random(n),
        "name": [f"row {i}" for i in range(n)],
    }
    report = Report("Large", {f"m{k}": rng.random((n, 2)) for k in range(6)}, table)
    assert len(report.html()) < 4e6


# ------------------------------------------------------------------------------------------- the page
def test_content_security_policy_matches_the_scripts():
    page = small_report().html()
    policy = html.unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', page).group(1))
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    for tag in ("style", "script"):
        text = re.search(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL).group(1)
        mark = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{mark}'" in policy
    assert not re.search(r"""(src|href)=["'](?!#|data:)""", page)
    assert "http://" not in page.replace("http://www.w3.org/", "")
    assert "https://" not in page


def test_text_of_the_caller_is_escaped():
    table = pd.DataFrame({EVIL: [1.0, 2.0], "k": [EVIL, "b"]})
    figures = pd.DataFrame({EVIL: [EVIL]}, index=[EVIL])
    report = Report(
        EVIL,
        {EVIL: np.eye(2)},
        table,
        facts={EVIL: {EVIL: EVIL}},
        sections=[
            Table(EVIL, figures, EVIL),
            Curves(EVIL, {EVIL: ([1, 2], [3, 4]), "b": ([1, 2], [4, 3])}, EVIL, EVIL, EVIL),
            Spectra(EVIL, {EVIL: [2.0, 1.0]}, {EVIL: 1}, EVIL, {EVIL: EVIL}),
            Formulas(EVIL, {EVIL: (["x"], EVIL)}, EVIL),
            Prose(EVIL, EVIL),
        ],
        warnings=[EVIL],
        provenance={"command": HALF, EVIL: EVIL},
        notes={EVIL: EVIL},
    )
    found = Elements(report.html())
    assert found.names.count("script") == 3
    assert "b" not in found.names
    assert sum(word.count("</script><b>") for word in found.words) >= 20
    assert EVIL in json.loads(found.scripts[0])["embeddings"][0]["name"]


def test_json_is_safe_inside_script_elements():
    value = {EVIL: [EVIL, "<!--", "]]>"]}
    text = json_text(value)
    assert text.isascii()
    assert not re.search("[<>&]", text)
    assert json.loads(text) == value


def test_written_file_is_complete(tmp_path):
    file = tmp_path / "r.html"
    report = one_column(pd.Series([HALF, "b"], dtype=object), warnings=[HALF])
    assert report.write(str(file)) == file
    assert report.write(file).read_bytes() == report.html().encode("utf-8", "xmlcharrefreplace")
    assert [path.name for path in tmp_path.iterdir()] == ["r.html"]
    for bad in ("r.txt", "r", "r.csv"):
        with pytest.raises(InputError, match=r"must end in \.html"):
            report.write(tmp_path / bad)
    with pytest.raises(OutputError, match=r"There is no folder .*nowhere.* to write 'r\.html' to: create it first"):
        report.write(tmp_path / "nowhere" / "r.html")


def test_output_is_deterministic():
    assert small_report().html() == small_report().html()


def test_assets_are_installed():
    assets = resources.files("eigenspan.report").joinpath("assets")
    for name in (*SCRIPTS, "style.css", "page.html", "explorer.html"):
        assert assets.joinpath(name).is_file()


def test_sections_are_in_order_and_linked():
    report = small_report(sections=[Prose("First", "a"), Prose("Second", "b")], warnings=["c"], provenance={"seed": 0})
    page = report.html()
    assert re.findall(r'<a href="#([^"]+)">([^<]+)</a>', page) == [
        ("explorer", "Embeddings"),
        *[(f"part-{k}", title) for k, title in enumerate(["Warnings", "First", "Second", "How this was made"])],
    ]


def test_matplotlib_figure_is_embedded_as_image():
    figure = pytest.importorskip("matplotlib.figure").Figure()
    ax = figure.add_subplot()
    ax.plot([1, 2])
    drawn = Picture("Picture", figure, 'an "alt"').html("x")
    assert 'src="data:image/svg+xml;base64,' in drawn
    assert 'alt="an &quot;alt&quot;"' in drawn
    ax.scatter(*np.random.default_rng(0).random((2, 5000)))
    assert 'src="data:image/png;base64,' in Picture("Picture", figure, "").html("x")
    with pytest.raises(InputError, match="must be a matplotlib Figure"):
        Picture("Picture", "nothing", "").html("x")


@pytest.mark.parametrize(
    "value, text",
    [
        (0.98765, "0.988"), (1234.5, "1,234"), (-0.5, "−0.500"), (1e-7, "1e−07"), (3, "3"), (12345678, "12,345,678"), (True, "yes"),
        (float("nan"), "—"), (None, "—"), ("word", "word"), (0.0, "0.000"), (np.float32(0.5), "0.500"), (float("inf"), "∞"),
    ],
)  # fmt: skip
def test_number_formatting(value, text):
    assert number(value) == text


@pytest.mark.parametrize("log", [True, False])
@pytest.mark.parametrize(
    "lines", [{"a": ([1, 2, 3], [1.0, np.nan, 2.0])}, {"a": ([5], [5.0])}, {"a": ([], [])}], ids=str
)
def test_curves_with_few_points(lines, log):
    drawn = Curves("Curves", lines, "x", "y", log=log).html("x")
    assert "nan" not in drawn
    assert "inf" not in drawn


def test_curve_breaks_at_missing_values():
    drawn = Curves("Curves", {"a": ([1, 2, 3, 4, 5], [1.0, 2.0, np.nan, 2.0, 1.0])}).html("x")
    (path,) = re.findall(r'class="line s0" d="([^"]*)"', drawn)
    assert re.sub("[^ML]", "", path) == "MLML"


def test_best_value_of_a_column_is_bold():
    frame = pd.DataFrame({"more": [0.1, 0.9], "less": [0.1, 0.9]}, index=["a", "b"])
    drawn = Table("Table", frame, higher=["more"], lower=["less"]).html("x")
    assert re.findall(r'<td class="best">([^<]*)', drawn) == ["0.100", "0.900"]


# ------------------------------------------------------------------------------------------- invalid input
Y = np.eye(4)[:, :2]


@pytest.mark.parametrize(
    "given, message",
    [
        ({"embeddings": {}}, "at least one embedding"),
        ({"embeddings": {"a": np.zeros((0, 2))}}, "one row per point"),
        ({"embeddings": {"a": np.zeros((2, 2, 2))}}, "one row per point"),
        ({"embeddings": {"a": np.array([[1, np.nan], [0, 1]])}}, "1 of the 2 rows of the embedding 'a'"),
        ({"embeddings": {"a": Y, "b": Y[:3]}}, "'a' has 4 and 'b' has 3"),
        ({"table": {"c": [1, 2]}}, "the embeddings have 4 rows and the table has 2"),
        ({"table": pd.DataFrame(np.zeros((4, 2)), columns=["c", "c"])}, "c occur more than once"),
        ({"colour": "nothing"}, "no column 'nothing'"),
        ({"hover": ["nothing"]}, "no column 'nothing'"),
        ({"distortion": {"z": np.zeros(4)}}, "'z', which is not an embedding"),
        (
            {"arrows": {"a": pd.DataFrame(np.zeros((5, 3)))}},
            r"column per axis of an embedding of that name, but have shape \(5, 3\)",
        ),
        ({"arrows": {"z": pd.DataFrame(np.zeros((5, 2)))}}, "arrows of 'z'"),
        ({"distortion": {"a": np.zeros(3)}}, "one number per point \\(4 points\\)"),
    ],
)
def test_invalid_input_is_refused(given, message):
    with pytest.raises(InputError, match=message):
        Report("Bad", **{"embeddings": {"a": Y}, "table": {"c": range(4)}} | given).html()
