"""Plots of estimates of the intrinsic dimension."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..errors import InputError
from ._canvas import MID, QUIET, axes_of, finish, ink, logarithmic, quiet_legend
from ._colours import FEW

#: Maximum number of axes of a spectrum that are drawn, unless more than half as many are kept.
_MOST_BARS = 20


class DimensionDisplay:
    """An estimate of the intrinsic dimension with its curve, or several estimates side by side.

    The part of the curve used for the estimate is coloured. If the height of the curve is a dimension, the estimate is drawn as a line
    across it, with a band of one standard error.

    Parameters
    ----------
    results : Dimension, dict of str to Dimension, or sequence of Dimension
    Results of `eigenspan.intrinsic_dimension`.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    line_, used_ : Line2D or BarContainer
        The curve, and the part of it used for the estimate.
    reference_ : Line2D or None
    estimate_ : Line2D or None
        The estimate, drawn across the curve.
    dots_ : ErrorbarContainer
        The estimates, if there are several.
    legend_ : Legend or None

    Examples
    --------
    >>> from sklearn.datasets import make_swiss_roll
    >>> from eigenspan import intrinsic_dimension
    >>> from eigenspan.plotting import DimensionDisplay
    >>> X, _ = make_swiss_roll(500, random_state=0)
    >>> found = [intrinsic_dimension(X, method=method) for method in ("mle", "twonn")]
    >>> DimensionDisplay.from_result(found[0]).ax_.get_ylabel()
    'dimension'
    >>> [tick.get_text() for tick in DimensionDisplay.from_results(found).ax_.get_yticklabels()]
    ['mle', 'twonn']
    """

    def __init__(self, results: Any) -> None:
        several = isinstance(results, Iterable) and not isinstance(results, Mapping)
        self.results = list(results) if several else results

    @classmethod
    def from_result(cls, result: Any, *, ax: Any = None) -> DimensionDisplay:
        """Draw the curve of one estimate."""
        return cls(result).plot(ax)

    @classmethod
    def from_results(cls, results: Mapping[str, Any] | Iterable[Any], *, ax: Any = None) -> DimensionDisplay:
        """Draw several estimates, each as a point with its standard error. Names are the keys of a dict or, for a list, the names of the
        methods."""
        return cls(results).plot(ax)

    def plot(self, ax: Any = None) -> DimensionDisplay:
        """Draw the estimate or estimates on `ax`, or on a new figure."""
        if isinstance(self.results, Mapping):
            return self._plot_several(ax, list(map(str, self.results)), list(self.results.values()))
        if isinstance(self.results, list):
            return self._plot_several(ax, [_checked(result).method for result in self.results], self.results)
        return self._plot_curve(ax, _checked(self.results))

    def _plot_curve(self, ax: Any, result: Any) -> DimensionDisplay:
        curve = result.curve
        if curve is None:
            raise InputError(
                f"The estimate by {result.method!r} has no curve. Use DimensionDisplay.from_results to draw the number."
            )
        ax = axes_of(ax, 4.6, 3.6)
        bars = _counts_axes(curve)
        shown = slice(max(_MOST_BARS, 2 * int(curve.used.sum())) if bars else None)
        x, y, used = curve.x[shown], curve.y[shown], curve.used[shown]
        if bars:
            self.line_ = ax.bar(x, y, 0.7, color=QUIET)
            self.used_ = ax.bar(x[used], y[used], 0.7, color=FEW[0], label="kept")
            ax.locator_params(axis="x", integer=True)
        else:
            self.line_ = ax.plot(x, y, color=QUIET, linewidth=1.2)[0]
            (self.used_,) = ax.plot(x, np.where(used, y, np.nan), color=FEW[0], label="used")
        self.reference_ = self.estimate_ = None
        if curve.reference is not None:
            style = {"color": MID, "linestyle": "--", "linewidth": 1.0, "label": curve.reference_label or "reference"}
            self.reference_ = ax.plot(x, curve.reference[shown], **style)[0]
        if _shows_dimension(curve):
            self._estimate(ax, result)
        for side, log in (("x", curve.x_log), ("y", curve.y_log)):
            if log:
                logarithmic(ax, side)
        if bars:
            _make_room(ax, x.size, curve.x.size)
        self.legend_ = quiet_legend(ax, **{"loc": "upper right"} if bars else {})
        title = f"{result.method}: {_formatted(result)}"
        self.ax_, self.figure_ = finish(ax, curve.x_label, curve.y_label, title), ax.figure
        return self

    def _estimate(self, ax: Any, result: Any) -> None:
        self.estimate_ = ax.axhline(result.dimension, color=FEW[1], linewidth=1.2, label=_formatted(result))
        if np.isfinite(result.error):
            low, high = result.dimension - result.error, result.dimension + result.error
            ax.axhspan(low, high, color=FEW[1], alpha=0.2, linewidth=0)

    def _plot_several(self, ax: Any, names: list[str], results: list[Any]) -> DimensionDisplay:
        if not results:
            raise InputError("There is nothing to draw: pass at least one estimate of the dimension.")
        found = [_checked(result) for result in results]
        ax = axes_of(ax, 4.6, 0.9 + 0.32 * len(found))
        place = np.arange(len(found))
        errors = np.array([result.error if np.isfinite(result.error) else 0.0 for result in found])
        style = {"fmt": "o", "color": FEW[0], "ecolor": FEW[0], "elinewidth": 1.4, "capsize": 3, "markersize": 5}
        self.dots_ = ax.errorbar([result.dimension for result in found], place, xerr=errors, **style)
        ax.set_yticks(place, names)
        ax.set_ylim(len(found) - 0.5, -0.5)
        ax.grid(axis="x", color=QUIET, linewidth=0.4)
        ax.tick_params(axis="y", length=0, labelcolor=ink())
        self.legend_ = None
        self.ax_, self.figure_ = finish(ax, "dimension, ± one standard error", "", "Intrinsic dimension"), ax.figure
        return self


def _checked(result: Any) -> Any:
    if not hasattr(result, "dimension") or not hasattr(result, "curve"):
        raise InputError(f"results must be estimates of intrinsic_dimension; got {type(result).__name__}.")
    return result


def _formatted(result: Any) -> str:
    error = f" ± {result.error:.2g}" if np.isfinite(result.error) else ""
    return f"{result.dimension:.3g}{error}"


def _counts_axes(curve: Any) -> bool:
    """Whether the curve is a spectrum: one value for each of the first axes."""
    return bool(np.array_equal(curve.x, np.arange(1, curve.x.size + 1))) and "axis" in curve.x_label


def _make_room(ax: Any, shown: int, all_of_them: int) -> None:
    """Make room for the legend above the bars, with a line for the number of axes shown if not all are."""
    low, high = ax.get_ylim()
    ax.set_ylim(low, high + 0.25 * (high - low))
    if shown < all_of_them:
        ax.plot([], [], " ", label=f"the first {shown} of {all_of_them}")


def _shows_dimension(curve: Any) -> bool:
    """Whether the height of the curve is a dimension, rather than a quantity whose slope or decrease determines it."""
    return "dimension" in curve.y_label or "slope" in curve.y_label
