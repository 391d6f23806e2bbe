"""One embedding as a cloud of points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import InputError
from ._canvas import axes_of, beneath, equal, ink, name_axes, new_axes, tiles
from ._cloud import as_plane, draw, draw_images, key, read_images, shared_key
from ._colours import Colours, colours_of
from ._read import (
    axis_names,
    embedding_of,
    keeps_lengths,
    key_title,
    method_name,
    most_pairs,
    names_of,
    one_of,
    pairs_of,
    read_axes,
    read_embedding,
)

#: Said of the strip that one axis makes.
STRIP = "no meaning: spread at random"


class EmbeddingDisplay:
    """An embedding as points: its axes two by two, the first with the second, the third with the fourth, and so on.

    The first two axes of a spectral method seldom show all there is. Where there are more and neither `axes` nor `ax` says which to draw,
    there is a panel for each pair, up to six, and a line that says how many axes are left out. `PairsDisplay` has every pair of a few.

    Classes get colours that are told apart with deficient colour vision too, beyond twelve together with shapes, and a legend; more
    than 12 different real numbers, or 50 whole ones, get a colour bar; points without a label are grey. An embedding with one axis is
    drawn as a strip, whose height means nothing. A few outliers that would squeeze all other points together stay outside the view, and
    their number is written in the corner. With `images` there are pictures on as many points as there is room for.

    Parameters
    ----------
    embedding : array-like of shape (n_points, n_components)
    y : array-like of shape (n_points,), optional
        Classes or numbers.
    names : sequence of str, optional
        Names of the axes; the columns of `embedding` where it is a table of pandas or polars.
    images : array-like of shape (n_points, height, width) or (n_points, height, width, 3), optional
        A picture for each point.
    image_shape : (height, width), optional
        Shape of the pictures where `images` has them as rows of pixels.
    title : str, optional
    legend_title : str, optional
        What y is; its name where it is a column of pandas or polars.
    aspect : {"auto", "equal"}, default="auto"
        "equal" where distances in the picture mean something: one unit is as long on both axes.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The panel, or the first of them.
    axes_ : list of matplotlib Axes
        All panels.
    figure_ : matplotlib Figure
    scatter_ : list of PathCollection
        The points, one collection for each panel and shape.
    images_ : list of AnnotationBbox
        The pictures, where there are some.
    legend_ : Legend or None
    colorbar_ : Colorbar or None

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from eigenspan import PCA
    >>> from eigenspan.plotting import EmbeddingDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> display = EmbeddingDisplay.from_estimator(PCA(2).fit(X), y)
    >>> display.ax_.get_xlabel()
    'pca0 (92.5 % of variance)'
    >>> display.figure_.savefig("iris.png")  # doctest: +SKIP
    """

    def __init__(
        self,
        embedding: Any,
        y: Any = None,
        *,
        names: Sequence[str] | None = None,
        images: Any = None,
        image_shape: tuple[int, int] | None = None,
        title: str | None = None,
        legend_title: str | None = None,
        aspect: str = "auto",
    ) -> None:
        self.embedding = read_embedding(embedding)
        self.y = y
        self.names = names_of(names, embedding, self.embedding.shape[1])
        self.images = None if images is None else read_images(images, image_shape, self.embedding.shape[0])
        self.title = title
        self.legend_title = key_title(legend_title, y)
        self.aspect = one_of("aspect", aspect, ("auto", "equal"))

    @classmethod
    def from_embedding(cls, embedding: Any, y: Any = None, *, ax: Any = None, **given: Any) -> EmbeddingDisplay:
        """Draw coordinates.

        Parameters
        ----------
        embedding : array-like of shape (n_points, n_components)
        y : array-like of shape (n_points,), optional
        ax : matplotlib Axes, optional
        **given
            Parameters of the class and of `plot`.

        Returns
        -------
        EmbeddingDisplay
        """
        drawing = {name: given.pop(name) for name in ("axes", "image_size", "legend") if name in given}
        return cls(embedding, y, **given).plot(ax, **drawing)

    @classmethod
    def from_estimator(
        cls, fitted: Any, y: Any = None, *, X: Any = None, ax: Any = None, **given: Any
    ) -> EmbeddingDisplay:
        """Draw what an estimator made of its training points, with its name on the axes.

        Parameters
        ----------
        fitted : fitted estimator
            A method, or a pipeline or search that ends in one.
        y : array-like of shape (n_points,), optional
        X : array-like of shape (n_points, n_features), optional
            Points to embed and draw instead of the training points.
        ax : matplotlib Axes, optional
        **given
            Parameters of the class and of `plot`. `aspect` is "equal" by itself for methods whose distances mean something: PCA and
            other orthogonal projections, MDS, Isomap, unfolding, diffusion maps.

        Returns
        -------
        EmbeddingDisplay
        """
        Y = embedding_of(fitted, X)
        return cls.from_embedding(Y, y, ax=ax, **told_by(fitted, Y) | given)

    def plot(
        self, ax: Any = None, *, axes: Sequence[int] | None = None, image_size: float = 0.07, legend: bool = True
    ) -> EmbeddingDisplay:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure, which pyplot does not know of, if not given.
        axes : sequence of int, optional
            The columns to draw, two, or three for a picture with depth. If not given: all, two by two, in up to six panels, or the first
            two where `ax` has room for no more.
        image_size : float, default=0.07
            Longer side of a picture as a share of the panel's width, as the figure is laid out by then: among several panels, draw
            pictures last.
        legend : bool, default=True

        Returns
        -------
        EmbeddingDisplay
        """
        d = self.embedding.shape[1]
        pairs = pairs_of(self.embedding, most_pairs(1) if ax is None else 1) if axes is None else [read_axes(axes, d)]
        if len(pairs[0]) == 3 and self.images is not None:
            raise InputError("Pictures are drawn on two axes only: give axes=(0, 1), or leave images= out.")
        colours = colours_of(self.y, self.embedding.shape[0])
        if len(pairs) == 1:
            self._one(ax, pairs[0], colours, legend)
        else:
            self._several(pairs, colours, legend)
        self.ax_, self.images_ = self.axes_[0], []
        if self.images is not None:  # when all panels have their sizes
            for panel, pair in zip(self.axes_, pairs, strict=True):
                Y = as_plane(self.embedding[:, pair])
                self.images_ += draw_images(panel, Y, self.images, colours, image_size, self.scatter_[0])
        return self

    def _one(self, ax: Any, columns: list[int], colours: Colours, legend: bool) -> None:
        """One panel, with its own legend beside it."""
        own, ax = ax is None, self._axes(ax, len(columns))
        self.scatter_ = self._points(ax, columns, colours, self.names, own)
        if self.title:
            ax.set_title(self.title, fontsize=11, color=ink())
        self.legend_, self.colorbar_ = key(ax, self.scatter_, colours, self.legend_title, legend)
        self.axes_, self.figure_ = [ax], ax.figure

    def _several(self, pairs: list[list[int]], colours: Colours, legend: bool) -> None:
        """A panel for each pair of axes, with names that tell them apart and one legend."""
        d, last = self.embedding.shape[1], pairs[-1][-1]
        figure, (panels,) = tiles(None, [len(pairs)], 3, wide=0.9 if self.y is not None else 0, high=0.4)
        names = self.names or [f"axis {column + 1}" for column in range(d)]
        drawn = [self._points(ax, pair, colours, names, False) for ax, pair in zip(panels, pairs, strict=True)]
        if self.title:
            figure.suptitle(self.title, fontsize=12, color=ink())
        if last < d - 1:
            beneath(figure, f"the first {last + 1} of {d} axes")
        self.scatter_, self.axes_, self.figure_ = [part for parts in drawn for part in parts], panels, figure
        told = (figure, panels, drawn[0][0], colours, self.legend_title)
        self.legend_, self.colorbar_ = shared_key(*told) if legend else (None, None)

    def _points(self, ax: Any, columns: list[int], colours: Colours, names: list[str], own: bool) -> list[Any]:
        """The points on some of their axes, under the names of these; small and pale where pictures come on top."""
        Y = self.embedding[:, columns] if len(columns) > 1 else as_plane(self.embedding)
        drawn = draw(ax, Y, colours, None, **{"s": 3, "alpha": 0.4} if self.images is not None else {})
        name_axes(ax, [names[column] for column in columns] if names else [])
        if len(columns) == 1:
            ax.set_ylabel(STRIP, fontsize=8, color=ink())
        elif self.aspect == "equal":
            equal(ax, own)
        return drawn

    def _axes(self, ax: Any, d: int) -> Any:
        if ax is None and d == 3:
            ax = new_axes(5.0, 4.0, projection="3d")
            ax.set_box_aspect(None, zoom=0.9)
            return ax
        if d == 3 and not hasattr(ax, "set_zlim"):
            raise InputError('Three axes need axes with depth: leave ax out, or make it with projection="3d".')
        return axes_of(ax)


def told_by(fitted: Any, Y: Any) -> dict[str, Any]:
    """What an estimator tells of the picture of an embedding: names of axes, whether distances mean something, a title."""
    return {
        "names": axis_names(fitted, read_embedding(Y).shape[1]),
        "aspect": "equal" if keeps_lengths(fitted) else "auto",
        "title": method_name(fitted),
    }


def scatter(embedding: Any, labels: Any = None, ax: Any = None, title: str | None = None) -> Any:
    """Draw an embedding: `EmbeddingDisplay` in short, without names on the axes.

    More than two axes are drawn two by two in panels, unless `ax` is given, which gets the first two. One axis is drawn as a strip. Classes
    get colours, beyond twelve together with shapes, and a legend, more than 12 different real numbers a continuous scale, missing
    labels grey. A few outliers that would squeeze all other points together stay outside the view, and their number is
    written in the corner.

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
        The panel, or the first of them; ``ax.figure`` has all.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from eigenspan import LDA
    >>> from eigenspan.plotting import scatter
    >>> X, y = load_iris(return_X_y=True)
    >>> ax = scatter(LDA(2).fit_transform(X, y), y, title="Iris")
    >>> ax.figure.savefig("iris.png")  # doctest: +SKIP
    """
    return EmbeddingDisplay(read_embedding(embedding), labels, title=title, legend_title="").plot(ax).ax_
