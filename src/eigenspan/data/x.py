"""What X holds: points, or what is known of pairs of points. Each kind has its own neighbours, look-up and subset."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._checks import refuse_unless_sizes
from ..errors import DimensionError, GraphError, InputError, KernelError
from ..numerics.nearest.pair_matrices import settled_rows
from ..numerics.nearest.row_lookup import Contraction, RowIndex, ZeroDistance, all_equal
from .pair_tables import accept_distances
from .rows.storage import Elsewhere, refuse_out_of_range

Array = NDArray[np.float64]
Index = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Points:
    """Coordinates, a row a point: dense or sparse, in memory or in a file.

    Attributes
    ----------
    values : ndarray or csr_array of shape (n, D)
    one_pass : bool
        Not looked through for NaN and infinity yet: the one pass over the rows will do it.
    masses : ndarray of shape (n,) or None
        How many equal rows each row stands for; None where each stands for itself alone.
    """

    values: Any
    one_pass: bool = False
    masses: Array | None = None

    pairs: ClassVar[bool] = False

    @property
    def n(self) -> int:
        return int(self.values.shape[0])

    @property
    def count(self) -> int:
        """Rows that these stand for, copies counted."""
        return self.n if self.masses is None else int(self.masses.sum())

    @property
    def points(self) -> Any:
        """The coordinates; None where pairs are all that is known."""
        return self.values

    @property
    def arriving(self) -> Any:
        """The rows as new points have them."""
        return self.values

    @property
    def under_kernel(self) -> Any:
        """What a kernel is taken of."""
        return self.values

    @property
    def lazy(self) -> bool:
        """The rows lie elsewhere, and are worked on there."""
        return isinstance(self.values, Elsewhere)

    def take(self, rows: Index) -> Points:
        """Some of the points; in memory, wherever the others are."""
        if self.lazy:
            found = self.values[rows]
            refuse_out_of_range(found)
            return Points(as_rows(found))
        return Points(self.values[rows], masses=None if self.masses is None else self.masses[rows])

    @cached_property
    def _index(self) -> RowIndex:
        return RowIndex.build(self.values)

    def known(self) -> Any:
        """The look-up of training points among new ones."""
        return self._index

    def copies(self) -> Contraction | None:
        """The rows as groups of equal ones; None where all differ."""
        return self._index.copies()

    def coordinates(self, use: str, instead: str) -> Any:
        """The coordinates that `use` needs; pairs have none, and `instead` is what to do there."""
        return self.values

    def refuse_one_place(self) -> None:
        if all_equal(self.values):
            raise DimensionError(f"All {self.n} rows coincide: there are no dimensions to show.")

    @staticmethod
    def accept_new(values: Any) -> Any:
        """Rows of new points; any numbers can be coordinates."""
        return values


@dataclass(frozen=True, eq=False)
class Pairs:
    """A square table over the training points; new points arrive as rows over all of them.

    Attributes
    ----------
    whole : ndarray or csr_array of shape (n, n)
        The table as it was given.
    rows : ndarray of int or None
        The points that are left of it, None for all.
    """

    whole: Any
    rows: Index | None = None

    pairs: ClassVar[bool] = True
    lazy: ClassVar[bool] = False
    one_pass: ClassVar[bool] = False
    points: ClassVar[None] = None
    masses: ClassVar[None] = None
    noun: ClassVar[str]
    _distances: ClassVar[bool] = False

    @property
    def n(self) -> int:
        return int(self.whole.shape[0]) if self.rows is None else self.rows.size

    @property
    def count(self) -> int:
        return self.n

    def copies(self) -> None:
        """Every point of a table counts for itself, also where a distance is zero."""

    @cached_property
    def values(self) -> Any:
        """The table among the points that are left."""
        return self.whole if self.rows is None else self.whole[self.rows][:, self.rows]

    @property
    def under_kernel(self) -> Any:
        """Itself: the values are there already."""
        return self

    @property
    def arriving(self) -> Any:
        return self.whole if self.rows is None else self.whole[self.rows]

    def take(self, rows: Index) -> Any:
        return replace(self, rows=rows if self.rows is None else self.rows[rows])

    def coordinates(self, use: str, instead: str) -> Any:
        raise InputError(f'{use}, and X holds {self.noun} instead (graph= or metric= is "precomputed"): {instead}.')

    def refuse_one_place(self) -> None:
        """Whether points coincide is for those to find who look at the numbers."""

    @classmethod
    def read(cls, values: Any) -> Any:
        """The table as it was given, in double precision."""
        return cls(as_rows(values))

    @classmethod
    def accept_new(cls, values: Any) -> Any:
        """Rows of new points, rounding errors settled; refused where they are negative or NaN."""
        values, what = settled_rows(values, distances=cls._distances), cls.noun
        where = f"Rows of new points hold their {what} to the points that were fitted."
        refuse_unless_sizes(values.data if sp.issparse(values) else values, what.capitalize(), where, GraphError)
        return values


@dataclass(frozen=True, eq=False)
class Distances(Pairs):
    """Distances between points, dense, or sparse with those unknown left out."""

    noun: ClassVar[str] = "distances"
    _distances: ClassVar[bool] = True

    @classmethod
    def read(cls, values: Any) -> Distances:
        return cls(accept_distances(as_rows(values)))

    def known(self) -> Any:
        return ZeroDistance(self.rows)


@dataclass(frozen=True, eq=False)
class Affinities(Pairs):
    """Weights of edges, zero or absent where there is none."""

    noun: ClassVar[str] = "affinities"

    @classmethod
    def read(cls, values: Any) -> Affinities:
        return cls(settled_rows(as_rows(values), distances=False))

    def known(self) -> Any:
        """By the whole row: nothing else tells that an affinity is one with the point itself."""
        return replace(RowIndex.build(self.arriving), points=None)


@dataclass(frozen=True, eq=False)
class KernelValues(Pairs):
    """Inner products of points in the feature space of a kernel."""

    noun: ClassVar[str] = "kernel values"

    def coordinates(self, use: str, instead: str) -> Any:
        raise KernelError(f"{use}, and X holds {self.noun} instead: {instead}.")

    @classmethod
    def accept_new(cls, values: Any) -> Any:
        """Rows of new points; any numbers can be inner products."""
        return values


def as_rows(X: Any, as_they_are: bool = False) -> Any:
    """Rows in double precision, unless dense ones may stay as they are; sparse ones as a CSR array."""
    if sp.issparse(X):
        return sp.csr_array(X, dtype=np.float64)
    return X if as_they_are or X.dtype == np.float64 else X.astype(np.float64)
