"""Isometric charts of every neighbourhood: flat coordinates with the lengths of a developable manifold to third order [Brand 2004].

A manifold that unrolls without stretching is, near each of its points, a product of parabolas along d tangent axes. The tangent
coordinates are replaced by the arc lengths of these parabolas.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ..._diagnostics import stage
from ..._types import Array, Index, Matrix
from ...numerics.eigen import dense
from ..form import Form
from ..spectrum import orientation_of
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

#: Largest number of alternations between rotations and the linear map.
_STEPS = 1000
#: Curvature of a neighbourhood of unit size that is a rounding error, and relative difference up to which two curvatures are equal.
_FLAT = 1e-10
#: Gauss–Legendre nodes and weights on [0, 1]: exact for the square roots below to 1e-9 up to slopes of one.
_NODES, _WEIGHTS = (np.polynomial.legendre.leggauss(8)[0] + 1) / 2, np.polynomial.legendre.leggauss(8)[1] / 2


@dataclass(frozen=True, eq=False)
class Charts:
    """Coordinates (b, m, d) of neighbourhoods (b, m), each centred and with its own point first, in stacks of equal size.

    `masses` holds the weight of the chart of each of the n points.
    """

    n: int
    pieces: list[tuple[Index, Array]]
    masses: Array | None = None

    @property
    def d(self) -> int:
        return int(self.pieces[0][1].shape[2])

    def alignment(self) -> Form:
        """Return the form of the part of an embedding that is not affine in the charts, n×n.

        Sparse, PSD; kills the constant and, for a developable manifold, every coordinate of its flat shape.
        """
        shape = Blocks(-np.ones(self.d), own=1.0, others=1.0, level=-1.0)
        return assembled(self.n, [(c, tangent_coordinates(T, self.d)) for c, T in self.pieces], shape, self.masses)

    def isometry(self, Y: Array) -> tuple[Array, float]:
        """Return the R, d×d, that makes every neighbourhood of the embedding as close as possible to its rotated chart, and the misfit.

        Minimises ``Σ_i min_Q ‖H Y_i R − T_i Q‖²_F`` over R and orthogonal Q alternately: given R, the Q are polar factors; given these, R
        solves linear equations. Cost O(nd³) per step. The misfit is the root of the minimum divided by ``Σ ‖T_i‖²``.
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
    """Return the coordinates of neighbourhoods in their tangent planes: lengths to second order. Cost O(n(k²D + k³))."""
    check_local(graph, points, d, d + 1, "A tangent chart")
    with stage("local models"):
        planes = OpenPlanes()
        pieces = [(c, _principal(X, d, (d,), planes)[:, :, :d]) for c, X in neighbourhood_coordinates(points, graph)]
    planes.warn("a tangent chart", _OTHER_PLANES)
    return Charts(graph.shape[0], pieces, masses)


def geodesic_charts(points: Matrix, graph: sp.csr_array, d: int, masses: Array | None = None) -> Charts:
    """Return tangent charts whose coordinates are arc lengths of fitted parabolas. Cost O(n(k²D + kd⁴)).

    Curvature is fitted in the first d principal axes beside the tangent plane: a product of d plane curves has no others.
    """
    check_local(graph, points, d, d * (d + 3) // 2, "A geodesic chart")
    with stage("local models"):
        planes = OpenPlanes()
        pieces = [(c, _unrolled(X, d, planes)) for c, X in neighbourhood_coordinates(points, graph)]
    planes.warn("a geodesic chart", _OTHER_PLANES)
    return Charts(graph.shape[0], pieces, masses)


def _principal(X: Array, r: int, cuts: tuple[int, ...], planes: OpenPlanes) -> Array:
    """Return coordinates (b, m, r) along the first principal axes of centred neighbourhoods, zero beyond their rank.

    `cuts` are the numbers of axes after which the axes have another use or none, so that equal variances there are ambiguous.
    """
    U, s = local_singular_vectors(X)
    for cut in cuts:
        planes.look(s**2, cut)
    Z = (U * (s * (s > 1e-7 * s[:, :1]))[:, None, :])[:, :, :r]
    return np.pad(Z, [(0, 0), (0, 0), (0, r - Z.shape[2])])


def _unrolled(X: Array, d: int, planes: OpenPlanes) -> Array:
    """Return centred arc lengths along the axes that diagonalise the curvature."""
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
    """Return slopes (b, d, p) and second derivatives (b, d, d, p) at the centre, of normal coordinates N as functions of tangent ones."""
    d, pairs = T.shape[2], np.triu_indices(T.shape[2])
    # mixed products have weight √2, so that the least-norm solution does not depend on the choice of tangent axes
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
    """Return tangent axes (b, d, d) that diagonalise all second derivatives together, as they exist for a product of plane curves.

    They are eigenvectors of one combination of the second derivatives, the one that differs most between directions. If several
    directions have equal curvature, the members of the neighbourhood determine the rotation.
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
    """Orient axes (b, q, q) of equal values by their rows (b, m, q), in place; flat neighbourhoods are skipped."""
    floor = _FLAT * size[:, None]
    for b in np.flatnonzero(np.any(np.diff(values, axis=1) <= floor, axis=1) & (size > _FLAT)):
        axes[b] = axes[b] @ orientation_of(values[b], rows[b] @ axes[b], 1e14 * float(floor[b, 0]))
