"""Margins between classes: each point near its nearest points of its class, and far from the nearest of other classes."""

from __future__ import annotations

from ..._parameters import Count
from ..._types import Index, Matrix
from ...data import Classes
from ...graphs import ComputedWeights, NeighbourGraph, affinity, allies, rivals
from ...graphs.weights.rules import refuse_given
from ...problem import Form
from ...problem.forms import laplacian
from ..base.contract import TraceCriterion
from ..base.table import NEIGHBOURS_AND_FEATURES, known_as, method
from .pair_costs import NEAR, CostProjection, SemiSupervised, ones_on


def _near_and_rival(estimator: DNE | MFA, points: Matrix, codes: Index) -> tuple[NeighbourGraph, NeighbourGraph]:
    """Return the graphs of every point's nearest points of the same class, and of other classes."""
    k = NEAR if estimator.n_neighbors is None else estimator.n_neighbors
    near = allies(points, codes, k, estimator.n_jobs)
    return near, rivals(points, codes, estimator.n_rivals or k, estimator.n_jobs)


@method("discriminant", "min L of allies − rivals", "projection", NEIGHBOURS_AND_FEATURES, "S2 §2.1.1")
@known_as(
    "Discriminant neighbourhood embedding",
    "",
    {"kernel='rbf'": "kernel DNE; kernel discriminant neighbourhood embedding"},
)
class DNE(CostProjection):
    """Discriminant neighbourhood embedding, supervised or semi-supervised.

    .. math:: \\min_V \\operatorname{Tr}(V^T X^T (D - C) X V) \\quad \\text{s.t. } V^T V = I

    with :math:`C = C^I - C^E + \\gamma C^u` [S2, §2.1.1]: an orthonormal projection that brings near points of a class together and
    near points of different classes apart. The more negative its eigenvalue, the better an axis. With γ = 0 only labelled points
    matter; `SSDNE` is the same method with γ = 0.1.

    Cost: neighbours within and across classes, then O(nkD + nD² + D³) time and O(nD + D²) memory; γ > 0 with ``graph="all"``
    adds O(n²D) in blocks.

    Parameters
    ----------
    axes
        ... The axes are solved with length one, so the choice between the first two, and between the last two, has no
        effect.
    ridge
        Has no effect on orthonormal axes; accepted so that methods can be exchanged.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from eigenspan import DNE
    >>> X, y = load_iris(return_X_y=True)
    >>> DNE(2).fit(X, y).transform(X[:3]).shape
    (3, 2)

    References
    ----------
    Zhang, Xue, Sun, Guo & Lu (2007), Optimal dimensionality of metric space for classification; [S2] §2.1.1.
    """

    n_rivals: Count | None = None

    def _labelled(self, points: Matrix, y: Classes) -> tuple[Form, None]:
        near, rival = map(ones_on, _near_and_rival(self, points, y.codes))
        return laplacian(near - rival), None


@method("discriminant", "max L of rivals", "L of allies", NEIGHBOURS_AND_FEATURES, "S2 §2.1.1")
@known_as(
    "Marginal Fisher analysis",
    "marginal Fisher's criterion; intrinsic graph and penalty graph",
    {
        "criterion='trace-ratio'": "trace ratio MFA; trace ratio marginal Fisher analysis",
        "kernel='rbf'": "kernel MFA; kernel marginal Fisher analysis",
    },
)
class MFA(TraceCriterion, CostProjection):
    """Marginal Fisher analysis, supervised or semi-supervised.

    .. math:: \\min_V \\operatorname{Tr}(V^T X^T (D - C) X V) \\quad \\text{s.t. } V^T X^T (D^I - C^I) X V = I

    with :math:`C = -C^E + \\gamma C^u` [S2, §2.1.1]: maximal distances between the nearest points of different classes, in
    units of the distances between near points of the same class. With γ = 0 only labelled points matter; `SSMFA` is the same
    method with γ = 0.1.

    Cost: as `DNE`.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from eigenspan import MFA
    >>> X, y = load_wine(return_X_y=True)
    >>> MFA(2, n_neighbors=5, n_rivals=20).fit(X, y).transform(X[:3]).shape
    (3, 2)

    References
    ----------
    Yan et al. (2007), Graph embedding and extensions; [S2] §2.1.1.
    """

    n_rivals: Count | None = None

    def _labelled(self, points: Matrix, y: Classes) -> tuple[Form, Form]:
        near, rival = map(ones_on, _near_and_rival(self, points, y.codes))
        return -laplacian(rival), laplacian(near)


@method("discriminant", "max L of weighted rivals", "L of weighted allies", NEIGHBOURS_AND_FEATURES, "Chen et al. 2005")
@known_as(
    "Local discriminant embedding",
    "",
    {"criterion='trace-ratio'": "trace ratio LDE", "kernel='rbf'": "kernel LDE; kernel local discriminant embedding"},
)
class LDE(MFA):
    """Local discriminant embedding, supervised or semi-supervised.

    .. math:: \\max_V \\operatorname{Tr}(V^T X^T L^E X V) \\quad \\text{s.t. } V^T X^T L^I X V = I

    with the Laplacians of the weighted edges between near points of different classes and of the same class: `MFA` with
    weights that decrease with distance. γ adds the neighbours of all points to the cost, as in `MFA`.

    Cost: as `DNE`.

    Parameters
    ----------
    weights
        Weights of the edges within and between classes, such as ``Heat(sigma)``.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from eigenspan import LDE
    >>> X, y = load_wine(return_X_y=True)
    >>> LDE(2, n_neighbors=5).fit(X, y).transform(X[:3]).shape
    (3, 2)

    References
    ----------
    Chen, Chang & Liu (2005), Local discriminant embedding and its variants; [S2] §2.1.1.
    """

    weights: ComputedWeights = "heat"

    def _labelled(self, points: Matrix, y: Classes) -> tuple[Form, Form]:
        refuse_given("LDE", self.weights)
        near, rival = (self._weighed(graph, points) for graph in _near_and_rival(self, points, y.codes))
        return -laplacian(rival), laplacian(near)

    def _weighed(self, graph: NeighbourGraph, points: Matrix) -> Form:
        """Return the weights of the edges."""
        if not graph.distances.nnz:
            return ones_on(graph)
        return Form(graph.n, sparse=affinity(graph, self.weights, points).W)


@method("semi-supervised", "DNE + γ L of all points", "projection", "n² D, or " + NEIGHBOURS_AND_FEATURES, "S2 §2.1.2")
@known_as(
    "Semi-supervised discriminant neighbourhood embedding",
    "semi-supervised DNE",
    {"kernel='rbf'": "kernel SS-DNE; kernel semi-supervised DNE"},
)
class SSDNE(SemiSupervised, DNE):
    """Semi-supervised discriminant neighbourhood embedding: `DNE` with γ = 0.1 [S2, §2.1.2].

    .. math:: \\min_V \\operatorname{Tr}(V^T X^T (D - C) X V) \\quad \\text{s.t. } V^T V = I,\\quad C = C^I - C^E + \\gamma C^u

    Cost: as `DNE`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from eigenspan import SSDNE
    >>> X, y = load_digits(return_X_y=True)
    >>> some = np.where(np.arange(len(y)) < 100, y, -1)  # the rest has no label
    >>> SSDNE(10).fit(X, some).transform(X[:3]).shape
    (3, 10)
    """


@method("semi-supervised", "MFA + γ L of all points", "L of allies", "n² D, or " + NEIGHBOURS_AND_FEATURES, "S2 §2.1.2")
@known_as("Semi-supervised marginal Fisher analysis", "semi-supervised MFA", {"kernel='rbf'": "kernel SS-MFA"})
class SSMFA(SemiSupervised, MFA):
    """Semi-supervised marginal Fisher analysis: `MFA` with γ = 0.1 [S2, §2.1.2].

    .. math:: \\min_V \\operatorname{Tr}(V^T X^T (D - C) X V) \\quad \\text{s.t. } V^T X^T (D^I - C^I) X V = I,\\quad C = -C^E + \\gamma C^u

    Cost: as `DNE`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_wine
    >>> from eigenspan import SSMFA
    >>> X, y = load_wine(return_X_y=True)
    >>> some = np.where(np.arange(len(y)) % 3 == 0, y, -1)
    >>> SSMFA(2).fit(X, some).transform(X[:3]).shape
    (3, 2)
    """
