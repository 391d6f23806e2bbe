"""Folds that keep the unlabelled points, and a classifier that ignores them, for use with scikit-learn's tools."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from numbers import Integral
from typing import Annotated, Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._compat import ClassifierMixin, HasMethods, Interval, MetaEstimatorMixin, available_if, fit_context, rows_of
from .._documented import documented
from .._parameters import Declared, Marker, Seed, attribute, parameter
from .._types import Array, HasShape, Index, TableLike, VectorLike, is_sparse
from ..data.read import refuse_disguised
from ..data.y import read_classes
from ..errors import InputError, LabelError

Method = TypeVar("Method", bound=Callable[..., object])


@documented
class SemiSupervisedKFold(Declared):
    """Folds of the labelled points; all unlabelled points are in every training set and in no test set.

    Folds are stratified: the points of each class are assigned to the folds in turn, even if a class has fewer points than folds.

    Parameters
    ----------
    n_splits
        Number of folds.
    shuffle
        Assign labelled points to folds at random.
    random_state
        Seed of the assignment. It has no effect without `shuffle`.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenspan import SemiSupervisedKFold
    >>> y = np.array([0, 0, 1, 1, -1, -1, -1])
    >>> for train, test in SemiSupervisedKFold(2, shuffle=False).split(y, y):
    ...     print(train, test)
    [1 3 4 5 6] [0 2]
    [0 2 4 5 6] [1 3]
    """

    n_splits: Annotated[int, Interval(Integral, 2, None, closed="left")] = parameter(default=5, kw_only=False)
    shuffle: bool = True
    random_state: Seed = 0
    unlabeled: Marker = -1

    def get_n_splits(
        self, X: TableLike | None = None, y: VectorLike | None = None, groups: VectorLike | None = None
    ) -> int:
        """Return the number of folds; the arguments are not used."""
        return self.n_splits

    def split(
        self, X: TableLike | None, y: VectorLike, groups: VectorLike | None = None
    ) -> Iterator[tuple[Index, Index]]:
        """Yield the indices ``(train, test)`` of each fold; `groups` is not used."""
        rows = sized(y if X is None else X)
        codes = read_classes(y, rows.shape[0], unlabeled=self.unlabeled, name="SemiSupervisedKFold").codes
        for test in self.folds(codes):
            yield np.setdiff1d(np.arange(codes.size), test), test

    def folds(self, codes: Index) -> list[Index]:
        """Return the labelled points of each fold, from class codes."""
        labelled = int(np.sum(codes >= 0))
        if not isinstance(self.n_splits, Integral) or not 2 <= self.n_splits <= labelled:
            raise LabelError(
                f"n_splits={self.n_splits!r} must be a whole number between 2 and the number of labelled points ({labelled})."
            )
        rng = check_random_state(self.random_state)
        classes = [np.flatnonzero(codes == c) for c in range(codes.max() + 1)]
        dealt = np.concatenate([rng.permutation(members) if self.shuffle else members for members in classes])
        return [np.sort(dealt[fold :: self.n_splits]) for fold in range(self.n_splits)]


def sized(X: TableLike) -> HasShape:
    """Return X as a table with a shape, whose rows can be indexed."""
    refuse_disguised(X, objects=True)
    try:
        table: Any = X.tocsr() if is_sparse(X) else X if hasattr(X, "shape") else np.asarray(X)
        table.shape[0]
    except (IndexError, ValueError):
        raise InputError(f"X must be a table of numbers with one row per point; got {X!r:.80}.") from None
    return table


def _refuse_none(X: TableLike | None) -> None:
    """Raise InputError unless X is a table. For None, a neighbours classifier would predict its own training rows."""
    if X is None:
        raise InputError("X is None. Pass a table of numbers with one row per point.")
    refuse_disguised(X)


def _has(name: str) -> Callable[[Method], Method]:
    """Return a decorator that hides a method if the classifier does not have it."""

    def check(self: LabelledOnly) -> bool:
        getattr(self.estimator if not hasattr(self, "estimator_") else self.estimator_, name)
        return True

    return available_if(check)


@documented
class LabelledOnly(MetaEstimatorMixin, ClassifierMixin, Declared):
    """A classifier that is fitted to the labelled rows only: the last step of a semi-supervised pipeline.

    The earlier steps are fitted to all rows. Without this wrapper the classifier would treat the unlabelled marker as a class.

    Parameters
    ----------
    estimator : classifier
        Unfitted.

    Attributes
    ----------
    estimator_ : classifier
        The classifier, fitted to the labelled rows.
    classes_ : ndarray
        The class labels.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from eigenspan import SSLFDA, LabelledOnly, SemiSupervisedKFold
    >>> X, y = load_wine(return_X_y=True)
    >>> some = np.where(np.arange(len(y)) % 4 == 0, y, -1)
    >>> steps = make_pipeline(StandardScaler(), SSLFDA(2), LabelledOnly(KNeighborsClassifier(1)))
    >>> search = GridSearchCV(steps, {"sslfda__gamma": [0.1, 1.0]}, cv=SemiSupervisedKFold(5)).fit(X, some)
    >>> bool(search.score(X[some == -1], y[some == -1]) > 0.9)
    True
    """

    estimator: Annotated[Any, HasMethods(["fit", "predict"])] = parameter(kw_only=False)
    unlabeled: Marker = -1

    estimator_: Any = attribute()
    classes_: NDArray[Any] = attribute()

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: TableLike, y: VectorLike) -> Self:
        """Fit the classifier to the rows that have a label."""
        table = sized(X)
        read = read_classes(y, table.shape[0], unlabeled=self.unlabeled, name="LabelledOnly", at_least=1)
        rows = np.flatnonzero(read.codes >= 0)
        fitted = clone(self.estimator).fit(rows_of(table, rows), read.names[read.codes[rows]])
        if not hasattr(fitted, "classes_"):
            raise InputError(f"{fitted!r:.80} has no classes_ after the fit, but LabelledOnly needs a classifier.")
        self.estimator_, self.classes_ = fitted, fitted.classes_
        return self

    def predict(self, X: TableLike) -> NDArray[np.generic]:
        """Return the classes of new points."""
        check_is_fitted(self)
        _refuse_none(X)
        return self.estimator_.predict(X)

    @_has("predict_proba")
    def predict_proba(self, X: TableLike) -> Array:
        """Return the class probabilities of new points."""
        check_is_fitted(self)
        _refuse_none(X)
        return self.estimator_.predict_proba(X)

    @_has("decision_function")
    def decision_function(self, X: TableLike) -> Array:
        """Return the class scores of new points."""
        check_is_fitted(self)
        _refuse_none(X)
        return self.estimator_.decision_function(X)
