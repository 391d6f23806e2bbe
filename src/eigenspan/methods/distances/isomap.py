"""Geodesic distances: Isomap and landmark Isomap, classical MDS of shortest paths through a neighbour graph."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..._diagnostics import note
from ...data import Input, Sample
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
from ...numerics.memory import human_bytes, require
from ...numerics.threads import in_slices, workers
from ...problem import Fitted, Map, Posed, Samples, SqrtEigenvalue, gram, pose
from ...problem.extensions import GeodesicGram, GramExtension, half_squares
from ..base.contract import told
from ..base.graph_embedding import GraphEmbedding, SampledEmbedding
from ..base.table import method
from .classical_mds import corrected_half_squares, of_gram
from .landmark_mds import LandmarkReducer

Array = NDArray[np.float64]


@method("distances", "max −½HΔ²H of geodesics", "embedding", "n² log n", "S0 §4.2")
class Isomap(LandmarkReducer, SampledEmbedding):
    """Isomap: classical MDS of geodesic distances.

    .. math:: \\min_Y \\lVert -\\tfrac12 H \\hat\\Delta^2 H - Y Y^T \\rVert_F

    with Δ̂ the lengths of shortest paths through the neighbour graph [S0, §4.2]. Use it for one curved, densely sampled sheet
    whose intrinsic geometry is flat and without holes.

    Cost: O(n² log n) time and 8n² bytes for all pairs; with q landmarks O(qn log n) and 8qn bytes.

    Parameters
    ----------
    conformal
        Divide the length of each edge by √(M_i M_j), where M_i is the mean distance from i to its k nearest neighbours (de
        Silva & Tenenbaum): for sheets that are sampled unevenly or bent conformally. For a radius or a given graph, M_i is
        the mean over all neighbours in the list of i.
    landmarks
        Compute geodesics to these points only, through the graph of all points (see `LandmarkIsomap`). None uses all
        points.

    Attributes
    ----------
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

    conformal: bool = False

    _input: ClassVar[Input] = replace(GraphEmbedding._input, sparse=True)
    _takes_masses: ClassVar[bool] = True

    def _graph(self, sample: Sample) -> NeighbourGraph:
        if self.disconnected != "largest":  # then only the search tells how many points will be left
            require_geodesics(sample.n, _number(self._wanted(sample.n), sample.n))
        return super()._graph(sample)

    def _landmark_rows(self, sample: Sample) -> NDArray[np.intp] | None:
        return None  # geodesics run through the graph of all points, to the landmarks only

    def _lengths(self, graph: NeighbourGraph) -> tuple[Any, Array | None]:
        return conformal_distances(graph) if self.conformal else (graph.undirected(), None)

    def _pose_graph(self, graph: NeighbourGraph, x: Any) -> Posed:
        lengths, M = self._lengths(graph)
        D = geodesic_distances(lengths)
        added = self._added(D)
        G = corrected_half_squares(D, added, 0.0, out=D)
        means = G.mean(axis=0) if x.masses is None else x.masses @ G / x.count
        form = gram(G, psd=added > 0, masses=x.masses)
        kept: Any = KeptGeodesics(form.dense, means, x.masses, added)
        rows = GeodesicGram(graph.joining(), kept, M, added)
        extension = GramExtension(rows, means, x.known(), x.masses)
        posed = pose(Samples(graph.n, extension, x.masses), maximise=form, scale=SqrtEigenvalue())
        return told(self, posed, lambda: of_gram(posed.problem))

    def _embed(self, graph: NeighbourGraph, sample: Sample) -> Fitted:
        wanted, points, masses = self._wanted(graph.n), sample.x.points, sample.x.masses
        if wanted is None:
            return super()._embed(graph, sample)
        lengths, M = self._lengths(graph)
        if sample.rows is not None and not isinstance(wanted, (Integral, Landmarks)):
            wanted = sample.found(choose_landmarks(sample.table, wanted))  # given as rows of X, needed as nodes
        elif masses is not None and graph.n < _number(wanted, graph.n) <= sample.x.count:
            wanted = np.arange(graph.n)  # copies of a point are no more landmarks than it is
        if points is None and isinstance(wanted, Landmarks) and wanted.choice != "random":
            raise InputError(
                f'Landmarks by "{wanted.choice}" need coordinates, and X holds distances: choose them by "random", or give their rows.'
            )
        chosen = choose_landmarks(lengths if points is None else points, wanted, random_state=self.random_state)
        geodesics = geodesic_table(lengths, chosen)
        note(geodesic_memory=human_bytes(geodesics.nbytes))
        rows = GeodesicGram(graph.joining(), geodesics, M)
        H = half_squares(geodesics[chosen].astype(np.float64))
        fitted = self._triangulate(H, rows, graph.n, partial(_placed, geodesics), masses)
        # a graph that was given, or bridged, or that chose among equal distances, is not what new points are joined to: those of
        # training are looked up
        map_ = replace(fitted.map, known=sample.x.known(), embedding=fitted.embedding)
        return replace(fitted, map=map_).having(landmarks_=sample.places[chosen])

    def _added(self, D: Array) -> float:
        """A constant to add to the geodesics of different points."""
        return 0.0

    def _wanted(self, n: int) -> Any:
        """The landmarks to use, how many or which; None for all pairs."""
        return self.landmarks

    @property
    def dist_matrix_(self) -> Array:
        """Geodesic distances between the embedded points, n×n, worked out when asked for (absent with landmarks)."""
        kept = getattr(getattr(vars(self).get("map_"), "rows", None), "geodesics", None)
        if not isinstance(kept, KeptGeodesics):
            raise AttributeError(
                f"{type(self).__name__} has no dist_matrix_ "
                + ("before fit." if kept is None else "with landmarks: only distances to these are known.")
            )
        n = kept.shape[0]
        require(8.0 * n * n, f"A copy of the geodesic distances between {n} points", "Use fewer points.")
        return kept[np.arange(n)]

    def reconstruction_error(self) -> float:
        """How much of the geodesics the embedding leaves out: ``‖G − YYᵀ‖_F / n``, G the doubly centred −½Δ̂².

        Returns
        -------
        float
        """
        check_is_fitted(self)
        if vars(self).get("landmarks_") is not None:
            raise InputError(
                "The reconstruction error needs the geodesics between all points: fit Isomap without landmarks."
            )
        G, unit = self.problem_.A.dense, self.problem_.B
        n = G.shape[0]
        if unit is not None:  # of rows that repeat, over all of them
            masses = unit.diagonal()
            n, G = float(masses.sum()), G / np.sqrt(np.outer(masses, masses))
        size = (
            float(np.abs(G).max(initial=0.0)) or 1.0
        )  # divided by before squares are summed, which may overflow or vanish
        left = float(np.linalg.norm(G / size)) ** 2 - float(np.sum((self.eigenvalues_ / size) ** 2))
        return float(np.sqrt(max(left, 0.0))) * size / n


def _number(wanted: Any, n: int) -> int:
    """How many landmarks are wanted; all points where none are."""
    if isinstance(wanted, Landmarks):
        wanted.check()
        wanted = wanted.n
    return n if wanted is None else int(wanted) if isinstance(wanted, Integral) else len(wanted)


@dataclass(frozen=True, eq=False)
class KeptGeodesics:
    """Rows of the geodesic distances of all pairs, recovered from their centred Gram matrix: the one n×n array that is kept.

    ``δ²_ij = −2 (G_ij + m_i + m_j − mean(m))`` with m the column means of −½δ² before centring. Where points have masses, these are
    in the means and, as factors, in the matrix. A constant that was `added` to them is taken off again.
    """

    centred: Array
    means: Array
    masses: Array | None = None
    added: float = 0.0

    @property
    def shape(self) -> tuple[int, ...]:
        return self.centred.shape

    def __getitem__(self, rows: Any) -> Array:
        rows = np.asarray(rows)
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
    """The map of points whose geodesics are known, a block of rows at a time: on all threads, in pieces that stay in the cache."""
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
class LandmarkIsomap(Isomap):
    """Isomap with geodesics to q landmarks only.

    .. math:: y(x) = V^T \\left[\\tfrac12 \\Lambda^{-1/2} U^T (\\bar\\mu - \\hat\\delta^2(x)) - m\\right]

    Classical MDS on the landmarks' geodesic distances, triangulation of all points on its axes, and PCA of the result: the Isomap
    for large n. Geodesics are no Euclidean distances, and the axes that serve are those above their error (see `LandmarkMDS`):
    half a dozen to a dozen for 200 landmarks of a sheet or of images. ``eigenvalues_`` are the sums of squares of all points along the
    axes shown.

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

    def _wanted(self, n: int) -> Any:
        return min(200, n) if self.landmarks is None else self.landmarks
