"""A data matrix about its mean that is never written out: its products, its two Gram matrices and its leading axes.

Dense rows are centred a block at a time; sparse ones keep their zeros, and the mean is taken off the products (a column without
zeros has its mean taken off its values, or far from the origin nothing would be left of its digits).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
from numpy.typing import NDArray

from .._resources import require
from .dense import eigenpairs, symmetric, symmetric_product
from .iterative import new_directions, top_pairs

Array = NDArray[np.float64]

#: Numbers of a dense matrix that are centred at once.
_NUMBERS = 2**22
#: Eigenvalues of a Gram matrix, relative to its largest, above which its eigenvectors make an orthonormal partner to ten digits.
_CLEAR = 1e-5
#: Rows and columns for each axis from which a dense matrix is read a few times instead of multiplied with itself; columns of a
#: block beyond the axes wanted, and how often the matrix is read at most.
_LARGE, _SPARE, _PASSES = 300, 6, 24
#: Residual, relative to the largest eigenvalue, of axes that are found.
_SETTLED = 1e-11


@dataclass(frozen=True, eq=False)
class Centred:
    """``X − 1·mean'`` of shape (n, D). Build it with `Centred.of`."""

    X: Any
    mean: Array

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
        return Centred(sp.csr_array((data, X.indices, X.indptr), shape=X.shape), np.where(full, 0.0, mean))

    @property
    def shape(self) -> tuple[int, int]:
        return self.X.shape

    @property
    def is_sparse(self) -> bool:
        return sp.issparse(self.X)

    @cached_property
    def _transposed(self) -> sp.csr_array:
        return sp.csr_array(self.X.T)

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
        if self.is_sparse:
            return np.asarray(self.X @ V - self.mean @ V)
        return np.concatenate([block @ V for _, block in self._rows()])

    def backward(self, U: Array) -> Array:
        """``(X − 1·mean')' U`` for U of shape (n,) or (n, r)."""
        if self.is_sparse:
            return np.asarray(self._transposed @ U - np.multiply.outer(self.mean, U.sum(axis=0)))
        return sum((block.T @ U[part] for part, block in self._rows()), np.zeros((self.shape[1], *U.shape[1:])))

    def gram(self) -> Array:
        """The n×n products of the rows."""
        if not self.is_sparse:
            return sum((block @ block.T for block in self._columns()), np.zeros((self.shape[0],) * 2))
        G, a = (self.X @ self._transposed).toarray(), self.X @ self.mean
        G -= np.add.outer(a, a - self.mean @ self.mean)
        return symmetric(G)

    def scatter(self) -> Array:
        """The D×D products of the columns."""
        if not self.is_sparse:
            return sum((block.T @ block for _, block in self._rows()), np.zeros((self.shape[1],) * 2))
        S, sums = (self._transposed @ self.X).toarray(), self.X.sum(axis=0)
        S += np.outer(self.mean, self.shape[0] * self.mean - sums) - np.outer(sums, self.mean)
        return symmetric(S)

    def spread(self) -> Array:
        """Standard deviation of every column, from sums that nothing is subtracted from."""
        n, D = self.shape
        if not self.is_sparse:
            squares = sum((np.einsum("ij,ij->j", block, block) for _, block in self._rows()), np.zeros(D))
        else:
            away = (self.X.data - self.mean[self.X.indices]) ** 2
            zeros = n - np.bincount(self.X.indices, minlength=D)
            squares = np.bincount(self.X.indices, away, minlength=D) + zeros * self.mean**2
        return np.sqrt(squares / max(n, 1))

    def divided(self, unit: Array) -> Centred:
        """The same with every column in units of its own; dense X is copied."""
        if self.is_sparse:
            X = sp.csr_array((self.X.data / unit[self.X.indices], self.X.indices, self.X.indptr), shape=self.shape)
            return Centred(X, self.mean / unit)
        X = np.subtract(self.X, self.mean, dtype=np.float64) / unit
        X -= X.mean(axis=0)  # far from the origin the mean is rounded too
        return Centred(X, np.zeros_like(self.mean))


def right_partners(C: Centred, values: Array, U: Array) -> Array:
    """Orthonormal ``C'U diag(values)^−½`` of eigenpairs of ``CC'``, largest first.

    Rounding in the products leans small axes towards large ones; where that shows, what leans is taken off.
    """
    V = C.backward(U) / np.sqrt(values)
    if not values.size or values[-1] > _CLEAR * values[0]:
        return V
    R, failed = la.lapack.dpotrf(symmetric(V.T @ V))
    return la.qr(V, mode="economic")[0] if failed else la.solve_triangular(R, V.T, trans="T", overwrite_b=True).T


def leading_axes(C: Centred, r: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """The `r` largest singular values, the right singular vectors and their residuals ``‖C'Cv − s²v‖ / s_1²``.

    The smaller Gram matrix of dense X, O(nD min(n, D)), or of sparse X where r is a large part of the rank; else Lanczos on the
    products with X, in blocks where it is dense, to full accuracy, copies of repeated values included. Values that are rounding of
    the first come out as none: there may be fewer than r.
    """
    (n, D), r = C.shape, int(r)  # a narrow integer would overflow
    small, many = min(n, D), 3 * r > min(n, D)
    if C.is_sparse and not many:
        twice = (lambda u: C.forward(C.backward(u))) if n <= D else (lambda v: C.backward(C.forward(v)))
        found = _axes(C, top_pairs(twice, small, r, rng, exclude=None, magnitude=0.0), r)
        if _is_settled(found):
            return found
    elif not many and small > _LARGE * r:
        block = _by_blocks(C, r, rng)
        if block is not None:
            return block
    require(24.0 * small**2, f"The {small}×{small} products of the rows", "Ask for fewer axes.")
    M = symmetric(C.gram() if n <= D else C.scatter())
    if many or C.is_sparse:
        return _axes(C, eigenpairs(M, None, "max"), r)
    pairs = top_pairs(lambda x: symmetric_product(M, x), small, r, rng, exclude=None, magnitude=0.0, threaded=True)
    found = _axes(C, pairs, r)
    return found if _is_settled(found) else _axes(C, eigenpairs(M, None, "max"), r)


def _by_blocks(C: Centred, r: int, rng: np.random.Generator) -> tuple[Array, Array, Array] | None:
    """The same by block Krylov iteration, which reads large dense X a few times in all (Musco & Musco); None where that is too few."""
    n, D = C.shape
    twice = (lambda U: C.forward(C.backward(U))) if n <= D else (lambda V: C.backward(C.forward(V)))
    Q = new_directions(rng.standard_normal((min(n, D), r + _SPARE)), np.zeros((min(n, D), 0)))
    images = np.zeros((len(Q), 0))
    for _ in range(_PASSES):
        images = np.hstack([images, twice(Q[:, images.shape[1] :])])
        values, turn = eigenpairs(symmetric(Q.T @ images), r, "max")
        vectors = Q @ turn
        if np.all(la.norm((images @ turn - vectors * values) / values[0], axis=0) <= _SETTLED / 10):
            found = _axes(C, (values, vectors), r)
            return found if _is_settled(found) else None
        more = new_directions(images[:, -r - _SPARE :], Q)
        if not more.shape[1]:
            break
        Q = np.hstack([Q, more])
    return None


def _is_settled(found: tuple[Array, Array, Array]) -> bool:
    """The axes are orthonormal and have small residuals.

    They need not where the rows have hardly more than r dimensions: their Krylov space ends early, and ARPACK then returns pairs
    that are none, or vectors that are too short.
    """
    _, V, residuals = found
    return bool(np.all(residuals <= _SETTLED) and np.all(np.abs(V.T @ V - np.eye(V.shape[1])) <= 1e-9))


def _axes(C: Centred, pairs: tuple[Array, Array], r: int) -> tuple[Array, Array, Array]:
    """From eigenpairs of the smaller Gram matrix, those that are rounding left out."""
    values, vectors = pairs
    order = np.argsort(values)[::-1][:r]
    order = order[values[order] > 1e-13 * max(values[order[0]], 0.0)]
    values, vectors = values[order], vectors[:, order]
    V = right_partners(C, values, vectors) if C.shape[0] <= C.shape[1] else vectors
    residuals = la.norm((C.backward(C.forward(V)) - V * values) / values.max(initial=np.finfo(float).tiny), axis=0)
    return np.sqrt(values), V, residuals
