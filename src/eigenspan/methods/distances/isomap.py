"""Geodesic distances: Isomap and landmark Isomap, classical MDS of shortest paths through a neighbour graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..._diagnostics import note
from ..._parameters import Count, attribute, parameter
from ..._types import Array, Index, RandomState, Sparse
from ...data import Sample
from ...errors import InputError
from ...graphs import (
    Landmarks,
    NeighbourGraph,
    choose_landmarks,
    conformal_distances,
    geodesic_distances,
    geodesic_table,
    require_geodesics,
)
from ...graphs.landmarks import LandmarksLike
from ...numerics.memory import human_bytes, require
from ...numerics.threads import in_slices, workers
from ...problem import Fitted, Map, Posed, Samples, SqrtEigenvalue, gram, pose
from ...problem.extensions import GeodesicGram, GramExtension, half_squares
from ..base.contract import ToldComponents, told
from ..base.graph_embedding import Connected, Distinct, GraphEmbedding, Neighbours, Reduction, Sampled, neighbours
from ..base.table import known_as, method
from .classical_mds import corrected_half_squares, of_gram
from .landmark_mds import triangulation, unexplained_share

#: Returns a number to add to all geodesics.
Constant = Callable[[Array], float]


@method("distances", "max −½HΔ²H of geodesics", "embedding", "n² log n", "S0 §4.2")
@known_as(
    "Isometric feature mapping",
    "isometric mapping; MDS of geodesic distances; geodesic distances; geodesic MDS; shortest path embedding",
    {"conformal=True": "c-Isomap; conformal Isomap", "sample=200": "Isomap on a sample"},
)
class Isomap(GraphEmbedding):
    """Isomap: classical MDS of geodesic distances.

    .. math:: \\min_Y \\lVert -\\tfrac12 H \\hat\\Delta^2 H - Y Y^T \\rVert_F

    with Δ̂ the lengths of shortest paths through the neighbour graph [S0, §4.2]. Use it for one curved, densely sampled sheet
    whose intrinsic geometry is flat and without holes.

    Cost: O(n² log n) time and 8n² bytes for all pairs; with q landmarks O(qn log n) and 8qn bytes.

    Parameters
    ----------
    n_components
        Number of dimensions d of the embedding. ``"auto"`` determines it from the spectrum: it drops axes up to twice the size of the
        errors, which negative eigenvalues show, and keeps those before the largest drop among the others.
    sample
        Fit to this many random rows as if they were all rows, and place the others by the map for new points. Use it to fit
        a Dask array or data frame, whose rows stay on their cluster. None fits to all rows.
    conformal
        Divide the length of each edge by √(M_i M_j), where M_i is the mean distance from i to its k nearest neighbours (de
        Silva & Tenenbaum): for sheets that are sampled unevenly or bent conformally. For a radius or a given graph, M_i is
        the mean over all neighbours in the list of i.
    landmarks
        Compute geodesics to these points only, through the graph of all points (see `LandmarkIsomap`). None uses all
        points.

    Attributes
    ----------
    n_components_ : int
        Number of dimensions of the embedding.
    spectrum_ : ndarray
        The eigenvalues, largest first, from which the number was determined. Present with ``n_components="auto"``.
    sample_ : ndarray of int
        The rows drawn, if `sample` is given.
    landmarks_ : ndarray of int
        The rows chosen as landmarks, if `landmarks` is given.
    dist_matrix_ : ndarray of shape (n_samples, n_samples)
        Geodesic distances between the points of ``graph_``, recomputed each time they are read. Absent with landmarks.

    Examples
    --------
    >>> from sklearn.datasets import make_swiss_roll
    >>> from eigenspan import Isomap
    >>> X, t = make_swiss_roll(500, random_state=0)
    >>> Isomap(2, n_neighbors=10).fit(X).transform(X[:5]).shape
    (5, 2)

    References
    ----------
    Tenenbaum, de Silva, Langford (2000); de Silva & Tenenbaum (2003) for the conformal and landmark forms.
    """

    n_components: ToldComponents = parameter(default=2, kw_only=False)
    sample: Count | None = None
    conformal: bool = False

    n_components_: int = attribute()
    spectrum_: Array = attribute()
    sample_: Index = attribute()

    def _reductions(self) -> tuple[Reduction, ...]:
        return geodesic_reductions(self, lambda n: require_geodesics(n, _number(self._landmarks(n), n)))

    def _pose_graph(self, graph: NeighbourGraph, sample: Sample) -> Posed:
        wanted = self._landmarks(graph.n)
        return pose_geodesics(self, graph, sample) if wanted is None else pose_landmarks(self, graph, sample, wanted)

    def _landmarks(self, n: int) -> LandmarksLike | None:
        """Return the landmarks of n points as a number, a specification or rows of X; None for all pairs."""
        return self.landmarks

    def unexplained_residual(self) -> float:
        """Return the share of the variance that the embedding leaves out: ``Σ_{a>d} λ_a / Σ_a λ_a`` over the positive eigenvalues.

        This is PCA's unexplained variance for the points with the whole Gram matrix: their summed squared distances from their
        projections on the axes, divided by those from their mean [S3, eq. 4.11]. If no points have these distances, the nearest
        positive semidefinite matrix is used. It needs all eigenvalues, O(n³).

        Returns
        -------
        float
        """
        check_is_fitted(self)
        return unexplained_share(self.problem_, self.eigenvalues_)

    @property
    def dist_matrix_(self) -> Array:
        """Geodesic distances between the embedded points, n×n, computed on each access; absent with landmarks."""
        kept = getattr(getattr(vars(self).get("map_"), "rows", None), "geodesics", None)
        if not isinstance(kept, KeptGeodesics):
            raise AttributeError(
                f"{type(self).__name__} has no dist_matrix_ "
                + ("before fit." if kept is None else "with landmarks: only distances to the landmarks are known.")
            )
        n = kept.shape[0]
        require(8.0 * n * n, f"A copy of the geodesic distances between {n} points", "Use fewer points.")
        return kept[np.arange(n)]

    def reconstruction_error(self) -> float:
        """Return the error ``‖G − YYᵀ‖_F / n`` of the inner products, where G is the doubly centred −½Δ̂² of the geodesics.

        Returns
        -------
        float
        """
        check_is_fitted(self)
        if vars(self).get("landmarks_") is not None:
            raise InputError("The reconstruction error needs all geodesics: fit Isomap without landmarks.")
        G, unit = self.problem_.A.dense, self.problem_.B
        n = G.shape[0]
        if unit is not None:  # equal rows: sum over all of them
            masses = unit.diagonal()
            n, G = float(masses.sum()), G / np.sqrt(np.outer(masses, masses))
        size = float(np.abs(G).max(initial=0.0)) or 1.0  # in this unit, squares neither overflow nor underflow
        left = float(np.linalg.norm(G / size)) ** 2 - float(np.sum((self.eigenvalues_ / size) ** 2))
        return float(np.sqrt(max(left, 0.0))) * size / n


def geodesic_reductions(isomap: Isomap, check: Callable[[int], None], *sampled: Sampled) -> tuple[Reduction, ...]:
    """Return the reductions of Isomap and its relatives, `sampled` after the parameter `sample`.

    `check` raises an error for too many points before neighbours are searched.
    """

    def build(sample: Sample) -> NeighbourGraph:
        if isomap.disconnected != "largest":  # otherwise the number of remaining points is not known before the search
            check(sample.n)
        return neighbours(isomap, sample)

    return (
        Sampled(isomap.sample, isomap.graph, isomap.random_state, "sample"),
        *sampled,
        Distinct(isomap.graph, isomap.n_neighbors),
        Neighbours(build),
        Connected(isomap.disconnected),
    )


def pose_geodesics(isomap: Isomap, graph: NeighbourGraph, sample: Sample, constant: Constant | None = None) -> Posed:
    """Pose classical MDS of all geodesics, to which `constant` may add a number."""
    x = sample.x
    lengths, M = _lengths(graph, isomap.conformal)
    D = geodesic_distances(lengths)
    added = 0.0 if constant is None else constant(D)
    G = corrected_half_squares(D, added, 0.0, out=D)
    means = G.mean(axis=0) if x.masses is None else x.masses @ G / x.count
    form = gram(G, psd=added > 0, masses=x.masses)
    kept: Any = KeptGeodesics(form.dense, means, x.masses, added)
    extension = GramExtension(GeodesicGram(graph.joining(), kept, M, added), means, x.known(), x.masses)
    posed = pose(Samples(graph.n, extension, x.masses), maximise=form, scale=SqrtEigenvalue())
    return told(isomap, posed, lambda: of_gram(posed.problem))


def pose_landmarks(isomap: Isomap, graph: NeighbourGraph, sample: Sample, wanted: LandmarksLike) -> Posed:
    """Pose the PCA of all points, triangulated from their geodesics to landmarks."""
    lengths, M = _lengths(graph, isomap.conformal)
    chosen = _landmark_nodes(graph, sample, lengths, wanted, isomap.random_state)
    geodesics = geodesic_table(lengths, chosen)
    note(geodesic_memory=human_bytes(geodesics.nbytes))
    rows = GeodesicGram(graph.joining(), geodesics, M)
    H, place = half_squares(geodesics[chosen].astype(np.float64)), partial(_placed, geodesics)
    posed = told(isomap, *triangulation(H, rows, graph.n, place, isomap.n_components, masses=sample.x.masses))
    return replace(posed, after=partial(_looked_up, sample)).having(landmarks_=sample.places[chosen])


def _lengths(graph: NeighbourGraph, conformal: bool) -> tuple[Sparse, Array | None]:
    return conformal_distances(graph) if conformal else (graph.undirected(), None)


def _landmark_nodes(
    graph: NeighbourGraph, sample: Sample, lengths: Sparse, wanted: LandmarksLike, random_state: RandomState
) -> Index:
    """Return the nodes of the landmarks, which are given as a number, a specification or rows of X."""
    points, masses = sample.x.points, sample.x.masses
    if sample.rows is not None and not isinstance(wanted, (Integral, Landmarks)):
        wanted = sample.found(choose_landmarks(sample.table, wanted))  # rows of X, as nodes
    elif masses is not None and graph.n < _number(wanted, graph.n) <= sample.x.count:
        wanted = np.arange(graph.n)  # equal rows count as one landmark
    if points is None and isinstance(wanted, Landmarks) and wanted.choice != "random":
        raise InputError(f'Landmarks(choice="{wanted.choice}") needs coordinates, and X holds distances: use "random".')
    return choose_landmarks(lengths if points is None else points, wanted, random_state=random_state)


def _looked_up(sample: Sample, fitted: Fitted) -> Fitted:
    """Return the fit with a map that looks up training rows: new points may have other neighbours than the nodes of the graph."""
    return replace(fitted, map=replace(fitted.map, known=sample.x.known(), embedding=fitted.embedding))


def _number(wanted: LandmarksLike | None, n: int) -> int:
    """Return the number of landmarks, or of all points if there are none."""
    if isinstance(wanted, Landmarks):
        wanted.check()
        wanted = wanted.n
    return n if wanted is None else int(wanted) if isinstance(wanted, Integral) else len(np.asarray(wanted))


@dataclass(frozen=True, eq=False)
class KeptGeodesics:
    """Rows of the geodesic distances of all pairs, recovered from their centred Gram matrix, the only n×n array that is kept.

    ``δ²_ij = −2 (G_ij + m_i + m_j − mean(m))`` with m the column means of −½δ² before centring. Masses of points are in the means and, as
    factors, in the matrix. The constant that was `added` to the distances is subtracted again.
    """

    centred: Array
    means: Array
    masses: Array | None = None
    added: float = 0.0

    @property
    def shape(self) -> tuple[int, ...]:
        return self.centred.shape

    def __getitem__(self, rows: Index) -> Array:
        D = self.centred[rows]
        if self.masses is not None:
            D = D / self.masses / self.masses[rows, None]
        D = D + self.means
        D += (self.means[rows] - np.average(self.means, weights=self.masses))[:, None]
        D *= -2.0
        np.sqrt(np.maximum(D, 0.0, out=D), out=D)
        if self.added:
            D -= self.added
            np.maximum(D, 0.0, out=D)
        D[np.arange(rows.size), rows] = 0.0
        return D


def _placed(geodesics: Array, map_: Map) -> Iterator[Array]:
    """Yield the images of points with known geodesics, one block of rows at a time, on all threads and in cache-sized pieces."""
    (n, q), shift = geodesics.shape, 0.0 if map_.shift is None else map_.shift
    step = max(1, 2**23 // q)

    def piece(rows: slice, block: Array) -> Array:
        H = half_squares(block[rows].astype(np.float64))
        H -= map_.offset
        return H @ map_.coef + shift

    for i in range(0, n, step):
        block = geodesics[i : i + step]
        yield np.concatenate(in_slices(partial(piece, block=block), len(block), max(1, 2**16 // q), workers()))


@method("distances", "max −½HΔ²H of geodesics on landmarks", "embedding", "q n log n", "S3 §4")
@known_as(
    "Landmark Isomap",
    "L-Isomap; landmark isometric mapping; Nyström Isomap",
    {"conformal=True": "landmark c-Isomap; conformal landmark Isomap"},
)
class LandmarkIsomap(Isomap):
    """Isomap with geodesics to q landmarks only.

    .. math:: y(x) = V^T \\left[\\tfrac12 \\Lambda^{-1/2} U^T (\\bar\\mu - \\hat\\delta^2(x)) - m\\right]

    Classical MDS on the landmarks' geodesic distances, triangulation of all points on its axes, and PCA of the result: the Isomap
    for large n. Geodesics are not Euclidean distances, and only axes above their error are useful (see `LandmarkMDS`): six to twelve
    for 200 landmarks of a sheet or of images. ``eigenvalues_`` are the sums of squares of all points along the axes of the embedding.

    Cost: O(qn log n + q³) time, 8qn bytes, or 4qn where that exceeds 200 MB.

    Parameters
    ----------
    landmarks
        Number of landmarks, how to choose them, or their rows. None means 200, or all points if there are fewer.

    Attributes
    ----------
    landmarks_ : ndarray of int
        The rows chosen as landmarks.
    dist_matrix_ : absent

    Examples
    --------
    >>> from sklearn.datasets import make_swiss_roll
    >>> from eigenspan import LandmarkIsomap
    >>> X, t = make_swiss_roll(2000, random_state=0)
    >>> LandmarkIsomap(2, landmarks=50).fit_transform(X).shape
    (2000, 2)
    """

    def _landmarks(self, n: int) -> LandmarksLike:
        return min(200, n) if self.landmarks is None else self.landmarks
