"""Variance: PCA, ``max Tr(V'X'HXV)  s.t.  V'V = I``, from the rows or from their moments."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..._compat import Interval, RealNotInt
from ..._diagnostics import stage
from ..._parameters import Count, attribute, parameter
from ..._types import Array, Matrix, TableLike
from ...data import Input, Points, Sample, Sufficient, read_new
from ...data.rows.moments import Moments, Sums
from ...data.rows.storage import held
from ...data.rows.triangular import ROUNDING
from ...data.rows.wide_scatter import SpreadScatter, scatter_operator
from ...errors import DimensionError, InputError
from ...numerics.eigen import dense
from ...numerics.eigen.centred import Centred, column_means
from ...problem import Features, Fitted, Form, Posed, Raw, TraceProblem, Unit, Whitened
from ...problem.dimension_rules import likeliest_number
from ...problem.row_space import rounding_of, warn_of_digits
from ..base.contract import Components, SpectralReducer, axes, to_inputs
from ..base.streaming import Streaming, TooFewRowsError, plain_partial_fit
from ..base.table import known_as, method
from .gaussian import described, log_density, most_evident

#: Variance along an axis, relative to the largest, that counts as zero: 1e-10 for standard deviations.
_NONE = 1e-20
#: A share of the variance.
_Part = Annotated[float, Interval(RealNotInt, 0, 1, closed="neither")]


def _keeps_digits(estimator: PrincipalAxes, sums: Sums) -> bool:
    # For no more rows than columns the factor has exactly the dimensions that the rows span.
    return sums.n > sums.width and estimator._products_suffice(sums.everyone)[0]


class PrincipalAxes(SpectralReducer):
    """Methods whose axes are those of largest variance, found from the rows or from their moments alone.

    They are Gaussian models too: variances along the axes, and the same noise in all other directions (Tipping & Bishop, 1999).

    Parameters
    ----------
    reduce
        Number of principal axes of X to compute first and to choose from: for sparse X with very many columns. The variance
        along all other axes still counts as unexplained. None computes all that are needed.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Axes in the input space.
    mean_ : ndarray of shape (n_features,)
        The point of the input space that is mapped to the origin of the embedding.
    """

    _input: ClassVar[Input] = Input(sparse=True, linear=True)
    _sums_suffice: ClassVar[Sufficient | None] = {"reduce": None}
    kernel = None  # not a parameter: KernelPCA is the method with a kernel
    landmarks = None
    center = True  # a parameter of PCA only: the Gaussian models have a mean
    _streaming: ClassVar[Streaming] = Streaming(keeps_digits=_keeps_digits)

    reduce: Count | None = None

    components_: Array = attribute()
    mean_: Array = attribute()
    explained_variance_: Array = attribute()
    noise_variance_: float = attribute()

    partial_fit = plain_partial_fit
    inverse_transform = to_inputs

    def _fit(self, sample: Sample[Points, None]) -> Fitted:
        X = sample.x.values
        if sample.past is not None:
            least = int(self.n_components) if isinstance(self.n_components, Integral) else 1
            return self._fit_moments(sample.past.everyone, None, at_least=min(least, sample.past.width))
        scatter = scatter_operator(X, self.center) if isinstance(self.n_components, Integral) else None
        if scatter is not None:
            return self._fit_products(scatter)
        if sample.x.one_pass:
            return self._fit_tall(X, single=X.dtype == np.float32 and isinstance(X, np.ndarray))
        C, n = Centred.of(X, column_means(X, self.center)), sample.n
        basis = self._few_axes(X, C)
        if basis is None and self.reduce is None and n > X.shape[1]:
            return self._fit_tall(X, single=False)
        if basis is None:
            basis = Features.linear(X, reduce=self.reduce, center=self.center, random_state=self.random_state)
        squares = Form(basis.dim, dense=np.diag(np.einsum("ij,ij->j", basis.Z, basis.Z)), psd=True)  # principal axes
        total = n * float(np.sum(C.spread() ** 2))
        return self._conclude(Posed(TraceProblem(squares, None, "max"), basis), n, X.shape[1], total)

    def _fit_tall(self, X: Matrix, single: bool) -> Fitted:
        """Fit more rows than columns from products of the columns, or from a triangular factor if these lose digits that matter."""
        with stage("moments"):
            # Single precision only for rows in memory: otherwise the result would depend on the chunks of the user.
            moments = Moments.of(X, single=single)
            suffice, number = self._products_suffice(moments)
            if single and not suffice:
                moments = Moments.of(X)
                suffice, number = self._products_suffice(moments)
            if not suffice:
                moments = moments.factored(X)
        return self._fit_moments(moments, held(X), number)

    def _fit_products(self, scatter: SpreadScatter) -> Fitted:
        """Fit from products with the scatter, which is too large for a matrix: one pass over the rows for every block of axes."""
        n, D = scatter.rows.shape
        form = Form(D, pairs=((1.0, scatter),), psd=True)
        basis = Features(Raw(), None, None, scatter.origin, count=n)
        fitted = self._conclude(Posed(TraceProblem(form, None, "max"), basis), n, D, scatter.bound())
        values = fitted.attributes["eigenvalues_"]
        warn_of_digits(ROUNDING * values[0] / values[-1], float(np.sqrt(values[0] / values[-1])))
        return fitted

    def _about(self, moments: Moments) -> Moments:
        """Return the moments about the mean, or about the origin without `center`."""
        return moments if self.center else moments.about_origin()

    def _products_suffice(self, moments: Moments) -> tuple[bool, int | None]:
        """Return whether products of the rows give the axes to all digits that matter, and the number of axes if it is known."""
        about, d = self._about(moments), self.n_components
        number = None
        if isinstance(d, Integral):
            number = int(d)
        elif isinstance(d, float) and (scatter := float(np.trace(about.scatter))) > 0:
            number = self._number(
                dense.eigenpairs(about.scatter, None, "max")[0], moments.n, len(about.scatter), scatter
            )
        return about.leads(len(about.scatter) if number is None else number), number

    def _fit_moments(self, moments: Moments, X: Matrix | None, number: int | None = None, at_least: int = 0) -> Fitted:
        """Fit from moments; the rows X are optional and only give the embedding."""
        about = self._about(moments)
        if about.root is None:
            basis = Features(Raw(), X, None, about.mean)
            squares = basis.compress(about.scatter)
        else:
            wanted = int(self.n_components) if isinstance(self.n_components, Integral) else None
            basis = Features.of_moments(about, X, full=False, wanted=wanted)
            squares = basis.total()
        if basis.dim < at_least:
            raise TooFewRowsError(moments.n)
        posed = Posed(TraceProblem(squares, None, "max"), basis, axes=number if about.root is None else None)
        fitted = self._conclude(posed, moments.n, moments.means.shape[1], float(np.trace(about.scatter)))
        return fitted.having(moments_=Sums.without_classes(moments), n_samples_seen_=moments.n)

    def _few_axes(self, X: Matrix, C: Centred) -> Features | None:
        """Return the wanted axes and the next, for the eigenvalue gap; None if these few do not suffice."""
        k = self.n_components
        if not isinstance(k, Integral) or self.reduce is not None or self.solver != "auto" or k >= min(X.shape):
            return None
        r = min(int(k) + 1, *X.shape)
        basis = Features.principal(X, C, r, spare=1, random_state=self.random_state)
        sizes = np.einsum("ij,ij->j", basis.Z, basis.Z)
        # If a variance may be rounding, the rank decides, which also counts features in tiny units.
        least = max(1e-9 * sizes.max(initial=0.0), 4 * rounding_of(X.shape[0], np.abs(C.origin)) ** 2)
        return basis if sizes.size >= k and sizes[k - 1] > least else None

    def _conclude(self, posed: Posed, n: int, D: int, scatter: float) -> Fitted:
        """Solve for the axes and describe them, given the numbers of rows and features and the total scatter."""
        d = self.n_components if posed.axes is None else posed.axes
        if not isinstance(d, Integral):
            d = self._number(dense.eigenpairs(posed.problem.A.dense, None, "max")[0], n, D, scatter)
        fitted = axes(self).fit(replace(posed, axes=int(d), scale=self._scale(n)))
        values = fitted.attributes["eigenvalues_"]
        return fitted.having(n_components_=int(d), **self._description(values, n, D, scatter))

    def _number(self, values: Array, n: int, D: int, scatter: float) -> int:
        """Return the number of axes if it is not given, from the eigenvalues of the scatter and its trace."""
        raise NotImplementedError

    def _scale(self, n: int) -> Unit | Whitened:
        """Return the scale of the axes."""
        return Unit()

    def _description(self, values: Array, n: int, D: int, scatter: float) -> dict[str, Any]:
        """Return the attributes of the Gaussian model."""
        return described(values, n, D, scatter)

    # ------------------------------------------------------------------ Gaussian model
    def _axes_and_variances(self) -> tuple[Array, Array, float]:
        """Return orthonormal axes as rows, the variances along them, and the variance in all other directions."""
        check_is_fitted(self)
        return (
            self.components_ / np.linalg.norm(self.components_, axis=1, keepdims=True),
            self.explained_variance_,
            self.noise_variance_,
        )

    def get_covariance(self) -> Array:
        """Return the covariance of the model: the sample's along the axes, ``noise_variance_`` in all other directions.

        Returns
        -------
        ndarray of shape (n_features, n_features)
        """
        V, variances, noise = self._axes_and_variances()
        C = (V.T * (variances - noise)) @ V
        C.flat[:: len(C) + 1] += noise
        return C

    def get_precision(self) -> Array:
        """Return the inverse of the covariance.

        Returns
        -------
        ndarray of shape (n_features, n_features)
        """
        V, variances, noise = self._invertible()
        rest = 1.0 / noise if noise else 0.0
        P = (V.T * (1.0 / variances - rest)) @ V
        P.flat[:: len(P) + 1] += rest
        return P

    def _invertible(self) -> tuple[Array, Array, float]:
        """Return axes and variances; raise if the covariance is singular."""
        V, variances, noise = self._axes_and_variances()
        if noise == 0.0 and len(V) < V.shape[1]:
            raise DimensionError(
                f"The {len(V)} axes hold all variance of the {V.shape[1]} features, and nothing is left as noise in the other "
                f"{V.shape[1] - len(V)} directions: the covariance has no inverse there, and points no density. Use fewer components."
            )
        return V, variances, noise

    def score_samples(self, X: TableLike) -> Array:
        """Return the log-likelihood of each point under the model.

        Parameters
        ----------
        X : array-like of shape (n_points, n_features)

        Returns
        -------
        ndarray of shape (n_points,)
        """
        self._invertible()
        return self._log_density(read_new(self, X)[0])

    def _log_density(self, X: Matrix) -> Array:
        """Return the log-likelihood of validated rows."""
        return log_density(X, self.mean_, *self._axes_and_variances())

    def score(self, X: TableLike, y: object = None) -> float:
        """Return the mean log-likelihood of the points, which a grid search over `n_components` maximises."""
        return float(self.score_samples(X).mean())


@method("variance", "max centring", "projection", "n D min(n, D)", "S0 eq. 22")
@known_as(
    "Principal component analysis",
    "Karhunen–Loève transform; Hotelling transform; proper orthogonal decomposition; singular value decomposition; SVD; "
    "truncated SVD; empirical orthogonal functions; directions of maximal variance; subspace analysis; eigenfaces",
    {
        "center=False": "uncentred PCA; latent semantic indexing; LSI; latent semantic analysis",
        "whiten=True": "whitening; sphering; PCA whitening",
        "n_components=0.95": "share of the variance; explained variance",
    },
)
class PCA(PrincipalAxes):
    """Principal component analysis.

    .. math:: \\max_V \\operatorname{Tr}(V^T X^T H X V) \\quad \\text{s.t. } V^T V = I

    with H the centring matrix [S0, eq. 22]. The linear map that keeps the most variance; the first thing to try on any data,
    and the yardstick for everything else.

    Cost: one pass over X, O(nD²) time and O(D²) memory beyond the data for D < n, and by the products of the
    rows, O(n²D), for D ≥ n. A few axes are found there by Lanczos iteration on products with X, which is centred implicitly and
    stays sparse. float32 is multiplied as it is and summed in double precision while variances are right to about 1e-3, and multiplied in
    double precision otherwise. Where products of the rows would lose digits of the axes asked for, the rows are read again and factorised.

    X may be a `numpy.memmap`: it is read once, in blocks, and the fit then holds no ``embedding_``; ``transform`` and
    ``fit_transform`` return one, reading in blocks too. `partial_fit` takes the rows in parts.

    With ``center=False`` the rows are taken as they are, about the origin: the truncated singular value decomposition of X, which of
    a table of word counts is latent semantic analysis. Variances are then mean squares, and there is no Gaussian model behind it:
    ``score``, ``get_covariance``, "auto" and "mle" are refused.

    Parameters
    ----------
    n_components
        Number of axes; or the share of the variance that they must explain; or ``"auto"``, the number that minimises the
        Bayesian information criterion, as in `PPCA`; or ``"mle"``, the number of largest evidence (Minka; it needs at least
        as many rows as features); or None for all axes with any variance. Both criteria assume a Gaussian model with equal
        noise in all directions. Noise that differs between features counts as axes: standardise the features by their
        noise, or see ``intrinsic_dimension(X, "parallel")``.
    whiten
        Scale every axis to unit variance.
    center
        Subtract the mean of the rows. False uses the origin instead.

    Attributes
    ----------
    explained_variance_ : ndarray of shape (n_components,)
        Sample variance along each axis; the mean square if `center` is False.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Share of the total variance along each axis.
    singular_values_ : ndarray of shape (n_components,)
        Singular values of the data, centred unless `center` is False: roots of ``eigenvalues_``.
    noise_variance_ : float
        Mean variance of the min(n, D) − d axes left out: the noise of the Gaussian model behind ``score`` and
        ``get_covariance``. Absent if `center` is False.
    n_components_ : int
        Number of axes kept.
    n_samples_ : int
        Number of rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from eigenspan import PCA
    >>> X, _ = load_iris(return_X_y=True)
    >>> pca = PCA(2).fit(X)
    >>> pca.explained_variance_ratio_.round(3)
    array([0.925, 0.053])
    >>> pca.transform(X[:3]).shape
    (3, 2)
    >>> parts = PCA(2).partial_fit(X[:70]).partial_fit(X[70:])
    >>> parts.explained_variance_ratio_.round(3)
    array([0.925, 0.053])

    Words that go together, in a table of counts:

    >>> from scipy.sparse import csr_array
    >>> counts = csr_array([[3, 2, 0, 0], [2, 1, 0, 0], [0, 0, 2, 2], [0, 0, 1, 2], [4, 3, 0, 0]])
    >>> topics = PCA(2, center=False).fit(counts)
    >>> topics.singular_values_.round(2)
    array([6.55, 3.56])
    >>> topics.components_.round(1) + 0.0
    array([[0.8, 0.6, 0. , 0. ],
           [0. , 0. , 0.6, 0.8]])

    References
    ----------
    [S0] §4.1; Tipping & Bishop (1999), Probabilistic principal component analysis, for ``score``; Minka (2000), Automatic choice of
    dimensionality for PCA; Deerwester et al. (1990), Indexing by latent semantic analysis, for rows about the origin.
    """

    n_components: Components | _Part | Literal["mle", "auto"] | None = parameter(default=2, kw_only=False)
    whiten: bool = False
    center: bool = True

    explained_variance_: Array = attribute()
    explained_variance_ratio_: Array = attribute()
    singular_values_: Array = attribute()
    noise_variance_: float = attribute()
    n_components_: int = attribute()
    n_samples_: int = attribute()

    def _scale(self, n: int) -> Unit | Whitened:
        return Whitened(n if self.center else n + 1) if self.whiten else Unit()

    def _description(self, values: Array, n: int, D: int, scatter: float) -> dict[str, Any]:
        if self.center:
            return described(values, n, D, scatter)
        found = described(values, n, D, scatter, divisor=n)
        del found["noise_variance_"]
        return found

    def _axes_and_variances(self) -> tuple[Array, Array, float]:
        self._refuse_origin("a covariance and a likelihood")
        return super()._axes_and_variances()

    def _refuse_origin(self, what: str) -> None:
        if not self.center:
            raise InputError(
                f"center=False takes the rows about the origin, and {what} belong to a Gaussian model about their mean. Use center=True, "
                "or give n_components as a number or as a share of the squares."
            )

    def _number(self, values: Array, n: int, D: int, scatter: float) -> int:
        wanted = self.n_components
        if wanted in ("auto", "mle"):
            self._refuse_origin(f'n_components="{wanted}"')
        if wanted == "auto":
            return likeliest_number(values, n, D, scatter)
        if wanted == "mle":
            return most_evident(values, n, D, '"mle"')
        if values.size == 0:
            return 1  # all rows coincide: the solver raises later
        if wanted is None:
            return max(1, int(np.sum(values > _NONE * values[0])))
        shares = np.cumsum(values) / scatter
        if shares[-1] < float(wanted) - 1e-9:
            raise DimensionError(
                f"n_components={wanted} asks for that share of the variance, but the {values.size} axes kept by reduce= hold only "
                f"{shares[-1]:.3g} of it. Use a larger reduce=."
            )
        return min(values.size, int(np.searchsorted(shares, float(wanted)) + 1))
