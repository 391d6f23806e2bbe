"""Projections that follow a kernel of the labels: supervised PCA and Roweis discriminant analysis."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._compat import Interval, StrOptions
from .._diagnostics import note
from ..core import AxisWeights, Features, Form, Posed, pose
from ..errors import DimensionError, LabelError
from ..forms import centring, pair_affinity, same_class, within
from ..graphs import Heat, encode_labels, median_width
from ..solvers import as_solver
from .base import FeatureReducer
from .costs import AXES
from .docs import documented
from .parameters import parameters

Array = NDArray[np.float64]


class Bounded:
    """Methods that need y, and whose labels may allow fewer axes than there are features."""

    n_components: Any
    _most: int

    def _needs_labels(self) -> bool:
        return True

    def _n_axes(self) -> int:
        return self._most if self.n_components is None else self.n_components

    def _bound(self, basis: Features, most: int, why: str | None, default: int | None = None) -> None:
        """Refuse more axes than `most` if there is a reason; ``n_components=None`` means `default`, or `most` where they exist."""
        if basis.dim == 0:
            raise DimensionError(f"All {basis.raw.shape[0]} rows coincide: there are no dimensions to show.")
        self._most = min(most, most if default is None else default, basis.dim)
        if why is not None and self.n_components is not None and self.n_components > most:
            raise DimensionError(
                f"n_components={self.n_components}, but {why}: the criterion has {most} directions and is zero on all others. "
                f"Use n_components <= {most}."
            )


@parameters(n_components=None, axes="unit", unlabeled=None)
class LabelledProjection(Bounded, FeatureReducer):
    """Linear and kernel projections that need y and weigh their axes."""

    axes: str
    unlabeled: Any

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **FeatureReducer._parameter_constraints,
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "axes": AXES,
        "unlabeled": "no_validation",
    }

    def _encode(self, X: Any, y: Any, min_classes: int = 2) -> Any:
        codes, self.classes_ = encode_labels(
            y, X, unlabeled=self.unlabeled, name=type(self).__name__, min_classes=min_classes
        )
        return codes

    @property
    def _scale(self) -> AxisWeights:
        return AxisWeights(self.axes, signed=False)


def targets(y: Any, X: Any, name: str) -> Array:
    """Numbers to be predicted as an (n, q) array; a row with a NaN or None has none."""
    if y is None:
        raise LabelError(f"{name} requires y to be passed, but the target y is None.")
    try:
        T = _as_numbers(y)
    except (TypeError, ValueError) as refusal:
        raise LabelError(
            f'y cannot be read as numbers ({refusal}): pass numbers, or labels="delta" for classes.'
        ) from None
    T = T[:, None] if T.ndim == 1 else T
    if T.ndim != 2 or T.shape[0] != X.shape[0]:
        raise LabelError(f"y has shape {np.shape(y)} for {X.shape[0]} samples: {name} needs one row a sample.")
    if np.any(np.isinf(T)):
        raise LabelError(
            f"{int(np.sum(np.isinf(T)))} targets are infinite: {name} needs numbers, or NaN for those unknown."
        )
    known = T[~np.isnan(T).any(axis=1)]
    if len(known) == 0:
        raise LabelError(
            f"{name} needs labels, but all {len(T)} of them are missing (NaN or None). Use an unsupervised method."
        )
    if np.all(known == known[0]):
        raise LabelError(f"{name} needs targets that differ, but all {len(known)} of them are {known[0].tolist()}.")
    return T


def _as_numbers(y: Any) -> Array:
    """Floats, NaN where a date is missing: it would become a number."""
    given = np.asarray(y)
    if given.dtype.kind in "mM":
        return np.where(np.isnat(given), np.nan, given.astype(np.float64))
    T = np.asarray(y, dtype=np.float64)
    return np.where(y.isna(), np.nan, T) if hasattr(y, "isna") else T


def _centred(K: Form, known: Array) -> Form:
    """``HKH`` with H centring over the points that have labels, the only ones in K. PSD where K is, kills the constant."""
    m = known.sum()
    w = (K @ known) / m
    w -= known * (known @ w) / (2 * m)
    U = sp.csr_array(np.column_stack([known + w, known - w]))  # w1' + 1w' as a difference of squares
    return replace(K + Form(K.n, low_rank=(U, np.array([-0.5, 0.5]))), psd=True, kills_constant=True)


class _LabelKernel(LabelledProjection):
    """Methods over ``H K_y H``."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **LabelledProjection._parameter_constraints,
        "labels": [StrOptions({"delta", "rbf", "linear"})],
        "width": [Interval(Real, 0, None, closed="neither"), None],
    }
    labels: str
    width: float | None

    def _label_kernel(self, X: Any, y: Any) -> tuple[Form, int, str]:
        """``H K_y H`` over the points with labels, a bound on its rank, and the reason for it."""
        if self.labels == "delta":
            codes = self._encode(X, y)
            c = self.classes_.size
            return _centred(same_class(codes), (codes >= 0).astype(float)), c - 1, f"there are {c} classes"
        T = targets(y, X, type(self).__name__)
        known: Any = ~np.isnan(T).any(axis=1)
        if self.labels == "linear":
            R = np.where(known[:, None], T - T[known].mean(axis=0), 0.0)
            K = Form(known.size, low_rank=(R, np.ones(R.shape[1])), psd=True, kills_constant=True)
            return K, R.shape[1], f"y has {R.shape[1]} target(s) for a linear kernel"
        distinct = len(np.unique(T[known], axis=0))
        width = median_width(T[known]) if self.width is None else float(self.width)
        note(label_width=width)
        K = pair_affinity(np.where(known[:, None], T, 0.0), Heat(width), codes=np.where(known, 0, -1))
        return _centred(K, known.astype(float)), distinct - 1, f"y has {distinct} distinct values"


@documented
@parameters(labels="delta", width=None)
class SupervisedPCA(_LabelKernel):
    """Supervised principal component analysis, for classes and for numbers.

    .. math:: \\max_V \\operatorname{Tr}(V^T X^T H K_y H X V) \\quad \\text{s.t. } V^T V = I

    The projection that depends most on the labels, by the Hilbert–Schmidt criterion. :math:`K_y` is the kernel of the labels and H
    centres over the points that have one; the others only share the map. Unlike LDA it works for regression, and inverts no
    scatter; unlike LDA it does not discount directions in which classes are wide. With ``kernel=`` it is kernel supervised PCA.

    Cost: O(nD min(n, D) + D³) time; ``labels="rbf"`` adds O(n²D) in blocks, never n×n.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of axes. None means as many as the labels allow, c − 1 for classes and one a target for ``"linear"``; two for
        ``"rbf"``, or fewer where there is no more.
    labels : {"delta", "rbf", "linear"}, default="delta"
        K_y: 1 within a class; exp(−(y_i − y_j)²/w²) or y_i·y_j for numbers (of several columns if need be).
    width : float or None, default=None
        w of ``"rbf"``; None means half the median distance of the targets.
    $axes
    $kernel
    $landmarks
    $reduce
    $ridge_orthonormal
    unlabeled : int, str or None, default=None
        A class label that marks unlabelled points, besides NaN and None. Among numbers (``"rbf"``, ``"linear"``) only NaN and None
        mark them.
    $scale
    $solver
    $random_state

    Attributes
    ----------
    classes_ : ndarray
        The class labels (``labels="delta"``).
    $linear_attributes
    $spectral_attributes

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes, load_wine
    >>> from eigenspan import SupervisedPCA
    >>> X, y = load_wine(return_X_y=True)
    >>> SupervisedPCA().fit(X, y).transform(X[:3]).shape
    (3, 2)
    >>> X, y = load_diabetes(return_X_y=True)
    >>> SupervisedPCA(3, labels="rbf").fit(X, y).components_.shape
    (3, 10)

    References
    ----------
    Barshan, Ghodsi, Azimifar & Zolghadri Jahromi (2011), Supervised principal component analysis: visualization, classification
    and regression on subspaces and submanifolds.
    """

    def _pose(self, X: Any, y: Any) -> Posed:
        K, most, why = self._label_kernel(X, y)
        basis = self._basis(X)
        self._bound(basis, most, why, 2 if self.labels == "rbf" else None)
        return pose(basis, maximise=K, unit="projection", scale=self._scale)


@documented
@parameters(n_components=2, r1=0.5, r2=0.5, labels="delta", width=None)
class RoweisDA(_LabelKernel):
    """Roweis discriminant analysis: PCA, supervised PCA and Fisher's discriminant as corners of a square.

    .. math:: \\max_V \\operatorname{Tr}\\bigl(V^T X^T H (r_1 K_y + (1 - r_1) I) H X V\\bigr)
              \\quad \\text{s.t. } V^T (r_2 S_W + (1 - r_2) I) V = I

    (0, 0) is PCA, (1, 0) supervised PCA, (0, 1) has the directions of LDA. :math:`K_y`, centred over the points with labels, is
    divided by its largest eigenvalue, so that it counts no direction of sample space for more than I does: with classes of equal
    size the numerator is :math:`r_1 S_B + (1 - r_1) S_T`. The identity beside :math:`S_W`, a sum over the samples, is in the units
    of the features: standardise them.

    Cost: as `SupervisedPCA`.

    Parameters
    ----------
    $n_components
    r1 : float in [0, 1], default=0.5
        How much the labels count in what is maximised. With 1 there are as many directions as in `SupervisedPCA`.
    r2 : float in [0, 1], default=0.5
        How much the scatter within classes counts in the unit.
    labels : {"delta", "rbf", "linear"}, default="delta"
        K_y: 1 within a class; exp(−(y_i − y_j)²/w²) or y_i·y_j for numbers, whose distinct values are the classes of S_W.
    width : float or None, default=None
        w of ``"rbf"``; None means half the median distance of the targets.
    $axes
    $kernel
    $landmarks
    $reduce
    ridge : float or None, default=None
        Added to the 1 − r2 that stand beside S_W already. None means 0, and with r2 = 1 a small ridge for kernels.
    unlabeled : int, str or None, default=None
        A class label that marks unlabelled points, besides NaN and None. Among numbers (``"rbf"``, ``"linear"``) only NaN and None
        mark them.
    $scale
    $solver
    $random_state

    Attributes
    ----------
    classes_ : ndarray
        The class labels, where there are classes.
    $linear_attributes
    $spectral_attributes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from eigenspan import RoweisDA
    >>> X, y = load_iris(return_X_y=True)
    >>> RoweisDA(2, r1=0.8, r2=0.9).fit(X, y).transform(X[:3]).shape
    (3, 2)

    References
    ----------
    Ghojogh, Karray & Crowley (2020), Generalized subspace learning by Roweis discriminant analysis.
    """

    r1: float
    r2: float

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **_LabelKernel._parameter_constraints,
        "n_components": FeatureReducer._parameter_constraints["n_components"],
        "r1": [Interval(Real, 0, 1, closed="both")],
        "r2": [Interval(Real, 0, 1, closed="both")],
    }

    def _pose(self, X: Any, y: Any) -> Posed:
        K, most, why = self._label_kernel(X, y)
        basis = self._basis(X)
        form = centring(X.shape[0]) * (1.0 - self.r1)
        self._bound(basis, most, why if self.r1 == 1 else None)
        if self.r1 > 0:
            largest = as_solver("auto").pairs(K, 1, "max", None, np.random.default_rng(0))[0][0]
            form = replace(form + K * (self.r1 / largest), psd=True)
        unit: Any = "projection" if self.r2 == 0 else self.r2 * within(self._classes(X, y))
        given = None if self.r2 == 1 and self.ridge is None else 1.0 - self.r2 + (self.ridge or 0.0)
        return pose(basis, maximise=form, unit=unit, ridge=given, scale=self._scale)

    def _classes(self, X: Any, y: Any) -> Any:
        """Class codes for S_W; numbers have no mark but NaN."""
        if self.labels == "delta":
            return self._encode(X, y)
        try:
            codes, self.classes_ = encode_labels(y, X, unlabeled=None, name="RoweisDA")
        except LabelError as refusal:
            raise LabelError(
                f"r2={self.r2} asks for a scatter within classes, but y has none ({refusal}): use r2=0."
            ) from None
        return codes
