"""Squared distances and Gaussian kernels against differences in extended precision, dense and sparse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from eigenspan.numerics.eigen.sparse_products import inner_products
from eigenspan.numerics.nearest import squares
from eigenspan.numerics.nearest.expanded import nearest_by_products, within_by_products
from eigenspan.numerics.nearest.metric import median_width, paired_distances, point_distances
from eigenspan.numerics.nearest.squares import gaussian_kernel, moved, origin_of, pair_squares, squared_distances

FORMS = {"dense": np.asarray, "csr": sp.csr_array, "fortran": np.asfortranarray}
forms = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())


def tables() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    thin = np.where(rng.random((60, 40)) < 0.2, rng.standard_normal((60, 40)), 0.0)
    plain = rng.standard_normal((60, 5))
    return {
        "around the origin": plain,
        "offset of 1e7": plain + 1e7,
        "two clusters 1e8 apart": np.vstack([plain, plain + 1e8]) + rng.standard_normal((120, 5)),
        "one far point": np.vstack([plain, np.full((1, 5), 1e9)]),
        "duplicate rows": np.repeat(plain[:9], 7, axis=0) + 1e5,
        "sparse columns": thin,
        "sparse columns beside offsets": np.hstack([thin, plain[:, :2] * 1e-3 + 1e6]),
        "sparse columns of large values": np.where(thin != 0, 1e7 + thin, 0.0),
        "whole numbers": rng.poisson(1.0, (60, 12)).astype(float),
    }


TABLES = tables()
each_table = pytest.mark.parametrize("X", TABLES.values(), ids=TABLES.keys())


def true_squares(X: Any, Z: Any) -> Any:
    """Compute squared distances by differences in extended precision."""
    X, Z = (np.asarray(A, dtype=np.longdouble) for A in (X, Z))
    return ((X[:, None] - Z[None]) ** 2).sum(axis=2)


@forms
@each_table
def test_squared_distances_have_nine_digits(X: Any, form: Any) -> None:
    Z, exact = X[::3] + 0.0, true_squares(X, X)
    found = squared_distances(form(X))
    assert np.all(np.abs(found - exact) <= 1e-9 * exact)
    assert np.array_equal(found, found.T)
    assert not np.diagonal(found).any()
    assert np.all(np.abs(squared_distances(form(X), form(Z)) - exact[:, ::3]) <= 1e-9 * exact[:, ::3])
    np.testing.assert_allclose(point_distances(form(X)), cdist(X, X), rtol=1e-9)


@forms
@each_table
def test_gaussian_kernels_have_nine_digits(X: Any, form: Any) -> None:
    exact = np.exp(-0.3 * true_squares(X, X))
    for found in (gaussian_kernel(form(X), None, 0.3), gaussian_kernel(form(X), form(X[:]), 0.3)):
        assert np.all(np.abs(found - exact) <= 1e-9 * exact + 1e-300)


def test_whole_numbers_are_exact() -> None:
    X = TABLES["whole numbers"] + 2.0**20
    for form in FORMS.values():
        assert np.array_equal(squared_distances(form(X)), cdist(X, X, "sqeuclidean"))
        assert np.array_equal(squared_distances(form(X), form(X[:20])), cdist(X, X[:20], "sqeuclidean"))


@each_table
def test_pairs_of_rows_have_the_same_bits_in_every_container(X: Any) -> None:
    i, j = (part.ravel() for part in np.indices((len(X), len(X))))
    dense = pair_squares(X, i, X, j)
    total = np.zeros(i.size)
    for f in range(X.shape[1]):
        total += (X[i, f] - X[j, f]) ** 2
    assert np.array_equal(dense, total)
    shuffled = sp.csr_array(X)
    shuffled.indices = np.concatenate([row[::-1] for row in np.split(shuffled.indices, shuffled.indptr[1:-1])])
    shuffled.data = np.concatenate([row[::-1] for row in np.split(shuffled.data, shuffled.indptr[1:-1])])
    shuffled.has_sorted_indices = False
    for other in (sp.csr_array(X), shuffled, np.asfortranarray(X)):
        assert np.array_equal(pair_squares(other, i, other, j), dense)
    assert np.array_equal(paired_distances(sp.csr_array(X), X, j.reshape(len(X), -1)).ravel(), np.sqrt(dense))


@each_table
def test_widths_do_not_depend_on_the_container(X: Any) -> None:
    assert median_width(sp.csr_array(X)) == pytest.approx(median_width(X), rel=1e-9)


def test_sparse_rows_are_shifted_in_full_columns_only() -> None:
    X = TABLES["sparse columns beside offsets"]
    origin = origin_of(sp.csr_array(X))
    assert origin is not None
    assert np.array_equal(np.flatnonzero(origin), [40, 41])
    near = moved(sp.csr_array(X), origin)
    assert near.nnz == np.count_nonzero(X)
    np.testing.assert_array_equal(near.toarray(), X - origin)
    assert origin_of(sp.csr_array(TABLES["sparse columns"])) is None


@each_table
def test_blocks_of_sparse_rows_by_differences(X: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(squares, "_DENSE", 100)
    found, exact = squares.block_squares(sp.csr_array(X[:17]), sp.csr_array(X)), true_squares(X[:17], X)
    assert np.all(np.abs(found - exact) <= 1e-13 * exact)


def test_products_of_sparse_rows_in_a_compiled_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    X = sp.csr_array(TABLES["sparse columns"])
    monkeypatch.setattr(squares, "_SMALL", 0)
    to = squares.Expansion(X)
    np.testing.assert_allclose(to.products(X[:9]), (X[:9] @ X.T).toarray(), rtol=1e-13, atol=1e-15)
    assert inner_products.signatures


@forms
@each_table
@pytest.mark.parametrize("far", [False, True])
def test_neighbours_from_products(X: Any, form: Any, far: bool) -> None:
    E, k = cdist(X, X, "sqeuclidean"), 6
    Z = None if not far else X[:11] + 0.25
    S = E if Z is None else cdist(Z, X, "sqeuclidean")
    if Z is None:
        np.fill_diagonal(S, np.inf)
    expected = np.argsort(S, axis=1, kind="stable")[:, :k]
    found = nearest_by_products(form(X), None if Z is None else form(Z), k)
    assert np.array_equal(found[1], expected)
    np.testing.assert_array_equal(found[0], np.sqrt(np.take_along_axis(S, expected, axis=1)))
    radius = float(np.sqrt(np.sort(S[np.isfinite(S)])[S.size // 5]))  # the distance of some pair equals the radius
    distances, indices = within_by_products(form(X), None if Z is None else form(Z), radius)
    for i, row in enumerate(np.sqrt(S) <= radius):
        assert np.array_equal(indices[i], np.flatnonzero(row))
        np.testing.assert_allclose(distances[i], np.sqrt(S[i, row]), rtol=1e-9)
