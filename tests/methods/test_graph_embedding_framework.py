"""Graph embedding: the methods that Yan et al. name as cases, and dense problems of arbitrary graphs in the three forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg as la
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.datasets import load_wine
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler

import eigenspan as es
from eigenspan.errors import InputError
from helpers import angle

X, Y = load_wine(return_X_y=True)
X, Y = StandardScaler().fit_transform(X)[::2], Y[::2]
N = len(Y)
NEAR = {"n_neighbors": 9}
AFFINITY = es.LaplacianEigenmaps(2, **NEAR).fit(X).affinity_.W
WEIGHTS = es.LLE(2, **NEAR).fit(X).problem_.A.to_dense()
H = np.eye(N) - 1 / N
RNG = np.random.default_rng(0)
INTRINSIC, PENALTY = (np.abs(R + R.T) for R in RNG.standard_normal((2, N, N)))

Framework = es.GraphEmbeddingFramework
CASES = {
    "LPP": (es.LPP(2, **NEAR), Framework(2, **NEAR)),
    "LPP, given": (es.LPP(2, **NEAR), Framework(2, intrinsic=AFFINITY, unit="degree")),
    "LPP, dense": (es.LPP(2, **NEAR), Framework(2, intrinsic=AFFINITY.toarray(), unit=AFFINITY.sum(axis=0))),
    "OLPP": (es.OLPP(2, **NEAR), Framework(2, intrinsic=AFFINITY, unit="projection")),
    "kernel LPP": (es.LPP(2, kernel="rbf", **NEAR), Framework(2, basis="kernel", **NEAR)),
    "eigenmaps": (es.LaplacianEigenmaps(2, **NEAR), Framework(2, basis="samples", **NEAR)),
    "eigenmaps, given": (es.LaplacianEigenmaps(2, **NEAR), Framework(2, basis="samples", intrinsic=AFFINITY)),
    "PCA": (es.PCA(2), Framework(2, intrinsic="variance", unit="projection", sense="max")),
    "LDA": (es.LDA(2), Framework(2, intrinsic="within", penalty="total")),
    "MFA": (es.MFA(2), Framework(2, intrinsic="allies", penalty="rivals")),
    "MFA, more": (
        es.MFA(2, n_neighbors=5, n_rivals=20),
        Framework(2, intrinsic="allies", penalty="rivals", n_neighbors=5, n_rivals=20),
    ),
    "MDS": (es.ClassicalMDS(2), Framework(2, basis="samples", intrinsic=-H @ cdist(X, X) ** 2 @ H, unit="embedding")),
    "LLE": (
        es.LLE(2, **NEAR),
        Framework(2, basis="samples", intrinsic=np.diag(WEIGHTS.diagonal()) - WEIGHTS, unit="embedding"),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_named_methods_are_cases(name: str) -> None:
    method, framework = (estimator.fit(X, Y) for estimator in CASES[name])
    assert angle(*(E - E.mean(axis=0) for E in (method.embedding_, framework.embedding_))) < 1e-5


def laplacian(W: Any) -> Any:
    return np.diag(W.sum(axis=1)) - W


@pytest.mark.parametrize(
    "form", [np.asarray, sp.csr_array, lambda W: lambda points, y: W], ids=["array", "sparse", "function"]
)
@pytest.mark.parametrize("basis", ["linear", "kernel", "samples"])
def test_two_graphs_as_a_dense_problem(basis: str, form: Any) -> None:
    """min Tr(Y'LY) s.t. Y'L^pY = I over Y = Z V, with Z = X, kernel-PCA scores, or functions orthogonal to the constant."""
    Z = {"linear": X, "samples": la.null_space(np.ones((1, N)))}.get(basis)
    if Z is None:
        values, U = la.eigh(H @ rbf_kernel(X) @ H)
        keep = values > 1e-10 * values[-1]
        Z = U[:, keep] * np.sqrt(values[keep])
    A, B = (Z.T @ laplacian(W) @ Z for W in (INTRINSIC, PENALTY))
    ridge = 1e-3 * np.trace(A) / len(A) if basis == "kernel" else 0.0
    values, V = la.eigh(A + ridge * np.eye(len(A)), B)
    settings: Any = {"kernel": es.Kernel("rbf", gamma=1 / X.shape[1])} if basis == "kernel" else {}
    settings = settings if basis == "samples" else {**settings, "ridge": ridge}
    fitted = Framework(2, intrinsic=form(INTRINSIC), penalty=form(PENALTY), basis=basis, **settings).fit(X)
    E = fitted.embedding_
    assert angle(E - E.mean(axis=0), (Z @ V[:, :2]) - (Z @ V[:, :2]).mean(axis=0)) < 1e-4
    np.testing.assert_allclose(fitted.eigenvalues_, values[:2], rtol=1e-6)


def test_sums_of_graphs() -> None:
    W = AFFINITY.toarray() + 0.5 * (Y[:, None] == Y) / np.bincount(Y)[Y]
    named = Framework(2, intrinsic="neighbours + 0.5 within", **NEAR).fit(X, Y)
    assert angle(named.embedding_, Framework(2, intrinsic=W).fit(X).embedding_) < 1e-5


@pytest.mark.parametrize(
    "given, message",
    [
        ({"penalty": "variance", "unit": "degree"}, "two constraints"),
        ({"unit": np.ones(3)}, f"{N} finite numbers"),
        ({"unit": -np.ones(N)}, "zero or more"),
        ({"basis": "samples", "unit": "projection"}, "about axes of features"),
        ({"intrinsic": "neighbors"}, "The names are neighbours"),
        ({"intrinsic": np.triu(INTRINSIC)}, "intrinsic= must be symmetric"),
        ({"penalty": np.ones((2, 2))}, f"penalty= must be {N}×{N}"),
        ({"kernel": "poly"}, "has no kernel"),
        ({"ridge": 1.0, "unit": "projection"}, "no place"),
    ],
)
def test_graphs_that_cannot_be_used(given: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Framework(2, **given).fit(X, Y)


@pytest.mark.parametrize(
    "unit", [["a"] * len(X), np.full(len(X), np.nan), -np.ones(len(X))], ids=["text", "NaN", "negative"]
)
def test_the_diagonal_of_a_unit_is_checked(unit: Any) -> None:
    with pytest.raises(InputError, match="unit="):
        es.GraphEmbeddingFramework(2, unit=unit).fit(X)
