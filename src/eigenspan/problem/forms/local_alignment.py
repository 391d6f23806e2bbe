"""Alignment forms: local models of all neighbourhoods, summed to one n×n matrix ``M = Σ m_i S_i N_i N_iᵀ S_iᵀ``.

m_i is the mass of point i (the number of duplicate rows that it stands for). S_i selects the points of neighbourhood i. The columns of N_i
are the functions on them that are penalised: functions that are not affine in the tangent plane (LTSA), second derivatives (Hessian LLE),
or several reconstruction vectors (modified LLE). Every M here is sparse, PSD and kills the constant.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from ..._diagnostics import stage
from ..._types import Array, Index, Integers, Mask, Matrix
from ...errors import DimensionError, GraphError, InputError
from ...graphs.neighbours.graph import neighbourhoods
from ...graphs.weights.reconstruction_weights import (
    ROUNDING,
    local_work,
    neighbourhood_blocks,
    relative_neighbours,
    weights_without_ridge,
    width,
)
from ...numerics.eigen import dense
from ..form import Form
from .open_planes import OpenPlanes

#: `local_work` up to which numpy is faster than loading the compiled loops: 5,600 rows of 12 neighbours in 3 dimensions.
_SMALL = 1.2e7
#: Number of triplets up to which scipy is faster than loading the compiled loops.
_TRIPLETS = 5_000_000
#: Factor of the median threshold: with an odd number of points one share equals the median, and rounding must not exclude it.
_MIDDLE = 1.0 + 1e-10
#: Advice if the local planes are not determined.
_OTHER_PLANES = "Use another number of components or of neighbours."


@dataclass(frozen=True)
class Blocks:
    """Formula of a block of M from its factor F (m, q): ``F diag(signs) Fᵀ + level 11ᵀ/m + diag(own, others, …, others)``.

    The first member of a neighbourhood is the point itself. Only F is stored for every point, because it is much smaller than the block.
    """

    signs: Array
    own: float = 0.0
    others: float = 0.0
    level: float = 0.0

    def of(self, F: Array) -> Array:
        """Return the blocks (b, m, m) for a stack of factors (b, m, q)."""
        m = F.shape[1]
        return (F * self.signs) @ F.transpose(0, 2, 1) + self.level / m + np.diag([self.own, *[self.others] * (m - 1)])


def neighbourhood_coordinates(points: Matrix, graph: sp.csr_array) -> Iterator[tuple[Index, Array]]:
    """Yield neighbourhoods (b, m), each with its own point first, and their coordinates (b, m, D) relative to it."""
    for rows, columns in neighbourhoods(graph):
        for r, c in neighbourhood_blocks(
            rows, np.hstack([rows[:, None], columns]), width(points, columns.shape[1] + 1)
        ):
            yield c, relative_neighbours(points, c, points[r])


def _assemble(n: int, pieces: list[tuple[Index, Array]], shape: Blocks, masses: Array | None) -> Form:
    """Sum the blocks of pieces (members (b, m), factors (b, m, q))."""
    rows, columns, data = [], [], []
    for members, F in pieces:
        m = members.shape[1]
        rows.append(np.repeat(members, m, axis=1).ravel())
        columns.append(np.tile(members, (1, m)).ravel())
        B = shape.of(F)
        data.append((B if masses is None else B * masses[members[:, 0], None, None]).ravel())
    M = sp.coo_array((np.concatenate(data), (np.concatenate(rows), np.concatenate(columns))), shape=(n, n)).tocsr()
    return Form(n, sparse=sp.csr_array((M + M.T) / 2), psd=True, kills_constant=True)


def _assemble_compiled(starts: Integers, members: Integers, F: Array, shape: Blocks, masses: Array | None) -> Form:
    from ...numerics.factor.assemble import sum_of_blocks

    masses = np.ones(starts.size - 1) if masses is None else masses
    M = sum_of_blocks(starts, members, F, masses, shape.signs, shape.own, shape.others, shape.level)
    return Form(M.shape[0], sparse=M, psd=True, kills_constant=True)


def assembled(n: int, pieces: list[tuple[Index, Array]], shape: Blocks, masses: Array | None) -> Form:
    """Return `_assemble`, but by the compiled loop if there are many triplets."""
    if sum(members.size * members.shape[1] for members, _ in pieces) <= _TRIPLETS:
        return _assemble(n, pieces, shape, masses)
    counts = np.zeros(n, np.int64)
    for c, _ in pieces:
        counts[c[:, 0]] = c.shape[1]
    starts = np.concatenate([[0], np.cumsum(counts)])
    members, factors = np.empty(starts[-1], np.int32), np.empty((starts[-1], pieces[0][1].shape[2]))
    for c, F in pieces:
        places = starts[c[:, 0], None] + np.arange(c.shape[1])
        members[places], factors[places] = c, F
    return _assemble_compiled(starts, members, factors, shape, masses)


def _compiled(points: Matrix, graph: sp.csr_array) -> bool:
    return not sp.issparse(points) and local_work(graph, points.shape[1]) > _SMALL


def _lists(graph: sp.csr_array) -> tuple[Integers, Integers]:
    """Return the neighbourhoods as lists ``members[starts[i]:starts[i + 1]]``, empty for points without neighbours."""
    some = np.diff(graph.indptr) > 0
    starts = graph.indptr + np.concatenate([[0], np.cumsum(some)])
    members = np.empty(starts[-1], np.int32)
    own = starts[:-1][some]
    others = np.ones(members.size, dtype=bool)
    others[own] = False
    members[own] = np.flatnonzero(some)
    members[others] = graph.indices
    return starts.astype(np.int64), members


def tangent_coordinates(X: Array, d: int, planes: OpenPlanes | None = None) -> Array:
    """Return orthonormal tangent coordinates (b, m, d) of centred neighbourhoods (b, m, D).

    If a neighbourhood has a lower dimension (coincident points, for example), its further columns are zero instead of arbitrary.
    """
    U, s = local_singular_vectors(X)
    if planes is not None:
        planes.look(s**2, d)
    return U[:, :, :d] * (s[:, :d] > 1e-7 * s[:, :1])[:, None, :]


def local_singular_vectors(X: Array) -> tuple[Array, Array]:
    """Return left singular vectors and singular values of centred neighbourhoods (b, m, D), largest first."""
    Xc = X - X.mean(axis=1, keepdims=True)
    if X.shape[2] < X.shape[1]:
        return dense.local_axes(Xc)
    values, U = dense.local_eigenpairs(Xc @ Xc.transpose(0, 2, 1))
    return U[:, :, ::-1], np.sqrt(np.maximum(values[:, ::-1], 0.0))


def check_local(graph: sp.csr_array, points: Array, d: int, needed: int, what: str) -> None:
    if not (isinstance(points, np.ndarray) or sp.issparse(points)) or not sp.issparse(graph):
        raise InputError(
            f"{what} takes an array of points and the sparse neighbour lists of a graph over them, such as KNN(12).build(X).lists(); got a "
            f"{type(points).__name__} and a {type(graph).__name__}."
        )
    if graph.shape[0] != points.shape[0]:
        raise InputError(f"{what}: there are {points.shape[0]} points, and neighbour lists of {graph.shape[0]}.")
    if d > points.shape[1]:
        raise DimensionError(
            f"{what}: n_components={d} exceeds n_features={points.shape[1]}, the largest tangent dimension there is."
        )
    if not graph.nnz:
        raise GraphError("The graph has no edges: there are no neighbourhoods to model.")
    counts = np.diff(graph.indptr)
    smallest = int(counts[counts > 0].min())  # a point without neighbours has no model and no cost
    if smallest < needed:
        raise GraphError(
            f"{what} with n_components={d} needs at least {needed} neighbours per point, but some have {smallest}. "
            + (
                f"Use n_neighbors >= {needed}, or a graph= in which every point has as many (mutual neighbours are fewer)."
                if graph.shape[0] > needed
                else f"There are only {graph.shape[0]} distinct points: use more data."
            )
        )


def tangent_alignment(points: Array, graph: sp.csr_array, d: int, *, masses: Array | None = None) -> Form:
    """Return the form of LTSA: the part of an embedding that is not affine in the local tangent coordinates.

    ``N_i N_iᵀ = I − 11ᵀ/m − U_i U_iᵀ`` with U_i the leading d left singular vectors of the centred neighbourhood.
    Cost O(n(k²D + k³)).

    Examples
    --------
    >>> from sklearn.datasets import make_swiss_roll
    >>> from eigenspan import KNN
    >>> from eigenspan.forms import tangent_alignment
    >>> X, _ = make_swiss_roll(100, random_state=0)
    >>> tangent_alignment(X, KNN(8).build(X).lists(), 2).psd
    True
    """
    check_local(graph, points, d, d + 1, "LTSA")
    shape = Blocks(-np.ones(d), own=1.0, others=1.0, level=-1.0)
    planes = OpenPlanes()
    with stage("local models"):
        if not _compiled(points, graph):
            pieces = [(c, tangent_coordinates(X, d, planes)) for c, X in neighbourhood_coordinates(points, graph)]
            M = _assemble(graph.shape[0], pieces, shape, masses)
        else:
            from ...graphs.weights.local_models import tangents

            starts, members = _lists(graph)
            F, squares = tangents(points, starts, members, d)
            planes.look(squares, d)
            M = _assemble_compiled(starts, members, F, shape, masses)
    planes.warn("LTSA", _OTHER_PLANES)
    return M


def hessian_alignment(points: Array, graph: sp.csr_array, d: int, *, masses: Array | None = None) -> Form:
    """Return the form of Hessian LLE: the squared Frobenius norm of the Hessian in local tangent coordinates.

    N_i holds the d(d+1)/2 quadratic monomials of the tangent coordinates, orthogonalised against 1 and the coordinates.
    Cost O(n(k²D + k d⁴)).

    Examples
    --------
    >>> from sklearn.datasets import make_swiss_roll
    >>> from eigenspan import KNN
    >>> from eigenspan.forms import hessian_alignment
    >>> X, _ = make_swiss_roll(100, random_state=0)
    >>> hessian_alignment(X, KNN(8).build(X).lists(), 2).psd
    True
    """
    quadratic = d * (d + 1) // 2
    check_local(graph, points, d, d + quadratic, "Hessian LLE")
    shape = Blocks(np.ones(quadratic))
    planes = OpenPlanes()
    with stage("local models"):
        if not _compiled(points, graph):
            pieces = [(c, _quadratics(X, d, planes)) for c, X in neighbourhood_coordinates(points, graph)]
            M = _assemble(graph.shape[0], pieces, shape, masses)
        else:
            from ...graphs.weights.local_models import quadratics

            starts, members = _lists(graph)
            F, squares = quadratics(points, starts, members, d)
            planes.look(squares, d)
            M = _assemble_compiled(starts, members, F, shape, masses)
    planes.warn("Hessian LLE", _OTHER_PLANES)
    return M


def _quadratics(X: Array, d: int, planes: OpenPlanes) -> Array:
    """Return orthonormal functions (b, m, d(d+1)/2) that span the quadratic functions orthogonal to affine ones."""
    U, pairs = tangent_coordinates(X, d, planes), np.triu_indices(d)
    flat = np.concatenate([np.full((*U.shape[:2], 1), X.shape[1] ** -0.5), U], axis=2)
    products = U[:, :, pairs[0]] * U[:, :, pairs[1]]
    N, s = dense.local_axes(products - flat @ (flat.transpose(0, 2, 1) @ products))
    return N * (s > 1e-10)[:, None, :]  # zero if the quadratic function is affine on these points


def modified_alignment(
    points: Array, graph: sp.csr_array, d: int, reg: float = 1e-3, *, masses: Array | None = None
) -> Form:
    """Return the form of modified LLE: several independent reconstruction vectors per point [Zhang & Wang 2006].

    With V the s_i smallest eigenvectors of the local Gram matrix, ``W_i = (1 − α) w 1ᵀ + V (I − 2hhᵀ)`` reflects them so that the
    entries of each column sum to one; ``α = ‖Vᵀ1‖/√s`` and ``N_i = [−1ᵀ; W_i]``. Cost O(n(k²D + k³)).

    The reflection maps 1/√s to ``Vᵀ1/‖Vᵀ1‖``, so that with ``û = VVᵀ1/‖VVᵀ1‖`` and ``p = [−1; (1 − α) w + û/√s]``

        ``N_i N_iᵀ = s p pᵀ + diag(0, I − LLᵀ − û ûᵀ)``

    where L holds the leading eigenvectors: they are few, and well determined even if V is not. In a rank-deficient neighbourhood
    eigenvectors without variance belong to V.

    Examples
    --------
    >>> from sklearn.datasets import make_swiss_roll
    >>> from eigenspan import KNN
    >>> from eigenspan.forms import modified_alignment
    >>> X, _ = make_swiss_roll(100, random_state=0)
    >>> modified_alignment(X, KNN(8).build(X).lists(), 2).psd
    True
    """
    check_local(graph, points, d, d + 1, "Modified LLE")
    planes = OpenPlanes()
    with stage("local models"):
        if not _compiled(points, graph):
            pieces = _reconstructors(list(_leading(points, graph)), d, reg, planes)
            r = pieces[0][1].shape[2] - 2
            M = _assemble(graph.shape[0], pieces, _modified_blocks(r), masses)
        else:
            from ...graphs.weights.local_models import reconstructors

            starts, members = _lists(graph)
            F, squares, used = reconstructors(points, starts, members, d, reg, ROUNDING, _MIDDLE)
            planes.look(squares, used)
            M = _assemble_compiled(starts, members, F, _modified_blocks(F.shape[1] - 2), masses)
    planes.warn("modified LLE", _OTHER_PLANES)
    return replace(M, needs="one closed class")


def _modified_blocks(r: int) -> Blocks:
    return Blocks(np.array([-1.0] * (r + 1) + [1.0]), others=1.0)


def _leading(points: Array, graph: sp.csr_array) -> Iterator[tuple[Index, Array, Array]]:
    """Yield members, eigenvalues (b, r) and eigenvectors (b, k, r) of local Gram matrices, largest first, padded with zeros."""
    r = min(int(np.diff(graph.indptr).max()), points.shape[1])
    for members, near in neighbourhood_coordinates(points, graph):
        X = near[:, 1:]
        if X.shape[2] < X.shape[1]:
            V, s = dense.local_axes(X)
            values = s**2
        else:
            values, V = dense.local_eigenpairs(X @ X.transpose(0, 2, 1))
            values, V = np.maximum(values[:, ::-1], 0.0), V[:, :, ::-1]
        more = r - values.shape[1]
        yield members, np.pad(values, [(0, 0), (0, more)]), np.pad(V, [(0, 0), (0, 0), (0, more)])


def _reconstructors(
    local: list[tuple[Index, Array, Array]], d: int, reg: float, planes: OpenPlanes
) -> list[tuple[Index, Array]]:
    """Return members and factors ``[L, û, √s p]`` (b, m, r + 2) of modified LLE; unused columns of L are zero."""
    tiny = np.finfo(float).tiny
    shares = []
    for (
        _,
        values,
        _,
    ) in local:  # column c: the sum of all but the d + c largest eigenvalues, divided by the sum of these
        tails = np.pad(np.cumsum(values[:, ::-1], axis=1)[:, ::-1], [(0, 0), (0, 1)])
        shares.append(tails[:, d:] / np.maximum(np.cumsum(values, axis=1)[:, d - 1 :], tiny))
    eta = max(_MIDDLE * float(np.median(np.concatenate([share[:, 0] for share in shares]))), ROUNDING)
    pieces = []
    for (members, values, V), share in zip(local, shares, strict=True):
        k, r = V.shape[1:]
        above = np.sum(share[:, : min(k - 1, r) - d] > eta, axis=1)
        used = np.arange(r) < (d + above)[:, None]
        used &= values > ROUNDING * values[:, :1]
        planes.look(values, used.sum(axis=1))
        pieces.append((members, _reconstructor(values, V, used, reg)))
    return pieces


def _ridge_weights(values: Array, V: Array, sums: Array, reg: float) -> Array:
    """Return ``ridge · (G + ridge I)⁻¹ 1`` for a ridge relative to the trace of G, or its limit if `reg` is zero."""
    if reg == 0:
        return weights_without_ridge(values, V)
    trace = values.sum(axis=1, keepdims=True)
    ridge = reg * np.where(trace > 0, trace, 1.0)
    return np.asarray(1.0 - np.einsum("bkj,bj->bk", V, sums * values / (values + ridge)))


def _reconstructor(values: Array, V: Array, used: Mask, reg: float) -> Array:
    sums = V.sum(axis=1)
    w = _ridge_weights(values, V, sums, reg)
    w /= w.sum(axis=1, keepdims=True)
    L = V * used[:, None, :]
    u = 1.0 - np.einsum("bkj,bj->bk", L, sums)
    length = np.linalg.norm(u, axis=1, keepdims=True)
    u = np.where(length > 1e-12, u / np.where(length > 0, length, 1.0), 0.0)
    root = np.sqrt(V.shape[1] - used.sum(axis=1, keepdims=True))
    F = np.concatenate([L, u[:, :, None], ((root - length) * w + u)[:, :, None]], axis=2)
    first = np.zeros((F.shape[0], 1, F.shape[2]))
    first[:, 0, -1:] = -root
    return np.concatenate([first, F], axis=1)
