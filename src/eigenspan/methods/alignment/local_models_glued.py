"""Alignment of local models: modified LLE, Hessian LLE, LTSA and its linear version, geodesic nullspace analysis."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np

from ..._diagnostics import stage
from ..._parameters import NotNegative, attribute
from ...data import Sample
from ...data.x import XKind
from ...errors import DimensionError, InputError
from ...graphs import NeighbourGraph
from ...numerics.eigen import dense
from ...problem import Fitted, Form, Posed, Samples, UnitCovariance, orientation_of, pose
from ...problem.forms import hessian_alignment, modified_alignment, tangent_alignment
from ...problem.forms.charts import Charts, geodesic_charts, tangent_charts
from ..base.contract import TraceCriterion, features_of, points_of
from ..base.graph_embedding import GraphEmbedding, barycentric, coordinates
from ..base.graph_projection import GraphProjection, by_class, graph_attribute, projection_graph
from ..base.table import NEIGHBOURS_AND_FEATURES, SPARSE, known_as, method


def aligned(graph: NeighbourGraph, x: XKind, alignment: Callable[..., Form], *given: Any, reg: float = 1e-3) -> Posed:
    """Pose an alignment problem: coordinates of unit covariance, new points rebuilt from their neighbours."""
    basis = Samples(graph.n, barycentric(graph, x, reg), x.masses)
    form = alignment(coordinates(x), graph.lists(), *given, masses=x.masses)
    return pose(basis, minimise=form, scale=UnitCovariance(x.count))


@method("alignment", "min Σ S N Nᵀ Sᵀ, tangent spaces", "embedding", SPARSE, "Zhang & Zha 2004")
@known_as(
    "Local tangent space alignment",
    "tangent space alignment; alignment of local coordinates; principal manifolds by tangent spaces",
)
class LTSA(GraphEmbedding):
    """Local tangent space alignment.

    .. math:: \\min_Y \\sum_i \\lVert (I - 11^T/m - U_i U_i^T) Y_i \\rVert_F^2 \\quad \\text{s.t. } \\tfrac1n Y^T Y = I,\\; Y^T 1 = 0

    with U_i the tangent coordinates of neighbourhood i (the point included): the embedding is locally affine in them. Flattens
    developable sheets, holes and uneven borders included. The output has unit covariance.

    Cost: neighbours, O(n(k²D + k³)) for the local models, one sparse factorisation and a Lanczos run.

    Examples
    --------
    >>> from sklearn.datasets import make_s_curve
    >>> from eigenspan import LTSA
    >>> X, _ = make_s_curve(400, random_state=0)
    >>> LTSA(2, n_neighbors=12).fit_transform(X).shape
    (400, 2)

    References
    ----------
    Zhang & Zha (2004).
    """

    def _pose_graph(self, graph: NeighbourGraph, sample: Sample) -> Posed:
        return aligned(graph, sample.x, tangent_alignment, self.n_components)


@method(
    "alignment",
    "min Σ S N Nᵀ Sᵀ, local Hessians",
    "embedding",
    SPARSE,
    "Donoho & Grimes 2003",
    "hlle",
    "hessianeigenmaps",
)
@known_as("Hessian locally linear embedding", "Hessian eigenmaps; Hessian LLE; Hessian regularisation")
class HessianLLE(GraphEmbedding):
    """Hessian locally linear embedding (Hessian eigenmaps).

    .. math:: \\min_Y \\sum_i \\lVert \\mathcal{H}_i Y \\rVert_F^2 \\quad \\text{s.t. } \\tfrac1n Y^T Y = I,\\; Y^T 1 = 0

    with 𝓗_i the Hessian in the tangent coordinates of neighbourhood i: its null space is spanned by the constant and by
    isometric coordinates, also of sheets that are not convex. Needs n_neighbors ≥ d(d+3)/2. The output has unit covariance.

    Cost: neighbours, O(n(k²D + kd⁴)) for the local models, one sparse factorisation and a Lanczos run.

    Examples
    --------
    >>> from sklearn.datasets import make_s_curve
    >>> from eigenspan import HessianLLE
    >>> X, _ = make_s_curve(400, random_state=0)
    >>> HessianLLE(2, n_neighbors=12).fit_transform(X).shape
    (400, 2)

    References
    ----------
    Donoho & Grimes (2003).
    """

    def _pose_graph(self, graph: NeighbourGraph, sample: Sample) -> Posed:
        return aligned(graph, sample.x, hessian_alignment, self.n_components)


@method("alignment", "min Σ S N Nᵀ Sᵀ, arc lengths", "embedding", SPARSE, "S1 §1.5; Brand 2004", "gna")
@known_as("Geodesic nullspace analysis", "geodesic null space analysis; charting; isometric charts")
class GeodesicNullspaceAnalysis(GraphEmbedding):
    """Geodesic nullspace analysis: a flat sheet unrolled to its true lengths.

    .. math:: \\min_U \\sum_i \\lVert (I - \\tilde T_i \\tilde T_i^+) U_i \\rVert_F^2 \\quad \\text{s.t. }
       \\tfrac1n U^T U = I,\\; U^T 1 = 0, \\qquad \\min_{R,\\, Q_i^T Q_i = I} \\sum_i \\lVert H U_i R - T_i Q_i \\rVert_F^2, \\qquad Y = U R

    T_i is an isometric chart of neighbourhood i, :math:`\\tilde T_i = [1\\; T_i]`. Near each point a sheet that unrolls is a product of
    parabolas, and lengths along these take the place of tangent coordinates. All flat coordinates lie in the null space of what
    is not affine in the charts; it knows them up to an affine map, as `LTSA` does, and the linear map R that brings every neighbourhood
    nearest to its chart, turned, makes them an isometry. The axes are uncorrelated, the longest first, in the units of X. Use it for a
    densely sampled sheet without much noise, holes and uneven borders included, where lengths matter: `Isomap` stands more noise and no
    holes. Look at ``isometry_error_``: where it is large, no flat picture has these lengths, or the graph has short cuts.

    Cost: neighbours, O(n(k²D + kd⁴)) for the charts, one sparse factorisation and a Lanczos run.

    Parameters
    ----------
    charts
        Lengths along parabolas, exact to third order, which need ``n_neighbors ≥ d(d+3)/2``; or coordinates in the tangent
        plane.

    Attributes
    ----------
    isometry_error_ : float
        Root mean square distance of the neighbourhoods from their charts, relative to the extent of the charts: 0 for an
        isometry.

    Examples
    --------
    A roll of 89 to 21, unrolled:

    >>> import numpy as np
    >>> from eigenspan import GeodesicNullspaceAnalysis
    >>> rng = np.random.default_rng(0)
    >>> t, height = 1.5 * np.pi * (1 + 2 * rng.random(2000)), 21 * rng.random(2000)
    >>> X = np.column_stack([t * np.cos(t), height, t * np.sin(t)])
    >>> Y = GeodesicNullspaceAnalysis(2, n_neighbors=10).fit_transform(X)
    >>> np.ptp(Y, axis=0).round()
    array([89., 21.])

    References
    ----------
    [S1] §1.5; Brand (2004), From subspaces to submanifolds; Zhang & Zha (2004).
    """

    charts: Literal["geodesic", "tangent"] = "geodesic"

    isometry_error_: float = attribute()

    def _pose_graph(self, graph: NeighbourGraph, sample: Sample) -> Posed:
        x, make = sample.x, geodesic_charts if self.charts == "geodesic" else tangent_charts
        charts = make(coordinates(x), graph.lists(), self.n_components, x.masses)
        basis = Samples(graph.n, barycentric(graph, x), x.masses)
        posed = pose(basis, minimise=charts.alignment(), scale=UnitCovariance(x.count))
        return replace(posed, after=partial(_at_true_lengths, charts))


def _at_true_lengths(charts: Charts, fitted: Fitted) -> Fitted:
    """Apply the linear map that brings neighbourhoods nearest to their charts, and turn to uncorrelated axes."""
    Y: Any = fitted.embedding
    with stage("isometry"):
        R, error = charts.isometry(Y)
    P, s, _ = dense.singular_vectors(R)
    if len(s) < charts.d or not s[-1] > 1e-8 * s[0]:
        flat = charts.d - int(np.sum(s > 1e-8 * s[:1]))
        raise DimensionError(
            f"The neighbourhoods have no extent along {flat} of the {charts.d} axes of the embedding: the points lie on something "
            "of lower dimension. Use fewer components, or other neighbours."
        )
    T = P * s
    T = T @ orientation_of(s, Y @ T)
    return replace(fitted, embedding=Y @ T, map=fitted.map.then(T)).having(isometry_error_=error)


@method("alignment", "min Σ S N Nᵀ Sᵀ, several weight vectors", "embedding", SPARSE, "Zhang & Wang 2006", "mlle")
@known_as("Modified locally linear embedding", "modified LLE; LLE with multiple weights")
class ModifiedLLE(GraphEmbedding):
    """Modified locally linear embedding.

    .. math:: \\min_Y \\sum_i \\sum_{\\ell=1}^{s_i} \\lVert y_i - \\textstyle\\sum_j w_{ij}^{(\\ell)} y_j \\rVert^2
       \\quad \\text{s.t. } \\tfrac1n Y^T Y = I,\\; Y^T 1 = 0

    LLE with several independent weight vectors per point, which cures its distortion when k > d. The output has unit covariance.

    Cost: neighbours, O(n(k²D + k³)) for the local models, one sparse factorisation and a Lanczos run.

    Parameters
    ----------
    reg
        Ridge on the local Gram matrices, relative to their trace.
    disconnected
        What to do if the graph is not connected, or if its neighbour lists have several closed classes (sets of points
        whose neighbours all lie in the same set): add edges and warn; embed the largest strongly connected component, place
        the other points by the map and warn; or raise an error. Without this, a closed class whose points have no other
        link would collapse to a single point.

    Examples
    --------
    >>> from sklearn.datasets import make_s_curve
    >>> from eigenspan import ModifiedLLE
    >>> X, _ = make_s_curve(400, random_state=0)
    >>> ModifiedLLE(2, n_neighbors=12).fit_transform(X).shape
    (400, 2)

    References
    ----------
    Zhang & Wang (2006).
    """

    reg: NotNegative = 1e-3

    def _pose_graph(self, graph: NeighbourGraph, sample: Sample) -> Posed:
        return aligned(graph, sample.x, modified_alignment, self.n_components, self.reg, reg=self.reg)


@method("alignment", "min Σ S N Nᵀ Sᵀ, tangent spaces", "embedding", NEIGHBOURS_AND_FEATURES, "Zhang et al. 2007")
@known_as(
    "Linear local tangent space alignment",
    "linear LTSA",
    {"criterion='trace-ratio'": "trace ratio LLTSA", "kernel='rbf'": "kernel LLTSA; kernel LTSA"},
)
class LLTSA(TraceCriterion, GraphProjection):
    """Linear local tangent space alignment.

    .. math:: \\min_V \\operatorname{Tr}(V^T X^T B_{\\text{LTSA}} X V) \\quad \\text{s.t. } V^T X^T X V = I

    LTSA restricted to linear functions of the features; with ``kernel=`` its kernel form.

    Cost: neighbours, O(n(k²D + k³)) for the local models, O(nk²D + nD² + D³) for the rest.

    Parameters
    ----------
    unlabeled
        ... It has no effect on graphs that do not use classes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from eigenspan import LLTSA
    >>> X, _ = load_iris(return_X_y=True)
    >>> LLTSA(2).fit(X).transform(X[:3]).shape
    (3, 2)

    References
    ----------
    Zhang, Yang, Zhao, Ge (2007).
    """

    def _pose(self, sample: Sample) -> Posed:
        if by_class(self):
            raise InputError('LLTSA models neighbourhoods: use graph=KNN(k, within_class=True), not graph="class".')
        basis = features_of(self, sample)
        points = points_of(self, basis, sample)
        graph = projection_graph(self, points, sample.y)
        form = tangent_alignment(points, graph.lists(), self.n_components)
        return pose(basis, minimise=form, ridge=self.ridge).having(**graph_attribute(graph))
