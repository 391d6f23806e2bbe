"""Shortest paths whose first step is one of a few given edges."""

from __future__ import annotations

import numpy as np

from ..._types import Array, Integers
from ..jit import in_pieces
from ..jit.compiler import compiled


def first_steps(indptr: Integers, indices: Integers, lengths: Array, distances: Array) -> Array:
    """Return ``min_j (length_ij + distances_j·)`` over the entries j of each row i of a CSR pattern: (rows, q) from distances (n, q)."""
    out = np.empty((indptr.size - 1, distances.shape[1]))
    step = 1 + int(2e7 / (1 + lengths.size / max(1, indptr.size - 1) * distances.shape[1]))
    lists = (indptr.astype(np.int64, copy=False), indices.astype(np.int64, copy=False))
    in_pieces(_first_steps, indptr.size - 1, step, *lists, lengths, np.ascontiguousarray(distances), out)
    return out


@compiled
def _first_steps(first, last, indptr, indices, lengths, distances, out):  # type: ignore[no-untyped-def]
    for i in range(first, last):
        for c in range(out.shape[1]):
            out[i, c] = np.inf
        for p in range(indptr[i], indptr[i + 1]):
            j, length = indices[p], lengths[p]
            for c in range(out.shape[1]):
                way = length + distances[j, c]
                out[i, c] = way if way < out[i, c] else out[i, c]
