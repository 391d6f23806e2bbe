"""Kernels as functions, of two arrays of rows or of two rows, and KernelPCA under scikit-learn's names."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.decomposition import KernelPCA
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel

import eigenspan as es
from eigenspan.errors import KernelError
from eigenspan.problem.kernels import RowKernel, as_block_kernel
from helpers import assert_allclose_up_to_sign, relative


def histogram(x: Any, y: Any) -> float:
    return np.minimum(x, y).sum()


def gaussian(x: Any, y: Any) -> float:
    return float(np.exp(-0.1 * np.sum((x - y) ** 2)))


def linear(x: Any, y: Any) -> Any:
    return x @ y.T  # of two rows or of two arrays of them


def cosine(x: Any, y: Any) -> Any:
    """Of rows; of arrays it has a matrix too, and a wrong one: the norms are those of whole arrays."""
    return x @ y.T / (np.linalg.norm(x) * np.linalg.norm(y))


def blockwise(A: Any, B: Any) -> Any:
    return np.exp(-0.1 * ((A[:, None] - B[None]) ** 2).sum(axis=2))


def points(n: int = 40) -> Any:
    return np.random.default_rng(0).random((n, 4)) + 0.1


@pytest.mark.parametrize("n", [2, 3, 4, 5, 40])
def test_the_convention_of_a_kernel_function_is_detected(n: int) -> None:
    X = points(n)
    for function in (histogram, gaussian, cosine):
        assert isinstance(as_block_kernel(function, X), RowKernel)
    for function in (blockwise, rbf_kernel, laplacian_kernel, linear):
        assert as_block_kernel(function, X) is function


@pytest.mark.parametrize("n", [4, 5])
def test_square_data_do_not_confuse_the_two_conventions(n: int) -> None:
    """Arrays of one shape broadcast: a function of rows returns a number for them, or a vector."""
    X = np.random.default_rng(0).random((n, n))
    for function in (histogram, gaussian, lambda x, y: ((x - y) ** 2).sum(axis=-1)):
        assert isinstance(as_block_kernel(function, X), RowKernel)


@pytest.mark.parametrize("function", [histogram, gaussian, cosine])
def test_a_function_of_rows_is_scikit_learns(function: Any) -> None:
    X, new = points(), points(50)[40:]
    ours, theirs = es.KernelPCA(3, kernel=function).fit(X), KernelPCA(3, kernel=function).fit(X)
    assert relative(ours.eigenvalues_, theirs.eigenvalues_) <= 1e-9
    assert_allclose_up_to_sign(ours.embedding_, theirs.transform(X), atol=1e-8)
    assert_allclose_up_to_sign(ours.transform(new), theirs.transform(new), atol=1e-8)
    assert_allclose_up_to_sign(ours.eigenvectors_, theirs.eigenvectors_, atol=1e-8)
    again = pickle.loads(pickle.dumps(ours))
    np.testing.assert_array_equal(again.transform(new), ours.transform(new))


def test_every_kernel_method_accepts_a_function() -> None:
    X, y = points(60), np.arange(60) % 3
    for estimator in (es.LPP(2), es.LDA(2), es.KernelPCA(2), es.KernelPCA(2, landmarks=20), es.NPP(2, landmarks=20)):
        rows, blocks = (estimator.set_params(kernel=k).fit(X, y).transform(X + 0.01) for k in (gaussian, blockwise))
        np.testing.assert_allclose(rows, blocks, atol=1e-6 * np.abs(blocks).max())


def test_rows_of_a_sparse_matrix() -> None:
    X = sp.csr_array(np.round(points(20), 1))
    K = es.KernelPCA(2, kernel=lambda x, y: float((x @ y.T).sum())).fit(X)
    assert relative(K.eigenvalues_, es.KernelPCA(2, kernel="linear").fit(X).eigenvalues_) <= 1e-9


def test_neither_convention() -> None:
    def broken(x: Any, y: Any) -> Any:
        raise ZeroDivisionError("by zero")

    with pytest.raises(
        KernelError, match=r"For 3 and 2 rows it raised ZeroDivisionError \(by zero\); for two rows it raised"
    ):
        es.KernelPCA(2, kernel=broken).fit(points())
    with pytest.raises(KernelError, match=r"for two rows it returned shape \(4,\)"):
        es.KernelPCA(2, kernel=lambda x, y: x * y[..., :1, :] if y.ndim == 2 else x * y).fit(points())


# ---------------------------------------------------------------------- scikit-learn's names
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "cosine", "precomputed"])
def test_attributes_are_scikit_learns(kernel: str) -> None:
    X = points()
    X = X @ X.T if kernel == "precomputed" else X
    ours, theirs = es.KernelPCA(3, kernel=kernel).fit(X), KernelPCA(3, kernel=kernel).fit(X)
    assert relative(ours.eigenvalues_, theirs.eigenvalues_) <= 1e-9
    assert_allclose_up_to_sign(ours.eigenvectors_, theirs.eigenvectors_, atol=1e-8)
    if kernel in ("rbf", "poly"):
        assert ours.gamma_ == theirs.gamma_ == 0.25
        assert es.KernelPCA(3, kernel=kernel, gamma=0.7).fit(X).gamma_ == 0.7
    if kernel != "precomputed":
        np.testing.assert_array_equal(ours.X_fit_, X)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_all_positive_axes(kernel: str) -> None:
    X = points()
    ours, theirs = (K(None, kernel=kernel).fit(X) for K in (es.KernelPCA, KernelPCA))
    assert ours.embedding_.shape == theirs.transform(X).shape
    assert ours.embedding_.shape[1] == (39 if kernel == "rbf" else 4)
    np.testing.assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=1e-6, atol=1e-12 * ours.eigenvalues_[0])
    assert es.KernelPCA(None, kernel=kernel, landmarks=25).fit(X).embedding_.shape[1] == (25 if kernel == "rbf" else 4)


def test_later_changes_of_the_data_have_no_effect() -> None:
    X = points()
    fitted = es.KernelPCA(2).fit(X)
    before = fitted.transform(X)
    new = X.copy()
    X[:, 0] = 666
    np.testing.assert_array_equal(fitted.transform(new), before)


@pytest.mark.parametrize("kernel", ["chi2", "additive_chi2"])
def test_kernels_of_counts_accept_read_only_arrays(kernel):
    X = np.abs(np.random.default_rng(0).standard_normal((30, 4)))
    fitted = es.KernelPCA(2, kernel=kernel).fit(X)
    expected = fitted.transform(X)
    X.setflags(write=False)
    np.testing.assert_allclose(fitted.transform(X), expected, atol=1e-12)
    np.testing.assert_allclose(es.KernelPCA(2, kernel=kernel).fit(X).transform(X), expected, atol=1e-9)


def test_preimages_without_a_ridge_interpolate():
    """Rows that coincide made the regression singular."""
    X = np.random.default_rng(0).standard_normal((12, 2))
    twice = np.vstack([X, X[:4]])
    fitted = es.KernelPCA(10, kernel="rbf", preimage="ridge", alpha=0).fit(twice)
    np.testing.assert_allclose(fitted.inverse_transform(fitted.transform(X)), X, atol=1e-5)
    # rows that share a place in the embedding are sent to their mean
    flat = es.KernelPCA(1, kernel="linear", preimage="ridge", alpha=0).fit(
        np.array([[0.0, 1.0], [0.0, 1.0], [3.0, 1.0], [6.0, 1.0]])
    )
    np.testing.assert_allclose(flat.inverse_transform(flat.embedding_), [[0, 1], [0, 1], [3, 1], [6, 1]], atol=1e-8)
