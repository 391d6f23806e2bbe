"""Theorems about variance and distances."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist, pdist, squareform

from ..learning import complete_kernel
from ..methods.distances.classical_mds import ClassicalMDS
from ..methods.distances.isomap import Isomap
from ..methods.variance.kernel_pca import PCA, KernelPCA
from ..numerics.eigen import dense
from ..problem import Samples, SqrtEigenvalue, gram, pose, solve
from ..problem.extensions import DistanceGram, GramExtension, half_squares
from .complete_tables import dot_products
from .measure import angle, double_centred, highest, principal, products, rank, relative, squares
from .psd import nearest_psd
from .theorem import Measured, UnmetError, subject
from .theorem_data import Data

Array = NDArray[np.float64]

theorem = subject("Variance and distances")

#: Largest number of rows for all pairs.
_PAIRS = 500


@theorem("mds-pca", "classical MDS equals PCA", condition="Euclidean distances", source="S3 §4.6")
def mds_is_pca(data: Data) -> Measured:
    data = data.take(_PAIRS)
    values, _, gap = principal(data.X)
    pca = PCA(values.size).fit(data.X)
    mds = ClassicalMDS(values.size, metric="precomputed").fit(data.distances)
    errors = (relative(products(mds.embedding_), products(pca.embedding_)), relative(mds.eigenvalues_, values))
    return Measured(gap, angle(mds.embedding_, pca.embedding_), max(errors), data.n)


@theorem(
    "kpca-pca", "kernel PCA equals PCA, for new points too", condition="linear kernel", source="S0 §8.2; S1 §1.4.1"
)
def kernel_pca_is_pca(data: Data) -> Measured:
    data = data.take(_PAIRS)
    train, new = data.X[::2], data.X[1::2]
    values, _, gap = principal(train)
    pca, kpca = PCA(values.size).fit(train), KernelPCA(values.size, kernel="linear").fit(train)
    Y, Z = (np.vstack([fitted.embedding_, fitted.transform(new)]) for fitted in (pca, kpca))
    return Measured(gap, angle(Y, Z), relative(products(Z), products(Y)), data.n)


@theorem(
    "isomap-mds",
    "Isomap equals classical MDS",
    condition="all n − 1 neighbours, and distances that obey the triangle inequality",
    source="S1 §1.3.1",
)
def isomap_is_mds(data: Data) -> Measured:
    """Use city-block distances, which are not Euclidean."""
    data = data.take(200)
    D = squareform(pdist(data.X, "cityblock"))
    detour = max(float(np.max(D[i] - np.min(D[i] + D, axis=1))) for i in range(len(D))) / D.max()
    if detour > 1e-12:
        raise UnmetError(f"the triangle inequality is violated by {detour:.0e} of the largest distance")
    _, V, gap = highest(double_centred(-0.5 * D**2), most=2)
    d = V.shape[1]
    mds = ClassicalMDS(d, metric="precomputed").fit(D)
    isomap = Isomap(d, graph="precomputed", n_neighbors=len(D) - 1).fit(D)
    return Measured(
        f"the triangle inequality holds, {gap}",
        max(angle(isomap.embedding_, mds.embedding_), angle(mds.embedding_, V)),
        relative(products(isomap.embedding_), products(mds.embedding_)),
        data.n,
    )


@theorem(
    "nystrom",
    "kernel PCA for new points, the Nyström formula and landmark MDS are one map",
    condition="centred on the landmarks, before landmark MDS rotates its axes",
    source="S3 §4.1.3",
)
def one_map_for_new_points(data: Data) -> Measured:
    data = data.take(200)
    m = min(40, data.n // 2)
    X = data.centred / data.scale
    landmarks = np.sort(data.rng().choice(data.n, m, replace=False))
    K = np.exp(-cdist(X, X, "sqeuclidean"))
    Kq, Kx = K[np.ix_(landmarks, landmarks)], K[:, landmarks]
    values, U, gap = highest(double_centred(Kq), most=2)
    nystrom = (Kx - Kq.mean(axis=0)) @ U / np.sqrt(values)
    nystrom -= nystrom[landmarks].mean(axis=0)
    extended = KernelPCA(values.size, kernel="precomputed").fit(Kq).transform(Kx)
    D = np.sqrt(np.maximum(2 - 2 * K, 0.0))
    np.fill_diagonal(D, 0.0)
    G = half_squares(D[np.ix_(landmarks, landmarks)])
    posed = pose(
        Samples(m, GramExtension(DistanceGram(None, "precomputed", landmarks), G.mean(axis=0))),
        maximise=gram(G),
        scale=SqrtEigenvalue(),
    )
    found = solve(posed.problem, values.size)
    place: Any = posed.basis.map(found.vectors * posed.scale(found), found)
    triangulated = place(D)
    errors = [relative(products(Y), products(nystrom)) for Y in (extended, triangulated)]
    return Measured(f"{m} landmarks, {gap}", angle(extended, triangulated), max(errors), data.n)


@theorem(
    "mutual-information",
    "among all orthonormal projections PCA preserves the most information, ½ log₂ of (2πe)^d times the product of its variances",
    condition="Gaussian data, or the entropy of a Gaussian with the same covariance",
    source="S3 eq. 3.7, with (2πe)^d",
)
def pca_keeps_most_information(data: Data) -> Measured:
    values, V, gap = principal(data.X)
    d, C = values.size, data.centred.T @ data.centred / data.n

    def bits(basis: Array) -> float:
        return float(0.5 * np.linalg.slogdet(2 * np.pi * math.e * basis.T @ C @ basis)[1] / np.log(2))

    best = bits(PCA(d).fit(data.X).components_.T)
    formula = 0.5 * np.sum(np.log2(2 * np.pi * math.e * values / data.n))
    steps = data.rng().standard_normal((100, *V.shape))
    rivals = [bits(np.linalg.qr(V + 0.1 * step if i % 2 else step)[0]) for i, step in enumerate(steps)]
    excess = max(0.0, max(rivals) - best)
    return Measured(
        gap,
        relative=max(abs(best - formula), excess) / max(abs(formula), 1.0),
        rows=data.n,
        note=f"{best:.3g} bits in {d} dimensions; the best of 100 other projections has {max(rivals):.3g}",
    )


@theorem(
    "least-dimension",
    "a matrix A holds squared distances of points if and only if −HAH is positive semidefinite; its rank is their smallest dimension",
    condition="A symmetric, nonnegative, zero on its diagonal",
    source="S3 theorem 4.1",
)
def least_dimension(data: Data) -> Measured:
    """Reproduce the squared distances from as many axes as −HAH has rank; tripling one distance makes it indefinite."""
    data = data.take(200)
    A = data.distances**2
    values, U = dense.eigenpairs(double_centred(-A), None, "max")
    r = rank(data.X)
    Y = U[:, :r] * np.sqrt(values[:r] / 2)
    beyond = float(np.abs(values[r:]).max(initial=0.0)) / values[0]
    if r < data.n - 1 and values[r - 1] / values[0] < 1e-10:
        raise UnmetError(f"the rank is not determined: an eigenvalue of {values[r - 1] / values[0]:.0e} of the largest")
    return Measured(
        f"rank {r}, next eigenvalue {beyond:.0e} of the largest",
        relative=max(relative(squares(Y), A), beyond),
        rows=data.n,
        note=f"with one axis fewer the error is {relative(squares(Y[:, :-1]), A):.0e}; with one distance tripled: {_stretched(A)}",
    )


def _stretched(A: Array) -> str:
    B = A.copy()
    i, j = np.unravel_index(int(A.argmax()), A.shape)
    B[i, j] = B[j, i] = 9 * A[i, j]
    values = dense.eigenvalues(double_centred(-B))
    return f"smallest eigenvalue {values[0] / values[-1]:.0e} of the largest"


@theorem(
    "general-centring",
    "−½PᶜA(Pᶜ)ᵀ with Pᶜ = I − 1cᵀ holds the inner products of the points about Σ c_i x_i",
    condition="squared Euclidean distances A, weights c that sum to one",
    source="S3 §4.2.1",
)
def general_centring(data: Data) -> Measured:
    """Use a point as centre, and weights of both signs."""
    data = data.take(200)
    c = data.rng().standard_normal(data.n)
    c += (1 - c.sum()) / data.n
    errors, lowest = [], 0.0
    for center, weights in ((0, np.eye(data.n)[0]), (c, c)):
        G, X = dot_products(data.distances, center=center), data.centred - weights @ data.centred
        values = dense.eigenvalues(G)
        lowest = min(lowest, values[0] / values[-1])
        errors.append(relative(G, X @ X.T))
    return Measured(f"smallest eigenvalue {lowest:.0e} of the largest", relative=max(*errors, -lowest), rows=data.n)


@theorem(
    "unexplained-residual",
    "the squared distances of the points from their projections to the first d axes of classical MDS sum to the other eigenvalues",
    condition="Euclidean distances",
    source="S3 eq. 4.11, without its ½ between the steps",
)
def unexplained_residual(data: Data) -> Measured:
    data = data.take(_PAIRS)
    values, _, gap = principal(data.X)
    found = ClassicalMDS(values.size, metric="precomputed").fit(data.distances)
    Q = dense.nearest_rotation(data.centred.T @ found.embedding_)  # the axes of the embedding in the space of the data
    share = float(np.sum((data.centred - found.embedding_ @ Q.T) ** 2) / np.sum(data.centred**2))
    return Measured(gap, relative=abs(found.unexplained_residual() - share) / max(share, 1e-3), rows=data.n)


@theorem(
    "nystrom-error",
    "the error of the Nyström approximation is the Schur complement C − BᵀA⁻¹B, zero if the landmarks span all points",
    condition="a kernel matrix; independent landmarks",
    source="S3 §4.1.2–4.1.3",
)
def nystrom_error(data: Data) -> Measured:
    """Compare the reported error with the trace of the complement, and complete a matrix of inner products of the data."""
    data = data.take(200)
    X, m = data.centred / data.scale, min(20, data.n // 2)
    some = np.sort(data.rng().choice(data.n, m, replace=False))
    K = np.exp(-cdist(X, X, "sqeuclidean"))
    reported = KernelPCA(1, kernel="precomputed", landmarks=some).fit(K).diagnostics_["nystrom_error"]
    left = K - K[:, some] @ np.linalg.lstsq(K[np.ix_(some, some)], K[some], rcond=1e-10)[0]
    P = products(X)
    full = np.arange(min(data.n, 4 * rank(X)))
    holes = np.where(np.isin(np.arange(data.n), full)[:, None] | np.isin(np.arange(data.n), full), P, np.nan)
    if rank(X[full]) < rank(X):
        raise UnmetError(f"the first {full.size} rows have rank {rank(X[full])} of {rank(X)}")
    errors = (abs(reported - np.trace(left) / data.n), max(0.0, -dense.eigenvalues(dense.symmetric(left))[0]) / data.n)
    return Measured(
        f"{m} landmarks, error {reported:.1%}", relative=max(*errors, relative(complete_kernel(holes), P)), rows=data.n
    )


@theorem(
    "nearest-psd",
    "the positive semidefinite matrix nearest to a square matrix is its symmetric part without the negative eigenvalues",
    condition="any square matrix; nearest in the sum of squares",
    source="S3 theorem A.1",
)
def nearest_semidefinite(data: Data) -> Measured:
    """Check the optimality conditions B ⪰ 0, B − S ⪰ 0 and ⟨B, B − S⟩ = 0 on an asymmetric matrix from city-block distances."""
    data = data.take(150)
    A = double_centred(-0.5 * squareform(pdist(data.X, "cityblock")) ** 2)
    A = A + np.abs(A).max() * np.triu(np.ones_like(A), 1) / data.n
    B = nearest_psd(A)
    S = dense.symmetric(A)
    size = np.linalg.norm(S, 2)
    lowest = min(dense.eigenvalues(B)[0], dense.eigenvalues(B - S)[0])
    errors = (max(0.0, -lowest) / size, abs(np.sum(B * (B - S))) / np.sum(S**2))
    return Measured(
        f"smallest eigenvalue of the symmetric part {dense.eigenvalues(S)[0] / size:.0e} of its norm",
        relative=float(max(errors)),
        rows=data.n,
    )
