"""Triangular factors of centred rows: the scatter ``R'R`` without its squares.

Products of the rows lose twice the digits that the rows themselves lose: of a direction whose spread is s times the largest, a scatter
matrix holds about eps/s² and its factor eps/s. Factors of parts of the rows are stacked and factorised again (tall-skinny QR), so blocks of
a file, blocks on a cluster and parts that arrive one after the other lead to the same matrix.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..._types import Array
from ...numerics.memory import require
from ...numerics.threads import in_threads, workers
from .chunked_sums import strips_of
from .storage import NUMBERS

Codes = NDArray[np.intp]

#: Relative error that results may have in the smallest direction that they need.
NEED = 1e-6
#: Relative error of products and factors: a few units in the last place.
ROUNDING = 4 * float(np.finfo(np.float64).eps)
#: Rows of a block at least, and for each column: the factor so far is factorised again with every block.
_ROWS, _DEEP = 2048, 4


def triangular(rows: Array) -> Array:
    """The factor R with ``R'R = rows'rows``; the rows themselves where they are no more than their columns."""
    return rows if rows.shape[0] <= rows.shape[1] else np.asarray(np.linalg.qr(rows, mode="r"))


@dataclass(frozen=True, eq=False)
class Root:
    """Groups of rows: how many, their means less an origin, and the factor of the scatter about these means.

    Attributes
    ----------
    counts : ndarray of shape (g,)
    means : ndarray of shape (g, D)
        Less the origin, so that data far away keep their digits. Zero for a group without rows.
    factor : ndarray of shape (r, D)
        ``factor'factor`` is the scatter of all rows about the means of their groups. r is D, or the number of rows where they are fewer.
    """

    counts: Array
    means: Array
    factor: Array

    @staticmethod
    def of(X: Any, codes: Codes | None, groups: int, origin: Array) -> Root:
        """In one pass over rows in memory or in a file, dense or sparse; rows with a negative code are left out. Cost O(nD²)."""
        n, D = X.shape
        rows = max(_ROWS, _DEEP * D)
        require(
            8.0 * D * (4 * rows * workers() + 12 * D),
            f"Triangular factors of {D} features",
            "Pass reduce=r to keep r principal axes first.",
        )
        strips = strips_of(n, D, rows=rows, numbers=rows * D)
        nothing = Root(np.zeros(groups), np.zeros((groups, D)), np.zeros((0, D)))

        def read(strip: list[slice]) -> Root:
            parts = (_centred(X[part], None if codes is None else codes[part], groups, origin) for part in strip)
            return reduce(add, parts)

        parts = in_threads(read, strips, workers() if n * D > NUMBERS else 1)
        return reduce(add, parts, nothing)

    def __add__(self, other: Root) -> Root:
        """Of both sets of rows together."""
        counts, means, apart = joined_means((self.counts, self.means), (other.counts, other.means))
        return Root(counts, means, triangular(np.vstack([self.factor, other.factor, apart])))

    def regrouped(self, places: Codes, groups: int) -> Root:
        """The same with group i at ``places[i]`` of `groups`."""
        counts, means = np.zeros(groups), np.zeros((groups, self.means.shape[1]))
        counts[places], means[places] = self.counts, self.means
        return replace(self, counts=counts, means=means)


def joined_means(one: tuple[Array, Array], two: tuple[Array, Array]) -> tuple[Array, Array, Array]:
    """Counts and means of two sets of groups together, and rows whose products are the scatter of both means about the joint ones."""
    (n, mean), (m, other) = one, two
    total = np.maximum(n + m, 1.0)
    gap, both = other - mean, (n > 0) & (m > 0)
    means = np.where((n > 0)[:, None], mean + (m / total)[:, None] * gap, other)
    return n + m, means, (np.sqrt(n * m / total)[:, None] * gap)[both]


def _centred(rows: Any, code: Any, groups: int, origin: Array) -> Root:
    """One block about the means of its groups; its rows are the factor, to be factorised with those of other blocks."""
    if code is not None and code.size and code.min() < 0:
        rows, code = rows[code >= 0], code[code >= 0]
    rows = rows.toarray() if sp.issparse(rows) else np.asarray(rows)
    z = np.subtract(rows, origin, dtype=np.float64)
    if code is None:
        means = z.mean(axis=0)[None] if len(z) else np.zeros((1, z.shape[1]))
        return Root(np.array([float(len(z))]), means, z - means)
    counts = np.bincount(code, minlength=groups).astype(np.float64)
    member = sp.csc_array((np.ones(len(z)), code, np.arange(len(z) + 1)), shape=(groups, len(z)))
    means = (member @ z) / np.maximum(counts, 1.0)[:, None]
    return Root(counts, means, z - means[code])
