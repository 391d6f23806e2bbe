"""Isometric charts of every neighbourhood: flat coordinates in which lengths along a sheet are right to third order [Brand 2004].

A sheet that unrolls without stretching bends, near each of its points, in planes of their own: along d tangent axes it is a product of
parabolas. The length of such a curve is an integral, and takes the place of the tangent coordinate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ..._diagnostics import stage
from ..._types import Array, Index, Matrix
from ...numerics.eigen import dense
from ..form import Form
from ..orientation import orientation_of
from .local_alignment import (
    _OTHER_PLANES,
    Blocks,
    assembled,
    check_local,
    local_singular_vectors,
    neighbourhood_coordinates,
    tangent_coordinates,
)
from .open_planes import OpenPlanes

#: Turns between rotations and the linear map, at most.
_STEPS = 1000
#: Bending of a neighbourhood of unit size that is rounding, and the share of it in which directions may differ and bend alike.
_FLAT = 1e-10
#: Gauss–Legendre nodes and weights on [0, 1]: exact for the square roots below to 1e-9 up to slopes of one.
_NODES, _WEIGHTS = (np.polynomial.legendre.leggauss(8)[0] + 1) / 2, np.polynomial.legendre.leggauss(8)[1] / 2


@dataclass(frozen=True, eq=False)
class Charts:
    """Coordinates (b, m, d) of neighbourhoods (b, m), each centred and with its own point first, in pieces of equal size.

    `masses` has, for each of the n points, how often its own chart counts.
    """

    n: int
    pieces: list[tuple[Index, Array]]
    masses: Array | None = None

    @property
    def d(self) -> int:
        return int(self.pieces[0][1].shape[2])

    def alignment(self) -> Form:
        """The part of an embedding that is not affine in the charts, n×n. Sparse, PSD; kills the constant and, on a sheet that unrolls,
        every coordinate of its flat shape."""
        shape = Blocks(-np.ones(self.d), own=1.0, others=1.0, level=-1.0)
        return assembled(self.n, [(c, tangent_coordinates(T, self.d)) for c, T in self.pieces], shape, self.masses)

    def isometry(self, Y: Array) -> tuple[Array, float]:
        """The R, d×d, by which every neighbourhood of the embedding is nearest to its chart, turned, and the share by which it is not.

        ``min_R Σ_i min_Q ‖H Y_i R − T_i Q‖²_F`` over orthogonal Q, by turns: the Q of an R are polar factors, the R of these solves linear
        equations. Cost O(nd³) a step. The share is the root of what is left over ``Σ ‖T_i‖²``.
        """
        local, cross, weights, total = np.zeros((self.d, self.d)), [], [], 0.0
        for c, T in self.pieces:
            m = np.ones(len(c)) if self.masses is None else self.masses[c[:, 0]]
            near = Y[c] - Y[c].mean(axis=1, keepdims=True)
            local += np.einsum("b,bki,bkj->ij", m, near, near)
            total += float(np.sum(m * np.sum(T**2, axis=(1, 2))))
            cross.append(T.transpose(0, 2, 1) @ near)
            weights.append(m)
        K, m = np.concatenate(cross), np.concatenate(weights)
        W = dense.whitener(local)[0]
        R, left = W * np.sqrt(total / self.d), np.inf
        for _ in range(_STEPS):
            fits = np.einsum("b,bij,bik->jk", m, K, dense.nearest_rotations(K @ R))
            R, before = W @ (W.T @ fits), left
            left = total - float(np.sum(R * fits))
            if before - left <= 1e-13 * total:
                break
        return R, float(np.sqrt(max(left, 0.0) / total))


def tangent_charts(points: Matrix, graph: sp.csr_array, d: int, masses: Array | None = None) -> Charts:
    """Neighbourhoods seen in their tangent planes: lengths are right to second order. Cost O(n(k²D + k³))."""
    check_local(graph, points, d, d + 1, "A tangent chart")
    with stage("local models"):
        planes = OpenPlanes()
        pieces = [(c, _principal(X, d, (d,), planes)[:, :, :d]) for c, X in neighbourhood_coordinates(points, graph)]
    planes.warn("a tangent chart", _OTHER_PLANES)
    return Charts(graph.shape[0], pieces, masses)


def geodesic_charts(points: Matrix, graph: sp.csr_array, d: int, masses: Array | None = None) -> Charts:
    """Tangent charts whose coordinates are lengths along the parabolas that the neighbourhood bends in. Cost O(n(k²D + kd⁴)).

    The bending is told by the first d principal axes beside the tangent plane: a product of d plane curves has no more.
    """
    check_local(graph, points, d, d * (d + 3) // 2, "A geodesic chart")
    with stage("local models"):
        planes = OpenPlanes()
        pieces = [(c, _unrolled(X, d, planes)) for c, X in neighbourhood_coordinates(points, graph)]
    planes.warn("a geodesic chart", _OTHER_PLANES)
    return Charts(graph.shape[0], pieces, masses)


def _principal(X: Array, r: int, cuts: tuple[int, ...], planes: OpenPlanes) -> Array:
    """Coordinates (b, m, r) along the first principal axes of centred neighbourhoods, zero where there are fewer.

    `cuts` are the numbers of axes after which the others are used otherwise, or not at all.
    """
    U, s = local_singular_vectors(X)
    for cut in cuts:
        planes.look(s**2, cut)
    Z = (U * (s * (s > 1e-7 * s[:, :1]))[:, None, :])[:, :, :r]
    return np.pad(Z, [(0, 0), (0, 0), (0, r - Z.shape[2])])


def _unrolled(X: Array, d: int, planes: OpenPlanes) -> Array:
    """Arc lengths along the axes that diagonalise the bending, centred."""
    Z = _principal(X, 2 * d, (d, 2 * d), planes)
    size = np.sqrt(np.mean(np.sum(Z**2, axis=2), axis=1))[:, None, None]
    Z = Z / np.where(size > 0, size, 1.0)
    T, N = Z[:, :, :d], Z[:, :, d:]
    slopes, H = _bending(T, N)
    R = _axes_of_bending(H, T, N)
    T, slopes = T @ R, np.einsum("bia,bip->bap", R, slopes)
    h = np.einsum("bia,bijp,bja->bap", R, H, R)
    length = np.zeros_like(T)
    for node, weight in zip(_NODES, _WEIGHTS, strict=True):
        steep = slopes[:, None] + node * T[..., None] * h[:, None]
        length += weight * np.sqrt(1.0 + np.sum(steep**2, axis=3))
    T = T * length
    return (T - T.mean(axis=1, keepdims=True)) * size


def _bending(T: Array, N: Array) -> tuple[Array, Array]:
    """Slopes (b, d, p) and second derivatives (b, d, d, p) at the centre of the normal coordinates N as functions of the tangent ones."""
    d, pairs = T.shape[2], np.triu_indices(T.shape[2])
    # mixed products count twice: least squares of least norm are then the same in any axes of the tangent plane
    twice = np.where(pairs[0] == pairs[1], 1.0, np.sqrt(2.0))
    squares = T[:, :, pairs[0]] * T[:, :, pairs[1]] * twice
    P = np.concatenate([np.ones((*T.shape[:2], 1)), T, squares], axis=2)
    values, Q = dense.local_eigenpairs(P.transpose(0, 2, 1) @ P)
    inverse = np.where(values > 1e-10 * values[:, -1:], 1.0 / np.where(values > 0, values, 1.0), 0.0)
    coef = (Q * inverse[:, None, :]) @ (Q.transpose(0, 2, 1) @ (P.transpose(0, 2, 1) @ N))
    H = np.zeros((len(T), d, d, N.shape[2]))
    H[:, pairs[0], pairs[1]] += coef[:, 1 + d :] * twice[:, None]
    return coef[:, 1 : 1 + d], H + H.transpose(0, 2, 1, 3)


def _axes_of_bending(H: Array, T: Array, N: Array) -> Array:
    """Tangent axes (b, d, d) that diagonalise all second derivatives at once, which those of a product of plane curves do.

    They are those of one combination of them: the one that differs most between directions. Where the sheet bends alike in several
    directions, the members of the neighbourhood orient the axes.
    """
    d = H.shape[1]
    apart = H - np.einsum("biip->bp", H)[:, None, None] * np.eye(d)[..., None] / d
    squares, combinations = dense.local_eigenpairs(np.einsum("bijp,bijq->bpq", apart, apart))
    size = np.abs(H).max(axis=(1, 2, 3))
    _orient(squares, combinations, N, size**2)
    values, axes = dense.local_eigenpairs(np.einsum("bijp,bp->bij", apart, combinations[:, :, -1]))
    _orient(values, axes, T, size)
    return axes


def _orient(values: Array, axes: Array, rows: Array, size: Array) -> None:
    """Give the axes (b, q, q) of equal values the orientation of their rows (b, m, q), in place, where the sheet bends at all."""
    floor = _FLAT * size[:, None]
    for b in np.flatnonzero(np.any(np.diff(values, axis=1) <= floor, axis=1) & (size > _FLAT)):
        axes[b] = axes[b] @ orientation_of(values[b], rows[b] @ axes[b], 1e14 * float(floor[b, 0]))
