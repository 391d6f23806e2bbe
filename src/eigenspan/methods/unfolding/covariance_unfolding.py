"""Maximum covariance unfolding: two views of the same points, unfolded so that they vary together."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from ..._parameters import attribute, parameter
from ..._types import Array
from ...data import Input, Sample
from ...data.other_views import OtherView
from ...data.rows.storage import in_precision_of
from ...errors import DimensionError, GraphError, InputError, message_prefix
from ...graphs import NeighbourGraph
from ...numerics.eigen import dense
from ...numerics.nearest.neighbour_lists import canonical
from ...problem import Fitted, Map, Samples
from ...problem.dimension_rules import suggested_dimension
from ..base.contract import ToldComponents
from ..base.graph_embedding import Connected, Sampled, fit_reduced
from ..base.table import known_as, method
from ..two_views.variates import TwoViews
from .solver_settings import SDP
from .task import Bounds, Held, Task, unfold
from .unfolding_base import (
    BoundedUnfolding,
    Constraint,
    check_count,
    extension_of,
    on_axes,
    on_principal_axes,
    string_graph,
)
from .unfolding_certificate import UnfoldingCertificate

#: Share of the largest variance below which that of an axis is rounding.
_ROUNDING = 1e-11


@method("unfolding", "max tr K_xy", "distances of neighbours in both views", "n³ + (nk)³ per step", "S4 §8.4", "mcu")
@known_as("Maximum covariance unfolding", "unfolding of two views; bimodal data unfolding")
class MaximumCovarianceUnfolding(TwoViews, BoundedUnfolding):
    """Maximum covariance unfolding: two views of the same points, each unfolded so that both vary together.

    .. math:: \\max_{K \\succeq 0} \\operatorname{tr} K_{xy}, \\quad K = [K_x\\ K_{xy};\\ K_{xy}^T\\ K_y],
              \\qquad (1 - \\epsilon) d_{ij} \\le K_{ii} - 2K_{ij} + K_{jj} \\le d_{ij} \\ \\text{ for neighbours in a view}

    each view centred [S4, §8.4]: what two curved sheets have in common, as `CCA` finds it of straight ones. Every point has two places in
    one space, u_i by the first view and v_i by the second; distances of neighbours are kept within each view, and
    :math:`\\operatorname{tr} K_{xy} = \\sum_i u_i \\cdot v_i` is as large as these allow. Of a view with itself it is `MVU`. Use it to
    compare what two instruments saw of the same things where neither saw it straight: `score` tells how well the views agree, `retrieve`
    finds in one what was seen in the other.

    The Gram matrix of all 2n places is learned at once, C = ½[0 H; H 0] with H centring. The objective does not see how the views lie to
    each other as a whole, so that one place is shared; afterwards each is centred. d are squared distances in units of their mean in the
    view: neither its unit nor that of the other matters. The default is the band: where the views have nothing in common, bounds from
    above alone would let one shrink.

    Cost: dense, O(n³ + m³) a step for m constraints of both views, 20 or so steps: up to a few hundred points; ``landmarks=300`` for more.

    Parameters
    ----------
    n_components
        Number of dimensions d of the embedding. ``"auto"`` uses ``suggested_dimension_``, where the spectrum of the
        unfolding drops.
    graph
        Neighbour graph of both views. None means the `n_neighbors` nearest neighbours of every point. Others are
        ``KNN(15, metric="cosine")`` and ``Radius(0.5)``.
    disconnected
        ... ``"largest"`` is refused: it would leave out points of one view that the other has.

    Attributes
    ----------
    embedding_, y_embedding_ : ndarray of shape (n_samples, n_components)
        Positions of the training points from the first and from the second view, on common axes, each in the unit of its
        own view.
    correlations_ : ndarray of shape (n_components,)
        Correlation between the two for each axis, over the points that were unfolded.
    embedding_full_ : ndarray of shape (2 n_samples, r)
        The whole unfolding, first view before second, in the units of the certificate.
    spectrum_ : ndarray of shape (r,)
        Sums of squares along its axes.
    certificate_ : UnfoldingCertificate
        Bounds on Σ u·v, in units of the mean squared distances of the two views; edges are over the rows of
        ``embedding_full_``.
    graph_, y_graph_ : NeighbourGraph
        The neighbour graphs of the views.
    y_features_in_ : int
        Number of columns of y.
    map_, y_map_ : Map
        The functions behind ``transform``.
    eigenvalues_, residuals_, gap_, problem_ : absent

    Examples
    --------
    >>> import numpy as np
    >>> from eigenspan import MaximumCovarianceUnfolding
    >>> t = np.linspace(0, 1, 40)  # one thing, seen as an arc and as a wave
    >>> X, Y = np.column_stack([np.cos(4 * t), np.sin(4 * t)]), np.column_stack([t, np.sin(7 * t) / 3])
    >>> mcu = MaximumCovarianceUnfolding(1, n_neighbors=3).fit(X, Y)
    >>> bool(mcu.correlations_[0] > 0.99), mcu.certificate_.gap < 1e-3
    (True, True)

    References
    ----------
    Mahadevan, Wong, Pereira, Liu, Vasconcelos & Saul (2011), Maximum covariance unfolding: manifold learning for bimodal data.
    """

    n_components: ToldComponents = parameter(default=2, kw_only=False)
    constraint: Constraint = "band"

    y_embedding_: Array = attribute()
    correlations_: Array = attribute()
    y_graph_: NeighbourGraph = attribute()
    y_features_in_: int = attribute()
    y_map_: Map = attribute()

    _input: ClassVar[Input] = Input(y=OtherView())

    def _fit(self, sample: Sample) -> Fitted:
        if not (self.graph is None or hasattr(self.graph, "build")):
            raise GraphError(
                "graph= is the graph of one view, and there are two: pass n_neighbors=, KNN(...) or Radius(...), from which one is built "
                "of each."
            )
        if self.disconnected == "largest":
            raise InputError(
                'disconnected="largest" leaves out points of one view that the other has: use "connect", or more neighbours.'
            )
        fitted = fit_reduced(sample, (Sampled(self.landmarks, self.graph, self.random_state),), self._fit_views)
        other = np.asarray(fitted.attributes["y_embedding_"])
        if len(other) < sample.n:  # landmarks
            rows, own = fitted.attributes["landmarks_"], other
            other = fitted.attributes["y_map_"](sample.y.arriving)
            other[rows] = own
        width = int(sample.y.values.shape[1])
        return fitted.having(y_embedding_=in_precision_of(sample.y.values, other), y_features_in_=width)

    def _fit_views(self, sample: Sample) -> Fitted:
        """Unfold both views of all points, or of the landmarks."""
        views = [sample, replace(sample, x=sample.y)]
        graphs = []
        for view, name in zip(views, ("", "In y, the other view: "), strict=True):
            with message_prefix(name):
                reduced = replace(view, graph=string_graph(self, view))
                graphs.append(Connected(self.disconnected).take(reduced)[0].graph)
                if not graphs[-1].distances.data.any():
                    raise DimensionError(
                        f"All {view.n} points coincide: every edge has length zero, and there is nothing to unfold."
                    )
        n, d = sample.n, self.n_components
        check_count(d, n)
        sizes = [float(np.sqrt(np.mean(graph.distances.data**2))) for graph in graphs]
        F, found = unfold(self._joint_task(graphs, sizes), SDP.of(self))
        F = np.concatenate([part - part.mean(axis=0) for part in (F[:n], F[n:])])
        F = on_principal_axes(F, F[:n])
        variances = np.sum(F**2, axis=0)
        told = suggested_dimension(variances, found["certificate_"].gap)
        d = told if d == "auto" else d
        one, two = (
            self._placed(view, graph, size * part, d)
            for view, graph, size, part in zip(views, graphs, sizes, (F[:n], F[n:]), strict=True)
        )
        found["certificate_"] = within_views(found["certificate_"], n)
        found |= {"embedding_full_": F, "spectrum_": variances, "suggested_dimension_": told, "n_components_": int(d)}
        found |= {"graph_": graphs[0], "y_graph_": graphs[1], "y_map_": two.map, "y_embedding_": two.embedding}
        return replace(
            one,
            attributes={**found, "correlations_": correlations(np.asarray(one.embedding), np.asarray(two.embedding))},
        )

    def _joint_task(self, graphs: list[NeighbourGraph], sizes: list[float]) -> Task:
        """Return the task of both views together."""
        held, n = Held.of(side_by_side(graphs, sizes)), graphs[0].n
        bounds = Bounds.of(self)
        bounds.check_memory(held, "MaximumCovarianceUnfolding")
        H = (np.eye(n) - 1.0 / n) / 2
        zero = np.zeros_like(H)
        return bounds.task(held, None, "covariance of the views", cost=np.block([[zero, H], [H, zero]]))

    def _placed(self, view: Sample, graph: NeighbourGraph, F: Array, d: int) -> Fitted:
        """Place one view on the first d of the common axes. Its map is made on axes of its own, and turned."""
        variances = np.sum(F**2, axis=0)
        values = dense.eigenvalues(dense.symmetric(F.T @ F))
        own = int(np.sum(values > _ROUNDING * max(float(values[-1]), np.finfo(float).tiny)))
        fitted = on_axes(self, F, Samples(graph.n, extension_of(self.extension, graph, view.x, F)), max(own, 1))
        wanted = np.zeros((len(F), d))
        wanted[:, : variances.size] = F[:, :d]
        T = np.linalg.lstsq(np.asarray(fitted.embedding), wanted, rcond=None)[0]
        return Fitted(np.asarray(fitted.embedding) @ T, fitted.map.then(T))


def side_by_side(graphs: list[NeighbourGraph], sizes: list[float]) -> sp.csr_array:
    """Return the undirected graphs of both views as one, each in units of its own size; the first points of both coincide."""
    one, two = (graph.undirected().tocoo() for graph in graphs)
    n = one.shape[0]
    lengths = np.concatenate([one.data / sizes[0], two.data / sizes[1], [0.0, 0.0]])
    rows, columns = np.concatenate([one.row, two.row + n, [0, n]]), np.concatenate([one.col, two.col + n, [n, 0]])
    return canonical(lengths, rows, columns, 2 * n)


def within_views(certificate: UnfoldingCertificate, n: int) -> UnfoldingCertificate:
    """Return the certificate of views that were centred apart: edges from their common point belong to their own view."""
    edges, below = certificate.edges.copy(), certificate.weights_below
    across = (edges[:, 0] < n) & (edges[:, 1] >= n)
    edges[across, 0] = n
    kept = edges[:, 0] != edges[:, 1]
    return replace(
        certificate,
        edges=edges[kept],
        squared_distances=certificate.squared_distances[kept],
        weights=certificate.weights[kept],
        weights_below=None if below is None else below[kept],
    )


def correlations(one: Array, two: Array) -> Array:
    """Return the correlations of the columns of two centred tables; zero if one has no variance."""
    sizes = np.linalg.norm(one, axis=0) * np.linalg.norm(two, axis=0)
    return np.sum(one * two, axis=0) / np.maximum(sizes, np.finfo(float).tiny)
