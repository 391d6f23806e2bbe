"""Base of the unfoldings: their parameters, the graph of their strings, and the steps from a task to an embedding and its map."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from numbers import Real
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from ..._compat import HasMethods, Interval, StrOptions
from ..._parameters import Count, Positive, Tolerance, TypeName, attribute, literal_set, parameter
from ..._types import Array
from ...data import Classes, Input, Sample
from ...data.x import XKind
from ...errors import DegenerateWarning, DimensionError, DisconnectedError, warn
from ...graphs import NeighbourGraph, components
from ...numerics.eigen import dense
from ...numerics.sdp.certificate import Solution
from ...problem import Fitted, Samples, SqrtEigenvalue, factor_gram, orientation_of, pose
from ...problem.basis import Extension
from ...problem.dimension_rules import suggested_dimension
from ...problem.extensions import NormalizedKernels, SmoothedEigenfunctions
from ..base.contract import ToldComponents, axes
from ..base.graph_embedding import (
    ApartByLabel,
    Connected,
    GraphEmbedding,
    Neighbours,
    Reduction,
    Sampled,
    barycentric,
    fit_reduced,
    neighbours,
)
from .solver_settings import SDP
from .task import Task, unfold
from .unfolding_certificate import UnfoldingCertificate

#: Default number of neighbours.
_NEIGHBOURS = 8
#: Share of the largest variance below which that of an axis is rounding error.
_ROUNDING = 1e-11


#: Ways to place new points, by name or with their numbers.
_EXTENSIONS = ("auto", "barycentric", "eigenfunctions", "kernel-map")
Extending = Annotated[
    Any, StrOptions(set(_EXTENSIONS)), HasMethods("extend"), TypeName(literal_set(_EXTENSIONS), "specification")
]


class Unfolding(GraphEmbedding):
    """Parameters of every unfolding, which states its problem in ``_task(graph, sample) -> Task``.

    Parameters
    ----------
    n_components
        Number of dimensions d of the embedding. ``"auto"`` uses ``suggested_dimension_``, where the spectrum of the
        unfolding drops.
    n_neighbors
        Number of neighbours of every point. None means 8, or all other points if there are fewer. It has no effect if
        `graph` is given, unless X holds distances.
    tol
        Stop when the certified relative gap is at most this.
    rank
        Initial number of columns of the Gram matrix's factor; more are added if the certificate requires them. None means
        `n_components` + 1, but at least 3. It has no effect on dense steps: see `method`.
    method
        Sparse low-rank steps for bounds on pairs, or dense steps, for up to about a thousand points, for other constraints.
        A band is imposed on the data as given: its sparse steps need at most 15 columns and Euclidean distances.
    extension
        How new points are placed: by local reconstruction, by smoothed eigenfunctions of K [S4, eqs. 63–67], or by
        normalised kernels fitted to the embedding [S4, eqs. 68–77]. "auto" is the first, or the second if X holds
        distances, which have no coordinates. ``SmoothedEigenfunctions(eta=...)`` and ``NormalizedKernels(gamma=...)`` set
        the parameters of the formulas. Training points keep their own embedding.
    max_iter
        Maximum number of steps of the solver.
    time_limit
        Seconds after which the best certified point is returned, with a warning; Ctrl-C does the same. None means no limit.
    callback
        Called with a dict (iteration, lower, upper, gap, seconds; the low-rank solver adds rank and factor) each time the
        bounds are computed. None calls nothing.
    verbose
        1 prints the bounds each time they are computed, and every stage of the fit.

    Attributes
    ----------
    embedding_full_ : ndarray of shape (n_samples, r)
        The whole unfolding on its principal axes, ``K = embedding_full_ @ embedding_full_.T``.
    spectrum_ : ndarray of shape (r,)
        Variance (sum of squares) along these axes: the eigenvalues of K.
    suggested_dimension_ : int
        The dimension after which the spectrum drops most. Shares of the variance below the certified gap or below 0.001 are
        raised to that value, and axes are kept at least until the rest holds less than 0.005 of the variance.
    n_components_ : int
        Number of dimensions of the embedding.
    certificate_ : UnfoldingCertificate
        Bounds on the optimum, edges and weights; see ``help(eigenspan.UnfoldingCertificate)``.
    solution_ : Solution
        The result of the solver; ``solution_.verify()`` proves the bounds again.
    n_iter_ : int
        Number of steps of the solver.
    """

    n_components: ToldComponents = parameter(default=2, kw_only=False)
    tol: Tolerance = 1e-3
    rank: Count | None = None
    method: Literal["auto", "low-rank", "dense"] = "auto"
    extension: Extending = "auto"
    max_iter: Count = 300
    time_limit: Positive | None = None
    callback: Callable[[dict[str, Any]], None] | None = None

    embedding_full_: Array = attribute()
    spectrum_: Array = attribute()
    suggested_dimension_: int = attribute()
    n_components_: int = attribute()
    certificate_: UnfoldingCertificate = attribute()
    solution_: Solution = attribute()
    n_iter_: int = attribute()

    _input: ClassVar[Input] = replace(GraphEmbedding._input, sparse=False)
    _masses: ClassVar[bool] = False  # equal rows are merged in the program, not before
    _order: ClassVar[int | None] = sys.maxsize  # that of the normal equations, which only the solver determines

    def _fit(self, sample: Sample) -> Fitted:
        return fit_reduced(sample, self._reductions(), lambda some: unfolded(self, some, self._task))

    def _reductions(self) -> tuple[Reduction, ...]:
        sampled = Sampled(self.landmarks, self.graph, self.random_state)
        return (sampled, *tied(self, partial(string_graph, self)))

    def _task(self, graph: NeighbourGraph, sample: Sample) -> Task:
        """Return the pairs whose distances are constrained, and the program."""
        raise NotImplementedError


#: Forms of the bounds on squared distances.
Constraint = Literal["inequality", "slack", "band"]
#: The same, with equations.
ExactConstraint = Literal["inequality", "slack", "band", "equality"]


#: Share by which squared distances may shrink; `Bounds` refuses 0, which means equations.
Band = Annotated[float, Interval(Real, 0, 1, closed="left")]


class BoundedUnfolding(Unfolding):
    """Unfoldings whose bounds on squared distances have one of several forms: `Bounds` is made of their parameters.

    Parameters
    ----------
    constraint
        ``v ≤ d``; ``v ≤ d + t`` at a price for t; or ``(1 − band) d ≤ v ≤ d``, for the squared distances v of neighbours in
        the unfolding and d in the data.
    band
        Share by which squared distances may shrink with ``constraint="band"``. More than 15 columns, or distances that are
        not Euclidean, are solved densely: see `method`. It has no effect with other constraints.
    price
        ν of ``constraint="slack"``, which subtracts ν Σ t^power from the objective. "auto" lets an average edge stretch by
        0.2 per cent (power 2), or charges thirty times what an average edge gains (power 1). It has no effect with other
        constraints.
    power
        1 charges the stretch itself and leaves most edges exact; 2 charges its square and distributes the stretch over the
        edges. It has no effect without ``constraint="slack"``.
    """

    constraint: ExactConstraint = "inequality"
    band: Band = 0.05
    price: Positive | Literal["auto"] = "auto"
    power: Literal[1, 2] = 2


def tied(unfolding: Unfolding, build: Callable[[Sample], NeighbourGraph]) -> tuple[Reduction, ...]:
    """Return the reductions of an unfolding of the graph that ``build(sample)`` returns."""

    def checked(sample: Sample) -> NeighbourGraph:
        graph = build(sample)
        if unfolding.disconnected == "raise" and isinstance(sample.y, Classes):
            _refuse_apart(graph, sample.y)
        return graph

    return Neighbours(checked), ApartByLabel(), Connected(unfolding.disconnected)


def string_graph(unfolding: Unfolding, sample: Sample) -> NeighbourGraph:
    """Return the neighbour graph that the parameters ask for."""
    if isinstance(unfolding.extension, str) and unfolding.extension == "barycentric":
        sample.x.coordinates(
            'extension="barycentric" rebuilds points from the coordinates of their neighbours',
            'use "eigenfunctions" (which "auto" takes there) or "kernel-map"',
        )
    return neighbours(unfolding, sample, n_strings(unfolding, sample))


def n_strings(unfolding: Unfolding, sample: Sample) -> int:
    """Return the number of neighbours of every point."""
    return min(_NEIGHBOURS, sample.n - 1) if unfolding.n_neighbors is None else unfolding.n_neighbors


def check_count(n_components: int | str, n: int) -> None:
    """Refuse as many axes as points."""
    if not isinstance(n_components, str) and n_components >= n:
        raise DimensionError(
            f"n_components={n_components} exceeds {n - 1}, the number of samples less the constant: use n_components <= {n - 1}."
        )


def unfolded(unfolding: Unfolding, sample: Sample, state: Callable[[NeighbourGraph, Sample], Task]) -> Fitted:
    """Solve the task that ``state(graph, sample)`` returns, and place the points on the axes of most variance."""
    graph, d = sample.graph, unfolding.n_components
    check_count(d, graph.n)
    F, found = unfold(state(graph, sample), SDP.of(unfolding))
    F = on_principal_axes(F, F)
    found["suggested_dimension_"] = suggested_dimension(np.sum(F**2, axis=0), found["certificate_"].gap)
    basis = Samples(graph.n, extension_of(unfolding.extension, graph, sample.x, F))
    wanted = found["suggested_dimension_"] if d == "auto" else d
    return on_axes(unfolding, F, basis, wanted).having(**found)


def on_principal_axes(F: Array, rows: Array) -> Array:
    """Return the factor F on its principal axes, oriented by some of its rows."""
    values, axes = dense.eigenpairs(dense.symmetric(F.T @ F), None, "max")
    return F @ axes @ orientation_of(values, rows @ axes)


def on_axes(unfolding: Unfolding, F: Array, basis: Samples, wanted: int) -> Fitted:
    """Fit the axes of most variance. If there are fewer than wanted, the others are zero."""
    variances = np.sum(F**2, axis=0)
    posed = pose(basis, maximise=factor_gram(F), scale=SqrtEigenvalue())
    d = max(1, min(wanted, int(np.sum(variances > _ROUNDING * variances.max()))))
    fitted = axes(unfolding).fit(replace(posed, axes=d))
    fitted = fitted.having(embedding_full_=F, spectrum_=variances, n_components_=int(wanted))
    if d == wanted:
        return fitted
    warn(
        f"The unfolding has {d} dimension{'s' * (d > 1)}: all variance lies there, and the other {wanted - d} of the {wanted} axes asked "
        "for are zero. Points that only single edges tie to the rest, such as bridges between components, are pulled into a line.",
        DegenerateWarning,
    )
    padding = np.eye(d, wanted)
    return replace(fitted, embedding=np.asarray(fitted.embedding) @ padding, map=fitted.map.then(padding))


def extension_of(wanted: Any, graph: NeighbourGraph, x: XKind, F: Array) -> Extension:
    """Return the extension to new points."""
    if isinstance(wanted, str) and wanted in ("auto", "barycentric") and not x.pairs:
        return barycentric(graph, x)
    if isinstance(wanted, str):
        wanted = NormalizedKernels() if wanted == "kernel-map" else SmoothedEigenfunctions()
    return wanted.extend(graph, x.arriving, F)


def _refuse_apart(graph: NeighbourGraph, y: Classes) -> None:
    """Name the classes in the components of a graph that is not connected."""
    count, labels = components(graph)
    if count == 1:
        return
    codes, sizes, listed = y.codes, np.bincount(labels), []
    for piece in np.argsort(-sizes, kind="stable")[:5]:
        found = np.unique(codes[labels == piece])
        names = ["unlabelled" if c < 0 else f"class {y.names[c]}" for c in found[:4]]
        listed.append(f"{sizes[piece]} points ({', '.join(names)}{', …' if found.size > 4 else ''})")
    raise DisconnectedError(
        f"No constraint ties these {count} components together: {'; '.join(listed)}{'; …' if count > 5 else ''}. They could move apart "
        'without end, and there is no optimum. Use more neighbours, or disconnected="connect" for the shortest bridges between them.'
    )
