"""Which entries fill when a sparse symmetric matrix is eliminated, and in which groups: the analysis before a factorisation.

Columns with one pattern form a *front* of the assembly tree of a multifrontal factorisation (Duff and Reid). The elements of the
minimum degree order are such groups, and the element that takes one in is its parent in the tree.

A matrix is given by the pattern of its rows, both triangles, and an order: row ``order[k]`` is called k, and ``place`` is the
inverse.
"""

from __future__ import annotations

import numpy as np

from .jit import compiled


@compiled
def merge_fronts(up, widths, heights):  # type: ignore[no-untyped-def]
    """The front that takes in every front, itself where none does: a parent takes in a child while few zeros are stored for it.

    A front of c columns with h rows below is stored as a trapezium of c columns and c + h rows. Children come before their parents;
    `widths` grow as fronts are merged.
    """
    into, child, sibling = np.arange(up.size), np.full(up.size, -1), np.full(up.size, -1)
    filled = widths * (widths + 1) // 2 + widths * heights
    for parent in range(up.size):
        s = child[parent]
        while s != -1:
            c, entries = widths[parent] + widths[s], filled[parent] + filled[s]
            size = c * (c + 1) // 2 + c * heights[parent]
            allowed = 0.4 if c <= 8 else 0.1 if c <= 32 else 0.03
            if c <= 2 or size - entries <= allowed * size:
                into[s], widths[parent], filled[parent] = parent, c, entries
            s = sibling[s]
        if up[parent] != -1:
            sibling[parent], child[up[parent]] = child[up[parent]], parent
    for s in range(up.size - 1, -1, -1):
        into[s] = into[into[s]]
    return into


@compiled
def row_lists(indptr, indices, order, place, owner, up, begin):  # type: ignore[no-untyped-def]
    """For every front its rows below its columns, ascending, as ``starts, rows``; and `seats`.

    A row of the factor reaches from the fronts of its entries up the tree to its own front. `owner` is the front of every column.
    `seats` are the places of the rows in the front of the parent: its columns first, its rows after them.
    """
    groups = begin.size - 1
    starts, seen = np.zeros(groups + 1, np.int64), np.full(groups, -1)
    rows = np.empty(0, np.int32)
    for filling in range(2):  # first they are counted
        for i in range(owner.size):
            for p in range(indptr[order[i]], indptr[order[i] + 1]):
                j = place[indices[p]]
                if j >= i:
                    continue
                s = owner[j]
                while s != owner[i] and seen[s] != i + filling * owner.size:
                    seen[s] = i + filling * owner.size
                    if filling == 1:
                        rows[starts[s]] = i
                    starts[s] += 1
                    s = up[s]
        total = 0
        for s in range(
            groups
        ):  # the numbers become the places where lists begin; filled, they end where the next one begins
            total, starts[s] = (total + starts[s], total) if filling == 0 else (starts[s], total)
        starts[groups] = total
        if filling == 0:
            rows = np.empty(total, np.int32)
    seats = np.empty(rows.size, np.int32)
    for s in range(groups):
        if starts[s] == starts[s + 1]:
            continue
        mine, end, q = begin[up[s]], begin[up[s] + 1], starts[up[s]]
        for p in range(starts[s], starts[s + 1]):
            if rows[p] < end:
                seats[p] = rows[p] - mine
                continue
            while rows[q] != rows[p]:
                q += 1
            seats[p] = end - mine + q - starts[up[s]]
    return starts, rows, seats
