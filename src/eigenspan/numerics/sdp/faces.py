"""Facial reduction of equations on distances: the feasible Gram matrices as ``K = Q L Qᵀ`` with a smaller L.

If all distances among some points are given (a clique) and these points span r dimensions only, every feasible embedding has them in r
dimensions. So K vanishes on the vectors of the clique that are orthogonal to its points and to the constant: they expose a face of the
semidefinite cone. The feasible matrices lie in the intersection of all these faces, whose range is the common null space of the vectors.
Without the reduction such a program has no interior and its dual no solution, so that no solver converges. With it, equations that
follow from others are linearly dependent, and are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.linalg as la

from ..._types import Array, Index
from ...errors import InputError
from ..eigen.dense import eigenpairs
from .certificate import mirror

#: Share of the largest eigenvalue of a clique's Gram matrix, and of the largest singular value of all vectors, that counts as zero.
_FLAT, _NULL = 1e-9, 1e-8
#: Squared sine of the angle to the other equations below which an equation follows from them, and the error of its right-hand side, as a
#: share, above which it contradicts them.
_DEPENDENT, _CONTRADICTION = 1e-12, 1e-6


@dataclass(frozen=True, eq=False)
class Face:
    """The smallest face that cliques expose, and independent equations on it.

    Attributes
    ----------
    basis : ndarray of shape (n, q)
        Q, with rows that sum to one; an orthogonal matrix times a number.
    rows : ndarray of shape (m,)
        Pairs whose equations are independent on the face.
    """

    basis: Array
    rows: Index


def exposed_face(n: int, pairs: Index, squares: Array) -> Face:
    """Return the face of the Gram matrices with these squared distances of pairs of n points.

    Raise InputError if a clique, or equations that depend on others, prove that no points have these distances.
    """
    Q = _affine(_common_null_space(n, pairs, squares))
    directions = (Q[pairs[:, 0]] - Q[pairs[:, 1]]) / np.sqrt(squares)[:, None]
    return Face(Q, _independent(directions))


def cliques(n: int, pairs: Index) -> Iterator[Index]:
    """Yield a maximal clique that contains each pair; of the candidates the one adjacent to most others joins first."""
    adjacent = np.zeros((n, n), dtype=bool)
    adjacent[pairs[:, 0], pairs[:, 1]] = adjacent[pairs[:, 1], pairs[:, 0]] = True
    seen, largest = set(), np.zeros((n, n), dtype=np.intp)
    for i, j in pairs:
        members, left = [int(i), int(j)], np.flatnonzero(adjacent[i] & adjacent[j])
        if largest[i, j] == left.size + 2:  # a clique of the pair and all its common neighbours is its only maximal one
            continue
        while left.size:
            among = adjacent[np.ix_(left, left)]
            best = int(among.sum(axis=1).argmax())
            members.append(int(left[best]))
            left = left[among[best]]
        found = np.array(sorted(members), dtype=np.intp)
        block = np.ix_(found, found)
        largest[block] = np.maximum(largest[block], found.size)
        if found.size > 2 and found.tobytes() not in seen:
            seen.add(found.tobytes())
            yield found


def _common_null_space(n: int, pairs: Index, squares: Array) -> Array:
    """Return an orthonormal basis of the vectors on which no clique's face is zero."""
    D = np.zeros((n, n))
    D[pairs[:, 0], pairs[:, 1]] = D[pairs[:, 1], pairs[:, 0]] = squares
    exposing = []
    for clique in cliques(n, pairs):
        N = _flat_directions(D[np.ix_(clique, clique)])
        rows = np.zeros((N.shape[1], n))
        rows[:, clique] = N.T
        exposing.append(rows)
        if sum(map(len, exposing)) > 4 * n:  # the triangular factor has the same null space in fewer rows
            exposing = [np.asarray(la.qr(np.vstack(exposing), mode="r")[0][:n])]
    M = np.vstack([np.zeros((0, n)), *exposing])
    if not len(M):
        return np.eye(n)
    _, s, Vt = la.svd(M, full_matrices=True)
    return np.asarray(Vt[int(np.sum(s > _NULL * s[0])) :].T)


def _flat_directions(D: Array) -> Array:
    """Return the directions orthogonal to the constant in which the points with these squared distances do not vary."""
    means = D.mean(axis=0)
    values, V = eigenpairs(-0.5 * (D - means - means[:, None] + means.mean()))
    if values[0] < -_FLAT * values[-1]:
        raise InputError(
            f"No points have these distances: the Gram matrix of {len(D)} points, whose distances are all given, has the eigenvalue "
            f"{values[0]:.3g} (the largest is {values[-1]:.3g}), which is more than rounding. "
            'Use constraint="inequality" or "slack" for distances that are not Euclidean or not exact.'
        )
    N = V[:, values <= _FLAT * values[-1]]
    N = N - N.mean(axis=0)
    U, s, _ = la.svd(N, full_matrices=False)  # the constant is one of the null vectors
    return np.asarray(U[:, s > 0.5])


def _affine(V: Array) -> Array:
    """Return a multiple of V times an orthogonal matrix whose rows sum to one; the constant is in the range of V."""
    n, q = V.shape
    a = V.sum(axis=0) / np.sqrt(n)
    flat, turned = mirror(np.ones(q)), mirror(a)
    # a reflection takes the first unit vector to minus or plus each of these vectors
    H = (np.eye(q) - np.outer(turned, turned)) @ (np.eye(q) - np.outer(flat, flat))
    Q = V @ H
    return np.asarray(Q / Q.sum(axis=1).mean())


def _independent(directions: Array) -> Index:
    """Return the rows β whose matrices ββᵀ are linearly independent and span the others; all right-hand sides are one."""
    size = np.einsum("eq,eq->e", directions, directions)
    G = (directions @ directions.T) ** 2 / np.outer(size, size)
    L, order, rank, _ = la.lapack.dpstrf(G, tol=_DEPENDENT, lower=1)
    order = order - 1
    kept, left = order[:rank], order[rank:]
    right = 1.0 / size
    implied = L[rank:, :rank] @ la.solve_triangular(L[:rank, :rank], right[kept], lower=True)
    wrong = np.abs(implied / right[left] - 1.0)
    if wrong.size and wrong.max() > _CONTRADICTION:
        raise InputError(
            f"No points have these distances: {int(np.sum(wrong > _CONTRADICTION))} of {len(directions)} squared distances follow from the "
            f'others, and differ from what follows by up to {wrong.max():.2g} of their size. Use constraint="inequality" or "slack" for '
            "distances that are not Euclidean or not exact."
        )
    return np.sort(kept)
