"""Sum of very many small symmetric blocks as one sparse matrix."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import reverse_cuthill_mckee

from ..._types import Array
from ..jit import in_pieces
from ..jit.compiler import compiled, inlined
from ..ranks import sort

Lists = NDArray[np.integer]

#: Maximum number of slices of rows; each has a work array over all columns.
_PIECES = 64


def sum_of_blocks(
    starts: Lists, members: Lists, factor: Array, masses: Array, signs: Array, own: float, others: float, level: float
) -> sp.csr_array:
    """Return ``Σ_i m_i S_i B_i S_iᵀ`` with ``B_i = F_i diag(signs) F_iᵀ + level 11ᵀ/m + diag(own, others, …, others)``.

    F_i are rows of `factor`. The signs are ±1. Each row r of the sum is computed by one thread from the neighbourhoods that contain r,
    in their order, so the result does not depend on the number of threads and is symmetric to the last bit. No triplets are
    stored. Rows are visited in reverse Cuthill–McKee order, so that data shared by consecutive rows are still in the cache.
    """
    n = starts.size - 1
    kind = _index(members.size)
    starts = starts.astype(kind)
    table = sp.csr_matrix((np.arange(members.size, dtype=kind), members, starts), shape=(n, n))
    order, lists = np.ascontiguousarray(reverse_cuthill_mckee(table, symmetric_mode=True)), table.tocsc()
    within = (starts, members, lists.indptr, lists.indices, lists.data)
    counts = np.zeros(n + 1, np.int64)
    step = -(-n // _PIECES)
    in_pieces(_count, n, step, order, within, counts)
    indptr = np.cumsum(counts)
    kind = _index(int(indptr[-1]))
    indices, data = np.empty(indptr[-1], kind), np.zeros(indptr[-1])
    in_pieces(_fill, n, step, order, within, factor, masses, signs, own, others, level, indptr, indices, data)
    return sp.csr_array((data, indices, indptr.astype(kind)), shape=(n, n))


def _index(size: int) -> type[np.int32 | np.int64]:
    return np.int32 if size < 2**31 else np.int64


@inlined
def _minus_ones(n):  # type: ignore[no-untyped-def]
    """Return an array of n entries -1; numpy's `full` takes longer to compile."""
    out = np.empty(n, np.int32)
    for i in range(n):
        out[i] = -1
    return out


@compiled
def _count(first, last, order, within, counts):  # type: ignore[no-untyped-def]
    """Count the distinct columns of each row; row r is counted in entry r + 1."""
    starts, members, uses, users, _ = within
    seen = _minus_ones(starts.size - 1)
    for at in range(first, last):
        r, found = order[at], 0
        for use in range(uses[r], uses[r + 1]):
            i = users[use]
            for p in range(starts[i], starts[i + 1]):
                if seen[members[p]] != r:
                    seen[members[p]] = r
                    found += 1
        counts[r + 1] = found


@compiled
def _fill(first, last, order, within, F, masses, signs, own, others, level, indptr, indices, data):  # type: ignore[no-untyped-def]
    starts, members, uses, users, places = within
    slot, left = _minus_ones(starts.size - 1), np.empty(signs.size)
    for at in range(first, last):
        r = order[at]
        columns, row = indices[indptr[r] : indptr[r + 1]], data[indptr[r] : indptr[r + 1]]
        _columns_of_row(r, starts, members, uses, users, slot, columns)
        for c in range(columns.size):
            slot[columns[c]] = c
        for use in range(uses[r], uses[r + 1]):
            a, b, here = starts[users[use]], starts[users[use] + 1], places[use]
            mass = masses[users[use]]
            for q in range(left.size):
                left[q] = mass * signs[q] * F[here, q]
            _add_row(members[a:b], F[a:b], left, mass * level / (b - a), slot, row)
            row[slot[r]] += mass * (own if here == a else others)
        for c in range(columns.size):
            slot[columns[c]] = -1


@inlined
def _columns_of_row(r, starts, members, uses, users, slot, columns):  # type: ignore[no-untyped-def]
    found = 0
    for use in range(uses[r], uses[r + 1]):
        near = members[starts[users[use]] : starts[users[use] + 1]]
        for p in range(near.size):
            if slot[near[p]] < 0:
                slot[near[p]] = 0
                columns[found] = near[p]
                found += 1
    sort(columns)


@inlined
def _add_row(near, F, left, mean, slot, row):  # type: ignore[no-untyped-def]
    """Add a row of a block: ``left`` times the factors of its members, plus the mean."""
    for p in range(near.size):
        value = mean
        for q in range(left.size):
            value += left[q] * F[p, q]
        row[slot[near[p]]] += value
