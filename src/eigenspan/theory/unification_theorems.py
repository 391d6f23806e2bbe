"""Theorems about unification: each spectral method is kernel PCA of an equivalent kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import EigenspanError
from ..methods.alignment.local_models_glued import LTSA, HessianLLE, ModifiedLLE
from ..methods.distances.classical_mds import ClassicalMDS
from ..methods.distances.isomap import Isomap
from ..methods.distances.landmark_mds import LandmarkMDS
from ..methods.laplacian.eigenmaps import LPP, LaplacianEigenmaps
from ..methods.laplacian.random_walks import CommuteTimeEmbedding, DiffusionMap
from ..methods.reconstruction.lle import LLE
from ..methods.unfolding import MVU
from ..methods.variance.kernel_pca import PCA
from ..numerics.eigen import dense
from .graph_theorems import ROWS
from .kernel_of_method import equivalent_kernel
from .measure import MOST
from .theorem import Measured, UnmetError, subject
from .theorem_data import Data

Array = NDArray[np.float64]
Make = Callable[[Data, int], Any]
Condition = Callable[[Data, Any], None]

theorem = subject("The kernel behind each method")

#: Number of rows for semidefinite programs.
_FEW = 40
#: Largest angle due to rounding, in degrees, at which a subspace is compared.
_RESOLVED = 1e-5


def _no_condition(data: Data, fitted: Any) -> None:
    """Accept every fit."""


def _positive_affinities(data: Data, fitted: Any) -> None:
    """Raise UnmetError unless the affinities of the axes are positive: the deflated vector has eigenvalue 0."""
    if (least := 1 - float(fitted.eigenvalues_[-1])) <= 0:
        raise UnmetError(f"the last axis has the affinity {least:.2g}")


def _above_zero(data: Data, fitted: Any) -> None:
    """Raise UnmetError if the first eigenvalue is a rounding error, because the pseudo-inverse omits it."""
    least, size = float(fitted.eigenvalues_[0]), fitted.problem_.A.norm()
    if least < 1e-11 * size:
        raise UnmetError(f"the eigenvalue {least:.0e} of the first axis is zero up to rounding")


def _no_negative_walk(data: Data, fitted: Any) -> None:
    """Raise UnmetError if S has large negative eigenvalues, which an even power makes positive."""
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
    """Return a factory with enough neighbours for a tangent plane and its curvature: d(d + 3)/2, and some more against noise."""
    return lambda data, d: method(d, n_neighbors=min(data.n - 1, max(data.graph.distances.nnz // data.n, 14)))


def _behind(
    name: str,
    statement: str,
    make: Make,
    *,
    condition: str = "centred; columns up to scale",
    source: str = "S4 table 1",
    rows: int = ROWS,
    form: Any = "auto",
    needs: Condition = _no_condition,
) -> None:
    """Register a theorem: kernel PCA of the equivalent kernel spans the embedding, in the most dimensions for which `needs` holds."""

    @theorem(name, statement, condition=condition, source=source)
    def check(data: Data) -> Measured:
        data = data.take(rows)
        reason: Exception = UnmetError(f"{data.n} rows are too few")
        for d in range(min(MOST, data.n - 2, data.X.shape[1]), 0, -1):
            try:
                fitted = make(data, d).fit(data.X)
                needs(data, fitted)
            except (UnmetError, EigenspanError) as refusal:
                reason = refusal
                continue
            kernel = equivalent_kernel(fitted, data.X, form=form)
            rounding = kernel.resolution()
            if rounding < _RESOLVED:
                words = f"{d} dimension{'s' * (d > 1)}, rounding error {rounding:.0e} degrees"
                return Measured(words, kernel.discrepancy(), rows=data.n)
            reason = UnmetError(f"the first axis of the kernel has a rounding error of {rounding:.0e} degrees")
        raise reason


_behind("kernel-of-pca", "PCA is kernel PCA of XXᵀ", lambda data, d: PCA(d), condition="centred", rows=500)
_behind(
    "kernel-of-mds",
    "classical MDS is kernel PCA of −½HΔ²H",
    lambda data, d: ClassicalMDS(d, metric="cityblock"),
    condition="Δ² squared distances of any kind; the embedding omits negative eigenvalues",
    rows=300,
)
_behind(
    "kernel-of-isomap",
    "Isomap is kernel PCA of −½HΔ²H of geodesic distances",
    _over_graph(Isomap),
    condition="the embedding omits negative eigenvalues",
    rows=300,
)
_behind(
    "kernel-of-landmarks",
    "landmark MDS is kernel PCA of K_nm K_mm† K_mn, K of the distances from m landmarks",
    lambda data, d: LandmarkMDS(d, landmarks=min(40, data.n - 1), random_state=data.seed),
    condition="centred",
    source="S3 §4.6; Platt 2005",
    rows=300,
)
_behind(
    "eigenmaps",
    "Laplacian eigenmaps are D^(−½)U, with U the leading eigenvectors of D^(−½)WD^(−½) after deflation of its stationary vector",
    _weighted(LaplacianEigenmaps),
    condition="deflated, not centred: centring gives another subspace; a positive affinity of the last axis",
    source="S4 §2.2, corrected",
    form="deflated",
    needs=_positive_affinities,
)
_behind(
    "eigenmaps-inverse",
    "Laplacian eigenmaps are kernel PCA of (D^(−½)LD^(−½))†, rows times D^(−½)",
    _weighted(LaplacianEigenmaps),
    condition="a connected graph",
    source="S4 table 1, corrected",
    form="pseudo-inverse",
)
_behind(
    "kernel-of-commuting",
    "the commute-time embedding is kernel PCA of vol·L†",
    _weighted(CommuteTimeEmbedding),
    condition="a connected graph",
    source="S1 §1.4.2",
)
_behind(
    "diffusion-map",
    "the diffusion map equals kernel PCA of S^(2t), S = D_α^(−½)W_αD_α^(−½), with rows multiplied by D_α^(−½)",
    _weighted(DiffusionMap, t=2),
    condition="the stationary vector deflated, and no negative eigenvalue of S as large in absolute value as those of the axes",
    source="S4 §2.2, corrected",
    needs=_no_negative_walk,
)
_behind("lle-kpca", "LLE equals kernel PCA with the kernel λ_max I − M", _over_graph(LLE, reg=1e-2), form="shifted")
_behind(
    "lle-kpca-inverse",
    "LLE equals kernel PCA with the kernel M†",
    _over_graph(LLE, reg=1e-2),
    condition="centred; columns up to scale; no eigenvalue of the axes is zero",
    form="pseudo-inverse",
    needs=_above_zero,
)
for _name, _statement, _make in (
    ("kernel-of-ltsa", "LTSA", _over_graph(LTSA)),
    ("kernel-of-hessian", "Hessian LLE", _enough_neighbours(HessianLLE)),
    ("kernel-of-modified", "modified LLE", _enough_neighbours(ModifiedLLE)),
):
    _behind(
        _name,
        f"{_statement} equals kernel PCA with the kernel λ_max I − M, M its alignment matrix",
        _make,
        source="as LLE, S4 table 1",
    )
_behind(
    "kernel-of-unfolding",
    "maximum variance unfolding is kernel PCA of the Gram matrix that it learns",
    _over_graph(MVU),
    condition="always",
    rows=_FEW,
)
_behind(
    "kernel-of-projection",
    "LPP, like every projection, is kernel PCA of XVVᵀXᵀ, the metric that it learns",
    _weighted(LPP),
    condition="no centring",
    source="S4 §2.4",
)
