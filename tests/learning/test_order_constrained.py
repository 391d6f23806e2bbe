"""Order-constrained kernels of a graph: against the quadratic program by cvxpy, and what the order means."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
import pytest
import scipy.linalg as la
import scipy.sparse as sp
from sklearn.datasets import load_iris, make_moons
from sklearn.svm import SVC

import eigenspan as es
from eigenspan.errors import GraphError, InputError, LabelError

Array = np.ndarray[Any, Any]


def graph(name: str, few: int) -> tuple[Array, Array, Array]:
    """Affinities, all labels, and labels with most of them missing."""
    X, y = make_moons(90, noise=0.1, random_state=3) if name == "moons" else load_iris(return_X_y=True)
    X, first = np.unique(X, axis=0, return_index=True)
    y = y[first]
    W = es.LaplacianEigenmaps(1, n_neighbors=8 if name == "moons" else 50).fit(X).affinity_.W
    order = np.random.default_rng(0).permutation(len(y))
    some = y.astype(float)
    some[order[few:]] = np.nan
    return W.toarray(), y, some


def best_by_cvxpy(W: Array, some: Array, m: int, free: bool) -> tuple[Array, float]:
    """max <K, T> with |K| <= 1 over the labelled points, the weights in order: K written out as an l×l matrix."""
    U = la.eigh(np.diag(W.sum(axis=1)) - W)[1][:, : m + 1]
    known = ~np.isnan(some)
    V, y = U[known], some[known]
    T = np.where(np.equal.outer(y, y), 1.0, -1.0)
    columns = np.stack([np.outer(v, v).ravel() for v in V.T], axis=1)
    mu = cp.Variable(m + 1, nonneg=True)
    order = [mu[i] >= mu[i + 1] for i in range(1 if free else 0, m)]
    problem = cp.Problem(cp.Maximize(T.ravel() @ columns @ mu), [cp.norm(columns @ mu) <= 1, *order])
    problem.solve(solver="CLARABEL")
    return (U * mu.value) @ U.T, float(problem.value / la.norm(T))


@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("name", ["moons", "iris"])
def test_against_the_program(name: str, free: bool) -> None:
    W, _, some = graph(name, 25)
    found = es.order_constrained_kernel(W, some, rank=20, free_constant=free)
    K, alignment = best_by_cvxpy(W, some, 20, free)
    assert found.alignment == pytest.approx(alignment, abs=1e-7)  # the accuracy of the interior-point method
    ours = found.kernel
    np.testing.assert_allclose(ours / la.norm(ours), K / la.norm(K), atol=1e-3)


@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("name", ["moons", "iris"])
def test_no_admissible_step_improves_the_alignment(name: str, free: bool) -> None:
    """The conditions of optimality: with K = aT*, the nearest point of the cone to T, no generator has a positive product with T − K."""
    W, _, some = graph(name, 25)
    found = es.order_constrained_kernel(W, some, rank=20, free_constant=free)
    known = ~np.isnan(some)
    V, y = found.eigenvectors[known], some[known]
    T = np.where(np.equal.outer(y, y), 1.0, -1.0)
    K = found.kernel[np.ix_(known, known)]
    rest = T - K * np.sum(K * T) / np.sum(K * K)
    generators = [V[:, (1 if free and j else 0) : j + 1] for j in range(21)]
    products = np.array([np.sum((F @ F.T) * rest) / la.norm(F @ F.T) for F in generators])
    assert products.max() < 1e-9 * la.norm(T)
    assert abs(np.sum(K * rest)) < 1e-9 * la.norm(T) * la.norm(K)


def test_what_it_returns() -> None:
    W, _, some = graph("moons", 30)
    found = es.order_constrained_kernel(sp.csr_array(W), some, rank=15)
    L = np.diag(W.sum(axis=1)) - W
    np.testing.assert_allclose(found.eigenvalues, la.eigvalsh(L)[:16], atol=1e-9)
    np.testing.assert_allclose(L @ found.eigenvectors, found.eigenvectors * found.eigenvalues, atol=1e-8)
    np.testing.assert_allclose(found.eigenvectors.T @ found.eigenvectors, np.eye(16), atol=1e-9)
    assert np.all(np.diff(found.weights[1:]) <= 1e-12)
    assert found.weights.min() >= 0
    assert np.trace(found.kernel) == pytest.approx(len(W))
    known = ~np.isnan(some)
    T = np.where(np.equal.outer(some[known], some[known]), 1.0, -1.0)
    K = found.kernel[np.ix_(known, known)]
    assert found.alignment == pytest.approx(np.sum(K * T) / (la.norm(K) * la.norm(T)), rel=1e-10)
    for t in (0.1, 1.0, 10.0):  # each heat kernel obeys the order, so it is no better aligned
        heat = (found.eigenvectors * np.exp(-t * found.eigenvalues)) @ found.eigenvectors.T
        H = heat[np.ix_(known, known)]
        assert found.alignment >= np.sum(H * T) / (la.norm(H) * la.norm(T)) - 1e-10
    fixed = es.order_constrained_kernel(W, some, rank=15, free_constant=False)
    assert found.alignment >= fixed.alignment - 1e-12
    assert np.all(np.diff(fixed.weights) <= 1e-12)


def test_it_classifies_the_other_points() -> None:
    W, y, some = graph("moons", 16)
    K = es.order_constrained_kernel(W, some, rank=30).kernel
    known = ~np.isnan(some)
    svm = SVC(kernel="precomputed", C=100).fit(K[np.ix_(known, known)], y[known])
    assert svm.score(K[np.ix_(~known, known)], y[~known]) > 0.9


def test_refusals() -> None:
    W, _, some = graph("moons", 20)
    with pytest.raises(GraphError, match="2 components"):
        es.order_constrained_kernel(la.block_diag(W, W), np.tile(some, 2))
    with pytest.raises(GraphError, match="not symmetric"):
        es.order_constrained_kernel(np.triu(W), some)
    with pytest.raises(GraphError, match="negative"):
        es.order_constrained_kernel(-W, some)
    with pytest.raises(GraphError, match="square"):
        es.order_constrained_kernel(W[:5], some)
    with pytest.raises(InputError, match="rank=0"):
        es.order_constrained_kernel(W, some, rank=0)
    with pytest.raises(LabelError):
        es.order_constrained_kernel(W, np.full(len(W), np.nan))
