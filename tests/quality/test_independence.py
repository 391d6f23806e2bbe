"""HSIC: dense definitions and tests of independence."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats
from scipy.spatial.distance import cdist

from eigenspan import Kernel
from eigenspan.errors import GraphError, InputError
from eigenspan.quality import hsic
from eigenspan.quality.independence import _centred, unbiased_hsic


def test_the_biased_estimate_is_its_formula() -> None:
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((40, 3)), rng.standard_normal((40, 2))
    K, L = np.exp(-0.3 * cdist(X, X, "sqeuclidean")), Y @ Y.T
    H = np.eye(40) - 1 / 40
    found = hsic(X, Y, kernel=Kernel("rbf", gamma=0.3), y_kernel="linear", test=None)
    assert np.isclose(found.hsic, np.trace(K @ H @ L @ H) / 39**2, rtol=1e-12)
    assert np.isnan(found.pvalue)
    assert found.test is None


def test_the_unbiased_estimate_is_the_mean_over_quadruples() -> None:
    """The U-statistic of order four, summed over all quadruples of distinct rows [Song et al. 2012]."""
    rng = np.random.default_rng(1)
    X, Y = rng.standard_normal((2, 7))
    K, L = (np.exp(-(np.subtract.outer(v, v) ** 2)) for v in (X, Y))
    terms = [K[i, j] * (L[i, j] + L[q, r] - 2 * L[i, q]) for i, j, q, r in itertools.permutations(range(7), 4)]
    assert np.isclose(unbiased_hsic(K, L), np.mean(terms), rtol=1e-10)
    assert np.isclose(hsic(X, Y, kernel=Kernel("rbf", gamma=1.0), estimator="unbiased", test=None).hsic, np.mean(terms))


def test_linear_kernels_give_the_squared_covariance() -> None:
    x, y = np.random.default_rng(2).standard_normal((2, 50))
    expected = (np.cov(x, y)[0, 1]) ** 2
    assert np.isclose(hsic(x, y, kernel="linear", test=None).hsic, expected, rtol=1e-12)


def test_the_gamma_p_value_agrees_with_permutations() -> None:
    rng = np.random.default_rng(3)
    x = rng.standard_normal(150)
    y = 0.12 * x**2 + rng.standard_normal(150)
    gamma, permutation = hsic(x, y), hsic(x, y, test="permutation", n_permutations=400)
    assert gamma.hsic == permutation.hsic
    assert abs(gamma.pvalue - permutation.pvalue) < 0.05
    unbiased = hsic(x, y, test="permutation", estimator="unbiased", n_permutations=200)
    assert abs(unbiased.pvalue - permutation.pvalue) < 0.1


def test_p_values_of_independent_variables_are_uniform() -> None:
    rng = np.random.default_rng(4)
    p = np.array([hsic(*rng.standard_normal((2, 60))).pvalue for _ in range(200)])
    assert stats.kstest(p, "uniform").pvalue > 1e-3


def test_all_permutations_of_six_rows_are_exact() -> None:
    """The share among random permutations approaches that among all 720."""
    x, y = np.random.default_rng(5).standard_normal((2, 6))
    K, L = (_centred(np.exp(-(np.subtract.outer(v, v) ** 2))) for v in (x, y))
    every = [np.sum(K * L[np.ix_(o, o)]) for o in map(list, itertools.permutations(range(6)))]
    exact = np.mean(np.array(every) >= every[0] - 1e-12)
    found = hsic(x, y, kernel=Kernel("rbf", gamma=1.0), test="permutation", n_permutations=2000).pvalue
    assert abs(found - exact) < 5 * np.sqrt(exact * (1 - exact) / 2000) + 1e-3


def test_dependence_without_correlation_is_found() -> None:
    x = np.linspace(-1, 1, 80)
    assert hsic(x, x**2).pvalue < 1e-3
    assert hsic(x, x**2, kernel="linear").pvalue > 0.1


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"estimator": "best"}, "estimator"),
        ({"test": "F"}, "test="),
        ({"test": "permutation", "n_permutations": 0}, "n_permutations"),
    ],
)
def test_odd_choices_are_refused(params: dict, says: str) -> None:
    with pytest.raises(InputError, match=says):
        hsic(np.arange(9.0), np.arange(9.0), **params)


def test_odd_data_are_refused() -> None:
    with pytest.raises(InputError, match="rows"):
        hsic(np.arange(9.0), np.arange(8.0))
    with pytest.raises(InputError, match="at least 6"):
        hsic(np.arange(5.0), np.arange(5.0))
    with pytest.raises(InputError, match="missing"):
        hsic(np.array([1.0, np.nan, 3, 4, 5, 6]), np.arange(6.0))
    with pytest.raises(GraphError, match="coincide"):
        hsic(np.ones(9), np.arange(9.0))
    constant = hsic(np.ones(9), np.arange(9.0), kernel="linear")
    assert constant.hsic == 0.0
    assert constant.pvalue == 1.0


def test_kernel_matrices_are_taken_as_they_are() -> None:
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((30, 3)), rng.standard_normal(30)
    K = np.exp(-0.3 * cdist(X, X, "sqeuclidean"))
    kernel = Kernel("rbf", gamma=0.3)
    found = hsic(K, Y, kernel="precomputed", y_kernel=kernel)
    assert found.hsic == pytest.approx(hsic(X, Y, kernel=kernel).hsic)
    with pytest.raises(InputError, match=r"reads X as a kernel matrix.*\(30, 3\)"):
        hsic(X, K, kernel="precomputed")


def test_complex_values_are_refused() -> None:
    with pytest.raises(InputError, match="X holds complex numbers"):
        hsic(np.ones((8, 1)) * 1j, np.arange(8.0))
