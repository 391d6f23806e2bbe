"""Several embeddings of the same points, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import Any

from ..errors import InputError
from ._canvas import ink, new_figure
from ._cloud import as_plane, colour_bar, draw, legend_style
from ._colours import Colours, colours_of
from ._read import Array, embedding_of, key_title, read_embedding, some


class GalleryDisplay:
    """Embeddings of the same points in panels of equal size, with one legend or colour bar for all.

    Parameters
    ----------
    embeddings : dict of str to array-like of shape (n_points, n_components)
        In the order in which they are drawn, two axes of each.
    y : array-like of shape (n_points,), optional
        Classes or numbers, shared by all panels.
    titles : dict of str to str, optional
        Panel titles; the name where there is none.
    measures : dict of str to float or str, optional
        What to write under the title of a panel, such as how good the embedding is.
    measure_name : str, optional
        What the measures are, written before them.
    legend_title : str, optional
        What y is; its name where it is a column of pandas or polars.

    Attributes
    ----------
    figure_ : matplotlib Figure
    axes_ : list of matplotlib Axes
        The panels, in the order of the embeddings.
    legend_ : Legend or None
    colorbar_ : Colorbar or None

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from eigenspan import LPP, PCA
    >>> from eigenspan.plotting import GalleryDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> display = GalleryDisplay.from_estimators({"PCA": PCA(2).fit(X), "LPP": LPP(2).fit(X)}, y)
    >>> [ax.get_title() for ax in display.axes_]
    ['PCA', 'LPP']
    """

    def __init__(
        self,
        embeddings: Mapping[str, Any],
        y: Any = None,
        *,
        titles: Mapping[str, str] | None = None,
        measures: Mapping[str, Any] | None = None,
        measure_name: str = "",
        legend_title: str | None = None,
    ) -> None:
        self.embeddings = {
            name: read_embedding(Y, f"The embedding {name!r}") for name, Y in some(embeddings, "embeddings").items()
        }
        counts = {Y.shape[0] for Y in self.embeddings.values()}
        if len(counts) > 1:
            raise InputError(f"The embeddings must be of the same points; they have {sorted(counts)} rows.")
        self.y, self.titles, self.measures, self.measure_name = y, titles or {}, measures or {}, measure_name
        self.legend_title = key_title(legend_title, y)

    @classmethod
    def from_embeddings(
        cls,
        embeddings: Mapping[str, Any],
        y: Any = None,
        *,
        columns: int = 3,
        panel: float = 2.7,
        suptitle: str | None = None,
        **given: Any,
    ) -> GalleryDisplay:
        """Draw coordinates: the parameters of the class and of `plot`."""
        return cls(embeddings, y, **given).plot(columns=columns, panel=panel, suptitle=suptitle)

    @classmethod
    def from_estimators(
        cls, fitted: Mapping[str, Any], y: Any = None, *, X: Any = None, **given: Any
    ) -> GalleryDisplay:
        """Draw what fitted estimators made of their training points, or make of those of X; further parameters as in
        `from_embeddings`."""
        found = {name: embedding_of(estimator, X) for name, estimator in some(fitted, "estimators").items()}
        return cls.from_embeddings(found, y, **given)

    def plot(
        self, figure: Any = None, *, columns: int = 3, panel: float = 2.7, suptitle: str | None = None
    ) -> GalleryDisplay:
        """Draw them.

        Parameters
        ----------
        figure : matplotlib Figure or SubFigure, optional
            An empty one to draw on; a new one, which pyplot does not know of, if not given.
        columns : int, default=3
            Panels in a row.
        panel : float, default=2.7
            Width of a panel in inches, where the figure is new.
        suptitle : str, optional
            Title of the whole picture.

        Returns
        -------
        GalleryDisplay
        """
        columns = max(1, min(columns, len(self.embeddings)))
        rows = ceil(len(self.embeddings) / columns)
        if figure is None:
            height = panel * rows + (0.4 if suptitle else 0) + (0.2 * rows if self.measures else 0)
            figure = new_figure(panel * columns + (0.9 if self.y is not None else 0), height)
        colours = colours_of(self.y, next(iter(self.embeddings.values())).shape[0])
        panels = list(figure.subplots(rows, columns, squeeze=False).flat)
        for ax, (name, Y) in zip(panels, self.embeddings.items(), strict=False):
            drawn = self._panel(ax, name, Y, colours)
        for ax in panels[len(self.embeddings) :]:
            ax.remove()
        if suptitle:
            figure.suptitle(suptitle, fontsize=13, color=ink())
        self.figure_, self.axes_ = figure, panels[: len(self.embeddings)]
        self.legend_, self.colorbar_ = _key(figure, self.axes_, drawn, colours, self.legend_title)
        return self

    def _panel(self, ax: Any, name: str, Y: Array, colours: Colours) -> list[Any]:
        drawn = draw(ax, as_plane(Y), colours, self.titles.get(name, name))
        ax.set_box_aspect(1)
        if name in self.measures:
            value = self.measures[name]
            text = f"{self.measure_name} {value if isinstance(value, str) else f'{value:.3f}'}".strip()
            ax.set_title(ax.get_title(), fontsize=11, color=ink(), pad=17)
            place = {"transform": ax.transAxes, "ha": "center", "va": "bottom", "fontsize": 8.5, "color": ink()}
            ax.text(0.5, 1.015, text, **place)
        return drawn


def _key(figure: Any, axes: list[Any], drawn: list[Any], colours: Colours, title: str | None) -> tuple[Any, Any]:
    """The legend or the colour bar, once, to the right."""
    if colours.continuous:
        return None, colour_bar(figure, drawn[0], axes, title, fraction=0.03)
    if len(colours.classes) < 2:
        return None, None
    return figure.legend(**legend_style(colours, title), loc="outside center right", fontsize=10), None


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
    """Draw embeddings in panels of equal size, with one legend or colour bar for all: `GalleryDisplay` in short.

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
    display = GalleryDisplay(embeddings, labels, titles=titles, legend_title=legend_title or "")
    return display.plot(columns=columns, panel=panel, suptitle=suptitle).figure_
