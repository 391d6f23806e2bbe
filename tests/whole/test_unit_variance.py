"""``scale="unit-variance"``: the same directions, every axis of variance one over the training rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import eigenspan as es
from cases import Case, estimators
from helpers import angle

SCALED = [case for case in estimators() if "scale" in case.template.get_params()]

pytestmark = pytest.mark.filterwarnings("ignore::eigenspan.errors.EigenspanWarning")


@pytest.mark.parametrize("case", SCALED, ids=lambda case: case.id)
@pytest.mark.every(2)
def test_every_axis_has_variance_one(case: Case, roll: Any) -> None:
    plain, scaled = case.fitted(roll), case.make(scale="unit-variance").fit(roll.X, roll.y)
    Y = scaled.embedding_
    np.testing.assert_allclose(Y.std(axis=0), 1.0, rtol=1e-9)
    for i in range(Y.shape[1]):  # axis by axis the same direction, in the map too
        assert angle(Y[:, [i]] - Y[:, i].mean(), plain.embedding_[:, [i]] - plain.embedding_[:, i].mean()) < 1e-4
    new = roll.X[::7] + 0.01
    # axes of kernel OLPP hold 1e-10 of the variance: five digits of them are left
    factors = Y.std(axis=0) / plain.embedding_.std(axis=0)
    np.testing.assert_allclose(
        np.abs(scaled.transform(new)), np.abs(plain.transform(new) * factors), rtol=1e-6, atol=1e-5
    )
    np.testing.assert_array_equal(plain.eigenvalues_, scaled.eigenvalues_)


def test_the_families_that_have_it() -> None:
    names = {type(case.template).__name__ for case in SCALED}
    assert {"LaplacianEigenmaps", "LPP", "OLPP", "NPP", "ONPP", "LLTSA", "LDA", "LFDA", "SDA", "TraceReducer"} <= names
    assert not names & {"PCA", "Isomap", "ClassicalMDS", "DiffusionMap", "MVU"}  # whose lengths mean something


def test_from_files_and_parts(tmp_path: Any, roll: Any) -> None:
    np.save(tmp_path / "X.npy", roll.X)
    lda = es.LDA(scale="unit-variance")
    expected = clone(lda).fit(roll.X, roll.y).embedding_
    for fitted in (
        clone(lda).fit(np.load(tmp_path / "X.npy", mmap_mode="r"), roll.y),
        clone(lda).partial_fit(roll.X[:100], roll.y[:100]).partial_fit(roll.X[100:], roll.y[100:]),
    ):
        np.testing.assert_allclose(fitted.transform(roll.X), expected, atol=1e-7)


@pytest.mark.parametrize("method", [es.LPP(9), es.LaplacianEigenmaps(9)], ids=lambda e: type(e).__name__)
def test_a_penalised_classifier_learns_from_it(method: Any) -> None:
    """As solved, 1797 digits span axes of length one: an embedding of size 0.02 that the penalty shuts out."""
    X, y = load_digits(return_X_y=True)
    train, test = np.arange(len(X)) % 2 == 0, np.arange(len(X)) % 2 == 1
    small, scaled = (
        make_pipeline(clone(method).set_params(scale=scale), LogisticRegression(max_iter=500))
        .fit(X[train], y[train])
        .score(X[test], y[test])
        for scale in (None, "unit-variance")
    )
    assert scaled > 0.85
    assert scaled > small + 0.02
