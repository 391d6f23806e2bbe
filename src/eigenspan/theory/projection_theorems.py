"""Theorems about linear projections."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..methods.alignment.local_models_glued import LLTSA, LTSA
from ..methods.discriminant.lda import LDA
from ..methods.laplacian.eigenmaps import LPP, LaplacianEigenmaps
from ..methods.reconstruction.lle import LLE, NPP
from ..methods.trace_reducer import TraceReducer
from ..methods.variance.kernel_pca import PCA
from ..numerics.eigen import dense
from ..problem import Features, Form, TraceProblem, TraceRatio, pose, solve
from ..problem.forms import reconstruction
from .graph_theorems import ROWS
from .measure import (
    MOST,
    angle,
    centred,
    class_means,
    cut,
    fitted_at_a_gap,
    lowest,
    principal,
    rank,
    relative,
)
from .theorem import Measured, UnmetError, subject
from .theorem_data import Data

Array = NDArray[np.float64]

theorem = subject("Projections")

#: Largest number of dimensions.
_WIDE = 300
#: Smallest singular value of affinely independent rows, relative to the largest.
_INDEPENDENT = 1e-4


def _ritz(X: Array, A: Array, b: Array) -> tuple[Array, Array, str]:
    """Return the Rayleigh–Ritz values and vectors of (A, diag b) in the span of X centred by weights b, up to a gap."""
    root = np.sqrt(b)[:, None]
    Q = dense.principal_axes(root * centred(X, b))[0] / root
    values, S, gap = (
        lowest(Q.T @ A @ Q, most=max(1, min(MOST, Q.shape[1] - 1))) if Q.shape[1] > 1 else _single_pair(Q, A)
    )
    return values, Q @ S, gap


def _single_pair(Q: Array, A: Array) -> tuple[Array, Array, str]:
    return (Q.T @ A @ Q).ravel(), np.ones((1, 1)), "one dimension"


@theorem(
    "lpp-ritz",
    "LPP is the Rayleigh–Ritz approximation of Laplacian eigenmaps from the span of the features",
    condition="always",
    source="S0 proposition 7.4",
)
def lpp_is_rayleigh_ritz(data: Data) -> Measured:
    data = data.take(ROWS).leading(_WIDE)
    values, Y, gap = _ritz(data.X, data.L, data.W.sum(axis=1))
    lpp, le = (_fitted(method, data, values.size) for method in (LPP, LaplacianEigenmaps))
    below = np.max(le.eigenvalues_ - lpp.eigenvalues_)
    errors = (relative(lpp.eigenvalues_, values, 1e-6), max(0.0, float(below)))
    return Measured(gap, angle(lpp.embedding_, Y), max(errors), data.n)


@theorem(
    "npp-ritz",
    "NPP is the Rayleigh–Ritz approximation of LLE from the span of the features",
    condition="always",
    source="S0 proposition 7.4",
)
def npp_is_rayleigh_ritz(data: Data) -> Measured:
    data = data.take(ROWS).leading(_WIDE)
    M = reconstruction(_fitted(LLE, data, 1).weights_).to_dense()
    values, Y, gap = _ritz(data.X, M, np.ones(data.n))
    npp, lle = (_fitted(method, data, values.size) for method in (NPP, LLE))
    errors = (relative(npp.eigenvalues_, values, 1e-6), max(0.0, float(np.max(lle.eigenvalues_ - npp.eigenvalues_))))
    return Measured(gap, angle(npp.embedding_, Y), max(errors), data.n)


def over_graph(method: Any, data: Data, d: int, **more: Any) -> Any:
    """Return the method with d components on the graph of the data."""
    if method in (LPP, LaplacianEigenmaps):
        more["weights"] = data.heat
    return method(d, graph=data.graph, **more)


def _fitted(method: Any, data: Data, d: int) -> Any:
    return over_graph(method, data, d).fit(data.X)


def independent(data: Data) -> tuple[Data, str]:
    """Return affinely independent rows, as many as possible, and a description with their smallest singular value."""
    part = data.take(40)
    for m in range(rank(part.X) + 1, 2, -1):
        some = part.take(m)
        s = dense.singular_vectors(some.centred)[1][: m - 1]
        if s[-1] > _INDEPENDENT * s[0]:
            return some, f"{m} affinely independent rows, smallest singular value {s[-1] / s[0]:.0e} of the largest"
    raise UnmetError(f"rows of rank {rank(part.X)}: too few affinely independent ones for a graph")


def _undersampled(projection: Any, implicit: Any) -> Any:
    """Return a check that both methods give the same embedding of affinely independent rows."""

    def check(data: Data) -> Measured:
        data, rows = independent(data)
        b, gap = fitted_at_a_gap(lambda d: over_graph(implicit, data, d), data.X)
        a = over_graph(projection, data, b.embedding_.shape[1]).fit(data.X)
        return Measured(
            f"{rows}, {gap}", angle(a.embedding_, b.embedding_), relative(a.eigenvalues_, b.eigenvalues_, 1e-6), data.n
        )

    return check


_CONDITION = "affinely independent rows, so at most one more row than features"
for _name, _statement, _projection, _implicit in (
    ("lpp-le", "LPP equals Laplacian eigenmaps", LPP, LaplacianEigenmaps),
    ("npp-lle", "NPP equals LLE", NPP, LLE),
    ("lltsa-ltsa", "LLTSA equals LTSA", LLTSA, LTSA),
):
    theorem(_name, _statement, condition=_CONDITION, source="S0 corollary 7.5")(_undersampled(_projection, _implicit))


@theorem(
    "lpp-pca",
    "LPP equals PCA",
    condition="the affinity W with I − W = X(XᵀX)⁻²Xᵀ, data centred and of full rank",
    source="S0 proposition 7.3",
)
def lpp_is_pca(data: Data) -> Measured:
    """Use at most ten principal axes of the data, so that the scatter matrix is well-conditioned."""
    data = data.take(ROWS)
    U, s, _ = dense.principal_axes(data.centred, 1e-3)
    X = (U * s)[:, :10]
    S = X.T @ X
    A = Form(data.n, dense=X @ np.linalg.solve(S, np.linalg.solve(S, X.T)), psd=True, kills_constant=True)
    values, V, gap = principal(X)
    posed = pose(Features.linear(X), minimise=A)
    found = solve(posed.problem, values.size)
    pca, lpp = PCA(values.size).fit(X), posed.basis.embed(found.vectors)
    return Measured(
        f"rank {X.shape[1]}, {gap}",
        max(angle(lpp, Y) for Y in (X @ V, pca.embedding_)),
        relative(1 / found.values, values),
        data.n,
    )


@theorem(
    "lda-lpp-npp",
    "LDA equals supervised LPP equals supervised NPP",
    condition="weights 1/n_k within class k and none across",
    source="S0 proposition 7.2",
)
def lda_is_supervised_lpp_and_npp(data: Data) -> Measured:
    data = data.labelled(2000).leading(_WIDE)
    values = LDA().fit(data.X, data.y).eigenvalues_
    d, gap = cut(np.append(values, 0.0), values.size, 1.0)
    lda = LDA(d).fit(data.X, data.y)
    others = [method(d, graph="class").fit(data.X, data.y) for method in (LPP, NPP)]
    turned = [
        angle(a, b)
        for other in others
        for a, b in ((lda.components_.T, other.components_.T), (lda.embedding_, other.embedding_))
    ]
    errors = [relative(1 - other.eigenvalues_, lda.eigenvalues_, 1e-3) for other in others]
    return Measured(f"{data.n_classes} classes, {gap}", max(turned), max(errors), data.n)


@theorem(
    "trace-ratio-metric",
    "max Tr(VᵀAV)/Tr(VᵀBV) with VᵀCV = I is the root ρ at which the leading eigenvalues of (A − ρB, C) sum to zero, and at least the ratio "
    "of the eigenvectors of (A, B)",
    condition="B and C positive definite, the same number of axes",
    source="S0 §2, eqs. 5–6",
)
def trace_ratio_in_a_metric(data: Data) -> Measured:
    data = data.labelled(1000).leading(10)  # with more axes B is nearly singular if features are correlated
    d = min(2, data.n_classes - 1, data.X.shape[1])
    found = TraceReducer(d, maximise="between", over="within", unit="total").fit(data.X, data.y)
    problem = found.problem_
    assert isinstance(problem, TraceRatio)
    assert problem.C is not None
    A, B, C = (M.to_dense() for M in (problem.A, problem.B, problem.C))
    L = np.linalg.cholesky(C)

    def ratio(V: Array) -> float:
        W = np.linalg.solve(L.T, np.linalg.qr(L.T @ V)[0])
        return float(np.trace(W.T @ A @ W) / np.trace(W.T @ B @ W))

    rho = found.diagnostics_["trace_ratio"]
    rivals = [solve(TraceProblem(Form(len(A), dense=A), Form(len(A), dense=B), "max"), d).vectors]
    rivals += list(data.rng().standard_normal((100, len(A), d)))
    above = max(ratio(V) for V in rivals) / rho - 1
    return Measured(
        f"{data.n_classes} classes in {data.X.shape[1]} dimensions",
        relative=max(above, abs(float(found.eigenvalues_.sum())) / np.linalg.norm(A), 0.0),
        rows=data.n,
        note=f"ratio {rho:.3g}, eigenvectors {ratio(rivals[0]):.3g}",
    )


@theorem(
    "trace-ratio",
    "the trace-ratio solution of LDA has at least the trace ratio of the ordinary solution",
    condition="orthonormal axes, the same number of them",
    source="S0 §2, eqs. 5–6",
)
def trace_ratio_is_no_less(data: Data) -> Measured:
    data = data.labelled(1000).leading(_WIDE)
    d = min(2, data.n_classes - 1, data.X.shape[1])
    M = class_means(data.X, data.y) - data.X.mean(axis=0)
    S_B, S_T = M.T @ M, data.centred.T @ data.centred

    def ratio(V: Array) -> float:
        Q = np.linalg.qr(V)[0]
        return float(np.trace(Q.T @ S_B @ Q) / np.trace(Q.T @ S_T @ Q))

    best = ratio(LDA(d, criterion="trace-ratio").fit(data.X, data.y).components_.T)
    ordinary = ratio(LDA(d).fit(data.X, data.y).components_.T)
    rivals = max(ratio(V) for V in data.rng().standard_normal((100, data.X.shape[1], d)))
    return Measured(
        f"{data.n_classes} classes in {data.X.shape[1]} dimensions",
        relative=max(0.0, ordinary - best, rivals - best),
        rows=data.n,
        note=f"ratio {best:.3g}, ordinary LDA {ordinary:.3g}",
    )
