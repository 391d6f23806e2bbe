"""The only place that touches scikit-learn names that are not public API.

Everything here has been stable since scikit-learn 1.6; if a release moves a name, this is the one file to mend.
"""

from __future__ import annotations

from sklearn.base import _fit_context as fit_context
from sklearn.utils._param_validation import HasMethods, Interval, RealNotInt, StrOptions

__all__ = ["HasMethods", "Interval", "RealNotInt", "StrOptions", "fit_context"]
