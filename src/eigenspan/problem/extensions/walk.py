"""Out-of-sample extension by a step of the random walk: Nyström and harmonic extension of graph embeddings.

The training embedding solves ``P Y = Y diag(1 − λ)`` with ``P = D⁻¹W``. A new point gets a row p(x) of transition
probabilities to its neighbours, and

* Nyström:  ``y(x) = p(x) Y / (1 − λ)``, the eigenfunction formula [S4, eq. 7];
* harmonic: ``y(x) = p(x) Y``, the weighted mean of its neighbours, which minimises the Laplacian cost of the new point.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ..._types import Array, Index, Matrix
from ...errors import ExtensionWarning, warn
from ...graphs.neighbours.graph import NeighbourGraph
from ...graphs.weights.rules import Affinity
from ...numerics.nearest.finders import Finder
from ..map import Map
from ..spectrum import Spectrum

#: Least |1 − λ| for the eigenfunction formula: below it noise is amplified too much, and the harmonic value is used.
_FLOOR = 0.05
#: Share of a training point's distance to its nearest other point within which new points are moved towards its embedding.
_NEAR = 0.1


@dataclass(frozen=True, eq=False)
class WalkRows:
    """Transition probabilities from new points to training points.

    `joining` finds the neighbours of new points by the rule of the training graph. The weights are divided by the `density` of the
    training points (q^α of the diffusion map) and multiplied by their `masses` (multiplicities of duplicate rows).
    """

    joining: Finder
    affinity: Affinity
    density: Array | None = None
    masses: Array | None = None

    def __call__(self, X: Matrix) -> sp.csr_array:
        return self.steps(self.joining.relate(X), X)

    def steps(self, distances: sp.csr_array, X: Matrix) -> sp.csr_array:
        """Return the transition probabilities for known distances to the neighbours."""
        W = self.weights(distances, X)
        return sp.csr_array(sp.diags_array(1.0 / np.asarray(W.sum(axis=1)).ravel()) @ W)

    def weights(self, distances: sp.csr_array, X: Matrix) -> sp.csr_array:
        """Return the weights before their rows are divided by their sums; no row is zero."""
        W = self.affinity.relate(distances, X)
        if self.density is not None:
            W = sp.csr_array((W.data / self.density[W.indices], W.indices, W.indptr), shape=W.shape)
        if self.masses is not None:
            W = sp.csr_array((W.data * self.masses[W.indices], W.indices, W.indptr), shape=W.shape)
        sums = np.asarray(W.sum(axis=1)).ravel()
        lost = np.flatnonzero(sums < np.finfo(float).tiny)
        if lost.size:  # so far away that all weights underflow: neighbours get equal weights
            data = W.data.copy()
            for i in lost:
                data[W.indptr[i] : W.indptr[i + 1]] = 1.0
            W = sp.csr_array((data, W.indices, W.indptr), shape=W.shape)
        return W


@dataclass(frozen=True, eq=False)
class Approach:
    """`WalkRows` and n further columns with the weight of a training point that x nearly equals.

    A training point is not its own neighbour, but it is the nearest neighbour of a new point beside it, so that the formula of the walk
    jumps there. The map is made continuous: within a tenth of the `spacing` of a training point (the distance to its nearest other one)
    the share of the walk falls linearly from one to zero, and the embedding of the training point has the rest.
    """

    walk: WalkRows
    spacing: Array

    def __call__(self, X: Matrix) -> sp.csr_array:
        D = self.walk.joining.relate(X)
        P = self.walk.steps(D, X)
        first = _nearest(D)
        near, distance = D.indices[first], D.data[first]
        share = np.minimum(1.0, distance / (_NEAR * self.spacing[near]))
        held = sp.csr_array((1.0 - share, near, np.arange(near.size + 1)), shape=D.shape)
        held.eliminate_zeros()
        return sp.csr_array(sp.hstack([sp.diags_array(share) @ P, held], format="csr"))


def _nearest(D: sp.csr_array) -> Index:
    """Return the position in ``D.data`` of the smallest entry of each row; no row may be empty."""
    rows = np.repeat(np.arange(D.shape[0]), np.diff(D.indptr))
    return np.lexsort((D.data, rows))[D.indptr[:-1]]


@dataclass(frozen=True, eq=False)
class Walk:
    """Extension of an embedding over the samples by the rows of a walk."""

    rows: WalkRows | Approach
    known: Callable[[Matrix], Index]
    eigenfunctions: bool = True

    def __call__(self, Y: Array, spectrum: Spectrum) -> Map:
        coef = Y
        if self.eigenfunctions:
            walk = 1.0 - spectrum.values
            weak = np.abs(walk) < _FLOOR
            if weak.any():
                warn(
                    f"{int(weak.sum())} of {walk.size} axes have a random-walk eigenvalue below {_FLOOR} (smallest "
                    f"{np.abs(walk).min():.1e}): the eigenfunction formula would amplify noise there, so new points get the "
                    "weighted mean of their neighbours on these axes. "
                    'Use fewer components, or extension="barycentric".',
                    ExtensionWarning,
                )
            coef = Y / np.where(weak, 1.0, walk)
        if isinstance(self.rows, Approach):
            coef = np.vstack([coef, Y])
        return Map(self.rows, coef, known=self.known, embedding=Y)


def rows_of_walk(
    graph: NeighbourGraph, affinity: Affinity, density: Array | None = None, masses: Array | None = None
) -> WalkRows | Approach:
    """Return `Approach` for a graph of distances, or `WalkRows` for a graph of given weights."""
    if affinity.given:
        return WalkRows(graph.finder, affinity, density, masses)
    D = graph.undirected()
    spacing, starts = np.full(graph.n, np.inf), np.flatnonzero(np.diff(D.indptr))
    spacing[starts] = np.minimum.reduceat(np.where(D.data > 0, D.data, np.inf), D.indptr[starts])
    spacing[~np.isfinite(spacing)] = np.finfo(float).tiny  # no other point at a positive distance
    return Approach(WalkRows(graph.joining(), affinity, density, masses), spacing)
