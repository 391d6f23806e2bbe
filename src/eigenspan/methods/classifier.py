"""Discriminant methods as classifiers: Gaussian classes that share one covariance, as scikit-learn's discriminant analysis has them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from ..core import Map, Posed
from ..core.classes import ClassRule, class_rule
from ..errors import LabelError, LabelWarning, warn

Array = NDArray[np.float64]


class DiscriminantClassifier(ClassifierMixin):
    """Bayes' rule for Gaussian classes of equal covariance; all discriminant directions count, whatever `n_components`."""

    priors: Any
    kernel: Any
    criterion: str
    store_covariance: bool
    classes_: Any
    eigenvalues_: Array
    _decision: Map
    _collapsed: int

    def _checked_priors(self, counts: Array) -> Array:
        if self.priors is None:
            return counts / counts.sum()
        priors = np.asarray(self.priors, dtype=np.float64)
        if priors.shape != counts.shape:
            raise LabelError(
                f"priors has shape {priors.shape}, but there are {counts.size} classes ({', '.join(map(str, self.classes_[:10]))}): "
                "give one probability for each, in this order."
            )
        if not np.all(priors >= 0) or not np.isfinite(priors).all() or not priors.any():
            raise LabelError(
                f"The priors must be non-negative numbers, not all zero; got {priors}: they are probabilities of classes."
            )
        if abs(priors.sum() - 1.0) > 1e-5:
            warn(
                f"The priors sum to {priors.sum():.6g}, not to 1: they were divided by it. Give probabilities.",
                LabelWarning,
            )
        return priors / priors.sum()

    def _learn_classes(self, posed: Posed, counts: Array, means: Array) -> None:
        """Set the rule from the class means, as rows over the raw features of the basis, and the unit of the problem."""
        basis: Any = posed.basis
        self.priors_ = self._checked_priors(counts)
        inside = means - basis.offset
        unit: Any = posed.problem.B
        rule = class_rule(unit.to_dense(), inside if basis.lift is None else inside @ basis.lift, counts, self.priors_)
        self._collapsed = rule.collapsed
        self._decision = replace(basis.map(rule.weights, None), shift=rule.intercepts)
        if self.criterion == "ratio-trace":
            self.explained_variance_ratio_ = rule.shares[: self.eigenvalues_.size]
        if self.kernel is None:
            self.means_, self.xbar_ = means, self.priors_ @ means
            self._set_coefficients(rule)
            if self.store_covariance:
                C = (unit.to_dense() - posed.problem.A.to_dense()) / counts.sum()
                self.covariance_ = C if basis.lift is None else basis.lift @ C @ basis.lift.T

    def _set_coefficients(self, rule: ClassRule) -> None:
        coef = self._decision.coef.T
        intercept = rule.intercepts - coef @ self._decision.offset
        if intercept.size == 2:  # one function tells two classes apart
            coef, intercept = coef[1:] - coef[:1], intercept[1:] - intercept[:1]
        self.coef_, self.intercept_ = coef, intercept

    def _scores(self, X: Any) -> Array:
        check_is_fitted(self)
        estimator: Any = self
        return self._decision(estimator._rows(estimator._checked(X, reset=False)))

    def decision_function(self, X: Any) -> Array:
        """Log posterior of every class up to what all share; of two classes, how much the second exceeds the first.

        Parameters
        ----------
        X : array-like of shape (n_points, n_features)

        Returns
        -------
        ndarray of shape (n_points, n_classes), or (n_points,) for two classes
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each point.

        Parameters
        ----------
        X : array-like of shape (n_points, n_features)

        Returns
        -------
        ndarray of shape (n_points,)
        """
        best = self._scores(X).argmax(axis=1)
        return self.classes_[best]

    def predict_log_proba(self, X: Any) -> Array:
        """Logarithms of ``predict_proba``."""
        scores = self._scores(X)
        if self._collapsed:
            warn(
                f"Along {self._collapsed} of the discriminant directions the training classes have no extent (fewer samples than features, "
                "or classes that an exact function of the features tells apart): their probabilities are 0 or 1, which says nothing "
                'about new points. Use shrinkage="auto" or ridge=.',
                LabelWarning,
            )
        return np.asarray(log_softmax(scores, axis=1))

    def predict_proba(self, X: Any) -> Array:
        """Probability of every class.

        Parameters
        ----------
        X : array-like of shape (n_points, n_features)

        Returns
        -------
        ndarray of shape (n_points, n_classes)
        """
        return np.exp(self.predict_log_proba(X))
