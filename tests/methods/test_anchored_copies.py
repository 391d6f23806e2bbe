"""Rows that repeat where coordinates are known: one place for all of them, counted as often as they occur."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_s_curve

import eigenspan as es
from eigenspan.errors import DuplicateWarning, EigenspanWarning

X, ANGLE = make_s_curve(120, random_state=0)
TRUTH = np.column_stack([ANGLE, X[:, 1]])
KNOWN = np.where(np.arange(120)[:, None] % 6 == 0, TRUTH, np.nan)
CASES = [
    es.Anchored(embedding, form=form)
    for embedding in (es.LTSA(2), es.LLE(2), es.LaplacianEigenmaps(2), es.Isomap(2))
    for form in ("exact", "noisy", "spectral")
]


def every(cases: list[Any]) -> Any:
    return pytest.mark.parametrize("case", cases, ids=lambda case: f"{type(case.embedding).__name__}-{case.form}")


def fitted(case: Any, X: Any, known: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EigenspanWarning)
        warnings.simplefilter("error", DuplicateWarning)
        return clone(case).fit(X, known)


@every(CASES)
def test_a_table_twice_has_the_places_of_the_table(case: Any) -> None:
    once, twice = fitted(case, X, KNOWN), fitted(case, np.vstack([X, X]), np.vstack([KNOWN, KNOWN]))
    np.testing.assert_allclose(twice.embedding_, np.vstack([once.embedding_, once.embedding_]), atol=1e-9)
    assert twice.known_.sum() == 2 * once.known_.sum()
    assert twice.graph_.n == 120


@every(CASES)
def test_copies_share_the_place_of_the_known_one(case: Any) -> None:
    rng = np.random.default_rng(0)
    rows = rng.permutation(np.repeat(np.arange(120), rng.integers(1, 4, 120)))
    first = np.array([np.flatnonzero(row == rows)[0] for row in rows])
    known = np.where(rng.random(len(rows))[:, None] < 0.2, TRUTH[rows], np.nan)
    found = fitted(case, X[rows], known)
    np.testing.assert_array_equal(found.embedding_, found.embedding_[first])
    np.testing.assert_array_equal(found.transform(X[rows]), found.embedding_)
    if case.form == "exact":
        np.testing.assert_array_equal(found.embedding_[found.known_], known[found.known_])


def test_two_places_of_one_point() -> None:
    rows, known = np.append(np.arange(120), 0), np.vstack([KNOWN, KNOWN[:1] + 0.5])
    with pytest.warns(
        DuplicateWarning, match="2 known points equal others in X but have different coordinates, up to 0.25"
    ):
        found = es.Anchored(es.LTSA(2)).fit(X[rows], known)
    np.testing.assert_allclose(found.embedding_[[0, -1]], np.tile(KNOWN[0] + 0.25, (2, 1)))


def test_noisy_places_of_one_point_are_their_mean_with_twice_the_weight() -> None:
    """Σ β (y − g_k)² over two copies is 2β (y − ḡ)² and a constant."""
    rows, apart = np.append(np.arange(120), 0), np.array([[0.5, -0.25]])
    case = es.Anchored(es.LTSA(2), form="noisy")
    differ = fitted(case, X[rows], np.vstack([KNOWN[:1] - apart, KNOWN[1:], KNOWN[:1] + apart]))
    agree = fitted(case, X[rows], np.vstack([KNOWN, KNOWN[:1]]))
    np.testing.assert_allclose(differ.embedding_, agree.embedding_, atol=1e-12)
