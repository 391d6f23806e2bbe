"""The estimator contract.

`Reducer` is the outer contract, ``_fit(sample) -> Fitted``, and says nothing about eigenvalues. `SpectralReducer` is the inner one,
``_pose(sample) -> Posed``: one trace problem, solved, scaled and mapped the same way for every method. X and y are read first,
as the class declares in ``_input``. A fit returns its result, and `Reducer._set` alone sets it on the estimator.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Annotated, Any, ClassVar, Literal, Protocol, Self, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.sparsefuncs import mean_variance_axis
from sklearn.utils.validation import check_is_fitted

from ..._compat import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    HasMethods,
    Interval,
    TakesCallbacks,
    TransformerMixin,
    available_if,
    fit_context,
    make_constraint,
    reporting,
)
from ..._diagnostics import collect, printing_stages, stage
from ..._parameters import (
    ArrayLike,
    Count,
    Declared,
    Function,
    NotNegative,
    Seed,
    TypeName,
    attribute,
    literal_set,
    parameter,
)
from ..._types import Array, Index, Matrix, TableLike, TargetLike, VectorLike
from ...data import Actions, Classes, Input, LazyClasses, Points, Sample, Sufficient, new_points
from ...data.objects import ObjectPairs
from ...data.read import RESOLVED, Accepted, embedded_points, function_of, kind_of, read, rows_needed_by
from ...data.rows.storage import in_precision_of
from ...data.x import Distances, XKind, as_rows
from ...errors import DimensionError, InputError, KernelError, LabelError
from ...graphs import KNN, Landmarks
from ...numerics.eigen.auto import Solver
from ...numerics.memory import human_bytes, memory_errors
from ...numerics.threads import threads, threads_for
from ...problem import Axes, Features, Fitted, Map, Posed, TraceProblem, TraceRatio
from ...problem.kernels import warn_of_strangers, warn_of_ties
from ...problem.nystrom import NystromRows
from .sample_weights import weighted
from .streaming import Streaming

#: Types of parameters that several families share.
Components = Annotated[Any, Interval(Integral, 1, None, closed="left")]
#: Number of components of methods whose spectrum can determine it.
ToldComponents = Components | Literal["auto"]
SolverName = Literal["auto", "dense", "shift-invert", "chebyshev", "amg", "lanczos", "randomised", "factor"]
Solving = Annotated[SolverName | Solver, TypeName(literal_set(get_args(SolverName)), "Solver")]
KernelLike = str | Callable[..., Any] | BaseEstimator
Kernels = Annotated[KernelLike, str, Function(), HasMethods("get_params"), TypeName("str", "Kernel", "callable")]
LandmarkRows = Annotated[Count | ArrayLike | Landmarks, TypeName("int", "Landmarks", "array of indices")] | None
Scale = Literal["unit-variance"] | None
AxisRule = Literal["unit", "norm", "eigenvalue", "eigenvalue-norm"]


class _NotHeld:
    """Descriptor of ``embedding_`` on the class: explains why the attribute is absent after a fit to a file or in parts."""

    def __get__(self, estimator: object, cls: type) -> Array:
        fitted = estimator is not None and "map_" in vars(estimator)
        raise AttributeError(
            f"This {cls.__name__} read its rows from a file or in parts and holds no embedding of them: call transform(X), which works a "
            "block of rows at a time."
            if fitted
            else f"{cls.__name__!r} object has no attribute 'embedding_'"
        )


class Reducer(TakesCallbacks, ClassNamePrefixFeaturesOutMixin, TransformerMixin, Declared):
    """Outer contract of every method: ``_fit(sample) -> Fitted``.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Embedding of the training points. Absent if the rows were read from a file or in parts.
    map_ : Map
        The function behind ``transform``.
    diagnostics_ : dict
        Seconds per stage, and other facts of the fit.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns of X, if all of them are strings.
    objects_ : ObjectPairs
        The objects and the function that compares them. Present if X is a list of objects.
    """

    map_: Map = attribute()
    diagnostics_: dict[str, Any] = attribute()
    n_features_in_: int = attribute()
    feature_names_in_: NDArray[np.object_] = attribute()
    objects_: ObjectPairs = attribute()

    #: The kinds of X and y that the method accepts.
    _input: ClassVar[Input] = Input()
    #: Values of parameters with which statistics of the rows suffice for a fit; None if they never do.
    _sums_suffice: ClassVar[Sufficient | None] = None
    #: The statistic of the rows, if the class has ``partial_fit``, which adds to it.
    _streaming: ClassVar[Streaming] = Streaming()
    #: Whether all forms count the rows by ``x.masses``: then rows may have any weights.
    _masses: ClassVar[bool] = False
    #: The reason why the spectrum does not determine the number of axes, for messages.
    _untold: ClassVar[str] = (
        "its eigenvalues measure its criterion along an axis, not the share of the data that the axis represents"
    )
    #: Order of the largest dense matrix, which decides the number of threads for linear algebra. None means that of X.
    _order: ClassVar[int | None] = None
    embedding_ = _NotHeld()

    def _validate_params(self) -> None:
        choices = map(make_constraint, self._parameter_constraints.get("n_components", ()))
        if str(getattr(self, "n_components", "")) == "auto" and not any(c.is_satisfied_by("auto") for c in choices):
            raise InputError(
                f'{type(self).__name__} cannot determine n_components="auto": {self._untold}. Give a number; '
                "eigenspan.intrinsic_dimension(X) estimates one from the data."
            )
        super()._validate_params()

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: TableLike, y: TargetLike = None, sample_weight: VectorLike | None = None) -> Self:
        """Fit the embedding and its map.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Or a list of objects of any type, if ``kernel=`` or ``metric=`` is a function of two of them.
        y : array-like of shape (n_samples,), optional
            Class labels if the method uses them (NaN or None for unlabelled points, and −1 in the semi-supervised methods), or
            another kind of y that the class describes. Ignored by unsupervised methods.
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts: whole numbers give the fit to rows that occur this often. Rows of weight 0 are left out of
            the fit and placed by its map; other attributes with an entry for each row are NaN or −1 there. Methods that need only
            sums over the rows, and embeddings over neighbour graphs, take any weights; the others take whole numbers. None counts
            every row once.

        Returns
        -------
        self
        """
        with (
            memory_errors(self, X),
            reporting(self, X, y) as report,
            collect(printing_stages(type(self).__name__, report) if getattr(self, "verbose", 0) else report) as record,
            threads(getattr(self, "n_jobs", None)),
        ):
            sample, seen = self._read_sample(X, y)
            some, back = weighted(self, sample, sample_weight)
            with threads_for(self._order or some.x.order):
                fitted = _for_dense_rows(self._fit(some), some.x)
                if hasattr(type(self), "partial_fit") and "moments_" not in fitted.attributes:
                    fitted = self._streaming.kept(self, fitted, some)
                fitted = fitted if back is None else back(fitted)
            if isinstance(sample.y, Classes | LazyClasses | Actions) and sample.y.names.size:
                seen["classes_"] = sample.y.names
        return self._set(fitted, seen, record, sample.table)

    def _read_sample(self, X: TableLike, y: TargetLike = None) -> tuple[Sample, dict[str, object]]:
        """Return X and y after validation, and the attributes that scikit-learn defines for them."""
        idle, accepted = self._input.idle, self._accepted()
        if idle is not None:
            idle(self)
        return read(self, accepted, X, y)

    def _accepted(self) -> Accepted:
        """Return what this estimator accepts with its present parameters."""
        declared = self._input
        rules = {name: getattr(declared, name) for name in RESOLVED}
        found: dict[str, Any] = {name: rule(self) if callable(rule) else rule for name, rule in rules.items()}
        owner = self if declared.inside is None else getattr(self, declared.inside, None)
        unlabeled, one_pass = getattr(self, "unlabeled", None), rows_needed_by(self) is None
        kind, function = kind_of(owner, found["pairs"]), function_of(owner, found["pairs"])
        kind = declared.columns(self) if declared.columns is not None and kind is Distances else kind
        return Accepted(type(self).__name__, kind, function, unlabeled, one_pass=one_pass, **found)

    def _set(self, fitted: Fitted, seen: dict[str, object], record: dict[str, object], X: Matrix | None = None) -> Self:
        """Replace the attributes of an earlier fit by those of this one. No other function sets fitted attributes."""
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)
        found = {**seen, **fitted.attributes, "diagnostics_": record}
        if fitted.map is not None:
            found["map_"] = fitted.map
        if fitted.embedding is not None:
            record["embedding_memory"] = human_bytes(fitted.embedding.nbytes)
            # The map returns the places of training points from this array: give the caller a copy to write on.
            held = getattr(fitted.map, "embedding", None) is fitted.embedding
            found["embedding_"] = in_precision_of(X, fitted.embedding.copy() if held else fitted.embedding)
        for name, value in found.items():
            setattr(self, name, value)
        return self

    def _fit(self, sample: Sample[Any, Any]) -> Fitted:
        """Return the result of the fit, and set nothing."""
        raise NotImplementedError

    def fit_transform(self, X: TableLike, y: TargetLike = None, sample_weight: VectorLike | None = None) -> Any:
        """Fit and return the embedding of the training points; see `fit` for the parameters.

        This is the array ``embedding_`` itself: copy it before you change it in place.
        """
        self.fit(X, y, sample_weight)
        return self.embedding_ if "embedding_" in vars(self) else self.transform(X)

    def transform(self, X: TableLike) -> Any:
        """Embed new points.

        Parameters
        ----------
        X : array-like of shape (n_points, n_features)

        Returns
        -------
        ndarray of shape (n_points, n_components)
        """
        return self._mapped(X)

    def _mapped(self, X: TableLike) -> Any:
        """Return the images of new points as an array, not in the container of ``set_output``."""
        if "map_" not in vars(self):
            check_is_fitted(self)
        return new_points(self, X).images(self.map_, self.map_.width)

    @property
    def _n_features_out(self) -> int:
        return int(self.map_.width)

    def __sklearn_is_fitted__(self) -> bool:
        return "map_" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        accepted = self._accepted()
        tags.input_tags.sparse = accepted.sparse
        tags.input_tags.allow_nan = accepted.missing == "allow"
        tags.input_tags.pairwise = accepted.kind is not Points
        tags.target_tags.required = accepted.y is not None and accepted.y.needed
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _for_dense_rows(fitted: Fitted, x: XKind) -> Fitted:
    """Return the fit with a map that converts sparse new points to dense rows, if the training points are dense."""
    if x.pairs or sp.issparse(x.values) or not isinstance(fitted.map, Map):
        return fitted
    return replace(fitted, map=replace(fitted.map, dense=True))


class SpectralReducer(Reducer):
    """Inner contract: ``_pose(sample) -> Posed``. Adds ``eigenvalues_``, ``residuals_``, ``gap_`` and ``problem_``.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues of the trace problem, best first.
    residuals_ : ndarray of shape (n_components,)
        Residuals of the eigenpairs, relative to the norm of the matrix.
    gap_ : float
        Relative distance between the last eigenvalue used and the next one. Below 1e-8 the subspace is not unique.
    problem_ : TraceProblem
        The trace problem that was solved.
    diagnostics_ : dict
        Seconds per stage, solver, graph components and other facts of the fit. ``"tied_axes"`` lists axes with equal
        eigenvalues: only their span is determined by the problem, and a fixed rule chooses the axes in it.
    """

    n_components: Components = parameter(default=2, kw_only=False)
    solver: Solving = "auto"
    random_state: Seed = 0

    eigenvalues_: Array = attribute()
    residuals_: Array = attribute()
    gap_: float = attribute()
    problem_: TraceProblem | TraceRatio = attribute()

    def _fit(self, sample: Sample[Any, Any]) -> Fitted:
        return axes(self).fit(self._pose(sample))

    def _pose(self, sample: Sample[Any, Any]) -> Posed:
        raise NotImplementedError


class TraceCriterion(SpectralReducer):
    """Methods whose objective and unit may be the two traces of a ratio over orthonormal axes instead.

    Parameters
    ----------
    criterion
        ``"ratio-trace"`` solves the problem above, by one eigenproblem. ``"trace-ratio"`` takes the best ratio
        :math:`\\rho = \\operatorname{Tr}(V^T A V) / \\operatorname{Tr}(V^T B V)` of the same objective A and unit B over
        :math:`V^T V = I` [S0, eq. 5]: the axes are the best eigenvectors of A − ρB, and ``eigenvalues_`` sum to zero.

    Attributes
    ----------
    trace_ratio_ : float
        ρ, the best ratio. Present with ``criterion="trace-ratio"``.
    """

    criterion: Literal["ratio-trace", "trace-ratio"] = "ratio-trace"

    trace_ratio_: float = attribute()

    def _fit(self, sample: Sample[Any, Any]) -> Fitted:
        posed = self._pose(sample)
        return axes(self).fit(posed.as_ratio() if self.criterion == "trace-ratio" else posed)


def axes(estimator: SpectralReducer) -> Axes:
    """Return the number of axes, the solver and the scale that the estimator asks for."""
    stretched = getattr(estimator, "scale", None) == "unit-variance"
    return Axes(estimator.n_components, estimator.solver, estimator.random_state, stretched)


def told(estimator: SpectralReducer, posed: Posed, number: Callable[[], tuple[int, Array]]) -> Posed:
    """Return the problem with `n_components` axes. For "auto" ``number()`` returns their number and the spectrum, which is kept."""
    if estimator.n_components != "auto":
        return posed.having(n_components_=int(estimator.n_components))
    d, spectrum = number()
    return replace(posed, axes=d).having(n_components_=d, spectrum_=spectrum)


class HasComponents(Protocol):
    """An estimator whose map is linear in the features."""

    components_: Array
    mean_: Array


def _is_linear(estimator: HasComponents) -> bool:
    """Raise AttributeError if a kernel is used: then there is no inverse_transform."""
    if getattr(estimator, "kernel", None) is not None:
        raise AttributeError(
            f"{type(estimator).__name__} with a kernel has no axes in the input space: it has no inverse_transform."
        )
    return True


def _without_kernel(estimator: FeatureReducer) -> bool:
    return estimator.kernel is None


def refuse_idle(estimator: FeatureReducer) -> None:
    """Raise if a parameter would have no effect because of another one."""
    if estimator.kernel is None and estimator.landmarks is not None:
        raise InputError("landmarks= has an effect only with kernel=: give kernel= too, or leave landmarks= out.")
    if estimator.kernel is not None and estimator.reduce is not None:
        raise InputError(
            "reduce= keeps principal axes of the inputs and does not apply with kernel=: use landmarks= instead."
        )
    metric, parameters = getattr(estimator, "metric", None), getattr(estimator, "metric_params", None)
    if estimator.kernel is not None and (metric not in (None, "euclidean") or parameters is not None):
        raise InputError(
            f"metric={metric!r} compares coordinates, and the axes of a kernel's feature space are arbitrary: neighbours there are "
            "Euclidean. Leave metric= out, or kernel=."
        )


@dataclass(frozen=True, eq=False)
class Linear:
    """``Y -> Y T + shift``."""

    T: Array
    shift: Array

    @property
    def width(self) -> int:
        return int(self.T.shape[1])

    def __call__(self, Y: Array) -> Array:
        return np.asarray(Y @ self.T + self.shift)


def inverse_transform(self: HasComponents, Y: TableLike) -> Array:
    """Return the points of the input space whose embedding is Y, of least distance from ``mean_``.

    Parameters
    ----------
    Y : array-like of shape (n_points, n_components)

    Returns
    -------
    ndarray of shape (n_points, n_features)
    """
    check_is_fitted(self)
    back = Linear(np.asarray(np.linalg.pinv(self.components_)).T, self.mean_)
    return embedded_points(Y, self.components_.shape[0]).images(back, back.width)


#: The method of classes of which only linear fits have it.
to_inputs = available_if(_is_linear)(inverse_transform)


class FeatureReducer(SpectralReducer):
    """Methods whose map is linear in the features or, through ``kernel=``, in a kernel's feature space.

    ``components_``, ``mean_`` and ``inverse_transform`` exist if the features are the inputs themselves.

    Parameters
    ----------
    kernel
        None uses the features themselves. A kernel turns the method into its kernel form: a name such as ``"rbf"``,
        ``Kernel("poly", degree=2)``, a kernel of a neighbour graph such as ``HeatKernel(t)``, a function of two arrays of
        rows or of two rows (or of two objects, if X is a list of them), or ``"precomputed"`` if X is the kernel matrix. A
        neighbour graph is then built in the feature space of the kernel.
    ridge
        ε that keeps the axes short: added as B + εI, or as A + εI if a PSD form A is minimised. None means 0 for features
        of full rank. For kernels, whose feature space can interpolate any embedding of the training points, None means a
        small value, which ``diagnostics_`` reports.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Axes in the input space. Absent with a kernel.
    mean_ : ndarray of shape (n_features,)
        The point of the input space that is mapped to the origin of the embedding. Absent with a kernel.
    """

    kernel: Kernels | None = None
    landmarks: LandmarkRows = None
    ridge: NotNegative | None = None
    scale: Scale = None
    reduce: Count | None = None

    components_: Array = attribute()
    mean_: Array = attribute()

    inverse_transform = to_inputs

    _input: ClassVar[Input] = Input(pairs=("kernel",), sparse=True, linear=_without_kernel, idle=refuse_idle)


def by_landmarks(estimator: FeatureReducer) -> bool:
    """Return True for features of a kernel on landmarks: class scatters then need only sums over the rows."""
    own = getattr(estimator, "shrinkage", None)
    return estimator.kernel is not None and estimator.landmarks is not None and not isinstance(own, str)


def features_of(estimator: FeatureReducer, sample: Sample) -> Features:
    """Return the features whose linear combinations the axes are."""
    if sample.features is not None:
        return sample.features
    X, seed, center = sample.x.values, estimator.random_state, getattr(estimator, "center", True)
    if sample.x.one_pass and estimator.reduce is None:
        with stage("moments"):
            return _summed_features(estimator, sample)
    if estimator.kernel is None:
        basis = Features.linear(X, reduce=estimator.reduce, center=center, random_state=seed)
        if estimator.reduce is not None and basis.dim == 0:  # without principal axes there are no neighbours to search
            raise DimensionError(f"All {X.shape[0]} rows coincide: there are no dimensions to show.")
        return basis
    rows, chosen = sample.x.under_kernel, estimator.landmarks
    return Features.kernel(estimator.kernel, rows, landmarks=chosen, random_state=seed, center=center)


def _summed_features(estimator: FeatureReducer, sample: Sample) -> Features:
    """Return the features from sums over rows, which need not be in memory. With a kernel, use the features of its landmarks."""
    if estimator.kernel is None:
        return Features.of_sums(sample.sums, sample.x.values, sample.y)
    X, seed = sample.x.values, estimator.random_state
    rows = NystromRows.of(estimator.kernel, X, estimator.landmarks, random_state=seed)
    images = replace(sample, x=Points(X.map(rows, rows.axes.shape[1]), True))
    basis = Features.of_sums(images.sums, images.x.values, sample.y)
    if not basis.dim:
        raise KernelError(f"The kernel has equal values for all {X.shape[0]} points: centre X, or use another kernel.")
    return replace(basis, rows=rows, relative_ridge=1e-3)


def points_of(estimator: FeatureReducer, basis: Features, sample: Sample) -> Matrix:
    """Return the points for neighbours, distances and weights: X, its principal axes with ``reduce=``, or kernel features."""
    if estimator.kernel is not None:
        check_neighbours(estimator, basis, neighbours_sought(estimator), single=is_single(sample))
    if sample.x.one_pass:  # sums suffice, or a graph is given: no row is read here
        return sample.x.values
    return basis.Z if estimator.kernel is not None or estimator.reduce is not None else as_rows(sample.x.values)


def bounded(
    n_components: int | None, basis: Features, most: int, why: str | None, default: int | None = None
) -> int | None:
    """Return the number of axes if `n_components` is None: `default` or `most`, limited by the basis.

    Raise DimensionError if all rows coincide, and if `n_components` exceeds `most` for the reason `why`.
    """
    if basis.dim == 0:
        raise DimensionError(f"All {basis.count or basis.raw.shape[0]} rows coincide: there are no dimensions to show.")
    if why is not None and n_components is not None and n_components > most:
        raise DimensionError(
            f"n_components={n_components}, but {why}: the criterion has {most} directions and is zero on all others. "
            f"Use n_components <= {most}."
        )
    return min(most, most if default is None else default, basis.dim) if n_components is None else None


def check_spread(estimator: FeatureReducer, basis: Features, sample: Sample) -> None:
    """Raise LabelError if all labelled rows coincide and the others do not. Cost O(nD) unless the basis has sums."""
    name = type(estimator).__name__
    if basis.sums is not None:
        if basis.sums.rest.n:
            everyone = basis.sums.everyone
            _refuse_coincident(basis.sums.labelled.spread(), everyone.spread(), everyone.mean, name)
        return
    labelled = sample.y.known
    if not labelled.all():
        X = sample.x.values if estimator.reduce is None else basis.Z
        (inside, _), (everywhere, mean) = _deviations(X[labelled]), _deviations(X)
        _refuse_coincident(inside, everywhere, mean, name)


def _deviations(X: Matrix) -> tuple[Array, Array]:
    """Return the standard deviation and the mean of every column."""
    if sp.issparse(X):
        mean, variance = mean_variance_axis(sp.csr_matrix(X), axis=0)
        return np.sqrt(variance), mean
    return np.std(X, axis=0, dtype=np.float64), np.mean(X, axis=0, dtype=np.float64)


def _refuse_coincident(inside: Array, everywhere: Array, mean: Array, name: str) -> None:
    """Raise LabelError if the labelled rows vary in no column by more than rounding errors."""
    if np.all(inside <= 1e-6 * everywhere + 1e-13 * np.abs(mean)):
        raise LabelError(
            f"{name} needs labelled samples that differ, but the labelled samples all coincide: no direction separates their classes. "
            "Label other samples, or use an unsupervised method."
        )


def is_single(sample: Sample) -> bool:
    """Return True if X was given in single precision."""
    return getattr(sample.table, "dtype", None) == np.float32


def check_neighbours(
    estimator: SpectralReducer, basis: Features, k: int | None, codes: Index | None = None, *, single: bool = False
) -> None:
    """Warn if rounding decides which k points are neighbours in the feature space of a kernel.

    With `codes`, neighbours are of one class. Points in `single` precision are checked for equal distances too.
    """
    if k is not None:
        rivals = (getattr(estimator, "n_rivals", None) or k) if hasattr(estimator, "n_rivals") else 0
        K = np.asarray(basis.raw)
        warn_of_strangers(K, k, codes, rivals)
        if single and K.shape[0] == K.shape[1]:
            warn_of_ties(K, k, codes, rivals)


def neighbours_sought(estimator: SpectralReducer) -> int | None:
    """Return the number of neighbours in a graph over kernel features; None if the graph does not rank them."""
    graph = getattr(estimator, "graph", "all")
    if graph is None:
        return getattr(estimator, "n_neighbors", None) or KNN().n_neighbors
    k = getattr(graph, "n_neighbors", None) if hasattr(graph, "build") and getattr(estimator, "gamma", True) else None
    return int(k) if isinstance(k, Integral) else None  # other values are refused when the graph is built
