"""Lanczos for operators whose products are dear, such as the inverse of a large sparse matrix or a large data matrix times itself.

The inverse sets the wanted eigenvalues far apart, so that one or two dozen products find them. The iteration keeps its basis
orthogonal throughout and looks at the residuals as it goes instead of only when the basis is full, which is half the
products that a restarted iteration takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray

from .._resources import one_blas_thread
from ..errors import ConvergenceError
from .dense import eigenpairs, local_eigenpairs, symmetric, tridiagonal_pairs
from .iterative import without

Array = NDArray[np.float64]
Apply = Callable[[Array], Array]

#: Residual, relative to the eigenvalue, of a wanted pair and of the last one, whose value (good to the square) tells the gap.
_TIGHT, _ROUGH = 1e-10, 1e-6
#: Residual, relative to the largest eigenvalue and their own, of pairs of a data matrix times itself, and what is rounding.
_FINE, _ROUNDING = 5e-13, 2e-15
#: Residual of a rough pair, relative to its distance from the wanted ones.
_APART = 0.05
#: Eigenvalues below this share of the largest lie in the rounding of the products.
_REACH = 1e-6
#: Products at which a look for missed copies may end, and the relative residual at which it does.
_LOOK, _GLANCE = 6, 1e-4
#: At most this many products from one start.
_PRODUCTS = 2000


@dataclass(frozen=True, eq=False)
class Ritz:
    """Approximate eigenpairs, largest first, from an orthonormal basis in rows and what the last product added to it.

    They are worked out where they are asked for, before the next product.
    """

    basis: Array
    rest: Array
    compressed: Array
    banded: bool

    def leading(self, k: int) -> tuple[Array, Array, Array]:
        """Values, coordinates in the basis, and residuals of the first `k`; quickly while the compressed matrix is tridiagonal."""
        T = self.compressed
        values, turn = tridiagonal_pairs(T, k) if self.banded and k < len(T) else eigenpairs(T, k, "max")
        return values, turn, la.norm(self.rest) * np.abs(turn[-1])

    @cached_property
    def _all(self) -> tuple[Array, Array, Array]:
        values, turn = local_eigenpairs(self.compressed)  # asked for after every product: a driver without preparations
        return values[::-1], turn[:, ::-1], la.norm(self.rest) * np.abs(turn[-1, ::-1])

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
        """The first `count` of them, in columns."""
        return self.combined(self.turn[:, :count])

    def combined(self, turn: Array) -> Array:
        return np.ascontiguousarray((turn.T @ self.basis).T)


def steps(apply: Apply, start: Array, width: int, keep: int, rng: np.random.Generator) -> Iterator[Ritz]:
    """The Ritz pairs after every product, without end; a basis of `width` vectors is cut back to its best `keep`."""
    Q, T = np.empty((width + 1, start.size)), np.zeros((width, width))
    Q[0] = start / la.norm(start)
    m, cut, size = 0, 0, 0.0
    while True:
        # but for rounding a product leans on the last two vectors only, and on all that were kept by the last cut
        near = 0 if m == cut else max(m - 1, 0)
        w = _orthogonal(_orthogonal(apply(Q[m]), Q[near : m + 1], T[near : m + 1, m]), Q[: m + 1], T[: m + 1, m])
        if not np.isfinite(T[m, m]):
            raise ConvergenceError("a product is not finite")
        m, size = m + 1, max(size, float(np.abs(T[: m + 1, m]).max()))
        T[m - 1, :m] = T[:m, m - 1]
        ritz = Ritz(Q[:m], w, T[:m, :m], cut == 0)
        yield ritz
        if la.norm(w) <= 1e-14 * size:  # an invariant subspace: go on from anywhere outside it
            w = apply(rng.standard_normal(start.size))
            w = _orthogonal(_orthogonal(w, Q[:m], np.zeros(m)), Q[:m], np.zeros(m))
        if m == width:
            Q[:keep] = ritz.turn[:, :keep].T @ Q[:m]
            T[:] = np.diag(np.concatenate([ritz.values[:keep], np.zeros(width - keep)]))
            m = cut = keep
        Q[m] = w / la.norm(w)


def _orthogonal(w: Array, Q: Array, coefficients: Array) -> Array:
    """What the rows of Q leave of w, to a rounding error of w; the rest is added to the coefficients."""
    h = Q @ w
    coefficients += h
    return w - h @ Q


def largest_of_inverse(
    apply: Apply, n: int, k: int, rng: np.random.Generator, *, exclude: Array, floor: float
) -> tuple[Array, Array]:
    """The largest eigenpairs of the inverse of a PSD matrix, up to `k` of them, copies of multiple eigenvalues included.

    Pairs that settle are hidden, and a new start looks for the others; with `k` of them, another looks for one that was missed,
    as a single start misses copies. Fewer than `k` are returned where the others are too small beside the first. The last pair is
    rough. Residuals below `floor`, as residuals of the matrix itself, are its rounding: pairs that settle slowly need not go below.
    The inverse is that of the matrix compressed to the complement of `exclude`: its products lie there.
    """
    width = max(2 * k + 20, 40)
    if n <= 2 * width + exclude.shape[1]:
        values, vectors = eigenpairs(symmetric(apply(np.eye(n))), k, "max")
        within = _within_reach(values)
        return values[:within], vectors[:, :within]
    values, vectors, looks = np.zeros(0), np.zeros((n, 0)), 0
    with one_blas_thread():
        while looks <= k:
            hidden, compressed = np.hstack([exclude, vectors]), without(apply, vectors)
            start = rng.standard_normal(n)
            start -= hidden @ (hidden.T @ start)
            if values.size == k:
                looks += 1
                worst = values.min()
                start, missed = _look(compressed, start, worst * (1 + 1e-10 + floor * worst), rng)
                if not missed:
                    break
            rough = values.size == 0
            new, found, settled = _search(compressed, start, max(k - values.size, 1), width, floor, rough, rng)
            if values.size and new[0] < _REACH * values.max():
                break
            order = np.argsort(np.concatenate([values, new]))[::-1][:k]
            vectors = np.linalg.qr(np.hstack([vectors, found]))[0][:, order]
            values = np.concatenate([values, new])[order]
            if not settled:
                break
        # the rounding of the iteration is a residual of the matrix at its far end: one more product takes it away
        return values, np.linalg.qr(apply(vectors))[0]


def largest(
    apply: Apply, n: int, k: int, rng: np.random.Generator, *, width: int, rough: int = 0, threaded: bool = False
) -> tuple[Array, Array, Array]:
    """The `k` largest eigenpairs of a PSD operator and their residuals, copies of multiple eigenvalues included, largest first.

    Residuals come down to rounding, those of the last `rough` pairs only until their values stand apart from the others or are known
    to six digits. A basis of up to `width` vectors is kept. Once settled, the pairs are hidden, and a new start looks for one that
    was missed, as a single start misses copies. Linear algebra between the products runs on one thread, unless `threaded` says that
    the products need them all. What has not settled after some thousand products is returned as it is.
    """
    with nullcontext() if threaded else one_blas_thread():
        values, vectors, residuals = _settle(apply, rng.standard_normal(n), k, rough, width, rng)
        for _ in range(k):
            compressed, start = without(apply, vectors), rng.standard_normal(n)
            # a copy of the last wanted value tells that there is no gap behind it
            level = values[k - rough - 1] * (1 - _ROUGH if rough else 1 + 1e-10)
            start, missed = _look(compressed, start - vectors @ (vectors.T @ start), level, rng)
            if not missed:
                break
            new = _settle(compressed, start, 1, 0, width, rng)
            values, residuals = np.append(values, new[0]), np.append(residuals, new[2])
            order = np.argsort(values)[::-1][:k]
            values, residuals = values[order], residuals[order]
            vectors = np.linalg.qr(np.hstack([vectors, new[1]]))[0][:, order]
        return values, vectors, residuals


def _settle(
    apply: Apply, start: Array, k: int, rough: int, width: int, rng: np.random.Generator
) -> tuple[Array, Array, Array]:
    """The first `k` pairs from one start."""
    look = k + 1
    for count, ritz in enumerate(steps(apply, start, width, (k + width) // 2, rng), 1):
        if count < look:
            continue
        look = count + max(1, count // 15)
        values, turn, residuals = ritz.leading(k)
        sizes = np.maximum(values, 0.0)
        allowed = np.maximum(_FINE * np.sqrt(sizes[0]) * np.sqrt(sizes), _ROUNDING * sizes[0])
        if rough:
            apart = _APART * (sizes[-rough - 1] - sizes[-rough:])
            allowed[-rough:] = np.maximum(apart, _ROUGH * sizes[0])
        if np.all(residuals <= allowed) or count >= _PRODUCTS:
            break
    return values, ritz.combined(turn), residuals


def _search(
    apply: Apply, start: Array, k: int, width: int, floor: float, rough: bool, rng: np.random.Generator
) -> tuple[Array, Array, bool]:
    """The first `k` pairs, or as many as settle soon; where none does, what the products allowed have come to, and False."""
    before = 0
    for count, ritz in enumerate(steps(apply, start, width, (k + width) // 2, rng), 1):
        if ritz.values.size <= k:
            continue
        values = ritz.values[: _within_reach(ritz.values[:k])]
        allowed = np.where(rough & (np.arange(values.size) == k - 1), _ROUGH, _TIGHT)
        if count > width:  # these are slow: do not ask for more than there is to know
            allowed = np.maximum(allowed, floor * values)
        good = ritz.residuals[: values.size] <= allowed * values
        settled = values.size if good.all() else int(good.argmin())
        full = ritz.values.size == width
        if settled == values.size or (full and 0 < settled == before) or count >= _PRODUCTS:
            break
        before = settled if full else before
    found = settled or values.size
    return values[:found], ritz.vectors(found), settled > 0


def _within_reach(values: Array) -> int:
    """How many of these eigenvalues, largest first, stand out from the rounding of the largest."""
    if not values[0] > 0:
        raise ConvergenceError("the inverse is not positive: the matrix is not positive semidefinite, beyond rounding")
    return int(np.sum(values >= _REACH * values[0]))


def _look(apply: Apply, start: Array, level: float, rng: np.random.Generator) -> tuple[Array, bool]:
    """Whether an eigenvalue above this level was missed, and its direction, roughly."""
    for count, ritz in enumerate(steps(apply, start, 40, 10, rng), 1):
        top, residual = ritz.values[0], ritz.residuals[0]
        if top > level:
            return ritz.vectors(1)[:, 0], True
        if count >= _LOOK and (top + residual < level or residual <= _GLANCE * top or count >= _PRODUCTS):
            break
    return start, False
