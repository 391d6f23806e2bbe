"""Symbolic analysis before a factorisation: the fill of a sparse symmetric matrix, and groups of columns with the same pattern.

Columns with one pattern form a *front* of the assembly tree of a multifrontal factorisation (Duff and Reid). The elements of the
minimum degree order are such groups, and the element that absorbs another one is its parent in the tree.

A matrix is given by the pattern of its rows, both triangles, and an order: row ``order[k]`` is called k, and ``place`` is the
inverse.
"""

from __future__ import annotations

from ..jit.compiler import compiled


@compiled
def merge_fronts(up, widths, heights, filled, into, child, sibling):  # type: ignore[no-untyped-def]
    """Compute the front that absorbs each front (itself if none does): a parent absorbs a child if this stores few zeros.

    A front of c columns with h rows below is stored as a trapezium of c columns and c + h rows; `filled` counts its nonzero entries.
    Children precede their parents. Initially `into` maps each front to itself, and `child` and `sibling` are -1. `widths` grow as
    fronts are merged.
    """
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


@compiled
def add_front_rows(indptr, indices, order, place, owner, up, seen, ends, rows):  # type: ignore[no-untyped-def]
    """Add the number of rows below its columns to the `ends` of each front; if `rows` has space, also write them, in ascending order.

    A row of the factor reaches from the fronts of its entries up the tree to its own front. `owner` is the front of each column;
    `seen` is initially -1.
    """
    for i in range(owner.size):
        for p in range(indptr[order[i]], indptr[order[i] + 1]):
            j = place[indices[p]]
            if j >= i:
                continue
            s = owner[j]
            while s != owner[i] and seen[s] != i:
                seen[s] = i
                if rows.size > 0:
                    rows[ends[s]] = i
                ends[s] += 1
                s = up[s]


@compiled
def find_positions(starts, rows, up, begin, positions):  # type: ignore[no-untyped-def]
    """Compute the positions of the rows of each front in its parent's front, where the parent's columns precede its rows."""
    for s in range(up.size):
        if starts[s] == starts[s + 1]:
            continue
        mine, end, q = begin[up[s]], begin[up[s] + 1], starts[up[s]]
        for p in range(starts[s], starts[s + 1]):
            if rows[p] < end:
                positions[p] = rows[p] - mine
                continue
            while rows[q] != rows[p]:
                q += 1
            positions[p] = end - mine + q - starts[up[s]]
