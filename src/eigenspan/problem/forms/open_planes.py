"""Check for undetermined local planes: neighbourhoods whose last kept axis and first excluded axis have equal variance."""

from __future__ import annotations

import numpy as np

from ..._types import Array, Integers
from ...errors import DegenerateWarning, warn
from ..spectrum import TIED

#: Share of the variance of a neighbourhood below which the variance of an axis is a rounding error.
_FLAT = 1e-13


class OpenPlanes:
    """Count neighbourhoods with an undetermined local plane, a stack at a time, and warn about them at the end."""

    def __init__(self) -> None:
        self.open = self.seen = 0

    def look(self, squares: Array, kept: int | Integers) -> None:
        """Count a stack with variances (b, r) along the local axes, largest first; `kept` axes are used (one number, or b numbers)."""
        b, r = squares.shape
        self.seen += b
        kept = np.broadcast_to(np.asarray(kept), (b,))
        rows = np.flatnonzero((kept > 0) & (kept < r))
        top, last, beyond = squares[rows, 0], squares[rows, kept[rows] - 1], squares[rows, kept[rows]]
        close = last - beyond <= np.maximum(TIED * last, 1e-14 * top)
        self.open += int(np.sum(close & (beyond > _FLAT * top)))

    def warn(self, what: str, advice: str) -> None:
        """Warn if any were found; `what` names the model, and the message ends with `advice`."""
        if self.open:
            warn(
                f"In {self.open} of {self.seen} neighbourhoods the last local axis of {what} and the next one have the same variance: "
                "which of them belongs to the local plane is not determined, and another machine may return another embedding. "
                + advice,
                DegenerateWarning,
            )
