"""`EquivalentKernel`: a kernel whose kernel PCA is the embedding of another method."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray

from .._checks import check_parameter
from .._parameters import Count
from ..data import read_new
from ..errors import EigenspanWarning, InputError
from ..numerics.eigen import dense
from ..numerics.memory import require
from ..problem import Spectrum, SqrtEigenvalue, TraceProblem, solve
from ..problem.matrix_functions import FunctionOf, Operator
from .data_dependent_kernels import Extension, row_factor

Array = NDArray[np.float64]
Index = NDArray[np.intp]

#: Up to this many points the dense kernel matrix is formed and diagonalised.
_SMALL = 2000


@dataclass(frozen=True, eq=False)
class EquivalentKernel:
    """The kernel of a fitted method: ``Y = S U Δ^½``, with U and Δ the leading eigenpairs of ``(I − NNᵀ) K (I − NNᵀ)``.

    Attributes
    ----------
    name : str
        Formula of the kernel K.
    form : str
        Kind of kernel, as in ``equivalent_kernel(form=)``.
    statement : str
        Relation between the kernel and the method.
    condition : str
        Condition under which it holds.
    centring : {"centred", "deflated", "none"}
        Vector removed from K before its eigenvectors are computed: the constant, the stationary vector D^½1, or none.
    operator : Form or FunctionOf
        K as an operator, ``operator @ Z``, without a dense n×n matrix if the method has none.
    removed : ndarray of shape (n_points, q) or None
        N, with orthonormal columns.
    row_scale : ndarray of shape (n_points,) or None
        The diagonal of S; None for the identity.
    points : ndarray of int
        Row numbers of X of the points of K: all rows, one per group of duplicate rows, or the landmarks.
    embedding : ndarray of shape (n_points, d)
        The embedding of the method.
    facts : dict
        Further results, such as the smallest eigenvalue of a matrix that is not positive semidefinite.
    """

    name: str
    form: str
    statement: str
    condition: str
    centring: str
    operator: Operator
    removed: Array | None
    row_scale: Array | None
    points: Index
    embedding: Array
    estimator: Any = field(repr=False)
    standard: TraceProblem = field(repr=False)
    function: Callable[[Array], Array] = field(repr=False)
    extension: Extension | None = field(default=None, repr=False)
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def n(self) -> int:
        """Number of points of K."""
        return self.operator.n

    @cached_property
    def matrix(self) -> Array:
        """K as an n×n array, neither centred nor deflated; computed on first use and cached."""
        require(
            (8.0 if self._is_plain else 32.0) * self.n**2,
            f"The {self.n}×{self.n} kernel matrix",
            "Use `operator`, which needs no dense matrix, or fit fewer points.",
        )
        return dense.symmetric(self.operator.to_dense())

    @property
    def _is_plain(self) -> bool:
        return not isinstance(self.operator, FunctionOf)

    @property
    def centred_matrix(self) -> Array:
        """``(I − NNᵀ) K (I − NNᵀ)``, the matrix whose eigenvectors are the embedding."""
        K, N = self.matrix, self.removed
        if N is None:
            return K
        KN = K @ N
        left = N @ KN.T
        return K - left - left.T + N @ (N.T @ KN) @ N.T

    def embed(self, n_components: int | None = None) -> Array:
        """Return kernel PCA of K: its leading eigenvectors times the roots of their eigenvalues, with rows scaled.

        Up to 2000 points the dense matrix is diagonalised. For more points the eigenvectors are computed from the sparse form of which K
        is a function.

        Parameters
        ----------
        n_components : int, optional
            Number of axes; by default that of the method.

        Returns
        -------
        ndarray of shape (n_points, n_components)
        """
        if n_components is not None:
            check_parameter("n_components", n_components, Count, InputError)
        spectrum = self._pairs if n_components is None else self._leading(int(n_components))
        return self._scaled(spectrum.vectors * SqrtEigenvalue()(spectrum))

    def discrepancy(self) -> float:
        """Return the largest angle, in degrees, between the subspaces of the method's embedding and kernel PCA of K.

        Returns
        -------
        float
        """
        return largest_angle(self.embed(), self.embedding)

    def resolution(self) -> float:
        """Return the angle, in degrees, that rounding errors may cause: ``n ε ‖K‖`` divided by the eigenvalue gap after the last axis.

        If it is large, the matrix does not determine the subspace, and the discrepancy is meaningless.

        Returns
        -------
        float
        """
        values = self._leading(min(self._d + 1, self._most)).values
        gap = values[-2] - values[-1] if values.size > self._d else values[-1]
        ratio = self.n * np.finfo(float).eps * abs(values[0]) / max(float(gap), np.finfo(float).tiny)
        return float(np.degrees(np.arcsin(min(1.0, ratio))))

    def rows(self, X: Any) -> Array:
        """Return centred kernel values ``k̃(x, x_j)`` of new points with the points of K [S4, eq. 7].

        These kernels depend on the data: their values at a new point are computed from the method's weights, geodesics or kernel function,
        and centred or deflated by the mean over the training points. A training point has its row of K.

        Parameters
        ----------
        X : array-like of shape (n_new, n_features)

        Returns
        -------
        ndarray of shape (n_new, n_points)
        """
        rule, X = self._placing(X)
        R, _ = rule(X)
        K = R if rule.through is None else np.asarray(R @ row_factor(self, rule.through))
        K = np.asarray(K.toarray() if hasattr(K, "toarray") else K)
        K = K if self.removed is None else K - (K @ self.removed) @ self.removed.T
        known = rule.index(X)
        if np.any(known >= 0):
            K[known >= 0] = self.centred_matrix[known[known >= 0]]
        return K

    def transform(self, X: Any) -> Array:
        """Map new points to the axes of `embed`: ``y_k(x) = s(x) Σ_i u_ki k̃(x_i, x) / √δ_k`` [S4, eq. 7].

        Parameters
        ----------
        X : array-like of shape (n_new, n_features)

        Returns
        -------
        ndarray of shape (n_new, n_components)
        """
        rule, X = self._placing(X)
        spectrum = self._pairs
        R, scale = rule(X)
        coef = spectrum.vectors * (rule.factors(spectrum.values, self._behind) / SqrtEigenvalue()(spectrum))
        Y = np.asarray(R @ coef) * scale[:, None]
        known = rule.index(X)
        Y[known >= 0] = self.embed()[known[known >= 0]]
        return Y

    def extension_discrepancy(self, X: Any) -> float:
        """Return the largest difference between eq. 7 and the method's ``transform`` at new points, relative to the embedding.

        The axes of kernel PCA are first aligned with those of the method by a linear map fitted to the training points.

        Parameters
        ----------
        X : array-like of shape (n_new, n_features)

        Returns
        -------
        float
        """
        T = la.lstsq(self.embed(), self.embedding)[0]
        apart = np.abs(self.transform(X) @ T - np.asarray(self.estimator.transform(X), dtype=np.float64))
        return float(apart.max() / max(np.abs(self.embedding).max(), np.finfo(float).tiny))

    # ------------------------------------------------------------------ eigenpairs
    @cached_property
    def _d(self) -> int:
        """Rank of the embedding."""
        return dense.orthonormal(self.embedding).shape[1]

    @property
    def _most(self) -> int:
        return self.n - (0 if self.removed is None else self.removed.shape[1])

    @cached_property
    def _pairs(self) -> Spectrum:
        return self._leading(self._d)

    @property
    def _behind(self) -> Array:
        """Eigenvalues of the form of the method that belong to the axes."""
        U = self._pairs.vectors
        return np.einsum("ij,ij->j", U, self.standard.A @ U)

    def _leading(self, d: int) -> Spectrum:
        if self.n <= _SMALL:
            values, U = dense.eigenpairs(self.centred_matrix, d, "max")
            return Spectrum(values, U, np.zeros(d), norm=float(np.abs(self.matrix).sum(axis=0).max()))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EigenspanWarning)  # the fit has warned of small gaps
            found = solve(self.standard, d)
            values, U = self.function(found.values), found.vectors
            if self.standard.sense == "min" and isinstance(self.operator, FunctionOf) and self.operator.both_ends:
                other = solve(TraceProblem(self.standard.A, None, "max", self.standard.exclude), d)
                values, U = np.append(values, self.function(other.values)), np.hstack([U, other.vectors])
        first = np.argsort(-values, kind="stable")[:d]
        return Spectrum(values[first], U[:, first], np.zeros(d), norm=float(np.abs(values).max()))

    def _scaled(self, Y: Array) -> Array:
        return Y if self.row_scale is None else self.row_scale[:, None] * Y

    def _placing(self, X: Any) -> tuple[Extension, Any]:
        if self.extension is None:
            raise InputError(
                f"The kernel {self.name} of {type(self.estimator).__name__} has no value at new points: eq. 7 does not apply. Use the "
                "transform of the method."
            )
        return self.extension, read_new(self.estimator, X)[1]


def largest_angle(U: Any, V: Any) -> float:
    """Return the largest principal angle between two column spaces, in degrees; 90 if their dimensions differ."""
    Q, P = (dense.orthonormal(np.asarray(M, dtype=np.float64)) for M in (U, V))
    if Q.shape[1] != P.shape[1]:
        return 90.0
    return float(np.degrees(la.subspace_angles(Q, P).max()))
