"""A program in standardised coordinates: the complement of the centre, in units of the mean bound and of the cost's size.

.. math:: \\max \\langle C, K \\rangle - a^T x \\ \\text{s.t.}\\ A(K) + E x - \\delta w = b, \\quad K \\succeq 0,\\ x \\ge 0;
          \\qquad S = L(T^T w) - C \\succeq 0, \\quad z = a + E^T w \\ge 0

where ``A(K) = T diag(B K Bᵀ)``, x holds the slack of inequalities (a = 0) and violations with a linear price (a = ν), and δ = 1/2ν
is the term of a quadratic price.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..._types import Matrix, is_sparse
from .certificate import as_dense, dense_cost, mirror
from .program import Array, Program


@dataclass(frozen=True)
class Space:
    """A program in units of its mean bound and its cost's size, on the complement of the centre."""

    program: Program
    mirror: Array
    C: Array
    #: The nonnegative variables: the row of each, its sign there, and its price.
    rows: NDArray[np.intp]
    signs: Array
    price: Array
    delta: float
    size: float
    worth: float

    @classmethod
    def of(cls, program: Program) -> Space:
        u = mirror(program.centre)
        C = dense_cost(program)
        worth = float(np.abs(C).sum(axis=1).max()) or 1.0
        nonzero = np.abs(program.bounds[program.bounds != 0])
        size = float(nonzero.mean()) if nonzero.size else 1.0
        scaled = replace(program.scaled(size), cost=program.cost / worth)
        slack = scaled.slack
        if slack is not None:
            slack = replace(slack, price=slack.price / worth)
            scaled = replace(scaled, slack=slack)
        # v ≤ b + t − s: s ≥ 0 is free, t ≥ 0 has a price; an equation has priced variables of both signs
        every, linear = np.arange(program.bounds.size), slack is not None and slack.power == 1
        bought = every if linear else every[:0]
        blocks = [
            (every[~program.equations], 1.0, 0.0),
            (bought, -1.0, 1.0),
            (bought[program.equations[bought]], 1.0, 1.0),
        ]
        rows = np.concatenate([block for block, _, _ in blocks])
        signs = np.concatenate([np.full(block.size, sign) for block, sign, _ in blocks])
        price = np.concatenate(
            [np.full(block.size, paid * (slack.price if slack else 0.0)) for block, _, paid in blocks]
        )
        delta = 0.5 / slack.price if slack is not None and slack.power == 2 else 0.0
        return cls(scaled, u, _reflected(C / worth, u)[1:, 1:], rows, signs, price, delta, size, worth)

    def lifted(self, K: Array) -> Array:
        """Return Z K Zᵀ, of order N."""
        full = np.zeros((len(K) + 1, len(K) + 1))
        full[1:, 1:] = K
        return _reflected(full, self.mirror)

    def values(self, K: Array) -> Array:
        """Return A(K); K need not be symmetric."""
        B, BK = self.program.directions, self.program.directions @ self.lifted(K)
        if is_sparse(B):
            row = np.repeat(np.arange(B.shape[0]), np.diff(B.indptr))
            v = np.bincount(row, B.data * BK[row, B.indices], minlength=B.shape[0])
            return self.program.rows(np.asarray(v, dtype=np.float64))
        return self.program.rows(np.einsum("en,en->e", B, BK))

    def adjoint(self, w: Array) -> Array:
        """Return Zᵀ L(Tᵀ w) Z."""
        return _reflected(as_dense(self.program.laplacian(self.program.pull(w))), self.mirror)[1:, 1:]

    def to_rows(self, x: Array) -> Array:
        """Return E x."""
        return np.asarray(np.bincount(self.rows, self.signs * x, minlength=self.program.bounds.size), dtype=np.float64)

    def from_rows(self, w: Array) -> Array:
        """Return Eᵀ w."""
        return self.signs * w[self.rows]

    def products(self, K: Array, inverse: Array) -> Array:
        """Return ``(B K Bᵀ) ∘ (B S⁻¹ Bᵀ)``, of order p: the normal equations before the directions are combined."""
        B = self.program.directions
        M = _both_sides(B, self.lifted(K))
        M *= _both_sides(B, self.lifted(inverse))
        return M

    def combined(self, M: Array) -> Array:
        """Return ``T M Tᵀ``."""
        T = self.program.combine
        return M if T is None else _both_sides(T, M)

    def damping(self, ratio: Array) -> Array:
        """Return the diagonal of the normal equations due to the nonnegative variables; `ratio` is x / z."""
        return np.asarray(np.bincount(self.rows, ratio, minlength=self.program.bounds.size) + self.delta)

    def factor(self, root: Array) -> Array:
        """Return Z times a factor of K, in the units of the program."""
        F = np.vstack([np.zeros(len(root)), root])
        return np.sqrt(self.size) * (F - np.outer(self.mirror, self.mirror @ F))

    def weights(self, w: Array) -> Array:
        """Return w in the units of the program."""
        return self.worth * w


def _reflected(A: Array, u: Array) -> Array:
    """Return ``(I − u uᵀ) A (I − u uᵀ)``."""
    A = A - np.outer(u, u @ A)
    return A - np.outer(A @ u, u)


def _both_sides(B: Matrix, K: Array) -> Array:
    """Return ``B K Bᵀ`` for a symmetric K."""
    return np.asarray(B @ np.ascontiguousarray((B @ K).T))
