"""The Laplacian form ``Tr(Y'LY) = ½ Σ w_ij ‖y_i − y_j‖²`` in every basis: Laplacian eigenmaps, LPP, OLPP."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from ..._parameters import attribute
from ...data import Input, Sample
from ...data.rows.storage import is_tall
from ...graphs import Affinity, NeighbourGraph, ProjectionWeights, Weights, affinity, check_weights_connect
from ...problem import Fitted, Posed, Samples, UnitCovariance, diagonal, pose
from ...problem.extensions import Walk, rows_of_walk
from ...problem.forms import PairWeights, counted, degree, laplacian
from ..base.contract import Scale, features_of, points_of
from ..base.graph_embedding import GraphEmbedding, barycentric
from ..base.graph_projection import GraphProjection, graph_attribute, is_scatter, projection_weights
from ..base.table import NEIGHBOURS_AND_FEATURES, SPARSE, method
from .distributed_eigenmaps import fit_spread

Array = NDArray[np.float64]


class WalkEmbedding(GraphEmbedding):
    """Graph embeddings extended by their random walk.

    Parameters
    ----------
    weights
        ... With ``graph="precomputed"``, X is the affinity matrix. Its diagonal counts only in the random walk of
        `DiffusionMap`: L = D − W does not depend on it, and elsewhere the degrees D leave it out, as in scikit-learn.
    extension
        How new points are placed: by the eigenfunction formula, at the weighted mean of their neighbours, or by local
        reconstruction. Training points keep their own embedding.

    Attributes
    ----------
    affinity_ : Affinity
        Edge weights (``affinity_.W``) and the rule that computed them.
    """

    weights: Weights = "heat"
    extension: Literal["nystrom", "harmonic", "barycentric"] = "nystrom"

    affinity_: Affinity = attribute()

    _input: ClassVar[Input] = replace(GraphEmbedding._input, sparse=True)
    _takes_masses: ClassVar[bool] = True

    def _weigh(self, graph: NeighbourGraph, x: Any) -> Affinity:
        """The weights between two points, seen to leave the graph in one piece."""
        weighed = affinity(graph, self.weights, x.points)
        check_weights_connect(weighed.W)
        return weighed

    def _samples(
        self, graph: NeighbourGraph, affinity: Affinity, x: Any, density: Array | None = None, *, of_walk: bool = True
    ) -> Samples:
        """The basis; the eigenfunction formula is for eigenvectors of the walk only."""
        if self.extension == "barycentric":
            return Samples(graph.n, barycentric(graph, x), x.masses)
        rows = rows_of_walk(graph, affinity, density, x.masses)
        walk = Walk(rows, x.known(), eigenfunctions=of_walk and self.extension == "nystrom")
        return Samples(graph.n, walk, x.masses)


@method("laplacian", "min L", "degree", SPARSE, "S0 eq. 16", "le", "eigenmaps", "spectralembedding")
class LaplacianEigenmaps(WalkEmbedding):
    """Laplacian eigenmaps.

    .. math:: \\min_Y \\operatorname{Tr}(Y^T L Y) \\quad \\text{s.t. } Y^T D Y = I,\\; Y^T D 1 = 0

    [S0, eq. 16]: neighbours stay close. Use it to see clusters and slow coordinates of data on a graph. The output is
    D-orthonormal. With ``unit="covariance"`` it is centred with unit covariance instead,

    .. math:: \\min_Y \\operatorname{Tr}(Y^T L Y) \\quad \\text{s.t. } \\tfrac1n Y^T Y = I,\\; Y^T 1 = 0

    which is the ratio cut [S0, eq. 54]: every point counts alike, whatever its degree.

    This is not the problem of [S1, eq. 1.10], which has the same constraints and weights divided by :math:`\\sqrt{d_i d_j}`. For that one
    give the divided weights (see the example). S1 solves it with :math:`I - D^{-1/2} W D^{-1/2}`, which is not the form of its cost: the
    null vector is :math:`D^{1/2} 1`, not the constant that is discarded.

    Cost: neighbours, then one sparse factorisation of L and a Lanczos run; O(nk) memory plus the factor's fill. A Dask array or data frame
    stays on its cluster: neighbours are found and products are made there, this process holds 1600 bytes for every point, and new
    points are placed by some of the rows (see `docs/clusters.md`).

    Parameters
    ----------
    unit
        B = D or B = I. The eigenfunction formula holds for eigenvectors of the walk only: with ``"covariance"`` and
        ``extension="nystrom"``, new points are placed at the weighted mean of their neighbours. The axes then have variance
        one, and ``scale="unit-variance"`` has no effect.

    Examples
    --------
    >>> from sklearn.datasets import make_swiss_roll
    >>> from eigenspan import LaplacianEigenmaps
    >>> X, t = make_swiss_roll(400, random_state=0)
    >>> eigenmaps = LaplacianEigenmaps(2, n_neighbors=12).fit(X)
    >>> eigenmaps.transform(X[:4] + 0.01).shape
    (4, 2)

    The cost of [S1, eq. 1.10], its weights divided by the roots of the degrees:

    >>> import scipy.sparse as sp
    >>> W = eigenmaps.affinity_.W
    >>> R = sp.diags_array(W.sum(axis=1) ** -0.5)
    >>> divided = LaplacianEigenmaps(2, unit="covariance", graph=R @ W @ R, weights="precomputed").fit(X)

    References
    ----------
    Belkin & Niyogi (2003); [S1] §1.3.4; [S0] §3.2 (whose eq. 19 prints D^{+1/2} for D^{−1/2}).
    """

    unit: Literal["degree", "covariance"] = "degree"
    scale: Scale = None

    def _fit_lazily(self, sample: Sample) -> Fitted:
        return fit_spread(self, sample)

    def _pose_graph(self, graph: NeighbourGraph, x: Any) -> Posed:
        weighed = self._weigh(graph, x)
        W = counted(weighed.W, x.masses)
        basis = self._samples(graph, weighed, x, of_walk=self.unit == "degree")
        if self.unit == "degree":
            return pose(basis, minimise=laplacian(W), unit=degree(W)).having(affinity_=weighed)
        return pose(basis, minimise=laplacian(W), scale=UnitCovariance(x.count)).having(affinity_=weighed)


class _LocalityPreserving(GraphProjection):
    """LPP and OLPP differ in their unit only.

    Parameters
    ----------
    graph
        ... ``"all"`` joins all pairs of points, O(n²D) in blocks: with ``weights=Powered("local", alpha)`` this is LPP*
        [S2, §4.1].
    unlabeled
        ... It has no effect on graphs that do not use classes.
    """

    weights: ProjectionWeights | None = None

    def _unit(self, W: PairWeights) -> Any:
        raise NotImplementedError

    def _pose(self, sample: Sample) -> Posed:
        if sample.x.lazy or (is_scatter(self) and is_tall(sample.x.values)):
            return self._pose_classes(sample)
        basis = features_of(self, sample)
        W = projection_weights(self, points_of(self, basis, sample), sample.y, self.weights)
        posed = pose(basis, minimise=W.laplacian(), unit=self._unit(W), ridge=self.ridge)
        return posed.having(**graph_attribute(W.graph))


@method("laplacian", "min L", "degree", NEIGHBOURS_AND_FEATURES, "S0 eq. 28")
class LPP(_LocalityPreserving):
    """Locality preserving projections.

    .. math:: \\min_V \\operatorname{Tr}(V^T X^T L X V) \\quad \\text{s.t. } V^T X^T D X V = I

    [S0, eq. 28]: the linear map that keeps neighbours close; Laplacian eigenmaps restricted to linear functions of the features.
    Use it when the structure is local but new points need an exact, cheap map. With ``graph="class"`` it is LDA's relative
    [S0, §7.2]; with ``kernel=`` it is kernel LPP.

    Cost: neighbours, then O(nkD + nD² + D³) time, O(nD + D²) memory; a kernel makes it O(n³), or O(nm²) with m landmarks. The class
    graph needs no neighbours: for D < n it is one pass over X, which may be a `numpy.memmap`, and O(D²) memory, as `LDA`.

    Parameters
    ----------
    weights
        ... None means ``Heat()`` or, with ``graph="class"``, the class averages 1/n_k. The degrees D leave out the diagonal
        of ``"precomputed"`` weights.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from eigenspan import LPP
    >>> X, y = load_digits(return_X_y=True)
    >>> lpp = LPP(2, n_neighbors=8).fit(X)
    >>> lpp.transform(X[:3]).shape, lpp.components_.shape
    ((3, 2), (2, 64))
    >>> LPP(9, graph="class").fit(X, y).embedding_.shape
    (1797, 9)

    References
    ----------
    He & Niyogi (2004); [S0] §4.3, §5.1, §8.3.
    """

    _class_unit: ClassVar[str] = "labelled"

    def _unit(self, W: PairWeights) -> Any:
        return diagonal(W.degrees())


@method("laplacian", "min L", "projection", NEIGHBOURS_AND_FEATURES, "S0 eq. 36")
class OLPP(_LocalityPreserving):
    """Orthogonal locality preserving projections.

    .. math:: \\min_V \\operatorname{Tr}(V^T X^T L X V) \\quad \\text{s.t. } V^T V = I

    [S0, eq. 36]: LPP's cost under an orthogonal projection, which keeps distances honest. Among the best on faces in [S0, §9].

    Cost: as LPP.

    Parameters
    ----------
    weights
        ... None means ``Heat()`` or, with ``graph="class"``, the class averages 1/n_k.
    ridge
        Has no effect under an orthogonal unit; accepted so that LPP and OLPP can be exchanged.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from eigenspan import OLPP
    >>> X, y = load_iris(return_X_y=True)
    >>> V = OLPP(2).fit(X).components_
    >>> bool(np.allclose(V @ V.T, np.eye(2)))
    True

    References
    ----------
    [S0] §4.5.
    """

    _class_unit: ClassVar[str] = "projection"

    def _unit(self, W: PairWeights) -> Any:
        return "projection"
