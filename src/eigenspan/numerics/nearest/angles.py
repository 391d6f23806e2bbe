"""Distances by the cosine, one minus the cosine of the angle between two rows, with all digits that the rows have of the angle.

Between rows of length one the cosine distance is half the squared Euclidean distance. Taken by differences, it keeps its digits where
angles are small, as among points far from the origin; one minus a product would round it at the size of one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.preprocessing import normalize

from .squares import EPS, block_squares, pair_squares, squared_distances

Array = NDArray[np.float64]
Index = NDArray[np.intp]

#: Entries of rows that are shorter than this, or longer than its inverse, are divided by their size before cosines are taken.
_SHORT = 1e-8


def visible_rows(X: Any) -> Any:
    """Rows for cosines, those that are very short or long divided by their largest entry.

    A cosine does not depend on lengths, but scikit-learn takes rows shorter than 2e-15 as zero, and squares of long ones overflow.
    """
    if sp.issparse(X):
        X = sp.csr_array(X)
        size = np.asarray(abs(X).max(axis=1).toarray()).ravel() if X.nnz else np.zeros(X.shape[0])
    else:
        size = np.abs(X).max(axis=1, initial=0.0)
    odd = (size > 0) & ((size < _SHORT) | (size > 1 / _SHORT))
    if not odd.any():
        return X
    unit = np.where(odd, size, 1.0)
    if not sp.issparse(X):
        return X / unit[:, None]
    return sp.csr_array((X.data / np.repeat(unit, np.diff(X.indptr)), X.indices, X.indptr), shape=X.shape)


def unit_rows(X: Any) -> Any:
    """The rows at length one, in double precision; zero rows stay zero."""
    X = sp.csr_array(X, dtype=np.float64) if sp.issparse(X) else np.asarray(X, dtype=np.float64)
    return normalize(visible_rows(X))


def cosine_distances(X: Any, Z: Any = None) -> Array:
    """The matrix of distances from the rows of X to those of Z (default: X), accurate to nine digits. A zero row is at distance 1."""
    U = unit_rows(X)
    V = U if Z is None or Z is X else unit_rows(Z)
    D = squared_distances(U, None if V is U else V)
    return _halved(D, _are_zero(U), _are_zero(V), same=V is U)


def cosines_by_differences(U: Any, V: Any) -> Array:
    """The same of rows of length one, all by differences."""
    return _halved(block_squares(U, V), _are_zero(U), _are_zero(V))


def paired_cosines(X: Any, i: Index, Z: Any, j: Index) -> Array:
    """The distances of pairs of rows of length one."""
    D = 0.5 * pair_squares(X, i, Z, j)
    D[_are_zero(X)[i] | _are_zero(Z)[j]] = 1.0
    return D


def rounding_of_cosines(D: Array, features: int) -> Array:
    """What rounding of rows of length one makes of their distances D."""
    return 16 * EPS * (np.sqrt(D) + (features + 16) * D + EPS)


def _halved(squares: Array, zero: Any, other: Any, *, same: bool = False) -> Array:
    squares *= 0.5
    squares[zero] = 1.0
    squares[:, other] = 1.0
    if same:
        np.fill_diagonal(squares, 0.0)
    return squares


def _are_zero(U: Any) -> NDArray[np.bool_]:
    if sp.issparse(U):
        return np.asarray(np.diff(U.indptr) == 0) | ~np.asarray(abs(U).sum(axis=1)).ravel().astype(bool)
    return ~U.any(axis=1)
