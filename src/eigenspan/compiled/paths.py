"""Shortest paths from many sources, a group of near ones at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import reverse_cuthill_mckee

from .._resources import workers
from . import in_pieces, row_lists
from .jit import compiled

Index = NDArray[np.intp]

#: Buckets at most: one very long edge must not make the queue longer than the graph.
_MOST_BUCKETS = 1 << 16
#: Edges whose median length is that of all.
_SAMPLE = 100_000
#: Sources of a group that run one by one: their distances are written side by side.
_ALONE = 16
#: Sources from which the distances tell which sources are near each other.
_PIVOTS = 3


class ShortestPaths:
    """Distances through an undirected graph given in both directions; inf where there is no way.

    Sources go in groups of near ones, `together` at most, and a node holds its distances from all of a group side by side. A plain
    run from the middle of the group gives an order of the nodes in which most paths from the others run forwards too: of their
    steps those towards the middle are no longer than the source is away from it. So nodes are scanned in this order, again while
    a distance improves, which is little more than once each, and a scan takes an edge for the whole group. The distances are the
    least sums along paths, in double precision, whatever the order: bit for bit those of a run from every source alone.

    The nodes are renumbered first so that neighbours lie close in memory (reverse Cuthill–McKee). With `single`, lengths are rounded
    to single precision first, which is a third less to read.
    """

    def __init__(self, graph: sp.csr_array, single: bool = False, together: int = 1) -> None:
        n, self.together = graph.shape[0], together
        self.order = reverse_cuthill_mckee(sp.csr_matrix(graph), symmetric_mode=True).astype(np.int64)
        self.place = np.empty(n, np.int64)
        self.place[self.order] = np.arange(n)
        rows = graph[self.order]
        self.moved = sp.csr_array(
            (rows.data, self.place[rows.indices].astype(np.int32), rows.indptr), shape=graph.shape
        )
        longest = float(rows.data.max(initial=0.0))
        self.width, self.buckets = 1.0, 2
        if longest > 0:
            some = rows.data[:: 1 + rows.nnz // _SAMPLE]
            typical = float(np.median(some[some > 0])) if some.any() else longest
            self.width = max(0.5 * typical, longest / (_MOST_BUCKETS - 2))
            self.buckets = int(longest / self.width) + 3
        self.lengths = self.moved.data.astype(np.float32) if single else self.moved.data

    def __call__(self, sources: Index) -> NDArray[np.float64]:
        """Distances (q, n) from the sources. Time grows with the edges times the sources, which run on several threads."""
        out = np.empty((len(sources), self.order.size))
        self.into(out.T, sources)
        return out

    def into(self, table: NDArray[Any], sources: Index) -> None:
        """Write the distances from the sources into the columns of a table (n, q)."""
        n, G, starts = self.order.size, self.moved, self.place[sources]
        size = min(self.together if self.together > 1 else _even(len(sources)), len(sources))
        graph, queue = (*row_lists(G), self.lengths), (self.width, self.buckets)
        groups, middles = self._groups(starts, size)
        # one for each thread: a column after the other where these are found so, else the columns side by side
        held = [np.empty((n, size), order="F" if middles is None else "C") for _ in range(min(workers(), len(groups)))]

        def run(first: int, last: int) -> None:
            distances = held.pop()
            for g in range(first, last):
                if middles is None:
                    _each_alone(*graph, starts[groups[g]], *queue, distances)
                else:
                    _from_group(*graph, starts[groups[g]], starts[middles[g]], *queue, distances)
                _spread(distances, self.place, groups[g], table)
            held.append(distances)

        step = 1 + 4_000_000 // (size * (n + G.nnz))  # groups in some 20 ms of work
        in_pieces(run, len(groups), step)

    def _groups(self, starts: Index, size: int) -> tuple[list[Index], list[int] | None]:
        """Sources that are near each other, by their distances from a few of them, and the middle one of each group; or any."""
        if self.together == 1:
            return [np.arange(s, min(s + size, starts.size)) for s in range(0, starts.size, size)], None
        near, pivot, order = np.empty((starts.size, _PIVOTS)), 0, np.empty(self.order.size, np.int32)
        graph = (*row_lists(self.moved), self.lengths)
        for j in range(_PIVOTS):
            near[:, j] = _from_source(*graph, starts[pivot], self.width, self.buckets, order)[starts]
            pivot = int(near[:, : j + 1].min(axis=1).argmax())
        near[np.isinf(near)] = 2 * near[np.isfinite(near)].max() + 1.0
        groups = _halves(near, size)
        return groups, [each[np.square(near[each] - near[each].mean(axis=0)).sum(axis=1).argmin()] for each in groups]


def _even(sources: int) -> int:
    """Sources to a group, so that every thread has as many groups: which sources share one does not matter to the result."""
    each = workers() * -(-sources // (workers() * _ALONE))
    return -(-sources // each)


def _halves(points: NDArray[np.float64], size: int) -> list[Index]:
    """Points in groups of at most `size`, by halving along the coordinate of largest range."""
    groups: list[Index] = []
    waiting = [np.arange(len(points))]
    while waiting:
        some = waiting.pop()
        if some.size <= size:
            groups.append(some)
            continue
        along = points[some, np.ptp(points[some], axis=0).argmax()]
        some, half = some[np.argsort(along, kind="stable")], size * -(-some.size // (2 * size))
        waiting += [some[half:], some[:half]]
    return groups


@compiled
def _each_alone(indptr, indices, lengths, sources, width, buckets, distances):  # type: ignore[no-untyped-def]
    for s in range(sources.size):
        alone = _from_source(indptr, indices, lengths, sources[s], width, buckets, np.empty(0, np.int32))
        for i in range(alone.size):  # assigning whole arrays takes the compiler a second
            distances[i, s] = alone[i]


@compiled
def _from_group(indptr, indices, lengths, sources, middle, width, buckets, distances):  # type: ignore[no-untyped-def]
    n, q = indptr.size - 1, distances.shape[1]
    order = np.empty(n, np.int32)
    away = _from_source(indptr, indices, lengths, middle, width, buckets, order)
    for i in range(n):
        for s in range(q):
            distances[i, s] = np.inf
    improved = np.zeros(n, np.bool_)
    reach = 0.0
    for s in range(sources.size):
        distances[sources[s], s] = 0.0
        improved[sources[s]] = True
        reach = max(reach, away[sources[s]])
    last = 0  # about the sources themselves paths run any way: these nodes come first, in both directions in turn
    while last < n and away[order[last]] <= 2 * reach:
        last += 1
    own = np.empty(q)
    scans, backwards = 1, False
    while scans > 0 or last < n:
        if scans == 0:
            last = n
        backwards = last < n and not backwards
        scans = 0
        for i in range(last):
            u = order[last - 1 - i] if backwards else order[i]
            if not improved[u]:
                continue
            improved[u] = False
            scans += 1
            for s in range(q):
                own[s] = distances[u, s]
            for p in range(indptr[u], indptr[u + 1]):
                v, length = indices[p], lengths[p]
                row = distances[v]
                better = 0
                for s in range(q):
                    better += own[s] + length < row[s]
                if better > 0:
                    improved[v] = True
                    for s in range(q):
                        row[s] = min(own[s] + length, row[s])


@compiled
def _spread(distances, place, columns, table):  # type: ignore[no-untyped-def]
    for first in range(0, place.size, 64):  # rows that stay in the cache while they are turned
        last = min(first + 64, place.size)
        for s in range(columns.size):
            column = columns[s]
            for i in range(first, last):
                table[i, column] = distances[place[i], s]


@compiled
def _from_source(indptr, indices, lengths, source, width, buckets, order):  # type: ignore[no-untyped-def]
    """Distances from one source; `order`, unless it is empty, gets the nodes as they are first scanned, then those out of reach.

    Nodes wait in a circle of buckets half a median edge wide and are scanned bucket by bucket; one that improves inside the
    current bucket is scanned again, so the result is exact.
    """
    n = indptr.size - 1
    dist = np.empty(n)
    head = np.empty(buckets, np.int32)  # first node of each bucket
    after = np.empty(n, np.int32)  # doubly linked lists through the nodes
    before = np.empty(n, np.int32)
    inside = np.empty(n, np.int32)  # bucket a node waits in, -1 when it waits nowhere
    settled = np.zeros(order.size, np.bool_)
    for i in range(n):
        dist[i], inside[i] = np.inf, -1
    for b in range(buckets):
        head[b] = -1
    found = 0
    dist[source] = 0.0
    head[0] = source
    after[source] = -1
    before[source] = -1
    inside[source] = 0
    waiting = 1
    current = 0
    while waiting > 0:
        u = head[current]
        if u < 0:
            current = current + 1 if current + 1 < buckets else 0
            continue
        head[current] = after[u]
        if after[u] >= 0:
            before[after[u]] = -1
        inside[u] = -1
        waiting -= 1
        if order.size > 0 and not settled[u]:
            settled[u] = True
            order[found] = u
            found += 1
        du = dist[u]
        # unsigned: signed positions cost a look whether they are negative
        for p in range(np.uint64(indptr[u]), np.uint64(indptr[u + 1])):
            v = np.uint32(indices[p])
            d = du + lengths[p]
            if d < dist[v]:
                b = inside[v]
                if b >= 0:  # unlink from the bucket it waits in
                    if before[v] >= 0:
                        after[before[v]] = after[v]
                    else:
                        head[b] = after[v]
                    if after[v] >= 0:
                        before[after[v]] = before[v]
                    waiting -= 1
                dist[v] = d
                b = np.int64(d / width) % buckets
                inside[v] = b
                before[v] = -1
                after[v] = head[b]
                if head[b] >= 0:
                    before[head[b]] = v
                head[b] = v
                waiting += 1
    for v in range(order.size):
        if not settled[v]:
            order[found] = v
            found += 1
    return dist
