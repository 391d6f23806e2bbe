"""Sparse matrix times a block of vectors, with what a three-term recurrence adds to it: one pass over memory instead of four."""

from __future__ import annotations

from .jit import compiled


@compiled
def add_product(indptr, indices, data, V, alpha, X, beta, Z, gamma, out):  # type: ignore[no-untyped-def]
    """``out = alpha A V + beta X + gamma Z`` for a CSR matrix A; `out` may be X or Z.

    On the thread that calls it: columns do not touch one another, so callers give each thread some of them.
    """
    width = V.shape[1]
    for i in range(indptr.size - 1):
        for c in range(width):
            out[i, c] = beta * X[i, c] + gamma * Z[i, c]
        for p in range(indptr[i], indptr[i + 1]):
            a = alpha * data[p]
            j = indices[p]
            for c in range(width):
                out[i, c] += a * V[j, c]
