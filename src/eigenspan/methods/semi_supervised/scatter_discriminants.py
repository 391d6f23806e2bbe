"""Semi-supervised discriminants: class scatters, local or not, with what the unlabelled points say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from numpy.typing import NDArray

from ..._parameters import Count, Marker, NotNegative, Share, Verbose, attribute
from ..._types import Matrix
from ...data import Classes, Input, Sample, Sufficient
from ...data.y import ClassLabels
from ...graphs.weights.rules import ClassWeights
from ...problem import AxisWeights, Form, Posed, pose
from ...problem.forms import between, centring, laplacian, local_fisher, within
from ..base.contract import AxisRule, FeatureReducer, TraceCriterion, features_of
from ..base.graph_projection import over_given_graph, ways_to_stay
from ..base.streaming import labelled_partial_fit
from ..base.table import NEIGHBOURS_AND_FEATURES, known_as, method
from ..discriminant.pair_costs import LFDA, CostProjection, SemiSupervised, checked_points, nearness


@method(
    "semi-supervised",
    "LFDA + γ L of all points",
    "near pairs of a class",
    "n² D, or " + NEIGHBOURS_AND_FEATURES,
    "S2 §2.1.2",
)
@known_as(
    "Semi-supervised local Fisher discriminant analysis", "semi-supervised LFDA", {"kernel='rbf'": "kernel SS-LFDA"}
)
class SSLFDA(SemiSupervised, LFDA):
    """Semi-supervised local Fisher discriminant analysis: `LFDA` with γ = 0.1 [S2, §2.1.2].

    .. math:: \\min_V \\operatorname{Tr}(V^T X^T (D - C) X V) \\quad \\text{s.t. } V^T X^T (D^{wit} - C^{wit}) X V = I

    with :math:`C = C^{bet} + \\gamma C^u`: labelled points of different classes apart, near points of a class and near points
    without labels together.

    Cost: as `LFDA`; ``graph="all"`` is O(n²D) time in blocks, ``graph=KNN(k)`` the sparse choice for many points.

    Parameters
    ----------
    affinity
        Which labelled points of a class count as near: see `LFDA`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from eigenspan import SSLFDA
    >>> X, y = load_digits(return_X_y=True)
    >>> some = np.where(np.arange(len(y)) < 100, y, -1)  # the rest has no label
    >>> SSLFDA(10).fit(X, some).transform(X[:3]).shape
    (3, 10)
    """


@method("discriminant", "max S_B − S_W", "projection", "n D² + D³", "S2 §3.2")
@known_as(
    "Maximum margin criterion",
    "maximal margin criterion; difference of scatters; scatter difference",
    {"kernel='rbf'": "kernel MMC; kernel maximum margin criterion"},
)
class MMC(CostProjection):
    """Maximum margin criterion, supervised or semi-supervised.

    .. math:: \\max_V \\operatorname{Tr}(V^T (S_B - w S_W) V) \\quad \\text{s.t. } V^T V = I

    Class means apart and classes tight, by an orthonormal projection: no scatter is inverted, so small samples need no care. γ
    takes off the Laplacian of the neighbours of all points, which is Song et al.'s SS-MMC [S2, eq. 12]; see `SSMMC` for the γ of that
    equation.

    Cost: O(nD² + D³) time; γ > 0 with ``graph="all"`` adds O(n²D) in blocks.

    Parameters
    ----------
    weight
        w, the weight of the scatter within classes.
    axes
        ... The axes are solved with length one, so the choice between the first two, and between the last two, has no
        effect.
    ridge
        Has no effect on orthonormal axes; accepted so that methods can be exchanged.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from eigenspan import MMC
    >>> X, y = load_wine(return_X_y=True)
    >>> MMC(2).fit(X, y).transform(X[:3]).shape
    (3, 2)

    References
    ----------
    Li, Jiang & Zhang (2006), Efficient and robust feature extraction by maximum margin criterion; [S2] §3.2.
    """

    weight: NotNegative = 1.0

    _input: ClassVar[Input] = replace(CostProjection._input, blocks=over_given_graph, instead=ways_to_stay)
    _sums_suffice: ClassVar[Sufficient | None] = {"kernel": None, "reduce": None, "gamma": 0}
    _of_means: ClassVar[bool] = True

    partial_fit = labelled_partial_fit

    def _labelled(self, points: Matrix, y: Classes) -> tuple[Form, None]:
        return self.weight * within(y) - between(y), None


@method("semi-supervised", "MMC − γ L of all points", "projection", "n² D, or " + NEIGHBOURS_AND_FEATURES, "S2 eq. 12")
@known_as("Semi-supervised maximum margin criterion", "semi-supervised MMC", {"kernel='rbf'": "kernel SS-MMC"})
class SSMMC(SemiSupervised, MMC):
    """Semi-supervised maximum margin criterion: `MMC` with γ = 0.1 [S2, eq. 12].

    .. math:: \\min_V \\operatorname{Tr}(V^T (w S_W - S_B + \\gamma X^T L^u X) V) \\quad \\text{s.t. } V^T V = I

    With ``gamma_scale="raw"`` γ is twice the γ of [S2, eq. 12]: there
    :math:`f^u` adds up all ordered pairs, :math:`2 \\operatorname{Tr}(V^T X^T L^u X V)`, and the scatters stand once (of them §3.2 says
    :math:`\\sum c^w \\lVert \\cdot \\rVert^2 = \\operatorname{tr} S_W`, but it is twice that).

    Cost: as `MMC`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_wine
    >>> from eigenspan import SSMMC
    >>> X, y = load_wine(return_X_y=True)
    >>> SSMMC(2).fit(X, np.where(np.arange(len(y)) % 3 == 0, y, -1)).transform(X[:3]).shape
    (3, 2)
    """


@method("semi-supervised", "min γ L of all points − S_B", "S_W", "n² D, or " + NEIGHBOURS_AND_FEATURES, "S2 §3.2")
@known_as(
    "Semi-supervised Fisher discriminant analysis",
    "semi-supervised FDA; semi-supervised LDA; semi-supervised Fisher discriminant",
    {"criterion='trace-ratio'": "trace ratio SS-FDA", "kernel='rbf'": "kernel SS-FDA"},
)
class SSFDA(TraceCriterion, SemiSupervised):
    """Semi-supervised Fisher discriminant analysis.

    .. math:: \\min_V \\operatorname{Tr}(V^T (\\gamma X^T L^u X - S_B) V) \\quad \\text{s.t. } V^T S_W V = I

    Fisher's criterion on the labelled points, with the neighbours of all points kept close [S2, §3.2]. Classes must be one cluster
    each: `SSLFDA` is the one for several. As for `SSMMC`, with ``gamma_scale="raw"`` γ is twice the γ of [S2, §3.2], whose
    :math:`f^u` adds up all ordered pairs while the scatters stand once.

    Cost: O(nD² + D³) time; ``graph="all"`` adds O(n²D) in blocks.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_wine
    >>> from eigenspan import SSFDA
    >>> X, y = load_wine(return_X_y=True)
    >>> SSFDA(2).fit(X, np.where(np.arange(len(y)) % 3 == 0, y, -1)).transform(X[:3]).shape
    (3, 2)

    References
    ----------
    Song, Nie, Zhang & Xiang (2008), A unified framework for semi-supervised dimensionality reduction; [S2] §3.2.
    """

    _input: ClassVar[Input] = MMC._input
    _sums_suffice: ClassVar[Sufficient | None] = MMC._sums_suffice

    partial_fit = labelled_partial_fit
    _of_means: ClassVar[bool] = True

    def _labelled(self, points: Matrix, y: Classes) -> tuple[Form, Form]:
        return -between(y), within(y)


@method(
    "semi-supervised",
    "max (1−β) local S_B + β variance",
    "(1−β) local S_W + β I",
    NEIGHBOURS_AND_FEATURES,
    "S2 eq. 11",
    "self",
)
@known_as(
    "Semi-supervised local Fisher discriminant analysis (SELF)",
    "between LFDA and PCA",
    {"criterion='trace-ratio'": "trace ratio SELF", "kernel='rbf'": "kernel SELF"},
)
class SELFDA(TraceCriterion, FeatureReducer):
    """SELF, the semi-supervised local Fisher discriminant analysis of Sugiyama et al.: between `LFDA` and `PCA`.

    .. math:: \\max_V \\operatorname{Tr}(V^T ((1 - \\beta) S^{lb} + \\beta S^t) V)
        \\quad \\text{s.t. } V^T ((1 - \\beta) S^{lw} + \\beta I) V = I

    The labelled points speak through LFDA's local scatters, all points through their variance; β = 0 is LFDA and β = 1 PCA. Use it
    where directions of large variance matter; where the unlabelled points lie on curved sheets or in clusters, `SSLFDA`
    follows them better [S2, §3.1].

    Cost: as `LFDA`.

    Parameters
    ----------
    beta
        Share of the unlabelled points in the criterion.
    affinity
        Which labelled points of a class count as near: see `LFDA`.
    n_neighbors
        Number of nearest points of the same class (all of a smaller class), and the neighbour that sets the local scale of
        affinities. None means 3, or 7 for the local scales of all pairs in a class.
    ridge
        Added to β, which already keeps the axes short. None adds nothing; with ``beta=0`` it means 0 for features and a
        small value for kernels.

    Attributes
    ----------
    classes_ : ndarray
        The class labels.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_wine
    >>> from eigenspan import SELF
    >>> X, y = load_wine(return_X_y=True)
    >>> SELF(2).fit(X, np.where(np.arange(len(y)) % 3 == 0, y, -1)).transform(X[:3]).shape
    (3, 2)

    References
    ----------
    Sugiyama, Idé, Nakajima & Sese (2010), Semi-supervised local Fisher discriminant analysis for dimensionality reduction;
    [S2] eq. 11 with γ = 2β/(1 − β) and the unit S^{lw} + (γ/2) I: its sum over ordered pairs counts every pair twice.
    """

    beta: Share = 0.5
    affinity: ClassWeights = "local"
    n_neighbors: Count | None = None
    axes: AxisRule = "unit"
    unlabeled: Marker = -1
    n_jobs: int | None = None
    verbose: Verbose = 0

    classes_: NDArray[Any] = attribute()

    _input: ClassVar[Input] = replace(FeatureReducer._input, y=ClassLabels())

    def _pose(self, sample: Sample) -> Posed:
        codes = sample.y.codes
        basis = features_of(self, sample)
        points = checked_points(self, basis, sample, self.n_neighbors)
        bet, wit = local_fisher(nearness(self.affinity, points, codes, self.n_neighbors, self.n_jobs), codes)
        return pose(
            basis,
            maximise=self.beta * centring(sample.n) - (1 - self.beta) * laplacian(bet),
            unit=(1 - self.beta) * laplacian(wit),
            ridge=self.beta + (self.ridge or 0.0) if self.beta else self.ridge,
            scale=AxisWeights(self.axes, signed=False),
        )


#: Its name in the papers. A class of that name would be the step "self" of a pipeline, which scikit-learn cannot hold.
SELF = SELFDA
