"""How many dimensions an unfolding says that it has."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_swiss_roll

from eigenspan import MVU
from eigenspan.problem.dimension_rules import suggested_dimension


@pytest.mark.parametrize(
    ("spectrum", "dimension"),
    [([0.97, 0.03, 1e-12], 2), ([0.5, 0.5], 2), ([1.0, 1e-9, 1e-9], 1), ([0.5, 0.3, 0.2, 1e-7], 3), ([0.0, 0.0], 1)],
)
@pytest.mark.parametrize("noise", [0.0, 1e-3])
def test_the_dimension_is_where_the_spectrum_drops(spectrum, dimension, noise):
    assert suggested_dimension(np.array(spectrum), noise) == dimension
    assert suggested_dimension(7.0 * np.array(spectrum[::-1]), -noise) == dimension  # in any unit and order


@pytest.mark.parametrize(
    ("spectrum", "gap", "dimension"),
    [
        ([0.562, 0.375, 0.063, 0.0005], 1e-3, 3),  # the last axis is below what is proved
        ([0.562, 0.375, 0.063, 0.0005, 1e-14], 1e-3, 3),
        ([0.6, 0.396, 0.004, 1e-8], 1e-4, 2),  # noise above the gap, but far below the sheet
        ([0.97, 0.03, 1e-5], 1e-3, 2),  # a long sheet is not a line
        ([0.9925, 0.0075, 1e-9], 7e-4, 2),  # nor is a roll that came out long
        ([0.7, 0.3, 1e-8], np.inf, 2),  # nothing is proved: what holds nearly all of the variance
        ([0.7, 0.3, 1e-8], 1.0, 2),
        ([1.0], 1e-3, 1),
    ],
)
def test_what_the_gap_leaves_open_is_no_drop(spectrum, gap, dimension):
    assert suggested_dimension(np.array(spectrum), gap) == dimension


def _knot(n):
    t = np.linspace(0, 2 * np.pi, n, endpoint=False)
    return np.column_stack([np.sin(t) + 2 * np.sin(2 * t), np.cos(t) - 2 * np.cos(2 * t), -np.sin(3 * t)])


def _plane(n, seed):
    rng = np.random.default_rng(seed)
    return np.hstack([rng.uniform(0, 2, (n, 2)), np.zeros((n, 1))]) + 0.05 * rng.standard_normal((n, 3))


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(
    ("data", "k", "dimension"),
    [
        (lambda seed: make_swiss_roll(600, random_state=seed)[0], 6, 2),
        (lambda seed: _knot(150 + 10 * seed), 4, 2),
        (lambda seed: _plane(200, seed), 8, 2),
        (lambda seed: np.random.default_rng(seed).uniform(0, 1, (250, 3)), 8, 3),
    ],
    ids=["roll", "trefoil", "plane with noise", "cube"],
)
@pytest.mark.every(3)
def test_dimensions_of_known_shapes(data, k, dimension, seed):
    assert MVU(2, n_neighbors=k).fit(data(seed)).suggested_dimension_ == dimension


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.every(3)
def test_a_little_noise_is_no_dimension(seed):
    """Of five axes of very different width two hold all but a few thousandths: the zero behind the third is no drop to speak of."""
    X = np.random.default_rng(seed).standard_normal((120, 5)) * [5, 3, 1, 0.3, 0.2]
    mvu = MVU(2, n_neighbors=8).fit(X)
    shares = mvu.spectrum_ / mvu.spectrum_.sum()
    assert shares[2] < 0.01
    assert mvu.suggested_dimension_ == 2
