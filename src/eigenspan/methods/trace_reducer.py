"""Composition by hand: any form, in any basis, under any unit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from .._compat import StrOptions
from .._parameters import Count, Marker, NotNegative, TypeName, Verbose, attribute
from ..data import Input, Sample
from ..data.y import ClassLabels
from ..errors import InputError
from ..graphs import NeighbourGraph, Weights, affinity, as_graph, reconstruction_weights
from ..graphs.weights.rules import refuse_affinities, refuse_found_edges
from ..problem import (
    AxisWeights,
    Features,
    Fitted,
    Form,
    Posed,
    RatioWeights,
    Samples,
    SqrtEigenvalue,
    TraceRatio,
    Unit,
    UnitCovariance,
    identity,
    pose,
)
from ..problem.forms import (
    GivenForm,
    between,
    centring,
    class_average,
    class_graph,
    counted,
    degree,
    form_of,
    hessian_alignment,
    laplacian,
    modified_alignment,
    reconstruction,
    tangent_alignment,
    total,
    within,
)
from .base.contract import Kernels, LandmarkRows, SpectralReducer, axes, check_neighbours, is_single, neighbours_sought
from .base.graph_embedding import Connected, Distinct, Graph, Neighbours, barycentric, check_given, fit_posed
from .base.table import besides, known_as

Array = NDArray[np.float64]

LABELLED = ("between", "within", "total", "class_average", "class_laplacian")
OF_GRAPHS = ("laplacian", "degree", "reconstruction", "tangent", "hessian", "modified")
NAMED = (*OF_GRAPHS, "variance", "identity", *LABELLED)
FormLike = Annotated[
    Annotated[str, StrOptions(set(NAMED))] | GivenForm, TypeName("str", "Form", "array", "sparse matrix", "callable")
]


class Forms:
    """Forms over one set of points, the graph built when first asked for.

    Where the points stand for rows that repeat, a graph joins the points, which count with their masses; all other forms are
    over the rows of the whole sample, those that are equal summed.
    """

    def __init__(
        self, estimator: Any, points: Array, masses: Array | None, whole: Sample, basis: Features | None = None
    ) -> None:
        self.estimator, self.points, self.masses, self.whole, self.basis = estimator, points, masses, whole, basis
        self._graph: Any = None

    @property
    def graph(self) -> Any:
        if self._graph is None:
            e = self.estimator
            if self.basis is not None and e.basis == "kernel":
                check_neighbours(e, self.basis, neighbours_sought(e), single=is_single(self.whole))
            self._graph = as_graph(e.graph, self.points, n_neighbors=e.n_neighbors, n_jobs=e.n_jobs)
        return self._graph

    def get(self, form: Any) -> Form:
        if isinstance(form, str) and form in OF_GRAPHS:
            return self._of_graph(form)
        built = self._of_rows(form) if isinstance(form, str) else self._given(form)
        groups = None if self.masses is None else self.whole.x.copies()
        return built if groups is None else built.over_groups(groups.members)

    def _given(self, form: Any) -> Form:
        points = self.points if self.masses is None else self.whole.x.values
        return form_of(form, points, self.whole.given, self.whole.n)

    def _of_rows(self, name: str) -> Form:
        if name in ("variance", "identity"):
            return centring(self.whole.n).over_samples() if name == "variance" else identity(self.whole.n)
        codes = self.whole.y.codes
        if name == "class_laplacian":
            return laplacian(class_graph(codes))
        return {"between": between, "within": within, "total": total, "class_average": class_average}[name](codes)

    def _of_graph(self, name: str) -> Form:
        e, masses = self.estimator, self.masses
        if name in ("laplacian", "degree"):
            refuse_found_edges(e.graph, e.weights)
            refuse_affinities(e.graph, e.weights, self.points)
            W = counted(affinity(self.graph, e.weights, self.points).W, masses)
            return laplacian(W) if name == "laplacian" else degree(W)
        if name == "reconstruction":
            return reconstruction(reconstruction_weights(self.points, self.graph.lists()), masses)
        local = {"tangent": tangent_alignment, "hessian": hessian_alignment, "modified": modified_alignment}[name]
        return local(self.points, self.graph.lists(), e.n_components, masses=masses)


def kernel_of_basis(estimator: Any) -> tuple[str, ...]:
    return ("kernel",) if estimator.basis == "kernel" else ()


def _labels_of_forms(estimator: Any) -> ClassLabels | None:
    forms = (estimator.minimise, estimator.maximise, estimator.over, estimator.unit)
    return ClassLabels() if any(isinstance(form, str) and form in LABELLED for form in forms) else None


def refuse_idle_basis(estimator: Composed, orthonormal: bool) -> None:
    """Raise InputError for parameters that have no place with the basis, or with orthonormal axes."""
    if estimator.ridge is not None and (estimator.basis == "samples" or orthonormal):
        raise InputError(
            "ridge= regularises features under a unit form, or the form over= of a trace ratio: it has no place with "
            'basis="samples", or with unit="projection" alone.'
        )
    if estimator.basis != "kernel" and (estimator.landmarks is not None or estimator.kernel != "rbf"):
        raise InputError(f'kernel= and landmarks= belong to basis="kernel"; basis={estimator.basis!r} has no kernel.')


def _refuse_idle(estimator: TraceReducer) -> None:
    projection = isinstance(estimator.unit, str) and estimator.unit == "projection"
    if estimator.minimise is not None and estimator.maximise is not None:
        raise InputError("Give one of minimise= and maximise=, not both.")
    refuse_idle_basis(estimator, estimator.over is None and projection)
    if estimator.basis == "samples" and projection:
        raise InputError('unit="projection" is about axes of features, and basis="samples" has none: use "embedding".')


class Composed(SpectralReducer):
    """A trace problem of given forms in a basis that the user chooses: ``_stated(basis, forms) -> Posed``.

    Parameters
    ----------
    basis
        The features, a kernel's feature space, or the embedding itself.
    scale
        As solved; times √n, which is unit covariance under ``unit="embedding"``; times √λ, or for a trace ratio times the
        root of the ratio along the axis; or each axis scaled to variance one.
    kernel
        The kernel of ``basis="kernel"``.
    disconnected
        For ``basis="samples"``: add edges and warn, or raise an error, if the graph is not connected (or, for
        ``"reconstruction"`` and ``"modified"``, if its neighbour lists have several closed classes). It has no effect in
        other bases.
    ridge
        ε that keeps the axes short: added as B + εI, or as A + εI if a PSD form A is minimised. None means 0 for features
        of full rank. For kernels, whose feature space can interpolate any embedding of the training points, None means a
        small value, which ``diagnostics_`` reports.

    Attributes
    ----------
    graph_ : NeighbourGraph
        The neighbour graph of ``basis="samples"``. If rows of X repeat, it is the graph of the distinct rows
        (``graph_.rows``), each of which counts as often as it occurs, and equal rows share one place.
    classes_ : ndarray
        The class labels, if y holds labels.
    components_ : ndarray of shape (n_components, n_features)
        Axes in the input space. Present with ``basis="linear"``.
    mean_ : ndarray of shape (n_features,)
        The point of the input space that is mapped to the origin of the embedding. Present with ``basis="linear"``.
    """

    basis: Literal["linear", "kernel", "samples"] = "linear"
    scale: Literal["unit", "covariance", "sqrt", "unit-variance"] = "unit"
    kernel: Kernels = "rbf"
    landmarks: LandmarkRows = None
    n_neighbors: Count | None = None
    graph: Graph = None
    weights: Weights = "heat"
    disconnected: Literal["connect", "raise"] = "connect"
    ridge: NotNegative | None = None
    unlabeled: Marker = None
    n_jobs: int | None = None
    verbose: Verbose = 0

    graph_: NeighbourGraph = attribute()
    classes_: NDArray[Any] = attribute()
    components_: Array = attribute()
    mean_: Array = attribute()

    #: ``_stated(basis, forms)`` returns the problem.
    _stated: ClassVar[Callable[..., Posed]]

    def _fit(self, sample: Sample) -> Fitted:
        if self.basis != "samples":
            return super()._fit(sample)
        sample.x.refuse_one_place()
        build = partial(as_graph, self.graph, n_neighbors=self.n_neighbors, n_jobs=self.n_jobs)
        reductions = (
            Distinct(self.graph, self.n_neighbors),
            Neighbours(lambda some: build(some.x.values)),
            Connected(self.disconnected),
        )
        state = partial(self._pose_samples, sample)
        return fit_posed(sample, reductions, state, lambda posed, _: axes(self).fit(posed))

    def _pose_samples(self, whole: Sample, graph: NeighbourGraph, sample: Sample) -> Posed:
        """Pose the problem of the embedding itself, of the distinct rows of the whole sample."""
        forms = Forms(self, sample.x.values, sample.x.masses, whole)
        forms._graph = graph
        basis = Samples(sample.n, barycentric(graph, sample.x), sample.x.masses)
        return self._stated(basis, forms)

    def _pose(self, sample: Sample) -> Posed:
        if self.basis == "kernel":
            basis = Features.kernel(
                self.kernel, sample.x.under_kernel, landmarks=self.landmarks, random_state=self.random_state
            )
        else:
            basis = Features.linear(sample.x.values)
        points = basis.Z if self.basis == "kernel" else sample.x.values
        check_given(self.graph, points)
        return self._stated(basis, Forms(self, points, None, sample, basis))

    def _settings(self, forms: Forms) -> dict[str, Any]:
        """Return the ridge and the scale, for `pose`."""
        scales: dict[str, Any] = {"covariance": UnitCovariance(forms.whole.n), "sqrt": SqrtEigenvalue()}
        return {"ridge": self.ridge, "scale": scales.get(self.scale, Unit())}


@besides(
    "custom",
    "any",
    "any",
    "linear, kernel or samples",
    "optional",
    "that of the forms, then n D² + D³",
    "S0 eqs. 5, 55–56",
)
@known_as(
    "Any trace problem",
    "trace optimisation; trace problem; trace minimisation; Rayleigh quotient; generalised eigenvalue problem; "
    "generalised embedding",
    {
        "minimise='laplacian', unit='degree'": "projection of a graph form; linear graph embedding",
        "minimise='reconstruction', basis='samples'": "embedding from reconstruction weights",
        "maximise='between', over='within', unit='projection'": "quotient of traces; trace ratio of scatters",
    },
)
class TraceReducer(Composed):
    """Any trace problem, put together by hand.

    .. math:: \\min \\text{ or } \\max_V \\operatorname{Tr}(V^T Z^T A Z V) \\quad \\text{s.t. } V^T B V = I

    Choose the form A, the unit B and the basis Z, named or your own; the methods of the library are such choices, and the ones nobody
    has named are here. With a second form, ``over=``, the ratio of two traces is sought instead [S0, eq. 5]:

    .. math:: \\min \\text{ or } \\max_V \\frac{\\operatorname{Tr}(V^T Z^T A Z V)}{\\operatorname{Tr}(V^T Z^T B Z V)}
       \\quad \\text{s.t. } V^T C V = I

    with the unit as C. ``trace_ratio_`` is the best ratio ρ, ``eigenvalues_`` are those of A − ρB and sum to zero.

    Cost: that of the forms, then O(nD² + D³) for linear features, O(n³) for a kernel, a sparse eigenproblem for samples.

    Parameters
    ----------
    minimise, maximise
        Form A; give one of the two. ``minimise="laplacian"`` is used if both are None. A name: ``"laplacian"``,
        ``"degree"``, ``"reconstruction"``, ``"tangent"``, ``"hessian"``, ``"modified"``, ``"variance"``, ``"identity"``,
        and with labels ``"between"``, ``"within"``, ``"total"``, ``"class_average"``, ``"class_laplacian"``; a symmetric n×n matrix,
        dense or sparse, or a `Form` (`eigenspan.forms` makes them); or a function ``(points, y)`` that returns one of these.
        A command line takes names only.
    over
        Denominator of a trace ratio, a positive semidefinite form, to which the ridge is added. None means that a trace is
        optimised, not a ratio.
    unit
        ``Y'Y = I``, ``V'V = I``, or any form as above. ``"identity"`` has no effect: it is ``"embedding"`` as a form, and so is
        ``"variance"`` if the embedding is centred, as with linear features.
    weights
        ... The degrees D leave out the diagonal of ``"precomputed"`` weights.
    unlabeled
        ... It has no effect if no form is made of labels.

    Attributes
    ----------
    trace_ratio_ : float
        The ratio ρ of the axes. Present with `over`.

    Examples
    --------
    LPP by hand, and the class graph's Laplacian under unit total variance:

    >>> from sklearn.datasets import load_iris
    >>> from eigenspan import TraceReducer
    >>> X, y = load_iris(return_X_y=True)
    >>> TraceReducer(2, minimise="laplacian", unit="degree").fit_transform(X).shape
    (150, 2)
    >>> TraceReducer(2, minimise="class_laplacian", unit="total").fit(X, y).transform(X[:3]).shape
    (3, 2)

    Means of classes apart over the scatter within, on orthonormal axes, and on axes that are uncorrelated:

    >>> for unit in ("projection", "total"):
    ...     found = TraceReducer(2, maximise="between", over="within", unit=unit).fit(X, y)
    ...     print(f"{found.diagnostics_['trace_ratio']:.2f}")
    23.76
    1.47
    """

    minimise: FormLike | None = None
    maximise: FormLike | None = None
    over: FormLike | None = None
    unit: Literal["embedding", "projection"] | FormLike = "embedding"

    trace_ratio_: float = attribute()

    _input: ClassVar[Input] = Input(pairs=kernel_of_basis, y=_labels_of_forms, idle=_refuse_idle)

    def _stated(self, basis: Samples | Features, forms: Forms) -> Posed:
        given = isinstance(self.unit, str) and self.unit in ("embedding", "projection")
        unit: Any = self.unit if given else forms.get(self.unit)
        settings = {**self._settings(forms), "unit": unit}
        settings["over"] = None if self.over is None else forms.get(self.over)
        if self.maximise is not None:
            posed = pose(basis, maximise=forms.get(self.maximise), **settings)
        else:
            posed = pose(basis, minimise=forms.get("laplacian" if self.minimise is None else self.minimise), **settings)
        if self.scale == "sqrt" and isinstance(posed.problem, TraceRatio):
            gains = AxisWeights("eigenvalue", signed=False)
            return replace(posed, scale=RatioWeights(posed.problem.A, posed.problem.B, gains))
        return posed
