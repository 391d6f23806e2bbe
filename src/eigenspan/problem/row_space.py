"""The row space of centred data: how many dimensions there are, and an orthonormal basis of them."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from .._types import Array, Matrix, is_sparse
from ..data.rows.storage import blocks
from ..data.rows.triangular import NEED, ROUNDING
from ..errors import PrecisionWarning, warn
from ..numerics.eigen import dense
from ..numerics.eigen.centred import Centred, Partners, right_partners
from ..numerics.memory import fits, require

#: Eigenvalue of the scatter, relative to its largest, above which a dimension is there beyond doubt, whatever the units of the
#: columns: dividing them by their spreads makes the condition no worse than by a factor of their number.
_SURE = 1e-9
#: The least that products of standardised columns tell from rounding.
_NONE = 1e-12
#: Singular value of standardised columns, relative to the largest, above which a direction that is left out is more than rounding.
_LOST = 1e-13
#: The same beside the rounding of data far from the origin: sums of columns may be off by a good part of it.
_DOUBT = 0.5
_FEWER = (
    "Leave out columns that nearly repeat others, move data that lie far from zero before they are rounded, "
    "or ask for fewer components."
)
_REDUCE = "Pass reduce=r to keep r principal axes first."


def row_space_memory(n: int, D: int) -> float:
    """Bytes that the row space of n ≤ D rows takes at most: their products, sparse before they are dense, and a block of columns."""
    return 48.0 * n**2 + 8.0 * min(n * D, 2**23)


def row_space(
    C: Centred, size: Array, rtol: float, *, center: bool = True
) -> tuple[Array | Partners | None, Array | None]:
    """Orthonormal axes of the row space of C, None when that is all of R^D, and the coordinates of the rows along them.

    The axes are the principal ones: Z'Z is diagonal there, and a unit form divided by its diagonal is well conditioned. Where the
    eigenvalues of the smaller Gram matrix leave the rank in doubt, it is judged on standardised columns, so that a
    feature measured in tiny units still counts; `size` is that of the columns, of which a spread of 1e-13 is rounding.
    Of fewer rows than columns the axes are combinations of the rows, and known as such: nothing of D×n is made, unless rank or
    units are in doubt.
    The coordinates are None where they were not found on the way. `center` says that C is about the mean of its rows.
    """
    n, D = C.shape
    most = n - 1 if center else n  # centred rows sum to zero, up to the rounding of their mean
    spread = C.spread()
    live = spread > 1e-13 * size
    if not live.any():
        return np.zeros((D, 0)), np.zeros((n, 0))
    least = 4 * rounding_of(n, size) ** 2
    if n <= D:
        most = min(most, int(live.sum()))
        values, U = dense.eigenpairs(dense.symmetric(C.gram()), None, "max")
        if _is_sure(values[:most], least):
            return _combined(C, values[:most], U[:, :most])
    unit = np.where(live, spread, 1.0)
    if n > D:
        S = C.scatter()
        R = np.where(np.outer(live, live), S / (n * np.outer(unit, unit)), 0.0)
        values = dense.eigenpairs(dense.symmetric(R), None, "max")[0]
        if live.all() and values[-1] > 1e-9 * values[0]:
            return None, None
    # columns of few digits count for less, or the others would have to rise above their rounding
    unit = np.where(live, np.maximum(unit, np.finfo(float).eps / rtol * size), np.inf)
    standard, rounding = C.divided(unit), 2 * rounding_of(n, size / unit)
    if C.is_sparse:
        squares, U, nothing = _standard_rows(standard, rounding, most)
        values, turn = dense.eigenpairs(dense.symmetric(U.T @ C.gram() @ U), None, "max")
        clear = nothing and squares[-1] > _SURE * squares[0]
        if clear and _is_sure(values, least):
            return _combined(C, values, U @ turn)
    if not C.is_sparse or (not clear and fits(48.0 * n * D, 0.5)):
        require((48.0 if C.is_sparse else 24.0) * n * D, f"The singular vectors of {n}×{D} data", _REDUCE)
        Z = standard.X.toarray() - standard.mean if is_sparse(standard.X) else standard.X
        _, s, axes = dense.principal_axes(Z, 0.0)
        axes = axes[:, : directions_that_count(s, n, size / unit, rtol)]
    else:
        warn_of_digits(0.0 if clear else ROUNDING * squares[0] / squares[-1], float(np.sqrt(squares[0] / squares[-1])))
        if _is_sure(values, least):
            return _combined(C, values, U @ turn)
        require(40.0 * D * squares.size, f"The axes of {n}×{D} data of unlike units", _REDUCE)
        axes = right_partners(standard, squares, U)
    return _turned(C, np.where(live, unit, 0.0)[:, None] * axes[:, :most])


class FactorAxes(NamedTuple):
    """The row space of a factor in its principal axes, (D, r), and the singular values along them."""

    axes: Array
    sizes: Array


def factor_axes(
    R: Array, n: int, size: Array, rtol: float, lost: Array | None = None, wanted: int | None = None
) -> FactorAxes:
    """The same from the triangular factor R of n centred rows, whose columns are of the given size. Cost O(D³).

    Directions count by the singular values of the standardised columns, as in `row_space`. Warns where those that count, or those that
    are left out, are so small that the factor knows few of their digits; where only so many of largest variance are `wanted`, by these
    alone. `lost` is the size of what R does not know of each column.
    """
    spread = np.linalg.norm(R, axis=0) / np.sqrt(max(n, 1))
    live = spread > 1e-13 * size
    if not live.any():
        return FactorAxes(np.zeros((R.shape[1], 0)), np.zeros(0))
    unit = np.where(live, np.maximum(spread, np.finfo(float).eps / rtol * size), np.inf)
    _, s, axes = dense.principal_axes(R / unit, 0.0)
    with warnings.catch_warnings(action="ignore") if wanted is not None else nullcontext():
        count = directions_that_count(s, n, size / unit, rtol, None if lost is None else lost / unit)
    Q = la.qr(np.where(live, unit, 0.0)[:, None] * axes[:, :count], mode="economic")[0]
    _, sizes, turn = dense.principal_axes(R @ Q, rtol=0.0)
    if wanted is not None and 0 < wanted <= sizes.size:
        least = sizes[wanted - 1]
        unknown = 0.0 if lost is None else float(np.sum(lost**2)) / least**2
        bound = ROUNDING * sizes[0] / least + (rounding_of(n, size) / least) ** 2 + unknown
        warn_of_digits(bound, sizes[0] / least, float((size / unit).max()))
    return FactorAxes(Q @ turn, sizes)


def directions_that_count(s: Array, n: int, size: Array, rtol: float, lost: Array | None = None) -> int:
    """How many of the singular values of n rows of standardised columns are neither negligible nor rounding of columns of this size.

    Warns where those that count, or those that are left out, are so small that few of their digits are known.
    """
    rounding = 2 * rounding_of(n, size)
    s = s[: max(n - 1, 1)] if size.any() else s  # centred rows sum to zero, up to the rounding of their mean
    count = int(np.sum(s > max(rtol * s[0], rounding)))
    left = s[count:][s[count:] > max(_LOST * s[0], _DOUBT * rounding)]
    if left.size:
        warn(
            f"{left.size} of {s.size} directions were left out: the standardised columns vary along them by {left[0] / s[0]:.0e} of the "
            f"largest, and directions count from {max(rtol, rounding / s[0]):.0e} on: of smaller ones, data of this size hold few digits. "
            f"{_FEWER}",
            PrecisionWarning,
        )
    elif count:
        unknown = 0.0 if lost is None else float(np.sum(lost**2)) / s[count - 1] ** 2
        bound = ROUNDING * s[0] / s[count - 1] + (0.5 * rounding / s[count - 1]) ** 2 + unknown
        warn_of_digits(bound, s[0] / s[count - 1], float(size.max(initial=0.0)))
    return count


def warn_of_digits(bound: float, condition: float, ratio: float = 0.0) -> None:
    """Say that results have a relative error of up to `bound` in their smallest direction, where that matters.

    `condition` is the ratio of the largest spread to the smallest, `ratio` that of the means to the spreads of the columns.
    """
    if bound > NEED:
        far = f", and the columns lie up to {ratio:.0e} times their spread from zero" if ratio > 1e3 else ""
        warn(
            f"The smallest direction that counts is known to a relative error of up to {min(bound, 1.0):.0e} only: along the largest, "
            f"the data vary {condition:.0e} times as much{far}. {_FEWER}",
            PrecisionWarning,
        )


def _is_sure(values: Array, least: float) -> bool:
    """All of these eigenvalues are more than rounding, largest first."""
    return bool(values.size and values[-1] > max(_SURE * values[0], least))


def _combined(C: Centred, values: Array, U: Array) -> tuple[Array | Partners, Array]:
    """Axes that are combinations of the rows, from eigenpairs of their products, and the coordinates along them."""
    return Partners.of(C, values, U), U * np.sqrt(values)


def rounding_of(n: int, size: Array) -> float:
    """Norm of the rounding errors in n rows whose columns are of the given size."""
    return float(np.finfo(float).eps * (np.sqrt(n) * size.max(initial=0.0) + np.linalg.norm(size)) / 2)


def _standard_rows(S: Centred, rounding: float, most: int) -> tuple[Array, Array, bool]:
    """Orthonormal basis of the column space of standardised columns, largest first, by the products of sparse rows; and their squares.

    Besides, whether there is nothing along the rest but rounding, which products with the rows tell, and their squares do not.
    """
    values, U = dense.eigenpairs(dense.symmetric(S.gram()), None, "max")
    keep = values > max(_NONE * values[0], rounding**2)
    keep[most:] = False
    squares = sum(
        (np.einsum("ij,ij->j", V, V) for V in S.backward_parts(U[:, ~keep][:, : most - keep.sum()])), np.zeros(1)
    )
    return values[keep], U[:, keep], bool(np.all(squares <= max(1e-12 * np.sqrt(values[0]), rounding) ** 2))


def _turned(C: Centred, axes: Array) -> tuple[Array, Array]:
    """The span of `axes` in its principal axes, and the rows' coordinates."""
    if not axes.size:
        return axes, np.zeros((C.shape[0], 0))
    Q = la.qr(axes, mode="economic")[0]
    U, s, turn = dense.principal_axes(C.forward(Q), rtol=0.0)
    return Q @ turn, U * s


def scatter_axes(moments: Any) -> Array:
    """Orthonormal basis of the row space from a scatter whose rows are gone, turned to its principal axes; warns of what that loses."""
    live, spread = moments.live(), moments.spread()
    values, Q = dense.eigenpairs(dense.symmetric(moments.correlations()), None, "max")
    count = int(np.sum(values > moments.none * values[0]))
    bound, condition = ROUNDING * values[0] / values[count - 1], np.sqrt(values[0] / values[count - 1])
    if bound > NEED or count < min(values.size, moments.n - 1):
        warn(
            f"The sums of products over the rows tell {count} of {values.size} directions from rounding, the last to a relative error of "
            f"up to {bound:.0e}: the standardised columns vary by a factor of {condition:.0e} or more, and the rows are not at hand to be "
            "read again. Fit to all rows at once, or leave out columns that nearly repeat others.",
            PrecisionWarning,
        )
    axes = np.zeros((live.size, count))
    axes[live] = spread[live, None] * Q[:, :count]
    axes = dense.orthonormal(axes, rtol=0.0)
    return axes @ dense.eigenpairs(dense.symmetric(axes.T @ moments.pooled().scatter @ axes), None, "max")[1]


def weighted_sum(weights: Array, X: Matrix) -> Array:
    """``X' weights`` in double precision."""
    if sp.issparse(X) or X.dtype == np.float64:
        return np.asarray(weights @ X).ravel()
    return np.sum([weights[part] @ X[part].astype(np.float64) for part in blocks(*X.shape)], axis=0)
