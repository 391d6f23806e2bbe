"""Which kernel a fitted method is kernel PCA of: the table 1 of [S4], put right, and what lies beyond it."""

from __future__ import annotations

from functools import singledispatch
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..core import KernelRows, Map, Raw
from ..errors import InputError
from ..methods.alignment import LTSA, HessianLLE, ModifiedLLE
from ..methods.base import Reducer
from ..methods.clustering import SpectralClustering
from ..methods.compose import TraceReducer
from ..methods.distances import ClassicalMDS, LandmarkMDS, lowest
from ..methods.geodesics import Isomap
from ..methods.kernel_isomap import KernelIsomap
from ..methods.laplacian import LaplacianEigenmaps
from ..methods.manifold_kdr import ManifoldKDR
from ..methods.multiview import MultiviewCCA
from ..methods.pca import PrincipalAxes
from ..methods.reconstruction import LLE
from ..methods.unfolding.base import Unfolding
from ..methods.variance import KernelPCA
from ..methods.views import TwoViews
from ..methods.walks import CommuteTimeEmbedding, DiffusionMap
from .equivalent import EquivalentKernel
from .features import by_landmarks, learned, linear, nystrom
from .standard import Standard, Words

Array = NDArray[np.float64]
Form = Literal["auto", "deflated", "shifted", "pseudo-inverse"]


def equivalent_kernel(estimator: Any, X: Any = None, *, form: Form = "auto") -> EquivalentKernel:
    """The kernel whose kernel PCA is the embedding of a fitted method.

    .. math:: Y = S\\, U \\Delta^{1/2}, \\qquad (I - NN^T)\\, K\\, (I - NN^T)\\, u_i = \\delta_i u_i

    Every spectral embedding is kernel PCA of some matrix K, once it is said what is taken out of K before its eigenvectors (the
    constant: *centred*; the stationary vector: *deflated*; nothing) and what its rows are multiplied with [S4, table 1]:

    =======================  ==========================================  ===============  ==========
    method                   K                                           taken out        rows times
    =======================  ==========================================  ===============  ==========
    PCA                      XXᵀ                                         constant         1
    ClassicalMDS, Isomap     −½HΔ²H, of distances or geodesics           constant         1
    KernelPCA                its kernel matrix                           constant         1
    LaplacianEigenmaps       D^(−½)WD^(−½), or (D^(−½)LD^(−½))†          D^½1             D^(−½)
    SpectralClustering       D^(−½)WD^(−½), or λI − L (ratio cut)        nothing          D^(−½) or 1
    CommuteTimeEmbedding     vol·L†                                      constant         1
    LLE and its relatives    λ_max I − M, or M†                          constant         1
    DiffusionMap             vol·S^(2t), S = D_α^(−½)W_αD_α^(−½)         D_α^½1           D_α^(−½)
    MVU and its relatives    the Gram matrix FFᵀ that was learned        constant         1
    landmark methods         K_nm K_mm† K_mn of the landmarks            constant         1
    projections              XVVᵀXᵀ, the metric that was learned         nothing          1
    =======================  ==========================================  ===============  ==========

    Cost: that of looking up what the fit holds; the n×n matrix is formed only when asked for (`EquivalentKernel.matrix`).

    Parameters
    ----------
    estimator : fitted estimator of this library
    X : array-like of shape (n_samples, n_features), optional
        The training data, which PCA, `LandmarkMDS` and `KernelPCA` on landmarks do not keep.
    form : {"auto", "deflated", "shifted", "pseudo-inverse"}, default="auto"
        Where a method minimises, several kernels have its eigenvectors: the normalised affinity, ``λ_max I − A``, or ``A†``.

    Returns
    -------
    EquivalentKernel

    Examples
    --------
    >>> from sklearn.datasets import make_swiss_roll
    >>> from eigenspan import LaplacianEigenmaps, equivalent_kernel
    >>> X, _ = make_swiss_roll(300, random_state=0)
    >>> kernel = equivalent_kernel(LaplacianEigenmaps(2, n_neighbors=10).fit(X))
    >>> kernel.name, kernel.centring
    ('D^(−½) W D^(−½)', 'deflated')
    >>> kernel.discrepancy() < 1e-4
    True
    >>> kernel.transform(X[:3] + 0.01).shape
    (3, 2)

    References
    ----------
    [S4] §2 and table 1; Ham et al. (2004); Bengio et al. (2004).
    """
    if not isinstance(estimator, Reducer):
        raise InputError(
            f"equivalent_kernel takes a fitted method of this library; got {type(estimator).__name__}. Of a pipeline, pass its last step."
        )
    if form not in get_args(Form):
        raise InputError(f"form={form!r} must be one of {', '.join(map(repr, get_args(Form)))}.")
    check_is_fitted(estimator)
    return _kernel(estimator, X, form)


@singledispatch
def _kernel(estimator: Any, X: Any, form: str) -> EquivalentKernel:
    map_ = vars(estimator).get("map_")
    if isinstance(map_, Map) and isinstance(map_.rows, Raw | KernelRows):
        _only(estimator, form)
        return learned(estimator, X)
    raise InputError(
        _none(
            estimator,
            "its map is neither that of a kernel nor linear, and its axes are no eigenvectors over the points.",
        )
    )


def _none(estimator: Any, why: str) -> str:
    return f"{type(estimator).__name__} is not kernel PCA of any kernel: {why}"


def _only(estimator: Any, form: str, *others: str) -> None:
    """Refuse a form that the method does not have."""
    if form != "auto" and form not in others:
        has = f"has {' and '.join(map(repr, others))}" if others else "has one kernel only"
        raise InputError(
            f"form={form!r} is for methods that minimise another form: {type(estimator).__name__} {has}; leave form= out."
        )


@_kernel.register(TwoViews)
@_kernel.register(MultiviewCCA)
def _(estimator: Any, X: Any, form: str) -> EquivalentKernel:
    raise InputError(
        _none(estimator, "its axes are of several views at once, and one view's kernel does not know the others.")
    )


@_kernel.register(ManifoldKDR)
def _(estimator: Any, X: Any, form: str) -> EquivalentKernel:
    raise InputError(_none(estimator, "its matrix is over the eigenvectors of a graph, learned from the responses."))


# ---------------------------------------------------------------------- maximised: the form is the kernel
@_kernel.register(PrincipalAxes)
def _(estimator: Any, X: Any, form: str) -> EquivalentKernel:
    _only(estimator, form)
    return linear(estimator, X)


@_kernel.register(KernelPCA)
def _(estimator: Any, X: Any, form: str) -> EquivalentKernel:
    _only(estimator, form)
    if estimator.landmarks is not None:
        return nystrom(estimator, X)
    words = Words("H K H", "Kernel PCA is itself: the kernel matrix, doubly centred.", "always")
    return Standard.of(estimator).gram(words)


@_kernel.register(LandmarkMDS)
def _(estimator: Any, X: Any, form: str) -> EquivalentKernel:
    _only(estimator, form)
    return by_landmarks(estimator, X)


@_kernel.register(ClassicalMDS)
def _(estimator: Any, X: Any, form: str) -> EquivalentKernel:
    _only(estimator, form)
    words = Words(
        "−½ H Δ² H",
        "Classical MDS is kernel PCA of the doubly centred squared distances; of Euclidean ones that is PCA.",
        "always; what distances that no points have leave as negative eigenvalues is no part of the embedding",
    )
    return _with_negative_part(estimator, words)


@_kernel.register(Isomap)
def _(estimator: Any, X: Any, form: str) -> EquivalentKernel:
    _only(estimator, form)
    if vars(estimator).get("landmarks_") is not None:
        return by_landmarks(estimator, X)
    words = Words(
        "−½ H Δ̂² H",
        "Isomap is kernel PCA of the doubly centred squared geodesic distances.",
        "always; geodesics are rarely Euclidean, and their negative eigenvalues are no part of the embedding (see KernelIsomap)",
    )
    return _with_negative_part(estimator, words)


@_kernel.register(KernelIsomap)
def _(estimator: Any, X: Any, form: str) -> EquivalentKernel:
    _only(estimator, form)
    if estimator.psd == "project":
        words = Words(
            "−½ H Δ̂² H, its positive part",
            "Kernel Isomap is kernel PCA of the nearest positive semidefinite matrix, whose leading axes are those of Isomap.",
            "always; the matrix here is that of Isomap, `kernel_` is its positive part",
        )
        return _with_negative_part(estimator, words)
    words = Words(
        "−½ H (Δ̂ + c)² H",
        "Kernel Isomap is kernel PCA of the geodesics with the smallest constant added that makes them Euclidean.",
        "always; the matrix is positive semidefinite",
    )
    return Standard.of(estimator).gram(words, constant=estimator.constant_)


def _with_negative_part(estimator: Any, words: Words) -> EquivalentKernel:
    standard = Standard.of(estimator)
    low = 0.0 if standard.A.psd else min(0.0, lowest(standard.A))
    return standard.gram(words, smallest_eigenvalue=low)


@_kernel.register(Unfolding)
def _(estimator: Any, X: Any, form: str) -> EquivalentKernel:
    _only(estimator, form)
    words = Words(
        "F Fᵀ",
        "The Gram matrix that the semidefinite program has found is the kernel.",
        "always; the kernel is learned from these points, and new ones have no value in it but by interpolation",
    )
    return Standard.of(estimator).gram(words)


# ---------------------------------------------------------------------- minimised: a decreasing function of the form
_DEFLATED = "the graph in one piece, and affinities μ > 0 at the last axis: D^(−½)WD^(−½) is not positive semidefinite"
_ABOVE_ZERO = "no eigenvalue of the axes shown is zero: the pseudo-inverse drops those"


@_kernel.register(LaplacianEigenmaps)
def _(estimator: Any, X: Any, form: str) -> EquivalentKernel:
    _only(estimator, form, "deflated", "shifted", "pseudo-inverse")
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


@_kernel.register(SpectralClustering)
def _(estimator: Any, X: Any, form: str) -> EquivalentKernel:
    if form == "pseudo-inverse":
        raise InputError(
            "Spectral clustering keeps the constant, which a pseudo-inverse takes to zero: use form='auto'."
        )
    _only(estimator, form, "deflated", "shifted")
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


@_kernel.register(DiffusionMap)
def _(estimator: Any, X: Any, form: str) -> EquivalentKernel:
    _only(estimator, form, "deflated")
    if estimator.t == 0:
        raise InputError(_none(estimator, "at t=0 all eigenvalues of S^(2t) are one. Fit with t > 0."))
    standard = Standard.of(estimator)
    words = Words(
        "vol S^(2t), S = D_α^(−½) W_α D_α^(−½)",
        "The diffusion map is kernel PCA of S^(2t) with the stationary vector taken out, rows times D_α^(−½). P^t of table 1 in [S4] is "
        "not symmetric, and no Laplacian.",
        "no negative eigenvalue of S is larger in size than that of the last axis",
    )
    volume = float(estimator.problem_.B.diagonal().sum())
    return standard.walked(words, estimator.t, volume, standard.steps(alpha=estimator.alpha, direct=False))


@_kernel.register(CommuteTimeEmbedding)
def _(estimator: Any, X: Any, form: str) -> EquivalentKernel:
    _only(estimator, form, "pseudo-inverse", "shifted")
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


@_kernel.register(LLE)
@_kernel.register(LTSA)
@_kernel.register(HessianLLE)
@_kernel.register(ModifiedLLE)
def _(estimator: Any, X: Any, form: str) -> EquivalentKernel:
    return _aligned(estimator, form)


def _aligned(estimator: Any, form: str) -> EquivalentKernel:
    _only(estimator, form, "shifted", "pseudo-inverse")
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


@_kernel.register(TraceReducer)
def _(estimator: Any, X: Any, form: str) -> EquivalentKernel:
    if estimator.basis != "samples":
        _only(estimator, form)
        return learned(estimator, X)
    if estimator.problem_.sense == "min":
        return _aligned(estimator, form)
    _only(estimator, form)
    return Standard.of(estimator).gram(Words("A", "The form that is maximised is the kernel.", "the form is centred"))
