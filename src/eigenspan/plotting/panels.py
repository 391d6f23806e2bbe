"""Plot of several embeddings of the same points, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import InputError
from ._canvas import beneath, ink, name_axes, tiles
from ._cloud import as_plane, draw, shared_key
from ._colours import colours_of
from ._read import embedding_of, key_title, most_pairs, pairs_of, read_axes, read_embedding, some


class GalleryDisplay:
    """Embeddings of the same points in panels of equal size, with one legend or colour bar.

    An embedding with more than two axes gets a row of panels, one for every two axes, at most three, unless that makes more than twelve
    panels: later axes may show what the first two do not.

    Parameters
    ----------
    embeddings : dict of str to array-like of shape (n_points, n_components)
        The embeddings, in the order of drawing.
    y : array-like of shape (n_points,), optional
        Classes or numbers, shared by all panels.
    titles : dict of str to str, optional
        Titles of the panels; default: the names of the embeddings.
    measures : dict of str to float or str, optional
        Measures to write under the titles, such as the quality of each embedding.
    measure_name : str, optional
        Name of the measure, written before it.
    legend_title : str, optional
        Default: the name of `y`, if it is a pandas or polars column.

    Attributes
    ----------
    figure_ : matplotlib Figure
    axes_ : list of matplotlib Axes
        The panels, in the order of the embeddings and of their axes.
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
            raise InputError(f"All embeddings must have the same points, but they have {sorted(counts)} rows.")
        self.y, self.titles, self.measures, self.measure_name = y, titles or {}, measures or {}, measure_name
        self.legend_title = key_title(legend_title, y)

    @classmethod
    def from_embeddings(
        cls,
        embeddings: Mapping[str, Any],
        y: Any = None,
        *,
        axes: Sequence[int] | None = None,
        columns: int = 3,
        panel: float = 2.7,
        suptitle: str | None = None,
        **given: Any,
    ) -> GalleryDisplay:
        """Draw embeddings; parameters are those of the class and of `plot`."""
        return cls(embeddings, y, **given).plot(axes=axes, columns=columns, panel=panel, suptitle=suptitle)

    @classmethod
    def from_estimators(
        cls, fitted: Mapping[str, Any], y: Any = None, *, X: Any = None, **given: Any
    ) -> GalleryDisplay:
        """Draw the training points of fitted estimators, or the points X; further parameters as in `from_embeddings`."""
        found = {name: embedding_of(estimator, X) for name, estimator in some(fitted, "estimators").items()}
        return cls.from_embeddings(found, y, **given)

    def plot(
        self,
        figure: Any = None,
        *,
        axes: Sequence[int] | None = None,
        columns: int = 3,
        panel: float = 2.7,
        suptitle: str | None = None,
    ) -> GalleryDisplay:
        """Draw the panels.

        Parameters
        ----------
        figure : matplotlib Figure or SubFigure, optional
            Empty figure to draw on; default: a new one, without pyplot.
        axes : (int, int), optional
            The two columns of each embedding to draw; default: the first pairs of each, as many as there are panels.
        columns : int, default=3
            Number of panels in a row.
        panel : float, default=2.7
            Width of a panel in inches, if the figure is new.
        suptitle : str, optional
            Title of the whole picture.

        Returns
        -------
        GalleryDisplay
        """
        most = most_pairs(len(self.embeddings))
        pairs = {
            name: pairs_of(Y, most) if axes is None else [read_axes(axes, Y.shape[1], 2)]
            for name, Y in self.embeddings.items()
        }
        room = {
            "wide": 0.9 if self.y is not None else 0,
            "high": 0.4 if suptitle else 0,
            "each": 0.2 if self.measures else 0,
        }
        figure, panels = tiles(figure, [len(found) for found in pairs.values()], columns, panel, **room)
        colours = colours_of(self.y, next(iter(self.embeddings.values())).shape[0])
        for row, (name, found) in zip(panels, pairs.items(), strict=True):
            self._title(row[0], name)
            for ax, pair in zip(row, found, strict=True):
                drawn = draw(ax, as_plane(self.embeddings[name][:, pair]), colours, None)
                ax.set_box_aspect(1)
                name_axes(ax, [f"axis {column + 1}" for column in pair] if len(row) > 1 or axes is not None else [])
        if axes is None and max(Y.shape[1] for Y in self.embeddings.values()) > 2 * most:
            beneath(figure, f"at most the first {2 * most} axes of each embedding are shown")
        if suptitle:
            figure.suptitle(suptitle, fontsize=13, color=ink())
        self.figure_, self.axes_ = figure, [ax for row in panels for ax in row]
        self.legend_, self.colorbar_ = shared_key(figure, self.axes_, drawn[0], colours, self.legend_title)
        return self

    def _title(self, ax: Any, name: str) -> None:
        """Write the name above the first panel of an embedding, with its measure below the name."""
        measured = name in self.measures
        ax.set_title(self.titles.get(name, name), fontsize=11, color=ink(), **{"pad": 17} if measured else {})
        if measured:
            value = self.measures[name]
            text = f"{self.measure_name} {value if isinstance(value, str) else f'{value:.3f}'}".strip()
            place = {"transform": ax.transAxes, "ha": "center", "va": "bottom", "fontsize": 8.5, "color": ink()}
            ax.text(0.5, 1.015, text, **place)


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
    """Draw embeddings in panels of equal size, with one legend or colour bar: a short form of `GalleryDisplay`.

    Parameters
    ----------
    embeddings : dict of str to array-like of shape (n_points, n_components)
        The embeddings, in the order of drawing.
    labels : array-like of shape (n_points,), optional
        Labels shared by all panels.
    titles : dict of str to str, optional
        Titles of the panels; default: the names of the embeddings.
    suptitle : str, optional
        Title of the whole picture.
    legend_title : str, optional
        Title of the legend.
    columns : int, default=3
        Number of panels in a row.
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
