"""Plot of one embedding as a cloud of points."""

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

#: Label of the vertical axis of a one-dimensional embedding.
STRIP = "random heights, no meaning"


class EmbeddingDisplay:
    """An embedding as points; axes are drawn in pairs: the first and second, the third and fourth, and so on.

    The first two axes of a spectral method rarely show everything. If there are more, and neither `axes` nor `ax` is given, each pair gets
    a panel, at most six; a line states how many axes are left out. `PairsDisplay` shows all pairs of a few axes.

    Classes get a legend and colours that people with deficient colour vision can distinguish, combined with shapes beyond twelve classes.
    More than 12 distinct real numbers, or 50 whole numbers, get a colour bar. Points without a label are grey. An embedding with one axis
    is drawn with random heights. A few outliers that would compress all other points are not shown, and their number is written in the
    corner. With `images`, images are drawn on as many points as fit.

    Parameters
    ----------
    embedding : array-like of shape (n_points, n_components)
    y : array-like of shape (n_points,), optional
        Classes or numbers.
    names : sequence of str, optional
        Names of the axes; default: the columns of `embedding` if it is a pandas or polars table.
    images : array-like of shape (n_points, height, width) or (n_points, height, width, 3), optional
        One image per point.
    image_shape : (height, width), optional
        Shape of the images if the rows of `images` hold their pixels.
    title : str, optional
    legend_title : str, optional
        Default: the name of `y`, if it is a pandas or polars column.
    aspect : {"auto", "equal"}, default="auto"
        "equal" gives both axes the same scale, for embeddings whose distances are meaningful.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The panel, or the first of several.
    axes_ : list of matplotlib Axes
        All panels.
    figure_ : matplotlib Figure
    scatter_ : list of PathCollection
        The points, one collection for each panel and shape.
    images_ : list of AnnotationBbox
        The images, if any.
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
        """Draw an embedding.

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
        """Draw the training points of a fitted estimator, with its name on the axes.

        Parameters
        ----------
        fitted : fitted estimator
            A method, or a pipeline or search that ends in one.
        y : array-like of shape (n_points,), optional
        X : array-like of shape (n_points, n_features), optional
            Points to embed and draw instead of the training points.
        ax : matplotlib Axes, optional
        **given
            Parameters of the class and of `plot`. `aspect` defaults to "equal" for methods whose distances are meaningful: PCA and other
            orthogonal projections, MDS, Isomap, unfolding, diffusion maps.

        Returns
        -------
        EmbeddingDisplay
        """
        Y = embedding_of(fitted, X)
        return cls.from_embedding(Y, y, ax=ax, **display_options_of(fitted, Y) | given)

    def plot(
        self, ax: Any = None, *, axes: Sequence[int] | None = None, image_size: float = 0.07, legend: bool = True
    ) -> EmbeddingDisplay:
        """Draw the points.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Panel to draw on; default: a new figure, without pyplot.
        axes : sequence of int, optional
            Columns to draw: two, or three for a 3-D picture. Default: all, in pairs, in at most six panels; only the first two if `ax` is
            given.
        image_size : float, default=0.07
            Longer side of an image as a share of the panel width in the current layout of the figure. With several panels, draw images
            last.
        legend : bool, default=True

        Returns
        -------
        EmbeddingDisplay
        """
        d = self.embedding.shape[1]
        pairs = pairs_of(self.embedding, most_pairs(1) if ax is None else 1) if axes is None else [read_axes(axes, d)]
        if len(pairs[0]) == 3 and self.images is not None:
            raise InputError("Images can be drawn on two axes only: pass axes=(0, 1), or omit images=.")
        colours = colours_of(self.y, self.embedding.shape[0])
        if len(pairs) == 1:
            self._one(ax, pairs[0], colours, legend)
        else:
            self._several(pairs, colours, legend)
        self.ax_, self.images_ = self.axes_[0], []
        if self.images is not None:  # only now do all panels have their final sizes
            for panel, pair in zip(self.axes_, pairs, strict=True):
                Y = as_plane(self.embedding[:, pair])
                self.images_ += draw_images(panel, Y, self.images, colours, image_size, self.scatter_[0])
        return self

    def _one(self, ax: Any, columns: list[int], colours: Colours, legend: bool) -> None:
        """Draw one panel with its own legend."""
        own, ax = ax is None, self._axes(ax, len(columns))
        self.scatter_ = self._points(ax, columns, colours, self.names, own)
        if self.title:
            ax.set_title(self.title, fontsize=11, color=ink())
        self.legend_, self.colorbar_ = key(ax, self.scatter_, colours, self.legend_title, legend)
        self.axes_, self.figure_ = [ax], ax.figure

    def _several(self, pairs: list[list[int]], colours: Colours, legend: bool) -> None:
        """Draw a panel with labelled axes for each pair, and one legend for all."""
        d, last = self.embedding.shape[1], pairs[-1][-1]
        figure, (panels,) = tiles(None, [len(pairs)], 3, wide=0.9 if self.y is not None else 0, high=0.4)
        names = self.names or [f"axis {column + 1}" for column in range(d)]
        drawn = [self._points(ax, pair, colours, names, False) for ax, pair in zip(panels, pairs, strict=True)]
        if self.title:
            figure.suptitle(self.title, fontsize=12, color=ink())
        if last < d - 1:
            beneath(figure, f"only the first {last + 1} of {d} axes are shown")
        self.scatter_, self.axes_, self.figure_ = [part for parts in drawn for part in parts], panels, figure
        legend_of = (figure, panels, drawn[0][0], colours, self.legend_title)
        self.legend_, self.colorbar_ = shared_key(*legend_of) if legend else (None, None)

    def _points(self, ax: Any, columns: list[int], colours: Colours, names: list[str], own: bool) -> list[Any]:
        """Draw the points on the given axes, with their names; small and pale if images are drawn over them."""
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
            raise InputError('Three axes need a 3-D panel: omit ax, or create it with projection="3d".')
        return axes_of(ax)


def display_options_of(fitted: Any, Y: Any) -> dict[str, Any]:
    """Return the display parameters that follow from an estimator: names of axes, aspect and title."""
    return {
        "names": axis_names(fitted, read_embedding(Y).shape[1]),
        "aspect": "equal" if keeps_lengths(fitted) else "auto",
        "title": method_name(fitted),
    }


def scatter(embedding: Any, labels: Any = None, ax: Any = None, title: str | None = None) -> Any:
    """Draw an embedding: a short form of `EmbeddingDisplay`, without names on the axes.

    More than two axes are drawn in pairs in several panels; if `ax` is given, only the first two are drawn, on `ax`. One axis is drawn with
    random heights. Classes get colours, combined with shapes beyond twelve classes, and a legend; more than 12 distinct real numbers get a
    continuous scale; points without a label are grey. A few outliers that would compress all other points are not shown, and their number
    is written in the corner.

    Parameters
    ----------
    embedding : array-like of shape (n_points, n_components)
    labels : array-like of shape (n_points,), optional
    ax : matplotlib Axes, optional
        Panel to draw on; default: a new figure, ``ax.figure``.
    title : str, optional

    Returns
    -------
    matplotlib Axes
        The panel, or the first of several; ``ax.figure`` has all of them.

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
