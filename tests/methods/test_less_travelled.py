"""Branches that few fits take: copies of places in a clustering, gaps in one block only, eigenvectors of a kernel, weights on diagonals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist, squareform

import eigenspan as es
from eigenspan.errors import DegenerateWarning
from eigenspan.methods.variance import missing_entries as gaps
from eigenspan.problem.forms import Sparse
from helpers import assert_allclose_up_to_sign, reports


def test_more_clusters_than_distinct_places_are_reported(islands: Any) -> None:
    """The points of a component share one place on the axes that tell components apart."""
    with reports(DegenerateWarning, "60 points have only 3 distinct places on 3 axes"):
        found = es.SpectralClustering(5, n_components=3, n_neighbors=6).fit(islands.X)
    assert len(set(zip(found.labels_, islands.y, strict=True))) == len(set(found.labels_)) == 3


@pytest.mark.parametrize("row", [0, 4, 9])
def test_gaps_are_found_in_any_block(row: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gaps, "blocks", lambda n, D: [slice(i, i + 3) for i in range(0, n, 3)])
    X = np.random.default_rng(0).standard_normal((10, 4))
    assert not gaps.has_gaps(X)
    X[row, 2] = np.nan
    assert gaps.has_gaps(X)
    assert not gaps.has_gaps(X[:0])


def test_eigenvectors_of_kernel_pca_are_those_of_the_centred_kernel() -> None:
    X = np.random.default_rng(1).standard_normal((25, 4))
    K = np.exp(-0.3 * squareform(pdist(X, "sqeuclidean")))
    J = np.eye(25) - 1 / 25
    values, V = np.linalg.eigh(J @ K @ J)
    fitted = es.KernelPCA(3, kernel="rbf", gamma=0.3).fit(X)
    np.testing.assert_allclose(fitted.eigenvalues_, values[:-4:-1], rtol=1e-9)
    assert_allclose_up_to_sign(fitted.eigenvectors_, V[:, :-4:-1], atol=1e-9)
    assert not hasattr(es.KernelPCA(3, kernel="rbf", gamma=0.3, landmarks=20).fit(X), "eigenvectors_")


@pytest.mark.parametrize("own", [0.0, 2.0])
def test_weights_of_points_with_themselves_are_not_between_points(own: float) -> None:
    W = np.random.default_rng(2).random((6, 6))
    W = np.where(np.eye(6) > 0, 0.0, W + W.T)
    found = Sparse(sp.csr_array(W + np.diag(own * np.arange(6)))).between_points()
    np.testing.assert_allclose(found.to_dense(), W, atol=1e-15)
