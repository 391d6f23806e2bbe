"""Non-metric scaling by majorisation (SMACOF) and isotonic regression: find points whose distances have a given order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import pdist, squareform
from sklearn.isotonic import isotonic_regression

from ..._types import Array, Index

#: Distance, relative to the largest, below which two points count as coincident.
COINCIDENT = 1e-10


@dataclass(frozen=True, eq=False)
class Ordinal:
    """Result of `ordinal_scaling`.

    Attributes
    ----------
    Y : ndarray of shape (n, d)
    given, wanted : ndarray
        The increasing step function of the given distances (`given`) that is closest to the distances of Y (`wanted`), at both ends of
        each step, scaled to the size of the given distances.
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
    """Pairs sorted by their given distances, in groups of equal distances, with weights."""

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
        """Return the closest increasing function of the given distances: its values for the groups and for the pairs."""
        d = distances[self.order]
        means = np.add.reduceat(d if self.weights is None else self.weights * d, self.starts) / self.group_weights
        levels = isotonic_regression(means, sample_weight=self.group_weights)
        out = np.empty_like(distances)
        out[self.order] = np.repeat(levels, self.counts)
        return levels, out


def ordinal_scaling(given: Array, Y: Array, masses: Array | None = None, *, tol: float, steps: int) -> Ordinal:
    """Minimise the stress relative to the order of the distances `given` (one per pair, as listed by `pdist`), starting from Y.

    With masses, each pair is weighted by the product of its masses, and Guttman's transform is ``BY/(m Σm)``. Pairs with equal given
    distances keep equal disparities (Kruskal's secondary treatment). Disparities are scaled to the size of the given distances, and
    so is Y. Cost: O(n²d) per step, ten arrays of n²/2.
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
            moved += _separating_pull(np.where(apart, 0.0, pull), Y.shape)
        Y = moved / (m * m.sum())[:, None]
        distances = pdist(Y)
    levels = levels * np.sqrt(size / _square(wanted, w))
    ends = np.flatnonzero(np.diff(levels) > 0)
    ends = np.unique(np.concatenate([[0], ends, ends + 1, [levels.size - 1]]))
    return Ordinal(Y, given[order.order][order.starts[ends]], levels[ends], stress, converged)


def _separating_pull(pull: Array, shape: tuple[int, int]) -> Array:
    """Return the displacements that separate coincident points: each pair is pulled apart in a fixed direction of its own.

    Majorisation does not determine the direction in which coincident points separate, and their difference is rounding error.
    """
    n, d = shape
    some = np.flatnonzero(pull > 0)
    (i, j), pull = (part[some] for part in np.triu_indices(n, 1)), pull[some]
    # a sequence that fills the unit cube evenly: irrational steps along each axis
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
