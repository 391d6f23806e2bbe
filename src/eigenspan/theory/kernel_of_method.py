"""`equivalent_kernel`: the kernel whose kernel PCA is a fitted method. Table 1 of [S4], corrected and extended."""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..errors import InputError
from ..methods.alignment.local_models_glued import LTSA, HessianLLE, ModifiedLLE
from ..methods.base.contract import Reducer
from ..methods.distances.classical_mds import ClassicalMDS
from ..methods.distances.isomap import Isomap
from ..methods.distances.kernel_isomap import KernelIsomap
from ..methods.distances.landmark_mds import LandmarkMDS
from ..methods.distances.ordinal_isomap import OrdinalIsomap
from ..methods.laplacian.eigenmaps import LaplacianEigenmaps
from ..methods.laplacian.random_walks import CommuteTimeEmbedding, DiffusionMap
from ..methods.laplacian.spectral_clustering import SpectralClustering
from ..methods.reconstruction.lle import LLE
from ..methods.sufficient.manifold_kdr import ManifoldKDR
from ..methods.trace_reducer import TraceReducer
from ..methods.two_views.multiview_cca import MultiviewCCA
from ..methods.two_views.variates import TwoViews
from ..methods.unfolding.covariance_unfolding import MaximumCovarianceUnfolding
from ..methods.unfolding.unfolding_base import Unfolding
from ..methods.variance.kernel_pca import KernelPCA
from ..methods.variance.pca import PrincipalAxes
from ..problem import KernelRows, Map, Raw
from ..problem.extensions.graph_kernels import GraphRows
from .equivalent import EquivalentKernel
from .feature_kernels import learned
from .maximised_forms import (
    classical_mds,
    isomap,
    kernel_isomap,
    kernel_pca,
    landmark_mds,
    principal_axes,
    unfolding,
)
from .minimised_forms import aligned, clustering, commute_times, diffusion, eigenmaps
from .standard_problems import Standard, Words, check_form, no_kernel

Array = NDArray[np.float64]
Form = Literal["auto", "deflated", "shifted", "pseudo-inverse"]


def equivalent_kernel(estimator: Any, X: Any = None, *, form: Form = "auto") -> EquivalentKernel:
    """Return the kernel whose kernel PCA is the embedding of a fitted method.

    .. math:: Y = S\\, U \\Delta^{1/2}, \\qquad (I - NN^T)\\, K\\, (I - NN^T)\\, u_i = \\delta_i u_i

    Every spectral embedding is kernel PCA of a matrix K from which a vector may be removed first (the constant: *centred*; the stationary
    vector: *deflated*), with rows multiplied by a scale [S4, table 1]:

    =======================  ==========================================  ===============  ==========
    method                   K                                           removed          rows times
    =======================  ==========================================  ===============  ==========
    PCA                      XXᵀ                                         constant         1
    ClassicalMDS, Isomap     −½HΔ²H, of distances or geodesics           constant         1
    KernelPCA                its kernel matrix                           constant         1
    LaplacianEigenmaps       D^(−½)WD^(−½), or (D^(−½)LD^(−½))†          D^½1             D^(−½)
    the latter with B = I    L†, or λI − L                               constant         1
    SpectralClustering       D^(−½)WD^(−½), or λI − L (ratio cut)        nothing          D^(−½) or 1
    CommuteTimeEmbedding     vol·L†                                      constant         1
    LLE, LTSA and similar    λ_max I − M, or M†                          constant         1
    DiffusionMap             vol·S^(2t), S = D_α^(−½)W_αD_α^(−½)         D_α^½1           D_α^(−½)
    MVU and variants         the learned Gram matrix FFᵀ                 constant         1
    landmark methods         K_nm K_mm† K_mn of the landmarks            constant         1
    projections              XVVᵀXᵀ, the learned metric                  nothing          1
    =======================  ==========================================  ===============  ==========

    Cost: small, because the result refers to arrays of the fit; the n×n matrix is formed on first use of `EquivalentKernel.matrix`.

    Parameters
    ----------
    estimator : fitted estimator of this library
    X : array-like of shape (n_samples, n_features), optional
        The training data. They are needed for PCA, `LandmarkMDS` and `KernelPCA` on landmarks, which do not keep them.
    form : {"auto", "deflated", "shifted", "pseudo-inverse"}, default="auto"
        Kind of kernel. If a method minimises a form A, several kernels have its eigenvectors: the normalised affinity, ``λ_max I − A``,
        or ``A†``.

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
            f"equivalent_kernel needs a fitted method of this library; got {type(estimator).__name__}. For a pipeline, pass its last step."
        )
    if form not in get_args(Form):
        raise InputError(f"form={form!r} must be one of {', '.join(map(repr, get_args(Form)))}.")
    check_is_fitted(estimator)
    return _kernel(estimator, X, form)


@singledispatch
def _kernel(estimator: Any, X: Any, form: str) -> EquivalentKernel:
    map_ = vars(estimator).get("map_")
    if isinstance(map_, Map) and isinstance(map_.rows, Raw | KernelRows | GraphRows):
        check_form(estimator, form)
        return learned(estimator, X)
    raise InputError(
        no_kernel(
            estimator,
            "its map is neither linear nor that of a kernel, and its axes are not eigenvectors over the points.",
        )
    )


def _several_views(estimator: Any, X: Any, form: str) -> EquivalentKernel:
    raise InputError(no_kernel(estimator, "its axes depend on several views, and a kernel is over a single one."))


def _learned_from_responses(estimator: Any, X: Any, form: str) -> EquivalentKernel:
    raise InputError(no_kernel(estimator, "it learns a matrix over the eigenvectors of a graph from the responses."))


def _order_only(estimator: Any, X: Any, form: str) -> EquivalentKernel:
    raise InputError(
        no_kernel(estimator, "it preserves the order of distances only. The Isomap from which it starts has a kernel.")
    )


def _trace_reducer(estimator: Any, X: Any, form: str) -> EquivalentKernel:
    if estimator.basis != "samples":
        check_form(estimator, form)
        return learned(estimator, X)
    if estimator.over is not None:
        raise InputError(no_kernel(estimator, "the weights of the two forms in a trace ratio depend on the solution."))
    if estimator.problem_.sense == "min":
        return aligned(estimator, X, form)
    check_form(estimator, form)
    return Standard.of(estimator).gram(Words("A", "The kernel is the maximised form.", "the form is centred"))


_RULES: dict[type, Callable[[Any, Any, str], EquivalentKernel]] = {
    PrincipalAxes: principal_axes,
    KernelPCA: kernel_pca,
    ClassicalMDS: classical_mds,
    LandmarkMDS: landmark_mds,
    Isomap: isomap,
    KernelIsomap: kernel_isomap,
    OrdinalIsomap: _order_only,
    Unfolding: unfolding,
    LaplacianEigenmaps: eigenmaps,
    SpectralClustering: clustering,
    DiffusionMap: diffusion,
    CommuteTimeEmbedding: commute_times,
    LLE: aligned,
    ModifiedLLE: aligned,
    HessianLLE: aligned,
    LTSA: aligned,
    TraceReducer: _trace_reducer,
    TwoViews: _several_views,
    MultiviewCCA: _several_views,
    MaximumCovarianceUnfolding: _several_views,
    ManifoldKDR: _learned_from_responses,
}
for _class, _rule in _RULES.items():
    _kernel.register(_class, _rule)
