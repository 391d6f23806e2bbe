"""Tolerances and checks for matrices over pairs of points that other tools computed: distances, affinities, kernels, neighbour lists.

Tolerances depend on the precision of the values and on the largest entry. The precision is single if every value is a single-precision
number (and not all are whole numbers), whatever the type of the array; ``r = 64 eps`` of that precision.

=============  ==========================================================================================================
asymmetry      accepted up to ``max(1e-6, r)`` of the largest entry, and averaged in dense matrices. Distances are also
               compared by their squares, up to r of the largest square: expanding ``|x − z|²`` into products leaves that error
negative       set to zero down to ``−max(1e-6, r)`` of the largest affinity, ``−max(1e-6, √r)`` of the largest distance
diagonal       distances: set to zero up to ``max(1e-3, √r)`` of the largest. Affinities: self-loops, which random walks
               count and Laplacians ignore. Kernels: data like any other entry
new rows       a distance of at most √r of the median of its row is zero: the new point equals that training point (the
               median, because with one very distant point all others would be small relative to the largest)
=============  ==========================================================================================================

Larger deviations raise an error that states the numbers found.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..._types import Array, Mask, Matrix, is_sparse
from .metric import tiles
from .neighbour_lists import row_max

#: Accumulated rounding errors of a value, in units of the precision.
_ERRORS = 64
#: Tolerances in any precision: for differences, and for a diagonal, whose true value is known.
_DIFFERENCE, _DIAGONAL = 1e-6, 1e-3
#: Number of values checked at a time.
_CHUNK = 2**18


@dataclass(frozen=True)
class PairTolerance:
    """Tolerances for values with this relative rounding error and largest absolute value `size`."""

    rounding: float
    size: float

    @classmethod
    def of(cls, values: Matrix) -> PairTolerance:
        """Return the tolerances of an array, or of the stored entries of a sparse matrix; entries that are not finite are ignored."""
        numbers = np.asarray(values.data if is_sparse(values) else values)
        size = max(float(numbers.max(initial=0.0)), -float(numbers.min(initial=0.0)))
        if not np.isfinite(size):
            numbers = numbers[np.isfinite(numbers)]
            size = float(np.abs(numbers).max(initial=0.0))
        return cls(_rounding(numbers), size)

    @property
    def difference(self) -> float:
        """Tolerance for the difference of two values that should be equal, or for a negative value."""
        return max(_DIFFERENCE, self.rounding) * self.size

    @property
    def distance(self) -> float:
        """Tolerance for a negative distance: the square root of the error of its square."""
        return max(_DIFFERENCE, self.rounding**0.5) * self.size

    @property
    def diagonal(self) -> float:
        """Tolerance for a distance between a point and itself."""
        return max(_DIAGONAL, self.rounding**0.5) * self.size

    def same_length(self, difference: float, difference_of_squares: float) -> bool:
        """Return True if two lengths of one edge differ by rounding, in the lengths or in their squares."""
        return difference <= self.difference or difference_of_squares <= self.rounding * self.size**2


def _rounding(numbers: NDArray[np.number]) -> float:
    return _ERRORS * float(np.finfo(np.float32 if _is_single(numbers) else np.float64).eps)


def _is_single(numbers: NDArray[np.number]) -> bool:
    """Return True if all values are single-precision numbers, and not all of them whole."""
    if numbers.dtype.kind != "f":
        return False
    step, whole = max(1, _CHUNK // max(1, int(np.prod(numbers.shape[1:])))), True
    for i in range(0, len(numbers), step):
        some = numbers[i : i + step]
        if not _are_single(some).all():
            return False
        whole = whole and bool(np.all(some == np.rint(some)))
    return not whole


def _are_single(numbers: NDArray[np.number]) -> Mask:
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(numbers.astype(np.float32) == numbers)


# ---------------------------------------------------------------------- symmetry
@dataclass(frozen=True)
class Asymmetry:
    """The largest ``|a_ij|``, ``|a_ij − a_ji|`` and ``|a_ij² − a_ji²|``."""

    size: float = 0.0
    skew: float = 0.0
    skew_of_squares: float = 0.0

    @classmethod
    def of(cls, M: Matrix) -> Asymmetry:
        """Return the asymmetry of a square matrix; for a sparse one, over the pairs stored in both directions."""
        if is_sparse(M):
            both = M.multiply(sp.csr_array(M.T) > 0) if M.nnz else M
            skews = (float(abs(part - part.T).max()) if part.nnz else 0.0 for part in (both, both.multiply(both)))
            return cls(float(np.abs(M.data).max(initial=0.0)), *skews)
        found = cls()
        for i, j in tiles(M.shape[0]):  # tile by tile: the full difference would be another n×n array
            upper, lower = M[i, j], M[j, i].T
            apart = np.abs(upper - lower)
            with np.errstate(over="ignore"):  # such large values are rejected because of their size
                squares = float((apart * np.abs(upper + lower)).max())
            size = max(float(upper.max()), -float(upper.min()))
            found = cls(max(found.size, size), max(found.skew, float(apart.max())), max(found.skew_of_squares, squares))
        return found


def averaged(M: Array, out: Array | None = None) -> Array:
    """Return ``(M + Mᵀ)/2`` of a dense matrix, computed tile by tile; `out` may be M itself."""
    out = np.empty(M.shape) if out is None else out
    for i, j in tiles(M.shape[0]):
        out[i, j] = (M[i, j] + M[j, i].T) / 2
        out[j, i] = out[i, j].T
    return out


# ---------------------------------------------------------------------- rows of new points
def settled_rows(rows: Matrix, *, distances: bool) -> Matrix:
    """Return rows of new points with rounding errors set to zero (a copy if there were any), with tolerances per row."""
    if not is_sparse(rows):
        single = _are_single(rows).all(axis=1) & (rows != np.rint(rows)).any(axis=1)
        typical = np.median(rows, axis=1) if distances and rows.size else np.zeros(len(rows))
        return _settled(rows, single[:, None], rows.max(axis=1, initial=0.0)[:, None], typical[:, None], distances)
    at, counts = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr)), np.diff(rows.indptr)
    other, fraction = (
        np.bincount(at[test], minlength=rows.shape[0]) > 0
        for test in (~_are_single(rows.data), rows.data != np.rint(rows.data))
    )
    middle = rows.indptr[:-1] + counts // 2
    ordered = np.append(rows.data[np.lexsort((rows.data, at))], 0.0)  # dummy entry: an empty last row has no median
    typical = np.where(counts > 0, ordered[np.minimum(middle, rows.nnz)], 0.0)
    single, size, typical = (np.repeat(each, counts) for each in (~other & fraction, row_max(rows), typical))
    data = _settled(rows.data, single, size, typical, distances)
    return rows if data is rows.data else sp.csr_array((data, rows.indices, rows.indptr), shape=rows.shape)


def _settled(values: Array, single: Mask, size: Array, typical: Array, distances: bool) -> Array:
    """Set values to zero that are negative, or tiny distances, by rounding; the arguments are broadcast to the values."""
    rounding = _ERRORS * np.where(single, np.finfo(np.float32).eps, np.finfo(np.float64).eps)
    error = np.sqrt(rounding) if distances else rounding
    below = (values < 0) & (values >= -np.maximum(_DIFFERENCE, error) * size)
    tiny = below | ((values > 0) & (values <= error * typical)) if distances else below
    return np.where(tiny, values.dtype.type(0), values) if tiny.any() else values
