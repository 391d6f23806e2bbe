"""Principal Hessian directions: axes along which the regression of a response is curved."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ClassVar, Literal

import numpy as np

from ..._diagnostics import stage
from ..._types import Array, Index, Labels
from ...data import LazyClasses, LazyRows, Sample, Sufficient
from ...data.rows.moments import Moments, Sums
from ...data.y_values import code_classes, label_array
from ...errors import LabelError
from ...numerics.eigen import dense
from ..base.table import known_as, method
from .inverse_regression import BY_SLICES, Inverse, InverseRegression, Spherical, in_coordinates, spherical_sums
from .response_slices import Response, SliceMoments, Slices


def _refuse_classes(count: int) -> None:
    if count > 2:
        raise LabelError(
            f"PHD needs a response in numbers, whose curvature it looks for, and this one has {count} classes: use SAVE or "
            "DirectionalRegression."
        )


def _refuse_straight(left: float, all_of_it: float) -> None:
    if left <= 1e-10 * all_of_it:
        raise LabelError("The response is a linear function of X, and leaves no residuals to look at: use SIR.")


def _refuse_cancelled(S: Array, W: Array, r: Array) -> None:
    """Raise if the mean products are rounding errors of their terms."""
    terms = np.einsum("i,ij,ij->j", np.abs(r / r.std()), W, W) / len(
        W
    )  # products of different coordinates are not larger
    if np.abs(S).max() <= 1e-12 * terms.max():
        raise LabelError(
            "The mean products of the response with pairs of coordinates are zero: it bends along no axis. Rows that repeat, and a kernel "
            'that can separate all others, leave residuals that cancel: use response="response", or a smaller gamma.'
        )


def _first_class(y: LazyClasses) -> LazyRows:
    """Return 1 for the rows of the first of two classes, 0 for those of the other."""
    _refuse_classes(y.count)
    return y.labels.each(partial(_is_first, y.names), 1, None)


def _is_first(names: Labels, labels: Labels) -> Array:
    """Return 1 for labels of the first class, 0 for others, NaN for unknown ones."""
    codes, found, _ = code_classes(label_array(labels), None)
    return np.where(codes < 0, np.nan, np.isin(codes, np.flatnonzero(found == names[0])))[:, None].astype(np.float64)


def _joint_sums(X: Array, y: Array) -> Sums:
    """Return the moments of rows joined with their response, and of rows without a response."""
    known = ~np.isnan(y[:, 0])
    both = np.column_stack([X[known], y[known]]).astype(np.float64)
    return Sums(Moments.of(both), Moments.of(X[~known]))


def _hessian_sums(mean: Array, level: float, T: Array, b: Array, X: Array, y: Array) -> Array:
    """Return ``Σ r z z'`` over the spherical rows z about their mean, and below it the sum of the squares of r."""
    known = ~np.isnan(y[:, 0])
    Z = np.subtract(X[known], mean, dtype=np.float64) @ T
    r = y[known, 0] - level - Z @ b
    squares = np.zeros((1, T.shape[1]))
    squares[0, 0] = r @ r
    return np.vstack([(Z.T * r) @ Z, squares])


def _of_rows(estimator: PHD, W: Array, response: Response) -> Array:
    if response.classes:
        _refuse_classes(response.count)
    y = response.values[:, 0] - response.values[:, 0].mean()
    r = y - W @ np.linalg.lstsq(W, y, rcond=None)[0] if estimator.response == "residual" else y
    _refuse_straight(float(np.linalg.norm(r)), float(np.linalg.norm(y)))
    S = (W.T * (r / r.std())) @ W / len(W)
    _refuse_cancelled(S, W, r)
    return S @ S


def _moments_from_sums(estimator: PHD, sample: Sample) -> tuple[Spherical, SliceMoments, Array]:
    """Return spherical coordinates, moments and M in two passes: means, covariances and regression; then products about these."""
    rows, y = sample.x.values, sample.y
    column = _first_class(y) if isinstance(y, LazyClasses) else y.column
    with stage("moments"):
        sums = rows.reduce(_joint_sums, column)
    D = rows.width
    one, rest = sums.labelled, sums.rest
    own = Moments(one.counts, one.means[:, :D], one.scatter[:D, :D])
    everyone = own + rest
    everyone = everyone if everyone.is_full else everyone.factored(rows)
    seen, T = spherical_sums(estimator, everyone, rest.n == 0)
    if everyone.root is not None:  # Products of the coordinates keep digits that products of the features lose.
        rows, D, T = in_coordinates(rows, T, everyone.mean), T.shape[1], np.eye(T.shape[1])
        with stage("moments"):
            one = rows.reduce(_joint_sums, column).labelled
        own = Moments(one.counts, one.means[:, :D], one.scatter[:D, :D])
    b = np.zeros(T.shape[1])
    if estimator.response == "residual":
        b = np.linalg.lstsq(T.T @ own.scatter @ T, T.T @ one.scatter[:D, D], rcond=None)[0]
    with stage("inverse moments"):
        about = partial(_hessian_sums, own.mean, float(one.mean[D]), T, b)
        products = rows.reduce(about, column)
    squares = float(products[-1, 0])
    _refuse_straight(squares**0.5, float(one.scatter[D, D]) ** 0.5)
    S = products[:-1] / (np.sqrt(squares / one.n) * one.n)
    return seen, SliceMoments(np.array([one.n]), own.means, S), S @ S


def _chi2(M: Array, response: Slices, moments: Callable[[], SliceMoments]) -> tuple[Array, Index]:
    m, sizes = int(response.counts.sum()), np.arange(len(M), 0, -1)
    return m / 2 * np.cumsum(dense.eigenvalues(M))[::-1], sizes * (sizes + 1) // 2


@method("sufficient", "max (E y z zᵀ)²", "covariance", "n D min(n, D)", "S3 §3.9.3", "phd")
@known_as("Principal Hessian directions", "", {"response='residual'": "residual-based pHd; residual pHd"})
class PHD(InverseRegression):
    """Principal Hessian directions.

    .. math:: \\max_V \\operatorname{Tr}(V^T \\Sigma^{1/2} S^2\\, \\Sigma^{1/2} V) \\quad \\text{s.t. } V^T \\Sigma V = I,
              \\qquad S = \\frac{1}{n} \\sum_i r_i z_i z_i^T

    over the spherical rows :math:`z = \\Sigma^{-1/2}(x - \\bar x)`; r is the centred response, or what a linear
    regression leaves of it, at unit variance. For normal X, S is the mean Hessian of the regression of y on z (Stein's lemma): the axes
    are those along which the response bends most, upwards or downwards, and ``eigenvalues_`` the squares of these curvatures. It needs
    no slices and finds ``y = x²``; it does not find linear dependence.

    Cost: O(nD min(n, D) + D³) time, O(nD) memory.

    Parameters
    ----------
    response
        Definition of r. Residuals are the better choice if there is also a linear trend, which only adds noise to S.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenspan import PHD
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((1000, 5))
    >>> y = X[:, 0] + X[:, 1] ** 2 + 0.1 * rng.standard_normal(1000)
    >>> V = PHD(1, response="residual").fit(X, y).components_
    >>> int(abs(V[0]).argmax())
    1

    References
    ----------
    [S3] §3.9.3; Li (1992), On principal Hessian directions for data visualization and dimension reduction.
    """

    response: Literal["response", "residual"] = "response"

    _sums_suffice: ClassVar[Sufficient | None] = BY_SLICES
    _inverse: ClassVar[Inverse] = Inverse(_of_rows, from_sums=_moments_from_sums, chi2=_chi2)
