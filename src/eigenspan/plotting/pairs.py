"""Every pair of an embedding's axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import InputError
from ._canvas import MID, frame, ink, new_figure
from ._cloud import colour_bar, draw, legend_style
from ._colours import Colours, colours_of
from ._read import embedding_of, key_title, names_of, read_embedding
from .point_cloud import told_by

#: More classes than this would lie on each other beyond recognition where they are counted along an axis.
_FEW_CLASSES = 6


class PairsDisplay:
    """The axes of an embedding two by two, and how the points spread along each of them.

    Parameters
    ----------
    embedding : array-like of shape (n_points, n_components)
        With two axes or more.
    y : array-like of shape (n_points,), optional
        Classes or numbers.
    names : sequence of str, optional
        Names of the axes; the columns of `embedding` where it is a table.
    title : str, optional
    legend_title : str, optional

    Attributes
    ----------
    figure_ : matplotlib Figure
    axes_ : ndarray of shape (d, d)
        The panels, None above the diagonal.
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
            raise InputError("Pairs of axes need an embedding with two of them or more; this one has one.")
        self.y, self.title = y, title
        d = self.embedding.shape[1]
        self.names = names_of(names, embedding, d) or [f"axis {i + 1}" for i in range(d)]
        self.legend_title = key_title(legend_title, y)

    @classmethod
    def from_embedding(
        cls, embedding: Any, y: Any = None, *, axes: Sequence[int] | None = None, panel: float = 1.7, **given: Any
    ) -> PairsDisplay:
        """Draw coordinates: the parameters of the class and of `plot`."""
        return cls(embedding, y, **given).plot(axes=axes, panel=panel)

    @classmethod
    def from_estimator(cls, fitted: Any, y: Any = None, *, X: Any = None, **given: Any) -> PairsDisplay:
        """Draw what an estimator made of its training points, or makes of those of X; further parameters as in
        `from_embedding`."""
        Y = embedding_of(fitted, X)
        told = told_by(fitted, Y)
        del told["aspect"]
        return cls.from_embedding(Y, y, **told | given)

    def plot(self, figure: Any = None, *, axes: Sequence[int] | None = None, panel: float = 1.7) -> PairsDisplay:
        """Draw them.

        Parameters
        ----------
        figure : matplotlib Figure or SubFigure, optional
            An empty one to draw on; a new one, which pyplot does not know of, if not given.
        axes : sequence of int, optional
            The columns to draw; the first five if not given.
        panel : float, default=1.7
            Width of a panel in inches, where the figure is new.

        Returns
        -------
        PairsDisplay
        """
        columns = list(range(min(5, self.embedding.shape[1]))) if axes is None else [int(axis) for axis in axes]
        if len(columns) < 2 or not all(0 <= c < self.embedding.shape[1] for c in columns):
            raise InputError(f"axes={axes!r} must name two columns or more of the {self.embedding.shape[1]} there are.")
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
        """Dots smaller than those of one large panel."""
        return float(np.clip(9000 / len(self.embedding) / d, 1.0, 12))

    def _spread(self, ax: Any, column: int, colours: Colours) -> None:
        """How many points lie where along an axis, those of each class in its colour where there are few."""
        values = self.embedding[:, column]
        edges = np.histogram_bin_edges(values, bins=30)
        by_class = 0 < len(colours.classes) <= _FEW_CLASSES
        for colour in colours.classes.values() if by_class else [MID]:
            ax.hist(values[colours.values == colour] if by_class else values, edges, color=colour, alpha=0.55)
        frame(ax, None)
        for side in ("top", "left", "right"):
            ax.spines[side].set_visible(False)


def _folded(name: str) -> str:
    """What stands in brackets goes to a line of its own."""
    return name.replace(" (", "\n(")
