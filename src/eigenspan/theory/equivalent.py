"""A kernel whose kernel PCA is another method's embedding, as an object that can be looked at, embedded and extended."""

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
from .data_dependent_kernels import Extension, carried

Array = NDArray[np.float64]
Index = NDArray[np.intp]

#: Up to this many points the kernel matrix is written out and diagonalised as it is.
_SMALL = 2000


@dataclass(frozen=True, eq=False)
class EquivalentKernel:
    """The kernel behind a fitted method: ``Y = S U Δ^½``, U and Δ the leading eigenpairs of ``(I − NNᵀ) K (I − NNᵀ)``.

    Attributes
    ----------
    name : str
        The kernel K in symbols.
    form : str
        Which of several such kernels it is: what ``equivalent_kernel(form=)`` takes.
    statement : str
        What equals what.
    condition : str
        When it does.
    centring : {"centred", "deflated", "none"}
        What is taken out of K before its eigenvectors: the constant, the stationary vector D^½1, or nothing.
    operator : Form or FunctionOf
        K without its n² entries, sparse and of low rank where the method is: ``operator @ Z``.
    removed : ndarray of shape (n_points, q) or None
        N, orthonormal.
    row_scale : ndarray of shape (n_points,) or None
        The diagonal of S; None for ones.
    points : ndarray of int
        The rows of X that K is over: all, or one of each group of equal rows, or the landmarks of a fit on landmarks.
    embedding : ndarray of shape (n_points, d)
        The method's own.
    facts : dict
        What else was found, such as the smallest eigenvalue of a matrix that is not positive semidefinite.
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
        """Number of points that K is over."""
        return self.operator.n

    @cached_property
    def matrix(self) -> Array:
        """K as an n×n array, neither centred nor deflated; worked out when first asked for, and kept."""
        require(
            (8.0 if self._is_plain else 32.0) * self.n**2,
            f"The {self.n}×{self.n} kernel matrix",
            "Multiply by `operator`, which holds what the method made of it, or fit fewer points.",
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
        """Kernel PCA of K: its leading eigenvectors, times the roots of their eigenvalues and the scale of the rows.

        Up to 2000 points the matrix is written out and diagonalised. Beyond, its eigenvectors are those of the sparse form that it is a
        function of, at the end that the function makes the top.

        Parameters
        ----------
        n_components : int, optional
            As many as the method has unless given.

        Returns
        -------
        ndarray of shape (n_points, n_components)
        """
        if n_components is not None:
            check_parameter("n_components", n_components, Count, InputError)
        spectrum = self._pairs if n_components is None else self._leading(int(n_components))
        return self._scaled(spectrum.vectors * SqrtEigenvalue()(spectrum))

    def discrepancy(self) -> float:
        """The largest angle, in degrees, between the method's embedding and kernel PCA of K, as subspaces.

        Returns
        -------
        float
        """
        return largest_angle(self.embed(), self.embedding)

    def resolution(self) -> float:
        """The angle, in degrees, that rounding alone may open between two computations: ``n ε ‖K‖`` over the gap behind the last axis.

        Where it is large the subspace is not determined by the matrix to that accuracy, and the discrepancy says nothing.

        Returns
        -------
        float
        """
        values = self._leading(min(self._d + 1, self._most)).values
        gap = values[-2] - values[-1] if values.size > self._d else values[-1]
        ratio = self.n * np.finfo(float).eps * abs(values[0]) / max(float(gap), np.finfo(float).tiny)
        return float(np.degrees(np.arcsin(min(1.0, ratio))))

    def rows(self, X: Any) -> Array:
        """Centred kernel values ``k̃(x, x_j)`` of new points with those that K is over [S4, eq. 7].

        Kernels of this kind depend on the data: at a new point they are what the method's weights, geodesics or kernel function say of
        it, centred or deflated by the expectation over the training points. A training point has its own row of K.

        Parameters
        ----------
        X : array-like of shape (n_new, n_features)

        Returns
        -------
        ndarray of shape (n_new, n_points)
        """
        rule, X = self._placing(X)
        R, _ = rule(X)
        K = R if rule.through is None else np.asarray(R @ carried(self, rule.through))
        K = np.asarray(K.toarray() if hasattr(K, "toarray") else K)
        K = K if self.removed is None else K - (K @ self.removed) @ self.removed.T
        known = rule.index(X)
        if np.any(known >= 0):
            K[known >= 0] = self.centred_matrix[known[known >= 0]]
        return K

    def transform(self, X: Any) -> Array:
        """New points on the axes of `embed`: ``y_k(x) = s(x) Σ_i u_ki k̃(x_i, x) / √δ_k`` [S4, eq. 7].

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
        """How far eq. 7 and the method's own ``transform`` place new points apart, relative to the extent of the embedding.

        The axes of kernel PCA are first brought to those of the method by the linear map that does so for the training points.

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
        """Axes of the embedding that are not zero."""
        return dense.orthonormal(self.embedding).shape[1]

    @property
    def _most(self) -> int:
        return self.n - (0 if self.removed is None else self.removed.shape[1])

    @cached_property
    def _pairs(self) -> Spectrum:
        return self._leading(self._d)

    @property
    def _behind(self) -> Array:
        """Eigenvalues of the method's own form that belong to the axes: those that it found."""
        U = self._pairs.vectors
        return np.einsum("ij,ij->j", U, self.standard.A @ U)

    def _leading(self, d: int) -> Spectrum:
        if self.n <= _SMALL:
            values, U = dense.eigenpairs(self.centred_matrix, d, "max")
            return Spectrum(values, U, np.zeros(d), norm=float(np.abs(self.matrix).sum(axis=0).max()))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EigenspanWarning)  # the fit has told of a gap that is too small
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
                f"The kernel {self.name} of {type(self.estimator).__name__} has no value at new points that eq. 7 could use: new points "
                "are placed by other means, which its own transform knows."
            )
        return self.extension, read_new(self.estimator, X)[1]


def largest_angle(U: Any, V: Any) -> float:
    """The largest principal angle between two column spans, in degrees; dependent columns are no directions."""
    Q, P = (dense.orthonormal(np.asarray(M, dtype=np.float64)) for M in (U, V))
    if Q.shape[1] != P.shape[1]:
        return 90.0
    return float(np.degrees(la.subspace_angles(Q, P).max()))
