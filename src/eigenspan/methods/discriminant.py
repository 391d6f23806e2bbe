"""Discriminant forms: class means against what is left around them."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.covariance import ledoit_wolf_shrinkage
from sklearn.utils.metaestimators import available_if
from sklearn.utils.sparsefuncs import mean_variance_axis
from sklearn.utils.validation import check_consistent_length

from .._compat import Interval, StrOptions, fit_context
from .._diagnostics import note, stage
from ..core import AxisWeights, Features, Form, Posed, TraceProblem, TraceRatio, UnitVariance, pose
from ..core.moments import Moments, class_moments, on_disk
from ..errors import DimensionError, InputError, LabelError
from ..forms import between, total, within
from ..graphs import class_indicator, encode_labels
from ..graphs.labels import label_array
from .base import FeatureReducer, from_moments
from .classifier import DiscriminantClassifier
from .costs import AXES, RatioWeights
from .docs import documented
from .parameters import parameters

Array = NDArray[np.float64]


@documented
@parameters(
    n_components=None,
    criterion="ratio-trace",
    shrinkage=None,
    priors=None,
    store_covariance=False,
    axes="unit",
    unlabeled=None,
)
class LDA(DiscriminantClassifier, FeatureReducer):
    """Linear discriminant analysis, and through ``kernel=`` kernel Fisher discriminant analysis.

    .. math:: \\max_V \\operatorname{Tr}(V^T S_B V) \\quad \\text{s.t. } V^T S_T V = I

    [S0, eqs. 38–45]; with ``criterion="trace-ratio"`` instead :math:`\\max \\operatorname{Tr}(V^T S_B V)/\\operatorname{Tr}(V^T S_T V)`
    over orthonormal V. The constraint is the total scatter, not the within-class scatter: the directions are the same, and data with
    more features than samples need no special care. Use it to separate known classes.

    It is a classifier too: ``predict`` and its relatives are Bayes' rule for Gaussian classes that share the within-class covariance
    (shrunk and with the ridge, where asked for), in the feature space of the kernel if there is one. All discriminant directions
    count there, whatever `n_components` is. Without shrinkage and kernel these are the values of scikit-learn's
    ``LinearDiscriminantAnalysis``.

    Cost: O(nD min(n, D) + D³) time, never n×n. For D < n without `kernel`, `reduce` or ``shrinkage="auto"`` it is one pass over X and
    O(D²) memory beyond the data: X may then be a `numpy.memmap`, of which the fit holds no ``embedding_`` (``transform`` reads it
    in blocks), and `partial_fit` takes the rows in parts.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of directions. None means c − 1, which is also the most the ratio trace of c classes has, or all there are in features
        of lower rank.
    criterion : {"ratio-trace", "trace-ratio"}, default="ratio-trace"
        The classical criterion, or the orthogonal one, which may have more than c − 1 directions.
    shrinkage : float in [0, 1], "auto" or None, default=None
        Pull the within-class covariance towards a multiple of the identity; ``"auto"`` is Ledoit and Wolf's amount.
    priors : array-like of shape (n_classes,) or None, default=None
        Probabilities of the classes, in the order of ``classes_``, for ``predict`` and its relatives; None means their shares of the
        labelled rows. The directions do not depend on them.
    store_covariance : bool, default=False
        Keep the D×D covariance of the classes as ``covariance_`` (not with a kernel).
    $axes
    $kernel
    $landmarks
    $reduce
    $ridge
    $unlabeled
    $scale
    $solver
    $random_state

    Attributes
    ----------
    classes_ : ndarray
        The class labels.
    priors_ : ndarray of shape (n_classes,)
        Probabilities of the classes.
    means_ : ndarray of shape (n_classes, n_features)
        Class means (absent with a kernel, as are the next three).
    xbar_ : ndarray of shape (n_features,)
        Their mean under the priors.
    coef_ : ndarray of shape (n_classes, n_features), or (1, n_features) for two classes
        Weights of ``decision_function``.
    intercept_ : ndarray of shape (n_classes,), or (1,) for two classes
    covariance_ : ndarray of shape (n_features, n_features)
        Of every class, as ``predict`` uses it: shrunk and with the ridge, within the span of the data. Where `store_covariance` asks.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Share of each axis in the scatter between the classes, measured in that within them (with ``"ratio-trace"``).
    n_samples_seen_ : int
        Rows so far, where `partial_fit` can add more.
    $linear_attributes
    $spectral_attributes

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from eigenspan import LDA
    >>> X, y = load_wine(return_X_y=True)
    >>> lda = LDA().fit(X, y)
    >>> lda.transform(X[:3]).shape
    (3, 2)
    >>> float(lda.score(X, y)), lda.predict_proba(X).shape
    (1.0, (178, 3))
    >>> LDA(2, kernel="rbf").fit(X, y).embedding_.shape
    (178, 2)

    References
    ----------
    [S0] §5.2, §7.2; Wang et al. (2007) for the trace ratio; Ledoit & Wolf (2004).
    """

    criterion: str
    shrinkage: Any
    axes: str
    unlabeled: Any
    _most: int
    _groups: tuple[Array, Array]

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **FeatureReducer._parameter_constraints,
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "criterion": [StrOptions({"ratio-trace", "trace-ratio"})],
        "shrinkage": [Interval(Real, 0, 1, closed="both"), StrOptions({"auto"}), None],
        "priors": ["array-like", None],
        "store_covariance": ["boolean"],
        "axes": AXES,
        "unlabeled": "no_validation",
    }

    def _needs_labels(self) -> bool:
        return True

    def _n_axes(self) -> int:
        return min(self._wanted(), self._most) if self.n_components is None else self.n_components

    def _wanted(self) -> int:
        return self.classes_.size - 1 if self.n_components is None else self.n_components

    def _needs_rows(self) -> str | None:
        needs = (
            ("kernel=", self.kernel is not None),
            ("reduce=", self.reduce is not None),
            ('shrinkage="auto"', self.shrinkage == "auto"),
        )
        return next((name for name, given in needs if given), None)

    def _pose(self, X: Any, y: Any) -> Posed:
        codes, self.classes_ = encode_labels(y, X, unlabeled=self.unlabeled, name="LDA")
        self._check_axes()
        if self._reads_moments(X):
            with stage("moments"):
                self._moments = class_moments(X, codes, self.classes_.size)
            labelled, rest = self._moments
            if rest.n:
                everyone = labelled.pooled() + rest
                _refuse_coincident(labelled.spread(), everyone.spread(), everyone.mean, "LDA")
            return self._pose_moments(*self._moments, None if on_disk(X) else X)
        check_spread(X, codes, "LDA")
        basis = self._basis(X)
        self._groups = _class_means(basis.raw, codes)
        s = self._amount(basis, codes)
        level = self._level(basis, codes) if s else 0.0
        if self.criterion == "trace-ratio":
            basis = basis.centred(np.ones(X.shape[0]))
            A, W = basis.restrict(between(codes)), basis.restrict(within(codes))
            return self._posed(A, W, s, level, basis)
        scale = AxisWeights(self.axes, signed=False)
        if not s:
            return pose(basis, maximise=between(codes), unit=total(codes), ridge=self.ridge, scale=scale)
        unit = between(codes) + (1 - s) * within(codes)
        return pose(basis, maximise=between(codes), unit=unit, ridge=s * level + (self.ridge or 0.0), scale=scale)

    def _check_axes(self) -> None:
        c, d = self.classes_.size, self._wanted()
        if self.criterion == "ratio-trace" and d > c - 1:
            raise DimensionError(
                f"n_components={d}, but {c} classes have at most {c - 1} discriminant directions: the means "
                "of c classes span c - 1 dimensions. "
                f'Use n_components <= {c - 1}, or criterion="trace-ratio".'
            )

    def _pose_moments(self, labelled: Moments, rest: Moments, X: Any) -> Posed:
        basis = Features.of_moments(labelled.pooled() + rest, X)
        self._groups = labelled.counts, labelled.means
        s, level = float(self.shrinkage or 0.0), float(np.trace(labelled.scatter)) / basis.offset.size
        if self.shrinkage is not None:
            note(shrinkage=s)
        A, W = basis.compress(labelled.between()), basis.compress(labelled.scatter)
        return self._posed(A, W, s, level, basis)

    def _posed(self, A: Form, W: Form, s: float, level: float, basis: Features) -> Posed:
        ridge = s * level + (self.ridge or 0.0)
        unit = A + (1 - s) * W + Form(A.n, dense=ridge * np.eye(A.n), psd=True)
        if self.criterion == "trace-ratio":
            ratio = TraceRatio(A, unit)
            return Posed(ratio, basis, RatioWeights(ratio, self.axes))
        return Posed(TraceProblem(A, unit, "max"), basis, AxisWeights(self.axes, signed=False))

    def _scale_of(self, posed: Posed) -> Any:
        basis: Any = posed.basis
        if self.scale is None or basis.raw is not None:
            return super()._scale_of(posed)
        everyone = self._moments[0].pooled() + self._moments[1]
        return UnitVariance(basis, basis.compress(everyone.scatter).dense / everyone.n)

    def _solve(self, posed: Posed) -> tuple[Any, Any]:
        self._most = max(posed.problem.A.n, 1)
        Y, map_ = super()._solve(posed)
        self._learn_classes(posed, *self._groups)
        if "_moments" in vars(self):
            self.n_samples_seen_ = self._moments[0].n + self._moments[1].n
        return Y, map_

    @available_if(from_moments)
    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any = None, classes: Any = None) -> Any:
        """Add rows to those seen before, by ``fit`` too; the result is that of one ``fit`` to all of them, up to rounding.

        The problem is solved anew at every call, O(D³) beside the O(mD²) of m rows: pass D rows or more at a time where you can.
        Until there are rows of every class in ``classes_`` and classes enough for `n_components`, there is nothing to solve, and
        ``transform`` says "not fitted".

        Parameters
        ----------
        X : array-like or sparse matrix of shape (m, n_features)
            Dense or sparse; m may be one.
        y : array-like of shape (m,)
            Class labels, or the mark of unlabelled rows. A class may appear at any time.
        classes : array-like, optional
            Classes to expect: needed where the first rows have no label.

        Returns
        -------
        self
        """
        X = self._add_rows(X)
        codes, found = self._encode_block(X, y, classes)
        labelled, rest = class_moments(X, codes, found.size)
        if "n_samples_seen_" in vars(self):
            before, others = self._moments
            labelled = before.regrouped(np.searchsorted(found, self.classes_), found.size) + labelled
            rest = others + rest
        self._moments, self.classes_, self.n_samples_seen_ = (labelled, rest), found, labelled.n + rest.n
        d = self._wanted()
        fewest = max(
            2 if self.criterion == "trace-ratio" else max(d, 1) + 1,
            np.size(self.priors) if self.priors is not None else 0,
        )
        enough = found.size >= fewest and np.all(labelled.counts > 0)
        posed = self._pose_moments(labelled, rest, None) if enough else None
        return self if posed is None or posed.problem.A.n < min(d, X.shape[1]) else self._solve_moments(posed)

    def _encode_block(self, X: Any, y: Any, classes: Any) -> tuple[Any, Any]:
        """Codes of a block's labels among the classes seen or announced so far."""
        if y is None:
            return encode_labels(y, X, unlabeled=self.unlabeled, name="LDA")
        check_consistent_length(X, y)
        known = [self.classes_] if "n_samples_seen_" in vars(self) else []
        parts = [label_array(part) for part in (*known, *([] if classes is None else [classes]), y)]
        if len({part.dtype.kind in "US" for part in parts if part.dtype.kind != "O"}) > 1:
            raise LabelError(
                "The labels are text in one block and numbers in another: they cannot name the same classes."
            )
        y = np.concatenate(parts)
        codes, found = encode_labels(y, y, unlabeled=self.unlabeled, name="LDA", min_classes=1)
        return codes[y.size - X.shape[0] :], found

    def _level(self, basis: Any, codes: Any) -> float:
        """Mean within-class variance of a feature, features without any counted too."""
        features = basis.dim if self.kernel is not None else basis.raw.shape[1]
        return float(basis.restrict(within(codes)).diagonal().sum()) / features

    def _amount(self, basis: Any, codes: Any) -> float:
        """The share of the identity in the shrunk covariance."""
        if self.shrinkage is None:
            return 0.0
        if self.shrinkage == "auto":
            if sp.issparse(basis.raw) and basis.raw.shape[0] * basis.dim > 2**27:
                raise InputError('shrinkage="auto" needs the data dense: pass a number, or reduce= first.')
            Z = basis.Z if self.kernel is not None or self.reduce is not None else _dense(basis.raw)
            Z, G = Z[codes >= 0], class_indicator(codes[codes >= 0])
            amount = float(ledoit_wolf_shrinkage(Z - G @ (G.T @ Z), assume_centered=True))
        else:
            amount = float(self.shrinkage)
        note(shrinkage=amount)
        return amount


def _class_means(R: Any, codes: Any) -> tuple[Array, Array]:
    """Rows of every class, and their mean."""
    counts = np.bincount(codes[codes >= 0]).astype(np.float64)
    sums = (class_indicator(codes) * np.sqrt(counts)).T @ R
    return counts, np.asarray(sums.toarray() if sp.issparse(sums) else sums, dtype=np.float64) / counts[:, None]


def check_spread(X: Any, codes: Any, name: str) -> None:
    """Refuse labelled rows that all coincide where the others do not. Cost O(nD)."""
    if np.any(codes < 0):
        (inside, _), (everywhere, mean) = _deviations(X[codes >= 0]), _deviations(X)
        _refuse_coincident(inside, everywhere, mean, name)


def _deviations(X: Any) -> tuple[Array, Array]:
    """Standard deviation and mean of every column."""
    if sp.issparse(X):
        mean, variance = mean_variance_axis(sp.csr_matrix(X), axis=0)
        return np.sqrt(variance), mean
    return np.std(X, axis=0, dtype=np.float64), np.mean(X, axis=0, dtype=np.float64)


def _refuse_coincident(inside: Array, everywhere: Array, mean: Array, name: str) -> None:
    """The labelled rows vary in no column by more than rounding: what a discriminant would show of them is noise."""
    if np.all(inside <= 1e-6 * everywhere + 1e-13 * np.abs(mean)):
        raise LabelError(
            f"{name} needs labelled samples that differ, but the labelled samples all coincide: they have classes and no directions that "
            "tell these apart. Label other samples, or use an unsupervised method."
        )


def _dense(X: Any) -> Array:
    return X.toarray() if sp.issparse(X) else np.asarray(X, dtype=np.float64)
