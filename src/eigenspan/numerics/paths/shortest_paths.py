"""Shortest paths from many sources, computed for groups of nearby sources."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..._types import Index
from ..jit import csr_index_arrays, in_pieces
from ..jit.compiler import compiled, prefetch
from ..threads import workers

#: Maximum number of buckets, so that one very long edge does not make the queue longer than the graph.
_MAX_BUCKETS = 1 << 16
#: Number of edges from which the median length of all edges is estimated.
_SAMPLE = 100_000
#: Number of sources per group if sources run one by one; their distances are written to the table together.
_GROUP_SIZE = 16
#: Number of sources whose distances determine which sources are near each other.
_PIVOTS = 3
#: Number of nodes renumbered per task.
_NODES = 1 << 16


class ShortestPaths:
    """Distances in an undirected graph whose edges are stored in both directions; inf if there is no path.

    Sources are processed in groups of nearby ones, at most `together`, and the distances of a node from all sources of a group are
    stored next to each other. A single-source run from the middle of the group gives an order of the nodes. Most shortest paths from
    the other sources follow this order too: steps against it are no longer than the distance between source and middle. So nodes are
    scanned in this order, and again while a distance improves, which is little more than once each. A scan relaxes an edge for the
    whole group. The distances are the minimal sums along paths in double precision, whatever the order: bit for bit those of a
    separate run from each source.

    First the nodes are renumbered breadth first so that neighbours are close in memory. With `single`, lengths are first rounded to
    single precision, which reduces the memory to read by a third.
    """

    def __init__(self, graph: sp.csr_array, single: bool = False, together: int = 1) -> None:
        n, self.together = graph.shape[0], together
        given, self.order, self.place = csr_index_arrays(graph), np.empty(n, np.int32), np.full(n, -1, np.int32)
        _breadth_first(*given, self.order, self.place)
        starts = np.concatenate([[0], np.cumsum(np.diff(given[0])[self.order])])
        lengths = np.empty(graph.nnz, np.float32 if single else np.float64)
        self.graph = (starts, np.empty(graph.nnz, np.int32), lengths)
        in_pieces(_renumber, n, _NODES, *given, graph.data, self.order, self.place, *self.graph)
        longest = float(graph.data.max(initial=0.0))
        width, buckets = 1.0, 2
        if longest > 0:
            some = graph.data[:: 1 + graph.nnz // _SAMPLE]
            typical = float(np.median(some[some > 0])) if some.any() else longest
            width = max(0.5 * typical, longest / (_MAX_BUCKETS - 3))
            buckets = 1 << (int(longest / width) + 2).bit_length()
        self.queue = (1.0 / width, buckets - 1)

    def __call__(self, sources: Index) -> NDArray[np.float64]:
        """Return distances (q, n) from the sources. Time grows with edges times sources; several threads share the sources."""
        out = np.empty((len(sources), self.order.size))
        self.into(out.T, sources)
        return out

    def into(self, table: NDArray[np.floating], sources: Index) -> None:
        """Write the distances from the sources into the columns of a table (n, q)."""
        n, starts = self.order.size, self.place[sources]
        groups, middles = self._groups(starts)
        size = max(len(each) for each in groups)
        # per thread: a buffer of distances in the memory order of the kernel that is used, and the work arrays of one source
        kind: dict[str, Any] = {"dtype": table.dtype, "order": "F"} if middles is None else {}
        held = [(np.empty((n, size), **kind), *_work_arrays(n)) for _ in range(min(workers(), len(groups)))]

        def run(first: int, last: int) -> None:
            mine = held.pop()
            distances, alone, lists = mine
            for g in range(first, last):
                near = starts[groups[g]]
                if middles is None:
                    _from_each_source(*self.graph, near, *self.queue, alone, lists, distances)
                else:
                    _from_group(*self.graph, near, starts[middles[g]], *self.queue, alone, lists, distances)
                _write_columns(distances, self.order, groups[g], table)
            held.append(mine)

        step = 1 + 4_000_000 // (size * (n + self.graph[1].size))  # number of groups in some 20 ms of work
        in_pieces(run, len(groups), step)

    def _groups(self, starts: Index) -> tuple[list[Index], list[int] | None]:
        """Group nearby sources, using their distances from a few pivots; return the groups and the middle source of each.

        With ``together=1`` the groups are arbitrary and have no middle.
        """
        q, n = starts.size, self.order.size
        if self.together == 1:  # the same number of groups for each thread
            return np.array_split(np.arange(q), min(q, workers() * -(-q // (workers() * _GROUP_SIZE)))), None
        near, pivot, room, order = np.empty((q, _PIVOTS)), 0, _work_arrays(n), np.empty(n, np.int32)
        for j in range(_PIVOTS):
            _from_source(*self.graph, starts[pivot], *self.queue, *room, order)
            near[:, j] = room[0][starts]
            pivot = int(near[:, : j + 1].min(axis=1).argmax())
        near[np.isinf(near)] = 2 * near[np.isfinite(near)].max() + 1.0
        groups = _bisection_groups(near, min(self.together, q))
        return groups, [each[np.square(near[each] - near[each].mean(axis=0)).sum(axis=1).argmin()] for each in groups]


def _work_arrays(n: int) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Allocate the distances from one source and its bucket lists; reused for all sources, so that they stay in the cache."""
    return np.empty(n), np.empty((3, n), np.int32)


def _bisection_groups(points: NDArray[np.float64], size: int) -> list[Index]:
    """Split points into groups of at most `size`, by halving along the coordinate with the largest range."""
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
def _breadth_first(indptr, indices, order, place):  # type: ignore[no-untyped-def]
    """Compute the breadth-first order of all nodes (restarting at the first unvisited node), and the position of each node."""
    met, scanned = 0, 0
    for start in range(place.size):
        if place[start] >= 0:
            continue
        order[met] = start
        place[start] = met
        met += 1
        while scanned < met:
            u = order[scanned]
            scanned += 1
            for p in range(np.uint64(indptr[u]), np.uint64(indptr[u + 1])):
                v = np.uint32(indices[p])
                if place[v] < 0:
                    order[met] = v
                    place[v] = met
                    met += 1


@compiled
def _renumber(first, last, indptr, indices, lengths, order, place, starts, moved, taken):  # type: ignore[no-untyped-def]
    for i in range(first, last):
        u, at = order[i], starts[i]
        for p in range(indptr[u], indptr[u + 1]):
            moved[at] = place[np.uint32(indices[p])]
            taken[at] = lengths[p]
            at += 1


@compiled
def _from_each_source(indptr, indices, lengths, sources, pace, last, alone, lists, distances):  # type: ignore[no-untyped-def]
    for s in range(sources.size):
        _from_source(indptr, indices, lengths, sources[s], pace, last, alone, lists, np.empty(0, np.int32))
        for i in range(alone.size):  # assigning whole arrays would take a second more to compile
            distances[i, s] = alone[i]


@compiled
def _from_group(indptr, indices, lengths, sources, middle, pace, last_bucket, away, lists, distances):  # type: ignore[no-untyped-def]
    n, q = indptr.size - 1, distances.shape[1]
    order = np.empty(n, np.int32)
    _from_source(indptr, indices, lengths, middle, pace, last_bucket, away, lists, order)
    for i in range(n):
        for s in range(q):
            distances[i, s] = np.inf
    improved = np.zeros(n, np.bool_)
    reach = 0.0
    for s in range(sources.size):
        distances[sources[s], s] = 0.0
        improved[sources[s]] = True
        reach = max(reach, away[sources[s]])
    last = 0  # near the sources paths run in any direction: scan these nodes first, alternating both directions
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
def _write_columns(distances, order, columns, table):  # type: ignore[no-untyped-def]
    for first in range(0, order.size, 64):  # these rows stay in the cache while they are transposed
        last = min(first + 64, order.size)
        for s in range(columns.size):
            column = columns[s]
            for i in range(first, last):
                table[order[i], column] = distances[i, s]


@compiled
def _from_source(indptr, indices, lengths, source, pace, last, dist, lists, order):  # type: ignore[no-untyped-def]
    """Compute the distances from one source; a nonempty `order` receives the nodes in the order of their first scan, unreachable ones last.

    Nodes wait in a circular queue of buckets, each half a median edge wide (`pace` buckets per unit of length; `last` is the number of
    buckets minus one, and the number is a power of two). They are scanned bucket by bucket. A node that improves inside the
    current bucket is scanned again, so the result is exact. The data of the next nodes are prefetched during a scan, otherwise a
    third of the time would be spent waiting for memory. The prefetch is written inline: in a function of its own it would add
    reference counting of the arrays.
    """
    n = indptr.size - 1
    head = np.empty(last + 1, np.int32)  # first node of each bucket
    after, before = lists[0], lists[1]  # doubly linked lists through the nodes
    inside = lists[2]  # bucket of each queued node, else -1
    settled = np.zeros(order.size, np.bool_)
    for i in range(n):
        dist[i], inside[i] = np.inf, -1
    for b in range(last + 1):
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
            current = (current + 1) & last
            continue
        following = after[u]
        head[current] = following
        if following >= 0:
            before[following] = -1
            ahead = after[following]
            if ahead >= 0:  # prefetch its edges, usually two cache lines, and the data of the node after it
                p = indptr[ahead]
                prefetch(indices, p)
                prefetch(lengths, p)
                prefetch(indices, p + 12)
                prefetch(lengths, p + 12)
                ahead = after[ahead]
                if ahead >= 0:
                    prefetch(indptr, ahead)
                    prefetch(dist, ahead)
                    prefetch(after, ahead)
                    prefetch(inside, ahead)
        inside[u] = -1
        waiting -= 1
        if order.size > 0 and not settled[u]:
            settled[u] = True
            order[found] = u
            found += 1
        du = dist[u]
        # unsigned: numba checks signed positions for negative values
        for p in range(np.uint64(indptr[u]), np.uint64(indptr[u + 1])):
            v = np.uint32(indices[p])
            d = du + lengths[p]
            if d < dist[v]:
                dist[v] = d
                b = np.int32(np.int64(d * pace) & last)
                was = inside[v]
                if b == was:
                    continue
                if was >= 0:  # unlink it from its bucket
                    if before[v] >= 0:
                        after[before[v]] = after[v]
                    else:
                        head[was] = after[v]
                    if after[v] >= 0:
                        before[after[v]] = before[v]
                    waiting -= 1
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
