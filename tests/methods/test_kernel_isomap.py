"""Kernel Isomap: geodesics that are a kernel, by the nearest matrix or the smallest constant."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg as la
from sklearn.datasets import make_swiss_roll
from sklearn.metrics import pairwise_distances
from sklearn.svm import SVC

import eigenspan as es
from eigenspan.errors import DimensionError, MemoryLimitError
from eigenspan.methods.distances.classical_mds import cailliez
from helpers import angle, cloud, relative

X, T = make_swiss_roll(150, noise=0.1, random_state=0)
NEW = X[::5] + 0.3 * cloud(30, seed=4)
BOTH = pytest.mark.parametrize("psd", ["project", "constant"])


def half_gram(D: Any) -> Any:
    H = np.eye(len(D)) - 1 / len(D)
    return -0.5 * H @ D**2 @ H


@pytest.fixture(scope="module")
def isomap() -> Any:
    return es.Isomap(2, n_neighbors=9).fit(X)


def fitted(psd: str, **more: Any) -> Any:
    return es.KernelIsomap(2, n_neighbors=9, psd=psd, **more).fit(X)


@BOTH
def test_the_kernel_is_positive_semidefinite_and_kernel_pca_of_it_is_the_method(psd: str) -> None:
    estimator = fitted(psd)
    K = estimator.kernel_
    values = la.eigvalsh(K)
    assert values[0] > -1e-10 * values[-1]
    assert np.abs(K.sum(axis=0)).max() < 1e-8 * np.abs(K).max()
    kpca = es.KernelPCA(2, kernel="precomputed").fit(K)
    assert relative(kpca.embedding_ @ kpca.embedding_.T, estimator.embedding_ @ estimator.embedding_.T) < 1e-8
    R = la.lstsq(kpca.embedding_, estimator.embedding_)[0]
    assert relative(kpca.transform(estimator.kernel_values(NEW)) @ R, estimator.transform(NEW)) < 1e-8


def test_the_projection_has_the_axes_of_isomap(isomap: Any) -> None:
    estimator = fitted("project")
    assert isomap.problem_.A.dense.min() < 0
    assert la.eigvalsh(isomap.problem_.A.dense)[0] < -1.0  # there is something to take away
    assert relative(estimator.embedding_ @ estimator.embedding_.T, isomap.embedding_ @ isomap.embedding_.T) < 1e-9
    assert relative(estimator.kernel_, es.nearest_psd(isomap.problem_.A.dense)) < 1e-9
    assert estimator.constant_ == 0


def test_the_constant_is_the_smallest(isomap: Any) -> None:
    D, c = isomap.dist_matrix_, fitted("constant").constant_
    off = 1 - np.eye(len(D))
    assert la.eigvalsh(half_gram(D + c * off))[0] > -1e-9 * c**2
    assert la.eigvalsh(half_gram(D + 0.999 * c * off))[0] < -1e-6 * c**2
    assert relative(fitted("constant").dist_matrix_, D) < 1e-9
    assert relative(fitted("constant").kernel_, half_gram(D + c * off)) < 1e-9


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("power", [0.5, 1.0, 1.5, 3.0])
def test_the_constant_against_the_eigenproblem_of_twice_the_size(seed: int, power: float) -> None:
    """Cailliez: the largest real eigenvalue of a matrix that is not symmetric."""
    D = pairwise_distances(cloud(25, 3, seed), metric="cityblock") ** power
    H = np.eye(25) - 1 / 25
    block = np.block([[np.zeros((25, 25)), 2 * half_gram(D)], [-np.eye(25), 2 * H @ D @ H]])
    values = la.eigvals(block)
    largest = max(0.0, values.real.max())
    assert cailliez(D) == pytest.approx(largest, rel=1e-7, abs=1e-6 * D.max())


def test_distances_that_points_have_need_no_constant() -> None:
    assert cailliez(pairwise_distances(cloud(30))) < 1e-6
    complete = es.KernelIsomap(2, n_neighbors=len(X) - 1, psd="constant").fit(X)
    assert complete.constant_ < 1e-5 * np.abs(X).max()
    assert angle(complete.embedding_, es.PCA(2).fit(X).embedding_) < 1e-4


@BOTH
def test_training_points_have_their_own_rows(psd: str) -> None:
    estimator = fitted(psd)
    assert relative(estimator.kernel_values(X[:20]), estimator.kernel_[:20]) < 1e-12
    assert estimator.kernel_values(NEW).shape == (30, 150)
    near = estimator.kernel_values(X[:20] + 1e-10)
    assert relative(near, estimator.kernel_[:20]) < (1e-6 if psd == "project" else 1.0)


@BOTH
def test_copies_and_landmarks(psd: str) -> None:
    repeated = np.vstack([X[:100], X[:30]])
    estimator = es.KernelIsomap(2, n_neighbors=9, psd=psd).fit(repeated)
    assert estimator.kernel_.shape == (100, 100)
    assert la.eigvalsh(estimator.kernel_)[0] > -1e-9 * np.abs(estimator.kernel_).max()
    assert relative(estimator.kernel_values(repeated[100:]), estimator.kernel_[:30]) < 1e-12
    counted = np.bincount(np.r_[np.arange(100), np.arange(30)])
    assert np.abs(counted @ estimator.kernel_).max() < 1e-8 * np.abs(estimator.kernel_).max()
    some = es.KernelIsomap(2, n_neighbors=9, psd=psd, landmarks=60).fit(X)
    assert some.kernel_.shape == (60, 60)
    assert some.embedding_.shape == (150, 2)
    twice = es.KernelIsomap(2, n_neighbors=9, psd=psd, landmarks=np.r_[0:60, 100:110]).fit(repeated)
    np.testing.assert_array_equal(twice.graph_.rows, np.arange(60))  # the last ten landmarks are copies of the first
    assert relative(twice.embedding_[100:], twice.embedding_[:30]) < 1e-12
    assert relative(twice.transform(repeated), twice.embedding_) < 1e-12


def test_it_serves_a_machine() -> None:
    estimator, y = fitted("project"), np.median(T) < T
    machine = SVC(kernel="precomputed", C=10).fit(estimator.kernel_, y)
    assert machine.score(estimator.kernel_values(NEW), y[::5]) > 0.9


def test_before_fit_and_without_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AttributeError, match="before fit"):
        _ = es.KernelIsomap().kernel_
    with pytest.raises(Exception, match="not fitted"):
        es.KernelIsomap().kernel_values(X)
    monkeypatch.setenv("EIGENSPAN_MEMORY", "12M")
    with pytest.raises(MemoryLimitError, match="project"):
        es.KernelIsomap(psd="constant").fit(cloud(600))


def test_a_constant_leaves_no_spectrum_to_tell_the_dimension():
    with pytest.raises(DimensionError, match="raises every eigenvalue"):
        es.KernelIsomap("auto", psd="constant").fit(np.random.default_rng(0).normal(size=(40, 3)))
