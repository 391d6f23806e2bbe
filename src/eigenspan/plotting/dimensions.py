"""The curve behind an estimate of dimension."""

from __future__ import annotations

from typing import Any

from ._canvas import QUIET, finish, new_axes
from ._colours import FEW


class DimensionDisplay:
    """An estimate of dimension and the curve it was read from.

    Parameters
    ----------
    result : Dimension
        Of `eigenspan.intrinsic_dimension`.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    """

    def __init__(self, result: Any) -> None:
        self.result = result

    @classmethod
    def from_result(cls, result: Any, *, ax: Any = None) -> DimensionDisplay:
        """Draw a result."""
        return cls(result).plot(ax)

    def plot(self, ax: Any = None) -> DimensionDisplay:
        """Draw it, on axes of its own unless some are given."""
        ax, curve = new_axes() if ax is None else ax, self.result.curve
        ax.plot(curve.x, curve.y, color=QUIET)
        ax.plot(curve.x[curve.used], curve.y[curve.used], color=FEW[0])
        self.ax_, self.figure_ = finish(ax, curve.x_label, curve.y_label, self.result.method), ax.figure
        return self
