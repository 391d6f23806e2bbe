"""Fits that leave the estimator unchanged if they fail."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .._compat import BaseEstimator


@contextmanager
def all_or_nothing(estimator: BaseEstimator) -> Iterator[None]:
    """Remove the attributes of an earlier fit; if the block raises, restore the estimator as it was."""
    before = dict(vars(estimator))
    for name in [name for name in before if name.endswith("_")]:
        delattr(estimator, name)
    try:
        yield
    except BaseException:
        estimator.__dict__ = before
        raise
