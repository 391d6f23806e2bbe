"""Maximum variance unfolding that follows labels: other neighbours, other constraints or another objective, one semidefinite program."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, ClassVar, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from .._compat import Interval, StrOptions
from .._csgraph import dijkstra
from .._resources import require
from ..core import Fitted
from ..errors import DisconnectedError, InputError, LabelError
from ..graphs import KNN, NeighbourGraph, as_graph, class_indicator, components
from ..graphs.connect import _bridge
from ..graphs.lists import canonical
from ..input import Classes, Input, Sample
from ..input.y import ClassLabels
from ..solvers.sdp import Program, Solution
from .docs import documented
from .neighbourhood import in_one_piece
from .parameters import parameters
from .unfolding import _NEIGHBOURS, BoundedUnfolding
from .unfolding_certificate import UnfoldingCertificate
from .unfolding_edges import Held, pair_lengths, with_edges

Array = NDArray[np.float64]
Index = NDArray[np.intp]


@parameters(unlabeled=-1)
class LabelledUnfolding(BoundedUnfolding):
    """Unfoldings that need y, and coordinates."""

    unlabeled: Any

    _input: ClassVar[Input] = replace(BoundedUnfolding._input, pairs=(), y=ClassLabels(at_least=1))
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BoundedUnfolding._parameter_constraints,
        "unlabeled": "no_validation",
    }

    def _fit(self, sample: Sample) -> Fitted:
        sample.x.refuse_one_place()
        return super()._fit(sample)

    def _fit_all(self, sample: Sample) -> Fitted:
        graph = self._graph(sample)
        if self.disconnected == "raise":
            self._refuse_pieces(graph, sample.y)
        return in_one_piece(sample, graph, self.disconnected, self._embed)

    def _refuse_pieces(self, graph: NeighbourGraph, y: Any) -> None:
        """Say which classes are in which piece of a graph that falls apart."""
        count, labels = components(graph)
        if count == 1 or not isinstance(y, Classes):
            return
        codes, sizes, listed = y.codes, np.bincount(labels), []
        for piece in np.argsort(-sizes, kind="stable")[:5]:
            found = np.unique(codes[labels == piece])
            names = ["unlabelled" if c < 0 else f"class {y.names[c]}" for c in found[:4]]
            listed.append(f"{sizes[piece]} points ({', '.join(names)}{', …' if found.size > 4 else ''})")
        raise DisconnectedError(
            f"No constraint ties these {count} pieces together: {'; '.join(listed)}{'; …' if count > 5 else ''}. They could move apart "
            'without end, and there is no optimum. Use more neighbours, or disconnected="connect" for the shortest bridges between them.'
        )

    def _check_memory(self, n: int, p: int) -> None:
        """Refuse, before C is written out, what the dense solver would."""
        m = p * (2 if self.constraint == "band" else 1)
        require(
            8.0 * (2 * p**2 + (m * p if m > p else 0) + 2 * m**2 + 17 * n**2),
            f"The objective of {type(self).__name__} is not the variance, and its program of {m} constraints on {n} points is solved by "
            "dense matrices: they",
            "Fit it on landmarks=500 of the points, or use fewer neighbours.",
        )


# ---------------------------------------------------------------------- neighbours within classes
@documented
@parameters(bridge="representatives")
class SupervisedMVU(LabelledUnfolding):
    """Maximum variance unfolding with neighbours within classes.

    .. math:: \\max_{K \\succeq 0,\\ K1 = 0} \\operatorname{tr} K \\quad\\text{s.t.}\\quad
              K_{ii} - 2K_{ij} + K_{jj} \\le \\lVert x_i - x_j \\rVert^2 \\ \\text{ for neighbours of one class, and bridges}

    [S4, §6.1]: C = I, T = I, b = squared distances. Classes unfold one by one, and strings across their borders do not hold them
    together. As it stands in [S4] the problem has no optimum, because classes that nothing joins drift apart without end: they are
    bridged here. An unlabelled point is joined to its nearest neighbours of any class. With one class this is `MVU`.

    Cost: as `MVU`, and for ``bridge="representatives"`` c² pairs of c classes.

    Parameters
    ----------
    $n_components
    n_neighbors : int or None, default=None
        Neighbours of every point within its class, all others of a smaller class. None means 8.
    graph : graph specification or None, default=None
        Overrides `n_neighbors`, as for `MVU`; edges between points of different classes are left out.
    $metric
    bridge : {"representatives", "shortest"}, default="representatives"
        What keeps the classes together: strings between all pairs of representatives, the points nearest to the class means
        [S4, eq. 51], which keep the layout of the classes; or the c − 1 shortest edges between classes, which let them swing apart.
    constraint : {"inequality", "slack", "band"}, default="inequality"
        ``v ≤ d``; ``v ≤ d + t`` at a price for t; ``(1 − band) d ≤ v ≤ d``, for the squared distances v of these pairs.
    $unfolding_of_labels

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from eigenspan import SupervisedMVU
    >>> X, y = load_iris(return_X_y=True)
    >>> SupervisedMVU(2, n_neighbors=6).fit(X, y).embedding_.shape
    (150, 2)

    References
    ----------
    Zhang, Yan, Liu, Cheng, Chen & Ma (2005), Supervised semidefinite embedding for image manifolds; Liu, Bai, Yan, Zhang, Chen & Ma
    (2005), Supervised semi-definite embedding for email data cleaning and visualization.
    """

    bridge: str

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **LabelledUnfolding._parameter_constraints,
        "bridge": [StrOptions({"representatives", "shortest"})],
    }

    def _graph(self, sample: Sample) -> NeighbourGraph:
        X, codes = sample.x.values, sample.y.codes
        graph = self._within(X, codes)
        if self.bridge == "representatives":
            ends = representatives(X, codes)
            pairs = ends[np.column_stack(np.triu_indices(ends.size, 1))]
            return with_edges(graph, pairs, pair_lengths(graph, sample.x, pairs))
        ends = np.flatnonzero(codes >= 0)
        D, first = graph.distances.tocoo(), ends[np.unique(codes[ends], return_index=True)[1]]
        i, j = (
            np.concatenate([D.row, ends]),
            np.concatenate([D.col, first[np.unique(codes[ends], return_inverse=True)[1]]]),
        )
        classes = connected_components(sp.csr_array((np.ones(i.size), (i, j)), shape=D.shape), directed=False)[1]
        return _bridge(graph, X, classes, False)[0]

    def _within(self, X: Any, codes: Index) -> NeighbourGraph:
        """Neighbours of the same class, and those of unlabelled points."""
        if self.graph is not None:
            graph = as_graph(
                self.graph,
                X,
                n_neighbors=self.n_neighbors,
                codes=codes,
                n_jobs=self.n_jobs,
                metric=self.metric,
                metric_params=self.metric_params,
            )
            D = graph.distances.tocoo()
            kept = (codes[D.row] == codes[D.col]) | (codes[D.row] < 0) | (codes[D.col] < 0)
            return replace(graph, distances=canonical(D.data[kept], D.row[kept], D.col[kept], graph.n))
        k = min(_NEIGHBOURS, X.shape[0] - 1) if self.n_neighbors is None else self.n_neighbors
        metric: dict[str, Any] = {"metric": self.metric or "euclidean", "metric_params": self.metric_params}
        graph = as_graph(KNN(k, within_class=True, n_jobs=self.n_jobs, **metric), X, codes=codes)
        if np.all(codes >= 0):
            return graph
        D, E = graph.distances.tocoo(), graph.finder.among().tocoo()
        others = codes[E.row] < 0
        values, ends = np.concatenate([D.data, E.data[others]]), np.concatenate([D.row, E.row[others]])
        return replace(graph, distances=canonical(values, ends, np.concatenate([D.col, E.col[others]]), graph.n))


# ---------------------------------------------------------------------- other objectives
@dataclass(frozen=True, eq=False)
class _Linked(NeighbourGraph):
    """A graph that knows the representatives of the classes, as pairs, and how far apart these are to be."""

    links: Index = None  # type: ignore[assignment]
    lengths: Array = None  # type: ignore[assignment]

    def nodes(self) -> Index:
        """The pairs as nodes of the graph, which may be part of that in which they were numbered; −1 for those outside."""
        if self.rows is None:
            return self.links
        node = np.full(max(self.rows.max(), self.links.max()) + 1, -1, dtype=np.intp)
        node[self.rows] = np.arange(self.rows.size)
        return node[self.links]


@documented
@parameters(alpha=1.2, constraint="slack")
class SMVU1(LabelledUnfolding):
    """Maximum variance unfolding class by class, the classes held at a distance.

    .. math:: \\max_{K \\succeq 0,\\ K1 = 0} \\sum_c \\frac{1}{2n_c} \\sum_{i,j \\in c} v_{ij} - \\nu \\lVert t \\rVert^2
              \\quad\\text{s.t.}\\quad v_{ij} \\le \\lVert x_i - x_j \\rVert^2 + t_{ij} \\ \\text{ for neighbours},\\quad
              v_{rs} = \\alpha^2 \\lVert x_r - x_s \\rVert^2 + t_{rs} \\ \\text{ for representatives}

    with :math:`v_{ij} = K_{ii} - 2K_{ij} + K_{jj}` [S4, eqs. 51–55]: C centres each class by itself, T = I, b = squared distances, times
    α² for the equations of the representatives, which are the points nearest to the class means. Their pairs are those of successive
    classes and of each class with the last (eq. 55 counts one too far): triangles on a common corner, which leave K an interior. The
    objective does not see how far classes are from each other; these pairs and the neighbours across borders settle it.

    Neighbours tie classes together too, and α times the distance is often more than their strings allow: therefore t, at a price.
    ``constraint="inequality"`` sets t = 0 as in [S4], and an α that contradicts the neighbours is refused, with the classes it fails
    for. Unlabelled points unfold like one more class, without a representative. With one class this is `MVU`.

    Cost: dense, O(n³ + m³) a step for m pairs, 20 or so steps: up to a thousand points; ``landmarks=500`` for more.

    Parameters
    ----------
    $n_components
    n_neighbors : int or None, default=None
        Neighbours of every point, of any class. None means 8, or all other points where there are fewer.
    $graph
    alpha : float, default=1.2
        How many times farther apart than in space representatives are put; more than 1.
    constraint : {"inequality", "slack", "band"}, default="slack"
        ``v ≤ d``; ``v ≤ d + t`` at a price for t; ``(1 − band) d ≤ v ≤ d``, for the squared distances v of neighbours. The equations
        of the representatives are exact but with "slack".
    $unfolding_of_labels

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from eigenspan import SMVU1
    >>> X, y = make_blobs([15, 15], centers=[[0, 0, 0], [12, 0, 0]], random_state=0)
    >>> smvu = SMVU1(2, n_neighbors=4, alpha=2, constraint="inequality").fit(X, y)
    >>> smvu.certificate_.violation < 1e-3
    True

    References
    ----------
    Wei, Chen & Song (2016), Developments of two supervised maximum variance unfolding algorithms for process classification.
    """

    alpha: float
    _objective = "variance within classes"

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **LabelledUnfolding._parameter_constraints,
        "alpha": [Interval(Real, 1, None, closed="neither")],
    }

    def _graph(self, sample: Sample) -> NeighbourGraph:
        """With edges between representatives that are no neighbours, α times as long as they are."""
        graph = super()._graph(sample)
        ends = representatives(sample.x.values, sample.y.codes)
        c = ends.size
        fan = {(i, j) for i in range(c - 1) for j in (i + 1, c - 1)}
        pairs = ends[np.array(sorted(fan), dtype=np.intp).reshape(-1, 2)]
        lengths = self.alpha * pair_lengths(graph, sample.x, pairs)
        if self.constraint != "slack":
            self._check_alpha(graph, pairs, lengths, sample.y)
        n, D = graph.n, graph.undirected().tocoo()
        new = ~np.isin(pairs[:, 0] * n + pairs[:, 1], D.row.astype(np.int64) * n + D.col)
        return _Linked(**vars(with_edges(graph, pairs[new], lengths[new])), links=pairs, lengths=lengths)

    def _check_alpha(self, graph: NeighbourGraph, pairs: Index, lengths: Array, y: Classes) -> None:
        """Refuse an equation longer than a path of strings between its ends."""
        starts, which = np.unique(pairs[:, 0], return_inverse=True)
        paths = dijkstra(graph.undirected(), indices=starts)[which, pairs[:, 1]] if starts.size else lengths
        short = np.flatnonzero(paths < lengths * (1 - 1e-9))
        if not short.size:
            return
        most = self.alpha * float(np.min(paths[short] / lengths[short]))
        names = y.names[y.codes[pairs[short]]]
        listed = "; ".join(
            f"{one} and {other}, to be {lengths[e]:.4g} apart on a string of {paths[e]:.4g}"
            for (one, other), e in zip(names[:3], short, strict=False)
        )
        raise InputError(
            f"alpha={self.alpha:g} contradicts the neighbours for {short.size} of {len(pairs)} pairs of classes ({listed}): no points "
            "are so far apart and so well tied. "
            + (f"Use alpha < {most:.4g}, " if most > 1 + 1e-9 else "On a straight string no alpha will do: use ")
            + 'fewer neighbours, or constraint="slack".'
        )

    def _program(self, held: Held) -> Program:
        self._check_memory(held.n, len(held.pairs))
        pairs, bounds, groups, graph = held.pairs, held.bounds, held.groups, cast("_Linked", held.graph)
        C = class_centring(held.sample.y.codes)
        if np.abs(groups.sum(C).diagonal()).max() < 1e-9:
            raise LabelError(
                f"No class has two different points among the {graph.n}: there is nothing to unfold within classes."
            )
        links, lengths = graph.nodes(), graph.lengths
        if np.any(links < 0):
            raise DisconnectedError(
                'disconnected="largest" leaves out representatives, and with them what SMVU1 asks of the classes: use "connect", or more '
                "neighbours."
            )
        i, j = np.sort(groups.labels[links], axis=1).T
        apart = i != j  # classes whose representatives coincide
        g = held.n
        where, first = np.unique(np.searchsorted(pairs[:, 0] * g + pairs[:, 1], (i * g + j)[apart]), return_index=True)
        wanted = lengths[apart][first] ** 2
        neighbours = where[bounds[where] != wanted]  # their string stays, besides the equation
        strings = neighbours, bounds[neighbours]
        bounds, equal = bounds.copy(), np.zeros(bounds.size, dtype=bool)
        bounds[where], equal[where] = wanted, True
        return self._bounded(replace(held, bounds=bounds), C, equal, strings)

    def _certificate(self, solution: Solution, held: Held) -> UnfoldingCertificate:
        """A pair of representatives that are neighbours is there twice: its equation, and its string."""
        T = solution.program.combine
        if self.constraint == "slack":
            pairs = held.pairs if T is None else held.pairs[T.indices]
            held = replace(held, pairs=pairs, bounds=solution.program.bounds)
        return super()._certificate(solution, held)

    def _report(self, solution: Solution) -> None:
        if solution.is_contradiction:
            raise InputError(
                f"alpha={self.alpha:g} contradicts the neighbours: the dual weights prove that no points have these distances (upper bound "
                f'{solution.upper:.3g} on a sum of squares). Use a smaller alpha, fewer neighbours, or constraint="slack".'
            )
        super()._report(solution)


# ---------------------------------------------------------------------- classes and the edges between them
def representatives(points: Array, codes: Index) -> Index:
    """The point of each class that is nearest to its mean [S4, eq. 51, where min means argmin]; the first of several."""
    chosen = []
    for c in np.unique(codes[codes >= 0]):
        members = np.flatnonzero(codes == c)
        own = points[members]
        chosen.append(members[np.argmin(np.sum((own - own.mean(axis=0)) ** 2, axis=1))])
    return np.array(chosen, dtype=np.intp)


def class_centring(codes: Index) -> sp.csr_array:
    """Σ_c tr(K_c) − 1ᵀK_c1/n_c as ⟨C, K⟩: each class, and the unlabelled points, centred by themselves. PSD."""
    G = class_indicator(np.where(codes < 0, codes.max() + 1, codes))
    return sp.csr_array(sp.eye_array(codes.size) - G @ G.T)
