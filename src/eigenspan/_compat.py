"""Adapters for the names of scikit-learn that are not public API; no other module uses such names.

All of them have been stable since scikit-learn 1.6.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import sklearn
from sklearn.base import _fit_context as fit_context
from sklearn.utils import _safe_indexing as rows_of
from sklearn.utils._param_validation import HasMethods as _HasMethods
from sklearn.utils._param_validation import Interval as _Interval
from sklearn.utils._param_validation import Options, RealNotInt, StrOptions, make_constraint
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.fixes import parse_version

try:
    from sklearn.callback import CallbackSupportMixin as TakesCallbacks
except ImportError:  # before scikit-learn 1.9

    class TakesCallbacks:  # type: ignore[no-redef]
        """Empty base class: this version of scikit-learn has no callbacks."""


__all__ = [
    "NONMETRIC",
    "HasMethods",
    "Interval",
    "Options",
    "RealNotInt",
    "StrOptions",
    "TakesCallbacks",
    "container_of",
    "fit_context",
    "make_constraint",
    "reporting",
    "rows_of",
]

#: Parameters that make scikit-learn's MDS nonmetric.
NONMETRIC = (
    {"metric": False}
    if parse_version(sklearn.__version__) < parse_version("1.8")
    else {"metric_mds": False, "init": "random"}
)


class Interval(_Interval):
    """An interval of numbers that excludes True and False."""

    def is_satisfied_by(self, value: Any) -> bool:
        return not isinstance(value, bool) and bool(super().is_satisfied_by(value))


class HasMethods(_HasMethods):
    """An object with these methods. Classes and containers are excluded, because their methods may share a name (``list.extend``)."""

    def is_satisfied_by(self, value: Any) -> bool:
        return not isinstance(value, type | Collection) and bool(super().is_satisfied_by(value))


def container_of(estimator: Any) -> str:
    """Return the output container of ``transform`` that the user has set: "default", or the name of a data frame library."""
    return str(_get_output_config("transform", estimator)["dense"])


#: Function that opens a named stage of a fit for the duration of a ``with`` block.
Opener = Callable[[str], AbstractContextManager[Any]]


@contextmanager
def reporting(estimator: Any, X: Any, y: Any) -> Iterator[Opener]:
    """Yield a function that reports the stages of a fit to the callbacks of the estimator or of the pipeline around it."""
    if not (hasattr(estimator, "_skl_callbacks") or hasattr(estimator, "_parent_callback_ctx")):
        yield nullcontext
        return
    root = estimator._init_callback_context(max_subtasks=None)
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
