"""Supervised nonlinear local embedding against the eigenproblem written out in dense matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.spatial.distance import cdist
from sklearn.datasets import load_wine
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import scale

from eigenspan import Heat, Kernel, LocalScaling, Powered, SupervisedNonlinearLocalEmbedding
from eigenspan.errors import GraphError, LabelError, LabelWarning
from helpers import angle

X, Y = load_wine(return_X_y=True)
X, Y = scale(X)[::2], Y[::2]
TRAIN, TEST, Y_TRAIN = X[:, :6][::2], X[:, :6][1::2], Y[::2]
GAMMA, SIGMA, RIDGE = 0.5, 2.0, 0.03
HOW: dict[str, Any] = {"weights": Heat(SIGMA), "ridge": RIDGE}


def by_hand(W: Any, K: Any, rows: Any, d: int) -> tuple[Any, Any, Any]:
    """``(K L K + εK) α = λ K D K α`` with the origin of the feature space at its mean under D: eigenvalues, and both sets of places."""
    degrees = W.sum(axis=1)
    mean = degrees / degrees.sum()
    centre = np.eye(len(K)) - mean[None, :]  # of columns: (I − 1π')K(I − π1')
    inner, outer = centre @ K @ centre.T, (rows - mean @ K) @ centre.T
    values, U = eigh(inner)
    keep = values > 1e-9 * values[-1]
    to_axes = U[:, keep] / np.sqrt(values[keep])
    Z, Z_new = inner @ to_axes, outer @ to_axes
    A, B = Z.T @ (np.diag(degrees) - W) @ Z + RIDGE * np.eye(keep.sum()), Z.T @ (degrees[:, None] * Z)
    # the largest 1/λ, where the definite matrix is A
    inverse, V = eigh(B, A)
    V = V[:, ::-1][:, :d] / np.sqrt(inverse[::-1][:d])
    return 1.0 / inverse[::-1][:d], Z @ V, Z_new @ V


def class_heat(distances: Any, codes: Any) -> Any:
    pairs = (codes[:, None] == codes) & (codes >= 0)[:, None]
    return np.where(pairs, np.exp(-((distances / SIGMA) ** 2)), 0.0)


def assert_same(fitted: Any, expected: Any, new: Any) -> None:
    values, places, new_places = expected
    np.testing.assert_allclose(fitted.eigenvalues_, values, rtol=1e-7)
    assert angle(fitted.embedding_, places) < 1e-4
    T = np.linalg.lstsq(places, fitted.embedding_, rcond=None)[0]
    np.testing.assert_allclose(T.T @ T, np.eye(len(T)), atol=1e-6)  # in the same units
    np.testing.assert_allclose(fitted.transform(new), new_places @ T, atol=1e-6 * np.abs(places).max())


@pytest.mark.parametrize("labelled", [1, 3])
def test_solves_the_problem_that_it_states(labelled: int) -> None:
    codes = np.where(np.arange(len(TRAIN)) % labelled == 0, Y_TRAIN, -1)
    fitted = SupervisedNonlinearLocalEmbedding(3, kernel=Kernel("rbf", gamma=GAMMA), unlabeled=-1, **HOW)
    expected = by_hand(
        class_heat(cdist(TRAIN, TRAIN), codes), rbf_kernel(TRAIN, gamma=GAMMA), rbf_kernel(TEST, TRAIN, gamma=GAMMA), 3
    )
    assert_same(fitted.fit(TRAIN, codes), expected, TEST)


def test_a_kernel_matrix_is_weighed_by_its_own_distances() -> None:
    K, rows = rbf_kernel(TRAIN, gamma=GAMMA), rbf_kernel(TEST, TRAIN, gamma=GAMMA)
    apart = np.sqrt(np.maximum(2.0 - 2.0 * K, 0.0))
    fitted = SupervisedNonlinearLocalEmbedding(3, kernel="precomputed", **HOW).fit(K, Y_TRAIN)
    assert_same(fitted, by_hand(class_heat(apart, Y_TRAIN), K, rows, 3), rows)


def test_near_pairs_are_all_pairs_where_classes_are_no_larger() -> None:
    everyone = SupervisedNonlinearLocalEmbedding(3, **HOW).fit(TRAIN, Y_TRAIN)
    near = SupervisedNonlinearLocalEmbedding(3, n_neighbors=len(TRAIN) - 1, **HOW).fit(TRAIN, Y_TRAIN)
    np.testing.assert_allclose(near.eigenvalues_, everyone.eigenvalues_, rtol=1e-9)
    assert angle(near.embedding_, everyone.embedding_) < 1e-5
    few = SupervisedNonlinearLocalEmbedding(3, n_neighbors=2, **HOW).fit(TRAIN, Y_TRAIN)
    assert angle(few.embedding_, everyone.embedding_) > 1.0


def test_classes_that_no_plane_separates() -> None:
    rng, y = np.random.default_rng(0), np.arange(360) % 3
    t, r = rng.uniform(0, 2 * np.pi, 360), y + 1 + 0.1 * rng.standard_normal(360)
    rings = np.column_stack([r * np.cos(t), r * np.sin(t)])
    fitted = SupervisedNonlinearLocalEmbedding(2).fit(rings[:240], y[:240])
    told = KNeighborsClassifier(1).fit(fitted.embedding_, y[:240]).predict(fitted.transform(rings[240:]))
    assert np.mean(told == y[240:]) > 0.95
    means = np.array([fitted.embedding_[y[:240] == c].mean(axis=0) for c in range(3)])
    spread = np.std(fitted.embedding_ - means[y[:240]])
    assert spread < 0.1 * cdist(means, means)[np.triu_indices(3, 1)].min()  # a class is one place


def test_other_weights() -> None:
    for weights in ("local", LocalScaling(3), Powered("heat", 2.0)):
        assert np.isfinite(SupervisedNonlinearLocalEmbedding(weights=weights).fit(TRAIN, Y_TRAIN).embedding_).all()
    with pytest.raises(GraphError, match="Heat, LocalScaling or Powered"):
        SupervisedNonlinearLocalEmbedding(weights="binary").fit(TRAIN, Y_TRAIN)
    SupervisedNonlinearLocalEmbedding(weights="binary", n_neighbors=3).fit(TRAIN, Y_TRAIN)
    with pytest.raises(GraphError, match=r"precomputed.*has no place in SupervisedNonlinear"):
        SupervisedNonlinearLocalEmbedding(weights="precomputed", n_neighbors=3).fit(TRAIN, Y_TRAIN)


@pytest.mark.parametrize("n_neighbors", [None, 3])
def test_a_class_of_one_row_is_told_of(n_neighbors: int | None) -> None:
    codes = Y_TRAIN.copy()
    codes[5] = 9
    with pytest.warns(LabelWarning, match="1 of 4 classes have one labelled sample"):
        fitted = SupervisedNonlinearLocalEmbedding(2, n_neighbors=n_neighbors).fit(TRAIN, codes)
    assert np.isfinite(fitted.embedding_).all()
    one_each = np.where(np.arange(len(TRAIN)) < 4, np.arange(len(TRAIN)), -1)
    with pytest.raises(LabelError, match="None of the 4 classes has two labelled rows"):
        SupervisedNonlinearLocalEmbedding(2, n_neighbors=n_neighbors, unlabeled=-1).fit(TRAIN, one_each)
