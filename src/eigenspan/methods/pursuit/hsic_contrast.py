"""Dependence between projections by HSIC, from low-rank factors of Gaussian kernels: no n×n matrix is formed.

::

    HSIC(y_i, y_j) = Tr(K_i H K_j H) / (n − 1)²  =  ‖G_i' G_j‖² / (n − 1)²,   K_i = L_i L_i',  G_i = H L_i

with L from an incomplete Cholesky factorisation, which has some twenty columns for a kernel of one variable.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np

from ..._types import Array
from ...numerics.factor.pivoted import pivoted_cholesky

#: Share of the trace of a kernel matrix that its factor may miss, in gradients and in rotations, and largest number of columns.
_LEFT_OUT, _COARSE, _COLUMNS = 1e-7, 1e-4, 100
#: Angles at which the dependence of a pair is measured; descent refines the best.
_ANGLES = 16


def kernel_factor(y: Array, sigma: float, left_out: float = _LEFT_OUT) -> Array:
    """Return L with ``LL'`` ≈ ``exp(−(y_a − y_b)²/2σ²)``; the trace of the difference is at most the share `left_out`."""
    scaled = y / (np.sqrt(2) * sigma)
    return pivoted_cholesky(partial(_column, scaled), np.ones(y.size), rtol=left_out, most=_COLUMNS)[0]


def _column(y: Array, j: int) -> Array:
    return np.asarray(np.exp(-((y - y[j]) ** 2)))


def hsic_of_pair(y: Array, z: Array, sigma: float, left_out: float = _LEFT_OUT) -> float:
    """Return the HSIC of two projections."""
    G, M = (L - L.mean(axis=0) for L in (kernel_factor(y, sigma, left_out), kernel_factor(z, sigma, left_out)))
    return float(np.sum((G.T @ M) ** 2)) / (y.size - 1) ** 2


@dataclass(frozen=True, eq=False)
class Dependence:
    """Sum of the HSIC of all pairs of projections of white points Z, with Gaussian kernels of standard deviation `sigma`."""

    Z: Array
    sigma: float

    def __call__(self, V: Array) -> tuple[float, Array]:
        """Return the sum for the projections ``ZV``, and its gradient in V.

        With ``M_i = Σ_{j≠i} G_j G_j'`` the derivative in the points of the i-th projection is that of ``Tr(K_i M_i)``:
        ``−(2/σ²) [y ∘ (K_i ∘ M_i) 1 − (K_i ∘ M_i) y]``.
        """
        Y, n = self.Z @ V, len(self.Z)
        L = [kernel_factor(y, self.sigma) for y in Y.T]
        G = [factor - factor.mean(axis=0) for factor in L]
        ends = np.cumsum([0, *(factor.shape[1] for factor in L)])
        together = np.hstack(G)
        squares = (together.T @ together) ** 2
        own = sum(float(squares[a:b, a:b].sum()) for a, b in pairwise(ends))
        slopes = np.empty_like(Y)
        for i, y in enumerate(Y.T):
            others = np.delete(together, np.s_[ends[i] : ends[i + 1]], axis=1)
            sums = np.einsum("aq,aq->a", L[i], others @ (others.T @ L[i]))
            moved = np.einsum("aq,aq->a", L[i], others @ (others.T @ (y[:, None] * L[i])))
            slopes[:, i] = y * sums - moved
        scale = 1.0 / (n - 1) ** 2
        return (float(squares.sum()) - own) / 2 * scale, self.Z.T @ slopes * (-2 * scale / self.sigma**2)

    def shares(self, V: Array) -> tuple[float, float]:
        """Return the largest share of a kernel matrix that its factor misses, and the largest mean variance of its features."""
        L = [kernel_factor(y, self.sigma) for y in (self.Z @ V).T]
        missed = max(1.0 - float(np.sum(factor**2)) / len(self.Z) for factor in L)
        return missed, max(float(factor.var(axis=0).sum()) for factor in L)

    def rotated(self, V: Array, sweeps: int) -> Array:
        """Return V after rotations in the planes of two projections, each to the best of some angles, until no angle is better."""
        Y, V = self.Z @ V, V.copy()
        d = V.shape[1]
        for _ in range(sweeps):
            turned = False
            for i in range(d):
                for j in range(i + 1, d):
                    angle = self._best_angle(Y[:, i], Y[:, j])
                    if angle:
                        R = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
                        V[:, [i, j]], Y[:, [i, j]], turned = V[:, [i, j]] @ R, Y[:, [i, j]] @ R, True
            if not turned:
                break
        return V

    def _best_angle(self, y: Array, z: Array) -> float:
        """Return the angle of least dependence among multiples of π/32. The dependence has the period π/2."""
        angles = np.arange(_ANGLES) * (np.pi / 2 / _ANGLES)
        values = [
            hsic_of_pair(c * y + s * z, c * z - s * y, self.sigma, _COARSE)
            for c, s in zip(np.cos(angles), np.sin(angles), strict=True)
        ]
        return float(angles[np.argmin(values)])
