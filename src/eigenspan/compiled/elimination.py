"""Which entries fill when a sparse symmetric matrix is eliminated, and in which groups: the analysis before a factorisation.

The elimination tree is Liu's, the counts are those of Gilbert, Ng and Peyton. Supernodes, runs of columns with one pattern, form
the assembly tree of a multifrontal factorisation (Duff and Reid).

A matrix is given by the pattern of its rows, both triangles, and an order: row ``order[k]`` is called k, and ``place`` is the
inverse. The *parent* of a column is the first row below the diagonal that its column of the factor reaches, -1 for a root.
"""

from __future__ import annotations

import numpy as np

from .jit import compiled
from .ranks import sort


@compiled
def fingerprint(indptr, indices):  # type: ignore[no-untyped-def]
    """Two sums over the entries of a pattern: one tells it from others, the other is zero where the two triangles mirror each other.

    Every entry (i, j) adds scrambled bits of its place, the same as its mirror image (j, i), and in the second sum with the
    opposite sign. By chance alone, sums of other patterns agree once in 2⁶⁴ times.
    """
    whole, balance = np.uint64(indptr.size), np.uint64(0)
    for i in range(indptr.size - 1):
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            bits = np.uint64(min(i, j)) << np.uint64(32) | np.uint64(max(i, j) + 1)
            bits = (bits ^ (bits >> np.uint64(31))) * np.uint64(0x7FB5D329728EA185)
            bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x81DADEF4BC2DD44D)
            bits ^= bits >> np.uint64(33)
            whole += bits
            if j < i:
                balance += bits
            elif j > i:
                balance -= bits
    return whole, balance


@compiled
def elimination_tree(indptr, indices, order, place):  # type: ignore[no-untyped-def]
    """The parents: the roots met on the way up from every entry left of the diagonal join the row's own tree."""
    n = indptr.size - 1
    parent, shortcut = np.full(n, -1, np.int32), np.full(n, -1, np.int32)
    for i in range(n):
        for p in range(indptr[order[i]], indptr[order[i] + 1]):
            j = place[indices[p]]
            while -1 < j < i:
                above = shortcut[j]
                shortcut[j] = i
                if above == -1:
                    parent[j] = i
                j = above
    return parent


@compiled
def postorder(parent, ranked):  # type: ignore[no-untyped-def]
    """The nodes with every subtree in one run, below its root; the children of a node as they are ranked among all nodes."""
    n = parent.size
    child, sibling = np.full(n + 1, -1, np.int32), np.full(n, -1, np.int32)  # the last entry of `child` heads the roots
    for q in range(n - 1, -1, -1):  # lists grow at their heads: the last to come is the first
        j = ranked[q]
        sibling[j] = child[parent[j]]
        child[parent[j]] = j
    order, path = np.empty(n, np.int32), np.empty(n + 1, np.int32)
    done, depth = 0, 0
    path[0] = child[n]
    if n == 0:
        return order
    while depth >= 0:
        j = path[depth]
        if child[j] != -1:
            depth += 1
            path[depth] = child[j]
            child[j] = -1
            continue
        order[done] = j
        done += 1
        if sibling[j] != -1:
            path[depth] = sibling[j]
        else:
            depth -= 1
    return order


@compiled
def column_counts(indptr, indices, order, place, parent):  # type: ignore[no-untyped-def]
    """Entries of every column of the factor, its diagonal included; the columns are in postorder.

    A row of the factor is a subtree; its leaves are found in postorder, and every leaf adds its path up to where it meets the
    path of the leaf before it. So counts are sums of +1 and -1 over subtrees, in time almost proportional to the entries.
    """
    n = parent.size
    first = np.arange(n).astype(np.int32)  # the first node of every subtree
    for j in range(n):
        if parent[j] != -1:
            first[parent[j]] = min(first[parent[j]], first[j])
    count, newest, leaf = np.ones(n, np.int64), np.full(n, -1, np.int32), np.full(n, -1, np.int32)
    for j in range(n):
        if first[j] != j:
            count[j] = 0  # what its subtree brings is added below
    upward = np.arange(n).astype(np.int32)
    for j in range(n):
        if parent[j] != -1:
            count[parent[j]] -= 1
        for p in range(indptr[order[j]], indptr[order[j] + 1]):
            i = place[indices[p]]
            if i <= j or first[j] <= newest[i]:
                continue
            newest[i] = first[j]
            count[j] += 1
            before, leaf[i] = leaf[i], j
            if before == -1:
                continue
            meet = before
            while upward[meet] != meet:
                meet = upward[meet]
            while before != meet:
                above = upward[before]
                upward[before] = meet
                before = above
            count[meet] -= 1
        if parent[j] != -1:
            upward[j] = parent[j]
    for j in range(n):
        if parent[j] != -1:
            count[parent[j]] += count[j]
    return count


@compiled
def supernodes(parent, count):  # type: ignore[no-untyped-def]
    """Where runs of columns with one pattern begin, and the end: a run takes in the one before it while few zeros are stored for it.

    A run of c columns whose last has h entries below the diagonal is stored as a trapezium of c columns and c + h rows.
    """
    n = parent.size
    begin, true = np.empty(n + 1, np.int64), np.empty(n, np.int64)
    found = 0
    for j in range(n):
        begin[found], true[found] = j, count[j]
        found += 1
        while found > 1 and -1 < parent[begin[found - 1] - 1] <= j:
            c, h = j + 1 - begin[found - 2], count[j] - 1
            filled = true[found - 2] + true[found - 1]
            size = c * (c + 1) // 2 + c * h
            allowed = 0.4 if c <= 8 else 0.1 if c <= 32 else 0.03
            if c > 2 and size - filled > allowed * size:
                break
            found -= 1
            true[found - 1] = filled
    begin[found] = n
    return begin[: found + 1].copy()


@compiled
def row_lists(indptr, indices, order, place, parent, count, begin):  # type: ignore[no-untyped-def]
    """For every supernode its rows below its columns, ascending, as ``starts, rows``; its parent `up`; `seats`; `child` and `elder`.

    `seats` are the places of the rows in the front of the parent: its columns first, its rows after them. The children of s are
    ``child[s]``, the last of them, and each time the `elder` of the one before, down to -1.
    """
    groups = begin.size - 1
    owner, up = np.empty(parent.size, np.int32), np.full(groups, -1, np.int32)
    starts = np.zeros(groups + 1, np.int64)
    for s in range(groups):
        owner[begin[s] : begin[s + 1]] = s
        starts[s + 1] = starts[s] + count[begin[s + 1] - 1] - 1
    rows, seats = np.empty(starts[-1], np.int32), np.empty(starts[-1], np.int32)
    child, elder, seen = (
        np.full(groups, -1, np.int32),
        np.full(groups, -1, np.int32),
        np.full(parent.size, -1, np.int32),
    )
    for s in range(groups):
        at, end = starts[s], begin[s + 1]
        for k in range(begin[s], end):
            for p in range(indptr[order[k]], indptr[order[k] + 1]):
                i = place[indices[p]]
                if i >= end and seen[i] != s:
                    seen[i] = s
                    rows[at] = i
                    at += 1
        below = child[s]
        while below != -1:
            for p in range(starts[below], starts[below + 1]):
                i = rows[p]
                if i >= end and seen[i] != s:
                    seen[i] = s
                    rows[at] = i
                    at += 1
            below = elder[below]
        sort(rows[starts[s] : starts[s + 1]])
        if parent[end - 1] != -1:
            up[s] = owner[parent[end - 1]]
            elder[s], child[up[s]] = child[up[s]], s
    for s in range(groups):
        if up[s] == -1:
            continue
        mine, end, width = begin[up[s]], begin[up[s] + 1], begin[up[s] + 1] - begin[up[s]]
        q = starts[up[s]]
        for p in range(starts[s], starts[s + 1]):
            if rows[p] < end:
                seats[p] = rows[p] - mine
                continue
            while rows[q] != rows[p]:
                q += 1
            seats[p] = width + q - starts[up[s]]
    return starts, rows, up, seats, child, elder


@compiled
def stack_places(sizes, child, elder, part):  # type: ignore[no-untyped-def]
    """Where every supernode leaves something of its size for its parent, and the room that takes.

    The supernodes of a part, consecutive or not, are visited in their order and share a stack: what a supernode leaves takes
    the place of what its children of the same part left it.
    """
    parts = part.max() + 1
    places, top, peak = np.empty(sizes.size, np.int64), np.zeros(parts, np.int64), np.zeros(parts, np.int64)
    for s in range(sizes.size):
        at = top[part[s]]
        below = child[s]
        while below != -1:
            if part[below] == part[s]:
                at = min(at, places[below])
            below = elder[below]
        places[s] = at
        top[part[s]] = at + sizes[s]
        peak[part[s]] = max(peak[part[s]], at + sizes[s])
    total = 0
    for q in range(parts):
        peak[q], total = total, total + peak[q]
    for s in range(sizes.size):
        places[s] += peak[part[s]]
    return places, total


@compiled
def shares(work, up, limit):  # type: ignore[no-untyped-def]
    """Cut the tree into runs of supernodes that depend on nothing outside: bounds (runs, 2), the work of each, the part of every node.

    A supernode whose subtree holds more work than the limit belongs to no run, and is of part 0; run q is part q + 1.
    """
    groups = work.size
    subtree = work.copy()
    for s in range(groups):
        if up[s] != -1:
            subtree[up[s]] += subtree[s]
    bounds, sums = np.empty((groups, 2), np.int64), np.zeros(groups)
    part, runs, running = np.zeros(groups, np.int32), 0, False
    for s in range(groups):
        if subtree[s] > limit:
            running = False
            continue
        if not running:
            bounds[runs, 0] = s
            runs += 1
            running = True
        part[s], bounds[runs - 1, 1] = runs, s + 1
        sums[runs - 1] += work[s]
        whole = up[s] == -1 or subtree[up[s]] > limit
        running = not (whole and sums[runs - 1] > limit)
    return bounds[:runs].copy(), sums[:runs].copy(), part
