"""Maximum variance unfolding with more to respect, or less: equal actions, short circuits, local scales."""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from .._compat import Interval, StrOptions
from .._csgraph import minimum_spanning_tree
from .._diagnostics import note, stage
from ..core import Fitted
from ..errors import DimensionError, DisconnectedWarning, InputError, warn
from ..graphs import NeighbourGraph, conformal_distances
from ..graphs.contract import contract
from ..graphs.lists import canonical
from ..input import Input, Sample
from ..input.y import ActionLabels
from ..solvers.sdp import Program, Solution
from .docs import documented
from .neighbourhood import in_one_piece
from .parameters import parameters
from .unfolding import Unfolding
from .unfolding_certificate import UnfoldingCertificate
from .unfolding_edges import Held

Array = NDArray[np.float64]
Index = NDArray[np.intp]

#: Coordinates gathered at a time.
_BLOCK = 2**22


@documented
@parameters(pairs="neighbours")
class ActionRespectingEmbedding(Unfolding):
    """Maximum variance unfolding of a sequence, in which equal actions move all points alike.

    .. math:: \\max_{K \\succeq 0,\\ K1 = 0} \\operatorname{tr} K \\quad\\text{s.t.}\\quad v_{ij} \\le \\lVert x_i - x_j \\rVert^2
              \\ \\text{ for neighbours}, \\qquad v_{ij} = v_{i+1,j+1} \\ \\text{ where } a_i = a_j

    [S4, eqs. 78–79], v_ij = K_ii − 2K_ij + K_jj, and the action a_i leads from row i to row i + 1. An action is then a motion without
    stretch of the embedding: a step or a turn looks the same wherever it is made. In the terms of `Program`: C = I; T has the unit rows of
    the neighbours with b their squared distances, and rows of one +1 and one −1 with b = 0.

    Rows that coincide and have the same action must have coinciding successors too, and are merged.

    Cost: dense, O(m³) a step for m neighbours and equal actions, and O(m²) memory: a few hundred points.

    Parameters
    ----------
    $n_components
    pairs : {"neighbours", "all"}, default="neighbours"
        Compare rows of equal action where they are neighbours, or wherever they are [S4, eq. 79], which is of the order of n² equations.
    $unfolding_neighbors
    $graph
    $unfolding_parameters

    Attributes
    ----------
    classes_ : ndarray
        The actions.
    action_pairs_ : ndarray of shape (m, 2)
        Rows (i, j) of equal action, whose distance is that of rows (i + 1, j + 1).
    $unfolding_attributes
    $graph_attribute
    $spectral_attributes

    Examples
    --------
    >>> import numpy as np
    >>> from eigenspan import ActionRespectingEmbedding
    >>> actions = np.repeat([0, 1, 0, 1], 10)  # forwards and backwards along an arc
    >>> t = np.append(0.0, np.cumsum(np.where(actions == 0, 0.1, -0.1))) + np.linspace(0, 0.05, 41)
    >>> are = ActionRespectingEmbedding(1, n_neighbors=4).fit(np.column_stack([np.cos(t), np.sin(t)]), actions)
    >>> are.certificate_.gap < 1e-3
    True

    References
    ----------
    Bowling, Ghodsi & Wilkinson (2005), Action respecting embedding.
    """

    pairs: str

    _input: ClassVar[Input] = replace(Unfolding._input, y=ActionLabels())
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **Unfolding._parameter_constraints,
        "pairs": [StrOptions({"neighbours", "all"})],
    }

    def fit(self, X: Any, y: Any = None) -> Any:
        """Unfold a sequence.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows in the order of time.
        y : array-like of shape (n_samples - 1,) or (n_samples,)
            Actions: y[i] leads from row i to row i + 1, so that a last one leads nowhere and is ignored. None and NaN stand for no known
            action, as between the end of one sequence and the beginning of the next.

        Returns
        -------
        self
        """
        return super().fit(X, y)

    def _landmark_rows(self, sample: Sample) -> None:
        if self.landmarks is not None:
            raise InputError(
                "ActionRespectingEmbedding follows all rows from one to the next: it has no use for landmarks=."
            )

    def _embed(self, graph: NeighbourGraph, sample: Sample) -> Fitted:
        return super()._embed(graph, sample).having(action_pairs_=self._equal_actions(graph, sample))

    def _equal_actions(self, graph: NeighbourGraph, sample: Sample) -> Index:
        """Pairs of rows of X that equal actions leave."""
        lengths, rows, codes = graph.undirected(), sample.places, sample.y.codes
        if self.pairs == "all":
            i, j = np.triu_indices(graph.n, 1)
        else:
            i, j = sp.triu(lengths, 1).coords
        i, j = rows[i], rows[j]
        there = np.zeros(codes.size + 1, dtype=bool)
        there[rows] = True
        last = codes.size  # its action leads nowhere
        i, j = (part[(i < last) & (j < last)] for part in (i, j))
        same = (codes[i] == codes[j]) & (codes[i] >= 0) & there[i + 1] & there[j + 1]
        return np.column_stack([i[same], j[same]]).astype(np.intp)

    def _edges(self, graph: NeighbourGraph, sample: Sample) -> sp.csr_array:
        before, after = self._compared(graph, sample)
        note(equal_actions=len(before))
        return merged(graph.undirected(), before, after)

    def _compared(self, graph: NeighbourGraph, sample: Sample) -> tuple[Index, Index]:
        """Pairs of nodes before and after equal actions."""
        rows, pairs = sample.places, self._equal_actions(graph, sample)
        node = np.full(rows.max() + 1, -1, dtype=np.intp)
        node[rows] = np.arange(rows.size)
        return node[pairs], node[pairs + 1]

    def _program(self, held: Held) -> Program:
        n, bounds, groups = held.n, held.bounds, held.groups
        if n == 1:
            raise DimensionError(
                "Equal actions on coinciding rows leave a single point: there are no dimensions to show."
            )
        compared = self._compared(held.graph, held.sample)
        pairs, equations = equal_pairs(n, held.pairs, *(groups.labels[part] for part in compared))
        m, q = bounds.size, equations.shape[0]
        if q == 0:
            return Program.of_pairs(n, pairs, bounds, masses=groups.masses)
        # every bound is one: rows that come back to a place have neighbours a thousand times nearer than others
        T = sp.vstack([sp.diags_array(1.0 / bounds, shape=(m, len(pairs))), equations / bounds.mean()], format="csr")
        right = np.repeat([1.0, 0.0], [m, q])
        return Program.of_pairs(n, pairs, right, masses=groups.masses, combine=sp.csr_array(T), equal=right == 0)

    def _certificate(self, solution: Solution, held: Held) -> UnfoldingCertificate:
        bounds, groups = held.bounds, held.groups
        m, T, w, every = bounds.size, solution.program.combine, solution.weights, solution.program.pairs
        if T is None or every is None:
            return super()._certificate(solution, held)
        certificate = super()._certificate(replace(solution, weights=w[:m] / bounds), held)
        E = sp.csr_array(T[m:])
        equal = np.column_stack([E.indices[E.data > 0], E.indices[E.data < 0]])
        return replace(certificate, equal_edges=groups.first[every[equal]], weights_equal=w[m:] / bounds.mean())


def merged(lengths: sp.csr_array, first: Index, second: Index) -> sp.csr_array:
    """The graph with edges of length zero wherever equal distances of `first` and `second` make points coincide."""
    while True:
        labels = contract(lengths)[0].labels
        before, after = (labels[part[:, 0]] == labels[part[:, 1]] for part in (first, second))
        new = np.vstack([first[after & ~before], second[before & ~after]])
        if not len(new):
            return lengths
        C, (i, j) = lengths.tocoo(), new.T
        data = np.concatenate([C.data, np.zeros(2 * i.size)])
        lengths = canonical(data, np.concatenate([C.row, i, j]), np.concatenate([C.col, j, i]), lengths.shape[0])


def equal_pairs(n: int, pairs: Index, first: Index, second: Index) -> tuple[Index, sp.csr_array]:
    """All pairs, those given first, and one row ``v_a − v_b = 0`` for each that equals another; no row follows from the others."""
    keys = [part.min(axis=1) * n + part.max(axis=1) for part in (pairs, first, second)]
    apart = (first[:, 0] != first[:, 1]) & (keys[1] != keys[2])
    extra = np.setdiff1d(np.concatenate([keys[1][apart], keys[2][apart]]), keys[0])
    every = np.concatenate([keys[0], extra])
    order = np.argsort(every)
    a, b = (order[np.searchsorted(every, key[apart], sorter=order)] for key in keys[1:])
    p = every.size
    _, labels = connected_components(sp.csr_array((np.ones(a.size), (a, b)), shape=(p, p)), directed=False)
    head = np.unique(labels, return_index=True)[1][labels]
    others = np.flatnonzero(head != np.arange(p))
    rows, signs = np.tile(np.arange(others.size), 2), np.repeat([1.0, -1.0], others.size)
    equations = sp.csr_array((signs, (rows, np.concatenate([head[others], others]))), shape=(others.size, p))
    return np.column_stack([every // n, every % n]), equations


@documented
@parameters(prune="auto", threshold=None, conformal=True)
class RelaxedMVU(Unfolding):
    """Maximum variance unfolding without short circuits, and up to a local scale.

    .. math:: \\max_{K \\succeq 0,\\ K1 = 0} \\operatorname{tr} K \\quad\\text{s.t.}\\quad K_{ii} - 2K_{ij} + K_{jj} \\le
              \\frac{\\lVert x_i - x_j \\rVert^2}{s_i s_j} \\ \\text{ for neighbours that are left}

    [S4, §8.2]. An edge whose middle is far from the neighbours of its ends crosses empty space. Its deviation [S4, eq. 80],

    .. math:: d_{ij} = \\frac{1}{|N_i \\cup N_j|} \\sum_{l \\in N_i \\cup N_j} \\lVert x_l - (x_i + x_j)/2 \\rVert^2,

    is large, and such edges are pruned first; so are edges where points are few. It finds bridges over empty space, but where noisy sheets
    nearly touch it is blind: of the short circuits of a Swiss roll with noise 1 (n = 5000, k = 12) 12 per cent are among the edges
    of largest deviation. With `conformal`, distances are divided by √(s_i s_j), s_i the mean distance from i to its
    neighbours, as in conformal Isomap (S4's eq. 81 multiplies): a sheet sampled evenly and then blown up here and shrunk there becomes
    even again. In the terms of `Program`: C = I, T = I, b the squared distances of the edges left.

    Where pruning would cut the graph, the least deviating edges that hold it together are kept, with a warning, or it is done as
    `disconnected` says. An edge to a far point counts among the neighbours of its ends, and all their edges deviate: these points are left
    with one.

    Cost: that of `MVU`, and O(nk²D) for the deviations.

    Parameters
    ----------
    $n_components
    prune : float, "auto" or None, default="auto"
        Share of the edges to prune, those of the largest deviation. "auto" prunes what lies beyond the knee of the sorted deviations, is
        an outlier among their logarithms and more than four times their median: often nothing. None prunes nothing.
        ``plotting.plot_deviations`` draws them.
    threshold : float or None, default=None
        Prune edges of a larger deviation than this, whatever `prune` says.
    conformal : bool, default=True
        Divide distances by √(s_i s_j). False keeps them, and with ``prune=None`` this is `MVU`.
    $unfolding_neighbors
    $graph
    $unfolding_parameters

    Attributes
    ----------
    deviations_ : ndarray of shape (m,)
        Deviations of all edges, smallest first.
    threshold_ : float
        Edges of a larger deviation were pruned; infinite where none were.
    pruned_ : ndarray of shape (q, 2)
        The rows that pruned edges had joined.
    $unfolding_attributes
    $graph_attribute
    $spectral_attributes

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
    Hou, Jiao, Zhang & Wu (2008), Relaxed maximum variance unfolding.
    """

    prune: Any
    threshold: float | None
    conformal: bool

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **Unfolding._parameter_constraints,
        "prune": [Interval(Real, 0, 1, closed="left"), StrOptions({"auto"}), None],
        "threshold": [Interval(Real, 0, None, closed="neither"), None],
        "conformal": ["boolean"],
    }

    def _fit_all(self, sample: Sample) -> Fitted:
        X = sample.x.coordinates("RelaxedMVU measures how far points are from the middle of an edge", "use MVU")
        graph = self._graph(sample)
        with stage("deviations"):
            pairs, deviations = edge_deviations(graph, X)
        limit = self._limit(np.sort(deviations))
        over = np.flatnonzero(deviations > limit)
        if self.disconnected == "connect":
            over = self._spared(graph, pairs, deviations, over, limit)
        note(pruned_edges=over.size)
        fitted = in_one_piece(sample, without_edges(graph, pairs[over]), self.disconnected, self._embed)
        pruned = sample.places[pairs[over]]
        return fitted.having(deviations_=np.sort(deviations), threshold_=limit, pruned_=pruned)

    def _spared(self, graph: NeighbourGraph, pairs: Index, deviations: Array, over: Index, limit: float) -> Index:
        """The edges to prune without those that hold the graph together, of which the least deviating are kept."""
        ranks = np.empty(len(pairs))
        ranks[np.argsort(deviations, kind="stable")] = np.arange(1, len(pairs) + 1)
        tree = minimum_spanning_tree(sp.csr_array((ranks, pairs.T), shape=(graph.n, graph.n))).data
        spared = np.isin(ranks[over], tree)
        count = int(spared.sum())
        if count:
            warn(
                f"Pruning the {over.size} edges of a deviation above {limit:.4g} would cut the neighbour graph into {count} more "
                f"pieces. The {count} of them that deviate least were kept to hold it together, and the layout of these pieces rests on "
                'them alone. Raise threshold= or lower prune=; disconnected="largest" embeds one piece only.',
                DisconnectedWarning,
            )
        return over[~spared]

    def _limit(self, deviations: Array) -> float:
        if self.threshold is not None:
            return float(self.threshold)
        if self.prune is None or self.prune == 0:
            return np.inf
        if self.prune == "auto":
            return knee(deviations)
        kept = deviations.size - round(self.prune * deviations.size)
        return float(deviations[max(kept, 1) - 1]) if kept < deviations.size else np.inf

    def _edges(self, graph: NeighbourGraph, sample: Sample) -> sp.csr_array:
        return conformal_distances(graph)[0] if self.conformal else graph.undirected()

    def _program(self, held: Held) -> Program:
        return Program.of_pairs(held.n, held.pairs, held.bounds, masses=held.groups.masses)


def edge_deviations(graph: NeighbourGraph, points: Any) -> tuple[Index, Array]:
    """The edges (m, 2) of a graph, i < j, and their deviations: mean squared distance of both ends' neighbours from the middle."""
    i, j = sp.triu(graph.undirected(), 1).coords
    D = graph.distances
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
    """The graph without some edges, in either direction."""
    C, n = graph.distances.tocoo(), graph.n
    lost = np.concatenate([pairs[:, 0] * n + pairs[:, 1], pairs[:, 1] * n + pairs[:, 0]])
    kept = ~np.isin(C.row.astype(np.intp) * n + C.col, lost)
    return replace(graph, distances=canonical(C.data[kept], C.row[kept], C.col[kept], n))


def knee(deviations: Array) -> float:
    """Where sorted values turn upwards: farthest below the line from first to last, yet no lower than their outliers begin.

    These lie beyond the outer fence of the logarithms and four medians: one-sided neighbours make deviations at a rim twice as large.
    """
    low, high = float(deviations[0]), float(deviations[-1])
    if high <= low:
        return np.inf
    below = np.linspace(0, 1, deviations.size) - (deviations - low) / (high - low)
    first, median, third = np.quantile(deviations, [0.25, 0.5, 0.75])
    if first <= 1e-9 * third:  # copies among the points: most edges have no extent to compare with
        return np.inf
    fence = third * (third / first) ** 1.5
    limit = float(max(deviations[below.argmax()], fence, 4.0 * median))
    return limit if limit < high else np.inf
