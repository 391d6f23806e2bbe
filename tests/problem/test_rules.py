"""Rules on spectra, against simulation, formulas and cases with an answer."""

import numpy as np
import pytest

from eigenspan.problem import dimension_rules as rules
from eigenspan.problem.dimension_rules import gram_dimension, suggested_dimension


def spectrum(n, D, variances, noise, seed=0):
    """Eigenvalues of the scatter of n normal rows with these variances along some axes, and noise along all."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, D)) * noise
    X[:, : len(variances)] += rng.standard_normal((n, len(variances))) * np.sqrt(variances)
    return np.linalg.svd(X - X.mean(axis=0), compute_uv=False) ** 2


@pytest.mark.parametrize("tail", [(), (0.0,), (1e-7, 1e-12), (5e-4, 1e-13, 0.0)])
def test_a_drop_to_zero_does_not_count(tail):
    """Whatever is proved, shares of 56, 37.5 and 6.3 per cent are three axes, and five in ten thousand is not a fourth."""
    shares = np.array([0.562, 0.375, 0.063, 0.0005, *tail])
    for noise in (0.0, 1e-12, 1e-5, 1e-3):
        assert suggested_dimension(shares, noise) == 3


def test_a_stick_broken_at_random():
    levels = rules.broken_stick(6)
    assert levels.sum() == pytest.approx(1)
    cuts = np.sort(np.random.default_rng(0).uniform(size=(20_000, 5)), axis=1)
    pieces = np.sort(np.diff(cuts, prepend=0.0, append=1.0, axis=1), axis=1)[:, ::-1]
    np.testing.assert_allclose(levels, pieces.mean(axis=0), rtol=0.02)


@pytest.mark.parametrize(("n", "D"), [(60, 8), (8, 20)])
def test_levels_of_independent_columns(n, D):
    """Drawn through the Cholesky factor of the scatter they are those of rows drawn one by one."""
    rng, spread = np.random.default_rng(0), np.linspace(1, 3, D)
    levels = rules.parallel_levels(spread, n, rng, repeats=300)
    drawn = []
    for _ in range(300):
        X = rng.standard_normal((n, D)) * spread
        drawn.append(np.linalg.svd(X - X.mean(axis=0), compute_uv=False)[: levels.size] ** 2 / (n - 1))
    np.testing.assert_allclose(levels, np.quantile(drawn, 0.95, axis=0)[: levels.size], rtol=0.12)


def test_the_bend_of_a_scree_plot_by_all_cuts():
    values = np.sort(np.random.default_rng(0).exponential(size=15))[::-1]
    values[:4] += 5
    sums = [np.var(values[:k]) * k + np.var(values[k:]) * (15 - k) for k in range(1, 15)]
    assert rules.elbow(values) == np.argmin(sums) + 1 == 4
    assert rules.elbow(np.ones(1)) == rules.eigengap(np.ones(1)) == 1


def test_the_largest_ratio():
    assert rules.eigengap(np.array([9.0, 8.0, 7.0, 0.1, 0.09])) == 3
    assert rules.eigengap(np.array([9.0, 8.0, 0.0, 0.0])) == 2
    assert rules.above(np.array([5.0, 3.0, 1.0, 2.0]), np.array([1.0, 2.0, 2.0, 1.0])) == 2
    assert rules.above(np.array([5.0, 3.0]), np.array([1.0, 2.0])) == 2
    assert rules.above(np.array([5.0, 3.0]), np.array([6.0, 2.0])) == 1  # one at least
    assert rules.above(np.array([5.0, 3.0]), np.array([4.0, 3.0])) == 1  # a value at its level does not exceed it


@pytest.mark.parametrize("noise", [0.02, 0.1, 0.3])
@pytest.mark.parametrize(("n", "D"), [(60, 10), (300, 30), (2000, 20)])
@pytest.mark.parametrize("variances", [(1.0,) * 4, (9.0, 4.0, 1.0)])
def test_axes_above_equal_noise(n, D, variances, noise):
    values = spectrum(n, D, variances, noise)
    assert rules.likeliest_number(values, n, D, values.sum()) == len(variances)
    assert gram_dimension(values, n, 0.0, values.sum()) == len(variances)  # from distances, of which D is not known


def test_points_without_noise_have_all_their_axes():
    flat = spectrum(50, 3, (3.0, 2.0, 1.0), 0.0)
    padded = np.concatenate([flat, np.full(46, 1e-15)])
    assert gram_dimension(padded, 50, 1e-15, padded.sum()) == 3
    alike = spectrum(200, 3, (1.0, 1.0, 1.0), 0.0)
    assert gram_dimension(np.append(alike, np.zeros(10)), 200, 0.0, alike.sum()) == 3
    assert gram_dimension(np.zeros(5), 6, 0.0, 0.0) == 1


def test_errors_of_distances_do_not_count_as_axes():
    """A matrix of errors has eigenvalues of either sign alike: those of two axes stand out."""
    for seed in range(5):
        rng, n = np.random.default_rng(seed), 150
        Y = rng.standard_normal((n, 2)) * [3, 1.5]
        E = rng.standard_normal((n, n)) * 0.4
        values = np.linalg.eigvalsh(Y @ Y.T + (E + E.T) / 2)[::-1]
        assert gram_dimension(values, n, -values[-1], values.sum()) == 2
        assert gram_dimension(values[:20], n, -values[-1], values.sum()) == 2
    assert gram_dimension(np.array([1.0, 0.5]), 10, 5.0, 1.0) == 1  # nothing but errors
