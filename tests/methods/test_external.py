"""Other libraries' estimators keep their own checks, and are kept from data that end the process."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.cross_decomposition import PLSRegression
from sklearn.manifold import TSNE
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

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


# ---------------------------------------------------------------------- y
class Remembers(BaseEstimator, TransformerMixin):
    """Takes y if there is one, and says so in its output."""

    def fit(self, X: Any, y: Any = None) -> Any:
        self.weight_ = 0.0 if y is None else float(np.sum(y))
        return self

    def transform(self, X: Any) -> Any:
        return X[:, :2] + self.weight_


class Alone(BaseEstimator, TransformerMixin):
    """Has no place for y."""

    def fit(self, X: Any) -> Any:
        self.mean_ = X.mean(axis=0)
        return self

    def transform(self, X: Any) -> Any:
        return (X - self.mean_)[:, :2]


Y = np.arange(60) % 3


def test_y_is_passed_on_where_it_is_given_and_has_a_place() -> None:
    np.testing.assert_array_equal(es.External(Remembers()).fit_transform(X, Y), X[:, :2] + Y.sum())
    np.testing.assert_array_equal(es.External(Remembers()).fit_transform(X), X[:, :2])
    np.testing.assert_array_equal(es.External(Alone()).fit_transform(X, Y), (X - X.mean(axis=0))[:, :2])


def test_supervised_estimators_within_pipelines() -> None:
    nca = make_pipeline(StandardScaler(), NeighborhoodComponentsAnalysis(2, random_state=0, max_iter=10))
    np.testing.assert_array_equal(es.External(nca).fit_transform(X, Y), clone(nca).fit_transform(X, Y))
    targets = X @ np.random.default_rng(1).standard_normal((5, 2))
    pls = make_pipeline(StandardScaler(), PLSRegression(2))
    scores = clone(pls).fit(X, targets).transform(X)
    external = es.External(pls).fit(X, targets)
    np.testing.assert_allclose(external.embedding_, scores, atol=1e-12)
    np.testing.assert_allclose(external.transform(X[:5]), scores[:5], atol=1e-12)


def test_supervised_umap() -> None:
    umap = pytest.importorskip("umap")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with_labels, without = (
            es.External(umap.UMAP(n_neighbors=8, random_state=0, n_epochs=20)).fit(X, y).embedding_ for y in (Y, None)
        )
    assert not np.allclose(with_labels, without)
