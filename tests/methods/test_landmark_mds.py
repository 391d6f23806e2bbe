"""Landmark MDS and landmark Isomap against the methods they stand for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform
from sklearn.datasets import load_digits, make_swiss_roll

import eigenspan as es
from eigenspan.errors import DimensionError
from eigenspan.methods.distances import landmark_mds as triangulation
from helpers import disparity

CHOICES = ("random", "maxmin", "cholesky", "kmeans++", "leverage")
DIGITS = load_digits().data


def distance(Y: Any, Z: Any) -> float:
    """Between two embeddings, relative to the second, after the best rigid motion."""
    Y, Z = Y - Y.mean(axis=0), Z - Z.mean(axis=0)
    U, _, Vt = np.linalg.svd(Y.T @ Z)
    return float(np.linalg.norm(Y @ U @ Vt - Z) / np.linalg.norm(Z))


@pytest.mark.parametrize("choice", CHOICES)
def test_landmark_mds_is_mds_of_the_digits(choice: str) -> None:
    """200 landmarks span all but a trace of the 61 dimensions: the first two of *their* axes were 15 to 86 % off."""
    mds, landmark = es.ClassicalMDS().fit(DIGITS), es.LandmarkMDS(choice=choice).fit(DIGITS)
    assert distance(landmark.embedding_, mds.embedding_) < 1e-3
    np.testing.assert_allclose(landmark.eigenvalues_, mds.eigenvalues_, rtol=1e-4)
    assert landmark.diagnostics_["landmark_axes"] > 50
    new = DIGITS[:100] + np.random.default_rng(0).standard_normal((100, 64))
    joined = np.vstack([landmark.embedding_, landmark.transform(new)])
    assert distance(joined, np.vstack([mds.embedding_, mds.transform(new)])) < 1e-3


def test_landmarks_that_span_the_data_give_mds_itself() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 8)) * np.arange(8, 0, -1)
    landmark, mds = es.LandmarkMDS(3, landmarks=rng.choice(500, 20, replace=False)).fit(X), es.ClassicalMDS(3).fit(X)
    assert distance(landmark.embedding_, mds.embedding_) < 1e-10
    np.testing.assert_allclose(landmark.eigenvalues_, mds.eigenvalues_, rtol=1e-10)
    np.testing.assert_allclose(landmark.transform(X), landmark.embedding_, atol=1e-9)


@pytest.mark.parametrize("choice", ["random", "maxmin"])
def test_landmark_isomap_is_near_isomap_of_the_digits(choice: str) -> None:
    """The landmarks' own two axes were 11 to 25 % off."""
    X = DIGITS[::2]
    full = es.Isomap().fit(X).embedding_
    found = [es.LandmarkIsomap(landmarks=es.Landmarks(200, choice=choice), random_state=s).fit(X) for s in range(3)]
    assert np.mean([distance(each.embedding_, full) for each in found]) < 0.06
    for each in found:
        assert 3 <= each.diagnostics_["landmark_axes"] < 30  # geodesics are no Euclidean distances: not all axes serve
        np.testing.assert_allclose(each.transform(X), each.embedding_, atol=1e-9 * np.abs(full).max())


def test_noise_in_the_distances_bounds_the_axes() -> None:
    """Triangulated on all positive axes, 200 landmarks of noisy or city-block distances would be 27 % off and more."""
    X = DIGITS[::2]
    D = pdist(X)
    noisy = squareform(D * (1 + 0.01 * np.random.default_rng(0).standard_normal(D.size)))
    assert distance(es.LandmarkMDS(metric="precomputed").fit_transform(noisy), es.PCA().fit_transform(X)) < 0.05
    city = es.ClassicalMDS(metric="cityblock").fit_transform(X)
    assert distance(es.LandmarkMDS(metric="cityblock").fit_transform(X), city) < 0.08


def test_a_roll_stays_flat() -> None:
    X, t = make_swiss_roll(1500, random_state=0)
    arc = 0.5 * (t * np.sqrt(1 + t**2) + np.arcsinh(t))
    found = es.LandmarkIsomap(n_neighbors=10, landmarks=100).fit(X)
    assert disparity(found.embedding_, np.column_stack([arc, X[:, 1]])) < 0.01


@pytest.mark.parametrize("make", [es.LandmarkMDS, es.LandmarkIsomap])
def test_points_are_placed_in_blocks_where_they_are_many(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    X = DIGITS[:400]
    held = make(landmarks=60).fit(X)
    monkeypatch.setattr(triangulation, "_HELD", 0)
    monkeypatch.setattr(triangulation, "_ENTRIES", 60 * 37)
    twice = make(landmarks=60).fit(X)
    np.testing.assert_allclose(twice.embedding_, held.embedding_, atol=1e-9 * np.abs(held.embedding_).max())
    assert twice.embedding_.shape == (400, 2)


def test_too_few_landmarks_are_counted() -> None:
    with pytest.raises(DimensionError, match=r"n_components=3 exceeds 2, .*3 distinct landmark.* more landmarks"):
        es.LandmarkMDS(3, landmarks=3).fit(DIGITS[:50])
