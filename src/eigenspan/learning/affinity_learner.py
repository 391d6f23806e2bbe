"""Feature weights learned from known groups, so that the random walk on a Gaussian graph stays within the groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

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
from ..methods.base.table import besides, known_as
from ..numerics.memory import memory_errors, require
from .all_or_nothing import all_or_nothing

if TYPE_CHECKING:
    from sklearn.utils import Tags


@besides("learning", "min divergence of a walk", "—", "linear", "some labels", "n² D per step", "S3 §4.5.2")
@known_as(
    "Feature weights for spectral clustering",
    "learning spectral clustering; learning segmentation; learned affinity; affinity learning; "
    "learning the similarity matrix",
)
class AffinityLearner(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Declared):
    """Feature weights learned from a partition, for spectral clustering.

    .. math:: \\min_{\\lambda \\ge 0} \\; \\frac1m \\sum_i \\operatorname{KL}(P^*_i \\,\\Vert\\, P_i), \\qquad
              P_{ij} \\propto \\exp\\Bigl(-\\sum_f \\lambda_f (x_{if} - x_{jf})^2\\Bigr), \\; j \\ne i

    where :math:`P^*_i` is uniform over the other rows of i's group: the ideal random walk never leaves a group. P is the walk with Gaussian
    edge weights, and the fit minimises its divergence from the ideal walk [S3, §4.5.2, after Meila & Shi]. The problem is convex. Features
    that do not separate the groups get little or no weight, and the overall scale fits the distances within the groups.

    Fit it to rows with known groups; rows with group −1, NaN or None are left out. Then cluster other rows by
    ``SpectralClustering(weights=Heat(1.0))`` on the result of ``transform``, the features times :math:`\\sqrt\\lambda`. In these features
    the learned edge weights are :math:`e^{-d^2}`.

    Cost: O(m²D) per step for m labelled rows, some tens of steps, and O(m²) memory. A sample of the rows is enough.

    Parameters
    ----------
    tol
        Stop when the relative decrease of the divergence is at most this.

    Attributes
    ----------
    weights_ : ndarray of shape (n_features,)
        λ.
    divergence_ : float
        Mean divergence from the ideal walk, in nats; 0 is the best.
    gradient_ : ndarray of shape (n_features,)
        Gradient of the divergence with respect to the weights, in units of the features' variance. At the optimum it is zero where λ > 0
        and not negative elsewhere.
    classes_ : ndarray
        The groups.
    n_iter_ : int
        Number of iterations.
    diagnostics_ : dict
        Seconds per stage and other facts of the fit.

    Examples
    --------
    Three groups in two of six features; the other four are noise:

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

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: TableLike, y: VectorLike) -> Self:
        """Learn the feature weights from rows X and their groups y; rows whose group is −1, NaN or None are left out."""
        with memory_errors(self, X), all_or_nothing(self):
            self._fit(X, y)
        return self

    def _fit(self, X: TableLike, y: VectorLike) -> None:
        rows: Array = checked_rows(self, X, least=2)
        refuse_out_of_range(rows)
        groups = read_classes(y, rows.shape[0], unlabeled=self.unlabeled, name="AffinityLearner")
        with collect() as record, stage("weights"):
            known = groups.codes >= 0
            found = self._learned(np.asarray(rows[known], dtype=np.float64), groups.codes[known])
        warn_of_rounded_columns(
            rows,
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
                f"Each of the {m} labelled rows is the only one of its group, so there are no pairs to learn from. Label at "
                "least two rows of a group."
            )
        Z = X - X.mean(axis=0)
        spread = Z.std(axis=0)
        if not spread.any():
            raise DimensionError(
                f"All {m} labelled rows coincide, so no feature can separate the groups. Use rows that differ."
            )
        unit = np.where(spread > 0, spread, 1.0)
        walk = _Walk(Z / unit, codes)
        start = np.where(spread > 0, 1.0 / Z.shape[1], 0.0)
        options = {"maxiter": self.max_iter, "ftol": self.tol * 1e-4, "gtol": self.tol}
        best = minimize(walk, start, jac=True, method="L-BFGS-B", bounds=[(0, None)] * start.size, options=options)
        note(status=str(best.message), evaluations=int(best.nfev))
        if best.nit >= self.max_iter:
            warn(
                f"The divergence is {best.fun:.6g} after max_iter={self.max_iter} steps, with a gradient of "
                f"{np.abs(best.jac[best.x > 0]).max(initial=0.0):.1e}, so the weights have not converged. Raise max_iter or tol.",
                ConvergenceWarning,
            )
        return {
            "weights_": best.x / unit**2,
            "divergence_": float(best.fun),
            "gradient_": np.asarray(best.jac),
            "n_iter_": int(best.nit),
        }

    def transform(self, X: TableLike) -> Array:
        """Return the features times the square roots of their weights.

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

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class _Walk:
    """Function ``λ -> (divergence from the ideal walk, gradient)``."""

    def __init__(self, X: Array, codes: NDArray[np.intp]) -> None:
        same = codes[:, None] == codes
        np.fill_diagonal(same, False)
        others = same.sum(axis=1)
        self.X, self.paired = X, others > 0
        # a row that is alone in its group has no ideal walk, but other rows may step to it
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
        A = (self.ideal - P) / some.size  # rows sum to zero, so in Σ A_ij (x_i − x_j)² the terms x_i² cancel
        gradient = A.sum(axis=0) @ self.X**2 - 2.0 * np.einsum("ij,ij->j", self.X[some], A @ self.X)
        return value, gradient
