"""Discriminant analysis smoothed over a graph of all points, labelled or not: SDA."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..._parameters import Marker, NotNegative, parameter
from ...data import Input, Sample, Sufficient
from ...data.y import ClassLabels
from ...graphs import ProjectionWeights
from ...problem import AxisWeights, Posed, pose
from ...problem.forms import between, total
from ..base.contract import (
    AxisRule,
    Components,
    FeatureReducer,
    TraceCriterion,
    bounded,
    check_spread,
    features_of,
    points_of,
)
from ..base.graph_projection import GraphProjection, graph_attribute, over_given_graph, projection_weights, ways_to_stay
from ..base.streaming import labelled_partial_fit
from ..base.table import NEIGHBOURS_AND_FEATURES, known_as, method

Array = NDArray[np.float64]


@method("semi-supervised", "max S_B", "S_T + μ L", NEIGHBOURS_AND_FEATURES, "S0 eq. 47")
@known_as(
    "Semi-supervised discriminant analysis",
    "graph-regularised discriminant analysis; Laplacian regularised discriminant analysis; manifold regularisation; "
    "semi-supervised discriminant",
    {
        "criterion='trace-ratio'": "trace ratio SDA",
        "kernel='rbf'": "kernel SDA; kernel semi-supervised discriminant analysis",
        "weights=PathSimilarity()": "semi-supervised discriminant analysis using robust path-based similarity",
    },
)
class SDA(TraceCriterion, GraphProjection):
    """Semi-supervised discriminant analysis.

    .. math:: \\max_V \\operatorname{Tr}(V^T S_B V) \\quad \\text{s.t. } V^T (S_T + \\mu X^T L X + \\varepsilon I) V = I

    [S0, eq. 47]: LDA of the points with labels, whose directions must not tear apart neighbours among *all* points. L is the graph
    Laplacian, so that μ multiplies :math:`a^T X^T L X a = \\tfrac12 \\sum_{ij} W_{ij} (a^T x_i - a^T x_j)^2`; [S0] prints the
    regulariser without the ½ and the eigenproblem with L, so its μ in the one is half of that in the other. The scatters are those
    of the labelled points, L sums over all edges: with few labels μ weighs more. Use it when labels are few and classes follow the
    shape of the data.

    Cost: neighbours, then O(nkD + nD² + D³) time and O(nD + D²) memory; path-based weights of all pairs are O(nD²) too.

    Parameters
    ----------
    n_components
        Number of directions. None means c − 1, the maximum for c classes.
    mu
        μ, the weight of the neighbours of all points. 0 is LDA of the labelled points.
    graph
        ... ``"all"`` joins all pairs of points, O(n²D) in blocks, with ``weights="heat"`` or ``"local"``.
    weights
        ... ``"binary"``, as in [S0], is 1 on every edge. ``"path"`` is `PathSimilarity`: all pairs, robust to outliers.

    Attributes
    ----------
    classes_ : ndarray
        The class labels.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from eigenspan import SDA
    >>> X, y = load_digits(return_X_y=True)
    >>> some = np.where(np.arange(len(y)) < 100, y, -1)  # the rest has no label
    >>> SDA(mu=0.01).fit(X, some).transform(X[:3]).shape
    (3, 9)

    References
    ----------
    Cai, He & Han (2007), Semi-supervised discriminant analysis; [S0] §6.1; for ``"path"`` Zhang & Yeung (2008), Semi-supervised
    discriminant analysis using robust path-based similarity.
    """

    n_components: Components | None = parameter(default=None, kw_only=False)
    mu: NotNegative = 0.1
    weights: ProjectionWeights = "binary"
    axes: AxisRule = "unit"
    unlabeled: Marker = -1

    _input: ClassVar[Input] = replace(
        FeatureReducer._input, y=ClassLabels(), blocks=over_given_graph, instead=ways_to_stay
    )
    _sums_suffice: ClassVar[Sufficient | None] = {"kernel": None, "reduce": None, "mu": 0}

    partial_fit = labelled_partial_fit

    def _pose(self, sample: Sample) -> Posed:
        basis, y = features_of(self, sample), sample.y
        check_spread(self, basis, sample)
        d = bounded(self.n_components, basis, y.count - 1, f"there are {y.count} classes")
        unit, graph = total(y), None
        if self.mu:
            W = projection_weights(self, points_of(self, basis, sample), y, self.weights)
            unit, graph = unit + self.mu * W.laplacian(), W.graph
        scale = AxisWeights(self.axes, signed=False)
        posed = pose(basis, maximise=between(y), unit=unit, ridge=self.ridge, scale=scale)
        return replace(posed, axes=d).having(**graph_attribute(graph))
