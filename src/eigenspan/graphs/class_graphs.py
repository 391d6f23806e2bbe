"""The graphs that class codes define; a negative code is a point without a class."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from .._checks import check_parameter
from .._diagnostics import note, stage
from .._parameters import Count
from .._types import Array, Index, Matrix
from ..errors import GraphError, LabelError, LabelWarning, warn
from ..numerics.nearest.engines import choose
from ..numerics.nearest.exact import cost
from ..numerics.nearest.neighbour_lists import canonical
from .neighbours.graph import NeighbourGraph


def class_codes(codes: ArrayLike) -> Index:
    """Return class codes 0..c−1, −1 for rows without a label, as an array; raise LabelError for labels that are no codes."""
    found = np.asarray(codes)
    if found.ndim != 1 or found.dtype.kind not in "iu" or found.min(initial=0) < -1 or not np.any(found >= 0):
        raise LabelError(
            f"Classes must be codes: one whole number for every row, 0..c−1, or −1 without a label, at least one of them labelled; got "
            f"{codes!r:.60}. Pass np.unique(y, return_inverse=True)[1]."
        )
    return found.astype(np.intp, copy=False)


def class_indicator(codes: Index) -> sp.csr_array:
    """Return the n×c matrix G with ``G Gᵀ = H_class = ⊕ 11ᵀ/n_k`` [S0, eq. 37]; rows of unlabelled points are empty."""
    counts = np.bincount(codes[codes >= 0])
    rows = np.flatnonzero(codes >= 0)
    return sp.csr_array((1.0 / np.sqrt(counts[codes[rows]]), (rows, codes[rows])), shape=(codes.size, counts.size))


def slice_edges(y: Array, n_slices: int) -> Array:
    """Return the lower edges of all slices of a continuous response but the first, for nearly equal counts without splitting ties.

    If there are no more distinct values than slices, each value has its own slice. No slice is empty.
    """
    return edges_among(np.unique(y), y.size, n_slices, lambda ranks: np.sort(y)[ranks])


def edges_among(levels: Array, m: int, n_slices: int, ranked: Callable[[Index], Array]) -> Array:
    """Return the edges from the smallest distinct values (more than n_slices of them if there are as many).

    `ranked` returns the values with given ranks, counted from zero, among all m.
    """
    if levels.size <= n_slices:
        return levels[1:]
    edges = ranked(np.ceil((m - 1) * np.linspace(0, 1, n_slices + 1)[1:-1]).astype(np.intp))
    return np.unique(edges[edges > levels[0]])


def slices(y: Array, edges: Array) -> Index:
    """Return the slice codes 0..h−1 of a continuous response."""
    return np.searchsorted(edges, y, side="right")


def class_pairs(codes: Index) -> sp.csr_array:
    """Return a sparse matrix with ones for all ordered pairs of different points in the same class."""
    G = class_indicator(codes)
    P = sp.csr_array((G @ G.T) > 0).astype(np.float64)
    P.setdiag(0)
    P.eliminate_zeros()
    return P


def warn_of_single_labels(codes: Index) -> None:
    """Warn about classes with a single labelled point, for methods that need pairs of points within each class."""
    counts = np.bincount(codes[codes >= 0])
    if np.any(counts == 1):
        warn(
            f"{np.sum(counts == 1)} of {counts.size} classes have one labelled sample only, and so no pair of neighbours within the "
            "class: nothing holds them together, and their spread is taken from the other classes. Label at least two samples of each, or "
            "use MMC or SDA, which pool the scatter of all classes.",
            LabelWarning,
        )


def allies(points: Matrix, codes: Index, k: int, n_jobs: int | None = None) -> NeighbourGraph:
    """Return the graph of every labelled point and its k nearest points of the same class (all points of a smaller class).

    Classes with a single point are reported in a warning.
    """
    check_parameter("n_neighbors", k, Count, GraphError)
    warn_of_single_labels(codes)
    members = [np.flatnonzero(codes == c) for c in range(codes.max() + 1)]
    with stage("neighbours"):
        return _nearest(points, [(rows, rows) for rows in members], k, n_jobs)


def rivals(points: Matrix, codes: Index, k: int, n_jobs: int | None = None) -> NeighbourGraph:
    """Return the graph of every labelled point and its k nearest points of other classes. Cost O(n²D) at most."""
    check_parameter("n_rivals", k, Count, GraphError)
    sides = [(np.flatnonzero(codes == c), np.flatnonzero((codes >= 0) & (codes != c))) for c in range(codes.max() + 1)]
    with stage("rivals"):
        return _nearest(points, sides, k, n_jobs)


def _nearest(points: Matrix, searches: list[tuple[Index, Index]], k: int, n_jobs: int | None) -> NeighbourGraph:
    """Return the graph of the points of each first set and their k nearest in the second, excluding the point itself."""
    work = sum(cost(rows.size, among.size, points.shape[1]) for rows, among in searches)
    found: list[tuple[Array, Index, Index]] = []
    for rows, among in searches:
        wanted = min(k, among.size - (among is rows))
        if wanted < 1 or not rows.size:
            continue
        engine = choose(points[among], "euclidean", "auto", n_jobs, work)
        note(search=engine.name)
        distances, indices = engine.near(None if among is rows else points[rows], wanted)
        found.append((distances.ravel(), np.repeat(rows, wanted), among[indices.ravel()]))
    n = points.shape[0]
    if not found:
        return NeighbourGraph(sp.csr_array((n, n)))
    values, ends, others = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return NeighbourGraph(canonical(values, ends, others, n))
