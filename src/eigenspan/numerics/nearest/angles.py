"""Cosine distances, one minus the cosine of the angle between two rows, accurate also for small angles.

The cosine distance of rows of length one is half their squared Euclidean distance. Computed by differences, it keeps its digits if the
angle is small, as among points far from the origin; one minus a product would have the rounding error of one.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from ..._types import Array, Index, Mask, Matrix, is_sparse
from .squares import EPS, block_squares, pair_squares, squared_distances

#: Entries of rows that are shorter than this, or longer than its inverse, are divided by their size before cosines are taken.
_SHORT = 1e-8


def visible_rows(X: Matrix) -> Matrix:
    """Return rows for cosines: those that are very short or long are divided by their largest entry.

    A cosine does not depend on lengths, but scikit-learn takes rows shorter than 2e-15 as zero, and squares of long ones overflow.
    """
    if is_sparse(X):
        X = sp.csr_array(X)
        size = np.asarray(abs(X).max(axis=1).toarray()).ravel() if X.nnz else np.zeros(X.shape[0])
    else:
        size = np.abs(X).max(axis=1, initial=0.0)
    odd = (size > 0) & ((size < _SHORT) | (size > 1 / _SHORT))
    if not odd.any():
        return X
    unit = np.where(odd, size, 1.0)
    if not is_sparse(X):
        return X / unit[:, None]
    return sp.csr_array((X.data / np.repeat(unit, np.diff(X.indptr)), X.indices, X.indptr), shape=X.shape)


def unit_rows(X: Matrix) -> Matrix:
    """Return the rows at length one, in double precision; zero rows stay zero."""
    X = sp.csr_array(X, dtype=np.float64) if is_sparse(X) else np.asarray(X, dtype=np.float64)
    return normalize(visible_rows(X))


def cosine_distances(X: Matrix, Z: Matrix | None = None) -> Array:
    """Return the matrix of distances from the rows of X to those of Z (default: X), accurate to nine digits.

    A zero row is at distance 1.
    """
    U = unit_rows(X)
    V = U if Z is None or Z is X else unit_rows(Z)
    D = squared_distances(U, None if V is U else V)
    return _halved(D, _are_zero(U), _are_zero(V), same=V is U)


def cosines_by_differences(U: Matrix, V: Matrix) -> Array:
    """Return the cosine distances of all pairs of rows of length one, by differences."""
    return _halved(block_squares(U, V), _are_zero(U), _are_zero(V))


def paired_cosines(X: Matrix, i: Index, Z: Matrix, j: Index) -> Array:
    """Return the cosine distances of pairs of rows of length one."""
    D = 0.5 * pair_squares(X, i, Z, j)
    D[_are_zero(X)[i] | _are_zero(Z)[j]] = 1.0
    return D


def rounding_of_cosines(D: Array, features: int) -> Array:
    """Return bounds on the rounding errors of the distances D of rows of length one."""
    return 16 * EPS * (np.sqrt(D) + (features + 16) * D + EPS)


def _halved(squares: Array, zero: Mask, other: Mask, *, same: bool = False) -> Array:
    squares *= 0.5
    squares[zero] = 1.0
    squares[:, other] = 1.0
    if same:
        np.fill_diagonal(squares, 0.0)
    return squares


def _are_zero(U: Matrix) -> Mask:
    if is_sparse(U):
        return np.asarray(np.diff(U.indptr) == 0) | ~np.asarray(abs(U).sum(axis=1)).ravel().astype(bool)
    return np.asarray(~U.any(axis=1))
