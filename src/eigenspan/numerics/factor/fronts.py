"""Compiled loops of the multifrontal factorisation: L S Lᵀ with signs S = ±1, no pivoting.

A *front* is the dense matrix of one supernode. It has c columns, stored as the rows of a panel (c, m), and an *update* for the
m - c rows below: a square matrix of which only the entries right of the diagonal are used. Panels and updates are stored
consecutively in long arrays; ``at`` is the start of one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import types

from ..._types import Integers
from ..jit.compiler import compiled, summed
from ..small_matrices import dot

#: Block sizes: number of columns per update of the rest of the panel, and number of columns per update within such a block.
PANEL, _BLOCK = 96, 8
#: Number of rows of a product that are computed together.
TILE = 96


_double = types.CPointer(types.float64)
#: BLAS as numba calls it: ``C = alpha A B + beta C``, stored by columns.
_gemm = types.ExternalFunction(
    "numba_xxgemm",
    types.intc(
        types.char, types.char, types.char, types.intp, types.intp, types.intp,
        _double, _double, types.intp, _double, types.intp, _double, _double, types.intp,
    ),
)  # fmt: skip
_KIND, _AS_IS, _TURNED = ord("d"), ord("n"), ord("t")


class FrontPlan(NamedTuple):
    """The assembly tree and the storage layout, computed by the analysis."""

    #: First column of each supernode; starts of the lists of its rows below them, and these lists.
    begin: Integers
    starts: Integers
    rows: Integers
    #: Parent of each supernode; positions of its rows in the parent's front; its last child, and its previous sibling.
    up: Integers
    positions: Integers
    child: Integers
    previous_sibling: Integers
    #: Positions of panels, and of updates and vectors for the parent.
    where: Integers
    room: Integers
    slots: Integers


@compiled
def gather_front(s, plan, matrix, values, updates):  # type: ignore[no-untyped-def]
    """Assemble the panel of supernode s from its matrix entries and from the updates of its children."""
    begin, starts, positions = plan.begin, plan.starts, plan.positions
    indptr, indices, data, order, place, position = matrix
    first, end, at = begin[s], begin[s + 1], plan.where[s]
    width = end - first
    m = width + starts[s + 1] - starts[s]
    for p in range(at, at + width * m):
        values[p] = 0.0
    for p in range(starts[s], starts[s + 1]):
        position[plan.rows[p]] = width + p - starts[s]
    for k in range(first, end):
        row = at + (k - first) * m
        for p in range(indptr[order[k]], indptr[order[k] + 1]):
            i = place[indices[p]]
            if i >= end:
                values[row + position[i]] += data[p]
            elif i >= k:
                values[row + i - first] += data[p]
    below = plan.child[s]
    while below != -1:
        ours, height = starts[below], starts[below + 1] - starts[below]
        j = 0
        while j < height and positions[ours + j] < width:
            source, target = plan.room[below] + j * height, at + positions[ours + j] * m
            for i in range(j, height):
                values[target + positions[ours + i]] += updates[source + i]
            j += 1
        below = plan.previous_sibling[below]


@compiled
def add_child_updates(s, plan, updates):  # type: ignore[no-untyped-def]
    """Add the parts of the children's updates for rows below supernode s's columns to its own update."""
    starts, positions = plan.starts, plan.positions
    width, m = plan.begin[s + 1] - plan.begin[s], starts[s + 1] - starts[s]
    below = plan.child[s]
    while below != -1:
        ours, height = starts[below], starts[below + 1] - starts[below]
        for j in range(height):
            if positions[ours + j] < width:
                continue
            source, target = plan.room[below] + j * height, plan.room[s] + (positions[ours + j] - width) * m - width
            for i in range(j, height):
                updates[target + positions[ours + i]] += updates[source + i]
        below = plan.previous_sibling[below]


@compiled
def subtract(values, at, m, depth, low, high, signs, old, target, to, stride):  # type: ignore[no-untyped-def]
    """Update entries i ≥ low of rows low ≤ j < high by columns of a panel: ``old · target - Σ_k signs[k] L[i, k] L[j, k]``.

    `to` is the position of entry (low, low) in the target.
    """
    rows = high - low
    left, factors = np.empty(depth * rows), np.empty(2)
    factors[0], factors[1] = -1.0, old
    for k in range(depth):
        for j in range(rows):
            left[k * rows + j] = signs[k] * values[at + k * m + low + j]
    _gemm(
        _KIND, _AS_IS, _TURNED, m - low, rows, depth, factors.ctypes, values[at + low :].ctypes, m,
        left.ctypes, rows, factors[1:].ctypes, target[to:].ctypes, stride,
    )  # fmt: skip


@compiled
def eliminate(values, at, m, first, last, signs):  # type: ignore[no-untyped-def]
    """Compute columns `first` to `last` of L in a panel that includes the updates by earlier columns; return False at a zero pivot."""
    for p in range(first, last, _BLOCK):
        q = min(p + _BLOCK, last)
        if p > first:
            subtract(values, at + first * m, m, p - first, p, q, signs[first:], 1.0, values, at + p * m + p, m)
        for j in range(p, q):
            row, size = values[at + j * m + j : at + j * m + m], m - j
            for k in range(p, j):
                other = values[at + k * m + j : at + k * m + m]
                scale = signs[k] * other[0]
                for i in range(size):
                    row[i] -= scale * other[i]
            if not abs(row[0]) > 0.0:
                return False
            signs[j] = 1.0 if row[0] > 0 else -1.0
            root = np.sqrt(abs(row[0]))
            scale = signs[j] / root
            for i in range(size):
                row[i] *= scale
            row[0] = root
    return True


@compiled
def eliminate_all(first, last, plan, matrix, values, signs, updates):  # type: ignore[no-untyped-def]
    """Factorise the fronts of supernodes `first` to `last`, after those of their children; return False at a zero pivot."""
    for s in range(first, last):
        width, height = plan.begin[s + 1] - plan.begin[s], plan.starts[s + 1] - plan.starts[s]
        m, at, to, sign = width + height, plan.where[s], plan.room[s], signs[plan.begin[s] :]
        gather_front(s, plan, matrix, values, updates)
        for p in range(0, width, PANEL):
            q = min(p + PANEL, width)
            if not eliminate(values, at, m, p, q, sign):
                return False
            for low in range(q, width, TILE):
                high, here = min(low + TILE, width), at + low * m + low
                subtract(values, at + p * m, m, q - p, low, high, sign[p:], 1.0, values, here, m)
        for low in range(width, m, TILE):
            high, here = min(low + TILE, m), to + (low - width) * (height + 1)
            subtract(values, at, m, width, low, high, sign, 0.0, updates, here, height)
        add_child_updates(s, plan, updates)
    return True


@summed
def _subtract_columns(f, values, at, m, k):  # type: ignore[no-untyped-def]
    """Solve for entries k to k + 3 of f, and subtract the products of their columns (from position `at`) from the later entries."""
    a, b, c, d = values[at + k : at + m], values[at + m + k :], values[at + 2 * m + k :], values[at + 3 * m + k :]
    p = f[k] / a[0]
    q = (f[k + 1] - p * a[1]) / b[1]
    r = (f[k + 2] - p * a[2] - q * b[2]) / c[2]
    s = (f[k + 3] - p * a[3] - q * b[3] - r * c[3]) / d[3]
    rest = f[k:m]
    for i in range(rest.size):
        rest[i] -= p * a[i] + q * b[i] + r * c[i] + s * d[i]
    f[k], f[k + 1], f[k + 2], f[k + 3] = p, q, r, s


@summed
def _solve_columns(f, values, at, m, k):  # type: ignore[no-untyped-def]
    """Solve for entries k to k + 3 of f by columns from position `at`, given the later entries."""
    p = q = r = s = 0.0
    at, behind = at + k, f[k + 4 : m]
    a, b, c, d = values[at + 4 :], values[at + m + 4 :], values[at + 2 * m + 4 :], values[at + 3 * m + 4 :]
    for i in range(behind.size):
        p += a[i] * behind[i]
        q += b[i] * behind[i]
        r += c[i] * behind[i]
        s += d[i] * behind[i]
    a, b, c, d = values[at:], values[at + m :], values[at + 2 * m :], values[at + 3 * m :]
    s = (f[k + 3] - s) / d[3]
    r = (f[k + 2] - r - c[3] * s) / c[2]
    q = (f[k + 1] - q - b[2] * r - b[3] * s) / b[1]
    p = (f[k] - p - a[1] * q - a[2] * r - a[3] * s) / a[0]
    f[k], f[k + 1], f[k + 2], f[k + 3] = p, q, r, s


@compiled
def forward(first, last, plan, values, signs, x, vectors, front):  # type: ignore[no-untyped-def]
    """Compute ``S L⁻¹ x`` for each row of x in the columns of some supernodes; updates for the rows below go up the tree in `vectors`.

    `front` is a work array, as wide as the largest front.
    """
    begin, starts, positions, slots = plan.begin, plan.starts, plan.positions, plan.slots
    for s in range(first, last):
        width, height, at = begin[s + 1] - begin[s], starts[s + 1] - starts[s], plan.where[s]
        m, fours = width + height, width - width % 4
        for c in range(x.shape[0]):
            f, own, left = front[c], x[c, begin[s] :], vectors[c, slots[s] :]
            for i in range(width):
                f[i] = own[i]
            for i in range(width, m):
                f[i] = 0.0
            below = plan.child[s]
            while below != -1:
                position, incoming = positions[starts[below] : starts[below + 1]], vectors[c, slots[below] :]
                for i in range(position.size):
                    f[np.uint64(position[i])] += incoming[i]
                below = plan.previous_sibling[below]
            # four columns at a time, so that each entry of f is read and written once per four columns
            for k in range(0, fours, 4):
                _subtract_columns(f, values, at + k * m, m, k)
            for k in range(fours, width):
                row, rest = values[at + k * m + k : at + (k + 1) * m], f[k:m]
                solved = rest[0] / row[0]
                for i in range(row.size):
                    rest[i] -= solved * row[i]
                rest[0] = solved
            sign, rest = signs[begin[s] :], f[width:]
            for i in range(width):
                own[i] = sign[i] * f[i]
            for i in range(height):
                left[i] = rest[i]


@compiled
def backward(first, last, plan, values, x, front):  # type: ignore[no-untyped-def]
    """Compute ``L⁻ᵀ x`` for each row of x in the columns of some supernodes, last to first, after the supernodes above them."""
    begin, starts, rows = plan.begin, plan.starts, plan.rows
    for s in range(last - 1, first - 1, -1):
        width, at, below = begin[s + 1] - begin[s], plan.where[s], rows[starts[s] : starts[s + 1]]
        m, fours = width + below.size, width - width % 4
        for c in range(x.shape[0]):
            f, solved, own = front[c], x[c], x[c, begin[s] :]
            rest = f[width:]
            for i in range(width):
                f[i] = own[i]
            for i in range(below.size):
                rest[i] = solved[np.uint64(below[i])]
            for k in range(width - 1, fours - 1, -1):
                row = values[at + k * m : at + (k + 1) * m]
                f[k] = (f[k] - dot(row[k + 1 : m], f[k + 1 : m])) / row[k]
            for k in range(fours - 4, -1, -4):
                _solve_columns(f, values, at + k * m, m, k)
            for i in range(width):
                own[i] = f[i]
