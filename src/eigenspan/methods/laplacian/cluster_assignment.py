"""From relaxed indicators to labels: rotations onto indicators or the corners of a simplex, and the threshold of least cut."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
from numpy.typing import NDArray

from ...numerics.eigen import dense
from ...problem import TraceProblem

Array = NDArray[np.float64]
Index = NDArray[np.intp]

#: Share of an eigenvector's extent below which two of its entries are one value.
_ONE_VALUE = 1e-9


def masses(problem: TraceProblem) -> Array:
    """What every point adds to the size of its cluster: its degree, or one."""
    return np.ones(problem.A.n) if problem.B is None else problem.B.diagonal()


def edges(problem: TraceProblem) -> sp.coo_array:
    """The weights W of ``L = D − W``, each edge in both directions; what is on the diagonal joins nothing."""
    L: Any = problem.A.sparse
    return -sp.coo_array(L)


def cut_value(problem: TraceProblem, labels: Index) -> float:
    """The cut of every cluster over its size, added up [S0, eq. 50]."""
    codes, W = np.unique(labels, return_inverse=True)[1], edges(problem)
    size = np.bincount(codes, masses(problem))
    crossing = codes[W.row] != codes[W.col]
    return float(np.sum(W.data[crossing] / size[codes[W.row[crossing]]]))


def unit_length(Y: Array) -> Array:
    length = np.linalg.norm(Y, axis=1, keepdims=True)
    return Y / np.where(length > 0, length, 1.0)


@dataclass(frozen=True, eq=False)
class UnitRows:
    """A rule for rows of unit length [Ng, Jordan & Weiss]."""

    rule: Any

    def predict(self, Y: Array) -> Index:
        return np.asarray(self.rule.predict(unit_length(Y)), dtype=np.intp)


@dataclass(frozen=True, eq=False)
class Threshold:
    """Two clusters: above a value of one coordinate, and not above."""

    axis: int
    value: float

    @classmethod
    def least_cut(cls, Y: Array, problem: TraceProblem, axis: int) -> Threshold:
        """Of all thresholds the one whose clusters cut least, all tried at once: an edge is cut between the ranks of its ends."""
        y, mass, W = Y[:, axis], masses(problem), edges(problem)
        order = np.argsort(y, kind="stable")
        rank = np.empty(y.size, dtype=np.intp)
        rank[order] = np.arange(y.size)
        rising = rank[W.row] < rank[W.col]
        steps = np.zeros(y.size)
        np.add.at(steps, rank[W.row[rising]], W.data[rising])
        np.subtract.at(steps, rank[W.col[rising]], W.data[rising])
        below, above = _from_both_ends(mass[order])
        started, ended = _from_both_ends(steps)
        # what is left of all edges at the far end is rounding, and may be all that a point of little weight has
        crossing = np.where(below <= above, started, -ended)
        cut = np.maximum(crossing, 0.0) * (1.0 / below + 1.0 / above)
        steep = np.diff(y[order])
        best = int(np.argmin(np.where(steep > _ONE_VALUE * steep.sum(), cut, np.inf)))
        return cls(axis, float(y[order[best : best + 2]].mean()))

    def predict(self, Y: Array) -> Index:
        return (Y[:, self.axis] > self.value).astype(np.intp)


@dataclass(frozen=True, eq=False)
class Rotation:
    """The largest coordinate after a linear map: indicators, or corners of a simplex, turned as near to the rows as can be."""

    R: Array

    @classmethod
    def discretised(cls, Y: Array, random_state: Any) -> Rotation:
        """The rotation that brings the rows nearest to indicators."""
        U = unit_length(Y)
        return cls(_turned(U, np.eye(U.shape[1]), U, random_state))

    @classmethod
    def pivoted(cls, Y: Array) -> Rotation:
        """Rows chosen by a pivoted QR factorisation, as far from each other's span as can be, stand for the clusters."""
        chosen = la.qr(Y.T, mode="r", pivoting=True)[1][: Y.shape[1]]
        return cls(dense.nearest_rotation(Y[chosen].T))

    @classmethod
    def of_margins(cls, Y: Array, mass: Array, random_state: Any) -> Rotation:
        """The rotation of largest total margin: codes of clusters are the k corners of a simplex about the origin.

        Then the scores of a row sum to zero, and how far that of its own corner exceeds the mean of the others is k/(k − 1) times
        itself. The constant, which all clusters share, is left out of the rows.
        """
        k = Y.shape[1]
        if k == 1:
            return cls(np.ones((1, 1)))
        Q = _complement(Y.T @ mass)
        corners = unit_length(_complement(np.ones(k)))
        return cls(Q @ _turned(mass[:, None] * (Y @ Q), corners, unit_length(Y), random_state) @ corners.T)

    def predict(self, Y: Array) -> Index:
        return (unit_length(Y) @ self.R).argmax(axis=1)


def _from_both_ends(values: Array) -> tuple[Array, Array]:
    """Sums of the first 1, 2, … values, and of those that are left."""
    return np.cumsum(values)[:-1], np.cumsum(values[::-1])[-2::-1]


def _complement(v: Array) -> Array:
    """An orthonormal basis of all that is orthogonal to v, (k, k − 1)."""
    return np.linalg.qr(v[:, None], mode="complete")[0][:, 1:]


def _turned(
    U: Array, corners: Array, rows: Array, random_state: Any, iterations: int = 100, restarts: int = 10
) -> Array:
    """The R of largest ``Σ_i max_c u_i R corner_c``, by turns the corner of every row and the rotation that suits these best.

    Each time the clusters begin about rows that are as mutually orthogonal as can be, the first of them at random.
    """
    rng = np.random.default_rng(random_state if isinstance(random_state, int) else 0)
    best, best_R = -np.inf, np.eye(U.shape[1])
    for _ in range(restarts):
        labels, score = (rows @ rows[_apart(rows, rng)].T).argmax(axis=1), -np.inf
        for _ in range(iterations):
            sums = np.zeros((len(corners), U.shape[1]))
            np.add.at(sums, labels, U)
            M = sums.T @ corners
            R = dense.nearest_rotation(M)
            new = float(np.sum(M * R))
            if new - score <= 1e-12 * abs(new):
                break
            score, labels = new, (U @ (R @ corners.T)).argmax(axis=1)
        if score > best:
            best, best_R = score, R
    return best_R


def _apart(rows: Array, rng: np.random.Generator) -> list[int]:
    chosen = [int(rng.integers(rows.shape[0]))]
    seen = np.zeros(rows.shape[0])
    for _ in range(rows.shape[1] - 1):
        seen += np.abs(rows @ rows[chosen[-1]])
        chosen.append(int(seen.argmin()))
    return chosen
