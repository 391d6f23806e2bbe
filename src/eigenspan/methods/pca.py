"""Variance: PCA, ``max Tr(V'X'HXV)  s.t.  V'V = I``, from the data or from its moments alone."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if

from .._compat import Interval, RealNotInt, StrOptions, fit_context
from .._diagnostics import stage
from ..core import Features, Map, Posed, Raw, TraceProblem, Unit, Whitened, pose
from ..core.basis import column_means
from ..core.moments import Moments, on_disk
from ..errors import DimensionError
from ..forms import centring
from ..solvers import dense
from ..solvers.centred import Centred
from .base import SEED, SOLVER, FeatureReducer, from_moments
from .docs import documented
from .gaussian import PrincipalGaussian, minka_dimension

Array = NDArray[np.float64]


@documented
class PCA(PrincipalGaussian, FeatureReducer):
    """Principal component analysis.

    .. math:: \\max_V \\operatorname{Tr}(V^T X^T H X V) \\quad \\text{s.t. } V^T V = I

    with H the centring matrix [S0, eq. 22]. The linear map that keeps the most variance; the first thing to try on any data,
    and the yardstick for everything else.

    Cost: one pass over X, O(nD²) time and O(D²) memory beyond the data for D < n, and by the products of the
    rows, O(n²D), for D ≥ n. A few axes of sparse X are found by Lanczos iteration on products with X, which stays sparse and is centred
    implicitly. float32 is multiplied as it is and summed in double precision: axes and variances are then right to about 1e-6 of
    the largest variance.

    X may be a `numpy.memmap`: it is read once, in blocks, and the fit then holds no ``embedding_``; ``transform`` and
    ``fit_transform`` return one, reading in blocks too. `partial_fit` takes the rows in parts.

    Parameters
    ----------
    n_components : int, float in (0, 1), "mle" or None, default=2
        Number of axes, the share of the variance they must explain, the number of largest evidence under a Gaussian model (Minka; at
        least as many rows as features), or None for all axes with any variance.
    whiten : bool, default=False
        Scale every axis to unit variance.
    $reduce
    $solver
    $random_state

    Attributes
    ----------
    $linear_attributes
    explained_variance_ : ndarray of shape (n_components,)
        Sample variance along each axis.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Its share of the total variance.
    singular_values_ : ndarray of shape (n_components,)
        Of the centred data: roots of ``eigenvalues_``.
    noise_variance_ : float
        Mean variance of the min(n, D) − d axes left out: the noise of the Gaussian model behind ``score`` and ``get_covariance``.
    n_components_ : int
        Number of axes kept.
    n_samples_ : int
        Rows.
    n_samples_seen_ : int
        Rows so far, where `partial_fit` can add more (dense X with more rows than features).
    $spectral_attributes

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

    References
    ----------
    [S0] §4.1; Tipping & Bishop (1999), Probabilistic principal component analysis, for ``score``; Minka (2000), Automatic choice of
    dimensionality for PCA.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="neither"),
            StrOptions({"mle"}),
            None,
        ],
        "whiten": ["boolean"],
        "reduce": FeatureReducer._parameter_constraints["reduce"],
        "solver": SOLVER,
        "random_state": SEED,
    }
    kernel = None  # a class fact, not a parameter: KernelPCA is the kernel form
    landmarks = None

    def __init__(
        self,
        n_components: int | float | str | None = 2,
        *,
        whiten: bool = False,
        reduce: int | None = None,
        solver: Any = "auto",
        random_state: Any = 0,
    ) -> None:
        self.n_components = n_components
        self.whiten = whiten
        self.reduce = reduce
        self.solver = solver
        self.random_state = random_state

    def _needs_rows(self) -> str | None:
        return None if self.reduce is None else "reduce="

    def _pose(self, X: Any, y: Any) -> Posed:
        n = X.shape[0]
        if self._reads_moments(X):
            with stage("moments"):
                moments = Moments.of(X, single=X.dtype == np.float32)
                sure = self._is_sure(moments)
                if moments.single and not sure:
                    moments = Moments.of(X)
                    sure = self._is_sure(moments)
            self._moments = moments
            return self._pose_moments(moments, None if on_disk(X) else X, sure)
        scatter = n * float(np.sum(Centred.of(X, column_means(X)).spread() ** 2))
        posed = pose(self._few_axes(X) or self._basis(X), maximise=centring(n), unit="projection", scale=self._scale(n))
        return self._posed(posed, n, scatter)

    def _few_axes(self, X: Any) -> Features | None:
        """The wanted axes and the next, which tells the gap; None where more must be known of the data than that."""
        k = self.n_components
        if not isinstance(k, Integral) or self.reduce is not None or self.solver != "auto" or k >= min(X.shape):
            return None
        basis = Features.principal(X, min(int(k) + 1, *X.shape), random_state=self.random_state)
        sizes = np.einsum("ij,ij->j", basis.Z, basis.Z)
        # a variance that may be rounding: the rank decides, and looks at features in tiny units too
        return basis if sizes.size >= k and sizes[k - 1] > 1e-10 * sizes[0] else None

    def _is_sure(self, moments: Moments) -> bool:
        """As many axes as wanted are there beyond doubt: the rank of the features does not matter."""
        return isinstance(self.n_components, Integral) and moments.spans(int(self.n_components))

    def _pose_moments(self, moments: Moments, X: Any, sure: bool) -> Posed:
        basis = Features(Raw(), X, None, moments.mean)
        if not sure:
            basis = Features.of_moments(moments, X)
        problem = TraceProblem(basis.compress(moments.scatter), None, "max")
        return self._posed(Posed(problem, basis, self._scale(moments.n)), moments.n, float(np.trace(moments.scatter)))

    def _scale(self, n: int) -> Any:
        return Whitened(n) if self.whiten else Unit()

    def _posed(self, posed: Posed, n: int, scatter: float) -> Posed:
        self._sizes = n, scatter
        self._axes = _axes_for(self.n_components, posed.problem.A.dense, scatter, (n, self.n_features_in_))
        return posed

    def _n_axes(self) -> int:
        return self._axes

    def _solve(self, posed: Posed) -> tuple[Any, Map]:
        Y, map_ = super()._solve(posed)
        n, scatter = self._sizes
        self.explained_variance_ = self.eigenvalues_ / (n - 1)
        self.explained_variance_ratio_ = self.eigenvalues_ / scatter
        self.n_components_ = self._axes
        self._describe(n, scatter)
        if "_moments" in vars(self):
            self.n_samples_seen_ = n
        del self._sizes, self._axes
        return Y, map_

    @available_if(from_moments)
    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any = None) -> Any:
        """Add rows to those seen before, by ``fit`` too; the result is that of one ``fit`` to all of them, up to rounding.

        The axes are solved for anew at every call, O(D³) beside the O(mD²) of m rows: pass D rows or more at a time where you
        can. Until the rows span `n_components` dimensions there is nothing to solve, and ``transform`` says "not fitted".

        Parameters
        ----------
        X : array-like or sparse matrix of shape (m, n_features)
            Dense or sparse; m may be one.
        y : None
            Ignored.

        Returns
        -------
        self
        """
        moments = Moments.of(self._add_rows(X))
        self._moments = self._moments + moments if "n_samples_seen_" in vars(self) else moments
        self.n_samples_seen_ = self._moments.n
        wanted = self.n_components if isinstance(self.n_components, Integral) else 1
        posed = None
        if self.n_samples_seen_ > (self._moments.means.shape[1] if self.n_components == "mle" else 1):
            posed = self._pose_moments(self._moments, None, self._is_sure(self._moments))
        if posed is None or posed.problem.A.n < min(wanted, self._moments.means.shape[1]):
            return self
        return self._solve_moments(posed)


def _axes_for(wanted: Any, C: Array, scatter: float, shape: tuple[int, int]) -> int:
    if isinstance(wanted, Integral):
        return int(wanted)
    values = dense.eigenpairs(C, None, "max")[0]
    if wanted == "mle":
        n, D = shape
        if n < D:
            raise DimensionError(
                f'n_components="mle" weighs the evidence of every number of axes, which takes at least as many rows as features; X has '
                f"{n} rows and {D} features. Give a number of axes, or the share of variance they must explain."
            )
        return minka_dimension(np.pad(values, (0, D - values.size)), n)
    if values.size == 0:
        return 1  # all rows coincide: one axis is already too many, and the solver says so
    if wanted is None:
        return max(1, int(np.sum(values > 1e-12 * values[0])))
    shares = np.cumsum(values) / scatter
    if shares[-1] < float(wanted) - 1e-9:
        raise DimensionError(
            f"n_components={wanted} asks for that share of the variance, but the {values.size} axes kept by reduce= hold only "
            f"{shares[-1]:.3g} of it. Use a larger reduce=."
        )
    return min(values.size, int(np.searchsorted(shares, float(wanted)) + 1))
