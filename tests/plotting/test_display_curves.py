"""Displays of spectra, dimensions, rank curves and angles; and all displays: no use of pyplot."""

import sys
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest
import scipy.sparse as sp
from matplotlib.colors import to_hex
from matplotlib.container import BarContainer
from matplotlib.figure import Figure
from sklearn.preprocessing import StandardScaler

import eigenspan.plotting as plotting
from eigenspan import CCA, LPP, MVU, PCA, LaplacianEigenmaps, intrinsic_dimension, quality
from eigenspan.dimension import Curve, Dimension
from eigenspan.errors import InputError
from eigenspan.plotting import (
    BiplotDisplay,
    DimensionDisplay,
    DistortionDisplay,
    EmbeddingDisplay,
    GalleryDisplay,
    GraphDisplay,
    PairsDisplay,
    RankCurvesDisplay,
    SpectrumDisplay,
    StabilityDisplay,
)
from eigenspan.plotting._colours import FEW
from eigenspan.problem.dimension_rules import suggested_dimension

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 5)) * [5, 4, 3, 2, 1]
Y = RNG.normal(size=(60, 2))


def texts(legend):
    return [text.get_text() for text in legend.get_texts()]


# ---------------------------------------------------------------------- spectra
@pytest.mark.parametrize("cls", [PCA, LPP, LaplacianEigenmaps])
def test_next_eigenvalue_is_computed_from_the_gap(cls):
    """The computed value equals the next eigenvalue of a fit with one more component, for minimisation and maximisation."""
    display = SpectrumDisplay.from_estimator(cls(2).fit(X))
    following = cls(3).fit(X).eigenvalues_
    assert display.kept_.get_ydata() == pytest.approx(following[:2])
    assert display.beyond_.get_xdata() == 3
    assert display.beyond_.get_ydata() == pytest.approx(following[2], rel=1e-6)
    assert display.cut_.get_xdata()[0] == 2.5
    share = abs(following[1] - following[2]) / max(following[1:])
    word = "drop" if cls is PCA else "rise"
    assert texts(display.legend_) == ["2 kept", "the next", f"cut: a {word} of {100 * share:.2g} %"]
    assert display.ax_.get_title() == cls.__name__


def test_no_next_eigenvalue_at_the_end_of_the_spectrum():
    display = SpectrumDisplay.from_estimator(PCA(5).fit(X))
    assert display.beyond_ is display.rest_ is display.cut_ is display.legend_ is None


def test_unfolding_shows_full_spectrum_and_suggested_dimension():
    fitted = MVU(2, n_neighbors=5).fit(X[:30])
    display = SpectrumDisplay.from_estimator(fitted)
    assert np.append(display.kept_.get_ydata(), display.rest_.get_ydata()) == pytest.approx(fitted.spectrum_)
    assert display.suggested_.get_xdata()[0] == fitted.suggested_dimension_ + 0.5
    assert f"suggested dimension: {fitted.suggested_dimension_}" in texts(display.legend_)
    assert display.beyond_ is None


def test_automatic_n_components_is_the_suggested_dimension():
    fitted = PCA("auto").fit(X)
    display = SpectrumDisplay.from_estimator(fitted)
    assert display.suggested == fitted.n_components_ == len(display.kept_.get_ydata())
    assert SpectrumDisplay.from_estimator(PCA(2).fit(X)).suggested is None


def test_full_spectrum_begins_with_the_kept_eigenvalues():
    fitted = CCA(1).fit(X[:, :2], X[:, 2:])
    display = SpectrumDisplay.from_estimator(fitted)
    assert len(display.kept_.get_ydata()) == 1
    assert display.kept_.get_ydata() == pytest.approx(fitted.eigenvalues_)


def test_suggested_dimension_from_eigenvalues():
    values = np.array([9.0, 8.0, 0.01, 0.009])
    display = SpectrumDisplay.from_eigenvalues(values, n_components=3, suggest=True)
    assert display.suggested == suggested_dimension(values)
    assert display.suggested_.get_xdata()[0] == display.suggested + 0.5
    assert SpectrumDisplay.from_eigenvalues([9.0, 8.0]).suggested_ is None


def test_logarithmic_scale_omits_nonpositive_eigenvalues():
    display = SpectrumDisplay.from_eigenvalues([3.0, 1.0, 0.1, 0.0, -1e-9], n_components=2, log=True)
    assert display.ax_.get_yscale() == "log"
    assert list(display.rest_.get_ydata()) == [0.1]
    assert texts(display.legend_)[-1] == "2 not positive, left out"
    low, high = display.ax_.get_ylim()
    assert 0 < low < 0.1
    assert high > 3
    with pytest.raises(InputError, match="None of the eigenvalues is positive"):
        SpectrumDisplay([0.0, -1.0]).plot(log=True)


def test_legend_is_above_the_eigenvalues():
    display = SpectrumDisplay.from_estimator(PCA(4).fit(X))
    assert display.ax_.get_ylim()[1] > 1.3 * display.kept_.get_ydata().max()


# ---------------------------------------------------------------------- rank curves
def coranking(level, n=50):
    K = np.arange(1, n - 1)
    return SimpleNamespace(r_nx=level * np.ones(n - 2), q_nx=level + K / n, lcmc=level / 2 * np.ones(n - 2), auc=level)


def test_rank_curves_have_a_logarithmic_axis_and_areas():
    display = RankCurvesDisplay.from_results({"a": coranking(0.25), "b": coranking(0.5)})
    assert display.ax_.get_xscale() == "log"
    assert texts(display.legend_) == ["a  (AUC 0.250)", "b  (AUC 0.500)"]
    assert list(display.lines_["a"].get_xdata()) == list(range(1, 49))
    assert display.lines_["b"].get_ydata() == pytest.approx(0.5)
    assert display.chance_.get_ydata() == pytest.approx(0)
    assert [to_hex(line.get_color()) for line in display.lines_.values()] == list(FEW[:2])


@pytest.mark.parametrize("which, chance", [("q_nx", np.arange(1, 49) / 49), ("lcmc", np.zeros(48))])
def test_chance_level_of_other_rank_curves(which, chance):
    display = RankCurvesDisplay({"a": coranking(0.3)}).plot(which=which)
    assert display.lines_["a"].get_ydata() == pytest.approx(getattr(coranking(0.3), which))
    assert display.chance_.get_ydata() == pytest.approx(chance)


def test_many_curves_have_distinct_styles():
    display = RankCurvesDisplay({str(i): coranking(i / 20) for i in range(12)}).plot()
    styles = {(line.get_color(), line.get_linestyle()) for line in display.lines_.values()}
    assert len(styles) == 12


# ---------------------------------------------------------------------- dimensions
SCALE = np.geomspace(0.1, 10, 30)
SLOPE = Curve(SCALE, np.full(30, 2.0), SCALE > 1, "scale", "slope", x_log=True)


def test_curve_shows_used_part_estimate_and_error():
    display = DimensionDisplay.from_result(Dimension(2.0, 0.25, "correlation", 100, SLOPE))
    assert display.ax_.get_xscale() == "log"
    assert np.isfinite(display.used_.get_ydata()).sum() == SLOPE.used.sum()
    assert display.line_.get_xdata() == pytest.approx(SCALE)
    assert display.estimate_.get_ydata() == pytest.approx([2, 2])
    band = display.ax_.patches[-1].get_extents().transformed(display.ax_.transData.inverted())
    assert (band.y0, band.y1) == pytest.approx((1.75, 2.25))
    assert display.ax_.get_title() == "correlation: 2 ± 0.25"
    assert "2 ± 0.25" in texts(display.legend_)


def test_no_estimate_line_if_the_height_is_not_a_dimension():
    curve = Curve(SCALE, SCALE**2, SCALE > 1, "scale", "share of pairs", x_log=True, y_log=True)
    display = DimensionDisplay.from_result(Dimension(2.0, np.nan, "other", 100, curve))
    assert display.estimate_ is None
    assert display.ax_.get_yscale() == "log"
    assert display.ax_.get_title() == "other: 2"


def test_a_spectrum_is_drawn_as_bars_beside_its_reference():
    axis = np.arange(1.0, 7.0)
    curve = Curve(axis, 1 / axis, axis < 3, "axis", "variance", reference=np.full(6, 0.4), reference_label="noise")
    display = DimensionDisplay.from_result(Dimension(2, np.nan, "parallel", 100, curve))
    assert len(display.line_) == 6
    assert len(display.used_) == 2
    assert display.reference_.get_ydata() == pytest.approx(0.4)
    assert "noise" in texts(display.legend_)


def test_long_spectra_are_truncated_with_a_note():
    axis = np.arange(1.0, 101.0)
    curve = Curve(axis, 1 / axis, axis < 3, "axis", "variance", reference=np.ones(100), reference_label="noise")
    display = DimensionDisplay.from_result(Dimension(2, np.nan, "parallel", 100, curve))
    assert len(display.line_) == len(display.reference_.get_xdata()) == 20
    assert "the first 20 of 100" in texts(display.legend_)
    many = Curve(axis, 1 / axis, axis < 31, "axis", "variance")
    assert len(DimensionDisplay.from_result(Dimension(30, np.nan, "parallel", 100, many)).used_) == 30


def test_estimates_side_by_side():
    found = [Dimension(2.0, 0.1, "mle", 10), Dimension(3.0, np.nan, "scree", 10)]
    display = DimensionDisplay.from_results(found)
    assert [tick.get_text() for tick in display.ax_.get_yticklabels()] == ["mle", "scree"]
    assert list(display.dots_[0].get_xdata()) == [2, 3]
    (bars,) = display.dots_[2]
    assert [np.ptp(segment[:, 0]) for segment in bars.get_segments()] == pytest.approx([0.2, 0])
    named = DimensionDisplay.from_results({"one": found[0]})
    assert [tick.get_text() for tick in named.ax_.get_yticklabels()] == ["one"]


# ---------------------------------------------------------------------- stability
def test_stability_shows_angles_and_band():
    angles = RNG.uniform(0, [5, 40, 8], (50, 3))
    result = SimpleNamespace(angles=angles, low=[1, 2, 3], median=[2, 20, 4], high=[4, 39, 7], n_components=3)
    display = StabilityDisplay.from_result(result)
    assert list(display.line_.get_ydata()) == [2, 20, 4]
    edges = display.band_.get_paths()[0].vertices
    assert {(1.0, 1.0), (1.0, 4.0), (2.0, 2.0), (2.0, 39.0)} <= {tuple(map(float, place)) for place in edges}
    assert len(display.points_.get_xdata()) == 150
    assert texts(display.legend_) == ["median", "confidence band", "50 resamples"]
    own = StabilityDisplay(angles)
    assert own.median == pytest.approx(np.median(angles, axis=0))
    assert StabilityDisplay(angles[:, :1]).plot().ax_.get_ylim()[0] == 0


# ---------------------------------------------------------------------- all displays
EVERY = {
    "EmbeddingDisplay": lambda ax: EmbeddingDisplay.from_embedding(Y, ax=ax),
    "PairsDisplay": lambda ax: PairsDisplay.from_embedding(Y),
    "GalleryDisplay": lambda ax: GalleryDisplay.from_embeddings({"a": Y}),
    "GraphDisplay": lambda ax: GraphDisplay(Y, sp.csr_array(np.eye(60, k=1))).plot(ax),
    "BiplotDisplay": lambda ax: BiplotDisplay(Y, np.eye(2)).plot(ax),
    "DistortionDisplay": lambda ax: DistortionDisplay(Y, Y[:, 0]).plot(ax),
    "SpectrumDisplay": lambda ax: SpectrumDisplay.from_eigenvalues([2.0, 1.0], ax=ax),
    "DimensionDisplay": lambda ax: DimensionDisplay.from_result(Dimension(2.0, 0.1, "mle", 9, SLOPE), ax=ax),
    "RankCurvesDisplay": lambda ax: RankCurvesDisplay.from_results({"a": coranking(0.5)}, ax=ax),
    "StabilityDisplay": lambda ax: StabilityDisplay.from_result(SimpleNamespace(angles=np.ones((4, 2))), ax=ax),
}


def test_every_display_is_tested():
    assert sorted(EVERY) == sorted(name for name in plotting.__all__ if name.endswith("Display"))


@pytest.mark.parametrize("name", EVERY)
def test_missing_matplotlib_gives_install_instructions(name, monkeypatch):
    for module in [module for module in sys.modules if module.split(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=r'pip install "eigenspan\[plot\]"'):
        EVERY[name](None)


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.every(2)
def test_displays_use_given_axes_and_no_pyplot_state(name, tmp_path):
    before = plt.get_fignums()
    display = EVERY[name](None)
    assert plt.get_fignums() == before
    display.figure_.savefig(tmp_path / "picture.png")
    if hasattr(display, "ax_"):
        assert display.ax_.figure is display.figure_
        ax = Figure().add_subplot()
        size = tuple(ax.figure.get_size_inches())
        assert EVERY[name](ax).ax_ is ax
        assert tuple(ax.figure.get_size_inches()) == size
        with pytest.raises(InputError, match="one matplotlib Axes"):
            EVERY[name]([ax])


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: SpectrumDisplay.from_estimator(PCA(2)), "not fitted"),
        (lambda: SpectrumDisplay([]), "1-D array of finite numbers"),
        (lambda: SpectrumDisplay([[1.0]]), r"got shape \(1, 1\)"),
        (lambda: SpectrumDisplay([1.0, np.nan]), "finite numbers"),
        (
            lambda: SpectrumDisplay([1.0], n_components=2),
            "n_components=2 must be between 1 and the number of eigenvalues, 1",
        ),
        (
            lambda: SpectrumDisplay.from_estimator(StandardScaler().fit(X)),
            "Scaler has no eigenvalues_: it is not a spectral",
        ),
        (lambda: RankCurvesDisplay({}), "the dict of results is empty"),
        (lambda: RankCurvesDisplay([coranking(1)]), "results must be a dict"),
        (lambda: RankCurvesDisplay({"a": Y}).plot(), "'a' is a ndarray without r_nx"),
        (lambda: RankCurvesDisplay({"a": coranking(1)}).plot(which="auc"), "which='auc'.*'r_nx', 'q_nx', 'lcmc'"),
        (lambda: DimensionDisplay.from_result(Dimension(2, 0.1, "mle", 9)), "has no curve"),
        (lambda: DimensionDisplay.from_result(3), "got int"),
        (lambda: DimensionDisplay.from_results([]), "nothing to draw"),
        (lambda: StabilityDisplay(np.ones(3)), "one row per resample"),
        (
            lambda: StabilityDisplay(np.ones((3, 2)), low=[1]),
            r"low must be one angle per d \(2 values\), but has shape \(1,\)",
        ),
        (lambda: StabilityDisplay.from_result(3), "int has no angles"),
    ],
)
def test_invalid_input_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()


# ---------------------------------------------------------------------- agreement with the measures
def test_rank_curves_equal_quality_coranking():
    embeddings = {"plane": X[:, :2], "line": X[:, :1]}
    display = RankCurvesDisplay.from_embeddings(X, embeddings)
    found = {name: quality.coranking(X, Z) for name, Z in embeddings.items()}
    for name, result in found.items():
        assert display.lines_[name].get_ydata() == pytest.approx(result.r_nx)
        assert list(display.lines_[name].get_xdata()) == list(result.k)
        assert f"{name}  (AUC {result.auc:.3f})" in texts(display.legend_)
    assert display.bands_ == {}
    assert found["line"].plot().lines_["embedding"].get_ydata() == pytest.approx(found["line"].r_nx)
    part = RankCurvesDisplay.from_embeddings(X, embeddings, which="q_nx", sample=20, max_k=30)
    assert part.chance_.get_ydata() == pytest.approx(np.arange(1, 31) / 59)
    edges = part.bands_["line"].get_paths()[0].vertices
    sampled = quality.coranking(X, X[:, :1], sample=20, max_k=30)
    assert edges[:, 1].max() == pytest.approx(max(sampled.q_nx + sampled.q_nx_error))
    assert [type(part).__name__, part.ax_.get_ylabel()] == ["RankCurvesDisplay", "$Q_{NX}(K)$"]


@pytest.mark.parametrize("kind", ["intrusion", "extrusion", "stress"])
def test_distortion_equals_quality_distortion(kind):
    fitted = PCA(2).fit(X)
    display = DistortionDisplay.from_estimator(fitted, X, kind=kind, worst=2)
    assert display.values == pytest.approx(quality.distortion(X, fitted.embedding_, kind=kind))
    assert display.colorbar_.ax.get_ylabel() == kind
    assert display.ax_.get_xlabel().startswith("pca0 (")
    assert display.ax_.get_aspect() == 1.0


def test_every_estimate_of_dimension_can_be_drawn():
    found = intrinsic_dimension(X, method="all")
    for result in found:
        display = result.plot()
        assert display.ax_.get_title().startswith(f"{result.method}: ")
        spectral = isinstance(display.line_, BarContainer)
        assert spectral == ("axis" in result.curve.x_label)
        assert (display.estimate_ is not None) == (result.method in ("correlation", "mle"))
    every = DimensionDisplay.from_results(found)
    assert [tick.get_text() for tick in every.ax_.get_yticklabels()] == [result.method for result in found]
