"""Maximum variance unfolding: the Gram matrix of largest trace that respects distances between neighbours, with a certificate."""

from __future__ import annotations

from ...data import Sample
from ...graphs import NeighbourGraph
from ..base.table import known_as, method
from .edges import with_common_neighbours
from .equations import strings_task
from .task import Held, Task
from .unfolding_base import BoundedUnfolding


@method(
    "unfolding",
    "max tr K",
    "distances of neighbours",
    "40 sparse factorisations of order n r",
    "S4 eq. 47",
    "sde",
    "semidefiniteembedding",
)
@known_as(
    "Maximum variance unfolding",
    "semidefinite embedding; isometric embedding by semidefinite programming; semidefinite programming",
    {
        "constraint='slack'": "MVU with slack; relaxed distance constraints; MVU with slack variables",
        "common_neighbors=True": "MVU with common neighbours; angle-preserving MVU",
    },
)
class MVU(BoundedUnfolding):
    """Maximum variance unfolding (semidefinite embedding), solved exactly, with a certificate.

    .. math:: \\max_{K \\succeq 0,\\ K1 = 0} \\operatorname{tr} K \\quad\\text{s.t.}\\quad
              K_{ii} - 2K_{ij} + K_{jj} \\le \\lVert x_i - x_j \\rVert^2 \\ \\text{ for neighbours } i, j

    Points are pulled apart as far as the strings between neighbours allow; a sheet that was rolled up becomes flat [S4, §5]. It shows
    its dimension by itself: the eigenvalues of K beyond it vanish (``spectrum_``, ``suggested_dimension_``).

    The original form has equations in place of ≤: ``constraint="equality"``. Wherever all distances among d + 2 or more points of a
    d-dimensional neighbourhood are given, these leave K no freedom, and an interior only within a face of the cone, to which the program is
    reduced first. Where such neighbourhoods overlap in d + 1 points the whole is rigid, and nothing can unfold: on curved data that needs
    fewer neighbours. The inequality is a relaxation that always has an interior, and whose strings are taut wherever they carry weight.
    ``constraint="band"`` keeps distances from shrinking much (and takes several times as many steps), ``"slack"`` lets them stretch at
    a price, for noisy distances. Too few neighbours leave strings slack, and the sheet is stretched along and narrowed across: a Swiss
    roll of 1,000 points keeps 0.67 of its width with k = 8 and 0.91 with k = 15; `common_neighbors` braces it.

    The data satisfy the inequalities, so the result never has a smaller variance than they have.

    ``certificate_`` brackets the optimum by weak duality, whatever the solver did. Points a hundred times nearer to one another than to all
    others are solved for as one, and the bounds then proved for all of them.

    Cost: 40 or so sparse factorisations of order n·rank with the fill of the neighbour graph.

    Parameters
    ----------
    constraint
        ... Or ``"equality"``: v = d, solved by dense matrices, up to some hundred points; distances that no points have are refused.
    common_neighbors
        Constrain pairs that share a neighbour as well [S1, §1.3.2]: this keeps angles too, at the cost of a much denser
        graph.

    Examples
    --------
    >>> from sklearn.datasets import make_swiss_roll
    >>> from eigenspan import MVU
    >>> X, t = make_swiss_roll(300, random_state=0)
    >>> mvu = MVU(2, n_neighbors=8).fit(X)
    >>> mvu.certificate_.gap < 1e-3
    True
    >>> mvu.transform(X[:5]).shape
    (5, 2)

    References
    ----------
    Weinberger & Saul (2006), Unsupervised learning of image manifolds by semidefinite programming; Weinberger, Sha & Saul (2004),
    Learning a kernel matrix for nonlinear dimensionality reduction; Sun, Boyd, Xiao & Diaconis (2006) for the dual.
    """

    common_neighbors: bool = False

    def _task(self, graph: NeighbourGraph, sample: Sample) -> Task:
        if self.common_neighbors:
            graph = with_common_neighbours(graph, sample.x)
        return strings_task(self, Held.of(graph.undirected()), sample.x.points)
