"""Inner products about any centre, missing kernel values, and unexplained residuals of embeddings and landmarks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform
from sklearn.datasets import load_iris
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

import eigenspan as es
from eigenspan.errors import InputError

X = np.unique(load_iris().data, axis=0)
D = squareform(pdist(X))


@pytest.mark.parametrize("center", [None, 3, -1, "weights"])
def test_inner_products_about_any_centre(center: Any) -> None:
    c = np.full(len(X), 1 / len(X)) if center is None else np.eye(len(X))[0 if center == "weights" else center]
    if center == "weights":
        c = np.random.default_rng(0).standard_normal(len(X))
        c /= c.sum()
    P = np.eye(len(X)) - np.outer(np.ones(len(X)), c)
    found = es.dot_products(D, center=c if center == "weights" else center)
    np.testing.assert_allclose(found, -0.5 * P @ D**2 @ P.T, atol=1e-9 * np.abs(found).max())
    about = X - c @ X
    np.testing.assert_allclose(found, about @ about.T, atol=1e-9 * np.abs(found).max())
    assert np.linalg.matrix_rank(found, tol=1e-8 * np.linalg.norm(found, 2)) == 4


def test_non_euclidean_distances_have_a_negative_eigenvalue_about_any_centre() -> None:
    broken = D.copy()
    broken[0, 1] = broken[1, 0] = 3 * D.max()
    for center in (None, 0, 7):
        values = np.linalg.eigvalsh(es.dot_products(broken, center=center))
        assert values[0] < -1e-3 * values[-1]


@pytest.mark.parametrize(
    ("given", "center", "words"),
    [
        (D[:5], None, "square matrix"),
        (D, 1000, "is not a row number"),
        (D, np.ones(len(D)), "sum to 147|sum to 149"),
        (D, np.ones(3), "finite weights"),
        (X[:, :1] - X[:, 0], None, "negative"),
    ],
)
def test_invalid_distances_and_centres_are_refused(given: Any, center: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        es.dot_products(given, center=center)


# ---------------------------------------------------------------------- what is left out
def test_the_unexplained_residual_is_the_unexplained_variance_of_pca() -> None:
    share = 1 - es.PCA(2).fit(X).explained_variance_ratio_.sum()
    for found in (
        es.ClassicalMDS(2).fit(X),
        es.ClassicalMDS(2, metric="precomputed").fit(D),
        es.LandmarkMDS(2, landmarks=30).fit(X),
        es.Isomap(2, n_neighbors=len(X) - 1).fit(X),
    ):
        assert found.unexplained_residual() == pytest.approx(share, rel=1e-6)
    assert es.ClassicalMDS(4).fit(X).unexplained_residual() < 1e-12


def test_the_unexplained_residual_of_non_euclidean_distances() -> None:
    cityblock = squareform(pdist(X, "cityblock"))
    values = np.linalg.eigvalsh(es.dot_products(cityblock))[::-1]
    found = es.ClassicalMDS(2, metric="precomputed").fit(cityblock)
    assert values[-1] < 0
    assert found.unexplained_residual() == pytest.approx(1 - values[:2].sum() / values[values > 0].sum(), rel=1e-9)


@pytest.mark.parametrize("kernel", ["rbf", "poly", "precomputed", "callable"])
def test_the_nystrom_error_is_the_trace_of_the_schur_complement(kernel: str) -> None:
    given = {"rbf": lambda A, B: rbf_kernel(A, B, gamma=0.25), "poly": lambda A, B: polynomial_kernel(A, B)}
    function = given.get(kernel, given["rbf"])
    K, some = function(X, X), np.arange(0, len(X), 8)
    left = K - K[:, some] @ np.linalg.pinv(K[np.ix_(some, some)], rcond=1e-10, hermitian=True) @ K[some]
    expected = np.trace(left) / np.trace(K)
    settings: Any = {"precomputed": {"kernel": "precomputed"}, "callable": {"kernel": function}}.get(
        kernel, {"kernel": kernel}
    )
    data = K if kernel == "precomputed" else X
    for method in (es.KernelPCA, es.LPP):
        if method is es.LPP and kernel == "precomputed":
            continue
        found = method(2, landmarks=some, **settings).fit(data)
        assert found.diagnostics_["nystrom_error"] == pytest.approx(expected, abs=1e-7)
    assert "nystrom_error" not in es.KernelPCA(2, **settings).fit(data).diagnostics_
