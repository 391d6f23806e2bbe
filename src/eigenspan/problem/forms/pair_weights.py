"""Symmetric weights on pairs of samples, with their degrees and the forms derived from them.

==========  ======================================  =================================
`Sparse`    weights on the edges of a graph         a sparse matrix
`ByClass`   1/n_k on all pairs of class k           rank c
`AllPairs`  weights of a rule on every pair         blocks, or n×n for small n
`Paths`     similarities along the best paths       a tree of merges
==========  ======================================  =================================

None is an n×n array unless n is small. Methods accept all kinds. `laplacian` and `degree` return the forms of any symmetric weights.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..._checks import real_numbers
from ..._types import Array, Index, Matrix
from ...errors import InputError
from ...graphs.class_graphs import class_codes, class_indicator
from ...graphs.neighbours.graph import NeighbourGraph
from ...graphs.weights.path_similarity import MergeTree, PathSimilarity
from ...graphs.weights.rules import Bindable, affinity, as_weights
from ..form import Form, diagonal, scatter_form
from .reconstruction_form import reconstruction, row_stochastic


# ---------------------------------------------------------------------- forms of weights
def degrees(W: Matrix) -> Array:
    """Return ``W 1`` for sparse weights or weights in a form."""
    return W.ones() if isinstance(W, Form) else np.asarray(W.sum(axis=1)).ravel()


def counted(W: sp.csr_array, masses: Array | None) -> sp.csr_array:
    """Return ``m_i w_ij m_j``: the weight between all duplicates of one sample and all duplicates of another.

    Duplicates of one sample are not joined to each other: such edges would change degrees only.
    """
    return W if masses is None else sp.csr_array(sp.diags_array(masses) @ W @ sp.diags_array(masses))


def without_density(W: sp.csr_array, masses: Array | None, alpha: float) -> tuple[sp.csr_array, Array | None]:
    """Return ``Q^(−α) W Q^(−α)`` and the diagonal of Q^α, for counted weights W; Q are the degrees of single rows.

    None stands for the diagonal if α = 0.
    """
    if not alpha:
        return W, None
    density = (degrees(W) if masses is None else degrees(W) / masses) ** alpha
    S = sp.diags_array(1.0 / density)
    return sp.csr_array(S @ W @ S), density


def laplacian(W: Matrix) -> Form:
    """Return ``L = diag(W1) − W``, n×n. Symmetric, L1 = 0; PSD if no weight is negative.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenspan.forms import laplacian
    >>> laplacian(np.array([[0.0, 2.0], [2.0, 0.0]])).to_dense()
    array([[ 2., -2.],
           [-2.,  2.]])
    """
    if isinstance(W, Form):
        L = diagonal(degrees(W)) - W
        positive = _nowhere_negative(W)
    else:
        W = _checked_weights(W)
        probe = np.random.default_rng(0).standard_normal(W.shape[0])
        if W.nnz and not np.allclose(W @ probe, W.T @ probe, rtol=1e-6, atol=1e-9 * abs(W).max()):
            raise InputError(
                "A Laplacian needs symmetric weights, but W differs from its transpose: pass W.maximum(W.T) or (W + W.T) / 2."
            )
        L = Form(W.shape[0], sparse=sp.csr_array(sp.diags_array(degrees(W)) - W))
        positive = not W.nnz or W.data.min() >= 0
    return replace(L, psd=bool(positive), kills_constant=True)


def _nowhere_negative(W: Form) -> bool:
    """Return True if no part of W has a negative entry (sufficient for W, and true for class graphs)."""
    parts = [W.sparse, W.dense, *(F for _, F in W.roots)]
    scales = [a for a, _ in W.roots + W.pairs]
    if W.low_rank is not None:
        parts.append(W.low_rank[0])
        scales.extend(W.low_rank[1])
    return all(a >= 0 for a in scales) and all(P is None or P.size == 0 or P.min() >= 0 for P in parts)


def degree(W: Matrix) -> Form:
    """Return ``diag(W1)``, n×n. PSD if no degree is negative; does not kill the constant.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenspan.forms import degree
    >>> degree(np.array([[0.0, 2.0], [2.0, 0.0]])).diagonal()
    array([2., 2.])
    """
    return diagonal(degrees(W if isinstance(W, Form) else _checked_weights(W)))


def _checked_weights(W: Matrix) -> sp.csr_array:
    """Return a square matrix of finite weights as a sparse one."""
    given = W if sp.issparse(W) else real_numbers(W, "Weights", InputError)
    if given.ndim != 2 or given.shape[0] != given.shape[1]:
        raise InputError(
            f"Weights must be a square matrix, a row and a column for every sample; got shape {given.shape}."
        )
    found = sp.csr_array(given)
    if bad := int(found.nnz - np.count_nonzero(np.isfinite(found.data))):
        raise InputError(f"Weights must be finite numbers; {bad} of {found.nnz} are NaN or infinite.")
    return found


def class_graph(codes: Index) -> Form:
    """Return the affinity ``H_class = ⊕ 11ᵀ/n_k`` [S0, eq. 37] as a form of rank c: weights 1/n_k within class k, zero across.

    PSD, a projector; unlabelled points have no weight.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenspan.forms import class_graph
    >>> codes = np.array([0, 0, 1, -1])  # the last row has no label
    >>> class_graph(codes).to_dense().round(1)
    array([[0.5, 0.5, 0. , 0. ],
           [0.5, 0.5, 0. , 0. ],
           [0. , 0. , 1. , 0. ],
           [0. , 0. , 0. , 0. ]])
    """
    codes = class_codes(codes)
    G = class_indicator(codes)
    return Form(codes.size, low_rank=(G, np.ones(G.shape[1])), psd=True)


# ---------------------------------------------------------------------- kinds of weights
class PairWeights(ABC):
    """Symmetric, nonnegative weights W on the pairs of n samples."""

    #: The neighbour graph of the weights, if there is one.
    graph: NeighbourGraph | None

    @property
    @abstractmethod
    def matrix(self) -> Form:
        """W."""

    def degrees(self) -> Array:
        """Return ``W 1``."""
        return self.matrix.ones()

    def laplacian(self) -> Form:
        """Return ``L = diag(W1) − W``. PSD, kills the constant."""
        return laplacian(self.matrix)

    def degree(self) -> Form:
        """Return ``diag(W1)``. PSD; does not kill the constant."""
        return diagonal(self.degrees())

    @abstractmethod
    def between_points(self) -> Form:
        """Return W without its diagonal: a point is not its own neighbour."""

    @abstractmethod
    def row_stochastic(self) -> sp.csr_array | Form | Means:
        """Return P for products ``P @ Z``, the weighted means over the neighbours of each point; zero for a point without neighbours."""

    @abstractmethod
    def reconstruction(self) -> Form:
        """Return ``(I − P)ᵀ(I − P)``, where I has zeros for points without neighbours. PSD, kills the constant."""


@dataclass(frozen=True, eq=False)
class Sparse(PairWeights):
    """Weights on the edges of a graph."""

    W: sp.csr_array
    graph: NeighbourGraph | None = None

    @property
    def matrix(self) -> Form:
        return Form(self.W.shape[0], sparse=self.W)

    def laplacian(self) -> Form:
        return laplacian(self.W)

    def between_points(self) -> Form:
        own = self.W.diagonal()
        return self.matrix - diagonal(own) if own.any() else self.matrix

    def row_stochastic(self) -> sp.csr_array:
        return row_stochastic(self.W)

    def reconstruction(self) -> Form:
        return reconstruction(self.row_stochastic())


@dataclass(frozen=True, eq=False)
class ByClass(PairWeights):
    """``H_class = ⊕ 11ᵀ/n_k`` [S0, eq. 37]: equal weights within each class, none for unlabelled points."""

    classes: Any
    graph: None = None

    @cached_property
    def matrix(self) -> Form:
        return class_graph(self.classes if isinstance(self.classes, np.ndarray) else self.classes.codes)

    def laplacian(self) -> Form:
        return scatter_form("within", self.classes, _class_laplacian, kills_constant=True)

    def degree(self) -> Form:
        return scatter_form("labelled", self.classes, _class_degree)

    def between_points(self) -> Form:
        return self.matrix - diagonal(self.matrix.diagonal())

    def row_stochastic(self) -> Form:
        """Return H_class itself, a projector: the mean of a class includes the point [S0, §7.2]."""
        return self.matrix

    def reconstruction(self) -> Form:
        """Return ``I − H_class`` on the labelled points: a projector is equal to its square."""
        return self.laplacian()


def _class_laplacian(codes: Index) -> Form:
    return laplacian(class_graph(codes))


def _class_degree(codes: Index) -> Form:
    return diagonal(class_graph(codes).ones())


def weights_on(graph: NeighbourGraph, weights: str | Bindable, points: Matrix) -> PairWeights:
    """Return the weights on the edges of a graph or, for path-based rules, of all pairs along its paths."""
    rule = as_weights(weights)
    if isinstance(rule, PathSimilarity) and rule.pairs == "all":
        return Paths(rule.tree(graph, points), graph)
    return Sparse(affinity(graph, rule, points).W, graph)


class _Implicit(PairWeights):
    """Weights that support products only."""

    def row_stochastic(self) -> Means:
        return Means(self.between_points())

    def reconstruction(self) -> Form:
        P = self.row_stochastic()
        return replace(P.residual(), psd=True, kills_constant=True)


@dataclass(frozen=True, eq=False)
class AllPairs(_Implicit):
    """Weights on every pair, from `pair_affinity`; the ones on the diagonal are part of degrees but not of means."""

    W: Form
    graph: None = None

    @property
    def matrix(self) -> Form:
        return self.W

    def between_points(self) -> Form:
        dense = None if self.W.dense is None else self.W.dense - np.diag(np.diagonal(self.W.dense))
        parts: Any = self.W.pairs
        return replace(self.W, dense=dense, pairs=tuple((a, replace(P, hollow=True)) for a, P in parts))


@dataclass(frozen=True, eq=False)
class Paths(_Implicit):
    """Path-based similarities of all pairs, divided by n so that a degree is a mean similarity."""

    tree: MergeTree
    graph: NeighbourGraph | None = None

    @property
    def matrix(self) -> Form:
        parts: Any = ((1.0 / self.tree.n, self.tree),)
        return Form(self.tree.n, pairs=parts)

    def between_points(self) -> Form:
        return self.matrix - diagonal(self.matrix.diagonal())


@dataclass(frozen=True, eq=False)
class Means:
    """``P = diag(1/d) W`` with d = W1, by products with W."""

    W: Form

    @cached_property
    def share(self) -> Array:
        d = np.maximum(self.W.ones(), 0.0)
        return np.divide(1.0, d, out=np.zeros_like(d), where=d > np.finfo(float).tiny)

    def __matmul__(self, Z: Array) -> Array:
        return np.asarray((self.share * (self.W @ Z).T).T)

    def residual(self) -> Form:
        """Return ``(I − P)ᵀ(I − P)``, as a dense array if W is dense."""
        part = _Residual(self, np.ones(self.W.n))
        if self.W.dense is not None:
            return Form(self.W.n, dense=part.to_dense())
        return Form(self.W.n, pairs=((1.0, part),))


@dataclass(frozen=True, eq=False)
class _Residual:
    """``diag(s)(I − P)ᵀ(I − P)diag(s)`` as a pairwise part of a form."""

    P: Means
    s: Array

    def _left(self, Z: Array) -> Array:
        """Return ``(I − P) diag(s) Z``."""
        Z = (self.s * Z.T).T
        return ((self.P.share > 0) * Z.T).T - self.P @ Z

    def __matmul__(self, Z: Array) -> Array:
        R = self._left(Z)
        out = ((self.P.share > 0) * R.T).T - self.P.W @ (self.P.share * R.T).T
        return (self.s * out.T).T

    def quadratic(self, Z: Matrix) -> Array:
        """Return ``Z'MZ`` as a square, for dense Z or a table that supports slices."""
        R = self._left(Z[:])
        return R.T @ R

    def diagonal(self) -> Array:
        """Return the diagonal by O(n²) products, a few columns of I at a time; only tests need it."""
        n, step = self.s.size, 64
        columns = (np.eye(n, min(step, n - i), -i) for i in range(0, n, step))
        return np.concatenate([np.sum(self._left(E) ** 2, axis=0) for E in columns])

    def to_dense(self) -> Array:
        share = self.P.share
        R = self.P.W.to_dense() * -share[:, None]
        R[np.diag_indices_from(R)] += share > 0
        R *= self.s
        return R.T @ R

    def bound(self) -> float:
        """Return ``‖I − P‖₁ ‖I − P‖_∞ max s²``: rows of P sum to one, and its columns to Wd⁻¹."""
        columns = float((self.P.W @ self.P.share).max(initial=0.0))
        return 2.0 * (1.0 + columns) * float((self.s**2).max(initial=0.0))

    def scaled(self, s: Array) -> _Residual:
        return replace(self, s=self.s * s)
