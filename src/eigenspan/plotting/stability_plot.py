"""Plot of the stability of axes under resampling."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._checks import real_numbers
from ..errors import InputError
from ._canvas import QUIET, axes_of, finish, quiet_legend
from ._colours import FEW
from ._read import Array


class StabilityDisplay:
    """Angles between the axes fitted to all points and those fitted to resamples.

    The value at d is the largest angle between the two spans of the leading d axes. A small angle means that this span is stable. An angle
    that is large at d and small at d + 1 means that the d-th axis and the next one exchange order between resamples.

    Parameters
    ----------
    angles : array-like of shape (n_resamples, d)
        Angles in degrees.
    low, median, high : array-like of shape (d,), optional
        The band and the line in it; default: the 5th, 50th and 95th percentiles of the angles.
    title : str, optional

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    line_ : Line2D
        The line of medians.
    band_ : FillBetweenPolyCollection
    points_ : Line2D
        The angles of every resample.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenspan.plotting import StabilityDisplay
    >>> angles = np.random.default_rng(0).uniform(0, [5, 40, 8], (50, 3))
    >>> StabilityDisplay(angles).plot().ax_.get_xlabel()
    'leading axes'
    """

    def __init__(
        self, angles: Any, *, low: Any = None, median: Any = None, high: Any = None, title: str | None = None
    ) -> None:
        self.angles = real_numbers(angles, "Angles", InputError)
        if self.angles.ndim != 2 or 0 in self.angles.shape:
            raise InputError(
                f"Angles must have one row per resample and one column per d, but have shape {self.angles.shape}."
            )
        self.low, self.median, self.high = (
            self._band(given, q, name)
            for given, q, name in ((low, 5, "low"), (median, 50, "median"), (high, 95, "high"))
        )
        self.title = title

    def _band(self, given: Any, q: float, name: str) -> Array:
        found = np.percentile(self.angles, q, axis=0) if given is None else real_numbers(given, name, InputError)
        if found.shape != self.angles.shape[1:]:
            raise InputError(
                f"{name} must be one angle per d ({self.angles.shape[1]} values), but has shape {found.shape}."
            )
        return found

    @classmethod
    def from_result(cls, result: Any, *, ax: Any = None, title: str | None = None) -> StabilityDisplay:
        """Draw the result of a bootstrap.

        Parameters
        ----------
        result : object with `angles`, `low`, `median` and `high`
        ax : matplotlib Axes, optional
        title : str, optional

        Returns
        -------
        StabilityDisplay
        """
        if not hasattr(result, "angles"):
            raise InputError(f"{type(result).__name__} has no angles: pass the result of quality.bootstrap.")
        band = {name: getattr(result, name, None) for name in ("low", "median", "high")}
        return cls(result.angles, title=title, **band).plot(ax)

    def plot(self, ax: Any = None) -> StabilityDisplay:
        """Draw the angles on `ax`, or on a new figure."""
        ax = axes_of(ax, 4.6, 3.6)
        n, d = self.angles.shape
        position = np.arange(1, d + 1)
        spread = np.random.default_rng(0).uniform(-0.08, 0.08, (n, 1))
        at = np.ravel(position + spread), np.ravel(self.angles)
        self.points_ = ax.plot(*at, ".", color=QUIET, markersize=2.5, zorder=1, label=f"{n} resamples")[0]
        wide = position if d > 1 else np.array([0.85, 1.15])
        low, high = (np.resize(edge, wide.size) for edge in (self.low, self.high))
        self.band_ = ax.fill_between(wide, low, high, color=FEW[0], alpha=0.18, linewidth=0, label="confidence band")
        self.line_ = ax.plot(position, self.median, "o-", color=FEW[0], markersize=5, linewidth=1.4, label="median")[0]
        ax.set_xticks(position if d <= 15 else np.unique(np.linspace(1, d, 8).astype(int)))
        ax.set_xlim(0.7, d + 0.3)
        top = min(90.0, max(5.0, 1.05 * float(self.angles.max())))
        ax.set_ylim(0, 1.3 * top)  # room for the legend
        ax.set_yticks([tick for tick in ax.get_yticks() if tick <= top] if top < 60 else range(0, 91, 15))
        handles = [self.line_, self.band_, self.points_]
        self.legend_ = quiet_legend(ax, handles=handles, loc="upper center", ncols=2, columnspacing=1.0)
        title = self.title or "Stability of the leading axes"
        self.ax_, self.figure_ = finish(ax, "leading axes", "angle in degrees", title), ax.figure
        return self
