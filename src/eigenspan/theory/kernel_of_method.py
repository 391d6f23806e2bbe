"""Which kernel a fitted method is kernel PCA of: the table 1 of [S4], put right, and what lies beyond it."""

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
from .standard_problems import Standard, Words, none, only

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
    the same with B = I      L†, or λI − L                               constant         1
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
    if isinstance(map_, Map) and isinstance(map_.rows, Raw | KernelRows | GraphRows):
        only(estimator, form)
        return learned(estimator, X)
    raise InputError(
        none(
            estimator,
            "its map is neither that of a kernel nor linear, and its axes are no eigenvectors over the points.",
        )
    )


def _several_views(estimator: Any, X: Any, form: str) -> EquivalentKernel:
    raise InputError(
        none(estimator, "its axes are of several views at once, and one view's kernel does not know the others.")
    )


def _learned_from_responses(estimator: Any, X: Any, form: str) -> EquivalentKernel:
    raise InputError(none(estimator, "its matrix is over the eigenvectors of a graph, learned from the responses."))


def _of_an_order(estimator: Any, X: Any, form: str) -> EquivalentKernel:
    raise InputError(
        none(estimator, "it keeps the order of distances, which is no matrix. The Isomap that it starts from has one.")
    )


def _by_hand(estimator: Any, X: Any, form: str) -> EquivalentKernel:
    if estimator.basis != "samples":
        only(estimator, form)
        return learned(estimator, X)
    if estimator.over is not None:
        raise InputError(none(estimator, "a ratio of traces weighs two forms by what it finds itself."))
    if estimator.problem_.sense == "min":
        return aligned(estimator, X, form)
    only(estimator, form)
    return Standard.of(estimator).gram(Words("A", "The form that is maximised is the kernel.", "the form is centred"))


_RULES: dict[type, Callable[[Any, Any, str], EquivalentKernel]] = {
    PrincipalAxes: principal_axes,
    KernelPCA: kernel_pca,
    ClassicalMDS: classical_mds,
    LandmarkMDS: landmark_mds,
    Isomap: isomap,
    KernelIsomap: kernel_isomap,
    OrdinalIsomap: _of_an_order,
    Unfolding: unfolding,
    LaplacianEigenmaps: eigenmaps,
    SpectralClustering: clustering,
    DiffusionMap: diffusion,
    CommuteTimeEmbedding: commute_times,
    LLE: aligned,
    ModifiedLLE: aligned,
    HessianLLE: aligned,
    LTSA: aligned,
    TraceReducer: _by_hand,
    TwoViews: _several_views,
    MultiviewCCA: _several_views,
    MaximumCovarianceUnfolding: _several_views,
    ManifoldKDR: _learned_from_responses,
}
for _class, _rule in _RULES.items():
    _kernel.register(_class, _rule)
