"""Compiled factorisations of one small matrix, for loops over very many matrices."""

from __future__ import annotations

import numpy as np

from .jit.compiler import compiled, inlined, summed


@summed
def dot(a, b):  # type: ignore[no-untyped-def]
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@compiled
def row_products(X, G):  # type: ignore[no-untyped-def]
    """Write ``X Xᵀ`` to G."""
    for i in range(X.shape[0]):
        for j in range(i + 1):
            G[i, j] = G[j, i] = dot(X[i], X[j])


@compiled
def solve_ones(G, w):  # type: ignore[no-untyped-def]
    """Write ``G⁻¹ 1`` to w by Cholesky; G is positive definite and its lower triangle is overwritten."""
    k = w.size
    for j in range(k):
        G[j, j] = np.sqrt(G[j, j] - dot(G[j, :j], G[j, :j]))
        for i in range(j + 1, k):
            G[i, j] = (G[i, j] - dot(G[i, :j], G[j, :j])) / G[j, j]
        w[j] = (1.0 - dot(G[j, :j], w[:j])) / G[j, j]
    for j in range(k - 1, -1, -1):
        w[j] /= G[j, j]
        for i in range(j):
            w[i] -= G[j, i] * w[j]


@compiled
def principal_rows(A):  # type: ignore[no-untyped-def]
    """Rotate the rows of A (q, m) in place until they are orthogonal, longest first; return their squared lengths.

    This is one-sided Jacobi. Divided by their lengths, the rows are the right singular vectors. Each is as accurate as its own
    length allows, because no matrix is squared.
    """
    squares = np.empty(A.shape[0])
    turned = True
    for _ in range(40):
        top = 0.0
        for i in range(squares.size):
            squares[i] = dot(A[i], A[i])
            top = max(top, squares[i])
        if not turned:
            break
        turned = _sweep(A, squares, 1e-28 * top)
    _sort_rows(A, squares)
    return squares


@inlined
def _sweep(A, squares, negligible):  # type: ignore[no-untyped-def]
    """Rotate each pair of rows in its plane until the two are orthogonal; skip pairs that are orthogonal or negligible."""
    turned = False
    for i in range(squares.size - 1):
        for j in range(i + 1, squares.size):
            a, b, c = squares[i], squares[j], dot(A[i], A[j])
            if min(a, b) <= negligible or abs(c) <= 4e-15 * np.sqrt(a * b):
                continue
            zeta = (b - a) / (2.0 * c)
            t = np.copysign(1.0 / (abs(zeta) + np.sqrt(1.0 + zeta * zeta)), zeta)
            cos = 1.0 / np.sqrt(1.0 + t * t)
            sin = cos * t
            for p in range(A.shape[1]):
                u, v = A[i, p], A[j, p]
                A[i, p] = cos * u - sin * v
                A[j, p] = sin * u + cos * v
            squares[i], squares[j] = a - t * c, b + t * c
            turned = True
    return turned


@inlined
def _sort_rows(A, values):  # type: ignore[no-untyped-def]
    """Sort `values` and the rows of A, largest value first."""
    for i in range(values.size - 1):
        first = i
        for j in range(i + 1, values.size):
            first = j if values[j] > values[first] else first
        if first != i:
            values[i], values[first] = values[first], values[i]
            for p in range(A.shape[1]):
                A[i, p], A[first, p] = A[first, p], A[i, p]


@compiled
def symmetric_pairs(A, values, beyond):  # type: ignore[no-untyped-def]
    """Compute the eigenpairs of a symmetric matrix, largest first: `values`, and the vectors in the rows of A, which is overwritten.

    Householder reflections to tridiagonal form, then implicit QL steps with Wilkinson's shift. `beyond` is a work array.
    """
    _tridiagonal(A, values, beyond)
    _ql(A, values, beyond)
    _sort_rows(A, values)


@inlined
def _tridiagonal(A, diagonal, beyond):  # type: ignore[no-untyped-def]
    """Compute ``T = Q A Qᵀ`` with `diagonal` and `beyond` (the off-diagonal entries, the last one 0); Q replaces A.

    Column j is reflected below the diagonal by ``H = I − v vᵀ``. The vectors v are stored in A until Q is formed.
    """
    m = diagonal.size
    p = np.empty(m)
    for j in range(m - 2):
        v = A[j, j + 1 :]  # row j equals column j by symmetry
        length = np.sqrt(dot(v, v))
        beyond[j] = 0.0
        if length > 0.0:
            head = -length if v[0] > 0 else length
            scale = 1.0 / np.sqrt(length * (length + abs(v[0])))
            v[0] -= head
            for i in range(v.size):
                v[i] *= scale
            beyond[j] = head
            _reflect(A[j + 1 :, j + 1 :], v, p[: v.size])
    for i in range(m):
        diagonal[i] = A[i, i]
    if m > 1:
        beyond[m - 2] = A[m - 2, m - 1]
    beyond[m - 1] = 0.0
    _multiply_out(A)


@inlined
def _reflect(B, v, p):  # type: ignore[no-untyped-def]
    """Replace a symmetric B by ``H B H``, with ``H = I − v vᵀ`` and ``vᵀv = 2``."""
    for i in range(v.size):
        p[i] = dot(B[i], v)
    half = 0.5 * dot(p, v)
    for i in range(v.size):
        p[i] -= half * v[i]
    for i in range(v.size):
        vi, pi = v[i], p[i]
        for j in range(v.size):
            B[i, j] -= vi * p[j] + pi * v[j]


@inlined
def _multiply_out(A):  # type: ignore[no-untyped-def]
    """Replace the reflection vectors in the rows of A by the rows of their product, starting from the last one."""
    m = A.shape[0]
    A[m - 1, m - 1] = 1.0
    if m > 1:
        A[m - 2, m - 2] = 1.0
        A[m - 2, m - 1] = A[m - 1, m - 2] = 0.0
    for j in range(m - 3, -1, -1):
        v = A[j, j + 1 :]
        for i in range(j + 1, m):  # multiply the partial product by H from the right
            c = dot(A[i, j + 1 :], v)
            for p in range(v.size):
                A[i, j + 1 + p] -= c * v[p]
        for i in range(j + 1, m):
            A[i, j] = A[j, i] = 0.0
        A[j, j] = 1.0


@inlined
def _ql(Q, diagonal, beyond):  # type: ignore[no-untyped-def]
    """Diagonalise a tridiagonal matrix and apply the same rotations to the rows of Q."""
    m = diagonal.size
    for first in range(m):
        for _ in range(60):
            last = first
            while last < m - 1 and abs(beyond[last]) > 2.2e-16 * (abs(diagonal[last]) + abs(diagonal[last + 1])):
                last += 1
            if last == first:
                break
            g = (diagonal[first + 1] - diagonal[first]) / (2.0 * beyond[first])
            r = np.hypot(g, 1.0)
            g = diagonal[last] - diagonal[first] + beyond[first] / (g + (r if g >= 0 else -r))
            sin, cos, drop = 1.0, 1.0, 0.0
            split = False
            for i in range(last - 1, first - 1, -1):
                f, b = sin * beyond[i], cos * beyond[i]
                r = np.sqrt(f * f + g * g)
                beyond[i + 1] = r
                if r == 0.0:
                    diagonal[i + 1] -= drop
                    beyond[last] = 0.0
                    split = True
                    break
                sin, cos = f / r, g / r
                g = diagonal[i + 1] - drop
                r = (diagonal[i] - g) * sin + 2.0 * cos * b
                drop = sin * r
                diagonal[i + 1] = g + drop
                g = cos * r - b
                for p in range(m):
                    u, v = Q[i, p], Q[i + 1, p]
                    Q[i + 1, p] = sin * u + cos * v
                    Q[i, p] = cos * u - sin * v
            if not split:
                diagonal[first] -= drop
                beyond[first] = g
                beyond[last] = 0.0
