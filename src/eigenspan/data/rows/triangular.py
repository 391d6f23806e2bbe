"""Triangular factors of centred rows: the scatter ``R'R`` without its squares.

Squares double the loss of digits: the relative error of a direction whose standard deviation is s times the largest is about eps/s² in
a scatter matrix and eps/s in its factor. Factors of blocks of rows are stacked and factorised again (tall-skinny QR), so blocks of a file,
blocks on a cluster and parts that arrive one after the other give the same matrix.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import numpy as np
import scipy.sparse as sp

from ..._types import Array, Index, Matrix, is_sparse
from ...numerics.memory import require
from ...numerics.threads import in_threads, workers
from .block_passes import NUMBERS, Joined, groups_of_blocks, joined_means

#: Largest relative error of results in the smallest direction that they need.
NEED = 1e-6
#: Relative error of products and factors: a few units in the last place.
ROUNDING = 4 * float(np.finfo(np.float64).eps)
#: Least number of rows of a block, in all and per column: every block adds another factorisation of the factor so far.
_ROWS, _DEEP = 2048, 4


def triangular(rows: Array) -> Array:
    """Return the factor R with ``R'R = rows'rows``: the rows themselves if there are no more rows than columns."""
    return rows if rows.shape[0] <= rows.shape[1] else np.asarray(np.linalg.qr(rows, mode="r"))


@dataclass(frozen=True, eq=False)
class Root:
    """Counts of groups of rows, their means minus an origin, and a factor of the scatter about these means.

    Attributes
    ----------
    counts : ndarray of shape (g,)
    means : ndarray of shape (g, D)
        Minus the origin, so that data far from zero keep their digits. Zero for a group without rows.
    factor : ndarray of shape (r, D)
        ``factor'factor`` is the scatter of all rows about the means of their groups. r is D, or the number of rows if it is smaller.
    """

    counts: Array
    means: Array
    factor: Array

    @staticmethod
    def of(X: Matrix | Joined, codes: Index | None, groups: int, origin: Array, weights: Array | None = None) -> Root:
        """Return the root of rows in memory or in a file, dense or sparse, in one pass, O(nD²). Rows with a negative code are left out.

        With weights, which are positive, a row counts as often as its weight says.
        """
        n, D = X.shape
        rows = max(_ROWS, _DEEP * D)
        require(
            8.0 * D * (4 * rows * workers() + 12 * D),
            f"Triangular factors of {D} features",
            "Pass reduce=r to keep r principal axes first.",
        )
        units = groups_of_blocks(n, D, rows=rows, numbers=rows * D)
        nothing = Root(np.zeros(groups), np.zeros((groups, D)), np.zeros((0, D)))

        def read(unit: list[slice]) -> Root:
            def block(part: slice) -> Root:
                code, weight = None if codes is None else codes[part], None if weights is None else weights[part]
                return _centred(X[part], code, groups, origin, weight)

            return reduce(add, map(block, unit))

        parts = in_threads(read, units, workers() if n * D > NUMBERS else 1)
        return reduce(add, parts, nothing)

    def __add__(self, other: Root) -> Root:
        """Return the root of both sets of rows together."""
        counts, means, apart = joined_means((self.counts, self.means), (other.counts, other.means))
        return Root(counts, means, triangular(np.vstack([self.factor, other.factor, apart])))

    def regrouped(self, places: Index, groups: int) -> Root:
        """Return the root with group i at ``places[i]`` of `groups`."""
        counts, means = np.zeros(groups), np.zeros((groups, self.means.shape[1]))
        counts[places], means[places] = self.counts, self.means
        return replace(self, counts=counts, means=means)


def _centred(
    rows: Matrix | Joined, code: Index | None, groups: int, origin: Array, weights: Array | None = None
) -> Root:
    """Return the root of one block. Its factor has all rows, about the means of their groups; it is factorised with other blocks."""
    if code is None and weights is not None:
        code = np.zeros(weights.size, dtype=np.intp)
    if code is not None and code.size and code.min() < 0:
        known = code >= 0
        rows, code, weights = rows[known], code[known], None if weights is None else weights[known]
    rows = rows.toarray() if is_sparse(rows) else np.asarray(rows)
    z = np.subtract(rows, origin, dtype=np.float64)
    if code is None:
        means = z.mean(axis=0)[None] if len(z) else np.zeros((1, z.shape[1]))
        return Root(np.array([float(len(z))]), means, z - means)
    each = np.ones(len(z)) if weights is None else weights
    counts = np.bincount(code, each, minlength=groups).astype(np.float64)
    member = sp.csc_array((each, code, np.arange(len(z) + 1)), shape=(groups, len(z)))
    means = (member @ z) / np.where(counts > 0, counts, 1.0)[:, None]
    away = z - means[code]
    return Root(counts, means, away if weights is None else np.sqrt(weights)[:, None] * away)
