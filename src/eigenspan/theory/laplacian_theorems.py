"""Theorems about the spectrum of the Laplacian. The source assumes weights 0 and 1 and the normalised Laplacian; most hold in general."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import minimum_spanning_tree

from ..graphs import KNN, components
from ..methods.laplacian.spectral_clustering import SpectralClustering
from ..numerics.eigen import dense
from ..problem.forms import laplacian
from .graph_theorems import ROWS
from .measure import relative
from .theorem import Measured, UnmetError, subject
from .theorem_data import Data

Array = NDArray[np.float64]

theorem = subject("The Laplacian's spectrum")


def normalised(W: Array) -> Array:
    """Return ``D^(−½)(D − W)D^(−½)``, with zero rows for points without edges."""
    d = W.sum(axis=1)
    s = np.divide(1.0, np.sqrt(d), out=np.zeros_like(d), where=d > 0)
    return s[:, None] * (np.diag(d) - W) * s


def _spectrum(W: Array) -> Array:
    return dense.eigenvalues(normalised(W))


@theorem(
    "quadratic-form",
    "zᵀLz = ½ Σ W_ij (z_i − z_j)², so that L is positive semidefinite, and L1 = 0",
    condition="nonnegative symmetric weights",
    source="S3 §4.5",
)
def quadratic_form(data: Data) -> Measured:
    data = data.take(ROWS)
    Z = np.c_[data.centred / data.scale, data.rng().standard_normal((data.n, 3))]
    L = laplacian(data.W)
    i, j = np.nonzero(np.triu(data.W, 1))
    expected = np.einsum("e,ed,ed->d", data.W[i, j], Z[i] - Z[j], Z[i] - Z[j])
    values = dense.eigenvalues(data.L)
    errors = (
        relative(np.diag(L.quadratic(Z)), expected),
        max(0.0, -values[0]) / values[-1],
        float(np.abs(data.L.sum(axis=1)).max()) / values[-1],
    )
    return Measured(f"smallest weight {data.W[i, j].min():.2g}", relative=max(errors), rows=data.n)


@theorem(
    "components",
    "the Laplacian has the eigenvalue 0 once for every component of the graph, and its spectrum is the union of those of the components",
    condition="any graph; checked on a disconnected one",
    source="S3 §4.5",
)
def zeros_are_components(data: Data) -> Measured:
    """Use a graph with too few neighbours to be connected, or the separate graphs of two halves of the rows."""
    data = data.take(200)
    k = max((k for k in (1, 2, 3, 5) if k < data.n and components(KNN(k).build(data.X))[0] > 1), default=0)
    W = (KNN(max(k, 1)).build(data.X).undirected().toarray() > 0).astype(float)
    if not k:
        half = np.arange(data.n) < data.n // 2
        W[np.ix_(half, ~half)] = W[np.ix_(~half, half)] = 0.0
    count, labels = sp.csgraph.connected_components(W, directed=False)
    values = _spectrum(W)
    parts = np.sort(np.concatenate([_spectrum(W[np.ix_(labels == c, labels == c)]) for c in range(count)]))
    zeros = int(np.sum(values < 1e-10))
    if zeros != count and values[count] < 1e-8:
        raise UnmetError(f"{count} components, but the next eigenvalue is {values[count]:.0e}")
    return Measured(
        f"{count} components, {zeros} zeros, next {values[min(count, data.n - 1)]:.0e}",
        relative=max(relative(values, parts), float(zeros != count)),
        rows=data.n,
    )


@theorem(
    "bipartite",
    "eigenvalues of the normalised Laplacian are at most 2, and 2 is an eigenvalue if and only if a component of the graph is bipartite",
    condition="any graph; checked on the neighbour graph and on its minimum spanning tree, which is bipartite",
    source="Chung 1997, lemma 1.7",
)
def at_most_two(data: Data) -> Measured:
    data = data.take(ROWS)
    tree = minimum_spanning_tree(sp.csr_array(np.where(data.W > 0, 2.0 - data.W, 0.0))).toarray()
    tree = tree + tree.T
    whole, tall = float(_spectrum(data.W)[-1]), float(_spectrum(tree)[-1])
    odd = _odd_cycle(data.W)
    errors = (max(0.0, whole - 2), abs(tall - 2), float(odd == (whole > 2 - 1e-9)))
    return Measured(
        f"the graph {'has an odd cycle' if odd else 'is bipartite'}, largest eigenvalue {whole:.4g}; its tree {tall:.4g}",
        relative=max(errors),
        rows=data.n,
    )


def _odd_cycle(W: Array) -> bool:
    """Return True if breadth-first colouring of a connected graph with two colours fails."""
    colour = np.zeros(len(W))
    colour[0], front = 1, np.array([0])
    while front.size:
        reached = np.flatnonzero((W[front] > 0).any(axis=0) & (colour == 0))
        colour[reached] = -colour[front[0]]
        front = reached
    return bool(np.any((W > 0) & (colour[:, None] == colour)))


@theorem(
    "complete-graph",
    "the normalised Laplacian of a complete graph has a single 0, and n/(n − 1) for all other eigenvalues",
    condition="all weights one",
    source="S3 §4.5",
)
def complete_graph(data: Data) -> Measured:
    n = min(data.n, ROWS)
    values = _spectrum(np.ones((n, n)) - np.eye(n))
    expected = np.r_[0.0, np.full(n - 1, n / (n - 1))]
    return Measured(f"n = {n}", relative=relative(values, expected), rows=n)


@theorem(
    "second-eigenvalue",
    "the second eigenvalue of the normalised Laplacian is at most 1 and that of L at most n/(n − 1) times the least degree",
    condition="the first for graphs that are not complete; the second for all",
    source="S3 §4.5; Fiedler 1973",
)
def second_eigenvalue(data: Data) -> Measured:
    """Use the neighbour graph, or a chain through the rows if that graph is complete."""
    data = data.take(ROWS)
    W = data.W
    if np.all(W[~np.eye(data.n, dtype=bool)] > 0):
        W = np.diag(np.ones(data.n - 1), 1)
        W = W + W.T
    if data.n < 3:
        raise UnmetError(f"{data.n} rows: the only connected graph is complete")
    second, plain = _spectrum(W)[1], dense.eigenvalues(np.diag(W.sum(axis=1)) - W)[1]
    bound = data.n / (data.n - 1) * W.sum(axis=1).min()
    return Measured(
        f"{np.mean(W[~np.eye(data.n, dtype=bool)] == 0):.0%} of the pairs have no edge",
        relative=max(0.0, second - 1, (plain - bound) / bound),
        rows=data.n,
        note=f"{second:.2g} (at most 1), and {plain:.2g} (at most {bound:.2g})",
    )


@theorem(
    "trace",
    "the eigenvalues of the normalised Laplacian sum to the number of points that have a neighbour",
    condition="any graph",
    source="S3 §4.5",
)
def eigenvalues_sum_to_points(data: Data) -> Measured:
    """Use the neighbour graph with a tenth of the points isolated."""
    data = data.take(ROWS)
    W = data.W.copy()
    W[::10] = W[:, ::10] = 0.0
    joined = int(np.sum(W.sum(axis=1) > 0))
    return Measured(
        f"{joined} of {data.n} points have a neighbour",
        relative=abs(_spectrum(W).sum() / max(joined, 1) - (joined > 0)),
        rows=data.n,
    )


@theorem(
    "largest-eigenvalue",
    "the largest eigenvalue of L is at least n/(n − 1) times the largest degree, and at most the largest sum of two neighbours' degrees",
    condition="nonnegative symmetric weights",
    source="Fiedler 1973; Anderson & Morley 1985",
)
def largest_eigenvalue(data: Data) -> Measured:
    data = data.take(ROWS)
    d = data.W.sum(axis=1)
    i, j = np.nonzero(data.W)
    least, most = data.n / (data.n - 1) * d.max(), float((d[i] + d[j]).max())
    found = float(dense.eigenvalues(data.L)[-1])
    return Measured(
        f"{i.size // 2} edges, degrees up to {d.max():.3g}",
        relative=max(0.0, (least - found) / least, (found - most) / most),
        rows=data.n,
        note=f"{found:.4g}, between {least:.4g} and {most:.4g}",
    )


@theorem(
    "interlacing",
    "adding an edge decreases no eigenvalue of L, and increases none beyond the next larger one",
    condition="any graph, any weight of the edge",
    source="Fiedler 1973",
)
def edges_interlace(data: Data) -> Measured:
    """Add an edge between the two rows that are farthest apart."""
    data = data.take(ROWS)
    before = dense.eigenvalues(data.L)
    i, j = np.unravel_index(data.distances.argmax(), data.distances.shape)
    e = np.zeros(data.n)
    e[i], e[j] = 1.0, -1.0
    after = dense.eigenvalues(data.L + np.outer(e, e))
    broken = max(float((before - after).max()), float((after[:-1] - before[1:]).max(initial=0.0)), 0.0)
    moved = float((after - before).sum())
    return Measured(f"the eigenvalues increase by {moved:.3g} in total", relative=broken / after[-1], rows=data.n)


@theorem(
    "two-way-cut",
    "the normalised cut of two clusters is yᵀLy / yᵀDy, and yᵀDe = 0, for y = (e + z) − b(e − z), z = ±1 and b the ratio of their degrees",
    condition="both clusters have an edge",
    source="S3 eq. 4.18, which has a plus for the minus",
)
def two_way_cut(data: Data) -> Measured:
    """Use a random partition, and one by the median of the first column."""
    data = data.take(ROWS)
    d, errors, values = data.W.sum(axis=1), [0.0], []
    for side in (data.rng().random(data.n) < 0.3, data.X[:, 0] > np.median(data.X[:, 0])):
        if side.all() or not side.any():
            continue
        z = np.where(side, 1.0, -1.0)
        y = (1 + z) - d[side].sum() / d[~side].sum() * (1 - z)
        values.append(data.W[np.ix_(side, ~side)].sum() * (1 / d[side].sum() + 1 / d[~side].sum()))
        errors += [abs(d @ y) / (d @ np.abs(y)), abs(y @ data.L @ y / (y @ (d * y)) - values[-1]) / values[-1]]
    if not values:
        raise UnmetError("one side of each partition is empty")
    return Measured(f"cuts of {' and '.join(f'{value:.3g}' for value in values)}", relative=max(errors), rows=data.n)


@theorem(
    "cheeger",
    "the least normalised cut is at least λ₂, and the best threshold of its eigenvector cuts at most √(8 λ₂)",
    condition="a connected graph",
    source="Chung 1997, theorem 2.2",
)
def least_cut(data: Data) -> Measured:
    data = data.take(ROWS)
    second = float(_spectrum(data.W)[1])
    found = SpectralClustering(2, assign="threshold", graph=data.graph, weights=data.heat).fit(data.X).cut_
    most = float(np.sqrt(8 * second))
    return Measured(
        f"λ₂ = {second:.3g}",
        relative=max(0.0, (second - found) / second, (found - most) / most),
        rows=data.n,
        note=f"the cut is {found:.3g}, between {second:.3g} and {most:.3g}",
    )
