"""Counts, means and joint scatter of several tables over the same rows: sufficient statistics of methods of several views."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import scipy.sparse as sp

from ..._diagnostics import stage
from ..._types import Array, Matrix
from ...errors import InputError
from .block_passes import Joined, refuse_non_finite
from .moments import Moments, OfMoments
from .storage import Elsewhere, rows_of
from .triangular import Root, triangular


@dataclass(frozen=True, eq=False)
class JointMoments(OfMoments):
    """Mean and scatter of all views side by side. Moments of parts of the rows add up to those of the whole.

    Attributes
    ----------
    moments : Moments
        Moments of the rows with the columns of all views, one group.
    widths : tuple of int
        Columns of each view.
    flat : bool
        The last view was passed as a vector.
    """

    moments: Moments
    widths: tuple[int, ...]
    flat: bool = False

    @staticmethod
    def of(tables: Sequence[Matrix | Elsewhere], names: Sequence[str]) -> JointMoments:
        """Return the moments in one pass over the rows of all tables; raise if they hold NaN or infinity."""
        first, *others = map(rows_of, tables)
        return first.reduce(partial(_joint, tuple(names)), *others)

    @staticmethod
    def read(tables: Sequence[Matrix | Elsewhere], names: Sequence[str], ridges: Sequence[float]) -> JointMoments:
        """Return the moments, with the root from a second pass if the products lose digits that matter."""
        joint = JointMoments.of(tables, names)
        return joint if joint.suffices(ridges) else joint.factored(tables)

    def factored(self, tables: Sequence[Matrix | Elsewhere]) -> JointMoments:
        """Return the moments of the same rows, read again, with the root of their scatter."""
        origin = self.moments.mean
        first, *others = map(rows_of, tables)
        root = first.reduce(partial(_joint_root, origin), *others)
        return replace(self, moments=Moments.of_root(root, origin))

    def suffices(self, ridges: Sequence[float]) -> bool:
        """Return True if the products give all directions of every view to about 1e-6; with a ridge, also in the units of the columns."""
        views = [self.alone(i) for i in range(len(self.widths))]
        return all(
            view.is_full and (not ridge or view.leads(int(view.live().sum())))
            for view, ridge in zip(views, ridges, strict=True)
        )

    @property
    def n(self) -> int:
        return self.moments.n

    @property
    def width(self) -> int:
        """Number of columns of the second widest view, the largest possible number of pairs of variates."""
        return sorted(self.widths)[-2]

    def __add__(self, other: JointMoments) -> JointMoments:
        if self.widths != other.widths:
            before, now = listed_numbers(self.widths), listed_numbers(other.widths)
            raise InputError(
                f"The views had {before} columns so far and have {now} now: parts of the same tables have the same columns."
            )
        return replace(self, moments=self.moments + other.moments)

    def _columns(self, i: int) -> slice:
        return slice(sum(self.widths[:i]), sum(self.widths[: i + 1]))

    def alone(self, i: int) -> Moments:
        """Return the moments of one view."""
        part, whole = self._columns(i), self.moments
        root = None if whole.root is None else triangular(whole.root[:, part])
        lost = None if whole.lost is None else whole.lost[part]
        low = None if whole.low is None else whole.low[:, part]
        return Moments(whole.counts, whole.means[:, part], whole.scatter[part, part], whole.single, root, lost, low)

    def covariance(self, i: int, j: int) -> Array:
        """Return the covariance between two views."""
        return self.moments.scatter[self._columns(i), self._columns(j)] / (self.n - 1)

    def cross(self, i: int, A: Array, j: int, B: Array) -> Array:
        """Return the covariance between combinations A of the columns of one view and B of another."""
        if self.moments.root is None:
            return A.T @ self.covariance(i, j) @ B
        root = self.moments.root
        return (root[:, self._columns(i)] @ A).T @ (root[:, self._columns(j)] @ B) / (self.n - 1)


def _joint_root(origin: Array, *tables: Matrix) -> Root:
    """Return the root of the rows of all views side by side."""
    if any(map(sp.issparse, tables)):
        return Root.of(
            sp.csr_array(sp.hstack([sp.csr_array(table, dtype=np.float64) for table in tables])), None, 1, origin
        )
    return Root.of(Joined(tables), None, 1, origin)


def _joint(names: tuple[str, ...], *tables: Matrix) -> JointMoments:
    """Return the moments of the rows of all views, or of one block of them."""
    whole: Matrix | Joined = Joined(tuple(tables))
    dense_ones = [(table, name) for table, name in zip(tables, names, strict=True) if not sp.issparse(table)]
    if len(dense_ones) < len(tables):
        for table, name in dense_ones:  # sums over sparse rows do not check for NaN
            refuse_non_finite(table, name=name)
        whole = sp.csr_array(sp.hstack([sp.csr_array(table, dtype=np.float64) for table in tables]))
    try:
        with stage("moments"):
            moments = Moments.of(whole)
    except InputError:
        for table, name in dense_ones:
            refuse_non_finite(table, name=name)
        raise
    return JointMoments(moments, tuple(table.shape[1] for table in tables))


def listed_numbers(numbers: Sequence[int]) -> str:
    """Return the numbers joined by "and"."""
    return " and ".join(map(str, numbers))
