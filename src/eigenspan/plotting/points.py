"""One embedding as a cloud of points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import InputError
from ._canvas import axes_of, equal, ink, name_axes, new_axes
from ._cloud import as_plane, draw, draw_images, key, read_images
from ._colours import colours_of
from ._read import axis_names, embedding_of, keeps_lengths, key_title, method_name, names_of, one_of, read_embedding

#: Said of the strip that one axis makes.
STRIP = "no meaning: spread at random"


class EmbeddingDisplay:
    """An embedding as points.

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
    figure_ : matplotlib Figure
    scatter_ : list of PathCollection
        The points, one collection for each shape.
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
        self, ax: Any = None, *, axes: Sequence[int] = (0, 1), image_size: float = 0.07, legend: bool = True
    ) -> EmbeddingDisplay:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure, which pyplot does not know of, if not given.
        axes : sequence of int, default=(0, 1)
            The columns to draw, two, or three for a picture with depth.
        image_size : float, default=0.07
            Longer side of a picture as a share of the panel's width, as the figure is laid out by then: among several panels, draw
            pictures last.
        legend : bool, default=True

        Returns
        -------
        EmbeddingDisplay
        """
        columns, own = self._columns(axes), ax is None
        ax = self._axes(ax, len(columns))
        Y = self.embedding[:, columns] if len(columns) > 1 else as_plane(self.embedding)
        colours = colours_of(self.y, Y.shape[0])
        pictures = self.images is not None
        self.scatter_ = draw(ax, Y, colours, self.title, **{"s": 3, "alpha": 0.4} if pictures else {})
        name_axes(ax, [self.names[column] for column in columns] if self.names else [])
        if len(columns) == 1:
            ax.set_ylabel(STRIP, fontsize=8, color=ink())
        elif self.aspect == "equal":
            equal(ax, own)
        self.legend_, self.colorbar_ = key(ax, self.scatter_, colours, self.legend_title, legend)
        self.images_ = draw_images(ax, Y, self.images, colours, image_size, self.scatter_[0]) if pictures else []
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _columns(self, axes: Sequence[int]) -> list[int]:
        """The columns to draw: one where there is but one."""
        d = self.embedding.shape[1]
        if d == 1:
            return [0]
        columns = [int(axis) for axis in axes]
        if len(columns) not in (2, 3) or len(set(columns)) < len(columns) or not all(0 <= c < d for c in columns):
            raise InputError(
                f"axes={tuple(axes)} must name two or three different columns of the embedding, which has 0 to {d - 1}."
            )
        if len(columns) == 3 and self.images is not None:
            raise InputError("Pictures are drawn on two axes only: give axes=(0, 1), or leave images= out.")
        return columns

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
    """Draw the first two axes of an embedding: `EmbeddingDisplay` in short, without names on the axes.

    An embedding with one axis is drawn as a strip. Classes get colours, beyond twelve together with shapes, and a legend, more than 12
    different real numbers a continuous scale, missing labels grey. A few outliers that would squeeze all other points together
    stay outside the view, and their number is written in the corner.

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
    return EmbeddingDisplay(read_embedding(embedding), labels, title=title, legend_title="").plot(ax).ax_
