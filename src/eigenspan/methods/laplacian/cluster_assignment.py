"""Rules that assign clusters to rows of relaxed indicators: k-means, rotations, and the threshold of the least cut."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from ..._types import Array, Index, RandomState
from ...errors import DegenerateWarning, InputError, warn
from ...numerics.eigen import dense
from ...problem import TraceProblem

#: Difference, as a share of an eigenvector's extent, below which two of its entries are equal.
_ONE_VALUE = 1e-9


class Assigner(Protocol):
    """Assigns a cluster to every row of an embedding."""

    def predict(self, Y: Array) -> Index:
        """Return the cluster of each row."""


def check_assignment(assign: str, n_clusters: int, normalize_rows: bool, width: int, count: int) -> None:
    """Refuse rules that do not fit the width of the embedding, or the number of components of the graph."""
    pieces = f"(the graph has {count} components)"
    if assign == "threshold":
        if n_clusters != 2 or normalize_rows:
            raise InputError(
                f'assign="threshold" splits one vector in two, but n_clusters={n_clusters} and normalize_rows={normalize_rows}. '
                'Use assign="kmeans".'
            )
        if width < 2 or count > 2:
            raise InputError(
                f'assign="threshold" splits the second of two vectors, but the embedding has {width} {pieces}: with more than two '
                'components any grouping cuts nothing. Use n_components=2 and more neighbours, or assign="kmeans".'
            )
    elif assign != "kmeans" and width != n_clusters:
        raise InputError(
            f'assign="{assign}" rotates {n_clusters} vectors onto {n_clusters} indicators, but the embedding has {width} {pieces}. '
            'Use assign="kmeans".'
        )


def k_means(Y: Array, n_clusters: int, random_state: RandomState) -> Assigner:
    """Fit k-means to the rows. Warn if they have fewer distinct places than clusters."""
    from sklearn.cluster import KMeans

    places = len(np.unique(np.round(Y / max(float(np.abs(Y).max()), np.finfo(float).tiny), 9), axis=0))
    if places < n_clusters:
        warn(
            f"The {len(Y)} points have only {places} distinct places on {Y.shape[1]} axes, and n_clusters={n_clusters}: use fewer.",
            DegenerateWarning,
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it reports the same
        return KMeans(n_clusters, n_init=10, random_state=random_state).fit(Y)


def masses(problem: TraceProblem) -> Array:
    """Return what every point adds to the size of its cluster: its degree, or one."""
    return np.ones(problem.A.n) if problem.B is None else problem.B.diagonal()


def edges(problem: TraceProblem) -> sp.coo_array:
    """Return the weights W of ``L = D − W``, each edge in both directions; the diagonal is not used."""
    L: Any = problem.A.sparse
    return -sp.coo_array(L)


def cut_value(problem: TraceProblem, labels: Index) -> float:
    """Return the sum over clusters of cut divided by size [S0, eq. 50]."""
    codes, W = np.unique(labels, return_inverse=True)[1], edges(problem)
    size = np.bincount(codes, masses(problem))
    crossing = codes[W.row] != codes[W.col]
    return float(np.sum(W.data[crossing] / size[codes[W.row[crossing]]]))


def unit_length(Y: Array) -> Array:
    length = np.linalg.norm(Y, axis=1, keepdims=True)
    return Y / np.where(length > 0, length, 1.0)


@dataclass(frozen=True, eq=False)
class UnitRows:
    """Applies a rule to rows scaled to unit length [Ng, Jordan & Weiss]."""

    rule: Assigner

    def predict(self, Y: Array) -> Index:
        return np.asarray(self.rule.predict(unit_length(Y)), dtype=np.intp)


@dataclass(frozen=True, eq=False)
class Threshold:
    """Splits two clusters at a value of one coordinate."""

    axis: int
    value: float

    @classmethod
    def least_cut(cls, Y: Array, problem: TraceProblem, axis: int) -> Threshold:
        """Return the threshold with the least cut. All are tried at once: an edge is cut between the ranks of its ends."""
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
        # sum from the lighter end: at the far end only rounding errors are left, as large as the edges of a point of little weight
        crossing = np.where(below <= above, started, -ended)
        cut = np.maximum(crossing, 0.0) * (1.0 / below + 1.0 / above)
        steep = np.diff(y[order])
        best = int(np.argmin(np.where(steep > _ONE_VALUE * steep.sum(), cut, np.inf)))
        return cls(axis, float(y[order[best : best + 2]].mean()))

    def predict(self, Y: Array) -> Index:
        return (Y[:, self.axis] > self.value).astype(np.intp)


@dataclass(frozen=True, eq=False)
class Rotation:
    """Takes the largest coordinate after a linear map, which turns indicators or corners of a simplex towards the rows."""

    R: Array

    @classmethod
    def discretised(cls, Y: Array, random_state: RandomState) -> Rotation:
        """Return the rotation that brings the rows nearest to indicators."""
        U = unit_length(Y)
        return cls(_turned(U, np.eye(U.shape[1]), U, random_state))

    @classmethod
    def pivoted(cls, Y: Array) -> Rotation:
        """Return the rotation towards the rows that a pivoted QR factorisation chooses, the most independent ones."""
        chosen = la.qr(Y.T, mode="r", pivoting=True)[1][: Y.shape[1]]
        return cls(dense.nearest_rotation(Y[chosen].T))

    @classmethod
    def of_margins(cls, Y: Array, mass: Array, random_state: RandomState) -> Rotation:
        """Return the rotation of largest total margin: codes of clusters are the k corners of a simplex about the origin.

        Then the scores of a row sum to zero, and the score of its own corner exceeds the mean of the others by k/(k − 1) times itself.
        The constant, which all clusters share, is projected out of the rows.
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
    """Return sums of the first 1, 2, … values, and of the remaining ones."""
    return np.cumsum(values)[:-1], np.cumsum(values[::-1])[-2::-1]


def _complement(v: Array) -> Array:
    """Return an orthonormal basis of the complement of v, (k, k − 1)."""
    return np.linalg.qr(v[:, None], mode="complete")[0][:, 1:]


def _turned(
    U: Array, corners: Array, rows: Array, random_state: RandomState, steps: int = 100, restarts: int = 10
) -> Array:
    """Return R that maximises ``Σ_i max_c u_i R corner_c``, by alternating between the corner of every row and the best rotation.

    Each restart begins with rows that are as mutually orthogonal as possible, the first of them at random.
    """
    rng = np.random.default_rng(random_state if isinstance(random_state, int) else 0)
    best, best_R = -np.inf, np.eye(U.shape[1])
    for _ in range(restarts):
        labels, score = (rows @ rows[_apart(rows, rng)].T).argmax(axis=1), -np.inf
        for _ in range(steps):
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
    """Return as many rows as columns, each as orthogonal to those before it as possible."""
    chosen = [int(rng.integers(rows.shape[0]))]
    seen = np.zeros(rows.shape[0])
    for _ in range(rows.shape[1] - 1):
        seen += np.abs(rows @ rows[chosen[-1]])
        chosen.append(int(seen.argmin()))
    return chosen
