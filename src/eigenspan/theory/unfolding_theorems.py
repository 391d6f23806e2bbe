"""Theorems about maximum variance unfolding."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..methods.distances.isomap import Isomap
from ..methods.unfolding import MVU
from ..methods.variance.kernel_pca import PCA
from ..numerics.eigen import dense
from .measure import angle, principal, products, relative, squares
from .theorem import Measured, UnmetError, subject
from .theorem_data import Data

Array = NDArray[np.float64]

theorem = subject("Unfolding")

#: Number of rows: all their pairs give 435 constraints.
_ROWS = 30
#: Tolerance of the solver for the gap between the bounds.
_TIGHT = 1e-9


@theorem(
    "mvu-all-pairs",
    "maximum variance unfolding equals PCA",
    condition="the distances of all pairs are constraints, so only one Gram matrix is feasible",
    source="S4 eq. 46",
)
def mvu_of_all_pairs_is_pca(data: Data) -> Measured:
    data = data.take(_ROWS)
    values, _, gap = principal(data.X)
    mvu = MVU(values.size, n_neighbors=data.n - 1, tol=_TIGHT, method="dense").fit(data.X)
    pca = PCA(values.size).fit(data.X)
    return Measured(
        f"{data.n * (data.n - 1) // 2} pairs, bounds {mvu.certificate_.gap:.0e} apart, {gap}",
        angle(mvu.embedding_, pca.embedding_),
        relative(products(mvu.embedding_full_), products(data.centred)),
        data.n,
    )


def _unfolded(data: Data) -> tuple[Data, MVU]:
    """Return a sample of the rows and its MVU with four neighbours per row, or more if the graph is disconnected."""
    data = Data(data.take(_ROWS).X, k=4, seed=data.seed)
    return data, MVU(1, graph=data.graph, tol=1e-6, method="dense").fit(data.X)


@theorem(
    "mvu-certificate",
    "no edge of an unfolding is longer than its distance, edges with positive weight have that length, and the weights prove the bound",
    condition="distances bounded from above, a connected graph",
    source="S4 eq. 47; Sun, Boyd, Xiao & Diaconis 2006",
)
def strings_and_tensions(data: Data) -> Measured:
    """Recompute the bounds from the weights: Σw(d − v) ≤ upper − variance, 0 at the optimum."""
    data, mvu = _unfolded(data)
    c, F = mvu.certificate_, mvu.embedding_full_
    i, j = c.edges.T
    v, d = np.sum((F[i] - F[j]) ** 2, axis=1), c.squared_distances
    W = np.zeros((data.n, data.n))
    np.add.at(W, (i, j), c.weights)
    W = W + W.T
    least = dense.eigenvalues(np.diag(W.sum(axis=1)) - W)[1]
    upper, variance = float(c.weights @ d / least), float(np.sum((F - F.mean(axis=0)) ** 2))
    slack = float(c.weights @ (d - v) / least)
    broken = (np.max(v / d) - 1, (variance - upper) / upper, (slack - (upper - variance)) / upper, -slack / upper)
    errors = (relative(c.upper, upper), max(0.0, float(max(broken))))
    return Measured(
        f"{len(d)} edges, {int(np.sum(c.weights > 1e-6 * c.weights.max()))} with positive weight",
        relative=max(errors),
        rows=data.n,
        note=f"relative gap of the bounds {(upper - variance) / upper:.0e}, weighted slack of the edges {slack / upper:.0e}",
    )


@theorem(
    "mvu-bounded",
    "the variance of an unfolding is at most that of the shortest paths, (1/2n) Σ path², and that at most n³τ²/2, τ the longest edge",
    condition="a connected graph",
    source="S4 lemma 2",
)
def variance_is_bounded(data: Data) -> Measured:
    data, mvu = _unfolded(data)
    G = data.graph.undirected().toarray()
    paths = np.where(G > 0, G, np.inf)
    np.fill_diagonal(paths, 0.0)
    for k in range(data.n):
        paths = np.minimum(paths, paths[:, [k]] + paths[k])
    S = squares(mvu.embedding_full_)
    n = data.n
    variance, nearer = S.sum() / (2 * n), np.sum(paths**2) / (2 * n)
    bound = n**3 * G.max() ** 2 / 2
    if not np.isfinite(nearer):
        raise UnmetError("the graph is disconnected")
    broken = (variance / nearer - 1, nearer / bound - 1, float(np.max(np.sqrt(S) - paths)) / paths.max())
    return Measured(
        f"connected, {int(np.sum(G > 0)) // 2} edges",
        relative=max(0.0, float(max(broken))),
        rows=n,
        note=f"variance {variance:.3g}, shortest paths {nearer:.3g}, lemma {bound:.3g}",
    )


@theorem(
    "mvu-shortest-paths",
    "maximum variance unfolding equals Isomap: all distances are those of the shortest paths",
    condition="the graph is a chain, whose shortest paths are distances on a line",
    source="S4 §8.4; Paprotny & Garcke 2012",
)
def unfolded_chain_is_isomap(data: Data) -> Measured:
    """Check that distances reach the upper bound of the shortest paths (`variance_is_bounded`) on a chain."""
    data = data.take(_ROWS)
    steps = np.linalg.norm(np.diff(data.X, axis=0), axis=1)
    if not np.all(steps > 0):
        raise UnmetError("successive rows coincide")
    i = np.arange(data.n - 1)
    ends = np.concatenate([i, i + 1]), np.concatenate([i + 1, i])
    chain = sp.csr_array((np.tile(steps, 2), ends), shape=(data.n, data.n))
    mvu = MVU(1, graph=chain, tol=_TIGHT, method="dense").fit(data.X)
    paths = np.abs(np.subtract.outer(along := np.append(0.0, np.cumsum(steps)), along))
    isomap = Isomap(1, graph=chain).fit(data.X)
    return Measured(
        f"a chain of {data.n} points, bounds {mvu.certificate_.gap:.0e} apart",
        angle(mvu.embedding_, isomap.embedding_),
        relative(np.sqrt(squares(mvu.embedding_full_)), paths),
        data.n,
    )
