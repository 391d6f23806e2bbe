"""Costs on pairs, labelled and unlabelled: ``min Σ c_ij ‖y_i − y_j‖²`` with ``C = C_ℓ + γ C_u`` [S2].

A method defines `_labelled`: a form and a unit from its labels. `CostProjection` adds γ times the cost of the neighbours of all points,
so every supervised method here is semi-supervised too. The classes whose names begin with SS only set γ, and −1 as the label of
unlabelled points.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from ..._diagnostics import note
from ..._parameters import Count, Marker, NotNegative, Positive, Verbose, attribute
from ..._types import Index, Labels, Matrix
from ...data import Classes, Input, KernelValues, Points, Sample
from ...data.y import ClassLabels
from ...errors import DimensionError, GraphError, LabelError, LabelWarning, RidgeWarning, warn
from ...graphs import LocalScaling, NeighbourGraph, Powered, Weights, affinity, allies, as_graph, check_n_neighbors
from ...graphs.class_graphs import warn_of_single_labels
from ...graphs.neighbours.graph import GivenGraph, given_graph, is_given
from ...graphs.weights.rules import (
    Bindable,
    ClassWeights,
    pair_rule_names,
    refuse_affinities,
    refuse_found_edges,
)
from ...numerics.eigen import dense
from ...problem import (
    AxisWeights,
    Features,
    Form,
    Posed,
    TraceProblem,
    diagonal,
    share_of,
    with_ridge,
)
from ...problem.forms import centring, laplacian, local_fisher, pair_affinity
from ..base.contract import (
    AxisRule,
    FeatureReducer,
    TraceCriterion,
    check_neighbours,
    check_spread,
    features_of,
    is_single,
    points_of,
)
from ..base.graph_embedding import check_given
from ..base.table import NEIGHBOURS_AND_FEATURES, known_as, method

Array = NDArray[np.float64]

#: Neighbours in a class, unless given, as in [S2, §4.1].
NEAR = 3
#: Hadamard power of locally scaled affinities, unless given.
SHARP = 4.0
#: The ridge of a singular unit, relative to the mean of its eigenvalues that are not zero.
SINGULAR = 0.01
#: Eigenvalues at or below this share of the largest count as zero.
RANK = 1e-10
#: Share of the unit below which a form is rounding error, as the scatter between classes is if their means are equal.
_LEAST = 1e-6


class CostProjection(FeatureReducer):
    """The framework: ``min Tr(V'Z'(A_ℓ + γ s L_u)ZV)  s.t.  V'BV = I``. A subclass defines A_ℓ and B.

    Parameters
    ----------
    gamma
        γ, the weight of the neighbours of all points, labelled or not. 0 leaves them out, and `alpha`, `gamma_scale` and
        `graph` then have no effect.
    alpha
        Hadamard power of the affinities of these neighbours [S2, eq. 9]: larger values give near pairs more weight and
        distant ones less. None means 4 for local scaling, the default, and 1 for all other weights. It has no effect with
        ``gamma=0``.
    gamma_scale
        The unit of γ. With ``"relative"``, γ is the total cost Tr U of the neighbours of all points, as a share of the most
        that the labels can gain: the sum of the negative eigenvalues of A (or of all, if none is negative). γs U is added
        to A, where :math:`s = \\sum_i \\max(-\\lambda_i(A), 0) / \\operatorname{Tr} U`, so neither units nor the numbers of
        points and labels change its effect. ``diagnostics_`` has s as ``"gamma_factor"`` and γs as ``"effective_gamma"``.
        ``"raw"`` adds γU, and γI to a singular B, as in [S2]: a sum over all pairs, which can outweigh a few labels. It has
        no effect with ``gamma=0``.
    n_neighbors
        Number of nearest points of the same class (all of a smaller class), and the neighbour that sets the local scale of
        affinities. None means 3, or 7 for the local scales of all pairs in a class.
    graph
        Pairs in the affinity of unlabelled points: ``"all"`` of them as in [S2, eq. 7], O(n²) in blocks, or the edges of a
        neighbour graph such as ``KNN(10)``, the better choice for many points. It has no effect with ``gamma=0``.
    ridge
        ε that keeps the axes short: B + εI. None means 0 for features, a small value for kernels, and 1 % of the mean
        non-zero eigenvalue of B if B is singular (with a warning if γ = 0). ``diagnostics_`` reports it.

    Attributes
    ----------
    classes_ : ndarray
        The class labels.
    """

    gamma: NotNegative = 0.0
    alpha: Positive | None = None
    gamma_scale: Literal["relative", "raw"] = "relative"
    n_neighbors: Count | None = None
    graph: Literal["all"] | GivenGraph = "all"
    axes: AxisRule = "unit"
    unlabeled: Marker = None
    n_jobs: int | None = None
    verbose: Verbose = 0

    classes_: NDArray[Any] = attribute()

    _input: ClassVar[Input] = replace(FeatureReducer._input, y=ClassLabels())
    #: Whether `_labelled` and `_unlabelled` return the parts, which fits that differ in γ, α and ridge only can then share.
    _shares_parts: ClassVar[bool] = True
    #: The cost of the labels is a scatter of class means, which needs labelled rows that differ.
    _of_means: ClassVar[bool] = False

    def _labelled(self, points: Matrix, y: Classes) -> tuple[Form, Form | None]:
        """Return the form to minimise and the unit, from the labels (None for orthonormal axes)."""
        raise NotImplementedError

    def _unlabelled(self, points: Matrix) -> Form:
        """Return ``L_u``, the Laplacian of the neighbours of all points, labelled or not [S2, §2.1.2]."""
        return laplacian(self._neighbour_costs("local", points))

    def _neighbour_costs(self, weights: str | Bindable, points: Matrix) -> Form:
        """Return ``C_u``, the weights of the neighbours of all points by a rule, raised to the Hadamard power α."""
        refuse_found_edges(self.graph, weights)
        local = isinstance(weights, str) and weights == "local"
        near = LocalScaling(NEAR if self.n_neighbors is None else self.n_neighbors) if local else weights
        rule = Powered(near, self.alpha or (SHARP if local else 1.0))
        if isinstance(self.graph, str) and self.graph == "all":
            return pair_affinity(points, rule, n_jobs=self.n_jobs)
        if is_given(self.graph):  # only the numbers on its edges are used
            graph = given_graph(self.graph, points.shape[0])
            refuse_affinities(self.graph, weights, points)
        else:
            graph = as_graph(self.graph, points, n_neighbors=None, n_jobs=self.n_jobs)
        return Form(graph.n, sparse=affinity(graph, rule, points).W)

    def _pose(self, sample: Sample[Points | KernelValues, Classes]) -> Posed:
        basis, y = features_of(self, sample).about(centring(sample.n)), sample.y
        warn_of_a_mark(self, y.names)
        points = checked_points(self, basis, sample, self.n_neighbors)
        refuse_class_graph(self)
        if self._of_means and not self.gamma:
            check_spread(self, basis, sample)
        if not self.gamma and sample.past is None:
            check_given(self.graph, points)
        form, unit = self._labelled(points, y)
        A, B = basis.restrict(form), unit_over(basis, unit, y)
        return self._combined(basis, A, basis.restrict(self._unlabelled(points)) if self.gamma else None, B)

    def _combined(self, basis: Features, A: Form, smooth: Form | None, B: Form | None) -> Posed:
        """Return the problem over the coordinates from its parts. The cost does not depend on the number of samples."""
        raw = self.gamma_scale == "raw"
        if smooth is not None:
            share = 1.0 if raw else unlabelled_unit(A, smooth)
            note(gamma_factor=share, effective_gamma=self.gamma * share)
            A = A + self.gamma * share * smooth
        unit = None if B is None else self._unit(basis, A, B)
        size = 0.0 if B is None or unit is None else _LEAST * share_of(B, unit)
        return Posed(TraceProblem(A, unit, "min"), basis, AxisWeights(self.axes), size=size)

    def _unit(self, basis: Features, A: Form, B: Form) -> Form:
        """Return B, with a ridge if one is given or needed."""
        if not (self.gamma or self.ridge or B.diagonal().any()):
            raise LabelError(
                f"{type(self).__name__} measures in units of the variation within classes, but no class has two labelled samples that "
                "differ: label more samples, use gamma > 0 with unlabelled ones, or give ridge=."
            )
        ridge = self.ridge
        if ridge is None and B.is_singular:
            if self.gamma_scale == "raw":
                ridge = self.gamma or None  # [S2, §2.3]
            else:
                ridge = singular_ridge(A, B, quiet=bool(self.gamma or basis.relative_ridge))
        return with_ridge(B, ridge, basis.relative_ridge)


class SemiSupervised(CostProjection):
    """A method that begins with γ = 0.1, reads −1 as a missing label, and chooses the weights of ``C_u``.

    Parameters
    ----------
    weights
        Affinities of the neighbours of all points, :math:`C^u` [S2, §2.1.2]: ``"local"`` is eq. 7, with σ from the
        `n_neighbors`-th neighbour, ``"heat"`` is eq. 6; other names and specifications need a neighbour graph as `graph`.
        ``"precomputed"`` takes the numbers on the edges of a given `graph` as affinities; every other value takes them as
        lengths. Its diagonal does not count. It has no effect with ``gamma=0``.
    """

    gamma: NotNegative = 0.1
    weights: Weights = "local"
    unlabeled: Marker = -1

    def _unlabelled(self, points: Matrix) -> Form:
        return laplacian(self._neighbour_costs(self.weights, points))


def refuse_class_graph(estimator: CostProjection) -> None:
    """Raise GraphError for a graph within classes, even with gamma = 0, which does not use the graph."""
    if getattr(estimator.graph, "within_class", False):
        raise GraphError(
            f"graph={estimator.graph!r} joins points of one class, but {type(estimator).__name__}(graph=) joins neighbours among all "
            "points, labelled or not. Leave within_class out."
        )


def singular_ridge(A: Form, B: Form, quiet: bool) -> float | None:
    """Return the ridge of a singular B: 1 % of the mean of its non-zero eigenvalues; None if A is zero on the null space of B.

    The mean over all eigenvalues would decrease with every feature in which only unlabelled points differ. If B is zero, the ridge
    is 1, for orthonormal axes.
    """
    values, Q = dense.eigenpairs(B.to_dense())
    blind = values <= RANK * values[-1]
    if blind.all():
        return 1.0
    size = max(A.norm(), np.finfo(float).tiny)  # scale before summing squares, which may overflow or underflow
    if np.linalg.norm((A @ Q[:, blind]) / size) <= 1e-7:
        return None
    epsilon = SINGULAR * float(values[~blind].mean())
    if not quiet:
        warn(
            f"No two near labelled samples of a class differ in {np.sum(blind)} of {B.n} directions: a ridge of {epsilon:.3g} "
            f"was added to the unit, {SINGULAR:.0%} of the mean difference in the others. With few labels the result depends on it: "
            "choose ridge= by RegularizedSearch, or reduce the features first.",
            RidgeWarning,
        )
    return epsilon


def unit_over(basis: Features, unit: Form | None, y: Classes) -> Form | None:
    """Return ``Z'BZ``, set to zero for features that do not vary within classes, so that rounding errors are not used as a unit."""
    if unit is None:
        return None
    B = basis.restrict(unit)
    if basis.sums is not None:
        found = basis.scatters
        return without_rounding(B, found.within.diagonal() + found.counts @ found.means**2)
    known = y.known
    if basis.is_held:
        return without_rounding(B, np.einsum("ij,ij->j", *[basis.Z[known]] * 2))
    # One more pass over the rows, for features that vary among unlabelled points only.
    return B if np.all(known) else without_rounding(B, basis.restrict(diagonal(known.astype(float))).diagonal())


def without_rounding(B: Form, size: Array) -> Form:
    """Return B, set to zero for features whose entries are rounding errors of sums of squares of this `size`."""
    dead = B.diagonal() <= 1e-12 * size
    return Form(B.n, dense=np.where(dead | dead[:, None], 0.0, B.to_dense()), psd=B.psd) if dead.any() else B


def mean_on_range(B: Form) -> float:
    """Return the mean of the non-zero eigenvalues of a PSD matrix; 0 if all are zero."""
    values = dense.eigenvalues(B.to_dense())
    return float(values[values > RANK * values[-1]].mean()) if values[-1] > 0 else 0.0


def unlabelled_unit(A: Form, smooth: Form) -> float:
    """Return s with ``s Tr U = Σ max(−λ_i(A), 0)``: at γ = 1 the cost of all neighbours equals the largest gain of the labels.

    If no eigenvalue of A is negative, the sum of their sizes ``Σ |λ_i(A)|`` replaces the gain.
    """
    values = dense.eigenvalues(A.to_dense())
    gain, cost = float(np.maximum(-values, 0.0).sum()), float(smooth.diagonal().sum())
    if gain <= 1e-12 * np.abs(values).sum():
        gain = float(np.abs(values).sum())
    return gain / cost if gain > 0 and cost > 0 else 1.0


def warn_of_a_mark(estimator: CostProjection, classes: Labels) -> None:
    """Warn if −1 is one of several classes of a supervised method that uses unlabelled points: it probably marks these."""
    supervised = type(estimator)._parameters["unlabeled"].default is None
    if estimator.gamma and supervised and estimator.unlabeled is None and classes.size > 2 and -1 in classes.tolist():
        name = type(estimator).__name__
        warn(
            f"The labels contain -1, which {name} takes for a class like the {classes.size - 1} others, while gamma={estimator.gamma:g} "
            f"uses unlabelled points. If -1 marks these, pass unlabeled=-1 or use SS{name}; if it is a class, rename it.",
            LabelWarning,
        )


def checked_points(estimator: FeatureReducer, basis: Features, sample: Sample, k: int | None) -> Matrix:
    """Return the points for the neighbour search. Raise if all rows coincide or there are too few."""
    if basis.dim == 0:
        raise DimensionError(f"All {sample.n} rows coincide: there are no dimensions to show.")
    if k is not None and sample.past is None:
        check_n_neighbors(k, sample.x.values)
    if estimator.kernel is not None:
        codes = None if sample.y is None else sample.y.codes
        check_neighbours(estimator, basis, k or NEAR, codes, single=is_single(sample))
    return points_of(estimator, basis, sample)


def ones_on(graph: NeighbourGraph) -> Form:
    """Return the form with weight one on every undirected edge."""
    S = graph.undirected()
    S.data = np.ones(S.nnz)
    return Form(graph.n, sparse=S)


@method(
    "discriminant", "min L of near pairs and −1/n across", "near pairs of a class", NEIGHBOURS_AND_FEATURES, "S2 §2.1.1"
)
@known_as(
    "Local Fisher discriminant analysis",
    "local Fisher's discriminant; local LDA; multimodal discriminant analysis",
    {
        "criterion='trace-ratio'": "trace ratio LFDA",
        "kernel='rbf'": "kernel LFDA; KLFDA; kernel local Fisher discriminant analysis",
    },
)
class LFDA(TraceCriterion, CostProjection):
    """Local Fisher discriminant analysis, supervised or semi-supervised.

    .. math:: \\min_V \\operatorname{Tr}(V^T X^T (D - C) X V) \\quad \\text{s.t. } V^T X^T (D^{wit} - C^{wit}) X V = I

    with :math:`C = C^{bet} + \\gamma C^u` [S2, eq. 2 and §2.1.1]: classes apart, but only *near* points of a class together, so
    that a class may be several clusters or a curved sheet, and there may be more than c − 1 axes. With γ = 0 the labelled
    points decide alone; `SSLFDA` is the same with γ = 0.1.

    Cost: neighbours class by class, then O(nkD + nD² + D³) time and O(nD + D²) memory, never n×n. ``affinity="local"`` and γ > 0
    with ``graph="all"`` are O(n²D) time in blocks.

    Parameters
    ----------
    affinity
        Which points of a class count as near: its k nearest, all with equal weight [S2]; or all pairs, with the weights of a
        rule. ``"local"`` is exp(−d²/(σ_i σ_j)), where σ is the distance to the k-th neighbour in the class [Sugiyama 2007].

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from eigenspan import LFDA
    >>> X, y = load_digits(return_X_y=True)
    >>> LFDA(10, reduce=40).fit(X, y).transform(X[:3]).shape
    (3, 10)

    References
    ----------
    Sugiyama (2007), Dimensionality reduction of multimodal labeled data by local Fisher discriminant analysis; [S2] §2.1.1.
    """

    affinity: ClassWeights = "neighbours"

    def _labelled(self, points: Matrix, y: Classes) -> tuple[Form, Form]:
        bet, wit = local_fisher(nearness(self.affinity, points, y.codes, self.n_neighbors, self.n_jobs), y.codes)
        return laplacian(bet), laplacian(wit)


def nearness(rule: ClassWeights, points: Matrix, codes: Index, k: int | None, n_jobs: int | None) -> Form:
    """Return the affinity of the points within each class by a rule, and by the k nearest points of each."""
    if isinstance(rule, str) and rule == "neighbours":
        return ones_on(allies(points, codes, k or NEAR, n_jobs))
    if isinstance(rule, str) and rule not in pair_rule_names():
        names = ", ".join(f'"{name}"' for name in ("neighbours", *pair_rule_names()))
        raise GraphError(f"affinity={rule!r} is unknown. Use one of {names}, or an object such as Heat(sigma=1.0).")
    warn_of_single_labels(codes)
    local = LocalScaling(k or 7) if isinstance(rule, str) and rule == "local" else rule
    return pair_affinity(points, local, codes=codes, n_jobs=n_jobs)
