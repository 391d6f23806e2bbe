"""Theorems about several views of the same rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..methods.discriminant.lda import LDA
from ..methods.two_views import cca as two_views
from ..methods.two_views import kernel_cca
from ..methods.two_views import multiview_cca as multiview
from ..numerics.eigen import dense
from ..problem import DirectSum, Features, cross_form, pose, solve
from .measure import angle, centred, cut, highest, relative
from .theorem import Measured, UnmetError, subject
from .theorem_data import Data

Array = NDArray[np.float64]

theorem = subject("Two views")

#: Typed as Any: type checkers mistake fitted attributes of these classes for missing parameters.
CCA: Any = two_views.CCA
KernelCCA: Any = kernel_cca.KernelCCA
MultiviewCCA: Any = multiview.MultiviewCCA

#: Largest numbers of rows, and of dimensions of a view: with few dimensions the variates are well determined.
_ROWS, _WIDE = 400, 20


def _halves(data: Data) -> tuple[Data, list[Array]]:
    """Return a sample of the data, and the two halves of its columns as views: leading principal axes, the first of unit variance."""
    data = data.take(_ROWS)
    cols = data.X.shape[1]
    if cols < 2:
        raise UnmetError(f"{cols} column: two views need two")
    views = []
    for half in (slice(0, cols // 2), slice(cols // 2, None)):
        U, s, _ = dense.principal_axes(data.centred[:, half], 1e-3)
        if not s.size:
            raise UnmetError("one half of the columns is constant")
        views.append(np.sqrt(data.n) * (U * s / s[0])[:, : min(_WIDE, max(1, data.n // 8))])
    return data, views


def _canonical(one: Array, two: Array) -> tuple[Array, Array, Array, str]:
    """Return canonical correlations and variates, from the angles between the column spaces, up to a gap, and a description."""
    Q, P = (np.linalg.qr(centred(view))[0] for view in (one, two))
    U, s, V = dense.singular_vectors(Q.T @ P)
    d, gap = cut(np.append(s, 0.0), max(1, min(3, s.size - 1)), 1.0)
    return s[:d], Q @ U[:, :d], P @ V[:, :d], f"{one.shape[1]} and {two.shape[1]} dimensions, {gap}"


@theorem(
    "cca-affine",
    "canonical variates do not change under invertible affine maps of either view",
    condition="no ridge",
    source="S3 §3.6",
)
def cca_is_affine_invariant(data: Data) -> Measured:
    data, views = _halves(data)
    s, _, _, gap = _canonical(*views)
    rng = data.rng()
    turns = [np.linalg.qr(rng.standard_normal((view.shape[1],) * 2))[0] for view in views]
    mixed = [view @ (turn * rng.uniform(0.5, 2, len(turn))) + 3 for view, turn in zip(views, turns, strict=True)]
    before, after = (CCA(s.size).fit(*tables) for tables in (views, mixed))
    turned = [angle(a, b) for a, b in zip(before.transform(*views), after.transform(*mixed), strict=True)]
    return Measured(gap, max(turned), relative(after.correlations_, before.correlations_, 1.0), data.n)


@theorem(
    "cca-lda",
    "CCA of the data with one indicator column per class has the directions of LDA",
    condition="no ridge",
    source="S3 §3.6",
)
def cca_on_classes_is_lda(data: Data) -> Measured:
    data = data.labelled(2000).leading(300)
    y = np.asarray(data.y)
    classes = np.eye(data.n_classes)[y]
    s = LDA().fit(data.X, y).eigenvalues_
    d, gap = cut(np.append(s, 0.0), s.size, 1.0)
    cca, lda = CCA(d).fit(data.X, classes), LDA(d).fit(data.X, y)
    return Measured(
        f"{data.n_classes} classes, {gap}",
        angle(cca.x_weights_, lda.components_.T),
        relative(cca.correlations_**2, lda.eigenvalues_, 1.0),
        data.n,
    )


@theorem(
    "cca-regression",
    "the squared correlation with a view of one column is the R² of linear regression, and `predict` with all pairs is that regression",
    condition="no ridge",
    source="S3 §3.6",
)
def cca_is_regression(data: Data) -> Measured:
    data, (one, two) = _halves(data)
    A = np.c_[np.ones(data.n), one]
    fit = A @ np.linalg.lstsq(A, two, rcond=None)[0]
    R2 = np.sum(centred(fit[:, :1]) ** 2) / np.sum(centred(two[:, :1]) ** 2)
    single, every = CCA(1).fit(one, two[:, 0]), CCA(min(one.shape[1], two.shape[1])).fit(one, two)
    errors = (abs(single.correlations_[0] ** 2 - R2), relative(every.predict(one), fit, float(np.abs(two).max())))
    return Measured(f"{one.shape[1]} columns explain {two.shape[1]}", relative=float(max(errors)), rows=data.n)


@theorem(
    "cca-cross-form",
    "CCA is the cross form between two stacked views under a unit embedding",
    condition="no ridge",
    source="S3 §3.6",
)
def cca_is_the_cross_form(data: Data) -> Measured:
    data, views = _halves(data)
    s, U, V, gap = _canonical(*views)
    posed = pose(DirectSum([Features.linear(view) for view in views]), maximise=cross_form(data.n))
    found = solve(posed.problem, s.size)
    Y = posed.basis.embed(found.vectors)
    cca = CCA(s.size).fit(*views)
    one, two = cca.transform(*views)
    turned = [angle(a, b) for a, b in ((Y[: data.n], U), (Y[data.n :], V), (one, U), (two, V))]
    return Measured(gap, max(turned), max(relative(found.values, s, 1.0), relative(cca.correlations_, s, 1.0)), data.n)


@theorem(
    "kernel-cca",
    "kernel CCA equals CCA",
    condition="linear kernels; κ times D is CCA's ridge",
    source="S3 §3.6",
)
def kernel_cca_is_cca(data: Data) -> Measured:
    data, views = _halves(data)
    s, _, _, gap = _canonical(*views)
    plain, kernel = CCA(s.size).fit(*views), KernelCCA(s.size, kernel="linear", kappa=0.0).fit(*views)
    turned = [angle(a, b) for a, b in zip(plain.transform(*views), kernel.transform(*views), strict=True)]
    ridged = CCA(s.size, ridge=(0.1 * views[0].shape[1], 0.1 * views[1].shape[1])).fit(*views)
    penalised = KernelCCA(s.size, kernel="linear", kappa=0.1).fit(*views)
    errors = relative(kernel.correlations_, s, 1.0), relative(penalised.eigenvalues_, ridged.eigenvalues_, 1.0)
    return Measured(gap, max(turned), max(errors), data.n)


@theorem("multiview-cca", "MAXVAR and SUMCOR equal CCA", condition="two views", source="Kettenring 1971")
def two_of_many_views(data: Data) -> Measured:
    data, views = _halves(data)
    s, U, V, gap = _canonical(*views)
    turned, errors = [], []
    for criterion in ("maxvar", "sumcor"):
        found = MultiviewCCA(s.size, criterion=criterion).fit(*views)
        turned += [angle(Y, Z) for Y, Z in zip(found.transform(views), (U, V), strict=True)]
        errors.append(relative(found.correlations_, s, 1.0))
    return Measured(gap, max(turned), max(errors), data.n)


@theorem(
    "maxvar",
    "MAXVAR's variates average to the leading eigenvectors of the sum of the projections on the views",
    condition="no ridge",
    source="Kettenring 1971",
)
def maxvar_is_a_sum_of_projections(data: Data) -> Measured:
    data, views = _halves(data)
    projections = sum(Q @ Q.T for Q in (np.linalg.qr(centred(view))[0] for view in views))
    values, V, gap = highest(np.asarray(projections), most=max(1, min(2, min(view.shape[1] for view in views) - 1)))
    found = MultiviewCCA(values.size).fit(views)
    shared = np.mean(found.transform(views), axis=0)
    return Measured(gap, angle(shared, V), relative(found.eigenvalues_, values), data.n)
