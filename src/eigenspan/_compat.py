"""The only place that touches scikit-learn names that are not public API.

Everything here has been stable since scikit-learn 1.6; if a release moves a name, this is the one file to mend.
"""

from __future__ import annotations

from typing import Any

import sklearn
from sklearn.base import _fit_context as fit_context
from sklearn.utils import _safe_indexing as rows_of
from sklearn.utils._param_validation import HasMethods as _HasMethods
from sklearn.utils._param_validation import Interval as _Interval
from sklearn.utils._param_validation import Options, RealNotInt, StrOptions, make_constraint
from sklearn.utils.fixes import parse_version

__all__ = [
    "NONMETRIC",
    "HasMethods",
    "Interval",
    "Options",
    "RealNotInt",
    "StrOptions",
    "fit_context",
    "make_constraint",
    "rows_of",
]

#: How scikit-learn's MDS is told to keep the order of distances only.
NONMETRIC = (
    {"metric": False}
    if parse_version(sklearn.__version__) < parse_version("1.8")
    else {"metric_mds": False, "init": "random"}
)


class Interval(_Interval):
    """An interval of numbers, among which True and False are not."""

    def is_satisfied_by(self, value: Any) -> bool:
        return not isinstance(value, bool) and bool(super().is_satisfied_by(value))


class HasMethods(_HasMethods):
    """An object with these methods. A class has them too, and is no object to call them on."""

    def is_satisfied_by(self, value: Any) -> bool:
        return not isinstance(value, type) and bool(super().is_satisfied_by(value))
