"""Rows that repeat: one point stands for equal rows, with their number as its mass, and they share its place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._diagnostics import note
from ...data import Sample
from ...errors import DuplicateWarning, GraphError, warn
from ...graphs import NeighbourGraph
from ...numerics.nearest.row_lookup import Contraction
from ...problem import Fitted

Index = NDArray[np.intp]

#: Share of an embedding's extent within which copies are in one place but for rounding.
_ROUNDING = 1e-9


def over_distinct(estimator: Any, sample: Sample, fit: Callable[[Sample], Fitted], *, movable: bool = True) -> Fitted:
    """``fit`` to the distinct rows of the sample, which its form must count as often as ``x.masses`` says.

    A graph that was given joins every row for itself. There the fit is to all rows, and equal ones are brought together afterwards,
    if they may be moved at all.
    """
    groups = sample.x.copies()
    if groups is None:
        return fit(sample)
    sample.x.refuse_one_place()
    note(distinct_rows=groups.first.size)
    if not _is_over(estimator.graph, groups):
        return _brought_together(fit(sample), groups) if movable else fit(sample)
    _check_neighbours(estimator, groups)
    fitted: Any = fit(sample.distinct(groups))
    return within(groups.first, replace(fitted, embedding=fitted.embedding[groups.labels]))


def within(rows: Index, fitted: Fitted) -> Fitted:
    """A fit to some rows, its graph told which of all rows the nodes are."""
    graph = fitted.attributes["graph_"]
    return fitted.having(graph_=replace(graph, rows=rows if graph.rows is None else rows[graph.rows]))


def _is_over(graph: Any, groups: Contraction) -> bool:
    """The graph is yet to be built of whatever points there are, or was built of the distinct rows before."""
    if isinstance(graph, NeighbourGraph):
        return graph.rows is not None and np.array_equal(graph.rows, groups.first)
    return graph is None or hasattr(graph, "build")


def _check_neighbours(estimator: Any, groups: Contraction) -> None:
    """Refuse more neighbours than there are other rows that differ."""
    k: Any = getattr(estimator if estimator.graph is None else estimator.graph, "n_neighbors", None)
    n, g = groups.labels.size, groups.first.size
    if isinstance(k, (int, np.integer)) and g <= k < n:
        raise GraphError(
            f"n_neighbors={k} must lie between 1 and {g - 1}: of the {n} rows only {g} are distinct, and a copy of a row is no neighbour "
            f"of it. Use n_neighbors <= {g - 1}, or more data."
        )


def _means(Y: Any, groups: Contraction) -> Any:
    """For every row the mean place of the rows equal to it."""
    sums = np.zeros((groups.first.size, Y.shape[1]))
    np.add.at(sums, groups.labels, Y)
    return (sums / groups.masses[:, None])[groups.labels]


def _mapped(fitted: Fitted, places: Any) -> Any:
    """The map of a fit, which sends the training rows to these places where it looks them up."""
    kept, map_ = fitted.attributes["graph_"].rows, fitted.map
    return map_ if map_.embedding is None else replace(map_, embedding=places if kept is None else places[kept])


def told_apart(fitted: Fitted, sample: Sample) -> Fitted:
    """A fit whose labels may put equal rows in different places, which a map of x alone cannot tell apart: it sends them to the mean."""
    groups = sample.x.copies()
    if groups is None:
        return fitted
    Y: Any = fitted.embedding
    shared = _means(Y, groups)
    apart = np.abs(Y - shared).max(axis=1) > _ROUNDING * float(np.abs(Y).max())
    if not apart.any():
        return fitted
    warn(
        f"{int(apart.sum())} of {len(Y)} rows coincide with rows of another label and have places of their own in embedding_. transform "
        "sees x alone and cannot tell them apart: it returns the mean of their places. Drop such rows, or correct their labels, if the "
        "two must agree.",
        DuplicateWarning,
    )
    return replace(fitted, map=_mapped(fitted, shared))


def _brought_together(fitted: Fitted, groups: Contraction) -> Fitted:
    """Equal rows at the mean of their places, for the map too."""
    Y: Any = fitted.embedding
    shared = _means(Y, groups)
    n, apart = groups.labels.size, float(np.abs(Y - shared).max())
    if apart > _ROUNDING * float(np.abs(Y).max()):
        warn(
            f"{n - groups.first.size} of {n} rows repeat others, but graph= joins every row for itself and gives copies places of their "
            f"own, up to {apart:.2g} from their mean (the embedding reaches {np.abs(Y).max():.2g}): they were brought there. Drop repeated "
            "rows, or pass n_neighbors=, KNN(...) or Radius(...): a graph built here counts each distinct row as often as it occurs.",
            DuplicateWarning,
        )
    return replace(fitted, embedding=shared, map=_mapped(fitted, shared))
