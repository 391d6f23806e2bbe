"""Labels for the points that have none, and the discriminants these give: SDA by CCCP, and SODA by label propagation."""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from ..._compat import Interval
from ..._diagnostics import note, stage
from ..._parameters import Count, Marker, Share, attribute, parameter
from ..._types import Array, Index, Labels
from ...data import Classes, Input, KernelValues, Points, Sample
from ...data.y import ClassLabels
from ...errors import ConvergenceWarning, warn
from ...graphs import ProjectionWeights, class_indicator
from ...numerics.eigen import dense
from ...numerics.eigen.linear_systems import solve_by_products
from ...numerics.memory import require
from ...problem import AxisWeights, Features, Form, Posed, diagonal, pose, with_ridge
from ...problem.forms import between, centring, total
from ..base.contract import AxisRule, Components, FeatureReducer, bounded, features_of, points_of
from ..base.graph_projection import GraphProjection, graph_attribute, projection_weights
from ..base.table import NEIGHBOURS_AND_FEATURES, known_as, method

_Trust = Annotated[float, Interval(Real, 0, 1, closed="right")]


@method("semi-supervised", "max S_B of labels found by CCCP", "total scatter", "n D min(n, D)", "S0 §6.1")
@known_as(
    "Semi-supervised discriminant analysis via CCCP",
    "CCCP; concave-convex procedure; constrained concave-convex procedure; LDA with unknown labels; "
    "transductive discriminant analysis",
)
class SDACCCP(FeatureReducer):
    """Semi-supervised discriminant analysis that finds the missing labels by the concave–convex procedure.

    .. math:: \\max_{\\text{labels of unlabelled points}} \\operatorname{tr}\\bigl((S_T + \\varepsilon I)^{-1} S_B\\bigr)

    with the scatters of all points. The criterion is convex in the class indicators, so each step maximises its linearisation,
    which puts every unlabelled point to the nearest class mean where :math:`S_T + \\varepsilon I = I`; it never decreases, and labels
    stop changing. Points whose label is then sure, by the posterior of normal classes of one covariance, join those that were
    labelled, and the directions are those of LDA on them. Labels that are given stay.

    Cost: O(nD min(n, D) + D³) time, and O(ncD) a step; O(nD) memory.

    Parameters
    ----------
    n_components
        Number of directions. None means c − 1, the maximum for c classes.
    threshold
        Posterior above which an estimated label counts: 0 uses all of them; 1 uses none, which is LDA of the labelled
        points.
    max_iter
        Maximum number of steps.
    ridge
        ε of the criterion and of LDA's unit. None means 0 for features and 1e-3 of the mean eigenvalue for kernels. In the
        criterion None means the mean eigenvalue itself if there are more features than half the samples, because almost any
        labelling looks good there.

    Attributes
    ----------
    transduction_ : ndarray of shape (n_samples,)
        The labels, given or estimated.
    confidence_ : ndarray of shape (n_samples,)
        Posterior of the estimated label; 1 for given labels.
    criterion_ : ndarray of shape (n_steps,)
        The criterion at the beginning of each step.
    n_iter_ : int
        Number of steps, the last of which changes nothing.
    classes_ : ndarray
        The class labels.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_wine
    >>> from eigenspan import SDACCCP
    >>> X, y = load_wine(return_X_y=True)
    >>> some = np.where(np.arange(len(y)) % 10 == 0, y, -1)
    >>> fitted = SDACCCP().fit(X, some)
    >>> fitted.embedding_.shape, bool(np.mean(fitted.transduction_ == y) > 0.9)
    ((178, 2), True)

    References
    ----------
    Zhang & Yeung (2008), Semi-supervised discriminant analysis via CCCP; [S0] §6.1.
    """

    n_components: Components | None = parameter(default=None, kw_only=False)
    threshold: Share = 0.9
    max_iter: Count = 100
    unlabeled: Marker = -1
    axes: AxisRule = "unit"

    classes_: NDArray[Any] = attribute()
    transduction_: NDArray[Any] = attribute()
    confidence_: Array = attribute()
    criterion_: Array = attribute()
    n_iter_: int = attribute()

    _input: ClassVar[Input] = replace(FeatureReducer._input, y=ClassLabels())

    def _pose(self, sample: Sample) -> Posed:
        given, c = sample.y.codes, sample.y.count
        basis = features_of(self, sample)
        d = bounded(self.n_components, basis, c - 1, f"there are {c} classes")
        with stage("labels"):
            Z = self._whitened(basis)
            found, criterion = assign(Z, given, self.max_iter)
            confidence = np.where(given >= 0, 1.0, posterior(Z, found))
        sure = (given >= 0) | (confidence > self.threshold) | (self.threshold == 0)
        note(labels_added=int(sure.sum() - np.sum(given >= 0)))
        codes = np.where(sure, found, -1)
        learnt: dict[str, Any] = {"criterion_": np.array(criterion), "n_iter_": len(criterion)}
        learnt |= {"transduction_": sample.y.names[found], "confidence_": confidence}
        scale = AxisWeights(self.axes, signed=False)
        posed = pose(basis, maximise=between(codes), unit=total(codes), ridge=self.ridge, scale=scale)
        return replace(posed, axes=d).having(**learnt)

    def _whitened(self, basis: Features) -> Array:
        """Return coordinates of all points in which their total scatter, including the ridge, is I."""
        n = basis.raw.shape[0]
        require(
            16.0 * n * basis.dim,
            f"The {n}×{basis.dim} whitened features",
            "Pass reduce=r, or landmarks= with a kernel.",
        )
        basis = basis.centred(np.ones(n))
        relative = 1.0 if 2 * basis.dim > n else basis.relative_ridge
        S = with_ridge(basis.restrict(centring(n)), self.ridge, relative)
        return basis.embed(dense.whitener(S.to_dense())[0])


def assign(Z: Array, given: Index, max_iter: int) -> tuple[Index, list[float]]:
    """Return labels that no step of the concave–convex procedure improves, and the criterion before each step."""
    free = given < 0
    means, _ = _means(Z, given)
    codes = given.copy()
    codes[free] = np.argmin(_squares(Z[free], means), axis=1)
    criterion = []
    for _ in range(max_iter):
        means, counts = _means(Z, codes)
        criterion.append(float(counts @ np.sum(means**2, axis=1)))
        d = _squares(Z[free], means)
        best, own = np.argmin(d, axis=1), np.arange(d.shape[0])
        better = d[own, best] < d[own, codes[free]] - 1e-12 * np.abs(d).max(initial=0.0)
        if not better.any():
            return codes, criterion
        codes[free] = np.where(better, best, codes[free])
    warn(
        f"{int(better.sum())} of {int(free.sum())} labels still changed in step {max_iter}: increase max_iter, or accept the labels.",
        ConvergenceWarning,
    )
    return codes, criterion


def _means(Z: Array, codes: Index) -> tuple[Array, Index]:
    """Return class means (c, r) and class sizes, without unlabelled points."""
    G, counts = class_indicator(codes), np.bincount(codes[codes >= 0])
    return (G.T @ Z) / np.sqrt(counts)[:, None], counts


def _squares(Z: Array, means: Array) -> Array:
    """Return ``‖z − m‖² − ‖z‖²`` for every point and class: the gradient of the criterion up to a constant per point."""
    return np.sum(means**2, axis=1) - 2.0 * (Z @ means.T)


def posterior(Z: Array, codes: Index) -> Array:
    """Return the posterior probability of each point's class, for normal classes of one covariance and equal priors.

    In the whitened coordinates Z the scatter within classes is I − M'M, M the class means times √n_k: along the axes of M it is 1 − λ.
    """
    means, counts = _means(Z, codes)
    M = means * np.sqrt(counts)[:, None]
    values, Q = dense.eigenpairs(dense.symmetric(M @ M.T), None, "max")
    keep = values > 1e-10
    inside = np.maximum(1.0 - values[keep], 1e-12) / max(codes.size - counts.size, 1)
    axes = (M.T @ Q[:, keep]) / np.sqrt(values[keep] * inside)
    shares = softmax(-0.5 * _squares(Z @ axes, means @ axes), axis=1)
    return shares[np.arange(codes.size), codes]


@method("semi-supervised", "max soft S_B / soft S_T", "projection", NEIGHBOURS_AND_FEATURES, "S0 §6.1")
@known_as(
    "Semi-supervised orthogonal discriminant analysis",
    "label propagation; label propagation; soft labels; orthogonal discriminant analysis",
)
class SODA(GraphProjection):
    """Semi-supervised orthogonal discriminant analysis via label propagation.

    .. math:: \\max_V \\frac{\\operatorname{Tr}(V^T \\tilde S_B V)}{\\operatorname{Tr}(V^T (\\tilde S_T + \\varepsilon I) V)}
              \\quad \\text{s.t. } V^T V = I

    Labels are propagated over the graph, :math:`F = (I - I_\\alpha D^{-1} W)^{-1} (I - I_\\alpha) Y`. The last column of Y is for points
    of none of the classes, such as all unlabelled points initially: rows of F sum to one, and a point that no label reaches has no
    class. The scatters :math:`\\tilde S_B, \\tilde S_T` weight every point by its shares in F. The map is an orthogonal projection, and
    there may be more than c − 1 axes; with the scatter within classes as denominator they are the same.

    Cost: neighbours, a conjugate-gradient run for each class, then O(nD min(n, D) + D³) time; O(n(k + c + D)) memory.

    Parameters
    ----------
    n_components
        Number of axes. None means c − 1.
    trust
        1 − α of labelled points: the weight of their own label. With 1 they keep it. It has no effect on a graph within
        classes, which has no edges to unlabelled points.
    novelty
        1 − α of unlabelled points: the weight of having no label. With 1 only the labelled points count. It has no
        effect on a graph within classes, which has no edges to unlabelled points.
    graph
        ... ``"all"`` joins all pairs of points, O(n²D) in blocks, with ``weights="heat"`` or ``"local"``.
    axes
        Weights of the axes [S2, §2.3], which all have length one: unchanged, or times the root of the gain of each axis,
        :math:`v^T \\tilde S_B v / v^T (\\tilde S_T + \\varepsilon I) v`. The choice between "unit" and "norm", and between
        the other two, has no effect; with ``scale="unit-variance"`` none of them has.
    ridge
        ε added to the total scatter. None means its mean eigenvalue, reported in ``diagnostics_``: with 0, the published
        criterion, the best ratio combines a few good axes with axes along which nothing varies; `reduce` avoids that too.
    solver : {"auto", "dense"} or Dense
        Eigensolver. Each iteration for the trace ratio is a dense eigenproblem, so the choice has no effect; other solvers
        raise an error.

    Attributes
    ----------
    classes_ : ndarray
        The class labels.
    label_distributions_ : ndarray of shape (n_samples, c + 1)
        Shares of the classes and, in the last column, of none of them.
    transduction_ : ndarray of shape (n_samples,)
        The class with the largest share. Points that no label reaches keep their value of y.
    trace_ratio_ : float
        The maximum of Tr(VᵀS̃_BV)/Tr(Vᵀ(S̃_T + εI)V).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from eigenspan import SODA
    >>> X, y = load_digits(return_X_y=True)
    >>> some = np.where(np.arange(len(y)) < 100, y, -1)
    >>> soda = SODA().fit(X, some)
    >>> soda.embedding_.shape, bool(np.mean(soda.transduction_ == y) > 0.9)
    ((1797, 9), True)

    References
    ----------
    Nie, Xiang, Jia & Zhang (2009), Semi-supervised orthogonal discriminant analysis via label propagation; [S0] §6.1.
    """

    n_components: Components | None = parameter(default=None, kw_only=False)
    trust: _Trust = 1.0
    novelty: _Trust = 0.01
    weights: ProjectionWeights = "heat"
    axes: AxisRule = "unit"
    unlabeled: Marker = -1

    label_distributions_: Array = attribute()
    transduction_: NDArray[Any] = attribute()
    trace_ratio_: float = attribute()

    _input: ClassVar[Input] = replace(FeatureReducer._input, y=ClassLabels())

    def _pose(self, sample: Sample[Points | KernelValues, Classes]) -> Posed:
        codes, c = sample.y.codes, sample.y.count
        basis = features_of(self, sample)
        d = bounded(self.n_components, basis, c - 1, None)
        weights = projection_weights(self, points_of(self, basis, sample), sample.y, self.weights)
        with stage("propagation"):
            F = propagate(weights.between_points(), codes, c, trust=self.trust, novelty=self.novelty)
        S_B, S_T = soft_scatters(F[:, :c])
        scale = AxisWeights(self.axes, signed=False)
        posed = pose(basis, maximise=S_B, unit=S_T, ridge=self.ridge, relative_ridge=1.0, scale=scale).as_ratio()
        return replace(posed, axes=d).having(
            label_distributions_=F, transduction_=_likeliest(F[:, :c], sample.y), **graph_attribute(weights.graph)
        )


def _likeliest(F: Array, y: Classes) -> Labels:
    """Return the most probable class of every point; points that no label reaches keep their value of y."""
    reached = F.max(axis=1) > 0
    labels = y.names[np.argmax(F, axis=1)]
    return labels if reached.all() else np.where(reached, labels, y.given)


def propagate(W: Form, codes: Index, n_classes: int, *, trust: float, novelty: float) -> Array:
    """Return the shares (n, c + 1) of the classes, and of no class, in every point: ``F = I_α D⁻¹W F + (I − I_α) Y``.

    Points with α = 0 and points without edges are moved to the right-hand side; the others, times D/α, form a symmetric positive
    definite system with condition number at most ``2/(1 − α)``.
    """
    degrees = W.ones()
    Y = np.zeros((codes.size, n_classes))
    Y[codes >= 0, codes[codes >= 0]] = 1.0
    own = np.where(degrees > 0, np.where(codes >= 0, trust, novelty), 1.0)
    free, F = own < 1, Y.copy()
    if free.any():
        held = own[free]
        d = degrees[free] / (1.0 - held)
        right = (d * held)[:, None] * Y[free] + (W @ np.where(free[:, None], 0.0, Y))[free]

        def apply(Z: Array) -> Array:
            whole = np.zeros((codes.size, Z.shape[1]))
            whole[free] = Z
            return d[:, None] * Z - (W @ whole)[free]

        F[free] = solve_by_products(apply, d, right)
    F = np.clip(F, 0.0, 1.0)
    return np.column_stack([F, np.maximum(1.0 - F.sum(axis=1), 0.0)])


def soft_scatters(F: Array) -> tuple[Form, Form]:
    """Return the scatter between classes and the total scatter of points with share F_ik in class k. Both are PSD and map 1 to 0."""
    n, weight = F.shape[0], F.sum(axis=1)
    mean = Form(n, low_rank=(weight[:, None], np.array([1.0 / weight.sum()])), psd=True)
    classes = Form(n, low_rank=(F / np.sqrt(F.sum(axis=0)), np.ones(F.shape[1])), psd=True)
    return tuple(replace(M - mean, psd=True, kills_constant=True) for M in (classes, diagonal(weight)))  # type: ignore[return-value]
