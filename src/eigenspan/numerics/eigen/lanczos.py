"""Lanczos for operators with expensive products, such as the inverse of a large sparse matrix or a large data matrix times itself.

The inverse separates the wanted eigenvalues widely, so one or two dozen products find them. The iteration keeps its basis
orthogonal throughout and checks the residuals as it goes, not only when the basis is full. This takes half the products of a
restarted iteration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg as la

from ..._types import Array
from ...errors import ConvergenceError
from ..threads import one_blas_thread
from .dense import eigenpairs, local_eigenpairs, symmetric, tridiagonal_pairs
from .iterative import without

Apply = Callable[[Array], Array]

#: Residual, relative to the eigenvalue, of a wanted pair and of the last one, whose value (accurate to the square) measures the gap.
_TIGHT, _ROUGH = 1e-10, 1e-6
#: Residual of pairs of a data matrix times itself, relative to the largest eigenvalue and their own, and the part due to rounding.
_FINE, _ROUNDING = 5e-13, 2e-15
#: Residual of a rough pair, relative to its distance from the wanted ones.
_GAP_SHARE = 0.05
#: Eigenvalues below this share of the largest are not resolved: they are rounding of the products.
_RESOLVED_SHARE = 1e-6
#: Minimum number of products in a search for missed repeated eigenvalues, and the relative residual at which it stops.
_MIN_SEARCH_PRODUCTS, _SEARCH_TOLERANCE = 6, 1e-4
#: Maximum number of products from one start.
_MAX_PRODUCTS = 2000


@dataclass(frozen=True, eq=False)
class Ritz:
    """Approximate eigenpairs, largest first, from an orthonormal basis in rows and the remainder of the last products.

    They are computed on access, and must be accessed before the next product. `rest` is triangular: its columns hold the part of the
    last products outside the basis, in an orthonormal basis of that part.
    """

    basis: Array
    rest: Array
    compressed: Array
    tridiagonal: bool

    def leading(self, k: int) -> tuple[Array, Array, Array]:
        """Return values, coordinates in the basis, and residuals of the first `k`; fast while the compressed matrix is tridiagonal."""
        T = self.compressed
        values, turn = tridiagonal_pairs(T, k) if self.tridiagonal and k < len(T) else eigenpairs(T, k, "max")
        return values, turn, self._residuals(turn)

    @cached_property
    def _all(self) -> tuple[Array, Array, Array]:
        # needed after every product: this driver has the least overhead
        values, turn = local_eigenpairs(self.compressed)
        return values[::-1], turn[:, ::-1], self._residuals(turn[:, ::-1])

    def _residuals(self, turn: Array) -> Array:
        size = float(np.abs(self.rest).max()) or 1.0  # divide by it, because squares may overflow
        return size * np.asarray(la.norm(self.rest / size @ turn[-len(self.rest) :], axis=0))

    @property
    def values(self) -> Array:
        return self._all[0]

    @property
    def turn(self) -> Array:
        return self._all[1]

    @property
    def residuals(self) -> Array:
        return self._all[2]

    def vectors(self, count: int) -> Array:
        """Return the first `count` eigenvectors, in columns."""
        return self.combined(self.turn[:, :count])

    def combined(self, turn: Array) -> Array:
        return np.ascontiguousarray((turn.T @ self.basis).T)


def steps(apply: Apply, start: Array, width: int, keep: int, rng: np.random.Generator) -> Iterator[Ritz]:
    """Yield the Ritz pairs after each block product, without end, from a block of start vectors in rows.

    A basis that would exceed `width` vectors is restarted with its best `keep`.
    """
    b, n = start.shape
    Q, T = np.empty((width + b, n)), np.zeros((width, width))
    m, cut, size = 0, 0, 0.0

    def extend_basis(W: Array) -> Array:
        """Append an orthonormal basis of the remainders W (rows) to Q; return the coordinates of W in it."""
        R = np.zeros((b, b))
        for j, w in enumerate(W):
            before, w = la.norm(w), _orthogonal(w, Q[m : m + j], R[:j, j])
            if la.norm(w) < before / 2:  # cancellation amplifies rounding: orthogonalise against the basis again
                w = _orthogonal(w, Q[: m + j], np.zeros(m + j))
            R[j, j] = la.norm(w)
            if R[j, j] <= 1e-14 * size:  # an invariant subspace: continue from a random vector outside it
                R[j, j] = 0.0
                w = apply(rng.standard_normal((n,)))
                w = _orthogonal(_orthogonal(w, Q[: m + j], np.zeros(m + j)), Q[: m + j], np.zeros(m + j))
            Q[m + j] = w / la.norm(w)
        return R

    extend_basis(start)
    while True:
        # up to rounding, products overlap only with the last two blocks and with all vectors kept by the last restart
        near, old, new = 0 if m == cut else max(m - b, 0), m, slice(m, m + b)
        m += b
        W = apply(Q[old])[None] if b == 1 else np.ascontiguousarray(apply(Q[new].T).T)
        W = _orthogonal(_orthogonal(W, Q[near:m], T[near:m, new]), Q[:m], T[:m, new])
        if not np.all(np.isfinite(T[new, new])):
            raise ConvergenceError("a product is not finite")
        size = max(size, float(np.abs(T[:m, new]).max()))
        T[new, :m] = T[:m, new].T
        ritz = Ritz(Q[:m], extend_basis(W), T[:m, :m], b == 1 and cut == 0)
        yield ritz
        if m + b > width:
            Q[: keep + b] = np.vstack([ritz.turn[:, :keep].T @ Q[:m], Q[m : m + b]])
            T[:] = np.diag(np.concatenate([ritz.values[:keep], np.zeros(width - keep)]))
            m = cut = keep


def _orthogonal(W: Array, Q: Array, coefficients: Array) -> Array:
    """Return W orthogonalised against the rows of Q; the coefficients that are removed are added to `coefficients`."""
    h = Q @ W.T
    coefficients += h
    return W - h.T @ Q


def largest_of_inverse(
    apply: Apply, n: int, k: int, rng: np.random.Generator, *, exclude: Array, floor: float, together: int = 1
) -> tuple[Array, Array]:
    """Return up to `k` largest eigenpairs of the inverse of a PSD matrix, including repeated eigenvalues.

    Converged pairs are deflated, and a new start searches for the others. `together` start vectors are multiplied at a time, which may
    take hardly longer than one. They miss no repeated eigenvalue if no more pairs than start vectors are wanted; otherwise another start
    searches for missed ones. Fewer than `k` are returned if the others are too small relative to the first. The last pair is rough.
    Residuals below `floor`, measured as residuals of the matrix itself, are rounding: pairs that converge slowly need not go below it.
    `apply` is the inverse of the matrix compressed to the complement of `exclude`.
    """
    width = max(2 * k + 20, 40)
    if n <= 2 * width + exclude.shape[1]:
        values, vectors = eigenpairs(symmetric(apply(np.eye(n))), k, "max")
        within = _count_resolved(values)
        return values[:within], vectors[:, :within]
    values, vectors, searches = np.zeros(0), np.zeros((n, 0)), 0
    with one_blas_thread():
        while searches <= k:
            hidden, compressed = np.hstack([exclude, vectors]), without(apply, vectors)
            start = rng.standard_normal((min(max(k - values.size, 1), together), n))
            start -= (start @ hidden) @ hidden.T
            if values.size == k:
                searches += 1
                worst = values.min()
                start, missed = _find_missed(compressed, start, worst * (1 + 1e-10 + floor * worst), rng)
                if not missed:
                    break
            rough = values.size == 0
            new, found, converged = _search(compressed, start, max(k - values.size, 1), width, floor, rough, rng)
            if values.size and new[0] < _RESOLVED_SHARE * values.max():
                break
            order = np.argsort(np.concatenate([values, new]))[::-1][:k]
            vectors = np.linalg.qr(np.hstack([vectors, found]))[0][:, order]
            values = np.concatenate([values, new])[order]
            # with at least as many start vectors as wanted pairs, no repeated eigenvalue is missed
            if not converged or values.size == k <= together:
                break
        # rounding of the iteration dominates the residual of the matrix; one more product with the inverse removes it
        return values, np.linalg.qr(apply(vectors))[0]


def largest(
    apply: Apply, n: int, k: int, rng: np.random.Generator, *, width: int, rough: int = 0, threaded: bool = False
) -> tuple[Array, Array, Array]:
    """Return the `k` largest eigenpairs of a PSD operator and their residuals, largest first, including repeated eigenvalues.

    Residuals are reduced to rounding; those of the last `rough` pairs only until their values are separated from the others or accurate
    to six digits. A basis of up to `width` vectors is kept. Converged pairs are deflated, and a new start searches for a missed pair,
    because a single start misses repeated eigenvalues. Linear algebra between the products runs on one thread, unless `threaded`
    states that the products need all threads. Pairs that have not converged after `_MAX_PRODUCTS` products are returned as they are.
    """
    with nullcontext() if threaded else one_blas_thread():
        values, vectors, residuals = _converge(apply, rng.standard_normal((1, n)), k, rough, width, rng)
        for _ in range(k):
            compressed, start = without(apply, vectors), rng.standard_normal((1, n))
            # if the last wanted eigenvalue is repeated, there is no gap after it
            level = values[k - rough - 1] * (1 - _ROUGH if rough else 1 + 1e-10)
            start, missed = _find_missed(compressed, start - (start @ vectors) @ vectors.T, level, rng)
            if not missed:
                break
            new = _converge(compressed, start, 1, 0, width, rng)
            values, residuals = np.append(values, new[0]), np.append(residuals, new[2])
            order = np.argsort(values)[::-1][:k]
            values, residuals = values[order], residuals[order]
            vectors = np.linalg.qr(np.hstack([vectors, new[1]]))[0][:, order]
        return values, vectors, residuals


def _converge(
    apply: Apply, start: Array, k: int, rough: int, width: int, rng: np.random.Generator
) -> tuple[Array, Array, Array]:
    """Return the first `k` pairs from one start."""
    next_check = k + 1
    for count, ritz in enumerate(steps(apply, start, width, (k + width) // 2, rng), 1):
        if count < next_check:
            continue
        next_check = count + max(1, count // 15)
        values, turn, residuals = ritz.leading(k)
        sizes = np.maximum(values, 0.0)
        allowed = np.maximum(_FINE * np.sqrt(sizes[0]) * np.sqrt(sizes), _ROUNDING * sizes[0])
        if rough:
            apart = _GAP_SHARE * (sizes[-rough - 1] - sizes[-rough:])
            allowed[-rough:] = np.maximum(apart, _ROUGH * sizes[0])
        if np.all(residuals <= allowed) or count >= _MAX_PRODUCTS:
            break
    return values, ritz.combined(turn), residuals


def _search(
    apply: Apply, start: Array, k: int, width: int, floor: float, rough: bool, rng: np.random.Generator
) -> tuple[Array, Array, bool]:
    """Return the first `k` pairs, or as many as converge soon, and True; if none converges, the current approximations and False."""
    before = 0
    for count, ritz in enumerate(steps(apply, start, width, (k + width) // 2, rng), 1):
        if ritz.values.size <= k:
            continue
        values = ritz.values[: _count_resolved(ritz.values[:k])]
        allowed = np.where(rough & (np.arange(values.size) == k - 1), _ROUGH, _TIGHT)
        if count * len(start) > width:  # slow convergence: accept residuals at the level of rounding
            allowed = np.maximum(allowed, floor * values)
        good = ritz.residuals[: values.size] <= allowed * values
        converged = values.size if good.all() else int(good.argmin())
        full = ritz.values.size + len(start) > width
        if converged == values.size or (full and 0 < converged == before) or count >= _MAX_PRODUCTS:
            break
        before = converged if full else before
    found = converged or values.size
    return values[:found], ritz.vectors(found), converged > 0


def _count_resolved(values: Array) -> int:
    """Return the number of eigenvalues (largest first) that exceed the rounding of the largest."""
    if not values[0] > 0:
        raise ConvergenceError("the inverse is not positive: the matrix is not positive semidefinite, beyond rounding")
    return int(np.sum(values >= _RESOLVED_SHARE * values[0]))


def _find_missed(apply: Apply, start: Array, level: float, rng: np.random.Generator) -> tuple[Array, bool]:
    """Search for a missed eigenvalue above `level`; return an approximate eigenvector, and whether one was found."""
    for count, ritz in enumerate(steps(apply, start, 40, 10, rng), 1):
        top, residual = ritz.values[0], ritz.residuals[0]
        if top > level:
            return ritz.vectors(1).T, True
        if count >= _MIN_SEARCH_PRODUCTS and (
            top + residual < level or residual <= _SEARCH_TOLERANCE * top or count >= _MAX_PRODUCTS
        ):
            break
    return start, False
