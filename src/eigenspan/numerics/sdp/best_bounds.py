"""Record of the best bounds found during an iteration."""

from __future__ import annotations

import numpy as np

from ..._types import Array
from .certificate import lower_bound, upper_bound
from .program import Program


class BestBounds:
    """The best bounds found so far, and the points that attain them."""

    def __init__(self, program: Program, R: Array, w: Array, tol: float) -> None:
        self.program, self.factor, self.weights = program, R, w
        proved = program.is_monotone or program.slack is not None
        self.allowed = np.inf if proved else 0.1 * tol  # a lower bound that is proved does not need a feasible point
        self.lower, self.upper, self.violation = -np.inf, np.inf, np.inf

    def offer_factor(self, R: Array) -> None:
        lower, violation = lower_bound(self.program, R)
        kept, before = (max(v, self.allowed) for v in (violation, self.violation))
        if kept < before or (kept == before and lower > self.lower):
            self.lower, self.violation, self.factor = lower, violation, R

    def offer_weights(self, w: Array, ratio: float) -> None:
        upper = upper_bound(self.program, w, ratio)
        if upper < self.upper:
            self.upper, self.weights = upper, ratio * w

    @property
    def gap(self) -> float:
        return (self.upper - self.lower) / abs(self.upper) if np.isfinite(self.upper) else np.inf

    def is_certified(self, tol: float) -> bool:
        return abs(self.gap) < tol and self.violation <= self.allowed
