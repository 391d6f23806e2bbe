"""Geodesic distances: Isomap and landmark Isomap, classical MDS of shortest paths through a neighbour graph."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..core import Map, Posed, Samples, SqrtEigenvalue, gram, pose
from ..extend import GeodesicGram, GramExtension, half_squares
from ..graphs import NeighbourGraph, choose_landmarks, conformal_distances, geodesic_distances
from .distances import LANDMARKS, LandmarkReducer
from .docs import documented
from .neighbourhood import GraphEmbedding, known_rows

Array = NDArray[np.float64]


@documented
class Isomap(LandmarkReducer, GraphEmbedding):
    """Isomap: classical MDS of geodesic distances.

    .. math:: \\min_Y \\lVert -\\tfrac12 H \\hat\\Delta^2 H - Y Y^T \\rVert_F

    with Δ̂ the lengths of shortest paths through the neighbour graph [S0, §4.2]. Use it for one curved, densely sampled sheet
    whose intrinsic geometry is flat and without holes.

    Cost: O(n² log n) time and 16n² bytes for all pairs; with q landmarks O(qn log n) and 8qn bytes.

    Parameters
    ----------
    $n_components
    $n_neighbors
    $graph
    conformal : bool, default=False
        Rescale edges by d_ij/√(M_i M_j), M_i the mean distance to the neighbours: for sheets sampled unevenly or bent conformally.
    landmarks : int, array of indices or None, default=None
        Use geodesics to these points only (see `LandmarkIsomap`).
    $disconnected
    $solver
    $random_state
    $n_jobs

    Attributes
    ----------
    $graph_attribute
    $spectral_attributes

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

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **GraphEmbedding._parameter_constraints,
        "conformal": ["boolean"],
        "landmarks": LANDMARKS,
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int | None = None,
        graph: Any = None,
        conformal: bool = False,
        landmarks: Any = None,
        disconnected: str = "connect",
        solver: Any = "auto",
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            n_components,
            n_neighbors=n_neighbors,
            graph=graph,
            disconnected=disconnected,
            solver=solver,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.conformal = conformal
        self.landmarks = landmarks

    def _lengths(self, graph: NeighbourGraph) -> tuple[Any, Array | None]:
        lengths = graph.undirected()
        return conformal_distances(lengths) if self.conformal else (lengths, None)

    def _pose_graph(self, graph: NeighbourGraph, points: Array | None) -> Posed:
        lengths, M = self._lengths(graph)
        geodesics = geodesic_distances(lengths)
        G = half_squares(geodesics)
        extension = GramExtension(GeodesicGram(graph.finder, geodesics, M), G.mean(axis=0), known_rows(points))
        return pose(Samples(graph.n, extension), maximise=gram(G, psd=False), scale=SqrtEigenvalue())

    def _embed_graph(self, graph: NeighbourGraph, points: Array | None) -> tuple[Array, Map]:
        wanted = self._wanted(graph.n)
        if wanted is None:
            return super()._embed_graph(graph, points)
        lengths, M = self._lengths(graph)
        if graph.rows is not None and not isinstance(wanted, Integral):
            wanted = np.flatnonzero(np.isin(graph.rows, wanted))  # given as rows of X, needed as nodes of the component
        chosen = choose_landmarks(lengths, wanted, random_state=self.random_state)
        self.landmarks_ = chosen if graph.rows is None else graph.rows[chosen]
        geodesics = np.ascontiguousarray(geodesic_distances(lengths, chosen).T)
        R = half_squares(geodesics)
        return self._triangulate(R[chosen].copy(), R, GeodesicGram(graph.finder, geodesics, M))

    def _wanted(self, n: int) -> Any:
        """The landmarks to use, how many or which; None for all pairs."""
        return self.landmarks


@documented
class LandmarkIsomap(Isomap):
    """Isomap with geodesics to q landmarks only.

    .. math:: y(x) = \\tfrac12 \\Lambda^{-1/2} U^T (\\bar\\mu - \\hat\\delta^2(x))

    Classical MDS on the landmarks' geodesic distances and triangulation of all other points: the Isomap for large n.

    Cost: O(qn log n + q³) time, 8qn bytes.

    Parameters
    ----------
    $n_components
    $n_neighbors
    $graph
    conformal : bool, default=False
        Rescale edges by d_ij/√(M_i M_j), M_i the mean distance to the neighbours.
    landmarks : int, array of indices or None, default=None
        How many, or which. None means 200, or all points where there are fewer.
    $disconnected
    $solver
    $random_state
    $n_jobs

    Attributes
    ----------
    landmarks_ : ndarray of int
        The rows chosen.
    $graph_attribute
    $spectral_attributes

    Examples
    --------
    >>> from sklearn.datasets import make_swiss_roll
    >>> from eigenspan import LandmarkIsomap
    >>> X, t = make_swiss_roll(2000, random_state=0)
    >>> LandmarkIsomap(2, landmarks=50).fit_transform(X).shape
    (2000, 2)
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int | None = None,
        graph: Any = None,
        conformal: bool = False,
        landmarks: Any = None,
        disconnected: str = "connect",
        solver: Any = "auto",
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            n_components,
            n_neighbors=n_neighbors,
            graph=graph,
            conformal=conformal,
            landmarks=landmarks,
            disconnected=disconnected,
            solver=solver,
            random_state=random_state,
            n_jobs=n_jobs,
        )

    def _wanted(self, n: int) -> Any:
        return min(200, n) if self.landmarks is None else self.landmarks
