"""Non-metric scaling: points whose distances come in the order of given ones, by majorisation (SMACOF) and isotonic regression."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist, squareform
from sklearn.isotonic import isotonic_regression

#: Distance, relative to the largest, below which two points are at one place.
COINCIDENT = 1e-10

Array = NDArray[np.float64]
Index = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Ordinal:
    """Points Y, and how they were found.

    Attributes
    ----------
    Y : ndarray of shape (n, d)
    given, wanted : ndarray
        The increasing function of the given distances that those of Y are nearest to, but for its size, which is that of the given
        ones: at both ends of each of its steps.
    stress : list of float
        Kruskal's stress-1 before and after every step, √(Σ w(d − d̂)² / Σ w d²). It never increases.
    converged : bool
    """

    Y: Array
    given: Array
    wanted: Array
    stress: list[float]
    converged: bool


@dataclass(frozen=True, eq=False)
class _Order:
    """Pairs in the order of their given distances, equal ones as one group, weighted."""

    order: Index
    starts: Index
    counts: Index
    weights: Array | None
    group_weights: Array

    @staticmethod
    def of(given: Array, weights: Array | None) -> _Order:
        order = np.argsort(given, kind="stable")
        ranked = given[order]
        starts = np.concatenate([[0], 1 + np.flatnonzero(np.diff(ranked) > 1e-12 * ranked[-1])])
        counts = np.diff(np.append(starts, ranked.size))
        w = None if weights is None else weights[order]
        return _Order(order, starts, counts, w, counts * 1.0 if w is None else np.add.reduceat(w, starts))

    def regression(self, distances: Array) -> tuple[Array, Array]:
        """The nearest increasing function of the given distances: its values at the groups, and at the pairs."""
        d = distances[self.order]
        means = np.add.reduceat(d if self.weights is None else self.weights * d, self.starts) / self.group_weights
        levels = isotonic_regression(means, sample_weight=self.group_weights)
        out = np.empty_like(distances)
        out[self.order] = np.repeat(levels, self.counts)
        return levels, out


def ordinal_scaling(given: Array, Y: Array, masses: Array | None = None, *, tol: float, steps: int) -> Ordinal:
    """From the start Y down the stress of the order of the distances `given`, one for each pair as `pdist` lists them.

    With masses, pairs weigh their product; Guttman's transform is then ``BY/(m Σm)``. Distances that are equal stay equal
    (Kruskal's secondary treatment). Disparities are kept at the size of the given distances: so is Y. Cost O(n²d) a step, ten
    arrays of n²/2.
    """
    m = np.ones(len(Y)) if masses is None else masses
    w = None if masses is None else squareform(np.outer(m, m), checks=False)
    order, size = _Order.of(given, w), _square(given, w)
    stress: list[float] = []
    distances = pdist(Y)
    converged = False
    for step in range(steps + 1):
        levels, wanted = order.regression(distances)
        stress.append(float(np.sqrt(_square(distances - wanted, w) / _square(distances, w))))
        converged = bool(step and stress[-2] ** 2 - stress[-1] ** 2 <= tol)
        if converged or step == steps:
            break
        wanted *= np.sqrt(size / _square(wanted, w))
        pull = wanted if w is None else w * wanted
        apart = distances > COINCIDENT * distances.max(initial=0.0)
        B = squareform(np.divide(pull, distances, out=np.zeros_like(pull), where=apart))
        moved = B.sum(axis=1)[:, None] * Y - B @ Y
        if not apart.all():
            moved += _parted(np.where(apart, 0.0, pull), Y.shape)
        Y = moved / (m * m.sum())[:, None]
        distances = pdist(Y)
    levels = levels * np.sqrt(size / _square(wanted, w))
    ends = np.flatnonzero(np.diff(levels) > 0)
    ends = np.unique(np.concatenate([[0], ends, ends + 1, [levels.size - 1]]))
    return Ordinal(Y, given[order.order][order.starts[ends]], levels[ends], stress, converged)


def _parted(pull: Array, shape: tuple[int, int]) -> Array:
    """The sum over all pairs of pulls in fixed directions, which differ from pair to pair.

    Majorisation leaves the direction open in which points at one place part. Their difference would be one of rounding errors.
    """
    n, d = shape
    some = np.flatnonzero(pull > 0)
    (i, j), pull = (part[some] for part in np.triu_indices(n, 1)), pull[some]
    # points of a sequence that fills the unit cube evenly, by an irrational step along each axis
    steps = np.sqrt([p for p in range(2, 10 * d + 10) if all(p % q for q in range(2, p))][:d])
    places = np.outer(np.arange(1, n + 1), steps) % 1.0
    along = places[i] - places[j]
    along *= (pull / np.linalg.norm(along, axis=1))[:, None]
    out = np.zeros(shape)
    np.add.at(out, i, along)
    np.add.at(out, j, -along)
    return out


def _square(values: Array, weights: Array | None) -> float:
    return float(np.sum(values**2 if weights is None else weights * values**2))
