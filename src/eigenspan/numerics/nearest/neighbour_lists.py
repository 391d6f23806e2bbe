"""Neighbour lists as arrays, and as CSR arrays whose explicit zeros are edges between coincident points."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..._types import Array, Index, Integers
from ..threads import in_slices, workers

#: Distances and indices, of shape (m, k).
Lists = tuple[Array, Index]
#: Arrays of different lengths, one per query.
Ragged = NDArray[np.object_]

#: Placeholder for a distance of zero, which sparse arithmetic would drop.
TINY = 1e-300
#: Number of lists sorted at a time.
_ROWS = 2**13


def keep_zeros(D: sp.csr_array) -> sp.csr_array:
    """Replace stored zeros by `TINY`, so that sparse arithmetic does not drop them; `restore_zeros` reverts this."""
    if D.data.all():
        return D
    return sp.csr_array((np.maximum(D.data, TINY), D.indices, D.indptr), shape=D.shape)


def restore_zeros(D: sp.csr_array) -> sp.csr_array:
    """Revert `keep_zeros` in place. Apply it to results of sparse arithmetic only: `keep_zeros` may return its argument itself."""
    D.data[D.data <= TINY] = 0.0
    return D


def row_max(D: sp.csr_array) -> Array:
    """Return the largest entry of each row, or zero for an empty row."""
    out, starts = np.zeros(D.shape[0]), np.flatnonzero(np.diff(D.indptr))
    if starts.size:
        out[starts] = np.maximum.reduceat(D.data, D.indptr[starts])
    return out


def without_self(D: sp.csr_array) -> sp.csr_array:
    """Return the lists without edges from a point to itself, in the form of `canonical`."""
    n = D.shape[0]
    rows = np.repeat(np.arange(n, dtype=D.indices.dtype), np.diff(D.indptr))
    keep = rows != D.indices
    data, rows, columns = D.data[keep], rows[keep], D.indices[keep]
    if D.has_canonical_format:
        indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))])
        return sp.csr_array((np.asarray(data, dtype=np.float64), columns, indptr), shape=(n, n))
    return canonical(data, rows, columns, n)


def canonical(data: Array, rows: Integers, columns: Integers, n: int, m: int | None = None) -> sp.csr_array:
    """Return a CSR array with m rows (default n) and n columns, sorted by column with explicit zeros kept.

    Of duplicate edges the shorter is kept.
    """
    m = n if m is None else m
    order = np.lexsort((data, columns, rows))
    data, rows, columns = np.asarray(data, dtype=np.float64)[order], np.asarray(rows)[order], np.asarray(columns)[order]
    first = np.ones(rows.size, dtype=bool)
    first[1:] = (rows[1:] != rows[:-1]) | (columns[1:] != columns[:-1])
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows[first], minlength=m))])
    return sp.csr_array((data[first], columns[first], indptr), shape=(m, n))


def regular(distances: Array, indices: Index, n: int) -> sp.csr_array:
    """Return a CSR array of n columns from lists of equal length, sorted by column."""
    m, k = indices.shape
    columns, data = np.empty((m, k), index_type(n, m * k)), np.empty((m, k))
    bits = (k - 1).bit_length()
    short: Any = np.int32 if n < 2 ** (31 - bits) else np.int64  # 32-bit keys are sorted twice as fast
    places: NDArray[Any] = np.arange(k, dtype=short)

    def sort(rows: slice) -> None:
        keys: NDArray[Any] = indices[rows].astype(short)
        keys <<= bits
        keys += places  # for equal columns, keep the original order
        keys.sort(axis=1)
        np.right_shift(keys, bits, out=columns[rows], casting="unsafe")
        keys &= (1 << bits) - 1
        at = keys + np.arange(0, k * len(keys), k)[:, None]
        # all indices are in range, and mode="raise" would copy
        np.take(distances[rows], at, out=data[rows], mode="clip")

    in_slices(sort, m, _ROWS, workers())
    return sp.csr_array((data.ravel(), columns.ravel(), np.arange(0, m * k + 1, k, dtype=columns.dtype)), shape=(m, n))


def index_type(n: int, nnz: int) -> type[np.int32 | np.int64]:
    """Return int32 if all indices fit, which takes half the memory; otherwise int64."""
    return np.int32 if max(n, nnz) < 2**31 else np.int64


def ragged(distances: Ragged, indices: Ragged, n: int) -> sp.csr_array:
    """Return a CSR array of n columns from lists of different lengths, sorted by column."""
    counts = [len(row) for row in indices]
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.intp)
    columns = np.concatenate([*indices, np.zeros(0, dtype=np.intp)]).astype(np.intp)
    out = sp.csr_array((np.concatenate([*distances, np.zeros(0)]), columns, indptr), shape=(len(counts), n))
    out.sort_indices()
    return out


def nearest_first(squares: Array, indices: Index, k: int) -> Lists:
    """Return the k nearest of each row's candidates by distance, then by index."""
    order = np.lexsort((indices, squares), axis=1)[:, :k]
    return np.sqrt(np.take_along_axis(squares, order, axis=1)), np.take_along_axis(indices, order, axis=1)


def lowest_columns(D: Array, k: int) -> Index:
    """Return the columns of the k smallest entries of each row, by value, then by column."""
    found = np.argpartition(D, k - 1, axis=1)[:, :k]
    found.sort(axis=1)
    values = np.take_along_axis(D, found, axis=1)
    found = np.take_along_axis(found, np.argsort(values, axis=1, kind="stable"), axis=1)
    last = values.max(axis=1)
    # If more entries equal the k-th smallest than are kept, the partition keeps arbitrary ones.
    for i in np.flatnonzero(np.count_nonzero(last[:, None] >= D, axis=1) > k):
        near = np.flatnonzero(last[i] >= D[i])
        found[i] = near[np.argsort(D[i, near], kind="stable")[:k]]
    return found


def empty_lists(rows: int, k: int) -> Lists:
    """Allocate distances and indices."""
    return np.empty((rows, k)), np.empty((rows, k), dtype=np.intp)


def leave_out_self(distances: Array, indices: Index, own: Index) -> Lists:
    """Return lists of k from lists of k + 1: drop the point itself, or the last entry if duplicates displaced it."""
    if np.array_equal(indices[:, 0], own):  # no duplicates: each point is its own nearest
        return distances[:, 1:], indices[:, 1:]
    at = np.where((indices == own[:, None]).any(axis=1), (indices == own[:, None]).argmax(axis=1), indices.shape[1] - 1)
    keep = np.arange(indices.shape[1])[None, :] != at[:, None]
    return distances[keep].reshape(own.size, -1), indices[keep].reshape(own.size, -1)
