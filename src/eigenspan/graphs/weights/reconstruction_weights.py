"""Reconstruction weights: each point as an affine combination of its neighbours [S0, §3.1].

Local Gram ``G_jl = (x_i − x_j)·(x_i − x_l)``, ``G += reg·tr(G)·I``, ``G w = 1``, ``w /= Σw``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeGuard

import numpy as np
import scipy.sparse as sp

from ..._diagnostics import stage
from ..._types import Array, Index, Matrix, Sparse, is_sparse
from ...numerics.eigen.dense import local_axes, local_eigenpairs
from ...numerics.nearest.squares import EPS, EXACT, square_lengths, whole_numbers
from ..neighbours.graph import neighbourhoods

#: Share of a neighbourhood's variance up to which an eigenvalue is a rounding error.
ROUNDING = 1e-14
#: Least share of the vector of ones in the null space of a local Gram matrix for which neighbours reconstruct a point exactly.
_EXACT = 1e-16
#: Bytes of gathered neighbour coordinates held at once.
_BLOCK_BYTES = 64 * 2**20
#: `local_work` up to which numpy is faster than loading the compiled loop: 130,000 rows with 12 neighbours in 3 dimensions.
_SMALL = 3e8
#: Least ridge for the compiled loop, which does not pivot: nearly singular Gram matrices are solved by LAPACK.
_LEAST_RIDGE = 1e-10
#: Largest error of a local Gram matrix from inner products, relative to its mean diagonal.
_GRAM_ERROR = 1e-9
#: Least ridge for Woodbury's identity, whose relative error is the machine precision divided by the ridge.
_LOSSLESS = 1e-4


def neighbourhood_blocks(rows: Index, columns: Index, D: int) -> Iterator[tuple[Index, Index]]:
    """Split a group of neighbourhoods into blocks whose gathered coordinates fit into `_BLOCK_BYTES`."""
    step = max(1, int(_BLOCK_BYTES / (8 * max(columns.shape[1], 1) * max(D, 1))))
    for i in range(0, rows.size, step):
        yield rows[i : i + step], columns[i : i + step]


def local_work(graph: sp.csr_array, D: int) -> float:
    """Return Σ k²(D + k), the number of multiplications for the local Gram matrices and their factorisations."""
    counts = np.diff(graph.indptr).astype(np.float64)
    return float(np.sum(counts**2 * (D + counts)))


def width(points: Matrix, k: int) -> int:
    """Return the number of coordinates that `relative_neighbours` returns for k neighbours: at most k for wide sparse points."""
    return k if _is_wide(points, k) else int(points.shape[1])


def _is_wide(points: Matrix, k: int) -> TypeGuard[Sparse]:
    return is_sparse(points) and points.shape[1] > 4 * k


def relative_neighbours(points: Matrix, columns: Index, centres: Matrix) -> Array:
    """Return neighbour coordinates relative to their centre, (b, k, D); for wide sparse points (b, k, k) with the same inner products."""
    if _is_wide(points, columns.shape[1]):
        values, V = local_eigenpairs(_sparse_grams(points, columns, centres))
        return V * np.sqrt(np.maximum(values, 0.0))[:, None, :]
    if is_sparse(points) and is_sparse(centres):
        near = points[columns.ravel()].toarray().reshape(*columns.shape, -1)
        return near - centres.toarray()[:, None]
    # np.take is five times as fast as indexing for short rows
    near = np.take(np.asarray(points, dtype=np.float64), columns, axis=0)
    near -= np.asarray(centres, dtype=np.float64)[:, None]
    return near


def _sparse_grams(points: Sparse, columns: Index, centres: Sparse, step: int = 100) -> Array:
    """Return local Gram matrices (b, k, k) of sparse points from their inner products, some neighbourhoods at a time.

    Inner products of points far from the origin lose digits. If the error bound exceeds `_GRAM_ERROR`, the Gram matrix is computed from
    differences.
    """
    out, k = np.empty((*columns.shape, columns.shape[1])), columns.shape[1]
    exact = whole_numbers(points) and whole_numbers(centres)
    for i in range(0, len(columns), step):
        used, c = np.unique(columns[i : i + step], return_inverse=True)
        c = c.reshape(-1, k)
        P, x = points[used], centres[i : i + step]
        K, cross = (P @ P.T).toarray(), (x @ P.T).toarray()
        own, sizes = square_lengths(x), square_lengths(P)
        to = np.take_along_axis(cross, c, axis=1)
        G = K[c[:, :, None], c[:, None, :]] - to[:, :, None] - to[:, None, :] + own[:, None, None]
        most = own + sizes[c].max(axis=1)
        if not (exact and most.max() < EXACT):
            terms = 4 + max(np.diff(P.indptr).max(initial=0), np.diff(x.indptr).max(initial=0))
            for b in np.flatnonzero(terms * EPS * most > _GRAM_ERROR * np.einsum("ikk->i", G) / k):
                G[b] = _gram_of_differences(P[c[b]], x[[b]])
        out[i : i + step] = G
    return out


def _gram_of_differences(near: Sparse, centre: Sparse) -> Array:
    """Return the Gram matrix of a few sparse rows about a centre, over the features with nonzero values."""
    used = np.union1d(near.indices, centre.indices)
    E = near[:, used].toarray() - centre[:, used].toarray()
    return np.asarray(E @ E.T)


def solve_weights(G: Array, reg: float) -> Array:
    """Return weights from local Gram matrices (b, k, k) and a positive ridge; equal weights if all neighbours coincide with the point."""
    k = G.shape[1]
    trace = np.einsum("ikk->i", G)
    ridge = reg * np.where(trace > 0, trace, 1.0)
    w = np.linalg.solve(G + ridge[:, None, None] * np.eye(k), np.ones((G.shape[0], k, 1)))[..., 0]
    return w / w.sum(axis=1, keepdims=True)


def weights_without_ridge(values: Array, U: Array) -> Array:
    """Return the limit of the weights for a vanishing ridge, not normalised.

    It is the projection of the vector 1 onto the null space of the Gram matrix, which reconstructs the point exactly, or ``G⁻¹ 1`` if that
    projection vanishes.

    Parameters
    ----------
    values, U : ndarray of shape (b, r) and (b, k, r)
        Eigenpairs of the local Gram matrices, largest first.
    """
    real = values > ROUNDING * values[:, :1]
    U = U * real[:, None, :]
    sums, exact = U.sum(axis=1), np.ones(U.shape[:2])
    for _ in range(2):  # twice, because the first projection leaves rounding errors
        exact -= np.einsum("bkj,bj->bk", U, np.einsum("bkj,bk->bj", U, exact))
    inverse = np.divide(values[:, :1], values, out=np.zeros_like(values), where=real)
    least = np.einsum("bkj,bj->bk", U, sums * inverse)
    return np.where(np.sum(exact**2, axis=1, keepdims=True) > _EXACT * U.shape[1], exact, least)


def _weights_of_few(X: Array, reg: float) -> Array:
    """Return weights from coordinates (b, k, D) with D < k, by Woodbury's identity: ``w ∝ 1 − X(X'X + rI)⁻¹X'1`` with ridge r."""
    C = X.transpose(0, 2, 1) @ X
    trace = np.einsum("idd->i", C)
    C += (reg * np.where(trace > 0, trace, 1.0))[:, None, None] * np.eye(X.shape[2])
    w = 1.0 - (X @ np.linalg.solve(C, np.einsum("ikd->id", X)[..., None]))[..., 0]
    return w / w.sum(axis=1, keepdims=True)


def reconstruction_weights(
    points: Matrix, graph: sp.csr_array, *, targets: Matrix | None = None, reg: float = 1e-3
) -> sp.csr_array:
    """Affine reconstruction weights of the targets (default: the points themselves) from their graph neighbours.

    Parameters
    ----------
    points : array of shape (n, D)
    graph : csr_array of shape (m, n)
        Row i holds the points that reconstruct target i.
    targets : array of shape (m, D), optional
    reg : float, default=1e-3
        Ridge on the local Gram, relative to its trace.

    Returns
    -------
    csr_array of shape (m, n)
        Rows sum to one. Cost O(m (k²D + k³)).
    """
    targets = points if targets is None else targets
    if sp.issparse(points) and not sp.issparse(targets):
        targets = sp.csr_array(targets)  # new points may be dense although the training rows are sparse
    with stage("local weights"):
        dense = not is_sparse(points) and not is_sparse(targets)
        if dense and reg >= _LEAST_RIDGE and local_work(graph, points.shape[1]) > _SMALL:
            from .local_models import weights_of_lists

            starts, members = graph.indptr.astype(np.int64), graph.indices.astype(np.int32, copy=False)
            data = weights_of_lists(points, targets, starts, members, float(reg))
        else:
            data = _weights(points, targets, graph, reg)
    return sp.csr_array((data, graph.indices, graph.indptr), shape=graph.shape)


def _weights(points: Matrix, targets: Matrix, graph: sp.csr_array, reg: float) -> Array:
    data = np.empty(graph.nnz)
    for rows, columns in neighbourhoods(graph):
        for r, c in neighbourhood_blocks(rows, columns, width(points, columns.shape[1])):
            if reg == 0:  # singular values of the coordinates have twice the digits of eigenvalues of the Gram matrices
                U, s = local_axes(relative_neighbours(points, c, targets[r]))
                w = weights_without_ridge(s**2, U)
                w /= w.sum(axis=1, keepdims=True)
            elif _is_wide(points, c.shape[1]):
                w = solve_weights(_sparse_grams(points, c, targets[r]), reg)
            else:
                X = relative_neighbours(points, c, targets[r])
                few = 2 * X.shape[2] <= X.shape[1] and reg >= _LOSSLESS
                w = _weights_of_few(X, reg) if few else solve_weights(X @ X.transpose(0, 2, 1), reg)
            data[(graph.indptr[r][:, None] + np.arange(c.shape[1])).ravel()] = w.ravel()
    return data
