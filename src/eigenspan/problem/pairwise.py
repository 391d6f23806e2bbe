"""Weights of all pairs, computed in blocks without storing the matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol, TypeVar

import numpy as np

from .._types import Array, Index, Matrix
from ..graphs.weights.rules import WeightRule
from ..numerics.nearest.squares import EPS, measure_again, square_lengths
from ..numerics.threads import in_threads, workers

#: Rows and columns of a block, which fits into the cache of one core a few times.
_ROWS, _COLUMNS = 256, 2048

Result = TypeVar("Result")
#: Tolerance for the error of an exponent.
_EXPONENT = 1e-10
#: Number of pieces, the same for any number of threads so that sums are reproducible, and largest number of entries of their products.
_PIECES, _HELD = 16, 2**26


class PairsPart(Protocol):
    """A symmetric n×n matrix that supports products."""

    def __matmul__(self, Z: Array) -> Array: ...
    def quadratic(self, Z: Matrix) -> Array: ...
    def diagonal(self) -> Array: ...
    def bound(self) -> float: ...
    def scaled(self, s: Array) -> PairsPart: ...
    def to_dense(self) -> Array: ...


@dataclass(frozen=True, eq=False)
class Pairwise:
    """The symmetric matrix ``m_i m_j exp(−‖x_i − x_j‖²/(σ_i σ_j))`` over the pairs inside each group, zero elsewhere.

    Products with it cost O(n²(D + r)) time for r columns and O(n) memory.

    Attributes
    ----------
    points : ndarray of shape (n, D)
        Best near the origin: distances are taken from products, and from differences where products are not accurate enough.
    sigma : ndarray of shape (n,)
        Local scales, positive.
    mass : ndarray of shape (n,)
        Not negative.
    groups : tuple of index arrays
        Points that form pairs within each group; points in no group form none.
    hollow : bool
        The diagonal is zero.
    """

    points: Array
    sigma: Array
    mass: Array
    groups: tuple[Index, ...]
    hollow: bool = False

    @property
    def n(self) -> int:
        return self.points.shape[0]

    @cached_property
    def _lengths(self) -> Array:
        return square_lengths(self.points)

    @cached_property
    def _near(self) -> bool:
        """True if scales are so small relative to distances from the origin that the expansion of squares is not accurate enough."""
        bound = 2 * (self.points.shape[1] + 4) * EPS * float(self._lengths.max(initial=0.0))
        width = float(self.sigma.min(initial=np.inf))
        return bound > _EXPONENT * width * width

    def _pieces(self) -> list[list[tuple[Index, Index]]]:
        """Return blocks (rows, columns) on and above the diagonal, in pieces of equal size."""
        blocks = [
            (members[i : i + _ROWS], members[j : j + _COLUMNS])
            for members in self.groups
            for i in range(0, members.size, _ROWS)
            for j in range(i, members.size, _COLUMNS)
        ]
        return [blocks[i::_PIECES] for i in range(min(_PIECES, len(blocks)))]

    def _halves(self, piece: list[tuple[Index, Index]]) -> Iterator[tuple[Index, Index, Array]]:
        """Yield blocks of the upper triangle with half the diagonal: the matrix is the sum of this triangle and its transpose."""
        for rows, columns in piece:
            A, B = self.points[rows], self.points[columns]
            a, b = self._lengths[rows], self._lengths[columns]
            w = A @ (-2.0 * B.T)
            w += a[:, None]
            w += b
            np.maximum(w, 0.0, out=w)
            if self._near:
                measure_again(w, A, B, a, b, (A.shape[1] + 4) * EPS)
            self._weigh(w, rows, columns)
            w *= self.mass[rows][:, None]
            w *= self.mass[columns]
            if rows[0] == columns[0]:
                w[:, : rows.size] = np.triu(w[:, : rows.size], 1)
                w[np.diag_indices(rows.size)] = 0.0 if self.hollow else self._own * self.mass[rows] ** 2 / 2
            yield rows, columns, w

    def _weigh(self, w: Array, rows: Index, columns: Index) -> None:
        """Replace squared distances by weights, in place and without the masses."""
        w *= -1.0 / self.sigma[rows][:, None]
        w *= 1.0 / self.sigma[columns]
        np.exp(w, out=w)

    @property
    def _own(self) -> float:
        """Weight at distance zero."""
        return 1.0

    def __matmul__(self, Z: Array) -> Array:
        columns = max(16, _HELD // (_PIECES * self.n))  # every piece has a product of its own
        if Z.ndim == 2 and Z.shape[1] > columns:
            return np.hstack([self @ Z[:, j : j + columns] for j in range(0, Z.shape[1], columns)])

        def multiply(piece: list[tuple[Index, Index]]) -> Array:
            out = np.zeros(Z.shape)
            for rows, columns, w in self._halves(piece):
                out[rows] += w @ Z[columns]
                out[columns] += w.T @ Z[rows]
            return out

        return sum(self._each(multiply), np.zeros(Z.shape))

    def quadratic(self, Z: Matrix) -> Array:
        """Return ``Z'WZ``; Z may be dense or any table whose rows can be indexed."""
        r = Z.shape[1]

        def multiply(piece: list[tuple[Index, Index]]) -> Array:
            out = np.zeros((r, r))
            for rows, columns, w in self._halves(piece):
                out += Z[rows].T @ (w @ Z[columns])
            return out

        half = sum(self._each(multiply), np.zeros((r, r)))
        return half + half.T

    def square_sum(self) -> float:
        """Return ``Σ w_ij²``, including the diagonal."""

        def add(piece: list[tuple[Index, Index]]) -> float:
            return sum(2.0 * float(np.sum(w * w)) for _, _, w in self._halves(piece))

        return sum(self._each(add)) + 0.5 * float(np.sum(self.diagonal() ** 2))

    def _each(self, work: Callable[[list[tuple[Index, Index]]], Result]) -> list[Result]:
        return in_threads(work, self._pieces(), workers())

    def diagonal(self) -> Array:
        out = np.zeros(self.n)
        for members in () if self.hollow else self.groups:
            out[members] = self._own * self.mass[members] ** 2
        return out

    def bound(self) -> float:
        """Return the largest row sum, an upper bound on all eigenvalues."""
        return float((self @ np.ones(self.n)).max(initial=0.0))

    def to_dense(self) -> Array:
        out = np.zeros((self.n, self.n))

        def write(piece: list[tuple[Index, Index]]) -> None:  # no two blocks touch the same entries
            for rows, columns, w in self._halves(piece):
                out[_block(rows, columns)] += w
                out[_block(columns, rows)] += w.T

        self._each(write)
        return out

    def powered(self, alpha: float) -> Pairwise:
        """Return the matrix with every entry raised to the power `alpha`."""
        return replace(self, sigma=self.sigma / np.sqrt(alpha), mass=self.mass**alpha)

    def scaled(self, s: Array) -> Pairwise:
        """Return ``diag(s) W diag(s)`` for s ≥ 0."""
        return replace(self, mass=self.mass * s)


@dataclass(frozen=True, eq=False)
class RadialPairs(Pairwise):
    """The symmetric matrix ``m_i m_j f(‖x_i − x_j‖ / √(σ_i σ_j))^power`` over the pairs inside each group, zero elsewhere.

    Attributes
    ----------
    radial : WeightRule
        f is its `of_lengths`.
    power : float
    """

    radial: WeightRule = field(kw_only=True)
    power: float = 1.0

    @property
    def _near(self) -> bool:
        """True: f may vary over any distance, so inaccurate distances are always measured again."""
        return True

    def _weigh(self, w: Array, rows: Index, columns: Index) -> None:
        w /= self.sigma[rows][:, None]
        w /= self.sigma[columns]
        w[:] = self.radial.of_lengths(np.sqrt(w.ravel())).reshape(w.shape)
        if self.power != 1.0:
            np.power(w, self.power, out=w)

    @property
    def _own(self) -> float:
        return float(self.radial.of_lengths(np.zeros(1))[0] ** self.power)

    def powered(self, alpha: float) -> RadialPairs:
        return replace(self, power=self.power * alpha, mass=self.mass**alpha)


def _block(rows: Index, columns: Index) -> tuple[slice, slice] | tuple[Index, ...]:
    """Return the index of a block in an n×n array: slices if rows and columns are consecutive, which is faster."""
    if all(part[-1] - part[0] == part.size - 1 for part in (rows, columns)):
        return slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1)
    return np.ix_(rows, columns)
