"""The row space of centred data: its dimension and an orthonormal basis."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from typing import NamedTuple

import numpy as np
import scipy.linalg as la

from .._types import Array, is_sparse
from ..data.rows.moments import Moments
from ..data.rows.triangular import NEED, ROUNDING
from ..errors import PrecisionWarning, warn
from ..numerics.eigen import dense
from ..numerics.eigen.centred import Centred, Partners, right_partners
from ..numerics.memory import fits, require

#: Eigenvalue of the scatter, relative to the largest, above which a dimension is certain for any units of the columns: standardising
#: D columns increases the condition number by a factor of at most D.
_SURE = 1e-9
#: Smallest relative eigenvalue of products of standardised columns that is not a rounding error.
_NONE = 1e-12
#: Singular value of standardised columns, relative to the largest, above which an excluded direction is more than rounding.
_LOST = 1e-13
#: Largest error of a singular value, as a share of the rounding bound for data far from the origin.
_DOUBT = 0.5
_FEWER = (
    "Leave out columns that nearly repeat others, centre data that lie far from zero before they are rounded, "
    "or ask for fewer components."
)
_REDUCE = "Pass reduce=r to keep r principal axes first."


def row_space_memory(n: int, D: int) -> float:
    """Return the largest number of bytes for the row space of n ≤ D rows: sparse and dense Gram matrix, and a block of columns."""
    return 48.0 * n**2 + 8.0 * min(n * D, 2**23)


def row_space(
    C: Centred, size: Array, rtol: float, *, center: bool = True
) -> tuple[Array | Partners | None, Array | None]:
    """Return orthonormal axes of the row space of C (None for all of R^D) and the coordinates of the rows along them.

    The axes are the principal ones, so that Z'Z is diagonal and a unit form scaled by its diagonal is well conditioned. If the eigenvalues
    of the smaller Gram matrix do not determine the rank, it is determined from standardised columns, so that it does not depend on their
    units. A column whose standard deviation is below 1e-13 of its `size` is constant up to rounding.
    With fewer rows than columns the axes are stored as combinations of the rows, and no D×n array is needed unless the rank is in doubt.
    The coordinates are None if they were not computed on the way. With `center`, C is relative to the mean of its rows.
    """
    n, D = C.shape
    most = n - 1 if center else n  # centred rows sum to zero, up to rounding of their mean
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
    if n > D and live.all():
        values = dense.eigenpairs(dense.symmetric(C.scatter() / (n * np.outer(spread, spread))), None, "max")[0]
        if values[-1] > _SURE * values[0]:
            return None, None
    # columns with few digits get a smaller weight, because otherwise their rounding errors would hide the other columns
    unit = np.where(live, np.maximum(spread, np.finfo(float).eps / rtol * size), np.inf)
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
    """Principal axes (D, r) of the row space of a factor, and the singular values along them."""

    axes: Array
    sizes: Array


def factor_axes(
    R: Array, n: float, size: Array, rtol: float, lost: Array | None = None, wanted: int | None = None
) -> FactorAxes:
    """Return the row space from the triangular factor R of n centred rows, whose columns have the given size. Cost O(D³).

    The rank is that of the standardised columns, as in `row_space`. Warns if directions close to the limit have few correct digits; if
    only the `wanted` directions of largest variance are needed, only these are checked. `lost` is the error of R in each column.
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


def directions_that_count(s: Array, n: float, size: Array, rtol: float, lost: Array | None = None) -> int:
    """Return the rank: the number of singular values of n rows of standardised columns above `rtol` and above rounding errors.

    Warns if directions close to the limit have few correct digits.
    """
    rounding = 2 * rounding_of(n, size)
    s = s[: max(round(n) - 1, 1)] if size.any() else s  # centred rows sum to zero, up to rounding of their mean
    count = int(np.sum(s > max(rtol * s[0], rounding)))
    left = s[count:][s[count:] > max(_LOST * s[0], _DOUBT * rounding)]
    if left.size:
        warn(
            f"{left.size} of {s.size} directions were left out: the standardised columns vary along them by {left[0] / s[0]:.0e} of the "
            f"largest. Directions below {max(rtol, rounding / s[0]):.0e} have too few correct digits in data of this size. {_FEWER}",
            PrecisionWarning,
        )
    elif count:
        unknown = 0.0 if lost is None else float(np.sum(lost**2)) / s[count - 1] ** 2
        bound = ROUNDING * s[0] / s[count - 1] + (0.5 * rounding / s[count - 1]) ** 2 + unknown
        warn_of_digits(bound, s[0] / s[count - 1], float(size.max(initial=0.0)))
    return count


def warn_of_digits(bound: float, condition: float, ratio: float = 0.0) -> None:
    """Warn if `bound`, the relative error of results in their smallest direction, is too large.

    `condition` is the ratio of the largest spread to the smallest, `ratio` that of the means to the spreads of the columns.
    """
    if bound > NEED:
        far = f", and the columns lie up to {ratio:.0e} times their spread from zero" if ratio > 1e3 else ""
        warn(
            f"The smallest direction in use has a relative error of up to {min(bound, 1.0):.0e}: along the largest, "
            f"the data vary {condition:.0e} times as much{far}. {_FEWER}",
            PrecisionWarning,
        )


def _is_sure(values: Array, least: float) -> bool:
    """Return True if all of these eigenvalues (largest first) are certainly more than rounding errors."""
    return bool(values.size and values[-1] > max(_SURE * values[0], least))


def _combined(C: Centred, values: Array, U: Array) -> tuple[Array | Partners, Array]:
    """Return axes as combinations of the rows, from eigenpairs of their Gram matrix, and the coordinates along them."""
    return Partners.of(C, values, U), U * np.sqrt(values)


def rounding_of(n: float, size: Array) -> float:
    """Return the norm of the rounding errors in n rows whose columns have the given size."""
    return float(np.finfo(float).eps * (np.sqrt(n) * size.max(initial=0.0) + np.linalg.norm(size)) / 2)


def _standard_rows(S: Centred, rounding: float, most: int) -> tuple[Array, Array, bool]:
    """Return squared singular values and left singular vectors of standardised columns, largest first, by products of sparse rows.

    The third value is True if the excluded directions hold only rounding errors. This is measured by products with the rows, because
    squared singular values are not accurate enough.
    """
    values, U = dense.eigenpairs(dense.symmetric(S.gram()), None, "max")
    keep = values > max(_NONE * values[0], rounding**2)
    keep[most:] = False
    squares = sum(
        (np.einsum("ij,ij->j", V, V) for V in S.backward_parts(U[:, ~keep][:, : most - keep.sum()])), np.zeros(1)
    )
    return values[keep], U[:, keep], bool(np.all(squares <= max(1e-12 * np.sqrt(values[0]), rounding) ** 2))


def _turned(C: Centred, axes: Array) -> tuple[Array, Array]:
    """Return the principal axes within the span of `axes`, and the coordinates of the rows."""
    if not axes.size:
        return axes, np.zeros((C.shape[0], 0))
    Q = la.qr(axes, mode="economic")[0]
    U, s, turn = dense.principal_axes(C.forward(Q), rtol=0.0)
    return Q @ turn, U * s


def scatter_axes(moments: Moments) -> Array:
    """Return the principal axes of the row space from a scatter without its rows; warns about the loss of accuracy."""
    live, spread = moments.live(), moments.spread()
    values, Q = dense.eigenpairs(dense.symmetric(moments.correlations()), None, "max")
    count = int(np.sum(values > moments.none * values[0]))
    bound, condition = ROUNDING * values[0] / values[count - 1], np.sqrt(values[0] / values[count - 1])
    if bound > NEED or count < min(values.size, moments.n - 1):
        warn(
            f"The sums of products over the rows determine {count} of {values.size} directions, the last one with a relative error of up "
            f"to {bound:.0e}: the standardised columns vary by a factor of {condition:.0e} or more, and the rows cannot be read again. "
            "Fit to all rows at once, or leave out columns that nearly repeat others.",
            PrecisionWarning,
        )
    axes = np.zeros((live.size, count))
    axes[live] = spread[live, None] * Q[:, :count]
    axes = dense.orthonormal(axes, rtol=0.0)
    return axes @ dense.eigenpairs(dense.symmetric(axes.T @ moments.pooled().scatter @ axes), None, "max")[1]
