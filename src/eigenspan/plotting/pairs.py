"""Plot of all pairs of axes of an embedding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import InputError
from ._canvas import MID, frame, ink, new_figure
from ._cloud import colour_bar, draw, legend_style
from ._colours import Colours, colours_of
from ._read import embedding_of, key_title, names_of, read_embedding
from .point_cloud import display_options_of

#: Maximum number of classes drawn as separate histograms; more would be unreadable.
_FEW_CLASSES = 6


class PairsDisplay:
    """All pairs of axes of an embedding, with a histogram of the points along each axis.

    Parameters
    ----------
    embedding : array-like of shape (n_points, n_components)
        At least two axes.
    y : array-like of shape (n_points,), optional
        Classes or numbers.
    names : sequence of str, optional
        Names of the axes; default: the columns of `embedding` if it is a table.
    title : str, optional
    legend_title : str, optional

    Attributes
    ----------
    figure_ : matplotlib Figure
    axes_ : ndarray of shape (d, d)
        The panels; None above the diagonal.
    legend_ : Legend or None
    colorbar_ : Colorbar or None

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from eigenspan import PCA
    >>> from eigenspan.plotting import PairsDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> PairsDisplay.from_estimator(PCA(3).fit(X), y).axes_.shape
    (3, 3)
    """

    def __init__(
        self,
        embedding: Any,
        y: Any = None,
        *,
        names: Sequence[str] | None = None,
        title: str | None = None,
        legend_title: str | None = None,
    ) -> None:
        self.embedding = read_embedding(embedding)
        if self.embedding.shape[1] < 2:
            raise InputError("PairsDisplay needs an embedding with at least two axes, but this one has one.")
        self.y, self.title = y, title
        d = self.embedding.shape[1]
        self.names = names_of(names, embedding, d) or [f"axis {i + 1}" for i in range(d)]
        self.legend_title = key_title(legend_title, y)

    @classmethod
    def from_embedding(
        cls, embedding: Any, y: Any = None, *, axes: Sequence[int] | None = None, panel: float = 1.7, **given: Any
    ) -> PairsDisplay:
        """Draw an embedding; parameters are those of the class and of `plot`."""
        return cls(embedding, y, **given).plot(axes=axes, panel=panel)

    @classmethod
    def from_estimator(cls, fitted: Any, y: Any = None, *, X: Any = None, **given: Any) -> PairsDisplay:
        """Draw the training points of a fitted estimator, or the points X; further parameters as in `from_embedding`."""
        Y = embedding_of(fitted, X)
        defaults = display_options_of(fitted, Y)
        del defaults["aspect"]
        return cls.from_embedding(Y, y, **defaults | given)

    def plot(self, figure: Any = None, *, axes: Sequence[int] | None = None, panel: float = 1.7) -> PairsDisplay:
        """Draw the panels.

        Parameters
        ----------
        figure : matplotlib Figure or SubFigure, optional
            Empty figure to draw on; default: a new one, without pyplot.
        axes : sequence of int, optional
            Columns to draw; default: the first five.
        panel : float, default=1.7
            Width of a panel in inches, if the figure is new.

        Returns
        -------
        PairsDisplay
        """
        columns = list(range(min(5, self.embedding.shape[1]))) if axes is None else [int(axis) for axis in axes]
        if len(columns) < 2 or not all(0 <= c < self.embedding.shape[1] for c in columns):
            raise InputError(
                f"axes={axes!r} must name at least two columns of the embedding, which has {self.embedding.shape[1]}."
            )
        d = len(columns)
        figure = new_figure(panel * d, panel * d) if figure is None else figure
        colours = colours_of(self.y, self.embedding.shape[0])
        panels = figure.subplots(d, d, squeeze=False)
        for i, j in zip(*np.triu_indices(d, 1), strict=True):
            panels[i, j].remove()
            panels[i, j] = None
        for place, column in enumerate(columns):
            self._spread(panels[place, place], column, colours)
            panels[-1, place].set_xlabel(_folded(self.names[column]), fontsize=8, color=ink())
        for i, j in zip(*np.tril_indices(d, -1), strict=True):
            drawn = draw(panels[i, j], self.embedding[:, [columns[j], columns[i]]], colours, None, s=self._size(d))
            if j == 0:
                panels[i, j].set_ylabel(_folded(self.names[columns[i]]), fontsize=8, color=ink())
        if self.title:
            figure.suptitle(self.title, fontsize=12, color=ink())
        self.figure_, self.axes_, self.legend_, self.colorbar_ = figure, panels, None, None
        if colours.continuous:
            self.colorbar_ = colour_bar(figure, drawn[0], [ax for ax in panels.flat if ax], self.legend_title)
        elif len(colours.classes) > 1:
            self.legend_ = figure.legend(**legend_style(colours, self.legend_title), loc="upper right", fontsize=9)
        return self

    def _size(self, d: int) -> float:
        """Return the marker size, smaller than in one large panel."""
        return float(np.clip(9000 / len(self.embedding) / d, 1.0, 12))

    def _spread(self, ax: Any, column: int, colours: Colours) -> None:
        """Draw a histogram of the points along an axis; one per class, in its colour, if there are few classes."""
        values = self.embedding[:, column]
        edges = np.histogram_bin_edges(values, bins=30)
        by_class = 0 < len(colours.classes) <= _FEW_CLASSES
        for colour in colours.classes.values() if by_class else [MID]:
            ax.hist(values[colours.values == colour] if by_class else values, edges, color=colour, alpha=0.55)
        frame(ax, None)
        for side in ("top", "left", "right"):
            ax.spines[side].set_visible(False)


def _folded(name: str) -> str:
    """Move the part in brackets to a second line."""
    return name.replace(" (", "\n(")
