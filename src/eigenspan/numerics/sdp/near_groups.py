"""Contraction of groups of points much nearer to one another than to all others, and the extension of the solution to all points.

Bounds on pairs ("strings") that are thousands of times shorter than neighbouring ones can stall an interior-point method far from
the optimum. So a group of points within distance ρ of its root, along strings of the group, is first contracted to its root if all
strings that leave it are many times longer. The effect is bounded by proof. Lower bound: coincident points satisfy every string among
them, so an embedding of the smaller program is one of the larger. Upper bound: for any function x on the points, and for a
string of length d whose ends i, j are joined to their roots r, s by paths of total length ρ,

.. math:: (x_r - x_s)^2 \\le (1 + \\rho/d)\\,(x_i - x_j)^2 + (1 + d/\\rho)\\, \\rho \\sum_t \\Delta_t^2 / \\ell_t

over the strings t of the paths, of lengths ℓ_t. A weight w of the smaller program thus becomes weights of the larger one: w (1 + ρ/d) on
the string itself and w (d + ρ)/ℓ_t on the paths. Multiplied by squared lengths these sum to w (d + ρ)², compared with w d². Both
bounds are recomputed in the larger program from the extended embedding and weights. So contraction may lose some of the gap, at most
(1 + ρ/d)² − 1 of the upper bound, but the certificate stays valid. If the loss is too large, the larger program is solved from there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ..._types import Array, Index, Matrix
from ..paths.csgraph import dijkstra, minimum_spanning_tree
from .certificate import Certificate, Record, Solution, charged_bound, largest_ratio, net_value, shrink, upper_bound
from .program import Program

#: Largest radius of a group relative to the shortest string that leaves it, and for a band also relative to its width, because merged
#: strings differ by as much.
_MAX_RADIUS, _MAX_BAND_RADIUS = 1e-2, 0.025
#: Largest share of all points in a group: one distant outlier must not make all other points a group.
_MAX_SHARE = 0.25
#: Largest weight of a path in units of the weights that it supports, and the weight due to the points' own masses; both are divided by
#: the share that may be lost.
_MAX_PATH_WEIGHT, _MASS_WEIGHT = 100.0, 10.0
#: Weights are increased by this part of that share if rounding prevents a proof.
_WEIGHT_INCREASE = 0.1


@dataclass(frozen=True, eq=False)
class Contracted:
    """A program, a smaller one with one point for each group of near points, and the data needed to extend its solution.

    Attributes
    ----------
    program, small : Program
    labels : ndarray of shape (n,)
        The point of `small` to which each point belongs.
    roots : ndarray of shape (g,)
        The point that represents each group.
    away : ndarray of shape (n,)
        Length of the path within the group from each point to its root.
    parent : ndarray of shape (n,)
        The next point on that path, negative at the roots.
    chosen : ndarray of shape (m,)
        The row of `program` for each row of `small`.
    """

    program: Program
    small: Program
    labels: Index
    roots: Index
    away: Array
    parent: Index
    chosen: Index

    def _strings(self) -> tuple[Index, Array, Array]:
        """Return the pairs of the chosen rows, their lengths, and the total lengths of the paths from both ends to their roots."""
        assert self.program.pairs is not None
        p = len(self.program.pairs)
        pairs = self.program.pairs[self.chosen % p]
        return pairs, np.sqrt(self.program.bounds[self.chosen % p]), self.away[pairs].sum(axis=1)

    @property
    def loss(self) -> float:
        """Largest relative increase of the upper bound by the extension."""
        _, d, rho = self._strings()
        return float(np.max((1.0 + rho / d) ** 2)) - 1.0

    def inside(self, interior: Array | None) -> Array | None:
        """Return the roots of an embedding that satisfies all bounds, shrunk to satisfy the smaller program's bounds.

        Roots may be farther apart than the nearest points of their groups.
        """
        return None if interior is None else interior[self.roots] / np.sqrt(1.0 + self.loss)

    def record(self, record: Record) -> Record:
        """Convert a record of the smaller program to one of the larger program."""
        lower, upper = record["lower"], record["upper"] + self.loss * abs(record["upper"])
        found = record.copy()
        found["upper"], found["gap"] = upper, Certificate(0.0, lower, upper, 0.0).gap
        if "factor" in found:
            found["factor"] = found["factor"][self.labels]
        return found

    # ------------------------------------------------------------------ extension to all points
    def solution(self, small: Solution, tol: float, interior: Array | None) -> Solution:
        """Return the embedding and weights of all points, with the bounds that they prove."""
        program = self.program
        F = program.centred(np.hstack([small.factor[self.labels], self._within(interior)]))
        F = np.sqrt(shrink(program, F)) * F
        weighed = float(np.abs(small.weights) @ np.abs(self.small.bounds))
        # if terms of both signs cancel, the requested gap is a smaller share of the sum of their sizes
        finest = tol * min(1.0, max(abs(small.upper) / weighed, tol)) if weighed > 0 else tol
        upper, w = min((self._proved(small.weights, share) for share in {tol, finest}), key=lambda found: found[0])
        lower, violation = charged_bound(program, F, w)
        certificate = Certificate(net_value(program, F), lower, upper, violation)
        held = program.has_lower_bound or violation <= 0.1 * tol
        status = "stalled" if small.status == "certified" else small.status
        status = "certified" if held and abs(certificate.gap) <= tol else status
        history = [self.record(record) for record in small.history]
        return Solution(program, F, w, certificate, small.iterations, status, history)

    def _within(self, interior: Array | None) -> Array:
        """Return positions within the groups, in separate columns, so that strings between groups grow by (ρ/d)² only.

        They are taken from an embedding that satisfies all bounds. Without one they are the path lengths, whose differences are at most the
        length of the string between the points.
        """
        E = self.away[:, None] if interior is None else np.asarray(interior, dtype=np.float64)
        mass = self.program.centre
        S = sp.csr_array((mass, (self.labels, np.arange(mass.size))), shape=(self.roots.size, mass.size))
        return np.asarray(E - ((S @ E) / (S @ np.ones_like(mass))[:, None])[self.labels])

    def _proved(self, w: Array, share: float) -> tuple[float, Array]:
        """Return an upper bound from weights of all strings, scaled to the boundary of the dual."""
        w = self._weights(w, share)
        ratio = largest_ratio(self.program, w)[0]
        # with weights of both signs, rounding of the large ones hides the smallest eigenvalue
        if not np.isfinite(ratio):
            w = w * np.where(self.program.signs > 0, 1.0 + _WEIGHT_INCREASE * share, 1.0)
            ratio = largest_ratio(self.program, w)[0]
        return upper_bound(self.program, w, ratio), w * (ratio if np.isfinite(ratio) else 1.0)

    def _weights(self, w: Array, share: float) -> Array:
        """Extend weights of the smaller program to all strings, large enough within groups to lose at most this share of the bound."""
        program, n = self.program, self.program.n
        assert program.pairs is not None
        p = len(program.pairs)
        pairs, d, rho = self._strings()
        out = np.zeros(program.bounds.size)
        out[self.chosen] = w * (1.0 + np.where(self.chosen < p, 1.0, -1.0) * rho / d)
        held = abs(program.cost) if np.ndim(program.cost) == 1 else np.asarray(abs(program.cost).sum(axis=1)).ravel()
        ends, size = pairs.ravel(), np.repeat(np.abs(w), 2)
        pull = np.bincount(ends, size * np.repeat(d + rho, 2), minlength=n) + _MASS_WEIGHT / share * held * self.away
        most = _MAX_PATH_WEIGHT / share * (np.bincount(ends, size, minlength=n) + held)
        # farthest points first: a path also carries the load of the points behind it
        points = np.argsort(-self.away, kind="stable")
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
    """Return the contracted program, or None if there are no groups of near points.

    Applies only to upper bounds on the distances of pairs, and to bands with an embedding inside them.
    """
    if program.pairs is None or program.slack is not None or program.equations.any():
        return None
    p, pairs, limit = len(program.pairs), np.sort(program.pairs, axis=1), _MAX_RADIUS
    upper, lower = program.bounds[:p], program.bounds[p:]
    if np.any(upper <= 0):
        return None
    if program.combine is not None:
        if interior is None or not _is_band(program):
            return None
        limit = min(limit, _MAX_BAND_RADIUS * float(np.min(1.0 + lower / upper)))
    found = near_points(program.n, pairs, np.sqrt(upper), limit, _MAX_SHARE * program.n)
    if found is None:
        return None
    every, away, parent = found
    roots, labels = np.unique(every, return_inverse=True)
    i, j = np.sort(labels[pairs], axis=1).T
    chosen = _smallest_of_each(i, j, upper)
    below = _smallest_of_each(i, j, lower) if lower.size else chosen[:0]
    small = Program.of_pairs(
        roots.size, np.column_stack([i[chosen], j[chosen]]), upper[chosen], cost=_summed(program.cost, labels),
        masses=_summed(program.centre, labels), lower=-lower[below] if lower.size else None,
    )  # fmt: skip
    return Contracted(program, small, labels, roots, away, parent, np.concatenate([chosen, p + below]))


def _is_band(program: Program) -> bool:
    """Return True if each pair has one upper and one lower bound, in this order."""
    T, p = program.combine, len(program.pairs)  # type: ignore[arg-type]
    if T is None or T.shape != (2 * p, p) or not np.array_equal(T.indices, np.tile(np.arange(p), 2)):
        return False
    return np.array_equal(T.data, np.repeat([1.0, -1.0], p))


def _smallest_of_each(i: Index, j: Index, values: Array) -> Index:
    """Return for each pair (i, j) of different points the index of its smallest value, in the order of the pairs."""
    order = np.lexsort((values, j, i))
    order = order[i[order] != j[order]]
    new = np.ones(order.size, dtype=bool)
    new[1:] = (np.diff(i[order]) != 0) | (np.diff(j[order]) != 0)
    return order[new]


def _summed(cost: Matrix, labels: Index) -> Matrix:
    """Sum C over groups of coincident points."""
    if np.ndim(cost) == 1:
        return np.bincount(labels, cost).astype(np.float64)
    S = sp.csr_array((np.ones(labels.size), (np.arange(labels.size), labels)))
    return S.T @ cost @ S


# ---------------------------------------------------------------------- groups of near points
def near_points(n: int, pairs: Index, lengths: Array, limit: float, most: float) -> tuple[Index, Array, Index] | None:
    """Return the largest groups of at most `most` points whose radius is at most `limit` times the shortest edge that leaves them.

    The result has the root of each point (the point itself if it is in no group), the length of its path to the root within the
    group, and the next point on that path (negative at roots); it is None if there are no groups.
    """
    groups = _candidates(n, pairs, lengths, 2.0 * limit, most)
    i, j = pairs.T
    while groups:
        owner = np.full(n, -1, dtype=np.intp)
        for number, (members, _) in enumerate(groups):
            if owner[members[0]] < 0:  # groups are nested or disjoint, and sorted largest first
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
    """Return single-linkage groups whose longest link is at most `limit` times the next, with the length of that next link; largest first.

    A link of the minimum spanning tree is also the shortest path between its ends, so a group's radius is at least half its longest link.
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
