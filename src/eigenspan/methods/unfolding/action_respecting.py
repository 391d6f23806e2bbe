"""Unfolding of a sequence whose equal actions are equal motions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from ..._diagnostics import note
from ..._parameters import attribute
from ..._types import Array, Index, TableLike, TargetLike, VectorLike
from ...data import Input, Sample
from ...data.y import ActionLabels
from ...errors import InputError
from ...graphs import NeighbourGraph
from ...graphs.neighbours.contraction import contract
from ...numerics.nearest.neighbour_lists import canonical
from ...numerics.sdp import Program, Solution
from ...problem import Fitted
from ..base.table import known_as, method
from .task import Held, Task, Whole
from .unfolding_base import Unfolding
from .unfolding_certificate import UnfoldingCertificate


@method(
    "unfolding",
    "max tr K",
    "distances of neighbours, equal under equal actions",
    "n³ + (nk)³ per step",
    "S4 eq. 79",
    "are",
)
@known_as("Action respecting embedding", "temporal data; sequence of actions; robot localisation")
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
    pairs
        Compare rows of equal action if they are neighbours, or all of them [S4, eq. 79], which takes of the order of n²
        equations.
    landmarks
        Not supported: the method needs all rows, in order. Only None is accepted.

    Attributes
    ----------
    classes_ : ndarray
        The actions.
    action_pairs_ : ndarray of shape (m, 2)
        Rows (i, j) of equal action: their distance equals that of rows (i + 1, j + 1).
    landmarks_ : absent

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

    pairs: Literal["neighbours", "all"] = "neighbours"

    classes_: NDArray[Any] = attribute()
    action_pairs_: Index = attribute()

    _input: ClassVar[Input] = replace(Unfolding._input, y=ActionLabels())

    def fit(self, X: TableLike, y: TargetLike = None, sample_weight: VectorLike | None = None) -> Self:
        """Unfold a sequence.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows in the order of time.
        y : array-like of shape (n_samples - 1,) or (n_samples,)
            Actions: y[i] leads from row i to row i + 1, so that a last one leads nowhere and is ignored. None and NaN stand for no known
            action, as between the end of one sequence and the beginning of the next.
        sample_weight : None
            Refused: a row that occurs twice would be a step in time.

        Returns
        -------
        self
        """
        return super().fit(X, y, sample_weight)

    def _fit(self, sample: Sample) -> Fitted:
        if self.landmarks is not None:
            raise InputError("ActionRespectingEmbedding needs all rows in their order: leave landmarks= out.")
        return super()._fit(sample)

    def _task(self, graph: NeighbourGraph, sample: Sample) -> Task:
        rows, lengths = sample.places, graph.undirected()
        i, j = np.triu_indices(graph.n, 1) if self.pairs == "all" else sp.triu(lengths, 1).coords
        equal = equal_actions(rows[i], rows[j], rows, sample.y.codes)
        node = np.full(rows.max() + 1, -1, dtype=np.intp)
        node[rows] = np.arange(rows.size)
        before, after = node[equal], node[equal + 1]
        note(equal_actions=len(before))
        held = Held.of(merged(lengths, before, after))
        labels = held.groups.labels
        program = motion_program(held, labels[before], labels[after])
        return Motions(held=held, program=program, attributes={"action_pairs_": equal})


@dataclass(frozen=True, eq=False, kw_only=True)
class Motions(Whole):
    """Bounds on the distances of pairs, all scaled to one value, and pairs whose distances are equal."""

    def certificate(self, solution: Solution, weights: Array) -> UnfoldingCertificate:
        bounds, T, every = self.held.bounds, self.program.combine, self.program.pairs
        m = bounds.size
        if T is None or every is None:
            return super().certificate(solution, weights)
        E = sp.csr_array(T[m:])
        equal = np.column_stack([E.indices[E.data > 0], E.indices[E.data < 0]])
        certificate = super().certificate(solution, weights[:m] * (self.held.unit / bounds))
        equal_edges = self.held.groups.first[every[equal]]
        return replace(certificate, equal_edges=equal_edges, weights_equal=weights[m:])


def motion_program(held: Held, before: Index, after: Index) -> Program:
    """Return the program that maximises the variance, with distances of the pairs `before` equal to those `after`."""
    n, bounds, masses = held.n, held.bounds, held.groups.masses
    pairs, equations = equal_pairs(n, held.pairs, before, after)
    m, q = bounds.size, equations.shape[0]
    if q == 0:
        return Program.of_pairs(n, pairs, bounds, masses=masses)
    # Scale every bound to one value: rows that return to a place have neighbours a thousand times nearer than others.
    T = sp.vstack([sp.diags_array(held.unit / bounds, shape=(m, len(pairs))), equations], format="csr")
    right = np.repeat([held.unit, 0.0], [m, q])
    return Program.of_pairs(n, pairs, right, masses=masses, combine=sp.csr_array(T), equal=right == 0)


def equal_actions(i: Index, j: Index, rows: Index, codes: Index) -> Index:
    """Return those of the pairs (i, j) of rows of X that equal actions leave, for rows that are present."""
    there = np.zeros(codes.size + 1, dtype=bool)
    there[rows] = True
    last = codes.size  # has no next row
    i, j = (part[(i < last) & (j < last)] for part in (i, j))
    same = (codes[i] == codes[j]) & (codes[i] >= 0) & there[i + 1] & there[j + 1]
    return np.column_stack([i[same], j[same]]).astype(np.intp)


def merged(lengths: sp.csr_array, first: Index, second: Index) -> sp.csr_array:
    """Add edges of length zero where equal distances of `first` and `second` make points coincide."""
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
    """Return all pairs, those given first, and independent rows ``v_a − v_b = 0`` for those whose distances are equal."""
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
