"""Mixture of probabilistic PCA models: local planes, each with its own mean, axes and noise."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..._diagnostics import note, stage
from ..._parameters import Count, Seed, Tolerance, attribute, parameter
from ..._types import Array, Index, RandomState, TableLike
from ...data import Input, Points, Sample, read_new
from ...data.rows.storage import in_precision_of
from ...errors import ConvergenceWarning, DegenerateWarning, DimensionError, InputError, warn
from ...numerics.eigen import dense
from ...numerics.memory import require
from ...problem import Axes, Features, Fitted, Form, Posed, TraceProblem
from ...problem.spectrum import seed_of
from ..base.contract import Components, Reducer
from ..base.table import known_as, method
from .mixture_em import Mixture, MixtureCourse, run_em, spread_within, start


@method("variance", "max likelihood of several W z + noise", "latent", "k n D min(n, D) a step", "S3 §3.3")
@known_as(
    "Mixture of probabilistic principal component analysers",
    "mixtures of PPCA; mixture of PCA; local PCA; local linear models; mixture of local subspaces; "
    "EM for mixtures of PCA",
)
class MixturePPCA(Reducer):
    """Mixture of probabilistic principal component analysers.

    .. math:: p(x) = \\sum_k \\pi_k\\, N(x;\\, \\mu_k,\\, W_k W_k^T + \\sigma_k^2 I), \\qquad W_k \\in R^{D \\times d}

    Several local planes of d dimensions, each with a centre, axes and noise of its own [S3, §3.3]: for data that one plane cannot follow,
    because they bend or fall into groups. Between k-means (spheres) and a full Gaussian mixture (D(D + 1)/2 numbers for each covariance,
    too many where D is large); with d = D − 1 it is the latter.

    Fitted by expectation and maximisation from `n_init` starts of k-means++, each step a weighted `PPCA` for every component, the
    likelihood never falling; the best is kept. Noise does not fall below `noise_floor`: otherwise the likelihood of a component on a
    few rows would be unbounded. A component that becomes empty is restarted at the rows of lowest likelihood, up to three times in a
    start, and then dropped, with a warning.

    ``embedding_`` and ``transform`` project the points without noise. Coordinates within components cannot be compared, because every
    component has its own origin and axes: instead each point is replaced by its expected value without noise, weighted by
    responsibility (`denoise`), and projected onto the d axes of largest variance of the whole mixture. The map is smooth; planes
    that bend around each other overlap in it as they do in PCA. `latent` has the coordinates within each component.

    Cost: O(k n D min(n, D)) a step and O(nD + kDd) memory. X must be dense, and have no gaps: impute them with `PPCA` first.

    Parameters
    ----------
    n_components
        Number d of latent dimensions of every component, and of dimensions of the embedding. If d equals the number of
        features, components use one fewer, which already fits any Gaussian.
    n_clusters
        Number of components k. (scikit-learn's GaussianMixture calls this n_components.)
    n_init
        Number of starts. The result with the highest likelihood is kept.
    tol
        Stop when the log-likelihood per row gains less than this.
    max_iter
        Maximum number of steps. A warning says if they were too few.
    noise_floor
        Smallest noise of a component, as a share of the mean variance of a feature within the clusters of k-means.

    Attributes
    ----------
    weights_ : ndarray of shape (k,)
        π, largest first.
    means_ : ndarray of shape (k, n_features)
        μ.
    loadings_ : ndarray of shape (k, n_features, n_components)
        W of every component, with orthogonal columns.
    noise_variances_ : ndarray of shape (k,)
        σ².
    labels_ : ndarray of shape (n_samples,)
        The component with the highest posterior for every row.
    log_likelihood_ : float
        Log-likelihood of all training rows.
    log_likelihoods_ : ndarray
        Log-likelihood after every step of the start that was kept.
    bic_ : float
        Bayesian information criterion, for comparing numbers of components and dimensions; smaller is better.
    n_iter_ : int
        Number of steps.
    eigenvalues_ : ndarray of shape (n_components,)
        Variance of the mixture along the axes of the embedding, noise included.
    residuals_ : ndarray of shape (n_components,)
        Residuals of the eigenpairs, relative to the norm of the matrix.
    gap_ : float
        Relative distance between the last eigenvalue used and the next one. Below 1e-8 the subspace is not unique.
    problem_ : TraceProblem
        The trace problem behind the embedding.

    Examples
    --------
    Two sheets in five dimensions, which cross:

    >>> import numpy as np
    >>> from eigenspan import MixturePPCA
    >>> rng = np.random.default_rng(0)
    >>> sheets = [rng.standard_normal((200, 2)) @ rng.standard_normal((2, 5)) for _ in range(2)]
    >>> X = np.vstack(sheets) + 0.05 * rng.standard_normal((400, 5))
    >>> mixture = MixturePPCA(2, n_clusters=2).fit(X)
    >>> apart = mixture.labels_[:200].mean() - mixture.labels_[200:].mean()
    >>> bool(abs(apart) > 0.9)
    True
    >>> mixture.predict_proba(X[:1]).shape
    (1, 2)

    References
    ----------
    Tipping & Bishop (1999), Mixtures of probabilistic principal component analysers.
    [S3] Burges (2010), Dimension reduction: a guided tour.
    """

    n_components: Components = parameter(default=2, kw_only=False)
    n_clusters: Count = 2
    n_init: Count = 3
    tol: Tolerance = 1e-4
    max_iter: Count = 200
    noise_floor: Tolerance = 1e-6
    random_state: Seed = 0

    weights_: Array = attribute()
    means_: Array = attribute()
    loadings_: Array = attribute()
    noise_variances_: Array = attribute()
    labels_: Index = attribute()
    log_likelihood_: float = attribute()
    log_likelihoods_: Array = attribute()
    bic_: float = attribute()
    n_iter_: int = attribute()
    eigenvalues_: Array = attribute()
    residuals_: Array = attribute()
    gap_: float = attribute()
    problem_: TraceProblem = attribute()

    _input: ClassVar[Input] = Input()

    def _fit(self, sample: Sample[Points, None]) -> Fitted:
        X, (n, D) = sample.x.values, sample.x.values.shape
        self._refuse(sample)
        require(40.0 * n * D, f"Weighted copies of {n}×{D} data", "Fit to some of the rows, and predict the others.")
        centre = X.mean(axis=0)
        Z = X - centre
        unit = float(np.sqrt(np.mean(Z**2)))
        course = self._best(Z / unit)
        self._report(course, n)
        order = np.argsort(-course.mixture.weights, kind="stable")
        mixture = course.mixture.taking(order).moved(centre, unit)
        trace = np.array(course.log_likelihoods) - n * D * np.log(unit)
        return self._shown(mixture, X).having(
            weights_=mixture.weights,
            means_=mixture.means,
            loadings_=mixture.loadings,
            noise_variances_=mixture.noises,
            labels_=mixture.log_densities(X).argmax(axis=1),
            log_likelihood_=float(trace[-1]),
            log_likelihoods_=trace,
            bic_=self._bic(float(trace[-1]), n, mixture),
            n_iter_=trace.size,
        )

    def _refuse(self, sample: Sample[Points, None]) -> None:
        n, D = sample.x.values.shape
        sample.x.refuse_one_place()
        if self.n_clusters > n:
            raise InputError(
                f"n_clusters={self.n_clusters} exceeds n_samples={n}: a component needs at least one row. Use fewer components."
            )
        if self.n_components > D:
            raise DimensionError(
                f"n_components={self.n_components} exceeds {D}, the number of n_features={D}. Use n_components <= {D}."
            )

    def _best(self, X: Array) -> MixtureCourse:
        """Return the result of highest likelihood among several starts."""
        rng = np.random.default_rng(seed_of(self.random_state))
        best: MixtureCourse | None = None
        for _ in range(self.n_init):
            with stage("start"):
                R = start(X, self.n_clusters, int(rng.integers(2**31 - 1)))
            with stage("expectation and maximisation"):
                floor = self.noise_floor * spread_within(X, R)
                course = run_em(X, R, min(self.n_components, X.shape[1] - 1), floor, self.tol, self.max_iter, rng)
            if best is None or course.log_likelihoods[-1] > best.log_likelihoods[-1]:
                best = course
        assert best is not None
        note(iterations=len(best.log_likelihoods))
        return best

    def _report(self, course: MixtureCourse, n: int) -> None:
        trace, mixture = course.log_likelihoods, course.mixture
        if course.restarted or course.dropped:
            warn(
                f"Components ran empty: {course.restarted} were restarted at the rows of lowest likelihood, and {course.dropped} of "
                f"n_clusters={self.n_clusters} dropped, which leaves {mixture.weights.size}. Use fewer components.",
                DegenerateWarning,
            )
        low = np.flatnonzero(mixture.noises <= course.floor)
        if low.size:
            rows = ", ".join(f"{count:.3g}" for count in n * mixture.weights[low])
            warn(
                f"{low.size} of {mixture.weights.size} components explain their rows ({rows} of {n}) but for "
                f"noise_floor={self.noise_floor:g} of the variance: they sit on too few rows for their dimensions, or on a plane without "
                "noise, and their likelihood is that of the floor. Use fewer components or dimensions, or a larger noise_floor.",
                DegenerateWarning,
            )
        if not course.converged:
            gain = (trace[-1] - trace[-2]) / n if len(trace) > 1 else np.inf
            warn(
                f"After max_iter={self.max_iter} steps the log-likelihood still gains {gain:.1e} for each row and step (wanted "
                f"tol={self.tol:g}): components may still move. Use a larger max_iter= or tol=.",
                ConvergenceWarning,
            )

    def _shown(self, mixture: Mixture, X: Array) -> Fitted:
        """Project points without noise onto the axes of largest variance of the whole mixture."""
        share = np.sqrt(mixture.weights)
        mean = mixture.weights @ mixture.means
        factors = [share[:, None] * (mixture.means - mean), *np.swapaxes(share[:, None, None] * mixture.loadings, 1, 2)]
        U, s, _ = dense.principal_axes(np.vstack(factors).T)
        if s.size < self.n_components:
            raise DimensionError(
                f"n_components={self.n_components}, but the {mixture.weights.size} components of the mixture of n_features={mean.size} "
                f"vary along {s.size} axes only, means and planes together: all else is noise, and there is no more to show. "
                + (f"Use n_components <= {s.size}." if s.size else "Use more components.")
            )
        form = Form(s.size, dense=np.diag(s**2 + mixture.weights @ mixture.noises), psd=True)
        posed = Posed(TraceProblem(form, None, "max"), Features(mixture, mixture(X), U, mean))
        return Axes(self.n_components, random_state=self.random_state).fit(posed)

    def _bic(self, log_likelihood: float, n: int, mixture: Mixture) -> float:
        k, d, D = mixture.axes.shape
        return float((k * (D + 1 + D * d - d * (d - 1) / 2) + k - 1) * np.log(n) - 2 * log_likelihood)

    # ------------------------------------------------------------------ the mixture
    def _read(self, X: TableLike) -> tuple[Mixture, Array]:
        check_is_fitted(self)
        return self.map_.rows, read_new(self, X)[1]

    def predict_proba(self, X: TableLike) -> Array:
        """Return the posterior probability of each component for each point.

        Parameters
        ----------
        X : array-like of shape (n_points, n_features)

        Returns
        -------
        ndarray of shape (n_points, k)
        """
        mixture, rows = self._read(X)
        return mixture.responsibilities(rows)[0]

    def predict(self, X: TableLike) -> Index:
        """Return the most probable component of each point.

        Parameters
        ----------
        X : array-like of shape (n_points, n_features)

        Returns
        -------
        ndarray of shape (n_points,)
        """
        mixture, rows = self._read(X)
        return mixture.log_densities(rows).argmax(axis=1)

    def fit_predict(self, X: TableLike, y: object = None) -> Index:
        """Fit and return the component of every training point."""
        return self.fit(X).labels_

    def score_samples(self, X: TableLike) -> Array:
        """Return the log-likelihood of each point.

        Parameters
        ----------
        X : array-like of shape (n_points, n_features)

        Returns
        -------
        ndarray of shape (n_points,)
        """
        mixture, rows = self._read(X)
        return mixture.responsibilities(rows)[1]

    def score(self, X: TableLike, y: object = None) -> float:
        """Return the mean log-likelihood of the points."""
        return float(self.score_samples(X).mean())

    def bic(self, X: TableLike) -> float:
        """Return the Bayesian information criterion of these points; smaller is better."""
        each = self.score_samples(X)
        return self._bic(float(each.sum()), each.size, self.map_.rows)

    def denoise(self, X: TableLike) -> Array:
        """Return the expected points without noise: points on the planes, weighted by responsibility.

        Parameters
        ----------
        X : array-like of shape (n_points, n_features)

        Returns
        -------
        ndarray of shape (n_points, n_features)
        """
        mixture, rows = self._read(X)
        return in_precision_of(rows, mixture(rows))

    def latent(self, X: TableLike) -> Array:
        """Return the posterior means of the latent variables, in the axes of each component.

        Parameters
        ----------
        X : array-like of shape (n_points, n_features)

        Returns
        -------
        ndarray of shape (n_points, k, n_components)
        """
        mixture, rows = self._read(X)
        each = zip(mixture.means, mixture.scores, strict=True)
        return np.stack([(rows - mean) @ T for mean, T in each], axis=1)

    def sample(self, n_samples: int = 1, *, random_state: RandomState = 0) -> tuple[Array, Index]:
        """Draw points from the mixture.

        Parameters
        ----------
        n_samples : int, default=1
        random_state : int, RandomState or None, default=0
            The same seed draws the same points.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
        labels : ndarray of shape (n_samples,)
            The component that each was drawn from.
        """
        check_is_fitted(self)
        mixture, rng = self.map_.rows, check_random_state(random_state)
        labels = rng.choice(mixture.weights.size, n_samples, p=mixture.weights / mixture.weights.sum())
        return mixture.drawn(labels, rng), labels
