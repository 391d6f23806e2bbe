"""Alignment forms, local models glued together: modified LLE, Hessian LLE, LTSA and its linear version."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from ..core import Form, Posed, Samples, UnitCovariance, pose
from ..errors import InputError
from ..forms import hessian_alignment, modified_alignment, tangent_alignment
from ..graphs import NeighbourGraph
from ..input import Input, Sample
from .base import features_of, points_of
from .neighbourhood import GraphEmbedding, barycentric
from .projection import GraphProjection, by_class, graph_attribute, projection_graph
from .reconstruction import LLE
from .table import NEIGHBOURS_AND_FEATURES, SPARSE, method


class _Alignment(GraphEmbedding):
    """Implicit methods that differ in their alignment form only."""

    _input: ClassVar[Input] = replace(GraphEmbedding._input, sparse=True)
    _takes_masses: ClassVar[bool] = True

    def _form(self, graph: NeighbourGraph, x: Any) -> Form:
        raise NotImplementedError

    def _pose_graph(self, graph: NeighbourGraph, x: Any) -> Posed:
        basis = Samples(graph.n, barycentric(graph, x), x.masses)
        return pose(basis, minimise=self._form(graph, x), scale=UnitCovariance(x.count))


@method("alignment", "min Σ S N Nᵀ Sᵀ, tangent spaces", "embedding", SPARSE, "Zhang & Zha 2004")
class LTSA(_Alignment):
    """Local tangent space alignment.

    .. math:: \\min_Y \\sum_i \\lVert (I - 11^T/m - U_i U_i^T) Y_i \\rVert_F^2 \\quad \\text{s.t. } \\tfrac1n Y^T Y = I,\\; Y^T 1 = 0

    with U_i the tangent coordinates of neighbourhood i (the point included): the embedding is locally affine in them. Flattens
    developable sheets, holes and uneven borders included. The output has unit covariance.

    Cost: neighbours, O(n(k²D + k³)) for the local models, one sparse factorisation and a Lanczos run.

    Parameters
    ----------
    $n_components
    $n_neighbors
    $graph
    $landmark_fit
    $disconnected
    $solver
    $random_state
    $n_jobs

    Attributes
    ----------
    $graph_attribute
    $landmarks_attribute
    $spectral_attributes

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

    def _form(self, graph: NeighbourGraph, x: Any) -> Form:
        return tangent_alignment(x.points, graph.distances, self.n_components, masses=x.masses)


@method(
    "alignment",
    "min Σ S N Nᵀ Sᵀ, local Hessians",
    "embedding",
    SPARSE,
    "Donoho & Grimes 2003",
    "hlle",
    "hessianeigenmaps",
)
class HessianLLE(_Alignment):
    """Hessian locally linear embedding (Hessian eigenmaps).

    .. math:: \\min_Y \\sum_i \\lVert \\mathcal{H}_i Y \\rVert_F^2 \\quad \\text{s.t. } \\tfrac1n Y^T Y = I,\\; Y^T 1 = 0

    with 𝓗_i the Hessian in the tangent coordinates of neighbourhood i: its null space is spanned by the constant and by
    isometric coordinates, also of sheets that are not convex. Needs n_neighbors ≥ d(d+3)/2. The output has unit covariance.

    Cost: neighbours, O(n(k²D + kd⁴)) for the local models, one sparse factorisation and a Lanczos run.

    Parameters
    ----------
    $n_components
    $n_neighbors
    $graph
    $landmark_fit
    $disconnected
    $solver
    $random_state
    $n_jobs

    Attributes
    ----------
    $graph_attribute
    $landmarks_attribute
    $spectral_attributes

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

    def _form(self, graph: NeighbourGraph, x: Any) -> Form:
        return hessian_alignment(x.points, graph.distances, self.n_components, masses=x.masses)


@method("alignment", "min Σ S N Nᵀ Sᵀ, several weight vectors", "embedding", SPARSE, "Zhang & Wang 2006", "mlle")
class ModifiedLLE(LLE):
    """Modified locally linear embedding.

    .. math:: \\min_Y \\sum_i \\sum_{\\ell=1}^{s_i} \\lVert y_i - \\textstyle\\sum_j w_{ij}^{(\\ell)} y_j \\rVert^2
       \\quad \\text{s.t. } \\tfrac1n Y^T Y = I,\\; Y^T 1 = 0

    LLE with several independent weight vectors per point, which cures its distortion when k > d. The output has unit covariance.

    Cost: neighbours, O(n(k²D + k³)) for the local models, one sparse factorisation and a Lanczos run.

    Parameters
    ----------
    $n_components
    $n_neighbors
    $graph
    $reg
    $landmark_fit
    $disconnected
    $solver
    $random_state
    $n_jobs

    Attributes
    ----------
    $graph_attribute
    $landmarks_attribute
    $spectral_attributes

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

    def _pose_graph(self, graph: NeighbourGraph, x: Any) -> Posed:
        basis = Samples(graph.n, barycentric(graph, x, self.reg), x.masses)
        form = modified_alignment(x.points, graph.distances, self.n_components, self.reg, masses=x.masses)
        return pose(basis, minimise=form, scale=UnitCovariance(x.count))


@method("alignment", "min Σ S N Nᵀ Sᵀ, tangent spaces", "embedding", NEIGHBOURS_AND_FEATURES, "Zhang et al. 2007")
class LLTSA(GraphProjection):
    """Linear local tangent space alignment.

    .. math:: \\min_V \\operatorname{Tr}(V^T X^T B_{\\text{LTSA}} X V) \\quad \\text{s.t. } V^T X^T X V = I

    LTSA restricted to linear functions of the features; with ``kernel=`` its kernel form.

    Cost: neighbours, O(n(k²D + k³)) for the local models, O(nk²D + nD² + D³) for the rest.

    Parameters
    ----------
    $n_components
    $n_neighbors
    $graph_supervised
    $metric_of_rows
    $kernel
    $landmarks
    $reduce
    $ridge
    $unlabeled
    $scale
    $solver
    $random_state
    $n_jobs

    Attributes
    ----------
    $linear_attributes
    $spectral_attributes

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
            raise InputError(
                'LLTSA models neighbourhoods: use graph=KNN(k, within_class=True) instead of graph="class".'
            )
        basis = features_of(self, sample)
        points = points_of(basis, sample, self.kernel)
        graph = projection_graph(self, points, sample.y)
        form = tangent_alignment(points, graph.distances, self.n_components)
        return pose(basis, minimise=form, ridge=self.ridge).having(**graph_attribute(graph))
