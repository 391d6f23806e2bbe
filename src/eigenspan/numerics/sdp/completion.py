"""Nearest positive semidefinite completion: the PSD matrix with given entries that is nearest to another matrix.

.. math:: \\min_{K \\succeq 0} \\tfrac12 \\lVert K - M \\rVert_F^2 \\quad\\text{s.t.}\\quad K_{ij} = A_{ij} \\ \\text{ where known}

The dual is smooth and unconstrained: ``min ½‖[M + Y]₊‖² − ⟨Y, A⟩`` over symmetric Y that are zero at unknown entries, with the
gradient ``[M + Y]₊ − A`` at the known ones. At its minimum K = [M + Y]₊, the positive part. It is minimised by the Newton method
of Qi and Sun (2006) with conjugate gradients; a step costs an eigendecomposition and some products.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._types import Array, Mask
from ..eigen import dense

#: Maximum number of conjugate gradient steps, and the regularisation of a singular Hessian.
_INNER, _REGULAR = 200, 1e-10
#: A dual direction proves that there is no completion if it is outside the cone by at most this share of its size.
_PROOF = 1e-9


@dataclass(frozen=True, eq=False)
class Completion:
    """Result of `nearest_completion`.

    Attributes
    ----------
    matrix : ndarray
        K, positive semidefinite.
    dual : ndarray
        Y, the dual variable.
    violation : float
        Largest error of a known entry.
    value, bound : float
        ``½‖K − M‖²``, and the lower bound on it that Y proves for all completions.
    impossible : bool
        True if Y proves that there is no completion.
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
    """The positive part of M + Y, and its derivative."""

    def __init__(self, S: Array, known: Mask) -> None:
        self.known = known
        self.values, self.Q = dense.eigenpairs(S, None, "max")
        up = np.maximum(self.values, 0.0)
        self.K = dense.symmetric((self.Q * up) @ self.Q.T)
        size = np.abs(self.values)
        both = np.maximum(size[:, None] + size, np.finfo(float).tiny)
        self.share = (up[:, None] + up) / both  # 1 within the positive part, 0 within the negative part

    def derivative(self, H: Array) -> Array:
        inner = self.Q.T @ H @ self.Q
        return np.where(self.known, self.Q @ (self.share * inner) @ self.Q.T, 0.0)


def nearest_completion(A: Array, known: Mask, M: Array, *, tol: float = 1e-8, max_iter: int = 200) -> Completion:
    """Iterate until no known entry has an error above `tol` times the largest, in O(n³) per step; only known entries of A are used."""
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
    """Compute the step by conjugate gradients, only as accurately as the convergence of Newton's method requires."""
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
    """Return Y moved along the step, with backtracking until the dual decreases."""
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
    """Return True if Y proves that no PSD K has the entries A: ⟨Y, A⟩ > λ Tr K ≥ ⟨Y, K⟩, with λ = max(largest eigenvalue of Y, 0)."""
    size, gain = float(np.linalg.norm(Y)), float(np.vdot(Y, A))
    if gain <= 1e-6 * size * float(np.linalg.norm(A)):
        return False
    above = max(float(dense.eigenvalues(Y)[-1]), 0.0)
    trace = float(np.trace(A)) if known.diagonal().all() else np.inf
    return above <= _PROOF * size or gain > (1 + 1e-6) * above * trace
