"""Displays of points: positions, colours and names."""

from io import BytesIO

import numpy as np
import pandas as pd
import polars as pl
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from sklearn import decomposition
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from eigenspan import LDA, LPP, MVU, PCA, ClassicalMDS, Isomap, LaplacianEigenmaps
from eigenspan.errors import InputError, LabelError
from eigenspan.plotting import EmbeddingDisplay, GalleryDisplay, PairsDisplay
from eigenspan.plotting._colours import FEW, MARKERS, MISSING, TWELVE
from eigenspan.plotting._read import most_pairs, pairs_of

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 5)) * [5, 4, 3, 1, 1]
Y = RNG.normal(size=(60, 4))
CLASSES = np.arange(60) % 3


def texts(legend):
    return [text.get_text() for text in legend.get_texts()]


def offsets(display):
    return np.vstack([np.asarray(part.get_offsets()) for part in display.scatter_])


# ---------------------------------------------------------------------- names and aspect
def test_axis_names_have_method_and_variance_share():
    pca = PCA(3).fit(X)
    display = EmbeddingDisplay.from_estimator(pca, axes=(2, 0))
    shares = 100 * pca.explained_variance_ratio_
    assert display.ax_.get_xlabel() == f"pca2 ({shares[2]:.1f} % of variance)"
    assert display.ax_.get_ylabel() == f"pca0 ({shares[0]:.1f} % of variance)"
    assert display.ax_.get_title() == "PCA"
    assert np.sort(offsets(display), axis=0) == pytest.approx(np.sort(pca.embedding_[:, [2, 0]], axis=0))


def test_variance_shares_of_lda_are_between_classes():
    label = EmbeddingDisplay.from_estimator(LDA(2).fit(X, CLASSES), CLASSES).ax_.get_xlabel()
    assert label.startswith("lda0 (")
    assert label.endswith("% of variance between classes)")


@pytest.mark.parametrize("cls, equal", [(PCA, True), (ClassicalMDS, True), (Isomap, True), (MVU, True), (LPP, False)])
def test_metric_methods_get_equal_aspect(cls, equal):
    ax = EmbeddingDisplay.from_estimator(cls(2).fit(X)).ax_
    assert (ax.get_aspect() == 1.0) == equal
    assert EmbeddingDisplay.from_estimator(cls(2).fit(X), aspect="auto").ax_.get_aspect() == "auto"


def test_whitened_axes_get_auto_aspect():
    assert EmbeddingDisplay.from_estimator(PCA(2, whiten=True).fit(X)).ax_.get_aspect() == "auto"


@pytest.mark.parametrize("table", [pd.DataFrame, lambda Y, columns: pl.DataFrame(Y, schema=columns)])
def test_names_of_columns_and_labels_are_used(table):
    columns = ["a", "b", "c", "d"]
    y = pd.Series(CLASSES, name="kind") if table is pd.DataFrame else pl.Series("kind", CLASSES)
    display = EmbeddingDisplay.from_embedding(table(Y, columns=columns), y, axes=(1, 3))
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("b", "d")
    assert display.legend_.get_title().get_text() == "kind"
    assert EmbeddingDisplay.from_embedding(Y[:, :2]).ax_.get_xlabel() == ""


def test_pipelines_and_new_points_of_other_libraries():
    steps = make_pipeline(StandardScaler(), PCA(2)).fit(X)
    assert offsets(EmbeddingDisplay.from_estimator(steps)).shape == (60, 2)
    theirs = decomposition.PCA(2).fit(X)
    assert offsets(EmbeddingDisplay.from_estimator(theirs, X=X[:7])).shape == (7, 2)
    with pytest.raises(InputError, match="pass the points to draw as X="):
        EmbeddingDisplay.from_estimator(theirs)


# ---------------------------------------------------------------------- colours
def test_more_than_twelve_classes_combine_colours_and_shapes():
    labels = np.array([f"{i % 30:02d}" for i in range(60)])
    display = EmbeddingDisplay.from_embedding(Y[:, :2], labels, legend_title="thirty")
    assert texts(display.legend_) == sorted(set(labels))
    assert display.legend_._ncols == 3
    marks = [(to_hex(line.get_color()), line.get_marker()) for line in display.legend_.get_lines()]
    assert len(set(marks)) == 30
    assert marks[13] == (TWELVE[1], MARKERS[1])
    assert [len(part.get_offsets()) for part in display.scatter_] == [24, 24, 12]


def test_reused_colours_and_shapes_are_reported():
    labels = np.array([f"{i:03d}" for i in range(100)])
    display = EmbeddingDisplay.from_embedding(RNG.normal(size=(100, 2)), labels)
    assert display.legend_ is None
    assert [text.get_text() for text in display.ax_.texts] == ["100 classes: colours and shapes are reused"]


def test_numbers_have_a_colour_bar_and_missing_ones_are_grey():
    values = np.where(np.arange(60) < 5, np.nan, np.arange(60) / 7)
    display = EmbeddingDisplay.from_embedding(Y[:, :2], values, legend_title="height")
    assert display.colorbar_.ax.get_ylabel() == "height"
    (points,) = display.scatter_
    points.update_scalarmappable()
    drawn = [to_hex(colour) for colour in points.get_facecolors()]
    assert drawn.count(MISSING) == 5
    assert EmbeddingDisplay.from_embedding(Y, values, legend=False).colorbar_ is None


def test_nullable_labels_and_category_order():
    kinds = pd.Series(pd.Categorical(["low", "high", None] * 20, categories=["low", "mid", "high"]))
    display = EmbeddingDisplay.from_embedding(Y[:, :2], kinds)
    assert texts(display.legend_) == ["low", "high", "unlabelled"]
    (points,) = display.scatter_
    drawn = {
        tuple(place): to_hex(colour) for place, colour in zip(offsets(display), points.get_facecolors(), strict=True)
    }
    assert [drawn[tuple(place)] for place in Y[:3, :2]] == [FEW[0], FEW[1], MISSING]
    whole = pd.Series([1, 2, pd.NA] * 20, dtype="Int64")
    assert texts(EmbeddingDisplay.from_embedding(Y, whole).legend_) == ["1", "2", "unlabelled"]


def test_black_becomes_white_on_a_dark_background():
    from matplotlib import style

    with style.context("dark_background"):
        display = EmbeddingDisplay.from_embedding(Y, np.arange(60) % 8, title="dark")
    assert to_hex(display.legend_.get_lines()[7].get_color()) == "#ffffff"
    assert to_hex(display.ax_.title.get_color()) == "#ffffff"


# ---------------------------------------------------------------------- one axis, three axes, images
def test_one_axis_is_drawn_with_random_heights():
    display = EmbeddingDisplay.from_estimator(PCA(1).fit(X))
    assert display.ax_.get_ylabel() == "random heights, no meaning"
    assert display.ax_.get_xlabel().startswith("pca0 (")
    assert display.ax_.get_aspect() == "auto"


def test_three_axes_are_drawn_in_3d():
    display = EmbeddingDisplay.from_estimator(PCA(3).fit(X), CLASSES, axes=(0, 1, 2))
    assert display.ax_.name == "3d"
    assert display.ax_.get_zlabel() == "pca2"
    given = Figure().add_subplot(projection="3d")
    assert EmbeddingDisplay(Y).plot(given, axes=(0, 1, 3)).ax_ is given


def test_images_do_not_overlap():
    images = RNG.uniform(size=(60, 6, 4))
    display = EmbeddingDisplay.from_embedding(Y[:, :2], CLASSES, images=images, image_size=0.1)
    places = np.array([picture.xy for picture in display.images_])
    assert 10 < len(places) < 60
    assert all((Y[:, :2] == place).all(axis=1).any() for place in places)
    ax = display.ax_
    shares = places / [np.ptp(ax.get_xlim()), np.ptp(ax.get_ylim())]
    gaps = np.abs(shares[:, None] - shares[None]).max(axis=2)[np.triu_indices(len(places), 1)]
    assert gaps.min() > 0.09
    frames = {to_hex(picture.patch.get_edgecolor()) for picture in display.images_}
    assert frames == set(FEW[:3])
    rows = EmbeddingDisplay(Y, images=images.reshape(60, 24), image_shape=(6, 4))
    assert rows.images == pytest.approx(display.images)
    assert display.images.min() == 0.0
    assert display.images.max() == 1.0
    shown = display.images_[0].offsetbox.get_data()
    assert any(np.array_equal(shown, image) for image in display.images)


def test_colour_images_on_numeric_labels():
    display = EmbeddingDisplay.from_embedding(Y, np.linspace(0, 1, 60), images=RNG.uniform(size=(60, 3, 3, 3)))
    assert len({to_hex(picture.patch.get_edgecolor()) for picture in display.images_}) > 3


# ---------------------------------------------------------------------- several panels
@pytest.mark.parametrize(
    "d, most, expected",
    [
        (1, 6, [[0]]),
        (2, 6, [[0, 1]]),
        (3, 6, [[0, 1], [1, 2]]),
        (4, 6, [[0, 1], [2, 3]]),
        (7, 6, [[0, 1], [2, 3], [4, 5], [5, 6]]),
        (9, 2, [[0, 1], [2, 3]]),
    ],
)
def test_consecutive_axes_are_paired(d, most, expected):
    assert pairs_of(RNG.normal(size=(5, d)), most) == expected


def test_constant_axes_are_skipped():
    constant = np.column_stack([np.full(60, 3.0), Y])
    assert pairs_of(constant, 6) == [[1, 2], [3, 4]]
    assert pairs_of(constant[:, [0, 1]], 6) == [[0, 1]]
    assert pairs_of(np.zeros((4, 3)), 6) == [[0, 1]]


def test_at_most_twelve_panels_or_one_per_embedding():
    assert [most_pairs(count) for count in (1, 2, 4, 5, 6, 7, 40)] == [6, 3, 3, 2, 2, 1, 1]


def test_more_than_two_axes_are_drawn_in_pairs():
    le = LaplacianEigenmaps(5).fit(X)
    display = EmbeddingDisplay.from_estimator(le, CLASSES, legend_title="class")
    assert [(ax.get_xlabel(), ax.get_ylabel()) for ax in display.axes_] == [
        (f"laplacianeigenmaps{i}", f"laplacianeigenmaps{j}") for i, j in ((0, 1), (2, 3), (3, 4))
    ]
    for ax, pair in zip(display.axes_, ([0, 1], [2, 3], [3, 4]), strict=True):
        drawn = np.sort(np.asarray(ax.collections[0].get_offsets()), axis=0)
        assert drawn == pytest.approx(np.sort(le.embedding_[:, pair], axis=0))
    assert display.ax_ is display.axes_[0]
    assert display.figure_.axes == display.axes_
    assert display.figure_.get_suptitle() == "LaplacianEigenmaps"
    assert display.figure_.get_supxlabel() == ""
    assert texts(display.legend_) == ["0", "1", "2"]
    assert EmbeddingDisplay(le.embedding_, CLASSES).plot(legend=False).legend_ is None
    given = Figure().add_subplot()
    assert EmbeddingDisplay(le.embedding_).plot(given).axes_ == [given]
    display.figure_.savefig(BytesIO())


def test_hidden_axes_are_reported():
    Z = RNG.normal(size=(60, 15))
    display = EmbeddingDisplay(Z, Z[:, 0]).plot()
    assert len(display.axes_) == 6
    assert display.axes_[-1].get_ylabel() == "axis 12"
    assert display.figure_.get_supxlabel() == "only the first 12 of 15 axes are shown"
    assert display.colorbar_ is not None
    gallery = GalleryDisplay({"deep": Z, "flat": Z[:, :2]}).plot()
    assert gallery.figure_.get_supxlabel() == "at most the first 6 axes of each embedding are shown"


def test_images_in_every_panel():
    display = EmbeddingDisplay(Y, images=RNG.uniform(size=(60, 3, 3))).plot()
    assert {picture.axes for picture in display.images_} == set(display.axes_)
    for picture in display.images_:
        columns = [0, 1] if picture.axes is display.ax_ else [2, 3]
        assert (Y[:, columns] == picture.xy).all(axis=1).any()


def test_gallery_has_one_row_per_embedding_with_many_axes():
    display = GalleryDisplay({"deep": Y, "line": Y[:, 0], "flat": Y[:, :2]}, CLASSES, measures={"deep": 0.5}).plot()
    assert [ax.get_title() for ax in display.axes_] == ["deep", "", "line", "flat"]
    assert [ax.get_xlabel() for ax in display.axes_] == ["axis 1", "axis 3", "", ""]
    drawn = np.sort(np.asarray(display.axes_[1].collections[0].get_offsets()), axis=0)
    assert drawn == pytest.approx(np.sort(Y[:, 2:], axis=0))
    display.figure_.savefig(BytesIO())
    corners = np.array([ax.get_position().bounds[:2] for ax in display.axes_])
    assert corners[0, 1] == pytest.approx(corners[1, 1], abs=0.02)
    assert corners[0, 1] > corners[2, 1] > corners[3, 1]
    assert corners[[0, 2, 3], 0] == pytest.approx(corners[0, 0], abs=0.02)
    chosen = GalleryDisplay.from_embeddings({"a": Y, "b": Y[:, :2]}, axes=(1, 0))
    assert [(ax.get_xlabel(), ax.get_ylabel()) for ax in chosen.axes_] == [("axis 2", "axis 1")] * 2


def test_gallery_shows_measures_below_titles():
    fitted = {"PCA": PCA(2).fit(X), "LE": LaplacianEigenmaps(2).fit(X)}
    display = GalleryDisplay.from_estimators(
        fitted,
        CLASSES,
        measures={"PCA": 0.12345, "LE": "none"},
        measure_name="trust",
        legend_title="class",
        suptitle="two",
    )
    assert [ax.get_title() for ax in display.axes_] == ["PCA", "LE"]
    assert [[text.get_text() for text in ax.texts] for ax in display.axes_] == [["trust 0.123"], ["trust none"]]
    assert display.legend_.get_title().get_text() == "class"
    assert len(display.figure_.legends) == 1
    assert display.figure_.get_suptitle() == "two"
    drawn = np.sort(np.asarray(display.axes_[1].collections[0].get_offsets()), axis=0)
    assert drawn == pytest.approx(np.sort(fitted["LE"].embedding_, axis=0))


def test_gallery_on_a_given_figure():
    figure = Figure()
    part = figure.subfigures(1, 2)[1]
    display = GalleryDisplay({"a": Y, "b": Y}, Y[:, 0]).plot(part, axes=(0, 1), columns=1)
    assert display.figure_ is part
    assert len(part.axes) == 3
    figure.savefig(BytesIO())


def test_pairs_of_axes():
    display = PairsDisplay.from_estimator(PCA(4).fit(X), CLASSES, axes=(0, 2, 3), legend_title="class")
    assert display.axes_.shape == (3, 3)
    assert [[ax is None for ax in row] for row in display.axes_] == [
        [False, True, True],
        [False, False, True],
        [False] * 3,
    ]
    scores = PCA(4).fit(X).embedding_
    drawn = np.asarray(display.axes_[2, 1].collections[0].get_offsets())
    assert np.sort(drawn, axis=0) == pytest.approx(np.sort(scores[:, [2, 3]], axis=0))
    assert display.axes_[2, 1].get_xlabel().startswith("pca2\n(")
    assert display.axes_[2, 0].get_ylabel().startswith("pca3\n(")
    counts = sum(patch.get_height() for patch in display.axes_[1, 1].patches)
    assert counts == 60
    assert texts(display.legend_) == ["0", "1", "2"]
    assert PairsDisplay.from_embedding(Y, Y[:, 0]).colorbar_ is not None
    assert PairsDisplay.from_embedding(Y).axes_[3, 0].get_ylabel() == "axis 4"


# ---------------------------------------------------------------------- invalid input
@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: EmbeddingDisplay.from_estimator(PCA(2)), InputError, "PCA is not fitted: call fit first"),
        (lambda: EmbeddingDisplay.from_estimator(PCA), InputError, "PCA is not fitted"),
        (lambda: EmbeddingDisplay.from_estimator(Y), InputError, "A fitted estimator is needed; got ndarray"),
        (lambda: EmbeddingDisplay([["a", "b"]]), InputError, "must be real numbers"),
        (lambda: EmbeddingDisplay(np.zeros((2, 2, 2))), InputError, r"one row per point, but has shape \(2, 2, 2\)"),
        (lambda: EmbeddingDisplay(Y, names=["a"]), InputError, "1 names for the 4 axes"),
        (lambda: EmbeddingDisplay(Y, aspect="wide"), InputError, "aspect='wide'.*'auto', 'equal'"),
        (lambda: EmbeddingDisplay(Y).plot(axes=(0, 4)), InputError, r"axes=\(0, 4\).*columns are 0 to 3"),
        (lambda: EmbeddingDisplay(Y).plot(axes=(1, 1)), InputError, "two or three different"),
        (lambda: EmbeddingDisplay(Y).plot(Figure().subplots(1, 2)), InputError, "one matplotlib Axes.*got ndarray"),
        (lambda: EmbeddingDisplay(Y).plot(Figure().add_subplot(), axes=(0, 1, 2)), InputError, 'projection="3d"'),
        (lambda: EmbeddingDisplay(Y, [1, 2]).plot(), LabelError, "one value per point \\(60 points\\), but have shape"),
        (lambda: EmbeddingDisplay(Y, Y).plot(), LabelError, r"one value per point \(60 points\)"),
        (lambda: EmbeddingDisplay(Y, [[1], [2, 3]]).plot(), LabelError, r"one value per point \(60 points\)"),
        (lambda: EmbeddingDisplay(Y, images=np.zeros((59, 2, 2))), InputError, "59 images for 60 points"),
        (lambda: EmbeddingDisplay(Y, images=np.zeros((60, 4))), InputError, "Pass image_shape"),
        (lambda: EmbeddingDisplay(Y, images=np.zeros((60, 4)), image_shape=(3, 3)), InputError, "rows of 9 pixels"),
        (lambda: EmbeddingDisplay(Y, images=np.full((60, 2, 2), np.nan)), InputError, "240 missing or infinite pixels"),
        (
            lambda: EmbeddingDisplay(Y, images=np.zeros((60, 2, 2))).plot(axes=(0, 1, 2)),
            InputError,
            "on two axes only",
        ),
        (lambda: GalleryDisplay([Y]), InputError, "embeddings must be a dict.*got list"),
        (lambda: GalleryDisplay({"a": Y}).plot(axes=(0, 1, 2)), InputError, "must name two different columns"),
        (lambda: GalleryDisplay.from_estimators({"a": PCA(2)}), InputError, "not fitted"),
        (lambda: PairsDisplay(Y[:, :1]), InputError, "at least two axes, but this one has one"),
        (
            lambda: PairsDisplay(Y).plot(axes=(0, 9)),
            InputError,
            r"axes=\(0, 9\) must name at least two columns of the embedding, which has 4",
        ),
    ],
)
def test_invalid_input_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
