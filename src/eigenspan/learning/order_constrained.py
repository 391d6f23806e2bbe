"""Kernels from the eigenvectors of a graph, with weights learned from labels that do not increase with the eigenvalue."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from .._checks import check_parameter, real_numbers
from .._parameters import Count, Marker
from .._types import Array, Index, Sparse, TableLike, VectorLike, is_sparse
from ..data.y import read_classes
from ..errors import GraphError, InputError, LabelError
from ..graphs import components
from ..graphs.neighbours.graph import affinity_graph
from ..numerics.eigen import dense
from ..numerics.memory import refuse_lazy
from ..problem.forms import laplacian
from ..problem.matrix_functions import FunctionOf, Same

#: Eigenvalues of a Gram matrix below this share of the largest are rounding errors.
_RANK = 1e-13


@dataclass(frozen=True, eq=False)
class OrderedKernel:
    """A kernel ``Σ μ_i u_i u_iᵀ`` of eigenvectors of a graph Laplacian.

    Attributes
    ----------
    weights : ndarray of shape (m,)
        μ, the first that of the constant vector. The others do not increase, and the trace of the kernel is n.
    eigenvalues : ndarray of shape (m,)
        Eigenvalues of the Laplacian, smallest first.
    eigenvectors : ndarray of shape (n, m)
        Orthonormal eigenvectors, the first of them constant.
    alignment : float
        Cosine of the angle between the kernel and the labels, over the labelled points.
    """

    weights: Array
    eigenvalues: Array
    eigenvectors: Array
    alignment: float

    @property
    def factor(self) -> Array:
        """The n×m matrix F with K = FFᵀ."""
        return self.eigenvectors * np.sqrt(self.weights)

    @property
    def kernel(self) -> Array:
        """The n×n matrix K."""
        F = self.factor
        return F @ F.T


def order_constrained_kernel(
    W: TableLike, y: VectorLike, *, rank: int | None = 200, free_constant: bool = True, unlabeled: Marker = None
) -> OrderedKernel:
    """Return the kernel of a graph, smoother functions weighing at least as much as rougher ones, that fits labels best.

    .. math:: \\max_{\\mu} \\frac{\\langle K_{tr}, T \\rangle}{\\lVert K_{tr} \\rVert_F}, \\qquad
              K = \\sum_i \\mu_i u_i u_i^T, \\quad \\mu_i \\ge \\mu_{i+1} \\ge 0

    u are the eigenvectors of L = D − W, smallest eigenvalue first, and T is 1 for two labelled points of the same class and −1 for others
    [S1, §1.5]. `HeatKernel` and `CommuteTimeKernel` fix the decreasing function μ(λ) by a formula; here the labels choose it. Use the
    kernel, of labelled and unlabelled points, in a support vector machine or any method with ``kernel="precomputed"``.

    The admissible weights are a cone, and the best direction in a cone is the nearest point of it to T: nonnegative least squares over the
    steps of μ, exact.

    Cost: O(n³) for all eigenvectors, or a sparse eigenproblem for `rank` of them; then O(lm² + m³) for l labelled points and m
    eigenvectors.

    Parameters
    ----------
    W : array-like or sparse of shape (n, n)
        Symmetric affinities, not negative, of a connected graph, such as ``LaplacianEigenmaps().fit(X).affinity_.W``. Its diagonal
        has no effect.
    y : array-like of shape (n,)
        Class labels; NaN or None for unlabelled points.
    rank : int or None, default=200
        Number of the smoothest eigenvectors, the constant one not counted. None takes all.
    free_constant : bool, default=True
        Leave the weight of the constant vector, which separates no points, out of the order (the improved constraints).
    unlabeled : optional
        Label that marks unlabelled points, besides NaN and None.

    Returns
    -------
    OrderedKernel

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.svm import SVC
    >>> from eigenspan import LaplacianEigenmaps, order_constrained_kernel
    >>> X, y = make_moons(200, noise=0.05, random_state=0)
    >>> some = np.where(np.arange(200) < 12, y, -1)
    >>> W = LaplacianEigenmaps(2).fit(X).affinity_.W
    >>> K = order_constrained_kernel(W, some, rank=30, unlabeled=-1).kernel
    >>> svm = SVC(kernel="precomputed", C=100).fit(K[:12, :12], y[:12])
    >>> bool(svm.score(K[12:, :12], y[12:]) > 0.95)
    True

    References
    ----------
    Zhu, Kandola, Ghahramani & Lafferty (2005), Nonparametric transforms of graph kernels for semi-supervised learning.
    """
    refuse_lazy(W, "W")
    check_parameter("rank", rank, Count | None, InputError)
    affinities = _affinities(W)
    n = affinities.shape[0]
    codes = read_classes(y, n, unlabeled=unlabeled, name="order_constrained_kernel").codes
    constant = np.full((n, 1), n**-0.5)
    values, U = FunctionOf(laplacian(affinities), Same(), constant).smallest(rank)
    values, U = np.append(0.0, values), np.hstack([constant, U])
    known = np.flatnonzero(codes >= 0)
    weights, alignment = _aligned(U[known], codes[known], free_constant)
    return OrderedKernel(weights * (n / weights.sum()), values, U, alignment)


def _affinities(W: TableLike) -> Sparse:
    """Return the weights without their diagonal. Raise if they are not those of a connected graph."""
    table = W if is_sparse(W) else real_numbers(W, "W", InputError)
    if table.ndim != 2 or min(table.shape) < 2:
        raise InputError(
            f"W must be a square matrix of affinities between at least two points; got shape {table.shape}."
        )
    graph = affinity_graph(table)
    pieces = components(graph)[0]
    if pieces > 1:
        raise GraphError(
            f"The graph of W has {pieces} components, and the eigenvalue 0 as many eigenvectors, which have no order. Use more neighbours, "
            "or weights that connect it."
        )
    return graph.distances


def _aligned(U: Array, codes: Index, free_constant: bool) -> tuple[Array, float]:
    """Return the weights of the best alignment of ``Σ μ_i u_i u_iᵀ`` with the labels, and the alignment.

    Inner products of ``u_i u_iᵀ`` are squares of those of u_i, so l² entries are never written down.
    """
    same = np.equal.outer(np.arange(codes.max(initial=-1) + 1), codes).astype(np.float64)
    G, sums = (U.T @ U) ** 2, same @ U
    target = 2 * np.einsum("ci,ci->i", sums, sums) - U.sum(axis=0) ** 2  # u'Tu for T = 2 Σ_c 1_c 1_c' − 11'
    steps = np.triu(np.ones(G.shape))  # μ = steps δ with δ >= 0
    if free_constant:
        steps[0, 1:] = 0.0
    values, Q = dense.eigenpairs(dense.symmetric(G), None, "max")
    keep = values > _RANK * max(values[0], np.finfo(float).tiny)
    roots = np.sqrt(values[keep])
    delta, _ = nnls((roots[:, None] * Q[:, keep].T) @ steps, Q[:, keep].T @ target / roots, maxiter=100 * len(G))
    weights = steps @ delta
    length = np.sqrt(weights @ G @ weights)
    if not weights.any() or not length > 0:
        raise LabelError(
            f"No kernel of this graph agrees with the labels of {len(codes)} points better than chance: label more points, or check y."
        )
    return weights, float(target @ weights / (length * len(codes)))
