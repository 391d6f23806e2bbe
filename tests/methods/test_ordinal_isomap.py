"""Ordinal Isomap against scikit-learn's non-metric scaling, and what holds of any."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sklearn
from scipy.spatial.distance import pdist, squareform
from sklearn.isotonic import IsotonicRegression
from sklearn.manifold import smacof

import eigenspan as es
from eigenspan.errors import ConvergenceWarning, InputError
from eigenspan.numerics.descent.smacof import ordinal_scaling
from eigenspan.quality import procrustes


@pytest.fixture
def roll() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    t, height = 1.5 * np.pi * (1 + 2 * rng.random(600)), 21 * rng.random(600)
    length = (t * np.sqrt(1 + t**2) + np.arcsinh(t)) / 2
    return np.column_stack([t * np.cos(t), height, t * np.sin(t)]), np.column_stack([length, height])


def stress(Y: Any, geodesics: Any) -> float:
    """Kruskal's stress-1, from its definition."""
    d, given = pdist(Y), squareform(geodesics, checks=False)
    return float(np.sqrt(np.sum((d - IsotonicRegression().fit_transform(given, d)) ** 2) / np.sum(d**2)))


def test_the_stress_is_that_of_the_definition_and_below_isomaps(roll: Any) -> None:
    X, _ = roll
    isomap, found = es.Isomap(2, n_neighbors=7).fit(X), es.OrdinalIsomap(2, n_neighbors=7).fit(X)
    np.testing.assert_allclose(found.dist_matrix_, isomap.dist_matrix_, atol=1e-6 * isomap.dist_matrix_.max())
    assert found.stress_ == pytest.approx(stress(found.embedding_, isomap.dist_matrix_), rel=1e-6)
    assert found.stress_path_[0] == pytest.approx(stress(isomap.embedding_, isomap.dist_matrix_), rel=1e-6)
    assert found.stress_ < 0.9 * found.stress_path_[0]
    assert np.all(np.diff(found.stress_path_) < 1e-12)
    assert found.stress_path_.size == found.n_iter_ + 1
    assert found.reconstruction_error() > isomap.reconstruction_error()  # lengths are not what it is after
    G, Y = found.problem_.A.dense, found.embedding_
    assert found.reconstruction_error() == pytest.approx(np.linalg.norm(G - Y @ Y.T) / len(Y))


def test_scikit_learn_finds_the_same(roll: Any) -> None:
    X, _ = roll
    isomap = es.Isomap(2, n_neighbors=7).fit(X[:300])
    settings: Any = {"init": isomap.embedding_, "n_init": 1, "max_iter": 1000, "eps": 1e-12, "normalized_stress": True}
    theirs, least = smacof(isomap.dist_matrix_, metric=False, n_components=2, **settings)[:2]
    ours = es.OrdinalIsomap(2, n_neighbors=7, tol=1e-12, max_iter=1000).fit(X[:300])
    assert ours.stress_ < 1.02 * stress(theirs, isomap.dist_matrix_)
    if sklearn.__version__ < "1.7":
        return  # which stops early, and some per cent higher
    assert stress(theirs, isomap.dist_matrix_) == pytest.approx(ours.stress_, rel=0.02)
    assert least == pytest.approx(ours.stress_, rel=0.05)  # theirs is of the disparities before the last step
    assert procrustes(theirs, ours.embedding_).disparity < 1e-3


def test_only_the_order_counts() -> None:
    """Another increasing function of the distances leads to the same places, but for their size, on the way and at the end."""
    rng = np.random.default_rng(0)
    given, start = pdist(rng.random((60, 3))), rng.standard_normal((60, 2))
    plain = ordinal_scaling(given, start, tol=1e-14, steps=25)
    for bent in (given**3, np.log1p(5 * given)):
        found = ordinal_scaling(bent, start, tol=1e-14, steps=25)
        np.testing.assert_allclose(found.stress, plain.stress, rtol=1e-8)
        assert procrustes(plain.Y, found.Y).disparity < 1e-12


def test_distances_known_by_their_order_alone_give_the_points() -> None:
    points = np.random.default_rng(0).random((120, 2)) * [2.0, 1.0]
    bent = squareform(pdist(points)) ** 0.4  # obeys the triangle inequality: its geodesics are itself
    model: Any = {"n_neighbors": 119, "metric": "precomputed"}
    ordinal, isomap = es.OrdinalIsomap(2, tol=1e-10, max_iter=3000, **model).fit(bent), es.Isomap(2, **model).fit(bent)
    assert procrustes(points, ordinal.embedding_).disparity < 0.01 * procrustes(points, isomap.embedding_).disparity
    assert ordinal.stress_ < 0.01


def test_new_points_are_as_near_the_sheet_as_those_of_the_fit(roll: Any) -> None:
    X, sheet = roll
    found = es.OrdinalIsomap(2, n_neighbors=7).fit(X[:500])
    turned = procrustes(sheet[:500], found.embedding_)
    extent = np.linalg.norm(sheet - sheet.mean(axis=0)) / np.sqrt(len(sheet))

    def off(rows: slice, Y: Any) -> float:
        return float(np.sqrt(np.mean(np.sum((turned(Y) - sheet[rows]) ** 2, axis=1))) / extent)

    seen = off(slice(0, 500), found.embedding_)
    assert off(slice(500, 600), found.transform(X[500:])) < 1.5 * seen
    moved = found.transform(X[:500] + 1e-9)  # not recognised: placed by its geodesics
    assert np.linalg.norm(moved - found.embedding_) < 0.02 * np.linalg.norm(found.embedding_)
    np.testing.assert_allclose(found.transform(X[500:])[7:8], found.transform(X[507:508]), rtol=1e-9)


def test_f_is_increasing_and_told(roll: Any) -> None:
    found = es.OrdinalIsomap(2, n_neighbors=7).fit(roll[0])
    given, wanted = found.disparities_
    assert np.all(np.diff(given) > 0)
    assert np.all(np.diff(wanted) >= 0)
    assert given[-1] == pytest.approx(found.dist_matrix_.max(), rel=1e-6)
    assert wanted[-1] == pytest.approx(given[-1], rel=0.1)  # at the scale of the geodesics


def test_masses_are_copies() -> None:
    """A point of mass three counts as three points in one place."""
    rng = np.random.default_rng(0)
    X = rng.random((60, 3))
    masses = rng.integers(1, 4, 60)
    rows = np.repeat(np.arange(60), masses)
    start = rng.standard_normal((60, 2))
    found = ordinal_scaling(pdist(X), start, masses.astype(float), tol=1e-14, steps=20)
    # the copies, with the pairs of equal ones left out of the order as they are of the sums
    whole, far = pdist(X[rows]), pdist(rows[:, None].astype(float)) > 0
    Y, n = start[rows], len(rows)
    size = np.sum(whole[far] ** 2)
    for _ in range(len(found.stress) - 1):
        d = pdist(Y)
        wanted = np.zeros_like(d)
        wanted[far] = IsotonicRegression().fit_transform(whole[far], d[far])
        wanted *= np.sqrt(size / np.sum(wanted**2))
        B = squareform(np.divide(wanted, d, out=np.zeros_like(d), where=far))
        Y = (B.sum(axis=1)[:, None] * Y - B @ Y) / n
    np.testing.assert_allclose(found.Y[rows], Y, atol=1e-9)


def test_too_few_steps_are_told(roll: Any) -> None:
    with pytest.warns(ConvergenceWarning, match=r"still decreasing after 2 steps"):
        es.OrdinalIsomap(2, n_neighbors=7, max_iter=2).fit(roll[0])


def test_landmarks_are_the_sample_that_is_fitted(roll: Any) -> None:
    X, _ = roll
    found = es.OrdinalIsomap(2, n_neighbors=7, landmarks=400).fit(X)
    assert found.embedding_.shape == (600, 2)
    assert found.dist_matrix_.shape == (400, 400)


def test_no_kernel_stands_for_an_order(roll: Any) -> None:
    found = es.OrdinalIsomap(2, n_neighbors=7).fit(roll[0][:200])
    with pytest.raises(InputError, match="preserves the order of distances"):
        es.equivalent_kernel(found)
