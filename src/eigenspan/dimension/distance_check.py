"""Whether a table holds distances of points, and of how many dimensions (Schoenberg's theorem)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._checks import check_parameter, real_numbers
from .._parameters import Tolerance
from .._types import Array, Index, Mask, TableLike, is_sparse
from ..errors import InputError
from ..numerics.eigen import dense
from ..numerics.memory import refuse_lazy, require
from ..numerics.nearest.metric import check_largest
from ..numerics.nearest.pair_matrices import PairTolerance
from ..numerics.threads import threads_for
from ..problem import gram

#: Number of entries that are listed, the worst first.
_LISTED = 5
#: Number of entries in a block of rows.
_IN_CACHE = 2**15


@dataclass(frozen=True, eq=False)
class EntryFault:
    """Entries of a table that no distances have.

    Attributes
    ----------
    count : int
        How many entries, pairs or triples there are.
    worst : ndarray of int of shape (k, 1), (k, 2) or (k, 3)
        Row numbers of the worst at most five.
    excess : ndarray of shape (k,)
        By how much each of these is wrong, in the unit of the distances.
    """

    count: int
    worst: Index
    excess: Array


@dataclass(frozen=True, eq=False, repr=False)
class DistanceCheck:
    """Whether a table holds Euclidean distances, of how many dimensions, and if not, why. It is true in an ``if`` if it does.

    Attributes
    ----------
    is_euclidean : bool
        Whether points with these distances exist, within the tolerance.
    is_metric : bool
        Whether the table is symmetric with a zero diagonal and no negative entry, and obeys the triangle inequality, within
        the tolerance.
    dimension : int or None
        Least number of dimensions of points with these distances; None if there are no such points.
    eigenvalues : ndarray of shape (n,)
        Eigenvalues of ``−½HD²H``, largest first.
    tolerance : float
        Size up to which an eigenvalue can be zero.
    negative_share : float
        Share of the negative eigenvalues in the sum of the sizes of all: 0 for Euclidean distances.
    asymmetric : EntryFault
        Pairs (i, j) with ``d_ij ≠ d_ji``.
    negative : EntryFault
        Entries (i, j) below zero.
    diagonal : EntryFault
        Rows (i,) with ``d_ii ≠ 0``.
    triangle : EntryFault
        Triples (i, k, j) with ``d_ij > d_ik + d_kj``.
    """

    is_euclidean: bool
    is_metric: bool
    dimension: int | None
    eigenvalues: Array
    tolerance: float
    negative_share: float
    asymmetric: EntryFault
    negative: EntryFault
    diagonal: EntryFault
    triangle: EntryFault

    def __bool__(self) -> bool:
        return self.is_euclidean

    @property
    def smallest_eigenvalue(self) -> float:
        """The smallest eigenvalue: below −`tolerance` no points have these distances."""
        return float(self.eigenvalues[-1])

    @property
    def largest_eigenvalue(self) -> float:
        """The largest eigenvalue: the sum of squares of the points along their first principal axis."""
        return float(self.eigenvalues[0])

    def __repr__(self) -> str:
        n = self.eigenvalues.size
        spectrum = (
            f"the eigenvalues of −½HD²H run from {self.largest_eigenvalue:.4g} to {self.smallest_eigenvalue:.3g}, and "
            f"{self.tolerance:.2g} counts as rounding"
        )
        if self.is_euclidean:
            plural = "" if self.dimension == 1 else "s"
            return (
                f"DistanceCheck: Euclidean distances of {n} points in {self.dimension} dimension{plural}; {spectrum}."
            )
        lines = [f"DistanceCheck: no {n} points have these distances; {spectrum}."]
        if self.smallest_eigenvalue < -self.tolerance:
            lines.append(f"Negative eigenvalues are {self.negative_share:.2%} of the sum of all sizes.")
        lines += [words for name, fault in self._faults() if (words := _in_words(name, fault))]
        if self.is_metric:
            lines.append("The triangle inequality holds: these are distances of a metric that is not Euclidean.")
        return "\n  ".join(lines)

    def _faults(self) -> list[tuple[str, EntryFault]]:
        return [
            ("Pairs that differ from their transpose", self.asymmetric),
            ("Negative entries", self.negative),
            ("Diagonal entries that are not zero", self.diagonal),
            ("Triples against the triangle inequality", self.triangle),
        ]


def _in_words(what: str, fault: EntryFault) -> str:
    if not fault.count:
        return ""
    worst = ", ".join(
        f"({', '.join(map(str, rows))}) by {excess:.3g}" for rows, excess in zip(fault.worst, fault.excess, strict=True)
    )
    return f"{what}: {fault.count}; worst: {worst}."


def check_distances(D: TableLike, *, squared: bool = False, tol: float | None = None) -> DistanceCheck:
    """Return whether a table holds Euclidean distances of points, of how many dimensions, and if not, what is wrong.

    .. math:: D \\text{ is Euclidean} \\iff G = -\\tfrac12 H D^{2} H \\succeq 0, \\qquad d_{ij} = d_{ji} \\ge 0, \\; d_{ii} = 0

    D² has the squares of the entries, and the least dimension of the points is the rank of G [S3, theorem 4.1; Schoenberg 1935]. Use it
    before `ClassicalMDS`, for dissimilarities of unknown origin, and to find wrong entries. If the distances are not Euclidean, the
    triangle inequality is checked too, which tells a metric from a table with errors.

    Every squared distance may be wrong by e = `tol` times the largest. The eigenvalues of G are then wrong by at most ½ne (Weyl), which is
    ``tolerance``: eigenvalues beyond it cannot be zero, and entries count as faults if an error of e cannot explain them. So `dimension`
    never exceeds the dimension of the exact distances. Errors of independent entries partly cancel, and the limit is then cautious;
    read ``eigenvalues`` where noise matters, or use `intrinsic_dimension`.

    Cost: O(n³) time and three n×n arrays.

    Parameters
    ----------
    D : array-like or sparse matrix of shape (n, n)
        Distances; absent entries of a sparse matrix are zero.
    squared : bool, default=False
        D holds squared distances.
    tol : float, optional
        Largest error of a squared distance, over the largest squared distance. None means rounding: 64 units in the last place of the
        numbers, 1.4e-14, or 7.6e-6 if all of them are in single precision. Smaller values than that have no effect. For distances
        rounded by ±h use about 2h over the largest distance.

    Returns
    -------
    DistanceCheck

    Examples
    --------
    >>> import numpy as np
    >>> from eigenspan import check_distances
    >>> check_distances([[0.0, 3, 4], [3, 0, 5], [4, 5, 0]]).dimension
    2
    >>> found = check_distances([[0.0, 1, 5], [1, 0, 1], [5, 1, 0]])
    >>> found.is_euclidean, found.triangle.worst.tolist()
    (False, [[0, 1, 2]])

    References
    ----------
    [S3] theorem 4.1; Schoenberg (1935), Remarks to Maurice Fréchet's article.
    """
    check_parameter("squared", squared, bool, InputError)
    check_parameter("tol", tol, Tolerance | None, InputError)
    M = _square(D)
    n, size = len(M), float(np.abs(M).max(initial=0.0))
    check_largest(np.sqrt(size) if squared else size, "The distances")
    error = max(tol or 0.0, PairTolerance.of(M).rounding)  # of a squared distance in units of the largest
    M = M / (size or 1.0)
    signed = M if squared else np.sign(M) * M**2
    faults = _entry_faults(signed, error)
    S = dense.symmetric(np.abs(signed))
    np.fill_diagonal(S, 0.0)
    with threads_for(n):
        values = dense.eigenvalues(gram(-0.5 * S).dense)[::-1] + 0.0  # no negative zeros
    tolerance, clean = 0.5 * n * error, not any(fault.count for fault in faults)
    euclidean = clean and bool(values[-1] >= -tolerance)
    triangle = _no_fault() if euclidean else _triangles(S, error)
    dimension = int(np.sum(values > tolerance)) if euclidean else None
    unit = size if squared else size**2
    found = (_in_unit(fault, np.sqrt(unit)) for fault in (*faults, triangle))
    metric = clean and not triangle.count
    return DistanceCheck(
        euclidean, metric, dimension, values * unit, tolerance * unit, _negative(values, tolerance), *found
    )


def _negative(values: Array, tolerance: float) -> float:
    """Return the share of the negative eigenvalues in the sum of all sizes; 0 if all are above −`tolerance`."""
    if values[-1] >= -tolerance:
        return 0.0
    return float(-np.minimum(values, 0.0).sum() / np.abs(values).sum())


def _square(D: Any) -> Array:
    refuse_lazy(D, "D")
    M = real_numbers(D.toarray() if is_sparse(D) else D, "The distances", InputError)
    if M.ndim != 2 or M.shape[0] != M.shape[1] or not M.size:
        raise InputError(f"D must be a square matrix of distances; got shape {M.shape}.")
    if bad := int(M.size - np.count_nonzero(np.isfinite(M))):
        raise InputError(f"D holds {bad} values that are NaN or infinite. Fill them in, or leave those points out.")
    n = len(M)
    require(40.0 * n**2, f"The Gram matrix of {n} points and its eigenvalues", "Check a sample of the points.")
    return M


# ---------------------------------------------------------------------- single entries
def _entry_faults(signed: Array, error: float) -> tuple[EntryFault, EntryFault, EntryFault]:
    """Return asymmetric pairs, negative entries and diagonal entries of signed squared distances that the error does not explain."""
    lengths = np.sign(signed) * np.sqrt(np.abs(signed))
    upper = np.triu(np.ones(signed.shape, dtype=bool), 1)
    asymmetric = _fault(upper & (np.abs(signed - signed.T) > 2 * error), np.abs(lengths - lengths.T))
    negative = _fault(signed < -error, -lengths)
    on = np.abs(np.diagonal(lengths))
    return asymmetric, negative, _fault(on**2 > error, on)


def _fault(wrong: Mask, excess: Array) -> EntryFault:
    """Return the entries where `wrong` is true, the largest excess first."""
    at = np.argwhere(wrong)
    sizes = excess[tuple(at.T)]
    order = np.argsort(-sizes, kind="stable")[:_LISTED]
    return EntryFault(len(at), at[order], sizes[order])


def _no_fault() -> EntryFault:
    return EntryFault(0, np.empty((0, 3), dtype=np.intp), np.empty(0))


def _in_unit(fault: EntryFault, unit: float) -> EntryFault:
    return EntryFault(fault.count, fault.worst, fault.excess * unit)


def _triangles(S: Array, error: float) -> EntryFault:
    """Return triples (i, k, j), i < j, whose squared distances S violate the triangle inequality by more than the error explains."""
    low, high, lengths = np.sqrt(np.maximum(S - error, 0.0)), np.sqrt(S + error), np.sqrt(S)
    shortest, found = _shortest_ways(high), _no_fault()
    for i in np.flatnonzero((low > shortest).any(axis=1)):
        j = i + 1 + np.flatnonzero(low[i, i + 1 :] > shortest[i, i + 1 :])
        some = _fault(low[i, j] > high[i][:, None] + high[:, j], lengths[i, j] - lengths[i][:, None] - lengths[:, j])
        triples = np.column_stack([np.full(len(some.worst), i), some.worst[:, 0], j[some.worst[:, 1]]])
        worst, excess = np.vstack([found.worst, triples]), np.append(found.excess, some.excess)
        order = np.argsort(-excess, kind="stable")[:_LISTED]
        found = EntryFault(found.count + some.count, worst[order], excess[order])
    return found


def _shortest_ways(D: Array) -> Array:
    """Return the least ``d_ik + d_kj`` over all k, computed for blocks of rows that stay in the cache."""
    shortest, step = np.full(D.shape, np.inf), max(1, _IN_CACHE // len(D))
    for i in range(0, len(D), step):
        rows = shortest[i : i + step]
        way = np.empty(rows.shape)
        for k in range(len(D)):
            np.minimum(rows, np.add(D[i : i + step, k, None], D[k], out=way), out=rows)
    return shortest
