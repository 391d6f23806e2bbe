"""Linear and kernel discriminant analysis: the scatter of class means in units of the total scatter."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import log_softmax
from sklearn.covariance import ledoit_wolf_shrinkage
from sklearn.utils.validation import check_is_fitted

from ..._checks import real_numbers
from ..._compat import ClassifierMixin
from ..._diagnostics import note
from ..._parameters import ArrayLike, Marker, Share, attribute, parameter
from ..._types import Array, Index, Labels, Matrix, TableLike, is_sparse
from ...data import Classes, Input, KernelValues, Points, Sample, Sufficient, read_new
from ...data.rows.block_passes import refuse_non_finite
from ...data.rows.moments import Sums
from ...data.y import ClassLabels
from ...errors import DimensionError, InputError, LabelError, LabelWarning, warn
from ...graphs import class_indicator
from ...numerics.eigen import dense
from ...problem import (
    AxisWeights,
    Features,
    Fitted,
    Form,
    Map,
    Posed,
    Scatters,
    TraceProblem,
    Unit,
    share_of,
    solve,
    with_ridge,
)
from ...problem.class_rule import ClassRule, class_rule
from ..base.contract import AxisRule, FeatureReducer, ToldComponents, axes, by_landmarks, check_spread, features_of
from ..base.streaming import Streaming, has_classes, labelled_partial_fit, wide_enough
from ..base.table import known_as, method
from ..two_views.significance import wilks

#: Share of the total scatter at or below which the scatter within the classes is rounding error.
_NOTHING = 1e-13


def _probabilities(given: object) -> Array:
    """Return the priors as numbers. Raise LabelError if they cannot be priors of any classes."""
    priors = real_numbers(given, "priors", LabelError)
    if not np.all(priors >= 0) or not np.isfinite(priors).all() or not priors.any():
        raise LabelError(
            f"The priors must be non-negative numbers, not all zero; got {priors}: they are probabilities of classes."
        )
    return np.asarray(priors)


def may_be_priors(given: object, classes: int) -> bool:
    """Return True for None, and for priors of at least this number of classes."""
    try:
        return given is None or _probabilities(given).size >= classes
    except LabelError:
        return False


def _checked_priors(given: object, counts: Array, names: Labels | None) -> Array:
    if given is None:
        return counts / counts.sum()
    priors = _probabilities(given)
    if priors.shape != counts.shape:
        listed = "" if names is None else f" ({', '.join(map(str, names[:10]))})"
        raise LabelError(
            f"priors has shape {priors.shape}, but there are {counts.size} classes{listed}: give one probability for each, in this order."
        )
    if abs(priors.sum() - 1.0) > 1e-5:
        warn(
            f"The priors sum to {priors.sum():.6g}, not to 1: they were divided by their sum. Give probabilities.",
            LabelWarning,
        )
    return priors / priors.sum()


def class_rule_of(estimator: LDA, posed: Posed, scatters: Scatters, names: Labels | None) -> ClassRule:
    """Return Bayes' rule over the coordinates of the basis."""
    unit: Any = posed.problem.B
    priors = _checked_priors(estimator.priors, scatters.counts, names)
    return class_rule(unit.to_dense(), scatters.means, scatters.counts, priors)


def rule_attributes(
    estimator: LDA, posed: Posed, fitted: Fitted, scatters: Scatters, rule: ClassRule
) -> dict[str, object]:
    """Return the attributes of an estimator with this rule, other than its axes."""
    basis: Any = posed.basis
    decision = replace(basis.map(rule.weights, None), shift=rule.intercepts)
    found: dict[str, object] = {"priors_": rule.priors, "decision_": decision, "collapsed_": rule.collapsed}
    if estimator.criterion == "ratio-trace":
        found["explained_variance_ratio_"] = rule.shares[: fitted.attributes["eigenvalues_"].size]
    if estimator.criterion == "trace-ratio":
        ratio = fitted.attributes["trace_ratio_"]
        found["between_to_within_"] = ratio / (1.0 - ratio) if 1.0 - ratio > _NOTHING else np.inf
    if estimator.kernel is not None:
        return found
    coef = decision.coef.T
    intercept = rule.intercepts - coef @ decision.offset
    if intercept.size == 2:  # one function separates two classes
        coef, intercept = coef[1:] - coef[:1], intercept[1:] - intercept[:1]
    found |= {"coef_": coef, "intercept_": intercept}
    if estimator.store_covariance:
        unit: Any = posed.problem.B
        C = (unit.to_dense() - posed.problem.A.to_dense()) / scatters.counts.sum()
        found["covariance_"] = basis.lifted(basis.lifted(C).T)
    return found


def mean_attributes(means: Array, fitted: Fitted) -> dict[str, Array]:
    """Return the means of the classes, and of all rows, in the input space."""
    return {"means_": means, "xbar_": fitted.attributes["priors_"] @ means}


class ScoredClassifier(ClassifierMixin):
    """Classifier by scores: ``_scores(X)`` of shape (n_points, n_classes)."""

    classes_: Labels

    def _scores(self, X: TableLike) -> Array:
        raise NotImplementedError

    def decision_function(self, X: TableLike) -> Array:
        """Return the score of every class; for two classes, the score of the second less that of the first.

        The scores of Bayes' rule are log posteriors up to a constant that all classes share.

        Parameters
        ----------
        X : array-like of shape (n_points, n_features)

        Returns
        -------
        ndarray of shape (n_points, n_classes), or (n_points,) for two classes
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict(self, X: TableLike) -> Labels:
        """Return the class with the largest score for each point.

        Parameters
        ----------
        X : array-like of shape (n_points, n_features)

        Returns
        -------
        ndarray of shape (n_points,)
        """
        best = self._scores(X).argmax(axis=1)  # first, because it raises NotFittedError
        return np.asarray(self.classes_[best])


#: Significance level of the directions that "auto" keeps.
_LEVEL = 0.05


def _may_follow(estimator: LDA, sums: Sums) -> bool:
    """Return True if priors and directions may suit the classes of more rows."""
    if not may_be_priors(estimator.priors, sums.labelled.counts.size):
        return False
    if estimator.criterion == "one-against-rest":
        d: Any = estimator.n_components
        return d is None or d >= sums.labelled.counts.size
    return wide_enough(estimator, sums)


def _has_classes_of_priors(estimator: LDA, total: Sums, y: object) -> bool:
    """Return True if every class, of `priors` too, has a row."""
    least = 1 if estimator.priors is None else np.size(estimator.priors)
    return has_classes(estimator, total, y) and total.labelled.counts.size >= least


@method("discriminant", "max S_B", "total scatter", "n D min(n, D)", "S0 eqs. 38–45", "fda", "kfda")
@known_as(
    "Linear discriminant analysis",
    "Fisher discriminant analysis; Fisher's linear discriminant; Fisher's discriminant; FDA; Fisherfaces; "
    "discriminant analysis; multiple discriminant analysis; MDA; between-class scatter; within-class scatter; "
    "canonical variates",
    {
        "kernel='rbf'": "kernel LDA; kernel FDA; kernel discriminant analysis; kernel Fisher discriminant analysis; "
        "generalised discriminant analysis; KDA",
        "criterion='trace-ratio'": "trace ratio; trace ratio LDA; trace ratio optimisation; trace quotient; Foley–Sammon transform; "
        "LDA with orthogonal axes",
        "shrinkage='auto'": "regularised LDA; regularised discriminant analysis; shrinkage LDA",
    },
)
class LDA(ScoredClassifier, FeatureReducer):
    """Linear discriminant analysis, and through ``kernel=`` kernel Fisher discriminant analysis.

    .. math:: \\max_V \\operatorname{Tr}(V^T S_B V) \\quad \\text{s.t. } V^T S_T V = I

    [S0, eqs. 38–45]; with ``criterion="trace-ratio"`` instead :math:`\\max \\operatorname{Tr}(V^T S_B V)/\\operatorname{Tr}(V^T S_T V)`
    over orthonormal V. The constraint is the total scatter, not the within-class scatter: the directions are the same, and data with
    more features than samples need no special care. Use it to separate known classes.

    It is a classifier too: ``predict`` and its relatives are Bayes' rule for Gaussian classes that share the within-class covariance
    (shrunk and with the ridge, where asked for), in the feature space of the kernel if there is one. All discriminant directions
    count there, whatever `n_components` is. Without shrinkage and kernel these are the values of scikit-learn's
    ``LinearDiscriminantAnalysis``.

    Cost: O(nD min(n, D) + min(n, D)³) time; for D ≥ n by the n×n products of the rows, and sparse X stays sparse. For D < n
    without `kernel`, `reduce` or ``shrinkage="auto"`` it is one pass over X and O(D²) memory beyond the data: X may then be a
    `numpy.memmap`, of which the fit holds no ``embedding_`` (``transform`` reads it in blocks), and `partial_fit` takes the rows in
    parts.

    Parameters
    ----------
    n_components
        Number of directions. None means c − 1, which is also the maximum of the ratio trace for c classes, or fewer if the
        features have lower rank. "auto" keeps the directions that are significant at the 5 % level, at least one, by Wilks'
        lambda of each and those after it (Rao's F, exact for normal classes of equal covariance). It needs the classical
        criterion without kernel, ridge or shrinkage, and more rows than features and classes.
    criterion
        The classical criterion; the orthogonal one, which may have more than c − 1 directions (its value is
        ``trace_ratio_``, in units of S_T, and ``between_to_within_``, in units of S_W); or, for every class, the direction
        that separates it best from all others [S3, §3.7], positive on its side: c axes, each to be read by itself, in the
        span of the classical ones.
    shrinkage
        Shrink the within-class covariance towards a multiple of the identity by this share; ``"auto"`` is the amount of
        Ledoit and Wolf. None means no shrinkage.
    priors : array-like of shape (n_classes,) or None
        Class probabilities, in the order of ``classes_``, for ``predict`` and related methods. None means the class
        frequencies of the labelled rows. The directions do not depend on them.
    store_covariance
        Keep the D×D covariance of the classes as ``covariance_`` (not with a kernel).

    Attributes
    ----------
    classes_ : ndarray
        The class labels.
    priors_ : ndarray of shape (n_classes,)
        Class probabilities.
    means_ : ndarray of shape (n_classes, n_features)
        Class means. Absent with a kernel, as are the next three.
    xbar_ : ndarray of shape (n_features,)
        Mean of the class means, weighted by the priors.
    coef_ : ndarray of shape (n_classes, n_features), or (1, n_features) for two classes
        Weights of ``decision_function``.
    intercept_ : ndarray of shape (n_classes,), or (1,) for two classes
        Constants of ``decision_function``.
    covariance_ : ndarray of shape (n_features, n_features)
        Covariance of every class as ``predict`` uses it: with shrinkage and ridge, within the span of the data. Present
        with `store_covariance`.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Share of each axis in the scatter between the classes, in units of the scatter within them. Present with
        ``"ratio-trace"``.
    trace_ratio_ : float
        The maximum of Tr(VᵀS_BV)/Tr(VᵀS_TV), between 0 and 1. S_T = S_B + S_W is the total scatter, S_W with shrinkage and
        ridge if asked for. Present with ``"trace-ratio"``.
    between_to_within_ : float
        Tr(VᵀS_BV)/Tr(VᵀS_WV) of the same axes and the same S_W. It is ρ/(1 − ρ) for ρ = ``trace_ratio_``, so the same axes
        maximise both. Present with ``"trace-ratio"``.
    n_components_ : int
        Number of directions.
    decision_ : Map
        The function behind ``predict``: log posteriors up to a constant that all classes share.
    collapsed_ : int
        Number of directions along which the training classes have no extent.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from eigenspan import LDA
    >>> X, y = load_wine(return_X_y=True)
    >>> lda = LDA().fit(X, y)
    >>> lda.transform(X[:3]).shape
    (3, 2)
    >>> float(lda.score(X, y)), lda.predict_proba(X).shape
    (1.0, (178, 3))
    >>> LDA(2, kernel="rbf").fit(X, y).embedding_.shape
    (178, 2)

    References
    ----------
    [S0] §5.2, §7.2; [S3] §3.7; Wang et al. (2007) for the trace ratio; Ledoit & Wolf (2004).
    """

    n_components: ToldComponents | None = parameter(default=None, kw_only=False)
    criterion: Literal["ratio-trace", "trace-ratio", "one-against-rest"] = "ratio-trace"
    shrinkage: Share | Literal["auto"] | None = None
    priors: ArrayLike | None = None
    store_covariance: bool = False
    axes: AxisRule = "unit"
    unlabeled: Marker = None

    classes_: NDArray[Any] = attribute()
    priors_: Array = attribute()
    means_: Array = attribute()
    xbar_: Array = attribute()
    coef_: Array = attribute()
    intercept_: Array = attribute()
    covariance_: Array = attribute()
    explained_variance_ratio_: Array = attribute()
    trace_ratio_: float = attribute()
    between_to_within_: float = attribute()
    n_components_: int = attribute()
    decision_: Map = attribute()
    collapsed_: int = attribute()

    _input: ClassVar[Input] = replace(FeatureReducer._input, y=ClassLabels(), blocks=by_landmarks)
    _sums_suffice: ClassVar[Sufficient | None] = {
        "shrinkage": lambda share: share != "auto",
        "kernel": None,
        "reduce": None,
    }

    _streaming: ClassVar[Streaming] = Streaming(may_follow=_may_follow, enough=_has_classes_of_priors)

    partial_fit = labelled_partial_fit

    @property
    def _on_inputs(self) -> bool:
        """Whether the covariance is shrunk over the features of X, including constant ones."""
        return self.kernel is None and self.reduce is None

    def _fit(self, sample: Sample[Points | KernelValues, Classes]) -> Fitted:
        if self.n_components == "auto":
            self._refuse_untested()
        if self.criterion == "one-against-rest" and self.axes != "unit":
            raise InputError(
                f'axes={self.axes!r} weights the axes of one problem, and criterion="one-against-rest" has several: leave axes= out.'
            )
        basis = features_of(self, sample)
        _check_axes(self.n_components, self.criterion, sample.y.count)
        check_spread(self, basis, sample)
        scatters = Scatters.of(basis, sample.y)
        s = _amount(self, basis, sample)
        posed = self._pose_shrunk(scatters, s)
        if self.n_components == "auto":
            posed = replace(posed, axes=_significant(posed, scatters.counts))
        fitted = axes(self).fit(posed)
        fitted = fitted.having(n_components_=int(fitted.map.width))
        rule = class_rule_of(self, posed, scatters, sample.y.names)
        fitted = fitted.having(**rule_attributes(self, posed, fitted, scatters, rule))
        if self.kernel is not None:
            return fitted
        sums = scatters.sums
        means = _class_means(sample.x.values, sample.y.codes) if sums is None else sums.labelled.means
        return fitted.having(**mean_attributes(means, fitted))

    def _pose_shrunk(self, scatters: Scatters, s: float) -> Posed:
        A, W, basis = scatters.between, scatters.within, scatters.basis
        features = basis.offset.size if self._on_inputs else basis.dim
        level = _above_rounding(float(W.diagonal().sum()), float(A.diagonal().sum())) / features
        given = None if not s and self.ridge is None else max(s * level, 0.0) + (self.ridge or 0.0)
        unit = with_ridge(A + (1 - s) * W, given, basis.relative_ridge)
        free = self.n_components in (None, "auto") or self.criterion == "one-against-rest"
        most = min(scatters.counts.size - 1, max(_dimensions(scatters, unit), 1)) if free else None
        # the share of one row in the mean of its class: less is rounding error
        size = share_of(A + W, unit) / scatters.counts.max()
        scale = AxisWeights(self.axes, signed=False)
        posed = Posed(TraceProblem(A, unit, "max"), basis, scale, axes=most, size=size)
        if self.criterion != "one-against-rest":
            return posed.as_ratio() if self.criterion == "trace-ratio" else posed
        means = scatters.means - scatters.counts @ scatters.means / scatters.counts.sum()
        return replace(posed, scale=Unit(), turn=partial(_against_the_rest, means))

    def _refuse_untested(self) -> None:
        given = {
            f"criterion={self.criterion!r}": self.criterion != "ratio-trace",
            "kernel=": self.kernel is not None,
            "ridge=": bool(self.ridge),
            "shrinkage=": self.shrinkage not in (None, 0),
        }
        if reason := next((name for name, there in given.items() if there), None):
            raise InputError(
                f'n_components="auto" keeps the directions that are significant by Wilks\' lambda, whose distribution is not known with '
                f"{reason}: leave that out, or give a number of directions."
            )

    # ------------------------------------------------------------------ classifier
    def _scores(self, X: TableLike) -> Array:
        check_is_fitted(self)
        values, rows = read_new(self, X)
        if not sp.issparse(values):
            refuse_non_finite(values)
        return self.decision_(rows)

    def predict_log_proba(self, X: TableLike) -> Array:
        """Return the logarithms of ``predict_proba``."""
        scores = self._scores(X)
        if self.collapsed_:
            warn(
                f"Along {self.collapsed_} of the discriminant directions the training classes have no extent (fewer samples than features, "
                "or an exact function of the features separates the classes): their probabilities are 0 or 1, which is not valid for "
                'new points. Use shrinkage="auto" or ridge=.',
                LabelWarning,
            )
        return np.asarray(log_softmax(scores, axis=1))

    def predict_proba(self, X: TableLike) -> Array:
        """Return the probability of every class.

        Parameters
        ----------
        X : array-like of shape (n_points, n_features)

        Returns
        -------
        ndarray of shape (n_points, n_classes)
        """
        return np.exp(self.predict_log_proba(X))


def _above_rounding(within: float, between: float) -> float:
    """Return the scatter within the classes; zero if it may be rounding error of the scatter between them."""
    return within if within > 1e-13 * between else 0.0


def _dimensions(scatters: Scatters, unit: Form) -> int:
    """Return the dimension of the labelled rows, whose scatter is the unit: it may be smaller than that of all rows."""
    everyone = float(scatters.everyone.diagonal().sum())
    if float((scatters.between + scatters.within).diagonal().sum()) >= (1 - 1e-10) * everyone:
        return unit.n
    return int(dense.scaled_whitener(unit.to_dense()).shape[1])


def _significant(posed: Posed, counts: Array) -> int:
    """Return the number of significant discriminant directions before the first insignificant one; at least one."""
    n, p, c = int(counts.sum()), posed.problem.A.n, counts.size
    if not p:
        return 1  # all rows coincide: the solver raises an error for any axis
    if n - 1 < p + c - 1:
        raise DimensionError(
            f'n_components="auto" tests directions, which needs more rows than features and classes together: there are {n} labelled rows '
            f"of {p} dimensions in {c} classes. Give a number, or keep fewer principal axes first (reduce=)."
        )
    squares = solve(posed.problem, min(c - 1, p)).values
    chances = wilks(np.sqrt(np.clip(squares, 0.0, 1.0)), n, p, c - 1)["p_F"]
    note(p_values=chances)
    passed = int(np.argmax(np.append(chances, 1.0) > _LEVEL))
    if not passed:
        warn(
            f"No discriminant direction is significant (p = {chances[0]:.2g} for all of them together, above {_LEVEL:g}): the direction "
            "that is kept may be unrelated to the classes.",
            LabelWarning,
        )
    return max(1, passed)


def _against_the_rest(means: Array, V: Array) -> Array:
    """Return Fisher's directions of each class against all others: ``S_T⁻¹g = VV'g``, g its centred mean, V of unit total scatter."""
    T = (means @ V).T
    return T / np.maximum(np.linalg.norm(T, axis=0), np.finfo(float).tiny)


def _check_axes(n_components: int | str | None, criterion: str, c: int) -> None:
    if n_components == "auto":
        return
    if criterion == "one-against-rest" and n_components not in (None, c):
        raise DimensionError(
            f'n_components={n_components}, but criterion="one-against-rest" has one direction for each of the {c} classes: leave '
            "n_components out."
        )
    if criterion == "ratio-trace" and isinstance(n_components, Integral) and n_components > c - 1:
        raise DimensionError(
            f"n_components={n_components}, but {c} classes have at most {c - 1} discriminant directions: the means "
            "of c classes span c - 1 dimensions. "
            f'Use n_components <= {c - 1}, or criterion="trace-ratio".'
        )


def _amount(estimator: LDA, basis: Features, sample: Sample) -> float:
    """Return the share of the identity in the shrunk covariance."""
    shrinkage: Any = estimator.shrinkage
    if shrinkage is None:
        return 0.0
    if shrinkage == "auto":
        if sp.issparse(basis.raw) and basis.raw.shape[0] * basis.dim > 2**27:
            raise InputError('shrinkage="auto" needs dense data: pass a number, or use reduce= first.')
        codes = sample.y.codes
        Z = _dense(basis.raw) if estimator._on_inputs else basis.Z
        Z, G = Z[codes >= 0], class_indicator(codes[codes >= 0])
        R = Z - G @ (G.T @ Z)
        R = R / max(float(np.abs(R).max(initial=0.0)), np.finfo(float).tiny)  # its fourth powers would overflow
        amount = float(ledoit_wolf_shrinkage(R, assume_centered=True))
    else:
        amount = float(shrinkage)
    note(shrinkage=amount)
    return amount


def _class_means(R: Matrix, codes: Index) -> Array:
    """Return the mean of every class."""
    counts = np.bincount(codes[codes >= 0]).astype(np.float64)
    sums = (class_indicator(codes) * np.sqrt(counts)).T @ R
    return np.asarray(sums.toarray() if sp.issparse(sums) else sums, dtype=np.float64) / counts[:, None]


def _dense(X: Matrix) -> Array:
    return X.toarray() if is_sparse(X) else np.asarray(X, dtype=np.float64)
