"""Local planes that the data leave open: neighbourhoods in which the last axis kept and the first one left out vary alike."""

from __future__ import annotations

import numpy as np

from ..._types import Array, Integers
from ...errors import DegenerateWarning, warn
from ..orientation import TIED

#: Share of the variance of a neighbourhood below which an axis shows rounding.
_FLAT = 1e-13


class OpenPlanes:
    """Count such neighbourhoods, a stack of them at a time, and warn of them at the end."""

    def __init__(self) -> None:
        self.open = self.seen = 0

    def look(self, squares: Array, kept: int | Integers) -> None:
        """Take in variances (b, r) along the local axes, largest first, of which `kept` are used: one number, or one for each of b."""
        b, r = squares.shape
        self.seen += b
        kept = np.broadcast_to(np.asarray(kept), (b,))
        rows = np.flatnonzero((kept > 0) & (kept < r))
        top, last, beyond = squares[rows, 0], squares[rows, kept[rows] - 1], squares[rows, kept[rows]]
        close = last - beyond <= np.maximum(TIED * last, 1e-14 * top)
        self.open += int(np.sum(close & (beyond > _FLAT * top)))

    def warn(self, what: str, advice: str) -> None:
        """Warn if there are any; `what` is the model, and `advice` what to do."""
        if self.open:
            warn(
                f"In {self.open} of {self.seen} neighbourhoods the last local axis of {what} and the next one have the same variance: "
                "which of them belongs to the local plane is not determined, and another machine may return another embedding. "
                + advice,
                DegenerateWarning,
            )
