"""Probabilistic PCA: PCA as a Gaussian model, which accepts rows with missing entries."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..._parameters import Count, Tolerance, attribute, parameter
from ..._types import Array, Matrix, RandomState, TableLike, is_sparse
from ...data import Input, Points, Sample, read_new
from ...data.rows.storage import in_precision_of, refuse_out_of_range
from ...errors import DimensionError, InputError
from ...numerics.eigen import dense
from ...numerics.memory import require
from ...problem import Features, Fitted, Form, Map, Posed, Raw, TraceProblem
from ...problem.dimension_rules import bic, likeliest_number, maximum_likelihood
from ...problem.scale import roots
from ...problem.spectrum import seed_of
from ..base.contract import Components, axes
from ..base.table import known_as, method
from .em import fit_gaps
from .gaussian import described, most_evident
from .missing_entries import Gapped, Latent, column_centres, has_gaps, warn_of_empty_rows
from .pca import PrincipalAxes


@dataclass(frozen=True, eq=False)
class PosteriorMap(Map):
    """Posterior means of the latent variables: a linear map of whole rows, a system of equations for rows with gaps."""

    latent: Any = None

    def __call__(self, X: Matrix) -> Array:
        if has_gaps(X):
            warn_of_empty_rows(X)
        return super().__call__(X)

    def _block(self, X: Matrix) -> Array:
        if not has_gaps(X):
            return super()._block(X)
        whole, Y = ~np.isnan(X).any(axis=1), np.empty((len(X), self.width))
        Y[whole], Y[~whole] = super()._block(X[whole]), self.latent.means(X[~whole])
        return Y


@method(
    "variance", "max likelihood of W z + noise", "latent", "n D min(n, D); gaps: n D d² + n d³ a step", "S3 eq. 3.12"
)
@known_as(
    "Probabilistic principal component analysis",
    "probabilistic PCA; sensible PCA; PCA with missing values; missing data PCA; latent variable model of PCA; "
    "EM for PCA; maximum likelihood PCA",
    {"n_components='auto'": "number of components by BIC"},
)
class PPCA(PrincipalAxes):
    """Probabilistic principal component analysis.

    .. math:: x = W z + \\mu + e, \\quad z \\sim N(0, I_d), \\; e \\sim N(0, \\sigma^2 I), \\qquad
       W = U (\\Lambda - \\sigma^2 I)^{1/2}, \\quad \\sigma^2 = \\frac{1}{D - d} \\sum_{j > d} \\lambda_j

    with U and Λ the first d eigenvectors and eigenvalues of the covariance [S3, eq. 3.12, whose exponent ½ is missing in print]. PCA as a
    model of the data: use it where you want a likelihood, to compare numbers of axes or to find outliers, to draw new rows, and above all
    where **entries are missing**: NaN in X marks missing entries, in ``fit`` and all other methods, and `impute` fills them in.

    ``transform`` returns the posterior mean of z given what is there of a row, :math:`(W^T W + \\sigma^2 I)^{-1} W^T (x - \\mu)` for whole
    rows: PCA's coordinates, each divided by its standard deviation and drawn towards zero by its share of noise.
    ``inverse_transform`` returns the points of the model's plane that ``transform`` takes there.

    Without gaps the model is found in closed form from the moments of X, at the cost of `PCA`: X may be sparse or a `numpy.memmap`, and
    `partial_fit` takes rows in parts. With gaps it is found by expectation and maximisation: O(nDd² + nd³) a step (less where rows share
    patterns of gaps), the likelihood of the observed entries never falling, and O(nD + Dd²) memory. It assumes that whether an entry
    is missing does not depend on its value, the others of its row given.

    Parameters
    ----------
    n_components
        Number d of latent variables; ``"auto"`` uses the number with the best `criterion`. d = D − 1 can fit any Gaussian;
        more axes leave no noise, which is allowed for rows without gaps only.
    criterion
        For "auto": the Bayesian information criterion, or Minka's approximation of the evidence (rows without gaps, at
        least as many as features). With gaps the criterion is that of the observed entries, and each number is tried with a
        few steps only: the result is exact up to about ten axes, and at most a few per cent off beyond.
    covariance
        "sample" divides sums of squares by n − 1 and, if n ≤ D, shares the noise among the n − d directions in which the
        rows can vary: the model and its likelihood then agree with scikit-learn's ``PCA.score`` to rounding. "ml" is the
        maximum of the likelihood: n, and D − d directions. With gaps "sample" is the maximum of the likelihood with its
        covariance times n/(n − 1).
    tol
        With gaps: stop when the log-likelihood per observed entry gains less than this.
    max_iter
        With gaps: maximum number of steps. A warning says if they were too few.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Matrix that rows without gaps, minus ``mean_``, are multiplied with: ``transform(X) = (X − mean_) @ components_.T``.
    mean_ : ndarray of shape (n_features,)
        μ.
    loadings_ : ndarray of shape (n_features, n_components)
        W, with orthogonal columns, the longest first.
    noise_variance_ : float
        σ².
    explained_variance_ : ndarray of shape (n_components,)
        Variance of the model along each axis, noise included.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Share of the total variance along each axis.
    singular_values_ : ndarray of shape (n_components,)
        Roots of ``eigenvalues_``.
    n_components_ : int
        Number of axes.
    log_likelihood_ : float
        Log-likelihood of the observed entries of all training rows; inf if no noise is left.
    log_likelihoods_ : ndarray
        Log-likelihood at every step, at the maximum of the likelihood ("ml"). Present with gaps.
    bic_ : float
        Bayesian information criterion at the maximum of the likelihood; smaller is better.
    n_iter_ : int
        Number of steps; 1 for rows without gaps, which need no iteration.
    n_samples_ : int
        Number of rows.
    n_samples_seen_ : int
        Number of rows so far. Present if `partial_fit` can add more: with dense X without gaps and of more rows than
        features.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from eigenspan import PPCA
    >>> X, _ = load_iris(return_X_y=True)
    >>> PPCA("auto").fit(X).n_components_
    3
    >>> gaps = np.where(np.random.default_rng(0).random(X.shape) < 0.2, np.nan, X)
    >>> ppca = PPCA(2).fit(gaps)
    >>> bool(np.all(np.diff(ppca.log_likelihoods_) > 0))
    True
    >>> hidden = np.isnan(gaps)
    >>> errors = [F[hidden] - X[hidden] for F in (ppca.impute(gaps), np.broadcast_to(np.nanmean(gaps, axis=0), X.shape))]
    >>> [round(float(np.sqrt(np.mean(e**2))), 2) for e in errors]
    [0.41, 1.06]

    References
    ----------
    Tipping & Bishop (1999), Probabilistic principal component analysis; Minka (2000), Automatic choice of dimensionality for PCA; Liu,
    Rubin & Wu (1998), Parameter expansion to accelerate EM.
    [S3] Burges (2010), Dimension reduction: a guided tour.
    """

    n_components: Components | Literal["auto"] = parameter(default=2, kw_only=False)
    criterion: Literal["bic", "minka"] = "bic"
    covariance: Literal["sample", "ml"] = "sample"
    tol: Tolerance = 1e-4
    max_iter: Count = 200

    loadings_: Array = attribute()
    noise_variance_: float = attribute()
    explained_variance_: Array = attribute()
    explained_variance_ratio_: Array = attribute()
    singular_values_: Array = attribute()
    n_components_: int = attribute()
    map_: PosteriorMap = attribute()
    log_likelihood_: float = attribute()
    log_likelihoods_: Array = attribute()
    bic_: float = attribute()
    n_iter_: int = attribute()
    n_samples_: int = attribute()

    _input: ClassVar[Input] = Input(sparse=True, linear=True, missing="allow")

    def _fit(self, sample: Sample[Points, None]) -> Fitted:
        X = sample.x.values
        if has_gaps(X):
            return self._fit_gaps(X)
        if not sample.x.one_pass:
            refuse_out_of_range(X)
        return super()._fit(sample)

    def _conclude(self, posed: Posed, n: int, D: int, scatter: float) -> Fitted:
        found = _as_latent(super()._conclude(posed, n, D, scatter))
        values = found.attributes["eigenvalues_"]
        variances, noise = found.attributes["explained_variance_"], found.attributes["noise_variance_"]
        d, log_likelihood = values.size, np.inf
        if noise or d == D:
            logs = np.log(variances).sum() + (D - d) * (np.log(noise) if noise else 0.0)
            squares = np.sum(values / variances) + ((scatter - values.sum()) / noise if noise else 0.0)
            log_likelihood = -(n * (D * np.log(2 * np.pi) + logs) + squares) / 2
        best = maximum_likelihood(values, n, D, scatter)[-1]
        return found.having(log_likelihood_=float(log_likelihood), bic_=float(bic(best, d, n, D)), n_iter_=1)

    def _description(self, values: Array, n: int, D: int, scatter: float) -> dict[str, Any]:
        likely = {"divisor": n, "directions": D - values.size} if self.covariance == "ml" else {}
        return described(values, n, D, scatter, **likely)

    def _number(self, values: Array, n: int, D: int, scatter: float) -> int:
        if self.criterion == "minka":
            return most_evident(values, n, D, '"auto" with criterion="minka"')
        return likeliest_number(values, n, D, scatter)

    # ------------------------------------------------------------------ gaps
    def _fit_gaps(self, X: Array) -> Fitted:
        require(
            42.0 * X.size,
            f"The {X.shape[0]}×{X.shape[1]} entries and their gaps",
            "Fit to some of the rows, and impute the others.",
        )
        self._refuse_for_gaps(X)
        some = ~np.isnan(X).all(axis=1)
        centres = column_centres(X)
        away = np.nan_to_num(np.subtract(X, centres, dtype=np.float64))
        unit = float(np.sqrt(np.sum(away**2) / np.sum(~np.isnan(X))))
        if unit <= 1e-13 * np.abs(centres).max():
            raise DimensionError(
                f"All {len(X)} rows coincide where they have entries: there are no dimensions to show."
            )
        rows = Gapped.of(X[some], centres, unit)
        rng = np.random.default_rng(seed_of(self.random_state))
        course = fit_gaps(rows, self.n_components, self.tol, self.max_iter, rng)
        fitted = self._of_model(course.model, rows.values.shape, centres, unit)
        latent, (n, D) = fitted.map.latent, X.shape
        # Change of units: the density of a row of q entries is divided by unit**q.
        trace = np.array(course.log_likelihoods) - rows.there.sum() * np.log(unit)
        return replace(fitted, embedding=fitted.map(X)).having(
            log_likelihoods_=trace,
            log_likelihood_=float(latent.log_likelihood(X[some]).sum()),
            bic_=float(bic(trace[-1], latent.W.shape[1], len(rows.order), D)),
            n_iter_=len(trace),
            n_samples_=n,
        )

    def _of_model(self, model: Latent, shape: tuple[int, int], centres: Array, unit: float) -> Fitted:
        """Return the fit with this model, which is in units of `unit` and about the column centres."""
        n, D = shape
        U, lengths, _ = dense.principal_axes(model.W, rtol=0.0)
        values, d = n * unit**2 * (lengths**2 + model.noise), lengths.size
        scatter = float(values.sum() + n * unit**2 * (D - d) * model.noise)
        problem = TraceProblem(Form(d, dense=np.diag(values), psd=True), None, "max")
        fitted = axes(self).fit(Posed(problem, Features(Raw(), None, U, centres + unit * model.mean), axes=d))
        divisor = n if self.covariance == "ml" else n - 1
        about = described(values, n, D, scatter, divisor=divisor, directions=D - d)
        return _as_latent(fitted.having(n_components_=d, **about))

    def _refuse_for_gaps(self, X: Array) -> None:
        """Raise for parameters that are not available with gaps."""
        n, D = X.shape
        wanted, most = self.n_components, min(n - 2, D - 1)
        missing = f"X has {int(np.isnan(X).sum())} missing entries (NaN)"
        if self.reduce is not None:
            raise InputError(
                f"{missing}, and reduce= keeps principal axes of whole rows first: leave it out, or fill them in."
            )
        if wanted == "auto" and self.criterion == "minka":
            raise InputError(
                f'{missing}, and criterion="minka" weighs the eigenvalues of whole rows: use criterion="bic".'
            )
        if most < 1 or (isinstance(wanted, Integral) and wanted > most):
            raise DimensionError(
                f"n_components={wanted} exceeds {most}, and {missing}: {n} rows of n_features={D} would have nothing left as noise, "
                f"by which missing entries are told. "
                + (f"Use n_components <= {most}." if most > 0 else "Use more rows and columns.")
            )

    # ------------------------------------------------------------------ the model
    def _log_density(self, X: Matrix) -> Array:
        return self.map_.latent.log_likelihood(X) if has_gaps(X) else super()._log_density(X)

    def score_samples(self, X: TableLike) -> Array:
        """Return the log-likelihood of the observed entries of each row: 0 for a row without any.

        Parameters
        ----------
        X : array-like of shape (n_points, n_features)
            May have gaps (NaN).

        Returns
        -------
        ndarray of shape (n_points,)
        """
        return super().score_samples(X)

    def impute(self, X: TableLike) -> Array:
        """Fill gaps with their expected values, given the other entries of their row; all others stay as they are.

        Parameters
        ----------
        X : array-like of shape (n_points, n_features)
            With gaps (NaN). A row without any entry becomes ``mean_``, with a warning.

        Returns
        -------
        ndarray of shape (n_points, n_features)
        """
        check_is_fitted(self)
        rows = read_new(self, X)[0]
        if not has_gaps(rows):
            return rows.copy()
        warn_of_empty_rows(rows)
        return in_precision_of(np.nan_to_num(rows), self.map_.latent.filled(rows))

    def posterior_covariance(self, X: TableLike | None = None) -> Array:
        """Return the posterior covariance of the latent variables.

        Parameters
        ----------
        X : array-like of shape (n_points, n_features), optional
            Rows with gaps (NaN).

        Returns
        -------
        ndarray of shape (n_components, n_components) or (n_points, n_components, n_components)
            σ²(W'W + σ²I)⁻¹ of any whole row, without X; with X that of each of its rows, given what is there.
        """
        check_is_fitted(self)
        if X is None:
            return np.diag(self.noise_variance_ / self.explained_variance_)
        rows = read_new(self, X)[0]
        has_gaps(rows)  # raises for sparse rows with gaps
        return np.asarray(self.map_.latent.covariances(rows.toarray() if is_sparse(rows) else rows))

    def sample(self, n_samples: int = 1, *, random_state: RandomState = 0) -> Array:
        """Draw rows from the model.

        Parameters
        ----------
        n_samples : int, default=1
        random_state : int, RandomState or None, default=0
            The same seed draws the same rows.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        rng, latent = check_random_state(random_state), self.map_.latent
        (D, d), noise = latent.W.shape, np.sqrt(latent.noise)
        return (
            rng.standard_normal((n_samples, d)) @ latent.W.T + latent.mean + noise * rng.standard_normal((n_samples, D))
        )


def _as_latent(fitted: Fitted) -> Fitted:
    """Return the fit with unit axes replaced by posterior means of the latent variables."""
    found = fitted.attributes
    variances, noise, V = found["explained_variance_"], found["noise_variance_"], found["components_"]
    signal = variances - noise
    if np.any(signal <= 1e-12 * variances):
        raise DimensionError(
            f"Along axis {int(np.argmax(signal <= 1e-12 * variances)) + 1} the rows vary no more than along all others (variance "
            f"{variances[-1]:.6g}, noise {noise:.6g}): no latent variable is behind it. Use fewer components, or PCA."
        )
    loadings, factors = V.T * roots(signal), roots(signal) / variances
    latent = Latent(loadings, found["mean_"], noise)
    map_ = PosteriorMap(fitted.map.rows, fitted.map.coef * factors, offset=fitted.map.offset, latent=latent)
    Y = None if fitted.embedding is None else fitted.embedding * factors
    return Fitted(Y, map_, {**found, "components_": V * factors[:, None], "loadings_": loadings})
