"""Kernels of methods that minimise a form over the points: decreasing functions of it."""

from __future__ import annotations

from typing import Any

from ..errors import InputError
from .equivalent import EquivalentKernel
from .standard_problems import Standard, Words, none, only

_DEFLATED = "the graph in one piece, and affinities μ > 0 at the last axis: D^(−½)WD^(−½) is not positive semidefinite"
_ABOVE_ZERO = "no eigenvalue of the axes shown is zero: the pseudo-inverse drops those"


def eigenmaps(estimator: Any, X: Any, form: str) -> EquivalentKernel:
    if estimator.unit == "covariance":
        return ratio_cut(estimator, form)
    only(estimator, form, "deflated", "shifted", "pseudo-inverse")
    standard = Standard.of(estimator)
    if form == "pseudo-inverse":
        words = Words(
            "(D^(−½) L D^(−½))†",
            "Laplacian eigenmaps are kernel PCA of the pseudo-inverse of the normalised Laplacian, rows times D^(−½). The plain L† belongs "
            "to the ratio cut, B = I.",
            "the graph in one piece",
        )
        return standard.inverse(words, "deflated", extension=standard.steps(direct=False))
    if form == "shifted":
        words = Words(
            "λ_max I − D^(−½) L D^(−½)",
            "The same eigenvectors from the other end of the spectrum.",
            "the graph in one piece",
        )
        return standard.shifted(words, form, None, "deflated", standard.steps(direct=False))
    words = Words(
        "D^(−½) W D^(−½)",
        "Laplacian eigenmaps are kernel PCA of the normalised affinity with its stationary vector D^½1 taken out, rows times D^(−½). "
        "Centring it, as table 1 of [S4] is read, gives another subspace.",
        _DEFLATED,
    )
    return standard.shifted(words, "deflated", 1.0, "deflated", standard.steps())


def ratio_cut(estimator: Any, form: str) -> EquivalentKernel:
    only(estimator, form, "pseudo-inverse", "shifted")
    standard, shifted = Standard.of(estimator), form == "shifted"
    words = Words(
        "λ_max I − L" if shifted else "L†",
        "Laplacian eigenmaps with unit covariance, the ratio cut, are kernel PCA of this decreasing function of L, up to the length of the "
        "axes.",
        "the graph in one piece",
    )
    if shifted:
        return standard.shifted(words, form, None, "centred", standard.interpolated())
    return standard.inverse(words, "centred", extension=standard.interpolated())


def clustering(estimator: Any, X: Any, form: str) -> EquivalentKernel:
    if form == "pseudo-inverse":
        raise InputError(
            "Spectral clustering keeps the constant, which a pseudo-inverse takes to zero: use form='auto'."
        )
    only(estimator, form, "deflated", "shifted")
    standard, normalised = Standard.of(estimator), estimator.cut == "normalized"
    if normalised and form != "shifted":
        words = Words(
            "D^(−½) W D^(−½)",
            "The relaxed indicators of the normalised cut are the leading eigenvectors of the normalised affinity, the trivial ones "
            "included, rows times D^(−½).",
            "affinities μ > 0 at the last axis; nothing is centred",
        )
        return standard.shifted(words, "deflated", 1.0, "none", standard.steps())
    name, cut = ("λ_max I − D^(−½) L D^(−½)", "normalised") if normalised else ("λ_max I − L", "ratio")
    words = Words(name, f"The relaxed indicators of the {cut} cut, the constant included.", "nothing is centred")
    return standard.shifted(words, "shifted", None, "none", standard.steps(direct=False))


def diffusion(estimator: Any, X: Any, form: str) -> EquivalentKernel:
    only(estimator, form, "deflated")
    if estimator.t == 0:
        raise InputError(none(estimator, "at t=0 all eigenvalues of S^(2t) are one. Fit with t > 0."))
    standard = Standard.of(estimator)
    words = Words(
        "vol S^(2t), S = D_α^(−½) W_α D_α^(−½)",
        "The diffusion map is kernel PCA of S^(2t) with the stationary vector taken out, rows times D_α^(−½). P^t of table 1 in [S4] is "
        "not symmetric, and no Laplacian.",
        "no negative eigenvalue of S is larger in size than that of the last axis",
    )
    volume = float(estimator.problem_.B.diagonal().sum())
    return standard.walked(words, estimator.t, volume, standard.steps(alpha=estimator.alpha, direct=False))


def commute_times(estimator: Any, X: Any, form: str) -> EquivalentKernel:
    only(estimator, form, "pseudo-inverse", "shifted")
    standard = Standard.of(estimator)
    if form == "shifted":
        words = Words(
            "λ_max I − L", "The same eigenvectors with other lengths: the ratio cut.", "the graph in one piece"
        )
        return standard.shifted(words, form, None, "centred", standard.interpolated())
    words = Words(
        "vol L†",
        "The commute-time embedding, and up to the length of its axes the ratio cut, is kernel PCA of the pseudo-inverse of the Laplacian.",
        "the graph in one piece; L† is centred already",
    )
    volume = float(estimator.problem_.A.diagonal().sum())
    return standard.inverse(words, "centred", volume, standard.interpolated())


def aligned(estimator: Any, X: Any, form: str) -> EquivalentKernel:
    only(estimator, form, "shifted", "pseudo-inverse")
    standard, who = Standard.of(estimator), type(estimator).__name__
    if form == "pseudo-inverse":
        words = Words(
            "M†", f"{who} is kernel PCA of the pseudo-inverse of its form, up to the length of its axes.", _ABOVE_ZERO
        )
        return standard.inverse(words, "centred", extension=standard.interpolated())
    words = Words(
        "λ_max I − M",
        f"{who} is kernel PCA of λ_max I − M, centred, up to the length of its axes. The matrix is positive semidefinite, not definite.",
        "a gap behind the last axis that rounding at the size of λ_max does not close",
    )
    return standard.shifted(words, "shifted", None, "centred", standard.interpolated())
