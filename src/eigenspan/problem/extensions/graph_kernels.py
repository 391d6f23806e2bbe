"""Kernels over the graph of the training points, for any kernel method: ``exp(−tL)``, ``L†`` and ``M†`` [S1, §1.4.2].

Between training points each is a function of a sparse form, stored as a factor F with ``K = FFᵀ``. A new point x has weights r(x) to its
neighbours, those of the random walk or of local reconstruction, and ``k(x, ·) = Σ_j r_j(x) k(x_j, ·)``. This harmonic extension is
positive semidefinite for any points and does not change the kernel of the training points.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from ..._documented import documented
from ..._parameters import Count, NotNegative, Positive, parameter
from ..._types import Array, Index, Matrix
from ...errors import GraphError
from ...graphs import ComputedWeights, NeighbourGraph, affinity, as_graph, components, reconstruction_weights
from ...graphs.neighbours.graph import GivenGraph
from ...numerics.memory import require
from ...numerics.nearest.row_lookup import RowIndex
from .. import Form
from ..forms import degrees, laplacian, reconstruction
from ..kernels import DataKernel, kernel_values
from ..matrix_functions import Diffused, FunctionOf, Reciprocal
from .barycentric import BarycentricRows
from .walk import Approach, WalkRows, rows_of_walk

#: Function of the eigenvalues of a form.
Function: TypeAlias = Callable[[Array], Array]
#: Weights (m, g) of new points over the nodes of a graph.
Joining: TypeAlias = Callable[[Matrix], sp.csr_array]


@dataclass(frozen=True, eq=False)
class GraphRows:
    """``x -> (k(x, x_1), …, k(x, x_n))``, the rows of a kernel over a graph.

    Attributes
    ----------
    kernel : DataKernel
        The specification.
    factor : ndarray of shape (g, r)
        F, over the nodes of the graph: the distinct rows of X.
    known : RowIndex
        Finds new points that equal a node.
    joining : callable
        Weights (m, g) of new points over the nodes.
    labels : ndarray of shape (n,)
        The node of every training row.
    columns : ndarray of int or None
        Training rows to return values for; None for all.
    """

    kernel: GraphKernel
    factor: Array
    known: RowIndex
    joining: Joining
    labels: Index
    columns: Index | None = None

    parameters = property(lambda self: {})
    points = None

    def __call__(self, X: Matrix) -> Array:
        index = self.known(X)
        F = np.empty((X.shape[0], self.factor.shape[1]))
        F[index >= 0] = self.factor[index[index >= 0]]
        if np.any(index < 0):
            F[index < 0] = self.joining(X[index < 0]) @ self.factor
        nodes = self.labels if self.columns is None else self.labels[self.columns]
        return kernel_values(F @ self.factor[nodes].T, X.shape[0], nodes.size)

    def among(self, subset: Index) -> GraphRows:
        """Return the kernel against some of the training rows."""
        return replace(self, columns=subset)

    def block(self, X: Matrix, i: Index, j: Index) -> Array:
        """Return ``k(x_i, x_j)`` for two sets of training rows."""
        return self.factor[self.labels[i]] @ self.factor[self.labels[j]].T


@dataclass(frozen=True, eq=False)
class ProductRows:
    """Weights of a random walk or, with degrees, of functions of a normalised Laplacian: ``√d(x) p_j(x) / √d_j``."""

    rows: Approach | WalkRows
    degrees: Array | None = None

    def __call__(self, X: Matrix) -> sp.csr_array:
        R = sp.csr_array(self.rows(X))
        walk, held = self.rows, None
        if isinstance(walk, Approach):
            n = R.shape[1] // 2
            walk, R, held = walk.walk, R[:, :n], R[:, n:]
        if self.degrees is not None:
            own = np.asarray(walk.weights(walk.joining.relate(X), X).sum(axis=1)).ravel()
            R = sp.diags_array(np.sqrt(own)) @ R @ sp.diags_array(1.0 / np.sqrt(self.degrees))
        return sp.csr_array(R if held is None else R + held)


class GraphKernel(DataKernel):
    """A kernel over a neighbour graph. ``_function(graph, points)`` returns its matrix and the weights of new points.

    Parameters
    ----------
    n_neighbors
        Number of neighbours of every point. None means 10, or all other points if there are fewer. It has no effect if
        `graph` is given.
    graph
        Neighbour graph. None means the `n_neighbors` nearest neighbours of every point. Others are ``KNN(15)``,
        ``Radius(0.5)``, a `NeighbourGraph` and a sparse matrix of distances.
    rank
        Number of the smallest eigenvalues of L to keep, which are the largest of K. None keeps all.
    """

    n_neighbors: Count | None = None
    graph: GivenGraph | None = None
    rank: Count | None = None

    def bind(self, X: Matrix) -> GraphRows:
        """Return the kernel of these training points, as `DataKernel.bind`."""
        self.check()
        known, labels = RowIndex.build(X), np.arange(X.shape[0])
        groups = known.copies() if self.graph is None or hasattr(self.graph, "build") else None
        if groups is not None:  # duplicate rows are one node
            X, labels = X[groups.first], groups.labels
            known = RowIndex.build(X)
        n = X.shape[0]
        graph = as_graph(self.graph, X, n_neighbors=self.n_neighbors)
        if self.rank is None:
            require(
                8.0 * n**2,
                f"The eigenvectors of the kernel of {n} points",
                "Pass rank= to keep the largest part of it.",
            )
        matrix, joining = self._function(graph, X)
        F = matrix.factor(self.rank)
        if isinstance(
            matrix.function, Diffused
        ):  # functions that are constant on a component have eigenvalue exp(0) = 1
            F = np.hstack([np.asarray(matrix.removed), F])
        return GraphRows(self, F, known, joining, labels)

    def _function(self, graph: NeighbourGraph, X: Matrix) -> tuple[FunctionOf, Joining]:
        raise NotImplementedError


class _LaplacianKernel(GraphKernel):
    """Functions of L, or of ``D^(−½) L D^(−½)``.

    Parameters
    ----------
    weights
        Edge weights: ``Heat(sigma)`` = exp(−d²/σ²), where σ is half the median distance unless given; ``LocalScaling(k)``;
        ``Binary()``; ``Cosine()``.
    normalised
        Use ``D^(−½) L D^(−½)`` instead of L.
    """

    weights: ComputedWeights = "heat"
    normalised: bool = False

    def _of_values(self, A: Form) -> Function:
        raise NotImplementedError

    def _function(self, graph: NeighbourGraph, X: Matrix) -> tuple[FunctionOf, Joining]:
        weighed = affinity(graph, self.weights, X)
        A, d = laplacian(weighed.W), degrees(weighed.W)
        joined = sp.csr_array(weighed.W > 0)  # an edge of weight zero does not connect its ends
        N = _indicators(connected_components(joined, directed=False)[1])
        if self.normalised:
            if d.min() <= 0:
                raise GraphError(
                    f"{int(np.sum(d <= 0))} of {d.size} points have no edge of positive weight, and normalised=True divides by the sum of "
                    "each point's weights. Use a larger kernel width, more neighbours, or normalised=False."
                )
            A, N = A.scaled(1.0 / np.sqrt(d)), np.sqrt(d)[:, None] * N
            N = N / np.linalg.norm(N, axis=0)
        return FunctionOf(A, self._of_values(A), N), ProductRows(
            rows_of_walk(graph, weighed), d if self.normalised else None
        )


@documented
class HeatKernel(_LaplacianKernel):
    """The heat kernel of a neighbour graph, for any method's ``kernel=``.

    .. math:: K = e^{-tL}, \\qquad L = D - W

    ``K_ij`` is the heat at j a time t after one unit was placed on i [S1, §1.4.2]: similarity along the graph, not through the space around
    it. A small t separates single neighbours, a large one only clusters, and t → ∞ only the components of the graph. New points have the
    weighted mean of their neighbours' values.

    Cost: the neighbour search, and the eigenpairs with λ < 35/t: O(n³) up to 2000 points; for more points a sparse solver, if these
    eigenpairs are few.

    Parameters
    ----------
    t
        Time. Degrees D are sums of weights, at most the number of neighbours; with ``normalised=True`` they are one.
    rank
        Number of the smallest eigenvalues of L to keep. None keeps all that are not negligible.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from eigenspan import HeatKernel, KernelPCA
    >>> X, y = make_moons(200, noise=0.05, random_state=0)
    >>> KernelPCA(2, kernel=HeatKernel(5.0)).fit(X).transform(X[:3] + 0.01).shape
    (3, 2)

    References
    ----------
    Kondor & Lafferty (2002), Diffusion kernels on graphs and other discrete structures; [S1] §1.4.2.
    """

    t: Positive = parameter(default=1.0, kw_only=False)

    def _of_values(self, A: Form) -> Function:
        return Diffused(float(self.t))


@documented
class CommuteTimeKernel(_LaplacianKernel):
    """The pseudo-inverse of the Laplacian of a neighbour graph, for any method's ``kernel=``.

    .. math:: K = L^\\dagger, \\qquad \\operatorname{vol} \\cdot (K_{ii} + K_{jj} - 2 K_{ij}) = \\text{commute time}

    Squared distances in its feature space are commute times of a random walk: points are near if many short paths join them [S4, eq. 11].
    Kernel PCA with it solves the ratio cut. Points in different components of the graph have the kernel value zero. New points have the
    weighted mean of their neighbours' values.

    Cost: the neighbour search and O(n³) for all eigenpairs of L, or a sparse eigenproblem for `rank` of them.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from eigenspan import LDA, CommuteTimeKernel
    >>> X, y = make_moons(200, noise=0.15, random_state=0)
    >>> LDA(1, kernel=CommuteTimeKernel(n_neighbors=8)).fit(X, y).transform(X[:3]).shape
    (3, 1)

    References
    ----------
    Fouss et al. (2007); Ham et al. (2004); [S4] §2.2.
    """

    def _of_values(self, A: Form) -> Function:
        return _pseudo_inverse(A)


@documented
class ReconstructionKernel(GraphKernel):
    """The pseudo-inverse of the quadratic form of LLE, for any method's ``kernel=``.

    .. math:: K = M^\\dagger, \\qquad M = (I - W)^T (I - W)

    with W the weights that reconstruct every point from its neighbours [S4, eq. 14]. Kernel PCA with it is LLE, up to the lengths of the
    axes. Kernel values of new points are reconstructed with the same kind of weights. A few directions hold nearly all of K, so use a
    ridge with methods that need more than the leading axes.

    Cost: the neighbour search, O(n(k²D + k³)) for the weights, and O(n³) for all eigenpairs of M or a sparse eigenproblem for `rank` of
    them.

    Parameters
    ----------
    reg
        Regularisation of the weights, relative to the trace of each local Gram matrix.
    rank
        Number of the smallest eigenvalues of M to keep, which are the largest of K. None keeps all.

    Examples
    --------
    >>> from sklearn.datasets import make_s_curve
    >>> from eigenspan import KernelPCA, ReconstructionKernel
    >>> X, _ = make_s_curve(300, random_state=0)
    >>> KernelPCA(2, kernel=ReconstructionKernel(12)).fit_transform(X).shape
    (300, 2)

    References
    ----------
    Ham et al. (2004); [S4] §2.2.
    """

    n_neighbors: Count | None = parameter(default=None, kw_only=False)
    reg: NotNegative = 1e-3

    def _function(self, graph: NeighbourGraph, X: Matrix) -> tuple[FunctionOf, Joining]:
        M = reconstruction(reconstruction_weights(X, graph.lists(), reg=self.reg))
        joining = BarycentricRows(graph.lists_of_new(), X, self.reg)
        return FunctionOf(M, _pseudo_inverse(M), _indicators(components(graph)[1])), joining


def _pseudo_inverse(A: Form) -> Reciprocal:
    return Reciprocal(floor=A.n * np.finfo(float).eps * A.norm())


def _indicators(labels: Index) -> Array:
    """Return orthonormal indicator vectors of the components, (n, c)."""
    N = np.zeros((labels.size, labels.max() + 1))
    N[np.arange(labels.size), labels] = 1.0
    return N / np.linalg.norm(N, axis=0)
