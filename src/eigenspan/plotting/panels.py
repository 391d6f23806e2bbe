"""Several embeddings of the same points, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import Any

from ..errors import InputError
from ._canvas import INK, new_figure
from ._colours import Colours, colours_of
from .points import as_plane, draw, legend_handles


def grid(
    embeddings: Mapping[str, Any],
    labels: Any = None,
    *,
    titles: Mapping[str, str] | None = None,
    suptitle: str | None = None,
    legend_title: str | None = None,
    columns: int = 3,
    panel: float = 2.7,
) -> Any:
    """Draw embeddings in panels of equal size, with one legend or colour bar for all.

    Parameters
    ----------
    embeddings : dict of str to array-like of shape (n_points, n_components)
        In the order in which they are drawn.
    labels : array-like of shape (n_points,), optional
        Shared by all panels.
    titles : dict of str to str, optional
        Panel titles; the name where there is none.
    suptitle : str, optional
        Title of the whole picture.
    legend_title : str, optional
        What the labels are.
    columns : int, default=3
        Panels in a row.
    panel : float, default=2.7
        Width of a panel in inches.

    Returns
    -------
    matplotlib Figure

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from eigenspan import LPP, PCA
    >>> from eigenspan.plotting import grid
    >>> X, y = load_iris(return_X_y=True)
    >>> figure = grid({"PCA": PCA(2).fit_transform(X), "LPP": LPP(2).fit_transform(X)}, y)
    >>> len(figure.axes)
    2
    """
    if not embeddings:
        raise InputError("There is nothing to draw: give at least one embedding.")
    planes = {name: as_plane(Y, f"The embedding {name!r}") for name, Y in embeddings.items()}
    counts = {Y.shape[0] for Y in planes.values()}
    if len(counts) > 1:
        raise InputError(f"The embeddings must be of the same points; they have {sorted(counts)} rows.")
    colours = colours_of(labels, counts.pop())
    columns = max(1, min(columns, len(planes)))
    rows = ceil(len(planes) / columns)
    figure = new_figure(panel * columns + (0.9 if labels is not None else 0), panel * rows + (0.4 if suptitle else 0))
    axes = figure.subplots(rows, columns, squeeze=False)
    for ax, (name, Y) in zip(axes.flat, planes.items(), strict=False):
        drawn = draw(ax, Y, colours, (titles or {}).get(name, name))
        ax.set_box_aspect(1)
    for ax in list(axes.flat)[len(planes) :]:
        ax.remove()
    if suptitle:
        figure.suptitle(suptitle, fontsize=13, color=INK)
    _key(figure, drawn, colours, legend_title)
    return figure


def _key(figure: Any, drawn: Any, colours: Colours, title: str | None) -> None:
    """The legend or the colour bar, once, to the right."""
    if colours.continuous:
        bar = figure.colorbar(drawn, ax=figure.axes, fraction=0.03, pad=0.02, label=title or "")
        bar.outline.set_visible(False)
    elif len(colours.classes) > 1:
        figure.legend(
            handles=legend_handles(colours),
            loc="outside center right",
            frameon=False,
            title=title,
            fontsize=10,
            handletextpad=0.2,
        )
