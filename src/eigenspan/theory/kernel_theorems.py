"""Theorems about kernel methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from ..methods.alignment.local_models_glued import LLTSA, LTSA
from ..methods.base.contract import FeatureReducer
from ..methods.discriminant.lda import LDA
from ..methods.laplacian.eigenmaps import LPP, OLPP, LaplacianEigenmaps
from ..methods.reconstruction.lle import LLE, NPP
from ..numerics.eigen import dense
from ..problem import Features, Kernel
from ..problem.forms import reconstruction
from .measure import angle, class_means, cut, fitted_at_a_gap, relative
from .projection_theorems import over_graph
from .theorem import Measured, UnmetError, subject
from .theorem_data import Data

Array = NDArray[np.float64]

theorem = subject("Kernels")

#: Largest size of kernel matrices.
_ROWS = 150
#: Largest condition number of a kernel matrix that counts as nonsingular.
_CONDITION = 1e8


class _Mapped:
    """Rows at unit scale, a kernel with a nonsingular matrix K, and the rows in its feature space with their graph."""

    def __init__(self, data: Data, most: float = _CONDITION) -> None:
        self.X = data.centred / data.scale
        gamma, condition = 1.0 / data.X.shape[1], np.inf
        while condition >= most and gamma < 1e6:
            self.kernel = Kernel("laplacian", gamma=gamma)
            self.K = np.exp(-gamma * cdist(self.X, self.X, "cityblock"))
            condition, gamma = float(np.linalg.cond(self.K)), 2 * gamma
        if condition >= most:
            raise UnmetError(f"the kernel matrix has condition number {condition:.0e}")
        self.words = f"condition number {condition:.0e}"
        self.features = Data(Features.kernel(self.kernel, self.X).Z, data.y, data.k, data.seed)


def _in_feature_space(projection: Any, implicit: Any) -> Any:
    """Return a check that the kernelised projection equals the implicit method on the same graph in feature space."""

    def check(data: Data) -> Measured:
        data = data.take(_ROWS)
        mapped = _Mapped(data)
        Z = mapped.features
        plain, gap = fitted_at_a_gap(lambda d: over_graph(implicit, Z, d), Z.X)
        d = plain.embedding_.shape[1]
        kernelised = over_graph(projection, Z, d, kernel=mapped.kernel, ridge=0).fit(mapped.X)
        return Measured(f"{mapped.words}, {gap}", angle(kernelised.embedding_, plain.embedding_), rows=data.n)

    return check


_NONSINGULAR = "a numerically nonsingular kernel matrix (condition number below 10⁸), no ridge"
for _name, _statement, _source, _projection, _implicit in (
    ("kernel-lpp", "kernel LPP equals Laplacian eigenmaps in feature space", "8.2", LPP, LaplacianEigenmaps),
    ("kernel-npp", "kernel NPP equals LLE in feature space", "8.3", NPP, LLE),
    ("kernel-lltsa", "kernel LLTSA equals LTSA in feature space", "8.3", LLTSA, LTSA),
):
    theorem(_name, _statement, condition=_NONSINGULAR, source=f"S0 proposition {_source}")(
        _in_feature_space(_projection, _implicit)
    )


def _dual(K: Array, w: Array, A: Array, B: Array | None, ridge: float, sense: str) -> tuple[Array, Array, str]:
    """Solve ``K̃AK̃α = λK̃BK̃α`` with K̃ centred by weights w. The ridge is added to B, or to A when minimising."""
    n = len(K)
    w = w / w.sum()
    C = np.eye(n) - np.outer(np.ones(n), w)
    centred = C @ K @ C.T
    P = dense.singular_vectors(w[:, None], complete=True)[0][:, 1:]  # K̃w = 0
    in_A, in_B = (ridge, 0.0) if sense == "min" else (0.0, ridge)
    left = dense.symmetric(P.T @ (centred @ A @ centred + in_A * centred) @ P)
    right = dense.symmetric(P.T @ ((centred if B is None else centred @ B @ centred) + in_B * centred) @ P)
    values, alpha = dense.eigenpairs(left, None, sense, right)
    d, gap = cut(values, 2, float(np.abs(values).max()) if sense == "max" else max(1.0, float(values[:3].max())))
    return values[:d], centred @ P @ alpha[:, :d], gap


@theorem(
    "kpca-trick",
    "a kernel method is the linear method on the kernel-PCA scores of full rank",
    condition="any kernel that is positive semidefinite",
    source="S2 §2.2",
)
def kernel_pca_trick(data: Data) -> Measured:
    """Compare kernel LPP, NPP, OLPP and, with classes, LDA with their eigenproblems in dual coefficients."""
    data = data.take(_ROWS)
    mapped = _Mapped(data, 1e4)  # the dual problems contain K squared
    K, Z, n = mapped.K, mapped.features, data.n
    ones, d = np.ones(n), Z.W.sum(axis=1)
    how: dict[str, Any] = {"graph": Z.graph, "weights": Z.heat}
    M = reconstruction(LLE(1, graph=Z.graph).fit(Z.X).weights_).to_dense()
    cases: list[tuple[Any, Callable[[int], FeatureReducer]]] = [
        (_dual(K, d, Z.L, np.diag(d), 0.1, "min"), lambda d: LPP(d, ridge=0.1, **how)),
        (_dual(K, ones, Z.L, None, 0.0, "min"), lambda d: OLPP(d, **how)),
        (_dual(K, ones, M, np.eye(n), 0.1, "min"), lambda d: NPP(d, ridge=0.1, graph=Z.graph)),
    ]
    if data.y is not None and np.all(data.y >= 0) and data.n_classes > 1:
        G = class_means(np.eye(n), np.unique(data.y, return_inverse=True)[1])
        cases.append((_dual(K, ones, G - 1 / n, np.eye(n), 0.1, "max"), lambda d: LDA(d, ridge=0.1)))
    turned, errors = [], []
    for (values, Y, _), make in cases:
        fitted = make(values.size).set_params(kernel=mapped.kernel).fit(mapped.X, data.y)
        turned.append(angle(fitted.embedding_, Y))
        errors.append(relative(fitted.eigenvalues_, values, 1e-6))
    return Measured(f"{mapped.words}, {cases[0][0][2]}", max(turned), max(errors), n)
