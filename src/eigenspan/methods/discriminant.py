"""Discriminant forms: class means against what is left around them."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.covariance import ledoit_wolf_shrinkage

from .._compat import Interval, StrOptions
from .._diagnostics import note
from ..core import Form, Posed, TraceRatio, pose
from ..errors import DimensionError, InputError
from ..forms import between, total, within
from ..graphs import class_indicator, encode_labels
from .base import FeatureReducer
from .docs import documented

Array = NDArray[np.float64]


@documented
class LDA(FeatureReducer):
    """Linear discriminant analysis, and through ``kernel=`` kernel Fisher discriminant analysis.

    .. math:: \\max_V \\operatorname{Tr}(V^T S_B V) \\quad \\text{s.t. } V^T S_T V = I

    [S0, eqs. 38–45]; with ``criterion="trace-ratio"`` instead :math:`\\max \\operatorname{Tr}(V^T S_B V)/\\operatorname{Tr}(V^T S_T V)`
    over orthonormal V. The constraint is the total scatter, not the within-class scatter: the directions are the same, and data with
    more features than samples need no special care. Use it to separate known classes.

    Cost: O(nD min(n, D) + D³) time, O(nD + D²) memory, never n×n.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of directions. None means c − 1, which is also the most the ratio trace of c classes has.
    criterion : {"ratio-trace", "trace-ratio"}, default="ratio-trace"
        The classical criterion, or the orthogonal one, which may have more than c − 1 directions.
    shrinkage : float in [0, 1], "auto" or None, default=None
        Pull the within-class covariance towards a multiple of the identity; ``"auto"`` is Ledoit and Wolf's amount.
    $kernel
    $landmarks
    $reduce
    $ridge
    $unlabeled
    $solver
    $random_state

    Attributes
    ----------
    classes_ : ndarray
        The class labels.
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
    >>> LDA(2, kernel="rbf").fit(X, y).embedding_.shape
    (178, 2)

    References
    ----------
    [S0] §5.2, §7.2; Wang et al. (2007) for the trace ratio; Ledoit & Wolf (2004).
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **FeatureReducer._parameter_constraints,
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "criterion": [StrOptions({"ratio-trace", "trace-ratio"})],
        "shrinkage": [Interval(Real, 0, 1, closed="both"), StrOptions({"auto"}), None],
        "unlabeled": "no_validation",
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        criterion: str = "ratio-trace",
        shrinkage: Any = None,
        kernel: Any = None,
        landmarks: Any = None,
        reduce: int | None = None,
        ridge: float | None = None,
        unlabeled: Any = -1,
        solver: Any = "auto",
        random_state: Any = 0,
    ) -> None:
        super().__init__(
            n_components,  # type: ignore[arg-type]
            kernel=kernel,
            landmarks=landmarks,
            reduce=reduce,
            ridge=ridge,
            solver=solver,
            random_state=random_state,
        )
        self.criterion = criterion
        self.shrinkage = shrinkage
        self.unlabeled = unlabeled

    def _needs_labels(self) -> bool:
        return True

    def _n_axes(self) -> int:
        return self.classes_.size - 1 if self.n_components is None else self.n_components

    def _pose(self, X: Any, y: Any) -> Posed:
        codes, self.classes_ = encode_labels(y, X, unlabeled=self.unlabeled, name="LDA")
        c, d = self.classes_.size, self._n_axes()
        if self.criterion == "ratio-trace" and d > c - 1:
            raise DimensionError(
                f"n_components={d}, but {c} classes have at most {c - 1} discriminant directions: the means "
                "of c classes span c - 1 dimensions. "
                f'Use n_components <= {c - 1}, or criterion="trace-ratio".'
            )
        basis = self._basis(X)
        s = self._amount(basis, codes)
        level = self._level(basis, codes) if s else 0.0
        if self.criterion == "trace-ratio":
            basis = basis.centred(np.ones(X.shape[0]))
            A, W = basis.restrict(between(codes)), basis.restrict(within(codes))
            identity = Form(A.n, dense=(s * level + (self.ridge or 0.0)) * np.eye(A.n), psd=True)
            return Posed(TraceRatio(A, A + (1 - s) * W + identity), basis)
        if not s:
            return pose(basis, maximise=between(codes), unit=total(codes), ridge=self.ridge)
        unit = between(codes) + (1 - s) * within(codes)
        return pose(basis, maximise=between(codes), unit=unit, ridge=s * level + (self.ridge or 0.0))

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


def _dense(X: Any) -> Array:
    return X.toarray() if sp.issparse(X) else X
