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

from ...errors import ConvergenceError
from ..threads import one_blas_thread
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
    """Approximate eigenpairs, largest first, from an orthonormal basis in rows and what the last products added to it.

    They are worked out where they are asked for, before the next product. `rest` is triangular: in its columns, what the last
    products leave outside the basis, in axes of their own.
    """

    basis: Array
    rest: Array
    compressed: Array
    tridiagonal: bool

    def leading(self, k: int) -> tuple[Array, Array, Array]:
        """Values, coordinates in the basis, and residuals of the first `k`; quickly while the compressed matrix is tridiagonal."""
        T = self.compressed
        values, turn = tridiagonal_pairs(T, k) if self.tridiagonal and k < len(T) else eigenpairs(T, k, "max")
        return values, turn, self._residuals(turn)

    @cached_property
    def _all(self) -> tuple[Array, Array, Array]:
        values, turn = local_eigenpairs(self.compressed)  # asked for after every product: a driver without preparations
        return values[::-1], turn[:, ::-1], self._residuals(turn[:, ::-1])

    def _residuals(self, turn: Array) -> Array:
        size = float(np.abs(self.rest).max()) or 1.0  # whose square may overflow
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
        """The first `count` of them, in columns."""
        return self.combined(self.turn[:, :count])

    def combined(self, turn: Array) -> Array:
        return np.ascontiguousarray((turn.T @ self.basis).T)


def steps(apply: Apply, start: Array, width: int, keep: int, rng: np.random.Generator) -> Iterator[Ritz]:
    """The Ritz pairs after every product with a block, without end, from a block of start vectors in rows.

    A basis that would outgrow `width` vectors is cut back to its best `keep`.
    """
    b, n = start.shape
    Q, T = np.empty((width + b, n)), np.zeros((width, width))
    m, cut, size = 0, 0, 0.0

    def go_on(W: Array) -> Array:
        """Put axes of the rows of W, which the basis leaves of the last products, behind it; the rows of W in them."""
        R = np.zeros((b, b))
        for j, w in enumerate(W):
            before, w = la.norm(w), _orthogonal(w, Q[m : m + j], R[:j, j])
            if la.norm(w) < before / 2:  # cancellation brings up what rounding left
                w = _orthogonal(w, Q[: m + j], np.zeros(m + j))
            R[j, j] = la.norm(w)
            if R[j, j] <= 1e-14 * size:  # an invariant subspace: go on from anywhere outside it
                R[j, j] = 0.0
                w = apply(rng.standard_normal((n,)))
                w = _orthogonal(_orthogonal(w, Q[: m + j], np.zeros(m + j)), Q[: m + j], np.zeros(m + j))
            Q[m + j] = w / la.norm(w)
        return R

    go_on(start)
    while True:
        # but for rounding products lean on the last two blocks only, and on all that was kept by the last cut
        near, old, new = 0 if m == cut else max(m - b, 0), m, slice(m, m + b)
        m += b
        W = apply(Q[old])[None] if b == 1 else np.ascontiguousarray(apply(Q[new].T).T)
        W = _orthogonal(_orthogonal(W, Q[near:m], T[near:m, new]), Q[:m], T[:m, new])
        if not np.all(np.isfinite(T[new, new])):
            raise ConvergenceError("a product is not finite")
        size = max(size, float(np.abs(T[:m, new]).max()))
        T[new, :m] = T[:m, new].T
        ritz = Ritz(Q[:m], go_on(W), T[:m, :m], b == 1 and cut == 0)
        yield ritz
        if m + b > width:
            Q[: keep + b] = np.vstack([ritz.turn[:, :keep].T @ Q[:m], Q[m : m + b]])
            T[:] = np.diag(np.concatenate([ritz.values[:keep], np.zeros(width - keep)]))
            m = cut = keep


def _orthogonal(W: Array, Q: Array, coefficients: Array) -> Array:
    """What the rows of Q leave of a vector or of rows, to a rounding error of these; the rest is added to the coefficients."""
    h = Q @ W.T
    coefficients += h
    return W - h.T @ Q


def largest_of_inverse(
    apply: Apply, n: int, k: int, rng: np.random.Generator, *, exclude: Array, floor: float, together: int = 1
) -> tuple[Array, Array]:
    """The largest eigenpairs of the inverse of a PSD matrix, up to `k` of them, copies of multiple eigenvalues included.

    Pairs that settle are hidden, and a new start looks for the others. `together` start vectors are multiplied at a time, which may
    take hardly longer than one, and miss no copies where no more pairs are wanted; else another start looks for one that was missed.
    Fewer than `k` are returned where the others are too small beside the first. The last pair is rough. Residuals below `floor`, as
    residuals of the matrix itself, are its rounding: pairs that settle slowly need not go below. The inverse is that of the matrix
    compressed to the complement of `exclude`: its products lie there.
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
            start = rng.standard_normal((min(max(k - values.size, 1), together), n))
            start -= (start @ hidden) @ hidden.T
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
            # where no more pairs are wanted than there were start vectors, no copy can be missing
            if not settled or values.size == k <= together:
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
        values, vectors, residuals = _settle(apply, rng.standard_normal((1, n)), k, rough, width, rng)
        for _ in range(k):
            compressed, start = without(apply, vectors), rng.standard_normal((1, n))
            # a copy of the last wanted value tells that there is no gap behind it
            level = values[k - rough - 1] * (1 - _ROUGH if rough else 1 + 1e-10)
            start, missed = _look(compressed, start - (start @ vectors) @ vectors.T, level, rng)
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
        if count * len(start) > width:  # these are slow: do not ask for more than there is to know
            allowed = np.maximum(allowed, floor * values)
        good = ritz.residuals[: values.size] <= allowed * values
        settled = values.size if good.all() else int(good.argmin())
        full = ritz.values.size + len(start) > width
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
            return ritz.vectors(1).T, True
        if count >= _LOOK and (top + residual < level or residual <= _GLANCE * top or count >= _PRODUCTS):
            break
    return start, False
