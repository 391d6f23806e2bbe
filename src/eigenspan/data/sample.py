"""Training data after validation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, Self, cast

import numpy as np

from .._compat import rows_of
from .._types import Index, Matrix
from ..numerics.nearest.row_lookup import Contraction
from .distorted_samples import Copies
from .rows.moments import Moments, Sums
from .x import XKind
from .y_values import Coordinates, YKind

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    X_co = TypeVar("X_co", bound=XKind, covariant=True, default=XKind)
    Y_co = TypeVar("Y_co", bound=YKind | None, covariant=True, default=Any)
else:  # typing.TypeVar has no defaults before Python 3.13
    from typing import TypeVar

    X_co, Y_co = TypeVar("X_co", covariant=True), TypeVar("Y_co", covariant=True)


@dataclass(frozen=True, eq=False)
class Sample(Generic[X_co, Y_co]):
    """The data that a method is fitted to.

    ``Sample[Points, Classes]`` is the type of points with labels; ``Sample`` alone accepts every kind.

    Attributes
    ----------
    x : Points, Distances, Affinities or KernelValues
    y : Classes, Numbers, Actions, Coordinates, … or None
        The kind of y that the method declares.
    table : ndarray or sparse matrix
        X after validation, in the precision of the results.
    given : object
        y as the user passed it, for estimators that are fitted on the way.
    rows : ndarray of int or None
        Row numbers in X, if this is a subset.
    features : Features or None
        A basis over X that was built before, for fits that differ in other parameters only.
    graph : NeighbourGraph or None
        The neighbour graph of these points, once it is built.
    """

    x: X_co
    y: Y_co
    table: Matrix = None
    given: Any = None
    rows: Index | None = None
    features: Any = None
    graph: Any = None
    #: Statistics of rows that arrived in parts, where these are all that is left of them.
    past: Any = None

    @cached_property
    def sums(self) -> Sums:
        """Moments of the rows by class, in one pass, or in two where products of the rows would lose digits."""
        if self.past is not None or self.y is not None:
            return Sums.by_class(self.x.values, cast(Any, self.y)) if self.past is None else self.past
        return Sums.without_classes(Moments.read(self.x.values))

    @property
    def n(self) -> int:
        return int(self.x.n)

    @property
    def places(self) -> Index:
        """Row numbers of the points in X."""
        return np.arange(self.n) if self.rows is None else self.rows

    def found(self, rows: Index) -> Index:
        """Return the points that equal the given rows of X; rows without an equal point are ignored."""
        if self.x.pairs:
            return np.flatnonzero(np.isin(self.places, rows))
        found = self.x.known()(self.table[rows])
        return np.unique(found[found >= 0])

    def distinct(self, groups: Contraction) -> Self:
        """Return one row per group of equal rows, with the number of rows as its mass."""
        some: Any = self.take(groups.first)
        known = self.y.distinct(groups) if isinstance(self.y, Coordinates) else some.y
        return cast(Self, replace(some, x=replace(some.x, masses=groups.masses), y=known))

    def take(self, rows: Index) -> Self:
        """Return some of the points with their y."""
        some: Any = {"x": self.x.take(rows), "y": None if self.y is None else self.y.take(rows)}
        places = rows if self.rows is None else self.rows[rows]
        return replace(self, **some, rows=places, features=None, graph=None)

    def repeated(self, rows: Index) -> Self:
        """Return these rows, which may repeat, with y as it was given for them. X holds points."""
        some, x, given = self.take(rows), cast(Any, self.x), self.given
        if isinstance(some.y, Copies):
            given = some.y.tables
        elif isinstance(given, tuple):
            given = tuple(rows_of(view, rows) for view in given)
        elif given is not None:
            given = rows_of(given, rows)
        return replace(some, x=replace(x.take(rows), one_pass=x.one_pass), given=given)
