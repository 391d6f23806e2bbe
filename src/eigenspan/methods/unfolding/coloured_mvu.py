"""Unfoldings whose objective is made of labels: Fisher's criterion, and coloured maximum variance unfolding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from ..._checks import real_numbers
from ..._diagnostics import note
from ..._parameters import ArrayLike, Marker, Positive, attribute
from ..._types import Array, Index
from ...data import Classes, Input, Sample
from ...data.y import ClassLabels, Targets
from ...errors import KernelError, LabelError
from ...graphs import NeighbourGraph
from ...numerics.nearest.metric import median_width
from ...numerics.nearest.pair_matrices import Asymmetry, PairTolerance, averaged
from ..base.table import known_as, method
from .supervised_mvu import Representatives, representatives
from .task import Bounds, Held, Task
from .unfolding_base import BoundedUnfolding, Constraint


@method("unfolding", "max c(σ_B − σ_W)", "distances of neighbours", "n³ + (nk)³ per step", "S4 eq. 59", "fishermvu")
@known_as(
    "Unfolding by Fisher's criterion", "Fisher MVU; supervised MVU by Fisher's criterion; MVU with Fisher discriminant"
)
class SMVU2(BoundedUnfolding):
    """Unfolding by Fisher's criterion: class representatives apart, the points of each class near theirs.

    .. math:: \\max_{K \\succeq 0,\\ K1 = 0} c \\Bigl( \\sum_{r,s} v_{rs} - \\sum_k \\frac{1}{n_k} \\sum_{i \\in k} v_{i r_k} \\Bigr)
              \\quad\\text{s.t.}\\quad (1 - \\epsilon) \\lVert x_i - x_j \\rVert^2 \\le v_{ij} \\le \\lVert x_i - x_j \\rVert^2
              \\ \\text{ for neighbours}

    with :math:`v_{ij} = K_{ii} - 2K_{ij} + K_{jj}` and :math:`r_k` the point nearest to the mean of class k, of c classes [S4, eqs. 51,
    56–59]: C is the Laplacian of the pairs of representatives less that of every point and its own, sparse and indefinite; T = [I; −I],
    b = [d; −(1 − ε) d] for squared distances d. The default is the band: bounds from above alone let a class shrink into its
    representative, all but the points that tie it to other classes. Unlabelled points are in the constraints only.

    Cost: dense, O(n³ + m³) a step for m constraints, 20 or so steps: up to several hundred points; ``landmarks=500`` for more.

    Parameters
    ----------
    n_neighbors
        Number of neighbours of every point, of any class. None means 8, or all other points if there are fewer.
    representatives
        The point of a class that is nearest to its mean, or the one with the smallest sum of distances to the others of the
        class.

    Attributes
    ----------
    classes_ : ndarray
        The class labels.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from eigenspan import SMVU2
    >>> X, y = load_wine(return_X_y=True)
    >>> X = scale(X)
    >>> SMVU2(2, n_neighbors=5, landmarks=60).fit(X, y).transform(X[:3]).shape
    (3, 2)

    References
    ----------
    Wei, Chen & Song (2016), Developments of two supervised maximum variance unfolding algorithms for process classification.
    """

    representatives: Representatives = "mean"
    constraint: Constraint = "band"
    unlabeled: Marker = -1

    classes_: NDArray[Any] = attribute()

    _input: ClassVar[Input] = replace(BoundedUnfolding._input, pairs=(), y=ClassLabels())

    def _task(self, graph: NeighbourGraph, sample: Sample) -> Task:
        bounds, held = Bounds.of(self), Held.of(graph.undirected())
        bounds.check_memory(held, "SMVU2")
        X, codes = sample.x.values, sample.y.codes
        if np.unique(codes[codes >= 0]).size < 2:
            raise _nothing_left(codes.size)
        return bounds.task(held, X, "scatter of the classes", cost=fisher_cost(X, codes, self.representatives))


@dataclass(frozen=True, eq=False)
class LabelKernel:
    """Kernel values of the labels themselves."""

    K: Array

    def take(self, rows: Index) -> LabelKernel:
        return LabelKernel(self.K[np.ix_(rows, rows)])


@dataclass(frozen=True)
class _GivenKernel:
    """Reads the parameter, not y."""

    K: Any
    needed: bool = False

    def read(self, y: Any, n: int, *, name: str, unlabeled: Any) -> LabelKernel:
        return LabelKernel(_label_matrix(self.K, n))


def _labels_of_kernel(estimator: Any) -> Any:
    if isinstance(estimator.label_kernel, str) and estimator.label_kernel == "delta":
        return ClassLabels()
    named = isinstance(estimator.label_kernel, str) or callable(estimator.label_kernel)
    return Targets() if named else _GivenKernel(estimator.label_kernel)


@method(
    "unfolding",
    "max tr(K H K_l H)",
    "distances of neighbours",
    "n³ + (nk)³ per step",
    "S4 eq. 61",
    "colouredmvu",
    "muhsic",
)
@known_as(
    "Coloured maximum variance unfolding",
    "maximum unfolding via Hilbert–Schmidt independence criterion; maximum unfolding via HSIC",
)
class ColoredMVU(BoundedUnfolding):
    """Coloured maximum variance unfolding: the embedding that depends most on the labels, for classes and for numbers.

    .. math:: \\max_{K \\succeq 0,\\ K1 = 0} \\operatorname{tr}(K H K_l H) \\quad\\text{s.t.}\\quad
              (1 - \\epsilon) \\lVert x_i - x_j \\rVert^2 \\le K_{ii} - 2K_{ij} + K_{jj} \\le \\lVert x_i - x_j \\rVert^2
              \\ \\text{ for neighbours}

    [S4, eqs. 60–62], the Hilbert–Schmidt criterion between embedding and labels: :math:`C = H K_l H` with H centring over the points that
    have a label, T = [I; −I], b = [d; −(1 − ε) d] for squared distances d. :math:`K_l = I` is `MVU`. The default is the band: C has rank
    c − 1 for c classes and one a target for a linear kernel, and with bounds from above alone K has no more, so that all else is crushed.
    Unlabelled points are in the constraints only.

    Cost: dense, O(n³ + m³) a step for m constraints, 20 or so steps: up to several hundred points; ``landmarks=500`` for more.

    Parameters
    ----------
    n_neighbors
        Number of neighbours of every point, of any class. None means 8, or all other points if there are fewer.
    label_kernel : {"delta", "linear", "rbf"}, callable or array of shape (n_samples, n_samples)
        K_l: 1 within a class; y_i·y_j or exp(−(y_i − y_j)²/w²) for numbers (of one or more columns); a function of two
        arrays of rows of numbers; or the matrix itself, in which case y is not read.
    width
        w of ``"rbf"``. None means half the median distance of the targets. It has no effect with other label kernels.
    unlabeled
        ... Among numbers only NaN and None mark them.

    Attributes
    ----------
    classes_ : ndarray
        The class labels. Present with ``label_kernel="delta"``.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from eigenspan import ColoredMVU
    >>> X, y = load_wine(return_X_y=True)
    >>> X = scale(X)
    >>> ColoredMVU(2, n_neighbors=5, landmarks=60).fit(X, y).transform(X[:3]).shape
    (3, 2)

    References
    ----------
    Song, Smola, Borgwardt & Gretton (2007), Colored maximum variance unfolding.
    """

    constraint: Constraint = "band"
    label_kernel: Literal["delta", "linear", "rbf"] | Callable[[Any, Any], Any] | ArrayLike = "delta"
    width: Positive | None = None
    unlabeled: Marker = -1

    classes_: NDArray[Any] = attribute()

    _input: ClassVar[Input] = replace(BoundedUnfolding._input, pairs=(), y=_labels_of_kernel)

    def _task(self, graph: NeighbourGraph, sample: Sample) -> Task:
        bounds, held = Bounds.of(self), Held.of(graph.undirected())
        bounds.check_memory(held, "ColoredMVU")
        known, K = label_kernel(sample.y, self.label_kernel, self.width)
        C = np.zeros((sample.n, sample.n))
        if known.any():
            C[np.ix_(known, known)] = _centred(K)
        if not C.size or np.abs(C).max() <= 1e-12 * np.abs(K).max(initial=0.0):
            raise _nothing_left(sample.n)
        return bounds.task(held, sample.x.points, "dependence on the labels", cost=C)


def label_kernel(y: Any, kernel: Any, width: float | None) -> tuple[NDArray[np.bool_], Array]:
    """Which points have a label, and K_l over these."""
    if isinstance(y, LabelKernel):
        return np.ones(len(y.K), dtype=bool), y.K
    if isinstance(y, Classes):
        known = y.codes >= 0
        return known, np.asarray(y.codes[known][:, None] == y.codes[known], dtype=np.float64)
    T = y.values[y.known]
    if not len(T):
        return y.known, np.zeros((0, 0))
    if callable(kernel):
        return y.known, _label_matrix(kernel(T, T), len(T))
    if kernel == "rbf":
        width = median_width(T) if width is None else float(width)
        note(label_width=width)
        return y.known, np.asarray(np.exp(-cdist(T, T, "sqeuclidean") / width**2))
    T = T - T.mean(axis=0)
    return y.known, np.asarray(T @ T.T)


def fisher_cost(points: Array, codes: Index, how: str = "mean") -> sp.csr_array:
    """c(σ_B − σ_W) [S4, eqs. 56–58] as ⟨C, K⟩: a difference of two Laplacians, with zero row sums."""
    ends = representatives(points, codes, how)
    known, c = np.flatnonzero(codes >= 0), ends.size
    _, own, counts = np.unique(codes[known], return_inverse=True, return_counts=True)
    between, n = ends[np.column_stack(np.triu_indices(c, 1))], codes.size
    pairs = np.vstack([between, np.column_stack([known, ends[own]])])
    weights = np.concatenate([np.full(len(between), 2.0 * c), -c / counts[own]])  # σ_B counts ordered pairs
    rows = np.repeat(np.arange(len(pairs)), 2)
    B = sp.csr_array((np.tile([1.0, -1.0], len(pairs)), (rows, pairs.ravel())), shape=(len(pairs), n))
    return sp.csr_array(B.T @ sp.diags_array(weights) @ B)


def _label_matrix(K: Any, n: int) -> Array:
    K = real_numbers(K, "The values of a label kernel", KernelError)
    if K.shape != (n, n) or not np.all(np.isfinite(K)):
        raise KernelError(f"The label kernel must be a finite matrix of shape ({n}, {n}); got shape {K.shape}.")
    found = Asymmetry.of(K)
    if found.skew > PairTolerance.of(K).difference:
        raise KernelError(
            f"The label kernel is not symmetric: entries differ by up to {found.skew:.3g} where they reach {found.size:.3g}."
        )
    return averaged(K)


def _centred(K: Array) -> Array:
    """H K H."""
    means = K.mean(axis=0)
    return np.asarray(K - means - means[:, None] + means.mean())


def _nothing_left(n: int) -> LabelError:
    return LabelError(
        f"The labels of the {n} points that are unfolded do not differ, and nothing can be told apart: choose landmarks of every class, or "
        'disconnected="connect".'
    )
