"""Projections by a kernel of the labels: supervised PCA and Roweis discriminant analysis."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..._diagnostics import note
from ..._parameters import Marker, Positive, Share, attribute, parameter
from ..._types import Index
from ...data import Classes, Input, Numbers, Sample, Sufficient
from ...data.y import ClassLabels, Targets, read_classes
from ...errors import LabelError
from ...graphs import Heat
from ...numerics.eigen import as_solver
from ...numerics.nearest.metric import median_width
from ...problem import AxisWeights, Form, Posed, pose
from ...problem.form import scatter_form
from ...problem.forms import centring, pair_affinity, same_class, within
from ..base.contract import AxisRule, Components, FeatureReducer, bounded, check_spread, features_of
from ..base.streaming import labelled_partial_fit
from ..base.table import known_as, method

Array = NDArray[np.float64]


def _centred(K: Form, known: Array) -> Form:
    """Return ``HKH``, H centring over the labelled points, to which K is restricted. PSD if K is; the constant is in its null space."""
    m = known.sum()
    w = (K @ known) / m
    w -= known * (known @ w) / (2 * m)
    U = sp.csr_array(np.column_stack([known + w, known - w]))  # w1' + 1w' as a difference of squares
    return replace(K + Form(K.n, low_rank=(U, np.array([-0.5, 0.5]))), psd=True, kills_constant=True)


def _class_kernel(codes: Index) -> Form:
    """Return ``HKH`` for the kernel that is 1 within a class: the scatter of the class sums."""
    return _centred(same_class(codes), (codes >= 0).astype(float))


def _labels_or_numbers(estimator: _LabelKernel) -> ClassLabels | Targets:
    return ClassLabels() if estimator.labels == "delta" else Targets()


class _LabelKernel(FeatureReducer):
    """Methods over ``H K_y H``.

    Parameters
    ----------
    width
        w of ``"rbf"``. None means half the median distance of the targets. It has no effect with other `labels`.
    unlabeled
        Class label that marks unlabelled points, besides NaN and None. It has no effect on numbers (``"rbf"``,
        ``"linear"``), where only NaN and None mark them.

    Attributes
    ----------
    classes_ : ndarray
        The class labels, if `labels` are classes.
    """

    labels: Literal["delta", "rbf", "linear"] = "delta"
    width: Positive | None = None
    n_components: Components | None = parameter(default=None, kw_only=False)
    axes: AxisRule = "unit"
    unlabeled: Marker = None

    classes_: NDArray[Any] = attribute()

    _input: ClassVar[Input] = replace(FeatureReducer._input, y=_labels_or_numbers)

    def _label_kernel(self, y: Classes | Numbers) -> tuple[Form, int, str]:
        """Return ``H K_y H`` over the labelled points, a bound on its rank, and the reason for it."""
        if not isinstance(y, Numbers):
            K = scatter_form("sums", y, _class_kernel, kills_constant=True)
            return K, y.count - 1, f"there are {y.count} classes"
        T, known = y.values, y.known
        if self.labels == "linear":
            R = np.where(known[:, None], T - T[known].mean(axis=0), 0.0)
            K = Form(known.size, low_rank=(R, np.ones(R.shape[1])), psd=True, kills_constant=True)
            return K, R.shape[1], f"y has {R.shape[1]} target(s) for a linear kernel"
        distinct = len(np.unique(T[known], axis=0))
        width = median_width(T[known]) if self.width is None else float(self.width)
        note(label_width=width)
        K = pair_affinity(np.where(known[:, None], T, 0.0), Heat(width), codes=np.where(known, 0, -1))
        return _centred(K, known.astype(float)), distinct - 1, f"y has {distinct} distinct values"


@method("discriminant", "max H K_y H", "projection", "n D min(n, D)", "Barshan et al. 2011", "spca")
@known_as(
    "Supervised principal component analysis",
    "supervised PCA; Hilbert–Schmidt independence criterion; maximum HSIC",
    {"kernel='rbf'": "kernel supervised PCA; KSPCA; kernel SPCA"},
)
class SupervisedPCA(_LabelKernel):
    """Supervised principal component analysis, for classes and for numbers.

    .. math:: \\max_V \\operatorname{Tr}(V^T X^T H K_y H X V) \\quad \\text{s.t. } V^T V = I

    The projection with the largest dependence on the labels, by the Hilbert–Schmidt criterion. :math:`K_y` is the kernel of the labels
    and H centres over the labelled points; the map places the others. Unlike LDA it works for regression and inverts no scatter
    matrix; unlike LDA it does not reduce the weight of directions in which classes are wide. With ``kernel=`` it is kernel
    supervised PCA.

    Cost: O(nD min(n, D) + D³) time; ``labels="rbf"`` adds O(n²D) in blocks, never n×n.

    Parameters
    ----------
    n_components
        Number of axes. None means as many as the labels allow: c − 1 for classes, and one per target for ``"linear"``. For
        ``"rbf"`` it means two, or fewer if there are no more.
    labels
        K_y: 1 within a class; exp(−(y_i − y_j)²/w²) or y_i·y_j for numbers (of one or more columns).
    axes
        ... The axes are solved with length one, so the choice between the first two, and between the last two, has no
        effect.
    ridge
        Has no effect on orthonormal axes; accepted so that methods can be exchanged.

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

    _sums_suffice: ClassVar[Sufficient | None] = {"kernel": None, "reduce": None, "labels": "delta"}

    partial_fit = labelled_partial_fit

    def _pose(self, sample: Sample) -> Posed:
        basis = features_of(self, sample)
        K, most, why = self._label_kernel(sample.y)
        check_spread(self, basis, sample)
        d = bounded(self.n_components, basis, most, why, 2 if self.labels == "rbf" else None)
        return replace(pose(basis, maximise=K, unit="projection", scale=AxisWeights(self.axes, signed=False)), axes=d)


@method("discriminant", "max r1 K_y + (1−r1) I", "r2 S_W + (1−r2) I", "n D min(n, D)", "Ghojogh et al. 2020", "rda")
@known_as(
    "Roweis discriminant analysis",
    "Roweis discriminant; generalised subspace learning",
    {
        "kernel='rbf'": "kernel RDA; kernel Roweis discriminant analysis",
        "r1=1, r2=1": "double supervised discriminant analysis; DSDA",
    },
)
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
    n_components
        Number of dimensions d of the embedding.
    r1
        Weight of the labels in what is maximised. With 1 there are as many directions as in `SupervisedPCA`.
    r2
        Weight of the scatter within classes in the unit.
    labels
        K_y: 1 within a class; exp(−(y_i − y_j)²/w²) or y_i·y_j for numbers, whose distinct values are the classes of S_W.
    ridge
        Added to the 1 − r2 that is added to S_W in any case. None means 0, or a small value for kernels with r2 = 1.

    Attributes
    ----------
    classes_ : ndarray
        The class labels, or the distinct values of numbers.

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

    n_components: Components = parameter(default=2, kw_only=False)
    r1: Share = 0.5
    r2: Share = 0.5

    def _pose(self, sample: Sample) -> Posed:
        K, most, why = self._label_kernel(sample.y)
        basis = features_of(self, sample)
        form = centring(sample.n) * (1.0 - self.r1)
        bounded(self.n_components, basis, most, why if self.r1 == 1 else None)
        if self.r1 > 0:
            largest = as_solver("auto").pairs(K.over_samples(), 1, "max", None, np.random.default_rng(0))[0][0]
            form = replace(form + K * (self.r1 / largest), psd=True)
        classes = self._classes(sample) if self.r2 else None
        unit: Any = "projection" if classes is None else self.r2 * within(classes.codes)
        given = None if self.r2 == 1 and self.ridge is None else 1.0 - self.r2 + (self.ridge or 0.0)
        scale = AxisWeights(self.axes, signed=False)
        posed = pose(basis, maximise=form, unit=unit, ridge=given, scale=scale)
        return posed if classes is None else posed.having(classes_=classes.names)

    def _classes(self, sample: Sample) -> Classes:
        """Return the classes of S_W; those of numbers are their distinct values."""
        if not isinstance(sample.y, Numbers):
            return sample.y
        try:
            return read_classes(sample.given, sample.n, unlabeled=None, name="RoweisDA")
        except LabelError as refusal:
            raise LabelError(
                f"r2={self.r2} needs a scatter within classes, but y has none ({refusal}): use r2=0."
            ) from None
