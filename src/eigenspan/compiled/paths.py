"""Shortest paths from many sources with a bucket queue."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import reverse_cuthill_mckee

from . import in_pieces, row_lists
from .jit import compiled, spliced

#: Buckets at most: one very long edge must not make the queue longer than the graph.
_MOST_BUCKETS = 1 << 16


class ShortestPaths:
    """Distances through an undirected graph given in both directions; inf where there is no way.

    Nodes wait in a circle of buckets half a median edge wide and are settled bucket by bucket; a node that improves inside the
    current bucket is scanned again, so the result is exact. The nodes are renumbered first so that neighbours lie close in
    memory (reverse Cuthill–McKee). With `single`, lengths are rounded to single precision first, which is a third less to read;
    sums are always double.
    """

    def __init__(self, graph: sp.csr_array, single: bool = False) -> None:
        n = graph.shape[0]
        self.order = reverse_cuthill_mckee(sp.csr_matrix(graph), symmetric_mode=True).astype(np.int64)
        self.place = np.empty(n, np.int64)
        self.place[self.order] = np.arange(n)
        self.moved = sp.csr_array(graph[self.order][:, self.order])
        self.moved.sort_indices()
        positive = self.moved.data[self.moved.data > 0]
        self.width, self.buckets = 1.0, 2
        if positive.size:
            longest = float(positive.max())
            self.width = max(0.5 * float(np.median(positive)), longest / (_MOST_BUCKETS - 2))
            self.buckets = int(longest / self.width) + 3
        self.lengths = self.moved.data.astype(np.float32) if single else self.moved.data

    def __call__(self, sources: NDArray[np.intp]) -> NDArray[np.float64]:
        """Distances (q, n) from the sources. Time grows with the edges times the sources, which run on several threads."""
        return self._distances(sources, self.order)

    def into(self, table: NDArray[Any], column: int, sources: NDArray[np.intp]) -> None:
        """Write the distances from the sources into columns of a table (n, q), from `column` on."""
        block = self._distances(sources, np.arange(self.order.size))  # in our own order, where writing is cheap
        in_pieces(_spread, self.order.size, 65536, block, self.order, column, table)

    def _distances(self, sources: NDArray[np.intp], order: NDArray[np.int64]) -> NDArray[np.float64]:
        n, G = self.moved.shape[0], self.moved
        out = np.empty((len(sources), n))
        step = 1 + 2_000_000 // (n + G.nnz)  # sources in some 20 ms of work
        queue = (self.place[sources], order, self.width, self.buckets)
        in_pieces(_from_sources, len(sources), step, *row_lists(G), self.lengths, *queue, out)
        return out


@spliced
def _from_source(indptr, indices, lengths, source, width, buckets):  # type: ignore[no-untyped-def]
    n = indptr.size - 1
    dist = np.empty(n)
    head = np.empty(buckets, np.int32)  # first node of each bucket
    after = np.empty(n, np.int32)  # doubly linked lists through the nodes
    before = np.empty(n, np.int32)
    inside = np.empty(n, np.int32)  # bucket a node waits in, -1 when it waits nowhere
    for i in range(n):
        dist[i], inside[i] = np.inf, -1
    for b in range(buckets):
        head[b] = -1
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
        du = dist[u]
        for p in range(indptr[u], indptr[u + 1]):
            v = indices[p]
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
    return dist


@compiled
def _from_sources(first, last, indptr, indices, lengths, sources, order, width, buckets, out):  # type: ignore[no-untyped-def]
    for s in range(first, last):
        dist = _from_source(indptr, indices, lengths, sources[s], width, buckets)
        for i in range(dist.size):
            out[s, order[i]] = dist[i]


@compiled
def _spread(first, last, block, order, column, table):  # type: ignore[no-untyped-def]
    for i in range(first, last):
        for s in range(block.shape[0]):
            table[order[i], column + s] = block[s, i]
