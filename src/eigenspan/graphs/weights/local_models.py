"""Compiled loops for local models of many neighbourhoods: reconstruction weights, tangent coordinates, quadratic functions.

Neighbourhoods are lists: the members of i are ``members[starts[i]:starts[i + 1]]``; in alignment models the first member is the point
itself. A model is a factor with one row per member.
"""

from __future__ import annotations

import numpy as np

from ..._types import Array, Integers
from ...numerics.jit import in_pieces
from ...numerics.jit.compiler import compiled, inlined
from ...numerics.small_matrices import dot, principal_rows, row_products, solve_ones, symmetric_pairs


def weights_of_lists(points: Array, targets: Array, starts: Integers, members: Integers, reg: float) -> Array:
    """Return weights that reconstruct each target from its members, with a ridge of ``reg·trace``; the weights of a target sum to 1."""
    out = np.empty(members.size)
    X = _plain(points)
    T = X if targets is points else _plain(targets)
    in_pieces(_weights, starts.size - 1, _step(starts, X.shape[1]), X, T, starts, members, reg, out)
    return out


def tangents(points: Array, starts: Integers, members: Integers, d: int) -> tuple[Array, Array]:
    """Return orthonormal tangent coordinates of the members (members, d), and squared singular values of d + 1 axes (n, d + 1).

    Columns beyond the rank of a neighbourhood are zero.
    """
    return _leading_axes(points, starts, members, d, True, beyond=1)


def quadratics(points: Array, starts: Integers, members: Integers, d: int) -> tuple[Array, Array]:
    """Return orthonormal functions (members, d(d+1)/2) that span the quadratic functions of the tangent coordinates orthogonal to
    affine ones, and the squared singular values of `tangents`."""
    U, values = tangents(points, starts, members, d)
    out = np.empty((members.size, d * (d + 1) // 2))
    in_pieces(_quadratics, starts.size - 1, _step(starts, out.shape[1]), starts, U, out)
    return out, values


def reconstructors(
    points: Array, starts: Integers, members: Integers, d: int, reg: float, floor: float, middle: float
) -> tuple[Array, Array, Integers]:
    """Return the factor (members, r + 2) of modified LLE with r ≤ D: r + 1 columns to subtract from the identity and one to add.

    Also return the squared singular values (n, r) of the neighbourhoods and the number of axes that each uses.
    """
    r = min(int(np.diff(starts).max()) - 1, points.shape[1])
    out, values = _leading_axes(points, starts, members, r, False, more=2)
    tails, heads = values[:, d:].sum(axis=1), values[:, :d].sum(axis=1)
    shares = (tails / np.maximum(heads, np.finfo(float).tiny))[np.diff(starts) > 0]
    eta = max(middle * float(np.median(shares)), floor)
    used = np.zeros(starts.size - 1, dtype=np.int64)
    in_pieces(_reconstructors, starts.size - 1, _step(starts, r), starts, d, reg, eta, values, out, used)
    return out, values, used


def _leading_axes(
    points: Array, starts: Integers, members: Integers, r: int, centred: bool, more: int = 0, beyond: int = 0
) -> tuple[Array, Array]:
    """Return the r leading singular vectors of every neighbourhood, (members, r + more), and r + beyond squared singular values."""
    out, values = np.zeros((members.size, r + more)), np.zeros((starts.size - 1, r + beyond))
    step, longest = _step(starts, points.shape[1]), int(np.diff(starts).max(initial=0)) - (not centred)
    loop = (
        _wide_axes_of_all if longest <= points.shape[1] else _axes_of_all
    )  # two loops, so that only one needs compiling
    in_pieces(loop, starts.size - 1, step, _plain(points), starts, members, centred, values, out)
    return out, values


def _plain(A: Array) -> Array:
    return np.ascontiguousarray(A, dtype=np.float64)


def _step(starts: Integers, D: int) -> int:
    """Return the number of neighbourhoods for about 20 ms of work."""
    m = max(1.0, starts[-1] / max(starts.size - 1, 1))
    return 1 + int(5e7 / (m * m * (D + 10 * m) + 1000))


@inlined
def _longest(starts, first, last):  # type: ignore[no-untyped-def]
    longest = 1
    for i in range(first, last):
        longest = max(longest, starts[i + 1] - starts[i])
    return longest


@inlined
def _relative(points, near, centre, X):  # type: ignore[no-untyped-def]
    for p in range(near.size):
        for c in range(centre.size):
            X[p, c] = points[near[p], c] - centre[c]


@inlined
def _axes(X, scratch):  # type: ignore[no-untyped-def]
    """Return the left singular vectors of X as leading rows, and their squared singular values.

    Rotates the columns of X or, if there are more columns than rows, those of ``X Xᵀ``, which has the same singular vectors.
    """
    m, D = X.shape
    tall = m > D
    A = scratch[: min(m, D) * m].reshape((min(m, D), m))
    if tall:
        for p in range(m):
            for c in range(D):
                A[c, p] = X[p, c]
    else:
        row_products(X, A)
    squares = principal_rows(A)
    for c in range(squares.size):
        if squares[c] > 0:
            length = np.sqrt(squares[c])
            for p in range(m):
                A[c, p] /= length
            squares[c] = squares[c] if tall else length
    return A, squares


@inlined
def _wide_axes(X, scratch):  # type: ignore[no-untyped-def]
    """Return `_axes` for more columns than rows by reflections: takes longer to compile, and a third of the time to run."""
    m = X.shape[0]
    G = scratch[: m * m].reshape((m, m))
    squares = np.empty(m)
    row_products(X, G)
    symmetric_pairs(G, squares, np.empty(m))
    for c in range(m):
        squares[c] = max(squares[c], 0.0)
    return G, squares


@inlined
def _centre(X):  # type: ignore[no-untyped-def]
    m, D = X.shape
    for c in range(D):
        mean = 0.0
        for p in range(m):
            mean += X[p, c]
        mean /= m
        for p in range(m):
            X[p, c] -= mean


@compiled
def _weights(first, last, points, targets, starts, members, reg, out):  # type: ignore[no-untyped-def]
    longest = _longest(starts, first, last)
    X, scratch = np.empty((longest, points.shape[1])), np.empty(longest * longest)
    for i in range(first, last):
        a, b = starts[i], starts[i + 1]
        m = b - a
        if m == 0:
            continue
        G, w = scratch[: m * m].reshape((m, m)), out[a:b]
        _relative(points, members[a:b], targets[i], X[:m])
        row_products(X[:m], G)
        trace = 0.0
        for p in range(m):
            trace += G[p, p]
        ridge = reg * (trace if trace > 0 else 1.0)
        for p in range(m):
            G[p, p] += ridge
        solve_ones(G, w)
        total = 0.0
        for p in range(m):
            total += w[p]
        for p in range(m):
            w[p] /= total


@inlined
def _neighbourhood(i, points, starts, members, centred, space):  # type: ignore[no-untyped-def]
    """Return the first position and the relative coordinates of neighbourhood i; centred ones include the point itself."""
    a, b = starts[i], starts[i + 1]
    own = points[members[a]]
    a = a if centred else a + 1
    X = space[: b - a]
    _relative(points, members[a:b], own, X)
    if centred:
        _centre(X)
    return a, X


@inlined
def _keep_axes(A, squares, values, out):  # type: ignore[no-untyped-def]
    """Write the leading axes and their values; axes without variance are zero."""
    for c in range(min(squares.size, values.size)):
        values[c] = squares[c]
        if c < out.shape[1] and squares[c] > 1e-14 * squares[0]:
            for p in range(A.shape[1]):
                out[p, c] = A[c, p]


@compiled
def _axes_of_all(first, last, points, starts, members, centred, values, out):  # type: ignore[no-untyped-def]
    longest = _longest(starts, first, last)
    space, scratch = np.empty((longest, points.shape[1])), np.empty(longest * longest)
    for i in range(first, last):
        if starts[i] < starts[i + 1]:
            a, X = _neighbourhood(i, points, starts, members, centred, space)
            A, squares = _axes(X, scratch)
            _keep_axes(A, squares, values[i], out[a:])


@compiled
def _wide_axes_of_all(first, last, points, starts, members, centred, values, out):  # type: ignore[no-untyped-def]
    longest = _longest(starts, first, last)
    space, scratch = np.empty((longest, points.shape[1])), np.empty(longest * longest)
    for i in range(first, last):
        if starts[i] < starts[i + 1]:
            a, X = _neighbourhood(i, points, starts, members, centred, space)
            A, squares = _wide_axes(X, scratch)
            _keep_axes(A, squares, values[i], out[a:])


@inlined
def _bend(U, Q):  # type: ignore[no-untyped-def]
    """Write to Q the products of two rows of U without their affine part, orthogonalised; return their squared lengths."""
    d, m = U.shape
    row = 0
    for first in range(d):
        for second in range(first, d):
            q = Q[row]
            mean = 0.0
            for p in range(m):
                q[p] = U[first, p] * U[second, p]
                mean += q[p]
            mean /= m
            slopes = np.empty(d)
            for c in range(d):
                slopes[c] = dot(q, U[c])
            for p in range(m):
                q[p] -= mean
                for c in range(d):
                    q[p] -= slopes[c] * U[c, p]
            row += 1
    return principal_rows(Q)


@compiled
def _quadratics(first, last, starts, tangent, out):  # type: ignore[no-untyped-def]
    d, width = tangent.shape[1], out.shape[1]
    longest = _longest(starts, first, last)
    flat, rows = np.empty(d * longest), np.empty(width * longest)
    for i in range(first, last):
        a, m = starts[i], starts[i + 1] - starts[i]
        if m == 0:
            continue
        U, Q = flat[: d * m].reshape((d, m)), rows[: width * m].reshape((width, m))
        for p in range(m):
            for c in range(d):
                U[c, p] = tangent[a + p, c]
        squares = _bend(U, Q)
        for c in range(width):
            scale = 1.0 / np.sqrt(squares[c]) if squares[c] > 1e-20 else 0.0
            for p in range(m):
                out[a + p, c] = Q[c, p] * scale


@inlined
def _share(values, c):  # type: ignore[no-untyped-def]
    """Return the sum of all but the c largest values, divided by the sum of these."""
    tail = 0.0
    for j in range(values.size - 1, c - 1, -1):
        tail += values[j]
    head = 0.0
    for j in range(min(c, values.size) - 1, -1, -1):
        head += values[j]
    return tail / max(head, 2.2250738585072014e-308)


@compiled
def _reconstructors(first, last, starts, d, reg, eta, values, out, used):  # type: ignore[no-untyped-def]
    w, u = np.empty(_longest(starts, first, last)), np.empty(_longest(starts, first, last))
    for i in range(first, last):
        k = starts[i + 1] - starts[i] - 1
        if k < 1:
            continue
        c = d
        while c < k - 1 and _share(values[i], c) > eta:
            c += 1
        while c > 0 and values[i, min(c, values.shape[1]) - 1] <= 1e-14 * values[i, 0]:
            c -= 1
        used[i] = c
        _reconstructor(values[i], c, reg, w[:k], u[:k], out[starts[i] : starts[i + 1]])


@inlined
def _without_ridge(values, V, w):  # type: ignore[no-untyped-def]
    """Compute `eigenspan.graphs.weights.reconstruction_weights.weights_without_ridge` for one neighbourhood."""
    k, r = w.size, values.size
    w[:] = 1.0
    for _ in range(2):
        for j in range(r):
            if values[j] > 1e-14 * values[0]:
                total = 0.0
                for p in range(k):
                    total += V[p, j] * w[p]
                for p in range(k):
                    w[p] -= total * V[p, j]
    length = 0.0
    for p in range(k):
        length += w[p] * w[p]
    if length > 1e-16 * k:
        return
    w[:] = 0.0
    for j in range(r):
        if values[j] > 1e-14 * values[0]:
            total = 0.0
            for p in range(k):
                total += V[p, j]
            for p in range(k):
                w[p] += total * values[0] / values[j] * V[p, j]


@inlined
def _reconstructor(values, c, reg, w, u, F):  # type: ignore[no-untyped-def]
    """Keep the c leading columns of F and fill the last two, by the formulas of `modified_alignment`."""
    k, r = w.size, values.size
    s = k - c
    trace = 0.0
    for j in range(r):
        trace += values[j]
    ridge = reg * (trace if trace > 0 else 1.0)
    if ridge == 0:
        _without_ridge(values, F[1:], w)
    for p in range(k):
        w[p], u[p] = 1.0 if ridge > 0 else w[p], 1.0
    for j in range(r):
        total = 0.0
        for p in range(k):
            total += F[p + 1, j]
        share = total * values[j] / (values[j] + ridge) if ridge > 0 else 0.0
        for p in range(k):
            w[p] -= share * F[p + 1, j]
            if j < c:
                u[p] -= total * F[p + 1, j]
            else:
                F[p + 1, j] = 0.0
    total, length = 0.0, 0.0
    for p in range(k):
        total += w[p]
        length += u[p] * u[p]
    length = np.sqrt(length)
    real = length > 1e-12
    F[0, r + 1] = -np.sqrt(s)
    for p in range(k):
        F[p + 1, r] = u[p] / length if real else 0.0
        F[p + 1, r + 1] = (np.sqrt(s) - length) * w[p] / total + F[p + 1, r]
