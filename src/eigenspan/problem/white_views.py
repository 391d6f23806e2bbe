"""Several views of the same points, each in coordinates of unit covariance: canonical correlations are the products of these.

A view is centred and whitened by itself, with its own ridge and in its own row space; what two views share is then
``C_ij = Q_i'Q_j / (n − 1)``, whatever the units, rotations and redundancies of their columns. Rows in memory are factorised by
themselves, so that no digits are lost by squaring; of many rows, of rows in a file and of rows that come in parts the joint scatter
tells all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._diagnostics import note, stage
from .._types import Array, Mask, Matrix, RandomState
from ..data.rows.joint_moments import JointMoments, listed_numbers
from ..data.rows.moments import Moments
from ..data.rows.storage import Elsewhere, on_disk, refuse_non_finite, refuse_out_of_range
from ..errors import DimensionError, PrecisionWarning, warn
from ..numerics.eigen import dense
from ..numerics.eigen.centred import Centred, column_means
from ..numerics.memory import fits, require
from .basis import Features
from .map import Map, Raw
from .row_space import directions_that_count, rounding_of, row_space_memory

#: Numbers in all views up to which rows in memory are factorised instead of their scatter.
_SMALL = 2**22
#: Singular value of a standardised view, relative to its largest, that counts as none.
_RTOL = 1e-10
#: Eigenvalue of a view's correlations, relative to the largest, down to which products of the rows keep ten digits of its directions.
_CLEAR = 1e-6


@dataclass(frozen=True, eq=False)
class View:
    """One view in white coordinates: centred, of unit covariance once the ridge is added.

    Attributes
    ----------
    basis : Features
        From rows of the view to m centred coordinates.
    axes : ndarray of shape (m, r)
        From these to white ones.
    back : ndarray of shape (m, r)
        From white ones to these: ``Z = Q back'``.
    kept : ndarray of shape (r,)
        Variance of each white coordinate: 1, or what the ridge leaves of it.
    scores : ndarray of shape (n, r) or None
        Q, the rows in white coordinates, where they are at hand.
    clarity : float
        Smallest eigenvalue of the correlations that were inverted, relative to the largest; 1 where none were.
    """

    basis: Features
    axes: Array
    back: Array
    kept: Array
    scores: Array | None = None
    clarity: float = 1.0

    @property
    def rank(self) -> int:
        return int(self.axes.shape[1])

    def map(self, U: Array) -> Map:
        """From rows of the view to combinations U of white coordinates."""
        return Map(self.basis.rows, self.basis.lifted(self.axes @ U), offset=self.basis.offset)

    def embed(self, U: Array) -> Array | None:
        """The rows themselves; None where they are not at hand."""
        if self.scores is not None:
            return self.scores @ U
        return None if self.basis.raw is None else self.basis.embed(self.axes @ U)

    def patterns(self, T: Array) -> Array:
        """White coordinates T, (r, k), as k patterns over the columns of the view, (D, k)."""
        return self.basis.lifted(self.back @ T)

    def variances(self, U: Array) -> Array:
        """Covariance of combinations U of white coordinates."""
        return (U.T * self.kept) @ U

    @staticmethod
    def of_rows(basis: Features, ridge: float, name: str) -> View:
        """By the singular values of the rows, in units of the columns' own spread unless there is a ridge."""
        Z = basis.Z
        n, m = Z.shape
        if basis.scores is not None and (view := _of_principal(basis, ridge, name)) is not None:
            return view
        size = np.abs(basis.offset) if basis.lift is None else np.zeros(m)
        spread = Z.std(axis=0)
        live = spread > 1e-13 * size
        unit = _units(live, np.maximum(spread, np.finfo(float).eps / _RTOL * size), ridge)
        S = Z / unit
        S -= S.mean(axis=0)  # far from the origin the mean is rounded too
        with stage("row space"):
            U, s, V = dense.principal_axes(S, 0.0)
        keep = slice(0, min(n - 1, _counted(s, n, size / unit, ridge)))
        view = _white(basis, unit, s[keep] ** 2 / (n - 1), V[:, keep], ridge, n, name)
        return replace(view, scores=U[:, keep] * np.sqrt((n - 1) * view.kept), clarity=1.0)

    @staticmethod
    def of_root(basis: Features, own: Moments, ridge: float, name: str) -> View:
        """The same from the triangular factor of the rows."""
        assert own.root is not None
        n, size = own.n, np.abs(own.mean)
        spread = np.linalg.norm(own.root, axis=0) / np.sqrt(n)
        unit = _units(own.live(), np.maximum(spread, np.finfo(float).eps / _RTOL * size), ridge)
        with stage("row space"):
            _, s, V = dense.principal_axes(own.root / unit, 0.0)
        keep = slice(0, min(n - 1, _counted(s, n, size / unit, ridge, None if own.lost is None else own.lost / unit)))
        view = _white(basis, unit, s[keep] ** 2 / (n - 1), V[:, keep], ridge, n, name)
        return replace(view, clarity=1.0)

    @staticmethod
    def of_covariance(basis: Features, C: Array, live: Mask, none: float, ridge: float, n: int, name: str) -> View:
        """By the eigenvalues of the covariance C of the coordinates, those below `none` times the largest left out."""
        diagonal = np.maximum(np.diagonal(C), 0.0)
        unit = _units(live, np.sqrt(diagonal), ridge)
        if ridge and np.abs(C - np.diag(np.diagonal(C))).max() <= 1e-12 * ridge:  # kernel-PCA coordinates
            values, V = diagonal, np.eye(len(C))
        else:
            with stage("row space"):
                values, V = dense.eigenpairs(dense.symmetric(C / np.outer(unit, unit)), None, "max")
        keep = values > none * max(values.max(initial=0.0), 0.0)
        return _white(basis, unit, values[keep], V[:, keep], ridge, n, name)


def _of_principal(basis: Features, ridge: float, name: str) -> View | None:
    """`View.of_rows` of coordinates that are uncorrelated already, which saves a factorisation; None where they are not."""
    Z = basis.Z
    n, m = Z.shape
    s = np.linalg.norm(Z, axis=0)
    U = Z / np.maximum(s, np.finfo(float).tiny)
    if m > n - 1 or np.abs(U.T @ U - np.eye(m)).max(initial=0.0) > _RTOL:
        return None
    keep = s > (_RTOL * s.max(initial=0.0) if ridge else 0.0)
    view = _white(basis, np.ones(m), s[keep] ** 2 / (n - 1), np.eye(m)[:, keep], ridge, n, name)
    return replace(view, scores=U[:, keep] * np.sqrt((n - 1) * view.kept), clarity=1.0)


def _counted(s: Array, n: int, size: Array, ridge: float, lost: Array | None = None) -> int:
    """Singular values that count; beside a ridge the digits of small ones do not matter."""
    if ridge or not s.size or not s[0] > 0:
        return int(np.sum(s > max(_RTOL * s.max(initial=0.0), 2 * rounding_of(n, size))))
    return directions_that_count(s, n, size, _RTOL, lost)


def _units(live: Mask, spread: Array, ridge: float) -> Array:
    """What each column is divided by: its spread, so that units do not matter, or 1 beside a ridge; infinity if it is constant."""
    return np.where(live, spread if ridge == 0 else 1.0, np.inf)


def _white(basis: Features, unit: Array, values: Array, V: Array, ridge: float, n: int, name: str) -> View:
    """White coordinates from the eigenpairs of a covariance over columns in these units, with a ridge in units of variance."""
    live = np.isfinite(unit)
    if not values.size:
        what = f"All {n} rows coincide" if name == "X" else f"All {n} rows of {name} coincide"
        raise DimensionError(f"{what}: there are no dimensions to show, and nothing that could be correlated.")
    if not live.all():
        note(**{f"constant_columns_of_{name}": int(np.sum(~live))})
    whole = values + ridge
    axes, back = V / np.sqrt(whole) / unit[:, None], V * np.sqrt(whole) * np.where(live, unit, 0.0)[:, None]
    clarity = 1.0 if ridge else float(values[-1] / values[0])
    return View(basis, axes, back, values / whole, clarity=clarity)


@dataclass(frozen=True, eq=False)
class Views:
    """Views of the same n points in white coordinates."""

    views: tuple[View, ...]
    n: int
    joint: JointMoments | None = None

    def __getitem__(self, i: int) -> View:
        return self.views[i]

    @property
    def ranks(self) -> tuple[int, ...]:
        return tuple(view.rank for view in self.views)

    @property
    def surplus(self) -> int:
        """Dimensions of two views beyond the n − 1 that centred rows have: so many correlations are 1, whatever the data."""
        return max(0, sum(sorted(self.ranks)[-2:]) - (self.n - 1))

    def cross(self, i: int, j: int) -> Array:
        """Covariance between the white coordinates of two views: its singular values are their canonical correlations."""
        one, two = self.views[i], self.views[j]
        if one.scores is not None and two.scores is not None:
            return one.scores.T @ two.scores / (self.n - 1)
        assert self.joint is not None
        return self.joint.cross(i, one.axes, j, two.axes)

    @staticmethod
    def of(
        points: Sequence[Any],
        names: Sequence[str],
        ridges: Sequence[float],
        *,
        reduce: int | None = None,
        random_state: RandomState = 0,
    ) -> Views:
        """Of tables that were read, by the shortest road that keeps their digits; ridges are relative to the columns' mean variance."""
        tables = [view.values for view in points]
        joint, held = None, not any(on_disk(table) for table in tables)
        if reduce is None and all(isinstance(table, Elsewhere) or table.shape[0] > table.shape[1] for table in tables):
            joint = JointMoments.read(tables, names, ridges)
            rows_would_do = held and not any(sp.issparse(table) for table in tables)
            if not rows_would_do or sum(table.size for table in tables) > _SMALL:
                found = Views.of_moments(joint, names, ridges, tables if held else None)
                if not rows_would_do or found.clarity >= _CLEAR:
                    return found.clear_enough()
        for view, name in zip(points, names, strict=True):
            if view.one_pass and joint is None:  # not looked through yet
                refuse_non_finite(view.values, name=name)
                refuse_out_of_range(view.values)
        _require(tables, reduce)
        views = []
        for table, ridge, name in zip(tables, ridges, names, strict=True):
            basis = _coordinates(table, reduce, ridge, random_state)
            columns = table if reduce is None else basis.Z
            views.append(View.of_rows(basis, ridge and ridge * _mean_variance(columns), name))
        return Views(tuple(views), tables[0].shape[0], joint)

    @staticmethod
    def of_moments(joint: JointMoments, names: Sequence[str], ridges: Sequence[float], tables: Any = None) -> Views:
        """From the sums over rows, which need not be at hand."""
        views = []
        for i, (name, ridge) in enumerate(zip(names, ridges, strict=True)):
            own, C = joint.alone(i), joint.covariance(i, i)
            basis = Features(Raw(), None if tables is None else tables[i], None, own.mean)
            epsilon = ridge and ridge * float(np.diagonal(C)[own.live()].mean())
            if own.root is not None:
                views.append(View.of_root(basis, own, epsilon, name))
            else:
                views.append(View.of_covariance(basis, C, own.live(), own.none, epsilon, joint.n, name))
        return Views(tuple(views), joint.n, joint)

    @property
    def clarity(self) -> float:
        return min(view.clarity for view in self.views)

    def clear_enough(self) -> Views:
        """Itself, with a warning where the scatter of nearly dependent columns leaves few digits."""
        if self.clarity < 1e-3 * _CLEAR:
            warn(
                f"Columns of a view are nearly dependent: eigenvalues of their correlations differ by a factor of {1 / self.clarity:.0e}, "
                f"and sums over the rows tell about {max(0, int(15.6 + np.log10(self.clarity)))} digits of what belongs to the smallest. "
                "Leave redundant columns out, or pass ridge=.",
                PrecisionWarning,
            )
        return self


def _require(tables: Sequence[Any], reduce: int | None) -> None:
    """Refuse views that do not fit into memory together: what is kept of each, and the most that one of them takes on its way, or the
    singular vectors of what two share."""
    n, widths = tables[0].shape[0], [int(table.shape[1]) for table in tables]
    ranks = [min(n, D, reduce or D) for D in widths]
    kept = sum(8.0 * r * (5 * n + (D if reduce else 0)) for r, D in zip(ranks, widths, strict=True))
    way = max(row_space_memory(n, D) if n <= D else 24.0 * n * D for D in widths) if reduce is None else 0.0
    pairs = 8.0 * sum(ranks) ** 2
    require(
        kept + max(way, pairs),
        f"{n} rows of {len(widths)} views with {listed_numbers(widths)} columns, in white coordinates together,",
        "Pass reduce=r to keep r principal axes of each view first.",
    )


def _coordinates(table: Matrix, reduce: int | None, ridge: float, random_state: RandomState) -> Features:
    n, D = table.shape
    columns = Features(Raw(), table, None, column_means(table))
    if reduce is None and n > D and not sp.issparse(table):
        return columns
    basis = Features.linear(table, reduce=reduce, random_state=random_state)
    # of weights that give the same variates the standardised columns decide, as for more rows than columns
    vague = reduce is None and not ridge and basis.dim < min(n - 1, D)
    return columns if vague and (not sp.issparse(table) or fits(48.0 * n * D, 0.5)) else basis


def _mean_variance(table: Matrix) -> float:
    """Of the columns that vary."""
    n, mean = table.shape[0], column_means(table)
    spread = Centred.of(table, mean).spread()
    live = spread > 1e-13 * np.abs(mean)
    return float(np.mean(spread[live] ** 2)) * n / (n - 1) if live.any() else 0.0
