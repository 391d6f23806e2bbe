"""Plot of the edge deviations of RelaxedMVU, which reveal short-circuit edges."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import InputError
from ._canvas import QUIET, finish, new_axes
from ._colours import FEW


def plot_deviations(estimator: Any, ax: Any = None, title: str | None = None) -> Any:
    """Draw the sorted deviations of all edges (a scree plot) and the threshold above which they were pruned.

    A threshold at which the curve turns upwards is a good first choice.

    Parameters
    ----------
    estimator : fitted RelaxedMVU
    ax : matplotlib Axes, optional
    title : str, optional
        Default: the name of the estimator.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import make_swiss_roll
    >>> from eigenspan import RelaxedMVU
    >>> from eigenspan.plotting import plot_deviations
    >>> X, _ = make_swiss_roll(100, random_state=0)
    >>> plot_deviations(RelaxedMVU().fit(X)).get_ylabel()
    'deviation'
    """
    values = getattr(estimator, "deviations_", None)
    if values is None or not len(values):
        raise InputError(
            f"{type(estimator).__name__} has no deviations_ of edges: fit a RelaxedMVU to coordinates first."
        )
    ax = new_axes() if ax is None else ax
    position = np.arange(1, len(values) + 1)
    pruned = values > estimator.threshold_
    ax.plot(position[~pruned], values[~pruned], ".", color=QUIET, markersize=3)
    ax.plot(position[pruned], values[pruned], ".", color=FEW[1], markersize=4)
    if np.isfinite(estimator.threshold_):
        ax.axhline(estimator.threshold_, color=FEW[1], linewidth=0.8)
    ax.set_yscale("log" if values[0] > 0 else "linear")
    return finish(ax, "edge", "deviation", title or type(estimator).__name__)
