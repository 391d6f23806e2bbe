"""Plot of the distortion around every point of an embedding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import InputError
from ._canvas import axes_of, equal, ink, name_axes
from ._cloud import as_plane, colour_bar, draw
from ._colours import FEW, Colours
from ._labels import place_labels
from ._read import embedding_of, names_of, one_of, read_embedding, values_of
from .point_cloud import display_options_of


class DistortionDisplay:
    """An embedding coloured by the distortion of each point's neighbourhood.

    Parameters
    ----------
    embedding : array-like of shape (n_points, n_components)
        Two axes are drawn.
    values : array-like of shape (n_points,)
        The distortion of each point; larger is worse.
    names : sequence of str, optional
        Names of the axes; default: the columns of `embedding` if it is a table.
    value_name : str, default="distortion"
        Label of the colour bar.
    title : str, optional
    aspect : {"auto", "equal"}, default="auto"

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    scatter_ : PathCollection
    colorbar_ : Colorbar
    worst_ : ndarray of int
        Rows of the marked points, worst first.
    marks_ : PathCollection or None
        Rings around the marked points.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from eigenspan import PCA
    >>> from eigenspan.plotting import DistortionDisplay
    >>> X, _ = load_iris(return_X_y=True)
    >>> display = DistortionDisplay.from_estimator(PCA(2).fit(X), X, worst=3)
    >>> len(display.worst_)
    3
    """

    def __init__(
        self,
        embedding: Any,
        values: Any,
        *,
        names: Sequence[str] | None = None,
        value_name: str = "distortion",
        title: str | None = None,
        aspect: str = "auto",
    ) -> None:
        self.embedding = read_embedding(embedding)
        self.values = values_of(values, self.embedding.shape[0], "Distortions")
        self.names = names_of(names, embedding, self.embedding.shape[1])
        self.value_name, self.title, self.aspect = value_name, title, one_of("aspect", aspect, ("auto", "equal"))

    @classmethod
    def from_embedding(
        cls, X: Any, embedding: Any, *, ax: Any = None, worst: int = 0, **given: Any
    ) -> DistortionDisplay:
        """Compute the distortion of each point of X with ``quality.distortion``, and draw it.

        Parameters
        ----------
        X : array-like of shape (n_points, n_features)
        embedding : array-like of shape (n_points, n_components)
        ax : matplotlib Axes, optional
        worst : int, default=0
            Number of points to mark.
        **given
            Parameters of the class, and of ``quality.distortion``.

        Returns
        -------
        DistortionDisplay
        """
        from ..quality import distortion

        own = {name: given.pop(name) for name in ("names", "value_name", "title", "aspect") if name in given}
        own.setdefault("value_name", given.get("kind", "intrusion"))
        return cls(embedding, distortion(X, embedding, **given), **own).plot(ax, worst=worst)

    @classmethod
    def from_estimator(cls, fitted: Any, X: Any, *, ax: Any = None, worst: int = 0, **given: Any) -> DistortionDisplay:
        """Draw the distortion of a fitted estimator's embedding; X are its training points. Parameters as in `from_embedding`."""
        Y = embedding_of(fitted)
        return cls.from_embedding(X, Y, ax=ax, worst=worst, **display_options_of(fitted, Y) | given)

    def plot(self, ax: Any = None, *, worst: int = 0) -> DistortionDisplay:
        """Draw the embedding.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Panel to draw on; default: a new figure, without pyplot.
        worst : int, default=0
            Number of points to mark with their row number: those with the largest distortion.

        Returns
        -------
        DistortionDisplay
        """
        if not 0 <= worst <= self.values.size:
            raise InputError(f"worst={worst} must lie between 0 and the number of points, {self.values.size}.")
        own, ax, Y = ax is None, axes_of(ax, 4.6, 3.8), as_plane(self.embedding)
        (self.scatter_,) = draw(ax, Y, Colours(self.values, continuous=True), self.title)
        if self.embedding.shape[1] > 1 and self.aspect == "equal":
            equal(ax, own)
        name_axes(ax, self.names[:2])
        self.colorbar_ = colour_bar(ax.figure, self.scatter_, ax, self.value_name, fraction=0.05)
        self.worst_, self.marks_ = np.argsort(-self.values, kind="stable")[: int(worst)], None
        if worst:
            at = Y[self.worst_]
            rings = {"s": 60, "facecolors": "none", "edgecolors": FEW[3], "linewidths": 1.2}
            self.marks_ = ax.scatter(*at.T, **rings)
            place_labels(ax, at, [str(i) for i in self.worst_], fontsize=7.5, color=ink())
        self.ax_, self.figure_ = ax, ax.figure
        return self
