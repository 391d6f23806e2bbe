"""Squared Euclidean distances with bounded errors, dense or sparse, also far from the origin.

Two formulas are used. *Differences*, ``Σ (x_f − z_f)²``, are accurate for every pair. The *expansion* ``|x|² + |z|² − 2⟨x, z⟩`` is a matrix
product and much faster, but its error is up to ``(D + 4) eps (|x|² + |z|²)``: if two points are much closer to each other than to the
origin, all digits are lost. So points are moved to a central origin, distances are expanded, and pairs whose error bound is too large are
measured again by differences.

`pair_squares` adds the squares in the order of the features, for all storage formats. So equal rows have equal distances in dense
and sparse arrays, in every search and with every linear algebra library, which makes "by distance, then by index" well defined.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from ..._types import Array, Index, Integers, Matrix, Sparse, is_sparse
from ..threads import in_slices, workers

EPS = float(np.finfo(np.float64).eps)
#: Relative error of a squared distance, and absolute error of an exponent, up to which no second measurement is needed.
_ACCURACY, _EXPONENT = 1e-9, 1e-10
#: Exponents below minus this number give an exponential of zero.
_VANISHES = 746.0
#: Number of entries processed together, so that they stay in the cache of one core.
_ENTRIES = 2**17
#: Number of coordinates held at a time: of pairs, and of blocks of sparse rows converted to dense.
_NUMBERS, _DENSE = 2**20, 2**22
#: If more than this share of a block must be measured again, all of its pairs are measured by differences.
_MANY = 1 / 16
#: With up to this many rows on one side all pairs are measured by differences: one pass over the other side.
_FEW = 4
#: Number of features, and of pairs, up to which differences are faster than a product with its corrections.
_NARROW, _PAIRS = 8, 2**20
#: Number of entries up to which scipy computes a product of sparse rows faster than a loop is compiled for the first time.
_SMALL = 2**24
#: Expansions of whole numbers are exact while their squared lengths are below this number.
EXACT = 2.0**50
#: A sparse column is shifted if this share of it is stored and its mean is this many standard deviations from zero.
_STORED, _FAR = 0.5, 8.0


# ---------------------------------------------------------------------- by differences
def pair_squares(X: Matrix, i: Index, Z: Matrix, j: Index) -> Array:
    """Return ``|x_i − z_j|²`` for pairs of rows, each summed in the order of the features."""
    out = np.empty(len(i))
    if is_sparse(X) or is_sparse(Z):
        X, Z = as_sparse(X), as_sparse(Z)
        step = max(1, _NUMBERS // (1 + (X.nnz + Z.nnz) // max(X.shape[0] + Z.shape[0], 1)))
        for a in range(0, len(i), step):
            E = X[i[a : a + step]] - Z[j[a : a + step]]
            rows = np.repeat(np.arange(E.shape[0]), np.diff(E.indptr))
            out[a : a + step] = np.bincount(rows, weights=E.data * E.data, minlength=E.shape[0])
        return out
    step = max(1, _NUMBERS // max(X.shape[1], 1))
    for a in range(0, len(i), step):
        near = np.asarray(X[i[a : a + step]], dtype=np.float64)
        E = np.ascontiguousarray((near - Z[j[a : a + step]]).T)
        total = np.zeros(E.shape[1])
        for e in E:
            e *= e
            total += e
        out[a : a + step] = total
    return out


def euclidean_lengths(X: Matrix, i: Index, Z: Matrix, j: Index) -> Array:
    """Return ``|x_i − z_j|`` for pairs of rows, by differences."""
    return np.sqrt(pair_squares(X, i, Z, j))


def as_sparse(X: Matrix) -> sp.csr_array:
    """Return CSR rows in double precision, sorted by column and without duplicate entries."""
    X = sp.csr_array(X, dtype=np.float64)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def block_squares(X: Matrix, Z: Matrix) -> Array:
    """Return the squared distances of all pairs by differences."""
    if not is_sparse(X):
        return np.asarray(cdist(X, Z, "sqeuclidean"))
    return _sparse_block_squares(X, Z)


def _sparse_block_squares(X: Sparse, Z: Sparse) -> Array:
    used = np.unique(X.indices)
    lone = np.ones(Z.shape[1], dtype=bool)
    lone[used] = False
    at = np.repeat(np.arange(Z.shape[0]), np.diff(Z.indptr))
    # Features that are zero in X add the squares of Z; the other features are few enough to convert to dense.
    rest = np.bincount(at, weights=np.where(lone[Z.indices], Z.data * Z.data, 0.0), minlength=Z.shape[0])
    near, out = X[:, used].toarray(), np.empty((X.shape[0], Z.shape[0]))
    step = max(1, _DENSE // max(used.size, 1))
    for j in range(0, Z.shape[0], step):
        out[:, j : j + step] = cdist(near, Z[j : j + step][:, used].toarray(), "sqeuclidean")
    out += rest
    return out


# ---------------------------------------------------------------------- the origin
def whole_numbers(X: Matrix) -> bool:
    """Return True if every value is a whole number."""
    values = X.data if is_sparse(X) else X
    if not np.all(values[:1] == np.rint(values[:1])):
        return False
    step = max(1, _NUMBERS // max(values[:1].size, 1))
    return all(
        bool(np.all(part == np.rint(part))) for part in (values[i : i + step] for i in range(0, len(values), step))
    )


def origin_of(X: Matrix) -> Array | None:
    """Return the (rounded, for whole numbers) mean of the rows; for sparse rows only in columns far from zero, zero in the others.

    Returns None for sparse rows without such columns.
    """
    if not is_sparse(X):
        centre = np.asarray(X.mean(axis=0, dtype=np.float64))
        return np.rint(centre) if whole_numbers(X) else centre
    n, D = X.shape
    stored = np.bincount(X.indices, minlength=D)
    heavy = np.flatnonzero(stored >= max(1, _STORED * n))
    if not heavy.size:
        return None
    where = np.full(D, -1)
    where[heavy] = np.arange(heavy.size)
    at = where[X.indices]
    at, data = at[at >= 0], X.data[at >= 0]
    means = np.bincount(at, weights=data, minlength=heavy.size) / n
    squares = np.bincount(at, weights=(data - means[at]) ** 2, minlength=heavy.size)
    squares += (n - stored[heavy]) * means**2
    far = means**2 > _FAR**2 * squares / n
    if not far.any():
        return None
    centre = np.zeros(D)
    centre[heavy[far]] = np.rint(means[far]) if whole_numbers(X) else means[far]
    return centre


def moved(X: Matrix, origin: Array | None) -> Matrix:
    """Return the rows relative to an origin, in double precision; sparse rows stay sparse."""
    if origin is None:
        return X if is_sparse(X) or X.dtype == np.float64 else X.astype(np.float64)
    if not is_sparse(X):
        return np.subtract(X, origin, dtype=np.float64)
    columns = np.flatnonzero(origin).astype(X.indices.dtype if hasattr(X, "indices") else np.int32)
    n = X.shape[0]
    starts = np.arange(0, n * columns.size + 1, max(columns.size, 1), dtype=columns.dtype)[: n + 1]
    shift = sp.csr_array((np.tile(origin[columns], n), np.tile(columns, n), starts), shape=X.shape)
    return sp.csr_array(X - shift)


def square_lengths(X: Matrix) -> Array:
    """Return ``|x|²`` of each row."""
    if not is_sparse(X):
        return np.einsum("ij,ij->i", X, X)
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    return np.asarray(np.bincount(rows, weights=X.data * X.data, minlength=X.shape[0]), dtype=np.float64)


# ---------------------------------------------------------------------- by expansion
class Expansion:
    """Squared distances to fixed rows Z by expansion, with the error bound ``error (|x|² + |z|²)`` for each."""

    def __init__(self, Z: Matrix, origin: Array | None = None) -> None:
        self.Z = as_sparse(Z) if is_sparse(Z) else Z
        self.origin = origin_of(self.Z) if origin is None else origin
        self.B = moved(self.Z, self.origin)
        self.b = square_lengths(self.B)
        self.largest = float(self.b.max(initial=0.0))
        terms = int(np.diff(self.B.indptr).max(initial=0)) if is_sparse(self.B) else self.B.shape[1]
        self.error = (terms + 4) * EPS
        self.turned: tuple[Integers, Integers, Array] | None = None  # rows of Bᵀ, for the compiled loop
        self.whole = self.largest < EXACT and whole_numbers(self.B)

    def rows(self, X: Matrix) -> tuple[Matrix, Matrix, Array, float]:
        """Return X in the format of Z, its rows relative to the origin, their squared lengths, and the factor of the error bound."""
        if X is self.Z:
            return X, self.B, self.b, 0.0 if self.whole else self.error
        if is_sparse(self.Z):
            X = as_sparse(X)
        elif is_sparse(X):
            X = X.toarray()
        A = moved(X, self.origin)
        a = square_lengths(A)
        exact = self.whole and a.max(initial=0.0) < EXACT and whole_numbers(A)
        return X, A, a, 0.0 if exact else self.error

    def products(self, A: Matrix, queries: int = 0) -> Array:
        """Return ``⟨x, z⟩`` for all pairs of moved rows; `queries` is the total number of rows if A holds only some of them."""
        if not is_sparse(A):
            return np.asarray(A @ self.B.T)
        from ..eigen import sparse_products as products
        from ..jit import csr_index_arrays
        from ..jit.compiler import is_compiled

        if max(A.shape[0], queries) * self.B.shape[0] <= _SMALL and not is_compiled(products.inner_products):
            return np.asarray((A @ self.B.T).toarray())
        if self.turned is None:
            turned = sp.csr_array(self.B.T)
            self.turned = (*csr_index_arrays(turned), np.asarray(turned.data))
        starts, rows, values = self.turned
        out = np.empty((A.shape[0], self.B.shape[0]))
        products.inner_products(*csr_index_arrays(A), A.data, starts, rows, values, out)
        return out


def squared_distances(
    X: Matrix, Z: Matrix | None = None, *, exponent: float | None = None, origin: Array | None = None,
    then: Callable[..., object] | None = None,
) -> Array:  # fmt: skip
    """Return ``|x_i − z_j|²`` for all pairs of rows, accurate to nine digits.

    Parameters
    ----------
    Z : array or None
        None for X itself: the diagonal is zero and the matrix symmetric.
    exponent : float or None
        Factor of the squares in an exponential. The exponent then has an error of at most 1e-10, which for small squares needs fewer than
        nine digits.
    origin : ndarray or None
        A point near the rows of Z; None computes one.
    then : callable or None
        Function ``then(part, out=part)`` applied to blocks of rows of the result while they are in the cache, such as `numpy.sqrt`.
    """
    Z = X if Z is None else Z
    same = Z is X
    few = min(X.shape[0], Z.shape[0]) <= _FEW
    if (
        exponent is None and X.shape[1] <= _NARROW
    ):  # kernel values keep one formula, because their rounding errors may matter
        few = few or X.shape[0] * Z.shape[0] <= _PAIRS
    if few and not is_sparse(X) and not is_sparse(Z):
        out = cdist(X, Z, "sqeuclidean")
        if then is not None:
            then(out, out=out)
        return np.asarray(out)
    to = Expansion(Z, origin)
    X, A, a, error = to.rows(to.Z if same else X)
    S = to.products(A)
    checked = error > 0 and (exponent is None or exponent * error * (a.max(initial=0.0) + to.largest) > _EXPONENT)

    def finish(rows: slice) -> None:
        part, sums = S[rows], a[rows, None] + to.b
        part *= -2.0
        part += sums
        np.maximum(part, 0.0, out=part)
        if same:
            np.fill_diagonal(part[:, rows], np.inf)
        if checked:
            measure_again(part, X[rows], to.Z, a[rows], to.b, error, exponent)
        if same:
            np.fill_diagonal(part[:, rows], 0.0)
        if then is not None:
            then(part, out=part)

    step = max(64 if checked and is_sparse(X) else 1, _ENTRIES // max(S.shape[1], 1))
    in_slices(finish, S.shape[0], step, workers())
    return S


def gaussian_kernel(X: Matrix, Z: Matrix | None, gamma: float, origin: Array | None = None) -> Array:
    """Return ``exp(−γ |x_i − z_j|²)`` for all pairs of rows, accurate also far from the origin; symmetric if Z is X or None."""

    def exponential(part: Array, out: Array) -> None:
        np.multiply(part, -gamma, out=out)
        np.exp(out, out=out)

    return squared_distances(X, Z, exponent=gamma, origin=origin, then=exponential)


def measure_again(
    part: Array, X: Matrix, Z: Matrix, a: Array, b: Array, error: float, exponent: float | None = None
) -> None:
    """Replace expanded squares `part` by differences, in place, where their error bound ``error (a_i + b_j)`` is too large.

    The parameters are those of `squared_distances`; a and b are the squared lengths of the rows that were expanded.
    """
    most = error * (a + b.max(initial=0.0))  # a bound for the whole row needs one comparison per entry
    limit = most / _ACCURACY
    if exponent is not None:
        limit = np.where(exponent * most > _EXPONENT, _VANISHES / exponent + most, -1.0)
    some = np.flatnonzero(part.min(axis=1) < limit)
    if not some.size:
        return
    rows, columns = np.nonzero(part[some] < limit[some, None])
    rows = some[rows]
    bound = error * (a[rows] + b[columns])
    doubtful = part[rows, columns] * _ACCURACY < bound if exponent is None else exponent * bound > _EXPONENT
    rows, columns = rows[doubtful], columns[doubtful]
    many = rows.size > _MANY * part.size
    part[rows, columns] = block_squares(X, Z)[rows, columns] if many else pair_squares(X, rows, Z, columns)
