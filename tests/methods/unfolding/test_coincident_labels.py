"""Equal rows with different labels, which a map of x alone cannot tell apart."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import eigenspan as es
from eigenspan.errors import DuplicateWarning


def rows(seed=0):
    W = np.random.default_rng(seed).standard_normal((24, 3))
    return np.vstack([W, W[:8]]), np.arange(24) % 2


@pytest.mark.parametrize("bridge", ["representatives", "shortest"])
def test_the_map_sends_them_to_the_mean_of_their_places(bridge):
    X, y = rows()
    labels = np.concatenate([y, 1 - y[:8]])
    with pytest.warns(DuplicateWarning, match=r"of 32 rows equal rows with another label"):
        fitted = es.SupervisedMVU(2, n_neighbors=4, bridge=bridge).fit(X, labels)
    Y = fitted.embedding_
    expected = Y.copy()
    expected[:8] = expected[24:] = (Y[:8] + Y[24:]) / 2
    assert np.abs(Y[:8] - Y[24:]).max() > 0.1 * np.abs(Y).max()
    np.testing.assert_allclose(fitted.transform(X), expected, atol=1e-9 * np.abs(Y).max())


@pytest.mark.parametrize("method", [es.SupervisedMVU, es.SMVU1, es.SMVU2, es.ColoredMVU])
def test_equal_rows_with_equal_labels_share_a_place(method):
    X, y = rows()
    with warnings.catch_warnings():
        warnings.simplefilter("error", DuplicateWarning)
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", DuplicateWarning)
        fitted = method(2, n_neighbors=4).fit(X, np.concatenate([y, y[:8]]))
    Y = fitted.embedding_
    np.testing.assert_allclose(Y[:8], Y[24:], atol=1e-6 * np.abs(Y).max())
    np.testing.assert_allclose(fitted.transform(X), Y, atol=1e-6 * np.abs(Y).max())
