"""Points much nearer to one another than to all others: a program with one point for each such group, and the way back.

Strings that are thousands of times shorter than those around them bring an interior point to a halt far from the optimum. A group of
points within ρ of its root, along their own strings, where all strings that leave it are many times longer, is therefore contracted to its
root first. What that changes is proved, not assumed. From below: points that coincide keep every string among them, so an embedding of
the smaller program is one of the larger. From above: for any function x on the points, and for a string of length d whose ends i, j are
joined to their roots r, s by paths of length ρ together,

.. math:: (x_r - x_s)^2 \\le (1 + \\rho/d)\\,(x_i - x_j)^2 + (1 + d/\\rho)\\, \\rho \\sum_t \\Delta_t^2 / \\ell_t

over the strings t of the paths, of lengths ℓ_t. A weight w of the smaller program thus becomes weights of the larger one: w (1 + ρ/d) on
the string itself and w (d + ρ)/ℓ_t on the paths. With squared lengths these sum to w (d + ρ)², where it was w d². Both bounds are
computed anew in the larger program from the embedding and the weights that come back, so that contraction may cost some of the gap, at
most (1 + ρ/d)² − 1 of the upper bound, but none of the proof. If it costs too much, this is where the larger program is begun.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..paths.csgraph import dijkstra, minimum_spanning_tree
from .certificate import (
    Certificate,
    Solution,
    largest_ratio,
    lower_bound,
    net_value,
    shrink,
    upper_bound,
)
from .program import Program

Array = NDArray[np.float64]
Index = NDArray[np.intp]

#: Largest radius of a group relative to the shortest string that leaves it; in a band also relative to its width, since strings that
#: become one differ by as much.
_NEAR, _OF_BAND = 1e-2, 0.025
#: Share of all points that a group may have: an outlier far away does not make all others copies of one another.
_MOST = 0.25
#: Stiffest weight of a path in units of what hangs on it, and the weight that the points' own masses ask for; both over the share to lose.
_STIFFEST, _HELD = 100.0, 10.0
#: By what part of this share weights are raised where rounding stands in the way of a proof.
_RAISE = 0.1


@dataclass(frozen=True, eq=False)
class Contracted:
    """A program, a smaller one with one point for each group of near ones, and what leads back.

    Attributes
    ----------
    program, small : Program
    labels : ndarray of shape (n,)
        The point of `small` that each point belongs to.
    roots : ndarray of shape (g,)
        The point that stands for each group.
    away : ndarray of shape (n,)
        Length of the path from each point to its root, through the group.
    parent : ndarray of shape (n,)
        The next point on that path, negative at the roots.
    chosen : ndarray of shape (m,)
        The row of `program` that each row of `small` is.
    """

    program: Program
    small: Program
    labels: Index
    roots: Index
    away: Array
    parent: Index
    chosen: Index

    def _strings(self) -> tuple[Index, Array, Array]:
        """Of the rows that were chosen: the pairs, their lengths, and the lengths of the paths from both ends to their roots."""
        assert self.program.pairs is not None
        p = len(self.program.pairs)
        pairs = self.program.pairs[self.chosen % p]
        return pairs, np.sqrt(self.program.bounds[self.chosen % p]), self.away[pairs].sum(axis=1)

    @property
    def loss(self) -> float:
        """Share by which the upper bound can grow on the way back, at most."""
        _, d, rho = self._strings()
        return float(np.max((1.0 + rho / d) ** 2)) - 1.0

    def inside(self, interior: Array | None) -> Array | None:
        """Of an embedding that keeps all bounds the roots, shrunk until these do: they can be farther apart than the nearest of a group."""
        return None if interior is None else interior[self.roots] / np.sqrt(1.0 + self.loss)

    def record(self, record: dict[str, Any]) -> dict[str, Any]:
        """What a record of the smaller program says of the larger one."""
        lower, upper = record["lower"], record["upper"] + self.loss * abs(record["upper"])
        record = record | {"upper": upper, "gap": Certificate(0.0, lower, upper, 0.0).gap}
        return record | {"factor": record["factor"][self.labels]} if "factor" in record else record

    # ------------------------------------------------------------------ the way back
    def solution(self, small: Solution, tol: float, interior: Array | None) -> Solution:
        """Embedding and weights of all points, with the bounds that they prove."""
        program = self.program
        F = program.centred(np.hstack([small.factor[self.labels], self._within(interior)]))
        F = np.sqrt(shrink(program, F)) * F
        weighed = float(np.abs(small.weights) @ np.abs(self.small.bounds))
        # where terms of both signs cancel, the gap asked for is a smaller share of what the weights hold
        finest = tol * min(1.0, max(abs(small.upper) / weighed, tol)) if weighed > 0 else tol
        upper, w = min((self._proved(small.weights, share) for share in {tol, finest}), key=lambda found: found[0])
        lower, violation = lower_bound(program, F)
        certificate = Certificate(net_value(program, F), lower, upper, violation)
        held = program.has_lower_bound or violation <= 0.1 * tol
        status = "stalled" if small.status == "certified" else small.status
        status = "certified" if held and abs(certificate.gap) <= tol else status
        history = [self.record(record) for record in small.history]
        return Solution(program, F, w, certificate, small.iterations, status, history)

    def _within(self, interior: Array | None) -> Array:
        """Places within the groups, in columns of their own, so that strings between groups grow by (ρ/d)² only.

        Those of an embedding that keeps all bounds; or the lengths of the paths, which differ by no more than the string between points.
        """
        E = self.away[:, None] if interior is None else np.asarray(interior, dtype=np.float64)
        mass = self.program.centre
        S = sp.csr_array((mass, (self.labels, np.arange(mass.size))), shape=(self.roots.size, mass.size))
        return np.asarray(E - ((S @ E) / (S @ np.ones_like(mass))[:, None])[self.labels])

    def _proved(self, w: Array, share: float) -> tuple[float, Array]:
        """An upper bound by weights of all strings, at the edge of the dual."""
        w = self._weights(w, share)
        ratio = largest_ratio(self.program, w)[0]
        if not np.isfinite(ratio):  # with weights of both signs stiff ones bury the smallest eigenvalue in rounding
            w = w * np.where(self.program.signs > 0, 1.0 + _RAISE * share, 1.0)
            ratio = largest_ratio(self.program, w)[0]
        return upper_bound(self.program, w, ratio), w * (ratio if np.isfinite(ratio) else 1.0)

    def _weights(self, w: Array, share: float) -> Array:
        """Weights of all strings from those of the smaller program; stiff enough for them to lose no more than this share by it."""
        program, n = self.program, self.program.n
        assert program.pairs is not None
        p = len(program.pairs)
        pairs, d, rho = self._strings()
        out = np.zeros(program.bounds.size)
        out[self.chosen] = w * (1.0 + np.where(self.chosen < p, 1.0, -1.0) * rho / d)
        held = abs(program.cost) if np.ndim(program.cost) == 1 else np.asarray(abs(program.cost).sum(axis=1)).ravel()
        ends, size = pairs.ravel(), np.repeat(np.abs(w), 2)
        pull = np.bincount(ends, size * np.repeat(d + rho, 2), minlength=n) + _HELD / share * held * self.away
        most = _STIFFEST / share * (np.bincount(ends, size, minlength=n) + held)
        points = np.argsort(-self.away, kind="stable")  # the farthest first: a path carries what lies beyond it
        points = points[self.parent[points] >= 0]
        nexts = self.parent[points]
        keys = np.sort(program.pairs, axis=1) @ np.array([n, 1])
        order = np.argsort(keys)
        strings = order[np.searchsorted(keys, np.minimum(points, nexts) * n + np.maximum(points, nexts), sorter=order)]
        lengths = np.sqrt(program.bounds[strings])
        for i, j, e, length in zip(points, nexts, strings, lengths, strict=True):
            out[e] = min(pull[i] / length, most[i])
            pull[j] += pull[i]
            most[j] += most[i]
        return out


def contracted(program: Program, interior: Array | None) -> Contracted | None:
    """A smaller program, or None where there are no groups of near points.

    Only for bounds from above on the distances of pairs, and for bands with an embedding that lies in them.
    """
    if program.pairs is None or program.slack is not None or program.equations.any():
        return None
    p, pairs, limit = len(program.pairs), np.sort(program.pairs, axis=1), _NEAR
    upper, lower = program.bounds[:p], program.bounds[p:]
    if np.any(upper <= 0):
        return None
    if program.combine is not None:
        if interior is None or not _is_band(program):
            return None
        limit = min(limit, _OF_BAND * float(np.min(1.0 + lower / upper)))
    found = near_points(program.n, pairs, np.sqrt(upper), limit, _MOST * program.n)
    if found is None:
        return None
    every, away, parent = found
    roots, labels = np.unique(every, return_inverse=True)
    i, j = np.sort(labels[pairs], axis=1).T
    chosen = _least_of_each(i, j, upper)
    below = _least_of_each(i, j, lower) if lower.size else chosen[:0]
    small = Program.of_pairs(
        roots.size, np.column_stack([i[chosen], j[chosen]]), upper[chosen], cost=_summed(program.cost, labels),
        masses=_summed(program.centre, labels), lower=-lower[below] if lower.size else None,
    )  # fmt: skip
    return Contracted(program, small, labels, roots, away, parent, np.concatenate([chosen, p + below]))


def _is_band(program: Program) -> bool:
    """One bound from above and one from below for each pair, in this order."""
    T, p = program.combine, len(program.pairs)  # type: ignore[arg-type]
    if T is None or T.shape != (2 * p, p) or not np.array_equal(T.indices, np.tile(np.arange(p), 2)):
        return False
    return np.array_equal(T.data, np.repeat([1.0, -1.0], p))


def _least_of_each(i: Index, j: Index, values: Array) -> Index:
    """Of each pair (i, j) of different points the place of its least value, in the order of the pairs."""
    order = np.lexsort((values, j, i))
    order = order[i[order] != j[order]]
    new = np.ones(order.size, dtype=bool)
    new[1:] = (np.diff(i[order]) != 0) | (np.diff(j[order]) != 0)
    return order[new]


def _summed(cost: Any, labels: Index) -> Any:
    """C over groups of points that coincide."""
    if np.ndim(cost) == 1:
        return np.bincount(labels, cost).astype(np.float64)
    S = sp.csr_array((np.ones(labels.size), (np.arange(labels.size), labels)))
    return S.T @ cost @ S


# ---------------------------------------------------------------------- who is near
def near_points(n: int, pairs: Index, lengths: Array, limit: float, most: float) -> tuple[Index, Array, Index] | None:
    """Largest groups of at most `most` points whose radius is at most `limit` times the shortest edge that leaves them.

    Returns the root of each point (itself where it is in no group), the length of its path to the root through the group, and the next
    point on that path (negative at roots); None where there are no groups.
    """
    groups = _candidates(n, pairs, lengths, 2.0 * limit, most)
    i, j = pairs.T
    while groups:
        owner = np.full(n, -1, dtype=np.intp)
        for number, (members, _) in enumerate(groups):
            if owner[members[0]] < 0:  # groups are nested or apart, and the largest come first
                owner[members] = number
        inside = (owner[i] == owner[j]) & (owner[i] >= 0)
        G = sp.csr_array((lengths[inside], (i[inside], j[inside])), shape=(n, n))
        first = np.array([members[0] for members, _ in groups], dtype=np.intp)
        allowed = limit * np.array([leaving for _, leaving in groups])
        grouped = owner >= 0
        sources = first[np.unique(owner[grouped])]
        away, parent, _ = dijkstra(G, directed=False, indices=sources, min_only=True, return_predecessors=True)
        wide = set(owner[grouped][away[grouped] > allowed[owner[grouped]]])
        if not wide:
            roots = np.where(grouped, first[owner], np.arange(n))
            return roots, np.where(grouped, away, 0.0), np.where(grouped, parent, -1).astype(np.intp)
        groups = [group for number, group in enumerate(groups) if number not in wide]
    return None


def _candidates(n: int, pairs: Index, lengths: Array, limit: float, most: float) -> list[tuple[Index, float]]:
    """Groups by single linkage whose longest link is at most `limit` times the next, with the length of the next; largest first.

    A link of the shortest tree is also the shortest path between its ends, so a group's radius is at least half its longest link.
    """
    tree = minimum_spanning_tree(sp.csr_array((lengths, pairs.T), shape=(n, n))).tocoo()
    if tree.data.size == 0 or tree.data.min() > limit * tree.data.max():
        return []
    order = np.argsort(tree.data, kind="stable")
    owner, members, longest = list(range(n)), [[i] for i in range(n)], [0.0] * n
    found = []
    for i, j, d in zip(tree.row[order].tolist(), tree.col[order].tolist(), tree.data[order].tolist(), strict=True):
        few, many = sorted((owner[i], owner[j]), key=lambda group: len(members[group]))
        for group in (few, many):
            if 1 < len(members[group]) <= most and longest[group] <= limit * d:
                found.append((np.array(members[group]), d))
        for point in members[few]:
            owner[point] = many
        members[many] += members[few]
        longest[many] = d
    return sorted(found, key=lambda group: -len(group[0]))
