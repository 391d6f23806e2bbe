"""Pairs that belong together and pairs that do not: SSDR."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..._parameters import ArrayLike, Marker, NotNegative, attribute, parameter
from ..._types import Index
from ...data import Classes, Input, Points, Sample
from ...data.y import ClassLabels
from ...errors import LabelError
from ...problem import AxisWeights, Form, Posed, pose
from ...problem.forms import every_pair, laplacian, other_class, same_class
from ..base.contract import AxisRule, Components, FeatureReducer, bounded, features_of
from ..base.table import known_as, method


def _labels_unless_linked(estimator: SSDR) -> ClassLabels:
    return ClassLabels(at_least=1, needed=estimator.must_link is None and estimator.cannot_link is None)


@method("semi-supervised", "max variance + α apart − β together", "projection", "n D² + D³", "S0 eq. 46")
@known_as(
    "Semi-supervised dimensionality reduction",
    "semi-supervised dimension reduction; pairwise constraints; side information; must-link and cannot-link constraints",
)
class SSDR(FeatureReducer):
    """Semi-supervised dimensionality reduction from labels or from pairs.

    .. math:: \\max_V \\tfrac{1}{2 n^2} \\sum_{i,j} \\|V^T(x_i - x_j)\\|^2 + \\tfrac{\\alpha}{2 n_C} \\sum_{C} \\|V^T(x_i - x_j)\\|^2
              - \\tfrac{\\beta}{2 n_M} \\sum_{M} \\|V^T(x_i - x_j)\\|^2 \\quad \\text{s.t. } V^T V = I

    [S0, eq. 46]: the variance of all points, plus that of pairs C known to be apart, less that of pairs M known to belong together.
    The pairs are those of the labels, those of `must_link` and `cannot_link`, or both. Means over the :math:`n_C` and :math:`n_M`
    pairs, as Zhang, Zhou and Chen have them, make α and β independent of n; ``normalise=False`` is [S0]'s sum, without :math:`n_C`
    and :math:`n_M` (both orders of a pair counted).

    Cost: O(n(c + D)D + D³) time, never n×n.

    Parameters
    ----------
    n_components
        Number of dimensions d of the embedding.
    alpha
        α, the weight of pairs from different classes and of cannot-link pairs.
    beta
        β, the weight of pairs of the same class and of must-link pairs.
    must_link, cannot_link : array-like of shape (m, 2) or None
        Row numbers of pairs that belong, or do not belong, together. None means no pairs. With either of them y may be left
        out.
    normalise
        Divide the sums over pairs by the numbers of pairs.
    axes
        ... The axes are solved with length one, so the choice between the first two, and between the last two, has no
        effect.
    ridge
        Has no effect on orthonormal axes; accepted so that methods can be exchanged.

    Attributes
    ----------
    classes_ : ndarray
        The class labels, if y is given.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from eigenspan import SSDR
    >>> X, y = load_iris(return_X_y=True)
    >>> SSDR(2).fit(X, y).transform(X[:3]).shape
    (3, 2)
    >>> SSDR(2, must_link=[[0, 1], [60, 70]], cannot_link=[[0, 60]]).fit(X).embedding_.shape
    (150, 2)

    References
    ----------
    Zhang, Zhou & Chen (2007), Semi-supervised dimensionality reduction; [S0] §6.1.
    """

    n_components: Components = parameter(default=2, kw_only=False)
    alpha: NotNegative = 1.0
    beta: NotNegative = 20.0
    must_link: ArrayLike | None = None
    cannot_link: ArrayLike | None = None
    normalise: bool = True
    unlabeled: Marker = -1
    axes: AxisRule = "unit"

    classes_: NDArray[Any] = attribute()

    _input: ClassVar[Input] = replace(FeatureReducer._input, y=_labels_unless_linked)

    def _pose(self, sample: Sample[Points, Classes]) -> Posed:
        costs = self._costs(sample.y.codes)
        basis = features_of(self, sample)
        bounded(self.n_components, basis, basis.dim, None)
        scale = AxisWeights(self.axes, signed=False)
        return pose(basis, maximise=laplacian(costs), unit="projection", scale=scale)

    def _costs(self, codes: Index) -> Form:
        """Return the weights of all pairs: 1/n² for each, more for those that must differ, less for those that belong together."""
        n = codes.size
        together, apart = self._links(codes)
        counts = np.bincount(codes[codes >= 0])
        same, other = _pairs(together, n), _pairs(apart, n)
        n_same, n_other = 2 * len(together), 2 * len(apart)  # both orders of a pair
        if counts.size:
            same, n_same = same + same_class(codes), n_same + int(np.sum(counts * (counts - 1)))
            other, n_other = other + other_class(codes), n_other + int(counts.sum() ** 2 - np.sum(counts**2))
        if n_same + n_other == 0:
            raise LabelError(
                f"SSDR needs pairs, but {counts.sum()} labelled sample(s) of {n} make none: label more, give must_link=, or use PCA."
            )
        a, b = self.alpha, self.beta
        if self.normalise:
            a, b = a / max(n_other, 1), b / max(n_same, 1)
        return every_pair(n) * (1.0 / n**2) + a * other - b * same

    def _links(self, codes: Index) -> tuple[Index, Index]:
        """Return the given pairs that do not follow from the labels, each once."""
        together = _checked(self.must_link, codes.size, "must_link")
        apart = _checked(self.cannot_link, codes.size, "cannot_link")
        both = np.intersect1d(_numbers(together, codes.size), _numbers(apart, codes.size))
        if both.size:
            i, j = divmod(int(both[0]), codes.size)
            raise LabelError(
                f"{both.size} pairs, the first ({i}, {j}), are in must_link and in cannot_link: remove them from one of the two."
            )
        kept = []
        for pairs, name, agrees in ((together, "must_link", True), (apart, "cannot_link", False)):
            k, m = codes[pairs[:, 0]], codes[pairs[:, 1]]
            told = (k >= 0) & (m >= 0)
            wrong = np.flatnonzero(told & ((k == m) != agrees))
            if wrong.size:
                i, j = pairs[wrong[0]]
                raise LabelError(
                    f"{wrong.size} pairs of {name}, the first ({i}, {j}), contradict the labels of their samples: correct one of them."
                )
            kept.append(pairs[~told])
        return kept[0], kept[1]


def _checked(pairs: object, n: int, name: str) -> Index:
    """Return the distinct pairs (smaller row, larger row) after validation."""
    P = np.asarray([] if pairs is None else pairs)
    if P.size == 0:
        return np.empty((0, 2), dtype=np.intp)
    if P.ndim != 2 or P.shape[1] != 2 or P.dtype.kind not in "iu":
        raise LabelError(f"{name} must hold pairs of row numbers, shape (m, 2); got shape {P.shape} of {P.dtype}.")
    if P.min() < 0 or P.max() >= n:
        raise LabelError(f"{name} names rows {P.min()} to {P.max()}, but X has rows 0 to {n - 1}.")
    if np.any(P[:, 0] == P[:, 1]):
        raise LabelError(f"{name} pairs row {P[P[:, 0] == P[:, 1]][0, 0]} with itself: give two different rows.")
    return np.unique(np.sort(P.astype(np.intp), axis=1), axis=0)


def _numbers(pairs: Index, n: int) -> Index:
    return pairs[:, 0] * n + pairs[:, 1]


def _pairs(pairs: Index, n: int) -> Form:
    """Return the form with weight one on every given pair."""
    i, j = pairs.T
    ones = np.ones(2 * len(pairs))
    return Form(n, sparse=sp.csr_array((ones, (np.concatenate([i, j]), np.concatenate([j, i]))), shape=(n, n)))
