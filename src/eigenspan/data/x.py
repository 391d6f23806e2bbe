"""The kinds of X: points, or a square table over pairs of points. Each kind has its own neighbours, look-up and subset."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, NoReturn, Self, TypeAlias

import numpy as np
import scipy.sparse as sp

from .._checks import refuse_unless_sizes
from .._diagnostics import stage
from .._types import Array, Index, Matrix, is_sparse
from ..errors import DimensionError, GraphError, InputError, KernelError
from ..numerics.nearest.pair_matrices import settled_rows
from ..numerics.nearest.row_lookup import Contraction, RowIndex, ZeroDistance, all_equal
from .pair_tables import accept_columns, accept_distances
from .rows.storage import Elsewhere, refuse_out_of_range

#: Returns the index of the equal training point for each row, -1 if there is none.
Lookup: TypeAlias = Callable[[Matrix], Index]


@dataclass(frozen=True, eq=False)
class Points:
    """Coordinates, one row per point: dense or sparse, in memory, in a file or in the blocks of a Dask collection.

    Attributes
    ----------
    values : ndarray, csr_array or LazyRows of shape (n, D)
    one_pass : bool
        The values have not been checked for NaN and infinity: the single pass over the rows checks them.
    masses : ndarray of shape (n,) or None
        Number of equal rows that each row represents, or its weight; None if it is one for every row.
    """

    values: Any
    one_pass: bool = False
    masses: Array | None = None

    pairs: ClassVar[Literal[False]] = False

    @property
    def n(self) -> int:
        return int(self.values.shape[0])

    @property
    def count(self) -> float:
        """Number of rows that these represent, duplicates included: the sum of their masses."""
        return self.n if self.masses is None else float(self.masses.sum())

    @property
    def points(self) -> Matrix:
        """The coordinates; None for tables over pairs."""
        return self.values

    @property
    def arriving(self) -> Matrix:
        """The rows of these points in the format in which new points are passed to the map."""
        return self.values

    @property
    def under_kernel(self) -> Matrix:
        """The argument of a kernel."""
        return self.values

    @property
    def order(self) -> int:
        """Order of the largest dense matrix of a fit: rows outside memory are only added up."""
        return int(self.values.width if self.lazy else max(self.values.shape))

    def placed(self, function: Callable[[Matrix], Array]) -> Array | None:
        """Return the images of the points; None for rows outside memory, which are placed when their images are computed."""
        if self.lazy:
            return None
        with stage("placing"):
            return function(self.values)

    def refuse_elsewhere(self, name: str) -> None:
        """Raise for rows outside memory: `name` is the parameter that fits some of them."""
        if self.lazy:
            raise InputError(
                f"X is a Dask collection, and the neighbour graph of all its points must be built in one process. Use {name}=m to "
                f"fit m of the {self.n} rows and place all others by the map, in blocks, or pass X.compute() if it fits into memory."
            )

    @property
    def lazy(self) -> bool:
        """Whether the rows are in the blocks of a Dask collection."""
        return isinstance(self.values, Elsewhere)

    def take(self, rows: Index) -> Points:
        """Return some of the points, in memory."""
        if self.lazy:
            found = self.values[rows]
            refuse_out_of_range(found)
            return Points(as_rows(found))
        return Points(self.values[rows], masses=None if self.masses is None else self.masses[rows])

    @cached_property
    def _index(self) -> RowIndex:
        return RowIndex.build(self.values)

    def known(self) -> Lookup:
        """Return the look-up of training points among new ones."""
        return self._index

    def copies(self) -> Contraction | None:
        """Return the groups of equal rows with their masses; None if all rows are distinct and have no masses."""
        groups = self._index.copies()
        if self.masses is None:
            return groups
        each = np.arange(self.n)
        return replace(Contraction(each, each) if groups is None else groups, weights=self.masses)

    def coordinates(self, use: str, instead: str) -> Matrix:
        """Return the coordinates, which `use` needs. Tables over pairs raise an error that recommends `instead`."""
        return self.values

    def refuse_one_place(self) -> None:
        """Raise if all rows are equal."""
        if all_equal(self.values):
            raise DimensionError(f"All {self.n} rows coincide: there are no dimensions to show.")

    @staticmethod
    def accept_new(values: Matrix) -> Matrix:
        """Return rows of new points unchanged: any numbers can be coordinates."""
        return values


@dataclass(frozen=True, eq=False)
class Pairs:
    """A square table over the training points; new points arrive as rows over all of them.

    Attributes
    ----------
    whole : ndarray or csr_array of shape (n, n)
        The table as it was given.
    rows : ndarray of int or None
        Indices of the points that are left, None for all.
    """

    whole: Matrix
    rows: Index | None = None

    pairs: ClassVar[Literal[True]] = True
    lazy: ClassVar[Literal[False]] = False
    one_pass: ClassVar[Literal[False]] = False
    points: ClassVar[None] = None
    masses: ClassVar[None] = None
    noun: ClassVar[str]
    _distances: ClassVar[bool] = False

    @property
    def n(self) -> int:
        return int(self.whole.shape[0]) if self.rows is None else self.rows.size

    count = n

    @property
    def order(self) -> int:
        """Order of the largest dense matrix of a fit."""
        return self.n

    def placed(self, function: Callable[[Matrix], Array]) -> Array:
        """Return the images of the points."""
        with stage("placing"):
            return function(self.arriving)

    def refuse_elsewhere(self, name: str) -> None:
        """Accept the table, which is in memory."""

    def copies(self) -> None:
        """Return None: points of a table are not merged, even if their distance is zero."""

    @cached_property
    def values(self) -> Any:
        """The table among the points that are left."""
        return self.whole if self.rows is None else self.whole[self.rows][:, self.rows]

    @property
    def under_kernel(self) -> Self:
        """The table itself, which holds the values of the kernel."""
        return self

    @property
    def arriving(self) -> Matrix:
        return self.whole if self.rows is None else self.whole[self.rows]

    def take(self, rows: Index) -> Self:
        return replace(self, rows=rows if self.rows is None else self.rows[rows])

    def known(self) -> Lookup:
        raise NotImplementedError

    def coordinates(self, use: str, instead: str) -> NoReturn:
        raise InputError(
            f'{use}, and X holds {self.noun} instead (graph= or metric= is "precomputed", or a function of two objects): {instead}.'
        )

    def refuse_one_place(self) -> None:
        """Accept any table: the methods that use it check whether all points coincide."""

    @classmethod
    def read(cls, values: Matrix) -> Self:
        """Return the table as it was given, in double precision."""
        return cls(as_rows(values))

    @classmethod
    def accept_new(cls, values: Matrix) -> Matrix:
        """Return rows of new points without rounding errors; raise if values are negative or NaN."""
        values, what = settled_rows(values, distances=cls._distances), cls.noun
        where = f"Rows of new points hold their {what} to the points that were fitted."
        refuse_unless_sizes(values.data if is_sparse(values) else values, what.capitalize(), where, GraphError)
        return values


@dataclass(frozen=True, eq=False)
class Distances(Pairs):
    """Distances between points: dense, or sparse without the unknown ones."""

    noun: ClassVar[str] = "distances"
    _distances: ClassVar[bool] = True

    @classmethod
    def read(cls, values: Matrix) -> Self:
        return cls(accept_distances(as_rows(values)))

    def known(self) -> Lookup:
        return ZeroDistance(self.rows)


@dataclass(frozen=True, eq=False)
class LandmarkDistances(Distances):
    """Distances from n points (rows) to q landmarks (columns)."""

    @classmethod
    def read(cls, values: Matrix) -> Self:
        return cls(accept_columns(as_rows(values)))

    def among(self, landmarks: Index | Array) -> Array:
        """Return the q×q distances among the landmarks, which are given as such or by their rows in X."""
        n, q = self.whole.shape
        rows = landmarks.ndim == 1
        if landmarks.shape != ((q,) if rows else (q, q)):
            found = f"names {landmarks.size} rows" if rows else f"has shape {landmarks.shape}"
            raise GraphError(
                f"X holds distances from {n} points to {q} landmarks, but landmarks= {found}. {_LANDMARK_ADVICE}"
            )
        if not np.isfinite(landmarks).all():
            raise GraphError("The distances landmarks= must be finite numbers; some are NaN or infinite.")
        try:
            return np.asarray(accept_distances(self.whole[landmarks] if rows else landmarks))
        except GraphError as refusal:
            raise GraphError(
                f"The distances among the {q} landmarks are no distance matrix. {refusal} {_LANDMARK_ADVICE}"
            ) from None


@dataclass(frozen=True, eq=False)
class AllOrLandmarkDistances(Distances):
    """Reader of a table of distances that is square, among all points, or else holds columns of landmarks only."""

    @classmethod
    def read(cls, values: Matrix) -> Any:
        square = values.shape[0] == values.shape[1]
        return Distances.read(values) if square else LandmarkDistances.read(values)


_LANDMARK_ADVICE = (
    "Pass landmarks= the rows of X that are the landmarks, in the order of the columns, or the distances among them."
)


@dataclass(frozen=True, eq=False)
class Affinities(Pairs):
    """Weights of edges, zero or absent where there is no edge."""

    noun: ClassVar[str] = "affinities"

    @classmethod
    def read(cls, values: Matrix) -> Self:
        return cls(settled_rows(as_rows(values), distances=False))

    def known(self) -> Lookup:
        """Return a look-up by the whole row: a single affinity does not identify a point."""
        return replace(RowIndex.build(self.arriving), points=None)


@dataclass(frozen=True, eq=False)
class KernelValues(Pairs):
    """Inner products of points in the feature space of a kernel."""

    noun: ClassVar[str] = "kernel values"

    def coordinates(self, use: str, instead: str) -> NoReturn:
        raise KernelError(f"{use}, and X holds {self.noun} instead: {instead}.")

    @classmethod
    def accept_new(cls, values: Matrix) -> Matrix:
        """Return rows of new points unchanged: any numbers can be inner products."""
        return values


#: The kinds of X.
XKind: TypeAlias = Points | Distances | Affinities | KernelValues


def as_rows(X: Matrix, as_they_are: bool = False) -> Matrix:
    """Return rows in double precision, sparse ones as a CSR array; dense ones keep their precision if `as_they_are`."""
    if sp.issparse(X):
        return sp.csr_array(X, dtype=np.float64)
    return X if as_they_are or X.dtype == np.float64 else X.astype(np.float64)
