"""The short plotting functions: colours, one legend, no global state, error messages."""

import sys

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from eigenspan import PCA
from eigenspan.errors import InputError, LabelError
from eigenspan.plotting import grid, scatter, spectrum
from eigenspan.plotting._colours import FEW, MISSING, TWELVE, colours_of

RNG = np.random.default_rng(0)
Y = RNG.normal(size=(90, 3))


def saved(figure, tmp_path):
    path = tmp_path / "picture.png"
    figure.savefig(path)
    return path.stat().st_size


def test_scatter_draws_points_and_legend(tmp_path):
    ax = scatter(Y[:, :2], np.repeat(["a", "b", "c"], 30), title="three")
    assert ax.get_title() == "three"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b", "c"]
    assert ax.collections[0].get_offsets().shape == (90, 2)
    assert not len(ax.get_xticks())
    assert saved(ax.figure, tmp_path) > 1000


def test_scatter_uses_given_axes():
    ax = Figure().add_subplot()
    assert scatter(Y, ax=ax) is ax
    assert ax.get_legend() is None


def test_one_dimension_is_drawn_with_random_heights():
    offsets = scatter(Y[:, 0]).collections[0].get_offsets()
    assert np.sort(np.asarray(offsets)[:, 0]) == pytest.approx(np.sort(Y[:, 0]))


def test_drawing_opens_no_window_and_keeps_the_backend():
    before = (
        matplotlib.rcParams._get_backend_or_none() if hasattr(matplotlib.rcParams, "_get_backend_or_none") else None
    )
    loaded = "matplotlib.pyplot" in sys.modules
    grid({"a": Y, "b": Y})
    assert ("matplotlib.pyplot" in sys.modules) == loaded
    if before is not None:
        assert matplotlib.rcParams._get_backend_or_none() == before


@pytest.mark.parametrize("count, palette", [(2, FEW), (8, FEW), (9, TWELVE), (12, TWELVE)])
def test_few_classes_get_distinct_colours(count, palette):
    colours = colours_of(np.arange(90) % count, 90)
    assert list(colours.classes.values()) == list(palette[:count])
    assert len(set(colours.classes.values())) == count


def test_many_classes_get_shapes_and_quantities_a_colour_bar():
    assert len(colours_of(np.arange(90) % 20, 90).classes) == 20
    assert not colours_of(np.arange(90) % 20, 90).continuous
    assert colours_of(np.linspace(0, 1, 90), 90).continuous
    assert colours_of(np.arange(90), 90).continuous
    assert len(scatter(Y[:, :2], np.linspace(0, 1, 90)).figure.axes) == 2


@pytest.mark.parametrize("labels", [np.array(["a", None, "b"] * 30, dtype=object), np.array([0.0, np.nan, 1.0] * 30)])
def test_missing_labels_are_grey(labels):
    colours = colours_of(labels, 90)
    assert colours.classes["unlabelled"] == MISSING
    assert to_hex(colours.values[1]) == MISSING
    assert len(colours.classes) == 3


def test_grid_has_equal_panels_and_one_legend(tmp_path):
    figure = grid(dict.fromkeys("abcd", Y[:, :2]), np.arange(90) % 3, titles={"a": "first"}, suptitle="all", columns=3)
    assert [ax.get_title() for ax in figure.axes] == ["first", "b", "c", "d"]
    assert len(figure.legends) == 1
    saved(figure, tmp_path)
    sizes = np.array([ax.get_position().size for ax in figure.axes])
    assert np.ptp(sizes, axis=0) == pytest.approx(0, abs=1e-6)


def test_grid_of_a_quantity_has_one_colour_bar(tmp_path):
    figure = grid({"a": Y[:, :2], "b": Y[:, 1:]}, Y[:, 0])
    assert len(figure.axes) == 3
    assert saved(figure, tmp_path) > 1000


def test_outliers_are_cropped_and_counted():
    Z = np.random.default_rng(1).uniform(-1, 1, size=(600, 2))
    Z[0] = 500.0
    ax = scatter(Z)
    assert ax.get_xlim()[1] < 20
    assert [text.get_text() for text in ax.texts] == ["outliers not shown: 1"]
    assert not scatter(Z[1:]).texts
    assert not scatter(np.vstack([Z[1:300], Z[300:] + 100])).texts


def test_spectrum(tmp_path):
    pca = PCA(3).fit(Y)
    ax = spectrum(pca)
    assert ax.lines[0].get_ydata() == pytest.approx(pca.eigenvalues_)
    assert saved(ax.figure, tmp_path) > 1000
    with pytest.raises(InputError, match="not fitted, or not a spectral method"):
        spectrum(PCA(2))


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: scatter(np.full((5, 2), np.nan)), InputError, "10 missing or infinite"),
        (lambda: scatter(np.zeros((0, 2))), InputError, "one row per point"),
        (lambda: scatter(Y, [1, 2]), LabelError, r"one value per point \(90 points\)"),
        (lambda: grid({}), InputError, "nothing to draw"),
        (lambda: grid({"a": Y, "b": Y[:10]}), InputError, "same points"),
    ],
)
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_missing_matplotlib_gives_install_instructions(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r'pip install "eigenspan\[plot\]"'):
        scatter(Y)
