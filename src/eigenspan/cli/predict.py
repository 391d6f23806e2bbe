"""Estimates of the time and memory that methods need, from fits to some of the rows."""

from __future__ import annotations

import time
import tracemalloc
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import EigenspanError
from ..numerics.memory import available_memory

#: Rows of the larger of the two trial fits.
_ROWS = 1000
#: Seconds after which no further method is tried.
_TRIAL_SECONDS = 20.0
#: Methods to estimate, fastest first: one of each family.
METHODS = (
    "PCA",
    "LPP",
    "LaplacianEigenmaps",
    "LLE",
    "LTSA",
    "DiffusionMap",
    "LandmarkIsomap",
    "Isomap",
    "KernelPCA",
    "MVU",
)


@dataclass(frozen=True)
class Forecast:
    """Estimated cost of a fit to all rows.

    Parameters
    ----------
    method : str
    seconds : float
    bytes : float
        Peak memory beyond the data.
    fits : bool
        Whether that much memory is available.
    """

    method: str
    seconds: float
    bytes: float
    fits: bool


def forecasts(X: Any, seed: int) -> list[Forecast]:
    """Estimate the cost of every method that can be fitted, from two fits: to `_ROWS` random rows and to half of them."""
    from ..methods.registry import row_of

    n, found, begin = len(X), [], time.perf_counter()
    drawn = np.random.default_rng(seed).permutation(n)[:_ROWS]
    for name in METHODS:
        if time.perf_counter() - begin > _TRIAL_SECONDS:
            break
        try:
            half, whole = (_trial(row_of(name).build(), X[np.sort(drawn[:m])]) for m in (len(drawn) // 2, len(drawn)))
        except (EigenspanError, ValueError, np.linalg.LinAlgError):
            continue
        growth = np.log2(n / len(drawn))
        seconds = whole[0] * 2.0 ** (growth * np.clip(np.log2(max(whole[0], 1e-4) / max(half[0], 1e-4)), 1.0, 3.0))
        memory = whole[1] * 2.0 ** (growth * np.clip(np.log2(whole[1] / max(half[1], 1)), 1.0, 2.0))
        found.append(Forecast(name, float(seconds), float(memory), bool(memory < available_memory())))
    return found


def _trial(estimator: Any, X: Any) -> tuple[float, float]:
    """Return the seconds and bytes of a fit. A first fit is not counted, because it may include compilation."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator.fit(X)
        start = time.perf_counter()
        estimator.fit(X)
        seconds = time.perf_counter() - start
        tracemalloc.start()
        try:
            estimator.fit(X)
            return seconds, float(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
