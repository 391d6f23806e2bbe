"""Principal curves: smooth curves through the middle of a cloud of points."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Annotated, Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ..._compat import HasMethods, Interval
from ..._diagnostics import note, stage
from ..._parameters import Count, Tolerance, TypeName, attribute
from ..._types import Array, Matrix, TableLike
from ...data import Input, Points, Sample, read_new
from ...data.read import check_embedded
from ...data.rows.storage import in_precision_of
from ...errors import ConvergenceWarning, DimensionError, warn
from ...numerics.eigen import dense
from ...numerics.penalised_spline import fit_spline
from ...numerics.polyline import nearest_on_polyline
from ...numerics.threads import one_blas_thread
from ...problem import Fitted, Map
from ...problem.spectrum import orientation_of, sign_of
from ..base.contract import Reducer
from ..base.table import besides, known_as

#: Degrees of freedom of each coordinate: 2 is a straight line.
Freedom = Annotated[float, Interval(Real, 2, None, closed="left")]
#: A method with an embedding.
FirstOrder = Annotated[Any, HasMethods("fit_transform"), TypeName("estimator")]
#: Number of segments of the polyline.
_SEGMENTS = 300
#: Length of a segment, relative to the extent of the rows, below which its two nodes coincide.
_NOTHING = 1e-12


@dataclass(frozen=True, eq=False)
class CurveRows:
    """Rows of a principal curve: the arc length at the point of the curve nearest to each point.

    Attributes
    ----------
    nodes : ndarray of shape (m + 1, D)
        Nodes of the polyline; of a closed curve the last equals the first.
    """

    nodes: Array

    @property
    def lengths(self) -> Array:
        """Arc length at the nodes."""
        return np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(self.nodes, axis=0), axis=1))])

    def nearest(self, X: Matrix) -> tuple[Array, Array]:
        """Return the arc length at the nearest point of the curve, and this point."""
        segment, position, points = nearest_on_polyline(np.asarray(X, dtype=np.float64), self.nodes)
        s = self.lengths
        return s[segment] + position * np.diff(s)[segment], points

    def __call__(self, X: Matrix) -> Array:
        return self.nearest(X)[0][:, None]

    def points(self, s: Array, closed: bool) -> Array:
        """Return the points at arc lengths s: beyond the ends on the extended first and last segment, or around a closed curve."""
        ends = self.lengths
        s = np.mod(s, ends[-1]) if closed else s
        k = np.clip(np.searchsorted(ends, s, side="right") - 1, 0, len(ends) - 2)
        share = (s - ends[k]) / np.diff(ends)[k]
        return np.asarray(self.nodes[k] + share[:, None] * np.diff(self.nodes, axis=0)[k])


@besides("pursuit", "min squared distances to a curve", "arc length", "samples", "none", "n D per step", "S3 §5.1")
@known_as(
    "Principal curve",
    "principal curves; method of principal curves; nonlinear principal component; self-consistent curve; Hastie and Stuetzle",
    {"closed=True": "closed principal curve"},
)
class PrincipalCurve(Reducer):
    """Principal curve: a smooth curve through the middle of the points.

    .. math:: f(s) = E[x \\mid s_f(x) = s], \\qquad s_f(x) = \\arg\\min_s \\lVert x - f(s) \\rVert

    Each point of the curve is the mean of the rows that are nearest to it (self-consistency) [S3, §5.1]. It is the first
    principal axis, bent to the data: use it where the points lie along a path, such as a process in time, and a line cuts corners.
    ``transform`` returns the arc length from the start of the curve, in the units of X, and `project` the nearest points on the curve.

    The algorithm of Hastie and Stuetzle alternates two steps from the first principal axis (from the circle in the plane of the first
    two, for a closed curve): every coordinate is smoothed as a function of arc length, and the rows are projected onto the new curve. It
    stops when the mean squared distance no longer falls. Smoothing draws the curve slightly towards its inner side where it bends. A
    path that folds back on the first principal axis may not be found from there: use ``start=Isomap(1)``.

    Cost: O(n(mD + q²)) per iteration for m = 300 segments and q splines (at most 50); O(nD) memory.

    Parameters
    ----------
    df
        Degrees of freedom of every coordinate as a function of arc length: 2 is a straight line, and larger values bend
        more.
    closed
        Fit a closed curve.
    start
        A method whose first coordinate orders the rows at the start, such as ``Isomap(1)`` for a path that folds back; for a closed
        curve, the angle in the plane of its first two coordinates. It is cloned. None means principal axes.
    tol
        Stop when the mean squared distance falls by less than this share.
    max_iter
        Maximum number of iterations. A warning says if they were too few.

    Attributes
    ----------
    nodes_ : ndarray of shape (n_nodes, n_features)
        Nodes of the curve, a polyline; of a closed curve the last equals the first.
    length_ : float
        Length of the curve.
    path_ : ndarray
        Mean squared distance to the curve: at the start, and after each iteration.
    n_iter_ : int
        Number of iterations.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenspan import PrincipalCurve
    >>> rng = np.random.default_rng(0)
    >>> angle = rng.uniform(0, np.pi, 300)
    >>> X = np.column_stack([np.cos(angle), np.sin(angle)]) + 0.05 * rng.standard_normal((300, 2))
    >>> curve = PrincipalCurve(df=8).fit(X)
    >>> bool(abs(np.corrcoef(curve.embedding_[:, 0], angle)[0, 1]) > 0.99)
    True
    >>> bool(abs(curve.length_ - np.pi) < 0.2)
    True

    References
    ----------
    Hastie & Stuetzle (1989), Principal curves; [S3] §5.1.
    """

    df: Freedom = 5.0
    closed: bool = False
    start: FirstOrder | None = None
    tol: Tolerance = 1e-4
    max_iter: Count = 50

    nodes_: Array = attribute()
    length_: float = attribute()
    path_: Array = attribute()
    n_iter_: int = attribute()

    _input: ClassVar[Input] = Input()

    def _fit(self, sample: Sample[Points, None]) -> Fitted:
        sample.x.refuse_one_place()
        X = np.asarray(sample.x.values, dtype=np.float64)
        centre = X.mean(axis=0)
        unit = float(np.abs(X - centre).max())  # squares of large values would overflow
        with stage("first order"):
            first = self._first_order((X - centre) / unit, X)
        with stage("curve"), one_blas_thread():
            curve, path, count = self._iterate((X - centre) / unit, first)
        curve = CurveRows(curve.nodes * unit + centre)
        s = curve(X)
        if not self.closed and sign_of(s - s.mean())[0] < 0:
            curve = CurveRows(curve.nodes[::-1].copy())
            s = curve(X)
        found = {"nodes_": curve.nodes, "length_": float(curve.lengths[-1]), "path_": path * unit**2, "n_iter_": count}
        return Fitted(s, Map(curve, np.ones((1, 1))), found)

    def _first_order(self, X: Array, given: Array) -> Array:
        """Return the parameter of each row at the start: a coordinate, or the angle in the plane of two of them for a closed curve."""
        wanted = 2 if self.closed else 1
        if self.start is None:
            U, lengths, _ = dense.principal_axes(X)
            Y = U * lengths
            Y = Y @ orientation_of(lengths**2, Y)
        else:
            Y = np.asarray(clone(self.start).fit_transform(given), dtype=np.float64)
            Y = Y.reshape(len(X), -1) - Y.mean(axis=0)
        if Y.shape[1] < wanted:
            raise DimensionError(
                f"A closed curve starts from the angle in a plane, and there is one coordinate only: "
                f"{'all rows lie on a line' if self.start is None else 'start= must have two components'}. Use closed=False."
            )
        return np.mod(np.arctan2(Y[:, 1], Y[:, 0]), 2 * np.pi) if self.closed else Y[:, 0]

    def _iterate(self, X: Array, s: Array) -> tuple[CurveRows, Array, int]:
        """Return the curve, the mean squared distances of the rows to the curves on the way, and the number of iterations."""
        curve = self._smoothed(X, s, 2 * np.pi)
        s, points = curve.nearest(X)
        path = [_mean_square(X - points)]
        for count in range(1, self.max_iter + 1):
            moved = self._smoothed(X, s, curve.lengths[-1])
            s, points = moved.nearest(X)
            loss = _mean_square(X - points)
            if loss < path[-1]:
                curve = moved
                path.append(loss)
            if len(path) == count or path[-2] - loss <= self.tol * path[-2]:
                note(curve_iterations=count)
                return curve, np.array(path), count
        warn(
            f"The principal curve still moved after max_iter={self.max_iter} iterations: the mean squared distance fell by "
            f"{1 - path[-1] / path[-2]:.1e} in the last one (wanted tol={self.tol:g}). Raise max_iter, or tol.",
            ConvergenceWarning,
        )
        return curve, np.array(path), self.max_iter

    def _smoothed(self, X: Array, s: Array, period: float) -> CurveRows:
        """Return the polyline along the smoothed coordinates as functions of s."""
        spline = fit_spline(s, X, self.df, period=period if self.closed else None)
        nodes = spline(np.linspace(*spline.bounds, _SEGMENTS + 1))
        apart = np.linalg.norm(np.diff(nodes, axis=0), axis=1) > _NOTHING
        if not apart.any():
            raise DimensionError(
                f"The curve has shrunk to a point: {len(X)} rows vary in no direction that depends on their order along the curve. Use a "
                "larger df=, or another start=."
            )
        return CurveRows(nodes[np.concatenate([[True], apart])])

    def project(self, X: TableLike) -> Array:
        """Return the point of the curve nearest to each point.

        Parameters
        ----------
        X : array-like of shape (n_points, n_features)

        Returns
        -------
        ndarray of shape (n_points, n_features)
        """
        check_is_fitted(self)
        values, rows = read_new(self, X)
        return in_precision_of(values, self.map_.rows.nearest(rows)[1])

    def inverse_transform(self, Y: TableLike) -> Array:
        """Return the points of the curve at these arc lengths: beyond the ends on straight lines, or around a closed curve.

        Parameters
        ----------
        Y : array-like of shape (n_points, 1)

        Returns
        -------
        ndarray of shape (n_points, n_features)
        """
        check_is_fitted(self)
        s = check_embedded(Y, 1)
        return in_precision_of(s, self.map_.rows.points(s[:, 0].astype(np.float64), self.closed))


def _mean_square(rows: Array) -> float:
    return float(np.mean(np.einsum("ij,ij->i", rows, rows)))
