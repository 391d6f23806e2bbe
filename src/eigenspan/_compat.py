"""Adapters for scikit-learn: its names that are not public API, and its base classes with type annotations.

No other module uses private names of scikit-learn. All of them have been stable since version 1.6. scikit-learn has no type annotations, so
a type checker would accept any attribute of a class that derives from its base classes. It reads the declarations below instead, which
list what this library uses.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing as rows_of
from sklearn.utils._param_validation import HasMethods as _HasMethods
from sklearn.utils._param_validation import Interval as _Interval
from sklearn.utils._param_validation import Options, RealNotInt, StrOptions, make_constraint
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.fixes import parse_version
from sklearn.utils.validation import _check_feature_names, _check_n_features

from ._types import TableLike, VectorLike

Function = TypeVar("Function", bound=Callable[..., Any])

if TYPE_CHECKING:

    class BaseEstimator:
        """Parameters by name."""

        _parameter_constraints: ClassVar[dict[str, Any]]

        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **params: Any) -> Self: ...
        def _validate_params(self) -> None: ...
        def __sklearn_tags__(self) -> Tags: ...

    class TransformerMixin:
        """Output containers of ``transform``."""

        def set_output(self, *, transform: str | None = None) -> Self: ...

    class ClassNamePrefixFeaturesOutMixin:
        """Names of the output columns, such as "pca0"."""

        @property
        def _n_features_out(self) -> int: ...
        def get_feature_names_out(self, input_features: VectorLike | None = None) -> NDArray[np.object_]: ...

    class ClassifierMixin:
        """Accuracy of predictions."""

        def score(self, X: TableLike, y: VectorLike, sample_weight: VectorLike | None = None) -> float: ...

    class RegressorMixin:
        """Coefficient of determination of predictions."""

        def score(self, X: TableLike, y: TableLike, sample_weight: VectorLike | None = None) -> float: ...

    class ClusterMixin:
        """Cluster assignments."""

        def fit_predict(self, X: TableLike, y: object = None) -> NDArray[np.intp]: ...

    class MetaEstimatorMixin:
        """Base class of estimators that contain another estimator."""

    class TakesCallbacks:
        """Callbacks that report the progress of a fit."""

    class InputTags:
        """Properties of X."""

        sparse: bool
        allow_nan: bool
        pairwise: bool
        positive_only: bool

    class TargetTags:
        """Properties of y."""

        required: bool
        multi_output: bool
        single_output: bool

    class TransformerTags:
        """Properties of the output of ``transform``."""

        preserves_dtype: list[str]

    class ClassifierTags:
        """Properties of a classifier."""

        multi_class: bool

    class Tags:
        """Properties of an estimator that scikit-learn's functions use."""

        estimator_type: str | None
        input_tags: InputTags
        target_tags: TargetTags
        transformer_tags: TransformerTags
        classifier_tags: ClassifierTags

    def check_array(X: Any, **rule: Any) -> Any: ...
    def fit_context(*, prefer_skip_nested_validation: bool) -> Callable[[Function], Function]: ...
    def available_if(check: Callable[[Any], bool]) -> Callable[[Function], Function]: ...
else:
    from sklearn.base import (
        BaseEstimator,
        ClassifierMixin,
        ClassNamePrefixFeaturesOutMixin,
        ClusterMixin,
        MetaEstimatorMixin,
        RegressorMixin,
        TransformerMixin,
    )
    from sklearn.base import _fit_context as fit_context
    from sklearn.utils import Tags
    from sklearn.utils.metaestimators import available_if
    from sklearn.utils.validation import check_array

    try:
        from sklearn.callback import CallbackSupportMixin as TakesCallbacks
    except ImportError:  # before scikit-learn 1.9

        class TakesCallbacks:
            """Empty base class: this version of scikit-learn has no callbacks."""


__all__ = [
    "NONMETRIC",
    "BaseEstimator",
    "ClassNamePrefixFeaturesOutMixin",
    "ClassifierMixin",
    "ClusterMixin",
    "HasMethods",
    "Interval",
    "MetaEstimatorMixin",
    "Options",
    "RealNotInt",
    "RegressorMixin",
    "StrOptions",
    "Tags",
    "TakesCallbacks",
    "TransformerMixin",
    "available_if",
    "container_of",
    "fit_context",
    "make_constraint",
    "reporting",
    "rows_of",
    "validated",
]

#: Parameters that make scikit-learn's MDS nonmetric.
NONMETRIC = (
    {"metric": False}
    if parse_version(sklearn.__version__) < parse_version("1.8")
    else {"metric_mds": False, "init": "random"}
)


class Interval(_Interval):
    """An interval of numbers that excludes True and False."""

    def is_satisfied_by(self, value: object) -> bool:
        return not isinstance(value, bool) and bool(super().is_satisfied_by(value))


class HasMethods(_HasMethods):
    """An object with these methods. Classes and containers are excluded, because their methods may share a name (``list.extend``)."""

    def is_satisfied_by(self, value: object) -> bool:
        return not isinstance(value, type | Collection) and bool(super().is_satisfied_by(value))


def validated(estimator: BaseEstimator, X: Any, *, reset: bool, values: bool = True, **rule: Any) -> Any:
    """Return X as ``validate_data`` of scikit-learn does, which asks for the tags of the estimator too.

    The number and the names of the columns are remembered on the estimator if `reset`, and compared otherwise. Without `values` nothing
    else is checked.
    """
    _check_feature_names(estimator, X, reset=reset)
    if values:
        X = check_array(X, input_name="X", estimator=estimator, **rule)
    _check_n_features(estimator, X, reset=reset)
    return X


def container_of(estimator: TransformerMixin) -> str:
    """Return the output container of ``transform`` that the user has set: "default", or the name of a data frame library."""
    return str(_get_output_config("transform", estimator)["dense"])


#: Function that opens a named stage of a fit for the duration of a ``with`` block.
Opener = Callable[[str], AbstractContextManager[None]]


@contextmanager
def reporting(estimator: BaseEstimator, X: object, y: object) -> Iterator[Opener]:
    """Yield a function that reports the stages of a fit to the callbacks of the estimator or of the pipeline around it."""
    if not (hasattr(estimator, "_skl_callbacks") or hasattr(estimator, "_parent_callback_ctx")):
        yield lambda name: nullcontext()
        return
    root = estimator._init_callback_context(max_subtasks=None)  # type: ignore[attr-defined]
    tasks = [root]

    @contextmanager
    def open_task(name: str) -> Iterator[None]:
        task = tasks[-1].subcontext(task_name=name, max_subtasks=None)
        task.call_on_fit_task_begin(estimator=estimator)
        tasks.append(task)
        try:
            yield
        finally:
            tasks.pop()
            task.call_on_fit_task_end(estimator=estimator)

    root.call_on_fit_task_begin(estimator=estimator, X=X, y=y)
    try:
        yield open_task
    finally:
        root.call_on_fit_task_end(estimator=estimator, X=X, y=y)
