"""Discriminant methods as classifiers of Gaussian classes with one covariance, as in scikit-learn's discriminant analysis."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import scipy.sparse as sp
from scipy.special import log_softmax
from sklearn.utils.validation import check_is_fitted

from ..._checks import real_numbers
from ..._compat import ClassifierMixin
from ..._types import Array, Labels, TableLike
from ...data import read_new
from ...data.rows.block_passes import refuse_non_finite
from ...errors import LabelError, LabelWarning, warn
from ...problem import Fitted, Map, Posed, Scatters
from ...problem.class_rule import ClassRule, class_rule
from ..base.contract import Reducer

if TYPE_CHECKING:
    from .lda import LDA

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


class DiscriminantClassifier(ScoredClassifier):
    """Bayes' rule for Gaussian classes of equal covariance. It uses all discriminant directions, not `n_components` of them."""

    decision_: Map
    collapsed_: int

    def _scores(self, X: TableLike) -> Array:
        check_is_fitted(self)
        values, rows = read_new(cast(Reducer, self), X)
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
