"""Products of a sparse matrix with a block of vectors, fused with a three-term recurrence: one pass over memory instead of four."""

from __future__ import annotations

from ..jit.compiler import compiled


@compiled
def add_product(indptr, indices, data, V, alpha, X, beta, Z, gamma, out):  # type: ignore[no-untyped-def]
    """Compute ``out = alpha A V + beta X + gamma Z`` for a CSR matrix A; `out` may be X or Z.

    Runs on the calling thread. Columns are independent, so callers give each thread some of them.
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


@compiled
def inner_products(indptr, indices, data, starts, rows, values, out):  # type: ignore[no-untyped-def]
    """Compute ``out = A Bᵀ``, dense, for two CSR matrices A (`indptr`, `indices`, `data`) and Bᵀ (`starts`, `rows`, `values`).

    Sums run in the order of the features. Runs on the calling thread.
    """
    for i in range(indptr.size - 1):
        row = out[i]
        for j in range(row.size):
            row[j] = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            a = data[p]
            f = indices[p]
            for q in range(starts[f], starts[f + 1]):
                row[rows[q]] += a * values[q]
