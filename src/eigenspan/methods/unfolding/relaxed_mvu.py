"""Maximum variance unfolding with less to respect: without short circuits, and up to a local scale."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Real
from typing import Annotated, Literal

import numpy as np
import scipy.sparse as sp

from ..._compat import Interval
from ..._diagnostics import note, stage
from ..._parameters import Positive, attribute
from ..._types import Array, Index, Matrix
from ...data import Sample
from ...errors import DisconnectedWarning, warn
from ...graphs import NeighbourGraph, Policy, conformal_distances
from ...numerics.nearest.neighbour_lists import canonical
from ...numerics.paths.csgraph import minimum_spanning_tree
from ...numerics.sdp import Program
from ..base.graph_embedding import Back, Reduction
from ..base.table import known_as, method
from .task import Held, Task, Whole
from .unfolding_base import Unfolding

#: Number of coordinates in a block.
_BLOCK = 2**22


@method("unfolding", "max tr K", "rescaled distances of near neighbours", "as MVU", "S4 §8.2")
@known_as(
    "Relaxed maximum variance unfolding",
    "relaxed MVU; conformal MVU; rescaled distances; rescaling local distances; short circuits in MVU; "
    "short-circuit edges",
)
class RelaxedMVU(Unfolding):
    """Maximum variance unfolding without short circuits, and up to a local scale.

    .. math:: \\max_{K \\succeq 0,\\ K1 = 0} \\operatorname{tr} K \\quad\\text{s.t.}\\quad K_{ii} - 2K_{ij} + K_{jj} \\le
              \\frac{\\lVert x_i - x_j \\rVert^2}{s_i s_j} \\ \\text{ for neighbours that are left}

    [S4, §8.2]. An edge whose middle is far from the neighbours of its ends crosses empty space. Its deviation [S4, eq. 80],

    .. math:: d_{ij} = \\frac{1}{|N_i \\cup N_j|} \\sum_{l \\in N_i \\cup N_j} \\lVert x_l - (x_i + x_j)/2 \\rVert^2,

    is large, and such edges are pruned first; so are edges where points are few. It finds bridges over empty space, but where noisy sheets
    nearly touch it is blind: of the short circuits of a Swiss roll with noise 1 (n = 5000, k = 12) 12 per cent are among the edges
    of largest deviation. With `conformal`, distances are divided by √(s_i s_j), s_i the mean distance from i to those of its
    k nearest neighbours that are left [S4, §8.2.2], as in conformal Isomap (S4's eq. 81 multiplies): a sheet sampled evenly and then
    blown up here and shrunk there becomes even again. In the terms of `Program`: C = I, T = I, b the squared distances of the edges left.

    Where pruning would cut the graph, the least deviating edges that hold it together are kept, with a warning, or it is done as
    `disconnected` says. An edge to a far point counts among the neighbours of its ends, and all their edges deviate: these points are left
    with one.

    Cost: that of `MVU`, and O(nk²D) for the deviations.

    Parameters
    ----------
    prune
        Share of the edges to prune, those of the largest deviation. "auto" prunes edges that lie beyond the knee of the
        sorted deviations, are outliers among their logarithms and exceed four times their median: often none. None prunes
        nothing. ``plotting.plot_deviations`` draws the deviations.
    threshold
        Prune edges of a larger deviation than this, whatever the value of `prune`. None sets no threshold.
    conformal
        Divide distances by √(s_i s_j). False keeps them, and with ``prune=None`` this is `MVU`.

    Attributes
    ----------
    deviations_ : ndarray of shape (m,)
        Deviations of all edges, smallest first.
    threshold_ : float
        Edges of a larger deviation were pruned; infinite if none were.
    pruned_ : ndarray of shape (q, 2)
        The pairs of rows that pruned edges joined.

    Examples
    --------
    >>> from sklearn.datasets import make_swiss_roll
    >>> from eigenspan import RelaxedMVU
    >>> X, t = make_swiss_roll(300, random_state=0)
    >>> relaxed = RelaxedMVU(2, prune=0.02).fit(X)
    >>> len(relaxed.pruned_), len(relaxed.deviations_)
    (28, 1412)

    References
    ----------
    Hou, Jiao, Wu & Yi (2008), Relaxed maximum-variance unfolding.
    """

    prune: Annotated[float, Interval(Real, 0, 1, closed="left")] | Literal["auto"] | None = "auto"
    threshold: Positive | None = None
    conformal: bool = True

    deviations_: Array = attribute()
    threshold_: float = attribute()
    pruned_: Index = attribute()

    def _reductions(self) -> tuple[Reduction, ...]:
        sampled, neighbours, *others = super()._reductions()
        return (sampled, neighbours, Pruned(self.prune, self.threshold, self.disconnected), *others)

    def _task(self, graph: NeighbourGraph, sample: Sample) -> Task:
        held = Held.of(conformal_distances(graph)[0] if self.conformal else graph.undirected())
        program = Program.of_pairs(held.n, held.pairs, held.bounds, masses=held.groups.masses)
        return Whole(held=held, program=program, incumbent=sample.x.values[held.groups.first])


@dataclass(frozen=True)
class Pruned:
    """Removes edges of large deviation from the graph; see the parameters of `RelaxedMVU`."""

    prune: float | Literal["auto"] | None
    threshold: float | None
    disconnected: Policy

    def take(self, sample: Sample) -> tuple[Sample, Back]:
        X = sample.x.coordinates("RelaxedMVU measures how far points are from the middle of an edge", "use MVU")
        graph = sample.graph
        with stage("deviations"):
            pairs, deviations = edge_deviations(graph, X)
        ordered = np.sort(deviations)
        limit = largest_kept(ordered, self.prune) if self.threshold is None else float(self.threshold)
        over = np.flatnonzero(deviations > limit)
        if self.disconnected == "connect":
            over = without_bridges(over, graph.n, pairs, deviations, limit)
        note(pruned_edges=over.size)
        found = {"deviations_": ordered, "threshold_": limit, "pruned_": sample.places[pairs[over]]}
        return replace(sample, graph=without_edges(graph, pairs[over])), lambda fitted: fitted.having(**found)


def largest_kept(deviations: Array, prune: float | Literal["auto"] | None) -> float:
    """Return the deviation above which edges are pruned; `deviations` are sorted."""
    if prune is None or prune == 0:
        return np.inf
    if prune == "auto":
        return knee(deviations)
    kept = deviations.size - round(prune * deviations.size)
    return float(deviations[max(kept, 1) - 1]) if kept < deviations.size else np.inf


def without_bridges(over: Index, n: int, pairs: Index, deviations: Array, limit: float) -> Index:
    """Return the edges to prune, without those of least deviation that keep the graph connected."""
    ranks = np.empty(len(pairs))
    ranks[np.argsort(deviations, kind="stable")] = np.arange(1, len(pairs) + 1)
    tree = minimum_spanning_tree(sp.csr_array((ranks, pairs.T), shape=(n, n))).data
    spared = np.isin(ranks[over], tree)
    count = int(spared.sum())
    if count:
        warn(
            f"Pruning the {over.size} edges of a deviation above {limit:.4g} would cut the neighbour graph into {count} more "
            f"components. The {count} of them that deviate least were kept to connect it, and the layout of these components rests on "
            'them alone. Raise threshold= or lower prune=; disconnected="largest" embeds one component only.',
            DisconnectedWarning,
        )
    return over[~spared]


def edge_deviations(graph: NeighbourGraph, points: Matrix) -> tuple[Index, Array]:
    """Return the edges (m, 2) of a graph, i < j, and their deviations: mean squared distance of both ends' neighbours from the middle."""
    i, j = sp.triu(graph.undirected(), 1).coords
    D = graph.lists()
    lists = sp.csr_array((np.ones(D.nnz, dtype=np.int8), D.indices, D.indptr), shape=D.shape)
    out = np.empty(i.size)
    step = max(1, int(_BLOCK * D.shape[0] / (2 * max(D.nnz, 1) * points.shape[1])))
    for a in range(0, i.size, step):
        here, there = i[a : a + step], j[a : a + step]
        union = sp.csr_array(lists[here] + lists[there])
        middle = 0.5 * (points[here] + points[there])
        counts = np.diff(union.indptr)
        away = points[union.indices] - np.repeat(middle, counts, axis=0)
        out[a : a + step] = np.add.reduceat(np.einsum("ld,ld->l", away, away), union.indptr[:-1]) / counts
    return np.column_stack([i, j]).astype(np.intp), out


def without_edges(graph: NeighbourGraph, pairs: Index) -> NeighbourGraph:
    """Return the graph without some edges, in either direction."""
    C, n = graph.distances.tocoo(), graph.n
    lost = np.concatenate([pairs[:, 0] * n + pairs[:, 1], pairs[:, 1] * n + pairs[:, 0]])
    kept = ~np.isin(C.row.astype(np.intp) * n + C.col, lost)
    return replace(graph, distances=canonical(C.data[kept], C.row[kept], C.col[kept], n))


def knee(deviations: Array) -> float:
    """Return the knee of sorted values: the value farthest below the line from first to last, or the limit of outliers if that is larger.

    Outliers lie beyond the outer fence of the logarithms and beyond four medians: at a rim deviations are twice as large.
    """
    low, high = float(deviations[0]), float(deviations[-1])
    if high <= low:
        return np.inf
    below = np.linspace(0, 1, deviations.size) - (deviations - low) / (high - low)
    first, median, third = np.quantile(deviations, [0.25, 0.5, 0.75])
    if first <= 1e-9 * third:  # equal points: most edges have length zero
        return np.inf
    fence = third * (third / first) ** 1.5
    limit = float(max(deviations[below.argmax()], fence, 4.0 * median))
    return limit if limit < high else np.inf
