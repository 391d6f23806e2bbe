"""Theorems about embeddings of graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..methods.laplacian.eigenmaps import LaplacianEigenmaps
from ..methods.laplacian.random_walks import CommuteTimeEmbedding, DiffusionMap
from ..methods.laplacian.spectral_clustering import SpectralClustering
from ..methods.reconstruction.lle import LLE
from ..methods.variance.kernel_pca import KernelPCA
from ..numerics.eigen import dense
from ..problem.forms import reconstruction
from .measure import angle, lowest, relative, squares
from .theorem import Measured, subject
from .theorem_data import Data

Array = NDArray[np.float64]

theorem = subject("Graphs")

#: Largest size of dense n×n matrices.
ROWS = 400
#: Number of rows for embeddings with all n − 1 axes.
_FEW = 60


def connected(data: Data) -> str:
    """Describe the graph, which is connected."""
    n_edges = data.graph.undirected().nnz // 2
    return f"connected, {n_edges} edges"


def deflated(A: Array, v: Array | None = None) -> Array:
    """Return A with the eigenvalue of v (None: the constant vector) moved to the top of the spectrum."""
    v = np.ones(len(A)) if v is None else v
    return A + 2 * np.linalg.norm(A) * np.outer(v, v) / (v @ v)


@theorem(
    "ratio-cut",
    "kernel PCA with the kernel L† equals Laplacian eigenmaps with B = I, the ratio cut",
    condition="a connected graph; it does not hold for B = D",
    source="S0 proposition 8.1",
)
def ratio_cut(data: Data) -> Measured:
    data = data.take(ROWS)
    _, V, gap = lowest(deflated(data.L))
    d = V.shape[1]
    graph: dict[str, Any] = {"graph": data.graph, "weights": data.heat}
    kpca = KernelPCA(d, kernel="precomputed").fit(dense.pseudo_inverse(data.L, data.L))
    commute = CommuteTimeEmbedding(d, **graph).fit(data.X).embedding_
    groups = SpectralClustering(d + 1, cut="ratio", **graph).fit(data.X).embedding_[:, 1:]
    turned = max(angle(kpca.embedding_, Y) for Y in (V, commute, groups))
    normalised = LaplacianEigenmaps(d, **graph).fit(data.X).embedding_
    return Measured(
        f"{connected(data)}, {gap}",
        turned,
        rows=data.n,
        note=f"with B = D the angle is {angle(kpca.embedding_, normalised):.1g} degrees",
    )


@theorem(
    "diffusion-distances",
    "distances in the full diffusion map are those of t-step transition probabilities in the stationary measure",
    condition="all n − 1 components",
    source="S4 §2.2",
)
def diffusion_distances(data: Data) -> Measured:
    data = data.take(_FEW)
    walk = DiffusionMap(data.n - 1, t=2, graph=data.graph, weights=data.heat, extension="harmonic").fit(data.X)
    W = data.W + np.eye(data.n)
    q = W.sum(axis=1)
    W = W / np.outer(q, q)
    d = W.sum(axis=1)
    P = np.linalg.matrix_power(W / d[:, None], 2)
    expected = squares(P / np.sqrt(d / d.sum()))
    return Measured(connected(data), relative=relative(squares(walk.embedding_), expected), rows=data.n)


@theorem(
    "commute-times",
    "squared distances of the full commute-time embedding are expected commute times",
    condition="all n − 1 components, a connected graph",
    source="S1 §1.4.2",
)
def commute_times(data: Data) -> Measured:
    """Compare with the expected steps of the walk, which solve h = 1 + Ph with h = 0 at the target."""
    data = data.take(_FEW)
    n, W = data.n, data.W
    found = squares(CommuteTimeEmbedding(n - 1, graph=data.graph, weights=data.heat).fit(data.X).embedding_)
    P = W / W.sum(axis=1)[:, None]
    steps = np.zeros((n, n))
    for j in range(n):
        rest = np.delete(np.arange(n), j)
        steps[rest, j] = np.linalg.solve(np.eye(n - 1) - P[np.ix_(rest, rest)], np.ones(n - 1))
    return Measured(connected(data), relative=relative(found, steps + steps.T), rows=n)


@theorem(
    "lle-row-sums",
    "the rows of LLE's matrix I − W sum to zero, but M is in general not a graph Laplacian",
    condition="M may have positive entries off its diagonal",
    source="S0 proposition 7.1",
)
def lle_rows_sum_to_zero(data: Data) -> Measured:
    """Check the entries of equation 48 on the data, and the example of the source, whose entry (1, 4) is 0.14."""
    data = data.take(ROWS)
    W = LLE(1, graph=data.graph).fit(data.X).weights_.toarray()
    M = reconstruction(W).to_dense()
    entries = W.T @ W - W - W.T + np.eye(data.n)
    example = np.array([[0, 0.4, 0.6, 0], [0.1, 0, 0.3, 0.6], [0.2, 0.4, 0, 0.4], [0, 0.5, 0.5, 0]])
    corner = reconstruction(example).to_dense()[0, 3]
    errors = (np.abs(M.sum(axis=1)).max() / np.abs(M).max(), relative(M, entries), abs(corner - 0.14) / 0.14)
    above = M[~np.eye(data.n, dtype=bool)]
    above = above[above != 0]
    return Measured(
        f"{np.mean(above > 1e-12 * np.abs(M).max()):.0%} of the entries off the diagonal are positive",
        relative=float(max(errors)),
        rows=data.n,
        note=f"M₁₄ of the example is {corner:.2f}",
    )


@theorem(
    "laplacian-as-lle",
    "with W = I − (I − Ŵ)^½ the matrix (I − W)ᵀ(I − W) is the normalised Laplacian I − Ŵ",
    condition="W is symmetric and dense, and may have negative entries",
    source="S0 §7.1",
)
def laplacian_as_lle(data: Data) -> Measured:
    data = data.take(ROWS)
    s = np.sqrt(data.W.sum(axis=1))
    normalised = data.L / np.outer(s, s)
    values, U = dense.eigenpairs(normalised)
    W = np.eye(data.n) - (U * np.sqrt(np.maximum(values, 0.0))) @ U.T
    M = reconstruction(W).to_dense()
    _, V, gap = lowest(deflated(normalised, s))
    d = V.shape[1]
    le = LaplacianEigenmaps(d, graph=data.graph, weights=data.heat).fit(data.X)
    _, Z, _ = lowest(deflated(M, s), most=d)
    turned = angle(le.embedding_, Z / s[:, None]) if Z.shape[1] == d else None
    return Measured(
        f"{connected(data)}, {gap}",
        turned,
        relative(M, normalised),
        data.n,
        note=f"{np.mean(W < 0):.0%} of the entries of W are negative",
    )


@theorem(
    "lle-bilaplacian",
    "LLE's operator is ¼s² times the square of the Laplacian, s = Σ_j w_ij‖x_i − x_j‖²",
    condition="a fine grid on a closed curve, in the limit: the error is of the second order in its step",
    source="S3 §4.6; Belkin & Niyogi 2003, whose ½ is for another unit of L",
    order=2.0,
)
def lle_is_a_squared_laplacian(data: Data) -> Measured:
    """Use circles of 100, 200 and 400 points with two neighbours; the eigenfunctions are sines and cosines."""
    errors = [_against_fourth_derivative(m) for m in (100, 200, 400)]
    order = float(np.log2(errors[1] / errors[2]))
    return Measured(
        f"error of order {order:.2f} in the step",
        relative=errors[-1],
        note=f"on circles, not on the data: errors {', '.join(f'{e:.1e}' for e in errors)} at halved steps",
        order=order,
    )


def _against_fourth_derivative(m: int) -> float:
    """Return the largest relative error of M f as ¼h⁴ f'''' for the first sines and cosines on a circle of m points."""
    t = 2 * np.pi * np.arange(m) / m
    circle = np.c_[np.cos(t), np.sin(t)]
    M = reconstruction(LLE(2, n_neighbors=2, reg=1e-12).fit(circle).weights_).to_dense()
    h = 2 * np.pi / m
    waves = {j: np.c_[np.cos(j * t), np.sin(j * t)] for j in (1, 2, 3)}
    return max(relative(M @ f, h**4 / 4 * j**4 * f) for j, f in waves.items())
