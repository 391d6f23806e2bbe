"""Projection pursuit: the directions that are found, their indices and their p-values."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import eval_legendre
from sklearn.decomposition import FastICA

import eigenspan as es
from eigenspan.errors import ConvergenceWarning, DimensionError, InputError
from eigenspan.methods.pursuit.projection_indices import INDICES, friedman, kurtosis, negentropy
from eigenspan.methods.pursuit.projection_pursuit import p_values
from helpers import quietly


@pytest.fixture(scope="module")
def hidden() -> np.ndarray:
    """Return normal points with two clusters along the column of least variance, mixed by a rotation."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((400, 5)) * [30, 20, 10, 5, 1]
    X[:, 4] = np.where(np.arange(400) < 200, -1, 1) + 0.2 * X[:, 4]
    return X


def correlation(a: np.ndarray, b: np.ndarray) -> float:
    return float(abs(np.corrcoef(a, b)[0, 1]))


@pytest.mark.parametrize("name", ["negentropy", "kurtosis", "friedman", "holes"])
def test_two_clusters_of_least_variance_are_found(name: str, hidden: np.ndarray) -> None:
    found = es.ProjectionPursuit(1, index=name, n_restarts=4).fit_transform(hidden)
    assert correlation(found[:, 0], hidden[:, 4]) > 0.999
    theirs = quietly(lambda: FastICA(1, random_state=0).fit_transform(hidden))
    assert correlation(theirs[:, 0], hidden[:, 4]) < 0.1  # keeps the first principal axis only


def test_central_mass_finds_a_narrow_cluster_among_outliers() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 4))
    X[:, 2] = rng.standard_t(2, size=600)
    found = es.ProjectionPursuit(1, index="central-mass", n_restarts=4).fit_transform(X * [9, 3, 1, 5])
    assert correlation(found[:, 0], X[:, 2]) > 0.98


@pytest.mark.parametrize("name", INDICES)
def test_slopes_are_derivatives(name: str) -> None:
    rng, step = np.random.default_rng(1), 1e-5
    y, change = rng.standard_normal((2, 40))
    up, down = (INDICES[name](y + sign * step * change)[0] for sign in (1, -1))
    assert np.isclose(np.mean(INDICES[name](y)[1] * change), (up - down) / (2 * step), rtol=1e-6)


def test_friedmans_index_is_its_definition() -> None:
    """Half the sum of (2j + 1) times the squared means of the Legendre polynomials of 2Φ(y) − 1."""
    y = np.random.default_rng(2).exponential(size=200)
    u = 2 * stats.norm.cdf(y) - 1
    expected = sum((2 * j + 1) / 2 * np.mean(eval_legendre(j, u)) ** 2 for j in range(1, 7))
    assert np.isclose(friedman(y)[0], expected, rtol=1e-12)


def test_negentropy_approximates_the_entropy_that_is_missing() -> None:
    """A mixture of two close normal densities: entropy by quadrature."""
    m = 0.6
    s = np.sqrt(1 - m**2)

    def density(t: np.ndarray) -> np.ndarray:
        return (stats.norm.pdf(t, m, s) + stats.norm.pdf(t, -m, s)) / 2

    grid = np.linspace(-7, 7, 4001)
    entropy = -integrate.trapezoid(density(grid) * np.log(density(grid)), grid)
    weights = density(grid) * (grid[1] - grid[0])
    y = np.repeat(grid, np.round(weights * 1e5).astype(int))
    missing = (1 + np.log(2 * np.pi)) / 2 - entropy
    assert 0.5 * missing < negentropy(y)[0] < 2 * missing


def test_normal_numbers_have_the_documented_indices() -> None:
    y = stats.norm.ppf((np.arange(100_000) + 0.5) / 100_000)
    values = {name: index(y)[0] for name, index in INDICES.items()}
    assert max(values["negentropy"], values["kurtosis"], values["friedman"]) < 1e-4
    assert np.isclose(values["holes"], 0.744, atol=1e-3)
    assert np.isclose(values["central-mass"], 0.256, atol=1e-3)


def test_in_the_plane_no_angle_is_better() -> None:
    """Oracle: all angles of a fine grid over the white plane."""
    rng = np.random.default_rng(4)
    X = np.column_stack([rng.uniform(size=300), rng.exponential(size=300)]) @ [[3.0, 1.0], [0.5, 1.0]]
    found = es.ProjectionPursuit(2, n_restarts=2).fit(X)
    Y = found.embedding_
    np.testing.assert_allclose(Y.T @ Y / 300, np.eye(2), atol=1e-10)
    angles = np.linspace(0, np.pi, 2000)
    best = max(negentropy(np.cos(a) * Y[:, 0] + np.sin(a) * Y[:, 1])[0] for a in angles)
    assert np.isclose(found.index_values_[0], best, rtol=1e-5)
    np.testing.assert_allclose([negentropy(y)[0] for y in Y.T], found.index_values_, rtol=1e-9)


def test_units_and_mixtures_do_not_matter(hidden: np.ndarray) -> None:
    mixing = np.random.default_rng(5).standard_normal((5, 5))
    one, other = (es.ProjectionPursuit(1, n_restarts=3).fit(X) for X in (hidden, hidden @ mixing * 1e3 + 7))
    np.testing.assert_allclose(one.index_values_, other.index_values_, rtol=1e-8)
    assert correlation(one.embedding_[:, 0], other.embedding_[:, 0]) > 1 - 1e-8


def test_p_values_tell_structure_from_chance(hidden: np.ndarray) -> None:
    found = es.ProjectionPursuit(2, n_restarts=2, n_draws=19).fit(hidden)
    assert found.null_values_.shape == (19, 2)
    assert found.pvalues_[0] == 1 / 20 < found.pvalues_[1]
    again = es.ProjectionPursuit(2, n_restarts=2, n_draws=19).fit(hidden)
    np.testing.assert_array_equal(found.null_values_, again.null_values_)
    assert not hasattr(es.ProjectionPursuit(1).fit(hidden), "pvalues_")


def test_p_values_count_and_do_not_decrease() -> None:
    values, null = np.array([3.0, 2.0, 1.9]), np.array([[1.0, 2.5, 1.0], [4.0, 2.0, 1.0], [2.0, 1.0, 1.0]])
    np.testing.assert_allclose(p_values(values, null), [2 / 4, 3 / 4, 3 / 4])


def test_p_values_of_normal_points_are_uniform() -> None:
    rng = np.random.default_rng(7)
    p = [
        es.ProjectionPursuit(1, n_restarts=1, n_draws=9).fit(rng.standard_normal((60, 2))).pvalues_[0]
        for _ in range(25)
    ]
    assert stats.binom.cdf(np.sum(np.array(p) <= 0.2), 25, 0.2) > 1e-3
    assert stats.binom.sf(np.sum(np.array(p) <= 0.2) - 1, 25, 0.2) > 1e-3


def test_a_function_is_an_index(hidden: np.ndarray) -> None:
    named, own = (es.ProjectionPursuit(1, index=index, n_restarts=2).fit(hidden) for index in ("kurtosis", kurtosis))
    np.testing.assert_array_equal(named.components_, own.components_)
    with pytest.raises(InputError, match="slopes"):
        es.ProjectionPursuit(1, index=lambda y: 1.0).fit(hidden)
    with pytest.raises(InputError, match="finite"):
        es.ProjectionPursuit(1, index=lambda y: (np.nan, y)).fit(hidden)


def test_repeated_and_constant_columns_are_left_out(hidden: np.ndarray) -> None:
    wide = np.column_stack([hidden, hidden[:, :2] @ [[1.0], [2.0]], np.ones(400)])
    plain, found = (es.ProjectionPursuit(2, n_restarts=3).fit(X) for X in (hidden, wide))
    np.testing.assert_allclose(found.index_values_[0], plain.index_values_[0], rtol=1e-8)
    with pytest.raises(DimensionError, match="rank"):
        es.ProjectionPursuit(6).fit(wide)


def test_more_dimensions_than_rows_are_refused() -> None:
    X = np.random.default_rng(0).standard_normal((20, 30))
    with pytest.raises(DimensionError, match="reduce=4"):
        es.ProjectionPursuit(1).fit(X)
    assert es.ProjectionPursuit(1, reduce=4, n_restarts=2).fit(X).components_.shape == (1, 30)


def test_too_few_steps_are_reported(hidden: np.ndarray) -> None:
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        es.ProjectionPursuit(1, n_restarts=1, max_iter=1, tol=1e-9).fit(hidden)
