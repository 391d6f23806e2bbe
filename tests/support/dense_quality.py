"""Measures of quality from their definitions, by loops over points and matrices of all pairs."""

from __future__ import annotations

import numpy as np

Array = np.ndarray


def distances(A: Array) -> Array:
    return np.sqrt(sum((column[:, None] - column[None, :]) ** 2 for column in A.T))


def ranks(D: Array) -> Array:
    """Return ranks by distance, ties by row number; 0 for the point itself."""
    n = len(D)
    R = np.zeros((n, n), int)
    for i in range(n):
        others = sorted((D[i, j], j) for j in range(n) if j != i)
        for place, (_, j) in enumerate(others, 1):
            R[i, j] = place
    return R


class Brute:
    """Measures of an embedding, computed from the distances in both spaces."""

    def __init__(self, DX: Array, DY: Array) -> None:
        self.n, self.DX, self.DY = len(DX), DX, DY
        self.RX, self.RY = ranks(DX), ranks(DY)
        self.others = ~np.eye(self.n, dtype=bool)

    def q_nx(self, K: int) -> float:
        both = (self.RX <= K) & (self.RY <= K) & self.others
        return both.sum() / (K * self.n)

    def r_nx(self, K: int) -> float:
        return ((self.n - 1) * self.q_nx(K) - K) / (self.n - 1 - K)

    def auc(self, top: int) -> float:
        K = np.arange(1, top + 1)
        return sum(self.r_nx(k) / k for k in K) / sum(1 / k for k in K)

    def intrusions(self, k: int) -> Array:
        """Return the loss of every point from its k nearest points in the embedding."""
        return self._excess(self.RX, self.RY, k)

    def extrusions(self, k: int) -> Array:
        return self._excess(self.RY, self.RX, k)

    def _excess(self, rank: Array, near: Array, k: int) -> Array:
        excess = np.where(self.others & (near <= k), np.maximum(rank - k, 0), 0)
        return 2 * excess.sum(axis=1) / (k * (2 * self.n - 3 * k - 1))

    def matrix(self) -> Array:
        Q = np.zeros((self.n, self.n), int)
        for i, j in zip(*np.nonzero(self.others), strict=True):
            Q[self.RX[i, j], self.RY[i, j]] += 1
        return Q[1:, 1:]

    def pairs(self) -> tuple[Array, Array]:
        upper = np.triu_indices(self.n, 1)
        return self.DX[upper], self.DY[upper]

    def stress(self) -> float:
        x, y = self.pairs()
        a = (x @ y) / (y @ y)
        return float(np.sqrt(np.sum((x - a * y) ** 2) / np.sum(x**2)))

    def residual_variance(self) -> float:
        return 1 - np.corrcoef(*self.pairs())[0, 1] ** 2
