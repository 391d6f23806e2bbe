"""The estimator contract.

`Reducer` is the outer contract, ``_fit(X, y) -> (embedding, map)``, and says nothing about eigenvalues.
`SpectralReducer` is the inner one, ``_pose(X, y) -> Posed``: one trace problem, solved, scaled and mapped the same way for
every method.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from .._compat import HasMethods, Interval, StrOptions, fit_context
from .._diagnostics import collect, note
from .._resources import explained, human_bytes, refuse_lazy, threads
from ..core import Features, Posed, Samples, Spectrum, UnitVariance, as_solved, sign_of, solve, warn_of_flat_axes
from ..core.moments import in_precision_of, is_tall, refuse_out_of_range
from ..core.spectrum import warn_if_localised
from ..errors import InputError
from ..graphs import Landmarks
from ..solvers.select import NAMES as SOLVERS

Array = NDArray[np.float64]

#: Parameter constraints that several families share.
COMPONENTS = [Interval(Integral, 1, None, closed="left")]
SOLVER = [StrOptions(set(SOLVERS)), HasMethods("pairs")]
SEED = ["random_state"]
JOBS = [Integral, None]
NEIGHBOURS = [Interval(Integral, 1, None, closed="left"), None]
RIDGE = [Interval(Real, 0, None, closed="left"), None]
SCALE = [StrOptions({"unit-variance"}), None]
LANDMARKS = [Interval(Integral, 1, None, closed="left"), "array-like", Landmarks, None]

#: What fits keep to themselves, besides the attributes that end in an underscore. Other private names are scikit-learn's.
_PRIVATE = {
    "_moments", "_n_features_out", "_most", "_rule", "_size", "_sizes", "_axes",
    "_training", "_links", "_width", "_distances", "_codes", "_groups", "_decision", "_collapsed",
}  # fmt: skip


class Reducer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Outer contract of every method: ``_fit(X, y) -> (embedding, map)``.

    Fitted attributes: ``embedding_`` (n, d), ``map_`` (a picklable function of new points), ``diagnostics_`` (seconds per stage,
    solver, graph components, memory).
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {}
    _accepts_sparse: ClassVar[bool] = False
    #: The map answers for training points from their embedding, which callers must not be able to write on.
    _looks_up_rows: ClassVar[bool] = True

    @explained
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Any:
        """Fit the embedding and its map.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), optional
            Class labels where the method uses them (NaN or None for unlabelled points, and −1 in the semi-supervised methods);
            ignored elsewhere.

        Returns
        -------
        self
        """
        before = dict(vars(self))
        self._forget()
        try:
            self._fit_anew(X, y)
        except BaseException:  # all or nothing: the estimator is what it was, fitted before or not
            self.__dict__ = before
            raise
        return self

    def _fit_anew(self, X: Any, y: Any) -> None:
        X = self._checked(X, reset=True, finite=not self._reads_moments(X), ensure_min_samples=2)
        if not (self._reads_moments(X) or self._pairwise()):
            refuse_out_of_range(X)
        with collect() as record, threads(getattr(self, "n_jobs", None)):
            embedding, self.map_ = self._fit(self._rows(X), y)
        self.diagnostics_ = record
        if embedding is not None:
            record["embedding_memory"] = human_bytes(embedding.nbytes)
            self.embedding_ = in_precision_of(X, embedding)
        self._n_features_out = self.map_.coef.shape[1] if embedding is None else embedding.shape[1]

    def _forget(self, *names: str) -> None:
        """Drop these attributes or, without names, all that a fit has left: the next, with other parameters, may not set the same."""
        for name in [name for name in vars(self) if name in names or not (names or _is_given(name))]:
            delattr(self, name)

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit and return the embedding of the training points.

        Linear and kernel maps return ``embedding_`` itself: copy it before writing on it, if ``embedding_`` is to stay. Other methods
        return a copy, for their map looks training points up in it.
        """
        self.fit(X, y)
        if "embedding_" not in vars(self):
            return self._placed(X)
        return self.embedding_.copy() if self._looks_up_rows else self.embedding_

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
        return self._placed(X)

    def _placed(self, X: Any) -> Any:
        X = self._checked(X, reset=False)
        with np.errstate(over="ignore", invalid="ignore"):  # new points may be anywhere
            Y = self.map_(self._rows(X))
        return in_precision_of(X, Y)

    def _checked(self, X: Any, *, reset: bool, finite: bool = True, **limits: Any) -> Any:
        refuse_lazy(X)
        with np.errstate(over="ignore", invalid="ignore"):  # scikit-learn sums X to look for what is not finite
            return validate_data(
                self,
                X,
                reset=reset,
                dtype=[np.float64, np.float32],
                accept_sparse="csr" if self._accepts_sparse else False,
                ensure_all_finite=finite,
                **limits,
            )

    def _reads_moments(self, X: Any) -> bool:
        """The fit sums over the rows of X in one pass and looks for NaN and infinity on the way."""
        return False

    def _rows(self, X: Any) -> Any:
        """The rows as the fit and the map take them."""
        return _double(X)

    def _fit(self, X: Any, y: Any) -> tuple[Any, Any]:
        """The embedding, or None where the rows are not kept in memory, and the map."""
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


def _is_given(name: str) -> bool:
    return not name.endswith("_") and name not in _PRIVATE


def _double(X: Any) -> Any:
    return X.astype(np.float64) if X.dtype != np.float64 else X


class SpectralReducer(Reducer):
    """Inner contract: ``_pose(X, y) -> Posed``. Adds ``eigenvalues_``, ``residuals_``, ``gap_`` and ``problem_``."""

    def _fit(self, X: Any, y: Any) -> tuple[Any, Any]:
        return self._solve(self._pose(X, y))

    def _pose(self, X: Any, y: Any) -> Posed:
        raise NotImplementedError

    def _n_axes(self) -> int:
        return self.n_components

    def _solve(self, posed: Posed) -> tuple[Any, Any]:
        V, spectrum = self._axes_of(posed)
        Y = posed.basis.embed(V)
        if isinstance(posed.basis, Samples) and getattr(posed.problem, "sense", "max") == "min":
            note(participation=warn_if_localised(Y))
        sign = sign_of(Y)
        return Y * sign, posed.basis.map(V * sign, spectrum)

    def _axes_of(self, posed: Posed) -> tuple[Array, Spectrum]:
        spectrum = solve(posed.problem, self._n_axes() + posed.skip, solver=self.solver, random_state=self.random_state)
        spectrum = spectrum.without_first(posed.skip)
        self.eigenvalues_, self.residuals_, self.gap_ = spectrum.values, spectrum.residuals, spectrum.gap
        self.problem_ = as_solved(posed.problem, spectrum)
        warn_of_flat_axes(posed, spectrum)
        return spectrum.vectors * self._scale_of(posed)(spectrum), spectrum

    def _scale_of(self, posed: Posed) -> Any:
        """The method's own scale, or another where the user asks for it."""
        return UnitVariance(posed.basis) if getattr(self, "scale", None) == "unit-variance" else posed.scale


def _sign_of_axes(V: Array) -> Array:
    """±1 for each axis: the sign that makes its coefficient of largest magnitude positive (the first of equal ones)."""
    size = np.abs(V)
    first = np.argmax(size >= (1 - 1e-6) * size.max(axis=0, initial=0.0), axis=0)
    return np.where(V[first, np.arange(V.shape[1])] < 0, -1.0, 1.0)


def from_moments(estimator: Any) -> bool:
    """``partial_fit`` is there where the moments of the rows are all a method needs."""
    reason = estimator._needs_rows()
    if reason is not None:
        raise AttributeError(f"{type(estimator).__name__} has no partial_fit with {reason}: it needs all rows at once.")
    return True


def _is_linear(estimator: Any) -> bool:
    if getattr(estimator, "kernel", None) is not None:
        raise AttributeError(
            f"{type(estimator).__name__} with a kernel has no axes in the input space: it has no inverse_transform."
        )
    return True


def check_embedded(Y: Any, d: int) -> Array:
    """Points of the embedding space as a finite array of width d."""
    with np.errstate(over="ignore", invalid="ignore"):
        Y = check_array(Y, dtype=[np.float64, np.float32], ensure_2d=False, input_name="Y")
    if Y.ndim != 2 or Y.shape[1] != d:
        raise InputError(f"Y must have shape (n_points, {d}); got {Y.shape}.")
    return Y


class FeatureReducer(SpectralReducer):
    """Methods whose map is linear in the features or, through ``kernel=``, in a kernel's feature space.

    Adds ``components_`` (d, D), ``mean_`` and ``inverse_transform`` when the features are the inputs themselves.
    """

    _accepts_sparse: ClassVar[bool] = True
    _looks_up_rows: ClassVar[bool] = False
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": COMPONENTS,
        "kernel": [str, callable, HasMethods("get_params"), None],
        "landmarks": LANDMARKS,
        "reduce": [Interval(Integral, 1, None, closed="left"), None],
        "ridge": RIDGE,
        "scale": SCALE,
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
        scale: str | None = None,
        solver: Any = "auto",
        random_state: Any = 0,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.landmarks = landmarks
        self.reduce = reduce
        self.ridge = ridge
        self.scale = scale
        self.solver = solver
        self.random_state = random_state

    def _basis(self, X: Any) -> Features:
        if "_features" in vars(self):  # a search over other parameters has built them before
            return self._features
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
        return _double(X) if self.kernel is None else basis.Z

    def _rows(self, X: Any) -> Any:
        """Linear features are read in blocks, as they are."""
        return X if self.kernel is None and not sp.issparse(X) else _double(X)

    def _solve(self, posed: Posed) -> tuple[Any, Any]:
        if self.kernel is not None:
            return super()._solve(posed)
        basis: Any = posed.basis
        V, spectrum = self._axes_of(posed)
        V = V * _sign_of_axes(basis.map(V, spectrum).coef)
        map_ = basis.map(V, spectrum)
        self.components_, self.mean_ = map_.coef.T, map_.offset
        return None if basis.raw is None else basis.embed(V), map_

    def _placed(self, X: Any) -> Any:
        if self.kernel is not None or not isinstance(X, np.ndarray):
            return super()._placed(X)
        X = self._checked(X, reset=False, finite=False)
        # a NaN in a row is one in its image: no pass over X to look for it, and none of numpy's warnings on the way, which
        # depend on the processor
        with np.errstate(over="ignore", invalid="ignore"):
            Y = self.map_(X)
        return in_precision_of(X, Y)

    # ------------------------------------------------------------------ from moments
    def _needs_rows(self) -> str | None:
        """What asks for more of the data than the moments of its rows; None where nothing does."""
        return type(self).__name__

    def _reads_moments(self, X: Any) -> bool:
        return self._needs_rows() is None and is_tall(X)

    def _add_rows(self, X: Any) -> Any:
        """A checked block for `partial_fit`."""
        refuse_lazy(X)
        begun = "n_samples_seen_" in vars(self)
        if not begun and "map_" in vars(self):
            raise InputError(
                f"This {type(self).__name__} was fitted to sparse X, or to no more rows than features, and keeps no sums to add rows to: "
                "begin with partial_fit, on a new estimator or on sklearn.base.clone of this one."
            )
        return validate_data(
            self,
            X,
            reset=not begun,
            dtype=[np.float64, np.float32],
            accept_sparse="csr",
            ensure_all_finite=not (isinstance(X, np.ndarray) and X.dtype in (np.float32, np.float64)),
        )

    def _solve_moments(self, posed: Posed) -> Any:
        with collect() as record:
            _, self.map_ = self._solve(posed)
        self._forget("embedding_")  # of rows that fit has seen: there are more now
        self.diagnostics_ = record
        self._n_features_out = self.map_.coef.shape[1]
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return "map_" in vars(self)

    def __getattr__(self, name: str) -> Any:
        if name == "embedding_" and "map_" in vars(self):
            raise AttributeError(
                f"This {type(self).__name__} read its rows from a file or in parts and holds no embedding of them: call transform(X), "
                "which works a block of rows at a time."
            )
        return self.__getattribute__(name)  # raises what the first look-up raised

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
        with np.errstate(over="ignore", invalid="ignore"):
            X = Y @ np.linalg.pinv(self.components_).T + self.mean_
        return in_precision_of(Y, X)
