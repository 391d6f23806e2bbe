"""The correlation integral: counts compared with the definition, slopes with theory, standard errors with new samples."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

from eigenspan import intrinsic_dimension
from eigenspan.dimension import correlation
from eigenspan.dimension._data import read_data
from eigenspan.errors import DimensionError, InputError, PrecisionWarning
from eigenspan.numerics.nearest.pair_counts import N_BINS, bin_numbers, bins_of, pair_histogram


def sphere(n, seed=0, d=3):
    Z = np.random.default_rng(seed).standard_normal((n, d))
    return Z / np.linalg.norm(Z, axis=1, keepdims=True)


def sorted_distances(X, metric="euclidean"):
    return np.sort(pdist(X, metric))


@pytest.mark.parametrize("metric", ["euclidean", "cityblock", "precomputed", "callable"])
def test_every_pair_is_counted_once(metric):
    X = sphere(120)
    distances = sorted_distances(X, "cityblock" if metric in ("cityblock", "callable") else "euclidean")
    given = {"callable": lambda a, b: float(np.abs(a - b).sum())}.get(metric, metric)
    data = read_data(squareform(distances) if metric == "precomputed" else X, given, None)
    found = correlation.integral_of(data)
    assert found.pairs[-1] == len(distances) == found.new.sum()
    for scale, pairs in zip(found.scales, found.pairs, strict=True):
        assert np.sum(distances < scale * (1 - 1e-6)) <= pairs <= np.sum(distances < scale * (1 + 1e-6))
    assert np.all(np.diff(found.scales) > 0)


def test_the_compiled_loop_equals_numpy(monkeypatch):
    X = 100 + sphere(400, d=5)
    squares = sorted_distances(X) ** 2
    extent = np.abs(X - X.mean(axis=0)).max()
    scale = 2.0 ** np.floor(np.log2(extent))
    edges, counts = bins_of(np.bincount(bin_numbers(squares / scale**2), minlength=N_BINS), scale)
    compiled_edges, compiled = pair_histogram(X)
    np.testing.assert_allclose(compiled_edges, edges, rtol=1e-6)
    assert np.abs(compiled - counts).sum() <= 1e-3 * len(
        squares
    )  # pairs at the edge of a bin may differ in single precision
    plain = intrinsic_dimension(X)
    monkeypatch.setattr(correlation, "_SMALL", 0.0)
    assert intrinsic_dimension(X).dimension == pytest.approx(plain.dimension, abs=0.02)


@pytest.mark.parametrize("fit_range", ["all", 10_000, 1_000])
def test_the_fit_equals_a_line_through_the_sorted_distances(fit_range):
    """All pairs have equal weight, as in a line through all points (log d_k, log k)."""
    distances = sorted_distances(sphere(700))
    some = distances[: len(distances) if fit_range == "all" else fit_range]
    slope = np.polyfit(np.log(some), np.log(np.arange(1, some.size + 1)), 1)[0]
    assert intrinsic_dimension(sphere(700), fit_range=fit_range).dimension == pytest.approx(slope, abs=0.03)


def test_a_range_of_distances():
    found = intrinsic_dimension(sphere(700), fit_range=(0.1, 0.5))
    low, high = found.facts["fit_range"]
    assert 0.1 <= low < high <= 0.5
    used = found.curve.x[found.curve.used]
    assert used[0] >= low
    assert used[-1] <= high
    assert found.dimension == pytest.approx(2, abs=0.1)


def test_a_uniform_sphere_has_the_same_slope_at_every_scale():
    """C(ε) = ε²/4 holds exactly for the chords of a sphere."""
    found = intrinsic_dimension(sphere(1500), fit_range="all")
    assert found.dimension == pytest.approx(2, abs=0.02)
    many = found.facts["integral"] * 1500 * 749.5 > 500
    np.testing.assert_allclose(found.facts["integral"][many], found.facts["scales"][many] ** 2 / 4, rtol=0.2)
    np.testing.assert_allclose(found.curve.y[found.curve.x > 0.2], 2, atol=0.15)


def test_the_auto_range_has_a_few_neighbours_per_point():
    n = 1000
    found = intrinsic_dimension(sphere(n))
    low, high = found.facts["fit_range"]
    distances = sorted_distances(sphere(n))
    assert 0.05 * n <= np.sum(distances < low * 1.001) <= 0.07 * n + 20
    assert 3.5 * n <= np.sum(distances < high * 1.001) <= 5 * n


def test_the_standard_error_agrees_with_new_samples():
    found = [intrinsic_dimension(sphere(300, seed)) for seed in range(30)]
    spread = np.std([result.dimension for result in found], ddof=1)
    assert 0.6 < np.mean([result.error for result in found]) / spread < 1.6


def test_a_wider_window_is_smoother():
    rough, smooth = (intrinsic_dimension(sphere(400), window=w).curve for w in (0.25, 2.0))
    assert np.abs(np.diff(smooth.y)).mean() < np.abs(np.diff(rough.y)).mean() / 2


def test_high_dimensions_are_underestimated():
    """Figure 2.5 of [S3]: the slope at small distances is below the dimension, increasingly in higher dimensions."""
    rng = np.random.default_rng(0)
    shares = [intrinsic_dimension(rng.standard_normal((800, d))).dimension / d for d in (2, 10, 50)]
    assert 1.05 > shares[0] > shares[1] > shares[2] > 0.3


def test_the_unit_does_not_matter():
    X = sphere(300, d=4)
    for factor in (1e-30, 1e30):
        scaled = intrinsic_dimension(factor * X)
        assert scaled.dimension == pytest.approx(intrinsic_dimension(X).dimension, abs=0.1)
        assert np.isfinite(scaled.error)


@pytest.mark.parametrize(
    ("fit_range", "error"),
    [
        *((wrong, InputError) for wrong in ("some", (2, 1), (1, 2, 3), True, None, (np.nan, 1.0))),
        *((empty, DimensionError) for empty in (0, -5, (100.0, 200.0))),
    ],
)
def test_invalid_fit_ranges(fit_range, error):
    with pytest.raises(error, match="fit_range"):
        intrinsic_dimension(sphere(50), fit_range=fit_range)


@pytest.mark.parametrize("window", [0, -1, "wide", np.nan, None, True])
def test_invalid_windows(window):
    with pytest.raises(InputError, match="window"):
        intrinsic_dimension(sphere(50), window=window)


def test_distant_groups_are_counted_in_double_precision(monkeypatch):
    X = np.vstack([sphere(150), 1e7 + sphere(150, 1)])
    plain = intrinsic_dimension(X)
    assert plain.dimension == pytest.approx(2, abs=0.4)
    monkeypatch.setattr(correlation, "_SMALL", 0.0)
    assert intrinsic_dimension(X).dimension == plain.dimension


def test_points_with_all_distances_equal():
    with pytest.raises(DimensionError, match="too few different distances"), pytest.warns(PrecisionWarning):
        intrinsic_dimension(np.eye(10))
