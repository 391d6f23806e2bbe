"""Ordinal Isomap: the order of geodesic distances, not their lengths."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.spatial.distance import cdist, squareform
from sklearn.utils.validation import check_is_fitted

from ..._diagnostics import note, stage
from ..._parameters import Count, Tolerance, attribute
from ..._types import Array, Matrix
from ...data import Sample
from ...errors import ConvergenceWarning, warn
from ...graphs import NeighbourGraph
from ...numerics.descent.smacof import COINCIDENT, ordinal_scaling
from ...numerics.eigen import dense
from ...numerics.memory import require
from ...problem import Fitted, Map, Posed, orientation_of
from ...problem.extensions import GeodesicGram
from ..base.graph_embedding import Reduction, Sampled
from ..base.table import known_as, method
from .isomap import Isomap, KeptGeodesics, geodesic_reductions, pose_geodesics

#: Number of distances from new points in a block, and number of steps that place each point.
_ENTRIES, _STEPS = 2**21, 30


@method("distances", "min stress of the order of geodesics", "—", "n² d a step", "S3 §4.3", "nonmetricisomap")
@known_as("Ordinal Isomap", "non-metric Isomap; ordinal isometric mapping; rank order of geodesic distances")
class OrdinalIsomap(Isomap):
    """Ordinal Isomap: non-metric scaling of geodesic distances.

    .. math:: \\min_{Y,\\, f \\text{ increasing}} \\frac{\\sum_{i<j} (\\lVert y_i - y_j \\rVert - f(\\hat\\Delta_{ij}))^2}
              {\\sum_{i<j} \\lVert y_i - y_j \\rVert^2}

    with Δ̂ the lengths of shortest paths through the neighbour graph [S3, §4.3]. Only their order counts: longer paths shall be longer
    distances. Use it where the lengths of paths are off in a way that grows with them (sparse or noisy samples, sheets that curve or
    stretch) but their order can be trusted. It starts from `Isomap` and descends by majorisation (SMACOF) and isotonic
    regression; the minimum found is a local one. The axes are principal ones, at the scale of the geodesics; ``problem_``,
    ``eigenvalues_``, ``residuals_``, ``gap_`` and
    ``unexplained_residual()`` are those of the start.

    Cost: as Isomap, and O(n²d) time a step; 56n² bytes in all.

    Parameters
    ----------
    landmarks
        Fit to this many rows, or to the given ones, build the graph among them, and place all other rows by the map for new
        points. This costs a fit to m rows and one neighbour search per other row, with O(m) memory beyond data and
        embedding. Details finer than the spacing of the landmarks are interpolated. None fits to all rows.
    tol
        Stop when a step lowers the squared stress by no more than this.
    max_iter
        Maximum number of steps. A warning says if they were too few.

    Attributes
    ----------
    stress_ : float
        Kruskal's stress-1 of the embedding, the root of the above: 0.05 is good, 0.2 poor.
    stress_path_ : ndarray of shape (n_steps + 1,)
        The stress at the start, which is Isomap's, and after every step. It never increases.
    n_iter_ : int
        Number of steps.
    disparities_ : ndarray of shape (2, n_steps)
        The increasing function f as geodesic lengths and the distances that f assigns to them, with straight lines in
        between.
    dist_matrix_ : ndarray of shape (n_samples, n_samples)
        Geodesic distances between the points of ``graph_``, recomputed each time they are read.

    Examples
    --------
    >>> from sklearn.datasets import make_swiss_roll
    >>> from eigenspan import OrdinalIsomap
    >>> X, t = make_swiss_roll(300, random_state=0)
    >>> ordinal = OrdinalIsomap(2, n_neighbors=8).fit(X)
    >>> bool(ordinal.stress_ <= ordinal.stress_path_[0])
    True
    >>> ordinal.transform(X[:5] + 0.01).shape
    (5, 2)

    References
    ----------
    [S3] §4.2–4.3; Kruskal (1964); Tenenbaum (1998), Mapping a manifold of perceptual observations; de Leeuw (1977).
    """

    tol: Tolerance = 1e-6
    max_iter: Count = 300

    stress_: float = attribute()
    stress_path_: Array = attribute()
    n_iter_: int = attribute()
    disparities_: Array = attribute()
    dist_matrix_: Array = attribute()

    def _reductions(self) -> tuple[Reduction, ...]:
        return geodesic_reductions(self, _require, Sampled(self.landmarks, self.graph, self.random_state))

    def _pose_graph(self, graph: NeighbourGraph, sample: Sample) -> Posed:
        scaling = partial(_scaled, sample, tol=self.tol, max_iter=self.max_iter)
        return replace(pose_geodesics(self, graph, sample), after=scaling)

    def reconstruction_error(self) -> float:
        """Return the error ``‖G − YYᵀ‖_F / n`` of the inner products, where G is the doubly centred −½Δ̂² of the geodesics.

        Returns
        -------
        float
        """
        check_is_fitted(self)
        G, Y = self.problem_.A.dense, np.asarray(self.map_.embedding)
        m = np.ones(len(G)) if self.problem_.B is None else self.problem_.B.diagonal()
        E = G / np.outer(m, m) - Y @ Y.T
        return float(np.sqrt(m @ E**2 @ m) / m.sum())


def _require(n: int) -> None:
    """Check that the arrays of n points fit into memory."""
    require(56.0 * n**2, f"The order of the distances between {n} points", "Fit on landmarks=1000 of the points.")


def _scaled(sample: Sample, start: Fitted, *, tol: float, max_iter: int) -> Fitted:
    """Descend from Isomap to a minimum of the stress."""
    n = sample.n
    _require(n)
    rows, masses, Y = start.map.rows, sample.x.masses, start.map.embedding
    geodesics = squareform(rows.geodesics[np.arange(n)], checks=False)
    with stage("stress"):
        found = ordinal_scaling(geodesics, Y, masses, tol=tol, steps=max_iter)
    note(stress=found.stress[-1], steps=len(found.stress) - 1)
    if not found.converged:
        warn(
            f"The stress was still decreasing after {max_iter} steps, from {found.stress[-2]:.6g} to {found.stress[-1]:.6g}: increase "
            "max_iter=, or increase tol= if that is close enough.",
            ConvergenceWarning,
        )
    masses = np.ones(n) if masses is None else masses
    Y = _principal(found.Y, masses)
    places = OrdinalPlaces(rows, Y, masses, found.given, found.wanted)
    return Fitted(Y, Map(places, np.eye(Y.shape[1]), known=sample.x.known(), embedding=Y), start.attributes).having(
        stress_=found.stress[-1],
        stress_path_=np.array(found.stress),
        n_iter_=len(found.stress) - 1,
        disparities_=np.stack([found.given, found.wanted]),
    )


def _principal(Y: Array, masses: Array) -> Array:
    """Return the points on their principal axes, about their mean."""
    Y = Y - masses @ Y / masses.sum()
    values, axes = dense.eigenpairs(dense.symmetric((Y.T * masses) @ Y), None, "max")
    Y = Y @ axes
    return Y @ orientation_of(values, Y)


@dataclass(frozen=True, eq=False)
class OrdinalPlaces:
    """Places a new point x at the y of least stress: its distances from the points Y should be f of the geodesics of x.

    First y is triangulated: ``−½‖y − y_j‖² = −½‖y‖² + y·y_j − ½‖y_j‖²`` is linear in y except for a term that vanishes for centred Y.
    Then it is moved by the majorisation that placed Y. f starts at zero and continues in proportion beyond the longest geodesic.
    """

    gram: GeodesicGram
    Y: Array
    masses: Array
    given: Array
    wanted: Array

    @property
    def geodesics(self) -> KeptGeodesics | Array:
        return self.gram.geodesics

    def __call__(self, X: Matrix) -> Array:
        step = max(1, _ENTRIES // len(self.Y))
        return np.vstack([self._block(X[i : i + step]) for i in range(0, X.shape[0], step)])

    def _block(self, X: Matrix) -> Array:
        Y, m = self.Y, self.masses
        lengths = np.sqrt(-2.0 * self.gram(X))
        wanted = np.interp(lengths, np.append(0.0, self.given), np.append(0.0, self.wanted))
        wanted *= np.maximum(lengths / self.given[-1], 1.0)
        scatter = np.sum(m[:, None] * Y**2, axis=0)
        y = 0.5 * (np.sum(Y**2, axis=1) - wanted**2) @ (m[:, None] * Y / scatter)
        wanted *= m / m.sum()
        for _ in range(_STEPS):
            distances = cdist(y, Y)
            apart = distances > COINCIDENT * distances.max(axis=1, keepdims=True)
            pull = np.divide(wanted, distances, out=np.zeros_like(wanted), where=apart)
            y = pull.sum(axis=1)[:, None] * y - pull @ Y
        return y
