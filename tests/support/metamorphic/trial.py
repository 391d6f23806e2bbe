"""Fits of a case and of its changed versions, with their errors and warnings."""

from __future__ import annotations

import contextlib
import io
import os
import random
import re
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning as NotConverged
from sklearn.exceptions import NotFittedError

from awkward_subjects import on_purpose, told
from eigenspan.errors import EigenspanWarning

from .case import Case
from .compare import AMPLIFICATION, FINE, ROUNDING, difference, jittered
from .data import CONTAINERS


class UncaughtError(Exception):
    """An unintended exception, or a warning of another library."""


@dataclass
class Fit:
    """A fitted estimator, or the text of its error."""

    estimator: Any = None
    refusal: str = ""
    warned: list[str] = field(default_factory=list)
    embedding: Any = None


#: Warnings of other libraries about choices of the user.
_EXPECTED = (EigenspanWarning, NotConverged)


class Trial:
    """One case: its points and labels, its fit, and fits of changed versions."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.rng = np.random.default_rng(case.seed)
        self.random = random.Random(case.seed)
        self.X = case.make_points()
        self.y = case.make_labels(self.X)
        self.given = case.make_given(self.X)
        #: Categories of the warnings of all fits and maps so far.
        self.warned: set[str] = set()
        self.base = Fit()

    def start(self) -> Fit:
        self.base = self.fit(self.X, self.y, container=self.case.container)
        return self.base

    # ------------------------------------------------------------------ calls that may be refused
    def quietly(self, run: Any) -> tuple[Any, str]:
        """Return the result of `run` and "", or None and the text of its error; warnings are recorded."""
        with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("always")
            try:
                found, refusal = run(), ""
            except Exception as error:
                if not on_purpose(error) or isinstance(error, NotFittedError):
                    raise UncaughtError(told(error)) from error
                found, refusal = None, f"{type(error).__name__}: {error}"
        for warning in caught:
            if issubclass(warning.category, DeprecationWarning | ResourceWarning | ImportWarning):
                continue
            if not issubclass(warning.category, _EXPECTED):
                where = f"{os.path.basename(warning.filename)}:{warning.lineno}"
                raise UncaughtError(f"{warning.category.__name__}: {str(warning.message)[:150]} ({where})")
            self.warned.add(warning.category.__name__)
        return found, refusal

    def fit(self, X: Any, y: Any, *, container: str = "array", given: Any = None, estimator: Any = None) -> Fit:
        """Fit the case to other points; the parameters are evaluated again. `given` replaces the argument of fit."""

        def run() -> tuple[Any, Any]:
            made = self.case.make_estimator(X) if estimator is None else estimator
            A = CONTAINERS[container](self.case.make_given(X)) if given is None else given
            made.fit(A, y)
            return made, _embedding(made, A)

        found, refusal = self.quietly(run)
        return Fit(refusal=refusal) if found is None else Fit(found[0], embedding=found[1])

    def places(self, fit: Fit, A: Any) -> Any:
        """Return the positions of new points, or the text of an error."""
        found, refusal = self.quietly(lambda: _placed(fit.estimator, A))
        return refusal if found is None else found

    # ------------------------------------------------------------------ tolerance
    def sensitivity(self, *, by_column: bool = False) -> float:
        """Return the sensitivity of the embedding to the last digits of the points: the largest of three changes; inf if a fit fails."""
        moved = 0.0
        for seed in range(3):
            fit = self.fit(jittered(self.X, seed, by_column=by_column), self.y)
            if fit.refusal:
                return np.inf
            moved = max(moved, difference(self.plain().embedding, fit.embedding))
        return moved

    def plain(self) -> Fit:
        """Return the fit to the points as a plain array."""
        if self.case.container == "array":
            return self.base
        if "_plain" not in vars(self):
            self._plain = self.fit(self.X, self.y)
        return self._plain

    def tolerance(self) -> float:
        if "_tolerance" not in vars(self):
            gap = float(
                getattr(self.plain().estimator, "gap_", np.inf)
            )  # rounding errors divided by the gap rotate axes
            self._tolerance = max(FINE, AMPLIFICATION * self.sensitivity(), ROUNDING / max(gap, ROUNDING))
        return self._tolerance


def _embedding(estimator: Any, A: Any) -> Any:
    if "embedding_" in vars(estimator):
        return np.asarray(estimator.embedding_)
    return _placed(estimator, A)


def _placed(estimator: Any, A: Any) -> Any:
    if hasattr(estimator, "transform"):
        found = estimator.transform(A)
        return np.asarray(found.compute() if hasattr(found, "compute") else found)
    found = np.asarray(estimator.decision_function(A))
    return found.reshape(len(found), -1)


def kind_of(said: str) -> str:
    """Return a message without numbers, to count equal failures together."""
    return re.sub(r"[-+]?\d[\d.]*(e[-+]?\d+)?", "#", said)[:100]
