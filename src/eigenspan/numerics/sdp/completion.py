"""The positive semidefinite matrix with given entries that is nearest to another one.

.. math:: \\min_{K \\succeq 0} \\tfrac12 \\lVert K - M \\rVert_F^2 \\quad\\text{s.t.}\\quad K_{ij} = A_{ij} \\ \\text{ where known}

The dual is smooth and has no constraints: ``min ½‖[M + Y]₊‖² − ⟨Y, A⟩`` over symmetric Y that are zero where nothing is known, with the
gradient ``[M + Y]₊ − A`` there. At its minimum K = [M + Y]₊, the positive part. Newton's method in the sense of Qi and Sun (2006), by
conjugate gradients; a step is an eigendecomposition and some products.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..eigen import dense

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

#: Inner steps at most, and the regularisation of a singular Hessian.
_INNER, _REGULAR = 200, 1e-10
#: Share of its size up to which a dual direction may leave the cone and still prove that there is no completion.
_PROOF = 1e-9


@dataclass(frozen=True, eq=False)
class Completion:
    """Where the search has come to.

    Attributes
    ----------
    matrix : ndarray
        K, positive semidefinite.
    dual : ndarray
        Y.
    violation : float
        Largest difference of a known entry.
    value, bound : float
        ``½‖K − M‖²``, and what Y proves that no completion goes below.
    impossible : bool
        Y proves that there is no completion.
    n_iter : int
    """

    matrix: Array
    dual: Array
    violation: float
    value: float
    bound: float
    impossible: bool
    n_iter: int


class _Part:
    """The positive part of M + Y, with the derivative of taking it."""

    def __init__(self, S: Array, known: Mask) -> None:
        self.known = known
        self.values, self.Q = dense.eigenpairs(S, None, "max")
        up = np.maximum(self.values, 0.0)
        self.K = dense.symmetric((self.Q * up) @ self.Q.T)
        size = np.abs(self.values)
        both = np.maximum(size[:, None] + size, np.finfo(float).tiny)
        self.share = (up[:, None] + up) / both  # 1 within the positive part, 0 within the negative

    def derivative(self, H: Array) -> Array:
        inner = self.Q.T @ H @ self.Q
        return np.where(self.known, self.Q @ (self.share * inner) @ self.Q.T, 0.0)


def nearest_completion(A: Array, known: Mask, M: Array, *, tol: float = 1e-8, max_iter: int = 200) -> Completion:
    """Solve until no known entry is off by more than `tol` times the largest of them, in O(n³) a step; A is read where it is known."""
    A = np.where(known, A, 0.0)
    scale = max(float(np.abs(A).max(initial=0.0)), np.finfo(float).tiny)
    Y = np.zeros_like(A)
    for n_iter in range(max_iter + 1):
        part = _Part(M + Y, known)
        missed = np.where(known, part.K - A, 0.0)
        impossible = _proves(Y, A, known)
        if np.abs(missed).max() <= tol * scale or impossible or n_iter == max_iter:
            break
        step = _newton(part, missed)
        Y = _along(Y, step, missed, A, M, part.K)
    value = 0.5 * float(np.sum((part.K - M) ** 2))
    return Completion(part.K, Y, float(np.abs(missed).max()), value, _bound(Y, A, M, part.K), impossible, n_iter)


def _bound(Y: Array, A: Array, M: Array, K: Array) -> float:
    return 0.5 * float(np.sum(M**2)) - 0.5 * float(np.sum(K**2)) + float(np.vdot(Y, A))


def _newton(part: _Part, missed: Array) -> Array:
    """The step by conjugate gradients, as exact as the steps to come can make use of."""
    size = float(np.linalg.norm(missed))
    stop, ridge = min(0.1, size) * size, min(_REGULAR + 1e-3 * size, 1e-3)
    step, rest = np.zeros_like(missed), -missed
    direction, square = rest, float(np.vdot(rest, rest))
    for _ in range(_INNER):
        image = part.derivative(direction) + ridge * direction
        length = square / float(np.vdot(direction, image))
        step, rest = step + length * direction, rest - length * image
        before, square = square, float(np.vdot(rest, rest))
        if np.sqrt(square) <= stop:
            break
        direction = rest + square / before * direction
    return step


def _along(Y: Array, step: Array, missed: Array, A: Array, M: Array, K: Array) -> Array:
    """Y moved as far along the step as the dual falls."""
    here, slope, share = -_bound(Y, A, M, K), float(np.vdot(step, missed)), 1.0
    for _ in range(30):
        new = Y + share * step
        values = dense.eigenvalues(M + new)
        there = 0.5 * float(np.sum(np.maximum(values, 0.0) ** 2)) - 0.5 * float(np.sum(M**2)) - float(np.vdot(new, A))
        if there <= here + 1e-4 * share * slope + 1e-14 * abs(here):
            break
        share /= 2
    return new


def _proves(Y: Array, A: Array, known: Mask) -> bool:
    """No positive semidefinite K has the entries A: ⟨Y, K⟩ ≤ λ Tr K with λ the largest eigenvalue of Y, if positive, and ⟨Y, A⟩ is more."""
    size, gain = float(np.linalg.norm(Y)), float(np.vdot(Y, A))
    if gain <= 1e-6 * size * float(np.linalg.norm(A)):
        return False
    above = max(float(dense.eigenvalues(Y)[-1]), 0.0)
    trace = float(np.trace(A)) if known.diagonal().all() else np.inf
    return above <= _PROOF * size or gain > (1 + 1e-6) * above * trace
