"""Plot of an embedding over its neighbour graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..errors import InputError
from ._canvas import QUIET, ink, note
from ._read import Array, attribute, embedding_of
from .point_cloud import EmbeddingDisplay, display_options_of

#: Maximum number of edges drawn, not counting the long ones.
MOST_EDGES = 5_000


class GraphDisplay:
    """An embedding over the edges of its neighbour graph; edges that are long in the picture are highlighted.

    Long edges show where the embedding is torn, or where the graph has a short circuit.

    Parameters
    ----------
    embedding : array-like of shape (n_points, n_components)
        Two axes are drawn.
    graph : NeighbourGraph or sparse matrix of shape (n_points, n_points)
        Entries are edges; an edge in both directions is drawn once.
    y : array-like of shape (n_points,), optional
        Classes or numbers.
    long : float, default=4
        Edges longer in the picture than this many times the median edge are highlighted.
    **given
        Parameters of `EmbeddingDisplay`.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    edges_, long_ : LineCollection
        Edges of ordinary length, and long ones.
    n_edges_, n_long_ : int
        Numbers of all edges and of long ones. At most 5,000 of the ordinary ones are drawn.
    points_ : EmbeddingDisplay

    Examples
    --------
    >>> from sklearn.datasets import make_swiss_roll
    >>> from eigenspan import Isomap
    >>> from eigenspan.plotting import GraphDisplay
    >>> X, t = make_swiss_roll(300, random_state=0)
    >>> display = GraphDisplay.from_estimator(Isomap(2, n_neighbors=8).fit(X), t)
    >>> display.n_edges_ >= 300 * 8 / 2
    True
    """

    def __init__(self, embedding: Any, graph: Any, y: Any = None, *, long: float = 4.0, **given: Any) -> None:
        self.points_ = EmbeddingDisplay(embedding, y, **given)
        self.pairs = _pairs(graph, self.points_.embedding.shape[0])
        if not long > 0:
            raise InputError(
                f"long={long!r} must be positive: edges longer than this many times the median are highlighted."
            )
        self.long = float(long)

    @classmethod
    def from_estimator(cls, fitted: Any, y: Any = None, *, ax: Any = None, **given: Any) -> GraphDisplay:
        """Draw the embedding of a fitted estimator and its ``graph_``.

        Parameters
        ----------
        fitted : fitted estimator with ``graph_``
        y : array-like of shape (n_points,), optional
        ax : matplotlib Axes, optional
        **given
            Parameters of the class.

        Returns
        -------
        GraphDisplay
        """
        graph = attribute(fitted, "graph_", "it was fitted without a neighbour graph.")
        Y = embedding_of(fitted)
        return cls(Y, graph, y, **display_options_of(fitted, Y) | given).plot(ax)

    def plot(self, ax: Any = None, *, axes: Sequence[int] = (0, 1), legend: bool = True) -> GraphDisplay:
        """Draw the points and the edges.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Panel to draw on; default: a new figure, without pyplot.
        axes : pair of int, default=(0, 1)
            The columns of the embedding to draw.
        legend : bool, default=True

        Returns
        -------
        GraphDisplay
        """
        if self.points_.embedding.shape[1] < 2 or len(axes) != 2:
            raise InputError(
                "A graph is drawn on two axes: embed the points with two components or more, and pass two axes, such as axes=(0, 1)."
            )
        drawn = self.points_.plot(ax, axes=axes, legend=legend)
        ends = drawn.embedding[:, list(axes)][self.pairs]
        lengths = np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1)
        far = lengths > self.long * np.median(lengths) if lengths.size else np.zeros(0, dtype=bool)
        near = np.flatnonzero(~far)
        if near.size > MOST_EDGES:
            near = np.random.default_rng(0).choice(near, MOST_EDGES, replace=False)
            note(drawn.ax_, f"{near.size:,} of {int((~far).sum()):,} edges drawn")
        self.edges_ = _lines(drawn.ax_, ends[near], color=QUIET, linewidths=0.5, zorder=0.5)
        self.long_ = _lines(drawn.ax_, ends[far], color=ink(), linewidths=0.7, alpha=0.8, zorder=0.6)
        self.n_edges_, self.n_long_ = len(ends), int(far.sum())
        if self.n_long_:
            note(drawn.ax_, f"{self.n_long_} edges over {self.long:g} × the median length")
        self.ax_, self.figure_ = drawn.ax_, drawn.figure_
        return self


def _lines(ax: Any, ends: Array, **style: Any) -> Any:
    from matplotlib.collections import LineCollection

    return ax.add_collection(LineCollection(list(ends), **style), autolim=False)


def _pairs(graph: Any, n: int) -> Any:
    """Return the two ends of every edge, each edge once, as rows of the embedding."""
    rows = getattr(graph, "rows", None)
    G = graph.undirected() if hasattr(graph, "undirected") else graph
    if not sp.issparse(G):
        raise InputError(
            f"graph must be a sparse matrix or the graph_ of a fitted estimator; got {type(graph).__name__}."
        )
    G, nodes = sp.coo_array(G), n if rows is None else len(rows)
    if G.shape != (nodes, nodes) or (rows is not None and np.max(rows, initial=0) >= n):
        raise InputError(
            f"The graph has shape {G.shape}, but the embedding has {n} points: both must have the same points."
        )
    low, high = np.minimum(G.row, G.col).astype(np.int64), np.maximum(G.row, G.col)
    pairs = np.column_stack(np.divmod(np.unique((low * nodes + high)[low < high]), max(nodes, 1)))
    return pairs if rows is None else np.asarray(rows)[pairs]
