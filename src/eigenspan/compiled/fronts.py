"""The arithmetic of a sparse symmetric factorisation by fronts: L S Lᵀ with signs S = ±1, no pivoting.

A *front* is the dense matrix of one supernode: its c columns, stored as the rows of a panel (c, m), and what they leave for the
m - c rows below, a square of which only the entries right of the diagonal are used.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .factors import dot
from .jit import compiled

#: Columns eliminated at a time before the rest of the front hears of them.
PANEL = 48
#: Rows of a product that are worked out together.
TILE = 192
#: Products with more operations than this go to BLAS, this many columns at a time.
_BLAS = 60_000
_DEPTH = 256

Index = NDArray[np.integer[Any]]


class Plan(NamedTuple):
    """What the analysis found (`compiled.elimination`)."""

    #: First column of every supernode; its rows below them, from one start to the next.
    begin: Index
    starts: Index
    rows: Index
    #: Parent; seats of the rows in the parent's front; last child, and the elder sibling of every supernode.
    up: Index
    seats: Index
    child: Index
    elder: Index
    #: Where panels are stored, and updates and vectors for the parent.
    where: Index
    room: Index
    slots: Index


@compiled
def gather(s, plan, matrix, panel, rest, updates):  # type: ignore[no-untyped-def]
    """The front of supernode s: its entries of the matrix, and the updates of its children."""
    begin, starts, rows, seats = plan.begin, plan.starts, plan.rows, plan.seats
    indptr, indices, data, order, place = matrix
    first, end = begin[s], begin[s + 1]
    width = end - first
    mine = rows[starts[s] : starts[s + 1]]
    panel[:] = 0.0
    rest[:] = 0.0
    for k in range(first, end):
        for p in range(indptr[order[k]], indptr[order[k] + 1]):
            i = place[indices[p]]
            if i >= k:
                at = i - first if i < end else width + np.searchsorted(mine, i)
                panel[k - first, at] += data[p]
    below = plan.child[s]
    while below != -1:
        seat = seats[starts[below] : starts[below + 1]]
        height = seat.size
        update = updates[plan.room[below] : plan.room[below] + height * height].reshape(height, height)
        for j in range(height):
            if seat[j] < width:
                target, shift = panel[seat[j]], 0
            else:
                target, shift = rest[seat[j] - width], width
            for i in range(j, height):
                target[seat[i] - shift] += update[j, i]
        below = plan.elder[below]


@compiled
def eliminate(panel, first, last, signs):  # type: ignore[no-untyped-def]
    """Columns of L from the first to the last of a panel, which has heard of the columns before them; False at a pivot of zero."""
    for j in range(first, last):
        subtract(panel, first, j, j, j + 1, signs, panel, 0)
        row = panel[j]
        pivot = row[j]
        if not abs(pivot) > 0.0:
            return False
        signs[j] = 1.0 if pivot > 0 else -1.0
        root = np.sqrt(abs(pivot))
        row[j] = root
        scale = signs[j] / root
        for i in range(j + 1, row.size):
            row[i] *= scale
    return True


@compiled
def subtract(panel, first, last, low, high, signs, target, shift):  # type: ignore[no-untyped-def]
    """What columns `first` to `last` mean for entries j ≤ i, low ≤ j < high: ``target[j, i] -= Σ_k signs[k] L[i, k] L[j, k]``.

    Indices of the target are counted from `shift`.
    """
    m = panel.shape[1]
    for j in range(low, high):
        row = target[j - shift, j - shift :]
        k = first
        while k + 3 < last:
            a, b, c, d = panel[k, j:m], panel[k + 1, j:m], panel[k + 2, j:m], panel[k + 3, j:m]
            w, x, y, z = signs[k] * a[0], signs[k + 1] * b[0], signs[k + 2] * c[0], signs[k + 3] * d[0]
            for i in range(m - j):
                row[i] -= w * a[i] + x * b[i] + y * c[i] + z * d[i]
            k += 4
        while k < last:
            a = panel[k, j:m]
            w = signs[k] * a[0]
            for i in range(m - j):
                row[i] -= w * a[i]
            k += 1


@compiled
def subtract_by_blas(panel, first, last, low, high, signs, target, shift):  # type: ignore[no-untyped-def]
    """The same for many columns at a time: matrix products, entries left of the diagonal included."""
    m = panel.shape[1]
    for begin in range(first, last, _DEPTH):
        depth = min(_DEPTH, last - begin)
        left, right = np.empty((high - low, depth)), np.empty((depth, m - low))
        for k in range(depth):
            for i in range(m - low):
                right[k, i] = panel[begin + k, low + i]
            for j in range(high - low):
                left[j, k] = signs[begin + k] * right[k, j]
        product = np.dot(left, right)
        for j in range(high - low):
            row, found = target[low + j - shift], product[j]
            for i in range(j, m - low):
                row[low + i - shift] -= found[i]


@compiled
def subtract_tile(low, high, panel, first, last, signs, target, shift):  # type: ignore[no-untyped-def]
    """By loops where the product is small, by BLAS where it is large."""
    if (last - first) * (high - low) * (panel.shape[1] - low) < _BLAS:
        subtract(panel, first, last, low, high, signs, target, shift)
    else:
        subtract_by_blas(panel, first, last, low, high, signs, target, shift)


@compiled
def eliminate_all(first, last, plan, matrix, values, signs, updates):  # type: ignore[no-untyped-def]
    """Factorise the fronts of supernodes from `first` to `last`, when those of their children are done; False at a pivot of zero."""
    begin, starts, where, room = plan.begin, plan.starts, plan.where, plan.room
    tallest = 0
    for s in range(first, last):
        tallest = max(tallest, starts[s + 1] - starts[s])
    scratch = np.empty(tallest * tallest)
    for s in range(first, last):
        width, height = begin[s + 1] - begin[s], starts[s + 1] - starts[s]
        m = width + height
        panel = values[where[s] : where[s] + width * m].reshape(width, m)
        rest = scratch[: height * height].reshape(height, height)
        gather(s, plan, matrix, panel, rest, updates)
        sign = signs[begin[s] : begin[s + 1]]
        for p in range(0, width, PANEL):
            q = min(p + PANEL, width)
            if not eliminate(panel, p, q, sign):
                return False
            for low in range(q, width, TILE):
                subtract_tile(low, min(low + TILE, width), panel, p, q, sign, panel, 0)
        for low in range(width, m, TILE):
            subtract_tile(low, min(low + TILE, m), panel, 0, width, sign, rest, width)
        keep(rest, updates[room[s] : room[s] + height * height].reshape(height, height))
    return True


@compiled
def keep(rest, update):  # type: ignore[no-untyped-def]
    """Copy the used half of a square."""
    for j in range(rest.shape[0]):
        for i in range(j, rest.shape[0]):
            update[j, i] = rest[j, i]


@compiled
def forward(first, last, plan, values, signs, x, vectors):  # type: ignore[no-untyped-def]
    """``S L⁻¹ x`` in the columns of some supernodes; what the rows below must hear goes up the tree in `vectors`."""
    begin, starts, where, seats, slots = plan.begin, plan.starts, plan.where, plan.seats, plan.slots
    tallest = 0
    for s in range(first, last):
        tallest = max(tallest, begin[s + 1] - begin[s] + starts[s + 1] - starts[s])
    scratch = np.empty(tallest)
    for s in range(first, last):
        width, height = begin[s + 1] - begin[s], starts[s + 1] - starts[s]
        m = width + height
        front = scratch[:m]
        for k in range(width):
            front[k] = x[begin[s] + k]
        front[width:] = 0.0
        below = plan.child[s]
        while below != -1:
            for p in range(starts[below], starts[below + 1]):
                front[seats[p]] += vectors[slots[below] + p - starts[below]]
            below = plan.elder[below]
        for k in range(width):
            row = values[where[s] + k * m : where[s] + (k + 1) * m]
            solved = front[k] / row[k]
            front[k] = solved
            for i in range(k + 1, m):
                front[i] -= solved * row[i]
        for k in range(width):
            x[begin[s] + k] = signs[begin[s] + k] * front[k]
        for i in range(height):
            vectors[slots[s] + i] = front[width + i]


@compiled
def backward(first, last, plan, values, x):  # type: ignore[no-untyped-def]
    """``L⁻ᵀ x`` in the columns of some supernodes, last to first, when those above them are known."""
    begin, starts, rows, where = plan.begin, plan.starts, plan.rows, plan.where
    tallest = 0
    for s in range(first, last):
        tallest = max(tallest, begin[s + 1] - begin[s] + starts[s + 1] - starts[s])
    scratch = np.empty(tallest)
    for s in range(last - 1, first - 1, -1):
        width = begin[s + 1] - begin[s]
        m = width + starts[s + 1] - starts[s]
        front = scratch[:m]
        for k in range(width):
            front[k] = x[begin[s] + k]
        for i in range(m - width):
            front[width + i] = x[rows[starts[s] + i]]
        for k in range(width - 1, -1, -1):
            row = values[where[s] + k * m : where[s] + (k + 1) * m]
            front[k] = (front[k] - dot(row[k + 1 :], front[k + 1 :])) / row[k]
            x[begin[s] + k] = front[k]
