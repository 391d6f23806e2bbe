"""A data matrix about its mean that is never written out: its products, its two Gram matrices and its leading axes.

Dense rows are centred a block at a time; sparse ones keep their zeros, and the mean is taken off the products (a column without
zeros has its mean taken off its values, or far from the origin nothing would be left of its digits).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
from numpy.typing import NDArray

from ..memory import fits, require
from .dense import eigenpairs, symmetric, symmetric_product
from .lanczos import largest

Array = NDArray[np.float64]

#: Numbers of a dense matrix that are centred at once.
_NUMBERS = 2**22
#: Eigenvalues of a Gram matrix, relative to its largest, above which its eigenvectors make an orthonormal partner to ten digits.
_CLEAR = 1e-5
#: Rows or columns, whichever are fewer, for each product with a dense matrix that could be had in the time of its square.
_READS = 20
#: Vectors of a Krylov space at most.
_WIDEST = 300
#: Squared mean over variance of the columns up to which a mean that is taken off the products costs no digits worth a copy.
_NEAR = 100.0
#: Residual, relative to the largest eigenvalue, of axes that are found.
_SETTLED = 1e-11


def column_means(X: Any, center: bool = True) -> Array:
    """In double precision (a sparse float32 matrix would be summed in its own); zero where nothing is to be centred."""
    if not center:
        return np.zeros(X.shape[1])
    return np.ones(X.shape[0]) @ X / X.shape[0] if sp.issparse(X) else np.mean(X, axis=0, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Centred:
    """``X − 1·mean'`` of shape (n, D). Build it with `Centred.of`."""

    X: Any
    mean: Array
    shift: Any = 0.0

    @staticmethod
    def of(X: Any, mean: Array) -> Centred:
        """X about the mean of its columns, whose values they need not share: a sparse column without zeros is shifted."""
        if not sp.issparse(X):
            return Centred(X, mean)
        X = sp.csr_array(X, dtype=np.float64)
        if not X.has_canonical_format:  # the arrays are the caller's
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
        """Of the rows as they were given."""
        return self.mean + self.shift

    @property
    def shape(self) -> tuple[int, int]:
        return self.X.shape

    @property
    def is_sparse(self) -> bool:
        return sp.issparse(self.X)

    @property
    def stored(self) -> int:
        """Numbers in memory."""
        return int(self.X.nnz) if self.is_sparse else int(self.X.size)

    @cached_property
    def is_near(self) -> bool:
        """Products keep their digits where the mean is taken off afterwards; and dense rows are at hand in double precision."""
        if self.is_sparse or not self.mean.any():
            return True
        return self.X.dtype == np.float64 and self._is_near(self._squares)

    def _is_near(self, squares: Array) -> bool:
        return bool(np.all(self.shape[0] * self.mean**2 <= _NEAR * squares))

    def _rows(self) -> Iterator[tuple[slice, Array]]:
        n, D = self.shape
        step = max(64, _NUMBERS // max(D, 1))
        for i in range(0, n, step):
            part = slice(i, i + step)
            yield part, np.subtract(self.X[part], self.mean, dtype=np.float64)

    def _columns(self) -> Iterator[Array]:
        n, D = self.shape
        step = max(64, _NUMBERS // max(n, 1))
        for j in range(0, D, step):
            yield np.subtract(self.X[:, j : j + step], self.mean[j : j + step], dtype=np.float64)

    def forward(self, V: Array) -> Array:
        """``(X − 1·mean') V`` for V of shape (D,) or (D, r)."""
        if self.is_near:
            return np.asarray(self.X @ V - self.mean @ V)
        return np.concatenate([block @ V for _, block in self._rows()])

    def backward(self, U: Array) -> Array:
        """``(X − 1·mean')' U`` for U of shape (n,) or (n, r)."""
        if self.is_near:
            return np.asarray(self.X.T @ U - np.multiply.outer(self.mean, U.sum(axis=0)))
        return sum((block.T @ U[part] for part, block in self._rows()), np.zeros((self.shape[1], *U.shape[1:])))

    def backward_parts(self, U: Array) -> Iterator[Array]:
        """``(X − 1·mean')' U`` some columns of X at a time."""
        if not self.is_sparse:
            yield from (block.T @ U for block in self._columns())
            return
        columns, sums = sp.csr_array(self.X.T), U.sum(axis=0)
        step = max(64, _NUMBERS // max(U.shape[1], 1))
        for j in range(0, self.shape[1], step):
            yield columns[j : j + step] @ U - np.multiply.outer(self.mean[j : j + step], sums)

    def gram(self) -> Array:
        """The n×n products of the rows."""
        if not self.is_sparse:
            return sum((block @ block.T for block in self._columns()), np.zeros((self.shape[0],) * 2))
        G, a = (self.X @ self.X.T).toarray(), self.X @ self.mean
        G -= np.add.outer(a, a - self.mean @ self.mean)
        return symmetric(G)

    def scatter(self) -> Array:
        """The D×D products of the columns."""
        if not self.is_sparse:
            return sum((block.T @ block for _, block in self._rows()), np.zeros((self.shape[1],) * 2))
        S, sums = (self.X.T @ self.X).toarray(), self.X.sum(axis=0)
        S += np.outer(self.mean, self.shape[0] * self.mean - sums) - np.outer(sums, self.mean)
        return symmetric(S)

    def smaller(self) -> Array:
        """Of these two the one of lower order."""
        return self.gram() if self.shape[0] <= self.shape[1] else self.scatter()

    @cached_property
    def _squares(self) -> Array:
        """Sums of squares of the columns; those about the origin serve where taking the mean off them costs no digits."""
        n, D = self.shape
        if self.is_sparse:
            away = (self.X.data - self.mean[self.X.indices]) ** 2
            zeros = n - np.bincount(self.X.indices, minlength=D)
            return np.bincount(self.X.indices, away, minlength=D) + zeros * self.mean**2
        if self.X.dtype == np.float64:
            squares = np.einsum("ij,ij->j", self.X, self.X) - n * self.mean**2
            if self._is_near(squares):
                return squares
        return sum((np.einsum("ij,ij->j", block, block) for _, block in self._rows()), np.zeros(D))

    def spread(self) -> Array:
        """Standard deviation of every column."""
        return np.sqrt(self._squares / max(self.shape[0], 1))

    def divided(self, unit: Array) -> Centred:
        """The same with every column in units of its own; dense X is copied."""
        if self.is_sparse:
            X = sp.csr_array((self.X.data / unit[self.X.indices], self.X.indices, self.X.indptr), shape=self.shape)
            return Centred(X, self.mean / unit)
        X = np.subtract(self.X, self.mean, dtype=np.float64) / unit
        if self.mean.any():
            X -= X.mean(axis=0)  # far from the origin the mean is rounded too
        return Centred(X, np.zeros_like(self.mean))


class Axes(NamedTuple):
    """Principal axes, largest first: singular values, right singular vectors, their residuals ``‖C'Cv − s²v‖ / s_1²``, and the
    coordinates of the rows along them."""

    values: Array
    vectors: Array
    residuals: Array
    scores: Array


class Squared:
    """``u -> CC'u``, or ``v -> C'Cv`` where that is smaller.

    Dense X is read for every product, until they have taken as long as multiplying it with itself would: that is done then, if memory
    allows, and the products go on with the small matrix. In all they take at most twice as long as the better of both ways.
    """

    def __init__(self, C: Centred, few: int) -> None:
        self.C, self.order = C, min(C.shape)
        self.small: Array | None = None
        # a product with rows that are far away copies them
        self.reads = math.inf if C.is_sparse else self.order // (_READS if C.is_near else 5 * _READS)
        if self.reads < 3 * few:  # too few to find anything
            self.reads = 0

    def __call__(self, u: Array) -> Array:
        if self.small is None and self.reads <= 0 and fits(24.0 * self.order**2, 0.5):
            self.small = symmetric(self.C.smaller())
        if self.small is not None:
            return symmetric_product(self.small, u)
        self.reads -= 1
        wide = self.order == self.C.shape[0]
        return self.C.forward(self.C.backward(u)) if wide else self.C.backward(self.C.forward(u))


@dataclass(frozen=True, eq=False)
class Partners:
    """``C'W`` with orthonormal columns, as many as the rows span: multiplied with a few vectors, and not written out for that.

    Build it with `Partners.of`.
    """

    C: Centred
    W: Array

    @staticmethod
    def of(C: Centred, values: Array, U: Array) -> Partners | Array:
        """`right_partners`, from sums over some columns at a time."""
        W = U / np.sqrt(values)
        if _is_clear(values):
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

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        D, r = self.shape
        require(16.0 * D * r, f"The {D}×{r} axes of a row space", "Pass reduce=r to keep r principal axes first.")
        return np.asarray(self.C.backward(self.W), dtype=dtype)


def right_partners(C: Centred, values: Array, U: Array) -> Array:
    """Orthonormal ``C'U diag(values)^−½`` of eigenpairs of ``CC'``, largest first.

    Rounding in the products leans small axes towards large ones; where that shows, what leans is taken off.
    """
    V = C.backward(U) / np.sqrt(values)
    if _is_clear(values):
        return V
    R, failed = la.lapack.dpotrf(symmetric(V.T @ V))
    if not failed:
        return la.solve_triangular(R, V.T, trans="T", overwrite_b=True).T
    Q, R = la.qr(V, mode="economic")
    return Q * np.where(np.diagonal(R) < 0, -1.0, 1.0)  # partners of U, not of −U


def _is_clear(values: Array) -> bool:
    """Partners of these eigenvalues are orthonormal as they come."""
    return not values.size or bool(values[-1] > _CLEAR * values[0])


def leading_axes(C: Centred, r: int, rng: np.random.Generator, *, spare: int = 0) -> Axes:
    """The `r` principal axes of largest variance, the last `spare` of them only well enough to tell the gap before them.

    Lanczos on products with X to full accuracy, copies of repeated values included; dense X is multiplied with itself, O(nD min(n,
    D)), as soon as that is less work than the products so far, and at once where r is a large part of the rank. Values that are
    rounding of the first come out as none: there may be fewer than r.
    """
    small, r = min(C.shape), int(r)  # a narrow integer would overflow
    least = 2 * r + 20
    if 2 * least < small:
        width = min(max(least, min(C.stored // small, _WIDEST)), small // 2)
        product = Squared(C, r)
        found = _axes(C, *largest(product, small, r, rng, width=width, rough=spare, threaded=not C.is_sparse))
        if _is_true(C, found, r - spare, rng):
            return found
    require(24.0 * small**2, f"The {small}×{small} products of the rows", "Ask for fewer axes.")
    M = symmetric(C.smaller())
    values, vectors = eigenpairs(M, r, "max")
    top = max(values[0], np.finfo(float).tiny)
    return _axes(C, values, vectors, top * la.norm((M @ vectors - vectors * values) / top, axis=0))


def _axes(C: Centred, values: Array, vectors: Array, residuals: Array) -> Axes:
    """From eigenpairs of the smaller Gram matrix, largest first, those that are rounding left out."""
    kept = values > 1e-13 * max(values[0], 0.0)
    values, vectors, residuals = values[kept], vectors[:, kept], residuals[kept] / max(values[0], np.finfo(float).tiny)
    if C.shape[0] > C.shape[1]:
        return Axes(np.sqrt(values), vectors, residuals, C.forward(vectors))
    s = np.sqrt(values)
    return Axes(s, right_partners(C, values, vectors), residuals * s.max(initial=0.0) / s, vectors * s)


def _is_true(C: Centred, found: Axes, wanted: int, rng: np.random.Generator) -> bool:
    """The wanted axes are orthonormal and their residuals small, of which one product with a random vector among them tells."""
    V, s = found.vectors[:, :wanted], found.values[:wanted]
    if np.any(np.abs(V.T @ V - np.eye(s.size)) > 1e-9) or np.any(found.residuals[:wanted] > _SETTLED):
        return False
    g = rng.standard_normal(s.size)
    error = la.norm(C.backward(C.forward(V @ g)) - V @ (s**2 * g))
    return bool(error <= _SETTLED * s.max(initial=0.0) ** 2 * la.norm(g))
