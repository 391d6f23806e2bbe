"""The reconstruction form ``‖Y − WY‖²`` in every basis: LLE, NPP and ONPP."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import ClassVar, Literal

import numpy as np

from ..._parameters import NotNegative, Whole, attribute
from ..._types import Matrix, Sparse
from ...data import Classes, Input, Sample, Sufficient
from ...errors import DegenerateWarning, GraphError, InputError, warn
from ...graphs import ClosedClasses, NeighbourGraph, NeighbourWeights, reconstruction_weights
from ...graphs.neighbours.closed import constant_axes
from ...graphs.weights.rules import pair_rule_names
from ...problem import Fitted, Form, Posed, Samples, UnitCovariance, pose
from ...problem.forms import reconstruction
from ..base.contract import features_of, points_of, refuse_idle
from ..base.graph_embedding import GraphEmbedding, barycentric
from ..base.graph_projection import (
    CLASS_AVERAGES,
    GraphProjection,
    by_class,
    graph_attribute,
    projection_form,
    projection_graph,
    projection_weights,
)
from ..base.table import NEIGHBOURS_AND_FEATURES, SPARSE, known_as, method

#: Residual of rebuilt points, relative to the points, that is rounding error.
_EXACT = 1e-12


@method("reconstruction", "min (I−W)ᵀ(I−W)", "embedding", SPARSE, "S0 eq. 12")
@known_as(
    "Locally linear embedding",
    "local linear embedding; reconstruction weights; nonlinear dimension reduction by locally linear embedding",
)
class LLE(GraphEmbedding):
    """Locally linear embedding.

    .. math:: \\min_Y \\lVert Y - W Y \\rVert_F^2 \\quad \\text{s.t. } \\tfrac1n Y^T Y = I,\\; Y^T 1 = 0

    [S0, eqs. 7–12], W the weights that best rebuild every point from its neighbours. Use it for a single well-sampled curved
    sheet; it keeps angles and local shape, not distances. The output has unit covariance.

    Cost: neighbours, O(n(k²D + k³)) for the weights, one sparse factorisation and a Lanczos run.

    Parameters
    ----------
    reg
        Ridge on the local Gram matrices, relative to their trace.
    disconnected
        What to do if the graph is not connected, or if its neighbour lists have several closed classes (sets of points
        whose neighbours all lie in the same set): add edges and warn; embed the largest strongly connected component, place
        the other points by the map and warn; or raise an error. Without this, a closed class whose points have no other
        link would collapse to a single point.

    Attributes
    ----------
    weights_ : csr_array of shape (n_samples, n_samples)
        Reconstruction weights; each row sums to one.

    Examples
    --------
    >>> from sklearn.datasets import make_s_curve
    >>> from eigenspan import LLE
    >>> X, _ = make_s_curve(400, random_state=0)
    >>> LLE(2, n_neighbors=12).fit(X).transform(X[:2]).shape
    (2, 2)

    References
    ----------
    Roweis & Saul (2000); [S0] §3.1.
    """

    reg: NotNegative = 1e-3

    weights_: Sparse = attribute()

    def _pose_graph(self, graph: NeighbourGraph, sample: Sample) -> Posed:
        x = sample.x
        basis = Samples(graph.n, barycentric(graph, x, self.reg), x.masses)
        W = reconstruction_weights(x.points, graph.lists(), reg=self.reg)
        return pose(basis, minimise=reconstruction(W, x.masses), scale=UnitCovariance(x.count)).having(weights_=W)


def _refuse_idle_policy(estimator: NPP) -> None:
    refuse_idle(estimator)
    whole = isinstance(estimator.graph, str) and estimator.graph in ("class", "all")
    if whole and estimator.disconnected != "keep":
        raise InputError(
            f'disconnected="{estimator.disconnected}" does not apply to graph="{estimator.graph}", which joins whole classes or all '
            "points: leave it out, or use neighbours (n_neighbors=, KNN(...), Radius(...))."
        )


def _rebuilding(points: Matrix, reg: float, graph: NeighbourGraph) -> Form:
    """Return the form of the weights that best rebuild every point from its neighbours."""
    return reconstruction(reconstruction_weights(points, graph.lists(), reg=reg))


def _warn_of_exact_weights(form: Form, points: Matrix, name: str) -> None:
    """Warn if weights without a ridge rebuild all points exactly: every axis then costs nothing, and rounding errors decide."""
    ((_, F),) = form.roots  # I − W
    size, left = float(abs(points).max()), float(abs(F @ points).max())
    if left <= _EXACT * size * float(abs(F).sum(axis=1).max() - 1.0):
        k, D = int(np.diff(F.indptr).max()) - 1, points.shape[1]
        warn(
            f"reg=0 lets {k} neighbours rebuild every point of {D} features exactly: all axes of {name} cost the same, nothing, and "
            "rounding decides between them. Use reg > 0 (1e-3, say), or no more neighbours than the points have dimensions.",
            DegenerateWarning,
        )


def _warn_of_class_axes(graph: NeighbourGraph, name: str, fitted: Fitted) -> Fitted:
    """Warn of axes that only separate closed classes of the neighbour lists, as many features can."""
    classes = ClosedClasses.of(graph.lists())
    if classes.count == 1:
        return fitted
    constant = constant_axes(np.asarray(fitted.embedding, dtype=np.float64), classes)
    if constant.size:
        warn(
            f"Axis {', '.join(str(axis + 1) for axis in constant)} is constant on each of the {classes.count} closed classes of the "
            f"neighbour lists (sets of points whose neighbours all lie in the same set): it costs nothing, and shows the sets as single "
            f'points. Use more neighbours, fewer features (reduce=), or {name}(disconnected="connect"), which ties the '
            "sets together.",
            DegenerateWarning,
        )
    return fitted


@method("reconstruction", "min (I−W)ᵀ(I−W)", "embedding", NEIGHBOURS_AND_FEATURES, "S0 eq. 34", "npe")
@known_as(
    "Neighbourhood preserving projections",
    "neighbourhood preserving embedding; linear LLE",
    {
        "graph='class'": "supervised NPP; supervised NPE",
        "kernel='rbf'": "kernel NPP; kernel NPE",
        "center=False": "uncentred NPP; NPP about the origin",
    },
)
class NPP(GraphProjection):
    """Neighbourhood preserving projections (also known as NPE).

    .. math:: \\min_V \\lVert X V - W X V \\rVert_F^2 \\quad \\text{s.t. } V^T X^T X V = I

    [S0, eq. 34]: LLE restricted to linear functions of the features, so that new points have an exact map. With
    ``graph="class"`` it is LDA's relative [S0, §7.2]; with ``kernel=`` it is kernel NPP, its weights computed in feature space.

    Cost: neighbours, O(n(k²D + k³)) for the weights, O(nD² + D³) for the rest. The class graph needs no neighbours: for D < n it is one
    pass over X, which may be a `numpy.memmap`, as `LDA`.

    Parameters
    ----------
    graph
        ... ``"all"`` joins all pairs of points, O(n²D) in blocks, with ``weights="heat"`` or ``"local"``.
    weights
        None means barycentric weights or, with ``graph="class"``, the class averages 1/n_k. ``"barycentric"`` reconstructs a
        point from its neighbours; with ``graph="class"`` these are all other points of its class (O(n_k⁴) for a class of
        n_k points). Other weights average the neighbours.
    reg
        Ridge on the local Gram matrices, relative to their trace. It has no effect unless `weights` are barycentric.
    disconnected
        What to do if the graph is not connected, or if its neighbour lists have several closed classes (sets of points
        whose neighbours all lie in the same set): use the graph as it is, and warn if axes show these sets as single
        points; add edges and warn; or raise an error.
    unlabeled
        ... It has no effect on graphs that do not use classes.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from eigenspan import NPP
    >>> X, _ = load_digits(return_X_y=True)
    >>> NPP(2).fit(X).transform(X[:3]).shape
    (3, 2)

    References
    ----------
    He et al. (2005); [S0] §4.5, §5.1, §8.
    """

    weights: NeighbourWeights | None = None
    center: bool = True
    reg: NotNegative = 1e-3
    disconnected: Literal["keep", "connect", "raise"] = "keep"

    _unit: ClassVar[Literal["embedding", "projection"]] = "embedding"
    _input: ClassVar[Input] = replace(GraphProjection._input, idle=_refuse_idle_policy)
    _sums_suffice: ClassVar[Sufficient | None] = CLASS_AVERAGES

    def _pose(self, sample: Sample) -> Posed:
        basis = features_of(self, sample)
        form, graph = self._reconstruction(points_of(self, basis, sample), sample.y)
        posed = pose(basis, minimise=form, unit=self._unit, ridge=self.ridge).having(**graph_attribute(graph))
        # A graph of the labels has a closed class for each label: there the axes are meant to separate them.
        if graph is None or sample.y is not None or not self._barycentric():
            return posed
        return replace(posed, after=partial(_warn_of_class_axes, graph, type(self).__name__))

    def _reconstruction(self, points: Matrix, y: Classes | None) -> tuple[Form, NeighbourGraph | None]:
        """Return the form of the chosen weights. None means barycentric ones; for the class graph, class averages."""
        if not self._barycentric():
            W = projection_weights(self, points, y, self.weights)
            return W.reconstruction(), W.graph
        if isinstance(self.graph, str) and self.graph == "all":
            names = " or ".join(f'"{name}"' for name in pair_rule_names())
            raise GraphError(
                f'{type(self).__name__}(graph="all") needs weights that decrease with distance, such as weights={names}: barycentric '
                "weights over all other points are not determined. Use one of these, or a neighbour graph."
            )
        graph = projection_graph(self, points, y)
        form, graph = projection_form(self.disconnected, graph, partial(_rebuilding, points, self.reg))
        if self.reg == 0:
            _warn_of_exact_weights(form, points, type(self).__name__)
        return form, graph

    def _barycentric(self) -> bool:
        if self.weights is None:
            return not by_class(self)
        return isinstance(self.weights, str) and self.weights == "barycentric"


@method("reconstruction", "min (I−W)ᵀ(I−W)", "projection", NEIGHBOURS_AND_FEATURES, "S0 eq. 32")
@known_as(
    "Orthogonal neighbourhood preserving projections",
    "orthogonal NPP; orthogonal NPE",
    {
        "graph='class'": "supervised ONPP; ONPP-R; class ONPP",
        "kernel='rbf'": "kernel ONPP; KONPP; kernel orthogonal neighbourhood preserving projections",
    },
)
class ONPP(NPP):
    """Orthogonal neighbourhood preserving projections.

    .. math:: \\min_V \\lVert X V - W X V \\rVert_F^2 \\quad \\text{s.t. } V^T V = I

    [S0, eq. 32]: LLE's cost under an orthogonal projection. [S0, §4.4] observes that ignoring the smallest eigenvalues can help:
    `skip_smallest`.

    Cost: as NPP.

    Parameters
    ----------
    center
        ... The axes are the same, because the form does not depend on the origin; the embedding is shifted.
    skip_smallest
        Number of smallest eigenpairs to leave out.
    ridge
        Has no effect under an orthogonal unit; accepted so that NPP and ONPP can be exchanged.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from eigenspan import ONPP
    >>> X, _ = load_iris(return_X_y=True)
    >>> V = ONPP(2).fit(X).components_
    >>> bool(np.allclose(V @ V.T, np.eye(2)))
    True

    References
    ----------
    Kokiopoulou & Saad (2007); [S0] §4.4, §8.4.
    """

    skip_smallest: Whole = 0

    _unit: ClassVar[Literal["embedding", "projection"]] = "projection"

    def _pose(self, sample: Sample) -> Posed:
        return replace(super()._pose(sample), skip=self.skip_smallest)
