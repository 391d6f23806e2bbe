"""Alignment forms: local models of every neighbourhood, glued into one n×n matrix ``M = Σ S_i N_i N_iᵀ S_iᵀ``.

S_i picks the points of neighbourhood i and the columns of N_i are the patterns on them that cost something: whatever is not
affine in the tangent plane (LTSA), the second derivatives (Hessian LLE), or several reconstruction vectors (modified LLE).
Every M here is sparse, PSD and kills the constant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._diagnostics import stage
from ..core.form import Form
from ..errors import DimensionError, GraphError
from ..graphs.barycentric import blocks, gather
from ..graphs.neighbours import neighbourhoods
from ..solvers import dense

Array = NDArray[np.float64]
Index = NDArray[np.intp]
LocalModel = Callable[[Array], Array]


def with_self(graph: sp.csr_array) -> Iterator[tuple[Index, Index]]:
    """Neighbourhoods that contain their own point, first: every point then takes part in at least one."""
    for rows, columns in neighbourhoods(graph):
        yield rows, np.hstack([rows[:, None], columns])


def _assemble(n: int, pieces: list[tuple[Index, Array]]) -> Form:
    """Sum the blocks N_i N_iᵀ: pieces are (members (b, m), N (b, m, q))."""
    rows, columns, data = [], [], []
    for members, N in pieces:
        m = members.shape[1]
        rows.append(np.repeat(members, m, axis=1).ravel())
        columns.append(np.tile(members, (1, m)).ravel())
        data.append((N @ N.transpose(0, 2, 1)).ravel())
    M = sp.coo_array((np.concatenate(data), (np.concatenate(rows), np.concatenate(columns))), shape=(n, n)).tocsr()
    return Form(n, sparse=sp.csr_array((M + M.T) / 2), psd=True, kills_constant=True)


def _tangent(X: Array, d: int) -> Array:
    """Orthonormal tangent coordinates (b, m, d) of centred neighbourhoods (b, m, D).

    A neighbourhood of lower dimension, such as one of coincident points, has fewer: its further columns are zero, where a
    factorisation would fill in arbitrary ones.
    """
    Xc = X - X.mean(axis=1, keepdims=True)
    if X.shape[2] < X.shape[1]:
        U, s = dense.local_axes(Xc)
    else:
        values, U = dense.local_eigenpairs(Xc @ Xc.transpose(0, 2, 1))
        U, s = U[:, :, ::-1], np.sqrt(np.maximum(values[:, ::-1], 0.0))
    return U[:, :, :d] * (s[:, :d] > 1e-7 * s[:, :1])[:, None, :]


def _local(points: Array, graph: sp.csr_array, model: LocalModel) -> Form:
    with stage("local models"):
        pieces = []
        for rows, members in with_self(graph):
            for r, c in blocks(rows, members, points.shape[1]):
                pieces.append((c, model(gather(points, c, points[r]))))
        if not pieces:
            raise GraphError("The graph has no edges: there are no neighbourhoods to model.")
        return _assemble(graph.shape[0], pieces)


def _check_local(graph: sp.csr_array, points: Array, d: int, needed: int, what: str) -> None:
    if d > points.shape[1]:
        raise DimensionError(
            f"{what}: n_components={d} exceeds n_features={points.shape[1]}, the largest tangent dimension there is."
        )
    counts = np.diff(graph.indptr)
    smallest = int(counts[counts > 0].min(initial=needed))  # a point without neighbours has no model and costs nothing
    if smallest < needed:
        raise GraphError(
            f"{what} with n_components={d} needs at least {needed} neighbours of every point, but some have {smallest}. "
            f"Use n_neighbors >= {needed}."
        )


def tangent_alignment(points: Array, graph: sp.csr_array, d: int) -> Form:
    """LTSA: the part of an embedding that is not affine in the local tangent coordinates.

    ``N_i N_iᵀ = I − 11ᵀ/m − U_i U_iᵀ`` with U_i the leading d left singular vectors of the centred neighbourhood.
    Cost O(n(k²D + k³)).
    """
    _check_local(graph, points, d, d + 1, "LTSA")

    def model(X: Array) -> Array:
        m = X.shape[1]
        U = _tangent(X, d)
        return np.eye(m) - 1.0 / m - U @ U.transpose(0, 2, 1)  # a projector is its own root

    return _local(points, graph, model)


def hessian_alignment(points: Array, graph: sp.csr_array, d: int) -> Form:
    """Hessian LLE: the squared Frobenius norm of the Hessian in local tangent coordinates.

    N_i holds the d(d+1)/2 quadratic monomials of the tangent coordinates, orthogonalised against 1 and the coordinates.
    Cost O(n(k²D + k d⁴)).
    """
    quadratic = d * (d + 1) // 2
    _check_local(graph, points, d, d + quadratic, "Hessian LLE")
    pairs = np.triu_indices(d)

    def model(X: Array) -> Array:
        U = _tangent(X, d)
        flat = np.concatenate([np.full((*U.shape[:2], 1), X.shape[1] ** -0.5), U], axis=2)
        quadratics = U[:, :, pairs[0]] * U[:, :, pairs[1]]
        N, s = dense.local_axes(quadratics - flat @ (flat.transpose(0, 2, 1) @ quadratics))
        return N * (s > 1e-10)[:, None, :]  # a quadratic that is affine on the points is no new function

    return _local(points, graph, model)


def modified_alignment(points: Array, graph: sp.csr_array, d: int, reg: float = 1e-3) -> Form:
    """Modified LLE: several independent reconstruction vectors per point [Zhang & Wang 2006].

    The s_i smallest eigenvectors of the local Gram are reflected so that each reconstructs affinely, and all of them must
    hold. Cost O(n(k²D + k³)).
    """
    _check_local(graph, points, d, d + 1, "Modified LLE")
    with stage("local models"):
        local = []
        for rows, columns in neighbourhoods(graph):
            for r, c in blocks(rows, columns, points.shape[1]):
                X = gather(points, c, points[r])
                values, V = dense.local_eigenpairs(X @ X.transpose(0, 2, 1))
                local.append((np.hstack([r[:, None], c]), np.maximum(values, 0.0), V))
        tails = [np.cumsum(values, axis=1) for _, values, _ in local]  # tail sums, smallest eigenvalues first
        ratios = [t[:, -d - 1] / np.maximum(t[:, -1] - t[:, -d - 1], np.finfo(float).tiny) for t in tails]
        eta = float(np.median(np.concatenate(ratios)))
        pieces = []
        for (members, values, V), tail in zip(local, tails, strict=True):
            ratio = tail[:, : -d or None] / np.maximum(tail[:, -1:] - tail[:, : -d or None], np.finfo(float).tiny)
            counts = np.maximum(1, np.sum(ratio <= eta, axis=1))
            for s in np.unique(counts):
                at = counts == s
                pieces.append((members[at], _reconstructors(values[at], V[at], int(s), reg)))
        return _assemble(graph.shape[0], pieces)


def _reconstructors(values: Array, V: Array, s: int, reg: float) -> Array:
    """``[−1; W_i]`` (b, k+1, s) with ``W_i = (1 − α) w 1ᵀ + V_s (I − 2hhᵀ)``: columns sum to zero."""
    ridge = reg * values.sum(axis=1, keepdims=True)
    ridge[ridge <= 0] = 1.0
    sums = V.sum(axis=1)
    w = np.einsum("bkj,bj->bk", V, sums / (values + ridge))
    w /= w.sum(axis=1, keepdims=True)
    Vs, total = V[:, :, :s], sums[:, :s]
    alpha = np.linalg.norm(total, axis=1) / np.sqrt(s)
    h = alpha[:, None] - total
    length = np.linalg.norm(h, axis=1, keepdims=True)
    h = np.where(length > 1e-12, h / np.where(length > 0, length, 1.0), 0.0)
    W = Vs - 2 * np.einsum("bkj,bj->bk", Vs, h)[:, :, None] * h[:, None, :] + ((1 - alpha)[:, None] * w)[:, :, None]
    return np.concatenate([-np.ones((W.shape[0], 1, s)), W], axis=1)
