"""Kernel Isomap: a positive semidefinite kernel from geodesic distances."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..._parameters import attribute
from ..._types import Array, TableLike
from ...data import Sample, read_new
from ...errors import DimensionError
from ...graphs import NeighbourGraph, require_geodesics
from ...numerics.eigen import dense
from ...numerics.memory import require
from ...problem import Fitted, Posed
from ..base.graph_embedding import Reduction, Sampled
from ..base.table import known_as, method
from .classical_mds import cailliez, require_cailliez
from .isomap import Isomap, geodesic_reductions, pose_geodesics


@method("distances", "max −½HΔ²H of geodesics, PSD", "embedding", "n³", "S1 §1.4")
@known_as(
    "Kernel Isomap",
    "robust kernel Isomap; positive semidefinite Isomap; kernel isometric mapping",
    {"psd='constant'": "constant shifting Isomap; Isomap with an additive constant"},
)
class KernelIsomap(Isomap):
    """Kernel Isomap: geodesic distances as a positive semidefinite kernel.

    .. math:: K = \\arg\\min_{P \\succeq 0} \\lVert -\\tfrac12 H \\hat\\Delta^2 H - P \\rVert_F, \\qquad \\text{or} \\quad
       K = -\\tfrac12 H (\\hat\\Delta + c)^2 H \\succeq 0

    Lengths of shortest paths are in general distances of no points: the Gram matrix of `Isomap` has negative eigenvalues, which it leaves
    out. Here the nearest positive semidefinite matrix is taken [S1, §1.4], or the smallest constant c is added to the geodesics between
    different points that makes them Euclidean [Choi & Choi]. What is left is a kernel: ``kernel_`` between the points and
    ``kernel_values(X)`` with new ones serve any kernel machine with ``kernel="precomputed"``. The embedding is kernel PCA of it, new points
    are projected on its axes. The projection leaves Isomap's own axes as they are; the constant changes them, and where single short-cuts
    make the geodesics far from Euclidean it can exceed the distances themselves: look at ``constant_``.

    Cost: as Isomap, and O(n³) for all eigenvectors when ``kernel_`` is asked for (``"project"``), or for a handful of the lowest
    (``"constant"``).

    Parameters
    ----------
    landmarks
        Fit to this many rows, or to the given ones, build the graph among them, and place all other rows by the map for new
        points. This costs a fit to m rows and one neighbour search per other row, with O(m) memory beyond data and
        embedding. Details finer than the spacing of the landmarks are interpolated. None fits to all rows.
    psd
        Drop the negative eigenvalues, or add the smallest constant to the distances that leaves none.

    Attributes
    ----------
    constant_ : float
        c; zero with ``psd="project"``.
    kernel_ : ndarray of shape (n_samples, n_samples)
        K between the points of ``graph_``, recomputed each time it is read.
    dist_matrix_ : ndarray of shape (n_samples, n_samples)
        Geodesic distances between the same points, without the constant.

    Examples
    --------
    >>> from sklearn.datasets import make_swiss_roll
    >>> from sklearn.svm import SVC
    >>> from eigenspan import KernelIsomap
    >>> X, t = make_swiss_roll(200, random_state=0)
    >>> isomap = KernelIsomap(2, n_neighbors=10).fit(X)
    >>> machine = SVC(kernel="precomputed").fit(isomap.kernel_, t > 9)
    >>> machine.predict(isomap.kernel_values(X[:5] + 0.01)).shape
    (5,)

    References
    ----------
    Choi & Choi (2007), Robust kernel Isomap; Ham et al. (2004); Cailliez (1983).
    """

    psd: Literal["project", "constant"] = "project"

    constant_: float = attribute()
    dist_matrix_: Array = attribute()

    def _fit(self, sample: Sample) -> Fitted:
        if self.n_components == "auto" and self.psd == "constant":
            raise DimensionError(
                'n_components="auto" needs psd="project": a constant on all distances raises every eigenvalue. Or give a number.'
            )
        return super()._fit(sample)

    def _reductions(self) -> tuple[Reduction, ...]:
        return geodesic_reductions(self, self._check_memory, Sampled(self.landmarks, self.graph, self.random_state))

    def _check_memory(self, n: int) -> None:
        if self.psd == "constant":
            require_cailliez(n, 'Fit on landmarks=500 of the points, or use psd="project".')
        require_geodesics(n, n)

    def _pose_graph(self, graph: NeighbourGraph, sample: Sample) -> Posed:
        posed: Any = pose_geodesics(self, graph, sample, cailliez if self.psd == "constant" else None)
        return posed.having(constant_=posed.basis.extension.rows.added)

    @property
    def kernel_(self) -> Array:
        """K between the points of ``graph_``, n×n and positive semidefinite up to rounding."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError("KernelIsomap has no kernel_ before fit.")
        G, s = self._standard()
        n = len(s)
        require(32.0 * n * n, f"The {n}×{n} kernel matrix", "Fit on landmarks=500 of the points.")
        if self.psd == "constant":
            return G / np.outer(s, s)
        values, U = _positive_part(G)
        F = U * np.sqrt(values) / s[:, None]
        return dense.symmetric(F @ F.T)

    def kernel_values(self, X: TableLike) -> Array:
        """Return the values of the kernel between new points and those of ``graph_``.

        Parameters
        ----------
        X : array-like of shape (n_points, n_features)

        Returns
        -------
        ndarray of shape (n_points, n_samples)
        """
        check_is_fitted(self)
        _, rows = read_new(self, X)
        G, s = self._standard()
        K = self.map_.rows(rows) - self.map_.offset
        K -= np.average(K, axis=1, weights=s**2)[:, None]
        if self.psd == "project":
            U = _positive_part(G)[1]
            K = ((K * s) @ U) @ (U.T / s)
        assert self.map_.known is not None
        known = self.map_.known(rows)
        K[known >= 0] = self.kernel_[known[known >= 0]]
        return K

    def _standard(self) -> tuple[Array, Array]:
        """Return the Gram matrix with every point counted as often as its mass says, and the roots of the masses."""
        A, B = self.problem_.A.dense, self.problem_.B
        if B is None:
            return A, np.ones(len(A))
        s = np.sqrt(B.diagonal())
        return A / np.outer(s, s), s


def _positive_part(G: Array) -> tuple[Array, Array]:
    """Return the eigenpairs above zero, up to rounding errors."""
    values, U = dense.eigenpairs(G, None, "max")
    keep = values > len(G) * np.finfo(float).eps * values[0]
    return values[keep], U[:, keep]
