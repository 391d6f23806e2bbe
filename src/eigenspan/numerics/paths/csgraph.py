"""scipy's graph routines for indices of any type: in older releases some accept 32-bit indices only."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph

from ..._types import Matrix, Sparse, is_sparse


def dijkstra(graph: Matrix, **options: Any) -> Any:
    """Return the lengths of shortest paths."""
    return csgraph.dijkstra(_short(graph), **options)


def minimum_spanning_tree(graph: Matrix) -> Sparse:
    """Return the minimum spanning forest as a sparse array."""
    return csgraph.minimum_spanning_tree(_short(graph))


def _short(graph: Matrix) -> Matrix:
    if not is_sparse(graph) or graph.indices.dtype == np.int32 or max(*graph.shape, graph.nnz) >= 2**31:
        return graph
    indices, indptr = graph.indices.astype(np.int32), graph.indptr.astype(np.int32)
    return sp.csr_array((graph.data, indices, indptr), shape=graph.shape)
