"""One direction for every class: Fisher's criterion of the class and all others."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

import eigenspan as es
from eigenspan.errors import DimensionError, InputError
from helpers import angle

X, Y = load_wine(return_X_y=True)
REST = es.LDA(criterion="one-against-rest").fit(X, Y)


@pytest.mark.parametrize("k", range(3))
def test_each_axis_is_the_two_class_discriminant(k: int) -> None:
    theirs = LinearDiscriminantAnalysis(solver="eigen").fit(X, k == Y)
    assert angle(REST.components_[k : k + 1].T, theirs.scalings_[:, :1]) < 1e-6
    assert REST.embedding_[k == Y, k].mean() > 0 > REST.embedding_[k != Y, k].mean()


def test_all_of_them_span_the_classical_subspace() -> None:
    assert REST.components_.shape == (3, 13)
    assert np.linalg.matrix_rank(REST.components_, tol=1e-8) == 2
    assert angle(REST.components_[:2].T, es.LDA().fit(X, Y).components_.T) < 1e-6
    np.testing.assert_allclose(REST.transform(X), REST.embedding_, atol=1e-10)
    np.testing.assert_array_equal(REST.predict(X), es.LDA().fit(X, Y).predict(X))


def test_in_parts_and_with_a_kernel() -> None:
    parts = es.LDA(criterion="one-against-rest").partial_fit(X[:90], Y[:90]).partial_fit(X[90:], Y[90:])
    np.testing.assert_allclose(parts.components_, REST.components_, rtol=1e-6, atol=1e-10)
    D, y = load_digits(return_X_y=True)
    kernel = es.LDA(criterion="one-against-rest", kernel=es.Kernel("rbf", gamma="median"), landmarks=60).fit(D, y)
    assert kernel.embedding_.shape == (len(y), 10)
    assert np.mean(kernel.embedding_.argmax(axis=1) == y) > 0.9


def test_what_it_refuses() -> None:
    with pytest.raises(DimensionError, match="one direction for each of the 3 classes"):
        es.LDA(2, criterion="one-against-rest").fit(X, Y)
    with pytest.raises(InputError, match="leave axes= out"):
        es.LDA(criterion="one-against-rest", axes="norm").fit(X, Y)
