"""A data matrix centred implicitly: its products, its two Gram matrices and its principal axes.

Dense rows are centred a block at a time. Sparse ones keep their zeros, and the mean is subtracted from the products. A sparse column
without zeros has the mean subtracted from its values: far from the origin its digits would cancel otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
from numpy.typing import DTypeLike

from ..._types import Array, Matrix, is_sparse
from ..memory import fits, require
from .dense import eigenpairs, symmetric, symmetric_product
from .lanczos import largest

#: Number of entries of a dense matrix that are centred at a time.
_BLOCK_ENTRIES = 2**22
#: Eigenvalues of a Gram matrix above this share of the largest have partner vectors that are orthonormal to ten digits.
_WELL_CONDITIONED = 1e-5
#: The Gram matrix takes as long as (smaller dimension / this number) products with the dense matrix.
_READS = 20
#: Maximum dimension of a Krylov space.
_MAX_KRYLOV = 300
#: Subtracting the mean from products is accurate enough up to this ratio of squared mean to variance of the columns.
_MAX_MEAN_RATIO = 100.0
#: Largest accepted residual of an axis, relative to the largest eigenvalue.
_TOLERANCE = 1e-11


def column_means(X: Matrix, center: bool = True) -> Array:
    """Return the means in double precision (a sparse float32 matrix would be summed in float32), or zeros if `center` is False."""
    if not center:
        return np.zeros(X.shape[1])
    return np.ones(X.shape[0]) @ X / X.shape[0] if is_sparse(X) else np.mean(X, axis=0, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Centred:
    """The matrix ``X − 1·mean'`` of shape (n, D). Build it with `Centred.of`."""

    X: Matrix
    mean: Array
    shift: Array | float = 0.0

    @staticmethod
    def of(X: Matrix, mean: Array) -> Centred:
        """Centre X at `mean`, a vector in the units of its columns; a sparse column without zeros is shifted explicitly."""
        if not is_sparse(X):
            return Centred(X, mean)
        X = sp.csr_array(X, dtype=np.float64)
        if not X.has_canonical_format:  # do not change the caller's arrays
            X = X.copy()
            X.sum_duplicates()
        full = np.bincount(X.indices, minlength=X.shape[1]) == X.shape[0]
        if not np.any(mean[full]):
            return Centred(X, mean)
        data = X.data - np.where(full, mean, 0.0)[X.indices]
        shifted = sp.csr_array((data, X.indices, X.indptr), shape=X.shape)
        return Centred(shifted, np.where(full, 0.0, mean), np.where(full, mean, 0.0))

    @property
    def origin(self) -> Array:
        """Return the point of the original coordinates at which X is centred."""
        return self.mean + self.shift

    @property
    def shape(self) -> tuple[int, int]:
        return self.X.shape

    @property
    def is_sparse(self) -> bool:
        return is_sparse(self.X)

    @property
    def stored(self) -> int:
        """Return the number of stored entries."""
        return int(self.X.nnz) if is_sparse(self.X) else int(self.X.size)

    @cached_property
    def is_near(self) -> bool:
        """Return True if subtracting the mean after a product loses no digits (dense rows must also be float64)."""
        if self.is_sparse or not self.mean.any():
            return True
        return self.X.dtype == np.float64 and self._is_near(self._squares)

    def _is_near(self, squares: Array) -> bool:
        return bool(np.all(self.shape[0] * self.mean**2 <= _MAX_MEAN_RATIO * squares))

    def _rows(self) -> Iterator[tuple[slice, Array]]:
        n, D = self.shape
        step = max(64, _BLOCK_ENTRIES // max(D, 1))
        for i in range(0, n, step):
            part = slice(i, i + step)
            yield part, np.subtract(self.X[part], self.mean, dtype=np.float64)

    def _columns(self) -> Iterator[Array]:
        n, D = self.shape
        step = max(64, _BLOCK_ENTRIES // max(n, 1))
        for j in range(0, D, step):
            yield np.subtract(self.X[:, j : j + step], self.mean[j : j + step], dtype=np.float64)

    def forward(self, V: Array) -> Array:
        """Return ``(X − 1·mean') V`` for V of shape (D,) or (D, r)."""
        if self.is_near:
            return np.asarray(self.X @ V - self.mean @ V)
        return np.concatenate([block @ V for _, block in self._rows()])

    def backward(self, U: Array) -> Array:
        """Return ``(X − 1·mean')' U`` for U of shape (n,) or (n, r)."""
        if self.is_near:
            return np.asarray(self.X.T @ U - np.multiply.outer(self.mean, U.sum(axis=0)))
        return sum((block.T @ U[part] for part, block in self._rows()), np.zeros((self.shape[1], *U.shape[1:])))

    def backward_parts(self, U: Array) -> Iterator[Array]:
        """Yield ``(X − 1·mean')' U`` for a block of columns of X at a time."""
        if not self.is_sparse:
            yield from (block.T @ U for block in self._columns())
            return
        columns, sums = sp.csr_array(self.X.T), U.sum(axis=0)
        step = max(64, _BLOCK_ENTRIES // max(U.shape[1], 1))
        for j in range(0, self.shape[1], step):
            yield columns[j : j + step] @ U - np.multiply.outer(self.mean[j : j + step], sums)

    def gram(self) -> Array:
        """Return the n×n inner products of the rows."""
        X = self.X
        if not is_sparse(X):
            return sum((block @ block.T for block in self._columns()), np.zeros((self.shape[0],) * 2))
        G, a = sp.csr_array(X @ X.T).toarray(), X @ self.mean
        G -= np.add.outer(a, a - self.mean @ self.mean)
        return symmetric(G)

    def scatter(self) -> Array:
        """Return the D×D inner products of the columns."""
        if not self.is_sparse:
            return sum((block.T @ block for _, block in self._rows()), np.zeros((self.shape[1],) * 2))
        S, sums = sp.csr_array(self.X.T @ self.X).toarray(), self.X.sum(axis=0)
        S += np.outer(self.mean, self.shape[0] * self.mean - sums) - np.outer(sums, self.mean)
        return symmetric(S)

    def smaller_gram(self) -> Array:
        """Return `gram` or `scatter`, whichever is smaller."""
        return self.gram() if self.shape[0] <= self.shape[1] else self.scatter()

    @cached_property
    def _squares(self) -> Array:
        """Return the column sums of squares about the mean; computed from those about the origin if no digits cancel."""
        (n, D), X = self.shape, self.X
        if is_sparse(X):
            away = (X.data - self.mean[X.indices]) ** 2
            zeros = n - np.bincount(X.indices, minlength=D)
            return np.bincount(X.indices, away, minlength=D) + zeros * self.mean**2
        if self.X.dtype == np.float64:
            squares = np.einsum("ij,ij->j", self.X, self.X) - n * self.mean**2
            if self._is_near(squares):
                return squares
        return sum((np.einsum("ij,ij->j", block, block) for _, block in self._rows()), np.zeros(D))

    def spread(self) -> Array:
        """Return the standard deviation of each column."""
        return np.sqrt(self._squares / max(self.shape[0], 1))

    def divided(self, unit: Array) -> Centred:
        """Return the matrix with each column divided by its entry of `unit`; dense X is copied."""
        X = self.X
        if is_sparse(X):
            X = sp.csr_array((X.data / unit[X.indices], X.indices, X.indptr), shape=self.shape)
            return Centred(X, self.mean / unit)
        X = np.subtract(X, self.mean, dtype=np.float64) / unit
        if self.mean.any():
            X -= X.mean(axis=0)  # far from the origin the stored mean is rounded too
        return Centred(X, np.zeros_like(self.mean))


class LeadingAxes(NamedTuple):
    """Principal axes, largest first: singular values, right singular vectors, residuals ``‖C'Cv − s²v‖ / s_1²``, and scores (the
    coordinates of the rows along the axes)."""

    values: Array
    vectors: Array
    residuals: Array
    scores: Array


class Squared:
    """The operator ``u -> CC'u``, or ``v -> C'Cv`` if that is smaller.

    At first each product reads X. Once these products have taken as long as the Gram matrix would, the Gram matrix is computed, if memory
    allows, and used for further products. The total time is at most twice that of the faster alternative.
    """

    def __init__(self, C: Centred, few: int) -> None:
        self.C, self.order = C, min(C.shape)
        self.small: Array | None = None
        # far from the origin each product copies the rows
        self.reads = math.inf if C.is_sparse else self.order // (_READS if C.is_near else 5 * _READS)
        if self.reads < 3 * few:  # too few products to find anything
            self.reads = 0

    def __call__(self, u: Array) -> Array:
        if self.small is None and self.reads <= 0 and fits(24.0 * self.order**2, 0.5):
            self.small = symmetric(self.C.smaller_gram())
        if self.small is not None:
            return symmetric_product(self.small, u)
        self.reads -= 1
        wide = self.order == self.C.shape[0]
        return self.C.forward(self.C.backward(u)) if wide else self.C.backward(self.C.forward(u))


@dataclass(frozen=True, eq=False)
class Partners:
    """``C'W`` with orthonormal columns that span the row space, kept in factored form for products with a few vectors.

    Build it with `Partners.of`.
    """

    C: Centred
    W: Array

    @staticmethod
    def of(C: Centred, values: Array, U: Array) -> Partners | Array:
        """Compute `right_partners` in factored form, from sums over blocks of columns."""
        W = U / np.sqrt(values)
        if _is_well_conditioned(values):
            return Partners(C, W)
        R, failed = la.lapack.dpotrf(symmetric(sum((V.T @ V for V in C.backward_parts(W)), 0.0 * np.eye(values.size))))
        if failed:
            return right_partners(C, values, U)
        return Partners(C, la.solve_triangular(R, W.T, trans="T", overwrite_b=True).T)

    @property
    def shape(self) -> tuple[int, int]:
        return self.C.shape[1], self.W.shape[1]

    @property
    def T(self) -> Array:
        return np.asarray(self).T

    def __matmul__(self, V: Array) -> Array:
        return self.C.backward(self.W @ V)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Array:
        D, r = self.shape
        require(16.0 * D * r, f"The {D}×{r} axes of a row space", "Pass reduce=r to keep r principal axes first.")
        return np.asarray(self.C.backward(self.W), dtype=dtype)


def right_partners(C: Centred, values: Array, U: Array) -> Array:
    """Return the orthonormal vectors ``C'U diag(values)^−½`` for eigenpairs of ``CC'``, largest first.

    Rounding in the products gives small axes a component along large ones. If that is noticeable, the axes are orthonormalised again.
    """
    V = C.backward(U) / np.sqrt(values)
    if _is_well_conditioned(values):
        return V
    R, failed = la.lapack.dpotrf(symmetric(V.T @ V))
    if not failed:
        return la.solve_triangular(R, V.T, trans="T", overwrite_b=True).T
    Q, R = la.qr(V, mode="economic")
    return Q * np.where(np.diagonal(R) < 0, -1.0, 1.0)  # the signs of the partners must match U


def _is_well_conditioned(values: Array) -> bool:
    """Return True if the partners of these eigenvalues are orthonormal without further work."""
    return not values.size or bool(values[-1] > _WELL_CONDITIONED * values[0])


def leading_axes(C: Centred, r: int, rng: np.random.Generator, *, spare: int = 0) -> LeadingAxes:
    """Return the `r` principal axes of largest variance; the last `spare` only as accurately as measuring the gap before them requires.

    Uses Lanczos on products with X to full accuracy, including repeated values. The Gram matrix of dense X, O(nD min(n, D)), is computed
    as soon as that costs less than the products so far, and at once if r is a large part of the rank. Values that are only rounding
    relative to the first are dropped, so there may be fewer than r.
    """
    small, r = min(C.shape), int(r)  # a narrow integer type would overflow
    least = 2 * r + 20
    if 2 * least < small:
        width = min(max(least, min(C.stored // small, _MAX_KRYLOV)), small // 2)
        product = Squared(C, r)
        found = _axes(C, *largest(product, small, r, rng, width=width, rough=spare, threaded=not C.is_sparse))
        if _is_converged(C, found, r - spare, rng):
            return found
    require(24.0 * small**2, f"The {small}×{small} products of the rows", "Ask for fewer axes.")
    M = symmetric(C.smaller_gram())
    values, vectors = eigenpairs(M, r, "max")
    top = max(values[0], np.finfo(float).tiny)
    return _axes(C, values, vectors, top * la.norm((M @ vectors - vectors * values) / top, axis=0))


def _axes(C: Centred, values: Array, vectors: Array, residuals: Array) -> LeadingAxes:
    """Return the axes for eigenpairs of the smaller Gram matrix, largest first, without those that are rounding."""
    kept = values > 1e-13 * max(values[0], 0.0)
    values, vectors, residuals = values[kept], vectors[:, kept], residuals[kept] / max(values[0], np.finfo(float).tiny)
    if C.shape[0] > C.shape[1]:
        return LeadingAxes(np.sqrt(values), vectors, residuals, C.forward(vectors))
    s = np.sqrt(values)
    return LeadingAxes(s, right_partners(C, values, vectors), residuals * s.max(initial=0.0) / s, vectors * s)


def _is_converged(C: Centred, found: LeadingAxes, wanted: int, rng: np.random.Generator) -> bool:
    """Return True if the wanted axes are orthonormal with small residuals, checked by one product with a random combination of them."""
    V, s = found.vectors[:, :wanted], found.values[:wanted]
    if np.any(np.abs(V.T @ V - np.eye(s.size)) > 1e-9) or np.any(found.residuals[:wanted] > _TOLERANCE):
        return False
    g = rng.standard_normal(s.size)
    error = la.norm(C.backward(C.forward(V @ g)) - V @ (s**2 * g))
    return bool(error <= _TOLERANCE * s.max(initial=0.0) ** 2 * la.norm(g))
