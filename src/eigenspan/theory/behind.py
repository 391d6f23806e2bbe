"""Theorems of unification: each spectral method is kernel PCA of a kernel of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import EigenspanError
from ..methods.alignment import LTSA, HessianLLE, ModifiedLLE
from ..methods.distances import ClassicalMDS, LandmarkMDS
from ..methods.geodesics import Isomap
from ..methods.laplacian import LPP, LaplacianEigenmaps
from ..methods.reconstruction import LLE
from ..methods.unfolding import MVU
from ..methods.variance import PCA
from ..methods.walks import CommuteTimeEmbedding, DiffusionMap
from ..solvers import dense
from .data import Data
from .graphs import ROWS
from .measure import MOST
from .theorem import Measured, UnmetError, subject
from .which import equivalent_kernel

Array = NDArray[np.float64]
Make = Callable[[Data, int], Any]
Condition = Callable[[Data, Any], None]

theorem = subject("The kernel behind each method")

#: Rows of a semidefinite program, and of neighbourhoods with many parameters.
_FEW = 60
#: Angle, in degrees, that rounding may open without being taken for a discrepancy.
_RESOLVED = 1e-5


def _is_kernel_pca(make: Make, rows: int, form: Any, condition: Condition) -> Callable[[Data], Measured]:
    """The check that kernel PCA of the equivalent kernel spans the embedding, in as many dimensions as rounding allows."""

    def check(data: Data) -> Measured:
        data = data.take(rows)
        reason: Exception = UnmetError(f"{data.n} rows are too few")
        for d in range(min(MOST, data.n - 2, data.X.shape[1]), 0, -1):
            try:
                fitted = make(data, d).fit(data.X)
                condition(data, fitted)
            except (UnmetError, EigenspanError) as refusal:
                reason = refusal
                continue
            kernel = equivalent_kernel(fitted, data.X, form=form)
            rounding = kernel.resolution()
            if rounding < _RESOLVED:
                words = f"{d} dimension{'s' * (d > 1)}, which rounding turns by {rounding:.0e} degrees"
                return Measured(words, kernel.discrepancy(), rows=data.n)
            reason = UnmetError(f"rounding alone may turn the first axis of the kernel by {rounding:.0e} degrees")
        raise reason

    return check


def _anything(data: Data, fitted: Any) -> None:
    """Nothing more is asked for."""


def _positive_affinities(data: Data, fitted: Any) -> None:
    """The deflated vector has eigenvalue 0, which those of the axes must exceed."""
    if (least := 1 - float(fitted.eigenvalues_[-1])) <= 0:
        raise UnmetError(f"the last axis has the affinity {least:.2g}")


def _above_zero(data: Data, fitted: Any) -> None:
    """The pseudo-inverse of a number that is rounding is zero, not large."""
    least, size = float(fitted.eigenvalues_[0]), fitted.problem_.A.norm()
    if least < 1e-8 * size:
        raise UnmetError(f"the eigenvalue {least:.0e} of the first axis is zero but for rounding")


def _no_negative_walk(data: Data, fitted: Any) -> None:
    """An even power makes large negative eigenvalues large positive ones."""
    W = data.W + np.eye(data.n)
    W = W / np.outer(W.sum(axis=1), W.sum(axis=1)) ** fitted.alpha
    s = np.sqrt(W.sum(axis=1))
    least, last = dense.eigenvalues(W / np.outer(s, s))[0], float(fitted.walk_eigenvalues_[-1])
    if -least >= last:
        raise UnmetError(f"S has the eigenvalue {least:.2g}, and {last:.2g} at the last axis")


def _over_graph(method: Any, **more: Any) -> Make:
    return lambda data, d: method(d, graph=data.graph, **more)


def _weighted(method: Any, **more: Any) -> Make:
    return lambda data, d: method(d, graph=data.graph, weights=data.heat, **more)


def _enough_neighbours(method: Any) -> Make:
    """A tangent plane and its curvature take d(d + 3)/2 neighbours, and some more to be told from noise."""
    return lambda data, d: method(d, n_neighbors=min(data.n - 1, max(data.graph.distances.nnz // data.n, 14)))


_ALWAYS = "always"
_CENTRED = "centred"
for _name, _statement, _condition, _source, _make, _rows, _form, _fit in (
    ("kernel-of-pca", "PCA is kernel PCA of XXᵀ", _CENTRED, "S4 §2.2", lambda data, d: PCA(d), 500, "auto", _anything),
    (
        "kernel-of-mds",
        "classical MDS is kernel PCA of −½HΔ²H",
        "Δ² squared distances of any kind; negative eigenvalues are no part of the embedding",
        "S4 §2.2",
        lambda data, d: ClassicalMDS(d, metric="cityblock"),
        300,
        "auto",
        _anything,
    ),
    (
        "kernel-of-isomap",
        "Isomap is kernel PCA of −½HΔ²H of geodesic distances",
        "negative eigenvalues are no part of the embedding",
        "S4 §2.2",
        _over_graph(Isomap),
        300,
        "auto",
        _anything,
    ),
    (
        "kernel-of-landmarks",
        "landmark MDS is kernel PCA of K_nm K_mm† K_mn",
        "centred; K of the landmarks' distances",
        "S3 §4.3; Platt 2005",
        lambda data, d: LandmarkMDS(d, landmarks=min(40, data.n - 1), random_state=data.seed),
        300,
        "auto",
        _anything,
    ),
    (
        "eigenmaps",
        "Laplacian eigenmaps are kernel PCA of D^(−½)WD^(−½) with D^½1 taken out, rows times D^(−½)",
        "deflated, not centred: centring gives another subspace; positive affinities at the last axis",
        "S4 §2.2, corrected",
        _weighted(LaplacianEigenmaps),
        ROWS,
        "deflated",
        _positive_affinities,
    ),
    (
        "eigenmaps-inverse",
        "Laplacian eigenmaps are kernel PCA of (D^(−½)LD^(−½))†, rows times D^(−½)",
        "a connected graph",
        "S4 table 1, corrected",
        _weighted(LaplacianEigenmaps),
        ROWS,
        "pseudo-inverse",
        _anything,
    ),
    (
        "kernel-of-commuting",
        "the commute-time embedding is kernel PCA of vol·L†",
        "a connected graph",
        "S1 §1.4.2",
        _weighted(CommuteTimeEmbedding),
        ROWS,
        "auto",
        _anything,
    ),
    (
        "diffusion-map",
        "the diffusion map is kernel PCA of S^(2t), S = D_α^(−½)W_αD_α^(−½), with rows multiplied by D_α^(−½)",
        "the stationary vector taken out, and no negative eigenvalue of S as large as those kept",
        "S4 §2.2, corrected",
        _weighted(DiffusionMap, t=2),
        ROWS,
        "auto",
        _no_negative_walk,
    ),
    (
        "lle-kpca",
        "LLE is kernel PCA of λ_max I − M",
        "centred; columns up to scale",
        "S4 table 1",
        _over_graph(LLE, reg=1e-2),
        ROWS,
        "shifted",
        _anything,
    ),
    (
        "lle-kpca-inverse",
        "LLE is kernel PCA of M†",
        "centred; columns up to scale; no eigenvalue of the axes is zero",
        "S4 table 1",
        _over_graph(LLE, reg=1e-2),
        ROWS,
        "pseudo-inverse",
        _above_zero,
    ),
    (
        "kernel-of-alignment",
        "LTSA is kernel PCA of λ_max I − M, M its alignment matrix",
        "centred; columns up to scale",
        "Ham et al. 2004",
        _over_graph(LTSA),
        ROWS,
        "shifted",
        _anything,
    ),
    (
        "kernel-of-hessian",
        "Hessian LLE is kernel PCA of λ_max I − M, M its alignment matrix",
        "centred; columns up to scale",
        "Ham et al. 2004",
        _enough_neighbours(HessianLLE),
        ROWS,
        "shifted",
        _anything,
    ),
    (
        "kernel-of-modified",
        "modified LLE is kernel PCA of λ_max I − M, M its alignment matrix",
        "centred; columns up to scale",
        "Ham et al. 2004",
        _enough_neighbours(ModifiedLLE),
        ROWS,
        "shifted",
        _anything,
    ),
    (
        "kernel-of-unfolding",
        "maximum variance unfolding is kernel PCA of the Gram matrix that it learns",
        _ALWAYS,
        "S4 §2.2",
        _over_graph(MVU),
        _FEW,
        "auto",
        _anything,
    ),
    (
        "kernel-of-projection",
        "LPP, like every projection, is kernel PCA of XVVᵀXᵀ, the metric that it learns",
        "nothing is centred",
        "S4 §2.4",
        _weighted(LPP),
        ROWS,
        "auto",
        _anything,
    ),
):
    theorem(_name, _statement, condition=_condition, source=_source)(_is_kernel_pca(_make, _rows, _form, _fit))
