"""Several views of the same points, each whitened: canonical correlations are singular values of products of these coordinates.

Each view is centred and whitened separately, with its own ridge and in its own row space. The covariance of two views is then
``C_ij = Q_i'Q_j / (n − 1)``, independent of the units, rotations and redundancies of their columns. Rows in memory are factorised
directly, so that no digits are lost by squaring. For many rows, rows in a file and rows in several parts, the joint scatter is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from .._diagnostics import note, stage
from .._types import Array, Mask, Matrix, RandomState
from ..data.rows.block_passes import refuse_non_finite
from ..data.rows.joint_moments import JointMoments, listed_numbers
from ..data.rows.moments import Moments
from ..data.rows.storage import Elsewhere, on_disk, refuse_out_of_range
from ..data.x import Points
from ..errors import DimensionError, PrecisionWarning, warn
from ..numerics.eigen import dense
from ..numerics.eigen.centred import Centred, column_means
from ..numerics.memory import fits, require
from .basis import Features
from .map import Map, Raw
from .row_space import directions_that_count, rounding_of, row_space_memory

#: Number of entries in all views up to which rows in memory are factorised instead of their scatter.
_SMALL = 2**22
#: Singular value of a standardised view, relative to the largest, that counts as zero.
_RTOL = 1e-10
#: Smallest relative eigenvalue of a view's correlations for which products of the rows determine its directions to ten digits.
_CLEAR = 1e-6


@dataclass(frozen=True, eq=False)
class View:
    """One view in whitened coordinates: centred, with unit covariance after the ridge is added.

    Attributes
    ----------
    basis : Features
        Maps rows of the view to m centred coordinates.
    axes : ndarray of shape (m, r)
        Maps these to whitened coordinates.
    back : ndarray of shape (m, r)
        Maps whitened coordinates back: ``Z = Q back'``.
    kept : ndarray of shape (r,)
        Variance of each whitened coordinate: 1, or less with a ridge.
    scores : ndarray of shape (n, r) or None
        Q, the rows in whitened coordinates; None if the rows are not in memory.
    clarity : float
        Smallest eigenvalue of the inverted correlation matrix, relative to the largest; 1 if none was inverted.
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
        """Return the map from rows of the view to combinations U of whitened coordinates."""
        return Map(self.basis.rows, self.basis.lifted(self.axes @ U), offset=self.basis.offset)

    def embed(self, U: Array) -> Array | None:
        """Return the embedding of the training rows; None if they are not in memory."""
        if self.scores is not None:
            return self.scores @ U
        return None if self.basis.raw is None else self.basis.embed(self.axes @ U)

    def patterns(self, T: Array) -> Array:
        """Return whitened coordinates T, (r, k), as k patterns over the columns of the view, (D, k)."""
        return self.basis.lifted(self.back @ T)

    def variances(self, U: Array) -> Array:
        """Return the covariance of combinations U of whitened coordinates."""
        return (U.T * self.kept) @ U

    @staticmethod
    def of_rows(basis: Features, ridge: float, name: str) -> View:
        """Return the view by a singular value decomposition of the rows, standardised unless there is a ridge."""
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
        """Return the view from the triangular factor of the rows."""
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
        """Return the view from the covariance C of the coordinates, without eigenvalues below `none` times the largest."""
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
    """Return `View.of_rows` of uncorrelated coordinates, which needs no factorisation; None if they are correlated."""
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
    """Return the number of nonzero singular values, with a warning about inaccurate ones unless there is a ridge."""
    if ridge or not s.size or not s[0] > 0:
        return int(np.sum(s > max(_RTOL * s.max(initial=0.0), 2 * rounding_of(n, size))))
    return directions_that_count(s, n, size, _RTOL, lost)


def _units(live: Mask, spread: Array, ridge: float) -> Array:
    """Return the divisor of each column: its standard deviation, or 1 with a ridge; infinity for constant columns."""
    return np.where(live, spread if ridge == 0 else 1.0, np.inf)


def _white(basis: Features, unit: Array, values: Array, V: Array, ridge: float, n: int, name: str) -> View:
    """Return the view from eigenpairs of the covariance of columns divided by `unit`, with a ridge in units of variance."""
    live = np.isfinite(unit)
    if not values.size:
        what = f"All {n} rows coincide" if name == "X" else f"All {n} rows of {name} coincide"
        raise DimensionError(f"{what}: there are no dimensions to show, and constant columns have no correlations.")
    if not live.all():
        note(**{f"constant_columns_of_{name}": int(np.sum(~live))})
    whole = values + ridge
    axes, back = V / np.sqrt(whole) / unit[:, None], V * np.sqrt(whole) * np.where(live, unit, 0.0)[:, None]
    clarity = 1.0 if ridge else float(values[-1] / values[0])
    return View(basis, axes, back, values / whole, clarity=clarity)


@dataclass(frozen=True, eq=False)
class Views:
    """Views of the same n points in whitened coordinates."""

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
        """Number of dimensions of two views beyond the rank n − 1 of centred rows: as many correlations are 1 for any data."""
        return max(0, sum(sorted(self.ranks)[-2:]) - (self.n - 1))

    def cross(self, i: int, j: int) -> Array:
        """Return the covariance between the whitened coordinates of two views; its singular values are canonical correlations."""
        one, two = self.views[i], self.views[j]
        if one.scores is not None and two.scores is not None:
            return one.scores.T @ two.scores / (self.n - 1)
        assert self.joint is not None
        return self.joint.cross(i, one.axes, j, two.axes)

    @staticmethod
    def of(
        points: Sequence[Points],
        names: Sequence[str],
        ridges: Sequence[float],
        *,
        reduce: int | None = None,
        random_state: RandomState = 0,
    ) -> Views:
        """Return the views of tables, by the fastest method that is accurate; ridges are relative to the mean variance of the columns."""
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
            if view.one_pass and joint is None:  # not validated yet
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
    def of_moments(
        joint: JointMoments, names: Sequence[str], ridges: Sequence[float], tables: Sequence[Matrix] | None = None
    ) -> Views:
        """Return the views from sums over their rows; the rows themselves are optional."""
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
        """Return the views; warn if the scatter of nearly dependent columns has few correct digits."""
        if self.clarity < 1e-3 * _CLEAR:
            warn(
                f"Columns of a view are nearly dependent: eigenvalues of their correlations differ by a factor of {1 / self.clarity:.0e}, "
                f"so that results along the smallest have about {max(0, int(15.6 + np.log10(self.clarity)))} correct digits. "
                "Leave out redundant columns, or pass ridge=.",
                PrecisionWarning,
            )
        return self


def _require(tables: Sequence[Matrix], reduce: int | None) -> None:
    """Raise MemoryLimitError unless the results of all views fit into memory, with the largest temporary array."""
    n, widths = tables[0].shape[0], [int(table.shape[1]) for table in tables]
    ranks = [min(n, D, reduce or D) for D in widths]
    kept = sum(8.0 * r * (5 * n + (D if reduce else 0)) for r, D in zip(ranks, widths, strict=True))
    way = max(row_space_memory(n, D) if n <= D else 24.0 * n * D for D in widths) if reduce is None else 0.0
    pairs = 8.0 * sum(ranks) ** 2
    require(
        kept + max(way, pairs),
        f"{n} rows of {len(widths)} views with {listed_numbers(widths)} columns, in whitened coordinates,",
        "Pass reduce=r to keep r principal axes of each view first.",
    )


def _coordinates(table: Matrix, reduce: int | None, ridge: float, random_state: RandomState) -> Features:
    n, D = table.shape
    columns = Features(Raw(), table, None, column_means(table))
    if reduce is None and n > D and not sp.issparse(table):
        return columns
    basis = Features.linear(table, reduce=reduce, random_state=random_state)
    # If several weights give the same variates, those of the standardised columns are used, as with more rows than columns.
    vague = reduce is None and not ridge and basis.dim < min(n - 1, D)
    return columns if vague and (not sp.issparse(table) or fits(48.0 * n * D, 0.5)) else basis


def _mean_variance(table: Matrix) -> float:
    """Return the mean variance of the columns that are not constant."""
    n, mean = table.shape[0], column_means(table)
    spread = Centred.of(table, mean).spread()
    live = spread > 1e-13 * np.abs(mean)
    return float(np.mean(spread[live] ** 2)) * n / (n - 1) if live.any() else 0.0
