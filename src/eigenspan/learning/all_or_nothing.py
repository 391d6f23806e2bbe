"""Fits that succeed or change nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def all_or_nothing(estimator: Any) -> Iterator[None]:
    """A fit from nothing: it forgets what one before has set, and where it fails the estimator is what it was, fitted or not."""
    before = dict(vars(estimator))
    for name in [name for name in before if name.endswith("_")]:
        delattr(estimator, name)
    try:
        yield
    except BaseException:
        estimator.__dict__ = before
        raise
