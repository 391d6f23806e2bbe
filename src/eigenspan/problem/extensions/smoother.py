"""Out-of-sample extension by smooth functions fitted to the training embedding [S4, §7], for embeddings from a learned Gram matrix.

* `Eigenfunctions` [S4, eqs. 63–67] extends the Gram matrix ``K = FFᵀ``: kernel ridge regression of F on x places x in the space of F,
  and y(x) are its coordinates on the principal axes there.
* `KernelMap` [S4, eqs. 68–77] fits the embedding itself by a combination of normalised Gaussian kernels.

Both need only the distances from x to the training points, so points may be given as rows of distances. Kernels are truncated and all
matrices are sparse. The first is more accurate, the second cheaper to evaluate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from ..._types import Array, Index, Mask, Matrix
from ...errors import InputError
from ...graphs.neighbours.graph import NeighbourGraph
from ...numerics.eigen.dense import whitener
from ...numerics.eigen.linear_systems import solve_positive
from ...numerics.factor.fill import predict_fill
from ...numerics.memory import require
from ...numerics.nearest.finders import AffinityRows, DistanceRows, Finder, NearestRows
from ...numerics.nearest.row_lookup import RowIndex, ZeroDistance
from ..form import Form
from ..map import Map
from ..spectrum import Spectrum

#: Number of points within the support of the smoothing kernel of a typical training point.
_COVERED = 100
#: Number of training points sampled for the width of the kernel and the size of its matrix.
_SAMPLE = 1000
#: Least smoothed value of the constant 1 by which rows are divided; below it x gets the embedding of its nearest training point.
_FLOOR = 1e-3
#: Distance, in widths, at which a Gaussian kernel counts as zero.
_FAR = 8.0
#: Order up to which LAPACK is faster than any sparse factorisation.
_SMALL = 500


def _wendland(t: Array) -> Array:
    """Return Wendland's C² function, positive definite in up to three (intrinsic) dimensions and zero for t ≥ 1."""
    t = np.minimum(t, 1.0)
    return (1.0 - t) ** 4 * (4.0 * t + 1.0)


def _gaussian(t: Array) -> Array:
    return np.exp(-0.5 * np.minimum(t, 50.0) ** 2)


#: Profile; radius of its support, in widths; default width as a share of the radius with `_COVERED` points.
_KERNELS: dict[str, tuple[Callable[[Array], Array], float, float]] = {
    "wendland": (_wendland, 1.0, 1.0),
    "gaussian": (_gaussian, 7.0, 1.0 / 3.0),
}


# ---------------------------------------------------------------------- eigenfunctions
@dataclass(frozen=True, eq=False)
class SmoothRows:
    """``x -> r(x)``, the smoothing kernel between x and the training points.

    With `weights` ``w = (R + ηI)⁻¹1`` the rows are divided by the smoothed constant, ``s(x) = w'r(x)``. Where s(x) vanishes because x is
    outside the support of all training points, n further columns hold the indicator of the nearest training point.
    """

    finder: Finder
    kernel: str
    width: float
    weights: Array | None = None

    def __call__(self, X: Matrix) -> sp.csr_array:
        D = self.finder.relate(np.asarray(X, dtype=np.float64))
        R = _with_data(D, _KERNELS[self.kernel][0](D.data / self.width))
        if self.weights is None:
            R.eliminate_zeros()
            return R
        left = R @ self.weights
        near = left >= _FLOOR
        scale = np.where(near, 1.0 / np.where(near, left, 1.0), 0.0)
        R = _with_data(R, R.data * np.repeat(scale, np.diff(R.indptr)))
        return _marked(R, D, ~near)


@dataclass(frozen=True, eq=False)
class Eigenfunctions:
    """Extension of ``Y = V Δ^½``, the principal coordinates of ``K = FFᵀ``, by smoothed eigenfunctions [S4, eqs. 63–67].

    ``y(x) = Δ^{−½} Vᵀ R S⁻¹ K S⁻¹ r(x)``, ``S = R + ηI``: the regression ``f(x) = Fᵀ S⁻¹ r(x)`` maps x into the space of F, and
    ``Δ^{−½} Vᵀ R S⁻¹ F`` holds the axes of the embedding there.

    In the printed formula f(x) shrinks towards the origin between the training points and away from them. `rescale` divides r(x) by
    the regression of the constant 1, ``1ᵀ S⁻¹ r(x)``, which is 1 at the training points up to η. An x outside the support of all
    training points then gets the embedding of the nearest one; by the printed formula it gets the origin.

    Cost: one sparse factorisation of R (by default about 100 entries per row) and r solves; a radius search per new point.
    """

    rows: SmoothRows
    points: Array
    factor: Array
    eta: float
    rescale: bool
    known: Callable[[Matrix], Index]

    def __call__(self, Y: Array, spectrum: Spectrum) -> Map:
        n = self.factor.shape[0]
        R = self._training_rows()
        S = sp.csr_array(R + self.eta * sp.eye_array(n))
        G = _solve(S, np.column_stack([self.factor, np.ones(n)]), f"eta={self.eta:g}")
        G, weights = G[:, :-1], G[:, -1]
        Z = Y / spectrum.values
        if not self.rescale:
            return Map(self.rows, G @ (G.T @ (R @ Z)), known=self.known, embedding=Y)
        Z = Z / np.maximum(R @ weights, _FLOOR)[:, None]
        coef = np.vstack([G @ (G.T @ (R @ Z)), Y])
        return Map(replace(self.rows, weights=weights), coef, known=self.known, embedding=Y)

    def _training_rows(self) -> sp.csr_array:
        """Return R. Raises MemoryLimitError if, judging by a sample of its rows, it does not fit into memory."""
        n = self.points.shape[0]
        sample = self.points[_sampled(n)]
        require(
            40.0 * n * self.rows(sample).nnz / sample.shape[0],
            f"The smoothing kernel of {n} points with width {self.rows.width:.3g}",
            "Use a smaller width, or another extension.",
        )
        return self.rows(self.points)


def eigenfunctions(
    graph: NeighbourGraph,
    points: Matrix,
    factor: Array,
    *,
    kernel: str = "wendland",
    width: float | None = None,
    eta: float = 1e-3,
    rescale: bool = True,
) -> Eigenfunctions:
    """Return the extension by eigenfunctions of the Gram matrix ``factor @ factor.T``.

    Parameters
    ----------
    graph : NeighbourGraph
        Its finder defines the distances.
    points : array of shape (n, D)
        Coordinates, or rows of distances to the training points if new points are given as such.
    factor : array of shape (n, r)
        Need not be centred.
    kernel : {"wendland", "gaussian"}, default="wendland"
        Smoothing kernel: Wendland's C² function, which is zero beyond its width, or the Gaussian, truncated where it is 2e-11, with
        several times as many entries.
    width : float or None, default=None
        Radius of the first kernel, standard deviation of the second. None means the radius within which a typical point has 100
        others, or a third of that radius.
    eta : float, default=1e-3
        Ridge η, relative to r(x, x) = 1.
    rescale : bool, default=True
        Reproduce constants (see `Eigenfunctions`); False is the formula as printed.
    """
    points = _as_points(graph, points)
    factor = np.asarray(factor, dtype=np.float64)
    if kernel not in _KERNELS:
        raise InputError(f"kernel={kernel!r} must be one of {', '.join(map(repr, _KERNELS))}.")
    _check_positive(eta=eta, width=1.0 if width is None else width)
    if factor.ndim != 2 or factor.shape[0] != graph.n:
        raise InputError(
            f"The factor of the Gram matrix has shape {factor.shape}; it must have {graph.n} rows, one per point."
        )
    _, cut, share = _KERNELS[kernel]
    width = share * _covering_radius(graph.finder, points) if width is None else width
    finder: Finder
    if isinstance(graph.finder, DistanceRows):
        finder = replace(graph.finder, n_neighbors=graph.finder.n)
    else:
        finder = NearestRows.build(points, radius=cut * width, metric=graph.finder.metric)
    rows = SmoothRows(finder, kernel, width)
    return Eigenfunctions(rows, points, factor - factor.mean(axis=0), eta, rescale, _known(graph, points))


# ---------------------------------------------------------------------- kernel map
@dataclass(frozen=True, eq=False)
class BumpRows:
    """Gaussian kernels of the training points nearest to x, each with its own width σ_j, divided by their sum [S4, eqs. 69, 77].

    Where x is more than 8σ_j from all of them, the kernels count as zero, and n further columns hold the indicator of the nearest
    training point.
    """

    finder: Finder
    widths: Array

    def __call__(self, X: Matrix) -> sp.csr_array:
        D = self.finder.relate(np.asarray(X, dtype=np.float64))
        t = D.data / self.widths[D.indices]
        far = np.minimum.reduceat(t, D.indptr[:-1]) > _FAR
        counts = np.diff(D.indptr)
        values = np.where(np.repeat(far, counts), 0.0, _gaussian(t))
        sums = np.where(far, 1.0, np.add.reduceat(values, D.indptr[:-1]))
        return _marked(_with_data(D, values / np.repeat(sums, counts)), D, far)


@dataclass(frozen=True, eq=False)
class KernelMap:
    """Extension of any embedding over the samples by ``y(x) = Σ_j α_j k_j(x) / Σ_l k_l(x)`` [S4, eqs. 68–77].

    The α_j minimise ``‖Y − K''A‖² + ridge ‖A‖²`` over the training points. The ridge replaces the pseudo-inverse of the printed formula,
    which is accurate only if K'' has full rank.

    An x outside the support of all training points gets the embedding of the nearest one.

    Cost: one sparse factorisation of K''ᵀK'' (about 100 entries per row for a two-dimensional manifold); a k-NN search per new point.
    """

    rows: BumpRows
    points: Array
    ridge: float
    known: Callable[[Matrix], Index]

    def __call__(self, Y: Array, spectrum: Spectrum) -> Map:
        n = self.points.shape[0]
        K = self.rows(self.points)[:, :n]
        S = sp.csr_array(K.T @ K + self.ridge * sp.eye_array(n))
        A = _solve(S, K.T @ Y, f"ridge={self.ridge:g}")
        return Map(self.rows, np.vstack([A, Y]), known=self.known, embedding=Y)


def kernel_map(
    graph: NeighbourGraph,
    points: Matrix,
    *,
    gamma: float = 0.5,
    order: int = 10,
    neighbours: int = 30,
    ridge: float = 1e-4,
) -> KernelMap:
    """Return the extension by normalised kernels.

    Parameters
    ----------
    graph, points
        As in `eigenfunctions`.
    gamma : float, default=0.5
        σ_j is this multiple of the distance from x_j to its `order`-th nearest other point.
    order : int, default=10
        1 is the printed formula [S4, eq. 70, with i ≠ j]. The nearest distance is a noisy measure of density: with it γ = 1 is good on
        a two-dimensional sheet and 0.5 on digits (64 dimensions); with the tenth neighbour one value is good for both.
    neighbours : int, default=30
        Number of training points with a weight in y(x), greater than `order`. If there are fewer points, all are used, and `order` is
        reduced in proportion.
    ridge : float, default=1e-4

    Notes
    -----
    If the distance is zero (coincident rows), the smallest positive distance in the list is used instead, or the median σ if there is
    none.
    """
    points = _as_points(graph, points)
    _check_positive(gamma=gamma, order=order, neighbours=neighbours, ridge=ridge)
    if order >= neighbours:
        raise InputError(f"order={order} must be smaller than neighbours={neighbours}. Use neighbours >= {order + 1}.")
    k = min(neighbours, graph.n)
    finder = _nearest_finder(graph.finder, points, k)
    lists = np.sort(finder.relate(points).data.reshape(graph.n, k), axis=1)  # the first entry is the point itself
    widths = lists[:, max(1, order * k // neighbours)]
    smallest = np.min(np.where(lists > 0, lists, np.inf), axis=1)
    widths = np.where(widths > 0, widths, smallest)
    _check_apart(widths)
    widths = np.where(np.isfinite(widths), widths, np.median(widths[np.isfinite(widths)]))
    return KernelMap(BumpRows(finder, gamma * widths), points, ridge, _known(graph, points))


# ---------------------------------------------------------------------- shared
def _solve(S: sp.csr_array, right: Array, ridge: str) -> Array:
    """Return ``S⁻¹ right``, by a dense factorisation if that is faster."""
    n = S.shape[0]
    if n <= _SMALL or predict_fill(S).seconds > float(n) ** 3 / 1e10:
        require(24.0 * n**2, f"A dense linear system of {n} points", 'Use a smaller width, or extension="barycentric".')
        T, _, _ = whitener(S.toarray())
        return T @ (T.T @ right)
    M = Form(n, sparse=S, psd=True)
    try:
        return solve_positive(M, right, M.norm())
    except np.linalg.LinAlgError as failure:
        raise InputError(
            f"The kernel matrix of {n} points is singular ({failure}): points coincide or are very close relative to the kernel width. "
            f"Use a larger value than {ridge}."
        ) from failure


def _with_data(D: sp.csr_array, data: Array) -> sp.csr_array:
    return sp.csr_array((data, D.indices.copy(), D.indptr.copy()), shape=D.shape)


def _marked(R: sp.csr_array, D: sp.csr_array, far: Mask) -> sp.csr_array:
    """Return R with n further columns: the indicator of the nearest training point in the rows `far` from all."""
    rows = np.flatnonzero(far)
    at = [D.indices[a + D.data[a:b].argmin()] for a, b in zip(D.indptr[rows], D.indptr[rows + 1], strict=True)]
    R.eliminate_zeros()
    marks = sp.csr_array((np.ones(rows.size), (rows, np.array(at, dtype=np.intp))), shape=D.shape)
    return sp.csr_array(sp.hstack([R, marks], format="csr"))


def _sampled(n: int) -> Index:
    return np.unique(np.linspace(0, n - 1, min(n, _SAMPLE)).astype(np.intp))


def _nearest_finder(finder: Finder, points: Array, k: int) -> Finder:
    """Return the finder with another number of neighbours."""
    if isinstance(finder, DistanceRows):
        return replace(finder, n_neighbors=k)
    if isinstance(finder, NearestRows):
        return replace(finder, n_neighbors=k, radius=None)
    return NearestRows.build(points, n_neighbors=k, metric=finder.metric)


def _covering_radius(finder: Finder, points: Array) -> float:
    """Return the median distance to the hundredth neighbour over a sample: it depends on the density, not on the number of edges."""
    n = points.shape[0]
    D = _nearest_finder(finder, points, min(_COVERED + 1, n)).relate(points[_sampled(n)])
    radii = np.maximum.reduceat(D.data, D.indptr[:-1])
    _check_apart(np.where(radii > 0, radii, np.inf))
    return float(np.median(radii[radii > 0]))


def _check_apart(distances: Array) -> None:
    if not np.isfinite(distances).any():
        raise InputError(
            f"All of {distances.size} points coincide with all their nearest neighbours, so no kernel width can be derived from distances. "
            "Drop duplicate rows."
        )


def _check_positive(**values: float) -> None:
    for name, value in values.items():
        if not value > 0:
            raise InputError(f"{name}={value!r} must be positive.")


def _as_points(graph: NeighbourGraph, points: Matrix) -> Array:
    if points is None or isinstance(graph.finder, AffinityRows) or sp.issparse(points):
        raise InputError(
            "Smooth extensions need dense coordinates, or all distances to the training points; X provides neither. Use another "
            "extension or method."
        )
    points = np.asarray(points, dtype=np.float64)
    if points.shape[0] != graph.n:
        raise InputError(f"The graph has {graph.n} nodes, but there are {points.shape[0]} points: use the same rows.")
    return points


def _known(graph: NeighbourGraph, points: Array) -> Callable[[Matrix], Index]:
    return ZeroDistance(graph.finder.columns) if isinstance(graph.finder, DistanceRows) else RowIndex.build(points)
