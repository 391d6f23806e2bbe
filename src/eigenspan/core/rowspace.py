"""The row space of centred data: how many dimensions there are, and an orthonormal basis of them."""

from __future__ import annotations

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray

from .._resources import require
from ..solvers import dense
from ..solvers.centred import Centred, right_partners

Array = NDArray[np.float64]

#: Eigenvalue of the scatter, relative to its largest, above which a dimension is there beyond doubt, whatever the units of the
#: columns: dividing them by their spreads makes the condition no worse than by a factor of their number.
_SURE = 1e-10
#: The least that products of standardised columns tell from rounding.
_NONE = 1e-12


def row_space(C: Centred, size: Array, rtol: float, *, center: bool = True) -> tuple[Array | None, Array | None]:
    """Orthonormal axes of the row space of C, None when that is all of R^D, and the coordinates of the rows along them.

    The axes are the principal ones: Z'Z is diagonal there, and a unit form divided by its diagonal is well conditioned. Where the
    eigenvalues of the smaller Gram matrix leave the rank in doubt, it is judged on standardised columns, so that a
    feature measured in tiny units still counts; `size` is that of the columns, of which a spread of 1e-13 is rounding.
    The coordinates are None where they were not found on the way. `center` says that C is about the mean of its rows.
    """
    n, D = C.shape
    most = n - 1 if center else n  # centred rows sum to zero, up to the rounding of their mean
    spread = C.spread()
    live = spread > 1e-13 * size
    if not live.any():
        return np.zeros((D, 0)), np.zeros((n, 0))
    if n <= D:
        most = min(most, int(live.sum()))
        values, U = dense.eigenpairs(dense.symmetric(C.gram()), None, "max")
        values, U = values[:most], U[:, :most]
        if values[-1] > max(_SURE * values[0], 4 * rounding_of(n, size) ** 2):
            return right_partners(C, values, U), U * np.sqrt(values)
    unit = np.where(live, spread, 1.0)
    if n > D:
        S = C.scatter()
        R = np.where(np.outer(live, live), S / (n * np.outer(unit, unit)), 0.0)
        values, Q = dense.eigenpairs(dense.symmetric(R), None, "max")
        if live.all() and values[-1] > 1e-9 * values[0]:
            return None, None
        if C.is_sparse:
            lift = la.qr(unit[:, None] * Q[:, values > _NONE * values[0]], mode="economic")[0]
            return lift @ dense.eigenpairs(dense.symmetric(lift.T @ S @ lift), None, "max")[1], None
    # columns of few digits count for less, or the others would have to rise above their rounding
    unit = np.where(live, np.maximum(unit, np.finfo(float).eps / rtol * size), np.inf)
    axes = _standard_axes(C.divided(unit), rtol, 2 * rounding_of(n, size / unit))
    return _turned(C, np.where(live, unit, 0.0)[:, None] * axes[:, :most])


def rounding_of(n: int, size: Array) -> float:
    """Norm of the rounding errors in n rows whose columns are of the given size."""
    return float(np.finfo(float).eps * (np.sqrt(n) * size.max(initial=0.0) + np.linalg.norm(size)) / 2)


def _standard_axes(S: Centred, rtol: float, rounding: float) -> Array:
    """Orthonormal basis of the row space of standardised columns, largest first, without what may be rounding of the data."""
    n, D = S.shape
    if not S.is_sparse:
        require(24.0 * n * D, f"The singular vectors of {n}×{D} data", "Pass reduce=r to keep r principal axes first.")
        _, s, axes = dense.principal_axes(S.X, rtol)
        return axes[:, s > rounding]
    values, U = dense.eigenpairs(dense.symmetric(S.gram()), None, "max")
    keep = values > max(_NONE * values[0], rounding**2)
    return right_partners(S, values[keep], U[:, keep])


def _turned(C: Centred, axes: Array) -> tuple[Array, Array]:
    """The span of `axes` in its principal axes, and the rows' coordinates."""
    if not axes.size:
        return axes, np.zeros((C.shape[0], 0))
    Q = la.qr(axes, mode="economic")[0]
    U, s, turn = dense.principal_axes(C.forward(Q), rtol=0.0)
    return Q @ turn, U * s
