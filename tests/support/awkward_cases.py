"""Fits with invalid or unusual input, and checks of the outcome; `awkward_promises` and `awkward_tables` have the inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from awkward_subjects import CODES, N, Subject, X, outcome, sound

Case = tuple[str, Callable[[], str]]
Kind = Callable[[Subject], Iterator[Case]]
Kinds = dict[str, Kind]
#: Distances and kernel values of the points.
DISTANCES = np.linalg.norm(X[:, None] - X[None], axis=2)
KERNEL = np.exp(-((DISTANCES / np.median(DISTANCES)) ** 2))


def kind_of(kinds: Kinds) -> Callable[[Kind], Kind]:
    """Register a generator of cases by its name."""

    def enter(kind: Kind) -> Kind:
        kinds[kind.__name__.replace("_", " ")] = kind
        return kind

    return enter


def fits(subject: Subject, A: Any, y: Any = None, refuse: bool = False, **params: Any) -> Callable[[], str]:
    """Check that a fit is refused, or gives finite output for all rows."""

    def run() -> str:
        n = A.shape[0] if hasattr(A, "shape") and np.ndim(A) else len(A)
        fitted = subject.make(**params).fit(A, labels_of(subject, n) if y is None else y)
        return sound(subject, fitted, n, None if refuse else A)

    return lambda: outcome(run, refuse)


def labels_of(subject: Subject, n: int) -> Any:
    codes = CODES if n == N else np.arange(n) % (3 if n > 4 else 2)
    return subject.y(codes)


_FITTED: dict[str, Any] = {}


def fitted(subject: Subject) -> Any:
    """Return a cached fit, for checks that do not change it."""
    if subject.name not in _FITTED:
        _FITTED[subject.name] = subject.fit()
    return _FITTED[subject.name]


def places(subject: Subject, A: Any, refuse: bool = False, of: Callable[[], Any] | None = None) -> Callable[[], str]:
    """Check that new points are refused, or that all are mapped to finite coordinates."""

    def run() -> str:
        model = fitted(subject) if of is None else of()
        Z = subject.place(model, A)
        if len(Z) != (A.shape[0] if hasattr(A, "shape") else len(A)):
            return f"{len(Z)} places"
        return (
            "" if Z.dtype.kind != "f" or np.all(np.isfinite(Z)) else f"{np.sum(~np.isfinite(Z))} numbers are not finite"
        )

    return lambda: outcome(run, refuse)
