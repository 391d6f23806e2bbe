"""Factorisations of one small matrix, for loops over very many of them."""

from __future__ import annotations

import numpy as np

from .jit.compiler import compiled, spliced, summed


@summed
def dot(a, b):  # type: ignore[no-untyped-def]
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@compiled
def gram(X, G):  # type: ignore[no-untyped-def]
    """``G = X Xᵀ``."""
    for i in range(X.shape[0]):
        for j in range(i + 1):
            G[i, j] = G[j, i] = dot(X[i], X[j])


@compiled
def solve_ones(G, w):  # type: ignore[no-untyped-def]
    """``w = G⁻¹ 1`` of a positive definite G, by Cholesky; overwrites the lower triangle of G."""
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
    """Turn the rows of A (q, m) among themselves until they are orthogonal, longest first; returns their squared lengths.

    One-sided Jacobi: divided by their lengths the rows are the singular vectors in the m columns, each as accurate as its own
    length allows, and nothing is squared on the way.
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


@spliced
def _sweep(A, squares, negligible):  # type: ignore[no-untyped-def]
    """Rotate every pair of rows in their plane until they are orthogonal, but for those that are, or are only rounding."""
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


@spliced
def _sort_rows(A, values):  # type: ignore[no-untyped-def]
    """Largest value first."""
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
    """Eigenpairs of a symmetric matrix, largest first: `values`, and the vectors in the rows of A, which is overwritten.

    Householder reflections to tridiagonal form, then implicit QL steps with Wilkinson's shift. `beyond` is scratch.
    """
    _tridiagonal(A, values, beyond)
    _ql(A, values, beyond)
    _sort_rows(A, values)


@spliced
def _tridiagonal(A, diagonal, beyond):  # type: ignore[no-untyped-def]
    """``T = Q A Qᵀ`` with `diagonal` and `beyond` (beside the diagonal, last entry 0); A becomes Q.

    Column j is reflected below the diagonal by ``H = I − v vᵀ``; the v are kept in the columns of A until Q is multiplied out.
    """
    m = diagonal.size
    p = np.empty(m)
    for j in range(m - 2):
        v = A[j, j + 1 :]  # by symmetry row j holds column j
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


@spliced
def _reflect(B, v, p):  # type: ignore[no-untyped-def]
    """``B -> H B H`` for symmetric B and ``H = I − v vᵀ`` with ``vᵀv = 2``."""
    for i in range(v.size):
        p[i] = dot(B[i], v)
    half = 0.5 * dot(p, v)
    for i in range(v.size):
        p[i] -= half * v[i]
    for i in range(v.size):
        vi, pi = v[i], p[i]
        for j in range(v.size):
            B[i, j] -= vi * p[j] + pi * v[j]


@spliced
def _multiply_out(A):  # type: ignore[no-untyped-def]
    """Replace the reflection vectors in the rows of A by the rows of their product, from the last one back."""
    m = A.shape[0]
    A[m - 1, m - 1] = 1.0
    if m > 1:
        A[m - 2, m - 2] = 1.0
        A[m - 2, m - 1] = A[m - 1, m - 2] = 0.0
    for j in range(m - 3, -1, -1):
        v = A[j, j + 1 :]
        for i in range(j + 1, m):  # the product so far, times H from the right
            c = dot(A[i, j + 1 :], v)
            for p in range(v.size):
                A[i, j + 1 + p] -= c * v[p]
        for i in range(j + 1, m):
            A[i, j] = A[j, i] = 0.0
        A[j, j] = 1.0


@spliced
def _ql(Q, diagonal, beyond):  # type: ignore[no-untyped-def]
    """Diagonalise a tridiagonal matrix, turning the rows of Q along with it."""
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
