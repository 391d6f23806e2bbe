"""Axes of a row space as combinations of the rows: those of an explicit basis, for any units, ranks and centres, at the memory of n×n."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
import scipy.linalg as la
import scipy.sparse as sp
from sklearn import decomposition
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.pipeline import make_pipeline

from eigenspan import CCA, LDA, LPP, NPP, OLPP, PPCA, SIR
from eigenspan.errors import MemoryLimitError
from eigenspan.numerics.eigen.centred import Centred, Partners, right_partners
from eigenspan.problem import Features
from helpers import angle, relative

pytestmark = pytest.mark.filterwarnings("ignore::eigenspan.errors.DegenerateWarning")
both = pytest.mark.parametrize("as_sparse", [False, True], ids=["dense", "sparse"])


def words(n: int, D: int, density: float = 0.05) -> tuple[sp.csr_array, np.ndarray]:
    """Sparse rows of four classes."""
    rng, y = np.random.default_rng(n + D), np.arange(n) % 4
    X = sp.random_array((n, D), density=density, format="csr", random_state=rng)
    return sp.csr_array(X + sp.csr_array((np.full(n, 2.0), (np.arange(n), y)), shape=(n, D))), y


def form(X: Any, as_sparse: bool) -> Any:
    return X if as_sparse else X.toarray()


def centred(X: Any) -> np.ndarray:
    dense = X.toarray() if sp.issparse(X) else X
    return dense - dense.mean(axis=0)


def check_basis(X: Any, dim: int, tol: float = 1e-9) -> Features:
    """Orthonormal, complete, and with the coordinates it says."""
    basis, Z = Features.linear(X), centred(X)
    assert isinstance(basis.lift, Partners)
    L = np.asarray(basis.lift)
    assert basis.dim == dim
    assert abs(L.T @ L - np.eye(dim)).max() < tol
    assert relative(Z @ L, basis.Z) < tol
    assert relative(Z @ L @ L.T, Z) < tol
    V = np.random.default_rng(0).standard_normal((dim, 3))
    assert relative(basis.lifted(V), L @ V) < tol
    return basis


@both
def test_combinations_are_a_basis(as_sparse: bool) -> None:
    check_basis(form(words(60, 300)[0], as_sparse), 59)


@both
@pytest.mark.parametrize("decay", [1e-3, 1e-4])
def test_small_axes_are_accurate_beside_large_ones(as_sparse: bool, decay: float) -> None:
    """Variances from 1 to decay²: products of the rows alone would leave few digits of the smallest."""
    rng = np.random.default_rng(1)
    Q, R = la.qr(rng.standard_normal((60, 60)))[0], la.qr(rng.standard_normal((300, 60)), mode="economic")[0]
    X = (Q * np.geomspace(1, decay, 60)) @ R.T
    X -= X.mean(axis=0)
    C = Centred.of(sp.csr_array(X) if as_sparse else X, np.zeros(300))
    values, U = np.linalg.eigh(X @ X.T)
    values, U = values[:0:-1], U[:, :0:-1]
    found = Partners.of(C, values, U)
    assert isinstance(found, Partners)
    L = np.asarray(found)
    assert abs(L.T @ L - np.eye(59)).max() < 1e-10
    assert relative(L, right_partners(C, values, U)) < 1e-9


def test_repeated_sparse_rows_and_empty_columns() -> None:
    X = words(60, 300)[0][np.arange(120) % 40]
    check_basis(X, 39)
    X = sp.csr_array(sp.hstack([X, sp.csr_array((120, 50))]))
    check_basis(X, 39)


def test_a_column_in_tiny_units_beside_repeated_rows() -> None:
    X = words(40, 200)[0][np.arange(80) % 40].tolil()
    X[:, 7] = 1e-9 * np.random.default_rng(0).standard_normal((80, 1))
    X = sp.csr_array(X.tocsr())
    basis = Features.linear(X)
    odd = np.zeros((200, 1))
    odd[7] = 1.0
    L = np.asarray(basis.lift)
    assert basis.dim >= 40
    assert relative(L @ (L.T @ odd), odd) < 1e-3


METHODS = {
    "LDA": LDA(3),
    "LPP": LPP(2, ridge=0.1),
    "OLPP": OLPP(2),
    "NPP": NPP(2, ridge=0.1),
    "SIR": SIR(2, ridge=0.1),
    "PPCA": PPCA(2),
}


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS.keys())
def test_sparse_rows_have_the_axes_of_dense_ones(method: Any) -> None:
    X, y = words(80, 400)
    X.data += 1.0
    given = () if isinstance(method, PPCA) else (y,)
    thin, full = (method.fit(rows, *given).components_ for rows in (X, X.toarray()))
    assert angle(thin.T, full.T) < 1e-5


@both
def test_canonical_pairs_of_wide_views(as_sparse: bool) -> None:
    """Those of the covariances with their ridges, written out."""
    X, _ = words(60, 200)
    one, two = form(X[:, :90], as_sparse), form(X[:, 90:], as_sparse)
    ours = CCA(2, ridge=0.5).fit(one, two)
    A, B = centred(one) / np.sqrt(59), centred(two) / np.sqrt(59)
    roots = []
    for Z in (A, B):
        S = Z.T @ Z
        live = np.diagonal(S) > 1e-12
        values, V = np.linalg.eigh(S + 0.5 * np.diagonal(S)[live].mean() * np.eye(len(S)))
        roots.append(V / np.sqrt(values) @ V.T)
    U, s, V = np.linalg.svd(roots[0] @ A.T @ B @ roots[1])
    np.testing.assert_allclose(ours.eigenvalues_, s[:2], rtol=1e-9)
    assert angle(ours.x_weights_, roots[0] @ U[:, :2]) < 1e-6
    assert angle(ours.y_weights_, roots[1] @ V[:2].T) < 1e-6


@both
def test_classes_of_new_rows_are_those_of_sklearn(as_sparse: bool) -> None:
    X, y = words(160, 400)
    train, test = np.arange(160) % 3 > 0, np.arange(160) % 3 == 0
    shrunk = {"shrinkage": 0.3}
    theirs = LinearDiscriminantAnalysis(solver="lsqr", **shrunk).fit(X[train].toarray(), y[train])
    ours = LDA(**shrunk).fit(form(X[train], as_sparse), y[train])
    np.testing.assert_array_equal(ours.predict(form(X[test], as_sparse)), theirs.predict(X[test].toarray()))
    assert ours.score(form(X[test], as_sparse), y[test]) > 0.9


@both
def test_classes_of_fewer_rows_than_features_collapse(as_sparse: bool) -> None:
    """The directions are those of the pseudo-inverse of the total scatter, in which every class is a point."""
    X, y = words(80, 400)
    ours, Z = LDA().fit(form(X, as_sparse), y), centred(X)
    means = np.stack([Z[y == c].mean(axis=0) for c in range(4)])
    exact = np.linalg.pinv(Z, rcond=1e-10) @ np.linalg.pinv(Z.T, rcond=1e-10) @ means.T
    assert angle(ours.components_.T, la.svd(exact, full_matrices=False)[0][:, :3]) < 1e-6
    assert ours.collapsed_ == 3
    assert relative(ours.transform(X), (means @ ours.components_.T)[y]) < 1e-8


@both
def test_discriminants_of_principal_axes_are_those_of_sklearn(as_sparse: bool) -> None:
    X, y = words(80, 400)
    theirs = make_pipeline(decomposition.PCA(20), LinearDiscriminantAnalysis(solver="svd")).fit(X.toarray(), y)
    ours = LDA(reduce=20).fit(form(X, as_sparse), y)
    assert angle(ours.transform(X), theirs.transform(X.toarray())) < 1e-6
    np.testing.assert_allclose(
        ours.predict_proba(form(X, as_sparse)), theirs.predict_proba(X.toarray()), rtol=1e-6, atol=1e-9
    )


def peak(work: Any) -> float:
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("method", [LDA(), LPP(2), NPP(2), SIR(2)], ids=lambda method: type(method).__name__)
@pytest.mark.filterwarnings("ignore::eigenspan.errors.RidgeWarning")
def test_sparse_rows_need_no_axes_of_all_features(method: Any) -> None:
    """Without reduce=: neither the rows written out nor D×n axes, 96 MB each."""
    X, y = words(200, 60_000, 0.002)
    method.fit(*words(200, 600))  # what is imported on first use is not counted
    assert peak(lambda: method.fit(X, y)) < 8.0 * X.shape[0] * X.shape[1] / 4


def test_views_are_predicted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """One view of 300 rows fits, two do not: what is refused is both, before the first is begun."""
    X, _ = words(300, 2000)
    monkeypatch.setenv("EIGENSPAN_MEMORY", "14M")
    assert Features.linear(X[:, :1000]).dim > 0
    with pytest.raises(MemoryLimitError, match=r"2 views with 1000 and 1000 columns.*reduce=r"):
        CCA(2, ridge=0.1).fit(X[:, :1000], X[:, 1000:])
    assert CCA(2, ridge=0.1, reduce=10).fit(X[:, :1000], X[:, 1000:]).correlations_.size == 2
