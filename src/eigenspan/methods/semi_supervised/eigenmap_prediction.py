"""Prediction from few labels: least squares over the smoothest functions on the graph of all points."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..._compat import RegressorMixin
from ..._diagnostics import note, stage
from ..._parameters import Marker, NotNegative, attribute, parameter
from ..._types import Array, TableLike
from ...data import Input, Sample
from ...data.y import ClassLabels, Targets
from ...errors import DimensionError
from ...problem import Fitted
from ..base.contract import Components
from ..base.smooth_functions import distinct_rows, with_parameters_of
from ..base.table import SPARSE, besides, known_as
from ..discriminant.lda import ScoredClassifier
from ..laplacian.eigenmaps import LaplacianEigenmaps

#: Default number of functions per labelled point.
_SHARE = 0.2


def fit_prediction(estimator: Any, sample: Sample, targets: Array) -> tuple[Fitted, Array]:
    """Fit eigenmaps of all points, and ``f(x) = a'y(x) + b`` to the targets (n, q) of the labelled ones.

    Returns the fit and the values of f at all points.
    """
    known = sample.y.known
    d = _number(estimator, int(known.sum()), sample)
    fitted: Any = with_parameters_of(estimator, LaplacianEigenmaps, n_components=d)._fit(replace(sample, y=None))
    with stage("regression"):
        coef, intercept = least_squares(fitted.embedding[known], targets[known], estimator.ridge, fitted.embedding)
    note(labelled=int(known.sum()))
    values = fitted.embedding @ coef + intercept
    return fitted.having(coef_=coef, intercept_=intercept, n_components_=d), values


def _number(estimator: Any, labelled: int, sample: Sample) -> int:
    """Return the number of functions, besides the constant."""
    if estimator.n_components is None:
        return max(1, min(int(_SHARE * labelled), distinct_rows(sample, estimator) - 1))
    if estimator.ridge == 0 and estimator.n_components >= labelled:
        raise DimensionError(
            f"n_components={estimator.n_components} functions and the constant fit {labelled} labelled points in many ways. Use "
            f"n_components <= {labelled - 1}, or ridge > 0."
        )
    return int(estimator.n_components)


def predicted(estimator: Any, X: TableLike) -> Array:
    """Return the values (m, q) of the fitted function at new points."""
    check_is_fitted(estimator)
    return np.asarray(np.asarray(estimator._mapped(X), dtype=np.float64) @ estimator.coef_ + estimator.intercept_)


def least_squares(Y: Array, T: Array, ridge: float, everyone: Array) -> tuple[Array, Array]:
    """Return the coefficients (d, q) and the constant (q,) of least squares; `ridge` is that of functions of variance one."""
    spread = everyone.std(axis=0)
    unit = np.where(spread > 0, spread, 1.0)
    mean, level = Y.mean(axis=0), T.mean(axis=0)
    A, d = (Y - mean) / unit, Y.shape[1]
    below = np.sqrt(ridge * len(Y)) * np.eye(d)
    coef = np.linalg.lstsq(np.vstack([A, below]), np.vstack([T - level, np.zeros((d, T.shape[1]))]), rcond=None)[0]
    coef = coef / unit[:, None]
    return coef, level - mean @ coef


@besides("semi-supervised", "min squares over eigenmaps", "degree", "samples", "numbers", SPARSE, "S1 §1.5")
@known_as(
    "Semi-supervised regression on Laplacian eigenmaps",
    "eigenmap regression; regression on a manifold; semi-supervised regression; "
    "least squares on eigenvectors of the Laplacian",
)
class EigenmapRegressor(RegressorMixin, LaplacianEigenmaps):
    """Semi-supervised regression on Laplacian eigenmaps.

    .. math:: \\min_{a, b} \\; \\frac1l \\sum_{i \\text{ labelled}} \\bigl(a^T y(x_i) + b - t_i\\bigr)^2 + \\varepsilon \\lVert a \\rVert^2

    where y are the eigenmaps of all points, labelled or not: the functions that vary least along the graph, so that few labels tell which
    of them the target follows [S1, §1.5]. New points have the values of the extended functions at them. Use it where many rows but
    few targets are known, and rows that hang together have similar targets; where all are labelled, other regressions serve better.

    Cost: as `LaplacianEigenmaps`, then O(l d²).

    Parameters
    ----------
    n_components
        Number of functions besides the constant. None means one for every five labelled points.
    ridge
        ε, for functions of variance one.
    unit
        Eigenvectors of the walk, or of L. The latter have variance one, and ``scale="unit-variance"`` then has no effect.

    Attributes
    ----------
    n_components_ : int
        Number of functions.
    coef_, intercept_ : ndarray of shape (n_components, n_targets) and (n_targets,)
        a and b.
    transduction_ : ndarray of shape (n_samples,) or (n_samples, n_targets)
        Values at the training points, labelled or not.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_swiss_roll
    >>> from eigenspan import EigenmapRegressor
    >>> X, t = make_swiss_roll(1000, random_state=0)
    >>> some = np.where(np.arange(1000) % 25 == 0, t, np.nan)
    >>> fitted = EigenmapRegressor(n_neighbors=8).fit(X, some)
    >>> fitted.n_components_, bool(fitted.score(X, t) > 0.9)
    (8, True)

    References
    ----------
    Belkin & Niyogi (2004), Semi-supervised learning on Riemannian manifolds.
    """

    n_components: Components | None = parameter(default=None, kw_only=False)
    ridge: NotNegative = 0.0

    n_components_: int = attribute()
    coef_: Array = attribute()
    intercept_: Array = attribute()
    transduction_: NDArray[Any] = attribute()

    _input: ClassVar[Input] = replace(LaplacianEigenmaps._input, y=Targets())
    _masses: ClassVar[bool] = False  # the predictor is fitted to the rows

    def _fit(self, sample: Sample) -> Fitted:
        fitted, values = fit_prediction(self, sample, sample.y.values)
        return fitted.having(transduction_=values[:, 0] if np.asarray(sample.given).ndim == 1 else values)

    def predict(self, X: TableLike) -> Array:
        """The number at each point.

        Parameters
        ----------
        X : array-like of shape (n_points, n_features)

        Returns
        -------
        ndarray of shape (n_points,) or (n_points, n_targets)
        """
        values = predicted(self, X)
        return values[:, 0] if self.transduction_.ndim == 1 else values

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        # of few rows, all of them labelled, a fifth as many functions tell little
        tags.regressor_tags.poor_score = True
        return tags


@besides("semi-supervised", "min squares over eigenmaps", "degree", "samples", "some labels", SPARSE, "S1 §1.5")
@known_as(
    "Semi-supervised classification on Laplacian eigenmaps",
    "eigenmap classification; semi-supervised learning on Riemannian manifolds; manifold assumption; "
    "semi-supervised classification; semi-supervised learning on manifolds; labelled and unlabelled points",
)
class EigenmapClassifier(ScoredClassifier, LaplacianEigenmaps):
    """Semi-supervised classification on Laplacian eigenmaps.

    .. math:: \\min_{A, b} \\; \\frac1l \\sum_{i \\text{ labelled}} \\bigl\\lVert A^T y(x_i) + b - e_{c(i)} \\bigr\\rVert^2
              + \\varepsilon \\lVert A \\rVert^2

    with the indicator :math:`e_c` of each class, and the class of largest value: the regression of `EigenmapRegressor` on the smoothest
    functions of the graph of all points, labelled or not [S1, §1.5]. Use it where few rows of many are labelled and classes hang
    together.

    Cost: as `LaplacianEigenmaps`, then O(l d²).

    Parameters
    ----------
    n_components
        Number of functions besides the constant. None means one for every five labelled points.
    ridge
        ε, for functions of variance one.
    unit
        Eigenvectors of the walk, or of L. The latter have variance one, and ``scale="unit-variance"`` then has no effect.

    Attributes
    ----------
    n_components_ : int
        Number of functions.
    classes_ : ndarray
        The class labels.
    coef_, intercept_ : ndarray of shape (n_components, n_classes) and (n_classes,)
        A and b.
    transduction_ : ndarray of shape (n_samples,)
        Classes of the training points, labelled or not.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from eigenspan import EigenmapClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> some = np.where(np.arange(len(y)) < 100, y, -1)
    >>> fitted = EigenmapClassifier().fit(X, some)
    >>> fitted.n_components_, bool(fitted.score(X, y) > 0.9)
    (20, True)

    References
    ----------
    Belkin & Niyogi (2004), Semi-supervised learning on Riemannian manifolds.
    """

    n_components: Components | None = parameter(default=None, kw_only=False)
    ridge: NotNegative = 0.0
    unlabeled: Marker = -1

    classes_: NDArray[Any] = attribute()
    n_components_: int = attribute()
    coef_: Array = attribute()
    intercept_: Array = attribute()
    transduction_: NDArray[Any] = attribute()

    _input: ClassVar[Input] = replace(LaplacianEigenmaps._input, y=ClassLabels())
    _masses: ClassVar[bool] = False  # the predictor is fitted to the rows

    def _fit(self, sample: Sample) -> Fitted:
        y = sample.y
        indicators = (y.codes[:, None] == np.arange(y.count)).astype(np.float64)
        fitted, values = fit_prediction(self, sample, indicators)
        return fitted.having(transduction_=y.names[values.argmax(axis=1)])

    def _scores(self, X: TableLike) -> Array:
        return predicted(self, X)
