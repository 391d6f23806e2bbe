"""Learning the weights of a graph from groups that are known: the walk on it should stay within them."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn.utils.validation import check_is_fitted

from .._compat import ClassNamePrefixFeaturesOutMixin, TransformerMixin, fit_context
from .._diagnostics import collect, note, stage
from .._parameters import Count, Declared, Marker, Tolerance, attribute
from .._types import Array, TableLike, VectorLike
from ..data.read import checked_rows
from ..data.rows.storage import in_precision_of, refuse_out_of_range, warn_of_rounded_columns
from ..data.y import read_classes
from ..errors import ConvergenceWarning, DimensionError, LabelError, warn
from ..methods.base.table import besides
from ..numerics.memory import require, with_memory_errors
from .all_or_nothing import all_or_nothing


@besides("learning", "min divergence of a walk", "—", "linear", "some labels", "n² D per step", "S3 §4.5.2")
class AffinityLearner(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Declared):
    """Weights of the features, learned from a partition, for spectral clustering.

    .. math:: \\min_{\\lambda \\ge 0} \\; \\frac1m \\sum_i \\operatorname{KL}(P^*_i \\,\\Vert\\, P_i), \\qquad
              P_{ij} \\propto \\exp\\Bigl(-\\sum_f \\lambda_f (x_{if} - x_{jf})^2\\Bigr), \\; j \\ne i

    where :math:`P^*_i` is uniform over the others of i's group, which no walk leaves. The walk P of the learned weights comes as near to
    that as Gaussian weights can [S3, §4.5.2, after Meila & Shi]. The problem is convex: features that do not tell the groups apart
    get little or no weight, and the scale of the weights is that of the groups.

    Fit it to rows whose groups are known (others may be −1, NaN or None: they are left out), and cluster rows with other groups by
    ``SpectralClustering(weights=Heat(1.0))`` on what ``transform`` returns: the features times :math:`\\sqrt\\lambda`, in which the
    learned weights are :math:`e^{-d^2}`.

    Cost: O(m²D) a step for m labelled rows, some tens of steps, and O(m²) memory; a sample of the rows will do.

    Parameters
    ----------
    tol
        Stop when the divergence decreases by no more than this share.

    Attributes
    ----------
    weights_ : ndarray of shape (n_features,)
        λ.
    divergence_ : float
        Mean divergence of the walk from the ideal one, in nats; 0 is the best.
    gradient_ : ndarray of shape (n_features,)
        Gradient of the divergence by the weights, in units of the features' variance. At the optimum it is zero where λ > 0
        and not negative elsewhere.
    classes_ : ndarray
        The groups.
    n_iter_ : int
        Number of iterations.
    diagnostics_ : dict
        Seconds per stage and other facts of the fit.

    Examples
    --------
    Three groups in two of six features, the others noise that hides them:

    >>> import numpy as np
    >>> from sklearn.datasets import make_blobs
    >>> from eigenspan import AffinityLearner, Heat, SpectralClustering
    >>> X, y = make_blobs(300, centers=[[0, 0], [5, 0], [0, 5]], random_state=0)
    >>> X = np.c_[X, 5 * np.random.default_rng(0).standard_normal((300, 4))]
    >>> learner = AffinityLearner().fit(X[:100], y[:100])
    >>> bool(learner.weights_[:2].min() > 10 * learner.weights_[2:].max())
    True
    >>> clusters = SpectralClustering(3, weights=Heat(1.0)).fit_predict(learner.transform(X))
    >>> clusters.shape
    (300,)

    References
    ----------
    Meila & Shi (2001), Learning segmentation by random walks.
    """

    unlabeled: Marker = -1
    tol: Tolerance = 1e-8
    max_iter: Count = 500

    weights_: Array = attribute()
    divergence_: float = attribute()
    gradient_: Array = attribute()
    classes_: NDArray[Any] = attribute()
    n_iter_: int = attribute()
    diagnostics_: dict[str, Any] = attribute()

    @with_memory_errors
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: TableLike, y: VectorLike) -> Self:
        """Learn the weights of the features from rows X and their groups y; rows whose group is −1, NaN or None are left out."""
        with all_or_nothing(self):
            self._fit(X, y)
        return self

    def _fit(self, X: Any, y: Any) -> None:
        X = checked_rows(self, X, ensure_min_samples=2)
        refuse_out_of_range(X)
        groups = read_classes(y, X.shape[0], unlabeled=self.unlabeled, name="AffinityLearner")
        with collect() as record, stage("weights"):
            known = groups.codes >= 0
            found = self._learned(np.asarray(X[known], dtype=np.float64), groups.codes[known])
        warn_of_rounded_columns(
            X,
            "X, and of what transform returns,",
            "Subtract the column means first (before rows are rounded to single precision), or pass X in double precision.",
        )
        for name, value in {**found, "classes_": groups.names, "diagnostics_": record}.items():
            setattr(self, name, value)

    def _learned(self, X: Array, codes: NDArray[np.intp]) -> dict[str, Any]:
        m = codes.size
        require(40.0 * m**2, f"The walk between {m} labelled rows", "Fit to a sample of the rows.")
        if np.bincount(codes).max() < 2:
            raise LabelError(
                f"No group of the {m} labelled rows has two of them, so that nothing says what belongs together: give more labels."
            )
        Z = X - X.mean(axis=0)
        spread = Z.std(axis=0)
        if not spread.any():
            raise DimensionError(f"All {m} labelled rows coincide: there are no distances to weigh.")
        unit = np.where(spread > 0, spread, 1.0)
        walk = _Walk(Z / unit, codes)
        start = np.where(spread > 0, 1.0 / Z.shape[1], 0.0)
        options = {"maxiter": self.max_iter, "ftol": self.tol * 1e-4, "gtol": self.tol}
        best = minimize(walk, start, jac=True, method="L-BFGS-B", bounds=[(0, None)] * start.size, options=options)
        note(status=str(best.message), evaluations=int(best.nfev))
        if best.nit >= self.max_iter:
            warn(
                f"After max_iter={self.max_iter} steps the divergence is {best.fun:.6g} and its gradient still "
                f"{np.abs(best.jac[best.x > 0]).max(initial=0.0):.1e}: the weights may still move. Raise max_iter or tol.",
                ConvergenceWarning,
            )
        return {
            "weights_": best.x / unit**2,
            "divergence_": float(best.fun),
            "gradient_": np.asarray(best.jac),
            "n_iter_": int(best.nit),
        }

    def transform(self, X: Any) -> Any:
        """The features times the roots of their weights.

        Parameters
        ----------
        X : array-like of shape (n_points, n_features)

        Returns
        -------
        ndarray of shape (n_points, n_features)
        """
        check_is_fitted(self)
        X = checked_rows(self, X, reset=False)
        with np.errstate(over="ignore"):
            return in_precision_of(X, X * np.sqrt(self.weights_))

    @property
    def _n_features_out(self) -> int:
        return int(self.weights_.size)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class _Walk:
    """``λ -> (divergence, gradient)`` of the walk between rows from the one that stays within their groups."""

    def __init__(self, X: Array, codes: NDArray[np.intp]) -> None:
        same = codes[:, None] == codes
        np.fill_diagonal(same, False)
        others = same.sum(axis=1)
        self.X, self.paired = X, others > 0
        # rows alone in their group say nothing of what belongs together, and are still there for others to step to
        self.ideal = same[self.paired] / others[self.paired, None]
        self.entropy = float(np.mean(np.log(others[self.paired])))

    def __call__(self, weights: Array) -> tuple[float, Array]:
        Z, some = self.X * np.sqrt(weights), np.flatnonzero(self.paired)
        size = np.einsum("ij,ij->i", Z, Z)
        D = np.maximum(np.add.outer(size[some], size) - 2.0 * (Z[some] @ Z.T), 0.0)
        D[np.arange(some.size), some] = np.inf
        norm = logsumexp(-D, axis=1)
        P = np.exp(-D - norm[:, None])
        D[np.arange(some.size), some] = 0.0
        value = float(np.mean(np.einsum("ij,ij->i", self.ideal, D) + norm)) - self.entropy
        A = (self.ideal - P) / some.size  # rows sum to zero: what is left of Σ A_ij (x_i − x_j)² is below
        gradient = A.sum(axis=0) @ self.X**2 - 2.0 * np.einsum("ij,ij->j", self.X[some], A @ self.X)
        return value, gradient
