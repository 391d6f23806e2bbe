"""Kernels of methods that minimise a form over the points: decreasing functions of the form."""

from __future__ import annotations

from typing import Any

from ..errors import InputError
from .equivalent import EquivalentKernel
from .standard_problems import Standard, Words, check_form, no_kernel

_DEFLATED = "a connected graph, and an affinity μ > 0 of the last axis: D^(−½)WD^(−½) is not positive semidefinite"
_ABOVE_ZERO = "no eigenvalue of the axes is zero: the pseudo-inverse omits those"


def eigenmaps(estimator: Any, X: Any, form: str) -> EquivalentKernel:
    if estimator.alpha:
        raise InputError(
            f"LaplacianEigenmaps with alpha={estimator.alpha:g} has no equivalent kernel here: the table of [S4] is for alpha=0."
        )
    if estimator.unit == "covariance":
        return ratio_cut(estimator, form)
    check_form(estimator, form, "deflated", "shifted", "pseudo-inverse")
    standard = Standard.of(estimator)
    if form == "pseudo-inverse":
        words = Words(
            "(D^(−½) L D^(−½))†",
            "Laplacian eigenmaps are kernel PCA of the pseudo-inverse of the normalised Laplacian, rows times D^(−½). The plain L† belongs "
            "to the ratio cut, B = I.",
            "a connected graph",
        )
        return standard.inverse(words, "deflated", extension=standard.steps(direct=False))
    if form == "shifted":
        words = Words(
            "λ_max I − D^(−½) L D^(−½)",
            "The kernel has the eigenvectors of the Laplacian in reverse order.",
            "a connected graph",
        )
        return standard.shifted(words, form, None, "deflated", standard.steps(direct=False))
    words = Words(
        "D^(−½) W D^(−½)",
        "Laplacian eigenmaps are kernel PCA of the normalised affinity with its stationary vector D^½1 deflated, rows times D^(−½). "
        "Centring, as in table 1 of [S4], gives another subspace.",
        _DEFLATED,
    )
    return standard.shifted(words, "deflated", 1.0, "deflated", standard.steps())


def ratio_cut(estimator: Any, form: str) -> EquivalentKernel:
    check_form(estimator, form, "pseudo-inverse", "shifted")
    standard, shifted = Standard.of(estimator), form == "shifted"
    words = Words(
        "λ_max I − L" if shifted else "L†",
        "Laplacian eigenmaps with unit covariance, the ratio cut, are kernel PCA of this decreasing function of L, up to the length of the "
        "axes.",
        "a connected graph",
    )
    if shifted:
        return standard.shifted(words, form, None, "centred", standard.interpolated())
    return standard.inverse(words, "centred", extension=standard.interpolated())


def clustering(estimator: Any, X: Any, form: str) -> EquivalentKernel:
    if form == "pseudo-inverse":
        raise InputError(
            "Spectral clustering keeps the constant vector, which the pseudo-inverse maps to zero: use form='auto'."
        )
    check_form(estimator, form, "deflated", "shifted")
    standard, normalised = Standard.of(estimator), estimator.cut == "normalized"
    if normalised and form != "shifted":
        words = Words(
            "D^(−½) W D^(−½)",
            "The relaxed indicators of the normalised cut are the leading eigenvectors of the normalised affinity, including the trivial "
            "ones, rows times D^(−½).",
            "an affinity μ > 0 of the last axis; no centring",
        )
        return standard.shifted(words, "deflated", 1.0, "none", standard.steps())
    name, cut = ("λ_max I − D^(−½) L D^(−½)", "normalised") if normalised else ("λ_max I − L", "ratio")
    words = Words(name, f"The relaxed indicators of the {cut} cut, including the constant.", "no centring")
    return standard.shifted(words, "shifted", None, "none", standard.steps(direct=False))


def diffusion(estimator: Any, X: Any, form: str) -> EquivalentKernel:
    check_form(estimator, form, "deflated")
    if estimator.t == 0:
        raise InputError(no_kernel(estimator, "at t=0 all eigenvalues of S^(2t) are one. Fit with t > 0."))
    standard = Standard.of(estimator)
    words = Words(
        "vol S^(2t), S = D_α^(−½) W_α D_α^(−½)",
        "The diffusion map is kernel PCA of S^(2t) with the stationary vector deflated, rows times D_α^(−½). P^t in table 1 of [S4] is not "
        "symmetric, and not a Laplacian.",
        "no negative eigenvalue of S is larger in absolute value than the eigenvalue of the last axis",
    )
    volume = float(estimator.problem_.B.diagonal().sum())
    return standard.walked(words, estimator.t, volume, standard.steps(alpha=estimator.alpha, direct=False))


def commute_times(estimator: Any, X: Any, form: str) -> EquivalentKernel:
    check_form(estimator, form, "pseudo-inverse", "shifted")
    standard = Standard.of(estimator)
    if form == "shifted":
        words = Words("λ_max I − L", "The kernel of the ratio cut, whose axes have other lengths.", "a connected graph")
        return standard.shifted(words, form, None, "centred", standard.interpolated())
    words = Words(
        "vol L†",
        "The commute-time embedding, and up to the length of its axes the ratio cut, is kernel PCA of the pseudo-inverse of the Laplacian.",
        "a connected graph; L† is already centred",
    )
    volume = float(estimator.problem_.A.diagonal().sum())
    return standard.inverse(words, "centred", volume, standard.interpolated())


def aligned(estimator: Any, X: Any, form: str) -> EquivalentKernel:
    check_form(estimator, form, "shifted", "pseudo-inverse")
    standard, who = Standard.of(estimator), type(estimator).__name__
    if form == "pseudo-inverse":
        words = Words(
            "M†", f"{who} is kernel PCA of the pseudo-inverse of its form, up to the length of its axes.", _ABOVE_ZERO
        )
        return standard.inverse(words, "centred", extension=standard.interpolated())
    words = Words(
        "λ_max I − M",
        f"{who} is kernel PCA of λ_max I − M, centred, up to the length of its axes. The matrix is positive semidefinite, not definite.",
        "an eigenvalue gap after the last axis that is larger than rounding errors of the size of λ_max",
    )
    return standard.shifted(words, "shifted", None, "centred", standard.interpolated())
