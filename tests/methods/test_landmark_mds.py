"""Landmark MDS and landmark Isomap against the methods they stand for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.datasets import load_digits, load_wine, make_swiss_roll

import eigenspan as es
from eigenspan.errors import DimensionError, GraphError, InputError
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
@pytest.mark.every(2)
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


@pytest.mark.parametrize(
    "X", [load_wine().data, *(np.random.default_rng(s).standard_normal((90, 5)) for s in range(2))]
)
def test_distances_to_the_landmarks_are_enough(X: Any) -> None:
    """An n×q table gives the fit of all n² distances, which is classical MDS if the landmarks span the points."""
    rng = np.random.default_rng(0)
    X = X / X.std(axis=0)
    rows, new = rng.choice(len(X), 25, replace=False), X[:7] + 0.1
    D, wanted = cdist(X, X), es.ClassicalMDS(3).fit(X)
    whole = es.LandmarkMDS(3, metric="precomputed", landmarks=rows).fit(D)
    table = es.LandmarkMDS(3, metric="precomputed", landmarks=rows).fit(D[:, rows])
    apart = es.LandmarkMDS(3, metric="precomputed", landmarks=D[np.ix_(rows, rows)]).fit(D[:, rows])
    np.testing.assert_array_equal(table.landmarks_, rows)
    assert table.n_features_in_ == 25
    assert not hasattr(apart, "landmarks_")
    for fitted in (table, apart):
        np.testing.assert_allclose(fitted.embedding_, whole.embedding_, atol=1e-9)
        np.testing.assert_allclose(fitted.embedding_, wanted.embedding_, atol=1e-9)
        np.testing.assert_allclose(fitted.transform(cdist(new, X[rows])), wanted.transform(new), atol=1e-9)
        np.testing.assert_allclose(fitted.transform(cdist(new, X[rows])), whole.transform(cdist(new, X)), atol=1e-9)
        np.testing.assert_allclose(fitted.eigenvalues_, wanted.eigenvalues_, rtol=1e-9)


def test_landmarks_that_are_not_among_the_points(tmp_path: Path) -> None:
    """As many points as landmarks: the table is square, but not one of distances among the points."""
    rng = np.random.default_rng(1)
    X, Z = rng.standard_normal((12, 4)), rng.standard_normal((12, 4))
    fitted = es.LandmarkMDS(4, metric="precomputed", landmarks=cdist(Z, Z)).fit(cdist(X, Z))
    assert distance(fitted.embedding_, X) < 1e-9
    es.save(fitted, tmp_path / "model.eig")
    np.testing.assert_allclose(es.load(tmp_path / "model.eig").transform(cdist(X, Z)), fitted.embedding_, atol=1e-12)
    single = es.LandmarkMDS(4, metric="precomputed", landmarks=cdist(Z, Z)).fit(cdist(X, Z).astype(np.float32))
    assert single.embedding_.dtype == np.float32
    assert distance(single.embedding_, X) < 1e-4


def test_tables_of_columns_that_are_refused() -> None:
    X = np.random.default_rng(2).standard_normal((30, 3))
    rows = np.arange(5, 17)
    C = cdist(X, X[rows])
    cases: list[tuple[Any, Any, str]] = [
        (None, C, r"shape is \(30, 12\).*landmarks=None does not say which points its 12 columns are"),
        (12, C, "landmarks=12 does not say which"),
        (es.Landmarks(12), C, "does not say which"),
        (rows[:5], C, "names 5 rows"),
        (rows[::-1] + 1, C, "among the 12 landmarks are no distance matrix"),
        (cdist(X[:3], X[:3]), C, r"landmarks= has shape \(3, 3\)"),
        (rows, -C, "must not be negative; the smallest"),
        (np.full((12, 12), np.nan), C, "must be finite numbers"),
        (np.full((12, 12), 7.0), C, "diagonal of a distance matrix must be zero"),
    ]
    for landmarks, table, message in cases:
        with pytest.raises(GraphError, match=message):
            es.LandmarkMDS(2, metric="precomputed", landmarks=landmarks).fit(table)
    with pytest.raises(InputError, match='belongs to metric="precomputed"'):
        es.LandmarkMDS(2, landmarks=cdist(X, X)).fit(X)
