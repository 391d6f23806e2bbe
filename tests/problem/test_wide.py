"""More features than rows, dense and sparse: one factorisation, no dense copy of sparse rows, and the axes of a full SVD."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
import scipy.linalg as la
import scipy.sparse as sp
from sklearn import decomposition

import eigenspan as es
from eigenspan.data.rows.moments import Moments
from eigenspan.errors import DegenerateWarning, DimensionError, InputError, MemoryLimitError
from eigenspan.numerics.eigen import centred, dense
from eigenspan.numerics.eigen.centred import Centred, leading_axes
from eigenspan.problem import Features
from eigenspan.problem import row_space as rowspace
from helpers import angle, peak_beside_prediction, relative, same_subspace

LABELS = np.repeat(np.arange(4), 30)


def table(as_sparse: bool, n: int = 120, D: int = 400, far: float = 0.0) -> Any:
    """Rows with a few strong directions and classes that differ; a tenth of the numbers where sparse."""
    rng = np.random.default_rng(n + D)
    X = rng.standard_normal((n, 8)) @ rng.standard_normal((8, D)) * np.arange(1, D + 1) ** -0.2 + rng.standard_normal(
        (n, D)
    )
    X[:, :4] += 3 * np.eye(4)[np.arange(n) * 4 // n]
    if not as_sparse:
        return X + far
    return sp.csr_array(X * (rng.random((n, D)) < 0.1))


both = pytest.mark.parametrize("as_sparse", [False, True], ids=["dense", "sparse"])


@pytest.fixture
def no_dense_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sparse matrices of 120 rows and 400 columns refuse to be written out."""
    toarray = sp.csr_array.toarray

    def guarded(self: Any, *args: Any, **kwargs: Any) -> Any:
        assert self.shape != (120, 400), "a sparse data matrix was made dense"
        return toarray(self, *args, **kwargs)

    for kind in (sp.csr_array, sp.csc_array, sp.csr_matrix):
        monkeypatch.setattr(kind, "toarray", guarded)


@pytest.fixture
def factorisations(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """The shapes of all singular value and eigenvalue decompositions of more than 50 rows and columns."""
    shapes: list[tuple[int, ...]] = []

    def counted(name: str) -> None:
        plain = getattr(la, name)

        def call(A: Any, *args: Any, **kwargs: Any) -> Any:
            if min(A.shape) > 50:
                shapes.append(A.shape)
            return plain(A, *args, **kwargs)

        monkeypatch.setattr(la, name, call)

    for name in ("svd", "eigh"):
        counted(name)
    return shapes


def dense_of(X: Any) -> Any:
    return X.toarray() if sp.issparse(X) else X


# ---------------------------------------------------------------------- PCA
@both
@pytest.mark.parametrize("shape", [(120, 400), (400, 120)])
def test_pca_is_that_of_a_full_svd(as_sparse: bool, shape: tuple[int, int]) -> None:
    X = table(as_sparse, *shape)
    ours = es.PCA(5).fit(X)
    theirs = decomposition.PCA(5, svd_solver="full").fit(dense_of(X))
    assert angle(ours.components_.T, theirs.components_.T) < 1e-7
    np.testing.assert_allclose(ours.explained_variance_, theirs.explained_variance_, rtol=1e-10)
    np.testing.assert_allclose(ours.explained_variance_ratio_, theirs.explained_variance_ratio_, rtol=1e-10)
    signs = np.sign(np.sum(ours.components_ * theirs.components_, axis=1))
    assert relative(ours.transform(X) * signs, theirs.transform(dense_of(X))) < 1e-8
    assert relative(ours.embedding_ * signs, theirs.transform(dense_of(X))) < 1e-8
    assert ours.residuals_.max() < 1e-12
    assert abs(ours.components_ @ ours.components_.T - np.eye(5)).max() < 1e-12


def test_few_axes_of_sparse_rows_make_nothing_dense(no_dense_rows: None, factorisations: Any) -> None:
    X = table(as_sparse=True)
    pca = es.PCA(5).fit(X)
    assert factorisations == []
    assert set(pca.diagnostics_["seconds"]) >= {"principal axes", "total"}
    assert "feature_memory" in pca.diagnostics_
    assert pca.diagnostics_["axes_residual"] < 1e-12


def test_few_axes_take_little_memory() -> None:
    X = sp.random_array((500, 20_000), density=0.005, format="csr", random_state=np.random.default_rng(0))
    tracemalloc.start()
    es.PCA(5).fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 500 * 20_000 * 8 / 4


def test_few_axes_of_dense_rows_take_one_gram_matrix(factorisations: Any) -> None:
    X = table(as_sparse=False)
    es.PCA(5).fit(X)
    assert factorisations == []


@both
@pytest.mark.parametrize("wanted", [None, 0.5, 0.99, 100])
def test_all_axes_or_a_share(as_sparse: bool, wanted: Any) -> None:
    X = table(as_sparse)
    ours = es.PCA(wanted).fit(X)
    theirs = decomposition.PCA(119 if wanted is None else wanted, svd_solver="full").fit(dense_of(X))
    assert ours.n_components_ == theirs.n_components_
    np.testing.assert_allclose(ours.explained_variance_, theirs.explained_variance_, rtol=1e-9)
    assert abs(ours.components_ @ ours.components_.T - np.eye(ours.n_components_)).max() < 1e-10


@both
def test_more_axes_than_the_rank_are_refused(as_sparse: bool) -> None:
    X = table(as_sparse)
    X = X[np.arange(120) % 7]  # seven rows again and again
    assert es.PCA(6).fit(X).components_.shape == (6, 400)
    with pytest.raises(DimensionError, match="exceeds 6"):
        es.PCA(7).fit(X)


@both
def test_repeated_variances_are_all_found_and_warned_of(as_sparse: bool) -> None:
    X = np.zeros((60, 300))
    X[np.arange(60), np.arange(60)] = 1.0  # a simplex: 59 equal variances
    X[0, 0] = 5.0
    X = sp.csr_array(X) if as_sparse else X
    with pytest.warns(DegenerateWarning, match="3 and 4 coincide"):
        pca = es.PCA(3).fit(X)
    np.testing.assert_allclose(pca.eigenvalues_[1:], 1.0, rtol=1e-10)


def test_a_feature_in_tiny_units_is_an_axis_too() -> None:
    X = np.zeros((6, 9))
    X[:, :2] = np.random.default_rng(0).standard_normal((6, 2))
    X[:, 2] = 1e-9 * np.array([1, -1, 1, 1, -1, -1.0])
    pca = es.PCA(3).fit(X)
    assert np.abs(pca.components_[2, 2]) > 1 - 1e-6
    with pytest.raises(DimensionError, match="exceeds 3"):
        es.PCA(4).fit(X)


def test_the_seed_does_not_matter() -> None:
    X = table(as_sparse=True)
    one, other = (es.PCA(4, random_state=seed).fit(X).components_ for seed in (0, 1))
    np.testing.assert_allclose(one, other, atol=1e-10)


# ---------------------------------------------------------------------- row spaces
@both
@pytest.mark.parametrize("far", [0.0, 1e6])
def test_the_row_space_is_found_by_one_factorisation(
    as_sparse: bool, far: float, factorisations: Any, request: Any
) -> None:
    if as_sparse:
        request.getfixturevalue("no_dense_rows")
    X = table(as_sparse, far=far)
    basis = Features.linear(X)
    assert factorisations == [(120, 120)]
    assert basis.dim == 119
    assert abs(basis.lift.T @ basis.lift - np.eye(119)).max() < 1e-9
    request.getfixturevalue("monkeypatch").undo()
    Xc = dense_of(X) - dense_of(X).mean(axis=0)
    assert relative(Xc @ basis.lift @ basis.lift.T, Xc) < 1e-8
    assert relative(basis.Z, Xc @ basis.lift) < 1e-8
    weights = np.arange(120.0)
    moved = basis.centred(weights)
    assert relative(moved.Z, (dense_of(X) - weights @ dense_of(X) / weights.sum()) @ basis.lift) < 1e-8


@both
def test_repeated_rows_leave_a_smaller_row_space(as_sparse: bool) -> None:
    X = table(as_sparse)[np.arange(120) % 50]
    basis = Features.linear(X)
    assert basis.dim == 49
    Xc = dense_of(X) - dense_of(X).mean(axis=0)
    assert relative(Xc @ basis.lift @ basis.lift.T, Xc) < 1e-10
    assert abs(basis.lift.T @ basis.lift - np.eye(49)).max() < 1e-10


@both
def test_rank_does_not_depend_on_units(as_sparse: bool) -> None:
    X = np.zeros((30, 40))
    X[:, :10] = np.random.default_rng(1).standard_normal((30, 10)) * 10.0 ** -np.arange(10)
    X = sp.csr_array(X) if as_sparse else X
    assert Features.linear(X).dim == 10


def test_rounding_errors_far_from_the_origin_are_no_dimension() -> None:
    rng = np.random.default_rng(2)
    X = rng.standard_normal((30, 3)) @ rng.standard_normal((3, 50)) + 1e8
    assert Features.linear(X).dim == 3


def test_a_column_of_few_digits_hides_no_other_dimension() -> None:
    X = np.zeros((30, 40))
    X[:, :10] = np.random.default_rng(1).standard_normal((30, 10)) * 10.0 ** -np.arange(10)
    X[:, 10] = X[:, 3] + 1e8
    assert Features.linear(X).dim == 10


@pytest.mark.parametrize("seed", range(5))
def test_sparse_rows_on_a_line(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = np.outer(rng.standard_normal(55), rng.standard_normal(70)) + 1e5
    pca = es.PCA(1).fit(sp.csr_array(X))
    assert np.linalg.norm(pca.components_) == pytest.approx(1.0, abs=1e-10)
    assert pca.explained_variance_ratio_[0] == pytest.approx(1.0, abs=1e-10)


def test_a_sparse_column_without_zeros_keeps_its_digits() -> None:
    X = dense_of(table(as_sparse=True))
    Z = X.copy()
    X[:, 7] = np.random.default_rng(0).standard_normal(120)
    Z[:, 7] = X[:, 7] + 2.0**30
    near, far = (es.PCA(6).fit(sp.csr_array(M)) for M in (X, Z))
    assert angle(near.components_.T, far.components_.T) < 1e-4
    np.testing.assert_allclose(near.explained_variance_, far.explained_variance_, rtol=1e-7)


METHODS = {
    "LDA": es.LDA(3),
    "LPP": es.LPP(2, n_neighbors=5),
    "NPP": es.NPP(2, n_neighbors=5),
    "MMC": es.MMC(2),
    "LFDA": es.LFDA(2, ridge=1.0),
}


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS.keys())
def test_linear_methods_on_sparse_rows(method: Any, request: Any) -> None:
    X = table(as_sparse=True)
    if not isinstance(method, es.NPP):  # its local problems write out the rows of some neighbourhoods
        request.getfixturevalue("no_dense_rows")
    found = method.fit(X, LABELS).components_
    request.getfixturevalue("monkeypatch").undo()
    expected = method.fit(X.toarray(), LABELS).components_
    assert same_subspace(found.T, expected.T, degrees=1e-3)


@both
def test_discriminants_are_those_of_the_features(as_sparse: bool) -> None:
    X = table(as_sparse)
    ours = es.LDA(3, shrinkage=0.3).fit(X, LABELS).components_
    Z = dense_of(X) - dense_of(X).mean(axis=0)
    means = np.repeat([Z[c == LABELS].mean(axis=0) for c in range(4)], 30, axis=0)
    W = 0.7 * (Z - means).T @ (Z - means) + 0.3 * np.sum((Z - means) ** 2) / 400 * np.eye(400)
    assert same_subspace(ours.T, la.eigh(means.T @ means, W)[1][:, -3:], degrees=1e-5)


def test_the_axes_of_a_row_space_are_predicted(monkeypatch: pytest.MonkeyPatch) -> None:
    X = sp.random_array((2000, 50_000), density=1e-4, format="csr", random_state=np.random.default_rng(0))
    monkeypatch.setenv("EIGENSPAN_MEMORY", "150M")
    with pytest.raises(MemoryLimitError, match="reduce="):
        es.LPP(2).fit(X)
    assert es.PCA(2).fit(X).components_.shape == (2, 50_000)


@pytest.mark.parametrize(("n", "D", "distinct"), [(60, 6000, 60), (150, 3000, 150), (200, 4000, 50)])
def test_memory_for_axes_of_unlike_units_is_predicted(
    n: int, D: int, distinct: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    X = np.where(rng.random((n, D)) < 0.02, rng.standard_normal((n, D)), 0.0)
    X = sp.csr_array(X * np.where(np.arange(D) < n // 2, 1.0, 1e-9))  # the rank is in doubt
    X = X[np.arange(n) % distinct]
    C = Centred.of(X, np.asarray(X.mean(axis=0)).ravel())
    size = abs(X).max(axis=0).toarray().ravel()
    predicted, peak = peak_beside_prediction(rowspace, lambda: rowspace.row_space(C, size, 1e-10), monkeypatch)
    assert peak <= predicted <= 1.5 * peak


# ---------------------------------------------------------------------- parts
@both
def test_products_of_centred_rows(as_sparse: bool) -> None:
    X = table(as_sparse)
    Xc = dense_of(X) - dense_of(X).mean(axis=0)
    C = Centred.of(X, dense_of(X).mean(axis=0))
    V, U = np.random.default_rng(0).standard_normal((400, 3)), np.random.default_rng(1).standard_normal((120, 3))
    for found, expected in (
        (C.forward(V), Xc @ V),
        (C.forward(V[:, 0]), Xc @ V[:, 0]),
        (C.backward(U), Xc.T @ U),
        (C.backward(U[:, 0]), Xc.T @ U[:, 0]),
        (C.gram(), Xc @ Xc.T),
        (C.scatter(), Xc.T @ Xc),
        (C.spread(), Xc.std(axis=0)),
    ):
        assert relative(found, expected) < 1e-12


@both
@pytest.mark.parametrize("r", [3, 60])
def test_leading_axes_and_their_residuals(as_sparse: bool, r: int) -> None:
    X = table(as_sparse)
    C = Centred.of(X, dense_of(X).mean(axis=0))
    s, V, residuals, scores = leading_axes(C, r, np.random.default_rng(0))
    assert relative(scores, C.forward(V)) < 1e-10
    np.testing.assert_allclose(s, dense.principal_axes(dense_of(X) - C.mean)[1][:r], rtol=1e-10)
    assert residuals.max() < 1e-12
    assert abs(V.T @ V - np.eye(r)).max() < 1e-10


@pytest.mark.parametrize("shape", [(120, 400), (400, 120)])
@pytest.mark.parametrize("far", [0.0, 1e3])
@pytest.mark.parametrize("reads", [0, 10, 10_000])
def test_dense_rows_are_read_a_few_times_and_then_multiplied(
    shape: tuple[int, int], far: float, reads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    X = table(as_sparse=False, n=shape[0], D=shape[1], far=far)
    C = Centred.of(X, X.mean(axis=0))
    product = centred.Squared(C, 3)
    assert product.reads == 0
    assert C.is_near == (far == 0)
    product.reads = reads
    monkeypatch.setattr(centred, "Squared", lambda *args: product)
    s, V, residuals, scores = leading_axes(C, 3, np.random.default_rng(0))
    assert (product.small is None) == (reads == 10_000)
    _, expected, axes = dense.principal_axes(X - X.mean(axis=0))
    np.testing.assert_allclose(s, expected[:3], rtol=1e-10)
    assert angle(V, axes[:, :3]) < 1e-7
    assert relative(scores, (X - C.mean) @ V) < 1e-10
    assert residuals.max() < 1e-11


def test_entries_given_twice_are_added_and_left_alone() -> None:
    X = table(as_sparse=True)
    rows = np.repeat(np.arange(120), np.diff(X.indptr))
    twice = sp.csr_array(
        sp.coo_array((np.r_[X.data, X.data], (np.r_[rows, rows], np.r_[X.indices, X.indices])), shape=X.shape)
    )
    given = sp.csr_array((np.repeat(X.data, 2), np.repeat(X.indices, 2), 2 * X.indptr), shape=X.shape)
    before = given.data.copy()
    assert same_subspace(es.PCA(3).fit(given).components_.T, es.PCA(3).fit(twice).components_.T, degrees=1e-5)
    np.testing.assert_array_equal(given.data, before)


def test_moments_of_sparse_rows(no_dense_rows: None, request: Any) -> None:
    X = table(as_sparse=True)
    codes = np.where(np.arange(120) % 11, LABELS, -1)
    found = Moments.of(X, codes, 5)
    request.getfixturevalue("monkeypatch").undo()
    expected = Moments.of(X.toarray(), codes, 5)
    np.testing.assert_array_equal(found.counts, expected.counts)
    np.testing.assert_allclose(found.means, expected.means, atol=1e-12)
    assert relative(found.scatter, expected.scatter) < 1e-12


@pytest.mark.parametrize("make", [lambda: es.PCA(3), lambda: es.LDA(3)], ids=["PCA", "LDA"])
def test_sparse_rows_in_parts(make: Any) -> None:
    X = table(as_sparse=True, n=400, D=40)
    y = np.arange(400) * 4 // 400
    order = np.random.default_rng(0).permutation(400)
    X, y = X[order], y[order]
    parts = make()
    for part in (slice(0, 1), slice(1, 150), slice(150, 400)):
        parts.partial_fit(X[part], y[part])
    whole = make().fit(X.toarray(), y)
    assert same_subspace(parts.components_.T, whole.components_.T, degrees=1e-5)
    assert parts.n_samples_seen_ == 400
    mixed = make().partial_fit(X[:200], y[:200]).partial_fit(X[200:].toarray(), y[200:])
    assert same_subspace(mixed.components_.T, whole.components_.T, degrees=1e-5)


def test_sparse_parts_with_bad_values_are_refused() -> None:
    X = table(as_sparse=True, n=50, D=20)
    X.data[3] = np.nan
    with pytest.raises((InputError, ValueError), match="NaN"):
        es.PCA(2).partial_fit(X)
