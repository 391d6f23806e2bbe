"""Chebyshev-filtered block Krylov iteration: the smallest eigenpairs of a sparse PSD matrix that cannot be factorised.

A polynomial of high degree in the matrix amplifies the smallest eigenvalues. The filtered blocks of a few steps are
orthonormalised and kept, and the best vectors in their span start the next cycle. Only products are needed, so a matrix
given as FᵀF stays factored, and its smallest eigenvalues keep the digits that squaring would lose.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias, cast

import numpy as np
import scipy.linalg as la

from ..._types import Array, Integers
from ...errors import ConvergenceError
from ..operators import DistributedOperator, SymmetricMatrix
from ..threads import in_threads, workers
from .dense import eigenpairs, symmetric
from .iterative import new_directions, spectral_bound

#: `indptr`, `indices` and `data` of a CSR matrix.
_Csr: TypeAlias = tuple[Integers, Integers, Array]

#: Minimum number of vectors in a block beyond those wanted (block widths are multiples of 8), and filtered blocks kept per cycle.
_GUARD, _BLOCKS = 6, 4
#: Damping of the unwanted spectrum by one filter is cosh of this number.
_DAMPING = 3.5
#: Largest sine of the angle to the wanted subspace at which the iteration may stop.
_ANGLE = 1e-4


class Recurrence:
    """Products of a matrix, compressed to the complement of `exclude`, with blocks, fused with the terms of a recurrence."""

    def __init__(self, A: SymmetricMatrix, exclude: Array) -> None:
        image = A @ exclude
        leak = la.norm(image - exclude @ (exclude.T @ image)) if exclude.shape[1] else 0.0
        # invariant directions are not reintroduced by products
        self._leaks = exclude if leak > 1e-12 * A.norm() else None
        #: Matrices with weights of all pairs, written out or not, are multiplied as a whole and use their own threads.
        self._whole = A if A.pairs or A.dense is not None else None
        #: A distributed matrix applies a whole polynomial at a time.
        self.distributed = next(
            (
                cast(DistributedOperator, P)
                for a, P in A.pairs
                if _is_distributed(A) and a == 1.0 and self._leaks is None
            ),
            None,
        )
        self._low_rank = A.low_rank
        if self._whole is None:
            from ..jit import csr_index_arrays
            from .sparse_products import add_product

            chains = [] if A.sparse is None else [[A.sparse]]
            chains += [[F, F.T.tocsr() * a] for a, F in A.roots]
            self._add = add_product
            self._chains = [[(*csr_index_arrays(M), np.asarray(M.data, np.float64)) for M in chain] for chain in chains]

    def __call__(self, V: Array, alpha: float, X: Array, beta: float, Z: Array, gamma: float, out: Array) -> Array:
        """Compute ``out = alpha A V + beta X + gamma Z``."""
        if self._whole is not None:
            out[...] = alpha * (self._whole @ V) + beta * X + gamma * Z
            return self._compressed(out)
        for chain in self._chains:
            W = V
            for M in chain[:-1]:
                W = self._product(M, W, 1.0, W, 0.0, W, 0.0, np.empty_like(W))
            self._product(chain[-1], W, alpha, X, beta, Z, gamma, out)
            X, beta, Z, gamma = out, 1.0, out, 0.0
        if self._low_rank is not None:
            U, c = self._low_rank
            out += alpha * np.asarray(U @ ((U.T @ V).T * c).T)
        return self._compressed(out)

    def _compressed(self, out: Array) -> Array:
        if self._leaks is not None:
            out -= self._leaks @ (self._leaks.T @ out)
        return out

    def _product(
        self, M: _Csr, V: Array, alpha: float, X: Array, beta: float, Z: Array, gamma: float, out: Array
    ) -> Array:
        indptr, indices, data = M
        self._add(indptr, indices, data, V, alpha, X, beta, Z, gamma, out)
        return out

    def by_columns(self, work: Callable[[Array], Array], V: Array) -> Array:
        """Apply `work` to groups of columns, one group per thread."""
        threads = workers()
        if self._whole is not None:
            return work(V)
        groups = [np.ascontiguousarray(part) for part in np.array_split(V, min(threads, V.shape[1]), axis=1)]
        return np.hstack(in_threads(work, groups, threads))


def _is_distributed(A: SymmetricMatrix) -> bool:
    """Return True if the matrix consists of one distributed part only."""
    alone = A.sparse is None and A.dense is None and A.low_rank is None and not A.roots
    return alone and len(A.pairs) == 1 and getattr(A.pairs[0][1], "distributed", False)


def filtered(multiply: Recurrence, V: Array, degree: int, low: float, high: float) -> Array:
    """Return ``p(A) V`` for the Chebyshev polynomial p that is smallest on [low, high] among those with p(0) = 1."""
    if multiply.distributed is not None:
        return multiply.distributed.filtered(V, _steps(degree, low, high))
    return multiply.by_columns(lambda part: _filter(multiply, part, _steps(degree, low, high)), V)


def _steps(degree: int, low: float, high: float) -> Iterator[tuple[float, float, float]]:
    """Yield the coefficients ``(a, b, c)`` of the recurrence ``v'' = (a A + b) v' + c v`` of the polynomial."""
    centre, half = (low + high) / 2, (high - low) / 2
    ratio = first = -half / centre
    yield first / half, -first * centre / half, 0.0
    for _ in range(1, degree):
        new = 1.0 / (2.0 / first - ratio)
        yield 2 * new / half, -2 * new * centre / half, -ratio * new
        ratio = new


def _filter(multiply: Recurrence, V: Array, steps: Iterator[tuple[float, float, float]]) -> Array:
    previous, current, spare = V, V, np.empty_like(V)
    for a, b, c in steps:
        multiply(current, a, current, b, previous, c, spare)
        unused = previous if previous is not V else np.empty_like(V)  # do not overwrite the caller's block
        previous, current, spare = current, spare, unused
    return current


def smallest_by_filter(
    A: SymmetricMatrix, k: int, rng: np.random.Generator, *, exclude: Array | None, tol: float, cycles: int, degree: int
) -> tuple[Array, Array]:
    """Return the `k` smallest eigenpairs of a PSD matrix; `degree` is the largest degree of the filter.

    Stops when each residual is at most `tol` times the norm and the sine of the angle to the wanted subspace is below 1e-4, as far
    as rounding allows to measure the gap.
    """
    N = np.zeros((A.n, 0)) if exclude is None else exclude
    multiply, width = Recurrence(A, N), -(-(k + _GUARD) // 8) * 8
    high, norm = spectral_bound(A, rng), A.norm()
    V = new_directions(rng.standard_normal((A.n, width)), N)
    values, V, residuals = _ritz(multiply, V, width)
    best, stalled = np.inf, 0
    for _ in range(cycles):
        chosen = int(np.clip(_DAMPING / 2 * np.sqrt(high / max(values[-1], 1e-300)), 10, degree))
        low = min(max(values[-1], high * (_DAMPING / (2 * chosen)) ** 2), 0.9 * high)
        basis, block = V, V
        for _ in range(_BLOCKS):
            block = new_directions(filtered(multiply, block, chosen, low, high), np.hstack([N, basis]))
            if block.shape[1] == 0:
                break
            basis = np.hstack([basis, block])
        values, V, residuals = _ritz(multiply, basis, width)
        worst = float(residuals[:k].max())
        if worst <= tol * norm and worst <= _ANGLE * max(values[k] - values[k - 1], 0.0):
            break
        stalled = 0 if worst < 0.5 * best else stalled + 1
        best = min(best, worst)
        if stalled >= 3 and worst <= tol * norm:
            break  # the gap is smaller than the rounding of the residual
    else:
        if worst > tol * norm:
            raise ConvergenceError(
                f"a relative residual of {worst / norm:.1e} after {cycles} cycles of degree {chosen}"
            )
    return values[:k], V[:, :k]


def _ritz(multiply: Recurrence, V: Array, width: int) -> tuple[Array, Array, Array]:
    AV = multiply.by_columns(lambda part: multiply(part, 1.0, part, 0.0, part, 0.0, np.empty_like(part)), V)
    values, S = eigenpairs(symmetric(V.T @ AV), width, "min")
    V, AV = np.ascontiguousarray(V @ S), AV @ S
    return values, V, la.norm(AV - V * values, axis=0)
