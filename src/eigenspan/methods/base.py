"""The estimator contract.

`Reducer` is the outer contract, ``_fit(X, y) -> (embedding, map)``, and says nothing about eigenvalues.
`SpectralReducer` is the inner one, ``_pose(X, y) -> Posed``: one trace problem, solved, scaled and mapped the same way for
every method.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from .._compat import HasMethods, Interval, StrOptions, fit_context
from .._diagnostics import collect
from .._resources import human_bytes
from ..core import Features, Posed, sign_of, solve
from ..errors import InputError
from ..solvers.select import NAMES as SOLVERS

Array = NDArray[np.float64]

#: Parameter constraints that several families share.
COMPONENTS = [Interval(Integral, 1, None, closed="left")]
SOLVER = [StrOptions(set(SOLVERS)), HasMethods("pairs")]
SEED = ["random_state"]
JOBS = [Integral, None]
NEIGHBOURS = [Interval(Integral, 1, None, closed="left"), None]
RIDGE = [Interval(Real, 0, None, closed="left"), None]


class Reducer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Outer contract of every method: ``_fit(X, y) -> (embedding, map)``.

    Fitted attributes: ``embedding_`` (n, d), ``map_`` (a picklable function of new points), ``diagnostics_`` (seconds per stage,
    solver, graph components, memory).
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {}
    _accepts_sparse: ClassVar[bool] = False

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Any:
        """Fit the embedding and its map.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), optional
            Class labels where the method uses them (−1, NaN or None for unlabelled points); ignored elsewhere.

        Returns
        -------
        self
        """
        X = validate_data(
            self,
            X,
            dtype=[np.float64, np.float32],
            accept_sparse="csr" if self._accepts_sparse else False,
            ensure_min_samples=2,
        )
        with collect() as record:
            embedding, self.map_ = self._fit(_double(X), y)
        record["embedding_memory"] = human_bytes(embedding.nbytes)
        self.diagnostics_ = record
        self.embedding_ = embedding.astype(X.dtype, copy=False)
        self._n_features_out = embedding.shape[1]
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit and return the embedding of the training points."""
        return self.fit(X, y).embedding_.copy()

    def transform(self, X: Any) -> Any:
        """Embed new points.

        Parameters
        ----------
        X : array-like of shape (n_points, n_features)

        Returns
        -------
        ndarray of shape (n_points, n_components)
        """
        check_is_fitted(self)
        X = validate_data(
            self, X, dtype=[np.float64, np.float32], accept_sparse="csr" if self._accepts_sparse else False, reset=False
        )
        return self.map_(_double(X)).astype(X.dtype, copy=False)

    def _fit(self, X: Any, y: Any) -> tuple[Array, Any]:
        raise NotImplementedError

    def _pairwise(self) -> bool:
        """X holds distances or kernel values instead of coordinates."""
        return any(
            isinstance(getattr(self, name, None), str) and getattr(self, name) == "precomputed"
            for name in ("kernel", "metric", "graph")
        )

    def _needs_labels(self) -> bool:
        return False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._accepts_sparse
        tags.input_tags.pairwise = self._pairwise()
        tags.target_tags.required = self._needs_labels()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _double(X: Any) -> Any:
    return X.astype(np.float64) if X.dtype != np.float64 else X


class SpectralReducer(Reducer):
    """Inner contract: ``_pose(X, y) -> Posed``. Adds ``eigenvalues_``, ``residuals_``, ``gap_`` and ``problem_``."""

    def _fit(self, X: Any, y: Any) -> tuple[Array, Any]:
        return self._solve(self._pose(X, y))

    def _pose(self, X: Any, y: Any) -> Posed:
        raise NotImplementedError

    def _n_axes(self) -> int:
        return self.n_components

    def _solve(self, posed: Posed) -> tuple[Array, Any]:
        spectrum = solve(posed.problem, self._n_axes() + posed.skip, solver=self.solver, random_state=self.random_state)
        spectrum = spectrum.without_first(posed.skip)
        V = spectrum.vectors * posed.scale(spectrum)
        Y = posed.basis.embed(V)
        sign = sign_of(Y)
        self.eigenvalues_, self.residuals_, self.gap_ = spectrum.values, spectrum.residuals, spectrum.gap
        self.problem_ = posed.problem
        return Y * sign, posed.basis.map(V * sign, spectrum)


def _is_linear(estimator: Any) -> bool:
    if getattr(estimator, "kernel", None) is not None:
        raise AttributeError(
            f"{type(estimator).__name__} with a kernel has no axes in the input space: it has no inverse_transform."
        )
    return True


def check_embedded(Y: Any, d: int) -> Array:
    """Points of the embedding space as a finite array of width d."""
    Y = check_array(Y, dtype=[np.float64, np.float32], ensure_2d=False, input_name="Y")
    if Y.ndim != 2 or Y.shape[1] != d:
        raise InputError(f"Y must have shape (n_points, {d}); got {Y.shape}.")
    return Y


class FeatureReducer(SpectralReducer):
    """Methods whose map is linear in the features or, through ``kernel=``, in a kernel's feature space.

    Adds ``components_`` (d, D), ``mean_`` and ``inverse_transform`` when the features are the inputs themselves.
    """

    _accepts_sparse: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": COMPONENTS,
        "kernel": [str, callable, HasMethods("get_params"), None],
        "landmarks": [Interval(Integral, 1, None, closed="left"), "array-like", None],
        "reduce": [Interval(Integral, 1, None, closed="left"), None],
        "ridge": RIDGE,
        "solver": SOLVER,
        "random_state": SEED,
    }

    n_components: Any

    def __init__(
        self,
        n_components: int = 2,
        *,
        kernel: Any = None,
        landmarks: Any = None,
        reduce: int | None = None,
        ridge: float | None = None,
        solver: Any = "auto",
        random_state: Any = 0,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.landmarks = landmarks
        self.reduce = reduce
        self.ridge = ridge
        self.solver = solver
        self.random_state = random_state

    def _basis(self, X: Any) -> Features:
        if self.kernel is None:
            if self.landmarks is not None:
                raise InputError("landmarks= stand for the points of a kernel: give kernel= too, or leave it out.")
            return Features.linear(X, reduce=self.reduce, random_state=self.random_state)
        if self.reduce is not None:
            raise InputError(
                "reduce= keeps principal axes of the inputs and does not apply with kernel=: use landmarks= instead."
            )
        return Features.kernel(self.kernel, X, landmarks=self.landmarks, random_state=self.random_state)

    def _points(self, basis: Features, X: Any) -> Any:
        """Where graphs are built: the inputs, or the kernel's feature space."""
        return X if self.kernel is None else basis.Z

    def _solve(self, posed: Posed) -> tuple[Array, Any]:
        Y, map_ = super()._solve(posed)
        if self.kernel is None:
            self.components_, self.mean_ = map_.coef.T, map_.offset
        return Y, map_

    @available_if(_is_linear)
    def inverse_transform(self, Y: Any) -> Array:
        """Points of the input space whose embedding is Y, of least distance from ``mean_``.

        Parameters
        ----------
        Y : array-like of shape (n_points, n_components)

        Returns
        -------
        ndarray of shape (n_points, n_features)
        """
        check_is_fitted(self)
        Y = check_embedded(Y, self.components_.shape[0])
        return (Y @ np.linalg.pinv(self.components_).T + self.mean_).astype(Y.dtype, copy=False)
