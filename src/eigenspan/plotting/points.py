"""One embedding as a cloud of points."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ._canvas import INK, frame, new_axes
from ._colours import SEQUENTIAL, Colours, colours_of

#: Fewer points than this are always all shown.
_ENOUGH = 200
#: The share of points at each end that may leave the view, and how much of the range the rest must fill to keep them.
_TAIL, _SQUEEZED = 0.003, 0.85


def scatter(embedding: Any, labels: Any = None, ax: Any = None, title: str | None = None) -> Any:
    """Draw the first two axes of an embedding.

    An embedding with one axis is drawn as a strip. Up to 12 classes get colour-blind-safe colours and a legend, more than 12 different
    real numbers a continuous scale, missing labels grey. A few outliers that would squeeze all other points together stay outside the
    view, and their number is written in the corner.

    Parameters
    ----------
    embedding : array-like of shape (n_points, n_components)
    labels : array-like of shape (n_points,), optional
    ax : matplotlib Axes, optional
        Where to draw; a new figure, ``ax.figure``, if not given.
    title : str, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from eigenspan import LDA
    >>> from eigenspan.plotting import scatter
    >>> X, y = load_iris(return_X_y=True)
    >>> ax = scatter(LDA(2).fit_transform(X, y), y, title="Iris")
    >>> ax.figure.savefig("iris.png")  # doctest: +SKIP
    """
    Y = as_plane(embedding)
    colours = colours_of(labels, Y.shape[0])
    ax = new_axes() if ax is None else ax
    drawn = draw(ax, Y, colours, title)
    if colours.continuous:
        bar = ax.figure.colorbar(drawn, ax=ax, fraction=0.05, pad=0.02)
        bar.outline.set_visible(False)
    elif len(colours.classes) > 1:
        ax.legend(
            handles=legend_handles(colours), frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1, 0.5)
        )
    return ax


def as_plane(embedding: Any, name: str = "The embedding") -> NDArray[np.float64]:
    """The first two columns; one column becomes a strip with a fixed, meaningless jitter."""
    Y = np.asarray(embedding, dtype=np.float64)
    if Y.ndim == 1:
        Y = Y[:, None]
    if Y.ndim != 2 or 0 in Y.shape:
        raise InputError(f"{name} must be a matrix with a row for each point; got shape {Y.shape}.")
    if not np.isfinite(Y).all():
        raise InputError(f"{name} holds {int((~np.isfinite(Y)).sum())} missing or infinite coordinates.")
    if Y.shape[1] == 1:
        return np.column_stack([Y[:, 0], np.random.default_rng(0).uniform(-1, 1, Y.shape[0])])
    return Y[:, :2]


def draw(ax: Any, Y: NDArray[np.float64], colours: Colours, title: str | None) -> Any:
    """Points on given axes, in a shuffled but fixed order so that no class lies on top of all others."""
    n = Y.shape[0]
    order = np.random.default_rng(0).permutation(n)
    size = float(np.clip(9000 / n, 1.5, 26))
    drawn = ax.scatter(
        Y[order, 0],
        Y[order, 1],
        c=colours.values[order] if colours.continuous else list(colours.values[order]),
        cmap=SEQUENTIAL if colours.continuous else None,
        s=size,
        alpha=0.85,
        linewidths=0,
        plotnonfinite=colours.continuous,
        rasterized=n > 2000,
    )
    frame(ax, title)
    _crop(ax, Y)
    return drawn


def _crop(ax: Any, Y: NDArray[np.float64]) -> None:
    """Leave a few far outliers out of view, and say how many, where they would squeeze all other points together."""
    if Y.shape[0] < _ENOUGH:
        return
    low, high = np.quantile(Y, [_TAIL, 1 - _TAIL], axis=0)
    margin = 0.2 * (high - low)
    low, high = low - margin, high + margin
    full, shown = np.ptp(Y, axis=0), high - low
    cut = (shown > 0) & (shown < _SQUEEZED * full)
    if not cut.any():
        return
    for axis, set_limits in enumerate((ax.set_xlim, ax.set_ylim)):
        if cut[axis]:
            set_limits(low[axis], high[axis])
    outside = int(np.any(((low > Y) | (high < Y)) & cut, axis=1).sum())
    ax.text(
        *(0.985, 0.015),
        f"{outside} outside the view",
        transform=ax.transAxes,
        ha="right",
        va="bottom",
        fontsize=7,
        color=INK,
    )


def legend_handles(colours: Colours) -> list[Any]:
    """One dot for each class."""
    from matplotlib.lines import Line2D

    return [
        Line2D(
            [],
            [],
            marker="o",
            linestyle="",
            markersize=6,
            color=colour,
            label=label,
            markeredgecolor=INK,
            markeredgewidth=0,
        )
        for label, colour in colours.classes.items()
    ]
