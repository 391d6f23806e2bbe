"""Other libraries' estimators keep their own checks, and are kept from data that end the process."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.manifold import TSNE

import eigenspan as es
from eigenspan.errors import ConvergenceError, InputError

X = np.random.default_rng(0).standard_normal((60, 5))


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("FactorAnalysis", {"n_components": -1}),
        ("FastICA", {"fun": "no"}),
        ("TSNE", {"perplexity": -3.0}),
        ("NonmetricMDS", {"n_init": 0}),
        ("NCA", {"max_iter": -1}),
    ],
)
def test_parameters_are_checked_by_their_owner(name: str, parameters: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=rf"The '{next(iter(parameters))}' parameter of \w+ must be"):
        es.make(name, **parameters).fit(X, np.arange(60) % 2)


def test_an_embedding_has_columns_and_numbers() -> None:
    with pytest.raises(InputError, match=r"FactorAnalysis returned an embedding of shape \(60, 0\)"):
        es.make("FactorAnalysis", n_components=0).fit(X)

    class Broken(TSNE):
        def fit_transform(self, X: object, y: object = None) -> object:
            return np.full((60, 2), np.nan)

    with pytest.raises(ConvergenceError, match="120 numbers that are not finite"):
        es.External(Broken()).fit(X)


@pytest.mark.parametrize("copies", [np.ones((60, 5)), np.full((60, 5), 1e-300), np.tile(X[0], (60, 1))])
def test_equal_rows_are_refused(copies: np.ndarray) -> None:
    with pytest.raises(InputError, match="All 60 rows coincide"):
        es.make("TSNE").fit(copies)


@pytest.mark.parametrize("scale", [1e-100, 1e-25, 1e-15, 1e18, 1e100, 1e160, 1e300])
def test_extreme_scales_are_refused(scale: float) -> None:
    with pytest.raises(InputError, match=r"(multiply|divide) X by"), warnings.catch_warnings():
        warnings.simplefilter("error")
        es.make("TSNE").fit(X / np.abs(X).max() * scale)


@pytest.mark.parametrize("exponent", [-35, 37])
def test_scales_that_are_let_in_change_nothing(exponent: int) -> None:
    """t-SNE does not depend on the unit of X; a power of two shows it to the last bit."""
    fitted = [
        es.make("TSNE", perplexity=10, max_iter=260, init="random").fit(X * unit) for unit in (1.0, 2.0**exponent)
    ]
    np.testing.assert_allclose(fitted[0].embedding_, fitted[1].embedding_, rtol=1e-3, atol=1e-3)
