"""Data for theorems: distinct rows, samples of them for expensive statements, and one graph for all statements."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist, squareform

from ..errors import LabelError
from ..graphs import KNN, Heat, NeighbourGraph, components
from ..numerics.eigen import dense
from ..problem.forms import laplacian

Array = NDArray[np.float64]
Index = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Data:
    """Distinct rows, class codes if there are classes, and a seed.

    Parameters
    ----------
    X : ndarray of shape (n, D)
    y : ndarray of shape (n,) or None
        Codes 0 … c − 1, and −1 where a label is missing.
    k : int
        Smallest number of neighbours; it is increased until the graph is connected.
    seed : int
        Seed of all random numbers.
    """

    X: Array
    y: Index | None = None
    k: int = 10
    seed: int = 0
    _parts: dict[Any, Data] = field(default_factory=dict, repr=False)

    @property
    def n(self) -> int:
        return len(self.X)

    def rng(self) -> np.random.Generator:
        """Return a new generator with the seed, so that results do not depend on the other theorems that are checked."""
        return np.random.default_rng(self.seed)

    def take(self, most: int) -> Data:
        """Return a random sample of at most `most` rows."""
        if self.n <= most:
            return self
        if most not in self._parts:
            rows = np.sort(self.rng().choice(self.n, most, replace=False))
            self._parts[most] = Data(self.X[rows], None if self.y is None else self.y[rows], self.k, self.seed)
        return self._parts[most]

    def labelled(self, most: int, classes: int = 2) -> Data:
        """Return at most `most` labelled rows, from classes with at least two rows."""
        if self.y is None:
            raise LabelError("y has no classes")
        key = ("labelled", most)
        if key not in self._parts:
            first = self.take_where(self.y >= 0).take(most)
            sizes = np.bincount(first.y, minlength=1) if first.y is not None and first.n else np.zeros(1, dtype=int)
            self._parts[key] = first.take_where(sizes[first.y] > 1)
        part = self._parts[key]
        if part.n_classes < classes:
            raise LabelError(f"{part.n_classes} classes have at least two rows; {classes} are needed")
        return part

    def take_where(self, mask: Any) -> Data:
        """Return the selected rows, with classes renumbered from 0."""
        y = None if self.y is None else np.unique(self.y[mask], return_inverse=True)[1]
        return Data(self.X[mask], y, self.k, self.seed)

    @property
    def n_classes(self) -> int:
        return 0 if self.y is None or not self.n else int(self.y.max()) + 1

    @cached_property
    def centred(self) -> Array:
        return np.asarray(self.X - self.X.mean(axis=0))

    def leading(self, most: int) -> Data:
        """Return the centred rows in their leading principal axes, without axes below 10⁻⁴ of the first.

        No column is then nearly a linear combination of others.
        """
        U, s, _ = dense.principal_axes(self.centred, 1e-4)
        return Data((U * s)[:, :most], self.y, self.k, self.seed)

    @cached_property
    def scale(self) -> float:
        """Root mean square distance from the mean."""
        return float(np.sqrt(np.mean(np.sum(self.centred**2, axis=1)))) or 1.0

    @cached_property
    def distances(self) -> Array:
        """Distances of all pairs of rows."""
        return np.asarray(squareform(pdist(self.X)))

    @cached_property
    def graph(self) -> NeighbourGraph:
        """Graph of the k nearest neighbours, with k increased by factors of 1.5 until it is connected."""
        k = min(self.k, self.n - 1)
        while k < self.n - 1 and components(KNN(k).build(self.X))[0] > 1:
            k = min(k + max(1, k // 2), self.n - 1)
        return KNN(k).build(self.X)

    @cached_property
    def heat(self) -> Heat:
        """Heat kernel with the width of the longest edge, so that no weight is as small as a rounding error."""
        return Heat(float(self.graph.distances.data.max()))

    @cached_property
    def W(self) -> Array:
        """Symmetric weights of the graph, dense."""
        E = self.graph.undirected().toarray()
        return np.where(E > 0, np.exp(-((E / self.heat.sigma) ** 2)), 0.0)

    @cached_property
    def L(self) -> Array:
        """``D − W``, dense."""
        return laplacian(self.W).to_dense()
