"""The Laplacian form ``Tr(Y'LY) = ½ Σ w_ij ‖y_i − y_j‖²`` in every basis: Laplacian eigenmaps, LPP, OLPP."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Literal

from ..._parameters import Share, attribute
from ..._types import Array, Matrix
from ...data import Sample, Sufficient
from ...data.x import XKind
from ...graphs import Affinity, NeighbourGraph, ProjectionWeights, Weights, affinity, check_weights_connect
from ...problem import AxisWeights, Fitted, Form, Posed, Samples, UnitCovariance, pose
from ...problem.extensions import Walk, rows_of_walk
from ...problem.forms import counted, degree, laplacian, without_density
from ..base.contract import AxisRule, Scale, TraceCriterion, features_of, points_of
from ..base.graph_embedding import GraphEmbedding, barycentric
from ..base.graph_projection import CLASS_AVERAGES, GraphProjection, graph_attribute, projection_weights
from ..base.table import NEIGHBOURS_AND_FEATURES, SPARSE, known_as, method
from .distributed_eigenmaps import fit_distributed


def connected_affinity(graph: NeighbourGraph, weights: Weights, points: Matrix | None) -> Affinity:
    """Return the edge weights. Raise `GraphError` if they vanish on edges that connect the graph."""
    weighed = affinity(graph, weights, points)
    check_weights_connect(weighed.W)
    return weighed


def walk_basis(
    graph: NeighbourGraph,
    weighed: Affinity,
    x: XKind,
    extension: str,
    density: Array | None = None,
    *,
    eigenfunctions: bool = True,
) -> Samples:
    """Return the samples, extended as `extension` says.

    ``"nystrom"`` is the eigenfunction formula, which holds for eigenvectors of the walk only; for others (`eigenfunctions` is False) and
    for ``"harmonic"`` new points are placed at the weighted mean of their neighbours.
    """
    if extension == "barycentric":
        return Samples(graph.n, barycentric(graph, x), x.masses)
    rows = rows_of_walk(graph, weighed, density, x.masses)
    return Samples(graph.n, Walk(rows, x.known(), eigenfunctions and extension == "nystrom"), x.masses)


@method("laplacian", "min L", "degree", SPARSE, "S0 eq. 16", "le", "eigenmaps", "spectralembedding")
@known_as(
    "Laplacian eigenmaps",
    "spectral embedding; graph drawing; spectral graph drawing; graph Laplacian; graph Laplacian eigenvectors; "
    "normalised Laplacian",
    {
        "n_components=1": "Fiedler vector; Fiedler value; second smallest eigenvector of the Laplacian; algebraic connectivity",
        "unit='covariance'": "Laplacian eigenmaps with unit covariance",
        "unit='covariance', alpha=0.5": "Laplacian eigenmaps with divided weights",
        "weights='binary'": "simple-minded weights; binary weights Laplacian eigenmaps",
    },
)
class LaplacianEigenmaps(GraphEmbedding):
    """Laplacian eigenmaps.

    .. math:: \\min_Y \\operatorname{Tr}(Y^T L Y) \\quad \\text{s.t. } Y^T D Y = I,\\; Y^T D 1 = 0

    [S0, eq. 16]: neighbours stay close. Use it to see clusters and slow coordinates of data on a graph. The output is
    D-orthonormal. With ``unit="covariance"`` it is centred with unit covariance instead,

    .. math:: \\min_Y \\operatorname{Tr}(Y^T L Y) \\quad \\text{s.t. } \\tfrac1n Y^T Y = I,\\; Y^T 1 = 0

    which is the ratio cut [S0, eq. 54]: every point counts alike, whatever its degree.

    With ``unit="covariance", alpha=0.5`` it is the problem that [S1, eq. 1.10] prints, whose weights are divided by the roots of the
    degrees:

    .. math:: \\min_Y \\sum_{ij} \\frac{W_{ij} \\lVert y_i - y_j \\rVert^2}{\\sqrt{d_i d_j}}
       \\quad \\text{s.t. } \\tfrac1n Y^T Y = I,\\; Y^T 1 = 0

    S1 solves it with :math:`I - D^{-1/2} W D^{-1/2}`, which is not the form of this cost: its null vector is :math:`D^{1/2} 1`, not the
    constant that is discarded.

    Cost: neighbours, then one sparse factorisation of L and a Lanczos run; O(nk) memory plus the factor's fill. A Dask array or data frame
    stays on its cluster: neighbours are found and products are made there, this process holds 1600 bytes for every point, and new
    points are placed by some of the rows (see `docs/clusters.md`).

    Parameters
    ----------
    weights
        ... With ``graph="precomputed"``, X is the affinity matrix. L = D − W does not depend on its diagonal, and the degrees D
        leave it out, as in scikit-learn.
    unit
        B = D or B = I. The eigenfunction formula holds for eigenvectors of the walk only: with ``"covariance"`` and
        ``extension="nystrom"``, new points are placed at the weighted mean of their neighbours. The axes then have variance
        one, and ``scale="unit-variance"`` has no effect.
    alpha
        α of the weights :math:`W_{ij} / (d_i d_j)^\\alpha` that replace W in L and D, as in `DiffusionMap`. 0 keeps W, 1 removes the
        density of the points.

    Attributes
    ----------
    affinity_ : Affinity
        Edge weights (``affinity_.W``), before the division by `alpha`, and the rule that computed them. Absent if a Dask
        collection was fitted on its cluster.

    Examples
    --------
    >>> from sklearn.datasets import make_swiss_roll
    >>> from eigenspan import LaplacianEigenmaps
    >>> X, t = make_swiss_roll(400, random_state=0)
    >>> eigenmaps = LaplacianEigenmaps(2, n_neighbors=12).fit(X)
    >>> eigenmaps.transform(X[:4] + 0.01).shape
    (4, 2)

    The problem of [S1, eq. 1.10]:

    >>> LaplacianEigenmaps(2, n_neighbors=12, unit="covariance", alpha=0.5).fit_transform(X).shape
    (400, 2)

    References
    ----------
    Belkin & Niyogi (2003); [S1] §1.3.4; [S0] §3.2 (whose eq. 19 prints D^{+1/2} for D^{−1/2}).
    """

    weights: Weights = "heat"
    extension: Literal["nystrom", "harmonic", "barycentric"] = "nystrom"
    unit: Literal["degree", "covariance"] = "degree"
    alpha: Share = 0
    scale: Scale = None

    affinity_: Affinity = attribute()

    def _fit(self, sample: Sample) -> Fitted:
        if sample.x.lazy and self.landmarks is None:
            return fit_distributed(self, sample)
        return super()._fit(sample)

    def _pose_graph(self, graph: NeighbourGraph, sample: Sample) -> Posed:
        x = sample.x
        weighed = connected_affinity(graph, self.weights, x.points)
        W, density = without_density(counted(weighed.W, x.masses), x.masses, self.alpha)
        basis = walk_basis(graph, weighed, x, self.extension, density, eigenfunctions=self.unit == "degree")
        if self.unit == "degree":
            return pose(basis, minimise=laplacian(W), unit=degree(W)).having(affinity_=weighed)
        return pose(basis, minimise=laplacian(W), scale=UnitCovariance(x.count)).having(affinity_=weighed)


def _projection(self: LPP | OLPP, sample: Sample) -> Posed:
    """Pose the Laplacian over the features, under the degrees or over orthonormal axes."""
    basis = features_of(self, sample)
    W = projection_weights(self, points_of(self, basis, sample), sample.y, self.weights)
    unit: Form | Literal["projection"] = "projection" if self._orthogonal else W.degree()
    posed = pose(basis, minimise=W.laplacian(), unit=unit, ridge=self.ridge)
    return posed.having(**graph_attribute(W.graph))


@method("laplacian", "min L", "degree", NEIGHBOURS_AND_FEATURES, "S0 eq. 28")
@known_as(
    "Locality preserving projections",
    "linear Laplacian eigenmaps; Laplacianfaces; linear extension of Laplacian eigenmaps",
    {
        "graph='class'": "supervised LPP; supervised locality preserving projections; SLPP; class graph",
        "graph='all', weights=Powered()": "LPP*; LPP with powered local scaling",
        "criterion='trace-ratio'": "trace ratio LPP; LPP with orthogonal axes by trace ratio",
        "kernel='rbf'": "kernel LPP; KLPP; kernel locality preserving projections",
        "center=False": "uncentred LPP; LPP about the origin",
    },
)
class LPP(TraceCriterion, GraphProjection):
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
    axes
        ... The eigenvalue of an axis is its cost here: ``"eigenvalue"`` gives rough axes more weight, as [S2, §2.3] prints it.
    graph
        ... ``"all"`` joins all pairs of points, O(n²D) in blocks: with ``weights=Powered("local", alpha)`` this is LPP*
        [S2, §4.1].
    unlabeled
        ... It has no effect on graphs that do not use classes.

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

    weights: ProjectionWeights | None = None
    center: bool = True
    axes: AxisRule = "unit"

    _orthogonal: ClassVar[bool] = False
    _sums_suffice: ClassVar[Sufficient | None] = CLASS_AVERAGES

    def _pose(self, sample: Sample) -> Posed:
        return replace(_projection(self, sample), scale=AxisWeights(self.axes, signed=False))


@method("laplacian", "min L", "projection", NEIGHBOURS_AND_FEATURES, "S0 eq. 36")
@known_as(
    "Orthogonal locality preserving projections",
    "orthogonal LPP; orthogonal Laplacianfaces",
    {
        "graph='class'": "supervised OLPP; OLPP-R; supervised orthogonal LPP",
        "kernel='rbf'": "kernel OLPP; kernel orthogonal LPP",
    },
)
class OLPP(GraphProjection):
    """Orthogonal locality preserving projections.

    .. math:: \\min_V \\operatorname{Tr}(V^T X^T L X V) \\quad \\text{s.t. } V^T V = I

    [S0, eq. 36]: LPP's cost under an orthogonal projection, which keeps distances honest. Among the best on faces in [S0, §9].

    Cost: as LPP.

    Parameters
    ----------
    weights
        ... None means ``Heat()`` or, with ``graph="class"``, the class averages 1/n_k.
    graph
        ... ``"all"`` joins all pairs of points, O(n²D) in blocks: with ``weights=Powered("local", alpha)`` this is LPP*
        [S2, §4.1].
    center
        ... The axes are the same, because the form does not depend on the origin; the embedding is shifted.
    unlabeled
        ... It has no effect on graphs that do not use classes.
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

    weights: ProjectionWeights | None = None
    center: bool = True

    _orthogonal: ClassVar[bool] = True
    _sums_suffice: ClassVar[Sufficient | None] = CLASS_AVERAGES
    _pose = _projection
